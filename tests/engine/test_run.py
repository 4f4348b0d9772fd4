"""A run: the order of things, limits, endings, and pulling it along. Ids are rows of the specification."""

import asyncio
from dataclasses import replace

import pytest

from engine import (
    ActionCompleted,
    ActionResult,
    BoundedDataPolicy,
    Budget,
    BudgetPassed,
    Catalog,
    CatalogError,
    ClassificationCompleted,
    DataItem,
    Event,
    Inputs,
    Limits,
    Message,
    NodeStarted,
    NodeVisited,
    Pins,
    PredicateContext,
    RunEnded,
    RunStarted,
    SlidingConversation,
    Stop,
    TimeSpan,
    Tree,
    predicate,
    standard_catalog,
    trail_of,
)
from engine.catalog import FunctionPredicate
from tests.builders import (
    action,
    budget,
    classify,
    condition,
    condition_tree,
    cycle_tree,
    demo_tree,
    evidence_tree,
    terminal,
    tree,
)
from tests.engine.deciding import BAD, OK, FakeClient
from tests.engine.runs import Calls, Does, SlowClient, VirtualClock, collect, ended, evidence, fails, start

pytestmark = pytest.mark.anyio

LOOP = '{"answer": "loop"}'


# ------------------------------------------------------------------------------------------ E1 to E8


async def test_an_action_feeds_a_condition_that_leads_to_the_end():  # E1
    result = await ended(condition_tree(), actions=[collect()])
    assert (result.outcome, result.verdict, result.usage.node_visits) == ("Terminal", "approved", 3)


async def test_properties_written_directly_and_returned_are_kept_and_null_ones_are_not():  # E2
    class Both:
        key = "collectEvidence"

        async def execute(self, context):
            context.properties["directProperty"] = "direct"
            context.properties["nothing"] = None
            return ActionResult(data=(evidence(),), properties={"returnedProperty": "returned"})

    result = await ended(condition_tree(), actions=[Both()])
    assert result.state_properties == {"directProperty": "direct", "returnedProperty": "returned"}


async def test_an_unreadable_answer_is_asked_for_once_more():  # E3
    client = FakeClient([BAD, '{"answer": "yes"}'])
    asking = tree(ask=classify("Yes?", {"yes": "end"}, unknown="end"), end=terminal("end"))
    result = await ended(asking.replace(budget=budget(calls=2)), client)
    assert (result.outcome, result.usage.llm_calls) == ("Terminal", 2)
    assert [(c.answer, c.attempts) for c in result.classifications] == [("yes", 2)]
    assert [m.role for m in client.requests[1].messages] == ["system", "system", "user"]


async def test_a_second_bad_answer_follows_unknown_and_quotes_it():  # E4
    tree_ = evidence_tree().replace(budget=budget(calls=2))
    result = await ended(tree_, [BAD, '{"answer": "perhaps"}'], actions=[collect()])
    assert (result.outcome, result.verdict, result.succeeded) == ("Unknown", "unknown", False)
    assert [c.answer for c in result.classifications] == ["unknown"]
    assert result.usage.llm_calls == 2
    assert result.error == (
        'Classification response could not be classified. Model returned: "{"answer": "perhaps"}"'
    )


async def test_evidence_that_does_not_fit_is_not_sent_and_nothing_is_called():  # E5
    client = FakeClient([OK])
    result = await ended(
        evidence_tree(), client, actions=[Does("collectEvidence", ActionResult(data=(evidence("x" * 2000),)))]
    )
    assert (result.outcome, result.usage.llm_calls, client.requests) == ("Unknown", 0, [])
    assert "required user input was omitted" in (result.error or "")


async def test_every_user_message_of_an_own_builder_is_required():  # E6
    def build(*_: object) -> list[Message]:
        return [Message("system", "s"), Message("user", "x" * 1000), Message("user", "short")]

    result = await ended(evidence_tree(), [OK], actions=[collect()], build_context=build)
    assert (result.outcome, result.usage.llm_calls) == ("Unknown", 0)


async def test_the_prompt_shows_the_evidence():  # E7
    client = FakeClient([OK])
    await ended(evidence_tree(), client, actions=[collect()])
    assert "The invoice is attached." in client.requests[0].messages[1].content


