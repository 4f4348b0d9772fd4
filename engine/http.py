"""The one door to the network: JSON posted to an endpoint, with deadlines and a cap on what comes back."""

import asyncio
import json
import logging
import math
import re
import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from engine.errors import LlmError

if TYPE_CHECKING:
    import httpx

CONNECT_DEADLINE: Final = 10.0
"""Seconds to get a connection; a dead host should not use up the whole deadline of a request."""

MAX_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back, whatever its status. ``retry_after`` is in whole seconds, as the endpoint asks."""

    status: int
    content_type: str
    retry_after: int | None
    body: bytes = field(repr=False)


class Connections:
    """The kept connections to one endpoint. They are opened when first needed, also after a close."""

    def __init__(self) -> None:
        self._client: httpx.AsyncClient | None = None

    async def post_json(
        self,
        url: str,
        payload: Mapping[str, object],
        headers: Mapping[str, str],
        *,
        total_deadline: float = 60.0,
        idle_deadline: float = 30.0,
        max_bytes: int = MAX_BYTES,
    ) -> HttpReply:
        """Post once and read the whole reply; redirects are not followed.

        Deadlines are in seconds: the total one covers everything, the idle one each wait for more of a body
        that has begun. ``max_bytes`` counts the body as decoded. Raises ``LlmError`` whose text names host
        and port at most. Its cause is left out: a client's own errors quote headers and addresses.
        """
        place = _place(url)
        if self._client is None:
            # Importing httpx and reading the certificates takes longer than a window may stand still.
            await asyncio.to_thread(_certificates)
        import httpx

        try:
            async with asyncio.timeout(total_deadline) as total:
                self._client = self._client or _client(url)
                content = json.dumps(payload).encode()
                headers = {"content-type": "application/json", "accept-encoding": "gzip", **headers}
                async with self._client.stream("POST", url, content=content, headers=headers) as response:
                    return HttpReply(
                        status=response.status_code,
                        content_type=response.headers.get("content-type", ""),
                        retry_after=_retry_after(response.headers),
                        body=await _body(response, place, idle_deadline, max_bytes),
                    )
        except TimeoutError:
            message = (
                f"{place} gave no complete answer within {total_deadline:g} s; it may be overloaded."
                if total.expired()
                else f"{place} fell silent for {idle_deadline:g} s in the middle of its answer."
            )
            raise LlmError(message, kind="timeout", transient=True) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise _failure(error, place) from None

    async def close(self) -> None:
        """Give the connections back."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def parse_retry_after(value: str, now: datetime) -> int | None:
    """Seconds to wait by a ``Retry-After`` header, rounded up; None when it says nothing of use."""
    value = value.strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value, re.ASCII):
        return math.ceil(float(value))
    with suppress(ValueError):
        until = parsedate_to_datetime(value)
        return max(0, math.ceil((until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds()))
    return None


def _retry_after(headers: "httpx.Headers") -> int | None:
    milliseconds = headers.get("retry-after-ms", "")
    if re.fullmatch(r"\d{1,12}", milliseconds, re.ASCII):
        return math.ceil(int(milliseconds) / 1000)
    return parse_retry_after(headers.get("retry-after", ""), datetime.now(UTC))


@cache
def _certificates() -> ssl.SSLContext:
    import httpx

    # At its usual level httpx logs the whole address of each request, and a query may hold a key.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    return httpx.create_ssl_context()


def _client(url: str) -> "httpx.AsyncClient":
    import httpx

    return httpx.AsyncClient(
        verify=_certificates(),
        # A proxy serves the way out of this machine, not the way to a model that runs on it.
        trust_env=not _is_loopback(urlsplit(url).hostname or ""),
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=CONNECT_DEADLINE),
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


async def _body(response: "httpx.Response", place: str, idle_deadline: float, max_bytes: int) -> bytes:
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise _unreadable(f"{place} sent an answer in an encoding nobody asked for.")
    # Unpacked here: httpx unpacks each piece whole, to a thousand times its size, before it can be counted.
    unpack = None if encoding == "identity" else zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    body, pieces = bytearray(), response.aiter_raw()
    while True:
        async with asyncio.timeout(idle_deadline):
            piece = await anext(pieces, None)
        if piece is None:
            break
        try:
            body += unpack.decompress(piece, max_bytes + 1 - len(body)) if unpack else piece
        except zlib.error:
            raise _unreadable(f"{place} sent an answer that cannot be unpacked.") from None
        if len(body) > max_bytes:
            raise _unreadable(f"{place} sent an answer larger than {max_bytes:,} bytes.")
    if unpack and not unpack.eof:
        raise _unreadable(f"{place} sent an answer that is cut off.")
    return bytes(body)


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
