"""The Records panel: any number of decisions in a list, found, reviewed by keyboard, corrected, followed."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from designer import dialogs
from designer.panels.records import RecordsPanel
from designer.panels.records.listed import PAGE, RecordModel
from designer.panels.records.wording import Bar, answer_of, bars_of, outcome_of, state_of
from designer.settings import Settings
from designer.tasks import cancel_all
from designer.workbench import Workbench
from engine.records import (
    RETRACTED,
    AskedQuestion,
    ChoiceAnswer,
    Confirmed,
    NoulAnswer,
    Record,
    RecordBrowser,
    RecordedDecision,
    RecordTable,
    ScoreAnswer,
    Signal,
    TokenUsage,
    TreePlace,
    line_of,
    open_store,
)
from tests.designer.waiting import until
from tests.stores import filled

AT = datetime(2026, 11, 2, 8, 15, 30, tzinfo=UTC)


def record(number=1, **changes):
    usual = Record(
        decision_id=f"decision-{number}",
        started=AT + timedelta(seconds=number),
        latency_ms=212,
        provider="openai",
        endpoint="https://decisions.example/",
        default_model="m",
        usage=TokenUsage(300, 109),
        questions={"automatable": AskedQuestion("choice", "Can it be automated?", {"no": None, "yes": None})},
        state={"data": ["<b>text</b>"]},
        answers=(ChoiceAnswer("automatable", 1, 0.52, (0.44, 0.56)),),
        tree=TreePlace(
            tree_id="t", tree_version=1, execution_id="run-1", node="automatable", visit=1, transition="yes"
        ),
    )
    return replace(usual, **changes)


def confirmed(answer, at=AT):
    return Confirmed("decision-1", "designer", at, {"automatable": answer})


@pytest.fixture(params=["r.sqlite", "r.jsonl"])
def bench(qtbot, tmp_path, request) -> Iterator[Workbench]:
    made = Workbench(Settings(transcripts_folder=tmp_path / "t", records_path=tmp_path / request.param))
    yield made
    made.deleteLater()


@pytest.fixture
def drive(aloop, bench):
    """Run a story in the loop, and end what it left behind."""

    def run(story):
        async def whole():
            try:
                await story()
            finally:
                await cancel_all()
                await bench.records.close()

        aloop.run_until_complete(whole())

    return run


async def shown(qtbot, bench, rows=None):
    """The panel, once it shows so many rows."""
    panel = RecordsPanel(bench)
    qtbot.addWidget(panel)
    panel.resize(1000, 300)
    panel.show()
    if rows is not None:
        await until(lambda: len(panel.model.rows) == rows and "record" in panel.counted.text())
        await until(lambda: not rows or panel._told is not None)
    return panel


def put(bench, *items):
    """Write to the store as its one writer, or behind its back where it has none now."""
    path = bench.records.path
    if path.suffix == ".jsonl":
        with path.open("ab") as file:
            file.writelines(line_of(item) + b"\n" for item in items)
        return
    with closing(RecordTable(path)) as table, table.change():
        for item in items:
            if isinstance(item, Record):
                table.put(item)
            else:
                table.add(item)


def texts(panel, place):
    return [panel.model.index(place, column).data() for column in range(panel.model.columnCount())]


def ids(panel):
    return [panel.model.listed(place).row.node for place in range(len(panel.model.rows))]


async def read(bench, decision):
    """A decision as it now stands in the store."""
    await bench.records.recorder.flush()
    browser = await bench.records.browser()
    await browser.refresh()
    row = await browser.row_of(decision)
    return None if row is None else await browser.decision(row)


def press(panel, keys):
    for key in keys:
        QTest.keyClick(panel.table, key)


# -- the list


def test_records_are_listed_newest_first_and_the_first_is_shown(qtbot, bench, drive):
    put(bench, record(1), record(2, answers=None, error_kind="Timeout", tree=None))

    async def story():
        panel = await shown(qtbot, bench, 2)
        assert texts(panel, 1)[1:] == ["t 1", "automatable", "yes", "0.52", "m", ""]
        assert texts(panel, 0)[-1] == "no answer: Timeout"
        assert panel.detail.told.decision.record.decision_id == "decision-2"
        assert panel.counted.text() == "2 records · 1 to review"
        panel.table.choose(1)
        await until(lambda: panel._told is not None)
        words = " ".join(label.text() for label in panel.detail.findChildren(QLabel))
        assert "212 ms · 409 tokens" in words
        assert "decision-1" in words
        assert "run-1" in words
        assert "<b>text</b>" in panel.detail.state.toPlainText()
        assert panel.detail.state.isReadOnly()

    drive(story)


def test_without_records_it_says_how_they_come_about(qtbot, bench, drive):
    async def story():
        panel = await shown(qtbot, bench)
        await asyncio.sleep(0.02)
        assert panel.currentWidget() is panel.empty
        assert "Run a tree" in panel.empty.text

    drive(story)


def test_a_narrow_list_leaves_out_what_the_detail_says_too(qtbot, bench, drive):
    put(bench, record(1))

    async def story():
        panel = await shown(qtbot, bench, 1)
        titles = [panel.model.headerData(c, Qt.Orientation.Horizontal) for c in range(7)]

        def left_out():
            return [title for c, title in enumerate(titles) if panel.table.isColumnHidden(c)]

        sideways = panel.table.horizontalScrollBar()
        for width, left in ((1600, []), (800, ["Model"]), (700, ["Tree", "Model"]), (1600, [])):
            panel.resize(width, 300)
            await until(lambda: left_out() == left and sideways.maximum() == 0)  # noqa: B023 - at once

    drive(story)


def test_a_hidden_panel_reads_nothing(bench, qtbot):
    panel = RecordsPanel(bench)
    qtbot.addWidget(panel)
    put(bench, record(1))
    bench.stored.emit()
    assert len(panel.model.rows) == 0


def test_a_file_that_is_no_store_is_said_to_be_none(qtbot, bench, drive):
    bench.records.path.write_bytes(b"no database" * 1000)

    async def story():
        panel = await shown(qtbot, bench)
        if bench.records.path.suffix == ".sqlite":
            await until(lambda: "not a record store" in panel.empty.text)
            assert panel.currentWidget() is panel.empty

    drive(story)


def test_a_record_appears_while_the_panel_is_seen_and_the_chosen_one_stays(qtbot, bench, drive):
    put(bench, *(record(number) for number in range(100)))

    async def story():
        panel = await shown(qtbot, bench, 100)
        panel.table.choose(60)
        bar = panel.table.verticalScrollBar()
        await until(lambda: panel._told is not None)
        kept, at = panel.detail.told.decision.record.decision_id, bar.value()
        assert at > 0
        put(bench, record(200), record(201))
        await until(lambda: len(panel.model.rows) == 102)
        assert panel.table.currentIndex().row() == 62
        assert panel.detail.told.decision.record.decision_id == kept
        assert bar.value() > at
        assert panel.table.rowAt(0) == panel.table.rowAt(0)
        await until(lambda: panel.counted.text().startswith("102 records"))

    drive(story)


def test_at_the_top_new_records_push_the_others_down(qtbot, bench, drive):
    put(bench, record(1))

    async def story():
        panel = await shown(qtbot, bench, 1)
        put(bench, record(2))
        await until(lambda: len(panel.model.rows) == 2)
        assert panel.table.currentIndex().row() == 1
        assert panel.table.verticalScrollBar().value() == 0

    drive(story)


def test_of_many_records_only_the_pages_that_are_looked_at_are_fetched(qtbot, bench, drive):
    filled(bench.records.path, 5_000)

    async def story():
        panel = await shown(qtbot, bench, 5_000)
        assert panel.counted.text() == "5,000 records · 4,949 to review"
        assert len(panel.model._known) == PAGE
        panel.table.scrollToBottom()
        panel.grab()
        await until(lambda: panel.model.listed(4_999) is not None)
        assert len(panel.model._known) == 2 * PAGE
        assert texts(panel, 4_999)[1:3] == ["order-desk 1", panel.model.listed(4_999).row.node]

    drive(story)


@pytest.mark.parametrize("bench", ["r.jsonl"], indirect=True)  # only a file has lines
def test_bad_lines_are_counted_and_told_by_number_and_reason(qtbot, bench, drive, monkeypatch):
    bench.records.path.write_bytes(line_of(record(1)) + b"\n{broken\n" + line_of(record(2)) + b"\n")
    told = []

    async def ask(_parent, title, _text, _buttons, *, detail=""):
        told.append((title, detail))

    monkeypatch.setattr(dialogs, "ask", ask)

    async def story():
        panel = await shown(qtbot, bench, 2)
        assert panel.bad.text() == "1 line could not be read"
        panel.bad.click()
        await until(lambda: told)
        assert told[0][0] == "1 line could not be read in r.jsonl"
        assert told[0][1].startswith("line 2: ")
        assert "broken" not in told[0][1]

    drive(story)


# -- finding


def some(bench):
    place = record().tree
    put(
        bench,
        record(1),
        record(2, tree=replace(place, node="gate", transition="no"), default_model="big"),
        record(3, state={"data": ["the café is closed"]}, tree=replace(place, tree_id="u", tree_version=4)),
        record(4, answers=None, error_kind="Timeout"),
        confirmed("yes"),
    )


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda box: box.fields["tree"].setCurrentText("u"), [3]),
        (lambda box: box.version.setText("4"), [3]),
        (lambda box: box.fields["node"].setCurrentText("gate"), [2]),
        (lambda box: box.fields["answer"].setCurrentText("no"), [2]),
        (lambda box: box.fields["model"].setCurrentText("big"), [2]),
        (lambda box: box.fields["error"].setCurrentText("Timeout"), [4]),
        (lambda box: box.fields["error"].setCurrentText("Some error"), [4]),
        (lambda box: box.fields["error"].setCurrentText("None"), [3, 2, 1]),
        (lambda box: box.fields["outcome"].setCurrentText("Confirmed"), [1]),
        (lambda box: box.fields["outcome"].setCurrentText("Not confirmed"), [4, 3, 2]),
        (lambda box: box.confidence.lines[0].setText("0,6"), []),
        (lambda box: box.confidence.lines[1].setText("0.6"), [3, 2, 1]),
        (lambda box: box.time.lines[0].setText("2026-11-02T08:15:32.500+00:00"), [4, 3]),
        (lambda box: box.time.lines[1].setText("2026-11-02T08:15:32.500+00:00"), [2, 1]),
    ],
)
def test_records_are_told_apart_by_what_the_filters_say(qtbot, bench, drive, change, left):
    some(bench)

    async def story():
        panel = await shown(qtbot, bench, 4)
        await panel._offer_values()
        change(panel.bar.box)
        panel.bar.box._note()
        words = f"{len(left)} of 4 records" if len(left) < 4 else "4 records"
        await until(lambda: panel.counted.text().startswith(words))
        found = [panel.model.rows[place] for place in range(len(panel.model.rows))]
        assert found == left
        assert panel.bar.filters.text() == "Filters · 1"
        panel.bar.box.clear()
        await until(lambda: panel.counted.text().startswith("4 records"))
        assert panel.bar.filters.text() == "Filters"

    drive(story)


@pytest.mark.parametrize("bench", ["r.sqlite"], indirect=True)
def test_of_what_was_erased_the_list_tells_when_and_how_many(qtbot, bench, drive):
    put(bench, *(record(number, erasure_key=f"k{number // 2}") for number in range(1, 5)))

    async def story():
        panel = await shown(qtbot, bench, 4)
        for key in ("k1", "k2"):
            await bench.records.recorder.erase(key)
        panel.bar.box.fields["outcome"].setCurrentText("Erased")
        panel.bar.box._note()
        await until(lambda: panel.counted.text() == "2 erasures")
        await until(lambda: panel.detail.told is None and panel.model.listed(0) is not None)
        assert [texts(panel, place)[1:] for place in range(2)] == [
            ["", "", "—", "—", "", "1 erased"],
            ["", "", "—", "—", "", "2 erased"],
        ]
        press(panel, [Qt.Key.Key_Delete])
        panel.bar.box.clear()
        await until(lambda: panel.counted.text().startswith("1 record ·"))
        await bench.records.recorder.erase("k0")
        await until(lambda: panel.counted.text().startswith("0 records"))
        assert panel.counted.isVisible()

    drive(story)


def test_what_cannot_be_read_as_a_filter_is_marked_and_filters_nothing(qtbot, bench, drive):
    some(bench)

    async def story():
        panel = await shown(qtbot, bench, 4)
        line = panel.bar.box.confidence.lines[0]
        line.setText("much")
        panel.bar.box._note()
        assert line.property("invalid")
        assert line.toolTip() == "Write a number from 0 to 1."
        assert panel.bar.filters.text() == "Filters"

    drive(story)


def test_a_text_is_searched_in_all_that_a_record_says(qtbot, bench, drive):
    some(bench)

    async def story():
        panel = await shown(qtbot, bench, 4)
        QTest.keyClicks(panel.bar.text, "CAFÉ")
        QTest.keyClick(panel.bar.text, Qt.Key.Key_Return)
        await until(lambda: list(panel.model.rows) == [3])
        await until(lambda: panel.counted.text().startswith("1 of 4 records"))
        assert panel.table.row == 3
        put(bench, record(5, state={"data": ["another café"]}), record(6))
        await until(lambda: list(panel.model.rows) == [5, 3])
        assert panel.table.row == 3

    drive(story)


def test_a_search_can_be_stopped_and_keeps_what_it_found(qtbot, bench, drive, monkeypatch):
    put(bench, record(1))
    waiting = asyncio.Event()

    async def search(_self, _text, rows):
        yield list(rows), 0.4
        waiting.set()
        await asyncio.Event().wait()
        yield [], 1.0

    monkeypatch.setattr(RecordBrowser, "search", search)

    async def story():
        panel = await shown(qtbot, bench, 1)
        panel.bar.text.setText("x")
        panel.bar._give()
        await waiting.wait()
        assert panel.busy.text() == "1 record found, searched 40%"
        assert panel.cancel.isVisible()
        panel.cancel.click()
        await until(lambda: not panel.cancel.isVisible())
        assert panel.counted.text() == "1 record found before it was stopped"
        assert list(panel.model.rows) == [1]

    drive(story)


def test_the_least_sure_can_come_first(qtbot, bench, drive):
    put(bench, *(record(n, answers=(ChoiceAnswer("automatable", 1, s, (1 - s, s)),)) for n, s in _SURE))

    async def story():
        panel = await shown(qtbot, bench, 3)
        panel.bar.order.setCurrentIndex(1)
        panel.bar._give()
        await until(lambda: list(panel.model.rows) == [2, 3, 1])

    drive(story)


_SURE = ((1, 0.9), (2, 0.5), (3, 0.7))


# -- reviewing


def to_review(bench):
    put(bench, *(record(n, answers=(ChoiceAnswer("automatable", 1, s, (1 - s, s)),)) for n, s in _SURE))


async def reviewing(qtbot, bench):
    panel = await shown(qtbot, bench, 3)
    panel.bar.review.click()
    await until(lambda: list(panel.model.rows) == [2, 3, 1] and panel.counted.text().startswith("0 answers"))
    await until(lambda: panel._told is not None)
    return panel


def test_number_keys_confirm_the_right_answer_and_go_on(qtbot, bench, drive):
    to_review(bench)

    async def story():
        panel = await reviewing(qtbot, bench)
        panel.table.choose(0)
        await until(lambda: panel._told is not None)
        press(panel, "2")
        assert panel.table.row == 3
        await until(lambda: panel.counted.text() == "1 answer reviewed · 2 to review")
        assert (await read(bench, "decision-2")).confirmed == {"automatable": "yes"}
        await until(lambda: texts(panel, 0)[-1] == "✓ confirmed yes")
        assert list(panel.model.rows) == [2, 3, 1]
        await until(lambda: panel._told is not None)
        press(panel, "1")
        await until(lambda: panel.counted.text() == "2 answers reviewed · 1 to review")
        assert (await read(bench, "decision-3")).confirmed == {"automatable": "no"}

    drive(story)


def test_a_key_that_means_no_answer_does_nothing(qtbot, bench, drive):
    to_review(bench)

    async def story():
        panel = await reviewing(qtbot, bench)
        row = panel.table.row
        press(panel, "9")
        press(panel, "x")
        assert panel.table.row == row
        assert not panel._said

    drive(story)


def test_zero_says_that_it_should_have_been_unknown(qtbot, bench, drive):
    to_review(bench)

    async def story():
        panel = await reviewing(qtbot, bench)
        panel.table.choose(0)
        await until(lambda: panel._told is not None)
        press(panel, "0")
        await until(lambda: panel.counted.text().startswith("1 answer reviewed"))
        (said,) = (await read(bench, "decision-2")).outcomes
        assert (said.name, said.source) == ("should-be-unknown", "designer")

    drive(story)


def test_where_unknown_may_be_chosen_zero_confirms_it(qtbot, bench, drive):
    asked = AskedQuestion("choice", "Q?", {"no": None, "yes": None, "unknown": None})
    made = (ChoiceAnswer("automatable", 1, 0.5, (0.2, 0.6, 0.2)),)
    put(bench, record(1, questions={"automatable": asked}, answers=made))

    async def story():
        panel = await shown(qtbot, bench, 1)
        panel.bar.review.click()
        await until(lambda: panel.counted.text().startswith("0 answers") and panel._told is not None)
        press(panel, "0")
        await until(lambda: panel.counted.text().startswith("1 answer reviewed"))
        assert (await read(bench, "decision-1")).confirmed == {"automatable": "unknown"}

    drive(story)


def test_u_takes_back_what_was_said_last_and_goes_there(qtbot, bench, drive):
    to_review(bench)

    async def story():
        panel = await reviewing(qtbot, bench)
        panel.table.choose(0)
        await until(lambda: panel._told is not None)
        press(panel, "1")
        await until(lambda: panel.counted.text().startswith("1 answer reviewed"))
        press(panel, "u")
        await until(lambda: panel.counted.text() == "0 answers reviewed · 3 to review")
        assert panel.table.row == 2
        decision = await read(bench, "decision-2")
        assert not decision.confirmed
        assert decision.outcomes[-1].name == RETRACTED
        await until(lambda: texts(panel, 0)[-1] == "")

    drive(story)


def test_what_is_still_queued_is_undone_as_if_it_had_never_been(qtbot, bench, drive):
    to_review(bench)

    async def story():
        panel = await reviewing(qtbot, bench)
        outcome = Confirmed("decision-2", "designer", AT, {"automatable": "no"})
        await bench.records.ready()
        panel._said.append(outcome)
        waiting = asyncio.ensure_future(bench.records.recorder.add_outcome(outcome))
        await asyncio.sleep(0)
        assert bench.records.recorder.take_back(outcome)
        await waiting
        assert (await read(bench, "decision-2")).outcomes == ()

    drive(story)


def test_s_adds_a_signal(qtbot, bench, drive, monkeypatch):
    to_review(bench)

    async def ask(_parent):
        return "complaint", "by mail"

    monkeypatch.setattr(dialogs, "ask_signal", ask)

    async def story():
        panel = await reviewing(qtbot, bench)
        panel.table.choose(0)
        await until(lambda: panel._told is not None)
        press(panel, "s")
        await until(lambda: texts(panel, 0)[-1] == "complaint")
        (said,) = (await read(bench, "decision-2")).signals
        assert (said.name, said.note) == ("complaint", "by mail")
        press(panel, "u")
        await until(lambda: texts(panel, 0)[-1] == "")
        assert (await read(bench, "decision-2")).signals == ()

    drive(story)


def test_n_and_p_go_on_and_back_and_no_key_reaches_the_window(qtbot, bench, drive):
    to_review(bench)

    async def story():
        panel = await reviewing(qtbot, bench)
        panel.table.choose(0)
        press(panel, "nn")
        assert panel.table.row == 1
        press(panel, "np")
        assert panel.table.row == 3
        for key in "0123456789nNpPsSuU":
            assert panel.table._handler(_key(key)) is not None
        panel.table.reviewing = False
        assert panel.table._handler(_key("1")) is None

    drive(story)


def _key(text):
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QKeyEvent

    return QKeyEvent(QEvent.Type.KeyPress, ord(text.upper()), Qt.KeyboardModifier.NoModifier, text)


def test_a_click_on_an_answer_confirms_it_and_a_button_takes_it_back(qtbot, bench, drive):
    put(bench, record(1))

    async def story():
        panel = await shown(qtbot, bench, 1)
        press(panel, "1")
        assert not panel._said
        QTest.mouseClick(panel.detail.bars, Qt.MouseButton.LeftButton, pos=panel.detail.bars.rect().topLeft())
        await until(lambda: texts(panel, 0)[-1] == "✓ confirmed no")
        await until(panel.detail.buttons["back"].isEnabled)
        panel.detail.buttons["back"].click()
        await until(lambda: texts(panel, 0)[-1] == "")
        assert not (await read(bench, "decision-1")).confirmed

    drive(story)


def test_a_store_another_program_writes_to_is_read_only_and_says_so(qtbot, bench, drive):
    put(bench, record(1))
    told: list[str] = []
    bench.trouble.connect(told.append)

    async def story():
        with closing(open_store(bench.records.path)):
            panel = await shown(qtbot, bench, 1)
            QTest.mouseClick(
                panel.detail.bars, Qt.MouseButton.LeftButton, pos=panel.detail.bars.rect().topLeft()
            )
            await until(lambda: told)
            assert told[-1] == (
                "Another program is recording into this store: decisions made here are not recorded."
            )
        assert (await read(bench, "decision-1")).outcomes == ()

    drive(story)


def test_records_that_were_dropped_are_told_with_their_number(qtbot, bench, drive):
    async def story():
        for number in range(1_027):
            bench.records.recorder.record(record(number))
        await bench.records.recorder.flush()
        panel = await shown(qtbot, bench, 1_024)
        assert panel.counted.text() == "1,024 records · 1,024 to review · 3 not recorded"

    drive(story)


def test_names_that_look_like_markup_are_shown_as_they_are(qtbot, bench, drive):
    bad = '<img src="file:///dev/zero">'
    place = TreePlace(tree_id=bad, tree_version=1, execution_id=bad, node=bad, visit=1, transition=bad)
    question = {bad: AskedQuestion("choice", bad, {bad: None, "no": None})}
    answers = (ChoiceAnswer(bad, 0, 0.5, (0.5, 0.5)),)
    put(bench, record(served_model=bad, questions=question, answers=answers, tree=place, state=bad))

    async def story():
        panel = await shown(qtbot, bench, 1)
        labels = panel.findChildren(QLabel)
        assert {label.textFormat() for label in labels} == {Qt.TextFormat.PlainText}
        assert any(label.text() == bad for label in labels)
        assert panel.detail.state.toPlainText() == bad
        tips = [
            panel.model.index(0, column).data(Qt.ItemDataRole.ToolTipRole)
            for column in range(panel.model.columnCount())
        ]
        assert sum("&lt;img" in tip for tip in tips) == 4
        assert not any("<img" in tip for tip in tips)

    drive(story)


# -- the model by itself


def test_rows_that_differ_in_one_stretch_leave_the_rest_in_place(qapp):
    async def fetch(_rows):
        return ()

    model = RecordModel(fetch)
    said: list[object] = []
    model.rowsInserted.connect(lambda _, first, last: said.append(("in", first, last)))
    model.rowsRemoved.connect(lambda _, first, last: said.append(("out", first, last)))
    model.modelReset.connect(lambda: said.append("reset"))
    for rows in ([1, 2, 3], [9, 1, 2, 3], [9, 1, 3], [9, 1, 3], [9, 1, 3, 4], [4, 3], []):
        model.replace(rows)
        assert list(model.rows) == rows
    assert said == [("in", 0, 2), ("in", 0, 0), ("out", 2, 2), ("in", 3, 3), "reset", ("out", 0, 1)]


# -- words


def test_the_answer_a_run_followed_is_the_one_shown():
    assert answer_of(record()) == "yes"
    assert answer_of(record(tree=None)) == "yes"
    assert answer_of(record(tree=None, answers=None, error_kind="Timeout")) == "—"


@pytest.mark.parametrize(
    ("decision", "words", "tone"),
    [
        (RecordedDecision(record()), "", None),
        (RecordedDecision(record(), (confirmed("yes"),)), "✓ confirmed yes", "good"),
        (RecordedDecision(record(), (confirmed("yes"), confirmed("no"))), "✓ confirmed no", "bad"),
        (
            RecordedDecision(record(), (confirmed("no"), Signal("decision-1", "d", AT, RETRACTED))),
            "",
            None,
        ),
        (RecordedDecision(record(), (Signal("decision-1", "engine", AT, "paid"),)), "paid", "secondary"),
        (RecordedDecision(record(answers=None, error_kind="Timeout")), "no answer: Timeout", "bad"),
    ],
)
def test_what_became_of_a_decision_is_told_in_a_few_words(decision, words, tone):
    assert outcome_of(decision) == (words, tone)


def test_the_confirmation_with_the_later_time_stands():
    later, earlier = confirmed("yes", AT + timedelta(hours=1)), confirmed("no")
    assert RecordedDecision(record(), (later, earlier)).confirmed == {"automatable": "yes"}


@pytest.mark.parametrize("state", ["word " * 30_000, "x" * 150_000, "1\n" * 20_000, [1] * 20_000])
def test_of_a_huge_state_so_much_is_shown_that_the_window_does_not_wait(state):
    lines = state_of(record(state=state)).split("\n")
    assert lines[-1] == "… cut for display"
    assert len(lines) <= 5_001
    assert max(map(len, lines)) <= 1_001
    assert sum(map(len, lines)) > 5_000


def test_possible_answers_are_bars_with_the_given_and_the_confirmed_marked():
    assert bars_of(RecordedDecision(record(), (confirmed("no"),))) == (
        Bar("no", 0.44, False, True, "automatable", "no"),
        Bar("yes", 0.56, True, False, "automatable", "yes"),
    )
    noul = record(
        questions={"q": AskedQuestion("noul", "Is it?")}, answers=(NoulAnswer("q", 0.25, 0.5),), tree=None
    )
    assert [(bar.words, bar.share, bar.given, bar.right) for bar in bars_of(RecordedDecision(noul))] == [
        ("yes", 0.25, False, True),
        ("no", 0.75, True, False),
    ]
    score = record(
        questions={"s": AskedQuestion("score", "How much?", ["none", "some"])},
        answers=(ScoreAnswer("s", 1, 0.8, 0.6, (0.2, 0.8)),),
        tree=None,
    )
    assert [(bar.words, bar.given, bar.right) for bar in bars_of(RecordedDecision(score))] == [
        ("0 none", False, 0),
        ("1 some", True, 1),
    ]
    unanswered = record(answers=None, error_kind="Timeout")
    assert [bar.share for bar in bars_of(RecordedDecision(unanswered))] == [None, None]


def test_who_knows_no_probabilities_gave_one_answer_and_no_shares():
    place = replace(record().tree, probability_source="onehot")
    person = record(answers=(ChoiceAnswer("automatable", 1, 1.0, (0.0, 1.0)),), tree=place)
    assert [(bar.share, bar.given) for bar in bars_of(RecordedDecision(person))] == [
        (None, False),
        (None, True),
    ]
