"""The record file's lines, version 1: one item, one line of JSON without its line feed.

Members this version does not know are skipped when a line is read. Problems name members of the format,
never what a line holds.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, TypeVar, cast, get_args

from engine.deciders import ProbabilitySource, UnknownReason
from engine.deciders.asked import (
    ERROR_KINDS,
    QUESTION_KINDS,
    Answer,
    AskedQuestion,
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    TokenUsage,
)
from engine.errors import DocumentRefused, TreewrightError
from engine.jsontext import Json, parse
from engine.records.record import Confirmed, Erasure, Item, Outcome, Record, Signal, TreePlace


class RecordProblem(TreewrightError):
    """A line that cannot be used; ``code`` is one of the documented problem codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def line_of(item: Item) -> bytes:
    """The line of an item, without the line feed that ends it in a file."""
    return _ENCODE(_clean(_members(item))).encode("ascii")


_ENCODE: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def item_of(line: bytes) -> Item:
    """The item a line holds; raises :class:`RecordProblem`."""
    try:
        value = parse(line)
    except DocumentRefused as refused:
        raise RecordProblem(*_REFUSALS.get(refused.code, _NOT_JSON)) from None
    if not isinstance(value, dict):
        raise RecordProblem("not-object", "The line is not a JSON object.")
    version = _needed(value, "version")
    if version != 1 or isinstance(version, bool):
        raise RecordProblem("unsupported-version", "The line is not of version 1.")
    read = {"record": _record, "outcome": _outcome, "erasure": _erasure}.get(_text(value, "kind"))
    if read is None:
        raise RecordProblem("unknown-kind", "The line is neither a record nor an outcome nor an erasure.")
    try:
        return read(value)
    except ValueError as error:
        raise RecordProblem("invalid-field", str(error)) from None


_NOT_JSON: Final = ("not-json", "The line is not JSON.")
_REFUSALS: Final = {
    "json-encoding": ("not-utf8", "The line is not UTF-8 text."),
    "json-too-large": ("line-too-long", "The line is longer than 16 MB."),
    "json-too-deep": ("too-deep", "The line nests its values more than 64 deep."),
    "json-duplicate-key": ("duplicate-member", "The line has the same member twice."),
}

# -- writing -------------------------------------------------------------------------------------------


def _members(item: Item) -> dict[str, Json]:
    match item:
        case Record():
            return _present(
                kind="record",
                version=1,
                decisionId=item.decision_id,
                erasureKey=item.erasure_key,
                started=_written(item.started),
                latencyMs=item.latency_ms,
                provider=item.provider,
                endpoint=item.endpoint,
                defaultModel=item.default_model,
                requestedModel=item.requested_model,
                servedModel=item.served_model,
                responseId=item.response_id,
                upstreamProvider=item.upstream_provider,
                usage=item.usage
                and _present(
                    inputTokens=item.usage.input_tokens,
                    outputTokens=item.usage.output_tokens,
                    cost=item.usage.cost,
                ),
                cached=item.cached,
                questions={key: question.as_json() for key, question in item.questions.items()},
                state=item.state,
                imageCount=item.image_count,
                imageHashes=list(item.image_hashes) or None,
                answers=None if item.answers is None else [_answer_members(a) for a in item.answers],
                errorKind=item.error_kind,
                refusedKeys=list(item.refused_keys) or None,
                xTree=item.tree and _place_members(item.tree),
            )
        case Confirmed():
            return {**_outcome_members(item, "confirmed"), "confirmed": dict(item.answers)}
        case Signal():
            own = _present(name=item.name, value=item.value, note=item.note)
            return {**_outcome_members(item, "signal"), **own}
        case Erasure():
            return _present(kind="erasure", version=1, erasureKey=item.key, decisionId=item.decision_id)


def _answer_members(answer: Answer) -> dict[str, Json]:
    match answer:
        case NoulAnswer():
            own = _present(kind="noul", probability=answer.probability, confidence=answer.confidence)
        case ChoiceAnswer():
            own = _present(
                kind="choice",
                chosenIndex=answer.chosen_index,
                confidence=answer.confidence,
                probabilities=list(answer.probabilities),
            )
        case ScoreAnswer():
            own = _present(
                kind="score",
                chosenIndex=answer.chosen_index,
                expected=answer.expected,
                confidence=answer.confidence,
                probabilities=list(answer.probabilities),
            )
    return {"key": answer.key, **own}


def _place_members(place: TreePlace) -> dict[str, Json]:
    return _present(
        treeId=place.tree_id,
        treeVersion=place.tree_version,
        treeHash=place.tree_hash,
        executionId=place.execution_id,
        nodeId=place.node,
        visit=place.visit,
        transition=place.transition,
        unknownReason=place.unknown_reason,
        minConfidence=place.min_confidence,
        probabilitySource=place.probability_source,
        statedConfidence=place.stated_confidence,
        llmCalls=None if place.llm_calls == 1 else place.llm_calls,
        failover=list(place.failover) or None,
    )


