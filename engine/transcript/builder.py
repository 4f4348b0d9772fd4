"""How a transcript reads: a builder gives the text of each section, by default as Markdown."""

import re
from typing import Final, Protocol

from engine.transcript import sections
from engine.transcript.sections import (
    Action,
    Attempt,
    Classification,
    DebugRequest,
    DebugRuntime,
    Header,
    Overview,
    PathStep,
    Result,
    Status,
    ToolAnswer,
    ToolDecision,
    Turn,
)


class Builder(Protocol):
    """Writes one transcript, section by section. An empty text leaves a section out."""

    def header(self, section: Header) -> str:
        """What opens the transcript."""
        ...

    def debug_request(self, section: DebugRequest) -> str:
        """The parameters of the run, in debug mode."""
        ...

    def overview(self, section: Overview) -> str:
        """The tree."""
        ...

    def action(self, section: Action) -> str:
        """An action that came back."""
        ...

    def attempt(self, section: Attempt) -> str:
        """A question put once."""
        ...

    def classification(self, section: Classification) -> str:
        """A question that was decided."""
        ...

    def result(self, section: Result) -> str:
        """What closes the transcript."""
        ...


class AgentBuilder(Protocol):
    """Writes one transcript of an agent, section by section. An empty text leaves a section out."""

    def header(self, section: Header) -> str:
        """What opens the transcript."""
        ...

    def debug_request(self, section: DebugRequest) -> str:
        """The parameters of the request, in debug mode."""
        ...

    def debug_runtime(self, section: DebugRuntime) -> str:
        """What the agent is set to, in debug mode."""
        ...

    def turn(self, section: Turn) -> str:
        """A model that is asked."""
        ...

    def content(self, text: str) -> str:
        """What it said."""
        ...

    def decision(self, section: ToolDecision) -> str:
        """A tool it asked for."""
        ...

    def answer(self, section: ToolAnswer) -> str:
        """What came of that."""
        ...

    def retry(self, number: int, reason: str) -> str:
        """Another round, and what is said of the last."""
        ...

    def status(self, section: Status) -> str:
        """Something that ended the agent, or a round."""
        ...

    def final(self, section: sections.Final) -> str:
        """What closes the transcript."""
        ...


class MarkdownBuilder:
    """Markdown. Texts of a run stand in code spans and fences that they cannot close."""

    def header(self, section: Header) -> str:
        return (
            "# Agent task\n\n"
            + _line("Execution ID", section.execution_id)
            + _line("Started", section.started.isoformat(timespec="microseconds"))
            + _line("Debug mode", str(section.debug))
            + "\n## Request\n\n"
            + fenced(section.goal)
        )

    def debug_request(self, section: DebugRequest) -> str:
        lines = "\n".join(f"{name}: {value}" for name, value in section.parameters)
        return "\n## Debug request parameters\n\n" + fenced(lines)

    def overview(self, section: Overview) -> str:
        return (
            "\n## Decision task\n\n"
            + _line("Tree", section.tree_id)
            + _line("Version", str(section.version))
            + _line("Start node", section.start_node)
            + _block("Task", section.task or "(task not supplied)")
            + "\n---\n"
        )

    def action(self, section: Action) -> str:
        return (
            f"\n### Decision action: {_code(section.name)}\n\n"
            + _line("Node", section.node)
            + _line("Status", _capital(section.status) + (" (pinned)" if section.pinned else ""))
            + _block("Outcome", section.summary)
            + _block("Error", section.error)
            + _block("Produced evidence/data", section.produced)
        )

    def attempt(self, section: Attempt) -> str:
        messages = "".join(
            f"\n#### Message {number}: {_code(message.role)}\n\n" + fenced(message.content or "(empty)")
            for number, message in enumerate(section.messages, 1)
        )
        counts = {
            "Prompt tokens": section.input_tokens,
            "Completion tokens": section.output_tokens,
            "Total tokens": None
            if section.input_tokens is None or section.output_tokens is None
            else section.input_tokens + section.output_tokens,
            "Messages that did not fit": section.dropped_messages or None,
        }
        response = section.response if section.response and section.response.strip() else "(empty)"
        return (
            f"\n### Decision LLM attempt {section.number}\n\n"
            + _line("Node", section.node)
            + (f"\n**Input messages:**\n{messages}" if messages else "")
            + _block("Raw LLM output", response, "json")
            + _block("Not usable", section.rejected)
            + "\n"
            + _line("Finish reason", section.finish_reason)
            + _line("Model", section.model)
            + "".join(_line(name, str(count)) for name, count in counts.items() if count is not None)
        )

    def classification(self, section: Classification) -> str:
        return (
            "\n### Parsed classification\n\n"
            + _line("Node", section.node)
            + _line("Answer", section.answer)
            + _line("Attempt", str(section.attempt))
            + _line("Decision ID", section.decision_id)
            + _block("Observation", section.observation)
            + _block("Confidence", section.confidence)
        )

    def result(self, section: Result) -> str:
        properties = "".join(_property(name, value) for name, value in section.properties)
        path = "".join(f"{number}. {_step(step)}\n" for number, step in enumerate(section.path, 1))
        omitted = _line("Decision transcript sections omitted", str(section.omitted_sections))
        return (
            "\n## Decision result\n\n"
            + _line("Outcome", section.outcome)
            + _line("Succeeded", str(section.succeeded))
            + _block("Verdict", section.verdict)
            + _block("Error", section.error)
            + (f"\n### State properties\n\n{properties}" if properties else "")
            + "\n### Selected path\n\n"
            + (path or "(no node was visited)\n")
            + (f"\n{omitted}" if section.omitted_sections else "")
            + "\n### Decision budget\n\n"
            + _line("Node visits", str(section.node_visits))
            + _line("LLM calls", str(section.llm_calls))
            + _line("Input tokens", str(section.input_tokens))
            + _line("Output tokens", str(section.output_tokens))
            + _line("Total tokens", str(section.input_tokens + section.output_tokens))
            + _line("Duration", f"{section.milliseconds} ms")
        )


