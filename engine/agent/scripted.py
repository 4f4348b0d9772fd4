"""A script for a decision agent: the moves it makes, and what it takes into its answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from engine.agent.artifacts import canonical
from engine.agent.palette import FINISH, NEXT
from engine.deciders.systemone.client import DecisionRequest

LIKELY: Final = 0.9
"""How likely an artifact belongs in the answer that a script names."""


@dataclass(frozen=True)
class ScriptedMoves:
    """Answers for :class:`ScriptedClient`, the same whenever it is asked the same.

    ``moves`` are tools in order, each with words of the line of the artifact it takes, the first artifact
    that has them; after the last of them the run finishes. ``selected`` are words of the lines of what
    belongs in the answer.
    """

    moves: Sequence[tuple[str, str]]
    selected: Sequence[str] = ()

    def __call__(self, request: DecisionRequest) -> Mapping[str, str | float]:
        """The answers to one turn, whose number is told by what was done before it."""
        state = cast("Mapping[str, Sequence[str]]", request.state)
        made = sum(" on " in line for line in state["done"])
        says: dict[str, str | float] = dict(self._selection(state["artifacts"], request))
        if made >= len(self.moves):
            return {**says, NEXT: FINISH}
        tool, words = self.moves[made]
        asked = request.questions.get(f"{tool}_input")
        options = asked.criteria if asked and isinstance(asked.criteria, dict) else {}
        ref = next((ref for ref, line in options.items() if words in str(line)), words)
        return {**says, NEXT: tool, f"{tool}_input": ref}

    def _selection(self, lines: Sequence[str], request: DecisionRequest) -> Iterator[tuple[str, float]]:
        for line in lines:
            key = f"select_{canonical(line.partition(' ')[0])}"
            if key in request.questions and any(words in line for words in self.selected):
                yield key, LIKELY
