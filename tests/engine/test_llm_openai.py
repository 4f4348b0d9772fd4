import asyncio

import pytest

from engine.errors import LlmError
from engine.llm import Completion, Message, Request
from engine.llm.failures import is_transient
from engine.llm.openai import OpenAiClient, Structured
from tests.engine.servers import Act, completion, replies, sends, serving, silence

pytestmark = [pytest.mark.anyio, pytest.mark.socket]

KEY = "sk-canary-0123456789"
REQUEST = Request((Message("system", "Be brief."), Message("user", "Yes or no?")), answers=("yes", "no"))


async def ask(
    act: Act, request: Request = REQUEST, structured: Structured = "prompt"
) -> tuple[Completion, object]:
    async with serving(act) as server:
        client = OpenAiClient(server.url, "small", KEY, structured)
        try:
            return await client.complete(request), server.bodies[0]
        finally:
            await client.close()


async def failure(act: Act, total_deadline: float = 5.0) -> LlmError:
    async with serving(act) as server:
        client = OpenAiClient(server.url, "small", KEY, total_deadline=total_deadline)
        with pytest.raises(LlmError) as caught:
            await client.complete(REQUEST)
        await client.close()
    assert KEY not in str(caught.value)
    assert "Yes or no?" not in str(caught.value)
    return caught.value


async def test_a_completion_is_read_whole():
    reply, _ = await ask(replies(completion("yes", usage={"prompt_tokens": 12, "completion_tokens": 3})))
    assert reply == Completion("yes", "stop", None, 12, 3, "served", "id-1")


async def test_a_request_carries_messages_temperature_and_the_clients_model():
    _, sent = await ask(replies(completion("yes")))
    assert sent == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Yes or no?"}],
        "temperature": 0.1,
        "model": "small",
    }


async def test_a_model_and_a_token_limit_of_the_request_go_first():
    _, sent = await ask(replies(completion("yes")), Request(REQUEST.messages, model="large", max_tokens=9))
    assert isinstance(sent, dict)
    assert (sent["model"], sent["max_tokens"]) == ("large", 9)


async def test_a_schema_holds_the_reply_to_the_allowed_answers():
    _, sent = await ask(replies(completion("yes")), structured="json_schema")
    assert isinstance(sent, dict)
    form = sent["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["properties"]["answer"]["enum"] == ["yes", "no"]
    assert form["schema"]["required"] == ["answer", "observation", "confidence"]


async def test_an_endpoint_can_be_asked_for_some_json_object():
    _, sent = await ask(replies(completion("yes")), structured="json_object")
    assert isinstance(sent, dict)
    assert sent["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    ("status", "transient"),
    [
        *((status, True) for status in (408, 425, 429, 500, 502, 503, 504, 520, 529, 599)),
        *((status, False) for status in (302, 400, 401, 402, 403, 404, 405, 409, 413, 422, 501, 505)),
    ],
)
async def test_a_status_is_transient_or_permanent(status, transient):
    error = await failure(replies({"error": {"message": f"bad {KEY}"}}, status=status))
    assert (error.kind, error.status, error.transient) == ("status", status, transient)
    assert f"HTTP {status}" in str(error)


async def test_a_failure_tells_the_endpoints_own_code_and_its_wait():
    body = {"error": {"code": "insufficient_quota", "message": "You are out of money."}}
    error = await failure(replies(body, status=429, headers={"retry-after": "7"}))
    assert "HTTP 429: too many requests (insufficient_quota)" in str(error)
    assert error.retry_after == 7


@pytest.mark.parametrize(
    ("failures", "transient"),
    [
        ({}, True),
        ({"Insufficient_Quota": "permanent"}, False),
        ({"429": "permanent"}, False),
        ({"429": "permanent", "insufficient_quota": "transient"}, True),
    ],
)
async def test_what_a_failure_is_can_be_configured_by_code_and_then_by_status(failures, transient):
    async with serving(replies({"error": {"code": "insufficient_quota"}}, status=429)) as server:
        client = OpenAiClient(server.url, "small", failures=failures)
        with pytest.raises(LlmError) as caught:
            await client.complete(REQUEST)
        await client.close()
    assert is_transient(caught.value) is transient


async def test_a_permanent_status_stays_so_whatever_is_configured():
    async with serving(replies({}, status=404)) as server:
        client = OpenAiClient(server.url, "small", failures={"404": "transient"})
        with pytest.raises(LlmError) as caught:
            await client.complete(REQUEST)
        await client.close()
    assert not caught.value.transient


async def test_an_error_page_is_told_by_its_status_only():
    error = await failure(replies(b"<html>Cloudflare</html>", status=520, content_type="text/html"))
    assert "HTTP 520" in str(error)
    assert "Cloudflare" not in str(error)


@pytest.mark.parametrize(
    ("error", "status", "transient"),
    [
        ({"code": 429, "message": "slow down"}, 429, True),
        ({"code": "502"}, 502, True),
        ({"code": 401}, 401, False),
        ({"code": "server_error"}, 500, True),
        ({"type": "invalid_request_error"}, 400, False),
        ({"code": "odd", "message": "HTTP 400"}, None, True),
        ("something broke", None, True),
    ],
)
async def test_an_error_at_200_is_judged_by_its_inner_code(error, status, transient):
    caught = await failure(replies({"error": error, "choices": []}))
    assert (caught.status, caught.transient) == (status, transient)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html>hello</html>", "text/html"),
        (b"plain words", "text/plain"),
        (b"", "application/json"),
        (b'{"choices": [', "application/json"),
        (b"\xff\xfe{}", "application/json"),
        (b"[1]", "application/json"),
        (b"null", "application/json"),
        (b"[" * 200_000, "application/json"),
        (b'{"choices": []}', "application/json"),
        (b'{"choices": null}', "application/json"),
        (b'{"choices": [null]}', "application/json"),
        (b'{"id": "x"}', "application/json"),
    ],
)
async def test_a_body_at_200_that_is_no_completion_is_a_transient_fault(body, content_type):
    error = await failure(replies(body, content_type=content_type))
    assert (error.kind, error.transient) == ("protocol", True)


