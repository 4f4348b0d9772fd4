"""Where a node leads: one row a branch, and for a question the answers themselves."""

from collections.abc import Callable, Iterable
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from designer.document import edits, rules
from designer.document.document import Document
from designer.forms import Entry, Line, Note, is_visit, plain
from designer.panels.inspector.targets import Target, Targets
from engine import UNKNOWN, ClassifyNode, NodeId, Problem

FIELDS: Final = frozenset({"answers", "transitions"})
"""The members whose problems are shown here."""
ANSWER: Final = 90
"""Pixels of the narrowest line of an answer."""


class Branches(QWidget):
    """The branches of one node of the current document.

    In the line of an answer Alt+Up and Alt+Down move it, Enter goes to the next one or begins it. An answer
    that is begun is there once it has a word; its empty line goes when it is left.
    """

    def __init__(self, document: Callable[[], Document | None]) -> None:
        super().__init__()
        self._document = document
        self._node = ""
        self._rows: list[_Row] = []
        self._targets = Targets()
        self._begun: int | None = None
        self._leave_soon = QTimer(self, interval=0, singleShot=True)
        self._leave_soon.timeout.connect(self._leave)
        self._caption = plain(role="label")
        self.note = Note()
        self._grid = QGridLayout()
        self._grid.setSpacing(6)
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(2, 1)
        self._grid.setColumnMinimumWidth(0, ANSWER)
        self.add_button = QPushButton("+ Add answer")
        self.add_button.setObjectName("button.addAnswer")
        self.add_button.setProperty("quiet", True)
        self.add_button.setAutoDefault(False)
        self.add_button.clicked.connect(self.add_answer)
        self.add_button.installEventFilter(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._caption)
        layout.addLayout(self._grid)
        layout.addWidget(self.note)
        layout.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignLeft)

    def show_node(self, node_id: NodeId, *, anew: bool) -> None:
        """Show the branches of this node; ``anew`` when it is another one than before."""
        document = self._document()
        if document is None:
            return
        self._node = node_id
        tree = document.draft.tree
        node = tree.nodes[node_id]
        self._targets.show_tree(tree)
        asks = isinstance(node, ClassifyNode)
        answers = node.answers or () if isinstance(node, ClassifyNode) else ()
        branches = node.branches()
        self._begun = None if anew or self._begun is None else min(self._begun, len(answers))
        stray = [
            label for label in dict.fromkeys(t.condition for t in node.transitions) if label not in branches
        ]
        rows = [
            *((answer, "answer") for answer in answers),
            *([("", "begun")] if self._begun == len(answers) else []),
            *((label, "branch") for label in branches[len(answers) :]),
            *((label, "stray") for label in stray),
        ]
        self._caption.setText("Answers and where they lead" if asks else "Where it leads")
        self._caption.setVisible(bool(rows))
        self.add_button.setVisible(asks)
        while len(self._rows) > len(rows):
            self._rows.pop().remove()
        while len(self._rows) < len(rows):
            self._rows.append(_Row(self, self._grid, len(self._rows), self._targets))
        for row, (label, role) in zip(self._rows, rows, strict=True):
            row.show_branch(label, role, node.targets.get(label, ""), anew=anew)

    def set_problems(self, problems: Iterable[Problem]) -> None:
        """Show what the checks say of the branches."""
        found = [p for p in problems if p.field in FIELDS]
        severity = next((s for s in ("error", "warning") if any(p.severity == s for p in found)), "info")
        self.note.say("\n".join(dict.fromkeys(p.message for p in found)), severity)

    def focus(self, field: str) -> None:
        """Put the cursor on the first answer, or on the first branch that leads nowhere."""
        if field == "answers":
            (self._rows[0].answer if self._answers() else self.add_button).setFocus()
        elif self._rows:
            loose = next((row for row in self._rows if row.target.value() == ""), self._rows[0])
            loose.target.setFocus()

    def add_answer(self) -> None:
        """Begin an answer at the end and let the person write its word."""
        if self._begun is None or self._begun < len(self._answers()):
            self._begun = len(self._answers())
            self.show_node(self._node, anew=False)
        self._rows[self._begun].answer.setFocus(Qt.FocusReason.OtherFocusReason)

    def go_on(self, number: int) -> None:
        """What Enter does in the line of an answer: on to the next one, after the last one to a new one."""
        answers, row = self._answers(), self._rows[number]
        if row.entry.refused or number >= len(answers):
            return
        if number + 1 < len(answers):
            line = self._rows[number + 1].answer
            line.setFocus(Qt.FocusReason.OtherFocusReason)
            line.selectAll()
        else:
            self._begun = None
            self.add_answer()

    def leave(self) -> None:
        """The line of an answer was left: one that was only begun goes, unless it is being begun again."""
        self._leave_soon.start()

    def _leave(self) -> None:
        row = self._rows[self._begun] if self._begun is not None else None
        if row and not (row.entry.refused or row.answer.hasFocus() or self.add_button.hasFocus()):
            self._begun = None
            self.show_node(self._node, anew=False)

    def remove(self, number: int) -> None:
        """Remove an answer with its branch, or a branch that belongs to no answer."""
        document, row = self._document(), self._rows[number]
        self._begun = None
        if document is None:
            return
        if row.role == "begun":
            self.show_node(self._node, anew=False)
        elif row.role == "answer":
            self._set_answers("Remove answer", [a for i, a in enumerate(self._answers()) if i != number])
        else:
            node, label = self._node, row.label
            document.edit("Remove branch", lambda draft: edits.disconnect(draft, node, label))

    def move_answer(self, number: int, by: int) -> None:
        """Move an answer up or down, its branch with it."""
        answers, to = self._answers(), number + by
        if number < len(answers) and 0 <= to < len(answers):
            answers[number], answers[to] = answers[to], answers[number]
            self._set_answers("Move answer", answers)
            self._rows[to].answer.setFocus()

    def rename(self, number: int, word: str, merge: str) -> str | None:
        """Give an answer another word; the reason in plain words where it may not have it.

        One that is only begun may also have none.
        """
        answers, begun = self._answers(), number == self._begun
        before, after = answers[:number], answers[number + 1 :]
        words = [word] if word.strip() or not begun else []
        reason = next(filter(None, (rules.may_answer([*before, *after], each) for each in words)), None)
        if reason is None:
            self._set_answers("Add answer" if begun else "Rename answer", [*before, *words, *after], merge)
        return reason

    def connect_branch(self, label: str, target: NodeId) -> None:
        """Have a branch lead to this node, or nowhere."""
        document, node = self._document(), self._node
        if document is None:
            return
        if target:
            document.edit("Connect", lambda draft: edits.connect(draft, node, label, target))
        else:
            document.edit("Disconnect", lambda draft: edits.disconnect(draft, node, label))

    def _answers(self) -> list[str]:
        document = self._document()
        node = document.draft.tree.nodes.get(self._node) if document else None
        return list(node.answers or ()) if isinstance(node, ClassifyNode) else []

    def _set_answers(self, label: str, answers: list[str], merge: str | None = None) -> None:
        document, node = self._document(), self._node
        if document is not None:
            document.edit(label, lambda draft: edits.set_answers(draft, node, answers), merge)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.add_button and event.type() == QEvent.Type.FocusOut:
            self.leave()
        return super().eventFilter(watched, event)


