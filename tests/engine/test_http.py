import asyncio
import gzip
import logging
import ssl
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.errors import LlmError
from engine.http import Connections, HttpReply, parse_retry_after
from tests.engine.servers import Act, head, replies, reset, sends, serving, silence

pytestmark = [pytest.mark.anyio, pytest.mark.socket]

KEY = "sk-canary-0123456789"
OK = {"content-type": "application/json"}
NOW = datetime(2026, 10, 1, 12, 0, 0, tzinfo=UTC)


async def post(
    url: str, *, total: float = 5.0, idle: float = 5.0, max_bytes: int = 1000, key: str = KEY
) -> HttpReply:
    connections = Connections()
    try:
        return await connections.post_json(
            f"{url}/v1?key={KEY}",
            {"prompt": KEY},
            {"authorization": f"Bearer {key}"},
            total_deadline=total,
            idle_deadline=idle,
            max_bytes=max_bytes,
        )
    finally:
        await connections.close()


async def failure(act: Act, *, total: float = 5.0, idle: float = 5.0, max_bytes: int = 1000) -> LlmError:
    async with serving(act) as server:
        with pytest.raises(LlmError) as caught:
            await post(server.url, total=total, idle=idle, max_bytes=max_bytes)
    error = caught.value
    assert KEY not in str(error)
    assert error.__suppress_context__ or error.__context__ is None
    return error


async def test_a_reply_comes_back_whole_with_its_status_and_type():
    async with serving(replies({"a": 1}, status=201)) as server:
        reply = await post(server.url)
    assert reply == HttpReply(201, "application/json", None, b'{"a": 1}')
    assert server.bodies == [{"prompt": KEY}]
    assert f"Bearer {KEY}" in server.heads[0]


async def test_connections_serve_many_requests_also_after_a_close():
    connections = Connections()
    async with serving(replies(b"{}")) as server:
        for _ in range(2):
            await connections.post_json(server.url, {}, {})
        await connections.close()
        await connections.close()
        await connections.post_json(server.url, {}, {})
        await connections.close()
    assert len(server.heads) == 3


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_model_on_this_machine_is_not_asked_through_a_proxy(host, monkeypatch):
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    async with serving(replies(b"{}")) as server:
        assert (await post(server.url.replace("127.0.0.1", host))).status == 200


@pytest.mark.parametrize("status", [302, 400, 401, 404, 408, 425, 429, 500, 503, 529])
async def test_every_status_is_a_reply(status):
    async with serving(replies(b"{}", status=status)) as server:
        assert (await post(server.url)).status == status


async def test_a_redirect_is_not_followed():
    async with serving(replies(b"", status=302, headers={"location": "/elsewhere"})) as server:
        assert (await post(server.url)).status == 302
    assert len(server.heads) == 1


async def test_nobody_listening_is_transient():
    async with serving(silence) as server:
        pass
    with pytest.raises(LlmError) as caught:
        await post(server.url)
    assert (caught.value.kind, caught.value.transient) == ("connection", True)


async def test_a_broken_connection_is_transient():
    error = await failure(reset)
    assert error.kind in ("connection", "protocol")
    assert error.transient


async def test_silence_ends_at_the_total_deadline():
    error = await failure(silence, total=0.1)
    assert (error.kind, error.transient) == ("timeout", True)
    assert "within 0.1s" in str(error)


async def test_dripping_bytes_do_not_outlast_the_total_deadline():
    drip = sends(head(200, {**OK, "content-length": 100}), *[b" "] * 99, pause=0.02)
    error = await failure(drip, total=0.15)
    assert error.kind == "timeout"
    assert "within 0.15s" in str(error)


async def test_a_body_that_stalls_ends_at_the_idle_deadline():
    error = await failure(sends(head(200, {**OK, "content-length": 5}), b"{", b"}", pause=0.3), idle=0.05)
    assert (error.kind, error.transient) == ("timeout", True)
    assert "silent for 0.05 s" in str(error)


async def test_a_slow_beginning_is_no_stall():
    async with serving(sends(b"", head(200, {**OK, "content-length": 2}) + b"{}", pause=0.15)) as server:
        assert (await post(server.url, idle=0.05)).body == b"{}"


async def test_a_body_over_the_cap_is_refused():
    error = await failure(replies(b"x" * 1001))
    assert (error.kind, error.transient) == ("protocol", True)
    assert "larger than 1,000 bytes" in str(error)


async def test_a_body_of_just_the_cap_is_read():
    async with serving(replies(b"x" * 1000)) as server:
        assert len((await post(server.url)).body) == 1000


async def test_a_gzip_bomb_is_counted_as_it_unpacks():
    bomb = gzip.compress(b"0" * 50_000_000)
    error = await failure(replies(bomb, headers={"content-encoding": "gzip"}), max_bytes=100_000)
    assert "larger than 100,000 bytes" in str(error)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_packed_bodies_are_unpacked(pack):
    encoding = "gzip" if pack is gzip.compress else "deflate"
    async with serving(replies(pack(b'{"a": 1}'), headers={"content-encoding": encoding})) as server:
        assert (await post(server.url)).body == b'{"a": 1}'


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(gzip.compress(b"x" * 500)[:-9], "gzip"), (b"no gzip", "gzip"), (b"{}", "br")],
    ids=["cut", "broken", "unasked"],
)
async def test_bodies_that_cannot_be_unpacked_are_transient_faults(body, encoding):
    error = await failure(replies(body, headers={"content-encoding": encoding}))
    assert (error.kind, error.transient) == ("protocol", True)


