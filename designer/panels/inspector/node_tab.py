"""The Node tab: the fields of the selected node, where it leads, and the parameters of its predicate.

While several nodes are selected it shows the fields they share, and sets them in all of these nodes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from pydantic import BaseModel
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from designer.document import edits, rules
from designer.document.draft import Draft
from designer.document.names import kind_name, label_of
from designer.forms import (
    Current,
    Empty,
    Field,
    Form,
    Glyph,
    Key,
    Line,
    Note,
    Pages,
    Refuse,
    Text,
    as_object,
    kind_tone,
    plain,
    spelled_json,
)
from designer.panels.inspector.action_form import ActionForm
from designer.panels.inspector.branches import FIELDS, Branches
from designer.panels.inspector.sources import InRuns
from engine import NODE_TYPES, AnyNode, Catalog, ClassifyNode, ConditionNode, NodeId, Problem, placeholders

PARAMETERS: Final = "predicateParameters"


class NodeTab(Pages):
    """Shows the selected node, or what several have in common; with none it says what to do."""

    def __init__(self, current: Current) -> None:
        self._area = QScrollArea()
        super().__init__(self._area, Empty("classify", "", ""))
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._current = current
        self._page: _NodePage | _SharedPage | None = None
        self._kind: object = None
        self._locked = False
        current.drafted.connect(lambda _: self._refresh())
        current.selected.connect(lambda _: self._refresh())
        current.checked.connect(lambda _: self._show_problems())
        current.workbench.catalog_changed.connect(self._follow_catalog)

    def _follow_catalog(self, document: object) -> None:
        if document is self._current.document:
            self._refresh()

    def lock(self, *, on: bool) -> None:
        """Let no field of a node be edited."""
        self._locked = on
        if self._page is not None:
            self._page.lock(on=on)

    def focus_field(self, field: str | None) -> None:
        """Put the cursor into a field of the node on show."""
        if self._page is not None:
            self._page.focus_field(field or "")
            focused = self._page.focusWidget()
            if focused is not None:
                self._area.ensureWidgetVisible(focused, 0, 40)

    def _refresh(self) -> None:
        document = self._current.document
        selection = document.selection if document else frozenset()
        if document is None or not selection:
            self._page = None
            if (gone := self._area.takeWidget()) is not None:
                gone.deleteLater()
            self.empty.say(*_no_node(self._current))
            self.show_content(there_is=False)
            return
        nodes = {i: document.draft.tree.nodes[i] for i in document.draft.tree.nodes if i in selection}
        kind = len(nodes) > 1, frozenset(map(type, nodes.values()))
        if self._page is None or kind != self._kind:
            self._kind = kind
            page = _SharedPage if len(nodes) > 1 else _NodePage
            self._page = page(self._current, kind[1])
            self._page.lock(on=self._locked)
            self._area.setWidget(self._page)
        self._page.show_nodes(list(nodes))
        self.show_content(there_is=True)
        self._show_problems()

    def _show_problems(self) -> None:
        if self._page is not None:
            self._page.set_problems(p for p in self._current.problems if p.node in self._page.shown)


def _no_node(current: Current) -> tuple[str, str]:
    if current.document is None:
        return "No tree is open", "Make a new tree or open one to see its nodes here."
    if not current.document.draft.tree.nodes:
        return "This tree is empty", "Add a node from the palette. The first one is where a run starts."
    return "No node selected", "Select a node on the canvas or in the outline to edit its fields."


class _NodePage(QWidget):
    """The fields of one kind of node; the node on show changes, the page stays."""

    def __init__(self, current: Current, kinds: Collection[type[AnyNode]]) -> None:
        super().__init__()
        (self.kind,) = kinds
        self.node_id: NodeId = ""
        self._current = current
        self._note = Note()
        key = self.kind.required_key
        self._form = Form(
            self.kind,
            self._set_field,
            members=[member for member in ("name", key, "description") if member],
            keys=dict.fromkeys(("actionKey", "predicateKey"), ()),
        )
        self._id = Field("id", "Id", Line(mono=True), self._rename, eager=False, may=self._may_rename)
        self._parameters = _Parameters(self._set_parameter, self._set_field)
        self._branches = Branches(lambda: self._current.document)
        self._action = ActionForm(current)
        self._runs = InRuns(current, self.kind)
        self._start = QPushButton("Start the run here")
        self._start.setObjectName("button.start")
        self._start.setProperty("quiet", True)
        self._start.setAutoDefault(False)
        self._start.clicked.connect(self._make_start)
        self._starts = plain("The run starts here", role="label")
        head = QHBoxLayout()
        head.setSpacing(6)
        self._glyph, self._type = Glyph("problem-error", "secondary", 15), plain(role="label")
        head.addWidget(self._glyph)
        head.addWidget(self._type)
        head.addStretch(1)
        head.addWidget(self._starts)
        head.addWidget(self._start)
        self._form.rows.insertWidget(1, self._id)
        place = 3 if key else 2
        for section in (self._parameters, self._branches):
            self._form.rows.insertWidget(place, section)
            place += 1
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 14)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self._note)
        layout.addWidget(self._form)
        layout.addWidget(self._action)
        layout.addWidget(self._runs)
        layout.addStretch(1)

    def lock(self, *, on: bool) -> None:
        """Let no field be edited; where answers come from is no edit."""
        for part in (self._form, self._action, self._start):
            part.setEnabled(not on)

    @property
    def shown(self) -> Collection[NodeId]:
        """The node on show."""
        return (self.node_id,)

    def show_nodes(self, ids: Collection[NodeId]) -> None:
        """Show this one node as it now is."""
        document, (node_id,) = self._current.document, ids
        if document is None:
            return
        anew = node_id != self.node_id
        self.node_id = node_id
        tree = document.draft.tree
        node = tree.nodes[node_id]
        kind = node.type if node.type in NODE_TYPES else None
        self._glyph.show_icon(kind or "problem-error", kind_tone(kind))
        self._type.setText(kind_name(node.type))
        _offer(self._form, document.catalog)
        self._form.set_values(node, anew=anew)
        self._id.set_value(node_id, anew=anew)
        self._starts.setVisible(tree.start_node_id == node_id)
        self._start.setVisible(tree.start_node_id != node_id)
        if "task" in self._form.fields:
            names = placeholders(getattr(node, "task", None))
            used = f"{{{{{names[0]}}}}} used" if len(names) == 1 else f"{len(names)} parameters used"
            self._form.fields["task"].hint.setText(used if names else "")
            self._form.fields["task"].hint.setToolTip(" ".join(f"{{{{{name}}}}}" for name in names))
        self._parameters.setVisible(isinstance(node, ConditionNode))
        if isinstance(node, ConditionNode):
            predicate = document.catalog.predicates.get(node.predicate_key or "")
            model = predicate.parameter_model if predicate else None
            self._parameters.show_values(model, node.predicate_parameters or {}, anew=anew)
        self._branches.show_node(node_id, anew=anew)
        self._action.show_node(node_id, anew=anew)
        self._runs.show_node(node_id, anew=anew)

    def set_problems(self, problems: Iterable[Problem]) -> None:
        """Show each problem at its field, and at the top what belongs to none."""
        found = list(problems)
        self._form.set_problems(found)
        self._branches.set_problems(found)
        self._parameters.set_problems([p for p in found if p.field == PARAMETERS])
        self._id.set_problems(p for p in found if p.field == "id")
        placed = {*self._form.fields, *FIELDS, PARAMETERS, "id"}
        rest = [p for p in found if p.field not in placed]
        severity = next((s for s in ("error", "warning") if any(p.severity == s for p in rest)), "info")
        self._note.say("\n".join(dict.fromkeys(p.message for p in rest)), severity)

    def focus_field(self, field: str) -> None:
        """Put the cursor into this field, or into the first one."""
        if field in FIELDS:
            self._branches.focus(field)
        elif field == PARAMETERS:
            self._parameters.focus()
        elif field == "id":
            self._id.focus()
        elif field == "source":
            self._runs.source.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self._form.fields.get(field, self._form.fields["name"]).focus()

    def _set_field(self, member: str, value: object, merge: str) -> str | None:
        document, node_id = self._current.document, self.node_id
        if document is not None:
            fits = _fitting(document.catalog) if member == "predicateKey" else _as_it_is

            def change(draft: Draft) -> Draft:
                return fits(edits.set_field(draft, node_id, member, value), node_id)

            document.edit(f"Edit {label_of(member).lower()}", change, merge)
        return None

    def _set_parameter(self, name: str, value: object, merge: str) -> str | None:
        document, node_id = self._current.document, self.node_id
        if document is not None:
            given = () if value is None else (value,)
            document.edit(
                "Edit parameters", lambda draft: edits.set_parameter(draft, node_id, name, *given), merge
            )
        return None

    def _may_rename(self, new: object) -> str | None:
        document = self._current.document
        return rules.may_rename(document.draft, self.node_id, str(new)) if document else None

    def _rename(self, _member: str, new: object, _merge: str) -> str | None:
        document, old = self._current.document, self.node_id
        reason = self._may_rename(new)
        if document is not None and reason is None:
            # So that the page takes what follows for the same node under another name.
            self.node_id = str(new)
            document.edit("Rename node", lambda draft: edits.rename_node(draft, old, str(new)))
        return reason

    def _make_start(self) -> None:
        document, node_id = self._current.document, self.node_id
        if document is not None:
            document.edit("Set the start", lambda draft: edits.set_start(draft, node_id))


class _SharedPage(QWidget):
    """The fields that several nodes of these kinds have in common; a change is made in all of them."""

    def __init__(self, current: Current, kinds: Collection[type[AnyNode]]) -> None:
        super().__init__()
        self.shown: Collection[NodeId] = ()
        self._current = current
        kind, *others = kinds
        own = () if others else (kind.required_key, "answers" if kind is ClassifyNode else None)
        self._form = Form(
            kind,
            self._set_field,
            members=["name", *(member for member in own if member), "description"],
            keys=dict.fromkeys(("actionKey", "predicateKey"), ()),
        )
        self._heading = plain(role="label", wrap=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 14)
        layout.setSpacing(8)
        layout.addWidget(self._heading)
        layout.addWidget(self._form)
        layout.addStretch(1)

    def lock(self, *, on: bool) -> None:
        """Let no field be edited."""
        self._form.setEnabled(not on)

    def show_nodes(self, ids: Collection[NodeId]) -> None:
        """Show what these nodes have in common; a field in which they differ is empty and says so."""
        document = self._current.document
        if document is None:
            return
        anew, self.shown = ids != self.shown, ids
        nodes = [document.draft.tree.nodes[i] for i in ids]
        _offer(self._form, document.catalog)
        self._heading.setText(f"{len(ids)} nodes selected. A change here is made in each of them.")
        shared: dict[str, object] = {}
        for member, field in self._form.fields.items():
            first, *rest = (getattr(node, self._form.attributes[member]) for node in nodes)
            same = all(value == first for value in rest)
            shared[member] = first if same else None
            line = field.editor.lineEdit() if isinstance(field.editor, Key) else field.editor
            if isinstance(line, QLineEdit | QPlainTextEdit):
                line.setPlaceholderText("" if same else "Different values")
        self._form.set_values(shared, anew=anew)

    def set_problems(self, problems: Iterable[Problem]) -> None:
        """Show each problem of any of the nodes at its field."""
        self._form.set_problems(problems)

    def focus_field(self, field: str) -> None:
        """Put the cursor into this field, or into the first one."""
        self._form.fields.get(field, self._form.fields["name"]).focus()

    def _set_field(self, member: str, value: object, merge: str) -> str | None:
        document, ids = self._current.document, self.shown
        if document is not None:
            label = f"Edit {label_of(member).lower()} of {len(ids)} nodes"
            document.edit(label, lambda draft: edits.set_fields(draft, ids, member, value), merge)
        return None


class _Parameters(QWidget):
    """The parameters of a predicate: a form where they are declared and fit it, else their JSON."""

    def __init__(self, set_parameter: Refuse, set_field: Refuse) -> None:
        super().__init__()
        self._set_parameter, self._set_field = set_parameter, set_field
        self._model: type[BaseModel] | None = None
        self._form: Form | None = None
        self._json: Field | None = None
        self._note = Note()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(6)
        self._layout.addWidget(self._note)

    def show_values(self, model: type[BaseModel] | None, values: Mapping[str, object], *, anew: bool) -> None:
        """Show these parameters of a predicate that declares this model."""
        fits = model is not None and values.keys() <= {i.alias or n for n, i in model.model_fields.items()}
        wanted = model if fits else None
        if wanted is not self._model or (self._form is None and self._json is None):
            self._rebuild(wanted)
        if self._form is not None:
            self._form.set_values(values, anew=anew)
        if self._json is not None:
            self._json.set_value(values or None, anew=anew)

    def set_problems(self, problems: list[Problem]) -> None:
        """Show each problem at the parameter its pointer ends in."""
        fields = self._form.fields if self._form else {}
        for name, field in fields.items():
            field.set_problems(p for p in problems if p.pointer.endswith(f"/{PARAMETERS}/{name}"))
        rest = [p for p in problems if p.pointer.rpartition("/")[2] not in fields]
        severity = next((s for s in ("error", "warning") if any(p.severity == s for p in rest)), "info")
        self._note.say("\n".join(dict.fromkeys(p.message for p in rest)), severity)

    def focus(self) -> None:
        """Put the cursor into the first parameter that has none, or into the first."""
        fields = [*self._form.fields.values()] if self._form else [self._json] if self._json else []
        if fields:
            empty = [f for f in fields if isinstance(f.editor, Line) and not f.editor.text()]
            (empty or fields)[0].focus()

    def _rebuild(self, model: type[BaseModel] | None) -> None:
        for old in (self._form, self._json):
            if old is not None:
                self._layout.removeWidget(old)
                old.hide()
                old.deleteLater()
        self._model, self._form, self._json = model, None, None
        if model is None:
            editor = Text(as_object, spelled_json, lines=2, mono=True)
            self._json = Field(PARAMETERS, label_of(PARAMETERS), editor, self._set_field)
            shown: QWidget = self._json
        else:
            defaults = {
                info.alias or name: str(info.default)
                for name, info in model.model_fields.items()
                if not info.is_required()
            }
            self._form = Form(model, self._set_parameter, defaults=defaults, prefix=f"{PARAMETERS}.")
            shown = self._form
        self._layout.insertWidget(0, shown)
        # At once: Qt would show it when the loop is idle, and the cursor may be wanted there before that.
        shown.show()


def _offer(form: Form, catalog: Catalog) -> None:
    for member, keys in (
        ("actionKey", catalog.actions.keys() | catalog.external_actions),
        ("predicateKey", catalog.predicates.keys() | catalog.external_predicates),
    ):
        field = form.fields.get(member)
        if field is not None and isinstance(field.editor, Key):
            field.editor.offer(sorted(keys))


def _as_it_is(draft: Draft, _node_id: NodeId) -> Draft:
    return draft


def _fitting(catalog: Catalog) -> Callable[[Draft, NodeId], Draft]:
    def fits(draft: Draft, node_id: NodeId) -> Draft:
        """Without the parameters the node's predicate does not take, where it says which it takes."""
        node = draft.tree.nodes[node_id]
        predicate = catalog.predicates.get(getattr(node, "predicate_key", None) or "")
        model = predicate.parameter_model if predicate else None
        if model is None or not isinstance(node, ConditionNode):
            return draft
        kept = {
            name: v for name, v in (node.predicate_parameters or {}).items() if name in model.model_fields
        }
        return edits.set_field(draft, node_id, PARAMETERS, kept)

    return fits
