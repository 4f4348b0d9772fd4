"""The run log: one line for each thing that happened in the last run."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Final, TypeAlias

from designer.document.names import titles_of
from designer.document.wording import ending, unused
from designer.forms import Column, Empty, Pages, Table
from designer.running import ListedRun, LogLine
from designer.workbench import Workbench
from engine import (
    ActionCompleted,
    AttemptCompleted,
    BudgetPassed,
    ClassificationCompleted,
    Event,
    NodeId,
    NodeVisited,
    RunEnded,
    RunStarted,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log: what happened, and at which node (an empty text: to the run itself)."""

    text: str
    node: NodeId = ""
    tone: str | None = None
    title: str = ""
    time: str = ""
    number: int = 0
    position: int = 0
    """How many events had come when it was written."""


class LogPanel(Pages):
    """The lines so far; it follows the end while its last line is in view."""

    def __init__(self, workbench: Workbench) -> None:
        columns = (
            Column[Line]("Time", lambda line: line.time, width=114, mono=True, tone=lambda _: "secondary"),
            Column[Line]("Node", lambda line: line.title, width=190),
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
        self._run: ListedRun | None = None
        self._telling = _Telling()
        self.table.opened.connect(self._open)
        workbench.running.trail_changed.connect(lambda _: self._refresh())
        workbench.running.runs_changed.connect(self._refresh)
        self._refresh()

    def _open(self, line: Line) -> None:
        self._running.go_to(line.position)
        if line.node:
            self._workbench.show_place(line.node, None)

    def _refresh(self) -> None:
        """Tell what is new, and show up to where the shown moment is."""
        run = self._running.shown
        if run is not self._run:
            self._run, self._telling = run, _Telling()
        bar = self.table.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 1
        if run is None or self._telling.hear(run.recording.events, run.lines):
            self.table.show_rows(tuple(self._telling.lines))
            self.show_content(self.table.rows)
        if self._running.past:
            self.table.choose(max(0, self._telling.lines_at(self._running.position) - 1))
        elif at_end:
            self.table.clearSelection()
            self.table.scrollToBottom()


class _Telling:
    """Tells events as they come, each once; lines of log points stand where they were written."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._titles: Mapping[NodeId, str] = {}
        self._events = self._notes = 0

    def hear(self, events: Sequence[Event], notes: Sequence[LogLine] = ()) -> bool:
        """Tell what was not told yet; whether there was anything."""
        before = len(self.lines)
        for number in range(self._events, len(events)):
            self._note(notes, number)
            self._tell(events[number], number + 1)
        self._events = len(events)
        self._note(notes, self._events)
        return len(self.lines) > before

    def lines_at(self, position: int) -> int:
        """How many lines there were after so many events."""
        return bisect_right(self.lines, position, key=lambda line: line.position)

    def _note(self, notes: Sequence[LogLine], position: int) -> None:
        while self._notes < len(notes) and notes[self._notes].position <= position:
            note = notes[self._notes]
            self._notes += 1
            self._add(Line(note.text, note.node, "accent"), note.position, "")

    def _tell(self, event: Event, position: int) -> None:
        if isinstance(event, RunStarted):
            self._titles = titles_of(event.tree)
        told = _told(event, lambda node: self._titles.get(node, node))
        if told is not None:
            self._add(told, position, event.at.astimezone().strftime("%H:%M:%S.%f")[:-3])

    def _add(self, line: Line, position: int, time: str) -> None:
        title = self._titles.get(line.node, line.node)
        made = replace(line, number=len(self.lines), position=position, time=time, title=title)
        self.lines.append(made)


def lines_of(events: Sequence[Event]) -> tuple[Line, ...]:
    """The lines these events are told in; what a later event says better has none of its own."""
    telling = _Telling()
    telling.hear(events)
    return tuple(telling.lines)


_Title: TypeAlias = Callable[[NodeId], str]


@singledispatch
def _told(_event: Event, _title: _Title) -> Line | None:
    return None


@_told.register
def _(event: RunStarted, _title: _Title) -> Line:
    return Line(
        f"Started {event.tree.name or event.tree.tree_id}, version {event.tree.version}", tone="secondary"
    )


@_told.register
def _(event: AttemptCompleted, _title: _Title) -> Line | None:
    rejected = event.attempt.rejected
    return Line(f"The reply could not be used: {unused(rejected)}", event.node, "warn") if rejected else None


@_told.register
def _(event: ClassificationCompleted, _title: _Title) -> Line | None:
    found = event.classification
    return Line(f"No allowed answer: {_WHY[found.reason]}", found.node, "warn") if found.reason else None


@_told.register
def _(event: ActionCompleted, _title: _Title) -> Line:
    more = event.error or event.summary
    words = f"{_STATUS[event.status]}{' (pinned)' if event.pinned else ''}{f'. {more}' if more else ''}"
    return Line(f"{event.action_key}: {words}", event.node, None if event.status == "success" else "warn")


@_told.register
def _(event: BudgetPassed, _title: _Title) -> Line:
    return Line("The time limit was passed; this tree goes on", event.node, "warn")


@_told.register
def _(event: NodeVisited, title: _Title) -> Line:
    visit = event.visit
    if visit.branch is None or visit.next is None:
        return Line(f"Verdict {visit.outcome}" if visit.type == "terminal" else "Not finished", visit.node)
    return Line(f"{visit.branch} → {title(visit.next)}{' (pinned)' if visit.forced else ''}", visit.node)


@_told.register
def _(event: RunEnded, _title: _Title) -> Line:
    result = event.result
    return Line(ending(result), tone=_ENDINGS.get(result.outcome, "bad"))


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
_ENDINGS: Final = {"Terminal": "good", "Unknown": "warn", "Cancelled": "warn"}
