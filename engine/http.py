"""The one door to the network, with deadlines and a cap on what comes back.

:class:`Connections` ask an endpoint a person chose for JSON; :func:`fetch` gets what is at an address that
data may have named, from hosts on a list only.
"""

import asyncio
import json
import logging
import re
import socket
import ssl
import sys
import threading
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from engine.errors import FetchFailed, LlmError

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


# -- what is at an address -----------------------------------------------------------------------------

IpAddress: TypeAlias = IPv4Address | IPv6Address

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses a host has, by its name and port; ``OSError`` where it has none."""


@dataclass(frozen=True, slots=True)
class HostRule:
    """One entry of a list of hosts: a name, one with all names below it, an address, or everything public.

    Without a port it stands for every port. An address that is not public, as those of this machine and its
    neighbours, is reached only where a rule names that very address, whatever a name resolves to.
    """

    name: str
    address: IpAddress | None = None
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> "HostRule":
        """Read ``host``, ``*.host``, ``*`` or an address, perhaps with ``:port``; else ``ValueError``."""
        with suppress(ValueError):
            return cls(text, ip_address(text))
        match = _HOST_RULE.fullmatch(text.lower())
        if match is None or int(match["port"] or 1) not in range(1, 65536):
            raise ValueError("a host is written example.com, *.example.com or 127.0.0.1, perhaps with :8080")
        name, port = match["name"] or match["six"], int(match["port"]) if match["port"] else None
        address = None
        with suppress(ValueError):
            address = ip_address(name)
        if match["six"] and address is None:
            raise ValueError("between brackets stands an address of IPv6")
        return cls(name, address, port)

    def fits(self, host: str, address: IpAddress | None, port: int) -> bool:
        """Whether a host may be asked by this rule; its address is known where it was named by it."""
        if self.port not in (None, port):
            return False
        if self.name == "*":
            return True
        if address is not None or self.address is not None:
            return self.address == address
        return host == self.name or (self.name.startswith("*.") and host.endswith(self.name[1:]))


_HOST_RULE: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>\*|(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?))(?::(?P<port>\d{1,5}))?",
    re.ASCII,
)


async def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses this machine knows a host by."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What is asked for, and where."""

    url: str = field(repr=False)
    method: str = "GET"
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


async def fetch(
    request: FetchRequest,
    hosts: Collection[HostRule],
    *,
    total_deadline: float = 30.0,
    max_bytes: int = MAX_BYTES,
    redirects: int = 0,
    resolve: Resolver = resolved,
) -> HttpReply:
    """Get what is at an address, whatever the status, from these hosts only and through no proxy.

    The host is looked up once, all its addresses are held against the rules, and the connection is made to
    one of them: what the name leads to a moment later does not count. A redirect is followed only so many
    times, to hosts of the list, never from https to http, and without the headers when it leads to another
    server; with none allowed it is the reply. The deadline, in seconds, covers everything.

    Raises :class:`FetchFailed`, whose text names host and port at most.
    """
    # Importing httpx and reading the certificates takes longer than a window may stand still.
    await asyncio.to_thread(_certificates)
    asked = _Fetch(request, tuple(hosts), max_bytes, resolve)
    try:
        async with asyncio.timeout(total_deadline):
            reply = await asked.reply()
            for _ in range(redirects):
                if not _leads_on(reply):
                    return reply
                asked.follow(reply)
                reply = await asked.reply()
    except TimeoutError:
        message = f"{asked.place or 'The host'} gave no whole answer within {total_deadline:g} s."
        raise FetchFailed(message, transient=True) from None
    except LlmError as error:
        raise FetchFailed(str(error), transient=error.transient) from None
    if redirects and _leads_on(reply):
        raise FetchFailed(f"{asked.place} leads on to another address more than {redirects} times.")
    return reply


def _leads_on(reply: HttpReply) -> bool:
    return reply.status in (301, 302, 303, 307, 308) and "location" in reply.headers


