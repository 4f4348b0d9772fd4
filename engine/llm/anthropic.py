"""Any endpoint that speaks the messages dialect of Anthropic."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import ClassVar, Final

from engine.http import Heard
from engine.llm import Completion, Message, Request
from engine.llm.endpoint import Document, Endpoint, Folding, count_of, object_of, objects_of, text_of

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
        return {
            "model": request.model or self.model,
            "max_tokens": MAX_TOKENS if request.max_tokens is None else request.max_tokens,
            "temperature": request.temperature,
            **({"system": "\n\n".join(system)} if system else {}),
            "messages": _turns(request.messages),
        }

    def _folding(self) -> Folding:
        return _Events()

    def _completion(self, document: Document) -> Completion | None:
        if not isinstance(document.get("content"), list):
            return None
        blocks = [b for b in objects_of(document.get("content")) if b.get("type") == "text"]
        content = "".join(text_of(block.get("text")) or "" for block in blocks)
        reason, usage = text_of(document.get("stop_reason")), object_of(document.get("usage"))
        return Completion(
            content=content,
            finish_reason=_FINISH.get(reason, reason) if reason else None,
            refusal=(content or reason) if reason == "refusal" else None,
            input_tokens=_input_tokens(usage),
            output_tokens=count_of(usage.get("output_tokens")),
            model=text_of(document.get("model")),
            response_id=text_of(document.get("id")),
        )


class _Events(Folding):
    """Usage is told at the beginning and again at the end; the later number counts."""

    def __init__(self) -> None:
        self._message: dict[str, object] = {}
        self._usage: dict[str, object] = {}
        self._texts: dict[object, list[str]] = {}

    @property
    def document(self) -> Document:
        content = [{"type": "text", "text": "".join(texts)} for texts in self._texts.values()]
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
        if part.get("type") not in ("text", "text_delta"):
            return "progress" if part.get("type") == "input_json_delta" else "nothing"
        text = text_of(part.get("text")) or ""
        self._texts.setdefault(event.get("index"), []).append(text)
        return "progress" if text else "nothing"

    def _count(self, event: Document) -> None:
        usage = object_of(event.get("usage"))
        self._usage |= {name: count for name, count in usage.items() if count is not None}


def _turns(messages: Sequence[Message]) -> list[Document]:
    """The conversation as this dialect wants it: turn by turn, the person first, nothing empty."""
    said = [(m.role == "assistant", m.content) for m in messages if m.role != "system" and m.content.strip()]
    turns = [
        ("assistant" if by_model else "user", "\n\n".join(content for _, content in group))
        for by_model, group in groupby(said, key=lambda one: one[0])
    ]
    if turns and turns[0][0] == "assistant":
        turns.insert(0, ("user", _BEGUN))
    return [{"role": role, "content": content} for role, content in turns]


_BEGUN: Final = "(The beginning of this conversation was left out.)"


def _input_tokens(usage: Document) -> int | None:
    """All that was read: what is in the cache, or goes there, is counted apart."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [count for name in names if (count := count_of(usage.get(name))) is not None]
    return sum(counts) if counts else None
