"""The stream of a run, line by line: what is written, how it ends, and that it is read as it was told."""

import asyncio
import json
import logging
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.agent import (
    DecisionTrace,
    JobEvent,
    JobQueued,
    SinkClosed,
    ThinkingEnded,
    TraceReader,
    TraceUnreadable,
    read_trace,
    trace_of,
)
from engine.agent.thinking import Job
from engine.deciders.systemone.client import DecisionError, DecisionResult
from engine.records import DecisionRecorder, MemorySink
from tests.engine.runs import START, VirtualClock
from tests.engine.systemone import FakeDecisionClient
from tests.engine.thinkers import (
    NOTE,
    Raising,
    Refusing,
    Waits,
    first,
    started,
    thinker,
)

pytestmark = pytest.mark.anyio

WHOLE = "«artifact:note~000001»"


class Collects:
    """A sink that keeps the lines, and loses its reader after so many with this error."""

    def __init__(self, most: int | None = None, error: BaseException | None = None) -> None:
        self.lines: list[str] = []
        self.threads: set[int] = set()
        self._most, self._error = most, error

    def __call__(self, line: str) -> None:
        self.threads.add(threading.get_ident())
        if self._most is not None and len(self.lines) >= self._most and self._error is not None:
            raise self._error
        self.lines.append(line)

    @property
    def said(self) -> list[dict[str, Any]]:
        """The lines, read."""
        return [json.loads(line) for line in self.lines]


async def traced(made: Any = None, sink: Collects | None = None, **more: Any) -> tuple[Collects, Any]:
    """A run that is driven to its end, and what its trace wrote."""
    sink = sink or Collects()
    run, _ = started(made or thinker())
    trace = DecisionTrace.of(run, sink, **more)
    result = await run.finish()
    assert await trace.await_end(5)
    return sink, result


def kinds(sink: Collects) -> list[str]:
    """What each line is about."""
    jobs = [line.get("job", {}) for line in sink.said]
    names = ["own" if job.get("own") else job.get("name") for job in jobs]
    return [
        f"{name} {line['kind']}" if name else line["type"]
        for name, line in zip(names, sink.said, strict=True)
    ]


# ------------------------------------------------------------------------------------------ lines


async def test_every_job_is_told_of_in_order():
    sink, _ = await traced(thinker(max_turns=2))
    assert kinds(sink) == [
        *("run", "own queued", "own started"),
        *("Turn 1 queued", "Turn 1 started", "Turn 1 completed"),
        *("split queued", "split started", "split completed", "own progress"),
        *("Turn 2 queued", "Turn 2 started", "Turn 2 completed"),
        *("judge queued", "judge started", "judge completed", "own progress"),
        *("Turn 3 queued", "Turn 3 started", "Turn 3 completed"),
        *("own completed", "workflow_complete"),
    ]
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in sink.lines)
    assert threading.get_ident() not in sink.threads


async def test_a_line_says_whose_it_is_and_when():
    sink, result = await traced(thinker())
    head, own, _, deciding = sink.said[:4]
    assert head == {
        "type": "run",
        "format": 1,
        "agent": "thinker",
        "objective": "Find what is said of alpha.",
        "palette": ["split", "judge"],
        "started": round(START.timestamp() * 1000),
    }
    assert own["job"] == {
        "id": result.execution_id,
        "type": "DOER",
        "name": "thinker",
        "decision": False,
        "own": True,
    }
    assert own["at"] == head["started"]
    del deciding["job"]["id"]
    assert deciding["job"] == {
        "parent": result.execution_id,
        "type": "TOOL",
        "name": "Turn 1",
        "decision": True,
        "iteration": 1,
        "own": False,
    }
    split = next(line for line in sink.said if line.get("job", {}).get("tool") == "split")
    assert (split["job"]["decision"], split["job"]["iteration"]) == (False, 1)


async def test_a_decision_is_told_in_full():
    sink, _ = await traced()
    told = next(line for line in sink.said if line.get("kind") == "completed" and line["job"]["decision"])
    decision = told["decision"]
    assert re.fullmatch(r"[0-9a-f-]{36}", decision.pop("decisionId"))
    assert decision["state"]["done"] == ["nothing yet"]
    assert decision["questions"]["next"] == {
        "instructions": "Which tool should run next to reach the objective? A tool that was used on an "
        "artifact already is not offered for it again.",
        "type": "choice",
        "options": {
            "split": "Splits a note at its semicolons. It can take 1 artifact.",
            "judge": "Judges a note. It can take 1 artifact.",
        },
    }
    assert decision["answers"]["next"] == {
        "choice": "split",
        "probabilities": {"split": 1.0, "judge": 0.0},
        "confidence": 1.0,
    }
    assert decision["call"] == {
        "model": "script",
        "servedModel": "script",
        "inputTokens": 0,
        "latencyMs": 0.0,
        "cost": 0.0,
        "currency": "USD",
        "probabilitySource": "onehot",
        "attempts": 1,
    }
    assert told["measured"]["calls"] == 1
    selecting = [line for line in sink.said if "decision" in line][-1]["decision"]
    (key, *_) = [key for key in selecting["questions"] if key.startswith("select_")]
    assert set(selecting["questions"][key]) == {"instructions", "type"}
    assert selecting["answers"][key] == {"probability": 0.9}


