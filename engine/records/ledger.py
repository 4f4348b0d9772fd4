"""A ledger: what is left when records, outcomes and erasures are taken in one after the other."""

from collections import defaultdict
from dataclasses import dataclass, field

from engine.records.codec import RecordProblem
from engine.records.record import Confirmed, Erasure, Item, Outcome, Record, Signal


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision that was not erased, with its outcomes in the order they arrived."""

    record: Record
    outcomes: tuple[Outcome, ...] = ()


@dataclass(slots=True)
class _Entry:
    record: Record
    outcomes: list[Outcome] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)


class Ledger:
    """Takes items in order. An erasure forgets what came before it, never what comes after."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._by_key: defaultdict[str, set[str]] = defaultdict(set)

    def take(self, item: Item) -> None:
        """Take in one item; raises :class:`RecordProblem` for an outcome whose decision is not here."""
        match item:
            case Record():
                self._record(item)
            case Confirmed() | Signal():
                entry = self._entries.get(item.decision_id)
                if entry is None:
                    raise RecordProblem("orphan-outcome", "The outcome has no decision before it.")
                entry.outcomes.append(item)
            case Erasure(decision_id=str() as decision_id):
                self._entries.pop(decision_id, None)
            case Erasure(key=str() as key):
                for decision_id in self._by_key.pop(key, ()):
                    entry = self._entries.get(decision_id)
                    if entry is not None and key in entry.keys:
                        del self._entries[decision_id]

    def decisions(self) -> tuple[RecordedDecision, ...]:
        """What is left, in the order the decisions were first seen."""
        return tuple(RecordedDecision(e.record, tuple(e.outcomes)) for e in self._entries.values())

    def _record(self, record: Record) -> None:
        entry = self._entries.setdefault(record.decision_id, _Entry(record))
        entry.record = record
        if record.erasure_key is not None:
            # A decision is found by every key it ever had: a later record without one must not hide it.
            entry.keys.add(record.erasure_key)
            self._by_key[record.erasure_key].add(record.decision_id)
