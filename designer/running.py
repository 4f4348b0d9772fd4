"""Running a document: start, step, pause, go on, stop, and who answers meanwhile."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from designer.document.document import Document
from designer.document.names import titles_of
from designer.tasks import launch
from engine import (
    UNKNOWN,
    ActionNode,
    ConditionNode,
    Event,
    Inputs,
    PersonDecider,
    Question,
    Run,
    Session,
    Stop,
    Trail,
)
from engine.evaluate import Case, inputs_of

FRAME_MS: Final = 16
CLOCK_MS: Final = 100


class RunState(StrEnum):
    """Where the controller stands."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    ASKING = "asking"
    ENDED = "ended"


Prepare: TypeAlias = Callable[[Document, Case | None, PersonDecider], tuple[Session, Inputs]]
"""Makes the session and the inputs of one run."""


class RunController(QObject):
    """Drives one run at a time. A run shows the tree as it was when it was started.

    While a person thinks, the clock of the run stands still.
    """

    trail_changed = Signal(object)
    """The :class:`engine.Trail`, at most once a frame."""
    state_changed = Signal(object)
    """The :class:`RunState`."""
    asked = Signal(object)
    """The :class:`engine.Question` while a person must decide, None when that is over."""

    def __init__(self, prepare: Prepare, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._prepare = prepare
        self.document: Document | None = None
        self.case: Case | None = None
        self.question: Question | None = None
        self.stop: Stop | None = None
        self.state = RunState.IDLE
        self.trail = Trail()
        self.events: list[Event] = []
        self._run: Run | None = None
        self._driving: asyncio.Task[None] | None = None
        self._go_on = asyncio.Event()
        self._pausing = False
        self._given: asyncio.Future[str | None] | None = None
        self._frame = QTimer(self, interval=FRAME_MS, singleShot=True)
        self._frame.timeout.connect(self._show)
        self._clock = QTimer(self, interval=CLOCK_MS)
        self._clock.timeout.connect(self._frame.start)

    @property
    def active(self) -> bool:
        """Whether a run has begun and not ended."""
        return self.state not in (RunState.IDLE, RunState.ENDED)

    @property
    def transcript_path(self) -> Path | None:
        """The transcript of the last run, once it is written."""
        report = self._run.transcript if self._run else None
        return report.path if report else None

    def choose_case(self, case: Case | None) -> None:
        """Take the answers of the next run from this case; what it leaves open is asked. None: ask all."""
        self.case = case
        self.state_changed.emit(self.state)

    def reason_not_ready(self, document: Document | None) -> str | None:
        """Why this document cannot be run now, in plain words; None when it can."""
        if document is None:
            return "Open a tree first."
        if not document.draft.tree.nodes:
            return "Add a node first; a run starts there."
        errors = sum(p.severity == "error" for p in document.check_now())
        if errors:
            return f"Fix {'the error' if errors == 1 else f'the {errors} errors'} under Problems first."
        pinned = inputs_of(self.case).pins if self.case else Inputs().pins
        for node_id, node in document.draft.tree.nodes.items():
            match node:
                case ActionNode(action_key=key) if (
                    node_id not in pinned.actions and key not in document.catalog.actions
                ):
                    where = titles_of(document.draft.tree)[node_id]
                    return (
                        f"There is no action '{key}' here, which '{where}' asks for. "
                        "A case can say what it would do."
                    )
                case ConditionNode(predicate_key=key) if (
                    node_id not in pinned.conditions and key not in document.catalog.predicates
                ):
                    where = titles_of(document.draft.tree)[node_id]
                    return f"There is no predicate '{key}' here, which '{where}' asks for."
        return None

    def start(self, document: Document) -> None:
        """Run to the end, or to where a person must answer."""
        self._start(document, paused=False)

    def step(self, document: Document) -> None:
        """Start paused at the first node, or execute the node the run stands at and pause again."""
        if not self.active:
            self._start(document, paused=True)
        else:
            self._pausing = True
            self._go_on.set()

    def resume(self) -> None:
        """Go on without pausing."""
        self._pausing = False
        self._go_on.set()

    def pause(self) -> None:
        """Pause before the next node."""
        self._pausing = True

    def cancel(self) -> None:
        """End the run now; a request in flight is given up."""
        if self._run is not None and self.active:
            self._run.cancel()
            self._go_on.set()

    def answer(self, text: str | None) -> None:
        """The person's answer; None or ``unknown`` when none of the allowed ones fits."""
        if self._given is not None and not self._given.done():
            self._given.set_result(None if text == UNKNOWN else text)

    def forget(self) -> None:
        """Show nothing of the last run any more; a run that goes on is left alone."""
        if not self.active:
            self.document, self.stop = None, None
            self.trail, self.events = Trail(), []
            self._run = None
            self._set_state(RunState.IDLE)

    async def ended(self) -> None:
        """Wait until no run is active."""
        if self._driving is not None:
            await asyncio.wait([self._driving])

    def _start(self, document: Document, *, paused: bool) -> None:
        if self.active or self.reason_not_ready(document) is not None:
            return
        self.document = document
        self.trail, self.events, self.stop = Trail(), [], None
        self._pausing = paused
        session, inputs = self._prepare(document, self.case, PersonDecider(self._ask))
        self._run = session.start(document.draft.tree, inputs, observers=[self._observe])
        self._set_state(RunState.RUNNING)
        self._driving = launch(self._drive(self._run))

    async def _drive(self, run: Run) -> None:
        async for stop in run:
            self.stop = stop
            if self._pausing:
                await self._wait()
            else:
                await asyncio.sleep(0)  # a long run must not keep the window from painting
        self.stop = None
        self._set_state(RunState.ENDED)

    async def _wait(self) -> None:
        self._go_on.clear()
        self._set_state(RunState.PAUSED)
        await self._go_on.wait()
        self._set_state(RunState.RUNNING)

    async def _ask(self, question: Question) -> str | None:
        self._given = asyncio.get_running_loop().create_future()
        self.question = question
        self._set_state(RunState.ASKING)
        self.asked.emit(question)
        try:
            return await self._given
        finally:
            self.question = self._given = None
            self.asked.emit(None)
            self._set_state(RunState.RUNNING)

    def _observe(self, event: Event) -> None:
        self.trail = self.trail.after(event)
        self.events.append(event)
        if not self._frame.isActive():
            self._frame.start()

    def _set_state(self, state: RunState) -> None:
        self.state = state
        if state is RunState.RUNNING:
            self._clock.start()
        else:
            self._clock.stop()
        self._show()
        self.state_changed.emit(state)

    def _show(self) -> None:
        self._frame.stop()
        if self._run is not None and not self._run.ended:
            self.trail = replace(self.trail, usage=replace(self.trail.usage, duration=self._run.elapsed))
        self.trail_changed.emit(self.trail)
