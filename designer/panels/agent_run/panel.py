"""The panel of agents: what one did inside a node of a run, live, at a past moment, and from a log."""

from typing import Final

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from designer.forms import Combo, Empty, Pages, plain
from designer.panels.agent_run.detail import Detail
from designer.panels.agent_run.lines import LinesView
from designer.panels.agent_run.story import Line, Stories, Story
from designer.running import ListedRun, RunState
from designer.workbench import Workbench
from engine import Phase
from engine.counting import counted

_AT_ONCE: Final = 1_500
"""Events that are taken in before the window goes on: a log may hold very many."""
_WAITING: Final[dict[Phase | None, str]] = {
    "beforeAttempt": "Paused before the model is asked",
    "beforeTool": "Paused before a tool is used",
    "afterTool": "Paused after a tool was used",
}


class AgentRunPanel(Pages):
    """One agent at a time: the one that began last at the shown moment, or the one a person chose."""

    def __init__(self, workbench: Workbench) -> None:
        page = QWidget()
        super().__init__(
            page,
            Empty(
                "run",
                "No agent has worked yet",
                "Where the action of a node is an agent, what it does is told here, turn by turn.",
            ),
        )
        self.setObjectName("panel.agent")
        self._workbench, self._running = workbench, workbench.running
        self._run: ListedRun | None = None
        self._stories = Stories()
        self._picked: Story | None = None
        self._shown: Story | None = None
        self._position = 0
        self._follows = True
        self._marked: tuple[Line, ...] = ()
        self.chooser = Combo(least=14)
        self.chooser.setAccessibleName("Agent")
        self.chooser.setObjectName("agent.chooser")
        self.totals = plain(role="label", wrap=True)
        self.totals.setObjectName("agent.totals")
        self.lines, self.detail = LinesView(), Detail()
        head = QHBoxLayout()
        head.setContentsMargins(8, 6, 10, 4)
        head.setSpacing(12)
        head.addWidget(self.chooser, 2)
        head.addWidget(self.totals, 5)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        split.addWidget(self.lines)
        split.addWidget(self.detail)
        split.setSizes([690, 330])
        split.setStretchFactor(0, 2)
        split.setStretchFactor(1, 1)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(split, 1)
        self._more = QTimer(self, interval=0, singleShot=True)
        self._more.timeout.connect(self._refresh)
        self.chooser.activated.connect(self._pick)
        self.lines.chosen.connect(self._choose)
        self.lines.pressed_on.connect(self._go_to)
        self.lines.copied.connect(self.detail.copy)
        self._running.trail_changed.connect(lambda _: self._refresh())
        self._running.state_changed.connect(lambda _: self._refresh())
        self._running.runs_changed.connect(self._refresh)
        self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _pick(self, number: int) -> None:
        stories = self._stories.stories
        self._picked = None if stories[number] is self._newest else stories[number]
        self._refresh()

    def _choose(self, line: Line | None) -> None:
        self._follows = self.lines.at_end
        self.detail.show_line(line)

    def _go_to(self, line: Line | None) -> None:
        """Show the moment at which a line was told, and the node it was told in."""
        story, run = self._shown, self._run
        if line is None or story is None or run is None:
            return
        self._running.go_to(line.last)
        self._position = self._running.position
        if self._workbench.current is run.document:
            run.document.select([story.node])
            self._workbench.reveal_requested.emit(story.node)

    def _refresh(self) -> None:
        run = self._running.shown
        if run is not self._run:
            self._run, self._stories, self._picked = run, Stories(), None
            self.chooser.clear()
        # What nobody sees is told when it is; while there is more, the timer alone goes on with it.
        events = run.recording.events if run and self.isVisible() and not self._more.isActive() else ()
        if self._stories.hear(events, _AT_ONCE):
            self._more.start()
        self.show_content(self._stories.stories)
        self._list_stories()
        self._show(self._picked or self._newest)

    @property
    def _newest(self) -> Story | None:
        stories = self._stories.stories
        begun = self._stories.begun(self._running.position)
        return stories[max(0, begun - 1)] if stories else None

    def _list_stories(self) -> None:
        stories = self._stories.stories
        for number in range(self.chooser.count(), len(stories)):
            self.chooser.addItem(f"{number + 1}. {stories[number].title}" if number else stories[0].title)

    def _show(self, story: Story | None) -> None:
        running, before = self._running, self._shown
        position, moved = running.position, running.position != self._position
        self._shown, self._position = story, position
        waiting = self._waiting(story)
        marked = story.waits(waiting) if story and waiting else ()
        self.lines.show_story(story, position, marked)
        if story is None:
            self.detail.show_line(None)
            return
        with QSignalBlocker(self.chooser):
            self.chooser.setCurrentIndex(self._stories.stories.index(story))
        self.totals.setText(self._words(story, position, waiting))
        self._follow(story, marked, anew=story is not before, moved=moved)
        self.detail.show_line(self.lines.line)

    def _follow(self, story: Story, marked: tuple[Line, ...], *, anew: bool, moved: bool) -> None:
        """Have the cursor where the run is, unless a person put it elsewhere."""
        if not story.lines:
            return
        stops, self._marked = marked != self._marked, marked
        self._follows = self._follows or anew
        if marked:
            if stops or anew:
                self.lines.choose(marked[-1])
        elif self._running.past:
            if moved or anew:
                told = [line for line in story.lines if line.first <= self._position]
                self.lines.choose(told[-1] if told else story.lines[0])
        elif self._follows and (self.lines.line is None or not self.lines.at_end):
            self.lines.choose(story.lines[-1])

    def _waiting(self, story: Story | None) -> Phase | None:
        """Before or after what of its agent the run waits, if it is in this one."""
        levels = self._running.inside
        here = self._running.state is RunState.PAUSED and levels and levels[-1].trail.tree is None
        newest = self._stories.stories[-1] if self._stories.stories else None
        return levels[-1].phase if here and story is newest else None

    def _words(self, story: Story, position: int, waiting: Phase | None) -> str:
        if position < story.first:
            return "It has not begun at the shown step."
        used, limits = story.totals(position), story.started
        turns = None if limits.max_turns is None else limits.max_turns * (limits.max_rounds or 1)
        words = [
            self._standing(story, position, waiting),
            f"{_of(used.turns, turns)} turns",
            f"{_of(used.calls, limits.max_llm_calls)} LLM calls",
            counted(used.tools, "tool use"),
            f"{used.sent:,} tokens in, {used.got:,} out" if used.sent or used.got else "no tokens reported",
        ]
        if used.seconds is not None:
            most = "" if limits.deadline is None else f" of {limits.deadline:g}"
            words.append(f"{used.seconds:.1f}{most} s")
        return "  ·  ".join(words)

    def _standing(self, story: Story, position: int, waiting: Phase | None) -> str:
        if waiting in _WAITING:
            return _WAITING[waiting]
        if position < story.last or (self._running.past and not story.ended):
            return "At the shown moment"
        if story.ended:
            return "Done" if story.lines[-1].tone is None else "Not done"
        return "Works" if self._running.active else "Its record ends here"


def _of(used: int, most: int | None) -> str:
    return f"{used:,}" if most is None else f"{used:,} of {most:,}"
