"""Steps: what can be taken in a tree, what each costs at best and at worst, and the best ways along them."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple

from engine.budget import Limits
from engine.catalog import Catalog, LlmCalls
from engine.tree import UNKNOWN, ActionNode, AnyNode, ClassifyNode, NodeId, TerminalNode, Tree

ANSWER_CALLS: Final[LlmCalls] = (1, 2)
"""What a declared answer of a text model costs: the reply can be used at once, or when asked again."""

UNKNOWN_CALLS: Final[LlmCalls] = (2, 2)
"""What ``unknown`` costs: neither reply can be used."""

_FREE: Final[LlmCalls] = (0, 0)


@dataclass(frozen=True, slots=True)
class Step:
    """A branch that leads to a node, with the LLM calls that taking it costs, the fewest and the most."""

    node: NodeId
    branch: str
    target: NodeId
    llm_calls: LlmCalls = _FREE


class Way(NamedTuple):
    """A way between a node and where it was looked for from, with its cost; both ends are visited.

    ``step`` is the one at the node, ``rest`` the way without it.
    """

    visits: int
    llm_calls: int
    step: Step | None = None
    rest: "Way | None" = None


Ways = Mapping[NodeId, Sequence[Way]]
"""By node, the ways no other is better than: each visits more nodes than the one before, for fewer calls."""


class Steps:
    """The steps of a tree, by the node they leave and by the node they come to.

    Branches that a node lacks, or that lead to no node, are left out.
    """

    def __init__(self, tree: Tree, catalog: Catalog | None = None) -> None:
        self.start = tree.start_node_id
        self.terminals = [node_id for node_id, node in tree.nodes.items() if isinstance(node, TerminalNode)]
        self.onward: Mapping[NodeId, Sequence[Step]] = {
            node_id: steps_of(tree, node_id, catalog) for node_id in tree.nodes
        }
        leading: dict[NodeId, list[Step]] = {node_id: [] for node_id in tree.nodes}
        for steps in self.onward.values():
            for step in steps:
                leading[step.target].append(step)
        self.leading: Mapping[NodeId, Sequence[Step]] = leading

    def from_start(self) -> Ways:
        """The best ways from the start to each node."""
        return best_ways([self.start], self.onward.get, attrgetter("target"))

    def to_end(self) -> Ways:
        """The best ways from each node to a terminal."""
        return best_ways(self.terminals, self.leading.get, attrgetter("node"))


def steps_of(tree: Tree, node_id: NodeId, catalog: Catalog | None = None) -> Sequence[Step]:
    """The steps that leave a node, in the order of its branches. Without a catalog actions are free."""
    node = tree.nodes[node_id]
    targets = node.targets
    return [
        Step(node_id, branch, targets[branch], _cost(node, branch, catalog))
        for branch in dict.fromkeys(node.branches())
        if targets.get(branch) in tree.nodes
    ]


def _cost(node: AnyNode, branch: str, catalog: Catalog | None) -> LlmCalls:
    match node:
        case ClassifyNode():
            return UNKNOWN_CALLS if branch == UNKNOWN else ANSWER_CALLS
        case ActionNode() if catalog is not None:
            return catalog.llm_calls(node.action_key or "")
    return _FREE


def best_ways(
    seeds: Iterable[NodeId],
    steps: Callable[[NodeId], Iterable[Step] | None],
    beyond: Callable[[Step], NodeId],
    *,
    limits: Limits | None = None,
    sought: AbstractSet[NodeId] | None = None,
) -> Ways:
    """The best ways between the seeds and every node, or those within the limits.

    ``steps`` are those at a node and ``beyond`` is the far end of one. Going through the nodes visit by
    visit, a way is worth keeping only when it needs fewer calls than every shorter one. The search ends as
    soon as each of the nodes ``sought`` was found.
    """
    visits, llm_calls = (limits.node_visits, limits.llm_calls) if limits else (inf, inf)
    found: dict[NodeId, list[Way]] = {}
    layer = {node: Way(1, 0) for node in seeds}
    fewest = dict.fromkeys(layer, 0)
    while layer and visits >= 1:
        visits -= 1
        for node, way in layer.items():
            found.setdefault(node, []).append(way)
        if sought is not None and found.keys() >= sought:
            break
        ahead: dict[NodeId, Way] = {}
        for node, way in layer.items():
            for step in steps(node) or ():
                other, calls = beyond(step), way.llm_calls + step.llm_calls[0]
                if calls <= llm_calls and calls < fewest.get(other, inf):
                    fewest[other] = calls
                    ahead[other] = Way(way.visits + 1, calls, step, way)
        layer = ahead
    return found


def fitting(ways: Sequence[Way], visits: int, llm_calls: int) -> Way | None:
    """The way with the fewest calls among those of at most these visits, if it needs no more calls."""
    within = bisect_right(ways, visits, key=attrgetter("visits"))
    way = ways[within - 1] if within else None
    return way if way is not None and way.llm_calls <= llm_calls else None
