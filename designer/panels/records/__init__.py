"""The records: every recorded decision in a list, one of them in full, corrected, made a test, or erased."""

import asyncio
import sqlite3
from array import array
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSplitter, QVBoxLayout, QWidget

from designer import dialogs
from designer.document.document import Document
from designer.document.files import SaveFailed, add_line
from designer.forms import Empty, Pages, plain
from designer.panels.records.casing import case_from
from designer.panels.records.detail import Detail
from designer.panels.records.erasing import Eraser
from designer.panels.records.filters import VALUES, FilterBar, Wanted
from designer.panels.records.listed import PAGE, Listed, RecordList, RecordModel
from designer.panels.records.wording import Bar, Told, bad_words, erased, outcome_of, unanswered
from designer.running import ListedRun
from designer.tasks import launch
from designer.workbench import Workbench
from engine import UNKNOWN, ClassificationCompleted, ClassifyNode, TreewrightError, tree_hash
from engine.counting import counted
from engine.evaluate import find_cases, write_case
from engine.records import (
    RETRACTED,
    Confirmed,
    Order,
    Outcome,
    Record,
    RecordBrowser,
    RecordedDecision,
    RecordFilter,
)
from engine.records import Signal as OutcomeSignal

SOURCE: Final = "designer"
"""Who says what a person says here."""
SHOULD_BE_UNKNOWN: Final = "should-be-unknown"
LOOK_MS: Final = 300
"""How often the store is looked at for what was written since, while the panel is seen."""
REVIEWED: Final = RecordFilter(outcome="unconfirmed", least_confidence=0.0)
"""What there is to review: answers nobody has confirmed."""
ERASED: Final = RecordFilter(outcome="erased")
_FAULTS: Final = (OSError, TreewrightError, sqlite3.Error)
_SHOW_EVERY: Final = 0.1
_BAD_LINES: Final = 1000
_PIECE: Final = 1 << 16


