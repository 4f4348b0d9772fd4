"""Tables of frozen rows: read-only, quick with many rows, one row chosen at a time."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Generic, TypeVar

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from designer import theme
from designer.document.names import one_line
from designer.forms.texts import small_icon

Row = TypeVar("Row")
_Index = QModelIndex | QPersistentModelIndex
_NOWHERE: Final = QModelIndex()


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column: its title and what it makes of a row.

    ``icon`` gives icon and token, ``tone`` the token of the text's colour; ``tip`` says more than the text
    does. A column without a width takes the room that is left. With ``press`` a click on it does that instead
    of opening the row.
    """

    title: str
    text: Callable[[Row], str]
    width: int | None = None
    icon: Callable[[Row], tuple[str, str] | None] | None = None
    tone: Callable[[Row], str | None] | None = None
    mono: bool = False
    bold: bool = False
    tip: Callable[[Row], str] | None = None
    press: Callable[[Row], object] | None = None


class _Rows(QAbstractTableModel):
    def __init__(self, columns: Sequence[Column[Row]]) -> None:
        super().__init__()
        self.columns: Sequence[Column[object]] = columns  # type: ignore[assignment]
        self.rows: Sequence[object] = ()

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = self.rows[index.row()], self.columns[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return one_line(column.text(row))
            case Qt.ItemDataRole.ToolTipRole:
                # As a rich text of our own, because a tip that looks like markup would be read as such.
                return f"<p>{escape(one_line((column.tip or column.text)(row), 2000))}</p>"
            case Qt.ItemDataRole.DecorationRole if column.icon and (icon := column.icon(row)):
                return small_icon(*icon)
            case Qt.ItemDataRole.ForegroundRole if column.tone and (tone := column.tone(row)):
                return QColor(getattr(theme.tokens(), tone))
            case Qt.ItemDataRole.FontRole if column.mono or column.bold:
                return theme.font(12 if column.mono else 13, bold=column.bold, mono=column.mono)
            case _:
                return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return self.columns[section].title if role == Qt.ItemDataRole.DisplayRole else None

    def replace(self, rows: Sequence[object]) -> None:
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()


def as_list(view: QTableView, name: str) -> None:
    """Have a view of rows look and behave as every list does: read-only, one row chosen at a time."""
    view.setAccessibleName(name)
    view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.verticalHeader().hide()
    view.verticalHeader().setDefaultSectionSize(theme.ROW)
    view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    header = view.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionsClickable(False)
    header.setMinimumSectionSize(24)


class Table(QTableView):
    """The rows of some columns. The chosen row stays chosen when the rows are read again."""

    chosen = Signal(object)
    """The row under the cursor, or None."""
    opened = Signal(object)
    """The row a person clicked or pressed Enter on."""

    def __init__(
        self, columns: Sequence[Column[Row]], name: str, key: Callable[[Row], Hashable] | None = None
    ) -> None:
        super().__init__()
        self._model = _Rows(columns)
        self._key: Callable[[object], Hashable] = key or id  # type: ignore[assignment]
        self.setModel(self._model)
        as_list(self, name)
        header = self.horizontalHeader()
        for section, column in enumerate(columns):
            if column.width is None:
                header.setSectionResizeMode(section, QHeaderView.ResizeMode.Stretch)
            else:
                self.setColumnWidth(section, column.width)
        self.selectionModel().currentRowChanged.connect(lambda *_: self.chosen.emit(self.row))
        self.clicked.connect(self._press)
        self.activated.connect(self._open)

    @property
    def rows(self) -> Sequence[object]:
        """All rows, top to bottom."""
        return self._model.rows

    @property
    def row(self) -> object:
        """The chosen row, or None."""
        index = self.currentIndex()
        return self._model.rows[index.row()] if index.isValid() else None

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows instead."""
        chosen = self.row
        self._model.replace(rows)
        if chosen is None:
            return
        wanted = self._key(chosen)
        again = next((i for i, row in enumerate(self._model.rows) if self._key(row) == wanted), None)
        if again is None:
            self.chosen.emit(None)
        else:
            self.choose(again)

    def choose(self, number: int) -> None:
        """Put the cursor on this row."""
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(self._model.index(number, 0), flags)

    def _press(self, index: QModelIndex) -> None:
        press = self._model.columns[index.column()].press
        if press is None:
            self._open(index)
        else:
            press(self._model.rows[index.row()])

    def _open(self, index: QModelIndex) -> None:
        self.opened.emit(self._model.rows[index.row()])
