"""Forms drawn from models: what is typed, what is given on, and what is said when it cannot be read."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QFocusEvent, QKeyEvent, QKeySequence, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QStyleOptionComboBox,
    QWidget,
)

from designer.document.names import titles_of
from designer.forms import Column, Combo, Empty, Form, Listing, Pages, Table, plain
from engine import DEFAULT_LIMITS, AnyNode, Budget, ClassifyNode, Problem, TerminalNode, TimeSpan, Tree


class Sample(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    name: str | None = None
    description: str | None = None
    max_calls: int | None = None
    share: float | None = None
    mode: Literal["fast", "slow"] = "fast"
    is_open: bool | None = None
    words: tuple[str, ...] = ()
    extra: dict[str, object] | None = None


class Said:
    """Keeps what a form gives on, and may refuse it."""

    def __init__(self):
        self.changes: list[tuple[str, object, str]] = []
        self.reason: str | None = None

    def __call__(self, member, value, merge):
        self.changes.append((member, value, merge))
        return self.reason

    @property
    def values(self):
        return [(member, value) for member, value, _ in self.changes]


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def form(qtbot, said) -> Form:
    made = Form(Sample, said, defaults={"maxCalls": "10"})
    qtbot.addWidget(made)
    made.set_values(Sample())
    made.show()
    return made


def editor(form, member):
    return form.findChild(QWidget, f"field.{member}")


def visit(form, member, text):
    field = editor(form, member)
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    field.clearFocus()


def note(form, member):
    return form.fields[member].note.text


def test_there_is_one_field_for_each_member_in_the_models_order(form):
    assert list(form.fields) == [
        "name",
        "description",
        "maxCalls",
        "share",
        "mode",
        "isOpen",
        "words",
        "extra",
    ]
    assert isinstance(editor(form, "name"), QLineEdit)
    assert isinstance(editor(form, "description"), QPlainTextEdit)
    assert isinstance(editor(form, "mode"), QComboBox)


def test_a_field_that_is_not_set_shows_the_default(form):
    assert editor(form, "maxCalls").text() == ""
    assert editor(form, "maxCalls").placeholderText() == "10 (the default)"


def test_typing_is_given_on_at_once_under_one_key_a_visit(form, said):
    visit(form, "name", "ab")
    visit(form, "name", "c")
    assert said.values == [("name", "a"), ("name", "ab"), ("name", "c")]
    first, second, third = (merge for _, _, merge in said.changes)
    assert first == second != third


def test_values_arrive_as_what_they_stand_for(form, said):
    visit(form, "maxCalls", "7")
    visit(form, "share", "0.5")
    visit(form, "words", "one")
    assert said.values[-1] == ("words", ("one",))
    assert ("maxCalls", 7) in said.values
    assert said.values[2:4] == [("share", 0.0), ("share", 0.5)] or ("share", 0.5) in said.values


def test_emptying_a_number_unsets_it(form, said):
    form.set_values(Sample(max_calls=7))
    field = editor(form, "maxCalls")
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    assert said.values == [("maxCalls", None)]


@pytest.mark.parametrize(
    ("member", "typed", "words"),
    [
        ("maxCalls", "x", "Write a whole number, for example 20."),
        ("maxCalls", "9" * 5000, "Write a whole number, for example 20."),
        ("share", "half", "Write a number, for example 0.5."),
        ("extra", "{", 'Write a JSON value, for example "text", 3 or true.'),
        ("extra", "NaN", 'Write a JSON value, for example "text", 3 or true.'),
        ("extra", "[" * 3000, 'Write a JSON value, for example "text", 3 or true.'),
    ],
)
def test_what_cannot_be_read_is_said_at_the_field_and_not_given_on(form, said, member, typed, words):
    field = editor(form, member)
    field.setFocus()
    if isinstance(field, QLineEdit):
        field.insert(typed)
        field.textEdited.emit(field.text())
    else:
        field.insertPlainText(typed)
    assert note(form, member) == words
    assert field.property("invalid") is True
    assert said.changes == []


def test_text_that_cannot_be_read_stays_while_something_else_changes(form):
    visit(form, "maxCalls", "x")
    form.set_values(Sample(name="other"))
    assert editor(form, "maxCalls").text() == "x"
    form.set_values(Sample(max_calls=3))
    assert editor(form, "maxCalls").text() == "3"
    assert note(form, "maxCalls") == ""


def test_another_things_values_replace_what_could_not_be_read(form):
    visit(form, "maxCalls", "x")
    form.set_values(Sample(), anew=True)
    assert editor(form, "maxCalls").text() == ""
    assert note(form, "maxCalls") == ""


def test_a_refused_change_is_explained_at_the_field(form, said):
    said.reason = "Another one has this name."
    visit(form, "name", "x")
    assert note(form, "name") == "Another one has this name."


def test_a_value_from_outside_keeps_the_cursor(form, said):
    form.set_values(Sample(name="abcdef", description="first line"))
    for member in ("name", "description"):
        field = editor(form, member)
        field.setFocus()
    line, text = editor(form, "name"), editor(form, "description")
    line.setFocus()
    line.setCursorPosition(3)
    cursor = text.textCursor()
    cursor.setPosition(5)
    text.setTextCursor(cursor)
    form.set_values(Sample(name="abcxyz", description="first words"))
    assert line.cursorPosition() == 3
    assert text.textCursor().position() == 5
    assert said.changes == []


def test_a_focused_text_has_its_own_undo(form, said):
    field = editor(form, "name")
    field.setFocus()
    QTest.keyClicks(field, "ab")
    QTest.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert field.text() == ""
    assert said.values[-1] == ("name", None)


def test_no_break_spaces_and_line_separators_survive_editing(form, said):
    form.set_values(Sample(description="a\u00a0b\u2028c"))
    field = editor(form, "description")
    field.moveCursor(field.textCursor().MoveOperation.End)
    field.insertPlainText("d")
    assert said.values == [("description", "a\u00a0b\u2028cd")]


def test_a_long_text_grows_with_its_lines_up_to_a_point(form):
    field = editor(form, "description")
    low = field.height()
    form.set_values(Sample(description="\n".join("abc")))
    middle = field.height()
    form.set_values(Sample(description="\n" * 500))
    assert low < middle < field.height() < 400


def test_a_choice_gives_on_its_value_and_not_its_words(qtbot, said):
    form = Form(Budget, said, defaults={"onExceeded": DEFAULT_LIMITS.on_exceeded})
    qtbot.addWidget(form)
    form.set_values(Budget())
    combo = editor(form, "onExceeded")
    assert combo.currentText() == "Stop the run (the default)"
    combo.setCurrentIndex(2)
    combo.activated.emit(2)
    assert said.values == [("onExceeded", "warn")]


def test_a_time_span_is_read_in_its_written_form(qtbot, said):
    form = Form(Budget, said)
    qtbot.addWidget(form)
    form.set_values(Budget(max_elapsed_time=TimeSpan.of_seconds(30)))
    field = editor(form, "maxElapsedTime")
    assert field.text() == "00:00:30"
    visit(form, "maxElapsedTime", "00:01:00")
    assert said.values[-1] == ("maxElapsedTime", TimeSpan.of_seconds(60))
    visit(form, "maxElapsedTime", "1 minute")
    assert note(form, "maxElapsedTime") == "Write hours, minutes and seconds, for example 00:00:30."


def test_a_problem_is_shown_under_its_field_and_goes_again(form):
    form.set_problems([Problem("name-blank", "warning", "The name is blank.", field="name")])
    assert note(form, "name") == "The name is blank."
    assert note(form, "description") == ""
    assert form.fields["name"].note.isVisible()
    form.set_problems([])
    assert not form.fields["name"].note.isVisible()


def test_a_key_may_be_another_word_than_those_offered(qtbot, said):
    form = Form(ClassifyNode, said, members=["task"], keys={"task": ["one", "two"]})
    qtbot.addWidget(form)
    form.set_values(ClassifyNode(task="three"))
    combo = editor(form, "task")
    assert combo.currentText() == "three"
    combo.lineEdit().selectAll()
    QTest.keyClicks(combo.lineEdit(), "zz")
    assert said.values[-1] == ("task", "zz")


@pytest.mark.parametrize("text", ["<b>bold</b>", '<img src="file:///dev/zero">', "a & b", "\u202eabc"])
def test_a_label_shows_what_looks_like_markup_as_it_is(qtbot, text):
    label = plain(text)
    qtbot.addWidget(label)
    assert label.textFormat() == Qt.TextFormat.PlainText
    assert label.text() == text


def test_nodes_of_the_same_title_are_told_apart_by_the_ends_of_their_ids():
    nodes: dict[str, AnyNode] = {
        "impact-a-1": ClassifyNode(name="Impact"),
        "impact-b": ClassifyNode(name="Impact"),
        "x": ClassifyNode(name="Twice"),
        "x-2": ClassifyNode(name="Twice"),
        "c": TerminalNode(name="End", verdict="ok"),
        "d": TerminalNode(name="Other\n name"),
    }
    assert titles_of(Tree(nodes=nodes)) == {
        "impact-a-1": "Impact · a-1",
        "impact-b": "Impact · b",
        "x": "Twice · x",
        "x-2": "Twice · x-2",
        "c": "ok",
        "d": "Other name",
    }


def test_a_table_keeps_the_chosen_row_when_it_is_read_again(qtbot):
    table = Table((Column[str]("Word", lambda word: word),), "Words", key=lambda word: word)
    qtbot.addWidget(table)
    heard: list[object] = []
    table.show_rows(["a", "b", "c"])
    table.choose(1)
    table.chosen.connect(heard.append)
    table.show_rows(["z", "a", "b"])
    assert table.row == "b"
    assert table.currentIndex().row() == 2
    table.show_rows(["z"])
    assert not table.currentIndex().isValid()
    assert heard[-1] is None


def test_a_table_tip_is_not_read_as_markup(qtbot):
    table = Table((Column[str]("Word", lambda word: word),), "Words")
    qtbot.addWidget(table)
    table.show_rows(["<b>x</b>"])
    index = table.model().index(0, 0)
    assert index.data() == "<b>x</b>"
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "<p>&lt;b&gt;x&lt;/b&gt;</p>"


def test_pages_show_the_empty_state_until_there_is_something(qtbot):
    content = plain("content")
    pages = Pages(content, Empty("record", "Nothing", "Do this."))
    qtbot.addWidget(pages)
    assert pages.empty.isVisibleTo(pages)
    assert pages.empty.text == "Nothing Do this."
    pages.show_content(["x"])
    assert content.isVisibleTo(pages)
    assert not pages.empty.isVisibleTo(pages)


def wheel(widget):
    at = widget.rect().center()
    event = QWheelEvent(
        QPointF(at),
        QPointF(widget.mapToGlobal(at)),
        QPoint(),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)
    return event.isAccepted()


def test_the_wheel_neither_changes_nor_focuses_a_choice(form, said):
    choice = editor(form, "mode")
    assert not wheel(choice)
    choice.setFocus()
    assert not wheel(choice)
    assert said.changes == []
    assert [e for e in form.findChildren(QWidget) if e.focusPolicy() is Qt.FocusPolicy.WheelFocus] == []


@pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)
def test_the_list_of_a_choice_is_as_wide_as_its_entries_and_not_as_high(qtbot):
    combo = Combo("Answers: ", least=4)
    qtbot.addWidget(combo)
    combo.addItems(["ask me", *(f"a rather long name of the case number {i}" for i in range(72))])
    combo.resize(80, 28)
    combo.show()
    combo.showPopup()
    QApplication.processEvents()
    view = combo.view()
    assert view.viewport().width() >= view.sizeHintForColumn(0)
    shown = view.viewport().height() // view.sizeHintForRow(0)
    assert 10 <= shown <= 15
    combo.hidePopup()


def test_a_caption_stands_before_the_chosen_entry_only(qtbot):
    combo = Combo("Answers: ")
    qtbot.addWidget(combo)
    combo.addItem("ask me")
    option = QStyleOptionComboBox()
    combo.initStyleOption(option)
    assert (option.currentText, combo.itemText(0)) == ("Answers: ask me", "ask me")


@pytest.fixture
def heard(form) -> list[str]:
    """Which of undo and redo reached the window."""
    made: list[str] = []
    for name, keys in (("undo", ["Ctrl+Z"]), ("redo", ["Ctrl+Shift+Z", "Ctrl+Y"])):
        action = QAction(form)
        action.setShortcuts([QKeySequence(key) for key in keys])
        action.triggered.connect(lambda _=False, name=name: made.append(name))
        form.addAction(action)
    return made


CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.mark.parametrize("member", ["name", "description"])
def test_when_a_text_has_nothing_more_to_undo_the_key_reaches_the_document(form, heard, member):
    field = editor(form, member)
    field.setFocus()
    QTest.keyClicks(field, "a")
    QTest.keyClick(field, Qt.Key.Key_Z, CTRL)
    assert heard == []
    QTest.keyClick(field, Qt.Key.Key_Z, CTRL)
    assert heard == ["undo"]
    QTest.keyClick(field, Qt.Key.Key_Z, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert heard == ["undo", "redo"]
    QTest.keyClick(field, Qt.Key.Key_Y, CTRL)
    assert form.fields[member].editor.value() == "a"
    assert heard == ["undo", "redo"]
    QTest.keyClick(field, Qt.Key.Key_Y, CTRL)
    assert heard == ["undo", "redo", "redo"]


def test_a_choice_that_can_be_typed_undoes_its_own_text_first(qtbot, said):
    made = Form(Sample, said, keys={"name": ["load"]})
    qtbot.addWidget(made)
    made.set_values(Sample())
    made.show()
    key = editor(made, "name")
    key.setFocus()
    QTest.keyClicks(key, "a")
    QTest.keyClick(key, Qt.Key.Key_Z, CTRL)
    assert key.currentText() == ""
    asked = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Z, CTRL)
    QApplication.sendEvent(key, asked)
    assert not asked.isAccepted()


def test_a_text_that_is_only_read_leaves_undo_to_the_document(form, heard, qtbot):
    listing = Listing("text")
    form.rows.addWidget(listing)
    listing.show()
    listing.setFocus()
    QTest.keyClick(listing, Qt.Key.Key_Z, CTRL)
    assert heard == ["undo"]


def test_a_menu_that_opens_does_not_end_a_visit(form, said):
    field = editor(form, "name")
    field.setFocus()
    QTest.keyClicks(field, "a")
    for kind in (QEvent.Type.FocusOut, QEvent.Type.FocusIn):
        QApplication.sendEvent(field, QFocusEvent(kind, Qt.FocusReason.PopupFocusReason))
    QTest.keyClicks(field, "b")
    assert len({merge for _, _, merge in said.changes}) == 1


def test_what_is_refused_half_way_is_taken_back_to_what_the_visit_began_with(form, said):
    form.set_values(Sample(max_calls=3))
    visit(form, "maxCalls", "12x")
    assert said.values == [("maxCalls", 1), ("maxCalls", 12), ("maxCalls", 3)]
    assert len({merge for _, _, merge in said.changes}) == 1
    assert editor(form, "maxCalls").text() == "12x"
