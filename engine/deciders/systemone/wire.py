"""How questions and answers are written: the System One wire, its relatives, and what their errors mean.

Answers are read strictly. What is rounded is taken as it is; what contradicts itself or the question is no
answer.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Literal, NamedTuple, TypeAlias

from engine.deciders.asked import (
    Answer,
    AskedQuestion,
    ChoiceAnswer,
    ErrorKind,
    NoulAnswer,
    ScoreAnswer,
    TokenUsage,
    choice_confidence,
    kind_of_status,
    likeliest,
    noul_confidence,
    one_hot,
    score_confidence,
)
from engine.deciders.systemone.client import DecisionError, DecisionRequest, DecisionResult, Image, ModelInfo
from engine.errors import DocumentRefused
from engine.http import HttpReply
from engine.jsontext import Json, parse
from engine.llm.failures import is_transient_status

Document: TypeAlias = Mapping[str, Json]
Images: TypeAlias = Literal["assets", "base64", "data-urls"]
"""How images are sent, where they can be."""


class _Misread(Exception):
    """An answer that cannot be read; the text may name a question, never what was sent."""


class SystemOne:
    """The wire itself. A ``lenient`` reader fills in what brokers may leave out of an answer."""

    def __init__(self, images: Images | None = None, *, lenient: bool = False) -> None:
        self.images, self._lenient = images, lenient

    def body(self, request: DecisionRequest, model: str) -> dict[str, Json]:
        """What is sent for a request."""
        body: dict[str, Json] = {
            "state": request.state,
            "model": model,
            "questions": {key: asked.as_json() for key, asked in request.questions.items()},
        }
        if self.images and request.images:
            body |= _IMAGES[self.images](request.images)
        return body

    def result(self, request: DecisionRequest, reply: HttpReply) -> DecisionResult:
        """What a reply says: answers, or why there are none."""
        document = _object(_json(reply.body))
        if not 200 <= reply.status <= 299 or self._is_fault(document):
            return DecisionResult(error=self.error(reply))
        result = DecisionResult()
        try:
            document = self._unwrapped(request, document)
            result = _envelope(document, reply)
            read = list(self._answers(request, document.get("answers")))
        except _Misread as misread:
            return replace(result, error=DecisionError("InvalidResponse", str(misread), reply.status))
        answers = [one for one in read if one is not None]
        if len(answers) < len(read):
            refused = tuple(key for key, one in zip(request.questions, read, strict=True) if one is None)
            said = "The model refused to answer."
            return replace(result, error=DecisionError("Refused", said, reply.status, refused_keys=refused))
        return replace(
            result,
            answers=tuple(one.answer for one in answers),
            probability_source="model" if all(one.is_whole for one in answers) else "onehot",
        )

    def error(self, reply: HttpReply) -> DecisionError:
        """What a reply that is no success means."""
        document = _json(reply.body)
        return DecisionError(
            kind=kind_of_status(reply.status),
            message=_message(document) or reply.body.decode(errors="replace").strip()[:_LONGEST_QUOTE],
            status=reply.status,
            transient=is_transient_status(reply.status),
            retry_after=reply.retry_after,
        )

    def _is_fault(self, document: Document) -> bool:
        """Whether a reply that calls itself a success is none."""
        return False

    def _unwrapped(self, request: DecisionRequest, document: Document) -> Document:
        """The document of this wire inside a reply."""
        return document

    def _answers(self, request: DecisionRequest, answers: Json) -> "Iterator[_Read | None]":
        if not isinstance(answers, dict):
            raise _Misread("The reply has no answers.")
        for key, asked in request.questions.items():
            answer = answers.get(key)
            if not isinstance(answer, dict):
                raise _Misread(f"There is no answer to '{key}'.")
            kind = answer.get("type")
            if kind == "refusal":
                yield None
            elif kind != asked.kind:
                raise _Misread(f"The answer to '{key}' is not of the type of its question.")
            else:
                yield _READERS[asked.kind](_Asked(key, asked, answer, self._lenient))


class Cloudflare(SystemOne):
    """The wire in the envelope of Cloudflare's interface, with codes of its own."""

    def __init__(self) -> None:
        super().__init__("data-urls")

    def error(self, reply: HttpReply) -> DecisionError:
        error = super().error(reply)
        errors = _object(_json(reply.body)).get("errors")
        first = _object(errors[0]) if isinstance(errors, list) and errors else {}
        code, message = first.get("code"), _text(first.get("message")) or error.message
        kind, transient = error.kind, error.transient
        if isinstance(code, int) and code in _CLOUDFLARE:
            kind, transient = _CLOUDFLARE[code]
        return DecisionError(kind, message, reply.status, transient, reply.retry_after)

    def _is_fault(self, document: Document) -> bool:
        return document.get("success") is False

    def _unwrapped(self, request: DecisionRequest, document: Document) -> Document:
        return _object(document.get("result"))


