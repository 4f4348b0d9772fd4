"""Editing through the real window: clipboard, structure, notes, menus, keys, and one undo step each."""

import json

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QWidget

from designer.canvas.geometry import Rect, card_size, output_port
from designer.document import clipboard
from designer.document.draft import Place
from designer.panels.history import HistoryPanel
from engine import ConditionNode, NodeId, read_tree, write_tree
from tests.builders import as_bytes, as_json, condition_tree, demo_tree
from tests.journeys.driving import Driver, by_hand, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
KEY = Qt.Key


@pytest.fixture
def demo(tmp_path):
    path = tmp_path / "demo.json"
    path.write_bytes(as_bytes(as_json(demo_tree())))
    return path


async def key(
    person: Driver, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    """Press a key on the canvas, as a shortcut or as the canvas' own."""

    person.window.activateWindow()
    await until(person.window.isActiveWindow)

    def press() -> None:
        person.window.canvas.setFocus()
        QTest.keyClick(person.window.canvas, key, modifiers)

    await by_hand(press)


async def write(field: QWidget, text: str, *ending: object) -> None:
    """Type a text into a field, and then this key."""

    def type_() -> None:
        QTest.keyClicks(field, text)
        if ending:
            QTest.keyClick(field, *ending)  # type: ignore[call-overload]

    await by_hand(type_)


def select(person: Driver, *nodes: NodeId) -> None:
    person.document.select(nodes)


def steps(person: Driver) -> list[str]:
    stack = person.document.undo_stack
    return [stack.text(i) for i in range(stack.count())]


def branches(person: Driver, node: NodeId) -> dict[str, NodeId]:
    return dict(person.document.draft.tree.nodes[node].targets)


async def take(person: Driver, words: str) -> None:
    """Type into the quick-add field and take what is listed first."""
    quick = person.window.canvas.quick_add
    assert quick.isVisible()
    await write(quick.line, words, KEY.Key_Return)


def point(person: Driver, node: NodeId, x: float, y: float) -> QPoint:
    place = person.document.draft.places[node]
    return person.window.canvas.mapFromScene(QPointF(place.x + x, place.y + y))


async def menu(person: Driver, at: QPoint) -> dict[str, QAction]:
    """Right-click, and everything the menu offers by its command."""
    port = person.window.canvas.viewport()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, port.mapToGlobal(at))

    def click() -> dict[str, QAction]:
        QApplication.sendEvent(port, event)
        menus = (m for m in person.window.findChildren(QMenu) if m.objectName().startswith("menu."))
        (shown,) = (m for m in menus if m.isVisible())
        found = {action.objectName(): action for action in shown.actions()}
        for inner in shown.findChildren(QMenu):
            found |= {action.objectName(): action for action in inner.actions()}
        shown.close()
        return found

    return await by_hand(click)


# ------------------------------------------------------------------------------------------ clipboard


def test_nodes_go_from_one_tree_to_another_through_the_clipboard(travel, demo):
    async def journey(person: Driver) -> None:
        select(person, "verify", "approved")
        await key(person, KEY.Key_C, CTRL)
        mime = QGuiApplication.clipboard().mimeData()
        assert list(json.loads(mime.text())["nodes"]) == ["verify", "approved"]
        assert bytes(mime.data(clipboard.MIME).data()).decode() == mime.text()
        person.window.run_command("file.new")
        await key(person, KEY.Key_V, CTRL)
        assert list(person.document.draft.tree.nodes) == ["verify", "approved"]
        assert person.document.draft.tree.start_node_id == "verify"
        assert branches(person, "verify") == {"true": "approved"}
        assert person.document.selection == {"verify", "approved"}
        assert steps(person) == ["Paste 2 nodes"]
        await key(person, KEY.Key_Z, CTRL)
        assert not person.document.draft.tree.nodes

    travel(journey, demo)


def test_what_is_pasted_lands_at_the_pointer_and_keeps_outgoing_branches_with_shift(travel, demo):
    async def journey(person: Driver) -> None:
        select(person, "verify")
        await key(person, KEY.Key_C, CTRL)
        canvas = person.window.canvas
        spot = QPoint(400, 500)
        await by_hand(lambda: QTest.mouseMove(canvas.viewport(), spot))
        at = canvas.mapToScene(spot)
        await key(person, KEY.Key_V, CTRL)
        assert branches(person, "verify-2") == {}
        place = person.document.draft.places["verify-2"]
        assert abs(place.x - at.x()) <= 11
        assert abs(place.y + 17 - at.y()) <= 11
        await key(person, KEY.Key_V, CTRL | SHIFT)
        assert branches(person, "verify-3") == branches(person, "verify")

    travel(journey, demo)


