"""The verbs of authoring, and the rules that say whether one may."""

import pytest

from designer.document import design, edits, rules
from designer.document.draft import Draft, Note, Place
from engine import (
    ActionNode,
    Budget,
    ClassifyNode,
    ConditionNode,
    OpaqueNode,
    TerminalNode,
    TimeSpan,
    Transition,
    check,
)
from tests.designer.drafts import empty, leads, targets, triage


def answers_of(draft, node="ask"):
    classify = draft.tree.nodes[node]
    assert isinstance(classify, ClassifyNode)
    return classify.answers


def test_the_first_node_of_a_tree_is_its_start():
    draft = edits.add_node(empty(), "classify", Place(10, 20))
    assert draft.tree.start_node_id == "classify"
    assert draft.places == {"classify": Place(10, 20)}
    assert edits.add_node(draft, "terminal", Place(0, 0)).tree.start_node_id == "classify"


@pytest.mark.parametrize(
    ("kind", "member"),
    [("action", "action_key"), ("classify", "task"), ("condition", "predicate_key"), ("terminal", "verdict")],
)
def test_a_new_node_has_its_required_members_empty_and_leads_nowhere(kind, member):
    node = edits.add_node(empty(), kind, Place(0, 0)).tree.nodes[kind]
    assert getattr(node, member) == ""
    assert node.transitions == ()


def test_a_new_question_has_no_answers_yet():
    assert answers_of(edits.add_node(empty(), "classify", Place(0, 0)), "classify") == ()


def test_new_ids_are_counted_from_their_base():
    draft = empty()
    for _ in range(3):
        draft = edits.add_node(draft, "terminal", Place(0, 0), base="done")
    draft = edits.add_node(draft, "terminal", Place(0, 0), base="done-2")
    assert list(draft.tree.nodes) == ["done", "done-2", "done-3", "done-4"]


def test_removing_nodes_removes_the_branches_that_led_to_them():
    draft = edits.remove_nodes(triage(), {"bad", "known"})
    assert list(draft.tree.nodes) == list(draft.places) == ["load", "ask", "good"]
    assert targets(draft, "ask") == {"yes": "good"}
    assert targets(draft, "load") == {"success": "ask", "transientFailure": "load"}


def test_a_tree_whose_start_is_removed_has_no_start():
    assert edits.remove_nodes(triage(), ["load"]).tree.start_node_id == ""


def test_an_edit_keeps_every_node_it_does_not_touch():
    before = triage()
    after = edits.connect(before, "ask", "yes", "bad")
    assert [i for i, node in after.tree.nodes.items() if node is not before.tree.nodes[i]] == ["ask"]


def test_connecting_replaces_what_the_branch_led_to_and_keeps_the_order_of_branches():
    draft = edits.disconnect(triage(), "ask", "yes")
    assert targets(draft, "ask") == {"no": "bad", "unknown": "known"}
    draft = edits.connect(draft, "ask", "yes", "ask")
    assert list(targets(draft, "ask").items()) == [("yes", "ask"), ("no", "bad"), ("unknown", "known")]
    assert targets(edits.connect(draft, "ask", "yes", "good"), "ask")["yes"] == "good"


def test_connecting_keeps_members_of_the_transition_it_does_not_know():
    draft = triage()
    marked = Transition.model_validate({"condition": "yes", "nextNodeId": "good", "note": "sure"})
    node = draft.tree.nodes["ask"].replace(transitions=(marked,))
    draft = edits._with_node(draft, "ask", node)
    assert edits.connect(draft, "ask", "yes", "bad").tree.nodes["ask"].transitions[0].unknown_members == {
        "note": "sure"
    }


def test_renaming_a_node_renames_it_wherever_it_is_mentioned():
    draft = edits.rename_node(edits.rename_node(triage(), "bad", "refuse"), "load", "fetch")
    assert list(draft.tree.nodes) == list(draft.places) == ["fetch", "ask", "known", "good", "refuse"]
    assert targets(draft, "fetch") == {
        "success": "ask",
        "transientFailure": "fetch",
        "permanentFailure": "refuse",
    }
    assert targets(draft, "ask")["no"] == "refuse"
    assert draft.tree.start_node_id == "fetch"


def test_a_pinned_node_is_pinned_under_its_new_id():
    draft = edits.rename_node(design.pin(triage(), {"ask", "bad"}, on=True), "ask", "question")
    assert design.pinned(draft) == {"question", "bad"}


def test_a_node_cannot_take_the_id_of_another():
    with pytest.raises(ValueError, match="another node"):
        edits.rename_node(triage(), "ask", "load")
    with pytest.raises(KeyError):
        edits.rename_node(triage(), "nobody", "somebody")


