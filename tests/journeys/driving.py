"""Driving the real window as a person would: by what can be seen, with mouse and keys."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QPushButton, QWidget

from designer.canvas.geometry import input_port, output_port
from designer.canvas.items import NodeItem
from designer.document.document import Document
from designer.panels.palette import PalettePanel
from designer.running import RunController
from designer.window import MainWindow
from engine import NodeId, Problem, Question, RunResult

_Widget = TypeVar("_Widget", bound=QWidget)
_Result = TypeVar("_Result")

TICK = 0.005


async def until(holds: Callable[[], object], ticks: int = 600) -> None:
    """Let the window work until this holds."""
    for _ in range(ticks):
        if holds():
            return
        await asyncio.sleep(TICK)
    raise AssertionError("It never came to hold.")


async def by_hand(act: Callable[[], _Result]) -> _Result:
    """Do something with mouse or keys while no task runs: their events may step tasks, but not within one."""
    done: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()

    def do() -> None:
        try:
            done.set_result(act())
        except Exception as error:  # noqa: BLE001  (whatever it is, the journey shall hear it)
            done.set_exception(error)

    QTimer.singleShot(0, do)
    return await done


class Driver:
    """A person at the window."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window

    @property
    def document(self) -> Document:
        document = self.window.workbench.current
        assert document is not None
        return document

    @property
    def running(self) -> RunController:
        return self.window.workbench.running

    @property
    def question(self) -> Question:
        assert self.running.question is not None
        return self.running.question

    @property
    def result(self) -> RunResult:
        assert self.running.trail.result is not None
        return self.running.trail.result

    def outcomes(self) -> list[str]:
        """A list that the outcome of every run from now on is added to."""
        seen: list[str] = []
        noted: list[RunResult | None] = [self.running.trail.result]

        def note(_state: object) -> None:
            result = self.running.trail.result
            if result is not None and result is not noted[-1]:
                noted.append(result)
                seen.append(result.outcome)

        self.running.state_changed.connect(note)
        return seen

    def card(self, node: NodeId) -> NodeItem:
        return self.window.canvas.scene().node_items[node]

    def errors(self) -> list[Problem]:
        return [p for p in self.document.check_now() if p.severity == "error"]

    def seen(self, kind: type[_Widget], name: str) -> _Widget:
        """The one widget of this name on the screen (a node and its tree both have a task, for instance)."""
        (found,) = (widget for widget in self.window.findChildren(kind, name) if widget.isVisible())
        return found

    async def select(self, node: NodeId) -> None:
        """Click a card."""
        canvas = self.window.canvas
        canvas.reveal(node)
        card = self.card(node).card.card
        middle = canvas.mapFromScene(card.x + card.w / 2, card.y + 12)
        QTest.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, middle)
        await until(lambda: self.document.selection == {node})
        await asyncio.sleep(TICK)

    async def type(self, name: str, text: str) -> None:
        """Fill a field."""
        await until(lambda: any(w.isVisible() for w in self.window.findChildren(QWidget, f"field.{name}")))
        field = self.seen(QWidget, f"field.{name}")
        assert isinstance(field, QLineEdit | QPlainTextEdit)
        field.setFocus()
        field.selectAll()
        QTest.keyClicks(field, text)
        field.clearFocus()
        await asyncio.sleep(TICK)

    async def press(self, name: str) -> None:
        """Press a button, once it is there."""
        await until(lambda: any(w.isVisible() for w in self.window.findChildren(QPushButton, name)))
        button = self.seen(QPushButton, name)
        await by_hand(lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton))
        await asyncio.sleep(TICK)

    async def connect(self, source: NodeId, branch: str, target: NodeId) -> None:
        """Drag a branch from its port to a card."""
        canvas, port = self.window.canvas, self.window.canvas.viewport()
        start = output_port(self.card(source).card.card, self.document.draft.tree.nodes[source], branch)
        end = input_port(self.card(target).card.card)
        here, there = canvas.mapFromScene(*start), canvas.mapFromScene(*end)
        button, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        QTest.mousePress(port, button, plain, here)
        for step in range(1, 5):
            QTest.mouseMove(port, here + (there - here) * (step / 4))
        QTest.mouseRelease(port, button, plain, there)
        await asyncio.sleep(TICK)

    def add(self, kind: str) -> None:
        """Take a node from the palette."""
        (palette,) = self.window.findChildren(PalettePanel)
        palette.add_requested.emit(kind)

    async def show(self, panel: str) -> None:
        """Bring a panel to the front."""
        self.window.docks[panel].show()
        self.window.docks[panel].raise_()
        await asyncio.sleep(TICK)
