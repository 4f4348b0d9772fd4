"""Problems: whatever stands where, its place is known, and the words are our own."""

import ast
import datetime as dt
import json
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.catalog import FunctionPredicate, Predicate, PredicateContext
from engine.checks import check, problems_of
from engine.checks.fixing import _FIXES
from engine.errors import Problem, ProjectError
from engine.evaluate import read_cases
from engine.predicates import standard_catalog
from engine.project import FILE_NAME, load_project
from engine.tree import Json
from engine.treefile import read_tree
from tests.builders import as_bytes, as_json, condition, demo_tree, terminal, tree, with_at

ANYTHING: list[object] = [None, True, 0, 1.0, 1.5, "x", [], {}, [1], [{}], {"a": None}]
FOREIGN = re.compile(
    r"input|valid (string|integer|number|dict|tuple|list)|value error|field required|instance|[{}]|NoneType",
    re.IGNORECASE,
)
PROJECT = {
    "format": 1,
    "catalog": ["catalog.py"],
    "actions": {"load": {"kind": "http"}},
    "agents": {"helper": {}},
    "external": {"actions": {"ship": {"llmCalls": [0, 2]}}, "predicates": ["isOpen"]},
    "decider": {"kind": "ask"},
    "parameters": {"customer": "Ada"},
    "trees": {
        "refund": {
            "classify": {"reason": {"minConfidence": 0.5, "descriptions": {"late": "came late"}}},
            "erasureKeyParameter": "customer",
        }
    },
}
CASE = {
    "id": "all",
    "tree": {"id": "demo-evidence-tree", "version": 1},
    "params": {"subject": "x"},
    "data": [{"id": "d", "source": "s", "type": "evidence", "content": "c", "metadata": {"k": "v"}}],
    "answers": {"classify": ["supported", "unknown"]},
    "replies": {"classify": ["{}"]},
    "conditions": {"verify": [True, False]},
    "actions": {"collect": [{"status": "transientFailure", "error": "e"}, {"status": "success"}]},
    "budget": {"maxNodeVisits": 3, "maxElapsedTime": "00:00:01", "onExceeded": "warn"},
    "expect": {"outcome": "Terminal", "path": ["collect"], "answers": {"classify": "unknown"}},
}


def changed(document: Any) -> Iterator[Any]:
    """The document with anything in any of its places."""

    def paths(part: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
        yield path
        inside = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for name, member in inside:
            yield from paths(member, *path, name)

    for path in paths(document):
        for value in ANYTHING:
            yield with_at(document, path, value) if path else value


def hold(problems: tuple[Problem, ...], document: object) -> None:
    for problem in problems:
        assert problem.message.endswith("."), (problem, document)
        assert not FOREIGN.search(problem.message), (problem, document)
        assert problem.line is not None, (problem, document)
        assert problem.column is not None, (problem, document)


def test_whatever_stands_in_a_tree_is_told_in_our_words_at_its_place():
    for document in changed(as_json(demo_tree())):
        hold(problems_of(read_tree(as_bytes(document))), document)


def test_whatever_stands_in_a_project_is_told_in_our_words_at_its_place(tmp_path: Path):
    for document in changed(PROJECT):
        (tmp_path / FILE_NAME).write_bytes(as_bytes(document))
        try:
            problems = load_project(tmp_path).problems
        except ProjectError as error:
            problems = error.problems
        hold(problems, document)


def test_whatever_stands_in_a_case_is_told_in_our_words_at_its_place(tmp_path: Path):
    file = tmp_path / "cases.jsonl"
    for document in changed(CASE):
        file.write_text(json.dumps(document))
        hold(read_cases(file, demo_tree())[1], document)


# ------------------------------------------------------------------------------------------ parameters


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def told(predicate: Predicate, parameters: dict[str, Json]) -> list[tuple[str, str, str]]:
    node = condition(predicate.key, parameters=parameters, then="end", otherwise="end")
    found = check(tree(a=node, end=terminal("done")), standard_catalog().with_predicates([predicate]))
    return [
        (p.code, p.pointer.removeprefix("/nodes/a/predicateParameters"), p.message.partition("'a' ")[2])
        for p in found
    ]


def taking(annotation: object) -> FunctionPredicate:
    def test(context: PredicateContext, of: Any) -> bool:
        return True

    test.__annotations__["of"] = annotation
    return FunctionPredicate("test", test)


@pytest.mark.parametrize(
    ("annotation", "value", "inside", "reason"),
    [
        (str, 5, "", "must be text."),
        (int, 1.0, "", "must be a whole number."),
        (int, True, "", "must be a whole number."),
        (float, True, "", "must be a number."),
        (float, "1", "", "must be a number."),
        (bool, 1, "", "must be true or false."),
        (int | str, [], "", "must be a whole number or text."),
        (str | None, 5, "", "must be text."),
        (list[str], "a", "", "must be a list."),
        (list[str], ["a", 1], "/1", "must be text."),
        (tuple[str, ...], ["a", 1], "/1", "must be text."),
        (set[int], [1, "2"], "/1", "must be a whole number."),
        (dict[str, int], {"a": "b"}, "/a", "must be a whole number."),
        (dict[str, int], [], "", "must be an object."),
        (Literal["a", "b"], "c", "", "must be 'a' or 'b'."),
        (Colour, "green", "", "must be 'red' or 'blue'."),
        (dt.date, "soon", "", "does not fit."),
        (Annotated[int, Field(ge=1)], 0, "", "must be at least 1."),
        (Annotated[float, Field(le=0.5)], 0.75, "", "must be at most 0.5."),
        (Annotated[int, Field(gt=1, lt=3)], 3, "", "must be less than 3."),
        (Annotated[str, Field(min_length=2)], "a", "", "must have at least 2 characters."),
        (Annotated[list[int], Field(max_length=1)], [1, 2], "", "must hold at most 1."),
    ],
)
def test_a_parameter_that_does_not_fit_is_told_in_plain_words(
    annotation: object, value: Json, inside: str, reason: str
):
    assert told(taking(annotation), {"of": value}) == [("predicate-parameter-type", f"/of{inside}", reason)]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (tuple[str, ...], ["a"]),
        (set[int], [1, 2]),
        (Colour, "red"),
        (dt.date, "2026-01-31"),
        (float, 1),
        (object, None),
    ],
)
def test_what_json_can_only_say_otherwise_fits_a_parameter(annotation: object, value: Json):
    assert told(taking(annotation), {"of": value}) == []


