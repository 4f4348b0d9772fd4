"""What an agent is asked, what it gives back, and the parts its pipeline is made of.

Every part is an object in a tuple of the agent's definition. It serves every agent that has it, or with
:func:`scoped` only those a predicate is true of.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar, overload

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError

from engine.budget import Usage
from engine.events import plain
from engine.llm import Completion, Message
from engine.problems import faults, named
from engine.tree import Json, Member

FailureKind: TypeAlias = Literal[
    "NoFailure",
    "LlmTimeout",
    "LlmError",
    "FailoverExhausted",
    "TurnLimitExceeded",
    "CallLimitExceeded",
    "DeadlineExceeded",
    "Cancelled",
    "PolicyBlocked",
    "InputValidationFailed",
    "QualityRejected",
    "ResultRejected",
    "Unknown",
]
"""Why an agent gave no result. A gate's word is ``QualityRejected``, a validator's ``ResultRejected``."""

ExecutionStatus: TypeAlias = Literal[
    "Pending", "Running", "Completed", "Failed", "Blocked", "TimedOut", "Cancelled"
]
"""Where a run of an agent stands."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """What an agent is asked to do.

    ``allowed_tools`` names the tools of this run: None for all the agent has, none where it is empty; a name
    that matches no tool is ignored. ``parameters`` with the names of settings go before the agent's own, and
    ``markdown_transcript_directory`` and ``markdown_transcript_debug`` before its transcript; others are for
    the parts of the pipeline. ``agent_name`` goes before the agent's own name. ``capabilities`` are what a
    model must be able to do, for an agent that finds models by that.
    """

    goal: str = field(repr=False)
    allowed_tools: Sequence[str] | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict, repr=False)
    agent_name: str | None = None
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """What came of a run: its output, or in ``reasoning`` why there is none.

    A part of the pipeline that makes or changes a result fills in no more than output, reasoning, metadata
    and the kind of failure: None is ``NoFailure`` for a success and ``Unknown`` else. The rest is the run's.
    ``usage.llm_calls`` is what the run is charged.
    """

    success: bool
    output: str | None = field(default=None, repr=False)
    reasoning: str | None = field(default=None, repr=False)
    metadata: Mapping[str, object] = field(default_factory=dict, repr=False)
    failure_kind: FailureKind | None = None
    execution_id: str = ""
    steps: tuple[str, ...] = field(default=(), repr=False)
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    turns: int = 0
    tool_calls: int = 0

    @property
    def status(self) -> ExecutionStatus:
        """Where the run stands with this result."""
        if self.success:
            return "Completed"
        return _STATUS.get(self.failure_kind or "Unknown", "Failed")

    def as_json(self) -> dict[str, Json]:
        """The result as one JSON object, in camelCase."""
        usage = self.usage
        return {
            "executionId": self.execution_id,
            "success": self.success,
            "output": self.output,
            "reasoning": self.reasoning,
            "failureKind": self.failure_kind,
            "status": self.status,
            "steps": list(self.steps),
            "usage": {
                "llmCalls": usage.llm_calls,
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "totalTokens": usage.total_tokens,
                "durationMs": round(usage.duration * 1000, 3),
            },
            "turns": self.turns,
            "toolCalls": self.tool_calls,
            "metadata": plain(self.metadata),
        }


_STATUS: Final[Mapping[FailureKind, ExecutionStatus]] = {
    "PolicyBlocked": "Blocked",
    "InputValidationFailed": "Blocked",
    "Cancelled": "Cancelled",
    "LlmTimeout": "TimedOut",
    "DeadlineExceeded": "TimedOut",
}

GATE_FAILURES: Final = "quality_gate_failures"
RETRY_COUNT: Final = "quality_retry_count"
TRANSCRIPT_PATH: Final = "markdown_transcript_path"
TRANSCRIPT_STATUS: Final = "markdown_transcript_status"
TRANSCRIPT_DIRECTORY: Final = "markdown_transcript_directory"
TRANSCRIPT_DEBUG: Final = "markdown_transcript_debug"


# ------------------------------------------------------------------------------------------ settings

_Seconds = Annotated[StrictFloat, Field(gt=0, allow_inf_nan=False)]
_Count = Annotated[StrictInt, Field(ge=0)]

DEFAULT_PROMPT: Final = (
    "You are a careful assistant. Reach the goal you are given. Use a tool where it helps, and answer in "
    "plain text as soon as you can."
)


class AgentSettings(Member):
    """How an agent is set. Every member may be given with a request, by the same name, for one run.

    Times are in seconds. A run has ``max_turns`` turns in each of its rounds, at most ``max_llm_calls`` calls
    of a model in all, and ``deadline_seconds`` from its start, the time nobody asked for more left out. With
    ``enable_model_failover`` the models of the chain follow the ``model``. A tool's own time-out goes before
    ``tool_timeout_seconds``, unless a request names it.
    """

    system_prompt: StrictStr = DEFAULT_PROMPT
    max_turns: Annotated[StrictInt, Field(ge=1)] = 8
    max_llm_calls: _Count | None = None
    deadline_seconds: _Seconds = 600.0
    temperature: Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False)] = 0.1
    max_tokens: Annotated[StrictInt, Field(ge=1)] | None = None
    model: StrictStr | None = None
    model_fallback_chain: tuple[StrictStr, ...] = ()
    enable_model_failover: StrictBool = False
    completion_timeout_seconds: _Seconds = 60.0
    idle_timeout_seconds: _Seconds = 30.0
    max_quality_retries: _Count = 1
    tool_timeout_seconds: _Seconds | None = None
    tool_max_retries: _Count = 0
    planner: StrictStr | None = None

    def within(self, parameters: Mapping[str, Json]) -> "AgentSettings":
        """These settings with what a request says; ``ValueError`` tells what does not fit."""
        given = {name: value for name, value in parameters.items() if name in type(self).model_fields}
        if not given:
            return self
        try:
            return AgentSettings.model_validate(self.model_dump() | given)
        except ValidationError as error:
            wrong = [f"{named(path)} {reason}" for path, reason in faults(error, given).items()]
            raise ValueError(f"{'; '.join(wrong)}.") from error


# ------------------------------------------------------------------------------------------ the parts


@dataclass(frozen=True, slots=True, eq=False)
class AgentContext:
    """What the parts of a pipeline are told of the run they are in.

    ``items`` is theirs, to hand things on; the plan is in it as ``plan``. ``ask`` puts messages to the run's
    model, at the run's expense; ``LlmError`` when it could not be asked.
    """

    execution_id: str
    request: AgentRequest
    agent_name: str
    settings: AgentSettings
    items: dict[str, object]
    ask: Callable[[Sequence[Message]], Awaitable[Completion]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """The word of a policy. One that applied and recommends ``block`` ends the run before it began."""

    applied: bool = False
    score: float = 0.0
    recommendation: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """Whether something is valid, and if not, why."""

    is_valid: bool = True
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of a plan: an ``action``, or a use of a ``tool``."""

    name: str
    type: str = "action"
    description: str | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """What a strategy came to without a model; its artifacts become steps of the run in any case."""

    success: bool = False
    output: str | None = field(default=None, repr=False)
    reasoning: str | None = field(default=None, repr=False)
    artifacts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateResult:
    """The word of a gate. A replacement takes the place of the result, approved or not."""

    approved: bool = True
    retry: bool = False
    reason: str | None = None
    replacement: AgentResult | None = None


