"""The draft: everything an author edits, as one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

from engine import Json, NodeId, Tree


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


@dataclass(frozen=True)
class Draft:
    """A tree and what only the eye needs beside it.

    A node without a place is one that nobody has laid out yet. ``design`` holds the members of
    ``NAME.design.json`` that no part of the designer reads; they are written back as they came.
    ``renamings`` are the pairs of an old id and a new one since the file was opened, the first one first.
    They are no part of what a draft is, only of how it came about.
    """

    tree: Tree
    places: Mapping[NodeId, Place] = field(default_factory=dict)
    design: Mapping[str, Json] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)
    renamings: tuple[tuple[NodeId, NodeId], ...] = field(default=(), compare=False, repr=False)


def renamed_since(before: Draft, after: Draft) -> tuple[tuple[NodeId, NodeId], ...]:
    """The renamings that lead from the ids of one draft to those of another of the same history."""
    one, other = before.renamings, after.renamings
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return (*((new, old) for old, new in reversed(one[same:])), *other[same:])


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
