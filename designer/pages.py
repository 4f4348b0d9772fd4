"""What fills the middle of the window when there is no canvas: a start, or a file that is no tree."""

from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QTextCursor
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QStackedWidget,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from designer import theme
from designer.forms import Glyph, plain
from engine import Problem

_CARDS: Final = (
    ("new", "New tree", "Start with an empty canvas and four kinds of nodes."),
    ("open", "Open a file", "A tree in JSON, by itself or with its cases and project."),
    ("sample", "Try the sample", "A published decision table: how soon to patch, in four questions."),
)
_SHOWN_PROBLEMS: Final = 12
_SHOWN_RECENT: Final = 5


class Pages(QStackedWidget):
    """The middle of the window: the canvas, the start, or now and then the text of a file that is no tree."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__()
        self.setObjectName("pages")
        self.start, self.text, self._canvas = StartPage(), TextPage(), canvas
        self._behind: QWidget = self.start
        for page in (self.start, self.text, canvas):
            self.addWidget(page)
        self.text.closed.connect(lambda: self.setCurrentWidget(self._behind))

    def show_start(self, recent: Sequence[Path]) -> None:
        """Show the start, with the files used last."""
        self.start.show_recent(recent)
        self._show(self.start)

    def show_canvas(self) -> None:
        """Show the canvas."""
        self._show(self._canvas)

    def show_text(self, path: Path, text: str, problems: Sequence[Problem]) -> None:
        """Show a file that is no tree; who closes it is back where they were."""
        self.text.show_text(path, text, problems)
        self.setCurrentWidget(self.text)

    def _show(self, page: QWidget) -> None:
        self._behind = page
        self.setCurrentWidget(page)


class StartPage(QWidget):
    """Three ways to begin."""

    new_requested = Signal()
    open_requested = Signal()
    sample_requested = Signal()
    recent_requested = Signal(object)
    """A path."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page.start")
        row = QHBoxLayout()
        row.setSpacing(16)
        signals = {"new": self.new_requested, "open": self.open_requested, "sample": self.sample_requested}
        for id_, title, words in _CARDS:
            card = _Card("classify" if id_ == "sample" else id_, title, words)
            card.setObjectName(f"start.{id_}")
            card.clicked.connect(signals[id_])
            row.addWidget(card)
        heading = plain("What shall be decided?", role="title")
        promise = plain("Draw the questions, check that every path ends, and watch it run.", role="label")
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addStretch(2)
        column.addWidget(heading, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(promise, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(16)
        centred = QHBoxLayout()
        centred.addStretch(1)
        centred.addLayout(row)
        centred.addStretch(1)
        column.addLayout(centred)
        column.addSpacing(8)
        self._recent = QVBoxLayout()
        self._recent.setSpacing(2)
        column.addLayout(self._recent)
        column.addStretch(3)

    def show_recent(self, paths: Sequence[Path]) -> None:
        """Offer the files used last."""
        while (item := self._recent.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for path in paths[:_SHOWN_RECENT]:
            button = QPushButton(f"{path.parent.name}/{path.name}".replace("&", "&&"))
            button.setProperty("quiet", True)
            button.setToolTip(escape(str(path)))
            button.clicked.connect(partial(self.recent_requested.emit, path))
            self._recent.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)


class _Card(QPushButton):
    """A large button: an icon, a title and a sentence."""

    def __init__(self, icon: str, title: str, words: str) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.setFixedSize(232, 132)
        self.setAccessibleName(title)
        self.setAccessibleDescription(words)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(4)
        column.addWidget(Glyph(icon, "accent", 22))
        column.addSpacing(4)
        for text, role in ((title, "title"), (words, "label")):
            label = plain(text, role=role, wrap=True)
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            column.addWidget(label)
        column.addStretch(1)


class Banner(QFrame):
    """One sentence above the canvas, with what can be done about it; hidden without a sentence."""

    pressed = Signal()

    def __init__(self, button: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._words = plain(role="warn", wrap=True)
        self._words.setObjectName("banner.words")
        made = QPushButton(button)
        made.setObjectName("banner.button")
        # Not the first thing Enter means in a new window; the keyboard finds the same in the menu.
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        made.clicked.connect(self.pressed)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self._words, 1)
        row.addWidget(made)
        self.hide()

    def say(self, words: str | None) -> None:
        """Show this sentence, or nothing."""
        self._words.setText(words or "")
        self.setVisible(bool(words))


class TextPage(QWidget):
    """A file that cannot be edited as a tree: what is wrong, and its text as it is."""

    closed = Signal()
    """The person has seen enough."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page.text")
        self._banner = plain(wrap=True)
        self._banner.setObjectName("page.text.problems")
        self._text = QPlainTextEdit(readOnly=True)
        self._text.setObjectName("page.text.text")
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setAccessibleName("Text of the file")
        self._text.setProperty("mono", True)
        frame = QFrame()
        frame.setObjectName("banner")
        close = QPushButton("Close")
        close.setObjectName("page.text.close")
        close.clicked.connect(self.closed)
        inside = QHBoxLayout(frame)
        inside.addWidget(self._banner, 1)
        inside.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(frame)
        column.addWidget(self._text, 1)

    @property
    def problems(self) -> str:
        """What is said to be wrong."""
        return self._banner.text()

    def show_text(self, path: Path, text: str, problems: Sequence[Problem]) -> None:
        """Show this text with its problems above it, the first one's line marked."""
        lines = [
            f"Line {p.line}, column {p.column}: {p.message}" if p.line is not None else p.message
            for p in problems[:_SHOWN_PROBLEMS]
        ]
        if len(problems) > _SHOWN_PROBLEMS:
            lines.append(f"And {len(problems) - _SHOWN_PROBLEMS} more.")
        head = f"{path.name} cannot be edited as a tree. It is shown as it is, and nothing on disk changes."
        self._banner.setText("\n".join([head, *lines]))
        self._text.setPlainText(text)
        first = next((p for p in problems if p.line is not None), None)
        self._text.setExtraSelections([] if first is None or first.line is None else [self._mark(first.line)])

    def _mark(self, line: int) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        cursor = QTextCursor(self._text.document().findBlockByNumber(line - 1))
        mark.cursor = cursor
        mark.format.setBackground(QColor(theme.tokens().wash))
        mark.format.setProperty(mark.format.Property.FullWidthSelection, True)
        self._text.setTextCursor(cursor)
        return mark
