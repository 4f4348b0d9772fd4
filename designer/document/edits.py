"""The verbs of authoring: pure functions from a draft to the next.

Every verb returns **the same draft object** when there is nothing to change, so that no undo step is
made. A verb presumes that it may (see :mod:`designer.document.rules`); what it cannot do at all, such as
editing a node that is not there, is a ``KeyError``. Members go by their JSON names.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from pydantic import ValidationError

from designer.document import design, flow
from designer.document.draft import Draft, Note, Place
from engine import NODE_TYPES, UNKNOWN, AnyNode, Budget, ClassifyNode, Node, NodeId, Transition, Tree

_Part = TypeVar("_Part", Tree, AnyNode, Budget)

_NUMBERED: Final = re.compile(r"(.+?)-\d+")


def unique_id(tree: Tree, base: str) -> NodeId:
    """The base itself where it is free, else ``base-2``, ``base-3`` and so on."""
    return unique_names(tree.nodes, [base])[0]


def unique_names(taken: Iterable[str], bases: Iterable[str]) -> list[str]:
    """For each base a name of its own: the base itself where it is free, else with the first free number."""
    used, numbers, names = set(taken), dict[str, int](), list[str]()
    for base in bases:
        name = base
        if name in used:
            numbered = _NUMBERED.fullmatch(name)
            stem = numbered.group(1) if numbered else name
            number = numbers.get(stem, 2)
            while f"{stem}-{number}" in used:
                number += 1
            numbers[stem] = number
            name = f"{stem}-{number}"
        used.add(name)
        names.append(name)
    return names


def add_node(draft: Draft, kind: str, place: Place, base: str | None = None) -> Draft:
    """A new node of this kind, its required members empty; the first node of a tree is its start."""
    tree, node_id = draft.tree, unique_id(draft.tree, base or kind)
    node = _begun(NODE_TYPES[kind]())
    return replace(
        draft,
        tree=tree.replace(nodes={**tree.nodes, node_id: node}, start_node_id=tree.start_node_id or node_id),
        places={**draft.places, node_id: place},
    )


def add_linked(draft: Draft, source: NodeId, branch: str, kind: str, place: Place) -> Draft:
    """A new node of this kind that the branch leads to, whatever it led to before."""
    node_id = unique_id(draft.tree, kind)
    return connect(add_node(draft, kind, place), source, branch, node_id)


def insert_node(
    draft: Draft, source: NodeId, branch: str, kind: str, place: Place, *, room: float = 0.0
) -> Draft:
    """A new node within a branch: every way out of it leads to where the branch led.

    What lies at or to the right of that old target moves ``room`` units to the right, except the source.
    """
    node_id, old = unique_id(draft.tree, kind), draft.tree.nodes[source].targets.get(branch, "")
    edge = draft.places[old].x if old in draft.places else float("inf")
    moved = {i: Place(p.x + room, p.y) for i, p in draft.places.items() if p.x >= edge and i != source}
    after = add_linked(move_nodes(draft, moved) if room > 0 else draft, source, branch, kind, place)
    for way in after.tree.nodes[node_id].branches() if old else ():
        after = connect(after, node_id, way, old)
    return after


def change_kind(draft: Draft, node_id: NodeId, kind: str) -> Draft:
    """With the node of another kind, keeping what fits: name, description, and where its branches lead.

    Branches of the same label keep their targets; the others take the targets that are left, in order. A
    node that becomes a question has its old branches as answers.
    """
    old = draft.tree.nodes[node_id]
    if old.type == kind:
        return draft
    kept = {"name": old.name, "description": old.description, **old.unknown_members}
    try:
        made = _begun(NODE_TYPES[kind].model_validate(kept))
    except ValidationError:  # members this kind knows, with values of another type
        names = {field.alias or name for name, field in NODE_TYPES[kind].model_fields.items()}
        unknown = {name: value for name, value in old.unknown_members.items() if name not in names}
        made = _begun(
            NODE_TYPES[kind].model_validate({"name": old.name, "description": old.description} | unknown)
        )
    labels = dict.fromkeys((*old.branches(), *old.targets))
    if isinstance(made, ClassifyNode):
        answers = dict.fromkeys((*(made.answers or ()), *labels))
        made = made.replace(answers=tuple(answer for answer in answers if answer and answer != UNKNOWN))
    targets = {label: old.targets[label] for label in labels if old.targets.get(label)}
    same = {branch: targets.pop(branch) for branch in made.branches() if branch in targets}
    left = iter(targets.values())
    linked = {branch: same.get(branch) or next(left, None) for branch in made.branches()}
    transitions = (Transition(condition=b, next_node_id=target) for b, target in linked.items() if target)
    return _with_node(draft, node_id, made.replace(transitions=tuple(transitions)))


def heal(draft: Draft, ids: Collection[NodeId]) -> Draft:
    """With every branch that led to these nodes leading to where they lead, which is one place only."""
    (onward,) = flow.exits(draft.tree, ids)
    inside, tree = set(ids), draft.tree

    def healed(node: AnyNode) -> AnyNode:
        return _retargeted(node, lambda target: onward if target in inside else target)

    start = onward if tree.start_node_id in inside else tree.start_node_id
    nodes = {i: node if i in inside else healed(node) for i, node in tree.nodes.items()}
    return replace(draft, tree=tree.replace(nodes=nodes, start_node_id=start))


def detach(draft: Draft, ids: Collection[NodeId]) -> Draft:
    """With these nodes taken out of the flow, which goes on without them; what links them stays."""
    after, (onward,) = heal(draft, ids), flow.exits(draft.tree, ids)
    nodes = {
        i: _without_targets(node, {onward}) if i in ids else node for i, node in after.tree.nodes.items()
    }
    return replace(after, tree=after.tree.replace(nodes=nodes))


def remove_nodes(draft: Draft, ids: Iterable[NodeId]) -> Draft:
    """Without these nodes, the transitions that led to them, and what the design says of them."""
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
        design=design.followed(draft.design, dict.fromkeys(gone)),
    )


def mend(draft: Draft, tree: Tree) -> Draft:
    """With this tree instead; nodes that are new in it stand beside the first one that leads to them."""
    old, places = draft.tree.nodes, {i: draft.places[i] for i in tree.nodes if i in draft.places}
    gone = [i for i in old if i not in tree.nodes]
    for node_id in tree.nodes:
        if node_id not in places:
            leading = (
                i for i, node in tree.nodes.items() if node_id in node.targets.values() and i in places
            )
            near = places[next(leading, next(iter(places), node_id))] if places else Place(0, 0)
            places[node_id] = _free_beside(places.values(), near)
    return replace(
        draft,
        tree=tree,
        places={i: places[i] for i in tree.nodes},
        design=design.followed(draft.design, dict.fromkeys(gone)),
    )


_BESIDE: Final = Place(330, 0)
_BELOW: Final = 110.0


def _free_beside(taken: Collection[Place], near: Place) -> Place:
    """A place to the right of this one that no other card has."""
    x, y = near.x + _BESIDE.x, near.y
    while any(abs(place.x - x) < _BESIDE.x / 2 and abs(place.y - y) < _BELOW for place in taken):
        y += _BELOW
    return Place(x, y)


def move_nodes(draft: Draft, places: Mapping[NodeId, Place]) -> Draft:
    """With these nodes at these places."""
    nodes, old = draft.tree.nodes, draft.places
    moved = {i: place for i, place in places.items() if i in nodes and old.get(i) != place}
    return replace(draft, places={**draft.places, **moved}) if moved else draft


def rename_node(draft: Draft, old: NodeId, new: NodeId) -> Draft:
    """With the node under its new id everywhere: branches, start, place, design; its rank stays."""
    tree = draft.tree
    if old == new:
        return draft
    if new in tree.nodes:
        raise ValueError("another node has this id")
    _ = tree.nodes[old]

    def follows(target: NodeId) -> NodeId:
        return new if target == old else target

    return replace(
        draft,
        tree=tree.replace(
            nodes={follows(i): _retargeted(node, follows) for i, node in tree.nodes.items()},
            start_node_id=follows(tree.start_node_id),
        ),
        places={follows(i): place for i, place in draft.places.items()},
        design=design.followed(draft.design, {old: new}),
        renamings=(*draft.renamings, (old, new)),
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
    """With these allowed answers; each kept answer keeps its branch and what the design says of it.

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
    continued = [(origin, answer) for answer, origin in zip(new, _origins(old, new), strict=True)]
    kept = [
        transition.replace(condition=answer)
        for origin, answer in continued
        if origin is not None and (transition := taken[origin])
    ]
    names: dict[tuple[NodeId, str], str | None] = {(node_id, answer): None for answer in old}
    names |= {(node_id, old[origin]): answer for origin, answer in continued if origin is not None}
    draft = replace(draft, design=design.followed(draft.design, {}, names))
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


def set_fields(draft: Draft, ids: Iterable[NodeId], member: str, value: object) -> Draft:
    """With one member set in all of these nodes."""
    for node_id in ids:
        draft = set_field(draft, node_id, member, value)
    return draft


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


def set_notes(draft: Draft, notes: Mapping[str, Note | None]) -> Draft:
    """With these notes as they are given; None takes one away."""
    after = {name: note for name, note in {**draft.notes, **notes}.items() if note is not None}
    return draft if after == draft.notes else replace(draft, notes=after)


def _begun(node: Node) -> Node:
    """The node with the members it cannot do without, empty where they are not there."""
    key = node.required_key and _attribute(node, node.required_key)
    if key and getattr(node, key) is None:
        node = node.replace(**{key: ""})
    if isinstance(node, ClassifyNode) and node.answers is None:
        node = node.replace(answers=())
    return node


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


def _retargeted(node: AnyNode, follows: Callable[[NodeId], NodeId]) -> AnyNode:
    moved = tuple(
        t if (target := follows(t.next_node_id)) == t.next_node_id else t.replace(next_node_id=target)
        for t in node.transitions
    )
    return node if moved == node.transitions else node.replace(transitions=moved)


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
