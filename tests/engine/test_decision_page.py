"""The help page about decision models: its examples run, and its table is the profiles there are."""

import re
from typing import Any

import pytest

from engine import PROFILES, DecisionResult, load_project
from engine.records import ChoiceAnswer, NoulAnswer, ScoreAnswer
from tests.engine.pages import ROOT, examples, run_example
from tests.engine.systemone import FakeDecisionClient

PAGE = ROOT / "resources" / "help" / "decision-models.md"

ANSWERS = (
    NoulAnswer("is_urgent", 0.9, 0.8),
    ChoiceAnswer("queue", 1, 0.8, (0.2, 0.8)),
    ScoreAnswer("mood", 1, 1.2, 0.6, (0.1, 0.6, 0.3)),
)


@pytest.mark.anyio
async def test_the_examples_run_one_after_the_other(monkeypatch, capsys):
    client = FakeDecisionClient(DecisionResult(answers=ANSWERS))
    monkeypatch.setattr("engine.SystemOneClient", lambda _settings: client)
    names: dict[str, Any] = {}
    for title, blocks in examples(PAGE).items():
        for code in blocks:
            assert len(code.splitlines()) < 15, title
            await run_example(code, names)
    printed = capsys.readouterr().out
    assert "0.9 Lane.Technical 1.2" in printed
    assert "Write to [email]" in printed
    assert names["sink"].decisions == ()
    assert len(client.requests) == 2


def test_the_table_names_every_profile_with_the_variable_of_its_key():
    rows = re.findall(r"^\| `(\S+)` \|.*\| (?:`(\w+)`|[\w ]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert dict(rows) == {name: profile.key_variable or "" for name, profile in PROFILES.items()}


def test_the_settings_of_a_tree_are_those_a_project_has(tmp_path):
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "treewright.json").write_text(shown)
    project = load_project(tmp_path)
    assert project.problems == ()
    assert project.trees["support"].classify["route"].min_confidence == 0.5
