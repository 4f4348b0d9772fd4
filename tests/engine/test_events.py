"""Events as JSON: records that other runtimes know too, both ways, and what is kept out of them."""

import json
from typing import Any

import pytest

from engine import (
    ActionResult,
    AttemptCompleted,
    BudgetPassed,
    ClassificationCompleted,
    DataItem,
    Event,
    Inputs,
    NodeVisited,
    Pins,
    RunStarted,
    event_of,
    json_of,
    tree_hash,
)
from tests.builders import budget, demo_tree, evidence_tree
from tests.engine.deciding import BAD, OK
from tests.engine.runs import START, Does, SlowClient, VirtualClock, collect, ended, evidence, fails, start

pytestmark = pytest.mark.anyio

TREE = demo_tree().replace(budget=budget(visits=10, calls=3, tokens=4000, on_exceeded="warn"))


async def events_of_a_run() -> list[Event]:
    """The events of a run that meets everything there is an event for."""
    events: list[Event] = []
    clock = VirtualClock()
    run = start(
        TREE,
        SlowClient(clock, 11, [BAD, OK]),
        actions=[collect()],
        inputs=Inputs(
            parameters={"subject": "the secret parcel"},
            properties={"owner": "secret Anna", "weights": [1, 2.5, None]},
            data=(DataItem("d", "desk", "note", "a secret note", created_at=START, metadata={"a": "b"}),),
        ),
        events=events,
        clock=clock,
        trace_id="trace-1",
        correlation_id="request-7",
    )
    await run.finish()
    assert any(isinstance(event, BudgetPassed) for event in events)
    return events


def through_json(record: dict[str, Any]) -> dict[str, Any]:
    back: dict[str, Any] = json.loads(json.dumps(record))
    return back


async def test_a_whole_record_gives_back_the_event():
    for event in await events_of_a_run():
        record = through_json(json_of(event, whole=True))
        back = event_of(record)
        assert json_of(back, whole=True) == record
        # Messages are the same only when they are one object.
        assert back == event or isinstance(event, AttemptCompleted)


async def test_a_record_fit_to_be_kept_gives_back_an_event_with_the_rest_empty():
    for event in await events_of_a_run():
        record = through_json(json_of(event))
        assert json_of(event_of(record)) == record
        assert type(event_of(record)) is type(event)


async def test_a_record_fit_to_be_kept_quotes_no_inputs_data_prompts_or_state():
    kept = json.dumps([json_of(event) for event in await events_of_a_run()])
    assert "secret" not in kept
    assert "The invoice is attached." not in kept
    whole = json.dumps([json_of(event, whole=True) for event in await events_of_a_run()])
    for words in ("secret parcel", "secret Anna", "secret note", "The invoice is attached."):
        assert words in whole


async def test_a_kept_run_names_its_tree_and_a_whole_one_carries_it():
    first, *_ = await events_of_a_run()
    assert isinstance(first, RunStarted)
    kept, whole = event_of(json_of(first)), event_of(json_of(first, whole=True))
    assert isinstance(kept, RunStarted)
    assert (kept.tree.tree_id, kept.tree.version, kept.tree.nodes) == ("demo-evidence-tree", 1, {})
    assert kept.tree_hash == tree_hash(TREE)
    assert isinstance(whole, RunStarted)
    assert whole.tree == TREE


async def test_every_record_has_the_run_the_time_and_the_ids_of_the_session():
    for event in await events_of_a_run():
        record = json_of(event)
        assert record["executionId"] == event.execution_id
        assert record["timestamp"] == event.at.isoformat()
        assert (record["traceId"], record["correlationId"]) == ("trace-1", "request-7")


async def test_records_have_the_names_other_runtimes_know():
    records = [json_of(event) for event in await events_of_a_run()]
    assert list(dict.fromkeys(record["eventType"] for record in records)) == [
        "DecisionRunStarted",
        "DecisionNodeStarted",
        "DecisionActionCompleted",
        "DecisionNodeVisited",
        "DecisionAttemptCompleted",
        "DecisionBudgetPassed",
        "DecisionClassificationCompleted",
        "DecisionRunEnded",
    ]


async def test_a_visit_says_which_one_it_is_and_where_it_leads():
    records = [json_of(event) for event in await events_of_a_run()]
    visits = [r for r in records if r["eventType"] == "DecisionNodeVisited"]
    members = ("nodeId", "nodeType", "visit", "outcome", "nextNodeId")
    assert [tuple(record[member] for member in members) for record in visits] == [
        ("collect", "action", 1, "success", "classify"),
        ("classify", "classify", 1, "supported", "verify"),
        ("verify", "condition", 1, "true", "approved"),
        ("approved", "terminal", 1, "supported", None),
    ]


