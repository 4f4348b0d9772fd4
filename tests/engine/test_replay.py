"""Replays and forks: what was recorded is done again exactly, and never used where it does not hold."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine import (
    UNKNOWN,
    ActionCompleted,
    ActionNode,
    ActionResult,
    AnyNode,
    AttemptCompleted,
    ClassifyNode,
    ConditionNode,
    DataItem,
    Decision,
    Event,
    Expression,
    Inputs,
    NodeStarted,
    NodeVisited,
    PersonDecider,
    Pins,
    RunStarted,
    ScriptedDecider,
    Session,
    TerminalNode,
    TextDecider,
    Trail,
    Tree,
    runnable,
    standard_catalog,
    trail_of,
)
from engine.evaluate import (
    Fork,
    Recorded,
    RunLog,
    Stale,
    case_of,
    compare,
    fork,
    names_of,
    read_run_log,
    replay,
    run_case,
    write_case,
    write_run_log,
)
from engine.records import DecisionRecorder, MemorySink
from tests.builders import action, budget, classify, condition, cycle_tree, demo_tree, terminal, to, tree
from tests.engine.deciding import BAD, FakeClient
from tests.engine.pages import LIBRARY, ROOT, examples, run_example
from tests.engine.recordings import catalog_of_chance, recorded_run
from tests.engine.runs import Does, VirtualClock, evidence, fails, start

pytestmark = pytest.mark.anyio

SEEDS = range(50)
MANY = range(50, 1000)
"""Only `make soak` goes through these too."""


def says(answer: str) -> str:
    return f'{{"answer": "{answer}"}}'


def two_questions() -> Tree:
    """Look, ask twice, end; ``again`` leads back to the first question."""
    return tree(
        look=action("look", success="first", transient="look", permanent="end"),
        first=classify("Is it {{what}}?", {"yes": "second", "no": "end"}, unknown="end"),
        second=classify("Are you sure?", {"sure": "check", "again": "first"}, unknown="end"),
        check=condition("propertyExists", parameters={"key": "mood"}, then="good", otherwise="end"),
        good=terminal("good"),
        end=terminal("end"),
    )


REPLIES = (BAD, says("yes"), says("sure"))
LOOKED = ActionResult(data=(evidence("Seen."),), properties={"mood": "fine"})


async def recorded(asked: Tree | None = None, replies: Any = REPLIES, **more: Any) -> RunLog:
    """The log of a run of a tree, by default of two questions and a model that needs a second try."""
    events: list[Event] = []
    more.setdefault("actions", [Does("look", LOOKED)])
    more.setdefault("inputs", Inputs(parameters={"what": "late"}, properties={"who": "Ada"}))
    more.setdefault("clock", VirtualClock())
    await start(asked or two_questions(), list(replies), events=events, **more).finish()
    return RunLog(tuple(events))


def with_node(asked: Tree, node_id: str, **changes: Any) -> Tree:
    return asked.replace(nodes={**asked.nodes, node_id: asked.nodes[node_id].replace(**changes)})


def with_nodes(asked: Tree, **nodes: AnyNode | None) -> Tree:
    """The tree with these nodes in place of its own; None takes one away."""
    return asked.replace(nodes={i: node for i, node in {**asked.nodes, **nodes}.items() if node is not None})


def leading(asked: Tree, node_id: str, branch: str, target: str) -> Tree:
    transitions = tuple(
        t.replace(next_node_id=target) if t.condition == branch else t
        for t in asked.nodes[node_id].transitions
    )
    return with_node(asked, node_id, transitions=transitions)


def path_of(events: Any) -> list[str]:
    return [visit.node for visit in trail_of(events).path]


class Answers:
    """A live decider that gives one answer to everything, and keeps what it was asked."""

    def __init__(self, answer: str | None) -> None:
        self.answer, self.asked = answer, list[tuple[str, int]]()

    def for_run(self) -> "Answers":
        return self

    async def decide(self, question: Any) -> Decision:
        self.asked.append((question.node, question.visit))
        return Decision(self.answer, provider="live")


# ------------------------------------------------------------------------------------------ the same tree


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_recorded_run_replays_to_the_same_path_verdict_and_counters(seed, tmp_path):
    await replays_to_the_same(seed, tmp_path / "run.jsonl")


@pytest.mark.soak
async def test_a_thousand_recorded_runs_replay_to_the_same(tmp_path):
    for seed in MANY:
        await replays_to_the_same(seed, tmp_path / "run.jsonl")


async def replays_to_the_same(seed: int, path: Path) -> None:
    log = await recorded_run(seed)
    write_run_log(path, log)
    again = await replay(read_run_log(path))
    assert again.same, again.comparison.difference
    assert (again.difference, again.stale) == (None, ())
    before, now = again.comparison.one, again.comparison.other
    assert [replace(v, duration=0, decision_id=None, forced=False) for v in before.path] == [
        replace(v, duration=0, decision_id=None, forced=False) for v in now.path
    ]
    assert replace(before.usage, duration=0) == replace(now.usage, duration=0)
    assert (before.properties, before.data) == (now.properties, now.data)
    assert [c.answer for c in before.classifications] == [c.answer for c in now.classifications]


async def test_the_recorded_runs_are_of_every_kind():
    ends, reasons = Counter[object](), Counter[object]()
    for seed in range(150):
        log = await recorded_run(seed)
        assert log.result is not None
        ends[log.result.exceeded or log.result.failure_kind or log.result.outcome] += 1
        reasons.update(c.reason for c in log.result.classifications)
    assert set(ends) == {
        "Terminal", "Unknown", "Cancelled", "nodeVisits", "llmCalls", "elapsedTime", "llm", "predicate"
    }  # fmt: skip
    assert {"chosen", "refused", "invalid-answer", "context-budget"} <= set(reasons)


async def test_a_replay_does_not_need_the_application():
    log = await recorded()
    again = await replay(log)
    assert again.same
    assert again.comparison.verdicts == ("good", "good")
    assert [(r.step, r.node, r.visit, r.answer) for r in again.reused] == [
        (1, "first", 1, "yes"),
        (2, "second", 1, "sure"),
    ]
    result = log.result
    assert result is not None
    assert [r.decision_id for r in again.reused] == [c.decision_id for c in result.classifications]


async def test_a_run_that_a_person_ended_is_done_again_up_to_its_last_whole_step():
    events: list[Event] = []
    run = start(two_questions(), [says("yes")], actions=[Does("look", LOOKED)], events=events)
    async for stop in run:
        if stop.node == "second":
            run.cancel()
    again = await replay(RunLog(tuple(events)))
    assert again.same
    assert path_of(again.events) == ["look", "first"]


async def test_a_log_that_ends_in_the_middle_is_done_again_up_to_its_last_whole_step():
    log = await recorded()
    for length in range(1, len(log.events) + 1):
        again = await replay(RunLog(log.events[:length]))
        assert again.same, length
        assert not again.stale


async def test_what_is_not_in_the_events_is_told_as_a_difference():
    log = await recorded()
    ended = log.events[-1]
    more = replace(ended, result=replace(ended.result, verdict="another"))  # type: ignore[attr-defined, call-arg]
    again = await replay(RunLog((*log.events[:-1], more)))
    assert not again.same
    assert again.difference is not None
    assert again.difference.code == "ending"


# ------------------------------------------------------------------------------------------ another tree


BASE = two_questions()

LATER = ClassifyNode(
    task="Are you sure?",
    answers=("sure", "later"),
    transitions=to(sure="check", later="first", unknown="end"),
)

CHANGES: Mapping[str, tuple[Tree, int, str, str]] = {
    "start": (BASE.replace(start_node_id="first"), 0, "first", "The tree starts at 'first' now."),
    "question": (with_node(BASE, "second", task="Truly?"), 2, "second", "The question changed."),
    "answers": (with_nodes(BASE, second=LATER), 2, "second", "The allowed answers changed."),
    "prompt": (
        BASE.replace(system_prompt="Be brief."),
        1,
        "first",
        "What the tree sends with each question changed.",
    ),
    "action": (with_node(BASE, "look", action_key="see"), 0, "look", "Another action is asked for."),
    "predicate": (
        with_node(BASE, "check", predicate_parameters={"key": "size"}),
        3,
        "check",
        "Something else is tested.",
    ),
    "verdict": (with_node(BASE, "good", verdict="fine"), 4, "good", "The verdict changed."),
    "target": (
        leading(BASE, "second", "sure", "good"),
        2,
        "second",
        "The branch 'sure' leads to 'good' now.",
    ),
    "node-type": (
        with_nodes(BASE, check=terminal("checked")),
        3,
        "check",
        "The node is of type 'terminal' now.",
    ),
    "node-gone": (with_nodes(BASE, look=None), 0, "look", "There is no node 'look' any more."),
}


@pytest.mark.parametrize("code", CHANGES)
async def test_the_first_step_at_which_a_changed_tree_differs_is_named(code):
    changed, step, node, reason = CHANGES[code]
    again = await replay(await recorded(), changed)
    found = again.difference
    assert found is not None
    assert (found.code, found.step, found.node, found.visit) == (code, step, node, 1)
    assert found.reason == reason
    assert not again.same


@pytest.mark.parametrize(
    "changed",
    [
        BASE.replace(name="Another name"),
        with_node(BASE, "first", name="Renamed", description="Said otherwise"),
        with_node(BASE, "end", verdict="elsewhere"),
        leading(BASE, "first", "no", "good"),
    ],
)
async def test_what_a_run_did_not_come_to_is_no_difference(changed):
    again = await replay(await recorded(), changed)
    assert again.same
    assert (again.difference, again.stale) == (None, ())


async def test_a_stale_answer_is_not_used_and_without_a_decider_the_run_ends_there():
    again = await replay(await recorded(), with_node(BASE, "second", task="Truly?"))
    assert [(s.recorded.node, s.reason) for s in again.stale] == [("second", "The question changed.")]
    assert [r.node for r in again.reused] == ["first"]
    result = again.comparison.other.result
    assert result is not None
    assert result.error == (
        "Node 'second' has to be asked, and nobody is there to answer. The question changed."
    )
    assert not again.same


async def test_a_stale_answer_is_asked_again():
    live = Answers("sure")
    again = await replay(await recorded(), with_node(BASE, "second", task="Truly?"), decider=live)
    assert live.asked == [("second", 1)]
    assert [s.recorded.node for s in again.stale] == ["second"]
    assert again.comparison.verdicts == ("good", "good")


async def test_an_answer_holds_beyond_a_change_that_does_not_touch_it():
    nodes = {
        **BASE.nodes,
        "new": condition("propertyExists", parameters={"key": "who"}, then="second", otherwise="end"),
    }
    again = await replay(await recorded(), leading(BASE.replace(nodes=nodes), "first", "yes", "new"))
    assert [r.node for r in again.reused] == ["first", "second"]
    assert again.comparison.verdicts == ("good", "good")
    assert again.difference is not None
    assert (again.difference.code, again.difference.step) == ("target", 1)


async def test_an_answer_is_stale_when_the_state_it_was_given_for_is_another():
    nodes = {**BASE.nodes, "new": action("more", success="second")}
    changed = leading(BASE.replace(nodes=nodes), "first", "yes", "new")
    catalog = standard_catalog().with_actions([Does("more", ActionResult(properties={"size": "9"}))])
    again = await replay(await recorded(), changed, catalog=catalog)
    assert [(s.recorded.node, s.reason) for s in again.stale] == [
        ("second", "What is sent with the question changed.")
    ]


async def test_an_answer_is_stale_when_the_conversation_before_it_is_another():
    changed = with_node(BASE, "first", task="Is it early?")
    live = TextDecider(FakeClient([says("yes"), says("sure")]))
    again = await replay(await recorded(), changed, decider=live)
    assert [(s.recorded.node, s.reason) for s in again.stale] == [
        ("first", "The question changed."),
        ("second", "What is sent with the question changed."),
    ]
    assert again.comparison.verdicts == ("good", "good")


async def test_the_answer_of_a_person_holds_whatever_was_said_before_it():
    async def ask(question: Any) -> str | None:
        return "yes" if question.node == "first" else "sure"

    log = await recorded(decider=PersonDecider(ask))
    again = await replay(log, with_node(BASE, "first", task="Is it early?"), decider=Answers("yes"))
    assert [s.recorded.node for s in again.stale] == ["first"]
    assert [r.node for r in again.reused] == ["second"]


async def test_an_answer_is_stale_when_less_of_the_conversation_fits():
    # The second request is too long for what fits with it before; with fewer tokens more is dropped.
    log = await recorded(BASE.replace(budget=budget(20, 10, 10, 4000)))
    again = await replay(log, BASE.replace(budget=budget(20, 10, 10, 130)))
    assert again.stale
    assert {s.reason for s in again.stale} == {"What is sent with the question changed."}
    same = await replay(await recorded(BASE.replace(budget=budget(20, 10, 10, 130))))
    assert same.same
    assert not same.stale


async def test_a_question_that_did_not_fit_is_asked_when_there_is_room():
    small, large = (BASE.replace(budget=budget(20, 10, 10, tokens)) for tokens in (20, 4000))
    log = await recorded(small)
    assert log.result is not None
    assert log.result.classifications[0].reason == "context-budget"
    assert (await replay(log)).same
    live = Answers("no")
    again = await replay(log, large, decider=live)
    assert live.asked == [("first", 1)]
    assert [s.reason for s in again.stale] == ["What is sent with the question changed."]


async def test_a_run_that_its_budget_ended_goes_on_live_with_a_larger_one():
    for calls, asked in ((1, "first"), (2, "second")):
        log = await recorded(BASE.replace(budget=budget(20, calls, 10, 4000)))
        assert log.result is not None
        assert (log.result.exceeded, (await replay(log)).same) == ("llmCalls", True)
        live = Answers("yes" if asked == "first" else "sure")
        await forked(fork(log.events, tree=BASE.replace(budget=budget(20, 9, 10, 4000))), live)
        assert live.asked[0] == (asked, 1)


async def test_a_budget_that_was_changed_holds_in_the_replay():
    again = await replay(await recorded(), BASE.replace(budget=budget(visits=2, calls=10, tokens=4000)))
    assert again.comparison.outcomes == ("Terminal", "BudgetExhausted")
    assert again.difference is not None
    assert (again.difference.step, again.difference.code) == (2, "path")


async def test_an_action_that_was_exchanged_is_done_live():
    changed = with_node(BASE, "look", action_key="see")
    catalog = standard_catalog().with_actions([Does("see", LOOKED)])
    again = await replay(await recorded(), changed, catalog=catalog)
    assert again.same
    assert not next(e for e in again.events if isinstance(e, ActionCompleted)).pinned
    alone = (await replay(await recorded(), changed)).comparison.other.result
    assert alone is not None
    assert alone.error == "Node 'look' has no pinned result for visit 1."


async def test_a_tree_with_errors_is_told_as_the_run_tells_it():
    again = await replay(await recorded(), leading(BASE, "first", "no", "nowhere"))
    assert again.comparison.outcomes == ("Terminal", "ValidationFailed")
    assert not again.comparison.other.path


def changed_somewhere(asked: Tree, random: Random) -> tuple[Tree, str, set[str]]:
    """The tree with a change at one node, which node that is, and the codes the change may have."""
    node_id = random.choice([*asked.nodes])
    match asked.nodes[node_id]:
        case ClassifyNode(task=task):
            return with_node(asked, node_id, task=f"{task} Truly?"), node_id, {"question"}
        case ActionNode():
            return with_node(asked, node_id, action_key="other"), node_id, {"action"}
        case ConditionNode():
            return (
                with_node(asked, node_id, predicate_key="dataExists", predicate_parameters={"type": "x"}),
                node_id,
                {"predicate"},
            )
        case TerminalNode():
            return with_node(asked, node_id, verdict="other"), node_id, {"verdict"}
    raise AssertionError(node_id)


@pytest.mark.parametrize("seed", SEEDS)
async def test_any_changed_tree_differs_first_where_it_was_changed(seed):
    await differs_first_where_it_was_changed(seed)


@pytest.mark.soak
async def test_a_thousand_changed_trees_differ_first_where_they_were_changed():
    for seed in MANY:
        await differs_first_where_it_was_changed(seed)


async def differs_first_where_it_was_changed(seed: int) -> None:
    log, random = await recorded_run(seed), Random(seed)
    changed, node_id, codes = changed_somewhere(log.start.tree, random)
    visited = [step for step, visit in enumerate(log.trail.path) if visit.node == node_id]
    live = Answers(random.choice(["yes", None]))
    again = await replay(log, changed, decider=live, catalog=catalog_of_chance(random))
    if not visited:
        assert again.same or node_id in [e.node for e in log.events if isinstance(e, NodeStarted)]
        return
    assert again.difference is not None
    assert again.difference.node == node_id or again.difference.code == "path"
    assert again.difference.code in codes | {"path"}
    assert again.difference.step == visited[0]
    assert_nothing_is_used_that_does_not_hold(log, changed, again.reused, again.events)


def assert_nothing_is_used_that_does_not_hold(
    log: RunLog, changed: Tree, reused: tuple[Recorded, ...], events: tuple[Event, ...]
) -> None:
    def sent(events: tuple[Event, ...]) -> dict[tuple[str, int, int], list[tuple[str, str]]]:
        return {
            (e.node, e.visit, e.attempt.number): [(m.role, m.content) for m in e.attempt.messages]
            for e in events
            if isinstance(e, AttemptCompleted)
        }

    before, now = sent(log.events), sent(events)
    for one in reused:
        old, new = log.start.tree.nodes[one.node], changed.nodes[one.node]
        assert isinstance(old, ClassifyNode)
        assert isinstance(new, ClassifyNode)
        assert (old.task, old.answers) == (new.task, new.answers)
        for attempt in (1, 2):
            place = one.node, one.visit, attempt
            assert now.get(place) == before.get(place)


# ------------------------------------------------------------------------------------------ forks


async def forked(plan: Fork, live: Any = None, told: Any = None, **parts: Any) -> tuple[Trail, list[Event]]:
    """The trail of the run a plan is for, and its events."""
    events: list[Event] = []
    actions = parts.pop("actions", [Does("look", ActionResult(properties={"mood": "live"}))])
    session = Session(decider=plan.decider(live, told), clock=VirtualClock(), **parts)
    catalog = session.catalog.with_actions(actions)
    run = session.start(plan.tree, plan.inputs(catalog), actions=actions, observers=[events.append])
    await run.finish()
    return trail_of(events), events


async def test_a_fork_does_the_steps_before_it_again_and_goes_on_live():
    log, live = await recorded(), Answers("again")
    plan = fork(log.events, at=2)
    assert [(r.node, r.answer) for r in plan.reused] == [("first", "yes")]
    assert [(s.recorded.node, s.reason) for s in plan.stale] == [("second", "It comes after the fork.")]
    told: list[Recorded | Stale] = []
    trail, _ = await forked(plan, live, told.append)
    assert live.asked[:2] == [("second", 1), ("first", 2)]
    assert told == [*plan.reused]
    assert trail.properties["mood"] == "fine"
    assert [visit.node for visit in trail.path[:3]] == ["look", "first", "second"]
    assert trail.usage.llm_calls >= 4


async def test_a_fork_may_be_given_another_answer():
    log = await recorded()
    plan = fork(log.events, at=1, answer="no")
    assert [s.reason for s in plan.stale] == ["Another answer is given.", "It comes after the fork."]
    trail, _ = await forked(plan)
    assert [visit.node for visit in trail.path] == ["look", "first", "end"]
    assert trail.classifications[0].answer == "no"
    assert compare(log.trail, trail).difference is not None


async def test_a_fork_may_be_given_unknown():
    trail, _ = await forked(fork((await recorded()).events, at=1, answer=UNKNOWN))
    assert trail.result is not None
    assert (trail.result.outcome, trail.usage.llm_calls) == ("Unknown", 2)


async def test_an_edited_property_counts_from_where_the_state_was_last_made():
    log, live = await recorded(), Answers("yes")
    plan = fork(log.events, at=1, properties={"mood": "bad"})
    trail, events = await forked(plan, live)
    looked = next(e for e in events if isinstance(e, ActionCompleted))
    assert (looked.changed, looked.pinned) == ({"mood": "bad"}, True)
    assert trail.properties == {"who": "Ada", "mood": "bad"}
    assert live.asked == [("first", 1), ("second", 1)]


async def test_a_property_edited_before_the_first_action_is_part_of_the_start():
    plan = fork((await recorded()).events, at=0, properties={"who": "Bo"})
    trail, events = await forked(plan, Answers("no"))
    assert isinstance(events[0], RunStarted)
    assert events[0].properties == {"who": "Bo"}
    assert trail.properties == {"who": "Bo", "mood": "live"}


async def test_answers_between_the_edited_state_and_the_fork_are_asked_again():
    plan = fork((await recorded()).events, at=2, properties={"mood": "bad"})
    assert [(s.recorded.node, s.reason) for s in plan.stale] == [
        ("first", "The state before it is edited."),
        ("second", "It comes after the fork."),
    ]
    live, told = Answers("no"), list[Recorded | Stale]()
    await forked(plan, live, told.append)
    assert live.asked == [("first", 1)]
    assert [(one.recorded.node, one.reason) for one in told if isinstance(one, Stale)] == [
        ("first", "What is sent with the question changed.")
    ]


async def test_an_edited_data_item_takes_the_place_of_the_one_with_its_id():
    given = Inputs(parameters={"what": "late"}, data=(DataItem("order", "desk", "note", "A lamp"),))
    log = await recorded(inputs=given)
    edited = [
        evidence("Edited."),
        DataItem("order", "desk", "note", "Two lamps"),
        DataItem("new", "a", "b", "c"),
    ]
    trail, events = await forked(fork(log.events, at=1, data=edited), Answers("no"))
    assert [item.content for item in trail.data] == ["Two lamps", "Edited.", "c"]
    assert isinstance(events[0], RunStarted)
    assert [item.content for item in events[0].data] == ["Two lamps"]


async def test_of_data_with_one_id_the_newest_is_edited():
    found = ActionResult(data=(evidence("old"), evidence("new")))
    log = await recorded(actions=[Does("look", found)])
    trail, _ = await forked(fork(log.events, at=1, data=[evidence("edited")]), Answers("no"))
    assert [item.content for item in trail.data] == ["old", "edited"]


async def test_a_node_visited_before_the_fork_is_live_when_it_comes_again():
    events: list[Event] = []
    looks = [fails("transientFailure"), LOOKED]
    await start(two_questions(), [says("no")], actions=[Does("look", *looks)], events=events).finish()
    plan = fork(events, at=1)
    trail, forked_events = await forked(plan, Answers("no"))
    done = [e for e in forked_events if isinstance(e, ActionCompleted)]
    assert [(e.status, e.pinned) for e in done] == [("transientFailure", True), ("success", False)]
    assert trail.properties["mood"] == "live"


async def test_a_node_that_nobody_can_do_live_ends_the_run_and_says_so():
    events: list[Event] = []
    looks = [fails("transientFailure"), LOOKED]
    await start(two_questions(), [says("no")], actions=[Does("look", *looks)], events=events).finish()
    trail, _ = await forked(fork(events, at=1), Answers("no"), actions=[])
    assert trail.result is not None
    assert trail.result.error == "Node 'look' has no pinned result for visit 2."


async def test_a_fork_of_the_same_plan_can_be_run_again():
    plan = fork((await recorded()).events, at=2)
    assert path_of((await forked(plan, Answers("sure")))[1]) == path_of(
        (await forked(plan, Answers("sure")))[1]
    )


async def test_a_live_model_hears_the_conversation_as_it_was():
    log = await recorded()
    client = FakeClient([says("sure")])
    await forked(fork(log.events, at=2), TextDecider(client))
    second = [e for e in log.events if isinstance(e, AttemptCompleted)][-1]
    (request,) = client.requests
    assert [(m.role, m.content) for m in request.messages] == [
        (m.role, m.content) for m in second.attempt.messages
    ]


async def test_reused_answers_are_not_recorded_again():
    sink = MemorySink()
    async with DecisionRecorder(sink) as recorder:
        await forked(fork((await recorded()).events, at=2), Answers("sure"), recorder=recorder)
    assert [d.record.tree.node for d in sink.decisions if d.record.tree] == ["second"]


async def test_the_limits_of_the_run_hold_in_the_fork():
    log = await recorded(
        inputs=Inputs(parameters={"what": "late"}, budget=budget(visits=4, calls=9, tokens=4000))
    )
    trail, _ = await forked(fork(log.events, at=1), Answers("yes"))
    assert trail.limits.node_visits == 4


async def test_a_fork_on_another_tree_says_what_it_can_use():
    plan = fork((await recorded()).events, tree=with_node(BASE, "first", task="Is it early?"))
    assert plan.reused == ()
    assert [(s.recorded.node, s.reason) for s in plan.stale] == [
        ("first", "The question changed."),
        ("second", "It comes after 'first', where the tree changed."),
    ]


async def test_a_run_can_be_forked_while_it_goes_on():
    events: list[Event] = []
    run = start(two_questions(), [says("yes")], actions=[Does("look", LOOKED)], events=events)
    async for stop in run:
        if stop.node == "second":
            break
    trail, _ = await forked(fork(events), Answers("sure"))
    run.cancel()
    assert [visit.node for visit in trail.path] == ["look", "first", "second", "check", "good"]


@pytest.mark.parametrize(
    ("at", "answer", "reason"),
    [
        (9, None, "The run has 5 steps; there is none to go on from at 9."),
        (-1, None, "The run has 5 steps; there is none to go on from at -1."),
        (0, "yes", "No question is asked at this step, so it can be given no answer."),
        (5, "yes", "No question is asked at this step, so it can be given no answer."),
        (1, "maybe", "'maybe' is no answer here; allowed are yes, no, unknown."),
    ],
)
async def test_a_fork_that_cannot_be_is_refused_in_plain_words(at, answer, reason):
    log = await recorded()
    with pytest.raises(ValueError, match=r".") as refused:
        fork(log.events, at, answer=answer)
    assert str(refused.value) == reason


async def test_a_fork_of_what_is_no_run_is_refused():
    log = await recorded()
    for events in ((), log.events[1:]):
        with pytest.raises(ValueError, match="begin with its start"):
            fork(events)


@pytest.mark.parametrize("seed", SEEDS)
async def test_any_fork_keeps_the_steps_before_it(seed):
    await keeps_the_steps_before_it(seed)


@pytest.mark.soak
async def test_a_thousand_forks_keep_the_steps_before_them():
    for seed in MANY:
        await keeps_the_steps_before_it(seed)


async def keeps_the_steps_before_it(seed: int) -> None:
    log, random = await recorded_run(seed), Random(seed)
    whole = [visit for visit in log.trail.path if visit.branch is not None]
    at = random.randint(0, len(whole))
    plan = fork(log.events, at)
    catalog = catalog_of_chance(random)
    trail, _ = await forked(plan, Answers(None), actions=[Does("look"), Does("act")], catalog=catalog)
    assert [(v.node, v.branch) for v in trail.path[:at]] == [(v.node, v.branch) for v in whole[:at]]
    assert [r.step for r in plan.reused] == [r.step for r in fork(log.events).reused if r.step < at]


# ------------------------------------------------------------------------------------------ cases


async def test_a_run_becomes_a_case_that_does_it_again():
    log = await recorded()
    case = case_of(log.events, "late")
    asked = runnable(two_questions())
    report = await run_case(Session(), asked, case)
    assert report.passed
    assert [visit.node for visit in report.result.path] == path_of(log.events)
    assert report.result.state_properties == {"who": "Ada", "mood": "fine"}
    assert case.answers == {"first": ("yes",), "second": ("sure",)}
    assert case.conditions == {"check": (True,)}
    assert case.params == {"what": "late"}


async def test_a_case_of_a_run_names_no_more_than_there_is():
    events: list[Event] = []
    await start(cycle_tree().replace(budget=None), [BAD, BAD], events=events).finish()
    line = write_case(case_of(events))
    assert '"answers":{"ask":["unknown"]}' in line
    assert not any(
        f'"{name}"' in line for name in ("params", "state", "data", "conditions", "actions", "expect")
    )


async def test_a_case_of_a_run_gives_what_is_no_text_as_text():
    class Adds:
        key = "collectEvidence"

        async def execute(self, context: Any) -> ActionResult:
            context.properties.update(size=2.0, weights=[1], gone=None, on=True)
            return ActionResult(data=(evidence("x", metadata={"a": "b"}),), summary="Two were there.")

    events: list[Event] = []
    await start(demo_tree(), [says("supported")], actions=[Adds()], events=events).finish()
    results = case_of(events).actions["collect"]
    assert isinstance(results, tuple)
    (result,) = results
    assert result.properties == {"size": "2", "weights": "[1]", "on": "True"}
    assert (result.data[0].metadata, result.summary) == ({"a": "b"}, "Two were there.")


async def test_a_case_of_a_run_that_broke_off_holds_what_there_was():
    log = await recorded()
    first = next(
        n for n, e in enumerate(log.events) if isinstance(e, NodeVisited) and e.visit.node == "first"
    )
    case = case_of(log.events[: first + 1])
    assert case.answers == {"first": ("yes",)}
    assert case.conditions == {}


async def test_pinned_answers_replay_as_they_counted():
    pins = Pins(answers={"first": UNKNOWN}, actions={"look": LOOKED})
    log = await recorded(inputs=Inputs(pins=pins), actions=[], decider=ScriptedDecider())
    again = await replay(log)
    assert again.same
    assert again.comparison.usages[1].llm_calls == 2


# ------------------------------------------------------------------------------------------ side by side


async def test_a_run_is_the_same_as_itself():
    log = await recorded()
    found = compare(log.trail, log.trail)
    assert found.same
    assert found.verdicts == ("good", "good")
    assert found.outcomes == ("Terminal", "Terminal")
    assert found.usages[0].llm_calls == 3


async def test_two_runs_differ_first_where_their_paths_part():
    one = await recorded()
    two = await recorded(replies=[says("yes"), says("again"), says("no")])
    found = compare(one.trail, two.trail).difference
    assert found is not None
    assert (found.step, found.node, found.visit, found.code) == (2, "second", 1, "path")
    assert (
        found.reason == "One run has 'second' by 'sure' to 'check', the other 'second' by 'again' to 'first'."
    )


async def test_a_run_that_goes_on_differs_from_one_that_stands():
    log = await recorded()
    two = next(n for n, e in enumerate(log.events) if isinstance(e, NodeVisited) and e.visit.node == "first")
    found = compare(log.trail, trail_of(log.events[: two + 1])).difference
    assert found is not None
    assert found.reason == "One run has 'second' by 'sure' to 'check', the other no further visit."
    end = compare(log.trail, trail_of(log.events[:-1])).difference
    assert end is not None
    assert end.code == "ending"
    assert end.reason == (
        "One run ended as Terminal with verdict 'good', the other as still going on with verdict ''."
    )


async def test_runs_that_only_count_differently_are_told_apart():
    one, two = await recorded(), await recorded(replies=[says("yes"), says("sure")])
    found = compare(one.trail, two.trail).difference
    assert found is not None
    assert found.code == "usage"
    assert found.reason == (
        "One run used 5 visits, 3 calls and 0 tokens, the other 5 visits, 2 calls and 0 tokens."
    )


async def test_a_terminal_is_told_by_its_verdict():
    one = await recorded(replies=[says("no")])
    two = await recorded(with_node(BASE, "end", verdict="over"), replies=[says("no")])
    found = compare(one.trail, two.trail).difference
    assert found is not None
    assert found.reason == "One run has 'end' with 'end', the other 'end' with 'over'."


# ------------------------------------------------------------------------------------------ names in a run


async def test_names_are_those_of_the_moment_a_run_stands_at():
    events: list[Event] = []
    replies = [says("yes"), says("again"), says("yes"), says("sure")]
    run = start(two_questions(), replies, actions=[Does("look", LOOKED)], events=events)
    seen = []
    async for stop in run:
        names = names_of(trail_of(events))
        seen.append((stop.node, names["node"], names["visit"], names["answer"], names["branch"]))
    assert seen == [
        ("look", "look", 1, None, None),
        ("first", "first", 1, None, "success"),
        ("second", "second", 1, "yes", "yes"),
        ("first", "first", 2, "again", "again"),
        ("second", "second", 2, "yes", "yes"),
        ("check", "check", 1, "sure", "sure"),
        ("good", "good", 1, "sure", "true"),
    ]
    inside = next(n for n, e in enumerate(events) if isinstance(e, AttemptCompleted) and e.visit == 2)
    names = names_of(trail_of(events[: inside + 1]))
    assert (names["node"], names["visit"], names["answer"]) == ("first", 2, "again")
    assert Expression.parse('mood == "fine" and "Seen" in data["evidence-1"]').holds(names) is True
    over = names_of(trail_of(events))
    assert (over["node"], over["visit"]) == ("good", 1)


# ------------------------------------------------------------------------------------------ the help page


async def test_the_examples_of_the_help_page_hold(monkeypatch, tmp_path):
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    titles = ("A run from beginning to end", "A run log and a replay", "A fork", "An expression")
    for title in titles:
        for code in examples(LIBRARY)[title]:
            await run_example(code, names)
    assert names["again"].same
    assert names["result"].verdict == "unsupported"
    assert names["difference"].node == "classify"
    assert names["expression"].holds(names_of(names["log"].trail)) is True
