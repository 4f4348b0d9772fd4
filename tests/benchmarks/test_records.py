"""Goals E-G1 to E-G3: what recording adds to a decision, how fast stores are, and browsing a million."""

import asyncio
import gc
import json
import resource
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine import Json, Session
from engine.records import (
    AskedQuestion,
    ChoiceAnswer,
    DecisionRecorder,
    Erasure,
    JsonlSink,
    MemorySink,
    Record,
    RecordBrowser,
    RecordFilter,
    SqliteSink,
    TreePlace,
    line_of,
)
from tests.benchmarks import work
from tests.benchmarks.measuring import Goals, awaited_medians, in_words, percentile

pytestmark = pytest.mark.bench

MILLION = 1_000_000
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
QUESTIONS = {"gate": AskedQuestion("choice", "Is this covered?", {"supported": None, "other": None})}
STATE: Json = {"text": "The app crashes when I pay, and the invoice of last month is wrong too. " * 4}


def record(number: int) -> Record:
    return Record(
        decision_id=f"01a1b2c3-{number:024d}",
        erasure_key=f"customer-{number % 50_000}",
        started=NOON + timedelta(seconds=number),
        latency_ms=212.5,
        provider="openai",
        endpoint="https://models.example/v1",
        default_model="m",
        questions=QUESTIONS,
        state=STATE,
        answers=(ChoiceAnswer("gate", number % 2, (number % 100) / 100, (0.3, 0.7)),),
        tree=TreePlace(
            tree_id=f"tree-{number % 7}",
            tree_version=1,
            execution_id=f"run-{number // 4}",
            node=f"node-{number % 30}",
            visit=1,
            transition="supported" if number % 3 else "other",
        ),
    )


class Stalled(MemorySink):
    """A store whose disk does not answer."""

    async def write(self, record: Record) -> None:
        await asyncio.Event().wait()


def test_handing_over_a_record(goals: Goals):
    async def measured() -> list[float]:
        recorder = DecisionRecorder(Stalled(), capacity=60_000, flush_timeout=0.01)
        recorder.record(record(0))
        await asyncio.sleep(0)
        one, spent = record(1), []
        gc.collect()
        gc.disable()
        for _ in range(50_000):
            began = time.perf_counter()
            recorder.record(one)
            spent.append((time.perf_counter() - began) * 1e6)
        gc.enable()
        await recorder.close()
        return spent

    spent = asyncio.run(measured())
    goals.most("E-G1", "handing over a record, p99", percentile(spent, 0.99), 2, "us")
    goals.most("E-G1", "handing over a record, p99.9", percentile(spent, 0.999), 20, "us")


def test_making_a_record_and_handing_it_over(goals: Goals, tmp_path: Path):
    count = 4_000

    async def made() -> None:
        recorder = DecisionRecorder(Stalled(), capacity=count, flush_timeout=0.01)
        for number in range(count):
            recorder.keep(lambda: STATE, lambda _kept, number=number: record(number))  # type: ignore[misc]
        assert recorder.counters.failed == recorder.counters.dropped == 0
        await recorder.close()

    async def recorded() -> None:
        sink = JsonlSink(tmp_path / "recorded.jsonl")
        async with DecisionRecorder(sink, capacity=count) as recorder:
            for number in range(count):
                recorder.keep(lambda: STATE, lambda _kept, number=number: record(number))  # type: ignore[misc]
        sink.close()

    async def appended() -> None:
        path = tmp_path / "appended.jsonl"
        for number in range(count):
            with path.open("ab") as file:
                file.write(line_of(record(number)) + b"\n")
                file.flush()

    handed, through, plainly = awaited_medians(made, recorded, appended)
    goals.most("E-G1", "making a record and handing it over", handed / count * 1e6, 12, "us")
    note = f"{in_words(through / count)} a record"
    goals.least(
        "E-G1", "opening, appending, flushing / recording to a file", plainly / through, 1.5, note=note
    )


