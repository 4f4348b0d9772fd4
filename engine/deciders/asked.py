"""What is asked of a decision model and what it answers: the frozen values of clients, records and files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from engine.errors import LlmError, LlmErrorKind
from engine.jsontext import Json

ErrorKind: TypeAlias = Literal[
    "Unauthorized",
    "Validation",
    "RateLimited",
    "Overloaded",
    "Server",
    "Http",
    "Network",
    "Timeout",
    "InvalidResponse",
    "Unsupported",
    "InvalidQuestions",
    "Disposed",
    "Refused",
]
"""Why a decision has no answers."""

QuestionKind: TypeAlias = Literal["noul", "choice", "score"]

ERROR_KINDS: Final[tuple[ErrorKind, ...]] = get_args(ErrorKind)
QUESTION_KINDS: Final[tuple[QuestionKind, ...]] = get_args(QuestionKind)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question as it was put: a noul asks for yes or no, a choice for an option, a score for a level.

    ``criteria`` maps the options of a choice to their descriptions (or None), and lists the levels of a
    score from the lowest. What ``instructions`` and descriptions hold is text or JSON.
    """

    kind: QuestionKind
    instructions: Json = field(default=None, repr=False)
    criteria: Json = field(default=None, repr=False)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of a choice, the numbers of a score's levels, nothing for a noul."""
        if self.kind == "choice" and isinstance(self.criteria, dict):
            return tuple(self.criteria)
        if self.kind == "score" and isinstance(self.criteria, list):
            return tuple(map(str, range(len(self.criteria))))
        return ()

    def as_json(self) -> dict[str, Json]:
        """The question as requests, records and datasets write it; what is None is left out."""
        members = {"type": self.kind, "instructions": self.instructions, "criteria": self.criteria}
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class NoulAnswer:
    """How likely yes is."""

    key: str
    probability: float
    confidence: float

    @property
    def value(self) -> bool:
        """Yes, from one half up."""
        return self.probability >= 0.5


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The option that was chosen, by its place, and how likely each option is."""

    key: str
    chosen_index: int
    confidence: float
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """The most probable level, the level to be expected, and how likely each level is."""

    key: str
    chosen_index: int
    expected: float
    confidence: float
    probabilities: tuple[float, ...]

    @property
    def normalised(self) -> float:
        """The expected level as a share of the highest; 0 where there is but one."""
        highest = len(self.probabilities) - 1
        return self.expected / highest if highest > 0 else 0.0


Answer: TypeAlias = NoulAnswer | ChoiceAnswer | ScoreAnswer


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What a provider reported for all calls of one decision."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Consulted:
    """How a decision model was asked for one answer, and what it said, whatever was made of that.

    ``min_confidence`` is the gate that was in force.
    """

    question: AskedQuestion
    answer: ChoiceAnswer | None = None
    min_confidence: float | None = None
    upstream_provider: str | None = None
    cost: float | None = None


_KINDS: Final[Mapping[int, ErrorKind]] = {
    400: "Validation",
    401: "Unauthorized",
    403: "Unauthorized",
    422: "Validation",
    429: "RateLimited",
    503: "Overloaded",
    529: "Overloaded",
}


def kind_of_status(status: int) -> ErrorKind:
    """The kind of error an HTTP status means."""
    return _KINDS.get(status, "Server" if status >= 500 else "Http")


_KINDS_OF_LLMS: Final[Mapping[LlmErrorKind, ErrorKind]] = {
    "timeout": "Timeout",
    "connection": "Network",
    "request": "Network",
    "protocol": "InvalidResponse",
}


def kind_of_error(error: LlmError) -> ErrorKind:
    """The kind of error it means for a decision that a language model could not be asked."""
    return _KINDS_OF_LLMS.get(error.kind) or kind_of_status(error.status or 0)


def instructions_of(task: str, policy: str | None) -> Json:
    """The instructions of a tree's question: its task as the author wrote it, with the policy of the tree."""
    return task if policy is None else {"policy": policy, "task": task}


def one_hot(index: int, count: int) -> tuple[float, ...]:
    """All of the probability on one of so many options."""
    return tuple(float(place == index) for place in range(count))


def likeliest(probabilities: Sequence[float]) -> int:
    """The place of the highest probability; of several the first."""
    return probabilities.index(max(probabilities))


def noul_confidence(probability: float) -> float:
    """How far a yes or no is from undecided, from 0 to 1."""
    return abs(2 * probability - 1)


def choice_confidence(probabilities: Sequence[float]) -> float:
    """How far the likeliest option stands above chance, from 0 to 1."""
    chance = 1 / len(probabilities)
    top = max(_shares(probabilities))
    return 1.0 if chance == 1 else max(0.0, (top - chance) / (1 - chance))


def score_confidence(probabilities: Sequence[float]) -> float:
    """How closely the levels gather around the likeliest, from 0 to 1."""
    levels = len(probabilities)
    if levels == 1:
        return 1.0
    shares = _shares(probabilities)
    chosen = likeliest(shares)
    away = sum(share * abs(level - chosen) for level, share in enumerate(shares))
    by_chance = sum(abs(level - (levels - 1) / 2) for level in range(levels)) / levels
    return max(0.0, 1 - away / by_chance)


def _shares(probabilities: Sequence[float]) -> Sequence[float]:
    """The probabilities made to sum to one: providers round them."""
    positive = [max(0.0, probability) for probability in probabilities]
    total = sum(positive)
    return [p / total for p in positive] if total else [1 / len(positive)] * len(positive)
