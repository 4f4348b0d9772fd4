"""The conversation of one run and what of it fits into a request."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Protocol

from engine.data import DataSnapshot, truncated
from engine.llm import Message
from engine.tree import ClassifyNode, Tree, fill
from engine.values import quick_to_make

SYSTEM_PROMPT: Final = (
    "Choose exactly one allowed answer. "
    "Reply with nothing but a JSON object: its members are answer, observation, confidence."
)
"""What a tree without a system prompt of its own tells the model."""

RETRY: Final = "Use valid JSON and give exactly one allowed answer."
"""What a model is told after a reply that could not be used."""

MAX_PROPERTIES: Final = 50
MAX_NAME_LENGTH: Final = 256
MAX_VALUE_LENGTH: Final = 1000

_CHARACTERS_PER_TOKEN: Final = 4


@quick_to_make
@dataclass(frozen=True, slots=True)
class Prepared:
    """The messages to send, their estimated tokens, and how many were left out."""

    messages: Sequence[Message] = field(repr=False)
    tokens: int
    dropped: int


class Conversation(Protocol):
    """All messages of one run. An own one must hand back the very message objects it was given."""

    def add(self, *messages: Message) -> None:
        """Append messages."""
        ...

    def messages(self) -> Sequence[Message]:
        """Every message so far."""
        ...

    def prepare(self, max_tokens: int) -> Prepared:
        """What of the conversation fits into a request of at most this many estimated tokens."""
        ...


class ContextBuilder(Protocol):
    """Turns a classify node and what the run knows into the messages that ask the question."""

    def __call__(
        self,
        tree: Tree,
        node: ClassifyNode,
        properties: Mapping[str, object],
        data: DataSnapshot,
        parameters: Mapping[str, str],
    ) -> Sequence[Message]:
        """The messages; at least one must be a user message."""
        ...


def context_exceeded(max_tokens: int) -> str:
    """Why a question was not asked: what had to be said did not fit into the request."""
    limit = f"MaxContextTokens ({max_tokens})"
    return f"Classification context exceeded {limit}; the required user input was omitted."


NO_USER_MESSAGE: Final = "The context builder made no user message, so nothing was asked."
"""Why a question was not asked: there was nothing to send."""


def estimate_tokens(messages: Iterable[Message]) -> int:
    """The estimated size of messages in tokens: a quarter of their characters (code points)."""
    return sum(map(_size, messages)) // _CHARACTERS_PER_TOKEN


class SlidingConversation:
    """The default: a request carries the newest messages that fit, whole and in order.

    A system message at the very beginning is always carried, even when it alone is too long.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def add(self, *messages: Message) -> None:
        self._messages.extend(messages)

    def messages(self) -> Sequence[Message]:
        return tuple(self._messages)

    def prepare(self, max_tokens: int) -> Prepared:
        tokens = estimate_tokens(self._messages)
        if tokens <= max_tokens:
            return Prepared(self.messages(), tokens, 0)
        keeps_first = self._messages[0].role == "system"
        first, rest = self._messages[:keeps_first], self._messages[keeps_first:]
        room = max_tokens * _CHARACTERS_PER_TOKEN - sum(map(_size, first))
        start = len(rest)
        while start and _size(rest[start - 1]) <= room:
            start -= 1
            room -= _size(rest[start])
        kept = (*first, *rest[start:])
        return Prepared(kept, estimate_tokens(kept), start)


def build_context(
    tree: Tree,
    node: ClassifyNode,
    properties: Mapping[str, object],
    data: DataSnapshot,
    parameters: Mapping[str, str],
) -> Sequence[Message]:
    """The default messages: the tree's system prompt or ours, and the question in five labelled lines.

    Data is shown as the data policy bounded it. Of the state at most 50 properties are shown, in the order
    they were set, names cut to 256 and values to 1,000 characters.
    """
    task = fill(tree.task or "", parameters)
    items = ", ".join(
        f"{item.shown_id} [{item.shown_type}] from {item.shown_source}: {item.content}" for item in data.items
    )
    system = tree.system_prompt
    return (
        Message("system", system if system and system.strip() else SYSTEM_PROMPT),
        Message(
            "user",
            f"Task: {task if task.strip() else '(not supplied)'}\n"
            f"Classification task: {fill(node.task or '', parameters)}\n"
            f"Allowed answers: {', '.join(node.answers or ())}\n"
            f"State: {_shown(properties) or 'none'}\n"
            f"Data: {items or 'none'}",
        ),
    )


def _shown(properties: Mapping[str, object]) -> str:
    pairs = [
        f"{truncated(name, MAX_NAME_LENGTH, 'name')}={truncated(_text(value), MAX_VALUE_LENGTH, 'value')}"
        for name, value in islice(properties.items(), MAX_PROPERTIES)
    ]
    left_out = len(properties) - len(pairs)
    return ", ".join([*pairs, f"[{left_out} more omitted]"] if left_out else pairs)


def _text(value: object) -> str:
    return "null" if value is None else str(value)


def _size(message: Message) -> int:
    return len(message.content) + len(message.role) + 4
