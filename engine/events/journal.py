"""Where the events of runs are kept and announced: a journal to read again, and a bus to listen to.

Both are given each event at once, the journal first. What goes wrong with them is logged by the name of its
type and never changes a run.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.events import Event, Observer
from engine.events.codec import event_type, json_of
from engine.tree import Json

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One event in the journal. The events of an execution are numbered from 1."""

    sequence: int
    event: Event

    def as_json(self, *, whole: bool = False) -> dict[str, Json]:
        """The entry with the event's record as its payload; ``whole`` as in :func:`json_of`."""
        event = self.event
        return {
            "sequence": self.sequence,
            "executionId": event.execution_id,
            "eventType": event_type(event),
            "timestamp": event.at.isoformat(),
            "traceId": event.trace_id,
            "correlationId": event.correlation_id,
            "payload": json_of(event, whole=whole),
        }


class Journal(Protocol):
    """Keeps the events of executions, each in order. Must be quick: a run waits for it."""

    def append(self, event: Event) -> None:
        """Keep the next event of its execution."""
        ...

    def read(self, execution_id: str, after: int = 0) -> Sequence[JournalEntry]:
        """The entries of an execution with a higher sequence number than ``after``."""
        ...

    def latest(self, execution_id: str) -> int:
        """The highest sequence number of an execution; -1 when it is not known."""
        ...

    def delete(self, execution_id: str) -> None:
        """Forget an execution, if it is known."""
        ...


class MemoryJournal:
    """Keeps events as long as the process lives; of many executions only the last ``executions``."""

    def __init__(self, executions: int = 100) -> None:
        self._most = executions
        self._kept: dict[str, list[JournalEntry]] = {}

    def append(self, event: Event) -> None:
        entries = self._kept.setdefault(event.execution_id, [])
        entries.append(JournalEntry(len(entries) + 1, event))
        if len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]

    def read(self, execution_id: str, after: int = 0) -> Sequence[JournalEntry]:
        return tuple(self._kept.get(execution_id, ())[max(0, after) :])

    def latest(self, execution_id: str) -> int:
        return len(self._kept.get(execution_id, ())) or -1

    def delete(self, execution_id: str) -> None:
        self._kept.pop(execution_id, None)


class Publisher(Protocol):
    """Announces events to the application. Must be quick: a run waits for it."""

    def publish(self, event: Event) -> None:
        """Announce an event."""
        ...


class Bus:
    """Announces events to handlers in this process, one after the other."""

    def __init__(self) -> None:
        self._handlers: list[tuple[Observer, tuple[type[Event], ...]]] = []

    def subscribe(self, handler: Observer, *kinds: type[Event]) -> Callable[[], None]:
        """Have events of these kinds, or all, handed to a handler; call what is returned to end that."""
        entry = (handler, kinds or (Event,))
        self._handlers.append(entry)
        return lambda: self._handlers.remove(entry)

    def publish(self, event: Event) -> None:
        for handler, kinds in tuple(self._handlers):
            if isinstance(event, kinds):
                give(handler, event, "A handler of events")


def observers_of(journal: Journal | None, publisher: Publisher | None) -> tuple[Observer, ...]:
    """The journal and the publisher, as observers that never fail and are never let go."""
    told: list[Observer] = []
    if journal is not None:
        told.append(lambda event: give(journal.append, event, "The journal"))
    if publisher is not None:
        told.append(lambda event: give(publisher.publish, event, "The publisher"))
    return tuple(told)


def give(receiver: Observer, event: Event, who: str) -> None:
    """Hand an event over; what goes wrong with that is logged as the fault of ``who``."""
    try:
        receiver(event)
    except Exception as error:  # noqa: BLE001 - who looks on must not change a run
        log.warning("%s failed with %s.", who, type(error).__name__)
