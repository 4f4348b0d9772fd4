"""The tree on paper: on one page, or at a size that can be read on as many pages as that takes."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, prod
from typing import Final, NamedTuple

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPagedPaintDevice, QPageLayout, QPainter, QPen

from designer.canvas.items import EdgeItem, painter_path
from designer.canvas.overlay import Overlay
from designer.canvas.picture import whole
from designer.canvas.scene import Scene
from designer.canvas.style import Style
from designer.document.draft import Draft
from designer.document.names import one_line
from designer.theme import LIGHT

PAPER: Final = replace(LIGHT, canvas="#FFFFFF", line="#B4BBC8")
"""The colours of what is printed."""

_DPI: Final = 96  # all lengths on the paper are pixels of this size
_READABLE: Final = (0.8, 0.76, 0.72, 0.68)  # of the size on the screen; texts have 7 points, 6 at least
_OVERLAP: Final = 40.0
_FOOT: Final = 30.0


class _Sheet(NamedTuple):
    """One page: its column and row, and the part of the scene it shows."""

    column: int
    row: int
    area: QRectF

    @property
    def name(self) -> str:
        """A letter for the row and a number for the column, as on a street map."""
        row, letters = self.row + 1, ""
        while row:
            row, letter = divmod(row - 1, 26)
            letters = chr(ord("A") + letter) + letters
        return f"{letters}{self.column + 1}"

    def seams(self, field: QRectF, columns: int, rows: int) -> QRectF:
        """The part of the field that no neighbour shows as well."""
        last_column, last_row = self.column == columns - 1, self.row == rows - 1
        left, top = (_OVERLAP if self.column else 0), (_OVERLAP if self.row else 0)
        return field.adjusted(left, top, 0 if last_column else -_OVERLAP, 0 if last_row else -_OVERLAP)


def suits_landscape(draft: Draft) -> bool:
    """Whether the tree is wider than it is high: what to offer before a person has chosen their paper."""
    box = whole(draft, None, PAPER)[1]
    return box.width() > box.height()


def print_tree(
    device: QPagedPaintDevice, draft: Draft, overlay: Overlay | None = None, *, one_page: bool = True
) -> int:
    """Paint the tree and its marks on a printer or PDF, on the paper it is set to; how many pages that took.

    On one page the tree is as large as fits, and never larger than on the screen. On many pages neighbours
    overlap, dashed lines show from where on; the foot of each says where it belongs. Pages on which nothing
    stands are left out. Nothing is painted, and there are no pages, where the device cannot be painted on.
    """
    scene, box = whole(draft, overlay, PAPER)
    title = one_line(draft.tree.name) or one_line(draft.tree.tree_id) or "Tree"
    room = device.pageLayout().paintRect(QPageLayout.Unit.Point)
    paper = QRectF(0, 0, room.width() * _DPI / 72, room.height() * _DPI / 72)
    field = paper.adjusted(0, 0, 0, -_FOOT)
    painter = QPainter()
    if not painter.begin(device):
        return 0
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    painter.scale(device.logicalDpiX() / _DPI, device.logicalDpiY() / _DPI)
    if one_page:
        _paint_whole(painter, scene, box, field)
        _paint_foot(painter, scene.look, paper, title)
        painter.end()
        return 1
    # A little smaller is better than one more page with hardly anything on it.
    scale = min(_READABLE, key=lambda scale: prod(_grid(box, field, scale)))
    columns, rows = _grid(box, field, scale)
    sheets = [s for s in _sheets(box, field, scale, columns, rows) if _shows_something(scene, s.area)]
    for number, sheet in enumerate(sheets):
        if number:
            device.newPage()
        scene.render(painter, field, sheet.area)
        _paint_seams(painter, scene.look, field, sheet.seams(field, columns, rows))
        _paint_foot(painter, scene.look, paper, title, f"{sheet.name} · page {number + 1} of {len(sheets)}")
    painter.end()
    return len(sheets)


def _paint_whole(painter: QPainter, scene: Scene, box: QRectF, field: QRectF) -> None:
    scale = min(field.width() / box.width(), field.height() / box.height(), 1.0)
    target = QRectF(0, 0, box.width() * scale, box.height() * scale)
    target.moveCenter(field.center())
    scene.render(painter, target, box)


def _grid(box: QRectF, field: QRectF, scale: float) -> tuple[int, int]:
    """How many columns and rows of pages the box takes at this scale."""
    sides = ((box.width(), field.width()), (box.height(), field.height()))
    columns, rows = (ceil((side * scale - _OVERLAP) / max(room - _OVERLAP, 1.0)) for side, room in sides)
    return max(columns, 1), max(rows, 1)


def _sheets(box: QRectF, field: QRectF, scale: float, columns: int, rows: int) -> Iterator[_Sheet]:
    wide, high = field.width() / scale, field.height() / scale
    across, down = wide - _OVERLAP / scale, high - _OVERLAP / scale
    # What is left over of the last column and row is shared by both ends.
    left = box.center().x() - (across * (columns - 1) + wide) / 2
    top = box.center().y() - (down * (rows - 1) + high) / 2
    for row in range(rows):
        for column in range(columns):
            yield _Sheet(column, row, QRectF(left + column * across, top + row * down, wide, high))


def _shows_something(scene: Scene, area: QRectF) -> bool:
    for item in scene.items(area, Qt.ItemSelectionMode.IntersectsItemBoundingRect):
        route = item.branch.route if isinstance(item, EdgeItem) else None
        # The box around a line is mostly empty.
        if route is None or route.chip or painter_path(route).intersects(area):
            return True
    return False


def _paint_seams(painter: QPainter, style: Style, field: QRectF, seams: QRectF) -> None:
    """Dashed lines from where on a neighbour shows the same."""
    painter.setPen(QPen(style.thread, 0.75, Qt.PenStyle.DashLine))
    for x in {seams.left(), seams.right()} - {field.left(), field.right()}:
        painter.drawLine(QLineF(x, field.top(), x, field.bottom()))
    for y in {seams.top(), seams.bottom()} - {field.top(), field.bottom()}:
        painter.drawLine(QLineF(field.left(), y, field.right(), y))


def _paint_foot(painter: QPainter, style: Style, paper: QRectF, title: str, where: str = "") -> None:
    middle = paper.bottom() - 8
    room = paper.width() - style.small.width(where) - 24
    style.small_strong.draw(painter, 0, middle, style.small_strong.elided(title, room), style.text)
    style.small.draw(painter, paper.right() - style.small.width(where), middle, where, style.secondary)
