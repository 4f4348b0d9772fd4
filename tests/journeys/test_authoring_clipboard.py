"""Copies land where the person points, in one step, in any tree of any window, and share nothing."""

import json
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from designer.app import create
from engine import ActionNode, Transition, Tree, write_tree
from tests.builders import as_bytes, as_json, demo_tree
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_editing import branches, key, steps, write

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY = Qt.Key
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
CHAIN = [f"step-{i}" for i in range(1, 13)]


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.json"
    path.write_bytes(as_bytes(as_json(demo_tree())))
    return path


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """Twelve nodes in a row."""
    led = dict(pairwise(CHAIN))
    nodes = {
        i: ActionNode(
            action_key="do",
            transitions=(Transition(condition="success", next_node_id=led[i]),) if i in led else (),
        )
        for i in CHAIN
    }
    path = tmp_path / "chain.json"
    path.write_bytes(write_tree(Tree(tree_id="chain", version=1, start_node_id=CHAIN[0], nodes=nodes)))
    return path


async def point_at(person: Driver, spot: QPoint) -> None:
    """Move the pointer here; it comes from elsewhere, because Qt says nothing of one that was here before."""
    for at in (spot + QPoint(9, 9), spot):
        await by_hand(partial(QTest.mouseMove, person.window.canvas.viewport(), at))


def test_a_pasted_chain_lands_whole_at_the_pointer_and_one_undo_takes_it_away(travel, chain):
    async def journey(person: Driver) -> None:
        document, canvas = person.document, person.window.canvas
        before = document.draft
        await key(person, KEY.Key_A, CTRL)
        await key(person, KEY.Key_C, CTRL)
        canvas.set_zoom(0.7)
        spot = QPoint(300, 420)
        await point_at(person, spot)
        at = canvas.mapToScene(spot)
        await key(person, KEY.Key_V, CTRL)
        copies = [i for i in document.draft.tree.nodes if i not in before.tree.nodes]
        assert len(copies) == 12
        assert document.selection == set(copies)
        assert [branches(person, i).get("success") for i in copies] == [*copies[1:], None]
        places = document.draft.places
        left, top = min(places[i].x for i in copies), min(places[i].y for i in copies)
        assert abs(left - at.x()) <= 11
        assert abs(top + 17 - at.y()) <= 11
        shape = [(places[i].x - left, places[i].y - top) for i in copies]
        old = before.places
        x, y = min(p.x for p in old.values()), min(p.y for p in old.values())
        assert shape == [(old[i].x - x, old[i].y - y) for i in CHAIN]
        assert steps(person) == ["Paste 12 nodes"]
        await key(person, KEY.Key_Z, CTRL)
        assert document.draft is before

    travel(journey, chain)


def test_nodes_are_copied_from_one_window_to_another(travel, demo, chain):
    async def journey(person: Driver) -> None:
        other = create(chain)
        other.show()
        second = Driver(other)
        try:
            person.document.select({"verify", "approved"})
            await key(person, KEY.Key_C, CTRL)
            await key(second, KEY.Key_V, CTRL)
            assert list(second.document.draft.tree.nodes) == [*CHAIN, "verify", "approved"]
            assert branches(second, "verify") == {"true": "approved"}
            assert person.document.clean
            second.document.undo()
        finally:
            other.workbench.close()
            other.deleteLater()

    travel(journey, demo)


def test_branches_to_the_outside_are_dropped_or_kept_by_choice(travel, demo):
    async def journey(person: Driver) -> None:
        person.document.select({"classify", "verify"})
        await key(person, KEY.Key_C, CTRL)
        await key(person, KEY.Key_V, CTRL)
        assert branches(person, "classify-2") == {"supported": "verify-2"}
        assert branches(person, "verify-2") == {}
        await key(person, KEY.Key_V, CTRL | SHIFT)
        outside = {"unsupported": "rejected", "unknown": "unknown"}
        assert branches(person, "classify-3") == {"supported": "verify-3"} | outside
        assert branches(person, "verify-3") == {"true": "approved", "false": "failed"}

    travel(journey, demo)


def test_a_copy_shares_neither_id_nor_content_with_what_it_was_copied_from(travel, demo):
    async def journey(person: Driver) -> None:
        document = person.document
        before = document.draft.tree.nodes
        document.select({"verify"})
        for _ in range(3):
            await key(person, KEY.Key_D, CTRL)
        assert {"verify-2", "verify-3", "verify-4"} <= document.draft.tree.nodes.keys()
        document.select({"verify-2"})
        await person.type("name", "Copied")
        person.window.editing.connect_nodes("verify-2", "true", "rejected")
        await key(person, KEY.Key_F2)
        field = person.seen(QLineEdit, "field.id")
        await write(field, "another", KEY.Key_Return)
        document.select({"another"})
        await key(person, KEY.Key_Delete)
        after = document.draft.tree.nodes
        assert {i: after[i] for i in before} == before
        person.window.run_command("file.save")
        await until(lambda: document.clean)
        assert len(json.loads(demo.read_bytes())["nodes"]) == len(before) + 2

    travel(journey, demo)


def test_a_file_with_two_nodes_of_one_id_is_refused_with_the_place(travel, tmp_path):
    path = tmp_path / "twice.json"
    text = write_tree(demo_tree()).decode().replace('"rejected": {', '"approved": {')
    path.write_text(text)
    line = [n for n, words in enumerate(text.split("\n"), 1) if '"approved": {' in words][1]

    async def journey(person: Driver) -> None:
        page = person.window.pages.text
        assert page.isVisible()
        assert f"Line {line}, column 5: The name 'approved' appears twice" in page.problems

    travel(journey, path)
    assert path.read_text() == text
