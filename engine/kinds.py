"""The kinds of actions a project file can describe, each with the parameters it takes.

``treewright.json`` holds them as ``{"kind": ..., "parameters": {...}}``. The models here say what fits and,
as JSON Schema, what a form has to ask; what the kinds do is in :mod:`engine.actions`. In texts that are
``filled`` each ``{{name}}`` stands for a parameter of the run, else for a property of its state.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from engine.http import HostRule
from engine.problems import Path, faults
from engine.tree import Json, Member


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is blank")
    return text


def _host(text: str) -> str:
    HostRule.parse(text)
    return text


def _header(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise ValueError("this is no name of a header")
    if name.lower() in _OWN_HEADERS:
        raise ValueError("this header is set by the request itself")
    return name


_OWN_HEADERS: Final = frozenset({
    "accept-encoding", "connection", "content-length", "expect", "host", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip

Name: TypeAlias = Annotated[StrictStr, AfterValidator(_not_blank)]
Filled: TypeAlias = Annotated[StrictStr, Field(json_schema_extra={"filled": True})]
FilledName: TypeAlias = Annotated[Name, Field(json_schema_extra={"filled": True})]
Host: TypeAlias = Annotated[StrictStr, AfterValidator(_host)]
Bytes: TypeAlias = Annotated[StrictInt, Field(ge=1, le=16_000_000)]

_PROPERTY: Final = "The property of the state that takes it."
_DATA_TYPE: Final = "The type of the data it becomes."
_FOLDER: Final = (
    "The folder it may look in. One outside the project's own folder is reached only in projects you trust."
)
_PATH: Final = "Where it is in the folder."


class Parameters(Member):
    """The parameters of one kind of action. What is not known is refused, as it may be a misspelt limit."""

    model_config = ConfigDict(extra="forbid")


class SetProperty(Parameters):
    """Sets a property of the state to a value, which is taken as it stands; null takes it away."""

    property: Name = Field(description="The property to set.")
    value: StrictStr | StrictBool | StrictInt | StrictFloat | None = Field(
        description="A text, a number, true, false or null."
    )


class TemplateToProperty(Parameters):
    """Fills a text in and keeps it as a property of the state."""

    property: Name = Field(description=_PROPERTY)
    template: Filled = Field(description="The text; {{name}} stands for a parameter or a property.")


class _Finding(Parameters):
    property: Name | None = Field(None, description=_PROPERTY)
    data_type: Name | None = Field(None, description=_DATA_TYPE)

    @model_validator(mode="after")
    def _goes_somewhere(self) -> Self:
        if self.property is None and self.data_type is None:
            raise ValueError("it needs a 'property' or a 'dataType' for what it finds")
        return self


class ReadFile(_Finding):
    """Reads a file of text (UTF-8) as data, as a property, or as both."""

    path: FilledName = Field(description=_PATH)
    folder: Name = Field(".", description=_FOLDER)
    max_bytes: Bytes = Field(1_000_000, description="A larger file is refused.")


class ListFolder(_Finding):
    """Lists what is in a folder: each name as data, or all of them as a property, one a line."""

    path: FilledName = Field(".", description=_PATH)
    folder: Name = Field(".", description=_FOLDER)
    pattern: Name = Field("*", description="Which names are meant; * stands for any part of one.")
    recursive: StrictBool = Field(False, description="Whether to look into the folders in it, too.")  # noqa: FBT003
    max_entries: Annotated[StrictInt, Field(ge=1, le=100_000)] = Field(1000, description="More are refused.")


class LoadRows(Parameters):
    """Loads the rows of a table (CSV with a first line of names, JSON, JSON Lines), each as data."""

    path: FilledName = Field(description=_PATH)
    data_type: Name = Field(description=_DATA_TYPE)
    folder: Name = Field(".", description=_FOLDER)
    format: Literal["csv", "json", "jsonl"] | None = Field(
        None, description="How it is written; else the end of its name tells."
    )
    content_column: Name | None = Field(
        None, description="The column that becomes the content; else the row does, as JSON."
    )
    id_column: Name | None = Field(None, description="The column with the ids; else rows are numbered.")
    max_rows: Annotated[StrictInt, Field(ge=1, le=100_000)] = Field(1000, description="More are refused.")
    max_bytes: Bytes = Field(4_000_000, description="A larger file is refused.")


class HttpRequest(Parameters):
    """Asks a web address, of hosts on a list only, for what is there."""

    url: FilledName = Field(
        description="The address. Values filled in are encoded, but one it begins with is taken as it is."
    )
    hosts: tuple[Host, ...] = Field(
        min_length=1,
        description="Who may be asked: example.com, *.example.com, * for any public host. A port may follow. "
        "Addresses inside your own network are reached only where they stand here themselves: 127.0.0.1.",
    )
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = Field("GET", description="How to ask.")
    headers: Mapping[Annotated[StrictStr, AfterValidator(_header)], Filled] = Field(
        {}, description="What is sent along; they stay behind when another server is asked."
    )
    body: Filled | None = Field(None, description="What is sent.")
    body_type: Literal["text", "json"] = Field(
        "text", description="What the body is. In json values are filled in as they stand within quotes."
    )
    timeout: Annotated[StrictFloat, Field(gt=0, le=300)] = Field(30.0, description="Seconds for all of it.")
    max_bytes: Bytes = Field(1_000_000, description="A larger answer is refused.")
    redirects: Annotated[StrictInt, Field(ge=0, le=10)] = Field(
        3, description="How often an answer may lead on to another address, of these hosts."
    )
    any_status: StrictBool = Field(
        False,  # noqa: FBT003
        description="Whether every answer is a success; else only those from 200 to 299 are.",
    )
    status_property: Name | None = Field(None, description="The property that takes the status.")
    property: Name | None = Field(None, description="The property that takes the text of the answer.")
    data_type: Name | None = Field(None, description=_DATA_TYPE)


class Ask(Parameters):
    """Asks you, while the run waits, and keeps what you say as a property of the state."""

    text: FilledName = Field(description="What to ask.")
    property: Name = Field(description=_PROPERTY)
    choices: tuple[Name, ...] = Field((), description="What to choose from; without any, you type a text.")


class Sleep(Parameters):
    """Waits a while."""

    seconds: Annotated[StrictFloat, Field(ge=0, le=86_400)] = Field(description="How long.")


class SubTree(Parameters):
    """Runs another tree of this project, within what this run has left, and keeps its verdict."""

    tree: Name = Field(description="The file of the tree, in the project's folder.")
    verdict_property: Name = Field(description="The property that takes the verdict.")
    parameters: Mapping[Name, Filled] = Field(
        {}, description="Parameters of that run, beside those of this one."
    )
    properties_in: Mapping[Name, Name] = Field(
        {}, description="Properties it starts with: the name there, then the name here."
    )
    properties_out: Mapping[Name, Name] = Field(
        {}, description="Properties to take over: the name here, then the name there."
    )
    data_in: Mapping[Name, Name] = Field(
        {}, description="Data it starts with: the type there, then the type here."
    )
    data_out: Mapping[Name, Name] = Field(
        {}, description="Data to take over: the type here, then the type there."
    )


KINDS: Final[Mapping[str, type[Parameters]]] = {
    "setProperty": SetProperty,
    "templateToProperty": TemplateToProperty,
    "readFile": ReadFile,
    "listFolder": ListFolder,
    "loadRows": LoadRows,
    "httpRequest": HttpRequest,
    "ask": Ask,
    "sleep": Sleep,
    "subTree": SubTree,
}
"""The kinds by the name they have in a project file."""


class _Entry(Parameters):
    """An action as it stands in a project file."""

    kind: StrictStr
    parameters: Mapping[str, Json] = {}


def misfits(entry: Mapping[str, Json]) -> Mapping[Path, str]:
    """Where an entry does not fit, and what is wrong there, to be read after its name; none when it fits."""
    try:
        known = _Entry.model_validate(entry, by_alias=True, by_name=False)
    except ValidationError as error:
        return faults(error, entry)
    kind = KINDS.get(known.kind)
    if kind is None:
        return {("kind",): f"must be one of {', '.join(KINDS)}"}
    try:
        kind.model_validate(known.parameters, by_alias=True, by_name=False)
    except ValidationError as error:
        found = faults(error, known.parameters)
        return {("parameters", *path): reason for path, reason in found.items()}
    return {}


def parameters_of(entry: Mapping[str, Json]) -> Parameters:
    """What an entry says that has no misfits."""
    known = _Entry.model_validate(entry, by_alias=True, by_name=False)
    return KINDS[known.kind].model_validate(known.parameters, by_alias=True, by_name=False)


# ------------------------------------------------------------------------------------------ tools of others


def _web_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it must start with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise ValueError("a name or password does not belong in an address; take a header")
    return text


_Variable: TypeAlias = Annotated[StrictStr, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class McpServer(Parameters):
    """A program that offers tools (MCP): started with a command, or reached at a web address.

    Keys do not stand in a project file: what a program or an address needs of them is taken from variables
    of the environment, and no other variable is passed on but those no program does without, as ``PATH``.
    """

    command: Name | None = Field(None, description="The program to start, in the project's folder.")
    args: tuple[StrictStr, ...] = Field((), description="What it is started with.")
    env: Mapping[_Variable, _Variable] = Field(
        {}, description="Variables it gets: the name there, then the variable here it is taken from."
    )
    url: Annotated[StrictStr, AfterValidator(_web_address)] | None = Field(
        None, description="The web address of a server that runs already."
    )
    headers: Mapping[Annotated[StrictStr, AfterValidator(_header)], _Variable] = Field(
        {}, description="What is sent along: the header, then the variable here it is taken from."
    )
    timeout: Annotated[StrictFloat, Field(gt=0, le=300)] = Field(
        30.0, description="Seconds it has to start, and for each use of a tool."
    )
    tools: tuple[Name, ...] | None = Field(
        None, description="The tools that may be used, by the names they have there; null for all of them."
    )

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("it needs either a 'command' or a 'url'")
        if self.url is None and self.headers:
            raise ValueError("'headers' belong to a 'url'")
        if self.command is None and (self.args or self.env):
            raise ValueError("'args' and 'env' belong to a 'command'")
        return self