async def test_data_the_policy_leaves_out_is_announced_by_a_marker():  # E8
    seen = []

    def build(_tree, _node, _properties, data, _parameters):
        seen.append(data)
        return [Message("user", "ask")]

    policy = BoundedDataPolicy(max_items=1, max_content_length=20, max_aggregate_length=250)
    given = (evidence("x" * 200), evidence("y"))
    await ended(
        evidence_tree(),
        [OK],
        actions=[Does("collectEvidence", ActionResult(data=given))],
        build_context=build,
        data_policy=policy,
    )
    (marker,) = seen[0].of_type("selection")
    assert marker.content


# ------------------------------------------------------------------------------------------ limits


async def test_the_visit_limit_stops_before_the_visit_that_would_pass_it():  # E9
    tree_ = condition_tree().replace(budget=budget(visits=2))
    result = await ended(tree_, actions=[collect()])
    assert (result.outcome, result.usage.node_visits, result.exceeded) == ("BudgetExhausted", 2, "nodeVisits")
    assert result.error == "Maximum decision node visits exceeded."


async def test_the_visit_limit_itself_may_be_used_up():  # E10
    tree_ = condition_tree().replace(budget=budget(visits=3))
    assert (await ended(tree_, actions=[collect()])).outcome == "Terminal"


@pytest.mark.parametrize("mode", ["halt", "warn", "throttle"])
async def test_the_visit_limit_is_hard_in_every_mode(mode):  # E11
    tree_ = cycle_tree().replace(budget=budget(visits=3, calls=10, tokens=4000, on_exceeded=mode))
    result = await ended(tree_, [LOOP] * 9)
    assert (result.outcome, result.usage.node_visits, result.usage.llm_calls) == ("BudgetExhausted", 3, 3)


@pytest.mark.parametrize("mode", ["halt", "warn", "throttle"])
async def test_the_call_limit_is_hard_in_every_mode(mode):  # E12
    tree_ = cycle_tree().replace(budget=budget(visits=10, calls=2, tokens=4000, on_exceeded=mode))
    result = await ended(tree_, [LOOP] * 9)
    assert (result.outcome, result.usage.node_visits, result.usage.llm_calls) == ("BudgetExhausted", 3, 2)
    assert result.exceeded == "llmCalls"


async def test_throttling_waits_a_moment_before_a_count_ends_the_run():
    clock = VirtualClock()
    tree_ = cycle_tree().replace(budget=budget(visits=3, calls=10, tokens=4000, on_exceeded="throttle"))
    await ended(tree_, [LOOP] * 9, clock=clock, throttle_delay=0.25)
    assert clock.slept == [0.25]


async def test_no_room_for_the_second_try_ends_the_run_without_a_classification():  # E13
    result = await ended(evidence_tree(), [BAD], actions=[collect()])
    assert (result.outcome, result.error) == ("BudgetExhausted", "Decision resource budget exhausted.")
    assert (result.classifications, result.usage.node_visits) == ((), 2)


async def test_no_call_allowed_ends_the_run_at_the_question():  # E14
    events: list[Event] = []
    tree_ = evidence_tree().replace(budget=budget(calls=0))
    result = await ended(tree_, [OK], actions=[collect()], events=events)
    assert (result.outcome, result.error) == ("BudgetExhausted", "Maximum decision LLM calls exceeded.")
    assert result.usage.node_visits == 2
    assert [e.visit.node for e in events if isinstance(e, NodeVisited)] == ["collect"]


async def test_an_answer_that_came_too_late_is_not_used():  # E15
    clock = VirtualClock()
    result = await ended(evidence_tree(), SlowClient(clock, 11, [OK]), actions=[collect()], clock=clock)
    assert (result.outcome, result.exceeded, result.usage.llm_calls) == ("BudgetExhausted", "elapsedTime", 1)
    assert result.classifications == ()


@pytest.mark.parametrize(("mode", "slept"), [("warn", []), ("throttle", [0.1, 0.1, 0.1])])
async def test_warning_and_throttling_let_a_late_run_go_on_and_say_so(mode, slept):  # E16
    clock = VirtualClock()
    events: list[Event] = []
    tree_ = evidence_tree().replace(budget=budget(on_exceeded=mode))
    result = await ended(tree_, SlowClient(clock, 11, [OK]), actions=[collect()], clock=clock, events=events)
    assert (result.outcome, clock.slept) == ("Terminal", slept)
    assert {e.limit for e in events if isinstance(e, BudgetPassed)} == {"elapsedTime"}


