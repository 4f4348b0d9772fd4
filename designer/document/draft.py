"""The draft: everything an author edits, as one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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


@dataclass(frozen=True)
class Draft:
    """A tree and what only the eye needs beside it.

    A node without a place is one that nobody has laid out yet. ``design`` holds the members of
    ``NAME.design.json`` that no part of the designer reads; they are written back as they came.
    """

    tree: Tree
    places: Mapping[NodeId, Place] = field(default_factory=dict)
    design: Mapping[str, Json] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)
