"""Nodes are added by typing, where the person points, and renamed wherever anything speaks of them."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QLabel, QLineEdit

from designer.canvas.geometry import output_port
from designer.document import breakpoints, design
from designer.document.draft import Place
from engine import NodeId, read_tree
from tests.builders import as_bytes, as_json, demo_tree
from tests.journeys.driving import Driver, until
from tests.journeys.test_authoring_clipboard import point_at
from tests.journeys.test_editing import branches, key, steps, take, write

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY = Qt.Key
ODD = r'is it "there"? \n'
CASES = (
    '{"id": "fine",  "answers": {"classify": "supported"}, "conditions": {"verify": true}, '
    '"actions": {"collect": {"status": "success"}}, "expect": {"path": ["collect", "classify", "verify", '
    '"approved"], "verdict": "supported"}}\n'
)
PROJECT = (
    '{"format": 1, "trees": {"demo-evidence-tree": {"classify": {"classify": {"minConfidence": 0.50}}}}}\n'
)


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.json"
    path.write_bytes(as_bytes(as_json(demo_tree())))
    (tmp_path / "cases.jsonl").write_text(CASES)
    (tmp_path / "treewright.json").write_text(PROJECT)
    return path


async def rename(person: Driver, old: NodeId, new: NodeId) -> None:
    person.document.select({old})
    await key(person, KEY.Key_F2)
    await write(person.seen(QLineEdit, "field.id"), new, KEY.Key_Return)


async def save(person: Driver) -> None:
    person.window.run_command("file.save")
    await until(lambda: person.document.clean)


# ------------------------------------------------------------------------------------------ type to add


def test_a_node_is_typed_where_the_person_points_with_all_its_branches_at_once(travel):
    async def journey(person: Driver) -> None:
        person.window.run_command("file.new")
        canvas = person.window.canvas
        for spot, words, kind, rows in (
            (QPoint(120, 150), "cond", "condition", ("true", "false")),
            (QPoint(120, 420), "act", "action", ("success", "transientFailure", "permanentFailure")),
            (QPoint(520, 150), "ques", "classify", ("unknown",)),
            (QPoint(520, 420), "term", "terminal", ()),
        ):
            await point_at(person, spot)
            at = canvas.mapToScene(spot)
            await key(person, KEY.Key_Space)
            await take(person, words)
            card = canvas.scene().card(kind)
            assert card.rows == rows
            assert abs(card.card.x - at.x()) <= 11
            assert abs(card.card.y + 17 - at.y()) <= 11
            assert [
                canvas.scene().spot(QPointF(*output_port(card.card, card.node, row))).branch for row in rows
            ] == [*rows]
            assert person.document.selection == {kind}
        assert len(steps(person)) == 4

    travel(journey)


def test_what_is_offered_is_only_what_may_be_there(travel, demo):
    async def journey(person: Driver) -> None:
        canvas, draft = person.window.canvas, person.document.draft
        canvas._pick(("classify", "supported"))
        person.window.run_command("branch.insert")
        assert [choice.kind for choice in canvas.quick_add.offered] == ["action", "classify", "condition"]
        await write(canvas.quick_add.line, "terminal")
        assert not canvas.quick_add.offered
        await write(canvas.quick_add.line, "", KEY.Key_Escape)
        canvas._pick(("classify", "supported"))
        person.window.run_command("branch.lead")
        assert {choice.node for choice in canvas.quick_add.offered} == {None, *draft.tree.nodes}
        await write(canvas.quick_add.line, "", KEY.Key_Escape)
        person.document.select({"approved"})
        assert not person.window.run_command("node.child")
        assert person.window.message == "A terminal ends the run and leads nowhere."
        assert person.document.draft is draft

    travel(journey, demo)


def test_an_answer_led_to_free_ground_makes_its_node_and_undo_takes_both_back(travel, demo):
    async def journey(person: Driver) -> None:
        canvas, before = person.window.canvas, person.document.draft
        spot = canvas.mapToScene(QPoint(200, canvas.viewport().height() - 80))
        canvas.lead_requested.emit("classify", "unknown", spot)
        await take(person, "new term")
        assert branches(person, "classify")["unknown"] == "terminal"
        assert abs(person.document.draft.places["terminal"].x - spot.x()) <= 11
        assert len(steps(person)) == 1
        person.document.undo()
        assert person.document.draft is before

    travel(journey, demo)


# ------------------------------------------------------------------------------------------ rename


def test_a_new_id_is_followed_by_branches_start_pin_breakpoints_cases_and_project(travel, demo):
    async def journey(person: Driver) -> None:
        document, folder = person.document, demo.parent
        before = document.draft.tree.nodes
        document.edit("Pin", lambda draft: design.pin(draft, {"classify"}, on=True))
        document.edit("Breakpoint", lambda draft: breakpoints.toggle(draft, "classify", "supported"))
        await rename(person, "classify", "relevant")
        await rename(person, "collect", "begin")
        after = document.draft
        assert after.tree.start_node_id == "begin"
        assert branches(person, "begin")["success"] == "relevant"
        assert list(after.tree.nodes) == ["begin", "relevant", *list(before)[2:]]
        assert design.pinned(after) == {"relevant"}
        assert [b.spot for b in breakpoints.breakpoints(after)] == [("relevant", "supported")]
        assert document.selection == {"begin"}
        assert (folder / "cases.jsonl").read_text() == CASES
        await save(person)
        assert "The new ids are in cases.jsonl and treewright.json too." in person.window.message
        assert read_tree(demo.read_bytes()).tree == after.tree
        renamed = CASES.replace('"classify"', '"relevant"').replace('"collect"', '"begin"')
        assert (folder / "cases.jsonl").read_text() == renamed
        classified = PROJECT.replace('{"classify": {"minC', '{"relevant": {"minC')
        assert (folder / "treewright.json").read_text() == classified
        assert [case.id for case in person.window.workbench.cases] == ["fine"]
        assert person.window.workbench.case_trouble is None
        while person.window.run_command("edit.undo"):
            pass
        assert document.draft.tree.nodes == before
        await save(person)
        assert ((folder / "cases.jsonl").read_text(), (folder / "treewright.json").read_text()) == (
            CASES,
            PROJECT,
        )

    travel(journey, demo)


def test_a_renamed_tree_opens_equal_and_runs_as_before(travel, demo):
    async def journey(person: Driver) -> None:
        await rename(person, "verify", ODD)
        await rename(person, "approved", "1")
        await save(person)
        person.window.workbench.remove(person.document)
        person.window.open_path(demo)
        assert branches(person, "classify")["supported"] == ODD
        assert branches(person, ODD) == {"true": "1", "false": "failed"}
        assert not [p for p in person.document.check_now() if p.severity == "error"]
        case = json.loads((demo.parent / "cases.jsonl").read_text())
        assert case["expect"]["path"] == ["collect", "classify", ODD, "1"]

    travel(journey, demo)


@pytest.mark.parametrize(
    ("typed", "reason"), [("approved", "Another node is called approved."), (" ", "A node needs an id.")]
)
def test_an_id_that_is_empty_or_taken_is_refused_with_the_reason_and_changes_nothing(
    travel, demo, typed, reason
):
    async def journey(person: Driver) -> None:
        before = person.document.draft
        person.document.select({"verify"})
        await key(person, KEY.Key_F2)
        field = person.seen(QLineEdit, "field.id")
        await write(field, typed)
        assert reason in [label.text() for label in person.window.findChildren(QLabel) if label.isVisible()]
        await write(field, "", KEY.Key_Return)
        assert person.document.draft is before
        assert person.document.clean

    travel(journey, demo)


def test_a_node_added_under_a_name_that_became_free_is_not_taken_for_the_renamed_one(travel, demo):
    async def journey(person: Driver) -> None:
        await rename(person, "verify", "checked")
        person.window.editing.add("condition", Place(0, 900))
        await rename(person, "condition", "verify")
        await save(person)
        case = json.loads((demo.parent / "cases.jsonl").read_text())
        assert case["conditions"] == {"checked": True}
        assert branches(person, "classify")["supported"] == "checked"

    travel(journey, demo)
