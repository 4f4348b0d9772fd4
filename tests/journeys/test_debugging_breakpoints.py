"""Breakpoints and pins through the real window: where a run pauses, when, and who answers meanwhile."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QDialog, QLineEdit, QPushButton

from designer.document.breakpoints import Breakpoint, breakpoint_at, breakpoints
from designer.document.document import Document
from designer.panels.breakpoints import BreakpointsPanel, Row
from designer.running import RunState
from engine import NodeId
from engine.cli import app
from tests.builders import action, as_bytes, as_json, classify, terminal, tree
from tests.journeys.driving import Driver, by_hand, until

PLAN = tree(
    gate=classify("Is it covered?", {"yes": "size", "no": "refuse"}, unknown="ask"),
    size=classify("How large is it?", {"small": "pay", "large": "gate"}, unknown="ask"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    ask=terminal("ask"),
)
FETCHING = tree(
    load=action("fetchOrder", success="rich", transient="load", permanent="lost"),
    rich=classify("Is {{order}} worth it?", {"yes": "pay", "no": "refuse"}, unknown="lost"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    lost=terminal("lost"),
)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_bytes(as_bytes(as_json(PLAN)))
    return path


@pytest.fixture
def fetching(tmp_path: Path) -> Path:
    path = tmp_path / "fetching.json"
    path.write_bytes(as_bytes(as_json(FETCHING)))
    return path


def panel(person: Driver) -> BreakpointsPanel:
    (found,) = person.window.findChildren(BreakpointsPanel)
    return found


def listed(person: Driver) -> list[tuple[str, str]]:
    return [(row.where, row.when) for row in panel(person).table.rows if isinstance(row, Row)]


async def press(person: Driver, key: Qt.Key) -> None:
    """Press a key where the focus is, which may be a shortcut of the window."""
    person.window.activateWindow()
    await until(person.window.isActiveWindow)
    await by_hand(lambda: QTest.keyClick(person.window.focusWidget(), key))


async def break_at(person: Driver, node: NodeId) -> None:
    """Set a breakpoint with F9 and look at it in the list."""
    await person.select(node)
    await press(person, Qt.Key.Key_F9)
    await person.show("breakpoints")


async def answer(person: Driver, node: NodeId, words: str) -> None:
    await until(lambda: person.running.question is not None and person.question.node == node)
    await person.show("run")
    await person.press(f"answer.{words}")


async def paused_at(person: Driver, node: NodeId) -> None:
    await until(lambda: person.running.state is RunState.PAUSED and person.running.at == node)


async def ended(person: Driver) -> str | None:
    await until(lambda: person.running.state is RunState.ENDED)
    return person.result.verdict


async def choose(person: Driver, name: str, text: str) -> None:
    combo = person.seen(QComboBox, name)
    index = combo.findText(text)
    assert index >= 0
    combo.setCurrentIndex(index)
    combo.activated.emit(index)


def test_f9_sets_a_breakpoint_that_is_listed_stops_a_run_and_stands_out(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "size")
        assert listed(person) == [("size", "always")]
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await paused_at(person, "size")
        assert listed(person) == [("size", "hit 1")]
        assert person.window.message == "Breakpoint at 'size'."
        person.window.run_command("run.start")
        await until(lambda: listed(person) == [("size", "always")])
        await answer(person, "size", "small")
        assert await ended(person) == "pay"
        await person.select("size")
        await press(person, Qt.Key.Key_F9)
        assert listed(person) == []
        assert "press F9" in panel(person).empty.text

    travel(journey, plan)


def test_a_condition_typed_into_the_form_decides_when_the_run_pauses(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "gate")
        await person.type("condition", 'visit == 2 and answer == "large"')
        assert listed(person) == [("gate", 'when visit == 2 and answer == "large"')]
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await answer(person, "size", "large")
        await paused_at(person, "gate")
        assert len(person.running.trail.path) == 2
        await person.show("breakpoints")
        assert listed(person) == [("gate", "hit 1")]

    travel(journey, plan)


def test_only_the_hit_that_was_asked_for_pauses(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "gate")
        await person.type("hits", "3")
        assert listed(person) == [("gate", "3rd time")]
        person.window.run_command("run.start")
        for _ in range(2):
            await answer(person, "gate", "yes")
            await answer(person, "size", "large")
        await paused_at(person, "gate")
        await until(lambda: listed(person) == [("gate", "hit 3")])
        assert person.window.message == "Breakpoint at 'gate', hit 3."

    travel(journey, plan)


def test_a_log_point_writes_its_line_and_the_run_goes_on(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "size")
        await person.type("message", "{node} after {answer}, visit {visit}")
        assert person.card("size").marks.halt == "log"
        assert listed(person) == [("size", "writes a line")]
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await answer(person, "size", "small")
        assert await ended(person) == "pay"
        assert [line.text for line in person.running.lines] == ["size after yes, visit 1"]

    travel(journey, plan)


def test_a_broken_condition_is_told_at_once_and_never_stored(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "size")
        steps = person.document.undo_stack.count()
        await person.type("condition", "amount = 3")
        field = panel(person).form.fields["condition"]
        assert field.note.text == "At '= 3': Two values are compared with ==."
        assert person.seen(QLineEdit, "field.condition").text() == "amount = 3"
        assert breakpoint_at(person.document.draft, "size") == Breakpoint("size")
        assert person.document.undo_stack.count() == steps
        await person.type("condition", "amount > 3")
        assert field.note.text == ""
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        # What nobody knows beforehand, a name that is not there, pauses the run and says so.
        await paused_at(person, "size")
        assert "cannot be told" in person.window.message
        await person.show("breakpoints")
        assert listed(person) == [("size", "paused")]

    travel(journey, plan)


def test_one_that_is_off_is_passed_over(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "size")
        panel(person).table.setFocus()
        await press(person, Qt.Key.Key_Space)
        assert listed(person) == [("size", "off, always")]
        assert person.card("size").marks.halt == "off"
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await answer(person, "size", "small")
        assert await ended(person) == "pay"

    travel(journey, plan)


def test_delete_in_the_list_removes_the_breakpoint_and_never_the_node(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "size")
        assert person.document.selection == {"size"}
        panel(person).table.setFocus()
        for _ in range(2):
            await press(person, Qt.Key.Key_Delete)
        assert listed(person) == []
        assert list(person.document.draft.tree.nodes) == list(PLAN.nodes)
        assert person.card("size").marks.halt == ""
        person.window.run_command("edit.undo")
        assert listed(person) == [("size", "always")]

    travel(journey, plan)


def test_a_click_in_the_list_goes_to_the_node(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "pay")
        await person.select("gate")
        table = panel(person).table
        at = table.visualRect(table.model().index(0, 1)).center()
        QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
        assert person.document.selection == {"pay"}
        assert person.window.focusWidget() is table

    travel(journey, plan)


def test_breakpoints_follow_a_rename_and_are_there_when_the_file_is_opened_again(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await break_at(person, "size")
        await person.type("hits", "2")
        await person.type("id", "how-large")
        assert listed(person) == [("how-large", "2nd time")]
        person.window.run_command("file.save")
        await until(lambda: person.document.clean)
        again = Document.open(plan)
        assert isinstance(again, Document)
        assert breakpoints(again.draft) == (Breakpoint("how-large", hits=2),)
        again.deleteLater()

    travel(journey, plan)


# -- who answers ---------------------------------------------------------------------------------------


async def pin_both(person: Driver) -> None:
    """Pin the action to fail once and then find an order, and the question to yes."""
    await person.select("load")
    await choose(person, "field.source", "Pinned")
    await person.press("button.addVisit")
    await choose(person, "field.pin.0", "transientFailure")
    await person.type("pin.0.error", "busy")
    await person.type("pin.1.properties", '{"order": "A-17"}')
    await person.select("rich")
    await choose(person, "field.source", "Pinned")
    await choose(person, "field.pin.0", "yes")


def test_pinned_results_and_answers_run_a_tree_without_its_actions_and_without_asking(travel, fetching: Path):
    async def journey(person: Driver) -> None:
        await person.show("run")
        await person.type("input.order", "it")
        assert person.window.run_command("run.start")
        assert person.running.state is RunState.IDLE
        assert "There is no action 'fetchOrder' here" in person.window.message
        await pin_both(person)
        assert {i: person.card(i).marks.source for i in ("load", "rich")} == {
            "load": "pinned",
            "rich": "pinned",
        }
        assert person.document.clean
        person.window.run_command("run.start")
        assert await ended(person) == "pay"
        assert [visit.node for visit in person.result.path] == ["load", "load", "rich", "pay"]
        assert person.running.trail.properties == {"order": "A-17"}
        await choose(person, "field.source", "As usual: ask me")
        assert person.card("rich").marks.source == ""
        person.window.run_command("run.start")
        await answer(person, "rich", "no")
        assert await ended(person) == "refuse"

    travel(journey, fetching)


def test_pins_become_a_case_that_can_be_chosen_and_passes_as_a_test(travel, fetching: Path, tmp_path: Path):
    async def journey(person: Driver) -> None:
        await person.show("run")
        await person.type("input.order", "it")
        await pin_both(person)
        person.window.run_command("run.start")
        assert await ended(person) == "pay"
        await person.press("button.keepPins")
        await until(lambda: person.window.findChildren(QDialog, "dialog"))
        (dialog,) = person.window.findChildren(QDialog, "dialog")
        name = dialog.findChild(QLineEdit, "case.name")
        assert isinstance(name, QLineEdit)
        name.selectAll()
        QTest.keyClicks(name, "worth it")
        verdict = dialog.findChild(QComboBox, "case.verdict")
        assert isinstance(verdict, QComboBox)
        assert verdict.currentText() == "pay"
        keep = dialog.findChild(QPushButton, "button.keep")
        assert isinstance(keep, QPushButton)
        keep.click()
        await until(lambda: [case.id for case in person.window.workbench.cases] == ["worth it"])
        await choose(person, "field.source", "As usual: ask me")
        await person.select("load")
        await choose(person, "field.source", "As usual: execute it")
        await choose(person, "answers", "worth it")
        assert person.seen(QComboBox, "field.source").currentText() == "As usual: case worth it"
        person.window.run_command("run.start")
        assert await ended(person) == "pay"

    travel(journey, fetching)
    kept = json.loads((tmp_path / "cases.jsonl").read_text())
    assert kept["expect"] == {"verdict": "pay"}
    assert kept["params"] == {"order": "it"}
    with pytest.raises(SystemExit) as left:
        app(["test", str(fetching)])
    assert left.value.code == 0
