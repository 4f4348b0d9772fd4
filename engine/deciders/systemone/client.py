"""Asking a decision model: a state and questions in, answers or one error out; and stages around a client.

A client never raises for what a provider does wrong. Stages are clients around clients: recording outermost,
then the cache, then retries.
"""

import asyncio
import hashlib
import json
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from engine.budget import Clock, SystemClock
from engine.deciders import ProbabilitySource
from engine.deciders.asked import Answer, AskedQuestion, ErrorKind, TokenUsage
from engine.errors import LlmError, LlmErrorKind
from engine.jsontext import Json

log: Final = logging.getLogger(__name__)

ATTEMPT_RETRYING: Final = 1003

ImageFormat: TypeAlias = Literal["png", "jpeg"]
_SIGNATURES: Final[dict[bytes, ImageFormat]] = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


@dataclass(frozen=True)
class Image:
    """A PNG or JPEG file shown with a state; ``ValueError`` for anything else. Records keep its hash only."""

    data: bytes = field(repr=False)

    def __post_init__(self) -> None:
        _ = self.format

    @cached_property
    def format(self) -> ImageFormat:
        """What kind of file it is, by its first bytes."""
        for signature, name in _SIGNATURES.items():
            if self.data.startswith(signature):
                return name
        raise ValueError("An image is a PNG or JPEG file.")

    @cached_property
    def sha256(self) -> str:
        """The hash of the file, in small hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def placeholder(self) -> str:
        """The text that stands for the image where a state speaks of it."""
        return f"<image:{self.sha256[:32]}>"


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """What one decision is about. Without a model the client's own is meant.

    The questions are copied: a set that changes later changes nothing here. ``retry_attempt`` is above 0
    where a stage asks again.
    """

    state: Json = field(repr=False)
    questions: Mapping[str, AskedQuestion] = field(repr=False)
    model: str | None = None
    images: tuple[Image, ...] = ()
    retry_attempt: int = 0

    def __post_init__(self) -> None:
        if not all(isinstance(key, str) for key in self.questions):
            raise TypeError("The key of a question is a text.")
        copied = {
            key: AskedQuestion(asked.kind, deepcopy(asked.instructions), deepcopy(asked.criteria))
            for key, asked in self.questions.items()
        }
        object.__setattr__(self, "questions", MappingProxyType(copied))


@dataclass(frozen=True, slots=True)
class DecisionError:
    """Why there are no answers.

    ``message`` may be the provider's own, which can quote the request: show it to whoever asked, and nowhere
    else. ``transient`` says whether asking again may help; ``retry_after`` is in seconds.
    """

    kind: ErrorKind
    message: str = field(default="", repr=False)
    status: int | None = None
    transient: bool = False
    retry_after: float | None = None
    refused_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResult:
    """Either answers, in the order of the questions, or an error.

    ``served_model`` is the model that answered, and known of an error only where there was a whole reply.
    ``attempts`` counts the requests that were sent, ``calls`` the LLM calls that are charged for them.
    """

    answers: tuple[Answer, ...] | None = field(default=None, repr=False)
    error: DecisionError | None = None
    served_model: str | None = None
    response_id: str | None = None
    upstream_provider: str | None = None
    usage: TokenUsage | None = None
    probability_source: ProbabilitySource = "model"
    attempts: int = 1
    calls: int = 1
    cached: bool = False


class DecisionFailed(LlmError):
    """A decision model could not be asked; ``error`` has what it said, which the text has not.

    ``question`` is the one question that was put, where it was one.
    """

    def __init__(self, error: DecisionError, where: str, question: AskedQuestion | None = None) -> None:
        super().__init__(
            f"{where}: {_SENTENCES[error.kind]}{f' (HTTP {error.status})' if error.status else ''}.",
            kind=_LLM_KINDS.get(error.kind, "status"),
            transient=error.transient,
            status=error.status,
            retry_after=error.retry_after,
        )
        self.error, self.question = error, question


_SENTENCES: Final[Mapping[ErrorKind, str]] = {
    "Unauthorized": "the key was not accepted",
    "Validation": "the request was refused as not valid",
    "RateLimited": "too many requests",
    "Overloaded": "the model is overloaded",
    "Server": "the endpoint failed",
    "Http": "the request was refused",
    "Network": "the endpoint could not be reached",
    "Timeout": "there was no answer in time",
    "InvalidResponse": "the answer cannot be read",
    "Unsupported": "the endpoint does not offer this",
    "InvalidQuestions": "the questions cannot be asked",
    "Disposed": "the client is closed",
    "Refused": "the model refused to answer",
}
_LLM_KINDS: Final[Mapping[ErrorKind, LlmErrorKind]] = {
    "Timeout": "timeout",
    "Network": "connection",
    "InvalidResponse": "protocol",
    "Refused": "protocol",
    "Unsupported": "request",
    "InvalidQuestions": "request",
    "Disposed": "request",
}


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model an endpoint lists."""

    name: str
    description: str | None = None
    release_date: str | None = None


