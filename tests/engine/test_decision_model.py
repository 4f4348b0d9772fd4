"""A decision model decides the questions of a tree, and what records keep of it (facts T)."""

from collections.abc import Mapping
from typing import Any

import pytest

from engine import (
    AttemptCompleted,
    DecisionError,
    DecisionFailed,
    DecisionModelDecider,
    DecisionResult,
    Event,
    Inputs,
    Project,
    RunResult,
    Session,
    SystemOneClient,
    SystemOneSettings,
    Tree,
    TreeInvalid,
    cached,
)
from engine.records import ChoiceAnswer, DecisionRecorder, MemorySink, Record, TokenUsage, item_of, line_of
from tests.builders import budget, classify, terminal, tree
from tests.engine.deciding import FakeDesk, question
from tests.engine.runs import VirtualClock
from tests.engine.servers import replies
from tests.engine.systemone import FakeDecisionClient, endpoint

pytestmark = pytest.mark.anyio


def desk_tree(answers: tuple[str, ...] = ("a", "b")) -> Tree:
    asking = classify(
        "Who owns {{case}}?", dict.fromkeys(answers, "done") | {answers[0]: "ask"}, unknown="nobody"
    )
    return tree(ask=asking, done=terminal("done"), nobody=terminal("nobody")).replace(
        tree_id="desk", system_prompt="Be fair.", budget=budget(visits=20, calls=9, tokens=4000)
    )


def settings(**node: Any) -> Mapping[str, Any]:
    return Project.model_validate({"trees": {"desk": {"classify": {"ask": node}}}}).trees


def says(*probabilities: float, confidence: float = 0.8, **more: Any) -> DecisionResult:
    index = probabilities.index(max(probabilities))
    answer = ChoiceAnswer("ask", index, confidence, probabilities)
    return DecisionResult(answers=(answer,), served_model="jev-1.13", usage=TokenUsage(30, 4, 0.25), **more)


def fails(kind: Any, **more: Any) -> DecisionResult:
    served = more.pop("served_model", None)
    return DecisionResult(error=DecisionError(kind, "canary", **more), served_model=served)


async def run(
    *results: DecisionResult, answers: tuple[str, ...] = ("a", "b"), trees: Any = None, **inputs: Any
) -> tuple[RunResult, list[Record], FakeDecisionClient]:
    """A run of the tree by a model that says this, with what was recorded and asked."""
    sink, client = MemorySink(), FakeDecisionClient(*results)
    async with DecisionRecorder(sink) as recorder:
        decider = DecisionModelDecider(client, trees or {})
        session = Session(decider=decider, recorder=recorder, clock=VirtualClock())
        result = await session.start(desk_tree(answers), Inputs(**inputs)).finish()
    records = [decision.record for decision in sink.decisions]
    assert [item_of(line_of(record)) for record in records] == records
    return result, records, client


async def test_the_answers_are_the_options_in_their_order():
    result, (record,), client = await run(says(0.1, 0.9), parameters={"case": "canary"})
    (request,) = client.requests
    asked = request.questions["ask"]
    assert (asked.kind, asked.options) == ("choice", ("a", "b"))
    assert asked.instructions == {"policy": "Be fair.", "task": "Who owns {{case}}?"}
    assert asked.criteria == {"a": None, "b": None}
    assert request.state == {"parameters": {"case": "canary"}, "data": []}
    assert "canary" not in str(record.questions)
    assert (result.verdict, result.usage.llm_calls) == ("done", 1)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (30, 4)
    (classification,) = result.classifications
    assert (classification.answer, classification.probabilities) == ("b", (0.1, 0.9))


async def test_a_mode_offers_unknown_and_the_author_describes():
    trees = settings(
        unknownMode="option",
        descriptions={"a": "The first desk", "b": "The second"},
        examples={"b": ["parcels"]},
    )
    _, (record,), client = await run(says(0.1, 0.8, 0.1), trees=trees)
    criteria = {
        "a": "The first desk",
        "b": {"description": "The second", "examples": ["parcels"]},
        "unknown": "None of the other options fits",
    }
    assert client.requests[0].questions["ask"].criteria == criteria
    assert record.questions["ask"].criteria == criteria


