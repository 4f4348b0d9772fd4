"""Asking web addresses: from listed hosts only, whatever names, redirects, bodies and pages say."""

import gzip
import logging
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine import Json
from engine.errors import FetchFailed
from engine.http import FetchRequest, HostRule, HttpReply, fetch
from tests.engine.acting import done, entry, page, web
from tests.engine.test_http import self_signed

pytestmark = [pytest.mark.anyio, pytest.mark.socket]

KEY = "sk-canary-0123456789"


def resolving(**names: str):
    """A look-up that knows these names, written with _ for a dot."""
    known = {name.replace("_", "."): address.split() for name, address in names.items()}

    async def resolve(host: str, port: int) -> Sequence[str]:
        if host not in known:
            raise OSError("unknown name")
        return known[host]

    return resolve


async def get(url: str, *hosts: str, **more) -> HttpReply:
    more.setdefault("total_deadline", 5)
    request = FetchRequest(url, more.pop("method", "GET"), more.pop("content", None), more.pop("headers", {}))
    return await fetch(request, [HostRule.parse(host) for host in hosts], **more)


async def refused(url: str, *hosts: str, **more) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await get(url, *hosts, **more)
    assert caught.value.__cause__ is None
    return caught.value


# -- who may be asked ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("http://other.test/", ["example.test"]),
        ("http://example.test.evil.test/", ["example.test"]),
        ("http://example.test/", ["*.example.test"]),
        ("http://badexample.test/", ["*.example.test"]),
        ("http://example.test:81/", ["example.test:80"]),
        ("https://example.test/", ["example.test:80"]),
        ("http://127.0.0.1/", ["example.test"]),
        ("http://127.0.0.2/", ["127.0.0.1"]),
        ("http://[::1]/", ["127.0.0.1"]),
        ("http://2130706433/", ["127.0.0.1"]),
        ("http://0x7f.1/", ["127.0.0.1"]),
        ("http://localhost/", ["127.0.0.1"]),
        ("http://xn--exmple-cua.test/", ["example.test"]),
    ],
)
async def test_a_host_that_is_not_listed_is_never_looked_up(url: str, hosts: list[str]):
    error = await refused(url, *hosts, resolve=resolving())
    assert str(error).endswith(" is not on the list of hosts that may be asked.")
    assert not error.transient


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.1", "100.64.0.1",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
        "2002:7f00:1::", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "::7f00:1", "::ffff:0:7f00:1", "fec0::1",
        "93.184.216.34 127.0.0.1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("listed", ["name.test", "*"])
async def test_a_name_that_leads_inside_the_network_is_refused(address: str, listed: str):
    error = await refused("http://name.test/", listed, resolve=resolving(name_test=address))
    assert str(error) == "name.test is an address inside this network that the list of hosts does not name."
    assert not error.transient


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:7f00:1]"])
async def test_every_public_host_does_not_mean_an_address_of_this_network(address: str):
    error = await refused(f"http://{address}/", "*")
    assert "inside this network" in str(error)


async def test_an_address_inside_is_reached_where_it_is_listed_itself_by_name_or_number():
    async with web({"/": page("hello")}) as there:
        assert (await get(f"{there.url}/", "127.0.0.1")).body == b"hello"
        assert (await get(f"{there.url}/", f"127.0.0.1:{there.port}")).body == b"hello"
        named = f"http://Inside.Test:{there.port}/"
        reply = await get(
            named, "inside.test", "127.0.0.1", resolve=resolving(inside_test="127.0.0.1"), max_bytes=5
        )
        assert reply.body == b"hello"
        assert f"host: inside.test:{there.port}" in there.heads[-1].lower()
        error = await refused(named, "inside.test", "127.0.0.1:1", resolve=resolving(inside_test="127.0.0.1"))
        assert "inside this network" in str(error)


async def test_the_next_address_of_a_name_is_tried_where_the_first_takes_nobody():
    async with web({"/": page("hello")}) as there:
        names = resolving(inside_test="127.9.9.9 127.0.0.1")
        rules = ("inside.test", "127.9.9.9", "127.0.0.1")
        assert (await get(f"http://inside.test:{there.port}/", *rules, resolve=names)).body == b"hello"


