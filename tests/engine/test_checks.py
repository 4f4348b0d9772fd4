"""Checks: a test for each rule, one message for one fault, and a checker that equals a fresh check."""

import random
from collections.abc import Callable
from typing import Any, Final

import networkx as nx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import jsontext
from engine.catalog import Catalog, FunctionPredicate, PredicateContext
from engine.checks import Checker, Runnable, check, problems_of, runnable
from engine.checks.fixing import fix
from engine.conversation import build_context, estimate_tokens
from engine.data import DataSnapshot
from engine.errors import TreeInvalid
from engine.predicates import standard_catalog
from engine.tree import (
    ActionNode,
    AnyNode,
    Budget,
    ClassifyNode,
    Json,
    OpaqueNode,
    TimeSpan,
    Transition,
    Tree,
)
from engine.treefile import read_tree
from tests.builders import (
    action,
    as_bytes,
    as_json,
    budget,
    classify,
    condition,
    condition_tree,
    cycle_tree,
    demo_tree,
    evidence_tree,
    one_terminal,
    terminal,
    to,
    transitions,
    tree,
    trees,
    with_at,
    without,
)

CATALOG = standard_catalog().with_external(["collectEvidence", "load"])


def errors(tree: Tree, catalog: Catalog = CATALOG) -> list[tuple[str, str]]:
    return [(p.code, p.pointer) for p in check(tree, catalog) if p.severity == "error"]


def lints(tree: Tree, catalog: Catalog = CATALOG) -> list[str]:
    assert errors(tree, catalog) == []
    return [p.code for p in check(tree, catalog)]


def first_message(tree: Tree) -> str:
    return next(p.message for p in check(tree, CATALOG) if p.severity == "error")


def in_file(document: object) -> list[tuple[str, str]]:
    problems = problems_of(read_tree(as_bytes(document)), CATALOG)
    return [(p.code, p.pointer) for p in problems if p.severity == "error"]


def demo_with(path: list[str | int], value: object) -> list[tuple[str, str]]:
    return in_file(with_at(as_json(demo_tree()), path, value))


# ------------------------------------------------------------------------------------------ rows L1 to L25


# L1
def test_a_single_terminal_is_valid():
    assert check(one_terminal()) == ()


# L2
def test_an_unlinked_node_is_unreachable():
    unlinked = tree(start=terminal("a"), other=terminal("b"))
    assert errors(unlinked) == [("unreachable", "/nodes/other")]
    assert first_message(unlinked) == "Decision tree contains unreachable node 'other'."


# L3
def test_nodes_that_only_lead_to_each_other_reach_no_terminal():
    trapped = tree(
        a=classify("A?", {"yes": "b"}, unknown="b"),
        b=classify("B?", {"yes": "a"}, unknown="a"),
    )
    assert errors(trapped) == [("no-terminal-path", "/nodes/a"), ("no-terminal-path", "/nodes/b")]
    assert first_message(trapped) == "Node 'a' cannot reach a terminal node."


# L4
def test_a_loop_with_a_way_out_is_valid():
    assert lints(cycle_tree().replace(budget=None)) == ["cycle-bounded"]


# L5
def test_an_action_needs_its_three_branches():
    bare = tree(a=ActionNode(action_key="load", transitions=to(success="end")), end=terminal("done"))
    assert errors(bare) == [("transitions-incomplete", "/nodes/a/transitions")]
    assert first_message(bare) == (
        "Node 'a' must define exactly these transitions: success, transientFailure, permanentFailure."
    )


# L6 and L7
@pytest.mark.parametrize("labels", [["true", "false", "maybe"], ["True", "false"], ["true"], []])
def test_a_condition_has_exactly_true_and_false(labels: list[str]):
    node = condition("dataExists", parameters={"type": "x"}, then="end", otherwise="end")
    wrong = tree(a=node.replace(transitions=transitions(dict.fromkeys(labels, "end"))), end=terminal("done"))
    assert ("transitions-incomplete", "/nodes/a/transitions") in errors(wrong)
    assert first_message(wrong) == "Node 'a' must define exactly these transitions: true, false."


# L8
def test_an_answer_is_declared_once():
    node = classify("A?", {"a": "end"}, unknown="end").replace(answers=("a", "a"))
    assert errors(tree(q=node, end=terminal("done"))) == [("answers-duplicate", "/nodes/q/answers/1")]


# L9
def test_answers_that_differ_by_case_are_valid_with_a_warning():
    assert lints(tree(q=classify("A?", {"a": "end", "A": "end"}, unknown="end"), end=terminal("done"))) == [
        "answers-alike"
    ]


# L10
def test_unknown_is_reserved():
    node = classify("A?", {"a": "end", "unknown": "end"}, unknown="end")
    assert errors(tree(q=node, end=terminal("done"))) == [("answer-reserved", "/nodes/q/answers/1")]


# L11
def test_unknown_in_another_case_is_valid_with_a_warning():
    assert lints(tree(q=classify("A?", {"Unknown": "end"}, unknown="end"), end=terminal("done"))) == [
        "answer-like-unknown"
    ]


