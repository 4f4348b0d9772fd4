"""The command line without the window: check, run, test, bounds, paths, export and records.

What a machine reads (``--json``, ``--format json``, ``--format sarif``) is exactly one document on standard
output; everything else goes to standard error. Nothing is asked, and nothing is coloured, off a terminal.
"""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NoReturn, Protocol, TypeAlias, TypeVar
from urllib.parse import quote

import platformdirs
import typer

from engine import (
    ActionNode,
    Call,
    Catalog,
    Checker,
    ClassifyNode,
    Decider,
    DeciderName,
    DeciderRefused,
    DeciderSettings,
    DocumentRefused,
    Event,
    Inputs,
    Inquiry,
    Json,
    NodeId,
    NodeVisited,
    PersonDecider,
    Pins,
    Problem,
    Project,
    ProjectError,
    Question,
    Run,
    Runnable,
    RunResult,
    Session,
    Severity,
    TranscriptOptions,
    Tree,
    catalog_of,
    dot_of,
    fixes,
    load_project,
    mermaid_of,
    model_of,
    placeholders,
    problems_of,
    read_tree,
    report_of,
    runnable,
    settings_of,
    write_tree,
)
from engine.actions import troubles_of
from engine.analysis import ASSUMED, Bound, Bounds, Range, Walk, bounds
from engine.asking import RefusedReason
from engine.counting import counted
from engine.deciders.parser import matching
from engine.diff_command import diff
from engine.errors import cause_of
from engine.evaluate import (
    Case,
    CaseLine,
    Judgement,
    find_cases,
    inputs_of,
    judge,
    missing,
    read_lines,
    rewritten_cases,
    run_case,
)
from engine.files import in_place_of
from engine.jsontext import document_bytes
from engine.project import FILE_NAME
from engine.record_commands import records
from engine.records import DecisionRecorder, Store, StoreInUse, StoreRefused, open_store
from engine.terminal import (
    FAULTY,
    NOT_TERMINAL,
    OK,
    UNREADABLE,
    Command,
    Commands,
    emit,
    fail,
    one_line,
    prepare_streams,
    say,
)
from engine.trace_commands import agents
from engine.tree import UNKNOWN, fill

app = typer.Typer(
    cls=Commands,
    help="Check, run, test and export decision trees.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.add_typer(records, name="records")
app.add_typer(agents, name="agents")
app.command(cls=Command)(diff)


def main() -> None:
    """Run the command line of this process."""
    prepare_streams()
    app()


# -- findings ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and the file it is in."""

    file: Path
    problem: Problem

    @property
    def code(self) -> int:
        """The exit code it asks for."""
        if self.problem.severity != "error":
            return OK
        return UNREADABLE if self.problem.code.startswith(("file-", "json-")) else FAULTY

    def as_json(self) -> dict[str, Json]:
        """The item of ``check --json``."""
        return {"file": str(self.file)} | {
            member: getattr(self.problem, member)
            for member in ("code", "severity", "node", "field", "pointer", "line", "column", "message")
        }

    def line(self) -> str:
        """``file:line:column: severity: message [code] (node X)``."""
        problem = self.problem
        place = "".join(f":{number}" for number in (problem.line, problem.column) if number is not None)
        severity = _coloured(problem.severity, _COLOURS[problem.severity])
        node = "" if problem.node is None else f" (node {problem.node})"
        what = f"{problem.message} [{problem.code}]{node}"
        return f"{one_line(f'{self.file}{place}')}: {severity}: {one_line(what)}"


_COLOURS: Final[Mapping[Severity, str]] = {"error": "red", "warning": "yellow", "info": "blue"}


def _coloured(text: str, colour: str) -> str:
    """The text in a colour, unless the person wants none; off a terminal the colour is left out anyway."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return typer.style(text, fg=colour) if wanted else text


# -- opening -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Opened:
    """A tree file with the project it belongs to, and everything wrong with them.

    ``whole`` is false when the file holds something that could not be understood and is missing in the tree.
    """

    file: Path
    tree: Tree
    project: Project
    catalog: Catalog
    findings: tuple[Finding, ...]
    whole: bool = False

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the tree itself."""
        return tuple(finding.problem for finding in self.findings if finding.file == self.file)

    @property
    def code(self) -> int:
        """The exit code of its worst finding."""
        return max((finding.code for finding in self.findings), default=OK)


def open_tree(file: Path, *, trust: bool) -> Opened:
    """Read and check a tree file; the project's own Python files are run only with ``trust``."""
    project, catalog, found = _project(file.parent, trust=trust)
    try:
        reading = read_tree(document_bytes(file))
    except OSError as error:
        message = f"The file cannot be read: {cause_of(error)}."
        found.append(Finding(file, Problem("file-unreadable", "error", message, line=1, column=1)))
    except DocumentRefused as refused:
        found.append(Finding(file, refused.problem))
    else:
        # Which keys are there cannot be known without the whole project.
        guesses = _KEYS_UNKNOWN if any(finding.code for finding in found) else ()
        problems = (problem for problem in problems_of(reading, catalog) if problem.code not in guesses)
        found += (Finding(file, problem) for problem in problems)
        return Opened(file, reading.tree, project, catalog, tuple(found), reading.whole)
    return Opened(file, Tree(), project, catalog, tuple(found))


_KEYS_UNKNOWN: Final = ("action-unknown", "predicate-unknown")


def _project(folder: Path, *, trust: bool) -> tuple[Project, Catalog, list[Finding]]:
    project, problems = Project(), tuple[Problem, ...]()
    try:
        project = load_project(folder)
        with redirect_stdout(sys.stderr):  # what a project's own code prints is no part of the output
            catalog = catalog_of(project, folder, trusted=trust)
    except ProjectError as error:
        catalog, problems = catalog_of(project, folder, trusted=False), error.problems
    told = (*problems, *project.problems, *troubles_of(project, catalog))
    return project, catalog, [Finding(folder / FILE_NAME, problem) for problem in told]


def proven(opened: Opened) -> Runnable:
    """The tree with the proof that it can be run; ends the command with the reasons when it cannot."""
    if opened.code:
        _end_with_findings(opened)
    return runnable(opened.tree, opened.catalog)


def shown(opened: Opened) -> Tree:
    """The tree to be shown with its errors, which are told; ends the command when a part of it is missing."""
    if not opened.whole:
        _end_with_findings(opened)
    errors = [finding for finding in opened.findings if finding.code]
    for finding in errors:
        say(finding.line())
    if errors:
        say("It is shown as it is; it cannot be run.")
    return opened.tree


def _end_with_findings(opened: Opened) -> NoReturn:
    for finding in opened.findings:
        if finding.code:
            say(finding.line())
    raise typer.Exit(opened.code)


# -- options -------------------------------------------------------------------------------------------


class CheckFormat(StrEnum):
    """The forms ``check`` reports in."""

    text = "text"
    json = "json"
    sarif = "sarif"


TRUST_HELP: Final = (
    "Load and run the Python files the project names, as catalog.py, and let its actions look into folders "
    "outside its own. The code can do whatever you can: trust only folders you know."
)

_Files: TypeAlias = Annotated[list[Path], typer.Argument(metavar="FILE", help="Tree files.")]
_File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="A tree file.")]
_AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; all else goes to standard error.")
]
_Trust: TypeAlias = Annotated[bool, typer.Option("--trust", help=TRUST_HELP)]


