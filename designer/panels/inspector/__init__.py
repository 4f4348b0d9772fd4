"""The inspector: every field of the selected node and of the tree, and their JSON."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabWidget

from designer.forms import Current
from designer.panels.inspector.json_tab import JsonTab
from designer.panels.inspector.node_tab import NodeTab
from designer.panels.inspector.tree_tab import TreeTab
from designer.workbench import Workbench
from engine import NodeId

WIDTH: Final = 280
"""Pixels below which fields would be cut off."""


class Inspector(QTabWidget):
    """Three tabs: Node, Tree, JSON. It follows the selection, and goes where a problem points."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("panel.inspector")
        self.setDocumentMode(True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.tabBar().setAccessibleName("Inspector")
        self._current = Current(workbench, self)
        self.node, self.tree, self.json = (
            NodeTab(self._current),
            TreeTab(self._current),
            JsonTab(self._current),
        )
        self.addTab(self.node, "Node")
        self.addTab(self.tree, "Tree")
        self.addTab(self.json, "JSON")
        self.setMinimumWidth(WIDTH)
        self._document: object = None
        self._current.selected.connect(self._follow)
        self._current.announce()

    def _follow(self, selection: frozenset[NodeId]) -> None:
        """Show what was just selected; the JSON tab shows that too, the Tree tab does not."""
        same, self._document = self._current.document is self._document, self._current.document
        if same and selection and self.currentWidget() is self.tree:
            self.setCurrentWidget(self.node)

    def lock(self, *, on: bool) -> None:
        """Let nothing of the tree be edited; where answers come from in runs can be chosen all the same."""
        self.tree.setEnabled(not on)
        self.json.setEnabled(not on)
        self.node.lock(on=on)

    def focus_field(self, node: NodeId | None, field: str | None) -> None:
        """Select the node, or show the tree where there is none, and put the cursor into the field."""
        if self._current.document is None:
            return
        if node is None:
            self.setCurrentWidget(self.tree)
            self.tree.focus_field(field)
        else:
            self._current.document.select({node})
            self.setCurrentWidget(self.node)
            self.node.focus_field(field)
