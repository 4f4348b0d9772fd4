"""Debugging through the real window: step, pause, look back, go another way, keep a run and open it again."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QSlider, QWidget

from designer import dialogs
from designer.canvas.items import painter_path
from designer.panels.run import RunPanel
from designer.panels.runs import Row, RunsPanel
from designer.running import RunState
from engine import Budget, NodeId
from tests.builders import as_bytes, as_json, classify, condition, terminal, tree
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_editing import key

PLAN = tree(
    gate=classify("Is it covered?", {"yes": "size", "no": "refuse"}, unknown="ask"),
    size=classify("How large is it?", {"small": "pay", "large": "gate"}, unknown="ask"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    ask=terminal("ask"),
)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_bytes(as_bytes(as_json(PLAN)))
    return path


async def paused_at(person: Driver, node: NodeId) -> None:
    await until(lambda: person.running.state is RunState.PAUSED and person.running.at == node)


async def asked_at(person: Driver, node: NodeId) -> None:
    await until(lambda: person.running.question is not None and person.question.node == node)


async def answer(person: Driver, node: NodeId, words: str) -> None:
    await asked_at(person, node)
    await person.show("run")
    await person.press(f"answer.{words}")


async def run_to_the_end(person: Driver, *answers: tuple[NodeId, str]) -> None:
    assert person.window.run_command("run.start")
    for node, words in answers:
        await answer(person, node, words)
    await until(lambda: person.running.state is RunState.ENDED)


async def click_branch(person: Driver, node: NodeId, branch: str) -> None:
    """Click the middle of a branch's line."""
    canvas = person.window.canvas
    canvas.fit()
    await asyncio.sleep(0.02)
    (item,) = (i for key, i in canvas.scene().edge_items.items() if key == (node, branch))
    middle = painter_path(item.branch.route).pointAtPercent(0.5)
    spot = canvas.mapFromScene(middle)
    await by_hand(lambda: QTest.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=spot))
    await until(lambda: canvas.picked == (node, branch))


def words(person: Driver) -> str:
    return person.seen(QLabel, "timeline.words").text()