# -- check ---------------------------------------------------------------------------------------------


@app.command(cls=Command)
def check(
    files: _Files,
    form: Annotated[
        CheckFormat | None, typer.Option("--format", help="How to report; as text unless you say otherwise.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    mend: Annotated[
        bool, typer.Option("--fix", help="First put right what there is a safe way for, and write the files.")
    ] = False,
    trust: _Trust = False,
) -> None:
    """Say everything that is wrong with tree files.

    Exit codes:
    0: There are no errors.
    1: A tree or its project has errors.
    2: A file is no JSON document, or the command line is wrong.
    """
    if as_json and form not in (None, CheckFormat.json):
        raise typer.BadParameter(f"--json and --format {form} exclude each other.", param_hint="--format")
    for file in files if mend else ():
        _mend(open_tree(file, trust=trust))
    opened = [open_tree(file, trust=trust) for file in files]
    # Trees of one folder share its project; what is wrong there is told once.
    findings = list(dict.fromkeys(finding for one in opened for finding in one.findings))
    _REPORTS[CheckFormat.json if as_json else form or CheckFormat.text](findings)
    raise typer.Exit(max(one.code for one in opened))


def _mend(opened: Opened) -> None:
    """Make every safe fix and write the file; one with a part that cannot be understood is left alone."""
    if not opened.whole:
        return
    checker, before, tree = Checker(opened.catalog), None, opened.tree
    respelled = any(problem.code == "spelling-old" for problem in opened.problems)
    while True:
        found = checker.update(before, tree)
        ways = (
            (way, problem) for problem in found for way in fixes(tree, problem, opened.catalog) if way.safe
        )
        way, problem = next(ways, (None, None))
        if way is None or problem is None:
            break
        node = "" if problem.node is None else f" (node {problem.node})"
        say(one_line(f"{opened.file}: fixed: {way.title} [{problem.code}]{node}"))
        before, tree = tree, way.tree
    if respelled or tree is not opened.tree:
        write_file(opened.file, write_tree(tree))


def _report_text(findings: Sequence[Finding]) -> None:
    for finding in findings:
        typer.echo(finding.line())
    counts = Counter(finding.problem.severity for finding in findings)
    said = [
        f"{count} {severity}{'s' if count > 1 and severity != 'info' else ''}"
        for severity in _COLOURS
        if (count := counts[severity])
    ]
    typer.echo(", ".join(said) or "No problems.")


def _report_json(findings: Sequence[Finding]) -> None:
    emit([finding.as_json() for finding in findings])


def _report_sarif(findings: Sequence[Finding]) -> None:
    levels: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
    rules: list[Json] = [{"id": code} for code in sorted({finding.problem.code for finding in findings})]
    results: list[Json] = [
        {
            "ruleId": finding.problem.code,
            "level": levels[finding.problem.severity],
            "message": {"text": finding.problem.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(finding.file.as_posix())},
                        "region": {
                            "startLine": finding.problem.line or 1,
                            "startColumn": finding.problem.column or 1,
                        },
                    },
                    "logicalLocations": [
                        {"name": finding.problem.node or "", "fullyQualifiedName": finding.problem.pointer}
                    ],
                }
            ],
        }
        for finding in findings
    ]
    emit(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": {"name": "treewright", "rules": rules}}, "results": results}],
        }
    )


