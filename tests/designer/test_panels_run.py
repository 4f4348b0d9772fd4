"""Answers, budget, state and log: what a run shows while it goes on and when it is over."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from designer import theme
from designer.document import edits
from designer.document.document import Document
from designer.document.wording import ending
from designer.panels.log import LogPanel, lines_of
from designer.panels.meters import Meter, MetersPanel
from designer.panels.run import RunPanel
from designer.panels.state import StatePanel, latest_action
from designer.running import ListedRun, Recording, RunState
from designer.tasks import cancel_all
from engine import ActionCompleted, DataItem, Limits, NodeStarted, RunResult, RunStarted, TimeSpan
from engine.evaluate import Case
from tests.designer.drafts import triage
from tests.designer.waiting import until


@pytest.fixture
def document(bench) -> Document:
    made = Document(edits.remove_nodes(edits.set_start(triage(), "ask"), {"load"}))
    bench.add(made)
    return made


def shown(qtbot, panel):
    qtbot.addWidget(panel)
    panel.resize(320, 420)
    panel.show()
    return panel


@pytest.fixture
def drive(aloop, bench):
    """Run a story in the loop, and end the run after it."""

    def run(story):
        async def whole():
            try:
                await story()
            finally:
                bench.running.cancel()
                await bench.running.ended()
                await cancel_all()

        aloop.run_until_complete(whole())

    return run


async def key(panel, digit):
    panel.activateWindow()
    await until(panel.isActiveWindow)
    QTest.keyClick(panel, getattr(Qt.Key, f"Key_{digit}"))


def test_a_question_is_answered_with_a_number_key(qtbot, bench, document, drive):
    panel = shown(qtbot, RunPanel(bench))

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        assert panel.state.text() == "Waiting for your answer at ask."
        assert panel.question.toPlainText() == "Is it fine?"
        assert [button.objectName() for button in panel.answers] == [
            "answer.yes",
            "answer.no",
            "answer.unknown",
        ]
        assert [button.shortcut().toString() for button in panel.answers] == ["1", "2", "0"]
        await key(panel, "2")
        await until(lambda: bench.running.state is RunState.ENDED)
        assert bench.running.trail.result.verdict == "refused"
        assert panel.state.text() == "Ended with the verdict refused."
        assert panel.answers == []
        assert panel.source.isEnabled()

    drive(story)


def test_unknown_is_an_answer_too(qtbot, bench, document, drive):
    panel = shown(qtbot, RunPanel(bench))
    document.edit("Remove", lambda draft: edits.remove_nodes(draft, {"known"}))
    document.edit("Connect", lambda draft: edits.connect(draft, "ask", "unknown", "bad"))

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        panel.answers[-1].click()
        await until(lambda: bench.running.state is RunState.ENDED)
        assert bench.running.trail.result.had_unknown
        assert panel.state.text() == (
            "Ended with the verdict refused, after a question that got no allowed answer."
        )

    drive(story)


def test_it_says_why_a_tree_cannot_run(qtbot, bench, document):
    panel = shown(qtbot, RunPanel(bench))
    assert panel.state.text() == "Ready. Run to the end, or step from node to node."
    document.edit("Edit", lambda draft: edits.set_field(draft, "ask", "task", ""))
    document.check_now()
    assert panel.state.text() == "Fix the error under Problems first."


def test_answers_can_come_from_a_case(qtbot, bench, document, drive):
    panel = shown(qtbot, RunPanel(bench))
    bench.cases = (Case(id="<b>row 1</b>", answers={"ask": "yes"}),)
    bench.cases_changed.emit(bench.cases)
    assert panel.source.itemText(2) == "Case <b>row 1</b>"
    panel.source.setCurrentIndex(2)
    panel.source.activated.emit(2)
    assert bench.running.case is bench.cases[0]
    assert panel.pinned.text() == "1 of 1 question pinned"

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ENDED)
        assert panel.state.text() == "Ended with the verdict supported."

    drive(story)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outcome": "Terminal", "verdict": "ok"}, "Ended with the verdict ok."),
        (
            {"outcome": "BudgetExhausted", "exceeded": "llmCalls"},
            "Stopped by the limit of LLM calls, before a verdict.",
        ),
        ({"outcome": "Cancelled"}, "Stopped before a verdict, as you asked."),
        (
            {"outcome": "ValidationFailed", "failure_kind": "llm", "error": "Time-out."},
            "Stopped: the model could not be asked. Time-out.",
        ),
        (
            {"outcome": "ValidationFailed", "failure_kind": "validation", "error": "No start."},
            "Stopped: No start.",
        ),
    ],
)
def test_an_ending_is_told_in_a_sentence(changes, words):
    usual = dict.fromkeys(RunResult.__dataclass_fields__)
    assert ending(RunResult(**{**usual, **changes})) == words


@pytest.mark.parametrize(
    ("value", "limit", "ended", "tone"),
    [
        (0, 10, False, "accent"),
        (7, 10, False, "accent"),
        (8, 10, False, "warn"),
        (10, 10, False, "warn"),
        (10, 10, True, "bad"),
        (0, 0, False, "accent"),
        (3, 0, False, "warn"),
    ],
)
def test_a_meter_turns_amber_at_80_percent_and_red_when_it_ended_the_run(qtbot, value, limit, ended, tone):
    meter = shown(qtbot, Meter("llmCalls", "LLM calls"))
    meter.show_reading(value, limit, ended=ended)
    meter.resize(200, 34)
    assert meter.tone == tone
    assert meter.accessibleName().startswith(f"LLM calls: {value} of {limit}")
    bar = meter.grab().toImage().pixelColor(3, 26).name().upper()
    if value:
        assert bar == getattr(theme.tokens(), tone).upper()


def test_before_a_run_the_meters_show_the_limits(qtbot, bench, document):
    panel = shown(qtbot, MetersPanel(bench))
    document.edit("Budget", lambda draft: edits.set_budget(draft, "maxLlmCalls", 3))
    document.edit("Budget", lambda draft: edits.set_budget(draft, "maxElapsedTime", TimeSpan.of_seconds(30)))
    meters = {m.objectName(): (m.value, m.limit) for m in panel.findChildren(Meter)}
    assert meters == {
        "meter.nodeVisits": (0, 20),
        "meter.llmCalls": (0, 3),
        "meter.elapsed": (0, 30),
        "meter.contextTokens": (0, 4000),
    }
    assert "limits of the next run" in panel.sentence.text()


def test_the_meters_count_and_say_which_limit_ended_the_run(qtbot, bench, document, drive):
    panel = shown(qtbot, MetersPanel(bench))
    document.edit("Budget", lambda draft: edits.set_budget(draft, "maxNodeVisits", 1))

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        assert panel.sentence.text() == (
            "Waiting for your answer: the clock is stopped. Room for 10 more LLM calls and 0 node visits."
        )
        bench.running.answer("yes")
        await until(lambda: bench.running.state is RunState.ENDED)
        assert panel.meters["nodeVisits"].tone == "bad"
        assert panel.meters["llmCalls"].value == 1
        assert panel.sentence.text() == "The limit of node visits ended the run."

    drive(story)


def test_another_document_shows_its_own_limits_and_not_the_run(qtbot, bench, document, drive):
    panel = shown(qtbot, MetersPanel(bench))

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        assert panel.meters["nodeVisits"].value == 1
        bench.add(Document(triage()))
        assert panel.meters["nodeVisits"].value == 0

    drive(story)


def stamp():
    return {"execution_id": "run", "at": datetime(2026, 11, 2, 8, 15, 30, tzinfo=UTC)}


def acted(**changed):
    return ActionCompleted(
        node="load",
        visit=1,
        name=None,
        action_key="load",
        status="success",
        summary=None,
        error=None,
        produced=(),
        changed=changed,
        **stamp(),
    )


def started(node):
    return NodeStarted(node=node, type="action", visit=1, **stamp())


def begun(document):
    return RunStarted(
        tree=document.draft.tree,
        tree_hash="",
        limits=Limits(),
        parameters={},
        properties={},
        data=(),
        **stamp(),
    )


def test_only_what_the_latest_step_did_is_marked():
    done = acted(order="1")
    assert latest_action([started("a"), done]) == done
    assert latest_action([started("a"), done, started("b")]) is None
    assert latest_action([]) is None


def test_state_and_data_are_shown_as_plain_text(qtbot, bench, document):
    panel = shown(qtbot, StatePanel(bench))
    assert panel.currentWidget() is panel.empty
    running = bench.running
    item = DataItem("d1", "shop", "order", "two\nlines " + "x" * 5000)
    recording = Recording([begun(document), started("load"), acted(order="<b>5</b>", gone=None)])
    running.show_run(ListedRun(document, recording=recording))
    order, gone = panel.properties.rows
    assert (order.name, order.value, order.mark) == ("order", "<b>5</b>", "changed")
    assert (gone.name, gone.value, gone.mark) == ("gone", "", "removed")
    for _ in range(2):  # of one id, as data may be
        recording.add(started("load"))
        recording.add(replace(acted(), produced=(item,)))
        running.trail_changed.emit(running.trail)
    assert [row.name for row in panel.properties.rows] == ["order"]
    assert [row.mark for row in panel.data.rows] == ["", "added"]
    assert panel.data.model().index(1, 2).data().startswith("two lines xxx")
    assert len(panel.data.model().index(1, 2).data()) <= 300


def test_the_log_tells_a_run_line_by_line(qtbot, bench, document, drive):
    panel = shown(qtbot, LogPanel(bench))
    assert panel.currentWidget() is panel.empty

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        bench.running.answer("yes")
        await until(lambda: bench.running.state is RunState.ENDED)
        assert [(line.title, line.text) for line in panel.table.rows] == [
            ("", "Started triage, version 1"),
            ("ask", "yes → supported"),
            ("supported", "Verdict supported"),
            ("", "Ended with the verdict supported."),
        ]

    drive(story)


def test_the_log_tells_how_an_action_went():
    (line,) = lines_of([acted()])
    assert (line.node, line.text, line.tone) == ("load", "load: done", None)


def test_a_run_that_was_stopped_is_told_the_same_everywhere(qtbot, bench, document, drive):
    panel, log = shown(qtbot, RunPanel(bench)), shown(qtbot, LogPanel(bench))

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        bench.running.cancel()
        await until(lambda: bench.running.state is RunState.ENDED)
        assert panel.state.text() == log.table.rows[-1].text == "Stopped before a verdict, as you asked."

    drive(story)


@pytest.mark.parametrize("height", [360, 700])
def test_five_answers_are_in_sight_and_a_long_question_scrolls(qtbot, bench, document, drive, height):
    panel = shown(qtbot, RunPanel(bench))
    answers = ["a", "b", "c", "d", "e"]
    document.edit("Edit", lambda draft: edits.set_answers(draft, "ask", answers))
    document.edit("Edit", lambda draft: edits.set_field(draft, "ask", "task", "Words and more words. " * 200))
    for answer in answers:
        document.edit("Connect", lambda draft, a=answer: edits.connect(draft, "ask", a, "good"))
    document.edit("Connect", lambda draft: edits.connect(draft, "ask", "e", "bad"))
    panel.resize(260, height)

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        await until(lambda: panel.answers and panel.answers[-1].isVisible())
        for button in panel.answers:
            assert button.visibleRegion().boundingRect().height() == button.height() >= 28
        assert panel.question.verticalScrollBar().maximum() > 0
        assert not panel.question.horizontalScrollBar().isVisible()
        assert panel.minimumSizeHint().height() <= 360

    drive(story)


def test_a_long_answer_is_shown_in_full(qtbot, bench, document, drive):
    panel = shown(qtbot, RunPanel(bench))
    document.edit("Edit", lambda draft: edits.set_answers(draft, "ask", ["many words " * 20, "no"]))

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        await until(lambda: panel.answers[0].height() > 3 * panel.answers[1].height())

    drive(story)


def test_the_texts_of_a_tree_get_their_inputs(qtbot, bench, document, drive):
    panel = shown(qtbot, RunPanel(bench))
    assert panel.inputs.isHidden()
    document.edit("Edit", lambda draft: edits.set_field(draft, "ask", "task", "Is {{order}} fine?"))
    field = panel.findChild(QWidget, "field.input.order")
    assert field.placeholderText() == "Nothing is given yet"
    field.setPlainText("number 5")
    other = Document(triage())
    bench.add(other)
    assert bench.parameters == {}
    bench.show_document(document)
    assert bench.parameters == {"order": "number 5"}
    assert panel.findChild(QWidget, "field.input.order").toPlainText() == "number 5"

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        assert bench.running.question.text == "Is number 5 fine?"

    drive(story)


def test_what_a_case_gives_goes_before_and_is_not_asked_for(qtbot, bench, document, drive):
    panel = shown(qtbot, RunPanel(bench))
    document.edit("Edit", lambda draft: edits.set_field(draft, "ask", "task", "Is {{order}} fine?"))
    bench.set_parameter("order", "mine")
    bench.running.choose_case(Case(id="c", params={"order": "its own"}))
    assert panel.inputs.isHidden()

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        assert bench.running.question.text == "Is its own fine?"

    drive(story)


def test_a_folder_can_be_trusted_where_its_code_is_missing(qtbot, bench, tmp_path, drive):
    (tmp_path / "treewright.json").write_text('{"format": 1, "catalog": ["own.py"]}')
    (tmp_path / "own.py").write_text("from engine import Catalog\n\n\ndef catalog():\n    return Catalog()\n")
    path = tmp_path / "tree.json"
    Document(triage()).save(path)
    panel = shown(qtbot, RunPanel(bench))
    assert not panel.trust.isVisible()
    bench.add(Document.open(path))
    assert panel.trust.isVisible()

    async def story():
        panel.trust.click()
        await until(lambda: panel.findChildren(QDialog))
        (dialog,) = panel.findChildren(QDialog)
        dialog.findChild(QPushButton, "button.trust").click()
        await until(lambda: not panel.trust.isVisible())
        assert bench.settings.trusted_folders == (tmp_path,)

    drive(story)


def test_names_of_meters_give_way_to_their_numbers(qtbot):
    meter = shown(qtbot, Meter("elapsed", "Elapsed", " s"))
    meter.show_reading(0.04, 1800)
    meter.resize(120, 34)
    assert not meter.grab().isNull()


@pytest.mark.parametrize("kind", [MetersPanel, RunPanel])
def test_with_no_tree_open_the_panels_say_so(qtbot, bench, kind):
    panel = shown(qtbot, kind(bench))
    assert panel.currentWidget() is panel.empty
    assert panel.empty.text.startswith("No tree is open")


@pytest.mark.parametrize("kind", [MetersPanel, RunPanel, StatePanel])
def test_panels_at_the_right_are_not_made_too_narrow(qtbot, bench, kind):
    assert shown(qtbot, kind(bench)).minimumWidth() == 260
