"""Whole stores: opened for their one writer by what their names end in, copied into each other, compacted."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from engine.files import in_place_of
from engine.records.browser import JSONL, SQLITE, RecordBrowser
from engine.records.codec import item_of
from engine.records.lock import StoreLock
from engine.records.reader import BadLine
from engine.records.record import Outcome, Record
from engine.records.recorder import BatchSink
from engine.records.sinks import JsonlSink
from engine.records.sqlite import SqliteSink
from engine.records.table import StoreRefused

Progress: TypeAlias = Callable[[float], None]
"""Hears the share of the work that is done, from 0 to 1."""


class RecordFile(JsonlSink):
    """A record file as a store: it has one writer, and an erasure that returns has left nothing in it.

    Opening raises :class:`StoreInUse` while somebody else writes to it, and ``OSError``.
    """

    def __init__(self, path: Path) -> None:
        self._lock = StoreLock(path)
        try:
            super().__init__(path)
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        super().close()
        self._lock.release()

    async def erase_key(self, key: str) -> None:
        await super().erase_key(key)
        await self.compact()

    async def erase_decision(self, decision_id: str) -> None:
        await super().erase_decision(decision_id)
        await self.compact()

    async def compact(self) -> None:
        """Write the file anew without what was erased and without lines that could not be read."""
        await compact_file(self.path)
        super().close()
        self._open()


Store: TypeAlias = SqliteSink | RecordFile


def open_store(path: Path) -> Store:
    """Open a store for writing, made if it is not there, by the end of its name: ``.jsonl`` or ``.sqlite``.

    Raises :class:`StoreInUse` while somebody else writes to it, :class:`StoreRefused` and ``OSError``.
    """
    return store_kind(path)(path)


def store_kind(path: Path) -> type[SqliteSink] | type[RecordFile]:
    """What writes to a store of this name; :class:`StoreRefused` where no store is called so."""
    kind = _KINDS.get(path.suffix)
    if kind is None:
        raise StoreRefused(f"The name of a record store ends in {JSONL} or {SQLITE}.")
    return kind


_KINDS: Final[dict[str, type[SqliteSink] | type[RecordFile]]] = {JSONL: RecordFile, SQLITE: SqliteSink}


@contextmanager
def browsed(path: Path, cache: Path) -> Iterator[RecordBrowser]:
    """A store nobody is writing to, to be read as a whole; its last line need not have an end.

    Raises :class:`StoreRefused` and ``OSError``.
    """
    store_kind(path)
    with tempfile.TemporaryDirectory(prefix="treewright-") as own:
        browser = RecordBrowser(path, cache if _ends_well(path) else Path(own), whole=True)
        try:
            yield browser
        finally:
            browser.close()


def _ends_well(path: Path) -> bool:
    """Whether an index of this store will still be right when the store has grown."""
    if path.suffix != JSONL:
        return True
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        return size == 0 or os.pread(file.fileno(), 1, size - 1) == b"\n"


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy came to: what was taken, the decisions that were there already, and the lines left out."""

    decisions: int = 0
    outcomes: int = 0
    known: int = 0
    problems: tuple[BadLine, ...] = ()


async def copy_records(
    source: RecordBrowser, store: Store, cache: Path, progress: Progress | None = None
) -> Copied:
    """Take into a store what is left in another one and not in this one; nothing that is there is changed.

    Doing it again takes nothing twice, so it may be interrupted. Raises :class:`StoreRefused`, ``OSError``
    and ``sqlite3.Error``.
    """
    await source.refresh(progress)
    total = max(1, await source.count())
    target = RecordBrowser(store.path, cache)
    try:
        decisions = outcomes = known = 0
        async for lines in source.lines():
            await target.refresh()
            items = [item_of(line) for line in lines]
            records = [item for item in items if isinstance(item, Record)]
            there = await target.known(record.decision_id for record in records)
            fresh = [record for record in records if record.decision_id not in there]
            await _write(store, fresh)
            await target.refresh()
            for item in items:
                if not isinstance(item, Record) and await _is_new(target, item):  # type: ignore[arg-type]
                    await store.outcome(item)  # type: ignore[arg-type]
                    outcomes += 1
            decisions += len({record.decision_id for record in fresh})
            known += len(there)
            if progress is not None:
                progress(min(1.0, (decisions + known) / total))
        return Copied(decisions, outcomes, known, await source.problems())
    finally:
        await asyncio.to_thread(target.close)


async def _write(store: Store, records: list[Record]) -> None:
    if isinstance(store, BatchSink):
        await store.write_all(records)
    else:
        for record in records:
            await store.write(record)


async def _is_new(target: RecordBrowser, outcome: Outcome) -> bool:
    row = await target.row_of(outcome.decision_id)
    decision = None if row is None else await target.decision(row)
    return decision is not None and outcome not in decision.outcomes


async def compact_file(path: Path) -> None:
    """Write a record file anew, whole or not at all, with what is left in it; for its one writer."""
    with tempfile.TemporaryDirectory(prefix="treewright-") as cache, browsed(path, Path(cache)) as source:
        await source.refresh()
        with in_place_of(path, private=True) as file:
            async for lines in source.lines():
                await asyncio.to_thread(file.writelines, [line + b"\n" for line in lines])
            file.flush()
            # Onto the disk beside the loop: leaving the block finds nothing left to wait for.
            await asyncio.to_thread(os.fsync, file.fileno())
