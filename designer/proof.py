"""The proof of a budget: what runs of the current tree can cost, worked out beside the window."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from designer.document.document import Document
from designer.tasks import aside, is_running, launch
from engine import Catalog, NodeId, Tree, bounds
from engine.analysis import Bound, Bounds, Range
from engine.counting import counted

if TYPE_CHECKING:
    import asyncio

SOON_MS: Final = 150
"""How long a tree is left alone before its bounds are worked out."""
LATE_MS: Final = 1000
"""After so long the old bounds are taken away, and it is said that others are being worked out."""
WORKING: Final = "Working out what runs can cost…"
_NAMED: Final = 3
"""Terminals a sentence names before it counts the rest."""


_Subject: TypeAlias = tuple[Tree, Catalog]


class Cost(NamedTuple):
    """What it costs to go on from a node, or to come to a terminal: for its card, and in full."""

    text: str
    words: str
    beyond: bool
    """Whether no run that keeps to the budget comes there."""


class Proof(QObject):
    """Holds the bounds of the tree it follows; for a moment after an edit those of the tree before."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.bounds: Bounds | None = None
        """None while they are not known."""
        self.costs: Mapping[NodeId, Cost] = {}
        """The same, for the cards."""
        self.late = False
        """Whether they have been worked out for longer than a moment."""
        self._document: Document | None = None
        self._proven: _Subject | None = None
        self._working: asyncio.Task[None] | None = None
        self._soon = QTimer(self, interval=SOON_MS, singleShot=True)
        self._soon.timeout.connect(self._begin)
        self._late = QTimer(self, interval=LATE_MS, singleShot=True)
        self._late.timeout.connect(self._note_late)

    def follow(self, document: Document | None) -> None:
        """Prove this document's tree from now on."""
        if self._document is not None:
            self._document.changed.disconnect(self._note)
        self._document = document
        if document is not None:
            document.changed.connect(self._note)
        self._settle(None, None, {})
        self.look()

    def look(self) -> None:
        """See whether there is something to be proven anew."""
        if self._wanted is not None and not self._is_proven():
            self._soon.start()
            if not self._late.isActive():
                self._late.start()

    @property
    def _wanted(self) -> _Subject | None:
        return (self._document.draft.tree, self._document.catalog) if self._document else None

    def _is_proven(self) -> bool:
        return _same(self._proven, self._wanted)

    def _note(self, _before: object, _after: object) -> None:
        self.look()

    def _begin(self) -> None:
        if is_running() and (self._working is None or self._working.done()):
            self._working = launch(self._work())

    async def _work(self) -> None:
        """One tree after the other; what was found of one that is there no more is dropped."""
        while (wanted := self._wanted) is not None and not self._is_proven():
            found = await aside(partial(_prove, *wanted))
            if _same(wanted, self._wanted):
                self._settle(wanted, *found)

    def _settle(self, proven: _Subject | None, found: Bounds | None, costs: Mapping[NodeId, Cost]) -> None:
        self._late.stop()
        self._proven, self.bounds, self.costs, self.late = proven, found, costs, False
        self.changed.emit()

    def _note_late(self) -> None:
        self.bounds, self.costs, self.late = None, {}, True
        self.changed.emit()


def _prove(tree: Tree, catalog: Catalog) -> tuple[Bounds, Mapping[NodeId, Cost]]:
    found = bounds(tree, catalog)
    return found, _costs(found)


def _same(one: _Subject | None, other: _Subject | None) -> bool:
    """Whether these are the very same objects: to compare trees by what they hold takes long."""
    if one is None or other is None:
        return one is other
    return one[0] is other[0] and one[1] is other[1]


# -- in words ------------------------------------------------------------------------------------------


def _costs(found: Bounds) -> Mapping[NodeId, Cost]:
    """What each node costs, a terminal from the start and any other to an end."""
    ends = found.terminals
    return {node: _cost(ends.get(node, bound), terminal=node in ends) for node, bound in found.nodes.items()}


def _cost(bound: Bound, *, terminal: bool) -> Cost:
    after, calls, visits = "after " if terminal else "", bound.llm_calls, bound.visits
    full = f"{_in_full(calls, 'LLM call')} and {_in_full(visits, 'visit')}"
    words = [f"{'From the start to here' if terminal else 'From here to an end'}: {full}."]
    if _endless(bound):
        text = f"{after}{_span(calls, 'call')} · no limit but the budget"
        words.append("There is a circle on the way, and no limit but the budget.")
    else:
        text = f"{after}{_span(calls, 'call')} · {_span(visits, 'visit')}"
    if not bound.reachable_in_budget:
        text = f"out of budget · {after}{calls.min}+ calls · {visits.min}+ visits"
        words.append("No run that keeps to the budget comes here and to an end.")
    return Cost(text, " ".join(words), not bound.reachable_in_budget)


def verdict_on(found: Bounds, titles: Mapping[NodeId, str]) -> str:
    """Whether the budget is enough, what it keeps out of reach, and the smallest that reaches everything."""
    return " ".join(_sentences(found, titles))


def _sentences(found: Bounds, titles: Mapping[NodeId, str]) -> Iterator[str]:
    start, limits, smallest = found.start, found.limits, found.smallest_budget
    if start is None or smallest is None:
        yield "No way leads from the start to a terminal yet."
        return
    allowed = f"the budget allows {limits.llm_calls} and {limits.node_visits}."
    if _endless(start):
        yield f"At best {_amount(start.llm_calls.min, start.visits.min)}; {allowed}"
        yield "There is a circle, and no limit but the budget."
    else:
        yield f"At worst {_amount(start.llm_calls.max, start.visits.max)}; {allowed}"
    if most := start.llm_calls.max:
        yield f"{'Every' if most <= limits.llm_calls else 'Not every'} question can be asked twice."
    if start.visits.max is not None and start.visits.max > limits.node_visits:
        yield "The longest way is cut short."
    far = [titles.get(node, node) for node, bound in found.terminals.items() if not bound.reachable_in_budget]
    if far:
        more = f" and {len(far) - _NAMED} more" if len(far) > _NAMED else ""
        yield f"Out of reach: {', '.join(far[:_NAMED])}{more}."
    yield f"The least for every verdict is {_amount(smallest.max_llm_calls, smallest.max_node_visits)}."


def _endless(bound: Bound) -> bool:
    return bound.visits.max is None


def _span(there: Range, what: str) -> str:
    """A range in a few words."""
    if there.max is None:
        return f"{there.min:,}+ {what}s"
    if there.min != there.max:
        return f"{there.min:,}\N{EN DASH}{counted(there.max, what)}"
    return counted(there.max, what) if there.max else f"no {what}s"


def _in_full(there: Range, what: str) -> str:
    return f"{counted(there.min, what)} or more" if there.max is None else _span(there, what)


def _amount(calls: int | None, visits: int | None) -> str:
    return f"{counted(calls or 0, 'LLM call')} and {counted(visits or 0, 'visit')}"
