"""The built-in predicates, row by row, and the catalog of a project."""

import json
from pathlib import Path

import pytest

from engine.actions import catalog_of
from engine.catalog import PredicateContext
from engine.data import DataItem, DataStore
from engine.errors import ProjectError
from engine.predicates import BUILT_IN, standard_catalog
from engine.project import External, ExternalAction, Project, load_project
from engine.tree import Json


def holds(key: str, parameters: dict[str, Json], *kinds: str, **properties: object) -> bool:
    data = DataStore(DataItem(f"item-{n}", "test", kind, "text") for n, kind in enumerate(kinds))
    context = PredicateContext("node", properties, data, parameters)
    return standard_catalog().predicates[key].evaluate(context)


# R1 to R8
@pytest.mark.parametrize(
    ("parameters", "kinds", "expected"),
    [
        ({"min": 1}, ["photo"], False),
        ({"type": 5, "min": 1}, ["photo"], False),
        ({"type": "photo"}, ["photo"], False),
        ({"type": "photo", "min": 1.5}, ["photo", "photo"], False),
        ({"type": "photo", "min": -1}, ["photo"], False),
        ({"type": "photo", "min": 0}, [], True),
        ({"type": "photo", "min": 2}, ["photo", "photo", "note"], True),
        ({"type": "photo", "min": 2}, ["photo", "note"], False),
    ],
)
def test_data_count_at_least(parameters: dict[str, Json], kinds: list[str], expected: bool):
    assert holds("dataCountAtLeast", parameters, *kinds) is expected


@pytest.mark.parametrize("least", [True, 1.0, "1", None, 2**31])
def test_only_a_whole_number_is_a_count(least: Json):
    assert not holds("dataCountAtLeast", {"type": "photo", "min": least}, "photo", "photo")


# R9
def test_a_null_property_does_not_exist():
    assert not holds("propertyExists", {"key": "found"}, found=None)
    assert not holds("propertyExists", {"key": "found"})
    assert holds("propertyExists", {"key": "found"}, found="")


# R10
def test_property_equals_compares_texts():
    assert holds("propertyEquals", {"key": "count", "value": "5"}, count=5)
    assert not holds("propertyEquals", {"key": "count", "value": 5}, count=5)


@pytest.mark.parametrize(
    ("stored", "text"), [(True, "True"), (False, "False"), (5, "5"), (5.0, "5"), (2.5, "2.5"), ("a", "a")]
)
def test_a_property_reads_the_same_in_any_culture(stored: object, text: str):
    assert holds("propertyEquals", {"key": "p", "value": text}, p=stored)
    assert not holds("propertyEquals", {"key": "p", "value": text.swapcase() + " "}, p=stored)


@pytest.mark.parametrize("value", [5, True, None, "None", ""])
def test_a_null_property_equals_nothing(value: Json):
    assert not holds("propertyEquals", {"key": "p", "value": value}, p=None)


def test_data_exists_asks_for_exactly_this_type():
    assert holds("dataExists", {"type": "photo"}, "note", "photo")
    assert not holds("dataExists", {"type": "photo"}, "Photo")
    assert not holds("dataExists", {}, "photo")


def test_more_parameters_than_needed_are_ignored():
    assert holds("dataExists", {"type": "photo", "colour": "red"}, "photo")


def test_the_built_in_predicates_are_the_four_of_the_specification():
    keys = [predicate.key for predicate in BUILT_IN]
    assert keys == ["propertyExists", "propertyEquals", "dataExists", "dataCountAtLeast"]
    assert not standard_catalog().actions


# ------------------------------------------------------------------------------------------ projects

MODULE = """
from engine.catalog import action, predicate

@predicate("isWeekend")
def is_weekend(context, day: str) -> bool:
    return day in {"Saturday", "Sunday"}
"""


def test_external_keys_are_known_without_trust(tmp_path: Path):
    project = Project(
        catalog=("catalog.py",),
        external=External(actions={"ship": ExternalAction(llm_calls=(0, 2))}, predicates=("isOpen",)),
    )
    catalog = catalog_of(project, tmp_path, trusted=False)
    assert catalog.external_actions == {"ship": (0, 2)}
    assert catalog.external_predicates == {"isOpen"}
    assert set(catalog.predicates) == set(standard_catalog().predicates)


def test_a_trusted_folder_adds_its_own_entries(tmp_path: Path):
    (tmp_path / "catalog.py").write_text(MODULE)
    catalog = catalog_of(Project(catalog=("catalog.py",)), tmp_path, trusted=True)
    context = PredicateContext("node", {}, DataStore(), {"day": "Sunday"})
    assert catalog.predicates["isWeekend"].evaluate(context)


@pytest.mark.parametrize("name", ["../catalog.py", "sub/../../catalog.py", "{outside}/catalog.py"])
def test_a_catalog_file_stays_inside_the_folder(tmp_path: Path, name: str):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "catalog.py").write_text("raise SystemExit('ran')")
    with pytest.raises(ProjectError, match="lies outside the project's folder"):
        catalog_of(Project(catalog=(name.format(outside=tmp_path),)), folder, trusted=True)


def test_a_link_does_not_lead_outside_the_folder(tmp_path: Path):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "catalog.py").write_text("raise SystemExit('ran')")
    (folder / "catalog.py").symlink_to(tmp_path / "catalog.py")
    with pytest.raises(ProjectError, match="outside"):
        catalog_of(Project(catalog=("catalog.py",)), folder, trusted=True)


def test_a_project_may_not_take_a_built_in_key(tmp_path: Path):
    (tmp_path / "catalog.py").write_text(MODULE.replace("isWeekend", "dataExists"))
    with pytest.raises(ProjectError, match="dataExists"):
        catalog_of(Project(catalog=("catalog.py",)), tmp_path, trusted=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../other.py", "The catalog file '../other.py' lies outside the project's folder."),
        ("a\0b.py", "cannot be found"),
        ("none.py", "none.py: loading it failed with FileNotFoundError."),
        ("broken.py", "broken.py: loading it failed with ZeroDivisionError."),
        ("catalog.txt", "catalog.txt: this is not a Python file."),
    ],
)
def test_a_catalog_that_cannot_be_loaded_is_told_at_its_place_in_the_project(
    tmp_path: Path, name: str, words: str
):
    (tmp_path / "good.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "catalog.txt").write_text("")
    (tmp_path / "treewright.json").write_text(json.dumps({"catalog": ["good.py", name]}, indent=2))
    with pytest.raises(ProjectError) as caught:
        catalog_of(load_project(tmp_path), tmp_path, trusted=True)
    (problem,) = caught.value.problems
    assert (problem.code, problem.pointer, problem.line, problem.column) == (
        "catalog-invalid",
        "/catalog/1",
        4,
        5,
    )
    assert words in problem.message
    assert str(caught.value) == f"{tmp_path / 'treewright.json'}:4:5: {problem.message}"
