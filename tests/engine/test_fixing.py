"""Fixes: each leaves a tree without the problem it is for, and says what it does."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import AnyNode, Budget, Fix, Problem, Transition, Tree, check, fix, fixes
from tests.builders import action, classify, condition, evidence_tree, terminal, to, tree, trees
from tests.hostile import hostile_trees


def problem(of: Tree, code: str) -> Problem:
    """The first problem of a tree with this code."""
    return next(one for one in check(of) if one.code == code)


def offered(of: Tree, code: str) -> dict[str, Fix]:
    return {one.title: one for one in fixes(of, problem(of, code))}


def mended(of: Tree, code: str, title: str) -> Tree:
    return offered(of, code)[title].tree


def codes(of: Tree) -> list[str]:
    return [one.code for one in check(of)]


def question(*answers: str, **more: str) -> Tree:
    return tree(
        ask=classify("Which?", dict.fromkeys(answers, "end"), unknown="end").replace(**more),
        end=terminal("done"),
    )


def assert_mends(of: Tree, one: Problem) -> None:
    """Every fix of a problem leaves fewer of its kind at its node, and can be checked."""
    before = Counter((found.code, found.node) for found in check(of))
    for way in fixes(of, one):
        after = Counter((found.code, found.node) for found in check(way.tree))
        assert after[one.code, one.node] < before[one.code, one.node], way.title
        assert way.title == " ".join(way.title.splitlines())


def _damage(kind: str, node: AnyNode) -> st.SearchStrategy[dict[str, object]]:
    """What is changed of a node."""
    steps = node.transitions
    texts = [name for name in ("name", "description", "task", "verdict") if hasattr(node, name)]
    answers = [("unknown",), (" yes",), ("a", "a"), ("",), ("UNKNOWN", "x"), ("maybe", "unknown")]
    changes: dict[str, list[dict[str, object]]] = {
        "drop": [{"transitions": steps[1:]}],
        "double": [{"transitions": steps + steps[:1]}],
        "label": [{"transitions": (Transition(condition="maybe", next_node_id="x"), *steps[1:])}],
        "target": [{"transitions": tuple(t.replace(next_node_id="nowhere") for t in steps)}],
        "empty": [{"transitions": (Transition(), *steps)}],
        "answers": [{"answers": some} for some in answers if hasattr(node, "answers")] or [{"name": ""}],
        "blank": [{name: " "} for name in texts],
    }
    return st.sampled_from(changes[kind])


@st.composite
def damaged(draw: st.DrawFn) -> Tree:
    """A valid tree with some of its parts taken away, doubled, emptied or renamed."""
    nodes = dict(draw(trees()).nodes)
    for node_id in draw(st.lists(st.sampled_from(sorted(nodes)), max_size=3)) if nodes else []:
        node = nodes.get(node_id)
        if node is None:
            continue
        kind = draw(st.sampled_from(["drop", "double", "label", "target", "empty", "answers", "go", "blank"]))
        if kind == "go":
            del nodes[node_id]
        else:
            nodes[node_id] = node.replace(**draw(_damage(kind, node)))
    one = tree(nodes) if nodes else Tree(tree_id="none", version=1)
    limits = draw(
        st.sampled_from(
            [
                None,
                Budget(max_llm_calls=0),
                Budget(max_node_visits=1),
                Budget(max_node_visits=0, max_llm_calls=1),
                Budget(max_context_tokens=1),
            ]
        )
    )
    start = draw(st.sampled_from([one.start_node_id, "", "nobody", *one.nodes]))
    return one.replace(
        budget=limits,
        start_node_id=start,
        version=draw(st.integers(-1, 2)),
        name=draw(st.sampled_from([None, " "])),
    )


@given(damaged())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_every_fix_of_a_damaged_tree_leaves_it_without_its_problem(one: Tree):
    for found in check(one):
        assert_mends(one, found)


@given(hostile_trees())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_every_fix_of_any_tree_leaves_it_without_its_problem(one: Tree):
    for found in check(one):
        assert_mends(one, found)


@given(damaged())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_safe_fixes_come_to_an_end_and_take_no_node_away(one: Tree):
    now, rounds = one, 0
    while (better := next((t for found in check(now) if (t := fix(now, found))), None)) is not None:
        assert len(better.nodes) == len(now.nodes)
        now, rounds = better, rounds + 1
        assert rounds < 100


def test_missing_branches_are_led_to_a_new_terminal():
    cut = tree(
        ask=classify("Which?", {"yes": "end"}, unknown="end").replace(answers=("yes", "no")),
        end=terminal("e"),
    )
    better = mended(cut, "transitions-incomplete", "Lead 'no' to a new terminal")
    assert better.nodes["ask"].targets == {"yes": "end", "unknown": "end", "no": "undecided"}
    assert codes(better) == []


def test_a_branch_that_is_only_misspelt_is_renamed_first_of_all():
    off = tree(act=action("go", success="end", transient="end", permanent="end"), end=terminal("e"))
    steps = tuple(
        t.replace(condition="sucess") if t.condition == "success" else t for t in off.nodes["act"].transitions
    )
    off = off.replace(nodes={**off.nodes, "act": off.nodes["act"].replace(transitions=steps)})
    first, second = fixes(off, problem(off, "transitions-incomplete"))
    assert first.title == "Rename the branch 'sucess' to 'success'"
    assert set(first.tree.nodes["act"].targets) == {"success", "transientFailure", "permanentFailure"}
    assert second.title == "Lead 'success' to a new terminal and remove 'sucess'"


def test_a_branch_too_many_is_removed():
    more = tree(test=condition("dataExists", then="end", otherwise="end"), end=terminal("e"))
    node = more.nodes["test"].replace(transitions=more.nodes["test"].transitions + to(maybe="end"))
    more = more.replace(nodes={**more.nodes, "test": node})
    assert set(mended(more, "transitions-incomplete", "Remove 'maybe'").nodes["test"].targets) == {
        "true",
        "false",
    }


def test_a_node_that_branches_lead_to_is_created():
    lost = tree(ask=classify("Which?", {"yes": "good"}, unknown="good"))
    assert codes(mended(lost, "target-missing", "Create the terminal 'good'")) == []


def test_what_no_run_comes_to_is_removed_all_at_once():
    loose = tree(start=terminal("s"), a=classify("A?", {"x": "b"}, unknown="b"), b=terminal("b"))
    better = mended(loose, "unreachable", "Remove the 2 nodes no run comes to")
    assert list(better.nodes) == ["start"]
    assert not offered(loose, "unreachable")["Remove the 2 nodes no run comes to"].safe


def test_the_reserved_answer_is_removed_or_renamed():
    reserved = tree(
        ask=classify("Which?", {"yes": "end", "unknown": "end"}, unknown="end").replace(
            transitions=to(yes="end", unknown="person")
        ),
        end=terminal("e"),
        person=terminal("p"),
    )
    assert list(offered(reserved, "answer-reserved")) == [
        "Remove the answer 'unknown'",
        "Rename the answer to 'not sure'",
    ]
    better = mended(reserved, "answer-reserved", "Rename the answer to 'not sure'")
    assert better.nodes["ask"].targets == {"yes": "end", "unknown": "person", "not sure": "person"}
    assert "answer-reserved" not in codes(better)


def test_branches_that_are_there_are_taken_as_the_answers():
    silent = question("yes", "no").replace(
        nodes={**question().nodes, "ask": question("yes", "no").nodes["ask"].replace(answers=())}
    )
    assert codes(mended(silent, "answers-missing", "Take 'yes' and 'no' as its answers")) == []


def test_limits_are_raised_to_what_is_needed_and_none_is_lowered():
    short = evidence_tree().replace(
        budget=Budget(max_node_visits=1, max_llm_calls=5, max_context_tokens=4000)
    )
    better = mended(short, "budget-visits-short", "Raise maxNodeVisits to 3")
    assert better.budget == Budget(max_node_visits=3, max_llm_calls=5, max_context_tokens=4000)
    none = evidence_tree().replace(budget=Budget(max_llm_calls=0))
    (one,) = fixes(none, problem(none, "budget-calls-zero"))
    assert one.tree.budget is not None
    assert one.tree.budget.max_llm_calls is not None
    assert one.tree.budget.max_llm_calls > 0
    narrow = evidence_tree().replace(budget=Budget(max_context_tokens=10))
    (one,) = fixes(narrow, problem(narrow, "budget-context-short"))
    assert "budget-context-short" not in codes(one.tree)


def test_a_start_that_is_not_there_becomes_the_node_that_nothing_leads_to():
    headless = evidence_tree().replace(start_node_id="gone")
    begin = next(iter(evidence_tree().nodes))
    assert codes(mended(headless, "start-unknown", f"Start at '{begin}'")) == codes(evidence_tree())


@pytest.mark.parametrize("same", [True, False])
def test_a_second_branch_of_one_label_is_safe_to_remove_only_where_it_says_the_same(same: bool):
    twice = tree(
        ask=classify("Which?", {"yes": "end"}, unknown="end"), end=terminal("e"), other=terminal("o")
    )
    again = to(yes="end" if same else "other")
    node = twice.nodes["ask"].replace(transitions=twice.nodes["ask"].transitions + again)
    twice = twice.replace(nodes={**twice.nodes, "ask": node})
    (one,) = fixes(twice, problem(twice, "transition-duplicate"))
    assert (one.title, one.safe) == ("Remove the second branch 'yes'", same)
    assert one.tree.nodes["ask"].targets == {"yes": "end", "unknown": "end"}


def test_a_problem_of_another_version_has_no_fix():
    reserved = question("yes", "unknown")
    found = problem(reserved, "answer-reserved")
    assert fixes(evidence_tree(), found) == ()
    assert fixes(question("yes"), found) == ()
