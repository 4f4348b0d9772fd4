"""Keys: where they come from, and that they are shown nowhere."""

import logging
import sys
import traceback
from dataclasses import replace
from types import SimpleNamespace

import pytest

from engine.errors import LlmError
from engine.llm import Message, Request
from engine.llm.anthropic import AnthropicClient
from engine.llm.keys import key_from
from engine.llm.openai import OpenAiClient
from tests.engine.servers import completion, head, replies, reset, sends, serving, silence, streams

KEY = "sk-canary-0123456789"


class Keyring:
    """A keyring with one key, or one that fails in its own way."""

    def __init__(self, broken: Exception | None = None) -> None:
        self.broken = broken

    def get_password(self, service: str, name: str) -> str | None:
        if self.broken:
            raise self.broken
        return f"{KEY}\n" if (service, name) == ("treewright", "MY_KEY") else None


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)


def test_a_key_comes_from_the_variable_that_is_named(monkeypatch):
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    assert key_from("MY_KEY") == KEY


def test_a_keyring_is_asked_when_the_variable_holds_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", Keyring())
    monkeypatch.setenv("MY_KEY", " ")
    assert key_from("MY_KEY") == KEY
    monkeypatch.setenv("MY_KEY", "from-the-variable")
    assert key_from("MY_KEY") == "from-the-variable"


@pytest.mark.parametrize("keyring", [None, Keyring(), Keyring(RuntimeError(KEY)), SimpleNamespace()])
def test_without_a_key_or_a_keyring_that_works_the_variable_is_named(keyring, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    with pytest.raises(LlmError) as caught:
        key_from("NO_KEY")
    assert str(caught.value) == "Neither the environment variable NO_KEY nor a keyring holds a key."
    assert (caught.value.kind, caught.value.transient) == ("request", False)
    assert KEY not in "".join(traceback.format_exception(caught.value))


FAULTS = {
    "quoted by the endpoint": replies({"error": {"code": KEY, "message": f"bad key {KEY}"}}, status=401),
    "quoted in a good reply": replies({"error": {"type": KEY, "message": KEY}}),
    "quoted in a header": replies(b"{}", status=302, headers={"location": f"https://x/?key={KEY}"}),
    "quoted in HTML": replies(f"<p>{KEY}</p>".encode(), content_type=f"text/{KEY}; a={KEY}"),
    "quoted in a stream": streams(f"data: {KEY}\n\n".encode()),
    "no HTTP": sends(KEY.encode() + b"\r\n\r\n"),
    "cut": sends(head(200, {"content-length": 99, "x-key": KEY}) + KEY.encode()),
    "broken": reset,
    "silent": silence,
}


@pytest.mark.anyio
@pytest.mark.socket
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", [OpenAiClient, AnthropicClient])
@pytest.mark.parametrize("act", FAULTS.values(), ids=FAULTS.keys())
async def test_no_failure_shows_a_key_or_a_prompt(kind, act, stream, caplog):
    caplog.set_level(logging.DEBUG)
    prompt = "secret-prompt"
    async with serving(act) as server:
        address = f"{server.url.replace('//', f'//me:{KEY}@')}/v1?key={KEY}"
        client = kind(address, "small", KEY, stream=stream, total_deadline=0.3)
        with pytest.raises(LlmError) as caught:
            await client.complete(Request((Message("user", prompt),)))
        await client.close()
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(client)
    for secret in (KEY, prompt):
        assert secret not in shown
        assert secret not in caplog.text


@pytest.mark.anyio
@pytest.mark.socket
async def test_a_good_reply_leaves_no_key_in_a_log_or_a_repr(caplog):
    caplog.set_level(logging.DEBUG)
    async with serving(replies(completion("yes"))) as server:
        client = OpenAiClient(f"{server.url}/v1?key={KEY}", "small", KEY)
        request = Request((Message("user", "secret-prompt"),), answers=("secret-answer",))
        reply = await client.complete(request)
        await client.close()
    shown = f"{client!r} {request!r} {replace(reply, content='secret-reply')!r} {caplog.text}"
    assert KEY not in shown
    assert "secret" not in shown
