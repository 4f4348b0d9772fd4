"""The draft: everything an author edits, as one frozen value."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal, TypeAlias, TypeVar

from engine import Json, NodeId, Tree

ActionEntry: TypeAlias = dict[str, Json]
"""What a project file says of an action: its kind and its parameters."""

_Change = TypeVar("_Change")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the top left corner of a card is, in scene units."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Note:
    """A text beside the tree, in Markdown: a small paper, or the title of a frame around cards.

    ``width`` and ``height`` are in scene units. ``colour`` names a token of the theme; None is the usual one.
    """

    place: Place
    width: float
    height: float
    text: str = ""
    kind: Literal["note", "frame"] = "note"
    colour: str | None = None

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> "Note":
        """The note these members describe; raises like any look into JSON that is not as it should be."""
        (x, y), (width, height), colour = members["place"], members["size"], members.get("colour")
        kind: Literal["note", "frame"] = "frame" if members.get("kind") == "frame" else "note"
        text, tone = str(members.get("text", "")), None if colour is None else str(colour)
        return cls(Place(float(x), float(y)), float(width), float(height), text, kind, tone)

    def spelled(self) -> dict[str, Json]:
        """The members that describe the note, places and sizes in whole numbers."""
        return {
            "kind": self.kind,
            "place": [round(self.place.x), round(self.place.y)],
            "size": [round(self.width), round(self.height)],
            "text": self.text,
            **({"colour": self.colour} if self.colour else {}),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """An edit of an action of the project file: as it was before and is after; None where there is none."""

    key: str
    before: ActionEntry | None = field(repr=False)
    after: ActionEntry | None = field(repr=False)


@dataclass(frozen=True)
class Draft:
    """A tree and what only the eye needs beside it.

    A node without a place is one that nobody has laid out yet. ``design`` holds the members of
    ``NAME.design.json`` that no part of the designer reads; they are written back as they came.
    ``renamings`` are the pairs of an old id and a new one since the file was opened, the first one first, and
    ``described`` the edits of actions in the project file. Both are no part of what a draft is, only of how
    it came about.
    """

    tree: Tree
    places: Mapping[NodeId, Place] = field(default_factory=dict)
    design: Mapping[str, Json] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)
    renamings: tuple[tuple[NodeId, NodeId], ...] = field(default=(), compare=False, repr=False)
    described: tuple[Described, ...] = field(default=(), compare=False, repr=False)


def renamed_since(before: Draft, after: Draft) -> tuple[tuple[NodeId, NodeId], ...]:
    """The renamings that lead from the ids of one draft to those of another of the same history."""
    return _since(before.renamings, after.renamings, lambda pair: (pair[1], pair[0]))


def described_since(before: Draft, after: Draft) -> dict[str, Described]:
    """The actions the project file has otherwise with one draft than with another of the same history."""
    found: dict[str, Described] = {}
    for change in _since(before.described, after.described, lambda c: Described(c.key, c.after, c.before)):
        first = found.get(change.key, change)
        found[change.key] = Described(change.key, first.before, change.after)
    return {key: change for key, change in found.items() if not same_entry(change.before, change.after)}


def same_entry(one: object, other: object) -> bool:
    """Whether two JSON values are spelled alike but for the order of members: to Python 1 and 1.0 are."""
    return one is other or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _since(
    one: tuple[_Change, ...], other: tuple[_Change, ...], undone: Callable[[_Change], _Change]
) -> tuple[_Change, ...]:
    """What leads from the end of one history to that of another that begins alike."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return (*map(undone, reversed(one[same:])), *other[same:])


def new_names(before: Draft, after: Draft) -> dict[NodeId, NodeId]:
    """What the nodes of one draft are called in another of the same history, where that is something else."""
    renamings, names = renamed_since(before, after), dict[NodeId, NodeId]()
    for node_id in before.tree.nodes:
        name = node_id
        for old, new in renamings:
            name = new if name == old else name
        if name != node_id and name in after.tree.nodes:
            names[node_id] = name
    return names
