"""Which folders are trusted: asked once, remembered, seen, taken back at once, through the real window."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QListWidget, QPushButton, QWidget

from designer.running import RunState
from designer.settings import Settings
from engine import write_tree
from tests.builders import action, as_bytes, terminal, tree
from tests.journeys.driving import Driver, by_hand, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

CODE = """
import pathlib
pathlib.Path(__file__).with_name("EXECUTED").touch()
from engine import ActionResult, action

@action("ours")
async def ours(context):
    import asyncio
    await asyncio.sleep(60)
    return ActionResult()
"""
TREE = tree(ours=action("ours", success="end"), end=terminal("end"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A tree whose action is Python of its folder, which leaves a mark when it is executed."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "catalog.py").write_text(CODE)
    (folder / "treewright.json").write_bytes(as_bytes({"catalog": ["catalog.py"]}))
    (folder / "tree.json").write_bytes(write_tree(TREE))
    return folder / "tree.json"


def executed(project: Path) -> bool:
    return project.with_name("EXECUTED").exists()


def is_asked(person: Driver) -> bool:
    return any(
        w.isVisible() for w in person.window.findChildren(QPushButton, "button.trust") if w.text()[-1] != "…"
    )


async def answer(person: Driver, name: str) -> None:
    """Press a button of the question whether a folder is trusted."""
    await until(lambda: is_asked(person))
    buttons = [b for b in person.window.findChildren(QPushButton, f"button.{name}") if b.text()[-1] != "…"]
    (button,) = (b for b in buttons if b.isVisible())
    await by_hand(lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton))
    await until(lambda: not is_asked(person))


async def open_again(person: Driver, project: Path) -> None:
    person.window.workbench.remove(person.document)
    person.window.open_path(project)


def test_a_folder_with_python_is_asked_about_once_and_a_no_is_remembered(travel, project: Path):
    async def journey(person: Driver) -> None:
        await answer(person, "no")
        assert not executed(project)
        assert Settings.load().declined_folders == (project.parent,)
        await open_again(person, project)
        await person.show("run")
        assert not is_asked(person)
        assert not executed(project)
        (trust,) = (b for b in person.window.findChildren(QPushButton, "button.trust") if b.isVisible())
        await by_hand(lambda: QTest.mouseClick(trust, Qt.MouseButton.LeftButton))
        await answer(person, "trust")
        assert executed(project)
        assert person.document.catalog.actions.keys() == {"ours"}

    travel(journey, project)


def test_closing_the_question_leaves_it_to_the_next_time(travel, project: Path):
    async def journey(person: Driver) -> None:
        await until(lambda: is_asked(person))
        (button,) = (
            b for b in person.window.findChildren(QPushButton, "button.trust") if b.text()[-1] != "…"
        )
        await by_hand(lambda: QTest.keyClick(button.window(), Qt.Key.Key_Escape))
        await until(lambda: not is_asked(person))
        assert Settings.load().declined_folders == ()
        await open_again(person, project)
        await answer(person, "no")

    travel(journey, project)


def test_trust_is_taken_back_by_keyboard_at_once_and_ends_the_run(travel, project: Path):
    async def journey(person: Driver) -> None:
        await answer(person, "trust")
        assert Settings.load().trusted_folders == (project.parent,)
        person.window.run_command("run.start")
        await until(lambda: person.running.at == "ours")
        assert person.window.run_command("file.trusted")
        await until(lambda: person.window.findChildren(QListWidget, "trusted.list"))
        shown = person.seen(QListWidget, "trusted.list")
        assert [shown.item(row).text() for row in range(shown.count())] == [str(project.parent)]
        stop = person.seen(QPushButton, "button.distrust")
        await by_hand(lambda: QTest.keyClick(stop, Qt.Key.Key_Space))
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.outcome == "Cancelled"
        assert person.document.catalog.actions.keys() == set()
        assert Settings.load().trusted_folders == ()
        assert any(label.text() == "No folder is trusted." for label in stop.window().findChildren(QLabel))
        await person.press("button.ok")
        project.with_name("EXECUTED").unlink()
        await open_again(person, project)
        assert not is_asked(person)
        assert not executed(project)

    travel(journey, project)


def test_actions_that_look_outside_wait_for_trust_and_the_question_says_so(travel, project: Path):
    (project.parent.parent / "notes.txt").write_text("hello")
    outside = {"kind": "readFile", "parameters": {"path": "notes.txt", "folder": "..", "property": "text"}}
    project.with_name("treewright.json").write_text(json.dumps({"actions": {"ours": outside}}))

    async def journey(person: Driver) -> None:
        await person.show("run")
        await until(lambda: any(p.code == "action-unusable" for p in person.document.problems))
        await person.press("button.trust")
        await until(lambda: is_asked(person))
        dialog = person.window.findChild(QWidget, "dialog")
        assert dialog is not None
        words = " ".join(label.text() for label in dialog.findChildren(QLabel))
        assert "This project reaches beyond its folder" in words
        assert "Python" not in words
        assert "'ours': The folder '..' is outside the project's own" in words
        await answer(person, "trust")
        await until(lambda: not any(p.code == "action-unusable" for p in person.document.problems))
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.state_properties == {"text": "hello"}

    travel(journey, project)
