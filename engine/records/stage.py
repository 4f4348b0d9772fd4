"""The recording stage: around a decider, outermost, it keeps one record of each decision.

It hands the decision on unchanged and never makes it fail. What goes wrong while recording is counted and
logged by the name of its type only.
"""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final, Protocol, TypeAlias, runtime_checkable

from engine.budget import Clock, SystemClock
from engine.deciders import Decider, Decision, Question
from engine.errors import LlmError, LlmErrorKind
from engine.jsontext import Json
from engine.records.record import AskedQuestion, ChoiceAnswer, ErrorKind, Record, TokenUsage, TreePlace
from engine.records.sinks import Sink
from engine.tree import UNKNOWN

log = logging.getLogger(__name__)


class Drop(Enum):
    """What a redactor says of a decision that must not be recorded."""

    DROP = "drop"


DROP: Final = Drop.DROP

Redact: TypeAlias = Callable[[Json], Json | Drop]
"""What may be kept of a decision's state: the state to keep, or :data:`DROP` for no record."""


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


@dataclass(frozen=True, slots=True)
class Counters:
    """What became of the records a stage offered; each ended in exactly one of these."""

    written: int = 0
    dropped: int = 0
    failed: int = 0


def recorded(
    decider: Decider,
    sink: Sink,
    *,
    source: Source | None = None,
    redact: Redact | None = None,
    clock: Clock | None = None,
    scripted: bool = False,
) -> "RecordedDecider":
    """The same decider, its decisions recorded. Scripted decisions are recorded only when asked for."""
    return RecordedDecider(decider, _Recording(sink, source, redact, clock or SystemClock(), scripted))


@dataclass(frozen=True, slots=True)
class _Recording:
    sink: Sink
    source: Source | None
    redact: Redact | None
    clock: Clock
    scripted: bool
    tally: Counter[str] = field(default_factory=Counter)


class RecordedDecider:
    """A decider whose decisions are recorded; made by :func:`recorded`."""

    def __init__(self, decider: Decider, recording: _Recording) -> None:
        self._decider, self._recording = decider, recording

    @property
    def counters(self) -> Counters:
        """The records of all runs so far."""
        return Counters(**self._recording.tally)

    def for_run(self) -> "RecordedDecider":
        return RecordedDecider(self._decider.for_run(), self._recording)

    async def decide(self, question: Question) -> Decision:
        clock = self._recording.clock
        started, began = clock.now(), clock.monotonic()
        try:
            decision = await self._decider.decide(question)
        except LlmError as error:
            await self._keep(question, error, started, clock.monotonic() - began)
            raise
        await self._keep(question, decision, started, clock.monotonic() - began)
        return decision

    async def _keep(
        self, question: Question, ending: Decision | LlmError, started: datetime, seconds: float
    ) -> None:
        """Write the record, if there is one to write. Nothing of this may touch the decision."""
        recording = self._recording
        if not _is_recorded(ending, scripted=recording.scripted):
            return
        try:
            kept = _kept(question.state(), recording.redact)
            if isinstance(kept, Drop):
                recording.tally["dropped"] += 1
                return
            await recording.sink.write(
                _record(question, ending, kept, recording.source, started, round(seconds * 1000, 3))
            )
            recording.tally["written"] += 1
        except Exception as error:  # noqa: BLE001 - recording never makes a decision fail
            recording.tally["failed"] += 1
            log.warning("A decision could not be recorded (%s).", type(error).__name__)


def _kept(state: Json, redact: Redact | None) -> Json | Drop:
    if redact is None:
        return state
    kept = redact(state)
    if kept is None:
        raise TypeError("A redactor returns a state or DROP.")
    return kept


def _is_recorded(ending: Decision | LlmError, *, scripted: bool) -> bool:
    if isinstance(ending, LlmError):
        return True
    if ending.provider == "scripted":
        return scripted
    # Where nobody was asked there is nothing to record; a cached answer was once asked for.
    return ending.answer is not None or ending.llm_calls > 0 or ending.cached


