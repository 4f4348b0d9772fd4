"""What the reference runtime does wrong and we do not (section 3.9 of the specification), and hard time."""

import asyncio

import pytest

from engine import (
    ActionCompleted,
    ActionResult,
    Decision,
    Event,
    Inputs,
    PersonDecider,
    Session,
    SystemClock,
    TranscriptOptions,
    TreeInvalid,
    runnable,
    tree_hash,
)
from tests.builders import (
    action,
    budget,
    classify,
    condition_tree,
    evidence_tree,
    terminal,
    transitions,
    tree,
)
from tests.engine.deciding import BAD, OK, FakeClient, unavailable
from tests.engine.runs import Does, VirtualClock, collect, ended, fails, start

pytestmark = pytest.mark.anyio


def short(tree_, *, mode="halt"):
    """The tree with almost no time."""
    return tree_.replace(budget=budget(calls=3, tokens=4000, seconds=0.02, on_exceeded=mode))


class Waits:
    """An action that never comes back, and says whether it was let go."""

    key = "collectEvidence"

    def __init__(self) -> None:
        self.left = False

    async def execute(self, _context):
        try:
            await asyncio.Event().wait()
        finally:
            self.left = True


class WaitingClient(FakeClient):
    """A client that never comes back."""

    async def complete(self, request):
        self.requests.append(request)
        await asyncio.Event().wait()
        raise AssertionError


async def test_an_action_is_cut_off_when_the_time_of_the_run_is_up():
    waits, events = Waits(), list[Event]()
    result = await ended(short(evidence_tree()), actions=[waits], clock=SystemClock(), events=events)
    assert (result.outcome, result.exceeded) == ("BudgetExhausted", "elapsedTime")
    assert result.error == "Decision resource budget exhausted."
    assert (waits.left, result.usage.node_visits, result.usage.llm_calls) == (True, 1, 0)
    assert not [event for event in events if isinstance(event, ActionCompleted)]


async def test_a_call_is_cut_off_when_the_time_of_the_run_is_up_and_is_counted():
    result = await ended(short(evidence_tree()), WaitingClient([]), actions=[collect()], clock=SystemClock())
    assert (result.outcome, result.exceeded) == ("BudgetExhausted", "elapsedTime")
    assert (result.usage.llm_calls, result.usage.unreported_calls, result.classifications) == (1, 1, ())


async def test_the_reader_of_a_run_that_was_cut_off_is_not_cancelled():
    await ended(short(evidence_tree()), actions=[Waits()], clock=SystemClock())
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_an_action_that_swallows_the_interruption_cannot_prolong_the_run():
    class Stubborn:
        key = "collectEvidence"

        async def execute(self, _context):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return ActionResult()

    result = await ended(short(evidence_tree()), [OK], actions=[Stubborn()], clock=SystemClock())
    assert (result.outcome, result.exceeded) == ("BudgetExhausted", "elapsedTime")


@pytest.mark.parametrize("mode", ["warn", "throttle"])
async def test_where_the_time_limit_is_soft_nothing_is_cut_off(mode):
    class Late:
        key = "collectEvidence"

        async def execute(self, _context):
            await asyncio.sleep(0.05)
            return await collect().execute(_context)

    result = await ended(
        short(evidence_tree(), mode=mode), [OK], actions=[Late()], clock=SystemClock(), throttle_delay=0
    )
    assert result.outcome == "Terminal"


async def test_a_person_who_thinks_is_not_cut_off():
    async def ask(_question):
        await asyncio.sleep(0.06)
        return "supported"

    result = await ended(
        short(evidence_tree()), actions=[collect()], clock=SystemClock(), decider=PersonDecider(ask)
    )
    assert result.outcome == "Terminal"


async def test_the_time_between_two_steps_cuts_nothing_off():
    run = start(short(evidence_tree()), [OK], actions=[collect()], clock=SystemClock())
    async for _ in run:
        await asyncio.sleep(0.03)
    assert run.result.outcome == "Terminal"


async def test_a_cancelled_run_stays_cancelled_although_time_is_short():
    waits = Waits()
    run = start(short(evidence_tree()), actions=[waits], clock=VirtualClock())
    reader = asyncio.create_task(run.finish())
    await asyncio.sleep(0)
    run.cancel()
    assert (await reader).outcome == "Cancelled"


# ------------------------------------------------------------------------------------------ models


