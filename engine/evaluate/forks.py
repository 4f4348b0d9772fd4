"""Forks: a run begun again from what another run has shown, up to a step, and going on live from there.

A recorded answer is used again only while its question, the allowed answers and everything that is sent with
the question are as they were; else it is stale, and the question is asked again. What actions found and what
conditions came to is taken as recorded, by visit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from engine.catalog import ActionResult, Catalog
from engine.counting import counted
from engine.data import DataItem
from engine.deciders import Decider
from engine.evaluate.recalling import Memory, Place, Recalling, Recorded, Stale, Tape, recorded_at
from engine.evaluate.steps import Step, budget_of, by_node, ended_by_itself, origin_of, states_of, steps_of
from engine.events import Event, RunStarted
from engine.run import Inputs, Pins
from engine.tree import UNKNOWN, ActionNode, ClassifyNode, ConditionNode, NodeId, TerminalNode, Tree

DifferenceCode: TypeAlias = Literal[
    "start", "node-gone", "node-type", "question", "answers", "prompt", "action", "predicate", "verdict",
    "target", "path", "ending", "usage",
]  # fmt: skip
"""What differs: in the tree, or (the last three) in the run."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step (from 0) at which things are not as they were, and what differs, in plain words."""

    step: int
    node: NodeId | None
    visit: int
    code: DifferenceCode
    reason: str


@dataclass(frozen=True)
class Fork:
    """How a run is begun again: its decider and, made for one run each, its inputs.

    ``at`` is the first step (from 0) that goes on live. ``reused`` and ``stale`` tell of the recorded answers
    as far as that is known before the run: behind the first change all are called stale, but the run uses
    again what turns out to be as it was. ``difference`` is where the tree first differs from that of the run.
    """

    tree: Tree = field(repr=False)
    at: int
    reused: tuple[Recorded, ...]
    stale: tuple[Stale, ...]
    difference: Difference | None
    _start: RunStarted = field(repr=False)
    _origin: ActionResult = field(repr=False)
    _actions: Mapping[NodeId, Sequence[ActionResult]] = field(repr=False)
    _truths: Mapping[NodeId, Sequence[bool]] = field(repr=False)
    _memories: Mapping[Place, Memory] = field(repr=False)
    _given: Mapping[Place, str] = field(repr=False)

    def inputs(self, catalog: Catalog) -> Inputs:
        """What one run starts from; recorded results go before the catalog's actions and predicates."""
        live = {
            node_id
            for node_id, node in self.tree.nodes.items()
            if (isinstance(node, ActionNode) and node.action_key in catalog.actions)
            or (isinstance(node, ConditionNode) and node.predicate_key in catalog.predicates)
        }
        return Inputs(
            parameters=self._start.parameters,
            properties=self._origin.properties,
            data=self._origin.data,
            pins=Pins(actions=Tape(self._actions, live), conditions=Tape(self._truths, live)),
            budget=budget_of(self._start.limits) if self.tree.budget == self._start.tree.budget else None,
        )

    def decider(
        self, live: Decider | None, told: Callable[[Recorded | Stale], None] | None = None
    ) -> Decider:
        """Who decides in such a run: the recorded answers while they hold, else ``live``.

        ``told`` hears of each recorded answer a question comes to: itself when it holds, else why not.
        Without ``live`` a question that has to be asked ends the run.
        """
        return Recalling(self._memories, self._given, live, told)


def fork(
    events: Iterable[Event],
    at: int | None = None,
    tree: Tree | None = None,
    *,
    answer: str | None = None,
    properties: Mapping[str, str] | None = None,
    data: Iterable[DataItem] = (),
) -> Fork:
    """The plan of a run that does again what another did before step ``at`` (from 0), and then goes on live.

    Without ``at`` all of it is done again. ``tree`` is the one to run, else that of the other run. The
    question of the step may be given another ``answer``. ``properties`` are set, and ``data`` items put in
    the place of those with their ids, or added, where the state before the step was last made: in what an
    action found, or at the start.

    ``ValueError`` says in plain words that there is no such step, or that it cannot be given this answer.
    """
    start, steps, result = steps_of(events)
    tree, at = tree or start.tree, len(steps) if at is None else at
    if not 0 <= at <= len(steps):
        raise ValueError(f"The run has {counted(len(steps), 'step')}; there is none to go on from at {at}.")
    given = {} if answer is None else _answered(steps[at : at + 1], tree, answer)
    found, edited_from = _edited(
        [origin_of(start), *(step.result for step in steps[:at])], properties or {}, data
    )
    states = list(states_of([origin_of(start), *(step.result for step in steps)]))
    survey = _Survey(start.tree, tree, at, edited_from, anew=bool(given))
    memories: dict[Place, Memory] = {}
    kept: list[tuple[Step, ActionResult | None]] = []
    for number, step in enumerate(steps):
        as_it_was, node = survey.look(number, step), start.tree.nodes[step.node]
        if number >= at:
            continue
        if as_it_was:
            kept.append((step, found[number + 1]))
        if isinstance(node, ClassifyNode) and (step.decided or ended_by_itself(result)):
            memories[step.node, step.visit] = Memory(number, step, node, start, states[number])
    return Fork(
        tree=tree,
        at=at,
        reused=tuple(survey.reused),
        stale=tuple(survey.stale),
        difference=survey.difference,
        _start=start,
        _origin=found[0] or origin_of(start),
        _actions=by_node((step.node, result) for step, result in kept if result),
        _truths=by_node((step.node, step.truth) for step, _ in kept if step.truth is not None),
        _memories=memories,
        _given=given,
    )


