"""Numbers of things in words."""

import pytest

from engine.counting import counted


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 LLM calls"), (1, "1 LLM call"), (2, "2 LLM calls"), (20_000, "20,000 LLM calls")],
)
def test_one_of_a_kind_is_told_as_one(number, words):
    assert counted(number, "LLM call") == words


def test_a_plural_of_its_own_is_said():
    assert [counted(number, "branch", "branches") for number in (1, 2)] == ["1 branch", "2 branches"]
