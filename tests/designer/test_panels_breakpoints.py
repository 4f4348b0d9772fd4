"""The breakpoints panel: the list with its keys, the form below it, and what a run shows in it."""

from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from designer.document import edits
from designer.document.breakpoints import Breakpoint, breakpoint_at, breakpoints, put, toggle
from designer.document.document import Document
from designer.panels.breakpoints import BreakpointsPanel, when
from designer.running import RunState
from designer.tasks import cancel_all
from tests.designer.drafts import empty, triage
from tests.designer.waiting import until


@pytest.fixture
def document(bench) -> Document:
    made = Document(edits.remove_nodes(edits.set_start(triage(), "ask"), {"load"}))
    bench.add(made)
    return made


@pytest.fixture
def panel(qtbot, bench, document) -> BreakpointsPanel:
    made = BreakpointsPanel(bench)
    qtbot.addWidget(made)
    made.resize(260, 700)
    made.show()
    return made


@pytest.fixture
def drive(aloop, bench):
    """Run a story in the loop, and end the run after it."""

    def run(story):
        async def whole():
            try:
                await story()
            finally:
                bench.running.cancel()
                await bench.running.ended()
                await cancel_all()

        aloop.run_until_complete(whole())

    return run


def mark(document, *wanted):
    for one in wanted:
        document.edit("Set breakpoint", partial(lambda one, draft: put(draft, one), one))


def rows(panel):
    return [(row.where, row.when) for row in panel.table.rows]


def chosen(panel):
    return panel.table.row.breakpoint.spot if panel.table.row else None


def type_into(panel, member, text):
    field = panel.form.fields[member]
    field.editor.setFocus()
    field.editor.selectAll()
    QTest.keyClicks(field.editor, text)
    return field


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (Breakpoint("ask"), "always"),
        (Breakpoint("ask", hits=1), "1st time"),
        (Breakpoint("ask", hits=3), "3rd time"),
        (Breakpoint("ask", hits=12), "12th time"),
        (Breakpoint("ask", hits=22), "22nd time"),
        (Breakpoint("ask", condition=" confidence > 0.5 "), "when confidence > 0.5"),
        (Breakpoint("ask", hits=2, condition="late"), "2nd time, when late"),
        (Breakpoint("ask", message="got {answer}"), "writes a line"),
        (Breakpoint("ask", hits=4, message="got {answer}"), "writes a line, 4th time"),
    ],
)
def test_when_a_breakpoint_counts_is_told_in_a_few_words(one, words):
    assert when(one) == words


def test_what_it_is_set_on_and_when_it_counts_is_listed_in_the_order_of_the_tree(panel, document):
    assert "No breakpoints" in panel.empty.text
    assert "press F9" in panel.empty.text
    document.edit("Name", lambda d: edits.set_field(d, "ask", "name", "Is it fine?"))
    mark(document, Breakpoint("good", enabled=False), Breakpoint("ask", "no", hits=2), Breakpoint("ask"))
    assert rows(panel) == [
        ("Is it fine?", "always"),
        ("Is it fine? → no", "2nd time"),
        ("supported", "off, always"),
    ]
    assert [row.sign for row in panel.table.rows] == ["breakpoint", "breakpoint", "breakpoint-off"]
    assert panel.currentWidget() is panel.content


def test_with_no_tree_open_the_panel_says_so(panel, bench, document):
    bench.remove(document)
    assert "No tree is open" in panel.empty.text


def test_a_new_one_is_chosen_and_can_be_said_more_of_at_once(panel, document):
    mark(document, Breakpoint("good"))
    assert chosen(panel) == ("good", None)
    assert panel.form.isVisible()
    mark(document, Breakpoint("ask"))
    assert chosen(panel) == ("ask", None)


def test_one_that_is_being_written_in_stays_chosen_when_another_is_set(panel, document):
    mark(document, Breakpoint("good"))
    type_into(panel, "condition", "visit > 1")
    mark(document, Breakpoint("ask"))
    assert chosen(panel) == ("good", None)


