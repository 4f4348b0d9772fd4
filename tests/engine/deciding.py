"""A desk and a client for tests of what lies between a question and a model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from engine.budget import EXHAUSTED, BudgetStop
from engine.conversation import Conversation, SlidingConversation, build_context
from engine.data import DataSnapshot
from engine.deciders import Attempt, Question
from engine.errors import LlmError
from engine.llm import Completion, Message, Request
from engine.tree import ClassifyNode, Tree

OK = '{"answer": "supported", "observation": "evidence", "confidence": "high"}'
BAD = "not-json"


class FakeDesk:
    """A desk that counts calls and may run out of them."""

    def __init__(self, max_context_tokens: int = 4000, max_calls: int = 10) -> None:
        self.conversation: Conversation = SlidingConversation()
        self.max_context_tokens = max_context_tokens
        self.max_calls = max_calls
        self.asked_leave: list[int] = []
        self.attempts: list[Attempt] = []
        self.model: str | None = None
        self.paused = 0.0
        self.thinking: list[bool] = []

    async def before_attempt(self, number: int) -> None:
        self.asked_leave.append(number)
        if number > 1 and sum(a.calls for a in self.attempts) >= self.max_calls:
            raise BudgetStop("llmCalls", EXHAUSTED)

    async def after_attempt(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    @contextmanager
    def off_the_clock(self) -> Iterator[None]:
        self.thinking.append(True)
        yield
        self.thinking.append(False)

    def model_in_use(self, model: str | None) -> None:
        self.model = model


@dataclass
class FakeClient:
    """Replies in order: texts, completions, or errors to raise. It keeps what it was asked."""

    replies: list[str | Completion | BaseException]
    provider: str = "fake"
    endpoint: str = "http://fake/v1"
    model: str = "own-model"
    requests: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return Completion(reply) if isinstance(reply, str) else reply

    async def close(self) -> None:
        pass

    @property
    def models(self) -> list[str | None]:
        return [request.model for request in self.requests]


def question(
    desk: FakeDesk | None = None,
    *,
    node: str = "classify",
    visit: int = 1,
    answers: Sequence[str] = ("supported",),
    task: str = "Is it supported?",
    messages: Sequence[Message] | None = None,
) -> Question:
    """A question of a small tree; ``messages`` stand for those of an own context builder."""
    asking = ClassifyNode(task=task, answers=tuple(answers))
    tree = Tree(tree_id="evidence", version=1)

    def prompt() -> Sequence[Message]:
        return build_context(tree, asking, {}, DataSnapshot(), {}) if messages is None else messages

    return Question(
        node=node,
        visit=visit,
        decision_id="d1",
        tree_id=tree.tree_id,
        tree_version=tree.version,
        execution_id="e1",
        erasure_key=None,
        policy=None,
        task=task,
        text=task,
        answers=tuple(answers),
        prompt=prompt,
        state=dict,
        desk=desk or FakeDesk(),
    )


def unavailable(status: int = 503) -> LlmError:
    """A failure of the moment, as a client reports it."""
    return LlmError(f"HTTP {status}", kind="status", transient=True, status=status)
