"""The run log: one line for each thing that happened in the last run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Final

from designer.forms import Column, Empty, Pages, Table
from designer.workbench import Workbench
from engine import (
    ActionCompleted,
    AttemptCompleted,
    BudgetPassed,
    ClassificationCompleted,
    Event,
    NodeVisited,
    RunEnded,
    RunStarted,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log."""

    number: int
    time: str
    node: str
    text: str
    tone: str | None = None


class LogPanel(Pages):
    """The lines so far; it follows the end while its last line is in view."""

    def __init__(self, workbench: Workbench) -> None:
        columns = (
            Column[Line]("Time", lambda line: line.time, width=96, mono=True, tone=lambda _: "secondary"),
            Column[Line]("Node", lambda line: line.node, width=190),
            Column[Line]("What happened", lambda line: line.text, tone=lambda line: line.tone),
        )
        self.table = Table(columns, "Run log", key=lambda line: line.number)
        super().__init__(
            self.table,
            Empty(
                "run", "Nothing has run yet", "Run or step a tree, and each step is told here in one line."
            ),
        )
        self.setObjectName("panel.log")
        self._workbench, self._running = workbench, workbench.running
        self._seen = 0
        self.table.opened.connect(self._open)
        workbench.running.trail_changed.connect(lambda _: self._refresh())
        self._refresh()

    def _open(self, line: Line) -> None:
        if line.node:
            self._workbench.show_place(line.node, None)

    def _refresh(self) -> None:
        events = self._running.events
        if len(events) == self._seen and self.table.rows:
            return
        self._seen = len(events)
        bar = self.table.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 1
        self.table.show_rows(lines_of(events))
        self.show_content(self.table.rows)
        if at_end:
            self.table.scrollToBottom()


def lines_of(events: Sequence[Event]) -> tuple[Line, ...]:
    """The lines these events are told in; what a later event says better has none of its own."""
    said = [(event, told) for event in events if (told := _told(event)) is not None]
    return tuple(
        Line(number, event.at.astimezone().strftime("%H:%M:%S.%f")[:-3], *told)
        for number, (event, told) in enumerate(said)
    )


_Told = tuple[str, str, str | None]


@singledispatch
def _told(_event: Event) -> _Told | None:
    return None


@_told.register
def _(event: RunStarted) -> _Told:
    return "", f"Started {event.tree.name or event.tree.tree_id}, version {event.tree.version}", "secondary"


@_told.register
def _(event: AttemptCompleted) -> _Told | None:
    rejected = event.attempt.rejected
    return (event.node, f"The reply could not be used: {rejected}", "warn") if rejected else None


@_told.register
def _(event: ClassificationCompleted) -> _Told | None:
    found = event.classification
    return (found.node, f"No allowed answer: {_WHY[found.reason]}", "warn") if found.reason else None


@_told.register
def _(event: ActionCompleted) -> _Told:
    text = f"{event.action_key}: {_STATUS[event.status]}"
    more = event.error or event.summary
    pinned = " (pinned)" if event.pinned else ""
    return (
        event.node,
        f"{text}{pinned}{f'. {more}' if more else ''}",
        None if event.status == "success" else "warn",
    )


_WHY: Final = {
    "low-confidence": "the answer was not sure enough",
    "chosen": "unknown was chosen",
    "refused": "the model refused",
    "error": "the model could not be asked",
    "invalid-answer": "what was answered is not allowed",
    "context-budget": "the question did not fit into the context",
    "no-message": "there was nothing to ask with",
}
_STATUS: Final = {
    "success": "done",
    "transientFailure": "failed for now",
    "permanentFailure": "failed for good",
}


@_told.register
def _(event: BudgetPassed) -> _Told:
    return event.node, "A limit was passed; this tree goes on", "warn"


@_told.register
def _(event: NodeVisited) -> _Told:
    visit = event.visit
    if visit.branch is None:
        return visit.node, f"Verdict {visit.outcome}" if visit.type == "terminal" else "Not finished", None
    return visit.node, f"{visit.branch} → {visit.next}{' (forced)' if visit.forced else ''}", None


@_told.register
def _(event: RunEnded) -> _Told:
    result = event.result
    if result.outcome == "Terminal":
        return "", f"Ended with the verdict {result.verdict}", "good"
    return "", f"Ended: {result.error or result.outcome}", "bad"
