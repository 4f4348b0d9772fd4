"""Where a branch leads, as a choice among all nodes; every such choice shares one list."""

from typing import Final

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel

from designer.document.names import titles_of
from designer.forms import Combo
from engine import Tree

NOWHERE: Final = "Nowhere yet"


class Targets:
    """The list itself: what stands for none, and then the nodes by what they are called."""

    def __init__(self, nowhere: str = NOWHERE) -> None:
        self.model = QStandardItemModel()
        self.ids: tuple[str, ...] = ()
        self._nowhere = nowhere
        self._titles: tuple[str, ...] = ()

    def show_tree(self, tree: Tree) -> bool:
        """Offer the nodes of this tree; whether that made a difference."""
        ids = ("", *tree.nodes)
        titles = (self._nowhere, *titles_of(tree).values())
        if (ids, titles) == (self.ids, self._titles):
            return False
        self.ids, self._titles = ids, titles
        self.model.clear()
        for title in titles:
            self.model.appendRow(QStandardItem(title))
        return True


class Target(Combo):
    """One choice. Its value is a node id, or nothing."""

    changed = Signal()

    def __init__(self, targets: Targets) -> None:
        super().__init__(least=5)
        self.setMinimumWidth(72)
        self._targets = targets
        self._value = ""
        self.setModel(targets.model)
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
