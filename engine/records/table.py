"""The table of decisions: a SQLite database with what lists and filters ask for, newest first by arrival.

It holds the decisions themselves, or where the line of each stands in a record file. All of this is for one
thread at a time; errors are ``sqlite3.Error``.
"""

import errno
import json
import os
import re
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from engine.deciders.asked import Answer, NoulAnswer
from engine.errors import TreewrightError
from engine.jsontext import Json
from engine.records.codec import item_of, line_of
from engine.records.ledger import RecordedDecision
from engine.records.reader import BadLine
from engine.records.record import RETRACTED, Confirmed, Erasure, Outcome, Record, Signal

FORMAT: Final = 1
_MARK: Final = 0x54575244  # "TWRD": a table of ours and not another program's database

_SCHEMA: Final = """
CREATE TABLE decisions (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  started REAL NOT NULL,
  latency REAL NOT NULL,
  tree TEXT, version INTEGER, node TEXT, visit INTEGER, run TEXT,
  answer TEXT, confidence REAL, model TEXT, error TEXT, cached INTEGER NOT NULL,
  confirmed INTEGER NOT NULL DEFAULT 0, signals INTEGER NOT NULL DEFAULT 0,
  line BLOB, place INTEGER, size INTEGER
) STRICT;
CREATE TABLE keys (
  key TEXT NOT NULL, row INTEGER NOT NULL REFERENCES decisions ON DELETE CASCADE,
  PRIMARY KEY (key, row)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_row ON keys (row);
CREATE TABLE outcomes (
  seq INTEGER PRIMARY KEY, row INTEGER NOT NULL REFERENCES decisions ON DELETE CASCADE,
  line BLOB, place INTEGER, size INTEGER
) STRICT;
CREATE INDEX outcomes_by_row ON outcomes (row);
CREATE TABLE problems (line INTEGER PRIMARY KEY, code TEXT NOT NULL, message TEXT NOT NULL) STRICT;
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""

_ERASURES: Final = """
CREATE TABLE IF NOT EXISTS erasures (
  seq INTEGER PRIMARY KEY, at REAL NOT NULL, decisions INTEGER NOT NULL
) STRICT
"""

_INDEXES: Final = """
CREATE INDEX IF NOT EXISTS decisions_by_start ON decisions (started);
CREATE INDEX IF NOT EXISTS decisions_by_node ON decisions (tree, node, answer);
CREATE INDEX IF NOT EXISTS decisions_by_confidence ON decisions (confirmed, confidence);
CREATE INDEX IF NOT EXISTS decisions_by_run ON decisions (run);
CREATE INDEX IF NOT EXISTS decisions_by_error ON decisions (error) WHERE error IS NOT NULL;
"""


_PIECE: Final = 1 << 16


class StoreRefused(TreewrightError):
    """A file is no record store of ours, or one of a newer format."""


Held: TypeAlias = bytes | tuple[int, int]
"""An item's line, or where it stands in a file: its place and its size in bytes."""


class Kept(NamedTuple):
    """A decision in a table: its record and outcomes, and every key it was ever recorded with."""

    items: tuple[Held, ...]
    keys: tuple[str, ...]


