"""Going on with the next model of a chain when one fails for the moment."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self, runtime_checkable

from engine.errors import LlmError, TreewrightError
from engine.llm import Completion, LlmClient, Request
from engine.llm.failures import caller_is_cancelled, is_transient

log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class ModelChain:
    """The models of one run: the one in use, those still to try, and those that failed, in order.

    It belongs to the run and remembers: a model that failed is never asked again.
    """

    model: str
    remaining: tuple[str, ...]
    failed: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: str | None, fallbacks: Iterable[str]) -> Self | None:
        """The chain of a complete configuration; None without a model or without fallbacks.

        Blank names are skipped, and so is a name that came before, whatever its case.
        """
        named = [name for name in fallbacks if name.strip()]
        if model is None or not model.strip() or not named:
            return None
        distinct: dict[str, str] = {}
        for name in (model, *named):
            distinct.setdefault(name.lower(), name)
        return cls(model, tuple(distinct.values())[1:])

    def advance(self) -> bool:
        """Go on to the next model; False when there is none."""
        if not self.remaining:
            return False
        self.failed += (self.model,)
        self.model, *rest = self.remaining
        self.remaining = tuple(rest)
        return True


class Pipeline(Protocol):
    """The way from a request to a completion. An own one of this kind gets no failover."""

    async def complete(self, request: Request) -> Completion:
        """Ask; an exception ends the run."""
        ...


@runtime_checkable
class ChainPipeline(Pipeline, Protocol):
    """A pipeline that can go on with the next model of the run's chain."""

    async def complete_along(self, request: Request, chain: ModelChain) -> Completion:
        """Ask the model in use, and advance the chain where that helps; an exception ends the run."""
        ...


async def completed(pipeline: Pipeline, request: Request, chain: ModelChain | None) -> Completion:
    """Ask through a pipeline, along the chain where there is one and the pipeline takes it.

    Whatever goes wrong is an ``LlmError`` or another of ours; only a caller that was cancelled is told so.
    """
    try:
        if chain is not None and isinstance(pipeline, ChainPipeline):
            reply = await pipeline.complete_along(request, chain)
        else:
            reply = await pipeline.complete(request)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if caller_is_cancelled():
            raise asyncio.CancelledError from error
        if isinstance(error, TreewrightError):
            raise
        timed_out = isinstance(error, TimeoutError | asyncio.CancelledError)
        raise LlmError(
            str(error) or ("The model did not answer in time." if timed_out else type(error).__name__),
            kind="timeout" if timed_out else "request",
            transient=is_transient(error),
        ) from error
    if not isinstance(reply, Completion):
        raise LlmError("The client returned no completion.", kind="protocol", transient=False)
    return reply


@dataclass(frozen=True, slots=True)
class Call:
    """One model asked once. ``number`` is its place in the chain, from 1; ``seconds`` is what it took."""

    model: str
    number: int
    seconds: float
    completion: Completion | None
    error: BaseException | None
    transient: bool

    @property
    def is_fallback(self) -> bool:
        """Whether another model failed before this one."""
        return self.number > 1


class Failover:
    """The default pipeline: after a transient failure the next model is asked at once, and none twice.

    ``on_call`` is told of every call; what it raises is logged and otherwise ignored.
    """

    def __init__(self, client: LlmClient, on_call: Callable[[Call], None] | None = None) -> None:
        self._client, self._on_call = client, on_call

    def complete(self, request: Request) -> Coroutine[object, object, Completion]:
        """Ask the one model there is, once."""
        return self._asked(request, request.model or self._client.model, 1)

    async def complete_along(self, request: Request, chain: ModelChain) -> Completion:
        """Ask along the chain. When no model is left, the last failure is the one raised."""
        while True:
            try:
                asked = replace(request, model=chain.model)
                return await self._asked(asked, chain.model, len(chain.failed) + 1)
            except (Exception, asyncio.CancelledError) as error:
                if not (is_transient(error, cancelled=caller_is_cancelled()) and chain.advance()):
                    raise
                log.info("Model '%s' failed; going on with '%s'.", chain.failed[-1], chain.model)

    def _asked(self, request: Request, model: str, number: int) -> Coroutine[object, object, Completion]:
        # No coroutine of our own that nobody needs: each is kept for as long as a model is waited for.
        if self._on_call is None:
            return self._client.complete(request)
        return self._watched(self._on_call, request, model, number)

    async def _watched(
        self, on_call: Callable[[Call], None], request: Request, model: str, number: int
    ) -> Completion:
        began = time.monotonic()
        completion: Completion | None = None
        failure: BaseException | None = None
        try:
            completion = await self._client.complete(request)
        except BaseException as error:
            failure = error
            raise
        else:
            return completion
        finally:
            transient = failure is not None and is_transient(failure, cancelled=caller_is_cancelled())
            call = Call(model, number, time.monotonic() - began, completion, failure, transient)
            try:
                on_call(call)
            except Exception as error:  # noqa: BLE001 - an observer must not break the run
                log.warning("An observer of model calls failed with %s.", type(error).__name__)
