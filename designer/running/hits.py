"""Which breakpoints a run hits where it stands, and what they have it do."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from designer.document.breakpoints import Breakpoint, Spot
from designer.document.names import one_line
from engine import Expression, ExpressionError, NodeId, Trail, Undefined
from engine.evaluate import names_of

_NAMED: Final = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Hit:
    """A breakpoint that counts here; ``number`` is which hit of the run this is, the first being 1.

    ``line`` is what a log point writes. ``trouble`` says why the condition could not be told.
    """

    breakpoint: Breakpoint
    number: int = 0
    line: str | None = None
    trouble: str | None = None

    @property
    def pauses(self) -> bool:
        """Whether the run shall pause: not for a log point, but for any whose condition is of no use."""
        return self.line is None


class Hits:
    """Counts the hits of one run. Tell it of every place where the run stands, each once and in order."""

    def __init__(self) -> None:
        self._numbers: Counter[Spot] = Counter()

    def at(self, node: NodeId, trail: Trail, breakpoints: Iterable[Breakpoint]) -> tuple[Hit, ...]:
        """What is hit by a run that has left this trail and is about to visit the node."""
        spots: set[Spot] = {(node, None)}
        if trail.path:
            spots.add((trail.path[-1].node, trail.path[-1].branch))
        met = [one for one in breakpoints if one.enabled and one.spot in spots]
        return tuple(self._hits(met, names_of(trail))) if met else ()

    def _hits(self, met: Iterable[Breakpoint], names: Mapping[str, object]) -> Iterator[Hit]:
        for one in met:
            trouble, holds = _told(one.condition, names)
            if trouble is not None:
                yield Hit(one, trouble=trouble)
            elif holds:
                self._numbers[one.spot] += 1
                number = self._numbers[one.spot]
                if one.hits in (0, number):
                    yield Hit(one, number, _filled(one.message, names) if one.message else None)


def fault_of_condition(text: str) -> str | None:
    """Why this cannot be the condition of a breakpoint, and where; blank is none."""
    return _fault(text) if text.strip() else None


def fault_of_message(text: str) -> str | None:
    """Why a log point cannot write this, and where; a name that is not known then is no fault of it."""
    return next(filter(None, map(_fault, _NAMED.findall(text))), None)


def _fault(text: str) -> str | None:
    try:
        Expression.parse(text)
    except ExpressionError as error:
        place = one_line(text[error.column - 1 :], 30)
        return f"At '{place}': {error.reason}" if place else error.reason
    return None


def _told(condition: str, names: Mapping[str, object]) -> tuple[str | None, bool]:
    """Why the condition cannot be told, or else whether it holds; no condition always holds."""
    if not condition.strip():
        return None, True
    try:
        found = Expression.parse(condition).holds(names)
    except ExpressionError as error:
        return str(error), False
    return (found.reason, False) if isinstance(found, Undefined) else (None, found)


def _filled(message: str, names: Mapping[str, object]) -> str:
    """The message, each ``{expression}`` replaced by its value, or by why there is none."""

    def value(match: re.Match[str]) -> str:
        try:
            found = Expression.parse(match[1]).evaluate(names)
        except ExpressionError as error:
            return f"({error})"
        return f"({found.reason})" if isinstance(found, Undefined) else str(found)

    return _NAMED.sub(value, message)
