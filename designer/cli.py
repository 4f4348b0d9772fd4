"""The console script: the engine's commands, and with Qt the window and pictures of trees.

Qt is loaded only once there is something to show or to draw.
"""

import asyncio
import os
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from typer.core import TyperGroup

from designer import resource
from engine import Event, Session, TranscriptOptions, trail_of, write_tree
from engine.cli import (
    NOT_TERMINAL,
    OK,
    data_folder,
    fail,
    open_tree,
    outcome_line,
    prepare_streams,
    print_step,
    proven,
    say,
    write_file,
)
from engine.cli import app as engine_app
from engine.evaluate import find_cases, inputs_of, read_cases
from engine.records import JsonlSink

SAMPLE: Final = "samples/ssvc-deployer/tree.json"


class _OpenByDefault(TyperGroup):
    """A first word that is no command is a file to open; with no word at all the window opens empty."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if not args or args[0] not in (*self.commands, "--help"):
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


@_own.command("open")
def open_window(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A tree file.")] = None,
    list_commands: Annotated[
        bool, typer.Option("--list-commands", help="Print every command of the window: id, title, keys.")
    ] = False,
    headless: Annotated[
        bool,
        typer.Option(
            "--headless",
            help="Without a window: check, run the first case, write transcript, records and picture.",
        ),
    ] = False,
) -> None:
    """Open the window, on a tree or on the start page."""
    if headless:
        raise typer.Exit(_run_headless(file or resource(SAMPLE)))
    if list_commands:
        from designer.actions import table
        from designer.window import MainWindow

        for row in table(MainWindow):
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


@_own.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A tree file.")],
    form: Annotated[
        ExportFormat, typer.Option("--format", help="The canonical tree, or a picture of it.")
    ] = ExportFormat.json,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write here; a tree is else printed.")
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="A picture in dark colours.")] = False,
    scale: Annotated[float, typer.Option(min=0.1, max=8, help="Pixels of a picture to a unit.")] = 2.0,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Run the project's own Python files; do this for folders you trust."),
    ] = False,
) -> None:
    """Write a tree in its canonical form or as a picture; refused while it has errors."""
    if form is ExportFormat.png and out is None:
        raise typer.BadParameter("A picture needs a file to be written to.", param_hint="--out")
    tree = proven(open_tree(file, trust=trust)).tree
    data = write_tree(tree) if form is ExportFormat.json else _picture(file, dark=dark, scale=scale)
    if out is None:
        typer.echo(data, nl=False)
    else:
        write_file(out, data)


def _picture(
    file: Path, events: list[Event] | None = None, *, dark: bool = False, scale: float = 2.0
) -> bytes:
    """The canvas of a tree file as a PNG, with the path lit where there were events of a run."""
    from designer.canvas.geometry import card_size
    from designer.canvas.overlay import moment
    from designer.canvas.picture import render_png
    from designer.document.files import Unreadable, open_tree
    from designer.theme import DARK, LIGHT

    opened = open_tree(file, card_size)
    if isinstance(opened, Unreadable):
        fail(f"{file}: {opened.problems[0].message}")
    overlay = None if events is None else moment(trail_of(events), None, paused=False)
    return render_png(opened.draft, overlay, tokens=DARK if dark else LIGHT, scale=scale)


# -- without a screen ----------------------------------------------------------------------------------


def _run_headless(file: Path) -> int:
    """The main job on the terminal: check, run the first case step by step, and name the files it leaves."""
    opened = open_tree(file, trust=False)
    for finding in opened.findings:
        say(finding.line())
    tree = proven(opened)
    typer.echo(f"{file}: {len(tree.tree.nodes)} nodes, no errors")
    cases, problems = read_cases(find_cases(file), tree.tree)
    if not cases:
        fail(f"{find_cases(file)}: {problems[0].message if problems else 'there is no case to run.'}")
    typer.echo(f"Case {cases[0].id}:")
    folder = _fresh_folder()
    events: list[Event] = []
    with closing(JsonlSink(folder / "decisions.jsonl")) as records:
        session = Session(
            catalog=opened.catalog,
            records=records,
            record_scripted=True,
            transcript=TranscriptOptions(directory=folder),
        )
        start = inputs_of(cases[0], opened.project.parameters)
        run = session.start(tree, start, observers=[events.append, print_step])
        result = asyncio.run(run.finish())
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
