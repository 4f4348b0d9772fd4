"""The recorder: a bounded queue of what is to be kept, and the one writer that hands it to a sink.

Handing a record over never waits and never fails. Outcomes, erasures and flushes wait for space instead of
being lost. What goes wrong is counted and logged by numbers and names of types only, never by what a record,
an id, a key or an error says.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Final, Literal, Protocol, Self, TypeAlias, runtime_checkable

from engine.budget import Clock, SystemClock
from engine.errors import RecorderClosed, RecordingFailed
from engine.jsontext import Json
from engine.records.record import Confirmed, Erasure, Outcome, Record, Signal
from engine.records.redaction import Drop, Redact
from engine.records.sinks import Sink

RECORDS_DROPPED: Final = 1009
SINK_CALL_FAILED: Final = 1010
REDACTION_FAILED: Final = 1011
FLUSH_TIMED_OUT: Final = 1012
RECORDING_FAILED: Final = 1013

BATCH: Final = 256
_QUIET: Final = 1.0

Operation: TypeAlias = Literal["write", "outcome", "erase", "erase-decision", "cancel"]


@runtime_checkable
class BatchSink(Protocol):
    """A sink that takes many records at once, in order: all of them are kept, or it raises and none is."""

    async def write_all(self, records: Sequence[Record]) -> None:
        """Keep these records."""
        ...


@dataclass(frozen=True, slots=True)
class Counters:
    """What became of everything that was offered so far; each ended in exactly one of its numbers."""

    written: int = 0
    dropped: int = 0
    failed: int = 0
    outcomes_written: int = 0
    outcomes_failed: int = 0
    erasures_written: int = 0
    erasures_failed: int = 0
    log_failures: int = 0


_everyone: Counter[str] = Counter()
_counting = Lock()


def process_counters() -> Counters:
    """The totals of all recorders of this process, also of those that are closed."""
    with _counting:
        return Counters(**_everyone)


class _Flush:
    """Everything before this was handed to the sink."""


@dataclass(slots=True, eq=False)
class _Entry:
    what: Record | Outcome | Erasure | _Flush
    admitted: asyncio.Future[None] | None = None
    """Done once there was space, for those that wait for it."""
    run: asyncio.Future[None] | None = None
    """Done once the sink has run it, for those that wait for that."""


class DecisionRecorder:
    """Keeps records in a queue of so many items while one writer hands them to the sink, one call at a time.

    An erasure covers what was queued before it and nothing after. Leaving the ``async with`` block, or
    :meth:`close`, writes what is queued for at most ``flush_timeout`` seconds (None: as long as it takes).
    The sink belongs to the caller, who closes it after the recorder. ``redact`` says what is kept of the
    state of a decision, before anything is queued.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        redact: Redact | None = None,
        capacity: int = 1024,
        flush_timeout: float | None = 5.0,
        clock: Clock | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        if capacity < 1:
            raise ValueError("A recorder's queue holds at least one item.")
        if flush_timeout is not None and not flush_timeout > 0:
            raise ValueError("A recorder's flush time-out is more than zero seconds, or None.")
        self._sink, self._capacity, self._flush_timeout = sink, capacity, flush_timeout
        # Asked once: what a protocol asks of an object takes longer than handing it a record.
        self._batches = sink if isinstance(sink, BatchSink) else None
        self._alone = 0
        self._redact = redact
        self._clock, self._log = clock or SystemClock(), logger or logging.getLogger(__name__)
        self._queue: deque[_Entry] = deque()
        self._waiting: deque[_Entry] = deque()
        self._in_hand: list[_Entry] = []
        self._tally: Counter[str] = Counter()
        self._unsaid, self._said_at = 0, float("-inf")
        self._writer: asyncio.Task[None] | None = None
        self._closed = self._gave_up = False

    @property
    def counters(self) -> Counters:
        """The totals of this recorder; reading them waits for nobody."""
        return Counters(**self._tally)

    # -- handing over ----------------------------------------------------------------------------------

    def record(self, record: Record) -> None:
        """Queue a record, or drop and count it where there is no space or the recorder is closed.

        Called on the event loop the recorder works on.
        """
        if self._closed:
            self._count("dropped")
        elif len(self._queue) + len(self._waiting) < self._capacity:
            self._queue.append(_Entry(record))
            self._work()
        else:
            # Those who wait for space count as queued: a record never gets ahead of an erasure.
            self._count("dropped")
            self._unsaid += 1
            self._say_dropped()

    def keep(self, state: Callable[[], Json], make: Callable[[Json], Record]) -> None:
        """Queue the record that is made of what the redactor leaves of a state; as :meth:`record`.

        The redactor may change what it is given. What goes wrong is counted and logged, and raises nothing.
        """
        event = RECORDING_FAILED
        try:
            whole = state()
            event = REDACTION_FAILED
            kept = whole if self._redact is None else _left_of(self._redact(whole))
            event = RECORDING_FAILED
            if isinstance(kept, Drop):
                self._count("dropped")
            else:
                self.record(make(kept))
        except Exception as error:  # noqa: BLE001 - recording never makes a decision fail
            self._count("failed")
            self._say(logging.WARNING, event, "A decision could not be recorded (%s).", type(error).__name__)

    async def add_outcome(self, outcome: Outcome) -> None:
        """Queue what became of a decision; returns when it is queued. Raises :class:`RecorderClosed`."""
        await self._admit(_Entry(outcome))

    def take_back(self, outcome: Outcome) -> bool:
        """Undo an outcome that is still queued, as if it had never been; false where the sink has it.

        It is known by being the same object.
        """
        for entries in (self._queue, self._waiting):
            for entry in entries:
                if entry.what is outcome:
                    entries.remove(entry)
                    if entry.admitted is not None and not entry.admitted.done():
                        entry.admitted.set_result(None)
                    self._let_in()
                    return True
        return False

    async def erase(self, key: str) -> None:
        """Forget all decisions with this erasure key; returns when the sink has done so.

        Raises :class:`RecordingFailed` where it has not, and :class:`RecorderClosed`: ask again later then.
        """
        await self._carry_out(Erasure(key=key))

    async def erase_decision(self, decision_id: str) -> None:
        """Forget one decision and its outcomes; as :meth:`erase`."""
        await self._carry_out(Erasure(decision_id=decision_id))

    async def flush(self) -> None:
        """Return when everything queued before was handed to the sink; raises as :meth:`erase`."""
        await self._carry_out(_Flush())

    async def _carry_out(self, what: Erasure | _Flush) -> None:
        run: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._admit(_Entry(what, run=run))
        await run

    async def _admit(self, entry: _Entry) -> None:
        if self._closed:
            raise RecorderClosed
        if not self._waiting and len(self._queue) < self._capacity:
            self._queue.append(entry)
            self._work()
            return
        entry.admitted = asyncio.get_running_loop().create_future()
        self._waiting.append(entry)
        try:
            await entry.admitted
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
            raise

    # -- the writer ------------------------------------------------------------------------------------

    def _work(self) -> None:
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write(), name="recorder")

    async def _write(self) -> None:
        """Hand on what is queued. With nothing left it ends: an idle recorder keeps no loop waiting."""
        try:
            while self._queue:
                self._in_hand = self._next()
                await self._hand_on()
                self._in_hand = []
        except BaseException:
            self._give_up()
            raise

    def _next(self) -> list[_Entry]:
        """What goes to the sink in one call; whoever waits moves into the space it leaves."""
        taken = [self._queue.popleft()]
        most, self._alone = 1 if self._alone else BATCH, max(self._alone - 1, 0)
        if self._batches is not None and isinstance(taken[0].what, Record):
            while len(taken) < most and self._queue and isinstance(self._queue[0].what, Record):
                taken.append(self._queue.popleft())
        self._let_in()
        return taken

    def _let_in(self) -> None:
        """Let those who wait move into the space there is."""
        while self._waiting and len(self._queue) < self._capacity:
            entry = self._waiting.popleft()
            if entry.admitted is not None and not entry.admitted.done():
                entry.admitted.set_result(None)
                self._queue.append(entry)

    async def _hand_on(self) -> None:
        """Call the sink with what is in hand. Whoever gives up meanwhile has settled it and left nothing."""
        first = self._in_hand[0].what
        try:
            await self._call(first)
        except BaseException as error:
            if self._gave_up or _is_cancelled():
                if not isinstance(error, asyncio.CancelledError):
                    self._say_failed("cancel", error)
                raise asyncio.CancelledError from None
            if not isinstance(error, Exception | asyncio.CancelledError):
                raise
            if len(self._in_hand) > 1:  # nothing was kept, maybe for one of them: each on its own
                self._queue.extendleft(reversed(self._in_hand))
                self._alone = len(self._in_hand)
                return
            self._say_failed(_operation(first), error)
            self._settle(self._in_hand, "failed", error)
        else:
            self._settle(self._in_hand, "written")

    async def _call(self, first: Record | Outcome | Erasure | _Flush) -> None:
        match first:
            case Record() if self._batches is not None:
                await self._batches.write_all([entry.what for entry in self._in_hand])  # type: ignore[misc]
            case Record():
                await self._sink.write(first)
            case Confirmed() | Signal():
                await self._sink.outcome(first)
            case Erasure(key=str() as key):
                await self._sink.erase_key(key)
            case Erasure(decision_id=str() as decision_id):
                await self._sink.erase_decision(decision_id)

    def _settle(self, entries: list[_Entry], result: str, cause: BaseException | None = None) -> None:
        for entry in entries:
            if (counter := _counter(entry.what, result)) is not None:
                self._count(counter)
            if entry.run is not None and not entry.run.done():
                if result == "written":
                    entry.run.set_result(None)
                else:
                    failure = RecordingFailed()
                    failure.__cause__ = cause
                    entry.run.set_exception(failure)

    # -- closing ---------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Take nothing more, write what is queued, and give up when the flush time-out has passed.

        A sink that hangs in its own cancellation is waited for once more as long. Closing again waits for
        the first.
        """
        self._closed = True
        if self._writer is not None:
            done, _ = await asyncio.wait({self._writer}, timeout=self._flush_timeout)
            if not done:
                self._gave_up = True
                self._writer.cancel()
                await asyncio.wait({self._writer}, timeout=self._flush_timeout)
                self._give_up()
        self._say_dropped(now=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _give_up(self) -> None:
        """Count as lost what is left, tell those who wait, and take nothing more."""
        self._closed = True
        lost = [*self._in_hand, *self._queue, *self._waiting]
        self._in_hand = []
        self._queue.clear()
        self._waiting.clear()
        if lost:
            numbers = Counter(_kind(entry.what) for entry in lost)
            for entry in lost:
                self._settle([entry], "dropped" if isinstance(entry.what, Record) else "failed")
                if entry.admitted is not None and not entry.admitted.done():
                    entry.admitted.set_exception(RecordingFailed())
            self._say(
                logging.ERROR,
                FLUSH_TIMED_OUT,
                "The recorder ran out of time: lost %d records, %d outcomes, %d erasures and %d flushes.",
                *(numbers[kind] for kind in ("record", "outcome", "erasure", "flush")),
            )
        self._say_dropped(now=True)

    def _count(self, what: str) -> None:
        self._tally[what] += 1
        with _counting:
            _everyone[what] += 1

    # -- saying ----------------------------------------------------------------------------------------

    def _say_dropped(self, *, now: bool = False) -> None:
        """Log the records dropped since the last time, at most once a second."""
        at = self._clock.monotonic()
        if self._unsaid and (now or at - self._said_at >= _QUIET):
            unsaid, self._unsaid, self._said_at = self._unsaid, 0, at
            self._say(logging.WARNING, RECORDS_DROPPED, "The record queue was full: %d dropped.", unsaid)

    def _say_failed(self, operation: Operation, error: BaseException) -> None:
        text = "The record store failed at '%s' (%s)."
        self._say(logging.WARNING, SINK_CALL_FAILED, text, operation, type(error).__name__)

    def _say(self, level: int, event: int, text: str, *fields: object) -> None:
        try:
            self._log.log(level, text, *fields, extra={"event": event})
        except Exception:  # noqa: BLE001 - a log that fails never stops the recorder
            self._count("log_failures")


def _left_of(kept: Json | Drop) -> Json | Drop:
    if isinstance(kept, str | dict | list | Drop):
        return kept
    raise TypeError("A redactor returns a state or DROP.")


def _is_cancelled() -> bool:
    """Whether somebody cancels the writer, rather than a sink cancelling itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _operation(what: Record | Outcome | Erasure | _Flush) -> Operation:
    match what:
        case Record():
            return "write"
        case Erasure(key=None):
            return "erase-decision"
        case Erasure():
            return "erase"
        case _:
            return "outcome"


def _kind(what: Record | Outcome | Erasure | _Flush) -> str:
    match what:
        case Record():
            return "record"
        case Erasure():
            return "erasure"
        case _Flush():
            return "flush"
        case _:
            return "outcome"


def _counter(what: Record | Outcome | Erasure | _Flush, result: str) -> str | None:
    match _kind(what):
        case "record":
            return result
        case "flush":
            return None
        case kind:
            return f"{kind}s_{result}"
