"""A server with tools, made with the package `mcp`: `mcp_server.py` speaks over its standard streams.

`mcp_server.py http` listens on loopback, and first writes a line with the port for each form of its answers.
What a tool tells by a path it writes into a pipe that the test made there.
"""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TEXTS: dict[str, Any] = {"path": {"type": "string"}}


def tool(name: str, description: str | None = None, **more: Any) -> types.Tool:
    properties = more.pop("properties", {})
    schema = {"type": "object", "properties": properties, **more.pop("schema", {})}
    return types.Tool(name=name, description=description, input_schema=schema, **more)


PAGES = (
    (
        tool(
            "echo",
            "Gives back its input.",
            properties={"words": {"type": "string"}, "times": {"type": "integer"}},
            schema={"required": ["words"], "additionalProperties": False},
        ),
        tool("parts"),
        tool("structured", title="A price"),
        tool("wrapped"),
        tool("told"),
        tool("fails"),
        tool("fails silently"),
    ),
    (
        tool("huge", "h" * 20_000),
        tool("environment"),
        tool("hang", properties=TEXTS),
        tool("die"),
        tool("gone"),
        tool("invalid", output_schema={"type": "object", "required": ["price"]}),
    ),
    (
        tool("wipe", annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=True)),
        tool("look", annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False)),
        tool("fails.silently"),
        tool("x" * 80),
    ),
)


async def list_tools(
    context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    page = int(params.cursor) if params is not None and params.cursor else 0
    following = str(page + 1) if page + 1 < len(PAGES) else None
    return types.ListToolsResult(tools=list(PAGES[page]), next_cursor=following)


def texts(*parts: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=part) for part in parts], **more)


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as pipe:  # noqa: PTH123 - it is a pipe
        pipe.write(text)


async def hang(path: str) -> types.CallToolResult:
    try:
        await asyncio.to_thread(write, path, "started")
        await asyncio.Event().wait()
    finally:
        write(path, "given up")
    return texts()


PARTS: list[types.ContentBlock] = [
    types.TextContent(text="first"),
    types.ImageContent(data="aW1hZ2U=", mime_type="image/png"),
    types.AudioContent(data="YXVkaW8=", mime_type="audio/wav"),
    types.ResourceLink(name="page", uri="notes://page"),
    types.EmbeddedResource(resource=types.TextResourceContents(uri="notes://text", text="inside")),
    types.TextContent(text="last"),
]
RESULTS = {
    "parts": types.CallToolResult(content=PARTS),
    "structured": types.CallToolResult(content=[], structured_content={"price": 5, "currency": "€"}),
    "wrapped": texts("a", "b", structured_content={"result": ["a", "b"]}),
    "told": texts('{ "price": 5 }', structured_content={"price": 5}),
    "fails": texts("There is no such note.", is_error=True),
    "fails silently": types.CallToolResult(content=[], is_error=True),
    "huge": texts("x" * 300_000),
    "invalid": texts("secret", structured_content={"cost": "secret"}),
    "fails.silently": texts("It does not."),
}


async def call_tool(
    context: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    arguments = params.arguments or {}
    match params.name:
        case "echo":
            return texts(json.dumps(arguments))
        case "environment":
            request = context.request
            told: dict[str, Any] = {"pid": os.getpid(), "cwd": str(Path.cwd())}
            told["headers"] = dict(request.headers) if request is not None else {}
            return texts(json.dumps(told | dict(os.environ)))
        case "hang":
            return await hang(arguments["path"])
        case "die":
            os._exit(1)
        case name if name in RESULTS:
            return RESULTS[name]
    raise MCPError(types.INVALID_PARAMS, f"There is no secret tool {params.name}.")


server = Server[Any]("notes", on_list_tools=list_tools, on_call_tool=call_tool)


async def by_streams() -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def by_http() -> None:
    import uvicorn

    listeners = {form: socket.create_server(("127.0.0.1", 0)) for form in ("sse", "json")}
    print(json.dumps({form: each.getsockname()[1] for form, each in listeners.items()}), flush=True)  # noqa: T201

    async def serve(form: str) -> None:
        app = server.streamable_http_app(json_response=form == "json")
        await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve([listeners[form]])

    await asyncio.gather(*map(serve, listeners))


if __name__ == "__main__":
    asyncio.run(by_http() if sys.argv[1:] == ["http"] else by_streams())
