"""The stages around the loop: their order, their short circuits, and whom each serves."""

from typing import Any

import pytest

from engine.agent import (
    AgentCancelled,
    AgentResult,
    DefaultPlanner,
    GateRejected,
    GateResult,
    ModelChunk,
    PlannedStep,
    PolicyBlocked,
    PolicyResult,
    SequentialPlanner,
    StrategyResult,
    TransformationCompleted,
    Validation,
    ValidationCompleted,
    scoped,
)
from engine.events.journal import Bus
from engine.llm import Message
from tests.engine.agents import (
    DONE,
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
    start,
)
from tests.engine.deciding import unavailable

pytestmark = pytest.mark.anyio


class Part:
    """A part of any stage: it notes that it was asked and gives these answers in turn, the last for ever."""

    def __init__(self, name: str, *answers: Any, log: list[str] | None = None) -> None:
        self.name, self.log = name, [] if log is None else log
        self._answers = list(answers)
        self.seen: list[Any] = []

    async def _answer(self, *given: Any) -> Any:
        self.log.append(self.name)
        self.seen.append(given)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer(*given) if callable(answer) else answer

    evaluate = validate = plan = execute = transform = _answer


BLOCKS = PolicyResult(applied=True, recommendation="Block", reasoning="too dangerous")
PASSES = GateResult()
RETRY = GateResult(approved=False, retry=True, reason="too short")
REJECTS = GateResult(approved=False, reason="too short")


