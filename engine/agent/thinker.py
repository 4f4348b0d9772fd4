"""A decision agent: code offers each move that types allow, and a model says how likely it is."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from secrets import token_hex
from types import new_class
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from engine.agent.artifacts import Artifact, Formatters, ListArtifact
from engine.agent.palette import DecisionTool, Palette, compiled
from engine.agent.thinking import Failed, present
from engine.budget import Clock, Limits, SystemClock
from engine.catalog import LlmCalls
from engine.deciders.systemone.client import DecisionClient, RetryPolicy
from engine.events import Observer
from engine.events.journal import Publisher
from engine.jsontext import Json
from engine.records.recorder import DecisionRecorder
from engine.run import Phase

if TYPE_CHECKING:
    from engine.agent.turns import ThinkerRun

In = TypeVar("In", bound=Artifact)
Out = TypeVar("Out", bound=Artifact)


@dataclass(frozen=True)
class ToolCapability:
    """What is told of one tool; ``produces_of`` is the alias of what is in a list it produces."""

    name: str
    description: str
    takes: str
    produces: str
    produces_of: str | None


@dataclass(frozen=True)
class Capabilities:
    """What a decision agent is for, and what it can do, without a run."""

    objective: str
    takes: str
    answers: str
    tools: tuple[ToolCapability, ...]

    def as_json(self) -> dict[str, Json]:
        """It as a JSON object, in camelCase."""
        tools: list[Json] = [
            present(
                name=tool.name,
                description=tool.description,
                takes=tool.takes,
                produces=tool.produces,
                producesOf=tool.produces_of,
            )
            for tool in self.tools
        ]
        return {"objective": self.objective, "takes": self.takes, "answers": self.answers, "tools": tools}


@dataclass(frozen=True, kw_only=True)
class DecisionThinker(Generic[In, Out]):
    """The definition of a decision agent: made once, used for many runs.

    It is given an artifact of the type it ``takes`` and answers with a list of artifacts of the type
    ``answers``, which the ``key_tool`` produces. ``client`` decides, ``objective`` is what it is told on
    every turn. An artifact belongs in the answer from ``selection_threshold`` up. A decision is asked for
    again so many times (``retries``) after an error of the moment, all within ``decision_seconds``.

    ``ValueError`` for what cannot be, and :class:`PaletteError` for all that is wrong with its tools.
    """

    takes: type[In]
    answers: type[Out]
    objective: str
    key_tool: type[DecisionTool[Any, Any]]
    palette: Sequence[type[DecisionTool[Any, Any]]]
    client: DecisionClient = field(repr=False)
    name: str = "thinker"
    formatters: Formatters = field(default_factory=dict, repr=False)
    max_turns: int = 32
    selection_threshold: float = 0.5
    retries: int = 1
    decision_seconds: float = 60.0
    deadline_seconds: float = 600.0
    max_context_tokens: int | None = None
    recorder: DecisionRecorder | None = field(default=None, repr=False)
    publisher: Publisher | None = field(default=None, repr=False)
    clock: Clock = field(default_factory=SystemClock, repr=False)
    new_id: Callable[[], str] = field(default=partial(token_hex, 16), repr=False)

    def __post_init__(self) -> None:
        parts: dict[str, object] = {
            "an answer type": self.answers,
            "a key tool": self.key_tool,
            "a palette": self.palette,
            "an objective": (self.objective or "").strip() or None,
        }
        if missing := [name for name, part in parts.items() if part is None]:
            raise ValueError(f"A decision agent needs {' and '.join(missing)}.")
        if self.max_turns < 1:
            raise ValueError("A decision agent has at least one turn.")
        if not 0 <= self.selection_threshold <= 1:
            raise ValueError("The threshold of the selection is a number from 0 to 1.")
        if not min(self.decision_seconds, self.deadline_seconds) > 0:
            raise ValueError("The times of a decision agent are longer than zero seconds.")
        _ = RetryPolicy(self.retries), self.compiled

    @cached_property
    def compiled(self) -> Palette:
        """Its tools, proven to fit together."""
        return compiled(self.takes, self.answers, self.key_tool, self.palette)

    @property
    def palette_names(self) -> tuple[str, ...]:
        """The names of its tools, as they are offered."""
        return self.compiled.names

    @property
    def llm_calls(self) -> LlmCalls:
        """The fewest and the most LLM calls of a run: every turn, what its tool may ask, and a last one."""
        inside = max(entry.tool.llm_calls[1] for entry in self.compiled.entries)
        return 0, self.max_turns * (1 + inside) + 1

    def capabilities(self) -> Capabilities:
        """What it is for and what its tools do."""
        tools = tuple(
            ToolCapability(
                entry.name,
                entry.tool.description,
                entry.takes.alias,
                entry.gives.alias,
                entry.gives.type.alias if entry.gives.is_list else None,
            )
            for entry in self.compiled.entries
        )
        return Capabilities(self.objective, self.takes.alias, self.answers.alias, tools)

    def start(
        self,
        artifact: In | None,
        *,
        max_turns: int | None = None,
        max_llm_calls: int | None = None,
        deadline: float | None = None,
        max_context_tokens: int | None = None,
        erasure_key: str | None = None,
        observers: Iterable[Observer] = (),
        stops_inside: Iterable[Phase] = (),
    ) -> "ThinkerRun[Out]":
        """A run that has not begun: pull it.

        ``max_llm_calls``, ``deadline`` in seconds and ``max_context_tokens`` are what the caller has left:
        they bound the run where they are less than its own, and one call is always kept for a last
        selection. ``stops_inside`` names where it stops: ``beforeAttempt`` before the model is asked,
        ``afterDecision``, ``beforeTool`` and ``afterTool``. Records of its decisions carry ``erasure_key``.
        ``ValueError`` for less than one turn.
        """
        from engine.agent.turns import ThinkerRun

        bounded = self if max_turns is None else replace(self, max_turns=max_turns)
        calls, seconds = bounded.llm_calls[1], self.deadline_seconds
        limits = Limits(
            llm_calls=calls if max_llm_calls is None else min(calls, max_llm_calls),
            elapsed=seconds if deadline is None else min(seconds, deadline),
        )
        tokens = [most for most in (self.max_context_tokens, max_context_tokens) if most is not None]
        return ThinkerRun(
            replace(bounded, max_context_tokens=min(tokens, default=None)),
            artifact,
            limits,
            erasure_key=erasure_key,
            observers=observers,
            stops_inside=stops_inside,
        )

    def as_tool(self, name: str, description: str) -> type[DecisionTool[In, ListArtifact[Out]]]:
        """This agent as a tool of another one, which bounds it, is charged for it and told what it does."""
        thinker = self

        async def run(tool: DecisionTool[In, ListArtifact[Out]], artifact: In) -> ListArtifact[Out]:
            return await _inside(thinker, tool, artifact)

        members = {"name": name, "description": description, "llm_calls": self.llm_calls, "run": run}
        bases = (DecisionTool[self.takes, ListArtifact[self.answers]],)  # type: ignore[name-defined]
        return new_class(name, bases, exec_body=lambda namespace: namespace.update(members))


async def _inside(
    thinker: DecisionThinker[In, Out], tool: DecisionTool[In, ListArtifact[Out]], artifact: In
) -> ListArtifact[Out]:
    """The answer of an agent that works for another one; where there is none, the other one fails too."""
    parent = tool.parent
    run = thinker.start(
        artifact,
        max_llm_calls=parent.left.llm_calls,
        deadline=parent.left.elapsed,
        observers=[lambda event: parent.tell(replace(event, execution_id=parent.execution_id))],
    )
    run.under(parent.job)
    try:
        result = await run.finish()
    finally:
        parent.charge(run.usage)
    if result.answer is None:
        raise Failed(result.failure_kind, result.error or "", transient=result.transient)
    return result.answer