def _record(
    question: Question,
    ending: Decision | LlmError,
    state: Json,
    source: Source | None,
    started: datetime,
    milliseconds: float,
) -> Record:
    if isinstance(ending, LlmError):
        kind = _kind_of(ending)
        decision = Decision(
            None,
            reason="error",
            provider=source.provider if source else "",
            endpoint=source.endpoint if source else "",
            default_model=source.model if source else "",
        )
    else:
        kind, decision = None, ending
    options = (*question.answers, UNKNOWN) if decision.reason == "chosen" else question.answers
    chosen = UNKNOWN if decision.reason == "chosen" else decision.answer
    answer = _answer(question.node, options, chosen, decision.probabilities)
    if answer is None:
        kind = kind or ("Refused" if decision.reason == "refused" else "InvalidResponse")
    return Record(
        decision_id=question.decision_id,
        erasure_key=question.erasure_key,
        started=started,
        latency_ms=milliseconds,
        provider=decision.provider,
        endpoint=decision.endpoint,
        default_model=decision.default_model,
        requested_model=decision.requested_model or None,
        served_model=decision.served_model or None,
        response_id=decision.response_id or None,
        usage=_usage(decision),
        cached=decision.cached,
        questions={question.node: AskedQuestion("choice", _instructions(question), dict.fromkeys(options))},
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
            transition=None if isinstance(ending, LlmError) else decision.answer or UNKNOWN,
            unknown_reason=decision.reason,
            probability_source=decision.probability_source if answer else None,
            stated_confidence=_stated(decision.confidence),
            llm_calls=decision.llm_calls,
            failover=decision.failover,
        ),
    )


def _instructions(question: Question) -> Json:
    """The task as the author wrote it: what a run fills in stands in the state, where redaction sees it."""
    return question.task if question.policy is None else {"policy": question.policy, "task": question.task}


def _answer(
    key: str, options: tuple[str, ...], chosen: str | None, probabilities: tuple[float, ...] | None
) -> ChoiceAnswer | None:
    """What the decider said, also where the run took another branch because it was not sure enough."""
    if probabilities is not None and len(probabilities) == len(options):
        likeliest = probabilities.index(max(probabilities))
        index = likeliest if chosen is None else options.index(chosen)
        return ChoiceAnswer(key, index, _confidence(probabilities), probabilities)
    if chosen is None:
        return None
    index = options.index(chosen)
    one_hot = tuple(float(place == index) for place in range(len(options)))
    return ChoiceAnswer(key, index, 1.0, one_hot)


def _confidence(probabilities: tuple[float, ...]) -> float:
    """How far the likeliest option stands above chance, from 0 to 1."""
    chance = 1 / len(probabilities)
    return 1.0 if chance == 1 else max(0.0, (max(probabilities) - chance) / (1 - chance))


_LONGEST_WORD: Final = 40


def _stated(confidence: str | None) -> str | None:
    """The word a model gave for its confidence; a longer text is no word and may quote the state."""
    return confidence if confidence and len(confidence) <= _LONGEST_WORD else None


def _usage(decision: Decision) -> TokenUsage | None:
    used = TokenUsage(decision.input_tokens or 0, decision.output_tokens or 0)
    return used if used.input_tokens or used.output_tokens else None


_KINDS: Final[dict[LlmErrorKind, ErrorKind]] = {
    "timeout": "Timeout",
    "connection": "Network",
    "request": "Network",
    "protocol": "InvalidResponse",
}
_STATUSES: Final[dict[int, ErrorKind]] = {
    400: "Validation",
    401: "Unauthorized",
    403: "Unauthorized",
    422: "Validation",
    429: "RateLimited",
    503: "Overloaded",
    529: "Overloaded",
}


def _kind_of(error: LlmError) -> ErrorKind:
    if error.kind in _KINDS:
        return _KINDS[error.kind]
    status = error.status or 0
    return _STATUSES.get(status, "Server" if status >= 500 else "Http")
