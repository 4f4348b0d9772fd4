"""Sizes and routes, without a screen."""

from itertools import pairwise

import pytest

from designer.canvas.geometry import (
    CARD,
    COLUMN,
    CardsNear,
    Point,
    Rect,
    card_size,
    curve,
    input_port,
    is_far,
    is_forward,
    lane,
    output_port,
    rows,
    stub,
)
from designer.document.cells import meet
from designer.document.names import node_title
from engine import AnyNode, ClassifyNode, ConditionNode, OpaqueNode, TerminalNode, Transition


def question(*answers: str) -> ClassifyNode:
    return ClassifyNode(task="Which?", answers=answers)


def test_a_card_has_a_row_for_every_branch():
    assert rows(question("yes", "no")) == ("yes", "no", "unknown")
    assert card_size(question("yes", "no")) == (CARD, 34 + 52 + 3 * 27)


@pytest.mark.parametrize("count", [0, 1, 40])
def test_a_card_grows_with_its_answers(count: int):
    node = question(*(f"answer {i}" for i in range(count)))
    assert card_size(node)[1] == 34 + 52 + (count + 1) * 27


def test_a_branch_that_does_not_belong_has_a_row_all_the_same():
    node = ConditionNode(transitions=(Transition(condition="maybe", next_node_id="x"),))
    assert rows(node) == ("true", "false", "maybe")


def test_answers_that_are_equal_share_a_row():
    assert rows(question("yes", "yes")) == ("yes", "unknown")


def test_a_terminal_is_as_wide_as_its_verdict_and_never_wider_than_a_card():
    short, long = TerminalNode(verdict="ok"), TerminalNode(verdict="a long verdict " * 20)
    assert card_size(short)[0] < card_size(TerminalNode(verdict="needs a person"))[0] < CARD
    assert card_size(long) == (CARD, 34)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (TerminalNode(verdict="good", name="End"), "good"),
        (TerminalNode(name="End"), "End"),
        (TerminalNode(), "n1"),
        (question(), "n1"),
        (ClassifyNode(name="two\nlines\t here"), "two lines here"),
        (ClassifyNode(name="   "), "n1"),
        (OpaqueNode(type="loop", name="Loop"), "Loop"),
    ],
)
def test_a_card_is_called_by_verdict_then_name_then_id(node: AnyNode, text: str):
    assert node_title("n1", node) == text


def test_ports_stand_in_line_with_title_and_rows():
    card = Rect(100, 50, *card_size(question("yes")))
    assert input_port(card) == Point(100, 67)
    assert output_port(card, question("yes"), "yes") == Point(100 + CARD, 50 + 86 + 13.5)
    assert output_port(card, question("yes"), "unknown") == Point(100 + CARD, 50 + 86 + 40.5)


def test_a_branch_to_the_right_is_one_curve_from_port_to_port():
    route = curve(Point(0, 0), Point(200, 80))
    assert route.kind == "curve"
    assert (route.points[0], route.points[-1]) == (Point(0, 0), Point(200, 80))
    assert is_forward(Point(0, 0), Point(200, 80))
    assert not is_forward(Point(0, 0), Point(-10, 80))


def among(cards: list[Rect]) -> CardsNear:
    return lambda box: [card for card in cards if meet(card, box)]


def crosses(points: tuple[Point, ...], card: Rect) -> bool:
    """Whether a line of upright and level pieces runs through the inside of the card."""
    return any(
        min(a.x, b.x) < card.right
        and max(a.x, b.x) > card.x
        and min(a.y, b.y) < card.bottom
        and max(a.y, b.y) > card.y
        for a, b in pairwise(points)
    )


def test_a_loop_runs_around_its_own_card():
    card = Rect(0, 0, 236, 140)
    route = lane(Point(236, 120), Point(0, 17), card, card, among([card]), 0)
    assert not crosses(route.points, card)
    assert max(point.y for point in route.points) > card.bottom


def test_a_branch_back_runs_below_the_cards_between():
    target, between, source = Rect(0, 0, 236, 140), Rect(330, 60, 236, 200), Rect(660, 0, 236, 140)
    cards = [target, between, source]
    route = lane(Point(896, 100), Point(0, 17), source, target, among(cards), 0)
    assert not any(crosses(route.points, card) for card in cards)


def test_a_branch_back_uses_the_gap_between_upper_and_lower_cards():
    target, source = Rect(0, 0, 236, 140), Rect(0, 400, 236, 140)
    route = lane(Point(236, 500), Point(0, 17), source, target, among([target, source]), 0)
    assert any(140 < point.y < 400 for point in route.points)


def test_lanes_of_different_targets_keep_apart():
    card = Rect(0, 0, 236, 140)
    levels = {
        max(p.y for p in lane(Point(236, 120), Point(0, 17), card, card, among([card]), n).points)
        for n in range(3)
    }
    assert len(levels) == 3


def test_only_shared_terminals_far_away_are_stubs():
    source, near, far = Rect(0, 0, 236, 140), Rect(330, 0, 100, 34), Rect(330 + 2 * COLUMN, 0, 100, 34)
    assert is_far(source, far, incoming=2)
    assert not is_far(source, near, incoming=2)
    assert not is_far(source, far, incoming=1)


def test_of_a_crowded_terminal_only_neighbours_are_drawn_in_full():
    source, two_columns_on = Rect(0, 0, 236, 140), Rect(660, 0, 100, 34)
    assert not is_far(source, two_columns_on, incoming=4)
    assert is_far(source, two_columns_on, incoming=5)


def test_a_shared_terminal_behind_the_card_is_a_stub():
    assert is_far(Rect(660, 0, 236, 140), Rect(0, 0, 100, 34), incoming=2)


def test_a_stub_ends_in_a_chip_of_bounded_width():
    route = stub(Point(10, 20), "name " * 50)
    assert route.kind == "stub"
    assert route.chip is not None
    assert route.chip.x == route.points[-1].x
    assert route.chip.w <= 150
