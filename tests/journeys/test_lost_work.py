"""Work is never lost: after a crash, against other programs, and on the way out."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QListWidget, QPlainTextEdit, QPushButton
from shiboken6 import isValid

from designer import dialogs, resource
from designer.app import create
from designer.document import edits, recovery
from designer.document.document import Document
from designer.document.files import previous_path
from designer.document.folders import state_folder
from designer.document.recovery import Recovery, Snapshot
from designer.running import RunState
from designer.window import MainWindow
from engine import read_tree, write_tree
from tests.journeys.driving import Driver, until

TREE = read_tree(resource("samples/ssvc-deployer/tree.json").read_bytes()).tree
SAMPLE = write_tree(TREE.replace(name="Original"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A tree file of one's own."""
    path = tmp_path / "refund.json"
    path.write_bytes(SAMPLE)
    return path


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "QUIET_MS", 10)
    monkeypatch.setattr(recovery, "LATEST_MS", 18)


def rename(document: Document, name: str) -> None:
    document.edit("Rename", lambda draft: edits.set_tree_field(draft, "name", name))


def is_named(person: Driver, name: str) -> bool:
    return person.document.draft.tree.name == name


def name_in(path: Path) -> str | None:
    return read_tree(path.read_bytes()).tree.name


def write_outside(path: Path, name: str) -> bytes:
    """Another program writes the file in its own way."""
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "name": name}))
    return path.read_bytes()


def died_with(*documents: tuple[Path | None, str]) -> None:
    """A program died that had changed these files, or a new one."""
    program = Recovery(state_folder() / "recovery")
    for number, (path, name) in enumerate(documents):
        document = Document.open(path) if path else Document.new()
        assert isinstance(document, Document)
        rename(document, name)
        program.keep(str(number), Snapshot.of(document)).result()
    program._thread.shutdown()
    assert program._lock is not None
    program._lock._close()


def snapshots() -> list[Path]:
    return sorted((state_folder() / "recovery").glob("*/*.zip"))


async def dialog(window: MainWindow) -> QDialog:
    """The dialog that is open, once it is."""

    def shown() -> list[QDialog]:
        return [dialog for dialog in window.findChildren(QDialog) if dialog.isVisible()]

    await until(shown)
    (only,) = shown()
    return only


async def answer(window: MainWindow, button: str) -> None:
    """Press a button of the open dialog and wait until it is gone."""
    asked = await dialog(window)
    made = asked.findChild(QPushButton, f"button.{button}")
    assert made is not None
    made.click()
    # A dialog may be followed by another: this one is gone once its question has been answered.
    await until(lambda: not isValid(asked))


async def focus(window: MainWindow) -> None:
    """The person comes back to the window."""
    window.activateWindow()
    await until(window.isActiveWindow)
    QApplication.sendEvent(window, QEvent(QEvent.Type.ActivationChange))


# ------------------------------------------------------------------------------------------ after a crash


def test_unsaved_work_is_offered_at_the_start_and_opened_as_changes(travel, path):
    before = path.read_bytes()
    died_with((path, "Mine"), (None, "Never saved"))

    async def journey(person: Driver) -> None:
        asked = await dialog(person.window)
        lines = asked.findChild(QListWidget, "recovery.list")
        assert lines is not None
        texts = [lines.item(i).text() for i in range(lines.count())]
        assert texts[0].startswith("new-tree, ")
        assert texts[0].endswith("never saved")
        assert texts[1].startswith("refund.json, ")
        assert texts[1].endswith(str(path.parent))
        await answer(person.window, "recover")
        bench = person.window.workbench
        await until(lambda: len(bench.documents) == 2)
        new, old = bench.documents
        assert (new.path, new.draft.tree.name, new.clean) == (None, "Never saved", False)
        assert (old.path, old.draft.tree.name, old.clean) == (path, "Mine", False)
        # Until they are saved, this program keeps them.
        await until(lambda: len(snapshots()) == 2)
        assert len({file.parent for file in snapshots()}) == 1
        assert path.read_bytes() == before
        person.window.run_command("file.save")
        await until(lambda: len(snapshots()) == 1)
        assert name_in(path) == "Mine"

    travel(journey)