class MarkdownAgentBuilder(MarkdownBuilder):
    """Markdown, for agents."""

    def debug_runtime(self, section: DebugRuntime) -> str:
        return (
            "\n## Debug runtime\n"
            + _block("System prompt", section.system_prompt)
            + _block("Quality feedback", section.quality_feedback or "(none)")
            + "\n"
            + "".join(_line(name, value) for name, value in section.settings)
        )

    def turn(self, section: Turn) -> str:
        return (
            f"\n## Turn {section.number}\n\n"
            + _line("Quality attempt", str(section.quality_attempt))
            + _line("Failover attempt", str(section.failover_attempt))
            + _line("Model", section.model or "unknown")
        )

    def content(self, text: str) -> str:
        return "\n### Model content\n\n" + fenced(text)

    def decision(self, section: ToolDecision) -> str:
        return (
            "\n### Model decision\n\n"
            + _line("Model", section.model or "unknown")
            + _line("Tool", section.tool)
            + _block("Call ID", section.call_id or None)
            + _block("Arguments", section.arguments, "json")
        )

    def answer(self, section: ToolAnswer) -> str:
        return (
            f"\n### Tool result: {_code(section.tool)}\n\n"
            + _line("Status", section.status)
            + _block("Call ID", section.call_id or None)
            + _block("Error", section.error)
            + _block("Output", section.output)
        )

    def retry(self, number: int, reason: str) -> str:
        return f"\n### Quality retry {number}\n\n" + fenced(reason)

    def status(self, section: Status) -> str:
        detail = "" if section.detail is None else "\n" + fenced(section.detail)
        return f"\n### Execution status: {_code(section.name)}\n{detail}"

    def final(self, section: sections.Final) -> str:
        return (
            "\n## Final response\n\n"
            + _line("Status", section.status)
            + "\n"
            + fenced(section.text or "(no response)")
        )


class TranscriptDecorator:
    """Passes every section on to another builder; override the sections that shall read otherwise."""

    def __init__(self, inner: Builder | None = None) -> None:
        self.inner: Builder = inner or MarkdownBuilder()

    def header(self, section: Header) -> str:
        return self.inner.header(section)

    def debug_request(self, section: DebugRequest) -> str:
        return self.inner.debug_request(section)

    def overview(self, section: Overview) -> str:
        return self.inner.overview(section)

    def action(self, section: Action) -> str:
        return self.inner.action(section)

    def attempt(self, section: Attempt) -> str:
        return self.inner.attempt(section)

    def classification(self, section: Classification) -> str:
        return self.inner.classification(section)

    def result(self, section: Result) -> str:
        return self.inner.result(section)


_TICKS: Final = re.compile("`+")
_BREAKS: Final = re.compile(r"[\r\n]+")
_MARKED: Final = re.compile(r"[\\`*_!<]")


def fenced(text: str, language: str = "") -> str:
    """A code block around a text, with a fence longer than any in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


def _longest_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _code(text: str) -> str:
    """A code span on one line."""
    text = _BREAKS.sub(" ", text)
    ticks = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _line(label: str, value: str | None) -> str:
    return f"**{label}:** {_code(value)}  \n" if value else ""


def _block(label: str, text: str | None, language: str = "") -> str:
    return "" if text is None else f"\n**{label}:**\n\n{fenced(text, language)}"


def _property(name: str, value: str) -> str:
    label = _MARKED.sub(lambda mark: "\\" + mark[0], name).replace("\r", "\\r").replace("\n", "\\n")
    return _block(label, value) + "\n" if _BREAKS.search(value) or "`" in value else _line(label, value)


def _step(step: PathStep) -> str:
    test = ""
    if step.predicate is not None:
        test = f" [Predicate: {_code(step.predicate)}; Parameters: {_code(step.parameters or '{}')}]"
    forced = ", forced" if step.forced else ""
    start = f"{_code(step.node)} ({_capital(step.type)}{test}, {step.milliseconds}ms{forced})"
    if step.type == "terminal":
        return f"{start} -- terminal"
    return f"{start} -- {_code(step.outcome or '(none)')} --> {_code(step.next or '(none)')}"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
