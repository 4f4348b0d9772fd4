"""What is seen of a run at each moment: state, requests, bars, meters and strip; and that nothing moves."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QDialog, QLabel, QPlainTextEdit, QPushButton, QSlider, QWidget

from designer import dialogs
from designer.panels.log import Line, LogPanel
from designer.panels.meters import Meter
from designer.panels.requests import RequestsPanel
from designer.panels.requests import Row as Request
from designer.panels.runs import Row, RunsPanel
from designer.panels.state import Item, Property, StatePanel
from designer.running import RunState
from engine import (
    ActionResult,
    Budget,
    DataItem,
    Decider,
    Decision,
    Event,
    Inputs,
    NodeId,
    Question,
    Session,
    TextDecider,
    standard_catalog,
)
from engine.evaluate import RunLog, write_run_log
from engine.llm import Completion
from tests.builders import action, as_bytes, as_json, classify, terminal, tree
from tests.engine.deciding import FakeClient
from tests.engine.runs import Does, VirtualClock
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_debugging import answer, asked_at, crumbs, look_at, paused_at, words
from tests.journeys.test_debugging_breakpoints import choose
from tests.journeys.test_editing import key

_Panel = TypeVar("_Panel", bound=QWidget)

METERS = ("nodeVisits", "llmCalls", "elapsed", "contextTokens")
CODE = """
from engine import ActionResult, action

@action("fetchOrder")
async def fetch(context):
    return ActionResult(properties={"amount": "7"})
"""
ORDER = DataItem("order-1", "shop", "order", "An order of 120.")
READING = tree(
    load=action("fetchOrder", success="size", transient="size", permanent="lost"),
    size=classify("Is {{what}} large?", {"yes": "sure", "no": "refuse"}, unknown="lost"),
    sure=classify("Are you sure?", {"yes": "pay", "no": "size"}, unknown="lost"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    lost=terminal("lost"),
).replace(budget=Budget(max_node_visits=10, max_llm_calls=5, max_context_tokens=330))
QUESTIONS = READING.replace(
    start_node_id="size", nodes={i: node for i, node in READING.nodes.items() if i != "load"}
)


class Weighing:
    """A decider that says how likely each answer is."""

    def for_run(self) -> "Weighing":
        return self

    async def decide(self, question: Question) -> Decision:
        return Decision("yes", probabilities=(0.7, 0.2, 0.1), provider="scorer")


def write_log(path: Path, decider: Decider) -> None:
    """Record a run as another computer would: with its own action, clock and model."""
    events: list[Event] = []
    found = ActionResult(data=(ORDER,), properties={"amount": "120"})
    session = Session(
        clock=VirtualClock(),
        catalog=standard_catalog().with_actions([Does("fetchOrder", found)]),
        decider=decider,
    )
    inputs = Inputs(parameters={"what": "the order"}, properties={"who": "Ada"})
    asyncio.run(session.start(READING, inputs, observers=[events.append]).finish())
    write_run_log(path, RunLog(tuple(events)))


@pytest.fixture
def reading(tmp_path: Path) -> Path:
    path = tmp_path / "reading.json"
    path.write_bytes(as_bytes(as_json(READING)))
    return path


@pytest.fixture
def read_log(tmp_path: Path) -> Path:
    """A run whose model gave two replies that could not be used, in a context that is small."""
    path = tmp_path / "read.jsonl"
    replies = ["large", '{"answer": "yes"}', '{"answer": "perhaps"}', '{"answer": "yes"}']
    write_log(path, TextDecider(FakeClient([Completion(reply) for reply in replies])))
    return path


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The run logs the person picks, in turn."""
    picked: list[Path] = []

    async def ask_open(*_: object) -> Path:
        return picked.pop(0)

    monkeypatch.setattr(dialogs, "ask_open", ask_open)
    return picked


async def open_log(person: Driver) -> None:
    assert person.window.run_command("run.open-log")
    await until(lambda: person.running.shown is not None)


def panel(person: Driver, kind: type[_Panel]) -> _Panel:
    (found,) = person.window.findChildren(kind)
    return found


def marks(person: Driver) -> dict[str, str]:
    """What the panel State says of each property and data item."""
    state = panel(person, StatePanel)
    properties = {row.name: row.mark for row in state.properties.rows if isinstance(row, Property)}
    return properties | {row.item.id: row.mark for row in state.data.rows if isinstance(row, Item)}


