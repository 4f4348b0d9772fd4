"""Tools: what a model may ask a program to do, each with a name, a description and the form of its input."""

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol, cast
from warnings import catch_warnings

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from engine.errors import CatalogError
from engine.problems import faults, named
from engine.tree import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """What is told of a tool: name, description and the JSON Schema of its input go to the model.

    ``timeout`` is in seconds. A tool that requires approval is only used where somebody is there to give it.
    The members from ``category`` on are for those who list tools; nothing acts on them.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Json] = field(default_factory=lambda: {"type": "object", "properties": {}})
    timeout: float | None = None
    requires_approval: bool = False
    category: str | None = None
    version: str | None = None
    cost_per_call: float | None = None
    parallelizable: bool = False
    danger_level: str | None = None
    authentication: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """One use of a tool. An ``id`` says that two uses are the same one."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict, repr=False)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of using a tool: output for the model, or an error it is told of."""

    output: str | None = field(default=None, repr=False)
    error: str | None = field(default=None, repr=False)

    @property
    def success(self) -> bool:
        """Whether there is no error."""
        return self.error is None


class Tool(Protocol):
    """Something a model may ask for."""

    @property
    def definition(self) -> ToolDefinition:
        """What is told of it."""
        ...

    async def invoke(self, invocation: ToolInvocation) -> ToolResult:
        """Do it. An exception is a failure with the exception's message."""
        ...


@dataclass(frozen=True)
class FunctionTool:
    """A tool made from a coroutine function whose parameters are the tool's input.

    What the function returns is the output: text as it is, anything else as JSON, a ``ToolResult`` for a
    function that tells failures itself. Without a description the function's first paragraph is one.
    """

    name: str
    function: Callable[..., Awaitable[object]]
    description: str | None = None
    timeout: float | None = None
    requires_approval: bool = False

    @cached_property
    def parameter_model(self) -> type[BaseModel]:
        """The parameters of the function; ``CatalogError`` when it cannot be called with such."""
        if not inspect.iscoroutinefunction(self.function):
            raise CatalogError(f"The tool '{self.name}' must be an 'async def'.")
        return parameters_of(self.function, f"tool '{self.name}'")

    @cached_property
    def definition(self) -> ToolDefinition:
        """What is told of it, made from the function's signature."""
        schema = self.parameter_model.model_json_schema()
        described = (inspect.getdoc(self.function) or "").partition("\n\n")[0]
        return ToolDefinition(
            name=self.name,
            description=self.description or " ".join(described.split()),
            parameters={name: part for name, part in schema.items() if name != "title"},
            timeout=self.timeout,
            requires_approval=self.requires_approval,
        )

    async def invoke(self, invocation: ToolInvocation) -> ToolResult:
        """Call the function; input that does not fit is a failure the model is told of, and can mend."""
        model, given = self.parameter_model, invocation.arguments
        try:
            arguments = self._fitted(given)
        except ValidationError as error:
            wrong = [f"{named(path)} {reason}" for path, reason in faults(error, dict(given)).items()]
            return ToolResult(error=f"The input does not fit: {'; '.join(wrong)}.")
        output = await self.function(**{name: getattr(arguments, name) for name in model.model_fields})
        if isinstance(output, ToolResult):
            return output
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, default=str)
        return ToolResult(text)

    def _fitted(self, given: Mapping[str, Json]) -> BaseModel:
        try:
            return fitted(self.parameter_model, given)
        except ValidationError:
            # What a model left open comes as empty text.
            opened = {name: None if value == "" else value for name, value in given.items()}
            if opened == given:
                raise
        return fitted(self.parameter_model, opened)


_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def by_name(tools: Iterable[Tool], known: Mapping[str, Tool] | None = None) -> Mapping[str, Tool]:
    """The tools by name, with those that are known; ``CatalogError`` for a name that cannot be used.

    Models are told names of letters, digits, ``_`` and ``-`` only, and write them in any case.
    """
    named_tools = dict(known or {})
    taken = {name.lower() for name in named_tools}
    for each in tools:
        name = each.definition.name
        if not _TOOL_NAME.fullmatch(name) or name.lower() in taken:
            wrong = "stands twice" if name.lower() in taken else "is not 1 to 64 letters, digits, '_' or '-'"
            raise CatalogError(f"The tool name '{name}' {wrong}.")
        taken.add(name.lower())
        named_tools[name] = each
    return named_tools


def parameters_of(function: Callable[..., object], what: str, skipped: int = 0) -> type[BaseModel]:
    """The parameters of a function as a model, without the first ``skipped``.

    ``CatalogError`` names ``what`` the function is for when they cannot be understood.
    """
    try:
        return _model(function, what, skipped)
    except Exception as error:
        message = f"The parameters of the {what} cannot be understood"
        raise CatalogError(f"{message} ({type(error).__name__}).") from error


def _model(function: Callable[..., object], what: str, skipped: int) -> type[BaseModel]:
    every = tuple(inspect.signature(function, eval_str=True).parameters.values())
    if len(every) < skipped:
        raise ValueError
    parameters = every[skipped:]
    fields: dict[str, tuple[object, object]] = {
        p.name: (
            object if p.annotation is p.empty else p.annotation,
            ... if p.default is p.empty else p.default,
        )
        for p in parameters
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    if any(p.kind is p.POSITIONAL_ONLY for p in parameters):
        raise TypeError
    config = ConfigDict(extra="allow", strict=True, hide_input_in_errors=True)
    with catch_warnings(action="ignore"):  # a parameter may be called as something of the model's own
        model = create_model(what, __config__=config, **fields)  # type: ignore[call-overload]
    if model.model_fields.keys() != fields.keys():
        raise NameError
    return cast("type[BaseModel]", model)


def fitted(model: type[BaseModel], parameters: Mapping[str, Json]) -> BaseModel:
    """The parameters as their model has them; ``ValidationError`` when they do not fit."""
    try:
        return model.model_validate(dict(parameters))
    except ValidationError:
        # Only text tells of a set, a date or a word of an enumeration that it was written in JSON.
        return model.model_validate_json(json.dumps(dict(parameters)))
