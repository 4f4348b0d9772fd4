"""Goals C-G1 to C-G4: the canvas beside the least that must be painted, and beside one item a node.

All times are processor time: the window's thread does all of it.
"""

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, QRectF, QSizeF
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import (
    QApplication,
    QGraphicsItem,
    QGraphicsScene,
    QGraphicsView,
    QStyleOptionGraphicsItem,
    QWidget,
)

from designer import theme
from designer.canvas.geometry import TITLE
from designer.canvas.items import painter_path
from designer.canvas.overlay import Overlay
from designer.canvas.scene import Scene
from designer.canvas.view import CanvasView
from designer.document import edits
from designer.document.design import Viewpoint
from designer.document.draft import Draft, Place
from engine import NodeId
from tests.benchmarks.forest import field
from tests.benchmarks.measuring import Goals, percentile

pytestmark = [pytest.mark.bench, pytest.mark.usefixtures("qapp")]

WIDTH, HEIGHT = 1920, 1080
NONE: frozenset[NodeId] = frozenset()


def spent(work: Callable[[], object]) -> float:
    """Milliseconds of processor time this takes."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e3


def median(work: Callable[[], object], rounds: int = 9) -> float:
    work()
    return statistics.median(spent(work) for _ in range(rounds))


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """As in the program, where garbage is collected while nothing happens."""
    gc.collect()
    gc.disable()
    yield
    for view in QApplication.topLevelWidgets():
        view.deleteLater()
    gc.enable()


# ------------------------------------------------------------------------------------------ the floors


class CardItem(QGraphicsItem):
    """A card as most editors make it: an item painted in Python, a plain box from afar."""

    def __init__(self, box: QRectF, title: str, rows: int) -> None:
        super().__init__()
        self.box, self.title, self.rows = QRectF(0, 0, box.width(), box.height()), title, rows
        self.setPos(box.topLeft())

    def boundingRect(self) -> QRectF:
        return self.box.adjusted(-5, -5, 5, 5)

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setPen(QPen(QColor("#D9DDE5"), 1))
        painter.setBrush(QColor("#FFFFFF"))
        if QStyleOptionGraphicsItem.levelOfDetailFromTransform(painter.worldTransform()) < 0.4:
            painter.drawRect(self.box)
            return
        painter.drawRoundedRect(self.box, 9, 9)
        painter.setPen(QColor("#1B2130"))
        painter.drawText(38, TITLE // 2 + 5, self.title)
        for row in range(self.rows):
            painter.drawText(150, 105 + 27 * row, "answer")
            painter.drawEllipse(QRectF(self.box.right() - 4, 95 + 27 * row, 8, 8))


def item_view(draft: Draft, scene: Scene) -> QGraphicsView:
    """The same cards and lines as items, all of them."""
    items = QGraphicsScene()
    for branch in scene.branches.values():
        items.addPath(painter_path(branch.route), QPen(QColor("#778195"), 1.5))
    for card in scene.cards.values():
        items.addItem(CardItem(QRectF(*card.card), card.headline, len(card.rows)))
    view = QGraphicsView(items)
    view.keep = items  # type: ignore[attr-defined]
    return view


def painted(view: QGraphicsView) -> Callable[[], None]:
    """A repaint of everything that is seen."""
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)

    def paint() -> None:
        painter = QPainter(image)
        painter.setRenderHints(view.renderHints())
        view.render(painter)
        painter.end()

    return paint


def floor(view: CanvasView) -> Callable[[], None]:
    """The least: all lines as one path and the cards as four lots of boxes."""
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    path, lots = QPainterPath(), [list[QRectF]() for _ in range(4)]
    for branch in view.scene().branches.values():
        path.addPath(painter_path(branch.route))
    for index, card in enumerate(view.scene().cards.values()):
        lots[index % 4].append(QRectF(*card.card))

    def paint() -> None:
        painter = QPainter(image)
        painter.fillRect(image.rect(), QColor("#EEF0F4"))
        painter.setTransform(view.viewportTransform())
        painter.setPen(QPen(QColor("#778195"), 0))
        painter.drawPath(path)
        painter.setPen(QColor("#FFFFFF"))
        for lot, colour in zip(lots, ("#1F6FB2", "#7A4FC9", "#A35C00", "#FFFFFF"), strict=True):
            painter.setBrush(QColor(colour))
            painter.drawRects(lot)
        painter.end()

    return paint


# ------------------------------------------------------------------------------------------ what is measured


def shown(draft: Draft) -> CanvasView:
    view = CanvasView(lambda *_: None)
    view.resize(WIDTH, HEIGHT)
    view.show()
    view.show_draft(draft, Overlay(), NONE)
    settled()
    return view


def settled() -> None:
    QApplication.processEvents()


def near(view: CanvasView, zoom: float) -> None:
    middle = view.scene().contents().center()
    view.look_from(Viewpoint(middle.x(), middle.y(), zoom))
    view.scene().settle()
    settled()


def frames(view: CanvasView, step: Callable[[int], object], count: int = 80) -> list[float]:
    def frame(number: int) -> None:
        step(number)
        settled()

    return [spent(lambda number=number: frame(number)) for number in range(count)]  # type: ignore[misc]


def test_the_whole_tree_from_afar(goals: Goals):
    draft = field(10_000)
    view = shown(draft)
    view.fit()
    settled()
    items = item_view(draft, view.scene())
    items.resize(WIDTH, HEIGHT)
    items.show()
    settled()
    items.setRenderHints(view.renderHints())
    items.setTransform(view.transform())
    items.centerOn(view.scene().contents().center())
    ours, least, other = median(painted(view)), median(floor(view)), median(painted(items), rounds=3)
    note = f"{ours:.1f} ms, the floor {least:.1f} ms"
    goals.most(
        "C-G1",
        "repaint of 10,000 nodes at fit / one path and four lots of boxes",
        ours / least,
        1.5,
        note=note,
    )
    goals.least(
        "C-G1", "one item a node / ours, 10,000 nodes at fit", other / ours, 8, note=f"{other:.0f} ms"
    )
    goals.most("C-G1", "repaint of 10,000 nodes at fit", ours, 33, "ms")


@pytest.mark.parametrize("size", [10_000, 30_000])
def test_looking_around_and_working(goals: Goals, size: int):
    draft = field(size)
    view = shown(draft)
    scene, nodes = view.scene(), f"{size:,} nodes"
    for zoom in (0.15, 0.45, 1.0):
        near(view, zoom)
        here = f"{nodes} at {zoom}"
        pans = frames(view, lambda _: view._scroll(QPoint(-19, -9)))
        note = f"median {percentile(pans, 0.5):.1f}, longest {max(pans):.1f} ms"
        goals.most("C-G2", f"a step of panning, p95, {here}", percentile(pans, 0.95), 16, "ms", note)
        around = scene.touching(QRectF(view.mapToScene(700, 300), QSizeF(500 / zoom, 400 / zoom)))
        node = sorted(around)[len(around) // 2]
        place, now = draft.places[node], [draft]

        def drag(number: int, node: NodeId = node, place: Place = place, now: list[Draft] = now) -> None:
            now[0] = edits.move_nodes(now[0], {node: Place(place.x + 5 * number, place.y + 3 * number)})
            view.show_draft(now[0], Overlay(), NONE)

        drags = frames(view, drag)
        note = f"median {percentile(drags, 0.5):.1f}, longest {max(drags):.1f} ms"
        goals.most("C-G2", f"a step of dragging a node, p95, {here}", percentile(drags, 0.95), 6, "ms", note)
        view.show_draft(draft, Overlay(), NONE)
        settled()
        path = sorted(around)[:40]

        def step(number: int, path: list[NodeId] = path) -> None:
            seen = path[: number % len(path) + 1]
            taken = [(i, b) for i in seen for b in list(draft.tree.nodes[i].targets)[:1]]
            visits = dict.fromkeys(seen, 1)
            last = taken[-1] if taken else None
            view.show_draft(draft, Overlay(seen[-1], "running", visits, frozenset(taken), last), NONE)

        steps = frames(view, step, len(path))
        note = f"median {percentile(steps, 0.5):.1f}, longest {max(steps):.1f} ms"
        goals.most("C-G2", f"a step of a run, p95, {here}", percentile(steps, 0.95), 6, "ms", note)
        view.show_draft(draft, Overlay(), NONE)
        settled()
    near(view, 0.05)
    factors = [1.12] * 34 + [1 / 1.12] * 34
    wheel = frames(view, lambda n: view.set_zoom(view.zoom * factors[n], QPoint(900, 500)), len(factors))
    note = f"median {percentile(wheel, 0.5):.1f} ms"
    goals.most("C-G2", f"a step of the wheel, p95, {nodes}", percentile(wheel, 0.95), 45, "ms", note)
    goals.most("C-G2", f"a step of the wheel, longest, {nodes}", max(wheel), 80, "ms")


def test_making(goals: Goals):
    draft = field(10_000)
    view = shown(Draft(draft.tree.replace(nodes={})))
    scene = Scene(theme.LIGHT)
    scene.look_at(QRectF(0, 0, 1920, 1080), 1.0)
    builds = []
    for _ in range(5):
        scene.show(Draft(draft.tree.replace(nodes={})))
        builds.append(spent(lambda: scene.show(draft)))
    other = spent(lambda: item_view(draft, scene))
    note = f"all as items {other:.0f} ms"
    goals.most("C-G3", "showing 10,000 nodes", statistics.median(builds), 250, "ms", note)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    view.show_draft(draft, Overlay(), NONE)
    view.fit()
    settled()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    goals.most("C-G3", "memory a node, painted at fit", (after - before) / 10_000 / 1024, 8, "KB")


def test_a_hundred_thousand_nodes(goals: Goals):
    draft = field(100_000)
    opened = []
    view = None

    def show() -> None:
        nonlocal view
        view = shown(draft)
        view.fit()
        settled()

    opened.append(spent(show))
    assert view is not None
    goals.figure("C-G4", "opening 100,000 nodes", opened[0], "ms")
    goals.most("C-G4", "repaint of 100,000 nodes at fit", median(painted(view), rounds=5), 100, "ms")
    for zoom in (0.15, 1.0):
        near(view, zoom)
        pans = frames(view, lambda _: view._scroll(QPoint(-19, -9)))
        goals.most("C-G4", f"panning, p95, 100,000 nodes at {zoom}", percentile(pans, 0.95), 20, "ms")
