"""The SQLite store: what it keeps, finds and truly forgets, and that it agrees with every other sink."""

import asyncio
import os
import random
import signal as signals
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.records import (
    AskedQuestion,
    ChoiceAnswer,
    Confirmed,
    DecisionRecorder,
    Erasure,
    Item,
    JsonlSink,
    MemorySink,
    Needle,
    NoulAnswer,
    Outcome,
    Record,
    RecordBrowser,
    RecordedDecision,
    RecordFile,
    RecordFilter,
    RecordTable,
    ScoreAnswer,
    Signal,
    Sink,
    SqliteSink,
    StoreInUse,
    StoreRefused,
    TreePlace,
    browsed,
    copy_records,
    line_of,
    load_records,
    open_store,
)
from engine.records.table import answer_of, decision_of

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
CANARY = "canary-2231"


def record(decision_id: str, key: str | None = None, state: str = "state", **more: object) -> Record:
    plain = Record(
        decision_id=decision_id,
        erasure_key=key,
        started=NOON,
        latency_ms=1.5,
        provider="p",
        endpoint="e",
        default_model="m",
        questions={"desk": AskedQuestion("choice", "Whose?", {"billing": None, "technical": None})},
        state=state,
        answers=(ChoiceAnswer("desk", 1, 0.8, (0.1, 0.9)),),
    )
    return replace(plain, **more)  # type: ignore[arg-type]


def place(node: str = "gate", tree: str = "desk", run: str = "run-1") -> TreePlace:
    return TreePlace(
        tree_id=tree, tree_version=3, execution_id=run, node=node, visit=1, transition="technical"
    )


def right(decision_id: str) -> Outcome:
    return Confirmed(decision_id, "reviewer", NOON, {"desk": "billing"})


def signal(decision_id: str) -> Outcome:
    return Signal(decision_id, "mailer", NOON, "complained")


def decision_at(table: RecordTable, row: int) -> RecordedDecision | None:
    return decision_of(line for line in table.held(row) if isinstance(line, bytes))


def decisions(path: Path) -> tuple[RecordedDecision, ...]:
    table = RecordTable(path, read_only=True)
    try:
        rows = sorted(table.all_rows(RecordFilter()))
        return tuple(found for row in rows if (found := decision_at(table, row)) is not None)
    finally:
        table.close()


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "records.sqlite"


def filled(path: Path, *items: Item) -> RecordTable:
    table = RecordTable(path)
    with table.change():
        for item in items:
            match item:
                case Record():
                    table.put(item)
                case Erasure():
                    table.erase(item)
                case _:
                    table.add(item)
    return table


# -- keeping and forgetting ----------------------------------------------------------------------------


async def test_what_is_recorded_is_read_back_equal(store: Path):
    first, second = record("a", "k", "Ünïcödé \ud800".replace("\ud800", "?")), record("b", tree=place())
    async with SqliteSink(store) as sink, DecisionRecorder(sink) as recorder:
        recorder.record(first)
        recorder.record(second)
        await recorder.add_outcome(right("a"))
        await recorder.add_outcome(signal("a"))
    assert decisions(store) == (RecordedDecision(first, (right("a"), signal("a"))), RecordedDecision(second))


async def test_the_store_is_for_its_owner_only_and_stays_when_opened_again(store: Path):
    for decision_id in ("a", "b"):
        async with SqliteSink(store) as sink:
            await sink.write(record(decision_id))
    assert mode_of(store) == 0o600
    assert [d.record.decision_id for d in decisions(store)] == ["a", "b"]


async def test_a_second_writer_is_refused_until_the_first_has_left(store: Path):
    async with SqliteSink(store):
        with pytest.raises(StoreInUse):
            SqliteSink(store)
    SqliteSink(store).close()


async def test_a_batch_is_kept_as_a_whole_or_not_at_all(store: Path):
    bad = record("b", state={"deep": float("nan")})  # type: ignore[arg-type]
    async with SqliteSink(store) as sink:
        with pytest.raises(ValueError, match="JSON"):
            await sink.write_all([record("a"), bad])
        await sink.write(record("c"))
    assert [d.record.decision_id for d in decisions(store)] == ["c"]


async def test_orphans_are_not_minded(store: Path):
    async with SqliteSink(store) as sink:
        await sink.outcome(right("nobody"))
        await sink.erase_key("nobody")
        await sink.erase_decision("nobody")
    assert decisions(store) == ()


