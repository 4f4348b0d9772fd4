"""Any endpoint that speaks the messages dialect of Anthropic."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import ClassVar, Final

from engine.http import Heard
from engine.llm import CallingMessage, Completion, Message, Request, ToolMessage
from engine.llm.endpoint import (
    Document,
    Endpoint,
    Folding,
    call_of,
    count_of,
    object_of,
    objects_of,
    text_of,
)

VERSION: Final = "2023-06-01"

MAX_TOKENS: Final = 1024
"""The limit of a reply when the request names none; this dialect cannot do without one."""

_FINISH: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}


class AnthropicClient(Endpoint):
    """``base_url`` is the part before ``/messages``. The form of a reply is asked for by the prompt alone."""

    provider: ClassVar = "anthropic-messages"
    path: ClassVar = "/messages"

    def _authorization(self, key: str | None) -> Mapping[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}

    def _payload(self, request: Request) -> Document:
        # Every question of a run brings its system message; saying it once is enough.
        system = dict.fromkeys(
            m.content for m in request.messages if m.role == "system" and m.content.strip()
        )
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        return {
            "model": request.model or self.model,
            "max_tokens": MAX_TOKENS if request.max_tokens is None else request.max_tokens,
            "temperature": request.temperature,
            **({"system": "\n\n".join(system)} if system else {}),
            "messages": _turns(request.messages),
            **({"tools": tools} if tools else {}),
        }

    def _folding(self) -> Folding:
        return _Events()

    def _completion(self, document: Document) -> Completion | None:
        if not isinstance(document.get("content"), list):
            return None
        blocks = objects_of(document.get("content"))
        content = "".join(text_of(block.get("text")) or "" for block in blocks if block.get("type") == "text")
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        reason, usage = text_of(document.get("stop_reason")), object_of(document.get("usage"))
        return Completion(
            content=content,
            finish_reason=_FINISH.get(reason, reason) if reason else None,
            refusal=(content or reason) if reason == "refusal" else None,
            input_tokens=_input_tokens(usage),
            output_tokens=count_of(usage.get("output_tokens")),
            model=text_of(document.get("model")),
            response_id=text_of(document.get("id")),
            tool_calls=tuple(
                call_of(index, call.get("id"), call.get("name"), call.get("input"))
                for index, call in enumerate(calls)
            ),
        )


class _Events(Folding):
    """Usage is told at the beginning and again at the end; the later number counts."""

    def __init__(self) -> None:
        self._message: dict[str, object] = {}
        self._usage: dict[str, object] = {}
        self._blocks: dict[object, dict[str, object]] = {}
        self._pieces: dict[object, list[str]] = {}

    @property
    def document(self) -> Document:
        content = [
            {**block, "text" if block["type"] == "text" else "input": "".join(self._pieces[index])}
            for index, block in self._blocks.items()
        ]
        return {**self._message, "usage": self._usage, "content": content}

    def take(self, event: Document) -> Heard:
        match event.get("type"):
            case "message_start":
                message = object_of(event.get("message"))
                self._message |= {name: message.get(name) for name in ("id", "model")}
                self._count(message)
            case "content_block_start":
                return self._say(event, object_of(event.get("content_block")))
            case "content_block_delta":
                return self._say(event, object_of(event.get("delta")))
            case "message_delta":
                self._count(event)
                reason = object_of(event.get("delta")).get("stop_reason")
                if reason:
                    self._message["stop_reason"], self.complete = reason, True
                    return "progress"
            case "message_stop":
                self.complete = True
                return "end"
        return "nothing"

    def _say(self, event: Document, part: Document) -> Heard:
        """A block that begins, or a piece of one. The input of a tool comes as pieces of JSON text."""
        index, kind = event.get("index"), part.get("type")
        match kind:
            case "text" | "text_delta":
                self.text = piece = text_of(part.get("text")) or ""
                self._blocks.setdefault(index, {"type": "text"})
            case "tool_use":
                piece = ""
                self._blocks[index] = {name: part.get(name) for name in ("type", "id", "name")}
            case "input_json_delta":
                piece = text_of(part.get("partial_json")) or ""
            case _:
                return "nothing"
        self._pieces.setdefault(index, []).append(piece)
        return "progress" if piece or kind in ("tool_use", "input_json_delta") else "nothing"

    def _count(self, event: Document) -> None:
        usage = object_of(event.get("usage"))
        self._usage |= {name: count for name, count in usage.items() if count is not None}


def _turns(messages: Sequence[Message]) -> list[Document]:
    """The conversation as this dialect wants it: turn by turn, the person first, nothing empty."""
    said = [
        (m.role == "assistant", parts) for m in messages if m.role != "system" and (parts := [*_parts(m)])
    ]
    turns: list[Document] = [
        {
            "role": "assistant" if by_model else "user",
            "content": _joined([part for _, parts in group for part in parts]),
        }
        for by_model, group in groupby(said, key=lambda one: one[0])
    ]
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": _BEGUN})
    return turns


def _parts(message: Message) -> Iterable[Document]:
    if isinstance(message, ToolMessage):
        yield {"type": "tool_result", "tool_use_id": message.call_id, "content": message.content}
        return
    if message.content.strip():
        yield {"type": "text", "text": message.content}
    if isinstance(message, CallingMessage):
        for call in message.tool_calls:
            yield {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}


def _joined(parts: Sequence[Document]) -> str | Sequence[Document]:
    """The parts of one turn: where they are texts alone, one text."""
    texts = [str(part["text"]) for part in parts if part["type"] == "text"]
    return "\n\n".join(texts) if len(texts) == len(parts) else parts


def _input(arguments: str) -> Document:
    """The arguments of a call as this dialect wants them back: an object in any case."""
    try:
        return object_of(json.loads(arguments))
    except (ValueError, RecursionError):
        return {}


_BEGUN: Final = "(The beginning of this conversation was left out.)"


def _input_tokens(usage: Document) -> int | None:
    """All that was read: what is in the cache, or goes there, is counted apart."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [count for name in names if (count := count_of(usage.get(name))) is not None]
    return sum(counts) if counts else None