@pytest.mark.parametrize(("seconds", "target", "runs"), [(0.0, 2.0, 300), (0.02, 1.1, 8)])
def test_a_run_with_recording_beside_one_without(
    goals: Goals, tmp_path: Path, seconds: float, target: float, runs: int
):
    tree = work.decision()

    async def many(session: Session) -> None:
        for _ in range(runs):
            await session.start(tree).finish()

    async def with_recording() -> None:
        sink = JsonlSink(tmp_path / "records.jsonl")
        async with DecisionRecorder(sink) as recorder:
            await many(work.session(seconds, recorder=recorder))
        sink.close()

    off, on = awaited_medians(lambda: many(work.session(seconds)), with_recording, rounds=9)
    note = f"{in_words(on / runs)} a run, without {in_words(off / runs)}"
    what = f"a run with recording / without, model replies after {seconds * 1e3:g} ms"
    goals.most("E-G1", what, on / off, target, note=note)


@pytest.mark.parametrize(("kind", "target"), [("jsonl", 100_000), ("sqlite", 50_000)])
def test_a_stream_of_records(goals: Goals, tmp_path: Path, kind: str, target: float):
    count = 40_000
    records = [record(number) for number in range(count)]

    async def streamed() -> float:
        sink = (JsonlSink if kind == "jsonl" else SqliteSink)(tmp_path / f"records.{kind}")
        async with DecisionRecorder(sink, capacity=2_000) as recorder:
            began = time.perf_counter()
            for number, one in enumerate(records):
                recorder.record(one)
                if number % 1_000 == 999:
                    await recorder.flush()
            await recorder.flush()
            took = time.perf_counter() - began
            assert recorder.counters.written == count
        sink.close()
        return count / took

    goals.least("E-G2", f"records a second into {kind}", asyncio.run(streamed()), target, "/s")


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a million decisions."""
    path = tmp_path_factory.mktemp("million") / "records.jsonl"
    lines = [line_of(record(number)) for number in range(2_100)]
    with path.open("wb") as file:
        for number in range(MILLION):
            kind = number % 2_100
            line = lines[kind].replace(f"{kind:024d}".encode(), f"{number:024d}".encode(), 1)
            file.write(line + b"\n")
    return path


def test_browsing_a_million(goals: Goals, million: Path):
    async def browsed() -> None:
        cache = million.parent / "cache"
        began = time.perf_counter()
        async with RecordBrowser(million, cache) as first:
            await first.refresh()
        goals.most("E-G3", "making the index of a million", time.perf_counter() - began, 20, "s")
        gc.collect()
        before = resident()
        began = time.perf_counter()
        async with RecordBrowser(million, cache) as browser:
            await browser.rows(await browser.newest(RecordFilter(), 50))
            goals.most("E-G3", "opening to the first rows", (time.perf_counter() - began) * 1e3, 100, "ms")
            rows = await browser.all_rows(RecordFilter())
            filtered = await spent(lambda: browser.newest(RecordFilter(tree="tree-3", answer="other"), 200))
            goals.most("E-G3", "a filter", filtered, 20, "ms")
            paged = await spent(lambda: browser.rows(rows[500_000:500_200]))
            goals.most("E-G3", "a page in the middle", paged, 20, "ms")
            goals.most("E-G3", "memory for a list of a million", (resident() - before) / 1e6, 80, "MB")
            scanned = scan(million)
            note = f"{scanned:.0f} ms"
            goals.least("E-G3", "reading the whole file / a filter", scanned / filtered, 50, note=note)
            with million.open("ab") as file:
                file.write(b"".join(line_of(record(MILLION + n)) + b"\n" for n in range(1_000)))
            tail = await spent(browser.refresh, rounds=1)
            goals.most("E-G3", "taking in an appended record", tail, 20, "us")
            with million.open("ab") as file:
                file.write(line_of(Erasure(key="customer-77")) + b"\n")
            erased = await spent(browser.refresh, rounds=1)
            goals.most("E-G3", "an erasure reaching the list", erased, 50, "ms")

    asyncio.run(browsed())


async def spent(work: Callable[[], Awaitable[object]], rounds: int = 7) -> float:
    """Milliseconds, the median."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        await work()
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def resident() -> int:
    """Bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def scan(path: Path) -> float:
    """Milliseconds that it takes to look at every line."""
    began, found = time.perf_counter(), 0
    with path.open("rb") as file:
        for line in file:
            tree = json.loads(line)["xTree"]
            found += tree["treeId"] == "tree-3" and tree["transition"] == "other"
    return (time.perf_counter() - began) * 1e3
