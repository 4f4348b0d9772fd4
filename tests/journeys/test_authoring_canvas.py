"""Looking at trees of any size, laying them out, and seeing every branch and every label of them."""

import random
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QNativeGestureEvent, QPointingDevice, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from designer import resource
from designer.canvas.chart import Chart
from designer.canvas.geometry import card_size
from designer.canvas.overview import READABLE
from designer.canvas.view import CanvasView
from designer.document import layout
from designer.document.cells import meet
from designer.document.design import Direction, Viewpoint
from designer.document.draft import Draft, Place
from designer.running import RunState
from engine import ClassifyNode, NodeId, TerminalNode, Transition, Tree, read_tree, write_tree
from tests.benchmarks.forest import joined, pooled
from tests.builders import as_bytes, as_json, demo_tree, trees
from tests.designer.test_canvas_geometry import crosses
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_editing import branches, key, steps, write

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, LEFT = Qt.Key, Qt.MouseButton.LeftButton
SSVC = resource("samples/ssvc-deployer/tree.json")


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.json"
    path.write_bytes(as_bytes(as_json(demo_tree())))
    return path


def stored(folder: Path, tree: Tree) -> Path:
    path = folder / "large.json"
    path.write_bytes(write_tree(tree))
    return path


def scattered(draft: Draft) -> Draft:
    return Draft(draft.tree, dict.fromkeys(draft.tree.nodes, Place(5, 5)), draft.design, draft.notes)


def overlaps(draft: Draft) -> list[tuple[NodeId, NodeId]]:
    chart = Chart()
    chart.update(draft)
    cards = chart.cards
    return [
        (i, j)
        for i in cards
        for j in chart.within(cards[i].card)
        if i < j and meet(cards[i].card, cards[j].card)
    ]


# ------------------------------------------------------------------------------------------ looking


def test_fit_full_size_and_the_places_before_and_after_a_jump(travel):
    async def journey(person: Driver) -> None:
        canvas, window = person.window.canvas, person.window
        window.run_command("view.fit")
        whole = canvas.viewpoint
        shown = canvas.mapToScene(canvas.viewport().rect()).boundingRect()
        assert shown.contains(canvas.scene().contents())
        window.run_command("view.actual-size")
        assert canvas.zoom == 1.0
        canvas.look_from(Viewpoint(0, 0, 1.0))
        here = canvas.viewpoint
        far = max(canvas.scene().cards.values(), key=lambda card: card.place.x)
        person.document.select({far.node_id})
        canvas.reveal(far.node_id)
        there = canvas.viewpoint
        assert there.x > here.x + 300
        window.run_command("view.back")
        assert canvas.viewpoint == pytest.approx(here, abs=2)
        window.run_command("view.forward")
        assert canvas.viewpoint == pytest.approx(there, abs=2)
        await key(person, KEY.Key_F)
        assert canvas.zoom == 1.0
        await key(person, KEY.Key_Home)
        assert canvas.viewpoint == pytest.approx(whole, abs=2)
        assert person.document.clean

    travel(journey, SSVC)


def test_the_map_shows_where_one_is_while_not_everything_is_in_sight(travel):
    async def journey(person: Driver) -> None:
        canvas = person.window.canvas
        canvas.look_from(Viewpoint(0, 0, 1.0))
        await until(canvas.minimap.isVisible)
        before = canvas.viewpoint
        middle = canvas.minimap.rect().center()
        await by_hand(lambda: QTest.mouseClick(canvas.minimap, LEFT, pos=middle))
        assert canvas.viewpoint.zoom == before.zoom
        assert canvas.viewpoint != before
        person.window.run_command("view.fit")
        assert not canvas.minimap.isVisible()

    travel(journey, SSVC)


