"""Running a case: its run is driven to the end, and what came of it is held against what was expected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.catalog import ActionResult
from engine.checks import Runnable
from engine.data import DataItem
from engine.evaluate.cases import Case, CaseData, CaseResult
from engine.events import RunResult
from engine.run import Inputs, Pins, Run
from engine.tree import Json


class Starter(Protocol):
    """Whoever can start a run: a session."""

    def start(self, tree: Runnable, inputs: Inputs) -> Run:
        """A run that has not begun."""
        ...


@dataclass(frozen=True, slots=True)
class CaseReport:
    """How a case went.

    ``expected`` and ``got`` hold the members the case names; the first difference is told in a sentence.
    """

    id: str
    passed: bool
    expected: Mapping[str, Json] = field(repr=False)
    got: Mapping[str, Json] = field(repr=False)
    first_difference: str | None = field(repr=False)
    result: RunResult = field(repr=False)


def inputs_of(case: Case, parameters: Mapping[str, str] | None = None) -> Inputs:
    """What the run of a case starts from; ``parameters`` count where the case names none."""
    return Inputs(
        parameters={**(parameters or {}), **case.params},
        properties=case.state,
        data=_items(case.data),
        pins=Pins(
            answers=case.answers,
            replies=case.replies,
            actions={node: _each(pin) for node, pin in case.actions.items()},
            conditions=case.conditions,
        ),
        budget=case.budget,
    )


async def run_case(
    session: Starter, tree: Runnable, case: Case, parameters: Mapping[str, str] | None = None
) -> CaseReport:
    """Run a case to its end and compare. A run that failed passes only where its outcome was expected."""
    result = await session.start(tree, inputs_of(case, parameters)).finish()
    expected = case.expect.model_dump(mode="json", exclude_none=True)
    got = _got(result, expected)
    difference = _difference(expected, got)
    if result.failure_kind is not None and "outcome" not in expected:
        difference = f"The run failed: {result.error}"
    return CaseReport(case.id, difference is None, expected, got, difference, result)


def _items(data: tuple[CaseData, ...]) -> tuple[DataItem, ...]:
    return tuple(DataItem(d.id, d.source, d.type, d.content, metadata=d.metadata) for d in data)


def _each(pin: CaseResult | tuple[CaseResult, ...]) -> ActionResult | tuple[ActionResult, ...]:
    return _result(pin) if isinstance(pin, CaseResult) else tuple(map(_result, pin))


def _result(pin: CaseResult) -> ActionResult:
    return ActionResult(pin.status, _items(pin.data), pin.properties, pin.summary, pin.error)


def _got(result: RunResult, expected: Mapping[str, Json]) -> dict[str, Json]:
    answers = {c.node: c.answer for c in result.classifications}
    wanted = expected.get("answers")
    got: dict[str, Json] = {
        "verdict": result.verdict,
        "outcome": result.outcome,
        "path": [visit.node for visit in result.path],
        "answers": {node: answers.get(node) for node in wanted} if isinstance(wanted, dict) else {},
    }
    return {member: got[member] for member in expected}


def _difference(expected: Json, got: Json, where: str = "") -> str | None:
    if expected == got:
        return None
    match expected, got:
        case dict(), dict():
            return next(
                found
                for name in expected
                if (found := _difference(expected[name], got.get(name), f"{where}.{name}".lstrip(".")))
            )
        case list(), list():
            longer = max(len(expected), len(got))
            here, there = (([*items, *[None] * (longer - len(items))]) for items in (expected, got))
            return next(
                found
                for position, (a, b) in enumerate(zip(here, there, strict=True))
                if (found := _difference(a, b, f"{where}[{position}]"))
            )
    return f"{where}: expected {_said(expected)}, got {_said(got)}"


def _said(value: Json) -> str:
    return "nothing" if value is None else f"'{value}'"
