"""What happens in a run of a decision agent, and what comes of it: frozen values.

A run and everything done for it, a decision or a use of a tool, is a job: queued, started, and ended once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from engine.agent.artifacts import Artifact, ListArtifact
from engine.agent.definition import ExecutionStatus, FailureKind
from engine.agent.palette import FINISH
from engine.agent.pulled import Halted
from engine.budget import Usage
from engine.deciders import ProbabilitySource
from engine.deciders.asked import Answer, AskedQuestion, ChoiceAnswer, NoulAnswer
from engine.deciders.systemone.client import DecisionResult
from engine.deciders.systemone.questions import Chosen
from engine.events import Event
from engine.jsontext import Json

A_co = TypeVar("A_co", bound=Artifact, covariant=True)

EndReason: TypeAlias = Literal["model", "no_moves", "nothing_produced", "turn_budget"]
"""Why a run came to its end: the model said so, nothing was left to do, nothing came out, or no turn left."""

Ending: TypeAlias = Literal["completed", "failed", "timed_out", "cancelled"]
"""How a job ended."""

Choice: TypeAlias = Chosen[ChoiceAnswer, str]
"""The answer to a choice, with the options there were."""


def _empty() -> Mapping[str, float]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class DecisionTurn:
    """One turn as it is kept: what was decided, and what came of it.

    ``next`` is the choice of a tool, None where no move was offered; ``argument`` that of the artifact. The
    ``selection`` says how likely each artifact belongs in the answer, by its ref, in the order asked.
    ``failure`` is the refusal of the tool, as the model reads it.
    """

    turn: int
    next: Choice | None = None
    tool: str = FINISH
    argument: Choice | None = None
    artifact: str | None = None
    result: str | None = None
    failure: str | None = field(default=None, repr=False)
    selection: Mapping[str, float] = field(default_factory=_empty)

    def __post_init__(self) -> None:
        object.__setattr__(self, "selection", MappingProxyType(dict(self.selection or {})))

    @property
    def finished(self) -> bool:
        """Whether the run ended with this turn."""
        return self.tool == FINISH

    def as_json(self) -> dict[str, Json]:
        """The turn as a JSON object; what is None is left out."""
        return present(
            turn=self.turn,
            next=self.next and answer_json(self.next),
            tool=self.tool,
            argument=self.argument and answer_json(self.argument),
            artifact=self.artifact,
            result=self.result,
            failure=self.failure,
            selection=dict(self.selection),
        )


def present(**members: object) -> dict[str, Json]:
    """A JSON object of the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}  # type: ignore[misc]


def answer_json(answer: Choice | NoulAnswer) -> dict[str, Json]:
    """An answer as traces and turns write it."""
    if isinstance(answer, NoulAnswer):
        return {"probability": answer.probability}
    return {
        "choice": answer.value,
        "probabilities": dict(answer.probabilities),
        "confidence": answer.confidence,
    }


class Failed(Halted):
    """Ends a run of a decision agent; ``transient`` says whether trying again may help."""

    def __init__(
        self, kind: FailureKind, reason: str, *, transient: bool = False, timed_out: bool = False
    ) -> None:
        super().__init__(kind, reason)
        self.transient, self.timed_out = transient, timed_out


# -- answers -------------------------------------------------------------------------------------------


class Answers:
    """The answers of one decision, read by id and in the shape that was asked for.

    ``LookupError`` names an id that was not asked, with those that were, and the shape of one that was asked
    otherwise; or tells why there are no answers at all.
    """

    def __init__(self, questions: Mapping[str, AskedQuestion], result: DecisionResult) -> None:
        self._questions, self._result = questions, result
        self._answers = {answer.key: answer for answer in result.answers or ()}

    def choice(self, key: str) -> Choice:
        """The answer to a choice."""
        answer, options = self._answer(key, ChoiceAnswer), self._questions[key].options
        if not 0 <= answer.chosen_index < len(options) == len(answer.probabilities):
            raise LookupError(f"The answer to '{key}' does not fit its options.")
        return Chosen(answer, options)

    def noul(self, key: str) -> NoulAnswer:
        """The answer to a yes or no."""
        return self._answer(key, NoulAnswer)

    def _answer(self, key: str, kind: "type[_Kind]") -> "_Kind":
        asked = self._questions.get(key)
        if asked is None:
            raise LookupError(f"'{key}' was not asked; asked were {', '.join(self._questions)}.")
        if (failed := self._result.error) is not None:
            raise LookupError(f"There is no answer to '{key}': the decision failed with {failed.kind}.")
        answer: object = self._answers.get(key)
        if isinstance(answer, kind):
            return answer
        if answer is None:
            raise LookupError(f"There is no answer to '{key}'.")
        raise LookupError(f"'{key}' was asked as a {asked.kind}.")


_Kind = TypeVar("_Kind", bound=Answer)

