"""The table of rows: each conformance case and each rule of the runtime has a test, and none is skipped."""

from pathlib import Path

import pytest

from tests.tables import assert_runs, rows

HERE = Path(__file__).parent
_, _CASES, _RULES = (HERE / "rows.md").read_text(encoding="utf-8").split("\n## ")

# How many cases each group of the specification has; two of the X rows belong to the agent runtime.
GROUPS = {"L": 26, "P": 19, "R": 10, "E": 39, "F": 20, "D": 11, "V": 4, "X": 21}
ELSEWHERE = {"X18", "X20"}

CASES, RULES = rows(_CASES), rows(_RULES)


def test_every_conformance_case_has_its_row():
    every = {f"{group}{number}" for group, most in GROUPS.items() for number in range(1, most + 1)}
    assert {row for row, _ in CASES} == every - ELSEWHERE


@pytest.mark.parametrize(("row", "tests"), [*CASES, *RULES])
def test_what_a_row_names_is_a_test_that_runs(row, tests):
    assert tests, f"{row} has no test"
    for test in tests:
        assert_runs(test, HERE)


def test_no_row_stands_twice():
    for table in (CASES, RULES):
        names = [row for row, _ in table]
        assert len(names) == len(set(names))
