"""The definition of an agent: frozen, made once, used for many runs."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from secrets import token_hex
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from engine.agent.definition import (
    AgentContext,
    AgentRequest,
    AgentSettings,
    InputValidator,
    Middleware,
    Planner,
    Policy,
    QualityGate,
    ResultTransformer,
    ResultValidator,
    Scoped,
    Strategy,
)
from engine.agent.executor import DefaultToolExecutor, ToolExecutor
from engine.budget import Clock, SystemClock
from engine.catalog import LlmCalls
from engine.events import Observer
from engine.events.journal import Publisher
from engine.llm import LlmClient
from engine.llm.failover import Pipeline
from engine.run import Phase
from engine.tools import Tool, ToolInvocation, by_name
from engine.transcript import TranscriptOptions

if TYPE_CHECKING:
    from engine.agent.run import AgentRun

_Part = TypeVar("_Part")

Parts: TypeAlias = tuple[_Part | Scoped[_Part], ...]
"""Parts of one kind, in the order they were registered."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Everything a run needs besides its request. Every part may be left out.

    Its model is asked through the ``pipeline``, else by the ``client``, with failover as the settings say.
    ``tools`` are those it has; a request can only name fewer (``CatalogError`` for names that cannot be
    told apart). Of the planners the one the settings name is asked, else the first. ``approve`` is asked
    before a tool that requires it; without one such a tool is refused. ``models_for`` finds models, the best
    first, by what a request demands of them; the others are the chain where the settings name none.
    """

    name: str = "default"
    client: LlmClient | None = None
    pipeline: Pipeline | None = None
    settings: AgentSettings = field(default_factory=AgentSettings)
    tools: tuple[Tool, ...] = ()
    policies: Parts[Policy] = ()
    input_validators: Parts[InputValidator] = ()
    planners: Parts[Planner] = ()
    strategies: Parts[Strategy] = ()
    middleware: Parts[Middleware] = ()
    gates: Parts[QualityGate] = ()
    validators: Parts[ResultValidator] = ()
    transformers: Parts[ResultTransformer] = ()
    observers: Parts[Observer] = ()
    executor: ToolExecutor = field(default_factory=DefaultToolExecutor)
    approve: Callable[[ToolInvocation, AgentContext], Awaitable[bool]] | None = None
    models_for: Callable[[Sequence[str]], Sequence[str]] | None = None
    publisher: Publisher | None = None
    transcript: TranscriptOptions | None = None
    clock: Clock = field(default_factory=SystemClock)
    new_id: Callable[[], str] = field(default=partial(token_hex, 16))
    trace_id: str | None = None
    correlation_id: str | None = None

    def __post_init__(self) -> None:
        _ = self.tools_by_name

    @cached_property
    def tools_by_name(self) -> Mapping[str, Tool]:
        """The tools it has."""
        return by_name(self.tools)

    @property
    def llm_calls(self) -> LlmCalls:
        """The fewest and the most LLM calls of one run, by its settings."""
        return 0, self.most_calls(self.settings)

    def most_calls(self, settings: AgentSettings) -> int:
        """The most LLM calls of a run that is set like this: every turn of every round, and a plan."""
        if settings.max_llm_calls is not None:
            return settings.max_llm_calls
        return settings.max_turns * (1 + settings.max_quality_retries) + bool(self.planners)

    def start(
        self,
        request: AgentRequest,
        *,
        max_llm_calls: int | None = None,
        deadline: float | None = None,
        observers: Iterable[Observer] = (),
        stops_inside: Iterable[Phase] = (),
    ) -> "AgentRun":
        """A run that has not begun: pull it.

        ``max_llm_calls`` and ``deadline``, in seconds, are what the caller has left: they bound the run where
        they are less than its own. ``stops_inside`` names where it stops: ``beforeAttempt`` before the model
        is asked, ``beforeTool`` and ``afterTool``.
        """
        from engine.agent.run import AgentRun

        return AgentRun(
            self,
            request,
            max_llm_calls=max_llm_calls,
            deadline=deadline,
            observers=observers,
            stops_inside=stops_inside,
        )
