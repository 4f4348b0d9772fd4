"""The map: the whole tree in a corner of the canvas, with the part that is seen; press on it to go there."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from designer.canvas.scene import Scene

_SIZE: Final = QSize(190, 118)
_PAD: Final = 9.0
_PAUSE: Final = 150  # milliseconds; a map that followed each step of a drag would slow it down
_LEAST: Final = 6.0  # pixels of the frame around what is seen


class Minimap(QWidget):
    """A map of a scene; it is there while it is wanted and not all of the tree is in sight."""

    def __init__(
        self, parent: QWidget, scene: Scene, go: Callable[[QPointF], None], leave: Callable[[], None]
    ) -> None:
        super().__init__(parent)
        self.setObjectName("canvas.minimap")
        self.setAccessibleName("Map of the tree")
        self.setToolTip("Press or drag to look elsewhere")
        self.setFixedSize(_SIZE)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self._scene, self._go, self._leave = scene, go, leave
        self._wanted = True
        self._seen = QRectF()
        self._whole = QRectF()
        self._picture: QPixmap | None = None
        self._renew_soon = QTimer(self, interval=_PAUSE, singleShot=True)
        self._renew_soon.timeout.connect(self._renew)
        scene.shown.connect(self._renew_soon.start)
        self.hide()

    @property
    def wanted(self) -> bool:
        """Whether the person wants a map of trees that are larger than the view."""
        return self._wanted

    @wanted.setter
    def wanted(self, wanted: bool) -> None:
        self._wanted = wanted
        self.look_at(self._seen)

    def look_at(self, seen: QRectF) -> None:
        """Show that this part of the scene is seen."""
        if self._whole.isNull():
            self._whole = self._scene.contents()
        self._seen = seen
        self.setVisible(self._wanted and not self._whole.isEmpty() and not seen.contains(self._whole))
        self.update()

    def restyle(self) -> None:
        """Take on another theme."""
        self._picture = None
        self.update()

    def _renew(self) -> None:
        self._whole, self._picture = self._scene.contents(), None
        self.look_at(self._seen)

    def _scale(self) -> float:
        """Pixels to a scene unit."""
        return min(
            (self.width() - 2 * _PAD) / max(self._whole.width(), 1.0),
            (self.height() - 2 * _PAD) / max(self._whole.height(), 1.0),
        )

    def _to_map(self, box: QRectF) -> QRectF:
        scale, middle = self._scale(), QRectF(self.rect()).center()
        corner = (box.topLeft() - self._whole.center()) * scale + middle
        return QRectF(corner, box.size() * scale)

    def _draw(self) -> QPixmap:
        picture = QPixmap(self.size() * self.devicePixelRatio())
        picture.setDevicePixelRatio(self.devicePixelRatio())
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)  # blocks are smaller than pixels here
        painter.translate(QRectF(self.rect()).center())
        painter.scale(self._scale(), self._scale())
        painter.translate(-self._whole.center())
        self._scene.overview.paint_blocks(painter)
        painter.end()
        return picture

    def paintEvent(self, event: QPaintEvent) -> None:
        look, painter = self._scene.look, QPainter(self)
        painter.fillRect(self.rect(), look.canvas)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(look.line, 1))
        painter.setBrush(look.card)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        if self._picture is None or self._picture.devicePixelRatio() != self.devicePixelRatio():
            self._picture = self._draw()
        painter.drawPixmap(0, 0, self._picture)
        current = self._scene.overlay.current
        if current is not None and current in self._scene.cards:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.accent)
            painter.drawEllipse(self._to_map(QRectF(*self._scene.card(current).card)).center(), 3, 3)
        seen = self._to_map(self._seen)
        wider = max(0.0, _LEAST - seen.width()) / 2
        higher = max(0.0, _LEAST - seen.height()) / 2
        seen = seen.adjusted(-wider, -higher, wider, higher)
        painter.setPen(QPen(look.accent, 1.5))
        painter.setBrush(look.haze)
        painter.drawRect(seen.intersected(QRectF(self.rect()).adjusted(3, 3, -3, -3)))

    def _press(self, at: QPointF) -> None:
        self._go((at - QRectF(self.rect()).center()) / self._scale() + self._whole.center())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._leave()
            self._press(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._press(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()
