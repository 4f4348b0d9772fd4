"""Limits: what the budget of a tree keeps all its runs from, looked at again while the tree is edited."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final

from engine.analysis.steps import Step, best_ways, steps_of
from engine.budget import DEFAULT_LIMITS, Limits
from engine.catalog import Catalog
from engine.tree import AnyNode, ClassifyNode, NodeId, TerminalNode, Tree, fill, placeholders


class Within:
    """What of a tree lies within its budget.

    The tree is searched until all its terminals are found, no further than the budget reaches, and again only
    when something on the way has changed.
    """

    def __init__(self) -> None:
        self._terminals: set[NodeId] = set()
        self._lengths: dict[NodeId, int] = {}
        self._steps: dict[NodeId, Sequence[Step]] = {}
        self._searched: tuple[NodeId, Limits] | None = None
        self._reached: Collection[NodeId] = ()

    def change(
        self, gone: Iterable[NodeId], changed: Iterable[NodeId], nodes: Mapping[NodeId, AnyNode]
    ) -> None:
        """Nodes that are gone, and nodes that are new or others now."""
        for node_id in gone:
            self._forget(node_id)
        for node_id in changed:
            self._forget(node_id)
            node = nodes[node_id]
            if isinstance(node, TerminalNode):
                self._terminals.add(node_id)
                self._searched = None
            elif isinstance(node, ClassifyNode):
                self._lengths[node_id] = _length(node.task) + len(", ".join(node.answers or ()))

    def _forget(self, node_id: NodeId) -> None:
        self._terminals.discard(node_id)
        self._lengths.pop(node_id, None)
        if self._steps.pop(node_id, None) is not None:
            self._searched = None

    def terminals_out(self, tree: Tree, catalog: Catalog) -> set[NodeId]:
        """The terminals that no run within the budget comes to."""
        limits = DEFAULT_LIMITS.within(tree.budget)
        if self._searched != (tree.start_node_id, limits):

            def onward(node_id: NodeId) -> Sequence[Step]:
                if node_id not in self._steps:
                    self._steps[node_id] = steps_of(tree, node_id, catalog)
                return self._steps[node_id]

            start, target = tree.start_node_id, attrgetter("target")
            found = best_ways([start], onward, target, limits=limits, sought=self._terminals)
            self._reached, self._searched = found.keys(), (start, limits)
        return self._terminals.difference(self._reached)

    def questions_out(self, tree: Tree) -> Mapping[NodeId, int]:
        """The questions that fit into no request, with the tokens of their prompts when nothing is known yet.

        That is the standard prompt, and its size is estimated as a run does it.
        """
        around = _FRAME + (len(tree.system_prompt or "") if _says(tree.system_prompt) else _SYSTEM)
        around += _length(tree.task) if _says(tree.task) else _NO_TASK
        most = (DEFAULT_LIMITS.within(tree.budget).context_tokens + 1) * _CHARACTERS_PER_TOKEN - around
        if max(self._lengths.values(), default=0) < most:
            return {}
        return {
            node_id: (length + around) // _CHARACTERS_PER_TOKEN
            for node_id, length in self._lengths.items()
            if length >= most
        }


# The characters of a standard prompt beside the texts of its tree; the prompt itself is made floors above.
_FRAME: Final = 87
_SYSTEM: Final = 121
_NO_TASK: Final = 14
_CHARACTERS_PER_TOKEN: Final = 4


def _says(text: str | None) -> bool:
    return bool(text and text.strip())


def _length(text: str | None) -> int:
    """How long a text is at least, whatever its parameters are filled with."""
    if text and "{{" in text:
        text = fill(text, dict.fromkeys(placeholders(text), ""))
    return len(text or "")
