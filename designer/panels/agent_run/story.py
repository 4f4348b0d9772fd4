"""What an agent did in a run, in lines: its turns, in each the models it asked and the tools it called.

A line grows while what it tells of goes on. It knows between which events of the run that was, so that any
moment of the run can be found among the lines. Texts may be very large: a line holds them as they came, and
quotes no more of them than is shown.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from itertools import islice
from typing import Final, TypeAlias

from designer.document.names import one_line, titles_of
from engine import Event, NodeId, RunStarted, SubRunEvent
from engine.agent import (
    AgentRunCompleted,
    AgentRunStarted,
    FailureKind,
    GateRejected,
    LlmCallCompleted,
    LlmCalled,
    ModelChunk,
    ModelSwitched,
    PolicyBlocked,
    Progressed,
    ToolCall,
    ToolCompleted,
    ToolResult,
    ToolStarted,
    TransformationCompleted,
    TurnStarted,
    ValidationCompleted,
)
from engine.counting import counted

Place: TypeAlias = tuple[tuple[NodeId, int], ...]
"""A node and its visit, and within that the node of an inner tree and its visit, and so on."""

Part: TypeAlias = tuple[str, str]
"""A text under its heading."""

_QUOTED: Final = 160
"""Characters that are quoted of a text."""


def quoted(text: str | None) -> str:
    """The beginning of a text on one line; that there is more is shown."""
    text = text or ""
    return f"{one_line(text, _QUOTED)}…" if len(text) > _QUOTED else one_line(text)


@dataclass(slots=True, eq=False)
class Line(ABC):
    """One line: what it is called, what came of it, and all it could tell, in parts.

    ``first`` and ``last`` are how many events of the run there were when it began and when it last grew.
    """

    first: int
    last: int
    icon: tuple[str, str]
    tone: str | None = None
    seconds: float | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What came of it, on one line."""

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """Everything it can tell."""

    @property
    def tokens(self) -> str:
        """How many tokens went in and came out, where that was reported."""
        return ""

    @property
    def below(self) -> Sequence["Line"]:
        """The lines it is made of."""
        return ()

    def warn(self) -> None:
        """Have it seen that something did not go as it should."""
        self.tone, self.icon = "warn", ("problem-warning", "warn")


@dataclass(slots=True, eq=False)
class NoteLine(Line):
    """Something that was said of the work as a whole."""

    told: tuple[Part, ...] = ()

    @property
    def name(self) -> str:
        return self.told[0][0]

    @property
    def words(self) -> str:
        return quoted(self.told[0][1])

    def parts(self) -> Iterator[Part]:
        yield from self.told