class OpenAi(SystemOne):
    """The decisions endpoint of OpenAI: questions and answers are lists, and a noul is a predicate."""

    def body(self, request: DecisionRequest, model: str) -> dict[str, Json]:
        state = request.state
        return {
            "model": model,
            "input": state if isinstance(state, str) else [{"role": "user", "content": _as_text(state)}],
            "questions": [_openai_question(key, asked) for key, asked in request.questions.items()],
        }

    def _unwrapped(self, request: DecisionRequest, document: Document) -> Document:
        answers = document.get("answers")
        if not isinstance(answers, list) or len(answers) != len(request.questions):
            raise _Misread("The reply does not have one answer to each question.")
        asked = zip(request.questions.items(), answers, strict=True)
        return {**document, "answers": {key: _from_openai(one.kind, answer) for (key, one), answer in asked}}


def models_of(reply: HttpReply) -> tuple[ModelInfo, ...] | None:
    """The models a reply lists; None where it is no list of models."""
    listed = _object(_json(reply.body)).get("models")
    if not isinstance(listed, list):
        return None
    return tuple(
        ModelInfo(name, _text(model.get("description")), _text(model.get("release_date")))
        for model in map(_object, listed)
        if (name := _text(model.get("name")))
    )


# -- images --------------------------------------------------------------------------------------------


def _base64(image: Image) -> str:
    return b64encode(image.data).decode("ascii")


_IMAGES: Final[Mapping[Images, Callable[[Sequence[Image]], dict[str, Json]]]] = {
    "assets": lambda images: {
        "assets": {
            image.placeholder: {"type": "image", "format": image.format, "data_base64": _base64(image)}
            for image in images
        }
    },
    "base64": lambda images: {"images": [_base64(image) for image in images]},
    "data-urls": lambda images: {
        "images": [f"data:image/{image.format};base64,{_base64(image)}" for image in images]
    },
}


# -- answers -------------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """An answer, and whether nothing of its probabilities had to be filled in."""

    answer: Answer
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question and its answer as it came."""

    key: str
    question: AskedQuestion
    members: Document
    lenient: bool

    def wrong(self, member: str) -> _Misread:
        return _Misread(f"The answer to '{self.key}' has no usable '{member}'.")

    def number(self, member: str, most: float = 1.0) -> float:
        """A member that is a number from 0 up."""
        number = _number(self.members.get(member), most)
        if number is None:
            raise self.wrong(member)
        return number

    def probabilities(self, names: Sequence[str]) -> tuple[float, ...] | None:
        """A probability for each name, 0 for one that is not there; None where a broker leaves them out."""
        given = self.members.get("probabilities")
        if given is None and self.lenient:
            return None
        if not isinstance(given, dict) or not given.keys() <= set(names):
            raise self.wrong("probabilities")
        found = [number for name in names if (number := _number(given.get(name, 0), 1)) is not None]
        # Each of many options may be rounded by half a hundredth.
        off = max(2 * _ROUNDED, len(names) * _ROUNDED / 2)
        if len(found) < len(names) or abs(sum(found) - 1) > off + _EXACT:
            raise self.wrong("probabilities")
        return tuple(found)

    def confidence(self, otherwise: float) -> float:
        """The confidence that was served; a broker may leave it out."""
        left_out = self.lenient and self.members.get("confidence") is None
        return otherwise if left_out else self.number("confidence")


_ROUNDED: Final = 0.01
"""What two numbers may differ by that were rounded to two decimals."""
_EXACT: Final = 1e-9


def _number(value: Json, most: float) -> float | None:
    """A number from 0 to ``most``, brought back into these borders where rounding led out of them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return min(max(float(value), 0.0), most) if -_ROUNDED <= value <= most + _ROUNDED else None


def _noul(asked: _Asked) -> _Read:
    probability = asked.number("noul")
    return _Read(NoulAnswer(asked.key, probability, noul_confidence(probability)))


def _choice(asked: _Asked) -> _Read:
    options, chosen = asked.question.options, asked.members.get("choice")
    if not isinstance(chosen, str) or chosen not in options:
        raise asked.wrong("choice")
    index = options.index(chosen)
    given = asked.probabilities(options)
    probabilities = one_hot(index, len(options)) if given is None else given
    if probabilities[index] < max(probabilities) - _ROUNDED:
        raise asked.wrong("choice")
    confidence = asked.confidence(choice_confidence(probabilities))
    return _Read(ChoiceAnswer(asked.key, index, confidence, probabilities), given is not None)


