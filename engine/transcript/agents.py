"""The transcript of an agent: told each step by the agent itself, as nobody else sees all of them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from engine.errors import DocumentRefused
from engine.jsontext import parse
from engine.transcript import sections
from engine.transcript.builder import AgentBuilder
from engine.transcript.composer import as_text
from engine.transcript.redaction import Screen
from engine.transcript.transcript import Transcript


class AgentTranscript(Transcript[AgentBuilder]):
    """Writes the transcript of one run of an agent. Every text is redacted first; none is cut."""

    _prompt_shown = False

    def begin(self, execution_id: str, at: datetime, parameters: Mapping[str, object]) -> None:
        """Open it, where one is asked for. The system prompt is no request parameter to show."""
        self._open(self._options.agent_builder)
        debug = self._options.debug
        self._add(
            lambda builder, screen: builder.header(
                sections.Header(execution_id, at, debug, screen(self._goal))
            )
        )
        if debug:
            pairs = sorted((k, as_text(v)) for k, v in parameters.items() if k != "system_prompt")
            self._add(lambda builder, _: builder.debug_request(sections.DebugRequest(tuple(pairs))))

    def round(self, prompt: str, feedback: str | None, settings: Mapping[str, object]) -> None:
        """A round of turns begins; only debug mode shows how."""
        if not self._options.debug:
            return
        section = sections.DebugRuntime(
            None if self._prompt_shown else prompt,
            feedback,
            tuple((name, as_text(value)) for name, value in settings.items()),
        )
        self._prompt_shown = True
        self._add(lambda builder, _: builder.debug_runtime(section))

    def turn(self, number: int, quality_attempt: int, failover_attempt: int, model: str | None) -> None:
        """A model is asked."""
        self._add(
            lambda builder, screen: builder.turn(
                sections.Turn(number, quality_attempt, failover_attempt, _maybe(model, screen))
            )
        )

    def content(self, text: str | None) -> None:
        """What a model said, if anything."""
        if text and text.strip():
            self._add(lambda builder, screen: builder.content(screen(text)))

    def decision(self, model: str | None, tool: str, call_id: str, arguments: str) -> None:
        """A tool a model asked for."""
        self._add(
            lambda builder, screen: builder.decision(
                sections.ToolDecision(
                    _maybe(model, screen),
                    screen(tool),
                    screen(call_id),
                    _mark(arguments) + screen(arguments),
                )
            )
        )

    def answer(self, tool: str, call_id: str, status: str, output: str | None, error: str | None) -> None:
        """What came of it."""
        self._add(
            lambda builder, screen: builder.answer(
                sections.ToolAnswer(
                    screen(tool),
                    screen(call_id),
                    status,
                    _maybe(output or None, screen),
                    _maybe(error or None, screen),
                )
            )
        )

    def retry(self, number: int, reason: str) -> None:
        """Another round begins."""
        self._add(lambda builder, screen: builder.retry(number, screen(reason)))

    def note(self, status: str, detail: str | None) -> None:
        """Something ended the agent, or a round of its turns."""
        self._add(
            lambda builder, screen: builder.status(sections.Status(screen(status), _maybe(detail, screen)))
        )

    def end(self, status: str, text: str | None) -> None:
        """Complete it with the output, or with why there is none."""
        self._add(lambda builder, screen: builder.final(sections.Final(status, _maybe(text, screen))))
        self._write(self._complete)

    def _add(self, section: Callable[[AgentBuilder, Screen], str]) -> None:
        self._write(lambda work: self._append(section(work.builder, work.screen), work))


def _maybe(text: str | None, screen: Screen) -> str | None:
    return None if text is None else screen(text)


def _mark(arguments: str) -> str:
    """What is said in front of arguments that are no object."""
    try:
        return "" if isinstance(parse(arguments.encode(errors="replace")), dict) else _NO_OBJECT
    except DocumentRefused:
        return _NO_JSON


_NO_OBJECT: Final = "[NON_OBJECT_ARGUMENTS]\n"
_NO_JSON: Final = "[UNPARSEABLE_ARGUMENTS]\n"
