"""What a described action does, as a form: drawn from the parameters of its kind, whatever that is."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from designer import theme
from designer.document.draft import ActionEntry
from designer.document.names import label_of
from designer.forms.fields import (
    NULL,
    Choice,
    Field,
    Line,
    Text,
    as_entries,
    as_json,
    as_number,
    as_pairs,
    as_scalar,
    as_whole,
    spelled_entries,
    spelled_json,
    spelled_pairs,
    spelled_scalar,
)
from designer.forms.form import core_of
from designer.forms.texts import plain
from engine import KINDS, Json, misfits
from engine.counting import counted

_LIST: Final = 168
"""Pixels of the list of kinds."""
_HEIGHT: Final = 440
"""Pixels of a form that is filled in for the first time."""
_KEY: Final = "What nodes name it by. A node of any tree in this folder can."


def about_kind(kind: str) -> str:
    """What a kind of action does, in a sentence."""
    return inspect.cleandoc(KINDS[kind].__doc__ or "").partition("\n\n")[0].replace("\n", " ")


class KindForm(QWidget):
    """The parameters of one kind, each with what it is for; what does not fit is said at its field.

    ``give`` takes the parameters with the key under which what is typed is one step. With ``begun`` some may
    still be missing, and ``lacks`` says which; else what is given always fits. ``checked`` is sent whenever
    something was typed, whether it was given on or not.
    """

    checked = Signal()

    def __init__(
        self, kind: str, give: Callable[[dict[str, Json], str], None], *, begun: bool = False
    ) -> None:
        super().__init__()
        self.kind, self._give, self._begun = kind, give, begun
        self._infos = {info.alias or name: info for name, info in KINDS[kind].model_fields.items()}
        self._parameters: dict[str, Json] = {}
        self.fields: dict[str, Field] = {}
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(11)
        # What has to be given comes first.
        for member, info in sorted(self._infos.items(), key=lambda each: not each[1].is_required()):
            words, about = label_of(member), info.description or ""
            field = Field(f"action.{member}", words, _editor(info), self._change, about=about)
            field.said.connect(self.checked)
            if not info.is_required():
                field.hint.setText("optional")
            self.fields[member] = field
            rows.addWidget(field)
        self.more_button = QPushButton()
        self.more_button.setObjectName("button.moreParameters")
        self.more_button.setProperty("quiet", True)
        self.more_button.setAutoDefault(False)
        self.more_button.clicked.connect(self._unfold)
        rows.addWidget(self.more_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.more_button.setVisible(False)

    def show_parameters(self, parameters: Mapping[str, Json], *, anew: bool) -> None:
        """Show these; ``anew`` when they are those of another action than before."""
        self._parameters = dict(parameters)
        for member, field in self.fields.items():
            value: object = NULL if parameters.get(member, NULL) is None else parameters.get(member)
            field.set_value(tuple(value) if isinstance(value, list) else value, anew=anew)
        # Nothing goes while somebody works on it.
        for member, field in self.fields.items():
            wanted = self._begun or member in parameters or self._infos[member].is_required()
            field.setVisible(wanted or (not anew and not field.isHidden()))
        self._say_more()

    def _unfold(self) -> None:
        folded = [field for field in self.fields.values() if field.isHidden()]
        for field in folded:
            field.show()
        self._say_more()
        folded[0].focus()

    def _say_more(self) -> None:
        folded = [label_of(member) for member, field in self.fields.items() if field.isHidden()]
        self.more_button.setVisible(bool(folded))
        self.more_button.setText(f"{counted(len(folded), 'more parameter')}…")
        self.more_button.setToolTip(", ".join(folded))

    def come_after(self, widget: QWidget) -> None:
        """Have Tab lead from this widget through the fields, and then on to where it led from there."""
        for each in (*(field.editor for field in self.fields.values()), self.more_button):
            QWidget.setTabOrder(widget, each)
            widget = each

    @property
    def parameters(self) -> dict[str, Json]:
        """What was given, as far as it fits."""
        return self._parameters

    @property
    def lacks(self) -> str:
        """Why these parameters cannot be used yet, in plain words; nothing when they can."""
        refused = [label_of(member) for member, field in self.fields.items() if field.refused]
        if refused:
            return f"Put right first: {', '.join(refused)}."
        found = misfits({"kind": self.kind, "parameters": self._parameters})
        places = [str(path[1]) for path in found if len(path) == 2]
        missing = [label_of(member) for member in places if member not in self._parameters]
        if missing:
            return f"Still to be given: {', '.join(missing)}."
        return next((self._told(path, reason) for path, reason in found.items()), "")

    def _change(self, name: str, value: object, merge: str) -> str | None:
        member = name.removeprefix("action.")
        given = {other: each for other, each in self._parameters.items() if other != member}
        info = self._infos[member]
        if value is NULL:
            given[member] = None
        elif value is not None and (value != _unset(info) or info.is_required()):
            changed: Json = list(value) if isinstance(value, tuple) else value  # type: ignore[assignment]
            # In their old order, so that the file changes where it has to.
            given = {**self._parameters, member: changed}
        found = misfits({"kind": self.kind, "parameters": given})
        for path, reason in found.items():
            own = path[1:2] == (member,)
            if (own and member in given) or (not self._begun and (own or len(path) == 1)):
                return self._told(path, reason)
        self._parameters = given
        self._give(given, merge)
        return None

    def _told(self, path: Sequence[str | int], reason: str) -> str:
        """What is wrong in plain words; fields are called by their labels."""
        reason = re.sub(r"'(\w+)'", lambda m: f"'{label_of(m[1])}'" if m[1] in self._infos else m[0], reason)
        inside = [f"entry {part + 1}" if isinstance(part, int) else f"'{part}'" for part in path[2:]]
        own = reason.removeprefix("is wrong: ")
        if own != reason:
            words = f"{', '.join(inside)}: {own}" if inside else own
        else:
            words = f"{', '.join((label_of(str(path[1])), *inside)) if len(path) > 1 else 'it'} {reason}"
        return f"{words[0].upper()}{words[1:]}."


class NewAction(QWidget):
    """A kind out of all there are, a key for the action, and the parameters of the kind.

    ``checked`` tells whether that is enough.
    """

    checked = Signal(object)

    def __init__(self, key: str, taken: Collection[str]) -> None:
        super().__init__()
        self._taken = taken
        self.kinds = QListWidget()
        self.kinds.setObjectName("action.kinds")
        self.kinds.setAccessibleName("Kind of action")
        self.kinds.setFixedWidth(_LIST)
        for kind in KINDS:
            item = QListWidgetItem(label_of(kind), self.kinds)
            item.setSizeHint(QSize(0, theme.ROW))
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, about_kind(kind))
        self._about = plain(wrap=True)
        self._line = Line(mono=True)
        self._key = Field("action.key", "Key", self._line, self._rename, about=_KEY)
        self._key.set_value(key or None)
        self._page = QWidget()
        self._rows = QVBoxLayout(self._page)
        self._rows.setContentsMargins(0, 0, 8, 0)
        self._rows.setSpacing(11)
        self._rows.addWidget(self._about)
        self._rows.addWidget(self._key)
        self._rows.addStretch(1)
        self._form = self._shown(next(iter(KINDS)))
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(self._page)
        area.setStyleSheet("QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; }")
        self._lacks = plain(role="label", wrap=True)
        right = QVBoxLayout()
        right.setSpacing(10)
        right.addWidget(area, 1)
        right.addWidget(self._lacks)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        row.addWidget(self.kinds)
        row.addLayout(right, 1)
        self.setMinimumHeight(_HEIGHT)
        self.kinds.setCurrentRow(0)
        self.kinds.currentRowChanged.connect(self._choose)

    @property
    def key(self) -> str:
        """The key of the action."""
        return self._line.text().strip()

    @property
    def entry(self) -> ActionEntry:
        """What the project file shall say of it."""
        return {"kind": self._form.kind, "parameters": self._form.parameters}

    def check(self) -> None:
        """Say what is still to be given."""
        lacks = self._misnamed() or self._form.lacks
        self._lacks.setText(lacks)
        self.checked.emit(not lacks)

    def _choose(self, row: int) -> None:
        """Ask for what another kind needs; what was given for parameters of the same name stays."""
        given = self._form.parameters
        self._rows.removeWidget(self._form)
        self._form.hide()
        self._form.deleteLater()
        self._form = form = self._shown(list(KINDS)[row])
        form.show_parameters({name: each for name, each in given.items() if name in form.fields}, anew=True)
        self.check()

    def _shown(self, kind: str) -> KindForm:
        self._about.setText(about_kind(kind))
        form = KindForm(kind, lambda _parameters, _merge: self.check(), begun=True)
        form.checked.connect(self.check)
        self._rows.insertWidget(2, form)
        form.come_after(self._line)
        form.show()
        return form

    def _rename(self, _member: str, _key: object, _merge: str) -> str | None:
        reason = self._misnamed()
        self.check()
        return reason

    def _misnamed(self) -> str | None:
        if not self.key:
            return "The action needs a key."
        return f"There is an action '{self.key}' already." if self.key in self._taken else None


def _editor(info: FieldInfo) -> QWidget:
    kind, _ = core_of(info.annotation)
    default = _default(info)
    usual = f"{default} (the default)" if default else ""
    if get_origin(kind) is Literal or kind is bool:
        values: Sequence[object] = (True, False) if kind is bool else get_args(kind)
        options = [(each, _word(each)) for each in values]
        return Choice(options if info.is_required() else [(None, usual or "Not set"), *options])
    if get_origin(kind) in {tuple, list}:
        if _unset(info) is None:
            return _hinted(Text(_as_some, _spelled_some, lines=2, most=8), "One a line, or [] for none")
        return _hinted(Text(as_entries, spelled_entries, lines=2, most=8), "One a line")
    if get_origin(kind) in {dict, Mapping}:
        return _hinted(Text(as_pairs, spelled_pairs, lines=1, most=8), "name = value, one a line")
    return _line(info, kind, usual)


def _line(info: FieldInfo, kind: object, usual: str) -> QWidget:
    """What a single value is written in."""
    if kind is str:
        filled = isinstance(info.json_schema_extra, dict) and info.json_schema_extra.get("filled")
        return _hinted(Text(lines=1, most=8) if filled else Line(), usual)
    if kind in _NUMBERS:
        return _hinted(Line(_NUMBERS[kind], mono=True), usual)
    if _is_scalar(info.annotation):
        return Line(as_scalar, spelled_scalar)
    return Text(as_json, spelled_json, lines=1, mono=True)


def _unset(info: FieldInfo) -> object:
    """What a field holds that is not set. A list that may be left out may also have no entries."""
    kind, optional = core_of(info.annotation)
    listed = get_origin(kind) in {tuple, list}
    return (None if optional else ()) if listed else {} if get_origin(kind) in {dict, Mapping} else ""


def _as_some(text: str) -> object:
    """One entry a line; nothing written means not set, and an empty JSON list none."""
    # No tuple: one without entries counts as nothing written.
    return (as_entries(text) or []) if text.strip() else None


def _spelled_some(value: object) -> str:
    return "[]" if value == () else spelled_entries(value)


def _as_number(text: str) -> object:
    """A number as it is written: 20 stays 20."""
    number = as_number(text)
    return int(text) if number is not None and "." not in text else number


_NUMBERS: Final[dict[object, Callable[[str], object]]] = {int: as_whole, float: _as_number}


def _is_scalar(annotation: object) -> bool:
    """Whether it may be one of several kinds of values, each a text, a number, true, false or null."""
    kinds = {core_of(each)[0] for each in get_args(annotation)}
    return bool(kinds) and kinds <= {str, bool, int, float, type(None)}


def _default(info: FieldInfo) -> str:
    """What holds where nothing is given, as a person reads it."""
    return "" if info.is_required() or info.default in (None, (), {}) else _word(info.default)


def _word(value: object) -> str:
    match value:
        case bool():
            return "Yes" if value else "No"
        case float():
            return f"{value:g}"
    return str(value)


def _hinted(editor: Line | Text, hint: str) -> QWidget:
    editor.setPlaceholderText(hint)
    return editor
