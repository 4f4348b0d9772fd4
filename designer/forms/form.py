"""A form drawn from a pydantic model: one field for each member, in the model's order."""

import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from PySide6.QtWidgets import QVBoxLayout, QWidget

from designer.document.names import label_of
from designer.forms.fields import (
    Choice,
    Field,
    Key,
    Line,
    Refuse,
    Text,
    as_json,
    as_lines,
    as_number,
    as_span,
    as_text,
    as_whole,
    spelled_json,
)
from engine import Problem, TimeSpan

_WORDS: Final = {"halt": "Stop the run", "warn": "Warn and go on", "throttle": "Wait and go on"}
_LINES: Final = {"task": 2, "systemPrompt": 3, "description": 1}
"""Members that hold long texts, and how many lines they show at least."""
_MONO: Final = frozenset({"treeId", "version", "actionKey", "verdict"})


class Form(QWidget):
    """The fields of a model.

    ``on_change`` gets (member, value, merge key) for every change a person makes, and may refuse it in
    words. ``members`` chooses and orders the rows; ``defaults`` are shown where nothing is set; ``keys``
    turns a text into a choice that can also be typed. Members go by their JSON names; their editors are
    named ``field.MEMBER``, after ``prefix`` where there is one.
    """

    def __init__(
        self,
        model: type[BaseModel],
        on_change: Refuse,
        *,
        members: Sequence[str] | None = None,
        defaults: Mapping[str, str] | None = None,
        keys: Mapping[str, Sequence[str]] | None = None,
        prefix: str = "",
    ) -> None:
        super().__init__()
        self.attributes = {info.alias or name: name for name, info in model.model_fields.items()}
        self.fields: dict[str, Field] = {}
        self._on_change = on_change
        self.rows = QVBoxLayout(self)
        self.rows.setContentsMargins(0, 0, 0, 0)
        self.rows.setSpacing(11)
        for member in members or list(self.attributes):
            info = model.model_fields[self.attributes[member]]
            editor = _editor(member, info, (keys or {}).get(member), (defaults or {}).get(member))
            field = Field(f"{prefix}{member}", label_of(member), editor, self._change)
            self.fields[member] = field
            self.rows.addWidget(field)

    def set_values(self, values: BaseModel | Mapping[str, object], *, anew: bool = False) -> None:
        """Show these values; ``anew`` when they are those of another thing than before."""
        for member, field in self.fields.items():
            if isinstance(values, BaseModel):
                field.set_value(getattr(values, self.attributes[member]), anew=anew)
            else:
                field.set_value(values.get(member), anew=anew)

    def set_problems(self, problems: Iterable[Problem]) -> None:
        """Show each problem at the field it names."""
        found = list(problems)
        for member, field in self.fields.items():
            field.set_problems(p for p in found if p.field == member)

    def _change(self, name: str, value: object, merge: str) -> str | None:
        member = next(m for m, field in self.fields.items() if field.member == name)
        return self._on_change(member, value, merge)


def _editor(member: str, info: FieldInfo, keys: Sequence[str] | None, default: str | None) -> QWidget:
    kind, optional = core_of(info.annotation)
    if keys is not None:
        return Key(keys)
    if get_origin(kind) is Literal or kind is bool:
        values: Sequence[object] = (True, False) if kind is bool else get_args(kind)
        words = {True: "Yes", False: "No"} if kind is bool else _WORDS
        options = [(value, words.get(value, str(value))) for value in values]  # type: ignore[call-overload]
        named = next((text for value, text in options if str(value) == default), default)
        unset = [(None, f"{named} (the default)" if named else "Not set")] if optional else []
        return Choice([*unset, *options])
    if get_origin(kind) in {tuple, list}:
        return Text(as_lines, lines=2)
    if member in _LINES and kind is str:
        return _with_default(Text(lines=_LINES[member]), default)
    parse = {str: as_text, int: as_whole, float: as_number, TimeSpan: as_span}.get(kind)  # type: ignore[call-overload]
    if parse is None:
        return Text(as_json, spelled_json, lines=1, mono=True)
    return _with_default(Line(parse, mono=member in _MONO or kind is not str), default)


def _with_default(editor: Line | Text, default: str | None) -> QWidget:
    if default is not None:
        editor.setPlaceholderText(f"{default} (the default)")
    return editor


def core_of(annotation: object) -> tuple[object, bool]:
    """The type itself, without what pydantic hung on it, and whether it may be left out."""
    if get_origin(annotation) is Annotated:
        return core_of(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        kinds = [arg for arg in get_args(annotation) if arg is not type(None)]
        optional = len(kinds) < len(get_args(annotation))
        return (core_of(kinds[0])[0] if len(kinds) == 1 else object), optional
    return annotation, False
