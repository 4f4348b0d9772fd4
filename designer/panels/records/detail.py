"""One decision in full: question, possible answers, the state it was made from, and what to do with it."""

from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from designer import theme
from designer.forms import Listing, Quote, plain
from designer.panels.records.wording import Bar, Told, spoken

VERBS: Final[Mapping[str, tuple[str, str]]] = {
    "show": ("Show step", "Show the node in its tree, and the step where this session has the run"),
    "test": ("Make it a test", "Add a case with the right answer beside the tree"),
    "signal": ("Signal…", "Note something that happened afterwards (S)"),
    "back": ("Take back", "Take back what was said of this decision last (U)"),
    "erase": ("Erase…", "Forget this decision for good (Delete)"),
}


class Detail(QScrollArea):
    """Shows a decision. A click on a possible answer confirms it as the right one."""

    confirmed = Signal(object)
    """The :class:`Bar` of the right answer."""
    asked_for = Signal(str)
    """The verb of a button that was pressed."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.told: Told | None = None
        self._node, self._cost = plain(wrap=True), plain(role="label", mono=True)
        self._node.setFont(theme.font(13, bold=True))
        self._question = Quote()
        self._question.setAccessibleName("Question")
        self.bars = Bars()
        self.bars.pressed.connect(self.confirmed)
        self.state = Listing()
        self.state.setAccessibleName("State of the decision")
        self.state.setLineWrapMode(Listing.LineWrapMode.WidgetWidth)
        self.state.setMinimumHeight(90)
        self.facts = plain(role="label", mono=True, wrap=True)
        self.facts.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        page = QWidget()
        head = QHBoxLayout()
        head.addWidget(self._node, 1)
        head.addWidget(self._cost, 0, Qt.AlignmentFlag.AlignTop)
        rows = QHBoxLayout(), QHBoxLayout()
        for row in rows:
            row.setSpacing(6)
            row.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self.buttons: dict[str, QPushButton] = {}
        for number, (verb, (words, tip)) in enumerate(VERBS.items()):
            button = QPushButton(words)
            button.setObjectName(f"button.record.{verb}")
            button.setToolTip(tip)
            button.setAutoDefault(False)
            button.setProperty("danger", verb == "erase")
            button.clicked.connect(lambda _=False, verb=verb: self.asked_for.emit(verb))
            self.buttons[verb] = button
            rows[number >= 2].addWidget(button)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(14, 10, 14, 12)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self._question)
        layout.addWidget(self.bars)
        for row in rows:
            layout.addLayout(row)
        layout.addWidget(plain("Decided from", role="label"))
        layout.addWidget(self.state, 1)
        layout.addWidget(self.facts)
        self._page = page
        self.setWidget(page)
        self.show_told(None)

    def minimumSizeHint(self) -> QSize:
        """As wide as what it shows: nothing of it is cut off at the side."""
        bar = self.verticalScrollBar().sizeHint().width()
        return QSize(self._page.minimumSizeHint().width() + bar, 0)

    def show_told(self, told: Told | None, *, read_only: str | None = None) -> None:
        """Show this decision, or nothing; ``read_only`` says why nothing can be changed."""
        before, self.told = self.told, told
        self._page.setVisible(told is not None)
        if told is None:
            return
        for verb in ("signal", "back", "erase"):
            self.buttons[verb].setEnabled(read_only is None)
            self.buttons[verb].setToolTip(read_only or VERBS[verb][1])
        said = bool(told.decision.confirmed or told.decision.signals)
        self.buttons["back"].setEnabled(read_only is None and said)
        self.buttons["test"].setEnabled(told.decision.record.tree is not None)
        self.buttons["show"].setEnabled(told.decision.record.tree is not None)
        if told == before:
            return
        self._node.setText(told.node)
        self._cost.setText(told.cost)
        self._question.show_value(told.asked)
        self.bars.show_bars(told.bars)
        if before is None or told.state != before.state:
            self.state.setPlainText(told.state)
        self.facts.setText(told.facts)


class Bars(QWidget):
    """Possible answers as bars of their probability; the given one in the accent, a confirmed one marked."""

    pressed = Signal(object)
    """The bar that was clicked."""

    _ROW: Final = 24
    _KEY: Final = 20

    def __init__(self) -> None:
        super().__init__()
        self._bars: tuple[Bar, ...] = ()
        self._keys = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip("Click an answer to confirm that it is the right one")

    def show_bars(self, bars: tuple[Bar, ...]) -> None:
        """Show these."""
        self._bars = bars
        self.setAccessibleName("; ".join(map(spoken, bars)))
        self.setFixedHeight(self._ROW * len(bars))
        self.update()

    def show_keys(self, *, shown: bool) -> None:
        """Show which key confirms which answer, or no keys."""
        self._keys = shown
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, self._ROW * len(self._bars))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        number = int(event.position().y()) // self._ROW
        if event.button() is Qt.MouseButton.LeftButton and 0 <= number < len(self._bars):
            self.pressed.emit(self._bars[number])

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, painter = theme.tokens(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plain_font, strong = theme.font(13), theme.font(13, bold=True)
        metrics = QFontMetrics(strong)
        left = self._KEY if self._keys else 0
        measured = any(bar.share is not None for bar in self._bars)
        marks = 90 if any(bar.confirmed for bar in self._bars) else 0
        most = self.width() // 3 if measured else self.width() - left - marks
        longest = max((metrics.horizontalAdvance(bar.words) for bar in self._bars), default=0)
        names = left + min(most, 12 + longest)
        room = max(40, self.width() - names - 50 - marks)
        for number, bar in enumerate(self._bars):
            top = number * self._ROW
            if self._keys and number < 9:
                key = QRectF(0, top + 4, 15, self._ROW - 8)
                painter.setPen(QColor(tokens.line))
                painter.setBrush(QColor(tokens.raised))
                painter.drawRoundedRect(key, 3, 3)
                painter.setPen(QColor(tokens.secondary))
                painter.setFont(theme.font(11, mono=True))
                painter.drawText(key, Qt.AlignmentFlag.AlignCenter, str(number + 1))
            painter.setFont(strong if bar.given else plain_font)
            painter.setPen(QColor(tokens.text))
            words = metrics.elidedText(bar.words, Qt.TextElideMode.ElideRight, names - left - 8)
            painter.drawText(QRectF(left, top, names - left, self._ROW), Qt.AlignmentFlag.AlignVCenter, words)
            if measured:
                track = QRectF(names, top + self._ROW / 2 - 3.5, room, 7)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(tokens.line))
                painter.drawRoundedRect(track, 3.5, 3.5)
                if bar.share:
                    track.setWidth(max(7.0, room * min(1.0, bar.share)))
                    painter.setBrush(QColor(tokens.accent if bar.given else tokens.branch))
                    painter.drawRoundedRect(track, 3.5, 3.5)
                painter.setPen(QColor(tokens.secondary))
                painter.setFont(theme.font(12, mono=True))
                share = "—" if bar.share is None else f"{bar.share:.2f}"
                painter.drawText(
                    QRectF(names + room + 8, top, 44, self._ROW), Qt.AlignmentFlag.AlignVCenter, share
                )
            if bar.confirmed:
                painter.setPen(QColor(tokens.good))
                painter.setFont(plain_font)
                where = QRectF(names + room + 50 if measured else names, top, marks, self._ROW)
                painter.drawText(where, Qt.AlignmentFlag.AlignVCenter, "✓ confirmed")
        painter.end()
