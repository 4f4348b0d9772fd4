"""Notes are copied, cut, duplicated, deleted, selected and undone together with nodes, and like them."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication

from designer.document.draft import Note, Place
from tests.builders import as_bytes, as_json, demo_tree
from tests.journeys.driving import Driver
from tests.journeys.test_authoring_clipboard import point_at
from tests.journeys.test_editing import key, steps

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier
NOTES = {"paper": Note(Place(0, -400), 220, 110, "Ask Ada"), "sign": Note(Place(300, -400), 220, 110, "Stop")}


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.json"
    path.write_bytes(as_bytes(as_json(demo_tree())))
    notes = {name: note.spelled() for name, note in NOTES.items()}
    path.with_name("demo.design.json").write_text(json.dumps({"format": 1, "notes": notes}))
    return path


def choose(person: Driver, nodes: set[str], notes: set[str]) -> None:
    person.document.select(nodes)
    person.window.canvas.pick_notes(notes)


def test_nodes_and_notes_are_cut_and_pasted_under_their_names_in_one_step_each(travel, demo):
    async def journey(person: Driver) -> None:
        document, canvas = person.document, person.window.canvas
        before = document.draft
        choose(person, {"verify"}, {"paper"})
        await key(person, KEY.Key_X, CTRL)
        assert "verify" not in document.draft.tree.nodes
        assert document.draft.notes.keys() == {"sign"}
        mime = QGuiApplication.clipboard().mimeData()
        assert json.loads(mime.text())["notes"]["paper"]["text"] == "Ask Ada"
        await key(person, KEY.Key_V, CTRL)
        assert document.draft.notes == {"sign": NOTES["sign"], "paper": NOTES["paper"]}
        assert document.draft.places["verify"] == before.places["verify"]
        assert document.selection == {"verify"}
        assert canvas.picked_notes == {"paper"}
        assert steps(person) == ["Cut 1 node and 1 note", "Paste 1 node and 1 note"]
        await key(person, KEY.Key_Z, CTRL)
        await key(person, KEY.Key_Z, CTRL)
        assert document.draft is before

    travel(journey, demo)


def test_notes_alone_are_copied_to_the_pointer_duplicated_and_deleted(travel, demo):
    async def journey(person: Driver) -> None:
        document, canvas = person.document, person.window.canvas
        choose(person, set(), {"paper", "sign"})
        await key(person, KEY.Key_C, CTRL)
        spot = QPoint(300, 420)
        await point_at(person, spot)
        at = canvas.mapToScene(spot)
        await key(person, KEY.Key_V, CTRL)
        assert canvas.picked_notes == {"paper-2", "sign-2"}
        place = document.draft.notes["paper-2"].place
        assert abs(place.x - at.x()) <= 11
        await key(person, KEY.Key_D, CTRL)
        assert canvas.picked_notes == {"paper-3", "sign-3"}
        await key(person, KEY.Key_Delete)
        assert document.draft.notes.keys() == {"paper", "sign", "paper-2", "sign-2"}
        assert steps(person) == ["Paste 2 notes", "Duplicate 2 notes", "Delete 2 notes"]
        assert document.draft.tree == demo_tree()

    travel(journey, demo)


def test_all_is_selected_and_deleted_at_once_and_one_undo_brings_all_back(travel, demo):
    async def journey(person: Driver) -> None:
        document, canvas = person.document, person.window.canvas
        before = document.draft
        await key(person, KEY.Key_A, CTRL)
        assert canvas.picked_notes == {"paper", "sign"}
        await key(person, KEY.Key_Delete)
        assert (document.draft.tree.nodes, document.draft.notes) == ({}, {})
        assert steps(person) == ["Delete 7 nodes and 2 notes"]
        await key(person, KEY.Key_Z, CTRL)
        assert document.draft is before
        assert document.clean

    travel(journey, demo)


def test_copying_needs_something_that_is_chosen(travel, demo):
    async def journey(person: Driver) -> None:
        choose(person, set(), set())
        for id in ("edit.copy", "edit.cut", "edit.duplicate", "edit.delete"):
            assert not person.window.run_command(id)
            assert person.window.message == "Select a node or a note first."

    travel(journey, demo)
