"""Record files and the memory sink: written, damaged, read."""

import asyncio
import os
import random
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.records import (
    AskedQuestion,
    BadLine,
    Confirmed,
    Erasure,
    Item,
    JsonlSink,
    MemorySink,
    NoulAnswer,
    Outcome,
    Record,
    RecordBrowser,
    Signal,
    line_of,
    load_records,
    read_records,
)

pytestmark = pytest.mark.anyio

SAMPLE = Path(__file__).parents[1] / "data/records/sample-v1.jsonl"
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def record(decision_id: str, key: str | None = None, state: str = "state") -> Record:
    return Record(
        decision_id=decision_id,
        erasure_key=key,
        started=NOON,
        latency_ms=1,
        provider="p",
        endpoint="e",
        default_model="m",
        questions={"q": AskedQuestion("noul", "Is it?")},
        state=state,
        answers=(NoulAnswer("q", 0.9, 0.8),),
    )


def signal(decision_id: str) -> Outcome:
    return Signal(decision_id, "s", NOON, "n")


def file_of(path: Path, *items: Item | bytes) -> Path:
    path.write_bytes(b"".join((i if isinstance(i, bytes) else line_of(i)) + b"\n" for i in items))
    return path


def left(path: Path) -> list[str]:
    return [decision.record.decision_id for decision in load_records(path).decisions]


def test_the_published_sample_reads_as_one_decision_with_two_outcomes() -> None:
    reading = load_records(SAMPLE)
    assert reading.problems == ()
    assert [len(decision.outcomes) for decision in reading.decisions] == [2]


