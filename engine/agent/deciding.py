"""One run of a decision agent as its turns see it: whom it tells, what it has used, and how it is decided."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from engine.agent.palette import refusal_of
from engine.agent.pulled import Pace
from engine.agent.thinker import DecisionThinker
from engine.agent.thinking import (
    Answers,
    Call,
    Ending,
    Exchange,
    Failed,
    Job,
    JobEnded,
    JobQueued,
    JobRetrying,
    JobStarted,
    Produced,
    Totals,
)
from engine.budget import Limits, Meter, Usage
from engine.conversation import estimate_tokens
from engine.deciders.asked import AskedQuestion
from engine.deciders.systemone.client import (
    DecisionClient,
    DecisionError,
    DecisionFailed,
    DecisionRequest,
    DecisionResult,
    RetryPolicy,
    Stage,
    retried,
)
from engine.events import Event, Observer
from engine.events.journal import give, observers_of
from engine.jsontext import Json
from engine.llm import Message
from engine.records.ids import uuid7
from engine.records.scope import recording
from engine.records.stage import recorded_client


class Deciding(Pace):
    """The state of one run that is not its turns."""

    def __init__(
        self,
        thinker: DecisionThinker[Any, Any],
        limits: Limits,
        *,
        erasure_key: str | None,
        observers: Iterable[Observer],
    ) -> None:
        super().__init__(thinker.name, Meter(thinker.clock, limits))
        self.thinker = thinker
        self.id = thinker.new_id()
        self.job = Job(self.id, thinker.name, type="DOER")
        self.totals = Totals(model=thinker.client.model)
        self._erasure_key = erasure_key
        self._observers = (*observers_of(None, thinker.publisher), *observers)
        self._asked: Job | None = None
        client = retried(_Watched(thinker.client, self), RetryPolicy(thinker.retries), clock=thinker.clock)
        if thinker.recorder is not None:
            client = recorded_client(client, thinker.recorder, clock=thinker.clock)
        self._client = client

    # Telling

    @property
    def stamp(self) -> tuple[str, datetime]:
        """What every event begins with."""
        return self.id, self.thinker.clock.now()

    def tell(self, event: Event) -> None:
        """Tell every observer."""
        for observer in self._observers:
            give(observer, event, "An observer of an agent")

    def observe(self, observer: Observer) -> None:
        """Tell one more from now on."""
        self._observers = (*self._observers, observer)

    def new_job(self, name: str, turn: int, *, tool: str | None = None) -> Job:
        """Something to be done in a turn: a decision, or a use of a tool."""
        return Job(self.thinker.new_id(), name, self.job.id, tool=tool, decision=tool is None, turn=turn)

    def begin(self, job: Job) -> None:
        """Tell that a job is being done."""
        self.tell(JobQueued(*self.stamp, job))
        self.tell(JobStarted(*self.stamp, job))

    def end(
        self,
        job: Job,
        kind: Ending = "completed",
        message: str | None = None,
        *,
        decision: Exchange | None = None,
        result: Produced | None = None,
    ) -> None:
        """Tell that a job is over."""
        self.tell(JobEnded(*self.stamp, job, kind, self.totals, message, decision, result))

    @contextmanager
    def doing(self, job: Job, what: str) -> Iterator[None]:
        """A job from its beginning, ended here by what is raised inside and else by whoever did it."""
        self.begin(job)
        try:
            with self.interruptible(f" during {what}"):
                yield
        except asyncio.CancelledError:
            late = self.is_late and not self.is_cancelled
            kind: Ending = "timed_out" if late else "cancelled"
            self.end(job, kind, str(self.out_of_time) if late else "The run was cancelled.")
            raise
        except Exception as error:
            timed_out = isinstance(error, Failed) and error.timed_out
            self.end(job, "timed_out" if timed_out else "failed", words_of(refusal_of(error) or error))
            raise

    # Asking

    async def decide(self, turn: int, state: Json, questions: Mapping[str, AskedQuestion]) -> Answers:
        """Ask all questions of a turn at once. Raises :class:`Failed` where there are no answers."""
        request = DecisionRequest(state, questions)
        self._fit(request)
        job, decision_id = self.new_job(f"Turn {turn}", turn), uuid7(self.thinker.clock.now())
        self._asked = job
        with self.doing(job, "a decision"):
            began, given = self.thinker.clock.monotonic(), None
            try:
                result = given = await self._evaluated(decision_id, request)
            finally:
                latency = round((self.thinker.clock.monotonic() - began) * 1000, 3)
                self._count(given, latency)
            if result.error is not None:
                raise self._failed(result.error)
            answers = Answers(request.questions, result)
            exchange = Exchange(
                decision_id,
                request.state,
                request.questions,
                {
                    key: answers.noul(key) if asked.kind == "noul" else answers.choice(key)
                    for key, asked in request.questions.items()
                },
                self._call(result, latency),
            )
        self.end(job, decision=exchange)
        return answers

    async def _evaluated(self, decision_id: str, request: DecisionRequest) -> DecisionResult:
        seconds = self.thinker.decision_seconds
        try:
            async with asyncio.timeout(seconds) as deadline:
                with recording(decision_id, erasure_key=self._erasure_key):
                    return await self._client.evaluate(request)
        except TimeoutError:
            if not deadline.expired():
                raise
            reason = f"There was no decision within {seconds:g} s."
            raise Failed("LlmTimeout", reason, transient=True, timed_out=True) from None

    def _failed(self, error: DecisionError) -> Failed:
        thinker, late = self.thinker, error.kind == "Timeout"
        why = DecisionFailed(error, thinker.client.endpoint or thinker.client.provider)
        return Failed(
            "LlmTimeout" if late else "LlmError",
            f"The decision failed after its retry budget ({thinker.retries}): {why}",
            transient=error.transient,
            timed_out=late,
        )

    def retrying(self, number: int, error: DecisionError | None) -> None:
        """The decision is asked for once more, after this error."""
        if self._asked is not None and error is not None:
            retry: Literal["rate_limit", "upstream"] = (
                "rate_limit" if error.kind == "RateLimited" else "upstream"
            )
            self.tell(JobRetrying(*self.stamp, self._asked, retry, f"Attempt {number}: {error.kind}."))
            self.tell(JobStarted(*self.stamp, self._asked, number + 1))

    def _fit(self, request: DecisionRequest) -> None:
        """See to it that a request is not larger than it may be, before it is sent."""
        most = self.thinker.max_context_tokens
        if most is None:
            return
        asked = {key: question.as_json() for key, question in request.questions.items()}
        body = json.dumps({"state": request.state, "questions": asked}, ensure_ascii=False)
        size = estimate_tokens([Message("user", body)])
        if size > most:
            raise Failed("LlmError", f"The decision takes about {size} tokens, and {most} may be sent.")

    def _count(self, result: DecisionResult | None, latency: float) -> None:
        """A decision that was asked for, also one there is no result of."""
        used = result.usage if result else None
        sent, received = (used.input_tokens, used.output_tokens) if used else (None, None)
        self.meter.count_calls(result.calls if result else 1, sent, received)
        totals = self.totals
        self.totals = replace(
            totals,
            calls=totals.calls + 1,
            input_tokens=totals.input_tokens + (sent or 0),
            latency_ms=round(totals.latency_ms + latency, 3),
            cost=_sum(totals.cost, used.cost if used else None),
            served_model=(result.served_model if result else None) or totals.served_model,
        )

    def charge(self, used: Usage) -> None:
        """What was used elsewhere on behalf of this run."""
        self.meter.charge(used)
        totals = self.totals
        self.totals = replace(
            totals,
            calls=totals.calls + used.llm_calls,
            input_tokens=totals.input_tokens + used.input_tokens,
            cost=_sum(totals.cost, used.cost),
        )

    def _call(self, result: DecisionResult, latency: float) -> Call:
        used = result.usage
        return Call(
            model=self.thinker.client.model,
            served_model=result.served_model,
            input_tokens=used.input_tokens if used else None,
            latency_ms=latency,
            cost=used.cost if used else None,
            probability_source=result.probability_source,
            attempts=result.attempts,
        )


class _Watched(Stage):
    """The client of one run, which tells it of each request that is sent again."""

    def __init__(self, inner: DecisionClient, run: Deciding) -> None:
        super().__init__(inner)
        self._run = run
        self._last: DecisionError | None = None

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        if request.retry_attempt > 0:
            self._run.retrying(request.retry_attempt, self._last)
        result = await self._inner.evaluate(request)
        self._last = result.error
        return result


def _sum(one: float | None, other: float | None) -> float | None:
    """Two costs together; one that is not known counts for nothing beside one that is."""
    return one if other is None else (one or 0.0) + other


def words_of(error: BaseException) -> str:
    """What an error says."""
    return str(error) or type(error).__name__
