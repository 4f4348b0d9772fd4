"""The console script: the engine's commands, and with Qt the window and pictures of trees.

Qt is loaded only once there is something to show or to draw.
"""

import asyncio
import os.path
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from designer import resource
from engine import Event, Session, TranscriptOptions, trail_of, write_tree
from engine.cli import (
    NOT_TERMINAL,
    OK,
    TRUST_HELP,
    UNREADABLE,
    Command,
    Commands,
    Steps,
    data_folder,
    drive,
    fail,
    no_cases,
    open_tree,
    outcome_line,
    prepare_streams,
    proven,
    say,
    write_file,
)
from engine.cli import app as engine_app
from engine.evaluate import find_cases, inputs_of, read_lines
from engine.records import JsonlSink

SAMPLE: Final = "samples/ssvc-deployer/tree.json"


class _OpenByDefault(Commands):
    """A first word that is no command is a file to open; with no word at all the window opens empty."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        word = next(iter(args), "-")
        if word not in (*self.commands, "--help"):
            # Path.exists fails for a word that is too long to be a name.
            if not word.startswith("-") and not os.path.exists(word):  # noqa: PTH110
                closest = get_close_matches(word, self.commands, 1)
                hint = (
                    f"Did you mean '{closest[0]}'?" if closest else f"Commands: {', '.join(self.commands)}."
                )
                ctx.fail(f"There is no command and no file '{word}'. {hint}")
            args = ["open", *args]
        return super().parse_args(ctx, args)


_own = typer.Typer()
app = typer.Typer(
    cls=_OpenByDefault,
    help="Author, check, run and debug decision trees. A FILE alone is opened in the window.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(engine_app)
# Added last, so that this export stands before the engine's.
app.add_typer(_own)


def main() -> None:
    """Run the command line of this process."""
    prepare_streams()
    app()


# -- open ----------------------------------------------------------------------------------------------


@_own.command("open", cls=Command)
def open_window(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A tree file; without one, the start page.")
    ] = None,
    list_commands: Annotated[
        bool, typer.Option("--list-commands", help="Print every command of the window: id, title, keys.")
    ] = False,
    headless: Annotated[
        bool,
        typer.Option(
            "--headless",
            help="Without a window: check the tree, run its first case, and write the transcript, the "
            "decision records and a picture with the path lit. Without FILE: a sample.",
        ),
    ] = False,
) -> None:
    """Open the window, on a tree or on the start page.

    Exit codes:
    0: The window was closed.
    1: There is no screen.
    2: The command line is wrong.

    With --headless they are those of run.
    """
    if headless:
        raise typer.Exit(_run_headless(file or resource(SAMPLE)))
    if list_commands:
        from designer.actions import table
        from designer.window import OWNERS

        for row in table(*OWNERS):
            typer.echo("\t".join(row))
        return
    if sys.platform == "linux" and not any(
        map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
    ):
        fail("There is no screen to open a window on. 'treewright open --headless FILE' runs without one.")
    from designer import app as application

    raise typer.Exit(application.main(file))


# -- export --------------------------------------------------------------------------------------------


class ExportFormat(StrEnum):
    """What a tree can be exported as."""

    json = "json"
    png = "png"
    svg = "svg"
    pdf = "pdf"


@_own.command(cls=Command)
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A tree file.")],
    form: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format", help="The canonical tree, or a picture of it; else what the name after --out ends in."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write here. A picture needs it; a tree is else printed."
        ),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="A picture in dark colours.")] = False,
    scale: Annotated[
        float | None,
        typer.Option(min=0.1, max=8, help="Pixels of a picture to a unit; usually 2 for PNG, else 1."),
    ] = None,
    trust: Annotated[bool, typer.Option("--trust", help=TRUST_HELP)] = False,
) -> None:
    """Write a tree in its canonical form, for other tools to run, or as a picture.

    It is refused while the tree has errors.

    Exit codes:
    0: The tree was written.
    1: The tree has errors, or the file cannot be written.
    2: The tree's file is no JSON document, or the command line is wrong.
    """
    form = _form(form, out)
    if form is ExportFormat.json:
        for option, given in (("--dark", dark), ("--scale", scale is not None)):
            if given:
                raise typer.BadParameter("It is for pictures; this writes the tree.", param_hint=option)
    elif out is None:
        raise typer.BadParameter("A picture needs a file to be written to.", param_hint="--out")
    tree = proven(open_tree(file, trust=trust)).tree
    is_json = form is ExportFormat.json
    data = write_tree(tree) if is_json else _picture(file, form=form, dark=dark, scale=scale)
    if out is None:
        typer.echo(data, nl=False)
    else:
        write_file(out, data)


def _form(named: ExportFormat | None, out: Path | None) -> ExportFormat:
    """What to write: what was named, else what the file's name ends in; the two must not differ."""
    suffix = out.suffix.lower() if out else ""
    known = {f".{form}": form for form in ExportFormat}
    if named is None:
        if suffix and suffix not in known:
            message = f"'{suffix}' tells no form; name one with --format: {', '.join(ExportFormat)}."
            raise typer.BadParameter(message, param_hint="--out")
        return known.get(suffix, ExportFormat.json)
    if known.get(suffix, named) is not named:
        message = f"The file is named as one that holds {known[suffix]}, but --format says {named}."
        raise typer.BadParameter(message, param_hint="--out")
    return named


