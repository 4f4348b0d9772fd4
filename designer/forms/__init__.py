"""How values are shown and changed: forms drawn from models, tables, texts, empty states.

A new field of a model gets its row by itself; a panel adds only what no model can say.
"""

from designer.forms.current import Current
from designer.forms.fields import (
    Editor,
    Field,
    Key,
    Line,
    Quote,
    Refuse,
    Text,
    as_object,
    spelled_json,
    without_wheel,
)
from designer.forms.form import Form, label_of
from designer.forms.tables import Column, Table
from designer.forms.texts import Empty, Glyph, Note, Pages, kind_tone, plain, small_icon

__all__ = [
    "Column",
    "Current",
    "Editor",
    "Empty",
    "Field",
    "Form",
    "Glyph",
    "Key",
    "Line",
    "Note",
    "Pages",
    "Quote",
    "Refuse",
    "Table",
    "Text",
    "as_object",
    "kind_tone",
    "label_of",
    "plain",
    "small_icon",
    "spelled_json",
    "without_wheel",
]