async def test_what_a_tool_gave_is_told_with_all_that_is_in_it():
    sink, result = await traced()
    told = next(line for line in sink.said if line.get("kind") == "completed" and "tool" in line["job"])
    assert told["result"]["ref"] == result.turns[0].result
    assert told["result"]["digest"] == "a list of 2 note"
    assert [each["ref"] for each in told["result"]["iterands"]] == [
        "«artifact:note~000003»",
        "«artifact:note~000004»",
    ]


async def test_the_last_line_has_the_answer_the_turns_and_the_totals():
    sink, result = await traced()
    last = sink.said[-1]
    (kept,) = result.selected
    assert last["answer"] == [
        {
            "ref": kept.ref,
            "digest": kept.digest,
            "artifact": {"artifact_ref": kept.ref, "about": "alpha is due", "keep": True},
        }
    ]
    assert last["turns"] == [turn.as_json() for turn in result.turns]
    assert last["measured"] == result.measured.as_json()
    assert last["endReason"] == "model"


async def test_two_identical_runs_leave_the_same_bytes_except_times_and_ids():
    def bare(sink: Collects) -> list[str]:
        ids = dict.fromkeys(re.findall(r'"(?:id|parent|decisionId)":"([^"]+)"', "".join(sink.lines)))
        names = {each: f"id-{number}" for number, each in enumerate(ids)}
        return [re.sub("|".join(names), lambda found: names[found[0]], line) for line in sink.lines]

    one, two = [bare((await traced(thinker(clock=VirtualClock())))[0]) for _ in range(2)]
    assert one == two
    assert len(one) == 29


async def test_a_refusal_is_told_as_the_failure_of_its_tool():
    sink, result = await traced(thinker(first, palette=[Refusing]))
    told = next(line for line in sink.said if line.get("kind") == "failed")
    assert (told["job"]["tool"], told["message"]) == ("refusing", result.turns[0].failure)
    assert sink.said[-1]["turns"][0]["failure"] == result.turns[0].failure


async def test_a_run_that_fails_says_so_in_its_own_line_and_in_the_last():
    failed = DecisionResult(error=DecisionError("Network", transient=True))
    sink, result = await traced(thinker(FakeDecisionClient(failed), retries=1))
    assert kinds(sink)[3:] == [
        *("Turn 1 queued", "Turn 1 started", "Turn 1 retry", "Turn 1 started", "Turn 1 failed"),
        *("own failed", "workflow_failed"),
    ]
    own, last = sink.said[-2:]
    assert own["message"] == last["message"] == result.error
    assert sink.said[5]["retry"] == "upstream"
    assert sink.said[6]["attempt"] == 2


async def test_a_run_that_is_cancelled_or_out_of_time_ends_its_trace():
    Waits.began = asyncio.Event()
    sink = Collects()
    run, _ = started(thinker(first, palette=[Waits]))
    trace = DecisionTrace.of(run, sink)
    reading = asyncio.create_task(run.finish())
    await Waits.began.wait()
    run.cancel()
    await reading
    assert await trace.await_end(5)
    assert kinds(sink)[-3:] == ["waits cancelled", "own cancelled", "workflow_failed"]
    Waits.began = asyncio.Event()
    run, _ = started(thinker(first, palette=[Waits]), deadline=0.02)
    trace = DecisionTrace.of(run, late := Collects())
    await run.finish()
    assert await trace.await_end(5)
    assert kinds(late)[-3:] == ["waits timed_out", "own timed_out", "workflow_failed"]


async def test_the_jobs_of_an_agent_inside_are_told_and_its_end_is_not_the_runs():
    inside = thinker().as_tool("judge_all", "Has all parts of a note judged.")
    sink, _ = await traced(thinker(first, palette=[], key=inside, max_turns=1))
    told = Counter(kinds(sink))
    assert (told["run"], told["workflow_complete"], told["own completed"]) == (1, 1, 1)
    assert (told["thinker completed"], told["judge completed"]) == (1, 2)
    assert kinds(sink)[-1] == "workflow_complete"
    turns = trace_of(sink.lines).turns
    assert [turn.number for turn in turns] == [1, 2]
    assert turns[0].tool is not None
    assert turns[0].tool.name == "judge_all"
    before = [line for line in sink.lines if '"name":"thinker"' in line and '"own":false' in line][-1]
    so_far = trace_of(sink.lines[: sink.lines.index(before) + 1])
    assert (json.loads(before)["measured"]["calls"], so_far.measured["calls"]) == (4, 1)


