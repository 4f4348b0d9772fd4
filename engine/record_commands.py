"""The commands on record stores: import, export, stats, outcome, erase, compact."""

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import platformdirs
import typer

from engine.counting import counted
from engine.errors import TreewrightError, cause_of
from engine.jsontext import Json
from engine.records import (
    AskedQuestion,
    BadLine,
    Confirmed,
    Copied,
    Erasure,
    Outcome,
    RecordBrowser,
    RecordedDecision,
    RecordFilter,
    Signal,
    Store,
    StoreRefused,
    browsed,
    copy_records,
    open_store,
)
from engine.records.moving import Progress, store_kind
from engine.terminal import UNREADABLE, Command, Commands, emit, fail, one_line, say

T = TypeVar("T")

SOURCE: Final = "cli"
"""Who says what is said on the command line, unless told otherwise."""
_SHOWN: Final = 20
"""Bad lines and erased decisions that are listed; the others are counted."""

records = typer.Typer(cls=Commands, help="Work on stores of decision records.", no_args_is_help=True)

_Store: TypeAlias = Annotated[
    Path, typer.Argument(metavar="STORE", help="A record store: a file that ends in .jsonl or .sqlite.")
]
_AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; all else goes to standard error.")
]


@records.command("import", cls=Command)
def take_in(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A record store to take from.")], store: _Store
) -> None:
    """Take into a store what another one holds and it does not; a repeated import takes nothing twice.

    Exit codes:
    0: Everything that could be read is in the store.
    1: A store cannot be written, or is none.
    2: IN cannot be read, or the command line is wrong.
    """
    _finish(_copied(source, store), f"into {store}")


@records.command(cls=Command)
def export(
    store: _Store,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new store; .jsonl is the interchange form.")],
) -> None:
    """Write what is left in a store to a new one, each decision before its outcomes.

    Exit codes:
    0: OUT was written.
    1: OUT is there already, or cannot be written.
    2: STORE cannot be read, or the command line is wrong.
    """
    if out.exists():
        fail(f"{out} is there already; export writes a new file.")
    _finish(_copied(store, out), f"to {out}")


@records.command(cls=Command)
def stats(store: _Store, as_json: _AsJson = False) -> None:
    """Count what a store holds.

    Exit codes:
    0: The store was read; lines that cannot be used are counted.
    2: The store cannot be read, or the command line is wrong.
    """
    numbers, problems = _run(_counted(store))
    if as_json:
        listed: list[Json] = [{"line": p.line, "code": p.code, "message": p.message} for p in problems]
        emit({"store": str(store), **numbers, "problems": listed})
        return
    for name, number in numbers.items():
        told = (
            ", ".join(f"{key} {value:,}" for key, value in number.items()) if isinstance(number, dict) else ""
        )
        typer.echo(f"{name}: {told or (f'{number:,}' if isinstance(number, int) else '-')}")
    _tell_problems(problems)


@records.command(cls=Command)
def outcome(
    store: _Store,
    decision_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a decision.")],
    confirm: Annotated[
        list[str] | None,
        typer.Option("--confirm", metavar="QUESTION=ANSWER", help="The right answer to a question."),
    ] = None,
    signal: Annotated[str | None, typer.Option(metavar="NAME", help="Something that happened.")] = None,
    value: Annotated[float | None, typer.Option(help="A number that belongs to the signal.")] = None,
    note: Annotated[str | None, typer.Option(help="A text that belongs to the signal.")] = None,
    source: Annotated[str, typer.Option(help="Who says so.")] = SOURCE,
    at: Annotated[
        str | None, typer.Option(help="When it was so, as 2026-11-02T09:00:00+01:00; now unless said.")
    ] = None,
) -> None:
    """Say what became of a decision: the right answers, or something that happened.

    Exit codes:
    0: The outcome is stored.
    1: There is no such decision, its question has no such answer, or the store cannot be written.
    2: The store cannot be read, or the command line is wrong.
    """
    if bool(confirm) == (signal is not None):
        raise typer.BadParameter("Give either --confirm or --signal.", param_hint="--confirm")
    if signal is None and (value is not None or note is not None):
        raise typer.BadParameter("It belongs to a signal.", param_hint="--value / --note")
    moment = _moment(at)

    def made(decision: RecordedDecision) -> Outcome:
        try:
            if signal is not None:
                return Signal(decision_id, source, moment, signal, value, note)
            pairs = dict(_confirmed(decision, text) for text in confirm or ())
            return Confirmed(decision_id, source, moment, pairs)
        except ValueError as error:
            fail(str(error))

    async def add() -> None:
        async with _reading(store) as browser:
            row = await browser.row_of(decision_id)
            decision = None if row is None else await browser.decision(row)
        if decision is None:
            fail(f"{store}: There is no such decision.")
        with _writing(store) as opened:
            await opened.outcome(made(decision))

    _run(add())
    typer.echo("The outcome is stored.")