def test_cutting_and_pasting_keeps_ids_and_duplicating_makes_new_ones(travel, demo):
    async def journey(person: Driver) -> None:
        places = person.document.draft.places
        select(person, "verify", "approved")
        await key(person, KEY.Key_X, CTRL)
        assert "verify" not in person.document.draft.tree.nodes
        await key(person, KEY.Key_V, CTRL)
        assert person.document.draft.places["verify"] == places["verify"]
        await key(person, KEY.Key_D, CTRL)
        assert person.document.selection == {"verify-2", "approved-2"}
        assert branches(person, "verify-2") == {"true": "approved-2"}
        assert steps(person) == ["Cut 2 nodes", "Paste 2 nodes", "Duplicate 2 nodes"]
        for _ in range(3):
            person.document.undo()
        assert person.document.draft.tree == demo_tree()
        assert person.document.clean

    travel(journey, demo)


def test_a_text_that_is_no_nodes_is_refused_in_one_sentence(travel, demo):
    async def journey(person: Driver) -> None:
        for text, words in (("Good morning", "no nodes"), ('{"nodes": {"a": null}}', "cannot be read")):
            QGuiApplication.clipboard().setText(text)
            await key(person, KEY.Key_V, CTRL)
            assert words in person.window.message
        assert steps(person) == []

    travel(journey, demo)


def test_the_text_of_a_whole_tree_can_be_pasted(travel):
    async def journey(person: Driver) -> None:
        person.window.run_command("file.new")
        QGuiApplication.clipboard().setText(write_tree(condition_tree()).decode())
        await key(person, KEY.Key_V, CTRL)
        assert person.document.draft.tree.nodes == condition_tree().nodes
        assert person.document.draft.tree.start_node_id == "collect"
        assert len(set(person.document.draft.places.values())) == 4

    travel(journey)


def test_keys_of_the_canvas_do_nothing_while_a_panel_or_a_field_has_the_focus(travel, demo):
    async def journey(person: Driver) -> None:
        select(person, "verify")
        await until(lambda: person.window.findChildren(QLineEdit, "field.name"))
        field = person.seen(QLineEdit, "field.name")
        for widget in (
            field,
            person.window.docks["outline"].widget(),
            person.window.docks["problems"].widget(),
        ):
            widget.setFocus()
            for shortcut in (KEY.Key_X, KEY.Key_D, KEY.Key_G):
                await write(widget, "", shortcut, CTRL)
            await write(widget, "", KEY.Key_Delete)
            await write(widget, "", KEY.Key_Insert)
        assert person.document.draft.tree == demo_tree()
        assert not person.window.canvas.quick_add.isVisible()

    travel(journey, demo)


# ------------------------------------------------------------------------------------------ structure


def test_a_branch_dropped_on_free_ground_becomes_a_new_node_in_one_step(travel, demo):
    async def journey(person: Driver) -> None:
        person.window.run_command("view.fit")
        draft, canvas = person.document.draft, person.window.canvas
        node, place = draft.tree.nodes["classify"], draft.places["classify"]
        port = output_port(Rect(place.x, place.y, *card_size(node, "classify")), node, "supported")
        start, end = canvas.mapFromScene(*port), QPoint(300, canvas.viewport().height() - 60)
        port_ = canvas.viewport()

        def drag() -> None:
            QTest.mousePress(port_, Qt.MouseButton.LeftButton, pos=start)
            QTest.mouseMove(port_, start + QPoint(20, 20))
            QTest.mouseMove(port_, end)
            QTest.mouseRelease(port_, Qt.MouseButton.LeftButton, pos=end)

        await by_hand(drag)
        await take(person, "condition")
        assert branches(person, "classify")["supported"] == "condition"
        assert person.document.selection == {"condition"}
        assert steps(person) == ["Add condition"]
        person.document.undo()
        assert person.document.draft.tree == demo_tree()

    travel(journey, demo)


