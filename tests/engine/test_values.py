"""Values that are quick to make are frozen dataclasses in every way but how their fields are set."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from engine.values import quick_to_make


@quick_to_make
@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    label: str = field(default="", repr=False)


@quick_to_make
@dataclass(frozen=True, slots=True)
class Named(Point):
    notes: Mapping[str, str] = field(default_factory=dict)
    name: str | None = field(default=None, kw_only=True)


def test_what_was_made_is_of_its_class_and_stays_as_it_is():
    point = Point(1)
    assert type(point) is Point
    for change in (lambda: setattr(point, "x", 3), lambda: delattr(point, "x")):
        with pytest.raises(FrozenInstanceError):
            change()
    assert point == Point(1, 2)


def test_fields_are_given_by_place_or_by_name_and_have_their_defaults():
    named = Named(1, y=3, name="n")
    assert (named.x, named.y, named.label, named.notes, named.name) == (1, 3, "", {}, "n")
    assert named.notes is not Named(1).notes
    with pytest.raises(TypeError):
        Named()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Named(1, 2, "", {}, "n")  # type: ignore[call-arg]


def test_it_is_compared_hashed_shown_and_copied_as_any_dataclass():
    assert {Point(1): "here"}[Point(1, 2)] == "here"
    assert repr(Point(1, label="secret")) == "Point(x=1, y=2)"
    assert replace(Named(1, name="a"), x=5) == Named(5, name="a")
    assert deepcopy(Named(1, name="a")) == Named(1, name="a")
    assert [f.name for f in fields(Named)] == ["x", "y", "label", "notes", "name"]


def test_a_class_derived_from_it_is_made_as_before():
    class Marked(Named):
        mark = "!"

    marked = Marked(1, notes={"a": "b"})
    assert (type(marked), marked.mark, marked.y, marked.notes) == (Marked, "!", 2, {"a": "b"})
