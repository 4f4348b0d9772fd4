"""The commands of agents: showing a stored run of a decision agent, turn by turn."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from engine.agent import Trace, TracedDecision, TracedTurn, TraceUnreadable, read_trace
from engine.counting import counted
from engine.terminal import UNREADABLE, Command, Commands, fail, one_line, say

agents = typer.Typer(cls=Commands, help="Work with agents.", no_args_is_help=True)

ARTIFACTS: Final = 8
"""How many artifacts are shown that a tool might have taken."""
STATEMENTS: Final = 12
"""How many artifacts are shown that might belong in the answer."""


@agents.command(cls=Command)
def trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A stored trace of a decision agent.")],
) -> None:
    """Show what a decision agent did: each turn with what it chose from, and the answer.

    Exit codes:
    0: The trace was shown; what could not be read of it is told.
    1: The file holds no trace.
    2: The file cannot be read, or the command line is wrong.
    """
    try:
        read = read_trace(file)
    except TraceUnreadable as error:
        fail(str(error), UNREADABLE)
    if read.own is None and not read.agent:
        fail(f"{file}: The file holds no trace of a decision agent.")
    for line in printed(read):
        typer.echo(one_line(line))
    for problem in read.problems:
        say(one_line(f"{file}:{problem.line}: {problem.message}"))


def printed(read: Trace) -> Iterator[str]:
    """A trace as lines for people."""
    yield f"{read.agent}: {counted(len(read.turns), 'turn')}, {_STATES[read.state]}"
    yield f"Objective: {read.objective}"
    yield f"Tools: {', '.join(read.palette)}"
    if read.reduced:
        yield "What was shown to the model is in the decision records."
    kept = {thing.ref for thing in read.answer}
    for turn in read.turns:
        yield ""
        yield from _turn(turn, kept, is_last=turn is read.turns[-1])
    yield ""
    if read.state == "failed":
        yield f"Failed: {read.message or 'no reason is told'}"
    elif read.state == "running":
        yield "The trace ends before the run did."
    elif read.answer:
        yield "Answer:"
        yield from (f"  {number}. {thing.digest or thing.ref}" for number, thing in enumerate(read.answer, 1))
    else:
        yield "Answer: nothing was selected."
    yield _totals(read)


_STATES: Final = {"running": "not ended", "complete": "complete", "failed": "failed"}


def _turn(turn: TracedTurn, kept: set[str], *, is_last: bool) -> Iterator[str]:
    job = turn.decision
    took = "" if job is None or job.ended is None else f" ({job.ended - job.queued} ms)"
    again = f", asked {counted(job.attempt, 'time')}" if job and job.attempt > 1 else ""
    yield f"Turn {turn.number}{took}{again}"
    decision = job.decision if job else None
    if job and decision is None:
        yield f"  no decision: {job.message or job.state}"
    if decision:
        yield from _decided(decision, kept, is_last=is_last)
    if turn.tool and turn.tool.result:
        yield f"  {turn.tool.name} gave {turn.tool.result.digest or turn.tool.result.ref}"
    elif turn.tool and turn.tool.state not in ("queued", "running"):
        yield f"  {turn.tool.name} {_ENDED[turn.tool.state]}: {turn.tool.message or 'no reason is told'}"


_ENDED: Final[Mapping[str, str]] = {
    "completed": "is done",
    "failed": "refused",
    "timed_out": "took too long",
    "cancelled": "was cancelled",
}


def _decided(decision: TracedDecision, kept: set[str], *, is_last: bool) -> Iterator[str]:
    """What was to be chosen from, the likeliest first."""
    if decision.call.get("probabilitySource") == "onehot":
        yield "  the answers were declared, not measured"
    chosen = decision.choice("next")
    if chosen:
        yield "  next:"
        names = {tool: tool for tool in chosen.choices}
        yield from _bars(chosen.probabilities, names, {chosen.value}, len(names))
    key = f"{chosen.value}_input" if chosen else ""
    taken = decision.choice(key)
    if taken:
        words = {ref: _words(decision.described(key, ref)) for ref in taken.choices}
        yield f"  on which of {counted(len(words), 'artifact')}:"
        yield from _bars(taken.probabilities, words, {taken.value}, ARTIFACTS)
    selection = decision.selection
    if selection and is_last:
        lines = decision.artifacts
        words = {ref: _words(lines.get(ref, ref)) for ref in selection}
        yield f"  what belongs in the answer, of {counted(len(words), 'artifact')}:"
        yield from _bars(selection, words, kept, STATEMENTS)


def _words(line: str) -> str:
    """The line of an artifact without its ref and its type."""
    return line.partition("): ")[2] or line


def _bars(
    probabilities: Mapping[str, float], words: Mapping[str, str], marked: set[str], most: int
) -> Iterator[str]:
    ordered = sorted(probabilities, key=lambda each: -probabilities[each])
    for each in ordered[:most]:
        yield f"  {'>' if each in marked else ' '} {probabilities[each]:4.0%}  {words[each]}"
    if rest := ordered[most:]:
        yield f"    and {len(rest)} more, each at {probabilities[rest[0]]:.0%} or less"


def _totals(read: Trace) -> str:
    measured = read.measured
    parts = [counted(_whole(measured.get("calls")), "decision")]
    parts.append(counted(_whole(measured.get("inputTokens")), "token") + " read")
    cost = measured.get("cost")
    parts.append(
        "free" if cost == 0 else f"{cost} {measured.get('currency', '')}" if cost else "cost not known"
    )
    parts.append(f"model {measured.get('servedModel') or measured.get('model') or 'not known'}")
    return f"{', '.join(parts)}."


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
