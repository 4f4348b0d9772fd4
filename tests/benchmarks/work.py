"""The work all engines are given: collect, ask, test, end; and a loop of an action and a condition.

The floors do the same by hand: no tree, no budget, no events.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Mapping

from engine import (
    ActionContext,
    ActionNode,
    ActionResult,
    Budget,
    Catalog,
    ClassifyNode,
    Completion,
    ConditionNode,
    DataItem,
    Event,
    Inputs,
    Request,
    Run,
    Runnable,
    Session,
    TerminalNode,
    TextDecider,
    Transition,
    Tree,
    runnable,
    standard_catalog,
)
from engine.catalog import FunctionAction, FunctionPredicate, PredicateContext
from engine.records import DecisionRecorder

REPLY = '{"answer": "supported", "observation": "The invoice is attached.", "confidence": "high"}'
ANSWERS = ("supported", "unsupported")

# ------------------------------------------------------------------------------------------ our engine


class InstantClient:
    """A model that replies at once, or after some seconds."""

    provider, endpoint, model = "scripted", "", "instant"

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    async def complete(self, request: Request) -> Completion:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        return Completion(REPLY)

    async def close(self) -> None:
        """Nothing is open."""


def to(targets: Mapping[str, str]) -> tuple[Transition, ...]:
    return tuple(Transition(condition=label, next_node_id=target) for label, target in targets.items())


async def _collect(context: ActionContext) -> ActionResult:
    return ActionResult(data=(DataItem("e1", "application", "evidence", "The invoice is attached."),))


async def _count(context: ActionContext) -> ActionResult:
    context.properties["left"] = int(str(context.properties.get("left", LOOPS))) - 1
    return ActionResult()


def _goes_on(context: PredicateContext) -> bool:
    return int(str(context.properties["left"])) > 0


LOOPS = 500
CATALOG: Catalog = (
    standard_catalog()
    .with_actions([FunctionAction("collect", _collect), FunctionAction("count", _count)])
    .with_predicates([FunctionPredicate("goesOn", _goes_on)])
)


def _branches(target: str) -> Mapping[str, str]:
    return {"success": target, "transientFailure": "failed", "permanentFailure": "failed"}


def decision() -> Runnable:
    """Action, classify, condition, terminal."""
    tree = Tree(
        tree_id="same-work",
        version=1,
        start_node_id="collect",
        nodes={
            "collect": ActionNode(action_key="collect", transitions=to(_branches("ask"))),
            "ask": ClassifyNode(
                task="Is this evidence relevant?",
                answers=ANSWERS,
                transitions=to({"supported": "test", "unsupported": "failed", "unknown": "failed"}),
            ),
            "test": ConditionNode(
                predicate_key="dataExists",
                predicate_parameters={"type": "evidence"},
                transitions=to({"true": "approved", "false": "failed"}),
            ),
            "approved": TerminalNode(verdict="approved"),
            "failed": TerminalNode(verdict="failed"),
        },
    )
    return runnable(tree, CATALOG)


def loop(visits: int) -> Runnable:
    """An action and a condition in turn, with a budget for this many visits."""
    tree = Tree(
        tree_id="loop",
        version=1,
        start_node_id="count",
        budget=Budget(max_node_visits=visits + 1),
        nodes={
            "count": ActionNode(action_key="count", transitions=to(_branches("test"))),
            "test": ConditionNode(
                predicate_key="goesOn", transitions=to({"true": "count", "false": "approved"})
            ),
            "approved": TerminalNode(verdict="approved"),
            "failed": TerminalNode(verdict="failed"),
        },
    )
    return runnable(tree, CATALOG)


def session(seconds: float = 0.0, recorder: DecisionRecorder | None = None) -> Session:
    """The engine as an application uses it; the model takes this long."""
    decider = TextDecider(InstantClient(seconds))
    return Session(decider=decider, catalog=CATALOG, recorder=recorder, record_scripted=recorder is not None)


def journaled(
    session: Session, tree: Runnable, inputs: Inputs | None = None, *, last: int | None = None
) -> Run:
    """A run whose events somebody keeps, as a journal does: all of them, or the last so many."""
    journal: list[Event] | deque[Event] = [] if last is None else deque(maxlen=last)
    return session.start(tree, inputs, observers=[journal.append])


# ------------------------------------------------------------------------------------------ the floors


async def bare(seconds: float = 0.0) -> str:
    """The decision as a few lines of Python: the floor of every engine."""
    data = [{"type": "evidence", "content": "The invoice is attached."}]
    if seconds:
        await asyncio.sleep(seconds)
    reply = json.loads(REPLY)
    answer = reply.get("answer") if isinstance(reply, dict) else None
    if answer not in ANSWERS or answer != "supported":
        return "failed"
    return "approved" if any(item["type"] == "evidence" for item in data) else "failed"


class Lean:
    """Interprets a declared loop within limits of visits and time, without events or a result."""

    def __init__(self, visits: int) -> None:
        self.budget, self.elapsed, self.left = visits + 1, 120.0, visits // 2
        self.nodes: dict[str, tuple[str, Mapping[str, str]]] = {
            "count": ("action", {"success": "test"}),
            "test": ("condition", {"true": "count", "false": "approved"}),
            "approved": ("terminal", {}),
        }

    async def count(self) -> str:
        self.left -= 1
        return "success"

    def goes_on(self) -> bool:
        return self.left > 0

    async def run(self) -> str:
        node_id, visits, began = "count", 0, time.monotonic()
        while True:
            kind, targets = self.nodes[node_id]
            visits += 1
            if visits > self.budget or time.monotonic() - began > self.elapsed:
                return "exhausted"
            match kind:
                case "action":
                    branch = await self.count()
                case "condition":
                    branch = "true" if self.goes_on() else "false"
                case _:
                    return node_id
            node_id = targets[branch]
