"""A run of an agent, pulled forward by whoever reads it, as a run of a tree is."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from engine.agent.agent import Agent
from engine.agent.definition import (
    TRANSCRIPT_PATH,
    TRANSCRIPT_STATUS,
    AgentRequest,
    AgentResult,
    FailureKind,
)
from engine.agent.events import AgentCancelled, AgentRunCompleted, AgentRunStarted
from engine.agent.pipeline import worked_on
from engine.agent.pulled import Halted, Pulled
from engine.agent.running import Running, failed, timed_out
from engine.budget import Usage
from engine.errors import LlmError
from engine.events import Observer
from engine.run import Phase, TranscriptReport


class AgentRun(Pulled[AgentResult]):
    """One run of an agent. Read it with ``async for``, or drive it to its end with ``finish``.

    See :meth:`Agent.start`.
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
        super().__init__(self._run, stops_inside)

    @property
    def execution_id(self) -> str:
        """The id of this execution."""
        return self._run.id

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

    async def _execute(self) -> None:
        run = self._run
        parameters = run.request.parameters
        run.transcript.begin(run.id, run.agent.clock.now(), parameters)
        limits, settings = run.meter.limits, run.settings
        run.tell(
            AgentRunStarted(
                *run.stamp,
                run.context.agent_name,
                run.request,
                settings.max_turns,
                settings.max_quality_retries + 1 if run.agent.gates else 1,
                limits.llm_calls,
                limits.elapsed,
            )
        )
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
