"""A run of an agent is pulled: it stops where asked, is bounded, and ends in good order when cancelled."""

import asyncio
import gc
import random
from typing import Any

import pytest

from engine import ActionContext, ActionResult, Inputs, Pins, Session
from engine.agent import (
    Agent,
    AgentCancelled,
    AgentRun,
    CallingMessage,
    DefaultPlanner,
    ToolDefinition,
    ToolMessage,
    ToolResult,
    ToolStarted,
    Validation,
)
from engine.llm import Completion
from engine.run import Stop
from tests.builders import budget, evidence_tree
from tests.engine.agents import (
    DONE,
    Remembers,
    agent,
    calls,
    client_of,
    ended,
    names,
    of,
    request,
    start,
)
from tests.engine.deciding import FakeClient, unavailable
from tests.engine.runs import SlowClient, VirtualClock

pytestmark = pytest.mark.anyio

EVERY = ("beforeAttempt", "beforeTool", "afterTool")


class Hangs:
    """A client, and a tool, that never come back."""

    provider, endpoint, model = "fake", "http://fake/v1", "own-model"
    definition = ToolDefinition(name="hangs")

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def _never(self) -> Any:
        self.asked.set()
        await asyncio.Event().wait()

    async def complete(self, _request: Any) -> Completion:
        return await self._never()  # type: ignore[no-any-return]

    async def invoke(self, _invocation: Any) -> ToolResult:
        return await self._never()  # type: ignore[no-any-return]

    async def close(self) -> None:
        pass


async def stops(run: AgentRun) -> list[Stop]:
    return [stop async for stop in run]


# ------------------------------------------------------------------------------------------ stopping


async def test_a_run_goes_to_its_end_where_no_stop_is_asked_for():
    run, _ = start(agent([calls("echo"), DONE], tools=(Remembers("echo"),)))
    assert await stops(run) == []
    assert run.result.output == DONE


async def test_a_run_stops_before_the_model_is_asked_and_around_tools():
    echo = Remembers("echo")
    made = agent([calls("echo", "echo"), DONE], tools=(echo,), name="researcher")
    run, _ = start(made, stops_inside=EVERY)
    seen = [(stop.phase, stop.turn, len(echo.invocations)) async for stop in run]
    assert seen == [
        ("beforeAttempt", 1, 0),
        ("beforeTool", 1, 0),
        ("afterTool", 1, 1),
        ("beforeTool", 1, 1),
        ("afterTool", 1, 2),
        ("beforeAttempt", 2, 2),
    ]
    assert run.result.success


async def test_a_stop_names_the_agent():
    run, _ = start(agent(name="researcher"), stops_inside=("beforeAttempt",))
    assert await stops(run) == [Stop("researcher", "beforeAttempt", 1)]


async def test_only_the_phases_that_were_asked_for_are_stopped_at():
    run, _ = start(agent([calls("echo"), DONE], tools=(Remembers("echo"),)), stops_inside=("afterTool",))
    assert [stop.phase for stop in await stops(run)] == ["afterTool"]


async def test_a_run_that_was_stopped_can_be_driven_to_its_end():
    run, _ = start(agent([calls("echo"), DONE], tools=(Remembers("echo"),)), stops_inside=EVERY)
    await anext(run)
    assert (await run.finish()).output == DONE
    assert await stops(run) == []
    assert (await run.finish()).output == DONE


async def test_a_run_says_where_it_stands():
    run, _ = start(agent(), stops_inside=EVERY)
    seen = [run.status]
    with pytest.raises(RuntimeError, match="not ended"):
        _ = run.result
    await anext(run)
    seen.append(run.status)
    assert not run.ended
    await run.finish()
    assert [*seen, run.status] == ["Pending", "Running", "Completed"]
    assert (run.ended, run.usage.llm_calls) == (True, 1)


async def test_nothing_happens_before_a_run_is_pulled_and_one_that_is_left_says_nothing():
    made = agent()
    run, told = start(made, stops_inside=EVERY)
    assert (told, client_of(made).requests) == ([], [])
    await anext(run)
    del run
    gc.collect()
    assert names(told)[-1] == "TurnStarted"


