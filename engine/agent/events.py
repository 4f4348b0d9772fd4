"""What happens in a run of an agent, as frozen events.

Observers of the run and the agent's publisher are given each of them at once, in one order. A call that is
answered from a cache is no use of a tool: it shows in :class:`Progressed` alone. Within a tree's run they are
written to its log and read again.
"""

from dataclasses import dataclass, field
from typing import Literal

from engine.agent.definition import AgentRequest, AgentResult, Validation
from engine.events import Event
from engine.events.codec import also_known
from engine.llm import Completion
from engine.tools import ToolInvocation, ToolResult


@dataclass(frozen=True, slots=True)
class AgentRunStarted(Event):
    """First event of every run, with what bounds it: turns in each of its rounds, LLM calls and seconds."""

    agent: str
    request: AgentRequest
    max_turns: int | None = None
    max_rounds: int | None = None
    max_llm_calls: int | None = None
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Progressed(Event):
    """A line for people about what is being done.

    ``call`` is the call of a tool it is about: first that it is worked on, then what came of it. Where no
    tool was used for it, ``result`` is what the model is told all the same, from a cache if it is ``cached``.
    """

    line: str = field(repr=False)
    call: str | None = None
    result: ToolResult | None = None
    cached: bool = False


@dataclass(frozen=True, slots=True)
class PolicyBlocked(Event):
    """A policy ends the run."""

    policy: str
    reason: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """A turn of the model, from 0; ``round`` counts how often the goal was begun anew."""

    turn: int
    round: int


@dataclass(frozen=True, slots=True)
class LlmCalled(Event):
    """A model is asked. ``number`` is its place in the chain, from 1; outside of turns there is no turn."""

    model: str
    turn: int | None
    number: int


@dataclass(frozen=True, slots=True)
class LlmCallCompleted(Event):
    """A model has answered, or failed: once for every model that was asked."""

    model: str
    turn: int | None
    number: int
    seconds: float
    completion: Completion | None = field(default=None, repr=False)
    error: str | None = field(default=None, repr=False)
    transient: bool = False

    @property
    def is_fallback(self) -> bool:
        """Whether another model failed before this one."""
        return self.number > 1


@dataclass(frozen=True, slots=True)
class Failure(Event):
    """A model failed; in the phase ``ModelFailover`` a chain was there to go on with, or is used up."""

    error: str = field(repr=False)
    phase: Literal["LlmCompletion", "ModelFailover"]
    transient: bool


@dataclass(frozen=True, slots=True)
class ModelSwitched(Event):
    """The next model of the chain goes on; what the one before said of this turn does not count."""

    source: str
    target: str
    reason: str = field(repr=False)
    turn: int | None


@dataclass(frozen=True, slots=True)
class ModelChunk(Event):
    """A piece of what the model says; the pieces of a turn make the whole, the last one perhaps empty.

    Turn 0 is also that of an answer that needed no model.
    """

    content: str = field(repr=False)
    turn: int
    is_final: bool


@dataclass(frozen=True, slots=True)
class ToolStarted(Event):
    """A tool is used."""

    tool: str
    invocation: ToolInvocation = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolCompleted(Event):
    """A tool came back."""

    tool: str
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True)
class GateRejected(Event):
    """A quality gate does not let the result pass; ``retries`` counts the rounds it had cost before."""

    gate: str
    retry: bool
    reason: str = field(repr=False)
    retries: int


@dataclass(frozen=True, slots=True)
class ValidationCompleted(Event):
    """A validator has looked at the result."""

    validator: str
    validation: Validation


@dataclass(frozen=True, slots=True)
class TransformationCompleted(Event):
    """A transformer has made the result another."""

    transformer: str


@dataclass(frozen=True, slots=True)
class AgentCancelled(Event):
    """The run was cancelled."""

    reason: str


@dataclass(frozen=True, slots=True)
class AgentRunCompleted(Event):
    """Last event of every run. ``seconds`` is what it took, the time nobody asked left out."""

    result: AgentResult
    seconds: float


also_known(
    AgentRunStarted,
    Progressed,
    PolicyBlocked,
    TurnStarted,
    LlmCalled,
    LlmCallCompleted,
    Failure,
    ModelSwitched,
    ModelChunk,
    ToolStarted,
    ToolCompleted,
    GateRejected,
    ValidationCompleted,
    TransformationCompleted,
    AgentCancelled,
    AgentRunCompleted,
)
