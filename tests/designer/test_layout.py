"""Automatic layout: layers one after the other, no overlaps, the same every time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.document.draft import Place
from designer.document.layout import arrange, usual_size
from engine import ClassifyNode, TerminalNode, Transition, Tree
from tests.designer.drafts import triage

CARD = (236.0, 140.0)


def tree_of(links, start="a", ends=""):
    names = dict.fromkeys([start, *links, *(t for targets in links.values() for t in targets), *ends])
    nodes = {
        name: ClassifyNode(
            task="?",
            answers=tuple(map(str, range(len(links[name])))),
            transitions=tuple(
                Transition(condition=str(i), next_node_id=target) for i, target in enumerate(links[name])
            ),
        )
        if name in links
        else TerminalNode(verdict=name)
        for name in names
    }
    return Tree(tree_id="t", version=1, start_node_id=start, nodes=nodes)


def sizes_of(tree):
    return {node_id: usual_size(node, node_id) for node_id, node in tree.nodes.items()}


def overlapping(places, sizes):
    boxes = [(place.x, place.y, *sizes[node_id]) for node_id, place in places.items()]
    return [
        (one, other)
        for i, one in enumerate(boxes)
        for other in boxes[:i]
        if one[0] < other[0] + other[2]
        and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
    ]


def arranged(tree, pinned=None, **more):
    return arrange(tree, sizes_of(tree), pinned, **more)


@st.composite
def trees(draw):
    count = draw(st.integers(1, 14))
    names = [f"n{i}" for i in range(count)]
    links = {
        name: draw(st.lists(st.sampled_from([*names, "missing"]), max_size=4))
        for name in names[: draw(st.integers(1, count))]
    }
    tree = tree_of(links, start="n0", ends=names)
    return tree.replace(nodes={i: node for i, node in tree.nodes.items() if i != "missing"})


@given(trees(), st.sampled_from(["right", "down"]))
@settings(max_examples=150, deadline=None)
def test_every_node_gets_a_place_of_its_own_and_always_the_same(tree, direction):
    places = arranged(tree, direction=direction)
    assert list(places) == list(tree.nodes)
    assert not overlapping(places, sizes_of(tree))
    assert arranged(tree, direction=direction) == places


@given(trees(), st.data(), st.sampled_from(["right", "down"]))
@settings(max_examples=100, deadline=None)
def test_a_selection_is_laid_out_where_it_is_and_a_second_time_changes_nothing(tree, data, direction):
    places = arranged(tree, direction=direction)
    chosen = data.draw(st.sets(st.sampled_from(sorted(tree.nodes)), min_size=1))
    for _ in range(2):
        before = places
        origin = Place(min(before[i].x for i in chosen), min(before[i].y for i in chosen))
        stay = {i: before[i] for i in tree.nodes if i not in chosen}
        places = arranged(tree, stay, direction=direction, origin=origin)
        assert {i: places[i] for i in stay} == stay
        assert not overlapping(places, sizes_of(tree))
    assert places == before


@given(trees(), st.data())
@settings(max_examples=100, deadline=None)
def test_pinned_nodes_stay_and_the_others_keep_clear_of_them(tree, data):
    everywhere = arranged(tree)
    pinned = {i: everywhere[i] for i in data.draw(st.sets(st.sampled_from(sorted(tree.nodes))))}
    places = arranged(tree, pinned)
    assert {i: places[i] for i in pinned} == pinned
    assert not overlapping(places, sizes_of(tree))


def test_branches_run_from_left_to_right_and_back_edges_do_not_bend_that():
    draft = triage()
    places = arranged(draft.tree)
    columns = [places[i].x for i in ("load", "ask", "known", "good")]
    assert columns == sorted(set(columns))
    assert places["load"] == Place(0, places["load"].y)


def test_columns_keep_their_gap_whatever_the_heights():
    tree = tree_of({"a": ["b", "c"], "b": list("defgh")})
    places = arranged(tree)
    assert places["b"].x - places["a"].x - 236 >= 64
    assert places["b"].x == places["c"].x


def test_children_stand_in_the_order_of_their_branches():
    places = arranged(tree_of({"a": list("dbc")}, ends="bcd"))
    assert places["d"].y < places["b"].y < places["c"].y


def test_a_crossing_that_can_be_avoided_is_avoided():
    places = arranged(tree_of({"a": ["b", "c"], "b": ["x"], "c": ["y"], "x": [], "y": []}, ends="yx"))
    assert (places["b"].y < places["c"].y) == (places["x"].y < places["y"].y)


def test_a_node_stands_in_the_middle_of_what_it_leads_to():
    places = arranged(tree_of({"a": list("bcd")}))
    middles = {i: place.y + sizes_of(tree_of({"a": list("bcd")}))[i][1] / 2 for i, place in places.items()}
    assert abs(middles["a"] - middles["c"]) <= 11


def test_what_cannot_be_reached_stands_in_a_block_below():
    tree = tree_of({"a": ["b"], "lost": ["b", "found"], "alone": []})
    places, sizes = arranged(tree), sizes_of(tree)
    floor = max(places[i].y + sizes[i][1] for i in ("a", "b"))
    assert min(places[i].y for i in ("lost", "found", "alone")) > floor
    assert places["lost"].x < places["found"].x


def test_a_shared_terminal_stands_right_of_all_that_lead_to_it():
    links = {"a": ["b", "end"], "b": ["c", "end"], "c": ["d", "end"], "d": ["end"]}
    places = arranged(tree_of(links))
    assert places["end"].x > places["d"].x
    # Far branches into it are stubs: the chain stays a straight line.
    assert max(places[i].y for i in "abcd") - min(places[i].y for i in "abcd") <= 44


def test_a_new_node_is_laid_beside_what_leads_to_it():
    tree = tree_of({"a": ["b"], "b": []})
    places = arranged(tree, {"a": Place(1000, 500)})
    assert places["b"] == Place(1386, 495)


def test_branches_of_a_tree_that_grows_downwards_run_from_top_to_bottom():
    draft = triage()
    places = arranged(draft.tree, direction="down")
    rows = [places[i].y for i in ("load", "ask", "known", "good")]
    assert rows == sorted(set(rows))
    assert places["load"].y == 0


def test_beside_a_card_that_grows_downwards_is_room_for_the_names_of_its_stubs():
    places = arranged(tree_of({"a": ["b", "c"], "b": ["d"], "c": ["d"]}), direction="down")
    assert abs(places["b"].x - places["c"].x) >= 236 + 140


def test_who_watches_the_work_can_end_it():
    tree = tree_of({"a": ["b", "c"], "b": ["d"], "c": ["d"]})
    heard: list[float] = []
    arranged(tree, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1

    def refuse(_share):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        arranged(tree, progress=refuse)


def test_a_tree_of_nothing_has_no_places():
    assert arrange(Tree(tree_id="t", version=1), {}) == {}
