"""A large tree on its way out: the window goes on, and the person can think better of it."""

import shutil
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from designer import dialogs
from engine import write_tree
from tests.builders import classify, terminal, tree
from tests.journeys.driving import Driver, by_hand, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

OLD = b"what was there before"


@pytest.fixture
def large(tmp_path: Path) -> Path:
    questions = {
        f"q{number}": classify(f"Is it {number}?", {"yes": "end", "no": f"q{number + 1}"}, unknown="end")
        for number in range(30)
    }
    path = tmp_path / "large.json"
    whole = tree({**questions, "q30": terminal("none"), "end": terminal("found")})
    path.write_bytes(write_tree(whole.replace(start_node_id="q0")))
    return path


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "out.svg"
    path.write_bytes(OLD)

    async def ask_save(*_: object) -> Path:
        return path

    monkeypatch.setattr(dialogs, "ask_save", ask_save)
    return path


@pytest.fixture
def never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A process aside that never comes to an end; the file it says its number in."""
    stub, said = tmp_path / "stub", tmp_path / "said"
    stub.write_text(f"#!/bin/sh\necho $$ > {said}.new; mv {said}.new {said}; exec sleep 1000\n")
    stub.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stub))
    return said


def is_gone(said: Path) -> bool:
    return not Path("/proc", said.read_text().strip()).exists()


def test_a_large_tree_is_exported_while_one_goes_on_editing(travel, large, out):
    async def journey(person: Driver) -> None:
        window = person.window
        window.run_command("file.export-as")
        await until(lambda: window.findChild(QPushButton, "export.cancel"))
        person.document.select({"q3"})
        window.run_command("edit.delete")
        assert "q3" not in person.document.draft.tree.nodes
        await until(lambda: window.message == "Exported out.svg.", 6000)
        assert b"Is it 3?" in out.read_bytes()

    travel(journey, large)


def test_an_export_is_cancelled_with_the_button_and_the_file_stays(travel, large, out, never):
    async def journey(person: Driver) -> None:
        window = person.window
        window.run_command("file.export-as")
        await until(never.exists)
        assert window.message == "Exporting out.svg…"
        assert not window.run_command("file.export-as")
        button = person.seen(QPushButton, "export.cancel")
        await by_hand(lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton))
        await until(lambda: window.message == "out.svg was not exported.")
        assert is_gone(never)
        assert out.read_bytes() == OLD
        await until(lambda: window.findChild(QPushButton, "export.cancel") is None)
        assert not window.run_command("file.cancel-export")

    travel(journey, large)


def test_an_export_ends_with_the_window(travel, large, out, never):
    async def journey(person: Driver) -> None:
        person.window.run_command("file.export-as")
        await until(never.exists)
        person.window.close()

    travel(journey, large)
    assert is_gone(never)
    assert out.read_bytes() == OLD


def test_an_export_that_fails_says_so_in_one_sentence(travel, large, out, monkeypatch):
    told: list[str] = []

    async def ask(_parent: object, _title: str, words: str, *_: object) -> None:
        told.append(words)

    async def journey(person: Driver) -> None:
        monkeypatch.setattr(dialogs, "ask", ask)
        monkeypatch.setattr(sys, "executable", shutil.which("false"))
        person.window.run_command("file.export-as")
        await until(lambda: told)
        assert told == ["Something went wrong while it was made. The tree and the disk are unchanged."]
        assert out.read_bytes() == OLD
        await until(lambda: person.window.findChild(QPushButton, "export.cancel") is None)

    travel(journey, large)
