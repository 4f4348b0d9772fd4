"""Forms of described actions: drawn for every kind there is, typed, told at its field what does not fit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field as Member
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPlainTextEdit, QWidget

import engine
from designer.forms import KindForm, NewAction
from designer.forms.fields import (
    NULL,
    as_entries,
    as_pairs,
    as_scalar,
    spelled_entries,
    spelled_pairs,
    spelled_scalar,
)
from engine import KINDS, misfits
from engine.kinds import Parameters

GIVEN: dict[str, dict[str, Any]] = {
    "setProperty": {"property": "a", "value": None},
    "templateToProperty": {"property": "a", "template": "Dear {{name}},\n\nyes."},
    "readFile": {"path": "a.txt", "property": "p", "maxBytes": 10},
    "listFolder": {"dataType": "d", "recursive": False, "pattern": "*.txt"},
    "loadRows": {"path": "a.csv", "dataType": "row", "format": "csv"},
    "httpRequest": {
        "url": "http://{{host}}/",
        "hosts": ["[::1]:8080", "example.com"],
        "method": "POST",
        "headers": {"Accept": "a = b", "X-Two": "line\nline"},
        "timeout": 2.5,
        "anyStatus": True,
    },
    "ask": {"text": "Who?", "property": "who", "choices": ["a, b", "c"]},
    "sleep": {"seconds": 3},
    "subTree": {"tree": "b.json", "verdictProperty": "v", "propertiesIn": {"there": "here"}},
}


class Heard(KindForm):
    """A form that notes what it gives on."""

    def __init__(self, kind: str, *, begun: bool) -> None:
        self.given: list[dict[str, Any]] = []
        super().__init__(kind, lambda parameters, _merge: self.given.append(parameters), begun=begun)


@pytest.fixture
def form(qtbot):
    """Makes the form of a kind; what it gives on is in ``given``."""

    def made(kind: str, *, begun: bool = False) -> Heard:
        shown = Heard(kind, begun=begun)
        qtbot.addWidget(shown)
        shown.show()
        return shown

    return made


def editor(form: QWidget, name: str) -> Any:
    found = form.findChild(QWidget, f"field.action.{name}")
    assert found is not None
    return found


def write(form: QWidget, name: str, text: str) -> None:
    field = editor(form, name)
    field.setFocus()
    if isinstance(field, QPlainTextEdit):
        field.setPlainText(text)
    else:
        field.setText(text)
        field.textEdited.emit(text)


def choose(form: QWidget, name: str, words: str) -> None:
    box = editor(form, name)
    index = box.findText(words)
    assert index >= 0, [box.itemText(i) for i in range(box.count())]
    box.setCurrentIndex(index)
    box.activated.emit(index)


def said(form: QWidget) -> list[str]:
    return [label.text() for label in form.findChildren(QLabel) if label.isVisible()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_form_that_shows_what_is_given_and_gives_the_same_again(form, kind):
    parameters = GIVEN.get(kind, {})
    shown = form(kind, begun=True)
    shown.show_parameters(parameters, anew=True)
    for field in shown.fields.values():
        field.editor.changed.emit()
    assert shown.given == []
    assert shown.parameters == parameters
    assert not any(field.refused for field in shown.fields.values())
    if parameters:
        assert misfits({"kind": kind, "parameters": parameters}) == {}
        assert shown.lacks == ""


def test_what_is_typed_has_the_type_of_its_parameter(form):
    shown = form("httpRequest")
    shown.show_parameters({"url": "x", "hosts": ["a.example"]}, anew=True)
    shown.more_button.click()
    write(shown, "timeout", "20")
    write(shown, "redirects", "0")
    choose(shown, "method", "PUT")
    choose(shown, "anyStatus", "Yes")
    write(shown, "hosts", "a.example\nb.example")
    write(shown, "headers", "Accept = text/html\nX = a = b")
    assert shown.given[-1] == {
        "url": "x",
        "hosts": ["a.example", "b.example"],
        "timeout": 20,
        "redirects": 0,
        "method": "PUT",
        "anyStatus": True,
        "headers": {"Accept": "text/html", "X": "a = b"},
    }
    choose(shown, "method", "GET (the default)")
    choose(shown, "anyStatus", "No (the default)")
    write(shown, "timeout", "")
    write(shown, "headers", "")
    assert shown.given[-1] == {"url": "x", "hosts": ["a.example", "b.example"], "redirects": 0}


def test_a_value_of_several_types_is_read_as_what_it_looks_like(form):
    shown = form("setProperty")
    shown.show_parameters({"property": "a", "value": "b"}, anew=True)
    for text, value in (
        ("yes", "yes"),
        ("3", 3),
        ("2.5", 2.5),
        ("true", True),
        ("null", None),
        ('"3"', "3"),
        ("[1]", "[1]"),
    ):
        write(shown, "value", text)
        assert shown.given[-1] == {"property": "a", "value": value}
        assert type(shown.given[-1]["value"]) is type(value)


def test_what_does_not_fit_is_told_in_the_words_of_the_form_and_not_given(form):
    shown = form("readFile")
    shown.show_parameters({"path": "a", "property": "p"}, anew=True)
    shown.more_button.click()
    for name, text, words in (
        ("maxBytes", "0", "Max bytes must be at least 1."),
        ("maxBytes", "many", "Write a whole number, for example 20."),
        ("path", "", "It is blank."),
        ("property", "", "It needs a 'Property' or a 'Data type' for what it finds."),
    ):
        write(shown, name, text)
        assert words in said(shown), said(shown)
    assert shown.parameters == {"path": "a", "property": "p"}


def test_a_form_that_is_begun_says_what_is_still_to_be_given(form):
    shown = form("httpRequest", begun=True)
    shown.show_parameters({}, anew=True)
    assert shown.lacks == "Still to be given: URL, Hosts."
    write(shown, "url", "http://a.example/")
    write(shown, "hosts", "a b")
    assert shown.lacks == "Put right first: Hosts."
    write(shown, "hosts", "a.example")
    assert shown.lacks == ""
    write(shown, "url", "")
    assert shown.lacks == "Still to be given: URL."


class Odd(Parameters):
    """Does something nobody has thought of yet.

    More of it.
    """

    name: str = Member(description="Whatever.")
    nested: dict[str, dict[str, int]] = Member({}, description="Deep.")
    only: tuple[str, ...] | None = Member(None, description="Which.")
    share: float = Member(0.5, ge=0, le=1)


def test_a_kind_of_a_later_version_has_its_form_and_its_place_in_the_list(form, qtbot, monkeypatch):
    kinds = {**KINDS, "oddOne": Odd}
    for module in ("designer.forms.kinds", "engine.kinds"):
        monkeypatch.setattr(f"{module}.KINDS", kinds)
    shown = form("oddOne")
    shown.show_parameters({"name": "n", "nested": {"a": {"b": 1}}}, anew=True)
    write(shown, "nested", '{"a": {"b": 2}}')
    shown.more_button.click()
    assert editor(shown, "share").placeholderText() == "0.5 (the default)"
    write(shown, "only", "x\ny")
    assert shown.given[-1] == {"name": "n", "nested": {"a": {"b": 2}}, "only": ["x", "y"]}
    write(shown, "only", "[]")
    assert shown.given[-1]["only"] == []
    write(shown, "only", "")
    assert "only" not in shown.given[-1]
    shown.show_parameters({"name": "n", "only": []}, anew=True)
    assert editor(shown, "only").toPlainText() == "[]"
    new = NewAction("", ())
    qtbot.addWidget(new)
    assert new.kinds.item(new.kinds.count() - 1).text() == "Odd one"
    new.kinds.setCurrentRow(new.kinds.count() - 1)
    new.show()
    assert "Does something nobody has thought of yet." in said(new)


def test_a_new_action_keeps_what_another_kind_asks_for_too(qtbot):
    new = NewAction("note", {"taken"})
    qtbot.addWidget(new)
    new.show()
    enough: list[object] = []
    new.checked.connect(enough.append)
    write(new, "property", "seen")
    new.kinds.setCurrentRow(list(KINDS).index("templateToProperty"))
    assert editor(new, "property").text() == "seen"
    write(new, "template", "Hello")
    assert enough[-1:] == [True]
    assert (new.key, new.entry) == (
        "note",
        {"kind": "templateToProperty", "parameters": {"property": "seen", "template": "Hello"}},
    )
    write(new, "key", "taken")
    assert enough[-1:] == [False]
    assert "There is an action 'taken' already." in said(new)
    write(new, "key", " ")
    assert "The action needs a key." in said(new)


def test_tab_goes_from_the_key_through_the_parameters(form):
    shown = form("ask")
    before = QLineEdit(shown)
    shown.come_after(before)
    chain: list[QWidget] = []
    widget = before.nextInFocusChain()
    while widget is not None and widget is not before:
        chain.append(widget)
        widget = widget.nextInFocusChain()
    names = [each.objectName() for each in chain]
    order = [name.rpartition(".")[2] for name in names if name.startswith("field.action.")]
    assert order == ["text", "property", "choices"]


def test_the_front_offers_what_the_forms_are_drawn_from():
    assert engine.KINDS is KINDS
    assert isinstance(KINDS["ask"].model_json_schema()["description"], str)


WORDS = st.text(max_size=6)


@given(st.lists(WORDS, max_size=4).map(tuple))
def test_entries_are_read_as_they_are_spelled(entries):
    assert as_entries(spelled_entries(entries)) == entries


@given(st.dictionaries(WORDS, WORDS, max_size=4))
def test_pairs_are_read_as_they_are_spelled(pairs):
    assert as_pairs(spelled_pairs(pairs)) == pairs


@given(st.text(max_size=6) | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_single_values_are_read_as_they_are_spelled(value):
    read = as_scalar(spelled_scalar(value))
    assert (read, type(read)) == (value, type(value))
    assert as_scalar(spelled_scalar(NULL)) is NULL


@pytest.mark.parametrize("text", ["a", "= b", "a = 1\na = 2"])
def test_lines_that_are_no_pairs_are_refused_in_plain_words(text):
    with pytest.raises(ValueError, match=r"Write a name, an equals sign|is there twice"):
        as_pairs(text)


def test_choices_are_drawn_as_such(form):
    shown = form("loadRows", begun=True)
    box = editor(shown, "format")
    assert isinstance(box, QComboBox)
    assert [box.itemText(i) for i in range(box.count())] == ["Not set", "csv", "json", "jsonl"]
