"""What one run knows: its state properties and its data, and the bounded view a prompt gets of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, Self, TypeAlias

from engine.values import quick_to_make

Properties: TypeAlias = dict[str, object]
"""State properties: text from actions, or any value an action puts there. None means "not there"."""


@quick_to_make
@dataclass(frozen=True, slots=True)
class DataItem:
    """One piece of evidence. Ids need not be unique; the metadata is text by text."""

    id: str
    source: str
    type: str
    content: str = field(repr=False)
    created_at: datetime | None = None
    action_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False)
    display_id: str | None = None
    display_type: str | None = None
    display_source: str | None = None

    @property
    def shown_id(self) -> str:
        """The id as a prompt shows it: bounded where the policy had to cut it."""
        return self.display_id or self.id

    @property
    def shown_type(self) -> str:
        """The type as a prompt shows it."""
        return self.display_type or self.type

    @property
    def shown_source(self) -> str:
        """The source as a prompt shows it."""
        return self.display_source or self.source


class DataStore:
    """The data of one run, in the order it arrived. Nothing is ever taken out."""

    def __init__(self, items: Iterable[DataItem] = ()) -> None:
        self._items = list(items)

    def add(self, *items: DataItem) -> None:
        """Append items in this order."""
        self._items.extend(items)

    def of_type(self, kind: str) -> tuple[DataItem, ...]:
        """The items of exactly this type."""
        return tuple(item for item in self._items if item.type == kind)

    def since(self, count: int) -> tuple[DataItem, ...]:
        """The items that came after the first ``count``."""
        return tuple(self._items[count:])

    def __iter__(self) -> Iterator[DataItem]:
        return iter(tuple(self._items))

    def __len__(self) -> int:
        return len(self._items)


@quick_to_make
@dataclass(frozen=True, slots=True)
class DataSnapshot:
    """The bounded, read-only view of a run's data that a prompt is built from, and what it leaves out."""

    items: tuple[DataItem, ...] = ()
    omitted: int = 0
    truncated: int = 0
    aggregate_truncated: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left out or cut."""
        return not (self.omitted or self.truncated or self.aggregate_truncated)

    def of_type(self, kind: str) -> tuple[DataItem, ...]:
        """The items of exactly this (original) type."""
        return tuple(item for item in self.items if item.type == kind)

    def by_id(self, item_id: str) -> DataItem | None:
        """The first item with this (original) id."""
        return next((item for item in self.items if item.id == item_id), None)


class DataPolicy(Protocol):
    """Chooses and bounds the data a prompt may show. An own policy answers for its own bounds."""

    def select(self, items: Iterable[DataItem]) -> DataSnapshot:
        """The bounded view of these items."""
        ...


@dataclass(frozen=True, slots=True)
class BoundedDataPolicy:
    """The default policy: the first items that fit, cut where they are long, and a note of what is missing.

    Lengths are in characters; each bound must be above zero (``ValueError``). The aggregate counts an item
    as a prompt shows it, and its metadata. ``included_types`` and ``included_sources`` are exact; None means
    all, and what they leave out is not counted as omitted.
    """

    max_items: int = 50
    max_content_length: int = 4000
    max_aggregate_length: int = 12000
    max_field_length: int = 256
    max_metadata_entries: int = 20
    max_metadata_key_length: int = 256
    max_metadata_value_length: int = 1000
    included_types: frozenset[str] | None = None
    included_sources: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            bound = getattr(self, name)
            if isinstance(bound, int) and bound <= 0:
                raise ValueError(f"{name} must be above zero, not {bound}")

    def select(self, items: Iterable[DataItem]) -> DataSnapshot:
        selected: list[DataItem] = []
        used = omitted = cut = cut_by_aggregate = 0
        for item in items:
            if not self._includes(item):
                continue
            if len(selected) == self.max_items:
                omitted += 1
                continue
            bounded = self._bounded(item)
            room = self._room(bounded, used, first=not selected)
            if room < 0:
                omitted += 1
                continue
            limit = min(self.max_content_length, room)
            length = len(item.content)
            cut += length > self.max_content_length
            cut_by_aggregate += length > limit and room < self.max_content_length
            if length > limit:
                bounded = replace(bounded, content=truncated(item.content, limit, "content"))
            selected.append(bounded)
            used = self.max_aggregate_length - room + min(length, limit)
        snapshot = DataSnapshot(tuple(selected), omitted, cut, cut_by_aggregate)
        if not snapshot.is_complete:
            note = DataItem(id="decision-context-policy", source="AICleverness", type="selection", content="")
            room = self._room(note, used, first=not selected)
            if room >= 0:
                content = _note(snapshot, min(self.max_content_length, room))
                snapshot = replace(snapshot, items=(*selected, replace(note, content=content)))
        return snapshot

    def _includes(self, item: DataItem) -> bool:
        return (self.included_types is None or item.type in self.included_types) and (
            self.included_sources is None or item.source in self.included_sources
        )

    def _room(self, item: DataItem, used: int, *, first: bool) -> int:
        """How long the content of the next item may be; below zero when not even its frame fits."""
        frame = len(item.shown_id) + len(item.shown_type) + len(item.shown_source) + len(" [] from : ")
        metadata = 0
        for key, value in item.metadata.items():
            metadata += len(key) + len(value) + 3
        return self.max_aggregate_length - used - (0 if first else len(", ")) - frame - metadata

    def _bounded(self, item: DataItem) -> DataItem:
        texts = (item.id, item.type, item.source, item.action_id or "")
        is_plain = not (item.metadata or item.display_id or item.display_type or item.display_source)
        if is_plain and max(map(len, texts)) <= self.max_field_length:
            return item

        def display(text: str, what: str) -> str | None:
            shown = truncated(text, self.max_field_length, what)
            return None if shown == text else shown

        action = item.action_id
        return replace(
            item,
            display_id=display(item.id, "id"),
            display_type=display(item.type, "type"),
            display_source=display(item.source, "source"),
            action_id=None if action is None else truncated(action, self.max_field_length, "action"),
            metadata=self._bounded_metadata(item.metadata),
        )

    def _bounded_metadata(self, metadata: Mapping[str, str]) -> Mapping[str, str]:
        over = len(metadata) > self.max_metadata_entries
        kept = list(metadata.items())[: self.max_metadata_entries - 1 if over else None]
        bounded: dict[str, str] = {}
        for key, value in kept:
            bounded.setdefault(
                truncated(key, self.max_metadata_key_length, "metadata key"),
                truncated(value, self.max_metadata_value_length, "metadata value"),
            )
        omitted, collisions = len(metadata) - len(kept), len(kept) - len(bounded)
        if omitted or collisions:
            note = f"{omitted}; collisions {collisions}" if collisions else str(omitted)
            bounded[self._free_key(bounded)] = truncated(
                note, self.max_metadata_value_length, "metadata value"
            )
        return bounded

    def _free_key(self, taken: Mapping[str, str]) -> str:
        """A key for the note on metadata; a taken one when cutting leaves no other."""
        tried: set[str] = set()
        name = "[metadata entries omitted]"
        while True:
            key = truncated(name, self.max_metadata_key_length, "metadata key")
            if key not in taken or key in tried:
                return key
            tried.add(key)
            name = f"[metadata entries omitted {len(tried) + 1}]"


def truncated(text: str, limit: int, what: str) -> str:
    """The text in at most ``limit`` characters; where it is cut, it ends in ``[<what> truncated]``."""
    marker = f"[{what} truncated]"
    if limit <= 0:
        return ""
    if len(text) <= limit:
        return text
    return text[: limit - len(marker)] + marker if limit > len(marker) else marker[:limit]


def _note(snapshot: DataSnapshot, limit: int) -> str:
    omitted, cut, by_aggregate = snapshot.omitted, snapshot.truncated, snapshot.aggregate_truncated
    long = (
        f"Decision data policy: omitted {omitted} item(s); truncated {cut} item(s); "
        f"aggregate-truncated {by_aggregate} item(s)."
    )
    if omitted:
        compact = f"omitted {omitted}; t{cut}; a{by_aggregate}"
    elif cut:
        compact = f"truncated {cut}; o{omitted}; a{by_aggregate}"
    else:
        compact = f"aggregate-truncated {by_aggregate}; o{omitted}; t{cut}"
    shortest = f"o{omitted};t{cut};a{by_aggregate}"
    return next(
        (text for text in (long, compact) if len(text) <= limit), truncated(shortest, limit, "content")
    )


@dataclass(frozen=True, slots=True)
class DataSummary:
    """What an action brought, in a few words for an event. It quotes the data and is as private as that."""

    item_count: int
    types: tuple[str, ...] = field(repr=False)
    previews: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, items: Iterable[DataItem] | None) -> Self | None:
        """The number of items, their first 10 types and first 5 contents, cut to 80; None for no items."""
        items = tuple(items or ())
        types = dict.fromkeys(item.type for item in items)
        if not items:
            return None
        return cls(
            len(items),
            tuple(_preview(kind) for kind in list(types)[:10]),
            tuple(_preview(item.content) for item in items[:5]),
        )


def _preview(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
