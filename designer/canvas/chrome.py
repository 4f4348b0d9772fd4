"""What lies over the canvas and does not move with it: zoom buttons, the path of a run, the first hint.

What stays there while one looks around fills all of its box: under anything that can be seen through, Qt
paints the whole canvas anew at each step instead of moving it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from designer.canvas.style import Style, Type
from designer.document.names import one_line

_GAP: Final = 7.0
_EDGE: Final = 15.0
_MINUS: Final = "\N{MINUS SIGN}"
_ON: Final = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


class ZoomBar(QWidget):
    """Buttons to see the tree smaller, at its own size, larger, and as a whole."""

    def __init__(
        self,
        parent: QWidget,
        style: Style,
        smaller: Callable[[], None],
        reset: Callable[[], None],
        larger: Callable[[], None],
        fit: Callable[[], None],
    ) -> None:
        super().__init__(parent)
        self.setObjectName("canvas.zoom")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._style = style
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self.factor = QPushButton("100 %")
        for button, text, name, press in (
            (QPushButton(_MINUS), "Zoom out", "canvas.zoom.out", smaller),
            (self.factor, "Zoom to 100 %", "canvas.zoom.reset", reset),
            (QPushButton("+"), "Zoom in", "canvas.zoom.in", larger),
            (QPushButton("Fit"), "Show the whole tree", "canvas.zoom.fit", fit),
        ):
            button.setObjectName(name)
            button.setAccessibleName(text)
            button.setToolTip(text)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            button.clicked.connect(lambda _=False, press=press: press())
            row.addWidget(button)
        self.show_factor(1.0)

    def show_factor(self, factor: float) -> None:
        """Say how large the tree is shown."""
        self.factor.setText(f"{round(factor * 100)} %")

    def restyle(self, style: Style) -> None:
        """Take on another theme."""
        self._style = style
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), self._style.canvas)


class Breadcrumb(QWidget):
    """The path of a run: nodes and the answers that led on, the last node in bold."""

    def __init__(self, parent: QWidget, style: Style) -> None:
        super().__init__(parent)
        self.setObjectName("canvas.breadcrumb")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.most = 600.0
        self._style = style
        self._steps: tuple[tuple[str, bool], ...] = ()
        self.hide()

    def show_steps(self, steps: Sequence[tuple[str, bool]]) -> None:
        """Show these texts, each with whether it is an answer; nothing at all for none."""
        self._steps = tuple((one_line(text), is_answer) for text, is_answer in steps)
        self.setAccessibleName("Path: " + f" {_ON} ".join(text for text, _ in self._steps))
        self.setVisible(bool(self._steps))
        self.update()

    def restyle(self, style: Style) -> None:
        """Take on another theme."""
        self._style = style
        self.update()

    def sizeHint(self) -> QSize:
        pieces = self._pieces()
        return QSize(round(sum(face.width(text) + _GAP for face, text, _ in pieces) - _GAP + 2 * _EDGE), 28)

    def paintEvent(self, event: QPaintEvent) -> None:
        style, painter = self._style, QPainter(self)
        painter.fillRect(self.rect(), style.canvas)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(style.line, 1))
        painter.setBrush(style.card)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 13.5, 13.5)
        x = _EDGE
        for face, text, colour in self._pieces():
            face.draw(painter, x, self.height() / 2, text, colour)
            x += face.width(text) + _GAP

    def _pieces(self) -> list[tuple[Type, str, QColor]]:
        """The texts with their looks; the oldest give way to an ellipsis where there is no room."""
        style, last = self._style, len(self._steps) - 1
        pieces: list[tuple[Type, str, QColor]] = []
        room = self.most - 2 * _EDGE
        for index in range(last, -1, -1):
            text, is_answer = self._steps[index]
            face = style.strong if index == last and not is_answer else style.body
            colour = style.accent if is_answer else style.text if index == last else style.secondary
            step = [(face, face.elided(text, 160), colour)]
            if index and not is_answer:
                step.insert(0, (style.body, _ON, style.secondary))
            room -= sum(face.width(text) + _GAP for face, text, _ in step)
            if room < 0 and pieces:
                return [(style.body, "…", style.secondary), *pieces]
            pieces[:0] = step
        return pieces


class Progress(QFrame):
    """What takes long, how far it is, and a way to call it off."""

    stopped = Signal()
    """The person does not want to wait."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("canvas.progress")
        self._parent = parent
        self.setAutoFillBackground(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 6, 6)
        self._words = QLabel(textFormat=Qt.TextFormat.PlainText)
        self._bar = QProgressBar(maximum=100, textVisible=False)
        self._bar.setFixedWidth(120)
        button = QPushButton("Cancel")
        button.setObjectName("canvas.progress.cancel")
        button.clicked.connect(self.stopped)
        for widget in (self._words, self._bar, button):
            row.addWidget(widget)
        self.hide()

    def say(self, words: str, share: float) -> None:
        """Show that so much of this, from 0 to 1, is done."""
        self._words.setText(f"{words}: {round(share * 100)} %")
        self._bar.setValue(round(share * 100))
        self.setAccessibleName(self._words.text())
        if self.isHidden():
            self.adjustSize()
            self.move((self._parent.width() - self.width()) // 2, 54)
            self.show()


class Hint(QWidget):
    """How to begin, shown while the tree has no nodes."""

    def __init__(self, parent: QWidget, style: Style) -> None:
        super().__init__(parent)
        self.setObjectName("canvas.hint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(". ".join(_HINT))
        self._style = style
        self.resize(420, 96)

    def restyle(self, style: Style) -> None:
        """Take on another theme."""
        self._style = style
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        style, painter = self._style, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for face, text, middle, colour in (
            (style.headline, _HINT[0], 24.0, style.text),
            (style.label, _HINT[1], 52.0, style.secondary),
            (style.label, _HINT[2], 72.0, style.secondary),
        ):
            face.draw(painter, (self.width() - face.width(text)) / 2, middle, text, colour)


_HINT: Final = (
    "This tree is empty",
    "Drag a node from the palette onto the canvas to begin.",
    "The first node is where a run starts.",
)
