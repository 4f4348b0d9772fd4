"""The whole tree as a picture, however the view is zoomed: for export and for runs without a screen.

Every card is drawn from its own items, never from copies of pixels, so SVG and PDF hold lines and text.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, TypeAlias

from PySide6.QtCore import QBuffer, QByteArray, QCoreApplication, QIODevice, QMarginsF, QPoint, QRectF, QSizeF
from PySide6.QtGui import QImage, QImageWriter, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QApplication

from designer.canvas.overlay import Overlay
from designer.canvas.scene import Scene
from designer.document.draft import Draft
from designer.theme import Tokens

_MARGIN: Final = 32.0
_MOST_PIXELS: Final = 60_000_000  # 240 MB; Qt programs refuse to open more than 256 MB
_LONGEST_SIDE: Final = 32_000  # Qt draws no further
_LONGEST_PAGE: Final = 14_000  # points; readers of PDF know no longer side than 14,400
_DPI: Final = 96  # a scene unit is a pixel of this size; at Qt's own 1200 texts and lines come out too small
_POINT: Final = 72 / _DPI


def render_png(draft: Draft, overlay: Overlay | None = None, *, tokens: Tokens, scale: float = 2.0) -> bytes:
    """The tree and its marks as a PNG, ``scale`` pixels to a scene unit.

    A picture that would be too large to be opened is drawn at the largest scale that is not.
    """
    scene, box = _whole(draft, overlay, tokens)
    scale = min(
        scale,
        (_MOST_PIXELS / (box.width() * box.height())) ** 0.5,
        _LONGEST_SIDE / max(box.width(), box.height()),
    )
    image = QImage(
        round(box.width() * scale), round(box.height() * scale), QImage.Format.Format_ARGB32_Premultiplied
    )
    image.fill(scene.look.canvas)
    _paint(QPainter(image), scene, QRectF(image.rect()), box)
    buffer = _buffer()
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(buffer.data().data())


def render_svg(draft: Draft, overlay: Overlay | None = None, *, tokens: Tokens, scale: float = 1.0) -> bytes:
    """The tree and its marks as an SVG whose texts are texts."""
    scene, box = _whole(draft, overlay, tokens)
    buffer, writer = _buffer(), QSvgGenerator()
    paper = QRectF(0, 0, box.width() * scale, box.height() * scale)
    writer.setOutputDevice(buffer)
    writer.setResolution(_DPI)
    writer.setSize(paper.size().toSize())
    writer.setViewBox(paper)
    writer.setTitle(draft.tree.tree_id or "Tree")
    _paint(QPainter(writer), scene, paper, box, ground=True)
    return bytes(buffer.data().data())


def render_pdf(draft: Draft, overlay: Overlay | None = None, *, tokens: Tokens, scale: float = 1.0) -> bytes:
    """The tree and its marks as one page of PDF with its fonts, at most as large as readers allow."""
    scene, box = _whole(draft, overlay, tokens)
    scale = min(scale, _LONGEST_PAGE / (max(box.width(), box.height()) * _POINT))
    buffer = _buffer()
    writer = QPdfWriter(buffer)
    writer.setResolution(_DPI)
    writer.setTitle(draft.tree.tree_id or "Tree")
    size = QSizeF(box.width(), box.height()) * scale * _POINT
    writer.setPageSize(QPageSize(size, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch))
    writer.setPageMargins(QMarginsF())
    paper = QRectF(QPoint(), QSizeF(writer.width(), writer.height()))
    _paint(QPainter(writer), scene, paper, box, ground=True)
    del writer
    return bytes(buffer.data().data())


Render: TypeAlias = Callable[..., bytes]

FORMS: Final[Mapping[str, Render]] = {"png": render_png, "svg": render_svg, "pdf": render_pdf}
"""How each kind of picture is made, by the suffix of its files."""


def _whole(draft: Draft, overlay: Overlay | None, tokens: Tokens) -> tuple[Scene, QRectF]:
    """A scene with all its items, and the part of it to paint."""
    _application()
    scene = Scene(tokens)
    scene.show(draft, overlay)
    scene.settle()
    return scene, scene.contents().adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)


def _paint(painter: QPainter, scene: Scene, paper: QRectF, box: QRectF, *, ground: bool = False) -> None:
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    if ground:
        painter.fillRect(paper, scene.look.canvas)
    scene.render(painter, paper, box)
    painter.end()


def _buffer() -> QBuffer:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    return buffer


@cache
def _application() -> QCoreApplication:
    """Items need an application; where nobody made one, there is no screen to ask for either."""
    return QApplication.instance() or QApplication(["treewright", "-platform", "offscreen"])
