"""Tools on the wire: how both dialects are told of them, how calls are read, whole and from streams."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from engine.agent import Agent, AgentRequest, AgentSettings, ModelChunk
from engine.errors import LlmError
from engine.llm import (
    CallingMessage,
    Completion,
    LlmClient,
    Message,
    Request,
    ToolCall,
    ToolMessage,
)
from engine.llm.anthropic import AnthropicClient
from engine.llm.openai import OpenAiClient
from engine.tools import ToolDefinition
from tests.engine.agents import Remembers, names, of, start
from tests.engine.servers import (
    DONE,
    Act,
    chunk,
    completion,
    event,
    message,
    replies,
    said,
    serving,
    silence,
    streams,
)

pytestmark = [pytest.mark.anyio, pytest.mark.socket]

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"url": {"type": "string"}}}
FETCH = ToolDefinition(name="fetch", description="Fetches.", parameters=SCHEMA)
CONVERSATION = (
    Message("system", "Be brief."),
    Message("user", "How much?"),
    CallingMessage(
        "assistant", "Let me see.", (ToolCall("c1", "fetch", '{"url":"u"}'), ToolCall("c2", "x", "{"))
    ),
    ToolMessage("tool", "5 EUR", "c1"),
    ToolMessage("tool", "(empty)", "c2"),
)


def client(url: str, dialect: str, **options: Any) -> LlmClient:
    kind = OpenAiClient if dialect == "openai" else AnthropicClient
    return kind(url, "small", **options)


async def asked(
    act: Act, request: Request, dialect: str = "openai", *, stream: bool = False, **options: Any
) -> tuple[Completion, Any]:
    async with serving(act) as server:
        made = client(server.url, dialect, stream=stream, **options)
        try:
            return await made.complete(request), server.bodies[0]
        finally:
            await made.close()


# ------------------------------------------------------------------------------------------ what is sent


async def test_openai_is_told_of_tools_and_of_what_came_of_calls():
    _, sent = await asked(replies(completion("yes")), Request(CONVERSATION, tools=(FETCH,)))
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "fetch", "description": "Fetches.", "parameters": SCHEMA}}
    ]
    assert sent["messages"][2:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "fetch", "arguments": '{"url":"u"}'}},
                {"id": "c2", "type": "function", "function": {"name": "x", "arguments": "{"}},
            ],
        },
        {"role": "tool", "content": "5 EUR", "tool_call_id": "c1"},
        {"role": "tool", "content": "(empty)", "tool_call_id": "c2"},
    ]


async def test_anthropic_is_told_of_tools_and_of_what_came_of_calls():
    conversation = (*CONVERSATION, Message("user", "And now?"))
    _, sent = await asked(replies(message("yes")), Request(conversation, tools=(FETCH,)), "anthropic")
    assert sent["tools"] == [{"name": "fetch", "description": "Fetches.", "input_schema": SCHEMA}]
    assert sent["messages"] == [
        {"role": "user", "content": "How much?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "fetch", "input": {"url": "u"}},
                {"type": "tool_use", "id": "c2", "name": "x", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "5 EUR"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "(empty)"},
                {"type": "text", "text": "And now?"},
            ],
        },
    ]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_without_tools_none_are_named(dialect):
    act = replies(completion("yes") if dialect == "openai" else message("yes"))
    _, sent = await asked(act, Request((Message("user", "Hi"),)), dialect)
    assert "tools" not in sent


@pytest.mark.parametrize("structured", ["json_schema", "json_object"])
async def test_a_reply_without_allowed_answers_is_held_to_no_form(structured):
    _, sent = await asked(
        replies(completion("yes")), Request((Message("user", "Hi"),)), structured=structured
    )
    assert "response_format" not in sent


# ------------------------------------------------------------------------------------------ what comes back


def openai_reply(*made: object, content: object = None) -> Mapping[str, object]:
    said_so = {"role": "assistant", "content": content, "tool_calls": list(made)}
    return {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": said_so}]}


def function(name: object = "fetch", arguments: object = '{"url":"u"}', **more: object) -> dict[str, object]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ([function(id="c1")], [ToolCall("c1", "fetch", '{"url":"u"}')]),
        (
            [function(), function(None, None, id=None)],
            [ToolCall("call_0", "fetch", '{"url":"u"}'), ToolCall("call_1", "unknown_1", "")],
        ),
        ([function(arguments={"url": "u"}, id="c1")], [ToolCall("c1", "fetch", '{"url": "u"}')]),
        ([{"id": "c1"}, "odd"], [ToolCall("c1", "unknown_0", "")]),
    ],
)
async def test_openai_calls_are_read_whatever_is_missing(made, found):
    reply, _ = await asked(replies(openai_reply(*made)), Request(CONVERSATION))
    assert list(reply.tool_calls) == found
    assert (reply.content, reply.finish_reason) == (None, "tool_calls")


@pytest.mark.parametrize("made", [None, "odd", {}, 5])
async def test_what_is_no_list_of_calls_is_none(made):
    body = {"choices": [{"message": {"content": "yes", "tool_calls": made}}]}
    reply, _ = await asked(replies(body), Request(CONVERSATION))
    assert (reply.content, reply.tool_calls) == ("yes", ())


async def test_anthropic_calls_are_read_beside_the_text():
    content = [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "c1", "name": "fetch", "input": {"url": "u"}},
        {"type": "tool_use"},
    ]
    reply, _ = await asked(
        replies({"content": content, "stop_reason": "tool_use"}), Request(CONVERSATION), "anthropic"
    )
    assert (reply.content, reply.finish_reason) == ("Let me see.", "tool_calls")
    assert reply.tool_calls == (ToolCall("c1", "fetch", '{"url": "u"}'), ToolCall("call_1", "unknown_1", ""))


def delta(*parts: object, **more: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"tool_calls": list(parts)}, **more}]})


def piece(text: str | None = None, **more: object) -> dict[str, object]:
    name = more.pop("name", None)
    return {"function": {"name": name, "arguments": text}, **more}


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        (
            [
                delta(piece("", index=0, id="c1", name="fetch")),
                delta(piece('{"url"', index=0)),
                delta(piece("{}", index=1, id="c2", name="other")),
                delta(piece(':"u"}', index=0)),
            ],
            [ToolCall("c1", "fetch", '{"url":"u"}'), ToolCall("c2", "other", "{}")],
        ),
        (
            [delta(piece("{}", index=2)), delta(piece("{}", index=1, name="b"))],
            [ToolCall("call_1", "b", "{}"), ToolCall("call_2", "unknown_2", "{}")],
        ),
        (
            [
                delta(piece("{", id="c1", name="a")),
                delta(piece("}")),
                delta(piece("{}", id="c2", name="b")),
            ],
            [ToolCall("c1", "a", "{}"), ToolCall("c2", "b", "{}")],
        ),
        (
            [
                delta(piece("{", index=0, id="c1", name="a")),
                delta(piece("}", index=0, id="c1", name="a")),
            ],
            [ToolCall("c1", "a", "{}")],
        ),
    ],
    ids=["by index", "nothing but an index", "no index", "repeated names"],
)
async def test_openai_calls_are_put_together_from_a_stream(pieces, found):
    act = streams(chunk("Let me see."), *pieces, chunk(finish="tool_calls"), DONE)
    reply, _ = await asked(act, Request(CONVERSATION), stream=True)
    assert (reply.content, list(reply.tool_calls)) == ("Let me see.", found)


def block(index: int, begin: Mapping[str, object], *parts: Mapping[str, object]) -> Sequence[bytes]:
    return [
        event({"type": "content_block_start", "index": index, "content_block": begin}),
        *(event({"type": "content_block_delta", "index": index, "delta": part}) for part in parts),
        event({"type": "content_block_stop", "index": index}),
    ]


@pytest.mark.parametrize(
    ("texts", "arguments"),
    [(['{"url"', ':"u"}'], '{"url":"u"}'), ([], ""), (["{{"], "{{")],
)
async def test_anthropic_calls_are_put_together_from_a_stream(texts, arguments):
    parts = [{"type": "input_json_delta", "partial_json": text} for text in texts]
    whole = said("Let me see.", stop_reason="tool_use")
    use = {"type": "tool_use", "id": "c1", "name": "fetch", "input": {}}
    act = streams(*whole[:5], *block(1, use, *parts), *whole[5:])
    reply, _ = await asked(act, Request(CONVERSATION), "anthropic", stream=True)
    assert (reply.content, reply.finish_reason) == ("Let me see.", "tool_calls")
    assert reply.tool_calls == (ToolCall("c1", "fetch", arguments),)


async def test_a_stream_that_breaks_off_in_a_call_is_a_failure():
    act = streams(delta(piece('{"url"', index=0, id="c1", name="fetch")))
    with pytest.raises(LlmError) as caught:
        await asked(act, Request(CONVERSATION), stream=True)
    assert caught.value.transient


# ------------------------------------------------------------------------------------------ pieces, deadlines


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_each_piece_of_content_is_told_as_it_comes(dialect):
    whole = [chunk("ye"), chunk("s"), chunk(finish="stop"), DONE]
    heard: list[str] = []
    act = streams(*(whole if dialect == "openai" else said("ye", "s")))
    reply, _ = await asked(act, Request(CONVERSATION, on_text=heard.append), dialect, stream=True)
    assert (heard, reply.content) == (["ye", "s"], "yes")


@pytest.mark.parametrize(
    ("stream", "deadlines", "words"),
    [
        (False, {"total_deadline": 0.1}, "LLM buffered completion timeout"),
        (True, {"total_deadline": 0.1}, "LLM streaming"),
        (True, {"idle_deadline": 0.1}, "LLM streaming"),
    ],
)
async def test_the_deadlines_of_a_request_go_before_the_clients(stream, deadlines, words):
    with pytest.raises(LlmError, match=words) as caught:
        await asked(silence, Request(CONVERSATION, **deadlines), stream=stream)
    assert caught.value.kind == "timeout"


# ------------------------------------------------------------------------------------------ an agent


def first(dialect: str, *, stream: bool) -> Act:
    """A server's first answer: some words, and a call."""
    if dialect == "openai":
        call = function(id="c1")
        if not stream:
            return replies(openai_reply(call, content="Let me see."))
        return streams(
            chunk("Let me"),
            chunk(" see."),
            delta(piece('{"url":"u"}', index=0, id="c1", name="fetch")),
            chunk(finish="tool_calls"),
            DONE,
        )
    use = {"type": "tool_use", "id": "c1", "name": "fetch", "input": {}}
    if not stream:
        content = [{"type": "text", "text": "Let me see."}, {**use, "input": {"url": "u"}}]
        return replies({"content": content, "stop_reason": "tool_use"})
    whole = said("Let me", " see.", stop_reason="tool_use")
    given = block(1, use, {"type": "input_json_delta", "partial_json": '{"url":"u"}'})
    return streams(*whole[:6], *given, *whole[6:])


