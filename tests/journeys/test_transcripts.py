"""Reading transcripts in the real window: of a run just made, and of one far too long to be shown whole."""

import time
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit

from designer.panels.transcripts import TranscriptsPanel
from designer.running import RunState
from engine import TranscriptInfo
from tests.builders import as_bytes, as_json, classify, terminal, tree
from tests.journeys.driving import Driver, by_hand, until

PLAN = tree(
    gate=classify("Is the damage covered?", {"yes": "pay", "no": "refuse"}, unknown="ask"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    ask=terminal("ask"),
)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_bytes(as_bytes(as_json(PLAN)))
    return path


def text_of(shelf: TranscriptsPanel) -> str:
    return shelf.reader.view.toPlainText()


def listed(shelf: TranscriptsPanel) -> list[TranscriptInfo]:
    return [row for row in shelf.table.rows if isinstance(row, TranscriptInfo)]


def test_the_transcript_of_a_run_is_read_searched_copied_and_leads_back_to_the_run(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await person.show("transcripts")
        shelf = person.seen(TranscriptsPanel, "panel.transcripts")
        assert shelf.empty.isVisible()
        for answer in ("yes", "no"):
            person.window.run_command("run.start")
            await until(lambda: person.running.question is not None)
            await person.show("run")
            await person.press(f"answer.{answer}")
            await until(lambda: person.running.state is RunState.ENDED)
        await person.show("transcripts")
        await until(lambda: len(shelf.table.rows) == 2 and "Agent task" in text_of(shelf))
        await until(lambda: [t.outcome for t in listed(shelf)] == ["Terminal", "Terminal"])

        QTest.keyClick(shelf.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(person.seen(QLineEdit, "transcript.find"), "outcome")
        await until(lambda: shelf.reader.finding.count.text() == "1 of 1")
        await person.press("button.copyMarkdown")
        await until(lambda: "**Outcome:** `Terminal`" in QGuiApplication.clipboard().text())
        assert QGuiApplication.clipboard().text().startswith("## Decision result")

        QTest.keyClicks(person.seen(QLineEdit, "transcripts.search"), "`refuse`")
        await until(lambda: len(shelf.found.table.rows) >= 1 and not shelf.found.cancel.isVisible())
        QTest.keyClick(shelf.sought, Qt.Key.Key_Return)
        QTest.keyClick(shelf.found.table, Qt.Key.Key_Return)
        await until(shelf.reader.view.extraSelections)

        first = person.running.runs[0]
        shelf.sought.clear()
        await until(shelf.table.isVisible)
        ids = [t.execution_id for t in listed(shelf)]
        shelf.table.choose(ids.index(first.trail.execution_id))
        (verb,) = shelf.findChildren(QAction, "transcript.run")
        assert verb.isEnabled()
        verb.trigger()
        await until(lambda: person.running.shown is first)

    travel(journey, plan)


@pytest.mark.parametrize("size", [5_000_000, pytest.param(100_000_000, marks=pytest.mark.soak)])
def test_a_huge_transcript_does_not_stop_the_window(travel, plan: Path, size: int):
    async def journey(person: Driver) -> None:
        folder = person.window.workbench.transcripts_folder
        folder.mkdir(parents=True)
        with (folder / "20261102-081530-huge.md").open("w") as file:
            for number in range(size // 10_000):
                file.write(f"## Part {number}\n\n```\n" + "all work and no play\n" * 470 + "```\n\n")
            file.write("# Last words\n\nthe end\n")
        beats = [time.monotonic()]
        heart = QTimer(person.window, interval=2)
        heart.timeout.connect(lambda: beats.append(time.monotonic()))
        heart.start()
        await person.show("transcripts")
        shelf = person.seen(TranscriptsPanel, "panel.transcripts")
        shelf.reload()
        reader = shelf.reader
        await until(lambda: reader.scanned, 6000)
        assert text_of(shelf).startswith("Part 0\nall work")
        model = reader.sections.model()
        last = model.rowCount() - 1
        await by_hand(lambda: reader.sections.setCurrentIndex(model.index(last, 0)))
        await until(lambda: "the end" in text_of(shelf))
        QTest.keyClicks(person.seen(QLineEdit, "transcripts.search"), "THE END")
        await until(lambda: shelf.found.progress.text() == "1 found in 1 transcript", 6000)
        assert any(label.text() == "1 found in 1 transcript" for label in shelf.findChildren(QLabel))
        heart.stop()
        # However busy the machine is, a window that waits for the file would not hear its heart at all.
        assert len([1 for a, b in pairwise(beats) if b > a]) > 20

    travel(journey, plan)
