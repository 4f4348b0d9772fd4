"""What the design file says beside places."""

import pytest

from designer.document import design, edits
from designer.document.design import Viewpoint
from designer.document.draft import Draft
from tests.designer.drafts import triage


def test_pinned_nodes_are_stored_in_the_order_of_the_tree_and_can_be_let_go():
    draft = design.pin(triage(), {"bad", "ask"}, on=True)
    assert draft.design == {"pinned": ["ask", "bad"]}
    assert design.pinned(draft) == {"ask", "bad"}
    assert design.pin(draft, {"ask"}, on=True) is draft
    assert design.pin(draft, {"ask", "bad"}, on=False).design == {}


def test_a_pin_follows_its_node_to_a_new_id_and_goes_with_it():
    draft = design.pin(triage(), {"ask"}, on=True)
    assert design.pinned(edits.rename_node(draft, "ask", "question")) == {"question"}
    assert design.pinned(edits.remove_nodes(draft, ["ask"])) == frozenset()


def test_a_tree_grows_to_the_right_unless_it_says_otherwise():
    draft = design.set_direction(triage(), "down")
    assert design.direction(draft) == "down"
    assert design.set_direction(draft, "right").design == {}
    assert design.set_direction(triage(), "right") == triage()


def test_what_was_looked_at_is_kept_in_round_numbers():
    draft = design.with_viewpoint(triage(), Viewpoint(10.4, -3.6, 0.70001))
    assert draft.design == {"view": {"centre": [10, -4], "zoom": 0.7}}
    assert design.viewpoint(draft) == Viewpoint(10, -4, 0.7)
    assert design.with_viewpoint(draft, Viewpoint(10.1, -4, 0.7)) is draft


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"pinned": "ask", "direction": ["down"], "view": {"centre": [1], "zoom": 1}},
        {"pinned": [7, None, "gone"], "direction": "up", "view": {"centre": [1, 2], "zoom": 0}},
        {"pinned": {"ask": True}, "direction": 1, "view": {"centre": ["a", 2], "zoom": 1}},
        {"view": {"centre": [1, 2], "zoom": 1e9}},
    ],
)
def test_members_that_are_not_as_they_should_be_count_as_absent(members):
    tree = triage()
    draft = Draft(tree.tree, tree.places, members)
    assert design.pinned(draft) == frozenset()
    assert design.direction(draft) == "right"
    assert design.viewpoint(draft) is None
