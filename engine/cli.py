"""The command line without the window: check, run, test and export.

What a machine reads (``--json``, ``--format json``, ``--format sarif``) is exactly one document on standard
output; everything else goes to standard error. Nothing is asked, and nothing is coloured, off a terminal.
"""

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NoReturn, TypeAlias
from urllib.parse import quote

import platformdirs
import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from engine import (
    AnthropicClient,
    Call,
    Catalog,
    CatalogError,
    ClassifyNode,
    Decider,
    DocumentRefused,
    Event,
    Failover,
    Inputs,
    Json,
    LlmClient,
    LlmError,
    NodeId,
    NodeVisited,
    OpenAiClient,
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
    TextDecider,
    TranscriptOptions,
    Tree,
    catalog_of,
    load_project,
    placeholders,
    problems_of,
    read_tree,
    runnable,
    standard_catalog,
    write_tree,
)
from engine.deciders.parser import matching
from engine.evaluate import Case, CaseReport, find_cases, inputs_of, read_cases, run_case
from engine.llm.keys import key_from
from engine.llm.openai import Structured
from engine.project import FILE_NAME
from engine.records import JsonlSink, Record
from engine.tree import fill

app = typer.Typer(
    help="Check, run, test and export decision trees.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

OK: Final = 0
FAULTY: Final = 1
UNREADABLE: Final = 2
NOT_TERMINAL: Final = 3


def main() -> None:
    """Run the command line of this process."""
    prepare_streams()
    app()


def prepare_streams() -> None:
    """Let no character of a tree end the program on a terminal that cannot show it."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


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
        severity = typer.style(problem.severity, fg=_COLOURS[problem.severity])
        node = "" if problem.node is None else f" (node {problem.node})"
        what = f"{problem.message} [{problem.code}]{node}"
        return f"{one_line(f'{self.file}{place}')}: {severity}: {one_line(what)}"


_COLOURS: Final[Mapping[Severity, str]] = {"error": "red", "warning": "yellow", "info": "blue"}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def one_line(text: str) -> str:
    """The text without line breaks and other control characters."""
    return _CONTROL.sub(" ", text)


def say(text: str) -> None:
    """Tell the person something on standard error."""
    typer.echo(text, err=True)


def fail(message: str, code: int = FAULTY) -> NoReturn:
    """End the command with one message."""
    say(one_line(message))
    raise typer.Exit(code)


def _emit(document: Json) -> None:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    typer.echo(f"{text}\n".encode(), nl=False)


# -- opening -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Opened:
    """A tree file with the project it belongs to, and everything wrong with them."""

    file: Path
    tree: Tree
    project: Project
    catalog: Catalog
    findings: tuple[Finding, ...]

    @property
    def code(self) -> int:
        """The exit code of its worst finding."""
        return max((finding.code for finding in self.findings), default=OK)


def open_tree(file: Path, *, trust: bool) -> Opened:
    """Read and check a tree file; the project's own Python files are run only with ``trust``."""
    project, catalog, found = _project(file.parent, trust=trust)
    try:
        reading = read_tree(file.read_bytes())
    except OSError as error:
        message = f"The file cannot be read: {error.strerror or type(error).__name__}."
        found.append(Finding(file, Problem("file-unreadable", "error", message, line=1, column=1)))
    except DocumentRefused as refused:
        problem = Problem(refused.code, "error", refused.message, line=refused.line, column=refused.column)
        found.append(Finding(file, problem))
    else:
        found += (Finding(file, problem) for problem in problems_of(reading, catalog))
        return Opened(file, reading.tree, project, catalog, tuple(found))
    return Opened(file, Tree(), project, catalog, tuple(found))


def _project(folder: Path, *, trust: bool) -> tuple[Project, Catalog, list[Finding]]:
    file, project = folder / FILE_NAME, Project()
    try:
        project = load_project(folder)
        catalog = catalog_of(project, folder, trusted=trust)
    except (ProjectError, CatalogError) as error:
        return project, standard_catalog(), [Finding(file, _project_problem(error, file))]
    return project, catalog, [Finding(file, problem) for problem in project.problems]


def _project_problem(error: ProjectError | CatalogError, file: Path) -> Problem:
    cause = error.__cause__
    if isinstance(cause, DocumentRefused):
        return Problem(cause.code, "error", cause.message, line=cause.line, column=cause.column)
    # Messages begin with the place, which an item tells apart.
    text = str(error).removeprefix(f"{file}:")
    place = re.match(r"(\d+):(\d+):", text)
    line, column = map(int, place.groups()) if place else (None, None)
    code = "file-unreadable" if isinstance(cause, OSError) else "project-invalid"
    return Problem(code, "error", text[place.end() if place else 0 :].strip(), line=line, column=column)


def proven(opened: Opened) -> Runnable:
    """The tree with the proof that it can be run; ends the command with the reasons when it cannot."""
    if opened.code:
        for finding in opened.findings:
            if finding.code:
                say(finding.line())
        raise typer.Exit(opened.code)
    return runnable(opened.tree, opened.catalog)


# -- options -------------------------------------------------------------------------------------------


class CheckFormat(StrEnum):
    """The forms ``check`` reports in."""

    text = "text"
    json = "json"
    sarif = "sarif"


class DeciderName(StrEnum):
    """Who can be asked on the command line."""

    ask = "ask"
    openai = "openai"
    anthropic = "anthropic"


_Files: TypeAlias = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Tree files.")]
_File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="A tree file.")]
_AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
_Trust: TypeAlias = Annotated[
    bool, typer.Option("--trust", help="Run the project's own Python files; do this for folders you trust.")
]