# ------------------------------------------------------------------------------------------ ending


@pytest.mark.parametrize("error", [BrokenPipeError("gone"), SinkClosed(), RuntimeError("a bug of the sink")])
async def test_a_sink_that_loses_its_reader_stops_the_lines_and_not_the_run(error, caplog):
    ends: list[int] = []
    with caplog.at_level(logging.WARNING):
        sink, result = await traced(sink=Collects(3, error), on_end=lambda: ends.append(1))
    assert result.success
    assert len(sink.lines) == 3
    assert ends == [1]
    assert len(caplog.records) == 1
    assert type(error).__name__ in caplog.text


async def test_a_sink_that_is_slow_does_not_slow_the_run():
    let_go = threading.Event()
    sink = Collects()

    def slow(line: str) -> None:
        let_go.wait(10)
        sink(line)

    run, _ = started(thinker())
    trace = DecisionTrace.of(run, slow)
    assert (await run.finish()).success
    assert sink.lines == []
    assert not await trace.await_end(0)
    let_go.set()
    assert await trace.await_end(5)
    assert len(sink.lines) == 29


async def test_the_holder_ends_a_stream_whose_run_never_did_once():
    ends: list[int] = []
    sink = Collects()
    trace = DecisionTrace("execution", "job", sink, on_end=lambda: ends.append(1))
    trace.fail(RuntimeError("the host is going down"))
    trace.fail("again")
    assert await trace.await_end(5)
    assert sink.said == [{"type": "workflow_failed", "message": "the host is going down"}]
    assert ends == [1]
    silent = DecisionTrace("execution", "job", unnamed := Collects())
    silent.fail(ValueError())
    assert await silent.await_end(5)
    assert unnamed.said[0]["message"] == "ValueError"


async def test_a_failure_after_the_end_adds_nothing():
    sink = Collects()
    run, _ = started(thinker())
    trace = DecisionTrace.of(run, sink)
    await run.finish()
    assert await trace.await_end(5)
    trace.fail("too late")
    assert await trace.await_end(0)
    assert kinds(sink)[-2:] == ["own completed", "workflow_complete"]


async def test_what_others_tell_writes_nothing():
    sink = Collects()
    run, told = started(thinker())
    trace = DecisionTrace(run.execution_id, run.job.id, sink)
    result = await run.finish()
    trace(JobQueued(run.execution_id, START, Job("stranger", "elsewhere", parent="nobody")))
    trace(JobQueued("another", START, run.job))
    trace(JobEvent(run.execution_id, START, run.job))
    trace(ThinkingEnded("another", START, run.job, result))
    assert not await trace.await_end(0)
    for event in told:
        trace(event)
    assert await trace.await_end(5)
    assert len(sink.lines) == 29


async def test_a_run_that_is_cancelled_off_its_loop_is_written_when_somebody_waits():
    sink = Collects()
    run, _ = started(thinker())
    trace = DecisionTrace.of(run, sink)
    await asyncio.to_thread(run.cancel)
    assert sink.lines == []
    assert await trace.await_end(5)
    assert kinds(sink) == ["run", "own queued", "own started", "own cancelled", "workflow_failed"]


# ------------------------------------------------------------------------------------------ reduced


@pytest.mark.parametrize("palette", [[Refusing], [Raising]])
async def test_a_reduced_trace_quotes_nothing_and_leads_to_the_records(palette, monkeypatch):
    monkeypatch.setattr(Raising, "error", RuntimeError(f"cannot stand '{NOTE}'"))
    sink = MemorySink()
    async with DecisionRecorder(sink) as recorder:
        lines, result = await traced(thinker(first, palette=palette, recorder=recorder), reduced=True)
    text = "".join(lines.lines)
    assert "alpha" not in text.replace("Find what is said of alpha.", "")
    decisions = [line["decision"] for line in lines.said if "decision" in line]
    assert decisions
    assert all(set(decision) == {"decisionId", "answers"} for decision in decisions)
    assert [decision["decisionId"] for decision in decisions] == [
        one.record.decision_id for one in sink.decisions
    ]
    assert decisions[0]["answers"]["next"]["choice"] == palette[0].name
    read = trace_of(lines.lines)
    assert read.reduced
    assert read.turns[0].tool is not None
    assert read.turns[0].tool.state == "failed"
    if result.success:
        assert [thing.ref for thing in read.answer] == [each.ref for each in result.selected]
        assert read.answer[0].digest is None
        assert lines.said[-1]["turns"][0]["failure"] == ""
    else:
        assert read.message == "Unknown"


