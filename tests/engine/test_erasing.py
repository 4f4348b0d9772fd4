"""Erasing decisions from run logs: blanked where others stay, nothing kept where none does."""

import json
from pathlib import Path

import pytest

from engine import AttemptCompleted, ClassificationCompleted
from engine.evaluate import RunLog, blanked, read_run_log, write_run_log
from tests.engine.recordings import recorded_run

pytestmark = pytest.mark.anyio


def decided(log: RunLog) -> list[str]:
    return [e.classification.decision_id for e in log.events if isinstance(e, ClassificationCompleted)]


async def logs(least: int) -> list[RunLog]:
    """Some recorded runs with so many decisions or more."""
    found = [await recorded_run(seed) for seed in range(120)]
    return [log for log in found if len(set(decided(log))) >= least][:10]


async def test_of_a_decision_that_is_blanked_only_its_place_in_the_run_is_left(tmp_path: Path):
    some = await logs(2)
    assert some
    for log in some:
        gone, *others = decided(log)
        left = blanked(log, {gone})
        assert left is not None
        path = tmp_path / "run.jsonl"
        write_run_log(path, left)
        assert gone not in path.read_text()
        again = read_run_log(path)
        assert again.problems == ()
        assert decided(again) == ["[erased]", *others]
        assert [v.node for v in again.trail.path] == [v.node for v in log.trail.path]
        for before, after in zip(log.events, again.events, strict=True):
            if isinstance(before, AttemptCompleted) and before.decision_id == gone:
                assert isinstance(after, AttemptCompleted)
                assert {message.content for message in after.attempt.messages} <= {"[erased]"}
                assert after.attempt.content in (None, "", "[erased]")


async def test_a_log_all_of_whose_decisions_are_erased_is_not_kept():
    for log in await logs(2):
        *first, last = dict.fromkeys(decided(log))
        assert blanked(log, {*first, last}) is None
        left = blanked(log, set(first))
        assert left is not None
        assert blanked(left, {last}) is None


async def test_other_decisions_are_left_as_they_are():
    (log, *_) = await logs(1)
    left = blanked(log, {"another"})
    assert left is not None
    assert json.dumps(decided(left)) == json.dumps(decided(log))
    assert left.events == log.events