@dataclass(slots=True, eq=False)
class ModelLine(Line):
    """A model is asked, and what it says, as it comes."""

    model: str = ""
    pieces: list[str] = field(default_factory=list)
    asks_for: tuple[str, ...] = ()
    counts: tuple[int | None, int | None] = (None, None)
    error: str | None = None
    done: bool = False

    @property
    def name(self) -> str:
        return f"Model {one_line(self.model)}"

    @property
    def said(self) -> str:
        """What it has said so far."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def words(self) -> str:
        if self.error is not None:
            return f"Failed: {quoted(self.error)}"
        calls = f"asks for {', '.join(self.asks_for)}" if self.asks_for else ""
        said = quoted(self.said)
        if not self.done:
            # Of what is still being said, the end is what is new.
            return f"…{one_line(self.said[-_QUOTED:])}" if len(self.said) > _QUOTED else said or "is asked…"
        return one_line(", ".join(filter(None, (calls, said)))) or "says nothing"

    @property
    def tokens(self) -> str:
        sent, got = self.counts
        return "" if sent is None and got is None else f"{_count(sent)} / {_count(got)}"

    def parts(self) -> Iterator[Part]:
        yield f"Model {self.model}", self.said or ("" if self.error or self.asks_for else "(nothing)")
        if self.asks_for:
            yield "Asks for the tools", ", ".join(self.asks_for)
        if self.error is not None:
            yield "Failed", self.error


_NO_CALL: Final = ToolCall("", "", "")


@dataclass(slots=True, eq=False)
class ToolLine(Line):
    """A call of a tool, what the model wants handed over, and what it is told of it."""

    call: ToolCall = _NO_CALL
    state: str = "asked"
    result: ToolResult | None = None

    @property
    def name(self) -> str:
        return f"Tool {one_line(self.call.name)}"

    @property
    def words(self) -> str:
        result = self.result
        came = quoted(result.output if result.error is None else result.error) if result else ""
        how = ": ".join(filter(None, (_STATES[self.state], came)))
        given = quoted(self.call.arguments)
        return ", ".join(filter(None, (how, f"for {given}" if given not in ("", "{}") else "")))

    def parts(self) -> Iterator[Part]:
        yield f"Tool {self.call.name}", self.call.arguments
        if self.state not in ("asked", "done", "failed"):
            yield "What came of it", f"{_STATES[self.state].capitalize()}."
        if self.result is not None and self.result.error is not None:
            yield "Error", self.result.error
        elif self.result is not None:
            yield "Result", self.result.output or "(empty)"

    def settle(self, state: str) -> None:
        """Note what came of it."""
        self.state = state
        if state not in ("done", "cached"):
            self.warn()


_STATES: Final = {
    "asked": "",
    "chosen": "not used yet",
    "used": "being used",
    "done": "",
    "failed": "failed",
    "cached": "known from before, not used again",
    "cachedFailure": "known to fail from before, not used again",
    "refused": "not used, because this agent has no such tool",
    "notAllowed": "not used, because this run may not use it",
    "notApproved": "not used, because nobody approved it",
    "stopped": "not finished",
}


@dataclass(slots=True, eq=False)
class TurnLine(Line):
    """A turn: the models that were asked, one after another where they failed, and the tools called."""

    number: int = 0
    round: int = 1
    lines: list[Line] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"Turn {self.number + 1}" + (f", round {self.round}" if self.round > 1 else "")

    @property
    def below(self) -> Sequence[Line]:
        return self.lines

    @property
    def model(self) -> ModelLine | None:
        """The model that was asked last."""
        return next((line for line in reversed(self.lines) if isinstance(line, ModelLine)), None)

    @property
    def tools(self) -> Iterator[ToolLine]:
        """The tools that were called."""
        return (line for line in self.lines if isinstance(line, ToolLine))

    @property
    def words(self) -> str:
        model = self.model
        if model is None:
            return "begins"
        names = [line.call.name for line in islice(self.tools, 6)]
        if not names:
            return model.words
        more = ", …" if len(self.lines) > len(names) + 3 else ""
        failed = sum(line.tone is not None for line in self.tools)
        trouble = f" ({counted(failed, 'call')} without success)" if failed else ""
        return f"calls {one_line(', '.join(names))}{more}{trouble}"

    @property
    def tokens(self) -> str:
        models = [line.counts for line in self.lines if isinstance(line, ModelLine)]
        if not any(counts != (None, None) for counts in models):
            return ""
        return " / ".join(_count(sum(counts[side] or 0 for counts in models)) for side in (0, 1))

    def parts(self) -> Iterator[Part]:
        for line in self.lines:
            yield from line.parts()


@dataclass(frozen=True, slots=True)
class Totals:
    """What an agent had used at one moment."""

    turns: int = 0
    calls: int = 0
    tools: int = 0
    sent: int = 0
    got: int = 0
    seconds: float | None = None


@dataclass(slots=True, eq=False)
class Story:
    """One run of an agent. ``within`` are the titles of the nodes it runs in, the outermost first."""

    place: Place
    within: tuple[str, ...]
    started: AgentRunStarted
    first: int
    lines: list[Line] = field(default_factory=list)
    last: int = 0
    ended: bool = False
    _turn: TurnLine | None = None
    _asked: ModelLine | None = None
    _used: ToolLine | None = None
    _calls: deque[ToolLine] = field(default_factory=deque)
    _goes_on: bool = False
    _totals: list[tuple[int, Totals]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Where it ran, in which visit, and what it is called."""
        visits = [f", visit {visit}" if visit > 1 else "" for _, visit in self.place]
        where = " > ".join(f"{title}{visit}" for title, visit in zip(self.within, visits, strict=True))
        return f"{where}: {one_line(self.started.agent)}"

    @property
    def node(self) -> NodeId:
        """The node of the tree that is shown."""
        return self.place[0][0]

    def totals(self, position: int) -> Totals:
        """What it had used after so many events of the run."""
        before = bisect_right(self._totals, position, key=lambda noted: noted[0])
        return self._totals[before - 1][1] if before else Totals()

    def waits(self, phase: str) -> tuple[Line, ...]:
        """The lines that tell what it stands before or after, the turn first."""
        turn = self._turn
        if turn is None or self.ended:
            return ()
        tool = self._used if phase in ("beforeTool", "afterTool") else None
        return (turn,) if tool is None else (turn, tool)

    def hear(self, event: Event, position: int) -> None:
        """Take in what happened next."""
        self.last = position
        _heard(event, self, position)

    # What the events make of it

    def begin_turn(self, number: int, round_: int, position: int) -> None:
        """A new turn; in a later round they are counted anew."""
        self._turn = TurnLine(position, position, ("step", "secondary"), number=number, round=round_)
        self._used = None
        self.lines.append(self._turn)
        self.count(position, turns=1)

    def add(self, line: Line, *, in_turn: bool = True) -> None:
        """One more line, within the turn that goes on or after it."""
        if in_turn and self._turn is not None:
            self._turn.lines.append(line)
            self._turn.last = line.last
        else:
            self.lines.append(line)

    def leave_turn(self) -> None:
        """What comes next is no part of a turn; calls nobody worked on were refused."""
        self.pass_over()
        self._turn = self._asked = self._used = None

    def note(self, position: int, name: str, text: str | None, *, tone: str | None = None) -> None:
        """Something that was said of the work as a whole."""
        self.leave_turn()
        icon = ("problem-warning", tone) if tone else ("check", "good")
        self.lines.append(NoteLine(position, position, icon, tone, told=((name, text or ""),)))

    def ask(self, model: str, turn: int | None, position: int) -> None:
        """A model is asked; one that goes on for another is part of the same call."""
        self._asked = ModelLine(position, position, ("classify", "classify"), model=model)
        self.add(self._asked, in_turn=turn is not None)
        if not self._goes_on:
            self.count(position, calls=1)
        self._goes_on = False

    def answered(self, event: LlmCallCompleted, position: int) -> None:
        """What the model said, and the tools it asks for."""
        asked = self._asked
        if asked is None:
            return
        reply = event.completion
        asked.done, asked.last, asked.seconds, asked.error = True, position, event.seconds, event.error
        if event.error is not None:
            asked.warn()
        if reply is not None:
            asked.pieces = [reply.content or reply.refusal or ""]
            asked.counts = reply.input_tokens, reply.output_tokens
            asked.asks_for = tuple(call.name for call in reply.tool_calls)
            self.count(position, sent=reply.input_tokens or 0, got=reply.output_tokens or 0)
            for call in reply.tool_calls:
                line = ToolLine(position, position, ("action", "action"), call=call)
                self.add(line)
                self._calls.append(line)
        self.grow(position, event.seconds)

    def say(self, text: str, position: int) -> None:
        """A piece of what the model says; what comes after the whole is only said again."""
        asked = self._asked
        if asked is not None and not asked.done and text:
            asked.pieces.append(text)
            asked.last = position
            self.grow(position)

    def switch(self, event: ModelSwitched, position: int) -> None:
        """Another model goes on."""
        self._goes_on = True
        name = f"{one_line(event.target)} goes on for {one_line(event.source)}"
        line = NoteLine(position, position, ("redo", "warn"), "warn", told=((name, event.reason),))
        self.add(line, in_turn=event.turn is not None)

    def take_up(self, call: str, position: int) -> None:
        """A call is worked on; those before it that nobody worked on were refused."""
        found = next((line for line in self._calls if line.call.id == call), None)
        if found is not None:
            self.pass_over(found)
            self._used = self._calls.popleft()
            found.state, found.last = "chosen", position
            self.grow(position)

    def known(self, result: ToolResult, position: int, *, cached: bool) -> None:
        """What came of the call although no tool was used for it."""
        if (line := self._used) is not None:
            line.result, line.last = result, position
            known = "cachedFailure" if result.error is not None else "cached"
            line.settle(known if cached else "notApproved")
            self.grow(position)

    def use(self, position: int) -> None:
        """The tool is used."""
        self.count(position, tools=1)
        if (line := self._used) is not None:
            line.state, line.last = "used", position
            self.grow(position)

    def came_back(self, event: ToolCompleted, position: int) -> None:
        """The tool came back."""
        if (line := self._used) is not None:
            line.result, line.seconds, line.last = event.result, event.seconds, position
            line.settle("done" if event.result.error is None else "failed")
            self.grow(position, event.seconds)

    def pass_over(self, until: ToolLine | None = None, how: str | None = None) -> None:
        """The calls before this one, which nobody worked on, were refused, or went as is said."""
        allowed = self.started.request.allowed_tools
        while self._calls and self._calls[0] is not until:
            line = self._calls.popleft()
            name = line.call.name.lower()
            there = allowed is None or name in [other.lower() for other in allowed]
            line.settle(how or ("refused" if there else "notAllowed"))

    def finish(self, event: AgentRunCompleted, position: int) -> None:
        """The run of the agent is over."""
        result = event.result
        if self._used is not None and self._used.state in ("chosen", "used"):
            self._used.settle("stopped")
        self.pass_over(how="stopped" if result.failure_kind in _INTERRUPTED else None)
        if self._asked is not None and not self._asked.done:
            self._asked.done = True
        if result.success:
            name, text, icon, tone = "Result", result.output, ("check", "good"), None
        else:
            why = _FAILURES.get(result.failure_kind or "Unknown", "Failed")
            name, text, icon, tone = why, result.reasoning, ("problem-error", "bad"), "bad"
        steps = "\n".join(result.steps)
        told = tuple(part for part in ((name, text or "(nothing)"), ("Step by step", steps)) if part[1])
        self.lines.append(NoteLine(position, position, icon, tone, event.seconds, told))
        used = result.usage
        self.ended = True
        self.leave_turn()
        totals = Totals(
            result.turns,
            used.llm_calls,
            result.tool_calls,
            used.input_tokens,
            used.output_tokens,
            event.seconds,
        )
        self._totals.append((position, totals))

    def count(self, position: int, **more: int) -> None:
        """Count what was used."""
        so_far = self._totals[-1][1] if self._totals else Totals()
        added = {name: getattr(so_far, name) + number for name, number in more.items()}
        self._totals.append((position, replace(so_far, **added)))

    def grow(self, position: int, seconds: float = 0.0) -> None:
        """Note that the turn goes on, and what time was spent on it."""
        if self._turn is not None:
            self._turn.last = position
            if seconds:
                self._turn.seconds = (self._turn.seconds or 0.0) + seconds


