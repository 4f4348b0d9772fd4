"""The palette: the kinds of nodes, each with what it is for; click or Enter adds one, dragging places it."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QMimeData, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from designer import theme
from designer.document.document import Document
from designer.document.names import kind_name
from designer.forms import kind_tone, plain
from designer.workbench import Workbench
from engine import NODE_TYPES

MIME: Final = "application/x-treewright-node-type"
"""What a dragged kind travels as: its name in UTF-8."""

_SENTENCES: Final = {
    "classify": "Asks one question and goes where the answer leads.",
    "condition": "Tests what is already known, without asking.",
    "action": "Has your program do something, then goes on.",
    "terminal": "Ends the run with a verdict.",
}
_KIND: Final = Qt.ItemDataRole.UserRole
_SENTENCE: Final = Qt.ItemDataRole.UserRole + 1
WIDTH: Final = 200
"""Pixels below which the sentences become too narrow to read."""
_PAD: Final = 10
_TEXT: Final = 40
"""Where texts begin, right of the icon."""


class PalettePanel(QWidget):
    """The kinds of nodes."""

    add_requested = Signal(str)
    """The kind of node to add where the person is looking."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("panel.palette")
        self.setMinimumWidth(WIDTH)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._list = _Kinds(self.add_requested.emit)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self._list, 1)
        self.hint = plain(role="label", wrap=True)
        self.hint.setContentsMargins(12, 4, 12, 10)
        layout.addWidget(self.hint)
        workbench.current_changed.connect(self._follow)
        self._follow(workbench.current)

    def _follow(self, document: Document | None) -> None:
        self._list.setEnabled(document is not None)
        self.hint.setText(
            "Click to add a node, or drag it to its place."
            if document
            else "Make or open a tree to add nodes."
        )


class _Kinds(QListWidget):
    def __init__(self, add: Callable[[str], object]) -> None:
        super().__init__()
        self._add = add
        self.setAccessibleName("Kinds of nodes")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setItemDelegate(_Card(self))
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for kind in sorted(NODE_TYPES, key=lambda kind: [*_SENTENCES, kind].index(kind)):
            item = QListWidgetItem(kind_name(kind), self)
            item.setData(_KIND, kind)
            item.setData(_SENTENCE, _SENTENCES.get(kind, ""))
            item.setData(
                Qt.ItemDataRole.AccessibleTextRole, f"{kind_name(kind)}. {_SENTENCES.get(kind, '')}".strip()
            )
        self.itemClicked.connect(lambda item: add(item.data(_KIND)))

    def mimeTypes(self) -> list[str]:
        return [MIME]

    def mimeData(self, items: Sequence[QListWidgetItem]) -> QMimeData:
        data = QMimeData()
        data.setData(MIME, str(items[0].data(_KIND)).encode())
        return data

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.CopyAction

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space} and item is not None:
            self._add(item.data(_KIND))
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()


class _Card(QStyledItemDelegate):
    """An icon on its colour, a name, and a sentence in as many lines as it needs."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        tokens, kind = theme.tokens(), str(index.data(_KIND))
        painter.save()
        if not option.state & QStyle.StateFlag.State_Enabled:
            painter.setOpacity(0.45)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area: QRect = option.rect.adjusted(6, 2, -6, -2)
        state = option.state
        if state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_HasFocus):
            painter.setPen(QColor(tokens.accent if state & QStyle.StateFlag.State_HasFocus else tokens.line))
            painter.setBrush(QColor(tokens.raised))
            painter.drawRoundedRect(area, theme.RADIUS, theme.RADIUS)
        colour = QColor(getattr(tokens, kind_tone(kind)))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        icon = QRect(area.left() + _PAD - 2, area.top() + _PAD, 20, 20)
        painter.drawRoundedRect(icon, 5, 5)
        theme.drawing(kind, tokens.panel).render(painter, icon.adjusted(3, 3, -3, -3).toRectF())
        name = QRect(area.left() + _TEXT, area.top() + 7, area.width() - _TEXT - _PAD, 18)
        painter.setPen(QColor(tokens.text))
        painter.setFont(theme.font(13, bold=True))
        painter.drawText(name, Qt.AlignmentFlag.AlignVCenter, str(index.data()))
        painter.setPen(QColor(tokens.secondary))
        painter.setFont(theme.font(12))
        sentence = QRect(name.left(), name.bottom() + 2, name.width(), area.bottom() - name.bottom())
        painter.drawText(sentence, Qt.TextFlag.TextWordWrap, str(index.data(_SENTENCE)))
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        view = self.parent()
        width = view.viewport().width() if isinstance(view, QListWidget) else 200
        room = QRect(0, 0, max(60, width - 12 - _TEXT - _PAD), 1000)
        painted = QFontMetrics(theme.font(12)).boundingRect(
            room, Qt.TextFlag.TextWordWrap, str(index.data(_SENTENCE))
        )
        return QSize(60, 40 + painted.height())