# L12
def test_a_terminal_may_have_an_empty_list_of_transitions():
    assert in_file(with_at(as_json(one_terminal()), ["nodes", "start", "transitions"], [])) == []


# L13
def test_a_terminal_has_no_transitions():
    linked = tree(a=terminal("a").replace(transitions=to(next="b")), b=terminal("b"))
    assert errors(linked) == [("terminal-transitions", "/nodes/a/transitions")]


# L14
@pytest.mark.parametrize("value", [[], ["a"], "text", 5, {}])
def test_a_member_of_another_type_is_forbidden(value: object):
    assert demo_with(["nodes", "collect", "answers"], value) == [
        ("field-forbidden", "/nodes/collect/answers")
    ]


def test_the_message_about_a_forbidden_member_names_the_type():
    document = with_at(as_json(demo_tree()), ["nodes", "failed", "task"], "Why?")
    problems = problems_of(read_tree(as_bytes(document)), CATALOG)
    assert problems[0].message == "Node 'failed' contains fields not valid for a terminal node."
    assert (problems[0].node, problems[0].field) == ("failed", "task")


# L15
def test_null_is_no_member_of_another_type():
    assert demo_with(["nodes", "collect", "task"], None) == []


# L16
def test_a_target_exists():
    lost = evidence_tree().replace(
        nodes={**evidence_tree().nodes, "classify": classify("A?", {"supported": "ghost"}, unknown="unknown")}
    )
    assert errors(lost) == [("target-missing", "/nodes/classify/transitions/0/nextNodeId")]
    assert first_message(lost) == "Node 'classify' targets missing node 'ghost'."


# L17
def test_a_duplicate_comes_before_a_missing_target():
    node = condition("dataExists", parameters={"type": "x"}, then="end", otherwise="end")
    doubled = transitions({"true": "end", "false": "end"}) + to(true="ghost")
    assert errors(tree(a=node.replace(transitions=doubled), end=terminal("done"))) == [
        ("transition-duplicate", "/nodes/a/transitions/2/condition"),
        ("target-missing", "/nodes/a/transitions/2/nextNodeId"),
    ]


# L18
@pytest.mark.parametrize("version", [0, -1])
def test_a_version_is_positive(version: int):
    assert errors(one_terminal().replace(version=version)) == [("version-invalid", "/version")]
    assert in_file(without(as_json(one_terminal()), ["version"])) == [("version-invalid", "/version")]


# L19
def test_no_calls_at_all_is_a_valid_budget():
    assert errors(one_terminal().replace(budget=budget(calls=0))) == []
    assert errors(one_terminal().replace(budget=budget(calls=-1))) == [
        ("budget-invalid", "/budget/maxLlmCalls")
    ]


# L20
@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Budget(max_elapsed_time=TimeSpan(0)), "maxElapsedTime"),
        (Budget(max_elapsed_time=TimeSpan(-1)), "maxElapsedTime"),
        (Budget(max_node_visits=0), "maxNodeVisits"),
        (Budget(max_context_tokens=0), "maxContextTokens"),
    ],
)
def test_a_limit_is_positive(limits: Budget, name: str):
    assert errors(one_terminal().replace(budget=limits)) == [("budget-invalid", f"/budget/{name}")]


@pytest.mark.parametrize("limits", [None, Budget(), Budget(max_llm_calls=3)])
def test_every_limit_may_be_left_out(limits: Budget | None):
    assert errors(one_terminal().replace(budget=limits)) == []


# L21
def test_a_blank_name_comes_before_the_budget():
    assert errors(one_terminal().replace(name="  ", budget=budget(visits=0))) == [
        ("name-blank", "/name"),
        ("budget-invalid", "/budget/maxNodeVisits"),
    ]


# L22
def test_a_predicate_is_registered():
    assert demo_with(["nodes", "verify", "predicateKey"], "isOpen") == [
        ("predicate-unknown", "/nodes/verify/predicateKey")
    ]


def test_an_external_predicate_may_have_any_parameters():
    node = condition("isOpen", parameters={"day": 1}, then="end", otherwise="end")
    known = CATALOG.with_external(predicates=["isOpen"])
    assert lints(tree(a=node, end=terminal("done")), known) == []


# L23
def test_an_unknown_action_is_only_a_warning():
    found = check(evidence_tree())
    assert (found[0].code, found[0].severity) == ("action-unknown", "warning")
    assert found[0].pointer == "/nodes/collect/actionKey"
    assert found[0].message == "Action 'collectEvidence' for node 'collect' is not registered."
    assert isinstance(runnable(evidence_tree()), Runnable)


