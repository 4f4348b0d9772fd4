"""The recording stages: outermost around a decider or a client, they keep one record of each decision.

They hand on what was decided unchanged and never make it fail: what goes wrong is the recorder's business.
"""

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime
from functools import partial
from typing import Final, Protocol, runtime_checkable

from engine.budget import Clock, SystemClock
from engine.deciders import Decider, Decision, Question
from engine.deciders.asked import (
    AskedQuestion,
    ChoiceAnswer,
    Consulted,
    ErrorKind,
    TokenUsage,
    choice_confidence,
    instructions_of,
    kind_of_error,
    likeliest,
    one_hot,
)
from engine.deciders.systemone.client import (
    DecisionClient,
    DecisionFailed,
    DecisionRequest,
    DecisionResult,
    Stage,
)
from engine.errors import LlmError
from engine.jsontext import Json
from engine.records.ids import uuid7
from engine.records.record import Record, TreePlace
from engine.records.recorder import DecisionRecorder
from engine.records.scope import active_scope
from engine.tree import UNKNOWN


@runtime_checkable
class Source(Protocol):
    """Who is asked, told by records of decisions that failed. An :class:`engine.llm.LlmClient` is one."""

    @property
    def provider(self) -> str:
        """A short name of the kind of endpoint."""
        ...

    @property
    def endpoint(self) -> str:
        """Its base address without credentials, query or fragment."""
        ...

    @property
    def model(self) -> str:
        """The model it asks by default."""
        ...


# -- around a decider ----------------------------------------------------------------------------------


def recorded(
    decider: Decider,
    recorder: DecisionRecorder,
    *,
    source: Source | None = None,
    clock: Clock | None = None,
    scripted: bool = False,
) -> Decider:
    """The same decider, its decisions recorded. Scripted decisions are recorded only when asked for."""
    return _RecordedDecider(decider, recorder, source, clock or SystemClock(), scripted=scripted)


class _RecordedDecider:
    def __init__(
        self,
        decider: Decider,
        recorder: DecisionRecorder,
        source: Source | None,
        clock: Clock,
        *,
        scripted: bool,
    ) -> None:
        self._decider, self._recorder, self._source = decider, recorder, source
        self._clock, self._scripted = clock, scripted

    def for_run(self) -> "_RecordedDecider":
        inner = self._decider.for_run()
        return _RecordedDecider(inner, self._recorder, self._source, self._clock, scripted=self._scripted)

    async def decide(self, question: Question) -> Decision:
        clock, desk = self._clock, question.desk
        started, began = clock.now(), clock.monotonic() - desk.paused
        try:
            decision = await self._decider.decide(question)
        except LlmError as error:
            self._keep(question, error, started, clock.monotonic() - desk.paused - began)
            raise
        if _is_recorded(decision, scripted=self._scripted):
            self._keep(question, decision, started, clock.monotonic() - desk.paused - began)
        return decision

    def _keep(self, question: Question, ending: Decision | LlmError, started: datetime, took: float) -> None:
        make = partial(_record_of_tree, question, ending, self._source, started, _milliseconds(took))
        self._recorder.keep(question.state, make)


# -- around a client -----------------------------------------------------------------------------------


def recorded_client(
    client: DecisionClient, recorder: DecisionRecorder, *, clock: Clock | None = None
) -> DecisionClient:
    """The same client, its decisions recorded: with the id and the key of the scope they are made in, if any.

    ``RuntimeError`` for a second decision in one scope, before the client is asked. A request that is asked
    again by a stage outside of this one is not recorded again.
    """
    return _RecordedClient(client, recorder, clock or SystemClock())


class _RecordedClient(Stage):
    def __init__(self, inner: DecisionClient, recorder: DecisionRecorder, clock: Clock) -> None:
        super().__init__(inner)
        self._recorder, self._clock = recorder, clock

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        if request.retry_attempt > 0:
            return await self._inner.evaluate(request)
        clock, scope = self._clock, active_scope()
        started, began = clock.now(), clock.monotonic()
        decision_id = uuid7(started) if scope is None else scope.take(started)
        try:
            result = await self._inner.evaluate(request)
        except BaseException:
            if scope is not None:
                scope.release()
            raise
        took = _milliseconds(clock.monotonic() - began)
        key = None if scope is None else scope.erasure_key
        make = partial(_record_of_client, self._inner, request, result, decision_id, key, started, took)
        # The state is the caller's, who may change it while the record waits to be written.
        self._recorder.keep(lambda: deepcopy(request.state), make)
        return result


