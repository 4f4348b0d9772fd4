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
from designer.forms.texts import (
    Empty,
    Glyph,
    Note,
    Pages,
    clipped,
    kind_name,
    kind_tone,
    node_title,
    plain,
    small_icon,
    titles_of,
)

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
    "clipped",
    "kind_name",
    "kind_tone",
    "label_of",
    "node_title",
    "plain",
    "small_icon",
    "spelled_json",
    "titles_of",
    "without_wheel",
]
