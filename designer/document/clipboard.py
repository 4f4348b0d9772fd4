"""Nodes as text and back, so that they travel between trees, windows and programs.

The text is JSON: the nodes as in a tree file, and their places. A whole tree file is such a text too.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from designer.document import edits, layout
from designer.document.draft import Draft, Place
from engine import (
    AnyNode,
    DocumentRefused,
    Json,
    NodeId,
    Transition,
    Tree,
    TreewrightError,
    read_tree,
    write_tree,
)

MIME: Final = "application/x-treewright-nodes+json"
FORMAT: Final = 1
"""The newest form of copied nodes this program understands."""

_MEMBER: Final = "treewrightNodes"
_STEP: Final = 22.0
_FARTHEST: Final = 1e6
_FOREIGN: Final = "There are no nodes on the clipboard."
_BROKEN: Final = "The nodes on the clipboard cannot be read."


class NotNodes(TreewrightError):
    """A text that holds no nodes, or none that can be understood: one sentence that says so."""


@dataclass(frozen=True)
class Clip:
    """Copied nodes. They still name the nodes outside that their branches led to.

    ``start`` is the start of a tree that was copied whole.
    """

    nodes: Mapping[NodeId, AnyNode]
    places: Mapping[NodeId, Place] = field(default_factory=dict)
    start: NodeId = ""


def take(draft: Draft, ids: Collection[NodeId]) -> Clip:
    """A copy of these nodes."""
    nodes = {i: node for i, node in draft.tree.nodes.items() if i in ids}
    return Clip(nodes, {i: place for i, place in draft.places.items() if i in nodes})


def spell(clip: Clip) -> str:
    """The text of copied nodes."""
    nodes = json.loads(write_tree(Tree(nodes=clip.nodes)))["nodes"]
    places = {i: [place.x, place.y] for i, place in clip.places.items()}
    text = {_MEMBER: FORMAT, "nodes": nodes, "places": places}
    return json.dumps(text, ensure_ascii=False, indent=2) + "\n"


def read(text: str, card_size: layout.CardSize = layout.usual_size) -> Clip:
    """The nodes a text holds; raises ``NotNodes``. Those without a place are laid out with such cards."""
    if not text.lstrip().startswith("{"):
        raise NotNodes(_FOREIGN)
    try:
        reading = read_tree(text.encode("utf-8", "surrogatepass"))
    except DocumentRefused as refused:
        raise NotNodes(f"{_BROKEN} {refused.message}") from None
    tree, members = reading.tree, reading.tree.unknown_members
    form = members.get(_MEMBER, FORMAT)
    if isinstance(form, int) and form > FORMAT:
        raise NotNodes("These nodes were copied with a newer version of this program.")
    if not reading.whole:
        # A few nodes need no tree around them, so what a tree would miss is none of their faults.
        raise NotNodes(f"{_BROKEN} {next(p for p in reading.problems if p.code != 'member-missing').message}")
    if not tree.nodes:
        raise NotNodes(_FOREIGN)
    places = members.get("places")
    found = {i: _place(at) for i, at in places.items()} if isinstance(places, dict) else {}
    known = {i: place for i, place in found.items() if place and i in tree.nodes}
    sizes = {i: card_size(node, i) for i, node in tree.nodes.items()}
    return Clip(tree.nodes, layout.arrange(tree, sizes, pinned=known), tree.start_node_id)


def put(draft: Draft, clip: Clip, at: Place | None = None, *, outgoing: bool = False) -> Draft:
    """With the copied nodes added, as they stood to each other.

    ``at`` is where their upper left corner shall be; without it they lie a step beside where they were. A
    step is added until they cover no card exactly. Ids that are taken get a number. Branches among the
    nodes stay; those that led outside are dropped, or with ``outgoing`` kept where the target is there.
    """
    tree = draft.tree
    names = dict(zip(clip.nodes, edits.unique_names(tree.nodes, clip.nodes), strict=True))

    def led(transition: Transition) -> Transition | None:
        target = transition.next_node_id
        if target in names:
            return transition.replace(next_node_id=names[target])
        return transition if outgoing and target in tree.nodes else None

    nodes = {
        names[old]: node.replace(transitions=tuple(filter(None, map(led, node.transitions))))
        for old, node in clip.nodes.items()
    }
    places = {names[i]: place for i, place in _beside(draft, clip, at).items()}
    start = tree.start_node_id or names.get(clip.start) or next(iter(nodes), "")
    return replace(
        draft,
        tree=tree.replace(nodes={**tree.nodes, **nodes}, start_node_id=start),
        places={**draft.places, **places},
    )


def _beside(draft: Draft, clip: Clip, at: Place | None) -> dict[NodeId, Place]:
    """Places for copied nodes that cover no card of the draft exactly."""
    places = clip.places
    left = min((p.x for p in places.values()), default=0.0)
    top = min((p.y for p in places.values()), default=0.0)
    dx, dy = (0.0, 0.0) if at is None else (at.x - left, at.y - top)
    stand = set(draft.places.values())
    moved = {i: Place(p.x + dx, p.y + dy) for i, p in places.items()}
    while stand & set(moved.values()):
        moved = {i: Place(p.x + _STEP, p.y + _STEP) for i, p in moved.items()}
    return moved


def _place(value: Json) -> Place | None:
    match value:
        case [int() | float() as x, int() | float() as y] if max(abs(x), abs(y)) < _FARTHEST:
            return Place(float(x), float(y))
        case _:
            return None
