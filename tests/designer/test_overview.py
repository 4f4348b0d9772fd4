"""The canvas at scale: items only for what can be read; everything else is painted and found all the same."""

import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QNativeGestureEvent, QPointingDevice
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from designer import theme
from designer.canvas.overlay import Overlay
from designer.canvas.overview import READABLE
from designer.canvas.scene import Scene
from designer.canvas.view import CanvasView
from designer.document import edits
from designer.document.design import Viewpoint
from designer.document.draft import Draft, Place
from engine import ClassifyNode, NodeId, Problem, TerminalNode, Transition, Tree

SIDE = 30
LEFT = Qt.MouseButton.LeftButton


def field(side: int = SIDE) -> Draft:
    """A square of questions, each leading to the one on its right; the last of a row to a terminal."""
    nodes: dict[NodeId, ClassifyNode | TerminalNode] = {"end": TerminalNode(verdict="done")}
    places = {"end": Place(side * 385.0, 0)}
    for row in range(side):
        for column in range(side):
            target = f"{row}.{column + 1}" if column + 1 < side else "end"
            nodes[f"{row}.{column}"] = ClassifyNode(
                task="Is it so?",
                answers=("yes", "no"),
                transitions=(Transition(condition="yes", next_node_id=target),),
            )
            places[f"{row}.{column}"] = Place(column * 385.0, row * 220.0)
    return Draft(Tree(start_node_id="0.0", nodes=nodes), places)


@pytest.fixture
def view(qtbot: QtBot) -> CanvasView:
    view = CanvasView(lambda *_: None)
    qtbot.addWidget(view)
    view.resize(1200, 800)
    with qtbot.waitExposed(view):
        view.show()
    view.show_draft(field(), Overlay(), frozenset())
    return view


def look(view: CanvasView, node: NodeId, zoom: float) -> None:
    place = view.scene().card(node).place
    view.look_from(Viewpoint(place.x + 118, place.y + 80, zoom))
    view.scene().settle()


def at(view: CanvasView, node: NodeId, x: float, y: float) -> QPoint:
    place = view.scene().card(node).place
    return view.mapFromScene(QPointF(place.x + x, place.y + y))


def picture(view: CanvasView) -> QImage:
    return view.grab().toImage()


def test_from_afar_there_are_no_items(view: CanvasView):
    view.fit()
    assert view.zoom < READABLE
    assert not view.scene().node_items
    assert not view.scene().edge_items
    assert not view.scene().items()
    assert len(view.scene().cards) == SIDE * SIDE + 1


def test_near_by_only_what_is_in_view_and_around_it_has_items(view: CanvasView):
    scene = view.scene()
    look(view, "15.15", 1.0)
    seen = scene.touching(view.mapToScene(view.viewport().rect()).boundingRect())
    assert seen <= scene.node_items.keys()
    assert len(scene.node_items) < 120
    assert {source for source, _ in scene.edge_items} <= scene.node_items.keys()
    look(view, "2.2", 1.0)
    assert "2.2" in scene.node_items
    assert "15.15" not in scene.node_items
    look(view, "2.2", 0.3)
    assert not scene.items()


def test_items_are_made_in_steps_and_their_cards_are_painted_from_the_first(view: CanvasView):
    scene = view.scene()
    view.fit()
    place = scene.card("15.15").place
    view.look_from(Viewpoint(place.x, place.y, 0.5))
    made = len(scene.node_items)
    assert 0 < made < len(scene.touching(view.mapToScene(view.viewport().rect()).boundingRect()))
    bare = next(
        i for i in scene.touching(QRectF(place.x - 700, place.y - 500, 1400, 1000)) - scene.node_items.keys()
    )
    assert picture(view).pixelColor(at(view, bare, 120, 75)) == scene.look.card
    scene.settle()
    assert bare in scene.node_items


def test_a_small_tree_keeps_all_its_items_while_it_can_be_read(view: CanvasView):
    view.show_draft(field(4), Overlay(), frozenset())
    view.look_from(Viewpoint(50_000, 50_000, 1.0))
    assert len(view.scene().node_items) == 17


def test_a_scene_nobody_looks_at_has_all_items(qapp: QApplication):
    scene = Scene(theme.LIGHT)
    scene.show(field(8))
    scene.settle()
    assert scene.node_items.keys() == scene.cards.keys()
    assert scene.edge_items.keys() == scene.branches.keys()


@pytest.mark.parametrize("zoom", [0.25, 1.0])
def test_the_pointer_finds_the_same_from_afar_and_near_by(view: CanvasView, zoom: float):
    look(view, "15.15", zoom)
    asked: list[frozenset[NodeId]] = []
    view.selection_requested.connect(asked.append)
    QTest.mouseClick(view.viewport(), LEFT, pos=at(view, "15.15", 60, 60))
    assert asked[-1] == {"15.15"}
    start, *_, end = (QPointF(*point) for point in view.scene().branches["15.15", "yes"].route.points)
    spot = view.scene().spot((start + end) / 2, 4)
    assert spot.edge is not None
    assert spot.edge.key == ("15.15", "yes")
    opened: list[NodeId] = []
    view.open_requested.connect(opened.append)
    QTest.mouseDClick(view.viewport(), LEFT, pos=at(view, "15.15", 60, 60))
    assert opened == ["15.15"]


