"""Endpoints that speak the System One wire or a relative of it, and the client that asks one of them."""

import logging
import math
import os
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Final
from urllib.parse import quote, urlsplit

from engine.budget import Clock, SystemClock
from engine.deciders.asked import ErrorKind, kind_of_status
from engine.deciders.systemone.client import (
    DecisionError,
    DecisionFailed,
    DecisionRequest,
    DecisionResult,
    ModelInfo,
    Patience,
    RetryPolicy,
)
from engine.deciders.systemone.rules import MAX_DEPTH, QuestionLimits, check_questions, depth_of
from engine.deciders.systemone.wire import Cloudflare, OpenAi, SystemOne, models_of
from engine.errors import LlmError
from engine.http import Connections, HttpReply
from engine.llm.failures import is_transient_status
from engine.llm.keys import key_from

log: Final = logging.getLogger(__name__)

EVALUATION_SUCCEEDED: Final = 1001
EVALUATION_FAILED: Final = 1002
MODELS_LISTED: Final = 1004
MODELS_LIST_FAILED: Final = 1005
UNEXPECTED_EXCEPTION: Final = 1006

_MAX_BYTES: Final = 8 * 1024 * 1024
_LONGEST_TIMEOUT: Final = (2**31 - 1) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A kind of endpoint: where it is, what it is called in records, and how it is spoken to.

    Paths are relative to the base address; one may name the ``{model}``. Variables are those of the
    environment that stand in for what settings leave out.
    """

    provider: str
    base_url: str | None = None
    path: str = "v1/systemone"
    models_path: str | None = "v1/models"
    wire: SystemOne = field(default_factory=SystemOne)
    limits: QuestionLimits = field(default_factory=QuestionLimits)
    model: str | None = None
    key_variable: str | None = None
    base_variable: str | None = None
    model_variable: str | None = None


PROFILES: Final[Mapping[str, Profile]] = {
    "typesafe": Profile(
        provider="typesafe",
        base_url="https://api.typesafe.ai/",
        wire=SystemOne("assets"),
        model="jev-latest",
        key_variable="TYPESAFE_API_KEY",
        base_variable="TYPESAFE_BASE_URL",
        model_variable="TYPESAFE_DEFAULT_MODEL",
    ),
    "openrouter": Profile(
        provider="openrouter",
        base_url="https://openrouter.ai/api/",
        models_path=None,
        wire=SystemOne(lenient=True),
        limits=QuestionLimits(needs_both_sides=True),
        model="jev-latest",
        key_variable="OPENROUTER_API_KEY",
    ),
    "openrouter-decisions": Profile(
        provider="openrouter",
        base_url="https://openrouter.ai/api/",
        path="alpha/decisions",
        models_path=None,
        wire=SystemOne(lenient=True),
        limits=QuestionLimits(needs_both_sides=True),
        model="~typesafe/jev-latest",
        key_variable="OPENROUTER_API_KEY",
    ),
    "cloudflare": Profile(
        provider="cloudflare",
        path="ai/run/@cf/cloudflare/{model}",
        models_path=None,
        wire=Cloudflare(),
        limits=QuestionLimits(questions=(1, 64), options=(2, 255), levels=(2, 10), needs_instructions=True),
        model="clef",
        key_variable="CLOUDFLARE_API_TOKEN",
    ),
    "ollama": Profile(provider="ollama", base_url="http://localhost:11434/", wire=SystemOne("base64")),
    "openai-decisions": Profile(
        provider="openai",
        base_url="https://api.openai.com/",
        path="v1/decisions",
        models_path=None,
        wire=OpenAi(),
        limits=QuestionLimits(questions=(1, 400), options=(2, 255), levels=(2, math.inf)),
        key_variable="OPENAI_API_KEY",
    ),
    "systemone": Profile(provider="systemone", wire=SystemOne("assets", lenient=True)),
}
"""The endpoints that are known by name; ``systemone`` is any other that speaks the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOneSettings:
    """Which endpoint is asked, and how. ``ValueError`` for what cannot be; no text of it holds the key.

    What is left out comes from the environment, then from the profile; a blank key or variable counts as left
    out. The key may also be in a keyring. ``attempt_timeout`` is in seconds, for each request that is sent.
    """

    profile: str = "typesafe"
    base_url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)
    attempt_timeout: float = 30.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        profile = PROFILES.get(self.profile)
        if profile is None:
            raise ValueError(f"There is no profile '{self.profile}'; there are {', '.join(PROFILES)}.")
        base_url = self.base_url or _variable(profile.base_variable) or profile.base_url
        object.__setattr__(self, "base_url", _base_address(base_url))
        if self.model and not self.model.strip():
            raise ValueError("The name of a model is not blank.")
        model = self.model.strip() or _variable(profile.model_variable) or profile.model
        if not model:
            raise ValueError("Say what the model is called.")
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "key", _key(self.key, profile.key_variable))
        if not self.attempt_timeout > 0:
            raise ValueError("The time-out of an attempt is longer than zero seconds.")
        if _LONGEST_TIMEOUT < self.attempt_timeout < math.inf:
            raise ValueError("The time-out of an attempt is at most 24 days, or endless.")


