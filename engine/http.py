"""The one door to the network: JSON asked of an endpoint, with deadlines and a cap on what comes back."""

import asyncio
import json
import logging
import re
import ssl
import sys
import threading
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from engine.errors import LlmError

if TYPE_CHECKING:
    from types import ModuleType

    import httpx

CONNECT_DEADLINE: Final = 10.0
"""Seconds to get a connection; a dead host should not use up the whole deadline of a request."""

MAX_BYTES: Final = 4 * 1024 * 1024

# The work of an httpx client grows with the square of its connections: each has one.
_MOST_CLIENTS: Final = 1000

# Seconds a stream that has said all is given to end, so that its connection can be used again.
_GRACE: Final = 0.1

Heard: TypeAlias = Literal["nothing", "progress", "end"]
"""What an event of a stream means: a sign of life only, a part of the answer, or that all has been said."""

Listener: TypeAlias = Callable[[str, str], Heard]
"""Is told the name and the data of each event of a stream, and says what it means."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back, whatever its status; without a body where a listener was told its events.

    ``retry_after`` is in seconds, as the endpoint asks. The names of ``headers`` are in small letters.
    """

    status: int
    content_type: str
    retry_after: float | None
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


class Connections:
    """The kept connections to one endpoint, for 1,000 calls at once; any more wait for their turn.

    They are opened when first needed, also after a close.
    """

    def __init__(self) -> None:
        self._calls: dict[httpx.AsyncClient, int] = {}
        self._idle: list[httpx.AsyncClient] = []

    async def post_json(
        self,
        url: str,
        payload: Mapping[str, object],
        headers: Mapping[str, str],
        *,
        total_deadline: float = 60.0,
        idle_deadline: float = 30.0,
        max_bytes: int = MAX_BYTES,
        listener: Listener | None = None,
    ) -> HttpReply:
        """Post once and read the whole reply; redirects are not followed.

        A listener is told the events of a good reply that is a stream of them; what it raises ends the
        request. Deadlines are in seconds: the total one covers everything; the idle one covers each wait for
        more of a body that has begun or, with a listener, each wait for an event that is more than a sign of
        life. ``max_bytes`` counts the body as decoded.

        Raises ``LlmError`` whose text names host and port at most, with the status where one had come. Its
        cause is left out: a client's own errors quote headers and addresses.
        """
        content = json.dumps(payload).encode()
        headers = {"content-type": "application/json", **headers}
        incoming = _Incoming(_place(url), idle_deadline, max_bytes, listener)
        return await self._ask("POST", url, content, headers, total_deadline, incoming)

    async def get(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        total_deadline: float = 60.0,
        idle_deadline: float = 30.0,
        max_bytes: int = MAX_BYTES,
    ) -> HttpReply:
        """Ask once for what is there; as :meth:`post_json`."""
        incoming = _Incoming(_place(url), idle_deadline, max_bytes, None)
        return await self._ask("GET", url, None, headers, total_deadline, incoming)

    async def _ask(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        total_deadline: float,
        incoming: "_Incoming",
    ) -> HttpReply:
        if not self._calls:
            # Importing httpx and reading the certificates takes longer than a window may stand still.
            await asyncio.to_thread(_certificates)
        import httpx

        try:
            async with (
                asyncio.timeout(total_deadline) as total,
                asyncio.timeout(incoming.first_deadline) as idle,
            ):
                headers = {"accept-encoding": "gzip", **headers}
                with self._client(url) as client:
                    await _exchange(client, method, url, content, headers, incoming, idle)
        except TimeoutError:
            if not incoming.said_all:
                raise incoming.too_late(total_deadline if total.expired() else None) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            if not incoming.said_all:
                raise incoming.told(_failure(error, incoming.place)) from None
        return incoming.reply()

    async def close(self) -> None:
        """Give the connections back."""
        clients, self._calls, self._idle = self._calls, {}, []
        for client in clients:
            await client.aclose()

    @contextmanager
    def _client(self, url: str) -> Iterator["httpx.AsyncClient"]:
        calls, idle = self._calls, self._idle
        if idle:
            client = idle.pop()
        elif len(calls) < _MOST_CLIENTS:
            client = _new_client(url)
        else:
            client = min(calls, key=calls.__getitem__)
        calls[client] = calls.get(client, 0) + 1
        try:
            yield client
        finally:
            calls[client] -= 1
            if not calls[client]:
                idle.append(client)