@pytest.mark.parametrize(
    "raw",
    [
        head(200, {**OK, "content-length": 50}) + b'{"a":',
        head(200, {**OK, "transfer-encoding": "chunked"}) + b"5\r\n12",
        head(200, {**OK, "content-length": "many"}) + b"{}",
        b"HELLO\r\n\r\n",
        b"",
    ],
    ids=["cut body", "cut chunk", "bad length", "no HTTP", "nothing"],
)
async def test_cut_and_garbled_replies_are_transient_faults(raw):
    error = await failure(sends(raw))
    assert (error.kind, error.transient) == ("protocol", True)


@pytest.mark.parametrize("url", ["ftp://host", "http://", "http://[::1", "http://host:99999", "nonsense"])
async def test_a_bad_address_is_permanent(url):
    with pytest.raises(LlmError) as caught:
        await post(url)
    assert not caught.value.transient
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["ключ", "two\nlines"])
async def test_a_key_no_header_can_carry_is_permanent_and_not_quoted(key):
    async with serving(replies(b"{}")) as server:
        with pytest.raises(LlmError) as caught:
            await post(server.url, key=key)
    assert (caught.value.kind, caught.value.transient) == ("request", False)
    assert key not in str(caught.value)


async def test_plain_http_where_tls_is_expected_is_permanent():
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await sends(head(400, {}))(writer)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        with pytest.raises(LlmError) as caught:
            await post(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert (caught.value.kind, caught.value.transient) == ("connection", False)


async def test_a_certificate_nobody_vouches_for_is_permanent(tmp_path):
    async with serving(replies(b"{}"), tls=self_signed(tmp_path)) as server:
        with pytest.raises(LlmError) as caught:
            await post(server.url, total=2)
    assert (caught.value.kind, caught.value.transient) == ("connection", False)
    assert "certificate" in str(caught.value)


async def test_nothing_secret_is_logged(caplog):
    caplog.set_level(logging.DEBUG)
    async with serving(replies(b"{}")) as server:
        await post(server.url)
    assert KEY not in caplog.text


def test_httpx_is_loaded_only_when_something_is_asked():
    code = "import sys, engine.deciders.text, engine.llm.openai as o; o.OpenAiClient('http://x', 'm'); "
    code += "sys.exit('httpx' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_a_cancelled_caller_stays_cancelled():
    async with serving(silence) as server:
        task = asyncio.create_task(post(server.url))
        await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "1.2"}, 1.2),
        ({"Retry-After-MS": "50"}, 0.05),
    ],
)
async def test_the_wait_an_endpoint_asks_for_is_told(headers, seconds):
    async with serving(replies(b"{}", status=429, headers=headers)) as server:
        assert (await post(server.url)).retry_after == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Thu, 01 Oct 2026 12:00:30 GMT", 30),
        ("Thu, 01 Oct 2026 12:00:30 -0000", 30),
        ("Thu, 01 Oct 2026 11:00:00 GMT", 0),
        ("0", 0),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("9" * 400, 2_147_483),
    ],
)
async def test_a_wait_is_read_as_seconds_or_as_a_date(value, seconds):
    assert parse_retry_after(value, NOW) == seconds


async def test_many_calls_at_once_have_a_connection_each_which_is_used_again():
    everybody = asyncio.Barrier(60)

    async def together(writer: asyncio.StreamWriter) -> None:
        await everybody.wait()
        await replies(b"{}")(writer)

    async with serving(*[together] * 60, replies(b"{}")) as server:
        connections = Connections()
        done = await asyncio.gather(*(connections.post_json(server.url, {}, {}) for _ in range(60)))
        assert [reply.status for reply in done] == [200] * 60
        await connections.post_json(server.url, {}, {})
        assert len(connections._calls) == 60
        await connections.close()


async def test_a_kept_connection_that_the_server_closes_meanwhile_does_no_harm():
    async def once(writer: asyncio.StreamWriter) -> None:
        await replies(b"1")(writer)
        await asyncio.sleep(0.05)

    async with serving(once, replies(b"2")) as server:
        connections = Connections()
        bodies = [(await connections.post_json(server.url, {}, {})).body for _ in range(2)]
        await connections.close()
    assert bodies == [b"1", b"2"]


async def test_a_new_connection_that_the_server_closes_is_not_tried_again():
    async with serving(sends(b""), replies(b"2")) as server:
        with pytest.raises(LlmError):
            await post(server.url)
        assert len(server.heads) == 1


async def test_more_calls_than_connections_wait_for_their_turn(monkeypatch):
    monkeypatch.setattr("engine.http._MOST_CLIENTS", 2)
    async with serving(replies(b"{}")) as server:
        connections = Connections()
        done = await asyncio.gather(*(connections.post_json(server.url, {}, {}) for _ in range(30)))
        await connections.close()
    assert [reply.status for reply in done] == [200] * 30


@pytest.mark.parametrize("ending", ["deadline", "cancelled"])
async def test_a_secure_connection_given_up_half_way_leaves_no_socket_open(ending):
    closed, begun = asyncio.Event(), asyncio.Event()

    async def handshake_only(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun.set()
        while await reader.read(4096):
            pass
        closed.set()
        writer.close()

    async with await asyncio.start_server(handshake_only, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        task = asyncio.create_task(post(url, total=0.1 if ending == "deadline" else 5))
        await begun.wait()
        if ending == "cancelled":
            await asyncio.sleep(0.02)
            task.cancel()
        await asyncio.wait([task])
        async with asyncio.timeout(2):
            await closed.wait()
    error = None if task.cancelled() else task.exception()
    assert task.cancelled() == (ending == "cancelled")
    assert error is None or (isinstance(error, LlmError) and error.kind == "timeout")


def self_signed(folder: Path, name: str = "localhost") -> ssl.SSLContext:
    kind = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN={name}"
    kind += f" -addext subjectAltName=DNS:{name}"
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    try:
        subprocess.run(["openssl", *kind.split(), *files], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context
