"""The vocabulary of tests of decision agents: notes that are split and judged, and who decides about them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.agent import (
    Artifact,
    DecisionThinker,
    DecisionTool,
    InvalidInput,
    ListArtifact,
    ScriptedClient,
    ThinkerResult,
    ThinkerRun,
)
from engine.deciders.systemone.client import DecisionRequest
from engine.events import Event
from tests.engine.runs import VirtualClock

NOTE = "alpha is due; beta can wait"
OBJECTIVE = "Find what is said of alpha."


@dataclass(frozen=True)
class Note(Artifact):
    alias: ClassVar[str] = "note"

    text: str


@dataclass(frozen=True)
class Verdict(Artifact):
    alias: ClassVar[str] = "verdict"

    about: str
    keep: bool


class Split(DecisionTool[Note, ListArtifact[Note]]):
    name = "split"
    description = "Splits a note at its semicolons."

    async def run(self, artifact: Note, /) -> ListArtifact[Note]:
        return ListArtifact(Note, tuple(Note(part.strip()) for part in artifact.text.split(";")))


class Judge(DecisionTool[Note, ListArtifact[Verdict]]):
    name = "judge"
    description = "Judges a note."

    async def run(self, artifact: Note, /) -> ListArtifact[Verdict]:
        return ListArtifact(Verdict, (Verdict(artifact.text, "alpha" in artifact.text),))


class Refusing(DecisionTool[Note, ListArtifact[Verdict]]):
    name = "refusing"
    description = "Refuses every note."

    async def run(self, artifact: Note, /) -> ListArtifact[Verdict]:
        raise InvalidInput("note", artifact.text, "it is not signed")


class Raising(DecisionTool[Note, ListArtifact[Verdict]]):
    """A tool that raises what a test puts here."""

    name = "raising"
    description = "Goes wrong."
    error: ClassVar[BaseException] = RuntimeError("the disk is on fire")

    async def run(self, artifact: Note, /) -> ListArtifact[Verdict]:
        raise self.error


class Waits(DecisionTool[Note, ListArtifact[Verdict]]):
    """A tool that never comes back, and says when it began."""

    name = "waits"
    description = "Never comes back."
    began: ClassVar[asyncio.Event]

    async def run(self, artifact: Note, /) -> ListArtifact[Verdict]:
        self.began.set()
        await asyncio.Event().wait()
        raise AssertionError


def options(request: DecisionRequest, key: str) -> Mapping[str, str]:
    """The options of a choice with what is said of each; none where it is not asked."""
    asked = request.questions.get(key)
    return asked.criteria if asked and isinstance(asked.criteria, dict) else {}  # type: ignore[return-value]


def lines(request: DecisionRequest) -> list[str]:
    """The lines of the artifacts a model is shown."""
    state: Any = request.state
    return list(state["artifacts"])


def done(request: DecisionRequest) -> list[str]:
    """What a model is told was done."""
    state: Any = request.state
    return list(state["done"])


def selected(request: DecisionRequest, words: str) -> dict[str, float]:
    """0.9 for each artifact whose line has these words, and 0.1 for the others, by the question about it."""
    return {
        f"select_{line.partition(' ')[0]}": 0.9 if words in line else 0.1
        for line in lines(request)
        if f"select_{line.partition(' ')[0]}" in request.questions
    }


def careful(request: DecisionRequest) -> dict[str, str | float]:
    """Split what has a semicolon, judge what has none, and then finish; what says alpha is kept."""
    says: dict[str, str | float] = dict(selected(request, "alpha"))
    for tool, fits in (("split", True), ("judge", False)):
        for ref, line in options(request, f"{tool}_input").items():
            if (";" in line) is fits:
                return {**says, "next": tool, f"{tool}_input": ref}
    return {**says, "next": "finish"}


def first(request: DecisionRequest) -> dict[str, str | float]:
    """The first move there is, until there is none; what says alpha is kept."""
    return dict(selected(request, "alpha"))


class Hears(ScriptedClient):
    """A client that answers by a script and keeps what it was asked."""

    def __init__(self, script: Callable[[DecisionRequest], Mapping[str, str | float]]) -> None:
        super().__init__(script)
        self.requests: list[DecisionRequest] = []

    async def evaluate(self, request: DecisionRequest) -> Any:
        self.requests.append(request)
        return await super().evaluate(request)


def thinker(
    script: Any = careful,
    *,
    palette: Sequence[Any] = (Split,),
    key: Any = Judge,
    takes: Any = Note,
    answers: Any = Verdict,
    **more: Any,
) -> DecisionThinker[Any, Any]:
    """A decision agent of the toy tools; ``script`` is a function, or a whole client."""
    client = Hears(script) if callable(script) else script
    more.setdefault("clock", VirtualClock())
    more.setdefault("objective", OBJECTIVE)
    return DecisionThinker(takes=takes, answers=answers, key_tool=key, palette=palette, client=client, **more)


def heard(made: DecisionThinker[Any, Any]) -> list[DecisionRequest]:
    """What its client was asked."""
    assert isinstance(made.client, Hears)
    return made.client.requests


def started(
    made: DecisionThinker[Any, Any], given: Artifact | None = None, **more: Any
) -> tuple[ThinkerRun[Any], list[Event]]:
    """A run, and the events it tells as they come."""
    told: list[Event] = []
    run = made.start(Note(NOTE) if given is None else given, observers=[told.append], **more)
    return run, told


async def thought(made: DecisionThinker[Any, Any], given: Artifact | None = None, **more: Any) -> Any:
    """The result of a run that is driven to its end."""
    return await started(made, given, **more)[0].finish()


def tools(result: ThinkerResult[Any]) -> list[str]:
    """The tools of the turns, in order."""
    return [turn.tool for turn in result.turns]
