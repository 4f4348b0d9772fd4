"""Planners that ask the run's model for the steps to a goal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.agent.definition import AgentContext, PlannedStep
from engine.deciders.parser import unfenced
from engine.errors import DocumentRefused, LlmError
from engine.jsontext import parse
from engine.llm import Message
from engine.tree import Json

_POLICY: Final = "You split goals into short plans. You answer with one JSON array and nothing else."


@dataclass(frozen=True, slots=True)
class DefaultPlanner:
    """Asks for the steps as texts. Without a usable answer the plan is empty."""

    name: str = "default"

    async def plan(self, context: AgentContext) -> Sequence[PlannedStep]:
        words = "Split this goal into a few steps, in order. Answer with a JSON array of texts."
        texts = [step for step in await _asked(context, words) if isinstance(step, str)]
        return [PlannedStep(f"step-{number}", description=text) for number, text in enumerate(texts, 1)]


@dataclass(frozen=True, slots=True)
class SequentialPlanner:
    """Asks for the steps as objects that may name a tool. Without a usable answer the plan is empty."""

    name: str = "sequential"

    async def plan(self, context: AgentContext) -> Sequence[PlannedStep]:
        words = (
            "Split this goal into a few steps, in order. Answer with a JSON array of objects with the texts "
            '"name", "type" ("tool" or "action"), "description" and, for a tool, "tool".'
        )
        steps = [step for step in await _asked(context, words) if isinstance(step, dict)]
        return [_step(number, step) for number, step in enumerate(steps, 1)]


def _step(number: int, step: Mapping[str, Json]) -> PlannedStep:
    tool = step.get("tool")
    described = step.get("description")
    return PlannedStep(
        str(step.get("name") or f"step-{number}"),
        "tool" if step.get("type") == "tool" else "action",
        described if isinstance(described, str) else None,
        {"tool": tool} if isinstance(tool, str) and tool else {},
    )


async def _asked(context: AgentContext, words: str) -> Sequence[Json]:
    messages = (Message("system", _POLICY), Message("user", f"{words}\n\nGoal: {context.request.goal}"))
    try:
        reply = await context.ask(messages)
        plan = parse(unfenced(reply.content or "").encode(errors="replace"))
    except (LlmError, DocumentRefused):
        return ()
    return plan if isinstance(plan, list) else ()
