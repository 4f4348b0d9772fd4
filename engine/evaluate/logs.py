"""Run logs: the events of one run in a file of its own, one line each, under a header that holds the tree.

A log can be read on any machine and with any later version of its tree. It quotes inputs, prompts and
replies, so only its owner may read the file; each step of a question carries the ``decisionId``.
"""

import json
import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn, cast

from engine.errors import DocumentRefused, Problem
from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    BudgetPassed,
    ClassificationCompleted,
    Event,
    NodeStarted,
    NodeVisited,
    RunEnded,
    RunResult,
    RunStarted,
    SubRunEvent,
    Visit,
)
from engine.events.codec import event_of, json_of
from engine.files import in_place_of
from engine.trail import Trail, trail_of
from engine.tree import Json, NodeId, Tree
from engine.treefile import tree_hash

FORMAT: Final = 1
"""The newest form of run logs this program understands."""

MAX_BYTES: Final = 256_000_000
"""The largest log that is read."""

_KIND: Final = "treewright-run"


@dataclass(frozen=True, slots=True)
class RunLog:
    """A run, as far as it got: its events in order, who decided, and the case it took answers from.

    ``ValueError`` when the events do not begin with the start of a run. ``problems`` tell what of a file
    could not be read.
    """

    events: tuple[Event, ...] = field(repr=False)
    decider: str = ""
    case: str | None = None
    problems: tuple[Problem, ...] = ()

    def __post_init__(self) -> None:
        if not (self.events and isinstance(self.events[0], RunStarted)):
            raise ValueError("The events of a run begin with its start.")

    @property
    def start(self) -> RunStarted:
        """The first event: it holds the tree and all the run started from."""
        return cast("RunStarted", self.events[0])

    @property
    def result(self) -> RunResult | None:
        """How the run ended; None when the log ends before that."""
        last = self.events[-1]
        return last.result if isinstance(last, RunEnded) else None

    @property
    def trail(self) -> Trail:
        """The trail the events leave."""
        return trail_of(self.events)


def write_run_log(path: Path, log: RunLog) -> None:
    """Write a log, whole or not at all, as a file of mode 0600; ``OSError`` when that cannot be done."""
    with in_place_of(path, private=True) as file:
        file.writelines(json.dumps(line, allow_nan=False).encode() + b"\n" for line in _lines(log))


def read_run_log(path: Path) -> RunLog:
    """Read a log, up to the first line that is damaged or follows from nothing; a problem tells of that.

    ``DocumentRefused`` when it is no log, or one of a newer form; ``OSError`` when it cannot be read.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > MAX_BYTES:
            raise DocumentRefused("run-log-too-large", f"The log is larger than {MAX_BYTES // 10**6} MB.")
        header = _header(file.readline())
        events, problems = _read(header, file)
    if not events:
        message = problems[0].message if problems else "The log holds no event."
        raise DocumentRefused("run-log-empty", message, 2)
    decider, case = header.get("decider"), header.get("case")
    return RunLog(
        tuple(events),
        decider if isinstance(decider, str) else "",
        case if isinstance(case, str) else None,
        tuple(problems),
    )


# ------------------------------------------------------------------------------------------ lines


def _lines(log: RunLog) -> Iterator[Mapping[str, Json]]:
    last = log.events[-1]
    start = json_of(log.start, whole=True)
    yield {
        "kind": _KIND,
        "format": FORMAT,
        "executionId": log.start.execution_id,
        "started": log.start.at.isoformat(),
        "ended": last.at.isoformat() if isinstance(last, RunEnded) else None,
        "decider": log.decider,
        "case": log.case,
        "treeHash": log.start.tree_hash,
        "tree": start.pop("tree"),
    }
    yield start
    for event in log.events[1:]:
        yield json_of(event, whole=True)


def _object(line: bytes) -> dict[str, Json]:
    try:
        value = json.loads(line.decode(), parse_constant=_no_number)
    except RecursionError:
        value = None
    if not isinstance(value, dict):
        raise ValueError("The line holds no object.")  # noqa: TRY004 - as for any other line
    return value


def _no_number(_token: str) -> NoReturn:
    raise ValueError("A number must be finite.")


def _header(line: bytes) -> dict[str, Json]:
    header: dict[str, Json] = {}
    with suppress(ValueError):
        header = _object(line)
    form = header.get("format")
    if header.get("kind") != _KIND or not isinstance(form, int):
        raise DocumentRefused("run-log-none", "This file is no run log.")
    if form > FORMAT:
        message = f"This log is of form {form}; this version knows form {FORMAT} at most."
        raise DocumentRefused("run-log-newer", message)
    try:
        tree = Tree.model_validate(header.get("tree"), by_alias=True, by_name=False)
    except (ValueError, RecursionError):
        raise DocumentRefused("run-log-tree", "The tree in this log cannot be read.") from None
    if tree_hash(tree) != header.get("treeHash"):
        raise DocumentRefused("run-log-tree", "The tree in this log is not the one the run had.")
    return header


def _read(header: Mapping[str, Json], lines: Iterable[bytes]) -> tuple[list[Event], list[Problem]]:
    events: list[Event] = []
    order, numbered = _Order(), enumerate(lines, 2)
    for number, line in numbered:
        try:
            record = _object(line)
            event = event_of(record if events else record | {"tree": header["tree"]})
        except (ValueError, TypeError, OverflowError, RecursionError):
            code, what = ("line", "cannot be read") if line.endswith(b"\n") else ("cut", "is cut off")
        else:
            if order.admits(event):
                events.append(event)
                continue
            code, what = "order", "does not follow from the lines before it"
        left = sum(1 for _ in numbered)
        more = f"; it and the {left} after it are left out" if left else ""
        message = f"Line {number} {what}{more}."
        return events, [Problem(f"run-log-{code}", "warning", message, line=number)]
    return events, []


class _Order:
    """What may come next in the events of one run."""

    def __init__(self) -> None:
        self._run: str | None = None
        self._known: Container[NodeId | None] = ()
        self._next: NodeId | None = None
        self._visiting: tuple[NodeId, int] | None = None
        self._visits: Counter[NodeId] = Counter()
        self._path: list[Visit] = []
        self._over = False

    def admits(self, event: Event) -> bool:
        """Whether this follows from all before it, which it then belongs to."""
        if self._over:
            return False
        match event:
            case RunStarted(execution_id=run, tree=tree):
                holds = self._run is None
                self._run, self._known, self._next = run, {None, *tree.nodes}, tree.start_node_id
            case NodeStarted(node=node, visit=visit):
                self._visits[node] += 1
                holds = self._visiting is None and node == self._next and node in self._known
                holds = holds and visit == self._visits[node]
                self._visiting = node, visit
            case (
                ActionCompleted(node=node, visit=visit)
                | AttemptCompleted(node=node, visit=visit)
                | SubRunEvent(node=node, visit=visit)
            ):
                holds = self._visiting == (node, visit)
            case ClassificationCompleted(classification=made):
                holds = self._visiting == (made.node, made.visit)
            case BudgetPassed(node=node):
                holds = node in self._known
            case NodeVisited(visit=over):
                holds = self._visiting == (over.node, over.number) and over.next in self._known
                self._visiting, self._next = None, over.next
                self._path.append(over)
            case RunEnded(result=result):
                holds = result.path == tuple(self._path)
                self._over = True
            case _:
                holds = False
        return holds and event.execution_id == self._run
