"""The vocabulary of the engine's tests: small pure functions that make trees, documents and their defects."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from engine.tree import (
    UNKNOWN,
    ActionNode,
    AnyNode,
    Budget,
    ClassifyNode,
    ConditionNode,
    Json,
    OnExceeded,
    TerminalNode,
    TimeSpan,
    Transition,
    Tree,
)
from engine.treefile import write_tree

# ------------------------------------------------------------------------------------------ parts


def to(**targets: str) -> tuple[Transition, ...]:
    """Transitions from labels to targets, in this order."""
    return transitions(targets)


def transitions(targets: Mapping[str, str]) -> tuple[Transition, ...]:
    return tuple(Transition(condition=label, next_node_id=target) for label, target in targets.items())


def action(
    key: str,
    *,
    success: str,
    transient: str | None = None,
    permanent: str | None = None,
    name: str | None = None,
) -> ActionNode:
    """An action; a failure without a target of its own goes where the success goes."""
    branches = to(
        success=success, transientFailure=transient or success, permanentFailure=permanent or success
    )
    return ActionNode(name=name, action_key=key, transitions=branches)


def classify(task: str, answers: Mapping[str, str], *, unknown: str, name: str | None = None) -> ClassifyNode:
    """A question with the target of each answer."""
    return ClassifyNode(
        name=name, task=task, answers=tuple(answers), transitions=transitions({**answers, UNKNOWN: unknown})
    )


def condition(
    key: str,
    *,
    then: str,
    otherwise: str,
    name: str | None = None,
    parameters: Mapping[str, Json] | None = None,
) -> ConditionNode:
    """A condition with its two targets."""
    given = None if parameters is None else dict(parameters)
    return ConditionNode(
        name=name,
        predicate_key=key,
        predicate_parameters=given,
        transitions=transitions({"true": then, "false": otherwise}),
    )


def terminal(verdict: str, *, name: str | None = None) -> TerminalNode:
    return TerminalNode(name=name, verdict=verdict)


def budget(
    visits: int | None = 5,
    calls: int | None = 1,
    seconds: float | None = 10,
    tokens: int | None = 100,
    on_exceeded: OnExceeded | None = "halt",
) -> Budget:
    """The budget most cases of the specification have."""
    return Budget(
        max_node_visits=visits,
        max_llm_calls=calls,
        max_elapsed_time=None if seconds is None else TimeSpan.of_seconds(seconds),
        max_context_tokens=tokens,
        on_exceeded=on_exceeded,
    )


# ------------------------------------------------------------------------------------------ trees


def tree(more: Mapping[str, AnyNode] | None = None, /, **nodes: AnyNode) -> Tree:
    """A tree that starts at its first node."""
    every = {**(more or {}), **nodes}
    return Tree(tree_id="test-tree", version=1, start_node_id=next(iter(every), ""), nodes=every)


def one_terminal() -> Tree:
    """The smallest tree."""
    return tree(start=terminal("done")).replace(budget=budget())


def evidence_tree() -> Tree:
    """Collect, ask one question with one answer, end: the evidence tree of the specification."""
    return tree(
        collect=action("collectEvidence", success="classify", permanent="failed", transient="failed"),
        classify=classify("Is it supported?", {"supported": "approved"}, unknown="unknown"),
        approved=terminal("approved"),
        unknown=terminal("unknown"),
        failed=terminal("failed"),
    ).replace(budget=budget())


def condition_tree() -> Tree:
    """Collect, test whether evidence is there, end."""
    return tree(
        collect=action("collectEvidence", success="check", permanent="failed", transient="failed"),
        check=condition("dataExists", parameters={"type": "evidence"}, then="approved", otherwise="failed"),
        approved=terminal("approved"),
        failed=terminal("failed"),
    ).replace(budget=budget())


def cycle_tree() -> Tree:
    """One question that is asked again on the answer ``loop`` and ends on ``unknown``."""
    return tree(
        ask=classify("Again?", {"loop": "ask"}, unknown="done"),
        done=terminal("done"),
    ).replace(budget=budget())


def demo_tree() -> Tree:
    """All four kinds of node: collect, ask, test, end."""
    return tree(
        collect=action("collectEvidence", success="classify", transient="failed", permanent="failed"),
        classify=classify(
            "Is this evidence relevant to {{subject}}?",
            {"supported": "verify", "unsupported": "rejected"},
            unknown="unknown",
        ),
        verify=condition("dataExists", parameters={"type": "evidence"}, then="approved", otherwise="failed"),
        approved=terminal("supported"),
        rejected=terminal("unsupported"),
        unknown=terminal("unknown"),
        failed=terminal("failed"),
    ).replace(tree_id="demo-evidence-tree", budget=budget(visits=10, seconds=30, tokens=1000))


# ------------------------------------------------------------------------------------------ documents


def as_json(tree: Tree) -> dict[str, Any]:
    """The document of a tree, free to be changed."""
    document: dict[str, Any] = json.loads(write_tree(tree))
    return document


def as_bytes(document: object) -> bytes:
    """A document as a file."""
    return json.dumps(document, indent=2).encode()


def with_at(document: dict[str, Any], path: Sequence[str | int], value: object) -> dict[str, Any]:
    """A copy of the document with another value at a path."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    holder: Any = copy
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    return copy


