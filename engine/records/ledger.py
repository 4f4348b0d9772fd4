"""A ledger: what is left when records, outcomes and erasures are taken in one after the other."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.records.codec import RecordProblem
from engine.records.record import RETRACTED, Confirmed, Erasure, Item, Outcome, Record, Signal


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision that was not erased, with its outcomes in the order they arrived."""

    record: Record
    outcomes: tuple[Outcome, ...] = ()

    @property
    def confirmed(self) -> Mapping[str, str | int | bool]:
        """The right answer to each question that has one: the one given last, unless it was taken back."""
        answers: dict[str, str | int | bool] = {}
        for outcome in sorted(self.outcomes, key=lambda outcome: outcome.at):
            match outcome:
                case Confirmed():
                    answers |= outcome.answers
                case Signal(name=name, note=None) if name == RETRACTED:
                    answers.clear()
        return answers

    @property
    def signals(self) -> tuple[Signal, ...]:
        """What happened afterwards, without what was taken back."""
        left: list[Signal] = []
        for outcome in self.outcomes:
            if not isinstance(outcome, Signal):
                continue
            if outcome.name != RETRACTED:
                left.append(outcome)
            elif outcome.note is not None:
                last = next((one for one in reversed(left) if one.name == outcome.note), None)
                left = [one for one in left if one is not last]
        return tuple(left)


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
