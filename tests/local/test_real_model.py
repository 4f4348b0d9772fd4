"""Both dialects against a real server and a real, if very small, model: the wiring, not the judgement."""

from dataclasses import replace

import pytest

from engine import Session, TextDecider, Tree
from engine.errors import LlmError
from engine.llm import Completion, Message, Request
from engine.llm.anthropic import AnthropicClient
from engine.llm.endpoint import Endpoint
from engine.llm.openai import OpenAiClient, Structured
from tests.builders import budget, classify, terminal, tree

pytestmark = [pytest.mark.anyio, pytest.mark.local]

TEAMS = ("billing", "technical", "account")
QUESTION = Request(
    (
        Message("system", "You route support tickets. Reply with one JSON object only."),
        Message("user", "Ticket: I was charged twice. Which team: billing, technical or account?"),
    ),
    temperature=0,
    max_tokens=60,
    answers=TEAMS,
)


class Brief:
    """The same client with short replies: a model this small would write on to the end of its memory."""

    def __init__(self, client: Endpoint) -> None:
        self._client = client
        self.provider, self.endpoint, self.model = client.provider, client.endpoint, client.model

    async def complete(self, request: Request) -> Completion:
        return await self._client.complete(replace(request, max_tokens=200))

    async def close(self) -> None:
        await self._client.close()


def routing() -> Tree:
    return tree(
        ask=classify(
            "Which team should get this ticket: I was charged twice?",
            dict.fromkeys(TEAMS, "routed"),
            unknown="open",
        ),
        routed=terminal("routed"),
        open=terminal("open"),
    ).replace(budget=budget(calls=2, seconds=100, tokens=1000))


async def ask(client: Endpoint, request: Request = QUESTION) -> Completion:
    try:
        return await client.complete(request)
    finally:
        await client.close()


async def test_a_schema_makes_even_a_small_model_decide(model_server):
    for stream in (False, True):
        client = Brief(OpenAiClient(model_server, "", structured="json_schema", stream=stream))
        result = await Session(decider=TextDecider(client)).start(routing()).finish()
        await client.close()
        assert (result.outcome, result.verdict, result.usage.llm_calls) == ("Terminal", "routed", 1)
        assert result.classifications[0].answer in TEAMS
        assert min(result.usage.input_tokens, result.usage.output_tokens) > 0


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", [OpenAiClient, AnthropicClient])
async def test_a_question_put_by_the_prompt_alone_is_decided_or_unknown(kind, stream, model_server):
    client = Brief(kind(model_server, "small", stream=stream))
    result = await Session(decider=TextDecider(client)).start(routing()).finish()
    await client.close()
    assert result.outcome in ("Terminal", "Unknown"), result.error
    assert result.failure_kind is None
    assert result.usage.unreported_calls == 0


@pytest.mark.parametrize("kind", [OpenAiClient, AnthropicClient])
async def test_a_stream_says_what_the_whole_reply_says(kind, model_server):
    whole = await ask(kind(model_server, "small"))
    streamed = await ask(kind(model_server, "small", stream=True))
    assert whole.content
    assert (streamed.content, streamed.finish_reason) == (whole.content, whole.finish_reason)
    assert (streamed.input_tokens, streamed.output_tokens) == (whole.input_tokens, whole.output_tokens)


@pytest.mark.parametrize("structured", ["json_schema", "json_object"])
async def test_a_reply_is_held_to_its_form(structured: Structured, model_server):
    reply = await ask(OpenAiClient(model_server, "small", structured=structured))
    assert (reply.content or "").lstrip().startswith("{")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", [OpenAiClient, AnthropicClient])
async def test_a_prompt_that_is_too_long_is_a_permanent_failure(kind, stream, model_server):
    with pytest.raises(LlmError) as caught:
        await ask(kind(model_server, "small", stream=stream), Request((Message("user", "word " * 6000),)))
    assert (caught.value.kind, caught.value.status, caught.value.transient) == ("status", 400, False)


async def test_a_model_that_takes_too_long_is_a_failure_of_the_moment(model_server):
    long = Request((Message("user", "word " * 1500),))
    with pytest.raises(LlmError) as caught:
        await ask(OpenAiClient(model_server, "small", stream=True, total_deadline=0.2), long)
    assert (caught.value.kind, caught.value.transient) == ("timeout", True)
