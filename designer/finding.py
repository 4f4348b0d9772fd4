"""The commands of finding: any command by its name, any node by its name or id, any text of the tree."""

from functools import partial
from typing import Final, Protocol

from PySide6.QtCore import QTimer
from PySide6.QtGui import QKeySequence

from designer.actions import Commands, command
from designer.chooser import Chooser, Line
from designer.document.names import kind_name, node_title, one_line
from designer.document.searching import Hit, Sought, find, pattern_of, put
from designer.find_bar import FindBar
from designer.forms import Current, kind_tone
from designer.owner import Front, Owner, no_document
from designer.panels import PANELS
from designer.workbench import Workbench
from engine import NODE_TYPES
from engine.counting import counted

_PAUSE: Final = 200  # milliseconds after an edit before it is looked through
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
        self.bar = FindBar()
        self._pattern: Sought | None = None
        self._hits: tuple[Hit, ...] = ()
        self._at: Hit | None = None
        self.bar.changed.connect(self._look)
        self.bar.stepped.connect(self._step)
        self.bar.replace_requested.connect(self._replace)
        self.bar.closed.connect(self._leave)
        self._again = QTimer(self, interval=_PAUSE, singleShot=True)
        self._again.timeout.connect(self._look)
        self._current = Current(workbench, self)
        self._current.drafted.connect(lambda _: self._again.start() if self.bar.isVisible() else None)

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

    # -- texts

    @command("find.text", "&Find…", ["Ctrl+F"], when=no_document, icon="search")
    def find_text(self) -> None:
        """Open the bar to find by; what is found stands out on the canvas."""
        self._at = None
        self.bar.ask()

    @command("find.next", "Find &next", ["F3"], when=no_document)
    def find_next(self) -> None:
        """Go to the next place where it is found."""
        self._go(1)

    @command("find.previous", "Find &previous", ["Shift+F3"], when=no_document)
    def find_previous(self) -> None:
        """Go to the place before."""
        self._go(-1)

    def _go(self, by: int) -> None:
        if self.bar.isVisible():
            self._step(by)
        else:
            self.find_text()

    def _look(self) -> None:
        """Look for what is typed, in the tree as it is now."""
        self._again.stop()
        bar, document = self.bar, self.workbench.current
        self._pattern, self._hits, words = None, (), ""
        if document is not None and bar.isVisible() and bar.field.text():
            try:
                word, expression = bar.word.isChecked(), bar.expression.isChecked()
                self._pattern = pattern_of(bar.field.text(), word=word, expression=expression)
                self._hits = find(document.draft, self._pattern)
                words = counted(len(self._hits), "place") if self._hits else "Nothing found"
            except ValueError as error:
                words = str(error)
        if self._at not in self._hits:
            self._at = None
        bar.count.setText(self._place() or words)
        bar.replace.setEnabled(bool(self._hits))
        nodes = frozenset(hit.id for hit in self._hits if hit.part == "node")
        self.canvas.scene().find(nodes if self._hits else None)

    def _place(self) -> str:
        if self._at is None:
            return ""
        return f"{self._hits.index(self._at) + 1:,} of {counted(len(self._hits), 'place')}"

    def _step(self, by: int) -> None:
        """Go on to another place; after the last one comes the first."""
        if not self._hits:
            return
        last = -1 if by > 0 else 0
        index = (self._hits.index(self._at) if self._at is not None else last) + by
        hit = self._at = self._hits[index % len(self._hits)]
        self.bar.count.setText(self._place())
        match hit.part:
            case "node":
                self.document.select([hit.id])
                self.canvas.reveal(hit.id)
            case "note":
                self.document.select(())
                self.canvas.pick_notes([hit.id])
                self.canvas.ensureVisible(self.canvas.scene().note_items[hit.id].box, 38, 38)
            case "tree":
                self.document.select(())
                self.front.show_place(None, hit.field)
        self.bar.field.setFocus()

    def _replace(self) -> None:
        pattern, text, expression = self._pattern, self.bar.other.text(), self.bar.expression.isChecked()
        if pattern is None or not self._hits:
            return
        before = len(self._hits)
        try:
            done = self.document.edit(
                f"Replace {one_line(self.bar.field.text(), 40)}",
                lambda draft: put(draft, pattern, text, expression=expression),
            )
        except ValueError as error:
            self.bar.count.setText(str(error))
            return
        self._look()
        left = len(self._hits)
        if done:
            self.front.tell(f"Replaced in {counted(before - left if left < before else before, 'place')}.")

    def _leave(self) -> None:
        self._pattern, self._hits, self._at = None, (), None
        self.canvas.scene().find(None)
        self.canvas.setFocus()
