"""Cards put in line with each other: places from boxes, and nothing else."""

from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, TypeAlias

from designer.document.draft import Place
from engine import NodeId


class Box(NamedTuple):
    """A card: its top left corner and its size, in scene units."""

    x: float
    y: float
    w: float
    h: float


_Boxes: TypeAlias = Mapping[NodeId, Box]
_Places: TypeAlias = dict[NodeId, Place]

_GRID: Final = 11
_LEAST_GAP: Final = 22.0


def left(boxes: _Boxes) -> _Places:
    """All at the left side of the leftmost."""
    x = min(box.x for box in boxes.values())
    return {i: Place(x, box.y) for i, box in boxes.items()}


def top(boxes: _Boxes) -> _Places:
    """All at the upper side of the uppermost."""
    y = min(box.y for box in boxes.values())
    return {i: Place(box.x, y) for i, box in boxes.items()}


def centre(boxes: _Boxes) -> _Places:
    """All with their middles on one line from top to bottom."""
    middle = _middle([(box.x, box.x + box.w) for box in boxes.values()])
    return {i: Place(middle - box.w / 2, box.y) for i, box in boxes.items()}


def middle(boxes: _Boxes) -> _Places:
    """All with their middles on one line from left to right."""
    line = _middle([(box.y, box.y + box.h) for box in boxes.values()])
    return {i: Place(box.x, line - box.h / 2) for i, box in boxes.items()}


def across(boxes: _Boxes) -> _Places:
    """From left to right with equal gaps; the first stays, and where there is room the last too."""
    starts = _spread({i: (box.x, box.w) for i, box in boxes.items()})
    return {i: Place(starts[i], box.y) for i, box in boxes.items()}


def down(boxes: _Boxes) -> _Places:
    """From top to bottom with equal gaps; the first stays, and where there is room the last too."""
    starts = _spread({i: (box.y, box.h) for i, box in boxes.items()})
    return {i: Place(box.x, starts[i]) for i, box in boxes.items()}


def snapped(boxes: _Boxes) -> _Places:
    """Each on the nearest crossing of the grid."""
    return {
        i: Place(float(round(box.x / _GRID) * _GRID), float(round(box.y / _GRID) * _GRID))
        for i, box in boxes.items()
    }


Way: TypeAlias = Callable[[_Boxes], _Places]


def _middle(spans: list[tuple[float, float]]) -> float:
    return (min(start for start, _ in spans) + max(end for _, end in spans)) / 2


def _spread(spans: Mapping[NodeId, tuple[float, float]]) -> dict[NodeId, float]:
    """New starts for these (start, length), in their order, the gaps between them equal."""
    order = sorted(spans, key=lambda i: spans[i])
    if len(order) < 3:
        return {i: start for i, (start, _) in spans.items()}
    room = sum(spans[b][0] - spans[a][0] - spans[a][1] for a, b in pairwise(order))
    gap = max(room / (len(order) - 1), _LEAST_GAP)
    steps = (spans[i][1] + gap for i in order[:-1])
    return dict(zip(order, accumulate(steps, initial=spans[order[0]][0]), strict=True))
