"""The command that says what two versions of a tree differ in."""

import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from engine.analysis import compare
from engine.errors import DocumentRefused, cause_of
from engine.export import difference_lines, difference_page, summary_of
from engine.jsontext import document_bytes
from engine.problems import in_text
from engine.terminal import FAULTY, OK, UNREADABLE, emit, fail, one_line, say
from engine.tree import Tree
from engine.treefile import read_tree


class DiffFormat(StrEnum):
    """The forms a difference is told in."""

    text = "text"
    json = "json"
    html = "html"


_HELP: Final = "A tree file, or REVISION:PATH as git names an earlier version."


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help=_HELP)],
    after: Annotated[str, typer.Argument(metavar="B", help=_HELP)],
    form: Annotated[
        DiffFormat, typer.Option("--format", help="As text, as one JSON document, or as a page.")
    ] = DiffFormat.text,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 1 where they differ, as git diff does.")
    ] = False,
) -> None:
    """Say what differs between two versions of a tree: nodes, fields, branches, new names.

    How a file is laid out, and the order of its nodes, are no difference. A tree need not be finished.

    Exit codes:
    0: Both were compared.
    1: A part of one cannot be understood; with --exit-code also where they differ.
    2: One is no JSON document, git does not know it, or the command line is wrong.
    """
    found = compare(_tree(before), _tree(after))
    match form:
        case DiffFormat.json:
            emit(found.as_json())
        case DiffFormat.html:
            typer.echo(difference_page(found, before, after).encode(), nl=False)
        case DiffFormat.text:
            for line in difference_lines(found):
                typer.echo(line)
            typer.echo(summary_of(found))
    raise typer.Exit(FAULTY if exit_code and not found.is_empty else OK)


def _tree(name: str) -> Tree:
    try:
        reading = read_tree(_bytes(name))
    except DocumentRefused as refused:
        problem = refused.problem
        fail(f"{name}:{problem.line}:{problem.column}: {problem.message}", UNREADABLE)
    if not reading.whole:
        for problem in in_text(reading.problems, reading.text):
            say(one_line(f"{name}:{problem.line}:{problem.column}: {problem.severity}: {problem.message}"))
        fail(f"A part of {name} cannot be understood.")
    return reading.tree


def _bytes(name: str) -> bytes:
    path = Path(name)
    try:
        if ":" in name and not name.startswith("-") and not path.exists():
            return _committed(name)
        return document_bytes(path)
    except OSError as error:
        fail(f"{name} cannot be read: {cause_of(error)}.", UNREADABLE)


def _committed(name: str) -> bytes:
    """What git keeps under a name; the command ends where it keeps nothing."""
    asked = subprocess.run(  # noqa: S603
        ["git", "cat-file", "blob", name],  # noqa: S607 - the person's own git
        capture_output=True,
        check=False,
    )
    if asked.returncode:
        last = asked.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        fail(f"{name} cannot be read: {last or 'git does not know it'}", UNREADABLE)
    return asked.stdout
