"""Work that is pulled: it goes on while its reader asks for more, within its time, and ends in good order."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import coroutine
from typing import Generic, Protocol, Self, TypeVar

from engine.agent.definition import ExecutionStatus, FailureKind
from engine.budget import Meter
from engine.llm.failures import caller_is_cancelled
from engine.run import Phase, Stop, stop_at


class Halted(Exception):
    """Ends the run for this reason, whatever stage it is in."""

    def __init__(self, kind: FailureKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class Pace:
    """Where a run stops and how long it may go on. Its clock is wound by whoever pulls the run."""

    def __init__(self, name: str, meter: Meter) -> None:
        self.name, self.meter = name, meter
        self.stops: tuple[Phase, ...] = ()
        self.scope: asyncio.Timeout | None = None
        self.cancelled = False
        self.interrupted = ""

    def check(self) -> None:
        """Go no further once the run was cancelled or its time is over."""
        if self.is_cancelled:
            raise asyncio.CancelledError
        if self.is_late or self.meter.left < 0:
            raise self.out_of_time

    @property
    def is_cancelled(self) -> bool:
        """Whether the run was cancelled, or the task that reads it for another reason than its time."""
        return self.cancelled or (caller_is_cancelled() and not self.is_late)

    @property
    def is_late(self) -> bool:
        """Whether its time ran out while it waited."""
        return self.scope is not None and self.scope.expired()

    @property
    def out_of_time(self) -> Halted:
        """What ends a run whose time is over."""
        return Halted("DeadlineExceeded", f"The agent was not done within {self.meter.limits.elapsed:g} s.")

    async def stop(self, phase: Phase, turn: int) -> None:
        """Stand still where the reader asked for it; turns count from 1."""
        self.check()
        if phase in self.stops:
            await stop_at(Stop(self.name, phase, turn))
        self.check()

    @contextmanager
    def interruptible(self, doing: str) -> Iterator[None]:
        """Remember what was interrupted, if something is."""
        try:
            yield
        except asyncio.CancelledError:
            self.interrupted = doing
            raise


class Ended(Protocol):
    """What comes of a run."""

    @property
    def status(self) -> ExecutionStatus:
        """Where the run stands with it."""
        ...


R = TypeVar("R", bound=Ended)


class Pulled(ABC, Generic[R]):
    """A run that is read with ``async for``, or driven to its end with :meth:`finish`.

    It stops where its reader asked for that. The clock of its deadline stands still while nobody asks. It
    never raises for what happens in it: all that is told in its result.
    """

    def __init__(self, pace: Pace, stops_inside: Iterable[Phase]) -> None:
        self._pace, self._stops = pace, tuple(stops_inside)
        self._body: Coroutine[object, None, None] | None = None
        self._driven = False
        self._result: R | None = None

    @property
    def result(self) -> R:
        """What came of it; ``RuntimeError`` before it has ended."""
        if self._result is None:
            raise RuntimeError("The run has not ended yet.")
        return self._result

    @property
    def ended(self) -> bool:
        """Whether there is a result."""
        return self._result is not None

    @property
    def status(self) -> ExecutionStatus:
        """Where it stands."""
        if self._result is not None:
            return self._result.status
        return "Pending" if self._body is None else "Running"

    @abstractmethod
    async def _execute(self) -> None:
        """All of the run, up to its result."""

    async def finish(self) -> R:
        """Drive the run to its end without stopping."""
        await self._pulled(())
        return self.result

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Stop:
        stop = await self._pulled(self._stops)
        if stop is None:
            raise StopAsyncIteration
        return stop

    def cancel(self) -> None:
        """End the run as ``Cancelled``: at once between two steps, else when what it waits for lets go."""
        pace = self._pace
        if self.ended or pace.cancelled:
            return
        pace.cancelled = True
        if pace.scope is not None:
            if not pace.scope.expired():
                pace.scope.reschedule(asyncio.get_running_loop().time())
            return
        with suppress(StopIteration):
            if self._body is None:
                self._body = self._execute()
                self._body.send(None)
            else:
                self._body.throw(asyncio.CancelledError())

    async def _pulled(self, stops: tuple[Phase, ...]) -> Stop | None:
        """Go on to the next stop; None at the end."""
        if self.ended:
            return None
        pace, task = self._pace, asyncio.current_task()
        if self._driven:
            raise RuntimeError("A run has one reader at a time.")
        cancelled = task.cancelling() if task else 0
        self._driven, pace.stops = True, stops
        self._body = self._body or self._execute()
        pace.meter.resume()
        try:
            # The deadline and a cancellation of our own interrupt the reader's task and give it back.
            async with asyncio.timeout(max(pace.meter.left, 0)) as pace.scope:
                stop = await _advanced(self._body)
        finally:
            pace.meter.pause()
            pace.scope, self._driven = None, False
        if stop is None and task and task.cancelling() > cancelled:
            # The run ended in good order; a reader that others have cancelled stays cancelled all the same.
            raise asyncio.CancelledError
        return stop


@coroutine
def _advanced(body: Coroutine[object, None, None]) -> Generator[object, None, Stop | None]:
    """Run a body until it stops, or ends (None). What it awaits is passed on to the event loop."""
    try:
        awaited = body.send(None)
        while not isinstance(awaited, Stop):
            try:
                yield awaited
            except BaseException as error:  # noqa: BLE001 - handed to the body, which decides
                awaited = body.throw(error)
            else:
                awaited = body.send(None)
    except StopIteration:
        return None
    return awaited
