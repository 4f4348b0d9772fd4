"""Actions that wait, and actions that run other trees: pulled, bounded, charged and cancelled as one run."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine import (
    ActionCompleted,
    ActionContext,
    ActionResult,
    Budget,
    Caller,
    Catalog,
    ClassificationCompleted,
    DataItem,
    DataStore,
    Event,
    Inputs,
    Inquiry,
    Limits,
    LlmError,
    MemoryJournal,
    Phase,
    Pins,
    Run,
    Stop,
    SubRunEvent,
    SystemClock,
    TimeSpan,
    TranscriptOptions,
    Tree,
    Usage,
    event_of,
    execution_graph,
    json_of,
    trail_of,
    write_tree,
)
from engine.actions import subtree
from engine.actions.subtree import DEEPEST, SubTreeAction
from engine.actions.work import Refused
from engine.analysis import bounds
from engine.evaluate import RunLog, blanked, read_run_log, replay, write_run_log
from engine.llm import Completion
from engine.records import DecisionRecorder, open_store
from tests.builders import action, classify, terminal, tree
from tests.engine.acting import catalog, doing, done, entry
from tests.engine.deciding import FakeClient
from tests.engine.runs import SlowClient, VirtualClock, ended, start

pytestmark = pytest.mark.anyio

YES = '{"answer": "yes"}'


def asking(**more: Any) -> Tree:
    """One question with two ends."""
    nodes = tree(
        ask=classify("Is it {{what}}?", {"yes": "good", "no": "bad"}, unknown="unclear"),
        good=terminal("good"),
        bad=terminal("bad"),
        unclear=terminal("unclear"),
    )
    return nodes.replace(tree_id="inner", **more)


def put(folder: Path, name: str, document: Tree) -> None:
    (folder / name).write_bytes(write_tree(document))


def sub(file: str = "inner.json", **more: Any) -> dict[str, Any]:
    return entry("subTree", tree=file, verdictProperty="verdict", **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, "inner.json", asking())
    return tmp_path


async def drained(run: Run) -> list[Stop]:
    return [stop async for stop in run]


def inner(events: list[Event]) -> list[Event]:
    return [event.event for event in events if isinstance(event, SubRunEvent)]


# -- waiting -------------------------------------------------------------------------------------------


async def test_sleeping_is_time_of_the_runs_own_clock(tmp_path: Path):
    clock = VirtualClock()
    found = await done(tmp_path, entry("sleep", seconds=30), clock=clock)
    assert (found.went, clock.slept, found.result.usage.duration) == ("done", [30], 30)
    late = await ended(
        doing().replace(budget=Budget(max_elapsed_time=TimeSpan.of_seconds(5))),
        catalog=catalog(tmp_path, it=entry("sleep", seconds=30)),
    )
    assert (late.outcome, late.exceeded) == ("BudgetExhausted", "elapsedTime")


@pytest.mark.parametrize(
    ("choices", "said", "kept"),
    [
        ((), "a word", "a word"),
        (("Yes", "No"), " yes", "Yes"),
        (("Yes", "No"), "perhaps", None),
        ((), None, None),
    ],
)
async def test_a_person_is_asked_and_their_time_is_not_charged(
    tmp_path: Path, choices: tuple[str, ...], said: str | None, kept: str | None
):
    clock, asked = VirtualClock(), list[Inquiry]()

    async def person(inquiry: Inquiry) -> str | None:
        asked.append(inquiry)
        clock.seconds += 1000
        return said

    described = entry("ask", text="Is it {{what}}?", property="answer", choices=list(choices))
    found = await done(tmp_path, described, parameters={"what": "new"}, person=person, clock=clock)
    assert asked == [Inquiry("do", "Is it new?", choices)]
    assert (found.properties.get("answer"), found.result.usage.duration) == (kept, 0)
    assert (found.went, found.said.error) == (("done", None) if kept else ("never", "No answer was given."))


async def test_where_nobody_is_asking_fails(tmp_path: Path):
    found = await done(tmp_path, entry("ask", text="Well?", property="answer"))
    assert (found.went, found.said.error) == ("never", "Nobody is there to be asked.")


@pytest.mark.parametrize(
    "described", [entry("ask", text="Well?", property="a"), entry("sleep", seconds=1), sub()], ids=str
)
async def test_what_waits_is_done_only_as_a_part_of_a_run(folder: Path, described: dict[str, Any]):
    made = catalog(folder, it=described).actions["it"]
    with pytest.raises(Refused, match="only as a part of a run"):
        await made.execute(ActionContext("do", "id", {}, {}, DataStore()))


# -- a tree within a tree ------------------------------------------------------------------------------


async def test_the_verdict_and_what_was_asked_for_come_back_and_nothing_else(tmp_path: Path):
    put(
        tmp_path,
        "inner.json",
        tree(
            keep=action("keep", success="add", transient="add", permanent="add"),
            add=action("add", success="end"),
            end=terminal("kept"),
        ),
    )
    (tmp_path / "a.txt").write_text("new")
    described = sub(
        parameters={"what": "{{name}}!"},
        propertiesIn={"name": "first", "absent": "nothing"},
        propertiesOut={"copy": "copied", "none": "nothing"},
        dataIn={"document": "page"},
        dataOut={"finding": "result"},
    )
    keep = entry("templateToProperty", property="copied", template="{{name}} {{what}} {{own}} {{second}}")
    add = entry("readFile", path="a.txt", dataType="result")
    events: list[Event] = []
    page = DataItem("1", "s", "page", "old")
    result = await ended(
        doing(),
        catalog=catalog(tmp_path, it=described, keep=keep, add=add),
        inputs=Inputs({"own": "mine"}, {"first": "Ada", "second": "no", "name": "Bob"}, (page,)),
        events=events,
    )
    assert result.verdict == "done"
    assert result.state_properties == {
        "first": "Ada", "second": "no", "name": "Bob", "verdict": "kept", "copy": "Ada Bob! mine {{second}}",
    }  # fmt: skip
    data = trail_of(events).data
    assert [(item.type, item.content) for item in data] == [("page", "old"), ("finding", "new")]
    began = inner(events)[0]
    assert [(item.type, item.content) for item in began.data] == [("document", "old")]  # type: ignore[attr-defined]


async def test_its_calls_and_tokens_are_charged_to_the_run(folder: Path):
    reply = Completion(YES, input_tokens=10, output_tokens=2)
    found = await done(folder, sub(), decider=None, client=FakeClient(["nonsense", reply]))
    usage = found.result.usage
    assert (found.properties["verdict"], usage.llm_calls, usage.node_visits) == ("good", 2, 2)
    assert (usage.input_tokens, usage.output_tokens, usage.unreported_calls) == (10, 2, 1)


async def test_an_unknown_inside_is_a_verdict_like_any_other(folder: Path):
    found = await done(folder, sub(), decider=None, client=FakeClient(["x", "x"]))
    assert (found.went, found.properties["verdict"], found.result.outcome) == ("done", "unclear", "Terminal")


async def test_it_gets_no_more_calls_than_the_run_has_left(folder: Path):
    events: list[Event] = []
    outer = tree(
        first=action("it", success="second"),
        second=action("it", success="done", permanent="never"),
        done=terminal("done"),
        never=terminal("never"),
    ).replace(budget=Budget(max_llm_calls=2))
    client = FakeClient([YES, "nonsense", YES])
    result = await ended(outer, client, catalog=catalog(folder, it=sub()), events=events)
    assert (result.verdict, result.usage.llm_calls, len(client.requests)) == ("never", 2, 2)
    limits = [event.limits.llm_calls for event in inner(events) if hasattr(event, "limits")]
    assert limits == [2, 1]


async def test_its_own_smaller_budget_holds_and_is_told(folder: Path):
    put(folder, "inner.json", asking(budget=Budget(max_llm_calls=0)))
    found = await done(folder, sub())
    assert found.went == "never"
    words = "The tree 'inner.json' ended as BudgetExhausted: Maximum decision LLM calls exceeded."
    assert found.said.error == words


async def test_a_model_that_cannot_be_asked_is_a_failure_of_the_moment(folder: Path):
    failing = FakeClient([LlmError("It is overloaded.", kind="status", transient=True, status=503)])
    found = await done(folder, sub(), decider=None, client=failing)
    assert (found.went, found.result.usage.llm_calls) == ("later", 0)
    assert "It is overloaded." in str(found.said.error)


@pytest.mark.parametrize("soft", [False, True])
async def test_time_inside_is_time_of_the_run(folder: Path, *, soft: bool):
    clock = VirtualClock()
    put(folder, "inner.json", asking(budget=Budget(max_elapsed_time=TimeSpan.of_seconds(1000))))
    outer = doing().replace(
        budget=Budget(max_elapsed_time=TimeSpan.of_seconds(50), on_exceeded="warn" if soft else "halt")
    )
    events: list[Event] = []
    client = SlowClient(clock, 60, [YES])
    result = await ended(outer, client, clock=clock, catalog=catalog(folder, it=sub()), events=events)
    assert result.usage.duration == 60
    assert inner(events)[0].limits.elapsed == (1000 if soft else 50)  # type: ignore[attr-defined]
    assert result.outcome == ("Terminal" if soft else "BudgetExhausted")
    assert result.usage.llm_calls == 1


async def test_a_person_who_is_asked_inside_stops_the_clocks_of_all_runs(folder: Path):
    clock = VirtualClock()

    async def person(_: Inquiry) -> str:
        clock.seconds += 1000
        return "x"

    put(folder, "middle.json", tree(do=action("ask", success="end"), end=terminal("asked")))
    made = catalog(folder, it=sub("middle.json"), ask=entry("ask", text="Well?", property="said"))
    result = await ended(doing(), catalog=made, person=person, clock=clock)
    assert (result.outcome, result.usage.duration) == ("Terminal", 0)


async def test_pins_are_of_the_outer_tree_only(folder: Path):
    outer = tree(
        ask=classify("Outer?", {"no": "do"}, unknown="end"),
        do=action("it", success="end"),
        end=terminal("end"),
    )
    client = FakeClient([YES])
    result = await ended(
        outer,
        (),
        decider=None,
        client=client,
        catalog=catalog(folder, it=sub()),
        inputs=Inputs(pins=Pins(answers={"ask": "no"})),
    )
    assert (result.state_properties["verdict"], len(client.requests)) == ("good", 1)


async def test_a_pinned_action_runs_nothing(folder: Path):
    pins = Pins(actions={"do": ActionResult("transientFailure")})
    events: list[Event] = []
    inputs = Inputs(pins=pins)
    result = await ended(doing(), catalog=catalog(folder, it=sub()), inputs=inputs, events=events)
    assert (result.verdict, inner(events)) == ("later", [])


async def test_decisions_inside_are_recorded_with_the_erasure_key_of_the_run(folder: Path):
    path = folder / "records.jsonl"
    store = open_store(path)
    async with DecisionRecorder(store) as recorder:
        await start(
            doing(),
            decider=None,
            client=FakeClient([YES]),
            catalog=catalog(folder, it=sub()),
            recorder=recorder,
            inputs=Inputs(erasure_key="ada"),
        ).finish()
    store.close()
    (line,) = [json.loads(text) for text in path.read_text().splitlines()]
    assert (line["erasureKey"], line["xTree"]["treeId"], line["xTree"]["nodeId"]) == ("ada", "inner", "ask")


# -- steps ---------------------------------------------------------------------------------------------


async def test_a_reader_who_does_not_ask_sees_the_nodes_of_the_outer_tree_alone(folder: Path):
    stops = await drained(start(doing(), [YES], catalog=catalog(folder, it=sub())))
    assert stops == [Stop("do"), Stop("done")]


async def test_a_reader_who_asks_steps_through_trees_within_trees(folder: Path):
    put(folder, "middle.json", tree(do=action("deep", success="end"), end=terminal("middle")))
    made = catalog(folder, it=sub("middle.json"), deep=sub())
    phases: list[Phase] = ["inside", "beforeAttempt"]
    run = start(doing(), [YES], catalog=made, stops_inside=phases)

    def within(*stops: Stop) -> Stop:
        *outer, last = stops
        for stop in reversed(outer):
            last = Stop(stop.node, "inside", None, last)
        return last

    do = Stop("do")
    assert await drained(run) == [
        do,
        within(do, do),
        within(do, do, Stop("ask")),
        within(do, do, Stop("ask", "beforeAttempt", 1)),
        within(do, do, Stop("good")),
        within(do, Stop("end")),
        Stop("done"),
    ]


async def test_the_clock_stands_still_at_every_stop_inside(folder: Path):
    clock = VirtualClock()
    run = start(doing(), [YES], catalog=catalog(folder, it=sub()), stops_inside=["inside"], clock=clock)
    async for _ in run:
        clock.seconds += 1000
    assert (run.result.outcome, run.result.usage.duration) == ("Terminal", 0)


async def test_a_run_can_be_finished_from_a_stop_inside(folder: Path):
    run = start(doing(), [YES], catalog=catalog(folder, it=sub()), stops_inside=["inside"])
    async for stop in run:
        if stop.inner:
            break
    assert (await run.finish()).verdict == "done"


@pytest.mark.parametrize("at", range(4))
async def test_cancelling_between_two_steps_reaches_the_inside(folder: Path, at: int):
    events: list[Event] = []
    made = catalog(folder, it=sub())
    run = start(
        doing(), [YES], catalog=made, events=events, stops_inside=["inside", "beforeAttempt", "afterDecision"]
    )
    inside = 0
    async for stop in run:
        inside += stop.inner is not None
        if inside > at:
            run.cancel()
    assert run.result.outcome == "Cancelled"
    assert inner(events)[-1].result.outcome == "Cancelled"  # type: ignore[attr-defined]
    assert run.result.usage.llm_calls == (1 if at >= 2 else 0)


@pytest.mark.parametrize("how", ["cancel", "task", "time"])
async def test_what_waits_inside_is_given_up_with_the_run(folder: Path, how: str):
    waiting, let_go = asyncio.Event(), asyncio.Event()

    class Silent(FakeClient):
        async def complete(self, request: Any) -> Completion:
            waiting.set()
            try:
                return await asyncio.Event().wait()  # type: ignore[return-value]
            finally:
                let_go.set()

    seconds = 0.05 if how == "time" else 60
    outer = doing().replace(budget=Budget(max_elapsed_time=TimeSpan.of_seconds(seconds)))
    events: list[Event] = []
    run = start(outer, Silent([]), catalog=catalog(folder, it=sub()), events=events, clock=SystemClock())
    task = asyncio.ensure_future(run.finish())
    await asyncio.wait_for(waiting.wait(), 5)
    if how == "cancel":
        run.cancel()
    elif how == "task":
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert task.cancelled() == (how == "task")
    assert let_go.is_set()
    assert run.result.outcome == ("BudgetExhausted" if how == "time" else "Cancelled")
    assert inner(events)[-1].result.outcome == run.result.outcome or how == "time"  # type: ignore[attr-defined]


# -- what is told --------------------------------------------------------------------------------------


async def told(folder: Path, **more: Any) -> tuple[Run, list[Event]]:
    events: list[Event] = []
    run = start(doing(), [YES], catalog=catalog(folder, it=sub()), events=events, **more)
    await run.finish()
    return run, events


async def test_events_inside_come_within_the_visit_and_leave_the_story_of_the_run_as_it_was(folder: Path):
    _, events = await told(folder)
    kinds = [type(event).__name__ for event in events]
    assert kinds[:2] == ["RunStarted", "NodeStarted"]
    assert kinds[-4:] == ["NodeVisited", "NodeStarted", "NodeVisited", "RunEnded"]
    assert {*kinds[2:-5]} == {"SubRunEvent"}
    assert len({event.execution_id for event in events}) == 1
    own = [event for event in events if not isinstance(event, SubRunEvent)]
    assert trail_of(events) == trail_of(own)
    ours, plain = execution_graph(events), execution_graph(own)
    assert [node.label for node in ours.nodes] == [node.label for node in plain.nodes]
    assert {(event.node, event.visit) for event in events if isinstance(event, SubRunEvent)} == {("do", 1)}
    assert trail_of(inner(events)).result.verdict == "good"  # type: ignore[union-attr]


async def test_a_transcript_and_a_journal_of_the_run_stay_whole(folder: Path):
    journal = MemoryJournal()
    options = TranscriptOptions(directory=folder / "t", debug=True)
    run, _ = await told(folder, journal=journal, transcript=options)
    assert run.transcript is not None
    assert run.transcript.status == "Completed"
    assert run.transcript.path is not None
    text = run.transcript.path.read_text()
    assert text.count("**Execution ID:**") == 1
    assert "The tree 'inner.json' came to the verdict 'good'." in text
    entries = journal.read(run.execution_id)
    assert {entry.as_json()["eventType"] for entry in entries} >= {"DecisionSubRunEvent", "DecisionRunEnded"}
    assert [entry.as_json()["sequence"] for entry in entries] == [*range(1, len(entries) + 1)]


@pytest.mark.parametrize("whole", [False, True])
async def test_events_inside_are_written_and_read_again(folder: Path, *, whole: bool):
    _, events = await told(folder)
    for event in events:
        record = json.loads(json.dumps(json_of(event, whole=whole)))
        again = event_of(record)
        assert json_of(again, whole=whole) == record
    if not whole:
        assert "Is it" not in json.dumps(
            [json_of(event)["event"] for event in events if "event" in json_of(event)]
        )


async def test_a_log_of_the_run_is_read_and_done_again(folder: Path):
    _, events = await told(folder)
    write_run_log(folder / "run.log", RunLog(tuple(events)))
    log = read_run_log(folder / "run.log")
    assert [json_of(e, whole=True) for e in log.events] == [json_of(e, whole=True) for e in events]
    assert log.problems == ()
    again = await replay(log, catalog=catalog(folder, it=sub()))
    assert (again.same, again.difference) == (True, None)


async def test_erasing_from_a_log_reaches_the_inside(folder: Path):
    twice = tree(one=action("it", success="two"), two=action("it", success="done"), done=terminal("done"))
    events: list[Event] = []
    await ended(twice, [YES, YES], catalog=catalog(folder, it=sub()), events=events)
    one, two = [e.classification for e in inner(events) if isinstance(e, ClassificationCompleted)]
    log = RunLog(tuple(events))
    assert blanked(log, {one.decision_id, two.decision_id}) is None
    left = blanked(log, {one.decision_id})
    assert left is not None
    written = [json.dumps(json_of(event, whole=True)) for event in left.events]
    assert not any(one.decision_id in line for line in written)
    first, second = ([line for line in written if f'"nodeId": "{name}"' in line] for name in ("one", "two"))
    asked = "Is it {{what}}?"
    assert not any(asked in line and "messages" in line for line in first)
    assert any(asked in line and "messages" in line for line in second)


async def test_what_a_kind_of_run_that_is_not_known_tells_is_named_and_kept_as_it_is_written():
    class Strange(Event):
        pass

    clock = VirtualClock()
    event = SubRunEvent("a" * 32, clock.now(), "do", 1, Strange("b" * 32, clock.now()))
    record = json_of(event, whole=True)
    assert record["event"]["eventType"] == "Strange"  # type: ignore[index,call-overload]
    record["event"]["more"] = {"said": ["a", 1]}  # type: ignore[index,call-overload]
    read = event_of(record)
    assert json_of(read, whole=True) == record
    assert "more" not in json_of(read)["event"]  # type: ignore[operator]
    assert isinstance(read, SubRunEvent)
    assert read.event.execution_id == "b" * 32


# -- files that run each other -------------------------------------------------------------------------


def chain(folder: Path, count: int, *, circle: bool = False) -> dict[str, Any]:
    """Actions a0, a1, …, each with a tree that does the next; the last leads back to the first, or ends."""
    for number in range(count):
        following = f"a{(number + 1) % count}"
        last = number == count - 1 and not circle
        document = tree(end=terminal("bottom")) if last else tree(
            do=action(following, success="end", permanent="no"), end=terminal("up"), no=terminal("no")
        )  # fmt: skip
        put(folder, f"t{number}.json", document)
    return {f"a{number}": sub(f"t{number}.json") for number in range(count)}


async def doing_it(made: Catalog, key: str) -> tuple[str | None, Any]:
    events: list[Event] = []
    result = await ended(doing(key), catalog=made, events=events)
    return result.verdict, next(event.error for event in events if isinstance(event, ActionCompleted))


@pytest.mark.parametrize("count", [1, 2, 5])
async def test_trees_that_run_each_other_without_end_are_refused(tmp_path: Path, count: int):
    made = catalog(tmp_path, **chain(tmp_path, count, circle=True))
    went, error = await doing_it(made, "a0")
    names = ", ".join(f"t{number % count}.json" for number in range(count + 1))
    assert (went, error) == ("never", f"These trees would run each other without end: {names}.")
    assert made.llm_calls("a0") == (0, 0)


async def test_trees_within_trees_are_only_so_deep(tmp_path: Path):
    made = catalog(tmp_path, **chain(tmp_path, DEEPEST + 1))
    assert await doing_it(made, "a1") == ("done", None)
    assert await doing_it(made, "a0") == ("never", f"More than {DEEPEST} trees would wait for each other.")


def test_a_tree_that_many_ways_lead_to_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each tree does the next one by two actions: two to the seventh ways, and eight files."""
    actions = chain(tmp_path, DEEPEST)
    for number in range(1, DEEPEST):
        actions[f"b{number}"] = sub(f"t{number}.json")
        twice = tree(
            a=action(f"a{number}", success="b"), b=action(f"b{number}", success="c"), c=terminal("x")
        )
        put(tmp_path, f"t{number - 1}.json", twice)
    looks: list[object] = []

    def look(*what: Any) -> Any:
        looks.append(what)
        return reading(*what)

    reading = subtree._read
    monkeypatch.setattr(subtree, "_read", look)
    made = catalog(tmp_path, **actions).actions["a0"]
    assert isinstance(made, SubTreeAction)
    assert len(made.family()) == DEEPEST
    assert len(looks) == 1 + 2 * (DEEPEST - 1)