OutcomeFilter: TypeAlias = Literal["confirmed", "unconfirmed", "signal", "none", "erased"]
Order: TypeAlias = Literal["newest", "least sure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Which decisions are meant; a member that is None admits all.

    ``error`` is an error kind, or ``any``, or empty for none. Confidences are from 0 to 1, ends included.
    With the outcome ``erased`` the erasures themselves are meant: of what they erased only the number and
    the time are left, so that no tree, node, answer, model or confidence admits them.
    """

    tree: str | None = None
    version: int | None = None
    node: str | None = None
    answer: str | None = None
    model: str | None = None
    error: str | None = None
    run: str | None = None
    least_confidence: float | None = None
    most_confidence: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    outcome: OutcomeFilter | None = None


@dataclass(frozen=True, slots=True)
class RecordRow:
    """What a list shows of one decision. ``row`` names it in its table, and rises as decisions arrive.

    A row below zero is an erasure: ``started`` is when it was carried out, and ``erased`` how many it took.
    """

    row: int
    started: datetime
    latency_ms: float
    tree: str | None
    version: int | None
    node: str | None
    visit: int | None
    answer: str | None
    confidence: float | None
    model: str | None
    error: str | None
    cached: bool
    confirmed: bool
    signals: int
    erased: int = 0


class RecordTable:
    """One open table. Leave transactions to the caller: ``with table.change(): ...`` is all or nothing.

    A new one that is not ``indexed`` is filled in a third of the time, and shall be given :meth:`index` then.
    """

    def __init__(self, path: Path, *, read_only: bool = False, indexed: bool = True) -> None:
        fresh = not path.exists() or path.stat().st_size == 0
        if read_only and fresh:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if fresh:
            path.touch(mode=0o600)
        mode = "ro" if read_only else "rw"
        self._database = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, check_same_thread=False, isolation_level=None
        )
        self._stopped = False
        self._database.set_progress_handler(lambda: self._stopped, 10_000)
        try:
            self._prepare(fresh=fresh, read_only=read_only)
            if fresh and indexed:
                self.index()
        except sqlite3.DatabaseError as error:
            self.close()
            raise StoreRefused("The file is not a record store.") from error
        except StoreRefused:
            self.close()
            raise

    def _prepare(self, *, fresh: bool, read_only: bool) -> None:
        run = self._database.execute
        run("PRAGMA busy_timeout = 2000")
        if fresh:
            run("PRAGMA journal_mode = WAL")
            self._database.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA application_id = {_MARK}; PRAGMA user_version = {FORMAT}; COMMIT;"
            )
        if self._number("PRAGMA application_id") != _MARK:
            raise StoreRefused("The file is not a record store.")
        if self._number("PRAGMA user_version") > FORMAT:
            raise StoreRefused("The record store was written by a newer Treewright.")
        if not read_only:
            # What is erased is overwritten, here and below in what the journal kept of it.
            run("PRAGMA secure_delete = ON")
            run("PRAGMA synchronous = NORMAL")
            run("PRAGMA foreign_keys = ON")
            run(_ERASURES)

    def close(self) -> None:
        """Give the file back."""
        self._database.set_progress_handler(None, 0)
        self._database.close()

    def stop(self) -> None:
        """Let nothing run any more, not even what another thread has begun: ``sqlite3.OperationalError``."""
        # SQLite's own interrupt would also stop the tidying up at the end.
        self._stopped = True

    # -- writing ---------------------------------------------------------------------------------------

    def change(self) -> "_Change":
        """A transaction; what is in its block is kept as a whole, or not at all when it raises."""
        return _Change(self._database)

    def put(self, record: Record, held: Held | None = None) -> None:
        """Keep a record, in place of an earlier one of the same decision, whose outcomes and keys stay."""
        line, place, size = _columns(line_of(record) if held is None else held)
        tree = record.tree
        answer = record.answers[0] if record.answers else None
        values = (
            record.decision_id,
            record.started.timestamp(),
            record.latency_ms,
            tree and tree.tree_id,
            tree and tree.tree_version,
            tree.node if tree else next(iter(record.questions), None),
            tree and tree.visit,
            tree and tree.execution_id,
            answer_of(record),
            answer and answer.confidence,
            record.served_model or record.requested_model or record.default_model or None,
            record.error_kind,
            int(record.cached),
            line,
            place,
            size,
        )
        (row,) = self._database.execute(_PUT, values).fetchone()
        if record.erasure_key is not None:
            self._database.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (record.erasure_key, row))

    def add(self, outcome: Outcome, held: Held | None = None) -> bool:
        """Keep an outcome; false, and nothing kept, where its decision is not here."""
        found = self._database.execute(
            f"UPDATE decisions SET {_counted(outcome)} WHERE id = ? RETURNING row",  # noqa: S608
            (outcome.decision_id,),
        ).fetchone()
        if found is None:
            return False
        held = line_of(outcome) if held is None else held
        self._database.execute(
            "INSERT INTO outcomes (row, line, place, size) VALUES (?, ?, ?, ?)", (*found, *_columns(held))
        )
        return True

    def erase(self, erasure: Erasure, at: datetime | None = None) -> tuple[str, ...]:
        """Delete the decisions an erasure means, with their outcomes; the ids of those that were here.

        With a time it is noted then how many they were.
        """
        if erasure.key is None:
            which, value = "id = ?", erasure.decision_id
        else:
            which, value = "row IN (SELECT row FROM keys WHERE key = ?)", erasure.key
        found = self._database.execute(
            f"DELETE FROM decisions WHERE {which} RETURNING id",  # noqa: S608
            (value,),
        ).fetchall()
        if found and at is not None:
            noted = (at.timestamp(), len(found))
            self._database.execute("INSERT INTO erasures (at, decisions) VALUES (?, ?)", noted)
        return tuple(decision_id for (decision_id,) in found)

    def forget_journal(self) -> None:
        """Empty the journal, so that nothing erased is left in it.

        Raises ``sqlite3.OperationalError`` while somebody else reads: try again then.
        """
        busy, _, _ = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise sqlite3.OperationalError("The record store is being read.")

    def index(self) -> None:
        """Have lists and filters be quick; where they are already, this does nothing."""
        self._database.executescript(_INDEXES)

    def compact(self) -> None:
        """Give the space of what was erased back to the system."""
        self._database.execute("VACUUM")
        self.forget_journal()

    def report(self, problem: BadLine) -> None:
        """Keep a problem of the file this table is an index of."""
        self._database.execute(
            "INSERT OR REPLACE INTO problems VALUES (?, ?, ?)", (problem.line, problem.code, problem.message)
        )

    def note(self, **facts: int) -> None:
        """Keep numbers about the table by name."""
        self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    def clear(self) -> None:
        """Forget everything."""
        for table in ("decisions", "problems", "facts"):
            self._database.execute(f"DELETE FROM {table}")  # noqa: S608

    # -- reading ---------------------------------------------------------------------------------------

    def facts(self) -> dict[str, int]:
        """The numbers that were noted."""
        return dict(self._database.execute("SELECT name, value FROM facts"))

    def problems(self) -> tuple[BadLine, ...]:
        """What was reported, by line."""
        found = self._database.execute("SELECT line, code, message FROM problems ORDER BY line")
        return tuple(BadLine(*values) for values in found)

    def version(self) -> int:
        """A number that is another one after another connection changed the table."""
        return self._number("PRAGMA data_version")

    def count(self, wanted: RecordFilter = RecordFilter()) -> int:
        """How many decisions there are."""
        where, values = _where(wanted)
        return self._number(f"SELECT count(*) FROM {self._source(wanted)} {where}", values)  # noqa: S608

    def newest(self, wanted: RecordFilter, limit: int, order: Order = "newest") -> list[int]:
        """The first so many rows of an order, quickly."""
        query, values = self._ordered(wanted, order)
        return [row for (row,) in self._database.execute(f"{query} LIMIT ?", (*values, limit))]

    def all_rows(self, wanted: RecordFilter, order: Order = "newest") -> Sequence[int]:
        """Every row, in order."""
        query, values = self._ordered(wanted, order, whole=True)
        # In one piece: for each row that is fetched this thread would have to wait its turn among the others.
        (told,) = self._database.execute(f"SELECT group_concat(row) FROM ({query})", values).fetchone()  # noqa: S608
        rows, start = array("q"), 0
        # And read in short ones: while numbers are made of a text, no other thread gets its turn at all.
        while told and start < len(told):
            end = told.find(",", start + _PIECE)
            end = len(told) if end < 0 else end
            rows.extend(map(int, told[start:end].split(",")))
            start = end + 1
        return rows

    def rows(self, rows: Sequence[int]) -> list[RecordRow]:
        """What a list shows of these rows; one that is not there any more is left out."""
        marks = ",".join("?" * len(rows))
        found = self._database.execute(
            f"SELECT {_LISTED} FROM decisions WHERE row IN ({marks})",  # noqa: S608
            rows,
        )
        by_row = {values[0]: _row(values) for values in found}
        if any(row < 0 for row in rows):
            query = f"SELECT -seq, at, decisions FROM erasures WHERE -seq IN ({marks})"  # noqa: S608
            by_row |= {values[0]: _erased_row(*values) for values in self._database.execute(query, rows)}
        return [by_row[row] for row in rows if row in by_row]

    def row_of(self, decision_id: str) -> int | None:
        """Where a decision stands."""
        found = self._database.execute("SELECT row FROM decisions WHERE id = ?", (decision_id,)).fetchone()
        return found and int(found[0])

    def ids_with(self, erasure: Erasure) -> tuple[str, ...]:
        """The decisions an erasure would remove."""
        if erasure.key is None:
            found = self._database.execute("SELECT id FROM decisions WHERE id = ?", (erasure.decision_id,))
        else:
            found = self._database.execute(
                "SELECT id FROM decisions JOIN keys USING (row) WHERE key = ?", (erasure.key,)
            )
        return tuple(decision_id for (decision_id,) in found)

    def values(self, column: Literal["tree", "node", "answer", "model", "error"]) -> list[str]:
        """The different values of a column, sorted."""
        found = self._database.execute(
            f"SELECT DISTINCT {column} FROM decisions WHERE {column} IS NOT NULL ORDER BY 1"  # noqa: S608
        )
        return [value for (value,) in found]

    def held(self, row: int) -> tuple[Held, ...]:
        """Where a record and its outcomes are, in the order they arrived; nothing where it is not here."""
        query = (
            "SELECT line, place, size FROM decisions WHERE row = ?1 UNION ALL "
            "SELECT line, place, size FROM (SELECT * FROM outcomes WHERE row = ?1 ORDER BY seq)"
        )
        return tuple(map(_held, self._database.execute(query, (row,))))

    def places(self, rows: Sequence[int]) -> list[tuple[int, int, int]]:
        """Row, place and size of those of the rows whose lines stand in a file."""
        marks = ",".join("?" * len(rows))
        query = f"SELECT row, place, size FROM decisions WHERE row IN ({marks}) AND place IS NOT NULL"  # noqa: S608
        return self._database.execute(query, rows).fetchall()

    def every(self) -> Iterator["Kept"]:
        """Every decision, in order of arrival."""
        run = self._database.execute
        with closing(self._database.cursor()) as decisions:
            for (row,) in decisions.execute("SELECT row FROM decisions ORDER BY row"):
                keys = run("SELECT key FROM keys WHERE row = ?", (row,)).fetchall()
                yield Kept(self.held(row), tuple(key for (key,) in keys))

    def holds(self, outcome: Outcome) -> bool:
        """Whether just this outcome is here already, or its decision is not."""
        row = self.row_of(outcome.decision_id)
        return row is None or line_of(outcome) in self.held(row)

    def saying(self, needle: "Needle", rows: Iterable[int]) -> list[int]:
        """Those of the rows whose record says this somewhere, in the given order."""
        wanted = list(rows)
        marks = ",".join("?" * len(wanted))
        found = self._database.execute(
            f"SELECT row, line FROM decisions WHERE row IN ({marks}) "  # noqa: S608
            "AND CAST(line AS TEXT) LIKE ? ESCAPE '\\'",
            (*wanted, needle.pattern),
        )
        there = {row for row, line in found if needle.is_in(line)}
        return [row for row in wanted if row in there]

    # -- within ----------------------------------------------------------------------------------------

    def _source(self, wanted: RecordFilter) -> str:
        """What a list of this kind is made from."""
        if wanted.outcome != "erased":
            return "decisions"
        # A store that no newer program has written to yet has noted none.
        noted = self._number("SELECT count(*) FROM sqlite_master WHERE name = 'erasures'")
        return _ERASED if noted else "(SELECT * FROM decisions LIMIT 0)"

    def _ordered(
        self, wanted: RecordFilter, order: Order, *, whole: bool = False
    ) -> tuple[str, list[object]]:
        where, values = _where(wanted)
        by = "row DESC" if order == "newest" else "confidence, row DESC"
        if wanted.outcome == "erased":
            by = "row"
        # To sort what an index holds is less work than to read every record on the way.
        index = "INDEXED BY decisions_by_start" if whole and order == "newest" and not where else ""
        return f"SELECT row FROM {self._source(wanted)} {index} {where} ORDER BY {by}", values  # noqa: S608

    def _number(self, query: str, values: Sequence[object] = ()) -> int:
        return int(self._database.execute(query, values).fetchone()[0])


class _Change:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._database.execute("COMMIT" if kind is None else "ROLLBACK")


def decision_of(lines: Iterable[bytes]) -> RecordedDecision | None:
    """The decision that a record's line and the lines of its outcomes tell; None where there are none."""
    items = [item_of(line) for line in lines]
    outcomes = tuple(item for item in items[1:] if isinstance(item, Confirmed | Signal))
    return RecordedDecision(items[0], outcomes) if items and isinstance(items[0], Record) else None


def lines_of(lines: Iterable[bytes], keys: Sequence[str]) -> Iterator[bytes]:
    """The lines that make a decision elsewhere: its record and outcomes, and first what else it was found by.

    The record is told with each earlier key too, because it is forgotten by any key it ever had.
    """
    record, *outcomes = lines
    own = _OWN_KEY.match(record)
    if keys and (own is None or keys != (json.loads(own[1]),)):
        item = item_of(record)
        if isinstance(item, Record):
            yield from (line_of(replace(item, erasure_key=k)) for k in keys if k != item.erasure_key)
    yield record
    yield from outcomes


_OWN_KEY: Final = re.compile(
    rb'\{"kind":"record","version":1,"decisionId":"[^"\\]*","erasureKey":("[^"\\]*"),'
)


def answer_of(record: Record) -> str | None:
    """What the first question of a record was answered: the branch taken, an option, a level, yes or no."""
    if record.tree is not None and record.tree.transition is not None:
        return record.tree.transition
    if not record.answers:
        return None
    answer: Answer = record.answers[0]
    if isinstance(answer, NoulAnswer):
        return "yes" if answer.probability >= 0.5 else "no"
    question = record.questions.get(answer.key)
    options = question.options if question else ()
    return options[answer.chosen_index] if answer.chosen_index < len(options) else None


_LISTED: Final = (
    "row, started, latency, tree, version, node, visit, answer, confidence, model, error, cached, "
    "confirmed > 0, signals"
)
_PUT: Final = """
INSERT INTO decisions (id, started, latency, tree, version, node, visit, run, answer, confidence, model,
                       error, cached, line, place, size)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  started = excluded.started, latency = excluded.latency, tree = excluded.tree, version = excluded.version,
  node = excluded.node, visit = excluded.visit, run = excluded.run, answer = excluded.answer,
  confidence = excluded.confidence, model = excluded.model, error = excluded.error, cached = excluded.cached,
  line = excluded.line, place = excluded.place, size = excluded.size
RETURNING row
"""

_OUTCOMES: Final[dict[str, str]] = {
    "confirmed": "confirmed > 0",
    "unconfirmed": "confirmed = 0",
    "signal": "signals > 0",
    "none": "confirmed = 0 AND signals = 0",
    "erased": "TRUE",
}
_ERASED: Final = (
    "(SELECT -seq AS row, at AS started, NULL AS tree, NULL AS version, NULL AS node, NULL AS answer, "
    "NULL AS model, NULL AS run, NULL AS confidence, NULL AS error FROM erasures)"
)
"""The erasures as if they were decisions of which nothing but the time is known."""


class Needle:
    """A text to be found in any value or member name of a record, whatever the case of its letters."""

    def __init__(self, text: str) -> None:
        # What JSON or SQL write in their own way stands for anything, and is looked at once the rest fits.
        parts = _SPECIAL.split(json.dumps(text)[1:-1])
        self.pattern = f"%{'%'.join(parts)}%"
        self._part = max(parts, key=len).lower().encode()
        self._folded = text.casefold()

    def is_in(self, line: bytes) -> bool:
        """Whether a line says it."""
        return not self._folded or (self._part in line.lower() and self._said(json.loads(line)))

    def _said(self, value: Json) -> bool:
        match value:
            case str():
                return self._folded in value.casefold()
            case dict():
                return any(self._said(name) or self._said(member) for name, member in value.items())
            case list():
                return any(map(self._said, value))
            case _:
                return self._folded in str(value).casefold()


_SPECIAL: Final = re.compile(r"\\u[0-9a-f]{4}|[%_\\]")


def _where(wanted: RecordFilter) -> tuple[str, list[object]]:
    tests: list[str] = []
    values: list[object] = []
    for column in ("tree", "version", "node", "answer", "model", "run"):
        if (value := getattr(wanted, column)) is not None:
            tests.append(f"{column} = ?")
            values.append(value)
    for test, bound in (
        ("confidence >= ?", wanted.least_confidence),
        ("confidence <= ?", wanted.most_confidence),
        ("started >= ?", wanted.since and wanted.since.timestamp()),
        ("started < ?", wanted.until and wanted.until.timestamp()),
    ):
        if bound is not None:
            tests.append(test)
            values.append(bound)
    if wanted.error == "any":
        tests.append("error IS NOT NULL")
    elif wanted.error == "":
        tests.append("error IS NULL")
    elif wanted.error is not None:
        tests.append("error = ?")
        values.append(wanted.error)
    if wanted.outcome is not None:
        tests.append(_OUTCOMES[wanted.outcome])
    return (f"WHERE {' AND '.join(tests)}" if tests else ""), values


def _columns(held: Held) -> tuple[bytes | None, int | None, int | None]:
    return (held, None, None) if isinstance(held, bytes) else (None, *held)


def _counted(outcome: Outcome) -> str:
    """What an outcome changes in the columns of its decision."""
    match outcome:
        case Signal(name=name, note=None) if name == RETRACTED:
            return "confirmed = 0"
        case Signal(name=name) if name == RETRACTED:
            return "signals = max(0, signals - 1)"
        case Signal():
            return "signals = signals + 1"
        case _:
            return "confirmed = confirmed + 1"


def _held(columns: Sequence[Any]) -> Held:
    line, place, size = columns
    return (place, size) if line is None else bytes(line)


def _row(values: Sequence[Any]) -> RecordRow:
    row, started, *others, cached, confirmed, signals = values
    at = datetime.fromtimestamp(started, UTC)
    return RecordRow(*(row, at, *others, bool(cached), bool(confirmed), signals))


def _erased_row(row: int, at: float, decisions: int) -> RecordRow:
    """An erasure in a list."""
    blank = dict.fromkeys(("tree", "version", "node", "visit", "answer", "confidence", "model", "error"))
    return RecordRow(
        row=row,
        started=datetime.fromtimestamp(at, UTC),
        latency_ms=0,
        **blank,
        cached=False,
        confirmed=False,
        signals=0,
        erased=decisions,
    )
