"""The recording stage around deciders, in real runs and alone (facts R and T of the record rules)."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engine.deciders import Decider, Decision, Question
from engine.deciders.person import PersonDecider
from engine.deciders.scripted import ScriptedDecider
from engine.deciders.text import TextDecider
from engine.errors import LlmError
from engine.llm import Completion, Request
from engine.records import (
    DROP,
    ChoiceAnswer,
    Counters,
    DecisionRecorder,
    MemorySink,
    Record,
    Redact,
    TokenUsage,
    digested,
    line_of,
    masked,
    recorded,
)
from engine.run import Inputs, Run
from engine.session import Session
from engine.tree import Budget, Json, Tree
from tests.engine.deciding import BAD, OK, FakeClient, question, unavailable

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
TREE = Tree.model_validate(
    {
        "treeId": "desk",
        "version": 3,
        "startNodeId": "gate",
        "systemPrompt": "Be fair.",
        "task": "Look after {{customer}}.",
        "nodes": {
            "gate": {
                "type": "classify",
                "task": "Is the damage of {{customer}} covered?",
                "answers": ["supported", "other"],
                "transitions": [
                    {"condition": "supported", "nextNodeId": "yes"},
                    {"condition": "other", "nextNodeId": "gate"},
                    {"condition": "unknown", "nextNodeId": "no"},
                ],
            },
            "yes": {"type": "terminal", "verdict": "yes"},
            "no": {"type": "terminal", "verdict": "no"},
        },
    }
)


class FakeClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOON

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Deciding:
    """A decider that does what the test says."""

    def __init__(self, decide: Callable[[], Decision]) -> None:
        self.decide_now = decide

    def for_run(self) -> "Deciding":
        return self

    async def decide(self, question: Question) -> Decision:
        return self.decide_now()


class Failing(MemorySink):
    """A sink that takes nothing."""

    async def write(self, record: Record) -> None:
        raise OSError("canary in the sink")


def saying(decision: Decision) -> Deciding:
    return Deciding(lambda: decision)


def raising(error: BaseException) -> Deciding:
    def fail() -> Decision:
        raise error

    return Deciding(fail)


async def kept_of(decider: Decider, asked: Question | None = None) -> tuple[Record, ...]:
    sink = MemorySink()
    async with DecisionRecorder(sink) as recorder:
        await recorded(decider, recorder).decide(asked or question(answers=("a", "b", "c")))
    return tuple(decision.record for decision in sink.decisions)


async def run_of(decider: Decider, sink: MemorySink, **inputs) -> Run:
    async with DecisionRecorder(sink) as recorder:
        run = Session(decider=decider, recorder=recorder).start(TREE, Inputs(**inputs))
        await run.finish()
    return run


async def test_one_decision_is_one_record_and_comes_back_as_it_was() -> None:
    decision, sink = Decision("a"), MemorySink()
    async with DecisionRecorder(sink) as recorder:
        stage = recorded(saying(decision), recorder)
        assert await stage.decide(question(answers=("a", "b"))) is decision
    assert len(sink.decisions) == 1
    assert recorder.counters == Counters(written=1)


async def test_a_text_model_is_recorded_one_hot_with_what_it_took() -> None:
    client = FakeClient([BAD, Completion(OK, input_tokens=30, output_tokens=4, model="m-1", response_id="r")])
    sink = MemorySink()
    run = await run_of(TextDecider(client), sink, parameters={"customer": "Ann"}, erasure_key="k")
    (decision,) = sink.decisions
    record = decision.record
    assert (record.provider, record.endpoint, record.default_model) == ("fake", "http://fake/v1", "own-model")
    assert (record.served_model, record.response_id, record.requested_model) == ("m-1", "r", None)
    assert record.usage == TokenUsage(30, 4)
    assert record.answers == (ChoiceAnswer("gate", 0, 1.0, (1.0, 0.0)),)
    assert record.erasure_key == "k"
    assert record.decision_id == run.result.classifications[0].decision_id
    place = record.tree
    assert place is not None
    assert (place.tree_id, place.tree_version, place.tree_hash) == ("desk", 3, run.result.tree_hash)
    assert (place.execution_id, place.node, place.visit) == (run.execution_id, "gate", 1)
    assert (place.transition, place.unknown_reason, place.llm_calls) == ("supported", None, 2)
    assert (place.probability_source, place.stated_confidence) == ("onehot", "high")


async def test_the_question_keeps_the_authors_words_and_the_state_has_the_values() -> None:
    sink = MemorySink()
    await run_of(TextDecider(FakeClient([OK])), sink, parameters={"customer": "Ann", "other": "unused"})
    record = sink.decisions[0].record
    assert record.questions["gate"].instructions == {
        "policy": "Be fair.",
        "task": "Is the damage of {{customer}} covered?",
    }
    assert record.questions["gate"].criteria == {"supported": None, "other": None}
    assert record.state == {"parameters": {"customer": "Ann"}, "data": []}


async def test_a_loop_leaves_a_record_a_visit() -> None:
    sink = MemorySink()
    await run_of(TextDecider(FakeClient([OK.replace("supported", "other"), OK])), sink)
    first, second = (decision.record for decision in sink.decisions)
    assert first.decision_id != second.decision_id
    assert first.tree is not None
    assert second.tree is not None
    assert (first.tree.visit, second.tree.visit) == (1, 2)
    assert (first.tree.transition, second.tree.transition) == ("other", "supported")


async def test_the_second_bad_answer_is_an_invalid_response() -> None:
    sink = MemorySink()
    await run_of(TextDecider(FakeClient([BAD, BAD])), sink)
    record = sink.decisions[0].record
    assert (record.error_kind, record.answers) == ("InvalidResponse", None)
    assert record.tree is not None
    assert (record.tree.transition, record.tree.unknown_reason) == ("unknown", "invalid-answer")
    assert (record.tree.llm_calls, record.tree.probability_source) == (2, None)
    assert BAD not in line_of(record).decode()


async def test_a_refusal_names_the_question() -> None:
    refusal = Completion(None, refusal="I will not")
    sink = MemorySink()
    await run_of(TextDecider(FakeClient([refusal, refusal])), sink)
    record = sink.decisions[0].record
    assert (record.error_kind, record.refused_keys) == ("Refused", ("gate",))
    assert "I will not" not in line_of(record).decode()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (unavailable(400), "Validation"),
        (unavailable(401), "Unauthorized"),
        (unavailable(403), "Unauthorized"),
        (unavailable(404), "Http"),
        (unavailable(408), "Http"),
        (unavailable(429), "RateLimited"),
        (unavailable(500), "Server"),
        (unavailable(503), "Overloaded"),
        (unavailable(529), "Overloaded"),
        (LlmError("canary", kind="timeout", transient=True), "Timeout"),
        (LlmError("canary", kind="connection", transient=True), "Network"),
        (LlmError("canary", kind="protocol", transient=True), "InvalidResponse"),
    ],
)
async def test_a_model_that_could_not_be_asked_is_recorded_by_kind_and_the_run_fails(
    error: LlmError, kind: str
) -> None:
    sink = MemorySink()
    run = await run_of(TextDecider(FakeClient([error])), sink)
    assert (run.result.outcome, run.result.failure_kind) == ("ValidationFailed", "llm")
    record = sink.decisions[0].record
    assert (record.error_kind, record.answers) == (kind, None)
    assert record.tree is not None
    assert (record.tree.transition, record.tree.unknown_reason) == (None, "error")
    assert "canary" not in line_of(record).decode()
    assert "HTTP" not in line_of(record).decode()


async def test_a_failed_decision_says_who_was_asked_where_that_is_known() -> None:
    sink, client = MemorySink(), FakeClient([])
    async with DecisionRecorder(sink) as recorder:
        with pytest.raises(LlmError):
            await recorded(raising(unavailable()), recorder, source=client).decide(question())
    record = sink.decisions[0].record
    assert (record.provider, record.endpoint, record.default_model) == ("fake", "http://fake/v1", "own-model")


@pytest.mark.parametrize("error", [asyncio.CancelledError(), ValueError("a fault of ours")])
async def test_a_decision_that_was_not_made_leaves_no_record(error: BaseException) -> None:
    async with DecisionRecorder(MemorySink()) as recorder:
        with pytest.raises(type(error)):
            await recorded(raising(error), recorder).decide(question())
    assert recorder.counters == Counters()


async def test_where_nobody_was_asked_nothing_is_recorded() -> None:
    for reason in ("context-budget", "no-message"):
        assert await kept_of(saying(Decision(None, reason=reason, llm_calls=0))) == ()
    (record,) = await kept_of(saying(Decision(None, reason="context-budget", llm_calls=1)))
    assert record.error_kind == "InvalidResponse"


async def test_a_cached_answer_is_recorded_as_cached() -> None:
    (record,) = await kept_of(saying(Decision("a", cached=True, llm_calls=0)))
    assert record.cached


async def test_a_person_is_recorded_also_when_the_answer_is_unknown() -> None:
    async def ask(_question: Question) -> str | None:
        return said.pop()

    said: list[str | None] = [None, "b"]
    asked = question(answers=("a", "b"))
    (record,) = await kept_of(PersonDecider(ask), asked)
    assert record.answers == (ChoiceAnswer("classify", 1, 1.0, (0.0, 1.0)),)
    assert (record.provider, record.usage) == ("person", None)
    (record,) = await kept_of(PersonDecider(ask), asked)
    assert record.answers == (ChoiceAnswer("classify", 2, 1.0, (0.0, 0.0, 1.0)),)
    assert record.questions["classify"].options == ("a", "b", "unknown")


async def test_the_record_says_what_the_model_said_and_the_transition_what_the_run_did() -> None:
    unsure = Decision(
        None, reason="low-confidence", probabilities=(0.2, 0.5, 0.3), probability_source="model"
    )
    (record,) = await kept_of(saying(unsure))
    assert record.answers is not None
    (answer,) = record.answers
    assert isinstance(answer, ChoiceAnswer)
    assert (answer.chosen_index, answer.probabilities) == (1, (0.2, 0.5, 0.3))
    assert answer.confidence == pytest.approx(0.25)
    assert record.tree is not None
    assert (record.tree.transition, record.tree.probability_source) == ("unknown", "model")


async def test_a_confidence_that_is_no_word_is_not_kept() -> None:
    (record,) = await kept_of(saying(Decision("a", confidence="because the customer wrote " * 3)))
    assert record.tree is not None
    assert record.tree.stated_confidence is None


async def test_the_observation_is_not_recorded() -> None:
    (record,) = await kept_of(saying(Decision("a", observation="canary")))
    assert "canary" not in line_of(record).decode()


async def test_scripted_decisions_are_recorded_only_when_asked_for() -> None:
    for asked in (False, True):
        sink = MemorySink()
        async with DecisionRecorder(sink) as recorder:
            stage = recorded(ScriptedDecider({"classify": "supported"}), recorder, scripted=asked).for_run()
            await stage.decide(question())
        assert [d.record.provider for d in sink.decisions] == ["scripted"] * asked
        assert recorder.counters.written == asked


async def test_failover_is_recorded_with_the_model_that_served() -> None:
    client = FakeClient([unavailable(), OK])
    sink = MemorySink()
    await run_of(TextDecider(client, "first", ["second"]), sink)
    record = sink.decisions[0].record
    assert (record.requested_model, record.served_model) == ("first", "second")
    assert record.tree is not None
    assert record.tree.failover == ("first",)


async def test_a_key_that_is_not_accepted_leads_to_no_other_model() -> None:
    client = FakeClient([LlmError("canary", kind="status", transient=False, status=401)])
    sink = MemorySink()
    run = await run_of(TextDecider(client, "first", ["second"]), sink)
    assert (run.result.failure_kind, client.models) == ("llm", ["first"])
    assert sink.decisions[0].record.error_kind == "Unauthorized"


async def test_a_question_that_does_not_fit_is_not_put_and_not_recorded() -> None:
    client, sink = FakeClient([OK]), MemorySink()
    small = TREE.replace(budget=Budget(max_context_tokens=1))
    async with DecisionRecorder(sink) as recorder:
        session = Session(decider=TextDecider(client), recorder=recorder)
        result = await session.start(small).finish()
    assert (result.outcome, client.requests, sink.decisions) == ("Unknown", [], ())
    assert result.classifications[0].reason == "context-budget"


async def test_time_is_the_clocks() -> None:
    clock, sink = FakeClock(), MemorySink()

    def slowly() -> Decision:
        clock.seconds += 0.2125
        return Decision("a")

    async with DecisionRecorder(sink) as recorder:
        await recorded(Deciding(slowly), recorder, clock=clock).decide(question(answers=("a",)))
    record = sink.decisions[0].record
    assert (record.started, record.latency_ms) == (NOON, 212.5)


async def test_latency_is_without_the_time_in_which_the_run_stood_still() -> None:
    clock, sink = FakeClock(), MemorySink()

    async def thinking(question: Question) -> str:
        clock.seconds += 60
        return question.answers[0]

    class Slow(FakeClient):
        async def complete(self, request: Request) -> Completion:
            clock.seconds += 0.25
            return await super().complete(request)

    async with DecisionRecorder(sink) as recorder:
        for decider in (TextDecider(Slow([OK])), PersonDecider(thinking)):
            session = Session(decider=decider, recorder=recorder, clock=clock)
            async for stop in session.start(TREE, stops_inside=["beforeAttempt"]):
                clock.seconds += 600 if stop.phase == "beforeAttempt" else 0
    assert [decision.record.latency_ms for decision in sink.decisions] == [250.0, 0.0]


async def test_a_slow_sink_is_not_charged_to_the_run() -> None:
    clock = FakeClock()

    class Slow(MemorySink):
        async def write(self, record: Record) -> None:
            clock.seconds += 600
            await super().write(record)

    sink = Slow()
    async with DecisionRecorder(sink) as recorder:
        session = Session(decider=TextDecider(FakeClient([OK])), recorder=recorder, clock=clock)
        result = await session.start(TREE).finish()
    assert (result.verdict, result.usage.duration) == ("yes", 0.0)
    assert len(sink.decisions) == 1


async def test_one_recorder_counts_all_runs() -> None:
    async with DecisionRecorder(MemorySink()) as recorder:
        stage = recorded(saying(Decision("a")), recorder)
        for _ in range(2):
            await stage.for_run().decide(question(answers=("a",)))
    assert recorder.counters == Counters(written=2)


async def test_a_full_queue_slows_no_run_and_says_what_was_dropped() -> None:
    class Shut(MemorySink):
        async def write(self, record: Record) -> None:
            await asyncio.Event().wait()

    recorder = DecisionRecorder(Shut(), capacity=1, flush_timeout=0.001)
    stage = recorded(saying(Decision("a")), recorder)
    for _ in range(3):
        assert (await stage.decide(question(answers=("a",)))).answer == "a"
        await asyncio.sleep(0)
    assert recorder.counters.dropped == 1
    await recorder.close()
    assert recorder.counters == Counters(dropped=3)


# -- redaction, and what goes wrong --------------------------------------------------------------------


def stateful() -> Question:
    return replace(question(answers=("a",)), state=lambda: {"parameters": {"who": "canary"}, "data": []})


async def redacted_by(redact: Redact) -> tuple[tuple[Record, ...], Counters]:
    sink = MemorySink()
    async with DecisionRecorder(sink, redact=redact) as recorder:
        decision = await recorded(saying(Decision("a")), recorder).decide(stateful())
    assert decision.answer == "a"
    return tuple(decision.record for decision in sink.decisions), recorder.counters


async def test_the_redactor_decides_what_is_kept_of_the_state() -> None:
    (record,), _ = await redacted_by(lambda _state: "rewritten")
    assert record.state == "rewritten"


async def test_a_redactor_may_drop_the_record() -> None:
    assert await redacted_by(lambda _state: DROP) == ((), Counters(dropped=1))


def _raising(_state: Json) -> Json:
    raise ValueError("canary in the redactor")


def _nothing(_state: Json) -> Json:
    return None


@pytest.mark.parametrize("redact", [_raising, _nothing, lambda _state: 7])
async def test_a_redactor_that_fails_keeps_no_record_and_the_decision_stands(
    redact, caplog: pytest.LogCaptureFixture
) -> None:
    assert await redacted_by(redact) == ((), Counters(failed=1))
    assert [vars(entry)["event"] for entry in caplog.records] == [1011]
    assert "Error" in caplog.text
    assert "canary" not in caplog.text


async def test_texts_that_match_are_masked_wherever_they_stand() -> None:
    redact = masked(r"[^\s@]+@[^\s@]+", r"\d{6,}", put="[gone]")
    state: Json = {"a@b.example": ["mail a@b.example", {"iban": "number 1234567"}, 1234567, None]}
    assert redact(state) == {"a@b.example": ["mail [gone]", {"iban": "number [gone]"}, 1234567, None]}
    assert redact("a@b.example") == "[gone]"


async def test_texts_can_be_kept_as_their_hashes() -> None:
    assert digested({"a": ["text"]}) == {"a": ["4 characters, SHA-256 982d9e3eb996"]}


async def test_a_sink_that_fails_is_logged_by_the_type_of_its_error_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with DecisionRecorder(Failing()) as recorder:
        stage = recorded(saying(Decision("a")), recorder)
        asked = replace(stateful(), decision_id="canary", erasure_key="canary")
        assert (await stage.decide(asked)).answer == "a"
    assert recorder.counters == Counters(failed=1)
    assert "OSError" in caplog.text
    assert "canary" not in caplog.text


async def test_a_decision_that_cannot_be_recorded_stands(caplog: pytest.LogCaptureFixture) -> None:
    async with DecisionRecorder(MemorySink()) as recorder:
        stage = recorded(saying(Decision("not one of them")), recorder)
        assert (await stage.decide(question())).answer == "not one of them"
    assert recorder.counters == Counters(failed=1)
    assert [vars(entry)["event"] for entry in caplog.records] == [1013]
