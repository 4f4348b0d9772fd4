"""What runs of a tree can cost, at best and at worst, and which ends its own budget lets them come to."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from engine.analysis.steps import Steps, Way, fitting
from engine.budget import DEFAULT_LIMITS, Limits
from engine.catalog import Catalog
from engine.tree import Budget, Json, NodeId, Tree
from engine.treefile import collector_paused

ASSUMED: Final = (
    "Assumed: a text model decides, and every prompt fits. A declared answer costs 1 LLM call, or 2 when it "
    "has to be asked for again; unknown costs 2. An action costs what it declares, else nothing."
)
"""What the bounds of LLM calls stand on."""


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most there can be; None as the most means that only the budget bounds it."""

    min: int
    max: int | None

    def as_json(self) -> dict[str, Json]:
        """As ``treewright bounds --json`` has it."""
        return {"min": self.min, "max": self.max}


@dataclass(frozen=True, slots=True)
class Bound:
    """What it costs to come from one place to another; both ends are visited.

    ``reachable_in_budget`` says whether a run that the tree's own budget does not end can do so.
    """

    visits: Range
    llm_calls: Range
    reachable_in_budget: bool

    def as_json(self) -> dict[str, Json]:
        """As ``treewright bounds --json`` has it."""
        return {
            "visits": self.visits.as_json(),
            "llmCalls": self.llm_calls.as_json(),
            "reachableInBudget": self.reachable_in_budget,
        }


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a tree: from its start to each terminal, and from each node on to any terminal.

    Every branch counts as possible each time, and the tree's own budget cuts nothing off. Left out are
    nodes no way leads to and nodes without a way to a terminal; ``start`` and ``smallest_budget`` are None
    when that leaves nothing. ``smallest_budget`` is the one of the fewest LLM calls, then of the fewest
    visits, in which every terminal can be reached at best. ``limits`` are those of the tree's own budget.
    """

    terminals: Mapping[NodeId, Bound]
    nodes: Mapping[NodeId, Bound]
    start: Bound | None
    smallest_budget: Budget | None
    limits: Limits

    def as_json(self) -> dict[str, Json]:
        """As ``treewright bounds --json`` has it."""
        smallest = self.smallest_budget
        return {
            "terminals": {node: bound.as_json() for node, bound in self.terminals.items()},
            "nodes": {node: bound.as_json() for node, bound in self.nodes.items()},
            "start": None if self.start is None else self.start.as_json(),
            "smallestBudget": None
            if smallest is None
            else {"maxNodeVisits": smallest.max_node_visits, "maxLlmCalls": smallest.max_llm_calls},
        }


def bounds(tree: Tree, catalog: Catalog | None = None) -> Bounds:
    """What runs of a tree can cost, exactly; the catalog knows what actions declare.

    They hold for a run that is decided by a text model whose prompts fit. A node can be reached in budget
    when a run can visit it and still come to a terminal.
    """
    steps, limits = Steps(tree, catalog), DEFAULT_LIMITS.within(tree.budget)
    with collector_paused():
        before, after = steps.from_start(), steps.to_end()
    nodes = [node for node in tree.nodes if node in before and node in after]
    terminals = {node: before[node] for node in steps.terminals if node in before}
    order = _components(nodes, steps)
    farthest_before = _farthest(
        order, {steps.start}, lambda node: ((step.node, step.llm_calls[1]) for step in steps.leading[node])
    )
    farthest_after = _farthest(
        order[::-1],
        terminals,
        lambda node: ((step.target, step.llm_calls[1]) for step in steps.onward[node]),
    )
    reached = {node for node in nodes if _fits(before[node], after[node], limits)}
    onward = {node: _bound(after[node], farthest_after[node], in_budget=node in reached) for node in nodes}
    return Bounds(
        terminals={
            node: _bound(ways, farthest_before[node], in_budget=node in reached)
            for node, ways in terminals.items()
        },
        nodes=onward,
        start=onward.get(steps.start),
        smallest_budget=_smallest(terminals.values()),
        limits=limits,
    )


def _bound(ways: Sequence[Way], farthest: tuple[float, float], *, in_budget: bool) -> Bound:
    visits, calls = (None if most == inf else int(most) for most in farthest)
    return Bound(Range(ways[0].visits, visits), Range(ways[-1].llm_calls, calls), in_budget)


def _fits(before: Sequence[Way], after: Sequence[Way], limits: Limits) -> bool:
    """Whether one of the ways to a node and one from it on come within the limits together."""
    return any(
        fitting(after, limits.node_visits + 1 - way.visits, limits.llm_calls - way.llm_calls)
        for way in before
    )


def _smallest(ends: Collection[Sequence[Way]]) -> Budget | None:
    if not ends:
        return None
    calls = max(ways[-1].llm_calls for ways in ends)
    visits = max(next(way.visits for way in ways if way.llm_calls <= calls) for ways in ends)
    return Budget(max_node_visits=visits, max_llm_calls=calls)


# -- at worst ------------------------------------------------------------------------------------------


def _components(nodes: Collection[NodeId], steps: Steps) -> list[set[NodeId]]:
    """The nodes that lead to each other in a circle, or one alone; each comes after all that lead to it."""
    import networkx as nx

    graph: nx.DiGraph[NodeId] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(
        (node, step.target) for node in nodes for step in steps.onward[node] if step.target in graph
    )
    condensed = nx.condensation(graph)
    return [condensed.nodes[component]["members"] for component in nx.topological_sort(condensed)]


def _farthest(
    components: Iterable[Collection[NodeId]],
    seeds: Collection[NodeId],
    nearer: Callable[[NodeId], Iterable[tuple[NodeId, int]]],
) -> Mapping[NodeId, tuple[float, float]]:
    """The most visits and the most calls of ways between the seeds and each node.

    ``nearer`` are the neighbours on the side of the seeds, each with the calls in between; the components
    come in that order, too.
    """
    far: dict[NodeId, tuple[float, float]] = {}
    for component in components:
        visits, calls = 0.0, 0.0
        for node in component:
            visits = max(visits, node in seeds)
            for other, most in nearer(node):
                if other in component:
                    visits, calls = inf, inf if most else calls
                elif other in far:
                    visits, calls = max(visits, far[other][0] + 1), max(calls, far[other][1] + most)
        far.update(dict.fromkeys(component, (visits, calls)))
    return far
