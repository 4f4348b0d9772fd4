"""The history: every step by its name, and a click that goes there."""

import pytest

from designer.document import edits
from designer.document.document import Document
from designer.document.draft import Place
from designer.panels.history import HistoryPanel
from tests.designer.drafts import empty, triage


@pytest.fixture
def document(bench) -> Document:
    made = Document(triage())
    bench.add(made)
    return made


@pytest.fixture
def panel(qtbot, bench, document) -> HistoryPanel:
    made = HistoryPanel(bench)
    qtbot.addWidget(made)
    made.show()
    return made


def work(document):
    document.edit("Rename node", lambda d: edits.rename_node(d, "ask", "question"))
    document.edit("Move node", lambda d: edits.move_nodes(d, {"bad": Place(1, 1)}))
    document.edit("Delete node", lambda d: edits.remove_nodes(d, {"good"}))


def test_every_step_is_listed_by_its_name_and_the_last_is_marked(panel, document):
    assert "Nothing changed yet" in panel.empty.text
    work(document)
    assert [step.label for step in panel.table.rows] == [
        "As it was opened",
        "Rename node",
        "Move node",
        "Delete node",
    ]
    assert [step.number for step in panel.table.rows if step.current] == [3]
    assert [step.number for step in panel.table.rows if step.saved] == [0]


def test_a_click_goes_back_and_forward_to_a_step(panel, document):
    work(document)
    last = document.draft
    panel.table.opened.emit(panel.table.rows[1])
    assert "question" in document.draft.tree.nodes
    assert document.draft.places["bad"] != Place(1, 1)
    assert [step.done for step in panel.table.rows] == [True, True, False, False]
    panel.table.opened.emit(panel.table.rows[0])
    assert document.draft.tree == triage().tree
    assert document.clean
    panel.table.opened.emit(panel.table.rows[3])
    assert document.draft is last


def test_a_step_gone_back_to_is_not_added_to(panel, document):
    move = {"bad": Place(1, 1)}
    document.edit("Move node", lambda d: edits.move_nodes(d, move), "drag")
    work(document)
    panel.table.opened.emit(panel.table.rows[1])
    document.edit("Move node", lambda d: edits.move_nodes(d, {"bad": Place(2, 2)}), "drag")
    assert [step.label for step in panel.table.rows] == ["As it was opened", "Move node", "Move node"]


def test_it_follows_the_current_document(panel, bench, document):
    work(document)
    bench.add(Document(empty()))
    assert len(panel.steps) == 1
    bench.remove(bench.current)
    assert len(panel.table.rows) == 4


def test_a_panel_nobody_looks_at_makes_no_rows(panel, document):
    panel.hide()
    work(document)
    assert len(panel.table.rows) == 1
    panel.show()
    assert len(panel.table.rows) == 4


def test_documents_and_panel_can_go_in_any_order(panel, bench, document):
    work(document)
    bench.remove(document)
    assert panel.steps == ()
    assert "No tree is open" in panel.empty.text