class _Row(QObject):
    """The widgets of one branch, in one row of the grid (with a line for what is refused under it)."""

    def __init__(self, branches: Branches, grid: QGridLayout, number: int, targets: Targets) -> None:
        super().__init__(branches)
        self._branches, self._number = branches, number
        self.label, self.role = "", ""
        self.answer = Line()
        self.answer.setObjectName(f"field.answers.{number}")
        self.answer.setAccessibleName(f"Answer {number + 1}")
        self.answer.setToolTip("Alt+Up and Alt+Down move this answer")
        self.answer.setMinimumWidth(ANSWER)
        self.answer.installEventFilter(self)
        self._name = plain()
        self._arrow = QLabel("→")
        self._arrow.setProperty("role", "label")
        self.target = Target(targets)
        self.target.setObjectName(f"field.transitions.{number}")
        self.target.changed.connect(self._connect)
        self._remove = QToolButton()
        self._remove.setText("✕")
        self._remove.setObjectName(f"button.removeAnswer.{number}")
        self._remove.setProperty("quiet", True)
        self._remove.setFixedWidth(24)
        self._remove.clicked.connect(lambda: branches.remove(number))
        self._note = Note()
        self.entry = Entry(f"answer.{number}", self.answer, self._note, self._rename)
        self._widgets = (self.answer, self._name, self._arrow, self.target, self._remove, self._note)
        for column, widget in (
            (0, self.answer),
            (0, self._name),
            (1, self._arrow),
            (2, self.target),
            (3, self._remove),
        ):
            grid.addWidget(widget, 2 * number, column)
        grid.addWidget(self._note, 2 * number + 1, 0, 1, 4)
        for widget in (self._arrow, self.target):
            widget.show()

    def show_branch(self, label: str, role: str, target: NodeId, *, anew: bool) -> None:
        """Show a branch; a word that is being typed and was refused stays, unless it is another node's."""
        self.entry.set_value(label, anew=anew)
        is_answer = role in {"answer", "begun"}
        self.label, self.role = label, role
        self.answer.setVisible(is_answer)
        self.answer.setPlaceholderText("New answer" if role == "begun" else "")
        self._name.setVisible(not is_answer)
        self.target.setEnabled(role != "begun")
        self._name.setText(label)
        self._name.setProperty("role", "bad" if role == "stray" else "label" if label == UNKNOWN else "")
        self._name.style().polish(self._name)
        self._name.setToolTip("This branch belongs to no answer." if role == "stray" else "")
        self._remove.setVisible(role != "branch")
        self._remove.setAccessibleName(f"Remove {label}")
        self._remove.setToolTip(
            "Remove this branch" if role == "stray" else "Remove this answer and its branch"
        )
        self.target.setAccessibleName(f"{label} leads to")
        self.target.show_value(target)

    def remove(self) -> None:
        """Take the row away."""
        for widget in self._widgets:
            widget.hide()
            widget.deleteLater()
        self.deleteLater()

    def _rename(self, _member: str, word: object, merge: str) -> str | None:
        return self._branches.rename(self._number, str(word), merge)

    def _connect(self) -> None:
        self._branches.connect_branch(self.label, str(self.target.value()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent) and event.lostFocus() and is_visit(event):
            self._branches.leave()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            alt = event.modifiers() == Qt.KeyboardModifier.AltModifier
            by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key())) if alt else None
            if by is not None:
                self._branches.move_answer(self._number, by)
                return True
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._branches.go_on(self._number)
                return True
        return super().eventFilter(watched, event)
