"""A combo box that the wheel leaves alone and whose list shows its entries in full."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox

ROWS = 14
"""Entries a list shows at most without scrolling."""
WIDEST = 560
"""Pixels of the widest list."""


class Combo(QComboBox):
    """It may be narrower than its entries. ``caption`` stands before the chosen one, but not in the list.

    The wheel neither focuses nor changes it: in a scrolled form it belongs to the form.
    """

    def __init__(self, caption: str = "", *, least: int = 6) -> None:
        super().__init__()
        self._caption = caption
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMaxVisibleItems(ROWS)
        self.setMinimumContentsLength(least)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.view().setTextElideMode(Qt.TextElideMode.ElideRight)

    def showPopup(self) -> None:
        view = self.view()
        bar = view.verticalScrollBar().sizeHint().width() if self.count() > ROWS else 0
        view.setMinimumWidth(min(WIDEST, view.sizeHintForColumn(0) + bar + 12))
        super().showPopup()

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        super().initStyleOption(option)
        field = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        # Qt would cut it off without a sign.
        option.currentText = self.fontMetrics().elidedText(
            f"{self._caption}{option.currentText}", Qt.TextElideMode.ElideRight, field.width() - 2
        )

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()
