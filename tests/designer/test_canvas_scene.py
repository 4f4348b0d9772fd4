"""What the scene shows, read from its items."""

import math
from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication, QGraphicsItem

from designer import theme
from designer.canvas.overlay import Overlay, moment
from designer.canvas.picture import render_png
from designer.canvas.scene import Scene, Spot
from designer.document import edits
from designer.document.draft import Draft, Place
from designer.proof import Cost
from engine import AnyNode, ClassifyNode, OpaqueNode, Problem, TerminalNode, Trail, Transition, Tree
from tests.designer.drafts import leads, triage

pytestmark = pytest.mark.usefixtures("qapp")


def problem(node: str | None, severity: str = "error", message: str = "Something is missing.") -> Problem:
    return Problem("some-code", severity, message, node)  # type: ignore[arg-type]


@pytest.fixture
def scene() -> Scene:
    return Scene(theme.LIGHT)


def items_of(scene: Scene) -> set[QGraphicsItem]:
    return {*scene.node_items.values(), *scene.edge_items.values(), *scene.note_items.values()}


def assert_shows(scene: Scene, draft: Draft) -> None:
    nodes = draft.tree.nodes
    assert scene.node_items.keys() == nodes.keys()
    assert all(scene.node_items[i].node is node for i, node in nodes.items())
    assert all(scene.node_items[i].card.place == draft.places.get(i, Place(0, 0)) for i in nodes)
    assert {key: item.branch.target for key, item in scene.edge_items.items()} == {
        (i, branch): target for i, node in nodes.items() for branch, target in node.targets.items() if target
    }
    assert {name: item.note for name, item in scene.note_items.items()} == draft.notes
    assert set(scene.items()) == items_of(scene)


def test_scene_items_are_exactly_the_nodes_and_branches_of_the_draft(scene: Scene):
    draft = triage()
    scene.show(draft)
    assert_shows(scene, draft)


def test_each_edit_leaves_a_picture_of_the_draft(scene: Scene):
    draft = triage()
    scene.show(draft)
    for change in (
        lambda d: edits.add_node(d, "classify", Place(110, 440)),
        lambda d: edits.connect(d, "ask", "yes", "classify"),
        lambda d: edits.set_answers(d, "classify", ["a", "b"]),
        lambda d: edits.connect(d, "classify", "a", "classify"),
        lambda d: edits.rename_node(d, "good", "fine"),
        lambda d: edits.disconnect(d, "known", "true"),
        lambda d: edits.set_answers(d, "classify", ["b"]),
        lambda d: edits.move_nodes(d, {"load": Place(990, 0)}),
        lambda d: edits.remove_nodes(d, ["ask", "fine"]),
        lambda _: triage(),
        lambda _: Draft(Tree()),
    ):
        draft = change(draft)
        scene.show(draft)
        assert_shows(scene, draft)


def test_what_did_not_change_keeps_its_items_and_is_not_painted_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    draft = triage()
    scene.show(draft)
    before = items_of(scene)
    painted: list[QGraphicsItem] = []
    for kind in {type(item) for item in before}:
        monkeypatch.setattr(kind, "update", lambda self, *_: painted.append(self))
    scene.show(draft)
    assert not painted
    scene.show(edits.set_field(draft, "good", "description", "Well done"))
    assert items_of(scene) == before
    assert scene.node_items["good"] in painted
    assert scene.node_items["load"] not in painted
    assert scene.edge_items["load", "success"] not in painted


