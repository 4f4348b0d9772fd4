"""A palette: the tools a decision agent may use, proven before anything is asked.

What a compiler would hold is held here: every tool takes one type of artifacts and gives another, an answer
can always be put together, and no two things have one name. All that is wrong is told at once.
"""

import inspect
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from engine.agent.artifacts import Artifact, ListArtifact
from engine.budget import Limits, Usage
from engine.catalog import LlmCalls
from engine.errors import Problem, Severity, TreewrightError
from engine.events import Event

if TYPE_CHECKING:
    import networkx as nx

FINISH: Final = "finish"
NEXT: Final = "next"

Taken = TypeVar("Taken", bound=Artifact)
Given = TypeVar("Given", bound=Artifact)


class Parent(Protocol):
    """The run a tool is used by, for a tool that makes decisions of its own."""

    @property
    def execution_id(self) -> str:
        """The id all events of the run have."""
        ...

    @property
    def job(self) -> str:
        """The id of this one use of the tool."""
        ...

    @property
    def left(self) -> Limits:
        """The calls and the time the tool may use."""
        ...

    def charge(self, used: Usage) -> None:
        """What the tool used is charged to the run."""
        ...

    def tell(self, event: Event) -> None:
        """Tell those who are told of the run."""
        ...


class DecisionTool(ABC, Generic[Taken, Given]):
    """A function of one artifact that gives one artifact, perhaps a list. It is made anew for each use.

    ``name`` and ``description`` are what a model is offered. A tool refuses an artifact by raising
    :class:`ToolRefused`; whatever else it raises ends the run. ``llm_calls`` are those one use makes.
    """

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    llm_calls: ClassVar[LlmCalls] = (0, 0)

    def __init__(self, parent: Parent) -> None:
        self.parent = parent

    @abstractmethod
    async def run(self, artifact: Taken, /) -> Given:
        """What it makes of the artifact."""


class ToolRefused(TreewrightError):
    """A tool cannot do this, in words for the model; ``technical`` has more, for a log."""

    def __init__(self, message: str, *, technical: str | None = None) -> None:
        super().__init__(message)
        self.technical = technical


class InvalidInput(ToolRefused):
    """This artifact does not fit; another one may. Says of which parameter which value broke what rule."""

    def __init__(self, parameter: str, value: str, rule: str) -> None:
        super().__init__(f"{parameter} '{value}': {rule}")


def refusal_of(error: BaseException) -> ToolRefused | None:
    """The first refusal along the chain of causes; None where an error is something else."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ToolRefused):
        cause = cause.__cause__
    return cause


class PaletteError(TreewrightError):
    """A palette that cannot be used; ``problems`` has everything that is wrong, each with its rule."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.code}: {problem.message}" for problem in problems))


# -- shapes --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """A type of artifacts, or that of lists of such."""

    type: type[Artifact]
    is_list: bool = False

    @property
    def alias(self) -> str:
        """The alias of what has this shape."""
        return ListArtifact.alias if self.is_list else self.type.alias

    @property
    def words(self) -> str:
        """It for people."""
        return f"list of {self.type.alias}" if self.is_list else self.type.alias

    def holds(self, artifact: Artifact) -> bool:
        """Whether an artifact is of this shape. Lists are told by the alias of their elements."""
        if isinstance(artifact, ListArtifact):
            return self.is_list and artifact.iterand_type_alias == self.type.alias
        return not self.is_list and isinstance(artifact, self.type)

    def covers(self, other: "Shape") -> bool:
        """Whether all that is of the other shape is of this one."""
        if self.is_list or other.is_list:
            return self == other
        return issubclass(other.type, self.type)


def _shape(hint: object) -> Shape | str:
    """The shape a type argument means, or why it means none."""
    if isinstance(hint, TypeVar):
        return f"'{hint.__name__}' is left open"
    origin = get_origin(hint) or hint
    if origin is ListArtifact:
        inside = get_args(hint)
        element = _shape(inside[0]) if inside else "its elements are left open"
        if isinstance(element, str):
            return f"of its list, {element}"
        return "a list of lists is not known" if element.is_list else Shape(element.type, is_list=True)
    if isinstance(origin, type) and issubclass(origin, Artifact):
        return Shape(origin)
    return f"'{getattr(hint, '__name__', hint)}' is no artifact"


