"""Finding by typing: any command, any node."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from designer import resource
from designer.chooser import Chooser, Line
from designer.document import edits
from designer.find_bar import FindBar
from tests.journeys.driving import Driver, by_hand, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
SSVC = resource("samples/ssvc-deployer/tree.json")


async def press(person: Driver, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier):
    await by_hand(lambda: QTest.keyClick(person.window.focusWidget(), key, modifiers))


async def typed(person: Driver, text: str) -> Chooser:
    chooser = person.seen(Chooser, "chooser")
    await by_hand(lambda: QTest.keyClicks(chooser.line, text))
    return chooser


def titles(chooser: Chooser) -> list[str]:
    return [line.title for line in chooser.offered]


def test_any_command_is_found_by_its_name_and_done(travel):
    async def journey(person: Driver) -> None:
        window = person.window
        window.canvas.setFocus()
        zoom = window.canvas.zoom
        await press(person, KEY.Key_P, CTRL | SHIFT)
        chooser = await typed(person, "zoom in")
        assert titles(chooser) == ["View: Zoom in"]
        assert chooser.offered[0].detail == "Ctrl++"
        await press(person, KEY.Key_Return)
        assert not chooser.isVisible()
        assert window.canvas.zoom > zoom
        assert window.focusWidget() is window.canvas

    travel(journey, SSVC)


def test_what_cannot_be_done_now_says_why_and_is_not_done(travel):
    async def journey(person: Driver) -> None:
        person.window.canvas.setFocus()
        await press(person, KEY.Key_P, CTRL | SHIFT)
        chooser = await typed(person, "undo")
        assert [line.reason for line in chooser.offered] == ["There is nothing to undo."]
        await press(person, KEY.Key_Return)
        assert chooser.isVisible()
        await press(person, KEY.Key_Escape)
        assert not chooser.isVisible()
        assert person.document.clean

    travel(journey, SSVC)


def test_panels_are_found_and_every_command_has_its_family(travel):
    async def journey(person: Driver) -> None:
        window = person.window
        window.canvas.setFocus()
        await press(person, KEY.Key_P, CTRL | SHIFT)
        chooser = await typed(person, "show records")
        assert titles(chooser) == ["Show: Records"]
        await press(person, KEY.Key_Return)
        await until(window.panels["records"].isVisible)

    travel(journey, SSVC)


def test_a_node_is_found_by_name_or_id_and_brought_into_sight(travel):
    async def journey(person: Driver) -> None:
        window, document = person.window, person.document
        window.canvas.setFocus()
        await press(person, KEY.Key_P, CTRL)
        chooser = await typed(person, "impact yes")
        assert {line.detail for line in chooser.offered} == {
            "human-impact-active-open-yes",
            "human-impact-active-small-yes",
        }
        await press(person, KEY.Key_Down)
        chosen = chooser.table.row
        assert isinstance(chosen, Line)
        await press(person, KEY.Key_Return)
        assert document.selection == {chosen.detail}
        card = window.canvas.scene().card(chosen.detail).card
        seen = window.canvas.mapToScene(window.canvas.viewport().rect()).boundingRect()
        assert seen.contains(card.x, card.y)

    travel(journey, SSVC)


def test_typing_never_reaches_the_canvas_and_what_fits_nothing_is_told(travel):
    async def journey(person: Driver) -> None:
        document = person.document
        document.select({"exploitation"})
        before = document.draft
        assert person.window.run_command("find.node")
        chooser = await typed(person, "c f xyzzy")
        await press(person, KEY.Key_Backspace)
        await press(person, KEY.Key_Delete)
        assert titles(chooser) == []
        await press(person, KEY.Key_Return)
        assert document.draft is before
        assert chooser.line.text() == "c f xyzz"

    travel(journey, SSVC)


def test_without_a_tree_commands_are_offered_and_nodes_are_not(travel):
    async def journey(person: Driver) -> None:
        window = person.window
        assert not window.run_command("find.node")
        assert window.message == "Open a tree first."
        assert window.run_command("find.command")
        chooser = await typed(person, "new tree")
        await press(person, KEY.Key_Return)
        assert not chooser.isVisible()
        assert window.workbench.current is not None

    travel(journey)


async def sought(person: Driver, text: str) -> FindBar:
    """The bar, when it has found what was typed."""
    assert person.window.run_command("find.text")
    bar = person.seen(FindBar, "find")
    await by_hand(lambda: QTest.keyClicks(bar.field, text))
    await until(lambda: bar.count.text() != "")
    return bar


def test_texts_are_found_counted_gone_through_and_stand_out(travel):
    async def journey(person: Driver) -> None:
        window, document = person.window, person.document
        scene = window.canvas.scene()
        bar = await sought(person, "accessible attack surface")
        assert bar.count.text() == "3 places"
        exposures = {f"system-exposure-{which}" for which in ("none", "public-poc", "active")}
        bright = {node for node, item in scene.node_items.items() if item.opacity() == 1}
        assert bright == exposures & scene.node_items.keys()
        seen = []
        for _ in range(4):
            await press(person, KEY.Key_Return)
            seen.append(next(iter(document.selection)))
            assert window.focusWidget() is bar.field, window.focusWidget()
        assert set(seen) == exposures
        assert seen[3] == seen[0]
        assert bar.count.text() == "1 of 3 places"
        await press(person, KEY.Key_Return, SHIFT)
        assert next(iter(document.selection)) == seen[2]
        await press(person, KEY.Key_Escape)
        assert not bar.isVisible()
        assert {item.opacity() for item in scene.node_items.values()} == {1.0}
        assert window.focusWidget() is window.canvas

    travel(journey, SSVC)


def test_all_that_is_found_is_replaced_in_one_step(travel):
    async def journey(person: Driver) -> None:
        window, document = person.window, person.document
        before = document.draft
        bar = await sought(person, "Exploitation")
        await by_hand(lambda: QTest.keyClicks(bar.other, "Abuse"))
        await by_hand(lambda: QTest.keyClick(bar.other, KEY.Key_Return))
        assert document.draft.tree.nodes["Abuse"].name == "Abuse"
        assert document.draft.tree.start_node_id == "Abuse"
        assert window.message.startswith("Replaced in ")
        assert document.undo_stack.undoText() == "Replace Exploitation"
        document.undo()
        assert document.draft is before

    travel(journey, SSVC)


def test_what_is_found_follows_edits_and_a_wrong_expression_is_told(travel):
    async def journey(person: Driver) -> None:
        document = person.document
        bar = await sought(person, "attack[")
        assert bar.count.text() == "Nothing found"
        assert not bar.replace.isEnabled()
        bar.expression.setChecked(True)
        assert bar.count.text().startswith("This is no regular expression")
        bar.field.setText("zebra")
        await until(lambda: bar.count.text() == "Nothing found")
        document.edit("Name", lambda draft: edits.set_field(draft, "exploitation", "name", "A zebra"))
        await until(lambda: bar.count.text() == "1 place")

    travel(journey, SSVC)
