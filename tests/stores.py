"""Record stores with as many decisions as wanted, the same for the same count."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

from engine.records import (
    AskedQuestion,
    ChoiceAnswer,
    Record,
    RecordTable,
    TokenUsage,
    TreePlace,
    line_of,
)

FIRST: Final = datetime(2026, 9, 1, 8, tzinfo=UTC)
QUESTIONS: Final = {
    "route": ("Which desk owns this request?", ("refund", "delivery", "other")),
    "covered": ("Is the damage covered by the policy?", ("yes", "no")),
    "urgent": ("How soon must somebody answer?", ("today", "this week", "later")),
}
MODELS: Final = ("local-13b", "local-70b", "m-large")


def decision_id(number: int) -> str:
    """The id of the decision of this number, from 0."""
    return f"01a1b2c3-d4e5-7f60-8a1b-{number:012x}"


def records(count: int) -> Iterator[Record]:
    """So many decisions of some hundred runs and people; every 97th has no answer."""
    random = Random(count)
    for number in range(count):
        node = random.choice(tuple(QUESTIONS))
        task, options = QUESTIONS[node]
        asked = AskedQuestion("choice", task, dict.fromkeys(options))
        chosen = random.randrange(len(options))
        sure = round(random.uniform(1 / len(options), 1), 4)
        rest = (1 - sure) / (len(options) - 1)
        failed = number % 97 == 96
        shares = tuple(sure if i == chosen else rest for i in range(len(options)))
        told = f"Parcel {number} arrived. {'It is late. ' * 12}"
        yield Record(
            decision_id=decision_id(number),
            erasure_key=f"customer-{number // 40}",
            started=FIRST + timedelta(seconds=number),
            latency_ms=float(random.randint(80, 2000)),
            provider="openai",
            endpoint="https://models.example/v1",
            default_model=random.choice(MODELS),
            usage=TokenUsage(random.randint(100, 900), random.randint(10, 60)),
            questions={node: asked},
            state={"data": [{"type": "message", "content": told}]},
            answers=None if failed else (ChoiceAnswer(node, chosen, sure, shares),),
            error_kind="Timeout" if failed else None,
            tree=TreePlace(
                tree_id=("order-desk", "claims")[number // 1000 % 2],
                tree_version=1 + number // 5000 % 3,
                execution_id=f"run-{number // 3}",
                node=node,
                visit=1,
                transition="unknown" if failed else options[chosen],
                unknown_reason="error" if failed else None,
                probability_source=None if failed else "model",
            ),
        )


def filled(path: Path, count: int) -> Path:
    """A store of either kind with so many decisions."""
    if path.suffix == ".jsonl":
        with path.open("wb") as file:
            file.writelines(line_of(record) + b"\n" for record in records(count))
        return path
    table = RecordTable(path, indexed=False)
    with table.change():
        for record in records(count):
            table.put(record)
    table.index()
    table.forget_journal()
    table.close()
    return path
