"""What the Records panel says of a decision: answer, outcome, bars, question, cost, time."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from designer.document.names import one_line
from engine.counting import counted
from engine.records import (
    Answer,
    AskedQuestion,
    BadLine,
    NoulAnswer,
    Record,
    RecordedDecision,
    RecordRow,
)

LONGEST_STATE: Final = 100_000
"""Characters of a state that are shown."""
MOST_LINES: Final = 5_000
"""Lines of a state that are shown: each takes some of the window's time, however short."""
_ENDLESS: Final = re.compile(r"[^\n]{1000}(?=[^\n])")


@dataclass(frozen=True, slots=True)
class Bar:
    """One possible answer: how likely it was, and whether it was given or confirmed.

    ``key`` and ``right`` are the question, and what confirming this answer would say of it.
    """

    words: str
    share: float | None
    given: bool = False
    confirmed: bool = False
    key: str = ""
    right: str | int | bool = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A decision in words, as the detail shows it."""

    decision: RecordedDecision
    node: str
    cost: str
    asked: str = field(repr=False)
    bars: tuple[Bar, ...] = field(repr=False)
    state: str = field(repr=False)
    facts: str = field(repr=False)

    @classmethod
    def of(cls, decision: RecordedDecision) -> "Told":
        """The words of a decision; takes a moment where its state is large."""
        record = decision.record
        return cls(
            decision,
            node_of(record),
            cost_of(record),
            tasks_of(record),
            bars_of(decision),
            state_of(record),
            facts_of(decision),
        )


def answer_of(record: Record) -> str:
    """What was answered, in a few words; a dash when there is no answer."""
    if record.tree is not None and record.tree.transition is not None:
        return record.tree.transition
    told = [_told(record.questions.get(answer.key), answer) for answer in record.answers or ()]
    return ", ".join(told) or "—"


def outcome_of(decision: RecordedDecision) -> tuple[str, str | None]:
    """What became of a decision in a few words, and the token of its colour."""
    record, confirmed = decision.record, decision.confirmed
    if confirmed:
        given = {a.key: _told(record.questions.get(a.key), a) for a in record.answers or ()}
        same = all(given.get(key) == _word(answer) for key, answer in confirmed.items())
        return f"✓ confirmed {', '.join(map(_word, confirmed.values()))}", "good" if same else "bad"
    if signals := decision.signals:
        return signals[-1].name, "secondary"
    return unanswered(record.error_kind, record.tree.unknown_reason if record.tree else None)


def unanswered(error: str | None, reason: str | None = None) -> tuple[str, str | None]:
    """What is told of a decision nothing was said of yet."""
    if error is not None:
        return f"no answer: {error}", "bad"
    return (f"to review: {reason}", "warn") if reason is not None else ("", None)


def erased(number: int) -> tuple[str, str | None]:
    """What is told of an erasure: how many decisions it took, and nothing of them."""
    return f"{number:,} erased", "secondary"


def bars_of(decision: RecordedDecision) -> tuple[Bar, ...]:
    """The possible answers of a decision's questions in the order they were offered.

    Who knows no probabilities, a person for instance, gave one answer; no shares are told then.
    """
    record, confirmed = decision.record, decision.confirmed
    answers = {answer.key: answer for answer in record.answers or ()}
    bars: list[Bar] = []
    whole = record.tree is not None and record.tree.probability_source == "onehot"
    for key, question in record.questions.items():
        answer, options = answers.get(key), question.options or ("yes", "no")
        if isinstance(answer, NoulAnswer):
            shares: Sequence[float] = (answer.probability, 1 - answer.probability)
        else:
            shares = answer.probabilities if answer is not None else ()
        given = None if answer is None else _chosen(answer)
        for number, words in enumerate(options):
            share = shares[number] if number < len(shares) and not whole else None
            right = _right(question, number)
            bars.append(
                Bar(
                    one_line(_level(question, number) or words),
                    share,
                    number == given,
                    confirmed.get(key) == right,
                    key,
                    right,
                )
            )
    return tuple(bars)


def _chosen(answer: Answer) -> int:
    """The number of the answer that was given, among those that are shown."""
    return int(answer.probability < 0.5) if isinstance(answer, NoulAnswer) else answer.chosen_index


def _level(question: AskedQuestion, number: int) -> str:
    """What a level of a score means, where that is a text."""
    levels = question.criteria if question.kind == "score" and isinstance(question.criteria, list) else []
    text = levels[number] if number < len(levels) else None
    return f"{number} {text}" if isinstance(text, str) else ""


def _right(question: AskedQuestion, number: int) -> str | int | bool:
    """What it means to confirm the answer of this number."""
    match question.kind:
        case "noul":
            return number == 0
        case "score":
            return number
        case _:
            return question.options[number]


def spoken(bar: Bar) -> str:
    """A bar in words."""
    share = "" if bar.share is None else f" {bar.share:.2f}"
    return f"{bar.words}{share}{', given' if bar.given else ''}{', confirmed' if bar.confirmed else ''}"


def node_of(record: Record) -> str:
    """Where a decision was made: its node, or the names of its questions."""
    return record.tree.node if record.tree else ", ".join(record.questions)


def tasks_of(record: Record) -> str:
    """What was asked, one question a line."""
    asked = [_task(question)[:LONGEST_STATE] for question in record.questions.values()]
    return "\n".join(filter(None, asked))


def state_of(record: Record) -> str:
    """What a decision was made from, cut where it is too long to show."""
    state = _text(record.state)
    shown = "\n".join(state[:LONGEST_STATE].split("\n", MOST_LINES)[:MOST_LINES])
    cut = "\n… cut for display" if len(state) > len(shown) else ""
    # A line without an end would take the window's time with the square of its length.
    return f"{_ENDLESS.sub(lambda line: f'{line.group()}{chr(10)}', shown)}{cut}"


def cost_of(record: Record) -> str:
    """How long it took and what it used."""
    tokens = f" · {record.usage.input_tokens + record.usage.output_tokens} tokens" if record.usage else ""
    return f"{record.latency_ms:.0f} ms{tokens}{' · cached' if record.cached else ''}"


def facts_of(decision: RecordedDecision) -> str:
    """Ids, model and later outcomes, one a line."""
    record = decision.record
    facts = [
        ("decision", record.decision_id),
        ("run     ", record.tree.execution_id if record.tree else None),
        ("tree    ", f"{record.tree.tree_id} {record.tree.tree_version}" if record.tree else None),
        ("model   ", record.served_model or record.requested_model or record.default_model),
        ("key     ", record.erasure_key),
    ]
    for signal in decision.signals:
        value = "" if signal.value is None else f" {signal.value:g}"
        note = f": {signal.note}" if signal.note else ""
        facts.append(("signal  ", f"{signal.name}{value}{note}  {time_of(signal.at)}, {signal.source}"))
    return "\n".join(f"{name}  {one_line(value, 500)}" for name, value in facts if value)


def confidence_of(row: RecordRow) -> str:
    """How sure the answer was, from 0 to 1."""
    return "—" if row.confidence is None else f"{row.confidence:.2f}"


def time_of(at: datetime) -> str:
    """Local time, with the day unless it is today."""
    local, now = at.astimezone(), datetime.now().astimezone()
    if local.date() == now.date():
        return f"{local:%H:%M:%S}"
    return f"{local:%d %b %H:%M}" if local.year == now.year else f"{local:%d %b %Y}"


def bad_words(bad: Sequence[BadLine]) -> str:
    """How many lines could not be read."""
    return f"{counted(len(bad), 'line')} could not be read" if bad else ""


def _told(question: AskedQuestion | None, answer: Answer) -> str:
    if isinstance(answer, NoulAnswer):
        return "yes" if answer.probability >= 0.5 else "no"
    options = question.options if question else ()
    return options[answer.chosen_index] if answer.chosen_index < len(options) else str(answer.chosen_index)


def _task(question: AskedQuestion) -> str:
    asked = question.instructions
    return _text(asked["task"] if isinstance(asked, dict) and "task" in asked else asked)


def _word(answer: str | int | bool) -> str:
    return ("yes" if answer else "no") if isinstance(answer, bool) else str(answer)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
