"""Where everything of a draft lies, for the whole tree."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.canvas.chart import Chart
from designer.canvas.geometry import Rect
from designer.document import design, edits
from designer.document.draft import Draft, Place
from engine import AnyNode, ClassifyNode, TerminalNode, Transition, Tree
from tests.designer.drafts import triage


def chart_of(draft: Draft) -> Chart:
    chart = Chart()
    chart.update(draft)
    return chart


def assert_same(one: Chart, other: Chart) -> None:
    assert one.cards == other.cards
    assert one.branches == other.branches
    assert set(one.cells) == set(other.cells)
    for cell in one.cells:
        assert set(one.held(cell)) == set(other.held(cell))
        assert one.reach(cell) == other.reach(cell)
    assert one.contents() == other.contents()


NAMES = [f"n{i}" for i in range(8)]
PLACES = st.builds(
    Place, st.integers(-9, 9).map(lambda i: i * 341.0), st.integers(-9, 9).map(lambda i: i * 121.0)
)


@st.composite
def drafts(draw):
    nodes: dict[str, AnyNode] = {}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=8)):
        targets = draw(st.lists(st.sampled_from([*NAMES, ""]), max_size=3))
        links = tuple(Transition(condition=str(i), next_node_id=t) for i, t in enumerate(targets))
        nodes[name] = ClassifyNode(task="?", answers=("0", "1"), transitions=links)
        if draw(st.booleans()):
            nodes[name] = TerminalNode(verdict=name)
    places = {i: draw(PLACES) for i in nodes}
    grows = {"direction": "down"} if draw(st.booleans()) else {}
    return Draft(Tree(nodes=nodes), places, grows)


@given(st.lists(drafts(), min_size=2, max_size=5))
@settings(max_examples=120, deadline=None)
def test_a_chart_brought_up_to_date_is_the_chart_of_the_last_draft(sequence):
    chart = Chart()
    for draft in sequence:
        before = dict(chart.branches)
        change = chart.update(draft)
        assert {
            key for key in before.keys() | chart.branches.keys() if before.get(key) != chart.branches.get(key)
        } <= change.edges
    assert_same(chart, chart_of(sequence[-1]))


def test_a_move_touches_only_the_branches_at_its_ends_and_the_lanes_in_its_way():
    nodes = {
        f"n{i}": ClassifyNode(
            task="?", answers=("on",), transitions=(Transition(condition="on", next_node_id=f"n{i + 1}"),)
        )
        for i in range(40)
    }
    draft = Draft(Tree(nodes=nodes), {i: Place(n * 385.0, 0) for n, i in enumerate(nodes)})
    chart = chart_of(draft)
    change = chart.update(edits.move_nodes(draft, {"n20": Place(20 * 385.0, 66)}))
    assert change.nodes == {"n20"}
    assert change.edges == {("n19", "on"), ("n20", "on")}
    assert len(change.cells) <= 2


def test_a_lane_makes_way_for_a_card_and_goes_back_when_it_leaves():
    draft = triage()
    chart = chart_of(draft)
    key = ("known", "false")
    before = chart.branches[key].route
    assert before.kind == "lane"
    level = max(point.y for point in before.points)
    blocked = edits.move_nodes(draft, {"bad": Place(450, level - 17)})
    chart.update(blocked)
    assert chart.branches[key].route != before
    chart.update(edits.move_nodes(blocked, {"bad": draft.places["bad"]}))
    assert chart.branches[key].route == before


def test_every_branch_of_a_tree_that_grows_downwards_comes_in_from_the_top():
    draft = design.set_direction(
        edits.move_nodes(triage(), {"ask": Place(0, 300), "known": Place(300, 600), "good": Place(0, 900)}),
        "down",
    )
    chart = chart_of(draft)
    for branch in chart.branches.values():
        if branch.route.kind != "stub":
            card = chart.cards[branch.target].card
            assert branch.route.points[-1] == (card.x + card.w / 2, card.y)
            assert branch.route.points[-2].y < card.y


def test_parallel_branches_are_each_drawn_and_each_found():
    node = ClassifyNode(
        task="?",
        answers=("a", "b"),
        transitions=tuple(Transition(condition=c, next_node_id="next") for c in ("a", "b", "unknown")),
    )
    nodes = {"ask": node, "next": ClassifyNode(task="?")}
    chart = chart_of(Draft(Tree(nodes=nodes), {"ask": Place(0, 0), "next": Place(600, 200)}))
    found = set()
    for branch in chart.branches.values():
        start = branch.route.points[0]
        spot = chart.spot(start.x + 40, start.y + 2)
        found.add(spot.edge.key if spot.edge else None)
    assert found == chart.branches.keys()


def test_lanes_of_one_card_to_one_target_run_apart():
    node = ClassifyNode(
        task="?",
        answers=("a", "b"),
        transitions=tuple(Transition(condition=c, next_node_id="first") for c in ("a", "b")),
    )
    nodes = {"first": ClassifyNode(task="?"), "ask": node}
    chart = chart_of(Draft(Tree(nodes=nodes), {"first": Place(0, 0), "ask": Place(385, 0)}))
    levels = {max(point.y for point in branch.route.points) for branch in chart.branches.values()}
    assert len(levels) == 2


def test_a_terminal_that_gets_its_second_branch_may_turn_the_first_into_a_stub():
    nodes: dict[str, AnyNode] = {
        "a": ClassifyNode(
            task="?", answers=("x",), transitions=(Transition(condition="x", next_node_id="end"),)
        ),
        "b": ClassifyNode(task="?", answers=("x",)),
        "end": TerminalNode(verdict="done"),
    }
    draft = Draft(Tree(nodes=nodes), {"a": Place(0, 0), "b": Place(0, 400), "end": Place(3000, 0)})
    chart = chart_of(draft)
    before = chart.branches["a", "x"].route
    assert before.kind == "curve"
    change = chart.update(edits.connect(draft, "b", "x", "end"))
    assert {("a", "x"), ("b", "x")} <= change.edges
    assert chart.branches["a", "x"].route.kind == "stub"


@pytest.mark.parametrize("at", [(1e12, 0.0), (-1e12, 1e12)])
def test_a_card_at_the_end_of_the_world_costs_nothing(at):
    draft = edits.move_nodes(triage(), {"known": Place(*at)})
    chart = chart_of(draft)
    chart.update(edits.move_nodes(draft, {"ask": Place(7, 7)}))
    assert chart.contents().w > 1e11 or chart.contents().h > 1e11
    assert chart.within(Rect(at[0], at[1], 1, 1)) == ["known"]


def test_nothing_is_looked_at_again_when_nothing_changed():
    draft = triage()
    chart = chart_of(draft)
    change = chart.update(replace(draft, design={"other": 1}))
    assert not any(change)
