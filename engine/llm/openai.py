"""Any endpoint that speaks the chat completions dialect of OpenAI."""

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias, Unpack

from engine.http import Heard
from engine.llm import Completion, Request
from engine.llm.endpoint import (
    Document,
    Endpoint,
    Folding,
    Options,
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
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": request.temperature,
        }
        if model := request.model or self.model:
            payload["model"] = model
        if request.max_tokens is not None:
            payload["max_tokens"] = request.max_tokens
        if self._structured == "json_object":
            payload["response_format"] = {"type": "json_object"}
        elif self._structured == "json_schema":
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
        content, refusal = _said(object_of(choices[0].get("message")))
        usage = object_of(document.get("usage"))
        return Completion(
            content=content,
            finish_reason=text_of(choices[0].get("finish_reason")),
            refusal=refusal or None,
            input_tokens=count_of(usage.get("prompt_tokens")),
            output_tokens=count_of(usage.get("completion_tokens")),
            model=text_of(document.get("model")),
            response_id=text_of(document.get("id")),
        )


class _Chunks(Folding):
    """Of several choices the first counts. What is said once (id, model, usage) counts as said last."""

    def __init__(self) -> None:
        self._members: dict[str, object] = {}
        self._choice: dict[str, object] = {}
        self._content: list[str] = []
        self._refusal: list[str] = []

    @property
    def document(self) -> Document:
        message = {"content": "".join(self._content), "refusal": "".join(self._refusal)}
        return {**self._members, "choices": [{**self._choice, "message": message}] if self._choice else []}

    def take(self, event: Document) -> Heard:
        self._members |= {name: event[name] for name in ("id", "model", "usage") if event.get(name)}
        choice = next((c for c in objects_of(event.get("choices")) if not c.get("index")), None)
        if choice is None:
            return "nothing"
        delta, reason = object_of(choice.get("delta")), choice.get("finish_reason")
        content, refusal = _said(delta)
        self._content.append(content or "")
        self._refusal.append(refusal or "")
        self._choice["finish_reason"] = reason or self._choice.get("finish_reason")
        self.complete = self.complete or bool(reason)
        return "progress" if content or refusal or reason or delta.get("tool_calls") else "nothing"


def _said(message: Document) -> tuple[str | None, str | None]:
    """Content and refusal of a message; content may come in parts, some of which may be refusals."""
    content, refusal = message.get("content"), text_of(message.get("refusal"))
    if isinstance(content, list):
        parts = objects_of(content)
        refusal = refusal or "".join(text_of(part.get("refusal")) or "" for part in parts)
        return "".join(text_of(part.get("text")) or "" for part in parts), refusal
    return text_of(content), refusal


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
