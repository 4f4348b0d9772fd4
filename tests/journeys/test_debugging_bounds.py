"""Proving a budget before a run, and keeping cases in step with an edited tree, through the real window."""

import asyncio
import json
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QLabel, QPushButton

from designer import proof
from designer.document import edits
from designer.panels.cases import CasesPanel
from engine import Budget, NodeId, bounds
from tests.builders import as_bytes, as_json, classify, terminal, tree
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_editing import key

PLAN = tree(
    gate=classify("Is it covered?", {"yes": "size", "no": "refuse"}, unknown="ask"),
    size=classify("How large is it?", {"small": "pay", "large": "gate"}, unknown="ask", name="Size"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    ask=terminal("ask"),
).replace(budget=Budget(max_node_visits=6, max_llm_calls=1))
PAID = {
    "id": "paid",
    "answers": {"gate": "yes", "size": "small"},
    "budget": {"maxLlmCalls": 4},
    "expect": {"verdict": "pay", "path": ["gate", "size", "pay"]},
}
REFUSED = {"id": "refused", "answers": {"gate": "no"}, "expect": {"verdict": "refuse"}}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_bytes(as_bytes(as_json(PLAN)))
    return path


@pytest.fixture
def with_cases(plan: Path) -> Path:
    lines = (json.dumps(case) for case in (PAID, REFUSED))
    plan.with_name("cases.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return plan


def costs(person: Driver) -> dict[NodeId, str]:
    items = person.window.canvas.scene().node_items.items()
    return {node: item.marks.cost.text for node, item in items if item.marks.cost}


def proven(person: Driver) -> str:
    return person.seen(QLabel, "meters.proof").text()


def cases(person: Driver) -> CasesPanel:
    (panel,) = person.window.findChildren(CasesPanel)
    return panel


def states(person: Driver) -> list[str]:
    panel = cases(person)
    return [panel.table.model().index(row, 2).data() for row in range(len(panel.table.rows))]


def words(person: Driver) -> str:
    return person.seen(QLabel, "cases.words").text()


async def click_case(person: Driver, row: int) -> None:
    table = cases(person).table
    at = table.visualRect(table.model().index(row, 0)).center()
    await by_hand(lambda: QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at))


def test_the_cards_show_what_runs_can_cost_and_follow_the_tree(travel, plan: Path):
    async def journey(person: Driver) -> None:
        assert costs(person) == {}
        await key(person, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: costs(person))
        assert costs(person) == {
            "gate": "1+ calls · no limit but the budget",
            "size": "out of budget · 1+ calls · 2+ visits",
            "pay": "out of budget · after 2+ calls · 3+ visits",
            "refuse": "after 1+ calls · no limit but the budget",
            "ask": "out of budget · after 2+ calls · 2+ visits",
        }
        cost = person.card("pay").marks.cost
        assert cost is not None
        assert cost.beyond
        person.document.edit("Answer", lambda d: edits.connect(d, "size", "large", "pay"))
        await until(lambda: costs(person)["refuse"] == "after 1\N{EN DASH}2 calls · 2 visits")
        await key(person, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: costs(person) == {})

    travel(journey, plan)


def test_a_budget_that_is_too_small_is_raised_as_one_step_and_no_limit_lowered(travel, plan: Path):
    async def journey(person: Driver) -> None:
        await until(lambda: person.window.workbench.proof.bounds)
        assert proven(person) == (
            "At best 1 LLM call and 2 visits; the budget allows 1 and 6. There is a circle, and no limit but "
            "the budget. Out of reach: pay, ask. The least for every verdict is 2 LLM calls and 3 visits."
        )
        await person.press("button.raiseBudget")
        assert person.document.draft.tree.budget == Budget(max_node_visits=6, max_llm_calls=2)
        await until(lambda: "the budget allows 2 and 6" in proven(person))
        assert "Out of reach" not in proven(person)
        assert not person.window.findChildren(QPushButton, "button.raiseBudget")[0].isVisible()
        await key(person, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: "the budget allows 1 and 6" in proven(person))
        assert person.document.clean

    travel(journey, plan)


def test_closing_the_window_waits_for_no_proof(travel, plan: Path, monkeypatch: pytest.MonkeyPatch):
    release, begun = threading.Event(), threading.Event()

    def slow(tree, catalog):
        begun.set()
        release.wait()
        return bounds(tree, catalog)

    monkeypatch.setattr(proof, "bounds", slow)

    async def journey(person: Driver) -> None:
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        person.window.closed.connect(lambda: closed.set_result(None))
        await until(begun.is_set)
        await key(person, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: person.window.message == "Working out what runs can cost…")
        person.window.run_command("file.quit")
        await closed

    travel(journey, plan)
    release.set()


def test_cases_are_run_and_an_edit_tells_what_became_of_them(travel, with_cases: Path):
    async def journey(person: Driver) -> None:
        await person.show("cases")
        await until(lambda: states(person) == ["Still valid", "Still valid"])
        await person.press("button.runAll")
        await until(lambda: words(person).startswith("2 passed, 0 failed."))
        person.document.edit("Verdict", lambda d: edits.set_field(d, "refuse", "verdict", "rejected"))
        person.document.edit("Remove", lambda d: edits.remove_nodes(d, {"size"}))
        await until(lambda: states(person)[0].startswith("Broken at step"))
        await click_case(person, 0)
        assert person.document.selection == {"gate"}
        await key(person, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: states(person)[0] == "Still valid")
        assert states(person)[1] == "Broken: Verdict: expected 'refuse', got 'rejected'"
        assert person.window.docks["cases"].windowTitle() == "Cases · 1 broken"
        await click_case(person, 1)
        assert person.document.selection == {"refuse"}
        await person.press("button.runAll")
        await until(lambda: words(person).startswith("1 passed, 1 failed."))

    travel(journey, with_cases)


def test_missing_cases_are_made_and_old_ones_are_migrated(travel, with_cases: Path):
    file = with_cases.with_name("cases.jsonl")

    async def journey(person: Driver) -> None:
        await person.show("cases")
        await until(lambda: len(states(person)) == 2)
        person.document.edit("Budget", lambda d: edits.set_budget(d, "maxLlmCalls", 8))
        await until(lambda: "3 of 6" in words(person))
        await person.press("button.addCases")
        await until(lambda: "added" in words(person))
        assert "They take 6 of 6 branches." in words(person)
        assert file.read_text().startswith(json.dumps(PAID))
        many = len(states(person))
        assert len(person.window.workbench.cases) == many
        person.document.edit("Answers", lambda d: edits.set_answers(d, "size", ("tiny", "large")))
        await until(lambda: states(person)[0].startswith("Can be migrated"))
        await person.press("button.migrate")
        await until(lambda: person.window.findChildren(QDialog, "dialog"))
        (dialog,) = person.window.findChildren(QDialog, "dialog")
        (yes,) = dialog.findChildren(QPushButton, "button.Migrate")
        await by_hand(lambda: QTest.mouseClick(yes, Qt.MouseButton.LeftButton))
        await until(lambda: "case migrated." in words(person))
        assert set(states(person)) == {"Still valid"}
        assert "small" not in file.read_text()
        await person.press("button.runAll")
        await until(lambda: words(person).startswith(f"{many} passed, 0 failed."))

    travel(journey, with_cases)