async def test_a_tree_is_not_run_where_too_many_wait_already(folder: Path):
    class Deep:
        depth = DEEPEST

    made = catalog(folder, it=sub()).actions["it"]
    assert isinstance(made, SubTreeAction)
    inside = made.begin(ActionContext("do", "id", {}, {}, DataStore()), Deep())  # type: ignore[arg-type]
    with pytest.raises(Refused, match="8 trees wait for each other already"):
        await inside.__anext__()


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("none.json", None, "The tree 'none.json' cannot be read: No such file or directory."),
        ("bad.json", b"{", "'bad.json' is no tree: "),
        ("../up.json", b"{}", "'../up.json' leads out of the folder '.'."),
        ("bad.json", b'{"treeId": "x"}', "The tree 'bad.json' has errors: "),
    ],
)
async def test_a_tree_that_cannot_be_run_is_refused(
    tmp_path: Path, file: str, content: bytes | None, words: str
):
    folder = tmp_path / "project"
    folder.mkdir()
    if content is not None:
        (folder / file).write_bytes(content)
    made = catalog(folder, it=sub(file))
    went, error = await doing_it(made, "it")
    assert went == "never"
    assert error.startswith(words)
    assert getattr(made.actions["it"], "trouble") == error  # noqa: B009
    assert made.llm_calls("it") in ((0, 0), (0, Limits().llm_calls))


