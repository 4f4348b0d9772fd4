"""How the command line speaks: results on standard output, all else on standard error, codes at the end.

Nothing is asked, and nothing is coloured, off a terminal.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from engine.errors import cause_of
from engine.jsontext import Json

OK: Final = 0
FAULTY: Final = 1
UNREADABLE: Final = 2
NOT_TERMINAL: Final = 3
UNREAD: Final = 141
"""Nobody reads the output any more: what a shell reports of a program that a closed pipe ended."""


class Commands(TyperGroup):
    """Commands that end quietly when nobody reads on, and with one message when there is no room to write."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        with _output():  # help is printed meanwhile
            return super().parse_args(ctx, args)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        with _output():
            return super().invoke(ctx)


class Command(TyperCommand):
    """A command that refuses an option given twice where only one value can count."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        _, _, named = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(named).items():
            if times > 1 and not (getattr(option, "multiple", False) or getattr(option, "is_flag", False)):
                raise typer.BadParameter("Give it once.", ctx, param_hint=option.opts)
        return super().parse_args(ctx, args)


def prepare_streams() -> None:
    """Let no character of a tree end the program on a terminal that cannot show it."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _output() -> Iterator[None]:
    """Ends the command when what it prints cannot be written."""
    try:
        yield
    except BrokenPipeError:
        _silence(sys.stdout)
        raise typer.Exit(UNREAD) from None
    except OSError as error:
        # Files are named by the error; the streams are not.
        what = error.filename or "The output"
        _silence(sys.stdout)
        fail(f"{what} cannot be written: {cause_of(error)}.")


def _silence(stream: IO[str]) -> None:
    """Let a stream lead nowhere: what is left in it would fail once more when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def one_line(text: str) -> str:
    """The text without line breaks and other control characters."""
    return _CONTROL.sub(" ", text)


def say(text: str) -> None:
    """Tell the person something on standard error; where nobody listens, that is all right."""
    try:
        typer.echo(text, err=True)
    except OSError:
        _silence(sys.stderr)


def fail(message: str, code: int = FAULTY) -> NoReturn:
    """End the command with one message."""
    say(one_line(message))
    raise typer.Exit(code)


def emit(document: Json) -> None:
    """Print the one JSON document of a command."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    # A file's name need not be text.
    typer.echo(f"{text}\n".encode(errors="backslashreplace"), nl=False)
