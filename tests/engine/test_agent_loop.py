"""The tool loop: what the model is offered and told, what is refused, how a turn ends."""

import pytest

from engine.agent import (
    CallingMessage,
    Failure,
    LlmCallCompleted,
    LlmCalled,
    ModelChunk,
    ModelSwitched,
    ToolMessage,
    ToolResult,
    TurnStarted,
)
from engine.agent.loop import arguments_of
from engine.errors import LlmError
from engine.llm import Completion
from tests.engine.agents import (
    DONE,
    GOAL,
    Remembers,
    agent,
    calls,
    client_of,
    ended,
    events,
    lines,
    names,
    of,
    request,
)
from tests.engine.deciding import unavailable

pytestmark = pytest.mark.anyio

FAILOVER = {"model": "a", "model_fallback_chain": ("b", "c"), "enable_model_failover": True}


def offered(made, number=0):
    return [tool.name for tool in client_of(made).requests[number].tools]


def told(made):
    """What came of its calls, as the model is told in its last request."""
    return [m.content for m in client_of(made).requests[-1].messages if isinstance(m, ToolMessage)]


async def test_without_calls_the_first_answer_is_the_result():
    made = agent()
    result = await ended(made)
    assert (result.success, result.output, result.failure_kind) == (True, DONE, "NoFailure")
    assert [(m.role, m.content) for m in client_of(made).requests[0].messages] == [
        ("system", made.settings.system_prompt),
        ("user", GOAL),
    ]
    assert (result.turns, result.usage.llm_calls, result.tool_calls) == (1, 1, 0)


@pytest.mark.parametrize(
    ("allowed", "names_offered"),
    [
        (None, ["echo", "other"]),
        (("echo",), ["echo"]),
        (("ECHO", "nobody_has_this"), ["echo"]),
        ((), []),
        ([], []),
    ],
)
async def test_the_model_is_offered_the_allowed_tools_only(allowed, names_offered):
    made = agent(tools=(Remembers("echo"), Remembers("other")))
    await ended(made, request(allowed_tools=allowed))
    assert offered(made) == names_offered


async def test_a1_with_an_empty_list_no_tool_is_sent_and_none_is_used():
    echo = Remembers("echo")
    made = agent([calls("echo"), DONE], tools=(echo,))
    result = await ended(made, request(allowed_tools=()))
    assert (offered(made), echo.invocations, result.success) == ([], [], True)
    assert told(made) == ["Tool 'echo' is not allowed for this run."]


async def test_a2_a_tool_outside_the_list_is_not_used_and_the_model_is_told():
    echo, other = Remembers("echo"), Remembers("other")
    made = agent([calls("other", "echo"), DONE], tools=(echo, other))
    run_lines = lines(await events(made, request(allowed_tools=("echo",))))
    assert other.invocations == []
    assert len(echo.invocations) == 1
    assert told(made) == ["Tool 'other' is not allowed for this run.", "done"]
    assert not any("not allowed" in line for line in run_lines)


async def test_a_refused_call_is_a_step_and_an_unknown_tool_is_called_so():
    made = agent([calls("nothing"), DONE], tools=(Remembers("echo"),))
    result = await ended(made)
    assert told(made) == ["Tool 'nothing' is not registered."]
    assert result.steps[0] == "Tool 'nothing' is not registered."


async def test_a_tool_is_found_in_any_case():
    echo = Remembers("echo")
    await ended(agent([calls(("ECHO", {"a": 1})), DONE], tools=(echo,)), request(allowed_tools=("Echo",)))
    assert [(i.tool, i.arguments, i.id) for i in echo.invocations] == [("echo", {"a": 1}, None)]


