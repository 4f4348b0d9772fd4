"""A run: one execution of a tree, pulled forward by whoever reads it.

``async for stop in run`` stops before each node, and where the reader asked for it inside one; asking
again executes what was just shown. Breakpoints, stepping, batch and the command line are readers of the
same object. The clock of the elapsed limit stands still while nobody asks.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import coroutine
from typing import Final, Literal, Protocol, TypeAlias, cast

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
    Usage,
)
from engine.catalog import Action, ActionContext, ActionResult, Catalog, Person, PredicateContext
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
    SubRunEvent,
    Visit,
)
from engine.llm import Message
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
from engine.values import quick_to_make

log = logging.getLogger(__name__)


Phase: TypeAlias = Literal[
    "beforeNode", "beforeAttempt", "afterDecision", "beforeTool", "afterTool", "inside"
]
"""Where in a node a run can stop; ``inside`` is wherever a sub-run of its action does."""


@quick_to_make
@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run stands: at this node, in this phase; ``turn`` counts attempts, tools and the like.

    ``inner`` is where the sub-run stands that the node's action waits for, in the phase ``inside``.
    """

    node: NodeId
    phase: Phase = "beforeNode"
    turn: int | None = None
    inner: "Stop | None" = None


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


@quick_to_make
@dataclass(frozen=True, slots=True)
class Inputs:
    """What one run starts from.

    The budget's members go before the tree's. Records of this run's decisions carry the erasure key.
    """

    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    properties: Mapping[str, object] = field(default_factory=dict, repr=False)
    data: tuple[DataItem, ...] = field(default=(), repr=False)
    pins: Pins = Pins()
    budget: Budget | None = None
    erasure_key: str | None = field(default=None, repr=False)


@quick_to_make
@dataclass(frozen=True, slots=True)
class Parts:
    """The replaceable parts of a run; see :class:`engine.session.Session`.

    ``sub_decider`` decides in sub-runs, where that is another one: pins are of one tree.
    """

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
    sub_decider: Decider | None = None
    person: Person | None = None


class SubRun(Protocol):
    """What an action does in steps: it is pulled by the run it is a part of, and can be cancelled."""

    def __aiter__(self) -> "SubRun":
        """Itself."""
        ...

    async def __anext__(self) -> Stop:
        """Go on to the next place it can stop at."""
        ...

    def cancel(self) -> None:
        """End it, between two steps; nothing once it has ended."""
        ...

    @property
    def usage(self) -> Usage:
        """What it has used so far. The LLM calls and tokens are charged to the run, however it ends."""
        ...

    @property
    def result(self) -> ActionResult:
        """What came of it, once it has ended. Its own ``llm_calls`` stay 0, as ``usage`` is charged."""
        ...


class Caller(Protocol):
    """The visit that waits for a sub-run: what that is made of, bounded by and told to."""

    @property
    def parts(self) -> Parts:
        """The parts of the run, for a sub-run to share."""
        ...

    @property
    def left(self) -> Limits:
        """What the run has left: a sub-run must not take more calls and time."""
        ...

    @property
    def erasure_key(self) -> str | None:
        """What records of decisions carry, so that all of a person's can be erased."""
        ...

    @property
    def depth(self) -> int:
        """How many runs wait for this one."""
        ...

    @property
    def stops_inside(self) -> tuple[Phase, ...]:
        """The phases, besides ``beforeNode``, at which the reader wants to stop."""
        ...

    @property
    def observers(self) -> tuple[Observer, ...]:
        """Who is to be told the events of a sub-run."""
        ...

    def off_the_clock(self) -> AbstractContextManager[None]:
        """Time spent inside is not charged to the run, nor to those that wait for it."""
        ...


class SteppedAction(Action, Protocol):
    """An action that is a sub-run. In a run it is begun, and not executed."""

    def begin(self, context: ActionContext, caller: Caller) -> SubRun:
        """The sub-run, of which nothing has happened yet."""
        ...


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
    def __init__(
        self,
        outcome: Outcome,
        error: str | None = None,
        kind: FailureKind | None = None,
        exceeded: LimitName | None = None,
    ) -> None:
        super().__init__(outcome)
        self.outcome, self.error, self.kind, self.exceeded = outcome, error, kind, exceeded


