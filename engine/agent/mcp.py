"""The tools of other programs: of servers that speak MCP, started with a command or reached at an address.

The package ``mcp`` (extra ``mcp``) does the talking, and is loaded when the first server is opened.
"""

import asyncio
import hashlib
import json
import logging
import math
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from engine.errors import LlmError, TreewrightError, cause_of
from engine.http import CONNECT_DEADLINE, MAX_BYTES, is_loopback
from engine.kinds import McpServer
from engine.llm.keys import key_from
from engine.tools import Tool, ToolDefinition, ToolInvocation, ToolResult
from engine.tree import Json

if TYPE_CHECKING:
    import httpx2
    from mcp import Client, types
    from mcp.client._transport import TransportStreams

MAX_OUTPUT: Final = 100_000
"""Characters of one result that a model is told; what is longer is cut, with a note."""

MAX_DESCRIPTION: Final = 8_000
"""Characters of what a server says of one tool."""

MAX_TOOLS: Final = 1000
"""Tools of one server; with more it is refused."""

# Seconds a web address has to hear that nobody will ask any more.
_GOODBYE: Final = 2.0

# Seconds of silence that end a request, for one that was given up but that the server keeps open.
_SILENCE: Final = 300.0


class ServerFailed(TreewrightError):
    """A server with tools could not be used; the text names it, and nothing that was sent."""


@asynccontextmanager
async def connected(servers: Mapping[str, McpServer], *, folder: Path) -> AsyncIterator[tuple[Tool, ...]]:
    """The tools of these servers, by the names of the servers, while the context is open.

    Programs are started in the folder, so it must be one the person trusts. What a server says of its tools
    is taken as words for the model; that one is destructive makes it require an approval, and nothing it says
    makes a tool require less. Each use of a tool has the seconds of its server, unless a request says
    otherwise, and nothing that goes wrong with one is raised: it is a result that tells the failure.

    Raises ``ServerFailed`` when one cannot be used. No program is left running then, nor when the context is
    left in whatever way: each is asked to end, and after a few seconds made to.
    """
    # A server nothing may be used of is not even started.
    wanted = {name: server for name, server in servers.items() if server.tools != ()}
    if wanted:
        # It takes longer than a window may stand still.
        await asyncio.to_thread(_load)
    connections = [_Connection(name, server, folder) for name, server in wanted.items()]
    try:
        # The first that fails is told at once.
        found = await asyncio.gather(*(each.ready() for each in connections))
        yield tuple(_named(zip(connections, found, strict=True)))
    finally:
        for each in connections:
            each.close()
        await _all_done([each.owner for each in connections])


@cache
def _load() -> None:
    try:
        from mcp import Client, MCPError  # noqa: F401 - older lines of the package have another front
        from mcp.client import session
    except ImportError:
        message = "Tools of MCP servers need the package 'mcp': pip install treewright[mcp]"
        raise ServerFailed(message) from None
    # They log what servers send, and the addresses they ask.
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # The logger of this one part has a name that others may use, too.
    session.logger.addFilter(lambda record: record.pathname != session.__file__)


