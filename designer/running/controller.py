"""The run controller: drives one run at a time, stops it, looks back at it, begins it again differently."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from designer.document.breakpoints import Breakpoint, breakpoints
from designer.document.document import Document
from designer.document.draft import Draft, new_names
from designer.document.names import titles_of
from designer.running.answering import ASK, LIVE, WITHHELD, Answering, Source, may_answer
from designer.running.hits import Hit, Hits
from designer.running.inside import Inside, Level, inner_stops
from designer.running.models import LiveModel, Waiting
from designer.running.recording import Recording
from designer.running.runs import ListedRun, LogLine
from designer.tasks import launch
from engine import (
    UNKNOWN,
    ClassifyNode,
    DataItem,
    Event,
    Inputs,
    Inquiry,
    NodeId,
    Observer,
    PersonDecider,
    Phase,
    Question,
    Run,
    RunStarted,
    Session,
    Stop,
    Trail,
    Tree,
)
from engine.counting import counted
from engine.evaluate import Case, Fork, RunLog, Stale, fork, write_run_log

FRAME_MS: Final = 16
CLOCK_MS: Final = 100
KEPT: Final = 50
"""Runs of a session that can be looked at again; each holds all its events."""


class RunState(StrEnum):
    """Where the controller stands."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    ASKING = "asking"
    ENDED = "ended"


Prepare: TypeAlias = Callable[[Document, Case], tuple[Session, Inputs]]
"""Makes session and inputs of one run. The session's decider is the one that is asked live, if any.

A :class:`LiveModel` is closed when the run is over.
"""

_Goal: TypeAlias = Callable[[Tree, NodeId, int], bool]
"""Whether a run pauses before this node, of a tree that so many others wait for."""

_INSIDE: Final[tuple[Phase, ...]] = ("inside", "beforeTool", "afterTool")
"""Where a run stops within the actions it waits for."""


def _at_the_end(_tree: Tree, _node: NodeId, _depth: int) -> bool:
    return False


def _at_once(_tree: Tree, _node: NodeId, _depth: int) -> bool:
    return True


def _no_deeper(than: int) -> _Goal:
    return lambda _tree, _node, depth: depth <= than


def _at_a_question(no_deeper: int) -> _Goal:
    return lambda tree, node, depth: depth <= no_deeper and isinstance(tree.nodes.get(node), ClassifyNode)


