"""Texts that show data: always plain, never markup, and what a place says while there is nothing to show."""

from functools import lru_cache
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from designer import theme


def kind_tone(kind: str | None) -> str:
    """The token of the colour of a kind of node."""
    return kind if kind in {"action", "classify", "condition"} else "secondary"


def plain(text: str = "", *, role: str = "", mono: bool = False, wrap: bool = False) -> QLabel:
    """A label that shows its text as it is. ``role`` is one of the theme: label, title, good, warn, bad."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setText(text)
    label.setWordWrap(wrap)
    label.setProperty("role", role)
    label.setProperty("mono", mono)
    if wrap:
        label.setMinimumWidth(1)
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label


def small_icon(name: str, tone: str) -> QIcon:
    """An icon in the colour of this token, as the theme now has it."""
    return _icon(name, getattr(theme.tokens(), tone))


@lru_cache(maxsize=128)
def _icon(name: str, colour: str) -> QIcon:
    return theme.icon(name, colour)


class Glyph(QWidget):
    """An icon that follows the theme by itself, because it is painted in the tokens of the moment."""

    def __init__(self, name: str, tone: str, size: int = 16) -> None:
        super().__init__()
        self._name, self._tone = name, tone
        self.setFixedSize(size, size)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_icon(self, name: str, tone: str) -> None:
        """Show another icon."""
        self._name, self._tone = name, tone
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colour = getattr(theme.tokens(), self._tone)
        painter = QPainter(self)
        theme.drawing(self._name, colour).render(painter, QRectF(self.rect()))
        painter.end()


SEVERITY: Final = {
    "error": ("problem-error", "bad"),
    "warning": ("problem-warning", "warn"),
    "info": ("problem-info", "secondary"),
}
"""Icon and token of each severity."""


class Note(QWidget):
    """A small line with an icon under a field; hidden while there is nothing to say."""

    def __init__(self) -> None:
        super().__init__()
        self._glyph = Glyph("problem-error", "bad", 14)
        self._text = plain(wrap=True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(1, 1, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._glyph, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._text, 1)
        self.hide()

    @property
    def text(self) -> str:
        """What it says."""
        return self._text.text()

    def say(self, text: str, severity: str = "error") -> None:
        """Say this; an empty text hides the line."""
        icon, tone = SEVERITY[severity]
        self._glyph.show_icon(icon, tone)
        self._text.setText(text)
        role = tone if tone in {"bad", "warn"} else "label"
        if self._text.property("role") != role:
            self._text.setProperty("role", role)
            self._text.style().polish(self._text)
        self.setVisible(bool(text))


class Empty(QWidget):
    """What a panel says while it has nothing to show, and how that can change."""

    def __init__(self, icon: str, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = plain(title), plain(text, role="label", wrap=True)
        font = theme.font(13, bold=True)
        self._title.setFont(font)
        for label in (self._title, self._text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(5)
        layout.addStretch(1)
        layout.addWidget(Glyph(icon, "secondary", 22), 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(self._title)
        layout.addWidget(self._text)
        layout.addStretch(2)

    @property
    def text(self) -> str:
        """Everything it says."""
        return f"{self._title.text()} {self._text.text()}".strip()

    def say(self, title: str, text: str) -> None:
        """Say something else."""
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))


class Pages(QStackedWidget):
    """A content and the empty state shown instead of it; only the page on show asks for room."""

    def __init__(self, content: QWidget, empty: Empty) -> None:
        super().__init__()
        self.content, self.empty = content, empty
        self.addWidget(empty)
        self.addWidget(content)

    def show_content(self, there_is: object) -> None:
        """Show the content when there is any."""
        self.setCurrentWidget(self.content if there_is else self.empty)

    def minimumSizeHint(self) -> QSize:
        return self._on_show.minimumSizeHint()

    def sizeHint(self) -> QSize:
        return self._on_show.sizeHint()

    @property
    def _on_show(self) -> QWidget:
        return self.content if self.currentWidget() is self.content else self.empty
