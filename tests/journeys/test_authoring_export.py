"""What leaves the program: the whole tree however one looks at it, and of notes only what was asked for."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from designer import dialogs
from designer.document.design import Viewpoint
from designer.document.files import design_path
from engine import read_tree
from tests.builders import as_bytes, as_json, demo_tree
from tests.journeys.driving import Driver, until
from tests.journeys.test_editing import key, write

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.json"
    path.write_bytes(as_bytes(as_json(demo_tree())))
    return path


async def export(person: Driver, monkeypatch: pytest.MonkeyPatch, command: str, to: Path) -> None:
    async def ask_save(*_: object) -> Path:
        return to

    monkeypatch.setattr(dialogs, "ask_save", ask_save)
    person.window.run_command(command)
    await until(lambda: person.window.message == f"Exported {to.name}.")
    person.window.tell("")


@pytest.mark.parametrize("form", ["svg", "png"])
def test_a_picture_is_of_the_whole_tree_whatever_is_looked_at(travel, demo, tmp_path, monkeypatch, form):
    async def journey(person: Driver) -> None:
        canvas, made = person.window.canvas, list[bytes]()
        for number, view in enumerate(((0, 0, 1.0), (0, 0, 0.15), (9000, 9000, 3.0))):
            canvas.look_from(Viewpoint(*view))
            to = tmp_path / f"{number}.{form}"
            await export(person, monkeypatch, "file.export-as", to)
            made.append(to.read_bytes())
        assert made[0] == made[1] == made[2]

    travel(journey, demo)


def test_notes_are_kept_beside_the_tree_and_are_in_no_exported_tree(travel, demo, tmp_path, monkeypatch):
    words = "Ask Ada about this"

    async def journey(person: Driver) -> None:
        window = person.window
        window.run_command("note.add")
        await write(window.canvas.note_editor, words, KEY.Key_Return, CTRL)
        person.document.select({"verify"})
        await key(person, KEY.Key_G, CTRL)
        await write(window.canvas.note_editor, words, KEY.Key_Return, CTRL)
        window.run_command("file.save")
        await until(lambda: person.document.clean)
        tree, picture = tmp_path / "exported.json", tmp_path / "exported.svg"
        await export(person, monkeypatch, "file.export", tree)
        assert words not in tree.read_text()
        assert words not in demo.read_text()
        assert read_tree(tree.read_bytes()).tree == demo_tree()
        notes = json.loads(design_path(demo).read_text())["notes"]
        assert [note["text"] for note in notes.values()] == [words, words]
        await export(person, monkeypatch, "file.export-as", picture)
        assert picture.read_text().count(words) == 2

    travel(journey, demo)