# ------------------------------------------------------------------------------------------ what is heard


@singledispatch
def _heard(_event: Event, _story: Story, _position: int) -> None:
    """What is told better by another event has no line of its own."""


@_heard.register
def _(event: PolicyBlocked, story: Story, position: int) -> None:
    story.note(position, f"Not allowed by '{one_line(event.policy)}'", event.reason, tone="bad")


@_heard.register
def _(event: TurnStarted, story: Story, position: int) -> None:
    story.leave_turn()
    story.begin_turn(event.turn, event.round, position)


@_heard.register
def _(event: LlmCalled, story: Story, position: int) -> None:
    story.ask(event.model, event.turn, position)


@_heard.register
def _(event: LlmCallCompleted, story: Story, position: int) -> None:
    story.answered(event, position)


@_heard.register
def _(event: ModelSwitched, story: Story, position: int) -> None:
    story.switch(event, position)


@_heard.register
def _(event: ModelChunk, story: Story, position: int) -> None:
    story.say(event.content, position)


@_heard.register
def _(event: Progressed, story: Story, position: int) -> None:
    if event.call is not None and event.result is not None:
        story.known(event.result, position, cached=event.cached)
    elif event.call is not None:
        story.take_up(event.call, position)


@_heard.register
def _(_event: ToolStarted, story: Story, position: int) -> None:
    story.use(position)


