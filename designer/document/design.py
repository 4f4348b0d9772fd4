"""What the design file says beside places: pinned nodes, which way the tree grows, what was looked at.

All of these are members of ``Draft.design``; one that is not as it should be counts as absent.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias

from designer.document.draft import Draft
from engine import Json, NodeId

Direction: TypeAlias = Literal["right", "down"]

PINNED: Final = "pinned"
DIRECTION: Final = "direction"
VIEW: Final = "view"


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
    return _with(draft, PINNED, [i for i in draft.tree.nodes if i in after] or None)


def direction(draft: Draft) -> Direction:
    """Where branches lead to: to the right unless the author chose downwards."""
    return "down" if draft.design.get(DIRECTION) == "down" else "right"


def set_direction(draft: Draft, wanted: Direction) -> Draft:
    """With branches leading that way."""
    if direction(draft) == wanted:
        return draft
    return _with(draft, DIRECTION, None if wanted == "right" else wanted)


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
    return draft if draft.design.get(VIEW) == value else _with(draft, VIEW, value)


def renamed(design: Mapping[str, Json], names: Mapping[NodeId, NodeId]) -> Mapping[str, Json]:
    """The design of a draft whose nodes have new ids."""
    ids = design.get(PINNED)
    if not (isinstance(ids, list) and any(i in names for i in ids if isinstance(i, str))):
        return design
    return {**design, PINNED: [names.get(i, i) if isinstance(i, str) else i for i in ids]}


def _with(draft: Draft, member: str, value: Json) -> Draft:
    design = {**draft.design, member: value}
    if value is None:
        del design[member]
    return replace(draft, design=design)
