"""Streams: how bytes become events, and how events become one whole answer or a failure."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import LlmError
from engine.http import EventReader
from engine.llm import Completion, Message, Request
from engine.llm.openai import OpenAiClient
from tests.engine.servers import DONE, Act, chunk, completion, event, head, replies, serving, silence, streams

pytestmark = [pytest.mark.anyio, pytest.mark.socket]

REQUEST = Request((Message("user", "Yes or no?"),))
WHOLE = (chunk("ye"), chunk("s"), chunk(finish="stop"), DONE)
USAGE = event({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}})


def events_of(*pieces: bytes) -> list[tuple[str, str]]:
    reader = EventReader()
    return [one for piece in pieces for one in reader.feed(piece)] + list(reader.end())


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("data: a\n\ndata: b\n\n", [("", "a"), ("", "b")]),
        ("event: odd\ndata: a\n\ndata: b\n\n", [("odd", "a"), ("", "b")]),
        ("data: a\ndata:b\ndata:  c\n\n", [("", "a\nb\n c")]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("", "a"), ("", "b"), ("", "c")]),
        (": a comment\n\n: OPENROUTER PROCESSING\n\ndata: a\n\n", [("", "a")]),
        ("id: 7\nretry: 9\nodd\ndata: a\n\n", [("", "a")]),
        ("data\n\n", [("", "")]),
        ("event: nothing to say\n\n", []),
        ("\ufeffdata: a\n\n", [("", "a")]),
        ("data: a", [("", "a")]),
        ("data: a\r\n", [("", "a")]),
        ("data: ü€😀\u2028\x85x\n\n", [("", "ü€😀\u2028\x85x")]),
        ("", []),
    ],
)
def test_bytes_become_events(text, events):
    assert events_of(text.encode()) == events


@given(st.data())
def test_where_a_stream_is_split_makes_no_difference(data):
    text = "\ufeffevent: odd\r\ndata: ü€😀\r\n\r\n: comment\r\rdata: a\ndata: b\r\n\ndata: last"
    whole = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)))))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert events_of(*pieces) == [("odd", "ü€😀"), ("", "a\nb"), ("", "last")]


async def ask(act: Act, *, total: float = 5.0, idle: float = 5.0) -> Completion:
    async with serving(act) as server:
        client = OpenAiClient(server.url, "small", stream=True, total_deadline=total, idle_deadline=idle)
        try:
            return await client.complete(REQUEST)
        finally:
            await client.close()


async def failure(act: Act, *, total: float = 5.0, idle: float = 5.0) -> LlmError:
    with pytest.raises(LlmError) as caught:
        await ask(act, total=total, idle=idle)
    return caught.value


async def test_a_stream_is_read_as_the_whole_reply_would_have_been():
    reply = await ask(streams(*WHOLE[:3], USAGE, DONE))
    assert reply == Completion("yes", "stop", None, 12, 3, "served", "id-1")


async def test_a_stream_is_asked_for_with_its_usage():
    async with serving(streams(*WHOLE)) as server:
        client = OpenAiClient(server.url, "small", stream=True)
        await client.complete(REQUEST)
        await client.close()
    (sent,) = server.bodies
    assert isinstance(sent, dict)
    assert (sent["stream"], sent["stream_options"]) == (True, {"include_usage": True})


async def test_the_last_usage_counts_and_null_is_none():
    first = chunk("yes", usage={"prompt_tokens": 1, "completion_tokens": 1})
    reply = await ask(streams(first, USAGE, chunk(finish="stop", usage=None), DONE))
    assert (reply.input_tokens, reply.output_tokens) == (12, 3)


@pytest.mark.parametrize(
    "pieces",
    [
        (chunk("yes"), DONE),
        (chunk("yes"), chunk(finish="stop")),
        (chunk("yes", finish="stop"),),
        (*WHOLE, chunk(" and no"), b"data: {{{\n\n"),
        (b": hello\n\n", event({"choices": [{"delta": {"role": "assistant"}}]}), *WHOLE),
    ],
    ids=["no finish", "no DONE", "one chunk", "data after DONE", "signs of life"],
)
async def test_an_answer_that_is_complete_by_protocol_is_taken(pieces):
    assert (await ask(streams(*pieces))).content == "yes"


async def test_a_stream_that_has_said_all_need_not_end():
    assert (await ask(streams(*WHOLE, close=False))).content == "yes"
    assert (await ask(streams(*WHOLE, *[b": alive\n\n"] * 50, pause=0.01), idle=0.3)).content == "yes"


async def test_the_connection_of_an_ended_stream_is_used_again():
    async def two_replies(writer: asyncio.StreamWriter) -> None:
        body = b"".join(WHOLE)
        for _ in range(2):
            writer.write(head(200, {"content-type": "text/event-stream", "content-length": len(body)}) + body)
            await asyncio.sleep(0.05)

    async with serving(two_replies) as server:
        client = OpenAiClient(server.url, "small", stream=True)
        for _ in range(2):
            assert (await client.complete(REQUEST)).content == "yes"
        await client.close()
    assert len(server.heads) == 1


async def test_an_endpoint_may_answer_at_once_all_the_same():
    assert (await ask(replies(completion("yes")))).content == "yes"


async def test_a_refusal_comes_in_pieces_too():
    parts = [event({"choices": [{"delta": {"refusal": text}}]}) for text in ("I will", " not.")]
    reply = await ask(streams(*parts, chunk(finish="stop"), DONE))
    assert (reply.content, reply.refusal) == ("", "I will not.")


async def test_of_several_choices_the_first_counts():
    other = event({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]})
    assert (await ask(streams(other, *WHOLE))).content == "yes"


@pytest.mark.parametrize(
    "pieces",
    [
        (b"",),
        (b": only comments\n\n",),
        (DONE,),
        (chunk("yes"),),
        (chunk("yes"), USAGE),
        (chunk("ye"), b'data: {"choices": [{"del'),
        (chunk("ye"), b"data: no json\n\n"),
        (chunk("ye"), event([1])),
        (b'data: "\xff"\n\n', *WHOLE),
    ],
)
async def test_a_partial_answer_is_a_transient_fault(pieces):
    error = await failure(streams(*pieces))
    assert (error.kind, error.transient) == ("protocol", True)
    assert "ye" not in str(error)


@pytest.mark.parametrize(
    ("told", "status", "transient"),
    [
        (event({"error": {"code": 429, "message": "slow down"}}), 429, True),
        (event({"error": {"code": "invalid_api_key"}}), 401, False),
        (event({"error": "it broke"}), None, True),
        (event({"type": "server_error"}, "error"), 500, True),
        (event("it broke", "error"), None, True),
    ],
)
async def test_an_error_inside_a_good_stream_is_a_failure_by_its_inner_code(told, status, transient):
    error = await failure(streams(chunk("ye"), told, *WHOLE))
    assert (error.kind, error.status, error.transient) == ("status", status, transient)
    assert "slow down" not in str(error)


async def test_a_stream_longer_than_the_cap_is_refused():
    error = await failure(streams(b"data: " + b"x" * (4 * 1024 * 1024)))
    assert (error.kind, error.transient) == ("protocol", True)
    assert "larger than" in str(error)


EMPTY = chunk("")


@pytest.mark.parametrize(
    ("act", "total", "idle", "words"),
    [
        (
            streams(*[b": alive\n\n"] * 99, pause=0.02),
            5,
            0.1,
            "LLM streaming: no response received within 0.1s (model may be unavailable or overloaded)",
        ),
        (
            streams(chunk("y"), *[EMPTY] * 99, pause=0.02),
            5,
            0.15,
            "LLM streaming idle timeout: no meaningful chunk received for 0.15s (after 1 chunks)",
        ),
        (
            streams(*[chunk("y")] * 3, close=False),
            0.2,
            5,
            "LLM streaming completion timeout: total duration exceeded 0.2s after 3 chunks",
        ),
        (
            silence,
            0.1,
            5,
            "LLM streaming: no response received within 0.1s (model may be unavailable or overloaded)",
        ),
    ],
    ids=["signs of life", "empty deltas", "endless", "silence"],
)
async def test_a_stream_that_takes_too_long_says_how(act, total, idle, words):
    error = await failure(act, total=total, idle=idle)
    assert (error.kind, error.transient, str(error)) == ("timeout", True, words)


async def test_a_slow_but_steady_stream_outlasts_the_idle_deadline():
    steady = streams(*[chunk("y")] * 10, chunk(finish="stop"), DONE, pause=0.03)
    assert (await ask(steady, idle=0.2)).content == "y" * 10


async def test_a_whole_reply_that_takes_too_long_says_so():
    async with serving(silence) as server:
        client = OpenAiClient(server.url, "small", total_deadline=0.1)
        with pytest.raises(LlmError) as caught:
            await client.complete(REQUEST)
        await client.close()
    assert str(caught.value) == (
        "LLM buffered completion timeout: no response received within 0.1s "
        "(model may be unavailable or overloaded)"
    )
