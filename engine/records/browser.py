"""Browsing a record store of either kind: lists, filters, search and single decisions, off the event loop.

A SQLite store is read where it is. A record file is read through an index in a cache folder, which is made
again whenever it does not fit and follows the file as it grows.
"""

import asyncio
import hashlib
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Final, Self, TypeVar

from engine.records.codec import RecordProblem, item_of
from engine.records.ledger import RecordedDecision
from engine.records.reader import BadLine, Line, bad_line, lines
from engine.records.record import Erasure, Record
from engine.records.table import (
    Held,
    Kept,
    Needle,
    Order,
    RecordFilter,
    RecordRow,
    RecordTable,
    StoreRefused,
    decision_of,
    lines_of,
)

T = TypeVar("T")

_LINES: Final = 2_000
"""Lines that are indexed, or rows that are searched, before whoever waits gets a turn."""

JSONL: Final = ".jsonl"
SQLITE: Final = ".sqlite"


class RecordBrowser:
    """An open store. Every method but the constructor and :meth:`close` leaves the event loop free.

    Rows are numbers of this store; they stay the same until :meth:`refresh` says that something changed.
    A last line without an end may still be being written and is waited for, unless the file is taken to be
    ``whole``; then it is read too, and the cache must be one of its own. Opening raises
    :class:`StoreRefused` and ``OSError``.
    """

    def __init__(self, path: Path, cache: Path, *, whole: bool = False) -> None:
        self.path, self._whole = path, whole
        if path.suffix == SQLITE:
            self._table, self._file = RecordTable(path, read_only=True), None
        else:
            self._file = path.open("rb")
            try:
                self._table = _index(path, cache)
            except BaseException:
                self._file.close()
                raise
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="browse")
        self._seen, self._closed = -1, False
        self._stamp: tuple[int, int, int] | None = None
        self._to_forget = False

    def close(self) -> None:
        """Stop what runs and give the files back; a second time does nothing."""
        if self._closed:
            return
        self._closed = True
        self._table.stop()
        self._thread.shutdown(cancel_futures=True)
        self._table.close()
        if self._file is not None:
            self._file.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    async def refresh(self, progress: Callable[[float], None] | None = None) -> bool:
        """Take in what was written since; whether anything was. ``progress`` hears the share that is done.

        May be cancelled at any time and asked again: what is done is kept.
        """
        if self._file is None:
            version = await self._do(self._table.version)
            changed, self._seen = version != self._seen, version
            return changed
        changed = False
        while True:
            more, share = await self._do(self._take_in)
            changed = changed or more
            if progress is not None:
                progress(share)
            if not more or share >= 1:
                return changed

    async def count(self, wanted: RecordFilter = RecordFilter()) -> int:  # noqa: B008 - frozen
        """How many decisions there are."""
        return await self._do(lambda: self._table.count(wanted))

    async def newest(self, wanted: RecordFilter, limit: int, order: Order = "newest") -> list[int]:
        """The first so many rows of an order, at once."""
        return await self._do(lambda: self._table.newest(wanted, limit, order))

    async def all_rows(self, wanted: RecordFilter, order: Order = "newest") -> Sequence[int]:
        """Every row, in order."""
        return await self._do(lambda: self._table.all_rows(wanted, order))

    async def rows(self, rows: Sequence[int]) -> list[RecordRow]:
        """What a list shows of these rows; one that is not there any more is left out."""
        return await self._do(lambda: self._table.rows(rows))

    async def values(self, column: str) -> list[str]:
        """The different trees, nodes, answers, models or errors, sorted."""
        return await self._do(lambda: self._table.values(column))  # type: ignore[arg-type]

    async def problems(self) -> tuple[BadLine, ...]:
        """The lines of a record file that could not be used."""
        return await self._do(self._table.problems)

    async def row_of(self, decision_id: str) -> int | None:
        """Where a decision stands."""
        return await self._do(lambda: self._table.row_of(decision_id))

    async def decision(self, row: int) -> RecordedDecision | None:
        """One decision with its outcomes; None when it is not there any more."""
        return await self._do(lambda: decision_of(self._lines_of(row)))

    async def known(self, decision_ids: Iterable[str]) -> set[str]:
        """Those of the ids whose decisions are here."""
        wanted = list(decision_ids)
        return await self._do(lambda: {i for i in wanted if self._table.row_of(i) is not None})

    async def lines(self) -> AsyncIterator[list[bytes]]:
        """Every line that counts, many at a time, no decision in parts: what is left, in order of arrival."""
        every = self._table.every()
        while some := await self._do(lambda: list(islice(every, _LINES))):
            yield await self._do(lambda some=some: list(chain.from_iterable(map(self._told, some))))  # type: ignore[misc]

    async def ids_with(self, erasure: Erasure) -> tuple[str, ...]:
        """The decisions an erasure would remove."""
        return await self._do(lambda: self._table.ids_with(erasure))

    async def search(self, text: str, rows: Sequence[int]) -> AsyncIterator[tuple[list[int], float]]:
        """Those of the rows that say this, in order, bit by bit, and the share that has been searched."""
        needle = Needle(text)
        for start in range(0, len(rows), _LINES):
            part = rows[start : start + _LINES]
            found = await self._do(lambda part=part: self._saying(needle, part))  # type: ignore[misc]
            yield found, min(1.0, (start + _LINES) / len(rows))

    # -- in the thread -----------------------------------------------------------------------------------

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _lines_of(self, row: int) -> Iterator[bytes]:
        return map(self._line, self._table.held(row))

    def _told(self, kept: Kept) -> Iterator[bytes]:
        return lines_of(map(self._line, kept.items), kept.keys)

    def _line(self, held: Held) -> bytes:
        return held if isinstance(held, bytes) else self._read(*held)

    def _read(self, place: int, size: int) -> bytes:
        return b"" if self._file is None else os.pread(self._file.fileno(), size, place)

    def _saying(self, needle: Needle, rows: Sequence[int]) -> list[int]:
        if self._file is None:
            return self._table.saying(needle, rows)
        places = {row: (place, size) for row, place, size in self._table.places(rows)}
        return [row for row in rows if row in places and needle.is_in(self._read(*places[row]))]

    def _take_in(self) -> tuple[bool, float]:
        """Index the next lines of the file; whether there were any, and the share that is done."""
        assert self._file is not None  # noqa: S101 - only record files are indexed
        facts, there = self._table.facts(), os.fstat(self._file.fileno())
        now = self.path.stat()
        stamp = (now.st_ino, now.st_size, now.st_mtime_ns)
        if stamp == self._stamp:
            return False, 1.0
        if (now.st_ino, now.st_dev) != (there.st_ino, there.st_dev):
            self._file.close()
            self._file = self.path.open("rb")
            there = now
        done = facts.get("done", 0)
        with self._table.change():
            known = (there.st_ino, _print_of(self._file, done))
            fits = done <= there.st_size and (facts.get("file"), facts.get("print")) == known
            if not fits:
                self._table.clear()
                facts, done = {}, 0
            number, erased = facts.get("lines", 0), False
            self._file.seek(done)
            for line in lines(self._file):
                if not line.ends and not self._whole:
                    break
                number += 1
                erased = self._take(line, number, done) or erased
                done += line.size
                if number % _LINES == 0:
                    break
            self._table.note(file=there.st_ino, done=done, lines=number, print=_print_of(self._file, done))
        # A file written anew has forgotten something too. What fails is tried again at the next look.
        self._to_forget = self._to_forget or erased or not fits
        if self._to_forget:
            self._table.forget_journal()
            self._to_forget = False
        more = number > facts.get("lines", 0) or not fits
        if not more:
            self._stamp = stamp
        if done >= there.st_size:
            self._table.index()
        return more, 1.0 if done >= there.st_size or not more else done / there.st_size

    def _take(self, line: Line, number: int, place: int) -> bool:
        """Index one line; whether it was an erasure."""
        if not line.data.strip():
            return False
        try:
            item = item_of(line.data)
        except RecordProblem as problem:
            self._table.report(bad_line(line, number, problem))
            return False
        held = (place, len(line.data))
        match item:
            case Record():
                self._table.put(item, held)
            case Erasure():
                self._table.erase(item)
                return True
            case _:
                if not self._table.add(item, held):
                    told = "The outcome has no decision before it."
                    self._table.report(BadLine(number, "orphan-outcome", told))
        return False


def _index(path: Path, cache: Path) -> RecordTable:
    """The index of a record file; one that is damaged or of another format is made anew."""
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:24]
    place = cache / f"{name}{SQLITE}"
    try:
        return RecordTable(place, indexed=False)
    except (StoreRefused, sqlite3.DatabaseError):
        for file in cache.glob(f"{name}{SQLITE}*"):
            file.unlink(missing_ok=True)
        return RecordTable(place, indexed=False)


_PRINT: Final = 4096


def _print_of(file: BinaryIO, done: int) -> int:
    """A number that tells the beginning and the end of what was indexed from anything else."""
    handle, digest = file.fileno(), hashlib.blake2b(digest_size=7)
    digest.update(os.pread(handle, min(_PRINT, done), 0))
    digest.update(os.pread(handle, min(_PRINT, done), max(0, done - _PRINT)))
    return int.from_bytes(digest.digest())
