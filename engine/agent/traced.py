"""Traces of decision agents, read: the turns with all that is known of them, live or from a file.

A live run and its stored trace are read by the same code, from the same lines; so they show the same. What
is not known is passed over, and a line that cannot be read is told and passed over.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypeVar

from engine.agent.thinking import Choice, Ending
from engine.agent.trace import FORMAT, Line
from engine.deciders.asked import AskedQuestion, ChoiceAnswer, NoulAnswer, noul_confidence
from engine.deciders.systemone.questions import Chosen
from engine.errors import DocumentRefused, TreewrightError, cause_of
from engine.jsontext import Json, parse

JobState: TypeAlias = Literal["queued", "running"] | Ending
"""How far a job is."""

TraceState: TypeAlias = Literal["running", "complete", "failed"]
"""How far a run is; a file that ends as running was cut off."""

_NONE: Final[Mapping[str, Json]] = MappingProxyType({})


class TraceUnreadable(TreewrightError):
    """A file of a trace that cannot be read."""


@dataclass(frozen=True, slots=True)
class TracedThing:
    """An artifact as a trace tells of it; of a reduced trace only the ref is left."""

    ref: str
    digest: str | None = field(default=None, repr=False)
    inside: "tuple[TracedThing, ...]" = ()


@dataclass(frozen=True, slots=True)
class TracedDecision:
    """One decision: what was shown and asked, where the trace has it, and what was answered."""

    decision_id: str | None = field(default=None, repr=False)
    state: Json = field(default=None, repr=False)
    questions: Mapping[str, AskedQuestion] = field(default_factory=dict, repr=False)
    answers: Mapping[str, Choice | NoulAnswer] = field(default_factory=dict, repr=False)
    call: Mapping[str, Json] = field(default_factory=dict)

    def choice(self, key: str) -> Choice | None:
        """The answer to a choice; None where there is none."""
        answer = self.answers.get(key)
        return answer if isinstance(answer, Chosen) else None

    def described(self, key: str, option: str) -> str:
        """What was said of an option, else its own name."""
        asked = self.questions.get(key)
        said = asked.criteria.get(option) if asked and isinstance(asked.criteria, dict) else None
        return said if isinstance(said, str) else option

    @property
    def artifacts(self) -> Mapping[str, str]:
        """The line of each artifact the model was shown, by its ref."""
        lines = _object(self.state).get("artifacts")
        return {
            line.partition(" ")[0]: line
            for line in (lines if isinstance(lines, list) else ())
            if isinstance(line, str)
        }

    @property
    def selection(self) -> Mapping[str, float]:
        """How likely each artifact belongs in the answer, by its ref."""
        return {
            key.removeprefix(_SELECT): answer.probability
            for key, answer in self.answers.items()
            if isinstance(answer, NoulAnswer) and key.startswith(_SELECT)
        }


_SELECT: Final = "select_"


@dataclass(frozen=True, slots=True)
class TracedJob:
    """A decision or a use of a tool. Times are milliseconds since 1970."""

    id: str
    name: str
    tool: str | None
    state: JobState = "queued"
    attempt: int = 1
    retries: tuple[str, ...] = ()
    queued: int = 0
    ended: int | None = None
    message: str | None = field(default=None, repr=False)
    decision: TracedDecision | None = None
    result: TracedThing | None = None


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """A turn: its decision, and its tool where one ran."""

    number: int
    decision: TracedJob | None = None
    tool: TracedJob | None = None
    progress: str | None = None


@dataclass(frozen=True, slots=True)
class TraceProblem:
    """A line, from 1, that cannot be read, and why."""

    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A run as far as its trace tells it. ``own`` is its own job; ``measured`` are the totals so far."""

    agent: str = ""
    objective: str = field(default="", repr=False)
    palette: tuple[str, ...] = ()
    started: int | None = None
    reduced: bool = False
    own: TracedJob | None = None
    turns: tuple[TracedTurn, ...] = ()
    state: TraceState = "running"
    message: str | None = field(default=None, repr=False)
    end_reason: str | None = None
    answer: tuple[TracedThing, ...] = ()
    measured: Mapping[str, Json] = field(default_factory=dict)
    problems: tuple[TraceProblem, ...] = ()


