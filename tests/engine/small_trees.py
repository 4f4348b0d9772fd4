"""Trees of a few nodes, and everything that runs of them can do: found by real runs, and without any."""

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from hypothesis import strategies as st

from engine import (
    UNKNOWN,
    ActionContext,
    ActionNode,
    ActionResult,
    ActionStatus,
    AnyNode,
    Budget,
    ClassifyNode,
    Event,
    FunctionPredicate,
    NodeVisited,
    PredicateContext,
    Session,
    TerminalNode,
    TextDecider,
    Tree,
    standard_catalog,
)
from engine.llm import Completion, Request
from tests.builders import action, classify, condition, terminal, tree

DECLARED = {"free": (0, 0), "maybe": (0, 1), "dear": (1, 2)}
"""The actions of small trees with the LLM calls they declare."""


@st.composite
def small_trees(draw: st.DrawFn) -> Tree:
    """A valid tree of up to 8 nodes with cycles, branches side by side, and a budget that is often short."""
    inner = draw(st.integers(0, 5))
    ends = [f"t{n}" for n in range(draw(st.integers(1, 3)))]
    ids = [*(f"n{n}" for n in range(inner)), *ends]
    nodes: dict[str, AnyNode] = {}
    for index in range(inner):
        # One branch leads on, so that every node is reached and comes to an end.
        onward, place = ids[index + 1], draw(st.integers(0, 2))
        to = [onward if n == place else draw(st.sampled_from(ids)) for n in range(3)]
        match draw(st.sampled_from(["action", "classify", "question", "condition"])):
            case "action":
                key = draw(st.sampled_from(sorted(DECLARED)))
                nodes[ids[index]] = action(key, success=to[0], transient=to[1], permanent=to[2])
            case "classify":
                nodes[ids[index]] = classify("Which?", {"a": to[0], "b": to[1]}, unknown=to[2])
            case "question":
                nodes[ids[index]] = classify("Is it?", {"yes": to[place]}, unknown=to[(place + 1) % 3])
            case _:
                nodes[ids[index]] = condition("chosen", then=to[place], otherwise=to[(place + 1) % 3])
    nodes |= {end: terminal(end) for end in ends}
    reached = _reached(nodes, ids[0])
    budget = Budget(
        max_node_visits=draw(st.integers(1, 7)),
        max_llm_calls=draw(st.integers(0, 6)),
        max_context_tokens=10**6,
    )
    return tree({name: node for name, node in nodes.items() if name in reached}).replace(budget=budget)


def _reached(nodes: Mapping[str, AnyNode], start: str) -> set[str]:
    reached, waiting = {start}, [start]
    for name in waiting:
        ahead = set(nodes[name].targets.values()) - reached
        reached |= ahead
        waiting += ahead
    return reached


def within(tree: Tree, visits: int, calls: int) -> Tree:
    """The tree with another budget."""
    return tree.replace(budget=Budget(max_node_visits=visits, max_llm_calls=calls, max_context_tokens=10**6))


def starting_at(tree: Tree, node: str) -> Tree:
    """The part of a tree that is reached from a node, with that node as its start."""
    reached = _reached(tree.nodes, node)
    return tree.replace(
        start_node_id=node, nodes={name: n for name, n in tree.nodes.items() if name in reached}
    )


class Option(NamedTuple):
    """What can happen at a node: a branch, and the LLM calls it takes."""

    branch: str
    calls: int


def options(node: AnyNode, *, pinned: bool = False) -> list[Option]:
    """What can happen at a node; where it is pinned, each branch costs what the pin does."""
    match node:
        case ClassifyNode():
            costs = (1,) if pinned else (1, 2)
            return [*(Option(a, n) for a in node.answers or () for n in costs), Option(UNKNOWN, 2)]
        case ActionNode():
            costs = (0,) if pinned else DECLARED[node.action_key or ""]
            return [Option(branch, n) for branch in node.branches() for n in sorted(set(costs))]
    return [Option(branch, 0) for branch in node.branches()]


class State(NamedTuple):
    """Where a run is, before it visits the node, and what it has used."""

    node: str
    visits: int
    calls: int


@dataclass
class Seen:
    """What runs did: steps from state to state, and the states after a terminal was visited."""

    steps: dict[State, set[tuple[str, State]]] = field(default_factory=lambda: defaultdict(set))
    ends: set[State] = field(default_factory=set)

    def terminals(self) -> set[str]:
        return {end.node for end in self.ends}

    def taken(self) -> set[tuple[str, str]]:
        return {(state.node, branch) for state, onward in self.steps.items() for branch, _ in onward}

    def ending(self) -> set[State]:
        """The states of runs that come to a terminal."""
        before = defaultdict(set)
        for state, onward in self.steps.items():
            for _, after in onward:
                before[after].add(state)
        waiting = [State(end.node, end.visits - 1, end.calls) for end in self.ends]
        found = set(waiting)
        for state in waiting:
            waiting += before[state] - found
            found |= before[state]
        return found


