"""The project file of a folder (``treewright.json``): what the engine needs to know beside the trees."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from engine import jsontext
from engine.errors import DocumentRefused, Problem, ProjectError, cause_of
from engine.problems import faults, in_text, named, problem_at
from engine.tree import Json, Member, NodeId

FILE_NAME: Final = "treewright.json"
FORMAT: Final = 1
"""The only form of project files there is so far."""

JsonObject: TypeAlias = dict[str, Json]

UnknownMode: TypeAlias = Literal["threshold", "option", "both"]
"""Whether ``unknown`` follows from a low confidence, is an option a decision model may choose, or both."""

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
    min_confidence: Annotated[StrictFloat, Field(ge=0, le=1)] | None = None
    descriptions: Mapping[str, StrictStr] = {}
    unknown_mode: UnknownMode | None = None


class TreeSettings(Member):
    """What the engine needs to know about one tree."""

    classify: Mapping[NodeId, ClassifySettings] = {}
    erasure_key_parameter: StrictStr | None = None


def _known(form: int) -> int:
    if form != FORMAT:
        raise ValueError(f"this version knows form {FORMAT} only")
    return form


class Project(Member):
    """A project file. Every member may be left out; members that are not known are kept."""

    format: Annotated[StrictInt, AfterValidator(_known)] = FORMAT
    catalog: tuple[StrictStr, ...] = ()
    actions: Mapping[str, JsonObject] = {}
    agents: Mapping[str, JsonObject] = {}
    external: External = External()
    decider: JsonObject | None = None
    parameters: Mapping[str, StrictStr] = {}
    trees: Mapping[str, TreeSettings] = {}

    _text: str = PrivateAttr("")
    """The text it was read from; that of one made by a program is empty."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """A warning for each member that is not known, with its place in the project file."""
        return self._placed(_unknown(self))

    def error(self, code: str, message: str, *path: str | int) -> Problem:
        """An error at a path of the project file, with its place there."""
        (problem,) = self._placed([problem_at(code, "error", message, *path)])
        return problem

    def warning(self, code: str, message: str, *path: str | int) -> Problem:
        """A warning at a path of the project file, with its place there."""
        (problem,) = self._placed([problem_at(code, "warning", message, *path)])
        return problem

    def wrong_actions(self) -> tuple[Problem, ...]:
        """An error for each place of its actions that does not fit, with its place in the project file."""
        return self._placed(_wrong_actions(self.actions)) if self.actions else ()

    def _placed(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        return in_text(problems, self._text) if self._text else tuple(problems)


def load_project(folder: Path) -> Project:
    """The project of a folder; an empty one where there is no file.

    ``ProjectError`` tells all that is wrong with the file.
    """
    file = folder / FILE_NAME
    try:
        data = jsontext.document_bytes(file)
        document, text = jsontext.parse(data), jsontext.text_of(data)
    except FileNotFoundError:
        return Project()
    except OSError as error:
        message = f"The file cannot be read: {cause_of(error)}."
        raise ProjectError(file, [Problem("file-unreadable", "error", message, line=1, column=1)]) from error
    except DocumentRefused as refused:
        raise ProjectError(file, [refused.problem]) from refused
    try:
        project = Project.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ProjectError(file, in_text(_misfits(error, document), text)) from error
    project._text = text  # noqa: SLF001 - the one place that knows it
    if wrong := project.wrong_actions():
        raise ProjectError(file, wrong)
    return project


def write_project(project: Project) -> bytes:
    """The canonical project file: what is not set is left out."""
    return jsontext.write({"format": 1} | project.model_dump(by_alias=True, exclude_defaults=True))


def _misfits(error: ValidationError, document: Json) -> Iterator[Problem]:
    for path, reason in faults(error, document).items():
        message = f"{named(path) if path else 'A project'} {reason}."
        yield problem_at("project-invalid", "error", message, *path)


def _wrong_actions(actions: Mapping[str, JsonObject]) -> Iterator[Problem]:
    # Making the models takes longer than reading a project that has no actions.
    from engine.kinds import misfits

    for key, entry in actions.items():
        if not key.strip():
            yield problem_at("action-invalid", "error", "An action needs a key.", "actions", key)
        for path, reason in misfits(entry).items():
            place = ("actions", key, *path)
            yield problem_at("action-invalid", "error", f"{named(place)} {reason}.", *place)


def _unknown(part: object, *path: str | int) -> Iterator[Problem]:
    if isinstance(part, Member):
        for name in part.unknown_members:
            message = f"{named((*path, name))} is not known; it is kept and ignored."
            yield problem_at("member-unknown", "warning", message, *path, name)
        for name, field in type(part).model_fields.items():
            yield from _unknown(getattr(part, name), *path, field.alias or name)
    elif isinstance(part, Mapping):
        for name, member in part.items():
            yield from _unknown(member, *path, name)
