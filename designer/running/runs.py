"""The runs of a session: what is kept of each, to look at it again, to compare it, to save it, to fork it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from designer.document.document import Document
from designer.running.answering import Answering
from designer.running.recording import Recording
from engine import NodeId, Outcome, Trail, Tree, Usage
from engine.evaluate import Fork, RunLog, Stale


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line beside the events of a run: from a log point, or of an answer that is asked again.

    ``position`` is the number of events before it.
    """

    position: int
    node: NodeId
    text: str


@dataclass(frozen=True, eq=False)
class ListedRun:
    """One run of this session; it grows while it goes on.

    A fork has a ``parent`` and a ``plan``, whose ``at`` is the step where it really leaves that run;
    ``replan`` makes the same plan for another tree. ``stale`` are the recorded answers that were asked again.
    A run from a file has its ``log``; it is ``older`` when no open document had its tree, so that one was
    opened for it.
    """

    document: Document = field(repr=False)
    answering: Answering = field(default_factory=Answering, repr=False)
    name: str = ""
    recording: Recording = field(default_factory=Recording, repr=False)
    parent: "ListedRun | None" = field(default=None, repr=False)
    plan: Fork | None = field(default=None, repr=False)
    replan: Callable[[Tree], Fork] | None = field(default=None, repr=False)
    log: RunLog | None = field(default=None, repr=False)
    older: bool = False
    lines: list[LogLine] = field(default_factory=list, repr=False)
    stale: list[Stale] = field(default_factory=list, repr=False)

    @property
    def trail(self) -> Trail:
        """What it has shown so far; two of these can be compared (:func:`engine.evaluate.compare`)."""
        return self.recording.latest

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it goes on, or where its log is cut."""
        return self.trail.result.outcome if self.trail.result else None

    @property
    def verdict(self) -> str | None:
        """The verdict of the terminal it reached."""
        return self.trail.result.verdict if self.trail.result else None

    @property
    def path(self) -> tuple[NodeId, ...]:
        """The nodes it visited, in order."""
        return tuple(visit.node for visit in self.trail.path)

    @property
    def usage(self) -> Usage:
        """What it has used."""
        return self.trail.usage

    def as_log(self) -> RunLog:
        """What a run log keeps of it; ``ValueError`` before its first event."""
        if self.log is not None:
            return self.log
        case, asked = self.answering.case, self.answering.otherwise.kind
        decider = "person" if asked == "ask" else asked
        return RunLog(tuple(self.recording.events), decider, case.id if case else None)
