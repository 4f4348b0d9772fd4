"""What the action of a node does: its kind and parameters where the project file describes it."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget
from shiboken6 import isValid

from designer import dialogs, theme
from designer.document import edits
from designer.document.names import label_of, one_line
from designer.forms import Current, KindForm, Note, about_kind, plain
from designer.tasks import launch
from engine import ActionNode, FunctionAction, Json, NodeId

_KEPT: Final = "Kept in treewright.json, for every tree in this folder. It is written when the tree is saved."
_CODED: Final = "It is Python code of the project."
_WITHHELD: Final = "It may be Python code of this folder, which is used only once you trust it."
_ELSEWHERE: Final = "It is described in the project of the run that is shown."
_EXTERNAL: Final = "It is done where the tree runs; treewright.json declares it as external."


class ActionForm(QWidget):
    """Of one action node of the current document. Every edit is a step of the document."""

    def __init__(self, current: Current) -> None:
        super().__init__()
        self._current, self._workbench = current, current.workbench
        self._node: NodeId = ""
        self._key = ""
        self._form: KindForm | None = None
        self._heading = plain("What it does")
        self._heading.setFont(theme.font(13, bold=True))
        self._about = plain(wrap=True)
        self._note = Note()
        self.new_button = QPushButton()
        self.new_button.setObjectName("button.newAction")
        self.new_button.setProperty("quiet", True)
        self.new_button.setAutoDefault(False)
        self.new_button.clicked.connect(lambda: launch(self._new()))
        self._kept = plain(_KEPT, role="label", wrap=True)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 10, 0, 0)
        self._layout.setSpacing(8)
        for widget in (self._heading, self._about, self._note, self._kept):
            self._layout.addWidget(widget)
        self._layout.addWidget(self.new_button, 0, Qt.AlignmentFlag.AlignLeft)

    def show_node(self, node_id: NodeId, *, anew: bool) -> None:
        """Show what the action of this node does; nothing of a node that is no action."""
        document = self._current.document
        node = document.draft.tree.nodes.get(node_id) if document else None
        self.setVisible(isinstance(node, ActionNode))
        if document is None or not isinstance(node, ActionNode):
            return
        anew = anew or self._key != (node.action_key or "")
        self._node, self._key = node_id, node.action_key or ""
        entry = self._workbench.project(document).actions.get(self._key)
        self._show_form(str(entry["kind"]) if entry else None)
        if entry is not None and self._form is not None:
            parameters = entry.get("parameters")
            self._form.show_parameters(parameters if isinstance(parameters, dict) else {}, anew=anew)
        known = self._key in document.catalog.actions or self._key in document.catalog.external_actions
        self._about.setText(self._told(described=entry is not None, known=known))
        self._kept.setVisible(entry is not None)
        reason = self._workbench.may_describe(document)
        unknown = bool(self._key.strip()) and not known
        self.new_button.setText("Describe this action…" if unknown else "New action…")
        self.new_button.setEnabled(reason is None)
        self.new_button.setToolTip(reason or "Choose what it does, without programming")

    def _told(self, *, described: bool, known: bool) -> str:
        """What the action does, in a sentence or two."""
        document = self._current.document
        if described and self._form is not None:
            return f"{label_of(self._form.kind)}. {about_kind(self._form.kind)}"
        if not self._key.strip() or document is None:
            return "Choose an action above, or describe a new one."
        action = document.catalog.actions.get(self._key)
        if action is not None:
            return _CODED if isinstance(action, FunctionAction) else _ELSEWHERE
        untrusted = self._workbench.untrusted(document)
        hint = f" {_WITHHELD}" if untrusted is not None and untrusted.code else ""
        return _EXTERNAL if known else f"Nothing here is called '{one_line(self._key, 60)}' yet.{hint}"

    def _show_form(self, kind: str | None) -> None:
        if kind == (self._form.kind if self._form else None):
            return
        if self._form is not None:
            self._layout.removeWidget(self._form)
            self._form.hide()
            self._form.deleteLater()
        self._form = None if kind is None else KindForm(kind, self._give)
        if self._form is not None:
            self._layout.insertWidget(2, self._form)
            self._form.come_after(self.new_button.previousInFocusChain() or self)
            self._form.show()

    def _give(self, parameters: dict[str, Json], merge: str) -> None:
        document = self._current.document
        if document is not None and self._form is not None:
            entry: dict[str, Json] = {"kind": self._form.kind, "parameters": parameters}
            self._workbench.describe_action(document, self._key, entry, merge=f"{self._key} {merge}")

    async def _new(self) -> None:
        document, node = self._current.document, self._node
        if document is None:
            return
        catalog = document.catalog
        taken = {*catalog.actions, *catalog.external_actions}
        asked = await dialogs.ask_action(self.window(), "" if self._key in taken else self._key, taken)
        if asked is None or not isValid(self):
            return
        key, entry = asked
        self._workbench.describe_action(
            document, key, entry, also=lambda draft: edits.set_field(draft, node, "actionKey", key)
        )