def _variable(name: str | None) -> str:
    return os.environ.get(name, "").strip() if name else ""


def _base_address(text: str | None) -> str:
    """An absolute address that ends in a slash, so that paths can be joined to it."""
    if not text:
        raise ValueError("Say where the model is: the profile has no address of its own.")
    text = text.strip()
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or re.search(r"[\s?#]", text) or "@" in parts.netloc:
        message = (
            "The address of a model starts with http:// or https:// and names a host; "
            "it has no user, query or fragment."
        )
        raise ValueError(message)
    return text if text.endswith("/") else f"{text}/"


def _key(given: str, variable: str | None) -> str:
    key = given.strip()
    if not key and variable:
        with suppress(LlmError):
            key = key_from(variable)
    if not (key.isascii() and key.isprintable()):
        raise ValueError("The key holds a character that no header can carry.")
    return key


@dataclass(frozen=True, slots=True)
class ClientCounters:
    """What a client did so far; reading it waits for nobody. ``failed`` is by kind of error."""

    succeeded: int = 0
    failed: Mapping[ErrorKind, int] = field(default_factory=dict)
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class _Listing:
    models: tuple[ModelInfo, ...] = ()
    error: DecisionError | None = None


class SystemOneClient:
    """Asks one endpoint, again after errors of the moment; a :class:`DecisionClient`.

    What cannot be asked is refused before anything is sent. Logs name kinds, numbers, the model and the
    provider, never a key, a state, a question, an answer or what a provider says.
    """

    def __init__(
        self,
        settings: SystemOneSettings,
        *,
        clock: Clock | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._settings, self._profile = settings, PROFILES[settings.profile]
        self.provider, self.endpoint, self.model = self._profile.provider, settings.base_url, settings.model
        self._clock = clock or SystemClock()
        self._patience = Patience(settings.retry, self._clock, jitter)
        self._connections = Connections()
        self._closed = False
        self._tally: Counter[str] = Counter()
        self._failed: Counter[ErrorKind] = Counter()
        self._cost = 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint!r}, {self.model!r})"

    @property
    def counters(self) -> ClientCounters:
        """The totals of this client."""
        return ClientCounters(failed=dict(self._failed), cost=self._cost, **self._tally)

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        """Ask all questions at once."""
        began, model = self._clock.monotonic(), request.model or self.model
        try:
            error = self._unaskable(request)
            result = DecisionResult(error=error, attempts=0) if error else await self._asked(request, model)
        except Exception as unexpected:
            self._say(
                logging.ERROR, UNEXPECTED_EXCEPTION, "Asking failed with %s.", type(unexpected).__name__
            )
            raise
        self._count(result)
        self._tell(result, model, len(request.questions), self._clock.monotonic() - began)
        return result

    async def list_models(self) -> Sequence[ModelInfo]:
        """The models the endpoint lists; it may know more. Raises :class:`DecisionFailed`."""
        path = self._profile.models_path
        if path is None:
            listing = _Listing(error=DecisionError("Unsupported", "The endpoint lists no models."))
        else:
            listing = await self._patience.ask(partial(self._list, self.endpoint + path))
        if (error := listing.error) is not None:
            text = "Listing the models of %s failed (%s, status %s)."
            self._say(logging.WARNING, MODELS_LIST_FAILED, text, self.provider, error.kind, error.status)
            raise DecisionFailed(error, self.endpoint)
        text = "Listed %d models of %s."
        self._say(logging.DEBUG, MODELS_LISTED, text, len(listing.models), self.provider)
        return listing.models

    async def close(self) -> None:
        """Give back connections; whoever still waits for an answer is told that the client is closed."""
        self._closed = True
        await self._connections.close()

    # -- asking ----------------------------------------------------------------------------------------

    def _unaskable(self, request: DecisionRequest) -> DecisionError | None:
        """Why nothing can be sent, if so."""
        problems = check_questions(request.questions, limits=self._profile.limits)
        if wrong := next((problem for problem in problems if problem.severity == "error"), None):
            where = f"'{wrong.node}': " if wrong.node else ""
            return DecisionError("InvalidQuestions", f"{wrong.code}: {where}{wrong.message}")
        if not isinstance(request.state, str | dict | list):
            return DecisionError("InvalidQuestions", "The state is text, an object or a list.")
        if depth_of(request.state) > MAX_DEPTH:
            return DecisionError("InvalidQuestions", f"MIN108: The state nests more than {MAX_DEPTH} deep.")
        if request.images and self._profile.wire.images is None:
            return DecisionError("Unsupported", "The endpoint takes no images.")
        return None

    async def _asked(self, request: DecisionRequest, model: str) -> DecisionResult:
        wire, sent = self._profile.wire, 0
        url = self.endpoint + self._profile.path.format(model=quote(model))
        body = wire.body(request, model)

        async def attempt(number: int) -> DecisionResult:
            nonlocal sent
            sent += 1
            headers = self._headers(request.retry_attempt + number)
            reply = await self._reached(partial(self._connections.post_json, url, body, headers))
            if isinstance(reply, DecisionError):
                return DecisionResult(error=reply)
            return wire.result(request, reply)

        return replace(await self._patience.ask(attempt), attempts=sent)

    async def _list(self, url: str, number: int) -> _Listing:
        reply = await self._reached(partial(self._connections.get, url, self._headers(number)))
        if isinstance(reply, DecisionError):
            return _Listing(error=reply)
        if not 200 <= reply.status <= 299:
            return _Listing(error=self._profile.wire.error(reply))
        models = models_of(reply)
        if models is None:
            return _Listing(
                error=DecisionError("InvalidResponse", "This is no list of models.", reply.status)
            )
        return _Listing(models)

    async def _reached(self, ask: "Callable[..., Awaitable[HttpReply]]") -> HttpReply | DecisionError:
        """What came back, or why nothing did."""
        if self._closed:
            return _CLOSED
        seconds = self._settings.attempt_timeout
        try:
            return await ask(total_deadline=seconds, idle_deadline=seconds, max_bytes=_MAX_BYTES)
        except LlmError as error:
            return self._unreached(error)

    def _unreached(self, error: LlmError) -> DecisionError:
        """What a request that got no whole reply means."""
        said, status = str(error), error.status
        if self._closed:
            return _CLOSED
        if error.kind == "timeout":
            return DecisionError("Timeout", said, status, error.transient)
        if error.kind != "protocol" or status is None:
            return DecisionError("Network", said, status, error.transient)
        if 200 <= status <= 299:
            return DecisionError("InvalidResponse", said, status)
        return DecisionError(kind_of_status(status), said, status, is_transient_status(status))

    def _headers(self, retry: int) -> dict[str, str]:
        return {
            "accept": "application/json",
            "user-agent": _user_agent(),
            **({"authorization": f"Bearer {self._settings.key}"} if self._settings.key else {}),
            **({"x-typesafe-retry-count": str(retry)} if retry else {}),
        }

    # -- telling ---------------------------------------------------------------------------------------

    def _count(self, result: DecisionResult) -> None:
        self._tally["attempts"] += result.attempts
        if result.error is not None:
            self._failed[result.error.kind] += 1
        else:
            self._tally["succeeded"] += 1
        if usage := result.usage:
            self._tally["input_tokens"] += usage.input_tokens
            self._tally["output_tokens"] += usage.output_tokens
            self._cost += usage.cost or 0.0

    def _tell(self, result: DecisionResult, model: str, questions: int, seconds: float) -> None:
        if (error := result.error) is None:
            text = "Model '%s' of %s answered %d questions in %.3f s."
            self._say(logging.DEBUG, EVALUATION_SUCCEEDED, text, model, self.provider, questions, seconds)
        else:
            text = "Model '%s' of %s gave no answers (%s, status %s) after %.3f s."
            said = (model, self.provider, error.kind, error.status, seconds)
            self._say(logging.WARNING, EVALUATION_FAILED, text, *said)

    def _say(self, level: int, event: int, text: str, *fields: object) -> None:
        log.log(level, text, *fields, extra={"event": event})


_CLOSED: Final = DecisionError("Disposed", "The client is closed.")


@cache
def _user_agent() -> str:
    try:
        return f"treewright/{version('treewright')}"
    except PackageNotFoundError:
        return "treewright"
