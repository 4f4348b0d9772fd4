"""The verbs of authoring: pure functions from a draft to the next.

Every verb returns **the same draft object** when there is nothing to change, so that no undo step is
made. A verb presumes that it may (see :mod:`designer.document.rules`); what it cannot do at all, such as
editing a node that is not there, is a ``KeyError``. Members go by their JSON names.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from designer.document.draft import Draft, Place
from engine import NODE_TYPES, UNKNOWN, AnyNode, Budget, ClassifyNode, NodeId, Transition, Tree

_Part = TypeVar("_Part", Tree, AnyNode, Budget)

_NUMBERED: Final = re.compile(r"(.+?)-\d+")


def unique_id(tree: Tree, base: str) -> NodeId:
    """The base itself where it is free, else ``base-2``, ``base-3`` and so on."""
    if base not in tree.nodes:
        return base
    numbered = _NUMBERED.fullmatch(base)
    stem, number = numbered.group(1) if numbered else base, 2
    while f"{stem}-{number}" in tree.nodes:
        number += 1
    return f"{stem}-{number}"


def add_node(draft: Draft, kind: str, place: Place, base: str | None = None) -> Draft:
    """A new node of this kind, its required members empty; the first node of a tree is its start."""
    tree, node_id = draft.tree, unique_id(draft.tree, base or kind)
    node = NODE_TYPES[kind]()
    if node.required_key is not None:
        node = node.replace(**{_attribute(node, node.required_key): ""})
    if isinstance(node, ClassifyNode):
        node = node.replace(answers=())
    return replace(
        draft,
        tree=tree.replace(nodes={**tree.nodes, node_id: node}, start_node_id=tree.start_node_id or node_id),
        places={**draft.places, node_id: place},
    )


def remove_nodes(draft: Draft, ids: Iterable[NodeId]) -> Draft:
    """Without these nodes, and without the transitions that led to them."""
    gone = draft.tree.nodes.keys() & set(ids)
    if not gone:
        return draft
    tree = draft.tree
    return replace(
        draft,
        tree=tree.replace(
            nodes={i: _without_targets(node, gone) for i, node in tree.nodes.items() if i not in gone},
            start_node_id="" if tree.start_node_id in gone else tree.start_node_id,
        ),
        places={i: place for i, place in draft.places.items() if i not in gone},
    )


def move_nodes(draft: Draft, places: Mapping[NodeId, Place]) -> Draft:
    """With these nodes at these places."""
    nodes, old = draft.tree.nodes, draft.places
    moved = {i: place for i, place in places.items() if i in nodes and old.get(i) != place}
    return replace(draft, places={**draft.places, **moved}) if moved else draft


def rename_node(draft: Draft, old: NodeId, new: NodeId) -> Draft:
    """With the node under its new id everywhere: transitions, start and place follow; its rank stays."""
    tree = draft.tree
    if old == new:
        return draft
    if new in tree.nodes:
        raise ValueError("another node has this id")
    _ = tree.nodes[old]

    def follows(transition: Transition) -> Transition:
        return transition.replace(next_node_id=new) if transition.next_node_id == old else transition

    def retargeted(node: AnyNode) -> AnyNode:
        touched = any(t.next_node_id == old for t in node.transitions)
        return node.replace(transitions=tuple(map(follows, node.transitions))) if touched else node

    return replace(
        draft,
        tree=tree.replace(
            nodes={new if i == old else i: retargeted(node) for i, node in tree.nodes.items()},
            start_node_id=new if tree.start_node_id == old else tree.start_node_id,
        ),
        places={new if i == old else i: place for i, place in draft.places.items()},
    )


def connect(draft: Draft, source: NodeId, branch: str, target: NodeId) -> Draft:
    """With the branch leading to the target, whatever it led to before."""
    node = draft.tree.nodes[source]
    same = [t for t in node.transitions if t.condition == branch]
    if [t.next_node_id for t in same] == [target]:
        return draft
    kept = (same[0] if same else Transition(condition=branch)).replace(next_node_id=target)
    others = [t for t in node.transitions if t.condition != branch]
    return _with_node(draft, source, node.replace(transitions=_in_order(node, [*others, kept])))


def disconnect(draft: Draft, source: NodeId, branch: str) -> Draft:
    """With the branch leading nowhere yet."""
    node = draft.tree.nodes[source]
    kept = tuple(t for t in node.transitions if t.condition != branch)
    if len(kept) == len(node.transitions):
        return draft
    return _with_node(draft, source, node.replace(transitions=kept))


def set_answers(draft: Draft, node_id: NodeId, answers: Sequence[str]) -> Draft:
    """With these allowed answers; each kept answer keeps its branch.

    In a list of the same length an answer that stands in the place of one that is gone is that answer
    renamed, and its branch goes where the old one went. A new answer's branch leads nowhere yet.
    """
    node = draft.tree.nodes[node_id]
    if not isinstance(node, ClassifyNode):
        raise KeyError(node_id)
    old, new = node.answers or (), tuple(answers)
    if old == new and node.answers is not None:
        return draft
    loose = list(node.transitions)
    # The reserved branch is picked first and from the end: an answer may be spelled like it for a while.
    unknown = _take(loose, UNKNOWN, last=True)
    taken = [_take(loose, answer) for answer in old]
    kept = [
        transition.replace(condition=answer)
        for answer, origin in zip(new, _origins(old, new), strict=True)
        if origin is not None and (transition := taken[origin])
    ]
    # Transitions that belong to no branch are for the author to see and decide, so they stay.
    transitions = (*kept, *filter(None, [unknown]), *loose)
    return _with_node(draft, node_id, node.replace(answers=new, transitions=transitions))


def set_field(draft: Draft, node_id: NodeId, member: str, value: object) -> Draft:
    """With one member of the node set; None or an optional text left empty means absent.

    Answers go through :func:`set_answers`. The type, and transitions as such, are not set this way.
    """
    if member == "answers" and isinstance(value, Sequence):
        return set_answers(draft, node_id, value)
    if member in {"type", "transitions"}:
        raise KeyError(member)
    node = draft.tree.nodes[node_id]
    return _with_node(draft, node_id, _with_member(node, member, value, required=member == node.required_key))


def set_tree_field(draft: Draft, member: str, value: object) -> Draft:
    """With one member of the tree set (not its nodes); None or an optional text left empty means absent."""
    if member == "nodes":
        raise KeyError(member)
    tree = _with_member(draft.tree, member, value)
    return draft if tree is draft.tree else replace(draft, tree=tree)


def set_budget(draft: Draft, member: str, value: object) -> Draft:
    """With one limit of the budget set; None means the default. A budget of nothing is no budget."""
    before = draft.tree.budget or Budget()
    after = _with_member(before, member, value)
    return draft if after is before else set_tree_field(draft, "budget", None if after == Budget() else after)


def set_start(draft: Draft, node_id: NodeId) -> Draft:
    """With the run starting at this node."""
    return set_tree_field(draft, "startNodeId", node_id)


def set_parameter(draft: Draft, node_id: NodeId, name: str, *value: object) -> Draft:
    """With one parameter of a condition's predicate set to the value, or taken away where none is given."""
    node = draft.tree.nodes[node_id]
    parameters = dict(getattr(node, "predicate_parameters", None) or {})
    if value:
        parameters[name] = value[0]
    else:
        parameters.pop(name, None)
    return set_field(draft, node_id, "predicateParameters", parameters)