@records.command(cls=Command)
def erase(
    store: _Store,
    key: Annotated[str | None, typer.Option(help="Erase all decisions with this erasure key.")] = None,
    decision_id: Annotated[str | None, typer.Option("--id", help="Erase this decision.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget decisions and their outcomes for good: nothing of them is left in the store.

    Transcripts, run logs and copies elsewhere are not touched.

    Exit codes:
    0: It is done, also where nothing matched.
    1: It was not agreed to, or the store cannot be written.
    2: The store cannot be read, or the command line is wrong.
    """
    if (key is None) == (decision_id is None):
        raise typer.BadParameter("Give either --key or --id.", param_hint="--key")
    erasure = Erasure(key=key, decision_id=decision_id)

    found = _run(_matching(store, erasure))
    if found and not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            fail(f"{counted(len(found), 'decision')} would be erased. Say --yes to agree.")
        typer.confirm(f"Erase {counted(len(found), 'decision')} for good?", abort=True, err=True)
    if found:
        _run(_erased(store, erasure))
    typer.echo(f"Erased {counted(len(found), 'decision')}{':' if found else '.'}")
    for one in found[:_SHOWN]:
        typer.echo(f"  {one_line(one)}")
    if len(found) > _SHOWN:
        typer.echo(f"  and {len(found) - _SHOWN:,} more")


@records.command(cls=Command)
def compact(store: _Store) -> None:
    """Give the space of what was erased back; a .jsonl file also loses its lines that cannot be read.

    Exit codes:
    0: It is done.
    1: The store cannot be written.
    2: There is no such store, or the command line is wrong.
    """
    before = _size(store)

    async def work() -> None:
        with _writing(store) as opened:
            await opened.compact()

    _run(work())
    typer.echo(f"{store}: {before:,} bytes before, {_size(store):,} bytes now.")


# -- within --------------------------------------------------------------------------------------------


def _cache() -> Path:
    return platformdirs.user_cache_path("treewright") / "records"


def _run(work: Coroutine[object, object, T]) -> T:
    """Do it; ends the command with one message when a store cannot be used."""
    try:
        return asyncio.run(work)
    except (TreewrightError, sqlite3.Error) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or 'The store'}: {cause_of(error)}.")


@asynccontextmanager
async def _reading(store: Path) -> AsyncIterator[RecordBrowser]:
    """A store that is read to its end, with progress on a terminal."""
    try:
        with browsed(store, _cache()) as browser:
            with _progress("Reading") as told:
                await browser.refresh(told)
            yield browser
    except StoreRefused as refused:
        fail(f"{store}: {refused}", UNREADABLE)
    except OSError as error:
        fail(f"{store} cannot be read: {cause_of(error)}.", UNREADABLE)


@contextmanager
def _writing(store: Path) -> Iterator[Store]:
    """A store that is written; ends the command when that cannot be."""
    try:
        opened = open_store(store)
    except TreewrightError as refused:
        fail(f"{store}: {refused}")
    except OSError as error:
        fail(f"{store} cannot be written: {cause_of(error)}.")
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def _progress(words: str) -> Iterator[Progress]:
    """A progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=1.0)
        yield lambda share: bar.update(task, completed=share)


async def _copy(source: Path, target: Path) -> Copied:
    for path in (source, target):
        store_kind(path)
    async with _reading(source) as browser:
        with _writing(target) as store, _progress("Copying") as told:
            return await copy_records(browser, store, _cache(), told)


def _copied(source: Path, target: Path) -> Copied:
    if target.exists() and source.exists() and source.samefile(target):
        fail("A store cannot be copied into itself.")
    return _run(_copy(source, target))


def _finish(copied: Copied, where: str) -> None:
    known = f"; {copied.known:,} were there already" if copied.known else ""
    taken = f"{counted(copied.decisions, 'decision')} and {counted(copied.outcomes, 'outcome')}"
    typer.echo(f"{taken} written {where}{known}.")
    _tell_problems(copied.problems)


async def _matching(store: Path, erasure: Erasure) -> tuple[str, ...]:
    async with _reading(store) as browser:
        return await browser.ids_with(erasure)


async def _erased(store: Path, erasure: Erasure) -> None:
    """Erase, and look whether it is so."""
    with _writing(store) as opened:
        if erasure.key is not None:
            await opened.erase_key(erasure.key)
        else:
            await opened.erase_decision(erasure.decision_id or "")
    if left := await _matching(store, erasure):
        fail(f"{counted(len(left), 'decision')} could not be erased.")


async def _counted(store: Path) -> tuple[dict[str, Json], tuple[BadLine, ...]]:
    async with _reading(store) as browser:
        numbers: dict[str, Json] = {
            "decisions": await browser.count(),
            "confirmed": await browser.count(RecordFilter(outcome="confirmed")),
            "withSignal": await browser.count(RecordFilter(outcome="signal")),
            "withoutOutcome": await browser.count(RecordFilter(outcome="none")),
            "errors": await browser.count(RecordFilter(error="any")),
        }
        for column, name in (("tree", "trees"), ("model", "models"), ("error", "errorKinds")):
            counts: dict[str, Json] = {}
            for value in await browser.values(column):
                counts[value] = await browser.count(RecordFilter(**{column: value}))  # type: ignore[arg-type]
            numbers[name] = counts
        return numbers, await browser.problems()


def _confirmed(decision: RecordedDecision, text: str) -> tuple[str, str | int | bool]:
    """The question and the answer of ``question=answer``."""
    key, equals, words = text.partition("=")
    if not key or not equals:
        raise typer.BadParameter(f"'{text}' is not of the form QUESTION=ANSWER.", param_hint="--confirm")
    question = decision.record.questions.get(key)
    if question is None:
        asked = ", ".join(decision.record.questions)
        raise ValueError(f"The decision has no question '{key}'. It has: {asked}.")
    allowed = _allowed(question)
    if words not in allowed:
        raise ValueError(f"'{words}' is no answer to '{key}'. Answers are: {', '.join(allowed)}.")
    return key, allowed[words]


def _allowed(question: AskedQuestion) -> dict[str, str | int | bool]:
    """What can be said of a question, and what it means."""
    match question.kind:
        case "noul":
            return {"yes": True, "no": False, "true": True, "false": False}
        case "score":
            return {level: int(level) for level in question.options}
        case _:
            return {option: option for option in question.options}


def _moment(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"'{text}' is no moment such as 2026-11-02T09:00:00+01:00."
        raise typer.BadParameter(message, param_hint="--at") from None
    return moment.astimezone()


def _tell_problems(problems: tuple[BadLine, ...]) -> None:
    if not problems:
        return
    say(f"{counted(len(problems), 'line')} could not be used:")
    for problem in problems[:_SHOWN]:
        say(one_line(f"  line {problem.line}: {problem.message}"))
    if len(problems) > _SHOWN:
        say(f"  and {len(problems) - _SHOWN:,} more")


def _size(store: Path) -> int:
    try:
        return store.stat().st_size
    except OSError as error:
        fail(f"{store} cannot be read: {cause_of(error)}.", UNREADABLE)
