"""The tree: what an author writes, as frozen values that can also hold unfinished work.

Reading is lenient and checking is separate: a :class:`Tree` may miss transitions or point nowhere, and
only :func:`engine.checks.runnable` turns it into something that can be run or exported.
"""

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, Protocol, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    JsonValue,
    PlainSerializer,
    StrictInt,
    Tag,
)
from pydantic import StrictStr as Str
from pydantic.alias_generators import to_camel

Json: TypeAlias = JsonValue
"""Any value a JSON document can hold."""

NodeId: TypeAlias = str
"""What a node is called in its tree."""

UNKNOWN: Final = "unknown"
"""The branch a classify node takes when no allowed answer was given; reserved as an answer."""


class Step(Protocol):
    """What a node may ask of the run that visits it."""

    async def act(self, action_key: str) -> str:
        """Run the action and return the branch its status names."""
        ...

    async def ask(self, task: str, answers: tuple[str, ...]) -> str:
        """Have the question decided and return the declared answer, or ``unknown``."""
        ...

    def test(self, predicate_key: str, parameters: Mapping[str, Json]) -> str:
        """Evaluate the predicate and return ``true`` or ``false``."""
        ...

    def end(self, verdict: str) -> None:
        """End the run with this verdict."""
        ...


_SPAN: Final = re.compile(r"(-)?(?:(\d{1,8})\.)?(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,7}))?", re.ASCII)
_TICKS_PER_SECOND: Final = 10_000_000


