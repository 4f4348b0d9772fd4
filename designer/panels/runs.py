"""The runs of this session: how each ended, what it used, and where it differs from the one that is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from designer.document.names import titles_of
from designer.document.wording import ending
from designer.forms import Column, Empty, Pages, Table
from designer.running import ListedRun, RunState
from designer.workbench import Workbench
from engine import Tree
from engine.evaluate import compare

_GOING: Final[Mapping[RunState, str]] = {
    RunState.RUNNING: "Goes on",
    RunState.PAUSED: "Paused",
    RunState.ASKING: "Waits for your answer",
}


@dataclass(frozen=True)
class Row:
    """One run as the list shows it."""

    run: ListedRun
    ended: str
    tone: str | None
    origin: str
    beside: str
    shown: bool


class RunsPanel(Pages):
    """The newest run on top. A click shows a run; the others are then compared with it."""

    def __init__(self, workbench: Workbench) -> None:
        columns = (
            Column[Row](
                "Run",
                lambda row: row.run.name,
                width=110,
                icon=lambda row: ("dot", "accent") if row.shown else None,
            ),
            Column[Row]("Ended", lambda row: row.ended, tone=lambda row: row.tone),
            Column[Row]("Steps", lambda row: str(len(row.run.path)), width=56, mono=True),
            Column[Row]("LLM calls", lambda row: str(row.run.usage.llm_calls), width=74, mono=True),
            Column[Row]("Time", lambda row: f"{row.run.usage.duration:.1f} s", width=74, mono=True),
            Column[Row]("Begun from", lambda row: row.origin, width=140, tone=lambda _: "secondary"),
            Column[Row]("Beside the shown run", lambda row: row.beside),
        )
        self.table = Table(columns, "Runs", key=lambda row: row.run)
        super().__init__(
            self.table,
            Empty("run", "No runs yet", "Every run of this session is kept here, to look at and compare."),
        )
        self.setObjectName("panel.runs")
        self._workbench, self._running = workbench, workbench.running
        self.table.opened.connect(self._open)
        self._running.runs_changed.connect(self._refresh)
        self._running.state_changed.connect(lambda _: self._refresh())
        workbench.current_changed.connect(lambda _: self._refresh())
        self._refresh()

    def _open(self, row: Row) -> None:
        if row.run is self._running.shown:
            return
        if self._running.active:
            self._workbench.trouble.emit("Stop the run first; then another one can be shown.")
            return
        self._workbench.show_document(row.run.document)
        self._running.show_run(row.run)

    def _refresh(self) -> None:
        current = self._workbench.current
        shown = self._running.shown
        mine = [run for run in reversed(self._running.runs) if run.document is current]
        rows = [self._row(run, shown if shown in mine else None) for run in mine]
        if rows != list(self.table.rows):
            self.table.show_rows(rows)
        self.show_content(rows)
        number = next((i for i, row in enumerate(rows) if row.shown), None)
        if number is not None:
            self.table.choose(number)

    def _row(self, run: ListedRun, shown: ListedRun | None) -> Row:
        result = run.trail.result
        going = run is self._running.shown and self._running.active
        ended = ending(result) if result else _GOING[self._running.state] if going else "Its log ends here"
        good = result is not None and result.outcome == "Terminal"
        tone = None if good or result is None else "warn"
        # What goes on may still come to be the same.
        compared = shown is not None and shown is not run and not self._running.active
        beside = _difference(shown, run) if shown is not None and compared else ""
        return Row(run, ended, tone, _origin(run), beside, run is shown)


def _origin(run: ListedRun) -> str:
    """Where a run comes from, and how many recorded answers did not hold any more."""
    if run.log is not None:
        return "A file, of an older tree" if run.older else "A file"
    words = f"{run.parent.name}, step {run.plan.at + 1}" if run.parent and run.plan else ""
    return f"{words}; {len(run.stale)} asked again" if run.stale else words


def _difference(shown: ListedRun, run: ListedRun) -> str:
    difference = compare(shown.trail, run.trail).difference
    if difference is None:
        return "The same path and verdict"
    if difference.code == "usage":
        return "The same path and verdict, at another cost"
    if difference.code == "ending" or difference.node is None:
        return "The same path, another ending"
    titles = titles_of(run.trail.tree or shown.trail.tree or Tree())
    return f"Differs from step {difference.step + 1}, {titles.get(difference.node, difference.node)}"
