"""The front of agents: its names, its help page, and the table of rules that are held by tests."""

import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import engine.agent
from engine.agent import AgentSettings, ExecutionStatus, FailureKind
from tests.engine.agents import calls
from tests.engine.deciding import FakeClient
from tests.engine.pages import ROOT, examples, run_example
from tests.engine.test_front import documented, home_of
from tests.tables import assert_runs, rows

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
PAGE = ROOT / "resources" / "help" / "agents.md"
_, *_TABLES = (HERE / "rows_agent.md").read_text(encoding="utf-8").split("\n## ")
TABLES = {table.partition("\n")[0]: rows(table) for table in _TABLES}
ROWS = [row for table in TABLES.values() for row in table]

# How many rows each table of the specification has.
NUMBERED = {"A": 12, "8.1.": 9, "8.2.": 14, "8.3.": 3, "8.4.": 6, "8.5.": 8, "8.6.": 11, "8.7.": 5}
NUMBERED |= {"8.8.": 14, "8.9.": 1, "S": 8, "C": 6}


# ------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize("name", engine.agent.__all__)
def test_every_public_name_can_be_had_and_is_documented(name):
    assert getattr(engine.agent, name) is not None
    assert name in documented(home_of(name, f"engine.{engine.agent._HOME_OF[name]}"))


def test_the_names_are_listed_in_order_and_others_are_refused():
    assert engine.agent.__all__ == sorted(set(engine.agent.__all__))
    with pytest.raises(AttributeError, match=r"'engine\.agent' has no attribute 'nothing'"):
        _ = engine.agent.nothing


def test_nothing_is_loaded_before_it_is_asked_for():
    code = (
        "import sys, engine.agent; before = [n for n in sys.modules if n.startswith('engine.agent.')]; "
        "engine.agent.Agent().start(engine.agent.AgentRequest('goal')); "
        "print(before, sorted({'httpx', 'networkx', 'PySide6', 'qasync'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout.strip() == "[] []"


# ------------------------------------------------------------------------------------------ settings


def test_an_agent_is_set_as_in_the_reference_unless_told_otherwise():
    settings = AgentSettings()
    assert (settings.max_turns, settings.temperature, settings.max_quality_retries) == (8, 0.1, 1)
    assert (settings.completion_timeout_seconds, settings.idle_timeout_seconds) == (60, 30)
    assert (settings.tool_max_retries, settings.tool_timeout_seconds) == (0, None)
    assert settings.enable_model_failover is False
    assert 0 < len(settings.system_prompt) < 200


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("system_prompt", "Be exact."),
        ("max_turns", 3),
        ("temperature", 0.5),
        ("model", "large"),
        ("model_fallback_chain", ["b"]),
        ("enable_model_failover", True),
        ("completion_timeout_seconds", 5),
        ("idle_timeout_seconds", 2.5),
        ("max_quality_retries", 0),
        ("tool_timeout_seconds", 7),
        ("tool_max_retries", 2),
        ("max_llm_calls", 0),
        ("deadline_seconds", 9),
        ("max_tokens", 50),
        ("planner", "sequential"),
    ],
)
def test_a_request_may_name_every_setting(key, value):
    given = getattr(AgentSettings().within({key: value, "other": 1}), key)
    assert given == (tuple(value) if isinstance(value, list) else value)


def test_a_project_writes_settings_in_its_own_spelling():
    assert AgentSettings.model_validate({"maxTurns": 3, "systemPrompt": "Be exact."}).max_turns == 3


def test_every_way_to_fail_and_to_stand_has_its_word():
    assert set(get_args(FailureKind)) == {
        *("NoFailure", "LlmTimeout", "LlmError", "FailoverExhausted", "TurnLimitExceeded", "Cancelled"),
        *("PolicyBlocked", "InputValidationFailed", "Unknown"),
        # ours
        *("QualityRejected", "ResultRejected", "CallLimitExceeded", "DeadlineExceeded"),
    }
    assert set(get_args(ExecutionStatus)) == {
        *("Pending", "Running", "Completed", "Failed", "Blocked", "TimedOut", "Cancelled")
    }


# ------------------------------------------------------------------------------------------ the help page


async def test_the_examples_of_the_page_run(capsys):
    price = calls(("priceOf", {"plan": "Pro"}))
    replies: list[Any] = [
        *(price, "Pro is 5 EUR."),
        *("5 EUR.", "The plan Pro costs 5 EUR."),
        *(price, "Pro is 5 EUR."),
    ]
    names: dict[str, Any] = {"client": FakeClient(replies)}
    outputs = []
    for blocks in examples(PAGE).values():
        for code in blocks:
            await run_example(code, names)
            outputs.append(names["result"].output)
    assert outputs[:2] == ["Pro is 5 EUR.", "The plan Pro costs 5 EUR."]
    assert "  priceOf succeeded: Pro is 5 EUR" in names["lines"]
    assert capsys.readouterr().out == "beforeTool 1\nafterTool 1\n"
    assert replies == []


def test_the_page_names_the_bounds_as_they_are():
    text = PAGE.read_text(encoding="utf-8")
    for name in ("max_turns", "max_quality_retries", "deadline_seconds", "tool_max_retries"):
        (row,) = [line for line in text.splitlines() if line.startswith("|") and f"`{name}`" in line]
        default = f"{AgentSettings.model_fields[name].default:g}"
        assert default in row.rsplit("|", 2)[1]


# ------------------------------------------------------------------------------------------ rules


def test_every_rule_has_its_row_once():
    every = [f"{group}{number}" for group, most in NUMBERED.items() for number in range(1, most + 1)]
    assert sorted(row for row, _ in ROWS) == sorted([*every, "X18", "X20"])


@pytest.mark.parametrize(("row", "tests"), ROWS)
def test_what_a_row_names_is_a_test_that_runs(row, tests):
    assert tests, f"{row} has no test"
    for test in tests:
        assert_runs(test, HERE)