# L25
def test_an_unknown_member_is_a_warning_at_every_level():
    document = as_json(demo_tree())
    for path in ([], ["budget"], ["nodes", "verify"], ["nodes", "verify", "transitions", 1]):
        document = with_at(document, [*path, "colour"], "red")
    problems = problems_of(read_tree(as_bytes(document)), CATALOG)
    assert [(p.pointer, p.severity) for p in problems if p.code == "member-unknown"] == [
        ("/budget/colour", "warning"),
        ("/colour", "warning"),
        ("/nodes/verify/transitions/1/colour", "warning"),
        ("/nodes/verify/colour", "warning"),
    ]


# ------------------------------------------------------------------------------------------ every other rule


@pytest.mark.parametrize(
    ("path", "value", "code", "pointer"),
    [
        (["treeId"], " ", "tree-id-missing", "/treeId"),
        (["startNodeId"], "\t", "start-missing", "/startNodeId"),
        (["startNodeId"], "ghost", "start-unknown", "/startNodeId"),
        (["description"], "", "description-blank", "/description"),
        (["nodes"], {}, "nodes-empty", "/nodes"),
        (["nodes", "collect", "actionKey"], " ", "action-key-missing", "/nodes/collect/actionKey"),
        (["nodes", "classify", "task"], "", "task-missing", "/nodes/classify/task"),
        (["nodes", "verify", "predicateKey"], None, "predicate-key-missing", "/nodes/verify/predicateKey"),
        (["nodes", "failed", "verdict"], "\n", "verdict-missing", "/nodes/failed/verdict"),
        (["nodes", "failed", "name"], " ", "node-name-blank", "/nodes/failed/name"),
        (["nodes", "failed", "description"], "", "node-description-blank", "/nodes/failed/description"),
        (["nodes", "classify", "answers"], None, "answers-missing", "/nodes/classify/answers"),
        (["nodes", "classify", "answers"], [], "answers-missing", "/nodes/classify/answers"),
        (["nodes", "classify", "answers", 1], " ", "answers-missing", "/nodes/classify/answers/1"),
        (["nodes", "classify", "answers", 1], None, "answers-missing", "/nodes/classify/answers/1"),
        (["nodes", "verify", "type"], "parallel", "type-unsupported", "/nodes/verify/type"),
        (["nodes", "verify", "type"], None, "member-missing", "/nodes/verify/type"),
        (["nodes", "verify"], None, "node-null", "/nodes/verify"),
        (["nodes", "collect", "transitions", 1], None, "transition-invalid", "/nodes/collect/transitions/1"),
        (["nodes", "collect", "transitions", 1], {}, "transition-invalid", "/nodes/collect/transitions/1"),
        (["nodes", "collect", "transitions", 1, "condition"], " ", "transition-invalid",
         "/nodes/collect/transitions/1/condition"),
        (["nodes", "collect", "transitions", 1, "nextNodeId"], None, "transition-invalid",
         "/nodes/collect/transitions/1/nextNodeId"),
        (["nodes", "verify", "predicateParameters"], None, "predicate-parameter-missing",
         "/nodes/verify/predicateParameters/type"),
        (["nodes", "verify", "predicateParameters", "type"], 5, "predicate-parameter-type",
         "/nodes/verify/predicateParameters/type"),
        (["treeId"], None, "member-missing", "/treeId"),
        (["version"], "1", "type-invalid", "/version"),
        (["nodes", "collect", "transitions"], "none", "type-invalid", "/nodes/collect/transitions"),
        (["nodes", "classify", "answers"], "none", "type-invalid", "/nodes/classify/answers"),
        (["nodes", "classify", "answers", 0], 5, "type-invalid", "/nodes/classify/answers/0"),
        (["nodes", "collect", "transitions", 0], 5, "type-invalid", "/nodes/collect/transitions/0"),
        (["nodes", "collect", "transitions", 0, "nextNodeId"], 5, "type-invalid",
         "/nodes/collect/transitions/0/nextNodeId"),
        (["nodes", "collect", "type"], 5, "type-invalid", "/nodes/collect/type"),
        (["nodes", "collect"], 5, "type-invalid", "/nodes/collect"),
        (["nodes"], [], "type-invalid", "/nodes"),
        (["startNodeId"], 5, "type-invalid", "/startNodeId"),
    ],
)  # fmt: skip
def test_one_fault_gives_one_error(path: list[str | int], value: object, code: str, pointer: str):
    assert demo_with(path, value) == [(code, pointer)]


def test_a_blank_node_id_is_told():
    blank = tree(
        {"start": condition("dataExists", parameters={"type": "x"}, then="end", otherwise="end")},
        end=terminal("a"),
    )
    blank = blank.replace(nodes={**blank.nodes, " ": terminal("b")})
    assert errors(blank) == [("node-id-blank", "/nodes/ "), ("unreachable", "/nodes/ ")]


