"""The records: every recorded decision in a list, newest first, and one of them in full."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from designer import theme
from designer.document.names import one_line
from designer.forms import Column, Empty, Listing, Pages, Quote, Table, plain
from designer.tasks import launch
from designer.workbench import Workbench
from engine.records import (
    Answer,
    AskedQuestion,
    BadLine,
    Confirmed,
    NoulAnswer,
    Reading,
    Record,
    RecordedDecision,
    load_records,
)

_LONGEST_STATE: Final = 100_000
"""Characters of a state that are shown."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One possible answer: how likely it was, and whether it was given or confirmed."""

    words: str
    share: float | None
    given: bool = False
    confirmed: bool = False


def answer_of(record: Record) -> str:
    """What was answered, in a few words; a dash when there is no answer."""
    if record.tree is not None and record.tree.transition is not None:
        return record.tree.transition
    told = [_told(record.questions.get(answer.key), answer) for answer in record.answers or ()]
    return ", ".join(told) or "—"


def outcome_of(decision: RecordedDecision) -> tuple[str, str | None]:
    """What became of a decision in a few words, and the token of its colour."""
    record = decision.record
    for outcome in reversed(decision.outcomes):
        if isinstance(outcome, Confirmed):
            right = ", ".join(map(_word, outcome.answers.values()))
            given = {
                answer.key: _told(record.questions.get(answer.key), answer) for answer in record.answers or ()
            }
            same = all(given.get(key) == _word(answer) for key, answer in outcome.answers.items())
            return f"confirmed {right}", "good" if same else "bad"
        return outcome.name, "secondary"
    if record.error_kind is not None:
        return f"no answer: {record.error_kind}", "bad"
    if record.tree is not None and record.tree.unknown_reason is not None:
        return f"to review: {record.tree.unknown_reason}", "warn"
    return "", None


def bars_of(decision: RecordedDecision) -> tuple[Bar, ...]:
    """The possible answers of a decision's questions in the order they were offered.

    Who knows no probabilities, a person for instance, gave one answer; then only that is shown.
    """
    record = decision.record
    confirmed = {
        key: _word(word)
        for o in decision.outcomes
        if isinstance(o, Confirmed)
        for key, word in o.answers.items()
    }
    answers = {answer.key: answer for answer in record.answers or ()}
    bars: list[Bar] = []
    whole = record.tree is not None and record.tree.probability_source == "onehot"
    for key, question in record.questions.items():
        answer, options = answers.get(key), question.options or ("yes", "no")
        if isinstance(answer, NoulAnswer):
            shares: Sequence[float] = (answer.probability, 1 - answer.probability)
        else:
            shares = answer.probabilities if answer is not None else ()
        given = _told(question, answer) if answer is not None else None
        for number, words in enumerate(options):
            share = shares[number] if number < len(shares) and not whole else None
            bar = Bar(one_line(words), share, words == given, confirmed.get(key) == words)
            if not whole or bar.given or bar.confirmed:
                bars.append(bar)
    return tuple(bars)


class RecordsPanel(Pages):
    """The list on the left, one decision on the right; nothing here can be changed."""

    def __init__(self, workbench: Workbench) -> None:
        split = QSplitter(Qt.Orientation.Horizontal)
        super().__init__(
            split,
            Empty("record", "No records yet", "Run a tree: every answer that was given is recorded here."),
        )
        self.setObjectName("panel.records")
        self._workbench = workbench
        self._reading: asyncio.Task[None] | None = None
        self._stale = True
        self.table = Table(
            (
                Column[RecordedDecision]("Time", lambda d: _time(d.record.started), width=104, mono=True),
                Column[RecordedDecision]("Node", lambda d: _node(d.record)),
                Column[RecordedDecision]("Answer", lambda d: answer_of(d.record), bold=True),
                Column[RecordedDecision]("Confidence", lambda d: _confidence(d.record), width=84, mono=True),
                Column[RecordedDecision](
                    "Outcome", lambda d: outcome_of(d)[0], tone=lambda d: outcome_of(d)[1]
                ),
            ),
            "Records",
            key=lambda d: d.record.decision_id,
        )
        self.counted = plain(role="label")
        self.counted.setContentsMargins(12, 4, 8, 6)
        self.detail = _Detail()
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.table)
        column.addWidget(self.counted)
        split.addWidget(left)
        split.addWidget(self.detail)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        self.table.chosen.connect(self.detail.show_decision)
        workbench.stored.connect(self.reload)

    def reload(self) -> None:
        """Read the records again, now or when the panel is next seen."""
        self._stale = True
        if self.isVisible():
            self._stale = False
            if self._reading is not None:
                self._reading.cancel()
            self._reading = launch(self._read(self._workbench.records_path))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.reload()

    async def _read(self, path: Path) -> None:
        try:
            reading = await asyncio.to_thread(load_records, path)
        except FileNotFoundError:
            reading = Reading((), ())
        except OSError as error:
            reading = Reading((), ())
            self.empty.say("The records cannot be read", error.strerror or type(error).__name__)
        decisions = reading.decisions[::-1]
        self.table.show_rows(decisions)
        self.counted.setText(_counted(len(decisions), reading.problems))
        self.show_content(decisions or reading.problems)
        if decisions and self.table.row is None:
            self.table.choose(0)