class _Fetch:
    """What is asked for next, and where."""

    def __init__(
        self, request: FetchRequest, hosts: Sequence[HostRule], max_bytes: int, resolve: Resolver
    ) -> None:
        self._request, self._hosts, self._max_bytes, self._resolve = request, hosts, max_bytes, resolve
        self.place = ""

    async def reply(self) -> HttpReply:
        """Ask once."""
        import httpx

        url = _url(self._request.url)
        host = url.raw_host.decode().lower().rstrip(".")
        port = url.port or (443 if url.scheme == "https" else 80)
        self.place = f"{host}:{url.port}" if url.port else host
        addresses = await self._addresses(host, port)
        incoming = _Incoming(self.place, LONGEST_WAIT, self._max_bytes, None)
        for number, address in enumerate(addresses, 1):
            try:
                await self._exchange(url, host, address, incoming)
            except (httpx.HTTPError, ValueError) as error:
                refused = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if not refused or number == len(addresses):
                    raise _failure(error, self.place) from None
            else:
                break
        return incoming.reply()

    def follow(self, reply: HttpReply) -> None:
        """Ask next for what a redirect leads to."""
        import httpx

        before, asked = _url(self._request.url), self._request
        try:
            url = before.join(reply.headers["location"])
        except (httpx.InvalidURL, ValueError):
            raise FetchFailed(f"{self.place} leads on to an address that is none.") from None
        if before.scheme == "https" and url.scheme != "https":
            raise FetchFailed(f"{self.place} leads on to an address without encryption.")
        same = (url.scheme, url.raw_host, url.port) == (before.scheme, before.raw_host, before.port)
        kept = {name: value for name, value in asked.headers.items() if same or name.lower() in _OF_CONTENT}
        asked = replace(asked, url=str(url), headers=kept)
        if reply.status == 303 or (reply.status in (301, 302) and asked.method == "POST"):
            asked = replace(asked, method="HEAD" if asked.method == "HEAD" else "GET", content=None)
        self._request = asked

    async def _addresses(self, host: str, port: int) -> Sequence[IpAddress]:
        """The addresses to connect to, once all of them are known to be allowed."""
        literal = None
        with suppress(ValueError):
            literal = ip_address(host)
        if not any(rule.fits(host, literal, port) for rule in self._hosts):
            raise FetchFailed(f"{self.place} is not on the list of hosts that may be asked.")
        try:
            found = [literal] if literal else [ip_address(text) for text in await self._resolve(host, port)]
        except (OSError, ValueError):
            raise FetchFailed(f"The name {host} is not known here.", transient=True) from None
        named = {rule.address for rule in self._hosts if rule.port in (None, port)}
        if not found or any(address not in named and not _is_public(address) for address in found):
            message = f"{self.place} is an address inside this network that the list of hosts does not name."
            raise FetchFailed(message)
        return found

    async def _exchange(self, url: "httpx.URL", host: str, address: IpAddress, incoming: "_Incoming") -> None:
        import httpx

        headers = {
            "accept-encoding": "gzip",
            "user-agent": "treewright",
            **{name.lower(): value for name, value in self._request.headers.items()},
            "host": url.netloc.decode(),
        }
        async with (
            httpx.AsyncClient(
                verify=_certificates(),
                trust_env=False,
                follow_redirects=False,
                timeout=httpx.Timeout(None, connect=CONNECT_DEADLINE),
            ) as client,
            asyncio.timeout(None) as idle,
        ):
            target = str(url.copy_with(host=str(address)))
            asked = self._request
            await _exchange(client, asked.method, target, asked.content, headers, incoming, idle, host)


_OF_CONTENT: Final = frozenset({"content-type"})


def _url(text: str) -> "httpx.URL":
    import httpx

    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError):
        raise FetchFailed("The address cannot be understood.") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise FetchFailed("The address must start with http:// or https:// and name a host.")
    if url.port is not None and url.port not in range(1, 65536):
        raise FetchFailed("The address cannot be understood.")
    if url.userinfo:
        raise FetchFailed("The address must not hold a name or password.")
    return url.copy_with(fragment=None)


_NAT64: Final = IPv6Network("64:ff9b::/96")

# All of the open network there is so far; what lies beside it is local, or one more way to write an address.
_OPEN_IPV6: Final = IPv6Network("2000::/3")


def _is_public(address: IpAddress) -> bool:
    """Whether an address is one of the open network, also where it only wraps another one."""
    if isinstance(address, IPv6Address):
        wrapped = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            wrapped = IPv4Address(int(address) & 0xFFFFFFFF)
        if wrapped is not None:
            return _is_public(wrapped)
        if address not in _OPEN_IPV6:
            return False
    return address.is_global and not address.is_multicast


# -- reading -------------------------------------------------------------------------------------------


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
        if response.request.method == "HEAD" or response.status_code in (204, 304):
            encoding = "identity"  # nothing comes, whatever it would have been packed in
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
    name: str | None = None,
) -> None:
    """Send and read; again where a kept connection turns out to be closed before a word came back on it.

    ``name`` is whom a certificate must belong to, where the host is another one.
    """
    import httpx

    while True:
        way = _Way()
        try:
            extensions: dict[str, object] = {"trace": way}
            if name is not None:
                extensions["sni_hostname"] = name
            async with client.stream(
                method, url, content=content, headers=headers, extensions=extensions
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
        trust_env=not is_loopback(urlsplit(url).hostname or ""),
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=CONNECT_DEADLINE),
        limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
    )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as far as its name says."""
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
