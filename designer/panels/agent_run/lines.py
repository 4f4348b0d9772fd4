"""The lines of a story as a tree: turns, and below each the models it asked and the tools it called."""

from html import escape
from typing import Final

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTreeView

from designer import theme
from designer.document.names import one_line
from designer.forms import small_icon
from designer.panels.agent_run.story import Line, Story

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE: Final = QModelIndex()
_TITLES: Final = ("What", "What came of it", "Tokens in / out", "Time")
_WIDTHS: Final = {0: 216, 2: 108, 3: 66}
_ROOMY: Final = {2: 520, 3: 400}
"""Pixels below which a column gives way to what came of it."""
_TOP: Final = 0
"""The id of an index of the top level; those below have the number of the line above them, from 1."""


class _Lines(QAbstractItemModel):
    """The lines that are shown; those of a story that grows are added where they belong."""

    def __init__(self) -> None:
        super().__init__()
        self.story: Story | None = None
        self.position = 0
        self.marked: tuple[Line, ...] = ()
        self._shown: list[int] = []
        """How many lines are shown below each of the top level."""

    def line(self, index: _Index) -> Line | None:
        """The line of an index."""
        if not index.isValid() or self.story is None:
            return None
        over = index.internalId()
        lines = self.story.lines if over == _TOP else self.story.lines[over - 1].below
        return lines[index.row()]

    def show(self, story: Story | None, position: int, marked: tuple[Line, ...]) -> None:
        """Show this story as far as it got, with the moment of the run and where it waits."""
        lines = story.lines if story else []
        if story is not self.story:
            self.beginResetModel()
            self.story, self._shown = story, [len(line.below) for line in lines]
            self.endResetModel()
        else:
            self._add(lines)
        self.position, self.marked = position, marked

    def _add(self, lines: list[Line]) -> None:
        before = len(self._shown)
        # Only the line that was the last one may have got more lines below it.
        if before and len(below := lines[before - 1].below) > self._shown[-1]:
            self.beginInsertRows(self.index(before - 1, 0), self._shown[-1], len(below) - 1)
            self._shown[-1] = len(below)
            self.endInsertRows()
        if len(lines) > before:
            self.beginInsertRows(_NOWHERE, before, len(lines) - 1)
            self._shown += [len(line.below) for line in lines[before:]]
            self.endInsertRows()

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        if not parent.isValid():
            return len(self._shown)
        return self._shown[parent.row()] if parent.internalId() == _TOP and parent.column() == 0 else 0

    def columnCount(self, _parent: _Index = _NOWHERE) -> int:
        return len(_TITLES)

    def index(self, row: int, column: int, parent: _Index = _NOWHERE) -> QModelIndex:
        # Asked for each row whenever some are added: it must be quick.
        over = parent.row() + 1 if parent.isValid() else _TOP
        there = row < (self._shown[over - 1] if over else len(self._shown))
        return self.createIndex(row, column, over) if there else QModelIndex()

    def parent(self, index: _Index = _NOWHERE) -> QModelIndex:  # type: ignore[override]
        over = index.internalId() if index.isValid() else _TOP
        return QModelIndex() if over == _TOP else self.createIndex(over - 1, 0, _TOP)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        shown = orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return _TITLES[section] if shown else None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        line = self.line(index)
        if line is None:
            return None
        later, marked, column = line.first > self.position, line in self.marked, index.column()
        shown: object = None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                shown = _text(line, column)
            case Qt.ItemDataRole.AccessibleTextRole:
                where = ", the run waits here" if marked else ", later than what is shown" if later else ""
                shown = f"{_text(line, column)}{where if column == 0 else ''}"
            case Qt.ItemDataRole.ToolTipRole:
                # As a rich text of our own, because a tip that looks like markup would be read as such.
                shown = f"<p>{escape(_text(line, column))}</p>" if _text(line, column) else None
            case Qt.ItemDataRole.DecorationRole if column == 0:
                name, tone = ("dot", "accent") if marked else line.icon
                shown = small_icon(name, "branch" if later else tone)
            case Qt.ItemDataRole.ForegroundRole:
                shown = _ink(line, column, later=later, marked=marked)
            case Qt.ItemDataRole.FontRole if column > 1:
                shown = theme.font(12, mono=True)
        return shown


def _text(line: Line, column: int) -> str:
    match column:
        case 0:
            return line.name
        case 1:
            return one_line(line.words, 400)
        case 2:
            return line.tokens
        case _:
            return "" if line.seconds is None else f"{line.seconds:.1f} s"


def _ink(line: Line, column: int, *, later: bool, marked: bool) -> QColor | None:
    colours = theme.tokens()
    if later:
        return QColor(theme.faint(colours))
    if marked and column == 0:
        return QColor(colours.accent)
    tone = line.tone if column < 2 else "secondary"
    return QColor(getattr(colours, tone)) if tone else None


class LinesView(QTreeView):
    """The tree. Arrows walk, Enter opens and closes a turn; Ctrl+Enter is a click, Ctrl+C copies the line."""

    chosen = Signal(object)
    """The :class:`Line` under the cursor, or None."""
    pressed_on = Signal(object)
    """The line a person clicked, or pressed Ctrl+Enter on."""
    copied = Signal()
    """A person wants the line under the cursor as text."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("agent.lines")
        self.setAccessibleName("What the agent did")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setIndentation(16)
        self.setExpandsOnDoubleClick(False)
        self.setAllColumnsShowFocus(True)
        self.setTabKeyNavigation(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._lines = _Lines()
        self.setModel(self._lines)
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(24)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        for column, width in _WIDTHS.items():
            header.resizeSection(column, width)
        self.selectionModel().currentChanged.connect(lambda *_: self.chosen.emit(self.line))
        self.clicked.connect(lambda index: self.pressed_on.emit(self._lines.line(index)))

    @property
    def line(self) -> Line | None:
        """The line under the cursor."""
        return self._lines.line(self.currentIndex())

    @property
    def at_end(self) -> bool:
        """Whether the cursor is at the end, or nowhere."""
        index = self.currentIndex()
        top = index.parent() if index.parent().isValid() else index
        return not index.isValid() or top.row() == self._lines.rowCount() - 1

    def show_story(self, story: Story | None, position: int, marked: tuple[Line, ...]) -> None:
        """Show this, as it is after so many events of the run; lines at which it waits are marked."""
        self._lines.show(story, position, marked)
        self.viewport().update()

    def choose(self, line: Line) -> None:
        """Put the cursor on a line, and open the turn it is in."""
        index = self._place(line)
        if index.isValid() and index != self.currentIndex():
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().setCurrentIndex(index, flags)
            self.scrollTo(index)

    def _place(self, line: Line) -> QModelIndex:
        story = self._lines.story
        # Whoever asks for a line mostly asks for one at the end.
        for row in reversed(range(len(story.lines) if story else 0)):
            top = story.lines[row] if story else line
            if top is line:
                return self._lines.index(row, 0)
            if line in top.below:
                return self._lines.index(top.below.index(line), 0, self._lines.index(row, 0))
        return QModelIndex()

    def resizeEvent(self, event: QResizeEvent) -> None:
        for column, least in _ROOMY.items():
            self.setColumnHidden(column, event.size().width() < least)
        super().resizeEvent(event)

    def event(self, event: QEvent) -> bool:
        copies = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)
        if copies and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copied.emit()
        elif event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            super().keyPressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.pressed_on.emit(self.line)
        else:
            top = index.siblingAtColumn(0)
            self.setExpanded(top, not self.isExpanded(top))
