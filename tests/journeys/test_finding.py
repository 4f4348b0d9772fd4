"""Finding by typing: any command, any node."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from designer import resource
from designer.chooser import Chooser, Line
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
        assert window.canvas.hasFocus()

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