async def test_a_run_has_one_reader_at_a_time():
    hangs = Hangs()
    run, _ = start(agent(hangs))
    first = asyncio.create_task(run.finish())
    await hangs.asked.wait()
    with pytest.raises(RuntimeError, match="one reader"):
        await run.finish()
    run.cancel()
    assert (await first).failure_kind == "Cancelled"


async def test_a_run_may_be_pulled_by_one_task_after_another():
    run, _ = start(agent([calls("echo"), DONE], tools=(Remembers("echo"),)), stops_inside=EVERY)
    phases = []
    while (stop := await asyncio.create_task(anext(run, None))) is not None:
        phases.append(stop.phase)
    assert phases == ["beforeAttempt", "beforeTool", "afterTool", "beforeAttempt"]
    assert run.result.success


# ------------------------------------------------------------------------------------------ bounds


@pytest.mark.parametrize(
    ("own", "handed", "calls_made"), [(None, 2, 2), (3, None, 3), (2, 3, 2), (3, 2, 2), (None, 0, 0)]
)
async def test_the_fewer_llm_calls_count(own, handed, calls_made):
    settings = {} if own is None else {"max_llm_calls": own}
    made = agent([calls("echo")] * 9, tools=(Remembers("echo"),), settings=settings)
    result = await ended(made, max_llm_calls=handed)
    assert (result.failure_kind, len(client_of(made).requests)) == ("CallLimitExceeded", calls_made)
    assert result.usage.llm_calls == calls_made


@pytest.mark.parametrize(
    ("settings", "planners", "most"),
    [({}, (), 16), ({"max_turns": 3, "max_quality_retries": 0}, (), 3), ({"max_llm_calls": 2}, (), 2)],
)
def test_an_agent_declares_the_most_calls_it_can_make(settings, planners, most):
    assert agent(settings=settings, planners=planners).llm_calls == (0, most)


@pytest.mark.parametrize(("own", "handed"), [(5.0, None), (600.0, 5.0), (5.0, 600.0)])
async def test_the_nearer_deadline_counts_and_ends_the_run(own, handed):
    clock = VirtualClock()
    client = SlowClient(clock, 3.0, [calls("echo"), calls("echo"), DONE])
    made = agent(client, clock=clock, tools=(Remembers("echo"),), settings={"deadline_seconds": own})
    result = await ended(made, deadline=handed)
    assert (result.failure_kind, result.status) == ("DeadlineExceeded", "TimedOut")
    assert result.reasoning == "The agent was not done within 5 s."
    assert result.usage.llm_calls == 2


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_a_deadline_interrupts_what_hangs(where):
    hangs = Hangs()
    made = agent(hangs) if where == "model" else agent([calls("hangs")], tools=(hangs,))
    task = asyncio.current_task()
    assert task is not None
    result = await ended(made, deadline=0.02)
    assert (result.failure_kind, result.usage.llm_calls) == ("DeadlineExceeded", 1)
    assert task.cancelling() == 0


async def test_time_in_which_nobody_asks_is_not_charged():
    clock = VirtualClock()
    run, _ = start(agent([calls("echo"), DONE], clock=clock, tools=(Remembers("echo"),)), stops_inside=EVERY)
    async for _stop in run:
        clock.seconds += 400
    assert run.result.success
    assert run.result.usage.duration == 0


# ------------------------------------------------------------------------------------------ cancelling


async def test_a8_a_cancelled_run_tells_so_once_and_ends_with_its_result():
    hangs = Hangs()
    run, told = start(agent(hangs))
    reader = asyncio.create_task(run.finish())
    await hangs.asked.wait()
    run.cancel()
    run.cancel()
    result = await reader
    assert len(of(AgentCancelled, told)) == 1
    assert names(told)[-1] == "AgentRunCompleted"
    assert (result.failure_kind, result.status) == ("Cancelled", "Cancelled")
    assert result.reasoning == "Cancellation requested during LLM call."
    assert result.usage.llm_calls == 1


async def test_a_tool_that_is_cancelled_is_told_apart():
    hangs = Hangs()
    run, told = start(agent([calls("hangs")], tools=(hangs,)))
    reader = asyncio.create_task(run.finish())
    await hangs.asked.wait()
    run.cancel()
    assert (await reader).reasoning == "Cancellation requested during tool execution."
    assert len(of(ToolStarted, told)) == 1