def test_a_new_answer_has_a_branch_that_leads_nowhere_yet():
    draft = edits.set_answers(triage(), "ask", ["yes", "maybe", "no"])
    assert draft.tree.nodes["ask"].branches() == ("yes", "maybe", "no", "unknown")
    assert targets(draft, "ask") == {"yes": "good", "no": "bad", "unknown": "known"}


def test_a_renamed_answer_keeps_its_target():
    draft = edits.set_answers(triage(), "ask", ["yes", "never"])
    assert targets(draft, "ask") == {"yes": "good", "never": "bad", "unknown": "known"}


def test_a_removed_answer_takes_its_branch_along():
    draft = edits.set_answers(triage(), "ask", ["no"])
    assert targets(draft, "ask") == {"no": "bad", "unknown": "known"}


def test_reordered_answers_take_their_branches_along():
    draft = edits.set_answers(triage(), "ask", ["no", "yes"])
    assert list(targets(draft, "ask").items()) == [("no", "bad"), ("yes", "good"), ("unknown", "known")]


@pytest.mark.parametrize("passing", ["yes", "unknown", ""])
def test_typing_through_a_word_that_is_taken_loses_no_target(passing):
    draft = triage()
    for word in (passing, "never"):
        draft = edits.set_answers(draft, "ask", ["yes", word])
    assert targets(draft, "ask") == {"yes": "good", "never": "bad", "unknown": "known"}


def test_changing_answers_keeps_transitions_that_belong_to_no_branch():
    node = ClassifyNode(task="?", answers=("a",), transitions=leads(a="good", b="bad"))
    draft = edits._with_node(triage(), "ask", node)
    assert targets(edits.set_answers(draft, "ask", ["c"]), "ask") == {"c": "good", "b": "bad"}


def test_an_optional_text_left_empty_is_absent_and_a_required_one_is_empty():
    draft = edits.set_field(triage(), "ask", "name", "The question")
    assert draft.tree.nodes["ask"].name == "The question"
    assert edits.set_field(draft, "ask", "name", "").tree.nodes["ask"].name is None
    verdict = edits.set_field(draft, "good", "verdict", "").tree.nodes["good"]
    assert isinstance(verdict, TerminalNode)
    assert verdict.verdict == ""


def test_answers_set_as_a_field_take_their_branches_along():
    assert targets(edits.set_field(triage(), "ask", "answers", ("no",)), "ask") == {
        "no": "bad",
        "unknown": "known",
    }


@pytest.mark.parametrize("member", ["type", "transitions", "nodes", "verdict", "no such member"])
def test_what_is_no_member_to_set_is_refused(member):
    with pytest.raises(KeyError):
        edits.set_field(triage(), "ask", member, "x")


def test_the_tree_and_its_start_are_set_by_member():
    draft = edits.set_tree_field(edits.set_start(triage(), "ask"), "systemPrompt", "Be brief.")
    assert (draft.tree.start_node_id, draft.tree.system_prompt) == ("ask", "Be brief.")
    assert edits.set_tree_field(draft, "systemPrompt", "").tree.system_prompt is None
    with pytest.raises(KeyError):
        edits.set_tree_field(draft, "nodes", {})


def test_a_budget_of_defaults_only_is_no_budget():
    draft = edits.set_budget(triage(), "maxElapsedTime", TimeSpan.of_seconds(30))
    draft = edits.set_budget(draft, "maxLlmCalls", 0)
    assert draft.tree.budget == Budget(max_elapsed_time=TimeSpan.of_seconds(30), max_llm_calls=0)
    draft = edits.set_budget(edits.set_budget(draft, "maxElapsedTime", None), "maxLlmCalls", None)
    assert draft.tree.budget is None


def test_parameters_that_python_holds_equal_are_told_apart():
    draft = edits.set_parameter(triage(), "known", "minimum", 1)
    changed = edits.set_parameter(draft, "known", "minimum", True)
    node = changed.tree.nodes["known"]
    assert changed is not draft
    assert isinstance(node, ConditionNode)
    assert (node.predicate_parameters or {})["minimum"] is True


def test_a_condition_whose_last_parameter_goes_has_none():
    node = edits.set_parameter(triage(), "known", "key").tree.nodes["known"]
    assert isinstance(node, ConditionNode)
    assert node.predicate_parameters is None


# ------------------------------------------------------------------------------------------ structure


def chain() -> Draft:
    """first → second → third (an action, all its ways) → end"""
    nodes = {
        "first": ConditionNode(predicate_key="dataExists", transitions=leads(true="second", false="second")),
        "second": ConditionNode(predicate_key="dataExists", transitions=leads(true="third", false="third")),
        "third": ActionNode(
            action_key="x", transitions=leads(success="end", transientFailure="end", permanentFailure="end")
        ),
        "end": TerminalNode(verdict="done"),
    }
    tree = empty().tree.replace(nodes=nodes, start_node_id="first")
    return Draft(tree, {i: Place(330 * n, 0) for n, i in enumerate(nodes)})