async def test_a_change_of_the_inner_tree_counts_at_once(folder: Path):
    made = catalog(folder, it=sub())
    assert made.llm_calls("it") == (1, 2)
    put(folder, "inner.json", tree(end=terminal("changed")))
    assert made.llm_calls("it") == (0, 0)
    assert (await ended(doing(), catalog=made)).state_properties["verdict"] == "changed"


@pytest.mark.parametrize(
    ("document", "calls"),
    [
        (asking(), (1, 2)),
        (asking(budget=Budget(max_llm_calls=1)), (1, 1)),
        (
            tree(ask=classify("Again?", {"yes": "ask"}, unknown="end"), end=terminal("x")).replace(
                budget=Budget(max_llm_calls=7)
            ),
            (2, 7),
        ),
        (tree(end=terminal("x")), (0, 0)),
    ],
)
def test_what_a_visit_costs_follows_from_the_inner_tree(
    tmp_path: Path, document: Tree, calls: tuple[int, int]
):
    put(tmp_path, "inner.json", document)
    put(tmp_path, "middle.json", doing("inner"))
    made = catalog(tmp_path, it=sub("middle.json"), inner=sub())
    assert made.llm_calls("inner") == calls
    whole = bounds(doing(), made).start
    assert whole is not None
    assert (whole.llm_calls.min, whole.llm_calls.max) == calls


