"""The actions, predicates and tools a run may use, by key.

A project offers its own with decorators in its ``catalog.py``::

    from engine import ActionContext, ActionResult, action, predicate
    from engine.agent import tool

    @action("loadOrder")
    async def load_order(context: ActionContext) -> ActionResult: ...

    @predicate("isWeekend")
    def is_weekend(context: PredicateContext, day: str) -> bool: ...

    @tool("searchNotes")
    async def search_notes(words: str, most: int = 5) -> str: ...

The parameters of a predicate are the keyword parameters of its function: their names, types and
defaults are what the checks hold a condition node's ``predicateParameters`` against. Those of a tool are
told to the models of agents.
"""

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from engine.data import DataItem, DataStore, Properties
from engine.errors import CatalogError
from engine.tools import FunctionTool, Tool, by_name, fitted, parameters_of
from engine.tree import Json, NodeId
from engine.values import quick_to_make

ActionStatus: TypeAlias = Literal["success", "transientFailure", "permanentFailure"]
"""How an action went, which is also the branch that is taken."""


LlmCalls: TypeAlias = tuple[int, int]
"""The fewest and the most LLM calls that one visit of an action makes."""


@quick_to_make
@dataclass(frozen=True, slots=True)
class ActionContext:
    """What an action gets: where it is, the parameters of the run, and the run's own state and data."""

    node: NodeId
    execution_id: str
    parameters: Mapping[str, str] = field(repr=False)
    properties: Properties = field(repr=False)
    data: DataStore = field(repr=False)


@dataclass(frozen=True, slots=True)
class ActionResult:
    """How an action went, and what it found.

    ``data`` is appended to the run's data and ``properties`` overwrite its state, whatever the status.
    ``summary`` is a sentence for people; ``error`` is only for failures. ``llm_calls`` is how many calls of
    a model it made itself; they are charged to the run.
    """

    status: ActionStatus = "success"
    data: tuple[DataItem, ...] = field(default=(), repr=False)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    summary: str | None = field(default=None, repr=False)
    error: str | None = field(default=None, repr=False)
    llm_calls: int = 0


class Action(Protocol):
    """Something an application does for an action node. One instance belongs to one run."""

    @property
    def key(self) -> str:
        """The ``actionKey`` of the nodes it serves."""
        ...

    async def execute(self, context: ActionContext) -> ActionResult:
        """Do it. An exception counts as a permanent failure with the exception's message."""
        ...


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What an action puts to a person: a text, and the choices there are; none means any text will do."""

    node: NodeId
    text: str = field(repr=False)
    choices: tuple[str, ...] = field(default=(), repr=False)


Person: TypeAlias = Callable[[Inquiry], Awaitable[str | None]]
"""Somebody who can be asked; None is no answer."""


@quick_to_make
@dataclass(frozen=True, slots=True)
class PredicateContext:
    """What a predicate may look at."""

    node: NodeId
    properties: Mapping[str, object] = field(repr=False)
    data: DataStore = field(repr=False)
    parameters: Mapping[str, Json] = field(repr=False)


class Predicate(Protocol):
    """A test over state and data: quick, synchronous, without side effects."""

    @property
    def key(self) -> str:
        """The ``predicateKey`` of the nodes it serves."""
        ...

    @property
    def parameter_model(self) -> type[BaseModel] | None:
        """The parameters it takes, as a model; None when they are not declared."""
        ...

    def evaluate(self, context: PredicateContext) -> bool:
        """Whether the condition holds."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionAction:
    """An action made from a coroutine function, with the LLM calls it declares, if it does."""

    key: str
    function: Callable[[ActionContext], Awaitable[ActionResult]]
    llm_calls: LlmCalls | None = None

    async def execute(self, context: ActionContext) -> ActionResult:
        """Call the function."""
        return await self.function(context)


@dataclass(frozen=True)
class FunctionPredicate:
    """A predicate made from a function whose keyword parameters are the predicate's parameters."""

    key: str
    function: Callable[..., bool]

    @cached_property
    def parameter_model(self) -> type[BaseModel] | None:
        """The keyword parameters of the function; ``CatalogError`` when it cannot be asked with such."""
        if any(gives_no_truth(self.function) for gives_no_truth in _NO_TRUTH):
            raise CatalogError(f"The predicate '{self.key}' must be a plain 'def' that gives true or false.")
        return parameters_of(self.function, f"predicate '{self.key}'", skipped=1)

    def evaluate(self, context: PredicateContext) -> bool:
        """False when the parameters do not fit, as the reference runtime has it; else ask the function."""
        model = self.parameter_model
        assert model is not None  # noqa: S101 - tells the type checker
        try:
            given = fitted(model, context.parameters)
        except ValueError:
            return False
        return self.function(context, **{name: getattr(given, name) for name in model.model_fields})


_NO_TRUTH: Final = (
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
)
"""Kinds of functions that give something else first, which would count as true."""


_ActionFunction = TypeVar("_ActionFunction", bound=Callable[[ActionContext], Awaitable[ActionResult]])
_PredicateFunction = TypeVar("_PredicateFunction", bound=Callable[..., bool])
_ToolFunction = TypeVar("_ToolFunction", bound=Callable[..., Awaitable[object]])

_MARK: Final = "__treewright_entry__"