@pytest.mark.parametrize("pulled", [False, True])
async def test_between_two_steps_a_run_is_cancelled_at_once(pulled):
    run, told = start(agent(), stops_inside=EVERY)
    if pulled:
        await anext(run)
    run.cancel()
    assert run.ended
    assert (run.result.failure_kind, run.result.reasoning) == ("Cancelled", "Cancellation requested.")
    assert names(told)[-2:] == ["AgentCancelled", "AgentRunCompleted"]
    assert await stops(run) == []


def test_a_run_nobody_pulled_is_cancelled_without_a_loop():
    run, told = start(agent())
    run.cancel()
    assert (run.result.failure_kind, names(told)[-1]) == ("Cancelled", "AgentRunCompleted")


async def test_a_reader_that_is_cancelled_while_a_tool_will_not_let_go_is_not_stopped_at_a_tool():
    class Stubborn(Hangs):
        async def invoke(self, _invocation: Any) -> ToolResult:
            try:
                await self._never()
            except asyncio.CancelledError:
                return ToolResult("no matter")
            raise AssertionError

    tool = Stubborn()
    run, told = start(agent([calls("hangs"), DONE], tools=(tool,)), stops_inside=("afterTool",))
    reader = asyncio.create_task(stops(run))
    await tool.asked.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert run.result.failure_kind == "Cancelled"
    assert names(told)[-1] == "AgentRunCompleted"


async def test_an_observer_that_cancels_leaves_the_readers_task_alone():
    run, told = start(agent([calls("echo"), DONE], tools=(Remembers("echo"),)))
    run.observe(lambda event: run.cancel() if isinstance(event, ToolStarted) else None)
    result = await run.finish()
    assert (result.failure_kind, len(of(AgentCancelled, told))) == ("Cancelled", 1)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_a_reader_that_is_cancelled_stays_so_and_the_run_has_ended():
    hangs = Hangs()
    run, told = start(agent(hangs))
    reader = asyncio.create_task(run.finish())
    await hangs.asked.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert run.result.failure_kind == "Cancelled"
    assert names(told)[-1] == "AgentRunCompleted"


async def test_a_part_that_is_cancelled_from_inside_fails_the_run():
    class Odd:
        name = "odd"

        async def validate(self, context):
            raise asyncio.CancelledError

    result = await ended(agent(input_validators=(Odd(),)))
    assert (result.failure_kind, result.reasoning) == (
        "Unknown",
        "A part of the agent was cancelled from inside.",
    )


async def test_a_model_that_swallows_the_cancellation_does_not_keep_the_run_going():
    class Swallows(FakeClient):
        async def complete(self, request):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return calls("echo")
            raise AssertionError

    echo = Remembers("echo")
    run, _ = start(agent(Swallows([]), tools=(echo,)), deadline=0.02)
    assert (await run.finish()).failure_kind == "DeadlineExceeded"
    assert echo.invocations == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
async def test_what_is_no_failure_of_a_part_is_not_swallowed(error):
    class Leaves:
        name = "leaves"

        async def validate(self, context):
            raise error

    with pytest.raises(error):
        await ended(agent(input_validators=(Leaves(),)))


async def test_a_client_without_deadlines_of_its_own_is_given_up(monkeypatch):
    monkeypatch.setattr("engine.agent.running._GRACE", 0.0)
    result = await ended(agent(Hangs(), settings={"completion_timeout_seconds": 0.02}))
    assert result.failure_kind == "LlmTimeout"
    assert result.reasoning == "The model gave no completion within 0.02 s. on turn 0"


# ------------------------------------------------------------------------------------------ inside of trees


class Asks:
    """An action that has an agent do its work."""

    key = "collectEvidence"

    def __init__(self, made: Agent) -> None:
        self.run = made.start(request(), max_llm_calls=3)

    async def execute(self, context: ActionContext) -> ActionResult:
        result = await self.run.finish()
        return ActionResult(properties={"said": result.output or ""}, llm_calls=result.usage.llm_calls)