async def test_outcomes_are_plain_words_and_not_quoted_twice():
    visit = next(e for e in await events_of_a_run() if isinstance(e, NodeVisited))
    assert json_of(visit)["outcome"] == "success"


async def test_each_step_of_a_question_names_the_decision():
    records = [json_of(event) for event in await events_of_a_run()]
    (decided,) = (r for r in records if r["eventType"] == "DecisionClassificationCompleted")
    about_it = [
        r
        for r in records
        if r["eventType"] == "DecisionAttemptCompleted"
        or (r["eventType"] == "DecisionNodeVisited" and r["nodeId"] == "classify")
    ]
    assert len(about_it) == 3
    assert {r["decisionId"] for r in about_it} == {decided["decisionId"]}


async def test_a_classification_is_told_with_answer_observation_confidence_and_attempt():
    (event,) = (e for e in await events_of_a_run() if isinstance(e, ClassificationCompleted))
    record = json_of(event)
    members = ("nodeId", "answer", "observation", "confidence", "attempt")
    assert [record[member] for member in members] == ["classify", "supported", "evidence", "high", 2]


async def summary_of(*actions) -> object:
    events: list[Event] = []
    await ended(evidence_tree(), [OK], actions=actions, events=events)
    return next(
        r["dataSummary"]
        for r in (json_of(event, whole=True) for event in events)
        if r["eventType"] == "DecisionActionCompleted"
    )


async def test_a_whole_record_of_an_action_sums_up_the_data_it_brought():
    assert await summary_of(collect()) == {
        "itemCount": 1,
        "types": ["evidence"],
        "contentPreviews": ["The invoice is attached."],
    }


async def test_an_action_without_data_has_no_summary():
    assert await summary_of(Does("collectEvidence")) is None
    assert await summary_of(Does("collectEvidence", fails("permanentFailure"))) is None


async def test_state_that_json_cannot_say_is_told_as_text():
    class Parcel:
        def __str__(self) -> str:
            return "a parcel"

    events: list[Event] = []
    inputs = Inputs(properties={"parcel": Parcel(), "share": float("nan")}, pins=Pins())
    await ended(evidence_tree(), [OK], actions=[collect()], inputs=inputs, events=events)
    record = through_json(json_of(events[0], whole=True))
    assert record["properties"] == {"parcel": "a parcel", "share": "nan"}


async def test_members_of_later_versions_are_ignored():
    for event in await events_of_a_run():
        record = json_of(event)
        assert event_of({**record, "later": [1]}) == event_of(record)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"eventType": "SomethingElse"}, "'eventType' names no event of a run."),
        ({"visit": "1"}, "'visit' does not fit."),
        ({"visit": True}, "'visit' does not fit."),
        ({"timestamp": "yesterday"}, "'timestamp' does not fit."),
        ({"usage": {}}, None),
        ({"usage": []}, "'usage' does not fit."),
        ({"nextNodeId": 7}, "'nextNodeId' does not fit."),
        ({"duration": 3}, None),
    ],
)
async def test_a_record_that_does_not_fit_is_refused_with_the_member(change, reason):
    visit = next(e for e in await events_of_a_run() if isinstance(e, NodeVisited))
    record = {**json_of(visit), **change}
    if reason is None:
        event_of(record)
    else:
        with pytest.raises(ValueError, match=reason):
            event_of(record)


async def test_a_record_that_lacks_a_member_is_refused_with_its_name():
    visit = next(e for e in await events_of_a_run() if isinstance(e, NodeVisited))
    record = {name: value for name, value in json_of(visit).items() if name != "nodeId"}
    with pytest.raises(ValueError, match="'nodeId' is missing"):
        event_of(record)


async def test_the_data_an_action_adds_by_itself_counts_as_produced():
    events: list[Event] = []

    class Adds:
        key = "collectEvidence"

        async def execute(self, context):
            context.data.add(evidence("added"))
            return ActionResult(data=(evidence("returned"),))

    await ended(evidence_tree(), [OK], actions=[Adds()], events=events)
    record = next(
        r for r in (json_of(e, whole=True) for e in events) if r["eventType"] == "DecisionActionCompleted"
    )
    assert record["dataSummary"]["contentPreviews"] == ["added", "returned"]  # type: ignore[index, call-overload]
