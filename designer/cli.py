"""The console script: the engine's commands, and with Qt the window and pictures of trees.

Qt is loaded only once there is something to show or to draw.
"""

import asyncio
import gc
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
from engine import Event, Session, TranscriptOptions, trail_of
from engine.cli import (
    FORM_HELP,
    OUT_HELP,
    TEXTS,
    TRUST_HELP,
    Opened,
    Steps,
    data_folder,
    drive,
    form_of,
    no_cases,
    open_tree,
    outcome_line,
    proven,
    put,
    shown,
    write_file,
)
from engine.cli import app as engine_app
from engine.counting import counted
from engine.evaluate import find_cases, inputs_of, read_lines
from engine.records import DecisionRecorder, JsonlSink
from engine.terminal import (
    NOT_TERMINAL,
    OK,
    UNREADABLE,
    Command,
    Commands,
    fail,
    prepare_streams,
    say,
)

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
    # What is imported stays; from here on the window collects garbage when it chooses to.
    gc.disable()
    from designer import app as application

    raise typer.Exit(application.main(file))


# -- export --------------------------------------------------------------------------------------------


class ExportForm(StrEnum):
    """What a tree can be exported as."""

    json = "json"
    html = "html"
    pdf = "pdf"
    svg = "svg"
    png = "png"
    mmd = "mmd"
    dot = "dot"


_PICTURES: Final = (ExportForm.pdf, ExportForm.svg, ExportForm.png)
_PRINTED: Final = tuple(form for form in ExportForm if form not in (ExportForm.pdf, ExportForm.png))


@_own.command(cls=Command)
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A tree file.")],
    out: Annotated[Path | None, typer.Argument(metavar="OUT", help=OUT_HELP)] = None,
    form: Annotated[ExportForm | None, typer.Option("--format", help=FORM_HELP)] = None,
    dark: Annotated[bool, typer.Option("--dark", help="A picture in dark colours.")] = False,
    scale: Annotated[
        float | None,
        typer.Option(min=0.1, max=8, help="Pixels of a picture to a unit; usually 2 for png, else 1."),
    ] = None,
    trust: Annotated[bool, typer.Option("--trust", help=TRUST_HELP)] = False,
) -> None:
    """Write a tree for other tools and for readers.

    json: the canonical tree, for other programs to run; refused while the tree has errors.
    html: a report of all it says with its picture, to read, print and pass on; it loads nothing.
    pdf, svg, png: the whole tree as a picture. mmd: a Mermaid chart. dot: a Graphviz graph.

    All but json show an unfinished tree as it is, and its errors are told.

    Exit codes:
    0: The tree was written.
    1: The tree has errors and was to be json, a part of it cannot be understood, or OUT cannot be written.
    2: The tree's file is no JSON document, or the command line is wrong.
    """
    named = form_of(form, out, ExportForm)
    for option, given in (("--dark", dark), ("--scale", scale is not None)):
        if given and named not in _PICTURES:
            raise typer.BadParameter(f"It is for {', '.join(_PICTURES)}.", param_hint=option)
    if out is None and named not in _PRINTED:
        raise typer.BadParameter("This form needs a file to be written to.", param_hint="OUT")
    opened = open_tree(file, trust=trust)
    if named in TEXTS and named is not ExportForm.html:
        put(TEXTS[named](opened), out)
    else:
        shown(opened)
        put(_drawn(opened, named, dark=dark, scale=scale), out)


def _drawn(
    opened: Opened,
    form: str,
    events: list[Event] | None = None,
    *,
    dark: bool = False,
    scale: float | None = None,
) -> bytes:
    """A form with the picture of a tree, with the path lit where there were events of a run."""
    from designer.canvas.geometry import card_size
    from designer.canvas.overlay import moment
    from designer.document.files import Unreadable, open_tree
    from designer.document.wording import in_plain_words
    from designer.exporting import FORMS, Subject, badges
    from designer.theme import DARK, LIGHT

    stored = open_tree(opened.file, card_size)
    if isinstance(stored, Unreadable):
        fail(f"{opened.file}: {stored.problems[0].message}")
    problems = in_plain_words(opened.problems, opened.tree)
    overlay = badges(problems) if events is None else moment(trail_of(events), None)
    tokens = DARK if dark else LIGHT
    return FORMS[form].write(Subject(stored.draft, opened.catalog, problems, overlay, tokens, scale))


# -- without a screen ----------------------------------------------------------------------------------


def _run_headless(file: Path) -> int:
    """The main job on the terminal: check, run the first case step by step, and name the files it leaves."""
    opened = open_tree(file, trust=False)
    for finding in opened.findings:
        say(finding.line())
    tree = proven(opened)
    typer.echo(f"{file}: {counted(len(tree.tree.nodes), 'node')}, no errors")
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
        recorder = DecisionRecorder(records)
        session = Session(
            catalog=opened.catalog,
            recorder=recorder,
            record_scripted=True,
            transcript=TranscriptOptions(directory=folder),
        )
        start = inputs_of(case, opened.project.parameters)
        run = session.start(tree, start, observers=[events.append, steps])
        result = asyncio.run(drive(run, steps, recorder=recorder))
    steps.must_have_been_read()
    picture = folder / "path.png"
    write_file(picture, _drawn(opened, ExportForm.png, events))
    typer.echo(outcome_line(result))
    written = run.transcript.path if run.transcript else None
    for name, path in (("Transcript", written), ("Records", records.path), ("Picture", picture)):
        typer.echo(f"{name}: {path}")
    return OK if result.succeeded else NOT_TERMINAL


def _fresh_folder() -> Path:
    parent = data_folder() / "headless"
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}-", dir=parent))
