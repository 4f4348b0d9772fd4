"""Running a document: pausing, asking, answering, stopping."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from designer.document.document import Document
from designer.document.draft import Draft
from designer.running import RunController, RunState
from engine import Inputs, PersonDecider, Session, Trail, Tree
from engine.evaluate import Case
from tests.builders import action, budget, classify, terminal, tree
from tests.engine.runs import VirtualClock


def asking() -> Tree:
    """Two questions in a row, then a verdict."""
    return tree(
        first=classify("Is {{subject}} late?", {"yes": "second", "no": "end"}, unknown="end"),
        second=classify("Does it matter?", {"yes": "end", "no": "end"}, unknown="end"),
        end=terminal("done"),
    ).replace(budget=budget(calls=4, seconds=10, tokens=1000))


class Bench:
    """A controller with a document, a clock that stands still, and what was told."""

    def __init__(self, of: Tree) -> None:
        self.clock = VirtualClock()
        self.document = Document(Draft(of))
        self.controller = RunController(self._prepare)
        self.states: list[RunState] = []
        self.trails: list[Trail] = []
        self.controller.state_changed.connect(self.states.append)
        self.controller.trail_changed.connect(self.trails.append)

    def _prepare(
        self, _document: Document, case: Case | None, decider: PersonDecider
    ) -> tuple[Session, Inputs]:
        return Session(decider=decider, clock=self.clock), Inputs(parameters={"subject": "the parcel"})

    async def reach(self, state: RunState) -> None:
        for _ in range(200):
            if self.controller.state is state:
                return
            await asyncio.sleep(0)
        raise AssertionError(f"It never came to be {state}.")


@pytest.fixture
def on_bench(aloop: asyncio.AbstractEventLoop) -> Callable[[Tree, Callable[[Bench], Awaitable[None]]], None]:
    def run(of: Tree, act: Callable[[Bench], Awaitable[None]]) -> None:
        async def whole() -> None:
            bench = Bench(of)
            try:
                await act(bench)
            finally:
                bench.controller.cancel()
                await bench.controller.ended()

        aloop.run_until_complete(whole())

    return run


def test_a_step_pauses_before_the_first_node_and_the_next_executes_it(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.step(bench.document)
        await bench.reach(RunState.PAUSED)
        assert bench.controller.stop is not None
        assert bench.controller.stop.node == "first"
        bench.controller.step(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.answer("yes")
        await bench.reach(RunState.PAUSED)
        assert bench.controller.stop.node == "second"
        assert [visit.branch for visit in bench.controller.trail.path] == ["yes"]

    on_bench(asking(), act)


def test_a_question_is_put_with_the_parameters_filled_in(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        question = bench.controller.question
        assert question is not None
        assert (question.node, question.text) == ("first", "Is the parcel late?")
        assert question.answers == ("yes", "no")

    on_bench(asking(), act)


def test_the_clock_stands_still_while_a_person_thinks(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.clock.seconds += 3600
        bench.controller.answer("no")
        await bench.reach(RunState.ENDED)
        result = bench.controller.trail.result
        assert result is not None
        assert (result.outcome, result.verdict, result.usage.duration) == ("Terminal", "done", 0)

    on_bench(asking(), act)


def test_no_answer_that_fits_is_the_answer_unknown(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.answer(None)
        await bench.reach(RunState.ENDED)
        result = bench.controller.trail.result
        assert result is not None
        assert (result.outcome, [c.answer for c in result.classifications]) == ("Unknown", ["unknown"])

    on_bench(asking(), act)


@pytest.mark.parametrize("state", [RunState.PAUSED, RunState.ASKING])
def test_stopping_ends_the_run_as_cancelled_wherever_it_stands(on_bench, state):
    async def act(bench: Bench) -> None:
        begin = bench.controller.step if state is RunState.PAUSED else bench.controller.start
        begin(bench.document)
        await bench.reach(state)
        bench.controller.cancel()
        await bench.reach(RunState.ENDED)
        result = bench.controller.trail.result
        assert result is not None
        assert result.outcome == "Cancelled"
        assert not bench.controller.active
        assert bench.controller.question is None

    on_bench(asking(), act)


def test_pausing_takes_hold_before_the_next_node(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.pause()
        bench.controller.answer("yes")
        await bench.reach(RunState.PAUSED)
        assert bench.controller.stop is not None
        assert bench.controller.stop.node == "second"
        bench.controller.resume()
        await bench.reach(RunState.ASKING)

    on_bench(asking(), act)


def test_a_second_run_begins_afresh(on_bench):
    async def act(bench: Bench) -> None:
        for _ in range(2):
            bench.controller.start(bench.document)
            await bench.reach(RunState.ASKING)
            bench.controller.answer("no")
            await bench.reach(RunState.ENDED)
            assert [visit.node for visit in bench.controller.trail.path] == ["first", "end"]

    on_bench(asking(), act)


def test_a_tree_with_errors_is_not_run_and_the_reason_is_told(on_bench):
    async def act(bench: Bench) -> None:
        assert bench.controller.reason_not_ready(bench.document) == "Fix the error under Problems first."
        bench.controller.start(bench.document)
        assert (bench.controller.state, bench.states) == (RunState.IDLE, [])

    on_bench(tree(end=terminal("")), act)


def test_an_action_nobody_offers_is_named_unless_a_case_pins_it(on_bench):
    async def act(bench: Bench) -> None:
        reason = bench.controller.reason_not_ready(bench.document)
        assert reason is not None
        assert "'loadOrder'" in reason
        assert "'load'" in reason
        pinned = Case.model_validate({"id": "pinned", "actions": {"load": {"status": "success"}}})
        bench.controller.choose_case(pinned)
        assert bench.controller.reason_not_ready(bench.document) is None

    on_bench(tree(load=action("loadOrder", success="end"), end=terminal("done")), act)


def test_what_is_shown_ends_with_the_result(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.answer("no")
        await bench.reach(RunState.ENDED)
        assert bench.trails[-1].result is not None
        assert bench.states == [RunState.RUNNING, RunState.ASKING, RunState.RUNNING, RunState.ENDED]

    on_bench(asking(), act)
