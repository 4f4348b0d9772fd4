"""Type to add: a small field at the pointer that offers kinds of nodes, and nodes that are there already."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from designer.document.names import one_line
from designer.forms import kind_tone, plain, small_icon
from engine import NodeId

_MOST: Final = 40  # choices that are listed at a time
_WIDTH: Final = 280
_ROW: Final = 29


@dataclass(frozen=True)
class Choice:
    """A node that can be taken: one that is there, or a new one of this kind."""

    title: str
    kind: str
    node: NodeId | None = None


class QuickAdd(QFrame):
    """One field and one list. Enter or a click takes a choice, Escape or looking elsewhere takes none."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("canvas.quick-add")
        self.setProperty("popup", True)
        self._home = parent
        self.setFixedWidth(_WIDTH)
        self._title = plain(role="label")
        self.line = QLineEdit()
        self.line.setObjectName("field.quick-add")
        self.line.setPlaceholderText("Type to filter")
        self.line.setAccessibleName("Filter")
        self.line.textChanged.connect(self._filter)
        self.line.installEventFilter(self)
        self.list = QListWidget()
        self.list.setObjectName("list.quick-add")
        self.list.setAccessibleName("Nodes to take")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setIconSize(QSize(16, 16))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.itemClicked.connect(lambda _: self._take())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 6)
        layout.setSpacing(6)
        layout.addWidget(self._title)
        layout.addWidget(self.line)
        layout.addWidget(self.list)
        self._choices: Sequence[Choice] = ()
        self._shown: list[Choice] = []
        self._then: Callable[[Choice], None] = lambda _: None
        self.hide()

    def ask(self, title: str, choices: Sequence[Choice], at: QPoint, then: Callable[[Choice], None]) -> None:
        """Offer these at this place of the parent and call ``then`` with the one that is taken, if any."""
        self._choices, self._then = choices, then
        self._title.setText(one_line(title, 60))
        self.line.clear()
        self._filter("")
        room = self._home.rect().bottomRight()
        x = min(at.x(), room.x() - self.width() - 8)
        y = min(at.y(), room.y() - self.height() - 8)
        self.move(max(x, 8), max(y, 8))
        self.show()
        self.raise_()
        self.line.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def offered(self) -> Sequence[Choice]:
        """What is listed now."""
        return self._shown

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        fits = (
            c for c in self._choices if all(word in f"{c.title} {c.node or ''}".casefold() for word in words)
        )
        self._shown = [choice for choice, _ in zip(fits, range(_MOST), strict=False)]
        self.list.clear()
        for choice in self._shown:
            title = one_line(choice.title, 80)
            known = kind_tone(choice.kind) != "secondary" or choice.kind == "terminal"
            icon = small_icon(choice.kind if known else "problem-error", kind_tone(choice.kind))
            self.list.addItem(QListWidgetItem(icon, title))
        self.list.setCurrentRow(0)
        self.list.setVisible(bool(self._shown))
        self.list.setFixedHeight(_ROW * min(len(self._shown), 8) + 6)
        self.adjustSize()

    def _take(self) -> None:
        row = self.list.currentRow()
        if 0 <= row < len(self._shown):
            choice, then = self._shown[row], self._then
            self._go()
            then(choice)

    def _go(self) -> None:
        if not self.isHidden():
            self.hide()
            self._home.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:  # no key means anything else while one types
            event.accept()
            return True
        if event.type() == QEvent.Type.FocusOut:
            self.hide()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            match event.key():
                case Qt.Key.Key_Escape:
                    self._go()
                case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                    self._take()
                case Qt.Key.Key_Up | Qt.Key.Key_Down as key:
                    step = 1 if key == Qt.Key.Key_Down else -1
                    self.list.setCurrentRow((self.list.currentRow() + step) % max(len(self._shown), 1))
                case Qt.Key.Key_Tab | Qt.Key.Key_Backtab:
                    pass
                case _:
                    return super().eventFilter(watched, event)
            return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.accept()  # what the field does not use is not for the canvas under it