async def test_a_model_that_does_not_answer_in_time_has_failed_for_the_moment():
    result = await ended(
        evidence_tree(), actions=[collect()], decider=None, client=WaitingClient([]), call_timeout=0.01
    )
    assert (result.outcome, result.failure_kind, result.usage.llm_calls) == ("ValidationFailed", "llm", 0)
    assert result.error == "The model gave no completion within 0.01 s."


async def test_after_a_model_that_was_too_slow_the_next_one_is_asked():
    class FirstIsSlow(FakeClient):
        async def complete(self, request):
            if request.model == "slow":
                await asyncio.Event().wait()
            return await super().complete(request)

    client = FirstIsSlow([OK])
    result = await ended(
        evidence_tree(),
        actions=[collect()],
        decider=None,
        client=client,
        model="slow",
        fallbacks=("quick",),
        call_timeout=0.01,
    )
    assert (result.outcome, client.models) == ("Terminal", ["quick"])


async def test_a_time_out_of_the_clients_own_keeps_its_words():
    client = FakeClient([TimeoutError("gave up after three tries")])
    result = await ended(evidence_tree(), actions=[collect()], decider=None, client=client)
    assert result.error == "gave up after three tries"


async def test_a_failed_model_is_told_apart_from_a_tree_that_is_not_valid():
    asked = await ended(evidence_tree(), [unavailable()], actions=[collect()])
    unchecked = await ended(evidence_tree())
    assert (asked.outcome, asked.failure_kind) == ("ValidationFailed", "llm")
    assert (unchecked.outcome, unchecked.failure_kind) == ("ValidationFailed", "validation")


async def test_a_model_without_fallbacks_belongs_to_the_client():  # F3
    client = FakeClient([OK])
    await ended(evidence_tree(), actions=[collect()], decider=None, client=client, model="other")
    assert client.models == [None]


# ------------------------------------------------------------------------------------------ nodes


def circle():
    return tree(first=action("first", success="end", transient="first", permanent="end"), end=terminal("end"))


async def test_going_round_after_a_failure_of_the_moment_may_wait_a_while():
    clock = VirtualClock()
    first = Does("first", fails("transientFailure"), fails("transientFailure"), fails("permanentFailure"))
    await ended(circle(), actions=[first], clock=clock, retry_delay=2.5)
    assert clock.slept == [2.5, 2.5]


async def test_going_round_does_not_wait_unless_asked_to():
    clock = VirtualClock()
    first = Does("first", fails("transientFailure"), fails("permanentFailure"))
    await ended(circle(), actions=[first], clock=clock)
    assert clock.slept == []


async def test_going_on_after_a_failure_of_the_moment_does_not_wait():
    clock = VirtualClock()
    tree_ = tree(
        first=action("first", success="end", transient="second", permanent="end"),
        second=action("second", success="end"),
        end=terminal("end"),
    )
    actions = [Does("first", fails("transientFailure")), Does("second")]
    await ended(tree_, actions=actions, clock=clock, retry_delay=2.5)
    assert clock.slept == []


async def test_an_action_that_forgets_its_result_has_failed_for_good():
    class Forgets:
        key = "collectEvidence"

        async def execute(self, _context):
            pass

    events = list[Event]()
    result = await ended(evidence_tree(), actions=[Forgets()], events=events)
    assert result.verdict == "failed"
    assert [e.error for e in events if isinstance(e, ActionCompleted)] == ["The action returned no result."]


async def test_the_second_try_repeats_the_question_after_a_word_about_what_was_wrong():
    client = FakeClient([BAD, OK])
    tree_ = evidence_tree().replace(budget=budget(calls=2, tokens=4000))
    await ended(tree_, client, actions=[collect()])
    assert [m.role for m in client.requests[1].messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "system",
        "user",
    ]
    assert client.requests[1].messages[5].content == client.requests[0].messages[1].content


async def test_a_large_state_does_not_fill_the_prompt():
    client = FakeClient([OK])
    tree_ = evidence_tree().replace(budget=budget(calls=2, tokens=100_000))
    properties = {f"name{number}": "x" * 5000 for number in range(100)}
    await ended(tree_, client, actions=[collect()], inputs=Inputs(properties=properties))
    content = client.requests[0].messages[1].content
    assert "[value truncated]" in content
    assert "[50 more omitted]" in content


async def test_an_answer_with_spaces_around_it_still_finds_its_branch():
    tree_ = tree(
        ask=classify("Yes?", {" yes ": "end"}, unknown="lost"), end=terminal("ok"), lost=terminal("no")
    )
    result = await ended(tree_, ['{"answer": "yes"}'])
    assert (result.outcome, result.verdict) == ("Terminal", "ok")


