"""The history panel: every step by its name; a click goes back, or forward again, to where it was made."""

from dataclasses import dataclass

from PySide6.QtGui import QShowEvent, QUndoStack

from designer.forms import Column, Current, Empty, Pages, Table
from designer.workbench import Workbench


@dataclass(frozen=True)
class Step:
    """One row: the document after a step; number 0 is the document before any."""

    number: int
    label: str
    done: bool
    current: bool
    saved: bool


class HistoryPanel(Pages):
    """The steps of the current document, the first one on top; those taken back are grey."""

    def __init__(self, workbench: Workbench) -> None:
        columns = (
            Column[Step](
                "Step",
                lambda step: step.label,
                icon=lambda step: ("dot", "accent") if step.current else None,
                tone=lambda step: None if step.done else "secondary",
            ),
            Column[Step](
                "", lambda step: "Saved" if step.saved else "", width=90, tone=lambda _: "secondary"
            ),
        )
        self.table = Table(columns, "History", key=lambda step: step.number)
        super().__init__(self.table, Empty("undo", "", ""))
        self.setObjectName("panel.history")
        self.table.opened.connect(self._go)
        self._current = Current(workbench, self)
        self._stack: QUndoStack | None = None
        self._current.drafted.connect(lambda _: self._follow())
        self._current.announce()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The document as it was opened, and every step made since."""
        stack = self._stack
        if stack is None:
            return ()
        labels = ["As it was opened", *(stack.text(i) for i in range(stack.count()))]
        return tuple(
            Step(i, label, i <= stack.index(), i == stack.index(), i == stack.cleanIndex())
            for i, label in enumerate(labels)
        )

    def _follow(self) -> None:
        stack = self._current.document.undo_stack if self._current.document else None
        if stack is not self._stack:
            if self._stack is not None:
                self._stack.indexChanged.disconnect(self._refresh)
                self._stack.cleanChanged.disconnect(self._refresh)
            self._stack = stack
            if stack is not None:
                # The stack is ahead of the draft: it tells of a step only when the step is made.
                stack.indexChanged.connect(self._refresh)
                stack.cleanChanged.connect(self._refresh)
            self._refresh()

    def _refresh(self, *_: object) -> None:
        if not self.isVisible():
            return
        steps = self.steps
        self.show_content(len(steps) > 1)
        if self._stack is None:
            self.empty.say("No tree is open", "Every change to an open tree is listed here.")
        else:
            self.empty.say("Nothing changed yet", "Every change is listed here; a click goes back to it.")
        self.table.show_rows(steps)
        if steps:
            self.table.choose(self._stack.index() if self._stack else 0)

    def _go(self, step: Step) -> None:
        if self._current.document is not None:
            self._current.document.go_to(step.number)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()
