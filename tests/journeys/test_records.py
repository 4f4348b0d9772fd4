"""Records through the real window: many of them, filtered, reviewed by keyboard, erased for good, live."""

import asyncio
import gc
import json
import time
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget

from designer.panels.records import RecordsPanel
from designer.panels.records.wording import Told
from designer.running import RunState
from designer.settings import Settings, data_folder
from engine.records import Erasure
from tests.builders import as_bytes, as_json, classify, terminal, tree
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_debugging import answer
from tests.stores import decision_id, filled

BLOCKED = 0.05
"""What the window's thread may work, in seconds, before it lets its loop go on."""
PLAN = tree(
    gate=classify("Is it covered?", {"yes": "size", "no": "refuse"}, unknown="ask"),
    size=classify("How large is it?", {"small": "pay", "large": "gate"}, unknown="ask"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    ask=terminal("ask"),
)


def store(count: int, name: str = "records.sqlite") -> Path:
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return filled(folder / name, count)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_bytes(as_bytes(as_json(PLAN)))
    return path


async def opened(person: Driver, count: int) -> RecordsPanel:
    await person.show("records")
    panel = person.window.panels["records"]
    assert isinstance(panel, RecordsPanel)
    await until(lambda: panel.counted.text().startswith(f"{count:,} record"), ticks=24_000)
    return panel


async def told(panel: RecordsPanel, words: str) -> None:
    await until(lambda: panel.counted.text() == words, ticks=4000)


async def dialog(person: Driver) -> QWidget:
    def there() -> QWidget | None:
        return next((w for w in person.window.findChildren(QWidget, "dialog") if w.isVisible()), None)

    await until(there)
    found = there()
    assert found is not None
    return found


def words(widget: QWidget) -> str:
    return " ".join(label.text() for label in widget.findChildren(QLabel))


def in_full(panel: RecordsPanel) -> Told:
    assert panel.detail.told is not None
    return panel.detail.told


async def press(widget: QWidget, name: str) -> None:
    (button,) = widget.findChildren(QPushButton, name)
    await by_hand(lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton))
    await until(lambda: not widget.isVisible())


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """The longest time, in seconds, the window's thread worked without letting its loop go on."""
    longest = [0.0]
    # As the program does: what stays is not looked through again by every collection.
    gc.collect()
    gc.freeze()

    async def tick() -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest[0] = max(longest[0], now - last)
            last = now

    ticking = asyncio.ensure_future(tick())
    try:
        yield longest
    finally:
        ticking.cancel()


async def use_every_filter(panel: RecordsPanel, count: int) -> None:
    """By keyboard, one after the other; each tells some records from the others."""
    panel.bar.values_wanted.emit()
    box = panel.bar.box
    await until(lambda: all(combo.count() > 2 for combo in box.fields.values()), ticks=4000)
    lines: dict[QWidget, str] = {
        box.version: "2",
        box.confidence.lines[0]: "0.9",
        box.time.lines[1]: "2026-09-01 08:10",
    }
    keys: dict[QWidget, str] = {**dict.fromkeys(box.fields.values(), ""), **lines}
    for widget, words in keys.items():
        widget.setFocus()
        QTest.keyClicks(widget, words)
        QTest.keyClick(widget, Qt.Key.Key_Return if words else Qt.Key.Key_Down)
        assert panel.bar.filters.text() == "Filters · 1", widget.objectName()
        await until(lambda: " of " in panel.counted.text() and len(panel.model.rows) < count, ticks=4000)
        box._clear.click()
        await until(lambda: len(panel.model.rows) == count, ticks=4000)


