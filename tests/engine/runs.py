"""A clock that stands still until it is told, actions, and a short way to run a tree."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from engine import (
    ActionContext,
    ActionResult,
    ActionStatus,
    DataItem,
    Event,
    Inputs,
    LlmClient,
    Run,
    RunResult,
    Session,
    TextDecider,
    Tree,
)
from engine.llm import Completion
from tests.engine.deciding import FakeClient

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


class VirtualClock:
    """Time that passes only when somebody sleeps or a test moves it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


class SlowClient(FakeClient):
    """A client whose every call takes this long on a virtual clock."""

    def __init__(self, clock: VirtualClock, seconds: float, replies: list[Any]) -> None:
        super().__init__(replies)
        self.clock, self.seconds = clock, seconds

    async def complete(self, request: Any) -> Completion:
        self.clock.seconds += self.seconds
        return await super().complete(request)


def evidence(content: str = "The invoice is attached.", **more: Any) -> DataItem:
    return DataItem("evidence-1", "application", "evidence", content, **more)


class Does:
    """An action that returns these results in turn, the last one for ever; an exception is raised."""

    def __init__(self, key: str, *results: ActionResult | BaseException) -> None:
        self.key = key
        self._results = list(results) or [ActionResult()]

    async def execute(self, context: ActionContext) -> ActionResult:
        result = self._results.pop(0) if len(self._results) > 1 else self._results[0]
        if isinstance(result, BaseException):
            raise result
        return result


class Calls:
    """An action that calls a function with its context and succeeds."""

    def __init__(self, key: str, function: Callable[[ActionContext], object]) -> None:
        self.key, self._function = key, function

    async def execute(self, context: ActionContext) -> ActionResult:
        self._function(context)
        return ActionResult()


def fails(status: ActionStatus, error: str = "It went wrong.") -> ActionResult:
    return ActionResult(status, error=error)


COLLECTED = ActionResult(data=(evidence(),))


def collect() -> Does:
    return Does("collectEvidence", COLLECTED)


def start(
    tree: Tree,
    replies: Sequence[Any] | LlmClient = (),
    *,
    actions: Iterable[Any] = (),
    inputs: Inputs | None = None,
    events: list[Event] | None = None,
    stops_inside: Sequence[Any] = (),
    **parts: Any,
) -> Run:
    """A run of the tree whose model gives these replies; it appends its events to the list."""
    client = FakeClient(list(replies)) if isinstance(replies, Sequence) else replies
    parts.setdefault("clock", VirtualClock())
    parts.setdefault("decider", TextDecider(client))
    return Session(**parts).start(
        tree,
        inputs,
        actions=actions,
        observers=[] if events is None else [events.append],
        stops_inside=stops_inside,
    )


async def ended(tree: Tree, replies: Sequence[Any] | LlmClient = (), **more: Any) -> RunResult:
    """The result of running the tree to its end."""
    return await start(tree, replies, **more).finish()
