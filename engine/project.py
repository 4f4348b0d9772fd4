"""The project file: what the engine needs to know beside the trees of a folder (``treewright.json``)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationError, model_validator

from engine import jsontext
from engine.errors import DocumentRefused, Problem, ProjectError
from engine.tree import Json, Member, NodeId
from engine.treefile import problem_at, text_of_part

FILE_NAME: Final = "treewright.json"

JsonObject: TypeAlias = dict[str, Json]
_Calls = Annotated[StrictInt, Field(ge=0)]


class ExternalAction(Member):
    """An action that exists only where the tree will run, and what a visit of it costs there."""

    llm_calls: tuple[_Calls, _Calls] = (0, 0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.llm_calls[0] > self.llm_calls[1]:
            raise ValueError("the fewest calls come first")
        return self


class External(Member):
    """Keys that are known by name only."""

    actions: Mapping[StrictStr, ExternalAction] = {}
    predicates: tuple[StrictStr, ...] = ()


class ClassifySettings(Member):
    """How one classify node is decided, beyond its task and answers."""

    examples: Json = None
    min_confidence: Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)] | None = None
    descriptions: Mapping[StrictStr, StrictStr] = {}
    unknown_mode: StrictStr | None = None


class TreeSettings(Member):
    """What the engine needs to know about one tree."""

    classify: Mapping[NodeId, ClassifySettings] = {}
    erasure_key_parameter: StrictStr | None = None


class Project(Member):
    """A project file. Every member may be left out; members it does not define are kept."""

    format: Literal[1] = 1
    catalog: tuple[StrictStr, ...] = ()
    actions: Mapping[StrictStr, JsonObject] = {}
    agents: Mapping[StrictStr, JsonObject] = {}
    external: External = External()
    decider: JsonObject | None = None
    parameters: Mapping[StrictStr, StrictStr] = {}
    trees: Mapping[StrictStr, TreeSettings] = {}
