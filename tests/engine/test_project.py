"""The project file: read, refused with its place, kept and written."""

import json
from pathlib import Path

import pytest

from engine.errors import ProjectError
from engine.project import FILE_NAME, Project, load_project, write_project
from tests.builders import as_bytes

FULL = {
    "format": 1,
    "catalog": ["catalog.py"],
    "actions": {"load": {"kind": "sleep", "parameters": {"seconds": 1}}},
    "agents": {"helper": {"tools": []}},
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


def load(folder: Path, data: bytes) -> Project:
    (folder / FILE_NAME).write_bytes(data)
    return load_project(folder)


def test_a_folder_without_a_file_has_an_empty_project(tmp_path: Path):
    assert load_project(tmp_path) == Project()


def test_every_member_is_read(tmp_path: Path):
    project = load(tmp_path, as_bytes(FULL))
    assert project.catalog == ("catalog.py",)
    assert project.external.actions["ship"].llm_calls == (0, 2)
    assert project.parameters == {"customer": "Ada"}
    assert project.trees["refund"].erasure_key_parameter == "customer"
    assert project.trees["refund"].classify["reason"].min_confidence == 0.5
    assert project.problems == ()


def test_a_project_is_written_as_it_was_read(tmp_path: Path):
    project = load(tmp_path, as_bytes(FULL))
    assert write_project(project) == as_bytes(FULL) + b"\n"
    assert load(tmp_path, write_project(project)).model_dump() == project.model_dump()
    assert json.loads(write_project(Project())) == {"format": 1}


def test_unknown_members_are_kept_and_named(tmp_path: Path):
    document = {"colour": 1, **FULL, "external": {"predicates": [], "shape": {"a": 1}}}
    project = load(tmp_path, as_bytes(document))
    assert [(p.code, p.severity, p.pointer, p.line, p.column, p.message) for p in project.problems] == [
        ("member-unknown", "warning", "/colour", 2, 3, "'colour' is not known; it is kept and ignored."),
        (
            "member-unknown",
            "warning",
            "/external/shape",
            22,
            5,
            "'external.shape' is not known; it is kept and ignored.",
        ),
    ]
    written = json.loads(write_project(project))
    assert written["colour"] == 1
    assert written["external"]["shape"] == {"a": 1}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{\n  "format": 2\n}', "2:3"),
        ('{\n  "format": 1,\n  "catalog": "catalog.py"\n}', "3:3"),
        ('{"external": {"actions": {"a": {"llmCalls": [2, 1]}}}}', "1:27"),
        ('{"external": {"actions": {"a": {"llmCalls": [0, -1]}}}}', "1:49"),
        ('{"parameters": {"a": 5}}', "1:17"),
        ('{"a": 1,\n "a": 2}', "2:2"),
        ("[1]", "1:1"),
        ("{", "1:2"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, text: str, place: str):
    with pytest.raises(ProjectError) as caught:
        load(tmp_path, text.encode())
    assert str(caught.value).startswith(f"{tmp_path / FILE_NAME}:{place}: ")


@pytest.mark.parametrize(
    ("document", "pointer", "message"),
    [
        ([1], "", "A project must be an object."),
        ({"format": 2}, "/format", "'format' is wrong: this version knows form 1 only."),
        ({"format": True}, "/format", "'format' must be a whole number."),
        ({"format": 1.0}, "/format", "'format' must be a whole number."),
        ({"format": "1"}, "/format", "'format' must be a whole number."),
        ({"format": None}, "/format", "'format' must be a whole number."),
        ({"catalog": "catalog.py"}, "/catalog", "'catalog' must be a list."),
        ({"catalog": ["a.py", 5]}, "/catalog/1", "'catalog.1' must be text."),
        ({"actions": {"a/b": []}}, "/actions/a~1b", "'actions.a/b' must be an object."),
        ({"external": {"predicates": {}}}, "/external/predicates", "'external.predicates' must be a list."),
        ({"external": []}, "/external", "'external' must be an object."),
        ({"parameters": {"a": 5}}, "/parameters/a", "'parameters.a' must be text."),
        ({"trees": {"t": {"classify": 1}}}, "/trees/t/classify", "'trees.t.classify' must be an object."),
    ],
)
def test_what_does_not_fit_is_told_in_plain_words(
    tmp_path: Path, document: object, pointer: str, message: str
):
    with pytest.raises(ProjectError) as caught:
        load(tmp_path, as_bytes(document))
    (problem,) = caught.value.problems
    assert (problem.code, problem.severity) == ("project-invalid", "error")
    assert (problem.pointer, problem.message) == (pointer, message)
    assert (problem.line or 0) >= 1
    assert (problem.column or 0) >= 1


@pytest.mark.parametrize(
    ("calls", "inside", "reason"),
    [
        ([0, True], "/llmCalls/1", "must be a whole number"),
        ([0, 1.0], "/llmCalls/1", "must be a whole number"),
        ([0, -1], "/llmCalls/1", "must be at least 0"),
        ([0], "/llmCalls/1", "is missing"),
        ([0, 1, 2], "/llmCalls", "must hold at most 2"),
        (2, "/llmCalls", "must be a list"),
        ([2, 1], "", "is wrong: llmCalls names the fewest calls first"),
    ],
)
def test_the_calls_of_an_external_action_are_two_whole_numbers(
    tmp_path: Path, calls: object, inside: str, reason: str
):
    with pytest.raises(ProjectError) as caught:
        load(tmp_path, as_bytes({"external": {"actions": {"ship": {"llmCalls": calls}}}}))
    (problem,) = caught.value.problems
    assert problem.pointer == f"/external/actions/ship{inside}"
    assert problem.message.endswith(f" {reason}.")


@pytest.mark.parametrize(("value", "read"), [(0, 0), (1, 1), (0.25, 0.25)])
def test_a_least_confidence_is_a_number(tmp_path: Path, value: float, read: float):
    document = {"trees": {"t": {"classify": {"n": {"minConfidence": value}}}}}
    assert load(tmp_path, as_bytes(document)).trees["t"].classify["n"].min_confidence == read


@pytest.mark.parametrize(
    ("value", "reason"),
    [(True, "must be a number"), ("0.5", "must be a number"), (1.5, "must be at most 1")],
)
def test_a_least_confidence_is_between_0_and_1(tmp_path: Path, value: object, reason: str):
    document = {"trees": {"t": {"classify": {"n": {"minConfidence": value}}}}}
    with pytest.raises(ProjectError) as caught:
        load(tmp_path, as_bytes(document))
    assert [(p.pointer, p.message) for p in caught.value.problems] == [
        ("/trees/t/classify/n/minConfidence", f"'trees.t.classify.n.minConfidence' {reason}.")
    ]


def test_everything_that_does_not_fit_is_told_at_once(tmp_path: Path):
    with pytest.raises(ProjectError) as caught:
        load(tmp_path, b'{"catalog": [5],\n "parameters": {"a": 1},\n "decider": []}')
    assert [(p.pointer, p.line, p.column) for p in caught.value.problems] == [
        ("/catalog/0", 1, 14),
        ("/decider", 3, 2),
        ("/parameters/a", 2, 17),
    ]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(ProjectError, match=FILE_NAME) as caught:
        load_project(tmp_path)
    assert [(p.code, p.line, p.column) for p in caught.value.problems] == [("file-unreadable", 1, 1)]


def test_of_a_file_without_an_end_no_more_is_read_than_shows_its_size(tmp_path: Path):
    (tmp_path / FILE_NAME).symlink_to("/dev/zero")
    with pytest.raises(ProjectError) as caught:
        load_project(tmp_path)
    assert [p.code for p in caught.value.problems] == ["json-too-large"]
