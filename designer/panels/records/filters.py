"""The filter bar: a text, the order, and behind one button what else records can be told apart by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Final

from PySide6.QtCore import QPoint, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QWidget,
)

from designer.forms import Combo, Line, plain
from engine.records import RecordFilter

QUIET_MS: Final = 250
"""A text is searched for when nothing was typed for so long."""
_ANY: Final = "Any"

VALUES: Final = (("tree", "Tree"), ("node", "Node"), ("answer", "Answer"), ("model", "Model"))
"""Columns whose values are offered as they are found in the store."""
OUTCOMES: Final = (
    (None, _ANY),
    ("confirmed", "Confirmed"),
    ("unconfirmed", "Not confirmed"),
    ("signal", "With a signal"),
    ("none", "None"),
    ("erased", "Erased"),
)

ALL: Final = RecordFilter()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the list shall show. While reviewing, the least sure unconfirmed answers come first."""

    filter: RecordFilter = ALL
    text: str = ""
    least_sure: bool = False
    review: bool = False


class FilterBar(QWidget):
    """Gives on what a person wants to see, as soon as it is said."""

    changed = Signal(object)
    """The :class:`Wanted` there is now."""
    values_wanted = Signal()
    """The filters are opened: their lists need the values of the store."""

    def __init__(self) -> None:
        super().__init__()
        self.text = QLineEdit()
        self.text.setObjectName("records.search")
        self.text.setPlaceholderText("Search question, state, answer")
        self.text.setAccessibleName("Search the records")
        self.text.setClearButtonEnabled(True)
        self.order = Combo(least=9)
        self.order.setObjectName("records.order")
        self.order.setAccessibleName("Order")
        self.order.addItems(["Newest first", "Least sure first"])
        self.filters = _button("Filters", "records.filters")
        self.review = _button("Review", "records.review")
        self.review.setCheckable(True)
        self.review.setToolTip(
            "Confirm the right answers, the least sure ones first (keys 1 to 9, S, U, N, P)"
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 5, 8, 5)
        row.setSpacing(6)
        row.addWidget(self.text, 1)
        for widget in (self.filters, self.order, self.review):
            row.addWidget(widget)
        self.box = _Filters(self)
        self._quiet = QTimer(self, interval=QUIET_MS, singleShot=True)
        self._quiet.timeout.connect(self._give)
        self.text.textChanged.connect(lambda _: self._quiet.start())
        self.text.returnPressed.connect(self._give)
        self.order.activated.connect(lambda _: self._give())
        self.review.toggled.connect(lambda _: self._give())
        self.box.changed.connect(self._give)
        self.filters.clicked.connect(self._open)
        self._given = Wanted()

    @property
    def wanted(self) -> Wanted:
        """What is wanted now."""
        return Wanted(
            self.box.filter,
            self.text.text().strip(),
            self.order.currentIndex() == 1,
            self.review.isChecked(),
        )

    def _give(self) -> None:
        self._quiet.stop()
        wanted = self.wanted
        if wanted == self._given:
            return
        self._given = wanted
        self.review.setProperty("primary", wanted.review)
        self.review.style().unpolish(self.review)
        self.review.style().polish(self.review)
        used = sum(getattr(wanted.filter, member.name) is not None for member in fields(wanted.filter))
        self.filters.setText(f"Filters · {used}" if used else "Filters")
        self.order.setEnabled(not wanted.review)
        self.changed.emit(wanted)

    def _open(self) -> None:
        self.values_wanted.emit()
        size = self.box.sizeHint()
        below = self.filters.mapToGlobal(QPoint(0, self.filters.height() + 4))
        room = self.screen().availableGeometry()
        if below.y() + size.height() > room.bottom():
            below.setY(self.filters.mapToGlobal(QPoint(0, 0)).y() - size.height() - 4)
        below.setX(min(below.x(), room.right() - size.width()))
        self.box.move(below)
        self.box.show()
        self.box.fields["tree"].setFocus()


