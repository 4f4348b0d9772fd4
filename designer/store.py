"""The program's one record store: opened when first needed, one recorder writes it, a browser reads it.

While another program writes to the store it can still be read here; :attr:`RecordStore.read_only` says so.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from PySide6.QtCore import QObject, Signal

from designer.document.files import save_bytes
from designer.document.folders import private_folder
from engine import RecordingFailed, TreewrightError
from engine.counting import counted
from engine.records import (
    BatchSink,
    DecisionRecorder,
    Erasure,
    Outcome,
    Record,
    RecordBrowser,
    Store,
    StoreInUse,
    browsed,
    copy_records,
    open_store,
)

RECORDS: Final = "records.sqlite"
FORMER: Final = "decisions.jsonl"
"""The record file of earlier versions; what it holds is taken into the store once."""

_TRIES: Final = 3


class RecordStore(QObject):
    """The store at a path. Nothing is opened before something is recorded, read or erased."""

    trouble = Signal(object)
    """One sentence about something that went wrong and does not stop the work."""

    def __init__(
        self, path: Path, cache: Path, former: Path | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.path, self._cache = path, cache
        self._sink = (_LateBatchSink if path.suffix == ".sqlite" else _LateSink)(self._open, self._refused)
        self._former = former
        self._browsing = _Late(self._browse)
        self._unconfirmed = _Unconfirmed(path.with_name(f"{path.name}.erasures"))
        self._told: str | None = None
        self._closed = False
        self.recorder = DecisionRecorder(self._sink)

    @property
    def read_only(self) -> str | None:
        """Why nothing can be written just now, one sentence; None while nothing is known to be in the way."""
        return self._told

    async def ready(self) -> bool:
        """Open the store for writing, unless it is; whether that could be done. It may succeed later."""
        try:
            await self._sink.opened()
        except (OSError, TreewrightError, sqlite3.Error):
            return False
        return True

    async def browser(self) -> RecordBrowser | None:
        """What reads the store; None while there is none, and once it is closed.

        Raises :class:`StoreRefused` and ``OSError``.
        """
        if self._closed:
            return None
        browser = await self._browsing.opened()
        if browser is None:
            self._browsing.forget()
        return browser

    async def erase(self, erasure: Erasure) -> None:
        """Forget what an erasure means. One that fails is kept, and found by :meth:`unconfirmed` later.

        Raises :class:`RecordingFailed` and :class:`RecorderClosed`.
        """
        await asyncio.to_thread(self._unconfirmed.add, erasure)
        for attempt in range(_TRIES):
            try:
                await self._erase(erasure)
            except RecordingFailed:
                # Somebody may just be reading what has to go.
                if attempt + 1 == _TRIES:
                    raise
            else:
                break
        await asyncio.to_thread(self._unconfirmed.remove, erasure)

    async def unconfirmed(self) -> tuple[Erasure, ...]:
        """The erasures that were asked for, also by an earlier program, and not carried out."""
        return await asyncio.to_thread(self._unconfirmed.all)

    async def give_up(self, erasure: Erasure) -> None:
        """Do not offer an erasure again."""
        await asyncio.to_thread(self._unconfirmed.remove, erasure)

    async def close(self) -> None:
        """Write what is queued, then give the store back."""
        self._closed = True
        await self.recorder.close()
        await self._sink.close()
        await self._browsing.close()

    async def _browse(self) -> RecordBrowser | None:
        with suppress(FileNotFoundError):
            return await asyncio.to_thread(RecordBrowser, self.path, self._cache)
        return None

    async def _erase(self, erasure: Erasure) -> None:
        if erasure.key is not None:
            await self.recorder.erase(erasure.key)
        else:
            await self.recorder.erase_decision(erasure.decision_id or "")

    async def _open(self) -> Store:
        await asyncio.to_thread(partial(self.path.parent.mkdir, parents=True, exist_ok=True, mode=0o700))
        store = await asyncio.to_thread(open_store, self.path)
        self._told = None
        if self._former is not None and self._former.exists():
            try:
                await self._take_in(self._former, store)
            except (OSError, TreewrightError, sqlite3.Error) as error:
                self.trouble.emit(f"The earlier records in {self._former} cannot be read: {_cause(error)}.")
        return store

    async def _take_in(self, former: Path, store: Store) -> None:
        """Take the records of an earlier version over; only lines that cannot be read stay behind."""
        with browsed(former, self._cache) as source:
            copied = await copy_records(source, store, self._cache)
        bad = {problem.line for problem in copied.problems}
        kept = await asyncio.to_thread(_set_aside, former, bad)
        if kept is not None:
            lines = counted(len(bad), "line")
            self.trouble.emit(f"{lines} of earlier records could not be used and stay in {kept}.")

    def _refused(self, error: Exception) -> None:
        """Tell, once, why the store cannot be written."""
        if isinstance(error, StoreInUse):
            words = "Another program is recording into this store: decisions made here are not recorded."
        else:
            words = f"Decisions are not recorded: {_cause(error)}."
        if words != self._told:
            self._told = words
            self.trouble.emit(words)


class _Closable(Protocol):
    def close(self) -> None: ...


_Opened = TypeVar("_Opened", bound=_Closable | None)


class _Late(Generic[_Opened]):
    """Something that is opened when it is first needed, and tried again later where that failed."""

    def __init__(self, make: Callable[[], Coroutine[object, object, _Opened]]) -> None:
        self._make = make
        self._making: asyncio.Task[_Opened] | None = None

    async def opened(self) -> _Opened:
        if self._making is None:
            self._making = asyncio.get_running_loop().create_task(self._make())
        try:
            # Who stops waiting must not lose what is just being opened.
            return await asyncio.shield(self._making)
        except Exception:
            self.forget()
            raise

    def forget(self) -> None:
        self._making = None

    async def close(self) -> None:
        making, self._making = self._making, None
        if making is None:
            return
        (made,) = await asyncio.gather(making, return_exceptions=True)
        if made is not None and not isinstance(made, BaseException):
            await asyncio.to_thread(made.close)


class _LateSink:
    """A sink that is opened, off the event loop, when it is first given something."""

    def __init__(
        self, make: Callable[[], Coroutine[object, object, Store]], refused: Callable[[Exception], None]
    ) -> None:
        self._late, self._refused = _Late(make), refused

    async def opened(self) -> Store:
        try:
            return await self._late.opened()
        except (OSError, TreewrightError, sqlite3.Error) as error:
            self._refused(error)
            raise

    async def close(self) -> None:
        await self._late.close()

    async def write(self, record: Record) -> None:
        await (await self.opened()).write(record)

    async def outcome(self, outcome: Outcome) -> None:
        await (await self.opened()).outcome(outcome)

    async def erase_key(self, key: str) -> None:
        await (await self.opened()).erase_key(key)

    async def erase_decision(self, decision_id: str) -> None:
        await (await self.opened()).erase_decision(decision_id)


class _LateBatchSink(_LateSink):
    async def write_all(self, records: Sequence[Record]) -> None:
        store = await self.opened()
        assert isinstance(store, BatchSink)  # noqa: S101 - chosen by the same name as the store
        await store.write_all(records)


class _Unconfirmed:
    """A small file with the erasures that were asked for and not confirmed, for its owner only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> tuple[Erasure, ...]:
        try:
            listed = json.loads(self._path.read_bytes())
            return tuple(Erasure(key=one["key"], decision_id=one["decisionId"]) for one in listed)
        except (OSError, ValueError, KeyError, TypeError):
            return ()

    def add(self, erasure: Erasure) -> None:
        self._write((*(one for one in self.all() if one != erasure), erasure))

    def remove(self, erasure: Erasure) -> None:
        self._write(tuple(one for one in self.all() if one != erasure))

    def _write(self, erasures: Sequence[Erasure]) -> None:
        if erasures:
            listed = [{"key": one.key, "decisionId": one.decision_id} for one in erasures]
            private_folder(self._path.parent)
            save_bytes(self._path, json.dumps(listed).encode(), 0o600)
        else:
            self._path.unlink(missing_ok=True)


def _set_aside(former: Path, numbers: Collection[int]) -> Path | None:
    """Remove a file but for these of its lines; where they are kept, if there are any."""
    kept = None
    if numbers:
        kept = former.with_suffix(".unread")
        lines = former.read_bytes().split(b"\n")
        save_bytes(kept, b"".join(lines[number - 1] + b"\n" for number in sorted(numbers)), 0o600)
    former.unlink()
    return kept


def _cause(error: Exception) -> str:
    """What went wrong, without its full stop."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error).rstrip(".") or type(error).__name__