# -- sub-runs of other makers --------------------------------------------------------------------------


class Stepping:
    """An action of another maker: it stops at tools, uses two calls, and fails when it is told to."""

    key = "it"

    def __init__(self, failing: BaseException | None = None) -> None:
        self.failing, self.cancelled, self.caller = failing, 0, None
        self.usage = Usage()
        self.result = ActionResult(properties={"tools": "2"})
        self._steps = iter(range(1, 3))

    async def execute(self, context: ActionContext) -> ActionResult:
        raise AssertionError("a run begins it")

    def begin(self, context: ActionContext, caller: Caller) -> "Stepping":
        self.caller = caller  # type: ignore[assignment]
        return self

    def __aiter__(self) -> "Stepping":
        return self

    async def __anext__(self) -> Stop:
        for number in self._steps:
            self.usage = Usage(llm_calls=number, input_tokens=5 * number)
            if self.failing and number == 2:
                raise self.failing
            return Stop("helper", "beforeTool", number)
        raise StopAsyncIteration

    def cancel(self) -> None:
        self.cancelled += 1


async def test_any_object_with_steps_can_be_an_action():
    made = Stepping()
    run = start(doing(), actions=[made], stops_inside=["inside", "beforeTool"])
    stops = await drained(run)
    assert [stop.inner for stop in stops] == [
        None, Stop("helper", "beforeTool", 1), Stop("helper", "beforeTool", 2), None,
    ]  # fmt: skip
    caller: Caller = made.caller  # type: ignore[assignment]
    assert (caller.depth, caller.stops_inside, caller.observers) == (0, ("inside", "beforeTool"), ())
    assert caller.left == Limits(node_visits=18, llm_calls=8)
    assert (run.result.usage.llm_calls, run.result.usage.input_tokens) == (2, 10)
    assert (run.result.state_properties, made.cancelled) == ({"tools": "2"}, 0)


async def test_what_goes_wrong_in_a_sub_run_ends_it_and_is_charged():
    made = Stepping(OSError("It broke."))
    events: list[Event] = []
    result = await ended(doing(), actions=[made], events=events)
    assert (result.verdict, result.usage.llm_calls, made.cancelled) == ("never", 2, 1)
