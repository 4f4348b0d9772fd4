"""Things found by where they are: boxes sorted into the squares of a coarse grid."""

from collections.abc import Hashable, Iterable
from typing import Any, Final, Generic, TypeAlias, TypeVar

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width and height, in scene units."""

Cell: TypeAlias = tuple[int, int]
"""A square of the grid: its column and row."""

_MOST: Final = 4096  # squares under one box; a larger one is looked at every time

_NONE: Final[dict[Any, None]] = {}

_Key = TypeVar("_Key", bound=Hashable)


def meet(one: Box, other: Box) -> bool:
    """Whether two boxes have at least a point in common."""
    (ax, ay, aw, ah), (bx, by, bw, bh) = one, other
    return ax <= bx + bw and ay <= by + bh and ax + aw >= bx and ay + ah >= by


class Cells(Generic[_Key]):
    """Boxes by their keys; what meets a box is found among its neighbours only."""

    def __init__(self, size: float = 512.0) -> None:
        self._size = size
        self._boxes: dict[_Key, Box] = {}
        # A dictionary keeps the order in which things came: the same picture every time.
        self._cells: dict[Cell, dict[_Key, None]] = {}
        self._large: dict[_Key, None] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._boxes

    def put(self, key: _Key, box: Box) -> None:
        """Have this thing there, wherever it was before."""
        self.drop(key)
        self._boxes[key] = box
        if self._count(box) > _MOST:
            self._large[key] = None
            return
        for cell in self._under(box):
            self._cells.setdefault(cell, {})[key] = None

    def drop(self, key: _Key) -> None:
        """Have it nowhere."""
        box = self._boxes.pop(key, None)
        if box is None:
            return
        if key in self._large:
            del self._large[key]
            return
        for cell in self._under(box):
            things = self._cells[cell]
            del things[key]
            if not things:
                del self._cells[cell]

    def box(self, key: _Key) -> Box | None:
        """Where this thing is."""
        return self._boxes.get(key)

    def near(self, box: Box) -> list[_Key]:
        """What has at least a point in common with this box."""
        if self._count(box) > len(self._boxes):
            return [key for key, other in self._boxes.items() if meet(box, other)]
        keys = dict(self._large)
        for cell in self._under(box):
            keys.update(self._cells.get(cell, _NONE))
        boxes, (x, y, w, h) = self._boxes, box
        right, bottom = x + w, y + h
        found = []
        for key in keys:
            left, top, width, height = boxes[key]
            if left <= right and top <= bottom and left + width >= x and top + height >= y:
                found.append(key)
        return found

    def _count(self, box: Box) -> float:
        return (box[2] // self._size + 2) * (box[3] // self._size + 2)

    def _under(self, box: Box) -> Iterable[Cell]:
        size, (x, y, w, h) = self._size, box
        rows = range(int(y // size), int((y + h) // size) + 1)
        return [(column, row) for column in range(int(x // size), int((x + w) // size) + 1) for row in rows]