_REPORTS: Final[Mapping[CheckFormat, Callable[[Sequence[Finding]], None]]] = {
    CheckFormat.text: _report_text,
    CheckFormat.json: _report_json,
    CheckFormat.sarif: _report_sarif,
}


# -- test ----------------------------------------------------------------------------------------------


@app.command("test", cls=Command)
def run_cases(files: _Files, as_json: _AsJson = False, trust: _Trust = False) -> None:
    """Run the cases beside tree files and compare what came of them.

    The cases of NAME.json are in NAME.cases.jsonl, else in cases.jsonl beside it.

    The last line is always "N passed, M failed".

    Exit codes:
    0: All cases passed.
    1: A case failed, or a tree has errors.
    2: A file cannot be read, or the command line is wrong.
    """
    code, entries = OK, []
    for file in files:
        opened = open_tree(file, trust=trust)
        code = max(code, opened.code)
        for finding in opened.findings:
            if finding.code:
                say(finding.line())
        if opened.code:
            say(one_line(f"{file}: There are errors, so no case was run."))
        else:
            case_code, reports = _tested(opened)
            code = max(code, case_code)
            entries += reports
    passed = sum(entry["passed"] is True for entry in entries)
    failed = len(entries) - passed
    if as_json:
        emit({"passed": passed, "failed": failed, "cases": [dict(entry) for entry in entries]})
    else:
        for entry in entries:
            if not entry["passed"]:
                typer.echo(
                    one_line(f"{entry['file']}: case {entry['id']} failed: {entry['firstDifference']}")
                )
    sys.stdout.flush()
    typer.echo(f"{passed} passed, {failed} failed", err=as_json)
    raise typer.Exit(max(code, FAULTY if failed else OK))


def _tested(opened: Opened) -> tuple[int, list[Mapping[str, Json]]]:
    """The exit code the cases file asks for, and the entry of each case; one that does not fit has failed."""
    file = find_cases(opened.file)
    try:
        lines = read_lines(file, opened.tree)
    except OSError as error:
        say(no_cases(opened.file, error).line())
        return UNREADABLE, []
    findings = [Finding(file, problem) for line in lines for problem in line.problems]
    for finding in findings:
        say(finding.line())
    session, tree = Session(catalog=opened.catalog), runnable(opened.tree, opened.catalog)

    async def entry(line: CaseLine) -> Mapping[str, Json]:
        got: Mapping[str, Json] = {}
        if line.case is None:
            difference: str | None = line.problems[0].message
        else:
            report = await run_case(session, tree, line.case, opened.project.parameters)
            got, difference = report.got, report.first_difference
        return {
            "file": str(opened.file),
            "id": line.id or f"line {line.number}",
            "passed": difference is None,
            "expected": line.expected.model_dump(mode="json", exclude_none=True),
            "got": dict(got),
            "firstDifference": difference,
        }

    async def entries() -> list[Mapping[str, Json]]:
        return [await entry(line) for line in lines]

    with redirect_stdout(sys.stderr):
        reports = asyncio.run(entries())
    return max((finding.code for finding in findings), default=OK), reports


def no_cases(tree_file: Path, error: OSError, named: Path | None = None) -> Finding:
    """Why there are no cases: the file ``named`` for them, else the one beside the tree, cannot be read."""
    file = named or find_cases(tree_file)
    message = f"The cases cannot be read: {cause_of(error)}."
    if named is None and isinstance(error, FileNotFoundError):
        own = tree_file.with_suffix(".cases.jsonl")
        file, message = (
            tree_file,
            f"There are no cases: neither {own.name} nor {file.name} is beside the tree.",
        )
    return Finding(file, Problem("file-unreadable", "error", message))


# -- bounds --------------------------------------------------------------------------------------------


