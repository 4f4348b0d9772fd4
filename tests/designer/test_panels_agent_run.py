"""The panel of agents: what one did inside a node, turn by turn, live, looked back at, and from a log."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QPushButton

from designer import theme
from designer.panels.agent_run import AgentRunPanel
from designer.panels.agent_run.detail import PREVIEW, Detail, told
from designer.panels.agent_run.lines import LinesView
from designer.panels.agent_run.story import NoteLine, Stories
from designer.running import ListedRun, Recording, RunState
from designer.tasks import cancel_all
from engine import Limits, NodeStarted, RunStarted, SubRunEvent
from engine.agent import (
    AgentRequest,
    AgentRunStarted,
    GateResult,
    IdempotentToolExecutor,
    LlmCallCompleted,
    LlmCalled,
    ModelChunk,
    Progressed,
    ToolCall,
    ToolCompleted,
    ToolInvocation,
    ToolResult,
    ToolStarted,
    TurnStarted,
)
from engine.evaluate import read_run_log, write_run_log
from engine.llm import Completion
from tests.designer.agents_in_trees import TREE, document_of
from tests.designer.waiting import until
from tests.engine.agents import Remembers, agent, calls
from tests.engine.deciding import unavailable

LOOKS = calls(("lookup", {"plan": "Pro"}), content="Let me see.")
UNAPPROVED = "This tool needs an approval, which was not given."
ANSWER = Completion("It is 5 EUR.", "stop", input_tokens=1200, output_tokens=34)


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


@pytest.fixture
def panel(qtbot, bench):
    made = AgentRunPanel(bench)
    qtbot.addWidget(made)
    made.resize(1100, 320)
    made.show()
    return made


def looking(*replies, tools=(), **more):
    """An agent with one tool that looks prices up, and these replies of its model."""
    return agent(replies or (LOOKS, ANSWER), tools=tools or (Remembers("lookup", "5 EUR a month"),), **more)


def told_in(panel, parent=QModelIndex()):  # noqa: B008  (the invisible root)
    """The lines on show, each with those below it."""
    model = panel.lines.model()
    return [
        (
            f"{model.index(row, 0, parent).data()}: {model.index(row, 1, parent).data()}",
            *(
                [told_in(panel, model.index(row, 0, parent))]
                if model.rowCount(model.index(row, 0, parent))
                else []
            ),
        )
        for row in range(model.rowCount(parent))
    ]


async def ended(bench, document):
    bench.running.start(document)
    await until(lambda: bench.running.state is RunState.ENDED)


def inks(panel):
    """The colours of the names of the top level."""
    model, role = panel.lines.model(), Qt.ItemDataRole.ForegroundRole
    found = [model.index(row, 0).data(role) for row in range(model.rowCount())]
    return [ink.name() if ink else None for ink in found]


def test_before_any_agent_the_panel_says_what_it_is_for(panel):
    assert panel.currentWidget() is panel.empty
    assert "what it does is told here, turn by turn" in panel.empty.text


def test_each_way_a_call_can_go_is_told(panel, bench, drive):
    tools = (
        Remembers("lookup", "5 EUR a month"),
        Remembers("fails", ToolResult(error="no such page")),
        Remembers("guarded", requires_approval=True),
        Remembers("hidden"),
    )
    twice = ("lookup", {"plan": "Pro"})
    asks: list[Any] = [twice, twice, "fails", "guarded", "hidden", "nothing"]
    made = looking(calls(*asks), ANSWER, tools=tools, executor=IdempotentToolExecutor())
    allowed = ["lookup", "fails", "guarded", "nothing"]

    async def story():
        document = document_of(bench, made, allowed_tools=allowed)
        bench.running.run_to(document, "again")
        await until(lambda: bench.running.state is RunState.PAUSED)
        assert told_in(panel) == [
            (
                "Turn 1: calls lookup, lookup, fails, guarded, hidden, nothing (4 calls without success)",
                [
                    ("Model own-model: asks for lookup, lookup, fails, guarded, hidden, nothing",),
                    ('Tool lookup: 5 EUR a month, for {"plan": "Pro"}',),
                    ('Tool lookup: known from before, not used again: 5 EUR a month, for {"plan": "Pro"}',),
                    ("Tool fails: failed: no such page",),
                    (f"Tool guarded: not used, because nobody approved it: {UNAPPROVED}",),
                    ("Tool hidden: not used, because this run may not use it",),
                    ("Tool nothing: not used, because this agent has no such tool",),
                ],
            ),
            ("Turn 2: It is 5 EUR.", [("Model own-model: It is 5 EUR.",)]),
            ("Result: It is 5 EUR.",),
        ]
        assert panel.totals.text() == (
            "Done  ·  2 of 8 turns  ·  2 of 10 LLM calls  ·  2 tool uses  ·  1,200 tokens in, 34 out  ·  "
            "0.0 of 600 s"
        )

    drive(story)


class SendsBack:
    name = "cites"

    def __init__(self):
        self.left = 1

    async def evaluate(self, _context, _result):
        self.left -= 1
        return GateResult(self.left < 0, retry=True, reason="Name the source.")


def test_failover_and_a_check_that_sends_the_result_back_are_told(panel, bench, drive):
    settings = {"model": "first", "model_fallback_chain": ("second",), "enable_model_failover": True}
    made = looking(unavailable(), "It is 5.", ANSWER, settings=settings, gates=(SendsBack(),))

    async def story():
        document = document_of(bench, made)
        bench.running.run_to(document, "again")
        await until(lambda: bench.running.state is RunState.PAUSED)
        turns = told_in(panel)
        assert turns[0][1] == [
            ("Model first: Failed: HTTP 503",),
            ("second goes on for first: HTTP 503",),
            ("Model second: It is 5.",),
        ]
        assert [line[0] for line in turns[1:]] == [
            "Sent back by the check 'cites': Name the source.",
            "Turn 1, round 2: It is 5 EUR.",
            "Result: It is 5 EUR.",
        ]
        assert "2 of 16 turns  ·  2 of 10 LLM calls" in panel.totals.text()

    drive(story)


def test_a_failure_is_told_in_plain_words(panel, bench, drive):
    async def story():
        await ended(bench, document_of(bench, looking(LOOKS, settings={"max_turns": 1})))
        assert told_in(panel)[-1][0].startswith("Failed: no turn is left: Exhausted 1 turns")
        assert panel.totals.text().startswith("Not done  ·  1 of 1 turns")

    drive(story)


def test_each_agent_of_a_run_can_be_chosen_and_the_newest_is_shown(panel, bench, drive):
    async def story():
        await ended(bench, document_of(bench, looking, lambda: looking("Six.")))
        names = [panel.chooser.itemText(row) for row in range(panel.chooser.count())]
        assert names == ["Look it up: default", "2. Look once more: default"]
        assert told_in(panel)[-1][0] == "Result: Six."
        panel.chooser.activated.emit(0)
        assert told_in(panel)[-1][0] == "Result: It is 5 EUR."

    drive(story)


def stands(running, phase):
    return running.inside and running.inside[-1].phase == phase


def test_where_the_run_is_paused_inside_is_marked(panel, bench, drive):
    async def story():
        document = document_of(bench, looking())
        running = bench.running
        running.step(document)
        await until(lambda: running.state is RunState.PAUSED)
        for phase, words in (("beforeTool", "before a tool is used"), ("afterTool", "after a tool was used")):
            running.step_into(document)
            await until(partial(stands, running, phase))
            assert panel.totals.text().startswith(f"Paused {words}  ·  1 of 8 turns")
            assert panel.lines.line.name == "Tool lookup"
            spoken = panel.lines.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)
            assert spoken == "Tool lookup, the run waits here"
        running.step_out()
        await until(lambda: running.inside == () and running.state is RunState.PAUSED)
        assert panel.totals.text().startswith("Done")
        assert theme.tokens().accent not in inks(panel)

    drive(story)


def test_at_a_past_moment_what_came_later_steps_back_and_totals_are_those_of_the_moment(panel, bench, drive):
    async def story():
        await ended(bench, document_of(bench, looking))
        running, pale = bench.running, theme.faint(theme.tokens())
        assert inks(panel) == [None, None, None]
        running.go_to_step(0)
        await until(lambda: panel.totals.text() == "It has not begun at the shown step.")
        assert panel.chooser.currentText() == "Look it up: default"
        assert inks(panel) == [pale, pale, pale]
        first = panel.lines.model().index(0, 0)
        panel.lines.clicked.emit(first)

        await until(
            lambda: panel.totals.text().startswith("At the shown moment  ·  1 of 8 turns  ·  1 of 10")
        )
        assert (running.past, running.at, running.document.selection) == (True, "look", {"look"})
        assert inks(panel) == [None, pale, pale]
        running.live()
        await until(lambda: panel.chooser.currentIndex() == 1)

    drive(story)


def test_a_reopened_log_tells_the_same(panel, bench, drive, tmp_path):
    async def story():
        document = document_of(bench, lambda: looking(gates=(SendsBack(),), settings={"max_turns": 3}))
        await ended(bench, document)
        live = told_in(panel), panel.totals.text()
        bench.running.save_log(tmp_path / "run.jsonl")
        bench.running.forget()
        assert panel.currentWidget() is panel.empty
        log = read_run_log(tmp_path / "run.jsonl")
        bench.running.show_log(document, log, "run.jsonl")
        bench.running.live()
        await until(lambda: (told_in(panel), panel.totals.text()) == live)
        write_run_log(tmp_path / "again.jsonl", log)
        assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes()

    drive(story)


def test_the_keyboard_opens_turns_and_copies_lines(panel, bench, drive):
    async def story():
        await ended(bench, document_of(bench, looking()))
        panel.chooser.activated.emit(0)
        view = panel.lines
        view.setCurrentIndex(view.model().index(0, 0))
        QTest.keyClick(view, Qt.Key.Key_Return)
        assert view.isExpanded(view.model().index(0, 0))
        QTest.keyClick(view, Qt.Key.Key_Down)
        QTest.keyClick(view, Qt.Key.Key_Down)
        assert view.line.name == "Tool lookup"
        QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        copied = 'Tool lookup\n{"plan": "Pro"}\n\nResult\n5 EUR a month'
        assert QGuiApplication.clipboard().text() == copied
        assert panel.detail.text.toPlainText() == copied
        QTest.keyClick(view, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        assert (bench.running.past, bench.running.at) == (True, "look")
        QTest.keyClick(view, Qt.Key.Key_Left)
        QTest.keyClick(view, Qt.Key.Key_Return)
        assert not view.isExpanded(view.model().index(0, 0))

    drive(story)


# ------------------------------------------------------------------------------------ made of events


class Telling:
    """The events of a run whose action is an agent, one after the other."""

    def __init__(self, document):
        self.at = datetime(2026, 11, 2, 8, 15, 30, tzinfo=UTC)
        self.started = RunStarted("run", self.at, TREE, "", Limits(), {}, {}, ())
        self.recording = Recording([self.started, NodeStarted("run", self.at, "look", "action", 1)])
        self.run = ListedRun(document, recording=self.recording)
        self.tell(AgentRunStarted, "shop", AgentRequest("What does it cost?"))

    def tell(self, kind, *more):
        self.add(SubRunEvent("run", self.at, "look", 1, kind("inner", self.at, *more)))

    def add(self, event):
        self.recording.add(event)

    def turn(self, number, result):
        call = ToolCall(f"c{number}", "lookup", "{}")
        self.tell(TurnStarted, number, 1)
        self.tell(LlmCalled, "m", number, 1)
        self.tell(LlmCallCompleted, "m", number, 1, 0.5, Completion(None, "tool_calls", tool_calls=(call,)))
        self.tell(Progressed, "  [m] Decision: lookup", call.id)
        self.tell(ToolStarted, "lookup", ToolInvocation("lookup"))
        self.tell(ToolCompleted, "lookup", ToolResult(result), 0.25)
        self.tell(Progressed, "  lookup succeeded", call.id)


def test_what_a_model_says_is_shown_as_it_comes(panel, bench):
    telling = Telling(document_of(bench, looking()))
    telling.tell(TurnStarted, 0, 1)
    telling.tell(LlmCalled, "m", 0, 1)
    bench.running.show_run(telling.run)
    assert told_in(panel)[0][0] == "Turn 1: is asked…"
    for piece in ("It ", "is ", "<b>5</b>"):
        telling.tell(ModelChunk, piece, 0, False)
        bench.running.trail_changed.emit(bench.running.trail)
    assert told_in(panel)[0][0] == "Turn 1: It is <b>5</b>"
    assert panel.detail.text.toPlainText() == "Model m\nIt is <b>5</b>"
    telling.tell(ModelChunk, " and so on" * 100, 0, False)
    bench.running.trail_changed.emit(bench.running.trail)
    assert told_in(panel)[0][0].startswith("Turn 1: …")
    assert told_in(panel)[0][0].endswith(" and so on")


def test_an_agent_within_a_tree_that_runs_within_is_named_by_both_nodes(panel, bench):
    telling = Telling(document_of(bench, looking()))
    inner = replace(telling.started, tree=TREE.replace(tree_id="inner"), execution_id="middle")
    telling.add(SubRunEvent("run", telling.at, "look", 2, inner))
    agents = AgentRunStarted("deep", telling.at, "clerk", AgentRequest("What?"))
    telling.add(
        SubRunEvent("run", telling.at, "look", 2, SubRunEvent("middle", telling.at, "again", 1, agents))
    )
    bench.running.show_run(telling.run)
    assert panel.chooser.currentText() == "2. Look it up, visit 2 > Look once more: clerk"
    assert panel.totals.text().startswith("Its record ends here  ·  0 turns")


def test_lines_that_come_later_join_those_that_are_there(panel, bench):
    telling = Telling(document_of(bench, looking()))
    telling.turn(0, "one")
    bench.running.show_run(telling.run)
    assert panel.lines.line.name == "Turn 1"
    for number in range(1, 5):
        telling.turn(number, "more")
        bench.running.trail_changed.emit(bench.running.trail)
        assert panel.lines.line.name == f"Turn {number + 1}"
    view = panel.lines
    view.setCurrentIndex(view.model().index(1, 0))
    telling.turn(5, "later")
    bench.running.trail_changed.emit(bench.running.trail)
    assert (view.line.name, view.model().rowCount()) == ("Turn 2", 6)
    assert all(view.model().rowCount(view.model().index(row, 0)) == 2 for row in range(6))


def test_growing_line_by_line_keeps_to_the_rules_of_models(qtbot):
    view, telling, stories = LinesView(), Telling(None), Stories()
    qtbot.addWidget(view)
    # A rule that is broken is a warning of Qt, which fails the test.
    checks = QAbstractItemModelTester(view.model(), QAbstractItemModelTester.FailureReportingMode.Warning)
    for number in range(12):
        telling.turn(number, "more")
        while stories.hear(telling.recording.events, 1 + number % 4):
            view.show_story(stories.stories[0] if stories.stories else None, 0, ())
    view.show_story(None, 0, ())
    assert checks.model() is view.model()


def test_a_long_text_is_shown_in_part_and_whole_where_it_is_wanted(panel, bench):
    telling, long = Telling(document_of(bench, looking())), "x" * 1_000_000
    telling.turn(0, long)
    bench.running.show_run(telling.run)
    turn = panel.lines.model().index(0, 0)
    panel.lines.setCurrentIndex(panel.lines.model().index(1, 0, turn))
    detail, more = panel.detail, panel.findChild(QPushButton, "button.showAll")
    assert len(detail.text.toPlainText()) < PREVIEW * 1.1
    assert detail.cut.text() == "Shown in part; 1,000,023 characters in all"
    more.click()
    assert detail.text.toPlainText().replace("\n", "").endswith(long)
    assert (more.isVisible(), detail.cut.text()) == (False, "")
    panel.findChild(QPushButton, "button.copyAgent").click()
    assert QGuiApplication.clipboard().text().endswith(f"Result\n{long}")


def test_of_a_turn_each_text_is_shown_in_part():
    stories, telling = Stories(), Telling(None)
    telling.turn(0, "y" * 5000)
    assert not stories.hear(telling.recording.events, 1000)
    (turn,) = stories.stories[0].lines
    part, length = told(turn, PREVIEW)
    assert len(part) < 2200
    assert length > 5000


def test_many_events_are_taken_in_little_by_little():
    stories, telling = Stories(), Telling(None)
    for number in range(10):
        telling.turn(number, "z")
    assert stories.hear(telling.recording.events, 40)
    assert len(stories.stories[0].lines) == 6
    assert not stories.hear(telling.recording.events, 40)
    assert len(stories.stories[0].lines) == 10


def test_a_text_with_markup_is_shown_as_it_is(qtbot):
    detail = Detail()
    qtbot.addWidget(detail)
    detail.show_line(NoteLine(1, 1, ("check", "good"), told=(("Result", "<h1>5</h1>"),)))
    assert detail.text.toPlainText() == "Result\n<h1>5</h1>"
