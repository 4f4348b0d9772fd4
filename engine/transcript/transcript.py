"""The transcript of a run: an observer that redacts, limits, builds and persists what happens.

Trouble with it shows in its status and in a log line without content; it never changes the run.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar

from engine.budget import Clock
from engine.events import (
    ActionCompleted,
    AttemptCompleted,
    ClassificationCompleted,
    Event,
    RunEnded,
    RunResult,
    RunStarted,
)
from engine.transcript.builder import Builder, MarkdownBuilder
from engine.transcript.composer import Composer, TranscriptPolicy
from engine.transcript.redaction import Redactor, Screen, shipped_redactor
from engine.transcript.sinks import FileSink, TranscriptSink, file_name
from engine.tree import Tree

log = logging.getLogger(__name__)

_T = TypeVar("_T")

TranscriptStatus: TypeAlias = Literal["Completed", "Unavailable", "RedactorUnavailable", "FinalizationFailed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptOptions:
    """Whether and how runs leave transcripts; without a directory they leave none.

    The directory must be absolute. In debug mode nothing is redacted; otherwise there is no transcript
    without a redactor. Builder and sink are made once a run; the sink is given the path it stands for.
    """

    directory: Path | None
    debug: bool = False
    redactor: Redactor | None = shipped_redactor
    policy: TranscriptPolicy = field(default_factory=TranscriptPolicy)
    builder: Callable[[], Builder] = MarkdownBuilder
    sink: Callable[[Path], TranscriptSink] = FileSink


def open_transcript(options: TranscriptOptions, tree_id: str, clock: Clock) -> "RunTranscript":
    """The transcript of one run of this tree. Nothing is written before the run begins."""
    return RunTranscript(options, f"Decision tree: {tree_id}", clock)


@dataclass(frozen=True, slots=True)
class _Work:
    """What a transcript needs while it is written."""

    composer: Composer
    builder: Builder
    sink: TranscriptSink
    tree: Tree


class RunTranscript:
    """Observes one run and writes its transcript; made by :func:`open_transcript`."""

    def __init__(self, options: TranscriptOptions, goal: str, clock: Clock) -> None:
        self._options, self._goal, self._clock = options, goal, clock
        self._work: _Work | None = None
        self._status: TranscriptStatus | None = None
        self._path: Path | None = None
        self._has_result = False
        self._written = self._omitted = 0

    @property
    def status(self) -> TranscriptStatus | None:
        """What became of it; None while it is written, and where none was asked for."""
        return self._status

    @property
    def path(self) -> Path | None:
        """Where it is, once completed."""
        return self._path

    @property
    def has_result(self) -> bool:
        """Whether the builder gave a text for how the run ended, and it was written."""
        return self._has_result

    def __call__(self, event: Event) -> None:
        """Write what this event shows."""
        if isinstance(event, RunStarted):
            self._begin(event)
        if self._work is not None:
            try:
                self._write(event, self._work)
            except Exception as error:  # noqa: BLE001 - a transcript never disturbs its run
                self._fail(error, self._work)

    def _begin(self, event: RunStarted) -> None:
        options = self._options
        if options.directory is None:
            return
        if options.redactor is None and not options.debug:
            self._give_up("RedactorUnavailable", "no redactor")
            return
        try:
            self._work = self._opened(options.directory, event.tree)
        except Exception as error:  # noqa: BLE001
            self._give_up("Unavailable", type(error).__name__)

    def _opened(self, directory: Path, tree: Tree) -> _Work:
        if not directory.is_absolute():
            raise ValueError("relative directory")
        options = self._options
        screen = Screen(None if options.debug else options.redactor, self._clock)
        name = file_name(self._clock.now().astimezone(), screen.plain(self._goal))
        composer = Composer(options.policy, screen)
        return _Work(composer, _made(options.builder()), _made(options.sink(directory / name)), tree)

    def _write(self, event: Event, work: _Work) -> None:
        composer, builder = work.composer, work.builder
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
            case RunEnded():
                self._end(event.result, work)

    def _add(self, text: str, work: _Work) -> None:
        """Append a section as a whole, or leave it out where the room is needed for the result."""
        room = self._room()
        if room is not None and len(text) > room - len(_CUT):
            self._omitted += 1
            return
        self._append(text, work)
        self._written += len(text)

    def _end(self, result: RunResult, work: _Work) -> None:
        text = work.builder.result(work.composer.result(result, work.tree, self._omitted))
        room = self._room()
        if room is not None and len(text) > room:
            text = (text[: max(0, room - len(_CUT))] + _CUT)[:room]
        self._append(text, work)
        work.sink.complete()
        path = work.sink.path
        work.sink.close()
        self._work = None
        self._path, self._status, self._has_result = path, "Completed", bool(text)

    def _append(self, text: str, work: _Work) -> None:
        if _made(text):
            work.sink.append(text)

    def _room(self) -> int | None:
        most = self._options.policy.total_characters
        return None if most is None else most - self._written

    def _fail(self, error: Exception, work: _Work) -> None:
        self._work = None
        with suppress(Exception):
            work.sink.close()
        self._give_up("FinalizationFailed", type(error).__name__)

    def _give_up(self, status: TranscriptStatus, why: str) -> None:
        self._status = status
        log.warning("The run goes on without a transcript: %s (%s).", status, why)


def _made(thing: _T | None) -> _T:
    """What a builder or factory made; the types say it is something, a host's code may not keep to them."""
    if thing is None:
        raise TypeError("nothing was made")
    return thing


_CUT: Final = "[decision result omitted due to total transcript limit]"