@pytest.mark.parametrize(("button", "kept"), [("discard", 1), ("later", 2)])
def test_only_the_lines_that_are_ticked_are_discarded_and_the_rest_stays_for_later(
    travel, path, button, kept
):
    died_with((path, "Mine"), (None, "Never saved"))

    async def journey(person: Driver) -> None:
        asked = await dialog(person.window)
        lines = asked.findChild(QListWidget, "recovery.list")
        assert lines is not None
        lines.item(0).setCheckState(Qt.CheckState.Unchecked)
        await answer(person.window, button)
        await until(lambda: len(snapshots()) == kept)
        assert person.window.workbench.documents == ()
        person.window.run_command("file.recover")
        asked = await dialog(person.window)
        lines = asked.findChild(QListWidget, "recovery.list")
        assert lines is not None
        assert lines.count() == kept
        await answer(person.window, "later")

    travel(journey)


def test_unsaved_work_on_the_file_that_is_opened_comes_into_its_document(travel, path):
    died_with((path, "Mine"))

    async def journey(person: Driver) -> None:
        await answer(person.window, "recover")
        await until(lambda: person.document.draft.tree.name == "Mine")
        assert len(person.window.workbench.documents) == 1
        person.window.run_command("edit.undo")
        assert person.document.clean

    travel(journey, path)


def test_a_damaged_snapshot_is_told_with_where_it_is_kept(travel, path):
    died_with((path, "Mine"))
    snapshots()[0].write_bytes(b"PK")

    async def journey(person: Driver) -> None:
        asked = await dialog(person.window)
        (detail,) = asked.findChildren(QPlainTextEdit)
        assert "it is not whole" in detail.toPlainText()
        assert str(state_folder() / "recovery" / "damaged") in detail.toPlainText()
        await answer(person.window, "later")

    travel(journey)


def test_nothing_is_asked_when_there_is_nothing_to_recover(travel):
    async def journey(person: Driver) -> None:
        assert not person.window.findChildren(QDialog, "dialog")
        person.window.run_command("file.recover")
        await until(lambda: person.window.message == "There is no unsaved work to recover.")

    travel(journey)


def test_after_a_clean_end_nothing_is_left_to_recover(travel, path, soon, monkeypatch):
    async def discard(*_: object) -> str:
        return "discard"

    async def journey(person: Driver) -> None:
        rename(person.document, "Mine")
        person.window.run_command("file.new")
        rename(person.document, "New")
        await until(lambda: len(snapshots()) == 2)
        monkeypatch.setattr(dialogs, "ask_save_changes", discard)
        person.window.close()
        await until(person.window.isHidden)
        assert list((state_folder() / "recovery").iterdir()) == []
        assert list((state_folder() / "locks").iterdir()) == []

    travel(journey, path)


# ------------------------------------------------------------------------------------------ changed outside


def test_coming_back_to_a_changed_file_offers_to_reload_and_undo_returns_to_mine(travel, path):
    async def journey(person: Driver) -> None:
        rename(person.document, "Mine")
        write_outside(path, "Theirs")
        await focus(person.window)
        await answer(person.window, "reload")
        await until(lambda: person.document.draft.tree.name == "Theirs")
        assert person.document.clean
        person.window.run_command("edit.undo")
        assert (person.document.draft.tree.name, person.document.clean) == ("Mine", False)

    travel(journey, path)


def test_keeping_mine_saves_without_asking_again_and_their_version_can_be_had_back(travel, path):
    async def journey(person: Driver) -> None:
        rename(person.document, "Mine")
        theirs = write_outside(path, "Theirs")
        await focus(person.window)
        await answer(person.window, "keep")
        await focus(person.window)
        person.window.run_command("file.save")
        await until(lambda: name_in(path) == "Mine")
        assert previous_path(path).read_bytes() == theirs
        assert person.window.run_command("file.previous")
        assert (person.document.draft.tree.name, person.document.clean) == ("Theirs", False)

    travel(journey, path)


def test_the_difference_is_shown_as_plain_text_before_the_decision(travel, path):
    async def journey(person: Driver) -> None:
        rename(person.document, "<b>Mine</b>")
        write_outside(path, "Theirs")
        await focus(person.window)
        await answer(person.window, "difference")

        def shown() -> list[QPlainTextEdit]:
            return [
                text for text in person.window.findChildren(QPlainTextEdit, "difference") if text.isVisible()
            ]

        await until(shown)
        text = shown()[0].toPlainText()
        assert '-  "name": "Theirs"' in text
        assert '+  "name": "<b>Mine</b>"' in text
        await answer(person.window, "ok")
        await until(lambda: not shown())
        await answer(person.window, "reload")
        await until(lambda: person.document.draft.tree.name == "Theirs")

    travel(journey, path)