def test_of_a_tree_that_is_opened_the_first_one_is_chosen_and_nothing_typed_is_carried_over(
    panel, bench, document
):
    mark(document, Breakpoint("good"), Breakpoint("ask"))
    type_into(panel, "condition", "visit =")
    bench.add(Document(put(put(triage(), Breakpoint("ask")), Breakpoint("bad"))))
    assert rows(panel) == [("ask", "always"), ("refused", "always")]
    assert chosen(panel) == ("ask", None)
    assert panel.form.fields["condition"].editor.text() == ""
    assert panel.form.fields["condition"].note.text == ""


def enabled(document, node):
    there = breakpoint_at(document.draft, node)
    assert there is not None
    return there.enabled


@pytest.mark.parametrize("how", ["click", "enter"])
def test_a_click_or_enter_goes_to_the_node_and_leaves_the_focus_where_it_is(panel, bench, document, how):
    mark(document, Breakpoint("good"))
    revealed: list[object] = []
    bench.reveal_requested.connect(revealed.append)
    panel.table.setFocus()
    if how == "click":
        at = panel.table.visualRect(panel.table.model().index(0, 1)).center()
        QTest.mouseClick(
            panel.table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at
        )
    else:
        QTest.keyClick(panel.table, Qt.Key.Key_Return)
    assert document.selection == {"good"}
    assert revealed == ["good"]
    assert panel.table.hasFocus()


def test_space_switches_one_off_and_on(panel, document):
    mark(document, Breakpoint("good"))
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_Space)
    assert rows(panel) == [("supported", "off, always")]
    assert document.undo_stack.undoText() == "Switch breakpoint off"
    assert not panel.form.on.isChecked()
    QTest.keyClick(panel.table, Qt.Key.Key_Space)
    assert rows(panel) == [("supported", "always")]
    document.undo()
    document.undo()
    assert rows(panel) == [("supported", "always")]


def test_a_click_on_the_sign_switches_it_off_and_goes_nowhere(panel, document):
    mark(document, Breakpoint("good"))
    at = panel.table.visualRect(panel.table.model().index(0, 0)).center()
    QTest.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
    assert not enabled(document, "good")
    assert document.selection == frozenset()


def test_delete_removes_the_chosen_one_and_no_node(panel, document):
    mark(document, Breakpoint("ask"), Breakpoint("good"), Breakpoint("bad"))
    document.select({"ask"})
    panel.table.choose(1)
    panel.table.setFocus()
    nodes = document.draft.tree.nodes
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    assert [row[0] for row in rows(panel)] == ["ask", "refused"]
    assert document.draft.tree.nodes == nodes
    assert chosen(panel) == ("bad", None)
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    assert breakpoints(document.draft) == ()
    assert "No breakpoints" in panel.empty.text
    document.undo()
    assert chosen(panel) == ("ask", None)


def test_a_renamed_node_keeps_its_breakpoint_and_the_choice(panel, document):
    mark(document, Breakpoint("bad"), Breakpoint("ask", condition="visit > 1"))
    panel.table.choose(0)
    document.edit("Rename", lambda d: edits.rename_node(d, "ask", "question"))
    assert rows(panel) == [("question", "when visit > 1"), ("refused", "always")]
    assert chosen(panel) == ("question", None)


def test_what_is_typed_is_one_step_that_can_be_undone(panel, document):
    mark(document, Breakpoint("ask"))
    type_into(panel, "condition", "visit > 10")
    type_into(panel, "hits", "2")
    type_into(panel, "message", "at {node}")
    assert breakpoint_at(document.draft, "ask") == Breakpoint(
        "ask", hits=2, condition="visit > 10", message="at {node}"
    )
    assert document.undo_stack.count() == 4
    assert document.undo_stack.undoText() == "Edit breakpoint"
    for _ in range(3):
        document.undo()
    assert breakpoint_at(document.draft, "ask") == Breakpoint("ask")
    assert [field.editor.text() for field in panel.form.fields.values()] == ["", "", ""]


