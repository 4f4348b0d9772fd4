"""The state of a run: its properties, with what the latest step changed, and the data it has gathered."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSplitter, QVBoxLayout, QWidget

from designer import dialogs
from designer.document.names import one_line
from designer.forms import Column, Current, Empty, Pages, Table
from designer.tasks import launch
from designer.workbench import Workbench
from engine import ActionCompleted, DataItem, Event, NodeStarted

_LEAST: Final = 52
"""Pixels of a table: its head and most of a row. Tables ask for more than a low window has."""


@dataclass(frozen=True, slots=True)
class Property:
    """One state property as it is shown; ``mark`` says what the latest step did to it."""

    name: str
    value: str
    mark: str


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the data as it is shown; ``number`` tells apart those of one id."""

    number: int
    item: DataItem
    mark: str


class StatePanel(Pages):
    """Two tables of plain text, with what the latest step did at the right."""

    def __init__(self, workbench: Workbench) -> None:
        self.properties = Table(
            (
                Column[Property]("State property", lambda p: p.name, width=112, mono=True),
                Column[Property]("Value", lambda p: p.value, tone=lambda p: "accent" if p.mark else None),
                Column[Property]("", lambda p: p.mark, width=74, tone=lambda _: "accent"),
            ),
            "State properties",
            key=lambda p: p.name,
        )
        self.data = Table(
            (
                Column[Item]("Data", lambda row: row.item.id, width=80, mono=True),
                Column[Item]("Type", lambda row: row.item.type, width=62, tone=lambda _: "secondary"),
                Column[Item](
                    "Content", lambda row: row.item.content, tone=lambda row: "accent" if row.mark else None
                ),
                Column[Item]("", lambda row: row.mark, width=60, tone=lambda _: "accent"),
            ),
            "Data",
            key=lambda row: row.number,
        )
        split = QSplitter(Qt.Orientation.Vertical)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        for table in (self.properties, self.data):
            table.setMinimumHeight(_LEAST)
            split.addWidget(table)
        buttons = QHBoxLayout()
        buttons.setSpacing(0)
        buttons.addWidget(_button("changeProperty", "Change a property…", "value", self._change_property))
        buttons.addWidget(_button("changeItem", "Change a data item…", "item", self._change_item))
        buttons.addStretch(1)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 4)
        column.setSpacing(2)
        column.addWidget(split, 1)
        column.addLayout(buttons)
        super().__init__(
            page,
            Empty(
                "record", "No state yet", "State and data of a run are shown here as its actions add them."
            ),
        )
        self.setObjectName("panel.state")
        self.setMinimumWidth(260)
        self._workbench, self._running = workbench, workbench.running
        self._current = Current(workbench, self)
        self._current.drafted.connect(lambda _: self._refresh())
        workbench.running.trail_changed.connect(lambda _: self._refresh())
        self._current.announce()

    def _refresh(self) -> None:
        running, trail = self._running, self._running.trail
        mine = running.document is not None and running.document is self._current.document
        lately = latest_action(running.events) if mine else None
        changed, added = (lately.changed, len(lately.produced)) if lately else ({}, 0)
        properties = [
            Property(name, one_line(str(value)), "changed" if name in changed else "")
            if value is not None
            else Property(name, "", "removed")
            for name, value in (trail.properties if mine else {}).items()
            if value is not None or name in changed
        ]
        data = trail.data if mine else ()
        first = len(data) - added
        items = [Item(number, item, "added" if number >= first else "") for number, item in enumerate(data)]
        if list(self.properties.rows) != properties:
            self.properties.show_rows(properties)
        if list(self.data.rows) != items:
            self.data.show_rows(items)
        self.show_content(mine and running.length > 0)

    async def _change_property(self) -> None:
        step, there = self._running.step_number, self._running.trail.properties
        known = {name: str(value) for name, value in there.items() if value is not None}
        given = await dialogs.ask_property(self.window(), known)
        if given is not None:
            self._fork(partial(self._running.fork, step, properties=dict([given])))

    async def _change_item(self) -> None:
        step = self._running.step_number
        given = await dialogs.ask_item(self.window(), self._running.trail.data)
        if given is not None:
            self._fork(partial(self._running.fork, step, data=(given,)))

    def _fork(self, fork: Callable[[], None]) -> None:
        try:
            fork()
        except ValueError as error:
            self._workbench.trouble.emit(str(error))


def _button(
    id: str, words: str, what: str, change: Callable[[], Coroutine[object, object, None]]
) -> QPushButton:
    button = QPushButton(words)
    button.setObjectName(f"button.{id}")
    button.setProperty("quiet", True)
    button.setAutoDefault(False)
    button.setToolTip(f"Begin the run again, with another {what} from the shown moment on")
    button.clicked.connect(lambda: launch(change()))
    return button


def latest_action(events: Sequence[Event]) -> ActionCompleted | None:
    """The action of the latest step, which alone changes properties and adds data."""
    for event in reversed(events):
        if isinstance(event, ActionCompleted):
            return event
        if isinstance(event, NodeStarted):
            break
    return None
