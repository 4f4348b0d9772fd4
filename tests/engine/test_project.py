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
    "actions": {"load": {"kind": "http", "parameters": {"url": "x"}}},
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
    assert load(tmp_path, write_project(project)) == project
    assert json.loads(write_project(Project())) == {"format": 1}


def test_unknown_members_are_kept_and_named(tmp_path: Path):
    document = {**FULL, "colour": 1, "external": {"predicates": [], "shape": {"a": 1}}}
    project = load(tmp_path, as_bytes(document))
    assert [(p.code, p.severity, p.pointer) for p in project.problems] == [
        ("member-unknown", "warning", "/colour"),
        ("member-unknown", "warning", "/external/shape"),
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


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(ProjectError, match=FILE_NAME):
        load_project(tmp_path)