@dataclass(frozen=True, slots=True, order=True)
class TimeSpan:
    """A length of time in ticks of 100 nanoseconds, written ``[-][d.]hh:mm:ss[.fffffff]``."""

    ticks: int

    @classmethod
    def parse(cls, text: str) -> "TimeSpan":
        """Read the written form; ``ValueError`` when it is anything else."""
        match = _SPAN.fullmatch(text)
        if match is None:
            raise ValueError("a time span is written [d.]hh:mm:ss[.fffffff]")
        sign, days, *clock, fraction = match.groups()
        hours, minutes, seconds = map(int, clock)
        if hours > 23 or minutes > 59 or seconds > 59:
            raise ValueError("hours go to 23, minutes and seconds to 59")
        whole = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
        ticks = whole * _TICKS_PER_SECOND + int((fraction or "").ljust(7, "0"))
        if ticks >= 1 << 63:
            raise ValueError("a time span of this length cannot be kept")
        return cls(-ticks if sign else ticks)

    @classmethod
    def of_seconds(cls, seconds: float) -> "TimeSpan":
        """The span nearest to this many seconds."""
        return cls(round(seconds * _TICKS_PER_SECOND))

    @property
    def seconds(self) -> float:
        """The span in seconds."""
        return self.ticks / _TICKS_PER_SECOND

    def __str__(self) -> str:
        whole, fraction = divmod(abs(self.ticks), _TICKS_PER_SECOND)
        minutes, seconds = divmod(whole, 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        text = f"{f'{days}.' if days else ''}{hours:02}:{minutes:02}:{seconds:02}"
        return f"{'-' if self.ticks < 0 else ''}{text}{f'.{fraction:07}' if fraction else ''}"


def _span(value: object) -> object:
    if value is None or isinstance(value, TimeSpan):
        return value
    if isinstance(value, str):
        return TimeSpan.parse(value)
    raise ValueError("a time span is written as text, for example 00:00:30")


def _written(span: TimeSpan | None) -> str | None:
    return None if span is None else str(span)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class Member(BaseModel):
    """A part of the document: frozen, camelCase in JSON, members it does not know kept as they are."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
        arbitrary_types_allowed=True,
    )

    @property
    def unknown_members(self) -> Mapping[str, Json]:
        """Members of the JSON object that this part does not define, in the order they were read."""
        return self.__pydantic_extra__ or {}

    def replace(self, **changes: object) -> Self:
        """This part with some fields changed (the values must already be of the right type)."""
        return self.model_copy(update=changes)


class Transition(Member):
    """One branch of a node: its label and the node it leads to."""

    condition: Str = ""
    next_node_id: Str = ""


OnExceeded: TypeAlias = Literal["halt", "warn", "throttle"]


class Budget(Member):
    """The limits an author sets; a member left out takes the session's default."""

    max_node_visits: StrictInt | None = None
    max_llm_calls: StrictInt | None = None
    max_elapsed_time: Annotated[TimeSpan | None, BeforeValidator(_span), PlainSerializer(_written)] = None
    max_context_tokens: StrictInt | None = None
    on_exceeded: Annotated[OnExceeded | None, BeforeValidator(_lower)] = None


class _Node(Member):
    name: Str | None = None
    description: Str | None = None

    required_key: ClassVar[str | None] = None
    """The one member (JSON name) this kind of node cannot do without."""

    def branches(self) -> tuple[str, ...]:
        """The labels this node must have exactly one transition for, in order."""
        return ()

    @property
    def targets(self) -> Mapping[str, NodeId]:
        """Label to next node; of repeated labels the first counts."""
        return {t.condition: t.next_node_id for t in reversed(self.transitions)}

    transitions: tuple[Transition, ...] = ()


class ActionNode(_Node):
    """Has the application do something, and branches on how that went."""

    type: Annotated[Literal["action"], BeforeValidator(_lower)] = "action"
    action_key: Str | None = None
    required_key: ClassVar[str | None] = "actionKey"

    def branches(self) -> tuple[str, ...]:
        return ("success", "transientFailure", "permanentFailure")

    def visit(self, step: Step) -> Awaitable[str | None]:
        """Act; the branch is the status."""
        return step.act(self.action_key or "")


class ClassifyNode(_Node):
    """Asks one bounded question, and branches on the answer."""

    type: Annotated[Literal["classify"], BeforeValidator(_lower)] = "classify"
    task: Str | None = None
    answers: tuple[Str, ...] | None = None
    required_key: ClassVar[str | None] = "task"

    def branches(self) -> tuple[str, ...]:
        return (*(self.answers or ()), UNKNOWN)

    def visit(self, step: Step) -> Awaitable[str | None]:
        """Ask; the branch is the declared answer, or ``unknown``."""
        return step.ask(self.task or "", self.answers or ())


class ConditionNode(_Node):
    """Tests what is known so far without asking anybody, and branches on true or false."""

    type: Annotated[Literal["condition"], BeforeValidator(_lower)] = "condition"
    predicate_key: Str | None = None
    predicate_parameters: dict[str, JsonValue] | None = None
    required_key: ClassVar[str | None] = "predicateKey"

    def branches(self) -> tuple[str, ...]:
        return ("true", "false")

    async def visit(self, step: Step) -> str | None:
        """Test; the branch is the truth."""
        return step.test(self.predicate_key or "", self.predicate_parameters or {})


class TerminalNode(_Node):
    """Ends the run with a verdict."""

    type: Annotated[Literal["terminal"], BeforeValidator(_lower)] = "terminal"
    verdict: Str | None = None
    required_key: ClassVar[str | None] = "verdict"

    async def visit(self, step: Step) -> str | None:
        """End; there is no branch to take."""
        step.end(self.verdict or "")
        return None


class OpaqueNode(_Node):
    """A node whose type is missing or none of ours: kept so that nothing is lost, never runnable."""

    type: Str | None = None

    async def visit(self, step: Step) -> str | None:
        """Such a node cannot be visited; the checks keep it out of every run."""
        raise NotImplementedError


def _node_tag(value: object) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind.lower() if isinstance(kind, str) and kind.lower() in NODE_TYPES else "opaque"


Node: TypeAlias = ActionNode | ClassifyNode | ConditionNode | TerminalNode
"""The four kinds a runnable tree is made of."""

AnyNode: TypeAlias = Node | OpaqueNode
"""A node as a document may have it, finished or not."""

NODE_TYPES: Final[Mapping[str, type[Node]]] = {
    "action": ActionNode,
    "classify": ClassifyNode,
    "condition": ConditionNode,
    "terminal": TerminalNode,
}
"""The four kinds by the ``type`` their nodes have in JSON."""

_TaggedNode = Annotated[
    Annotated[ActionNode, Tag("action")]
    | Annotated[ClassifyNode, Tag("classify")]
    | Annotated[ConditionNode, Tag("condition")]
    | Annotated[TerminalNode, Tag("terminal")]
    | Annotated[OpaqueNode, Tag("opaque")],
    Discriminator(_node_tag),
]


class Tree(Member):
    """The document: nodes by id, where to start, and the limits of a run. Nodes keep their order."""

    tree_id: Str = ""
    version: StrictInt = 0
    name: Str | None = None
    description: Str | None = None
    start_node_id: Str = ""
    system_prompt: Str | None = None
    task: Str | None = None
    budget: Budget | None = None
    nodes: Mapping[NodeId, _TaggedNode] = {}


_PLACEHOLDER: Final = re.compile(r"\{\{([^{}]+)\}\}")


def placeholders(text: str | None) -> tuple[str, ...]:
    """The parameter names a text asks for with ``{{name}}``, each once, in order."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text or "")))


def fill(text: str, parameters: Mapping[str, str]) -> str:
    """The text with each known ``{{name}}`` replaced, in one pass: values are never filled again."""
    return _PLACEHOLDER.sub(lambda match: parameters.get(match.group(1), match.group(0)), text)