def _record_of_client(
    client: DecisionClient,
    request: DecisionRequest,
    result: DecisionResult,
    decision_id: str,
    erasure_key: str | None,
    started: datetime,
    latency_ms: float,
    state: Json,
) -> Record:
    return Record(
        decision_id=decision_id,
        erasure_key=erasure_key,
        started=started,
        latency_ms=latency_ms,
        provider=client.provider,
        endpoint=client.endpoint,
        default_model=client.model,
        requested_model=request.model,
        served_model=result.served_model,
        response_id=result.response_id,
        upstream_provider=result.upstream_provider,
        usage=result.usage,
        cached=result.cached,
        questions=request.questions,
        state=state,
        image_count=len(request.images),
        image_hashes=tuple(image.sha256 for image in request.images),
        answers=None if result.error else result.answers,
        error_kind=result.error.kind if result.error else None,
        refused_keys=result.error.refused_keys if result.error else (),
    )


# -- records of trees ----------------------------------------------------------------------------------


def _is_recorded(decision: Decision, *, scripted: bool) -> bool:
    if decision.provider == "scripted":
        return scripted
    # Where nobody was asked there is nothing to record; a cached answer was once asked for.
    return decision.answer is not None or decision.llm_calls > 0 or decision.cached


def _record_of_tree(
    question: Question,
    ending: Decision | LlmError,
    source: Source | None,
    started: datetime,
    latency_ms: float,
    state: Json,
) -> Record:
    failed = isinstance(ending, LlmError)
    decision = _none_made(source) if isinstance(ending, LlmError) else ending
    consulted = decision.consulted or _consulted(question, ending)
    answer = consulted.answer
    kind = None if answer else _kind_of(ending)
    return Record(
        decision_id=question.decision_id,
        erasure_key=question.erasure_key,
        started=started,
        latency_ms=latency_ms,
        provider=decision.provider,
        endpoint=decision.endpoint,
        default_model=decision.default_model,
        requested_model=decision.requested_model or None,
        served_model=decision.served_model or None,
        response_id=decision.response_id or None,
        upstream_provider=consulted.upstream_provider,
        usage=_usage(decision, consulted.cost),
        cached=decision.cached,
        questions={question.node: consulted.question},
        state=state,
        answers=None if answer is None else (answer,),
        error_kind=kind,
        refused_keys=(question.node,) if kind == "Refused" else (),
        tree=TreePlace(
            tree_id=question.tree_id,
            tree_version=question.tree_version,
            tree_hash=question.tree_hash,
            execution_id=question.execution_id,
            node=question.node,
            visit=question.visit,
            # An error of the provider ends the run: no branch is taken.
            transition=None if failed else decision.answer or UNKNOWN,
            unknown_reason=decision.reason,
            min_confidence=consulted.min_confidence,
            probability_source=decision.probability_source if answer else None,
            stated_confidence=_stated(decision.confidence),
            llm_calls=decision.llm_calls,
            failover=decision.failover,
        ),
    )


def _none_made(source: Source | None) -> Decision:
    """What can be told of a decision that was not made: who was asked."""
    if source is None:
        return Decision(None, reason="error")
    provider, endpoint, model = source.provider, source.endpoint, source.model
    return Decision(None, reason="error", provider=provider, endpoint=endpoint, default_model=model)


def _consulted(question: Question, ending: Decision | LlmError) -> Consulted:
    """A question that was put to somebody else than a decision model, or to one that failed, as a choice."""
    if isinstance(ending, DecisionFailed) and ending.question is not None:
        return Consulted(ending.question)
    says_unknown = isinstance(ending, Decision) and ending.reason == "chosen"
    options = (*question.answers, UNKNOWN) if says_unknown else question.answers
    asked = AskedQuestion("choice", instructions_of(question.task, question.policy), dict.fromkeys(options))
    if isinstance(ending, LlmError):
        return Consulted(asked)
    chosen = UNKNOWN if says_unknown else ending.answer
    return Consulted(asked, _answer(question.node, options, chosen, ending.probabilities))


def _answer(
    key: str, options: Sequence[str], chosen: str | None, probabilities: tuple[float, ...] | None
) -> ChoiceAnswer | None:
    """What the decider said, also where the run took another branch because it was not sure enough."""
    if probabilities is not None and len(probabilities) == len(options):
        index = likeliest(probabilities) if chosen is None else options.index(chosen)
        return ChoiceAnswer(key, index, choice_confidence(probabilities), probabilities)
    if chosen is None:
        return None
    index = options.index(chosen)
    return ChoiceAnswer(key, index, 1.0, one_hot(index, len(options)))


_LONGEST_WORD: Final = 40


def _stated(confidence: str | None) -> str | None:
    """The word a model gave for its confidence; a longer text is no word and may quote the state."""
    return confidence if confidence and len(confidence) <= _LONGEST_WORD else None


def _usage(decision: Decision, cost: float | None) -> TokenUsage | None:
    used = TokenUsage(decision.input_tokens or 0, decision.output_tokens or 0, cost)
    return used if used.input_tokens or used.output_tokens or cost is not None else None


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _kind_of(ending: Decision | LlmError) -> ErrorKind:
    match ending:
        case DecisionFailed():
            return ending.error.kind
        case LlmError():
            return kind_of_error(ending)
        case _:
            return "Refused" if ending.reason == "refused" else "InvalidResponse"
