"""The table of what a person who debugs can count on is whole, and every test it names is there and runs."""

from pathlib import Path

import pytest

from tests.tables import assert_runs, rows, source_of

TESTS = Path(__file__).parents[1]
_HELD, _LARGE = Path(__file__).with_name("debugging.md").read_text(encoding="utf-8").split("\n## ")

DELIVERED = {
    "Drivers over the pulled run",
    "Breakpoints",
    "Stepping back and the past",
    "Forks",
    "Where answers come from",
    "Watching",
    "Meters",
    "The budget before a run",
    "Test paths",
    "Run logs",
    "The view and its delay",
}
"""What the debugger is there for."""

HEADINGS = [part.partition("\n") for part in _HELD.split("\n### ")[1:]]
HELD = {heading: rows(part) for heading, _, part in HEADINGS}
LARGE = rows(_LARGE)


def test_everything_that_is_delivered_is_held():
    assert len(HELD) == len(HEADINGS)
    assert HELD.keys() == DELIVERED


@pytest.mark.parametrize("heading", HELD)
def test_it_is_held_by_tests_that_run_and_by_a_journey(heading):
    for promise, tests in HELD[heading]:
        assert tests, f"nothing holds that {promise}"
        for test in tests:
            assert_runs(test, TESTS)
    assert any(test.startswith("journeys/") for _, tests in HELD[heading] for test in tests)


def test_large_numbers_are_held_by_tests_of_their_own():
    assert LARGE
    for promise, tests in LARGE:
        assert tests, f"nothing holds that {promise}"
        assert all("@pytest.mark.soak" in source_of(test, TESTS) for test in tests)
