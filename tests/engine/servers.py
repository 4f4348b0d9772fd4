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

    @property
    def models(self) -> list[object]:
        """The models that were asked for, in order."""
        return [body.get("model") for body in self.bodies if isinstance(body, dict)]


Act = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(
    *acts: Act, tls: ssl.SSLContext | None = None, by_model: Mapping[str, Act] | None = None
) -> AsyncIterator[Received]:
    """A server that does an act a connection: the next one, the last for ever, or that of the model asked."""
    received = Received()
    waiting = list(acts)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(
                int(h.split(":")[1]) for h in head.splitlines() if h.lower().startswith("content-length")
            )
            body = json.loads(await reader.readexactly(length))
            received.heads.append(head)
            received.bodies.append(body)
            received.asked.set()
            if by_model is None:
                await (waiting.pop(0) if len(waiting) > 1 else waiting[0])(writer)
            else:
                await by_model[body["model"]](writer)
        writer.close()

    async with listening(talk, tls) as port:
        received.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
        yield received


@asynccontextmanager
async def listening(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """A server on a loopback port that talks like this to whoever connects; no talk outlives it."""
    talks: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks[asyncio.current_task()] = writer
        await talk(reader, writer)

    server = await asyncio.start_server(met, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
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


def streams(*pieces: bytes, pause: float = 0.0, close: bool = True) -> Act:
    """A stream of events in these pieces; it ends with the connection or, not closed, never."""

    async def act(writer: asyncio.StreamWriter) -> None:
        await sends(head(200, {"content-type": "text/event-stream"}) + pieces[0], *pieces[1:], pause=pause)(
            writer
        )
        if not close:
            await writer.wait_closed()

    return act


def event(data: object, name: str | None = None) -> bytes:
    """One event of a stream; data that is no text is sent as JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def chunk(content: object = None, finish: str | None = None, **more: object) -> bytes:
    """One event of a streamed chat completion."""
    delta = {} if content is None else {"content": content}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "id-1", "model": "served", "choices": [choice], **more})


DONE = event("[DONE]")


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


def message(text: str, stop_reason: str | None = "end_turn", **more: object) -> dict[str, object]:
    """A message of Anthropic's dialect that says this."""
    content = [{"type": "text", "text": text}]
    return {
        "type": "message",
        "id": "id-1",
        "model": "served",
        "content": content,
        "stop_reason": stop_reason,
        **more,
    }


def said(*texts: str, stop_reason: str | None = "end_turn") -> list[bytes]:
    """The events of a streamed message of Anthropic's dialect."""
    usage = {"input_tokens": 12, "cache_read_input_tokens": 30, "output_tokens": 1}
    every: list[dict[str, object]] = [
        {"type": "message_start", "message": {"id": "id-1", "model": "served", "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
            for text in texts
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    return [event(one, str(one["type"])) for one in every]
