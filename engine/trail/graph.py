"""What an execution did, step after step, as a graph made from its events, and its picture in Mermaid."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    BudgetPassed,
    ClassificationCompleted,
    Event,
    NodeVisited,
    RunEnded,
)

GraphKind: TypeAlias = Literal["Start", "LlmCall", "ToolCall", "QualityGate", "Policy", "DecisionNode", "End"]
"""What kind of step a node of an execution graph stands for."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One step of an execution."""

    id: str
    label: str
    kind: GraphKind
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """What came after what, by the ids of the nodes."""

    source: str
    target: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionGraph:
    """The steps of one execution in a chain. ``duration`` is in seconds."""

    execution_id: str
    final_status: str
    duration: float
    generated_at: datetime
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def mermaid(self) -> str:
        """The graph as a Mermaid flowchart, top to bottom; its labels are text and nothing else."""
        lines = ["graph TB"]
        for node in self.nodes:
            opening, closing = "[]" if node.kind in _BOXES else "{}"
            lines.append(f"    {_id(node.id)}{opening}{_quoted(node.label)}{closing}")
        for edge in self.edges:
            label = f"|{_quoted(edge.label)}|" if edge.label else ""
            lines.append(f"    {_id(edge.source)} -->{label} {_id(edge.target)}")
        return "\n".join([*lines, ""])


def execution_graph(events: Iterable[Event], generated_at: datetime | None = None) -> ExecutionGraph:
    """The graph of one execution from its events in order; ``ValueError`` when there are none.

    Steps are numbered by their events. Those of an execution that has not ended yet lead to ``Running``.
    """
    events = tuple(events)
    if not events:
        raise ValueError("An execution without events has no graph.")
    last = events[-1]
    ended = last.result if isinstance(last, RunEnded) else None
    status = "Running" if ended is None else ended.outcome
    nodes = (GraphNode("start", "Start", "Start", events[0].at), *_steps(events))
    if ended is None:
        nodes = (*nodes, GraphNode("end", status, "End"))
    return ExecutionGraph(
        execution_id=last.execution_id,
        final_status=status,
        duration=(last.at - events[0].at).total_seconds() if ended is None else ended.usage.duration,
        generated_at=generated_at or datetime.now(UTC),
        nodes=nodes,
        edges=tuple(GraphEdge(source.id, target.id) for source, target in pairwise(nodes)),
    )


def _steps(events: Iterable[Event]) -> Iterator[GraphNode]:
    for number, event in enumerate(events, 1):
        match event:
            case NodeVisited(visit=visit):
                step: tuple[str, GraphKind] = (
                    f"Decision node: {visit.node} ({_capital(visit.type)})",
                    "DecisionNode",
                )
            case ActionCompleted():
                step = f"Decision action: {event.action_key} ({_capital(event.status)})", "DecisionNode"
            case ClassificationCompleted(classification=decided):
                step = f"Decision classification: {decided.answer}", "DecisionNode"
            case AttemptCompleted(attempt=attempt):
                step = f"LLM call: {attempt.model or 'unknown'} (attempt {attempt.number})", "LlmCall"
            case BudgetPassed():
                step = f"Limit passed: {event.limit}", "Policy"
            case RunEnded():
                step = event.result.outcome, "End"
            case _:
                # How a run or a node begins is told by what comes of it.
                continue
        yield GraphNode(f"step{number}", *step, event.at)


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


_BOXES: Final[frozenset[GraphKind]] = frozenset({"Start", "ToolCall", "End"})

_NOT_PLAIN: Final = re.compile(r"[^\w .,:-]")


def _quoted(label: str) -> str:
    """A label on one line, in quotes. Quotes, brackets and marks in it are written as their numbers."""
    return '"' + _NOT_PLAIN.sub(lambda mark: f"#{ord(mark[0])};", " ".join(label.split())) + '"'


def _id(node_id: str) -> str:
    # In lower case ``end`` is a word of the language.
    return node_id.capitalize()
