"""The turns of a decision agent: what it offers, what it keeps, and how it ends."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from engine import Bus, Event
from engine.agent import (
    Artifact,
    DecisionTool,
    DecisionTurn,
    HeuristicClient,
    JobEnded,
    JobProgressed,
    JobStarted,
    LinkArtifact,
    ListArtifact,
    ScriptedMoves,
    ThinkingEnded,
    ToolRefused,
    TurnRecorded,
    World,
    alias_of,
    canonical,
)
from engine.agent.artifacts import cut, formatter_of
from engine.deciders.systemone.client import DecisionError, DecisionResult
from tests.engine.agents import of
from tests.engine.runs import VirtualClock
from tests.engine.systemone import FakeDecisionClient
from tests.engine.thinkers import (
    NOTE,
    OBJECTIVE,
    Judge,
    Note,
    Raising,
    Refusing,
    Split,
    Verdict,
    Waits,
    careful,
    done,
    first,
    heard,
    lines,
    options,
    selected,
    started,
    thinker,
    thought,
    tools,
)

pytestmark = pytest.mark.anyio

WHOLE, PART_1, PART_2 = (f"«artifact:note~00000{number}»" for number in (1, 3, 4))


# ------------------------------------------------------------------------------------------ the loop


async def test_a_note_is_split_and_its_parts_judged():
    made = thinker()
    result = await thought(made)
    assert tools(result) == ["split", "judge", "judge", "finish"]
    assert (len(heard(made)), result.end_reason) == (4, "model")
    assert result.answer.iterands == (Verdict("alpha is due", keep=True),)
    assert (result.answer.iterand_type_alias, result.answer.instruction) == ("verdict", OBJECTIVE)
    assert alias_of(result.answer_ref) == "list"
    assert (result.usage.llm_calls, result.measured.calls) == (4, 4)


async def test_the_first_turn_offers_what_takes_the_input_and_no_end():
    made = thinker()
    await thought(made)
    asked = heard(made)[0]
    assert list(asked.questions) == ["next", "split_input", "judge_input"]
    assert options(asked, "next") == {
        "split": "Splits a note at its semicolons. It can take 1 artifact.",
        "judge": "Judges a note. It can take 1 artifact.",
    }
    assert asked.state == {
        "objective": OBJECTIVE,
        "artifacts": [f'{WHOLE} (note): {{"artifact_ref":"{WHOLE}","text":"{NOTE}"}}'],
        "done": ["nothing yet"],
    }


async def test_the_second_turn_offers_what_came_of_the_first_and_no_move_twice():
    made = thinker()
    await thought(made)
    asked = heard(made)[1]
    assert list(options(asked, "judge_input")) == [WHOLE, PART_1, PART_2]
    assert list(options(asked, "split_input")) == [PART_1, PART_2]
    assert [line.partition(" ")[0] for line in lines(asked)] == [
        *(WHOLE, "«artifact:list~000002»", PART_1, PART_2)
    ]
    assert "2 artifacts" in options(asked, "next")["split"]
    assert done(asked) == [f"split on {WHOLE} produced «artifact:list~000002»"]


async def test_the_end_is_offered_last_once_there_is_something_to_select():
    made = thinker()
    result = await thought(made)
    asked = heard(made)[-1]
    assert list(options(asked, "next")) == ["split", "judge", "finish"]
    assert [len(options(asked, f"{tool}_input")) for tool in ("split", "judge")] == [2, 1]
    selection = result.turns[-1].selection
    assert [key for key in asked.questions if key.startswith("select_")] == [f"select_{r}" for r in selection]
    assert sorted(selection.values()) == [0.1, 0.9]
    for key, question in asked.questions.items():
        assert not key.startswith("select_") or key.removeprefix("select_") in str(question.instructions)


async def test_a_turn_keeps_its_answers_and_is_told_before_the_run_has_ended():
    run, told = started(thinker())
    result = await run.finish()
    one, two = result.turns[:2]
    assert one.next is not None
    assert list(one.next.probabilities) == ["split", "judge"]
    assert two.argument is not None
    assert two.artifact == two.argument.value == PART_1
    assert one.result == "«artifact:list~000002»"
    kinds = [type(event) for event in told if isinstance(event, TurnRecorded | ThinkingEnded)]
    assert kinds == [TurnRecorded] * 4 + [ThinkingEnded]
    assert [event.turn.tool for event in of(TurnRecorded, told)] == tools(result)
    assert result.turns[0].as_json() == {
        "turn": 1,
        "next": {"choice": "split", "probabilities": {"split": 1.0, "judge": 0.0}, "confidence": 1.0},
        "tool": "split",
        "argument": {"choice": WHOLE, "probabilities": {WHOLE: 1.0}, "confidence": 1.0},
        "artifact": WHOLE,
        "result": "«artifact:list~000002»",
        "selection": {},
    }


async def test_people_are_told_of_a_turn_before_it_is_recorded():
    run, told = started(thinker(first, palette=[Refusing]), max_turns=3)
    await run.finish()
    progress = of(JobProgressed, told)
    assert [event.message for event in progress] == [
        f"turn 1: refusing on {WHOLE} failed",
        f"turn 2: judge on {WHOLE}",
    ]
    assert ([event.percent for event in progress], progress[0].title) == ([33, 66], "Deciding")
    told_at = [type(event) for event in told if isinstance(event, JobProgressed | TurnRecorded)]
    assert told_at == [JobProgressed, TurnRecorded, JobProgressed, TurnRecorded, TurnRecorded]


def test_there_are_32_turns_and_a_half_is_enough_unless_said_otherwise():
    made = thinker()
    assert (made.max_turns, made.selection_threshold) == (32, 0.5)
    assert made.llm_calls == (0, 33)


def test_the_selection_of_a_turn_is_never_missing_and_cannot_be_changed():
    missing: Any = None
    bare = DecisionTurn(1, selection=missing)
    assert bare.selection == {}
    turn = DecisionTurn(2, tool="judge", selection={"b": 0.2, "a": 0.4})
    assert list(turn.selection) == ["b", "a"]
    with pytest.raises(TypeError):
        turn.selection["c"] = 1.0  # type: ignore[index]
    assert (bare.finished, turn.finished) == (True, False)


async def test_a_refusal_is_a_fact_of_the_run_and_the_move_is_spent():
    made = thinker(first, palette=[Refusing], key=Judge)
    result = await thought(made)
    assert tools(result) == ["refusing", "judge", "finish"]
    refused = result.turns[0]
    assert refused.failure == f"note '{NOTE}': it is not signed"
    assert refused.result is None
    assert "refusing" not in options(heard(made)[1], "next")
    assert done(heard(made)[1])[0] == f"refusing on {WHOLE} failed: note '{NOTE}': it is not signed"
    assert len(result.answer.iterands) == 1
    assert (result.turns[2].next, result.end_reason) == (None, "no_moves")
    assert list(heard(made)[2].questions) == [f"select_{ref}" for ref in result.turns[2].selection]


async def test_when_no_turn_is_left_what_exists_is_selected_once():
    made = thinker(max_turns=2)
    result = await thought(made)
    assert tools(result) == ["split", "judge", "finish"]
    last = result.turns[-1]
    assert (last.turn, last.next, len(last.selection)) == (3, None, 1)
    assert list(heard(made)[-1].questions) == [f"select_{ref}" for ref in last.selection]
    assert result.answer.iterands == (Verdict("alpha is due", keep=True),)
    assert (result.end_reason, len(heard(made))) == ("turn_budget", 3)


async def test_a_run_may_be_given_fewer_turns():
    assert tools(await thought(thinker(), max_turns=1)) == ["split", "finish"]
    with pytest.raises(ValueError, match="at least one turn"):
        thinker().start(Note(NOTE), max_turns=0)


async def test_where_nothing_can_be_produced_the_answer_is_empty():
    run, told = started(thinker(first, palette=[], key=Refusing))
    result: Any = await run.finish()
    assert (result.answer.iterands, result.selected, result.success) == ((), (), True)
    assert (tools(result), result.end_reason) == (["refusing", "finish"], "nothing_produced")
    assert result.measured.calls == 1
    assert of(TurnRecorded, told)[-1].turn.finished


async def test_where_no_turn_is_left_and_nothing_was_produced_nobody_is_asked():
    result = await thought(thinker(first, palette=[Split], key=Refusing), max_turns=1)
    assert (result.measured.calls, result.answer.iterands, result.end_reason) == (1, (), "turn_budget")


async def test_an_error_of_the_moment_ends_the_run_when_no_retry_is_left():
    client = FakeDecisionClient(
        DecisionResult(error=DecisionError("Overloaded", "busy", 503, transient=True))
    )
    result = await thought(thinker(client, retries=0))
    assert (result.success, result.failure_kind, result.transient) == (False, "LlmError", True)
    assert "retry budget (0)" in str(result.error)
    assert "busy" not in str(result.error)
    assert (len(client.requests), result.turns, result.measured.calls) == (1, (), 1)


def test_the_key_tool_comes_last_unless_it_has_a_place():
    for palette, key, names in (
        ([Split], Judge, ("split", "judge")),
        ([Split, Judge], Judge, ("split", "judge")),
        ([Judge, Split], Judge, ("judge", "split")),
        ([], Judge, ("judge",)),
    ):
        assert thinker(palette=palette, key=key).palette_names == names


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"objective": " "}, "an objective"),
        ({"answers": None}, "an answer type"),
        ({"key": None}, "a key tool"),
        ({"palette": None}, "a palette"),
        ({"max_turns": 0}, "at least one turn"),
        ({"selection_threshold": 1.5}, "from 0 to 1"),
        ({"retries": 11}, "from 0 to 10"),
        ({"decision_seconds": 0}, "longer than zero"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_made(wrong, words):
    with pytest.raises(ValueError, match=words):
        thinker(**wrong)


async def test_an_agent_may_be_a_tool_of_another_one():
    inside = thinker()
    judging = inside.as_tool("judge_all", "Has all parts of a note judged.")
    assert judging.llm_calls == (0, 33)
    outside = thinker(first, palette=[], key=judging, max_turns=2)
    run, told = started(outside)
    result: Any = await run.finish()
    assert tools(result) == ["judge_all", "finish"]
    assert result.answer.iterands == (Verdict("alpha is due", keep=True),)
    assert result.usage.llm_calls == len(heard(inside)) + len(heard(outside)) == 6
    assert (result.measured.calls, result.measured.cost) == (6, 0.0)
    (own,) = [event.job for event in of(JobEnded, told) if event.job.type == "DOER" and event.job.parent]
    (tool,) = [event.job for event in of(JobEnded, told) if event.job.tool == "judge_all"]
    assert own.parent == tool.id
    assert {event.execution_id for event in told} == {run.execution_id}


async def test_an_agent_inside_another_one_has_what_is_left_and_its_failure_is_the_outer_ones():
    inside = thinker()
    judging = inside.as_tool("judge_all", "Has all parts of a note judged.")
    outside = thinker(first, palette=[], key=judging)
    result = await thought(outside, max_llm_calls=3)
    assert (result.failure_kind, len(heard(inside))) == ("CallLimitExceeded", 0)
    result = await thought(outside, max_llm_calls=5)
    assert (result.usage.llm_calls, tools(result)) == (5, ["judge_all", "finish"])


async def test_the_input_is_no_output_whatever_its_type():
    made = thinker(palette=[], key=Split, answers=Note, max_turns=1)
    result = await thought(made)
    assert list(heard(made)[0].questions) == ["next", "split_input"]
    assert len(result.turns[-1].selection) == 2
    assert [note.text for note in result.answer.iterands] == ["alpha is due"]
    same = thinker(lambda request: dict(selected(request, "note")), palette=[], key=Split, answers=Note)
    result = await thought(same, Note("alpha"), max_turns=1)
    assert [note.text for note in result.answer.iterands] == ["alpha"]  # an equal one, and not the input


async def test_a_fault_of_a_tool_ends_the_run_and_is_never_fed_back(monkeypatch):
    error = RuntimeError("reading failed")
    error.__cause__ = OSError("the disk is on fire")
    monkeypatch.setattr(Raising, "error", error)
    made = thinker(first, palette=[Raising])
    result = await thought(made)
    assert (result.success, result.failure_kind, result.turns) == (False, "Unknown", ())
    assert result.error == "reading failed: the disk is on fire"
    assert not result.transient
    assert len(heard(made)) == 1


@pytest.mark.parametrize("made", [None, "a text"])
async def test_a_tool_that_gives_no_artifact_ends_the_run(made):
    class Empty(DecisionTool[Note, ListArtifact[Verdict]]):
        name = "empty_handed"
        description = "Gives nothing."

        async def run(self, artifact, /):
            return made

    result = await thought(thinker(first, palette=[Empty]))
    assert result.error == "The tool 'empty_handed' returned no artifact."


async def test_a_tool_that_cannot_be_made_ends_the_run():
    class Broken(Judge):
        name = "broken"

        def __init__(self, parent):
            raise RuntimeError("there is no room")

    assert (await thought(thinker(first, palette=[Broken]))).error == "there is no room"


async def test_the_first_refusal_along_the_causes_is_told_and_only_its_plain_words(monkeypatch, caplog):
    refusal = ToolRefused("The note cannot be read.", technical="errno 5")
    wrapped = RuntimeError("somewhere deep")
    wrapped.__cause__ = refusal
    monkeypatch.setattr(Raising, "error", wrapped)
    with caplog.at_level(logging.WARNING):
        result = await thought(thinker(first, palette=[Raising]))
        await thought(thinker(first, palette=[Refusing]))
    assert result.turns[0].failure == "The note cannot be read."
    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("ERROR", "The tool raising refused an artifact (errno 5)."),
        ("WARNING", "The tool refusing refused an artifact (InvalidInput)."),
    ]
    assert NOTE not in caplog.text


async def test_without_an_input_a_run_fails_when_it_begins():
    for given in (None, Verdict("alpha", keep=True)):
        result = await thinker().start(given).finish()
        assert (result.failure_kind, result.error) == (
            "InputValidationFailed",
            "The run needs an artifact of the type 'note'.",
        )


async def test_every_run_begins_anew():
    made = thinker()
    assert tools(await thought(made)) == tools(await thought(made))


# ------------------------------------------------------------------------------------------ moves


@dataclass(frozen=True)
class Signed(Note):
    alias: ClassVar[str] = "signed"

    by: str = ""


class Gather(DecisionTool[ListArtifact[Note], ListArtifact[Verdict]]):
    name = "gather"
    description = "Judges a whole list."

    async def run(self, artifact: ListArtifact[Note], /) -> ListArtifact[Verdict]:
        return ListArtifact(Verdict, tuple(Verdict(note.text, keep=True) for note in artifact.iterands))


async def test_a_subtype_fits_and_a_list_fits_only_a_tool_that_takes_such_lists():
    class Sign(DecisionTool[Note, ListArtifact[Signed]]):
        name = "sign"
        description = "Signs a note."

        async def run(self, artifact: Note, /) -> ListArtifact[Signed]:
            return ListArtifact(Signed, (Signed(artifact.text, by="me"),))

    moves = ScriptedMoves([("sign", WHOLE), ("split", WHOLE), ("gather", "2 note")])
    made = thinker(moves, palette=[Sign, Split, Gather], max_turns=4)
    await thought(made)
    assert list(options(heard(made)[1], "judge_input")) == [WHOLE, "«artifact:signed~000003»"]
    assert "gather_input" not in heard(made)[1].questions
    (line,) = options(heard(made)[2], "gather_input").values()
    assert line.endswith("a list of 2 note")


async def test_a_known_object_is_adopted_once_and_history_names_the_ref_it_has():
    same = ListArtifact(Verdict, (Verdict("alpha", keep=True),))

    class Again(DecisionTool[Note, ListArtifact[Verdict]]):
        name = "again"
        description = "Gives the same each time."

        async def run(self, artifact: Note, /) -> ListArtifact[Verdict]:
            return same

    moves = ScriptedMoves([("split", WHOLE), ("again", PART_1), ("again", PART_2)])
    made = thinker(moves, palette=[Split, Again])
    result = await thought(made)
    results = [turn.result for turn in result.turns if turn.tool == "again"]
    assert results == [results[0]] * 2
    assert len([line for line in lines(heard(made)[-1]) if "(verdict)" in line]) == 1


async def test_of_equal_probabilities_the_first_offered_wins():
    result = await thought(thinker(HeuristicClient(), objective="Zzz."), max_turns=1)
    assert result.turns[0].next.probabilities == {"split": 0.5, "judge": 0.5}
    assert result.turns[0].tool == "split"


async def test_what_is_exactly_at_the_threshold_belongs_in_the_answer():
    def script(request) -> Mapping[str, str | float]:
        return {**careful(request), **dict.fromkeys(selected(request, ""), 0.7)}

    assert len((await thought(thinker(script, selection_threshold=0.7))).answer.iterands) == 2
    assert len((await thought(thinker(script, selection_threshold=0.71))).answer.iterands) == 0


async def test_the_answer_holds_the_very_objects_that_were_produced():
    run, _ = started(thinker())
    result = await run.finish()
    assert result.answer is not None
    (kept,) = result.answer.iterands
    assert result.selected[0].artifact is kept
    assert run.world.artifact(result.selected[0].ref) is kept


# ------------------------------------------------------------------------------------------ digests


def test_what_a_model_sees_of_an_artifact_is_one_line_that_is_cut():
    world = World()
    ref = world.adopt(Note("x" * 400))
    line = world.digest(world.artifact(ref))
    prefix = f"{ref} (note): "
    assert line.startswith(prefix + '{"artifact_ref":')
    assert (len(line), line[-4:]) == (len(prefix) + 163, "x...")
    link = LinkArtifact("https://example.org", "Prices of 2027")
    world.adopt(link)
    assert world.words(link) == "Prices of 2027"
    bare = LinkArtifact("https://example.org")
    ref = world.adopt(bare)
    assert world.words(bare) == f'{{"artifact_ref":"{ref}","url":"https://example.org"}}'
    assert world.words(ListArtifact(Note, (Note("a"),))) == "a list of 1 note"


def test_a_formatter_speaks_for_a_type_and_those_derived_from_it_on_one_line():
    formatters: Any = {Note: lambda note: f"says\n{note.text}"}
    assert World(formatters).words(Signed("a \t b")) == "says a b"
    assert formatter_of(Verdict, formatters) is None
    assert World().words(Note("a")) == '{"artifact_ref":null,"text":"a"}'
    assert World({**formatters, Signed: lambda _: "mine"}).words(Signed("a")) == "mine"


def test_refs_are_counted_and_known_in_any_form():
    world = World()
    refs = [world.adopt(Note(str(number))) for number in range(40)]
    assert (refs[0], refs[9], refs[35]) == (
        "«artifact:note~000001»",
        "«artifact:note~00000a»",
        "«artifact:note~000010»",
    )
    for form in (refs[0], "artifact:note~000001", "note~000001", "«note~000001»", " «artifact:note~000001» "):
        assert canonical(form) == refs[0]
        assert world.artifact(form).text == "0"  # type: ignore[attr-defined]
    assert (canonical(None), canonical("no ref"), alias_of("no ref")) == (None, "no ref", None)
    assert alias_of("link:cite~000001") == "link:cite"


def test_a_list_in_a_list_is_adopted_with_all_that_is_in_it_and_what_has_no_alias_is_not():
    world = World()
    inner = ListArtifact(Note, (Note("a"), Note("b")))
    world.adopt(ListArtifact(ListArtifact, (inner,)))
    assert [artifact.alias for artifact in world] == ["list", "list", "note", "note"]

    class Nameless(Artifact):
        pass

    with pytest.raises(TypeError, match="'Nameless' has no alias"):
        world.adopt(Nameless())


def test_a_text_is_cut_after_so_many_characters_of_its_one_line():
    assert cut(" a\n\tb  c ", 10) == "a b c"
    assert cut("abcdef", 3) == "abc..."


# ------------------------------------------------------------------------------------------ bounds and stops


async def test_a_run_stops_around_the_decision_and_the_tool():
    run, told = started(
        thinker(), stops_inside=("beforeAttempt", "afterDecision", "beforeTool", "afterTool"), max_turns=1
    )
    seen = []
    async for stop in run:
        decided = sum(event.job.decision for event in of(JobEnded, told))
        seen.append((stop.node, stop.phase, stop.turn, decided, len(run.turns)))
    assert seen == [
        ("thinker", "beforeAttempt", 1, 0, 0),
        ("thinker", "afterDecision", 1, 1, 0),
        ("thinker", "beforeTool", 1, 1, 0),
        ("thinker", "afterTool", 1, 1, 1),
    ]
    assert run.status == "Completed"


async def test_time_in_which_nobody_asks_is_not_charged():
    clock = VirtualClock()
    run, _ = started(thinker(clock=clock), stops_inside=("beforeTool",), deadline=5.0)
    async for _ in run:
        clock.seconds += 100
    assert run.result.success
    assert run.usage.duration == 0


async def test_a_run_is_bounded_by_the_calls_it_is_given_and_keeps_one_for_the_end():
    for calls, expected in ((2, ["split", "finish"]), (3, ["split", "judge", "finish"])):
        result = await thought(thinker(), max_llm_calls=calls)
        assert tools(result) == expected
        assert result.usage.llm_calls <= calls
    result = await thought(thinker(), max_llm_calls=1)
    assert (result.failure_kind, result.usage.llm_calls, result.turns) == ("CallLimitExceeded", 0, ())


async def test_a_run_is_cancelled_while_a_tool_runs():
    Waits.began = asyncio.Event()
    run, told = started(thinker(first, palette=[Waits]))
    reading = asyncio.create_task(run.finish())
    await Waits.began.wait()
    run.cancel()
    result = await reading
    assert (result.failure_kind, result.error) == ("Cancelled", "Cancellation requested during a tool.")
    assert (run.status, result.turns) == ("Cancelled", ())
    ends = [(event.job.name, event.kind) for event in of(JobEnded, told)]
    assert ends[-2:] == [("waits", "cancelled"), ("thinker", "cancelled")]
    assert isinstance(told[-1], ThinkingEnded)


async def test_between_two_stops_a_run_is_cancelled_at_once():
    run, _ = started(thinker(), stops_inside=("beforeTool",))
    stands = [run.status]
    await anext(run)
    assert [*stands, run.status] == ["Pending", "Running"]
    with pytest.raises(RuntimeError, match="not ended"):
        _ = run.result
    run.cancel()
    assert run.result.failure_kind == "Cancelled"
    unread, _ = started(thinker())
    unread.cancel()
    assert unread.result.failure_kind == "Cancelled"


async def test_a_run_whose_time_is_over_ends_so():
    Waits.began = asyncio.Event()
    run, told = started(thinker(first, palette=[Waits]), deadline=0.02)
    result = await run.finish()
    assert (result.failure_kind, result.transient, run.status) == ("DeadlineExceeded", True, "TimedOut")
    assert [event.kind for event in of(JobEnded, told)][-2:] == ["timed_out", "timed_out"]


async def test_a_run_that_is_late_after_a_tool_goes_no_further():
    clock = VirtualClock()

    class Slow(Judge):
        name = "slow"

        async def run(self, artifact: Note, /) -> ListArtifact[Verdict]:
            clock.seconds += 6
            return await super().run(artifact)

    run, _ = started(thinker(first, palette=[Slow], clock=clock), deadline=5.0)
    result = await run.finish()
    assert (result.failure_kind, result.transient) == ("DeadlineExceeded", True)
    assert result.error == "The agent was not done within 5 s."
    assert [turn.tool for turn in result.turns] == ["slow"]


async def test_wherever_a_run_is_cancelled_it_ends_once_and_in_good_order():
    phases: Any = ("beforeAttempt", "afterDecision", "beforeTool", "afterTool")
    for steps in range(15):
        run, told = started(thinker(), stops_inside=phases)
        for _ in range(steps):
            await anext(run)
        run.cancel()
        run.cancel()
        assert run.result.failure_kind == "Cancelled"
        assert [stop async for stop in run] == []
        begun = [event.job.id for event in of(JobStarted, told)]
        assert sorted(event.job.id for event in of(JobEnded, told)) == sorted(begun)
        assert [type(event) for event in told].count(ThinkingEnded) == 1
        assert isinstance(told[-1], ThinkingEnded)


async def test_what_is_no_part_of_a_run_is_raised(monkeypatch):
    monkeypatch.setattr(Raising, "error", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        await thought(thinker(first, palette=[Raising]))


async def test_a_cancellation_from_inside_is_a_fault(monkeypatch):
    monkeypatch.setattr(Raising, "error", asyncio.CancelledError())
    result = await thought(thinker(first, palette=[Raising]))
    assert (result.failure_kind, result.error) == (
        "Unknown",
        "A part of the agent was cancelled from inside.",
    )


async def test_a_result_is_one_json_object():
    result = await thought(thinker(max_turns=1))
    assert result.as_json() == {
        "executionId": result.execution_id,
        "success": True,
        "endReason": "turn_budget",
        "failureKind": "NoFailure",
        "error": None,
        "answer": [],
        "turns": [turn.as_json() for turn in result.turns],
        "measured": result.measured.as_json(),
    }
    kept = await thought(thinker())
    assert kept.as_json()["answer"] == [{"ref": each.ref, "digest": each.digest} for each in kept.selected]


async def test_an_observer_that_fails_changes_nothing_and_a_publisher_is_told_the_same():
    bus, heard_of = Bus(), list[Event]()
    bus.subscribe(heard_of.append)

    def breaks(_: Event) -> None:
        raise RuntimeError("not my day")

    told: list[Event] = []
    run = thinker(publisher=bus).start(Note(NOTE), observers=[breaks])
    run.observe(told.append)
    assert (await run.finish()).success
    assert heard_of == told


async def test_a_reader_that_is_cancelled_stays_so_and_the_run_has_ended():
    Waits.began = asyncio.Event()
    run, _ = started(thinker(first, palette=[Waits]))
    reading = asyncio.create_task(run.finish())
    await Waits.began.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert run.result.failure_kind == "Cancelled"


async def test_two_identical_runs_show_the_model_the_same():
    one, two = thinker(), thinker()
    results = [await thought(made) for made in (one, two)]
    assert [asked.state for asked in heard(one)] == [asked.state for asked in heard(two)]
    assert results[0].turns == results[1].turns