@app.command("bounds", cls=Command)
def show_bounds(file: _File, as_json: _AsJson = False, trust: _Trust = False) -> None:
    """Say what runs of a tree can cost, at best and at worst, and which ends its budget lets them come to.

    Exit codes:
    0: The bounds were told.
    1: The tree or its project has errors.
    2: The file is no JSON document, or the command line is wrong.
    """
    tree = proven(open_tree(file, trust=trust))
    found = bounds(tree.tree, tree.catalog)
    if as_json:
        say(ASSUMED)
        emit(found.as_json())
    else:
        for line in _bounds_table(found):
            typer.echo(line)


def _bounds_table(found: Bounds) -> Iterator[str]:
    limits, smallest = found.limits, found.smallest_budget
    yield f"Budget: {counted(limits.node_visits, 'node visit')}, {counted(limits.llm_calls, 'LLM call')}"
    head = ("node visits", "LLM calls", "within the budget")
    parts = {"From the start to": found.terminals, "From here on to a terminal": found.nodes}
    rows = [
        row
        for title, by_node in parts.items()
        for row in ((), (title, *head), *(_bound_row(node, bound) for node, bound in by_node.items()))
    ]
    widths = [max(len(row[column]) for row in rows if row) for column in range(len(head))]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, (*widths, 0), strict=False))
        yield "  ".join(cells).rstrip()
    yield ""
    if any(bound.visits.max is None for bound in found.nodes.values()):
        yield "'or more': there is a cycle, and only the budget bounds how often it is gone through."
    if smallest is not None:
        visits, calls = smallest.max_node_visits or 0, smallest.max_llm_calls or 0
        needed = f"{counted(visits, 'node visit')} and {counted(calls, 'LLM call')}"
        yield f"Smallest budget that lets every terminal be reached: {needed}"
    yield ASSUMED


def _bound_row(node: NodeId, bound: Bound) -> tuple[str, ...]:
    within = "yes" if bound.reachable_in_budget else "no"
    return (one_line(node), _range(bound.visits), _range(bound.llm_calls), within)


def _range(there: Range) -> str:
    if there.max is None:
        return f"{there.min} or more"
    return str(there.min) if there.min == there.max else f"{there.min} to {there.max}"


# -- paths ---------------------------------------------------------------------------------------------


@app.command(cls=Command)
def paths(
    file: _File,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the cases here; those in it are kept."),
    ] = None,
    trust: _Trust = False,
) -> None:
    """Find cases that together take every transition of a tree that some case can take.

    The cases in the file named with --out, else those beside the tree, come first: each of them is still
    valid, or is migrated to the tree as it is now, or is broken. New ones are made for what they do not
    take. What takes more than the budget of the tree allows is listed.

    Exit codes:
    0: All is told, and written where that was asked for.
    1: The tree has errors, a case that is there is broken, or the file cannot be written.
    2: A file cannot be read, or the command line is wrong.
    """
    opened = open_tree(file, trust=trust)
    tree = proven(opened)
    lines = _lines_there(opened, out)
    with redirect_stdout(sys.stderr):
        kept = asyncio.run(_judged(opened, tree, lines))
    for line, one in zip(lines, kept, strict=True):
        if told := _told(one):
            typer.echo(one_line(f"case {line.id}: {told}"))
    broken = sum(one.broken is not None for one in kept)
    judged = zip(lines, kept, strict=True)
    migrated = {line.number: one.case for line, one in judged if one.changes and one.case}
    if kept:
        valid = len(kept) - broken - len(migrated)
        states = f"{valid} still valid, {len(migrated)} migrated, {broken} broken"
        typer.echo(f"{counted(len(kept), 'case')} there: {states}")
    taken = {step for one in kept for step in one.taken}
    covered, new = missing(tree.tree, taken, {line.id for line in lines if line.id})
    if out is None:
        for case, walk in zip(new, covered.walks, strict=True):
            typer.echo(one_line(f"{case.id}: {_walk_line(walk)}"))
    else:
        write_file(out, rewritten_cases(out.read_bytes() if lines else b"", migrated, new))
        typer.echo(f"{counted(len(new), 'new case')} written to {out}")
    for left in covered.left:
        typer.echo(one_line(f"not taken: {left.step.node} {left.step.branch}: {left.reason}"))
    total, by = counted(covered.total, "transition"), counted(len(kept) - broken + len(new), "case")
    typer.echo(f"{covered.covered} of {total} covered by {by}")
    raise typer.Exit(FAULTY if broken else OK)


def _lines_there(opened: Opened, out: Path | None) -> tuple[CaseLine, ...]:
    """The lines of the cases that are there; ends the command when one of them is no case."""
    file = find_cases(opened.file) if out is None else out
    try:
        lines = read_lines(file, opened.tree)
    except FileNotFoundError:
        return ()
    except OSError as error:
        say(no_cases(opened.file, error, file).line())
        raise typer.Exit(UNREADABLE) from None
    findings = [Finding(file, problem) for line in lines if not line.written for problem in line.problems]
    for finding in findings:
        say(finding.line())
    if findings:
        raise typer.Exit(max(finding.code for finding in findings))
    return lines


