"""The lines people read while an agent works. They are a format: other programs look for them."""

import json
import re
from collections.abc import Mapping
from typing import Final

from engine.errors import DocumentRefused
from engine.jsontext import parse
from engine.tools import ToolResult
from engine.tree import Json

FINAL: Final = "LLM returned final response."

_LONGEST_CONTENT: Final = 500
_LONGEST_ARGUMENT: Final = 200
_LONGEST_SUMMARY: Final = 100
_PREFERRED: Final = ("url", "uri", "query", "path")
_LINE_BREAK: Final = re.compile(r"[\r\n]")


def content(text: str | None) -> str | None:
    """What a model said beside its calls; of a JSON object with a text ``reasoning``, only that."""
    reasoning = _reasoning(text)
    said = (text or "" if reasoning is None else reasoning).strip()
    if not said:
        return None
    return f"  {said if len(said) <= _LONGEST_CONTENT else said[:_LONGEST_CONTENT] + '...'}"


def decision(model: str | None, tool: str, arguments: Mapping[str, Json]) -> str:
    """The tool a model chose, with the argument that says most."""
    label = (model or "").strip() or "LLM"
    return f"  [{label}] Decision: {tool} — {_key_argument(arguments)}"


def calling(tool: str, arguments: Mapping[str, Json]) -> str:
    """A tool is used."""
    return f"Calling tool {tool}({json.dumps(arguments, ensure_ascii=False, separators=(',', ':'))})"


def came_back(tool: str, result: ToolResult, *, cached: bool) -> str:
    """What came of it, by its first line."""
    if result.error is not None:
        return f"  {tool} {'reused cached failure' if cached else 'failed'}: {result.error}"
    return f"  {tool} {'reused cached result' if cached else 'succeeded'}{_summary(result.output)}"


def nothing_said(turn: int) -> str:
    """A turn that led nowhere."""
    return f"Turn {turn} produced no content and no tool calls."


def exhausted(turns: int) -> str:
    """No turn is left."""
    return f"Exhausted {turns} turns without a final response."


def failed(message: str, turn: int, *, timed_out: bool) -> str:
    """No model could be asked."""
    return f"{message} on turn {turn}" if timed_out else f"LLM error on turn {turn}: {message}"


def switched(source: str, target: str, *, timed_out: bool) -> str:
    """The next model goes on."""
    verb = "timed out" if timed_out else "failed"
    return f"Model '{source}' {verb}; switching to '{target}' (conversation continues)"


def planned(steps: int) -> str:
    """A plan was made."""
    return f"Planner produced {steps} step(s)."


def unplanned(error: Exception) -> str:
    """No plan was made."""
    return f"Planner failed: {error}"


def rejected(gate: str, reason: str) -> str:
    """A gate did not let the result pass."""
    return f"Quality gate {gate} rejected result: {reason}"


def retrying(number: int, most: int) -> str:
    """Another round begins."""
    return f"Retrying after quality feedback ({number}/{most})."


def invalid(validator: str, error: str | None) -> str:
    """A validator does not accept the result."""
    return f"Validator {validator} failed: {error}"


def invalid_input(validator: str, error: str | None) -> str:
    """A validator does not accept the request."""
    return f"Input validation failed ({validator}): {error}"


def blocked(policy: str, reason: str) -> str:
    """A policy does not accept the request."""
    return f"Blocked by policy {policy}: {reason}"


def _reasoning(text: str | None) -> str | None:
    try:
        said = parse((text or "").encode(errors="replace"))
    except DocumentRefused:
        return None
    reasoning = said.get("reasoning") if isinstance(said, dict) else None
    return reasoning if isinstance(reasoning, str) else None


def _key_argument(arguments: Mapping[str, Json]) -> str:
    for name in (*_PREFERRED, *sorted(arguments)):
        value = arguments.get(name)
        if isinstance(value, str | int | float):
            text = value if isinstance(value, str) else json.dumps(value)
            text = _LINE_BREAK.sub(" ", text).strip().replace("\\", "\\\\").replace('"', '\\"')
            return f'"{_cut(text, _LONGEST_ARGUMENT)}"'
    return "(no scalar argument)"


def _summary(output: str | None) -> str:
    if not output or not output.strip():
        return ""
    first = _LINE_BREAK.split(output, maxsplit=1)[0].strip()
    return f": {_cut(first, _LONGEST_SUMMARY)}" if first else ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