async def test_time_that_is_up_stops_the_run_before_the_next_node():  # E17
    clock = VirtualClock()

    def dawdle(_context):
        clock.seconds += 11

    result = await ended(condition_tree(), actions=[Calls("collectEvidence", dawdle)], clock=clock)
    assert (result.outcome, result.usage.node_visits, result.exceeded) == (
        "BudgetExhausted",
        1,
        "elapsedTime",
    )


async def test_a_limit_the_tree_sets_goes_before_the_sessions():  # E18
    tree_ = condition_tree().replace(budget=budget(visits=20))
    result = await ended(tree_, actions=[collect()], limits=Limits(node_visits=2))
    assert (result.outcome, result.usage.node_visits) == ("Terminal", 3)


async def test_a_limit_the_tree_leaves_open_is_the_sessions():  # E19
    tree_ = condition_tree().replace(budget=budget(visits=None))
    result = await ended(tree_, actions=[collect()], limits=Limits(node_visits=2))
    assert (result.outcome, result.usage.node_visits) == ("BudgetExhausted", 2)


async def test_the_budget_of_the_inputs_goes_before_the_trees():
    inputs = Inputs(budget=budget(visits=2, calls=None, seconds=None, tokens=None, on_exceeded=None))
    result = await ended(condition_tree(), actions=[collect()], inputs=inputs)
    assert result.limits == Limits(node_visits=2, llm_calls=1, elapsed=10.0, context_tokens=100)


# ------------------------------------------------------------------------------------------ nodes


async def test_a_fenced_answer_is_read():  # E20
    result = await ended(evidence_tree(), [f"```json\n{OK}\n```"], actions=[collect()])
    assert (result.outcome, result.usage.llm_calls) == ("Terminal", 1)


def failing_predicate() -> Catalog:
    @predicate("breaks")
    def breaks(_context: PredicateContext) -> bool:
        raise RuntimeError("no such table")

    return standard_catalog().with_predicates([FunctionPredicate("breaks", breaks)])


async def test_a_predicate_that_raises_ends_the_run_as_not_valid():  # E21
    events: list[Event] = []
    tree_ = tree(check=condition("breaks", then="a", otherwise="a"), a=terminal("a"))
    result = await ended(tree_, catalog=failing_predicate(), events=events)
    assert (result.outcome, result.failure_kind, result.usage.node_visits) == (
        "ValidationFailed",
        "predicate",
        1,
    )
    assert result.error == "Predicate 'breaks' failed: no such table"
    assert [e.visit.outcome for e in events if isinstance(e, NodeVisited)] == ["validationFailed"]


async def test_an_action_nobody_offers_ends_the_run_before_it_begins():  # E22, L23
    result = await ended(evidence_tree(), [OK])
    assert (result.outcome, result.usage.node_visits) == ("ValidationFailed", 0)
    assert result.error == "Action 'collectEvidence' for node 'collect' is not registered."


async def test_a_predicate_known_by_name_only_ends_the_run_before_it_begins():  # E23
    tree_ = tree(check=condition("elsewhere", then="a", otherwise="a"), a=terminal("a"))
    result = await ended(tree_, catalog=standard_catalog().with_external(predicates=["elsewhere"]))
    assert (result.outcome, result.usage.node_visits) == ("ValidationFailed", 0)
    assert result.error == "Predicate 'elsewhere' for node 'check' is not registered."


async def test_a_tree_with_errors_ends_as_not_valid_without_a_visit():  # E24 to E26
    broken = condition_tree()
    nodes = {**broken.nodes, "collect": broken.nodes["collect"].replace(transitions=())}
    result = await ended(broken.replace(nodes=nodes), actions=[collect()])
    assert (result.outcome, result.failure_kind, result.usage.node_visits) == (
        "ValidationFailed",
        "validation",
        0,
    )
    assert result.error == (
        "Node 'collect' must define exactly these transitions: success, transientFailure, permanentFailure."
    )


def retrying() -> Tree:
    return tree(
        first=action("first", success="end", transient="first", permanent="second"),
        second=action("second", success="end", transient="skip", permanent="skip"),
        end=terminal("end"),
        skip=terminal("skip"),
    )


async def test_a_failure_with_a_way_around_it_is_no_failure():  # E27
    result = await ended(retrying(), actions=[Does("first", fails("permanentFailure")), Does("second")])
    assert (result.outcome, result.succeeded, result.error) == ("Terminal", True, None)


