"""Replays: a recorded run done again by the engine, and two runs side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import uuid4

from engine.budget import Usage
from engine.catalog import Catalog
from engine.counting import counted
from engine.deciders import Decider
from engine.evaluate.forks import Difference, DifferenceCode, fork
from engine.evaluate.logs import RunLog
from engine.evaluate.recalling import Recorded, Stale
from engine.evaluate.steps import ended_by_itself
from engine.events import Event, NodeVisited, Outcome, Visit
from engine.predicates import standard_catalog
from engine.records import uuid7
from engine.run import Parts, Run
from engine.trail import Trail, trail_of
from engine.tree import ConditionNode, Tree


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs side by side, as far as each has got. Time is not compared.

    ``difference`` tells where they differ first, in path, ending or counts; None when they do not.
    """

    one: Trail = field(repr=False)
    other: Trail = field(repr=False)
    difference: Difference | None

    @property
    def same(self) -> bool:
        """Whether path, outcome, verdict and counters agree."""
        return self.difference is None

    @property
    def outcomes(self) -> tuple[Outcome | None, Outcome | None]:
        """How each ended; None for one that has not."""
        one, other = self.one.result, self.other.result
        return one.outcome if one else None, other.outcome if other else None

    @property
    def verdicts(self) -> tuple[str | None, str | None]:
        """The verdict of each; None for one that has none."""
        one, other = self.one.result, self.other.result
        return one.verdict if one else None, other.verdict if other else None

    @property
    def usages(self) -> tuple[Usage, Usage]:
        """What each has used."""
        return self.one.usage, self.other.usage


def compare(one: Trail, other: Trail) -> Comparison:
    """Put two runs side by side."""
    sides = Comparison(one, other, None)
    difference = _parting(one.path, other.path)
    if difference is None:
        ends = [
            f"as {outcome or 'still going on'} with verdict '{verdict or ''}'"
            for outcome, verdict in zip(sides.outcomes, sides.verdicts, strict=True)
        ]
        timeless = [replace(usage, duration=0.0) for usage in sides.usages]
        uses = [
            f"{counted(u.node_visits, 'visit')}, {counted(u.llm_calls, 'call')} and "
            f"{counted(u.total_tokens, 'token')}"
            for u in timeless
        ]
        if ends[0] != ends[1]:
            difference = _at_the_end(one, "ending", f"One run ended {ends[0]}, the other {ends[1]}.")
        elif timeless[0] != timeless[1]:
            difference = _at_the_end(one, "usage", f"One run used {uses[0]}, the other {uses[1]}.")
    return replace(sides, difference=difference)


def _parting(one: Sequence[Visit], other: Sequence[Visit]) -> Difference | None:
    """Where two paths part."""
    for step in range(max(len(one), len(other))):
        a, b = one[step : step + 1], other[step : step + 1]
        if _taken(a) != _taken(b):
            at = (*b, *a)[0]
            reason = f"One run has {_said(a)}, the other {_said(b)}."
            return Difference(step, at.node, at.number, "path", reason)
    return None


def _at_the_end(one: Trail, code: DifferenceCode, reason: str) -> Difference:
    return Difference(len(one.path), None, 0, code, reason)


def _taken(visits: Sequence[Visit]) -> object:
    return [(visit.node, visit.outcome, visit.branch, visit.next) for visit in visits]


def _said(visits: Sequence[Visit]) -> str:
    for visit in visits:
        if visit.branch is None:
            return f"'{visit.node}' with '{visit.outcome}'"
        return f"'{visit.node}' by '{visit.branch}' to '{visit.next}'"
    return "no further visit"


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of doing a recorded run again.

    ``difference`` is the first thing that is not as it was, in the tree or in the run. ``reused`` and
    ``stale`` are the recorded answers that questions came to, in that order: those that held and those that
    did not.
    """

    comparison: Comparison
    difference: Difference | None
    reused: tuple[Recorded, ...]
    stale: tuple[Stale, ...]
    events: tuple[Event, ...] = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether path, outcome, verdict and counters are those of the log."""
        return self.comparison.same


async def replay(
    log: RunLog, tree: Tree | None = None, *, decider: Decider | None = None, catalog: Catalog | None = None
) -> Replayed:
    """Do a run again with its recorded answers and results, on its own tree or on another one.

    A question whose recorded answer does not hold goes to the ``decider``; without one the run ends there.
    ``catalog`` does what was not recorded, else only the built-in predicates do. Requests are made with the
    default parts of a session, so the answers of a model that was asked in another way are all stale. A run
    that was ended by what is not in its log (a person, time, a failure) is done again, and compared, up to
    its last whole step.
    """
    plan = fork(log.events, tree=tree)
    catalog = (standard_catalog() if catalog is None else catalog).with_external(
        predicates=[n.predicate_key or "" for n in plan.tree.nodes.values() if isinstance(n, ConditionNode)]
    )
    told: list[Recorded | Stale] = []
    events: list[Event] = []
    parts = Parts(
        decider=plan.decider(decider, told.append),
        new_id=lambda: uuid4().hex,
        new_decision_id=uuid7,
        catalog=catalog,
        limits=log.start.limits,
        clock=_Still(log.start.at),
    )
    whole = None if ended_by_itself(log.result) else _whole_steps(log.events)
    stops = 0
    run = Run(plan.tree, plan.inputs(catalog), parts, observers=[events.append])
    async for _ in run:
        if stops == whole:
            run.cancel()
            break
        stops += 1
    again = _first(whole, events)
    comparison = compare(trail_of(_first(whole, log.events)), trail_of(again))
    difference, seen = plan.difference, comparison.difference
    # A tree that cannot be run comes to no step at all.
    if seen and (difference is None or (seen.step < difference.step and comparison.other.path)):
        difference = seen
    return Replayed(
        comparison=comparison,
        difference=difference,
        reused=tuple(one for one in told if isinstance(one, Recorded)),
        stale=tuple(one for one in told if isinstance(one, Stale)),
        events=again,
    )


class _Still:
    """A clock that stands: doing again what took its time takes none."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Nothing has to be waited for."""


def _whole_steps(events: Sequence[Event]) -> int:
    """How many visits were left by a branch."""
    return sum(isinstance(event, NodeVisited) and event.visit.branch is not None for event in events)


def _first(steps: int | None, events: Sequence[Event]) -> tuple[Event, ...]:
    """The events up to the end of so many steps; None: all of them."""
    if steps is None:
        return tuple(events)
    ends = [0, *(position for position, event in enumerate(events) if isinstance(event, NodeVisited))]
    return tuple(events[: ends[min(steps, len(ends) - 1)] + 1])