def _score(asked: _Asked) -> _Read:
    levels = asked.question.options
    expected = asked.number("score", len(levels) - 1)
    given = asked.probabilities(levels)
    probabilities = one_hot(round(expected), len(levels)) if given is None else given
    if not isinstance(asked.members.get("legend"), dict) and not asked.lenient:
        raise asked.wrong("legend")
    confidence = asked.confidence(score_confidence(probabilities))
    answer = ScoreAnswer(asked.key, likeliest(probabilities), expected, confidence, probabilities)
    return _Read(answer, given is not None)


_READERS: Final[Mapping[str, Callable[[_Asked], _Read]]] = {"noul": _noul, "choice": _choice, "score": _score}


def _envelope(document: Document, reply: HttpReply) -> DecisionResult:
    """What a reply says besides its answers."""
    model = _text(document.get("model"))
    if not model:
        raise _Misread("The reply names no model.")
    return DecisionResult(
        served_model=model,
        response_id=_text(document.get("id")) or _request_id(reply.headers),
        upstream_provider=_text(document.get("provider")),
        usage=_usage(document.get("usage")),
    )


def _usage(reported: Json) -> TokenUsage | None:
    usage = _object(reported)
    sent, received = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
    cost = _number(usage.get("cost"), inf)
    if sent is None and received is None and cost is None:
        return None
    return TokenUsage(sent or 0, received or 0, cost)


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# -- errors --------------------------------------------------------------------------------------------

_LONGEST_QUOTE: Final = 200

_CLOUDFLARE: Final[Mapping[int, tuple[ErrorKind, bool]]] = {
    3036: ("RateLimited", False),  # the allowance of the day is used up
    3040: ("Overloaded", True),
    5006: ("Validation", False),
}
_REQUEST_IDS: Final = ("x-typesafe-request-id", "x-request-id", "cf-ray")


def _request_id(headers: Mapping[str, str]) -> str | None:
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)


def _message(document: Json) -> str | None:
    """What a body says went wrong, in the first of the places where providers put it."""
    if isinstance(document, str):
        return document
    body = _object(document)
    error, detail = body.get("error"), body.get("detail")
    for said in (
        error,
        _object(error).get("message"),
        body.get("message"),
        detail,
        _object(detail).get("message"),
    ):
        if isinstance(said, str) and said:
            return said
    found = [_fault(_object(fault)) for fault in detail] if isinstance(detail, list) else []
    return "; ".join(filter(None, found)) or None


def _fault(fault: Document) -> str | None:
    place, said = fault.get("loc"), _text(fault.get("msg"))
    path = ".".join(str(part) for part in place if part != "body") if isinstance(place, list) else ""
    return f"{path}: {said}" if said and path else said


# -- OpenAI --------------------------------------------------------------------------------------------


def _openai_question(key: str, asked: AskedQuestion) -> dict[str, Json]:
    criteria = asked.criteria
    instructions = _as_text(asked.instructions)
    if asked.kind == "choice" and isinstance(criteria, dict):
        own: dict[str, Json] = {
            "type": "choice",
            "choices": [
                {"value": option, **({} if said is None else {"description": _as_text(said)})}
                for option, said in criteria.items()
            ],
        }
    elif asked.kind == "score" and isinstance(criteria, list):
        own = {"type": "score", "levels": [{"label": _as_text(level)} for level in criteria]}
    else:
        own = {"type": "predicate"}
        said = [f"{answer}: {_as_text(meaning)}" for answer, meaning in _object(criteria).items()]
        instructions = "\n".join(filter(None, (instructions, *said)))
    return {"name": key, **own, "instructions": instructions}


def _from_openai(kind: str, answer: Json) -> Json:
    """One answer as this wire would have put it."""
    members = _object(answer)
    if members.get("type") == "refusal":
        return {"type": "refusal"}
    if kind == "noul":
        return {"type": "noul", "noul": members.get("probability")}
    listed = members.get("probabilities")
    each = [_object(one) for one in listed] if isinstance(listed, list) else []
    return {
        **members,
        "type": kind,
        "probabilities": {str(one.get("value")): one.get("probability") for one in each} if each else None,
        "legend": {str(one.get("value")): one.get("label") for one in each},
    }


def _as_text(content: Json) -> str:
    return content if isinstance(content, str) else "" if content is None else json.dumps(content)


# -- JSON ----------------------------------------------------------------------------------------------


def _json(body: bytes) -> Json:
    with suppress(DocumentRefused):
        return parse(body)
    return None


def _object(value: Json) -> Document:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