def _arguments(tool: type[DecisionTool[Any, Any]]) -> tuple[object, ...]:
    """What a class gives ``DecisionTool`` as its type arguments, level by level; what is left open stays."""
    if tool is DecisionTool:
        return DecisionTool.__parameters__  # type: ignore[attr-defined, no-any-return]
    # Not `tool.__orig_bases__`: a class that extends a base bare would inherit those of the base.
    bases = tool.__dict__.get("__orig_bases__", tool.__bases__)
    origins = {get_origin(base) or base: base for base in bases}
    above = next(each for each in origins if isinstance(each, type) and issubclass(each, DecisionTool))
    given = dict(zip(getattr(above, "__parameters__", ()), get_args(origins[above]), strict=False))
    return tuple(_filled(argument, given) for argument in _arguments(above))


def _filled(hint: object, given: dict[object, object]) -> object:
    if isinstance(hint, TypeVar):
        return given.get(hint, hint)
    inside = getattr(hint, "__parameters__", ())
    if not inside or get_origin(hint) is None:
        return hint
    alias: Any = hint
    return alias[tuple(given.get(each, each) for each in inside)]


# -- palettes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool of a palette with the shapes it takes and gives."""

    tool: type[DecisionTool[Any, Any]]
    takes: Shape
    gives: Shape

    @property
    def name(self) -> str:
        """What a model chooses it by."""
        return self.tool.name


FlowNode: TypeAlias = tuple[Literal["type", "tool"], str]
"""A type or a tool of a palette, by its words or name."""


