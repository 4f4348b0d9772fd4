"""Breakpoints in the draft: set, changed, found again, and never left behind."""

from dataclasses import replace

import pytest

from designer.document import breakpoints, clipboard, edits, files
from designer.document.breakpoints import Breakpoint
from designer.document.document import Document
from designer.document.draft import Draft
from tests.designer.drafts import triage


def marked(*wanted: Breakpoint) -> Draft:
    draft = triage()
    for one in wanted:
        draft = breakpoints.put(draft, one)
    return draft


def spots(draft: Draft) -> list[breakpoints.Spot]:
    return [one.spot for one in breakpoints.breakpoints(draft)]


def test_a_breakpoint_is_set_and_taken_away_by_the_same_key():
    draft = breakpoints.toggle(breakpoints.toggle(triage(), "ask"), "ask", "yes")
    assert draft.design == {"breakpoints": [{"node": "ask"}, {"node": "ask", "branch": "yes"}]}
    draft = breakpoints.toggle(breakpoints.toggle(draft, "ask"), "ask", "yes")
    assert draft.design == {}


def test_there_is_one_breakpoint_a_spot_and_the_last_word_counts():
    draft = marked(Breakpoint("ask"), Breakpoint("ask", hits=3, condition="late", enabled=False))
    assert breakpoints.breakpoint_at(draft, "ask") == Breakpoint("ask", None, False, 3, "late")
    assert breakpoints.put(draft, Breakpoint("ask", None, False, 3, "late")) is draft
    assert draft.design == {
        "breakpoints": [{"node": "ask", "enabled": False, "hits": 3, "condition": "late"}]
    }


def test_they_are_listed_in_the_order_of_the_tree():
    draft = marked(
        Breakpoint("bad"), Breakpoint("ask", "unknown"), Breakpoint("ask", "yes"), Breakpoint("ask")
    )
    assert spots(draft) == [("ask", None), ("ask", "yes"), ("ask", "unknown"), ("bad", None)]


def test_all_are_passed_over_or_honoured_at_once():
    draft = marked(Breakpoint("ask"), Breakpoint("bad", enabled=False))
    off = breakpoints.enable_all(draft, on=False)
    assert [one.enabled for one in breakpoints.breakpoints(off)] == [False, False]
    assert breakpoints.enable_all(off, on=False) is off
    assert [one.enabled for one in breakpoints.breakpoints(breakpoints.enable_all(off, on=True))] == [
        True
    ] * 2


def test_several_are_removed_at_once():
    draft = marked(Breakpoint("ask"), Breakpoint("ask", "no"), Breakpoint("bad"))
    assert spots(breakpoints.remove(draft, [("ask", None), ("bad", None)])) == [("ask", "no")]


@pytest.mark.parametrize("spot", [("nowhere", None), ("ask", "maybe"), ("good", "yes")])
def test_only_what_is_there_can_have_one(spot):
    with pytest.raises(KeyError):
        breakpoints.put(triage(), Breakpoint(*spot))


def test_a_breakpoint_follows_its_node_to_a_new_id():
    draft = edits.rename_node(marked(Breakpoint("ask"), Breakpoint("ask", "yes")), "ask", "question")
    assert spots(draft) == [("question", None), ("question", "yes")]


def test_a_breakpoint_goes_with_its_node():
    draft = edits.remove_nodes(
        marked(Breakpoint("ask"), Breakpoint("ask", "yes"), Breakpoint("bad")), ["ask"]
    )
    assert draft.design == {"breakpoints": [{"node": "bad"}]}
    assert edits.remove_nodes(draft, ["bad"]).design == {}


def test_a_breakpoint_on_an_answer_follows_it_and_goes_with_it():
    draft = marked(Breakpoint("ask", "yes"), Breakpoint("ask", "no"), Breakpoint("ask", "unknown"))
    assert spots(edits.set_answers(draft, "ask", ["no", "yes"])) == [
        ("ask", "no"),
        ("ask", "yes"),
        ("ask", "unknown"),
    ]
    renamed = edits.set_answers(draft, "ask", ["certainly", "no"])
    assert spots(renamed) == [("ask", "certainly"), ("ask", "no"), ("ask", "unknown")]
    fewer = edits.set_answers(renamed, "ask", ["no"])
    assert spots(edits.set_answers(fewer, "ask", ["certainly", "no"])) == [("ask", "no"), ("ask", "unknown")]


def test_a_node_of_another_kind_keeps_the_breakpoint_on_itself_alone():
    draft = edits.change_kind(marked(Breakpoint("ask"), Breakpoint("ask", "yes")), "ask", "condition")
    assert spots(draft) == [("ask", None)]


def test_copies_have_none():
    draft = marked(Breakpoint("ask"))
    assert spots(clipboard.put(draft, clipboard.take(draft, ["ask"]))) == [("ask", None)]


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "ask",
        {},
        {"node": 7},
        {"node": "gone"},
        {"node": "ask", "branch": "maybe"},
        {"node": "ask", "branch": ["yes"]},
        {"node": "ask", "enabled": "no"},
        {"node": "ask", "hits": -1},
        {"node": "ask", "hits": True},
        {"node": "ask", "hits": 1.5},
        {"node": "ask", "condition": None},
        {"node": "ask", "message": 1},
    ],
)
def test_an_entry_that_is_not_as_it_should_be_counts_as_absent(entry):
    draft = replace(triage(), design={"breakpoints": [entry, {"node": "bad", "colour": "red"}]})
    assert spots(draft) == [("bad", None)]
    assert breakpoints.toggle(draft, "bad").design == {}


@pytest.mark.parametrize("member", [None, {}, "ask", 3])
def test_a_member_that_is_no_list_counts_as_absent(member):
    draft = replace(triage(), design={"breakpoints": member})
    assert spots(draft) == []
    assert spots(breakpoints.toggle(edits.rename_node(draft, "ask", "question"), "question")) == [
        ("question", None)
    ]


def test_they_stand_in_the_design_file_and_come_back(tmp_path):
    draft = marked(Breakpoint("ask", "yes", hits=2, condition='answer == "yes"'), Breakpoint("bad"))
    stored = files.save_tree(draft, path=tmp_path / "tree.json")
    opened = files.open_tree(stored.path)
    assert isinstance(opened, files.Stored)
    assert breakpoints.breakpoints(opened.draft) == breakpoints.breakpoints(draft)


def test_setting_one_is_a_step_that_can_be_undone(qapp):
    document = Document(triage())
    document.edit("Breakpoint", lambda draft: breakpoints.toggle(draft, "ask"))
    document.undo()
    assert spots(document.draft) == []
    document.redo()
    assert spots(document.draft) == [("ask", None)]