def test_a_step_of_a_run_touches_only_what_it_marks(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    draft = triage()
    first = Overlay(current="load", visits={"load": 1})
    scene.show(draft, first)
    painted: list[QGraphicsItem] = []
    for kind in {type(item) for item in items_of(scene)}:
        monkeypatch.setattr(kind, "update", lambda self, *_: painted.append(self))
    step = ("load", "success")
    scene.show(draft, replace(first, current="ask", taken=frozenset({step}), last_taken=step))
    assert set(painted) == {scene.node_items["load"], scene.node_items["ask"], scene.edge_items[step]}


def test_run_marks_can_be_read_from_the_items(scene: Scene):
    steps = [("load", "success"), ("ask", "unknown")]
    scene.show(
        triage(),
        Overlay(
            current="known",
            standing="paused",
            visits={"load": 1, "ask": 2},
            taken=frozenset(steps),
            last_taken=steps[1],
            probabilities={"ask": {"yes": 0.3, "no": 0.2}},
        ),
    )
    cards, branches = scene.node_items, scene.edge_items
    assert cards["known"].marks.words == "paused"
    assert cards["ask"].marks.words == "✓ 2"
    assert cards["good"].marks.words == ""
    assert cards["ask"].marks.taken == {"unknown"}
    assert cards["ask"].marks.probabilities == {"yes": 0.3, "no": 0.2}
    assert [branches[step].taken for step in steps] == [True, True]
    assert [branches[step].last for step in steps] == [False, True]
    assert not branches["ask", "yes"].taken
    scene.show(triage(), Overlay(current="known"))
    assert cards["known"].marks.words == "running"
    scene.show(triage())
    assert all(card.marks.words == "" for card in cards.values())
    assert not any(branch.taken or branch.last for branch in branches.values())


def test_problems_are_counted_at_their_node_and_the_worst_gives_the_sign(scene: Scene):
    found = [problem("ask", "warning"), problem("ask"), problem("good", "info"), problem(None)]
    scene.show(triage(), Overlay().with_problems(found))
    assert (len(scene.node_items["ask"].marks.problems), scene.node_items["ask"].marks.severity) == (
        2,
        "error",
    )
    assert scene.node_items["good"].marks.severity == "info"
    assert scene.node_items["load"].marks.severity == ""


def test_the_start_is_marked_and_the_mark_moves_with_it(scene: Scene):
    draft = triage()
    scene.show(draft)
    assert [i for i, card in scene.node_items.items() if card.marks.start] == ["load"]
    scene.show(edits.set_start(draft, "ask"))
    assert [i for i, card in scene.node_items.items() if card.marks.start] == ["ask"]


def test_selection_is_shown(scene: Scene):
    draft = triage()
    scene.show(draft, None, frozenset({"ask", "bad"}))
    assert {i for i, card in scene.node_items.items() if card.marks.selected} == {"ask", "bad"}


def test_equal_verdicts_share_a_colour_and_others_do_not(scene: Scene):
    nodes = {
        i: TerminalNode(verdict=verdict)
        for i, verdict in (("a", "yes"), ("b", "no"), ("c", "yes"), ("d", ""))
    }
    scene.show(Draft(Tree(nodes=nodes), {i: Place(0, 60 * n) for n, i in enumerate(nodes)}))
    ranks = {i: card.marks.rank for i, card in scene.node_items.items()}
    assert ranks["a"] == ranks["c"] != ranks["b"]
    assert ranks["d"] is None


def test_branches_back_and_loops_are_drawn_outside_the_cards(scene: Scene):
    scene.show(triage())
    assert scene.edge_items["load", "transientFailure"].branch.route.kind == "lane"
    assert scene.edge_items["known", "false"].branch.route.kind == "lane"
    assert scene.edge_items["load", "success"].branch.route.kind == "curve"


def test_a_branch_to_a_far_shared_terminal_is_a_stub_until_it_comes_near(scene: Scene):
    draft = triage()
    scene.show(draft)
    stub = scene.edge_items["load", "permanentFailure"]
    assert (stub.branch.route.kind, stub.branch.name, stub.branch.target) == ("stub", "refused", "bad")
    assert scene.node_items["bad"].marks.far == 2
    near = edits.move_nodes(draft, {"bad": Place(330, 220)})
    scene.show(near)
    assert scene.edge_items["load", "permanentFailure"] is stub
    assert stub.branch.route.kind == "curve"


def test_a_branch_to_a_node_that_is_missing_says_so(scene: Scene):
    node = ClassifyNode(task="?", answers=("yes",), transitions=leads(yes="gone"))
    scene.show(Draft(Tree(nodes={"ask": node}), {"ask": Place(0, 0)}))
    edge = scene.branches["ask", "yes"]
    assert edge.lost
    assert edge.route.kind == "stub"
    assert edge.route.chip is not None
    assert "no such node" in scene.tip(QPointF(edge.route.chip.x + 5, edge.route.chip.y + 5))


def test_tips_show_in_full_what_a_card_cannot(scene: Scene):
    task = "A <b>long</b> question " * 30
    node = ClassifyNode(name="N" * 200, task=task, answers=("a" * 200,), transitions=leads())
    draft = Draft(Tree(nodes={"ask": node}), {"ask": Place(0, 0)})
    scene.show(draft, Overlay().with_problems([problem("ask", message="One"), problem("ask", message="Two")]))
    card = scene.node_items["ask"]
    assert "N" * 200 in card.tip(QPointF(60, 17))
    assert card.tip(QPointF(60, 60)) == task
    assert card.tip(QPointF(60, 100)) == f"{'a' * 200}: leads nowhere yet"
    assert card.tip(QPointF(232, 0)) == "One\nTwo"


def test_a_port_is_found_where_it_is_drawn(scene: Scene):
    scene.show(triage())
    spot = scene.spot(QPointF(330 + 236 + 3, 86 + 27 * 1.5))
    assert spot.node is scene.cards["ask"]
    assert spot.branch == "no"
    assert scene.spot(QPointF(330 + 100, 60)).branch is None
    assert scene.spot(QPointF(-900, -900)) == Spot()


def odd() -> Draft:
    nodes: dict[str, AnyNode] = {
        "no-answers": ClassifyNode(),
        "forty": ClassifyNode(
            name="名前 🎉 " * 40,
            task="\N{RIGHT-TO-LEFT OVERRIDE}<img src=x> 🎉漢" * 200,
            answers=tuple(f"{i} " * 30 for i in range(40)),
            transitions=tuple(Transition(condition=f"{i} " * 30, next_node_id="forty") for i in range(40)),
        ),
        "opaque": OpaqueNode.model_validate(
            {"type": "loop", "transitions": [{"condition": "", "nextNodeId": "x"}]}
        ),
        "bare": OpaqueNode(),
        "end": TerminalNode(transitions=leads(on="forty")),
        "": TerminalNode(),
    }
    return Draft(Tree(nodes=nodes), {i: Place(n * 330, 0) for n, i in enumerate(nodes)})


@pytest.mark.parametrize("tokens", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_odd_trees_can_be_drawn(tokens: theme.Tokens):
    overlay = Overlay(
        current="end",
        visits={"end": 3, "opaque": 1},
        probabilities={"forty": {"unknown": math.nan, "0 " * 30: 7.0, "nobody": -1}},
    ).with_problems([problem("end")] * 120)
    assert QImage.fromData(render_png(odd(), overlay, tokens=tokens)).width() > 1000


def test_a_picture_holds_the_whole_tree_at_its_scale():
    one, two = (
        QImage.fromData(render_png(triage(), tokens=theme.LIGHT, scale=scale)) for scale in (1.0, 2.0)
    )
    assert one.width() > 4 * 330 + 100
    assert abs(two.width() - 2 * one.width()) <= 2
    assert one.pixelColor(2, 2) == QColor(theme.LIGHT.canvas)


def test_a_picture_too_long_to_be_drawn_is_made_smaller():
    draft = edits.move_nodes(triage(), {"bad": Place(90_000, 0)})
    image = QImage.fromData(render_png(draft, tokens=theme.LIGHT))
    assert 31_000 < image.width() <= 32_000


def test_an_empty_tree_has_a_picture():
    assert not QImage.fromData(render_png(Draft(Tree()), tokens=theme.DARK)).isNull()


def test_another_theme_repaints_every_item(scene: Scene, qapp: QApplication):
    scene.show(triage())
    before = items_of(scene)
    scene.restyle(theme.DARK)
    assert scene.look.canvas == QColor(theme.DARK.canvas)
    assert items_of(scene) == before


def test_a_run_that_has_not_begun_marks_nothing():
    assert moment(Trail(), None) == Overlay()


def test_a_card_shows_what_it_costs_and_tells_it_in_full(scene: Scene):
    draft, cost = triage(), Cost("after 2 calls · no limit but the budget", "From the start.", beyond=False)
    scene.show(draft)
    card = scene.node_items["good"]
    before = card.boundingRect()
    scene.show(draft, Overlay(costs={"good": cost}))
    assert scene.node_items["good"].marks.cost == cost
    assert {i for i, item in scene.node_items.items() if item.marks.cost} == {"good"}
    assert card.boundingRect() != before
    assert card.tip(QPointF(10, card.size[1] - 2)) == cost.words
    scene.show(draft, Overlay())
    assert card.marks.cost is None
    assert card.boundingRect() == before


def test_a_cost_beyond_the_budget_is_told_by_words_and_by_colour(scene: Scene):
    draft = triage()

    def inks(beyond: bool) -> set[str]:
        scene.show(draft, Overlay(costs={"ask": Cost("2 calls", "Two calls.", beyond)}))
        scene.settle()
        card = scene.node_items["ask"]
        box = card.mapRectToScene(card.boundingRect())
        image = QImage(box.size().toSize(), QImage.Format.Format_RGB32)
        image.fill(scene.look.canvas)
        painter = QPainter(image)
        scene.render(painter, QRectF(image.rect()), box)
        painter.end()
        spots = ((x, y) for x in range(image.width()) for y in range(image.height() - 24, image.height()))
        return {QColor(image.pixel(x, y)).name() for x, y in spots}

    assert theme.LIGHT.bad.lower() in inks(beyond=True)
    assert theme.LIGHT.bad.lower() not in inks(beyond=False)
