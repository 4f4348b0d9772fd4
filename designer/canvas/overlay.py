"""What is shown over a tree without being part of it: marks of a run, problems, probabilities."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, TypeVar

from designer.proof import Cost
from engine import NodeId, Problem, Severity, Trail

EdgeKey: TypeAlias = tuple[NodeId, str]
"""A branch: the node it leaves and its label."""

Standing: TypeAlias = Literal["running", "paused", "asks you", "past"]
"""How a run stands at its current node."""

_SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Overlay:
    """One moment of a run, and what the checks say; the default is a tree at rest without problems."""

    current: NodeId | None = None
    standing: Standing = "running"
    visits: Mapping[NodeId, int] = field(default_factory=dict)
    taken: frozenset[EdgeKey] = frozenset()
    last_taken: EdgeKey | None = None
    problems: Mapping[NodeId, tuple[Problem, ...]] = field(default_factory=dict)
    probabilities: Mapping[NodeId, Mapping[str, float]] = field(default_factory=dict)
    sources: Mapping[NodeId, str] = field(default_factory=dict)
    """Where the next answer or result of a node comes from, in a word, where that is not as usual."""
    costs: Mapping[NodeId, Cost] = field(default_factory=dict)
    """What nodes cost, while that is to be seen; it is not seen from afar."""
    past: bool = False
    """Whether this is a moment before the latest."""

    def with_problems(self, problems: Iterable[Problem]) -> "Overlay":
        """This overlay with these problems, each at its node; those of the tree itself have no place here."""
        by_node: dict[NodeId, tuple[Problem, ...]] = {}
        for problem in problems:
            if problem.node is not None:
                by_node[problem.node] = (*by_node.get(problem.node, ()), problem)
        return replace(self, problems=by_node)


def moment(trail: Trail, at: NodeId | None, standing: Standing = "running") -> Overlay:
    """What a run has shown so far; ``at`` is the node it stands at, and ``standing`` how."""
    last = trail.path[-1] if trail.path else None
    nodes = trail.tree.nodes if trail.tree else {}
    return Overlay(
        current=at,
        standing=standing,
        visits=trail.visits(),
        taken=trail.taken(),
        last_taken=(last.node, last.branch) if last is not None and last.branch is not None else None,
        probabilities={
            # Deciders give one number an answer, in the order of the answers; some also one for "unknown".
            c.node: dict(zip(nodes[c.node].branches(), c.probabilities, strict=False))
            for c in trail.classifications
            if c.probabilities and c.node in nodes
        },
    )


def worst(problems: Iterable[Problem]) -> Severity | None:
    """The severity of the worst of these problems; None for no problems."""
    found = {problem.severity for problem in problems}
    return next((severity for severity in _SEVERITIES if severity in found), None)


def changed_nodes(before: Overlay, after: Overlay) -> set[NodeId]:
    """The nodes whose marks may differ."""
    if before is after:
        return set()
    nodes = {source for source, _ in changed_edges(before, after)}
    if (before.current, before.standing) != (after.current, after.standing):
        nodes |= {node for node in (before.current, after.current) if node is not None}
    return (
        nodes
        | _differing(before.visits, after.visits)
        | _differing(before.problems, after.problems)
        | _differing(before.probabilities, after.probabilities)
        | _differing(before.sources, after.sources)
    )


def changed_edges(before: Overlay, after: Overlay) -> set[EdgeKey]:
    """The branches that are taken, or last taken, in one of the two only."""
    edges = set(before.taken ^ after.taken)
    if before.last_taken != after.last_taken:
        edges |= {edge for edge in (before.last_taken, after.last_taken) if edge is not None}
    return edges


def _differing(before: Mapping[_Key, object], after: Mapping[_Key, object]) -> set[_Key]:
    if before is after:
        return set()
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
