"""Reading a record file: the decisions that are left, and the lines that could not be used."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

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
        for number, line in enumerate(lines(file), 1):
            if not line.data.strip():
                continue
            try:
                ledger.take(item_of(line.data))
            except RecordProblem as problem:
                problems.append(bad_line(line, number, problem))
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


class Line(NamedTuple):
    """A line with the line feed that ends it; of one that is too long ``data`` is no more than shows it."""

    data: bytes
    size: int
    """How many bytes it has in the file."""
    ends: bool
    """Whether it ends in a line feed; the last one of a file need not."""


def bad_line(line: Line, number: int, problem: RecordProblem) -> BadLine:
    """What is told of a line that could not be used."""
    cut = problem.code == "not-json" and not line.ends
    return BadLine(number, problem.code, "The last line is incomplete." if cut else problem.message)


def lines(stream: BinaryIO) -> Iterator[Line]:
    """The lines of a record file. Nothing but a line feed ends one."""
    while data := stream.readline(MAX_BYTES + 1):
        size, end = len(data), data[-1:]
        while end != b"\n" and (rest := stream.readline(MAX_BYTES + 1)):
            size, end = size + len(rest), rest[-1:]
        yield Line(data, size, end == b"\n")