def asked(person: Driver) -> list[tuple[str, int, int, int]]:
    """Of each request the question, its try, its tokens and how many messages were left out."""
    rows = [row for row in panel(person, RequestsPanel).table.rows if isinstance(row, Request)]
    attempts = [(row.title, row.event.attempt) for row in rows]
    return [(title, a.number, a.prepared_tokens, a.dropped_messages) for title, a in attempts]


def meter(person: Driver, name: str) -> Meter:
    return person.seen(Meter, f"meter.{name}")


def sentence(person: Driver) -> str:
    return person.seen(QLabel, "meters.sentence").text()


def spot(person: Driver, node: NodeId) -> tuple[QPoint, QSize]:
    """Where a card stands on the screen, and the size of the window."""
    canvas = person.window.canvas
    corner = canvas.mapFromScene(person.card(node).sceneBoundingRect().topLeft())
    return canvas.viewport().mapToGlobal(corner), person.window.size()


def test_state_and_data_show_the_moment_and_what_its_latest_step_did(travel, reading, read_log, opening):
    opening.append(read_log)

    async def journey(person: Driver) -> None:
        await open_log(person)
        await person.show("state")
        seen = []
        for step in range(5):
            await look_at(person, step)
            seen.append(marks(person))
        assert seen == [
            {"who": ""},
            {"who": "", "amount": "changed", "order-1": "added"},
            *[{"who": "", "amount": "", "order-1": ""}] * 3,
        ]

    travel(journey, reading)


def test_requests_show_what_was_sent_left_out_and_came_back_until_the_moment(
    travel, reading, read_log, opening
):
    opening.append(read_log)

    async def journey(person: Driver) -> None:
        await open_log(person)
        await person.show("requests")
        await look_at(person, 2)
        assert asked(person) == [("size", 1, 75, 0), ("size", 2, 170, 0)]
        await look_at(person, 4)
        assert asked(person)[2:] == [("sure", 1, 251, 0), ("sure", 2, 306, 1)]
        requests = panel(person, RequestsPanel)
        shown = [requests.table.model().index(row, column).data() for row in (0, 3) for column in (3, 4)]
        assert shown == ["", "Not used, it is no JSON: large", "1 left out", '{"answer": "yes"}']
        requests.table.choose(2)
        text = person.seen(QPlainTextEdit, "requests.text").toPlainText()
        row = requests.table.row
        assert isinstance(row, Request)
        assert all(message.content in text for message in row.event.attempt.messages)
        assert "order-1 [order] from shop: An order of 120." in text
        assert text.endswith(
            'Reply\n{"answer": "perhaps"}\n\nNot used\n'
            "The reply could not be used: its answer is none of the allowed ones."
        )
        told = [line.text for line in panel(person, LogPanel).table.rows if isinstance(line, Line)]
        assert "The reply could not be used: it is no JSON" in told

    travel(journey, reading)


def test_meters_are_those_of_the_moment_with_a_mark_from_four_fifths_on(travel, reading, read_log, opening):
    opening.append(read_log)

    async def journey(person: Driver) -> None:
        await open_log(person)
        await person.show("meters")
        await look_at(person, 2)
        read = [(meter(person, name).value, meter(person, name).tone) for name in METERS]
        assert read == [(2, "accent"), (2, "accent"), (0, "accent"), (170, "accent")]
        await look_at(person, 3)
        read = [(meter(person, name).value, meter(person, name).tone) for name in METERS]
        assert read == [(3, "accent"), (4, "warn"), (0, "accent"), (306, "warn")]
        assert sentence(person) == "Room for 1 more LLM call and 7 node visits."

    travel(journey, reading)


