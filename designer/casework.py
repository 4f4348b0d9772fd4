"""The cases beside the current tree: looked at as tree and file change, run, made where some are missing."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from designer.document.cases import (
    Entry,
    Listed,
    Seen,
    Wanted,
    entry_of,
    key_of,
    left_out,
    see,
    stand,
    tried_of,
)
from designer.document.document import Document
from designer.document.draft import new_names
from designer.document.files import SaveFailed, save_bytes
from designer.document.names import titles_of
from designer.tasks import aside, is_running, launch
from designer.workbench import Workbench
from engine import Session
from engine.counting import counted
from engine.evaluate import Case, find_cases, judge, missing, rewritten_cases

SOON_MS: Final = 150
"""How long a tree is left alone before its cases are looked at."""
LATE_MS: Final = 700
"""Work that takes longer says how far it is."""
FRAME_MS: Final = 100
_CHUNK: Final = 100
"""Cases that are judged before it is seen whether to go on."""

_Work: TypeAlias = Callable[[], Coroutine[object, object, None]]
_BUSY: Final = "Wait until this is done, or cancel it."
_UNSOUND: Final = "Mend the errors under Problems first."


class Casework(QObject):
    """Follows the current tree and its cases file while it is watched, and does one thing at a time."""

    changed = Signal()

    def __init__(self, workbench: Workbench, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self.busy = False
        """Whether something is done that was asked for."""
        self.progress = ""
        """How far it is with what takes longer than a moment."""
        self._document: Document | None = None
        self._working: asyncio.Task[None] | None = None
        self._watched = self._again = False
        self._step = ""
        self._clear()
        self._soon = QTimer(self, interval=SOON_MS, singleShot=True)
        self._soon.timeout.connect(self._look_again)
        self._late = QTimer(self, interval=LATE_MS, singleShot=True)
        self._frame = QTimer(self, interval=FRAME_MS, singleShot=True)
        for timer in (self._late, self._frame):
            timer.timeout.connect(self._show_step)
        workbench.current_changed.connect(self._follow)
        workbench.cases_changed.connect(self._note)
        self._follow(workbench.current)

    def watch(self, on: bool) -> None:
        """Keep up with tree and file from now on, or let them be."""
        self._watched = on
        self._note()

    # -- what there is to see

    @property
    def sound(self) -> bool:
        """Whether the tree can be run."""
        return self._seen is not None and self._seen.plan is not None

    @property
    def trouble(self) -> str:
        """Why the cases cannot be read."""
        return self._seen.trouble if self._seen else ""

    @property
    def path(self) -> Path | None:
        """Where the cases are, or would be written."""
        return self._seen.wanted.path if self._seen else None

    @property
    def total(self) -> int:
        """How many branches of the tree lead somewhere."""
        return self._seen.total if self._seen else 0

    # -- what may be done: None, or the reason in plain words

    def may_run(self) -> str | None:
        """Whether there are cases that can be run."""
        if self.busy:
            return _BUSY
        if not self.listed.entries:
            return "There are no cases yet."
        return None if self.sound else _UNSOUND

    def may_add(self) -> str | None:
        """Whether cases can be made for what no case takes."""
        if self.busy or self._document is None:
            return _BUSY if self.busy else "Open a tree first."
        if self.trouble:
            return self.trouble
        if not self.sound:
            return _UNSOUND
        if self.listed.counts.get("open"):
            return "Run all first. What some of the cases take is not known yet."
        return self._workbench.may_keep_case(self._document)

    def may_move(self) -> str | None:
        """Whether there are cases to be brought along."""
        if self.busy:
            return _BUSY
        if self._document is None or not self.listed.counts.get("movable"):
            return "There is no case to migrate."
        return self._workbench.may_keep_case(self._document) if self.sound else _UNSOUND

    # -- doing it

    def run(self, only: Entry | None = None) -> None:
        """Run all cases, or one, each to its end, and compare."""
        self._do(partial(self._run, only.line.number if only else None))

    def add_missing(self) -> None:
        """Write cases that take every branch some case can take and none takes yet."""
        self._do(self._add)

    def move(self) -> None:
        """Write the cases anew that can be brought along."""
        self._do(self._move)

    def cancel(self) -> None:
        """Stop what is going on; what is done stays done."""
        if self._working is not None and not self._working.done():
            self.said = "Cancelled."
            self._working.cancel()

    # -- following

    def _follow(self, document: Document | None) -> None:
        if self._document is not None:
            self._document.changed.disconnect(self._note)
            self._document.saved_changed.disconnect(self._note)
        self._document = document
        if document is not None:
            document.changed.connect(self._note)
            document.saved_changed.connect(self._note)
        if self._working is not None:
            self._working.cancel()
        self._clear()
        self.changed.emit()
        self._note()

    def _clear(self) -> None:
        self.listed = Listed()
        self.said = ""
        """What came of the last thing that was done."""
        self._seen: Seen | None = None
        self._tried: dict[str, Entry] = {}

    def _note(self, *_: object) -> None:
        if self._watched and self._document is not None:
            self._soon.start()

    def _look_again(self) -> None:
        if self.busy:
            self._again = True
        elif is_running():
            self._start(self._look)

    def _do(self, work: _Work) -> None:
        if not self.busy:
            self._start(work, asked=True)

    def _start(self, work: _Work, *, asked: bool = False) -> None:
        self.busy = asked
        self._working = launch(self._worked(work, self._working))
        self._working.add_done_callback(self._note_end)

    async def _worked(self, work: _Work, before: asyncio.Task[None] | None) -> None:
        """Work, once what went on before has ended; that can only have been a look."""
        if before is not None:
            before.cancel()
            await asyncio.wait({before})
        self._late.start()
        await work()

    def _note_end(self, task: asyncio.Task[None]) -> None:
        if task is self._working:
            self._late.stop()
            self._frame.stop()
            self.busy, self.progress, self._step = False, "", ""
            self.changed.emit()
            if self._again:
                self._again = False
                self._note()

    def _tell(self, step: str) -> None:
        self._step = step
        if not self._late.isActive() and not self._frame.isActive():
            self._frame.start()

    def _show_step(self) -> None:
        self.progress = self._step or "Looking at the cases…"
        self.changed.emit()

    # -- looking

    async def _look(self) -> None:
        """Read the cases and judge them, unless tree and file are as they were."""
        document, before = self._document, self._seen
        if document is None:
            return
        seen = await aside(partial(see, _wanted(document), before))
        if seen is before:
            return
        parameters = self._workbench.default_parameters(document)
        entries: list[Entry] = []
        for first in range(0, len(seen.lines), _CHUNK):
            self._tell(f"Looking at case {first + 1} of {len(seen.lines)}…")
            chunk = seen.lines[first : first + _CHUNK]
            entries += await aside(partial(stand, seen, chunk, parameters, self._tried))
        if before is not None and before.wanted.tree is not seen.wanted.tree:
            self.said = ""
        self._seen, self.listed = seen, await aside(Listed(tuple(entries)).counted)

    async def _run(self, number: int | None) -> None:
        await self._look()
        seen, document = self._seen, self._document
        if seen is None or seen.plan is None or document is None:
            return
        session, tree = Session(catalog=seen.wanted.catalog), seen.wanted.tree
        parameters = self._workbench.default_parameters(document)
        entries = list(self.listed.entries)
        chosen = [at for at, entry in enumerate(entries) if number in (None, entry.line.number)]
        try:
            for done, at in enumerate(chosen, 1):
                line = entries[at].line
                self._tell(f"Running case {done} of {len(chosen)}…")
                judgement = await judge(session, seen.plan, line, parameters)
                entry = entry_of(line, judgement, tried_of(line, judgement, tree), tree)
                entries[at] = self._tried[key_of(line)] = entry
                await asyncio.sleep(0)  # the run of a case that pins everything never waits
        finally:
            if self._seen is seen:
                self.listed = Listed(tuple(entries))
        failed = sum(not entry.tried.passed for at in chosen if (entry := entries[at]).tried)
        self.said = f"{len(chosen) - failed} passed, {failed} failed."

    # -- writing

    async def _add(self) -> None:
        await self._look()
        if (seen := self._seen) is None:
            return
        self._tell("Looking for ways that take what no case takes…")
        ids = {entry.line.id for entry in self.listed.entries if entry.line.id}
        covered, new = await aside(partial(missing, seen.wanted.tree, self.listed.taken, ids))
        left = left_out(covered, titles_of(seen.wanted.tree))
        if not new:
            self.said = f"No case is missing. {left}".strip()
        elif await self._written(seen, {}, new):
            self.said = f"{counted(len(new), 'case')} added. {left}".strip()

    async def _move(self) -> None:
        await self._look()
        moved = {entry.line.number: entry.case for entry in self.listed.entries if entry.case}
        if self._seen is not None and await self._written(self._seen, moved):
            self.said = f"{counted(len(moved), 'case')} migrated."

    async def _written(self, seen: Seen, moved: Mapping[int, Case], new: Sequence[Case] = ()) -> bool:
        """Whether the cases were written; if not, what went wrong is said."""
        await self._look()
        if self._seen is not seen or seen.wanted.path is None:
            self.said = "Tree or cases have changed meanwhile. Look at them, and try again."
            return False
        try:
            save_bytes(seen.wanted.path, rewritten_cases(seen.data, moved, new))
        except SaveFailed as failed:
            self.said = f"{failed.path.name} could not be written: {failed.cause}."
            return False
        self._workbench.reload_cases()
        await self._look()
        return True


def _wanted(document: Document) -> Wanted:
    names = new_names(document.stored.draft, document.draft) if document.stored else {}
    path = find_cases(document.path) if document.path else None
    return Wanted(document.draft.tree, document.catalog, path, names)