@dataclass(frozen=True)
class Palette:
    """Tools that fit together, in the order a model is offered them. ``warnings`` say what is of no use."""

    takes: type[Artifact]
    entries: tuple[Entry, ...]
    key: str
    warnings: tuple[Problem, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(entry.name for entry in self.entries)

    @cached_property
    def flow(self) -> tuple[tuple[FlowNode, FlowNode], ...]:
        """What leads to what: from types to the tools that take them, and from tools to what they give."""
        return tuple(_graph(Shape(self.takes), self.entries).edges)

    @cached_property
    def unreachable(self) -> tuple[str, ...]:
        """The tools that can never be used."""
        return _unreachable(Shape(self.takes), self.entries)


def compiled(
    takes: type[Artifact],
    answers: type[Artifact],
    key_tool: type[DecisionTool[Any, Any]],
    palette: Sequence[type[DecisionTool[Any, Any]]],
) -> Palette:
    """The palette of these tools, the key tool last unless it has a place. Raises :class:`PaletteError`."""
    tools = list(palette) if key_tool in palette else [*palette, key_tool]
    found = list(_faults_of_types(takes, answers))
    entries: list[Entry] = []
    for tool in tools:
        faults, entry = _looked_at(tool)
        found += faults
        if entry is not None:
            entries.append(entry)
    key = next((entry for entry in entries if entry.tool is key_tool), None)
    if key is not None and key.gives != Shape(answers, is_list=True):
        message = f"it gives {key.gives.words}, where a list of exactly {_named(answers)} is asked for"
        found.append(_problem("P4", key_tool, message))
    found += _faults_of_aliases(takes, answers, entries)
    found += _faults_of_names(tools)
    if _is_artifact(takes):
        found += _faults_of_flow(takes, entries, key)
    if errors := [problem for problem in found if problem.severity == "error"]:
        raise PaletteError(errors)
    return Palette(takes, tuple(entries), key_tool.name, tuple(found))


_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


def _problem(rule: str, tool: object, message: str, severity: Severity = "error") -> Problem:
    name = _named(tool)
    return Problem(rule, severity, f"Tool '{name}': {message}.", node=name)


def _named(thing: object) -> str:
    """What a class is called, or the kind of what should have been one."""
    return thing.__name__ if isinstance(thing, type) else type(thing).__name__


def _is_artifact(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Artifact)


def _faults_of_types(takes: object, answers: object) -> Iterator[Problem]:
    for what, kind in (("input", takes), ("answer", answers)):
        if not _is_artifact(kind):
            yield Problem("P8", "error", f"The {what} type '{_named(kind)}' is no artifact.")


def _looked_at(tool: object) -> tuple[list[Problem], Entry | None]:
    """What is wrong with one tool by itself, and the entry it would be."""
    if not (isinstance(tool, type) and issubclass(tool, DecisionTool)):
        return [_problem("P1", tool, "it is no DecisionTool")], None
    found: list[Problem] = []
    if not _NAME.fullmatch(tool.name):
        found.append(_problem("P5", tool, f"its name '{tool.name}' is not small letters, digits and '_'"))
    if inspect.isabstract(tool):
        found.append(_problem("P10", tool, "it is abstract"))
    try:
        inspect.signature(tool).bind(None)
    except (TypeError, ValueError):
        found.append(_problem("P7", tool, "it cannot be made from its parent alone"))
    shapes = [_shape(argument) for argument in _arguments(tool)]
    for rule, what, shape in zip(("P2", "P3"), ("takes", "gives"), shapes, strict=True):
        if isinstance(shape, str):
            found.append(_problem(rule, tool, f"what it {what} is no artifact: {shape}"))
    taken, given = shapes
    if isinstance(taken, str) or isinstance(given, str):
        return found, None
    entry = Entry(tool, taken, given)
    return [*found, *_faults_of_annotations(entry)], entry


def _faults_of_annotations(entry: Entry) -> Iterator[Problem]:
    """Annotations of ``run`` that say otherwise than the type arguments: wider input, narrower output fit."""
    run = entry.tool.run
    try:
        hints = get_type_hints(run)
    except Exception:  # noqa: BLE001 - an annotation may be any expression
        yield _problem("P11", entry.tool, "the annotations of 'run' cannot be read")
        return
    parameters = list(inspect.signature(run).parameters)
    annotated = hints.get(parameters[1], Any) if len(parameters) > 1 else Any
    both: tuple[tuple[Any, Shape, bool], ...] = (
        (annotated, entry.takes, True),
        (hints.get("return", Any), entry.gives, False),
    )
    for hint, shape, is_input in both:
        if hint in (Any, object) or isinstance(hint, TypeVar) or getattr(hint, "__parameters__", None):
            continue
        said = _shape(hint)
        fits = not isinstance(said, str) and (said.covers(shape) if is_input else shape.covers(said))
        if not fits:
            which = "takes" if is_input else "gives"
            yield _problem("P11", entry.tool, f"'run' {which} something else than {shape.words}")


def _faults_of_aliases(
    takes: type[Artifact], answers: type[Artifact], entries: Iterable[Entry]
) -> Iterator[Problem]:
    kinds = [kind for kind in (takes, answers) if _is_artifact(kind)]
    kinds += [shape.type for entry in entries for shape in (entry.takes, entry.gives)]
    first: dict[str, type[Artifact]] = {ListArtifact.alias: ListArtifact}
    for kind in dict.fromkeys(kinds):
        if not kind.alias:
            yield Problem("P6", "error", f"The type '{kind.__name__}' has no alias.")
        elif first.setdefault(kind.alias, kind) is not kind:
            other = first[kind.alias].__name__
            message = f"The types '{other}' and '{kind.__name__}' share the alias '{kind.alias}'."
            yield Problem("P6", "error", message)


def _faults_of_names(tools: Iterable[object]) -> Iterator[Problem]:
    names = [tool.name for tool in tools if isinstance(tool, type) and issubclass(tool, DecisionTool)]
    for name, times in Counter(names).items():
        if name in (FINISH, NEXT):
            yield Problem("P9", "error", f"No tool can be called '{name}'.", node=name)
        if times > 1:
            yield Problem("P9", "error", f"{times} tools are called '{name}'.", node=name)


def _faults_of_flow(takes: type[Artifact], entries: Sequence[Entry], key: Entry | None) -> Iterator[Problem]:
    for name in _unreachable(Shape(takes), entries):
        is_key = key is not None and name == key.name
        what = "so there is never an answer" if is_key else "so it is of no use"
        message = f"Tool '{name}': nothing leads from {takes.alias} to what it takes, {what}."
        yield Problem("P12", "error" if is_key else "warning", message, node=name)


def _graph(start: Shape, entries: Iterable[Entry]) -> "nx.DiGraph[FlowNode]":
    """Types and tools, and what leads to what."""
    import networkx as nx

    graph: nx.DiGraph[FlowNode] = nx.DiGraph()
    entries = tuple(entries)
    shapes = dict.fromkeys([start, *(shape for entry in entries for shape in (entry.takes, entry.gives))])
    shapes |= {Shape(shape.type): None for shape in shapes if shape.is_list}
    graph.add_nodes_from(("type", shape.words) for shape in shapes)
    for shape in shapes:
        if shape.is_list:
            graph.add_edge(("type", shape.words), ("type", shape.type.alias))
    for entry in entries:
        graph.add_edge(("tool", entry.name), ("type", entry.gives.words))
        graph.add_edges_from(
            (("type", shape.words), ("tool", entry.name)) for shape in shapes if entry.takes.covers(shape)
        )
    return graph


def _unreachable(start: Shape, entries: Sequence[Entry]) -> tuple[str, ...]:
    import networkx as nx

    reached = nx.descendants(_graph(start, entries), ("type", start.words))
    return tuple(entry.name for entry in entries if ("tool", entry.name) not in reached)
