"""The lines of a record file, version 1."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.records
from engine.records import (
    AskedQuestion,
    ChoiceAnswer,
    Confirmed,
    Erasure,
    Item,
    NoulAnswer,
    Record,
    RecordProblem,
    ScoreAnswer,
    Signal,
    TokenUsage,
    TreePlace,
    item_of,
    line_of,
    uuid7,
)

SAMPLE = Path(__file__).parents[1] / "data/records/sample-v1.jsonl"
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)

FULL = Record(
    decision_id="d-1",
    erasure_key="cust-311",
    started=NOON.replace(microsecond=250_000),
    latency_ms=184.5,
    provider="openai-chat",
    endpoint="https://decisions.example/",
    default_model="m",
    requested_model="n",
    served_model="n-1",
    response_id="r",
    upstream_provider="up",
    usage=TokenUsage(311, 34, 0.25),
    cached=True,
    questions={
        "route": AskedQuestion("choice", "Which desk?", {"refund": "Money back", "delivery": None}),
        "heat": AskedQuestion("score", {"task": "How upset?"}, ["calm", "annoyed", "furious"]),
        "photo": AskedQuestion("noul", "Is a photo mentioned?"),
    },
    state={"text": "The blender arrived broken."},
    image_count=1,
    image_hashes=("9f86",),
    answers=(
        ChoiceAnswer("route", 0, 0.8, (0.9, 0.1)),
        ScoreAnswer("heat", 1, 1.1, 0.7, (0.05, 0.8, 0.15)),
        NoulAnswer("photo", 0.04, 0.92),
    ),
    tree=TreePlace(
        tree_id="order-desk",
        tree_version=3,
        tree_hash="ab12",
        execution_id="run-7",
        node="route",
        visit=2,
        transition="unknown",
        unknown_reason="low-confidence",
        min_confidence=0.85,
        probability_source="model",
        stated_confidence="high",
        llm_calls=2,
        failover=("first",),
    ),
)
REFUSED = replace(FULL, answers=None, error_kind="Refused", refused_keys=("photo",), tree=None)


def members_of(item: Item) -> dict[str, object]:
    members: dict[str, object] = json.loads(line_of(item))
    return members


def code_of(line: bytes | dict[str, object]) -> str:
    with pytest.raises(RecordProblem) as caught:
        item_of(line if isinstance(line, bytes) else json.dumps(line).encode())
    return caught.value.code


def test_the_published_sample_is_reproduced_byte_for_byte() -> None:
    for line in SAMPLE.read_bytes().splitlines():
        assert line_of(item_of(line)) == line


@pytest.mark.parametrize(
    "item",
    [
        FULL,
        REFUSED,
        Confirmed("d-1", "designer", NOON, {"route": "refund", "heat": 2, "photo": True}),
        Signal("d-1", "engine", NOON, "tree-ended", 1.5, "BudgetExhausted"),
        Signal("d-1", "engine", NOON, "undone"),
        Erasure(key="cust-311"),
        Erasure(decision_id="d-1"),
    ],
)
def test_what_is_written_is_read_back_equal_and_written_again_the_same(item: Item) -> None:
    line = line_of(item)
    assert b"\n" not in line
    assert line.startswith(b'{"kind":"')
    assert b'","version":1,' in line
    assert item_of(line) == item
    assert line_of(item_of(line)) == line


def test_members_stand_in_their_order_and_the_extension_is_last() -> None:
    assert " ".join(members_of(FULL)) == (
        "kind version decisionId erasureKey started latencyMs provider endpoint defaultModel requestedModel "
        "servedModel responseId upstreamProvider usage cached questions state imageCount imageHashes answers "
        "xTree"
    )
    assert list(members_of(REFUSED))[-2:] == ["errorKind", "refusedKeys"]


def test_what_is_absent_is_left_out() -> None:
    bare = Record(
        decision_id="d",
        started=NOON,
        latency_ms=95.0,
        provider="",
        endpoint="",
        default_model="",
        questions={},
        state="s",
        error_kind="Timeout",
    )
    assert " ".join(members_of(bare)) == (
        "kind version decisionId started latencyMs provider endpoint defaultModel cached questions state "
        "imageCount errorKind"
    )
    assert b'"latencyMs":95,' in line_of(bare)
    assert "cost" not in line_of(replace(bare, usage=TokenUsage(1, 2))).decode()


def test_times_keep_their_offset_and_show_a_fraction_only_where_there_is_one() -> None:
    east = datetime(2026, 1, 2, 3, 4, 5, 120_000, tzinfo=timezone(timedelta(hours=2)))
    assert members_of(replace(FULL, started=NOON))["started"] == "2026-11-02T12:00:00+00:00"
    assert members_of(replace(FULL, started=east))["started"] == "2026-01-02T03:04:05.12+02:00"


@pytest.mark.parametrize("written", ["2026-11-02T12:00:00Z", "2026-11-02T14:00:00.0000000+02:00"])
def test_a_time_is_read_in_any_spelling_with_an_offset(written: str) -> None:
    read = item_of(json.dumps(members_of(FULL) | {"started": written}).encode())
    assert isinstance(read, Record)
    assert read.started == NOON


def test_text_beyond_ascii_is_escaped_and_half_a_pair_replaced() -> None:
    line = line_of(replace(FULL, state={"na\ud800me\n": "é\ud83d"}))
    assert b'"state":{"na\\ufffdme\\ufffd":"\\u00e9\\ufffd"}' in line
    item_of(line)


def test_members_of_a_later_version_are_skipped() -> None:
    line = json.dumps(members_of(FULL) | {"later": {"a": [1]}}).encode()
    assert item_of(line) == FULL


def test_an_extension_of_somebody_else_is_no_problem() -> None:
    for extension in ({"treeId": 3}, ["a"], None):
        read = item_of(json.dumps(members_of(FULL) | {"xTree": extension}).encode())
        assert read == replace(FULL, tree=None)


def test_a_sample_confidence_is_not_recomputed() -> None:
    read = item_of(SAMPLE.read_bytes().splitlines()[0])
    assert isinstance(read, Record)
    assert read.answers is not None
    assert read.answers[1] == ChoiceAnswer("queue", 1, 0.8, (0.2, 0.8))


WRONG: list[tuple[dict[str, object], str]] = [
    ({"version": 2}, "unsupported-version"),
    ({"version": "1"}, "unsupported-version"),
    ({"version": True}, "unsupported-version"),
    ({"kind": "note"}, "unknown-kind"),
    ({"kind": 1}, "invalid-field"),
    ({"decisionId": ""}, "invalid-field"),
    ({"latencyMs": True}, "invalid-field"),
    ({"cached": 1}, "invalid-field"),
    ({"state": 3}, "invalid-field"),
    ({"state": None}, "invalid-field"),
    ({"imageCount": -1}, "invalid-field"),
    ({"imageHashes": [1]}, "invalid-field"),
    ({"usage": {"inputTokens": 1}}, "missing-field"),
    ({"started": "2026-11-02T12:00:00"}, "bad-time"),
    ({"started": "yesterday"}, "bad-time"),
    ({"questions": {"q": {"type": "box"}}}, "unknown-question-type"),
    ({"questions": {"q": {"type": "choice"}}}, "invalid-field"),
    ({"questions": {}}, "answer-without-question"),
    ({"questions": []}, "invalid-field"),
    ({"questions": {"q": 1}}, "invalid-field"),
    ({"answers": [1]}, "invalid-field"),
    ({"answers": 1}, "invalid-field"),
    (
        {
            "answers": [
                {"key": "route", "kind": "choice", "chosenIndex": 0, "confidence": 1, "probabilities": 1}
            ]
        },
        "invalid-field",
    ),
    ({"provider": 1}, "invalid-field"),
    ({"answers": None}, "neither"),
    ({"errorKind": "Timeout"}, "answers-and-error"),
    ({"answers": None, "errorKind": "Oops"}, "unknown-error-kind"),
    ({"answers": [{"key": "photo", "kind": "rank"}]}, "unknown-answer-kind"),
    ({"answers": [{"key": "photo", "kind": "score", "confidence": 1}]}, "answer-without-question"),
    ({"answers": [{"key": "photo", "kind": "noul", "probability": 1.5, "confidence": 1}]}, "number-range"),
    (
        {
            "answers": [
                {"key": "route", "kind": "choice", "chosenIndex": 2, "confidence": 1, "probabilities": [1, 0]}
            ]
        },
        "index-out-of-range",
    ),
    (
        {
            "answers": [
                {"key": "route", "kind": "choice", "chosenIndex": 0, "confidence": 1, "probabilities": [1]}
            ]
        },
        "index-out-of-range",
    ),
]


@pytest.mark.parametrize(("change", "code"), WRONG)
def test_a_wrong_record_has_its_code(change: dict[str, object], code: str) -> None:
    assert code_of(members_of(FULL) | change) == code


@pytest.mark.parametrize(
    "member", ["version", "kind", "decisionId", "started", "questions", "state", "cached"]
)
def test_a_missing_member_is_named(member: str) -> None:
    members = members_of(FULL)
    del members[member]
    with pytest.raises(RecordProblem, match=f"'{member}'") as caught:
        item_of(json.dumps(members).encode())
    assert caught.value.code == "missing-field"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", "not-json"),
        (b'{"a":NaN}', "not-json"),
        (b"\xff", "not-utf8"),
        (b"[]", "not-object"),
        (b'{"kind":1,"kind":2}', "duplicate-member"),
        (b"[" * 70 + b"]" * 70, "too-deep"),
        (b'{"kind":"erasure","version":1}', "erasure-target"),
        (b'{"kind":"erasure","version":1,"erasureKey":"k","decisionId":"d"}', "erasure-target"),
        (
            (
                b'{"kind":"outcome","version":1,"decisionId":"d","type":"guess","source":"s",'
                b'"at":"2026-11-02T12:00:00Z"}'
            ),
            "unknown-outcome-type",
        ),
        (
            (
                b'{"kind":"outcome","version":1,"decisionId":"d","type":"confirmed","source":"s",'
                b'"at":"2026-11-02T12:00:00Z","confirmed":{"q":1.5}}'
            ),
            "invalid-field",
        ),
        (
            (
                b'{"kind":"outcome","version":1,"decisionId":"d","type":"signal","source":"",'
                b'"at":"2026-11-02T12:00:00Z","name":"n"}'
            ),
            "invalid-field",
        ),
    ],
)
def test_a_line_that_is_no_item_has_its_code(line: bytes, code: str) -> None:
    assert code_of(line) == code


def test_no_problem_tells_what_the_line_holds() -> None:
    canary = "canary-4711"
    private = dict[str, object](decisionId=canary, state=canary, erasureKey=canary)
    for change, _ in WRONG:
        members = members_of(FULL) | private | change
        with pytest.raises(RecordProblem) as caught:
            item_of(json.dumps(members).encode())
        assert canary not in f"{caught.value!r} {caught.value}"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Confirmed("d", "s", datetime(2026, 1, 1), {"q": True}),  # noqa: DTZ001
        lambda: Confirmed("d", "", NOON, {"q": True}),
        lambda: Confirmed("d", "s", NOON, {}),
        lambda: Confirmed("d", "s", NOON, {"q": -1}),
        lambda: Signal("d", "s", NOON, ""),
        lambda: Signal("d", "s", NOON, "n", float("nan")),
        Erasure,
        lambda: Erasure(key="k", decision_id="d"),
        lambda: replace(FULL, error_kind="Timeout"),
        lambda: replace(FULL, decision_id=""),
    ],
)
def test_a_value_that_could_not_be_written_is_not_made(make) -> None:
    with pytest.raises(ValueError, match=r"."):
        make()


def test_what_is_private_is_not_shown_by_repr() -> None:
    shown = repr(FULL) + repr(Erasure(key="cust-311"))
    for private in ("d-1", "cust-311", "blender", "run-7"):
        assert private not in shown


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=10,
)


@given(state=st.text(st.characters()) | st.lists(JSON) | st.dictionaries(st.text(st.characters()), JSON))
def test_any_state_makes_a_line_every_reader_takes(state) -> None:
    line = line_of(replace(FULL, state=state))
    assert line.isascii()
    assert b"\n" not in line
    assert line_of(item_of(line)) == line


def test_ids_are_version_7_and_sort_by_time() -> None:
    first = uuid7(NOON)
    assert UUID(first).version == 7
    assert UUID(first).int >> 80 == NOON.timestamp() * 1000
    same_moment = [uuid7(NOON) for _ in range(5000)]
    assert same_moment == sorted(same_moment)
    assert len({first, *same_moment}) == 5001
    assert uuid7(NOON + timedelta(milliseconds=1)) > same_moment[-1]
    assert uuid7(NOON - timedelta(seconds=1)) < first


def test_the_front_lists_its_names_in_order_and_has_them_all() -> None:
    assert engine.records.__all__ == sorted(engine.records.__all__)
    for name in engine.records.__all__:
        assert getattr(engine.records, name) is not None
    with pytest.raises(AttributeError, match="Nothing"):
        _ = engine.records.Nothing