class TraceReader:
    """Reads a trace line by line; ``trace`` is what is known so far."""

    def __init__(self) -> None:
        self.trace = Trace()
        self._number = 0

    def feed(self, line: str) -> None:
        """Take in the next line, with or without its end. An empty one says nothing."""
        self._number += 1
        if not line.strip():
            return
        try:
            members = parse(line.encode(errors="surrogatepass"))
        except DocumentRefused as refused:
            self._report(f"The line is no JSON ({refused.code}).")
            return
        if not isinstance(members, dict):
            self._report("The line is no JSON object.")
            return
        match members.get("type"):
            case "run":
                self._head(members)
            case "job":
                self._job(members)
            case "workflow_complete":
                self.trace = replace(
                    self.trace,
                    state="complete",
                    end_reason=_of(str, members.get("endReason")),
                    answer=tuple(_thing(each) for each in _objects(members.get("answer"))),
                    measured=_object(members.get("measured")) or self.trace.measured,
                )
            case "workflow_failed":
                self.trace = replace(
                    self.trace,
                    state="failed",
                    message=_of(str, members.get("message")),
                    measured=_object(members.get("measured")) or self.trace.measured,
                )

    def _report(self, message: str) -> None:
        problem = TraceProblem(self._number, message)
        self.trace = replace(self.trace, problems=(*self.trace.problems, problem))

    def _head(self, members: Line) -> None:
        if members.get("format") != FORMAT:
            self._report(f"The trace is not of form {FORMAT}.")
        palette = members.get("palette")
        self.trace = replace(
            self.trace,
            agent=_of(str, members.get("agent")) or "",
            objective=_of(str, members.get("objective")) or "",
            palette=tuple(map(str, palette)) if isinstance(palette, list) else (),
            started=_of(int, members.get("started")),
            reduced=members.get("reduced") is True,
        )

    def _job(self, members: Line) -> None:
        job = _object(members.get("job"))
        id_, turn = _of(str, job.get("id")), _of(int, job.get("iteration"))
        if id_ is None:
            self._report("The line names no job.")
            return
        # An agent inside counts for itself, and is charged to the run when its tool has ended.
        trace = replace(self.trace, measured=_object(members.get("measured")) or self.trace.measured)
        if job.get("own") is True:
            own = _after(trace.own or _new(id_, job), members)
            self.trace = replace(trace, own=own)
            self._progress(members)
        elif turn is not None and job.get("parent") == (trace.own.id if trace.own else None):
            place = next((at for at, each in enumerate(trace.turns) if each.number == turn), len(trace.turns))
            before = trace.turns[place] if place < len(trace.turns) else TracedTurn(turn)
            if job.get("decision") is True:
                now = replace(before, decision=_after(before.decision or _new(id_, job), members))
            else:
                now = replace(before, tool=_after(before.tool or _new(id_, job), members))
            self.trace = replace(trace, turns=(*trace.turns[:place], now, *trace.turns[place + 1 :]))

    def _progress(self, members: Line) -> None:
        """A line for people is about the turn that was last."""
        message = _of(str, members.get("message"))
        if members.get("kind") == "progress" and message and self.trace.turns:
            last = replace(self.trace.turns[-1], progress=message)
            self.trace = replace(self.trace, turns=(*self.trace.turns[:-1], last))


def read_trace(file: Path) -> Trace:
    """The trace in a file; what cannot be read of it is in its ``problems``. Raises :class:`TraceUnreadable`.

    A last line without an end was cut off while it was written, which is such a problem.
    """
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise TraceUnreadable(f"{file}: The file cannot be read: {cause_of(error)}.") from error
    except UnicodeDecodeError as error:
        raise TraceUnreadable(f"{file}: The file is not UTF-8 text.") from error
    return trace_of(text.split("\n"))


def trace_of(lines: Iterable[str]) -> Trace:
    """The trace that these lines tell."""
    reader = TraceReader()
    for line in lines:
        reader.feed(line)
    return reader.trace


# -- members -------------------------------------------------------------------------------------------

V = TypeVar("V")

_STATES: Final[Mapping[str, JobState]] = {
    "queued": "queued",
    "started": "running",
    "completed": "completed",
    "failed": "failed",
    "timed_out": "timed_out",
    "cancelled": "cancelled",
}


def _new(id_: str, job: Mapping[str, Json]) -> TracedJob:
    return TracedJob(id_, _of(str, job.get("name")) or "", _of(str, job.get("tool")))


def _after(job: TracedJob, members: Line) -> TracedJob:
    """A job after one more of its lines; a kind that is not known changes nothing."""
    kind, at = str(members.get("kind")), _of(int, members.get("at")) or 0
    message = _of(str, members.get("message"))
    if kind == "retry":
        return replace(job, retries=(*job.retries, message or str(members.get("retry"))))
    if kind not in _STATES:
        return job
    job = replace(job, state=_STATES[kind])
    if kind == "queued":
        return replace(job, queued=at)
    if kind == "started":
        return replace(job, attempt=_of(int, members.get("attempt")) or 1)
    decision, result = _object(members.get("decision")), _object(members.get("result"))
    return replace(
        job,
        ended=at,
        message=message,
        decision=_decision(decision) if decision else None,
        result=_thing(result) if result else None,
    )


def _decision(members: Mapping[str, Json]) -> TracedDecision:
    questions = {
        key: AskedQuestion(
            "choice" if asked.get("type") == "choice" else "noul",
            asked.get("instructions"),
            asked.get("options"),
        )
        for key, asked in _each(members.get("questions"))
        if asked.get("type") in ("choice", "noul")
    }
    answers = {
        key: answer
        for key, said in _each(members.get("answers"))
        if (answer := _answer(key, said)) is not None
    }
    return TracedDecision(
        _of(str, members.get("decisionId")),
        members.get("state"),
        questions,
        answers,
        _object(members.get("call")),
    )


def _answer(key: str, said: Mapping[str, Json]) -> Choice | NoulAnswer | None:
    """An answer of one of the two kinds there are; None for another one."""
    probability = _number(said.get("probability"))
    if probability is not None:
        return NoulAnswer(key, probability, noul_confidence(probability))
    given = _object(said.get("probabilities"))
    numbers = {option: number for option, value in given.items() if (number := _number(value)) is not None}
    chosen = said.get("choice")
    if not isinstance(chosen, str) or chosen not in numbers:
        return None
    options = tuple(numbers)
    confidence = _number(said.get("confidence")) or 0.0
    answer = ChoiceAnswer(key, options.index(chosen), confidence, tuple(numbers.values()))
    return Chosen(answer, options)


def _thing(members: Mapping[str, Json]) -> TracedThing:
    inside = tuple(_thing(each) for each in _objects(members.get("iterands")))
    return TracedThing(_of(str, members.get("ref")) or "", _of(str, members.get("digest")), inside)


def _of(kind: type[V], value: Json) -> V | None:
    """A member of this type; None where it is missing or of another."""
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _number(value: Json) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else _NONE


def _objects(value: Json) -> Iterable[Mapping[str, Json]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def _each(value: Json) -> Iterable[tuple[str, Mapping[str, Json]]]:
    """The members of an object that are objects themselves."""
    return ((key, member) for key, member in _object(value).items() if isinstance(member, dict))
