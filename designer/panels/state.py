"""The state of a run: its properties, with what the latest step changed, and the data it has gathered."""

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QSplitter, QVBoxLayout, QWidget

from designer import dialogs
from designer.document.names import one_line
from designer.forms import Column, Current, Empty, Pages, Table
from designer.tasks import launch
from designer.workbench import Workbench
from engine import ActionCompleted, DataItem, Event, NodeStarted


@dataclass(frozen=True, slots=True)
class Property:
    """One state property as it is shown."""

    name: str
    value: str
    changed: bool


class StatePanel(Pages):
    """Two tables of plain text."""

    def __init__(self, workbench: Workbench) -> None:
        self.properties = Table(
            (
                Column[Property]("State property", lambda p: p.name, width=120, mono=True),
                Column[Property]("Value", lambda p: p.value, tone=lambda p: "accent" if p.changed else None),
                Column[Property](
                    "",
                    lambda p: "changed" if p.changed else "",
                    width=70,
                    tone=lambda _: "accent",
                ),
            ),
            "State properties",
            key=lambda p: p.name,
        )
        self.data = Table(
            (
                Column[DataItem]("Data", lambda item: item.id, width=90, mono=True),
                Column[DataItem]("Type", lambda item: item.type, width=80, tone=lambda _: "secondary"),
                Column[DataItem]("Content", lambda item: item.content),
            ),
            "Data",
        )
        split = QSplitter(Qt.Orientation.Vertical)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        split.addWidget(self.properties)
        split.addWidget(self.data)
        self.change = QPushButton("Change a property and run again…")
        self.change.setObjectName("button.changeProperty")
        self.change.setProperty("quiet", True)
        self.change.setAutoDefault(False)
        self.change.setToolTip("Begin the run again, with another value from the shown moment on")
        self.change.clicked.connect(lambda: launch(self._change()))
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 4)
        column.setSpacing(2)
        column.addWidget(split, 1)
        column.addWidget(self.change, 0, Qt.AlignmentFlag.AlignLeft)
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
        changed = changed_lately(running.events) if mine else frozenset()
        properties = [
            Property(name, one_line(str(value)), name in changed)
            for name, value in (trail.properties if mine else {}).items()
            if value is not None
        ]
        data = trail.data if mine else ()
        if list(self.properties.rows) != properties:
            self.properties.show_rows(properties)
        if len(self.data.rows) != len(data) or (data and self.data.rows[-1] is not data[-1]):
            self.data.show_rows(data)
        self.show_content(mine and running.length > 0)

    async def _change(self) -> None:
        running, step = self._running, self._running.step_number
        known = {name: str(value) for name, value in running.trail.properties.items() if value is not None}
        given = await dialogs.ask_property(self.window(), known)
        if given is None:
            return
        try:
            running.fork(step, properties=dict([given]))
        except ValueError as error:
            self._workbench.trouble.emit(str(error))


def changed_lately(events: Iterable[Event]) -> frozenset[str]:
    """The names of the properties that the latest step changed."""
    for event in reversed(list(events)):
        if isinstance(event, ActionCompleted):
            return frozenset(event.changed)
        if isinstance(event, NodeStarted):
            break
    return frozenset()
