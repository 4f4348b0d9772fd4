"""The recording stage around a decision client, and the scope its decisions are made in (facts R)."""

import asyncio
import contextvars
import hashlib
import json
import logging
from typing import Any, Self
from uuid import UUID

import pytest

from engine import DecisionError, DecisionRequest, DecisionResult, Image, Noul, cached, retried
from engine.records import (
    Counters,
    DecisionRecorder,
    MemorySink,
    NoulAnswer,
    Outcome,
    Record,
    RecordingScope,
    Signal,
    TokenUsage,
    line_of,
    load_records,
    recorded_client,
    recording,
)
from tests.engine.runs import START, VirtualClock
from tests.engine.systemone import FakeDecisionClient

pytestmark = pytest.mark.anyio

CANARY = "canary-7431"
FINE = DecisionResult(
    answers=(NoulAnswer("q", 0.9, 0.8),),
    served_model="jev-1.14",
    response_id="req_1",
    usage=TokenUsage(120, 2),
)
BUSY = DecisionResult(error=DecisionError("RateLimited", CANARY, 429, transient=True))


def asking(state: Any = "The app crashes when I pay.", **more: Any) -> DecisionRequest:
    return DecisionRequest(state, {"q": Noul("Is it urgent?")}, **more)


class Kept:
    """A recorder in memory; what it kept can be read once its block was left."""

    def __init__(self, **options: Any) -> None:
        self.sink = MemorySink()
        self.recorder = DecisionRecorder(self.sink, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.recorder.close()

    @property
    def records(self) -> list[Record]:
        return [decision.record for decision in self.sink.decisions]

    @property
    def only(self) -> Record:
        (record,) = self.records
        return record


async def test_a_decision_is_one_record_and_its_result_the_very_same():
    client, clock = FakeDecisionClient(FINE), VirtualClock()
    async with Kept() as kept:
        assert await recorded_client(client, kept.recorder, clock=clock).evaluate(asking()) is FINE
    record = kept.only
    assert (record.started, record.latency_ms) == (START, 0)
    assert (record.provider, record.endpoint, record.default_model) == (
        "typesafe",
        "https://decisions.example/",
        "jev-latest",
    )
    assert (record.requested_model, record.served_model, record.response_id) == (None, "jev-1.14", "req_1")
    assert (record.usage, record.answers, record.error_kind) == (TokenUsage(120, 2), FINE.answers, None)
    assert (record.image_count, record.erasure_key, record.tree) == (0, None, None)
    assert "cost" not in line_of(record).decode()


async def test_a_named_model_and_what_it_cost_are_kept():
    result = DecisionResult(answers=FINE.answers, usage=TokenUsage(1, 1, 0.5), upstream_provider="Fireworks")
    async with Kept() as kept:
        await recorded_client(FakeDecisionClient(result), kept.recorder).evaluate(asking(model="jev-1.13"))
    assert (kept.only.requested_model, kept.only.upstream_provider) == ("jev-1.13", "Fireworks")
    assert kept.only.usage == TokenUsage(1, 1, 0.5)


async def test_no_usage_is_left_out():
    async with Kept() as kept:
        await recorded_client(
            FakeDecisionClient(DecisionResult(answers=FINE.answers)), kept.recorder
        ).evaluate(asking())
    assert "usage" not in json.loads(line_of(kept.only))


async def test_an_error_is_kept_by_its_kind_without_its_words():
    async with Kept() as kept:
        await recorded_client(FakeDecisionClient(BUSY), kept.recorder).evaluate(asking())
    members = json.loads(line_of(kept.only))
    assert members["errorKind"] == "RateLimited"
    assert "answers" not in members
    assert CANARY not in line_of(kept.only).decode()


async def test_a_refusal_names_the_refused_questions():
    refused = DecisionResult(error=DecisionError("Refused", refused_keys=("q",)))
    async with Kept() as kept:
        await recorded_client(FakeDecisionClient(refused), kept.recorder).evaluate(asking())
    assert (kept.only.error_kind, kept.only.refused_keys) == ("Refused", ("q",))


@pytest.mark.parametrize("error", [ValueError("a fault of ours"), asyncio.CancelledError()])
async def test_a_client_that_raises_made_no_decision(error):
    async with Kept() as kept:
        with pytest.raises(type(error)) as raised:
            await recorded_client(FakeDecisionClient(error), kept.recorder).evaluate(asking())
    assert raised.value is error
    assert kept.recorder.counters == Counters()


async def test_an_answer_from_memory_is_recorded_as_such():
    async with Kept() as kept:
        stage = recorded_client(cached(FakeDecisionClient(FINE)), kept.recorder)
        for _ in range(2):
            await stage.evaluate(asking())
    assert [record.cached for record in kept.records] == [False, True]


async def test_a_call_that_was_tried_again_is_one_record_of_its_last_result():
    async with Kept() as kept:
        inner = retried(FakeDecisionClient(BUSY, FINE), clock=VirtualClock())
        await recorded_client(inner, kept.recorder).evaluate(asking())
    assert kept.only.answers == FINE.answers


async def test_inside_of_retries_only_the_first_attempt_is_recorded():
    client = FakeDecisionClient(BUSY, FINE)
    async with Kept() as kept:
        stage = retried(recorded_client(client, kept.recorder), clock=VirtualClock())
        assert (await stage.evaluate(asking())).answers == FINE.answers
    assert len(client.requests) == 2
    assert kept.only.error_kind == "RateLimited"


async def test_stages_share_a_recorder_and_closing_one_closes_neither_recorder_nor_sink():
    class Once(MemorySink):
        inside = most = 0

        async def write(self, record: Record) -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            await asyncio.sleep(0)
            await super().write(record)
            self.inside -= 1

    sink = Once()
    recorder = DecisionRecorder(sink)
    first, second = (recorded_client(FakeDecisionClient(FINE), recorder) for _ in range(2))
    await asyncio.gather(*(stage.evaluate(asking()) for stage in (first, second) * 10))
    await first.close()
    await second.evaluate(asking())
    await recorder.close()
    assert (len(sink.decisions), sink.most) == (21, 1)
    await sink.write(sink.decisions[0].record)  # the sink is as usable as before


def test_a_stage_is_not_built_without_a_recorder():
    with pytest.raises(TypeError):
        recorded_client(FakeDecisionClient(FINE))  # type: ignore[call-arg]


async def test_the_state_is_kept_as_it_was_given():
    states: list[Any] = ["text", {"b": 1, "a": [2]}, [1, {"x": None}]]
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(FINE), kept.recorder)
        for state in states:
            await stage.evaluate(asking(state))
    assert [record.state for record in kept.records] == states
    assert list(kept.records[1].state) == ["b", "a"]  # type: ignore[arg-type]