def drag(view: CanvasView, start: QPoint, end: QPoint) -> None:
    QTest.mousePress(view.viewport(), LEFT, pos=start)
    for step in (1, 2, 3):
        QTest.mouseMove(view.viewport(), start + (end - start) * (step / 3))
    QTest.mouseRelease(view.viewport(), LEFT, pos=end)


@pytest.mark.parametrize("zoom", [0.25, 0.6])
def test_a_rubber_band_and_a_drag_work_from_afar_and_near_by(view: CanvasView, zoom: float):
    look(view, "15.15", zoom)
    draft = field()
    selected: list[frozenset[NodeId]] = []

    def select(nodes: frozenset[NodeId]) -> None:
        selected.append(nodes)
        view.show_draft(draft, Overlay(), nodes)

    view.selection_requested.connect(select)
    drag(view, at(view, "14.14", -40, -20), at(view, "15.15", 30, 30))
    assert selected[-1] == {"14.14", "14.15", "15.14", "15.15"}
    moved: list[dict[NodeId, Place]] = []
    view.move_requested.connect(lambda places, _: moved.append(places))
    start = at(view, "15.15", 60, 60)
    drag(view, start, start + QPoint(80, 40))
    assert moved[-1].keys() == selected[-1]


def test_a_line_can_be_drawn_from_afar(view: CanvasView):
    look(view, "15.15", 0.3)
    asked: list[tuple[object, ...]] = []
    view.connect_requested.connect(lambda *link: asked.append(link))
    drag(view, at(view, "15.15", 236, 86 + 27 * 1.5), at(view, "13.16", 60, 30))
    assert asked == [("15.15", "no", "13.16")]


def test_what_the_pointer_is_on_is_lit_from_afar(view: CanvasView):
    look(view, "15.15", 0.3)
    route = view.scene().branches["15.15", "yes"].route
    middle = view.mapFromScene(
        QPointF((route.points[0].x + route.points[-1].x) / 2, (route.points[0].y + route.points[-1].y) / 2)
    )
    QTest.mouseMove(view.viewport(), middle)
    assert view.scene().overview.lit == {("15.15", "yes")}


def differs(one: QImage, other: QImage, box: QRectF) -> bool:
    area = box.toRect().adjusted(-12, -12, 12, 12)
    return one.copy(area) != other.copy(area)


@pytest.mark.parametrize("zoom", [0.08, 0.25])
def test_run_problems_and_selection_are_seen_from_afar(view: CanvasView, zoom: float):
    look(view, "15.15", zoom)
    draft, rest = view.scene().draft, picture(view)
    box = QRectF(view.mapFromScene(QRectF(*view.scene().card("15.15").card)).boundingRect())
    steps = frozenset({("15.14", "yes")})
    problem = Problem("some-code", "error", "Something is missing.", "15.15")
    for overlay, selection in (
        (Overlay(current="15.15", visits={"15.14": 1}, taken=steps), frozenset[str]()),
        (Overlay(visits={"15.15": 1}), frozenset[str]()),
        (Overlay().with_problems([problem]), frozenset[str]()),
        (Overlay(), frozenset({"15.15"})),
    ):
        view.show_draft(draft, overlay, selection)
        assert differs(rest, picture(view), box)
        view.show_draft(draft, Overlay(), frozenset())
        assert not differs(rest, picture(view), box)


def test_a_change_makes_only_its_squares_again(view: CanvasView, monkeypatch: pytest.MonkeyPatch):
    view.fit()
    picture(view)
    made = dict(view.scene().overview._batches)
    draft = edits.move_nodes(view.scene().draft, {"15.15": Place(15 * 385 + 11, 15 * 220)})
    view.show_draft(draft, Overlay(), frozenset())
    picture(view)
    now = view.scene().overview._batches
    assert now.keys() == made.keys()
    assert 1 <= sum(now[cell] is not made[cell] for cell in made) <= 3


@pytest.mark.parametrize("zoom", [0.1, 1.0])
def test_the_scene_follows_every_edit_at_every_distance(view: CanvasView, zoom: float):
    scene = view.scene()
    look(view, "0.0", zoom)
    draft = view.scene().draft
    for change in (
        lambda d: edits.add_node(d, "classify", Place(100, 700)),
        lambda d: edits.connect(d, "0.0", "no", "classify"),
        lambda d: edits.rename_node(d, "classify", "asked"),
        lambda d: edits.move_nodes(d, {"asked": Place(9000, 4000), "20.20": Place(33, 440)}),
        lambda d: edits.remove_nodes(d, ["0.1", "asked"]),
        lambda d: edits.move_nodes(d, {i: Place(p.x, p.y + 3000) for i, p in d.places.items()}),
    ):
        draft = change(draft)
        view.show_draft(draft, Overlay(), frozenset())
        scene.settle()
        seen = scene.touching(view.mapToScene(view.viewport().rect()).boundingRect())
        assert scene.cards.keys() == draft.tree.nodes.keys()
        assert scene.node_items.keys() <= scene.cards.keys()
        assert scene.edge_items.keys() <= scene.branches.keys()
        assert (seen <= scene.node_items.keys()) if zoom >= READABLE else not scene.items()
        assert {*scene.items()} == {*scene.node_items.values(), *scene.edge_items.values()}
        assert all(item.card == scene.card(i) for i, item in scene.node_items.items())
        assert all(item.branch == scene.branches[key] for key, item in scene.edge_items.items())
        for source, item in scene.node_items.items():
            drawn = {branch for node, branch in scene.edge_items if node == source}
            assert drawn == {b for b, target in item.node.targets.items() if target}


