"""Where a branch leads, as a choice among all nodes; every such choice shares one list."""

from typing import Final

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import QComboBox

from designer.forms import kind_tone, node_title, small_icon, without_wheel
from engine import NODE_TYPES, Tree

NOWHERE: Final = "Nowhere yet"


class Targets:
    """The list itself: "nowhere yet" and then the nodes, by what they are called."""

    def __init__(self) -> None:
        self.model = QStandardItemModel()
        self.ids: list[str] = []
        self._shown: tuple[object, ...] = ()

    def show_tree(self, tree: Tree) -> bool:
        """Offer the nodes of this tree; whether that made a difference."""
        titles = [(node_id, node.type, node_title(node_id, node)) for node_id, node in tree.nodes.items()]
        shown = (tuple(titles), small_icon("dot", "text").cacheKey())
        if shown == self._shown:
            return False
        self._shown = shown
        often = [title for _, _, title in titles]
        twice = (
            {title for title in often if often.count(title) > 1} if len(set(often)) < len(often) else set()
        )
        self.ids = ["", *(node_id for node_id, _, _ in titles)]
        self.model.clear()
        self.model.appendRow(QStandardItem(NOWHERE))
        for node_id, kind, title in titles:
            text = f"{title} ({node_id})" if title in twice and title != node_id else title
            name = kind if kind in NODE_TYPES else "problem-error"
            item = QStandardItem(small_icon(name or "problem-error", kind_tone(kind)), text)
            item.setData(node_id, Qt.ItemDataRole.ToolTipRole)
            self.model.appendRow(item)
        return True


class Target(QComboBox):
    """One choice. Its value is a node id, or nothing."""

    changed = Signal()

    def __init__(self, targets: Targets) -> None:
        super().__init__()
        self._targets = targets
        self._value = ""
        self.setModel(targets.model)
        self.setMinimumContentsLength(5)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.activated.connect(self._chosen)

    def value(self) -> object:
        """The id of the chosen node; an empty text for nowhere."""
        return self._value

    def show_value(self, value: object) -> None:
        """Show this target, also where there is no such node."""
        self._value = str(value or "")
        known = self._value in self._targets.ids
        # A list that was filled anew has put every choice on its first entry.
        with QSignalBlocker(self):
            self.setPlaceholderText("" if known else f"{self._value} is missing")
            self.setCurrentIndex(self._targets.ids.index(self._value) if known else -1)

    def _chosen(self, index: int) -> None:
        self._value = self._targets.ids[index]
        self.changed.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        without_wheel(event)