async def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch):
    async with web({"/": page("straight")}) as there, web(lambda _: page("by the proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert (await get(f"{there.url}/", "127.0.0.1")).body == b"straight"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.test/", "must start with http:// or https://"),
        ("file:///etc/passwd", "must start with http:// or https://"),
        ("example.test", "must start with http:// or https://"),
        ("http:///x", "must start with http:// or https://"),
        (f"http://me:{KEY}@example.test/", "must not hold a name or password"),
        ("http://example.test:99999/", "cannot be understood"),
        ("http://exa\nmple.test/", "cannot be understood"),
    ],
)
async def test_what_is_no_web_address_is_refused(url: str, words: str):
    assert words in str(await refused(url, "*", "example.test"))


@pytest.mark.parametrize(
    "text", ["a b", "http://a", "a/", "[::1", "[a]", "a:0", "a:65536", "", "*.", "a*", "@"]
)
def test_what_is_no_host_is_no_rule(text: str):
    with pytest.raises(ValueError, match=r"."):
        HostRule.parse(text)


# -- redirects -----------------------------------------------------------------------------------------


async def test_a_redirect_is_followed_within_the_list_and_leaves_headers_with_the_first_server():
    async with web({"/end": page("there")}) as other:
        to = {"/": page(status=302, location="/b"), "/b": page(status=307, location=f"{other.url}/end")}
        async with web(to) as there:
            reply = await get(f"{there.url}/", "127.0.0.1", redirects=2, headers={"x-key": KEY})
            assert (reply.status, reply.body) == (200, b"there")
            assert all(KEY in head for head in there.heads)
            assert KEY not in other.heads[0]


async def test_a_redirect_off_the_list_or_inside_is_refused():
    async with web({"/": page(status=302, location="http://evil.test/")}) as there:
        error = await refused(f"{there.url}/", "127.0.0.1", redirects=3)
        assert str(error) == "evil.test is not on the list of hosts that may be asked."
    async with web({"/": page(status=301, location="http://metadata.test/")}) as there:
        names = resolving(metadata_test="169.254.169.254")
        error = await refused(f"{there.url}/", "127.0.0.1", "*.test", redirects=3, resolve=names)
        assert "metadata.test is an address inside this network" in str(error)
    async with web({"/": page(status=301, location=f"file://{KEY}")}) as there:
        assert "http:// or https://" in str(await refused(f"{there.url}/", "127.0.0.1", redirects=3))


async def test_a_redirect_is_the_answer_where_none_is_to_be_followed_and_a_circle_ends():
    async with web({"/": page(status=302, location="/")}) as there:
        assert (await get(f"{there.url}/", "127.0.0.1")).status == 302
        error = await refused(f"{there.url}/", "127.0.0.1", redirects=4)
        assert str(error) == f"127.0.0.1:{there.port} leads on to another address more than 4 times."
        assert len(there.heads) == 1 + 5


async def test_what_was_sent_is_sent_again_only_where_the_redirect_says_so():
    says = {
        "/a": page(status=303, location="/end"),
        "/b": page(status=308, location="/end"),
        "/end": page("x"),
    }
    async with web(says) as there:
        for path in ("/a", "/b"):
            await get(
                there.url + path, "127.0.0.1", method="POST", content=b"hello", redirects=1,
                headers={"content-type": "text/plain"},
            )  # fmt: skip
        assert [head.split()[0] for head in there.heads] == ["POST", "GET", "POST", "POST"]
        assert there.bodies == [b"hello", b"", b"hello", b"hello"]


# -- what comes ----------------------------------------------------------------------------------------


async def test_a_body_is_counted_as_it_is_unpacked():
    bomb = page(gzip.compress(b"\0" * 5_000_000), content_encoding="gzip")
    async with web({"/": bomb}) as there:
        error = await refused(f"{there.url}/", "127.0.0.1", max_bytes=1000)
        assert str(error) == f"127.0.0.1:{there.port} sent an answer larger than 1,000 bytes."
        assert len((await get(f"{there.url}/", "127.0.0.1", max_bytes=5_000_000)).body) == 5_000_000