CANCELLED: Final = "Decision execution was cancelled."


class Run:
    """One execution. Read it with ``async for``, or drive it to its end with :meth:`finish`.

    ``observers`` are given every event at once. ``stops_inside`` names the phases, besides ``beforeNode``,
    at which the run stops. A run that is a part of another one has a ``caller`` and is bounded by what that
    has left.
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
        caller: Caller | None = None,
    ) -> None:
        self.transcript = transcript
        self._execution = _Execution(tree, inputs, parts, tuple(observers), caller)
        self._stops: tuple[Phase, ...] = ("beforeNode", *stops_inside)
        self._body: Coroutine[object, None, None] | None = None
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

    @property
    def usage(self) -> Usage:
        """What it has used so far."""
        return self._execution.meter.reading()

    @property
    def data(self) -> tuple[DataItem, ...]:
        """What it knows so far, in the order it came."""
        return tuple(self._execution.data)

    def observe(self, observer: Observer) -> None:
        """Add an observer; it is given the events from now on."""
        self._execution.observers += (observer,)

    def __aiter__(self) -> "Run":
        return self

    async def __anext__(self) -> Stop:
        stop = await self._pull(self._stops)
        if stop is None:
            raise StopAsyncIteration
        return stop

    async def finish(self) -> RunResult:
        """Drive the run to its end without stopping."""
        await self._pull(())
        return self.result

    def cancel(self) -> None:
        """End the run as ``Cancelled``: at once between two steps, else as soon as the node lets go."""
        execution = self._execution
        if self.ended or execution.cancelled:
            return
        execution.cancelled = True
        if execution.driver is not None:
            self._cancelled_driver = True
            execution.driver.cancel()
            return
        with suppress(StopIteration):
            if self._body is None:
                execution.execute().send(None)
            else:
                self._body.throw(asyncio.CancelledError())

    @coroutine
    def _pull(self, stops: tuple[Phase, ...]) -> Generator[object, None, Stop | None]:
        """Run the body until it stops, or ends (None). What it awaits is passed on to the event loop."""
        if self.ended:
            return None
        execution = self._execution
        if execution.driver is not None:
            raise RuntimeError("A run has one reader at a time.")
        execution.driver, execution.stops = asyncio.current_task(), stops
        self._body = body = self._body or execution.execute()
        execution.meter.resume()
        thrown: BaseException | None = None
        heard = False
        stop: Stop | None = None
        watch: _Watch | None = None
        try:
            awaited = body.send(None)
            while not isinstance(awaited, Stop):
                # Only now: most steps never wait for anything, and should not pay for a timer.
                watch = watch or _Watch(execution)
                try:
                    yield awaited
                except BaseException as error:  # noqa: BLE001 - handed to the body, which decides
                    thrown, heard = error, self._cancelled_driver
                    awaited = body.throw(error)
                else:
                    awaited = body.send(None)
            stop = awaited
        except StopIteration:
            stop = None
        finally:
            if watch is not None:
                watch.stop()
            driver, execution.driver = execution.driver, None
            execution.meter.pause()
        if self._cancelled_driver and driver is not None:
            thrown = yield from self._given_back(driver, thrown, heard=heard)
        # The body ended in good order; a reader that others have cancelled stays cancelled all the same.
        others = isinstance(thrown, asyncio.CancelledError) and driver is not None and driver.cancelling()
        if stop is None and others:
            raise cast("asyncio.CancelledError", thrown)
        return stop

    def _given_back(
        self, driver: asyncio.Task[object], thrown: BaseException | None, *, heard: bool
    ) -> Generator[object, None, BaseException | None]:
        """Let the reader's task, which our own cancel() interrupted, go on; what was thrown into it last."""
        self._cancelled_driver = False
        if not heard:
            # Who cancels from inside the run, as an observer may, has it thrown at the next wait: this one.
            try:
                yield None
            except asyncio.CancelledError as error:
                thrown = error
        driver.uncancel()
        return thrown


