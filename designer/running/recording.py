"""A recording: the events of one run in order, and the trail as it was after any of them.

A *position* is a number of events: 0 is the moment before the run, and the length the newest moment. The
positions between two visits are the *steps*: step 0 stands before the first visit, step n after the n-th.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from engine import Event, NodeId, NodeStarted, NodeVisited, RunEnded, RunStarted, Trail

EVERY: Final = 64
"""Events between two kept trails: what looking back costs at most, against what a long run keeps."""


class Recording:
    """Grows while its run goes on; with ``RunEnded`` it is complete, and what comes later is ignored."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events: list[Event] = []
        self._kept = [Trail()]
        self._steps: list[int] = []
        self._visits: dict[NodeId, list[int]] = {}
        self._latest = Trail()
        self._looked_at = (0, Trail())
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Note what has happened."""
        if self.ended:
            return
        self._events.append(event)
        self._latest = self._latest.after(event)
        if len(self._events) % EVERY == 0:
            self._kept.append(self._latest)
        match event:
            case NodeStarted(node=node):
                self._visits.setdefault(node, []).append(self._steps[-1])
            case NodeVisited(visit=visit) if visit.next is None:
                pass  # the end of the run follows
            case RunStarted() | NodeVisited() | RunEnded():
                self._steps.append(len(self._events))

    def __len__(self) -> int:
        return len(self._events)

    @property
    def events(self) -> Sequence[Event]:
        """All of them so far; not to be changed."""
        return self._events

    @property
    def start(self) -> RunStarted | None:
        """The first of them: it holds the tree and all the run started from."""
        first = self._events[0] if self._events else None
        return first if isinstance(first, RunStarted) else None

    @property
    def latest(self) -> Trail:
        """The trail after all of them."""
        return self._latest

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self._latest.result is not None

    @property
    def steps(self) -> Sequence[int]:
        """The positions of the steps, in order."""
        return self._steps

    def trail(self, position: int) -> Trail:
        """The trail after so many events."""
        if position == len(self._events):
            return self._latest
        # Whoever looks at the past mostly looks at the next moment next.
        start, trail = self._looked_at
        if not position - EVERY < start <= position:
            start, trail = position - position % EVERY, self._kept[position // EVERY]
        for event in self._events[start:position]:
            trail = trail.after(event)
        self._looked_at = position, trail
        return trail

    def node_at(self, position: int) -> NodeId | None:
        """The node that is visited then, between two visits the next one; None before and after the run."""
        for index in reversed(range(position)):
            match self._events[index]:
                case NodeStarted(node=node):
                    return node
                case NodeVisited(visit=visit):
                    return visit.next or visit.node
                case RunStarted(tree=tree):
                    return tree.start_node_id
                case RunEnded():
                    return None
        return None

    def step_at(self, position: int) -> int:
        """The number of the last step that is not after this position; 0 before the first one."""
        return max(0, bisect_right(self._steps, position) - 1)

    def visits(self, node: NodeId) -> Sequence[int]:
        """The positions before each visit of a node that has begun."""
        return self._visits.get(node, ())
