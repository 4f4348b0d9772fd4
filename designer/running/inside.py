"""Where a run is within the action it waits for: the trees and agents that run inside it."""

from collections.abc import Iterator
from typing import NamedTuple

from designer.document.names import names_of, one_line
from engine import (
    Event,
    NodeId,
    NodeStarted,
    NodeVisited,
    Phase,
    RunEnded,
    RunStarted,
    Stop,
    SubRunEvent,
    Trail,
)


class Level(NamedTuple):
    """One of the runs within each other, the outermost first.

    ``trail`` has no tree where it is no run of a tree. ``node`` is where it is, in its own words, and
    ``phase`` what comes next there; None while it goes on.
    """

    trail: Trail
    node: NodeId
    phase: Phase | None = None

    @property
    def title(self) -> str:
        """What its tree is called, or who else runs."""
        tree = self.trail.tree
        return one_line((tree.name or tree.tree_id) if tree else self.node)

    @property
    def node_title(self) -> str:
        """What the node is called where it is."""
        names = names_of(self.trail.tree) if self.trail.tree else {}
        return str(names.get(self.node, self.node))


def inside_words(levels: tuple[Level, ...]) -> str:
    """Where a run is within the node it is at, in words to be read after that; nothing where it is not."""
    return ", ".join(f"inside it {_words(level)}" for level in levels)


def _words(level: Level) -> str:
    if level.trail.tree is None:
        return f"'{level.title}'{_PHASES.get(level.phase, '')}"
    how = "at" if level.phase in (None, "inside") else "before"
    return f"the tree '{level.title}' {how} '{level.node_title}'"


_PHASES: dict[Phase | None, str] = {
    "beforeTool": " before it uses a tool",
    "afterTool": " after it has used a tool",
    "beforeAttempt": " before the model is asked",
}


def inner_stops(stop: Stop | None) -> Iterator[Stop]:
    """The stops within a stop, the outermost first."""
    while stop is not None and stop.inner is not None:
        stop = stop.inner
        yield stop


class Inside:
    """Follows the runs within the visit that goes on, by what is told of them."""

    def __init__(self) -> None:
        self.trails: list[Trail] = []
        """One for each run of a tree, the outermost first."""

    def hear(self, event: Event) -> None:
        """Note what has happened, at whatever depth."""
        depth = 0
        while isinstance(event, SubRunEvent):
            depth, event = depth + 1, event.event
        if isinstance(event, RunStarted):
            del self.trails[max(depth - 1, 0) :]
            self.trails += [Trail()] if depth and len(self.trails) == depth - 1 else []
        elif isinstance(event, NodeStarted | NodeVisited | RunEnded):
            del self.trails[depth:]
        if 0 < depth <= len(self.trails):
            self.trails[depth - 1] = self.trails[depth - 1].after(event)
            if isinstance(event, RunEnded):
                del self.trails[depth - 1 :]