def test_a_run_stops_before_a_node_with_a_breakpoint_and_goes_on(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await person.select("size")
        assert person.window.run_command("run.breakpoint")
        assert person.card("size").marks.halt == "on"
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await paused_at(person, "size")
        assert "Breakpoint" in person.window.message
        person.window.run_command("run.start")
        await answer(person, "size", "small")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "pay"
        person.window.run_command("edit.undo")
        assert person.card("size").marks.halt == ""

    travel(journey, plan)


def test_a_breakpoint_on_a_branch_stops_once_the_branch_was_taken(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await click_branch(person, "size", "large")
        assert person.window.run_command("branch.breakpoint")
        assert person.card("size").marks.halts == {"large": "on"}
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await answer(person, "size", "large")
        await paused_at(person, "gate")
        person.window.run_command("run.breakpoints-off")
        assert person.card("size").marks.halts == {"large": "off"}
        person.window.run_command("run.start")
        for node, given in (("gate", "yes"), ("size", "large"), ("gate", "no")):
            await answer(person, node, given)
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "refuse"

    travel(journey, plan)


def test_stepping_goes_node_by_node_and_from_question_to_question(travel, plan: Path):
    async def journey(person: Driver) -> None:
        person.window.run_command("run.step")
        await paused_at(person, "gate")
        person.window.run_command("run.step-question")
        await answer(person, "gate", "yes")
        await paused_at(person, "size")
        await person.select("refuse")
        assert person.window.run_command("run.to")
        await answer(person, "size", "large")
        await answer(person, "gate", "no")
        await paused_at(person, "refuse")
        person.window.run_command("run.stop")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.outcome == "Cancelled"

    travel(journey, plan)


def test_the_past_is_shown_everywhere_and_plainly_as_past(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await run_to_the_end(person, ("gate", "yes"), ("size", "large"), ("gate", "no"))
        assert person.card("gate").marks.visits == 2
        slider = person.seen(QSlider, "timeline.slider")
        assert (slider.value(), slider.maximum()) == (4, 4)
        for step in (3, 2, 1):
            person.window.run_command("run.back")
            await until(partial(lambda step: slider.value() == step, step))
        assert words(person) == "The past: step 2 of 4"
        assert person.card("gate").marks.visits == 1
        assert person.card("size").marks.state
        assert person.window.canvas.scene().overlay.past
        assert "past" in person.seen(QLabel, "run.state").text()
        assert person.running.trail.usage.llm_calls == 1
        person.window.run_command("run.forward")
        await until(lambda: slider.value() == 2)
        slider.setValue(0)
        await until(lambda: person.running.step_number == 0)
        assert not person.window.run_command("run.back")
        person.window.run_command("run.newest")
        await until(lambda: words(person) == "The end, after 4 steps")
        assert not person.running.past
        assert not person.window.run_command("run.forward")

    travel(journey, plan)


def test_visits_of_one_node_are_gone_through(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await run_to_the_end(person, ("gate", "yes"), ("size", "large"), ("gate", "no"))
        await person.select("gate")
        assert person.window.run_command("run.previous-visit")
        assert person.running.step_number == 2
        assert person.window.run_command("run.previous-visit")
        assert person.running.step_number == 0
        person.window.run_command("run.previous-visit")
        assert person.window.message == "The run did not visit this node before this moment."
        person.window.run_command("run.next-visit")
        assert person.running.step_number == 2

    travel(journey, plan)


def test_another_answer_in_the_past_begins_a_run_that_goes_another_way(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await run_to_the_end(person, ("gate", "yes"), ("size", "small"))
        first = person.running.shown
        person.running.go_to_step(1)
        await person.show("run")
        await until(lambda: person.running.past)
        await asyncio.sleep(0.03)
        assert person.seen(QPushButton, "answer.small, as it was").isEnabled()
        await person.press("answer.large")
        await answer(person, "gate", "no")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.running.shown is not first
        assert person.result.verdict == "refuse"
        assert [visit.node for visit in person.running.trail.path] == ["gate", "size", "gate", "refuse"]
        (runs,) = person.window.findChildren(RunsPanel)
        new, old = (row for row in runs.table.rows if isinstance(row, Row))
        assert new.origin == "Run 1, step 2"
        assert old.beside == "Differs from step 2, size"
        await person.show("runs")
        runs.table.opened.emit(old)
        assert person.running.shown is first

    travel(journey, plan)


def test_another_property_in_the_past_begins_a_run_that_goes_another_way(travel, tmp_path: Path, monkeypatch):
    path = tmp_path / "routed.json"
    routed = tree(
        ask=classify("Go on?", {"yes": "test"}, unknown="no"),
        test=condition(
            "propertyEquals", parameters={"key": "route", "value": "fast"}, then="fast", otherwise="slow"
        ),
        fast=terminal("fast"),
        slow=terminal("slow"),
        no=terminal("no"),
    )
    path.write_bytes(as_bytes(as_json(routed)))
    offered: list[object] = []

    async def given(_parent: object, known: object) -> tuple[str, str]:
        offered.append(known)
        return "route", "fast"

    monkeypatch.setattr(dialogs, "ask_property", given)

    async def journey(person: Driver) -> None:
        await run_to_the_end(person, ("ask", "yes"))
        assert person.result.verdict == "slow"
        person.running.go_to_step(1)
        await until(lambda: person.running.past)
        await person.show("state")
        await person.press("button.changeProperty")
        await answer(person, "ask", "yes")  # its request tells of the property, so it is asked again
        await until(lambda: person.running.state is RunState.ENDED and len(person.running.runs) == 2)
        assert person.result.verdict == "fast"
        assert offered == [{}]

    travel(journey, path)


def test_a_run_begins_again_with_the_same_inputs(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await run_to_the_end(person, ("gate", "no"))
        assert person.window.run_command("run.restart")
        await answer(person, "gate", "yes")
        await answer(person, "size", "small")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "pay"
        assert len(person.running.runs) == 2

    travel(journey, plan)


def test_a_run_is_kept_as_a_file_and_stepped_through_again(travel, plan: Path, tmp_path: Path, monkeypatch):
    kept = tmp_path / "kept.jsonl"

    async def chosen(*_: object) -> Path:
        return kept

    monkeypatch.setattr(dialogs, "ask_save", chosen)
    monkeypatch.setattr(dialogs, "ask_open", chosen)

    async def save(person: Driver) -> None:
        assert not person.window.run_command("run.save-log")
        await run_to_the_end(person, ("gate", "yes"), ("size", "small"))
        assert person.window.run_command("run.save-log")
        await until(kept.exists)
        await until(lambda: person.window.message == "Saved kept.jsonl.")

    async def look(person: Driver) -> None:
        assert person.window.run_command("run.open-log")
        await until(lambda: person.running.shown is not None)
        assert person.running.step_number == 0
        person.window.run_command("run.step")
        await until(lambda: person.running.step_number == 1)
        person.window.run_command("run.start")
        await until(lambda: not person.running.past)
        assert person.result.verdict == "pay"
        assert list(person.document.draft.tree.nodes) == list(PLAN.nodes)

    async def elsewhere(person: Driver) -> None:
        assert person.window.run_command("file.new")
        person.window.run_command("run.open-log")
        await until(lambda: person.running.shown is not None)
        assert list(person.document.draft.tree.nodes) == list(PLAN.nodes)
        assert person.document.read_only == (
            "This is the tree of the run in kept.jsonl. It can be run, but not edited."
        )

    travel(save, plan)
    travel(look, plan)
    travel(elsewhere)


def test_a_file_that_is_no_run_log_is_told_and_nothing_changes(travel, plan: Path, monkeypatch):
    async def chosen(*_: object) -> Path:
        return plan

    monkeypatch.setattr(dialogs, "ask_open", chosen)

    async def journey(person: Driver) -> None:
        before = person.document
        person.window.run_command("run.open-log")
        await until(lambda: "no run log" in person.window.message)
        assert person.document is before
        assert person.running.shown is None

    travel(journey, plan)


def test_following_is_off_until_it_is_asked_for(travel, plan: Path):
    async def journey(person: Driver) -> None:
        canvas = person.window.canvas
        canvas.set_zoom(1.8, canvas.viewport().rect().center())
        before = canvas.viewpoint
        person.window.run_command("run.step")
        await paused_at(person, "gate")
        assert canvas.viewpoint == pytest.approx(before)
        person.window.run_command("run.stop")
        await until(lambda: person.running.state is RunState.ENDED)
        person.window.commands["run.follow"].trigger()
        person.window.run_command("run.start")
        await answer(person, "gate", "no")
        await until(lambda: person.running.state is RunState.ENDED)
        assert (
            canvas.viewport()
            .rect()
            .intersects(canvas.mapFromScene(person.card("refuse").sceneBoundingRect()).boundingRect())
        )

    travel(journey, plan)


def test_keys_of_the_debugger(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await person.select("size")
        await key(person, Qt.Key.Key_F9)
        await until(lambda: person.card("size").marks.halt == "on")
        await key(person, Qt.Key.Key_F9)
        await until(lambda: person.card("size").marks.halt == "")
        await key(person, Qt.Key.Key_F11)
        await paused_at(person, "gate")
        await key(person, Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
        await until(lambda: person.running.state is RunState.ENDED)

    travel(journey, plan)


def test_a_tree_that_may_not_be_edited_can_still_be_run_with_other_sources(travel, plan: Path):
    async def journey(person: Driver) -> None:
        person.document.read_only = "It is open elsewhere."
        await person.select("gate")
        assert not person.seen(QWidget, "field.task").isEnabled()
        assert person.seen(QWidget, "field.source").isEnabled()

    travel(journey, plan)


def state_words(person: Driver) -> str:
    return person.seen(QLabel, "run.state").text()


def crumbs(person: Driver) -> str:
    crumb = person.window.canvas.breadcrumb
    return "" if crumb.isHidden() else crumb.accessibleName()


def offered(person: Driver) -> list[str]:
    (panel,) = person.window.findChildren(RunPanel)
    return [button.objectName() for button in panel.answers if button.isVisible()]


async def look_at(person: Driver, step: int) -> None:
    person.running.go_to_step(step)
    await until(lambda: person.running.step_number == step)
    await asyncio.sleep(0.04)


def test_a_moment_of_the_past_never_shows_the_question_of_another(travel, tmp_path: Path):
    path = tmp_path / "tested.json"
    tested = tree(
        test=condition(
            "propertyEquals", parameters={"key": "a", "value": "b"}, then="gate", otherwise="gate"
        ),
        gate=classify("Is it covered?", {"yes": "size"}, unknown="end"),
        size=classify("How large is it?", {"small": "end"}, unknown="end"),
        end=terminal("end"),
    )
    path.write_bytes(as_bytes(as_json(tested)))

    async def journey(person: Driver) -> None:
        await person.show("run")
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await asked_at(person, "size")
        await look_at(person, 0)
        assert offered(person) == []
        await look_at(person, 1)
        assert offered(person) == ["answer.yes, as it was", "answer.unknown"]
        await look_at(person, 0)
        assert offered(person) == []
        slider = person.seen(QSlider, "timeline.slider")
        slider.setValue(slider.maximum())
        await asyncio.sleep(0.04)
        assert (words(person), person.running.past) == ("Step 3 of 3", False)
        assert offered(person) == ["answer.small", "answer.unknown"]
        assert person.window.run_command("run.back")
        await until(lambda: words(person) == "The past: step 2 of 3")
        assert person.window.run_command("run.newest")
        await until(lambda: words(person) == "Step 3 of 3")
        await person.press("answer.small")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "end"

    travel(journey, path)


def test_words_of_two_lines_leave_room_for_every_answer(travel, tmp_path: Path):
    name = "gate-" + "long-" * 9
    path = tmp_path / "wordy.json"
    wordy = tree(
        {
            name: classify("Is it covered by the plan? " * 40, {"yes": "end"}, unknown="end"),
            "end": terminal("end"),
        }
    )
    path.write_bytes(as_bytes(as_json(wordy)))

    async def journey(person: Driver) -> None:
        person.window.resize(1280, 800)
        await run_to_the_end(person, (name, "yes"))
        await look_at(person, 0)
        (panel,) = person.window.findChildren(RunPanel)
        assert panel.state.heightForWidth(panel.state.width()) > 1.5 * panel.state.fontMetrics().height()
        (last,) = panel.answers[-1:]
        await until(lambda: last.visibleRegion().boundingRect() == last.rect())

    travel(journey, path)


def test_who_answers_something_else_is_told_that_the_run_ends(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await person.show("run")
        (panel,) = person.window.findChildren(RunPanel)
        person.window.run_command("run.start")
        await answer(person, "gate", "yes")
        await asked_at(person, "size")
        await look_at(person, 0)
        assert "goes on ends then" in panel.instead.text()
        person.window.run_command("run.stop")
        await until(lambda: person.running.state is RunState.ENDED)
        await look_at(person, 0)
        assert panel.instead.text() == "Answer something else to run again from here."

    travel(journey, plan)


def test_a_run_that_was_stopped_by_a_limit_has_as_many_steps_as_visits(travel, tmp_path: Path):
    path = tmp_path / "round.json"
    path.write_bytes(as_bytes(as_json(PLAN.model_copy(update={"budget": Budget(max_node_visits=3)}))))

    async def journey(person: Driver) -> None:
        await run_to_the_end(person, ("gate", "yes"), ("size", "large"), ("gate", "yes"))
        assert person.result.outcome == "BudgetExhausted"
        assert words(person) == "The end, after 3 steps"
        told = []
        while person.window.run_command("run.back"):
            await asyncio.sleep(0.04)
            told.append(words(person))
        assert told == [
            "The past: before the end",
            "The past: step 3 of 3",
            "The past: step 2 of 3",
            "The past: step 1 of 3",
        ]

    travel(journey, path)


@pytest.mark.parametrize("state", [RunState.PAUSED, RunState.ASKING])
def test_another_tree_neither_shows_nor_drives_the_run_that_goes_on(travel, plan: Path, state: RunState):
    async def journey(person: Driver) -> None:
        commands = ("run.start", "run.step", "run.step-question", "run.back", "run.newest", "run.restart")
        person.window.run_command("run.step")
        await paused_at(person, "gate")
        if state is RunState.ASKING:
            person.window.run_command("run.start")
            await asked_at(person, "gate")
        first = person.document
        assert person.window.run_command("file.new")
        await asyncio.sleep(0.04)
        for command in commands:
            assert not person.window.run_command(command)
            assert person.window.message == "A run of plan goes on. Go to that tree, or stop the run."
        assert person.running.state is state
        assert crumbs(person) == ""
        await person.show("run")
        assert "gate, in plan" in state_words(person)
        person.window.workbench.show_document(first)
        await asyncio.sleep(0.04)
        assert crumbs(person) == "Path: gate"
        person.window.workbench.show_document(person.window.workbench.documents[1])
        assert person.window.run_command("run.stop")
        await until(lambda: person.running.state is RunState.ENDED)

    travel(journey, plan)


def test_a_run_whose_tree_is_changed_says_that_it_keeps_the_one_it_began_with(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await person.show("run")
        person.window.run_command("run.step")
        await paused_at(person, "gate")
        await person.select("size")
        assert person.window.run_command("run.breakpoint")
        await asyncio.sleep(0.04)
        assert "keeps" not in state_words(person)
        assert person.window.run_command("edit.delete")
        await until(lambda: "this run keeps the one it began with" in state_words(person))
        person.window.run_command("edit.undo")
        await until(lambda: "keeps" not in state_words(person))

    travel(journey, plan)


def test_what_was_said_of_a_moment_goes_with_it(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await run_to_the_end(person, ("gate", "no"))
        assert "refuse" in person.window.message
        await person.select("gate")
        assert person.window.run_command("run.breakpoint")
        person.window.run_command("run.start")
        await paused_at(person, "gate")
        assert "Breakpoint" in person.window.message
        person.window.run_command("run.start")
        await asked_at(person, "gate")
        assert person.window.message == ""

    travel(journey, plan)


def test_runs_say_what_the_one_that_goes_on_does_and_compare_none_with_it(travel, plan: Path):
    async def journey(person: Driver) -> None:
        (runs,) = person.window.findChildren(RunsPanel)
        await run_to_the_end(person, ("gate", "no"))
        person.window.run_command("run.step")
        await paused_at(person, "gate")
        new, old = (row for row in runs.table.rows if isinstance(row, Row))
        assert (new.ended, old.beside) == ("Paused", "")
        person.window.run_command("run.start")
        await asked_at(person, "gate")
        (new, old) = (row for row in runs.table.rows if isinstance(row, Row))
        assert (new.ended, old.beside) == ("Waits for your answer", "")
        await answer(person, "gate", "no")
        await until(lambda: person.running.state is RunState.ENDED)
        (new, old) = (row for row in runs.table.rows if isinstance(row, Row))
        assert old.beside == "The same path and verdict"

    travel(journey, plan)


def test_closing_a_tree_whose_run_is_paused_ends_the_run(travel, plan: Path):
    async def journey(person: Driver) -> None:
        person.window.run_command("run.step")
        await paused_at(person, "gate")
        assert person.window.run_command("file.close")
        await until(lambda: person.window.workbench.current is None)
        await until(lambda: not person.running.active)
        assert person.running.runs == ()
        assert crumbs(person) == ""

    travel(journey, plan)