def test_deciding_later_is_asked_again_on_saving_only(travel, path):
    async def journey(person: Driver) -> None:
        rename(person.document, "Mine")
        theirs = write_outside(path, "Theirs")
        await focus(person.window)
        (await dialog(person.window)).reject()
        await until(lambda: not person.window.filing.deciding)
        await focus(person.window)
        await asyncio.sleep(0.02)
        assert not [one for one in person.window.findChildren(QDialog, "dialog") if one.isVisible()]
        person.window.run_command("file.save")
        (await dialog(person.window)).reject()
        await until(lambda: not person.window.filing.deciding)
        assert (path.read_bytes(), person.document.clean) == (theirs, False)
        person.window.run_command("file.save")
        await answer(person.window, "keep")
        await until(lambda: person.document.clean)
        assert name_in(path) == "Mine"

    travel(journey, path)


def test_a_file_replaced_while_the_window_is_open_is_noticed_each_time(travel, path):
    async def journey(person: Driver) -> None:
        for name in ("First", "Second"):
            beside = path.with_suffix(".new")
            beside.write_bytes(SAMPLE)
            write_outside(beside, name)
            beside.replace(path)
            await answer(person.window, "reload")
            await until(partial(is_named, person, name))

    travel(journey, path)


def test_a_file_that_is_removed_can_be_saved_again(travel, path):
    async def journey(person: Driver) -> None:
        path.unlink()
        await focus(person.window)
        asked = await dialog(person.window)
        assert any("refund.json was removed" in label.text() for label in asked.findChildren(QLabel))
        await answer(person.window, "keep")
        await until(lambda: not person.document.clean)
        person.window.run_command("file.save")
        await until(path.exists)
        assert person.document.clean

    travel(journey, path)


# ------------------------------------------------------------------------------------------ two writers


def test_a_file_that_is_open_elsewhere_is_read_only_until_it_is_taken_over(travel, path):
    async def journey(person: Driver) -> None:
        first = person.window
        other = create(path)
        other.show()
        second = Driver(other)
        try:
            words = other.findChild(QLabel, "banner.words")
            assert words is not None
            assert words.isVisible()
            assert words.text() == "refund.json is open elsewhere in Treewright. It is read-only here."
            rename(second.document, "Second")
            assert (second.document.draft.tree.name, second.document.clean) == ("Original", True)
            assert other.message == words.text()

            rename(person.document, "First")
            other.run_command("file.take-over")
            assert not words.isVisible()
            await focus(first)
            assert person.document.read_only is not None
            assert person.document.draft.tree.name == "First"
            rename(second.document, "Second")
            other.run_command("file.save")
            await until(lambda: name_in(path) == "Second")
            await focus(first)
            await answer(first, "keep")
            first.run_command("file.save")
            asked = await dialog(first)
            assert any("being edited in another Treewright" in x.text() for x in asked.findChildren(QLabel))
            asked.accept()
            await until(lambda: not asked.isVisible())
            assert name_in(path) == "Second"
        finally:
            other.workbench.close()
            other.deleteLater()

    travel(journey, path)


def test_a_read_only_tree_can_be_edited_once_the_other_program_closed_it(travel, path):
    async def journey(person: Driver) -> None:
        other = create(path)
        try:
            assert other.workbench.current is not None
            assert other.workbench.current.read_only is not None
            person.window.run_command("file.close")
            await until(lambda: not person.window.workbench.documents)
            other.workbench.look_outside()
            assert other.workbench.current.read_only is None
        finally:
            other.workbench.close()
            other.deleteLater()

    travel(journey, path)


def test_a_tree_is_not_saved_over_one_that_is_open_in_another_tab(travel, path, tmp_path, monkeypatch):
    said: list[object] = []

    async def elsewhere(*_: object):
        return path

    async def told(*words: object, **_: object) -> bool:
        said.append(words[2])
        return True

    async def journey(person: Driver) -> None:
        before = path.read_bytes()
        person.window.run_command("file.new")
        rename(person.document, "Other")
        monkeypatch.setattr(dialogs, "ask_save", elsewhere)
        monkeypatch.setattr(dialogs, "ask", told)
        person.window.run_command("file.save")
        await until(lambda: said)
        assert len(said) == 1
        assert "refund.json could not be saved: it is open elsewhere in Treewright." in str(said[0])
        assert (path.read_bytes(), person.document.clean) == (before, False)

    travel(journey, path)