def _outcome_members(outcome: Outcome, kind: str) -> dict[str, Json]:
    return {
        "kind": "outcome",
        "version": 1,
        "decisionId": outcome.decision_id,
        "type": kind,
        "source": outcome.source,
        "at": _written(outcome.at),
    }


def _present(**members: object) -> dict[str, Json]:
    return {name: cast("Json", value) for name, value in members.items() if value is not None}


def _written(at: datetime) -> str:
    """ISO 8601 with a numeric offset, and a fraction of a second only where there is one."""
    fraction = f".{at.microsecond:06}".rstrip("0") if at.microsecond else ""
    whole = at.replace(microsecond=0).isoformat()
    return whole[:19] + fraction + whole[19:]


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x1f]")
_EXACT: Final = 1 << 53


def _clean(value: Json) -> Json:
    """The value in the format's spelling, which every reader takes: 95 for 95.0, no half of a pair."""
    if isinstance(value, str):
        # Nearly every text is plain, which is quicker to see than to search.
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_clean_name(name): _clean(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value


def _clean_name(name: str) -> str:
    if name.isascii() and name.isprintable():
        return name
    return _CONTROL.sub("\ufffd", _SURROGATE.sub("\ufffd", name))


# -- reading -------------------------------------------------------------------------------------------

_Members = Mapping[str, Json]
_T = TypeVar("_T")


def _record(members: _Members) -> Record:
    questions = {key: _question(asked) for key, asked in _held(members, "questions", dict).items()}
    answers = _optional(members, "answers", list)
    error_kind = _optional(members, "errorKind", str)
    if answers is not None and error_kind is not None:
        raise RecordProblem("answers-and-error", "The record has both answers and an error kind.")
    if answers is None and error_kind is None:
        raise RecordProblem("neither", "The record has neither answers nor an error kind.")
    state = _needed(members, "state")
    if not isinstance(state, str | dict | list):
        raise _wrong("state")
    refused = _texts(members, "refusedKeys") if error_kind == "Refused" else ()
    return Record(
        decision_id=_text(members, "decisionId"),
        erasure_key=_optional(members, "erasureKey", str),
        started=_time(members, "started"),
        latency_ms=_number(members, "latencyMs"),
        provider=_text(members, "provider"),
        endpoint=_text(members, "endpoint"),
        default_model=_text(members, "defaultModel"),
        requested_model=_optional(members, "requestedModel", str),
        served_model=_optional(members, "servedModel", str),
        response_id=_optional(members, "responseId", str),
        upstream_provider=_optional(members, "upstreamProvider", str),
        usage=_usage(members),
        cached=_held(members, "cached", bool),
        questions=questions,
        state=state,
        image_count=_count(members, "imageCount"),
        image_hashes=_texts(members, "imageHashes"),
        answers=None if answers is None else tuple(_answer(answer, questions) for answer in answers),
        error_kind=None
        if error_kind is None
        else _one_of(error_kind, ERROR_KINDS, "unknown-error-kind", "error kind"),
        refused_keys=refused,
        tree=_place(members),
    )


def _question(value: Json) -> AskedQuestion:
    if not isinstance(value, dict):
        raise _wrong("questions")
    kind = _one_of(_text(value, "type"), QUESTION_KINDS, "unknown-question-type", "question type")
    criteria = value.get("criteria")
    expected = {"noul": dict | None, "choice": dict, "score": list}[kind]
    if not isinstance(criteria, expected):
        raise _wrong("criteria")
    return AskedQuestion(kind, value.get("instructions"), criteria)


def _answer(value: Json, questions: Mapping[str, AskedQuestion]) -> Answer:
    if not isinstance(value, dict):
        raise _wrong("answers")
    key = _text(value, "key")
    kind = _one_of(_text(value, "kind"), QUESTION_KINDS, "unknown-answer-kind", "answer kind")
    asked = questions.get(key)
    if asked is None or asked.kind != kind:
        raise RecordProblem("answer-without-question", "An answer has no question of its kind.")
    confidence = _share(value, "confidence")
    if kind == "noul":
        return NoulAnswer(key, _share(value, "probability"), confidence)
    chosen = _count(value, "chosenIndex")
    probabilities = tuple(_shares(value, "probabilities"))
    if not chosen < len(asked.options) == len(probabilities):
        raise RecordProblem("index-out-of-range", "An answer does not fit the options of its question.")
    if kind == "choice":
        return ChoiceAnswer(key, chosen, confidence, probabilities)
    return ScoreAnswer(key, chosen, _number(value, "expected"), confidence, probabilities)


def _usage(members: _Members) -> TokenUsage | None:
    usage = _optional(members, "usage", dict)
    if usage is None:
        return None
    cost = None if usage.get("cost") is None else _number(usage, "cost")
    return TokenUsage(_count(usage, "inputTokens"), _count(usage, "outputTokens"), cost)


def _place(members: _Members) -> TreePlace | None:
    """Where the decision was made, if that can be read: another writer's member of this name is not ours."""
    place = members.get("xTree")
    if not isinstance(place, dict):
        return None
    reason, source = place.get("unknownReason"), place.get("probabilitySource")
    try:
        return TreePlace(
            tree_id=_text(place, "treeId"),
            tree_version=_count(place, "treeVersion"),
            tree_hash=_optional(place, "treeHash", str),
            execution_id=_text(place, "executionId"),
            node=_text(place, "nodeId"),
            visit=_count(place, "visit"),
            transition=_optional(place, "transition", str),
            unknown_reason=cast("UnknownReason", reason) if reason in get_args(UnknownReason) else None,
            min_confidence=None if place.get("minConfidence") is None else _share(place, "minConfidence"),
            probability_source=cast("ProbabilitySource", source)
            if source in get_args(ProbabilitySource)
            else None,
            stated_confidence=_optional(place, "statedConfidence", str),
            llm_calls=1 if place.get("llmCalls") is None else _count(place, "llmCalls"),
            failover=_texts(place, "failover"),
        )
    except RecordProblem:
        return None


def _outcome(members: _Members) -> Outcome:
    kind = _text(members, "type")
    decision_id, source, at = _text(members, "decisionId"), _text(members, "source"), _time(members, "at")
    if kind == "confirmed":
        answers = _held(members, "confirmed", dict)
        for answer in answers.values():
            if not isinstance(answer, str | int):
                raise _wrong("confirmed")
        return Confirmed(decision_id, source, at, cast("dict[str, str | int | bool]", answers))
    if kind == "signal":
        value = None if members.get("value") is None else _number(members, "value")
        note = _optional(members, "note", str)
        return Signal(decision_id, source, at, _text(members, "name"), value, note)
    raise RecordProblem("unknown-outcome-type", "The outcome is neither confirmed nor a signal.")


def _erasure(members: _Members) -> Erasure:
    key, decision_id = _optional(members, "erasureKey", str), _optional(members, "decisionId", str)
    try:
        return Erasure(key=key, decision_id=decision_id)
    except ValueError as error:
        raise RecordProblem("erasure-target", str(error)) from None


# Members by type. None and an absent member are the same where a member is optional.


def _needed(members: _Members, name: str) -> Json:
    if name not in members:
        raise RecordProblem("missing-field", f"The member '{name}' is missing.")
    return members[name]


def _wrong(name: str) -> RecordProblem:
    return RecordProblem("invalid-field", f"The member '{name}' does not hold what it should.")


def _optional(members: _Members, name: str, kind: type[_T]) -> _T | None:
    value = members.get(name)
    if value is not None and not isinstance(value, kind):
        raise _wrong(name)
    return value


def _held(members: _Members, name: str, kind: type[_T]) -> _T:
    value = _needed(members, name)
    if not isinstance(value, kind):
        raise _wrong(name)
    return value


def _text(members: _Members, name: str) -> str:
    return _held(members, name, str)


def _number(members: _Members, name: str) -> float:
    value = _needed(members, name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name)
    return value


def _count(members: _Members, name: str) -> int:
    value = _number(members, name)
    if value < 0 or value != int(value):
        raise _wrong(name)
    return int(value)


def _share(members: _Members, name: str) -> float:
    value = _number(members, name)
    if not 0 <= value <= 1:
        raise RecordProblem("number-range", f"The member '{name}' is not between 0 and 1.")
    return value


def _shares(members: _Members, name: str) -> list[float]:
    return [_share({name: value}, name) for value in _held(members, name, list)]


def _texts(members: _Members, name: str) -> tuple[str, ...]:
    values = _optional(members, name, list) or []
    if not all(isinstance(value, str) for value in values):
        raise _wrong(name)
    return tuple(values)


def _time(members: _Members, name: str) -> datetime:
    text = _text(members, name)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.utcoffset() is None:
        raise RecordProblem("bad-time", f"The member '{name}' is no date and time with an offset.")
    return at


_Word = TypeVar("_Word", bound=str)


def _one_of(word: str, words: tuple[_Word, ...], code: str, what: str) -> _Word:
    for known in words:
        if word == known:
            return known
    raise RecordProblem(code, f"The {what} is not known to this version.")
