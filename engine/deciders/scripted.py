"""Answers and replies fixed beforehand, by node: how cases and tests decide."""

from collections.abc import Iterator, Mapping, Sequence

from engine.deciders import Attempt, Decider, Decision, Question
from engine.deciders.text import TextDecider
from engine.errors import CaseError
from engine.llm import Completion, Request
from engine.tree import UNKNOWN, NodeId

PROVIDER = "scripted"
PINNED_UNKNOWN = "The case answers this question with unknown."


class ScriptedDecider:
    """Decides by pins, and hands the questions of all other nodes to ``otherwise``.

    ``answers`` hold one answer for every visit, or one a visit; ``unknown`` counts two calls, as it does when
    a model gives it, and any other answer one. ``replies`` hold the raw texts of a model, the attempts of all
    visits in order, which go through the real prompt and parser. Raises ``CaseError`` at once for a node that
    has both, and when asked for what is not there: a pin, a further entry, an answer the node declares.
    """

    def __init__(
        self,
        answers: Mapping[NodeId, str | Sequence[str]] | None = None,
        replies: Mapping[NodeId, Sequence[str]] | None = None,
        otherwise: Decider | None = None,
    ) -> None:
        self._answers, self._replies, self._otherwise = answers or {}, replies or {}, otherwise
        for node in self._answers:
            if node in self._replies:
                raise CaseError(
                    f"Node '{node}' has pinned answers and pinned replies; it can have one of them."
                )
        self._texts = {node: iter(texts) for node, texts in self._replies.items()}

    def for_run(self) -> "ScriptedDecider":
        """The same script from its beginning."""
        return ScriptedDecider(self._answers, self._replies, self._otherwise and self._otherwise.for_run())

    async def decide(self, question: Question) -> Decision:
        """Decide as the script says."""
        node = question.node
        if node in self._answers:
            return await _pinned(question, self._answers[node])
        if node in self._texts:
            return await TextDecider(_Replies(self._texts[node], question)).decide(question)
        if self._otherwise is None:
            raise CaseError(f"Node '{node}' has no pinned answer, and nobody else is there to decide.")
        return await self._otherwise.decide(question)


async def _pinned(question: Question, pin: str | Sequence[str]) -> Decision:
    if isinstance(pin, str):
        answer = pin
    elif question.visit <= len(pin):
        answer = pin[question.visit - 1]
    else:
        raise CaseError(f"Node '{question.node}' has no pinned answer for visit {question.visit}.")
    if answer not in (*question.answers, UNKNOWN):
        allowed = ", ".join((*question.answers, UNKNOWN))
        raise CaseError(
            f"Node '{question.node}' has the pinned answer '{answer:.80}'; allowed are {allowed}."
        )
    unknown = answer == UNKNOWN
    calls = 2 if unknown else 1
    for number in range(1, calls + 1):
        await question.desk.before_attempt(number)
        await question.desk.after_attempt(
            Attempt(
                number,
                content=answer,
                input_tokens=0,
                output_tokens=0,
                rejected="pinned" if unknown else None,
            )
        )
    return Decision(
        answer=None if unknown else answer,
        reason="chosen" if unknown else None,
        error=PINNED_UNKNOWN if unknown else None,
        attempts=calls,
        llm_calls=calls,
        input_tokens=0,
        output_tokens=0,
        provider=PROVIDER,
    )


class _Replies:
    """A client that returns the texts of one node, one after the other."""

    provider, endpoint, model = PROVIDER, "", ""

    def __init__(self, texts: Iterator[str], question: Question) -> None:
        self._texts, self._question = texts, question

    async def complete(self, request: Request) -> Completion:
        text = next(self._texts, None)
        if text is None:
            node, visit = self._question.node, self._question.visit
            raise CaseError(f"Node '{node}' has no pinned reply left for visit {visit}.")
        return Completion(text, input_tokens=0, output_tokens=0)

    async def close(self) -> None:
        """Nothing is open."""