def test_all_problems_come_in_one_pass_in_the_order_of_the_reference():
    broken = tree(
        a=ActionNode(action_key=" ", name="", transitions=to(success="b", transientFailure="b")),
        b=classify("", {"x": "end"}, unknown="end").replace(answers=("x", "x", "unknown")),
        end=terminal("").replace(description=" "),
        lonely=terminal("done"),
    ).replace(tree_id="", version=0, budget=budget(tokens=0))
    assert [code for code, _ in errors(broken)] == [
        "tree-id-missing",
        "version-invalid",
        "budget-invalid",
        "action-key-missing",
        "node-name-blank",
        "transitions-incomplete",
        "task-missing",
        "answers-duplicate",
        "answer-reserved",
        "verdict-missing",
        "node-description-blank",
        "unreachable",
    ]


def test_a_document_that_is_no_tree_gives_one_problem():
    assert in_file(None) == [("tree-null", "")]
    assert in_file([]) == [("type-invalid", "")]


def test_pointers_escape_what_they_must():
    odd = tree({"a/b~c": classify("A?", {"x": "ghost"}, unknown="end")}, end=terminal("done"))
    assert errors(odd) == [("target-missing", "/nodes/a~1b~0c/transitions/0/nextNodeId")]


def test_every_problem_of_a_file_has_its_line_and_column():
    document = with_at(as_json(demo_tree()), ["nodes", "collect", "transitions", 1, "nextNodeId"], "ghost")
    document = with_at(document, ["version"], "1")
    data = as_bytes(without(document, ["nodes", "failed", "verdict"]))
    lines = data.decode().splitlines()
    wrong = [p for p in problems_of(read_tree(data), CATALOG) if p.severity == "error"]
    shown = {p.code: lines[(p.line or 0) - 1][(p.column or 0) - 1 :] for p in wrong}
    assert shown == {
        "type-invalid": '"version": "1",',
        "target-missing": '"nextNodeId": "ghost"',
        "verdict-missing": '"failed": {',
    }


def test_a_fixed_order_of_problems_does_not_depend_on_the_way_it_was_found():
    assert check(demo_tree()) == check(demo_tree())


# ------------------------------------------------------------------------------------------ predicates


def ask(key: str, parameters: dict[str, Json] | None) -> list[tuple[str, str, str]]:
    node = condition(key, parameters=parameters, then="end", otherwise="end")
    found = check(tree(a=node, end=terminal("done")), CATALOG)
    return [(p.code, p.severity, p.pointer.removeprefix("/nodes/a/predicateParameters")) for p in found]


def test_parameters_of_a_predicate_are_checked():
    assert ask("dataCountAtLeast", {"type": "x", "min": 0}) == []
    assert ask("dataCountAtLeast", {"min": True, "mix": 1}) == [
        ("predicate-parameter-missing", "error", "/type"),
        ("predicate-parameter-type", "error", "/min"),
        ("predicate-parameter-unknown", "warning", "/mix"),
    ]
    assert ask("dataCountAtLeast", {"type": "x", "min": -1}) == [
        ("predicate-parameter-type", "error", "/min")
    ]
    assert ask("propertyEquals", {"key": "a", "value": 5}) == [
        ("predicate-parameter-type", "error", "/value")
    ]
    assert ask("propertyExists", None) == [("predicate-parameter-missing", "error", "/key")]


def test_parameters_of_a_project_predicate_come_from_its_signature():
    def is_open(context: PredicateContext, day: str, hour: int = 12) -> bool:
        return True

    catalog = standard_catalog().with_predicates([FunctionPredicate("isOpen", is_open)])
    node = condition("isOpen", parameters={"hour": "noon"}, then="end", otherwise="end")
    assert [code for code, _ in errors(tree(a=node, end=terminal("done")), catalog)] == [
        "predicate-parameter-missing",
        "predicate-parameter-type",
    ]


# ------------------------------------------------------------------------------------------ knock-on


def test_what_is_drawn_is_judged_as_drawn():
    open_branch = tree(
        a=ActionNode(action_key="load", transitions=to(success="b")), b=terminal("b"), c=terminal("c")
    )
    assert errors(open_branch) == [
        ("transitions-incomplete", "/nodes/a/transitions"),
        ("unreachable", "/nodes/c"),
    ]


def test_a_node_with_branches_still_to_be_drawn_is_not_also_without_end():
    assert errors(tree(a=ActionNode(action_key="load"))) == [
        ("transitions-incomplete", "/nodes/a/transitions")
    ]


def test_behind_a_lost_branch_anything_might_be_reached():
    lost = tree(
        a=action("load", success="typo"),
        b=classify("B?", {"x": "end"}, unknown="end"),
        end=terminal("done"),
    )
    assert {code for code, _ in errors(lost)} == {"target-missing"}


def test_a_lost_branch_of_an_unreachable_node_excuses_nothing():
    lost = tree(a=terminal("a"), b=action("load", success="typo"), c=terminal("c"))
    assert [e for e in errors(lost) if e[0] == "unreachable"] == [
        ("unreachable", "/nodes/b"),
        ("unreachable", "/nodes/c"),
    ]


def test_without_a_start_nothing_is_unreachable():
    assert errors(demo_tree().replace(start_node_id="ghost")) == [("start-unknown", "/startNodeId")]


# ------------------------------------------------------------------------------------------ lints


