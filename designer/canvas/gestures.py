"""What the pointer does between press and release, one class a gesture: move, size, connect, band, pan.

A gesture looks at the scene and asks for changes through the functions it is given; it makes none itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Final, NamedTuple, TypeAlias

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from designer.canvas.geometry import TITLE, Point, curve, output_port, snapped
from designer.canvas.items import painter_path
from designer.canvas.notes import LEAST_HEIGHT, LEAST_WIDTH, NoteItem
from designer.canvas.scene import Scene
from designer.document.draft import Note, Place
from engine import NodeId

_NEAR: Final = 30.0  # a line let go this near to where it began is called off

MayConnect: TypeAlias = Callable[[NodeId, str, NodeId], str | None]
"""Why a branch of a node may not lead to another node, in plain words; None when it may."""


class Pointer(NamedTuple):
    """Where the pointer is, in the scene and on the viewport."""

    scene: QPointF
    view: QPoint


class Chosen(NamedTuple):
    """Nodes and notes that are chosen together."""

    nodes: frozenset[NodeId] = frozenset()
    notes: frozenset[str] = frozenset()


class Gesture:
    """One drag of the pointer; the base does nothing."""

    def move(self, at: Pointer) -> None:
        """The pointer is here now."""

    def drop(self, at: Pointer) -> None:
        """The button was let go here, after the pointer had moved."""

    def click(self) -> None:
        """The button was let go where it was pressed."""

    def cancel(self) -> None:
        """Forget it: everything as before the press."""

    def bounds(self) -> QRectF:
        """The part of the scene that :meth:`paint` draws on."""
        return QRectF()

    def paint(self, painter: QPainter) -> None:
        """Draw what belongs to the gesture over the scene."""


class Pan(Gesture):
    """Move the view over the scene."""

    def __init__(self, scroll: Callable[[QPoint], None], start: Pointer) -> None:
        self._scroll, self._at = scroll, start.view

    def move(self, at: Pointer) -> None:
        self._scroll(at.view - self._at)
        self._at = at.view


class Move(Gesture):
    """Move cards and notes; what was grabbed lands on the grid and the others keep their distance to it.

    A frame takes along what lies in it.
    """

    def __init__(
        self,
        scene: Scene,
        chosen: Chosen,
        grabbed: Place,
        start: Pointer,
        ask: Callable[[Mapping[str, Note], Mapping[NodeId, Place]], None],
        click: Callable[[], None],
    ) -> None:
        held = [scene.within(name) for name in chosen.notes]
        nodes, notes = chosen.nodes.union(*(n for n, _ in held)), chosen.notes.union(*(n for _, n in held))
        self._places = {i: scene.card(i).place for i in nodes}
        self._notes = {name: scene.note_items[name].note for name in notes}
        self._scene, self._grabbed, self._start = scene, grabbed, start.scene
        self._ask, self._click = ask, click

    def move(self, at: Pointer) -> None:
        way, grabbed = at.scene - self._start, self._grabbed
        self.by(snapped(grabbed.x + way.x()) - grabbed.x, snapped(grabbed.y + way.y()) - grabbed.y)

    def by(self, dx: float, dy: float) -> None:
        """Have all of it stand so far from where it began."""
        scene = self._scene
        places = {i: Place(place.x + dx, place.y + dy) for i, place in self._places.items()}
        notes = {
            i: replace(note, place=Place(note.place.x + dx, note.place.y + dy))
            for i, note in self._notes.items()
        }
        places = {i: p for i, p in places.items() if i in scene.cards and scene.cards[i].place != p}
        notes = {i: n for i, n in notes.items() if i in scene.note_items and scene.note_items[i].note != n}
        if places or notes:
            self._ask(notes, places)

    def click(self) -> None:
        self._click()

    def cancel(self) -> None:
        self.by(0, 0)


class SizeNote(Gesture):
    """Size a note or a frame by its corner."""

    def __init__(self, item: NoteItem, start: Pointer, ask: Callable[[Note], None]) -> None:
        self._note, self._asked, self._start, self._ask = item.note, item.note, start.scene, ask

    def move(self, at: Pointer) -> None:
        way, note = at.scene - self._start, self._note
        width = max(snapped(note.width + way.x()), LEAST_WIDTH)
        height = max(snapped(note.height + way.y()), LEAST_HEIGHT)
        self._ask_for(replace(note, width=width, height=height))

    def cancel(self) -> None:
        self._ask_for(self._note)

    def _ask_for(self, note: Note) -> None:
        if note != self._asked:
            self._asked = note
            self._ask(note)


class Connect(Gesture):
    """Draw a line from a branch port to the node it shall lead to, or to free ground for a new one.

    ``click`` is what letting go at once means.
    """

    def __init__(
        self,
        scene: Scene,
        source: NodeId,
        branch: str,
        may_connect: MayConnect,
        say: Callable[[str], None],
        ask: Callable[[NodeId], None],
        ask_new: Callable[[Pointer], None],
        click: Callable[[], None] = lambda: None,
    ) -> None:
        self._scene, self._source, self._say, self._ask = scene, source, say, ask
        self._ask_new, self._click = ask_new, click
        card = scene.card(source)
        self._start = output_port(card.card, card.node, branch)
        self._end = QPointF(*self._start)
        self._hot: NodeId | None = None
        self._free = False
        self._reason = cache(partial(may_connect, source, branch))
        self._hint()

    def move(self, at: Pointer) -> None:
        self._end = at.scene
        card = self._scene.spot(at.scene).node
        # Coming back to where the line began calls it off; a loop is made on the card's title.
        own = card is not None and card.node_id == self._source and at.scene.y() > card.card.y + TITLE
        hot = card.node_id if card and not own else None
        self._free = card is None and (at.scene - QPointF(*self._start)).manhattanLength() > _NEAR
        if hot != self._hot:
            self._hot = hot
            self._hint()
            self._say((hot and self._reason(hot)) or "")

    def drop(self, at: Pointer) -> None:
        self.move(at)
        hot = self._hot
        self.cancel()
        if hot is not None and self._reason(hot) is None:
            self._ask(hot)
        elif self._free:
            self._ask_new(at)

    def click(self) -> None:
        self.cancel()
        self._click()

    def cancel(self) -> None:
        self._say("")
        self._scene.hold()

    def bounds(self) -> QRectF:
        ends = QRectF(QPointF(*self._start), self._end).normalized()
        # The line of a branch swings out on both sides.
        return ends.adjusted(-170, -10, 170, 10)

    def paint(self, painter: QPainter) -> None:
        pen = QPen(self._scene.look.accent, 2)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(painter_path(curve(self._start, Point(self._end.x(), self._end.y()))))
        painter.setBrush(self._scene.look.accent)
        painter.drawEllipse(self._end, 3.5, 3.5)

    def _hint(self) -> None:
        self._scene.hold(
            lambda i: "refused" if self._reason(i) is not None else "target" if i == self._hot else ""
        )


class Band(Gesture):
    """Select what a rectangle touches; with Shift in addition, with Ctrl the other way round."""

    def __init__(
        self,
        scene: Scene,
        start: Pointer,
        modifiers: Qt.KeyboardModifier,
        before: Chosen,
        ask: Callable[[Chosen], None],
    ) -> None:
        self._scene, self._start, self._end, self._ask = scene, start.scene, start.scene, ask
        self._before = self._asked = before
        self._toggles = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        adds = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        self._base = before if adds or self._toggles else Chosen()

    def move(self, at: Pointer) -> None:
        self._end = at.scene
        band = QRectF(self._start, self._end).normalized()
        base, nodes, notes = self._base, self._scene.touching(band), self._scene.notes_touching(band)
        if self._toggles:
            self._choose(Chosen(base.nodes ^ nodes, base.notes ^ notes))
        else:
            self._choose(Chosen(base.nodes | nodes, base.notes | notes))

    def click(self) -> None:
        self._choose(self._base)

    def cancel(self) -> None:
        self._choose(self._before)

    def bounds(self) -> QRectF:
        return QRectF(self._start, self._end).normalized().adjusted(-3, -3, 3, 3)

    def paint(self, painter: QPainter) -> None:
        pen = QPen(self._scene.look.accent, 1)
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.setBrush(self._scene.look.haze)
        painter.drawRect(QRectF(self._start, self._end).normalized())

    def _choose(self, chosen: Chosen) -> None:
        if chosen != self._asked:
            self._asked = chosen
            self._ask(chosen)
