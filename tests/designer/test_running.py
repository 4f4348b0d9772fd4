"""Running a document: driving a run, stopping it, looking back, choosing who answers, and beginning again."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from designer.document import breakpoints, edits
from designer.document.breakpoints import Breakpoint
from designer.document.document import Document
from designer.document.draft import Draft, Place
from designer.running import (
    ASK,
    LIVE,
    ListedRun,
    RunController,
    RunState,
    may_answer,
    pinned,
    replayed,
)
from designer.running import controller as driving
from designer.settings import Settings
from designer.workbench import Workbench
from engine import (
    ActionContext,
    ActionResult,
    DataItem,
    Decider,
    Decision,
    DocumentRefused,
    Event,
    Inputs,
    Question,
    RunEnded,
    Session,
    TextDecider,
    Trail,
    TranscriptOptions,
    Tree,
    standard_catalog,
    trail_of,
)
from engine.evaluate import (
    Case,
    CaseResult,
    RunLog,
    compare,
    inputs_of,
    read_cases,
    read_run_log,
    write_case,
)
from tests.builders import action, budget, classify, condition, terminal, tree
from tests.designer.waiting import until
from tests.engine.deciding import FakeClient
from tests.engine.runs import Does, VirtualClock, fails


def asking() -> Tree:
    """Two questions in a row, then a verdict."""
    return tree(
        first=classify("Is {{subject}} late?", {"yes": "second", "no": "end"}, unknown="end"),
        second=classify("Does it matter?", {"yes": "end", "no": "end"}, unknown="end"),
        end=terminal("done"),
    ).replace(budget=budget(calls=4, seconds=10, tokens=1000))


def fetching() -> Tree:
    """An action, a condition on what it found, and a question on either side."""
    return tree(
        load=action("loadOrder", success="known", transient="load", permanent="bad"),
        known=condition("propertyExists", then="rich", otherwise="poor", parameters={"key": "amount"}),
        rich=classify("Is it much?", {"yes": "good", "no": "bad"}, unknown="bad"),
        poor=classify("Ask again?", {"yes": "load", "no": "bad"}, unknown="bad"),
        good=terminal("good"),
        bad=terminal("bad"),
    ).replace(budget=budget(visits=200, calls=200, seconds=1000, tokens=1000))


def found(amount: str | None = "120") -> ActionResult:
    item = DataItem("order-1", "shop", "order", f"An order of {amount}.")
    return ActionResult(data=(item,), properties={} if amount is None else {"amount": amount})


class Script:
    """A decider that gives these answers in turn, and keeps the nodes it was asked for."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), list[str]()

    def for_run(self) -> "Script":
        return self

    async def decide(self, question: Question) -> Decision:
        self.asked.append(question.node)
        return Decision(self.answers.pop(0), provider="script")


class Gate:
    """A decider that says yes once it is let; until then its request is in flight."""

    def __init__(self) -> None:
        self.asked, self.let = asyncio.Event(), asyncio.Event()
        self.given_up = False

    def for_run(self) -> "Gate":
        return self

    async def decide(self, question: Question) -> Decision:
        self.asked.set()
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.given_up = True
            raise
        return Decision("yes", provider="gate")

    async def reached(self) -> None:
        await asyncio.wait_for(self.asked.wait(), 5)


class Bench:
    """A controller with a document, a clock that stands still, and what was told."""

    def __init__(self, of: Tree, *actions: Any) -> None:
        self.clock = VirtualClock()
        self.document = Document(Draft(of))
        self.document.catalog = standard_catalog().with_actions(actions)
        self.live: Decider | None = None
        self.subject = "the parcel"
        self.transcripts: TranscriptOptions | None = None
        self.controller = RunController(self._prepare, lambda _: self.live is not None)
        self.states: list[RunState] = []
        self.trails: list[Trail] = []
        self.controller.state_changed.connect(self.states.append)
        self.controller.trail_changed.connect(self.trails.append)

    def _prepare(self, document: Document, case: Case) -> tuple[Session, Inputs]:
        session = Session(
            clock=self.clock, catalog=document.catalog, decider=self.live, transcript=self.transcripts
        )
        return session, inputs_of(case, {"subject": self.subject})

    async def reach(self, state: RunState) -> None:
        for _ in range(2000):
            if self.controller.state is state:
                return
            await asyncio.sleep(0)
        raise AssertionError(f"It never came to be {state}.")

    async def run(self, *answers: str) -> ListedRun:
        """Run to the end, the person giving these answers."""
        self.controller.start(self.document)
        return await self.finish(*answers)

    async def finish(self, *answers: str) -> ListedRun:
        for answer in answers:
            await self.reach(RunState.ASKING)
            self.controller.answer(answer)
            await self.reach(RunState.RUNNING)
        await self.reach(RunState.ENDED)
        assert self.controller.shown is not None
        return self.controller.shown

    async def other_run(self) -> None:
        """Wait until the run that goes on has made room for another one."""
        before = self.controller.shown
        for _ in range(200):
            if self.controller.shown is not before:
                return
            await asyncio.sleep(0)
        raise AssertionError("No other run was begun.")

    async def paused_at(self) -> str:
        await self.reach(RunState.PAUSED)
        assert self.controller.stop is not None
        return self.controller.stop.node

    def mark(self, *wanted: Breakpoint) -> None:
        for one in wanted:
            self.document.edit("Breakpoint", partial(_with, one))

    def pin(self, **pins: Any) -> None:
        for node, pin in pins.items():
            self.controller.choose_source(self.document, node, pinned(pin))

    @property
    def path(self) -> list[str]:
        return [visit.node for visit in self.controller.trail.path]


def _with(one: Breakpoint, draft: Draft) -> Draft:
    return breakpoints.put(draft, one)


