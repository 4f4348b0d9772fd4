"""Recorded runs of all kinds, from a seed: trees, deciders, actions, predicates, limits and endings."""

from random import Random
from typing import Any

from engine import (
    UNKNOWN,
    ActionResult,
    AnyNode,
    Attempt,
    Budget,
    Catalog,
    ClassifyNode,
    Decider,
    Decision,
    Event,
    FunctionPredicate,
    Inputs,
    Limits,
    LlmError,
    PersonDecider,
    Pins,
    ScriptedDecider,
    Session,
    TextDecider,
    TimeSpan,
    Tree,
    standard_catalog,
)
from engine.evaluate import RunLog
from engine.llm import Completion
from tests.builders import action, classify, condition, terminal
from tests.builders import tree as tree_of
from tests.engine.runs import VirtualClock, evidence

ANSWERS = ("yes", "no", "perhaps")


def random_tree(random: Random) -> Tree:
    """A valid tree of two to nine nodes, with ways back."""
    ids = [f"n{number}" for number in range(random.randint(2, 9))]
    nodes: dict[str, AnyNode] = {}
    for number, node_id in enumerate(ids[:-1]):
        onward, *others = ids[number + 1], *(random.choice(ids) for _ in range(3))
        match random.choice(["action", "classify", "classify", "condition"]):
            case "action":
                nodes[node_id] = action(
                    random.choice(["look", "act"]), success=onward, transient=others[0], permanent=others[1]
                )
            case "classify":
                answers = random.sample(ANSWERS, random.randint(1, 3))
                targets = dict(zip(answers, [onward, *others], strict=False))
                nodes[node_id] = classify(f"Is it {node_id} for {{{{who}}}}?", targets, unknown=others[2])
            case _:
                key, more = random.choice(
                    [("propertyExists", {"key": "mood"}), ("chance", {}), ("fragile", {})]
                )
                nodes[node_id] = condition(key, parameters=more, then=onward, otherwise=others[0])
    nodes[ids[-1]] = terminal("done")
    tree = tree_of(nodes)
    if random.random() < 0.5:
        tree = tree.replace(system_prompt="Answer in JSON.", task="Find out about {{who}}.")
    if random.random() < 0.7:
        tree = tree.replace(budget=_budget(random))
    return tree


def _budget(random: Random) -> Budget:
    return Budget(
        max_node_visits=random.choice([None, 3, 12]),
        max_llm_calls=random.choice([None, 0, 1, 2, 6]),
        max_elapsed_time=random.choice([None, TimeSpan.of_seconds(5)]),
        max_context_tokens=random.choice([None, None, 30, 60, 120]),
        on_exceeded=random.choice([None, "halt", "warn", "throttle"]),
    )


class _Acts:
    """An action that finds something else each time, and sometimes fails or does things by itself."""

    def __init__(self, key: str, random: Random, clock: VirtualClock) -> None:
        self.key, self._random, self._clock = key, random, clock

    async def execute(self, context: Any) -> ActionResult:
        random = self._random
        self._clock.seconds += random.choice([0, 0, 0.5, 3])
        if random.random() < 0.1:
            raise RuntimeError("It fell over.")
        if random.random() < 0.3:
            context.properties["weights"] = [1, random.random(), None]
        found = [evidence(f"Note {random.random()}") for _ in range(random.randint(0, 2))]
        return ActionResult(
            random.choice(["success", "success", "transientFailure", "permanentFailure"]),
            data=tuple(found),
            properties=random.choice([{}, {"mood": "good"}, {"size": str(random.random())}]),
            error=random.choice([None, "It did not work."]),
            llm_calls=random.choice([0, 0, 0, 1, 2]),
        )


class _Model:
    """A model with moods: good replies, unreadable ones, refusals, cut ones, and now and then none at all."""

    provider, endpoint, model = "fake", "http://fake/v1", "moody"

    def __init__(self, random: Random, clock: VirtualClock) -> None:
        self._random, self._clock = random, clock

    async def complete(self, request: Any) -> Completion:
        random = self._random
        self._clock.seconds += random.choice([0, 0, 0.5, 3])
        chance = random.random()
        if chance < 0.05:
            raise LlmError("HTTP 500", kind="status", transient=False, status=500)
        reply = f'{{"answer": "{random.choice(request.answers)}", "observation": "o", "confidence": "high"}}'
        return Completion(
            "I think so" if chance < 0.3 else None if chance < 0.4 else reply,
            finish_reason="content_filter" if chance > 0.95 else random.choice([None, "stop", "length"]),
            refusal="No." if 0.3 < chance < 0.35 else None,
            input_tokens=random.choice([None, 7]),
            output_tokens=random.choice([None, 3]),
        )

    async def close(self) -> None:
        pass


class _Rule:
    """A decider of the application's own, which may or may not tell what it costs."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def for_run(self) -> "_Rule":
        return self

    async def decide(self, question: Any) -> Decision:
        calls = self._random.choice([0, 1, 2])
        answer = self._random.choice([*question.answers, None])
        if calls and self._random.random() < 0.5:
            await question.desk.before_attempt(1)
            await question.desk.after_attempt(Attempt(1, calls=calls, input_tokens=5))
        probabilities = tuple(1 / len(question.answers) for _ in question.answers)
        return Decision(answer, reason=None, probabilities=probabilities, llm_calls=calls, provider="rule")


def _decider(random: Random, clock: VirtualClock) -> Decider:
    async def ask(question: Any) -> str | None:
        answer: str | None = random.choice([*question.answers, "nonsense", None])
        return answer

    model = TextDecider(_Model(random, clock))
    deciders: list[Decider] = [model, model, PersonDecider(ask), _Rule(random)]
    return random.choice(deciders)


def catalog_of_chance(random: Random) -> Catalog:
    """The built-in predicates, one that nobody can foresee, and one that fails now and then."""

    def chance(context: Any) -> bool:
        return random.random() < 0.5

    def fragile(context: Any) -> bool:
        if random.random() < 0.1:
            raise RuntimeError("It broke.")
        return True

    own = [FunctionPredicate("chance", chance), FunctionPredicate("fragile", fragile)]
    return standard_catalog().with_predicates(own)


async def recorded_run(seed: int) -> RunLog:
    """The log of one run; the same seed gives the same run."""
    random, clock, events = Random(seed), VirtualClock(), list[Event]()
    tree = random_tree(random)
    decider = _decider(random, clock)
    pinned: dict[str, str] = {}
    if random.random() < 0.3:
        for node_id, node in tree.nodes.items():
            if isinstance(node, ClassifyNode):
                pinned[node_id] = random.choice([*(node.answers or ()), UNKNOWN])
    inputs = Inputs(
        parameters={"who": "Ada"},
        properties=random.choice([{}, {"mood": "bad", "list": [1, 2.5, {"a": None}]}]),
        data=tuple(evidence(f"Given {number}") for number in range(random.randint(0, 2))),
        pins=Pins(answers=pinned),
        budget=_budget(random) if random.random() < 0.3 else None,
    )
    session = Session(
        decider=ScriptedDecider(otherwise=decider),
        catalog=catalog_of_chance(random),
        limits=Limits(node_visits=random.choice([5, 20, 60])),
        clock=clock,
    )
    run = session.start(
        tree,
        inputs,
        actions=[_Acts(key, random, clock) for key in ("look", "act")],
        observers=[events.append],
    )
    patience = random.choice([3, 1000, 1000, 1000])
    async for _ in run:
        patience -= 1
        if not patience:
            run.cancel()
    return RunLog(tuple(events), "chance")
