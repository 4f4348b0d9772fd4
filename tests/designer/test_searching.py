"""Searching a draft, and putting other texts in place of what is found."""

from dataclasses import replace

import pytest
from hypothesis import given

from designer.document import edits
from designer.document.draft import Draft, Note, Place
from designer.document.searching import Hit, find, pattern_of, put
from engine import check, write_tree
from tests.designer.drafts import triage
from tests.hostile import hostile_trees


def texts() -> Draft:
    draft = edits.set_tree_field(triage(), "systemPrompt", "You look at orders.")
    draft = edits.set_notes(draft, {"n": Note(Place(0, 0), 200, 100, "About the order")})
    return edits.set_field(draft, "ask", "task", "Is the order fine, or is it out of order?")


def member(draft: Draft, node: str, name: str) -> object:
    return getattr(draft.tree.nodes[node], name)


def places(draft: Draft, text: str, **how: bool) -> list[tuple[str, str, str]]:
    return [(hit.part, hit.id, hit.field) for hit in find(draft, pattern_of(text, **how))]


def test_texts_are_found_everywhere_in_any_case():
    assert places(texts(), "ORDER") == [
        ("tree", "", "systemPrompt"),
        ("node", "ask", "task"),
        ("node", "known", "predicateParameters"),
        ("note", "n", "text"),
    ]
    assert places(texts(), "ask") == [("node", "ask", "id")]
    assert places(texts(), "yes") == [("node", "ask", "answers")]
    assert places(texts(), "refused") == [("node", "bad", "verdict")]
    assert places(texts(), "propertyExists") == [("node", "known", "predicateKey")]


def test_whole_words_and_regular_expressions_are_told_apart():
    assert ("tree", "", "systemPrompt") not in places(texts(), "order", word=True)
    assert places(texts(), "o.der") == []
    assert places(texts(), "^load$", expression=True) == [
        ("node", "load", "id"),
        ("node", "load", "actionKey"),
    ]
    with pytest.raises(ValueError, match="no regular expression"):
        pattern_of("(", expression=True)


def test_a_text_is_put_in_place_of_all_that_is_found():
    draft = put(texts(), pattern_of("order"), "parcel")
    assert places(draft, "order") == []
    assert member(draft, "ask", "task") == "Is the parcel fine, or is it out of parcel?"
    assert member(draft, "known", "predicate_parameters") == {"key": "parcel"}
    assert draft.notes["n"].text == "About the parcel"
    assert draft.tree.system_prompt == "You look at parcels."


def test_a_branch_follows_its_answer_and_everything_that_names_a_node_its_id():
    draft = put(texts(), pattern_of("yes"), "sure")
    assert draft.tree.nodes["ask"].targets["sure"] == "good"
    draft = put(draft, pattern_of("good"), "fine", expression=False)
    assert draft.tree.nodes["ask"].targets["sure"] == "fine"
    assert "fine" in draft.places


def test_what_would_be_blank_or_taken_stays_as_it_is():
    draft = texts()
    assert member(put(draft, pattern_of("yes"), "no"), "ask", "answers") == ("yes", "no")
    assert member(put(draft, pattern_of("yes"), ""), "ask", "answers") == ("yes", "no")
    assert "good" in put(draft, pattern_of("good"), "bad").tree.nodes
    assert member(put(draft, pattern_of("refused"), ""), "bad", "verdict") == "refused"


def test_groups_count_only_in_regular_expressions():
    draft = put(texts(), pattern_of("(fine)", expression=True), r"\1 enough", expression=True)
    assert member(draft, "ask", "task") == "Is the order fine enough, or is it out of order?"
    plain = put(texts(), pattern_of("fine"), r"\1")
    assert member(plain, "ask", "task") == r"Is the order \1, or is it out of order?"
    with pytest.raises(ValueError, match="cannot be put"):
        put(texts(), pattern_of("fine", expression=True), r"\7", expression=True)


def test_nothing_found_is_nothing_changed():
    draft = texts()
    assert put(draft, pattern_of("xyzzy"), "x") is draft
    assert Hit("node", "ask", "id") in find(draft, pattern_of("ask"))


@given(hostile_trees())
def test_any_tree_can_be_searched_and_changed_and_is_a_tree_afterwards(tree):
    draft = Draft(tree, {node_id: Place(0, 0) for node_id in tree.nodes})
    changed = put(draft, pattern_of("[a-z]", expression=True), "x", expression=True)
    assert changed.places.keys() == changed.tree.nodes.keys()
    check(changed.tree)
    assert write_tree(changed.tree)
    assert write_tree(replace(draft).tree) == write_tree(tree)