async def test_a_failure_of_the_moment_may_be_tried_again():  # E28
    first = Does("first", fails("transientFailure"), fails("permanentFailure"))
    result = await ended(retrying(), actions=[first, Does("second")])
    assert [v.node for v in result.path] == ["first", "first", "second", "end"]
    assert [v.number for v in result.path] == [1, 2, 1, 1]
    assert result.succeeded


async def test_a_failure_may_lead_to_a_verdict():  # E29
    actions = [Does("first", fails("permanentFailure")), Does("second", fails("transientFailure"))]
    result = await ended(retrying(), actions=actions)
    assert (result.outcome, result.verdict, result.error) == ("Terminal", "skip", None)


async def test_an_unknown_answer_after_a_failed_action_keeps_its_own_error():  # E30
    tree_ = tree(
        act=action("act", success="ask"),
        ask=classify("Yes?", {"yes": "end"}, unknown="end"),
        end=terminal("end"),
    )
    result = await ended(tree_, [BAD, BAD], actions=[Does("act", fails("permanentFailure", "broken"))])
    assert result.outcome == "Unknown"
    assert (result.error or "").startswith("Classification response could not be classified.")


async def test_an_action_that_raises_has_failed_for_good():  # E31
    events: list[Event] = []
    result = await ended(
        retrying(), actions=[Does("first", OSError("disk on fire")), Does("second")], events=events
    )
    assert result.succeeded
    first = next(e for e in events if isinstance(e, ActionCompleted))
    assert (first.status, first.error) == ("permanentFailure", "disk on fire")


async def test_a_time_out_inside_an_action_is_its_failure_and_cancels_nothing():
    async def give_up() -> None:
        raise asyncio.CancelledError

    class TimesOut:
        key = "first"

        async def execute(self, _context):
            await give_up()

    result = await ended(retrying(), actions=[TimesOut(), Does("second")])
    assert result.outcome == "Terminal"


async def test_eight_runs_at_once_do_not_meet():  # E33
    runs = [start(condition_tree(), actions=[collect()]) for _ in range(8)]
    results = await asyncio.gather(*(run.finish() for run in runs))
    assert [r.usage.node_visits for r in results] == [3] * 8
    assert all(r.succeeded for r in results)
    assert len({r.execution_id for r in results}) == 8


async def test_each_run_has_a_conversation_of_its_own():  # E34
    made = []

    def new() -> SlidingConversation:
        made.append(SlidingConversation())
        return made[-1]

    for _ in range(2):
        await ended(evidence_tree(), [OK], actions=[collect()], new_conversation=new)
    assert len(made) == 2
    assert made[0] is not made[1]


async def test_two_unknown_answers_leave_the_first_ones_text_in_the_result():  # E36
    tree_ = tree(
        one=classify("One?", {"yes": "two"}, unknown="two"),
        two=classify("Two?", {"yes": "end"}, unknown="end"),
        end=terminal("ok"),
    )
    result = await ended(tree_, ["first", "first", "second", "second"])
    assert 'Model returned: "first"' in (result.error or "")
    one, two = (c.observation or "" for c in result.classifications)
    assert one.endswith('"first"')
    assert two.endswith('"second"')


async def test_a_run_that_met_unknown_stays_unknown_wherever_it_ends():  # E37
    tree_ = tree(
        ask=classify("Yes?", {"yes": "end"}, unknown="mend"),
        mend=action("mend", success="end"),
        end=terminal("ok"),
    )
    result = await ended(tree_, [BAD, BAD], actions=[Does("mend")])
    assert (result.outcome, result.verdict, result.succeeded, result.had_unknown) == (
        "Unknown",
        "ok",
        False,
        True,
    )


async def test_a_repeated_action_key_is_refused_before_there_is_a_run():  # E39
    with pytest.raises(CatalogError, match="duplicate or empty key 'collectEvidence'"):
        start(condition_tree(), actions=[collect(), collect()])


async def test_parameters_fill_the_question_in_one_pass():
    client = FakeClient([OK])
    inputs = Inputs(parameters={"subject": "{{other}}", "other": "never"})
    await ended(demo_tree(), client, actions=[collect()], inputs=inputs)
    assert "relevant to {{other}}?" in client.requests[0].messages[1].content