def asked(*answers: str) -> Tree:
    return tree(q=classify("A?", dict.fromkeys(answers, "end"), unknown="end"), end=terminal("done"))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["yes", "no"], []),
        (["yes", " yes"], ["answer-spaces", "answers-alike"]),
        (["yes "], ["answer-spaces"]),
        (["straße", "STRASSE"], ["answers-alike"]),
        (["ﬁne", "fine"], ["answers-alike"]),
        (["UNKNOWN"], ["answer-like-unknown"]),
        (["unknown "], ["answer-spaces", "answer-like-unknown"]),
    ],
)
def test_answers_that_cannot_be_chosen_are_warned_about(answers: list[str], expected: list[str]):
    assert lints(asked(*answers)) == expected


def test_a_budget_without_calls_is_warned_about_when_a_question_is_reached():
    assert lints(asked("yes").replace(budget=Budget(max_llm_calls=0))) == ["budget-calls-zero"]
    assert lints(condition_tree().replace(budget=Budget(max_llm_calls=0))) == []


def chain(questions: int) -> Tree:
    nodes: dict[str, AnyNode] = {
        f"q{n}": classify("A?", {"yes": f"q{n + 1}"}, unknown="q" + str(questions)) for n in range(questions)
    }
    return tree({**nodes, f"q{questions}": terminal("done")})


def test_a_budget_of_calls_is_tight_when_each_question_may_be_asked_twice():
    assert lints(chain(5)) == []
    assert lints(chain(6)) == ["budget-calls-tight"]
    assert lints(chain(3).replace(budget=Budget(max_llm_calls=5))) == ["budget-calls-tight"]
    assert lints(chain(3).replace(budget=Budget(max_llm_calls=6))) == []


def test_questions_on_different_ways_do_not_add_up():
    star = {f"a{n}": f"q{n}" for n in range(8)}
    nodes: dict[str, AnyNode] = {
        node: classify("B?", {"yes": "end"}, unknown="end") for node in star.values()
    }
    wide = tree({"start": classify("A?", star, unknown="end"), **nodes}, end=terminal("done"))
    assert lints(wide) == []


def test_questions_in_a_circle_add_up():
    circle = tree(
        a=classify("A?", {"yes": "b"}, unknown="end"),
        b=classify("B?", {"yes": "c"}, unknown="a"),
        c=classify("C?", {"yes": "end"}, unknown="a"),
        end=terminal("done"),
    )
    assert lints(circle.replace(budget=Budget(max_llm_calls=6))) == ["cycle-bounded"]
    assert lints(circle.replace(budget=Budget(max_llm_calls=5))) == ["cycle-bounded", "budget-calls-tight"]


def test_a_budget_of_visits_covers_the_shortest_way():
    assert lints(condition_tree().replace(budget=Budget(max_node_visits=2))) == ["budget-terminals-out"]
    longer = tree(
        a=condition("dataExists", parameters={"type": "x"}, then="b", otherwise="b"),
        b=condition("dataExists", parameters={"type": "y"}, then="end", otherwise="end"),
        end=terminal("done"),
    )
    assert lints(longer.replace(budget=Budget(max_node_visits=3))) == []
    assert lints(longer.replace(budget=Budget(max_node_visits=2))) == ["budget-visits-short"]


def test_terminals_out_of_the_budget_are_warned_about_together():
    few = evidence_tree().replace(budget=budget(visits=2, calls=1))
    found = [p for p in check(few, CATALOG) if p.code == "budget-terminals-out"]
    assert [(p.message, p.severity, p.pointer) for p in found] == [
        (
            "maxNodeVisits is 2 and maxLlmCalls is 1, so no run ends at 'approved', 'unknown'.",
            "warning",
            "/budget",
        )
    ]


def test_one_way_to_a_terminal_keeps_to_both_limits_at_once():
    either = tree(
        a=condition("dataExists", parameters={"type": "x"}, then="b", otherwise="c"),
        b=classify("B?", {"yes": "end"}, unknown="other"),
        c=action("load", success="d"),
        d=action("load", success="end"),
        end=terminal("done"),
        other=terminal("else"),
    )
    assert lints(either.replace(budget=Budget(max_node_visits=3, max_llm_calls=2))) == []
    assert lints(either.replace(budget=Budget(max_node_visits=4, max_llm_calls=1))) == [
        "budget-calls-tight",
        "budget-terminals-out",
    ]


def test_calls_an_action_declares_count_against_the_budget():
    dear = CATALOG.with_external({"collectEvidence": (1, 3)})
    roomy = evidence_tree().replace(budget=budget(calls=2))
    assert lints(roomy) == []
    assert lints(roomy, dear) == ["budget-terminals-out"]


def test_no_terminal_is_out_of_the_budget_while_a_branch_leads_nowhere():
    few = evidence_tree().replace(budget=budget(visits=2))
    collect = few.nodes["collect"]
    loose = (*collect.transitions[:-1], Transition(condition="permanentFailure", next_node_id="gone"))
    unfinished = few.replace(nodes={**few.nodes, "collect": collect.replace(transitions=loose)})
    assert "budget-terminals-out" in [p.code for p in check(few, CATALOG)]
    assert "budget-terminals-out" not in [p.code for p in check(unfinished, CATALOG)]


