"""What all endpoints have in common: one address, one request at a time, one table of failures.

A dialect says what a request looks like and how an answer is read. The events of a stream are folded into
the document that a whole reply would have been, so both are read by the same code.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final, Literal, TypeAlias, TypedDict
from urllib.parse import urlsplit, urlunsplit

from engine.errors import LlmError
from engine.http import Connections, Heard, HttpReply
from engine.llm import Completion, Request, ToolCall
from engine.llm.failures import is_transient_status

Document: TypeAlias = Mapping[str, object]
"""A JSON object as it came."""


class Folding(ABC):
    """The events of one stream, folded into the document a whole reply would have been."""

    complete = False
    """Whether the events so far are a whole answer by the dialect's own rules."""

    text = ""
    """The content of the event that was taken last."""

    @property
    @abstractmethod
    def document(self) -> Document:
        """What they say."""

    @abstractmethod
    def take(self, event: Document) -> Heard:
        """Fold one more event in."""


class Options(TypedDict, total=False):
    """What every endpoint can be told; see :class:`Endpoint`."""

    stream: bool
    total_deadline: float
    idle_deadline: float
    failures: Mapping[str, Literal["transient", "permanent"]]


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

# What may be named of what an endpoint says it sent.
_KINDS: Final = ("text/html", "text/plain", "text/event-stream", "application/x-ndjson", "application/xml")

# The status an error inside a good reply would have had, by the endpoint's word for it.
_STATUS_OF: Final = {
    "api_error": 500,
    "authentication_error": 401,
    "billing_error": 402,
    "content_filter": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "insufficient_quota": 429,
    "internal_server_error": 500,
    "invalid_api_key": 401,
    "invalid_request_error": 400,
    "model_not_found": 404,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "server_error": 500,
    "timeout_error": 504,
    "unavailable_error": 503,
}


class Endpoint(ABC):
    """One endpoint and the model asked there unless a request names another.

    ``base_url`` is the part before the dialect's own path; without a path, ``/v1`` is meant. ``LlmError``
    when it is no such address. The key is sent in a header and shown nowhere.

    With ``stream`` the answer is asked for piece by piece: a model that falls silent is given up after the
    idle deadline, and an answer that breaks off is a failure, never a partial answer. Deadlines are in
    seconds. ``failures`` says which failures are worth a try with the next model, by the endpoint's own
    code or else by status; a status that is permanent stays so.
    """

    provider: ClassVar[str]
    path: ClassVar[str]

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        *,
        stream: bool = False,
        total_deadline: float = 60.0,
        idle_deadline: float = 30.0,
        failures: Mapping[str, Literal["transient", "permanent"]] | None = None,
    ) -> None:
        try:
            parts = urlsplit(base_url.strip())
            host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
            place = f"{host}:{parts.port}" if parts.port else host
        except ValueError:
            place = None
        if not place or re.search(r"\s", place) or parts.scheme not in ("http", "https"):
            message = "The address of a model must start with http:// or https:// and name a host."
            raise LlmError(message, kind="request", transient=False)
        path = parts.path.rstrip("/") or "/v1"
        self.endpoint = f"{parts.scheme}://{place}{path}"
        self.model = model
        self._url = urlunsplit(parts._replace(path=f"{path}{self.path}", fragment=""))
        self._headers = self._authorization(key)
        self._stream = stream
        self._deadlines = total_deadline, idle_deadline
        self._failures = {name.lower(): kind for name, kind in (failures or {}).items()}
        self._connections = Connections()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint!r}, {self.model!r})"

    async def complete(self, request: Request) -> Completion:
        """Ask once."""
        payload, (total, idle) = self._payload(request), self._deadlines
        folding = self._folding() if self._stream else None
        reply = await self._connections.post_json(
            self._url,
            {**payload, "stream": True} if folding else payload,
            self._headers,
            total_deadline=total if request.total_deadline is None else request.total_deadline,
            idle_deadline=idle if request.idle_deadline is None else request.idle_deadline,
            listener=partial(self._hear, folding, request.on_text) if folding else None,
        )
        document = _json(reply.body)
        if not 200 <= reply.status <= 299:
            raise self._refused(reply.status, document.get("error"), reply.retry_after)
        if folding and not reply.body:
            if not folding.complete:
                raise self._unreadable("ended its answer before it was complete")
            document = folding.document
        if not document:
            raise self._unreadable(f"sent {_kind(reply)} where JSON was expected")
        if error := document.get("error"):
            raise self._refused(_inner_status(error), error, reply.retry_after)
        completion = self._completion(document)
        if completion is None:
            raise self._unreadable("sent a reply without an answer")
        return completion

    async def close(self) -> None:
        """Give back connections."""
        await self._connections.close()

    @abstractmethod
    def _authorization(self, key: str | None) -> Mapping[str, str]:
        """The headers that go with every request."""

    @abstractmethod
    def _payload(self, request: Request) -> Document:
        """The body of a request for a whole reply."""

    @abstractmethod
    def _folding(self) -> Folding:
        """What the events of a new stream are folded with."""

    @abstractmethod
    def _completion(self, document: Document) -> Completion | None:
        """What a reply says; None when there is no answer in it at all."""

    def _hear(self, folding: Folding, on_text: Callable[[str], None] | None, name: str, data: str) -> Heard:
        if data.strip() == "[DONE]":
            folding.complete = True
            return "end"
        event = _json(data.encode())
        if name == "error" or event.get("error"):
            error = event.get("error") or event
            raise self._refused(_inner_status(error), error)
        if not event:
            raise self._unreadable("sent an event that is no JSON object")
        folding.text = ""
        heard = folding.take(event)
        if on_text and folding.text:
            on_text(folding.text)
        return heard

    def _refused(self, status: int | None, error: object, retry_after: float | None = None) -> LlmError:
        code = _code(error)
        what = f"HTTP {status}: {_HINTS.get(status) or _HINTS.get(status // 100)}" if status else "an error"
        configured = self._failures.get((code or "").lower()) or self._failures.get(str(status))
        transient = status is None or is_transient_status(status)
        if transient and configured:
            transient = configured == "transient"
        return LlmError(
            f"{self.endpoint} answered with {what}{f' ({code})' if code else ''}.",
            kind="status",
            transient=transient,
            status=status,
            retry_after=retry_after,
        )

    def _unreadable(self, what: str) -> LlmError:
        return LlmError(f"{self.endpoint} {what}.", kind="protocol", transient=True)