async def _all_done(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait for the tasks whatever happens; a cancellation meanwhile counts when they are done."""
    cancelled: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


# ------------------------------------------------------------------------------------------ one server


class _Connection:
    """One server, opened and closed by a task of its own.

    The package wants to be left by the task that entered it, and only its own kind of cancellation lets it
    end a program in good order. So nobody cancels the owner: its scope is cancelled.
    """

    def __init__(self, name: str, server: McpServer, folder: Path) -> None:
        from anyio import CancelScope

        self.name, self.timeout = name, server.timeout
        self._server, self._folder = server, folder
        self._client: Client | None = None
        self._tools: Sequence[types.Tool] = ()
        self._failure: str | None = None
        self._starting, self._status = False, 0
        self._settled, self._closing = asyncio.Event(), asyncio.Event()
        self._scope = CancelScope()
        self.owner = asyncio.create_task(self._own())

    async def ready(self) -> "Sequence[types.Tool]":
        """The tools that may be used, once the server is open; ``ServerFailed`` when it cannot be."""
        await self._settled.wait()
        if self._failure is not None:
            raise ServerFailed(self._failure)
        return self._tools

    def close(self) -> None:
        """Let the owner end."""
        self._closing.set()
        if not self._settled.is_set() and not self._starting:
            self._scope.cancel()

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> ToolResult:
        """What the server makes of a use of a tool."""
        if self._client is None:
            return ToolResult(error=self._lost)
        try:
            return _result(await self._client.call_tool(tool, dict(arguments)))
        except Exception as error:  # noqa: BLE001 - whatever it is, it may quote what was sent
            return ToolResult(error=self._told(error))

    async def _own(self) -> None:
        from mcp import Client
        from mcp.types import Implementation

        about = Implementation(name="treewright", version="")
        self._limit(self.timeout)
        self._failure = f"The MCP server '{self.name}' was not ready within {self.timeout:g} s."
        try:
            with self._scope:
                async with Client(self._transport(), client_info=about, cache=None) as client:
                    self._tools = await self._listed(client)
                    self._client, self._failure, self._scope.deadline = client, None, math.inf
                    self._settled.set()
                    await self._closing.wait()
                    self._limit(_GOODBYE)
        except Exception as error:  # noqa: BLE001 - whatever ends it is told in words of ours
            self._failure = self._told(error)
        finally:
            self._client = None
            self._settled.set()

    def _limit(self, seconds: float) -> None:
        self._scope.deadline = asyncio.get_running_loop().time() + seconds

    async def _listed(self, client: "Client") -> "Sequence[types.Tool]":
        """The tools of all pages."""
        if client.server_capabilities.tools is None:
            return ()
        found: dict[str, types.Tool] = {}
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            found |= {tool.name: tool for tool in page.tools}
            if len(found) > MAX_TOOLS:
                raise ServerFailed(f"The MCP server '{self.name}' has more than {MAX_TOOLS:,} tools.")
            cursor = page.next_cursor
            if cursor is None:
                break
        allowed = self._server.tools
        return [tool for tool in found.values() if allowed is None or tool.name in allowed]

    # Ways to it

    def _transport(self) -> "AbstractAsyncContextManager[TransportStreams]":
        return self._program(self._server.command) if self._server.command else self._address()

    @asynccontextmanager
    async def _program(self, command: str) -> "AsyncGenerator[TransportStreams]":
        from mcp import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(
            command=command,
            args=list(self._server.args),
            env=await asyncio.to_thread(_from_environment, self._server.env),
            cwd=self._folder,
        )
        # What it says beside its answers is for those who start it by hand.
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:  # noqa: ASYNC230 - it never waits
            # One given up while it is being started would be killed, but nobody would wait for its end.
            self._starting, self._scope.deadline = True, math.inf
            async with stdio_client(parameters, nowhere) as streams:
                self._starting = False
                self._limit(0 if self._closing.is_set() else self.timeout)
                yield streams

    @asynccontextmanager
    async def _address(self) -> "AsyncGenerator[TransportStreams]":
        from mcp.client.streamable_http import streamable_http_client

        url = self._server.url or ""
        headers = await asyncio.to_thread(_from_environment, self._server.headers)
        client = await asyncio.to_thread(_web_client, url, headers, self._answered)
        async with client, streamable_http_client(url, http_client=client) as streams:
            yield streams

    def _answered(self, status: int) -> None:
        self._status = status

    # Words

    @property
    def _lost(self) -> str:
        return f"The connection to the MCP server '{self.name}' was lost."

    def _told(self, error: Exception) -> str:
        """What went wrong, without what was sent or received."""
        import httpx2
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, INVALID_PARAMS, PARSE_ERROR

        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        match error:
            case ServerFailed():
                return str(error)
            case LlmError():
                what = f"lacks a key. {error}"
            case OSError() if not self._settled.is_set():
                what = f"could not be started: {cause_of(error)}."
            case httpx2.TransportError():
                what = "could not be reached."
            case MCPError(code=code) if code == CONNECTION_CLOSED:
                return self._lost
            case MCPError(code=code) if code == INVALID_PARAMS:
                what = f"does not know this tool, or not such input (error {code})."
            case MCPError(code=code) if code != PARSE_ERROR:
                status = f" (HTTP status {self._status})" if self._status >= 300 else ""
                what = f"answered with error {code}{status}."
            case _:
                what = "sent what is no valid answer."
        return f"The MCP server '{self.name}' {what}"


def _from_environment(wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: key_from(variable) for name, variable in wanted.items()}


def _web_client(
    url: str, headers: Mapping[str, str], answered: Callable[[int], None]
) -> "httpx2.AsyncClient":
    """Asks this address only, and tells the status of every answer."""
    import httpx2

    class Capped(httpx2.AsyncByteStream):
        """A body that ends with an error where it becomes too large."""

        def __init__(self, body: httpx2.AsyncByteStream) -> None:
            self._body = body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            room = MAX_BYTES
            async for piece in self._body:
                room -= len(piece)
                if room < 0:
                    raise httpx2.StreamError("The body is too large.")
                yield piece

        async def aclose(self) -> None:
            await self._body.aclose()

    async def cap(response: httpx2.Response) -> None:
        answered(response.status_code)
        # A small body could be unpacked to a very large one, so none is.
        response.headers.pop("content-encoding", None)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = Capped(response.stream)

    return httpx2.AsyncClient(
        headers={**headers, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(CONNECT_DEADLINE, read=_SILENCE),
        max_redirects=0,
        trust_env=not is_loopback(urlsplit(url).hostname or ""),
        event_hooks={"response": [cap]},
    )


# ------------------------------------------------------------------------------------------ its tools


@dataclass(frozen=True, slots=True)
class _ServerTool:
    """A tool of a server, which knows it by a name of its own."""

    definition: ToolDefinition
    connection: _Connection
    name: str

    async def invoke(self, invocation: ToolInvocation) -> ToolResult:
        # What a model left open comes as empty text.
        schema = self.definition.parameters
        given = {
            name: value
            for name, value in invocation.arguments.items()
            if value != "" or _takes_text(schema, name)
        }
        return await self.connection.call(self.name, given)


def _takes_text(schema: Mapping[str, Json], name: str) -> bool:
    """Whether a parameter may be text; it may where its schema does not say at once that it is not."""
    properties = schema.get("properties")
    told = properties.get(name) if isinstance(properties, dict) else None
    if not isinstance(told, dict):
        return True
    forms = told.get("anyOf")
    kinds = [
        form.get("type") for form in (forms if isinstance(forms, list) else [told]) if isinstance(form, dict)
    ]
    return any(not isinstance(kind, str | list) or "string" in kind for kind in kinds)


def _named(found: "Iterable[tuple[_Connection, Sequence[types.Tool]]]") -> Iterator[Tool]:
    """The tools, each by a name that a model can be told and no other has: server, then tool."""
    taken: set[str] = set()
    for connection, tool in ((connection, tool) for connection, tools in found for tool in tools):
        whole = f"{connection.name}_{tool.name}"
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", whole)
        digest = hashlib.sha256(f"{connection.name} {tool.name}".encode()).hexdigest()[:8]
        if len(name) > _LONGEST_NAME or name.lower() in taken:
            name = f"{name[: _LONGEST_NAME - 9]}_{digest}"
        taken.add(name.lower())
        annotations = tool.annotations
        definition = ToolDefinition(
            name=name,
            description=_cut(tool.description or tool.title or "", MAX_DESCRIPTION),
            parameters={"type": "object", "properties": {}} | tool.input_schema,
            timeout=connection.timeout,
            requires_approval=annotations is not None and annotations.destructive_hint is True,
        )
        yield _ServerTool(definition, connection, tool.name)


_LONGEST_NAME: Final = 64


def _result(result: "types.CallToolResult") -> ToolResult:
    """What a model is told: all texts, else what they stand for as JSON, and the names of other parts."""
    parts = [_part(part) for part in result.content]
    structured: Json = result.structured_content
    # The package wraps plain results so; the texts have them, too.
    wrapped = isinstance(structured, dict) and structured.keys() == {"result"} and bool(parts)
    if structured is not None and not wrapped and not any(_says(part, structured) for part in parts):
        parts.append(json.dumps(structured, ensure_ascii=False))
    told = _cut("\n".join(parts), MAX_OUTPUT)
    if result.is_error:
        return ToolResult(error=told or "The tool failed and did not say why.")
    return ToolResult(told)


def _part(part: "types.ContentBlock") -> str:
    match part.type:
        case "text":
            return part.text
        case "resource":
            return f"[left out: resource {part.resource.uri}]"
        case "resource_link":
            return f"[left out: resource {part.uri}]"
        case kind:
            return f"[left out: {kind}, {part.mime_type}]"


def _says(text: str, structured: Json) -> bool:
    try:
        said: Json = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return said == structured


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n[cut: {len(text) - most:,} more characters]"
