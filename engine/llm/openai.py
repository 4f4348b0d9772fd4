"""Any endpoint that speaks the chat completions dialect of OpenAI."""

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias, Unpack

from engine.http import Heard
from engine.llm import CallingMessage, Completion, Message, Request, ToolCall, ToolMessage
from engine.llm.endpoint import (
    Document,
    Endpoint,
    Folding,
    Options,
    call_of,
    count_of,
    object_of,
    objects_of,
    text_of,
)

Structured: TypeAlias = Literal["json_schema", "json_object", "prompt"]
"""How a reply is held to its form: by a schema, to some JSON object, or by the words of the prompt alone."""


class OpenAiClient(Endpoint):
    """``base_url`` is the part before ``/chat/completions``; the key is sent as a bearer token.

    An endpoint that cannot hold a reply to its form as asked refuses the request; nothing less is tried.
    """

    provider: ClassVar = "openai-chat"
    path: ClassVar = "/chat/completions"

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        structured: Structured = "prompt",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(base_url, model, key, **options)
        self._structured = structured

    def _authorization(self, key: str | None) -> Mapping[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def _payload(self, request: Request) -> Document:
        payload: dict[str, object] = {
            "messages": [_sent(message) for message in request.messages],
            "temperature": request.temperature,
        }
        if model := request.model or self.model:
            payload["model"] = model
        if request.max_tokens is not None:
            payload["max_tokens"] = request.max_tokens
        if request.tools:
            payload["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in request.tools
            ]
        # A reply that is none of some answers has no form it could be held to.
        structured = self._structured if request.answers else "prompt"
        if structured == "json_object":
            payload["response_format"] = {"type": "json_object"}
        elif structured == "json_schema":
            payload["response_format"] = {"type": "json_schema", "json_schema": _schema(request.answers)}
        if self._stream:
            payload["stream_options"] = {"include_usage": True}
        return payload

    def _folding(self) -> Folding:
        return _Chunks()

    def _completion(self, document: Document) -> Completion | None:
        choices = objects_of(document.get("choices"))
        if not choices:
            return None
        message = object_of(choices[0].get("message"))
        content, refusal = _said(message)
        usage = object_of(document.get("usage"))
        return Completion(
            content=content,
            finish_reason=text_of(choices[0].get("finish_reason")),
            refusal=refusal or None,
            input_tokens=count_of(usage.get("prompt_tokens")),
            output_tokens=count_of(usage.get("completion_tokens")),
            model=text_of(document.get("model")),
            response_id=text_of(document.get("id")),
            tool_calls=_calls(message),
        )


class _Chunks(Folding):
    """Of several choices the first counts. What is said once (id, model, usage) counts as said last."""

    def __init__(self) -> None:
        self._members: dict[str, object] = {}
        self._choice: dict[str, object] = {}
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}

    @property
    def document(self) -> Document:
        message = {
            "content": "".join(self._content),
            "refusal": "".join(self._refusal),
            "tool_calls": [
                {"index": index, "id": call["id"], "function": call}
                for index, call in sorted(self._calls.items())
            ],
        }
        return {**self._members, "choices": [{**self._choice, "message": message}] if self._choice else []}

    def take(self, event: Document) -> Heard:
        self._members |= {name: event[name] for name in ("id", "model", "usage") if event.get(name)}
        choice = next((c for c in objects_of(event.get("choices")) if not c.get("index")), None)
        if choice is None:
            return "nothing"
        delta, reason = object_of(choice.get("delta")), choice.get("finish_reason")
        content, refusal = _said(delta)
        self.text = content or ""
        self._content.append(self.text)
        self._refusal.append(refusal or "")
        self._choice["finish_reason"] = reason or self._choice.get("finish_reason")
        self.complete = self.complete or bool(reason)
        for part in objects_of(delta.get("tool_calls")):
            self._call(part)
        return "progress" if content or refusal or reason or delta.get("tool_calls") else "nothing"

    def _call(self, part: Document) -> None:
        """One more piece of a call; a piece that says no place has an id where a call begins."""
        index = count_of(part.get("index"))
        if index is None:
            index = max(self._calls, default=-1) + (1 if part.get("id") or not self._calls else 0)
        call = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        function = object_of(part.get("function"))
        call["id"] = call["id"] or text_of(part.get("id")) or ""
        call["name"] = call["name"] or text_of(function.get("name")) or ""
        call["arguments"] += text_of(function.get("arguments")) or ""


def _said(message: Document) -> tuple[str | None, str | None]:
    """Content and refusal of a message; content may come in parts, some of which may be refusals."""
    content, refusal = message.get("content"), text_of(message.get("refusal"))
    if isinstance(content, list):
        parts = objects_of(content)
        refusal = refusal or "".join(text_of(part.get("refusal")) or "" for part in parts)
        return "".join(text_of(part.get("text")) or "" for part in parts), refusal
    return text_of(content), refusal


def _sent(message: Message) -> Document:
    sent: dict[str, object] = {"role": message.role, "content": message.content}
    match message:
        case CallingMessage():
            sent["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in message.tool_calls
            ]
        case ToolMessage():
            sent["tool_call_id"] = message.call_id
    return sent


def _calls(message: Document) -> tuple[ToolCall, ...]:
    return tuple(
        call_of(
            number if (index := count_of(call.get("index"))) is None else index,
            call.get("id"),
            object_of(call.get("function")).get("name"),
            object_of(call.get("function")).get("arguments"),
        )
        for number, call in enumerate(objects_of(message.get("tool_calls")))
    )


def _schema(answers: tuple[str, ...]) -> dict[str, object]:
    members = {
        "answer": {"type": "string", "enum": list(answers)} if answers else {"type": "string"},
        "observation": {"type": "string"},
        "confidence": {"type": "string"},
    }
    schema = {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }
    return {"name": "decision", "strict": True, "schema": schema}
