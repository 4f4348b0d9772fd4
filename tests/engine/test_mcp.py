"""Tools of other programs: how they are offered, used and bounded, and that no program is left running."""

import asyncio
import gzip
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.agent import Agent, AgentRequest, mcp
from engine.agent.mcp import MAX_OUTPUT, ServerFailed, connected
from engine.kinds import McpServer
from engine.llm import ToolMessage
from engine.problems import faults
from engine.tools import Tool, ToolInvocation, ToolResult, by_name
from tests.engine.agents import DONE, agent, calls, client_of, ended
from tests.engine.pages import ROOT
from tests.engine.servers import Act, listening, replies, reset, silence

pytestmark = pytest.mark.anyio

SERVER = str(Path(__file__).with_name("mcp_server.py"))
KEY = "a secret that was asked for"
CANARY = "a secret that was not"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def speaking(*code: str, **more: Any) -> McpServer:
    """A program of a few lines in place of a server."""
    return McpServer(command=sys.executable, args=("-c", "\n".join(code), *more.pop("args", ())), **more)


def made(**more: Any) -> McpServer:
    """The server of the package."""
    return McpServer(command=sys.executable, args=(SERVER,), **more)


@pytest.fixture(scope="module")
async def offered(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mapping[str, Tool]]:
    """The tools of a server, of the same with a list, and of one nothing may be used of; by name."""
    servers = {
        "notes": made(env={"NOTES_KEY": "OUR_KEY"}, timeout=20.0),
        "a few": made(tools=("echo", "no such tool")),
        "none": McpServer(command="no-such-program", tools=()),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OUR_KEY", KEY)
        patch.setenv("CANARY", CANARY)
        async with connected(servers, folder=tmp_path_factory.mktemp("project")) as tools:
            yield by_name(tools)


async def use(offered: Mapping[str, Tool], name: str, **arguments: Any) -> ToolResult:
    return await offered[name].invoke(ToolInvocation(name, arguments))


def children() -> set[str]:
    """The processes this one has started and not yet seen the end of."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, _, rest = stat.read_text().partition(" ")
            if rest.rpartition(")")[2].split()[1] == str(os.getpid()):
                found.add(pid)
    return found


@pytest.fixture
def nothing_left() -> Iterator[None]:
    before = children()
    yield
    assert children() == before


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


async def told(pipe: Path) -> str:
    """What is written into the pipe next."""
    return await asyncio.to_thread(pipe.read_text)


# ------------------------------------------------------------------------------------------ what is asked for


@pytest.mark.parametrize(
    ("given", "path", "reason"),
    [
        ({}, (), "is wrong: it needs either a 'command' or a 'url'"),
        ({"command": "a", "url": "http://a"}, (), "is wrong: it needs either a 'command' or a 'url'"),
        ({"command": "a", "headers": {"x-key": "KEY"}}, (), "is wrong: 'headers' belong to a 'url'"),
        ({"url": "http://a", "args": ["a"]}, (), "is wrong: 'args' and 'env' belong to a 'command'"),
        ({"command": " "}, ("command",), "is wrong: it is blank"),
        ({"command": "a", "env": {"KEY": "not a name"}}, ("env", "KEY"), "must be of the form"),
        ({"url": "ftp://a"}, ("url",), "is wrong: it must start with http:// or https:// and name a host"),
        ({"url": "http://me:secret@a"}, ("url",), "is wrong: a name or password does not belong"),
        (
            {"url": "http://a", "headers": {"host": "KEY"}},
            ("headers", "host"),
            "is wrong: this header is set",
        ),
        ({"command": "a", "timeout": 0}, ("timeout",), "must be more than 0"),
        ({"command": "a", "tool": ["find"]}, ("tool",), "is not known"),
    ],
)
def test_a_server_that_cannot_be_meant_is_refused(given, path, reason):
    with pytest.raises(ValidationError) as caught:
        McpServer.model_validate(given, by_alias=True, by_name=False)
    found = faults(caught.value, given)
    assert list(found) == [path]
    assert found[path].startswith(reason)


def test_the_servers_of_the_help_page_can_be_meant():
    page = (ROOT / "resources" / "help" / "agents.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## Tools of other programs (MCP)")
    servers = json.loads(section.partition("```json\n")[2].partition("```")[0])
    notes, prices = (McpServer.model_validate(s, by_alias=True, by_name=False) for s in servers.values())
    assert (notes.tools, notes.timeout, prices.timeout) == (("find", "read"), 30.0, 10.0)


# ------------------------------------------------------------------------------------------ what is offered


async def test_the_tools_of_all_pages_are_offered_by_the_names_of_server_and_tool(offered):
    names = "echo parts structured wrapped told fails fails_silently huge environment hang die gone invalid"
    cut = {name for name in offered if name.startswith("notes_xxx")}
    (again,) = {name for name in offered if name.startswith("notes_fails_silently_")}
    assert set(offered) == {f"notes_{name}" for name in [*names.split(), "wipe", "look"]} | cut | {
        again,
        "a_few_echo",
    }
    assert [len(name) for name in cut] == [64]


async def test_names_that_had_to_be_changed_lead_to_their_own_tools(offered):
    (again,) = {name for name in offered if name.startswith("notes_fails_silently_")}
    assert (await use(offered, again)).output == "It does not."
    assert (await use(offered, "notes_fails_silently")).error == "The tool failed and did not say why."


async def test_a_tool_is_told_as_its_server_describes_it(offered):
    echo = offered["notes_echo"].definition
    assert echo.description == "Gives back its input."
    assert echo.parameters["required"] == ["words"]
    assert (echo.timeout, offered["a_few_echo"].definition.timeout) == (20.0, 30.0)
    assert offered["notes_structured"].definition.description == "A price"
    assert offered["notes_parts"].definition.parameters == {"type": "object", "properties": {}}
    assert offered["notes_huge"].definition.description.endswith("h\n[cut: 12,000 more characters]")


async def test_a_server_makes_a_tool_require_an_approval_and_never_less(offered):
    assert [name for name in offered if offered[name].definition.requires_approval] == ["notes_wipe"]


# ------------------------------------------------------------------------------------------ results


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("structured", '{"price": 5, "currency": "€"}'),
        ("wrapped", "a\nb"),
        ("told", '{ "price": 5 }'),
        (
            "parts",
            (
                "first\n[left out: image, image/png]\n[left out: audio, audio/wav]\n"
                "[left out: resource notes://page]\n[left out: resource notes://text]\nlast"
            ),
        ),
        ("huge", "x" * MAX_OUTPUT + "\n[cut: 200,000 more characters]"),
    ],
)
async def test_texts_are_joined_structures_are_json_and_other_parts_are_named(offered, name, output):
    assert await use(offered, f"notes_{name}") == ToolResult(output)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("fails", "There is no such note."),
        ("fails_silently", "The tool failed and did not say why."),
        ("gone", "The MCP server 'notes' does not know this tool, or not such input (error -32602)."),
        ("invalid", "The MCP server 'notes' sent what is no valid answer."),
    ],
)
async def test_a_failure_is_a_result_and_quotes_no_more_than_the_tool_said(offered, name, error, caplog):
    with caplog.at_level(logging.DEBUG):
        assert await use(offered, f"notes_{name}") == ToolResult(error=error)
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({"words": "ü", "times": 2}, {"words": "ü", "times": 2}),
        # What is null in a model's call comes as empty text.
        ({"words": "", "times": ""}, {"words": ""}),
        ({"other": ""}, {"other": ""}),
    ],
)
async def test_what_a_model_left_open_is_left_out_where_it_cannot_be_text(offered, given, got):
    assert json.loads((await use(offered, "notes_echo", **given)).output or "") == got


async def test_a_program_gets_the_variables_it_was_promised_and_no_others(offered):
    got = json.loads((await use(offered, "notes_environment")).output or "")
    assert got["NOTES_KEY"] == KEY
    assert CANARY not in got.values()
    assert "OUR_KEY" not in got
    assert Path(got["cwd"]).name.startswith("project")


def answers(made: Agent) -> list[str | None]:
    """What the model was told of its uses of tools."""
    last = client_of(made).requests[-1].messages
    return [message.content for message in last if isinstance(message, ToolMessage)]


async def test_an_agent_uses_the_tools_of_a_server(offered):
    made = agent(
        [calls(("notes_echo", {"words": "hello"}), "notes_fails"), DONE], tools=tuple(offered.values())
    )
    result = await ended(made, AgentRequest("Say hello", allowed_tools=["notes_echo", "notes_fails"]))
    assert (result.output, result.tool_calls) == (DONE, 2)
    assert answers(made) == ['{"words": "hello"}', "Error: There is no such note."]


# ------------------------------------------------------------------------------------------ bounds


async def test_a_tool_that_hangs_has_its_seconds_and_the_next_one_works(offered):
    hanging = offered["notes_hang"]
    request = AgentRequest("goal", parameters={"tool_timeout_seconds": 0.05})
    made = agent([calls(("notes_hang", {"path": "/dev/null"}), "notes_echo"), DONE], tools=(hanging,))
    result = await ended(made, request)
    assert result.success
    assert answers(made) == ["Error: Tool timed out after 0.05 s.", "Tool 'notes_echo' is not registered."]
    assert (await use(offered, "notes_echo", words="a")).output == '{"words": "a"}'


async def test_a_use_that_is_cancelled_is_given_up_by_the_server_too(offered, pipe):
    using = asyncio.create_task(use(offered, "notes_hang", path=str(pipe)))
    assert await told(pipe) == "started"
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert await told(pipe) == "given up"


# ------------------------------------------------------------------------------------------ ends


@pytest.mark.usefixtures("nothing_left")
async def test_a_server_that_ends_in_a_call_is_lost_from_then_on(tmp_path):
    async with connected({"notes": made()}, folder=tmp_path) as tools:
        offered = by_name(tools)
        pid = json.loads((await use(offered, "notes_environment")).output or "")["pid"]
        lost = ToolResult(error="The connection to the MCP server 'notes' was lost.")
        assert await use(offered, "notes_die") == lost
        assert await use(offered, "notes_echo", words="a") == lost
    assert await use(offered, "notes_echo", words="a") == lost
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


WAITS = ("import sys", "sys.stdin.read()")
ODD = (
    "import sys",
    "sys.stderr.write('secret')",
    "print('secret')",
    """print('{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "secret"}}')""",
)
STUBBORN = (
    "import signal, sys",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "open(sys.argv[1], 'w').write('ready')",
    "while True: signal.pause()",
)


async def opened(**servers: McpServer) -> None:
    """Open the servers, and leave them at once."""
    async with connected(servers, folder=Path("/")):
        pass


@pytest.mark.usefixtures("nothing_left")
async def test_a_server_that_never_answers_is_given_up_after_its_seconds():
    with pytest.raises(ServerFailed, match=r"^The MCP server 'mute' was not ready within 0\.3 s\.$"):
        await opened(mute=speaking(*WAITS, timeout=0.3))


@pytest.mark.usefixtures("nothing_left")
async def test_one_that_cannot_be_started_ends_the_others_at_once():
    message = r"^The MCP server 'other' could not be started: No such file or directory\.$"
    with pytest.raises(ServerFailed, match=message):
        await opened(mute=speaking(*WAITS, timeout=100.0), other=McpServer(command="no-such-program"))


@pytest.mark.usefixtures("nothing_left")
async def test_a_program_that_speaks_otherwise_is_refused_and_not_quoted(caplog):
    with (
        caplog.at_level(logging.DEBUG),
        pytest.raises(ServerFailed, match=r"^The connection to the MCP server 'odd' was lost\.$"),
    ):
        await opened(odd=speaking(*ODD))
    assert "secret" not in caplog.text


@pytest.mark.usefixtures("nothing_left")
async def test_a_program_that_will_not_end_is_made_to_also_when_nobody_waits_any_more(pipe, monkeypatch):
    from mcp.client import stdio

    monkeypatch.setattr(stdio, "PROCESS_TERMINATION_TIMEOUT", 0.05)
    monkeypatch.setattr(stdio, "FORCE_KILL_TIMEOUT", 0.05)
    opening = asyncio.create_task(opened(stubborn=speaking(*STUBBORN, args=(str(pipe),))))
    assert await told(pipe) == "ready"
    opening.cancel()
    await asyncio.wait([opening], timeout=0.01)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening


@pytest.mark.usefixtures("nothing_left")
async def test_a_program_that_is_given_up_while_it_starts_ends_in_good_order(monkeypatch, tmp_path):
    async def pipes_are_made(*given: Any, **more: Any) -> object:
        opening.cancel()
        await asyncio.wait([opening], timeout=0.01)
        return await make(*given, **more)

    loop = asyncio.get_running_loop()
    make = loop.connect_read_pipe
    monkeypatch.setattr(loop, "connect_read_pipe", pipes_are_made)
    ends = (*WAITS, "open(sys.argv[1], 'w').write('ended')")
    opening = asyncio.create_task(opened(mute=speaking(*ends, args=(str(tmp_path / "told"),))))
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert (tmp_path / "told").read_text() == "ended"


@pytest.mark.usefixtures("nothing_left")
async def test_whatever_ends_the_context_ends_the_programs_and_what_waits_for_them():
    async def failing() -> None:
        async with connected({"notes": made(tools=("hang",))}, folder=Path("/")) as (hang,):
            waiting.append(asyncio.create_task(hang.invoke(ToolInvocation("", {"path": "/dev/null"}))))
            raise KeyError

    waiting: list[asyncio.Task[ToolResult]] = []
    with pytest.raises(KeyError):
        await failing()
    assert await waiting[0] == ToolResult(error="The connection to the MCP server 'notes' was lost.")


async def test_a_variable_that_is_not_set_is_named():
    message = "The MCP server 'notes' lacks a key. Neither the environment variable NO_SUCH_KEY nor"
    with pytest.raises(ServerFailed, match=message):
        await opened(notes=made(env={"KEY": "NO_SUCH_KEY"}))
    with pytest.raises(ServerFailed, match=message):
        await opened(notes=McpServer(url="http://127.0.0.1:1", headers={"authorization": "NO_SUCH_KEY"}))


def test_the_package_is_loaded_when_a_server_is_opened_and_named_where_it_is_missing():
    code = (
        "import asyncio, sys, engine.agent, engine.agent.mcp as m; from pathlib import Path\n"
        "assert not {'mcp', 'httpx2', 'anyio'} & set(sys.modules)\n"
        "sys.modules['mcp'] = None\n"
        "async def run():\n"
        "    async with m.connected({'a': m.McpServer(command='a')}, folder=Path('.')): pass\n"
        "try: asyncio.run(run())\n"
        "except m.ServerFailed as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout.strip() == "Tools of MCP servers need the package 'mcp': pip install treewright[mcp]"


# ------------------------------------------------------------------------------------------ by address


@pytest.fixture(scope="module")
def ports() -> Iterator[Mapping[str, int]]:
    """Where a server of the package listens, by the form of its answers."""
    with subprocess.Popen([sys.executable, SERVER, "http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.kill()


@pytest.fixture(scope="module", params=["sse", "json"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
async def web(form: str, ports: Mapping[str, int]) -> AsyncIterator[Mapping[str, Tool]]:
    """The tools of that server, by name."""
    server = McpServer(url=f"http://127.0.0.1:{ports[form]}/mcp", headers={"x-key": "OUR_KEY"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OUR_KEY", KEY)
        async with connected({"web": server}, folder=Path("/")) as tools:
            yield by_name(tools)


@pytest.mark.socket
async def test_a_server_at_an_address_offers_all_of_its_tools(web):
    assert len(web) == 17
    assert await use(web, "web_fails") == ToolResult(error="There is no such note.")
    assert (await use(web, "web_huge")).output == "x" * MAX_OUTPUT + "\n[cut: 200,000 more characters]"


@pytest.mark.socket
async def test_a_server_at_an_address_gets_the_headers_it_was_promised(web):
    got = json.loads((await use(web, "web_environment")).output or "")
    assert got["headers"]["x-key"] == KEY


@pytest.mark.socket
async def test_a_use_that_is_cancelled_is_given_up_at_an_address_too(web, form, pipe):
    using = asyncio.create_task(use(web, "web_hang", path=str(pipe)))
    assert await told(pipe) == "started"
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    if form == "sse":  # the package's server does not see the end of a request it will answer whole
        assert await told(pipe) == "given up"
    assert (await use(web, "web_echo", words="a")).output == '{"words": "a"}'


OLDER: dict[str, dict[str, dict[str, Any]]] = {
    "server/discover": {"error": {"code": -32601, "message": "secret"}},
    "initialize": {
        "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "older", "version": "1"},
        }
    },
    "notifications/initialized": {},
    "tools/list": {"result": {"tools": [{"name": "find", "inputSchema": {"type": "object"}}]}},
    "tools/call": {"result": {"content": [{"type": "text", "text": "secret"}]}},
}


@asynccontextmanager
async def older(*, session: str = "", **acts: Act) -> AsyncIterator[tuple[McpServer, list[str]]]:
    """A server of the older kind, and what it is asked: methods of HTTP, or of the protocol where it has one.

    It answers as a test says, by the last part of a method, or as such servers do.
    """
    asked: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            first, *headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            length = next((int(h.split(":")[1]) for h in headers if h.startswith("content-length")), 0)
            body = (
                json.loads(await reader.readexactly(length))
                if length
                else {"method": first.partition(" ")[0]}
            )
            asked.append(body["method"])
            act = acts.get(body["method"].rpartition("/")[2])
            if act is None:
                whole = {"jsonrpc": "2.0", "id": body.get("id"), **OLDER.get(body["method"], {})}
                status = 200 if "id" in body else 202 if length else 405
                act = replies(whole, status, {"mcp-session-id": session} if session else {})
            await act(writer)
        writer.close()

    async with listening(talk) as port:
        yield McpServer(url=f"http://127.0.0.1:{port}/mcp"), asked


async def found(server: McpServer) -> ToolResult:
    """What becomes of a use of its one tool."""
    async with connected({"older": server}, folder=Path("/")) as (find,):
        return await find.invoke(ToolInvocation("older_find"))


@pytest.mark.socket
async def test_an_older_server_is_asked_in_its_own_way_and_none_of_this_machine_by_a_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with older() as (server, asked):
        assert await found(server) == ToolResult("secret")
    assert asked == ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"]


ANSWER = json.dumps({"jsonrpc": "2.0", "id": 4, **OLDER["tools/call"]}).encode()
LOST = "The connection to the MCP server 'older' was lost."
INVALID = "The MCP server 'older' sent what is no valid answer."


@pytest.mark.socket
@pytest.mark.parametrize(
    ("act", "error"),
    [
        (reset, LOST),
        (replies(ANSWER + b" " * 5_000_000), INVALID),
        (replies(gzip.compress(ANSWER), headers={"content-encoding": "gzip"}), INVALID),
        (replies(b"<h1>secret</h1>"), INVALID),
        (replies(b"secret", content_type="text/html"), "The MCP server 'older' answered with error -32600."),
        (
            replies(b"secret", 401),
            "The MCP server 'older' answered with error -32603 (HTTP status 401).",
        ),
        (
            replies(b"", 307, {"location": "/secret"}),
            "The MCP server 'older' answered with error -32600 (HTTP status 307).",
        ),
    ],
)
async def test_no_fault_of_an_address_is_followed_or_quoted(act, error, caplog):
    with caplog.at_level(logging.DEBUG):
        async with older(call=act) as (server, asked):
            assert await found(server) == ToolResult(error=error)
    assert asked.count("tools/call") == 1
    assert "secret" not in caplog.text


@pytest.mark.socket
async def test_an_address_where_nobody_listens_is_told():
    async with older() as (server, _):
        pass
    with pytest.raises(ServerFailed, match=r"^The MCP server 'older' could not be reached\.$"):
        await found(server)


@pytest.mark.socket
async def test_an_address_that_is_silent_has_its_seconds():
    async with older(discover=silence) as (server, _):
        with pytest.raises(ServerFailed, match=r"^The MCP server 'older' was not ready within 0\.1 s\.$"):
            await found(server.replace(timeout=0.1))


@pytest.mark.socket
async def test_an_address_that_does_not_hear_the_goodbye_is_left_all_the_same(monkeypatch):
    monkeypatch.setattr(mcp, "_GOODBYE", 0.05)
    async with older(session="1", delete=silence) as (server, asked):
        assert await found(server) == ToolResult("secret")
    assert "delete" in asked


@pytest.mark.socket
async def test_a_server_without_tools_is_not_asked_for_any():
    result = OLDER["initialize"]["result"] | {"capabilities": {}}
    without = replies({"jsonrpc": "2.0", "id": 2, "result": result})
    async with (
        older(initialize=without) as (server, asked),
        connected({"a": server}, folder=Path("/")) as tools,
    ):
        assert tools == ()
    assert "tools/list" not in asked


@pytest.mark.socket
async def test_a_list_of_tools_without_an_end_is_refused():
    many = [{"name": f"tool {n}", "inputSchema": {"type": "object"}} for n in range(600)]
    pages = iter(range(600, 10_000, 600))

    async def page(writer: asyncio.StreamWriter) -> None:
        start = next(pages)
        tools = [tool | {"name": f"tool {start + n}"} for n, tool in enumerate(many)]
        result = {"tools": tools, "nextCursor": "more"}
        await replies({"jsonrpc": "2.0", "id": 3 if start == 600 else 4, "result": result})(writer)

    async with older(list=page) as (server, asked):
        with pytest.raises(ServerFailed, match=r"^The MCP server 'older' has more than 1,000 tools\.$"):
            await found(server)
    assert asked.count("tools/list") == 2