def test_questions_that_fit_into_no_request_are_warned_about():
    tight = Budget(max_context_tokens=100)
    long = tree(q=classify("Is it? " * 60, {"yes": "end"}, unknown="end"), end=terminal("done"))
    assert [(p.code, p.message, p.field) for p in check(long.replace(budget=tight))] == [
        (
            "budget-context-short",
            "maxContextTokens is 100, too few to ask 'q': even with nothing known yet it takes 161.",
            "maxContextTokens",
        )
    ]
    named = tree(q=classify("{{" + "n" * 500 + "}}?", {"yes": "end"}, unknown="end"), end=terminal("done"))
    assert lints(named.replace(budget=tight)) == []
    assert lints(named.replace(budget=tight, system_prompt="Go by it. " * 60)) == ["budget-context-short"]


@given(trees(), st.sampled_from([None, " ", "Be brief."]), st.sampled_from([None, "\t", "Go"]))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_a_question_fits_exactly_when_its_prompt_does(any_tree: Tree, system: str | None, task: str | None):
    asking = any_tree.replace(system_prompt=system, task=task)
    asked = [node for node in asking.nodes.values() if isinstance(node, ClassifyNode)]
    assume(not any("{{" in (node.task or "") for node in asked))
    prompts = [build_context(asking, node, {}, DataSnapshot(()), {}) for node in asked]
    takes = max(map(estimate_tokens, prompts), default=1)
    for tokens, told in ((takes, False), (takes - 1, bool(asked))):
        budget = Budget(max_context_tokens=tokens)
        found = [p.message for p in check(asking.replace(budget=budget)) if p.code == "budget-context-short"]
        assert bool(found) is told
        assert all(message.endswith(f"it takes {takes}.") for message in found)


def test_a_budget_that_is_no_budget_is_told_as_that_only():
    assert [p.code for p in check(asked("yes").replace(budget=Budget(max_context_tokens=0)))] == [
        "budget-invalid"
    ]


def test_a_retry_at_once_is_warned_about():
    assert lints(tree(a=action("load", success="end", transient="a"), end=terminal("done"))) == [
        "retry-hot-loop",
        "cycle-bounded",
    ]


def test_a_repeated_verdict_is_information():
    repeated = tree(
        a=condition("dataExists", parameters={"type": "x"}, then="b", otherwise="c"),
        b=terminal("v"),
        c=terminal("v"),
    )
    assert [(p.code, p.severity, p.node) for p in check(repeated)] == [("verdict-repeated", "info", "c")]


def test_a_cycle_is_named_by_its_nodes_in_the_order_of_the_file():
    looped = tree(
        a=classify("A?", {"on": "c", "stop": "end"}, unknown="end"),
        b=classify("B?", {"on": "a"}, unknown="a"),
        c=classify("C?", {"on": "b"}, unknown="end"),
        end=terminal("done"),
    )
    cycles = [p for p in check(looped) if p.code == "cycle-bounded"]
    assert [(p.message, p.severity, p.node) for p in cycles] == [
        ("Only the budget bounds the cycle of 'a', 'b', 'c'.", "info", "a")
    ]


# ------------------------------------------------------------------------------------------ runnable


def test_a_runnable_knows_where_each_branch_leads():
    plan = runnable(demo_tree(), CATALOG)
    assert plan.targets["verify"] == {"true": "approved", "false": "failed"}
    assert plan.targets["failed"] == {}
    assert plan.tree == demo_tree()
    assert plan.catalog is CATALOG


def test_a_tree_with_errors_is_not_runnable():
    with pytest.raises(TreeInvalid, match="unreachable node 'b'") as caught:
        runnable(tree(a=terminal("a"), b=terminal("b")))
    assert [p.code for p in caught.value.problems] == ["unreachable"]


# ------------------------------------------------------------------------------------------ fixes


@pytest.mark.parametrize(
    "broken",
    [
        asked("yes", " no"),
        asked("yes", "yes "),
        asked("yes", "YES"),
        asked("yes", "Unknown"),
        tree(q=classify("A?", {"a": "end"}, unknown="end").replace(answers=("a", "a")), end=terminal("done")),
        tree(
            q=classify("A?", {"a": "end"}, unknown="end").replace(answers=("a", "unknown")),
            end=terminal("done"),
        ),
        tree(a=terminal("a").replace(transitions=to(success="a"))),
        read_tree(as_bytes(with_at(as_json(one_terminal()), ["nodes", "start", "task"], "A?"))).tree,
        asked("yes", "unknown "),
        one_terminal().replace(name=" ", description=""),
        tree(a=terminal("a").replace(name="", description="\t")),
    ],
)
def test_a_fix_leaves_nothing_to_complain_about(broken: Tree):
    now: Tree | None = broken
    while now is not None and (found := check(now)):
        now = fix(now, found[0])
    assert now is not None
    assert check(now) == ()


