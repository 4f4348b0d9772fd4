"""One gesture is one step, undo brings back exactly what was there, and a changed tree says so."""

import random
import re
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QTabBar

import designer
from designer import dialogs
from designer.document.design import Viewpoint
from designer.document.draft import Draft, Place
from designer.document.files import design_bytes
from designer.panels.history import HistoryPanel
from designer.running import RunState
from engine import NODE_TYPES, NodeId, write_tree
from tests.builders import as_bytes, as_json, demo_tree
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_editing import branches, key, steps, write

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, LEFT = Qt.Key, Qt.MouseButton.LeftButton
CTRL, PLAIN = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.NoModifier
LOOKING = ("file", "run", "view", "debug", "help")
"""The families of commands that edit nothing."""


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.json"
    path.write_bytes(as_bytes(as_json(demo_tree())))
    return path


def written(draft: Draft) -> tuple[bytes, bytes]:
    return write_tree(draft.tree), design_bytes(draft)


def editing_commands(person: Driver) -> list[str]:
    ids = [made.id for made, _ in person.window.commands]
    return [i for i in ids if i.partition(".")[0] not in LOOKING and i not in ("edit.undo", "edit.redo")]


def run(person: Driver, id: str) -> bool:
    """Run a command; what it asks the person is taken as it is offered."""
    canvas = person.window.canvas
    ran = person.window.run_command(id)
    if canvas.quick_add.isVisible():
        QTest.keyClick(canvas.quick_add.line, KEY.Key_Return)
    canvas.note_editor.finish(keep=True)
    return ran


async def drag(person: Driver, start: QPoint, *stops: QPoint) -> None:
    port = person.window.canvas.viewport()

    def by_mouse() -> None:
        QTest.mousePress(port, LEFT, pos=start)
        for stop in stops:
            QTest.mouseMove(port, stop)
        QTest.mouseRelease(port, LEFT, pos=stops[-1])

    await by_hand(by_mouse)


def title_of(person: Driver, node: NodeId) -> QPoint:
    place = person.document.draft.places[node]
    return person.window.canvas.mapFromScene(QPointF(place.x + 60, place.y + 14))


# ------------------------------------------------------------------------------------------ steps


def test_every_command_that_changes_the_tree_is_one_named_step_that_undo_takes_back(travel, demo):
    async def journey(person: Driver) -> None:
        document, canvas = person.document, person.window.canvas
        run(person, "note.add")
        changing = set[str]()
        choices: list[tuple[NodeId, ...]] = [(), ("verify",), ("verify", "approved", "rejected")]
        for id in editing_commands(person):
            for nodes in choices:
                for pick in ("", "branch", "note"):
                    document.select(() if pick else nodes)
                    canvas.pick_notes({"note"} if pick == "note" else ())
                    if pick == "branch":
                        canvas._pick(("collect", "success"))
                    before, index = document.draft, document.undo_stack.index()
                    run(person, id)
                    made = document.undo_stack.index() - index
                    assert made == (document.draft != before), (id, nodes, pick)
                    if made:
                        changing.add(id)
                        assert document.undo_stack.undoText(), id
                        document.undo()
                    assert document.draft is before, (id, nodes, pick)
        assert {
            "edit.delete",
            "edit.cut",
            "edit.duplicate",
            "edit.pin",
            "node.condition",
            "node.start",
        } <= changing
        assert {"branch.disconnect", "branch.insert", "note.colour", "note.delete", "align.left"} <= changing

    travel(journey, demo)


def test_a_drag_of_several_cards_is_one_step_and_a_drag_back_is_none(travel, demo):
    async def journey(person: Driver) -> None:
        document = person.document
        document.select({"verify", "approved"})
        start, before = title_of(person, "verify"), document.draft
        await drag(person, start, *(start + QPoint(20 * i, 15 * i) for i in range(1, 12)))
        assert steps(person) == ["Move 2 nodes"]
        moved = document.draft.places
        assert {i for i in moved if moved[i] != before.places[i]} == {"verify", "approved"}
        start = title_of(person, "verify")
        await drag(person, start, start + QPoint(90, 60), start + QPoint(150, 0), start)
        assert steps(person) == ["Move 2 nodes"]
        await key(person, KEY.Key_Z, CTRL)
        assert document.draft == before
        await key(person, KEY.Key_Y, CTRL)
        assert document.draft.places == moved

    travel(journey, demo)