@pytest.mark.parametrize("how", ["done", "cancelled", "late"])
async def test_an_agent_inside_a_tree_is_charged_and_interrupted_with_it(how):
    hangs = Hangs()
    action = Asks(agent(hangs if how != "done" else [calls("echo"), DONE], tools=(Remembers("echo"),)))
    inputs = Inputs(
        pins=Pins(answers={"classify": "supported"}),
        budget=budget(calls=3, visits=9, seconds=0.02 if how == "late" else 60),
    )
    tree = Session().start(evidence_tree(), inputs, actions=[action])
    reader = asyncio.create_task(tree.finish())
    if how == "cancelled":
        await hangs.asked.wait()
        tree.cancel()
    result = await reader
    if how == "done":
        assert (result.outcome, result.usage.llm_calls) == ("Terminal", 3)
        assert result.state_properties["said"] == DONE
    else:
        assert result.outcome == ("Cancelled" if how == "cancelled" else "BudgetExhausted")
        assert action.run.result.failure_kind == "Cancelled"


# ------------------------------------------------------------------------------------------ many, results


async def test_runs_of_one_agent_share_nothing():
    echo = Remembers("echo")
    made = agent([DONE] * 8, tools=(echo,), settings={"model": "a", "model_fallback_chain": ("b",)})
    runs = [made.start(request(f"goal {number}")) for number in range(8)]
    results = await asyncio.gather(*(run.finish() for run in runs))
    assert len({result.execution_id for result in results}) == 8
    assert all(result.success and result.turns == 1 for result in results)


async def test_whatever_a_model_and_its_tools_do_a_run_ends_within_its_bounds():
    chance = random.Random(24)
    kinds = set()
    for _ in range(300):
        echo, other = (
            Remembers("echo", "fine", RuntimeError("odd"), ToolResult(error="no")),
            Remembers("other"),
        )
        replies = [
            chance.choice(
                [
                    DONE,
                    "",
                    calls("echo"),
                    calls(("ECHO", "{{{"), "other", "nothing", content="Let me see."),
                    Completion(None, refusal="I will not."),
                    unavailable(),
                    unavailable(400),
                    RuntimeError("odd"),
                    asyncio.CancelledError(),
                ]
            )
            for _ in range(60)
        ]
        made = agent(
            replies,
            tools=(echo, other),
            planners=(DefaultPlanner(),) * chance.randint(0, 1),
            settings={
                "max_turns": chance.randint(1, 4),
                "model": "a",
                "model_fallback_chain": ("b", "c"),
                "enable_model_failover": chance.random() < 0.5,
                "max_llm_calls": chance.choice([None, 0, 3]),
            },
        )
        run, told = start(made, request(allowed_tools=("echo",)))
        result = await run.finish()
        kinds.add(result.failure_kind)
        assert result.success is (result.failure_kind == "NoFailure")
        assert (names(told)[0], names(told).count("AgentRunCompleted")) == ("AgentRunStarted", 1)
        assert names(told)[-1] == "AgentRunCompleted"
        assert result.usage.llm_calls <= made.llm_calls[1]
        assert (other.invocations, len(echo.invocations)) == ([], result.tool_calls)
        for sent in client_of(made).requests:
            asked_for = [c.id for m in sent.messages if isinstance(m, CallingMessage) for c in m.tool_calls]
            assert asked_for == [m.call_id for m in sent.messages if isinstance(m, ToolMessage)]
    assert kinds == {
        "NoFailure",
        "LlmError",
        "LlmTimeout",
        "FailoverExhausted",
        "TurnLimitExceeded",
        "CallLimitExceeded",
    }


async def test_a_result_is_one_json_object():
    made = agent(validators=(Accepts(),), new_id=lambda: "run-1")
    assert (await ended(made)).as_json() == {
        "executionId": "run-1",
        "success": True,
        "output": DONE,
        "reasoning": None,
        "failureKind": "NoFailure",
        "status": "Completed",
        "steps": ["LLM returned final response."],
        "usage": {
            "llmCalls": 1,
            "inputTokens": 0,
            "outputTokens": 0,
            "totalTokens": 0,
            "durationMs": 0.0,
        },
        "turns": 1,
        "toolCalls": 0,
        "metadata": {},
    }


class Accepts:
    name = "accepts"

    async def validate(self, context, result):
        return Validation()
