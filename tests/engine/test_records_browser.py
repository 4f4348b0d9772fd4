"""Browsing stores of both kinds: the same lists, filters and search, of a file also while it grows."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.records import (
    BadLine,
    Erasure,
    Item,
    JsonlSink,
    Needle,
    Record,
    RecordBrowser,
    RecordFilter,
    SqliteSink,
    StoreRefused,
    line_of,
    load_records,
)
from tests.engine.test_records_sqlite import place, record, right, signal

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
ITEMS: tuple[Item, ...] = (
    record("a", "k1", "The app crashes", tree=place("gate")),
    record("b", "k1", "The café is closed", tree=place("gate", run="run-2")),
    record("c", None, "100 % of it", tree=place("other", "triage"), served_model="big"),
    record("d", "k2", "Nothing", answers=None, error_kind="Timeout"),
    right("a"),
    signal("b"),
    signal("a"),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


def append(path: Path, *items: Item | bytes) -> None:
    with path.open("ab") as opened:
        for item in items:
            opened.write(item if isinstance(item, bytes) else line_of(item) + b"\n")


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.fixture
async def opened(file: Path) -> AsyncIterator[RecordBrowser]:
    append(file, *ITEMS)
    async with RecordBrowser(file, file.parent / "cache") as browser:
        await browser.refresh()
        yield browser


async def ids(browser: RecordBrowser, wanted: RecordFilter = RecordFilter()) -> str:  # noqa: B008
    found = [await browser.decision(row) for row in await browser.all_rows(wanted)]
    return "".join(decision.record.decision_id for decision in found if decision)


async def found_by(browser: RecordBrowser, text: str) -> str:
    rows = [
        row async for part, _ in browser.search(text, await browser.all_rows(RecordFilter())) for row in part
    ]
    found = [await browser.decision(row) for row in rows]
    return "".join(decision.record.decision_id for decision in found if decision)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
async def test_both_kinds_of_store_show_the_same(kind: str, tmp_path: Path):
    path = tmp_path / f"records.{kind}"
    async with JsonlSink(path) if kind == "jsonl" else SqliteSink(path) as sink:
        for item in ITEMS:
            await (sink.write(item) if isinstance(item, Record) else sink.outcome(item))  # type: ignore[arg-type]
    async with RecordBrowser(path, tmp_path / "cache") as browser:
        assert await browser.refresh()
        assert not await browser.refresh()
        assert await ids(browser) == "dcba"
        assert await ids(browser, RecordFilter(tree="desk")) == "ba"
        assert await ids(browser, RecordFilter(outcome="confirmed")) == "a"
        assert await browser.count() == 4
        assert await browser.values("tree") == ["desk", "triage"]
        (row,) = await browser.rows([await browser.row_of("a") or 0])
        assert (row.node, row.answer, row.confirmed, row.signals) == ("gate", "technical", True, 1)
        decision = await browser.decision(row.row)
        assert decision is not None
        assert decision.outcomes == (right("a"), signal("a"))
        assert await found_by(browser, "CAFÉ") == "b"
        assert await found_by(browser, "% of") == "c"
        assert await found_by(browser, "nowhere") == ""
        assert await browser.newest(RecordFilter(), 1) == [await browser.row_of("d")]
        assert await browser.ids_with(Erasure(key="k1")) == ("a", "b")
        assert await browser.decision(99) is None
        assert await browser.problems() == ()


async def test_a_growing_file_is_followed_and_a_line_in_the_making_waited_for(opened: RecordBrowser):
    line = line_of(record("e")) + b"\n"
    append(opened.path, record("f"), line[:20])
    assert await opened.refresh()
    assert await ids(opened) == "fdcba"
    assert not await opened.refresh()
    append(opened.path, line[20:])
    assert await opened.refresh()
    assert await ids(opened) == "efdcba"
    assert await opened.problems() == ()


def index_of(path: Path) -> bytes:
    """Every byte of what is kept of a record file elsewhere."""
    return b"".join(file.read_bytes() for file in sorted((path.parent / "cache").iterdir()))


async def test_an_erasure_in_the_file_reaches_the_list_and_the_index_itself(opened: RecordBrowser):
    append(opened.path, Erasure(key="k1"))
    assert await opened.refresh()
    assert await ids(opened) == "dc"
    assert await opened.count() == 2
    held = index_of(opened.path)
    assert b"run-2" not in held
    assert b"k1" not in held


async def test_bad_lines_are_told_with_their_numbers_and_kept_over_restarts(file: Path):
    append(file, record("a"), b"not json\n", b"\n", signal("nobody"), record("b"))
    for _ in range(2):
        async with RecordBrowser(file, file.parent / "cache") as browser:
            await browser.refresh()
            assert await ids(browser) == "ba"
            assert await browser.problems() == (
                BadLine(2, "not-json", "The line is not JSON."),
                BadLine(4, "orphan-outcome", "The outcome has no decision before it."),
            )
            assert load_records(file).problems == await browser.problems()


async def test_an_index_is_used_again_and_made_anew_where_the_file_is_another(
    opened: RecordBrowser, file: Path
):
    await asyncio.to_thread(opened.close)
    async with RecordBrowser(file, file.parent / "cache") as again:
        assert not await again.refresh()
        assert await ids(again) == "dcba"
        fresh = file.with_suffix(".new")
        append(fresh, record("z"))
        fresh.rename(file)
        assert await again.refresh()
        assert await ids(again) == "z"
        assert b"run-2" not in index_of(file)
        emptied(file)
        assert await again.refresh()
        assert await ids(again) == ""


async def test_a_file_rewritten_in_place_with_the_same_length_is_noticed(opened: RecordBrowser):
    held = opened.path.read_bytes()
    opened.path.write_bytes(held.replace(b'"decisionId":"c"', b'"decisionId":"x"'))
    assert await opened.refresh()
    assert await ids(opened) == "dxba"


async def test_a_damaged_index_is_made_anew(opened: RecordBrowser, file: Path):
    await asyncio.to_thread(opened.close)
    (index,) = (file.parent / "cache").glob("*.sqlite")
    index.write_bytes(b"damaged " * 4000)
    async with RecordBrowser(file, file.parent / "cache") as again:
        assert await again.refresh()
        assert await ids(again) == "dcba"


async def test_progress_is_told_and_what_is_done_is_kept_when_indexing_is_cancelled(file: Path):
    append(file, *(record(f"d{number}") for number in range(5_000)))
    async with RecordBrowser(file, file.parent / "cache") as browser:
        shares: list[float] = []

        def stop_early(share: float) -> None:
            shares.append(share)
            if len(shares) == 1:
                indexing.cancel()

        indexing = asyncio.ensure_future(browser.refresh(stop_early))
        with pytest.raises(asyncio.CancelledError):
            await indexing
        assert 0 < await browser.count() < 5_000
        await browser.refresh(shares.append)
        assert await browser.count() == 5_000
        assert shares == sorted(shares)
        assert shares[-1] == 1


async def test_a_search_goes_bit_by_bit(file: Path):
    append(file, *(record(f"d{number}", state="odd" if number % 2 else "even") for number in range(5_000)))
    async with RecordBrowser(file, file.parent / "cache") as browser:
        await browser.refresh()
        rows = await browser.all_rows(RecordFilter())
        parts = [(len(found), share) async for found, share in browser.search("ODD", rows)]
        assert [count for count, _ in parts] == [1_000, 1_000, 500]
        assert [share for _, share in parts] == [0.4, 0.8, 1.0]


async def test_a_store_that_is_not_there_or_none_is_refused(tmp_path: Path):
    for name in ("no.jsonl", "no.sqlite"):
        with pytest.raises(FileNotFoundError):
            RecordBrowser(tmp_path / name, tmp_path / "cache")
    other = tmp_path / "other.sqlite"
    other.write_bytes(b"something else " * 400)
    with pytest.raises(StoreRefused):
        RecordBrowser(other, tmp_path / "cache")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("café", {"a": "Le Café"}, True),
        ("ÉTÉ", {"a": ["l'été"]}, True),
        ('say "hi"', {"a": 'They Say "Hi".'}, True),
        ("a\nb", {"a": "A\nB"}, True),
        ("50%", {"a": "50 %"}, False),
        ("a_b", {"a": "axb"}, False),
        ("key", {"KEY": 1}, True),
        ("17", {"a": 170}, True),
        ("\\u00e9", {"a": "é"}, False),
        ("true", {"a": True}, True),
        ("", {}, True),
    ],
)
def test_a_needle_is_found_in_what_a_line_means_not_in_how_it_is_written(text: str, line: object, said: bool):
    raw = json.dumps(line).encode()
    assert Needle(text).is_in(raw) is said
    assert Needle(text).is_in(json.dumps(line, ensure_ascii=False).encode()) is said
