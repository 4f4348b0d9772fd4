"""Type to choose: a field over the window and the lines that fit what is typed, best first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QVBoxLayout, QWidget

from designer import theme
from designer.document.names import one_line
from designer.forms import Column, Table, plain

_MOST: Final = 200  # lines that are shown; typing finds the others
_WIDTH: Final = 620
_TOP: Final = 56
_SEEN: Final = 12


@dataclass(frozen=True, eq=False)
class Line:
    """What can be chosen. With a ``reason`` it cannot be now; the reason is told in its place."""

    title: str
    take: Callable[[], object]
    detail: str = ""
    icon: tuple[str, str] | None = None
    reason: str | None = None


class Chooser(QFrame):
    """Enter or a click takes a line, Escape or looking elsewhere takes none."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._over = parent
        self.setObjectName("chooser")
        self.setProperty("popup", True)
        self.setFixedWidth(_WIDTH)
        self.line = QLineEdit()
        self.line.setObjectName("field.chooser")
        self.line.textChanged.connect(self._filter)
        self.line.installEventFilter(self)
        columns = (
            Column[Line]("", lambda one: one.title, icon=lambda one: one.icon, tone=_tone),
            Column[Line]("", lambda one: one.reason or one.detail, width=230, tone=lambda _: "secondary"),
        )
        self.table = Table(columns, "Choices")
        self.table.setObjectName("list.chooser")
        self.table.horizontalHeader().hide()
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.table.opened.connect(self._take)
        self._none = plain("Nothing fits what is typed.", role="label")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        for widget in (self.line, self.table, self._none):
            layout.addWidget(widget)
        self._lines: Sequence[tuple[str, Line]] = ()
        self._back: QWidget | None = None
        self.hide()

    def ask(self, title: str, lines: Sequence[Line]) -> None:
        """Offer these lines; the one that is taken acts when the field is gone."""
        if self.isHidden():
            self._back = self._over.window().focusWidget()
        self._lines = [(f"{line.title} {line.detail}".casefold(), line) for line in lines]
        self.line.setPlaceholderText(title)
        self.line.setAccessibleName(title)
        self.line.clear()
        self._filter("")
        self.move(max(0, (self._over.width() - self.width()) // 2), _TOP)
        self.show()
        self.raise_()
        self.line.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def offered(self) -> Sequence[Line]:
        """What is listed now."""
        return [line for line in self.table.rows if isinstance(line, Line)]

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        fitting = [(folded, line) for folded, line in self._lines if all(word in folded for word in words)]
        if words:
            fitting.sort(key=lambda pair: _rank(pair[0], words[0]))  # those of one rank stay in their order
        lines = [line for _, line in fitting[:_MOST]]
        self.table.show_rows(lines)
        self.table.setVisible(bool(lines))
        self._none.setVisible(not lines)
        self.table.setFixedHeight(theme.ROW * min(max(len(lines), 1), _SEEN) + 2)
        if lines:
            self.table.choose(0)
        self.adjustSize()

    def _take(self, line: object) -> None:
        if isinstance(line, Line) and line.reason is None:
            self._leave()
            line.take()

    def _leave(self) -> None:
        if not self.isHidden():
            self.hide()
            if self._back is not None:
                self._back.setFocus(Qt.FocusReason.OtherFocusReason)

    def _step(self, by: int) -> None:
        count = len(self.table.rows)
        if count:
            self.table.choose((self.table.currentIndex().row() + by) % count)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:  # no key means anything else while one types
            event.accept()
            return True
        if event.type() == QEvent.Type.FocusOut:
            self.hide()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            match event.key():
                case Qt.Key.Key_Escape:
                    self._leave()
                case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                    self._take(self.table.row)
                case Qt.Key.Key_Down | Qt.Key.Key_Tab:
                    self._step(1)
                case Qt.Key.Key_Up | Qt.Key.Key_Backtab:
                    self._step(-1)
                case Qt.Key.Key_PageDown:
                    self._step(_SEEN)
                case Qt.Key.Key_PageUp:
                    self._step(-_SEEN)
                case _:
                    return super().eventFilter(watched, event)
            return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.accept()  # what the field does not use is not for the window under it


def _tone(line: Line) -> str | None:
    return "secondary" if line.reason else None


def _rank(folded: str, word: str) -> int:
    """Lines that begin with the word come first, then those with a word that does."""
    if folded.startswith(word):
        return 0
    return 1 if f" {word}" in f" {one_line(folded)}" else 2