def test_a_run_never_moves_the_view(travel):
    async def journey(person: Driver) -> None:
        canvas, bench = person.window.canvas, person.window.workbench
        canvas.look_from(Viewpoint(10, 20, 0.8))
        before = canvas.viewpoint
        person.window.run_command("run.step")
        await until(lambda: person.running.state is RunState.PAUSED)
        assert canvas.viewpoint == before
        person.running.cancel()
        await until(lambda: person.running.state is RunState.ENDED)
        bench.running.choose_case(bench.cases[-1])
        outcomes = person.outcomes()
        person.window.run_command("run.start")
        await until(lambda: outcomes == ["Terminal"])
        assert canvas.viewpoint == before

    travel(journey, SSVC)


def turn(canvas: CanvasView, by: int, modifiers: Qt.KeyboardModifier) -> None:
    at = QPointF(300, 200)
    event = QWheelEvent(
        at,
        canvas.viewport().mapToGlobal(at),
        QPoint(),
        QPoint(0, by),
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas.viewport(), event)


def pinch(canvas: CanvasView, by: float) -> None:
    at, device = QPointF(300, 200), QPointingDevice.primaryPointingDevice()
    kind = Qt.NativeGestureType.ZoomNativeGesture
    QApplication.sendEvent(canvas.viewport(), QNativeGestureEvent(kind, device, 2, at, at, at, by, QPointF()))