@_heard.register
def _(event: ToolCompleted, story: Story, position: int) -> None:
    story.came_back(event, position)


@_heard.register
def _(event: GateRejected, story: Story, position: int) -> None:
    how = "Sent back" if event.retry else "Rejected"
    story.note(position, f"{how} by the check '{one_line(event.gate)}'", event.reason, tone="warn")


@_heard.register
def _(event: ValidationCompleted, story: Story, position: int) -> None:
    name, said = one_line(event.validator), event.validation
    if said.is_valid:
        story.note(position, f"Found valid by '{name}'", None)
    else:
        story.note(position, f"Not valid by '{name}'", said.error, tone="warn")


@_heard.register
def _(event: TransformationCompleted, story: Story, position: int) -> None:
    story.note(position, f"Changed by '{one_line(event.transformer)}'", None)


@_heard.register
def _(event: AgentRunCompleted, story: Story, position: int) -> None:
    story.finish(event, position)


_INTERRUPTED: Final[frozenset[FailureKind | None]] = frozenset({"Cancelled", "DeadlineExceeded", "Unknown"})
"""What ends a run in the middle of a turn."""
_FAILURES: Final[Mapping[FailureKind, str]] = {
    "LlmTimeout": "Failed: the model took too long",
    "LlmError": "Failed: the model could not be asked",
    "FailoverExhausted": "Failed: no model of the chain answered",
    "TurnLimitExceeded": "Failed: no turn is left",
    "CallLimitExceeded": "Failed: no LLM call is left",
    "DeadlineExceeded": "Failed: no time is left",
    "Cancelled": "Stopped before it was done",
    "PolicyBlocked": "Not allowed",
    "InputValidationFailed": "Not begun: the request does not fit",
    "QualityRejected": "Failed: a check rejects the result",
    "ResultRejected": "Failed: the result is not valid",
}


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


