"""A decision model decides: a tree's question is put as one choice among its answers."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from engine.deciders import Attempt, Decision, Question, UnknownReason
from engine.deciders.asked import AskedQuestion, ChoiceAnswer, Consulted, instructions_of
from engine.deciders.systemone.client import (
    DecisionClient,
    DecisionFailed,
    DecisionRequest,
    DecisionResult,
)
from engine.errors import Problem, TreeInvalid
from engine.project import ClassifySettings, TreeSettings
from engine.tree import UNKNOWN, ClassifyNode, Json, NodeId, Tree

NOTHING_FITS: Final = "None of the other options fits"
"""What describes ``unknown`` as an option, unless the author does."""

_REFUSED: Final = "The model refused to answer."
_UNREADABLE: Final = "The answer of the model does not fit the question."
_UNSURE: Final = "The model is not sure enough: {confidence:.2f}, where {gate:g} is asked for."
_CHOSEN: Final = "The model says that no answer fits."


class DecisionModelDecider:
    """Asks a decision model. ``trees`` are the settings of a project, by the ids of its trees.

    A node's ``unknownMode`` says whether the model may choose ``unknown`` itself, its ``minConfidence`` how
    sure it must be: below that the answer is ``unknown``, whatever the mode. Without one there is no gate.
    """

    def __init__(
        self,
        client: DecisionClient,
        trees: Mapping[str, TreeSettings] = MappingProxyType({}),
        *,
        model: str | None = None,
    ) -> None:
        self._client, self._trees, self._model = client, trees, model

    def for_run(self) -> "DecisionModelDecider":
        """Itself: it keeps nothing."""
        return self

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

    def unsuited(self, tree: Tree) -> tuple[Problem, ...]:
        """Why this tree cannot be decided by a decision model, if so: errors only."""
        return tuple(
            problem
            for node_id, node in tree.nodes.items()
            if isinstance(node, ClassifyNode)
            for problem in _faults(node_id, node.answers or ())
        )

    async def decide(self, question: Question) -> Decision:
        """Put the question once; :class:`DecisionFailed` when the model could not be asked.

        ``TreeInvalid`` where the model could not tell the answers apart.
        """
        desk, settings = question.desk, self._settings(question.tree_id, question.node)
        if faults := tuple(_faults(question.node, question.answers)):
            raise TreeInvalid(faults)
        asked = _choice(question, settings)
        await desk.before_attempt(1)
        desk.model_in_use(self._model or self._client.model)
        request = DecisionRequest(question.state(), {question.node: asked}, self._model)
        result = await self._client.evaluate(request)
        said = _said(result)
        if said is None and result.error is not None and not _is_reply(result):
            raise DecisionFailed(result.error, self._client.endpoint, asked)
        desk.model_in_use(None)
        decision = self._decision(result, asked, said, settings.min_confidence)
        await desk.after_attempt(
            Attempt(
                1,
                content=asked.options[said.chosen_index] if said else None,
                # What is answered from memory was paid for once.
                input_tokens=None if result.cached else decision.input_tokens,
                output_tokens=None if result.cached else decision.output_tokens,
                model=result.served_model,
                rejected=None if said else decision.reason,
                calls=decision.llm_calls,
            )
        )
        return decision

    def _settings(self, tree_id: str, node: NodeId) -> ClassifySettings:
        return self._trees.get(tree_id, _NO_SETTINGS).classify.get(node, _NO_SETTING)

    def _decision(
        self, result: DecisionResult, asked: AskedQuestion, said: ChoiceAnswer | None, gate: float | None
    ) -> Decision:
        answer, reason, error = _read(result, asked, said, gate)
        usage = result.usage
        return Decision(
            answer=answer,
            reason=reason,
            error=error,
            probabilities=said.probabilities if said else None,
            probability_source=result.probability_source,
            attempts=max(1, result.attempts),
            llm_calls=result.calls,
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            provider=self.provider,
            endpoint=self.endpoint,
            default_model=self.model,
            requested_model=self._model,
            served_model=result.served_model,
            response_id=result.response_id,
            cached=result.cached,
            consulted=Consulted(asked, said, gate, result.upstream_provider, usage.cost if usage else None),
        )


_NO_SETTINGS: Final = TreeSettings()
_NO_SETTING: Final = ClassifySettings()


def _faults(node: NodeId, answers: Sequence[str]) -> Iterator[Problem]:
    """What keeps a decision model from deciding a node: answers it would take for one another."""
    first = {UNKNOWN: UNKNOWN}
    for answer in answers:
        folded = unicodedata.normalize("NFKC", answer).strip().casefold()
        if folded in first:
            message = f"A decision model cannot tell '{first[folded]}' and '{answer}' of node '{node}' apart."
            yield Problem("answers-alike", "error", message, node, "answers")
        first.setdefault(folded, answer)


def _choice(question: Question, settings: ClassifySettings) -> AskedQuestion:
    """The question as a choice: the task as the author wrote it, for its values are in the state."""
    criteria: dict[str, Json] = {answer: _description(answer, settings) for answer in question.answers}
    if settings.unknown_mode in ("option", "both"):
        criteria[UNKNOWN] = _description(UNKNOWN, settings) or NOTHING_FITS
    return AskedQuestion("choice", instructions_of(question.task, question.policy), criteria)


def _description(answer: str, settings: ClassifySettings) -> Json:
    """What the author says of an answer, with the examples there are for it."""
    described = settings.descriptions.get(answer)
    examples = settings.examples.get(answer) if isinstance(settings.examples, dict) else None
    if not examples:
        return described
    return {"description": described, "examples": examples} if described else {"examples": examples}


def _said(result: DecisionResult) -> ChoiceAnswer | None:
    answer = result.answers[0] if result.answers else None
    return answer if isinstance(answer, ChoiceAnswer) else None


def _is_reply(result: DecisionResult) -> bool:
    """Whether the model did reply, though not with an answer; what is no reply at all ends a run."""
    kind = result.error.kind if result.error else "InvalidResponse"
    return kind == "Refused" or (kind == "InvalidResponse" and result.served_model is not None)


def _read(
    result: DecisionResult, asked: AskedQuestion, said: ChoiceAnswer | None, gate: float | None
) -> tuple[str | None, UnknownReason | None, str | None]:
    """The answer, or why there is none, in a word and a sentence."""
    if said is None:
        refused = result.error is not None and result.error.kind == "Refused"
        return (None, "refused", _REFUSED) if refused else (None, "invalid-answer", _UNREADABLE)
    option = asked.options[said.chosen_index]
    if option == UNKNOWN:
        return None, "chosen", _CHOSEN
    if gate is not None and said.confidence < gate:
        return None, "low-confidence", _UNSURE.format(confidence=said.confidence, gate=gate)
    return option, None, None
