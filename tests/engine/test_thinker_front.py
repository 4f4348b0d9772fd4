"""Decision agents from outside: the help page, the command, and the table of rules that are held by tests."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from engine.agent import DecisionThinker, DecisionTrace, HeuristicClient, ThinkerResult
from engine.cli import app
from tests.engine.pages import ROOT, examples, run_example
from tests.engine.runs import VirtualClock
from tests.engine.thinkers import Refusing, first, started, thinker
from tests.tables import assert_runs, rows

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
PAGE = ROOT / "resources" / "help" / "decision-agent.md"
_, *_TABLES = (HERE / "rows_thinker.md").read_text(encoding="utf-8").split("\n## ")
ROWS = [row for table in _TABLES for row in rows(table)]

# How many rows each table of the specification has, besides those that have a letter.
NUMBERED = {"L": 10, "W": 4, "D": 6, "P": 12, "7.4.": 8, "7.5.": 11, "C": 6}
LETTERED = ["L1a", "L1b", "L1c", "L1d", "L1e", "W1a", "W1b"]


# ------------------------------------------------------------------------------------------ rules


def test_every_rule_has_its_row_once():
    every = [f"{group}{number}" for group, most in NUMBERED.items() for number in range(1, most + 1)]
    assert sorted(row for row, _ in ROWS) == sorted([*every, *LETTERED])


@pytest.mark.parametrize(("row", "tests"), ROWS)
def test_what_a_row_names_is_a_test_that_runs(row, tests):
    assert tests, f"{row} has no test"
    for test in tests:
        assert_runs(test, HERE)


# ------------------------------------------------------------------------------------------ the help page


async def test_the_examples_of_the_page_run(capsys):
    folder = str(ROOT / "tests" / "data" / "price-changes" / "corpus")
    names: dict[str, Any] = {"client": HeuristicClient(), "folder": folder}
    results: list[ThinkerResult[Any]] = []
    for blocks in examples(PAGE).values():
        for code in blocks:
            await run_example(code, names)
            results.append(names["result"])
    assert all(result.success for result in results)
    assert [turn.tool for turn in results[1].turns] == ["find_wishes", "finish"]
    assert capsys.readouterr().out.splitlines()[:2] == ["afterDecision 1", "afterTool 1"]
    assert names["told"].state == "complete"


def test_the_page_names_the_bounds_as_they_are():
    text = PAGE.read_text(encoding="utf-8")
    fields = DecisionThinker.__dataclass_fields__
    for name in ("max_turns", "selection_threshold", "retries", "decision_seconds", "deadline_seconds"):
        (row,) = [line for line in text.splitlines() if line.startswith("|") and f"`{name}`" in line]
        assert row.rsplit("|", 2)[1].strip() == f"{fields[name].default:g}"


def test_nothing_is_loaded_before_it_is_asked_for():
    code = (
        "import sys, engine.agent; from engine.agent import PriceChangeFinder, HeuristicClient; "
        "graphs = 'networkx' in sys.modules; PriceChangeFinder(client=HeuristicClient()); "
        "print(graphs, sorted({'httpx', 'networkx', 'PySide6', 'qasync', 'sqlite3'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout.strip() == "False ['networkx']"


# ------------------------------------------------------------------------------------------ commands


def said(*args: object) -> tuple[int, str, str]:
    """Exit code, output and errors of the command that shows a trace."""
    result = CliRunner().invoke(app, ["agents", "trace", *(str(arg) for arg in args)])
    return result.exit_code, result.stdout, result.stderr


async def stored(file: Path, *, reduced: bool = False) -> Path:
    """A run of three turns, one of them refused, as a trace in a file."""
    run, _ = started(thinker(first, palette=[Refusing], clock=VirtualClock()))
    with file.open("w", encoding="utf-8") as out:
        kept = DecisionTrace.of(run, out.write, reduced=reduced)
        await run.finish()
        assert await kept.await_end(5)
    return file


async def test_a_stored_trace_is_printed_turn_by_turn(tmp_path):
    code, out, err = said(await stored(tmp_path / "run.ndjson"))
    assert (code, err) == (0, "")
    note = '{"artifact_ref":"«artifact:note~000001»","text":"alpha is due; beta can wait"}'
    verdict = '{"artifact_ref":"«artifact:verdict~000003»","about":"alpha is due; beta can wait","keep":true}'
    assert out.splitlines() == [
        "thinker: 3 turns, complete",
        "Objective: Find what is said of alpha.",
        "Tools: refusing, judge",
        "",
        "Turn 1 (0 ms)",
        "  the answers were declared, not measured",
        "  next:",
        "  > 100%  refusing",
        "      0%  judge",
        "  on which of 1 artifact:",
        f"  > 100%  {note}",
        "  refusing refused: note 'alpha is due; beta can wait': it is not signed",
        "",
        "Turn 2 (0 ms)",
        "  the answers were declared, not measured",
        "  next:",
        "  > 100%  judge",
        "  on which of 1 artifact:",
        f"  > 100%  {note}",
        "  judge gave a list of 1 verdict",
        "",
        "Turn 3 (0 ms)",
        "  the answers were declared, not measured",
        "  what belongs in the answer, of 1 artifact:",
        f"  >  90%  {verdict}",
        "",
        "Answer:",
        f"  1. {verdict}",
        "3 decisions, 0 tokens read, free, model script.",
    ]


async def test_a_reduced_trace_is_printed_by_refs(tmp_path):
    _, out, _ = said(await stored(tmp_path / "run.ndjson", reduced=True))
    assert "What was shown to the model is in the decision records." in out
    assert "  > 100%  «artifact:note~000001»" in out
    assert "  refusing refused: no reason is told" in out
    assert "  1. «artifact:verdict~000003»" in out
    assert "alpha is due" not in out


async def test_a_trace_that_was_cut_off_is_printed_as_far_as_it_goes(tmp_path):
    file = await stored(tmp_path / "run.ndjson")
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:8]) + lines[8][:40], encoding="utf-8")
    code, out, err = said(file)
    assert code == 0
    assert "thinker: 1 turn, not ended" in out
    assert "The trace ends before the run did." in out
    assert f"{file}:9: The line is no JSON" in err


def test_of_many_options_the_likeliest_are_printed_and_the_others_counted(tmp_path):
    refs = {f"«artifact:file~{number:06}»": (100 - number) / 4000 for number in range(50)}
    job = {"id": "d", "parent": "own", "name": "Turn 1", "decision": True, "iteration": 1}
    answers = {
        "next": {"choice": "read", "probabilities": {"read": 1.0}, "confidence": 1.0},
        "read_input": {"choice": "«artifact:file~000000»", "probabilities": refs, "confidence": 0.1},
        **{f"select_{ref}": {"probability": share} for ref, share in refs.items()},
    }
    said_so: list[dict[str, Any]] = [
        {"type": "run", "format": 1, "agent": "files"},
        {"type": "job", "job": {"id": "own", "own": True}, "kind": "started"},
        {
            "type": "job",
            "job": job,
            "kind": "completed",
            "at": 5,
            "decision": {"answers": answers},
            "measured": {"calls": 1, "inputTokens": 1200, "cost": 0.5, "currency": "USD", "model": "m"},
        },
        {"type": "workflow_failed", "message": "The disk is full."},
    ]
    file = tmp_path / "run.ndjson"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in said_so), encoding="utf-8")
    code, out, _ = said(file)
    assert code == 0
    assert "  on which of 50 artifacts:" in out
    assert "    and 42 more, each at 2% or less" in out
    assert "    and 38 more, each at 2% or less" in out
    assert "Failed: The disk is full." in out
    assert out.splitlines()[-1] == "1 decision, 1,200 tokens read, 0.5 USD, model m."


def test_a_decision_that_failed_and_an_empty_answer_are_told(tmp_path):
    job = {"id": "d", "parent": "own", "name": "Turn 1", "decision": True, "iteration": 1}
    own: dict[str, Any] = {"type": "job", "job": {"id": "own", "own": True}, "kind": "started"}
    begun: dict[str, Any] = {"type": "job", "job": job, "kind": "started", "attempt": 2}
    ended = {"type": "job", "job": job, "kind": "failed", "message": "The model is overloaded."}
    tool = {"id": "t", "parent": "own", "name": "read", "tool": "read", "iteration": 1}
    late = {"type": "job", "job": tool, "kind": "timed_out"}
    file = tmp_path / "run.ndjson"
    lines = [own, begun, ended, late, {"type": "workflow_complete", "answer": []}]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    _, out, _ = said(file)
    assert "Turn 1 (0 ms), asked 2 times" in out
    assert "  no decision: The model is overloaded." in out
    assert "  read took too long: no reason is told" in out
    assert "Answer: nothing was selected." in out
    assert out.splitlines()[-1] == "0 decisions, 0 tokens read, cost not known, model not known."


def test_what_is_no_trace_is_told(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text('{"type":"poem"}\n')
    code, out, err = said(file)
    assert (code, out) == (1, "")
    assert "holds no trace" in err
    code, _, err = said(tmp_path / "none.ndjson")
    assert code == 2
    assert "cannot be read" in err


def test_words_are_counted_where_that_is_asked_for(tmp_path):
    sample = ROOT / "samples" / "evidence-classification"
    options = [sample / "tree.json", "--trust", "--json"]
    result = CliRunner().invoke(app, ["run", *map(str, options), "--decider", "heuristic"])
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["outcome"], told["usage"]["llmCalls"]) == ("Terminal", 1)
    assert sum(told["classifications"][0]["probabilities"]) == pytest.approx(1)
    wrong = CliRunner().invoke(app, ["run", *map(str, options), "--decider", "heuristic", "--model", "m"])
    assert wrong.exit_code == 2
    assert "'model' is for models" in " ".join(wrong.stderr.split())