class _Execution:
    """The work behind a run: what it holds, and the order of things."""

    def __init__(
        self,
        tree: Tree | Runnable,
        inputs: Inputs,
        parts: Parts,
        observers: tuple[Observer, ...],
        caller: Caller | None,
    ) -> None:
        self.tree = tree.tree if isinstance(tree, Runnable) else tree
        self.plan = tree if isinstance(tree, Runnable) else None
        self.hash = tree.hash if isinstance(tree, Runnable) else tree_hash(tree)
        self.id = parts.new_id()
        self.inputs, self.parts, self.now = inputs, parts, parts.clock.now
        self.is_traced = parts.trace_id is not None or parts.correlation_id is not None
        self.observers = observers
        self.stops: tuple[Phase, ...] = ()
        self.driver: asyncio.Task[object] | None = None
        self.caller = caller
        limits = parts.limits.within(self.tree.budget).within(inputs.budget)
        self.meter = Meter(parts.clock, limits if caller is None else limits.bounded_by(caller.left))
        self.decider = parts.decider.for_run()
        self.conversation = parts.new_conversation()
        self.properties: Properties = dict(inputs.properties)
        self.data = DataStore(inputs.data)
        self.visits: dict[NodeId, int] = {}
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
        if self.observers:
            self.tell(
                RunStarted(
                    self.id,
                    self.now(),
                    tree=self.tree,
                    tree_hash=self.hash,
                    limits=self.meter.limits,
                    parameters=dict(self.inputs.parameters),
                    properties=dict(self.properties),
                    data=tuple(self.data),
                )
            )
        meter = self.meter
        try:
            self.check_cancelled()
            plan = self._prepared()
            node_id: NodeId | None = plan.tree.start_node_id
            while node_id is not None:
                if "beforeNode" in self.stops:
                    await stop_at(Stop(node_id))
                self.check_cancelled()
                if passed := meter.passed():
                    await self.over_limit(passed, node_id)
                if meter.visits_used_up:
                    await self.used_up("nodeVisits", VISITS_EXCEEDED)
                node = plan.tree.nodes[node_id]
                visit = self._begun(node_id, node)
                if passed := meter.passed():
                    await visit.over_limit(passed)
                branch = await node.visit(visit)
                node_id = self._followed(visit, branch, plan.targets[node_id])
                if branch == "transientFailure" and isinstance(node, ActionNode) and node_id in self.visits:
                    await self.wait(self.parts.retry_delay)
            ending = _Ended("Unknown" if self.first_unknown else "Terminal", self.first_unknown)
        except BaseException as error:  # noqa: BLE001 - whatever went wrong is the run's result
            ending = self._ending(error)
        self.result = result = RunResult(
            execution_id=self.id,
            tree_id=self.tree.tree_id,
            version=self.tree.version,
            tree_hash=self.hash,
            outcome=ending.outcome,
            verdict=self.verdict,
            error=ending.error,
            failure_kind=ending.kind,
            exceeded=ending.exceeded,
            had_unknown=self.first_unknown is not None,
            classifications=tuple(self.classifications),
            usage=self.meter.reading(),
            limits=self.meter.limits,
            state_properties={k: v for k, v in self.properties.items() if v is not None},
            path=tuple(self.path),
        )
        if self.observers:
            self.tell(RunEnded(self.id, self.now(), result))

    def _ending(self, error: BaseException) -> "_Ended":
        """How the run ends by this error; one that is no part of it is raised again."""
        kind: FailureKind = "internal"
        match error:
            case _Ended():
                return error
            case BudgetStop():
                return _Ended("BudgetExhausted", str(error), exceeded=error.limit)
            case asyncio.CancelledError() if self.out_of_time and not self.cancelled:
                # Nobody will say what the call that was cut off has cost, but it was made.
                self.meter.count_calls(int(self.asking), None, None)
                return _Ended("BudgetExhausted", EXHAUSTED, exceeded="elapsedTime")
            case asyncio.CancelledError() if self.is_cancelled:
                return _Ended("Cancelled", CANCELLED)
            case asyncio.CancelledError():
                # A part was cancelled, as by a time-out of its own; nobody cancelled the run.
                message = "A part of the run was cancelled from inside."
            case TreeInvalid() | CaseError():
                return _Ended("ValidationFailed", str(error), "validation")
            case LlmError():
                message, kind = str(error), "llm"
            case Exception():
                message = str(error) or type(error).__name__
            case _:
                raise error
        return _Ended("ValidationFailed", f"{message} (model: {self.model})" if self.model else message, kind)

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

    def _begun(self, node_id: NodeId, node: AnyNode) -> "_Visiting":
        self.meter.visits += 1
        self.visits[node_id] = number = self.visits.get(node_id, 0) + 1
        visit = _Visiting(self, node_id, node, number)
        if self.observers:
            self.tell(NodeStarted(self.id, self.now(), node_id, node.type or "", number))
        return visit

    def _followed(
        self, visit: "_Visiting", branch: str | None, targets: Mapping[str, NodeId]
    ) -> NodeId | None:
        """The node this branch leads to; None at the end."""
        if branch is None:
            visit.over(self.verdict or "")
            return None
        target = targets.get(branch)
        if target is None:
            message = f"Decision tree node has no transition for condition '{branch}'."
            raise _Ended("ValidationFailed", message, "internal")
        visit.over(branch, target)
        return target

    @property
    def is_cancelled(self) -> bool:
        """Whether the run was cancelled, or the task that reads it."""
        return self.cancelled or (self.driver is not None and self.driver.cancelling() > 0)

    def check_cancelled(self) -> None:
        """Go no further once the run was cancelled."""
        if self.is_cancelled:
            raise asyncio.CancelledError

    async def over_limit(self, passed: LimitName, node: NodeId) -> None:
        """Stop, as a limit was passed; only the elapsed limit can be softened (spec section 3.4)."""
        if passed != "elapsedTime" or self.meter.limits.on_exceeded == "halt":
            await self.used_up(passed, EXHAUSTED)
        await self.throttle()
        if self.observers:
            self.tell(BudgetPassed(self.id, self.now(), node, passed))

    async def used_up(self, limit: LimitName, message: str) -> None:
        """Stop: what a limit grants is used up."""
        await self.throttle()
        raise BudgetStop(limit, message)

    async def throttle(self) -> None:
        """The short delay of a throttled run that has passed a limit."""
        if self.meter.limits.on_exceeded == "throttle":
            await self.wait(self.parts.throttle_delay)

    async def wait(self, seconds: float) -> None:
        """Let time pass, on the run's clock."""
        if seconds > 0:
            await self.parts.clock.sleep(seconds)

    def tell(self, event: Event) -> None:
        """Tell every observer. Where there is none, no event need be made."""
        if self.is_traced:
            event = replace(event, trace_id=self.parts.trace_id, correlation_id=self.parts.correlation_id)
        for observer in self.observers:
            try:
                observer(event)
            except Exception as error:  # noqa: BLE001 - an observer must not break the run
                self.observers = tuple(other for other in self.observers if other is not observer)
                log.warning("An observer failed with %s and gets no more events.", type(error).__name__)