def test_a_node_added_at_a_branch_is_what_the_branch_leads_to():
    draft = edits.add_linked(triage(), "ask", "no", "terminal", Place(5, 5))
    assert targets(draft, "ask")["no"] == "terminal"
    assert draft.places["terminal"] == Place(5, 5)


@pytest.mark.parametrize("kind", ["condition", "action", "classify"])
def test_a_node_inserted_into_a_branch_leads_on_to_where_the_branch_led(kind):
    draft = edits.insert_node(triage(), "ask", "no", kind, Place(5, 5))
    node = draft.tree.nodes[kind]
    assert targets(draft, "ask")["no"] == kind
    assert {node.targets.get(branch) for branch in node.branches()} == {"bad"}


def test_an_inserted_node_gets_room_where_the_branch_led_to():
    draft = edits.insert_node(triage(), "ask", "yes", "condition", Place(660, 0), room=110)
    assert draft.places["good"] == Place(990 + 110, 0)
    assert draft.places["bad"] == Place(1320 + 110, 0)
    assert (draft.places["ask"], draft.places["known"]) == (Place(330, 0), Place(660, 0))


def test_inserting_and_detaching_leave_the_flow_as_it_was():
    inserted = edits.insert_node(triage(), "ask", "no", "condition", Place(5, 5))
    detached = edits.detach(inserted, {"condition"})
    assert targets(detached, "condition") == {}
    assert {i: targets(detached, i) for i in triage().tree.nodes} == {
        i: targets(triage(), i) for i in triage().tree.nodes
    }
    assert edits.remove_nodes(edits.heal(inserted, {"condition"}), {"condition"}).tree == triage().tree


def test_a_detached_chain_keeps_what_links_it_and_the_start_goes_on_to_what_followed():
    draft = edits.detach(chain(), {"first", "second"})
    assert targets(draft, "first") == {"true": "second", "false": "second"}
    assert targets(draft, "second") == {}
    assert draft.tree.start_node_id == "third"


def test_the_flow_goes_on_only_where_it_is_clear_to_where():
    assert rules.may_detach(chain(), {"second"}) is None
    assert "3 nodes follow" in (rules.may_detach(triage(), {"ask"}) or "")
    assert "Nothing follows" in (rules.may_detach(triage(), {"good"}) or "")
    assert "Select" in (rules.may_detach(triage(), set()) or "")


def test_a_node_of_another_kind_keeps_its_name_and_where_its_branches_lead():
    draft = edits.set_field(triage(), "ask", "name", "The question")
    after = edits.change_kind(draft, "ask", "condition")
    node = after.tree.nodes["ask"]
    assert isinstance(node, ConditionNode)
    assert (node.name, node.predicate_key) == ("The question", "")
    assert targets(after, "ask") == {"true": "good", "false": "bad"}
    assert targets(edits.change_kind(draft, "ask", "action"), "ask") == {
        "success": "good",
        "transientFailure": "bad",
        "permanentFailure": "known",
    }


def test_a_node_that_becomes_a_question_has_its_branches_as_answers():
    after = edits.change_kind(triage(), "known", "classify")
    assert answers_of(after, "known") == ("true", "false")
    assert targets(after, "known") == {"true": "good", "false": "ask"}


def test_a_node_that_becomes_a_terminal_leads_nowhere():
    after = edits.change_kind(triage(), "ask", "terminal")
    assert after.tree.nodes["ask"] == TerminalNode(verdict="")


def test_a_node_of_a_misspelled_kind_keeps_its_members_when_the_kind_is_mended():
    odd = OpaqueNode.model_validate(
        {"type": "clasify", "task": "Is it?", "answers": ["yes"], "note": 1, "transitions": []}
    ).replace(transitions=leads(yes="good", unknown="bad"))
    after = edits.change_kind(edits._with_node(triage(), "ask", odd), "ask", "classify")
    node = after.tree.nodes["ask"]
    assert isinstance(node, ClassifyNode)
    assert (node.task, node.answers, node.unknown_members) == ("Is it?", ("yes",), {"note": 1})
    assert targets(after, "ask") == {"yes": "good", "unknown": "bad"}


def test_members_of_another_type_do_not_stop_a_change_of_kind():
    odd = OpaqueNode.model_validate({"type": "x", "task": 5, "note": 1})
    node = edits.change_kind(edits._with_node(triage(), "ask", odd), "ask", "classify").tree.nodes["ask"]
    assert node == ClassifyNode.model_validate({"task": "", "answers": (), "note": 1})


