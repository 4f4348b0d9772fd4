"""The same work on other libraries, beside ours and the floor: ``make bench-peers``.

Each peer does the decision (collect, ask, test, end) with its own means: branches are its conditions,
transitions or edges, and the reply of the model is read and checked as the floor does it. What a peer lets an
application build once is built once. Runs in an environment of its own and is no test.
"""

import asyncio
import json
import operator
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from engine import Inputs
from tests.benchmarks import canvas_peers, work
from tests.benchmarks.measuring import Goals, in_words, medians

VISITS = 1_000
WAIT = 0.05


async def asked(seconds: float = 0.0) -> str:
    """The model's answer, read and checked."""
    if seconds:
        await asyncio.sleep(seconds)
    reply = json.loads(work.REPLY)
    answer = reply.get("answer") if isinstance(reply, dict) else None
    return answer if answer in work.ANSWERS else "unknown"


@dataclass
class Engine:
    """What one library is asked to do: a decision after a wait, and a loop of so many visits."""

    name: str
    decide: Callable[[float], Awaitable[object]]
    loop: Callable[[int], Awaitable[object]]
    runs: int = 20


def ours() -> Engine:
    tree, loop = work.decision(), work.loop(VISITS)
    sessions = {seconds: work.session(seconds) for seconds in (0.0, WAIT)}

    async def decide(seconds: float) -> object:
        return (await work.journaled(sessions[seconds], tree).finish()).verdict

    async def count(visits: int) -> object:
        inputs = Inputs(properties={"left": visits // 2})
        return (await work.journaled(sessions[0.0], loop, inputs).finish()).verdict

    return Engine("treewright", decide, count, 200)


def floor() -> Engine:
    return Engine("bare", work.bare, lambda visits: work.Lean(visits).run(), 1_000)


# ------------------------------------------------------------------------------------------ the peers


def transitions() -> Engine:  # noqa: C901 - what one library needs stays together
    from transitions.extensions.asyncio import AsyncMachine  # type: ignore[import-not-found]

    class Decision:
        def __init__(self, seconds: float) -> None:
            self.seconds, self.data, self.answer = seconds, list[str](), ""

        async def collect(self) -> None:
            self.data.append("evidence")

        async def ask(self) -> None:
            self.answer = await asked(self.seconds)

        def supported(self) -> bool:
            return self.answer == "supported"

        def has_evidence(self) -> bool:
            return "evidence" in self.data

    states = ["start", "collected", "asked", "approved", "failed"]
    steps: list[dict[str, object]] = [
        {"trigger": "step", "source": "start", "dest": "collected", "before": "collect"},
        {"trigger": "step", "source": "collected", "dest": "asked", "before": "ask"},
        {
            "trigger": "step",
            "source": "asked",
            "dest": "approved",
            "conditions": ["supported", "has_evidence"],
        },
        {"trigger": "step", "source": "asked", "dest": "failed"},
    ]
    machine = AsyncMachine(
        model=None, states=states, transitions=steps, initial="start", auto_transitions=False
    )

    async def decide(seconds: float) -> object:
        model: Any = Decision(seconds)
        machine.add_model(model)
        while model.state not in ("approved", "failed"):
            await model.step()
        machine.remove_model(model)
        return model.state

    class Loop:
        def __init__(self, left: int) -> None:
            self.left = left

        async def count(self) -> None:
            self.left -= 1

        def goes_on(self) -> bool:
            return self.left > 0

    rounds: list[dict[str, object]] = [
        {"trigger": "step", "source": "count", "dest": "test", "before": "count"},
        {"trigger": "step", "source": "test", "dest": "count", "conditions": "goes_on"},
        {"trigger": "step", "source": "test", "dest": "done"},
    ]
    looping = AsyncMachine(
        model=None,
        states=["count", "test", "done"],
        transitions=rounds,
        initial="count",
        auto_transitions=False,
    )

    async def loop(visits: int) -> object:
        model: Any = Loop(visits // 2)
        looping.add_model(model)
        while model.state != "done":
            await model.step()
        looping.remove_model(model)
        return "approved"

    return Engine("transitions", decide, loop)


def statemachine() -> Engine:  # noqa: C901 - what one library needs stays together
    from statemachine import State, StateMachine  # type: ignore[import-not-found]

    class Decision(StateMachine):  # type: ignore[misc]
        start = State(initial=True)
        collected = State()
        answered = State()
        approved = State(final=True)
        failed = State(final=True)
        step = (
            start.to(collected, on="collect")
            | collected.to(answered, on="ask")
            | answered.to(approved, cond=["supported", "has_evidence"])
            | answered.to(failed)
        )

        def __init__(self, seconds: float) -> None:
            self.seconds, self.data, self.answer = seconds, list[str](), ""
            super().__init__()

        async def collect(self) -> None:
            self.data.append("evidence")

        async def ask(self) -> None:
            self.answer = await asked(self.seconds)

        def supported(self) -> bool:
            return self.answer == "supported"

        def has_evidence(self) -> bool:
            return "evidence" in self.data

    class Loop(StateMachine):  # type: ignore[misc]
        count = State(initial=True)
        test = State()
        done = State(final=True)
        step = count.to(test, on="down") | test.to(count, cond="goes_on") | test.to(done)

        def __init__(self, left: int) -> None:
            self.left = left
            super().__init__()

        async def down(self) -> None:
            self.left -= 1

        def goes_on(self) -> bool:
            return self.left > 0

    async def decide(seconds: float) -> object:
        machine = Decision(seconds)
        await machine.activate_initial_state()
        for _ in range(3):
            await machine.step()
        return "approved" if machine.approved.is_active else "failed"

    async def loop(visits: int) -> object:
        machine = Loop(visits // 2)
        await machine.activate_initial_state()
        while not machine.done.is_active:
            await machine.step()
        return "approved"

    return Engine("python-statemachine", decide, loop)


def py_trees() -> Engine:
    """Ticks are synchronous: it cannot wait for a model, so it does not take part in the waiting."""
    import py_trees as trees  # type: ignore[import-not-found]

    status = trees.common.Status

    class Do(trees.behaviour.Behaviour):  # type: ignore[misc]
        def __init__(self, name: str, work: Callable[[], bool]) -> None:
            super().__init__(name)
            self.work = work

        def update(self) -> object:
            return status.SUCCESS if self.work() else status.FAILURE

    async def decide(seconds: float) -> object:
        if seconds:
            raise NotImplementedError
        data: list[str] = []

        def collect() -> bool:
            data.append("evidence")
            return True

        def ask() -> bool:
            reply = json.loads(work.REPLY)
            return reply.get("answer") in work.ANSWERS and reply["answer"] == "supported"

        root = trees.composites.Sequence("decision", memory=True)
        root.add_children([Do("collect", collect), Do("ask", ask), Do("test", lambda: "evidence" in data)])
        root.tick_once()
        return "approved" if root.status == status.SUCCESS else "failed"

    async def loop(visits: int) -> object:
        left = visits // 2

        def count() -> bool:
            nonlocal left
            left -= 1
            return True

        root = trees.composites.Sequence("loop", memory=False)
        root.add_children([Do("count", count), Do("test", lambda: left <= 0)])
        while root.status != status.SUCCESS:
            root.tick_once()
        return "approved"

    return Engine("py_trees (no waiting)", decide, loop)


def burr() -> Engine:
    from burr.core import ApplicationBuilder, GraphBuilder, State, action, default, when  # type: ignore[import-not-found]

    @action(reads=[], writes=["data"])
    async def collect(state: State) -> State:
        return state.update(data=["evidence"])

    @action(reads=["seconds"], writes=["answer"])
    async def ask(state: State) -> State:
        return state.update(answer=await asked(state["seconds"]))

    @action(reads=["data"], writes=["found"])
    def test(state: State) -> State:
        return state.update(found="evidence" in state["data"])

    @action(reads=[], writes=["verdict"])
    def approved(state: State) -> State:
        return state.update(verdict="approved")

    @action(reads=[], writes=["verdict"])
    def failed(state: State) -> State:
        return state.update(verdict="failed")

    graph = (
        GraphBuilder()
        .with_actions(collect, ask, test, approved, failed)
        .with_transitions(
            ("collect", "ask"),
            ("ask", "test", when(answer="supported")),
            ("ask", "failed", default),
            ("test", "approved", when(found=True)),
            ("test", "failed", default),
        )
        .build()
    )

    async def decide(seconds: float) -> object:
        application = (
            ApplicationBuilder()
            .with_graph(graph)
            .with_state(seconds=seconds)
            .with_entrypoint("collect")
            .build()
        )
        _, _, state = await application.arun(halt_after=["approved", "failed"])
        return state["verdict"]

    @action(reads=["left"], writes=["left"])
    async def count(state: State) -> State:
        return state.update(left=state["left"] - 1)

    @action(reads=["left"], writes=["again"])
    def goes_on(state: State) -> State:
        return state.update(again=state["left"] > 0)

    looping = (
        GraphBuilder()
        .with_actions(count, goes_on, approved)
        .with_transitions(
            ("count", "goes_on"), ("goes_on", "count", when(again=True)), ("goes_on", "approved", default)
        )
        .build()
    )

    async def loop(visits: int) -> object:
        application = (
            ApplicationBuilder()
            .with_graph(looping)
            .with_state(left=visits // 2)
            .with_entrypoint("count")
            .build()
        )
        _, _, state = await application.arun(halt_after=["approved"])
        return state["verdict"]

    return Engine("burr", decide, loop)


def pydantic_graph() -> Engine:  # noqa: C901 - what one library needs stays together
    from pydantic_graph import GraphBuilder, StepContext, TypeExpression  # type: ignore[import-not-found]

    @dataclass
    class State:
        seconds: float = 0.0
        left: int = 0
        evidence: bool = False

    def builder() -> Any:
        return GraphBuilder(state_type=State, output_type=str, auto_instrument=False)

    answer = Literal["supported", "unsupported", "unknown"]
    g = builder()

    @g.step
    async def collect(ctx: StepContext[State, None, None]) -> None:
        ctx.state.evidence = True

    @g.step
    async def ask(ctx: StepContext[State, None, None]) -> answer:
        return await asked(ctx.state.seconds)  # type: ignore[return-value]

    @g.step
    async def test(ctx: StepContext[State, None, Any]) -> Literal["true", "false"]:
        return "true" if ctx.state.evidence else "false"

    @g.step
    async def approved(ctx: StepContext[State, None, Any]) -> str:
        return "approved"

    @g.step
    async def failed(ctx: StepContext[State, None, Any]) -> str:
        return "failed"

    g.add(
        g.edge_from(g.start_node).to(collect),
        g.edge_from(collect).to(ask),
        g.edge_from(ask).to(
            g.decision()
            .branch(g.match(TypeExpression[Literal["supported"]]).to(test))
            .branch(g.match(TypeExpression[Literal["unsupported", "unknown"]]).to(failed))
        ),
        g.edge_from(test).to(
            g.decision()
            .branch(g.match(TypeExpression[Literal["true"]]).to(approved))
            .branch(g.match(TypeExpression[Literal["false"]]).to(failed))
        ),
        g.edge_from(approved, failed).to(g.end_node),
    )
    graph = g.build()

    h = builder()

    @h.step
    async def count(ctx: StepContext[State, None, Any]) -> None:
        ctx.state.left -= 1

    @h.step
    async def goes_on(ctx: StepContext[State, None, None]) -> Literal["true", "false"]:
        return "true" if ctx.state.left > 0 else "false"

    @h.step
    async def done(ctx: StepContext[State, None, Any]) -> str:
        return "approved"

    h.add(
        h.edge_from(h.start_node).to(count),
        h.edge_from(count).to(goes_on),
        h.edge_from(goes_on).to(
            h.decision()
            .branch(h.match(TypeExpression[Literal["true"]]).to(count))
            .branch(h.match(TypeExpression[Literal["false"]]).to(done))
        ),
        h.edge_from(done).to(h.end_node),
    )
    looping = h.build()

    async def decide(seconds: float) -> object:
        return await graph.run(state=State(seconds=seconds))

    async def loop(visits: int) -> object:
        return await looping.run(state=State(left=visits // 2))

    return Engine("pydantic-graph", decide, loop)


def langgraph() -> Engine:  # noqa: C901 - what one library needs stays together
    from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]

    class State(TypedDict, total=False):
        seconds: float
        data: Annotated[list[str], operator.add]
        answer: str
        left: int
        verdict: str

    async def collect(state: State) -> State:
        return {"data": ["evidence"]}

    async def ask(state: State) -> State:
        return {"answer": await asked(state["seconds"])}

    async def test(state: State) -> State:
        return {}

    async def approved(state: State) -> State:
        return {"verdict": "approved"}

    async def failed(state: State) -> State:
        return {"verdict": "failed"}

    building = StateGraph(State)
    for node in (collect, ask, test, approved, failed):
        building.add_node(node.__name__, node)
    building.add_edge(START, "collect")
    building.add_edge("collect", "ask")
    building.add_conditional_edges("ask", lambda s: "test" if s["answer"] == "supported" else "failed")
    building.add_conditional_edges("test", lambda s: "approved" if "evidence" in s["data"] else "failed")
    building.add_edge("approved", END)
    building.add_edge("failed", END)
    graph = building.compile()

    async def decide(seconds: float) -> object:
        return (await graph.ainvoke({"seconds": seconds, "data": []}))["verdict"]

    async def count(state: State) -> State:
        return {"left": state["left"] - 1}

    looping = StateGraph(State)
    for node in (count, test, approved):
        looping.add_node(node.__name__, node)
    looping.add_edge(START, "count")
    looping.add_edge("count", "test")
    looping.add_conditional_edges("test", lambda s: "count" if s["left"] > 0 else "approved")
    looping.add_edge("approved", END)
    looped = looping.compile()

    async def loop(visits: int) -> object:
        return (await looped.ainvoke({"left": visits // 2}, {"recursion_limit": visits + 9}))["verdict"]

    return Engine("langgraph", decide, loop)


# ------------------------------------------------------------------------------------------ measuring


def repeated(count: int, one: Callable[[], Awaitable[object]]) -> Callable[[], None]:
    async def all_of_them() -> None:
        for _ in range(count):
            assert await one() == "approved"

    return lambda: asyncio.run(all_of_them())


def at_once(count: int, engine: Engine) -> Callable[[], None]:
    async def all_of_them() -> None:
        await asyncio.gather(*(engine.decide(WAIT) for _ in range(count)))

    return lambda: asyncio.run(all_of_them())


# At least so many times faster than the peer: a run, a visit of a loop.
TARGETS = {
    "burr": (15, 25),
    "transitions": (15, None),
    "pydantic-graph": (30, None),
    "langgraph": (100, None),
}


def main() -> None:
    engines = [
        floor(), ours(), py_trees(), transitions(), burr(), pydantic_graph(), statemachine(), langgraph(),
    ]  # fmt: skip
    goals = Goals()
    runs = medians(
        *(repeated(engine.runs, lambda e=engine: e.decide(0.0)) for engine in engines),  # type: ignore[misc]
        rounds=5,
    )
    each = {engine.name: spent / engine.runs for engine, spent in zip(engines, runs, strict=True)}
    visits = medians(
        *(repeated(1, lambda e=engine: e.loop(VISITS)) for engine in engines),  # type: ignore[misc]
        rounds=3,
    )
    loops = {engine.name: spent / VISITS for engine, spent in zip(engines, visits, strict=True)}
    for engine in engines:
        name, (run, loop) = engine.name, TARGETS.get(engine.name, (None, None))
        note = f"{in_words(each[name])} a run, {each[name] / each['bare']:.3g} x bare"
        ratio(goals, "A-G1", f"{name} / ours, a run", each[name] / each["treewright"], run, note)
        note = f"{in_words(loops[name])} a visit"
        ratio(
            goals,
            "A-G2",
            f"{name} / ours, a visit of the loop",
            loops[name] / loops["treewright"],
            loop,
            note,
        )
    ours_, burr_ = medians(at_once(10_000, engines[1]), at_once(10_000, engines[4]), rounds=1)
    note = f"{in_words(burr_)}, ours {in_words(ours_)}, ideal 50 ms"
    ratio(goals, "A-G3", "burr / ours, 10,000 runs at once", burr_ / ours_, 10, note)
    canvas_peers.compare(goals)
    sys.stdout.write("\n".join(goals.lines()) + "\n")


def ratio(goals: Goals, id: str, what: str, value: float, target: float | None, note: str) -> None:
    if target is None:
        goals.figure(id, what, value, "x", note)
    else:
        goals.least(id, what, value, target, "x", note)


if __name__ == "__main__":
    main()
