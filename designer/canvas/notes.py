"""Notes and frames behind the cards: papers with a text, and boxes with a title that hold cards together.

Texts are Markdown. Nothing in them is loaded, followed or run: markup of other kinds is shown as it is
written, and a picture is only its name.
"""

from collections.abc import Callable
from typing import Final, Literal

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPainterPath,
    QPalette,
    QPen,
    QPolygonF,
    QTextDocument,
)
from PySide6.QtWidgets import QGraphicsItem, QPlainTextEdit, QStyleOptionGraphicsItem, QWidget

from designer import theme
from designer.canvas.geometry import GRID, TITLE
from designer.canvas.style import Style
from designer.document.draft import Note

COLOURS: Final = ("secondary", "warn", "good", "bad", "action", "classify")
"""The tokens a note can have as its colour."""

LEAST_WIDTH: Final = 8.0 * GRID
LEAST_HEIGHT: Final = 4.0 * GRID

_USUAL: Final = {"note": "warn", "frame": "secondary"}
_PAD: Final = 12.0
_RIM: Final = 7.0  # how near to the line of a frame counts as on it
_GRIP: Final = 16.0
_LONGEST: Final = 8_000  # letters that are shown
_FAR: Final = 0.38  # below this zoom nothing can be read: no texts
_LEAST_EDITOR: Final = QSize(220, 90)
_FLAGS: Final = (
    QTextDocument.MarkdownFeature.MarkdownNoHTML | QTextDocument.MarkdownFeature.MarkdownDialectGitHub
)


class NoteItem(QGraphicsItem):
    """One note, or one frame."""

    def __init__(self, name: str, style: Style) -> None:
        super().__init__()
        self.name, self.picked = name, False
        self._style = style

    def put(self, note: Note) -> None:
        """Show this note."""
        self.prepareGeometryChange()
        self.note = note
        self.setPos(note.place.x, note.place.y)
        self.setZValue(-3.0 if note.kind == "frame" else -2.0)
        self._lay_out()
        self.update()

    def pick(self, *, picked: bool) -> None:
        """Show the note as chosen."""
        if picked != self.picked:
            self.picked = picked
            self.update()

    def restyle(self, style: Style) -> None:
        """Take on another theme."""
        self._style = style
        self._lay_out()
        self.update()

    @property
    def box(self) -> QRectF:
        """Where it lies in the scene."""
        return QRectF(self.note.place.x, self.note.place.y, self.note.width, self.note.height)

    def part_at(self, pos: QPointF, slack: float = 0.0) -> Literal["", "body", "grip"]:
        """What can be taken hold of at this place of the scene; within a frame lies open ground."""
        box = self.box
        if not box.adjusted(-slack, -slack, slack, slack).contains(pos):
            return ""
        if box.right() - pos.x() + box.bottom() - pos.y() <= _GRIP + slack:
            return "grip"
        return "body" if self.shape().intersects(_around(pos - self.pos(), slack + 0.1)) else ""

    def _lay_out(self) -> None:
        frame = self.note.kind == "frame"
        document = QTextDocument()
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setIndentWidth(18)
        document.setDefaultFont(self._style.title.font if frame else self._style.body.font)
        # Pictures would be read from the disk: an invisible letter keeps the sign of one from being it.
        document.setMarkdown(self.note.text[:_LONGEST].replace("![", "!\N{ZERO WIDTH SPACE}["), _FLAGS)
        document.setTextWidth(max(self.note.width - 2 * _PAD, 1.0))
        self._document = document
        self._head = max(float(TITLE), document.size().height() + 1.4 * _PAD) if frame else self.note.height

    # -- painting

    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, self.note.width, self.note.height).adjusted(-3, -3, 3, 3)

    def shape(self) -> QPainterPath:
        path, box = QPainterPath(), QRectF(0, 0, self.note.width, self.note.height)
        path.addRect(box)
        if self.note.kind == "frame":
            inside = QPainterPath()
            inside.addRect(box.adjusted(_RIM, self._head, -_RIM, -_RIM))
            path = path.subtracted(inside)
        return path

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        style, note, box = self._style, self.note, QRectF(0, 0, self.note.width, self.note.height)
        token = note.colour if note.colour in COLOURS else _USUAL[note.kind]
        colour = QColor(getattr(style.tokens, token))
        ground, rim = QColor(colour), QColor(colour)
        if note.kind == "frame":
            ground.setAlphaF(0.08)
            rim.setAlphaF(0.5)
        else:
            ground = QColor(theme.mixed(colour.name(), style.card.name(), 0.12))
            rim = QColor(theme.mixed(colour.name(), style.card.name(), 0.4))
        painter.setPen(QPen(style.accent, 2) if self.picked else QPen(rim, 1))
        painter.setBrush(ground)
        painter.drawRoundedRect(box, theme.RADIUS, theme.RADIUS)
        if self.picked:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(style.accent)
            corner = box.bottomRight() - QPointF(4, 4)
            painter.drawPolygon(QPolygonF([corner, corner - QPointF(8, 0), corner - QPointF(0, 8)]))
        if QStyleOptionGraphicsItem.levelOfDetailFromTransform(painter.worldTransform()) >= _FAR:
            self._paint_text(painter, box.adjusted(_PAD, 0.7 * _PAD, -_PAD, -0.4 * _PAD))

    def _paint_text(self, painter: QPainter, room: QRectF) -> None:
        painter.save()
        painter.setClipRect(room, Qt.ClipOperation.IntersectClip)
        painter.translate(room.topLeft())
        context = QAbstractTextDocumentLayout.PaintContext()
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Text, self._style.text)
        context.palette = palette
        self._document.documentLayout().draw(painter, context)
        painter.restore()


class NoteEditor(QPlainTextEdit):
    """The Markdown of a note, over the canvas: Ctrl+Enter and leaving it keep the text, Escape does not."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("canvas.note")
        self.setAccessibleName("Text of the note, in Markdown")
        self.setPlaceholderText("**Bold**, lists and headings are Markdown.")
        self._home = parent
        self._keep: Callable[[str], None] = lambda _: None
        self.hide()

    def write(self, text: str, box: QRect, keep: Callable[[str], None]) -> None:
        """Let the person change a text here; ``keep`` gets what came of it."""
        self._keep = keep
        self.setPlainText(text)
        self.selectAll()
        self.setGeometry(QRect(box.topLeft(), box.size().expandedTo(_LEAST_EDITOR)))
        self.show()
        self.raise_()
        self.setFocus()

    def finish(self, *, keep: bool) -> None:
        """Go away, with the text or without."""
        if not self.isHidden():
            self.hide()
            self._home.setFocus()
            if keep:
                self._keep(self.toPlainText())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:  # no key means anything else while one writes
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() == Qt.Key.Key_Escape:
            self.finish(keep=False)
        elif enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.finish(keep=True)
        else:
            super().keyPressEvent(event)
            event.accept()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
            self.finish(keep=True)


def _around(pos: QPointF, reach: float) -> QRectF:
    return QRectF(pos.x() - reach, pos.y() - reach, 2 * reach, 2 * reach)
