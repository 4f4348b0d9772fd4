"""The tree from afar: no items, but for each square of the chart one line and a few boxes a colour.

A batch is made when its square is first painted and made again when something in it looks different, so
looking around costs only painting, and a change costs only its squares. In a closer view the same batches
stand for squares that have no items yet, and for lines that only pass through.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from designer.canvas.chart import Card, Chart
from designer.canvas.geometry import BODY, CARD, PILL_TEXT, TITLE, Rect, Route, row_middle
from designer.canvas.overlay import EdgeKey, Overlay, worst
from designer.canvas.style import Style
from designer.document.cells import Cell
from engine import NodeId, TerminalNode

READABLE: Final = 0.4
"""From this zoom on cards are items; below it nobody can read them."""

STEPPED_BACK: Final = 0.3
"""How much is left to see of what was not found."""

_BLOCKS: Final = 0.14  # below this zoom a card is a block in the colour of its kind
_DOT: Final = 4.0  # pixels
_REACH: Final = 14.0  # pixels a mark may stand out of its card


class _Boxes(NamedTuple):
    """Boxes of one look."""

    rim: QColor | None
    fill: QColor | None
    boxes: list[QRectF]


class Overview:
    """All squares of a chart as batches, painted over the ground and under the items."""

    def __init__(self, chart: Chart, style: Style) -> None:
        self.chart, self.style = chart, style
        self.overlay = Overlay()
        self.selection: frozenset[NodeId] = frozenset()
        self.ranks: Mapping[str, int] = {}
        self.lit: frozenset[EdgeKey] = frozenset()
        self.found: frozenset[NodeId] | None = None
        self._batches: dict[Cell, _Batch] = {}

    def touch(self, cells: Iterable[Cell]) -> QRectF:
        """Make these squares again when they are next painted; the part of the scene that looks different."""
        box = QRectF()
        for cell in cells:
            batch = self._batches.pop(cell, None)
            if batch is not None:
                box = box.united(batch.box)
            box = box.united(QRectF(*self.chart.reach(cell)))
        return box

    def restyle(self, style: Style) -> None:
        """Take on another theme."""
        self.style = style
        self._batches.clear()

    def paint(
        self, painter: QPainter, areas: Iterable[QRectF], zoom: float, *, without: Collection[Cell] = ()
    ) -> None:
        """Paint what meets any of these areas, but not the cards and lines of the squares left out."""
        reach = _REACH / zoom
        cells = set[Cell]()
        for area in areas:
            around = area.adjusted(-reach, -reach, reach, reach)
            cells.update(self.chart.meeting(Rect(around.x(), around.y(), around.width(), around.height())))
        batches = [self._batch(cell) for cell in sorted(cells.difference(without))]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, zoom >= READABLE)
        painter.setOpacity(1.0 if self.found is None else STEPPED_BACK)
        self._paint_lines(painter, batches, zoom)
        blocks = zoom < _BLOCKS
        for batch in batches:
            _draw(painter, batch.blocks if blocks else batch.sketch)
        painter.setOpacity(1.0)
        if self.found:
            seen = {node_id for batch in batches for node_id in self.chart.held(batch.cell)} & self.found
            cards = [self.chart.cards[node_id] for node_id in self.chart.cards if node_id in seen]
            _draw(painter, _blocks(self, cards) if blocks else _sketch(self, cards))
        for batch in batches:
            batch.paint_marks(painter, zoom)
        painter.restore()

    def paint_blocks(self, painter: QPainter) -> None:
        """Paint only a block for each card, for a map of the whole."""
        for cell in self.chart.cells:
            _draw(painter, self._batch(cell).blocks)

    def _batch(self, cell: Cell) -> "_Batch":
        batch = self._batches.get(cell)
        if batch is None:
            batch = self._batches[cell] = _Batch(self, cell)
        return batch

    def _paint_lines(self, painter: QPainter, batches: Iterable["_Batch"], zoom: float) -> None:
        near = zoom >= READABLE
        rest = self.style.branch if zoom >= _BLOCKS else self.style.thread
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(rest, 1.5) if near else QPen(rest, 0))
        for batch in batches:
            painter.drawPath(batch.lines)
        painter.setPen(_pen(self.style.passed, 3.0, zoom, 2.5))
        for batch in batches:
            if batch.taken:
                painter.drawPath(batch.taken)
        branches = self.chart.branches
        painter.setPen(_pen(self.style.accent, 3.5, zoom, 3.0))
        for key in (*self.lit, *filter(None, [self.overlay.last_taken])):
            if key in branches:
                painter.drawPath(_path([branches[key].route]))


class _Batch:
    """What one square looks like; each part is made when it is first painted."""

    def __init__(self, overview: Overview, cell: Cell) -> None:
        self._overview, self.cell = overview, cell
        self.box = QRectF(*overview.chart.reach(cell))

    @cached_property
    def lines(self) -> QPainterPath:
        """The branches at rest."""
        return self._lines(taken=False)

    @cached_property
    def taken(self) -> QPainterPath | None:
        """Those that the run took."""
        path = self._lines(taken=True) if self._overview.overlay.taken else QPainterPath()
        return None if path.isEmpty() else path

    @cached_property
    def blocks(self) -> list[_Boxes]:
        """Each card as one box in the colour of its kind."""
        return _blocks(self._overview, self._cards)

    @cached_property
    def sketch(self) -> list[_Boxes]:
        """Each card as a box with the place of its kind, its texts and its rows."""
        return _sketch(self._overview, self._cards)

    def paint_marks(self, painter: QPainter, zoom: float) -> None:
        """What the run, the checks and the selection say; never too small to be seen."""
        overview, style = self._overview, self._overview.style
        marked, troubled = self._marked, self._troubled
        if not (marked or troubled):
            return
        overlay = overview.overlay
        gap = max(5.0, 2.5 / zoom)
        for card in marked:
            box = QRectF(*card.card)
            current = card.node_id == overlay.current
            if current:
                box = _at_least(box, 12 / zoom)
                halo = max(8.0, 5 / zoom)
                painter.fillRect(box.adjusted(-halo, -halo, halo, halo), style.halo)
            if current or card.node_id in overlay.visits:
                painter.setPen(_pen(style.accent, 2.5, zoom, 2.0 if current else 1.0))
                painter.setBrush(style.accent if current and zoom < _BLOCKS else Qt.BrushStyle.NoBrush)
                painter.drawRect(box)
            if card.node_id in overview.selection:
                painter.setPen(_pen(style.accent, 4.0, zoom, 2.0))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(_at_least(box, 6 / zoom).adjusted(-gap, -gap, gap, gap))
        radius = max(14.0, _DOT / zoom)
        painter.setPen(Qt.PenStyle.NoPen)
        for card, severity in troubled:
            painter.setBrush(style.severity(severity))
            painter.drawEllipse(QPointF(card.card.right - 4, card.card.y + 2), radius, radius)

    @cached_property
    def _cards(self) -> list[Card]:
        cards = self._overview.chart.cards
        return [cards[node_id] for node_id in self._overview.chart.held(self.cell)]

    @cached_property
    def _marked(self) -> list[Card]:
        overlay, selection = self._overview.overlay, self._overview.selection
        return [
            card
            for card in self._cards
            if card.node_id in selection or card.node_id in overlay.visits or card.node_id == overlay.current
        ]

    @cached_property
    def _troubled(self) -> list[tuple[Card, str]]:
        problems = self._overview.overlay.problems
        found = [(card, worst(problems.get(card.node_id, ()))) for card in self._cards] if problems else []
        return [(card, severity) for card, severity in found if severity in ("error", "warning")]

    def _lines(self, *, taken: bool) -> QPainterPath:
        chart, ran = self._overview.chart, self._overview.overlay.taken
        keys = [(card.node_id, branch) for card in self._cards for branch in chart.targets(card.node_id)]
        return _path(chart.branches[key].route for key in keys if (key in ran) == taken)


def _blocks(overview: Overview, drawn: Iterable[Card]) -> list[_Boxes]:
    looks: dict[int, _Boxes] = {}
    for card in drawn:
        colour = overview.style.block(card.node, _rank(card, overview.ranks))
        look = looks.setdefault(colour.rgb(), _Boxes(None, colour, []))
        look.boxes.append(QRectF(*card.card))
    return list(looks.values())


def _sketch(overview: Overview, drawn: Iterable[Card]) -> list[_Boxes]:
    style, ranks = overview.style, overview.ranks
    cards, pills, texts = (
        _Boxes(style.line, style.card, []),
        _Boxes(style.secondary, style.card, []),
        _Boxes(None, style.hint, []),
    )
    kinds: dict[int, _Boxes] = {}
    for card in drawn:
        x, y, w, h = card.card
        pill = isinstance(card.node, TerminalNode)
        (pills if pill else cards).boxes.append(QRectF(x, y, w, h))
        colour = style.verdict(_rank(card, ranks)) if pill else style.kind(card.node)
        kind = kinds.setdefault(colour.rgb(), _Boxes(None, colour, []))
        kind.boxes.append(QRectF(x + 10, y + 7, 20, 20))
        texts.boxes.append(QRectF(x + PILL_TEXT + 4, y + TITLE / 2 - 4, min(w - PILL_TEXT - 20, 100), 8))
        if not pill:
            texts.boxes.append(QRectF(x + 14, y + TITLE + BODY / 2 - 4, CARD - 70, 8))
            texts.boxes.extend(
                QRectF(x + CARD - 80, y + row_middle(i) - 3, 62, 7) for i in range(len(card.rows))
            )
    return [cards, pills, *kinds.values(), texts]


def _path(routes: Iterable[Route]) -> QPainterPath:
    path = QPainterPath()
    move, line, cubic = path.moveTo, path.lineTo, path.cubicTo
    for kind, points, _ in routes:
        move(*points[0])
        if kind == "curve":
            (bx, by), (cx, cy), (dx, dy) = points[1:]
            cubic(bx, by, cx, cy, dx, dy)
        else:
            for x, y in points[1:]:
                line(x, y)
    return path


def _draw(painter: QPainter, looks: Iterable[_Boxes]) -> None:
    for rim, fill, boxes in looks:
        painter.setPen(Qt.PenStyle.NoPen if rim is None else QPen(rim, 0))
        painter.setBrush(Qt.BrushStyle.NoBrush if fill is None else fill)
        painter.drawRects(boxes)


def _pen(colour: QColor, width: float, zoom: float, least: float) -> QPen:
    """A pen of this width in the scene, and at least that many pixels."""
    return QPen(colour, max(width, least / zoom))


def _at_least(box: QRectF, side: float) -> QRectF:
    w, h = max(box.width(), side), max(box.height(), side)
    return QRectF(box.center().x() - w / 2, box.center().y() - h / 2, w, h)


def _rank(card: Card, ranks: Mapping[str, int]) -> int | None:
    return ranks.get(card.node.verdict or "") if isinstance(card.node, TerminalNode) else None