def test_a_trimmed_answer_keeps_its_branch():
    spaced = tree(
        q=classify("A?", {" no": "other"}, unknown="end"), other=terminal("o"), end=terminal("done")
    )
    mended = fix(spaced, check(spaced)[0])
    assert mended is not None
    assert mended.nodes["q"].targets == {"no": "other", "unknown": "end"}


def test_what_has_no_safe_fix_is_left_alone():
    unlinked = tree(a=terminal("a"), b=terminal("b"))
    assert fix(unlinked, check(unlinked)[0]) is None
    for only in ("Unknown", "unknown"):
        alone = asked(only)
        assert [fix(alone, problem) for problem in check(alone)] == [None]


# ------------------------------------------------------------------------------------------ any tree


@given(trees())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_valid_tree_has_no_errors(any_tree: Tree):
    assert errors(any_tree) == []
    runnable(any_tree)


Defect = tuple[str, Callable[[dict[str, Any], str], list[str | int] | None], object]


def at(
    *inside: str | int, kind: str | None = None
) -> Callable[[dict[str, Any], str], list[str | int] | None]:
    def place(document: dict[str, Any], node_id: str) -> list[str | int] | None:
        if kind is not None and document["nodes"][node_id]["type"] != kind:
            return None
        return ["nodes", node_id, *inside]

    return place


def root(name: str) -> Callable[[dict[str, Any], str], list[str | int] | None]:
    return lambda _document, _node_id: [name]


DEFECTS: list[Defect] = [
    ("tree-id-missing", root("treeId"), ""),
    ("version-invalid", root("version"), -3),
    ("type-invalid", root("version"), "1"),
    ("start-missing", root("startNodeId"), " "),
    ("start-unknown", root("startNodeId"), "\tno such node"),
    ("name-blank", root("name"), " "),
    ("nodes-empty", root("nodes"), {}),
    ("type-invalid", at(), 5),
    ("node-null", at(), None),
    ("type-unsupported", at("type"), "parallel"),
    ("member-missing", at("type"), None),
    ("node-name-blank", at("name"), ""),
    ("type-invalid", at("description"), 1),
    ("action-key-missing", at("actionKey", kind="action"), None),
    ("field-forbidden", at("verdict", kind="action"), "x"),
    ("task-missing", at("task", kind="classify"), " "),
    ("answers-missing", at("answers", kind="classify"), []),
    ("answer-reserved", at("answers", 0, kind="classify"), "unknown"),
    ("predicate-unknown", at("predicateKey", kind="condition"), "noSuchPredicate"),
    ("predicate-parameter-type", at("predicateParameters", "key", kind="condition"), 5),
    ("verdict-missing", at("verdict", kind="terminal"), None),
    ("transitions-incomplete", at("transitions", kind="action"), []),
    ("transitions-incomplete", at("transitions", kind="classify"), None),
    ("transition-invalid", at("transitions", 0, "nextNodeId", kind="condition"), ""),
    ("target-missing", at("transitions", 1, "nextNodeId", kind="action"), "\tno such node"),
    ("type-invalid", at("transitions", 1, "condition", kind="classify"), 5),
]


MUTATIONS: Final = 15
"""Of each defect; all defects together make 300 at least."""


def test_the_defects_make_three_hundred_mutations():
    assert len(DEFECTS) * MUTATIONS >= 300


