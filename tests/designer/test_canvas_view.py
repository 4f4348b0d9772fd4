"""What hands ask for on the canvas, through the real view and real mouse and key events."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

import pytest
from PySide6.QtCore import QByteArray, QEvent, QMimeData, QObject, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QDropEvent, QImage, QPaintEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from designer import theme
from designer.canvas.overlay import Overlay
from designer.canvas.view import NODE_TYPE_MIME, CanvasView
from designer.document import edits
from designer.document.draft import Draft, Place
from engine import NodeId, Tree
from tests.designer.drafts import triage

# Said of every tooltip by the platform without a screen.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)

LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
CTRL, SHIFT, ALT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
)
KEY = Qt.Key


@dataclass
class Desk:
    """A view whose wishes about selection and places come true, with a note of everything it asked for."""

    view: CanvasView
    draft: Draft
    selection: frozenset[NodeId] = frozenset()
    asked: list[tuple[object, ...]] = field(default_factory=list)
    refused: dict[NodeId, str] = field(default_factory=dict)

    def show(self) -> None:
        self.view.show_draft(self.draft, Overlay(), self.selection)

    def select(self, nodes: frozenset[NodeId]) -> None:
        self.selection = nodes
        self.show()

    def move(self, places: dict[NodeId, Place], key: str) -> None:
        self.draft = edits.move_nodes(self.draft, places)
        self.asked.append(("move", key))
        self.show()

    def note(self, what: str):
        return lambda *values: self.asked.append((what, *values))

    def at(self, node: NodeId, x: float, y: float) -> QPoint:
        """A place of a card, on the viewport."""
        place = self.draft.places[node]
        return self.view.mapFromScene(QPointF(place.x + x, place.y + y))

    def port(self, node: NodeId, row: int) -> QPoint:
        return self.at(node, 236, 86 + 27 * (row + 0.5))

    def click(self, at: QPoint, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.mouseClick(self.view.viewport(), LEFT, modifiers, at)

    def drag(
        self,
        start: QPoint,
        *stops: QPoint,
        button: Qt.MouseButton = LEFT,
        modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
        release: bool = True,
    ) -> None:
        viewport = self.view.viewport()
        QTest.mousePress(viewport, button, modifiers, start)
        for stop in stops:
            QTest.mouseMove(viewport, stop)
        if release:
            QTest.mouseRelease(viewport, button, modifiers, stops[-1])

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.view, key, modifiers)

    def wheel(self, at: QPoint, turn: QPoint, modifiers: Qt.KeyboardModifier) -> None:
        position = QPointF(at)
        event = QWheelEvent(
            position,
            QPointF(self.view.viewport().mapToGlobal(at)),
            QPoint(),
            turn,
            Qt.MouseButton.NoButton,
            modifiers,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(self.view.viewport(), event)


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    window.setLayout(QVBoxLayout())
    qtbot.addWidget(window)
    return window


@pytest.fixture
def desk(qtbot: QtBot, window: QWidget) -> Iterator[Desk]:
    refused: dict[NodeId, str] = {}
    view = CanvasView(lambda *link: refused.get(link[2]))
    desk = Desk(view, triage(), refused=refused)
    view.selection_requested.connect(desk.select)
    view.move_requested.connect(desk.move)
    for name in ("connect", "disconnect", "delete", "open", "add"):
        getattr(view, f"{name}_requested").connect(desk.note(name))
    layout = window.layout()
    assert layout is not None
    layout.addWidget(view)
    window.resize(1700, 700)
    desk.show()
    with qtbot.waitExposed(window):
        window.show()
    view.fit()
    view.setFocus()
    yield desk
    QToolTip.hideText()


def test_a_click_selects_and_a_click_on_the_ground_selects_nothing(desk: Desk):
    desk.click(desk.at("ask", 60, 60))
    assert desk.selection == {"ask"}
    desk.click(QPoint(5, 5))
    assert desk.selection == frozenset()


def test_shift_adds_and_ctrl_toggles(desk: Desk):
    desk.click(desk.at("ask", 60, 60))
    desk.click(desk.at("known", 60, 60), SHIFT)
    assert desk.selection == {"ask", "known"}
    desk.click(desk.at("ask", 60, 60), CTRL)
    assert desk.selection == {"known"}


def test_a_click_on_one_of_several_selected_cards_selects_it_alone(desk: Desk):
    desk.select(frozenset({"ask", "known"}))
    desk.click(desk.at("ask", 60, 60))
    assert desk.selection == {"ask"}


def test_a_rubber_band_selects_what_it_touches(desk: Desk):
    start, end = desk.at("ask", -20, -30), desk.at("known", 20, 40)
    desk.drag(start, start + QPoint(30, 30), end)
    assert desk.selection == {"ask", "known"}
    assert not desk.asked


def test_a_rubber_band_with_shift_adds_and_with_ctrl_turns_round(desk: Desk):
    desk.select(frozenset({"load", "ask"}))
    start, end = desk.at("ask", -20, -30), desk.at("known", 20, 40)
    desk.drag(start, end, modifiers=SHIFT)
    assert desk.selection == {"load", "ask", "known"}
    desk.select(frozenset({"load", "ask"}))
    desk.drag(start, end, modifiers=CTRL)
    assert desk.selection == {"load", "known"}


def test_a_drag_moves_the_selection_on_the_grid_under_one_merge_key(desk: Desk):
    desk.select(frozenset({"ask", "known"}))
    start = desk.at("ask", 60, 60)
    desk.drag(start, start + QPoint(17, 13), start + QPoint(31, 40), start + QPoint(43, 71))
    keys = [values for what, *values in desk.asked if what == "move"]
    assert len(keys) > 1
    assert all(key == keys[0] for key in keys)
    ask, known = desk.draft.places["ask"], desk.draft.places["known"]
    assert (known.x - ask.x, known.y - ask.y) == (330, 0)
    assert (ask.x % 11, ask.y % 11) == (0, 0)
    assert ask != triage().places["ask"]
    assert desk.draft.places["load"] == triage().places["load"]
    assert desk.selection == {"ask", "known"}


def test_two_drags_have_two_merge_keys(desk: Desk):
    for _ in range(2):
        start = desk.at("ask", 60, 60)
        desk.drag(start, start + QPoint(40, 40))
    assert len({key for _, key in desk.asked}) == 2


def test_escape_puts_dragged_cards_back(desk: Desk):
    start = desk.at("ask", 60, 60)
    desk.drag(start, start + QPoint(40, 40), release=False)
    assert desk.draft.places["ask"] != triage().places["ask"]
    desk.key(KEY.Key_Escape)
    assert desk.draft.places == triage().places
    QTest.mouseRelease(desk.view.viewport(), LEFT, pos=start + QPoint(40, 40))
    assert desk.draft.places == triage().places


def test_a_trembling_hand_moves_nothing(desk: Desk):
    start = desk.at("ask", 60, 60)
    desk.drag(start, start + QPoint(2, 1))
    assert not desk.asked
    assert desk.selection == {"ask"}


def test_a_drag_from_a_port_connects(desk: Desk):
    desk.drag(desk.port("ask", 0), desk.at("known", 20, 300), desk.at("bad", 20, 17))
    assert desk.asked == [("connect", "ask", "yes", "bad")]


def test_a_drag_from_a_port_shows_where_it_may_end(desk: Desk):
    desk.refused["known"] = "Not to <b>that</b> one."
    cards = desk.view.scene().node_items
    desk.drag(desk.port("ask", 0), desk.at("bad", 20, 17), release=False)
    assert (cards["bad"].hint, cards["known"].hint, cards["load"].hint) == ("target", "refused", "")
    QTest.mouseMove(desk.view.viewport(), desk.at("known", 60, 60))
    assert cards["bad"].hint == ""
    assert "Not to &lt;b&gt;that&lt;/b&gt; one." in QToolTip.text()
    desk.key(KEY.Key_Escape)
    assert {card.hint for card in cards.values()} == {""}


def test_a_refused_connection_is_not_asked_for(desk: Desk):
    desk.refused["known"] = "Not that one."
    desk.drag(desk.port("ask", 0), desk.at("known", 20, 17), desk.at("known", 60, 60))
    assert not desk.asked


def test_a_line_dropped_on_the_ground_or_called_off_asks_for_nothing(desk: Desk):
    desk.drag(desk.port("ask", 0), desk.at("known", 60, 400))
    desk.drag(desk.port("ask", 0), desk.at("known", 60, 60), release=False)
    desk.key(KEY.Key_Escape)
    QTest.mouseRelease(desk.view.viewport(), LEFT, pos=desk.at("known", 60, 60))
    desk.click(desk.port("ask", 0))
    desk.drag(desk.port("ask", 0), desk.port("ask", 0) + QPoint(60, 60), desk.port("ask", 0))
    assert not desk.asked


def test_a_loop_is_made_by_dropping_on_the_own_title(desk: Desk):
    desk.drag(desk.port("ask", 0), desk.at("ask", 100, 60), desk.at("ask", 60, 17))
    assert desk.asked == [("connect", "ask", "yes", "ask")]


def test_the_keys_of_a_line_or_a_chip_under_the_pointer(desk: Desk):
    scene = desk.view.scene()
    chip = scene.branches["load", "permanentFailure"].route.chip
    assert chip is not None
    on_chip = desk.view.mapFromScene(QPointF(chip.x + chip.w / 2, chip.y + chip.h / 2))
    QTest.mouseMove(desk.view.viewport(), on_chip)
    assert scene.edge_items["load", "permanentFailure"].lit
    assert scene.node_items["bad"].hint == "target"
    desk.click(on_chip)
    assert desk.selection == {"bad"}
    QTest.mouseMove(desk.view.viewport(), QPoint(4, 4))
    assert not scene.edge_items["load", "permanentFailure"].lit


def middle_of(desk: Desk, source: NodeId, branch: str) -> QPoint:
    path = desk.view.scene().branches[source, branch].route.points
    a, b = path[0], path[-1]
    return desk.view.mapFromScene(QPointF((a.x + b.x) / 2, (a.y + b.y) / 2))


def test_delete_takes_the_chosen_branch_and_leaves_the_node_chosen_before(desk: Desk):
    desk.select(frozenset({"known"}))
    desk.click(middle_of(desk, "load", "success"))
    assert desk.selection == frozenset()
    assert desk.view.scene().edge_items["load", "success"].lit
    desk.key(KEY.Key_Delete)
    assert desk.asked == [("disconnect", "load", "success")]


def test_a_chosen_branch_is_let_go_when_a_node_is_selected_elsewhere(desk: Desk):
    desk.click(middle_of(desk, "load", "success"))
    desk.select(frozenset({"known"}))
    assert not desk.view.scene().edge_items["load", "success"].lit
    desk.key(KEY.Key_Delete)
    assert desk.asked == [("delete",)]


def test_alt_and_a_click_take_a_branch_away(desk: Desk):
    desk.click(middle_of(desk, "load", "success"), ALT)
    assert desk.asked == [("disconnect", "load", "success")]


@pytest.mark.parametrize("key", [KEY.Key_Delete, KEY.Key_Backspace])
def test_delete_is_asked_for_only_while_the_canvas_has_the_focus(desk: Desk, window: QWidget, key: Qt.Key):
    line = QLineEdit("text")
    layout = window.layout()
    assert layout is not None
    layout.addWidget(line)
    desk.select(frozenset({"ask"}))
    line.setFocus()
    QTest.keyClick(line, key)
    assert not desk.asked
    desk.view.setFocus()
    desk.key(key)
    assert desk.asked == [("delete",)]


def test_arrows_move_the_selection_by_a_step_and_with_shift_by_five(desk: Desk):
    desk.select(frozenset({"ask", "known"}))
    desk.key(KEY.Key_Right)
    desk.key(KEY.Key_Down, SHIFT)
    assert desk.draft.places["ask"] == Place(330 + 11, 55)
    assert desk.draft.places["known"] == Place(660 + 11, 55)


def test_arrows_pan_while_nothing_is_selected(desk: Desk):
    before = desk.view.mapToScene(0, 0)
    desk.key(KEY.Key_Right)
    assert desk.view.mapToScene(0, 0).x() > before.x()
    assert not desk.asked


def test_alt_and_arrows_follow_branches_and_columns(desk: Desk):
    desk.draft = edits.move_nodes(desk.draft, {"known": Place(330, 300)})
    desk.show()
    desk.key(KEY.Key_Right, ALT)
    assert desk.selection == {"load"}
    desk.key(KEY.Key_Right, ALT)
    assert desk.selection == {"ask"}
    desk.key(KEY.Key_Down, ALT)
    assert desk.selection == {"known"}
    desk.key(KEY.Key_Up, ALT)
    desk.key(KEY.Key_Left, ALT)
    assert desk.selection == {"load"}


def test_tab_goes_through_every_node_and_leaves_at_the_end(desk: Desk):
    seen: list[NodeId] = []
    for _ in desk.draft.tree.nodes:
        desk.key(KEY.Key_Tab)
        seen += desk.selection
    assert seen == list(desk.draft.tree.nodes)
    desk.key(KEY.Key_Tab)
    assert not desk.view.hasFocus()


def test_ctrl_tab_leaves_at_once(desk: Desk):
    desk.select(frozenset({"load"}))
    desk.key(KEY.Key_Tab, CTRL)
    assert not desk.view.hasFocus()
    assert desk.selection == {"load"}


def test_enter_and_a_double_click_open_a_node(desk: Desk):
    desk.select(frozenset({"ask"}))
    desk.key(KEY.Key_Return)
    QTest.mouseDClick(desk.view.viewport(), LEFT, pos=desk.at("known", 60, 60))
    assert desk.asked == [("open", "ask"), ("open", "known")]


def test_escape_selects_nothing(desk: Desk):
    desk.select(frozenset({"ask"}))
    desk.key(KEY.Key_Escape)
    assert desk.selection == frozenset()


@pytest.mark.parametrize("turn", [120, -120, 15, -40])
def test_zooming_keeps_the_point_under_the_pointer(desk: Desk, turn: int):
    at = QPoint(321, 123)
    before, zoom = desk.view.mapToScene(at), desk.view.zoom
    desk.wheel(at, QPoint(0, turn), CTRL)
    after = desk.view.mapToScene(at)
    assert (desk.view.zoom > zoom) == (turn > 0)
    assert abs(after.x() - before.x()) * desk.view.zoom <= 2
    assert abs(after.y() - before.y()) * desk.view.zoom <= 2


def test_zoom_follows_the_turn_of_the_wheel_and_stays_in_its_limits(desk: Desk):
    view = desk.view
    view.set_zoom(1.0)
    for _ in range(4):
        desk.wheel(QPoint(50, 50), QPoint(0, 30), CTRL)
    in_parts = view.zoom
    view.set_zoom(1.0)
    desk.wheel(QPoint(50, 50), QPoint(0, 120), CTRL)
    assert view.zoom == pytest.approx(in_parts)
    for turn, limit in ((12_000, 3.0), (-12_000, 0.1)):
        desk.wheel(QPoint(50, 50), QPoint(0, turn), CTRL)
        assert view.zoom == pytest.approx(limit)


def test_the_wheel_scrolls_and_the_middle_button_and_space_pan(desk: Desk):
    view = desk.view
    corner = view.mapToScene(0, 0)
    desk.wheel(QPoint(50, 50), QPoint(0, -120), Qt.KeyboardModifier.NoModifier)
    scrolled = view.mapToScene(0, 0)
    assert scrolled.y() > corner.y()
    desk.drag(QPoint(600, 300), QPoint(560, 300), QPoint(500, 300), button=MIDDLE)
    assert view.mapToScene(0, 0).x() == pytest.approx(scrolled.x() + 100 / view.zoom, abs=3)
    QTest.keyPress(view, KEY.Key_Space)
    desk.drag(desk.at("ask", 60, 60), desk.at("ask", 60, 160))
    QTest.keyRelease(view, KEY.Key_Space)
    assert view.mapToScene(0, 0).y() == pytest.approx(scrolled.y() - 100, abs=3)
    assert not desk.asked
    assert desk.selection == frozenset()


def test_fit_shows_the_whole_tree_and_the_zoom_is_written_on_the_bar(desk: Desk):
    view = desk.view
    view.set_zoom(3.0)
    view.fit()
    shown = view.mapToScene(view.viewport().rect()).boundingRect()
    assert shown.contains(view.scene().contents())
    assert view.zoom <= 1
    assert view.zoom_bar.factor.text() == f"{round(view.zoom * 100)} %"
    view.fit({"bad"})
    assert view.zoom == 1.0
    assert abs(view.mapToScene(view.viewport().rect().center()).x() - 1320) < 200


def test_a_view_fitted_before_it_is_shown_fits_when_it_is(qtbot: QtBot, qapp: QApplication):
    view = CanvasView(lambda *_: None)
    qtbot.addWidget(view)
    view.show_draft(triage(), Overlay(), frozenset())
    view.fit()
    view.resize(500, 400)
    with qtbot.waitExposed(view):
        view.show()
    assert view.mapToScene(view.viewport().rect()).boundingRect().contains(view.scene().contents())


def test_reveal_brings_a_far_node_into_sight(desk: Desk):
    desk.view.set_zoom(3.0)
    desk.view.reveal("bad")
    shown = desk.view.mapToScene(desk.view.viewport().rect()).boundingRect()
    assert shown.contains(QPointF(1320 + 20, 17))


def test_a_node_type_dropped_from_the_palette_is_asked_for_at_its_place(desk: Desk):
    mime = QMimeData()
    mime.setData(NODE_TYPE_MIME, QByteArray(b"classify"))
    at = desk.at("ask", 118, 500)
    event = QDropEvent(
        QPointF(at),
        Qt.DropAction.CopyAction,
        mime,
        LEFT,
        Qt.KeyboardModifier.NoModifier,
        QDropEvent.Type.Drop,
    )
    desk.view.dropEvent(event)
    ((what, kind, place),) = desk.asked
    assert (what, kind) == ("add", "classify")
    assert isinstance(place, Place)
    assert abs(place.x - 330) <= 11
    assert abs(place.y - 483) <= 11
    assert (place.x % 11, place.y % 11) == (0, 0)


def test_a_free_place_is_free_and_in_view(desk: Desk):
    place = desk.view.free_place()
    desk.draft = edits.add_node(desk.draft, "classify", place)
    desk.show()
    assert desk.view.free_place() != place
    assert desk.view.viewport().rect().contains(desk.view.mapFromScene(QPointF(place.x, place.y)))


def test_an_empty_tree_says_how_to_begin(desk: Desk):
    assert not desk.view.hint.isVisible()
    desk.draft = Draft(Tree())
    desk.show()
    assert desk.view.hint.isVisible()


def test_the_breadcrumb_is_there_only_during_a_run_and_never_wider_than_the_view(desk: Desk):
    crumb = desk.view.breadcrumb
    assert not crumb.isVisible()
    desk.view.set_breadcrumb([("load", False), ("success", True), ("ask <b>", False)])
    assert crumb.isVisible()
    assert crumb.accessibleName() == "Path: load › success › ask <b>"  # noqa: RUF001 - as shown
    desk.view.set_breadcrumb([(f"node {i}", False) for i in range(300)])
    assert crumb.width() <= desk.view.width()
    desk.view.set_breadcrumb([])
    assert not crumb.isVisible()


def test_what_is_selected_is_told_to_a_screen_reader(desk: Desk):
    desk.select(frozenset({"ask"}))
    assert desk.view.accessibleName() == "Tree canvas"
    assert "ask, Question, 3 branches" in desk.view.accessibleDescription()


def test_the_canvas_follows_the_theme(desk: Desk, qapp: QApplication):
    try:
        theme.apply(qapp, "dark")
        assert desk.view.scene().look.canvas == QColor(theme.DARK.canvas)
        assert desk.view.grab().toImage().pixelColor(3, 300) != QColor(theme.LIGHT.canvas)
    finally:
        theme.apply(qapp, "light")


class Painted(QObject):
    """How much of a widget is painted from now on."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.pixels = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            parts = cast("Iterable[QRect]", event.region())  # Qt's own types do not know it
            self.pixels += sum(part.width() * part.height() for part in parts)
        return False


