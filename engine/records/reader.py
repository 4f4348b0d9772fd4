"""Reading a record file: the decisions that are left, and the lines that could not be used."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.jsontext import MAX_BYTES
from engine.records.codec import RecordProblem, item_of
from engine.records.ledger import Ledger, RecordedDecision


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line (counted from 1) that could not be used, and why. Nothing of what it holds is told."""

    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a record file came to. The decisions are in the order they were first seen."""

    decisions: tuple[RecordedDecision, ...]
    problems: tuple[BadLine, ...]


def load_records(path: Path) -> Reading:
    """Read a whole file. A bad line is a problem, and the lines around it are read. Raises ``OSError``."""
    ledger, problems = Ledger(), list[BadLine]()
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file), 1):
            if not line.strip():
                continue
            try:
                ledger.take(item_of(line))
            except RecordProblem as problem:
                cut = problem.code == "not-json" and not line.endswith(b"\n")
                message = "The last line is incomplete." if cut else problem.message
                problems.append(BadLine(number, problem.code, message))
    return Reading(ledger.decisions(), tuple(problems))


async def read_records(path: Path, problems: list[BadLine] | None = None) -> AsyncIterator[RecordedDecision]:
    """The decisions of a file, read off the event loop; its bad lines are added to ``problems``.

    The whole file is read before the first decision is given, because an erasure may stand at its end.
    """
    reading = await asyncio.to_thread(load_records, path)
    if problems is not None:
        problems.extend(reading.problems)
    for decision in reading.decisions:
        yield decision


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, split at line feeds only; of one that is too long no more than shows it."""
    while line := file.readline(MAX_BYTES + 1):
        yield line
        while len(line) > MAX_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_BYTES + 1)
            if not line:
                return
