"""A run: one execution of a tree, pulled forward by whoever reads it.

``async for stop in run`` stops before each node, and where the reader asked for it inside one; asking
again executes what was just shown. Breakpoints, stepping, batch and the command line are readers of the
same object. The clock of the elapsed limit stands still while nobody asks.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import coroutine
from typing import Final, Literal, Protocol, TypeAlias, TypedDict, cast

from engine.budget import (
    CALLS_EXCEEDED,
    DEFAULT_LIMITS,
    EXHAUSTED,
    IMPOSSIBLE,
    VISITS_EXCEEDED,
    BudgetStop,
    Clock,
    LimitName,
    Limits,
    Meter,
    SystemClock,
)
from engine.catalog import ActionContext, ActionResult, Catalog, PredicateContext
from engine.checks import Runnable, runnable
from engine.conversation import ContextBuilder, Conversation, SlidingConversation, build_context
from engine.data import BoundedDataPolicy, DataItem, DataPolicy, DataSnapshot, DataStore, Properties
from engine.deciders import Attempt, Decider, Decision, Question
from engine.errors import CaseError, LlmError, TreeInvalid
from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    BudgetPassed,
    Classification,
    ClassificationCompleted,
    Event,
    FailureKind,
    NodeStarted,
    NodeVisited,
    Observer,
    Outcome,
    RunEnded,
    RunResult,
    RunStarted,
    Visit,
)
from engine.llm import Message
from engine.llm.failures import caller_is_cancelled
from engine.tree import (
    UNKNOWN,
    ActionNode,
    AnyNode,
    Budget,
    ClassifyNode,
    ConditionNode,
    Json,
    NodeId,
    Tree,
    fill,
    placeholders,
)
from engine.treefile import tree_hash

log = logging.getLogger(__name__)


class _Stamp(TypedDict):
    execution_id: str
    at: datetime
    trace_id: str | None
    correlation_id: str | None


Phase: TypeAlias = Literal["beforeNode", "beforeAttempt", "afterDecision", "beforeTool", "afterTool"]
"""Where in a node a run can stop."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run stands: at this node, in this phase; ``turn`` counts attempts, tools and the like."""

    node: NodeId
    phase: Phase = "beforeNode"
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Pins:
    """Results fixed beforehand. A sequence holds one result a visit; used up, the run ends with an error.

    ``answers`` stand for a decision; ``replies`` are raw texts of a model, of all visits in order, which
    go through the real prompt and parser.
    """

    answers: Mapping[NodeId, str | Sequence[str]] = field(default_factory=dict, repr=False)
    replies: Mapping[NodeId, Sequence[str]] = field(default_factory=dict, repr=False)
    actions: Mapping[NodeId, ActionResult | Sequence[ActionResult]] = field(default_factory=dict, repr=False)
    conditions: Mapping[NodeId, bool | Sequence[bool]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What one run starts from.

    The budget's members go before the tree's. Records of this run's decisions carry the erasure key.
    """

    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    properties: Mapping[str, object] = field(default_factory=dict, repr=False)
    data: tuple[DataItem, ...] = field(default=(), repr=False)
    pins: Pins = field(default_factory=Pins)
    budget: Budget | None = None
    erasure_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Parts:
    """The replaceable parts of a run; see :class:`engine.session.Session`."""

    decider: Decider
    new_id: Callable[[], str]
    new_decision_id: Callable[[datetime], str]
    catalog: Catalog
    limits: Limits = DEFAULT_LIMITS
    throttle_delay: float = 0.1
    retry_delay: float = 0.0
    clock: Clock = field(default_factory=SystemClock)
    data_policy: DataPolicy = field(default_factory=BoundedDataPolicy)
    build_context: ContextBuilder = build_context
    new_conversation: Callable[[], Conversation] = SlidingConversation
    trace_id: str | None = None
    correlation_id: str | None = None


class TranscriptReport(Protocol):
    """What became of the transcript of a run; both None when none was asked for."""

    @property
    def status(self) -> str | None:
        """``Completed``, ``Unavailable``, ``RedactorUnavailable``, ``FinalizationFailed`` or None."""
        ...

    @property
    def path(self) -> Path | None:
        """Where it is, once completed."""
        ...


class _Ended(Exception):
    def __init__(self, outcome: Outcome, error: str | None = None, kind: FailureKind | None = None) -> None:
        super().__init__(outcome)
        self.outcome, self.error, self.kind = outcome, error, kind


CANCELLED: Final = "Decision execution was cancelled."


class Run:
    """One execution. Read it with ``async for``, or drive it to its end with :meth:`finish`.

    ``observers`` are given every event at once. ``stops_inside`` names the phases, besides ``beforeNode``,
    at which the run stops.
    """

    def __init__(
        self,
        tree: Tree | Runnable,
        inputs: Inputs,
        parts: Parts,
        *,
        observers: Iterable[Observer] = (),
        stops_inside: Iterable[Phase] = (),
        transcript: TranscriptReport | None = None,
    ) -> None:
        self.transcript = transcript
        self._execution = _Execution(tree, inputs, parts, list(observers), frozenset(stops_inside))
        self._body: Coroutine[object, None, None] | None = None
        self._driver: asyncio.Task[object] | None = None
        self._cancelled_driver = False

    @property
    def execution_id(self) -> str:
        """The id of this execution: 32 lower-case hex digits."""
        return self._execution.id

    @property
    def result(self) -> RunResult:
        """How the run ended; ``RuntimeError`` before it has."""
        if self._execution.result is None:
            raise RuntimeError("The run has not ended yet.")
        return self._execution.result

    @property
    def ended(self) -> bool:
        """Whether there is a result."""
        return self._execution.result is not None

    @property
    def elapsed(self) -> float:
        """Seconds of work so far; the time nobody asked is left out."""
        return self._execution.meter.elapsed

    def observe(self, observer: Observer) -> None:
        """Add an observer; it is given the events from now on."""
        self._execution.observers.append(observer)

    def __aiter__(self) -> "Run":
        return self

    async def __anext__(self) -> Stop:
        if self.ended:
            raise StopAsyncIteration
        if self._driver is not None:
            raise RuntimeError("A run has one reader at a time.")
        self._driver = asyncio.current_task()
        self._body = self._body or self._execution.execute()
        self._execution.meter.resume()
        try:
            stop = await _Pull(self._body, self._execution)
        except asyncio.CancelledError:
            # When our own cancel() interrupted the reader its task goes on; else it stays cancelled.
            if not self._cancelled_driver or self._driver is None or self._driver.uncancel():
                raise
            stop = None
        finally:
            self._driver = None
            self._execution.meter.pause()
        if stop is None:
            raise StopAsyncIteration
        return stop

    async def finish(self) -> RunResult:
        """Drive the run to its end without stopping."""
        async for _ in self:
            pass
        return self.result

    def cancel(self) -> None:
        """End the run as ``Cancelled``: at once between two steps, else as soon as the node lets go."""
        if self.ended or self._execution.cancelled:
            return
        self._execution.cancelled = True
        if self._driver is not None:
            self._cancelled_driver = True
            self._driver.cancel()
            return
        with suppress(StopIteration):
            if self._body is None:
                self._execution.execute().send(None)
            else:
                self._body.throw(asyncio.CancelledError())


class _Execution:
    """The work behind a run: what it holds, and the order of things."""

    def __init__(
        self,
        tree: Tree | Runnable,
        inputs: Inputs,
        parts: Parts,
        observers: list[Observer],
        stops_inside: frozenset[Phase],
    ) -> None:
        self.tree = tree.tree if isinstance(tree, Runnable) else tree
        self.plan = tree if isinstance(tree, Runnable) else None
        self.hash = tree.hash if isinstance(tree, Runnable) else tree_hash(tree)
        self.id = parts.new_id()
        self.inputs, self.parts = inputs, parts
        self.observers, self.stops_inside = observers, stops_inside
        self.meter = Meter(parts.clock, parts.limits.within(self.tree.budget).within(inputs.budget))
        self.decider = parts.decider.for_run()
        self.conversation = parts.new_conversation()
        self.properties: Properties = dict(inputs.properties)
        self.data = DataStore(inputs.data)
        self.visits: Counter[NodeId] = Counter()
        self.path: list[Visit] = []
        self.classifications: list[Classification] = []
        self.first_unknown: str | None = None
        self.verdict: str | None = None
        self.model: str | None = None
        self.result: RunResult | None = None
        self.cancelled = self.out_of_time = False
        self.asking = False

    async def execute(self) -> None:
        """The whole run (the order is that of the reference runtime)."""
        self.emit(
            lambda stamp: RunStarted(
                tree=self.tree,
                tree_hash=self.hash,
                limits=self.meter.limits,
                parameters=dict(self.inputs.parameters),
                properties=dict(self.properties),
                data=tuple(self.data),
                **stamp,
            )
        )
        exceeded: LimitName | None = None
        try:
            self.check_cancelled()
            await self._walk(self._prepared())
            ending = _Ended("Unknown" if self.first_unknown else "Terminal", self.first_unknown)
        except BudgetStop as stop:
            ending, exceeded = _Ended("BudgetExhausted", str(stop)), stop.limit
        except _Ended as early:
            ending = early
        except asyncio.CancelledError:
            if self.out_of_time and not self.cancelled:
                ending, exceeded = _Ended("BudgetExhausted", EXHAUSTED), "elapsedTime"
                # Nobody will say what the call that was cut off has cost, but it was made.
                self.meter.count_calls(int(self.asking), None, None)
            elif self.cancelled or caller_is_cancelled():
                ending = _Ended("Cancelled", CANCELLED)
            else:
                # A part was cancelled from inside, as by a time-out of its own; nobody cancelled the run.
                ending = _Ended(
                    "ValidationFailed",
                    self._with_model("A part of the run was cancelled from inside."),
                    "internal",
                )
        except (TreeInvalid, CaseError) as error:
            ending = _Ended("ValidationFailed", str(error), "validation")
        except LlmError as error:
            ending = _Ended("ValidationFailed", self._with_model(str(error)), "llm")
        except Exception as error:  # noqa: BLE001 - whatever went wrong is the run's result
            ending = _Ended(
                "ValidationFailed", self._with_model(str(error) or type(error).__name__), "internal"
            )
        self.result = result = RunResult(
            execution_id=self.id,
            tree_id=self.tree.tree_id,
            version=self.tree.version,
            tree_hash=self.hash,
            outcome=ending.outcome,
            verdict=self.verdict,
            error=ending.error,
            failure_kind=ending.kind,
            exceeded=exceeded,
            had_unknown=self.first_unknown is not None,
            classifications=tuple(self.classifications),
            usage=self.meter.reading(),
            limits=self.meter.limits,
            state_properties={k: v for k, v in self.properties.items() if v is not None},
            path=tuple(self.path),
        )
        self.emit(lambda stamp: RunEnded(result=result, **stamp))

    def _prepared(self) -> Runnable:
        plan = self.plan or runnable(self.tree, self.parts.catalog)
        if not self.meter.limits.are_possible:
            raise _Ended("ValidationFailed", IMPOSSIBLE, "validation")
        pins, catalog = self.inputs.pins, self.parts.catalog
        for node_id, node in plan.tree.nodes.items():
            match node:
                case ActionNode() if node_id not in pins.actions and node.action_key not in catalog.actions:
                    message = f"Action '{node.action_key}' for node '{node_id}' is not registered."
                case ConditionNode() if (
                    node_id not in pins.conditions and node.predicate_key not in catalog.predicates
                ):
                    message = f"Predicate '{node.predicate_key}' for node '{node_id}' is not registered."
                case _:
                    continue
            raise _Ended("ValidationFailed", message, "validation")
        return plan

    async def _walk(self, plan: Runnable) -> None:
        node_id = plan.tree.start_node_id
        while True:
            await _stop_at(Stop(node_id))
            self.check_cancelled()
            await self.check_limits(node_id)
            node = plan.tree.nodes[node_id]
            if self.meter.visits_used_up:
                await self.throttle()
                raise BudgetStop("nodeVisits", VISITS_EXCEEDED)
            self.meter.count_visit()
            self.visits[node_id] += 1
            visit = _Visiting(self, node_id, node, self.visits[node_id])
            visit.begin()
            try:
                await self.check_limits(node_id)
            except BudgetStop:
                visit.over("budget")
                raise
            branch = await node.visit(visit)
            if branch is None:
                visit.over(self.verdict or "")
                return
            target = plan.targets[node_id].get(branch)
            if target is None:
                message = f"Decision tree node has no transition for condition '{branch}'."
                raise _Ended("ValidationFailed", message, "internal")
            visit.over(branch, target)
            if branch == "transientFailure" and isinstance(node, ActionNode) and target in self.visits:
                await self.wait(self.parts.retry_delay)
            node_id = target

    def check_cancelled(self) -> None:
        """Go no further once the run was cancelled."""
        if self.cancelled or caller_is_cancelled():
            raise asyncio.CancelledError

    async def check_limits(self, node: NodeId) -> None:
        """Stop when a limit was passed; only the elapsed limit can be softened (spec section 3.4)."""
        passed = self.meter.passed()
        if passed is None:
            return
        await self.throttle()
        if passed != "elapsedTime" or self.meter.limits.on_exceeded == "halt":
            raise BudgetStop(passed, EXHAUSTED)
        self.emit(lambda stamp: BudgetPassed(node=node, limit=passed, **stamp))

    async def throttle(self) -> None:
        """The short delay of a throttled run that has passed a limit."""
        if self.meter.limits.on_exceeded == "throttle":
            await self.wait(self.parts.throttle_delay)

    async def wait(self, seconds: float) -> None:
        """Let time pass, on the run's clock."""
        if seconds > 0:
            await self.parts.clock.sleep(seconds)

    def emit(self, make: Callable[[_Stamp], Event]) -> None:
        """Tell every observer; the event is made only when somebody listens."""
        if not self.observers:
            return
        parts = self.parts
        event = make(
            {
                "execution_id": self.id,
                "at": parts.clock.now(),
                "trace_id": parts.trace_id,
                "correlation_id": parts.correlation_id,
            }
        )
        for observer in tuple(self.observers):
            try:
                observer(event)
            except Exception as error:  # noqa: BLE001 - an observer must not break the run
                self.observers.remove(observer)
                log.warning("An observer failed with %s and gets no more events.", type(error).__name__)

    def _with_model(self, message: str) -> str:
        return f"{message} (model: {self.model})" if self.model else message


class _Visiting:
    """One visit: what :class:`engine.tree.Step` and :class:`engine.deciders.Desk` promise."""

    def __init__(self, run: _Execution, node_id: NodeId, node: AnyNode, number: int) -> None:
        self._run, self._id, self._node, self.number = run, node_id, node, number
        self._began = run.meter.elapsed
        self._forced = False
        self._decision_id: str | None = None

    def begin(self) -> None:
        self._run.emit(
            lambda stamp: NodeStarted(node=self._id, type=self._node.type or "", visit=self.number, **stamp)
        )

    def over(self, outcome: str, target: NodeId | None = None) -> None:
        run = self._run
        visit = Visit(
            node=self._id,
            type=self._node.type or "",
            number=self.number,
            outcome=outcome,
            branch=None if target is None else outcome,
            next=target,
            duration=run.meter.elapsed - self._began,
            forced=self._forced,
            decision_id=self._decision_id,
        )
        run.path.append(visit)
        run.emit(lambda stamp: NodeVisited(visit=visit, usage=run.meter.reading(), **stamp))

    # Step

    async def act(self, action_key: str) -> str:
        run = self._run
        before, held = dict(run.properties), len(run.data)
        pinned = run.inputs.pins.actions.get(self._id)
        if pinned is None:
            result = await self._executed(action_key)
        else:
            result = cast("ActionResult", self._pinned(pinned, "result"))
            self._forced = True
        run.data.add(*result.data)
        run.properties.update(result.properties)
        if result.llm_calls:
            run.meter.count_calls(result.llm_calls, None, None)
        run.emit(
            lambda stamp: ActionCompleted(
                node=self._id,
                visit=self.number,
                name=self._node.name,
                action_key=action_key,
                status=result.status,
                summary=result.summary,
                error=result.error,
                produced=run.data.since(held),
                changed={k: v for k, v in run.properties.items() if k not in before or before[k] is not v},
                pinned=pinned is not None,
                **stamp,
            )
        )
        return result.status

    async def _executed(self, action_key: str) -> ActionResult:
        run = self._run
        context = ActionContext(self._id, run.id, run.inputs.parameters, run.properties, run.data)
        try:
            result: object = await run.parts.catalog.actions[action_key].execute(context)
            if not isinstance(result, ActionResult):
                raise TypeError("The action returned no result.")  # noqa: TRY301 - one way to fail
            return result
        except asyncio.CancelledError as error:
            # A time-out inside an action may surface as a cancellation although nobody cancelled the run.
            if run.cancelled or caller_is_cancelled():
                raise
            return ActionResult(
                "permanentFailure", error=str(error) or "The action was cancelled from inside."
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - spec section 3.3
            return ActionResult("permanentFailure", error=str(error) or type(error).__name__)

    async def ask(self, task: str, answers: tuple[str, ...]) -> str:
        run = self._run
        if run.meter.calls_used_up:
            await run.throttle()
            raise BudgetStop("llmCalls", CALLS_EXCEEDED)
        self._decision_id = decision_id = run.parts.new_decision_id(run.parts.clock.now())
        question = Question(
            node=self._id,
            visit=self.number,
            decision_id=decision_id,
            tree_id=run.tree.tree_id,
            tree_version=run.tree.version,
            execution_id=run.id,
            erasure_key=run.inputs.erasure_key,
            policy=run.tree.system_prompt,
            task=task,
            text=fill(task, run.inputs.parameters),
            answers=answers,
            prompt=self._prompt,
            state=self._recorded_state,
            desk=self,
            tree_hash=run.hash,
        )
        charged = run.meter.calls
        decision: Decision | None = await run.decider.decide(question)
        run.asking = False
        if decision is None:
            raise _Ended("ValidationFailed", f"Node '{self._id}' was given no decision.", "internal")
        if decision.llm_calls and run.meter.calls == charged:
            # An own decider that never asked the desk is charged by its own word: a call limit binds all.
            await self.after_attempt(
                Attempt(
                    1,
                    calls=decision.llm_calls,
                    input_tokens=decision.input_tokens,
                    output_tokens=decision.output_tokens,
                )
            )
        if decision.answer is not None and decision.answer not in answers:
            raise _Ended(
                "ValidationFailed", f"Node '{self._id}' was given an answer it does not declare.", "internal"
            )
        if decision.answer is None:
            run.first_unknown = run.first_unknown or decision.error or "The answer is unknown."
        classification = _classified(decision, question, run.parts.clock.now())
        run.classifications.append(classification)
        run.emit(lambda stamp: ClassificationCompleted(classification=classification, **stamp))
        await self._stop("afterDecision")
        return classification.answer

    def test(self, predicate_key: str, parameters: Mapping[str, Json]) -> str:
        run = self._run
        pinned = run.inputs.pins.conditions.get(self._id)
        if pinned is not None:
            self._forced = True
            return "true" if self._pinned(pinned, "value") else "false"
        context = PredicateContext(self._id, run.properties, run.data, parameters)
        try:
            return "true" if run.parts.catalog.predicates[predicate_key].evaluate(context) else "false"
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            self.over("validationFailed")
            message = f"Predicate '{predicate_key}' failed: {error}"
            raise _Ended("ValidationFailed", message, "predicate") from error

    def end(self, verdict: str) -> None:
        self._run.verdict = verdict

    def _pinned(self, pin: object, what: str) -> object:
        if not isinstance(pin, Sequence):
            return pin
        if self.number > len(pin):
            raise CaseError(f"Node '{self._id}' has no pinned {what} for visit {self.number}.")
        return pin[self.number - 1]

    # Desk

    @property
    def conversation(self) -> Conversation:
        return self._run.conversation

    @property
    def max_context_tokens(self) -> int:
        return self._run.meter.limits.context_tokens

    async def before_attempt(self, number: int) -> None:
        run = self._run
        if number > 1 and run.meter.calls_used_up:
            await run.throttle()
            raise BudgetStop("llmCalls", EXHAUSTED)
        await self._stop("beforeAttempt", number)
        run.asking = True

    async def after_attempt(self, attempt: Attempt) -> None:
        run = self._run
        run.asking = False
        run.meter.count_calls(attempt.calls, attempt.input_tokens, attempt.output_tokens)
        run.emit(
            lambda stamp: AttemptCompleted(
                node=self._id,
                visit=self.number,
                attempt=attempt,
                usage=run.meter.reading(),
                decision_id=self._decision_id,
                **stamp,
            )
        )
        await run.check_limits(self._id)

    @contextmanager
    def off_the_clock(self) -> Iterator[None]:
        meter = self._run.meter
        meter.pause()
        try:
            yield
        finally:
            meter.resume()

    def model_in_use(self, model: str | None) -> None:
        self._run.model = model

    async def _stop(self, phase: Phase, turn: int | None = None) -> None:
        if phase in self._run.stops_inside:
            await _stop_at(Stop(self._id, phase, turn))
        self._run.check_cancelled()

    # What a question may show

    @cached_property
    def _snapshot(self) -> DataSnapshot:
        return self._run.parts.data_policy.select(self._run.data)

    def _prompt(self) -> Sequence[Message]:
        run, node = self._run, self._node
        assert isinstance(node, ClassifyNode)  # noqa: S101 - only such a node asks
        return run.parts.build_context(run.tree, node, run.properties, self._snapshot, run.inputs.parameters)

    def _recorded_state(self) -> Json:
        parameters = self._run.inputs.parameters
        node = self._node
        assert isinstance(node, ClassifyNode)  # noqa: S101 - only such a node asks
        asked = dict.fromkeys((*placeholders(self._run.tree.task), *placeholders(node.task)))
        state: dict[str, Json] = {
            "parameters": {name: parameters[name] for name in asked if name in parameters},
            "data": [
                {"type": item.shown_type, "source": item.shown_source, "content": item.content}
                for item in self._snapshot.items
            ],
        }
        if self._snapshot.omitted:
            state["dropped"] = self._snapshot.omitted
        return state


def _classified(decision: Decision, question: Question, at: datetime) -> Classification:
    return Classification(
        node=question.node,
        visit=question.visit,
        decision_id=question.decision_id,
        answer=UNKNOWN if decision.answer is None else decision.answer,
        observation=decision.error if decision.answer is None else decision.observation,
        confidence=decision.confidence,
        probabilities=decision.probabilities,
        attempts=decision.attempts,
        llm_calls=decision.llm_calls,
        reason=decision.reason,
        at=at,
    )


# -- pulling -------------------------------------------------------------------------------------------


@coroutine
def _stop_at(stop: Stop) -> Generator[Stop, None, None]:
    yield stop


class _Pull(Awaitable[Stop | None]):
    """Runs the body until it stops or ends. What the body awaits is passed on to the event loop."""

    def __init__(self, body: Coroutine[object, None, None], execution: _Execution) -> None:
        self._body, self._execution = body, execution

    def __await__(self) -> Generator[object, None, Stop | None]:
        thrown: BaseException | None = None
        watch: _Watch | None = None
        try:
            awaited = self._body.send(None)
            while not isinstance(awaited, Stop):
                # Only now: most steps never wait for anything, and should not pay for a timer.
                watch = watch or _Watch(self._execution)
                try:
                    yield awaited
                except BaseException as error:  # noqa: BLE001 - handed to the body, which decides
                    thrown = error
                    awaited = self._body.throw(error)
                else:
                    awaited = self._body.send(None)
            return awaited
        except StopIteration:
            pass
        finally:
            if watch is not None:
                watch.stop()
        # The body ended in good order; a cancelled reader stays cancelled all the same.
        if isinstance(thrown, asyncio.CancelledError) and caller_is_cancelled():
            raise thrown
        return None


class _Watch:
    """Interrupts the reader's task when the run waits past a hard elapsed limit."""

    def __init__(self, execution: _Execution) -> None:
        self._execution, self._task = execution, asyncio.current_task()
        self._timer: asyncio.TimerHandle | None = None
        self._interrupted = False
        if execution.meter.limits.on_exceeded == "halt":
            self._set()

    def _set(self) -> None:
        # The run's clock may stand still while this one goes on: then time is left, and one looks again.
        wait = max(self._execution.meter.left, _SHORTEST_WATCH)
        self._timer = asyncio.get_running_loop().call_later(wait, self._look)

    def _look(self) -> None:
        if self._execution.meter.left >= 0:
            self._set()
        elif self._task is not None:
            self._execution.out_of_time = self._interrupted = True
            self._task.cancel()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._interrupted and self._task is not None:
            self._task.uncancel()


_SHORTEST_WATCH: Final = 0.01
