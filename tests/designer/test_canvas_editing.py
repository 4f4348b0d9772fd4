"""What hands ask for when they edit on the canvas: new ends of branches, new nodes, notes, and menus."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QByteArray, QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QDropEvent, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from designer import theme
from designer.canvas.notes import NoteItem
from designer.canvas.overlay import Overlay
from designer.canvas.picture import render_png
from designer.canvas.quick_add import Choice
from designer.canvas.style import Style
from designer.canvas.view import NODE_TYPE_MIME, CanvasView
from designer.document import edits
from designer.document.draft import Draft, Note, Place
from engine import NodeId
from tests.designer.drafts import triage

# Said of every tooltip and menu by the platform without a screen.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)

LEFT, KEY = Qt.MouseButton.LeftButton, Qt.Key
PLAIN = Qt.KeyboardModifier.NoModifier


class Desk:
    """A view whose wishes about notes and places come true, and a list of everything it asked for."""

    def __init__(self, view: CanvasView) -> None:
        self.view, self.draft = view, triage()
        self.selection: frozenset[NodeId] = frozenset()
        self.asked: list[tuple[object, ...]] = []
        view.selection_requested.connect(self.select)
        view.notes_requested.connect(self.note)
        for name in ("connect", "disconnect", "add", "insert", "lead", "quick_add", "menu", "open"):
            getattr(view, f"{name}_requested").connect(self.listen(name))

    def listen(self, name: str):
        return lambda *values: self.asked.append((name, *values))

    def show(self) -> None:
        self.view.show_draft(self.draft, Overlay(), self.selection)

    def select(self, nodes: frozenset[NodeId]) -> None:
        self.selection = nodes
        self.show()

    def note(self, label, notes, places, merge) -> None:
        self.asked.append((label, merge))
        self.draft = edits.move_nodes(edits.set_notes(self.draft, notes), places)
        self.show()

    def put(self, **notes: Note) -> None:
        self.draft = edits.set_notes(self.draft, notes)
        self.show()

    def at(self, x: float, y: float) -> QPoint:
        return self.view.mapFromScene(QPointF(x, y))

    def of(self, node: NodeId, x: float, y: float) -> QPoint:
        place = self.draft.places[node]
        return self.at(place.x + x, place.y + y)

    def drag(self, start: QPoint, *stops: QPoint) -> None:
        port = self.view.viewport()
        QTest.mousePress(port, LEFT, PLAIN, start)
        for stop in stops:
            QTest.mouseMove(port, stop)
        QTest.mouseRelease(port, LEFT, PLAIN, stops[-1])

    def key(self, key: Qt.Key) -> None:
        QTest.keyClick(self.view, key)

    def drop(self, kind: str, at: QPoint) -> None:
        mime = QMimeData()
        mime.setData(NODE_TYPE_MIME, QByteArray(kind.encode()))
        self.view.dropEvent(
            QDropEvent(QPointF(at), Qt.DropAction.CopyAction, mime, LEFT, PLAIN, QDropEvent.Type.Drop)
        )


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    window = QWidget()
    layout = QVBoxLayout(window)
    qtbot.addWidget(window)
    view = CanvasView(lambda *_: None)
    layout.addWidget(view)
    window.resize(1700, 900)
    desk = Desk(view)
    desk.show()
    with qtbot.waitExposed(window):
        window.show()
    view.fit()
    view.setFocus()
    yield desk
    QToolTip.hideText()


# ------------------------------------------------------------------------------------------ branches


def test_the_end_of_a_branch_dragged_to_another_card_leads_it_there(desk: Desk):
    desk.drag(desk.of("known", -6, 17), desk.of("good", 10, 60), desk.of("good", 30, 17))
    assert desk.asked == [("connect", "ask", "unknown", "good")]


def test_of_branches_that_end_in_one_place_the_chosen_one_is_led_elsewhere(desk: Desk):
    route = desk.view.scene().branches["load", "success"].route
    middle = desk.at(
        (route.points[0].x + route.points[-1].x) / 2, (route.points[0].y + route.points[-1].y) / 2
    )
    QTest.mouseClick(desk.view.viewport(), LEFT, PLAIN, middle)
    assert desk.view.picked == ("load", "success")
    desk.drag(desk.of("ask", -6, 17), desk.of("known", 20, 60), desk.of("known", 40, 17))
    assert desk.asked == [("connect", "load", "success", "known")]


def test_a_branch_dropped_on_free_ground_asks_what_it_shall_lead_to(desk: Desk):
    start, end = desk.of("ask", 236, 86 + 27 * 1.5), desk.of("ask", 300, 330)
    desk.drag(start, start + QPoint(30, 30), end)
    ((what, source, branch, at),) = desk.asked
    assert (what, source, branch) == ("lead", "ask", "no")
    assert isinstance(at, QPointF)
    assert (desk.at(at.x(), at.y()) - end).manhattanLength() <= 2


def test_a_click_on_the_end_of_a_branch_only_chooses_it(desk: Desk):
    QTest.mouseClick(desk.view.viewport(), LEFT, PLAIN, desk.of("known", -6, 17))
    assert desk.view.picked == ("ask", "unknown")
    assert not desk.asked


def test_a_kind_dropped_on_a_branch_is_put_within_it(desk: Desk):
    desk.drop("condition", desk.of("ask", 60, 400))
    route = desk.view.scene().branches["load", "success"].route
    middle = QPointF(
        sum(point.x for point in route.points) / len(route.points),
        sum(point.y for point in route.points) / len(route.points),
    )
    desk.drop("condition", desk.view.mapFromScene(middle))
    assert [asked[:-1] for asked in desk.asked] == [
        ("add", "condition"),
        ("insert", "load", "success", "condition"),
    ]


# ------------------------------------------------------------------------------------------ adding


def test_a_tap_of_space_and_a_double_click_on_the_ground_ask_for_a_node(desk: Desk):
    QTest.mouseMove(desk.view.viewport(), QPoint(300, 60))
    desk.key(KEY.Key_Space)
    QTest.mouseDClick(desk.view.viewport(), LEFT, PLAIN, QPoint(500, 60))
    assert [what for what, *_ in desk.asked] == ["quick_add", "quick_add"]
    first, second = (desk.view.mapFromScene(at) for _, at in desk.asked if isinstance(at, QPointF))
    assert (first - QPoint(300, 60)).manhattanLength() <= 2
    assert (second - QPoint(500, 60)).manhattanLength() <= 2


def test_space_held_to_pan_asks_for_nothing(desk: Desk):
    QTest.keyPress(desk.view, KEY.Key_Space)
    desk.drag(QPoint(300, 60), QPoint(360, 90))
    QTest.keyRelease(desk.view, KEY.Key_Space)
    assert not desk.asked


CHOICES = [
    Choice("New question", "classify"),
    Choice("Refuse", "terminal", "bad"),
    Choice("Fine", "terminal", "good"),
]


def test_typing_filters_what_is_offered_and_enter_takes_it(desk: Desk):
    taken: list[Choice] = []
    desk.view.offer("Add a node", CHOICES, QPointF(0, 0), taken.append)
    quick = desk.view.quick_add
    assert quick.isVisible()
    assert [c.title for c in quick.offered] == ["New question", "Refuse", "Fine"]
    QTest.keyClicks(quick.line, "FI")
    assert [c.title for c in quick.offered] == ["Fine"]
    QTest.keyClick(quick.line, KEY.Key_Return)
    assert [c.node for c in taken] == ["good"]
    assert not quick.isVisible()
    assert desk.view.hasFocus()


def test_arrows_go_through_what_is_offered_and_a_click_takes_it(desk: Desk):
    taken: list[Choice] = []
    quick = desk.view.quick_add
    desk.view.offer("Add a node", CHOICES, QPointF(0, 0), taken.append)
    QTest.keyClick(quick.line, KEY.Key_Down)
    QTest.keyClick(quick.line, KEY.Key_Return)
    desk.view.offer("Add a node", CHOICES, QPointF(0, 0), taken.append)
    rows = quick.list
    QTest.mouseClick(rows.viewport(), LEFT, PLAIN, rows.visualItemRect(rows.item(2)).center())
    assert [c.title for c in taken] == ["Refuse", "Fine"]


def test_escape_takes_nothing_and_nothing_fits_takes_nothing(desk: Desk):
    taken: list[Choice] = []
    quick = desk.view.quick_add
    desk.view.offer("Add a node", CHOICES, QPointF(0, 0), taken.append)
    QTest.keyClicks(quick.line, "nothing like it")
    QTest.keyClick(quick.line, KEY.Key_Return)
    assert quick.isVisible()
    QTest.keyClick(quick.line, KEY.Key_Escape)
    assert not quick.isVisible()
    assert not taken


def test_what_is_offered_near_the_edge_stays_within_the_view(desk: Desk):
    corner = desk.view.mapToScene(desk.view.viewport().rect().bottomRight())
    desk.view.offer("Add a node", CHOICES * 30, corner, lambda _: None)
    assert desk.view.rect().contains(desk.view.quick_add.geometry())
    assert len(desk.view.quick_add.offered) == 40


def test_names_that_look_like_markup_are_offered_as_they_are(desk: Desk):
    desk.view.offer("<b>Add</b>", [Choice("<img src=x>", "classify")], QPointF(0, 0), lambda _: None)
    assert desk.view.quick_add.list.item(0).text() == "<img src=x>"


# ------------------------------------------------------------------------------------------ notes

PAPER = Note(Place(0, 297), 220, 110, "# Why\n\nBecause **so**.")
FRAME = Note(Place(300, -60), 620, 300, "Asking", "frame")


def test_notes_are_drawn_behind_the_cards_and_frames_behind_notes(desk: Desk):
    desk.put(paper=PAPER, frame=FRAME)
    items = desk.view.scene().note_items
    assert items["frame"].zValue() < items["paper"].zValue() < 0
    assert desk.view.scene().contents().contains(items["paper"].box)
    desk.put(paper=None)  # type: ignore[arg-type]
    assert list(items) == ["frame"]


def test_a_note_is_moved_by_a_drag_and_undone_by_escape(desk: Desk):
    desk.put(paper=PAPER)
    start = desk.at(60, 340)
    desk.drag(start, start + QPoint(30, 10), start + QPoint(60, 40))
    assert {label for label, _ in desk.asked} == {"Move note"}
    assert len({merge for _, merge in desk.asked}) == 1
    moved = desk.draft.notes["paper"]
    assert moved.place.x > 0
    assert (moved.place.x % 11, moved.width, moved.height) == (0, 220, 110)
    QTest.mousePress(desk.view.viewport(), LEFT, PLAIN, desk.at(moved.place.x + 60, moved.place.y + 40))
    QTest.mouseMove(desk.view.viewport(), QPoint(30, 30))
    desk.key(KEY.Key_Escape)
    QTest.mouseRelease(desk.view.viewport(), LEFT, PLAIN, QPoint(30, 30))
    assert desk.draft.notes["paper"] == moved


def test_a_frame_takes_along_what_lies_in_it_and_nothing_else(desk: Desk):
    inside = Note(Place(600, 0), 44, 44)
    desk.put(paper=inside, frame=FRAME)
    places = dict(desk.draft.places)
    start = desk.at(400, -45)
    desk.drag(start, start + QPoint(40, 0), start + QPoint(80, 0))
    moved = desk.draft.notes["frame"].place.x - 300
    assert moved > 0
    assert {i for i, place in desk.draft.places.items() if place != places[i]} == {"ask", "known"}
    assert desk.draft.places["ask"].x - places["ask"].x == moved
    assert desk.draft.notes["paper"].place.x == 600 + moved


def test_the_ground_within_a_frame_is_open(desk: Desk):
    desk.put(frame=FRAME)
    start = desk.at(322, 215)
    desk.drag(start, start + QPoint(30, -30), desk.at(700, 100))
    assert desk.selection == {"ask", "known"}
    assert not desk.asked


def test_the_corner_of_a_note_sizes_it_down_to_a_least(desk: Desk):
    desk.put(paper=PAPER)
    desk.drag(desk.at(217, 407), desk.at(250, 450), desk.at(330, 500))
    assert (desk.draft.notes["paper"].width, desk.draft.notes["paper"].place) == (330, Place(0, 297))
    note = desk.draft.notes["paper"]
    corner = desk.at(note.width - 3, 300 + note.height - 3)
    desk.drag(corner, corner - QPoint(30, 30), desk.at(-500, -500))
    assert (desk.draft.notes["paper"].width, desk.draft.notes["paper"].height) == (88, 44)


def test_a_note_is_written_where_it_lies_and_the_text_is_one_step(desk: Desk):
    desk.put(paper=PAPER)
    QTest.mouseDClick(desk.view.viewport(), LEFT, PLAIN, desk.at(60, 340))
    editor = desk.view.note_editor
    assert editor.isVisible()
    assert editor.toPlainText() == PAPER.text
    QTest.keyClicks(editor, "Other words")
    QTest.keyClick(editor, KEY.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert desk.draft.notes["paper"].text == "Other words"
    assert desk.asked == [("Edit note", None)]
    assert desk.view.hasFocus()
    desk.key(KEY.Key_Return)
    QTest.keyClicks(editor, "Never mind")
    QTest.keyClick(editor, KEY.Key_Escape)
    assert desk.draft.notes["paper"].text == "Other words"


def test_looking_elsewhere_keeps_what_was_written(desk: Desk):
    desk.put(paper=PAPER)
    desk.view.write_note("paper")
    QTest.keyClicks(desk.view.note_editor, "Kept")
    desk.view.zoom_in()
    assert desk.draft.notes["paper"].text == "Kept"
    assert not desk.view.note_editor.isVisible()


def test_delete_takes_the_chosen_note_and_arrows_move_it(desk: Desk):
    desk.put(paper=PAPER)
    QTest.mouseClick(desk.view.viewport(), LEFT, PLAIN, desk.at(60, 340))
    assert desk.view.picked_note == "paper"
    desk.key(KEY.Key_Right)
    assert desk.draft.notes["paper"].place == Place(11, 297)
    desk.key(KEY.Key_Delete)
    assert desk.draft.notes == {}
    assert desk.view.picked_note is None


def test_the_text_of_a_note_loads_nothing_and_shows_markup_as_text(qapp: QApplication, tmp_path, monkeypatch):
    loaded: list[object] = []
    monkeypatch.setattr(QTextDocument, "loadResource", lambda *args: loaded.append(args))
    picture = tmp_path / "secret.png"
    picture.write_bytes(render_png(triage(), tokens=theme.LIGHT, scale=0.2))
    item = NoteItem("note", Style(theme.LIGHT))
    text = f"![secret]({picture}) <img src='{picture}'> <script>x</script>\n\n![a][b]\n\n[b]: {picture}"
    item.put(Note(Place(0, 0), 400, 200, text))
    document = item._document
    assert "<script>" in document.toPlainText()
    assert "\ufffc" not in document.toPlainText()  # the sign of a picture
    assert not loaded


@pytest.mark.parametrize(
    "text", ["", "x" * 20_000, "a\n" * 5_000, "* " * 3_000, "|a|b|\n|-|-|\n|1|2|", "\ud800"]
)
def test_any_text_can_be_drawn(qapp: QApplication, text: str):
    notes = {
        "a": Note(Place(0, 0), 88, 44, text),
        "b": Note(Place(0, 100), 300, 200, text, "frame", "no colour"),
    }
    for tokens in (theme.LIGHT, theme.DARK):
        assert render_png(Draft(triage().tree, triage().places, notes=notes), tokens=tokens).startswith(
            b"\x89PNG"
        )


# ------------------------------------------------------------------------------------------ menus


def menu_at(desk: Desk, at: QPoint) -> list[tuple[object, ...]]:
    port = desk.view.viewport()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, port.mapToGlobal(at))
    desk.asked.clear()
    desk.view.contextMenuEvent(event)
    return [asked[:2] for asked in desk.asked]


def test_a_menu_is_about_what_was_clicked_which_is_then_selected(desk: Desk):
    desk.put(paper=PAPER)
    assert menu_at(desk, desk.of("ask", 60, 60)) == [("menu", "node")]
    assert desk.selection == {"ask"}
    assert menu_at(desk, desk.of("known", -6, 17)) == [("menu", "branch")]
    assert (desk.selection, desk.view.picked) == (frozenset(), ("ask", "unknown"))
    assert menu_at(desk, desk.at(60, 340)) == [("menu", "note")]
    assert (desk.view.picked, desk.view.picked_note) == (None, "paper")
    assert menu_at(desk, QPoint(5, 5)) == [("menu", "ground")]
    assert desk.view.picked_note is None


def test_a_menu_on_one_of_several_selected_cards_is_about_all_of_them(desk: Desk):
    desk.select(frozenset({"ask", "known"}))
    assert menu_at(desk, desk.of("ask", 60, 60)) == [("menu", "node")]
    assert desk.selection == {"ask", "known"}


def test_the_menu_key_opens_the_menu_of_what_is_selected(desk: Desk):
    desk.select(frozenset({"ask"}))
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(0, 0), QPoint(0, 0))
    desk.view.contextMenuEvent(event)
    ((what, about, where),) = desk.asked
    assert (what, about) == ("menu", "node")
    assert isinstance(where, QPoint)
    near = desk.view.viewport().mapToGlobal(desk.of("ask", 118, 80))
    assert (where - near).manhattanLength() < 60
