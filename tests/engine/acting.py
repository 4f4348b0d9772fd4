"""Projects with actions, a web server on this machine, and short ways to have an action done."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine import ActionCompleted, Catalog, Event, Inputs, Json, Project, RunResult, Tree, catalog_of
from tests.builders import action, terminal, tree
from tests.engine.runs import ended
from tests.engine.servers import listening


def entry(kind: str, **parameters: Any) -> dict[str, Json]:
    """An action as a project file has it."""
    return {"kind": kind, "parameters": parameters}


def catalog(folder: Path, *, trusted: bool = False, **actions: Mapping[str, Json]) -> Catalog:
    """The catalog of a project with these actions."""
    return catalog_of(Project(actions={k: dict(v) for k, v in actions.items()}), folder, trusted=trusted)


def doing(key: str = "it") -> Tree:
    """A tree that does one action and ends as that went."""
    return tree(
        do=action(key, success="done", transient="later", permanent="never"),
        done=terminal("done"),
        later=terminal("later"),
        never=terminal("never"),
    )


@dataclass
class Done:
    """What came of doing an action: how it went, what it said, and what is known after it."""

    result: RunResult
    events: list[Event]

    @property
    def went(self) -> str:
        return str(self.result.verdict)

    @property
    def said(self) -> ActionCompleted:
        return next(event for event in self.events if isinstance(event, ActionCompleted))

    @property
    def properties(self) -> Mapping[str, object]:
        return self.result.state_properties

    @property
    def data(self) -> list[tuple[str, str, str]]:
        return [(item.id, item.type, item.content) for item in self.said.produced]


async def done(
    folder: Path,
    described: Mapping[str, Json],
    *,
    trusted: bool = False,
    parameters: Mapping[str, str] | None = None,
    properties: Mapping[str, object] | None = None,
    **session: Any,
) -> Done:
    """Have one action done in a run of its own."""
    events: list[Event] = []
    inputs = Inputs(parameters=parameters or {}, properties=properties or {})
    made = catalog(folder, trusted=trusted, it=described)
    return Done(await ended(doing(), catalog=made, inputs=inputs, events=events, **session), events)


@dataclass
class Web:
    """A server: what it was asked, and what it says by path."""

    url: str = ""
    port: int = 0
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


def page(body: bytes | str = b"", status: int = 200, **headers: str) -> bytes:
    """A whole answer."""
    content = body.encode() if isinstance(body, str) else body
    told = {"content_type": "text/html", "content_length": str(len(content)), **headers}
    lines = [f"HTTP/1.1 {status} X", *(f"{k.replace('_', '-')}: {v}" for k, v in told.items()), "", ""]
    return "\r\n".join(lines).encode() + content


@asynccontextmanager
async def web(
    says: Mapping[str, bytes] | Callable[[str], bytes], tls: ssl.SSLContext | None = None
) -> AsyncIterator[Web]:
    """A server on a loopback address that gives these answers; a path it does not know is never answered."""
    there = Web()
    answer = says if callable(says) else says.get

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lengths = [h.split(":")[1] for h in head.splitlines() if h.lower().startswith("content-length")]
            body = await reader.readexactly(int(lengths[0])) if lengths else b""
            there.heads.append(head)
            there.bodies.append(body)
            reply = answer(head.split()[1])
            if reply is None:
                await writer.wait_closed()
            else:
                writer.write(reply)
                await writer.drain()
        writer.close()

    async with listening(talk, tls) as there.port:
        there.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{there.port}"
        yield there