def second(dialect: str, *, stream: bool) -> Act:
    if dialect == "openai":
        return streams(chunk("5"), chunk(" EUR", "stop"), DONE) if stream else replies(completion("5 EUR"))
    return streams(*said("5", " EUR")) if stream else replies(message("5 EUR"))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_an_agent_uses_tools_over_either_dialect_whole_or_streamed(dialect, stream):
    fetch = Remembers("fetch", "Pro: 5 EUR", parameters=SCHEMA)
    async with serving(first(dialect, stream=stream), second(dialect, stream=stream)) as server:
        made = client(server.url, dialect, stream=stream)
        run, told = start(Agent(client=made, tools=(fetch,)), AgentRequest("How much?"))
        result = await run.finish()
        await made.close()
    assert (result.output, fetch.invocations[0].arguments) == ("5 EUR", {"url": "u"})
    sent: Any = server.bodies[1]
    assert "Pro: 5 EUR" in str(sent["messages"])
    chunks = [(c.content, c.turn, c.is_final) for c in of(ModelChunk, told)]
    if stream:
        assert chunks == [
            ("Let me", 0, False),
            (" see.", 0, False),
            ("5", 1, False),
            (" EUR", 1, False),
            ("", 1, True),
        ]
    else:
        assert chunks == [("Let me see.", 0, False), ("5 EUR", 1, True)]
    assert names(told)[-1] == "AgentRunCompleted"


