"""The production store: decisions in a SQLite file with one writer; an erasure deletes for real."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from engine.records.lock import StoreLock
from engine.records.record import Erasure, Outcome, Record
from engine.records.table import RecordTable

T = TypeVar("T")


class SqliteSink:
    """Keeps records in a SQLite file that only its owner can read; the event loop never waits for the disk.

    Opening raises :class:`StoreInUse` while another writer has the store, :class:`StoreRefused` where the
    file is no store, and ``OSError``. An erasure that returns has left nothing in the file or its journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = StoreLock(path)
        try:
            self._table = RecordTable(path)
        except BaseException:
            self._lock.release()
            raise
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="records")

    async def write(self, record: Record) -> None:
        await self.write_all((record,))

    async def write_all(self, records: Sequence[Record]) -> None:
        """Keep these records, all or none."""
        await self._do(lambda table: _put(table, records))

    async def outcome(self, outcome: Outcome) -> None:
        await self._do(lambda table: _add(table, outcome))

    async def erase_key(self, key: str) -> None:
        await self._do(lambda table: _erase(table, Erasure(key=key)))

    async def erase_decision(self, decision_id: str) -> None:
        await self._do(lambda table: _erase(table, Erasure(decision_id=decision_id)))

    async def compact(self) -> None:
        """Give the space of what was erased back to the system."""
        await self._do(RecordTable.compact)

    def close(self) -> None:
        """Finish what was asked for and give the store back; a second time does nothing."""
        self._thread.shutdown()
        self._table.close()
        self._lock.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    async def _do(self, work: Callable[[RecordTable], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._table)


def _put(table: RecordTable, records: Sequence[Record]) -> None:
    with table.change():
        for record in records:
            table.put(record)


def _add(table: RecordTable, outcome: Outcome) -> None:
    with table.change():
        table.add(outcome)


def _erase(table: RecordTable, erasure: Erasure) -> None:
    with table.change():
        table.erase(erasure, datetime.now(UTC))
    table.forget_journal()
