"""What a run is told of another one: recorded answers, which decide while they hold, and results by visit."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from engine.conversation import build_context
from engine.data import BoundedDataPolicy
from engine.deciders import Attempt, Decider, Decision, Question
from engine.deciders.scripted import PROVIDER, ScriptedDecider
from engine.deciders.text import TextDecider
from engine.errors import CaseError
from engine.evaluate.steps import State, Step
from engine.events import RunStarted
from engine.llm import Completion, Message, Request
from engine.tree import UNKNOWN, ClassifyNode, NodeId, fill


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer that a run was given: at which step (from 0), and at which visit of which node."""

    step: int
    node: NodeId
    visit: int
    answer: str
    decision_id: str


@dataclass(frozen=True, slots=True)
class Stale:
    """A recorded answer that is not used again, and why, in plain words."""

    recorded: Recorded
    reason: str


def recorded_at(number: int, step: Step) -> Recorded | None:
    """The answer given at a step, if one was."""
    made = step.decided
    return None if made is None else Recorded(number, step.node, step.visit, made.answer, made.decision_id)


Place: TypeAlias = tuple[NodeId, int]
"""A node and the number of its visit."""

_Pinned = TypeVar("_Pinned")


class Tape(Mapping[NodeId, _Pinned | Sequence[_Pinned]]):
    """Hands out what each node came to, once a visit; then the node is left to whoever does its work live.

    Where nobody does, it hands out that nothing is left, which ends the run.
    """

    def __init__(self, found: Mapping[NodeId, Sequence[_Pinned]], live: Collection[NodeId]) -> None:
        self._left = {node: iter(results) for node, results in found.items()}
        self._live = live

    def __getitem__(self, node: NodeId) -> _Pinned | Sequence[_Pinned]:
        for result in self._left.get(node, ()):
            return result
        if node in self._live:
            raise KeyError(node)
        return ()

    def __contains__(self, node: object) -> bool:
        return node in self._left or node not in self._live

    def __iter__(self) -> Iterator[NodeId]:
        return iter(self._left)

    def __len__(self) -> int:
        return len(self._left)


class Recalling:
    """Decides by what is remembered, while it holds."""

    def __init__(
        self,
        memories: "Mapping[Place, Memory]",
        given: Mapping[Place, str],
        live: Decider | None,
        told: Callable[[Recorded | Stale], None] | None,
    ) -> None:
        self._memories, self._given, self._live, self._told = memories, given, live, told

    def for_run(self) -> "Recalling":
        live = None if self._live is None else self._live.for_run()
        return Recalling(self._memories, self._given, live, self._told)

    async def decide(self, question: Question) -> Decision:
        place = question.node, question.visit
        if place in self._given:
            return await ScriptedDecider({question.node: self._given[place]}).decide(question)
        memory = self._memories.get(place)
        stale = "It was not asked before." if memory is None else memory.why_stale(question)
        if memory is not None and self._told and (recorded := recorded_at(memory.number, memory.step)):
            self._told(recorded if stale is None else Stale(recorded, stale))
        if memory is not None and stale is None:
            try:
                return await memory.decide(question)
            except _Exhausted:
                stale = "It was not answered before."
        if self._live is None:
            raise CaseError(f"Node '{question.node}' has to be asked, and nobody is there to answer. {stale}")
        return await self._live.decide(question)

    # Whom the record of a question that could not be asked names (engine.records.Source).

    @property
    def provider(self) -> str:
        return str(getattr(self._live, "provider", ""))

    @property
    def endpoint(self) -> str:
        return str(getattr(self._live, "endpoint", ""))

    @property
    def model(self) -> str:
        return str(getattr(self._live, "model", ""))


@dataclass(frozen=True, slots=True)
class Memory:
    """A question of a run, the ``number`` of its step, the state it was put in, and what came of it."""

    number: int
    step: Step
    node: ClassifyNode
    start: RunStarted
    state: State

    def why_stale(self, question: Question) -> str | None:
        """Why what came of it does not answer this question; None when it does."""
        if question.text != fill(self.node.task or "", self.start.parameters):
            return "The question changed."
        if question.answers != self.node.answers:
            return "The allowed answers changed."
        return None if self._is_put_alike(question) else "What is sent with the question changed."

    def _is_put_alike(self, question: Question) -> bool:
        limit, limit_then = question.desk.max_context_tokens, self.start.limits.context_tokens
        before, own = question.desk.conversation.messages(), question.prompt()
        for first in self.step.attempts[:1]:
            if first.messages:
                # What did not fit was dropped from the middle: a system message at the beginning stays.
                everything, dropped = [*before, *own], first.dropped_messages
                kept = dropped > 0 and everything[0].role == "system"
                sent = [*everything[:kept], *everything[kept + dropped :]]
                fits = limit == limit_then or (first.prepared_tokens <= limit and not dropped)
                return fits and _words(sent) == _words(first.messages)
        properties, data = self.state
        snapshot = BoundedDataPolicy().select(data)
        own_then = build_context(self.start.tree, self.node, properties, snapshot, self.start.parameters)
        return _words(own) == _words(own_then) and (not self._was_sent or limit == limit_then)

    @property
    def _was_sent(self) -> bool:
        """Whether it was put in words to a model, or would have been had they fitted."""
        unsent = self.step.decided is not None and self.step.decided.reason in _UNSENT
        return unsent or any(attempt.messages for attempt in self.step.attempts)

    async def decide(self, question: Question) -> Decision:
        """Let come of the question what came of it."""
        step, made = self.step, self.step.decided
        if self._was_sent:
            return await TextDecider(_Replies(step)).decide(question)
        for attempt in step.attempts:
            await question.desk.before_attempt(attempt.number)
            await question.desk.after_attempt(attempt)
        if made is None:
            # A limit ended the run before another attempt, as it does again.
            await question.desk.before_attempt(len(step.attempts) + 1)
            raise _Exhausted
        unknown = made.answer == UNKNOWN
        return Decision(
            answer=None if unknown else made.answer,
            observation=None if unknown else made.observation,
            confidence=made.confidence,
            reason=made.reason,
            error=made.observation if unknown else None,
            probabilities=made.probabilities,
            attempts=made.attempts,
            llm_calls=made.llm_calls,
            provider=PROVIDER,
        )


_UNSENT: Final = ("context-budget", "no-message")


def _words(messages: Iterable[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


class _Exhausted(CaseError):
    """All that came of a question was done again, and it is not answered."""


class _Replies:
    """A client that gives the replies of one step once more."""

    provider, endpoint, model = PROVIDER, "", ""

    def __init__(self, step: Step) -> None:
        self._left = iter(step.attempts)

    async def complete(self, request: Request) -> Completion:
        attempt: Attempt | None = next(self._left, None)
        if attempt is None:
            raise _Exhausted
        return Completion(
            attempt.content,
            finish_reason=attempt.finish_reason,
            refusal="refused" if attempt.rejected == "refused" else None,
            input_tokens=attempt.input_tokens,
            output_tokens=attempt.output_tokens,
            model=attempt.model,
        )

    async def close(self) -> None:
        """Nothing is open."""
