"""Plain words: every problem the checks can find is told without words of the code."""

import re

import pytest

from designer.document import edits
from designer.document.document import Document
from designer.document.wording import in_plain_words
from engine import (
    AnyNode,
    Budget,
    ClassifyNode,
    ConditionNode,
    OpaqueNode,
    Problem,
    TerminalNode,
    TimeSpan,
    Transition,
    Tree,
    check,
)
from tests.designer.drafts import leads, triage

CODE = re.compile(r"[a-z]+[A-Z]\w*|[Cc]lassify|terminal path|[Dd]ecision tree")


def told(tree: Tree, code: str) -> list[str]:
    found = check(tree)
    assert code in {problem.code for problem in found}
    return [problem.message for problem in in_plain_words(found, tree) if problem.code == code]


def asking(**changes: object) -> Tree:
    """The tree of triage with another question."""
    tree = triage().tree
    return tree.replace(nodes={**tree.nodes, "ask": tree.nodes["ask"].replace(**changes)})


def knowing(**changes: object) -> Tree:
    tree = triage().tree
    return tree.replace(nodes={**tree.nodes, "known": tree.nodes["known"].replace(**changes)})


@pytest.mark.parametrize(
    ("tree", "code", "words"),
    [
        (asking(transitions=leads(yes="good", no="bad")), "transitions-incomplete",
         "Nothing follows 'unknown' yet."),
        (asking(transitions=()), "transitions-incomplete", "Nothing follows 'yes', 'no' and 'unknown' yet."),
        (asking(transitions=leads(yes="good", no="bad", unknown="bad", so="bad")), "transitions-incomplete",
         "'so' belongs to no answer."),
        (knowing(transitions=leads(true="good")), "transitions-incomplete", "Nothing follows 'false' yet."),
        (asking(task=" "), "task-missing", "Write what is asked."),
        (asking(answers=()), "answers-missing", "Add at least one answer."),
        (asking(answers=("yes", "")), "answers-missing", "An answer is empty."),
        (asking(answers=("yes", "yes")), "answers-duplicate", "'yes' is an answer twice."),
        (asking(answers=("yes", "Yes")), "answers-alike", "'Yes' cannot be told from an answer before it."),
        (asking(transitions=leads(yes="ghost", no="bad", unknown="bad")), "target-missing",
         "'yes' leads to 'ghost', which is not there."),
        (knowing(predicate_key=""), "predicate-key-missing", "Choose a predicate."),
        (knowing(predicate_key="soon"), "predicate-unknown", "There is no predicate 'soon' here."),
        (knowing(predicate_parameters={}), "predicate-parameter-missing", "Key is still to be given."),
        (knowing(predicate_parameters={"key": "a", "b": 1}), "predicate-parameter-unknown",
         "The predicate takes no parameter 'b'."),
        (knowing(predicate_parameters={"key": 1}), "predicate-parameter-type",
         "Key must be text."),
        (triage().tree, "action-unknown", "There is no action 'load' here."),
        (triage().tree, "cycle-bounded", "A circle begins here that only the budget ends."),
        (triage().tree.replace(start_node_id=""), "start-missing", "No node to start at yet."),
        (triage().tree.replace(budget=Budget(max_node_visits=1)), "budget-visits-short",
         "The shortest way to an end visits 2 nodes, and the limit is 1."),
        (triage().tree.replace(budget=Budget(max_context_tokens=20)), "budget-context-short",
         "A prompt may have 20 tokens; that of a question takes "),
        (triage().tree.replace(budget=Budget(max_node_visits=2)), "budget-terminals-out",
         "With 2 node visits and 10 LLM calls no run ends at 'good'."),
        (triage().tree.replace(budget=Budget(max_llm_calls=1)), "budget-calls-tight",
         "One way asks a question, each up to twice, and the limit is 1 LLM call."),
    ],
)  # fmt: skip
def test_a_problem_is_told_in_plain_words(tree, code, words):
    assert any(message.startswith(words) for message in told(tree, code))


def everything_wrong() -> Tree:
    nodes: dict[str, AnyNode] = {
        " ": TerminalNode(verdict=" ", name=" ", description=" ", transitions=leads(x="")),
        "twice": TerminalNode(verdict="ok"),
        "again": TerminalNode(verdict="ok"),
        "odd": OpaqueNode(type="loop"),
        "ask": ClassifyNode(
            task="?", answers=("Unknown", "unknown", " a", "a", "a"), transitions=leads(a="ghost")
        ),
        "blank": ClassifyNode(task="", answers=()),
        "test": ConditionNode(predicate_key="", transitions=(Transition(), *leads(true="twice"))),
        "lost": ClassifyNode.model_validate({"task": "?", "answers": ["a"], "verdict": "x", "new": 1}),
        **{key: node for key, node in triage().tree.nodes.items() if key != "ask"},
    }
    budget = Budget(max_node_visits=0, max_llm_calls=0, max_elapsed_time=TimeSpan(0))
    return Tree(name=" ", description=" ", version=0, start_node_id="load", nodes=nodes, budget=budget)


def test_no_sentence_holds_a_word_of_the_code():
    tree = everything_wrong()
    problems = in_plain_words(check(tree), tree)
    assert len({problem.code for problem in problems}) > 20
    names = "permanentFailure|transientFailure"
    assert [p for p in problems if CODE.search(re.sub(names, "", p.message))] == []


def test_a_problem_nobody_has_words_for_is_told_as_the_engine_tells_it():
    new = Problem("brand-new", "error", "Something else.")
    assert in_plain_words([new], triage().tree) == (new,)


def test_a_tree_that_was_just_begun_has_nothing_wrong_with_it(qapp):
    document = Document.new()
    assert document.check_now() == ()
    document.edit("Add", lambda draft: edits.set_tree_field(draft, "treeId", " "))
    assert [problem.message for problem in document.check_now()] == ["The tree needs an id."]