Key = Callable[[State], Hashable]


def whole(state: State) -> Hashable:
    return state


def without_calls(state: State) -> Hashable:
    return state.node, state.visits


def without_visits(state: State) -> Hashable:
    return state.node, state.calls


def enumerated(tree: Tree, key: Key, *, visits: int, calls: int, pinned: bool = False) -> Seen:
    """All that can happen in a tree within limits, without a run. States of one key go on alike."""
    seen = Seen()
    waiting = [State(tree.start_node_id, 0, 0)]
    known = {key(waiting[0])}
    for state in waiting:
        node = tree.nodes[state.node]
        if state.visits == visits or state.calls > calls:
            continue
        if isinstance(node, TerminalNode):
            seen.ends.add(State(state.node, state.visits + 1, state.calls))
        for branch, cost in options(node, pinned=pinned):
            after = State(node.targets[branch], state.visits + 1, state.calls + cost)
            if isinstance(node, ClassifyNode) and after.calls > calls:
                continue
            seen.steps[state].add((branch, after))
            if key(after) not in known:
                known.add(key(after))
                waiting.append(after)
    return seen


class Explorer:
    """Runs a tree on the real engine until everything was tried once in every state.

    Questions go to the real text decider, whose model gives readable and unreadable replies as it is told.
    States of one key go on alike.
    """

    provider, endpoint, model = "fake", "http://fake/v1", "own"

    def __init__(self, tree: Tree, key: Key, *, pinned: bool = False) -> None:
        self._tree, self._key, self._pinned = tree, key, pinned
        self._ways: dict[Hashable, tuple[Option, ...]] = {}
        self._untried: dict[Hashable, list[Option]] = {}
        self._seen = Seen()
        self._session = Session(
            decider=TextDecider(self),
            catalog=standard_catalog().with_predicates([FunctionPredicate("chosen", self._chosen)]),
        )
        self._actions = [_Act(key, self) for key in DECLARED]

    async def explore(self) -> Seen:
        """All that the runs did."""
        await self._run(())
        keys = [*self._ways]
        for key in keys:
            while self._untried[key]:
                known = len(self._ways)
                await self._run(self._ways[key])
                keys += [*self._ways][known:]
        return self._seen

    async def _run(self, way: tuple[Option, ...]) -> None:
        self._ahead = [*reversed(way)]
        self._gone: list[Option] = []
        self._replies: list[str] = []
        self._state = State(self._tree.start_node_id, 0, 0)
        run = self._session.start(self._tree, actions=self._actions, observers=[self._observe])
        async for _ in run:
            self._here, key = len(self._gone), self._key(self._state)
            met = key in self._ways
            if not met:
                self._ways[key] = tuple(self._gone)
                self._untried[key] = options(self._tree.nodes[self._state.node], pinned=self._pinned)
            if met and not self._ahead and not self._untried[key]:
                run.cancel()
                return
        result = run.result
        if result.succeeded or result.outcome == "Unknown":
            usage = result.usage
            self._seen.ends.add(State(self._state.node, usage.node_visits, usage.llm_calls))
        else:
            assert result.outcome == "BudgetExhausted", result.error
        if len(self._gone) == self._here:
            self._untried[self._key(self._state)] = []  # the run goes no further from there

    def choose(self) -> Option:
        """What happens at the node of the moment."""
        option = self._ahead.pop() if self._ahead else self._untried[self._key(self._state)].pop()
        self._gone.append(option)
        return option

    def _observe(self, event: Event) -> None:
        if isinstance(event, NodeVisited) and event.visit.next and event.visit.branch:
            after = State(event.visit.next, event.usage.node_visits, event.usage.llm_calls)
            self._seen.steps[self._state].add((event.visit.branch, after))
            self._state = after

    def _chosen(self, context: PredicateContext) -> bool:
        return self.choose().branch == "true"

    async def complete(self, request: Request) -> Completion:
        """The next reply of the model."""
        if not self._replies:
            branch, calls = self.choose()
            good = json.dumps({"answer": branch})
            self._replies = ["no", "no"] if branch == UNKNOWN else ["no"] * (calls - 1) + [good]
        return Completion(self._replies.pop(0))

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class _Act:
    key: str
    explorer: Explorer

    async def execute(self, context: ActionContext) -> ActionResult:
        branch, calls = self.explorer.choose()
        return ActionResult(cast("ActionStatus", branch), llm_calls=calls)
