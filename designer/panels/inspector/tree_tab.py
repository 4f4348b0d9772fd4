"""The Tree tab: the fields of the tree itself, its budget, and the parameters its texts ask for."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from designer import theme
from designer.document import edits
from designer.document.names import asked_for, label_of
from designer.forms import Current, Empty, Field, Form, Note, Pages, plain
from designer.panels.inspector.targets import Target, Targets
from engine import DEFAULT_LIMITS, Budget, TimeSpan, Tree

START: Final = "startNodeId"
_DEFAULTS: Final = {
    "maxNodeVisits": str(DEFAULT_LIMITS.node_visits),
    "maxLlmCalls": str(DEFAULT_LIMITS.llm_calls),
    "maxElapsedTime": str(TimeSpan.of_seconds(DEFAULT_LIMITS.elapsed)),
    "maxContextTokens": str(DEFAULT_LIMITS.context_tokens),
    "onExceeded": DEFAULT_LIMITS.on_exceeded,
}


class TreeTab(Pages):
    """Shows the current tree."""

    def __init__(self, current: Current) -> None:
        self._area = QScrollArea()
        super().__init__(
            self._area,
            Empty("new", "No tree is open", "Make a new tree or open one to see its settings here."),
        )
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._current = current
        self._document: object = None
        self._note = Note()
        self._targets = Targets("No node yet")
        members = ["treeId", "version", "name", "description", "systemPrompt", "task"]
        self._form = Form(Tree, self._set_field, members=members)
        self._start = Field(START, label_of(START), Target(self._targets), self._set_field)
        self._form.rows.insertWidget(4, self._start)
        self._budget = Form(Budget, self._set_budget, defaults=_DEFAULTS)
        self._used = plain(role="label", wrap=True)
        heading = plain("Budget")
        heading.setFont(theme.font(13, bold=True))
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(12, 10, 12, 14)
        layout.setSpacing(10)
        layout.addWidget(self._note)
        layout.addWidget(self._form)
        layout.addWidget(self._used)
        layout.addSpacing(6)
        layout.addWidget(heading)
        layout.addWidget(self._budget)
        layout.addStretch(1)
        self._area.setWidget(page)
        current.drafted.connect(lambda _: self._refresh())
        current.checked.connect(lambda _: self._show_problems())

    def focus_field(self, field: str | None) -> None:
        """Put the cursor into a field of the tree or of its budget."""
        rows = {**self._form.fields, START: self._start, **self._budget.fields}
        row = rows.get(
            field or "", self._budget.fields["maxNodeVisits"] if field == "budget" else self._start
        )
        row.focus()
        self._area.ensureWidgetVisible(row, 0, 40)

    def _refresh(self) -> None:
        document = self._current.document
        self.show_content(document)
        if document is None:
            return
        anew, self._document = document is not self._document, document
        tree = document.draft.tree
        refilled = self._targets.show_tree(tree)
        self._form.set_values(tree, anew=anew)
        self._start.set_value(tree.start_node_id, anew=anew or refilled)
        self._budget.set_values(tree.budget or Budget(), anew=anew)
        names = asked_for(tree)
        self._used.setText(
            "Parameters used: " + ", ".join(f"{{{{{name}}}}}" for name in names)
            if names
            else "No parameters used. Write {{name}} in a task to ask for one under Answers before a run."
        )

    def _show_problems(self) -> None:
        found = [p for p in self._current.problems if p.node is None]
        self._form.set_problems(found)
        self._start.set_problems(p for p in found if p.field == START)
        self._budget.set_problems(found)
        placed = {*self._form.fields, *self._budget.fields, START}
        rest = [p for p in found if p.field not in placed]
        severity = next((s for s in ("error", "warning") if any(p.severity == s for p in rest)), "info")
        self._note.say("\n".join(dict.fromkeys(p.message for p in rest)), severity)

    def _set_field(self, member: str, value: object, merge: str) -> str | None:
        document = self._current.document
        if member == "version" and value is None:
            return "Write a whole number, for example 1."
        if document is not None:
            label = f"Edit {label_of(member).lower()}"
            document.edit(label, lambda draft: edits.set_tree_field(draft, member, value), merge)
        return None

    def _set_budget(self, member: str, value: object, merge: str) -> str | None:
        document = self._current.document
        if document is not None:
            document.edit("Edit budget", lambda draft: edits.set_budget(draft, member, value), merge)
        return None