def text_of(value: object) -> str | None:
    """A text of a reply, or None for anything else."""
    # Half a surrogate pair is legal in JSON and in no file: nothing behind this door should meet one.
    return value.encode(errors="replace").decode() if isinstance(value, str) else None


def count_of(value: object) -> int | None:
    """A number of tokens; an endpoint that reports nonsense has reported nothing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None


def object_of(value: object) -> Document:
    """A JSON object of a reply, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects_of(value: object) -> Sequence[Document]:
    """The JSON objects of a list of a reply."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def call_of(index: int, id_: object, name: object, arguments: object) -> ToolCall:
    """One call of a reply, by its place there; arguments may come as JSON text or as what it says."""
    written = "" if arguments is None else text_of(arguments)
    return ToolCall(
        text_of(id_) or f"call_{index}",
        text_of(name) or f"unknown_{index}",
        json.dumps(arguments) if written is None else written,
    )


def _json(data: bytes) -> Document:
    try:
        return object_of(json.loads(data.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return {}


def _kind(reply: HttpReply) -> str:
    kind = reply.content_type.partition(";")[0].strip().lower()
    return kind if kind in _KINDS else "something else"


def _inner_status(error: object) -> int | None:
    """The status an error would have had outside a good reply, where it says so."""
    for word in (object_of(error).get(name) for name in ("code", "status", "type")):
        if isinstance(word, str) and re.fullmatch(r"[45]\d\d", word, re.ASCII):
            return int(word)
        if isinstance(word, int) and 400 <= word <= 599:
            return word
        if isinstance(word, str) and word.lower() in _STATUS_OF:
            return _STATUS_OF[word.lower()]
    return None


def _code(error: object) -> str | None:
    """The endpoint's own word for what went wrong; its sentences may quote a key or a prompt."""
    words = (object_of(error).get(name) for name in ("code", "type"))
    return next((w for w in words if isinstance(w, str) and re.fullmatch(r"[a-zA-Z_]{3,60}", w)), None)
