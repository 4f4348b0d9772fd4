"""The bar to find by: what to look for, how many there are, and what to put in place of it."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLineEdit, QPushButton, QSizePolicy, QWidget

from designer.forms import plain

_PAUSE: Final = 120  # milliseconds after a key before it is looked for


class FindBar(QFrame):
    """Enter goes to the next one, Shift+Enter to the one before, Escape closes the bar."""

    changed = Signal()
    """Something else shall be looked for."""
    stepped = Signal(object)
    """By how many: 1 or -1."""
    replace_requested = Signal()
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("find")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.field, self.other = QLineEdit(), QLineEdit()
        self.count = plain(role="label")
        self.count.setObjectName("find.count")
        self.count.setMinimumWidth(96)
        self.word, self.expression = QCheckBox("Whole word"), QCheckBox("Regular expression")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 6, 10, 6)
        row.setSpacing(6)
        self._soon = QTimer(self, interval=_PAUSE, singleShot=True)
        self._soon.timeout.connect(self.changed)
        for field, name, text in (
            (self.field, "field.find", "Find in names, texts, answers, keys, notes"),
            (self.other, "field.replace", "Put in place of it"),
        ):
            field.setObjectName(name)
            field.setPlaceholderText(text)
            field.setAccessibleName(text)
            field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            field.setMinimumWidth(120)
            field.installEventFilter(self)
        self.field.textChanged.connect(lambda _: self._soon.start())
        for toggle, name in ((self.word, "find.word"), (self.expression, "find.expression")):
            toggle.setObjectName(name)
            toggle.toggled.connect(lambda _: self.changed.emit())
        before = self._button(
            "Previous", "find.previous", "The place before (Shift+Enter)", lambda: self.stepped.emit(-1)
        )
        after = self._button("Next", "find.next", "The next place (Enter)", lambda: self.stepped.emit(1))
        self.replace = self._button("Replace all", "find.replace", "One step that can be undone",
                                    self.replace_requested.emit)  # fmt: skip
        close = self._button("Close", "find.close", "Escape", self.leave)
        widgets: tuple[QWidget, ...] = (
            self.field, self.count, before, after, self.word, self.expression, self.other, self.replace, close
        )  # fmt: skip
        for widget in widgets:
            row.addWidget(widget)
        self.hide()

    def _button(self, text: str, name: str, tip: str, press: Callable[[], object]) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.clicked.connect(lambda _=False: press())
        return button

    def ask(self) -> None:
        """Open, with what was looked for before chosen whole."""
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        self.changed.emit()

    def leave(self) -> None:
        """Close."""
        if not self.isHidden():
            self.hide()
            self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            match event.key():
                case Qt.Key.Key_Escape:
                    self.leave()
                    return True
                case Qt.Key.Key_Return | Qt.Key.Key_Enter if watched is self.field:
                    back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
                    if self._soon.isActive():
                        self._soon.stop()
                        self.changed.emit()
                    self.stepped.emit(-1 if back else 1)
                    return True
                case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                    self.replace_requested.emit()
                    return True
        return super().eventFilter(watched, event)
