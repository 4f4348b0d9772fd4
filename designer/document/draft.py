"""The draft: everything an author edits, as one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine import Json, NodeId, Tree


@dataclass(frozen=True, slots=True)
class Place:
    """Where the top left corner of a card is, in scene units."""

    x: float
    y: float


@dataclass(frozen=True)
class Draft:
    """A tree and what only the eye needs beside it.

    A node without a place is one that nobody has laid out yet. ``design`` holds the members of
    ``NAME.design.json`` that no part of the designer reads; they are written back as they came.
    """

    tree: Tree
    places: Mapping[NodeId, Place] = field(default_factory=dict)
    design: Mapping[str, Json] = field(default_factory=dict)
