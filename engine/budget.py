"""What a run may use, what it has used, and the clock it is measured with."""

import asyncio
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import Final, Literal, Protocol, TypeAlias

from engine.tree import Budget, OnExceeded
from engine.values import quick_to_make

LimitName: TypeAlias = Literal["nodeVisits", "llmCalls", "elapsedTime"]
"""A limit that can be passed."""


class Clock(Protocol):
    """Time as a run sees it; tests hand in one they move themselves."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let this much time pass."""
        ...


class SystemClock:
    """The clock of this machine."""

    # Not wrapped in methods: a run looks at its clock several times a visit.
    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits in force for one run. ``elapsed`` is in seconds."""

    node_visits: int = 20
    llm_calls: int = 10
    elapsed: float = 120.0
    context_tokens: int = 4000
    on_exceeded: OnExceeded = "halt"

    def within(self, budget: Budget | None) -> "Limits":
        """These limits with every member the budget sets put in their place."""
        if budget is None:
            return self
        return Limits(
            node_visits=self.node_visits if budget.max_node_visits is None else budget.max_node_visits,
            llm_calls=self.llm_calls if budget.max_llm_calls is None else budget.max_llm_calls,
            elapsed=self.elapsed if budget.max_elapsed_time is None else budget.max_elapsed_time.seconds,
            context_tokens=self.context_tokens
            if budget.max_context_tokens is None
            else budget.max_context_tokens,
            on_exceeded=budget.on_exceeded or self.on_exceeded,
        )

    def bounded_by(self, left: "Limits") -> "Limits":
        """These limits, with no more LLM calls and time than are left; visits are each tree's own."""
        return replace(
            self, llm_calls=min(self.llm_calls, left.llm_calls), elapsed=min(self.elapsed, left.elapsed)
        )

    @property
    def are_possible(self) -> bool:
        """Whether all of them are above zero; only the LLM calls may be none."""
        return self.node_visits > 0 and self.llm_calls >= 0 and self.elapsed > 0 and self.context_tokens > 0


DEFAULT_LIMITS: Final = Limits()
"""The limits where neither the tree nor the session says otherwise."""


@quick_to_make
@dataclass(frozen=True, slots=True)
class Usage:
    """What a run has used. ``duration`` is in seconds and leaves out the time the run was paused.

    Tokens count what providers reported; ``unreported_calls`` says how many calls reported none.
    """

    node_visits: int = 0
    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    duration: float = 0.0
    cost: float | None = None
    unreported_calls: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


class BudgetStop(Exception):
    """A limit ends the run."""

    def __init__(self, limit: LimitName, message: str) -> None:
        super().__init__(message)
        self.limit = limit


IMPOSSIBLE: Final = "Decision tree budget values must be positive, except that maxLlmCalls may be zero."
EXHAUSTED: Final = "Decision resource budget exhausted."
VISITS_EXCEEDED: Final = "Maximum decision node visits exceeded."
CALLS_EXCEEDED: Final = "Maximum decision LLM calls exceeded."


_SHORTEST: Final = 0.001
"""Seconds a limit is never below, since none at all would be no limit."""


@dataclass(slots=True)
class Meter:
    """Counts for one run. The stopwatch runs only between :meth:`resume` and :meth:`pause`.

    ``paused`` is how many seconds it stood still before it was last resumed.
    """

    clock: Clock
    limits: Limits
    visits: int = 0
    calls: int = 0
    paused: float = 0.0
    _input_tokens: int = 0
    _output_tokens: int = 0
    _unreported: int = 0
    _runs: bool = False
    _before: float = 0.0
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock.monotonic()

    def resume(self) -> None:
        """Start the stopwatch."""
        if not self._runs:
            now = self.clock.monotonic()
            self.paused += now - self._since
            self._runs, self._since = True, now

    def pause(self) -> None:
        """Stop the stopwatch."""
        if self._runs:
            now = self.clock.monotonic()
            self._before += now - self._since
            self._runs, self._since = False, now

    @property
    def elapsed(self) -> float:
        """Seconds the stopwatch ran."""
        return self._before + (self.clock.monotonic() - self._since if self._runs else 0.0)

    @property
    def left(self) -> float:
        """Seconds until the elapsed limit; below zero once it has passed."""
        return self.limits.elapsed - self.elapsed

    @property
    def remaining(self) -> Limits:
        """What is left of the limits. Time binds others only where it ends the run: else there is no end."""
        limits = self.limits
        return replace(
            limits,
            node_visits=max(0, limits.node_visits - self.visits),
            llm_calls=max(0, limits.llm_calls - self.calls),
            elapsed=max(self.left, _SHORTEST) if limits.on_exceeded == "halt" else inf,
        )

    def reading(self) -> Usage:
        """What has been used up to now."""
        return Usage(
            self.visits,
            self.calls,
            self._input_tokens,
            self._output_tokens,
            self.elapsed,
            None,
            self._unreported,
        )

    def count_calls(self, calls: int, input_tokens: int | None, output_tokens: int | None) -> None:
        """LLM calls, and the tokens they reported (None = not reported)."""
        self.calls += calls
        self._input_tokens += input_tokens or 0
        self._output_tokens += output_tokens or 0
        if input_tokens is None and output_tokens is None:
            self._unreported += calls

    def charge(self, used: Usage) -> None:
        """The LLM calls and tokens that were used elsewhere on behalf of this run."""
        self.calls += used.llm_calls
        self._input_tokens += used.input_tokens
        self._output_tokens += used.output_tokens
        self._unreported += used.unreported_calls

    @property
    def visits_used_up(self) -> bool:
        """Whether another visit would pass the limit."""
        return self.visits >= self.limits.node_visits

    @property
    def calls_used_up(self) -> bool:
        """Whether another LLM call would pass the limit."""
        return self.calls >= self.limits.llm_calls

    def passed(self) -> LimitName | None:
        """The limit that has been passed, counts before time."""
        if self.visits > self.limits.node_visits:
            return "nodeVisits"
        if self.calls > self.limits.llm_calls:
            return "llmCalls"
        return "elapsedTime" if self.elapsed > self.limits.elapsed else None
