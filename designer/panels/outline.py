"""The outline: the nodes as a tree from the start on, each once; the view for keyboard and screen reader."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Final

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QSignalBlocker,
    Qt,
)
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPalette, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from designer import theme
from designer.document.names import Name, kind_name, names_of
from designer.forms import Current, Empty, OwnUndo, Pages, kind_tone, small_icon
from designer.workbench import Workbench
from engine import NODE_TYPES, NodeId, Tree

WIDTH: Final = 200
"""Pixels below which names cannot be told apart."""
_ID: Final = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: a node under the node that reaches it first, in the fewest steps from the start."""

    node: NodeId
    parent: NodeId | None
    name: Name
    kind: str | None
    shared: int
    """How many branches lead here."""
    reached: bool


def outline_of(tree: Tree) -> tuple[Entry, ...]:
    """Every node once, each after its parent; what the start does not reach comes last."""
    incoming = Counter(target for node in tree.nodes.values() for target in node.targets.values())
    names = names_of(tree)
    entries: dict[NodeId, Entry] = {}
    for root in (tree.start_node_id, *tree.nodes):
        reached = root == tree.start_node_id
        queue: list[tuple[NodeId, NodeId | None]] = [(root, None)]
        for node_id, parent in queue:
            node = tree.nodes.get(node_id)
            if node is None or node_id in entries:
                continue
            entries[node_id] = Entry(node_id, parent, names[node_id], node.type, incoming[node_id], reached)
            targets = node.targets
            ordered = [*(targets[b] for b in node.branches() if b in targets), *targets.values()]
            queue.extend((target, node_id) for target in ordered)
    return tuple(entries.values())