async def test_the_demo_ends_as_published():
    result = await ended(demo_tree(), [OK], actions=[collect()])
    assert (result.outcome, result.verdict, result.usage.node_visits, result.usage.llm_calls) == (
        "Terminal",
        "supported",
        4,
        1,
    )


# ------------------------------------------------------------------------------------------ events


async def test_events_come_in_the_documented_order():  # V1, V2
    events: list[Event] = []
    await ended(evidence_tree(), [OK], actions=[collect()], events=events)
    told = [e for e in events if not isinstance(e, NodeStarted)]
    assert [type(e).__name__ for e in told] == [
        "RunStarted",
        "ActionCompleted",
        "NodeVisited",
        "AttemptCompleted",
        "ClassificationCompleted",
        "NodeVisited",
        "NodeVisited",
        "RunEnded",
    ]
    (classified,) = (e.classification for e in events if isinstance(e, ClassificationCompleted))
    assert (classified.answer, classified.observation, classified.confidence) == (
        "supported",
        "evidence",
        "high",
    )
    assert [e.visit.outcome for e in events if isinstance(e, NodeVisited)] == [
        "success",
        "supported",
        "approved",
    ]


async def test_an_observer_that_fails_is_let_go_and_the_run_goes_on(caplog):  # V4
    seen = []

    def broken(event):
        seen.append(event)
        raise RuntimeError("secret of the observer")

    run = start(condition_tree(), actions=[collect()])
    run.observe(broken)
    assert (await run.finish()).succeeded
    assert len(seen) == 1
    assert "secret" not in caplog.text


async def test_the_trail_of_the_events_tells_what_the_result_tells():
    events: list[Event] = []
    result = await ended(demo_tree(), [OK], actions=[collect()], events=events)
    trail = trail_of(events)
    assert (trail.result, trail.path, trail.classifications) == (result, result.path, result.classifications)
    assert trail.visits() == {"collect": 1, "classify": 1, "verify": 1, "approved": 1}
    assert ("classify", "supported") in trail.taken()
    assert [item.id for item in trail.data] == ["evidence-1"]
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)


# ------------------------------------------------------------------------------------------ pulling


async def test_a_run_stops_before_each_node_and_asking_again_executes_it():
    run = start(condition_tree(), actions=[collect()])
    assert await anext(run) == Stop("collect")
    assert run.elapsed == 0
    assert [stop.node async for stop in run] == ["check", "approved"]
    assert run.result.verdict == "approved"


async def test_a_run_stops_inside_a_node_only_where_it_was_asked_to():
    tree_ = evidence_tree().replace(budget=budget(calls=2))
    run = start(tree_, [BAD, OK], actions=[collect()], stops_inside=["beforeAttempt", "afterDecision"])
    assert [(s.node, s.phase, s.turn) async for s in run] == [
        ("collect", "beforeNode", None),
        ("classify", "beforeNode", None),
        ("classify", "beforeAttempt", 1),
        ("classify", "beforeAttempt", 2),
        ("classify", "afterDecision", None),
        ("approved", "beforeNode", None),
    ]


async def test_the_time_nobody_asks_is_not_charged():
    clock = VirtualClock()
    run = start(condition_tree(), actions=[collect()], clock=clock)
    async for _ in run:
        clock.seconds += 3600
    assert run.result.succeeded
    assert run.result.usage.duration == 0


async def test_a_run_cancelled_before_it_starts_has_visited_nothing():  # E38
    events: list[Event] = []
    run = start(condition_tree(), actions=[collect()], events=events)
    run.cancel()
    assert (run.result.outcome, run.result.usage.node_visits) == ("Cancelled", 0)
    assert run.result.error == "Decision execution was cancelled."
    assert [stop async for stop in run] == []
    assert [type(e).__name__ for e in events] == ["RunStarted", "RunEnded"]


async def test_a_run_cancelled_between_two_nodes_ends_at_once():
    run = start(condition_tree(), actions=[collect()])
    await anext(run)
    await anext(run)
    run.cancel()
    assert (run.result.outcome, run.result.usage.node_visits) == ("Cancelled", 1)


class Hangs:
    key = "collectEvidence"

    def __init__(self) -> None:
        self.reached, self.left = asyncio.Event(), False

    async def execute(self, _context):
        self.reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left = True


