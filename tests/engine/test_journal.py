"""The journal and the bus: what they are told, in which order, and that they can never harm a run."""

from typing import Any

import pytest

from engine import (
    ActionCompleted,
    Bus,
    ClassificationCompleted,
    Event,
    MemoryJournal,
    NodeVisited,
    RunEnded,
    RunResult,
    json_of,
)
from tests.builders import condition_tree, evidence_tree
from tests.engine.deciding import OK
from tests.engine.runs import Does, collect, ended, start

pytestmark = pytest.mark.anyio


async def run(**parts) -> RunResult:
    return await ended(evidence_tree(), [OK], actions=[collect()], **parts)


async def test_a_classification_is_told_once_to_the_journal_and_once_to_the_bus():  # V1
    journal, bus, heard = MemoryJournal(), Bus(), list[Any]()
    bus.subscribe(heard.append, ClassificationCompleted)
    result = await run(journal=journal, publisher=bus)
    kept = [
        e.event for e in journal.read(result.execution_id) if isinstance(e.event, ClassificationCompleted)
    ]
    for event in (*kept, *heard):
        told = event.classification
        assert (told.answer, told.observation, told.confidence, told.attempts) == (
            "supported",
            "evidence",
            "high",
            1,
        )
    assert (len(kept), len(heard)) == (1, 1)


async def test_events_come_in_the_order_of_the_reference():  # V2
    journal = MemoryJournal()
    result = await run(journal=journal)
    records = [json_of(entry.event) for entry in journal.read(result.execution_id)]
    known = ("DecisionActionCompleted", "DecisionNodeVisited", "DecisionClassificationCompleted")
    told = [r for r in records if r["eventType"] in known]
    assert [(r["eventType"], r["nodeId"]) for r in told] == [
        ("DecisionActionCompleted", "collect"),
        ("DecisionNodeVisited", "collect"),
        ("DecisionClassificationCompleted", "classify"),
        ("DecisionNodeVisited", "classify"),
        ("DecisionNodeVisited", "approved"),
    ]
    assert told[-1]["outcome"] == "approved"


async def test_the_event_of_an_action_on_the_bus_sums_up_its_data():  # V3
    bus, heard = Bus(), list[Any]()
    bus.subscribe(heard.append, ActionCompleted)
    await run(publisher=bus)
    (event,) = heard
    assert event.node == "collect"
    assert event.data_summary is not None
    assert (event.data_summary.item_count, event.data_summary.types, event.data_summary.previews) == (
        1,
        ("evidence",),
        ("The invoice is attached.",),
    )


async def test_an_action_without_data_is_announced_without_a_summary():  # E32
    bus, heard = Bus(), list[Any]()
    bus.subscribe(heard.append, ActionCompleted)
    await ended(condition_tree(), actions=[Does("collectEvidence")], publisher=bus)
    assert [event.data_summary for event in heard] == [None]


class Broken:
    """A journal and publisher that always fails."""

    def __init__(self) -> None:
        self.asked = 0

    def append(self, _event: Event) -> None:
        self.asked += 1
        raise OSError("secret place is full")

    publish = append


async def test_a_journal_and_a_publisher_that_fail_change_nothing(caplog):  # V4
    journal, publisher, seen = Broken(), Broken(), list[Event]()
    result = await run(journal=journal, publisher=publisher, events=seen)
    plain = await run()
    assert (result.outcome, result.verdict, result.error, result.usage.node_visits) == (
        plain.outcome,
        plain.verdict,
        plain.error,
        plain.usage.node_visits,
    )
    assert journal.asked == publisher.asked == len(seen)
    assert "OSError" in caplog.text
    assert "secret" not in caplog.text


async def test_the_journal_is_written_before_the_bus_and_both_before_anybody_else():
    order: list[str] = []

    class Notes:
        def __init__(self, name: str) -> None:
            self.name = name

        def append(self, event: Event) -> None:
            order.append(f"{self.name} {type(event).__name__}")

        publish = append

    started = start(
        evidence_tree(), [OK], actions=[collect()], journal=Notes("journal"), publisher=Notes("bus")
    )
    started.observe(lambda event: order.append(f"observer {type(event).__name__}"))
    await started.finish()
    for first, second, third in zip(order[::3], order[1::3], order[2::3], strict=True):
        name = first.removeprefix("journal ")
        assert (second, third) == (f"bus {name}", f"observer {name}")


async def test_entries_are_numbered_from_one_and_can_be_read_from_any_place():
    journal = MemoryJournal()
    result = await run(journal=journal)
    every = journal.read(result.execution_id)
    assert [entry.sequence for entry in every] == list(range(1, len(every) + 1))
    assert journal.latest(result.execution_id) == len(every)
    assert journal.read(result.execution_id, after=3) == every[3:]
    assert journal.read(result.execution_id, after=len(every)) == ()
    assert isinstance(every[-1].event, RunEnded)


def test_an_execution_nobody_knows_has_no_entries_and_the_number_minus_one():
    assert (MemoryJournal().read("nobody"), MemoryJournal().latest("nobody")) == ((), -1)


async def test_an_execution_can_be_deleted_and_then_is_not_known():
    journal = MemoryJournal()
    first, second = await run(journal=journal), await run(journal=journal)
    journal.delete(first.execution_id)
    journal.delete("nobody")
    assert journal.latest(first.execution_id) == -1
    assert journal.latest(second.execution_id) > 0


async def test_of_many_executions_only_the_last_are_kept():
    journal = MemoryJournal(executions=2)
    results = [await run(journal=journal) for _ in range(3)]
    assert [journal.latest(r.execution_id) > 0 for r in results] == [False, True, True]


async def test_an_entry_as_json_carries_the_record_and_quotes_data_only_when_asked():
    journal = MemoryJournal()
    result = await run(journal=journal, trace_id="t", correlation_id="c")
    entry = next(e for e in journal.read(result.execution_id) if isinstance(e.event, ActionCompleted))
    written = entry.as_json()
    assert written == {
        "sequence": 3,
        "executionId": result.execution_id,
        "eventType": "DecisionActionCompleted",
        "timestamp": entry.event.at.isoformat(),
        "traceId": "t",
        "correlationId": "c",
        "payload": json_of(entry.event),
    }
    assert "invoice" not in str(written)
    assert "invoice" in str(entry.as_json(whole=True))


async def test_a_handler_that_fails_keeps_nothing_from_the_next(caplog):
    bus, heard = Bus(), list[Any]()

    def breaks(_event: Event) -> None:
        raise RuntimeError("secret")

    bus.subscribe(breaks)
    bus.subscribe(heard.append, NodeVisited)
    result = await run(publisher=bus)
    assert result.succeeded
    assert [event.visit.node for event in heard] == ["collect", "classify", "approved"]
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_handler_hears_nothing_once_it_has_left():
    bus, heard = Bus(), list[Any]()
    leave = bus.subscribe(heard.append)
    leave()
    await run(publisher=bus)
    assert heard == []


async def test_where_nobody_listens_no_event_is_made(monkeypatch):
    def refuse(**_members):
        raise AssertionError("an event was made")

    for name in ("RunStarted", "NodeStarted", "NodeVisited", "ActionCompleted", "RunEnded"):
        monkeypatch.setattr(f"engine.run.{name}", refuse)
    assert (await run()).succeeded
