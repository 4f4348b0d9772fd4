"""Where everything of a picture lies, in scene units: sizes of cards, ports and the routes between them.

Pure: no Qt and no fonts. Widths of texts come from a small table of letters, so that a tree gets the same
layout on every machine; painting elides what a wider font cannot hold.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

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


@dataclass(frozen=True, slots=True)
class Route:
    """How one branch is drawn.

    ``curve``: the four points of a cubic. ``lane``: corners of a line that runs outside the cards.
    ``stub``: a short line to ``chip``, which holds the name of a target that is far away.
    """

    kind: Literal["curve", "lane", "stub"]
    points: tuple[Point, ...]
    chip: Rect | None = None


def rows(node: AnyNode) -> tuple[str, ...]:
    """The branches a card shows: those its kind must have, then any others its transitions name."""
    return tuple(dict.fromkeys((*node.branches(), *(t.condition for t in node.transitions))))


def card_size(node: AnyNode, node_id: NodeId = "") -> tuple[float, float]:
    """Width and height of a node's card; the id matters for a terminal that nothing else names."""
    if isinstance(node, TerminalNode):
        return min(
            float(CARD), PILL_TEXT + 16 + _even(text_width(node_title(node_id, node), 13, bold=True))
        ), TITLE
    return CARD, TITLE + BODY + ROW * len(rows(node))


def input_port(card: Rect) -> Point:
    """Where branches arrive: left, in line with the title."""
    return Point(card.x, card.y + TITLE / 2)


def output_port(card: Rect, node: AnyNode, branch: str) -> Point:
    """Where a branch leaves: right, in line with its row."""
    if isinstance(node, TerminalNode):
        return Point(card.right, card.y + TITLE / 2)
    return Point(card.right, card.y + row_middle(rows(node).index(branch)))


def row_middle(index: int) -> float:
    """The middle of a branch row, measured from the top of its card."""
    return TITLE + BODY + ROW * (index + 0.5)


def is_far(source: Rect, target: Rect, incoming: int) -> bool:
    """Whether a branch to this terminal, which ``incoming`` branches share, is better drawn as a stub."""
    reach = COLUMN if incoming > _CROWD else 1.5 * COLUMN
    across = target.x - source.right
    down = max(target.y - source.bottom, source.y - target.bottom)
    return incoming > 1 and (across > reach or across < _RUN or down > reach)


def is_forward(start: Point, end: Point) -> bool:
    """Whether the end lies far enough to the right of the start for one curve."""
    return end.x - start.x >= _RUN


def curve(start: Point, end: Point) -> Route:
    """A branch that goes on to the right."""
    reach = max(_RUN, min((end.x - start.x) / 2, 160))
    return Route("curve", (start, Point(start.x + reach, start.y), Point(end.x - reach, end.y), end))


def lane(start: Point, end: Point, source: Rect, target: Rect, others: Iterable[Rect], slot: int) -> Route:
    """A branch that goes back: right, along a free line between or below the cards, and in from the left.

    ``slot`` keeps the lanes of different targets apart.
    """
    shift = 8.0 * (slot % 6)
    out, back = start.x + 18 + shift / 2, end.x - 20 - shift / 2
    between = [
        (upper.bottom + lower.y) / 2
        for upper, lower in ((source, target), (target, source))
        if lower.y - upper.bottom >= 2 * _CLEAR
    ]
    left, right = min(out, back), max(out, back)
    cards = [card for card in others if card.x < right + 8 and card.x + card.w > left - 8]
    level = next((y for y in between if not _in_way(cards, y)), None)
    if level is None:
        level = max(source.bottom, target.bottom) + _CLEAR + shift
        while hit := _in_way(cards, level):
            level = max(card.bottom for card in hit) + _CLEAR + shift
    corners = (Point(out, start.y), Point(out, level), Point(back, level), Point(back, end.y))
    return Route("lane", (start, *corners, end))


def stub(start: Point, name: str) -> Route:
    """A short line beside the port and a chip with the name of the far end."""
    end = Point(start.x + 20, start.y)
    width = min(_even(text_width(name, 11)) + 16, 120.0)
    return Route("stub", (Point(start.x + 5, start.y), end), Rect(end.x, end.y - CHIP / 2, width, CHIP))


def snapped(value: float) -> float:
    """The nearest line of the grid."""
    return float(round(value / GRID) * GRID)


def text_width(text: str, pixels: float, *, bold: bool = False) -> float:
    """About how wide a text is in a font of this height, between the narrow and the wide usual fonts."""
    return sum(map(_letter_width, text)) * pixels * (1.06 if bold else 1.0)


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


def _in_way(cards: Sequence[Rect], y: float) -> list[Rect]:
    return [card for card in cards if card.y - 8 < y < card.bottom + 8]
