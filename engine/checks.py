"""Checks: everything that is wrong with a tree, all of it in one pass, and the proof that nothing is.

The order is that of the reference loader, so that the first error here is the one it would stop at. A fault
is told once: what only follows from another problem is left out.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import ValidationError

from engine import jsontext
from engine.budget import DEFAULT_LIMITS
from engine.catalog import Catalog
from engine.errors import Problem, TreeInvalid
from engine.predicates import standard_catalog
from engine.tree import (
    NODE_TYPES,
    UNKNOWN,
    ActionNode,
    AnyNode,
    ClassifyNode,
    ConditionNode,
    Member,
    NodeId,
    OpaqueNode,
    TerminalNode,
    Tree,
)
from engine.treefile import Reading, members_of, problem_at

if TYPE_CHECKING:
    import networkx

_Nodes: TypeAlias = Mapping[NodeId, AnyNode]


@dataclass(frozen=True, slots=True)
class Runnable:
    """A tree that was proven free of errors. Only :func:`runnable` makes one; nothing else may.

    ``targets`` says for each node which node follows on which branch.
    """

    tree: Tree
    catalog: Catalog
    targets: Mapping[NodeId, Mapping[str, NodeId]] = field(repr=False)


def check(tree: Tree, catalog: Catalog | None = None) -> tuple[Problem, ...]:
    """Every problem of a tree. Without a catalog the built-in predicates and no actions are known."""
    return Checker(catalog).update(None, tree)


def runnable(tree: Tree, catalog: Catalog | None = None) -> Runnable:
    """The tree with the proof that it has no errors; ``TreeInvalid`` with all its problems otherwise."""
    catalog = standard_catalog() if catalog is None else catalog
    problems = check(tree, catalog)
    if any(problem.severity == "error" for problem in problems):
        raise TreeInvalid(problems)
    return Runnable(tree, catalog, {node_id: node.targets for node_id, node in tree.nodes.items()})


def problems_of(reading: Reading, catalog: Catalog | None = None) -> tuple[Problem, ...]:
    """Every problem of a tree file, in reading and in the tree, each with its line and column.

    What the checks find where reading already failed is left out.
    """
    failed = {problem.pointer for problem in reading.problems if problem.severity == "error"}
    problems = [*reading.problems, *(p for p in check(reading.tree, catalog) if not _inside(p.pointer, failed))]
    places = jsontext.places(reading.text, {problem.pointer for problem in problems}) if problems else {}
    return tuple(replace(p, line=places[p.pointer][0], column=places[p.pointer][1]) for p in problems)


class Checker:
    """Checks one tree again and again while it is edited, at the cost of what changed.

    It keeps what it found at each node and one graph of the tree; nodes are compared by identity. The result
    of an update equals that of a fresh check.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = standard_catalog() if catalog is None else catalog
        self._forget()

    def update(self, before: Tree | None, after: Tree) -> tuple[Problem, ...]:
        """Every problem of ``after``; quick when ``before`` is the tree of the last update."""
        if before is None or before is not self._tree:
            self._forget()
        known = self._tree
        old, new = known.nodes, after.nodes
        gone = [node_id for node_id in old if node_id not in new]
        changed = {node_id for node_id, node in new.items() if old.get(node_id) is not node}
        moved = [node_id for node_id in (*gone, *changed) if (node_id in old) != (node_id in new)]
        affected = changed.union(*(self._graph.predecessors(i) for i in moved if i in self._graph)) & new.keys()
        for node_id in gone:
            self._found.pop(node_id, None)
        reshaped = self._reshape({i: _shape(new[i], new) for i in affected} | dict.fromkeys(gone))
        for node_id in affected:
            self._found[node_id] = tuple(_of_node(node_id, new[node_id], new, self._catalog))
        if reshaped or (known.start_node_id, known.budget) != (after.start_node_id, after.budget) or [*old] != [*new]:
            self._of_graph = tuple(_of_graph(after, self._graph))
        self._tree = after
        found = self._found
        return (
            *_of_document(after),
            *(problem for node_id in new if found[node_id] for problem in found[node_id]),
            *self._of_graph,
        )
