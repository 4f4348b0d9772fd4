"""Walks: a few ways through a tree that together take every step a run within its budget can take."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from engine.analysis.steps import Step, Steps, Way, fitting
from engine.budget import DEFAULT_LIMITS, Limits
from engine.tree import NodeId, Tree
from engine.treefile import collector_paused

Taken: TypeAlias = tuple[NodeId, str]
"""A step as a run tells it: the node, and the branch it took."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The steps of one run, and the terminal it comes to; None when the budget ends it before."""

    steps: tuple[Step, ...]
    terminal: NodeId | None

    @property
    def path(self) -> tuple[NodeId, ...]:
        """The nodes as the result of the run lists them."""
        nodes = tuple(step.node for step in self.steps)
        return nodes if self.terminal is None else (*nodes, self.terminal)


@dataclass(frozen=True, slots=True)
class Left:
    """A step that no run within the budget can take, and why."""

    step: Step
    reason: str


@dataclass(frozen=True, slots=True)
class Cover:
    """Walks that take every step that can be taken, the steps that cannot, and how many steps there are."""

    walks: tuple[Walk, ...]
    left: tuple[Left, ...]
    total: int

    @property
    def covered(self) -> int:
        """How many steps are taken."""
        return self.total - len(self.left)


def cover(tree: Tree, taken: Collection[Taken] = ()) -> Cover:
    """Walks that together take every step some run within the tree's own budget can take.

    Branches are pinned: each can be had each time, a declared answer for one LLM call, ``unknown`` for two,
    an action for none. A walk comes to a terminal, unless the budget ends every run that takes one of its
    steps. Steps that are ``taken`` already need no walk.
    """
    steps, taken = Steps(tree), frozenset(taken)
    every = list(chain.from_iterable(steps.onward.values()))
    covering = _Covering(steps, DEFAULT_LIMITS.within(tree.budget))
    wanted = [step for step in every if _key(step) not in taken]
    starts = [start for step in wanted if (start := covering.start_of(step)) is not None]
    covering.fresh.update(_key(start.step) for start in starts)
    left = [Left(step, covering.reason(step)) for step in wanted if _key(step) not in covering.fresh]
    # The nearest first: then what lies before is taken already, and each walk can look for what comes after.
    starts.sort(key=lambda start: (not start.can_end, start.way.visits))
    walks = [covering.walk(start.way, start.step) for start in starts if _key(start.step) in covering.fresh]
    ended = _needed([walk for walk in walks if walk.terminal is not None], taken)
    by_them = taken.union(*map(_keys, ended))
    cut_off = _needed([walk for walk in walks if walk.terminal is None], by_them)
    return Cover((*ended, *cut_off), tuple(left), len(every))


class _Start(NamedTuple):
    """How a walk over a step begins, and whether it can come to a terminal."""

    way: Way
    step: Step
    can_end: bool


