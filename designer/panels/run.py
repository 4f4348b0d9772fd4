"""The answers panel: where the answers of a run come from, the question it waits with, and how it ended."""

from typing import Final

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QKeySequence, QWheelEvent
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from designer.document.names import node_title, one_line
from designer.forms import Current, Quote, plain, without_wheel
from designer.running import RunState
from designer.workbench import Workbench
from engine import UNKNOWN, ClassifyNode, RunResult

_LIMITS: Final = {
    "nodeVisits": "the limit of node visits",
    "llmCalls": "the limit of LLM calls",
    "elapsedTime": "the time limit",
}


def ending(result: RunResult) -> str:
    """How a run ended, why, and with which verdict, in one or two sentences."""
    match result.outcome:
        case "Terminal":
            return f"Ended with the verdict {result.verdict}."
        case "Unknown":
            return f"Ended with the verdict {result.verdict}, after a question that got no allowed answer."
        case "BudgetExhausted":
            return f"Stopped by {_LIMITS.get(result.exceeded or '', 'the budget')}, before a verdict."
        case "Cancelled":
            return "Stopped before a verdict, as you asked."
        case _ if result.failure_kind == "llm":
            return f"Stopped: the model could not be asked. {result.error or ''}".strip()
        case _:
            return f"Stopped: {result.error or result.outcome}"


class RunPanel(QScrollArea):
    """While a question waits, its answers are buttons with the keys 1 to 9; 0 is ``unknown``."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("panel.run")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._workbench, self._running = workbench, workbench.running
        self.source = _Source()
        self.source.setObjectName("field.case")
        self.source.setAccessibleName("Where answers come from")
        self.source.activated.connect(self._choose)
        self.pinned = plain(role="label", wrap=True)
        self.state = plain(wrap=True)
        self.state.setObjectName("run.state")
        self.question = Quote()
        self.question.setObjectName("run.question")
        self.question.setAccessibleName("Question")
        self.answers: list[QPushButton] = []
        self._buttons = QVBoxLayout()
        self._buttons.setSpacing(6)
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.setSpacing(7)
        self._caption = plain("Answers come from", role="label")
        layout.addWidget(self._caption)
        layout.addWidget(self.source)
        layout.addWidget(self.pinned)
        layout.addSpacing(2)
        layout.addWidget(self.state)
        layout.addWidget(self.question)
        layout.addLayout(self._buttons)
        layout.addStretch(1)
        self.setWidget(page)
        workbench.current_changed.connect(lambda _: self._refresh())
        workbench.cases_changed.connect(lambda _: self._list_cases())
        self._current = Current(workbench, self)
        self._current.checked.connect(lambda _: self._say())
        self._running.state_changed.connect(lambda _: self._refresh())
        self._running.trail_changed.connect(lambda _: self._say())
        self._running.asked.connect(lambda _: self._show_question())
        self._current.announce()
        self._list_cases()
        self._show_question()

    def _list_cases(self) -> None:
        with QSignalBlocker(self.source):
            self.source.clear()
            self.source.addItem("Me: ask each question")
            for case in self._workbench.cases:
                self.source.addItem(f"Case {one_line(case.id, 80)}")
        self._refresh()

    def _choose(self, index: int) -> None:
        self._running.choose_case(self._workbench.cases[index - 1] if index > 0 else None)

    def _refresh(self) -> None:
        case, cases = self._running.case, self._workbench.cases
        self.source.setCurrentIndex(cases.index(case) + 1 if case in cases else 0)
        self.source.setEnabled(self._running.state in {RunState.IDLE, RunState.ENDED})
        document = self._workbench.current
        trouble = self._workbench.case_trouble
        asking = [
            node_id
            for node_id, node in (document.draft.tree.nodes if document else {}).items()
            if isinstance(node, ClassifyNode)
        ]
        if case is not None:
            pinned = sum(node_id in case.answers or node_id in case.replies for node_id in asking)
            rest = "" if pinned == len(asking) else ", the others ask you"
            self.pinned.setText(f"{pinned} of {len(asking)} questions pinned{rest}")
        else:
            self.pinned.setText(trouble or "")
        self.pinned.setVisible(bool(self.pinned.text()) and self._running.question is None)
        self._say()

    def _say(self) -> None:
        running, document = self._running, self._workbench.current
        trail = running.trail
        at = running.stop.node if running.stop else trail.current
        where = (
            node_title(at, trail.tree.nodes.get(at)) if at is not None and trail.tree else "the first node"
        )
        role = ""
        match running.state:
            case RunState.RUNNING:
                words = f"Running: {where}."
            case RunState.PAUSED:
                words = f"Paused before {where}. The clock stands still."
            case RunState.ASKING:
                words = f"{where} asks you:"
            case RunState.ENDED if trail.result is not None:
                words = ending(trail.result)
                role = "good" if trail.result.outcome == "Terminal" else "warn"
            case _:
                reason = running.reason_not_ready(document)
                words = reason or "Ready. Run to the end, or step from node to node."
                role = "label"
        if words != self.state.text() or role != self.state.property("role"):
            self.state.setText(words)
            self.state.setProperty("role", role)
            self.state.style().polish(self.state)

    def _show_question(self) -> None:
        question = self._running.question
        while self.answers:
            button = self.answers.pop()
            button.hide()
            button.deleteLater()
        # A question and its answers need all the room there is.
        for widget in (self._caption, self.source):
            widget.setVisible(question is None)
        self.pinned.setVisible(question is None and bool(self.pinned.text()))
        self.question.setVisible(question is not None)
        if question is not None:
            self.question.show_value(question.text)
            for number, answer in enumerate(question.answers, 1):
                self._offer(answer, answer, str(number) if number < 10 else "")
            self._offer(UNKNOWN, None, "0")
        self._say()

    def _offer(self, words: str, answer: str | None, key: str) -> None:
        button = QPushButton()
        button.setObjectName(f"answer.{words}")
        button.setAccessibleName(f"Answer {words}")
        button.setAutoDefault(False)
        row = QHBoxLayout(button)
        row.setContentsMargins(10, 6, 8, 6)
        text = plain(words, role="label" if answer is None else "", wrap=True)
        row.addWidget(text, 1)
        if key:
            button.setShortcut(QKeySequence(key))
            badge = plain(key, role="label", mono=True)
            badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
            badge.setFixedSize(20, 18)
            row.addWidget(badge)
        text.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        button.setMinimumHeight(32)
        button.clicked.connect(lambda: self._running.answer(answer))
        self._buttons.addWidget(button)
        self.answers.append(button)


class _Source(QComboBox):
    def __init__(self) -> None:
        super().__init__()
        self.setMinimumContentsLength(8)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)

    def wheelEvent(self, event: QWheelEvent) -> None:
        without_wheel(event)
