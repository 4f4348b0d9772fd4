"""The turns of a decision agent: each is one decision and at most one use of a tool.

A pair of a tool and an artifact is used once at most, whatever comes of it; so a run ends also without its
bounds.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeAlias, TypeVar

from engine.agent.artifacts import Artifact, ListArtifact, World
from engine.agent.deciding import Deciding, words_of
from engine.agent.palette import FINISH, NEXT, Entry, refusal_of
from engine.agent.pulled import Halted, Pulled
from engine.agent.thinker import DecisionThinker
from engine.agent.thinking import (
    Answers,
    DecisionTurn,
    Ending,
    EndReason,
    Failed,
    Job,
    JobProgressed,
    Produced,
    Selected,
    ThinkerResult,
    ThinkingEnded,
    ThinkingStarted,
    TurnRecorded,
)
from engine.budget import Limits, Usage
from engine.counting import counted
from engine.deciders.asked import AskedQuestion
from engine.deciders.systemone.questions import Choice, Noul
from engine.events import Event, Observer
from engine.jsontext import Json
from engine.run import Phase

log: Final = logging.getLogger(__name__)

Out = TypeVar("Out", bound=Artifact)

_Move: TypeAlias = tuple[Entry, tuple[Artifact, ...]]
"""A tool with the artifacts it can still be used on."""

_TURN: Final = 2
"""The LLM calls a turn needs: one for its decision, and one kept for a last selection."""


class ThinkerRun(Pulled[ThinkerResult[Out]], Generic[Out]):
    """One run of a decision agent. Read it with ``async for``, or drive it to its end with ``finish``.

    See :meth:`DecisionThinker.start`.
    """

    def __init__(
        self,
        thinker: DecisionThinker[Any, Out],
        artifact: Artifact | None,
        limits: Limits,
        *,
        erasure_key: str | None,
        observers: Iterable[Observer],
        stops_inside: Iterable[Phase],
    ) -> None:
        self._run = Deciding(thinker, limits, erasure_key=erasure_key, observers=observers)
        super().__init__(self._run, stops_inside)
        self._thinker, self._artifact = thinker, artifact
        self._world = World(thinker.formatters)
        self._spent: set[tuple[str, str]] = set()
        self._done: list[str] = []
        self._turns: list[DecisionTurn] = []

    # What is known of it

    @property
    def execution_id(self) -> str:
        """The id of this execution."""
        return self._run.id

    @property
    def job(self) -> Job:
        """The run as a job."""
        return self._run.job

    @property
    def usage(self) -> Usage:
        """What it has used so far; the LLM calls are what its caller is charged."""
        return replace(self._run.meter.reading(), cost=self._run.totals.cost)

    @property
    def turns(self) -> tuple[DecisionTurn, ...]:
        """The turns so far."""
        return tuple(self._turns)

    @property
    def world(self) -> World:
        """The artifacts it holds, with their refs and digests."""
        return self._world

    @property
    def is_recorded(self) -> bool:
        """Whether its decisions go to a recorder, so that what is stored elsewhere need not repeat them."""
        return self._thinker.recorder is not None

    def observe(self, observer: Observer) -> None:
        """Add an observer; it is given the events from now on."""
        self._run.observe(observer)

    def under(self, parent: str) -> None:
        """Make it a part of a job of another run, before it has begun."""
        self._run.job = replace(self._run.job, parent=parent)

    # From the beginning to the end

    async def _execute(self) -> None:
        run, thinker = self._run, self._thinker
        run.tell(ThinkingStarted(*run.stamp, run.job, thinker.objective, thinker.palette_names))
        run.begin(run.job)
        ending: Ending = "completed"
        try:
            result = self._answered(await self._think())
        except BaseException as error:  # noqa: BLE001 - whatever went wrong is the run's result
            failed = self._failure(error)
            ending = "timed_out" if failed.timed_out else "failed"
            ending = "cancelled" if failed.kind == "Cancelled" else ending
            result = ThinkerResult(
                execution_id=run.id,
                failure_kind=failed.kind,
                error=str(failed),
                transient=failed.transient,
            )
        usage = self.usage
        run.totals = replace(run.totals, wall_ms=round(usage.duration * 1000, 3))
        self._result = replace(result, turns=self.turns, usage=usage, measured=run.totals)
        run.end(run.job, ending, result.error)
        run.tell(ThinkingEnded(*run.stamp, run.job, self._result))

    def _failure(self, error: BaseException) -> Failed:
        """What ends the run by this error; one that is no part of it is raised again."""
        run = self._run
        late = run.is_late and not run.is_cancelled
        match error:
            case Failed():
                return error
            case Halted():
                return _out_of_time(error)
            case asyncio.CancelledError() if late:
                return _out_of_time(run.out_of_time)
            case asyncio.CancelledError() if run.is_cancelled:
                return Failed("Cancelled", f"Cancellation requested{run.interrupted}.")
            case asyncio.CancelledError():
                return Failed("Unknown", "A part of the agent was cancelled from inside.")
            case Exception():
                return Failed("Unknown", ": ".join(map(words_of, _causes(error))))
        raise error

    def _answered(self, reason: EndReason) -> ThinkerResult[Out]:
        """The result of a run that came to its end: what the last turn holds for likely enough."""
        thinker, world, selection = self._thinker, self._world, self._turns[-1].selection
        chosen = [
            artifact
            for artifact in self._outputs()
            if selection.get(world.ref(artifact), -1.0) >= thinker.selection_threshold
        ]
        answer = ListArtifact(thinker.answers, tuple(chosen), thinker.objective)
        return ThinkerResult(
            execution_id=self._run.id,
            answer=answer,
            answer_ref=world.adopt(answer),
            selected=tuple(Selected(world.ref(each), world.words(each), each) for each in chosen),
            end_reason=reason,
        )

    # Turns

    async def _think(self) -> EndReason:
        """Turn by turn, until nothing is left to be decided."""
        thinker, meter = self._thinker, self._run.meter
        if not isinstance(self._artifact, thinker.takes):
            message = f"The run needs an artifact of the type '{thinker.takes.alias}'."
            raise Failed("InputValidationFailed", message)
        if meter.remaining.llm_calls < _TURN:
            raise Failed("CallLimitExceeded", f"A run takes at least {_TURN} LLM calls.")
        self._world.adopt(self._artifact)
        number = 0
        while number < thinker.max_turns and meter.remaining.llm_calls >= _TURN:
            number += 1
            self._run.check()
            moves, outputs = self._moves(), self._outputs()
            if not moves and not outputs:
                self._record(DecisionTurn(number))
                return "nothing_produced"
            answers, selection = await self._decided(number, moves, outputs)
            chosen = answers.choice(NEXT) if moves else None
            if chosen is None or chosen.value == FINISH:
                self._record(DecisionTurn(number, chosen, selection=selection))
                return "no_moves" if chosen is None else "model"
            argument = answers.choice(f"{chosen.value}_input")
            entry = next(entry for entry, _ in moves if entry.name == chosen.value)
            turn = DecisionTurn(
                number, chosen, entry.name, argument, artifact=argument.value, selection=selection
            )
            await self._use(turn, entry, self._world.artifact(argument.value))
        outputs, selection = self._outputs(), {}
        if outputs:
            _, selection = await self._decided(number + 1, (), outputs)
        self._record(DecisionTurn(number + 1, selection=selection))
        return "turn_budget"

    def _moves(self) -> tuple[_Move, ...]:
        """The tools with what each can still be used on, in the order of palette and world."""
        moves = []
        for entry in self._thinker.compiled.entries:
            fitting = tuple(
                artifact
                for artifact in self._world
                if entry.takes.holds(artifact) and (entry.name, self._world.ref(artifact)) not in self._spent
            )
            if fitting:
                moves.append((entry, fitting))
        return tuple(moves)

    def _outputs(self) -> tuple[Out, ...]:
        """What an answer can be made of; what was given is no answer, whatever its type."""
        return tuple(
            artifact
            for artifact in self._world
            if isinstance(artifact, self._thinker.answers) and artifact is not self._artifact
        )

    def _record(self, turn: DecisionTurn) -> None:
        self._turns.append(turn)
        self._run.tell(TurnRecorded(*self._run.stamp, turn))

    # Decisions

    async def _decided(
        self, number: int, moves: Sequence[_Move], outputs: Sequence[Out]
    ) -> tuple[Answers, Mapping[str, float]]:
        """Ask once for all of a turn: the answers, and how likely each output belongs in the answer."""
        run, world = self._run, self._world
        await run.stop("beforeAttempt", number)
        answers = await run.decide(number, self._state(), dict(self._questions(moves, outputs)))
        selection = {ref: answers.noul(f"select_{ref}").probability for ref in map(world.ref, outputs)}
        await run.stop("afterDecision", number)
        return answers, selection

    def _state(self) -> dict[str, Json]:
        """All a model is shown: a line for each artifact, and what was done with them."""
        return {
            "objective": self._thinker.objective,
            "artifacts": [self._world.digest(artifact) for artifact in self._world],
            "done": [*self._done] or [_NOTHING_YET],
        }

    def _questions(
        self, moves: Sequence[_Move], outputs: Sequence[Out]
    ) -> Iterator[tuple[str, AskedQuestion]]:
        """What runs next, on which artifact each tool would, and what belongs in the answer."""
        world = self._world
        if moves:
            tools = {
                entry.name: f"{entry.tool.description} It can take {counted(len(fitting), 'artifact')}."
                for entry, fitting in moves
            }
            if outputs:
                tools[FINISH] = _FINISH
            yield NEXT, Choice(_NEXT, tools)
        for entry, fitting in moves:
            options = {world.ref(artifact): world.digest(artifact) for artifact in fitting}
            yield f"{entry.name}_input", Choice(_INPUT.format(tool=entry.name), options)
        for ref in map(world.ref, outputs):
            yield f"select_{ref}", Noul(_SELECT.format(ref=ref))

    # Tools

    async def _use(self, turn: DecisionTurn, entry: Entry, artifact: Artifact) -> None:
        """Use the tool of a turn on its artifact, and record what came of it."""
        run, number, ref = self._run, turn.turn, self._world.ref(artifact)
        await run.stop("beforeTool", number)
        self._spent.add((entry.name, ref))
        told = f"{entry.name} on {ref}"
        try:
            produced = await self._made(entry, artifact, number)
        except Exception as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            level = logging.WARNING if refusal.technical is None else logging.ERROR
            why = refusal.technical or type(refusal).__name__
            log.log(level, "The tool %s refused an artifact (%s).", entry.name, why)
            turn = replace(turn, failure=str(refusal))
            self._done.append(f"{told} failed: {refusal}")
        else:
            turn = replace(turn, result=produced.ref)
            self._done.append(f"{told} produced {produced.ref}")
        self._turns.append(turn)
        message = f"turn {number}: {told}{'' if turn.failure is None else ' failed'}"
        percent = min(99, number * 100 // self._thinker.max_turns)
        run.tell(JobProgressed(*run.stamp, run.job, "Deciding", message, percent))
        run.tell(TurnRecorded(*run.stamp, turn))
        await run.stop("afterTool", number)

    async def _made(self, entry: Entry, artifact: Artifact, number: int) -> Produced:
        """What a tool produces, adopted."""
        run, world = self._run, self._world
        job = run.new_job(entry.name, number, tool=entry.name)
        with run.doing(job, "a tool"):
            made: object = await entry.tool(_Parent(run, job.id)).run(artifact)
            if not isinstance(made, Artifact):
                raise TypeError(f"The tool '{entry.name}' returned no artifact.")
            ref = world.adopt(made)
            inside = made.iterands if isinstance(made, ListArtifact) else ()
            iterands = tuple(Produced(world.ref(each), world.words(each)) for each in inside)
            produced = Produced(ref, world.words(made), iterands)
        run.end(job, result=produced)
        return produced


@dataclass(frozen=True, slots=True)
class _Parent:
    """A run as one use of a tool sees it."""

    run: Deciding = field(repr=False)
    job: str

    @property
    def execution_id(self) -> str:
        return self.run.id

    @property
    def left(self) -> Limits:
        # The call of the last selection is kept.
        left = self.run.meter.remaining
        return replace(left, llm_calls=max(0, left.llm_calls - 1))

    def charge(self, used: Usage) -> None:
        self.run.charge(used)

    def tell(self, event: Event) -> None:
        self.run.tell(event)


_NOTHING_YET: Final = "nothing yet"
_NEXT: Final = (
    "Which tool should run next to reach the objective? A tool that was used on an artifact already is not "
    "offered for it again."
)
_FINISH: Final = "What has been produced answers the objective."
_INPUT: Final = "If {tool} runs next, which artifact should it take?"
_SELECT: Final = "Does {ref} belong in the answer to the objective?"


def _out_of_time(error: Halted) -> Failed:
    """A run whose time is over: it may be done another time."""
    return Failed(error.kind, str(error), transient=True, timed_out=True)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what caused it, one after the other."""
    while error is not None:
        yield error
        error = error.__cause__