# -- check ---------------------------------------------------------------------------------------------


@app.command()
def check(
    files: _Files,
    form: Annotated[CheckFormat, typer.Option("--format", help="How to report.")] = CheckFormat.text,
    as_json: _AsJson = False,
    trust: _Trust = False,
) -> None:
    """Say everything that is wrong with tree files.

    Exit code 0: no errors. 1: a tree has errors. 2: a file is no JSON document.
    """
    opened = [open_tree(file, trust=trust) for file in files]
    # Trees of one folder share its project; what is wrong there is told once.
    findings = list(dict.fromkeys(finding for one in opened for finding in one.findings))
    _REPORTS[CheckFormat.json if as_json else form](findings)
    raise typer.Exit(max(one.code for one in opened))


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
    _emit([finding.as_json() for finding in findings])


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
    _emit(
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


@app.command("test")
def run_cases(files: _Files, as_json: _AsJson = False, trust: _Trust = False) -> None:
    """Run the cases beside tree files and compare what came of them.

    Exit code 0: all passed. 1: a case failed or a tree has errors. 2: a file cannot be read.
    """
    code, entries = OK, []
    for file in files:
        opened = open_tree(file, trust=trust)
        code = max(code, opened.code)
        for finding in opened.findings:
            if finding.code:
                say(finding.line())
        if not opened.code:
            case_code, reports = _tested(opened)
            code = max(code, case_code)
            entries += reports
    passed = sum(entry["passed"] is True for entry in entries)
    failed = len(entries) - passed
    if as_json:
        _emit({"passed": passed, "failed": failed, "cases": [dict(entry) for entry in entries]})
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
    cases, problems = read_cases(file, opened.tree)
    findings = [Finding(file, problem) for problem in problems]
    for finding in findings:
        say(finding.line())
    session, tree = Session(catalog=opened.catalog), runnable(opened.tree, opened.catalog)

    async def reports() -> list[CaseReport]:
        return [await run_case(session, tree, case, opened.project.parameters) for case in cases]

    entries: list[Mapping[str, Json]] = [
        {
            "file": str(opened.file),
            "id": report.id,
            "passed": report.passed,
            "expected": dict(report.expected),
            "got": dict(report.got),
            "firstDifference": report.first_difference,
        }
        for report in asyncio.run(reports())
    ]
    broken = dict.fromkeys(problem.line for problem in problems if problem.line is not None)
    entries += (
        {
            "file": str(opened.file),
            "id": f"line {line}",
            "passed": False,
            "expected": {},
            "got": {},
            "firstDifference": next(problem.message for problem in problems if problem.line == line),
        }
        for line in broken
    )
    return max((finding.code for finding in findings), default=OK), entries


# -- export --------------------------------------------------------------------------------------------


@app.command()
def export(
    file: _File,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here instead of printing.")] = None,
    trust: _Trust = False,
) -> None:
    """Write a tree in its canonical form, for other tools to run; refused while it has errors."""
    data = write_tree(proven(open_tree(file, trust=trust)).tree)
    if out is None:
        typer.echo(data, nl=False)
    else:
        write_file(out, data)


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; ends the command with the reason when it cannot be written."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        fail(f"{path} cannot be written: {error.strerror or type(error).__name__}.")


# -- run -----------------------------------------------------------------------------------------------


@app.command()
def run(  # noqa: PLR0913, PLR0917 - an option each
    file: _File,
    case: Annotated[str | None, typer.Option(metavar="ID", help="Start from this case.")] = None,
    cases: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the case is; else the cases beside the tree.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Fill {{NAME}}; may be repeated.")
    ] = None,
    decider: Annotated[
        DeciderName | None, typer.Option(help="Who decides: you, or a model and the protocol it speaks.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Where the model is.")] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model to ask.")] = None,
    fallback_model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Ask this one next; may be repeated.")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="The environment variable that holds the key.")
    ] = None,
    trust: _Trust = False,
    transcript: Annotated[bool, typer.Option("--transcript", help="Write a transcript.")] = False,
    transcripts: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a transcript into this folder.")
    ] = None,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug-transcripts",
            "--debug-transcript",
            "--transcript-debug",
            help="Write a transcript without hiding anything; it may hold secrets.",
        ),
    ] = False,
    records: Annotated[
        Path | None, typer.Option(metavar="STORE", help="Append the decisions to this .jsonl file.")
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Run a tree to its end.

    Exit code 0: a terminal was reached. 3: the run ended in another way. 1: the tree has errors, or nobody
    can decide. 2: a file is no JSON document.
    """
    opened = open_tree(file, trust=trust)
    tree = proven(opened)
    start = _inputs(opened, cases, case, param or [])
    given = {
        "kind": decider,
        "baseUrl": base_url,
        "model": model,
        "fallbackModels": fallback_model,
        "keyEnv": key_env,
    }
    asked, client = _decider(
        opened, start, {name: value for name, value in given.items() if value}, trust=trust
    )
    folder = None
    if transcript or debug or transcripts is not None:
        folder = (transcripts or data_folder() / "transcripts").resolve()
    store = None if records is None else _store(records)
    session = Session(
        decider=asked,
        catalog=opened.catalog,
        records=store,
        record_scripted=True,
        transcript=TranscriptOptions(directory=folder, debug=debug),
    )
    started = session.start(tree, start, observers=[] if as_json else [print_step])
    result = asyncio.run(drive(started, client))
    written = 0
    if store is not None:
        store.close()
        written = store.written
    _hint_at_trust(opened, result, trust=trust)
    if as_json:
        _emit({**result.as_json(), "transcript": _transcript(started), "records": written})
    if folder is not None:
        typer.echo(f"Transcripts: {folder}", err=as_json)
        if started.transcript is not None and started.transcript.status != "Completed":
            say(f"No transcript was written: {started.transcript.status}.")
    if not as_json:
        typer.echo(outcome_line(result))
    raise typer.Exit(OK if result.succeeded else NOT_TERMINAL)


def print_step(event: Event) -> None:
    """An observer that prints each visit on a line: the node, and the branch or verdict."""
    if isinstance(event, NodeVisited):
        typer.echo(one_line(f"{event.visit.node}: {event.visit.outcome}"))


def outcome_line(result: RunResult) -> str:
    """How a run ended, on one line."""
    return one_line(
        f"Decision outcome: {result.outcome}; verdict: {result.verdict or ''}; error: {result.error or ''}; "
        f"node visits: {result.usage.node_visits}; LLM calls: {result.usage.llm_calls}"
    )


async def drive(run: Run, client: LlmClient | None = None) -> RunResult:
    """Drive a run to its end. Ctrl+C ends it as ``Cancelled``, with its transcript finished."""
    try:
        return await run.finish()
    except asyncio.CancelledError:
        run.cancel()
        return run.result
    finally:
        if client is not None:
            await client.close()


def data_folder() -> Path:
    """Where this person's transcripts and records are kept."""
    return platformdirs.user_data_path("treewright")


def _transcript(run: Run) -> dict[str, Json]:
    if run.transcript is None:
        return {"status": None, "path": None}
    path = run.transcript.path
    return {"status": run.transcript.status, "path": None if path is None else str(path)}


class _Store(JsonlSink):
    """A record file that counts what was written to it."""

    written = 0

    async def write(self, record: Record) -> None:
        await super().write(record)
        self.written += 1


def _store(path: Path) -> _Store:
    if path.suffix != ".jsonl":
        fail(f"{path}: a file of records ends in .jsonl.")
    try:
        return _Store(path)
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror or type(error).__name__}.")