class _Filters(QFrame):
    """The filters themselves, in a box over the window."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("records.box")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.fields: dict[str, Combo] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(14, 12, 14, 12)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(6)
        grid.setColumnMinimumWidth(1, 240)
        for member, label in VALUES:
            self._add(grid, member, label, [(None, _ANY)])
        self._add(grid, "error", "Error", [(None, _ANY), ("", "None"), ("any", "Some error")])
        self._add(grid, "outcome", "Outcome", OUTCOMES)
        self.version = Line(_as_version)
        self.confidence = _Span(_as_share, "0", "1")
        self.time = _Span(_as_time, "2026-11-02", "2026-11-30 18:00")
        for name, label, widget in (
            ("version", "Version", self.version),
            ("confidence", "Confidence", self.confidence),
            ("time", "Time", self.time),
        ):
            widget.setObjectName(f"records.{name}")
            widget.setAccessibleName(label)
            self._place(grid, label, widget)
            widget.changed.connect(self._note)
        self._clear = _button("Clear", "records.clear")
        self._clear.clicked.connect(self.clear)
        grid.addWidget(self._clear, grid.rowCount(), 1, Qt.AlignmentFlag.AlignRight)

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(QSize(360, 0))

    @property
    def filter(self) -> RecordFilter:
        """What is chosen; what cannot be read counts as not given."""
        chosen = {member: combo.currentData() for member, combo in self.fields.items()}
        least, most = self.confidence.values()
        since, until = self.time.values()
        return RecordFilter(
            **chosen,
            version=_read(self.version),  # type: ignore[arg-type]
            least_confidence=least,  # type: ignore[arg-type]
            most_confidence=most,  # type: ignore[arg-type]
            since=since,  # type: ignore[arg-type]
            until=until,  # type: ignore[arg-type]
        )

    def offer(self, member: str, values: Sequence[str]) -> None:
        """Offer the values a store has; the chosen one stays."""
        combo = self.fields[member]
        fixed = 3 if member == "error" else 1
        kept = combo.currentData()
        with QSignalBlocker(combo):
            while combo.count() > fixed:
                combo.removeItem(fixed)
            for value in values:
                combo.addItem(value, value)
            if kept is not None and combo.findData(kept) < 0:
                combo.addItem(kept, kept)
            combo.setCurrentIndex(max(0, combo.findData(kept)))

    def clear(self) -> None:
        """Show all."""
        for combo in self.fields.values():
            combo.setCurrentIndex(0)
        for line in (self.version, *self.confidence.lines, *self.time.lines):
            line.clear()
        self._note()

    def _add(self, grid: QGridLayout, member: str, label: str, options: Sequence[tuple[object, str]]) -> None:
        combo = Combo(least=12)
        combo.setObjectName(f"records.{member}")
        combo.setAccessibleName(label)
        for value, words in options:
            combo.addItem(words, value)
        combo.activated.connect(lambda _: self.changed.emit())
        self.fields[member] = combo
        self._place(grid, label, combo)

    def _place(self, grid: QGridLayout, label: str, widget: QWidget) -> None:
        row, name = grid.rowCount(), plain(label, role="label")
        name.setBuddy(widget)
        grid.addWidget(name, row, 0)
        grid.addWidget(widget, row, 1)

    def _note(self) -> None:
        for line in (self.version, *self.confidence.lines, *self.time.lines):
            mark_invalid(line)
        self.changed.emit()


class _Span(QWidget):
    """From and to; either may be left out."""

    changed = Signal()

    def __init__(self, parse: Callable[[str], object], least: str, most: str) -> None:
        super().__init__()
        self.lines = (Line(parse), Line(parse))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        for line, hint, words in zip(self.lines, (least, most), ("from", "to"), strict=True):
            line.setPlaceholderText(f"{words} {hint}")
            line.changed.connect(self.changed)
            row.addWidget(line)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        for line, words in zip(self.lines, ("from", "to"), strict=True):
            line.setAccessibleName(f"{name} {words}")

    def values(self) -> tuple[object, object]:
        """Both ends, None where there is none."""
        return _read(self.lines[0]), _read(self.lines[1])


def mark_invalid(line: Line) -> None:
    """Mark a line whose text means nothing, and say in its tip why."""
    try:
        line.value()
        why = ""
    except ValueError as error:
        why = str(error)
    line.setToolTip(why)
    if bool(line.property("invalid")) != bool(why):
        line.setProperty("invalid", bool(why))
        line.style().unpolish(line)
        line.style().polish(line)


def _read(line: Line) -> object:
    try:
        return line.value()
    except ValueError:
        return None


def _as_version(text: str) -> object:
    if not text.strip():
        return None
    if not text.strip().isascii() or not text.strip().isdigit():
        raise ValueError("Write a whole number.")
    return int(text)


def _as_share(text: str) -> object:
    if not text.strip():
        return None
    try:
        share = float(text.replace(",", "."))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError("Write a number from 0 to 1.")
    return share


def _as_time(text: str) -> object:
    """A local day or moment; a single "-3d" or "-2h" is so long ago."""
    words = text.strip()
    if not words:
        return None
    if words[0] == "-" and words[1:-1].isdigit() and words[-1] in _UNITS:
        return datetime.now().astimezone() - int(words[1:-1]) * _UNITS[words[-1]]
    try:
        return datetime.fromisoformat(words).astimezone()
    except ValueError:
        raise ValueError("Write a day as 2026-11-02, a moment as 2026-11-02 18:00, or -3d, -2h.") from None


_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1)}


def _button(text: str, name: str) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName(name)
    button.setAutoDefault(False)
    return button