async def test_nothing_erased_is_left_in_any_file(store: Path):
    async with SqliteSink(store) as sink:
        for number in range(300):
            await sink.write(record(f"d{number}", f"k{number % 3}", f"{CANARY} {number % 3} " + "x" * 900))
            await sink.outcome(Signal(f"d{number}", "s", NOON, "n", note=f"{CANARY} {number % 3}"))
        await sink.erase_key("k1")
        await sink.erase_decision("d0")
        held = everything(store.parent)
        assert f"{CANARY} 1".encode() not in held
        assert b'"d0"' not in held
        assert f"{CANARY} 2".encode() in held
        before = len(bytes_of(store))
        for key in ("k0", "k2"):
            await sink.erase_key(key)
        await sink.compact()
        assert len(bytes_of(store)) < before
    assert CANARY.encode() not in everything(store.parent)


async def test_an_erasure_is_not_confirmed_while_a_reader_still_holds_what_was(store: Path):
    async with SqliteSink(store) as sink:
        await sink.write(record("a", state=CANARY))
        sink._table._database.execute("PRAGMA busy_timeout = 1")
        reader = sqlite3.connect(store)
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM decisions").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError):
            await sink.erase_decision("a")
        reader.close()
        await sink.erase_decision("a")
    assert CANARY.encode() not in bytes_of(store)


async def test_of_what_was_erased_only_the_number_and_the_time_are_told(store: Path, tmp_path: Path):
    began = datetime.now(UTC)
    async with SqliteSink(store) as sink:
        await sink.write_all(
            [record(one, key) for one, key in (("a", "k"), ("b", "k"), ("c", None), ("d", None))]
        )
        for forget in (sink.erase_key("k"), sink.erase_key("nobody"), sink.erase_decision("d")):
            await forget
    erased = RecordFilter(outcome="erased")
    async with RecordBrowser(store, tmp_path) as browser:
        rows = await browser.rows(await browser.all_rows(erased))
        assert [row.erased for row in rows] == [1, 2]
        assert began <= rows[1].started <= rows[0].started <= datetime.now(UTC)
        assert {(row.tree, row.node, row.answer, row.model, row.confidence) for row in rows} == {(None,) * 5}
        assert await browser.newest(erased, 1) == [rows[0].row]
        assert await browser.decision(rows[0].row) is None
        for wanted, count in (
            (RecordFilter(), 1),
            (erased, 2),
            (replace(erased, since=began), 2),
            (replace(erased, until=began), 0),
            (replace(erased, tree="desk"), 0),
        ):
            assert await browser.count(wanted) == count
    assert b'"k"' not in everything(store.parent)


def test_a_store_that_noted_no_erasures_yet_tells_of_none(store: Path):
    filled(store, record("a")).close()
    with closing(sqlite3.connect(store)) as former:
        former.execute("DROP TABLE erasures")
    with closing(RecordTable(store, read_only=True)) as table:
        assert table.count(RecordFilter(outcome="erased")) == 0
        assert table.newest(RecordFilter(outcome="erased"), 5) == []
    with closing(filled(store, Erasure(decision_id="a"))) as table:
        assert table.count() == 0


# -- the same as every other sink ------------------------------------------------------------------------


