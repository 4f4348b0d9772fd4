"""The work of the model: it is asked, uses tools, is told what came of them, until it answers."""

from collections.abc import Mapping

from engine.agent import progress
from engine.agent.definition import AgentResult, FailureKind
from engine.agent.events import Failure, ToolCompleted, ToolStarted, TurnStarted
from engine.agent.executor import CacheAwareToolExecutor
from engine.agent.running import Running, failed, succeeded, timed_out
from engine.errors import DocumentRefused, TreewrightError
from engine.jsontext import parse
from engine.llm import CallingMessage, Completion, Message, ToolCall, ToolMessage
from engine.llm.failures import is_transient
from engine.tools import Tool, ToolInvocation, ToolResult
from engine.tree import Json


class Round:
    """The turns from a goal to an answer. Another round begins anew, with what was said of the last."""

    def __init__(self, run: Running, number: int, feedback: str | None) -> None:
        self._run, self._number = run, number
        prompt = run.settings.system_prompt
        if feedback:
            prompt = f"{prompt}\n\nQuality feedback from previous attempt:\n{feedback}"
        self._messages: list[Message] = [Message("system", prompt), Message("user", run.request.goal)]
        run.transcript.round(prompt, feedback, _shown(run))

    async def work(self) -> AgentResult:
        """Turn by turn, until there is an answer, a failure, or no turn left."""
        run, most = self._run, self._run.settings.max_turns
        offered = tuple(tool.definition for tool in run.tools.values())
        for turn in range(most):
            run.check()
            run.turns += 1
            run.tell(TurnStarted(*run.stamp, turn, self._number))
            run.transcript.turn(
                turn + 1, self._number, len(run.chain.failed) + 1 if run.chain else 1, run.model
            )
            await run.stop("beforeAttempt", turn + 1)
            try:
                reply = await run.ask_in_turn(turn, self._messages, offered)
            except TreewrightError as error:
                return self._no_answer(error, turn)
            run.transcript.content(reply.content)
            said = _usable(reply)
            if not run.streamed and said:
                run.said(said, is_final=not reply.tool_calls)
            if reply.tool_calls:
                await self._use(reply, turn)
            elif said:
                run.report(progress.FINAL)
                if run.streamed:
                    run.said("", is_final=True)
                return succeeded(said)
            else:
                run.report(progress.nothing_said(turn))
        return self._given_up("TurnLimitExceeded", "TurnLimitExceeded", progress.exhausted(most))

    def _no_answer(self, error: TreewrightError, turn: int) -> AgentResult:
        run, late, transient = self._run, timed_out(error), is_transient(error)
        text = progress.failed(str(error), turn, timed_out=late)
        exhausted = run.chain is not None and transient
        run.tell(Failure(*run.stamp, text, "ModelFailover" if exhausted else "LlmCompletion", transient))
        kind: FailureKind = "LlmTimeout" if late else "LlmError"
        return self._given_up(
            "LLM timeout" if late else "LLM failure", "FailoverExhausted" if exhausted else kind, text
        )

    def _given_up(self, status: str, kind: FailureKind, text: str) -> AgentResult:
        self._run.transcript.note(status, text)
        self._run.report(text)
        return failed(kind, text)

    # Tools

    async def _use(self, reply: Completion, turn: int) -> None:
        """Use the tools the model asks for, in its order, and tell it what came of each."""
        run = self._run
        if (line := progress.content(reply.content)) is not None:
            run.report(line)
        self._messages.append(CallingMessage("assistant", reply.content or "", reply.tool_calls))
        for call in reply.tool_calls:
            run.check()
            run.transcript.decision(run.model, call.name, call.id, call.arguments)
            tool = run.tools.get(call.name.lower())
            told = self._refused(call) if tool is None else await self._used(tool, call, turn)
            self._messages.append(ToolMessage("tool", told, call.id))

    def _refused(self, call: ToolCall) -> str:
        """A tool that was not offered is not used, whatever its name."""
        run = self._run
        why = "is not registered" if run.allows(call.name) else "is not allowed for this run"
        error = f"Tool '{call.name}' {why}."
        run.steps.append(error)
        run.transcript.answer(call.name, call.id, "Failed", None, error)
        return error

    async def _used(self, tool: Tool, call: ToolCall, turn: int) -> str:
        run, name = self._run, tool.definition.name
        used = run.tool_calls
        invocation = ToolInvocation(name, arguments_of(call.arguments))
        run.report(progress.decision(run.model, name, invocation.arguments), call)
        executor = run.agent.executor
        result: ToolResult | None = None
        if isinstance(executor, CacheAwareToolExecutor):
            result = await executor.cached(tool, invocation, run.context)
        cached = result is not None
        if result is None:
            result = await self._invoked(tool, invocation, turn)
        line = progress.came_back(name, result, cached=cached)
        run.report(line, call, None if run.tool_calls > used else result, cached=cached)
        status = ("CachedFailure" if cached else "Failed") if result.error is not None else None
        run.transcript.answer(
            name, call.id, status or ("Cached" if cached else "Succeeded"), result.output, result.error
        )
        if not cached:
            await run.stop("afterTool", turn + 1)
        if result.error is not None:
            return f"Error: {result.error or 'unknown error'}"
        return result.output or "(empty)"

    async def _invoked(self, tool: Tool, invocation: ToolInvocation, turn: int) -> ToolResult:
        run = self._run
        await run.stop("beforeTool", turn + 1)
        if tool.definition.requires_approval and not (
            run.agent.approve and await run.agent.approve(invocation, run.context)
        ):
            return ToolResult(error="This tool needs an approval, which was not given.")
        run.report(progress.calling(invocation.tool, invocation.arguments))
        run.tool_calls += 1
        run.tell(ToolStarted(*run.stamp, invocation.tool, invocation))
        began = run.agent.clock.monotonic()
        with run.interruptible(" during tool execution"):
            result = await run.agent.executor.execute(tool, invocation, run.context)
        run.tell(ToolCompleted(*run.stamp, invocation.tool, result, run.agent.clock.monotonic() - began))
        return result


def arguments_of(text: str) -> Mapping[str, Json]:
    """The arguments of a call; none where they are no JSON object. What is null there is empty text."""
    try:
        arguments = parse(text.encode(errors="replace"))
    except DocumentRefused:
        return {}
    if not isinstance(arguments, dict):
        return {}
    return {name: "" if value is None else value for name, value in arguments.items()}


def _usable(reply: Completion) -> str | None:
    """What the model said, where it is an answer: not blank, no refusal, not held back."""
    if reply.refusal or reply.finish_reason == "content_filter" or not (reply.content or "").strip():
        return None
    return reply.content


def _shown(run: Running) -> Mapping[str, object]:
    """What the agent is set to, for the transcript of a run that is debugged."""
    settings = run.settings
    return {
        "Model": run.model or "unknown",
        "Trace ID": run.agent.trace_id or "(none)",
        "Correlation ID": run.agent.correlation_id or "(none)",
        "Available tools": ", ".join(tool.definition.name for tool in run.tools.values()) or "(none)",
        "Remaining fallbacks": ", ".join(run.chain.remaining if run.chain else ()) or "(none)",
        "Turn count": run.turns,
        "Tool invocation count": run.tool_calls,
        "Quality retry count": run.retries,
        "Max turns": settings.max_turns,
        "Temperature": settings.temperature,
        "Completion timeout seconds": settings.completion_timeout_seconds,
        "Idle timeout seconds": settings.idle_timeout_seconds,
    }
