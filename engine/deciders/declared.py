"""A language model as a decision client: it declares its answers in one JSON object, and is held to it.

What a text says is no measurement: where it gives no numbers, all of the probability is on what it names.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from engine.deciders import ProbabilitySource
from engine.deciders.asked import (
    Answer,
    AskedQuestion,
    NoulAnswer,
    TokenUsage,
    kind_of_error,
    noul_confidence,
    one_hot,
)
from engine.deciders.offline import distributed
from engine.deciders.parser import unfenced
from engine.deciders.systemone.client import DecisionError, DecisionRequest, DecisionResult, ModelInfo
from engine.errors import DocumentRefused, LlmError
from engine.jsontext import Json, parse
from engine.llm import Completion, LlmClient, Message, Request

ATTEMPTS: Final = 2
"""One re-ask only: a second reply that cannot be used is a failed decision."""

_POLICY: Final = (
    "You are given a state and questions about it. Answer every question by its id, from the state alone. "
    "Reply with one JSON object and nothing else: each id with its answer. The answer to a choice is one of "
    "its options, word for word; to a score the number of a level, counted from 0; to a noul true or false. "
    "If you can tell how likely each answer is, give instead an object of options or levels with their "
    "probabilities, or for a noul the probability of true."
)
_AGAIN: Final = "This reply cannot be used: {why} Reply with the JSON object alone."
_EXACT: Final = 0.01
"""What probabilities may differ by from a sum of one: models round them."""


class _Misread(Exception):
    """What keeps a reply from being used, in words that quote nothing but ids."""


class _Said(NamedTuple):
    """An answer, and whether it is more than the name of an option."""

    answer: Answer
    in_numbers: bool


class DeclaredClient:
    """Asks a language model the questions of a decision, at most twice. Each reply is an LLM call."""

    def __init__(self, client: LlmClient, model: str | None = None) -> None:
        self._client = client
        self.provider, self.endpoint = client.provider, client.endpoint
        self.model = model or client.model

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        """Ask all questions at once. Whatever the model does wrong is in the result."""
        if request.images:
            return DecisionResult(error=DecisionError("Unsupported", "The endpoint takes no images."))
        asked = {key: question.as_json() for key, question in request.questions.items()}
        text = json.dumps({"state": request.state, "questions": asked}, ensure_ascii=False)
        messages = [Message("system", _POLICY), Message("user", text)]
        replies: list[Completion] = []
        for number in range(1, ATTEMPTS + 1):
            try:
                reply = await self._client.complete(
                    Request(tuple(messages), model=request.model or self.model)
                )
            except LlmError as error:
                return self._result(replies, number, error=_failure(error))
            replies.append(reply)
            if reply.refusal or reply.finish_reason == "content_filter":
                said = DecisionError("Refused", "The model refused to answer.")
                return self._result(replies, number, error=said)
            try:
                read = list(_read(reply.content or "", request.questions))
            except _Misread as misread:
                why = str(misread)
                messages += [
                    Message("assistant", reply.content or ""),
                    Message("user", _AGAIN.format(why=why)),
                ]
                continue
            source: ProbabilitySource = "verbalized" if all(one.in_numbers for one in read) else "onehot"
            return self._result(
                replies, number, answers=tuple(one.answer for one in read), probability_source=source
            )
        return self._result(replies, ATTEMPTS, error=DecisionError("InvalidResponse", why))

    def _result(
        self,
        replies: list[Completion],
        calls: int,
        *,
        answers: tuple[Answer, ...] | None = None,
        error: DecisionError | None = None,
        probability_source: ProbabilitySource = "onehot",
    ) -> DecisionResult:
        last = replies[-1] if replies else None
        reported = any(reply.input_tokens is not None for reply in replies)
        return DecisionResult(
            answers=answers,
            error=error,
            served_model=(last.model or self.model) if last else None,
            response_id=last.response_id if last else None,
            usage=TokenUsage(
                sum(reply.input_tokens or 0 for reply in replies),
                sum(reply.output_tokens or 0 for reply in replies),
            )
            if reported
            else None,
            probability_source=probability_source,
            attempts=calls,
            calls=calls,
        )

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The one it asks."""
        return (ModelInfo(self.model),)

    async def close(self) -> None:
        """Give back connections."""
        await self._client.close()


def _failure(error: LlmError) -> DecisionError:
    kind = kind_of_error(error)
    return DecisionError(kind, str(error), error.status, error.transient, error.retry_after)


def _read(reply: str, questions: Mapping[str, AskedQuestion]) -> Iterator[_Said]:
    try:
        document = parse(unfenced(reply).strip().encode(errors="surrogatepass"))
    except DocumentRefused as refused:
        raise _Misread(f"It is not one JSON object ({refused.code}).") from None
    if not isinstance(document, dict):
        raise _Misread("It is not one JSON object.")
    for key, asked in questions.items():
        if key not in document:
            raise _Misread(f"There is no answer to '{key}'.")
        said = _noul(key, document[key]) if asked.kind == "noul" else _chosen(key, asked, document[key])
        if said is None:
            raise _Misread(f"The answer to '{key}' does not fit the question.")
        yield said


def _noul(key: str, said: Json) -> _Said | None:
    probability = float(said) if isinstance(said, bool) else _number(said)
    if probability is None:
        return None
    return _Said(NoulAnswer(key, probability, noul_confidence(probability)), not isinstance(said, bool))


def _chosen(key: str, asked: AskedQuestion, said: Json) -> _Said | None:
    options = asked.options
    if isinstance(said, dict):
        numbers = [_number(said.get(option, 0)) for option in options]
        whole = [number for number in numbers if number is not None]
        if len(whole) < len(numbers) or not said.keys() <= set(options) or abs(sum(whole) - 1) > _EXACT:
            return None
        return _Said(distributed(key, asked.kind, whole), in_numbers=True)
    name = str(said) if asked.kind == "score" and isinstance(said, int) else said
    if not isinstance(name, str) or name not in options:
        return None
    return _Said(distributed(key, asked.kind, one_hot(options.index(name), len(options))), in_numbers=False)


def _number(value: Json) -> float | None:
    """A probability; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None
