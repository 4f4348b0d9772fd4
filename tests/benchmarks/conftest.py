"""Benchmarks tell ratios and never fail for being slow; the table comes at the end."""

import pytest

from tests.benchmarks.measuring import Goals

_GOALS = pytest.StashKey[Goals]()


@pytest.fixture
def goals(pytestconfig: pytest.Config) -> Goals:
    """Where a benchmark puts what it measured."""
    return pytestconfig.stash.setdefault(_GOALS, Goals())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    goals = config.stash.get(_GOALS, Goals())
    if goals.found:
        terminalreporter.section("goals")
        for line in goals.lines():
            terminalreporter.write_line(line)