def on_screen(view: CanvasView) -> bytes:
    """How bright each pixel of the screen is now; nothing is painted for this."""
    QApplication.processEvents()
    picture = view.screen().grabWindow(view.window().winId()).toImage()
    return bytes(picture.convertToFormat(QImage.Format.Format_Grayscale8).constBits())


def test_looking_around_paints_only_what_comes_into_sight_and_leaves_nothing_behind(desk: Desk):
    view = desk.view
    view.window().resize(900, 500)
    view.set_breadcrumb([("load", False), ("success", True), ("ask", False)])
    view.set_zoom(1.5)
    on_screen(view)
    assert view.minimap.isVisible()
    pixels = view.viewport().width() * view.viewport().height()
    for way in (QPoint(-60, -28), QPoint(50, 0), QPoint(0, 80), QPoint(22, -100)):
        painted = Painted(view.viewport())
        desk.wheel(QPoint(300, 200), way, Qt.KeyboardModifier.NoModifier)
        moved = on_screen(view)
        assert 0 < painted.pixels < pixels / 3
        view.viewport().update()
        anew = on_screen(view)
        # Where a line crosses the edge of a part that is painted, the last pixel may be a little different.
        assert sum(abs(a - b) > 80 for a, b in zip(moved, anew, strict=True)) < 50
