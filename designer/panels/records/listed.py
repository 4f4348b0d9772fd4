"""The list of records: as many rows as there are decisions, of which only what is looked at is fetched."""

from array import array
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QTableView

from designer import theme
from designer.document.names import one_line
from designer.forms import as_list
from designer.panels.records.wording import confidence_of, time_of
from designer.tasks import launch
from engine.records import RecordRow

if TYPE_CHECKING:
    import asyncio

PAGE: Final = 200
"""Rows that are fetched at once."""
KEPT: Final = 40
"""Pages that are kept."""
_CHUNK: Final = 1 << 16
_READABLE: Final = 16
"""Pixels a part of the room has where a list is wide enough for all of its columns."""

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE: Final = QModelIndex()


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the list: what its table knows of it, and what became of it in words."""

    row: RecordRow
    outcome: str = ""
    tone: str | None = None


@dataclass(frozen=True, slots=True)
class _Column:
    """Its width in pixels, or the part it takes of the room that is left.

    In a narrow list a column with a ``spare`` is left out, the least one first: the detail says it too.
    """

    title: str
    text: Callable[[Listed], str]
    width: int = 0
    part: int = 0
    spare: int = 0
    mono: bool = False
    bold: bool = False
    tone: Callable[[Listed], str | None] = lambda _: None


COLUMNS: Final = (
    _Column("Time", lambda one: time_of(one.row.started), 108, mono=True),
    _Column("Tree", lambda one: f"{one.row.tree} {one.row.version}" if one.row.tree else "", part=4, spare=2),
    _Column("Node", lambda one: one.row.node or "", part=4),
    _Column("Answer", lambda one: one.row.answer or "—", part=6, bold=True),
    _Column("Confidence", lambda one: confidence_of(one.row), 82, mono=True),
    _Column("Model", lambda one: one.row.model or "", part=3, spare=1, tone=lambda _: "secondary"),
    _Column("Outcome", lambda one: one.outcome, part=5, tone=lambda one: one.tone),
)

Fetch = Callable[[Sequence[int]], Awaitable[Sequence[Listed]]]
"""What a list shows of these rows; one that is not there any more is left out."""


class RecordModel(QAbstractTableModel):
    """Row numbers of a store in the order they are shown; what a row shows is fetched when it is needed."""

    def __init__(self, fetch: Fetch) -> None:
        super().__init__()
        self.rows = array("q")
        self._fetch = fetch
        self._known: dict[int, Listed | None] = {}
        self._stale: set[int] = set()
        self._wanted: list[int] = []
        self._fetching: asyncio.Task[None] | None = None

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        column, listed = COLUMNS[index.column()], self.listed(index.row())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return one_line(column.text(listed)) if listed else "…" if index.column() == 0 else ""
            case Qt.ItemDataRole.ToolTipRole if listed:
                return f"<p>{escape(one_line(column.text(listed), 2000))}</p>"
            case Qt.ItemDataRole.ForegroundRole if listed and (tone := column.tone(listed)):
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
        return COLUMNS[section].title if role == Qt.ItemDataRole.DisplayRole else None

    def listed(self, place: int) -> Listed | None:
        """What is shown at a place; None, and it is fetched, where that is not known yet."""
        row = self.rows[place]
        if row not in self._known or row in self._stale:
            self._want(place // PAGE)
        return self._known.get(row)

    async def load(self, page: int) -> None:
        """Fetch a page now."""
        first = page * PAGE
        rows = self.rows[first : first + PAGE]
        found = {listed.row.row: listed for listed in await self._fetch(rows)} if rows else {}
        if len(self._known) > KEPT * PAGE:
            self._known.clear()
        self._known.update((row, found.get(row)) for row in rows)
        self._stale.difference_update(rows)
        self._repaint(first, first + PAGE)

    def place_of(self, row: int) -> int | None:
        """Where a row of the store is shown."""
        try:
            return self.rows.index(row)
        except ValueError:
            return None

    def look_again(self) -> None:
        """What is known may be different now: it is shown until it was fetched again."""
        self._stale.update(self._known)
        self._repaint(0, len(self.rows))

    def replace(self, rows: Sequence[int]) -> None:
        """Show these rows instead; where they differ in one stretch only, the view stays where it is."""
        new = rows if isinstance(rows, array) else array("q", rows)
        old = self.rows
        if old == new:
            return
        same = _same(old, new)
        tail = min(_same(old, new, back=True), len(old) - same, len(new) - same)
        gone, come = len(old) - same - tail, len(new) - same - tail
        if gone and come:
            self.beginResetModel()
            self.rows = new
            self.endResetModel()
        elif come:
            self.beginInsertRows(_NOWHERE, same, same + come - 1)
            self.rows = new
            self.endInsertRows()
        else:
            self.beginRemoveRows(_NOWHERE, same, same + gone - 1)
            self.rows = new
            self.endRemoveRows()

    def _want(self, page: int) -> None:
        if page in self._wanted:
            return
        # What is looked at last is fetched first; what was scrolled past long ago is not.
        self._wanted = [*self._wanted[-2:], page]
        if self._fetching is None or self._fetching.done():
            self._fetching = launch(self._fetch_pages())

    async def _fetch_pages(self) -> None:
        while self._wanted:
            page = self._wanted[-1]
            try:
                await self.load(page)
            finally:
                self._wanted = [other for other in self._wanted if other != page]

    def _repaint(self, first: int, after: int) -> None:
        last = min(after, len(self.rows)) - 1
        if last >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))


def _same(one: "array[int]", other: "array[int]", *, back: bool = False) -> int:
    """How many numbers two lists have in common at their beginnings, or at their ends."""
    length, done, size = min(len(one), len(other)), 0, _CHUNK
    while done < length:
        size = min(size, length - done)
        if _part(one, done, size, back=back) == _part(other, done, size, back=back):
            done += size
        elif size == 1:
            break
        else:
            size //= 2
    return done


def _part(numbers: "array[int]", done: int, size: int, *, back: bool) -> "array[int]":
    if back:
        end = len(numbers) - done
        return numbers[end - size : end]
    return numbers[done : done + size]


class RecordList(QTableView):
    """The rows, one chosen at a time. While records are reviewed, single keys say what is right."""

    chosen = Signal(object)
    """The row number under the cursor, or None."""
    confirmed = Signal(object)
    """The number of the right answer from 1; 0 for unknown."""
    signal_wanted = Signal()
    taken_back = Signal()
    erase_wanted = Signal()

    def __init__(self, model: RecordModel) -> None:
        super().__init__()
        self.reviewing = False
        self._rows = model
        self.setModel(model)
        self.setObjectName("records.list")
        as_list(self, "Records")
        self.horizontalHeader().setStretchLastSection(True)
        self._own: dict[Qt.Key, Callable[[], object]] = {
            Qt.Key.Key_N: lambda: self.step(1),
            Qt.Key.Key_P: lambda: self.step(-1),
            Qt.Key.Key_S: self.signal_wanted.emit,
            Qt.Key.Key_U: self.taken_back.emit,
        }
        for number in range(10):
            key = Qt.Key(Qt.Key.Key_0.value + number)
            self._own[key] = lambda number=number: self.confirmed.emit(number)  # type: ignore[misc]
        self.selectionModel().currentRowChanged.connect(lambda *_: self.chosen.emit(self.row))

    @property
    def row(self) -> int | None:
        """The row number that is chosen."""
        index = self.currentIndex()
        return self._rows.rows[index.row()] if index.isValid() else None

    def show_rows(self, rows: Sequence[int], *, anew: bool = False) -> None:
        """Show these rows; the chosen one stays, and stays where it is, unless a list begins ``anew``."""
        chosen, bar = self.row, self.verticalScrollBar()
        before, at = self.rowAt(0), bar.value()
        first = self._rows.rows[before] if before > 0 else None
        self._rows.replace(rows)
        if anew:
            bar.setValue(0)
        elif first is not None and (top := self._rows.place_of(first)) is not None:
            # What arrived above must not push away what is being looked at.
            bar.setValue(at + (top - before) * theme.ROW)
        if self.row is None and chosen is not None and (place := self._rows.place_of(chosen)) is not None:
            self.choose(place, follow=False)
        elif self.row != chosen:
            self.chosen.emit(self.row)

    def choose(self, place: int, *, follow: bool = True) -> None:
        """Put the cursor on this place, and scroll there unless told not to."""
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        auto = self.hasAutoScroll()
        self.setAutoScroll(follow)
        self.selectionModel().setCurrentIndex(self._rows.index(place, 0), flags)
        self.setAutoScroll(auto)

    def step(self, by: int) -> None:
        """Go on or back by so many rows."""
        here = self.currentIndex()
        place = (here.row() if here.isValid() else -1) + by
        if 0 <= place < len(self._rows.rows):
            self.choose(place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = max(0, self.viewport().width() - sum(column.width for column in COLUMNS))
        shown, spare = list(COLUMNS), sorted((c for c in COLUMNS if c.spare), key=lambda c: c.spare)
        for column in spare:
            if room < _READABLE * sum(column.part for column in shown):
                shown.remove(column)
        parts = sum(column.part for column in shown)
        for section, column in enumerate(COLUMNS):
            self.setColumnHidden(section, column not in shown)
            self.setColumnWidth(section, column.width or room * column.part // parts)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and self._handler(event) is not None:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        handler = self._handler(event)
        if handler is None:
            super().keyPressEvent(event)
        else:
            event.accept()
            handler()

    def keyboardSearch(self, search: str) -> None:
        """Letters do not look for rows here: that would fetch them all."""

    def _handler(self, event: QEvent) -> Callable[[], object] | None:
        if not isinstance(event, QKeyEvent):
            return None
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if modifiers != Qt.KeyboardModifier.NoModifier:
            return None
        if event.key() == Qt.Key.Key_Delete:
            return self.erase_wanted.emit
        return self._own.get(Qt.Key(event.key())) if self.reviewing else None