class Around:
    """A middleware that notes when it is entered and left."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    async def run(self, context, proceed):
        self.log.append(f"{self.name} in")
        result = await proceed()
        self.log.append(f"{self.name} out")
        return result


# ------------------------------------------------------------------------------------------ order


async def test_the_stages_follow_each_other():
    log: list[str] = []

    made = agent(
        policies=(Part("policy", PolicyResult(), log=log),),
        input_validators=(Part("input", Validation(), log=log),),
        planners=(Part("planner", (), log=log),),
        strategies=(Part("strategy", StrategyResult(), log=log),),
        middleware=(Around("outer", log), Around("inner", log)),
        gates=(Part("gate", PASSES, log=log),),
        validators=(Part("validator", Validation(), log=log),),
        transformers=(Part("transformer", lambda _, result: result, log=log),),
    )
    run = await events(made)
    assert log == [
        "policy",
        "input",
        "planner",
        "strategy",
        "outer in",
        "inner in",
        "gate",
        "validator",
        "transformer",
        "inner out",
        "outer out",
    ]
    assert names(run) == [
        "AgentRunStarted",
        "TurnStarted",
        "LlmCalled",
        "LlmCallCompleted",
        "ModelChunk",
        "ValidationCompleted",
        "TransformationCompleted",
        "AgentRunCompleted",
    ]
    assert run[-1].result.success


async def test_a_minimal_agent_needs_no_part_at_all():
    assert (await ended(agent())).output == DONE


# ------------------------------------------------------------------------------------------ before


async def test_a_policy_that_blocks_ends_the_run_before_a_model_is_asked():
    made = agent(policies=(Part("danger", BLOCKS),))
    run = await events(made)
    assert names(run) == ["AgentRunStarted", "PolicyBlocked", "AgentRunCompleted"]
    (blocked,) = of(PolicyBlocked, run)
    assert (blocked.policy, blocked.reason) == ("danger", "too dangerous")
    result = run[-1].result
    assert (result.failure_kind, result.reasoning, result.status) == (
        "PolicyBlocked",
        "too dangerous",
        "Blocked",
    )
    assert result.steps == ("Blocked by policy danger: too dangerous",)
    assert client_of(made).requests == []


@pytest.mark.parametrize(
    "said",
    [
        PolicyResult(applied=False, recommendation="block"),
        PolicyResult(applied=True, recommendation="warn", score=0.9),
        PolicyResult(applied=True),
    ],
)
async def test_only_a_policy_that_applied_and_recommends_it_blocks(said):
    assert (await ended(agent(policies=(Part("mild", said),)))).success


async def test_policies_are_asked_by_priority_and_block_for_a_plain_reason():
    log: list[str] = []
    silent = PolicyResult(applied=True, recommendation="BLOCK")
    made = agent(
        policies=(
            Part("first", PolicyResult(), log=log),
            scoped(Part("high", PolicyResult(), log=log), priority=10),
            scoped(Part("low", silent, log=log), priority=-1),
            Part("second", PolicyResult(), log=log),
        )
    )
    result = await ended(made)
    assert log == ["high", "first", "second", "low"]
    assert result.reasoning == "Policy 'low' disallowed execution."


async def test_input_that_is_not_valid_ends_the_run_and_its_end_is_told():
    log: list[str] = []
    made = agent(
        input_validators=(
            Part("first", Validation(), log=log),
            Part("second", Validation(is_valid=False, error="no address"), log=log),
            Part("third", Validation(), log=log),
        )
    )
    run = await events(made)
    result = run[-1].result
    assert log == ["first", "second"]
    assert names(run) == ["AgentRunStarted", "AgentRunCompleted"]
    assert (result.failure_kind, result.reasoning) == ("InputValidationFailed", "no address")
    assert result.steps == ("Input validation failed (second): no address",)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"max_turns": "many"}, "'max_turns' must be a whole number."),
        ({"max_turns": 0}, "'max_turns' must be at least 1."),
        (
            {"temperature": "hot", "tool_max_retries": -1},
            "'temperature' must be a number; 'tool_max_retries' must be at least 0.",
        ),
    ],
)
async def test_a_parameter_that_does_not_fit_its_setting_is_not_valid_input(parameters, error):
    result = await ended(agent(), request(parameters=parameters))
    assert (result.failure_kind, result.reasoning) == ("InputValidationFailed", error)


async def test_other_parameters_are_for_the_parts():
    seen = Part("reads", Validation())
    await ended(agent(input_validators=(seen,)), request(parameters={"colour": "red"}))
    assert seen.seen[0][0].request.parameters == {"colour": "red"}


# ------------------------------------------------------------------------------------------ planning


@pytest.mark.parametrize("fence", ["", "```json\n"])
async def test_the_default_planner_asks_for_texts(fence):
    kept = Part("sees", Validation())
    reply = f'{fence}["look", "compare"]' + ("\n```" if fence else "")
    made = agent([reply, DONE], planners=(DefaultPlanner(),), validators=(kept,))
    result = await ended(made)
    assert result.steps[0] == "Planner produced 2 step(s)."
    assert kept.seen[0][0].items["plan"] == (
        PlannedStep("step-1", "action", "look"),
        PlannedStep("step-2", "action", "compare"),
    )
    assert result.usage.llm_calls == 2
    system, user = client_of(made).requests[1].messages
    assert "look" not in system.content + user.content


async def test_the_sequential_planner_asks_for_objects():
    reply = (
        '[{"name": "find", "type": "tool", "description": "Look", "tool": "search"}, '
        '{"type": "odd", "description": 5}, "text"]'
    )
    planned = Part("sees", Validation())
    await ended(agent([reply, DONE], planners=(SequentialPlanner(),), validators=(planned,)))
    assert planned.seen[0][0].items["plan"] == (
        PlannedStep("find", "tool", "Look", {"tool": "search"}),
        PlannedStep("step-2", "action", None),
    )


@pytest.mark.parametrize("reply", ["no json", "{}", "", unavailable()])
@pytest.mark.parametrize("planner", [DefaultPlanner(), SequentialPlanner()])
async def test_without_a_usable_answer_the_plan_is_empty(reply, planner):
    result = await ended(agent([reply, DONE], planners=(planner,)))
    assert (result.success, result.steps[0]) == (True, "Planner produced 0 step(s).")
    assert result.usage.llm_calls == 2


async def test_a_planner_that_fails_is_a_step_and_the_run_goes_on():
    result = await ended(agent(planners=(Part("odd", RuntimeError("no idea")),)))
    assert (result.success, result.steps[0]) == (True, "Planner failed: no idea")


async def test_a_plan_costs_what_the_run_may_cost():
    result = await ended(agent(planners=(DefaultPlanner(),), settings={"max_llm_calls": 0}))
    assert result.failure_kind == "CallLimitExceeded"


async def test_planners_are_chosen_by_name_and_else_the_first_is_asked():
    log: list[str] = []
    made = agent([DONE] * 3, planners=(Part("a", (), log=log), Part("b", (), log=log)))
    await ended(made)
    await ended(made, request(parameters={"planner": "b"}))
    result = await ended(made, request(parameters={"planner": "c"}))
    assert log == ["a", "b"]
    assert (result.success, result.steps[0]) == (True, "Planner failed: There is no planner 'c'.")


# ------------------------------------------------------------------------------------------ strategies


async def test_a_strategy_that_knows_answers_without_a_model():
    log: list[str] = []
    made = agent(
        strategies=(
            Part("tries", StrategyResult(artifacts=("looked it up",)), log=log),
            Part("knows", StrategyResult(success=True, output="42", artifacts=("found it",)), log=log),
            Part("never", StrategyResult(), log=log),
        ),
        gates=(Part("gate", REJECTS),),
        middleware=(Around("outer", log),),
    )
    run = await events(made)
    result = run[-1].result
    assert log == ["tries", "knows"]
    assert (result.output, result.failure_kind, result.usage.llm_calls) == ("42", "NoFailure", 0)
    assert result.steps == ("looked it up", "found it")
    (chunk,) = of(ModelChunk, run)
    assert (chunk.content, chunk.turn, chunk.is_final) == ("42", 0, True)


# ------------------------------------------------------------------------------------------ middleware


async def test_a_middleware_may_answer_itself_or_go_on_twice():
    class Answers:
        async def run(self, context, proceed):
            return AgentResult(success=True, output="mine")

    class Twice:
        async def run(self, context, proceed):
            await proceed()
            return await proceed()

    assert (await ended(agent([], middleware=(Answers(),)))).output == "mine"
    assert (await ended(agent(["one", "two"], middleware=(Twice(),)))).output == "two"


# ------------------------------------------------------------------------------------------ gates


async def test_a11_a_rejected_answer_is_sent_back_with_what_was_wrong():
    made = agent(["short", DONE], gates=(Part("length", RETRY, PASSES),))
    run = await events(made)
    first, second = client_of(made).requests
    assert second.messages[0].content == (
        f"{first.messages[0].content}\n\nQuality feedback from previous attempt:\ntoo short"
    )
    assert len(second.messages) == 2
    assert lines(run) == [
        "LLM returned final response.",
        "Quality gate length rejected result: too short",
        "Retrying after quality feedback (1/1).",
        "LLM returned final response.",
    ]
    assert run[-1].result.output == DONE
    assert [e.turn for e in run if type(e).__name__ == "TurnStarted"] == [0, 0]
    (rejected,) = of(GateRejected, run)
    assert (rejected.gate, rejected.retry, rejected.reason, rejected.retries) == (
        "length",
        True,
        "too short",
        0,
    )


async def test_when_no_retry_is_left_the_result_is_rejected():
    longer = GateResult(approved=False, retry=True, reason="still too short")
    made = agent(["a", "b"], gates=(Part("length", RETRY, longer),))
    result = await ended(made)
    assert (result.success, result.failure_kind, result.reasoning) == (
        False,
        "QualityRejected",
        "still too short",
    )
    assert result.metadata == {
        "quality_gate_failures": ("too short", "still too short"),
        "quality_retry_count": 1,
    }
    assert result.output == "b"


async def test_all_reasons_so_far_are_fed_back():
    second = GateResult(approved=False, retry=True, reason="no source")
    made = agent(["a", "b", DONE], gates=(Part("g", RETRY, second, PASSES),))
    await ended(made, request(parameters={"max_quality_retries": 2}))
    assert client_of(made).requests[2].messages[0].content.endswith("attempt:\ntoo short\nno source")


@pytest.mark.parametrize(("said", "retries"), [(REJECTS, 1), (RETRY, 0)])
async def test_without_a_retry_one_rejection_is_the_end(said, retries):
    made = agent(["a"], gates=(Part("g", said),), settings={"max_quality_retries": retries})
    result = await ended(made)
    assert (result.failure_kind, result.metadata["quality_retry_count"]) == ("QualityRejected", 0)


async def test_a_round_that_failed_of_itself_keeps_its_kind():
    result = await ended(agent([""], gates=(Part("g", REJECTS),), settings={"max_turns": 1}))
    assert (result.failure_kind, result.reasoning) == ("TurnLimitExceeded", "too short")


async def test_gates_go_by_priority_and_the_first_rejection_ends_their_chain():
    log: list[str] = []
    unsaid = GateResult(approved=False)
    made = agent(
        gates=(
            Part("last", PASSES, log=log),
            scoped(Part("high", PASSES, log=log), priority=5),
            scoped(Part("mid", unsaid, log=log), priority=1),
        )
    )
    result = await ended(made)
    assert log == ["high", "mid"]
    assert result.reasoning == "Quality gate 'mid' rejected the result."


async def test_a_gate_may_replace_the_result():
    other = AgentResult(success=True, output="better")
    seen = Part("sees", PASSES)
    made = agent(gates=(Part("g", GateResult(replacement=other)), seen))
    result = await ended(made)
    assert (result.output, result.failure_kind, result.steps) == (
        "better",
        "NoFailure",
        ("LLM returned final response.",),
    )
    assert seen.seen[0][1].output == "better"
    rejected = GateResult(approved=False, replacement=other, reason="no")
    assert (await ended(agent(gates=(Part("g", rejected),)))).output == "better"


async def test_a_gate_may_ask_the_model_at_the_expense_of_the_run():
    class Judges:
        name = "judge"

        async def evaluate(self, context, result):
            reply = await context.ask([Message("user", f"Is this good? {result.output}")])
            return GateResult(approved=reply.content == "yes", reason="judged")

    made = agent([DONE, "yes"], gates=(Judges(),))
    assert (await ended(made)).usage.llm_calls == 2
    result = await ended(agent([DONE, "yes"], gates=(Judges(),), settings={"max_llm_calls": 1}))
    assert (result.failure_kind, result.reasoning) == (
        "CallLimitExceeded",
        "The agent has made the 1 LLM call(s) it may make.",
    )


@pytest.mark.parametrize(
    ("error", "kind"), [(unavailable(), "LlmError"), (TimeoutError("late"), "LlmTimeout")]
)
async def test_a_part_whose_model_fails_fails_the_run(error, kind):
    class Judges:
        name = "judge"

        async def evaluate(self, context, result):
            await context.ask([Message("user", "Is this good?")])
            raise AssertionError

    result = await ended(agent([DONE, error], gates=(Judges(),)))
    assert (result.failure_kind, result.reasoning) == (kind, str(error))


# ------------------------------------------------------------------------------------------ results


async def test_the_first_validator_that_does_not_accept_fails_the_result():
    log: list[str] = []
    made = agent(
        validators=(
            Part("ok", Validation(), log=log),
            Part("form", Validation(is_valid=False, error="no JSON"), log=log),
            Part("never", Validation(), log=log),
        )
    )
    run = await events(made)
    result = run[-1].result
    assert log == ["ok", "form"]
    assert (result.failure_kind, result.reasoning) == ("ResultRejected", "no JSON")
    assert result.steps[-1] == "Validator form failed: no JSON"
    told = of(ValidationCompleted, run)
    assert [(e.validator, e.validation.is_valid, e.validation.error) for e in told] == [
        ("ok", True, None),
        ("form", False, "no JSON"),
    ]


async def test_transformers_come_last_by_priority_and_also_after_a_failure():
    log: list[str] = []

    def add(mark: str) -> Any:
        def change(_: Any, result: Any) -> AgentResult:
            return AgentResult(success=result.success, output=f"{result.output}{mark}")

        return change

    parts = (
        Part("a", add("a"), log=log),
        Part("b", add("b"), log=log),
        scoped(Part("first", add("1"), log=log), priority=3),
    )
    run = await events(agent(transformers=parts))
    assert run[-1].result.output == f"{DONE}1ab"
    assert [e.transformer for e in of(TransformationCompleted, run)] == ["first", "a", "b"]
    failed = await ended(agent([""], transformers=parts, settings={"max_turns": 1}))
    assert (failed.success, failed.output, failed.failure_kind) == (False, "None1ab", "Unknown")


# ------------------------------------------------------------------------------------------ scoping


@pytest.mark.parametrize(("name", "serves"), [("researcher", True), ("writer", False)])
async def test_every_kind_of_part_can_serve_some_agents_only(name, serves):
    log: list[str] = []
    told: list[str] = []

    def only(part: Any) -> Any:
        return scoped(part, lambda context: context.agent_name == "researcher")

    made = agent(
        name=name,
        policies=(only(Part("policy", PolicyResult(), log=log)),),
        input_validators=(only(Part("input", Validation(), log=log)),),
        planners=(only(Part("planner", (), log=log)),),
        strategies=(only(Part("strategy", StrategyResult(), log=log)),),
        middleware=(only(Around("around", log)),),
        gates=(only(Part("gate", PASSES, log=log)),),
        validators=(only(Part("validator", Validation(), log=log)),),
        transformers=(only(Part("transformer", lambda _, result: result, log=log)),),
        observers=(only(lambda event: told.append(type(event).__name__)),),
    )
    assert (await ended(made)).success
    every = ["policy", "input", "planner", "strategy", "around in", "gate", "validator", "transformer"]
    assert log == ([*every, "around out"] if serves else [])
    assert bool(told) is serves


async def test_a_request_may_name_the_agent():
    part = Part("p", PolicyResult())
    made = agent(name="a", policies=(scoped(part, lambda context: context.agent_name == "b"),))
    await ended(made, request(agent_name="b"))
    assert len(part.seen) == 1


async def test_two_scopes_must_both_hold_and_the_inner_priority_stays():
    inner = scoped(Part("p", PolicyResult()), lambda context: "a" in context.request.goal, priority=7)
    both = scoped(inner, lambda context: "b" in context.request.goal)
    assert both.priority == 7
    assert scoped(both, priority=1).priority == 1
    for goal, times in (("a", 0), ("b", 0), ("ab", 1)):
        await ended(agent(policies=(both,)), request(goal))
        assert len(inner.part.seen) == times


# ------------------------------------------------------------------------------------------ whatever else


@pytest.mark.parametrize("kind", ["policies", "strategies", "gates", "transformers"])
async def test_a_part_that_breaks_fails_the_run_and_nothing_is_raised(kind):
    parts: dict[str, Any] = {kind: (Part("odd", RuntimeError("broken part")),)}
    result = await ended(agent(**parts))
    assert (result.success, result.failure_kind, result.reasoning) == (False, "Unknown", "broken part")


async def test_models_that_cannot_be_found_fail_the_run():
    def found(_capabilities):
        raise LookupError("no model can do that")

    result = await ended(agent(models_for=found), request(capabilities=("vision",)))
    assert (result.failure_kind, result.reasoning) == ("Unknown", "no model can do that")


async def test_a_middleware_that_gives_no_result_fails_the_run():
    class Odd:
        async def run(self, context, proceed):
            return None

    result = await ended(agent(middleware=(Odd(),)))
    assert (result.failure_kind, result.reasoning) == ("Unknown", "The pipeline returned no result.")


async def test_observers_and_bus_are_told_the_same_in_order_and_their_errors_change_nothing():
    bus, heard, own, given = Bus(), list[Any](), list[Any](), list[Any]()
    bus.subscribe(heard.append)

    def broken(_event: Any) -> None:
        raise RuntimeError

    made = agent(
        [calls("echo"), DONE],
        tools=(Remembers("echo"),),
        publisher=bus,
        observers=(broken, own.append),
        trace_id="trace",
        correlation_id="request-1",
    )
    run, told = start(made, observers=[given.append])
    late: list[Any] = []
    run.observe(late.append)
    assert (await run.finish()).success
    assert heard == own == told == given == late
    assert {(e.trace_id, e.correlation_id, e.execution_id) for e in told} == {
        ("trace", "request-1", run.execution_id)
    }


async def test_a7_events_begin_with_the_run_and_its_turn_and_end_with_the_result():
    run = names(await events(agent([calls("echo"), DONE], tools=(Remembers("echo"),))))
    assert run[:2] == ["AgentRunStarted", "TurnStarted"]
    assert run.index("ToolStarted") < run.index("ToolCompleted") < run.index("ModelChunk")
    assert run[-1] == "AgentRunCompleted"


async def test_a_subscriber_may_want_some_kinds_only():
    bus, heard = Bus(), list[Any]()
    bus.subscribe(heard.append, PolicyBlocked, AgentCancelled)
    await ended(agent(policies=(Part("danger", BLOCKS),), publisher=bus))
    assert names(heard) == ["PolicyBlocked"]