class _Visiting:
    """One visit: what :class:`engine.tree.Step`, :class:`engine.deciders.Desk` and a ``Caller`` promise."""

    __slots__ = ("_began", "_decision_id", "_forced", "_id", "_node", "_run", "_shown", "number")

    def __init__(self, run: _Execution, node_id: NodeId, node: AnyNode, number: int) -> None:
        self._run, self._id, self._node, self.number = run, node_id, node, number
        self._began = run.meter.elapsed
        self._forced = False
        self._decision_id: str | None = None
        self._shown: DataSnapshot | None = None

    async def over_limit(self, passed: LimitName) -> None:
        try:
            await self._run.over_limit(passed, self._id)
        except BudgetStop:
            self.over("budget")
            raise

    def over(self, outcome: str, target: NodeId | None = None) -> None:
        run = self._run
        visit = Visit(
            self._id,
            self._node.type or "",
            self.number,
            outcome,
            None if target is None else outcome,
            target,
            run.meter.elapsed - self._began,
            self._forced,
            self._decision_id,
        )
        run.path.append(visit)
        if run.observers:
            run.tell(NodeVisited(run.id, run.now(), visit, run.meter.reading()))

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
        if run.observers:
            run.tell(
                ActionCompleted(
                    run.id,
                    run.now(),
                    node=self._id,
                    visit=self.number,
                    name=self._node.name,
                    action_key=action_key,
                    status=result.status,
                    summary=result.summary,
                    error=result.error,
                    produced=run.data.since(held),
                    changed={
                        name: value
                        for name, value in run.properties.items()
                        if name not in before or before[name] is not value
                    },
                    pinned=pinned is not None,
                )
            )
        return result.status

    async def _executed(self, action_key: str) -> ActionResult:
        run = self._run
        context = ActionContext(self._id, run.id, run.inputs.parameters, run.properties, run.data)
        try:
            action = run.parts.catalog.actions[action_key]
            if hasattr(action, "begin"):
                result: object = await self._stepped(cast("SteppedAction", action).begin(context, self))
            else:
                result = await action.execute(context)
            if not isinstance(result, ActionResult):
                raise TypeError("The action returned no result.")  # noqa: TRY301 - one way to fail
            return result
        except asyncio.CancelledError as error:
            # A time-out inside an action may surface as a cancellation although nobody cancelled the run.
            if run.is_cancelled:
                raise
            return ActionResult(
                "permanentFailure", error=str(error) or "The action was cancelled from inside."
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - spec section 3.3
            return ActionResult("permanentFailure", error=str(error) or type(error).__name__)

    async def _stepped(self, sub: SubRun) -> ActionResult:
        run = self._run
        try:
            async for inner in sub:
                if "inside" in run.stops:
                    await stop_at(Stop(self._id, "inside", None, inner))
        except (Exception, asyncio.CancelledError):
            sub.cancel()
            raise
        finally:
            run.meter.charge(sub.usage)
        return sub.result

    # Caller

    @property
    def parts(self) -> Parts:
        return self._run.parts

    @property
    def left(self) -> Limits:
        return self._run.meter.remaining

    @property
    def erasure_key(self) -> str | None:
        return self._run.inputs.erasure_key

    @property
    def depth(self) -> int:
        caller = self._run.caller
        return 0 if caller is None else caller.depth + 1

    @property
    def stops_inside(self) -> tuple[Phase, ...]:
        return self._run.stops[1:]

    @property
    def observers(self) -> tuple[Observer, ...]:
        return (self._hear,) if self._run.observers else ()

    def _hear(self, event: Event) -> None:
        run = self._run
        run.tell(SubRunEvent(run.id, event.at, self._id, self.number, event))

    # Step

    async def ask(self, task: str, answers: tuple[str, ...]) -> str:
        run = self._run
        if run.meter.calls_used_up:
            await run.used_up("llmCalls", CALLS_EXCEEDED)
        self._decision_id = decision_id = run.parts.new_decision_id(run.now())
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
        classification = _classified(decision, question, run.now())
        run.classifications.append(classification)
        if run.observers:
            run.tell(ClassificationCompleted(run.id, run.now(), classification))
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
            await run.used_up("llmCalls", EXHAUSTED)
        await self._stop("beforeAttempt", number)
        run.asking = True

    async def after_attempt(self, attempt: Attempt) -> None:
        run = self._run
        run.asking = False
        run.meter.count_calls(attempt.calls, attempt.input_tokens, attempt.output_tokens)
        if run.observers:
            usage = run.meter.reading()
            run.tell(
                AttemptCompleted(run.id, run.now(), self._id, self.number, attempt, usage, self._decision_id)
            )
        if passed := run.meter.passed():
            await run.over_limit(passed, self._id)

    @contextmanager
    def off_the_clock(self) -> Iterator[None]:
        run = self._run
        with nullcontext() if run.caller is None else run.caller.off_the_clock():
            run.meter.pause()
            try:
                yield
            finally:
                run.meter.resume()

    @property
    def paused(self) -> float:
        return self._run.meter.paused

    def model_in_use(self, model: str | None) -> None:
        self._run.model = model

    async def _stop(self, phase: Phase, turn: int | None = None) -> None:
        if phase in self._run.stops:
            await stop_at(Stop(self._id, phase, turn))
        self._run.check_cancelled()

    # What a question may show

    @property
    def _snapshot(self) -> DataSnapshot:
        # A question that is put again shows the data it showed before.
        self._shown = self._shown or self._run.parts.data_policy.select(self._run.data)
        return self._shown

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
def stop_at(stop: Stop) -> Generator[Stop, None, None]:
    """Stand still here: whoever pulls the body of a run is given the stop."""
    yield stop


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