def _with_node(draft: Draft, node_id: NodeId, node: AnyNode) -> Draft:
    tree = draft.tree
    return (
        draft
        if node is tree.nodes[node_id]
        else replace(draft, tree=tree.replace(nodes={**tree.nodes, node_id: node}))
    )


def _with_member(part: _Part, member: str, value: object, *, required: bool = False) -> _Part:
    attribute = _attribute(part, member)
    empty = value in ("", {}) and not required and type(part).model_fields[attribute].default is None
    wanted = None if empty else value
    # Told apart by their spelling, because to Python the parameters 1, 1.0 and True are equal.
    if repr(getattr(part, attribute)) == repr(wanted):
        return part
    return part.replace(**{attribute: wanted})


def _attribute(part: Tree | AnyNode | Budget, member: str) -> str:
    for name, field in type(part).model_fields.items():
        if member == (field.alias or name):
            return name
    raise KeyError(member)


def _without_targets(node: AnyNode, gone: Collection[NodeId]) -> AnyNode:
    kept = tuple(t for t in node.transitions if t.next_node_id not in gone)
    return node if len(kept) == len(node.transitions) else node.replace(transitions=kept)


def _in_order(node: AnyNode, transitions: Iterable[Transition]) -> tuple[Transition, ...]:
    """In the order of the node's branches; those of no branch come last, as they came."""
    rank = {branch: i for i, branch in reversed(list(enumerate(node.branches())))}
    return tuple(sorted(transitions, key=lambda t: rank.get(t.condition, len(rank))))


def _origins(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """For each new answer the position of the old one it continues."""
    free = dict(enumerate(old))
    origins: list[int | None] = []
    for answer in new:
        origin = next((i for i, text in free.items() if text == answer), None)
        if origin is not None:
            del free[origin]
        origins.append(origin)
    if len(old) == len(new):
        origins = [i if origin is None and i in free else origin for i, origin in enumerate(origins)]
    return origins


def _take(transitions: list[Transition], branch: str, *, last: bool = False) -> Transition | None:
    """Take the first (or last) transition of this label out of the list."""
    found = [t for t in transitions if t.condition == branch]
    if not found:
        return None
    taken = found[-1 if last else 0]
    transitions[:] = [t for t in transitions if t is not taken]
    return taken