@pytest.mark.parametrize(
    ("member", "text", "words"),
    [
        ("condition", "visit = 3", "At '= 3': Two values are compared with ==."),
        ("condition", "visit >", "Something is missing at the end."),
        ("condition", "len(answer) > 2", "At 'len(answer) > 2': Functions cannot be called."),
        ("message", "got {answer =}", "At '=': Two values are compared with ==."),
        ("hits", "0", "Count from 1."),
        ("hits", "often", "Write a whole number, for example 20."),
    ],
)
def test_what_cannot_be_read_stays_in_the_field_with_the_reason_and_is_not_stored(
    panel, document, member, text, words
):
    before = Breakpoint("ask", hits=2, condition="late", message="here")
    mark(document, before)
    field = type_into(panel, member, text)
    assert field.note.text == words
    assert field.editor.text() == text
    assert breakpoint_at(document.draft, "ask") == before
    QTest.keyClick(field.editor, Qt.Key.Key_Escape)
    assert field.note.text == ""
    assert field.editor.text() == {"hits": "2", "condition": "late", "message": "here"}[member]


def test_an_emptied_field_means_always(panel, document):
    mark(document, Breakpoint("ask", hits=2, condition="late", message="here"))
    for member in ("condition", "hits", "message"):
        field = type_into(panel, member, "x" if member != "hits" else "1")
        QTest.keyClick(field.editor, Qt.Key.Key_Backspace)
    assert breakpoint_at(document.draft, "ask") == Breakpoint("ask")


def test_the_form_switches_it_too(panel, document):
    mark(document, Breakpoint("ask"))
    panel.form.on.click()
    assert not enabled(document, "ask")
    panel.form.on.click()
    assert enabled(document, "ask")


def test_a_document_that_is_read_only_keeps_its_breakpoints_and_says_why(panel, document):
    mark(document, Breakpoint("ask"))
    document.read_only = "It is open elsewhere."
    field = type_into(panel, "condition", "visit > 1")
    assert field.note.text == "It is open elsewhere."
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    assert breakpoints(document.draft) == (Breakpoint("ask"),)


def test_the_one_a_run_is_paused_at_stands_out(panel, bench, document, drive):
    mark(document, Breakpoint("ask"), Breakpoint("good"))

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.PAUSED)
        assert [(row.when, row.tone) for row in panel.table.rows] == [("hit 1", "accent"), ("always", None)]
        bench.running.resume()
        await until(lambda: bench.running.state is RunState.ASKING)
        assert rows(panel)[0][1] == "always"
        bench.running.answer("yes")
        await until(lambda: bench.running.state is RunState.PAUSED)
        assert [row.when for row in panel.table.rows] == ["always", "hit 1"]

    drive(story)


def test_one_whose_condition_cannot_be_told_stands_out_too(panel, bench, document, drive):
    mark(document, Breakpoint("ask", condition="amount > 3"))

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.PAUSED)
        assert rows(panel) == [("ask", "paused")]

    drive(story)


def test_a_panel_nobody_looks_at_makes_no_rows(panel, document):
    panel.hide()
    mark(document, Breakpoint("ask"))
    assert not panel.table.rows
    panel.show()
    assert rows(panel) == [("ask", "always")]
    assert chosen(panel) == ("ask", None)


def test_documents_and_panel_can_go_in_any_order(panel, bench, document):
    mark(document, Breakpoint("ask"))
    bench.add(Document(empty()))
    bench.remove(bench.current)
    assert rows(panel) == [("ask", "always")]
    bench.remove(document)
    assert not panel.table.rows
    assert not panel.form.isVisible()


def test_a_breakpoint_that_is_set_and_taken_away_leaves_no_form(panel, document):
    document.edit("Set", lambda d: toggle(d, "ask"))
    document.edit("Remove", lambda d: toggle(d, "ask"))
    assert not panel.form.isVisible()
    assert document.draft.design == {}