def _inputs(opened: Opened, cases: Path | None, case_id: str | None, given: Iterable[str]) -> Inputs:
    start = Inputs(parameters=opened.project.parameters)
    if case_id is not None:
        case = _case(opened, cases or find_cases(opened.file), case_id)
        start = inputs_of(case, opened.project.parameters)
    elif cases is not None:
        raise typer.BadParameter("Name the case to start from with --case.", param_hint="--cases")
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise typer.BadParameter(f"'{name}' is not of the form NAME=VALUE.", param_hint="--param")
    parameters = {**start.parameters, **{name: value for name, _, value in pairs}}
    settings = opened.project.trees.get(opened.tree.tree_id)
    erasure_key = parameters.get(settings.erasure_key_parameter or "") if settings else None
    return replace(start, parameters=parameters, erasure_key=erasure_key)


def _case(opened: Opened, file: Path, case_id: str) -> Case:
    cases, problems = read_cases(file, opened.tree)
    found = next((case for case in cases if case.id == case_id), None)
    if found is not None:
        return found
    findings = [Finding(file, problem) for problem in problems]
    for finding in findings:
        say(finding.line())
    code = max((finding.code for finding in findings), default=FAULTY)
    if not cases and findings:
        raise typer.Exit(code)
    known = ", ".join(case.id for case in cases[:10]) + (", …" if len(cases) > 10 else "")
    fail(f"{file}: there is no usable case '{case_id}'" + (f"; there are: {known}." if known else "."), code)