def test_an_erasure_forgets_what_came_before_it_and_nothing_after(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a", "k"), record("x"), Erasure(key="k"), record("b", "k"))
    assert left(path) == ["x", "b"]
    path = file_of(tmp_path / "r", record("a"), Erasure(decision_id="a"), record("a", state="new"))
    assert [d.record.state for d in load_records(path).decisions] == ["new"]


def test_a_later_record_replaces_an_earlier_one_and_keeps_its_outcomes(tmp_path: Path) -> None:
    path = file_of(
        tmp_path / "r", record("a", state="old"), record("b"), signal("a"), record("a", state="new")
    )
    first, _ = load_records(path).decisions
    assert (first.record.state, first.outcomes) == ("new", (signal("a"),))


def test_a_decision_is_forgotten_by_a_key_it_once_had(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a", "k"), record("a"), Erasure(key="k"))
    assert left(path) == []


def test_a_decision_recorded_again_is_not_forgotten_by_the_key_of_the_erased_one(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a", "k"), Erasure(decision_id="a"), record("a"), Erasure(key="k"))
    assert left(path) == ["a"]


def test_an_outcome_without_its_decision_is_a_problem(tmp_path: Path) -> None:
    path = file_of(
        tmp_path / "r", signal("a"), record("a"), Erasure(decision_id="a"), signal("a"), Erasure(key="none")
    )
    assert [(p.line, p.code) for p in load_records(path).problems] == [
        (1, "orphan-outcome"),
        (4, "orphan-outcome"),
    ]


def test_a_bad_line_is_reported_and_the_lines_around_it_are_read(tmp_path: Path) -> None:
    path = file_of(
        tmp_path / "r", b"\xef\xbb\xbf" + line_of(record("a")), b"", b"{oops", line_of(record("b")) + b"\r"
    )
    reading = load_records(path)
    assert reading.problems == (BadLine(3, "not-json", "The line is not JSON."),)
    assert left(path) == ["a", "b"]


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    breaks = "a\u2028b\u2029c\x85d"
    line = line_of(record("a", state="STATE")).replace(b"STATE", breaks.encode())
    reading = load_records(file_of(tmp_path / "r", line))
    assert [d.record.state for d in reading.decisions] == [breaks]


def test_a_cut_last_line_is_called_incomplete(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a"), record("b"))
    path.write_bytes(path.read_bytes()[:-9])
    assert load_records(path).problems == (BadLine(2, "not-json", "The last line is incomplete."),)
    assert left(path) == ["a"]


def test_a_line_that_is_too_long_is_skipped(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a"), b'"' + b"x" * 33_000_000 + b'"', record("b"))
    assert [(p.line, p.code) for p in load_records(path).problems] == [(2, "line-too-long")]
    assert left(path) == ["a", "b"]


def test_an_empty_file_has_nothing_and_no_problem(tmp_path: Path) -> None:
    reading = load_records(file_of(tmp_path / "r"))
    assert (reading.decisions, reading.problems) == ((), ())


async def test_a_missing_file_is_an_error_when_the_first_decision_is_asked_for(tmp_path: Path) -> None:
    decisions = read_records(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        await anext(decisions)


async def test_decisions_are_read_one_by_one_and_problems_collected(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a"), b"oops", record("b"))
    problems: list[BadLine] = []
    assert [d.record.decision_id async for d in read_records(path, problems)] == ["a", "b"]
    assert [problem.line for problem in problems] == [2]
    assert [d.record.decision_id async for d in read_records(path)] == ["a", "b"]


async def test_the_file_holds_one_line_an_item_at_once_and_only_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    mask = os.umask(0)
    try:
        sink = JsonlSink(path)
    finally:
        os.umask(mask)
    async with sink:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        await sink.write(record("a", "k"))
        assert left(path) == ["a"]
        await sink.outcome(Confirmed("a", "s", NOON, {"q": True}))
        await sink.erase_decision("a")
        await sink.write(record("b", "k"))
        await sink.erase_key("k")
    lines = path.read_bytes().splitlines()
    assert [line.split(b'"')[3] for line in lines] == [
        b"record",
        b"outcome",
        b"erasure",
        b"record",
        b"erasure",
    ]
    assert left(path) == []
    sink.close()
    with pytest.raises(ValueError, match="closed"):
        await sink.write(record("c"))


async def test_a_file_that_is_there_keeps_its_mode_and_its_lines(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a"))
    path.chmod(0o640)
    before = path.read_bytes()
    async with JsonlSink(path):
        pass
    assert path.read_bytes() == before
    async with JsonlSink(path) as sink:
        await sink.write(record("b"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert left(path) == ["a", "b"]


async def test_after_a_torn_line_only_that_line_is_lost(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a"), record("b"))
    path.write_bytes(path.read_bytes()[:-9])
    async with JsonlSink(path) as sink:
        await sink.write(record("c"))
        await sink.write(record("d"))
    assert left(path) == ["a", "c", "d"]
    assert [problem.line for problem in load_records(path).problems] == [2]


async def test_a_line_that_went_out_in_part_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "r", os.write
    async with JsonlSink(path) as sink:
        await sink.write(record("a"))
        monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:20]))
        with pytest.raises(OSError, match="part of a line"):
            await sink.write(record("b"))
        monkeypatch.undo()
        await sink.write(record("c"))
    assert left(path) == ["a", "c"]


def test_a_file_that_cannot_be_opened_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"."):
        JsonlSink(tmp_path)
    with pytest.raises(FileNotFoundError):
        JsonlSink(tmp_path / "none" / "r.jsonl")


async def test_the_memory_sink_forgets_and_does_not_mind_orphans() -> None:
    async with MemorySink() as sink:
        await sink.outcome(signal("nobody"))
        await sink.write(record("a", "k"))
        await sink.write(record("b"))
        await sink.outcome(signal("b"))
        await sink.erase_key("k")
        assert [(d.record.decision_id, d.outcomes) for d in sink.decisions] == [("b", (signal("b"),))]
        await sink.erase_decision("b")
        assert sink.decisions == ()


# No flip makes one of another.
IDS = [letter * 6 for letter in "abcdefghijkl"]
WHOLE = [line_of(record(decision_id, state="canary " * 3)) + b"\n" for decision_id in IDS]


async def damaged(path: Path, chance: random.Random, *, browsing: bool) -> None:
    """Cut, flip or join in a file: every line that was not hit is read, and one written after it too."""
    hit, lines = chance.randrange(len(WHOLE)), list(WHOLE)
    line, at = lines[hit], chance.randrange(1, len(lines[hit]) - 1)
    untouched, problems = set(IDS) - {IDS[hit]}, {hit + 1}
    match chance.choice(("cut", "cut off", "flip", "flip any", "join")):
        case "cut":
            lines[hit] = line[:at] + b"\n"
        case "cut off":
            lines[hit:] = [line[:at]]
            untouched = set(IDS[:hit])
        case "flip":
            lines[hit] = line[:at] + bytes([line[at] ^ 0x80]) + line[at + 1 :]
        case "flip any":
            # The line may be read even so, or be two lines now.
            lines[hit] = line[:at] + bytes([line[at] ^ 1 << chance.randrange(8)]) + line[at + 1 :]
            problems = {hit + 1, hit + 2} if lines[hit].count(b"\n") > 1 else problems
        case _:
            lines[hit] = line[:at]
            untouched -= set(IDS[hit : hit + 2])
    await asyncio.to_thread(path.write_bytes, b"".join(lines))
    async with JsonlSink(path) as sink:
        await sink.write(record("after"))
    reading = load_records(path)
    left = {decision.record.decision_id: decision.record for decision in reading.decisions}
    assert untouched | {"after"} <= set(left)
    assert all(left[one].state == "canary " * 3 for one in untouched)
    told = [problem.line for problem in reading.problems]
    assert set(told) <= problems
    # What was hit is read, with what the flip made of it, or told.
    assert told or len(left) == len(WHOLE) + 1
    assert "canary" not in str(reading.problems)
    if browsing:
        async with RecordBrowser(path, path.parent / "cache") as browser:
            await browser.refresh()
            assert await browser.problems() == reading.problems
            assert await browser.count() == len(left)


async def test_damage_loses_only_the_lines_it_hits(tmp_path: Path) -> None:  # G12
    chance = random.Random(12)
    for number in range(400):
        await damaged(tmp_path / "r.jsonl", chance, browsing=number % 10 == 0)


@pytest.mark.soak
async def test_ten_thousand_damages_lose_only_the_lines_they_hit(tmp_path: Path) -> None:
    chance = random.Random(13)
    for number in range(10_000):
        await damaged(tmp_path / "r.jsonl", chance, browsing=number % 10 == 0)


def test_a_replaced_record_is_still_one_decision(tmp_path: Path) -> None:
    path = file_of(tmp_path / "r", record("a"), replace(record("a"), latency_ms=2))
    assert left(path) == ["a"]