def test_the_meters_name_the_limit_that_ended_the_run_and_their_clock_stands_still_in_a_pause(
    travel, reading
):
    small = QUESTIONS.replace(budget=Budget(max_node_visits=2))
    reading.write_bytes(as_bytes(as_json(small)))

    async def journey(person: Driver) -> None:
        await person.show("meters")
        assert person.window.run_command("run.step")
        await paused_at(person, "size")
        before = meter(person, "elapsed").value
        await asyncio.sleep(0.15)  # the meters are looked at each tenth of a second
        assert (meter(person, "elapsed").value, person.running.trail.usage.duration) == (before, before)
        assert sentence(person).startswith("Paused: the clock is stopped.")
        assert person.window.run_command("run.start")
        await asked_at(person, "size")
        assert sentence(person).startswith("Waiting for your answer: the clock is stopped.")
        for node, given in (("size", "yes"), ("sure", "no")):
            await answer(person, node, given)
        await until(lambda: person.running.state is RunState.ENDED)
        await person.show("meters")
        assert sentence(person) == "The limit of node visits ended the run."
        assert [meter(person, name).tone for name in METERS] == ["bad", "accent", "accent", "accent"]

    travel(journey, reading)


def test_how_likely_each_answer_was_stands_on_its_branch(travel, reading, tmp_path, opening):
    log = tmp_path / "weighed.jsonl"
    write_log(log, Weighing())
    opening.append(log)

    async def journey(person: Driver) -> None:
        await open_log(person)
        await look_at(person, 1)
        assert person.card("size").marks.probabilities == {}
        await look_at(person, 2)
        assert person.card("size").marks.probabilities == {"yes": 0.7, "no": 0.2, "unknown": 0.1}
        assert person.card("sure").marks.probabilities == {}

    travel(journey, reading)


def test_a_log_from_elsewhere_opens_on_its_tree_when_the_file_has_changed_since(
    travel, reading, read_log, opening
):
    opening.append(read_log)
    later = READING.replace(nodes={**READING.nodes, "pay": terminal("pay at once")})
    reading.write_bytes(as_bytes(as_json(later)))

    async def journey(person: Driver) -> None:
        mine = person.document
        await open_log(person)
        assert person.document is not mine
        assert person.document.draft.tree == READING
        assert person.document.read_only is not None
        (row,) = (row for row in panel(person, RunsPanel).table.rows if isinstance(row, Row))
        assert row.origin == "A file, of an older tree"
        assert person.window.run_command("run.start")
        await until(lambda: not person.running.past)
        assert person.result.verdict == "pay"
        person.window.workbench.show_document(mine)
        assert person.document.draft.tree == later

    travel(journey, reading)


def test_another_data_item_in_the_past_begins_a_run_in_which_what_saw_it_is_asked_again(
    travel, reading, read_log, opening
):
    opening.append(read_log)

    async def journey(person: Driver) -> None:
        await open_log(person)
        await look_at(person, 2)
        await person.show("state")
        await person.press("button.changeItem")
        await until(lambda: person.window.findChildren(QDialog, "dialog"))
        (dialog,) = person.window.findChildren(QDialog, "dialog")
        name, content = (
            dialog.findChild(QComboBox, "item.id"),
            dialog.findChild(QPlainTextEdit, "item.content"),
        )
        assert isinstance(name, QComboBox)
        assert isinstance(content, QPlainTextEdit)
        assert (name.currentText(), content.toPlainText()) == (ORDER.id, ORDER.content)
        content.selectAll()
        QTest.keyClicks(content, "An order of 7.")
        (again,) = dialog.findChildren(QPushButton, "button.run")
        await by_hand(lambda: QTest.mouseClick(again, Qt.MouseButton.LeftButton))
        await answer(person, "size", "no")  # it was told of the order, so it is asked again
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "refuse"
        assert person.running.trail.data == (replace(ORDER, content="An order of 7."),)
        new, old = (row for row in panel(person, RunsPanel).table.rows if isinstance(row, Row))
        assert new.origin == "read.jsonl, step 3; 1 asked again"
        assert old.beside == "Differs from step 2, size"
        assert any(line.text.startswith("Asked again: ") for line in person.running.lines)

    travel(journey, reading)