def test_a_key_held_down_moves_in_one_step(travel, demo):
    async def journey(person: Driver) -> None:
        document, canvas = person.document, person.window.canvas
        document.select({"verify"})
        before = document.draft

        def hold() -> None:
            canvas.setFocus()
            for repeats in (False, True, True, True):
                event = QKeyEvent(QEvent.Type.KeyPress, KEY.Key_Right, PLAIN, "", autorep=repeats)
                QApplication.sendEvent(canvas, event)

        await by_hand(hold)
        assert steps(person) == ["Move node"]
        document.undo()
        assert document.draft == before

    travel(journey, demo)


def test_deleting_many_nodes_and_the_branches_that_led_to_them_is_one_step(travel, demo):
    async def journey(person: Driver) -> None:
        before = person.document.draft
        await key(person, KEY.Key_A, CTRL)
        await key(person, KEY.Key_Delete)
        assert not person.document.draft.tree.nodes
        assert steps(person) == ["Delete 7 nodes"]
        await key(person, KEY.Key_Z, CTRL)
        assert written(person.document.draft) == written(before)
        assert person.document.clean

    travel(journey, demo)


def test_what_changes_nothing_is_no_step(travel, demo):
    async def journey(person: Driver) -> None:
        document, window = person.document, person.window
        window.run_command("edit.layout")
        document.select({"collect"})
        window.run_command("node.start")
        for _ in range(2):
            window.run_command("align.snap")
        count = document.undo_stack.count()
        await key(person, KEY.Key_F2)
        await write(person.seen(QLineEdit, "field.id"), "", KEY.Key_Return)
        window.editing.connect_nodes("verify", "true", "approved")
        window.editing.disconnect_nodes("classify", "maybe")
        window.run_command("edit.layout")
        window.run_command("align.snap")
        assert document.undo_stack.count() == count

    travel(journey, demo)


def test_delete_takes_the_chosen_branch_and_not_the_node_chosen_before(travel, demo):
    async def journey(person: Driver) -> None:
        canvas, document = person.window.canvas, person.document
        await person.select("verify")
        route = canvas.scene().branches["collect", "success"].route.points
        middle = QPointF(sum(p.x for p in route) / len(route), sum(p.y for p in route) / len(route))
        await by_hand(lambda: QTest.mouseClick(canvas.viewport(), LEFT, pos=canvas.mapFromScene(middle)))
        assert (canvas.picked, document.selection) == (("collect", "success"), frozenset())
        await key(person, KEY.Key_Delete)
        assert "verify" in document.draft.tree.nodes
        assert "success" not in branches(person, "collect")
        await key(person, KEY.Key_Delete)
        assert steps(person) == ["Disconnect success"]

    travel(journey, demo)


def test_undoing_a_node_put_into_a_branch_within_a_frame_brings_the_former_tree_back(travel, demo):
    async def journey(person: Driver) -> None:
        document, window = person.document, person.window
        document.select({"classify", "verify", "approved"})
        run(person, "note.frame")
        for _ in range(2):
            before = document.draft
            window.canvas.insert_requested.emit("classify", "supported", "classify", Place(0, 0))
            after = document.draft
            assert branches(person, "classify")["supported"] == "classify-2"
            await key(person, KEY.Key_Z, CTRL)
            assert document.draft is before
            assert window.canvas.scene().branches["classify", "supported"].target == "verify"
            await key(person, KEY.Key_Y, CTRL)
            assert document.draft is after
            await key(person, KEY.Key_Z, CTRL)
            assert written(document.draft) == written(before)

    travel(journey, demo)