async def test_a_head_without_a_body_is_no_broken_answer():
    head = page(b"", content_encoding="gzip")
    async with web({"/": head}) as there:
        assert (await get(f"{there.url}/", "127.0.0.1", method="HEAD")).status == 200


async def test_a_server_that_says_nothing_ends_with_the_deadline():
    async with web({}) as there:
        error = await refused(f"{there.url}/x?key={KEY}", "127.0.0.1", total_deadline=0.1)
        assert str(error) == f"127.0.0.1:{there.port} gave no whole answer within 0.1 s."
        assert error.transient


async def test_no_secret_is_told_or_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with web(lambda _: b"nonsense\r\n\r\n") as there:
        url, headers = f"{there.url}/?key={KEY}", {"authorization": f"Bearer {KEY}"}
        error = await refused(url, "127.0.0.1", headers=headers)
        assert str(error) == f"127.0.0.1:{there.port} sent an answer that is cut off or is no HTTP."
        assert KEY not in repr(FetchRequest(url, headers=headers))
    error = await refused(url, "127.0.0.1", headers=headers)
    assert (str(error), error.transient) == (f"127.0.0.1:{there.port} could not be reached.", True)
    assert KEY not in caplog.text


# -- the action ----------------------------------------------------------------------------------------


def request(**parameters) -> dict[str, Json]:
    return entry("httpRequest", **{"hosts": ["127.0.0.1"], "redirects": 0, **parameters})


async def test_what_came_is_kept_and_the_branch_tells_how_it_went(tmp_path: Path):
    async with web({"/a%2Fb%3Fx": page("Grüße".encode())}) as there:
        described = request(
            url=f"{there.url}/{{{{id}}}}", statusProperty="status", property="text", dataType="p"
        )
        found = await done(tmp_path, described, properties={"id": "a/b?x"})
        assert found.went == "done"
        assert found.properties == {"id": "a/b?x", "status": "200", "text": "Grüße"}
        assert found.data == [(f"{there.url}/a%2Fb%3Fx", "p", "Grüße")]
        assert found.said.summary == "The answer was 200."


@pytest.mark.parametrize(
    ("status", "went"),
    [
        (204, "done"),
        (302, "never"),
        (404, "never"),
        (501, "never"),
        (408, "later"),
        (429, "later"),
        (503, "later"),
    ],
)
async def test_a_status_takes_its_branch_unless_any_will_do(tmp_path: Path, status: int, went: str):
    async with web({"/": page(status=status)}) as there:
        described = request(url="{{url}}", statusProperty="status")
        found = await done(tmp_path, described, parameters={"url": f"{there.url}/"})
        assert (found.went, found.properties["status"]) == (went, str(status))
        any_will_do = request(url="{{url}}", anyStatus=True)
        found = await done(tmp_path, any_will_do, parameters={"url": f"{there.url}/"})
        assert found.went == "done"


async def test_an_address_that_is_a_value_is_taken_whole_and_still_held_against_the_list(tmp_path: Path):
    found = await done(tmp_path, request(url="{{url}}"), properties={"url": "http://evil.test/"})
    assert (found.went, found.said.error) == (
        "never",
        "evil.test is not on the list of hosts that may be asked.",
    )


async def test_a_value_an_address_begins_with_is_a_part_of_it_and_every_other_is_encoded(tmp_path: Path):
    async with web({"/a/b%2Fc?x=d%26e": page("x")}) as there:
        described = request(url=" {{base}}/{{id}}?x={{x}}", dataType="page")
        properties = {"base": f"{there.url}/a", "id": "b/c", "x": "d&e"}
        found = await done(tmp_path, described, properties=properties)
        assert found.data == [(f"{there.url}/a/b%2Fc", "page", "x")]


@pytest.mark.parametrize("value", ["@evil.test/", ".evil.test", "/../admin", "?a=b#c", "\r\nhost: evil"])
async def test_a_value_within_an_address_stays_a_part_of_its_path(tmp_path: Path, value: str):
    async with web(lambda _: page("x")) as there:
        found = await done(tmp_path, request(url=f"{there.url}/a/{{{{v}}}}"), properties={"v": value})
        assert found.went == "done"
        target = there.heads[0].split()[1]
        assert target.startswith("/a/")
        assert not {*target[3:]} & {*"@/?#\r\n"}


