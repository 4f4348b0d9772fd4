"""A language model decides: the question is put, and once more when the reply is of no use."""

from collections.abc import Iterable, Sequence
from typing import Final

from engine.conversation import NO_USER_MESSAGE, RETRY, Prepared, context_exceeded
from engine.deciders import Attempt, Decision, Question, UnknownReason
from engine.deciders.parser import Parsed, parse
from engine.llm import Completion, LlmClient, Message, Request
from engine.llm.failover import Failover, ModelChain, Pipeline, completed

ATTEMPTS: Final = 2
"""One re-ask only: a second unreadable reply is itself the answer ``unknown``."""

UNREADABLE: Final = "Classification response could not be classified."


class TextDecider:
    """Asks a text model, and along a chain of models when a model and fallbacks are both named.

    ``pipeline`` replaces the way from a request to a completion; one that is no ``ChainPipeline`` gets no
    failover. Without a complete chain requests name no model, so the client's own is meant.
    """

    def __init__(
        self,
        client: LlmClient,
        model: str | None = None,
        fallbacks: Iterable[str] = (),
        *,
        pipeline: Pipeline | None = None,
    ) -> None:
        self._client, self._model, self._fallbacks = client, model, tuple(fallbacks)
        self._pipeline = pipeline or Failover(client)
        self._chain = ModelChain.of(model, self._fallbacks)

    def for_run(self) -> "TextDecider":
        """Itself, or with a chain of its own: what failed in one run may be tried in another."""
        if self._chain is None:
            return self
        return TextDecider(self._client, self._model, self._fallbacks, pipeline=self._pipeline)

    async def decide(self, question: Question) -> Decision:
        """Put the question, at most twice. ``LlmError`` when no model could be asked."""
        desk, conversation = question.desk, question.desk.conversation
        replies: list[Completion] = []
        failed_before = len(self._failed)
        for number in range(1, ATTEMPTS + 1):
            await desk.before_attempt(number)
            messages = question.prompt()
            conversation.add(*messages)
            prepared = conversation.prepare(desk.max_context_tokens)
            if reason := _unsaid(messages, prepared):
                why = NO_USER_MESSAGE if reason == "no-message" else context_exceeded(desk.max_context_tokens)
                return self._decision(replies, failed_before, reason=reason, error=why)
            replies.append(reply := await self._complete(question, prepared))
            read = _read(reply, question.answers)
            code = None if isinstance(read, Parsed) else read
            await desk.after_attempt(
                Attempt(
                    number=number,
                    messages=prepared.messages,
                    content=reply.content,
                    finish_reason=reply.finish_reason,
                    input_tokens=_reported(reply.input_tokens),
                    output_tokens=_reported(reply.output_tokens),
                    model=reply.model or self._in_use,
                    prepared_tokens=prepared.tokens,
                    dropped_messages=prepared.dropped,
                    rejected=code,
                )
            )
            if reply.content:
                conversation.add(Message("assistant", reply.content))
            if isinstance(read, Parsed):
                return self._decision(replies, failed_before, read)
            if number < ATTEMPTS:
                conversation.add(Message("user", RETRY))
        reason = "refused" if code in ("refused", "filtered") else "invalid-answer"
        return self._decision(replies, failed_before, reason=reason, error=_unreadable(reply, code or ""))

    @property
    def provider(self) -> str:
        """The kind of endpoint asked, as records name it."""
        return self._client.provider

    @property
    def endpoint(self) -> str:
        """Its base address."""
        return self._client.endpoint

    @property
    def model(self) -> str:
        """The model of the client itself."""
        return self._client.model

    @property
    def _in_use(self) -> str:
        return self._chain.model if self._chain else self._client.model

    @property
    def _failed(self) -> tuple[str, ...]:
        return self._chain.failed if self._chain else ()

    async def _complete(self, question: Question, prepared: Prepared) -> Completion:
        desk, chain = question.desk, self._chain
        request = Request(
            tuple(prepared.messages), model=chain.model if chain else None, answers=question.answers
        )
        desk.model_in_use(request.model)
        try:
            return await completed(self._pipeline, request, chain)
        finally:
            desk.model_in_use(chain.model if chain else None)

    def _decision(
        self,
        replies: Sequence[Completion],
        failed_before: int,
        read: Parsed | None = None,
        *,
        reason: UnknownReason | None = None,
        error: str | None = None,
    ) -> Decision:
        last = replies[-1] if replies else None
        return Decision(
            answer=read.answer if read else None,
            observation=read.observation if read else None,
            confidence=read.confidence if read else None,
            reason=reason,
            error=error,
            attempts=len(replies),
            llm_calls=len(replies),
            input_tokens=_total([reply.input_tokens for reply in replies]),
            output_tokens=_total([reply.output_tokens for reply in replies]),
            provider=self._client.provider,
            endpoint=self._client.endpoint,
            default_model=self._client.model,
            requested_model=self._model if self._chain else None,
            served_model=last.model or self._in_use if last else None,
            response_id=last.response_id if last else None,
            failover=self._failed[failed_before:],
        )


def _unsaid(messages: Sequence[Message], prepared: Prepared) -> UnknownReason | None:
    """Why a question is not put: it has no user message, or one that does not make it into the request."""
    # By identity: the second attempt usually says the same words as the first, which may be there still.
    asked = {id(message) for message in messages if message.role == "user"}
    if not asked:
        return "no-message"
    return None if asked.issubset(map(id, prepared.messages)) else "context-budget"


def _read(reply: Completion, answers: Sequence[str]) -> Parsed | str:
    """What the reply says, or a code for why it is of no use."""
    if reply.refusal:
        return "refused"
    if reply.finish_reason == "content_filter":
        return "filtered"
    read = parse(reply.content, answers)
    if isinstance(read, Parsed):
        return read
    return "truncated" if reply.finish_reason == "length" else read.code


_SNIPPET_LENGTH: Final = 120
_WHY: Final = {
    "refused": " The model refused to answer.",
    "filtered": " A content filter held the reply back.",
    "truncated": " The reply was cut off at its token limit.",
    "empty": " The reply was empty.",
}


def _unreadable(reply: Completion, code: str) -> str:
    raw = (reply.content or "").strip()
    snippet = raw if len(raw) <= _SNIPPET_LENGTH else raw[:_SNIPPET_LENGTH] + "..."
    return UNREADABLE + _WHY.get(code, "") + (f' Model returned: "{snippet}"' if raw else "")


def _reported(count: int | None) -> int | None:
    """A number of tokens as a client of any kind gave it; a negative one says nothing."""
    return None if count is None or count < 0 else count


def _total(counts: Iterable[int | None]) -> int | None:
    reported = [count for count in counts if count is not None and count >= 0]
    return sum(reported) if reported else None
