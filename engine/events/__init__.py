"""What happens in a run, as frozen events, and the result that ends it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

from engine.budget import LimitName, Limits, Usage
from engine.catalog import ActionStatus
from engine.data import DataItem, DataSummary
from engine.deciders import Attempt, UnknownReason
from engine.tree import Json, NodeId, Tree
from engine.values import quick_to_make

Outcome: TypeAlias = Literal[
    "Terminal", "Unknown", "BudgetExhausted", "Cancelled", "ValidationFailed", "ActionFailed"
]
"""How a run ended. ``ActionFailed`` is kept for readers of older results and is never produced."""

FailureKind: TypeAlias = Literal["validation", "llm", "predicate", "internal"]
"""What kind of trouble ended a run as ``ValidationFailed``."""


@quick_to_make
@dataclass(frozen=True, slots=True)
class Classification:
    """One decided question of a run. ``answer`` is the declared answer or ``unknown``."""

    node: NodeId
    visit: int
    decision_id: str
    answer: str
    observation: str | None = field(repr=False)
    confidence: str | None
    probabilities: tuple[float, ...] | None
    attempts: int
    llm_calls: int
    reason: UnknownReason | None
    at: datetime


@quick_to_make
@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of a node. ``branch`` and ``next`` are None where no branch was taken.

    ``decision_id`` is that of the question it asked, so that erasing the decision can find what quotes it.
    """

    node: NodeId
    type: str
    number: int
    outcome: str
    branch: str | None
    next: NodeId | None
    duration: float
    forced: bool = False
    decision_id: str | None = None


@quick_to_make
@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended and what came of it. Durations are in seconds."""

    execution_id: str
    tree_id: str
    version: int
    tree_hash: str
    outcome: Outcome
    verdict: str | None
    error: str | None = field(repr=False)
    failure_kind: FailureKind | None
    exceeded: LimitName | None
    had_unknown: bool
    classifications: tuple[Classification, ...] = field(repr=False)
    usage: Usage
    limits: Limits
    state_properties: Mapping[str, object] = field(repr=False)
    path: tuple[Visit, ...] = field(repr=False)

    @property
    def succeeded(self) -> bool:
        """Whether a terminal was reached without any question ending unknown."""
        return self.outcome == "Terminal"

    def as_json(self) -> dict[str, Json]:
        """The result in the documented shape of ``treewright run --json``."""
        usage, limits = self.usage, self.limits
        return {
            "executionId": self.execution_id,
            "treeId": self.tree_id,
            "version": self.version,
            "treeHash": self.tree_hash,
            "outcome": self.outcome,
            "succeeded": self.succeeded,
            "verdict": self.verdict,
            "error": self.error,
            "failureKind": self.failure_kind,
            "hadUnknown": self.had_unknown,
            "classifications": [
                {
                    "node": c.node,
                    "visit": c.visit,
                    "decisionId": c.decision_id,
                    "answer": c.answer,
                    "observation": c.observation,
                    "confidence": c.confidence,
                    "probabilities": None if c.probabilities is None else list(c.probabilities),
                    "attempts": c.attempts,
                }
                for c in self.classifications
            ],
            "usage": {
                "nodeVisits": usage.node_visits,
                "llmCalls": usage.llm_calls,
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "totalTokens": usage.total_tokens,
                "durationMs": round(usage.duration * 1000, 3),
                "cost": usage.cost,
            },
            "limits": {
                "maxNodeVisits": limits.node_visits,
                "maxLlmCalls": limits.llm_calls,
                "maxElapsedMs": round(limits.elapsed * 1000, 3),
                "maxContextTokens": limits.context_tokens,
                "onExceeded": limits.on_exceeded,
            },
            "stateProperties": {name: plain(value) for name, value in self.state_properties.items()},
            "path": [{"node": v.node, "type": v.type, "branch": v.branch, "next": v.next} for v in self.path],
        }


_DEEPEST: Final = 32


def plain(value: object, holders: tuple[object, ...] = ()) -> Json:
    """A state property as JSON: what JSON cannot say is given as text."""
    if len(holders) >= _DEEPEST or any(value is holder for holder in holders):
        value = "..."
    inside = (*holders, value)
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if value - value == 0 else str(value)
        case Mapping():
            return {str(key): plain(item, inside) for key, item in value.items()}
        case list() | tuple():
            return [plain(item, inside) for item in value]
        case _:
            # Half a surrogate pair is no text that could be written.
            return str(value).encode(errors="replace").decode()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run, at this time (UTC).

    Trace and correlation id are those the session was given, to find a run's events among an application's.
    """

    execution_id: str
    at: datetime
    trace_id: str | None = field(default=None, kw_only=True)
    correlation_id: str | None = field(default=None, kw_only=True)


@quick_to_make
@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """First event of every run, also of one whose tree turns out not to be valid."""

    tree: Tree = field(repr=False)
    tree_hash: str
    limits: Limits
    parameters: Mapping[str, str] = field(repr=False)
    properties: Mapping[str, object] = field(repr=False)
    data: tuple[DataItem, ...] = field(repr=False)


@quick_to_make
@dataclass(frozen=True, slots=True)
class NodeStarted(Event):
    """A node is about to be worked on; its visit has been counted."""

    node: NodeId
    type: str
    visit: int


@quick_to_make
@dataclass(frozen=True, slots=True)
class ActionCompleted(Event):
    """An action came back.

    ``produced`` is all data that entered the store meanwhile, ``changed`` the state properties that are
    different afterwards.
    """

    node: NodeId
    visit: int
    name: str | None
    action_key: str
    status: ActionStatus
    summary: str | None = field(repr=False)
    error: str | None = field(repr=False)
    produced: tuple[DataItem, ...] = field(repr=False)
    changed: Mapping[str, object] = field(repr=False)
    pinned: bool = False

    @property
    def data_summary(self) -> DataSummary | None:
        """What was produced, in a few words; None when there was nothing. It quotes the data."""
        return DataSummary.of(self.produced)


@quick_to_make
@dataclass(frozen=True, slots=True)
class AttemptCompleted(Event):
    """A question was put once; see :class:`engine.deciders.Attempt`."""

    node: NodeId
    visit: int
    attempt: Attempt
    usage: Usage
    decision_id: str | None = None


@quick_to_make
@dataclass(frozen=True, slots=True)
class ClassificationCompleted(Event):
    """A question was decided, perhaps as ``unknown``."""

    classification: Classification


@dataclass(frozen=True, slots=True)
class BudgetPassed(Event):
    """A limit was passed and the run goes on, because the tree only warns or throttles."""

    node: NodeId
    limit: LimitName


@quick_to_make
@dataclass(frozen=True, slots=True)
class NodeVisited(Event):
    """A visit is over."""

    visit: Visit
    usage: Usage


@quick_to_make
@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """Last event of every run."""

    result: RunResult


@quick_to_make
@dataclass(frozen=True, slots=True)
class SubRunEvent(Event):
    """Something happened in a run that an action made and waits for: ``event``, which has its own run's id.

    It comes between the start of the action's visit and the completion of the action.
    """

    node: NodeId
    visit: int
    event: Event


@dataclass(frozen=True, slots=True)
class ForeignEvent(Event):
    """Something a run of a kind that is not known here tells, with its record as it is written."""

    record: Mapping[str, Json] = field(repr=False)


Observer: TypeAlias = Callable[[Event], None]
"""Gets every event at once. It cannot delay or break the run: its first failure ends its service."""