class Reference:
    """What must be left, told in the simplest way: a list of what happened, read from the front."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def left(self) -> list[tuple[Record, list[Outcome]]]:
        left: dict[str, tuple[Record, list[Outcome], set[str | None]]] = {}
        for item in self.items:
            match item:
                case Record():
                    _, outcomes, keys = left.get(item.decision_id, (item, [], set()))
                    left[item.decision_id] = (item, outcomes, {*keys, item.erasure_key})
                case Erasure():
                    left = {
                        i: kept
                        for i, kept in left.items()
                        if i != item.decision_id and (item.key is None or item.key not in kept[2])
                    }
                case _ if item.decision_id in left:
                    left[item.decision_id][1].append(item)
        return [(kept, outcomes) for kept, outcomes, _ in left.values()]


SINKS: dict[str, tuple[Callable[[Path], Sink], Callable[[Sink, Path], tuple[RecordedDecision, ...]]]] = {
    "memory": (lambda _: MemorySink(), lambda sink, _: sink.decisions),  # type: ignore[attr-defined]
    "jsonl": (JsonlSink, lambda _, path: load_records(path).decisions),
    "compacted": (RecordFile, lambda _, path: load_records(path).decisions),
    "sqlite": (SqliteSink, lambda _, path: decisions(path)),
}


async def orders_agree(kind: str, path: Path, seed: int) -> None:
    chance, reference = random.Random(seed), Reference()
    make, read = SINKS[kind]
    sink = make(path)
    async with DecisionRecorder(sink) as recorder:
        for step in range(chance.randint(5, 60)):
            decision_id, key = f"d{chance.randint(0, 8)}", chance.choice([None, "k0", "k1", "k2"])
            item: Item
            match chance.random():
                case share if share < 0.45:
                    item = record(decision_id, key, f"state {step}")
                    recorder.record(item)
                case share if share < 0.75:
                    item = replace(chance.choice([right, signal])(decision_id), source=f"s{step}")
                    await recorder.add_outcome(item)
                case share if share < 0.9:
                    item = Erasure(decision_id=decision_id)
                    await recorder.erase_decision(decision_id)
                case _:
                    item = Erasure(key=key or "k0")
                    await recorder.erase(key or "k0")
            reference.items.append(item)
    sink.close()  # type: ignore[attr-defined]
    assert read(sink, path) == tuple(RecordedDecision(kept, tuple(of)) for kept, of in reference.left())


@pytest.fixture
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left does not depend on whether the disk has it yet; waiting for it takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.usefixtures("no_disk")
@pytest.mark.parametrize("kind", SINKS)
async def test_any_order_of_items_leaves_what_the_reference_leaves(kind: str, tmp_path: Path):
    for seed in range(12):
        await orders_agree(kind, tmp_path / f"{seed}-{kind}.jsonl", seed)


@pytest.mark.usefixtures("no_disk")
@pytest.mark.soak
@pytest.mark.parametrize("kind", SINKS)
async def test_a_thousand_orders_leave_what_the_reference_leaves(kind: str, tmp_path: Path):
    for seed in range(100, 1_100):
        await orders_agree(kind, tmp_path / f"{seed}-{kind}.jsonl", seed)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
async def test_a_copied_decision_is_forgotten_by_every_key_it_ever_had(kind: str, tmp_path: Path):
    source, target, cache = tmp_path / "from.jsonl", tmp_path / f"to.{kind}", tmp_path / "cache"
    first, last = record("a", 'former "key"', "state"), record("a", None, "state")
    items = (first, replace(first, erasure_key="k1"), last, right("a"), record("b", "k1"))
    source.write_bytes(b"".join(line_of(item) + b"\n" for item in items))
    async with open_store(target) as store:
        with browsed(source, cache) as browser:
            copied = await copy_records(browser, store, cache)
            assert (copied.decisions, copied.outcomes, copied.known) == (2, 1, 0)
        async with RecordBrowser(target, cache) as browser:
            await browser.refresh()
            (kept,) = [await browser.decision(row) for row in [await browser.row_of("a") or 0]]
            assert kept == RecordedDecision(last, (right("a"),))
            assert await browser.ids_with(Erasure(key="k1")) == ("a", "b")
        await store.erase_key('former "key"')
        async with RecordBrowser(target, cache) as browser:
            await browser.refresh()
            assert await browser.ids_with(Erasure(key="k1")) == ("b",)


# -- finding ---------------------------------------------------------------------------------------------


@pytest.fixture
def table(store: Path) -> Iterator[RecordTable]:
    later = NOON + timedelta(hours=1)
    sure = (ChoiceAnswer("desk", 0, 0.2, (0.6, 0.4)),)
    table = filled(
        store,
        record("a", "k1", "The app crashes", tree=place("gate")),
        record("b", "k1", "The café is closed", tree=place("gate", run="run-2"), answers=sure, started=later),
        record("c", None, "100 % of it", tree=place("other", "triage"), served_model="big"),
        record("d", "k2", "Nothing", answers=None, error_kind="Timeout", cached=True),
        right("a"),
        signal("b"),
    )
    yield table
    table.close()


def ids(table: RecordTable, wanted: RecordFilter) -> str:
    found = [decision_at(table, row) for row in table.all_rows(wanted)]
    return "".join(decision.record.decision_id for decision in found if decision)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (RecordFilter(), "dcba"),
        (RecordFilter(tree="desk"), "ba"),
        (RecordFilter(tree="desk", version=4), ""),
        (RecordFilter(node="other"), "c"),
        (RecordFilter(answer="technical"), "cba"),
        (RecordFilter(model="big"), "c"),
        (RecordFilter(error="any"), "d"),
        (RecordFilter(error="Timeout"), "d"),
        (RecordFilter(error=""), "cba"),
        (RecordFilter(run="run-2"), "b"),
        (RecordFilter(least_confidence=0.5), "ca"),
        (RecordFilter(most_confidence=0.2), "b"),
        (RecordFilter(since=NOON + timedelta(minutes=1)), "b"),
        (RecordFilter(until=NOON + timedelta(minutes=1)), "dca"),
        (RecordFilter(outcome="confirmed"), "a"),
        (RecordFilter(outcome="signal"), "b"),
        (RecordFilter(outcome="none"), "dc"),
    ],
)
def test_a_filter_admits_what_it_says(table: RecordTable, wanted: RecordFilter, found: str):
    assert ids(table, wanted) == found
    assert table.count(wanted) == len(found)
    assert list(table.all_rows(wanted))[:1] == table.newest(wanted, 1)


def test_the_least_sure_come_first_when_asked(table: RecordTable):
    order = [table.rows([row])[0].confidence for row in table.all_rows(RecordFilter(error=""), "least sure")]
    assert order == [0.2, 0.8, 0.8]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CRASHES", "a"),
        ("CAFÉ", "b"),
        ("100 %", "c"),
        ("100 x", ""),
        ("a_p", ""),
        ("complained", ""),
        ("technical", "dcba"),
    ],
)
def test_a_text_is_found_whatever_its_case_and_letters(table: RecordTable, text: str, found: str):
    rows = table.saying(Needle(text), table.all_rows(RecordFilter()))
    assert "".join(d.record.decision_id for row in rows if (d := decision_at(table, row))) == found


def test_a_row_tells_what_a_list_shows(table: RecordTable):
    (row,) = table.rows([table.row_of("b") or 0])
    assert (row.tree, row.version, row.node, row.visit, row.answer) == ("desk", 3, "gate", 1, "technical")
    assert (row.confidence, row.model, row.error, row.cached) == (0.2, "m", None, False)
    assert (row.started, row.latency_ms, row.confirmed, row.signals) == (
        NOON + timedelta(hours=1),
        1.5,
        False,
        1,
    )
    assert table.rows([99]) == []


def test_an_erasure_tells_beforehand_and_afterwards_what_it_means(table: RecordTable):
    assert table.ids_with(Erasure(key="k1")) == ("a", "b")
    assert table.ids_with(Erasure(decision_id="c")) == ("c",)
    with table.change():
        assert set(table.erase(Erasure(key="k1"))) == {"a", "b"}
    assert ids(table, RecordFilter()) == "dc"


def test_values_for_a_choice_of_filters(table: RecordTable):
    assert table.values("tree") == ["desk", "triage"]
    assert table.values("model") == ["big", "m"]


def test_a_change_that_fails_leaves_everything_as_it_was(table: RecordTable):
    def fail() -> None:
        with table.change():
            table.erase(Erasure(key="k1"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert table.count() == 4


@pytest.mark.parametrize(
    ("answer", "question", "told"),
    [
        (NoulAnswer("q", 0.5, 0), AskedQuestion("noul"), "yes"),
        (NoulAnswer("q", 0.4, 0), AskedQuestion("noul"), "no"),
        (ScoreAnswer("q", 2, 1.9, 0.5, (0, 0.1, 0.9)), AskedQuestion("score", None, ["a", "b", "c"]), "2"),
    ],
)
def test_answers_of_every_kind_have_a_word(answer, question, told: str):
    assert answer_of(record("a", answers=(answer,), questions={"q": question})) == told


# -- other files ---------------------------------------------------------------------------------------


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(store: Path):
    store.write_bytes(b"not a database, though it has some length to it" * 40)
    before = store.read_bytes()
    with pytest.raises(StoreRefused, match="not a record store"):
        SqliteSink(store)
    assert store.read_bytes() == before
    SqliteSink(store.with_name("other.sqlite")).close()


def test_another_programs_database_is_refused(store: Path):
    other = sqlite3.connect(store)
    other.execute("CREATE TABLE decisions (x)")
    other.close()
    with pytest.raises(StoreRefused, match="not a record store"):
        RecordTable(store)


def test_a_store_of_a_newer_format_is_refused(store: Path):
    RecordTable(store).close()
    newer = sqlite3.connect(store)
    newer.execute("PRAGMA user_version = 2")
    newer.close()
    with pytest.raises(StoreRefused, match="newer"):
        RecordTable(store)


def test_reading_a_store_that_is_not_there_is_an_error(store: Path):
    with pytest.raises(FileNotFoundError):
        RecordTable(store, read_only=True)
    assert not store.exists()


def test_a_store_whose_writer_died_is_taken_over_with_all_it_had_confirmed(store: Path):
    program = """
import asyncio, os, sys
from pathlib import Path
from engine.records import SqliteSink
from tests.engine.test_records_sqlite import record
sink = SqliteSink(Path(sys.argv[1]))
asyncio.run(sink.write(record("a")))
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", program, store], check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == -signals.SIGKILL

    async def go_on() -> None:
        async with SqliteSink(store) as sink:
            await sink.write(record("b"))

    asyncio.run(go_on())
    assert [d.record.decision_id for d in decisions(store)] == ["a", "b"]
