"""The budget: four meters of what a run has used of its limits, and what is to be said about them.

While a run goes on that is how it stands; else it is what the tree's budget is proven to allow.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from designer import theme
from designer.document.draft import Draft
from designer.document.edits import set_budget
from designer.document.names import titles_of
from designer.forms import Current, Empty, Pages, plain
from designer.proof import WORKING, verdict_on
from designer.running import RunState
from designer.workbench import Workbench
from engine import DEFAULT_LIMITS, Limits, Trail
from engine.analysis import ASSUMED
from engine.counting import counted

WARN_AT: Final = 0.8
"""From this share of its limit on a meter is amber."""

_NAMES: Final = {
    "nodeVisits": "Node visits",
    "llmCalls": "LLM calls",
    "elapsed": "Elapsed",
    "contextTokens": "Context tokens",
}
_ENDED_BY: Final = {"nodeVisits": "nodeVisits", "llmCalls": "llmCalls", "elapsedTime": "elapsed"}
"""The meter of each limit that can end a run."""
_BEFORE: Final = "These are the limits of the next run. Change them in the Tree tab."
_STANDING: Final = {RunState.PAUSED: "Paused", RunState.ASKING: "Waiting for your answer"}
_WORDS: Final = {"nodeVisits": "node visits", "llmCalls": "LLM calls", "elapsed": "time"}


WIDTH: Final = 260
"""Pixels below which names would be cut off."""


class Meter(QWidget):
    """A value and its limit in numbers, and as a bar with a mark where it becomes amber."""

    def __init__(self, name: str, words: str, unit: str = "") -> None:
        super().__init__()
        self.value, self.limit, self.ended = 0.0, 1.0, False
        self._words, self._unit = words, unit
        self.setObjectName(f"meter.{name}")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_reading(0, 1)

    @property
    def share(self) -> float:
        """The share of the limit that is used, from 0 to 1."""
        return min(1.0, self.value / self.limit) if self.limit > 0 else float(self.value > 0)

    @property
    def tone(self) -> str:
        """The token of its colour: accent, amber from 80 percent on, red when it ended the run."""
        return "bad" if self.ended else "warn" if self.share >= WARN_AT else "accent"

    def show_reading(self, value: float, limit: float, *, ended: bool = False) -> None:
        """Show this value of this limit; ``ended`` when passing it ended the run."""
        self.value, self.limit, self.ended = value, limit, ended
        used = f"{_number(value)} of {_number(limit)}{self._unit}"
        self.setAccessibleName(f"{self._words}: {used}{', this limit ended the run' if ended else ''}")
        self.setToolTip(f"{self._words}: {used}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(160, 34)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 34)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, painter = theme.tokens(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QRectF(0, 0, self.width(), 20)
        right = float(self.width())
        for text, ink, bold in (
            (f" / {_number(self.limit)}{self._unit}", tokens.secondary, False),
            (_number(self.value), tokens.text if self.tone == "accent" else getattr(tokens, self.tone), True),
        ):
            face = theme.font(12, bold=bold, mono=True)
            width = QFontMetrics(face).horizontalAdvance(text)
            painter.setFont(face)
            painter.setPen(QColor(ink))
            painter.drawText(QRectF(right - width, 0, width + 1, 20), Qt.AlignmentFlag.AlignVCenter, text)
            right -= width
        face = theme.font(13)
        words = QFontMetrics(face).elidedText(self._words, Qt.TextElideMode.ElideRight, int(right) - 8)
        painter.setFont(face)
        painter.setPen(QColor(tokens.text))
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, words)
        bar = QRectF(0, 23, self.width(), 7)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.line))
        painter.drawRoundedRect(bar, 3.5, 3.5)
        if self.share > 0:
            painter.setBrush(QColor(getattr(tokens, self.tone)))
            painter.drawRoundedRect(QRectF(0, 23, max(7.0, self.width() * self.share), 7), 3.5, 3.5)
        painter.fillRect(
            QRectF(round(self.width() * WARN_AT), 23, 1, 7),
            QColor(tokens.panel if self.share >= WARN_AT else tokens.text),
        )
        painter.end()


class MetersPanel(Pages):
    """The meters of the run of the current document; before one, its limits."""

    def __init__(self, workbench: Workbench) -> None:
        area = QScrollArea()
        super().__init__(
            area, Empty("dot", "No tree is open", "What a run uses of the limits of its tree is shown here.")
        )
        self.setObjectName("panel.meters")
        self.setMinimumWidth(WIDTH)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._workbench = workbench
        self._current = Current(workbench, self)
        self.meters = {
            name: Meter(name, words, " s" if name == "elapsed" else "") for name, words in _NAMES.items()
        }
        self.sentence = plain(role="label", wrap=True)
        self.sentence.setObjectName("meters.sentence")
        self.proof = plain(role="label", wrap=True)
        self.proof.setObjectName("meters.proof")
        self.proof.setToolTip(ASSUMED)
        self.use = QPushButton("Raise to it")
        self.use.setObjectName("button.raiseBudget")
        self.use.setToolTip("Raise the budget of this tree so far that every verdict can be reached")
        self.use.setAutoDefault(False)
        self.use.clicked.connect(self._raise_budget)
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(12, 8, 12, 10)
        layout.setSpacing(3)
        for meter in self.meters.values():
            layout.addWidget(meter)
        layout.addSpacing(4)
        layout.addWidget(self.sentence)
        layout.addWidget(self.proof)
        layout.addWidget(self.use, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)
        area.setWidget(page)
        self._current.drafted.connect(lambda _: self._refresh())
        workbench.running.trail_changed.connect(lambda _: self._refresh())
        workbench.running.state_changed.connect(lambda _: self._refresh())
        workbench.proof.changed.connect(self._refresh)
        self._current.announce()

    def _refresh(self) -> None:
        running, document = self._workbench.running, self._current.document
        self.show_content(document)
        mine = document is not None and running.document is document
        trail = running.trail if mine else Trail()
        tree = document.draft.tree if document else None
        limits = trail.limits if mine else DEFAULT_LIMITS.within(tree.budget if tree else None)
        ended = _ENDED_BY.get(trail.result.exceeded or "") if trail.result else None
        for name, (value, limit) in _readings(trail, limits).items():
            self.meters[name].show_reading(value, limit, ended=name == ended)
        proven = "" if mine and running.active else self._proven()
        self.sentence.setText(self._words(trail, limits, ended) if mine else "" if proven else _BEFORE)
        self.proof.setText(proven)
        for label in (self.sentence, self.proof):
            label.setVisible(bool(label.text()))
        self.use.setVisible(bool(proven and self._too_small()))

    def _proven(self) -> str:
        """What is proven of the budget of the current tree."""
        proof, draft = self._workbench.proof, self._current.draft
        if proof.bounds is None or draft is None:
            return WORKING if proof.late else ""
        return verdict_on(proof.bounds, titles_of(draft.tree))

    def _too_small(self) -> Mapping[str, int]:
        """The limits that keep a verdict out of reach, by their members, and what they must be at least.

        Room above the least is room for asking again: it is never taken away.
        """
        found = self._workbench.proof.bounds
        smallest = found.smallest_budget if found else None
        if found is None or smallest is None:
            return {}
        least = {"maxNodeVisits": smallest.max_node_visits or 0, "maxLlmCalls": smallest.max_llm_calls or 0}
        there = {"maxNodeVisits": found.limits.node_visits, "maxLlmCalls": found.limits.llm_calls}
        return {member: limit for member, limit in least.items() if limit > there[member]}

    def _raise_budget(self) -> None:
        wanted, document = self._too_small(), self._current.document
        if document is not None:
            document.edit("Raise the budget", lambda draft: reduce(_with_limit, wanted.items(), draft))

    def _words(self, trail: Trail, limits: Limits, ended: str | None) -> str:
        state = self._workbench.running.state
        if ended is not None:
            return f"The limit of {_WORDS[ended]} ended the run."
        if trail.result is not None:
            return "The run is over."
        room = _room(trail, limits)
        if state in _STANDING:
            return f"{_STANDING[state]}: the clock is stopped. {room}"
        if trail.passed:
            return "The time limit was passed. This tree goes on all the same."
        return room


def _readings(trail: Trail, limits: Limits) -> dict[str, tuple[float, float]]:
    used = trail.usage
    return {
        "nodeVisits": (used.node_visits, limits.node_visits),
        "llmCalls": (used.llm_calls, limits.llm_calls),
        "elapsed": (used.duration, limits.elapsed),
        "contextTokens": (trail.context_tokens, limits.context_tokens),
    }


def _room(trail: Trail, limits: Limits) -> str:
    calls = max(0, limits.llm_calls - trail.usage.llm_calls)
    visits = max(0, limits.node_visits - trail.usage.node_visits)
    return f"Room for {counted(calls, 'more LLM call')} and {counted(visits, 'node visit')}."


def _number(value: float) -> str:
    return f"{value:.1f}" if value != int(value) else f"{int(value)}"


def _with_limit(draft: Draft, limit: tuple[str, int]) -> Draft:
    return set_budget(draft, *limit)
