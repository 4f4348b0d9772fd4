"""Opening a folder nobody trusts: none of its Python runs, and the actions of its project file are known."""

from pathlib import Path

from typer.testing import CliRunner

from designer.cli import app
from designer.document.document import Document
from designer.workbench import Workbench
from engine import write_tree
from tests.builders import action, as_bytes, condition, terminal, tree

TRIPWIRE = """
import pathlib
pathlib.Path(__file__).with_name("EXECUTED").touch()
from engine import ActionResult, action

@action("ours")
async def ours(context):
    return ActionResult()
"""


def project(folder: Path, **actions: object) -> Path:
    (folder / "catalog.py").write_text(TRIPWIRE)
    (folder / "treewright.json").write_bytes(as_bytes({"catalog": ["catalog.py"], "actions": actions}))
    document = tree(
        note=action("note", success="ours"), ours=action("ours", success="end"), end=terminal("end")
    )
    (folder / "tree.json").write_bytes(write_tree(document))
    return folder / "tree.json"


def opened(bench: Workbench, path: Path) -> Document:
    document = Document.open(path)
    assert isinstance(document, Document)
    bench.add(document)
    return document


NOTE = {"kind": "setProperty", "parameters": {"property": "a", "value": "1"}}


def test_a_document_that_is_opened_executes_nothing_before_the_folder_is_trusted(
    bench: Workbench, tmp_path: Path
):
    document = opened(bench, project(tmp_path, note=NOTE))
    assert document.catalog.actions.keys() == {"note"}
    assert not (tmp_path / "EXECUTED").exists()
    bench.trust(tmp_path)
    assert document.catalog.actions.keys() == {"note", "ours"}
    assert (tmp_path / "EXECUTED").exists()
    assert bench.settings.trusted_folders == (tmp_path,)


def test_a_folder_that_is_no_longer_trusted_is_not_executed_when_it_is_opened_again(
    bench: Workbench, tmp_path: Path
):
    path = project(tmp_path, note=NOTE)
    bench.change_settings(trusted_folders=(tmp_path,))
    bench.change_settings(trusted_folders=())
    document = opened(bench, path)
    assert document.catalog.actions.keys() == {"note"}
    assert not (tmp_path / "EXECUTED").exists()


HOW = "Python code of its folder is used only once you trust it: press 'Trust this folder…' under Answers."


def test_a_run_that_lacks_what_is_not_trusted_says_how_to_trust_it(bench: Workbench, tmp_path: Path):
    document = opened(bench, project(tmp_path, note=NOTE))
    assert bench.running.reason_not_ready(document) == (
        f"There is no action 'ours' here, which 'ours' asks for. {HOW} Or pin what it would do."
    )
    bench.trust(tmp_path)
    assert bench.running.reason_not_ready(document) is None


def test_so_does_one_that_lacks_a_predicate(bench: Workbench, tmp_path: Path):
    project(tmp_path)
    asked = tree(test=condition("ours", then="end", otherwise="end"), end=terminal("end"))
    path = tmp_path / "tree.json"
    path.write_bytes(write_tree(asked))
    document = opened(bench, path)
    assert bench.running.reason_not_ready(document) == f"Fix the error under Problems first. {HOW}"
    (tmp_path / "treewright.json").write_bytes(as_bytes({}))
    document = opened(bench, path)
    assert bench.running.reason_not_ready(document) == "Fix the error under Problems first."


def test_actions_that_do_not_fit_are_told_and_the_document_opens_all_the_same(
    bench: Workbench, tmp_path: Path
):
    told: list[str] = []
    bench.trouble.connect(told.append)
    document = opened(bench, project(tmp_path, note={"kind": "nothing"}))
    assert document.catalog.actions.keys() == set()
    assert any("treewright.json:7:7: 'actions.note.kind' must be one of" in text for text in told)


def test_a_key_that_the_python_has_too_costs_the_python_and_not_the_document(
    bench: Workbench, tmp_path: Path
):
    path = project(tmp_path, note=NOTE, ours=NOTE)
    document = opened(bench, path)
    told: list[str] = []
    bench.trouble.connect(told.append)
    bench.trust(tmp_path)
    assert any("The action 'ours' is in the project's Python code, too." in text for text in told)
    assert document.catalog.actions.keys() == {"note", "ours"}


def test_no_picture_of_a_tree_executes_what_is_not_trusted(qapp: object, tmp_path: Path):
    path = project(tmp_path, note=NOTE)
    for form in ("svg", "html"):
        CliRunner().invoke(app, ["export", str(path), str(tmp_path / f"out.{form}")], catch_exceptions=False)
        assert (tmp_path / f"out.{form}").exists()
    assert not (tmp_path / "EXECUTED").exists()


def test_trust_that_is_taken_back_holds_at_once(bench: Workbench, tmp_path: Path):
    document = opened(bench, project(tmp_path, note=NOTE))
    bench.trust(tmp_path)
    told: list[object] = []
    bench.trust_changed.connect(lambda: told.append(None))
    bench.distrust(tmp_path)
    assert document.catalog.actions.keys() == {"note"}
    assert bench.untrusted(document) == (tmp_path, True, "", ())
    assert (bench.settings.trusted_folders, bench.settings.declined_folders) == ((), (tmp_path,))
    assert told
    bench.trust(tmp_path)
    assert document.catalog.actions.keys() == {"note", "ours"}


def test_python_of_a_trusted_folder_is_run_once_however_often_actions_are_edited(
    bench: Workbench, tmp_path: Path
):
    document = opened(bench, project(tmp_path, note=NOTE))
    bench.trust(tmp_path)
    (tmp_path / "EXECUTED").unlink()
    bench.describe_action(document, "note", {"kind": "sleep", "parameters": {"seconds": 1}})
    bench.save(document)
    document.undo()
    assert document.catalog.actions.keys() == {"note", "ours"}
    assert not (tmp_path / "EXECUTED").exists()
