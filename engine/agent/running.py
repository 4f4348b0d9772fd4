"""One run of an agent as its stages see it: what it counts, whom it tells, and how its model is asked."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from engine.agent import progress
from engine.agent.agent import Agent
from engine.agent.definition import (
    TRANSCRIPT_DEBUG,
    TRANSCRIPT_DIRECTORY,
    AgentContext,
    AgentRequest,
    AgentResult,
    AgentSettings,
    FailureKind,
    serving,
)
from engine.agent.events import Failure, LlmCallCompleted, LlmCalled, ModelChunk, ModelSwitched, Progressed
from engine.agent.pulled import Halted, Pace
from engine.budget import Limits, Meter
from engine.errors import LlmError
from engine.events import Event, Observer
from engine.events.journal import give, observers_of
from engine.llm import Completion, LlmClient, Message, Request, ToolCall
from engine.llm.deadline import TimedClient
from engine.llm.failover import Failover, ModelChain, Pipeline, completed
from engine.llm.failures import caller_is_cancelled, is_transient
from engine.tools import Tool, ToolDefinition, ToolResult
from engine.transcript import AgentTranscript, TranscriptOptions


@dataclass(frozen=True, slots=True)
class _Failed:
    """The model that failed last."""

    model: str
    reason: str
    timed_out: bool


# A client with deadlines of its own says better what went wrong; this one waits for it to speak first.
_GRACE: Final = 1.0


class Running(Pace):
    """The state of one run."""

    def __init__(
        self,
        agent: Agent,
        request: AgentRequest,
        *,
        max_llm_calls: int | None,
        deadline: float | None,
        observers: Iterable[Observer],
    ) -> None:
        self.agent, self.request = agent, request
        self.id = agent.new_id()
        self.settings, self.misfit = _settings(agent.settings, request)
        self.context = AgentContext(
            self.id, request, request.agent_name or agent.name, self.settings, {}, self.ask
        )
        most, seconds = agent.most_calls(self.settings), self.settings.deadline_seconds
        limits = Limits(
            llm_calls=most if max_llm_calls is None else min(most, max_llm_calls),
            elapsed=seconds if deadline is None else min(seconds, deadline),
        )
        super().__init__(self.context.agent_name, Meter(agent.clock, limits))
        self._observers = (
            *observers_of(None, agent.publisher),
            *serving(agent.observers, self.context),
            *observers,
        )
        self.transcript = AgentTranscript(_transcript(agent, request), request.goal, agent.clock)
        self.tools: Mapping[str, Tool] = {
            name.lower(): tool for name, tool in agent.tools_by_name.items() if self.allows(name)
        }
        self.steps: list[str] = []
        self.turns = self.tool_calls = self.retries = 0
        self.streamed = False
        self._turn: int | None = None
        self._failed: _Failed | None = None
        self._model: str | None = None
        self.chain: ModelChain | None = None
        self._pipeline = agent.pipeline or self._failover()

    def allows(self, name: str) -> bool:
        """Whether the request lets a tool be used by its name, in any case."""
        allowed = self.request.allowed_tools
        return allowed is None or name.lower() in [each.lower() for each in allowed]

    @property
    def model(self) -> str | None:
        """The model that is asked; None where that is the client's own."""
        return self.chain.model if self.chain else self._model

    @property
    def stamp(self) -> tuple[str, datetime]:
        """What every event begins with."""
        return self.id, self.agent.clock.now()

    # Telling

    def tell(self, event: Event) -> None:
        """Tell every observer."""
        if self.agent.trace_id is not None or self.agent.correlation_id is not None:
            event = replace(event, trace_id=self.agent.trace_id, correlation_id=self.agent.correlation_id)
        for observer in self._observers:
            give(observer, event, "An observer of an agent")

    def observe(self, observer: Observer) -> None:
        """Tell one more from now on."""
        self._observers = (*self._observers, observer)

    def report(
        self,
        line: str,
        call: ToolCall | None = None,
        result: ToolResult | None = None,
        *,
        cached: bool = False,
    ) -> None:
        """A step of the run, shown as it is taken; see :class:`Progressed`."""
        self.steps.append(line)
        self.tell(Progressed(*self.stamp, line, None if call is None else call.id, result, cached))

    def said(self, text: str, *, is_final: bool = False) -> None:
        """A piece of what the model says."""
        self.tell(ModelChunk(*self.stamp, text, self._turn or 0, is_final))

    # Asking

    async def ask(self, messages: Sequence[Message]) -> Completion:
        """Ask outside of turns."""
        return await self.ask_in_turn(None, messages, ())

    async def ask_in_turn(
        self, turn: int | None, messages: Sequence[Message], tools: tuple[ToolDefinition, ...]
    ) -> Completion:
        """Ask once, along the chain where there is one; ``LlmError`` when no model answers."""
        self.check()
        if self.meter.calls_used_up:
            most = self.meter.limits.llm_calls
            raise Halted("CallLimitExceeded", f"The agent has made the {most} LLM call(s) it may make.")
        settings = self.settings
        request = Request(
            tuple(messages),
            model=self.model,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            tools=tools,
            total_deadline=settings.completion_timeout_seconds,
            idle_deadline=settings.idle_timeout_seconds,
            on_text=None if turn is None else self._hear,
        )
        self._turn, self._failed = turn, None
        reply: Completion | None = None
        try:
            with self.interruptible(" during LLM call"):
                reply = await self._completed(request)
        finally:
            tokens = (None, None) if reply is None else (reply.input_tokens, reply.output_tokens)
            self.meter.count_calls(1, *tokens)
        return reply

    async def _completed(self, request: Request) -> Completion:
        async def along(request: Request) -> Completion:
            return await completed(self._pipeline, request, self.chain)

        # Of an own pipeline only the whole can be watched; the default one has its client watched.
        return await (self.watched(along, request) if self.agent.pipeline else along(request))

    async def watched(
        self, complete: Callable[[Request], Awaitable[Completion]], request: Request
    ) -> Completion:
        """Ask one model, and tell of it."""
        client, chain, turn = self.agent.client, self.chain, self._turn
        model = request.model or (client.model if client else "") or "unknown"
        number = len(chain.failed) + 1 if chain else 1
        if (failed := self._failed) is not None:
            self.tell(Failure(*self.stamp, failed.reason, "ModelFailover", transient=True))
            self.report(progress.switched(failed.model, model, timed_out=failed.timed_out))
            self.tell(ModelSwitched(*self.stamp, failed.model, model, failed.reason, turn))
        self.streamed = False
        self.tell(LlmCalled(*self.stamp, model, turn, number))
        began = self.agent.clock.monotonic()
        reply: Completion | None = None
        error: BaseException | None = None
        try:
            reply = await complete(request)
        except BaseException as raised:
            error = raised
            self._failed = _Failed(model, _words(raised), timed_out(raised))
            raise
        finally:
            self.tell(
                LlmCallCompleted(
                    *self.stamp,
                    model,
                    turn,
                    number,
                    self.agent.clock.monotonic() - began,
                    reply,
                    None if error is None else _words(error),
                    error is not None and is_transient(error, cancelled=caller_is_cancelled()),
                )
            )
        return reply

    def _hear(self, text: str) -> None:
        self.streamed = True
        self.said(text)

    def choose_models(self) -> None:
        """Settle which model is asked, and which ones follow it."""
        settings, agent = self.settings, self.agent
        wanted = self.request.capabilities
        found = tuple(agent.models_for(wanted)) if agent.models_for and wanted else ()
        model = settings.model if settings.model and settings.model.strip() else None
        if model is None and found:
            model, *rest = found
            found = tuple(rest)
        self._model = model
        if settings.enable_model_failover:
            self.chain = ModelChain.of(model, settings.model_fallback_chain or found)

    def _failover(self) -> Pipeline:
        client = self.agent.client or _Nobody()
        seconds = self.settings.completion_timeout_seconds + _GRACE
        return Failover(_Watched(TimedClient(client, seconds), self))


