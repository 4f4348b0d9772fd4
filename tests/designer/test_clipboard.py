"""Nodes as text and back: what is copied comes out as it was, and never twice under one id."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer.document import clipboard, edits
from designer.document.clipboard import NotNodes
from designer.document.draft import Draft, Note, Place
from engine import check, write_tree
from tests.builders import trees
from tests.designer.drafts import empty, targets, triage


def copied(draft: Draft, *ids: str) -> clipboard.Clip:
    return clipboard.read(clipboard.spell(clipboard.take(draft, set(ids))))


def test_copies_get_ids_of_their_own_and_their_branches_lead_to_each_other():
    draft = clipboard.put(triage(), copied(triage(), "ask", "good"))
    assert list(draft.tree.nodes)[5:] == ["ask-2", "good-2"]
    assert targets(draft, "ask-2") == {"yes": "good-2"}
    assert targets(draft, "ask") == targets(triage(), "ask")


def test_branches_to_the_outside_are_kept_by_choice_where_their_target_is_there():
    clip = copied(triage(), "ask", "good")
    assert targets(clipboard.put(triage(), clip, outgoing=True), "ask-2") == {
        "yes": "good-2",
        "no": "bad",
        "unknown": "known",
    }
    assert targets(clipboard.put(empty(), clip, outgoing=True), "ask") == {"yes": "good"}


def test_what_was_cut_comes_back_under_its_ids_and_where_it_was():
    clip = copied(triage(), "ask", "good")
    rest = edits.remove_nodes(triage(), {"ask", "good"})
    draft = clipboard.put(rest, clip)
    assert list(draft.tree.nodes) == ["load", "known", "bad", "ask", "good"]
    assert draft.places == triage().places


def test_pasted_nodes_stand_to_each_other_as_they_stood_from_the_place_asked_for():
    draft = clipboard.put(triage(), copied(triage(), "ask", "good"), Place(1000, 500))
    assert draft.places["ask-2"] == Place(1000, 500)
    assert draft.places["good-2"] == Place(1660, 500)


def test_pasting_again_and_again_covers_no_card():
    draft, clip = triage(), copied(triage(), "ask")
    for _ in range(4):
        draft = clipboard.put(draft, clip)
    for _ in range(4):
        draft = clipboard.put(draft, clip, Place(0, 500))
    assert len(set(draft.places.values())) == len(draft.places) == 13


def test_the_first_node_pasted_into_an_empty_tree_is_its_start():
    assert clipboard.put(empty(), copied(triage(), "ask", "good")).tree.start_node_id == "ask"


def test_a_whole_tree_file_can_be_pasted():
    clip = clipboard.read(write_tree(triage().tree).decode())
    draft = clipboard.put(empty(), clip)
    assert draft.tree.nodes == triage().tree.nodes
    assert draft.tree.start_node_id == "load"
    assert len(set(draft.places.values())) == 5


def test_members_nobody_knows_are_copied_too():
    text = '{"nodes": {"a": {"type": "terminal", "verdict": "x", "colour": "blue"}}}'
    node = clipboard.put(empty(), clipboard.read(text)).tree.nodes["a"]
    assert node.unknown_members == {"colour": "blue"}
    assert "blue" in clipboard.spell(clipboard.Clip({"a": node}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no nodes on the clipboard"),
        ("Dear Sir or Madam", "no nodes on the clipboard"),
        ("[1, 2]", "no nodes on the clipboard"),
        ('{"a": 1}', "no nodes on the clipboard"),
        ('{"nodes": {}}', "no nodes on the clipboard"),
        ('{"nodes": {', "cannot be read"),
        ('{"nodes": 5}', "must be an object"),
        ('{"nodes": {"a": null}}', "'a' is null"),
        ('{"nodes": {"a": {"type": "terminal", "verdict": 4}}}', "verdict"),
        ('{"nodes": {"a": {"type": "action"}, "a": {"type": "action"}}}', "twice"),
        ('{"nodes": {"\ud800": {"type": "action"}}}', "cannot be read"),
        ('{"treewrightNodes": 2, "nodes": {"a": {"type": "terminal"}}}', "newer version"),
    ],
)
def test_a_text_that_holds_no_nodes_is_refused_in_one_sentence(text, words):
    with pytest.raises(NotNodes, match=words) as refused:
        clipboard.read(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("places", [None, 5, {"a": None}, {"a": [1]}, {"a": ["x", 2]}, {"a": [1e300, 0]}])
def test_places_that_are_none_are_laid_out(places):
    text = json.dumps({"nodes": {"a": {"type": "terminal", "verdict": "x"}}, "places": places})
    assert clipboard.read(text).places.keys() == {"a"}


PAPER = Note(Place(100, 200), 220, 110, "Ask **Ada**", colour="good")
FRAME = Note(Place(300, -66), 330, 440, "Checks", "frame")


def test_notes_travel_with_the_nodes_they_stand_beside():
    draft = edits.set_notes(triage(), {"paper": PAPER, "frame": FRAME, "other": PAPER})
    text = clipboard.spell(clipboard.take(draft, {"ask"}, {"paper", "frame"}))
    after = clipboard.put(draft, clipboard.read(text), Place(1000, 500))
    added = {name: note for name, note in after.notes.items() if name not in draft.notes}
    assert list(added) == ["paper-2", "frame-2"]
    assert [(n.text, n.kind, n.colour, n.width) for n in added.values()] == [
        ("Ask **Ada**", "note", "good", 220),
        ("Checks", "frame", None, 330),
    ]
    assert after.places["ask-2"] == Place(330 + 900, 0 + 566)
    assert added["paper-2"].place == Place(100 + 900, 200 + 566)
    assert added["frame-2"].place == Place(300 + 900, -66 + 566)


def test_notes_alone_can_be_copied_and_the_tree_stays_as_it_is():
    draft = edits.set_notes(triage(), {"paper": PAPER})
    clip = clipboard.read(clipboard.spell(clipboard.take(draft, (), {"paper"})))
    after = clipboard.put(clipboard.put(draft, clip), clip)
    assert after.tree is draft.tree
    assert len({note.place for note in after.notes.values()}) == 3
    assert clipboard.put(empty(), clip).notes == {"paper": PAPER}


@pytest.mark.parametrize(
    "note", [None, 5, {}, {"place": [1], "size": [1, 1]}, {"place": [0, 0], "size": [0, 9]}]
)
def test_what_is_no_note_is_left_out_of_what_is_pasted(note):
    nodes = {"a": {"type": "terminal", "verdict": "x"}}
    text = {"treewrightNodes": 1, "nodes": nodes, "notes": {"bad": note, "good": PAPER.spelled()}}
    assert clipboard.read(json.dumps(text)).notes == {"good": PAPER}
    assert clipboard.read(json.dumps({"nodes": nodes, "notes": text["notes"]})).notes == {}


@given(trees(), st.data())
def test_any_part_of_any_tree_survives_the_way_through_text(tree, data):
    ids = data.draw(st.sets(st.sampled_from(list(tree.nodes))))
    clip = clipboard.take(Draft(tree, {i: Place(11 * n, 0) for n, i in enumerate(tree.nodes)}), ids)
    if ids:
        assert clipboard.read(clipboard.spell(clip)) == clip
        draft = Draft(tree)
        pasted = clipboard.put(draft, clip, outgoing=True)
        assert len(pasted.tree.nodes) == len(tree.nodes) + len(ids)
        found = {p.code for p in check(pasted.tree) if p.severity == "error"}
        assert found <= {"unreachable", *(p.code for p in check(tree))}
