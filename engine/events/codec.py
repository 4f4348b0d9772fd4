"""Events as JSON: one flat record an event, in camelCase, and back.

What other runtimes record too has their names: ``DecisionNodeVisited``, ``DecisionActionCompleted`` and
``DecisionClassificationCompleted``. Outcomes are plain words, times ISO 8601, durations seconds.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Final, Literal, cast, get_args, get_origin, get_type_hints

from engine.data import DataSummary
from engine.deciders import Attempt
from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    BudgetPassed,
    Classification,
    ClassificationCompleted,
    Event,
    ForeignEvent,
    NodeStarted,
    NodeVisited,
    RunEnded,
    RunResult,
    RunStarted,
    SubRunEvent,
    Visit,
    plain,
)
from engine.tree import Json, Tree
from engine.treefile import write_tree

EVENT_TYPES: Final[Mapping[str, type[Event]]] = {
    "DecisionRunStarted": RunStarted,
    "DecisionNodeStarted": NodeStarted,
    "DecisionActionCompleted": ActionCompleted,
    "DecisionAttemptCompleted": AttemptCompleted,
    "DecisionClassificationCompleted": ClassificationCompleted,
    "DecisionBudgetPassed": BudgetPassed,
    "DecisionNodeVisited": NodeVisited,
    "DecisionRunEnded": RunEnded,
    "DecisionSubRunEvent": SubRunEvent,
}
"""The kinds of events by the name their records have."""

_TYPE_NAMES: Final = {kind: name for name, kind in EVENT_TYPES.items()}

_ALSO_KNOWN: Final[dict[str, type[Event]]] = {}


def also_known(*kinds: type[Event]) -> None:
    """Have events that runs of other kinds tell written whole and read again, by the names of their classes.

    Within a record that may be kept they are only named.
    """
    _ALSO_KNOWN.update({kind.__name__: kind for kind in kinds})


def event_type(event: Event) -> str:
    """The name an event's records have, such as ``DecisionNodeVisited``."""
    return _TYPE_NAMES[type(event)]


def json_of(event: Event, *, whole: bool = False) -> dict[str, Json]:
    """An event as a record that may be kept: what quotes a run's inputs, data and prompts is left out.

    With ``whole`` nothing is left out, and the record of an action says in ``dataSummary`` what it produced.
    State that JSON cannot say is given as text.
    """
    record: dict[str, Json] = {"eventType": event_type(event), **_members(event, whole=whole)}
    if whole and isinstance(event, ActionCompleted):
        summary = event.data_summary
        record["dataSummary"] = None if summary is None else _members(summary, whole=whole)
    return record


def event_of(record: Mapping[str, Json]) -> Event:
    """The event a record tells of; what was left out of the record is empty.

    ``ValueError`` names the member that is missing or does not fit. Members that are not known are ignored.
    """
    kind = EVENT_TYPES.get(str(record.get("eventType")))
    if kind is None:
        raise ValueError("'eventType' names no event of a run.")
    return cast("Event", _part(kind, record))


# ------------------------------------------------------------------------------------------ the shape

# Only where a member is not called as the field is, in camelCase.
_NAMES: Final[Mapping[type, Mapping[str, str]]] = {
    Visit: {"number": "visit", "type": "nodeType", "next": "nextNodeId"},
    NodeStarted: {"type": "nodeType"},
    Attempt: {"number": "attempt"},
    Classification: {"attempts": "attempt", "at": "decidedAt"},
    DataSummary: {"previews": "contentPreviews"},
}
_SHARED_NAMES: Final = {"node": "nodeId", "at": "timestamp"}

# Fields whose own members stand in the record itself.
_INLINE: Final[Mapping[type, str]] = {
    NodeVisited: "visit",
    AttemptCompleted: "attempt",
    ClassificationCompleted: "classification",
    RunEnded: "result",
}

# What quotes the inputs of a run, its data or its prompts.
_PRIVATE: Final[Mapping[type, frozenset[str]]] = {
    RunStarted: frozenset({"parameters", "properties", "data"}),
    ActionCompleted: frozenset({"summary", "produced", "changed"}),
    Attempt: frozenset({"messages", "content"}),
    RunResult: frozenset({"state_properties"}),
}


@cache
def _names(kind: type) -> Mapping[str, str]:
    """The fields of a part, each with the member it is in JSON."""
    own = {**_SHARED_NAMES, **_NAMES.get(kind, {})}
    return {f.name: own.get(f.name) or _camel(f.name) for f in fields(kind)}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