async def test_a_decider_that_answers_what_the_node_does_not_declare_ends_the_run():
    class Wild:
        def for_run(self):
            return self

        async def decide(self, _question):
            return Decision("perhaps")

    result = await ended(evidence_tree(), actions=[collect()], decider=Wild())
    assert (result.outcome, result.failure_kind) == ("ValidationFailed", "internal")
    assert result.error == "Node 'classify' was given an answer it does not declare."


# ------------------------------------------------------------------------------------------ counting


async def test_the_calls_an_action_made_itself_are_charged_to_the_run():
    asks = Does("collectEvidence", ActionResult(llm_calls=3))
    result = await ended(condition_tree().replace(budget=budget(calls=5)), actions=[asks])
    assert (result.usage.llm_calls, result.usage.unreported_calls) == (3, 3)
    result = await ended(condition_tree().replace(budget=budget(calls=2)), actions=[asks])
    assert (result.outcome, result.exceeded) == ("BudgetExhausted", "llmCalls")


async def test_failover_inside_one_call_counts_once():
    client = FakeClient([unavailable(), OK])
    result = await ended(
        evidence_tree(), actions=[collect()], decider=None, client=client, model="a", fallbacks=("b",)
    )
    assert (result.usage.llm_calls, client.models) == (1, ["a", "b"])


async def test_a_decider_that_asks_nobody_is_charged_nothing():
    class Remembers:
        def for_run(self):
            return self

        async def decide(self, _question):
            return Decision("supported", llm_calls=0, cached=True)

    result = await ended(evidence_tree(), actions=[collect()], decider=Remembers())
    assert (result.outcome, result.usage.llm_calls) == ("Terminal", 0)


async def test_a_person_is_charged_one_call():
    async def ask(_question):
        return "supported"

    result = await ended(evidence_tree(), actions=[collect()], decider=PersonDecider(ask))
    assert result.usage.llm_calls == 1


async def test_how_sure_a_model_says_it_is_closes_no_gate():
    reply = '{"answer": "supported", "confidence": "very low"}'
    result = await ended(evidence_tree(), [reply], actions=[collect()])
    assert (result.outcome, result.classifications[0].confidence) == ("Terminal", "very low")


async def test_the_result_does_not_say_where_the_transcript_is_but_the_run_does(tmp_path):
    run = start(evidence_tree(), [OK], actions=[collect()], transcript=TranscriptOptions(directory=tmp_path))
    result = await run.finish()
    assert not [name for name in result.as_json() if "transcript" in name.lower()]
    assert run.transcript is not None
    assert (run.transcript.status, run.transcript.path) == ("Completed", next(iter(tmp_path.iterdir())))


# ------------------------------------------------------------------------------------------ proof

# The reference can be given a loader that lets such trees through; here only a tree without errors runs.
BROKEN = {
    "no transitions": ("collect", {}),
    "a branch is missing": ("classify", {"unknown": "unknown"}),
    "a target is missing": ("classify", {"supported": "nowhere", "unknown": "unknown"}),
}


@pytest.mark.parametrize(("node", "targets"), BROKEN.values(), ids=BROKEN)
async def test_a_tree_that_leads_nowhere_never_begins(node, targets):  # E24, E25, E26
    whole = evidence_tree()
    broken = whole.nodes[node].replace(transitions=transitions(targets))
    tree_ = whole.replace(nodes={**whole.nodes, node: broken})
    result = await ended(tree_, [OK], actions=[collect()])
    assert (result.outcome, result.failure_kind, result.usage.node_visits) == (
        "ValidationFailed",
        "validation",
        0,
    )
    assert f"'{node}'" in (result.error or "")
    with pytest.raises(TreeInvalid):
        runnable(tree_)


async def test_a_plain_tree_is_checked_at_the_start_of_each_run_and_a_runnable_is_not(monkeypatch):  # E35
    checked = []

    def proving(tree_, catalog):
        checked.append(tree_)
        return runnable(tree_, catalog)

    monkeypatch.setattr("engine.run.runnable", proving)
    for tree_ in (condition_tree(), condition_tree(), runnable(condition_tree())):
        assert (await Session().start(tree_, actions=[collect()]).finish()).succeeded
    assert len(checked) == 2


def test_a_runnable_works_out_its_hash_once():
    proven = runnable(condition_tree())
    assert proven.hash == tree_hash(condition_tree())
    assert proven.hash is proven.hash
