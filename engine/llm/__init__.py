"""Asking a language model: messages in, one completion out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from engine.tools import ToolDefinition
from engine.values import quick_to_make

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@quick_to_make
@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One message of a conversation. Two messages are the same only when they are one object."""

    role: Role
    content: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool a model asks for, with the arguments as it wrote them, which may be no JSON at all."""

    id: str
    name: str
    arguments: str = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class CallingMessage(Message):
    """What a model said together with the tools it called, one at least."""

    tool_calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ToolMessage(Message):
    """What came of one call of a tool, by the call's id."""

    call_id: str


@quick_to_make
@dataclass(frozen=True, slots=True)
class Completion:
    """What a model returned. Token counts are None when the provider reported none."""

    content: str | None = field(repr=False)
    finish_reason: str | None = None
    refusal: str | None = field(default=None, repr=False)
    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None
    response_id: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()


@quick_to_make
@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked. Without a model the client's own is meant, and so it is with deadlines.

    Deadlines are in seconds. ``on_text`` is told each piece of the content as it comes, by a client that
    streams; what it raises ends the request.
    """

    messages: Sequence[Message] = field(repr=False)
    model: str | None = None
    temperature: float = 0.1
    max_tokens: int | None = None
    answers: tuple[str, ...] = field(default=(), repr=False)
    """The allowed answers, for endpoints that can hold a model to a schema."""
    tools: tuple[ToolDefinition, ...] = field(default=(), repr=False)
    total_deadline: float | None = None
    idle_deadline: float | None = None
    on_text: Callable[[str], None] | None = field(default=None, repr=False, compare=False)


class LlmClient(Protocol):
    """One endpoint."""

    @property
    def provider(self) -> str:
        """A short name of the kind of endpoint, for records."""
        ...

    @property
    def endpoint(self) -> str:
        """Its base address without credentials, query or fragment."""
        ...

    @property
    def model(self) -> str:
        """The model it asks when a request names none."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Ask once. Raises :class:`engine.errors.LlmError`."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
