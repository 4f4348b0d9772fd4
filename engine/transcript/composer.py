"""From events to sections: every text is redacted first and then cut to its limit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import islice
from typing import Final, TypeVar

from engine.data import DataItem
from engine.deciders.parser import unfenced
from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    ClassificationCompleted,
    RunResult,
    RunStarted,
    Visit,
)
from engine.transcript import sections
from engine.transcript.redaction import Screen, compact
from engine.tree import ConditionNode, Tree, fill


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptPolicy:
    """How much of a run a transcript keeps. Lengths are in characters; None means no limit in all."""

    produced_items: int = 100
    content_length: int = 4000
    metadata_entries: int = 20
    metadata_key_length: int = 256
    metadata_value_length: int = 1000
    message_length: int = 8000
    response_length: int = 8000
    state_properties: int = 100
    state_property_key_length: int = 256
    state_property_value_length: int = 4000
    total_characters: int | None = 100_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value <= 0:
                raise ValueError(f"The transcript limit '{field.name}' must be greater than 0.")


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Composer:
    """Makes the sections of one transcript."""

    policy: TranscriptPolicy
    screen: Screen

    def header(self, event: RunStarted, goal: str, *, debug: bool) -> sections.Header:
        """The header; the execution id says nothing about anybody and stays."""
        return sections.Header(event.execution_id, event.at, debug, self._text(goal, "goal"))

    def debug_request(self, event: RunStarted) -> sections.DebugRequest:
        """The parameters by name."""
        parameters = sorted(event.parameters.items())
        return sections.DebugRequest(
            tuple((self._text(name, "name"), self._text(value, "value")) for name, value in parameters)
        )

    def overview(self, event: RunStarted) -> sections.Overview:
        """The tree, with the parameters filled into its task."""
        tree = event.tree
        return sections.Overview(
            tree_id=self._text(tree.tree_id, "tree id"),
            version=tree.version,
            start_node=self._text(tree.start_node_id, "id"),
            task=self._maybe(tree.task and fill(tree.task, event.parameters), "task"),
        )

    def action(self, event: ActionCompleted) -> sections.Action:
        """An action, with the data that entered the store meanwhile."""
        name = event.name if event.name and event.name.strip() else event.action_key
        return sections.Action(
            node=self._text(event.node, "id"),
            name=self._text(name, "node name"),
            status=event.status,
            summary=self._maybe(event.summary, "outcome summary", self.policy.content_length),
            error=self._maybe(event.error, "error"),
            produced=self._produced(event.produced) if event.produced else None,
            pinned=event.pinned,
        )

    def attempt(self, event: AttemptCompleted) -> sections.Attempt:
        """A question put once, with the messages as they were sent."""
        attempt = event.attempt
        response = None if attempt.content is None else unfenced(attempt.content)
        return sections.Attempt(
            node=self._text(event.node, "id"),
            number=attempt.number,
            messages=tuple(
                sections.Message(
                    self._text(message.role, "role"), self._text(message.content, "message content")
                )
                for message in attempt.messages
            ),
            dropped_messages=attempt.dropped_messages,
            model=self._maybe(attempt.model, "model"),
            response=self._maybe(response, "response content", self.policy.response_length),
            rejected=self._maybe(attempt.rejected, "reason"),
            finish_reason=self._maybe(attempt.finish_reason, "finish reason"),
            input_tokens=attempt.input_tokens,
            output_tokens=attempt.output_tokens,
        )

    def classification(self, event: ClassificationCompleted) -> sections.Classification:
        """A decided question; its decision id leads to the record."""
        decided = event.classification
        return sections.Classification(
            node=self._text(decided.node, "id"),
            decision_id=decided.decision_id,
            answer=self._text(decided.answer, "answer"),
            attempt=decided.attempts,
            observation=self._maybe(decided.observation, "observation"),
            confidence=self._maybe(decided.confidence, "confidence"),
        )

    def result(self, result: RunResult, tree: Tree, omitted_sections: int) -> sections.Result:
        """How the run ended."""
        usage = result.usage
        return sections.Result(
            outcome=result.outcome,
            succeeded=result.succeeded,
            verdict=self._maybe(result.verdict, "verdict"),
            error=self._maybe(result.error, "error"),
            properties=self._properties(result.state_properties),
            path=tuple(self._step(visit, tree) for visit in result.path),
            omitted_sections=omitted_sections,
            node_visits=usage.node_visits,
            llm_calls=usage.llm_calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            milliseconds=_milliseconds(usage.duration),
        )

    def _text(self, text: str, what: str, limit: int | None = None, name: str = "") -> str:
        limit = limit or self.policy.message_length
        redacted = self.screen(text, name)
        return redacted if len(redacted) <= limit else f"{redacted[:limit]}[{what} truncated]"

    def _maybe(self, text: str | None, what: str, limit: int | None = None) -> str | None:
        return None if text is None else self._text(text, what, limit)

    def _produced(self, items: tuple[DataItem, ...]) -> str:
        shown = items[: self.policy.produced_items]
        lines = [line for item in shown for line in self._item(item)]
        if len(items) > len(shown):
            lines.append(f"[produced data items omitted: {len(items) - len(shown)}]")
        return "\n".join(lines)

    def _item(self, item: DataItem) -> Iterable[str]:
        yield f"Id: {self._text(item.id, 'id')}"
        yield f"Type: {self._text(item.type, 'type')}"
        yield f"Source: {self._text(item.source, 'source')}"
        yield f"Content: {self._text(item.content, 'content', self.policy.content_length)}"
        yield f"Created: {item.created_at.isoformat() if item.created_at else '(none)'}"
        yield f"Action: {self._maybe(item.action_id, 'action') or '(none)'}"
        yield f"Metadata: {self._metadata(item.metadata)}"

    def _metadata(self, metadata: Mapping[str, str]) -> str:
        policy = self.policy
        entries = [
            f"{self._text(key, 'metadata key', policy.metadata_key_length)}"
            f"={self._text(value, 'metadata value', policy.metadata_value_length, key)}"
            for key, value in list(metadata.items())[: policy.metadata_entries]
        ]
        if len(metadata) > len(entries):
            entries.append(f"[metadata entries omitted: {len(metadata) - len(entries)}]")
        return ", ".join(entries) or "none"

    def _properties(self, properties: Mapping[str, object]) -> sections.Pairs:
        policy = self.policy
        shown = sorted(properties.items())[: policy.state_properties]
        pairs = [
            (
                self._text(key, "state property key", policy.state_property_key_length),
                self._text(as_text(value), "state property value", policy.state_property_value_length, key),
            )
            for key, value in shown
        ]
        if len(properties) > len(shown):
            pairs.append(("[state properties omitted]", str(len(properties) - len(shown))))
        return tuple(pairs)

    def _step(self, visit: Visit, tree: Tree) -> sections.PathStep:
        what = "path step"
        node = tree.nodes.get(visit.node)
        predicate = parameters = None
        if isinstance(node, ConditionNode):
            predicate = self._maybe(node.predicate_key, what)
            parameters = self._text(compact(node.predicate_parameters or {}), what)
        return sections.PathStep(
            node=self._text(visit.node, what),
            type=visit.type,
            milliseconds=_milliseconds(visit.duration),
            outcome=self._maybe(visit.outcome or None, what),
            next=self._maybe(visit.next, what),
            predicate=predicate,
            parameters=parameters,
            forced=visit.forced,
        )


_DEEPEST: Final = 10
_MOST: Final = 100


def as_text(value: object) -> str:
    """A state property as text that depends on what it holds, never on the order it holds it in."""
    return value if isinstance(value, str) else _rendered(value, ())


def _rendered(value: object, holders: tuple[object, ...]) -> str:
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return "(null)" if value is None else str(value)
    if any(value is holder for holder in holders):
        return "[reference cycle detected]"
    if len(holders) >= _DEEPEST:
        return "[maximum nesting depth reached]"
    inner = (*holders, value)
    if isinstance(value, Mapping):
        opened, closed = "{", "}"
        parts = [f"{_rendered(key, inner)}: {_rendered(item, inner)}" for key, item in _first(value.items())]
    else:
        opened, closed = "[", "]"
        parts = [_rendered(item, inner) for item in _first(value)]
    left_out = ["[items omitted]"] if len(value) > _MOST else []
    return opened + ", ".join([*sorted(parts), *left_out]) + closed


def _first(values: Iterable[_T]) -> Iterable[_T]:
    return islice(values, _MOST)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
