"""The vocabulary of tests of agents: a scripted model, tools that remember, and what a run told."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from engine.agent import (
    Agent,
    AgentRequest,
    AgentResult,
    AgentRun,
    AgentSettings,
    Progressed,
    ToolCall,
    ToolDefinition,
    ToolInvocation,
    ToolResult,
)
from engine.events import Event
from engine.llm import Completion, LlmClient
from tests.engine.deciding import FakeClient
from tests.engine.runs import VirtualClock

GOAL = "Research provider pricing"
DONE = "It is 5 EUR."


class Remembers:
    """A tool that gives these results in turn, the last one for ever; an exception is raised."""

    def __init__(self, name: str, *results: ToolResult | BaseException | str, **more: Any) -> None:
        self.definition = ToolDefinition(name=name, description=f"Does {name}.", **more)
        self.invocations: list[ToolInvocation] = []
        self._results = list(results) or ["done"]

    async def invoke(self, invocation: ToolInvocation) -> ToolResult:
        self.invocations.append(invocation)
        result = self._results.pop(0) if len(self._results) > 1 else self._results[0]
        if isinstance(result, BaseException):
            raise result
        return result if isinstance(result, ToolResult) else ToolResult(result)


def calls(*tools: str | tuple[str, object], content: str | None = None) -> Completion:
    """A reply that asks for these tools; arguments are text, or anything that is written as JSON."""
    asked = [(tool, {}) if isinstance(tool, str) else tool for tool in tools]
    written = [(name, given if isinstance(given, str) else json.dumps(given)) for name, given in asked]
    return Completion(
        content,
        "tool_calls",
        tool_calls=tuple(
            ToolCall(f"call_{number}", name, text) for number, (name, text) in enumerate(written)
        ),
    )


def agent(
    replies: Sequence[Any] | LlmClient = (DONE,), *, settings: dict[str, Any] | None = None, **parts: Any
) -> Agent:
    """An agent whose model gives these replies."""
    client = FakeClient(list(replies)) if isinstance(replies, Sequence) else replies
    parts.setdefault("clock", VirtualClock())
    return Agent(client=client, settings=AgentSettings(**(settings or {})), **parts)


def request(goal: str = GOAL, **more: Any) -> AgentRequest:
    return AgentRequest(goal, **more)


def start(made: Agent, asked: AgentRequest | None = None, **more: Any) -> tuple[AgentRun, list[Event]]:
    """A run, and the events it tells as they come."""
    told: list[Event] = []
    observers = [told.append, *more.pop("observers", ())]
    return made.start(asked or request(), observers=observers, **more), told


async def ended(made: Agent, asked: AgentRequest | None = None, **more: Any) -> AgentResult:
    """The result of a run that is driven to its end."""
    return await made.start(asked or request(), **more).finish()


async def events(made: Agent, asked: AgentRequest | None = None, **more: Any) -> list[Any]:
    """All that a run tells."""
    run, told = start(made, asked, **more)
    await run.finish()
    return told


def of(kind: type[Any], told: Iterable[Event]) -> list[Any]:
    """Those of one kind."""
    return [event for event in told if isinstance(event, kind)]


def names(told: Iterable[Event]) -> list[str]:
    """The kinds of what was told, without the lines for people."""
    return [type(event).__name__ for event in told if not isinstance(event, Progressed)]


def lines(told: Iterable[Event]) -> list[str]:
    """The lines for people."""
    return [event.line for event in of(Progressed, told)]


def client_of(made: Agent) -> FakeClient:
    """Its scripted model."""
    assert isinstance(made.client, FakeClient)
    return made.client