async def test_the_model_is_told_what_it_said_and_what_came_of_every_call_in_order():
    failing = Remembers("fails", ToolResult(error="no such page"))
    silent, empty = Remembers("silent", ""), Remembers("empty", ToolResult(error=""))
    made = agent(
        [calls("echo", "fails", "silent", "empty", content="Let me see."), DONE],
        tools=(Remembers("echo", "x" * 9000), failing, silent, empty),
    )
    await ended(made)
    said, *results = client_of(made).requests[-1].messages[2:]
    assert isinstance(said, CallingMessage)
    assert (said.content, [c.name for c in said.tool_calls]) == (
        "Let me see.",
        ["echo", "fails", "silent", "empty"],
    )
    assert [m.call_id for m in results if isinstance(m, ToolMessage)] == [
        "call_0",
        "call_1",
        "call_2",
        "call_3",
    ]
    assert told(made) == ["x" * 9000, "Error: no such page", "(empty)", "Error: unknown error"]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"url": "u", "n": 1, "x": 1.5, "none": null}', {"url": "u", "n": 1, "x": 1.5, "none": ""}),
        ("", {}),
        ("not json", {}),
        ("[1]", {}),
        ('"text"', {}),
        ("[" * 100_000, {}),
        ('{"a": NaN}', {}),
        ('{"a": "\\ud800"}', {}),
    ],
)
def test_arguments_that_are_no_object_are_none_and_null_is_empty_text(text, arguments):
    assert arguments_of(text) == arguments


async def test_arguments_that_cannot_be_read_do_not_end_the_run():
    echo = Remembers("echo")
    result = await ended(agent([calls(("echo", "{{{")), DONE], tools=(echo,)))
    assert (result.success, echo.invocations[0].arguments) == (True, {})


@pytest.mark.parametrize(
    "nothing",
    [
        "",
        "  ",
        Completion(None),
        Completion("I will not.", refusal="I will not."),
        Completion("ha", "content_filter"),
    ],
)
async def test_a_turn_without_content_and_calls_is_said_and_the_next_one_begins(nothing):
    result = await ended(agent([nothing, DONE]))
    assert result.steps == (
        "Turn 0 produced no content and no tool calls.",
        "LLM returned final response.",
    )


async def test_after_the_last_turn_the_run_has_failed():
    result = await ended(agent(["", ""], settings={"max_turns": 2}))
    assert (result.success, result.failure_kind) == (False, "TurnLimitExceeded")
    assert result.reasoning == "Exhausted 2 turns without a final response."
    assert result.steps[-1] == result.reasoning


async def test_turns_are_counted_from_0_and_a_request_says_how_many():
    made = agent([calls("echo"), calls("echo"), DONE], tools=(Remembers("echo"),))
    run = await events(made, request(parameters={"max_turns": 2}))
    assert [event.turn for event in of(TurnStarted, run)] == [0, 1]


async def test_tokens_and_calls_are_added_up():
    counted = Completion("", input_tokens=10, output_tokens=2)
    result = await ended(agent([counted, Completion(DONE, input_tokens=5, output_tokens=1)]))
    assert (result.usage.llm_calls, result.usage.input_tokens, result.usage.output_tokens) == (2, 15, 3)


async def test_a_request_to_the_model_carries_what_the_agent_is_set_to():
    made = agent(settings={"temperature": 0.5, "max_tokens": 99, "model": "large", "max_turns": 1})
    parameters = {"temperature": 0.2, "completion_timeout_seconds": 9, "idle_timeout_seconds": 3}
    await ended(made, request(parameters=parameters))
    (sent,) = client_of(made).requests
    assert (sent.model, sent.temperature, sent.max_tokens) == ("large", 0.2, 99)
    assert (sent.total_deadline, sent.idle_deadline) == (9, 3)


# ------------------------------------------------------------------------------------------ failures


def timeout():
    return LlmError("It took too long", kind="timeout", transient=True)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (timeout(), "LlmTimeout", "It took too long on turn 0"),
        (TimeoutError("late"), "LlmTimeout", "late on turn 0"),
        (unavailable(), "LlmError", "LLM error on turn 0: HTTP 503"),
        (RuntimeError("odd"), "LlmError", "LLM error on turn 0: odd"),
    ],
)
async def test_a_model_that_fails_ends_the_run(error, kind, text):
    run = await events(agent([error]))
    (failure,) = of(Failure, run)
    result = run[-1].result
    assert (result.failure_kind, result.reasoning, result.steps) == (kind, text, (text,))
    assert (failure.error, failure.phase) == (text, "LlmCompletion")
    assert result.usage.llm_calls == 1


async def test_without_a_client_the_run_fails_plainly():
    result = await ended(agent().__class__(name="lonely"))
    assert (result.failure_kind, result.reasoning) == (
        "LlmError",
        "LLM error on turn 0: The agent has no model to ask.",
    )