def test_a_function_that_takes_any_parameter_needs_none():
    def anything(context: PredicateContext, *more: str, **rest: str) -> bool:
        return True

    assert told(FunctionPredicate("test", anything), {}) == []


class _Interval(BaseModel):
    model_config = ConfigDict(extra="forbid")
    least: int = Field(alias="from")
    most: int = Field(alias="to")

    @model_validator(mode="after")
    def _ordered(self) -> "_Interval":
        if self.least > self.most:
            raise ValueError("the smaller number comes first")
        return self


class Between:
    """A predicate with a model of its own."""

    key = "between"
    parameter_model = _Interval

    def evaluate(self, context: PredicateContext) -> bool:
        return True


def test_a_model_of_ones_own_may_judge_its_parameters_together():
    assert told(Between(), {"from": 1, "to": 2}) == []
    assert told(Between(), {"from": 2, "to": 1}) == [
        ("predicate-parameter-type", "", "is wrong: the smaller number comes first.")
    ]
    assert [(code, place) for code, place, _ in told(Between(), {"from": 1, "upto": 2})] == [
        ("predicate-parameter-missing", "/to"),
        ("predicate-parameter-type", "/upto"),
    ]


# ------------------------------------------------------------------------------------------ the help page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "resources" / "help" / "problems.md").read_text("utf-8")
CODE = re.compile(r"[a-z]+(-[a-z]+)+")
SOURCES = (
    "jsontext.py",
    "treefile.py",
    "checks/__init__.py",
    "asking.py",
    "project.py",
    "actions/__init__.py",
    "evaluate/cases.py",
    "cli.py",
)
OTHERS = {
    "unreachable",
    "action-key-missing",
    "task-missing",
    "predicate-key-missing",
    "verdict-missing",
    "node-name-blank",
    "node-description-blank",
}
"""Codes that are a single word, or made of the name of a field."""


def codes_of(source: Path) -> set[str]:
    return {
        node.value
        for node in ast.walk(ast.parse(source.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value)
    }


def test_the_help_page_has_every_code():
    told = set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE))
    assert told == OTHERS.union(*(codes_of(ROOT / "engine" / source) for source in SOURCES))


def test_the_help_page_says_which_problems_have_a_fix():
    rows = re.findall(r"^\| `([a-z-]+)` \| \w+ \|.+\| ([*\w][^|]*) \|$", PAGE, re.MULTILINE)
    # An old spelling is put right by writing the file.
    assert {code for code, _ in rows} == {*_FIXES, "spelling-old"}