async def _judged(opened: Opened, tree: Runnable, lines: Iterable[CaseLine]) -> list[Judgement]:
    session = Session(catalog=opened.catalog)
    return [await judge(session, tree, line, opened.project.parameters) for line in lines]


def _told(one: Judgement) -> str:
    """What is to be told of a case that does not go on as it is."""
    if one.broken is not None:
        return f"broken{'' if one.step is None else f' at step {one.step}'}: {one.broken}"
    return f"migrated: {'; '.join(one.changes)}" if one.changes else ""


def _walk_line(walk: Walk) -> str:
    steps = [f"{step.node} {step.branch}" for step in walk.steps]
    return ", ".join([*steps, walk.terminal or "the budget is used up"])


# -- export --------------------------------------------------------------------------------------------


class TextForm(StrEnum):
    """What a tree can be exported as without drawing it."""

    json = "json"
    mmd = "mmd"
    dot = "dot"
    html = "html"


OUT_HELP: Final = "Write here; what the name ends in tells the form. Without it, text is printed."
FORM_HELP: Final = "The form, where no name tells it; else json."


@app.command(cls=Command)
def export(
    file: _File,
    out: Annotated[Path | None, typer.Argument(metavar="OUT", help=OUT_HELP)] = None,
    form: Annotated[TextForm | None, typer.Option("--format", help=FORM_HELP)] = None,
    trust: _Trust = False,
) -> None:
    """Write a tree for other tools and for readers.

    json: the canonical tree, for other programs to run; refused while the tree has errors.
    mmd: a Mermaid chart. dot: a Graphviz graph. html: a report of all it says, to read and print.

    These show an unfinished tree as it is, and its errors are told.

    Exit codes:
    0: The tree was written.
    1: The tree has errors and was to be json, a part of it cannot be understood, or OUT cannot be written.
    2: The tree's file is no JSON document, or the command line is wrong.
    """
    named = form_of(form, out, TextForm)
    put(TEXTS[named](open_tree(file, trust=trust)), out)


def _report(opened: Opened) -> bytes:
    tree = shown(opened)
    known = None if opened.code else bounds(tree, opened.catalog)
    return report_of(tree, opened.problems, bounds=known).encode()


TEXTS: Final[Mapping[str, Callable[[Opened], bytes]]] = {
    TextForm.json: lambda opened: write_tree(proven(opened).tree),
    TextForm.mmd: lambda opened: mermaid_of(shown(opened)).encode(),
    TextForm.dot: lambda opened: dot_of(shown(opened)).encode(),
    TextForm.html: _report,
}
"""What writes each form."""

_Form = TypeVar("_Form", bound=StrEnum)


def form_of(named: _Form | None, out: Path | None, forms: type[_Form]) -> _Form:
    """What to write: what was named, else what the name of the file ends in, else the first of the forms."""
    suffix = out.suffix.lower().removeprefix(".") if out else ""
    told = next((form for form in forms if form == suffix), None)
    if named is None and suffix and told is None:
        message = f"'.{suffix}' tells no form; name one with --format: {', '.join(forms)}."
        raise typer.BadParameter(message, param_hint="OUT")
    if named and told and named is not told:
        message = f"The file is named as one that holds {told}, but --format says {named}."
        raise typer.BadParameter(message, param_hint="OUT")
    return named or told or next(iter(forms))


