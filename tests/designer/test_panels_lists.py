"""Outline, palette and problems: the lists beside the canvas."""

import gc
from random import Random

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItem
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListWidget

from designer.app import put_away
from designer.document import edits
from designer.document.document import Document
from designer.document.draft import Place
from designer.panels.outline import OutlinePanel, outline_of
from designer.panels.palette import MIME, PalettePanel
from designer.panels.problems import ProblemsPanel
from engine import NODE_TYPES, ActionNode, Transition, Tree
from tests.designer.drafts import empty, triage


@pytest.fixture
def document(bench) -> Document:
    made = Document(triage())
    bench.add(made)
    return made


@pytest.fixture
def outline(qtbot, bench, document) -> OutlinePanel:
    made = OutlinePanel(bench)
    qtbot.addWidget(made)
    made.show()
    return made


def lines(outline):
    model, found = outline.view.model(), []

    def walk(parent, depth):
        for row in range(model.rowCount(parent)):
            index = model.index(row, 0, parent)
            mark = index.siblingAtColumn(1).data() or ""
            found.append(f"{'  ' * depth}{index.data()} {mark}".rstrip())
            walk(index, depth + 1)

    walk(outline.view.rootIndex(), 0)
    return found


def index_of(outline, text):
    (found,) = outline.view.model().findItems(
        text, Qt.MatchFlag.MatchRecursive | Qt.MatchFlag.MatchStartsWith
    )
    return found.index()


def test_every_node_is_listed_once_under_the_one_that_reaches_it_first(outline):
    assert lines(outline) == ["load", "  ask  ↗", "    supported  ↗", "    known", "  refused  ↗"]


def written(tree):
    entries = outline_of(tree)

    def under(parent, depth):
        for entry in entries:
            if entry.parent == parent:
                yield f"{'  ' * depth}{entry.name}{'  ↗' if entry.shared > 1 else ''}"
                yield from under(entry.node, depth + 1)

    return [*under(None, 0)]


def test_after_any_edits_the_lines_are_those_of_the_tree_and_no_other_line_is_kept(outline, document):
    def items():
        put_away()
        return sum(type(each) is QStandardItem for each in gc.get_objects())

    others = items() - 2 * len(document.draft.tree.nodes)
    chance = Random(5)
    for number in range(150):
        nodes = list(document.draft.tree.nodes)
        one, other = chance.choice(nodes), chance.choice(nodes)
        before = document.draft
        match chance.randrange(5):
            case 0:
                kind = chance.choice(("action", "condition", "terminal"))
                after = edits.add_node(before, kind, Place(0, 0), f"new{number}")
            case 1:
                after = edits.remove_nodes(before, {one}) if len(nodes) > 3 else before
            case 2:
                after = edits.set_start(before, one)
            case 3:
                branches = before.tree.nodes[one].branches()
                after = edits.connect(before, one, chance.choice(branches), other) if branches else before
            case _:
                after = edits.set_field(before, one, "name", f"name {number}")
        document.edit("Something", lambda _, after=after: after)
        assert lines(outline) == written(document.draft.tree)
    assert items() == others + 2 * len(document.draft.tree.nodes)


def test_what_the_start_does_not_reach_comes_last():
    draft = edits.add_node(triage(), "terminal", Place(0, 0), "lost")
    *_, last = outline_of(draft.tree)
    assert (last.node, last.parent, last.reached) == ("lost", None, False)


def test_a_long_chain_and_a_ring_are_listed_too():
    nodes = {
        str(i): ActionNode(transitions=(Transition(condition="success", next_node_id=str(i + 1)),))
        for i in range(3000)
    }
    ring = Tree(start_node_id="0", nodes={**nodes, "3000": ActionNode(transitions=nodes["0"].transitions)})
    assert [entry.node for entry in outline_of(ring)] == [str(i) for i in range(3001)]


def test_a_selection_is_the_same_in_outline_and_document(outline, document):
    document.select({"known"})
    assert [i.data() for i in outline.view.selectionModel().selectedRows()] == ["known"]
    outline.view.setCurrentIndex(index_of(outline, "ask"))
    assert document.selection == {"ask"}
    QTest.keyClick(outline.view, Qt.Key.Key_Down)
    assert document.selection == {"good"}


def test_a_line_that_is_chosen_is_brought_into_view(outline, bench, qtbot):
    heard: list[str] = []
    bench.reveal_requested.connect(heard.append)
    outline.view.setCurrentIndex(index_of(outline, "ask"))
    QTest.keyClick(outline.view, Qt.Key.Key_Down)
    assert heard == ["ask", "good"]
    outline.view.clicked.emit(index_of(outline, "supported"))
    assert heard == ["ask", "good", "good"]


def test_lines_of_the_same_title_are_told_apart_and_drawn(outline, document):
    for node in ("good", "bad"):
        document.edit("Edit", lambda draft, node=node: edits.set_field(draft, node, "verdict", "done"))
    assert lines(outline) == ["load", "  ask  ↗", "    done · good  ↗", "    known", "  done · bad  ↗"]
    assert outline.minimumWidth() == 200
    outline.resize(200, 300)
    assert not outline.grab().isNull()


def test_several_lines_can_be_selected(outline, document):
    outline.view.selectAll()
    assert document.selection == document.draft.tree.nodes.keys()


def test_enter_opens_the_node(outline, bench, qtbot):
    outline.view.setCurrentIndex(index_of(outline, "ask"))
    with qtbot.waitSignal(bench.place_requested) as heard:
        QTest.keyClick(outline.view, Qt.Key.Key_Return)
    assert heard.args == ["ask", None]


def test_the_filter_finds_names_and_ids(outline, document):
    outline.filter.setText("GOOD")
    assert lines(outline) == ["supported  ↗"]
    document.select({"ask"})
    outline.filter.setText("")
    assert len(lines(outline)) == 5
    assert document.selection == {"ask"}


