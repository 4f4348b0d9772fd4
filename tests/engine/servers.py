"""A server on a loopback socket that answers byte for byte what a test wants, faults included."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Received:
    """What the server was sent: the heads and bodies of all requests."""

    url: str = ""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    heads: list[str] = field(default_factory=list)
    bodies: list[object] = field(default_factory=list)


Act = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(*acts: Act, tls: ssl.SSLContext | None = None) -> AsyncIterator[Received]:
    """A server that does one act a connection, the last one from then on."""
    received = Received()
    waiting = list(acts)
    talks: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks[asyncio.current_task()] = writer
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(
                int(h.split(":")[1]) for h in head.splitlines() if h.lower().startswith("content-length")
            )
            received.heads.append(head)
            received.bodies.append(json.loads(await reader.readexactly(length)))
            received.asked.set()
            await (waiting.pop(0) if len(waiting) > 1 else waiting[0])(writer)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    received.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield received
    finally:
        server.close()
        for writer in talks.values():
            writer.transport.abort()
        await asyncio.gather(*filter(None, talks), return_exceptions=True)
        await server.wait_closed()


def sends(*pieces: bytes, pause: float = 0.0) -> Act:
    """Send these bytes and close, waiting before each but the first."""

    async def act(writer: asyncio.StreamWriter) -> None:
        for number, piece in enumerate(pieces):
            await asyncio.sleep(pause if number else 0)
            writer.write(piece)
            await writer.drain()

    return act


def replies(
    body: bytes | Mapping[str, object],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    content_type: str = "application/json",
) -> Act:
    """A whole reply with the right length."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return sends(
        head(status, {"content-type": content_type, "content-length": len(content), **(headers or {})})
        + content
    )


def head(status: int, headers: Mapping[str, object]) -> bytes:
    """The first part of a reply."""
    lines = [f"HTTP/1.1 {status} Something", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


async def silence(writer: asyncio.StreamWriter) -> None:
    """Never say a word."""
    await writer.wait_closed()


async def reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection off."""
    writer.transport.abort()


def completion(content: object, **more: object) -> dict[str, object]:
    """A chat completion that says this."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    return {"id": "id-1", "model": "served", "choices": [choice], **more}
