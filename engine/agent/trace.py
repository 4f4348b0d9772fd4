"""The stream of a run of a decision agent: one line of JSON for each thing that happens, whatever the sink.

A trace is an observer of the run. It tells of the run's own job and of every job below it, and of no other.
The run never waits for the sink; a sink that loses its reader stops the lines, and not the run.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, Self, TypeAlias

from engine.agent.artifacts import Artifact, members_of
from engine.agent.thinking import (
    CURRENCY,
    Exchange,
    Job,
    JobEnded,
    JobEvent,
    JobProgressed,
    JobQueued,
    JobRetrying,
    JobStarted,
    Produced,
    ThinkerResult,
    ThinkingEnded,
    ThinkingStarted,
    answer_json,
    present,
)
from engine.agent.turns import ThinkerRun
from engine.deciders.asked import AskedQuestion
from engine.events import Event
from engine.jsontext import Json

log: Final = logging.getLogger(__name__)

FORMAT: Final = 1
"""The only form of traces there is so far."""

Line: TypeAlias = dict[str, Json]
Sink: TypeAlias = Callable[[str], object]
"""Takes one line after the other, with its end. It is called on a thread of its own, never twice at once."""


class SinkClosed(Exception):
    """Raised by a sink nobody reads from any more, as well as ``OSError``."""


class DecisionTrace:
    """Streams one run to a sink. It must observe the run before that begins; see :meth:`of`.

    ``on_end`` is called once, after the line that ends the stream, or after all was said where the reader
    was lost. A ``reduced`` trace quotes nothing the run has seen: of a decision it keeps the id, by which
    its record is found, the chosen keys and the probabilities.
    """

    def __init__(
        self,
        execution_id: str,
        job: str,
        sink: Sink,
        *,
        on_end: Callable[[], object] | None = None,
        reduced: bool = False,
    ) -> None:
        self._execution_id, self._own, self._sink = execution_id, job, sink
        self._on_end, self._reduced = on_end, reduced
        self._family = {job}
        self._lines: deque[str] = deque()
        self._ending = self._lost = False
        self._ended = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    @classmethod
    def of(
        cls,
        run: ThinkerRun[Any],
        sink: Sink,
        *,
        on_end: Callable[[], object] | None = None,
        reduced: bool = False,
    ) -> Self:
        """The trace of a run that has not begun, observing it from now on."""
        trace = cls(run.execution_id, run.job.id, sink, on_end=on_end, reduced=reduced)
        run.observe(trace)
        return trace

    def __call__(self, event: Event) -> None:
        """Write what an event has to say, if it is one of the run's."""
        if self._ending or not isinstance(event, JobEvent) or not self._is_ours(event):
            return
        line = _line(event, self._own, reduced=self._reduced)
        if line is not None:
            self._put(line)
        self._ending = isinstance(event, ThinkingEnded)
        self._wake()

    def fail(self, error: BaseException | str) -> None:
        """End the stream because its run will not; nothing where it has ended."""
        if self._ending:
            return
        message = error if isinstance(error, str) else str(error) or type(error).__name__
        self._put({"type": "workflow_failed", "message": message})
        self._ending = True
        self._wake()

    async def await_end(self, seconds: float) -> bool:
        """Wait until all is written, for so long: whether it is."""
        self._wake()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        return self._ended.is_set()

    def _is_ours(self, event: JobEvent) -> bool:
        """Whether an event is told by the run's own job, or by one below it."""
        if event.execution_id != self._execution_id:
            return False
        if event.job.parent in self._family:
            self._family.add(event.job.id)
        is_whole = isinstance(event, ThinkingStarted | ThinkingEnded)
        return event.job.id == self._own if is_whole else event.job.id in self._family

    def _put(self, line: Line) -> None:
        if not self._lost:
            self._lines.append(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n")

    def _wake(self) -> None:
        """See to it that somebody writes; off the event loop that waits for whoever asks for the end."""
        if self._writer is None or self._writer.done():
            with suppress(RuntimeError):
                self._writer = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        while self._lines:
            line = self._lines.popleft()
            try:
                await asyncio.to_thread(self._sink, line)
            except (OSError, SinkClosed) as error:
                self._lose("The reader of a trace is gone (%s).", error)
            except Exception as error:  # noqa: BLE001 - a sink must not change a run
                self._lose("The sink of a trace failed with %s.", error)
        if self._ending and not self._ended.is_set():
            self._ended.set()
            if self._on_end is not None:
                self._on_end()

    def _lose(self, message: str, error: Exception) -> None:
        log.warning(message, type(error).__name__)
        self._lost = True
        self._lines.clear()


# -- lines ---------------------------------------------------------------------------------------------


def _line(event: JobEvent, own: str, *, reduced: bool) -> Line | None:
    """What an event writes, if anything."""
    match event:
        case ThinkingStarted():
            return {
                "type": "run",
                "format": FORMAT,
                "agent": event.job.name,
                "objective": event.objective,
                "palette": list(event.palette),
                "started": _milliseconds(event.at),
                **({"reduced": True} if reduced else {}),
            }
        case ThinkingEnded():
            return _ending(event.result, reduced=reduced)
        case JobQueued():
            more: Line = {"kind": "queued"}
        case JobStarted():
            more = {"kind": "started", "attempt": event.attempt}
        case JobProgressed():
            more = {"kind": "progress", "message": event.message, "percent": event.percent}
        case JobRetrying():
            more = {"kind": "retry", "retry": event.retry, "message": event.message}
        case JobEnded():
            more = present(
                kind=event.kind,
                message=None if reduced else event.message,
                decision=event.decision and _decision(event.decision, reduced=reduced),
                result=event.result and _produced(event.result, reduced=reduced),
                measured=event.measured.as_json(),
            )
        case _:
            return None
    return {"type": "job", "job": _job(event.job, own), "at": _milliseconds(event.at), **more}


def _job(job: Job, own: str) -> Line:
    return present(
        id=job.id,
        parent=job.parent,
        type=job.type,
        name=job.name,
        tool=job.tool,
        decision=job.decision,
        iteration=job.turn,
        own=job.id == own,
    )


def _decision(exchange: Exchange, *, reduced: bool) -> Line:
    answers: Line = {key: answer_json(answer) for key, answer in exchange.answers.items()}
    if reduced:
        return {"decisionId": exchange.decision_id, "answers": answers}
    call = exchange.call
    return {
        "decisionId": exchange.decision_id,
        "state": exchange.state,
        "questions": {key: _question(asked) for key, asked in exchange.questions.items()},
        "answers": answers,
        "call": present(
            model=call.model,
            servedModel=call.served_model,
            inputTokens=call.input_tokens,
            latencyMs=call.latency_ms,
            cost=call.cost,
            currency=None if call.cost is None else CURRENCY,
            probabilitySource=call.probability_source,
            attempts=call.attempts,
        ),
    }


def _question(asked: AskedQuestion) -> Line:
    members: Line = {"instructions": asked.instructions, "type": asked.kind}
    if asked.kind == "choice":
        members["options"] = asked.criteria
    return members


def _produced(produced: Produced, *, reduced: bool) -> Line:
    inside: list[Json] = [_produced(each, reduced=reduced) for each in produced.iterands]
    return present(ref=produced.ref, digest=None if reduced else produced.digest, iterands=inside or None)


def _ending(result: ThinkerResult[Artifact], *, reduced: bool) -> Line:
    """The line that ends a stream."""
    if not result.success:
        return present(
            type="workflow_failed",
            message=result.failure_kind if reduced else result.error,
            turns=_turns(result, reduced=reduced),
            measured=result.measured.as_json(),
        )
    return present(
        type="workflow_complete",
        endReason=result.end_reason,
        answer=[
            {"ref": each.ref}
            if reduced
            else {
                "ref": each.ref,
                "digest": each.digest,
                "artifact": {"artifact_ref": each.ref, **members_of(each.artifact)},
            }
            for each in result.selected
        ],
        turns=_turns(result, reduced=reduced),
        measured=result.measured.as_json(),
    )


def _turns(result: ThinkerResult[Artifact], *, reduced: bool) -> list[Json]:
    """The recorded turns; a refusal may quote what was read: a reduced trace says only that there was one."""
    turns: list[Json] = []
    for turn in result.turns:
        members = turn.as_json()
        turns.append({**members, "failure": ""} if reduced and "failure" in members else members)
    return turns


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
