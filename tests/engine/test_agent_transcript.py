"""Transcripts of agents: rows X18 and X20, statuses, names, and what they show and hide."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.agent import (
    AgentResult,
    AgentRunStarted,
    GateResult,
    IdempotentToolExecutor,
    MarkdownAgentBuilder,
    PolicyResult,
    ToolResult,
    Validation,
)
from engine.errors import LlmError
from engine.transcript import TranscriptOptions, list_transcripts
from tests.engine.agents import DONE, Remembers, agent, calls, ended, request, start

pytestmark = pytest.mark.anyio

SECRET = "customer-4711"


def mask(text: str) -> str:
    return text.replace(SECRET, "[REDACTED]")


def kept(folder: Path, **more: Any) -> TranscriptOptions:
    return TranscriptOptions(directory=folder, redactor=mask, **more)


async def written(folder: Path, replies: Any = (DONE,), asked: Any = None, **parts: Any) -> str:
    """The transcript of a run."""
    made = agent(replies, transcript=parts.pop("transcript", kept(folder)), **parts)
    result = await ended(made, asked)
    assert result.metadata["markdown_transcript_status"] == "Completed"
    path = Path(str(result.metadata["markdown_transcript_path"]))
    assert path.parent == folder
    return text_of(result)


def text_of(result: AgentResult) -> str:
    """What its transcript says."""
    return Path(str(result.metadata["markdown_transcript_path"])).read_text(encoding="utf-8")


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ .*$", text, re.MULTILINE)


class Says:
    """A part of any stage that says this."""

    def __init__(self, name: str, *said: Any) -> None:
        self.name, self._said = name, list(said)

    async def _say(self, *_: Any) -> Any:
        return self._said.pop(0) if len(self._said) > 1 else self._said[0]

    evaluate = validate = transform = _say


async def test_a_transcript_shows_request_turns_tools_and_answer(tmp_path):
    made = agent(
        [calls(("fetch", {"url": "u"}), content="Let me see."), DONE],
        tools=(Remembers("fetch", "## Plans\nFree"),),
        settings={"model": "small"},
        transcript=kept(tmp_path),
        new_id=lambda: "run-1",
    )
    run, _ = start(made)
    await run.finish()
    assert (run.transcript.status, run.transcript.path) == (
        "Completed",
        tmp_path / run.transcript.path.name,  # type: ignore[union-attr]
    )
    text = run.transcript.path.read_text()  # type: ignore[union-attr]
    assert text == EXPECTED


EXPECTED = """\
# Agent task

**Execution ID:** `run-1`  
**Started:** `2026-11-30T09:00:00.000000+00:00`  
**Debug mode:** `False`  

## Request

```
Research provider pricing
```

## Turn 1

**Quality attempt:** `1`  
**Failover attempt:** `1`  
**Model:** `small`  

### Model content

```
Let me see.
```

### Model decision

**Model:** `small`  
**Tool:** `fetch`  

**Call ID:**

```
call_0
```

**Arguments:**

```json
{"url":"u"}
```

### Tool result: `fetch`

**Status:** `Succeeded`  

**Call ID:**

```
call_0
```

**Output:**

```
## Plans
Free
```

## Turn 2

**Quality attempt:** `1`  
**Failover attempt:** `1`  
**Model:** `small`  

### Model content

```
It is 5 EUR.
```

## Final response

**Status:** `Completed`  

