"""Erasing: what goes is named first; then it goes, from the store and other files; and a look proves it."""

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtWidgets import QWidget

from designer import dialogs
from designer.document.folders import state_folder
from designer.panels.records.wording import node_of, time_of
from designer.settings import cache_folder, data_folder
from designer.traces import WHAT_HAPPENS, Ids, Trace, traces_of, wipe
from designer.workbench import Workbench
from engine import RecordingFailed, TreewrightError
from engine.counting import counted
from engine.records import Erasure, RecordedDecision

_LISTED: Final = 40


class Eraser:
    """Asks, erases, reports."""

    def __init__(self, workbench: Workbench, parent: QWidget) -> None:
        self._workbench, self._store, self._parent = workbench, workbench.records, parent

    async def erase(self, decision: RecordedDecision) -> None:
        """Forget a decision, or all that have its erasure key, once a person has agreed."""
        record = decision.record
        one = Erasure(decision_id=record.decision_id)
        every = None if record.erasure_key is None else Erasure(key=record.erasure_key)
        ids = await self._ids_of(every) if every else ()
        traces = await self._traces(Ids({record.decision_id, *ids}))
        buttons = [dialogs.Button("cancel", "Cancel", primary=True)]
        outcomes = counted(len(decision.outcomes), "outcome")
        text = f"{node_of(record)}, {time_of(record.started)}, goes with its {outcomes}, for good."
        if every is not None and len(ids) > 1:
            buttons.append(dialogs.Button("all", f"Erase all {len(ids):,} of this key", danger=True))
            text += f" {counted(len(ids), 'decision')} have the same erasure key."
        buttons.append(dialogs.Button("one", "Erase this decision", danger=True))
        pressed = await dialogs.choose(
            self._parent, "Erase this decision?", text, buttons, detail=_told_before(traces)
        )
        if pressed == "one":
            await self.carry_out(one)
        elif pressed == "all" and every is not None:
            await self.carry_out(every)

    async def offer(self) -> None:
        """Offer again what was asked for and could not be confirmed."""
        for erasure in await self._store.unconfirmed():
            ids = await self._ids_of(erasure)
            buttons = (
                dialogs.Button("forget", "Do not erase", danger=True),
                dialogs.Button("later", "Later"),
                dialogs.Button("erase", "Erase now", primary=True),
            )
            text = (
                f"It was asked for and could not be carried out. {counted(len(ids), 'decision')} would go; "
                "what is left of it in other files is looked for too."
            )
            pressed = await dialogs.choose(self._parent, "An erasure is not done yet", text, buttons)
            if pressed == "erase":
                await self.carry_out(erasure)
            elif pressed == "forget":
                await self._store.give_up(erasure)

    async def carry_out(self, erasure: Erasure) -> None:
        """Erase from the store and from other files, look again, and report."""
        found = await self._ids_of(erasure)
        ids = Ids(found or ([erasure.decision_id] if erasure.decision_id else ()))
        traces = await self._traces(ids)
        try:
            await self._store.erase(erasure)
        except RecordingFailed as failed:
            words = f"It is kept and will be offered again. {self._store.read_only or ''}"
            cause = str(failed.__cause__ or failed)
            await dialogs.ask(self._parent, "The erasure is not confirmed", words, ("OK",), detail=cause)
            return
        failures = await asyncio.to_thread(lambda: [(trace, wipe(trace, ids)) for trace in traces])
        self._workbench.reload_cases()
        self._workbench.stored.emit()
        left = await self._left(erasure, ids)
        held = self._held_by_runs(ids)
        title = "Nothing of it is left" if not left else "Something is left"
        done = f"{counted(len(found), 'decision')} erased from {self._store.path.name}"
        proof = "The store and the files were read again: none of its ids was found." if not left else ""
        runs = f" The session still shows it in {counted(held, 'run')} until it ends." if held else ""
        lines = [_told_after(trace, failure) for trace, failure in failures]
        lines += [f"Still there: {where}" for where in left]
        await dialogs.ask(
            self._parent, title, f"{done}. {proof}{runs}".strip(), ("OK",), detail="\n".join(lines[:_LISTED])
        )

    # -- looking ---------------------------------------------------------------------------------------

    async def _ids_of(self, erasure: Erasure) -> tuple[str, ...]:
        try:
            browser = await self._store.browser()
            return await browser.ids_with(erasure) if browser else ()
        except (OSError, TreewrightError, sqlite3.Error):
            return ()

    async def _traces(self, ids: Ids) -> tuple[Trace, ...]:
        bench = self._workbench
        folders = (data_folder(), state_folder(), cache_folder(), bench.transcripts_folder)
        files = (*(d.path for d in bench.documents if d.path), *bench.settings.recent_files)
        beside = {file.parent for file in files}
        return await asyncio.to_thread(traces_of, ids, folders, beside, self._store.path)

    async def _left(self, erasure: Erasure, ids: Ids) -> Sequence[str]:
        """Where something of it still is, by reading everything again."""
        store = self._store.path
        left: list[str] = []
        browser = await self._store.browser()
        if browser is not None:
            await browser.refresh()
            known = await browser.known(ids.ids)
            if known or await browser.ids_with(erasure):
                left.append(f"{store}: {counted(len(known), 'decision')}")
        files = (store, store.with_name(f"{store.name}-wal"))
        left += await asyncio.to_thread(lambda: [str(path) for path in files if _bytes_in(path, ids)])
        return [*left, *(str(trace.path) for trace in await self._traces(ids))]

    def _held_by_runs(self, ids: Ids) -> int:
        runs = self._workbench.running.runs
        return sum(
            any(getattr(event, "decision_id", None) in ids.ids for event in run.recording.events)
            for run in runs
        )


def _bytes_in(path: Path, ids: Ids) -> bool:
    try:
        return ids.are_in_file(path)
    except OSError:
        return False


def _told_before(traces: Sequence[Trace]) -> str:
    if not traces:
        return ""
    lines = [f"{trace.path} ({trace.kind}: {WHAT_HAPPENS[trace.kind]})" for trace in traces[:_LISTED]]
    more = [f"and {len(traces) - _LISTED} more"] if len(traces) > _LISTED else []
    return "\n".join(("Also kept in:", *lines, *more))


def _told_after(trace: Trace, failure: str | None) -> str:
    if failure is not None:
        return f"{trace.path} could not be changed: {failure}"
    gone = "removed" if not trace.path.exists() else "changed"
    return f"{trace.path} ({trace.kind}): {gone}"
