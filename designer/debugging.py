"""Running the current document: the commands of a run, and who answers in it.

How a run goes on is known to :mod:`designer.running`; here stands what a person may do about it, and when.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from designer import dialogs
from designer.actions import command
from designer.answers import set_up_model
from designer.document.breakpoints import Spot, breakpoint_at, breakpoints, enable_all, toggle
from designer.document.wording import ending
from designer.owner import Front, Owner, no_document, no_single_node, nothing_selected
from designer.running import RunState
from designer.tasks import launch
from designer.workbench import Workbench
from engine import DocumentRefused, NodeId

LOGS: Final = "Run logs (*.jsonl)"


class Debugging(Owner):
    """The verbs of running, and what a run tells the person who is not looking."""

    def __init__(self, workbench: Workbench, front: Front) -> None:
        super().__init__(workbench, front)
        self.running = workbench.running
        self.running.state_changed.connect(self._note_state)
        workbench.model_requested.connect(self.set_up_model)

    # -- what may be done: None, or the reason in plain words

    def may_start(self) -> str | None:
        """Whether a run may begin or go on."""
        if (reason := self.may_be_seen()) is not None:
            return reason
        match self.running.state:
            case RunState.RUNNING | RunState.ASKING if not self.running.past:
                return "The run is going on."
            case RunState.IDLE | RunState.ENDED:
                return no_document(self)
            case _:
                return None

    def may_step_out(self) -> str | None:
        """Whether the run is paused within what a node runs."""
        if (reason := self.may_start()) is not None:
            return reason
        return None if self.running.inside else "The run is not inside a tree or agent that a node runs."

    def may_pause(self) -> str | None:
        """Whether there is a run that goes on."""
        going = self.running.state in (RunState.RUNNING, RunState.ASKING)
        return None if going else "Nothing is running."

    def may_stop(self) -> str | None:
        """Whether there is a run, going on or paused."""
        return None if self.running.active else "Nothing is running."

    def may_be_seen(self) -> str | None:
        """Whether no run goes on in a tree that is not on the screen."""
        document = self.running.document
        if not self.running.active or document is None or document is self.workbench.current:
            return None
        return f"A run of {document.title} goes on. Go to that tree, or stop the run."

    def may_look_back(self) -> str | None:
        """Whether there is a moment before the one that is shown."""
        if (reason := self.has_run()) is not None:
            return reason
        return None if self.running.step_number > 0 else "This is where the run began."

    def may_look_forward(self) -> str | None:
        """Whether there is a moment after the one that is shown."""
        if (reason := self.has_run()) is not None:
            return reason
        return None if self.running.past else "This is the newest moment of the run."

    def may_find_visit(self) -> str | None:
        """Whether one node is selected, and a run is shown."""
        return no_single_node(self) or self.has_run()

    def may_run_to(self) -> str | None:
        """Whether one node is selected, and the run is not going on."""
        return no_single_node(self) or self.may_start()

    def may_use_branch(self) -> str | None:
        """Whether a branch is chosen."""
        return None if self.workbench.current and self.canvas.picked else "Click a branch first."

    def has_run(self) -> str | None:
        """Whether a run is shown, of the tree on the screen."""
        return self.may_be_seen() or (None if self.running.shown else "Nothing has run yet.")

    def has_ended(self) -> str | None:
        """Whether no run is going on."""
        return "Stop the run first." if self.running.active else no_document(self)

    def has_breakpoints(self) -> str | None:
        """Whether the tree has any breakpoint."""
        there = self.workbench.current and breakpoints(self.document.draft)
        return no_document(self) or (None if there else "There are no breakpoints.")

    # -- going on

    @command("run.start", "&Run", ["F5"], when=may_start, icon="run", tip="Run to the end, or go on")
    def start(self) -> None:
        """Run, or go on after a pause."""
        if self.running.active or self.running.past:
            self.running.resume()
        elif self._is_ready():
            self.running.start(self.document)

    @command("run.step", "&Step", ["F10"], when=may_start, icon="step", tip="Execute one node, then pause")
    def step(self) -> None:
        """Execute one node."""
        if self._may_go():
            self.running.step(self.document)

    @command("run.step-into", "Step &into", ["F7"], when=may_start, tip="Pause inside what the node runs")
    def step_into(self) -> None:
        """Execute one node, and pause inside where its action runs a tree or an agent."""
        if self._may_go():
            self.running.step_into(self.document)

    @command(
        "run.step-out", "Step o&ut", ["Shift+F7"], when=may_step_out, tip="Go on to where it is waited for"
    )
    def step_out(self) -> None:
        """Go on to the end of the tree or agent the run stands in."""
        self.running.step_out()

    @command(
        "run.step-question", "Step to &question", ["F11"], when=may_start, tip="Go on to the next question"
    )
    def step_to_question(self) -> None:
        """Go on and pause before the next classify node."""
        if self._may_go():
            self.running.step_to_question(self.document)

    @command("run.to", "Run to &here", ["Ctrl+F5"], when=may_run_to, tip="Go on to the selected node")
    def run_to(self) -> None:
        """Go on and pause before the selected node."""
        if self._may_go():
            (node,) = self.document.selection
            self.running.run_to(self.document, node)

    @command("run.pause", "&Pause", ["F6"], when=may_pause, icon="pause", tip="Pause before the next node")
    def pause(self) -> None:
        """Pause before the next node."""
        self.running.pause()

    @command("run.stop", "S&top", ["Shift+F5"], when=may_stop, icon="stop", tip="End the run now")
    def stop(self) -> None:
        """End the run now."""
        self.running.cancel()

    @command(
        "run.restart",
        "R&estart",
        ["Ctrl+Shift+F5"],
        when=has_run,
        tip="Run again from the beginning with the same inputs",
    )
    def restart(self) -> None:
        """Run again with the same inputs, on the tree as it is now."""
        reason = self.running.restart()
        if reason is not None:
            self._refuse(reason)

    @command("run.follow", "&Follow the run", checkable=True, tip="Move the view to where the run is")
    def follow(self, on: bool) -> None:
        """Have the view go where the run goes, or stay where it is."""
        self.running.following = on

    # -- the past

    @command(
        "run.back",
        "Step &back",
        ["Ctrl+F10"],
        when=may_look_back,
        icon="look-back",
        tip="Look at the moment before",
    )
    def step_back(self) -> None:
        """Show the moment before."""
        self.running.step_back()

    @command(
        "run.forward",
        "Look f&orward",
        ["Ctrl+Shift+F10"],
        when=may_look_forward,
        icon="look-forward",
        tip="Look at the next moment",
    )
    def step_forward(self) -> None:
        """Show the next moment that is recorded."""
        self.running.step_forward()

    @command("run.newest", "&Newest moment", when=may_look_forward)
    def newest(self) -> None:
        """Show the newest moment of the run."""
        self.running.live()

    @command("run.previous-visit", "Pre&vious visit", ["Ctrl+F11"], when=may_find_visit)
    def previous_visit(self) -> None:
        """Show the moment before the last visit of the selected node."""
        self._go_to_visit(self.running.previous_visit, "before this moment")

    @command("run.next-visit", "Ne&xt visit", ["Ctrl+Shift+F11"], when=may_find_visit)
    def next_visit(self) -> None:
        """Show the moment before the next visit of the selected node."""
        self._go_to_visit(self.running.next_visit, "after this moment")

    # -- where to pause

    @command(
        "run.breakpoint",
        "Break&point",
        ["F9"],
        when=nothing_selected,
        tip="Pause before the selected nodes, or no more",
    )
    def toggle_breakpoint(self) -> None:
        """Set a breakpoint on each of the selected nodes, or take theirs away when all have one."""
        draft = self.document.draft
        bare = [node for node in self.document.selection if breakpoint_at(draft, node) is None]
        self._toggle([(node, None) for node in bare or self.document.selection], on=bool(bare))

    @command("run.breakpoints-off", "Breakpoints &off", ["Ctrl+Shift+F9"], when=has_breakpoints)
    def breakpoints_off(self) -> None:
        """Pass over all breakpoints, or honour them again when all are passed over."""
        on = not any(one.enabled for one in breakpoints(self.document.draft))
        label = "Honour breakpoints" if on else "Pass over breakpoints"
        self.document.edit(label, lambda draft: enable_all(draft, on=on))

    @command(
        "branch.breakpoint",
        "Break&point on branch",
        ["Shift+F9"],
        when=may_use_branch,
        tip="Pause once the branch was taken",
    )
    def toggle_branch(self) -> None:
        """Set a breakpoint on the chosen branch, or take it away."""
        node, branch = self.canvas.picked or ("", "")
        on = breakpoint_at(self.document.draft, node, branch) is None
        self._toggle([(node, branch)], on=on)

    # -- who answers

    @command("run.model", "&Model…", tip="Say which model answers, and try it")
    def set_up_model(self) -> None:
        """Set up the person's own model."""
        launch(set_up_model(self.front.window(), self.workbench, self.front.tell))

    # -- logs

    @command("run.save-log", "Save run lo&g…", when=has_run, tip="Keep this run as a file")
    def save_log(self) -> None:
        """Write the run to a file, to be looked at again here or elsewhere."""
        launch(self._save_log())

    @command("run.open-log", "Open run &log…", when=has_ended, tip="Step through a run that was kept")
    def open_log(self) -> None:
        """Read a run from a file and step through it."""
        launch(self._open_log())

    # --

    def _may_go(self) -> bool:
        return self.running.active or self.running.past or self._is_ready()

    def _is_ready(self) -> bool:
        """Whether the tree may be run; if not, say why and show where."""
        reason = self.running.reason_not_ready(self.document)
        if reason is not None:
            self._refuse(reason)
        return reason is None

    def _refuse(self, reason: str) -> None:
        self.front.tell(reason)
        self.front.show_panel("problems" if self._has_errors() else "run")

    def _has_errors(self) -> bool:
        document = self.workbench.current
        return document is not None and any(p.severity == "error" for p in document.problems)

    def _toggle(self, spots: Sequence[Spot], *, on: bool) -> None:
        """Toggle these, which all have a breakpoint or all have none."""
        many = "breakpoints" if len(spots) > 1 else "breakpoint"
        self.document.edit(
            f"{'Set' if on else 'Remove'} {many}",
            lambda draft: reduce(lambda after, spot: toggle(after, *spot), spots, draft),
        )

    def _go_to_visit(self, go: Callable[[NodeId], bool], where: str) -> None:
        (node,) = self.document.selection
        if not go(node):
            self.front.tell(f"The run did not visit this node {where}.")

    async def _save_log(self) -> None:
        run = self.running.shown
        if run is None:
            return
        name = (
            f"{run.document.path.stem if run.document.path else 'tree'}.{run.name.replace(' ', '-').lower()}"
        )
        path = await dialogs.ask_save(self.front.window(), "Save run log", f"{name}.runlog.jsonl", LOGS)
        if path is None:
            return
        try:
            self.running.save_log(path)
        except OSError as error:
            self.front.tell(f"The run log could not be saved: {error.strerror}.")
        else:
            self.front.tell(f"Saved {path.name}.")

    async def _open_log(self) -> None:
        path = await dialogs.ask_open(self.front.window(), "Open run log", LOGS)
        if path is None:
            return
        try:
            await self.workbench.open_run_log(path)
        except OSError as error:
            self.front.tell(f"{path.name} could not be read: {error.strerror}.")
        except DocumentRefused as refused:
            self.front.tell(f"{path.name} is no run log: line {refused.line}: {refused.message}")
        else:
            self.front.tell(f"Opened {path.name}. Step through it, or drag the slider.")

    def _note_state(self, state: RunState) -> None:
        result = self.running.trail.result
        if state is RunState.ENDED and result is not None:
            self.front.tell(ending(result))
        elif state is RunState.PAUSED and self.running.why:
            self.front.tell(self.running.why)
        elif state is RunState.ASKING and (self.running.question or self.running.inquiry):
            self.front.show_panel("run")
        elif state is RunState.RUNNING:
            self.front.tell("")  # what was said of an earlier moment does not hold any more
