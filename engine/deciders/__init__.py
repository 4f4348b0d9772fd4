"""Questions, decisions, and who decides: the one boundary every decision passes."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from engine.conversation import Conversation
from engine.deciders.asked import Consulted
from engine.llm import Message
from engine.tree import Json, NodeId
from engine.values import quick_to_make

UnknownReason: TypeAlias = Literal[
    "low-confidence", "chosen", "refused", "error", "invalid-answer", "context-budget", "no-message"
]
ProbabilitySource: TypeAlias = Literal["model", "logprobs", "verbalized", "samples", "onehot"]


@quick_to_make
@dataclass(frozen=True, slots=True)
class Attempt:
    """One completion, as the run is told of it.

    ``prepared_tokens`` is the estimate of what was sent and ``dropped_messages`` how many messages of the
    conversation did not fit. ``rejected`` says why the reply could not be used; None when it could.
    """

    number: int
    messages: Sequence[Message] = field(default=(), repr=False)
    content: str | None = field(default=None, repr=False)
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None
    prepared_tokens: int = 0
    dropped_messages: int = 0
    rejected: str | None = None
    calls: int = 1


class Desk(Protocol):
    """The run's side of a decision: it counts, may stop the run, and keeps the conversation."""

    @property
    def conversation(self) -> Conversation:
        """The conversation of this run, shared by all its questions."""
        ...

    @property
    def max_context_tokens(self) -> int:
        """How much of the conversation one request may carry, in estimated tokens."""
        ...

    @property
    def paused(self) -> float:
        """Seconds not charged to the run so far: nobody asked for more, or they were off the clock."""
        ...

    async def before_attempt(self, number: int) -> None:
        """Ask leave for attempt ``number`` (1-based). Ends the run when the calls are used up."""
        ...

    async def after_attempt(self, attempt: Attempt) -> None:
        """Count an attempt that was made. Ends the run when a limit is passed."""
        ...

    def off_the_clock(self) -> AbstractContextManager[None]:
        """Time spent inside is not charged to the run."""
        ...

    def model_in_use(self, model: str | None) -> None:
        """Tell which model is being asked, for the error text of a run that fails."""
        ...


@quick_to_make
@dataclass(frozen=True, slots=True)
class Question:
    """A task, the allowed answers, and what a decider may know.

    ``task`` is the text as the author wrote it, ``text`` the same with the run's parameters filled in;
    ``policy`` is the tree's system prompt.
    ``prompt`` builds the messages for a text model and ``state`` what a record keeps; both are made only
    when somebody wants them.
    """

    node: NodeId
    visit: int
    decision_id: str
    tree_id: str
    tree_version: int
    execution_id: str
    erasure_key: str | None = field(repr=False)
    policy: str | None = field(repr=False)
    task: str
    text: str = field(repr=False)
    answers: tuple[str, ...]
    prompt: Callable[[], Sequence[Message]] = field(repr=False)
    state: Callable[[], Json] = field(repr=False)
    desk: Desk = field(repr=False)
    tree_hash: str | None = None


@quick_to_make
@dataclass(frozen=True, slots=True)
class Decision:
    """One bounded decision: a declared answer, or None with the reason and a sentence why.

    ``probabilities`` are in the order of the question's answers, with that of ``unknown`` last where it could
    be chosen. ``confidence`` is the word the model itself gave. ``llm_calls`` is what was charged;
    ``attempts`` how often the question was put. ``consulted`` is there where a decision model was asked.
    """

    answer: str | None
    observation: str | None = field(default=None, repr=False)
    confidence: str | None = None
    reason: UnknownReason | None = None
    error: str | None = field(default=None, repr=False)
    probabilities: tuple[float, ...] | None = None
    probability_source: ProbabilitySource = "onehot"
    attempts: int = 1
    llm_calls: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None
    provider: str = ""
    endpoint: str = ""
    default_model: str = ""
    requested_model: str | None = None
    served_model: str | None = None
    response_id: str | None = None
    failover: tuple[str, ...] = ()
    cached: bool = False
    consulted: Consulted | None = None


class Decider(Protocol):
    """Whoever decides: a model, a script, a person, a replayed record."""

    async def decide(self, question: Question) -> Decision:
        """Decide. Raises :class:`engine.errors.LlmError` when it could not be asked at all."""
        ...

    def for_run(self) -> "Decider":
        """The decider for one run: itself when it keeps no state between questions, else a fresh one."""
        ...
