"""A trail: what a run has done so far, folded from its events.

Meters, highlights, summaries and the moments of the past are all readings of a trail.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch

from engine.budget import LimitName, Limits, Usage
from engine.data import DataItem
from engine.deciders import Attempt
from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    BudgetPassed,
    Classification,
    ClassificationCompleted,
    Event,
    NodeStarted,
    NodeVisited,
    RunEnded,
    RunResult,
    RunStarted,
    Visit,
)
from engine.tree import NodeId, Tree


@dataclass(frozen=True, slots=True)
class Trail:
    """Everything a run has shown up to one moment. A new trail is the moment before a run starts."""

    execution_id: str | None = None
    tree: Tree | None = field(default=None, repr=False)
    limits: Limits = Limits()  # noqa: RUF009 - frozen
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    current: NodeId | None = None
    path: tuple[Visit, ...] = ()
    classifications: tuple[Classification, ...] = ()
    attempts: tuple[Attempt, ...] = field(default=(), repr=False)
    properties: Mapping[str, object] = field(default_factory=dict, repr=False)
    data: tuple[DataItem, ...] = field(default=(), repr=False)
    passed: tuple[LimitName, ...] = ()
    result: RunResult | None = None

    def after(self, event: Event) -> "Trail":
        """The trail once this has happened."""
        return _after(event, self)

    def visits(self) -> Mapping[NodeId, int]:
        """How often each node was visited."""
        return Counter(visit.node for visit in self.path)

    def taken(self) -> frozenset[tuple[NodeId, str]]:
        """The branches that were taken, as node and label."""
        return frozenset((visit.node, visit.branch) for visit in self.path if visit.branch is not None)

    @property
    def context_tokens(self) -> int:
        """The estimated size of the request sent last."""
        return self.attempts[-1].prepared_tokens if self.attempts else 0


def trail_of(events: Iterable[Event]) -> Trail:
    """The trail these events leave."""
    trail = Trail()
    for event in events:
        trail = trail.after(event)
    return trail


@singledispatch
def _after(_event: Event, trail: Trail) -> Trail:
    return trail


@_after.register
def _(event: RunStarted, _trail: Trail) -> Trail:
    return Trail(
        execution_id=event.execution_id,
        tree=event.tree,
        limits=event.limits,
        properties=event.properties,
        data=event.data,
    )


@_after.register
def _(event: NodeStarted, trail: Trail) -> Trail:
    return replace(
        trail, current=event.node, usage=replace(trail.usage, node_visits=trail.usage.node_visits + 1)
    )


@_after.register
def _(event: ActionCompleted, trail: Trail) -> Trail:
    return replace(
        trail, properties={**trail.properties, **event.changed}, data=(*trail.data, *event.produced)
    )


@_after.register
def _(event: AttemptCompleted, trail: Trail) -> Trail:
    return replace(trail, usage=event.usage, attempts=(*trail.attempts, event.attempt))


@_after.register
def _(event: ClassificationCompleted, trail: Trail) -> Trail:
    return replace(trail, classifications=(*trail.classifications, event.classification))


@_after.register
def _(event: BudgetPassed, trail: Trail) -> Trail:
    return replace(trail, passed=(*trail.passed, event.limit))


@_after.register
def _(event: NodeVisited, trail: Trail) -> Trail:
    return replace(trail, usage=event.usage, path=(*trail.path, event.visit))


@_after.register
def _(event: RunEnded, trail: Trail) -> Trail:
    return replace(trail, result=event.result, usage=event.result.usage, current=None)