def test_every_change_of_kind_can_be_checked():
    for node in triage().tree.nodes:
        for kind in ("action", "classify", "condition", "terminal"):
            check(edits.change_kind(triage(), node, kind).tree)


def test_one_member_is_set_in_several_nodes_at_once():
    draft = edits.set_fields(triage(), ["good", "bad"], "verdict", "done")
    assert [getattr(draft.tree.nodes[i], "verdict", None) for i in ("good", "bad")] == ["done", "done"]


def test_notes_are_set_and_taken_away_by_name():
    paper = Note(Place(0, 0), 200, 80, "Why")
    draft = edits.set_notes(triage(), {"note": paper})
    assert draft.notes == {"note": paper}
    assert draft.tree is triage().tree or draft.tree == triage().tree
    assert edits.set_notes(draft, {"note": None}).notes == {}


def test_only_a_node_with_a_loose_branch_can_lead_on():
    assert rules.may_lead_on(edits.disconnect(triage(), "ask", "no"), "ask") is None
    assert "leads somewhere" in (rules.may_lead_on(triage(), "ask") or "")
    assert "ends the run" in (rules.may_lead_on(triage(), "good") or "")
    assert "Select one" in (rules.may_lead_on(triage(), None) or "")


def test_a_kind_can_be_changed_to_another_only():
    assert rules.may_change_kind(triage(), {"ask"}, "action") is None
    assert rules.may_change_kind(triage(), {"ask", "good"}, "classify") is None
    assert rules.may_change_kind(triage(), {"ask"}, "classify")


def test_names_are_numbered_once_for_many():
    assert edits.unique_names({"a", "a-3"}, ["a", "a", "b", "a-3", "a"]) == ["a-2", "a-4", "b", "a-5", "a-6"]


# ------------------------------------------------------------------------------------------ no change


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: edits.change_kind(d, "ask", "classify"),
        lambda d: edits.set_fields(d, ["ask", "known"], "name", ""),
        lambda d: edits.set_notes(d, {"nobody": None}),
        lambda d: edits.remove_nodes(d, ["nobody"]),
        lambda d: edits.move_nodes(d, {"ask": d.places["ask"], "nobody": Place(1, 1)}),
        lambda d: edits.rename_node(d, "ask", "ask"),
        lambda d: edits.connect(d, "ask", "yes", "good"),
        lambda d: edits.disconnect(d, "good", "yes"),
        lambda d: edits.set_answers(d, "ask", ["yes", "no"]),
        lambda d: edits.set_field(d, "ask", "task", "Is it fine?"),
        lambda d: edits.set_field(d, "ask", "name", ""),
        lambda d: edits.set_tree_field(d, "version", 1),
        lambda d: edits.set_budget(d, "maxLlmCalls", None),
        lambda d: edits.set_start(d, "load"),
        lambda d: edits.set_parameter(d, "known", "key", "order"),
        lambda d: edits.set_parameter(d, "known", "nothing"),
    ],
)
def test_an_edit_that_changes_nothing_returns_the_same_draft(edit):
    draft = triage()
    assert edit(draft) is draft


def test_a_branch_may_lead_to_any_node_and_back_to_its_own():
    assert rules.may_connect(triage(), "ask", "yes", "bad") is None
    assert rules.may_connect(triage(), "ask", "unknown", "ask") is None


@pytest.mark.parametrize(
    ("source", "branch", "target", "reason"),
    [
        ("good", "yes", "ask", "ends the run"),
        ("ask", "perhaps", "good", "no branch perhaps"),
        ("ask", "yes", "nobody", "no longer there"),
    ],
)
def test_a_branch_that_may_not_lead_there_says_why(source, branch, target, reason):
    assert reason in (rules.may_connect(triage(), source, branch, target) or "")


def test_an_id_may_be_any_that_is_free_and_not_blank():
    draft = triage()
    assert rules.may_rename(draft, "ask", "ask") is None
    assert rules.may_rename(draft, "ask", "question 1") is None
    assert "called load" in (rules.may_rename(draft, "ask", "load") or "")
    assert "needs an id" in (rules.may_rename(draft, "ask", "  ") or "")
    assert "no longer" in (rules.may_rename(draft, "nobody", "x") or "")


def test_only_what_is_there_may_be_removed():
    assert rules.may_remove(triage(), {"ask"}) is None
    assert "Select a node" in (rules.may_remove(triage(), set()) or "")


def test_an_answer_may_be_any_new_word():
    assert rules.may_answer(["yes"], "no") is None
    assert rules.may_answer(["yes"], "yes")
    assert rules.may_answer(["yes"], " ")
    assert rules.may_answer(["yes"], "unknown")
