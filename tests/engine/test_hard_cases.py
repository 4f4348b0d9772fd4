"""Places where a fault would be silent: each was one once."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from engine import (
    Budget,
    Catalog,
    CatalogError,
    Decision,
    DocumentRefused,
    Inputs,
    Limits,
    Question,
    Tree,
    read_tree,
)
from tests.builders import action, as_bytes, as_json, classify, condition_tree, one_terminal, terminal, tree
from tests.engine.runs import Calls, ended

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent


def test_a_lone_surrogate_is_refused_also_beside_an_escaped_backslash():
    text = as_bytes(as_json(one_terminal())).replace(b'"done"', rb'"\ud800\\\udc00"')
    with pytest.raises(DocumentRefused) as refused:
        read_tree(text)
    assert refused.value.code == "json-surrogate"


@pytest.mark.parametrize(
    "limits", [Limits(node_visits=0), Limits(llm_calls=-1), Limits(elapsed=0), Limits(context_tokens=0)]
)
async def test_limits_no_tree_may_have_are_refused_whoever_set_them(limits):
    result = await ended(tree(end=terminal("done")), limits=limits)
    assert (result.outcome, result.failure_kind, result.usage.node_visits) == (
        "ValidationFailed",
        "validation",
        0,
    )


async def test_a_budget_of_the_inputs_no_tree_may_have_is_refused():
    result = await ended(tree(end=terminal("done")), inputs=Inputs(budget=Budget(max_node_visits=-1)))
    assert (result.outcome, result.failure_kind) == ("ValidationFailed", "validation")


async def test_an_action_that_leaves_the_program_has_failed_and_the_run_goes_on():
    def leave(_context):
        sys.exit(0)

    result = await ended(condition_tree(), actions=[Calls("collectEvidence", leave)])
    assert (result.outcome, result.verdict) == ("Terminal", "failed")


async def test_state_no_json_can_hold_is_told_as_text():
    def tangle(context):
        loop: list[object] = []
        loop.append(loop)
        context.properties["loop"] = loop
        context.properties["half"] = "a\ud800b"

    only = tree(act=action("act", success="end"), end=terminal("done"))
    result = await ended(only, actions=[Calls("act", tangle)])
    assert result.succeeded
    told = result.as_json()["stateProperties"]
    assert isinstance(told, dict)
    assert set(told) == {"loop", "half"}


class Own:
    """A decider that never asks the desk."""

    def __init__(self, decision: Any) -> None:
        self.decision = decision

    def for_run(self) -> "Own":
        return self

    async def decide(self, question: Question) -> Decision:
        if isinstance(self.decision, BaseException):
            raise self.decision
        return cast("Decision", self.decision)


def asking() -> Tree:
    return tree(ask=classify("Yes?", {"yes": "end"}, unknown="end"), end=terminal("done"))


async def test_an_own_decider_is_charged_by_its_own_word():
    result = await ended(asking(), decider=Own(Decision("yes", llm_calls=3)))
    assert (result.outcome, result.usage.llm_calls) == ("Terminal", 3)


async def test_an_own_decider_cannot_pass_the_call_limit():
    result = await ended(asking(), decider=Own(Decision("yes", llm_calls=3)), limits=Limits(llm_calls=2))
    assert (result.outcome, result.exceeded) == ("BudgetExhausted", "llmCalls")


async def test_a_decider_that_decides_nothing_is_told_by_its_node():
    result = await ended(asking(), decider=Own(None))
    assert (result.outcome, result.error) == ("ValidationFailed", "Node 'ask' was given no decision.")


async def test_a_cancellation_nobody_asked_for_is_a_failure():
    result = await ended(asking(), decider=Own(asyncio.CancelledError()))
    assert result.outcome == "ValidationFailed"


def test_an_action_of_a_project_that_is_no_coroutine_is_refused_by_name(tmp_path):
    path = tmp_path / "catalog.py"
    path.write_text(
        "from engine import ActionResult, action\n\n"
        "@action('doIt')\ndef do(context):\n    return ActionResult()\n"
    )
    with pytest.raises(CatalogError, match="'doIt' must be an 'async def'"):
        Catalog().with_module(path)


def checked(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "engine", *arguments], cwd=ROOT, capture_output=True, timeout=60, check=False
    )


def test_what_a_projects_code_prints_is_kept_out_of_the_output(tmp_path):
    (tmp_path / "tree.json").write_bytes(as_bytes(as_json(one_terminal())))
    (tmp_path / "treewright.json").write_text('{"format": 1, "catalog": ["catalog.py"]}')
    (tmp_path / "catalog.py").write_text("print('noise')\n")
    done = checked("check", str(tmp_path / "tree.json"), "--json", "--trust")
    assert (done.returncode, b"noise" in done.stdout, b"noise" in done.stderr) == (0, False, True)


def test_code_of_a_project_that_leaves_the_program_is_a_catalog_that_cannot_be_loaded(tmp_path):
    (tmp_path / "tree.json").write_bytes(as_bytes(as_json(one_terminal())))
    (tmp_path / "treewright.json").write_text('{"format": 1, "catalog": ["catalog.py"]}')
    (tmp_path / "catalog.py").write_text("import sys\nsys.exit(0)\n")
    assert checked("check", str(tmp_path / "tree.json"), "--trust").returncode == 1


def test_a_source_without_an_end_is_refused_for_its_size():
    done = checked("check", "/dev/zero", "--json")
    assert (done.returncode, b"json-too-large" in done.stdout) == (2, True)