def _picture(
    file: Path,
    events: list[Event] | None = None,
    *,
    form: str = "png",
    dark: bool = False,
    scale: float | None = None,
) -> bytes:
    """The canvas of a tree file as a picture, with the path lit where there were events of a run."""
    from designer.canvas.geometry import card_size
    from designer.canvas.overlay import moment
    from designer.canvas.picture import FORMS
    from designer.document.files import Unreadable, open_tree
    from designer.theme import DARK, LIGHT

    opened = open_tree(file, card_size)
    if isinstance(opened, Unreadable):
        fail(f"{file}: {opened.problems[0].message}")
    overlay = None if events is None else moment(trail_of(events), None)
    sized = {} if scale is None else {"scale": scale}
    return FORMS[form](opened.draft, overlay, tokens=DARK if dark else LIGHT, **sized)


# -- without a screen ----------------------------------------------------------------------------------


def _run_headless(file: Path) -> int:
    """The main job on the terminal: check, run the first case step by step, and name the files it leaves."""
    opened = open_tree(file, trust=False)
    for finding in opened.findings:
        say(finding.line())
    tree = proven(opened)
    typer.echo(f"{file}: {len(tree.tree.nodes)} nodes, no errors")
    try:
        lines = read_lines(find_cases(file), tree.tree)
    except OSError as error:
        say(no_cases(file, error).line())
        return UNREADABLE
    case = next((line.case for line in lines if line.case is not None), None)
    if case is None:
        why = next((line.problems[0].message for line in lines), "It is empty.")
        fail(f"{find_cases(file)}: There is no case to run. {why}")
    typer.echo(f"Case {case.id}:")
    folder = _fresh_folder()
    events: list[Event] = []
    steps = Steps()
    with closing(JsonlSink(folder / "decisions.jsonl")) as records:
        session = Session(
            catalog=opened.catalog,
            records=records,
            record_scripted=True,
            transcript=TranscriptOptions(directory=folder),
        )
        start = inputs_of(case, opened.project.parameters)
        run = session.start(tree, start, observers=[events.append, steps])
        result = asyncio.run(drive(run, steps))
    steps.must_have_been_read()
    picture = folder / "path.png"
    write_file(picture, _picture(file, events))
    typer.echo(outcome_line(result))
    written = run.transcript.path if run.transcript else None
    for name, path in (("Transcript", written), ("Records", records.path), ("Picture", picture)):
        typer.echo(f"{name}: {path}")
    return OK if result.succeeded else NOT_TERMINAL


def _fresh_folder() -> Path:
    parent = data_folder() / "headless"
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}-", dir=parent))