# ------------------------------------------------------------------------------------------ writing


def _members(part: object, *, whole: bool) -> dict[str, Json]:
    kind: type = type(part)
    left_out = frozenset() if whole else _PRIVATE.get(kind, frozenset())
    members: dict[str, Json] = {}
    for field, name in _names(kind).items():
        if field in left_out:
            continue
        value = getattr(part, field)
        if field == _INLINE.get(kind):
            members |= _members(value, whole=whole)
        else:
            members[name] = _written(value, whole=whole)
    return members


def _foreign(event: Event, *, whole: bool) -> dict[str, Json]:
    """The record of what a run of another kind told: where it is not wanted whole, its name and no more."""
    read = event.record if isinstance(event, ForeignEvent) else {}
    name = read.get("eventType") if read else type(event).__name__
    if whole and type(event) is _ALSO_KNOWN.get(str(name)):
        return {"eventType": name, **_members(event, whole=True)}
    bare = Event(event.execution_id, event.at, trace_id=event.trace_id, correlation_id=event.correlation_id)
    return {**(read if whole else {}), "eventType": name, **_members(bare, whole=False)}


def _written(value: object, *, whole: bool) -> Json:
    match value:
        case Tree():
            # A record names its tree; to carry it along is for those who want everything.
            document = value if whole else Tree(tree_id=value.tree_id, version=value.version)
            return cast("Json", json.loads(write_tree(document)))
        case datetime():
            return value.isoformat()
        case tuple() | list():
            return [_written(item, whole=whole) for item in value]
        case Event():
            kept = type(value) in _TYPE_NAMES
            return json_of(value, whole=whole) if kept else _foreign(value, whole=whole)
        case _ if is_dataclass(value):
            return _members(value, whole=whole)
        case _:
            return plain(value)


# ------------------------------------------------------------------------------------------ reading


def _part(kind: type, record: Mapping[str, Json]) -> object:
    hints, names = _hints(kind), _names(kind)
    given: dict[str, object] = {}
    for field in fields(kind):
        name, hint = names[field.name], hints[field.name]
        if field.name == _INLINE.get(kind):
            given[field.name] = _part(cast("type", hint), record)
        elif name in record:
            given[field.name] = _read(hint, record[name], name)
        elif field.name in _PRIVATE.get(kind, ()):
            empty = _EMPTY.get(get_origin(hint))
            given[field.name] = None if empty is None else empty()
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"'{name}' is missing.")
    made: object = kind(**given)
    return made


@cache
def _hints(kind: type) -> Mapping[str, object]:
    return get_type_hints(kind)


_EMPTY: Final[Mapping[object, type]] = {Mapping: dict, tuple: tuple, Sequence: tuple}


def _read(hint: object, value: Json, name: str) -> object:
    """The value of a member, held against the type its field has."""
    origin, parts = get_origin(hint), get_args(hint)
    if NoneType in parts:
        (hint,) = (part for part in parts if part is not NoneType)
        return None if value is None else _read(hint, value, name)
    match value:
        case list() if origin in (tuple, Sequence):
            return tuple(_read(parts[0], item, name) for item in value)
        case dict() if origin is Mapping:
            return {key: _read(parts[1], member, name) for key, member in value.items()}
        case dict() if hint is Event:
            told = str(value.get("eventType"))
            return _part(EVENT_TYPES[told], value) if told in EVENT_TYPES else _foreign_of(told, value)
        case dict() if isinstance(hint, type) and is_dataclass(hint):
            return _part(hint, value)
    try:
        return _single(hint, value)
    except ValueError:
        raise ValueError(f"'{name}' does not fit.") from None


def _foreign_of(told: str, record: Mapping[str, Json]) -> object:
    """What a run of another kind told; as it is written where that is not known, or no more than a name."""
    with suppress(ValueError, KeyError):
        return _part(_ALSO_KNOWN[told], record)
    return _part(ForeignEvent, {**record, "record": dict(record)})


def _single(hint: object, value: Json) -> object:
    match value:
        case str() if hint is datetime:
            return datetime.fromisoformat(value)
        case int() if hint is float and not isinstance(value, bool):
            return float(value)
        case dict() if hint is Tree:
            return Tree.model_validate(value, by_alias=True, by_name=False)
    if (
        hint in (object, Json)
        or type(value) is hint
        or (get_origin(hint) is Literal and value in get_args(hint))
    ):
        return value
    raise ValueError(hint)
