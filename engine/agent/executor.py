"""How tools are used: with time-outs and retries, and where one wishes no twice for the same input."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Final, Protocol, runtime_checkable

from engine.agent.definition import AgentContext
from engine.llm.failures import caller_is_cancelled
from engine.tools import Tool, ToolInvocation, ToolResult


class ToolExecutor(Protocol):
    """Uses tools for an agent."""

    async def execute(self, tool: Tool, invocation: ToolInvocation, context: AgentContext) -> ToolResult:
        """Use the tool. What goes wrong with it is a result; only cancellation is passed on."""
        ...


@runtime_checkable
class CacheAwareToolExecutor(ToolExecutor, Protocol):
    """An executor that can say beforehand that it has the result. It is asked before each use of a tool."""

    async def cached(
        self, tool: Tool, invocation: ToolInvocation, context: AgentContext
    ) -> ToolResult | None:
        """The result it would give again, or None."""
        ...


class DefaultToolExecutor:
    """Uses a tool, again after a time-out or an exception where retries are left, at once.

    A result that tells a failure is a result. The time-out is that of the request, else the tool's own, else
    that of the agent's settings.
    """

    async def execute(self, tool: Tool, invocation: ToolInvocation, context: AgentContext) -> ToolResult:
        timeout = context.settings.tool_timeout_seconds
        if context.request.parameters.get("tool_timeout_seconds") is None:
            own = tool.definition.timeout
            timeout = timeout if own is None else own
        error = ""
        for _ in range(context.settings.tool_max_retries + 1):
            result = await _tried(tool, invocation, timeout)
            if isinstance(result, ToolResult):
                return result
            error = result
        return ToolResult(error=error)


async def _tried(tool: Tool, invocation: ToolInvocation, seconds: float | None) -> ToolResult | str:
    """One try: a result, or what went wrong."""
    try:
        async with asyncio.timeout(seconds) as deadline:
            result: object = await tool.invoke(invocation)
    except asyncio.CancelledError:
        if caller_is_cancelled():
            raise
        return "Exception: the tool was cancelled from inside."
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool does, its agent goes on
        if isinstance(error, TimeoutError) and deadline.expired():
            return f"Tool timed out after {seconds:g} s."
        return f"Exception: {str(error) or type(error).__name__}"
    return result if isinstance(result, ToolResult) else "Exception: the tool returned no result."


def _execution(context: AgentContext) -> str:
    return context.execution_id


_MOST: Final = 1000


class IdempotentToolExecutor:
    """Uses a tool once for each input in a scope, by default a run; only successes are kept.

    Two uses are the same by the invocation's id, else by tool and arguments. Of two at the same time both
    are made, and the first result to come is kept. The newest ``most`` results are.
    """

    def __init__(
        self,
        inner: ToolExecutor | None = None,
        *,
        scope: Callable[[AgentContext], str] = _execution,
        most: int = _MOST,
    ) -> None:
        self._inner = inner or DefaultToolExecutor()
        self._scope, self._most = scope, most
        self._kept: dict[str, ToolResult] = {}

    async def cached(
        self, tool: Tool, invocation: ToolInvocation, context: AgentContext
    ) -> ToolResult | None:
        return self._kept.get(self._key(tool, invocation, context))

    async def execute(self, tool: Tool, invocation: ToolInvocation, context: AgentContext) -> ToolResult:
        key = self._key(tool, invocation, context)
        if (kept := self._kept.get(key)) is not None:
            return kept
        result = await self._inner.execute(tool, invocation, context)
        if not result.success:
            return result
        kept = self._kept.setdefault(key, result)
        if len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return kept

    def forget(self, scope: str) -> None:
        """Forget the results of all scopes that begin like this."""
        self._kept = {key: result for key, result in self._kept.items() if not key.startswith(scope)}

    def _key(self, tool: Tool, invocation: ToolInvocation, context: AgentContext) -> str:
        scope = self._scope(context)
        if invocation.id is not None:
            return f"{scope}:{invocation.id}"
        return f"{scope}:{tool.definition.name}:{_digest(invocation)}"


def _digest(invocation: ToolInvocation) -> str:
    if not invocation.arguments:
        return "empty"
    pairs = [
        f"{name}={json.dumps(value, sort_keys=True, separators=(',', ':'))}"
        for name, value in sorted(invocation.arguments.items())
    ]
    return hashlib.sha256("&".join(pairs).encode()).hexdigest()[:16].upper()
