"""The main job through the real window: author, check, fix, save, export, run, look back."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QPushButton, QWidget

from designer import dialogs
from designer.app import create
from designer.canvas.geometry import card_size, input_port, output_port
from designer.document.draft import Place
from designer.panels.meters import Meter
from designer.running import RunState
from designer.tasks import cancel_all
from designer.window import MainWindow
from engine import read_tree


async def until(holds: Callable[[], object], tries: int = 400) -> None:
    for _ in range(tries):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("It never came to hold.")


@pytest.fixture
def drive(aloop: asyncio.AbstractEventLoop) -> Callable[[Callable[[MainWindow], Awaitable[None]]], None]:
    """Run a journey in a window of its own, then close it."""

    def run(journey: Callable[[MainWindow], Coroutine[None, None, None]]) -> None:
        async def whole() -> None:
            window = create()
            window.resize(1600, 1000)
            window.show()
            await asyncio.sleep(0.05)
            try:
                await journey(window)
            finally:
                window.workbench.running.cancel()
                await window.workbench.running.ended()
                await cancel_all()
                window.deleteLater()
                await asyncio.sleep(0)

        aloop.run_until_complete(whole())

    return run


def child(window: MainWindow, kind: type[QWidget], name: str) -> QWidget:
    """The one of this name that can be seen: the node and the tree both have a task, for instance."""
    (found,) = (widget for widget in window.findChildren(kind, name) if widget.isVisible())
    return found


def type_into(field: QWidget, text: str) -> None:
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    field.clearFocus()


def drag_branch(window: MainWindow, source: str, branch: str, target: str) -> None:
    canvas = window.canvas
    cards = canvas.scene().node_items
    start = output_port(cards[source].card, window.workbench.current.draft.tree.nodes[source], branch)
    end = input_port(cards[target].card)
    here, there = canvas.mapFromScene(*start), canvas.mapFromScene(*end)
    port = canvas.viewport()
    QTest.mousePress(port, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, here)
    for step in range(1, 5):
        QTest.mouseMove(port, here + QPoint(*(((there - here) * step / 4).toTuple())))
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, there)


def test_a_tree_is_drawn_checked_saved_exported_and_run(
    drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, exported = tmp_path / "refund.json", tmp_path / "refund.export.json"
    chosen = iter([saved, exported])

    async def choose(*_: object) -> Path:
        return next(chosen)

    monkeypatch.setattr(dialogs, "ask_save", choose)

    async def journey(window: MainWindow) -> None:
        bench = window.workbench
        assert window.run_command("file.new")
        document = bench.current
        canvas = window.canvas
        for kind, x, y in (("classify", 0, 0), ("terminal", 500, -150), ("terminal", 500, 150)):
            canvas.add_requested.emit(kind, Place(x, y))
        question, *ends = document.draft.tree.nodes
        window.run_command("view.fit")

        # A question with a task and two answers, typed into the inspector.
        canvas.selection_requested.emit(frozenset({question}))
        await asyncio.sleep(0.02)
        type_into(child(window, QPlainTextEdit, "field.task"), "Is the refund justified?")
        add = child(window, QPushButton, "button.addAnswer")
        for number, word in enumerate(("yes", "no")):
            add.click()
            await asyncio.sleep(0.02)
            type_into(child(window, QLineEdit, f"field.answers.{number}"), word)
        assert document.draft.tree.nodes[question].answers == ("yes", "no")
        for node_id, verdict in zip(ends, ("refund", "refuse"), strict=True):
            canvas.selection_requested.emit(frozenset({node_id}))
            await asyncio.sleep(0.02)
            type_into(child(window, QLineEdit, "field.verdict"), verdict)

        # Two of three branches drawn: the third is a problem, in the list and on the card.
        window.run_command("view.fit")
        await asyncio.sleep(0.05)
        drag_branch(window, question, "yes", ends[0])
        drag_branch(window, question, "no", ends[1])
        await asyncio.sleep(0.05)
        assert dict(document.draft.tree.nodes[question].targets) == {"yes": ends[0], "no": ends[1]}
        errors = [p for p in document.check_now() if p.severity == "error"]
        assert [(p.code, p.node) for p in errors] == [("transitions-incomplete", question)]
        await asyncio.sleep(0.05)
        assert canvas.scene().node_items[question].marks.severity == "error"
        assert not window.commands["run.start"].isEnabled()
        assert window.run_command("file.export")
        assert document.selection == {question}
        assert not exported.exists()

        drag_branch(window, question, "unknown", ends[1])
        await asyncio.sleep(0.05)
        assert not [p for p in document.check_now() if p.severity == "error"]
        assert canvas.scene().node_items[question].marks.severity != "error"

        # Saved, exported, and the same when opened again.
        assert not document.clean
        window.run_command("file.save")
        await until(lambda: document.clean)
        window.run_command("file.export")
        await until(exported.exists)
        assert json.loads(exported.read_bytes()) == json.loads(saved.read_bytes())
        draft = document.draft
        bench.remove(document)
        window.open_path(saved)
        document = bench.current
        assert (document.draft.tree, document.draft.places) == (draft.tree, draft.places)
        assert read_tree(saved.read_bytes()).tree == draft.tree

        # Step by step, with lights and meters.
        running = bench.running
        window.run_command("run.step")
        await until(lambda: running.state is RunState.PAUSED)
        cards = canvas.scene().node_items
        assert cards[question].marks.words == "paused"
        window.run_command("run.step")
        await until(lambda: running.state is RunState.ASKING)
        assert running.question.answers == ("yes", "no")
        child(window, QPushButton, "answer.no").click()
        await until(lambda: running.state is RunState.PAUSED)
        assert cards[question].marks.words == "✓ 1"
        assert cards[question].marks.taken == {"no"}
        assert cards[ends[1]].marks.state == "paused"
        assert child(window, Meter, "meter.llmCalls").value == 1
        assert child(window, Meter, "meter.nodeVisits").value == 1
        window.run_command("run.start")
        await until(lambda: running.state is RunState.ENDED)
        assert running.trail.result.verdict == "refuse"
        assert child(window, Meter, "meter.nodeVisits").value == 2

        # What is left of it: a transcript and a record, both in their lists.
        assert running.transcript_path.read_text().startswith("# Agent task")
        for name in ("transcripts", "records"):
            window.docks[name].show()
            window.docks[name].raise_()
        table = window.panels["records"].table
        await until(lambda: table.model().rowCount() == 1)
        await until(lambda: window.panels["transcripts"].table.model().rowCount() == 1)

    drive(journey)
