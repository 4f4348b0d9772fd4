"""The view: looking around in the scene, and turning what hands do into requests.

Mouse: drag a card to move it, a branch port to connect it or the end of a branch to lead it elsewhere (on
free ground: to a new node), the ground to select, a note to move it and its corner to size it; Shift adds to
what is chosen, cards and notes alike, and Ctrl takes turns; middle button or Space to pan; wheel or two
fingers to scroll, with Ctrl to zoom; click a stub to go where it leads, Alt+click a branch to take it away,
double-click the ground to add a node.

Keys: Tab and Shift+Tab go through the nodes and then the notes and leave at the ends, Ctrl+Tab and
Ctrl+Shift+Tab leave at once; Alt+Right and Alt+Left follow branches, Alt+Up and Alt+Down go to the card above
or below; arrows move the selection by a step of the grid, with Shift by five, and pan where nothing is
selected; Enter opens a node, Delete asks to delete, Escape calls a gesture off or selects nothing; a tap of
Space adds a node.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from itertools import count
from time import monotonic
from typing import Final, cast

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QCursor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmapCache,
    QPolygonF,
    QResizeEvent,
    QShowEvent,
    QTransform,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QFrame, QGraphicsView, QToolTip, QWidget

from designer import theme
from designer.canvas.chart import Branch
from designer.canvas.chrome import Breadcrumb, Hint, Progress, ZoomBar
from designer.canvas.geometry import CARD, DOTS, GRID, TITLE, snapped
from designer.canvas.gestures import Band, Chosen, Connect, Gesture, MayConnect, Move, Pan, Pointer, SizeNote
from designer.canvas.minimap import Minimap
from designer.canvas.notes import NoteEditor, NoteItem
from designer.canvas.overlay import EdgeKey, Overlay
from designer.canvas.quick_add import Choice, QuickAdd
from designer.canvas.scene import Scene, Spot
from designer.canvas.visited import Visited
from designer.document.design import Viewpoint
from designer.document.draft import Draft, Note, Place
from designer.document.names import kind_name, one_line
from designer.theme import Tokens
from engine import NodeId
from engine.counting import counted

NODE_TYPE_MIME: Final = "application/x-treewright-node-type"
"""What the palette drags: the JSON name of a node type, in UTF-8."""

_SMALLEST, _LARGEST = 0.1, 3.0
_STEP: Final = 1.2
_READABLE: Final = 0.7
_FIRST_LOOK: Final = 0.2  # of the width
_WORLD: Final = 8_000_000.0
_INSET: Final = 14
_PIXMAPS: Final = 96 * 1024  # kilobytes: all cards of a large screen
_TOLD: Final = 20  # selected nodes named to a screen reader
_SAID: Final = 80  # letters of a note told to it
_CLOSEST_DOTS: Final = 16  # pixels
_END: Final = 16  # how near to its end a branch is taken hold of there
_TAP: Final = 0.4  # seconds; a key held longer is held to pan

_Key, _Mod = Qt.Key, Qt.KeyboardModifier
_ARROWS: Final[Mapping[int, tuple[int, int]]] = {
    _Key.Key_Left: (-1, 0),
    _Key.Key_Right: (1, 0),
    _Key.Key_Up: (0, -1),
    _Key.Key_Down: (0, 1),
}


class CanvasView(QGraphicsView):
    """A scene on the screen. It edits nothing: every wish of the person leaves as a signal."""

    move_requested = Signal(object, object)
    """({node: Place}, merge key): one key for all moves of a gesture."""
    connect_requested = Signal(object, object, object)
    """(source, branch, target)"""
    disconnect_requested = Signal(object, object)
    """(source, branch)"""
    selection_requested = Signal(object)
    """The nodes that shall be selected, a frozenset."""
    delete_requested = Signal()
    """The selected nodes shall go, and the chosen notes with them."""
    open_requested = Signal(object)
    """A node."""
    add_requested = Signal(object, object)
    """(node type, Place)"""
    insert_requested = Signal(object, object, object, object)
    """(source, branch, node type, Place): a new node within this branch."""
    lead_requested = Signal(object, object, object)
    """(source, branch, QPointF): the branch was let go over free ground of the scene."""
    quick_add_requested = Signal(object)
    """A node is to be chosen and added at this QPointF of the scene."""
    notes_requested = Signal(object, object, object, object)
    """(label, {name: Note | None}, {node: Place}, merge key | None): notes, and nodes that moved along."""
    menu_requested = Signal(object, object)
    """("node", "branch", "note" or "ground", QPoint of the screen); what it is about is selected."""
    picked_changed = Signal()
    """Another branch or other notes are chosen, or none."""
    zoom_changed = Signal(object)
    """Pixels to a scene unit."""

    def __init__(self, may_connect: MayConnect, parent: QWidget | None = None) -> None:
        scene = Scene(theme.tokens())
        super().__init__(scene, parent)
        self.setObjectName("canvas")
        self.setAccessibleName("Tree canvas")
        self._scene, self._may_connect = scene, may_connect
        self._gesture: Gesture | None = None
        self._pressed: QPoint | None = None
        self._picked: EdgeKey | None = None
        self._picked_notes = frozenset[str]()
        self._nodes_chosen = frozenset[NodeId]()
        self._at: QPoint | None = None
        self._tapped = 0.0
        self._hovered: tuple[NodeId | None, EdgeKey | None] = (None, None)
        self._space = False
        self._fit_soon = False
        self._moving = True
        self._over: tuple[QWidget, ...] = ()
        self._parts: list[QRectF] = []
        self.visited = Visited()
        self._gestures = count(1)
        self._keys_merge = ""
        self._aim: tuple[Viewpoint, tuple[int, int, float]] | None = None
        self._plain_keys: Mapping[int, Callable[[], bool]] = {
            _Key.Key_Escape: self._call_off,
            _Key.Key_Delete: self._delete,
            _Key.Key_Backspace: self._delete,
            _Key.Key_Return: self._open,
            _Key.Key_Enter: self._open,
            _Key.Key_Space: self._hold_space,
        }

        self._set_up()
        # So that Qt moves the picture at each step instead of painting all of it anew: nothing shines through
        # the viewport, and what lies over it is in it and not beside it.
        over = self.viewport()
        over.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.zoom_bar = ZoomBar(over, scene.look, self.zoom_out, self.zoom_reset, self.zoom_in, self.fit)
        self.breadcrumb = Breadcrumb(over, scene.look)
        self.hint = Hint(over, scene.look)
        self.quick_add = QuickAdd(over)
        self.note_editor = NoteEditor(over)
        self.progress = Progress(over)
        self.minimap = Minimap(over, scene, self._look_to, lambda: self.visited.leave(self.viewpoint))
        self._over = (self.zoom_bar, self.breadcrumb, self.hint, self.quick_add, self.note_editor,
                      self.progress, self.minimap)  # fmt: skip
        for widget in self._over:
            widget.setAttribute(Qt.WidgetAttribute.WA_NoMousePropagation)
        for bar in (self.horizontalScrollBar(), self.verticalScrollBar()):
            bar.valueChanged.connect(lambda _: self.note_editor.finish(keep=True))
        scene.shown.connect(self._follow)
        theme.signals.changed.connect(self._restyle)
        self._follow()
        self._moving = False
        self.look_from(Viewpoint(0, 0, 1))

    def _set_up(self) -> None:
        QPixmapCache.setCacheLimit(max(QPixmapCache.cacheLimit(), _PIXMAPS))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontAdjustForAntialiasing)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.AnchorViewCenter)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Of the view only: a scene of this size would make its index of places useless.
        self.setSceneRect(-_WORLD / 2, -_WORLD / 2, _WORLD, _WORLD)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAcceptDrops(True)
        self.setMouseTracking(True)

    def scene(self) -> Scene:
        """What is on the screen, and its marks."""
        return self._scene

    def show_draft(self, draft: Draft, overlay: Overlay, selection: frozenset[NodeId]) -> None:
        """Show exactly this."""
        self._scene.show(draft, overlay, selection)

    def set_breadcrumb(self, steps: Sequence[tuple[str, bool]]) -> None:
        """Show the path of a run above the tree: texts, each with whether it is an answer; none hides it."""
        self.breadcrumb.show_steps(steps)
        self._arrange()

    # -- looking around

    @property
    def zoom(self) -> float:
        """Pixels to a scene unit."""
        return self.transform().m11()

    def set_zoom(self, factor: float, around: QPoint | None = None) -> None:
        """Show the scene at this size, 3 at most; the point of the viewport named stays where it is.

        The least is 0.1, or what it takes to see the whole tree.
        """
        anchor = around if around is not None else self.viewport().rect().center()
        kept = self.mapToScene(anchor)
        with self._turned(factor):
            self._scroll(anchor - self.mapFromScene(kept))

    @property
    def viewpoint(self) -> Viewpoint:
        """What is looked at. It stays exactly the same while only the size of the canvas changes."""
        return self._seen_in(self.viewport().size())

    def _seen_in(self, size: QSize) -> Viewpoint:
        if self._aim is not None and self._aim[1] == self._scrolled:
            return self._aim[0]
        back, _ = self.viewportTransform().inverted()
        middle = back.map(QPointF(size.width() / 2, size.height() / 2))
        return Viewpoint(middle.x(), middle.y(), self.zoom)

    def look_from(self, view: Viewpoint) -> None:
        """Look at this."""
        self._fit_soon = False
        with self._turned(view.zoom):
            self.centerOn(view.x, view.y)
        self._aim = (view._replace(zoom=self.zoom), self._scrolled)

    @property
    def _scrolled(self) -> tuple[int, int, float]:
        return self.horizontalScrollBar().value(), self.verticalScrollBar().value(), self.zoom

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep in its place on the screen what is in the middle of it, whatever moves meanwhile."""
        cards, view = self._scene.cards, self.viewpoint
        near = self._scene.touching(self.mapToScene(self.viewport().rect()).boundingRect())
        kept = min(
            near & self._scene.selection or near,
            key=lambda i: (math.hypot(cards[i].place.x - view.x, cards[i].place.y - view.y), i),
            default=None,
        )
        before = None if kept is None else cards[kept].place
        yield
        if kept is not None and before is not None and kept in cards:
            after = cards[kept].place
            self.look_from(view._replace(x=view.x + after.x - before.x, y=view.y + after.y - before.y))

    def back(self) -> None:
        """Look at what was looked at before the last jump."""
        view = self.visited.back(self.viewpoint)
        if view:
            self.look_from(view)

    def forward(self) -> None:
        """Look again at what was gone back from."""
        view = self.visited.forward(self.viewpoint)
        if view:
            self.look_from(view)

    def zoom_in(self) -> None:
        """A step larger."""
        self.set_zoom(self.zoom * _STEP)

    def zoom_out(self) -> None:
        """A step smaller."""
        self.set_zoom(self.zoom / _STEP)

    def zoom_reset(self) -> None:
        """One pixel to a scene unit."""
        self.set_zoom(1.0)

    def fit(self, nodes: Collection[NodeId] = ()) -> None:
        """Show these nodes, or the whole tree, never above 100 %.

        A view that is not on the screen yet shows the whole tree when it is.
        """
        if self.isVisible():
            self.visited.leave(self.viewpoint)
        self.look_from(self._fitting(self._scene.contents(nodes or None)))
        self._fit_soon = not self.isVisible()

    def open_at(self, node_id: NodeId) -> None:
        """A first look: the whole tree where it can be read so, else this node at the left."""
        self.visited = Visited()
        self._fit_soon = not self.isVisible()
        view, card = self._fitting(self._scene.contents()), self._scene.cards.get(node_id)
        if card is not None and view.zoom < _READABLE:
            middle = QRectF(*card.card).center()
            ahead = self.viewport().width() * (0.5 - _FIRST_LOOK) / _READABLE
            view = Viewpoint(middle.x() + ahead, middle.y(), _READABLE)
        self.look_from(view)

    def reveal(self, node_id: NodeId) -> None:
        """Scroll only as far as needed to have this node in sight."""
        card = self._scene.cards.get(node_id)
        if card is None:
            return
        before = self.viewpoint
        self.ensureVisible(QRectF(*card.card), 38, 38)
        after, area = self.viewpoint, self.viewport().rect()
        jumped = math.hypot(after.x - before.x, after.y - before.y) * self.zoom
        if jumped > min(area.width(), area.height()) / 2:
            self.visited.leave(before)

    def free_place(self, near: Place | None = None) -> Place:
        """Where a new card may stand: at this place or in the middle of the view, or below if it is taken."""
        if near is None:
            middle = self._middle()
            near = Place(middle.x() - CARD / 2, middle.y() - 2 * TITLE)
        x, y = snapped(near.x), snapped(near.y)
        while self._scene.touching(QRectF(x, y, CARD, 3 * TITLE)):
            y += DOTS
        return Place(x, y)

    @property
    def pointer(self) -> QPointF | None:
        """Where in the scene the pointer is; None while it is elsewhere."""
        return None if self._at is None else self.mapToScene(self._at)

    def offer(
        self, title: str, choices: Sequence[Choice], at: QPointF, then: Callable[[Choice], None]
    ) -> None:
        """Have the person choose one of these at this place of the scene; ``then`` hears which, if any."""
        self.quick_add.ask(title, choices, self.mapFromScene(at), then)

    def write_note(self, name: str) -> None:
        """Let the person write the text of a note where it lies."""
        item = self._scene.note_items[name]

        def keep(text: str) -> None:
            if name in self._scene.note_items:
                note = replace(self._scene.note_items[name].note, text=text)
                self.notes_requested.emit(f"Edit {note.kind}", {name: note}, {}, None)

        self._choose(Chosen(notes=frozenset({name})))
        box = self.mapFromScene(item.box).boundingRect()
        self.note_editor.write(item.note.text, box, keep)

    # -- selecting

    @property
    def picked(self) -> EdgeKey | None:
        """The chosen branch."""
        return self._picked

    @property
    def picked_note(self) -> str | None:
        """The chosen note, where it is chosen alone."""
        alone = len(self._picked_notes) == 1 and not self._scene.selection
        return next(iter(self._picked_notes)) if alone else None

    @property
    def picked_notes(self) -> frozenset[str]:
        """The notes and frames that are chosen, along with the selected nodes."""
        return self._picked_notes

    def pick_notes(self, names: Iterable[str]) -> None:
        """Choose these notes along with the nodes that are selected now."""
        self._nodes_chosen = self._scene.selection
        self._pick(notes=frozenset(names) & self._scene.note_items.keys())

    def go_to(self, node_id: NodeId) -> None:
        """Ask for this node alone to be selected, and have it in sight."""
        self._select(frozenset({node_id}))
        self.reveal(node_id)

    def _select(self, nodes: frozenset[NodeId]) -> None:
        self._choose(Chosen(nodes))

    def _choose(self, chosen: Chosen) -> None:
        self._nodes_chosen = chosen.nodes
        self._pick(notes=chosen.notes)
        self.selection_requested.emit(chosen.nodes)

    def _pick(self, edge: EdgeKey | None = None, notes: frozenset[str] = frozenset()) -> None:
        """Choose one branch, or these notes along with the selected nodes."""
        changed = (edge, notes) != (self._picked, self._picked_notes)
        self._picked, self._picked_notes = edge, notes
        for name, item in self._scene.note_items.items():
            item.pick(picked=name in notes)
        self._light()
        if changed:
            self._describe()
            self.picked_changed.emit()

    @property
    def _chosen(self) -> Chosen:
        return Chosen(self._scene.selection, self._picked_notes)

    def _hover(self, spot: Spot) -> None:
        here = spot.node.node_id if spot.node else None, spot.edge.key if spot.edge else None
        if here != self._hovered:
            self._hovered = here
            self._light()

    def _light(self) -> None:
        """Light the chosen branch and what the pointer is on: a branch with its far end, or all stubs."""
        scene, edges = self._scene, self._scene.branches
        node, edge = self._hovered
        lit = {self._picked} if self._picked else set()
        far = None
        if edge is not None and edge in edges:
            lit.add(edge)
            far = edges[edge].target if edges[edge].route.kind == "stub" else None
        elif node is not None:
            ways = scene.leading_to(node)
            lit |= ways if any(edges[way].route.kind == "stub" for way in ways) else frozenset()
        scene.light(lit)
        if self._gesture is None:  # drawing a line lights its own targets
            scene.hold((lambda i: "target" if i == far else "") if far else None)

    def _neighbour(self, dx: int, dy: int) -> NodeId | None:
        """Where Alt and an arrow lead from the selected node; the start when none is selected."""
        scene, cards = self._scene, self._scene.cards
        here = next(iter(scene.selection), None)
        if here is None:
            return scene.draft.tree.start_node_id or next(iter(cards), None)
        if dx > 0:
            targets = (cards[here].node.targets.get(branch) for branch in cards[here].rows)
            return next((target for target in targets if target in cards), None)
        if dx < 0:
            ways = {source for source, _ in scene.leading_to(here)}
            return next((node_id for node_id in cards if node_id in ways), None)
        at = cards[here].place
        column = (
            (dy * (card.place.y - at.y), node_id)
            for node_id, card in cards.items()
            if abs(card.place.x - at.x) < CARD
        )
        return min((pair for pair in column if pair[0] > 0), default=(0.0, None))[1]

    # -- gestures

    def _grab(self, at: Pointer, modifiers: Qt.KeyboardModifier) -> Gesture | None:
        """What a press of the left button begins here; a plain click on a branch is over at once."""
        scene, spot = self._scene, self._spot(at.scene)
        if spot.edge:
            return self._grab_edge(spot.edge, at.scene, modifiers)
        if spot.note:
            return self._grab_note(spot.note, at, modifiers)
        self._pick(notes=self._picked_notes)
        if spot.node is None:
            return Band(scene, at, modifiers, self._chosen, self._choose)
        if spot.branch is not None and not modifiers:
            return self._line(spot.node.node_id, spot.branch)
        return self._grab_card(spot.node.node_id, at, modifiers)

    def _grab_card(self, node_id: NodeId, at: Pointer, modifiers: Qt.KeyboardModifier) -> Gesture | None:
        here = Chosen(nodes=frozenset({node_id}))
        return self._grab_part(here, self._scene.card(node_id).place, at, modifiers)

    def _grab_part(
        self, part: Chosen, place: Place, at: Pointer, modifiers: Qt.KeyboardModifier
    ) -> Gesture | None:
        """Choose one node or note, as the keys held down have it, and move what is chosen then."""
        nodes, notes = self._chosen
        if modifiers & _Mod.ControlModifier:
            self._choose(Chosen(nodes ^ part.nodes, notes ^ part.notes))
            return None
        adds = bool(modifiers & _Mod.ShiftModifier)
        if not (part.nodes <= nodes and part.notes <= notes):
            self._choose(Chosen(nodes | part.nodes, notes | part.notes) if adds else part)
        click = (lambda: None) if adds else lambda: self._choose(part)
        return self._carry(place, at, f"drag:{next(self._gestures)}", click)

    def _carry(self, grabbed: Place, at: Pointer, key: str, click: Callable[[], None] = lambda: None) -> Move:
        """Move all that is chosen, in one step."""
        nodes, notes = self._chosen
        kinds = [self._scene.note_items[name].note.kind for name in notes]
        what = kinds[0] if len(kinds) == 1 and not nodes else f"{len(nodes) + len(notes)} cards and notes"

        def ask(moved: Mapping[str, Note], places: Mapping[NodeId, Place]) -> None:
            if notes:
                self.notes_requested.emit(f"Move {what}", moved, places, key)
            else:
                self.move_requested.emit(places, key)

        return Move(self._scene, self._chosen, grabbed, at, ask, click)

    def _line(self, source: NodeId, branch: str, click: Callable[[], None] = lambda: None) -> Gesture:
        return Connect(
            self._scene,
            source,
            branch,
            self._may_connect,
            self._say,
            lambda target: self.connect_requested.emit(source, branch, target),
            lambda at: self.lead_requested.emit(source, branch, at.scene),
            click,
        )

    def _grab_edge(self, edge: Branch, at: QPointF, modifiers: Qt.KeyboardModifier) -> Gesture | None:
        """At its end a branch is led elsewhere; a click anywhere is over at once."""
        # Of branches that end in one place the chosen one is meant.
        chosen = self._scene.branches.get(self._picked) if self._picked else None
        if not modifiers and (held := next((b for b in (chosen, edge) if b and self._ends_at(b, at)), None)):
            return self._line(*held.key, lambda: self._click_edge(held, at, modifiers))
        self._click_edge(edge, at, modifiers)
        return None

    def _ends_at(self, edge: Branch, at: QPointF) -> bool:
        end = QPointF(*edge.route.points[-1])
        return edge.has_name_at(at.x(), at.y()) or (at - end).manhattanLength() <= _END + 3 / self.zoom

    def _grab_note(self, item: NoteItem, at: Pointer, modifiers: Qt.KeyboardModifier) -> Gesture | None:
        part = Chosen(notes=frozenset({item.name}))
        if modifiers or item.part_at(at.scene, 3 / self.zoom) != "grip":
            return self._grab_part(part, item.note.place, at, modifiers)
        label, key = f"Size {item.note.kind}", f"note:{next(self._gestures)}"
        self._choose(part)
        return SizeNote(item, at, lambda note: self.notes_requested.emit(label, {item.name: note}, {}, key))

    def _click_edge(self, edge: Branch, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        if modifiers & _Mod.AltModifier:
            self.disconnect_requested.emit(*edge.key)
        elif edge.has_name_at(at.x(), at.y()) and not edge.lost:
            self.go_to(edge.target)
        else:
            self._select(frozenset())
            self._pick(edge.key)

    def _cursor(self, spot: Spot, at: QPointF) -> Qt.CursorShape:
        if self._space:
            return Qt.CursorShape.OpenHandCursor
        if spot.branch is not None:
            return Qt.CursorShape.CrossCursor
        if spot.note is not None:
            grip = spot.note.part_at(at, 3 / self.zoom) == "grip"
            return Qt.CursorShape.SizeFDiagCursor if grip else Qt.CursorShape.SizeAllCursor
        points = spot.edge is not None and spot.edge.has_name_at(at.x(), at.y())
        return Qt.CursorShape.PointingHandCursor if points else Qt.CursorShape.ArrowCursor

    def _end_gesture(self) -> Gesture | None:
        gesture, self._gesture = self._gesture, None
        self._pressed = None
        if gesture:
            self._refresh(gesture.bounds())
        self._point(Qt.CursorShape.OpenHandCursor if self._space else Qt.CursorShape.ArrowCursor)
        return gesture

    def _spot(self, at: QPointF) -> Spot:
        return self._scene.spot(at, 3 / self.zoom)

    def _refresh(self, box: QRectF) -> None:
        """Paint this part of the scene again: a gesture draws on it."""
        self.viewport().update(self.mapFromScene(box).boundingRect().adjusted(-4, -4, 4, 4))

    def _scroll(self, way: QPoint) -> None:
        with self._moved():
            for bar, step in ((self.horizontalScrollBar(), way.x()), (self.verticalScrollBar(), way.y())):
                bar.setValue(bar.value() - step)

    def _fitting(self, box: QRectF) -> Viewpoint:
        """What to look at to see this box as a whole, never above 100 %."""
        room = self.viewport().rect().adjusted(24, 48, -24, -48)
        if box.isEmpty() or room.isEmpty():
            return Viewpoint(0, 0, 1)
        zoom = min(room.width() / box.width(), room.height() / box.height(), 1.0)
        return Viewpoint(box.center().x(), box.center().y(), zoom)

    @contextmanager
    def _turned(self, zoom: float) -> Iterator[None]:
        """See the scene at this zoom, and at the place that is gone to meanwhile."""
        self.note_editor.finish(keep=True)
        least = min(_SMALLEST, self._fitting(self._scene.contents()).zoom)
        zoom = min(max(zoom, least), _LARGEST)
        with self._moved():
            self.setTransform(QTransform.fromScale(zoom, zoom))
            yield
        self.zoom_bar.show_factor(zoom)
        self.zoom_changed.emit(zoom)

    @contextmanager
    def _moved(self) -> Iterator[None]:
        """Move about, in as many steps as it takes; what is seen is told only at the end."""
        within, self._moving = self._moving, True
        try:
            yield
        finally:
            self._moving = within
        self._look()

    def _look(self) -> None:
        """Tell what is seen to those who draw it."""
        if not self._moving:
            area = self.mapToScene(self.viewport().rect()).boundingRect()
            self._scene.look_at(area, self.zoom)
            self.minimap.look_at(area)

    def _look_to(self, middle: QPointF) -> None:
        """Look at this place, as near as before."""
        self.centerOn(middle)

    def _middle(self) -> QPointF:
        return self.mapToScene(self.viewport().rect().center())

    def _pointer(self, at: QPoint) -> Pointer:
        return Pointer(self.mapToScene(at), at)

    def _point(self, shape: Qt.CursorShape) -> None:
        if self.viewport().cursor().shape() != shape:
            self.viewport().setCursor(shape)

    def _say(self, text: str) -> None:
        """Show a text at the pointer, as plain text whatever is in it; none takes it away."""
        # Qt takes a text with tags for HTML; names and questions are data.
        QToolTip.showText(
            QCursor.pos(), f"<p>{escape(text).replace(chr(10), '<br>')}</p>" if text else "", self
        )

    def _follow(self) -> None:
        """Fit what surrounds the scene to what it shows now."""
        scene = self._scene
        edge, notes = self._picked, self._picked_notes & scene.note_items.keys()
        if scene.selection != self._nodes_chosen:  # something else was chosen elsewhere
            self._nodes_chosen, edge, notes = scene.selection, None, frozenset()
        edge = edge if edge in scene.branches else None
        if (edge, notes) != (self._picked, self._picked_notes):
            self._pick(edge, notes)
        self.hint.setVisible(not scene.draft.tree.nodes)
        self._describe()

    def _describe(self) -> None:
        """Tell a screen reader what is chosen."""
        scene, (nodes, notes) = self._scene, self._chosen
        parts = [
            f"{card.headline}, {kind_name(card.node.type)}, "
            f"{counted(len(card.node.branches()), 'branch', 'branches')}"
            for card in map(scene.card, sorted(nodes)[:_TOLD])
        ]
        parts += [
            f"{note.kind.capitalize()}: {one_line(note.text, _SAID)}"
            for note in (scene.note_items[name].note for name in sorted(notes)[:_TOLD])
        ]
        said = f"Selected: {'; '.join(parts)}." if parts else _HOW_TO
        self.setAccessibleDescription(f"{counted(len(scene.draft.tree.nodes), 'node')}. {said}")

    def _restyle(self, tokens: Tokens) -> None:
        self._scene.restyle(tokens)
        self.minimap.restyle()
        self.zoom_bar.restyle(self._scene.look)
        self.breadcrumb.restyle(self._scene.look)
        self.hint.restyle(self._scene.look)

    def _arrange(self) -> None:
        """Put what lies over the canvas in its places."""
        area = self.rect()
        self.zoom_bar.adjustSize()
        self.zoom_bar.move(_INSET, area.height() - self.zoom_bar.height() - _INSET)
        self.minimap.move(
            area.width() - self.minimap.width() - _INSET, area.height() - self.minimap.height() - _INSET
        )
        self.breadcrumb.most = area.width() - 4.0 * _INSET
        self.breadcrumb.adjustSize()
        self.breadcrumb.move((area.width() - self.breadcrumb.width()) // 2, _INSET)
        self.hint.move((area.width() - self.hint.width()) // 2, (area.height() - self.hint.height()) // 2)

    # -- keys

    def _press_key(self, event: QKeyEvent) -> bool:
        """Do what the key means here; whether it means anything."""
        key, modifiers = event.key(), event.modifiers() & ~_Mod.KeypadModifier
        if key in _ARROWS:
            return self._press_arrow(*_ARROWS[key], modifiers, repeats=event.isAutoRepeat())
        if key in (_Key.Key_Tab, _Key.Key_Backtab) and modifiers & _Mod.ControlModifier:
            return super().focusNextPrevChild(key == _Key.Key_Tab)
        act = None if modifiers else self._plain_keys.get(key)
        return act is not None and act()

    def _press_arrow(self, dx: int, dy: int, modifiers: Qt.KeyboardModifier, *, repeats: bool) -> bool:
        if modifiers == _Mod.AltModifier:
            node_id = self._neighbour(dx, dy)
            if node_id is not None:
                self.go_to(node_id)
        elif modifiers in (_Mod.NoModifier, _Mod.ShiftModifier):
            self._nudge(dx, dy, 5 if modifiers else 1, repeats=repeats)
        else:
            return False
        return True

    def _delete(self) -> bool:
        if self._picked:
            self.disconnect_requested.emit(*self._picked)
        elif self._picked_notes and not self._scene.selection:
            kinds = [self._scene.note_items[name].note.kind for name in self._picked_notes]
            what = kinds[0] if len(kinds) == 1 else f"{len(kinds)} notes"
            self.notes_requested.emit(f"Delete {what}", dict.fromkeys(self._picked_notes), {}, None)
        else:
            self.delete_requested.emit()
        return True

    def _open(self) -> bool:
        if self.picked_note is not None:
            self.write_note(self.picked_note)
            return True
        if len(self._scene.selection) != 1:
            return False
        self.open_requested.emit(next(iter(self._scene.selection)))
        return True

    def _hold_space(self) -> bool:
        self._tapped = self._tapped if self._space else monotonic()
        self._space = True
        if self._gesture is None:
            self._point(Qt.CursorShape.OpenHandCursor)
        return True

    def _call_off(self) -> bool:
        gesture = self._end_gesture()
        if gesture:
            gesture.cancel()
        elif self._scene.selection or self._picked or self._picked_notes:
            self._select(frozenset())
        else:
            return False
        return True

    def _nudge(self, dx: int, dy: int, steps: int, *, repeats: bool) -> None:
        """Move the chosen cards and notes, or the view where there are none; a key held is one gesture."""
        if not repeats:
            self._keys_merge = f"keys:{next(self._gestures)}"
        if self._chosen == Chosen():
            self._scroll(QPoint(dx, dy) * -4 * GRID * steps)
            return
        nowhere = Pointer(QPointF(), QPoint())
        self._carry(Place(0, 0), nowhere, self._keys_merge).by(dx * GRID * steps, dy * GRID * steps)
        for node_id in self._scene.selection:
            self.reveal(node_id)

    # -- Qt

    def event(self, event: QEvent) -> bool:
        # Keys that mean something on the canvas come here even where a shortcut of the window has them too.
        if event.type() == QEvent.Type.ShortcutOverride:
            key = cast("QKeyEvent", event)
            plain = not key.modifiers() & (_Mod.ControlModifier | _Mod.MetaModifier)
            if plain and (key.key() in _ARROWS or key.key() in self._plain_keys):
                event.accept()
                return True
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and self._gesture is None:
            at = self.mapToScene(cast("QHelpEvent", event).pos())
            self._say(self._scene.tip(at, 3 / self.zoom))
            return True
        if event.type() == QEvent.Type.NativeGesture:
            pinch = cast("QNativeGestureEvent", event)
            if pinch.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                self.set_zoom(self.zoom * (1 + pinch.value()), pinch.position().toPoint())
                return True
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._press_key(event):
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == _Key.Key_Space and not event.isAutoRepeat():
            tapped = self._space and monotonic() - self._tapped < _TAP
            self._space = False
            self._point(Qt.CursorShape.ArrowCursor)
            if tapped and self._gesture is None:
                self.quick_add_requested.emit(self.pointer or self._middle())
        super().keyReleaseEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002  (Qt's name)
        nodes, notes = list(self._scene.draft.tree.nodes), list(self._scene.draft.notes)
        parts = [*((i, True) for i in nodes), *((name, False) for name in notes)]
        chosen = self._chosen
        marked = [n for n, (i, node) in enumerate(parts) if i in (chosen.nodes if node else chosen.notes)]
        to = (marked[-1] + 1 if next else marked[0] - 1) if marked else (0 if next else -1)
        if not 0 <= to < len(parts):
            return super().focusNextPrevChild(next)
        part, is_node = parts[to]
        if is_node:
            self.go_to(part)
        else:
            self._choose(Chosen(notes=frozenset({part})))
            self.ensureVisible(self._scene.note_items[part].box, 38, 38)
        return True

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._space = False
        super().focusOutEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        QToolTip.hideText()
        if self._gesture is not None:
            return
        at = self._pointer(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        if event.button() == Qt.MouseButton.MiddleButton or (left and self._space):
            self._tapped = 0.0
            self._gesture = Pan(self._scroll, at)
            self._point(Qt.CursorShape.ClosedHandCursor)
        elif left:
            self._gesture = self._grab(at, event.modifiers())
        self._pressed = at.view

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = self._pointer(event.position().toPoint())
        self._at = at.view
        gesture = self._gesture
        if gesture is None:
            spot = self._spot(at.scene)
            self._hover(spot)
            self._point(self._cursor(spot, at.scene))
            return
        if self._pressed is not None:
            if (at.view - self._pressed).manhattanLength() < QApplication.startDragDistance():
                return
            self._pressed = None
        before = gesture.bounds()
        gesture.move(at)
        self._refresh(before | gesture.bounds())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        clicked = self._pressed is not None
        gesture = self._end_gesture()
        if gesture and clicked:
            gesture.click()
        elif gesture:
            gesture.drop(self._pointer(event.position().toPoint()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        at = self.mapToScene(event.position().toPoint())
        spot = self._spot(at)
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if spot.node:
            self.open_requested.emit(spot.node.node_id)
        elif spot.note:
            self.write_note(spot.note.name)
        elif spot.edge is None:
            self.quick_add_requested.emit(at)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            spot, where = self._spot(self.mapToScene(event.pos())), event.globalPos()
            self._at = event.pos()
            if spot.node and spot.node.node_id not in self._scene.selection:
                self._select(frozenset({spot.node.node_id}))
            elif spot.note and spot.note.name not in self._picked_notes:
                self._choose(Chosen(notes=frozenset({spot.note.name})))
            elif not spot.node and not spot.note:
                self._select(frozenset())
                self._pick(spot.edge.key if spot.edge else None)
        else:
            marked = self._scene.contents(self._scene.selection).center()
            middle = marked if self._scene.selection else self._middle()
            where = self.viewport().mapToGlobal(self.mapFromScene(middle))
        chosen = {"node": self._scene.selection, "branch": self._picked, "note": self._picked_notes}
        self.menu_requested.emit(next((what for what, is_it in chosen.items() if is_it), "ground"), where)

    def leaveEvent(self, event: QEvent) -> None:
        self._at = None
        self._hover(Spot())
        super().leaveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta()
        if event.modifiers() & _Mod.ControlModifier:
            self.set_zoom(self.zoom * 1.0015 ** turn.y(), event.position().toPoint())
        else:
            way = event.pixelDelta() if not event.pixelDelta().isNull() else turn / 2
            self._scroll(way.transposed() if event.modifiers() & _Mod.ShiftModifier else way)
        event.accept()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        event.setAccepted(event.mimeData().hasFormat(NODE_TYPE_MIME))

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._hover(Spot(edge=self._spot(self.mapToScene(event.position().toPoint())).edge))
        event.setAccepted(event.mimeData().hasFormat(NODE_TYPE_MIME))

    def dropEvent(self, event: QDropEvent) -> None:
        kind = bytes(event.mimeData().data(NODE_TYPE_MIME).data()).decode()
        at = self.mapToScene(event.position().toPoint())
        event.acceptProposedAction()
        self.setFocus()
        place = Place(snapped(at.x() - CARD / 2), snapped(at.y() - TITLE / 2))
        edge = self._spot(at).edge
        if edge is None:
            self.add_requested.emit(kind, place)
        else:
            self.insert_requested.emit(*edge.key, kind, place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        # Qt rounds to whole pixels each time: what is looked at would wander with every change of the size.
        view = self._seen_in(event.oldSize())
        super().resizeEvent(event)
        self.centerOn(view.x, view.y)
        self._aim = (view, self._scrolled)
        self._arrange()
        self._look()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        places = [(widget, widget.pos()) for widget in self._over]
        super().scrollContentsBy(dx, dy)
        for widget, place in places:  # Qt takes along what is in the viewport
            widget.move(place)
        self._look()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._fit_soon:
            self.fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        # What is drawn behind is told only the box around all parts to paint; after a step of looking
        # around, these are a few strips at the edges.
        parts = cast("Iterable[QRect]", event.region())  # Qt's own types do not know it
        self._parts = [self.mapToScene(part).boundingRect() for part in parts]
        super().paintEvent(event)
        self._parts = []

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        look, area = self._scene.look, QRectF(rect)
        painter.fillRect(area, look.canvas)
        step = float(DOTS)
        while step * self.zoom < _CLOSEST_DOTS:
            step *= 2
        pen = QPen(look.dot, 2)
        pen.setCosmetic(True)
        painter.setPen(pen)
        left, top = (step * math.floor(edge / step) for edge in (area.left(), area.top()))
        row = QPolygonF([QPointF(left + step * i, top) for i in range(math.ceil(area.width() / step) + 2)])
        for i in range(math.ceil(area.height() / step) + 2):
            painter.drawPoints(row.translated(0, step * i))
        self._scene.paint_far(painter, self._parts or [area])

    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        if self._gesture is not None:
            self._gesture.paint(painter)


_HOW_TO: Final = "Tab goes through the nodes, Alt and arrows follow branches, Enter opens a node."