async def test_html_at_200_is_named():
    assert "text/html" in str(
        await failure(replies(b"<p>Log in</p>", content_type="text/html; charset=latin-1"))
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, None),
        ("", ""),
        ([{"type": "text", "text": "ye"}, {"type": "text", "text": "s"}, "odd", {"type": "image"}], "yes"),
        (5, None),
        ("half \ud800", "half ?"),
    ],
)
async def test_content_is_text_or_nothing(content, text):
    reply, _ = await ask(replies(completion(content)))
    assert reply.content == text


@pytest.mark.parametrize(
    "choice", [{"message": None, "finish_reason": "content_filter"}, {"finish_reason": "content_filter"}]
)
async def test_a_choice_without_a_message_keeps_its_finish_reason(choice):
    reply, _ = await ask(replies({"choices": [choice]}))
    assert (reply.content, reply.finish_reason) == (None, "content_filter")


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "refusal": "I will not."},
        {"content": [{"type": "refusal", "refusal": "I will not."}]},
    ],
)
async def test_a_refusal_is_kept_apart_from_content(message):
    reply, _ = await ask(replies({"choices": [{"message": message}]}))
    assert reply.refusal == "I will not."
    assert not reply.content


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": -1},
        {"prompt_tokens": 10**12},
        {"prompt_tokens": True},
        {"prompt_tokens": "9"},
        7,
    ],
)
async def test_tokens_that_were_not_reported_are_unknown(usage):
    reply, _ = await ask(replies(completion("yes", usage=usage)))
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


async def test_a_mark_in_front_of_the_body_and_members_nobody_knows_do_no_harm():
    body = b'\xef\xbb\xbf{"error": null, "extra": {"a": [1]}, "choices": [{"message": {"content": "yes"}}]}'
    reply, _ = await ask(replies(body))
    assert reply.content == "yes"


async def test_silence_is_a_transient_time_out():
    error = await failure(silence, total_deadline=0.1)
    assert (error.kind, error.transient) == ("timeout", True)


async def test_a_reply_cut_in_the_middle_is_a_transient_fault():
    error = await failure(sends(b'HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"choices": [{"mess'))
    assert (error.kind, error.transient) == ("protocol", True)


async def test_the_first_of_two_choices_counts():
    both = {"choices": [{"message": {"content": "yes"}}, {"message": {"content": "no"}}]}
    reply, _ = await ask(replies(both))
    assert reply.content == "yes"


async def test_four_requests_share_one_client():
    async with serving(replies(completion("yes"))) as server:
        client = OpenAiClient(server.url, "small")
        done = await asyncio.gather(*(client.complete(REQUEST) for _ in range(4)))
        await client.close()
    assert [reply.content for reply in done] == ["yes"] * 4
    assert not any("authorization" in head.lower() for head in server.heads)


@pytest.mark.parametrize(
    ("base_url", "endpoint"),
    [
        ("http://localhost:8080", "http://localhost:8080/v1"),
        ("https://host.example/openai/", "https://host.example/openai"),
        ("https://me:secret@host.example/v1?api-version=1&key=secret#secret", "https://host.example/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
    ],
)
async def test_an_endpoint_is_named_without_credentials_or_query(base_url, endpoint):
    client = OpenAiClient(base_url, "small", KEY)
    assert client.endpoint == endpoint
    assert "secret" not in repr(client)
    assert KEY not in repr(client)


async def test_a_query_of_the_base_address_is_kept_in_requests():
    async with serving(replies(completion("yes"))) as server:
        client = OpenAiClient(f"{server.url}/v2/?api-version=1", "small")
        await client.complete(REQUEST)
        await client.close()
    assert server.heads[0].startswith("POST /v2/chat/completions?api-version=1 ")


@pytest.mark.parametrize(
    "base_url", ["", "localhost:8080", "ftp://host", "http://", "http://[::1", "http://host:port"]
)
async def test_an_address_that_is_none_is_refused_at_once_and_not_quoted(base_url):
    with pytest.raises(LlmError, match="must start with http:// or https://") as caught:
        OpenAiClient(base_url, "small")
    assert not caught.value.transient
