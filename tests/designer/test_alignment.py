"""Cards in line, and who comes before and after whom."""

import pytest

from designer.document import alignment, flow
from designer.document.alignment import Box
from designer.document.draft import Place
from tests.designer.drafts import triage

BOXES = {"a": Box(0, 10, 100, 40), "b": Box(300, 0, 50, 20), "c": Box(130, 90, 20, 30)}


@pytest.mark.parametrize(
    ("way", "places"),
    [
        (alignment.left, {"a": (0, 10), "b": (0, 0), "c": (0, 90)}),
        (alignment.top, {"a": (0, 0), "b": (300, 0), "c": (130, 0)}),
        (alignment.centre, {"a": (125, 10), "b": (150, 0), "c": (165, 90)}),
        (alignment.middle, {"a": (0, 40), "b": (300, 50), "c": (130, 45)}),
        (alignment.across, {"a": (0, 10), "b": (300, 0), "c": (190, 90)}),
        (alignment.down, {"a": (0, 42), "b": (300, 0), "c": (130, 104)}),
    ],
)
def test_each_way_puts_cards_in_line(way, places):
    assert way(BOXES) == {i: Place(*place) for i, place in places.items()}


def test_lining_up_twice_changes_nothing_more():
    for way in (getattr(alignment, name) for name in ("left", "top", "centre", "middle", "across", "down")):
        once = {i: Box(p.x, p.y, *BOXES[i][2:]) for i, p in way(BOXES).items()}
        assert way(once) == {i: Place(box.x, box.y) for i, box in once.items()}


def test_cards_that_have_no_room_are_spread_without_overlap():
    boxes = {i: Box(10 * n, 0, 100, 20) for n, i in enumerate("abc")}
    assert [place.x for place in alignment.across(boxes).values()] == [0, 122, 244]


def test_snapping_goes_to_the_nearest_crossing():
    assert alignment.snapped({"a": Box(16, 17, 1, 1)}) == {"a": Place(11, 22)}


def test_what_comes_before_and_after_a_node_includes_loops():
    tree = triage().tree
    assert flow.downstream(tree, {"known"}) == {"known", "ask", "good", "bad"}
    assert flow.upstream(tree, {"known"}) == {"load", "ask", "known"}
    assert flow.downstream(tree, {"good", "nobody"}) == {"good"}


def test_exits_are_the_nodes_outside_that_follow():
    tree = triage().tree
    assert flow.exits(tree, {"ask", "known"}) == {"good", "bad"}
    assert flow.exits(tree, {"bad"}) == frozenset()


def test_a_loose_branch_is_the_first_that_leads_nowhere():
    draft = triage()
    assert flow.loose_branch(draft.tree.nodes["ask"]) is None
    assert flow.loose_branch(draft.tree.nodes["good"]) is None
    assert flow.loose_branch(draft.tree.nodes["ask"].replace(transitions=())) == "yes"
