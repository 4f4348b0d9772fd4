"""Words sought in the shown transcript, wherever in its file: a bar that goes from one hit to the next."""

from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QWidget

from designer.forms import OwnUndo, plain
from designer.panels.transcripts.search import Hit, hits_in
from designer.panels.transcripts.spells import Latest, in_spells

MOST: Final = 10_000
"""Hits that can be gone through."""


class Finding(QWidget):
    """Hidden until it is opened. Enter goes on, Shift+Enter goes back, Escape closes it."""

    reached = Signal(object)
    """The :class:`Hit` to look at."""
    closed = Signal()

    def __init__(self, place: Callable[[], int]) -> None:
        super().__init__()
        self._place = place
        self._path: Path | None = None
        self._hits: list[Hit] = []
        self._number: int | None = None
        self._ended = True
        self._seen: int | None = None
        self._work = Latest()
        self.field = QLineEdit()
        self.field.setObjectName("transcript.find")
        self.field.setPlaceholderText("Find in this transcript")
        self.field.setAccessibleName("Find in this transcript")
        self.field.setClearButtonEnabled(True)
        OwnUndo(self.field)
        self.count = plain(role="label")
        back, on, close = (
            button("Previous", "button.findPrevious", lambda: self._step(-1)),
            button("Next", "button.findNext", lambda: self._step(1)),
            button("Close", "button.findClose", self.close_bar),
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 2, 8, 5)
        row.setSpacing(6)
        row.addWidget(self.field, 1)
        for widget in (self.count, back, on, close):
            row.addWidget(widget)
        self.field.textEdited.connect(lambda _: self._seek(self._place()))
        self.field.installEventFilter(self)
        self.hide()

    @property
    def words(self) -> str:
        """What is sought; empty while the bar is closed."""
        return "" if self.isHidden() else self.field.text()

    def open_bar(self) -> None:
        """Show the bar and write in it."""
        self.show()
        self.field.setFocus()
        self.field.selectAll()

    def close_bar(self) -> None:
        """Seek nothing any more."""
        self.hide()
        self._seek(0)
        self.closed.emit()

    def show_file(self, path: Path | None, at: int, words: str = "") -> None:
        """Seek in this file, from this byte on. ``words`` are sought instead, and seen at that byte."""
        self._path = path
        if words:
            self.field.setText(words)
            self.show()
        self._seek(at, seen=at if words else None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            match event.key():
                case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                    self._step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
                    return True
                case Qt.Key.Key_Escape:
                    self.close_bar()
                    return True
        return super().eventFilter(watched, event)

    def _seek(self, at: int, *, seen: int | None = None) -> None:
        self._work.stop()
        self._hits, self._number, self._ended, self._seen = [], None, True, seen
        self.count.setText("")
        if self.words and self._path is not None:
            self._ended = False
            self._work.start(self._find(self._path, self.words, at))

    async def _find(self, path: Path, words: str, at: int) -> None:
        """Collect the hits; go to the first one that is not before this byte, else to the first of all."""
        try:
            async for found in in_spells(hits_in(path, words)):
                self._hits += found[: MOST - len(self._hits)]
                if self._number is None and self._hits and self._hits[-1].at >= at:
                    self._reach(bisect_left(self._hits, at, key=lambda hit: hit.at))
                self._tell()
                if len(self._hits) >= MOST:
                    break
        except OSError:
            self._hits = []  # the reader says why
        self._ended = True
        if self._number is None and self._hits:
            self._reach(0)
        self._tell()

    def _step(self, by: int) -> None:
        if not self._hits:
            return
        before = -1 if self._number is None and by > 0 else self._number or 0
        self._reach((before + by) % len(self._hits))
        self._tell()

    def _reach(self, number: int) -> None:
        self._number = number
        if self._hits[number].at != self._seen:
            self.reached.emit(self._hits[number])
        self._seen = None

    def _tell(self) -> None:
        found = len(self._hits)
        more = " or more" if found >= MOST else "" if self._ended else "…"
        if not found:
            self.count.setText("Not found" if self._ended else "Searching…")
        else:
            at = "…" if self._number is None else f"{self._number + 1:,}"
            self.count.setText(f"{at} of {found:,}{more}")


def button(text: str, name: str, act: Callable[[], object]) -> QPushButton:
    """A quiet button that does this."""
    made = QPushButton(text)
    made.setObjectName(name)
    made.setProperty("quiet", True)
    made.setAutoDefault(False)
    made.clicked.connect(lambda _checked: act())
    return made