@pytest.mark.parametrize(("code", "place", "value"), DEFECTS, ids=[code for code, *_ in DEFECTS])
@given(any_tree=trees(), data=st.data())
@settings(max_examples=MUTATIONS, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_one_defect_is_refused_with_its_code_and_place(
    code: str,
    place: Callable[[dict[str, Any], str], list[str | int] | None],
    value: object,
    any_tree: Tree,
    data: st.DataObject,
):
    document = as_json(any_tree)
    places = [path for node_id in document["nodes"] if (path := place(document, node_id)) is not None]
    assume(places)
    path = data.draw(st.sampled_from(places))
    pointer = jsontext.pointer(*path)
    found = in_file(with_at(document, path, value))
    assert (code, pointer) in found
    assert found[0] == (code, pointer) or code == "answer-reserved"


def oracle(any_tree: Tree) -> set[tuple[str, str]]:
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_nodes_from(any_tree.nodes)
    graph.add_edges_from((n, t.next_node_id) for n, node in any_tree.nodes.items() for t in node.transitions)
    reached = {any_tree.start_node_id} | nx.descendants(graph, any_tree.start_node_id)
    ends = {n for n, node in any_tree.nodes.items() if node.type == "terminal"}
    ending = ends.union(*(nx.ancestors(graph, end) for end in ends))
    return {("unreachable", n) for n in any_tree.nodes.keys() - reached} | {
        ("no-terminal-path", n) for n in reached - ending
    }


def any_graph(chance: random.Random, size: int) -> Tree:
    """Conditions that lead anywhere, and a few terminals."""
    ids = [f"n{n}" for n in range(size)]
    return tree(
        {
            node_id: terminal(node_id)
            if chance.random() < 0.15
            else condition(
                "dataExists", parameters={"type": "x"}, then=chance.choice(ids), otherwise=chance.choice(ids)
            )
            for node_id in ids
        }
    )


@pytest.mark.parametrize("seed", range(200))
def test_the_rules_of_the_graph_agree_with_the_plain_definition(seed: int):
    chance = random.Random(seed)
    drawn = any_graph(chance, chance.randint(1, 25))
    found = {(p.code, p.node) for p in check(drawn) if p.code in {"unreachable", "no-terminal-path"}}
    assert found == oracle(drawn)


# ------------------------------------------------------------------------------------------ the kept checker


def edited(chance: random.Random, now: Tree) -> Tree:
    """The tree after one edit of the kind a person makes, or one worse."""
    ids = [*now.nodes]
    node_id = chance.choice(ids) if ids else "n0"
    anywhere = chance.choice([*ids, "ghost", "n3", ""])
    nodes = dict(now.nodes)
    node = nodes.get(node_id, terminal("v"))
    match chance.randrange(10):
        case 0:
            nodes.pop(node_id, None)
        case 1:
            nodes[f"n{chance.randrange(30)}"] = terminal(chance.choice(["v", "w", ""]))
        case 2:
            nodes[f"n{chance.randrange(30)}"] = action("load", success=anywhere, transient=node_id)
        case 3 if node.transitions:
            kept = list(node.transitions)
            place = chance.randrange(len(kept))
            kept[place] = kept[place].replace(next_node_id=anywhere)
            nodes[node_id] = node.replace(transitions=tuple(kept))
        case 4:
            nodes[node_id] = node.replace(transitions=node.transitions[1:])
        case 5:
            nodes[node_id] = node.replace(name=chance.choice([None, "", "Name"]))
        case 6:
            nodes[node_id] = classify("A?", {"yes": anywhere, "Yes ": node_id}, unknown=anywhere)
        case 7:
            nodes[node_id] = OpaqueNode(type="parallel", transitions=node.transitions)
        case 8:
            return now.replace(
                start_node_id=anywhere,
                budget=chance.choice([None, budget(calls=0), budget(visits=1, calls=9), budget(tokens=1)]),
            )
        case _:
            nodes = dict(sorted(nodes.items(), key=lambda _: chance.random()))
    return now.replace(nodes=nodes)


def any_ladder(chance: random.Random, size: int) -> Tree:
    """Conditions that lead ahead, as an author draws them, and a few terminals."""
    ids = [f"n{n}" for n in range(size)]

    def ahead(n: int) -> str:
        return ids[min(size - 1, n + chance.randint(1, 4))]

    return tree(
        {
            node_id: terminal(node_id)
            if n == size - 1 or chance.random() < 0.1
            else condition("dataExists", parameters={"type": "x"}, then=ahead(n), otherwise=ahead(n))
            for n, node_id in enumerate(ids)
        }
    )


def check_while_editing(seed: int, edits: int, size: int) -> None:
    chance = random.Random(seed)
    checker = Checker(CATALOG)
    history = [(any_graph if seed % 2 else any_ladder)(chance, size)]
    assert checker.update(None, history[-1]) == check(history[-1], CATALOG)
    for _ in range(edits):
        before = history[-1]
        undo = len(history) > 1 and chance.random() < 0.2
        after = history[-2] if undo else edited(chance, before)
        assert checker.update(before, after) == check(after, CATALOG)
        history = history[:-1] if undo else [*history, after]


@pytest.mark.parametrize("seed", range(30))
def test_a_kept_checker_finds_what_a_fresh_check_finds(seed: int):
    check_while_editing(seed, edits=40, size=8)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100))
def test_a_kept_checker_finds_the_same_over_many_edits(seed: int):
    check_while_editing(seed, edits=100, size=60)


def test_a_circle_is_told_while_it_is_closed():
    checker = Checker(CATALOG)
    end = terminal("done")
    closed = tree(
        a=classify("A?", {"yes": "b"}, unknown="end"), b=classify("B?", {"yes": "a"}, unknown="end"), end=end
    )
    opened = closed.replace(nodes={**closed.nodes, "b": classify("B?", {"yes": "end"}, unknown="end")})
    before = None
    for drawn, told in [(closed, ["cycle-bounded"]), (opened, []), (closed, ["cycle-bounded"]), (opened, [])]:
        assert [p.code for p in checker.update(before, drawn)] == told
        before = drawn


def test_a_checker_starts_over_with_a_tree_it_did_not_see():
    checker = Checker(CATALOG)
    checker.update(None, demo_tree())
    assert checker.update(evidence_tree(), cycle_tree()) == check(cycle_tree(), CATALOG)
    assert checker.update(None, Tree()) == check(Tree(), CATALOG)