def test_many_small_turns_and_pinches_zoom_as_far_as_few_large_ones(travel):
    async def journey(person: Driver) -> None:
        canvas = person.window.canvas

        def zoomed(steps: int) -> tuple[float, float]:
            canvas.set_zoom(1.0)
            for _ in range(steps):
                turn(canvas, 240 // steps, Qt.KeyboardModifier.ControlModifier)
            by_wheel = canvas.zoom
            canvas.set_zoom(1.0)
            for _ in range(steps):
                pinch(canvas, 0.02 / steps)
            return by_wheel, canvas.zoom

        one, many = zoomed(1), zoomed(40)
        assert many == pytest.approx(one, rel=0.001)
        assert 1.2 < one[0] < 1.6
        assert one[1] == pytest.approx(1.02)

    travel(journey, SSVC)


# ------------------------------------------------------------------------------------------ large trees


def test_a_tree_of_two_thousand_nodes_is_looked_at_and_edited_like_a_small_one(travel, tmp_path):
    path = stored(tmp_path, joined(2000))

    async def journey(person: Driver) -> None:
        canvas, document, scene = person.window.canvas, person.document, person.window.canvas.scene()
        before = document.draft
        assert len(scene.cards) == 2000
        person.window.run_command("view.fit")
        assert canvas.zoom < READABLE
        assert not scene.items()
        card = scene.card("n1000").card
        canvas.look_from(Viewpoint(card.x, card.y, 1.0))
        await until(lambda: "n1000" in scene.node_items)
        assert len(scene.node_items) < 300
        await person.select("n1000")
        await key(person, KEY.Key_F2)
        await write(person.seen(QLineEdit, "field.id"), "middle", KEY.Key_Return)
        assert scene.card("middle").node is document.draft.tree.nodes["middle"]
        await key(person, KEY.Key_Right)
        await key(person, KEY.Key_Delete)
        assert "middle" not in scene.cards
        assert steps(person) == ["Rename node", "Move node", "Delete node"]
        while person.window.run_command("edit.undo"):
            pass
        assert document.draft == before
        assert document.clean

    travel(journey, path)


# ------------------------------------------------------------------------------------------ layout


def test_laying_out_twice_gives_the_same_places_and_places_what_nothing_leads_to(travel, demo):
    async def journey(person: Driver) -> None:
        document, window = person.document, person.window
        window.editing.add("condition", Place(0, 0))
        window.editing.add("terminal", Place(0, 0))
        document.edit("Scatter", scattered)
        window.run_command("edit.layout")
        first = document.draft.places
        assert first.keys() == document.draft.tree.nodes.keys()
        assert not overlaps(document.draft)
        count = document.undo_stack.count()
        window.run_command("edit.layout")
        assert document.undo_stack.count() == count
        document.edit("Scatter", scattered)
        window.run_command("edit.layout")
        assert document.draft.places == first
        document.undo()
        assert set(document.draft.places.values()) == {Place(5, 5)}

    travel(journey, demo)


def test_a_dense_tree_is_laid_out_and_every_one_of_its_branches_is_drawn(travel, tmp_path):
    chance, labels = random.Random(1), (*(f"a{i}" for i in range(29)), "unknown")
    nodes = {
        f"n{i}": ClassifyNode(
            task="?",
            answers=labels[:-1],
            transitions=tuple(
                Transition(condition=c, next_node_id=f"n{chance.randrange(47)}") for c in labels
            ),
        )
        for i in range(47)
    }
    path = stored(tmp_path, Tree(tree_id="dense", version=1, start_node_id="n0", nodes=nodes))

    async def journey(person: Driver) -> None:
        person.document.edit("Scatter", scattered)
        person.window.run_command("edit.layout")
        await until(lambda: not person.window.arranging.busy)
        assert not overlaps(person.document.draft)
        scene = person.window.canvas.scene()
        assert len(scene.branches) == 47 * 30
        person.window.run_command("view.fit")
        person.window.canvas.grab()

    travel(journey, path)


# ------------------------------------------------------------------------------------------ branches


def test_each_of_several_branches_to_one_node_is_chosen_by_a_click_and_taken_away_alone(travel, tmp_path):
    answers = ("yes", "no", "later")
    ask = ClassifyNode(
        task="?",
        answers=answers,
        transitions=tuple(Transition(condition=c, next_node_id="next") for c in (*answers, "unknown")),
    )
    tree = Tree(
        tree_id="t", version=1, start_node_id="ask", nodes={"ask": ask, "next": TerminalNode(verdict="x")}
    )
    path = stored(tmp_path, tree)

    async def journey(person: Driver) -> None:
        canvas = person.window.canvas
        scene = canvas.scene()
        assert len(scene.edge_items) == 4
        for branch in ask.branches():
            start = scene.branches["ask", branch].route.points[0]
            spot = canvas.mapFromScene(QPointF(start.x + 22, start.y))
            await by_hand(partial(QTest.mouseClick, canvas.viewport(), LEFT, pos=spot))
            assert canvas.picked == ("ask", branch)
        await key(person, KEY.Key_Delete)
        assert branches(person, "ask") == dict.fromkeys(answers, "next")

    travel(journey, path)


def assert_readable(tree: Tree, direction: Direction) -> None:
    """Every branch is drawn, the ways back run outside the cards, and no label lies on a card."""
    sizes = {i: card_size(node, i) for i, node in tree.nodes.items()}
    grows = {"direction": "down"} if direction == "down" else {}
    draft, chart = Draft(tree, layout.arrange(tree, sizes, direction=direction), grows), Chart()
    chart.update(draft)
    assert not overlaps(draft)
    drawn = {
        (i, branch) for i, node in tree.nodes.items() for branch, target in node.targets.items() if target
    }
    assert chart.branches.keys() == drawn
    for branch in chart.branches.values():
        chip = branch.route.chip
        assert chip is None or not [i for i in chart.within(chip) if meet(chart.cards[i].card, chip)]
        if branch.route.kind == "lane" and direction == "right":
            assert not [i for i, card in chart.cards.items() if crosses(branch.route.points, card.card)]


@given(trees(), st.sampled_from(["right", "down"]))
@settings(max_examples=60, deadline=None)
def test_in_any_tree_that_was_laid_out_every_branch_and_label_can_be_read(qapp, tree, direction):
    assert_readable(tree, direction)


@pytest.mark.parametrize("direction", ["right", "down"])
@pytest.mark.parametrize(
    "make", [lambda: joined(120), lambda: pooled(60), lambda: read_tree(SSVC.read_bytes()).tree]
)
def test_in_larger_trees_too(qapp, make, direction):
    assert_readable(make(), direction)