async def test_what_the_caller_does_with_its_state_later_changes_no_record():
    state = {"text": ["before"]}
    async with Kept() as kept:
        await recorded_client(FakeDecisionClient(FINE), kept.recorder).evaluate(asking(state))
        state["text"].append("after")
    assert kept.only.state == {"text": ["before"]}


async def test_the_redactor_rewrites_the_record_alone_and_before_the_call_returns():
    seen: list[Any] = []

    def redact(state: Any) -> Any:
        seen.append(state)
        state["text"] = "gone"
        return state

    state, client = {"text": CANARY}, FakeDecisionClient(FINE)
    async with Kept(redact=redact) as kept:
        await recorded_client(client, kept.recorder).evaluate(asking(state))
        assert len(seen) == 1
    assert kept.only.state == {"text": "gone"}
    assert state == client.requests[0].state == {"text": CANARY}


async def test_images_are_counted_and_hashed_and_never_kept():
    images = (Image(b"\xff\xd8\xff" + CANARY.encode()), Image(b"\x89PNG\r\n\x1a\n"))
    async with Kept() as kept:
        await recorded_client(FakeDecisionClient(FINE), kept.recorder).evaluate(asking(images=images))
    assert kept.only.image_count == 2
    assert kept.only.image_hashes == tuple(hashlib.sha256(image.data).hexdigest() for image in images)
    assert CANARY not in line_of(kept.only).decode()


