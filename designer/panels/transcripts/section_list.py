"""The headings of a transcript as a list that follows the text, and leads to it."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from designer import theme
from designer.panels.transcripts.sections import Section

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE: Final = QModelIndex()


# A list view lays out all its rows again for each that comes; a table of fixed rows does not.
class SectionList(QTableView):
    """The sections in their order, deeper ones moved in."""

    chosen = Signal(object)
    """The :class:`Section` a person went to."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("transcript.sections")
        self.setAccessibleName("Sections")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(120)
        self._model = _Sections()
        self._following = False
        self.setModel(self._model)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(theme.ROW)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.selectionModel().currentChanged.connect(lambda index, _: self._choose(index))
        self.clicked.connect(self._choose)

    @property
    def sections(self) -> Sequence[Section]:
        """All of them so far."""
        return self._model.sections

    @property
    def current(self) -> int | None:
        """The number of the section the text is at."""
        index = self.currentIndex()
        return index.row() if index.isValid() else None

    def clear_sections(self) -> None:
        """List none."""
        self._model.clear()

    def add(self, sections: Sequence[Section]) -> None:
        """List these too; they come after those that are listed."""
        if sections:
            self._model.add(sections)

    def follow(self, at: int) -> None:
        """Show in which section this byte of the file is."""
        number = max(0, bisect_right(self._model.sections, at, key=lambda section: section.at) - 1)
        if self._model.sections and number != self.current:
            self._following = True
            self.setCurrentIndex(self._model.index(number, 0))
            self._following = False

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid() and not self._following:
            self.chosen.emit(self._model.sections[index.row()])


class _Sections(QAbstractListModel):
    def __init__(self) -> None:
        super().__init__()
        self.sections: list[Section] = []

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.sections)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        section = self.sections[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return "    " * max(0, section.level - 2) + section.title
            case Qt.ItemDataRole.ForegroundRole if section.level > 3:
                return QColor(theme.tokens().secondary)
            case Qt.ItemDataRole.FontRole:
                return theme.font(12, bold=section.level < 3)
            case _:
                return None

    def clear(self) -> None:
        self.beginResetModel()
        self.sections = []
        self.endResetModel()

    def add(self, sections: Sequence[Section]) -> None:
        first = len(self.sections)
        self.beginInsertRows(_NOWHERE, first, first + len(sections) - 1)
        self.sections += sections
        self.endInsertRows()