# ------------------------------------------------------------------------------------------ reading


async def test_a_trace_is_read_as_it_was_told():
    sink, result = await traced(thinker(first, palette=[Refusing]))
    read = trace_of(sink.lines)
    assert (read.agent, read.palette, read.state, read.end_reason) == (
        "thinker",
        ("refusing", "judge"),
        "complete",
        "no_moves",
    )
    assert [turn.number for turn in read.turns] == [turn.turn for turn in result.turns]
    for turn, kept in zip(read.turns, result.turns, strict=True):
        assert turn.decision is not None
        decision = turn.decision.decision
        assert decision is not None
        assert decision.choice("next") == kept.next
        assert decision.choice(f"{kept.tool}_input") == kept.argument
        assert decision.selection == kept.selection
        assert (turn.tool.message if turn.tool else None) == kept.failure
        assert (turn.tool.result.ref if turn.tool and turn.tool.result else None) == kept.result
    one = read.turns[0]
    assert one.progress == f"turn 1: refusing on {WHOLE} failed"
    assert one.decision is not None
    assert one.decision.decision is not None
    assert one.decision.decision.artifacts[WHOLE].endswith(f'"text":"{NOTE}"}}')
    assert one.decision.decision.described("next", "judge") == "Judges a note. It can take 1 artifact."
    assert one.decision.decision.described("next", "other") == "other"
    assert [thing.digest for thing in read.answer] == [each.digest for each in result.selected]
    assert read.measured == result.measured.as_json()
    assert read.problems == ()


async def test_a_live_run_is_read_while_it_goes_on():
    reader, decided, loop = TraceReader(), asyncio.Event(), asyncio.get_running_loop()

    def sink(line: str) -> None:
        reader.feed(line)
        if '"decision":{' in line:
            loop.call_soon_threadsafe(decided.set)

    run, _ = started(thinker(), stops_inside=("afterDecision",))
    trace = DecisionTrace.of(run, sink)
    await anext(run)
    await decided.wait()
    assert (reader.trace.state, reader.trace.turns[0].tool) == ("running", None)
    await run.finish()
    assert await trace.await_end(5)
    assert reader.trace.state == "complete"
    assert len(reader.trace.turns) == 4


async def test_what_is_not_known_is_passed_over_and_what_cannot_be_read_is_told(tmp_path):
    sink, _ = await traced()
    strange = [
        '{"type":"poem","text":"roses"}\n',
        '{"type":"job","job":{"own":false},"kind":"queued"}\n',
        "[1]\n",
        "no json\n",
        "\n",
    ]
    more = []
    for line in sink.said:
        if line.get("kind") == "queued":
            more.append({**line, "kind": "admission", "limiter": "local", "state": "held"})
        more.append({**line, "later": {"version": 2}})
        for answer in line.get("decision", {}).get("answers", {}).values():
            answer["new"] = None
        if "decision" in line:
            line["decision"]["answers"]["score"] = {"score": 1.5, "probabilities": {"0": 1}}
            line["decision"]["questions"]["score"] = {"type": "score"}
    text = "".join([*strange, *(f"{json.dumps(line)}\n" for line in more)])
    file = tmp_path / "run.ndjson"
    file.write_text(text + '{"type":"job","jo', encoding="utf-8")
    read, plain = read_trace(file), trace_of(sink.lines)
    assert read.turns == plain.turns
    assert read.answer == plain.answer
    assert [(problem.line, problem.message.partition("(")[0]) for problem in read.problems] == [
        (2, "The line names no job."),
        (3, "The line is no JSON object."),
        (4, "The line is no JSON "),
        (len(strange) + len(more) + 1, "The line is no JSON "),
    ]


async def test_a_trace_that_was_cut_off_is_a_run_that_has_not_ended(tmp_path):
    sink, _ = await traced()
    text = "".join(sink.lines)
    file = tmp_path / "run.ndjson"
    for length in range(0, len(text), 997):
        file.write_text(text[:length], encoding="utf-8")
        read = read_trace(file)
        assert read.state == "running"
        assert len(read.problems) <= 1
    newer = trace_of(['{"type":"run","format":2}'])
    assert newer.problems[0].message == "The trace is not of form 1."


def test_a_file_that_is_no_text_or_not_there_cannot_be_read(tmp_path: Path):
    with pytest.raises(TraceUnreadable, match="cannot be read"):
        read_trace(tmp_path / "none.ndjson")
    file = tmp_path / "noise.ndjson"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(TraceUnreadable, match="not UTF-8"):
        read_trace(file)