class RecordsPanel(Pages):
    """The list on the left, one decision on the right. New records appear while it is seen."""

    def __init__(self, workbench: Workbench) -> None:
        split = QSplitter(Qt.Orientation.Horizontal)
        super().__init__(
            split,
            Empty("record", "No records yet", "Run a tree: every answer that was given is recorded here."),
        )
        self.setObjectName("panel.records")
        self._workbench, self._store = workbench, workbench.records
        self._wanted = Wanted()
        self._showing: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._stale, self._row = True, -1
        self._searched, self._total = -1, 0
        self._said: list[Outcome] = []
        self._reviewed: set[str] = set()
        self._verbs: dict[str, Callable[[RecordedDecision], Coroutine[object, object, None]]] = {
            "show": self._show_step,
            "test": self._make_test,
            "signal": self._signal,
            "back": self._take_back,
            "erase": self._erase,
        }
        self.bar = FilterBar()
        self.model = RecordModel(self._fetch)
        self.table = RecordList(self.model)
        self.detail = Detail()
        self.counted = plain(role="label")
        self.busy = plain(role="label")
        self.cancel = _quiet("Stop", "records.cancel")
        self.bad = _quiet("", "records.bad")
        split.addWidget(self._placed())
        split.addWidget(self.detail)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        self._watch = QTimer(self, interval=LOOK_MS)
        self._watch.timeout.connect(self.look)
        self.bar.changed.connect(self._want)
        self.bar.values_wanted.connect(lambda: launch(self._offer_values(), self._tell_error))
        self.cancel.clicked.connect(self._stop)
        self.bad.clicked.connect(lambda: launch(self._show_bad(), self._tell_error))
        self.table.chosen.connect(self._show_detail)
        self.table.confirmed.connect(self._confirm_number)
        self.table.signal_wanted.connect(lambda: self._do("signal"))
        self.table.taken_back.connect(lambda: launch(self._undo(), self._tell_error))
        self.table.erase_wanted.connect(lambda: self._do("erase"))
        self.detail.confirmed.connect(self._confirm)
        self.detail.asked_for.connect(self._do)
        workbench.stored.connect(self.look)
        # The id of a run stands in each of its records, and nowhere else.
        workbench.records_requested.connect(self.bar.text.setText)

    async def offer_erasures(self) -> None:
        """Offer again, in a dialog, the erasures that were asked for and could not be confirmed."""
        await Eraser(self._workbench, self.window()).offer()
        self._stale = True
        self.look()

    # -- when it is seen -------------------------------------------------------------------------------

    def look(self) -> None:
        """Take in what was written since, if the panel is seen."""
        if not self.isVisible():
            return
        if self._stale:
            self._query()
        elif _over(self._showing) and _over(self._following):
            self._following = launch(self._follow(), self._tell_error)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._watch.start()
        self.look()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._watch.stop()

    # -- the list --------------------------------------------------------------------------------------

    def _want(self, wanted: Wanted) -> None:
        if wanted.review != self._wanted.review:
            self._reviewed.clear()
            self.table.reviewing = wanted.review
            self.detail.bars.show_keys(shown=wanted.review)
        self._wanted = wanted
        self._query()
        if wanted.review:
            self.table.setFocus()

    def _query(self) -> None:
        _cancel(self._showing)
        _cancel(self._following)
        self._showing = launch(self._show(self._wanted), self._tell_error)

    async def _show(self, wanted: Wanted) -> None:
        """Show what is wanted: the first rows at once, then all of them."""
        try:
            browser = await self._store.browser()
            if browser is None:
                self.show_content(None)
                return
            await browser.refresh(partial(self._progress, "Reading"))
        except _FAULTS as error:
            self.empty.say("The records cannot be read", _reason(error))
            self.show_content(None)
            return
        self._stale = False
        self.show_content(self)
        asked, order = _asked(wanted)
        try:
            if not wanted.text:
                self.table.show_rows(await browser.newest(asked, PAGE, order), anew=True)
                await self.model.load(0)
                self._choose_first()
            self.counted.setText("…")
            rows = await browser.all_rows(asked, order)
            if wanted.text:
                await self._search(browser, wanted.text, rows)
            else:
                self.table.show_rows(rows)
            self._choose_first()
            await self._count(browser)
        finally:
            self._say_busy("")

    async def _search(self, browser: RecordBrowser, text: str, rows: Sequence[int]) -> None:
        """Show the rows that say this, as they are found."""
        self._searched = await asyncio.to_thread(_highest, rows)
        found, shown = array("q"), 0.0
        self.table.show_rows(found, anew=True)
        clock = asyncio.get_running_loop()
        async for part, share in browser.search(text, rows):
            found.extend(part)
            if clock.time() - shown > _SHOW_EVERY or share >= 1:
                shown = clock.time()
                self.table.show_rows(found[:])
                self._choose_first()
                self._progress(f"{counted(len(found), 'record')} found, searched", share)

    async def _follow(self) -> None:
        """Take in what was written since, and leave the person where he is."""
        browser = await self._store.browser()
        if browser is None:
            self._query()
            return
        if not await browser.refresh():
            return
        self.model.look_again()
        self._show_detail(self.table.row)
        if not self._wanted.review:
            await self._renew(browser)
        await self._count(browser)

    async def _renew(self, browser: RecordBrowser) -> None:
        """Show what is there now."""
        wanted, shown = self._wanted, self.model.rows
        asked, order = _asked(wanted)
        if wanted.text:
            if self._total > await browser.count():
                self._query()
                return
            new = [row for row in await browser.newest(asked, PAGE) if row > self._searched]
            self._searched = max(new, default=self._searched)
            found = [row async for part, _ in browser.search(wanted.text, new) for row in part]
            self.table.show_rows(array("q", found) + shown)
            return
        if order == "newest":
            # What is new stands on top; then counting tells whether anything else is different.
            top = await browser.newest(asked, PAGE, order)
            last = shown[0] if shown else -1
            new = [row for row in top if row > last]
            if len(new) < len(top):
                self.table.show_rows(array("q", new) + shown)
        if len(self.model.rows) != await browser.count(asked) or order != "newest":
            self.table.show_rows(await browser.all_rows(asked, order))

    async def _fetch(self, rows: Sequence[int]) -> Sequence[Listed]:
        browser = await self._store.browser()
        if browser is None:
            return ()
        listed = []
        for row in await browser.rows(rows):
            words, tone = erased(row.erased) if row.erased else unanswered(row.error)
            if row.confirmed or row.signals:
                decision = await browser.decision(row.row)
                words, tone = (words, tone) if decision is None else outcome_of(decision)
            listed.append(Listed(row, words, tone))
        return listed

    async def _count(self, browser: RecordBrowser) -> None:
        total, left = await browser.count(), await browser.count(REVIEWED)
        bad, self._total = await browser.problems(), total
        shown = len(self.model.rows)
        if self._wanted.review:
            words = f"{counted(len(self._reviewed), 'answer')} reviewed · {left:,} to review"
        elif self._wanted.filter.outcome == "erased":
            words = counted(shown, "erasure")
        else:
            part = "" if shown == total else f"{shown:,} of "
            words = f"{part}{counted(total, 'record')} · {left:,} to review"
        counters = self._store.recorder.counters
        if lost := counters.dropped + counters.failed:
            words += f" · {lost:,} not recorded"
        if self._store.read_only:
            words += f" · {self._store.read_only}"
        self.counted.setText(words)
        self.counted.setToolTip(words)
        self.bad.setText(bad_words(bad))
        self.bad.setVisible(bool(bad))
        self.show_content(total or bad or await browser.count(ERASED))

    def _choose_first(self) -> None:
        if self.table.row is None and len(self.model.rows):
            self.table.choose(0)

    def _stop(self) -> None:
        _cancel(self._showing)
        self.counted.setText(f"{counted(len(self.model.rows), 'record')} found before it was stopped")

    def _progress(self, words: str, share: float) -> None:
        self._say_busy(f"{words} {share:.0%}" if share < 1 else "", may_stop=True)

    def _say_busy(self, words: str, *, may_stop: bool = False) -> None:
        self.busy.setText(words)
        self.cancel.setVisible(bool(words) and may_stop)

    async def _offer_values(self) -> None:
        browser = await self._store.browser()
        if browser is not None:
            for member in (*(member for member, _ in VALUES), "error"):
                self.bar.box.offer(member, await browser.values(member))

    async def _show_bad(self) -> None:
        browser = await self._store.browser()
        bad = await browser.problems() if browser else ()
        listed = "\n".join(f"line {line.line}: {line.message}" for line in bad[:_BAD_LINES])
        more = "" if len(bad) <= _BAD_LINES else f"\nand {len(bad) - _BAD_LINES:,} more"
        title = f"{bad_words(bad)} in {self._store.path.name}"
        text = "The records around them are shown. Nothing of what these lines hold is told."
        await dialogs.ask(self.window(), title, text, ("Back",), detail=f"{listed}{more}")

    # -- one decision ----------------------------------------------------------------------------------

    def _show_detail(self, row: int | None) -> None:
        _cancel(self._reading)
        if row is None:
            self._row = -1
            self.detail.show_told(None)
        else:
            self._reading = launch(self._read(row), self._tell_error)

    async def _read(self, row: int) -> None:
        browser = await self._store.browser()
        decision = await browser.decision(row) if browser else None
        told = await asyncio.to_thread(Told.of, decision) if decision else None
        self._row = row
        self.detail.show_told(told, read_only=self._store.read_only)

    @property
    def _told(self) -> Told | None:
        """The decision that is chosen, once it can be seen."""
        return self.detail.told if self._row == self.table.row else None

    def _do(self, verb: str) -> None:
        told = self._told
        if told is not None:
            launch(self._verbs[verb](told.decision), self._tell_error)

    # -- what a person says of it ----------------------------------------------------------------------

    def _confirm_number(self, number: int) -> None:
        told = self._told
        if told is None:
            return
        if number:
            if number <= len(told.bars):
                self._confirm(told.bars[number - 1])
            return
        unknown = next((bar for bar in told.bars if bar.right == UNKNOWN), None)
        if unknown is not None:
            self._confirm(unknown)
        else:
            self._say(OutcomeSignal(told.decision.record.decision_id, SOURCE, _now(), SHOULD_BE_UNKNOWN))
            self._go_on()

    def _confirm(self, bar: Bar) -> None:
        told = self._told
        if told is None:
            return
        self._say(Confirmed(told.decision.record.decision_id, SOURCE, _now(), {bar.key: bar.right}))
        if {*told.decision.confirmed, bar.key} >= set(told.decision.record.questions):
            self._go_on()

    def _go_on(self) -> None:
        if self._wanted.review:
            self.table.step(1)

    def _say(self, outcome: Outcome) -> None:
        self._said.append(outcome)
        self._reviewed.add(outcome.decision_id)
        launch(self._keep(outcome), self._tell_error)

    async def _keep(self, outcome: Outcome) -> None:
        """Store what was said, and see it in the list."""
        if not await self._store.ready():
            self._said = [said for said in self._said if said is not outcome]
            self._reviewed.discard(outcome.decision_id)
            self._tell(self._store.read_only or "The record store cannot be written.")
            return
        recorder = self._store.recorder
        failed = recorder.counters.outcomes_failed
        await recorder.add_outcome(outcome)
        await recorder.flush()
        if recorder.counters.outcomes_failed > failed:
            self._tell("What you said could not be kept: the record store failed.")
        self.look()

    async def _undo(self) -> None:
        """Take back what was said last here; without that, what was said of the chosen decision."""
        if not self._said:
            if self._told is not None:
                await self._take_back(self._told.decision)
            return
        outcome = self._said.pop()
        self._reviewed.discard(outcome.decision_id)
        browser = await self._store.browser()
        row = await browser.row_of(outcome.decision_id) if browser else None
        place = None if row is None else self.model.place_of(row)
        if place is not None:
            self.table.choose(place)
        if not self._store.recorder.take_back(outcome):
            await self._retract(outcome)

    async def _take_back(self, decision: RecordedDecision) -> None:
        confirmed = [o for o in decision.outcomes if isinstance(o, Confirmed)] if decision.confirmed else []
        said: list[Outcome] = [*confirmed, *decision.signals]
        last = max(said, key=lambda outcome: outcome.at, default=None)
        if last is not None:
            self._said = [said for said in self._said if said != last]
            await self._retract(last)

    async def _retract(self, outcome: Outcome) -> None:
        note = outcome.name if isinstance(outcome, OutcomeSignal) else None
        await self._keep(OutcomeSignal(outcome.decision_id, SOURCE, _now(), RETRACTED, note=note))

    async def _signal(self, decision: RecordedDecision) -> None:
        said = await dialogs.ask_signal(self.window())
        if said is not None:
            name, note = said
            self._say(OutcomeSignal(decision.record.decision_id, SOURCE, _now(), name, note=note))
            self.table.setFocus()

    async def _erase(self, decision: RecordedDecision) -> None:
        await Eraser(self._workbench, self.window()).erase(decision)
        self.table.setFocus()
        self._query()

    # -- where it comes from ---------------------------------------------------------------------------

    def _document_of(self, record: Record) -> Document | None:
        """The open tree a decision was made in: the very same, else one of the same id."""
        place = record.tree
        if place is None:
            return None
        same = [d for d in self._workbench.documents if d.draft.tree.tree_id == place.tree_id]
        if not same:
            self._tell(f"Open the tree {place.tree_id} first.")
            return None
        return next((d for d in same if tree_hash(d.draft.tree) == place.tree_hash), same[0])

    def _run_with(self, decision_id: str) -> tuple[ListedRun, int] | None:
        """The run of this session that holds a decision, and the number of events up to it."""
        for run in self._workbench.running.runs:
            for number, event in enumerate(run.recording.events, 1):
                made = event.classification if isinstance(event, ClassificationCompleted) else None
                if made is not None and made.decision_id == decision_id:
                    return run, number
        return None

    async def _show_step(self, decision: RecordedDecision) -> None:
        record = decision.record
        running, found = self._workbench.running, self._run_with(record.decision_id)
        if found is not None and not running.active:
            run, position = found
            self._workbench.show_document(run.document)
            running.show_run(run)
            running.go_to(position)
            document: Document | None = run.document
        else:
            document = self._document_of(record)
        node = record.tree.node if record.tree else ""
        if document is None:
            return
        if self._workbench.current is not document:
            self._workbench.show_document(document)
        if node in document.draft.tree.nodes:
            document.select([node])
            self._workbench.reveal_requested.emit(node)
        else:
            self._tell(f"The tree does not have the node {node} any more.")

    async def _make_test(self, decision: RecordedDecision) -> None:
        document, place = self._document_of(decision.record), decision.record.tree
        if document is None or place is None:
            return
        if (reason := self._workbench.may_keep_case(document)) is not None or document.path is None:
            self._tell(reason or "Save the tree first. Its cases are kept beside it.")
            return
        if not isinstance(document.draft.tree.nodes.get(place.node), ClassifyNode):
            self._tell(f"The tree does not have the question {place.node} any more.")
            return
        browser = await self._store.browser()
        rows = await browser.all_rows(RecordFilter(run=place.execution_id)) if browser else ()
        others = [await browser.decision(row) for row in rows] if browser else []
        run = self._run_with(decision.record.decision_id)
        case = case_from(
            decision,
            [one for one in others if one and one.record.decision_id != decision.record.decision_id],
            run[0].recording.events if run and run[0].recording.ended else None,
        )
        path = find_cases(document.path)
        if case.id in await asyncio.to_thread(self._workbench.case_ids, document):
            self._tell(f"This decision is a case in {path.name} already.")
            return
        try:
            await asyncio.to_thread(add_line, path, write_case(case).encode())
        except SaveFailed as failed:
            self._tell(str(failed))
            return
        self._workbench.reload_cases()
        self._tell(self._workbench.case_trouble or f"A case was added to {path.name}.")

    # --

    def _tell(self, words: str) -> None:
        self._workbench.trouble.emit(words)

    def _tell_error(self, error: Exception) -> None:
        if not isinstance(error, _FAULTS):
            raise error
        self._tell(f"The records cannot be read: {_reason(error)}")

    def _placed(self) -> QWidget:
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 3, 8, 4)
        foot.setSpacing(8)
        foot.addWidget(self.counted)
        foot.addWidget(self.bad)
        foot.addStretch(1)
        foot.addWidget(self.busy)
        foot.addWidget(self.cancel)
        column.addWidget(self.bar)
        column.addWidget(self.table, 1)
        column.addLayout(foot)
        self.bad.hide()
        self.cancel.hide()
        return left


def _asked(wanted: Wanted) -> tuple[RecordFilter, Order]:
    """What to ask the store for."""
    if not wanted.review:
        return wanted.filter, "least sure" if wanted.least_sure else "newest"
    least = wanted.filter.least_confidence
    return replace(wanted.filter, outcome="unconfirmed", least_confidence=least or 0.0), "least sure"


def _highest(rows: Sequence[int]) -> int:
    """The highest of many numbers, in pieces: within one of them no other thread gets its turn."""
    return max((max(rows[at : at + _PIECE]) for at in range(0, len(rows), _PIECE)), default=-1)


def _now() -> datetime:
    return datetime.now(UTC)


def _over(task: asyncio.Task[None] | None) -> bool:
    return task is None or task.done()


def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__


def _quiet(text: str, name: str) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName(name)
    button.setProperty("quiet", True)
    button.setAutoDefault(False)
    return button
