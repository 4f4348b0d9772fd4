"""A folder nobody trusts: none of its Python is executed by any command, and nothing outside it is read."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_group

from engine import Event, Project, Session, catalog_of, load_project, read_tree, runnable, write_tree
from engine.cli import app
from engine.evaluate import RunLog, read_run_log, replay, write_run_log
from engine.project import FILE_NAME
from tests.builders import action, as_bytes, condition, terminal, tree
from tests.engine.test_cli import Said

pytestmark = pytest.mark.anyio

TRIPWIRE = """
import pathlib
pathlib.Path(__file__).with_name("EXECUTED").touch()
from engine import ActionResult, action, predicate
from engine.agent import tool

@action("ours")
async def ours(context):
    return ActionResult()

@predicate("isOurs")
def is_ours(context):
    return True

@tool("ourTool")
async def our_tool():
    return ""
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose Python leaves a mark wherever it is loaded, under every name Python might look for."""
    for name in (
        "catalog.py",
        "engine.py",
        "sitecustomize.py",
        "conftest.py",
        "tree.py",
        "json.py",
        "httpx.py",
    ):
        (tmp_path / name).write_text(TRIPWIRE)
    document = {
        "catalog": ["catalog.py"],
        "actions": {
            "note": {"kind": "setProperty", "parameters": {"property": "a", "value": "1"}},
            "inner": {"kind": "subTree", "parameters": {"tree": "tree.json", "verdictProperty": "v"}},
        },
        "external": {"predicates": ["isOurs"]},
    }
    (tmp_path / FILE_NAME).write_bytes(as_bytes(document))
    grown = tree(
        note=action("note", success="ours"),
        ours=action("ours", success="is", permanent="end"),
        end=terminal("end"),
        **{"is": condition("isOurs", then="end", otherwise="end")},
    )
    (tmp_path / "tree.json").write_bytes(write_tree(grown))
    (tmp_path / "cases.jsonl").write_text(
        '{"id": "one", "actions": {"ours": {"status": "permanentFailure"}}, "conditions": {"is": true}}\n'
    )
    return tmp_path


def executed(folder: Path) -> bool:
    return (folder / "EXECUTED").exists()


COMMANDS: list[Callable[[Path], list[object]]] = [
    lambda file: ["check", file],
    lambda file: ["check", file, "--format", "sarif"],
    lambda file: ["run", file, "--case", "one"],
    lambda file: ["run", file],
    lambda file: ["test", file],
    lambda file: ["test", file, "--json"],
    lambda file: ["bounds", file],
    lambda file: ["paths", file],
    lambda file: ["paths", file, "--out", file.with_name("new.jsonl")],
    lambda file: ["export", file],
    lambda file: ["export", file, "--format", "html"],
    lambda file: ["check", file, "--fix"],
    lambda file: ["diff", file, file],
    lambda file: ["agents", "trace", file],
]


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_no_command_executes_what_is_not_trusted(folder: Path, command: Callable[[Path], list[object]]):
    Said(*command(folder / "tree.json"))
    assert not executed(folder)


def test_every_command_that_reads_a_tree_is_among_them():
    """A new one has to stand in the list above."""
    there = set(get_group(app).commands) - {"records"}
    assert {command(Path("tree.json"))[0] for command in COMMANDS} == there


def test_a_process_that_works_in_the_folder_does_not_execute_it_either(folder: Path):
    said = subprocess.run(
        [str(Path(sys.executable).with_name("treewright")), "check", "tree.json"],
        cwd=folder, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stderr) == (0, b"")
    assert not executed(folder)


async def test_neither_a_run_nor_a_replay_executes_it(folder: Path):
    catalog = catalog_of(load_project(folder), folder, trusted=False)
    document = runnable(read_tree((folder / "tree.json").read_bytes()).tree, catalog)
    events: list[Event] = []
    result = await Session(catalog=catalog).start(document, observers=[events.append]).finish()
    assert result.failure_kind == "validation"
    write_run_log(folder / "log", RunLog(tuple(events)))
    await replay(read_run_log(folder / "log"), catalog=catalog)
    assert catalog.tools == {}
    assert not executed(folder)


def test_the_tripwire_works(folder: Path):
    assert Said("check", folder / "tree.json", "--trust").code == 0
    assert executed(folder)


def test_trust_is_of_one_call_and_not_of_the_process(folder: Path):
    project = load_project(folder)
    assert "ours" in catalog_of(project, folder, trusted=True).actions
    assert "ours" not in catalog_of(project, folder, trusted=False).actions


def test_what_the_python_would_have_offered_is_told_and_how_to_load_it(folder: Path):
    said = Said("run", folder / "tree.json")
    assert said.code == 3
    assert "The project's own code (catalog.py) was not loaded; --trust loads it." in said.told


def test_an_empty_project_has_nothing_to_trust(tmp_path: Path):
    assert catalog_of(Project(), tmp_path, trusted=True) == catalog_of(Project(), tmp_path, trusted=False)