def without(document: dict[str, Any], path: Sequence[str | int]) -> dict[str, Any]:
    """A copy of the document with nothing at a path."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    holder: Any = copy
    for part in path[:-1]:
        holder = holder[part]
    del holder[path[-1]]
    return copy


# ------------------------------------------------------------------------------------------ any tree

words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12
).filter(lambda text: bool(text.strip()))
"""Text of any script that is not blank."""

json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(words, inside, max_size=3),
    max_leaves=6,
)

_budgets = st.builds(
    Budget,
    max_node_visits=st.none() | st.integers(1, 10**6),
    max_llm_calls=st.none() | st.integers(0, 10**6),
    max_elapsed_time=st.none() | st.builds(TimeSpan, st.integers(1, 10**16)),
    max_context_tokens=st.none() | st.integers(1, 10**6),
    on_exceeded=st.sampled_from([None, "halt", "warn", "throttle"]),
)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Any valid tree of a few nodes: branches lead onward, and sometimes back."""
    ids = draw(st.lists(words, min_size=1, max_size=7, unique=True))
    end = ids[-1]
    nodes: dict[str, AnyNode] = {}
    for index, node_id in enumerate(ids[:-1]):
        # The first branch leads to the next node, so that all are reached and all come to the end.
        others = st.sampled_from(ids)
        kind = draw(st.sampled_from(["action", "classify", "condition"]))
        match kind:
            case "action":
                key = draw(words)
                node: AnyNode = action(
                    key, success=ids[index + 1], transient=draw(others), permanent=draw(others)
                )
            case "classify":
                asked = st.lists(
                    words.filter(lambda word: word != UNKNOWN), min_size=1, max_size=3, unique=True
                )
                first, *rest = draw(asked)
                targets = {first: ids[index + 1]} | {answer: draw(others) for answer in rest}
                node = classify(draw(words), targets, unknown=draw(others))
            case _:
                parameters = {"key": draw(words), "value": draw(words)}
                node = condition(
                    "propertyEquals", parameters=parameters, then=ids[index + 1], otherwise=draw(others)
                )
        nodes[node_id] = node.replace(name=draw(st.none() | words), description=draw(st.none() | words))
    nodes[end] = terminal(draw(words))
    return Tree(
        tree_id=draw(words),
        version=draw(st.integers(1, 2**31)),
        name=draw(st.none() | words),
        start_node_id=ids[0],
        system_prompt=draw(st.none() | words),
        task=draw(st.none() | words),
        budget=draw(st.none() | _budgets),
        nodes=nodes,
    )