def action(key: str, *, llm_calls: LlmCalls | None = None) -> Callable[[_ActionFunction], _ActionFunction]:
    """Offer a coroutine function as the action ``key``.

    One that asks a model says how many LLM calls a visit makes, the fewest and the most, so that what a run
    can cost is known before it starts; what it did make it says in its results.
    """

    def mark(function: _ActionFunction) -> _ActionFunction:
        setattr(function, _MARK, FunctionAction(key, function, llm_calls))
        return function

    return mark


def predicate(key: str) -> Callable[[_PredicateFunction], _PredicateFunction]:
    """Offer a function as the predicate ``key``; its keyword parameters are the predicate's parameters."""

    def mark(function: _PredicateFunction) -> _PredicateFunction:
        setattr(function, _MARK, FunctionPredicate(key, function))
        return function

    return mark


def tool(
    name: str,
    *,
    description: str | None = None,
    timeout: float | None = None,
    requires_approval: bool = False,
) -> Callable[[_ToolFunction], _ToolFunction]:
    """Offer a coroutine function as the tool ``name``; its parameters are what a model fills in."""

    def mark(function: _ToolFunction) -> _ToolFunction:
        setattr(function, _MARK, FunctionTool(name, function, description, timeout, requires_approval))
        return function

    return mark


@dataclass(frozen=True)
class Catalog:
    """Actions, predicates and tools by key, and the keys that exist only where the tree will run.

    An external action stands with the LLM calls it is declared to make.
    """

    actions: Mapping[str, Action] = field(default_factory=dict)
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    external_actions: Mapping[str, LlmCalls] = field(default_factory=dict)
    external_predicates: frozenset[str] = frozenset()
    tools: Mapping[str, Tool] = field(default_factory=dict)

    def with_actions(self, actions: Iterable[Action]) -> "Catalog":
        """This catalog with more actions; ``CatalogError`` for a blank or repeated key."""
        return replace(self, actions=_added(self.actions, actions))

    def with_predicates(self, predicates: Iterable[Predicate]) -> "Catalog":
        """This catalog with more predicates; ``CatalogError`` for a blank or repeated key."""
        return replace(self, predicates=_added(self.predicates, predicates))

    def with_tools(self, tools: Iterable[Tool]) -> "Catalog":
        """This catalog with more tools; ``CatalogError`` for a name that is repeated or cannot be used."""
        return replace(self, tools=by_name(tools, self.tools))

    def with_external(
        self, actions: Iterable[str] | Mapping[str, LlmCalls] = (), predicates: Iterable[str] = ()
    ) -> "Catalog":
        """This catalog with keys that are known by name only; actions perhaps with their LLM calls."""
        declared = actions if isinstance(actions, Mapping) else dict.fromkeys(actions, _NO_CALLS)
        return replace(
            self,
            external_actions={**self.external_actions, **declared},
            external_predicates=self.external_predicates | frozenset(predicates),
        )

    def llm_calls(self, action_key: str) -> LlmCalls:
        """The LLM calls one visit of an action makes, by its own word, else by the project's; else none."""
        declared: LlmCalls | None = getattr(self.actions.get(action_key), "llm_calls", None)
        return declared or self.external_actions.get(action_key, _NO_CALLS)

    def with_module(self, path: Path) -> "Catalog":
        """Return this catalog with the entries a project's Python file offers. It runs that file.

        Only for folders the person trusts. ``CatalogError`` names the file and the kind of failure.
        """
        marks = (inspect.getattr_static(value, _MARK, None) for value in vars(_module(path)).values())
        entries = {id(mark): mark for mark in marks}.values()
        actions = [entry for entry in entries if isinstance(entry, FunctionAction)]
        predicates = [entry for entry in entries if isinstance(entry, FunctionPredicate)]
        for made in actions:
            if not inspect.iscoroutinefunction(made.function):
                raise CatalogError(f"{path}: the action '{made.key}' must be an 'async def'.")
            if not _in_order(made.llm_calls or _NO_CALLS):
                message = f"the action '{made.key}' must say its fewest LLM calls, then its most"
                raise CatalogError(f"{path}: {message}, as in llm_calls=(0, 2).")
        tools = [entry for entry in entries if isinstance(entry, FunctionTool)]
        described: tuple[FunctionPredicate | FunctionTool, ...] = (*predicates, *tools)
        for entry in described:
            try:
                _ = entry.parameter_model
            except CatalogError as error:
                raise CatalogError(f"{path}: {error}") from error
        return self.with_actions(actions).with_predicates(predicates).with_tools(tools)


_NO_CALLS: Final = (0, 0)


def _in_order(calls: object) -> bool:
    match calls:
        case (int(fewest), int(most)):
            return 0 <= fewest <= most
    return False


_Entry = TypeVar("_Entry", bound=Action | Predicate)


def _is_key(key: object) -> bool:
    return isinstance(key, str) and bool(key.strip())


def _added(known: Mapping[str, _Entry], more: Iterable[_Entry]) -> Mapping[str, _Entry]:
    entries = dict(known)
    for entry in more:
        if not _is_key(entry.key) or entry.key in entries:
            raise CatalogError(f"Decision catalog contains duplicate or empty key '{entry.key}'.")
        entries[entry.key] = entry
    return entries


def _module(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"treewright_catalog_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise CatalogError(f"{path}: this is not a Python file.")
    module = module_from_spec(spec)
    try:
        # A project's folder is not a package: keep compiled leftovers out of it.
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = before
    except (Exception, SystemExit) as error:
        raise CatalogError(f"{path}: loading it failed with {type(error).__name__}.") from error
    return module