def test_a_child_and_a_sibling_are_added_by_keys_alone(travel):
    async def journey(person: Driver) -> None:
        person.window.run_command("file.new")
        await key(person, KEY.Key_Space)
        await take(person, "condition")
        assert list(person.document.draft.tree.nodes) == ["condition"]
        await key(person, KEY.Key_Insert)
        await take(person, "terminal")
        assert branches(person, "condition") == {"true": "terminal"}
        assert person.document.selection == {"terminal"}
        await key(person, KEY.Key_Insert)
        assert not person.window.canvas.quick_add.isVisible()
        await key(person, KEY.Key_Insert, SHIFT)
        await take(person, "terminal")
        assert branches(person, "condition") == {"true": "terminal", "false": "terminal-2"}
        await key(person, KEY.Key_Insert, SHIFT)
        assert person.window.message == "No node that leads here has a free branch."
        select(person, "condition")
        assert not person.window.run_command("node.child")
        assert steps(person) == ["Add condition", "Add terminal", "Add terminal"]

    travel(journey)


def test_a_branch_is_connected_by_typing_the_name_of_its_target(travel, demo):
    async def journey(person: Driver) -> None:
        person.window.editing.disconnect_nodes("verify", "false")
        select(person, "verify")
        await key(person, KEY.Key_C)
        await take(person, "failed")
        assert branches(person, "verify")["false"] == "failed"

    travel(journey, demo)


def test_a_node_is_inserted_into_a_branch_and_detached_again(travel, demo):
    async def journey(person: Driver) -> None:
        canvas = person.window.canvas
        canvas.insert_requested.emit("classify", "supported", "condition", Place(0, 0))
        assert branches(person, "classify")["supported"] == "condition"
        assert branches(person, "condition") == {"true": "verify", "false": "verify"}
        draft = person.document.draft
        cards = {i: Rect(p.x, p.y, *card_size(draft.tree.nodes[i], i)) for i, p in draft.places.items()}
        assert cards["classify"].right < cards["condition"].x
        assert cards["condition"].right < cards["verify"].x
        assert person.document.selection == {"condition"}
        await key(person, KEY.Key_Delete, CTRL)
        assert person.document.draft.tree == demo_tree()
        assert steps(person) == ["Insert condition", "Delete node"]
        select(person, "classify")
        assert "which of them shall go on is not clear" in person.window.commands["node.detach"].toolTip()
        canvas.insert_requested.emit("classify", "supported", "terminal", Place(0, 900))
        assert branches(person, "classify") == dict(demo_tree().nodes["classify"].targets)

    travel(journey, demo)


def test_the_type_of_a_node_changes_and_what_fits_stays(travel, demo):
    async def journey(person: Driver) -> None:
        select(person, "classify")
        assert not person.window.run_command("node.classify")
        assert person.window.run_command("node.condition")
        assert isinstance(person.document.draft.tree.nodes["classify"], ConditionNode)
        assert branches(person, "classify") == {"true": "verify", "false": "rejected"}
        assert steps(person) == ["Change type to condition"]

    travel(journey, demo)


def test_up_and_downstream_are_selected_by_keys(travel, demo):
    async def journey(person: Driver) -> None:
        select(person, "verify")
        await key(person, KEY.Key_Down, CTRL | SHIFT)
        assert person.document.selection == {"verify", "approved", "failed"}
        select(person, "verify")
        await key(person, KEY.Key_Up, CTRL | SHIFT)
        assert person.document.selection == {"verify", "classify", "collect"}

    travel(journey, demo)


def test_cards_are_aligned_and_spread_in_one_step_each(travel, demo):
    async def journey(person: Driver) -> None:
        select(person, "verify", "approved")
        assert not person.window.run_command("align.across")
        select(person, "verify", "approved", "rejected")
        for id in ("align.left", "align.down", "align.snap"):
            person.window.run_command(id)
        xs = {person.document.draft.places[i].x for i in person.document.selection}
        assert len(xs) == 1
        assert steps(person)[:1] == ["Align: left sides"]

    travel(journey, demo)


def test_renaming_by_f2_is_one_step_and_escape_goes_back_to_the_canvas(travel, demo):
    async def journey(person: Driver) -> None:
        select(person, "verify")
        await key(person, KEY.Key_F2)
        field = person.seen(QLineEdit, "field.id")
        assert field.hasFocus()
        await write(field, "checked", KEY.Key_Return)
        assert branches(person, "classify")["supported"] == "checked"
        assert steps(person) == ["Rename node"]
        await write(field, "", KEY.Key_Escape)
        assert person.window.canvas.hasFocus()

    travel(journey, demo)


# ------------------------------------------------------------------------------------------ notes


