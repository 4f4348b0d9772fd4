"""Notes are chosen, moved and asked to go together with cards, by mouse and by keys."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from designer.document.draft import Note, Place
from tests.designer.test_canvas_editing import Desk, desk

__all__ = ["desk"]
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)

KEY, LEFT = Qt.Key, Qt.MouseButton.LeftButton
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
PAPER = Note(Place(330, 352), 220, 110, "Ask Ada")
FRAME = Note(Place(627, -66), 300, 352, "Checks", "frame")


@pytest.fixture(autouse=True)
def noted(desk: Desk) -> None:
    """A paper below the second card and a frame around the third, and moves of cards that come true."""
    desk.put(paper=PAPER, frame=FRAME)
    desk.view.move_requested.connect(lambda places, key: desk.note("Move nodes", {}, places, key))
    desk.view.fit()


def chosen(desk: Desk) -> tuple[set[str], set[str]]:
    picked = {name for name, item in desk.view.scene().note_items.items() if item.picked}
    assert picked == desk.view.picked_notes
    return set(desk.selection), picked


def click(desk: Desk, at: QPoint, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.mouseClick(desk.view.viewport(), LEFT, modifiers, at)


def test_a_rubber_band_chooses_cards_and_notes_and_a_frame_only_as_a_whole(desk: Desk):
    desk.drag(desk.at(300, 480), desk.at(500, 300), desk.at(560, 20))
    assert chosen(desk) == ({"ask"}, {"paper"})
    desk.drag(desk.at(940, 300), desk.at(700, 200), desk.at(700, -20))
    assert chosen(desk) == ({"known"}, set())
    desk.drag(desk.at(940, 310), desk.at(700, 200), desk.at(610, -90))
    assert chosen(desk) == ({"known"}, {"frame"})


def test_shift_adds_notes_to_cards_and_ctrl_turns_them_round(desk: Desk):
    click(desk, desk.of("ask", 60, 12))
    click(desk, desk.at(400, 400), SHIFT)
    assert (chosen(desk), desk.view.picked_note) == (({"ask"}, {"paper"}), None)
    click(desk, desk.of("load", 60, 12), SHIFT)
    assert chosen(desk) == ({"ask", "load"}, {"paper"})
    click(desk, desk.at(400, 400), CTRL)
    assert chosen(desk) == ({"ask", "load"}, set())
    click(desk, desk.at(400, 400), CTRL)
    click(desk, desk.of("ask", 60, 12), CTRL)
    assert chosen(desk) == ({"load"}, {"paper"})
    click(desk, desk.at(400, 400))
    assert (chosen(desk), desk.view.picked_note) == ((set(), {"paper"}), "paper")
    click(desk, desk.at(400, 600))
    assert chosen(desk) == (set(), set())


@pytest.mark.parametrize("by", ["card", "note"])
def test_a_drag_of_either_moves_all_that_is_chosen_under_one_key(desk: Desk, by: str):
    before = desk.draft
    click(desk, desk.of("ask", 60, 12))
    click(desk, desk.at(400, 400), SHIFT)
    desk.asked.clear()
    start = desk.of("ask", 60, 12) if by == "card" else desk.at(400, 400)
    middle, end = start + QPoint(20, 30), start + QPoint(40, 60)
    desk.drag(start, middle, end)
    after = desk.draft
    dx, dy = (after.places["ask"].x - before.places["ask"].x, after.places["ask"].y - before.places["ask"].y)
    assert dx > 0 < dy
    assert after.notes["paper"].place == Place(PAPER.place.x + dx, PAPER.place.y + dy)
    assert after.places["known"] == before.places["known"]
    assert {label for label, _ in desk.asked} == {"Move 2 cards and notes"}
    assert len({merge for _, merge in desk.asked}) == 1
    assert chosen(desk) == ({"ask"}, {"paper"})


def test_a_frame_that_is_chosen_with_a_card_takes_along_what_lies_in_it(desk: Desk):
    before = desk.draft
    click(desk, desk.of("ask", 60, 12))
    click(desk, desk.at(700, -55), SHIFT)
    assert chosen(desk) == ({"ask"}, {"frame"})
    desk.key(KEY.Key_Down)
    after = desk.draft
    moved = {i for i in after.places if after.places[i] != before.places[i]}
    assert moved == {"ask", "known"}
    assert after.notes["frame"].place.y > FRAME.place.y
    assert after.notes["paper"] == PAPER


def test_escape_puts_cards_and_notes_back_and_then_chooses_nothing(desk: Desk):
    click(desk, desk.of("ask", 60, 12))
    click(desk, desk.at(400, 400), SHIFT)
    before, port, start = desk.draft, desk.view.viewport(), desk.at(400, 400)
    QTest.mousePress(port, LEFT, pos=start)
    QTest.mouseMove(port, start + QPoint(40, 60))
    assert desk.draft != before
    desk.key(KEY.Key_Escape)
    QTest.mouseRelease(port, LEFT, pos=start)
    assert desk.draft == before
    desk.key(KEY.Key_Escape)
    assert chosen(desk) == (set(), set())


def test_tab_goes_on_from_the_last_card_to_the_notes_and_back(desk: Desk):
    desk.select(frozenset({"bad"}))
    desk.key(KEY.Key_Tab)
    assert chosen(desk) == (set(), {"paper"})
    assert "Selected: Note: Ask Ada." in desk.view.accessibleDescription()
    desk.key(KEY.Key_Tab)
    assert chosen(desk) == (set(), {"frame"})
    desk.key(KEY.Key_Backtab)
    desk.key(KEY.Key_Backtab)
    assert chosen(desk) == ({"bad"}, set())


def test_delete_takes_notes_alone_at_once_and_asks_for_cards_and_notes_together(desk: Desk):
    asked: list[str] = []
    desk.view.delete_requested.connect(lambda: asked.append("delete"))
    desk.view.pick_notes({"paper", "frame"})
    desk.key(KEY.Key_Delete)
    assert desk.draft.notes == {}
    assert desk.asked == [("Delete 2 notes", None)]
    desk.put(paper=PAPER)
    desk.select(frozenset({"ask"}))
    desk.view.pick_notes({"paper"})
    desk.key(KEY.Key_Delete)
    assert asked == ["delete"]
    assert "paper" in desk.draft.notes


def test_what_is_chosen_elsewhere_lets_go_of_notes(desk: Desk):
    desk.select(frozenset({"ask"}))
    desk.view.pick_notes({"paper", "nobody"})
    assert chosen(desk) == ({"ask"}, {"paper"})
    desk.select(frozenset({"good"}))
    assert chosen(desk) == ({"good"}, set())
    desk.view.pick_notes({"paper", "frame"})
    desk.draft = type(desk.draft)(desk.draft.tree, desk.draft.places, notes={"frame": FRAME})
    desk.show()
    assert chosen(desk) == ({"good"}, {"frame"})


def test_a_menu_on_one_of_several_chosen_parts_is_about_all_of_them(desk: Desk):
    click(desk, desk.of("ask", 60, 12))
    click(desk, desk.at(400, 400), SHIFT)
    at = desk.at(420, 410)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, desk.view.viewport().mapToGlobal(at))
    QApplication.sendEvent(desk.view.viewport(), event)
    assert chosen(desk) == ({"ask"}, {"paper"})
    assert desk.asked[-1][:2] == ("menu", "node")
