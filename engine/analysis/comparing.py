"""What two versions of a tree differ in, as people mean it: by node and field, whatever the files look like.

The order of nodes, of members and of transitions means nothing; the order of answers does. A node that came
is taken for one that left under another id, where it is at its place or looks the same.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from engine import jsontext
from engine.jsontext import Json
from engine.tree import NodeId, Tree
from engine.treefile import tree_hash, write_tree

_Object: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One member that is something else now; ``field`` is its path, with dots. None: it is not there."""

    field: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class BranchChange:
    """A branch that leads elsewhere. Each end has its id in its version; None: there is no such branch."""

    branch: str
    before: NodeId | None
    after: NodeId | None


@dataclass(frozen=True, slots=True)
class NodeChange:
    """What is different in a node that is in both versions."""

    before: NodeId
    after: NodeId
    fields: tuple[FieldChange, ...] = ()
    branches: tuple[BranchChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """What leads from one version to the other; empty when they say the same."""

    before: Tree
    after: Tree
    fields: tuple[FieldChange, ...] = ()
    """Changes of the tree itself, its budget and start among them."""
    added: tuple[NodeId, ...] = ()
    removed: tuple[NodeId, ...] = ()
    renamed: tuple[tuple[NodeId, NodeId], ...] = ()
    """Nodes that have another id now: the old one, then the new one."""
    changed: tuple[NodeChange, ...] = ()
    """Nodes with other fields or branches, in the order of the later version."""

    @property
    def is_empty(self) -> bool:
        """Whether both versions say the same."""
        return not (self.fields or self.added or self.removed or self.renamed or self.changed)

    def as_json(self) -> dict[str, Json]:
        """The same as plain JSON."""
        return {
            "same": self.is_empty,
            "before": _named(self.before),
            "after": _named(self.after),
            "tree": [_field(one) for one in self.fields],
            "added": list(self.added),
            "removed": list(self.removed),
            "renamed": [{"before": old, "after": new} for old, new in self.renamed],
            "changed": [
                {
                    "node": one.after,
                    "before": one.before,
                    "fields": [_field(field) for field in one.fields],
                    "branches": [
                        {"branch": b.branch, "before": b.before, "after": b.after} for b in one.branches
                    ],
                }
                for one in self.changed
            ],
        }


def compare(before: Tree, after: Tree) -> Difference:
    """The difference of two versions.

    A node with an id that is new is one whose id is gone when both are of one type and either alike in all
    fields and labels of branches, or at the same place (a branch that led to one leads to the other) with the
    same name, or asking, doing, testing or saying the same, or with half of the branches leading as before.
    """
    old, new = _document(before), _document(after)
    names = _Renamings(_nodes(old), _nodes(new)).found()
    changed = []
    for after_id, node in _nodes(new).items():
        before_id = names.before(after_id)
        if before_id is None:
            continue
        earlier = _nodes(old)[before_id]
        fields = tuple(_changes(_fields(earlier), _fields(node)))
        branches = tuple(_rewired(_targets(earlier), _targets(node), names))
        if fields or branches:
            changed.append(NodeChange(before_id, after_id, fields, branches))
    start = {"startNodeId": names.after(before.start_node_id) or before.start_node_id}
    own = _changes(_without_nodes(old) | start, _without_nodes(new))
    return Difference(
        before,
        after,
        fields=tuple(
            FieldChange(one.field, before.start_node_id, one.after) if one.field == "startNodeId" else one
            for one in own
        ),
        added=tuple(i for i in _nodes(new) if names.before(i) is None),
        removed=tuple(i for i in _nodes(old) if names.after(i) is None),
        renamed=tuple(names.renamed()),
        changed=tuple(changed),
    )


# ------------------------------------------------------------------------------------------ documents


def _document(tree: Tree) -> dict[str, Json]:
    document: Json = json.loads(write_tree(tree))
    if not isinstance(document, dict):
        raise TypeError("A tree is written as an object.")
    return document


def _nodes(document: _Object) -> Mapping[NodeId, _Object]:
    nodes = document.get("nodes")
    return nodes if isinstance(nodes, dict) else {}  # type: ignore[return-value] # each is an object


def _without_nodes(document: _Object) -> dict[str, Json]:
    return {name: member for name, member in document.items() if name != "nodes"}


def _fields(node: _Object) -> _Object:
    """All of a node but where its branches lead; what else transitions say goes by their labels."""
    more: dict[str, Json] = {
        str(t["condition"]): rest
        for t in _transitions(node)
        if (rest := {name: m for name, m in t.items() if name not in {"condition", "nextNodeId"}})
    }
    own: dict[str, Json] = {name: member for name, member in node.items() if name != "transitions"}
    return {**own, "transitions": more} if more else own


def _targets(node: _Object) -> Mapping[str, NodeId]:
    """Where the branches lead; of repeated labels the first counts, as in a run."""
    targets: dict[str, NodeId] = {}
    for t in _transitions(node):
        targets.setdefault(str(t["condition"]), str(t["nextNodeId"]))
    return targets


def _transitions(node: _Object) -> list[dict[str, Json]]:
    listed = node.get("transitions")
    found = [t for t in listed if isinstance(t, dict)] if isinstance(listed, list) else []
    return [{"condition": "", "nextNodeId": "", **t} for t in found]


# ------------------------------------------------------------------------------------------ fields


def _changes(before: Json | _Object, after: Json | _Object, path: str = "") -> Iterator[FieldChange]:
    if before == after and _kinds(before) == _kinds(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            where = f"{path}.{name}" if path else name
            yield from _changes(before.get(name), after.get(name), where)
    else:
        yield FieldChange(path, before, after)  # type: ignore[arg-type] # no mapping is left here


def _kinds(value: object) -> object:
    """Tells true from 1, and 1 from 1.0, which Python takes for equal."""
    if isinstance(value, Mapping):
        return {name: _kinds(member) for name, member in value.items()}
    return [_kinds(item) for item in value] if isinstance(value, list) else type(value)


def _rewired(
    before: Mapping[str, NodeId], after: Mapping[str, NodeId], names: "_Names"
) -> Iterator[BranchChange]:
    for branch in {**before, **after}:
        old, new = before.get(branch), after.get(branch)
        if (old is None) != (new is None) or (old is not None and (names.after(old) or old) != new):
            yield BranchChange(branch, old, new)


# ------------------------------------------------------------------------------------------ other ids


class _Names:
    """Which node of one version is which of the other."""

    def __init__(self, old: Iterable[NodeId], new: Iterable[NodeId]) -> None:
        there = set(new)
        self._after = {node_id: node_id for node_id in old if node_id in there}
        self._before = dict(self._after)

    def after(self, before: NodeId) -> NodeId | None:
        return self._after.get(before)

    def before(self, after: NodeId) -> NodeId | None:
        return self._before.get(after)

    def tell(self, before: NodeId, after: NodeId) -> None:
        self._after[before], self._before[after] = after, before

    def renamed(self) -> Iterator[tuple[NodeId, NodeId]]:
        return ((old, new) for old, new in self._after.items() if old != new)


_SAYING: Final = ("task", "answers", "actionKey", "predicateKey", "verdict", "name")
"""Members by one of which a node is known again at its place."""


class _Renamings:
    """Finds the nodes that have another id, from what is known to what follows from it."""

    def __init__(self, old: Mapping[NodeId, _Object], new: Mapping[NodeId, _Object]) -> None:
        self._old, self._new = old, new
        self._names = _Names(old, new)
        self._gone = {i: None for i in old if i not in new}
        self._came = {i: None for i in new if i not in old}
        self._to: dict[tuple[NodeId, str], NodeId] = {
            (source, branch): target
            for source, node in old.items()
            for branch, target in _targets(node).items()
        }
        self._into: dict[NodeId, list[tuple[NodeId, str]]] = {}
        for source, node in new.items():
            for branch, target in _targets(node).items():
                self._into.setdefault(target, []).append((source, branch))

    def found(self) -> _Names:
        while self._gone and self._came and (self._by_place() or self._by_looks(several=False)):
            pass
        self._by_looks(several=True)
        return self._names

    def _tell(self, old: NodeId, new: NodeId) -> None:
        self._names.tell(old, new)
        del self._gone[old], self._came[new]

    def _by_place(self) -> bool:
        """Nodes to which the same branches lead; whether there were any."""
        told = False
        for new in list(self._came):
            known = ((self._names.before(source), branch) for source, branch in self._into.get(new, ()))
            led = {self._to.get((source, branch)) for source, branch in known if source is not None}
            places = [old for old in led if old in self._gone and self._is_like(old, new)]
            if len(places) == 1 and places[0] is not None:
                self._tell(places[0], new)
                told = True
        return told

    def _is_like(self, old: NodeId, new: NodeId) -> bool:
        before, after = self._old[old], self._new[new]
        if before.get("type") != after.get("type"):
            return False
        if any(before.get(name) is not None and before.get(name) == after.get(name) for name in _SAYING):
            return True
        led, leads = _targets(before), _targets(after)
        same = sum(leads.get(branch) == (self._names.after(end) or end) for branch, end in led.items())
        return 2 * same >= len(led) > 0

    def _by_looks(self, *, several: bool) -> bool:
        """Nodes that look the same; of ``several`` with one look, those that come in the same order."""
        looks: dict[bytes, tuple[list[NodeId], list[NodeId]]] = {}
        for ids, nodes, side in ((self._gone, self._old, 0), (self._came, self._new, 1)):
            for node_id in ids:
                look = {**_fields(nodes[node_id]), "transitions": sorted(_targets(nodes[node_id]))}
                looks.setdefault(jsontext.write(look), ([], []))[side].append(node_id)
        pairs = [
            pair
            for gone, came in looks.values()
            if (several or len(gone) == len(came) == 1)
            for pair in zip(gone, came, strict=False)
        ]
        for old, new in pairs:
            self._tell(old, new)
        return bool(pairs)


def _named(tree: Tree) -> dict[str, Json]:
    return {"treeId": tree.tree_id, "version": tree.version, "treeHash": tree_hash(tree)}


def _field(one: FieldChange) -> dict[str, Json]:
    return {"field": one.field, "before": one.before, "after": one.after}
