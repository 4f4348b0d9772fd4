"""The table of what an author can count on is whole, and every test it names is there and runs."""

import re
from pathlib import Path

import pytest

from tests.tables import assert_runs, rows

TESTS = Path(__file__).parents[1]
_, _AUTHORING, _VALIDATION, _REPORTS, _ELSEWHERE = (
    (Path(__file__).with_name("authoring.md")).read_text(encoding="utf-8").split("\n## ")
)

FEATURES = {
    "Undo and redo, one gesture is one step",
    "A correct mark for changes",
    "Copy and paste within and between trees",
    "Type to add, and a branch dropped on free ground",
    "Renaming an id everywhere",
    "Search ids, labels, tasks, answers, predicate keys",
    "Outline beside the canvas",
    "Map, back and forward, fit, full size",
    "Automatic layout",
    "Readable branches",
    "Notes and frames",
    "Export of the whole canvas",
    "Files that stay as they were",
    "Saving whole or not at all, recovery, asking before closing",
    "Changes by other programs",
    "Keyboard-only authoring",
    "Large trees",
    "A live list of problems that leads to the field",
    "A reason whenever something cannot be done",
    "Quick fixes",
    "Reachability, terminal-reaching cycles, exact required transitions",
    "Same checks headless",
    "Static budget analysis",
    "Behaviour lint",
}
"""The rows about authoring and validation in the table of what people expect."""

REPORTS = {
    *(1, 3, 4, 6, 7, 9, 10, 12, 14, 15, 17, 18, 20, 21, 23, 24, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40, 41),
    *(43, 44, 46),
}
"""The numbers of the public reports that are to be got right."""

HERE = {4, 10, 12, 14, 15, 17, 18, 20, 21, 38, 40, 41, 43}
"""Those that are about authoring whatever else is."""

HEADINGS = [part.partition("\n") for part in f"{_AUTHORING}\n{_VALIDATION}".split("\n### ")[1:]]
HELD = {heading: rows(part) for heading, _, part in HEADINGS}
REPORTED = rows(_REPORTS)
ELSEWHERE = dict(re.findall(r"^- (.+): issue (\d)$", _ELSEWHERE, flags=re.MULTILINE))


def test_every_feature_is_held_here_or_elsewhere():
    assert len(HELD) == len(HEADINGS)
    elsewhere = {name for name in ELSEWHERE if not name.startswith("Report ")}
    assert HELD.keys() | elsewhere == FEATURES
    assert not HELD.keys() & elsewhere


def test_every_report_is_held_here_or_elsewhere():
    here = [int(number) for number, _ in REPORTED]
    elsewhere = {int(name.removeprefix("Report ")) for name in ELSEWHERE if name.startswith("Report ")}
    assert here == sorted(set(here))
    assert set(here) >= HERE
    assert not set(here) & elsewhere
    assert set(here) | elsewhere == REPORTS


@pytest.mark.parametrize("feature", HELD)
def test_a_feature_is_held_by_tests_that_run(feature):
    assert HELD[feature]
    for promise, tests in HELD[feature]:
        assert tests, f"nothing holds that {promise}"
        for test in tests:
            assert_runs(test, TESTS)


@pytest.mark.parametrize(("report", "tests"), REPORTED)
def test_a_report_is_held_by_tests_that_run(report, tests):
    assert tests, f"nothing is tested about report {report}"
    for test in tests:
        assert_runs(test, TESTS)