class OutlinePanel(Pages):
    """The lines of :func:`outline_of` with a filter; the selection is that of the document, both ways."""

    def __init__(self, workbench: Workbench) -> None:
        page = QWidget()
        super().__init__(page, Empty("layout", "No nodes yet", ""))
        self.setObjectName("panel.outline")
        self._workbench = workbench
        self._entries: tuple[Entry, ...] = ()
        self._marks: dict[NodeId, str] = {}
        self._folded: set[NodeId] = set()
        self.setMinimumWidth(WIDTH)
        self.filter = QLineEdit()
        OwnUndo(self.filter)
        self.filter.setObjectName("field.filter")
        self.filter.setPlaceholderText("Filter nodes")
        self.filter.setAccessibleName("Filter nodes")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(lambda _: self._fill())
        self._lines = _Lines()
        self.view = _View()
        self.view.setModel(self._lines)
        self.view.setAccessibleName("Outline")
        self.view.activated.connect(
            lambda index: workbench.show_place(index.siblingAtColumn(0).data(_ID), None)
        )
        self.view.clicked.connect(
            lambda index: workbench.reveal_requested.emit(index.siblingAtColumn(0).data(_ID))
        )
        self.view.collapsed.connect(lambda index: self._folded.add(index.data(_ID)))
        self.view.expanded.connect(lambda index: self._folded.discard(index.data(_ID)))
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 8, 0, 0)
        layout.setSpacing(6)
        row = QVBoxLayout()
        row.setContentsMargins(10, 0, 10, 0)
        row.addWidget(self.filter)
        layout.addLayout(row)
        layout.addWidget(self.view)
        self._current = Current(workbench, self)
        self._current.drafted.connect(lambda _: self._refresh())
        self._current.selected.connect(self._show_selection)
        workbench.running.trail_changed.connect(lambda _: self._show_marks())
        workbench.running.state_changed.connect(lambda _: self._show_marks())
        self.view.selectionModel().selectionChanged.connect(lambda *_: self._select())
        theme.signals.changed.connect(self._recolour)
        self._current.announce()

    def _refresh(self) -> None:
        draft = self._current.draft
        entries = outline_of(draft.tree) if draft else ()
        self.show_content(entries)
        if draft is None:
            self.empty.say("No tree is open", "Make a new tree or open one.")
        elif not entries:
            self.empty.say("No nodes yet", "Add one from the palette. A run starts at the first.")
        if entries != self._entries:
            self._entries = entries
            self._fill()

    def _fill(self) -> None:
        wanted = self.filter.text().strip().casefold()
        found = [e for e in self._entries if wanted in f"{e.name}\n{e.node}".casefold()]
        self._mark({})
        with QSignalBlocker(self.view.selectionModel()), QSignalBlocker(self.view):
            self._lines.show([replace(e, parent=None) for e in found] if wanted else found)
            self.view.lay_out()
            self.view.expandAll()
            for node_id in self._folded & self._lines.items.keys():
                self.view.collapse(self._lines.items[node_id].index())
        self._show_marks()
        if self._current.document is not None:
            self._show_selection(self._current.document.selection)

    def _show_marks(self) -> None:
        running = self._workbench.running
        document, trail = self._current.document, running.trail
        marks: dict[NodeId, str] = {}
        if document is not None and running.document is document:
            marks = dict.fromkeys(trail.visits(), "✓")
            if running.at is not None:
                marks[running.at] = "●"
        self._mark(marks)

    def _mark(self, marks: dict[NodeId, str]) -> None:
        for node_id in self._marks.keys() | marks.keys():
            text = marks.get(node_id, "")
            item = self._lines.items.get(node_id)
            if item is None or text == self._marks.get(node_id, ""):
                continue
            mark = self._lines.itemFromIndex(item.index().siblingAtColumn(1))
            mark.setText(text)
            mark.setForeground(QColor(theme.tokens().accent))
            words = {"✓": ", visited", "●": ", the run is here"}.get(text, "")
            item.setData(f"{item.data(_ACCESSIBLE)}{words}", Qt.ItemDataRole.AccessibleTextRole)
        self._marks = marks

    def _show_selection(self, ids: frozenset[NodeId]) -> None:
        model = self.view.selectionModel()
        if ids & self._lines.items.keys() == self._selected():
            return
        selection = QItemSelection()
        for node_id in ids & self._lines.items.keys():
            index = self._lines.items[node_id].index()
            selection.select(index, index.siblingAtColumn(1))
        with QSignalBlocker(model):
            model.select(selection, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            if len(ids) == 1 and not selection.isEmpty():
                (node_id,) = ids
                index = self._lines.items[node_id].index()
                model.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
                self.view.scrollTo(index)
        self.view.viewport().update()

    def _selected(self) -> frozenset[NodeId]:
        return frozenset(index.data(_ID) for index in self.view.selectionModel().selectedRows(0))

    def _select(self) -> None:
        document = self._current.document
        if document is not None:
            hidden = document.selection - self._lines.items.keys()
            selected = self._selected()
            document.select(selected | hidden)
            if len(selected) == 1:
                self._workbench.reveal_requested.emit(*selected)

    def _recolour(self, _tokens: object) -> None:
        self._mark({})
        self._lines.show(())
        self._fill()


_ACCESSIBLE: Final = Qt.ItemDataRole.UserRole + 1
_TITLE: Final = Qt.ItemDataRole.UserRole + 2


class _Lines(QStandardItemModel):
    """The lines as items. What is where it was keeps its item: showing others costs what is different."""

    def __init__(self) -> None:
        super().__init__(0, 2)
        self.items: dict[NodeId, QStandardItem] = {}
        self._entries: dict[NodeId, Entry] = {}

    def show(self, entries: Iterable[Entry]) -> None:
        """Show exactly these; each comes after its parent."""
        before, self._entries = self._entries, {entry.node: entry for entry in entries}
        below = _children(self._entries)
        gone = _displaced(before, self._entries, below)
        # The deepest first: an item that goes with its parent is never let go of by PySide.
        for node_id in reversed(before):
            if node_id in gone:
                index = self.items.pop(node_id).index()
                self.removeRow(index.row(), index.parent())
        for parent, node_ids in below.items():
            holder = self.invisibleRootItem() if parent is None else self.items[parent]
            for row, node_id in enumerate(node_ids):
                if node_id not in self.items:
                    self.items[node_id] = item = QStandardItem()
                    mark = QStandardItem()
                    mark.setEditable(False)
                    holder.insertRow(row, [item, mark])
                elif self._entries[node_id] == before[node_id]:
                    continue
                _dress(self.items[node_id], self._entries[node_id])


def _children(entries: Mapping[NodeId, Entry]) -> dict[NodeId | None, list[NodeId]]:
    below: dict[NodeId | None, list[NodeId]] = defaultdict(list)
    for entry in entries.values():
        below[entry.parent].append(entry.node)
    return below


def _displaced(
    before: Mapping[NodeId, Entry],
    after: Mapping[NodeId, Entry],
    below: Mapping[NodeId | None, list[NodeId]],
) -> set[NodeId]:
    """Those whose line is not where it was under its parent, and all below them."""
    gone: set[NodeId] = set()
    for parent, node_ids in _children(before).items():
        stay: list[NodeId] = []
        if parent not in gone:
            stay = [i for i in node_ids if i in after and after[i].parent == parent]
            if stay != [i for i in below.get(parent, ()) if i in before and before[i].parent == parent]:
                stay = []
        gone.update(set(node_ids).difference(stay))
    return gone


def _dress(item: QStandardItem, entry: Entry) -> None:
    name = entry.kind if entry.kind in NODE_TYPES else None
    item.setEditable(False)
    item.setIcon(small_icon(name or "problem-error", kind_tone(entry.kind) if name else "bad"))
    item.setText(f"{entry.name}  ↗" if entry.shared > 1 else str(entry.name))
    item.setData(entry.name.title, _TITLE)
    item.setData(entry.node, _ID)
    shared = f"reached by {entry.shared} branches" if entry.shared > 1 else ""
    lost = "" if entry.reached else "not reached from the start"
    words = ", ".join(filter(None, (str(entry.name), kind_name(entry.kind), shared, lost)))
    item.setData(words, _ACCESSIBLE)
    item.setData(words, Qt.ItemDataRole.AccessibleTextRole)
    hints = "\n".join(filter(None, (entry.node, shared.capitalize(), lost.capitalize())))
    # A tooltip that looks like markup would be read as such.
    item.setToolTip(f"<p style='white-space:pre'>{escape(hints)}</p>")
    ink = None if entry.reached else QColor(theme.tokens().secondary)
    item.setData(ink, Qt.ItemDataRole.ForegroundRole)


class _Names(QStyledItemDelegate):
    """A title, and after it in the secondary colour what tells it from others of the same title."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        self.initStyleOption(option, index)
        title = str(index.data(_TITLE) or "")
        rest = option.text.removeprefix(title).removeprefix(" · ")
        style, metrics, elide = option.widget.style(), option.fontMetrics, Qt.TextElideMode.ElideRight
        room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, option.widget)
        room.adjust(3, 0, -3, 0)
        option.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        # Of two texts that need more room than there is, each may have half of it.
        wanted = metrics.horizontalAdvance(rest) + 8 if rest else 0
        title = metrics.elidedText(title, elide, max(room.width() - wanted, room.width() // 2))
        painter.save()
        ink = option.palette.color(QPalette.ColorRole.Text)
        for text, colour in ((title, ink), (rest, QColor(theme.tokens().secondary))):
            painter.setPen(colour)
            painter.drawText(
                room, Qt.AlignmentFlag.AlignVCenter, metrics.elidedText(text, elide, room.width())
            )
            room.setLeft(room.left() + metrics.horizontalAdvance(text) + 8)
        painter.restore()


class _View(QTreeView):
    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setIndentation(12)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setExpandsOnDoubleClick(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setItemDelegateForColumn(0, _Names(self))
        self.header().setStretchLastSection(False)
        self.header().setMinimumSectionSize(20)

    def lay_out(self) -> None:
        """Give the names the room that the marks leave; the model has columns only once it is filled."""
        if self.model().columnCount() == 2:
            self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
            self.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Fixed)
            self.header().resizeSection(1, 22)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Space stays with the window; in a tree it would only unselect.
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            index: QModelIndex = self.currentIndex()
            if index.isValid():
                self.activated.emit(index)
            return
        super().keyPressEvent(event)
