"""Where records go: a JSONL file or memory. Both are for one writer at a time."""

import os
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from engine.records.codec import RecordProblem, line_of
from engine.records.ledger import Ledger, RecordedDecision
from engine.records.record import Erasure, Item, Outcome, Record


class Sink(Protocol):
    """Takes records, outcomes and erasures, one call at a time.

    It never raises for an outcome or an erasure whose decision it does not hold. An erasure that returns
    has been carried out.
    """

    async def write(self, record: Record) -> None:
        """Keep a record."""
        ...

    async def outcome(self, outcome: Outcome) -> None:
        """Keep what became of a decision."""
        ...

    async def erase_key(self, key: str) -> None:
        """Forget every decision recorded with this erasure key, and its outcomes."""
        ...

    async def erase_decision(self, decision_id: str) -> None:
        """Forget one decision and its outcomes."""
        ...


class _ItemSink:
    """A sink that treats all items alike. Leaving its ``async with`` block closes it."""

    def _put(self, item: Item) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Give back what the sink holds. Closing twice does nothing."""

    async def write(self, record: Record) -> None:
        self._put(record)

    async def outcome(self, outcome: Outcome) -> None:
        self._put(outcome)

    async def erase_key(self, key: str) -> None:
        self._put(Erasure(key=key))

    async def erase_decision(self, decision_id: str) -> None:
        self._put(Erasure(decision_id=decision_id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class JsonlSink(_ItemSink):
    """Appends one line an item to a file, which it makes readable by its owner only.

    A line reaches the operating system in one write, so that others can read the file meanwhile. An erasure
    is a line too: readers honour it, and what it erases stays in the file. Opening raises ``OSError``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._open()

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        size = os.fstat(self._file).st_size
        self._torn = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"

    def _put(self, item: Item) -> None:
        if self._file is None:
            raise ValueError("The record file is closed.")
        # After a line that was cut, a line feed first: then only the cut line is lost and not this one too.
        line = (b"\n" if self._torn else b"") + line_of(item) + b"\n"
        self._torn = True
        if os.write(self._file, line) != len(line):
            raise OSError("The record file took only part of a line.")
        self._torn = False

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class MemorySink(_ItemSink):
    """Keeps everything in memory, for tests and for runs nobody keeps. An erasure deletes at once."""

    def __init__(self) -> None:
        self._ledger = Ledger()

    @property
    def decisions(self) -> tuple[RecordedDecision, ...]:
        """What is kept, in the order the decisions were first seen."""
        return self._ledger.decisions()

    def _put(self, item: Item) -> None:
        try:
            self._ledger.take(item)
        except RecordProblem:
            return  # an outcome of a decision that is not here: allowed, and nothing to keep
