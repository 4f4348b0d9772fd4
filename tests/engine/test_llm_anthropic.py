import pytest

from engine.errors import LlmError
from engine.llm import Completion, Message, Request
from engine.llm.anthropic import AnthropicClient
from tests.engine.servers import Act, event, message, replies, said, serving, streams

pytestmark = [pytest.mark.anyio, pytest.mark.socket]

KEY = "sk-canary-0123456789"
REQUEST = Request((Message("system", "Be brief."), Message("user", "Yes or no?")), answers=("yes", "no"))


async def ask(act: Act, request: Request = REQUEST, *, stream: bool = False) -> tuple[Completion, object]:
    async with serving(act) as server:
        client = AnthropicClient(server.url, "small", KEY, stream=stream)
        try:
            return await client.complete(request), server.bodies[0]
        finally:
            await client.close()


async def failure(act: Act, *, stream: bool = False) -> LlmError:
    with pytest.raises(LlmError) as caught:
        await ask(act, stream=stream)
    assert KEY not in str(caught.value)
    return caught.value


async def turns(*messages: Message) -> tuple[object, list[tuple[str, str]]]:
    _, sent = await ask(replies(message("yes")), Request(messages))
    assert isinstance(sent, dict)
    return sent.get("system"), [(turn["role"], turn["content"]) for turn in sent["messages"]]


async def test_a_message_is_read_whole_and_the_cache_counts_as_input():
    usage = {
        "input_tokens": 12,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30,
        "output_tokens": 3,
    }
    reply, _ = await ask(replies(message("yes", usage=usage)))
    assert reply == Completion("yes", "stop", None, 62, 3, "served", "id-1")


async def test_a_stream_of_events_is_read_as_the_whole_message_would_have_been():
    reply, sent = await ask(streams(*said("ye", "s")), stream=True)
    assert reply == Completion("yes", "stop", None, 42, 7, "served", "id-1")
    assert isinstance(sent, dict)
    assert sent["stream"] is True


async def test_a_request_keeps_the_policy_apart_and_names_its_limit():
    async with serving(replies(message("yes"))) as server:
        client = AnthropicClient(f"{server.url}/v1", "small", KEY)
        await client.complete(REQUEST)
        await client.close()
    assert server.heads[0].startswith("POST /v1/messages ")
    assert f"x-api-key: {KEY}" in server.heads[0]
    assert "anthropic-version: 2023-06-01" in server.heads[0]
    assert server.bodies == [
        {
            "model": "small",
            "max_tokens": 1024,
            "temperature": 0.1,
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "Yes or no?"}],
        }
    ]


async def test_a_model_and_a_token_limit_of_the_request_go_first():
    _, sent = await ask(replies(message("yes")), Request(REQUEST.messages, model="large", max_tokens=9))
    assert isinstance(sent, dict)
    assert (sent["model"], sent["max_tokens"]) == ("large", 9)


async def test_one_role_speaks_once_at_a_time_and_each_policy_is_said_once():
    pair = Message("system", "Be brief."), Message("user", "Yes or no?")
    assert await turns(*pair, Message("assistant", "maybe"), Message("user", "Only yes or no."), *pair) == (
        "Be brief.",
        [("user", "Yes or no?"), ("assistant", "maybe"), ("user", "Only yes or no.\n\nYes or no?")],
    )


async def test_a_conversation_without_its_beginning_still_begins_with_the_person():
    system, (first, second) = await turns(Message("assistant", "maybe"))
    assert system is None
    assert first[0] == "user"
    assert second == ("assistant", "maybe")


async def test_empty_messages_are_not_sent():
    sent = await turns(Message("system", " "), Message("user", "Yes?"), Message("assistant", ""))
    assert sent == (None, [("user", "Yes?")])


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "pause_turn"),
        (None, None),
    ],
)
async def test_why_a_reply_ended_is_told_in_the_common_words(reason, finish):
    reply, _ = await ask(replies(message("yes", reason)))
    assert (reply.finish_reason, reply.refusal) == (finish, None)


@pytest.mark.parametrize(("text", "refusal"), [("I will not.", "I will not."), ("", "refusal")])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_is_told_apart_from_an_answer(text, refusal, stream):
    act = streams(*said(text, stop_reason="refusal")) if stream else replies(message(text, "refusal"))
    reply, _ = await ask(act, stream=stream)
    assert reply.refusal == refusal


async def test_only_text_is_content():
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "yes"},
        "odd",
        {"type": "text"},
    ]
    reply, _ = await ask(replies({"content": content}))
    assert reply == Completion("yes")
    thought = event({"type": "content_block_delta", "index": 1, "delta": {"type": "thinking_delta"}})
    reply, _ = await ask(streams(thought, *said("yes")), stream=True)
    assert reply.content == "yes"


@pytest.mark.parametrize("body", [{"id": "x"}, {"content": None}, {"content": "yes"}])
async def test_a_message_without_content_is_a_transient_fault(body):
    error = await failure(replies(body))
    assert (error.kind, error.transient) == ("protocol", True)


@pytest.mark.parametrize(
    ("kind", "status", "transient"),
    [
        ("overloaded_error", 529, True),
        ("rate_limit_error", 429, True),
        ("api_error", 500, True),
        ("timeout_error", 504, True),
        ("invalid_request_error", 400, False),
        ("authentication_error", 401, False),
        ("billing_error", 402, False),
        ("permission_error", 403, False),
        ("not_found_error", 404, False),
        ("request_too_large", 413, False),
        ("new_error", None, True),
    ],
)
async def test_an_error_says_the_same_with_its_status_at_200_and_inside_a_stream(kind, status, transient):
    body = {"type": "error", "error": {"type": kind, "message": f"bad {KEY}"}}
    errors = [
        await failure(replies(body)),
        await failure(streams(said("ye")[0], event(body, "error")), stream=True),
    ]
    if status:
        errors.append(await failure(replies(body, status=status)))
    for error in errors:
        assert (error.kind, error.status, error.transient) == ("status", status, transient)
        assert kind in str(error)


@pytest.mark.parametrize("count", range(6))
async def test_a_stream_that_breaks_off_is_a_transient_fault(count):
    error = await failure(streams(b"", *said("yes")[:count]), stream=True)
    assert (error.kind, error.transient) == ("protocol", True)


async def test_neither_the_key_nor_what_is_in_an_address_is_shown():
    client = AnthropicClient("https://me:secret@host.example/v1?key=secret", "small", KEY)
    assert client.endpoint == "https://host.example/v1"
    assert repr(client) == "AnthropicClient('https://host.example/v1', 'small')"