class _Detail(QScrollArea):
    """One decision: the question, its possible answers, the state it was decided from, and its ids."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._node, self._cost = plain(), plain(role="label", mono=True)
        self._node.setFont(theme.font(13, bold=True))
        self._question = Quote()
        self._question.setAccessibleName("Question")
        self.bars = _Bars()
        self.state = Listing()
        self.state.setAccessibleName("State of the decision")
        self.state.setMinimumHeight(90)
        self._ids = plain(role="label", mono=True, wrap=True)
        self._ids.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        page = QWidget()
        head = QHBoxLayout()
        head.addWidget(self._node)
        head.addStretch(1)
        head.addWidget(self._cost)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(14, 10, 14, 12)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self._question)
        layout.addWidget(self.bars)
        layout.addWidget(plain("Decided from", role="label"))
        layout.addWidget(self.state, 1)
        layout.addWidget(self._ids)
        self._page = page
        self.setWidget(page)
        self.show_decision(None)

    def show_decision(self, decision: RecordedDecision | None) -> None:
        """Show this decision, or nothing."""
        self._page.setVisible(decision is not None)
        if decision is None:
            return
        record = decision.record
        self._node.setText(_node(record))
        self._cost.setText(_cost(record))
        asked = [_task(question)[:_LONGEST_STATE] for question in record.questions.values()]
        self._question.show_value("\n".join(filter(None, asked)))
        self.bars.show_bars(bars_of(decision))
        state = _text(record.state)
        cut = "\n… cut for display" if len(state) > _LONGEST_STATE else ""
        self.state.setPlainText(f"{state[:_LONGEST_STATE]}{cut}")
        self._ids.setText(
            "\n".join(
                f"{name}  {value}"
                for name, value in (
                    ("decision", record.decision_id),
                    ("run     ", record.tree.execution_id if record.tree else None),
                    ("model   ", record.served_model or record.default_model),
                )
                if value
            )
        )


class _Bars(QWidget):
    """Possible answers as bars of their probability; the given one in the accent, a confirmed one marked."""

    _ROW: Final = 24

    def __init__(self) -> None:
        super().__init__()
        self._bars: tuple[Bar, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_bars(self, bars: tuple[Bar, ...]) -> None:
        """Show these."""
        self._bars = bars
        self.setAccessibleName("; ".join(map(_spoken, bars)))
        self.setFixedHeight(self._ROW * len(bars))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, self._ROW * len(self._bars))

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, painter = theme.tokens(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plain_font, strong = theme.font(13), theme.font(13, bold=True)
        metrics = QFontMetrics(strong)
        names = min(
            self.width() // 3, 12 + max((metrics.horizontalAdvance(b.words) for b in self._bars), default=0)
        )
        measured = any(bar.share is not None for bar in self._bars)
        marks = 90 if any(bar.confirmed for bar in self._bars) else 0
        room = max(40, self.width() - names - 50 - marks)
        for number, bar in enumerate(self._bars):
            top = number * self._ROW
            painter.setFont(strong if bar.given else plain_font)
            painter.setPen(QColor(tokens.text))
            words = metrics.elidedText(bar.words, Qt.TextElideMode.ElideRight, names - 8)
            painter.drawText(QRectF(0, top, names, self._ROW), Qt.AlignmentFlag.AlignVCenter, words)
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


def _told(question: AskedQuestion | None, answer: Answer) -> str:
    if isinstance(answer, NoulAnswer):
        return "yes" if answer.probability >= 0.5 else "no"
    options = question.options if question else ()
    return options[answer.chosen_index] if answer.chosen_index < len(options) else str(answer.chosen_index)


def _task(question: AskedQuestion) -> str:
    asked = question.instructions
    return _text(asked["task"] if isinstance(asked, dict) and "task" in asked else asked)


def _word(answer: str | int | bool) -> str:
    return ("yes" if answer else "no") if isinstance(answer, bool) else str(answer)


def _spoken(bar: Bar) -> str:
    share = "" if bar.share is None else f" {bar.share:.2f}"
    return f"{bar.words}{share}{', given' if bar.given else ''}{', confirmed' if bar.confirmed else ''}"


def _node(record: Record) -> str:
    return record.tree.node if record.tree else ", ".join(record.questions)


def _confidence(record: Record) -> str:
    answers = record.answers or ()
    if len(answers) != 1 or (record.tree and record.tree.probability_source == "onehot"):
        return (record.tree.stated_confidence if record.tree else None) or "—"
    return f"{answers[0].confidence:.2f}"


def _cost(record: Record) -> str:
    tokens = f" · {record.usage.input_tokens + record.usage.output_tokens} tokens" if record.usage else ""
    return f"{record.latency_ms:.0f} ms{tokens}"


def _time(at: datetime) -> str:
    local = at.astimezone()
    today = datetime.now().astimezone().date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%d %b %H:%M}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _counted(decisions: int, bad: Sequence[BadLine]) -> str:
    words = f"{decisions:,} {'record' if decisions == 1 else 'records'}"
    if not bad:
        return words
    first = "; ".join(f"line {line.line}: {line.message}" for line in bad[:2])
    many = "1 line" if len(bad) == 1 else f"{len(bad)} lines"
    return f"{words} · {many} could not be read ({first}{' …' if len(bad) > 2 else ''})"
