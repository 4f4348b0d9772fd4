"""How values are shown and changed: forms drawn from models, tables, texts, empty states.

A new field of a model gets its row by itself; a panel adds only what no model can say.
"""

from designer.forms.combos import Combo
from designer.forms.current import Current
from designer.forms.fields import (
    Editor,
    Entry,
    Field,
    Key,
    Line,
    Listing,
    Quote,
    Refuse,
    Text,
    as_json,
    as_object,
    as_whole,
    is_visit,
    spelled_json,
)
from designer.forms.form import Form
from designer.forms.kinds import KindForm, NewAction, about_kind
from designer.forms.models import ModelForm
from designer.forms.tables import Column, Table, as_list
from designer.forms.texts import Empty, Glyph, Note, Pages, kind_tone, plain, small_icon
from designer.forms.undoing import OwnUndo

__all__ = [
    "Column",
    "Combo",
    "Current",
    "Editor",
    "Empty",
    "Entry",
    "Field",
    "Form",
    "Glyph",
    "Key",
    "KindForm",
    "Line",
    "Listing",
    "ModelForm",
    "NewAction",
    "Note",
    "OwnUndo",
    "Pages",
    "Quote",
    "Refuse",
    "Table",
    "Text",
    "about_kind",
    "as_json",
    "as_list",
    "as_object",
    "as_whole",
    "is_visit",
    "kind_tone",
    "plain",
    "small_icon",
    "spelled_json",
]
