"""A tree whose action is an agent, through the real window: watched, paused in, looked back at, reopened."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QTreeView

from designer import dialogs
from designer.running import RunState
from engine.agent import Agent
from engine.llm import Completion
from tests.designer.agents_in_trees import document_of
from tests.engine.agents import Remembers, agent, calls
from tests.journeys.driving import Driver, by_hand, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

CALLS = replace(calls(("price_of", {"plan": "Pro"})), input_tokens=120, output_tokens=9)
ANSWER = Completion("Pro costs 5 EUR.", "stop", input_tokens=150, output_tokens=8)
WHOLE = [
    ("Turn 1", "calls price_of"),
    ("Model own-model", "asks for price_of"),
    ("Tool price_of", 'Pro is 5 EUR a month, for {"plan": "Pro"}'),
    ("Turn 2", "Pro costs 5 EUR."),
    ("Model own-model", "Pro costs 5 EUR."),
    ("Result", "Pro costs 5 EUR."),
]


def clerk() -> Agent:
    """An agent with one tool, whose model follows a script."""
    return agent([CALLS, ANSWER], name="clerk", tools=(Remembers("price_of", "Pro is 5 EUR a month"),))


def view(person: Driver) -> QTreeView:
    return person.seen(QTreeView, "agent.lines")


def lines(person: Driver) -> list[tuple[str, str]]:
    """What is told, those of each turn after it."""
    model = view(person).model()

    def below(parent: QModelIndex) -> list[tuple[str, str]]:
        rows = [model.index(row, 0, parent) for row in range(model.rowCount(parent))]
        return [told for row in rows for told in [(row.data(), row.siblingAtColumn(1).data()), *below(row)]]

    return below(QModelIndex())


def totals(person: Driver) -> str:
    return person.seen(QLabel, "agent.totals").text()


async def click(person: Driver, row: int) -> None:
    """Click a line of the top level."""
    tree_view = view(person)
    place = tree_view.visualRect(tree_view.model().index(row, 0)).center()
    plain = Qt.KeyboardModifier.NoModifier
    await by_hand(lambda: QTest.mouseClick(tree_view.viewport(), Qt.MouseButton.LeftButton, plain, place))


async def paused(person: Driver, phase: str) -> None:
    await until(lambda: person.running.inside != () and person.running.inside[-1].phase == phase)


def test_an_agent_is_watched_looked_back_at_and_told_the_same_from_its_log(
    travel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def chosen(*_args: object, **_more: object) -> Path:
        return tmp_path / "kept.jsonl"

    monkeypatch.setattr(dialogs, "ask_save", chosen)
    monkeypatch.setattr(dialogs, "ask_open", chosen)

    async def journey(person: Driver) -> None:
        document_of(person.window.workbench, clerk)
        await person.show("agent")
        person.window.run_command("run.step")
        await until(lambda: person.running.state is RunState.PAUSED)
        person.window.run_command("run.step-into")
        await paused(person, "beforeTool")
        assert lines(person) == [*WHOLE[:2], ("Tool price_of", 'not used yet, for {"plan": "Pro"}')]
        assert totals(person).startswith(
            "Paused before a tool is used  ·  1 of 8 turns  ·  1 of 10 LLM calls"
        )
        person.window.run_command("run.step-into")
        await paused(person, "afterTool")
        assert lines(person) == WHOLE[:3]
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ENDED)
        assert lines(person) == WHOLE
        whole = totals(person)
        assert whole.startswith("Done  ·  2 of 8 turns  ·  2 of 8 LLM calls  ·  1 tool use  ·  270 tokens in")

        await click(person, 0)
        await until(lambda: person.running.past)
        await until(lambda: totals(person).startswith("At the shown moment  ·  1 of 8 turns"))
        assert (person.running.at, *person.document.selection) == ("again", "again")
        assert lines(person) == WHOLE
        person.window.run_command("run.newest")
        await until(lambda: totals(person) == whole)

        person.window.run_command("run.save-log")
        await until((tmp_path / "kept.jsonl").exists)
        person.running.forget()
        await until(lambda: not person.window.findChildren(QTreeView, "agent.lines")[0].isVisible())
        person.window.run_command("run.open-log")
        await until(lambda: person.running.shown is not None and person.running.shown.log is not None)
        await until(lambda: totals(person) == "It has not begun at the shown step.")
        assert lines(person) == WHOLE
        person.window.run_command("run.newest")
        await until(lambda: totals(person) == whole)

    travel(journey)