async def test_cancelling_interrupts_the_node_and_leaves_its_reader_alive():
    hangs = Hangs()
    run = start(condition_tree(), actions=[hangs])
    reader = asyncio.create_task(run.finish())
    await hangs.reached.wait()
    run.cancel()
    result = await reader
    assert (result.outcome, hangs.left) == ("Cancelled", True)


@pytest.mark.parametrize("kind", [RunStarted, NodeStarted, NodeVisited])
@pytest.mark.parametrize("stepping", [False, True])
async def test_an_observer_that_cancels_ends_the_run_and_leaves_its_reader_alive(kind, stepping):
    run = start(condition_tree(), actions=[collect()])
    run.observe(lambda event: run.cancel() if isinstance(event, kind) else None)
    if stepping:
        async for _ in run:
            await asyncio.sleep(0)
    else:
        await run.finish()
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert (run.result.outcome, task.cancelling()) == ("Cancelled", 0)


async def test_a_cancelled_reader_ends_the_run_and_stays_cancelled():
    hangs = Hangs()
    run = start(condition_tree(), actions=[hangs])
    reader = asyncio.create_task(run.finish())
    await hangs.reached.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert (run.result.outcome, hangs.left) == ("Cancelled", True)


async def test_a_time_out_of_the_model_is_no_cancellation():
    class TimesOut(FakeClient):
        async def complete(self, request):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
            raise AssertionError

    result = await ended(evidence_tree(), TimesOut([]), actions=[collect()])
    assert (result.outcome, result.failure_kind) == ("ValidationFailed", "llm")


async def test_a_run_has_one_reader_at_a_time():
    hangs = Hangs()
    run = start(condition_tree(), actions=[hangs])
    reader = asyncio.create_task(run.finish())
    await hangs.reached.wait()
    with pytest.raises(RuntimeError, match="one reader"):
        await anext(run)
    run.cancel()
    await reader


async def test_a_result_is_not_to_be_had_before_the_end():
    run = start(condition_tree(), actions=[collect()])
    with pytest.raises(RuntimeError, match="not ended"):
        _ = run.result
    run.cancel()


# ------------------------------------------------------------------------------------------ pins


async def test_pinned_results_stand_for_actions_conditions_and_answers():
    pins = Pins(
        answers={"classify": "supported"},
        conditions={"verify": False},
        actions={"collect": ActionResult(data=(DataItem("e", "case", "evidence", "pinned"),))},
    )
    result = await ended(demo_tree(), inputs=Inputs(pins=pins))
    assert (result.outcome, result.verdict, result.usage.llm_calls) == ("Terminal", "failed", 1)
    assert [v.forced for v in result.path] == [True, False, True, False]


async def test_a_pinned_unknown_counts_two_calls():
    tree_ = evidence_tree().replace(budget=budget(calls=2))
    result = await ended(
        tree_, actions=[collect()], inputs=Inputs(pins=Pins(answers={"classify": "unknown"}))
    )
    assert (result.outcome, result.usage.llm_calls) == ("Unknown", 2)


async def test_a_pinned_list_gives_one_result_a_visit_and_says_when_it_is_used_up():
    tree_ = cycle_tree().replace(budget=budget(visits=10, calls=10))
    pins = Pins(answers={"ask": ["loop", "loop"]})
    result = await ended(tree_, inputs=Inputs(pins=pins))
    assert (result.outcome, result.failure_kind) == ("ValidationFailed", "validation")
    assert "'ask'" in (result.error or "")
    assert "visit 3" in (result.error or "")


async def test_a_pinned_action_list_is_used_visit_by_visit():
    pins = Pins(actions={"first": [fails("transientFailure"), ActionResult()]})
    result = await ended(retrying(), actions=[Does("second")], inputs=Inputs(pins=pins))
    assert [v.branch for v in result.path] == ["transientFailure", "success", None]


async def test_the_effective_limits_are_told_with_the_run():
    events: list[Event] = []
    span = TimeSpan.of_seconds(2.5)
    tree_ = condition_tree().replace(budget=replace_budget(max_elapsed_time=span))
    await ended(tree_, actions=[collect()], events=events)
    (started,) = (event for event in events if isinstance(event, RunStarted))
    assert started.limits == replace(Limits(), elapsed=2.5)


def replace_budget(**members: object) -> Budget:
    return budget(visits=None, calls=None, seconds=None, tokens=None, on_exceeded=None).replace(**members)