# ------------------------------------------------------------------------------------------ all of a run


class Stories:
    """The agents of one run, in the order they began; takes in each event once."""

    def __init__(self) -> None:
        self.stories: list[Story] = []
        self._by_id: dict[str, Story] = {}
        self._titles: dict[Place, Mapping[NodeId, str]] = {}
        self._heard = 0

    def hear(self, events: Sequence[Event], most: int) -> bool:
        """Take in what is new, so many events at most; whether there are more."""
        for number in range(self._heard, min(len(events), self._heard + most)):
            self._take_in(events[number], number + 1)
            self._heard = number + 1
        return self._heard < len(events)

    def begun(self, position: int) -> int:
        """How many had begun after so many events."""
        return bisect_right(self.stories, position, key=lambda story: story.first)

    def _take_in(self, event: Event, position: int) -> None:
        place: Place = ()
        while isinstance(event, SubRunEvent):
            place += ((event.node, event.visit),)
            event = event.event
        if isinstance(event, RunStarted):
            self._titles[place] = titles_of(event.tree)
        elif isinstance(event, AgentRunStarted):
            within = tuple(
                self._titles.get(place[:depth], {}).get(node, node) for depth, (node, _) in enumerate(place)
            )
            story = Story(place, within, event, position)
            self._by_id[event.execution_id] = story
            self.stories.append(story)
        if place and (told := self._by_id.get(event.execution_id)) is not None:
            told.hear(event, position)