class _Covering:
    """What can be taken within the budget; ``fresh`` is what of it no walk has taken."""

    def __init__(self, steps: Steps, limits: Limits) -> None:
        self._onward, self._terminals = steps.onward, frozenset(steps.terminals)
        with collector_paused():
            self._before, self._after = steps.from_start(), steps.to_end()
        self._visits, self._calls = limits.node_visits, limits.llm_calls
        self.fresh: set[Taken] = set()

    def start_of(self, step: Step) -> _Start | None:
        """How to come to the step, if that can be, so as to come to a terminal after it, if that can be."""
        ways = [
            way for way in self._before.get(step.node, ()) if self._can_take(step, way.visits, way.llm_calls)
        ]
        ending = [way for way in ways if self._can_end(step, way.visits, way.llm_calls)]
        return next((_Start(way, step, can_end=bool(ending)) for way in ending or ways), None)

    def reason(self, step: Step) -> str:
        """Why a step cannot be taken."""
        ways = self._before.get(step.node)
        if not ways:
            return "No way leads there."
        visits, calls = ways[0].visits, ways[-1].llm_calls + step.llm_calls[0]
        if visits > self._visits:
            return f"maxNodeVisits must be {visits} at least; it is {self._visits}."
        if calls > self._calls:
            return f"maxLlmCalls must be {calls} at least; it is {self._calls}."
        return (
            f"maxNodeVisits is {self._visits} and maxLlmCalls is {self._calls}; no way to it fits into both."
        )

    def walk(self, way: Way, step: Step) -> Walk:
        """Go this way, take the step, and go on to an end, over fresh steps where that is possible."""
        steps = _steps_along(way)
        self.fresh.difference_update(map(_key, steps))
        seen = {step.node, *(before.node for before in steps)}
        visits, calls = way.visits, way.llm_calls
        following: Step | None = step
        while following is not None:
            steps.append(following)
            seen.add(following.target)
            self.fresh.discard(_key(following))
            calls += following.llm_calls[0]
            if visits == self._visits:
                break
            visits += 1
            if following.target in self._terminals:
                return Walk(tuple(steps), following.target)
            following = self._following(following.target, seen, visits, calls)
        return Walk(tuple(steps), None)

    def _following(self, node: NodeId, seen: Collection[NodeId], visits: int, calls: int) -> Step | None:
        """The step to take: a fresh one, else towards one, else to an end; None where the budget ends it."""
        onward, after = self._onward[node], self._after.get(node, ())
        can = [step for step in onward if self._can_end(step, visits, calls)]
        if can:
            most_visits, most_calls = self._visits + 1 - visits, self._calls - calls
            after = [way for way in after if way.visits <= most_visits and way.llm_calls <= most_calls]
        can = can or [step for step in onward if self._can_take(step, visits, calls)]
        fresh = (step for step in can if _key(step) in self.fresh)
        ahead = self._towards_fresh(can, seen)
        nearest = (way.step for way in after[:1] if way.step in can)
        return next(chain(fresh, ahead, nearest, can), None)

    def _towards_fresh(self, steps: Iterable[Step], seen: Collection[NodeId]) -> Iterator[Step]:
        """Of these steps those that lead to a fresh one soon, the soonest first.

        Nodes ``seen`` are no way there: else a walk might go round and round.
        """
        layer = [(step, step.target) for step in steps]
        met: set[NodeId] = set()
        for _ in range(_AHEAD):
            ahead = []
            for first, node in layer:
                if node not in seen and node not in met:
                    met.add(node)
                    if any(_key(step) in self.fresh for step in self._onward[node]):
                        yield first
                    ahead += [(first, step.target) for step in self._onward[node]]
            layer = ahead

    def _can_take(self, step: Step, visits: int, calls: int) -> bool:
        return visits <= self._visits and calls + step.llm_calls[0] <= self._calls

    def _can_end(self, step: Step, visits: int, calls: int) -> bool:
        ways = self._after.get(step.target, ())
        return fitting(ways, self._visits - visits, self._calls - calls - step.llm_calls[0]) is not None


_AHEAD: Final = 3
"""How many visits to look ahead for a fresh step: more of them save few walks."""


def _key(step: Step) -> Taken:
    return step.node, step.branch


def _steps_along(way: Way) -> list[Step]:
    """The steps of a way from the start, in order."""
    steps = []
    while way.step is not None and way.rest is not None:
        steps.append(way.step)
        way = way.rest
    return steps[::-1]


def _keys(walk: Walk) -> set[Taken]:
    return set(map(_key, walk.steps))


def _needed(walks: Sequence[Walk], taken: Collection[Taken]) -> Sequence[Walk]:
    """The walks without those whose steps are all taken by others."""
    times = Counter(chain(taken, *map(_keys, walks)))
    needed = []
    for walk in walks:
        if all(times[key] > 1 for key in _keys(walk)):
            times.subtract(_keys(walk))
        else:
            needed.append(walk)
    return needed