def test_notes_and_frames_are_written_saved_and_never_exported(travel, demo):
    async def journey(person: Driver) -> None:
        canvas = person.window.canvas
        person.window.run_command("note.add")
        await write(canvas.note_editor, "Ask Ada", KEY.Key_Return, CTRL)
        select(person, "verify", "approved")
        await key(person, KEY.Key_G, CTRL)
        await write(canvas.note_editor, "Approval", KEY.Key_Return, CTRL)
        notes = person.document.draft.notes
        assert {name: (note.kind, note.text) for name, note in notes.items()} == {
            "note": ("note", "Ask Ada"),
            "frame": ("frame", "Approval"),
        }
        assert canvas.scene().within("frame")[0] >= {"verify", "approved"}
        assert person.window.run_command("note.colour")
        assert steps(person) == ["Add note", "Edit note", "Add frame", "Edit frame", "Colour frame"]
        person.window.run_command("file.save")
        await until(lambda: person.document.clean)
        assert read_tree(demo.read_bytes()).tree == demo_tree()
        saved = person.document.draft.notes
        person.window.workbench.remove(person.document)
        person.window.open_path(demo)
        assert {n: note.text for n, note in person.document.draft.notes.items()} == {
            n: note.text for n, note in saved.items()
        }
        assert person.document.draft.notes["frame"].colour == saved["frame"].colour
        canvas.pick_notes({"note"})
        assert person.window.run_command("note.delete")
        assert list(person.document.draft.notes) == ["frame"]

    travel(journey, demo)


# ------------------------------------------------------------------------------------------ menus, history


def test_menus_offer_what_can_be_done_and_say_why_something_cannot(travel, demo):
    async def journey(person: Driver) -> None:
        person.window.run_command("view.fit")
        node = await menu(person, point(person, "classify", 60, 60))
        assert person.document.selection == {"classify"}
        assert {"node.rename", "edit.copy", "node.condition", "align.left", "node.detach"} <= node.keys()
        assert not node["node.detach"].isEnabled()
        assert "not clear" in node["node.detach"].toolTip()
        ground = await menu(person, QPoint(8, 8))
        assert {"node.add", "note.add", "edit.paste"} <= ground.keys()
        branch = await menu(person, point(person, "classify", -6, 17))
        assert person.window.canvas.picked == ("collect", "success")
        assert branch["branch.disconnect"].isEnabled()
        branch["branch.disconnect"].trigger()
        assert "success" not in branches(person, "collect")
        assert steps(person) == ["Disconnect success"]

    travel(journey, demo)


def test_a_chosen_branch_gets_a_node_or_another_end_from_its_menu(travel, demo):
    async def journey(person: Driver) -> None:
        person.window.canvas._pick(("collect", "success"))
        assert person.window.run_command("branch.insert")
        assert "terminal" not in {choice.kind for choice in person.window.canvas.quick_add.offered}
        await take(person, "action")
        assert branches(person, "collect")["success"] == "action"
        person.window.canvas._select(frozenset())
        person.window.canvas._pick(("collect", "success"))
        assert person.window.run_command("branch.lead")
        await take(person, "rejected")
        assert branches(person, "collect")["success"] == "rejected"
        person.window.canvas._pick(("collect", "success"))
        person.window.run_command("branch.end")
        assert person.document.selection == {"rejected"}

    travel(journey, demo)


def test_the_history_goes_back_by_a_click(travel, demo):
    async def journey(person: Driver) -> None:
        await person.show("history")
        select(person, "verify")
        await key(person, KEY.Key_D, CTRL)
        await key(person, KEY.Key_Delete)
        panel = person.seen(HistoryPanel, "panel.history")
        assert [step.label for step in panel.steps] == [
            "As it was opened",
            "Duplicate node",
            "Delete node",
        ]
        panel.table.opened.emit(panel.table.rows[1])
        assert "verify-2" in person.document.draft.tree.nodes
        panel.table.opened.emit(panel.table.rows[0])
        assert person.document.clean

    travel(journey, demo)


def test_a_field_takes_back_its_own_typing(travel, demo):
    async def journey(person: Driver) -> None:
        select(person, "verify")
        await person.type("name", "Check")
        assert steps(person) == ["Edit name"]
        field = person.seen(QLineEdit, "field.name")
        field.setFocus()
        await write(field, "ed", KEY.Key_Z, CTRL)
        assert (person.document.draft.tree.nodes["verify"].name or "") == field.text() != "Checked"
        assert "verify" in person.document.draft.tree.nodes

    travel(journey, demo)


def test_every_command_of_editing_says_why_it_cannot_be_run_without_a_tree(travel):
    async def journey(person: Driver) -> None:
        for made, action in person.window.commands:
            if made.id.partition(".")[0] in {"node", "branch", "note", "align", "select"}:
                assert not person.window.run_command(made.id), made.id
                assert action.toolTip().endswith("."), made.id

    travel(journey)
