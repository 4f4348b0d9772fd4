"""Files stay as they were but for what was edited, and no command refuses without a reason."""

import difflib
import json
import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog

from designer import dialogs
from designer.document.draft import Place
from designer.document.files import design_path
from engine import read_tree, write_tree
from tests.builders import as_bytes, as_json, demo_tree, with_at
from tests.journeys.driving import Driver, until
from tests.journeys.test_editing import key, write
from tests.journeys.test_lost_work import focus

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A tree file as another program wrote it, with members that nobody here knows, and no design."""
    document = as_json(demo_tree())
    for place in ((), ("budget",), ("nodes", "verify"), ("nodes", "collect", "transitions", 0)):
        document = with_at(document, (*place, "x-owner"), {"team": ["a", None, 1.50]})
    path = tmp_path / "demo.json"
    path.write_text(json.dumps(document, separators=(",", " : ")))
    return path


async def save(person: Driver) -> None:
    person.window.run_command("file.save")
    await until(lambda: person.document.clean)


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


# ------------------------------------------------------------------------------------------ bytes


def test_opening_looking_and_saving_without_an_edit_touches_no_file(travel, demo):
    data = demo.read_bytes()
    os.utime(demo, (1, 1))

    async def journey(person: Driver) -> None:
        await person.select("verify")
        person.window.run_command("view.fit")
        person.window.editing.add("terminal", Place(0, 900))
        person.window.run_command("edit.undo")
        person.window.run_command("file.save")
        await until(lambda: person.window.message == "Saved demo.json.")
        assert person.document.draft.tree.start_node_id == "collect"

    travel(journey, demo)
    assert (demo.read_bytes(), demo.stat().st_mtime) == (data, 1)
    assert [path.name for path in demo.parent.iterdir()] == ["demo.json"]


def test_moving_a_node_changes_its_line_of_the_design_file_alone(travel, demo):
    data = demo.read_bytes()

    async def journey(person: Driver) -> None:
        document, design = person.document, design_path(demo)
        person.window.run_command("view.fit")
        document.select({"verify"})
        await key(person, KEY.Key_Down)
        await save(person)
        before = design.read_text()
        document.select({"approved"})
        await key(person, KEY.Key_Down)
        await save(person)
        place = document.draft.places["approved"]
        assert changed_lines(before, design.read_text()) == [
            f'-    "approved": [{place.x:.0f}, {place.y - 11:.0f}],',
            f'+    "approved": [{place.x:.0f}, {place.y:.0f}],',
        ]

    travel(journey, demo)
    assert demo.read_bytes() == data


def test_an_edit_changes_the_lines_it_is_about_and_members_nobody_knows_survive(travel, demo):
    demo.write_bytes(write_tree(read_tree(demo.read_bytes()).tree))
    before = demo.read_text()
    unknown = before.count('"x-owner"')

    async def journey(person: Driver) -> None:
        person.document.select({"approved"})
        await person.type("verdict", "granted")
        await save(person)

    travel(journey, demo)
    assert changed_lines(before, demo.read_text()) == [
        '-      "verdict": "supported"',
        '+      "verdict": "granted"',
    ]
    assert demo.read_text().count('"x-owner"') == unknown == 4


def test_a_tree_without_a_start_opens_and_is_saved_without_one(travel, tmp_path):
    path = tmp_path / "begun.json"
    path.write_bytes(as_bytes(with_at(as_json(demo_tree()), ("startNodeId",), "")))
    data = path.read_bytes()

    async def journey(person: Driver) -> None:
        person.window.run_command("file.save")
        await until(lambda: person.window.message == "Saved begun.json.")

    travel(journey, path)
    assert path.read_bytes() == data


# ------------------------------------------------------------------------------------------ other programs


def test_a_file_that_was_only_touched_is_not_taken_for_changed(travel, demo):
    async def journey(person: Driver) -> None:
        person.window.editing.add("terminal", Place(0, 900))
        for at in (1, 2_000_000_000):
            demo.write_bytes(demo.read_bytes())
            os.utime(demo, (at, at))
            await focus(person.window)
        assert not person.window.findChildren(QDialog, "dialog")
        await save(person)

    travel(journey, demo)
    assert "terminal" in read_tree(demo.read_bytes()).tree.nodes


@pytest.mark.parametrize(
    "data",
    [b"{ not json", b"\x00" * 40, b'["a list"]', b'{"nodes": {"a": 5}}'],
    ids=["no json", "zeros", "list", "wrong type"],
)
def test_a_bad_file_is_shown_as_text_and_what_is_open_stays_open(travel, demo, tmp_path, data):
    bad = tmp_path / "bad.json"
    bad.write_bytes(data)

    async def journey(person: Driver) -> None:
        window, first = person.window, person.document
        window.editing.add("terminal", Place(0, 900))
        window.open_path(bad)
        page = window.pages.text
        assert page.isVisible()
        assert page.problems.startswith("bad.json cannot be edited as a tree.")
        assert "Line 1, column" in page.problems
        assert window.message == "bad.json cannot be edited as a tree."
        page.closed.emit()
        assert window.canvas.isVisible()
        assert person.document is first
        assert "terminal" in first.draft.tree.nodes

    travel(journey, demo)
    assert bad.read_bytes() == data


# ------------------------------------------------------------------------------------------ reasons


def test_whatever_cannot_be_run_says_why_on_the_start_page_with_a_tree_and_during_a_run(travel, demo):
    async def journey(person: Driver) -> None:
        def reasons() -> dict[str, str]:
            person.window.commands.refresh()
            off = {
                made.id: action.toolTip() for made, action in person.window.commands if not action.isEnabled()
            }
            assert all(words.endswith(".") and " " in words for words in off.values())
            for id, words in off.items():
                assert not person.window.run_command(id)
                assert person.window.message == words
            return off

        assert {"run.stop", "edit.undo", "edit.delete", "file.reload"} & reasons().keys()
        person.window.workbench.remove(person.document)
        assert reasons()["file.save"] == reasons()["file.export"] == "Open a tree first."

    travel(journey, demo)


def test_export_refused_for_an_error_says_which_and_leads_to_its_field(travel, demo, monkeypatch):
    async def never(*_: object) -> None:
        raise AssertionError("nothing is asked")

    async def journey(person: Driver) -> None:
        monkeypatch.setattr(dialogs, "ask_save", never)
        person.document.select({"approved"})
        await person.type("verdict", " ")
        person.window.docks["inspector"].hide()
        person.window.run_command("file.export")
        problem = person.errors()[0]
        await until(lambda: problem.message in person.window.message)
        assert person.document.selection == {"approved"}
        assert person.window.docks["inspector"].isVisible()
        assert person.window.focusWidget().objectName() == "field.verdict"
        await write(person.window.focusWidget(), "fine")
        assert not person.errors()

    travel(journey, demo)