async def test_a_record_that_cannot_be_made_leaves_the_decision(caplog: pytest.LogCaptureFixture):
    neither = DecisionResult()
    async with Kept() as kept:
        assert await recorded_client(FakeDecisionClient(neither), kept.recorder).evaluate(asking()) is neither
    assert kept.recorder.counters == Counters(failed=1)
    assert [vars(entry)["event"] for entry in caplog.records] == [1013]


# -- the scope -----------------------------------------------------------------------------------------


async def test_a_scope_makes_an_id_when_the_decision_is_made():
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(FINE), kept.recorder)
        with recording() as scope:
            before = scope.decision_id
            await stage.evaluate(asking())
    assert before is None
    assert scope.decision_id == kept.only.decision_id
    assert UUID(scope.decision_id or "").version == 7
    assert kept.only.erasure_key is None


async def test_a_scope_carries_an_id_and_a_key():
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(FINE), kept.recorder)
        with recording("ticket-9", erasure_key="customer-7") as scope:
            assert scope.decision_id == "ticket-9"
            await stage.evaluate(asking())
    assert (kept.only.decision_id, kept.only.erasure_key) == ("ticket-9", "customer-7")


@pytest.mark.parametrize("first", [FINE, BUSY])
async def test_a_scope_is_for_one_decision_be_it_an_answer_or_an_error(first):
    client = FakeDecisionClient(first)
    async with Kept() as kept:
        stage = recorded_client(client, kept.recorder)
        with recording():
            await stage.evaluate(asking())
            with pytest.raises(RuntimeError, match="for one decision"):
                await stage.evaluate(asking())
    assert len(client.requests) == len(kept.records) == 1


async def test_a_scope_in_which_no_decision_was_made_can_be_used():
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(ValueError("a fault"), FINE), kept.recorder)
        with recording() as scope:
            with pytest.raises(ValueError, match="a fault"):
                await stage.evaluate(asking())
            assert scope.decision_id is None
            await stage.evaluate(asking())
    assert kept.only.decision_id == scope.decision_id


async def test_scopes_do_not_nest_and_the_outer_one_stays_usable():
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(FINE), kept.recorder)
        with recording("outer"):
            with pytest.raises(RuntimeError, match="do not nest"), recording("inner"):
                pass
            await stage.evaluate(asking())
    assert kept.only.decision_id == "outer"


async def test_parallel_scopes_do_not_mix():
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(FINE), kept.recorder)

        async def decide(name: str) -> None:
            with recording(name, erasure_key=f"key of {name}"):
                await asyncio.sleep(0)
                await stage.evaluate(asking(name))

        await asyncio.gather(decide("a"), decide("b"))
    assert {(r.decision_id, r.erasure_key, str(r.state)) for r in kept.records} == {
        ("a", "key of a", "a"),
        ("b", "key of b", "b"),
    }


async def test_of_two_calls_at_once_in_one_scope_one_is_made():
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(FINE), kept.recorder)
        with recording():
            results = await asyncio.gather(
                stage.evaluate(asking()), stage.evaluate(asking()), return_exceptions=True
            )
    assert sorted(type(result).__name__ for result in results) == ["DecisionResult", "RuntimeError"]
    assert len(kept.records) == 1


async def test_without_a_scope_a_decision_has_an_id_of_its_own():
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(FINE), kept.recorder)
        for _ in range(2):
            await stage.evaluate(asking())
    first, second = kept.records
    assert first.decision_id != second.decision_id


async def test_after_its_block_a_scope_is_none_even_for_what_was_started_inside():
    async with Kept() as kept:
        stage = recorded_client(FakeDecisionClient(FINE), kept.recorder)
        door = asyncio.Event()

        async def later() -> None:
            await door.wait()
            await stage.evaluate(asking())

        with recording("inside", erasure_key="key"):
            task = asyncio.create_task(later())
            await asyncio.sleep(0)
        await stage.evaluate(asking())
        door.set()
        await task
    assert all(r.decision_id != "inside" and r.erasure_key is None for r in kept.records)


