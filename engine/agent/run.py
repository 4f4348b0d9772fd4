"""A run of an agent, pulled forward by whoever reads it, as a run of a tree is."""

import asyncio
from collections.abc import Coroutine, Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from types import coroutine

from engine.agent.agent import Agent
from engine.agent.definition import (
    TRANSCRIPT_PATH,
    TRANSCRIPT_STATUS,
    AgentRequest,
    AgentResult,
    ExecutionStatus,
    FailureKind,
)
from engine.agent.events import AgentCancelled, AgentRunCompleted, AgentRunStarted
from engine.agent.pipeline import worked_on
from engine.agent.running import Halted, Running, failed, timed_out
from engine.budget import Usage
from engine.errors import LlmError
from engine.events import Observer
from engine.run import Phase, Stop, TranscriptReport


class AgentRun:
    """One run. Read it with ``async for``, or drive it to its end with :meth:`finish`; see ``Agent.start``.

    It stops where the reader asked for that. The clock of its deadline stands still while nobody asks. A run
    never raises for what happens in it: all that is told in its result.
    """

    def __init__(
        self,
        agent: Agent,
        request: AgentRequest,
        *,
        max_llm_calls: int | None = None,
        deadline: float | None = None,
        observers: Iterable[Observer] = (),
        stops_inside: Iterable[Phase] = (),
    ) -> None:
        self._run = Running(
            agent, request, max_llm_calls=max_llm_calls, deadline=deadline, observers=observers
        )
        self._stops = tuple(stops_inside)
        self._body: Coroutine[object, None, None] | None = None
        self._result: AgentResult | None = None
        self._driven = False

    @property
    def execution_id(self) -> str:
        """The id of this execution."""
        return self._run.id

    @property
    def result(self) -> AgentResult:
        """What came of it; ``RuntimeError`` before it has ended."""
        if self._result is None:
            raise RuntimeError("The run has not ended yet.")
        return self._result

    @property
    def ended(self) -> bool:
        """Whether there is a result."""
        return self._result is not None

    @property
    def status(self) -> ExecutionStatus:
        """Where it stands."""
        if self._result is not None:
            return self._result.status
        return "Pending" if self._body is None else "Running"

    @property
    def usage(self) -> Usage:
        """What it has used so far; the LLM calls are what its caller is charged."""
        return self._run.meter.reading()

    @property
    def transcript(self) -> TranscriptReport:
        """What became of its transcript."""
        return self._run.transcript

    def observe(self, observer: Observer) -> None:
        """Add an observer; it is given the events from now on."""
        self._run.observe(observer)

    def __aiter__(self) -> "AgentRun":
        return self

    async def __anext__(self) -> Stop:
        stop = await self._pulled(self._stops)
        if stop is None:
            raise StopAsyncIteration
        return stop

    async def finish(self) -> AgentResult:
        """Drive the run to its end without stopping."""
        await self._pulled(())
        return self.result

    def cancel(self) -> None:
        """End the run as ``Cancelled``: at once between two steps, else when what it waits for lets go."""
        run = self._run
        if self.ended or run.cancelled:
            return
        run.cancelled = True
        if run.scope is not None:
            if not run.scope.expired():
                run.scope.reschedule(asyncio.get_running_loop().time())
            return
        with suppress(StopIteration):
            if self._body is None:
                self._body = self._execute()
                self._body.send(None)
            else:
                self._body.throw(asyncio.CancelledError())

    async def _pulled(self, stops: tuple[Phase, ...]) -> Stop | None:
        if self.ended:
            return None
        run, task = self._run, asyncio.current_task()
        if self._driven:
            raise RuntimeError("A run has one reader at a time.")
        cancelled = task.cancelling() if task else 0
        self._driven, run.stops = True, stops
        self._body = self._body or self._execute()
        run.meter.resume()
        try:
            # The deadline and a cancellation of our own interrupt the reader's task and give it back.
            async with asyncio.timeout(max(run.meter.left, 0)) as run.scope:
                stop = await _advanced(self._body)
        finally:
            run.meter.pause()
            run.scope, self._driven = None, False
        if stop is None and task and task.cancelling() > cancelled:
            # The run ended in good order; a reader that others have cancelled stays cancelled all the same.
            raise asyncio.CancelledError
        return stop

    async def _execute(self) -> None:
        run = self._run
        parameters = run.request.parameters
        run.transcript.begin(run.id, run.agent.clock.now(), parameters)
        run.tell(AgentRunStarted(*run.stamp, run.context.agent_name, run.request))
        try:
            run.check()
            run.choose_models()
            result: object = await worked_on(run)
            if not isinstance(result, AgentResult):
                raise TypeError("The pipeline returned no result.")  # noqa: TRY301 - one way to fail
        except BaseException as error:  # noqa: BLE001 - whatever went wrong is the run's result
            result = self._ending(error)
        self._finish(result)

    def _ending(self, error: BaseException) -> AgentResult:
        """How the run ends by this error; one that is no part of it is raised again."""
        run = self._run
        if isinstance(error, asyncio.CancelledError) and run.is_late and not run.is_cancelled:
            error = run.out_of_time
        match error:
            case Halted():
                run.report(str(error))
                run.transcript.note(error.kind, str(error))
                return failed(error.kind, str(error))
            case asyncio.CancelledError() if run.is_cancelled:
                reason = f"Cancellation requested{run.interrupted}."
                run.transcript.note("Cancelled", reason)
                run.tell(AgentCancelled(*run.stamp, reason))
                return failed("Cancelled", reason)
            case asyncio.CancelledError():
                kind, reason = _UNKNOWN, "A part of the agent was cancelled from inside."
            case LlmError():
                # A part asked the model itself, and had no other way to go on.
                kind, reason = "LlmTimeout" if timed_out(error) else "LlmError", str(error)
            case Exception():
                kind, reason = _UNKNOWN, str(error) or type(error).__name__
            case _:
                raise error
        run.transcript.note("Failed", reason)
        return failed(kind, reason)

    def _finish(self, result: AgentResult) -> None:
        run = self._run
        kind = result.failure_kind if result.failure_kind != "NoFailure" else None
        result = replace(
            result,
            failure_kind="NoFailure" if result.success else kind or "Unknown",
            execution_id=run.id,
            steps=tuple(run.steps),
            usage=run.meter.reading(),
            turns=run.turns,
            tool_calls=run.tool_calls,
        )
        turned = result.failure_kind == "TurnLimitExceeded"
        status = "TurnLimitExceeded" if turned else _FINAL.get(result.status, "Failed")
        run.transcript.end(status, result.output if result.success else result.reasoning)
        kept = run.transcript
        told = {TRANSCRIPT_STATUS: kept.status, TRANSCRIPT_PATH: kept.path and str(kept.path)}
        metadata = {**result.metadata, **{name: value for name, value in told.items() if value is not None}}
        self._result = replace(result, metadata=metadata)
        run.tell(AgentRunCompleted(*run.stamp, self._result, run.meter.elapsed))


_UNKNOWN: FailureKind = "Unknown"
_FINAL = {"Completed": "Completed", "Blocked": "Blocked", "Cancelled": "Cancelled"}


@coroutine
def _advanced(body: Coroutine[object, None, None]) -> Generator[object, None, Stop | None]:
    """Run a body until it stops, or ends (None). What it awaits is passed on to the event loop."""
    try:
        awaited = body.send(None)
        while not isinstance(awaited, Stop):
            try:
                yield awaited
            except BaseException as error:  # noqa: BLE001 - handed to the body, which decides
                awaited = body.throw(error)
            else:
                awaited = body.send(None)
    except StopIteration:
        return None
    return awaited