@pytest.mark.parametrize("size", [(1600, 1000), (1280, 800)], ids=["large", "small"])
def test_neither_a_run_nor_its_questions_nor_its_past_move_what_is_looked_at(travel, reading, size):
    wordy = READING.replace(
        start_node_id="size",
        nodes={
            "size": classify("How large is it? " * 60, dict.fromkeys("abcdef", "sure"), unknown="lost"),
            "sure": classify("Are you sure? " * 60, {"yes": "pay"}, unknown="lost"),
            "pay": READING.nodes["pay"],
            "lost": READING.nodes["lost"],
        },
    )
    reading.write_bytes(as_bytes(as_json(wordy)))

    async def journey(person: Driver) -> None:
        person.window.resize(*size)
        await asyncio.sleep(0.05)
        before, seen = spot(person, "size"), []

        async def look() -> None:
            await asyncio.sleep(0.05)
            seen.append(spot(person, "size"))

        person.window.run_command("run.step")
        await paused_at(person, "size")
        await look()
        person.window.run_command("run.start")
        for node, given in (("size", "f"), ("sure", "yes")):
            await asked_at(person, node)
            await look()
            await answer(person, node, given)
        await until(lambda: person.running.state is RunState.ENDED)
        await look()
        for step in (1, 0, 2):
            await look_at(person, step)
            await look()
        assert seen == [before] * 7

    travel(journey, reading)


def test_back_while_a_question_waits_is_the_step_before_and_the_slider_leads_to_now(travel, reading):
    reading.write_bytes(as_bytes(as_json(QUESTIONS)))

    async def journey(person: Driver) -> None:
        slider = person.seen(QSlider, "timeline.slider")
        assert (words(person), slider.isEnabled()) == ("Not run yet", False)
        person.window.run_command("run.start")
        await asked_at(person, "size")
        assert not person.window.run_command("run.back")
        assert person.window.message == "This is where the run began."
        await answer(person, "size", "yes")
        await asked_at(person, "sure")
        for _ in range(2):
            await key(person, Qt.Key.Key_F10, Qt.KeyboardModifier.ControlModifier)
            await until(lambda: words(person) == "The past: step 1 of 2")
            slider.setFocus()
            await by_hand(lambda: QTest.keyClick(slider, Qt.Key.Key_End))
            await until(lambda: words(person) == "Step 2 of 2")
            assert not person.running.past
            assert person.seen(QPushButton, "answer.no").isEnabled()
        await answer(person, "sure", "yes")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "pay"

    travel(journey, reading)


def test_every_key_of_the_debugger_does_what_the_help_says(travel, reading):
    reading.write_bytes(as_bytes(as_json(QUESTIONS)))
    ctrl, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier

    async def journey(person: Driver) -> None:
        await key(person, Qt.Key.Key_F10)
        await paused_at(person, "size")
        await key(person, Qt.Key.Key_F11)
        await asked_at(person, "size")
        await key(person, Qt.Key.Key_F6)  # once this question is answered
        await key(person, Qt.Key.Key_1)
        await paused_at(person, "sure")
        await person.select("refuse")
        await key(person, Qt.Key.Key_F5, ctrl)
        await asked_at(person, "sure")
        await key(person, Qt.Key.Key_2)
        await asked_at(person, "size")
        await key(person, Qt.Key.Key_2)
        await paused_at(person, "refuse")
        await key(person, Qt.Key.Key_F10, ctrl)
        await until(lambda: words(person) == "The past: step 3 of 4")
        await key(person, Qt.Key.Key_F10, ctrl | shift)
        await until(lambda: words(person) == "Step 4 of 4")
        await person.select("size")
        for steps, move in (("3", ctrl), ("1", ctrl), ("3", ctrl | shift)):
            await key(person, Qt.Key.Key_F11, move)
            await until(partial(lambda steps: words(person) == f"The past: step {steps} of 4", steps))
        await key(person, Qt.Key.Key_F5)
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "refuse"
        await key(person, Qt.Key.Key_F5, ctrl | shift)
        await asked_at(person, "size")
        assert len(person.running.runs) == 2
        await key(person, Qt.Key.Key_F5, shift)
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.outcome == "Cancelled"

    travel(journey, reading)


def test_the_path_above_the_canvas_is_that_of_the_moment(travel, reading, read_log, opening):
    opening.append(read_log)

    async def journey(person: Driver) -> None:
        await open_log(person)
        seen = []
        for step in range(5):
            await look_at(person, step)
            seen.append(crumbs(person).replace("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}", ">"))
        assert seen == [
            "Path: load",
            "Path: load > success > size",
            "Path: load > success > size > yes > sure",
            *["Path: load > success > size > yes > sure > yes > pay"] * 2,
        ]

    travel(journey, reading)


