"""A person decides."""

from collections.abc import Awaitable, Callable
from typing import Final

from engine.deciders import Attempt, Decision, Question
from engine.deciders.parser import matching

NOT_ANSWERED: Final = "No allowed answer was chosen."


class PersonDecider:
    """Puts each question to ``ask``, for one call; None, or none of the allowed answers, is ``unknown``.

    The time a person takes to think is not charged to the run.
    """

    def __init__(self, ask: Callable[[Question], Awaitable[str | None]]) -> None:
        self._ask = ask

    def for_run(self) -> "PersonDecider":
        """Itself: it keeps nothing."""
        return self

    async def decide(self, question: Question) -> Decision:
        """Ask the person once."""
        await question.desk.before_attempt(1)
        with question.desk.off_the_clock():
            said = await self._ask(question)
        answer = None if said is None else matching(said, question.answers)
        await question.desk.after_attempt(Attempt(1, content=said, input_tokens=0, output_tokens=0))
        return Decision(
            answer=answer,
            reason="chosen" if answer is None else None,
            error=NOT_ANSWERED if answer is None else None,
            input_tokens=0,
            output_tokens=0,
            provider="person",
        )
