"""The whole tree as a picture, however the view is zoomed: for export and for runs without a screen."""

from functools import cache
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QCoreApplication, QIODevice, QRectF
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtWidgets import QApplication

from designer.canvas.overlay import Overlay
from designer.canvas.scene import Scene
from designer.document.draft import Draft
from designer.theme import Tokens

_MARGIN: Final = 32.0
_MOST_PIXELS: Final = 60_000_000  # 240 MB; Qt programs refuse to open more than 256 MB
_LONGEST_SIDE: Final = 32_000  # Qt draws no further


def render_png(draft: Draft, overlay: Overlay | None = None, *, tokens: Tokens, scale: float = 2.0) -> bytes:
    """The tree and its marks as a PNG, ``scale`` pixels to a scene unit.

    A picture that would be too large to be opened is drawn at the largest scale that is not.
    """
    _application()
    scene = Scene(tokens)
    scene.show(draft, overlay)
    box = scene.contents().adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
    scale = min(
        scale,
        (_MOST_PIXELS / (box.width() * box.height())) ** 0.5,
        _LONGEST_SIDE / max(box.width(), box.height()),
    )
    image = QImage(
        round(box.width() * scale), round(box.height() * scale), QImage.Format.Format_ARGB32_Premultiplied
    )
    image.fill(scene.look.canvas)
    painter = QPainter(image)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    scene.render(painter, QRectF(image.rect()), box)
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(data.data())


@cache
def _application() -> QCoreApplication:
    """Items need an application; where nobody made one, there is no screen to ask for either."""
    return QApplication.instance() or QApplication(["treewright", "-platform", "offscreen"])
