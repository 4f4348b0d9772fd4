"""What stands on the canvas: one item a node and one a branch, each drawn in a single ``paint``.

Items show what they are given (a node, its marks, a route) and know nothing of the draft or of one another.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from designer.canvas.chart import Branch, Card
from designer.canvas.geometry import (
    BODY,
    CARD,
    CHIP,
    PILL_TEXT,
    ROW,
    TITLE,
    Rect,
    Route,
    input_port,
    row_middle,
)
from designer.canvas.overlay import Standing, worst
from designer.canvas.style import Style
from designer.document.design import Direction
from designer.document.names import kind_name, one_line
from designer.proof import Cost
from designer.theme import CARD_RADIUS
from engine import (
    UNKNOWN,
    ActionNode,
    AnyNode,
    ClassifyNode,
    ConditionNode,
    Json,
    OpaqueNode,
    Problem,
    TerminalNode,
)

Hint: TypeAlias = Literal["", "target", "refused"]

Halt: TypeAlias = Literal["", "on", "off", "log"]
"""What a breakpoint does: pause the run, nothing while it is off, or only write a line."""

_MARGIN: Final = 14.0  # halo, selection ring, badge and ports reach this far out of a card
_EDGE: Final = 14.0  # from a card's side to what is written on it
_LEAD: Final = 26.0  # the short line in front of a card that starts the tree or is reached by stubs
_PORT: Final = 4.25
_CORNER: Final = 10.0


@dataclass(frozen=True)
class Marks:
    """What is to be seen on a card beside the node itself."""

    selected: bool = False
    start: bool = False
    pinned: bool = False
    state: Standing | Literal[""] = ""
    visits: int = 0
    taken: frozenset[str] = frozenset()
    targets: Mapping[str, str] = field(default_factory=dict)
    """Connected branches, and what the node at their far end is called."""
    near: int = 0
    """How many branches are drawn to this card."""
    far: int = 0
    """How many lead here as stubs."""
    problems: tuple[Problem, ...] = ()
    probabilities: Mapping[str, float] = field(default_factory=dict)
    rank: int | None = None
    """Which verdict of the tree a terminal has, counted in order of appearance."""
    halt: Halt = ""
    """The breakpoint on the node."""
    halts: Mapping[str, Halt] = field(default_factory=dict)
    """The breakpoints on its branches."""
    source: str = ""
    """Where the next answer or result comes from, where that is not as usual."""
    cost: Cost | None = None
    """What it costs from here on, or to come to a terminal."""

    @property
    def severity(self) -> Literal["", "error", "warning", "info"]:
        """That of the worst problem."""
        return worst(self.problems) or ""

    @property
    def words(self) -> str:
        """The mark at the right of the title, as text."""
        return self.state or (f"✓ {self.visits}" if self.visits else "")


_GLYPHS: Final = {ActionNode: "action", ClassifyNode: "classify", ConditionNode: "condition"}


_MISSING: Final[Mapping[type[AnyNode], str]] = {
    ActionNode: "No action yet",
    ClassifyNode: "No question yet",
    ConditionNode: "No predicate yet",
}


class _Chip(NamedTuple):
    rect: QRectF
    text: str


class NodeItem(QGraphicsItem):
    """The card of a node, or the pill of a terminal."""

    def __init__(self, card: Card, direction: Direction, marks: Marks, style: Style) -> None:
        super().__init__()
        self.node_id = card.node_id
        self.marks = marks
        self.hint: Hint = ""
        self._style = style
        self._show(card, direction)
        self.setZValue(2)

    def put(self, card: Card, direction: Direction) -> None:
        """Show this card at its place; a tree that grows downwards enters it at the top."""
        if card.node is self.node and direction == self._direction:
            self._stand(card)
            return
        self.prepareGeometryChange()
        self._show(card, direction)
        self.update()

    def mark(self, marks: Marks) -> None:
        """Show these marks."""
        if marks != self.marks:
            self.prepareGeometryChange()
            self.marks = marks
            self._lay_out()
            self.update()

    def restyle(self, style: Style) -> None:
        """Take on another theme."""
        self._style = style
        self._lay_out()
        self.update()

    def hold(self, hint: Hint) -> None:
        """Light the card as a target that may be connected, or dim it as one that may not."""
        if hint != self.hint:
            self.hint = hint
            self.setOpacity(0.35 if hint == "refused" else 1.0)
            self.update()

    def tip(self, pos: QPointF) -> str:
        """What a card cannot show in full at this place of the item, as plain text."""
        if self.marks.problems and self._badge().contains(pos):
            return "\n".join(problem.message for problem in self.marks.problems)
        if self.marks.cost and self._cost.contains(pos):
            return self.marks.cost.words
        top = TITLE + BODY
        if isinstance(self.node, TerminalNode) or pos.y() < TITLE:
            ways = self.marks.near + self.marks.far
            lines = [self.headline, f"{kind_name(self.node.type)} · {self.node_id}"]
            lines += [f"{ways} branches lead here"] if ways > 1 else []
            lines += [self.node.description] if self.node.description else []
            return "\n".join(lines)
        if pos.y() < top:
            return "\n".join(_facts(self.node))
        index = int((pos.y() - top) // ROW)
        branches = self.card.rows
        if index >= len(branches):
            return ""
        branch = branches[index]
        target = self.marks.targets.get(branch)
        lines = [f"{branch} → {target}" if target is not None else f"{branch}: leads nowhere yet"]
        if branch in self.marks.probabilities:
            lines.append(f"Probability {self.marks.probabilities[branch]:.2f}")
        return "\n".join(lines)

    def _show(self, card: Card, direction: Direction) -> None:
        self._stand(card)
        self.node: AnyNode = card.node
        self.size = (card.card.w, card.card.h)
        self._direction: Direction = direction
        self._lay_out()

    def _stand(self, card: Card) -> None:
        self.card = card
        self.setPos(card.card.x, card.card.y)

    def _lay_out(self) -> None:
        """Break and cut all texts once, so that painting only paints."""
        style, width = self._style, self.size[0]
        self.headline = self.card.headline
        words = self.marks.words.removeprefix("✓ ")
        self._mark_width = style.small_strong.width(words) + 14 if words else 0.0
        self._inlet = QPointF(*input_port(Rect(0, 0, *self.size), self._direction))
        self._pill = isinstance(self.node, TerminalNode)
        self._lead = ""
        if self.marks.start:
            self._lead = "start"
        elif not self.marks.near and self.marks.far:
            self._lead = str(self.marks.far)
        self._lead_width = style.small.width(self._lead) + 18 if self._lead else 0.0
        lead = self._lead_width + _LEAD if self._lead else 0.0
        trail = self._mark_width if self._pill else 0.0
        cost = style.small.width(self.marks.cost.text) + 14 if self.marks.cost else 0.0
        self._cost = QRectF(-6, self.size[1] - 5, cost, 18)
        trail = max(trail, self._cost.right() - width)
        self._bounds = QRectF(0, 0, *self.size).adjusted(-_MARGIN - lead, -_MARGIN, _MARGIN + trail, _MARGIN)
        self._lines: tuple[str, ...] = ()
        self._chips: list[_Chip] = []
        self._rows: list[tuple[str, str, float]] = []
        if self._pill:
            self._title = style.title.elided(self.headline, width - PILL_TEXT - 8)
            return
        room = width - 38 - _EDGE - (self._mark_width + 8 if words else 0)
        self._title = style.title.elided(self.headline, room)
        facts = _facts(self.node)
        if isinstance(self.node, ClassifyNode) or not facts:
            text = one_line(facts[0]) if facts else _MISSING[type(self.node)]
            self._lines = style.body.lines(text, width - 2 * _EDGE, 2)
        else:
            self._chips = self._flow(facts)
        room = 96.0 if self.marks.probabilities else width - 2 * _EDGE - 4
        for branch in self.card.rows:
            face = style.strong if branch in self.marks.taken else style.body
            text = face.elided(one_line(branch), room) or "(blank)"
            self._rows.append((branch, text, face.width(text)))

    def _flow(self, facts: list[str]) -> list[_Chip]:
        """Chips side by side in two lines; the last says how many more there are."""
        face, right = self._style.small, CARD - _EDGE
        chips: list[_Chip] = []
        x, line = _EDGE - 2, 0
        for index, fact in enumerate(facts):
            text = face.elided(one_line(fact), right - _EDGE - 14)
            rest = len(facts) - index - 1
            # The last line keeps room for the count of what does not fit.
            keep = 34 if rest and line else 0
            width = face.width(text) + 14
            if x + width + keep > right:
                if line and chips:
                    text = f"+{rest + 1}"
                    chips.append(_Chip(QRectF(x, _chip_y(line), face.width(text) + 14, 18), text))
                    break
                if chips:
                    x, line = _EDGE - 2, 1
                if rest and line:
                    text = face.elided(one_line(fact), right - _EDGE - 48)
                    width = face.width(text) + 14
            chips.append(_Chip(QRectF(x, _chip_y(line), width, 18), text))
            x += width + 5
        if line == 0:
            return [_Chip(chip.rect.translated(0, 11), chip.text) for chip in chips]
        return chips

    def _badge(self) -> QRectF:
        count = len(self.marks.problems)
        width = 18.0 if count == 1 else 22.0 + self._style.small_strong.width(str(count))
        return QRectF(self.size[0] + 6 - width, -9, width, 18)

    # -- painting

    def boundingRect(self) -> QRectF:
        return self._bounds

    def shape(self) -> QPainterPath:
        path = QPainterPath()
        path.addRect(QRectF(0, 0, *self.size))
        return path

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        self._paint_ground(painter)
        self._paint_lead(painter)
        if self._pill:
            self._paint_pill(painter)
        else:
            self._paint_title(painter)
            self._paint_body(painter)
            self._paint_rows(painter)
        self._paint_mark(painter)
        self._paint_corner(painter)
        if self.marks.cost:
            self._paint_cost(painter, self.marks.cost)
        if self.marks.problems:
            self._paint_badge(painter)

    def _paint_corner(self, painter: QPainter) -> None:
        """On the upper left: a pin, a breakpoint, and where answers come from."""
        style, marks, x = self._style, self.marks, 2.0
        if marks.pinned:
            painter.setPen(QPen(style.line, 1))
            painter.setBrush(style.card)
            painter.drawEllipse(QPointF(x, 0), 9, 9)
            style.icon("pin", style.secondary).render(painter, QRectF(x - 6, -6, 12, 12))
            x += 20
        if marks.halt:
            _halt(painter, style, QPointF(x, 0), 7, marks.halt)
            x += 18
        if marks.source:
            chip = QRectF(x - 8, -9, style.small.width(marks.source) + 14, 18)
            _chip(painter, style, chip, marks.source, 9, style.secondary, style.card, style.line)

    def _paint_cost(self, painter: QPainter, cost: Cost) -> None:
        """On the lower left: what is still to come, or out of budget."""
        style = self._style
        ink, rim = (style.bad, style.bad) if cost.beyond else (style.secondary, style.line)
        _chip(painter, style, self._cost, cost.text, 9, ink, style.card, rim)

    def _paint_lead(self, painter: QPainter) -> None:
        """In front of the input: that the tree starts here, or how many branches come from afar."""
        style, marks = self._style, self.marks
        if not self._lead:
            if not marks.near and not self._pill:
                _ring(painter, self._inlet, style.branch, style.card)
            return
        middle = TITLE / 2
        colour = style.accent if marks.start and marks.visits else style.branch
        chip = QRectF(-_LEAD - self._lead_width, middle - CHIP / 2, self._lead_width, CHIP)
        painter.setPen(QPen(colour, 1.5))
        painter.drawLine(QLineF(-_LEAD, middle, -1, middle))
        _arrow(painter, QPointF(0.5, middle))
        _chip(
            painter,
            style,
            chip,
            self._lead,
            CHIP / 2,
            style.text if marks.start else style.secondary,
            style.card,
            style.line,
        )

    def _paint_ground(self, painter: QPainter) -> None:
        style, marks, card = self._style, self.marks, QRectF(0, 0, *self.size)
        radius = TITLE / 2 if self._pill else CARD_RADIUS
        around = card.adjusted(-5, -5, 5, 5)
        if marks.state or self.hint == "target":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(style.halo)
            painter.drawRoundedRect(around, radius + 5, radius + 5)
        if marks.selected:
            painter.setPen(QPen(style.accent, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(around, radius + 5, radius + 5)
        if marks.state or self.hint == "target":
            rim = QPen(style.accent, 2)
        elif marks.visits or marks.selected:
            rim = QPen(style.accent, 1.25)
        elif self._pill:
            rim = QPen(style.verdict(marks.rank), 1.25)
        elif isinstance(self.node, OpaqueNode):
            rim = QPen(style.bad, 1.25)
        else:
            rim = QPen(style.line, 1)
        painter.setBrush(style.card)
        painter.setPen(rim)
        painter.drawRoundedRect(card, radius, radius)

    def _paint_pill(self, painter: QPainter) -> None:
        style = self._style
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(style.verdict(self.marks.rank), 3.5))
        painter.drawEllipse(QPointF(18, TITLE / 2), 5.25, 5.25)
        style.title.draw(painter, PILL_TEXT, TITLE / 2, self._title, style.text)

    def _paint_title(self, painter: QPainter) -> None:
        style = self._style
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(style.kind(self.node))
        painter.drawRoundedRect(QRectF(10, 8, 18, 18), 4, 4)
        glyph = _GLYPHS.get(type(self.node), "problem-error")
        style.icon(glyph, style.card).render(painter, QRectF(12.5, 10.5, 13, 13))
        style.title.draw(painter, 38, TITLE / 2, self._title, style.text)

    def _paint_body(self, painter: QPainter) -> None:
        style = self._style
        painter.setPen(QPen(style.line, 1))
        painter.drawLine(QLineF(0.5, TITLE, CARD - 0.5, TITLE))
        if self._rows:
            painter.drawLine(QLineF(0.5, TITLE + BODY, CARD - 0.5, TITLE + BODY))
        first = TITLE + BODY / 2 - 8.5 * (len(self._lines) - 1)
        for index, line in enumerate(self._lines):
            style.body.draw(painter, _EDGE - 2, first + 17 * index, line, style.secondary)
        for chip in self._chips:
            ink = style.bad if isinstance(self.node, OpaqueNode) else style.text
            _chip(painter, style, chip.rect, chip.text, 4, ink, style.raised, style.line)

    def _paint_rows(self, painter: QPainter) -> None:
        style, marks = self._style, self.marks
        widest = max((width for _, _, width in self._rows), default=0.0)
        bar = CARD - _EDGE - 4 - widest - 46 - _EDGE
        for index, (branch, text, width) in enumerate(self._rows):
            middle = row_middle(index)
            taken = branch in marks.taken
            ink = style.accent if taken else style.secondary if branch == UNKNOWN else style.text
            face = style.strong if taken else style.body
            face.draw(painter, CARD - _EDGE - 4 - width, middle, text, ink)
            if branch in marks.probabilities:
                self._paint_bar(painter, marks.probabilities[branch], middle, bar)
            if halt := marks.halts.get(branch):
                _halt(painter, style, QPointF(CARD - _EDGE - 14 - width, middle), 4.5, halt)
            port = QPointF(CARD, middle)
            if taken:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(style.accent)
                painter.drawEllipse(port, _PORT + 1, _PORT + 1)
            else:
                _ring(painter, port, style.branch, style.card, filled=branch in marks.targets)

    def _paint_bar(self, painter: QPainter, share: float, middle: float, width: float) -> None:
        style = self._style
        share = min(share, 1.0) if share > 0 else 0.0  # whatever a decider sent, NaN too
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(style.line)
        painter.drawRoundedRect(QRectF(_EDGE - 2, middle - 3, width, 6), 3, 3)
        painter.setBrush(style.accent)
        painter.drawRoundedRect(QRectF(_EDGE - 2, middle - 3, max(width * share, 6.0), 6), 3, 3)
        text = f"{share:.2f}"
        style.number.draw(
            painter, _EDGE + width + 36 - style.number.width(text), middle, text, style.secondary
        )

    def _paint_mark(self, painter: QPainter) -> None:
        style, marks = self._style, self.marks
        if not marks.words:
            return
        # A pill has no room inside: its mark follows it.
        x = self.size[0] + 10 if self._pill else self.size[0] - _EDGE + 2 - self._mark_width
        if marks.state:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(style.accent)
            painter.drawEllipse(QPointF(x + 4, TITLE / 2), 4, 4)
        else:
            style.icon("check", style.accent).render(painter, QRectF(x, TITLE / 2 - 6, 12, 12))
        style.small_strong.draw(painter, x + 14, TITLE / 2, marks.words.removeprefix("✓ "), style.accent)

    def _paint_badge(self, painter: QPainter) -> None:
        style, badge, severity = self._style, self._badge(), self.marks.severity
        colour, count = style.severity(severity), len(self.marks.problems)
        painter.setPen(QPen(colour, 1.25))
        painter.setBrush(style.card)
        painter.drawRoundedRect(badge, 10, 10)
        style.icon(f"problem-{severity}", colour).render(painter, QRectF(badge.x() + 2, -8, 16, 16))
        if count > 1:
            style.small_strong.draw(painter, badge.x() + 20, 0, str(count), colour)


class EdgeItem(QGraphicsItem):
    """One branch: a curve, a lane outside the cards, or a stub with the name of its far end."""

    def __init__(self, branch: Branch, style: Style) -> None:
        super().__init__()
        self.key = branch.key
        self.taken, self.last, self.lit = False, False, False
        self._style = style
        self._show(branch)

    def put(self, branch: Branch) -> None:
        """Draw the branch this way."""
        self.prepareGeometryChange()
        self._show(branch)
        self.update()

    def mark(self, *, taken: bool, last: bool) -> None:
        """Show whether the run took this branch, and whether it was the latest it took."""
        if (taken, last) != (self.taken, self.last):
            self.taken, self.last = taken, last
            self._rise()
            self.update()

    def light(self, *, lit: bool) -> None:
        """Show the branch as pointed at or chosen."""
        if lit != self.lit:
            self.lit = lit
            self.update()

    def restyle(self, style: Style) -> None:
        """Take on another theme."""
        self._style = style
        self._lay_out()
        self.update()

    def _show(self, branch: Branch) -> None:
        self.branch = branch
        self._path = painter_path(branch.route)
        self._bounds = QRectF(*branch.box).adjusted(-6, -6, 6, 6)
        self._lay_out()
        self._rise()

    def _rise(self) -> None:
        # A name is worth more than the rim of a card that stands too near.
        self.setZValue(3.0 if self.branch.route.chip else 0.5 if self.taken else 0.0)

    def _lay_out(self) -> None:
        chip = self.branch.route.chip
        self._name = self._style.small.elided(self.branch.name, chip.w - 12) if chip else ""

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        style = self._style
        colour, width = style.branch, 1.5
        if self.branch.lost:
            colour = style.bad
        if self.lit:
            colour, width = style.accent, 2.0
        if self.taken:
            colour, width = (style.accent, 3.5) if self.last else (style.passed, 3.0)
        pen = QPen(colour, width)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(self._path)
        if self.branch.route.chip:
            on = self.lit or self.taken
            ink = style.bad if self.branch.lost else style.accent if on else style.secondary
            rim = colour if on or self.branch.lost else style.line
            chip = QRectF(*self.branch.route.chip)
            _chip(painter, style, chip, self._name, CHIP / 2, ink, style.card, rim)
        else:
            before, end = (QPointF(*point) for point in self.branch.route.points[-2:])
            _arrow(painter, end, down=before.x() == end.x())


def _halt(painter: QPainter, style: Style, at: QPointF, radius: float, halt: Halt) -> None:
    """A breakpoint: a disc, an empty ring while it is off, a square where it only writes a line."""
    painter.setPen(QPen(style.bad, 1.5))
    painter.setBrush(style.card if halt == "off" else style.bad)
    if halt == "log":
        painter.drawRect(QRectF(at.x() - radius + 1, at.y() - radius + 1, 2 * radius - 2, 2 * radius - 2))
    else:
        painter.drawEllipse(at, radius, radius)


def _chip_y(line: int) -> float:
    return TITLE + 6 + 21 * line


def _facts(node: AnyNode) -> list[str]:
    """What a card says in its body, each on its own; the tooltip shows the same in full."""
    match node:
        case ActionNode(action_key=str(key)) if key:
            return [key]
        case ClassifyNode(task=str(task)) if task.strip():
            return [task]
        case ConditionNode(predicate_key=str(key)) if key:
            return [
                key,
                *(f"{name} = {_plain(value)}" for name, value in (node.predicate_parameters or {}).items()),
            ]
        case OpaqueNode():
            return [f"Unknown type: {node.type}" if node.type else "No type"]
        case _:
            return []


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def painter_path(route: Route) -> QPainterPath:
    """The line of a route."""
    points = [QPointF(*point) for point in route.points]
    path = QPainterPath(points[0])
    if route.kind == "curve":
        path.cubicTo(*points[1:])
        return path
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        path.lineTo(_towards(corner, before))
        path.quadTo(corner, _towards(corner, after))
    path.lineTo(points[-1])
    return path


def _towards(corner: QPointF, other: QPointF) -> QPointF:
    """The point where a rounded corner begins, on the way to the other point."""
    line = QLineF(corner, other)
    length = line.length()
    return line.pointAt(min(_CORNER, length / 2) / length) if length else corner


def _arrow(painter: QPainter, end: QPointF, *, down: bool = False) -> None:
    back, tip = (QPointF(4, 5.5), end - QPointF(0, 1.5)) if down else (QPointF(5.5, 4), end - QPointF(1.5, 0))
    side = QPointF(8, 0) if down else QPointF(0, 8)
    painter.drawPolyline([tip - back, tip, tip - back + side])


def _ring(painter: QPainter, at: QPointF, colour: QColor, ground: QColor, *, filled: bool = False) -> None:
    painter.setPen(QPen(colour, 1.5))
    painter.setBrush(ground)
    painter.drawEllipse(at, _PORT, _PORT)
    if filled:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(at, _PORT - 2.6, _PORT - 2.6)


def _chip(
    painter: QPainter,
    style: Style,
    box: QRectF,
    text: str,
    radius: float,
    ink: QColor,
    ground: QColor,
    rim: QColor,
) -> None:
    painter.setPen(QPen(rim, 1))
    painter.setBrush(ground)
    painter.drawRoundedRect(box, radius, radius)
    if text:
        style.small.draw(
            painter, box.x() + (box.width() - style.small.width(text)) / 2, box.center().y(), text, ink
        )