def put(data: bytes, out: Path | None) -> None:
    """Write what was exported, or print it where no file was named."""
    if out is None:
        typer.echo(data, nl=False)
    else:
        write_file(out, data)


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; ends the command with the reason when it cannot be written."""
    try:
        if path.exists() and not path.is_file():  # a pipe cannot be put in place
            path.write_bytes(data)
            return
        with in_place_of(path) as file:
            file.write(data)
    except OSError as error:
        fail(f"{path} cannot be written: {cause_of(error)}.")


# -- run -----------------------------------------------------------------------------------------------


@app.command(cls=Command)
def run(  # noqa: PLR0913, PLR0917 - an option each
    file: _File,
    case: Annotated[
        str | None, typer.Option(metavar="ID", help="Start from this case, with the answers it has.")
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where the case is; else NAME.cases.jsonl or cases.jsonl beside the tree."
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Put VALUE wherever the tree says {{NAME}}; may be repeated."
        ),
    ] = None,
    decider: Annotated[
        DeciderName | None,
        typer.Option(
            help="Who decides: you on this terminal, a language model that speaks this protocol, or a "
            "decision model of this provider. Else the one the project names, else you."
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the model is: http://HOST/v1.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model to ask.")] = None,
    fallback_model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="The model to ask when the one before fails; may be repeated."),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE",
            help="The environment variable that holds the model's key; the key is written nowhere. A key the "
            "project names is sent only with --trust, or when you give --base-url and --key-env.",
        ),
    ] = None,
    trust: _Trust = False,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="Write a transcript; its folder is printed.")
    ] = False,
    transcripts: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a transcript into this folder.")
    ] = None,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug-transcripts",
            "--debug-transcript",
            "--transcript-debug",
            help="Write a transcript that hides nothing; it may hold secrets.",
        ),
    ] = False,
    records: Annotated[
        Path | None, typer.Option(metavar="STORE", help="Append the decisions to this .jsonl file.")
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Run a tree to its end.

    With --json, standard output stays empty when the run cannot start.

    Exit codes:
    0: A terminal was reached.
    1: The run cannot start: the tree has errors, or nobody is there to decide.
    2: A file cannot be read, or the command line is wrong.
    3: The run ended in another way than at a terminal.
    """
    given = {
        "kind": decider,
        "baseUrl": base_url,
        "model": model,
        "fallbackModels": fallback_model,
        "keyEnv": key_env,
    }
    parameters = _pairs(param or [])
    if cases is not None and case is None:
        raise typer.BadParameter("Name the case to start from with --case.", param_hint="--cases")
    if records is not None and records.suffix not in {".jsonl", ".sqlite"}:
        raise typer.BadParameter(
            f"{records}: the name of a record store ends in .jsonl or .sqlite.", param_hint="--records"
        )
    opened = open_tree(file, trust=trust)
    tree = proven(opened)
    start = _inputs(opened, None if case is None else _case(opened, cases, case), parameters)
    asked, client = _decider(
        opened, start, {name: value for name, value in given.items() if value}, trust=trust
    )
    folder = None
    if transcript or debug or transcripts is not None:
        folder = (transcripts or data_folder() / "transcripts").resolve()
    store = None if records is None else _store(records)
    recorder = None if store is None else DecisionRecorder(store)
    session = Session(
        decider=asked,
        catalog=opened.catalog,
        person=_answered if _on_a_terminal() else None,
        recorder=recorder,
        record_scripted=True,
        transcript=TranscriptOptions(directory=folder, debug=debug),
    )
    steps = Steps()
    started = session.start(tree, start, observers=[] if as_json else [steps])
    with redirect_stdout(sys.stderr):
        result = asyncio.run(drive(started, steps, client, recorder))
    if store is not None:
        store.close()
    steps.must_have_been_read()
    _hint_at_trust(opened, result, trust=trust)
    if as_json:
        written = recorder.counters.written if recorder else 0
        emit({**result.as_json(), "transcript": _transcript(started), "records": written})
    if folder is not None:
        typer.echo(f"Transcripts: {folder}", err=as_json)
        if started.transcript is not None and started.transcript.status != "Completed":
            say(f"No transcript was written: {started.transcript.status}.")
    if not as_json:
        typer.echo(outcome_line(result))
    raise typer.Exit(OK if result.succeeded else NOT_TERMINAL)


class Steps:
    """An observer that prints each visit on a line: the node, and the branch or verdict."""

    def __init__(self) -> None:
        self.failure: OSError | None = None
        self._out = sys.stdout

    def __call__(self, event: Event) -> None:
        """Print a visit that is over; once that failed, nothing more."""
        if isinstance(event, NodeVisited) and self.failure is None:
            try:
                typer.echo(one_line(f"{event.visit.node}: {event.visit.outcome}"), file=self._out)
            except OSError as error:
                self.failure = error

    def must_have_been_read(self) -> None:
        """Raise the ``OSError`` because of which a step could not be printed, if there was one."""
        if self.failure is not None:
            raise self.failure


def outcome_line(result: RunResult) -> str:
    """How a run ended, on one line."""
    return one_line(
        f"Decision outcome: {result.outcome}; verdict: {result.verdict or ''}; error: {result.error or ''}; "
        f"node visits: {result.usage.node_visits}; LLM calls: {result.usage.llm_calls}"
    )


class Closable(Protocol):
    """What has something to give back."""

    async def close(self) -> None:
        """Give it back."""
        ...


async def drive(
    run: Run, steps: Steps, client: Closable | None = None, recorder: DecisionRecorder | None = None
) -> RunResult:
    """Drive a run to its end, and close what it used.

    Ctrl+C ends it as ``Cancelled``, with its transcript finished, and so do steps that cannot be printed.
    """
    try:
        async for _ in run:
            if steps.failure is not None:
                run.cancel()
    except asyncio.CancelledError:
        run.cancel()
    finally:
        if client is not None:
            await client.close()
        if recorder is not None:
            await recorder.close()
    return run.result


def data_folder() -> Path:
    """Where this person's transcripts and records are kept."""
    return platformdirs.user_data_path("treewright")