async def test_a_value_within_a_json_body_stays_within_its_quotes(tmp_path: Path):
    async with web({"/": page("x")}) as there:
        described = request(
            url=f"{there.url}/",
            method="POST",
            body='{"text": "{{v}}"}',
            bodyType="json",
            headers={"X-A": "{{w}}"},
        )
        await done(tmp_path, described, properties={"v": '", "admin": "yes', "w": "plain"})
        assert there.bodies == [b'{"text": "\\", \\"admin\\": \\"yes"}']
        assert "content-type: application/json" in there.heads[0].lower()
        assert "x-a: plain" in there.heads[0].lower()
        broken = await done(tmp_path, described, properties={"v": "", "w": "a\r\nhost: evil"})
        assert broken.said.error == "The header 'X-A' would hold characters that no header can hold."
        assert len(there.heads) == 1


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b"\xef\xbb\xbfa", "text/html", "a"),
        (b"\xe4", "text/html; charset=ISO-8859-1", "ä"),
        (b"\xe4", "text/html", None),
        (b"a", "text/html; charset=utf-7", None),
    ],
)
async def test_only_text_that_can_be_read_is_kept(tmp_path: Path, body: bytes, kind: str, text: str | None):
    async with web({"/": page(body, content_type=kind)}) as there:
        found = await done(tmp_path, request(url=f"{there.url}/", property="text"))
        assert found.properties.get("text") == text
        assert found.went == ("done" if text else "never")


async def test_a_failure_stays_what_it_is_when_its_page_cannot_be_read(tmp_path: Path):
    async with web({"/": page(b"\xe4", status=503), "/ok": page(b"\xe4")}) as there:
        described = request(url=f"{there.url}/{{{{p}}}}", property="text", statusProperty="status")
        busy = await done(tmp_path, described, parameters={"p": ""})
        assert (busy.went, busy.said.error) == ("later", "The answer was 503.")
        assert busy.properties == {"status": "503"}
        unread = await done(tmp_path, described, parameters={"p": "ok"})
        assert (unread.went, unread.properties) == ("never", {"status": "200"})
        assert unread.said.error == "The answer is no text, or in an encoding that is not known."


async def test_this_machine_by_its_name_needs_its_address_listed_too(tmp_path: Path):
    async with web({"/": page("x")}) as there:
        url = f"http://localhost:{there.port}/"
        found = await done(tmp_path, request(url=url, hosts=["localhost"]))
        assert "inside this network" in str(found.said.error)
        found = await done(tmp_path, request(url=url, hosts=["localhost", "127.0.0.1", "[::1]"]))
        assert found.went == "done"


# -- certificates --------------------------------------------------------------------------------------


async def test_a_certificate_must_belong_to_the_name_and_not_to_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    there = self_signed(tmp_path, "inside.test")
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    names = resolving(inside_test="127.0.0.1", other_test="127.0.0.1")
    rules = ("*.test", "127.0.0.1")
    async with web({"/": page("private")}, there) as server:
        url = f"https://inside.test:{server.port}/"
        error = await refused(url, *rules, resolve=names)
        assert str(error).startswith(f"A secure connection to inside.test:{server.port} could not be made.")
        assert not error.transient
        monkeypatch.setattr("engine.http._certificates", lambda: trusting)
        assert (await get(url, *rules, resolve=names)).body == b"private"
        for wrong in ("other.test", "127.0.0.1"):
            error = await refused(f"https://{wrong}:{server.port}/", *rules, resolve=names)
            assert "could not be made" in str(error)


async def test_a_redirect_never_leaves_encryption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    there = self_signed(tmp_path, "inside.test")
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    monkeypatch.setattr("engine.http._certificates", lambda: trusting)
    async with web({"/": page(status=302, location="http://inside.test/")}, there) as server:
        url = f"https://inside.test:{server.port}/"
        names = resolving(inside_test="127.0.0.1")
        error = await refused(url, "inside.test", "127.0.0.1", redirects=1, resolve=names)
        assert str(error) == f"inside.test:{server.port} leads on to an address without encryption."
