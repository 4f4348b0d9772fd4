"""Where everything of a picture lies, in scene units: sizes of cards, ports and the routes between them.

Pure: no Qt and no fonts. Widths of texts come from a small table of letters, so that a tree gets the same
layout on every machine; painting elides what a wider font cannot hold.
"""

import math
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from designer.document.design import Direction
from designer.document.names import node_title
from engine import AnyNode, NodeId, TerminalNode

GRID: Final = 11
"""Cards are dropped on multiples of this; every second line has a dot."""

DOTS: Final = 22
CARD: Final = 236
TITLE: Final = 34
BODY: Final = 52
ROW: Final = 27
CHIP: Final = 20
PILL_TEXT: Final = 34
"""Where the text of a terminal begins; its ring is left of that."""

COLUMN: Final = CARD + 149
"""A card and the gutter to its right, as far as stubs are concerned."""

_RUN: Final = 24.0  # a forward branch needs this much room to be drawn as one curve
_CLEAR: Final = 22.0  # between a lane and the cards it passes
_BESIDE: Final = 8.0  # a lane is never nearer to a card than this
_LEAST: Final = 12.0  # so far below a card runs the first of the lanes that fit between two rows
_TRIES: Final = 60  # a lane that finds no free line within so many cards runs behind the next
_CROWD: Final = 4  # more branches than this into one terminal and only near ones are drawn in full


class Point(NamedTuple):
    """A place in the scene."""

    x: float
    y: float


