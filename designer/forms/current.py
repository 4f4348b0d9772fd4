"""The current document as a panel sees it: one place to connect to, whichever document is current."""

from PySide6.QtCore import QObject, Signal

from designer.document.document import Document
from designer.document.draft import Draft
from designer.workbench import Workbench
from engine import Problem


class Current(QObject):
    """Hands on what happens to the current document, and everything at once when another becomes current."""

    drafted = Signal(object)
    """The :class:`Draft` that is now on the screen, or None."""
    selected = Signal(object)
    """The selected node ids, a frozenset."""
    checked = Signal(object)
    """The problems, a tuple."""

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self.document: Document | None = None
        self.workbench = workbench
        workbench.current_changed.connect(self._switch)

    @property
    def draft(self) -> Draft | None:
        """What is on the screen."""
        return self.document.draft if self.document else None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What the last check found."""
        return self.document.problems if self.document else ()

    def announce(self) -> None:
        """Begin: tell about the document that is current now."""
        self._switch(self.workbench.current)

    def _switch(self, document: Document | None) -> None:
        if self.document is not document:
            if self.document is not None:
                self.document.changed.disconnect(self._changed)
                self.document.selection_changed.disconnect(self.selected)
                self.document.problems_changed.disconnect(self.checked)
            self.document = document
            if document is not None:
                document.changed.connect(self._changed)
                document.selection_changed.connect(self.selected)
                document.problems_changed.connect(self.checked)
        self.drafted.emit(self.draft)
        self.selected.emit(document.selection if document else frozenset())
        self.checked.emit(self.problems)

    def _changed(self, _before: object, after: object) -> None:
        self.drafted.emit(after)