class EventReader:
    """Cuts the bytes of a stream into its events, however they are split; each is a name and its data.

    Comments and all members but these two are passed over, and so is an event without data. A line ends in
    CR, LF or both. Raises ``ValueError`` for bytes that are not UTF-8.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._encoding = "utf-8-sig"
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[tuple[str, str]]:
        """The events that are complete with this piece."""
        # What was left has no line end but, perhaps, a CR in last place.
        searched = max(0, len(self._rest) - 1)
        text, begin = self._rest + piece, 0
        for line_end in _LINE_END.finditer(text, searched):
            yield from self._line(text[begin : line_end.start()])
            begin = line_end.end()
        self._rest = text[begin:]

    def end(self) -> Iterator[tuple[str, str]]:
        """The last event, where the empty line after it is missing."""
        return self.feed(b"\n\n")

    def _line(self, raw: bytes) -> Iterator[tuple[str, str]]:
        line, self._encoding = raw.decode(self._encoding), "utf-8"
        member, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if member == "data":
            self._data.append(value)
        elif member == "event":
            self._name = value
        elif not line:
            if self._data:
                yield self._name, "\n".join(self._data)
            self._name, self._data = "", []


_LINE_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")  # after a CR at the end an LF may be yet to come


class _Incoming:
    """One reply as it comes in: unpacked, counted, and kept or told to the listener."""

    def __init__(self, place: str, idle_deadline: float, max_bytes: int, listener: Listener | None) -> None:
        self.place, self._idle_deadline, self._max_bytes = place, idle_deadline, max_bytes
        self._listener = listener
        self.first_deadline = idle_deadline if listener else None
        self._response: httpx.Response | None = None
        self._events: EventReader | None = None
        self._body = bytearray()
        self._progress = 0
        self.said_all = False

    async def read(self, response: "httpx.Response", idle: asyncio.Timeout) -> None:
        """Read to the end. Whatever is progress puts the idle deadline off."""
        now = asyncio.get_running_loop().time
        self._response = response
        kind = response.headers.get("content-type", "").lower()
        if self._listener and response.is_success and kind.startswith("text/event-stream"):
            self._events = EventReader()
        else:
            idle.reschedule(now() + self._idle_deadline)
        async with aclosing(self._unpacked(response)) as pieces:
            async for piece in pieces:
                heard = self._take(piece)
                if heard != "nothing":
                    idle.reschedule(now() + (_GRACE if heard == "end" else self._idle_deadline))
        self._take(b"\n\n" if self._events else b"")

    @property
    def status(self) -> int | None:
        """The status of the reply, once its head has come."""
        return None if self._response is None else self._response.status_code

    def reply(self) -> HttpReply:
        """What came, once it was read or has said all."""
        assert self._response is not None  # noqa: S101 - nothing is read before the head is there
        headers = self._response.headers
        return HttpReply(
            status=self._response.status_code,
            content_type=headers.get("content-type", ""),
            retry_after=_retry_after(headers),
            body=bytes(self._body),
            headers=dict(headers),
        )

    def too_late(self, total_deadline: float | None) -> LlmError:
        """The failure when the total deadline has passed, or without one the idle deadline."""
        seconds = self._idle_deadline if total_deadline is None else total_deadline
        unavailable = f"no response received within {seconds:g}s (model may be unavailable or overloaded)"
        if self._listener is None:
            message = (
                f"{self.place} fell silent for {seconds:g} s in the middle of its answer."
                if total_deadline is None
                else f"LLM buffered completion timeout: {unavailable}"
            )
        elif not self._progress:
            message = f"LLM streaming: {unavailable}"
        elif total_deadline is None:
            message = (
                f"LLM streaming idle timeout: no meaningful chunk received for {seconds:g}s "
                f"(after {self._progress} chunks)"
            )
        else:
            message = (
                f"LLM streaming completion timeout: total duration exceeded {seconds:g}s "
                f"after {self._progress} chunks"
            )
        return self.told(LlmError(message, kind="timeout", transient=True))

    def told(self, error: LlmError) -> LlmError:
        """The error with the status of the reply, once its head has come."""
        error.status = self.status
        return error

    def _unreadable(self, message: str) -> LlmError:
        return self.told(_unreadable(message))

    def _take(self, piece: bytes) -> Heard:
        if self._events is None or self._listener is None:
            self._body += piece
            return "progress"
        if self.said_all:
            return "nothing"
        before = self._progress
        try:
            for name, data in self._events.feed(piece):
                heard = self._listener(name, data)
                self._progress += heard == "progress"
                if heard == "end":
                    self.said_all = True
                    return "end"
        except UnicodeDecodeError:
            raise self._unreadable(f"{self.place} sent an answer that is no UTF-8.") from None
        return "progress" if self._progress > before else "nothing"

    async def _unpacked(self, response: "httpx.Response") -> AsyncGenerator[bytes]:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise self._unreadable(f"{self.place} sent an answer in an encoding nobody asked for.")
        # httpx would unpack each piece whole, to a thousand times its size, before it can be counted.
        unpack = None if encoding == "identity" else zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        room = self._max_bytes
        async with aclosing(cast("AsyncGenerator[bytes]", response.aiter_raw())) as pieces:
            async for packed in pieces:
                if self.said_all:
                    continue
                try:
                    piece = unpack.decompress(packed, room + 1) if unpack else packed
                except zlib.error:
                    raise self._unreadable(f"{self.place} sent an answer that cannot be unpacked.") from None
                room -= len(piece)
                if room < 0:
                    raise self._unreadable(
                        f"{self.place} sent an answer larger than {self._max_bytes:,} bytes."
                    )
                yield piece
        if unpack and not unpack.eof and not self.said_all:
            raise self._unreadable(f"{self.place} sent an answer that is cut off.")


async def _exchange(
    client: "httpx.AsyncClient",
    method: str,
    url: str,
    content: bytes | None,
    headers: Mapping[str, str],
    incoming: _Incoming,
    idle: asyncio.Timeout,
) -> None:
    """Send and read; again where a kept connection turns out to be closed before a word came back on it."""
    import httpx

    while True:
        way = _Way()
        try:
            async with client.stream(
                method, url, content=content, headers=headers, extensions={"trace": way}
            ) as response:
                return await incoming.read(response, idle)
        except (httpx.NetworkError, httpx.RemoteProtocolError):
            if way.is_new or incoming.status:
                raise


class _Stream(Protocol):
    async def aclose(self) -> None: ...


class _Way:
    """Watches the connection of one request, and closes one whose handshake failed: httpcore forgets it."""

    def __init__(self) -> None:
        self.is_new = False
        self._opened: _Stream | None = None

    async def __call__(self, event: str, info: Mapping[str, object]) -> None:
        if event.endswith("connect_tcp.started"):
            self.is_new = True
        elif event.endswith("connect_tcp.complete"):
            self._opened = cast("_Stream", info["return_value"])
        elif event.endswith("start_tls.failed") and self._opened is not None:
            await self._opened.aclose()


LONGEST_WAIT: Final = 2_147_483.0
"""Seconds an endpoint can ask to be left alone; more than that are as many."""


def parse_retry_after(value: str, now: datetime) -> float | None:
    """Seconds to wait by a ``Retry-After`` header; None when it says nothing of use."""
    value = value.strip()
    if re.fullmatch(r"\d+(\.\d+)?", value, re.ASCII):
        return min(float(value), LONGEST_WAIT)
    with suppress(ValueError):
        until = parsedate_to_datetime(_SHORT_YEAR.sub(lambda date: _whole_year(date, now), value))
        seconds = (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds()
        return min(max(0.0, seconds), LONGEST_WAIT)
    return None


_SHORT_YEAR: Final = re.compile(r"(\d\d-\w{3}-)(\d\d)(?=\s)", re.ASCII)


def _whole_year(date: re.Match[str], now: datetime) -> str:
    """A date with a year of two digits in the century that puts it within 50 years of now."""
    year = int(date[2])
    return f"{date[1]}{year + (now.year + 50 - year) // 100 * 100}"


def _retry_after(headers: "httpx.Headers") -> float | None:
    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", milliseconds, re.ASCII):
        return min(float(milliseconds) / 1000, LONGEST_WAIT)
    return parse_retry_after(headers.get("retry-after", ""), datetime.now(UTC))


_reading: Final = threading.Lock()


def _certificates() -> ssl.SSLContext:
    # Many first calls at once read them once.
    with _reading:
        return _read_certificates()


@cache
def _read_certificates() -> ssl.SSLContext:
    import httpx

    # httpcore looks for this package some eight times a request. Where it is not installed that is a search
    # of the disk each time, and a fifth of what a request costs.
    if find_spec("sniffio") is None:
        sys.modules["sniffio"] = cast("ModuleType", None)
    # They log addresses with their queries, and the headers of replies: a key may be in both.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx.create_ssl_context()


def _new_client(url: str) -> "httpx.AsyncClient":
    import httpx

    return httpx.AsyncClient(
        verify=_certificates(),
        # A proxy serves the way out of this machine, not the way to a model that runs on it.
        trust_env=not _is_loopback(urlsplit(url).hostname or ""),
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=CONNECT_DEADLINE),
        limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
    )


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _place(url: str) -> str:
    """Host and port of an address, for messages."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.hostname and parts.scheme in ("http", "https"):
            return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    message = "The address must start with http:// or https:// and name a host."
    raise LlmError(message, kind="request", transient=False)


def _unreadable(message: str) -> LlmError:
    return LlmError(message, kind="protocol", transient=True)


def _failure(error: Exception, place: str) -> LlmError:
    import httpx

    if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
        message = (
            f"A secure connection to {place} could not be made. Check the certificate, and http or https."
        )
        return LlmError(message, kind="connection", transient=False)
    match error:
        case httpx.TimeoutException():
            message = f"{place} could not be reached within {CONNECT_DEADLINE:g} s."
            return LlmError(message, kind="timeout", transient=True)
        case httpx.RemoteProtocolError() | httpx.DecodingError():
            return _unreadable(f"{place} sent an answer that is cut off or is no HTTP.")
        case httpx.ConnectError() | httpx.ProxyError():
            return LlmError(f"{place} could not be reached.", kind="connection", transient=True)
        case httpx.NetworkError():
            message = f"The connection to {place} was lost before the answer was complete."
            return LlmError(message, kind="connection", transient=True)
        case _:
            message = f"{place} cannot be asked: its address, the key or another header is not valid."
            return LlmError(message, kind="request", transient=False)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
