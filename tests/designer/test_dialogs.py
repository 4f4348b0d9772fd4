"""Questions to the person: asked without a nested loop, answered once, gone with their window."""

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QFileDialog, QLabel, QLineEdit, QPushButton, QWidget

from designer import dialogs
from tests.designer.waiting import until


@pytest.fixture
def window(qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


async def opened(window):
    def visible():
        return [dialog for dialog in window.findChildren(QDialog) if dialog.isVisible()]

    await until(visible)
    return visible()[0]


def press(dialog, name):
    dialog.findChild(QPushButton, f"button.{name}").click()


def answer(aloop, window, question, act):
    """What a question gives when ``act`` is done to its dialog."""

    async def main():
        task = asyncio.ensure_future(question)
        act(await opened(window))
        return await task

    return aloop.run_until_complete(main())


def test_the_first_button_means_yes(aloop, window):
    for name, agreed in (("Overwrite", True), ("Cancel", False)):
        question = dialogs.ask(window, "Changed outside", "Overwrite it?", ("Overwrite", "Cancel"))
        assert answer(aloop, window, question, lambda dialog, name=name: press(dialog, name)) is agreed


def test_enter_presses_the_first_button_and_escape_none(aloop, window):
    for key, agreed in ((Qt.Key.Key_Return, True), (Qt.Key.Key_Escape, False)):
        question = dialogs.ask(window, "Title", "Text", ("Go on", "Cancel"))
        assert answer(aloop, window, question, lambda dialog, key=key: QTest.keyClick(dialog, key)) is agreed


@pytest.mark.parametrize("choice", ["save", "discard", "cancel"])
def test_changes_are_saved_discarded_or_kept(aloop, window, choice):
    question = dialogs.ask_save_changes(window, "refund.json")
    assert answer(aloop, window, question, lambda dialog: press(dialog, choice)) == choice


def test_closing_the_save_question_changes_nothing(aloop, window):
    assert answer(aloop, window, dialogs.ask_save_changes(window, "x"), QDialog.reject) == "cancel"


def test_enter_does_not_trust_a_folder(aloop, window):
    def enter(dialog):
        assert dialog.findChild(QWidget, "button.trust").text() == "Trust this folder"
        QTest.keyClick(dialog, Qt.Key.Key_Return)

    assert answer(aloop, window, dialogs.ask_trust(window, Path("/project")), enter) is False
    trusting = dialogs.ask_trust(window, Path("/project"))
    assert answer(aloop, window, trusting, lambda dialog: press(dialog, "trust")) is True


def test_texts_with_data_are_not_read_as_markup(aloop, window):
    hostile = '<img src="file:///dev/zero"> &amp; <b>x</b>'

    def look(dialog):
        labels = dialog.findChildren(QLabel)
        assert {label.textFormat() for label in labels} == {Qt.TextFormat.PlainText}
        assert [label.text() for label in labels] == [hostile, hostile]
        dialog.reject()

    answer(aloop, window, dialogs.ask(window, hostile, hostile), look)


def test_a_dialog_that_goes_with_its_window_counts_as_cancelled(aloop, window):
    doomed = QWidget()
    doomed.show()

    async def main():
        task = asyncio.ensure_future(dialogs.ask_save_changes(doomed, "x"))
        await opened(doomed)
        doomed.deleteLater()
        return await asyncio.wait_for(task, 5)

    assert aloop.run_until_complete(main()) == "cancel"


def test_a_cancelled_question_takes_its_dialog_away(aloop, window):
    async def main():
        task = asyncio.ensure_future(dialogs.ask(window, "Title", "Text"))
        await opened(window)
        task.cancel()
        await asyncio.wait([task])
        return any(dialog.isVisible() for dialog in window.findChildren(QDialog)), task.cancelled()

    assert aloop.run_until_complete(main()) == (False, True)


def test_two_questions_at_once_take_turns(aloop, window):
    async def main():
        first = asyncio.ensure_future(dialogs.ask(window, "First", "Text", ("Yes",)))
        second = asyncio.ensure_future(dialogs.ask(window, "Second", "Text", ("Yes",)))
        gone = asyncio.ensure_future(dialogs.ask(window, "Third", "Text", ("Yes",)))
        shown = []
        for question in (first, second):
            dialog = await opened(window)
            shown += [label.text() for label in dialog.findChildren(QLabel)][:1]
            assert sum(d.isVisible() for d in window.findChildren(QDialog)) == 1
            gone.cancel()
            press(dialog, "Yes")
            assert await question
        return shown

    assert aloop.run_until_complete(main()) == ["First", "Second"]


def test_other_work_goes_on_while_a_dialog_is_open(aloop, window):
    async def main():
        task = asyncio.ensure_future(dialogs.ask(window, "Title", "Text"))
        dialog = await opened(window)
        for _ in range(20):
            await asyncio.sleep(0)
        open_all_the_time = dialog.isVisible() and not task.done()
        dialog.accept()
        await task
        return open_all_the_time

    assert aloop.run_until_complete(main())


def test_a_chosen_file_comes_back_as_a_path(aloop, window, tmp_path):
    file = tmp_path / "tree.json"
    file.write_text("{}")

    def choose(dialog):
        assert isinstance(dialog, QFileDialog)
        next(iter(dialog.findChildren(QLineEdit))).setText(str(file))
        dialog.accept()

    assert answer(aloop, window, dialogs.ask_open(window), choose) == file


def test_no_chosen_file_is_none(aloop, window):
    assert answer(aloop, window, dialogs.ask_save(window, "Save", "tree.json"), QDialog.reject) is None