async def browse_and_review(person: Driver, count: int) -> list[float]:
    async with watched() as longest:
        panel = await opened(person, count)
        assert len(panel.model.rows) == count
        panel.table.scrollToBottom()
        await until(lambda: panel.model.listed(count - 1) is not None, ticks=4000)
        panel.table.scrollTo(panel.model.index(count // 2, 0))
        await until(lambda: panel.model.listed(count // 2) is not None, ticks=4000)
        panel.bar.text.setFocus()
        QTest.keyClicks(panel.bar.text, f"parcel {count - 7} ")
        QTest.keyClick(panel.bar.text, Qt.Key.Key_Return)
        await until(lambda: len(panel.model.rows) == 1 and panel.model.rows[0] == count - 6, ticks=10_000)
        panel.bar.text.clear()
        await until(lambda: len(panel.model.rows) == count, ticks=4000)
        await use_every_filter(panel, count)
        panel.bar.review.click()
        await until(lambda: panel.counted.text().startswith("0 answers"), ticks=6000)
        left = len(panel.model.rows)
        listed = [panel.model.listed(place) for place in range(20)]
        confidences = [one.row.confidence or 0.0 for one in listed if one is not None]
        assert confidences == sorted(confidences)
        assert len(confidences) == 20
        for key in ("1", "2", "1"):
            row = panel.table.row
            await until(lambda: panel._told is not None)
            assert QApplication.focusWidget() is panel.table
            QTest.keyClicks(panel.table, key)
            assert panel.table.row != row
        await until(
            lambda: panel.counted.text() == f"3 answers reviewed · {left - 3:,} to review", ticks=4000
        )
        QTest.keyClicks(panel.table, "u")
        await until(
            lambda: panel.counted.text() == f"2 answers reviewed · {left - 2:,} to review", ticks=4000
        )
        panel.bar.review.click()
        await until(lambda: panel.counted.text().startswith(f"{count:,} records"), ticks=6000)
    assert panel.model.rows == array("q", range(count, 0, -1))
    return longest


@pytest.mark.parametrize(("name", "count"), [("records.sqlite", 20_000), ("mine.jsonl", 3_000)])
def test_many_records_are_found_and_reviewed_by_keyboard_and_never_hold_up_the_window(travel, name, count):
    Settings(records_path=store(count, name)).save()

    async def journey(person: Driver) -> None:
        (longest,) = await browse_and_review(person, count)
        assert longest < BLOCKED

    travel(journey)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "count"), [("records.sqlite", 1_000_000), ("mine.jsonl", 50_000)])
def test_a_million_records_never_hold_up_the_window(travel, name, count):
    Settings(records_path=store(count, name)).save()

    async def journey(person: Driver) -> None:
        (longest,) = await browse_and_review(person, count)
        assert longest < BLOCKED

    travel(journey)


def test_records_of_a_run_appear_and_lead_back_to_its_steps(travel, plan):
    async def journey(person: Driver) -> None:
        assert person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        panel = await opened(person, 1)
        await until(lambda: panel._told is not None)
        first = in_full(panel).decision.record.decision_id
        await answer(person, "size", "small")
        await until(lambda: person.running.state is RunState.ENDED)
        await person.show("records")
        await until(lambda: len(panel.model.rows) == 2)
        assert panel.table.currentIndex().row() == 1
        assert in_full(panel).decision.record.decision_id == first
        person.document.select([])
        panel.detail.buttons["show"].click()
        await until(lambda: person.document.selection == {"gate"})
        assert person.running.past
        person.window.workbench.records_requested.emit("another run")
        await until(lambda: len(panel.model.rows) == 0)
        assert person.running.latest.result is not None
        person.window.workbench.records_requested.emit(person.running.latest.result.execution_id)
        await until(lambda: len(panel.model.rows) == 2)

    travel(journey, plan)


def test_decisions_carry_the_key_of_the_person_they_are_about(travel, plan):
    project = plan.with_name("treewright.json")

    def about(customer: str) -> None:
        trees = {PLAN.tree_id: {"erasureKeyParameter": "customer"}}
        told = {"format": 1, "trees": trees, "parameters": {"customer": customer}}
        project.write_text(json.dumps(told))

    async def journey(person: Driver) -> None:
        about("c-7")
        assert person.window.run_command("run.start")
        await answer(person, "gate", "no")
        about("c-8")
        assert person.window.run_command("run.restart")
        await answer(person, "gate", "no")
        assert person.window.run_command("run.start")
        await answer(person, "gate", "no")
        panel = await opened(person, 3)
        browser = await person.window.workbench.records.browser()
        assert browser is not None
        kept = [await browser.decision(row) for row in panel.model.rows]
        assert [one.record.erasure_key for one in kept if one] == ["c-8", "c-7", "c-7"]

    travel(journey, plan)


def test_a_decision_becomes_a_case_with_the_right_answer(travel, plan):
    async def journey(person: Driver) -> None:
        assert person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await answer(person, "size", "small")
        await until(lambda: person.running.state is RunState.ENDED)
        panel = await opened(person, 2)
        panel.table.choose(0)
        await until(lambda: panel._told is not None and panel._told.node == "size")
        place = [bar.words for bar in in_full(panel).bars].index("large")
        row = panel.detail.bars.rect().topLeft()
        row.setY(24 * place + 5)
        QTest.mouseClick(panel.detail.bars, Qt.MouseButton.LeftButton, pos=row)
        await until(lambda: in_full(panel).decision.confirmed == {"size": "large"})
        panel.detail.buttons["test"].click()
        cases = plan.with_name("cases.jsonl")
        await until(cases.exists)
        (case,) = map(json.loads, cases.read_text().splitlines())
        assert case["tree"] == {"id": PLAN.tree_id}
        assert case["answers"] == {"gate": ["yes"], "size": ["large"]}
        assert case["expect"] == {"answers": {"size": "large"}}
        await until(lambda: len(person.window.workbench.cases) == 1)
        assert person.window.message == "A case was added to cases.jsonl."

    travel(journey, plan)


def test_what_is_erased_is_gone_from_the_store_and_from_every_file(travel, own_folders):
    store(200)
    transcripts = data_folder() / "transcripts"
    transcripts.mkdir()
    quoting = transcripts / "20261102-081530-Decision-tree-claims.md"
    quoting.write_text(f"# Run\n\nDecision ID: {decision_id(199)}\n")
    other = transcripts / "20261102-081531-Decision-tree-claims.md"
    other.write_text(f"# Run\n\nDecision ID: {decision_id(3)}\n")

    async def journey(person: Driver) -> None:
        panel = await opened(person, 200)
        await until(lambda: panel._told is not None)
        panel.table.setFocus()
        QTest.keyClick(panel.table, Qt.Key.Key_Delete)
        asked = await dialog(person)
        assert "goes with its 0 outcomes" in words(asked)
        assert "40 decisions have the same erasure key" in words(asked)
        await press(asked, "button.all")
        report = await dialog(person)
        assert "Nothing of it is left" in words(report)
        assert "40 decisions erased from records.sqlite. The store and the files were" in words(report)
        await press(report, "button.OK")
        await until(lambda: panel.counted.text().startswith("160 records"))
        assert not quoting.exists()
        assert other.exists()
        assert person.window.focusWidget() is panel.table
        assert await person.window.workbench.records.unconfirmed() == ()

    travel(journey)
    gone = [decision_id(number).encode() for number in range(160, 200)]
    texts = [f"Parcel {number} arrived".encode() for number in range(160, 200)]
    for file in own_folders.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        assert not any(one in data for one in (*gone, *texts, b"customer-4")), file


def test_leaving_the_question_erases_nothing(travel):
    store(3)

    async def journey(person: Driver) -> None:
        panel = await opened(person, 3)
        await until(lambda: panel._told is not None)
        panel.detail.buttons["erase"].click()
        await press(await dialog(person), "button.cancel")
        await asyncio.sleep(0.02)
        assert len(panel.model.rows) == 3

    travel(journey)


def test_an_erasure_that_could_not_be_confirmed_is_offered_at_the_next_start(travel, monkeypatch):
    store(3)

    async def first(person: Driver) -> None:
        records = person.window.workbench.records
        await records.ready()

        async def fail(_id: str) -> None:
            raise OSError("The disk is gone.")

        monkeypatch.setattr(records._sink, "erase_decision", fail)
        panel = await opened(person, 3)
        await until(lambda: panel._told is not None)
        panel.detail.buttons["erase"].click()
        await press(await dialog(person), "button.one")
        report = await dialog(person)
        assert "The erasure is not confirmed" in words(report)
        await press(report, "button.OK")
        assert await records.unconfirmed() == (Erasure(decision_id=decision_id(2)),)

    async def second(person: Driver) -> None:
        asked = await dialog(person)
        assert "An erasure is not done yet" in words(asked)
        await press(asked, "button.erase")
        await press(await dialog(person), "button.OK")
        panel = await opened(person, 2)
        assert await person.window.workbench.records.unconfirmed() == ()
        assert len(panel.model.rows) == 2

    travel(first)
    travel(second)


def test_records_of_an_earlier_version_are_taken_into_the_store_once(travel):
    folder = data_folder()
    folder.mkdir(parents=True)
    former = filled(folder / "decisions.jsonl", 50)
    with former.open("ab") as file:
        file.write(b"{broken\n")

    async def journey(person: Driver) -> None:
        records = person.window.workbench.records
        told: list[object] = []
        records.trouble.connect(told.append)
        assert await records.ready()
        await opened(person, 50)
        kept = folder / "decisions.unread"
        assert told == [f"1 line of earlier records could not be used and stay in {kept}."]
        assert kept.read_bytes() == b"{broken\n"
        assert not former.exists()

    travel(journey)
