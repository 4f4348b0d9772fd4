"""Run logs: what is written comes back, damage costs only what follows it, and nobody else can read them."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from engine import (
    ActionResult,
    AttemptCompleted,
    ClassificationCompleted,
    DocumentRefused,
    Event,
    Inputs,
    Limits,
    NodeVisited,
    RunStarted,
    Tree,
    json_of,
    tree_hash,
)
from engine.evaluate import RunLog, logs, read_run_log, write_run_log
from tests.builders import demo_tree, evidence_tree, trees
from tests.engine.deciding import BAD, OK
from tests.engine.recordings import recorded_run
from tests.engine.runs import START, Does, collect, evidence, start

pytestmark = pytest.mark.anyio


async def events_of(tree: Tree | None = None, replies: Any = (BAD, OK), **more: Any) -> tuple[Event, ...]:
    """The events of a run of the demo tree that asks twice."""
    events: list[Event] = []
    asking = (tree or demo_tree()).replace(budget=None)
    await start(asking, list(replies), events=events, **{"actions": [collect()], **more}).finish()
    return tuple(events)


def whole(events: tuple[Event, ...]) -> list[Any]:
    return [json_of(event, whole=True) for event in events]


def reread(path: Path, events: tuple[Event, ...], **more: Any) -> RunLog:
    write_run_log(path, RunLog(events, **more))
    return read_run_log(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


async def test_what_is_written_comes_back(path):
    inputs = Inputs(
        parameters={"subject": "Zoë"},
        properties={"weights": [1, 2.5, None], "b\nad": "x", "half": "\ud800"},
        data=(evidence("A note", created_at=START, metadata={"a": "b"}),),
    )
    events = await events_of(inputs=inputs)
    log = reread(path, events, decider="Ada", case="first")
    assert whole(log.events) == whole(events)
    assert (log.decider, log.case, log.problems) == ("Ada", "first", ())
    assert log.start.tree == demo_tree().replace(budget=None)
    assert log.result is not None
    assert (log.result.verdict, log.trail.result) == ("supported", log.result)


@pytest.mark.parametrize("seed", range(40))
async def test_any_run_can_be_saved_and_reopened(seed, path):
    log = await recorded_run(seed)
    write_run_log(path, log)
    back = read_run_log(path)
    assert whole(back.events) == whole(log.events)
    assert back.problems == ()


@settings(max_examples=40, deadline=None)
@given(trees())
def test_any_tree_comes_back_as_it_was(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("logs") / "run.jsonl"
    started = RunStarted(
        execution_id="run-1",
        at=START,
        tree=tree,
        tree_hash=tree_hash(tree),
        limits=Limits(),
        parameters={},
        properties={},
        data=(),
    )
    assert reread(path, (started,)).start == started


async def test_a_run_that_goes_on_can_be_saved_too(path):
    events = (await events_of())[:5]
    log = reread(path, events)
    assert whole(log.events) == whole(events)
    assert (log.result, log.problems) == (None, ())


async def test_the_header_says_what_the_log_is_of_and_holds_its_tree_once(path):
    events = await events_of()
    write_run_log(path, RunLog(events, "Ada"))
    header, first, *_ = map(json.loads, path.read_text().splitlines())
    assert {name: header[name] for name in ("kind", "format", "started", "decider", "case")} == {
        "kind": "treewright-run",
        "format": 1,
        "started": events[0].at.isoformat(),
        "decider": "Ada",
        "case": None,
    }
    assert header["tree"]["treeId"] == "demo-evidence-tree"
    assert "tree" not in first


async def test_each_line_of_a_question_carries_its_decision_id(path):
    events = await events_of()
    write_run_log(path, RunLog(events))
    asked = [e for e in events if isinstance(e, AttemptCompleted | ClassificationCompleted)]
    asked += [e for e in events if isinstance(e, NodeVisited) and e.visit.node == "classify"]  # type: ignore[misc]
    records = [json_of(event, whole=True) for event in asked]
    (decision,) = {record["decisionId"] for record in records}
    assert len(records) == 4
    assert path.read_text().count(f'"{decision}"') >= len(records)


async def test_only_the_owner_may_read_a_log(path):
    path.write_text("old")
    path.chmod(0o644)
    reread(path, await events_of())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_log_is_written_whole_or_not_at_all(path, monkeypatch):
    events = await events_of()
    write_run_log(path, RunLog(events, "first"))
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("The disk is full.")))
    with pytest.raises(OSError, match="full"):
        write_run_log(path, RunLog(events, "second"))
    assert read_run_log(path).decider == "first"
    assert [*path.parent.iterdir()] == [path]


async def test_a_log_behind_a_link_stays_behind_it(path, tmp_path):
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    assert reread(link, await events_of()).problems == ()
    assert link.is_symlink()
    assert path.exists()


# ------------------------------------------------------------------------------------------ damage


async def lines_of(path: Path) -> list[bytes]:
    events = await events_of()
    write_run_log(path, RunLog(events))
    with path.open("rb") as file:
        return file.readlines()


async def test_a_last_line_that_is_cut_off_costs_only_itself(path):
    lines = await lines_of(path)
    path.write_bytes(b"".join(lines)[:-20])
    log = read_run_log(path)
    assert len(log.events) == len(lines) - 2
    (problem,) = log.problems
    assert (problem.code, problem.line) == ("run-log-cut", len(lines))
    assert problem.message == f"Line {len(lines)} is cut off."


@pytest.mark.parametrize(
    "damage",
    [b"nonsense", b"[]", b"", b"\xff", b'{"eventType": 5}', b'{"eventType": "DecisionRunEnded"}', b"[" * 5000,
     b'{"eventType": "DecisionNodeStarted", "executionId": 5}', b'{"a": NaN}'],
)  # fmt: skip
async def test_a_damaged_line_ends_the_log_before_it(damage, path):
    lines = await lines_of(path)
    path.write_bytes(b"".join([*lines[:4], damage + b"\n", *lines[5:]]))
    log = read_run_log(path)
    assert len(log.events) == 3
    (problem,) = log.problems
    assert (problem.code, problem.severity, problem.line) == ("run-log-line", "warning", 5)
    assert problem.message == f"Line 5 cannot be read; it and the {len(lines) - 5} after it are left out."


@pytest.mark.parametrize("lost", range(2, 12))
async def test_a_lost_line_ends_the_log_there(lost, path):
    lines = await lines_of(path)
    path.write_bytes(b"".join([*lines[:lost], *lines[lost + 1 :]]))
    log = read_run_log(path)
    assert len(log.events) >= lost - 1
    told = [(problem.code, problem.line) for problem in log.problems]
    # That an attempt is missing cannot be seen: nothing has to follow it.
    assert told in ([("run-log-order", lost + 1)], [("run-log-order", lost + 2)], [])


async def test_lines_in_another_order_or_of_another_run_end_the_log(path):
    lines = await lines_of(path)
    other = [json.dumps({**json.loads(line), "executionId": "other"}).encode() + b"\n" for line in lines]
    for changed in (
        [*lines[:2], lines[3], lines[2], *lines[4:]],
        [*lines[:3], other[3], *lines[4:]],
        [*lines[:3], lines[2], *lines[3:]],
        [*lines, lines[-1]],
    ):
        path.write_bytes(b"".join(changed))
        assert [problem.code for problem in read_run_log(path).problems] == ["run-log-order"]


@pytest.mark.parametrize("member", ["nodeId", "nextNodeId", "visit"])
async def test_a_log_names_only_visits_its_tree_can_have(member, path):
    lines = await lines_of(path)
    at = next(number for number, line in enumerate(lines) if b'"DecisionNodeVisited"' in line)
    wrong: object = 7 if member == "visit" else "nowhere"
    lines[at] = json.dumps({**json.loads(lines[at]), member: wrong}).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    (problem,) = read_run_log(path).problems
    assert (problem.code, problem.line) == ("run-log-order", at + 1)


async def test_the_result_of_a_log_is_that_of_its_path(path):
    lines = await lines_of(path)
    end = json.loads(lines[-1])
    lines[-1] = json.dumps({**end, "path": end["path"][1:]}).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    log = read_run_log(path)
    assert [problem.code for problem in log.problems] == ["run-log-order"]
    assert log.result is None


# ------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize("text", [b"", b"\n", b"{}\n", b"[]\n", b"nonsense", b'{"kind": "treewright-run"}\n'])
def test_what_is_no_log_is_refused(text, path):
    path.write_bytes(text)
    with pytest.raises(DocumentRefused) as refused:
        read_run_log(path)
    assert (refused.value.code, refused.value.message) == ("run-log-none", "This file is no run log.")


async def test_a_log_of_a_newer_form_is_refused_politely(path):
    lines = await lines_of(path)
    path.write_bytes(
        b"".join([json.dumps({**json.loads(lines[0]), "format": 2}).encode(), b"\n", *lines[1:]])
    )
    with pytest.raises(DocumentRefused) as refused:
        read_run_log(path)
    assert refused.value.code == "run-log-newer"
    assert refused.value.message == "This log is of form 2; this version knows form 1 at most."


@pytest.mark.parametrize(
    "changed", [{"tree": {"treeId": "other"}}, {"tree": 5}, {"treeHash": "0"}, {"tree": None}]
)
async def test_a_log_whose_tree_is_not_that_of_the_run_is_refused(changed, path):
    lines = await lines_of(path)
    path.write_bytes(b"".join([json.dumps({**json.loads(lines[0]), **changed}).encode(), b"\n", *lines[1:]]))
    with pytest.raises(DocumentRefused) as refused:
        read_run_log(path)
    assert refused.value.code == "run-log-tree"


async def test_a_log_without_an_event_is_refused(path):
    lines = await lines_of(path)
    for rest, message in ((b"", "The log holds no event."), (b"nonsense", "Line 2 is cut off.")):
        path.write_bytes(lines[0] + rest)
        with pytest.raises(DocumentRefused, match=message):
            read_run_log(path)


async def test_a_log_that_is_too_large_is_refused(path, monkeypatch):
    await lines_of(path)
    monkeypatch.setattr(logs, "MAX_BYTES", 1_000)
    with pytest.raises(DocumentRefused, match="larger than"):
        read_run_log(path)


def test_a_file_that_is_not_there_is_an_error_of_the_system(path):
    with pytest.raises(FileNotFoundError):
        read_run_log(path)


async def test_a_log_begins_with_the_start_of_a_run():
    events = await events_of(evidence_tree(), [OK], actions=[Does("collectEvidence", ActionResult())])
    for wrong in ((), events[1:]):
        with pytest.raises(ValueError, match="begin with its start"):
            RunLog(wrong)
