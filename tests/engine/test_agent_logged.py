"""What an agent tells within the run of a tree is kept whole in its log, and only named elsewhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.agent import (
    AgentRunStarted,
    GateResult,
    IdempotentToolExecutor,
    Progressed,
    ToolResult,
    Validation,
)
from engine.budget import Limits
from engine.evaluate import RunLog, read_run_log, write_run_log
from engine.events import Event, ForeignEvent, NodeStarted, RunStarted, SubRunEvent
from engine.events.codec import event_of, json_of
from engine.llm import Completion
from engine.treefile import tree_hash
from tests.builders import action, terminal, tree
from tests.engine.agents import Remembers, agent, calls, events, lines, of, request
from tests.engine.deciding import unavailable
from tests.engine.pages import ROOT
from tests.engine.runs import VirtualClock

pytestmark = pytest.mark.anyio

TREE = tree(do=action("agent", success="end"), end=terminal("end"))


class Once:
    """Sends the first result back, and finds the second one valid."""

    name = "once"

    def __init__(self) -> None:
        self.asked = 0

    async def evaluate(self, _context: object, _result: object) -> GateResult:
        self.asked += 1
        return GateResult(approved=self.asked > 1, retry=True, reason="Once more.")

    async def validate(self, _context: object, _result: object) -> Validation:
        return Validation()


async def told() -> list[Event]:
    """What is told where a model fails, tools are used, known and refused, and a result is sent back."""
    once, twice = Once(), ("lookup", {"plan": {"name": "Pro", "seats": [1, None, 2.5]}})
    made = agent(
        [
            unavailable(),
            calls(twice, twice, "guarded", "nothing"),
            "Five.",
            Completion("Six.", "stop", None, 9, 4),
        ],
        settings={
            "model": "a",
            "model_fallback_chain": ("b",),
            "enable_model_failover": True,
            "max_turns": 4,
        },
        tools=(Remembers("lookup", "5 EUR"), Remembers("guarded", requires_approval=True)),
        executor=IdempotentToolExecutor(),
        gates=(once,),
        validators=(once,),
    )
    return await events(made, request(allowed_tools=("lookup", "guarded")))


def within(inner: list[Event]) -> RunLog:
    """The log of a run of a tree in which all this happened."""
    at = VirtualClock().now()
    began = RunStarted("a" * 32, at, TREE, tree_hash(TREE), Limits(), {}, {}, ())
    visit = NodeStarted("a" * 32, at, "do", "action", 1)
    return RunLog((began, visit, *(SubRunEvent("a" * 32, at, "do", 1, event) for event in inner)))


async def test_a_log_keeps_all_of_it(tmp_path: Path):
    log = within(await told())
    write_run_log(tmp_path / "run.log", log)
    read = read_run_log(tmp_path / "run.log")
    assert read.problems == ()
    assert [type(e.event) for e in of(SubRunEvent, read.events)] == [
        type(e.event) for e in of(SubRunEvent, log.events)
    ]
    assert [json_of(event, whole=True) for event in read.events] == [
        json_of(event, whole=True) for event in log.events
    ]
    assert read.events[2] == log.events[2]


async def test_where_a_record_may_be_kept_it_is_only_named():
    written = [json.dumps(json_of(event)) for event in within(await told()).events[2:]]
    assert not any(
        word in record for record in written for word in ("pricing", "EUR", "Five", "once", 'Pro"')
    )
    assert {json.loads(record)["event"]["eventType"] for record in written} >= {"ToolCompleted", "Progressed"}


async def test_a_record_that_is_no_more_than_named_is_read():
    for event in within(await told()).events[2:]:
        record = json_of(event)
        read = event_of(record)
        assert isinstance(read, SubRunEvent)
        assert type(read.event) is ForeignEvent
        assert json_of(read) == record


def copied_by_another(source: Path, target: Path) -> str:
    """Have a process that loads no agents read a log and write it again; whether it had them."""
    code = (
        "import sys; from pathlib import Path; from engine.evaluate import read_run_log, write_run_log; "
        "write_run_log(Path(sys.argv[2]), read_run_log(Path(sys.argv[1]))); "
        "print('engine.agent.events' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(source), str(target)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()


def records(file: Path) -> list[object]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


async def test_a_program_that_knows_no_agents_keeps_what_they_told(tmp_path: Path):
    write_run_log(tmp_path / "run.log", within(await told()))
    assert copied_by_another(tmp_path / "run.log", tmp_path / "again.log") == "False"
    assert records(tmp_path / "again.log") == records(tmp_path / "run.log")


async def test_the_first_event_tells_what_bounds_the_run():
    (started,) = of(AgentRunStarted, await told())
    bounds = (started.max_turns, started.max_rounds, started.max_llm_calls, started.deadline)
    assert bounds == (4, 2, 8, 600.0)


async def test_lines_about_a_call_say_which_and_what_is_told_of_it_where_no_tool_was_used():
    happened = await told()
    about = [(e.call, e.result, e.cached) for e in of(Progressed, happened) if e.call is not None]
    refused = ToolResult(error="This tool needs an approval, which was not given.")
    assert about == [
        ("call_0", None, False),
        ("call_0", None, False),
        ("call_1", None, False),
        ("call_1", ToolResult("5 EUR"), True),
        ("call_2", None, False),
        ("call_2", refused, False),
    ]
    assert "  lookup reused cached result: 5 EUR" in lines(happened)