async def test_a_scope_left_in_another_context_is_over_all_the_same():
    scope = recording()
    contextvars.copy_context().run(scope.__enter__)
    scope.__exit__(None, None, None)
    with recording() as other:
        assert other is not scope


@pytest.mark.parametrize("empty", [{"decision_id": ""}, {"erasure_key": ""}])
def test_an_empty_id_or_key_is_refused(empty):
    with pytest.raises(ValueError, match="not empty"):
        recording(**empty)


async def test_nothing_of_a_decision_is_in_a_log_an_error_or_a_text(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)

    def bad(_state: Any) -> Any:
        raise ValueError(CANARY)

    client = FakeDecisionClient(BUSY)
    async with Kept(redact=bad) as kept:
        stage = recorded_client(client, kept.recorder)
        with recording(CANARY, erasure_key=CANARY) as scope:
            await stage.evaluate(asking(CANARY))
            with pytest.raises(RuntimeError) as raised:
                await stage.evaluate(asking(CANARY))
    assert isinstance(scope, RecordingScope)
    for text in (caplog.text, str(raised.value), repr(scope), repr(client.requests[0])):
        assert CANARY not in text


async def test_the_example_line_is_what_the_example_asks(tmp_path):
    """The questions of the recorded class are those of the published sample line."""
    from tests.engine.test_decision_questions import SupportTriage

    line = (
        '"questions":{"is_urgent":{"type":"noul","instructions":"Does this convey urgency?"},'
        '"queue":{"type":"choice","instructions":"Which queue should handle this?",'
        '"criteria":{"billing":"Payments, invoices and refunds",'
        '"technical":"Bugs, outages and integrations"}}}'
    )
    client = FakeDecisionClient(
        DecisionResult(error=DecisionError("Timeout")),
    )
    async with Kept() as kept:
        stage = recorded_client(client, kept.recorder)
        await stage.evaluate(DecisionRequest("text", SupportTriage.questions))
    assert line in line_of(kept.only).decode()
    file = tmp_path / "records.jsonl"
    file.write_bytes(line_of(kept.only) + b"\n")
    assert [one.record for one in load_records(file).decisions] == kept.records


# -- a sink of one's own -------------------------------------------------------------------------------


class Lines:
    """A store that keeps the lines of the file format and forgets for real."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str | None, bytes]] = []

    async def write(self, record: Record) -> None:
        self.rows.append((record.decision_id, record.erasure_key, line_of(record)))

    async def outcome(self, outcome: Outcome) -> None:
        self.rows.append((outcome.decision_id, None, line_of(outcome)))

    async def erase_key(self, key: str) -> None:
        erased = {decision_id for decision_id, held, _ in self.rows if held == key}
        self.rows = [row for row in self.rows if row[0] not in erased]

    async def erase_decision(self, decision_id: str) -> None:
        self.rows = [row for row in self.rows if row[0] != decision_id]


async def test_an_own_store_can_be_exported_and_forgets_decisions_with_their_outcomes(tmp_path):
    store, file = Lines(), tmp_path / "exported.jsonl"
    async with DecisionRecorder(store) as recorder:
        stage = recorded_client(FakeDecisionClient(FINE), recorder)
        for name, key in (("a", "k"), ("b", "k"), ("c", None)):
            with recording(name, erasure_key=key):
                await stage.evaluate(asking())
            await recorder.add_outcome(Signal(name, "mailer", START, "complained"))
        await recorder.flush()
        file.write_bytes(b"".join(line + b"\n" for _, _, line in store.rows))
        await recorder.erase("k")
    reading = load_records(file)
    assert (len(reading.decisions), reading.problems) == (3, ())
    assert [decision_id for decision_id, _, _ in store.rows] == ["c", "c"]
