"""What the design file says beside places: pinned nodes, which way the tree grows, what was looked at.

All of these are members of ``Draft.design``; one that is not as it should be counts as absent.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from designer.document.draft import Draft
from engine import Json, NodeId

Direction: TypeAlias = Literal["right", "down"]

PINNED: Final = "pinned"
DIRECTION: Final = "direction"
VIEW: Final = "view"
BREAKPOINTS: Final = "breakpoints"


class Viewpoint(NamedTuple):
    """What a person looks at: the middle of the view in scene units, and pixels to a unit."""

    x: float
    y: float
    zoom: float


def pinned(draft: Draft) -> frozenset[NodeId]:
    """The nodes that automatic layout leaves where they are."""
    ids = draft.design.get(PINNED)
    listed = {i for i in ids if isinstance(i, str)} if isinstance(ids, list) else set()
    return frozenset(listed & draft.tree.nodes.keys())


def pin(draft: Draft, ids: Collection[NodeId], *, on: bool) -> Draft:
    """With these nodes pinned, or free."""
    before = pinned(draft)
    after = before | set(ids) if on else before - set(ids)
    if after == before:
        return draft
    return with_member(draft, PINNED, [i for i in draft.tree.nodes if i in after] or None)


def direction(draft: Draft) -> Direction:
    """Where branches lead to: to the right unless the author chose downwards."""
    return "down" if draft.design.get(DIRECTION) == "down" else "right"


def set_direction(draft: Draft, wanted: Direction) -> Draft:
    """With branches leading that way."""
    if direction(draft) == wanted:
        return draft
    return with_member(draft, DIRECTION, None if wanted == "right" else wanted)


def viewpoint(draft: Draft) -> Viewpoint | None:
    """What was looked at when the draft was stored."""
    match draft.design.get(VIEW):
        case {"centre": [int() | float() as x, int() | float() as y], "zoom": int() | float() as zoom}:
            return Viewpoint(float(x), float(y), float(zoom)) if 0 < zoom < 100 else None
        case _:
            return None


def with_viewpoint(draft: Draft, view: Viewpoint) -> Draft:
    """With this to look at when the draft is opened again."""
    value: Json = {"centre": [round(view.x), round(view.y)], "zoom": round(view.zoom, 3)}
    return draft if draft.design.get(VIEW) == value else with_member(draft, VIEW, value)


def followed(
    design: Mapping[str, Json],
    nodes: Mapping[NodeId, NodeId | None],
    branches: Mapping[tuple[NodeId, str], str | None] = MappingProxyType({}),
) -> Mapping[str, Json]:
    """The design of a draft in which these nodes and branches are called otherwise; None: they are gone."""

    def kept(entry: Json) -> Json:
        """The entry as it is afterwards, None when what it speaks of is gone."""
        if isinstance(entry, str):
            return nodes.get(entry, entry)
        node = entry.get("node") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(node, str):
            return entry
        spot: dict[str, Json] = {"node": nodes.get(node, node)}
        if isinstance(branch := entry.get("branch"), str):
            spot["branch"] = branches.get((node, branch), branch)
        return None if None in spot.values() else {**entry, **spot}

    changed = dict(design)
    for member in (PINNED, BREAKPOINTS):
        entries = design.get(member)
        if isinstance(entries, list):
            changed[member] = [after for entry in entries if (after := kept(entry)) is not None]
            if not changed[member]:
                del changed[member]
    return design if changed == design else changed


def with_member(draft: Draft, member: str, value: Json) -> Draft:
    """With a member of the design as given; None takes it away."""
    design = {**draft.design, member: value}
    if value is None:
        del design[member]
    return replace(draft, design=design)
