"""The commands of finding: any command by its name, any node by its name or id."""

from functools import partial
from typing import Final, Protocol

from PySide6.QtGui import QKeySequence

from designer.actions import Commands, command
from designer.chooser import Chooser, Line
from designer.document.names import kind_name, node_title
from designer.forms import kind_tone
from designer.owner import Front, Owner, no_document
from designer.panels import PANELS
from designer.workbench import Workbench
from engine import NODE_TYPES

_FAMILIES: Final = {
    "file": "File",
    "edit": "Edit",
    "select": "Select",
    "find": "Find",
    "node": "Node",
    "align": "Align",
    "branch": "Branch",
    "note": "Note",
    "run": "Run",
    "view": "View",
}
"""What each family of commands is called, by how their ids begin."""


class _Front(Front, Protocol):
    commands: Commands

    def run_command(self, id: str) -> bool:
        """Run a command by its id."""


class Finding(Owner):
    """The verbs of finding; what is found is shown, selected or done."""

    def __init__(self, workbench: Workbench, front: _Front) -> None:
        super().__init__(workbench, front)
        self._front = front
        self.chooser = Chooser(front.window())

    @command("find.command", "&Commands…", ["Ctrl+Shift+P"], tip="Any command by its name")
    def find_command(self) -> None:
        """Offer every command, with its keys, or the reason why it cannot be done now."""
        commands = self._front.commands
        lines = [
            Line(
                f"{_FAMILIES[made.id.partition('.')[0]]}: {made.text.replace('&', '').removesuffix('…')}",
                partial(self._front.run_command, made.id),
                action.shortcut().toString(QKeySequence.SequenceFormat.NativeText),
                reason=commands.reason(made.id),
            )
            for made, action in commands
            if made.id != "find.command"
        ]
        lines += [Line(f"Show: {panel.title}", partial(self.front.show_panel, panel.id)) for panel in PANELS]
        self.chooser.ask("Do what?", lines)

    @command("find.node", "Go to &node…", ["Ctrl+P"], when=no_document, tip="Any node by its name or id")
    def find_node(self) -> None:
        """Offer every node of the tree; the one that is taken is selected and brought into sight."""
        self.chooser.ask(
            "Go to which node?",
            [
                Line(
                    title := node_title(node_id, node),
                    partial(self.canvas.go_to, node_id),
                    node_id if node_id != title else kind_name(node.type),
                    (
                        node.type if node.type and node.type in NODE_TYPES else "problem-error",
                        kind_tone(node.type),
                    ),
                )
                for node_id, node in self.document.draft.tree.nodes.items()
            ],
        )