# -- jobs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """Something that is done: the run itself, a decision, or a use of a tool, in a turn from 1."""

    id: str
    name: str
    parent: str | None = None
    type: str = "TOOL"
    tool: str | None = None
    decision: bool = False
    turn: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What all jobs of a run have used. Failed calls count; a cost of 0 is free, and None is not known."""

    calls: int = 0
    input_tokens: int = 0
    latency_ms: float = 0.0
    cost: float | None = None
    model: str | None = None
    served_model: str | None = None
    wall_ms: float | None = None

    def as_json(self) -> dict[str, Json]:
        """The totals as a JSON object, in camelCase."""
        return present(
            calls=self.calls,
            inputTokens=self.input_tokens,
            latencyMs=self.latency_ms,
            cost=self.cost,
            currency=None if self.cost is None else CURRENCY,
            model=self.model,
            servedModel=self.served_model,
            wallMs=self.wall_ms,
        )


CURRENCY: Final = "USD"
"""What the costs are in that providers of decision models report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How one decision was had. ``attempts`` counts requests; one answered from memory has none."""

    model: str
    served_model: str | None = None
    input_tokens: int | None = None
    latency_ms: float = 0.0
    cost: float | None = None
    probability_source: ProbabilitySource = "model"
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Exchange:
    """One decision in full: the state shown, what was asked about it, and what was answered."""

    decision_id: str = field(repr=False)
    state: Json = field(repr=False)
    questions: Mapping[str, AskedQuestion] = field(repr=False)
    answers: Mapping[str, Choice | NoulAnswer] = field(repr=False)
    call: Call


@dataclass(frozen=True, slots=True)
class Produced:
    """What a tool gave: its ref, the words for it and, for a list, those of what is in it."""

    ref: str
    digest: str = field(repr=False)
    iterands: "tuple[Produced, ...]" = ()


# -- events --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobEvent(Event):
    """Something that happened to a job."""

    job: Job


@dataclass(frozen=True, slots=True)
class ThinkingStarted(JobEvent):
    """First event of every run of a decision agent, with the run itself as the job."""

    objective: str = field(repr=False)
    palette: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobQueued(JobEvent):
    """A job is to be done."""


@dataclass(frozen=True, slots=True)
class JobStarted(JobEvent):
    """A job is being done; attempts count from 1."""

    attempt: int = 1


@dataclass(frozen=True, slots=True)
class JobProgressed(JobEvent):
    """A line for people about how far a run is."""

    title: str
    message: str
    percent: int


@dataclass(frozen=True, slots=True)
class JobRetrying(JobEvent):
    """A decision failed for the moment and is asked for again."""

    retry: Literal["rate_limit", "upstream"]
    message: str


@dataclass(frozen=True, slots=True)
class JobEnded(JobEvent):
    """A job is over; the last event of each, with the totals so far.

    A decision that was made has its ``decision``, a tool that gave something its ``result``.
    """

    kind: Ending
    measured: Totals
    message: str | None = field(default=None, repr=False)
    decision: Exchange | None = None
    result: Produced | None = None


@dataclass(frozen=True, slots=True)
class TurnRecorded(Event):
    """A turn is over, as it is kept."""

    turn: DecisionTurn


@dataclass(frozen=True, slots=True)
class ThinkingEnded(JobEvent):
    """Last event of every run of a decision agent; the run's own job has ended just before."""

    result: "ThinkerResult[Artifact]"


# -- results -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Selected(Generic[A_co]):
    """An artifact of the answer, with its ref and the words for it."""

    ref: str
    digest: str = field(repr=False)
    artifact: A_co = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkerResult(Generic[A_co]):
    """What came of a run: the answer, or in ``error`` why there is none.

    ``answer`` holds the very objects that tools produced, in the order of arrival; ``selected`` has them with
    their refs. ``transient`` says whether trying again may help. ``usage.llm_calls`` is what is charged.
    """

    execution_id: str
    answer: ListArtifact[A_co] | None = field(default=None, repr=False)
    answer_ref: str | None = None
    selected: tuple[Selected[A_co], ...] = field(default=(), repr=False)
    end_reason: EndReason | None = None
    failure_kind: FailureKind = "NoFailure"
    error: str | None = field(default=None, repr=False)
    transient: bool = False
    turns: tuple[DecisionTurn, ...] = ()
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    measured: Totals = Totals()

    @property
    def success(self) -> bool:
        """Whether there is an answer, perhaps an empty one."""
        return self.answer is not None

    @property
    def status(self) -> ExecutionStatus:
        """Where the run stands with this result."""
        return "Completed" if self.success else _STATUS.get(self.failure_kind, "Failed")

    def as_json(self) -> dict[str, Json]:
        """The result as one JSON object, in camelCase."""
        return {
            "executionId": self.execution_id,
            "success": self.success,
            "endReason": self.end_reason,
            "failureKind": self.failure_kind,
            "error": self.error,
            "answer": [{"ref": each.ref, "digest": each.digest} for each in self.selected],
            "turns": [turn.as_json() for turn in self.turns],
            "measured": self.measured.as_json(),
        }


_STATUS: Final[Mapping[FailureKind, ExecutionStatus]] = {
    "Cancelled": "Cancelled",
    "LlmTimeout": "TimedOut",
    "DeadlineExceeded": "TimedOut",
    "InputValidationFailed": "Blocked",
}