def test_five_hundred_commands_undone_and_redone_in_any_order_end_where_they_should(
    travel, demo, monkeypatch
):
    async def discard(*_: object) -> str:
        return "discard"

    async def journey(person: Driver) -> None:
        document, window, chance = person.document, person.window, random.Random(random.random())
        await person.show("history")
        panel = person.seen(HistoryPanel, "panel.history")
        ids, first = editing_commands(person), written(document.draft)
        for turn in range(500):
            nodes = list(document.draft.tree.nodes)
            document.select(chance.sample(nodes, min(len(nodes), chance.randint(0, 3))))
            match chance.randrange(8):
                case 0:
                    window.run_command("edit.undo")
                case 1:
                    window.run_command("edit.redo")
                case 2:
                    panel.table.opened.emit(chance.choice(panel.steps))
                case 3:
                    window.editing.add(chance.choice([*NODE_TYPES]), Place(chance.randrange(900), 0))
                case _:
                    run(person, chance.choice([i for i in ids if len(nodes) < 60 or i == "edit.delete"]))
            if turn % 20 == 0:
                await until(lambda: not window.arranging.busy)
        document.go_to(document.undo_stack.count())
        last = written(document.draft)
        while window.run_command("edit.undo"):
            pass
        assert (written(document.draft), document.clean) == (first, True)
        document.go_to(document.undo_stack.count())
        assert written(document.draft) == last
        monkeypatch.setattr(dialogs, "ask_save_changes", discard)
        window.close()
        await until(window.isHidden)

    travel(journey, demo)


def test_no_signal_carries_a_dictionary():
    root = Path(designer.__file__).parent
    made = {
        match
        for file in root.rglob("*.py")
        for match in re.findall(
            r"^    \w+ = Signal\(([^)]*)\)", file.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert {part.strip() for kinds in made for part in kinds.split(",")} <= {"", "object", "str", "int"}


# ------------------------------------------------------------------------------------------ changed or not


def says_changed(person: Driver) -> tuple[bool, bool]:
    """Whether the title of the window and the toolbar say that there is something to save."""
    edited = person.seen(QLabel, "document.edited").text() != ""
    assert edited == (not person.document.clean)
    return person.window.isWindowModified(), edited


def test_looking_around_choosing_and_running_change_nothing(travel, demo):
    async def journey(person: Driver) -> None:
        window, first = person.window, person.document
        await person.select("verify")
        looking = [made.id for made, _ in window.commands if made.id.startswith(("view.", "select."))]
        for id in [id for id in looking if id not in ("view.light", "view.dark", "view.system")]:
            window.run_command(id)
        window.canvas.look_from(Viewpoint(5, 5, 0.3))
        window.run_command("edit.select-all")
        window.run_command("edit.copy")
        window.run_command("file.new")
        window.workbench.show_document(first)
        window.run_command("file.save")
        assert says_changed(person) == (False, False)
        assert not demo.with_name("demo.design.json").exists()
        tabs = person.seen(QTabBar, "documents")
        assert [tabs.tabText(i) for i in range(2)] == ["demo", "new-tree"]

    travel(journey, demo)


def test_a_run_changes_nothing(travel):
    async def journey(person: Driver) -> None:
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ASKING)
        person.running.cancel()
        await until(lambda: person.running.state is RunState.ENDED)
        assert says_changed(person) == (False, False)

    travel(journey, designer.resource("samples/ssvc-deployer/tree.json"))


def test_a_tree_is_changed_exactly_while_it_differs_from_its_file(travel, demo):
    async def journey(person: Driver) -> None:
        window, document = person.window, person.document

        assert says_changed(person) == (False, False)
        window.editing.add("terminal", Place(0, 700))
        assert says_changed(person) == (True, True)
        window.run_command("edit.undo")
        assert says_changed(person) == (False, False)
        window.run_command("edit.redo")
        window.run_command("file.save")
        await until(lambda: document.clean)
        assert says_changed(person) == (False, False)
        window.run_command("edit.undo")
        assert says_changed(person) == (True, True)
        window.run_command("edit.redo")
        assert says_changed(person) == (False, False)
        window.run_command("edit.undo")
        document.select({"verify"})
        window.run_command("edit.delete")
        assert not window.run_command("edit.redo")
        assert says_changed(person) == (True, True)
        window.run_command("edit.undo")
        assert says_changed(person) == (True, True)

    travel(journey, demo)