def _transcript(run: Run) -> dict[str, Json]:
    if run.transcript is None:
        return {"status": None, "path": None}
    path = run.transcript.path
    return {"status": run.transcript.status, "path": None if path is None else str(path)}


def _store(path: Path) -> Store:
    try:
        return open_store(path)
    except OSError as error:
        fail(f"{path} cannot be written: {cause_of(error)}.")
    except (StoreInUse, StoreRefused) as refused:
        fail(f"{path}: {refused}")


def _pairs(given: Iterable[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"'{text}' is not of the form NAME=VALUE.", param_hint="--param")
        if name in pairs:
            raise typer.BadParameter(f"'{name}' is given more than one value.", param_hint="--param")
        pairs[name] = value
    return pairs


def _inputs(opened: Opened, case: Case | None, given: Mapping[str, str]) -> Inputs:
    defaults = opened.project.parameters
    start = Inputs(parameters=defaults) if case is None else inputs_of(case, defaults)
    parameters = {**start.parameters, **given}
    settings = opened.project.trees.get(opened.tree.tree_id)
    erasure_key = parameters.get(settings.erasure_key_parameter or "") if settings else None
    return replace(start, parameters=parameters, erasure_key=erasure_key or None)


def _case(opened: Opened, named: Path | None, case_id: str) -> Case:
    """The case of this id; ends the command with what is wrong with it, and says nothing of the others."""
    file = named or find_cases(opened.file)
    try:
        lines = read_lines(file, opened.tree)
    except OSError as error:
        say(no_cases(opened.file, error, named).line())
        raise typer.Exit(UNREADABLE) from None
    meant = [line for line in lines if line.id == case_id]
    for line in meant:
        if line.case is not None:
            return line.case
        for problem in line.problems:
            say(Finding(file, problem).line())
    if meant:
        raise typer.Exit(FAULTY)
    known = list(dict.fromkeys(line.id for line in lines if line.id is not None))
    closest = ", ".join(get_close_matches(case_id, known, 10, 0))
    more = f" and {len(known) - 10} more" if len(known) > 10 else ""
    unread = [str(line.number) for line in lines if line.id is None]
    return fail(
        f"{file}: There is no case '{case_id}'."
        + (f" There are: {closest}{more}." if known else "")
        + (f" The id of line {unread[0]} cannot be read." if len(unread) == 1 else "")
        + (f" The ids of {len(unread)} lines, from line {unread[0]}, cannot be read." if unread[1:] else "")
    )


def _missing(tree: Tree, parameters: Mapping[str, str]) -> Iterator[str]:
    texts = [tree.task, *(node.task for node in tree.nodes.values() if isinstance(node, ClassifyNode))]
    names = dict.fromkeys(name for text in texts for name in placeholders(text))
    return (name for name in names if name not in parameters)


def _undecidable(tree: Tree, catalog: Catalog, pins: Pins) -> NodeId | None:
    """The first node a run with these pins may come to that asks, itself or inside, and has no pin."""
    waiting, seen = [tree.start_node_id], {tree.start_node_id}
    for node_id in waiting:
        node = tree.nodes[node_id]
        if isinstance(node, ClassifyNode) and node_id not in (*pins.answers, *pins.replies):
            return node_id
        if isinstance(node, ActionNode) and node_id not in pins.actions:
            action = catalog.actions.get(node.action_key or "")
            if getattr(action, "asks", False):
                return node_id
        pinned = _pinned_branches(node_id, pins)
        following = [target for branch, target in node.targets.items() if pinned is None or branch in pinned]
        waiting += (target for target in dict.fromkeys(following) if target not in seen)
        seen.update(following)
    return None


def _pinned_branches(node_id: NodeId, pins: Pins) -> Collection[str] | None:
    """The branches the pins of a node let it take; None when it has none."""
    if node_id in pins.answers:
        answers = pins.answers[node_id]
        return (answers,) if isinstance(answers, str) else answers
    if node_id in pins.conditions:
        values = pins.conditions[node_id]
        return [str(value).lower() for value in (values if isinstance(values, Sequence) else (values,))]
    if node_id in pins.actions:
        results = pins.actions[node_id]
        return [result.status for result in (results if isinstance(results, Sequence) else (results,))]
    return None


def _hint_at_trust(opened: Opened, result: RunResult, *, trust: bool) -> None:
    if result.failure_kind == "validation" and opened.project.catalog and not trust:
        files = ", ".join(opened.project.catalog)
        say(one_line(f"The project's own code ({files}) was not loaded; --trust loads it."))


# -- deciders ------------------------------------------------------------------------------------------


_OPTIONS: Final = {
    "kind": "--decider",
    "baseUrl": "--base-url",
    "model": "--model",
    "fallbackModels": "--fallback-model",
    "keyEnv": "--key-env",
}
"""The members of a decider that the command line can give."""
_REMEDIES: Final[Mapping[RefusedReason, str]] = {
    "incomplete": ": --base-url URL --model NAME.",
    "untrusted": ": give --base-url and --key-env, or --trust.",
}


def _decider(
    opened: Opened, start: Inputs, given: Mapping[str, object], *, trust: bool
) -> tuple[Decider | None, Closable | None]:
    """Who decides what no pin does, and the client to close; ends the command when nobody is there for it.

    What was given is looked at also where every answer is pinned.
    """
    node = _undecidable(opened.tree, opened.catalog, start.pins)
    if node is None and not given:
        return None, None
    try:
        settings = _settings(opened, given)
        if node is not None:
            for name in _missing(opened.tree, start.parameters):
                say(one_line(f"The parameter '{name}' has no value; {{{{{name}}}}} stays in the text."))
        if settings.kind is not DeciderName.ask:
            trees = opened.project.trees
            model = model_of(settings, trees, own=given.keys(), trusted=trust, on_call=tell_failure)
            if problems := model.unsuited(opened.tree):
                for problem in problems:
                    say(Finding(opened.file, problem).line())
                raise typer.Exit(FAULTY)
            return model.decider, model
    except DeciderRefused as refused:
        _refuse(opened, refused, given)
    if node is None:
        return None, None
    if _on_a_terminal():
        say(_plain(fill(opened.tree.task or "", start.parameters)))
        return PersonDecider(_ask), None
    return fail(
        f"Nobody is there to decide node '{node}': pin its answer in a case, name a model, or use a terminal."
    )


def _settings(opened: Opened, given: Mapping[str, object]) -> DeciderSettings:
    settings = settings_of(opened.project.decider, given)
    about_model = [_OPTIONS[name] for name in given if name != "kind"]
    if settings.kind is not DeciderName.ask or not about_model:
        return settings
    if "kind" in given:
        message = "A model is named, but --decider ask means that you decide."
        raise typer.BadParameter(message, param_hint=about_model)
    return settings.model_copy(update={"kind": DeciderName.openai})


def tell_failure(call: Call) -> None:
    """Tell the person of each model that failed, also where the next one answers."""
    if call.error is not None:
        say(one_line(f"Model '{call.model}' failed after {call.seconds:.1f} s: {call.error}"))


def _refuse(opened: Opened, refused: DeciderRefused, given: Mapping[str, object]) -> NoReturn:
    """End the command because of the options that were given, or of the project's decider."""
    message, member = str(refused), refused.member
    if refused.reason in _REMEDIES:
        message = message.removesuffix(".") + _REMEDIES[refused.reason]
    if given and (member in given or member not in (opened.project.decider or {})):
        blamed = _OPTIONS[member] if member else [_OPTIONS[name] for name in given]
        raise typer.BadParameter(message, param_hint=blamed)
    problem = refused.problem(opened.project, message)
    say(Finding(opened.file.with_name(FILE_NAME), problem).line())
    raise typer.Exit(FAULTY)


def _on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


async def _ask(question: Question) -> str | None:
    """Ask the person on the terminal; nothing typed means unknown, the end of input cancels the run."""
    return await _chosen(question.text, question.answers, UNKNOWN)


async def _answered(inquiry: Inquiry) -> str | None:
    """Put what an action asks to the person on the terminal; nothing typed is no answer."""
    if inquiry.choices:
        return await _chosen(inquiry.text, inquiry.choices, "none")
    say(f"\n{_plain(inquiry.text)}")
    typer.echo("Answer, or Enter for none: ", nl=False, err=True)
    return await _typed_line() or None


async def _chosen(text: str, answers: Sequence[str], none: str) -> str | None:
    """What the person chooses by number or by name; ``none`` is what they may type to choose nothing."""
    say(f"\n{_plain(text)}")
    for number, answer in enumerate(answers, 1):
        say(one_line(f"  {number}  {answer}"))
    by_number = {str(number): answer for number, answer in enumerate(answers, 1)}
    while True:
        typer.echo(f"Answer, or Enter for {none}: ", nl=False, err=True)
        typed = await _typed_line()
        chosen = matching(typed, answers) or by_number.get(typed)
        if chosen is not None or typed.lower() in ("", none):
            return chosen
        say(f"That is none of them. Type a number or an answer, or press Enter alone for {none}.")


async def _typed_line() -> str:
    # Reading in a thread would keep the program waiting for Enter after Ctrl+C.
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def take() -> None:
        if not line.done():
            line.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin, take)
    try:
        typed = await line
    finally:
        loop.remove_reader(sys.stdin)
    if not typed and (task := asyncio.current_task()):
        task.cancel()
        await asyncio.sleep(0)  # the cancellation is felt here
    return typed.strip()


def _plain(text: str) -> str:
    return "\n".join(map(one_line, text.splitlines()))
