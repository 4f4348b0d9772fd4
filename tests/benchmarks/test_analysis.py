"""Bounds and walks of a large tree beside one pass of networkx over the same nodes and branches."""

import random
from collections.abc import Callable

import networkx as nx
import pytest

from engine import (
    UNKNOWN,
    AnyNode,
    Budget,
    ClassifyNode,
    ConditionNode,
    TerminalNode,
    Transition,
    Tree,
    read_tree,
)
from engine.analysis import bounds, cover
from tests.benchmarks.measuring import Goals, in_words, medians
from tests.benchmarks.test_trees import CATALOG, as_bytes, retargeted

pytestmark = pytest.mark.bench

ROOMY = Budget(max_node_visits=10**6, max_llm_calls=10**6)


def weighed(size: int) -> Tree:
    """Again and again either one question or two conditions: the fewest visits or the fewest calls.

    No other tree of this size has as many ways of which none is better than another.
    """
    nodes: dict[str, AnyNode] = {}
    for number in range(0, size - 4, 4):
        a, b, c, d, after = (f"n{number + ahead}" for ahead in range(5))
        nodes[a] = condition(b, c)
        nodes[b] = ClassifyNode(
            task="Is it?", answers=("yes",), transitions=to({"yes": after, UNKNOWN: after})
        )
        nodes[c] = condition(d, d)
        nodes[d] = condition(after, after)
    nodes[f"n{len(nodes)}"] = TerminalNode(verdict="done")
    return Tree(tree_id="weighed", version=1, start_node_id="n0", nodes=nodes)


def circling(size: int) -> Tree:
    """A tree in which some branches lead back."""
    chance, tree = random.Random(size), read_tree(as_bytes(size)).tree
    for _ in range(size):
        tree = retargeted(chance, tree)
    return tree


def condition(then: str, otherwise: str) -> ConditionNode:
    return ConditionNode(
        predicate_key="dataExists",
        predicate_parameters={"type": "photo"},
        transitions=to({"true": then, "false": otherwise}),
    )


def to(targets: dict[str, str]) -> tuple[Transition, ...]:
    return tuple(Transition(condition=label, next_node_id=target) for label, target in targets.items())


def graph_of(tree: Tree) -> "nx.DiGraph[str]":
    """What networkx goes over."""
    return nx.DiGraph((name, target) for name, node in tree.nodes.items() for target in node.targets.values())


def test_bounds_of_an_acyclic_tree(goals: Goals):
    tree = read_tree(as_bytes(1_000)).tree
    graph = graph_of(tree)
    found, one_pass = medians(
        lambda: bounds(tree, CATALOG), lambda: list(nx.topological_sort(graph)), rounds=15
    )
    note = f"topological_sort {in_words(one_pass)}"
    goals.most("I-G1", "bounds, 1,000 acyclic nodes", found * 1e3, 50, "ms", note)
    goals.figure("I-G1", "bounds / networkx pass, 1,000 acyclic nodes", found / one_pass, "x")


@pytest.mark.parametrize(("what", "made"), [("ways weighed", weighed), ("ways back", circling)])
def test_what_is_reached_within_the_budget(goals: Goals, what: str, made: Callable[[int], Tree]):
    tree = made(1_000)
    graph = graph_of(tree)
    found, one_pass = medians(
        lambda: bounds(tree, CATALOG), lambda: list(nx.strongly_connected_components(graph)), rounds=7
    )
    note = f"strongly_connected_components {in_words(one_pass)}"
    goals.most("I-G2", f"bounds, 1,000 nodes, {what}", found * 1e3, 1_000, "ms", note)
    goals.figure("I-G2", f"bounds / networkx pass, {what}", found / one_pass, "x")


@pytest.mark.parametrize(("what", "budget"), [("default budget", None), ("roomy budget", ROOMY)])
def test_walks_over_every_branch(goals: Goals, what: str, budget: Budget | None):
    tree = read_tree(as_bytes(1_000)).tree.replace(budget=budget)
    graph = graph_of(tree)
    found, one_pass = medians(lambda: cover(tree), lambda: list(nx.topological_sort(graph)), rounds=7)
    made = cover(tree)
    note = f"{len(made.walks)} walks take {made.covered} of {made.total}; {in_words(found)}"
    goals.figure("I-G3", f"cover / networkx pass, 1,000 nodes, {what}", found / one_pass, "x", note)