class Policy(Protocol):
    """Says whether a request may be worked on at all."""

    @property
    def name(self) -> str:
        """What it is called in steps and events."""
        ...

    async def evaluate(self, context: AgentContext) -> PolicyResult:
        """Look at the request."""
        ...


class InputValidator(Protocol):
    """Says whether a request can be worked on."""

    @property
    def name(self) -> str:
        """What it is called in steps."""
        ...

    async def validate(self, context: AgentContext) -> Validation:
        """Look at the request."""
        ...


class Planner(Protocol):
    """Splits a goal into steps. What goes wrong with it never ends the run."""

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        ...

    async def plan(self, context: AgentContext) -> Sequence[PlannedStep]:
        """The steps, in order."""
        ...


class Strategy(Protocol):
    """Answers a goal by plain code."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    async def execute(self, context: AgentContext) -> StrategyResult:
        """Try to answer; without success the next is tried."""
        ...


Proceed: TypeAlias = Callable[[], Awaitable[AgentResult]]
"""Whatever comes after a middleware; asked again, it runs again."""


class Middleware(Protocol):
    """Stands around the work of the model and the checks of its result."""

    async def run(self, context: AgentContext, proceed: Proceed) -> AgentResult:
        """Go on with ``proceed``, or not."""
        ...


class QualityGate(Protocol):
    """Says whether a result is good enough, and whether another round may help."""

    @property
    def name(self) -> str:
        """What it is called in steps and events."""
        ...

    async def evaluate(self, context: AgentContext, result: AgentResult) -> GateResult:
        """Look at the result."""
        ...


class ResultValidator(Protocol):
    """Says whether a result may leave the run as a success."""

    @property
    def name(self) -> str:
        """What it is called in steps and events."""
        ...

    async def validate(self, context: AgentContext, result: AgentResult) -> Validation:
        """Look at the result."""
        ...


class ResultTransformer(Protocol):
    """Gives a result its last form, also one of a failure."""

    @property
    def name(self) -> str:
        """What it is called in events."""
        ...

    async def transform(self, context: AgentContext, result: AgentResult) -> AgentResult:
        """Make the result another."""
        ...


_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class Scoped(Generic[_Part]):
    """A part with where it serves and, among policies, gates and transformers, how early: high before low."""

    part: _Part
    serves: Callable[[AgentContext], bool]
    priority: int = 0


@overload
def scoped(
    part: Scoped[_Part], serves: Callable[[AgentContext], bool] = ..., *, priority: int | None = None
) -> Scoped[_Part]: ...


@overload
def scoped(
    part: _Part, serves: Callable[[AgentContext], bool] = ..., *, priority: int | None = None
) -> Scoped[_Part]: ...


def scoped(
    part: Any, serves: Callable[[AgentContext], bool] = lambda _: True, *, priority: int | None = None
) -> Scoped[Any]:
    """A part that serves only where the predicate is true, as of ``context.agent_name``.

    One that is scoped already serves where both are true.
    """
    if not isinstance(part, Scoped):
        return Scoped(part, serves, priority or 0)
    inner = part.serves
    return Scoped(
        part.part,
        lambda context: serves(context) and inner(context),
        part.priority if priority is None else priority,
    )


def serving(
    parts: Iterable[_Part | Scoped[_Part]], context: AgentContext, *, by_priority: bool = False
) -> list[_Part]:
    """The parts that serve here, in the order they are in, or with the highest priority first."""
    every: list[Scoped[Any]] = [part if isinstance(part, Scoped) else scoped(part) for part in parts]
    if by_priority:
        every.sort(key=lambda each: -each.priority)
    return [each.part for each in every if each.serves(context)]