class RunController(QObject):
    """Drives one run at a time. A run shows the tree as it was when it was started.

    While a person thinks, and while a run is paused, its clock stands still. What is *shown* is the newest
    moment of a run, or one of its past: then ``past`` is true, and trail, events, stop and node are those of
    that moment. The past are the steps before the newest one: while that goes on, each moment of it is the
    newest moment. Looking back pauses a run that goes on. Going on from a past moment goes through what is
    recorded, and further only from the newest moment.
    """

    trail_changed = Signal(object)
    """The shown :class:`engine.Trail`; at most once a frame while a run goes on or its past is looked at."""
    state_changed = Signal(object)
    """The :class:`RunState`."""
    asked = Signal(object)
    """The :class:`engine.Question` while a person must decide, or the :class:`engine.Inquiry` of an action
    that asks; None when that is over."""
    runs_changed = Signal()
    """Another run is shown, or the list of runs is another."""
    sources_changed = Signal(object)
    """The :class:`Document` whose answers now come from elsewhere; None when that goes for every one."""

    def __init__(
        self,
        prepare: Prepare,
        live: Callable[[Document], bool] = lambda _: False,
        parent: QObject | None = None,
        *,
        withheld: Callable[[Document], bool] = lambda _: False,
        erasure_key: Callable[[Document, Mapping[str, str]], str | None] = lambda *_: None,
    ) -> None:
        super().__init__(parent)
        self._prepare, self._is_live, self._is_withheld = prepare, live, withheld
        self._erasure_key = erasure_key
        self.state = RunState.IDLE
        self.question: Question | None = None
        self.inquiry: Inquiry | None = None
        """What an action asks the person, while it waits."""
        self.case: Case | None = None
        self.following = False
        """Whether the view shall go where the run goes."""
        self.hit: Hit | None = None
        """The breakpoint that had the run pause here, where one did."""
        self.runs: tuple[ListedRun, ...] = ()
        """The runs of this session, the oldest first."""
        self.shown: ListedRun | None = None
        self._answering: dict[Document, Answering] = {}
        self._otherwise: dict[Document, Source] = {}
        self._breakpoints: tuple[Draft, tuple[Breakpoint, ...]] | None = None
        self._begun = 0
        self._position: int | None = None
        self._run: Run | None = None
        self._model: LiveModel | None = None
        self._standing: Stop | None = None
        self._within = Inside()
        self._driving: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._go_on = asyncio.Event()
        self._goal: _Goal = _at_the_end
        self._given: asyncio.Future[str | None] | None = None
        self._frame = QTimer(self, interval=FRAME_MS, singleShot=True)
        self._frame.timeout.connect(self._show)
        self._clock = QTimer(self, interval=CLOCK_MS)
        self._clock.timeout.connect(self._frame.start)

    # -- what is shown ---------------------------------------------------------------------------------

    @property
    def document(self) -> Document | None:
        """The document whose run is shown."""
        return self.shown.document if self.shown else None

    @property
    def active(self) -> bool:
        """Whether a run has begun and not ended."""
        return self.state not in (RunState.IDLE, RunState.ENDED)

    @property
    def past(self) -> bool:
        """Whether a moment is shown that is not the newest one."""
        return self._position is not None

    @property
    def position(self) -> int:
        """How many events led to the shown moment."""
        return self.length if self._position is None else self._position

    @property
    def length(self) -> int:
        """How many events there are."""
        return len(self._recording)

    @property
    def step_number(self) -> int:
        """The step of the shown moment: the index of the visit that is next, or goes on."""
        return self._recording.step_at(self.position)

    @property
    def step_count(self) -> int:
        """The number of the newest step."""
        return self._recording.step_at(self.length)

    @property
    def trail(self) -> Trail:
        """The trail of the shown moment."""
        if self._position is not None:
            return self._recording.trail(self._position)
        return self.latest

    @property
    def latest(self) -> Trail:
        """The trail of the newest moment; while a run goes on, with the time it has taken until now."""
        trail = self._recording.latest
        if self._run is None or self._run.ended or not self.active:
            return trail
        return replace(trail, usage=replace(trail.usage, duration=self._run.elapsed))

    @property
    def events(self) -> Sequence[Event]:
        """The events that led to the shown moment."""
        events = self._recording.events
        return events if self._position is None else events[: self._position]

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """What log points wrote until the shown moment, and which answers were asked again."""
        return tuple(x for x in self.shown.lines if x.position <= self.position) if self.shown else ()

    @property
    def stop(self) -> Stop | None:
        """Where the run stands at the shown moment, or what it executes since it stood there."""
        if not self.past:
            return self._standing
        return None if self.at is None else Stop(self.at)

    @property
    def at(self) -> NodeId | None:
        """The node of the shown moment; None before and after a run."""
        if self._position is not None:
            return self._recording.node_at(self._position)
        return self._standing.node if self._standing else self._recording.latest.current

    @property
    def inside(self) -> tuple[Level, ...]:
        """Where the run is within that node, if its action runs trees or agents; never in the past."""
        if self.past or not self.active:
            return ()
        trails = self._within.trails
        if self.state is RunState.PAUSED:
            stops = enumerate(inner_stops(self._standing))
            return tuple(Level(trails[i] if i < len(trails) else Trail(), s.node, s.phase) for i, s in stops)
        return tuple(Level(trail, trail.current) for trail in trails if trail.current is not None)

    @property
    def transcript_path(self) -> Path | None:
        """The transcript of the last run, once it is written."""
        report = self._run.transcript if self._run else None
        return report.path if report else None

    @property
    def _recording(self) -> Recording:
        return self.shown.recording if self.shown else _NOTHING

    @property
    def why(self) -> str | None:
        """Why the run is paused here, in plain words, where a breakpoint had it pause."""
        return None if self.hit is None else _why(self.hit, self.latest.tree or Tree())

    @property
    def waiting(self) -> Waiting | None:
        """The model that was asked and has not answered yet."""
        return self._model.waiting if self._model and self.active else None

    # -- driving ---------------------------------------------------------------------------------------

    def reason_not_ready(self, document: Document | None) -> str | None:
        """Why this document cannot be run now, in plain words; None when it can."""
        if document is None:
            return "Open a tree first."
        return self._reason_not_ready(document, self.answering(document))

    def start(self, document: Document) -> None:
        """Run to the end, or to a breakpoint, or to where a person must answer."""
        if not self.active:
            self._start(document, _at_the_end)

    def step(self, document: Document) -> None:
        """Start paused at the first node, or execute the node the run stands at and pause again.

        What that node's action runs is gone through without a pause.
        """
        self._go(_no_deeper(len(self.inside)), document)

    def step_into(self, document: Document) -> None:
        """As :meth:`step`, but pause inside the node where its action runs a tree or an agent."""
        self._go(_at_once, document)

    def step_out(self) -> None:
        """Go on to the end of the tree or agent the run stands in, and pause where it is waited for."""
        self._go(_no_deeper(len(self.inside) - 1))

    def step_to_question(self, document: Document) -> None:
        """Start, or go on, and pause before the next classify node."""
        self._go(_at_a_question(len(self.inside)), document)

    def run_to(self, document: Document, node: NodeId) -> None:
        """Start, or go on, and pause before the next visit of this node."""
        self._go(lambda _tree, at, depth: not depth and at == node, document)

    def resume(self) -> None:
        """Go on without pausing, but at breakpoints."""
        self._go(_at_the_end)

    def pause(self) -> None:
        """Pause before the next node, also of a tree inside."""
        self._goal = _at_once

    def cancel(self) -> None:
        """End the run now; a request in flight is given up."""
        if self._waiting is not None:
            self._waiting.cancel()
        if self._run is not None and self.active:
            self._position = None
            self._run.cancel()
            self._go_on.set()

    def restart(self) -> str | None:
        """Run what is shown again from its beginning, on the tree of the screen, with the same inputs.

        Answers come from where they came from then. A run that goes on is ended first. What is returned is
        why this cannot be done, in plain words.
        """
        last = self.shown
        if last is None:
            return "Nothing has run yet."
        document = last.document
        answering = self.answering(document) if last.log else last.answering
        try:
            plan = last.replan(document.draft.tree) if last.replan else None
        except ValueError as error:
            return str(error)
        if (reason := self._reason_not_ready(document, answering, plan)) is not None:
            return reason
        again = partial(ListedRun, document, answering, parent=last.parent, plan=plan, replan=last.replan)
        self._when_free(lambda: self._begin(again, _at_the_end, start=last.recording.start))
        return None

    def answer(self, text: str | None) -> None:
        """The person's answer; None or ``unknown`` when none of the allowed ones fits.

        To what an action asks any text is an answer, and None is none.
        """
        if self._given is not None and not self._given.done():
            self.live()
            self._given.set_result(None if text == UNKNOWN and self.inquiry is None else text)

    async def ended(self) -> None:
        """Wait until no run is active."""
        if self._driving is not None:
            await asyncio.wait([self._driving])

    # -- the past --------------------------------------------------------------------------------------

    def go_to(self, position: int) -> None:
        """Show the moment after so many events."""
        position = max(min(1, self.length), position)
        past = self._recording.step_at(position) < self.step_count
        if self.state is RunState.RUNNING and past:
            self.pause()
        self.hit = None
        self._position = position if past else None
        self._show_soon()

    def go_to_step(self, step: int) -> None:
        """Show the moment before the visit of this index in the newest trail's path."""
        steps = self._recording.steps
        if steps:
            self.go_to(steps[max(0, min(step, len(steps) - 1))])

    def step_back(self) -> None:
        """Show the moment one step before: before the visit that was made last."""
        self.go_to_step(self.step_number - 1)

    def step_forward(self) -> None:
        """Show the moment one step after."""
        self.go_to_step(self.step_number + 1)

    def live(self) -> None:
        """Show the newest moment."""
        if self.past:
            self.go_to(self.length)

    def previous_visit(self, node: NodeId) -> bool:
        """Show the moment before the last visit of a node that began earlier; whether there is one."""
        return self._go_to_visit([p for p in self._recording.visits(node) if self._step_of(p) < 0][-1:])

    def next_visit(self, node: NodeId) -> bool:
        """Show the moment before the next visit of a node that is recorded; whether there is one."""
        return self._go_to_visit([p for p in self._recording.visits(node) if self._step_of(p) > 0][:1])

    def _step_of(self, position: int) -> int:
        """How many steps after the shown one this moment is."""
        return self._recording.step_at(position) - self.step_number

    def _go_to_visit(self, positions: Sequence[int]) -> bool:
        for position in positions:
            self.go_to(position)
        return bool(positions)

    # -- who answers -----------------------------------------------------------------------------------

    def answering(self, document: Document) -> Answering:
        """Who answers in the next run of a document."""
        usual = LIVE if self._is_live(document) else ASK
        return replace(
            self._answering.get(document, Answering()),
            otherwise=self._otherwise.get(document, usual),
            case=self.case,
        )

    def source_of(self, document: Document, node: NodeId) -> Source | None:
        """Where what this node gives comes from in the next run; None for one that gives nothing."""
        return self.answering(document).source_of(document.draft.tree, node)

    def may_choose(self, document: Document, node: NodeId, source: Source) -> str | None:
        """Why what this node gives may not come from there, in plain words; None when it may."""
        return may_answer(document.draft.tree, node, source, live=self._is_live(document))

    def choose_source(self, document: Document, node: NodeId, source: Source | None) -> None:
        """Take what this node gives from there, in the runs of this session; None: as for all others."""
        if document not in self._answering:
            document.changed.connect(self._follow)
        self._answering[document] = self._answering.get(document, Answering()).choose(node, source)
        self.sources_changed.emit(document)

    def choose_otherwise(self, document: Document, source: Source | None) -> None:
        """Have this one answer what nothing else does; None: the decider that is set up, else the person."""
        self._otherwise.pop(document, None)
        if source is not None:
            self._otherwise[document] = source
        self.sources_changed.emit(document)

    def choose_case(self, case: Case | None) -> None:
        """Take the answers of the next run from this case, where a node has no source of its own."""
        self.case = case
        self.sources_changed.emit(None)
        self.state_changed.emit(self.state)

    # -- runs ------------------------------------------------------------------------------------------

    def plan_fork(
        self,
        step: int,
        *,
        answer: str | None = None,
        properties: Mapping[str, str] | None = None,
        data: Iterable[DataItem] = (),
    ) -> Fork:
        """What a fork of the shown run on the tree of the screen would use again, and what it would ask.

        ``step`` is the index of a visit in the newest trail's path; the question that was asked there is
        answered with ``answer``, or the state before it gets these properties and data items. ``ValueError``
        says in plain words why there can be none.
        """
        return self._replan(step, answer, properties, data)(self._needed.document.draft.tree)

    def fork(
        self,
        step: int,
        *,
        answer: str | None = None,
        properties: Mapping[str, str] | None = None,
        data: Iterable[DataItem] = (),
    ) -> None:
        """Run the shown run again with this change, and live from there; see :meth:`plan_fork`.

        A run that goes on is ended first.
        """
        parent, replan = self._needed, self._replan(step, answer, properties, tuple(data))
        document = parent.document
        plan, answering = replan(document.draft.tree), self.answering(document)
        if (reason := self._reason_not_ready(document, answering, plan)) is not None:
            raise ValueError(reason)
        fork = partial(ListedRun, document, answering, parent=parent, plan=plan, replan=replan)
        self._when_free(lambda: self._begin(fork, _at_the_end))

    def show_run(self, run: ListedRun) -> None:
        """Show the newest moment of another run; nothing happens while one goes on."""
        if not self.active:
            self.shown, self._position, self._run = run, None, None
            self.runs_changed.emit()
            self._set_state(RunState.ENDED)

    def show_log(self, document: Document, log: RunLog, name: str, *, older: bool = False) -> None:
        """List and show a run that was recorded: before its first visit, ready to be stepped through.

        ``document`` holds the tree it was made with; ``older`` says that it was opened for this log. Nothing
        happens while a run goes on.
        """
        if not self.active:
            run = ListedRun(document, name=name, recording=Recording(log.events), log=log, older=older)
            self._list(run)
            self.show_run(run)
            self.go_to(0)

    def save_log(self, path: Path) -> None:
        """Write the shown run to a file, as far as it got; ``OSError`` when that cannot be done."""
        write_run_log(path, self._needed.as_log())

    def forget(self) -> None:
        """Show nothing of the last run any more; a run that goes on is left alone."""
        if not self.active:
            self.shown = self._position = self._run = None
            self.runs_changed.emit()
            self._set_state(RunState.IDLE)

    def close(self, document: Document) -> None:
        """Forget a document that is closed, its runs and who answers in them; a run that goes on is ended."""
        if self.document is document:
            self.cancel()
            self.forget()
        self.runs = tuple(run for run in self.runs if run.document is not document)
        self._answering.pop(document, None)
        self._otherwise.pop(document, None)
        self.runs_changed.emit()

    # -- beginning -------------------------------------------------------------------------------------

    def _reason_not_ready(
        self, document: Document, answering: Answering, plan: Fork | None = None
    ) -> str | None:
        tree = document.draft.tree
        if not tree.nodes:
            return "Add a node first; a run starts there."
        live, withheld = self._is_live(document), self._is_withheld(document)
        errors = [p.code for p in document.check_now() if p.severity == "error"]
        if errors:
            several = "the error" if len(errors) == 1 else f"the {counted(len(errors), 'error')}"
            trust = f" {WITHHELD}" if withheld and "predicate-unknown" in errors else ""
            return f"Fix {several} under Problems first.{trust}"
        if plan is not None:
            return None  # what nobody offers here may well be recorded
        return answering.trouble(tree, document.catalog, live=live, withheld=withheld)

    def _start(self, document: Document, goal: _Goal) -> None:
        if self.reason_not_ready(document) is None:
            self._begin(partial(ListedRun, document, self.answering(document)), goal)

    def _begin(self, make: Callable[..., ListedRun], goal: _Goal, start: RunStarted | None = None) -> None:
        """Begin this run; from the inputs of a former start, if one is given."""
        self._begun += 1
        run = make(name=f"Run {self._begun}")
        tree = run.plan.tree if run.plan else run.document.draft.tree
        session, inputs = self._prepare(run.document, run.answering.as_case(tree))
        self._model = session.decider if isinstance(session.decider, LiveModel) else None
        if start is not None:
            inputs = replace(
                inputs, parameters=start.parameters, properties=start.properties, data=start.data
            )
        told, person = partial(self._note_stale, run), PersonDecider(self._ask)
        session = replace(session, person=self._inquire)
        session, inputs = run.answering.prepared(session, inputs, tree, person, plan=run.plan, told=told)
        inputs = replace(inputs, erasure_key=self._erasure_key(run.document, inputs.parameters))
        self._list(run)
        self.shown, self._position, self._standing, self.hit = run, None, None, None
        self._goal, self._within = goal, Inside()
        observers: tuple[Observer, ...] = (self._within.hear, partial(self._observe, run))
        self._run = session.start(tree, inputs, observers=observers, stops_inside=_INSIDE)
        self.runs_changed.emit()
        self._set_state(RunState.RUNNING)
        self._driving = launch(self._drive(self._run, run, self._model))

    def _when_free(self, begin: Callable[[], None]) -> None:
        """Begin once the run that goes on has ended, which is now being cancelled."""
        if not self.active:
            begin()
            return

        async def wait() -> None:
            await self.ended()
            begin()

        self.cancel()
        self._waiting = launch(wait())

    def _list(self, run: ListedRun) -> None:
        self.runs = (*self.runs, run)[-KEPT:]

    @property
    def _needed(self) -> ListedRun:
        if self.shown is None:
            raise ValueError("Nothing has run yet.")
        return self.shown

    def _replan(
        self,
        step: int,
        answer: str | None,
        properties: Mapping[str, str] | None,
        data: Iterable[DataItem],
    ) -> Callable[[Tree], Fork]:
        events = tuple(self._needed.recording.events)
        return lambda tree: fork(events, step, tree, answer=answer, properties=properties, data=data)

    # -- going on --------------------------------------------------------------------------------------

    def _go(self, goal: _Goal, document: Document | None = None) -> None:
        if self.past:
            if not self._go_through_record(goal) and self.active:
                self._let_go(goal)
        elif self.active:
            self._let_go(goal)
        elif document is not None:
            self._start(document, goal)

    def _let_go(self, goal: _Goal) -> None:
        self._goal = goal
        if self.state is RunState.PAUSED:
            self.hit = None
            self._set_state(RunState.RUNNING)
            self._go_on.set()

    def _go_through_record(self, goal: _Goal) -> bool:
        """Show the next recorded moment at which to pause, else the newest one; whether there was one."""
        run, since, hits = self._needed, self.position, Hits()
        recording, marks = run.recording, self._breakpoints_of(run.document)
        for position in recording.steps:
            node, tree = recording.node_at(position), recording.latest.tree
            if node is None or tree is None:
                continue
            hit = _pausing(hits.at(node, recording.trail(position), marks))
            if position > since and (hit or goal(tree, node, 0)):
                self.go_to(position)
                # The question that waits there has been reached before.
                self.hit = None if self.state is RunState.ASKING and not self.past else hit
                return True
        self.live()
        return False

    async def _drive(self, run: Run, listed: ListedRun, model: LiveModel | None) -> None:
        hits, recording = Hits(), listed.recording
        try:
            async for stop in run:
                self._standing, trail = stop, recording.latest
                if stop.inner is not None:
                    await (self._wait(None) if self._goal(*self._place(stop)) else asyncio.sleep(0))
                    continue
                found = hits.at(stop.node, trail, self._breakpoints_of(listed.document))
                listed.lines.extend(
                    LogLine(len(recording), stop.node, hit.line) for hit in found if hit.line is not None
                )
                hit = _pausing(found)
                if hit or self._goal(trail.tree or Tree(), stop.node, 0):
                    await self._wait(hit)
                else:
                    await asyncio.sleep(0)  # a long run must not keep the window from painting
        finally:
            # Whoever ends the task that drives it leaves no run half done.
            run.cancel()
            self._standing = None
            self._set_state(RunState.ENDED)
            if listed not in self.runs:
                self.forget()
            if model is not None:
                await model.close()

    async def _wait(self, hit: Hit | None) -> None:
        self._go_on.clear()
        self.hit = hit
        self._set_state(RunState.PAUSED)
        await self._go_on.wait()

    def _place(self, stop: Stop) -> tuple[Tree, NodeId, int]:
        """The tree and the node of the innermost stop within this one, and how many runs wait for it."""
        stops, trails = [*inner_stops(stop)], self._within.trails
        tree = trails[len(stops) - 1].tree if len(stops) <= len(trails) else None
        return tree or Tree(), stops[-1].node, len(stops)

    def _breakpoints_of(self, document: Document) -> tuple[Breakpoint, ...]:
        # A run asks before each node, and reading them takes the longer the larger a tree is.
        if self._breakpoints is None or self._breakpoints[0] is not document.draft:
            self._breakpoints = document.draft, breakpoints(document.draft)
        return self._breakpoints[1]

    async def _ask(self, question: Question) -> str | None:
        self.question = question
        return await self._put(question)

    async def _inquire(self, inquiry: Inquiry) -> str | None:
        self.inquiry = inquiry
        return await self._put(inquiry)

    async def _put(self, asked: Question | Inquiry) -> str | None:
        self._given = asyncio.get_running_loop().create_future()
        self._set_state(RunState.ASKING)
        self.asked.emit(asked)
        try:
            return await self._given
        finally:
            self.question = self.inquiry = self._given = None
            self.asked.emit(None)
            self._set_state(RunState.RUNNING)

    def _observe(self, run: ListedRun, event: Event) -> None:
        run.recording.add(event)
        if run is self.shown:
            self._show_soon()

    def _note_stale(self, run: ListedRun, stale: Stale) -> None:
        run.stale.append(stale)
        run.lines.append(LogLine(len(run.recording), stale.recorded.node, f"Asked again: {stale.reason}"))

    def _follow(self, before: Draft, after: Draft) -> None:
        names = new_names(before, after)
        # The signal does not say whose it is, and a connection must not hold the document.
        for document, kept in self._answering.items() if names else ():
            if document.draft is after:
                self._answering[document] = kept.renamed(names)

    def _set_state(self, state: RunState) -> None:
        self.state = state
        if state is RunState.RUNNING:
            self._clock.start()
        else:
            self._clock.stop()
        self._show()
        self.state_changed.emit(state)

    def _show_soon(self) -> None:
        if not self._frame.isActive():
            self._frame.start()

    def _show(self) -> None:
        self._frame.stop()
        self.trail_changed.emit(self.trail)


_NOTHING: Final = Recording()


def _pausing(found: Iterable[Hit]) -> Hit | None:
    """The first of these hits that has a run pause."""
    return next((hit for hit in found if hit.pauses), None)


def _why(hit: Hit, tree: Tree) -> str:
    """Why this hit has a run pause, in plain words."""
    one = hit.breakpoint
    where = f"'{titles_of(tree).get(one.node, one.node)}'" + (f", branch {one.branch}" if one.branch else "")
    if hit.trouble is not None:
        return f"The condition of the breakpoint at {where} cannot be told: {hit.trouble}"
    return f"Breakpoint at {where}{f', hit {hit.number}' if one.hits else ''}."