def _answered(steps: Sequence[Step], tree: Tree, answer: str) -> Mapping[Place, str]:
    for step in steps:
        node = tree.nodes.get(step.node)
        if isinstance(node, ClassifyNode):
            allowed = (*(node.answers or ()), UNKNOWN)
            if answer not in allowed:
                raise ValueError(f"'{answer:.80}' is no answer here; allowed are {', '.join(allowed)}.")
            return {(step.node, step.visit): answer}
    raise ValueError("No question is asked at this step, so it can be given no answer.")


def _edited(
    found: Sequence[ActionResult | None], properties: Mapping[str, str], data: Iterable[DataItem]
) -> tuple[Sequence[ActionResult | None], int | None]:
    """What was found, the state at the start first, with the edits; and the first step that can see them."""
    results = {number: result for number, result in enumerate(found) if result}
    last = max(results)
    touched = set()
    if properties:
        touched.add(last)
        results[last] = replace(results[last], properties={**results[last].properties, **properties})
    for item in data:
        at = max((n for n, r in results.items() if any(d.id == item.id for d in r.data)), default=last)
        items = results[at].data
        newest = max((n for n, d in enumerate(items) if d.id == item.id), default=len(items))
        results[at] = replace(results[at], data=(*items[:newest], item, *items[newest + 1 :]))
        touched.add(at)
    return [results.get(number) for number in range(len(found))], min(touched, default=None)


# ------------------------------------------------------------------------------------------ what changed

_What: TypeAlias = tuple[DifferenceCode, str]


class _Survey:
    """Goes along the steps of a run and tells what of it holds in another tree."""

    def __init__(self, was: Tree, now: Tree, at: int, edited_from: int | None, *, anew: bool) -> None:
        self._was, self._now, self._at, self._edited_from, self._anew = was, now, at, edited_from, anew
        self._upset: str | None = None
        self.difference: Difference | None = None
        self.reused: list[Recorded] = []
        self.stale: list[Stale] = []
        if was.start_node_id != now.start_node_id:
            reason = f"The tree starts at '{now.start_node_id}' now."
            self.difference, self._upset = Difference(0, now.start_node_id, 1, "start", reason), reason

    def look(self, number: int, step: Step) -> bool:
        """Whether the node of the next step does the same work as it did."""
        changed = _changed(self._was, self._now, step.node)
        differs = changed or _led_elsewhere(self._now, step)
        if differs and self.difference is None:
            self.difference = Difference(number, step.node, step.visit, *differs)
        reason = self._why_stale(number, changed)
        if recorded := recorded_at(number, step):
            if reason is None:
                self.reused.append(recorded)
            else:
                self.stale.append(Stale(recorded, reason))
        if differs and self._upset is None:
            self._upset = f"It comes after '{step.node}', where the tree changed."
        elif reason and recorded and self._upset is None:
            self._upset = f"It comes after '{step.node}', which is asked again."
        return changed is None

    def _why_stale(self, number: int, changed: _What | None) -> str | None:
        if number >= self._at:
            given = self._anew and number == self._at
            return "Another answer is given." if given else "It comes after the fork."
        if self._upset is not None or changed is not None:
            return self._upset or (changed and changed[1])
        edited = self._edited_from is not None and number >= self._edited_from
        return "The state before it is edited." if edited else None


_WORK: Final[Mapping[type, Sequence[tuple[DifferenceCode, Callable[[Tree, Any], object], str]]]] = {
    ClassifyNode: (
        ("question", lambda _, node: node.task, "The question changed."),
        ("answers", lambda _, node: node.answers, "The allowed answers changed."),
        (
            "prompt",
            lambda tree, _: (tree.system_prompt, tree.task),
            "What the tree sends with each question changed.",
        ),
    ),
    ActionNode: (("action", lambda _, node: node.action_key, "Another action is asked for."),),
    ConditionNode: (
        (
            "predicate",
            lambda _, node: (node.predicate_key, node.predicate_parameters),
            "Something else is tested.",
        ),
    ),
    TerminalNode: (("verdict", lambda _, node: node.verdict, "The verdict changed."),),
}
"""By type of node, what its work is made of."""


def _changed(was: Tree, now: Tree, node_id: NodeId) -> _What | None:
    """What is not as it was in the work of a node, leaving aside where its branches lead."""
    old, new = was.nodes[node_id], now.nodes.get(node_id)
    if new is None:
        return "node-gone", f"There is no node '{node_id}' any more."
    if type(old) is not type(new):
        return "node-type", f"The node is of type '{new.type}' now."
    for code, aspect, reason in _WORK.get(type(old), ()):
        if aspect(was, old) != aspect(now, new):
            return code, reason
    return None


def _led_elsewhere(now: Tree, step: Step) -> _What | None:
    target = None if step.branch is None else now.nodes[step.node].targets.get(step.branch)
    if step.visited is None or step.branch is None or target == step.visited.next:
        return None
    return "target", f"The branch '{step.branch}' leads to '{target}' now."
