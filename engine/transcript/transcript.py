"""Transcripts as they are written: opened, appended to section by section, completed.

The transcript of a run of a tree is an observer that redacts, limits, builds and persists what happens.
Trouble with it shows in its status and in a log line without content; it never changes the run.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from engine.budget import Clock
from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    ClassificationCompleted,
    Event,
    RunEnded,
    RunStarted,
)
from engine.transcript.builder import AgentBuilder, Builder, MarkdownAgentBuilder, MarkdownBuilder
from engine.transcript.composer import Composer, TranscriptPolicy
from engine.transcript.redaction import Redactor, Screen, shipped_redactor
from engine.transcript.sinks import FileSink, TranscriptSink, file_name
from engine.tree import Tree

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_Builder = TypeVar("_Builder")

TranscriptStatus: TypeAlias = Literal["Completed", "Unavailable", "RedactorUnavailable", "FinalizationFailed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptOptions:
    """Whether and how runs leave transcripts; without a directory they leave none.

    The directory must be absolute. In debug mode nothing is redacted; otherwise there is no transcript
    without a redactor. Builder and sink are made once a run; the sink is given the path it stands for. The
    limits of the policy are for runs of trees.
    """

    directory: Path | None
    debug: bool = False
    redactor: Redactor | None = shipped_redactor
    policy: TranscriptPolicy = field(default_factory=TranscriptPolicy)
    builder: Callable[[], Builder] = MarkdownBuilder
    sink: Callable[[Path], TranscriptSink] = FileSink
    agent_builder: Callable[[], AgentBuilder] = MarkdownAgentBuilder


def open_transcript(options: TranscriptOptions, tree_id: str, clock: Clock) -> "RunTranscript":
    """The transcript of one run of this tree. Nothing is written before the run begins."""
    return RunTranscript(options, f"Decision tree: {tree_id}", clock)


@dataclass(frozen=True, slots=True)
class Work(Generic[_Builder]):
    """What a transcript needs while it is written."""

    screen: Screen
    builder: _Builder
    sink: TranscriptSink


class Transcript(Generic[_Builder]):
    """One transcript of anything that has a goal: it is opened, written, completed, or given up."""

    def __init__(self, options: TranscriptOptions, goal: str, clock: Clock) -> None:
        self._options, self._goal, self._clock = options, goal, clock
        self._work: Work[_Builder] | None = None
        self._status: TranscriptStatus | None = None
        self._path: Path | None = None

    @property
    def status(self) -> TranscriptStatus | None:
        """What became of it; None while it is written, and where none was asked for."""
        return self._status

    @property
    def path(self) -> Path | None:
        """Where it is, once completed."""
        return self._path

    def _open(self, new_builder: Callable[[], _Builder]) -> None:
        options = self._options
        if options.directory is None:
            return
        if options.redactor is None and not options.debug:
            self._give_up("RedactorUnavailable", "no redactor")
            return
        try:
            self._work = self._opened(options.directory, new_builder)
        except Exception as error:  # noqa: BLE001 - a transcript never disturbs its run
            self._give_up("Unavailable", type(error).__name__)

    def _opened(self, directory: Path, new_builder: Callable[[], _Builder]) -> Work[_Builder]:
        if not directory.is_absolute():
            raise ValueError("relative directory")
        options = self._options
        screen = Screen(None if options.debug else options.redactor, self._clock)
        name = file_name(self._clock.now().astimezone(), screen.plain(self._goal))
        return Work(screen, _made(new_builder()), _made(options.sink(directory / name)))

    def _write(self, write: Callable[[Work[_Builder]], None]) -> None:
        """Write while it is open; the first trouble ends it."""
        work = self._work
        if work is None:
            return
        try:
            write(work)
        except Exception as error:  # noqa: BLE001 - a transcript never disturbs its run
            self._work = None
            with suppress(Exception):
                work.sink.close()
            self._give_up("FinalizationFailed", type(error).__name__)

    def _append(self, text: str, work: Work[_Builder]) -> None:
        if _made(text):
            work.sink.append(text)

    def _complete(self, work: Work[_Builder]) -> None:
        work.sink.complete()
        path = work.sink.path
        work.sink.close()
        self._work = None
        self._path, self._status = path, "Completed"

    def _give_up(self, status: TranscriptStatus, why: str) -> None:
        self._status = status
        log.warning("The run goes on without a transcript: %s (%s).", status, why)


class RunTranscript(Transcript[Builder]):
    """Observes one run of a tree and writes its transcript; made by :func:`open_transcript`."""

    _tree: Tree | None = None

    def __init__(self, options: TranscriptOptions, goal: str, clock: Clock) -> None:
        super().__init__(options, goal, clock)
        self._has_result = False
        self._written = self._omitted = 0

    @property
    def has_result(self) -> bool:
        """Whether the builder gave a text for how the run ended, and it was written."""
        return self._has_result

    def __call__(self, event: Event) -> None:
        """Write what this event shows."""
        if isinstance(event, RunStarted):
            self._tree = event.tree
            self._open(self._options.builder)
        self._write(lambda work: self._show(event, work))

    def _show(self, event: Event, work: Work[Builder]) -> None:
        composer, builder = Composer(self._options.policy, work.screen), work.builder
        match event:
            case RunStarted():
                debug = self._options.debug
                self._append(builder.header(composer.header(event, self._goal, debug=debug)), work)
                if debug:
                    self._append(builder.debug_request(composer.debug_request(event)), work)
                self._add(builder.overview(composer.overview(event)), work)
            case ActionCompleted():
                self._add(builder.action(composer.action(event)), work)
            case AttemptCompleted() if event.attempt.messages:  # nothing was sent for a pin or a person
                self._add(builder.attempt(composer.attempt(event)), work)
            case ClassificationCompleted():
                self._add(builder.classification(composer.classification(event)), work)
            case RunEnded() if self._tree is not None:
                self._end(builder.result(composer.result(event.result, self._tree, self._omitted)), work)

    def _add(self, text: str, work: Work[Builder]) -> None:
        """Append a section as a whole, or leave it out where the room is needed for the result."""
        room = self._room()
        if room is not None and len(text) > room - len(_CUT):
            self._omitted += 1
            return
        self._append(text, work)
        self._written += len(text)

    def _end(self, text: str, work: Work[Builder]) -> None:
        room = self._room()
        if room is not None and len(text) > room:
            text = (text[: max(0, room - len(_CUT))] + _CUT)[:room]
        self._append(text, work)
        self._complete(work)
        self._has_result = bool(text)

    def _room(self) -> int | None:
        most = self._options.policy.total_characters
        return None if most is None else most - self._written


def _made(thing: _T | None) -> _T:
    """What a builder or factory made; the types say it is something, a host's code may not keep to them."""
    if thing is None:
        raise TypeError("nothing was made")
    return thing


_CUT: Final = "[decision result omitted due to total transcript limit]"