class _Watched:
    """The client of one run, which is told of each time it is asked."""

    def __init__(self, client: LlmClient, run: Running) -> None:
        self._client, self._run = client, run
        self.provider, self.endpoint, self.model = client.provider, client.endpoint, client.model

    async def complete(self, request: Request) -> Completion:
        return await self._run.watched(self._client.complete, request)

    async def close(self) -> None:
        """Whoever made the client closes it."""


class _Nobody:
    """Stands where an agent has no client."""

    provider, endpoint, model = "nobody", "", ""

    async def complete(self, request: Request) -> Completion:
        raise LlmError("The agent has no model to ask.", kind="request", transient=False)

    async def close(self) -> None:
        """Nothing is open."""


def timed_out(error: BaseException) -> bool:
    """Whether a model that failed took too long."""
    if isinstance(error, LlmError):
        return error.kind == "timeout"
    return isinstance(error, TimeoutError | asyncio.CancelledError)


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _settings(settings: AgentSettings, request: AgentRequest) -> tuple[AgentSettings, str | None]:
    """What a run is set to, and what of its request does not fit."""
    try:
        return settings.within(request.parameters), None
    except ValueError as error:
        return settings, str(error)


def _transcript(agent: Agent, request: AgentRequest) -> TranscriptOptions:
    options = agent.transcript or TranscriptOptions(directory=None)
    directory = request.parameters.get(TRANSCRIPT_DIRECTORY, options.directory)
    if isinstance(directory, str) or directory is None:
        directory = None if directory is None else Path(directory)
    elif not isinstance(directory, Path):
        directory = Path()  # which is not absolute, and so no place for a transcript
    return replace(
        options, directory=directory, debug=request.parameters.get(TRANSCRIPT_DEBUG, options.debug) is True
    )


def succeeded(output: str | None, reasoning: str | None = None) -> AgentResult:
    """A result that is one."""
    return AgentResult(success=True, output=output, reasoning=reasoning, failure_kind="NoFailure")


def failed(kind: FailureKind, reason: str) -> AgentResult:
    """A result that is none."""
    return AgentResult(success=False, reasoning=reason, failure_kind=kind)
