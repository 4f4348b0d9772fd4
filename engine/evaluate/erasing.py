"""Erasing decisions from run logs: what a decision was made from and said is blanked, its place stays."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from engine.evaluate.logs import RunLog
from engine.events import (
    AttemptCompleted,
    Classification,
    ClassificationCompleted,
    Event,
    NodeVisited,
    RunEnded,
    SubRunEvent,
    Visit,
)
from engine.llm import Message

BLANK: Final = "[erased]"
"""What stands in the place of texts and ids that were erased."""


def blanked(log: RunLog, decision_ids: Collection[str]) -> RunLog | None:
    """The log without these decisions; None when it holds no others, so that nothing of it may stay.

    What the run started from stays as long as other decisions do, which were made from it too.
    """
    told = chain.from_iterable(map(_unfolded, log.events))
    decided = {e.classification.decision_id for e in told if isinstance(e, ClassificationCompleted)}
    if decided <= {*decision_ids, BLANK}:
        return None
    return replace(log, events=tuple(_blank(event, decision_ids) for event in log.events))


def _unfolded(event: Event) -> Iterator[Event]:
    """The event, and those of sub-runs it tells of."""
    yield event
    if isinstance(event, SubRunEvent):
        yield from _unfolded(event.event)


def _blank(event: Event, ids: Collection[str]) -> Event:
    match event:
        case SubRunEvent(event=inner):
            return replace(event, event=_blank(inner, ids))
        case AttemptCompleted(decision_id=str() as held) if held in ids:
            attempt = event.attempt
            messages = tuple(Message(message.role, BLANK) for message in attempt.messages)
            blank = replace(attempt, messages=messages, content=attempt.content and BLANK)
            return replace(event, attempt=blank, decision_id=BLANK)
        case ClassificationCompleted(classification=made):
            return replace(event, classification=_unsaid(made, ids))
        case NodeVisited(visit=visit):
            return replace(event, visit=_unnamed(visit, ids))
        case RunEnded(result=result):
            answers = tuple(_unsaid(one, ids) for one in result.classifications)
            path = tuple(_unnamed(visit, ids) for visit in result.path)
            return replace(event, result=replace(result, classifications=answers, path=path))
        case _:
            return event


def _unsaid(made: Classification, ids: Collection[str]) -> Classification:
    if made.decision_id not in ids:
        return made
    return replace(made, decision_id=BLANK, observation=made.observation and BLANK)


def _unnamed(visit: Visit, ids: Collection[str]) -> Visit:
    return replace(visit, decision_id=BLANK) if visit.decision_id in ids else visit
