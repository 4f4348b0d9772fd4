"""Measures things against each other in one run, and keeps what came out beside its goal."""

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Goal:
    """A figure and what it should be: at most the target, or at least."""

    id: str
    what: str
    value: float
    target: float | None = None
    unit: str = "x"
    at_least: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        met = self.value >= self.target if self.at_least else self.value <= self.target
        return "ok" if met else "short"

    @property
    def row(self) -> tuple[str, str, str, str, str, str]:
        sign = ">=" if self.at_least else "<="
        target = "" if self.target is None else f"{sign} {self.target:g} {self.unit}"
        return self.id, self.what, f"{self.value:.3g} {self.unit}", target, self.verdict, self.note


@dataclass
class Goals:
    """All figures of a run, in the order they came."""

    found: list[Goal] = field(default_factory=list)

    def most(self, id: str, what: str, value: float, target: float, unit: str = "x", note: str = "") -> None:
        self.found.append(Goal(id, what, value, target, unit, note=note))

    def least(self, id: str, what: str, value: float, target: float, unit: str = "x", note: str = "") -> None:
        self.found.append(Goal(id, what, value, target, unit, at_least=True, note=note))

    def figure(self, id: str, what: str, value: float, unit: str, note: str = "") -> None:
        self.found.append(Goal(id, what, value, None, unit, note=note))

    def lines(self) -> list[str]:
        """The table."""
        rows = [("goal", "measured", "result", "target", "", ""), *(goal.row for goal in self.found)]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        return [
            "  ".join(
                [
                    *(
                        f"{cell:{'>' if column == 2 else '<'}{widths[column]}}"
                        for column, cell in enumerate(row[:5])
                    ),
                    row[5],
                ]
            ).rstrip()
            for row in rows
        ]


def timed(work: Callable[[], object]) -> float:
    """Seconds this takes, once. What it made is given back after the clock has stopped."""
    began = time.perf_counter()
    made = work()
    took = time.perf_counter() - began
    del made
    return took


def medians(*works: Callable[[], object], rounds: int = 7) -> list[float]:
    """The median seconds of each, one after the other in every round so that all see the same machine."""
    for work in works:
        work()
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        gc.collect()
        for spent, work in zip(seconds, works, strict=True):
            spent.append(timed(work))
    return [statistics.median(spent) for spent in seconds]


def awaited_medians(*works: Callable[[], Awaitable[object]], rounds: int = 7) -> list[float]:
    """The same of what is awaited, all on one loop: to make one takes longer than a short piece of work."""

    async def measured() -> list[float]:
        for work in works:
            await work()
        seconds: list[list[float]] = [[] for _ in works]
        for _ in range(rounds):
            gc.collect()
            for spent, work in zip(seconds, works, strict=True):
                began = time.perf_counter()
                made = await work()
                spent.append(time.perf_counter() - began)
                del made
        return [statistics.median(spent) for spent in seconds]

    return asyncio.run(measured())


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def in_words(seconds: float) -> str:
    """A length of time with three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