class DecisionClient(Protocol):
    """Whoever answers questions about a state."""

    @property
    def provider(self) -> str:
        """A short name of the kind of endpoint, for records."""
        ...

    @property
    def endpoint(self) -> str:
        """Its base address without credentials, query or fragment."""
        ...

    @property
    def model(self) -> str:
        """The model it asks when a request names none."""
        ...

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        """Ask all questions at once. Whatever the provider does wrong is in the result."""
        ...

    async def list_models(self) -> Sequence[ModelInfo]:
        """The models there are. Raises :class:`DecisionFailed`."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


class Stage:
    """A client around another that is like it in all but what a subclass changes."""

    def __init__(self, inner: DecisionClient) -> None:
        self._inner = inner
        self.provider, self.endpoint, self.model = inner.provider, inner.endpoint, inner.model

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        return await self._inner.evaluate(request)

    async def list_models(self) -> Sequence[ModelInfo]:
        return await self._inner.list_models()

    async def close(self) -> None:
        await self._inner.close()


# -- asking again --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after how many seconds to ask again; ``ValueError`` for what makes no sense.

    The wait doubles each time and is drawn out by up to a half at random. What an endpoint asks for with
    ``Retry-After`` goes before it. No wait is begun that reaches ``total`` seconds from the first attempt.
    """

    retries: int = 2
    first_wait: float = 0.5
    longest_wait: float = 30.0
    total: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.retries <= 10:
            raise ValueError("The number of retries is from 0 to 10.")
        if not self.first_wait > 0:
            raise ValueError("The first wait is longer than zero seconds.")
        if not self.longest_wait >= self.first_wait:
            raise ValueError("The longest wait is not shorter than the first.")

    def wait(self, attempt: int, retry_after: float | None, jitter: float) -> float:
        """Seconds to wait after attempt number ``attempt`` (from 0); ``jitter`` is from 0 to 1."""
        if retry_after is None:
            retry_after = self.first_wait * 2.0**attempt * (1 + jitter / 2)
        return min(retry_after, self.longest_wait)


class _Fallible(Protocol):
    @property
    def error(self) -> DecisionError | None: ...


R = TypeVar("R", bound=_Fallible)


@dataclass(frozen=True, slots=True)
class Patience:
    """A retry policy at work, on a clock."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    clock: Clock = field(default_factory=SystemClock)
    jitter: Callable[[], float] = random.random

    async def ask(self, attempt: Callable[[int], Awaitable[R]]) -> R:
        """The first result that is no error of the moment, else the last one; attempts count from 0."""
        began, number = self.clock.monotonic(), 0
        while True:
            result = await attempt(number)
            error = result.error
            if error is None or not error.transient or number >= self.policy.retries:
                return result
            wait = self.policy.wait(number, error.retry_after, self.jitter())
            total = self.policy.total
            if total is not None and self.clock.monotonic() - began + wait >= total:
                return result
            number += 1
            text = "Attempt %d failed (%s, status %s); the next follows in %.3f s."
            log.warning(text, number, error.kind, error.status, wait, extra={"event": ATTEMPT_RETRYING})
            await self.clock.sleep(wait)


def retried(
    client: DecisionClient,
    policy: RetryPolicy | None = None,
    *,
    clock: Clock | None = None,
    jitter: Callable[[], float] = random.random,
) -> DecisionClient:
    """The same client, asked again after errors of the moment."""
    return _Retried(client, Patience(policy or RetryPolicy(), clock or SystemClock(), jitter))


class _Retried(Stage):
    def __init__(self, inner: DecisionClient, patience: Patience) -> None:
        super().__init__(inner)
        self._patience = patience

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        sent = 0

        async def attempt(number: int) -> DecisionResult:
            nonlocal sent
            again = replace(request, retry_attempt=request.retry_attempt + number) if number else request
            result = await self._inner.evaluate(again)
            sent += result.attempts
            return result

        result = await self._patience.ask(attempt)
        return result if result.attempts == sent else replace(result, attempts=sent)


# -- the cache -----------------------------------------------------------------------------------------


def cached(
    client: DecisionClient, *, entries: int = 1000, seconds: float = 600.0, clock: Clock | None = None
) -> DecisionClient:
    """The same client, which answers from memory what it was asked before, word for word.

    Answers are kept for so many ``seconds``, at most so many ``entries``, the oldest forgotten first; errors
    never. Who asks what is being asked already waits for that answer, and asks itself where there comes none.
    """
    return _Cached(client, entries, seconds, clock or SystemClock())


class _Cached(Stage):
    def __init__(self, inner: DecisionClient, entries: int, seconds: float, clock: Clock) -> None:
        super().__init__(inner)
        self._entries, self._seconds, self._clock = entries, seconds, clock
        self._kept: dict[str, tuple[float, DecisionResult]] = {}
        # A lock lives as long as somebody asks its question.
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        key = self._key(request)
        lock = self._asking.setdefault(key, asyncio.Lock())
        async with lock:
            at, kept = self._kept.get(key, (float("-inf"), None))
            if kept is not None and self._clock.monotonic() - at < self._seconds:
                return replace(kept, cached=True, attempts=0, calls=0)
            result = await self._inner.evaluate(request)
            if result.error is None:
                self._kept.pop(key, None)
                self._kept[key] = self._clock.monotonic(), result
                while len(self._kept) > self._entries:
                    del self._kept[next(iter(self._kept))]
            return result

    def _key(self, request: DecisionRequest) -> str:
        """One text for one question: members of objects in any order, questions and options in theirs."""
        questions = [
            [key, asked.kind, asked.instructions, *_in_order(asked.criteria)]
            for key, asked in request.questions.items()
        ]
        what = [
            self.provider,
            self.endpoint,
            request.model or self.model,
            questions,
            request.state,
            [image.sha256 for image in request.images],
        ]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def _in_order(criteria: Json) -> Sequence[object]:
    return list(criteria.items()) if isinstance(criteria, dict) else [criteria]
