"""Trees as large canvases and layouts are given, with local joins and a few ways back."""

import random
from math import isqrt

from designer.canvas.geometry import card_size
from designer.document.draft import Draft, Place
from engine import (
    ActionNode,
    AnyNode,
    ClassifyNode,
    ConditionNode,
    NodeId,
    TerminalNode,
    Transition,
    Tree,
)

_TASK = "Is the statement supported by the evidence at hand?"


def field(size: int) -> Draft:
    """A square of cards with 1.5 branches a node: to the right, to a neighbour row, now and then back."""
    chance, side = random.Random(size), max(1, isqrt(size))
    nodes: dict[NodeId, AnyNode] = {}
    places: dict[NodeId, Place] = {}
    for number in range(size):
        row, column = divmod(number, side)
        targets = [number + 1] if column + 1 < side else []
        if chance.random() < 0.5:
            aside = number + 1 + side * chance.choice([-1, 1])
            targets.append(aside if chance.random() < 0.9 else number - chance.randint(1, 3))
        nodes[f"n{number}"] = _node(
            chance, number, [f"n{target}" for target in targets if 0 <= target < size]
        )
        places[f"n{number}"] = Place(column * 385.0, row * 220.0)
    return Draft(Tree(tree_id="field", version=1, start_node_id="n0", nodes=nodes), places)


def joined(size: int, seed: int = 0) -> Tree:
    """1.45 branches a node: a tree whose leaves join it again nearby, and now and then further up."""
    chance = random.Random(size + seed)
    targets: dict[int, list[int]] = {number: [] for number in range(size)}
    grown, tips = 1, [0]
    while grown < size:
        parent = tips.pop(0) if len(tips) > 1 and chance.random() < 0.8 else tips[-1]
        for _ in range(chance.choice([1, 1, 2, 3])):
            if grown < size:
                targets[parent].append(grown)
                tips.append(grown)
                grown += 1
    for number in range(size):
        if chance.random() < 0.45 and len(targets[number]) < 3:
            ahead = chance.randint(1, 25) if chance.random() < 0.9 else -chance.randint(1, 25)
            other = number + ahead
            if 0 <= other < size and other != number and other not in targets[number]:
                targets[number].append(other)
    nodes = {f"n{i}": _node(chance, i, [f"n{t}" for t in found]) for i, found in targets.items()}
    return Tree(tree_id="joined", version=1, start_node_id="n0", nodes=nodes)


def pooled(size: int) -> Tree:
    """2.9 branches a node, most of them into a small pool of shared terminals."""
    chance, ends = random.Random(size), [f"end{i}" for i in range(6)]
    nodes: dict[NodeId, AnyNode] = {}
    for number in range(size):
        on = [f"n{number + chance.randint(1, 3)}"]
        nodes[f"n{number}"] = _node(chance, number, [*on, chance.choice(ends), chance.choice(ends)])
    nodes |= {end: TerminalNode(verdict=end) for end in ends}
    nodes |= {f"n{size + i}": TerminalNode(verdict="done") for i in range(3)}
    return Tree(tree_id="pooled", version=1, start_node_id="n0", nodes=nodes)


def sizes_of(tree: Tree) -> dict[NodeId, tuple[float, float]]:
    return {node_id: card_size(node, node_id) for node_id, node in tree.nodes.items()}


def _node(chance: random.Random, number: int, targets: list[NodeId]) -> AnyNode:
    kind = chance.random()
    if kind < 0.5 or len(targets) > 2:
        labels = ("yes", "no", "unknown")
        return ClassifyNode(
            name=f"Question {number}", task=_TASK, answers=labels[:2], transitions=_to(labels, targets)
        )
    if kind < 0.8:
        labels = ("success", "transientFailure", "permanentFailure")
        return ActionNode(name=f"Step {number}", action_key="loadOrder", transitions=_to(labels, targets))
    return ConditionNode(
        name=f"Test {number}",
        predicate_key="dataExists",
        predicate_parameters={"type": "photo"},
        transitions=_to(("true", "false"), targets),
    )


def _to(labels: tuple[str, ...], targets: list[NodeId]) -> tuple[Transition, ...]:
    return tuple(Transition(condition=b, next_node_id=t) for b, t in zip(labels, targets, strict=False))
