"""The table of rows: each conformance case and each rule of the runtime has a test, and none is skipped."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_, _CASES, _RULES = (HERE / "rows.md").read_text(encoding="utf-8").split("\n## ")

# How many cases each group of the specification has; two of the X rows belong to the agent runtime.
GROUPS = {"L": 26, "P": 19, "R": 10, "E": 39, "F": 20, "D": 11, "V": 4, "X": 21}
ELSEWHERE = {"X18", "X20"}


def table(part: str) -> dict[str, list[str]]:
    """What each row of a table names, by its first cell."""
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")][1:]
    return {cells[0].strip(): [test.strip() for test in cells[1].split(",")] for cells in rows}


CASES, RULES = table(_CASES), table(_RULES)


@cache
def sources_in(file: str) -> dict[str, str]:
    """The tests of a file by name, each with its source, decorators included."""
    source = (HERE / file).read_text(encoding="utf-8")
    lines = source.splitlines()
    return {
        node.name: "\n".join(
            lines[min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1 : node.end_lineno]
        )
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_conformance_case_has_its_row():
    every = {f"{group}{number}" for group, most in GROUPS.items() for number in range(1, most + 1)}
    assert set(CASES) == every - ELSEWHERE


@pytest.mark.parametrize(("row", "tests"), [*CASES.items(), *RULES.items()])
def test_what_a_row_names_is_a_test_that_runs(row, tests):
    for test in tests:
        match = re.fullmatch(r"(test_\w+\.py)::(test_\w+)(?:\[(.+)\])?", test)
        assert match, test
        file, name, case = match.groups()
        source = sources_in(file).get(name)
        assert source is not None, f"{test} is not there"
        assert not re.search(r"\bpytest\.(mark\.)?(skip|xfail|importorskip)", source), (
            f"{test} does not always run"
        )
        if case is not None:
            assert f'"{case}"' in (HERE / file).read_text(encoding="utf-8"), f"{test} has no such case"


def test_no_row_stands_twice():
    for part in (_CASES, _RULES):
        names = re.findall(r"^\| ([^|]+?) \|", part, flags=re.MULTILINE)
        assert len(names) == len(set(names))