async def test_a9_a_failed_model_costs_no_turn():
    made = agent([unavailable(), DONE], settings={**FAILOVER, "max_turns": 1})
    result = await ended(made)
    assert (result.success, result.turns, result.usage.llm_calls) == (True, 1, 1)
    assert client_of(made).models == ["a", "b"]


async def test_a10_when_no_model_is_left_the_chain_is_exhausted():
    made = agent([timeout(), timeout(), timeout()], settings=FAILOVER)
    run = await events(made)
    assert client_of(made).models == ["a", "b", "c"]
    assert run[-1].result.failure_kind == "FailoverExhausted"
    assert of(Failure, run)[-1].phase == "ModelFailover"


async def test_a_permanent_failure_is_no_exhausted_chain():
    made = agent([unavailable(404)], settings=FAILOVER)
    made.client.replies[0].transient = False  # type: ignore[union-attr]
    result = await ended(made)
    assert (result.failure_kind, client_of(made).models) == ("LlmError", ["a"])


async def test_a_switch_is_told_in_order_and_stays_for_the_turns_that_follow():
    made = agent([unavailable(), calls("echo"), DONE], settings=FAILOVER, tools=(Remembers("echo"),))
    run = await events(made)
    assert names(run)[:9] == [
        "AgentRunStarted",
        "TurnStarted",
        "LlmCalled",
        "LlmCallCompleted",
        "Failure",
        "ModelSwitched",
        "LlmCalled",
        "LlmCallCompleted",
        "ToolStarted",
    ]
    assert client_of(made).models == ["a", "b", "b"]
    assert "Model 'a' failed; switching to 'b' (conversation continues)" in lines(run)
    (switch,) = of(ModelSwitched, run)
    assert (switch.source, switch.target, switch.reason, switch.turn) == ("a", "b", "HTTP 503", 0)
    first, second, third = of(LlmCallCompleted, run)
    assert (first.number, first.error, first.transient, first.is_fallback) == (1, "HTTP 503", True, False)
    assert (second.number, second.completion is not None, second.is_fallback) == (2, True, True)
    assert third.turn == 1
    assert [(e.model, e.turn) for e in of(LlmCalled, run)] == [("a", 0), ("b", 0), ("b", 1)]


async def test_a_model_that_was_too_slow_is_said_to_have_timed_out():
    run = await events(agent([timeout(), DONE], settings=FAILOVER))
    assert "Model 'a' timed out; switching to 'b' (conversation continues)" in lines(run)


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        ({"model": "a", "enable_model_failover": True}, {}),
        ({"model": "a", "model_fallback_chain": ("b",)}, {}),
        (FAILOVER, {"enable_model_failover": False}),
    ],
)
async def test_there_is_no_failover_without_chain_and_leave(settings, parameters):
    made = agent([unavailable(), DONE], settings=settings)
    result = await ended(made, request(parameters=parameters))
    assert (result.failure_kind, client_of(made).models) == ("LlmError", ["a"])


async def test_a_request_turns_failover_on():
    made = agent([unavailable(), DONE], settings={"model": "a"})
    parameters = {"model_fallback_chain": ["b"], "enable_model_failover": True}
    assert (await ended(made, request(parameters=parameters))).success


async def test_models_are_found_by_what_a_request_demands():
    demanded = []

    def found(capabilities):
        demanded.append(capabilities)
        return ["best", "second"]

    made = agent([unavailable(), DONE], settings={"enable_model_failover": True}, models_for=found)
    assert (await ended(made, request(capabilities=("vision",)))).success
    assert (demanded, client_of(made).models) == ([("vision",)], ["best", "second"])


async def test_an_own_pipeline_is_asked_and_watched_as_a_whole():
    class Own:
        async def complete(self, asked):
            return Completion(DONE, model="own")

    made = agent([], pipeline=Own())
    run = await events(made)
    assert run[-1].result.success
    assert client_of(made).requests == []
    assert len(of(LlmCallCompleted, run)) == 1


# ------------------------------------------------------------------------------------------ chunks


async def test_what_a_model_says_at_once_is_one_piece():
    made = agent([calls("echo", content="Let me see."), DONE], tools=(Remembers("echo"),))
    chunks = of(ModelChunk, await events(made))
    assert [(c.content, c.turn, c.is_final) for c in chunks] == [("Let me see.", 0, False), (DONE, 1, True)]
