"""Steps: what a run has shown of each of its visits, read from its events, and made a case again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TypeAlias, TypeVar, cast

from engine.budget import Limits, Usage
from engine.catalog import ActionResult
from engine.data import DataItem
from engine.deciders import Attempt
from engine.evaluate.cases import Case, CaseData, CaseResult, CaseTree
from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    Classification,
    ClassificationCompleted,
    Event,
    NodeStarted,
    NodeVisited,
    RunEnded,
    RunResult,
    RunStarted,
    Visit,
    plain,
)
from engine.tree import Budget, NodeId, TimeSpan

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Step:
    """One visit of a node: how it was left, and what came of the node's work, as far as it got."""

    node: NodeId
    visit: int
    visited: Visit | None = None
    result: ActionResult | None = field(default=None, repr=False)
    attempts: tuple[Attempt, ...] = field(default=(), repr=False)
    decided: Classification | None = field(default=None, repr=False)

    @property
    def truth(self) -> bool | None:
        """What a condition came to."""
        taken = self.visited if self.visited and self.visited.type.lower() == "condition" else None
        return None if taken is None or taken.branch is None else taken.branch == "true"

    @property
    def branch(self) -> str | None:
        """The branch that was taken, if one was."""
        return self.visited.branch if self.visited else None


def steps_of(events: Iterable[Event]) -> tuple[RunStarted, Sequence[Step], RunResult | None]:
    """How a run started, its steps in order, and its result when it has ended.

    ``ValueError`` when the events do not begin with the start of a run.
    """
    events = iter(events)
    start = next(events, None)
    if not isinstance(start, RunStarted):
        raise ValueError("The events of a run begin with its start.")  # noqa: TRY004 - or there are none
    steps: list[Step] = []
    usage, ended = Usage(), None
    for event in events:
        match event:
            case NodeStarted():
                steps.append(Step(event.node, event.visit))
            case ActionCompleted():
                # What an action changed by itself is part of what it found.
                changed = cast("Mapping[str, str]", event.changed)
                found = ActionResult(event.status, event.produced, changed, event.summary, event.error)
                steps[-1] = replace(steps[-1], result=found)
            case AttemptCompleted():
                usage = event.usage
                steps[-1] = replace(steps[-1], attempts=(*steps[-1].attempts, event.attempt))
            case ClassificationCompleted():
                steps[-1] = replace(steps[-1], decided=event.classification)
            case NodeVisited():
                result = steps[-1].result
                if result is not None:
                    result = replace(result, llm_calls=event.usage.llm_calls - usage.llm_calls)
                usage = event.usage
                steps[-1] = replace(steps[-1], visited=event.visit, result=result)
            case RunEnded():
                ended = event.result
    return start, steps, ended


State: TypeAlias = tuple[Mapping[str, object], tuple[DataItem, ...]]
"""Properties and data."""


def origin_of(start: RunStarted) -> ActionResult:
    """The state a run starts from, as what an action before its first step would have found."""
    return ActionResult(data=start.data, properties=cast("Mapping[str, str]", start.properties))


def states_of(results: Iterable[ActionResult | None]) -> Iterator[State]:
    """The state after each of these results, in order; None changes nothing."""
    properties: Mapping[str, object] = {}
    data: tuple[DataItem, ...] = ()
    for result in results:
        if result is not None:
            properties, data = {**properties, **result.properties}, (*data, *result.data)
        yield properties, data


def ended_by_itself(result: RunResult | None) -> bool:
    """Whether a run came to its end by what its tree and its limits say, and would so again.

    Time, a person, a model that cannot be asked and a part that fails are not in its events.
    """
    match result:
        case RunResult(outcome="Terminal" | "Unknown") | RunResult(failure_kind="validation"):
            return True
        case RunResult(exceeded="nodeVisits" | "llmCalls"):
            return True
        case _:
            return False


def case_of(events: Iterable[Event], id: str = "recorded") -> Case:
    """The case that does again what a run did: its inputs, limits and results, pinned by visit.

    Properties that are no text are given as the text they read as. ``ValueError`` when the events do not
    begin with the start of a run.
    """
    start, steps, _ = steps_of(events)
    tree = start.tree
    state = {name: plain(value) for name, value in start.properties.items()}
    members = _given(
        params=dict(start.parameters),
        state=state,
        data=tuple(map(_item, start.data)),
        answers=by_node((step.node, step.decided.answer) for step in steps if step.decided),
        conditions=by_node((step.node, step.truth) for step in steps if step.truth is not None),
        actions=by_node((step.node, _pin(step.result)) for step in steps if step.result),
    )
    written_for = CaseTree(id=tree.tree_id, version=tree.version, hash=start.tree_hash)
    return Case.model_validate({"id": id, "tree": written_for, "budget": budget_of(start.limits), **members})


def by_node(found: Iterable[tuple[NodeId, _Found]]) -> Mapping[NodeId, tuple[_Found, ...]]:
    """What was found at each node, by visit."""
    lists: dict[NodeId, list[_Found]] = {}
    for node, one in found:
        lists.setdefault(node, []).append(one)
    return {node: tuple(every) for node, every in lists.items()}


def budget_of(limits: Limits) -> Budget:
    """The budget that sets just these limits."""
    elapsed = TimeSpan.of_seconds(limits.elapsed) if isfinite(limits.elapsed) else None
    return Budget(
        max_node_visits=limits.node_visits,
        max_llm_calls=limits.llm_calls,
        max_elapsed_time=elapsed,
        max_context_tokens=limits.context_tokens,
        on_exceeded=limits.on_exceeded,
    )


def _given(**members: object) -> dict[str, object]:
    """What there is of these, so that a case's line names no more."""
    return {name: value for name, value in members.items() if value}


def _pin(result: ActionResult) -> CaseResult:
    more = _given(
        properties=dict(_texts(result.properties)),
        data=tuple(map(_item, result.data)),
        summary=result.summary,
        error=result.error,
    )
    return CaseResult.model_validate({"status": result.status, **more})


def _texts(properties: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in properties.items():
        if value is not None:
            yield name, str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _item(item: DataItem) -> CaseData:
    members = {"id": item.id, "source": item.source, "type": item.type, "content": item.content}
    return CaseData.model_validate(members | _given(metadata=dict(item.metadata)))