async def test_a_streamed_model_that_falls_silent_is_followed_by_the_next():
    async with serving(
        by_model={"slow": streams(chunk("5"), close=False), "quick": second("openai", stream=True)}
    ) as server:
        made = client(server.url, "openai", stream=True)
        settings = AgentSettings(
            model="slow",
            model_fallback_chain=("quick",),
            enable_model_failover=True,
            idle_timeout_seconds=0.1,
            max_turns=1,
        )
        result = await Agent(client=made, settings=settings).start(AgentRequest("How much?")).finish()
        await made.close()
    assert (result.output, server.models) == ("5 EUR", ["slow", "quick"])
    assert "Model 'slow' timed out; switching to 'quick' (conversation continues)" in result.steps


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        (False, "LLM buffered completion timeout: no response received within 0.1s"),
        (True, "LLM streaming: no response received within 0.1s"),
    ],
)
async def test_a_silent_model_ends_an_agent_with_a_plain_reason(stream, words):
    async with serving(silence) as server:
        made = client(server.url, "openai", stream=stream)
        asked_for = AgentRequest("How much?", parameters={"completion_timeout_seconds": 0.1})
        result = await Agent(client=made).start(asked_for).finish()
        await made.close()
    assert result.failure_kind == "LlmTimeout"
    assert result.reasoning == f"{words} (model may be unavailable or overloaded) on turn 0"
