"""Where runs come from and go to: what follows from the branches of a tree alone."""

from collections.abc import Callable, Collection, Iterable

from engine import AnyNode, NodeId, Tree


def downstream(tree: Tree, ids: Iterable[NodeId]) -> frozenset[NodeId]:
    """These nodes and all that a run may visit after them."""
    return _reached(tree, ids, lambda i: tree.nodes[i].targets.values())


def upstream(tree: Tree, ids: Iterable[NodeId]) -> frozenset[NodeId]:
    """These nodes and all that a run may visit before them."""
    sources: dict[NodeId, list[NodeId]] = {}
    for node_id, node in tree.nodes.items():
        for target in node.targets.values():
            sources.setdefault(target, []).append(node_id)
    return _reached(tree, ids, lambda i: sources.get(i, ()))


def exits(tree: Tree, ids: Collection[NodeId]) -> frozenset[NodeId]:
    """The other nodes that the branches of these lead to."""
    inside = tree.nodes.keys() & set(ids)
    targets = (target for i in inside for target in tree.nodes[i].targets.values())
    return (frozenset(targets) - inside) & tree.nodes.keys()


def loose_branch(node: AnyNode) -> str | None:
    """The first branch of a node that leads nowhere yet."""
    targets = node.targets
    return next((branch for branch in node.branches() if not targets.get(branch)), None)


def _reached(
    tree: Tree, ids: Iterable[NodeId], following: Callable[[NodeId], Iterable[NodeId]]
) -> frozenset[NodeId]:
    found: set[NodeId] = set()
    waiting = [i for i in ids if i in tree.nodes]
    while waiting:
        node_id = waiting.pop()
        if node_id not in found:
            found.add(node_id)
            waiting.extend(i for i in following(node_id) if i in tree.nodes and i not in found)
    return frozenset(found)
