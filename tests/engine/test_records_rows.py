"""The table of facts about records: each has a test, and none is skipped."""

from pathlib import Path

import pytest

from tests.tables import assert_runs, rows

HERE = Path(__file__).parent

_FACTS, _RULES = (HERE / "rows_records.md").read_text(encoding="utf-8").split("## Rules")
FACTS, RULES = rows(_FACTS), rows(_RULES)

# The numbers of each group; those of evaluation have their tests elsewhere.
GROUPS = {
    "R": [*range(1, 75)],
    "Q": [*range(1, 13), *range(20, 35), *range(40, 44)],
    "W": [*range(1, 11), *range(20, 28), *range(30, 46)],
    "T": [*range(1, 16), *range(17, 21), 22, 23, 24],
}


def test_every_fact_has_its_row_once():
    every = [f"{group}{number:02}" for group, numbers in GROUPS.items() for number in numbers]
    assert [fact for fact, _ in FACTS] == every


def test_there_are_rules_beside_the_facts():
    assert len(RULES) == 10


@pytest.mark.parametrize(("fact", "tests"), [*FACTS, *RULES])
def test_what_a_fact_names_is_a_test_that_runs(fact, tests):
    assert tests, f"{fact} has no test"
    for test in tests:
        assert_runs(test, HERE.parent if "/" in test else HERE)