async def test_a_sure_answer_is_taken():
    result, (record,), _ = await run(says(0.1, 0.9), trees=settings(minConfidence=0.5))
    assert result.verdict == "done"
    assert record.answers == (ChoiceAnswer("ask", 1, 0.8, (0.1, 0.9)),)
    assert record.tree is not None
    assert (record.tree.transition, record.tree.min_confidence) == ("b", 0.5)
    assert (record.tree.probability_source, record.tree.llm_calls) == ("model", 1)
    assert (record.provider, record.default_model, record.served_model) == (
        "typesafe",
        "jev-latest",
        "jev-1.13",
    )
    assert record.usage == TokenUsage(30, 4, 0.25)


@pytest.mark.parametrize("mode", ["threshold", "both"])
async def test_an_answer_that_is_not_sure_enough_is_unknown(mode):
    shares = (0.3, 0.7) if mode == "threshold" else (0.2, 0.7, 0.1)
    trees = settings(minConfidence=0.5, unknownMode=mode)
    result, (record,), _ = await run(says(*shares, confidence=0.4), trees=trees)
    assert (result.verdict, result.outcome) == ("nobody", "Unknown")
    assert result.error == "The model is not sure enough: 0.40, where 0.5 is asked for."
    assert record.answers == (ChoiceAnswer("ask", 1, 0.4, shares),)
    assert record.tree is not None
    assert (record.tree.transition, record.tree.unknown_reason) == ("unknown", "low-confidence")


async def test_the_gate_itself_is_sure_enough():
    result, _, _ = await run(says(0.25, 0.75, confidence=0.5), trees=settings(minConfidence=0.5))
    assert result.verdict == "done"


async def test_without_a_gate_every_answer_is_taken():
    result, (record,), _ = await run(says(0.49, 0.51, confidence=0.02))
    assert result.verdict == "done"
    assert record.tree is not None
    assert record.tree.min_confidence is None


async def test_unknown_can_be_chosen():
    result, (record,), _ = await run(says(0.1, 0.1, 0.8), trees=settings(unknownMode="option"))
    assert result.verdict == "nobody"
    assert record.answers == (ChoiceAnswer("ask", 2, 0.8, (0.1, 0.1, 0.8)),)
    assert record.questions["ask"].options == ("a", "b", "unknown")
    assert record.tree is not None
    assert (record.tree.transition, record.tree.unknown_reason) == ("unknown", "chosen")


async def test_a_refusal_is_unknown_and_recorded_as_one():
    result, (record,), _ = await run(fails("Refused", served_model="m", refused_keys=("ask",)))
    assert (result.verdict, result.error, result.usage.llm_calls) == (
        "nobody",
        "The model refused to answer.",
        1,
    )
    assert (record.error_kind, record.refused_keys) == ("Refused", ("ask",))
    assert record.tree is not None
    assert (record.tree.transition, record.tree.unknown_reason) == ("unknown", "refused")


async def test_an_answer_that_does_not_fit_is_unknown():
    result, (record,), _ = await run(fails("InvalidResponse", status=200, served_model="m"))
    assert (result.verdict, record.error_kind) == ("nobody", "InvalidResponse")
    assert record.tree is not None
    assert (record.tree.transition, record.tree.unknown_reason) == ("unknown", "invalid-answer")


@pytest.mark.parametrize(
    ("kind", "status", "says_what"),
    [
        ("Unauthorized", 401, "the key was not accepted (HTTP 401)"),
        ("RateLimited", 429, "too many requests (HTTP 429)"),
        ("Timeout", None, "there was no answer in time"),
        ("InvalidResponse", 200, "the answer cannot be read (HTTP 200)"),
        ("InvalidQuestions", None, "the questions cannot be asked"),
    ],
)
async def test_a_model_that_cannot_be_asked_ends_the_run_and_is_recorded_by_kind(kind, status, says_what):
    trees = settings(unknownMode="option", descriptions={"a": "The first desk"})
    result, (record,), _ = await run(fails(kind, status=status), trees=trees)
    assert (result.outcome, result.failure_kind) == ("ValidationFailed", "llm")
    assert result.error == f"https://decisions.example/: {says_what}. (model: jev-latest)"
    assert (record.error_kind, record.provider, record.endpoint) == (
        kind,
        "typesafe",
        "https://decisions.example/",
    )
    assert record.questions["ask"].options == ("a", "b", "unknown")
    assert "canary" not in line_of(record).decode()
    assert record.tree is not None
    assert (record.tree.transition, record.tree.unknown_reason) == (None, "error")