def _missing(tree: Tree, parameters: Mapping[str, str]) -> Iterator[str]:
    texts = [tree.task, *(node.task for node in tree.nodes.values() if isinstance(node, ClassifyNode))]
    names = dict.fromkeys(name for text in texts for name in placeholders(text))
    return (name for name in names if name not in parameters)


def _undecidable(tree: Tree, pins: Pins) -> NodeId | None:
    """The first question a run with these pins may come to that no pin answers."""
    waiting, seen = [tree.start_node_id], {tree.start_node_id}
    for node_id in waiting:
        node = tree.nodes[node_id]
        if isinstance(node, ClassifyNode) and node_id not in (*pins.answers, *pins.replies):
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


class _Asking(BaseModel):
    """Who is asked, and where: the ``decider`` of the project file; the command line goes before it."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )

    kind: DeciderName = DeciderName.ask
    base_url: str | None = None
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    key_env: str | None = None
    structured: Structured = "prompt"
    stream: bool = False


def _decider(
    opened: Opened, start: Inputs, given: Mapping[str, object], *, trust: bool
) -> tuple[Decider | None, LlmClient | None]:
    """Who decides what no pin does, and the client to close; ends the command when nobody is there for it."""
    node = _undecidable(opened.tree, start.pins)
    if node is None:
        return None, None
    for name in _missing(opened.tree, start.parameters):
        say(one_line(f"The parameter '{name}' has no value; {{{{{name}}}}} stays in the text."))
    try:
        asking = _Asking.model_validate({**(opened.project.decider or {}), **given})
    except ValidationError as error:
        member = ".".join(map(str, error.errors()[0]["loc"]))
        fail(f"{FILE_NAME}: '{member}' of the decider does not fit.")
    kind = asking.kind
    if kind is DeciderName.ask and "kind" not in given and {"baseUrl", "model"} & given.keys():
        kind = DeciderName.openai
    if kind is not DeciderName.ask:
        # A stranger's project must not have a key sent to where it likes.
        if asking.key_env and not trust and not {"baseUrl", "keyEnv"} <= given.keys():
            fail(f"{FILE_NAME} says which key is sent where: give --base-url and --key-env, or --trust.")
        client = _client(kind, asking)
        pipeline = Failover(client, tell_failure)
        return TextDecider(client, client.model, asking.fallback_models, pipeline=pipeline), client
    if sys.stdin.isatty() and sys.stderr.isatty():
        say(_plain(fill(opened.tree.task or "", start.parameters)))
        return PersonDecider(_ask), None
    fail(
        f"Nobody is there to decide node '{node}': pin its answer in a case, name a model, or use a terminal."
    )


def tell_failure(call: Call) -> None:
    """Tell the person of each model that failed, also where the next one answers."""
    if call.error is not None:
        say(one_line(f"Model '{call.model}' failed after {call.seconds:.1f} s: {call.error}"))


def _client(kind: DeciderName, asking: _Asking) -> LlmClient:
    if not asking.base_url or not asking.model:
        fail("To ask a model, say where it is and what it is called: --base-url URL --model NAME.")
    try:
        key = key_from(asking.key_env) if asking.key_env else None
        if kind is DeciderName.openai:
            return OpenAiClient(asking.base_url, asking.model, key, asking.structured, stream=asking.stream)
        if asking.structured != "prompt":
            fail(f"{FILE_NAME}: 'structured' is for deciders of kind openai; leave it out.")
        return AnthropicClient(asking.base_url, asking.model, key, stream=asking.stream)
    except LlmError as error:
        fail(str(error))


async def _ask(question: Question) -> str | None:
    """Ask the person on the terminal; nothing typed means unknown, the end of input cancels the run."""
    say(f"\n{_plain(question.text)}")
    for number, answer in enumerate(question.answers, 1):
        say(one_line(f"  {number}  {answer}"))
    by_number = {str(number): answer for number, answer in enumerate(question.answers, 1)}
    while True:
        typer.echo("Answer, or Enter for unknown: ", nl=False, err=True)
        typed = await _typed_line()
        chosen = matching(typed, question.answers) or by_number.get(typed)
        if chosen is not None or not typed:
            return chosen
        say("That is none of them.")


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
    if not typed:
        raise asyncio.CancelledError
    return typed.strip()


def _plain(text: str) -> str:
    return "\n".join(map(one_line, text.splitlines()))