def test_a_filter_does_not_unselect_what_it_hides(outline, document):
    document.select({"ask"})
    outline.filter.setText("supported")
    assert document.selection == {"ask"}


def test_it_follows_edits_and_keeps_what_was_folded(outline, document):
    outline.view.collapse(index_of(outline, "ask"))
    document.edit("Name", lambda draft: edits.set_field(draft, "known", "name", "Known"))
    assert not outline.view.isExpanded(index_of(outline, "ask"))
    document.edit("Remove", lambda draft: edits.remove_nodes(draft, {"known"}))
    assert "    Known" not in lines(outline)


def test_lines_say_everything_to_a_screen_reader(outline):
    words = index_of(outline, "ask").data(Qt.ItemDataRole.AccessibleTextRole)
    assert words == "ask, Question, reached by 2 branches"


def test_it_teaches_while_there_is_nothing(qtbot, bench):
    outline = OutlinePanel(bench)
    qtbot.addWidget(outline)
    assert "No tree is open" in outline.empty.text
    bench.add(Document(empty()))
    assert "Add one from the palette" in outline.empty.text


@pytest.fixture
def palette(qtbot, bench, document) -> PalettePanel:
    made = PalettePanel(bench)
    qtbot.addWidget(made)
    made.resize(230, 500)
    made.show()
    return made


def test_the_palette_offers_every_kind_of_node_with_a_sentence(palette):
    kinds = palette.findChild(QListWidget)
    offered = [kinds.item(i) for i in range(kinds.count())]
    assert {item.data(Qt.ItemDataRole.UserRole) for item in offered} == NODE_TYPES.keys()
    assert all(". " in item.data(Qt.ItemDataRole.AccessibleTextRole) for item in offered)


def test_a_click_or_enter_asks_for_one_node(palette, qtbot):
    kinds = palette.findChild(QListWidget)
    heard: list[str] = []
    palette.add_requested.connect(heard.append)
    middle = kinds.visualItemRect(kinds.item(0)).center()
    QTest.mouseClick(kinds.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert heard == ["classify"]
    kinds.setCurrentRow(1)
    QTest.keyClick(kinds, Qt.Key.Key_Return)
    assert heard == ["classify", "condition"]


def test_without_a_tree_there_is_nothing_to_add_a_node_to(palette, bench, document):
    kinds = palette.findChild(QListWidget)
    assert (kinds.isEnabled(), palette.hint.text()) == (True, "Click to add a node, or drag it to its place.")
    bench.remove(document)
    assert (kinds.isEnabled(), palette.hint.text()) == (False, "Make or open a tree to add nodes.")


def test_a_dragged_kind_travels_under_our_own_type(palette):
    kinds = palette.findChild(QListWidget)
    data = kinds.mimeData([kinds.item(0)])
    assert bytes(data.data(MIME)) == b"classify"
    assert kinds.supportedDropActions() == Qt.DropAction.CopyAction


@pytest.fixture
def problems(qtbot, bench, document) -> ProblemsPanel:
    document.check_now()
    made = ProblemsPanel(bench)
    qtbot.addWidget(made)
    made.resize(900, 250)
    made.show()
    return made


def test_problems_are_counted_in_the_title_errors_first(problems, document):
    document.edit("Edit", lambda draft: edits.set_field(draft, "ask", "task", ""))
    document.check_now()
    found = problems.table.rows
    assert problems.windowTitle() == f"Problems {len(document.problems):,}"
    assert found[0].severity == "error"
    ranks = [("error", "warning", "info").index(p.severity) for p in found]
    assert ranks == sorted(ranks)


def test_a_click_leads_to_node_and_field(problems, document, bench, qtbot):
    document.edit("Edit", lambda draft: edits.set_field(draft, "ask", "task", ""))
    document.check_now()
    table = problems.table
    row = next(i for i, p in enumerate(table.rows) if p.field == "task")
    with qtbot.waitSignal(bench.place_requested) as heard:
        QTest.mouseClick(
            table.viewport(),
            Qt.MouseButton.LeftButton,
            pos=table.visualRect(table.model().index(row, 0)).center(),
        )
    assert heard.args == ["ask", "task"]
    with qtbot.waitSignal(bench.place_requested) as heard:
        QTest.keyClick(table, Qt.Key.Key_Return)
    assert heard.args == ["ask", "task"]


def test_no_problems_means_ready(problems, bench, document):
    document.edit("Remove", lambda draft: edits.remove_nodes(draft, ["load", "known"]))
    document.edit("Start", lambda draft: edits.set_start(draft, "ask"))
    document.edit("Connect", lambda draft: edits.connect(draft, "ask", "unknown", "bad"))
    document.check_now()
    assert document.problems == ()
    assert problems.windowTitle() == "Problems"
    assert problems.currentWidget() is problems.empty
    assert problems.empty.text == "Nothing wrong Ready to run or export."


def test_names_in_the_list_follow_edits(problems, document):
    shown = [problems.table.model().index(row, 1).data() for row in range(len(problems.table.rows))]
    assert "load" in shown
    found = document.problems
    document.edit("Edit", lambda draft: edits.set_field(draft, "load", "name", "Fetch"))
    assert document.check_now() == found
    assert "Fetch" in [problems.table.model().index(row, 1).data() for row in range(len(found))]


def test_an_empty_tree_is_no_failure(qtbot, bench):
    bench.add(Document(empty()))
    panel = ProblemsPanel(bench)
    qtbot.addWidget(panel)
    assert (panel.windowTitle(), panel.currentWidget()) == ("Problems", panel.empty)
    assert panel.empty.text.startswith("No nodes yet")
