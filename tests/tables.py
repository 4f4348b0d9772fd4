"""Tables in Markdown that say which tests hold a row: read, and held against the tests there are.

A row is a line ``| row | tests | …``; tests are written ``folder/test_file.py::test_name``, with one case of
a test that has many in brackets, and parted by commas.
"""

import ast
import re
from functools import cache
from pathlib import Path

_TEST = re.compile(r"((?:\w+/)*test_\w+\.py)::(test_\w+)(?:\[(.+)\])?")


def rows(part: str) -> list[tuple[str, list[str]]]:
    """The rows of one table, each with the tests it names; the head of the table is none."""
    cells = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")][1:]
    return [
        (first.strip(), [t for test in tests.split(",") if (t := test.strip())]) for first, tests, *_ in cells
    ]


def assert_runs(test: str, folder: Path) -> None:
    """That the test a row names, by its path from a folder, is there and runs whenever the tests do."""
    source = source_of(test, folder)
    assert not re.search(r"\bpytest\.(mark\.)?(skip|xfail|importorskip|soak)", source), (
        f"{test} does not always run"
    )


def source_of(test: str, folder: Path) -> str:
    """The source of the test a row names, decorators included; a row that names none that is there fails."""
    match = _TEST.fullmatch(test)
    assert match, f"{test!r} is no name of a test"
    file, name, case = match.groups()
    source = _sources(folder / file).get(name)
    assert source is not None, f"{test} is not there"
    if case is not None:
        assert f'"{case}"' in (folder / file).read_text(encoding="utf-8"), f"{test} has no such case"
    return source


@cache
def _sources(file: Path) -> dict[str, str]:
    """The tests of a file by name, each with its source, decorators included."""
    source = file.read_text(encoding="utf-8")
    lines = source.splitlines()
    return {
        node.name: "\n".join(
            lines[min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1 : node.end_lineno]
        )
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
