"""The project file of a folder (``treewright.json``): what the engine needs to know beside the trees."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationError, model_validator

from engine import jsontext
from engine.errors import DocumentRefused, Problem, ProjectError
from engine.tree import Json, Member, NodeId
from engine.treefile import problem_at

FILE_NAME: Final = "treewright.json"

JsonObject: TypeAlias = dict[str, Json]
_Calls = Annotated[StrictInt, Field(ge=0)]


class ExternalAction(Member):
    """An action that exists only where the tree will run: the fewest and the most LLM calls of one visit."""

    llm_calls: tuple[_Calls, _Calls] = (0, 0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        fewest, most = self.llm_calls
        if fewest > most:
            raise ValueError("llmCalls names the fewest calls first")
        return self


class External(Member):
    """Keys that are known by name only, because what they name is where the tree will run."""

    actions: Mapping[str, ExternalAction] = {}
    predicates: tuple[StrictStr, ...] = ()


class ClassifySettings(Member):
    """How one classify node is decided, beyond its task and answers."""

    examples: Json = None
    min_confidence: Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)] | None = None
    descriptions: Mapping[str, StrictStr] = {}
    unknown_mode: StrictStr | None = None


class TreeSettings(Member):
    """What the engine needs to know about one tree."""

    classify: Mapping[NodeId, ClassifySettings] = {}
    erasure_key_parameter: StrictStr | None = None


class Project(Member):
    """A project file. Every member may be left out; members that are not known are kept."""

    format: Literal[1] = 1
    catalog: tuple[StrictStr, ...] = ()
    actions: Mapping[str, JsonObject] = {}
    agents: Mapping[str, JsonObject] = {}
    external: External = External()
    decider: JsonObject | None = None
    parameters: Mapping[str, StrictStr] = {}
    trees: Mapping[str, TreeSettings] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """A warning for each member that is not known, with its pointer in the project file."""
        return tuple(_unknown(self))


def load_project(folder: Path) -> Project:
    """The project of a folder; an empty one where there is no file.

    ``ProjectError`` names file, line and column of the first thing that is wrong.
    """
    path = folder / FILE_NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Project()
    except OSError as error:
        raise ProjectError(f"{path}: The file cannot be read: {error.strerror}.") from error
    try:
        document = jsontext.parse(data)
        return Project.model_validate(document, by_alias=True, by_name=False)
    except DocumentRefused as error:
        raise ProjectError(f"{path}:{error.line}:{error.column}: {error.message}") from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        pointer = jsontext.pointer(*fault["loc"])
        line, column = jsontext.locate(jsontext.text_of(data), pointer)
        raise ProjectError(f"{path}:{line}:{column}: {_reason(pointer, fault['msg'])}") from error


def write_project(project: Project) -> bytes:
    """The canonical project file: what is not set is left out."""
    return jsontext.write({"format": 1} | project.model_dump(by_alias=True, exclude_defaults=True))


def _reason(pointer: str, message: str) -> str:
    reason = message.removeprefix("Value error, ")
    return f"'{pointer or '/'}' does not fit: {reason[0].lower()}{reason[1:]}."


def _unknown(part: object, *path: str | int) -> Iterator[Problem]:
    if isinstance(part, Member):
        for name in part.unknown_members:
            message = f"'{jsontext.pointer(*path, name)}' is not known; it is kept and ignored."
            yield problem_at("member-unknown", "warning", message, *path, name)
        for name, field in type(part).model_fields.items():
            yield from _unknown(getattr(part, name), *path, field.alias or name)
    elif isinstance(part, Mapping):
        for name, member in part.items():
            yield from _unknown(member, *path, name)