async def test_each_visit_is_a_decision_of_its_own():
    result, records, _ = await run(says(0.9, 0.1), says(0.1, 0.9))
    assert [record.tree.visit for record in records if record.tree] == [1, 2]
    assert records[0].decision_id != records[1].decision_id
    assert result.usage.llm_calls == 2


async def test_calls_that_are_used_up_leave_no_record():
    sink, client = MemorySink(), FakeDecisionClient(says(0.9, 0.1))
    small = desk_tree().replace(budget=budget(visits=20, calls=2))
    async with DecisionRecorder(sink) as recorder:
        session = Session(decider=DecisionModelDecider(client), recorder=recorder)
        result = await session.start(small).finish()
    assert (result.outcome, len(sink.decisions), len(client.requests)) == ("BudgetExhausted", 2, 2)


async def test_an_answer_from_memory_costs_no_call():
    client = FakeDecisionClient(says(0.1, 0.9))
    decider = DecisionModelDecider(cached(client))
    for calls in (1, 0):
        result = await Session(decider=decider).start(desk_tree()).finish()
        assert (result.verdict, result.usage.llm_calls) == ("done", calls)
        assert result.usage.input_tokens == 30 * calls
    assert len(client.requests) == 1


async def test_the_run_is_told_of_the_attempt_and_which_model_answered():
    events: list[Event] = []
    decider = DecisionModelDecider(FakeDecisionClient(says(0.1, 0.9)), model="jev-1.13")
    await Session(decider=decider).start(desk_tree(), observers=[events.append]).finish()
    (told,) = (event for event in events if isinstance(event, AttemptCompleted))
    assert (told.attempt.content, told.attempt.model, told.attempt.rejected) == ("b", "jev-1.13", None)


async def test_probabilities_are_in_the_order_of_the_answers_however_they_come():
    body = {
        "model": "m",
        "answers": {
            "ask": {
                "type": "choice",
                "choice": "b",
                "confidence": 0.8,
                "probabilities": {"b": 0.9, "a": 0.1},
            }
        },
    }
    sink = MemorySink()
    async with endpoint(replies({}, 503), replies(body)) as server, DecisionRecorder(sink) as recorder:
        asked = SystemOneSettings(base_url=server.url, key="key")
        client = SystemOneClient(asked, clock=VirtualClock())
        session = Session(decider=DecisionModelDecider(client), recorder=recorder)
        result = await session.start(desk_tree()).finish()
        await client.close()
    assert (result.verdict, result.usage.llm_calls) == ("done", 1)
    assert result.classifications[0].attempts == 2
    (decision,) = sink.decisions
    assert decision.record.answers == (ChoiceAnswer("ask", 1, 0.8, (0.1, 0.9)),)


async def test_answers_a_model_cannot_tell_apart_are_refused():
    for answers, code in ((("a", "A"), "answers-alike"), (("a", "Unknown"), "answers-alike")):
        problems = DecisionModelDecider(FakeDecisionClient()).unsuited(desk_tree(answers))
        assert [(problem.code, problem.node) for problem in problems] == [(code, "ask")]
        with pytest.raises(TreeInvalid, match="cannot tell"):
            await DecisionModelDecider(FakeDecisionClient()).decide(question(answers=answers))
    assert DecisionModelDecider(FakeDecisionClient()).unsuited(desk_tree()) == ()


async def test_a_run_of_such_a_tree_is_not_valid():
    result, records, client = await run(says(0.1, 0.9), answers=("a", "A"))
    assert (result.outcome, result.failure_kind, records, client.requests) == (
        "ValidationFailed",
        "validation",
        [],
        [],
    )


async def test_a_client_that_answers_something_else_gave_no_answer():
    desk = FakeDesk()
    decision = await DecisionModelDecider(FakeDecisionClient(DecisionResult(answers=()))).decide(
        question(desk)
    )
    assert (decision.answer, decision.reason, desk.attempts[0].rejected) == (
        None,
        "invalid-answer",
        "invalid-answer",
    )


async def test_a_failure_keeps_what_was_said_and_asked():
    with pytest.raises(DecisionFailed) as raised:
        await DecisionModelDecider(FakeDecisionClient(fails("Server", status=500))).decide(question())
    assert raised.value.error.message == "canary"
    assert raised.value.question is not None
    assert "canary" not in str(raised.value)