def test_another_theme_paints_the_overview_anew(view: CanvasView):
    view.fit()
    before = picture(view)
    view.scene().restyle(theme.DARK)
    assert view.scene().look.canvas == QColor(theme.DARK.canvas)
    assert picture(view) != before


# -- looking around


def test_a_tree_larger_than_any_zoom_fits_all_the_same(view: CanvasView):
    draft = edits.move_nodes(field(), {"end": Place(400_000, 90_000)})
    view.show_draft(draft, Overlay(), frozenset())
    view.fit()
    shown = view.mapToScene(view.viewport().rect()).boundingRect()
    assert view.zoom < 0.01
    assert shown.contains(QPointF(400_000, 90_000))
    view.zoom_out()
    assert view.zoom > 0.001


def test_the_map_is_there_while_not_everything_is_in_sight(view: CanvasView):
    look(view, "2.2", 1.0)
    assert view.minimap.isVisible()
    view.fit()
    assert not view.minimap.isVisible()
    look(view, "2.2", 1.0)
    view.minimap.wanted = False
    assert not view.minimap.isVisible()


def test_a_press_and_a_drag_on_the_map_look_elsewhere(view: CanvasView):
    look(view, "2.2", 1.0)
    view.minimap.look_at(QRectF(0, 0, 10, 10))
    middle = view.minimap.rect().center()
    QTest.mousePress(view.minimap, LEFT, pos=middle)
    assert abs(view.viewpoint.x - view.scene().contents().center().x()) < 200
    QTest.mouseMove(view.minimap, middle + QPoint(40, 0))
    QTest.mouseRelease(view.minimap, LEFT, pos=middle + QPoint(40, 0))
    assert view.viewpoint.zoom == 1.0
    view.back()
    assert abs(view.viewpoint.x - 2 * 385 - 118) < 3


def test_the_map_shows_the_cards_and_what_is_seen(view: CanvasView):
    look(view, "2.2", 1.0)
    shown = view.minimap.grab().toImage()
    colours = {shown.pixelColor(x, y).name() for x in range(shown.width()) for y in range(shown.height())}
    assert len(colours) > 5
    assert view.scene().look.accent.name() in colours


def test_back_and_forward_look_at_the_places_before_and_after_a_jump(view: CanvasView):
    look(view, "2.2", 1.0)
    first = view.viewpoint
    view.go_to("25.25")
    second = view.viewpoint
    assert second != first
    view.back()
    assert view.viewpoint == pytest.approx(first, abs=2)
    view.forward()
    assert view.viewpoint == pytest.approx(second, abs=2)
    view.forward()
    assert view.viewpoint == pytest.approx(second, abs=2)


def test_neither_a_run_nor_an_edit_moves_the_view(view: CanvasView):
    look(view, "15.15", 0.8)
    before = view.viewpoint
    draft = view.scene().draft
    view.show_draft(draft, Overlay(current="2.2", visits={"2.2": 1}), frozenset({"3.3"}))
    view.show_draft(edits.remove_nodes(draft, ["15.15"]), Overlay(), frozenset())
    assert view.viewpoint == before


def test_a_pinch_zooms_by_what_the_fingers_did(view: CanvasView):
    look(view, "15.15", 0.8)
    for _ in range(2):
        event = QNativeGestureEvent(
            Qt.NativeGestureType.ZoomNativeGesture,
            QPointingDevice.primaryPointingDevice(),
            2,
            QPointF(300, 200),
            QPointF(300, 200),
            QPointF(300, 200),
            0.1,
            QPointF(),
        )
        QApplication.sendEvent(view.viewport(), event)
    assert view.zoom == pytest.approx(0.8 * 1.1 * 1.1)


def test_what_is_in_the_middle_stays_there_while_everything_moves(view: CanvasView):
    look(view, "15.15", 0.8)
    before = at(view, "15.15", 0, 0)
    draft = view.scene().draft
    moved = {i: Place(p.x * 2, p.y + 999) for i, p in draft.places.items()}
    with view.held():
        view.show_draft(edits.move_nodes(draft, moved), Overlay(), frozenset())
    after = at(view, "15.15", 0, 0)
    assert (after - before).manhattanLength() <= 2