```
It is 5 EUR.
```
"""  # noqa: W291 - two spaces end a line


async def test_a_transcript_is_named_by_time_and_goal_and_a_second_one_gets_a_number(tmp_path):
    made = agent([DONE] * 2, transcript=kept(tmp_path))
    for _ in range(2):
        await ended(made, request(f"Ask  {SECRET}: pricing/plans?"))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name[15:] for name in names] == [
        "-Ask-REDACTED-pricing-plans-2.md",
        "-Ask-REDACTED-pricing-plans.md",
    ]


async def test_texts_are_redacted_and_debug_shows_them(tmp_path):
    replies = [
        calls(("fetch", {"api_key": "k", "who": SECRET}), content=SECRET),
        f"Answer for {SECRET}",
    ]
    tools = (Remembers("fetch", ToolResult(error=f"no {SECRET}")),)
    text = await written(tmp_path, replies, request(f"Ask {SECRET}"), tools=tools)
    assert SECRET not in text
    assert '{"api_key":"[REDACTED]","who":"[REDACTED]"}' in text
    debug = kept(tmp_path, debug=True)
    shown = await written(tmp_path, replies, request(f"Ask {SECRET}"), tools=tools, transcript=debug)
    assert shown.count(SECRET) == 6
    assert "**Debug mode:** `True`" in shown


async def test_x18_a_run_cancelled_while_it_begins_leaves_a_whole_transcript(tmp_path):
    run, _ = start(agent(transcript=kept(tmp_path)))
    run.observe(lambda event: run.cancel() if isinstance(event, AgentRunStarted) else None)
    result = await run.finish()
    assert result.metadata["markdown_transcript_status"] == "Completed"
    text = text_of(result)
    assert headings(text)[-2:] == ["### Execution status: `Cancelled`", "## Final response"]
    assert "**Status:** `Cancelled`" in text


async def test_x20_debug_shows_the_system_prompt_once_and_never_among_the_parameters(tmp_path):
    text = await written(
        tmp_path,
        ["short", DONE],
        request(parameters={"system_prompt": "Be exact.", "max_turns": 4}),
        transcript=kept(tmp_path, debug=True),
        gates=(Says("length", GateResult(approved=False, retry=True, reason="too short"), GateResult()),),
        tools=(Remembers("echo"),),
        trace_id="trace-1",
        correlation_id="request-1",
    )
    assert text.count("Be exact.") == 1
    before, first, second = text.split("## Debug runtime")
    assert "Be exact." in first
    assert "max_turns: 4" in before
    assert "**Quality feedback:**\n\n```\n(none)" in first
    assert "**Quality feedback:**\n\n```\ntoo short" in second
    for line in (
        "**Model:** `unknown`",
        "**Trace ID:** `trace-1`",
        "**Correlation ID:** `request-1`",
        "**Available tools:** `echo`",
        "**Turn count:** `0`",
        "**Max turns:** `4`",
        "**Temperature:** `0.1`",
        "**Completion timeout seconds:** `60.0`",
        "**Idle timeout seconds:** `30.0`",
    ):
        assert line in first
    assert "**Quality retry count:** `1`" in second
    assert "### Quality retry 1\n\n```\nRetrying after quality feedback (1/1).\n```" in text
    assert "### Execution status: `Quality gate rejected: length`\n\n```\ntoo short" in text
    assert "**Quality attempt:** `2`" in text


async def test_the_same_file_is_gone_on_with_over_rounds(tmp_path):
    gates = (Says("g", GateResult(approved=False, retry=True), GateResult()),)
    text = await written(tmp_path, ["a", "b"], gates=gates)
    assert len(list(tmp_path.iterdir())) == 1
    assert headings(text).count("## Turn 1") == 2


@pytest.mark.parametrize(
    ("parts", "status", "final"),
    [
        ({"replies": ["", ""], "settings": {"max_turns": 2}}, "TurnLimitExceeded", "TurnLimitExceeded"),
        ({"replies": [LlmError("late", kind="timeout", transient=True)]}, "LLM timeout", "Failed"),
        ({"replies": [RuntimeError("odd")]}, "LLM failure", "Failed"),
        (
            {"input_validators": (Says("i", Validation(is_valid=False, error="no")),)},
            "Input validation failed",
            "Blocked",
        ),
        (
            {"policies": (Says("danger", PolicyResult(applied=True, recommendation="block")),)},
            "Blocked by policy danger",
            "Blocked",
        ),
        (
            {"gates": (Says("g", GateResult(approved=False, reason="no")),)},
            "Quality gate rejected: g",
            "Failed",
        ),
        (
            {"validators": (Says("v", Validation(is_valid=False, error="no JSON")),)},
            "Validator v failed: no JSON",
            "Failed",
        ),
        ({"settings": {"max_llm_calls": 0}}, "CallLimitExceeded", "Failed"),
        ({"gates": (Says("broken"),)}, "Failed", "Failed"),
    ],
)
async def test_every_end_has_its_status(parts, status, final, tmp_path):
    text = await written(tmp_path, **parts)
    assert f"### Execution status: `{status}`" in text
    assert f"## Final response\n\n**Status:** `{final}`" in text


async def test_a_failure_shows_its_reason_and_nothing_at_all_is_said_to_be_so(tmp_path):
    text = await written(tmp_path, [""], settings={"max_turns": 1})
    assert text.endswith("```\nExhausted 1 turns without a final response.\n```\n")
    silent = (Says("t", AgentResult(success=True)),)
    assert (await written(tmp_path, transformers=silent)).endswith("```\n(no response)\n```\n")


async def test_tool_results_say_how_they_came_about(tmp_path):
    fetch = Remembers("fetch", "same", "other")
    fails = Remembers("fails", ToolResult(error="gone"))
    text = await written(
        tmp_path,
        [calls("fetch", "fetch", "fails", "nothing"), DONE],
        tools=(fetch, fails),
        executor=IdempotentToolExecutor(),
    )
    statuses = re.findall(r"### Tool result: `(\w+)`\n\n\*\*Status:\*\* `(\w+)`", text)
    assert statuses == [
        ("fetch", "Succeeded"),
        ("fetch", "Cached"),
        ("fails", "Failed"),
        ("nothing", "Failed"),
    ]
    assert "Tool 'nothing' is not registered." in text


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"a": 1}', '```json\n{"a":1}\n```'),
        ("[1]", "```json\n[NON_OBJECT_ARGUMENTS]\n[1]\n```"),
        ("{{{", "```json\n[UNPARSEABLE_ARGUMENTS]\n{{{\n```"),
    ],
)
async def test_arguments_that_are_no_object_are_marked(arguments, shown, tmp_path):
    assert shown in await written(tmp_path, [calls(("t", arguments)), DONE], tools=(Remembers("t"),))


# ------------------------------------------------------------------------------------------ where and whether


async def test_a_request_asks_for_a_transcript(tmp_path):
    parameters = {"markdown_transcript_directory": str(tmp_path), "markdown_transcript_debug": True}
    result = await ended(agent(), request(parameters=parameters))
    assert "**Debug mode:** `True`" in text_of(result)


async def test_without_a_directory_there_is_no_status():
    result = await ended(agent())
    assert result.metadata == {}


@pytest.mark.parametrize("directory", ["", "relative/folder", 7, ["a"]])
async def test_a_directory_that_is_none_is_unavailable_and_the_run_goes_on(directory):
    parameters = {"markdown_transcript_directory": directory}
    result = await ended(agent(), request(parameters=parameters))
    assert result.success
    assert result.metadata == {"markdown_transcript_status": "Unavailable"}


async def test_without_a_redactor_there_is_no_transcript(tmp_path):
    options = TranscriptOptions(directory=tmp_path / "new", redactor=None)
    result = await ended(agent(transcript=options))
    assert result.metadata == {"markdown_transcript_status": "RedactorUnavailable"}
    assert not (tmp_path / "new").exists()


async def test_trouble_on_the_way_is_told_and_changes_nothing(tmp_path):
    class Breaks(MarkdownAgentBuilder):
        def turn(self, section):
            raise RuntimeError

    result = await ended(agent(transcript=replace(kept(tmp_path), agent_builder=Breaks)))
    assert result.success
    assert result.metadata == {"markdown_transcript_status": "FinalizationFailed"}


@pytest.mark.parametrize("section", ["content", "turn", "final", "header"])
async def test_an_own_builder_writes_sections_its_own_way(section, tmp_path):
    builder = type("Own", (MarkdownAgentBuilder,), {section: lambda *_: "\nOWN\n"})
    assert "\nOWN\n" in await written(tmp_path, transcript=kept(tmp_path, agent_builder=builder))


async def test_the_list_of_transcripts_tells_how_an_agent_ended(tmp_path):
    await written(tmp_path)
    (info,) = list_transcripts(tmp_path)
    assert (info.tree_id, info.outcome) == (None, "Completed")
