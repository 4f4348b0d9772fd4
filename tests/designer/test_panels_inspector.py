"""The inspector: fields of the selected node and of the tree, and where branches lead."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QWidget,
)

from designer.document import clipboard, edits
from designer.document.document import Document
from designer.document.draft import Draft
from designer.panels.inspector import Inspector
from engine import OpaqueNode, TimeSpan
from tests.designer.drafts import empty, targets, triage


@pytest.fixture
def document(bench) -> Document:
    made = Document(triage())
    bench.add(made)
    return made


@pytest.fixture
def inspector(qtbot, bench, document) -> Inspector:
    made = Inspector(bench)
    qtbot.addWidget(made)
    made.resize(320, 900)
    made.show()
    return made


def find(inspector, name, kind=QWidget):
    (found,) = (w for w in inspector.findChildren(kind, name) if w.isVisible())
    return found


def there(inspector, name):
    return any(w.isVisible() for w in inspector.findChildren(QWidget, name))


def type_into(field, text):
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)


def choose(combo, text):
    index = combo.findText(text)
    combo.setCurrentIndex(index)
    combo.activated.emit(index)


def words(inspector):
    return inspector.node.empty.text


def test_it_says_what_to_do_when_there_is_nothing_to_show(qtbot, bench):
    inspector = Inspector(bench)
    qtbot.addWidget(inspector)
    assert "No tree is open" in words(inspector)
    document = Document(empty())
    bench.add(document)
    assert "This tree is empty" in words(inspector)
    bench.add(Document(triage()))
    assert "No node selected" in words(inspector)


def test_several_nodes_show_the_fields_they_share(inspector, document):
    document.select({"ask", "good"})
    assert [there(inspector, f"field.{member}") for member in ("name", "description", "task", "id")] == [
        True,
        True,
        False,
        False,
    ]
    assert any("2 nodes selected" in label.text() for label in inspector.findChildren(QLabel))
    document.select({"bad", "good"})
    verdict = find(inspector, "field.verdict", QLineEdit)
    assert (verdict.text(), verdict.placeholderText()) == ("", "Different values")


def test_a_shared_field_is_set_in_every_node_as_one_step(inspector, document):
    document.select({"bad", "good"})
    type_into(find(inspector, "field.verdict", QLineEdit), "done")
    assert [document.draft.tree.nodes[i].verdict for i in ("good", "bad")] == ["done", "done"]
    assert document.undo_stack.count() == 1
    assert document.undo_stack.undoText() == "Edit verdict of 2 nodes"
    document.undo()
    assert find(inspector, "field.verdict", QLineEdit).placeholderText() == "Different values"


def test_answers_of_several_questions_are_set_together(inspector, document):
    document.edit("Duplicate", lambda d: clipboard.put(d, clipboard.take(d, {"ask"})))
    document.select({"ask", "ask-2"})
    answers = find(inspector, "field.answers", QPlainTextEdit)
    assert answers.toPlainText() == "yes\nno"
    answers.setPlainText("yes\nnever")
    assert document.draft.tree.nodes["ask-2"].answers == ("yes", "never")
    assert targets(document.draft, "ask") == {"yes": "good", "never": "bad", "unknown": "known"}


def test_escape_takes_back_an_id_that_is_being_written(inspector, document):
    document.select({"ask"})
    line = find(inspector, "field.id", QLineEdit)
    type_into(line, "other")
    QTest.keyClick(line, Qt.Key.Key_Escape)
    assert line.text() == "ask"
    line.clearFocus()
    assert "ask" in document.draft.tree.nodes


@pytest.mark.parametrize(
    ("node", "fields"),
    [
        ("load", ["name", "id", "actionKey", "description", "transitions.0", "transitions.2"]),
        ("ask", ["name", "id", "task", "description", "answers.0", "answers.1", "transitions.2"]),
        ("known", ["name", "id", "predicateKey", "predicateParameters.key", "transitions.1"]),
        ("good", ["name", "id", "verdict", "description"]),
    ],
)
def test_each_kind_of_node_has_its_own_fields(inspector, document, node, fields):
    document.select({node})
    assert [name for name in fields if not there(inspector, f"field.{name}")] == []


def test_a_visit_to_a_field_is_one_undo_step(inspector, document):
    document.select({"ask"})
    type_into(find(inspector, "field.task"), "Is it?")
    assert document.draft.tree.nodes["ask"].task == "Is it?"
    assert document.undo_stack.count() == 1
    document.undo()
    assert find(inspector, "field.task").toPlainText() == "Is it fine?"
    assert document.clean


def test_each_visit_is_a_step_of_its_own(inspector, document):
    document.select({"ask"})
    for name in ("field.name", "field.task", "field.name"):
        type_into(find(inspector, name), "new words")
        type_into(find(inspector, "field.description"), "x")
    assert document.undo_stack.count() > 2


def test_another_node_of_the_same_kind_shows_its_own_values(inspector, document):
    document.select({"good"})
    assert find(inspector, "field.verdict").text() == "supported"
    document.select({"bad"})
    assert find(inspector, "field.verdict").text() == "refused"
    type_into(find(inspector, "field.verdict"), "no")
    assert document.draft.tree.nodes["good"].verdict == "supported"
    assert document.draft.tree.nodes["bad"].verdict == "no"


def test_an_id_is_renamed_everywhere_when_enter_is_pressed(inspector, document):
    document.select({"good"})
    field = find(inspector, "field.id")
    type_into(field, "fine")
    assert "good" in document.draft.tree.nodes
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert targets(document.draft, "ask")["yes"] == "fine"
    assert document.selection == {"fine"}
    assert find(inspector, "field.id") is field
    assert document.undo_stack.count() == 1
    document.undo()
    assert field.text() == "good"


@pytest.mark.parametrize(
    ("typed", "reason"), [("bad", "Another node is called bad."), ("  ", "A node needs an id.")]
)
def test_an_id_that_may_not_be_is_refused_while_it_is_typed(inspector, document, typed, reason):
    document.select({"good"})
    field = find(inspector, "field.id")
    type_into(field, typed)
    assert field.parent().note.text == reason
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert document.clean
    document.select({"ask"})
    assert find(inspector, "field.id").parent().note.text == ""


def note_of(inspector, text):
    return any(w.isVisible() and getattr(w, "text", "") == text for w in inspector.findChildren(QWidget))


def answers(document):
    return document.draft.tree.nodes["ask"].answers


def begin(inspector, document):
    """Begin an answer; its line."""
    document.select({"ask"})
    find(inspector, "button.addAnswer", QPushButton).click()
    return find(inspector, "field.answers.2", QLineEdit)


def test_an_answer_is_there_once_it_has_a_word(inspector, document):
    begun = begin(inspector, document)
    assert begun.hasFocus()
    assert (begun.text(), answers(document)) == ("", ("yes", "no"))
    assert document.clean
    QTest.keyClicks(begun, "later")
    assert document.draft.tree.nodes["ask"].branches() == ("yes", "no", "later", "unknown")
    assert document.undo_stack.count() == 1
    assert document.undo_stack.undoText() == "Add answer"
    document.undo()
    assert (begun.text(), answers(document)) == ("", ("yes", "no"))


@pytest.mark.parametrize("typed", ["yes", "unknown"])
def test_of_a_refused_new_answer_the_tree_has_nothing(inspector, document, typed):
    begun = begin(inspector, document)
    QTest.keyClicks(begun, typed)
    assert answers(document) == ("yes", "no")
    assert (begun.text(), begun.property("invalid")) == (typed, True)
    assert document.clean
    QTest.keyClicks(begun, "!")
    assert answers(document) == ("yes", "no", f"{typed}!")


def test_an_answer_that_was_only_begun_goes_when_it_is_left(inspector, document, qtbot):
    begin(inspector, document)
    find(inspector, "field.answers.0", QLineEdit).setFocus()
    qtbot.waitUntil(lambda: not there(inspector, "button.removeAnswer.2"))
    assert document.clean


def test_enter_goes_on_to_the_next_answer_and_adds_one_after_a_word_only(inspector, document):
    document.select({"ask"})
    first, second = (find(inspector, f"field.answers.{i}", QLineEdit) for i in range(2))
    first.setFocus()
    QTest.keyClick(first, Qt.Key.Key_Return)
    assert second.hasFocus()
    QTest.keyClick(second, Qt.Key.Key_Return)
    begun = find(inspector, "field.answers.2", QLineEdit)
    assert begun.hasFocus()
    QTest.keyClick(begun, Qt.Key.Key_Return)
    assert not there(inspector, "field.answers.3") or not find(inspector, "field.answers.3").hasFocus()
    assert document.clean


def test_a_refused_word_leaves_the_answer_as_it_was_before_the_visit(inspector, document):
    document.select({"ask"})
    line = find(inspector, "field.answers.1", QLineEdit)
    type_into(line, "ye")
    assert answers(document) == ("yes", "ye")
    QTest.keyClicks(line, "s")
    assert answers(document) == ("yes", "no")
    assert note_of(inspector, "yes is already an answer.")
    assert document.clean
    QTest.keyClick(line, Qt.Key.Key_Escape)
    assert (line.text(), line.property("invalid")) == ("no", False)


def test_a_number_that_cannot_be_read_leaves_the_limit_as_it_was(inspector, document):
    inspector.setCurrentWidget(inspector.tree)
    type_into(find(inspector, "field.maxLlmCalls"), "12x")
    assert document.draft.tree.budget is None
    assert document.clean


def test_what_the_own_undo_of_a_text_takes_back_leaves_the_document_clean(inspector, document):
    document.select({"ask"})
    field = find(inspector, "field.name", QLineEdit)
    type_into(field, "x")
    assert not document.clean
    field.clearFocus()
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert (field.text(), document.clean) == ("", True)


def test_a_new_node_selected_on_the_canvas_is_shown_in_its_tab(inspector, document):
    inspector.setCurrentWidget(inspector.tree)
    document.select({"ask"})
    assert inspector.currentWidget() is inspector.node
    inspector.setCurrentWidget(inspector.json)
    document.select({"good"})
    assert inspector.currentWidget() is inspector.json


def test_nothing_is_cut_off_where_the_panel_is_narrowest(inspector, document, qapp):
    inspector.resize(inspector.minimumWidth(), 900)
    for node in document.draft.tree.nodes:
        document.select({node})
        qapp.processEvents()
        page = inspector.node.content.widget()
        assert page.minimumSizeHint().width() <= inspector.minimumWidth() - 11, node


def test_renaming_an_answer_keeps_where_it_leads(inspector, document):
    document.select({"ask"})
    type_into(find(inspector, "field.answers.0"), "sure")
    assert targets(document.draft, "ask") == {"sure": "good", "no": "bad", "unknown": "known"}
    assert document.undo_stack.count() == 1


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("no", "no is already an answer."),
        ("unknown", "The branch unknown is always there and is no answer of its own."),
    ],
)
def test_an_answer_that_may_not_be_is_refused_where_it_is_typed(inspector, document, typed, reason):
    document.select({"ask"})
    line = find(inspector, "field.answers.0")
    line.setFocus()
    line.setText(typed)
    line.textEdited.emit(typed)
    assert document.draft.tree.nodes["ask"].answers == ("yes", "no")
    assert any(w.isVisible() and getattr(w, "text", "") == reason for w in inspector.findChildren(QWidget))
    assert line.text() == typed


def test_removing_an_answer_removes_its_branch(inspector, document):
    document.select({"ask"})
    find(inspector, "button.removeAnswer.0", QToolButton).click()
    assert targets(document.draft, "ask") == {"no": "bad", "unknown": "known"}
    assert find(inspector, "field.answers.0").text() == "no"


def test_an_answer_moves_with_its_branch_by_alt_and_an_arrow(inspector, document):
    document.select({"ask"})
    line = find(inspector, "field.answers.0")
    line.setFocus()
    QTest.keyClick(line, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert document.draft.tree.nodes["ask"].answers == ("no", "yes")
    assert targets(document.draft, "ask") == {"no": "bad", "yes": "good", "unknown": "known"}
    moved = find(inspector, "field.answers.1")
    assert moved.hasFocus()
    QTest.keyClick(moved, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert document.draft.tree.nodes["ask"].answers == ("no", "yes")


def test_a_branch_is_led_to_another_node_or_nowhere(inspector, document):
    document.select({"ask"})
    combo = find(inspector, "field.transitions.0", QComboBox)
    assert combo.currentText() == "supported"
    choose(combo, "refused")
    assert targets(document.draft, "ask")["yes"] == "bad"
    choose(find(inspector, "field.transitions.0", QComboBox), "Nowhere yet")
    assert "yes" not in targets(document.draft, "ask")
    document.undo()
    assert find(inspector, "field.transitions.0", QComboBox).currentText() == "refused"


def test_a_target_that_is_not_there_is_named(inspector, document):
    document.edit("Connect", lambda draft: edits.connect(draft, "ask", "yes", "ghost"))
    document.select({"ask"})
    combo = find(inspector, "field.transitions.0", QComboBox)
    assert combo.currentIndex() == -1
    assert combo.placeholderText() == "ghost is missing"


def test_a_branch_that_belongs_to_no_answer_can_be_removed(inspector, document):
    document.edit("Connect", lambda draft: edits.connect(draft, "ask", "stray", "bad"))
    document.select({"ask"})
    find(inspector, "button.removeAnswer.3", QToolButton).click()
    assert "stray" not in targets(document.draft, "ask")


def test_a_new_predicate_keeps_only_the_parameters_it_takes(inspector, document):
    document.select({"known"})
    choose(find(inspector, "field.predicateKey", QComboBox), "propertyEquals")
    type_into(find(inspector, "field.predicateParameters.value"), "5")
    assert document.draft.tree.nodes["known"].predicate_parameters == {"key": "order", "value": "5"}
    choose(find(inspector, "field.predicateKey", QComboBox), "dataCountAtLeast")
    assert document.draft.tree.nodes["known"].predicate_parameters is None
    type_into(find(inspector, "field.predicateParameters.min"), "2")
    assert document.draft.tree.nodes["known"].predicate_parameters == {"min": 2}


def test_parameters_of_an_unknown_predicate_are_edited_as_json(inspector, document):
    document.edit("Edit", lambda draft: edits.set_field(draft, "known", "predicateKey", "elsewhere"))
    document.select({"known"})
    field = find(inspector, "field.predicateParameters", QPlainTextEdit)
    assert json.loads(field.toPlainText()) == {"key": "order"}
    field.setFocus()
    field.setPlainText('{"key": [1, true]}')
    assert document.draft.tree.nodes["known"].predicate_parameters == {"key": [1, True]}
    field.setPlainText("[1]")
    assert document.draft.tree.nodes["known"].predicate_parameters == {"key": "order"}


def test_a_node_can_be_made_the_start(inspector, document):
    document.select({"load"})
    assert not there(inspector, "button.start")
    document.select({"ask"})
    find(inspector, "button.start", QPushButton).click()
    assert document.draft.tree.start_node_id == "ask"
    assert not there(inspector, "button.start")


def test_a_problem_leads_to_its_field(inspector, document):
    for node, field, name in (
        ("ask", "task", "field.task"),
        ("ask", "answers", "field.answers.0"),
        ("known", "predicateParameters", "field.predicateParameters.key"),
        ("good", "verdict", "field.verdict"),
        (None, "startNodeId", "field.startNodeId"),
        (None, "maxLlmCalls", "field.maxLlmCalls"),
    ):
        inspector.focus_field(node, field)
        assert find(inspector, name).hasFocus(), name
        assert node is None or document.selection == {node}


def test_a_missing_branch_leads_to_its_choice(inspector, document):
    document.edit("Disconnect", lambda draft: edits.disconnect(draft, "ask", "no"))
    inspector.focus_field("ask", "transitions")
    assert find(inspector, "field.transitions.1").hasFocus()


def test_problems_are_shown_at_the_field_and_go_when_it_is_right(inspector, document):
    document.select({"ask"})
    document.edit("Edit", lambda draft: edits.set_field(draft, "ask", "task", ""))
    document.check_now()
    task = find(inspector, "field.task")
    assert task.parent().note.text == "Write what is asked."
    assert task.property("invalid") is True
    type_into(task, "Is it?")
    document.check_now()
    assert task.parent().note.text == ""


def test_a_node_of_an_unknown_type_keeps_its_name_and_says_why(qtbot, bench, document, inspector):
    tree = document.draft.tree
    odd = Draft(tree.replace(nodes={**tree.nodes, "odd": OpaqueNode(type="<b>loop</b>", name="Odd")}))
    document.edit("Add", lambda _: odd)
    document.check_now()
    document.select({"odd"})
    assert find(inspector, "field.name").text() == "Odd"
    assert not there(inspector, "button.addAnswer")


def test_the_tree_has_its_fields_its_budget_and_its_parameters(inspector, document):
    inspector.setCurrentWidget(inspector.tree)
    type_into(find(inspector, "field.maxLlmCalls"), "3")
    assert document.draft.tree.budget.max_llm_calls == 3
    type_into(find(inspector, "field.maxElapsedTime"), "00:00:30")
    assert document.draft.tree.budget.max_elapsed_time == TimeSpan.of_seconds(30)
    choose(find(inspector, "field.startNodeId", QComboBox), "ask")
    assert document.draft.tree.start_node_id == "ask"
    type_into(find(inspector, "field.version"), "x")
    assert document.draft.tree.version == 1
    document.edit("Edit", lambda draft: edits.set_field(draft, "ask", "task", "Is {{order}} fine?"))
    labels = [
        w.text() for w in inspector.tree.findChildren(QWidget) if hasattr(w, "text") and callable(w.text)
    ]
    assert "Parameters used: {{order}}" in labels


def test_the_json_is_that_of_the_file(inspector, document):
    inspector.setCurrentWidget(inspector.json)
    text = find(inspector, "field.json", QPlainTextEdit)
    assert json.loads(text.toPlainText())["treeId"] == "triage"
    assert text.isReadOnly()
    document.select({"ask"})
    assert json.loads(text.toPlainText())["answers"] == ["yes", "no"]


def test_another_document_is_shown_instead(inspector, bench, document):
    document.select({"ask"})
    other = Document(triage())
    bench.add(other)
    assert "No node selected" in words(inspector)
    other.select({"good"})
    type_into(find(inspector, "field.verdict", QLineEdit), "x")
    assert document.clean
    assert not other.clean
    bench.remove(other)
    assert find(inspector, "field.task").toPlainText() == "Is it fine?"
