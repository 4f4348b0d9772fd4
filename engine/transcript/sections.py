"""The sections of a transcript, as values whose texts may be persisted: redacted and cut already."""

from dataclasses import dataclass, field
from datetime import datetime

Pairs = tuple[tuple[str, str], ...]
"""Names and values in their order; a name may come twice, because two can look alike once redacted."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the transcript is of."""

    execution_id: str
    started: datetime
    debug: bool
    goal: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DebugRequest:
    """The parameters of the run; only in debug mode."""

    parameters: Pairs = field(repr=False)


@dataclass(frozen=True, slots=True)
class Overview:
    """The tree that is run."""

    tree_id: str
    version: int
    start_node: str
    task: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Action:
    """An action that came back. ``name`` is the node's, or the action's key where it has none.

    ``produced`` is the data that entered the store meanwhile, one line a field.
    """

    node: str
    name: str
    status: str
    summary: str | None = field(repr=False)
    error: str | None = field(repr=False)
    produced: str | None = field(repr=False)
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a request."""

    role: str
    content: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A question put once. The response is without the code fence around it; None when there was none."""

    node: str
    number: int
    messages: tuple[Message, ...] = field(repr=False)
    dropped_messages: int
    model: str | None
    response: str | None = field(repr=False)
    rejected: str | None = field(repr=False)
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class Classification:
    """A question that was decided, perhaps as ``unknown``."""

    node: str
    decision_id: str
    answer: str
    attempt: int
    observation: str | None = field(repr=False)
    confidence: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class PathStep:
    """One visit. A condition names its predicate, with the parameters as compact JSON."""

    node: str
    type: str
    milliseconds: int
    outcome: str | None
    next: str | None
    predicate: str | None = None
    parameters: str | None = field(default=None, repr=False)
    forced: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """How the run ended. ``omitted_sections`` counts those that found no room. The duration is whole ms."""

    outcome: str
    succeeded: bool
    verdict: str | None = field(repr=False)
    error: str | None = field(repr=False)
    properties: Pairs = field(repr=False)
    path: tuple[PathStep, ...]
    omitted_sections: int
    node_visits: int
    llm_calls: int
    input_tokens: int
    output_tokens: int
    milliseconds: int


# ------------------------------------------------------------------------------------------ of agents


@dataclass(frozen=True, slots=True)
class DebugRuntime:
    """What an agent is set to, before each round of turns; only in debug mode.

    The system prompt is there the first time only.
    """

    system_prompt: str | None = field(repr=False)
    quality_feedback: str | None = field(repr=False)
    settings: Pairs


@dataclass(frozen=True, slots=True)
class Turn:
    """A model is about to be asked. All are counted from 1; without a model the client's own is asked."""

    number: int
    quality_attempt: int
    failover_attempt: int
    model: str | None


@dataclass(frozen=True, slots=True)
class ToolDecision:
    """A tool a model asked for."""

    model: str | None
    tool: str
    call_id: str
    arguments: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What came of it: ``Succeeded``, ``Failed``, ``Cached`` or ``CachedFailure``."""

    tool: str
    call_id: str
    status: str
    output: str | None = field(repr=False)
    error: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Status:
    """Something that ended an agent, or a round of its turns."""

    name: str
    detail: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Final:
    """How an agent ended: its output, or why there is none."""

    status: str
    text: str | None = field(repr=False)