def test_a_read_only_tree_is_saved_under_another_name_and_can_then_be_edited(
    travel, path, tmp_path, monkeypatch
):
    async def elsewhere(*_: object):
        return tmp_path / "copy.json"

    async def journey(person: Driver) -> None:
        other = create(path)
        try:
            monkeypatch.setattr(dialogs, "ask_save", elsewhere)
            other.run_command("file.save-as")
            await until((tmp_path / "copy.json").exists)
            copy = Driver(other).document
            await until(lambda: copy.read_only is None)
            rename(copy, "Copy")
            assert copy.draft.tree.name == "Copy"
        finally:
            other.workbench.close()
            other.deleteLater()

    travel(journey, path)


# ------------------------------------------------------------------------------------------ closing


def several(person: Driver, paths: list[Path]) -> None:
    for path in paths:
        path.write_bytes(SAMPLE)
        person.window.open_path(path)
        rename(person.document, f"Changed {path.stem}")


def answering(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Answer the questions whether to save one after the other; the names that were asked about."""
    asked: list[str] = []
    left = list(answers)

    async def reply(_parent: object, name: str) -> str:
        asked.append(name)
        return left.pop(0)

    monkeypatch.setattr(dialogs, "ask_save_changes", reply)
    return asked


@pytest.mark.parametrize("first", ["save", "discard"])
def test_cancelling_in_the_middle_of_closing_keeps_every_document_open(travel, tmp_path, monkeypatch, first):
    paths = [tmp_path / f"{name}.json" for name in "abc"]
    asked = answering(monkeypatch, first, "cancel")

    async def journey(person: Driver) -> None:
        several(person, paths)
        person.window.close()
        await until(lambda: len(asked) == 2)
        await asyncio.sleep(0.02)
        assert person.window.isVisible()
        assert [d.path for d in person.window.workbench.documents] == paths
        names = [d.draft.tree.name for d in person.window.workbench.documents]
        assert names == ["Changed a", "Changed b", "Changed c"]
        assert [d.clean for d in person.window.workbench.documents] == [first == "save", False, False]

    travel(journey)


def test_closing_asks_about_each_changed_document_and_does_what_is_said(travel, tmp_path, monkeypatch):
    paths = [tmp_path / f"{name}.json" for name in "abc"]
    asked = answering(monkeypatch, "save", "discard", "save")

    async def journey(person: Driver) -> None:
        several(person, paths)
        person.window.close()
        person.window.close()
        await until(person.window.isHidden)
        assert asked == ["a", "b", "c"]
        assert [name_in(path) for path in paths] == ["Changed a", "Original", "Changed c"]

    travel(journey)


def test_a_save_that_fails_on_the_way_out_keeps_the_window_open(travel, tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    answering(monkeypatch, "save")

    async def journey(person: Driver) -> None:
        several(person, [path])
        path.chmod(0o444)
        person.window.close()
        asked = await dialog(person.window)
        asked.accept()
        await until(lambda: not asked.isVisible())
        assert person.window.isVisible()
        assert not person.document.clean

    travel(journey)


@pytest.mark.parametrize("state", [RunState.ASKING, RunState.PAUSED])
def test_quitting_during_a_run_asks_about_changes_and_ends_the_run(travel, path, monkeypatch, state):
    asked = answering(monkeypatch, "cancel", "save")

    async def journey(person: Driver) -> None:
        rename(person.document, "Mine")
        person.window.run_command("run.start" if state is RunState.ASKING else "run.step")
        await until(lambda: person.running.state is state)
        person.window.run_command("file.quit")
        await until(lambda: len(asked) == 1)
        await asyncio.sleep(0.02)
        assert person.running.state is state
        outcomes = person.outcomes()
        person.window.run_command("file.quit")
        await until(person.window.isHidden)
        assert (name_in(path), outcomes) == ("Mine", ["Cancelled"])

    travel(journey, path)


def test_closing_the_tree_that_runs_ends_its_run_and_leaves_the_others(travel, path):
    async def journey(person: Driver) -> None:
        person.window.run_command("file.new")
        new = person.document
        person.window.open_path(path)
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ASKING)
        person.window.run_command("file.close")
        await until(lambda: person.window.workbench.documents == (new,))
        await until(lambda: not person.running.active)
        assert person.document is new

    travel(journey, path)
