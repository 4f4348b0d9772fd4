"""Tree files: bytes become a tree and all that is wrong with them; a tree becomes its one canonical text.

Reading gives up only on bytes that are no JSON document. A part that cannot be understood is set aside and
reported, and the rest is read, so that all problems of a file come at once.
"""

import gc
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeAlias, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from engine import jsontext
from engine.errors import Problem
from engine.problems import problem_at, reason
from engine.tree import NODE_TYPES, UNKNOWN, Json, Member, Tree

JsonObject: TypeAlias = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a tree file holds.

    ``whole`` is false when a part could not be understood and is missing from the tree: saving that tree
    would lose it. ``problems`` are those of reading only; ``engine.checks.problems_of`` adds the others.
    """

    tree: Tree
    problems: tuple[Problem, ...]
    whole: bool
    text: str = field(repr=False)


def read_tree(data: bytes) -> Reading:
    """Read a tree file; raises ``DocumentRefused`` only when the bytes are no JSON document."""
    with collector_paused():
        return _read(data)


def write_tree(tree: Tree) -> bytes:
    """The canonical file: UTF-8, two spaces a level, members in a fixed order, what is not set left out."""
    return jsontext.write(tree, _plain)


def tree_hash(tree: Tree) -> str:
    """The SHA-256 of the canonical file, as 64 hex digits."""
    return hashlib.sha256(write_tree(tree)).hexdigest()


def migrated(document: JsonObject) -> tuple[JsonObject, tuple[Problem, ...]]:
    """The document in today's spelling, and an info problem for each older spelling replaced."""
    nodes = document.get("nodes")
    if not isinstance(nodes, dict):
        return document, ()
    renewed: JsonObject = {}
    problems: list[Problem] = []
    for node_id, node in nodes.items():
        if not isinstance(node, dict) or _is_new(node):
            continue
        respelled, changes = _respelled(node)
        if changes:
            renewed[node_id] = respelled
        for member, old, new in changes:
            message = f"Node '{node_id}' uses the old spelling '{old}'; it is read as '{new}'."
            problems.append(problem_at("spelling-old", "info", message, "nodes", node_id, member))
    return (document | {"nodes": nodes | renewed} if renewed else document), tuple(problems)