OnBench = Callable[..., None]


@pytest.fixture
def on_bench(aloop: asyncio.AbstractEventLoop) -> OnBench:
    def run(of: Tree, act: Callable[[Bench], Awaitable[None]], *actions: Any) -> None:
        async def whole() -> None:
            bench = Bench(of, *actions)
            try:
                await act(bench)
            finally:
                bench.controller.cancel()
                await bench.controller.ended()

        aloop.run_until_complete(whole())

    return run


# -- driving -------------------------------------------------------------------------------------------


def test_a_step_pauses_before_the_first_node_and_the_next_executes_it(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.step(bench.document)
        assert await bench.paused_at() == "first"
        bench.controller.step(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.answer("yes")
        assert await bench.paused_at() == "second"
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


def test_stopping_gives_up_a_request_in_flight(on_bench):
    async def act(bench: Bench) -> None:
        bench.live = gate = Gate()
        bench.controller.start(bench.document)
        await gate.reached()
        bench.controller.cancel()
        await bench.reach(RunState.ENDED)
        assert gate.given_up
        assert bench.controller.shown is not None
        assert bench.controller.shown.outcome == "Cancelled"

    on_bench(asking(), act)


def test_pausing_takes_hold_before_the_next_node(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.pause()
        bench.controller.answer("yes")
        assert await bench.paused_at() == "second"
        bench.controller.resume()
        await bench.reach(RunState.ASKING)

    on_bench(asking(), act)


def test_one_can_go_on_to_the_next_question(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(rich="no")
        bench.controller.step_to_question(bench.document)
        assert await bench.paused_at() == "rich"
        assert bench.path == ["load", "known"]
        bench.controller.step_to_question(bench.document)
        await bench.reach(RunState.ENDED)

    on_bench(fetching(), act, Does("loadOrder", found()))


def test_one_can_run_to_a_node_and_on_to_its_next_visit(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(poor=("yes", "yes", "no"))
        for visits in (0, 1, 2):
            bench.controller.run_to(bench.document, "known")
            assert await bench.paused_at() == "known"
            assert bench.path.count("known") == visits
        bench.controller.resume()
        await bench.reach(RunState.ENDED)

    on_bench(fetching(), act, Does("loadOrder", found(None)))


def test_a_second_run_begins_afresh(on_bench):
    async def act(bench: Bench) -> None:
        for _ in range(2):
            await bench.run("no")
            assert bench.path == ["first", "end"]
        assert [run.name for run in bench.controller.runs] == ["Run 1", "Run 2"]

    on_bench(asking(), act)


def test_restarting_takes_the_same_inputs_and_the_tree_of_the_screen(on_bench):
    async def act(bench: Bench) -> None:
        await bench.run("no")
        bench.subject = "the letter"
        bench.document.edit("Task", lambda d: edits.set_field(d, "first", "task", "Is {{subject}} lost?"))
        assert bench.controller.restart() is None
        await bench.reach(RunState.ASKING)
        assert bench.controller.question is not None
        assert bench.controller.question.text == "Is the parcel lost?"

    on_bench(asking(), act)


def test_restarting_ends_the_run_that_goes_on(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        assert bench.controller.restart() is None
        await bench.other_run()
        await bench.finish("no")
        assert [run.outcome for run in bench.controller.runs] == ["Cancelled", "Terminal"]

    on_bench(asking(), act)


def test_a_run_that_is_stopped_is_not_restarted_after_all(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.restart()
        bench.controller.cancel()
        await bench.controller.ended()
        await asyncio.sleep(0)
        assert (bench.controller.state, len(bench.controller.runs)) == (RunState.ENDED, 1)

    on_bench(asking(), act)


def test_what_cannot_run_is_not_restarted_and_says_why(on_bench):
    async def act(bench: Bench) -> None:
        assert bench.controller.restart() == "Nothing has run yet."
        await bench.run("no")
        bench.document.edit("Remove", lambda d: edits.remove_nodes(d, ["end"]))
        assert "under Problems first" in (bench.controller.restart() or "")

    on_bench(asking(), act)


def test_a_tree_with_errors_is_not_run_and_the_reason_is_told(on_bench):
    async def act(bench: Bench) -> None:
        assert bench.controller.reason_not_ready(bench.document) == "Fix the error under Problems first."
        bench.controller.start(bench.document)
        assert (bench.controller.state, bench.states) == (RunState.IDLE, [])

    on_bench(tree(end=terminal("")), act)


def test_an_action_nobody_offers_is_named_unless_it_is_pinned(on_bench):
    async def act(bench: Bench) -> None:
        reason = bench.controller.reason_not_ready(bench.document)
        assert reason == "There is no action 'loadOrder' here, which 'load' asks for. Pin what it would do."
        bench.controller.choose_case(
            Case.model_validate({"id": "one", "actions": {"load": {"status": "success"}}})
        )
        assert bench.controller.reason_not_ready(bench.document) is None
        bench.controller.choose_case(None)
        bench.pin(load=CaseResult(status="success"))
        assert bench.controller.reason_not_ready(bench.document) is None

    on_bench(tree(load=action("loadOrder", success="end"), end=terminal("done")), act)


def test_what_is_shown_ends_with_the_result(on_bench):
    async def act(bench: Bench) -> None:
        await bench.run("no")
        assert bench.trails[-1].result is not None
        assert bench.states == [RunState.RUNNING, RunState.ASKING, RunState.RUNNING, RunState.ENDED]

    on_bench(asking(), act)


def test_what_comes_after_the_end_of_a_run_is_ignored(on_bench):
    async def act(bench: Bench) -> None:
        run = await bench.run("no")
        before = run.trail
        for event in list(run.recording.events):
            run.recording.add(event)
        assert run.trail is before
        assert run.recording.steps[-1] == len(run.recording)

    on_bench(asking(), act)


class Hesitating:
    """An action and a decider that let go of the loop again and again."""

    key = "loadOrder"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def for_run(self) -> "Hesitating":
        return self

    async def execute(self, context: ActionContext) -> ActionResult:
        await self._hesitate()
        return found(self._chance.choice([None, "120"]))

    async def decide(self, question: Question) -> Decision:
        await question.desk.before_attempt(1)
        await self._hesitate()
        return Decision(self._chance.choice([*question.answers, None]), reason="chosen", provider="slow")

    async def _hesitate(self) -> None:
        for _ in range(self._chance.randrange(5)):
            await asyncio.sleep(0)


def stop_anywhere(on_bench, tmp_path, times: int) -> None:
    def one(seed: int) -> None:
        chance = random.Random(seed)
        hesitating = Hesitating(chance)

        async def act(bench: Bench) -> None:
            bench.live = hesitating
            bench.transcripts = TranscriptOptions(directory=tmp_path / str(seed))
            if chance.random() < 0.3:
                bench.mark(Breakpoint("known"))
            chance.choice([bench.controller.start, bench.controller.step])(bench.document)
            for _ in range(chance.randrange(30)):
                await asyncio.sleep(0)
                if chance.random() < 0.2:
                    chance.choice([bench.controller.resume, bench.controller.step_back])()
            bench.controller.cancel()
            await bench.controller.ended()
            run = bench.controller.shown
            assert run is not None
            assert [isinstance(event, RunEnded) for event in run.recording.events].count(True) == 1
            assert isinstance(run.recording.events[-1], RunEnded)
            path = bench.controller.transcript_path
            assert path is not None
            assert path.read_text().rstrip()
            assert bench.controller.state is RunState.ENDED
            assert asyncio.all_tasks() == {asyncio.current_task()}

        on_bench(fetching(), act, hesitating)

    for seed in range(times):
        one(seed)


def test_a_run_can_be_stopped_at_any_moment(on_bench, tmp_path):
    stop_anywhere(on_bench, tmp_path, 30)


@pytest.mark.soak
def test_a_run_can_be_stopped_at_five_hundred_moments(on_bench, tmp_path):
    stop_anywhere(on_bench, tmp_path, 500)


def test_a_driver_that_is_cancelled_itself_leaves_no_run_half_done(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.step(bench.document)
        await bench.reach(RunState.PAUSED)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await bench.controller.ended()
        assert bench.controller.shown is not None
        assert bench.controller.shown.outcome == "Cancelled"
        assert bench.controller.state is RunState.ENDED

    on_bench(asking(), act)


# -- breakpoints ---------------------------------------------------------------------------------------


def test_a_breakpoint_on_a_node_pauses_before_it_and_says_so(on_bench):
    async def act(bench: Bench) -> None:
        bench.mark(Breakpoint("rich"))
        bench.controller.start(bench.document)
        assert await bench.paused_at() == "rich"
        assert bench.controller.why == "Breakpoint at 'rich'."
        bench.controller.resume()
        await bench.reach(RunState.ASKING)
        assert bench.controller.why is None

    on_bench(fetching(), act, Does("loadOrder", found()))


def test_a_breakpoint_on_a_branch_pauses_once_that_branch_was_taken(on_bench):
    async def act(bench: Bench) -> None:
        bench.mark(Breakpoint("known", "true"), Breakpoint("known", "false"))
        bench.controller.start(bench.document)
        assert await bench.paused_at() == "rich"
        assert bench.path == ["load", "known"]
        assert bench.controller.why == "Breakpoint at 'known', branch true."

    on_bench(fetching(), act, Does("loadOrder", found()))


def test_a_breakpoint_that_is_switched_off_is_passed_over(on_bench):
    async def act(bench: Bench) -> None:
        bench.mark(Breakpoint("rich", enabled=False))
        await bench.run("yes")

    on_bench(fetching(), act, Does("loadOrder", found()))


def test_only_the_hit_that_was_asked_for_counts_in_each_run_anew(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(poor=("yes", "yes", "yes", "no"))
        bench.mark(Breakpoint("known", hits=3))
        for _ in range(2):
            bench.controller.start(bench.document)
            assert await bench.paused_at() == "known"
            assert bench.path.count("known") == 2
            assert bench.controller.why == "Breakpoint at 'known', hit 3."
            bench.controller.resume()
            await bench.reach(RunState.ENDED)

    on_bench(fetching(), act, Does("loadOrder", found(None)))


def test_a_condition_looks_at_answer_state_and_data(on_bench):
    async def act(bench: Bench) -> None:
        bench.mark(
            Breakpoint("rich", condition="amount > 500"),
            Breakpoint("bad", condition='answer == "no" and "120" in data["order-1"]'),
        )
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.answer("no")
        assert await bench.paused_at() == "bad"

    on_bench(fetching(), act, Does("loadOrder", found()))


@pytest.mark.parametrize(
    ("text", "reason"), [("amount >", "Column"), ("colour == 3", "colour"), ("open('x')", "Column")]
)
def test_a_condition_that_cannot_be_told_pauses_and_says_why(on_bench, text, reason):
    async def act(bench: Bench) -> None:
        bench.mark(Breakpoint("rich", condition=text, message="unheard"))
        bench.controller.start(bench.document)
        assert await bench.paused_at() == "rich"
        why = bench.controller.why or ""
        assert why.startswith("The condition of the breakpoint at 'rich' cannot be told: ")
        assert reason in why
        assert bench.controller.lines == ()

    on_bench(fetching(), act, Does("loadOrder", found()))


def test_a_log_point_writes_what_is_and_does_not_pause(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(rich="yes")
        bench.mark(Breakpoint("rich", message="{amount} at {node}, {colour}, {amount >}"))
        run = await bench.run()
        (line,) = bench.controller.lines
        assert (line.node, line.position) == ("rich", run.recording.steps[2])
        assert line.text.startswith("120 at rich, (")
        assert "colour" in line.text
        bench.controller.go_to_step(1)
        assert bench.controller.lines == ()

    on_bench(fetching(), act, Does("loadOrder", found()))


def test_a_breakpoint_set_while_a_run_goes_on_is_honoured(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.mark(Breakpoint("second"))
        bench.controller.answer("yes")
        assert await bench.paused_at() == "second"

    on_bench(asking(), act)


# -- the past ------------------------------------------------------------------------------------------


def test_a_moment_of_the_past_shows_what_was_known_then(on_bench):
    async def act(bench: Bench) -> None:
        run = await bench.run("yes")
        controller, events = bench.controller, run.recording.events
        assert (controller.past, controller.at, controller.step_number) == (False, None, 4)
        controller.step_back()
        assert (controller.past, controller.at) == (True, "good")
        assert controller.stop is not None
        assert controller.stop.node == "good"
        assert bench.path == ["load", "known", "rich"]
        controller.step_back()
        assert (controller.at, controller.step_number, controller.step_count) == ("rich", 2, 4)
        assert controller.trail == trail_of(events[: controller.position])
        assert list(controller.events) == list(events[: controller.position])
        assert controller.latest.result is not None
        for _ in range(9):
            controller.step_back()
        assert (controller.at, bench.path, controller.trail.properties) == ("load", [], {})
        controller.step_forward()
        assert (controller.at, controller.trail.properties) == ("known", {"amount": "120"})
        controller.live()
        assert not controller.past
        assert controller.trail.result is not None

    on_bench(fetching(), act, Does("loadOrder", found()))


def test_every_moment_is_the_fold_of_its_events(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(poor=(*["yes"] * 30, "no"))
        run = await bench.run()
        events = run.recording.events
        assert len(events) > 200
        for position in random.Random(5).sample(range(1, len(events)), 60):
            bench.controller.go_to(position)
            assert bench.controller.trail == trail_of(events[:position])

    on_bench(fetching(), act, Does("loadOrder", found(None)))


def test_looking_at_any_moment_of_a_long_run_folds_few_events(on_bench, monkeypatch):
    async def act(bench: Bench) -> None:
        bench.pin(poor=(*["yes"] * 60, "no"))
        run = await bench.run()
        folded: list[object] = []
        after = Trail.after

        def counted(trail: Trail, event: Event) -> Trail:
            folded.append(event)
            return after(trail, event)

        monkeypatch.setattr(Trail, "after", counted)
        for position in (400, 3, 399, 200, len(run.recording) - 1):
            folded.clear()
            bench.controller.go_to(position)
            _ = bench.controller.trail, bench.controller.trail
            assert len(folded) < 64
        bench.controller.go_to(300)
        _ = bench.controller.trail
        folded.clear()
        bench.controller.go_to(301)
        _ = bench.controller.trail
        assert len(folded) == 1

    on_bench(fetching(), act, Does("loadOrder", found(None)))


class Timers:
    """The timers of a controller, on a clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 0
        self._made: list[Timer] = []

    def make(self, _parent: object, *, interval: int, singleShot: bool = False) -> "Timer":  # noqa: N803 (Qt's)
        self._made.append(Timer(self, interval, once=singleShot))
        return self._made[-1]

    def pass_by(self, milliseconds: int) -> None:
        for _ in range(milliseconds):
            self.now += 1
            for timer in self._made:
                timer.look()


class Timer:
    """What a controller uses of a timer of Qt's."""

    def __init__(self, timers: Timers, interval: int, *, once: bool) -> None:
        self._timers, self._interval, self._once = timers, interval, once
        self._due: int | None = None
        self._called: list[Callable[[], object]] = []
        self.timeout = self

    def connect(self, call: Callable[[], object]) -> None:
        self._called.append(call)

    def isActive(self) -> bool:
        return self._due is not None

    def start(self) -> None:
        self._due = self._timers.now + self._interval

    def stop(self) -> None:
        self._due = None

    def look(self) -> None:
        if self._due is not None and self._due <= self._timers.now:
            self._due = None if self._once else self._timers.now + self._interval
            for call in self._called:
                call()


class Hurrying:
    """A decider between whose answers pass some milliseconds; it notes when which visit of its node began."""

    def __init__(self, timers: Timers, chance: random.Random) -> None:
        self._timers, self._chance = timers, chance
        self.begun: dict[int, int] = {}

    def for_run(self) -> "Hurrying":
        return self

    async def decide(self, question: Question) -> Decision:
        await question.desk.before_attempt(1)
        self.begun[question.visit] = self._timers.now
        hurried = self._chance.random() < 0.97
        self._timers.pass_by(self._chance.choice([0, 1, 5, 12] if hurried else [40, 150]))
        return Decision("yes" if question.visit < 60 else "no", provider="hurrying")


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_is_shown_within_a_tenth_of_a_second(on_bench, monkeypatch, seed):
    timers = Timers()
    monkeypatch.setattr(driving, "QTimer", timers.make)

    async def act(bench: Bench) -> None:
        bench.live = hurrying = Hurrying(timers, random.Random(seed))
        seen: dict[int, int] = {}

        def note(trail: Trail) -> None:
            for visits in range(trail.usage.node_visits + 1):
                seen.setdefault(visits, timers.now)

        bench.controller.trail_changed.connect(note)
        await bench.run()
        # Each time around three nodes are visited, this one last.
        late = [seen[3 * visit] - begun for visit, begun in hurrying.begun.items()]
        assert (len(late), max(late) <= 100) == (60, True), max(late)
        assert len(bench.trails) < len(bench.controller.events) / 2

    on_bench(fetching(), act, Does("loadOrder", found(None)))


def test_scrubbing_tells_at_most_once_a_frame(on_bench):
    async def act(bench: Bench) -> None:
        run = await bench.run("yes")
        bench.trails.clear()
        for position in range(len(run.recording)):
            bench.controller.go_to(position)
        assert bench.trails == []
        await until(lambda: bench.trails)
        assert bench.trails == [trail_of(run.recording.events[:-1])]

    on_bench(fetching(), act, Does("loadOrder", found()))


def test_looking_back_pauses_a_run_and_going_on_comes_back_to_the_present_first(on_bench):
    async def act(bench: Bench) -> None:
        bench.live = gate = Gate()
        bench.pin(first="yes")
        bench.controller.start(bench.document)
        await gate.reached()
        bench.controller.step_back()
        assert (bench.controller.past, bench.controller.at) == (True, "first")
        assert bench.controller.state is RunState.RUNNING
        gate.let.set()
        await bench.reach(RunState.PAUSED)
        assert (bench.controller.past, bench.controller.at) == (True, "first")
        bench.controller.step(bench.document)
        assert (bench.controller.past, bench.controller.at) == (True, "second")
        bench.controller.step(bench.document)
        assert not bench.controller.past
        assert await bench.paused_at() == "end"
        bench.controller.step_back()
        bench.controller.resume()
        assert not bench.controller.past
        await bench.finish()

    on_bench(asking(), act)


def test_each_moment_of_the_newest_step_is_the_newest_moment(on_bench):
    async def act(bench: Bench) -> None:
        controller = bench.controller
        bench.mark(Breakpoint("second"))
        controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        for go in (controller.step_back, controller.step_forward, lambda: controller.go_to(1)):
            go()
            assert (controller.past, controller.step_number) == (False, 0)
        assert not controller.previous_visit("first")
        controller.answer("yes")
        assert await bench.paused_at() == "second"
        controller.resume()
        await bench.reach(RunState.ASKING)
        for _ in range(3):  # there is nothing before the first one
            controller.step_back()
            assert (controller.past, controller.step_number) == (True, 0)
        controller.step(bench.document)
        assert (controller.past, controller.step_number, controller.state) == (False, 1, RunState.ASKING)
        assert controller.hit is None
        controller.step_back()
        controller.go_to_step(1)
        assert not controller.past
        controller.step_back()
        assert controller.next_visit("second")
        assert not controller.past
        assert not controller.next_visit("second")
        controller.answer("no")
        await bench.reach(RunState.ENDED)

    on_bench(asking(), act)


def test_a_question_can_be_looked_back_from_and_answered_then(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.answer("yes")
        await bench.reach(RunState.RUNNING)
        await bench.reach(RunState.ASKING)
        bench.controller.step_back()
        assert (bench.controller.at, bench.controller.state) == ("first", RunState.ASKING)
        bench.controller.answer("no")
        assert not bench.controller.past
        await bench.reach(RunState.ENDED)
        assert bench.path == ["first", "second", "end"]

    on_bench(asking(), act)


def test_stopping_shows_the_present(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(first="yes")
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.step_back()
        assert bench.controller.past
        bench.controller.cancel()
        await bench.reach(RunState.ENDED)
        assert bench.controller.trail.result is not None

    on_bench(asking(), act)


def test_going_on_in_the_past_goes_through_what_is_recorded(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(poor=("yes", "yes", "no"))
        await bench.run()
        controller = bench.controller
        controller.go_to(0)
        controller.step_to_question(bench.document)
        assert (controller.at, controller.step_number) == ("poor", 2)
        controller.run_to(bench.document, "known")
        assert (controller.at, controller.step_number) == ("known", 4)
        bench.mark(Breakpoint("load", hits=3))
        controller.resume()
        assert (controller.at, controller.step_number, controller.why) == (
            "load",
            6,
            "Breakpoint at 'load', hit 3.",
        )
        controller.resume()
        assert not controller.past
        assert len(controller.runs) == 1
        assert controller.state is RunState.ENDED

    on_bench(fetching(), act, Does("loadOrder", found(None)))


def test_the_visits_of_a_node_are_gone_through_one_by_one(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(poor=("yes", "no"))
        await bench.run()
        controller = bench.controller
        assert controller.previous_visit("known")
        assert controller.step_number == 4
        assert controller.previous_visit("known")
        assert controller.step_number == 1
        assert not controller.previous_visit("known")
        assert controller.next_visit("known")
        assert controller.step_number == 4
        assert not controller.next_visit("known")
        assert not controller.next_visit("rich")

    on_bench(fetching(), act, Does("loadOrder", found(None)))


# -- who answers ---------------------------------------------------------------------------------------


def test_the_person_is_asked_until_a_decider_is_set_up(on_bench):
    async def act(bench: Bench) -> None:
        assert bench.controller.source_of(bench.document, "first") == ASK
        bench.live = script = Script("yes", "no")
        assert bench.controller.source_of(bench.document, "first") == LIVE
        await bench.run()
        assert script.asked == ["first", "second"]

    on_bench(asking(), act)


def test_each_node_can_have_its_own_source(on_bench):
    async def act(bench: Bench) -> None:
        bench.live = script = Script("no")
        bench.controller.choose_source(bench.document, "first", ASK)
        await bench.run("yes")
        assert script.asked == ["second"]
        bench.controller.choose_otherwise(bench.document, ASK)
        bench.controller.choose_source(bench.document, "first", None)
        await bench.run("no")
        bench.controller.choose_otherwise(bench.document, None)
        assert bench.controller.source_of(bench.document, "first") == LIVE

    on_bench(asking(), act)


def test_pins_by_visit_stand_for_answers_conditions_and_actions(on_bench):
    async def act(bench: Bench) -> None:
        result = CaseResult(status="success", properties={"amount": "7"})
        failed = CaseResult(status="transientFailure", error="busy")
        bench.pin(load=(failed, result), known=False, poor=("no",))
        await bench.run()
        assert bench.path == ["load", "load", "known", "poor", "bad"]
        assert bench.controller.trail.properties == {"amount": "7"}

    on_bench(fetching(), act)


def test_what_is_chosen_for_a_node_goes_before_the_case(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.choose_case(Case(id="both", answers={"first": "yes", "second": "yes"}))
        assert bench.controller.source_of(bench.document, "first") == pinned("yes")
        bench.pin(first="no")
        assert bench.controller.source_of(bench.document, "first") == pinned("no")
        await bench.run()
        assert bench.path == ["first", "end"]
        bench.controller.choose_source(bench.document, "first", ASK)
        await bench.run("yes")
        assert bench.path == ["first", "second", "end"]

    on_bench(asking(), act)


def test_where_answers_come_from_is_told_of_nodes_that_give_something(on_bench):
    async def act(bench: Bench) -> None:
        told: list[object] = []
        bench.controller.sources_changed.connect(told.append)
        assert bench.controller.source_of(bench.document, "load") == LIVE
        assert bench.controller.source_of(bench.document, "good") is None
        bench.pin(known=True)
        assert told == [bench.document]

    on_bench(fetching(), act)


@pytest.mark.parametrize(
    ("node", "source", "reason"),
    [
        ("good", ASK, "There is nothing to answer at this node."),
        ("load", ASK, "'load' is no question, so you cannot be asked."),
        ("rich", LIVE, "No model is set up that 'rich' could ask. Answer yourself, or pin the answer."),
        ("rich", pinned("maybe"), "'maybe', pinned at 'rich', is none of its answers: yes, no, unknown."),
        (
            "rich",
            pinned(("yes", "maybe")),
            "'maybe', pinned at 'rich', is none of its answers: yes, no, unknown.",
        ),
        ("rich", pinned(()), "Nothing is pinned at 'rich' yet."),
        ("rich", pinned(True), "What is pinned at 'rich' does not fit this kind of node."),
        ("known", pinned("true"), "What is pinned at 'known' does not fit this kind of node."),
        ("load", pinned("success"), "What is pinned at 'load' does not fit this kind of node."),
        ("rich", ASK, None),
        ("rich", pinned(("unknown", "no")), None),
        ("known", pinned((True, False)), None),
        ("load", LIVE, None),
    ],
)
def test_a_source_that_does_not_fit_says_why(node, source, reason):
    assert may_answer(fetching(), node, source, live=False) == reason


def test_an_answer_that_is_pinned_and_then_renamed_keeps_the_run_from_starting(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(first="yes")
        bench.document.edit("Answers", lambda d: edits.set_answers(d, "first", ["late", "no"]))
        assert bench.controller.reason_not_ready(bench.document) == (
            "'yes', pinned at 'first', is none of its answers: late, no, unknown."
        )

    on_bench(asking(), act)


def test_a_source_follows_its_node_to_a_new_id_and_back(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(first="no")
        bench.document.edit("Rename", lambda d: edits.rename_node(d, "first", "begin"))
        assert bench.controller.source_of(bench.document, "begin") == pinned("no")
        bench.document.undo()
        assert bench.controller.source_of(bench.document, "first") == pinned("no")

    on_bench(asking(), act)


def test_pins_can_be_kept_as_a_case(on_bench, tmp_path):
    async def act(bench: Bench) -> None:
        bench.pin(load=CaseResult(status="success", properties={"amount": "1"}), known=(True,), rich="no")
        case = bench.controller.answering(bench.document).as_case(bench.document.draft.tree, "kept")
        (tmp_path / "cases.jsonl").write_text(write_case(case) + "\n")
        (read,), problems = read_cases(tmp_path / "cases.jsonl", bench.document.draft.tree)
        assert problems == ()
        assert read == case
        assert (read.id, read.answers, read.conditions) == ("kept", {"rich": "no"}, {"known": (True,)})

    on_bench(fetching(), act)


def test_a_recorded_run_answers_again_and_what_it_did_not_answer_is_live(on_bench):
    async def act(bench: Bench) -> None:
        first = await bench.run("yes", "no")
        bench.live = script = Script("no")
        bench.controller.choose_otherwise(bench.document, replayed(first.recording))
        again = await bench.run()
        assert script.asked == []
        assert compare(first.trail, again.trail).same
        bench.document.edit("Task", lambda d: edits.set_field(d, "second", "task", "Does it hurt?"))
        other = await bench.run()
        assert script.asked == ["second"]
        assert [stale.recorded.node for stale in other.stale] == ["second"]
        assert [line.text for line in bench.controller.lines] == ["Asked again: The question changed."]

    on_bench(asking(), act)


def test_one_node_can_give_what_it_gave_in_a_recorded_run(on_bench):
    async def act(bench: Bench) -> None:
        bench.pin(poor=("yes",))
        first = await bench.run("yes")
        assert bench.path == ["load", "known", "poor", "load", "known", "rich", "good"]
        bench.controller.choose_source(bench.document, "load", replayed(first.recording))
        bench.controller.choose_source(bench.document, "rich", replayed(first.recording))
        bench.pin(poor=("yes",))
        await bench.run()
        assert bench.path == ["load", "known", "poor", "load", "known", "rich", "good"]
        assert loading.executed == 2

    class Counting(Does):
        executed = 0

        async def execute(self, context: ActionContext) -> ActionResult:
            self.executed += 1
            return await super().execute(context)

    loading = Counting("loadOrder", found(None), found())
    on_bench(fetching(), act, loading)


# -- forks ---------------------------------------------------------------------------------------------


def test_a_fork_with_another_answer_uses_the_answers_before_it_again(on_bench):
    async def act(bench: Bench) -> None:
        first = await bench.run("yes", "no")
        plan = bench.controller.plan_fork(1, answer="yes")
        assert [one.node for one in plan.reused] == ["first"]
        assert list(bench.controller.runs) == [first]
        bench.controller.fork(1, answer="yes")
        second = await bench.finish()
        assert [c.answer for c in second.trail.classifications] == ["yes", "yes"]
        assert second.parent is first
        assert second.plan is not None
        assert second.plan.at == 1
        assert list(bench.controller.runs) == [first, second]
        difference = compare(first.trail, second.trail).difference
        assert difference is not None
        assert (difference.step, difference.node) == (1, "second")

    on_bench(asking(), act)


def test_a_fork_goes_on_with_who_answers_now(on_bench):
    async def act(bench: Bench) -> None:
        await bench.run("no")
        bench.pin(second="yes")
        bench.controller.fork(0, answer="yes")
        second = await bench.finish()
        assert second.path == ("first", "second", "end")
        assert second.trail.classifications[-1].answer == "yes"

    on_bench(asking(), act)


def test_a_fork_with_an_edited_property_asks_again_what_could_see_it(on_bench):
    async def act(bench: Bench) -> None:
        bench.live = TextDecider(FakeClient(['{"answer": "yes"}', '{"answer": "no"}']))
        first = await bench.run()
        assert first.verdict == "good"
        bench.controller.fork(2, properties={"amount": "1"})
        second = await bench.finish()
        assert (second.verdict, second.path) == ("bad", ("load", "known", "rich", "bad"))
        assert second.trail.properties == {"amount": "1"}

    on_bench(fetching(), act, Does("loadOrder", found(), fails("permanentFailure")))


def test_a_fork_ends_the_run_that_goes_on(on_bench):
    async def act(bench: Bench) -> None:
        bench.controller.step(bench.document)
        await bench.reach(RunState.PAUSED)
        bench.controller.step(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.answer("yes")
        await bench.reach(RunState.PAUSED)
        bench.controller.step_back()
        bench.controller.fork(0, answer="no")
        await bench.other_run()
        second = await bench.finish()
        assert second.path == ("first", "end")
        assert [run.outcome for run in bench.controller.runs] == ["Cancelled", "Terminal"]

    on_bench(asking(), act)


def test_a_tree_with_errors_is_not_forked_and_says_why(on_bench):
    async def act(bench: Bench) -> None:
        await bench.run("no")
        bench.document.edit("Remove", lambda d: edits.set_field(d, "end", "verdict", ""))
        with pytest.raises(ValueError, match="under Problems first"):
            bench.controller.fork(0, answer="yes")
        assert len(bench.controller.runs) == 1

    on_bench(asking(), act)


@pytest.mark.parametrize(("step", "answer"), [(0, "maybe"), (9, "yes"), (1, "yes")])
def test_a_fork_that_cannot_be_says_why(on_bench, step, answer):
    async def act(bench: Bench) -> None:
        with pytest.raises(ValueError, match="run yet"):
            bench.controller.plan_fork(0)
        await bench.run("no")
        with pytest.raises(ValueError, match=r"answer|step"):
            bench.controller.fork(step, answer=answer)

    on_bench(asking(), act)


def test_a_fork_is_restarted_as_a_fork_of_the_same_run(on_bench):
    async def act(bench: Bench) -> None:
        first = await bench.run("yes", "no")
        bench.controller.fork(1, answer="yes")
        await bench.finish()
        assert bench.controller.restart() is None
        third = await bench.finish()
        assert (third.parent, third.trail.classifications[-1].answer) == (first, "yes")

    on_bench(asking(), act)


def test_runs_are_listed_and_can_be_looked_at_again(on_bench):
    async def act(bench: Bench) -> None:
        told: list[ListedRun | None] = []
        bench.controller.runs_changed.connect(lambda: told.append(bench.controller.shown))
        first = await bench.run("no")
        second = await bench.run("yes", "yes")
        assert [
            (run.name, run.outcome, run.verdict, run.path, run.usage.llm_calls) for run in (first, second)
        ] == [
            ("Run 1", "Terminal", "done", ("first", "end"), 1),
            ("Run 2", "Terminal", "done", ("first", "second", "end"), 2),
        ]
        bench.controller.show_run(first)
        assert bench.path == ["first", "end"]
        assert bench.controller.state is RunState.ENDED
        assert told == [first, second, first]
        bench.controller.step(bench.document)
        await bench.reach(RunState.PAUSED)
        bench.controller.show_run(second)
        assert bench.controller.shown not in (first, second)

    on_bench(asking(), act)


def test_the_runs_of_a_document_that_is_closed_are_forgotten(on_bench):
    async def act(bench: Bench) -> None:
        await bench.run("no")
        bench.controller.step(bench.document)
        await bench.reach(RunState.PAUSED)
        bench.controller.close(bench.document)
        await bench.controller.ended()
        assert (bench.controller.runs, bench.controller.document) == ((), None)
        assert bench.controller.state is RunState.IDLE

    on_bench(asking(), act)


# -- run logs ------------------------------------------------------------------------------------------


def test_a_run_is_saved_and_stepped_through_as_if_it_were_live(on_bench, tmp_path):
    async def act(bench: Bench) -> None:
        await bench.run("yes", "no")
        bench.controller.save_log(tmp_path / "one.jsonl")
        log = read_run_log(tmp_path / "one.jsonl")
        assert (log.decider, log.case) == ("person", None)
        controller = bench.controller
        controller.show_log(bench.document, log, "one.jsonl")
        assert (controller.state, controller.past, controller.at) == (RunState.ENDED, True, "first")
        visited = []
        while controller.past:
            visited.append(controller.at)
            controller.step(bench.document)
        assert visited == ["first", "second", "end"]
        assert controller.trail == log.trail
        assert controller.shown is not None
        assert (controller.shown.name, controller.shown.log) == ("one.jsonl", log)
        controller.save_log(tmp_path / "two.jsonl")
        assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()

    on_bench(asking(), act)


def test_a_log_can_be_forked_and_restarted(on_bench, tmp_path):
    async def act(bench: Bench) -> None:
        run = await bench.run("yes", "no")
        log = RunLog(tuple(run.recording.events))
        bench.subject = "the letter"
        bench.controller.show_log(bench.document, log, "log")
        bench.controller.fork(1, answer="yes")
        forked = await bench.finish()
        assert forked.trail.classifications[-1].answer == "yes"
        bench.controller.show_run(bench.controller.runs[1])
        assert bench.controller.restart() is None
        await bench.reach(RunState.ASKING)
        assert bench.controller.question is not None
        assert bench.controller.question.text == "Is the parcel late?"

    on_bench(asking(), act)


def test_a_run_that_goes_on_can_be_saved_too(on_bench, tmp_path):
    async def act(bench: Bench) -> None:
        bench.controller.start(bench.document)
        await bench.reach(RunState.ASKING)
        bench.controller.save_log(tmp_path / "part.jsonl")
        assert read_run_log(tmp_path / "part.jsonl").result is None
        bench.controller.show_log(bench.document, read_run_log(tmp_path / "part.jsonl"), "part")
        assert bench.controller.state is RunState.ASKING
        assert len(bench.controller.runs) == 1

    on_bench(asking(), act)


@pytest.fixture
def workbench(qapp, tmp_path) -> Iterator[Workbench]:
    made = Workbench(Settings(transcripts_folder=tmp_path / "t", records_path=tmp_path / "r.jsonl"))
    yield made
    made.close()
    made.deleteLater()


def logged(loop: asyncio.AbstractEventLoop, bench: Workbench, path: Path, *answers: str) -> None:
    """Have the current document's run saved to this file."""

    async def whole() -> None:
        assert bench.current is not None
        bench.running.choose_case(
            Case(id="all", answers=dict(zip(("first", "second"), answers, strict=False)))
        )
        bench.running.start(bench.current)
        await bench.running.ended()
        bench.running.save_log(path)
        bench.running.choose_case(None)

    loop.run_until_complete(whole())


def test_a_log_is_shown_over_the_open_document_that_has_its_tree(aloop, workbench, tmp_path):
    mine, other = Document(Draft(asking())), Document(Draft(fetching()))
    workbench.add(mine)
    logged(aloop, workbench, tmp_path / "log.jsonl", "yes", "no")
    workbench.add(other)
    aloop.run_until_complete(workbench.open_run_log(tmp_path / "log.jsonl"))
    assert workbench.current is mine
    assert workbench.running.document is mine
    assert workbench.running.shown is not None
    assert not workbench.running.shown.older
    assert workbench.running.at == "first"


def test_a_log_of_an_older_tree_is_shown_over_that_tree_and_marked(aloop, workbench, tmp_path):
    mine = Document(Draft(asking(), {"first": Place(40, 50), "end": Place(900, 50)}))
    workbench.add(mine)
    logged(aloop, workbench, tmp_path / "log.jsonl", "yes", "no")
    mine.edit("Rename", lambda d: edits.rename_node(d, "second", "other"))
    aloop.run_until_complete(workbench.open_run_log(tmp_path / "log.jsonl"))
    old = workbench.current
    assert old is not None
    assert old is not mine
    assert old.draft.tree == asking()
    assert old.draft.places["first"] == Place(40, 50)
    assert old.draft.places.keys() == asking().nodes.keys()
    assert old.read_only == "This is the tree of the run in log.jsonl. It can be run, but not edited."
    assert not old.edit("Remove", lambda d: edits.remove_nodes(d, ["end"]))
    assert old.clean
    assert workbench.running.shown is not None
    assert workbench.running.shown.older
    workbench.running.fork(1, answer="yes")
    aloop.run_until_complete(workbench.running.ended())
    assert workbench.running.trail.classifications[-1].answer == "yes"


def test_a_log_that_is_none_is_refused_and_a_cut_one_says_what_is_missing(aloop, workbench, tmp_path):
    troubles: list[str] = []
    workbench.trouble.connect(troubles.append)
    workbench.add(Document(Draft(asking())))
    logged(aloop, workbench, tmp_path / "log.jsonl", "no")
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:4])[:-9])
    (tmp_path / "none.jsonl").write_text("{}\n")
    with pytest.raises(DocumentRefused):
        aloop.run_until_complete(workbench.open_run_log(tmp_path / "none.jsonl"))
    aloop.run_until_complete(workbench.open_run_log(tmp_path / "cut.jsonl"))
    assert workbench.running.length == 2
    assert len(troubles) == 1
    assert troubles[0].startswith("cut.jsonl: Line 4")


def test_nothing_is_saved_before_a_run(on_bench, tmp_path):
    async def act(bench: Bench) -> None:
        with pytest.raises(ValueError, match="Nothing has run yet"):
            bench.controller.save_log(tmp_path / "none.jsonl")

    on_bench(asking(), act)


def test_a_view_follows_a_run_only_when_it_is_asked_to(on_bench):
    async def act(bench: Bench) -> None:
        assert bench.controller.following is False

    on_bench(asking(), act)
