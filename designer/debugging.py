"""Running the current document: the commands of a run, and where its answers come from.

How a run goes on is known to :mod:`designer.running`; here stands what a person may do about it, and when.
"""

from designer.actions import command
from designer.document.names import one_line
from designer.document.wording import ending
from designer.forms import Combo
from designer.owner import Front, Owner, no_document
from designer.running import RunState
from designer.workbench import Workbench


class Debugging(Owner):
    """The verbs of running, and what a run tells the person who is not looking."""

    def __init__(self, workbench: Workbench, front: Front) -> None:
        super().__init__(workbench, front)
        self.running = workbench.running
        self.running.state_changed.connect(self._note_state)

    # -- what may be done: None, or the reason in plain words

    def may_start(self) -> str | None:
        """Whether a run may begin or go on."""
        match self.running.state:
            case RunState.PAUSED:
                return None
            case RunState.RUNNING | RunState.ASKING:
                return "The run is going on."
            case _:
                return no_document(self)

    def may_pause(self) -> str | None:
        """Whether there is a run that goes on."""
        going = self.running.state in (RunState.RUNNING, RunState.ASKING)
        return None if going else "Nothing is running."

    def may_stop(self) -> str | None:
        """Whether there is a run, going on or paused."""
        return None if self.running.active else "Nothing is running."

    # -- commands

    @command("run.start", "&Run", ["F5"], when=may_start, icon="run", tip="Run to the end, or go on")
    def start(self) -> None:
        """Run, or go on after a pause."""
        if self.running.state is RunState.PAUSED:
            self.running.resume()
        elif self._is_ready():
            self.running.start(self.document)

    @command("run.step", "&Step", ["F10"], when=may_start, icon="step", tip="Execute one node, then pause")
    def step(self) -> None:
        """Execute one node."""
        if self.running.active or self._is_ready():
            self.running.step(self.document)

    @command("run.pause", "&Pause", ["F6"], when=may_pause, icon="pause", tip="Pause before the next node")
    def pause(self) -> None:
        """Pause before the next node."""
        self.running.pause()

    @command("run.stop", "S&top", ["Shift+F5"], when=may_stop, icon="stop", tip="End the run now")
    def stop(self) -> None:
        """End the run now."""
        self.running.cancel()

    # --

    def _is_ready(self) -> bool:
        """Whether the tree may be run; if not, say why and show where."""
        reason = self.running.reason_not_ready(self.document)
        if reason is not None:
            self.front.tell(reason)
            self.front.show_panel("problems")
        return reason is None

    def _note_state(self, state: RunState) -> None:
        result = self.running.trail.result
        if state is RunState.ENDED and result is not None:
            self.front.tell(ending(result))
        elif state is RunState.ASKING and self.running.question is not None:
            self.front.show_panel("run")


class Answers(Combo):
    """Where the answers of the next run come from: a person, or a case beside the tree."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__("Answers: ", least=12)
        self._workbench = workbench
        self.setObjectName("answers")
        self.setToolTip("Where the answers of the next run come from")
        self.activated.connect(lambda index: workbench.running.choose_case(self.itemData(index)))
        workbench.cases_changed.connect(self._list_cases)
        workbench.running.state_changed.connect(self._note_state)

    def _list_cases(self, _cases: object) -> None:
        self.clear()
        self.addItem("ask me", None)
        for case in self._workbench.cases:
            self.addItem(one_line(case.id), case)
        self._show_case()

    def _note_state(self, _state: object) -> None:
        self.setEnabled(not self._workbench.running.active)
        self._show_case()

    def _show_case(self) -> None:
        """Keep in step with the Answers panel, which chooses the same."""
        case, cases = self._workbench.running.case, self._workbench.cases
        self.setCurrentIndex(cases.index(case) + 1 if case in cases else 0)