class Rect(NamedTuple):
    """A box in the scene: top left corner and size."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        """The x of its right side."""
        return self.x + self.w

    @property
    def bottom(self) -> float:
        """The y of its lower side."""
        return self.y + self.h


class Route(NamedTuple):
    """How one branch is drawn.

    ``curve``: the four points of a cubic. ``lane``: corners of a line of level and upright pieces; a branch
    back runs along one outside the cards. ``stub``: a short line to ``chip``, which holds the name of a
    target that is far away.
    """

    kind: Literal["curve", "lane", "stub"]
    points: tuple[Point, ...]
    chip: Rect | None = None


CardsNear: TypeAlias = Callable[[Rect], Iterable[Rect]]
"""The cards that have a point in common with a box."""


def rows(node: AnyNode) -> tuple[str, ...]:
    """The branches a card shows: those its kind must have, then any others its transitions name."""
    return tuple(dict.fromkeys((*node.branches(), *(t.condition for t in node.transitions))))


def card_size(
    node: AnyNode, node_id: NodeId = "", branches: Collection[str] | None = None
) -> tuple[float, float]:
    """Width and height of a node's card; the id matters for a terminal that nothing else names.

    ``branches`` are its rows, where they are known already.
    """
    if isinstance(node, TerminalNode):
        return min(
            float(CARD), PILL_TEXT + 16 + _even(text_width(node_title(node_id, node), 13, bold=True))
        ), TITLE
    return CARD, TITLE + BODY + ROW * len(rows(node) if branches is None else branches)


def input_port(card: Rect, direction: Direction = "right") -> Point:
    """Where branches arrive: left, in line with the title; at the top of a tree that grows downwards."""
    if direction == "down":
        return Point(card.x + card.w / 2, card.y)
    return Point(card.x, card.y + TITLE / 2)


def output_port(card: Rect, node: AnyNode, branch: str) -> Point:
    """Where a branch leaves: right, in line with its row."""
    if isinstance(node, TerminalNode):
        return Point(card.right, card.y + TITLE / 2)
    return Point(card.right, card.y + row_middle(rows(node).index(branch)))


def row_middle(index: int) -> float:
    """The middle of a branch row, measured from the top of its card."""
    return TITLE + BODY + ROW * (index + 0.5)


def is_crowded(incoming: int) -> int:
    """How crowded a terminal is, in three steps; how its branches are drawn depends on nothing finer."""
    return (incoming > 1) + (incoming > _CROWD)


def is_far(source: Rect, target: Rect, incoming: int, direction: Direction = "right") -> bool:
    """Whether a branch to this terminal, which ``incoming`` branches share, is better drawn as a stub."""
    if incoming <= 1:
        return False
    if direction == "down":
        source, target = _turned(source), _turned(target)
    across = target.x - source.right
    if across < _RUN:
        return True
    down = max(target.y - source.bottom, source.y - target.bottom)
    reach = COLUMN if incoming > _CROWD else 1.5 * COLUMN
    return across > reach or down > reach


def is_forward(start: Point, end: Point) -> bool:
    """Whether the end lies far enough to the right of the start for one curve."""
    return end.x - start.x >= _RUN


def curve(start: Point, end: Point) -> Route:
    """A branch that goes on to the right."""
    (sx, sy), (ex, ey) = start, end
    reach = max(_RUN, min((ex - sx) / 2, 160))
    return Route("curve", (start, Point(sx + reach, sy), Point(ex - reach, ey), end))


def lane(start: Point, end: Point, source: Rect, target: Rect, cards: CardsNear, slot: int) -> Route:
    """A branch that goes back: right, along a free line between or below the cards, and in from the left.

    ``slot`` keeps lanes apart.
    """
    shift = 4.0 * (slot % 6)
    out, back = start.x + 18 + shift, end.x - 20 - shift
    left, right = min(out, back), max(out, back)

    def in_way(level: float) -> list[Rect]:
        strip = Rect(left - _BESIDE, level - _BESIDE, right - left + 2 * _BESIDE, 2 * _BESIDE)
        return list(cards(strip))

    between = [
        (upper.bottom + lower.y) / 2
        for upper, lower in ((source, target), (target, source))
        if lower.y - upper.bottom >= 2 * _CLEAR
    ]
    level = next((y for y in between if not in_way(y)), None)
    if level is None:
        level = max(source.bottom, target.bottom) + _LEAST + shift
        for _ in range(_TRIES):
            if not (hit := in_way(level)):
                break
            level = max(card.bottom for card in hit) + _LEAST + shift
    corners = (Point(out, start.y), Point(out, level), Point(back, level), Point(back, end.y))
    return Route("lane", (start, *corners, end))


def upright(start: Point, end: Point, source: Rect, cards: CardsNear, slot: int) -> Route:
    """A branch of a tree that grows downwards: along a free upright line at the right, in from the top.

    Where that line is further away, the way there is in the gap beside the source's layer.
    """
    shift = 4.0 * (slot % 6)
    out, back = start.x + 16 + shift, end.y - 20 - shift
    aside = source.bottom + _LEAST + shift if back > start.y else source.y - _LEAST - shift
    top, bottom = min(back, aside), max(back, aside)
    along = out
    for _ in range(_TRIES):
        hit = list(cards(Rect(along - _BESIDE, top - _BESIDE, 2 * _BESIDE, bottom - top + 2 * _BESIDE)))
        if not hit:
            break
        along = max(card.right for card in hit) + _LEAST + shift
    first = () if along == out else (Point(out, aside), Point(along, aside))
    corners = (Point(out, start.y), *first, Point(along, back), Point(end.x, back))
    return Route("lane", (start, *corners, end))


def stub(start: Point, name: str) -> Route:
    """A short line beside the port and a chip with the name of the far end."""
    end = Point(start.x + 20, start.y)
    width = min(_even(text_width(name, 11)) + 16, 120.0)
    return Route("stub", (Point(start.x + 5, start.y), end), Rect(end.x, end.y - CHIP / 2, width, CHIP))


def bounds(route: Route) -> Rect:
    """The smallest box around a route."""
    kind, points, chip = route
    if kind == "curve":  # it lies between its ends
        (left, start), (right, end) = points[0], points[-1]
        return Rect(left, min(start, end), right - left, abs(end - start))
    xs, ys = zip(*points, strict=True)
    left, top, right, bottom = min(xs), min(ys), max(xs), max(ys)
    if chip:
        top, right, bottom = min(top, chip.y), max(right, chip.right), max(bottom, chip.bottom)
    return Rect(left, top, right - left, bottom - top)


def distance(route: Route, x: float, y: float) -> float:
    """How far a place is from the line of a route, in scene units; nothing on its chip."""
    chip = route.chip
    if chip and chip.x <= x <= chip.right and chip.y <= y <= chip.bottom:
        return 0.0
    points = _samples(route.points) if route.kind == "curve" else route.points
    return min(_apart(a, b, x, y) for a, b in pairwise(points))


def snapped(value: float) -> float:
    """The nearest line of the grid."""
    return float(round(value / GRID) * GRID)


@lru_cache(maxsize=4096)
def text_width(text: str, pixels: float, *, bold: bool = False) -> float:
    """About how wide a text is in a font of this height, between the narrow and the wide usual fonts."""
    return sum(map(_letter_width, text)) * pixels * (1.06 if bold else 1.0)


@lru_cache(maxsize=4096)
def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    for letters, width in _LETTERS:
        if letter in letters:
            return width
    return 0.73 if letter.isupper() else 0.62


_LETTERS: Final = (("ijl|.,:;'!I ", 0.32), ('tfr()[]{}-/"', 0.41), ("szc", 0.54), ("mwMWQO@%&…—", 0.92))


def _even(width: float) -> float:
    return 2.0 * round(width / 2 + 0.5)


def _turned(card: Rect) -> Rect:
    return Rect(card.y, card.x, card.h, card.w)


def _samples(points: Sequence[Point]) -> list[Point]:
    """Points along a cubic, close enough to each other for a straight line between them."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = points
    found = []
    for step in range(25):
        t = step / 24
        s = 1 - t
        a, b, c, d = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
        found.append(Point(a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy))
    return found


def _apart(a: Point, b: Point, x: float, y: float) -> float:
    """How far a place is from the piece of a line between two points."""
    dx, dy = b.x - a.x, b.y - a.y
    length = dx * dx + dy * dy
    share = 0.0 if not length else min(1.0, max(0.0, ((x - a.x) * dx + (y - a.y) * dy) / length))
    return math.hypot(a.x + share * dx - x, a.y + share * dy - y)
