"""Any endpoint that speaks the chat completions dialect of OpenAI, asked for one whole reply at a time."""

import json
import os
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from engine.errors import LlmError
from engine.http import Connections, HttpReply
from engine.llm import Completion, Request
from engine.llm.failures import is_transient_status

Structured: TypeAlias = Literal["json_schema", "json_object", "prompt"]
"""How a reply is held to its form: by a schema, to some JSON object, or by the words of the prompt alone."""

# By status, else by its first digit.
_HINTS: Final = {
    3: "redirects are not followed",
    4: "the request was refused",
    5: "the endpoint failed",
    401: "the key was not accepted",
    402: "the account has no credit",
    403: "access was refused",
    404: "there is no such address or model",
    413: "the request is too large",
    429: "too many requests",
}


def key_from(variable: str) -> str:
    """The key an environment variable holds; ``LlmError`` naming the variable when it holds none."""
    key = os.environ.get(variable, "").strip()
    if not key:
        message = f"The environment variable {variable} holds no key."
        raise LlmError(message, kind="request", transient=False)
    return key


class OpenAiClient:
    """One endpoint and the model asked there unless a request names another.

    ``base_url`` is the part before ``/chat/completions``; without a path, ``/v1`` is meant. ``LlmError``
    when it is no such address. The key is sent as a bearer token and shown nowhere.
    """

    provider: Final = "openai-chat"

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        structured: Structured = "prompt",
        *,
        total_deadline: float = 60.0,
        idle_deadline: float = 30.0,
    ) -> None:
        try:
            parts = urlsplit(base_url.strip())
            host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
            place = f"{host}:{parts.port}" if parts.port else host
        except ValueError:
            place = None
        if not place or parts.scheme not in ("http", "https"):
            message = "The address of a model must start with http:// or https:// and name a host."
            raise LlmError(message, kind="request", transient=False)
        path = parts.path.rstrip("/") or "/v1"
        self.endpoint = f"{parts.scheme}://{place}{path}"
        self.model = model
        self._url = urlunsplit(parts._replace(path=f"{path}/chat/completions", fragment=""))
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._structured = structured
        self._deadlines = total_deadline, idle_deadline
        self._connections = Connections()

    def __repr__(self) -> str:
        return f"OpenAiClient({self.endpoint!r}, {self.model!r})"

    async def complete(self, request: Request) -> Completion:
        """Ask once."""
        total, idle = self._deadlines
        reply = await self._connections.post_json(
            self._url, self._payload(request), self._headers, total_deadline=total, idle_deadline=idle
        )
        if not 200 <= reply.status <= 299:
            raise self._refused(reply.status, _json(reply).get("error"), reply.retry_after)
        answer = _json(reply)
        if not answer:
            raise self._unreadable(f"sent {_kind(reply)} where JSON was expected")
        if error := answer.get("error"):
            raise self._refused(_inner_status(error), error, reply.retry_after)
        choices = answer.get("choices")
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            raise self._unreadable("sent a reply without choices")
        return _completion(answer, choices[0])

    async def close(self) -> None:
        """Give back connections."""
        await self._connections.close()

    def _payload(self, request: Request) -> dict[str, object]:
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
        return payload

    def _refused(self, status: int | None, error: object, retry_after: int | None) -> LlmError:
        status_hint = (
            f"HTTP {status}: {_HINTS.get(status) or _HINTS.get(status // 100)}" if status else "an error"
        )
        code = _code(error)
        message = f"{self.endpoint} answered with {status_hint}{f' ({code})' if code else ''}."
        transient = status is None or is_transient_status(status)
        return LlmError(message, kind="status", transient=transient, status=status, retry_after=retry_after)

    def _unreadable(self, what: str) -> LlmError:
        return LlmError(f"{self.endpoint} {what}.", kind="protocol", transient=True)


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


def _json(reply: HttpReply) -> Mapping[str, object]:
    try:
        value = json.loads(reply.body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _kind(reply: HttpReply) -> str:
    kind = re.match(r"[a-z]+/[a-z0-9.+-]+", reply.content_type.lower())
    return kind[0] if kind and "json" not in kind[0] else "something else"


def _inner_status(error: object) -> int | None:
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code, re.ASCII):
        code = int(code)
    return code if isinstance(code, int) and 400 <= code <= 599 else None


def _code(error: object) -> str | None:
    """The endpoint's own word for what went wrong; its sentences may quote a key or a prompt."""
    if isinstance(error, dict):
        for name in ("code", "type"):
            word = error.get(name)
            if isinstance(word, str) and re.fullmatch(r"[a-zA-Z_]{3,60}", word):
                return word
    return None


def _completion(answer: Mapping[str, object], choice: Mapping[str, object]) -> Completion:
    message, usage = choice.get("message"), answer.get("usage")
    message = message if isinstance(message, dict) else {}
    usage = usage if isinstance(usage, dict) else {}
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        refusal = refusal or "".join(filter(None, (_text(part.get("refusal")) for part in parts)))
        content = "".join(filter(None, (_text(part.get("text")) for part in parts)))
    return Completion(
        content=_text(content),
        finish_reason=_text(choice.get("finish_reason")),
        refusal=_text(refusal) or None,
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        model=_text(answer.get("model")),
        response_id=_text(answer.get("id")),
    )


def _text(value: object) -> str | None:
    # Half a surrogate pair is legal in JSON and in no file: nothing behind this door should meet one.
    return value.encode(errors="replace").decode() if isinstance(value, str) else None


def _count(value: object) -> int | None:
    """A number of tokens; an endpoint that reports nonsense has reported nothing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None
