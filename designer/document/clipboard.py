"""Nodes and notes as text and back, so that they travel between trees, windows and programs.

The text is JSON: the nodes as in a tree file, their places, and the notes as in a design file. A whole tree
file is such a text too.
"""

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from designer.document import edits, layout
from designer.document.draft import Draft, Note, Place
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
    """Copied nodes and notes. The nodes still name those outside that their branches led to.

    ``start`` is the start of a tree that was copied whole.
    """

    nodes: Mapping[NodeId, AnyNode]
    places: Mapping[NodeId, Place] = field(default_factory=dict)
    start: NodeId = ""
    notes: Mapping[str, Note] = field(default_factory=dict)


def take(draft: Draft, ids: Collection[NodeId], notes: Collection[str] = ()) -> Clip:
    """A copy of these nodes and notes."""
    nodes = {i: node for i, node in draft.tree.nodes.items() if i in ids}
    places = {i: place for i, place in draft.places.items() if i in nodes}
    return Clip(nodes, places, notes={i: note for i, note in draft.notes.items() if i in notes})


def spell(clip: Clip) -> str:
    """The text of copied nodes and notes."""
    nodes = json.loads(write_tree(Tree(nodes=clip.nodes)))["nodes"]
    places = {i: [place.x, place.y] for i, place in clip.places.items()}
    text = {_MEMBER: FORMAT, "nodes": nodes, "places": places}
    if clip.notes:
        text["notes"] = {name: note.spelled() for name, note in clip.notes.items()}
    return json.dumps(text, ensure_ascii=False, indent=2) + "\n"


def read(text: str, card_size: layout.CardSize = layout.usual_size) -> Clip:
    """The nodes and notes a text holds; raises ``NotNodes``.

    Nodes without a place are laid out with such cards; a note that cannot be understood is left out.
    """
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
    notes = _notes(members["notes"]) if _MEMBER in members and "notes" in members else {}
    if not tree.nodes and not notes:
        raise NotNodes(_FOREIGN)
    places = members.get("places")
    found = {i: _place(at) for i, at in places.items()} if isinstance(places, dict) else {}
    known = {i: place for i, place in found.items() if place and i in tree.nodes}
    sizes = {i: card_size(node, i) for i, node in tree.nodes.items()}
    return Clip(tree.nodes, layout.arrange(tree, sizes, pinned=known), tree.start_node_id, notes)


def put(draft: Draft, clip: Clip, at: Place | None = None, *, outgoing: bool = False) -> Draft:
    """With the copied nodes and notes added, as they stood to each other.

    ``at`` is where their upper left corner shall be; without it they lie a step beside where they were. A
    step is added until they cover nothing exactly. Ids that are taken get a number. Branches among the
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
    places, notes = _beside(draft, clip, at)
    titles = dict(zip(notes, edits.unique_names(draft.notes, notes), strict=True))
    after = edits.set_notes(draft, {titles[name]: note for name, note in notes.items()})
    if not nodes:
        return after
    start = tree.start_node_id or names.get(clip.start) or next(iter(nodes))
    return replace(
        after,
        tree=tree.replace(nodes={**tree.nodes, **nodes}, start_node_id=start),
        places={**draft.places, **{names[i]: place for i, place in places.items()}},
    )


def _beside(draft: Draft, clip: Clip, at: Place | None) -> tuple[dict[NodeId, Place], dict[str, Note]]:
    """The places of the copied nodes, and the copied notes, where they cover nothing of the draft exactly."""
    corners = [*clip.places.values(), *(note.place for note in clip.notes.values())]
    left = min((p.x for p in corners), default=0.0)
    top = min((p.y for p in corners), default=0.0)
    dx, dy = (0.0, 0.0) if at is None else (at.x - left, at.y - top)
    stand = {*draft.places.values(), *(note.place for note in draft.notes.values())}
    while stand & {Place(p.x + dx, p.y + dy) for p in corners}:
        dx, dy = dx + _STEP, dy + _STEP

    def moved(place: Place) -> Place:
        return Place(place.x + dx, place.y + dy)

    notes = {name: replace(note, place=moved(note.place)) for name, note in clip.notes.items()}
    return {i: moved(place) for i, place in clip.places.items()}, notes


def _notes(value: Json) -> dict[str, Note]:
    found = dict[str, Note]()
    for name, members in value.items() if isinstance(value, dict) else ():
        with suppress(ValueError, TypeError, KeyError, AttributeError, OverflowError):
            note = Note.of(members)  # type: ignore[arg-type]  # what is no note raises
            farthest = max(abs(note.place.x), abs(note.place.y), note.width, note.height)
            if farthest < _FARTHEST and min(note.width, note.height) > 0:
                found[name] = note
    return found


def _place(value: Json) -> Place | None:
    match value:
        case [int() | float() as x, int() | float() as y] if max(abs(x), abs(y)) < _FARTHEST:
            return Place(float(x), float(y))
        case _:
            return None