def schema() -> JsonObject:
    """The JSON Schema (draft 2020-12) of a tree file: its shape and values, not the rules between nodes."""
    root = cast("JsonObject", _without(Tree.model_json_schema(), {"title", "default"}))
    parts = cast("dict[str, JsonObject]", root.pop("$defs"))
    kinds = {kind.__name__: kind for kind in NODE_TYPES.values()}
    every_name = {name for kind in kinds.values() for name in members_of(kind).values()}
    drawn: JsonObject = {}
    for part, required in _SCHEMA_REQUIRED.items():
        shape = root if part == "Tree" else parts[part]
        properties = cast("JsonObject", shape["properties"])
        shapes = {name: rule for name, rule in _SCHEMA_SHAPES.items() if name in properties}
        if part in kinds:
            own = members_of(kinds[part]).values()
            properties = {name: properties[name] for name in own}
            shapes |= {name: {"type": "null"} for name in sorted(every_name.difference(own))}
        if part == "TerminalNode":
            shapes["transitions"] = {"type": ["array", "null"], "maxItems": 0}
        optional = {} if part != "Tree" else {"task": properties["task"]}
        drawn[part] = shape | {"properties": properties | shapes | optional, "required": list(required)}
    tree = cast("JsonObject", drawn.pop("Tree"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Decision tree",
        **tree,
        "$defs": drawn,
    }


@cache
def members_of(kind: type[Member]) -> Mapping[str, str]:
    """The fields of a part in file order, each with its JSON name: the type first, transitions last."""
    names = {name: field.alias or name for name, field in kind.model_fields.items()}
    return dict(sorted(names.items(), key=lambda item: (item[0] != "type", item[0] == "transitions")))


@contextmanager
def collector_paused() -> Iterator[None]:
    """For work that makes many objects and no garbage: looking for some halfway triples its time."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _read(data: bytes) -> Reading:
    document, text = jsontext.parse(data), jsontext.text_of(data)
    if not isinstance(document, dict):
        if document is None:
            problem = problem_at("tree-null", "error", "The document is null: it does not contain a tree.")
        else:
            problem = problem_at("type-invalid", "error", "The document must be an object.")
        return Reading(Tree(), (problem,), whole=False, text=text)
    document, spellings = migrated(document)
    absent = tuple(_absent(document))
    tree, faults = _understood(document)
    return Reading(tree, (*absent, *faults, *spellings), whole=not faults, text=text)


_OLD_MEMBERS: Final = {
    "question": ("classify", "task"),
    "actionName": ("action", "actionKey"),
    "predicateName": ("condition", "predicateKey"),
}


def _is_new(node: JsonObject) -> bool:
    """Whether a node holds no older spelling for sure: true of nearly all nodes, and quick to tell."""
    return str(node.get("type")) in NODE_TYPES and _OLD_MEMBERS.keys().isdisjoint(node)


def _respelled(node: JsonObject) -> tuple[JsonObject, Sequence[tuple[str, str, str]]]:
    """A node in today's spelling, and each change as member, old word and new word."""
    kind = str(node.get("type")).lower()
    changes = []
    if kind == "question":
        kind = "classify"
        node = node | {"type": kind}
        changes.append(("type", "question", kind))
    for old, (owner, new) in _OLD_MEMBERS.items():
        if old in node and kind == owner and node.get(new) is None:
            node = {(new if name == old else name): value for name, value in node.items() if name != new}
            changes.append((new, old, new))
    return node, changes


def _absent(document: JsonObject) -> Iterator[Problem]:
    for name in ("treeId", "startNodeId"):
        if document.get(name) is None:
            yield problem_at("member-missing", "error", f"The document must have a '{name}'.", name)
    nodes = document.get("nodes")
    for node_id, node in nodes.items() if isinstance(nodes, dict) else ():
        if isinstance(node, dict) and node.get("type") is None:
            yield problem_at(
                "member-missing", "error", f"Node '{node_id}' must have a 'type'.", "nodes", node_id, "type"
            )


def _understood(document: JsonObject) -> tuple[Tree, list[Problem]]:
    """The tree without the parts that cannot be understood, and a problem for each of those."""
    problems: list[Problem] = []
    while True:
        try:
            return Tree.model_validate(document, by_alias=True, by_name=False), problems
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                path = fault["loc"]
                if path[0] == "nodes":
                    # The third part names the kind of node that was tried.
                    path = path[:2] + path[3:]
                if fault["input"] is not None:
                    problems.append(problem_at("type-invalid", "error", _unfit(path, fault), *path))
                elif len(path) == 2 and path[0] == "nodes":
                    problems.append(
                        problem_at("node-null", "error", f"Decision tree node '{path[1]}' is null.", *path)
                    )
                _set_aside(document, path, absent=fault["input"] is None)


def _set_aside(document: JsonObject, path: Sequence[str | int], *, absent: bool) -> None:
    """Take out a part; where others are counted or named by it, an empty one stays in its place."""
    *parents, last = path
    holder = cast("dict[str | int, object]", document)
    for part in parents:
        holder = cast("dict[str | int, object]", holder[part])
    match path:
        case ["nodes", _] | ["nodes", _, "transitions", _]:
            holder[last] = {}
        case ["nodes", _, "transitions"] if not absent:
            holder[last] = [{}]
        case ["nodes", _, "answers"]:
            holder[last] = [""]
        case ["nodes", _, "answers", _]:
            holder[last] = ""
        case _:
            del holder[last]


def _unfit(path: Sequence[str | int], fault: ErrorDetails) -> str:
    inside = path
    words = []
    if len(path) > 1 and path[0] == "nodes":
        words, inside = [f"node '{path[1]}'"], path[2:]
    words += [f"item {part + 1}" if isinstance(part, int) else f"field '{part}'" for part in inside]
    what = ", ".join(words)
    return f"{what[0].upper()}{what[1:]} {reason(fault)}."


def _plain(value: object) -> object:
    """What a part of a tree is in JSON: its own members in file order, then those it does not know."""
    if not isinstance(value, Member):
        return str(value)
    fields = vars(value)
    members = {
        json_name: member
        for name, json_name in members_of(type(value)).items()
        if (member := fields[name]) is not None and (member or name != "transitions")
    }
    unknown = value.unknown_members
    return {**members, **unknown} if unknown else members


_TEXT: Final[JsonObject] = {"type": "string", "pattern": r"\S"}
_TEXT_OR_NULL: Final[JsonObject] = {"type": ["string", "null"], "pattern": r"\S"}
_COUNT: Final[JsonObject] = {"type": ["integer", "null"], "minimum": 1}

_SCHEMA_REQUIRED: Final = {
    "Tree": ("treeId", "version", "startNodeId", "nodes"),
    "Budget": (),
    "Transition": ("condition", "nextNodeId"),
    "ActionNode": ("type", "actionKey", "transitions"),
    "ClassifyNode": ("type", "task", "answers", "transitions"),
    "ConditionNode": ("type", "predicateKey", "transitions"),
    "TerminalNode": ("type", "verdict"),
}
_SCHEMA_SHAPES: Final[Mapping[str, JsonObject]] = {
    "treeId": _TEXT,
    "version": {"type": "integer", "minimum": 1},
    "startNodeId": _TEXT,
    "name": _TEXT_OR_NULL,
    "description": _TEXT_OR_NULL,
    "nodes": {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": r"\S"},
        "additionalProperties": {
            "oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in NODE_TYPES.values()]
        },
    },
    "maxNodeVisits": _COUNT,
    "maxLlmCalls": {"type": ["integer", "null"], "minimum": 0},
    "maxElapsedTime": {
        "type": ["string", "null"],
        "pattern": r"^([0-9]{1,8}\.)?([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,7})?$",
        "not": {"type": "string", "pattern": "^[0:.]*$"},
    },
    "maxContextTokens": _COUNT,
    "condition": _TEXT,
    "nextNodeId": _TEXT,
    "actionKey": _TEXT,
    "task": _TEXT,
    "answers": {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": _TEXT | {"not": {"const": UNKNOWN}},
    },
    "predicateKey": _TEXT,
    "predicateParameters": {"type": ["object", "null"]},
    "verdict": _TEXT,
}


def _without(value: object, names: set[str]) -> object:
    if isinstance(value, dict):
        return {name: _without(member, names) for name, member in value.items() if name not in names}
    return [_without(item, names) for item in value] if isinstance(value, list) else value
