"""Agents over a real server and a real, if very small, model: what they are told and told of gets through."""

from typing import get_args

import pytest

from engine.agent import Agent, AgentRequest, AgentSettings, FailureKind, FunctionTool
from engine.llm import CallingMessage, Message, Request, ToolCall, ToolMessage
from engine.llm.anthropic import AnthropicClient
from engine.llm.openai import OpenAiClient

pytestmark = [pytest.mark.anyio, pytest.mark.local]

ENDED = ("NoFailure", "TurnLimitExceeded", "LlmError", "LlmTimeout")


async def price_of(plan: str) -> str:
    """Look up what a plan costs."""
    return f"{plan} costs 5 EUR a month."


TOOL = FunctionTool("priceOf", price_of)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", [OpenAiClient, AnthropicClient])
async def test_an_agent_with_a_tool_completes_or_fails_in_a_documented_way(kind, stream, model_server):
    client = kind(model_server, "small", stream=stream)
    settings = AgentSettings(max_turns=2, max_tokens=80, temperature=0, deadline_seconds=60)
    run = Agent(client=client, tools=(TOOL,), settings=settings).start(AgentRequest("What does Pro cost?"))
    result = await run.finish()
    await client.close()
    assert result.failure_kind in ENDED, result.reasoning
    assert result.failure_kind in get_args(FailureKind)
    assert result.success is bool(result.output)
    assert 1 <= result.usage.llm_calls <= 2


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", [OpenAiClient, AnthropicClient])
async def test_a_conversation_with_a_tool_in_it_is_understood_by_the_server(kind, stream, model_server):
    conversation = (
        Message("system", "Answer in one short sentence."),
        Message("user", "What does Pro cost?"),
        CallingMessage("assistant", "", (ToolCall("call_1", "priceOf", '{"plan":"Pro"}'),)),
        ToolMessage("tool", "Pro costs 5 EUR a month.", "call_1"),
    )
    client = kind(model_server, "small", stream=stream)
    reply = await client.complete(
        Request(conversation, tools=(TOOL.definition,), temperature=0, max_tokens=40)
    )
    await client.close()
    assert reply.content or reply.tool_calls