def test_what_comes_after_stop_changes_nothing(travel, reading):
    reading.write_bytes(as_bytes(as_json(QUESTIONS)))

    async def journey(person: Driver) -> None:
        person.window.run_command("run.start")
        await asked_at(person, "size")
        late = person.running.answer
        person.window.run_command("run.stop")
        await until(lambda: person.running.state is RunState.ENDED)
        run, told = person.running.shown, [*person.running.events]
        assert run is not None
        late("yes")
        for event in told:
            run.recording.add(event)
        await asyncio.sleep(0.05)
        assert (person.running.state, list(person.running.events)) == (RunState.ENDED, told)
        assert person.result.outcome == "Cancelled"
        assert person.running.question is None

    travel(journey, reading)


def test_who_answers_is_chosen_for_each_node_and_told_on_its_card(travel, reading):
    reading.write_bytes(as_bytes(as_json(QUESTIONS)))

    async def journey(person: Driver) -> None:
        await person.select("size")
        await choose(person, "field.source", "Pinned")
        await choose(person, "field.pin.0", "yes")
        await person.press("button.addVisit")
        await choose(person, "field.pin.1", "no")
        await person.select("sure")
        await choose(person, "field.source", "Ask me")
        assert badges(person) == {"size": "pinned", "sure": "asks you"}
        person.window.run_command("run.start")
        await asked_at(person, "sure")
        await key(person, Qt.Key.Key_2)
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.running.shown is not None
        assert person.running.shown.path == ("size", "sure", "size", "refuse")
        for node in ("size", "sure"):
            await person.select(node)
            await choose(person, "field.source", "As in Run 1")
        assert badges(person) == {"size": "recorded", "sure": "recorded"}
        person.window.run_command("run.start")
        await until(lambda: len(person.running.runs) == 2 and person.running.state is RunState.ENDED)
        new, old = (row for row in panel(person, RunsPanel).table.rows if isinstance(row, Row))
        assert old.beside == "The same path and verdict"
        assert new.run.outcome == "Terminal"

    travel(journey, reading)


def test_a_pinned_action_gives_its_status_properties_data_and_error(travel, reading):
    async def journey(person: Driver) -> None:
        await person.select("load")
        await choose(person, "field.source", "Pinned")
        await person.press("button.addVisit")
        await choose(person, "field.pin.0", "permanentFailure")
        await person.type("pin.0.error", "no such order")
        await person.type("pin.0.properties", '{"amount": "0"}')
        await person.type("pin.0.data", '[{"id": "a", "source": "b", "type": "c", "content": "d"}]')
        assert badges(person) == {"load": "pinned"}
        await person.show("run")
        await person.type("input.what", "it")
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "lost"
        assert person.running.trail.properties == {"amount": "0"}
        assert person.running.trail.data == (DataItem("a", "b", "c", "d"),)
        told = [line.text for line in panel(person, LogPanel).table.rows if isinstance(line, Line)]
        assert "fetchOrder: failed for good (pinned). no such order" in told

    travel(journey, reading)


def badges(person: Driver) -> dict[NodeId, str]:
    items = person.window.canvas.scene().node_items.items()
    return {node: item.marks.source for node, item in items if item.marks.source}


def test_a_run_that_lacks_code_nobody_trusts_says_how_to_trust_it(travel, tmp_path, monkeypatch):
    path = tmp_path / "reading.json"
    path.write_bytes(as_bytes(as_json(READING)))
    (tmp_path / "catalog.py").write_text(CODE)
    (tmp_path / "treewright.json").write_bytes(as_bytes({"catalog": ["catalog.py"]}))

    agreed = [True, False]  # not yet when the file is opened

    async def ask_trust(*_: object, **__: object) -> bool:
        return agreed.pop()

    monkeypatch.setattr(dialogs, "ask_trust", ask_trust)

    async def journey(person: Driver) -> None:
        assert person.window.run_command("run.start")
        assert person.running.state is RunState.IDLE
        assert person.window.message == (
            "There is no action 'fetchOrder' here, which 'load' asks for. Python code of its folder is used "
            "only once you trust it: press 'Trust this folder…' under Answers. Or pin what it would do."
        )
        await person.press("button.trust")
        assert person.window.run_command("run.start")
        await asked_at(person, "size")
        assert person.running.trail.properties == {"amount": "7"}

    travel(journey, path)
