"""The actions and predicates a run may use, by key.

A project offers its own with two decorators in its ``catalog.py``::

    from engine import ActionContext, ActionResult, action, predicate

    @action("loadOrder")
    async def load_order(context: ActionContext) -> ActionResult: ...

    @predicate("isWeekend")
    def is_weekend(context: PredicateContext, day: str) -> bool: ...

The parameters of a predicate are the keyword parameters of its function: their names, types and
defaults are what the checks hold a condition node's ``predicateParameters`` against.
"""

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, Protocol, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, create_model

from engine.data import DataItem, DataStore, Properties
from engine.errors import CatalogError
from engine.tree import Json, NodeId

ActionStatus: TypeAlias = Literal["success", "transientFailure", "permanentFailure"]
"""How an action went, which is also the branch that is taken."""


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
    """An action made from a coroutine function."""

    key: str
    function: Callable[[ActionContext], Awaitable[ActionResult]]

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
        """The keyword parameters of the function; ``CatalogError`` when their types cannot be understood."""
        try:
            return self._model()
        except Exception as error:
            message = f"The parameters of the predicate '{self.key}' cannot be understood"
            raise CatalogError(f"{message} ({type(error).__name__}).") from error

    def _model(self) -> type[BaseModel]:
        fields: dict[str, tuple[object, object]] = {
            name: (
                object if p.annotation is p.empty else p.annotation,
                ... if p.default is p.empty else p.default,
            )
            for name, p in list(inspect.signature(self.function, eval_str=True).parameters.items())[1:]
        }
        config = ConfigDict(extra="allow", strict=True, hide_input_in_errors=True)
        return cast("type[BaseModel]", create_model(self.key, __config__=config, **fields))  # type: ignore[call-overload]

    def evaluate(self, context: PredicateContext) -> bool:
        """False when the parameters do not fit, as the reference runtime has it; else ask the function."""
        model = self.parameter_model
        assert model is not None  # noqa: S101 - tells the type checker
        try:
            given = model.model_validate(dict(context.parameters))
        except ValueError:
            return False
        return self.function(context, **{name: getattr(given, name) for name in model.model_fields})


_ActionFunction = TypeVar("_ActionFunction", bound=Callable[[ActionContext], Awaitable[ActionResult]])
_PredicateFunction = TypeVar("_PredicateFunction", bound=Callable[..., bool])

_MARK: Final = "__treewright_entry__"


def action(key: str) -> Callable[[_ActionFunction], _ActionFunction]:
    """Offer a coroutine function as the action ``key``."""

    def mark(function: _ActionFunction) -> _ActionFunction:
        setattr(function, _MARK, FunctionAction(key, function))
        return function

    return mark


def predicate(key: str) -> Callable[[_PredicateFunction], _PredicateFunction]:
    """Offer a function as the predicate ``key``; its keyword parameters are the predicate's parameters."""

    def mark(function: _PredicateFunction) -> _PredicateFunction:
        setattr(function, _MARK, FunctionPredicate(key, function))
        return function

    return mark


@dataclass(frozen=True)
class Catalog:
    """Actions and predicates by key, and the keys that exist only where the tree will run."""

    actions: Mapping[str, Action] = field(default_factory=dict)
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    external_actions: frozenset[str] = frozenset()
    external_predicates: frozenset[str] = frozenset()

    def with_actions(self, actions: Iterable[Action]) -> "Catalog":
        """This catalog with more actions; ``CatalogError`` for a blank or repeated key."""
        return Catalog(
            _added(self.actions, actions), self.predicates, self.external_actions, self.external_predicates
        )

    def with_predicates(self, predicates: Iterable[Predicate]) -> "Catalog":
        """This catalog with more predicates; ``CatalogError`` for a blank or repeated key."""
        return Catalog(
            self.actions, _added(self.predicates, predicates), self.external_actions, self.external_predicates
        )

    def with_external(self, actions: Iterable[str] = (), predicates: Iterable[str] = ()) -> "Catalog":
        """This catalog with keys that are known by name only."""
        return Catalog(
            self.actions,
            self.predicates,
            self.external_actions | frozenset(actions),
            self.external_predicates | frozenset(predicates),
        )

    def with_module(self, path: Path) -> "Catalog":
        """Return this catalog with the entries a project's Python file offers. It runs that file.

        Only for folders the person trusts. ``CatalogError`` names the file and the kind of failure.
        """
        entries = [getattr(value, _MARK) for value in vars(_module(path)).values() if hasattr(value, _MARK)]
        actions = [entry for entry in entries if isinstance(entry, FunctionAction)]
        predicates = [entry for entry in entries if isinstance(entry, FunctionPredicate)]
        for made in actions:
            if not inspect.iscoroutinefunction(made.function):
                raise CatalogError(f"{path}: the action '{made.key}' must be an 'async def'.")
        for entry in predicates:
            try:
                _ = entry.parameter_model
            except CatalogError as error:
                raise CatalogError(f"{path}: {error}") from error
        return self.with_actions(actions).with_predicates(predicates)


_Entry = TypeVar("_Entry", bound=Action | Predicate)


def _added(known: Mapping[str, _Entry], more: Iterable[_Entry]) -> Mapping[str, _Entry]:
    entries = dict(known)
    for entry in more:
        if not entry.key.strip() or entry.key in entries:
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
