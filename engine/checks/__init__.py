"""Checks: everything that is wrong with a tree, all of it in one pass, and the proof that nothing is.

The order is that of the reference loader, so that the first error here is the one it would stop at. A fault
is told once: what only follows from another problem is left out.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, filterfalse
from operator import is_not
from typing import Final, NamedTuple, TypeAlias

from pydantic import ValidationError

from engine.budget import DEFAULT_LIMITS, IMPOSSIBLE
from engine.catalog import Catalog
from engine.checks.limits import Within
from engine.checks.ways import END, LOST, Ways
from engine.errors import Problem, TreeInvalid
from engine.predicates import standard_catalog
from engine.problems import MISSING, Path, faults, in_text, named, problem_at
from engine.tools import fitted
from engine.tree import (
    NODE_TYPES,
    UNKNOWN,
    ActionNode,
    AnyNode,
    Budget,
    ClassifyNode,
    ConditionNode,
    Member,
    Node,
    NodeId,
    OpaqueNode,
    TerminalNode,
    TimeSpan,
    Transition,
    Tree,
)
from engine.treefile import Reading, collector_paused, members_of, tree_hash


@dataclass(frozen=True)
class Runnable:
    """A tree that was proven free of errors. Only :func:`runnable` makes one; nothing else may.

    ``targets`` says for each node which node follows on which branch.
    """

    tree: Tree
    catalog: Catalog
    targets: Mapping[NodeId, Mapping[str, NodeId]] = field(repr=False)

    @cached_property
    def hash(self) -> str:
        """The :func:`engine.treefile.tree_hash` of the tree, worked out once."""
        return tree_hash(self.tree)


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
    """Every problem of a tree file, of reading and of the tree, each with its line and column.

    What the checks find in a part that could not be read is left out.
    """
    unread = {problem.pointer for problem in reading.problems if problem.severity == "error"}
    found = (problem for problem in check(reading.tree, catalog) if not _within(problem.pointer, unread))
    with collector_paused():
        return in_text((*reading.problems, *found), reading.text)


class Checker:
    """Checks a tree again and again while it is edited, at the cost of what changed.

    It keeps what it found at each node and the ways through the tree; nodes are compared by identity. The
    result of an update always equals that of a fresh check.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = standard_catalog() if catalog is None else catalog
        self._kept = _Kept()

    def update(self, before: Tree | None, after: Tree) -> tuple[Problem, ...]:
        """Every problem of ``after``. Quick when ``before`` is the tree of the last update."""
        if before is not self._kept.tree:
            self._kept = _Kept()
        kept, known = self._kept, self._kept.tree
        with collector_paused():
            reordered = [*known.nodes] != [*after.nodes]
            reshaped = self._look_again(known.nodes, after.nodes, reordered=reordered)
            moved = (known.start_node_id, known.budget) != (after.start_node_id, after.budget)
            if reordered:
                kept.position = {node_id: index for index, node_id in enumerate(after.nodes)}
            if reordered or reshaped or moved:
                kept.of_graph = tuple(_graph_problems(after, self._ways(after, reshaped), kept.position))
            if reordered or any(old.verdict != new.verdict for old, new in reshaped.values()):
                kept.of_verdicts = tuple(_verdict_problems(after.nodes))
            of_budget = tuple(self._budget_problems(after))
        kept.tree = after
        of_nodes = (kept.of_node[node_id] for node_id in _in_order(kept.of_node, kept.position))
        return (
            *_document_problems(after),
            *chain.from_iterable(of_nodes),
            *kept.of_graph,
            *of_budget,
            *kept.of_verdicts,
        )

    def _budget_problems(self, tree: Tree) -> Iterator[Problem]:
        """What the budget keeps every run from."""
        kept = self._kept
        limits, unreached = DEFAULT_LIMITS.within(tree.budget), kept.ways.unreached if kept.ways else {LOST}
        # A branch that leads nobody knows where might lead to anything; and a fault is told once.
        told = any(problem.code in ("budget-visits-short", "budget-calls-zero") for problem in kept.of_graph)
        if LOST in unreached and limits.are_possible and not told and tree.start_node_id in tree.nodes:
            out = _in_order(kept.within.terminals_out(tree, self._catalog) - unreached, kept.position)
            if out:
                message = (
                    f"maxNodeVisits is {limits.node_visits} and maxLlmCalls is {limits.llm_calls}, "
                    f"so no run ends at {_listed(out)}."
                )
                yield problem_at("budget-terminals-out", "warning", message, "budget")
        questions = kept.within.questions_out(tree) if limits.context_tokens > 0 else {}
        if questions:
            message = (
                f"maxContextTokens is {limits.context_tokens}, too few to ask "
                f"{_listed(_in_order(questions, kept.position))}: even with nothing known yet "
                f"it takes {max(questions.values())}."
            )
            yield problem_at("budget-context-short", "warning", message, "budget", "maxContextTokens")

    def _look_again(self, old: "_Nodes", new: "_Nodes", *, reordered: bool) -> "_Reshaped":
        """Bring what is kept of each node up to date."""
        kept = self._kept
        gone: list[NodeId] = []
        if reordered:
            gone = [node_id for node_id in old if node_id not in new]
            changed = [node_id for node_id, node in new.items() if old.get(node_id) is not node]
        else:
            changed = [*compress(new, map(is_not, old.values(), new.values()))]
        if kept.ways:
            # Who leads to a node that came or went has lost or gained a target.
            moved = (*gone, *(node_id for node_id in changed if node_id not in old))
            leading = chain.from_iterable(map(kept.ways.leading_to, moved))
            changed = [*dict.fromkeys(chain(changed, filter(new.__contains__, leading)))]
        reshaped: dict[NodeId, tuple[_Shape, _Shape]] = {}
        for node_id in gone:
            kept.of_node.pop(node_id, None)
            reshaped[node_id] = (kept.shapes.pop(node_id), _NO_SHAPE)
        for node_id in changed:
            node = new[node_id]
            drawn = _drawn(node, new)
            problems = tuple(_node_problems(node_id, node, drawn, new, self._catalog))
            if problems:
                kept.of_node[node_id] = problems
            else:
                kept.of_node.pop(node_id, None)
            before, after = kept.shapes.get(node_id, _NO_SHAPE), _shape(node, drawn, new)
            if before != after:
                kept.shapes[node_id] = after
                reshaped[node_id] = (before, after)
        kept.within.change(gone, changed, new)
        return reshaped

    def _ways(self, tree: Tree, reshaped: "_Reshaped") -> Ways:
        """The ways through a tree, brought up to date."""
        kept, most = self._kept, _too_many_questions(tree)
        known = kept.ways if kept.ways and kept.ways.most == most else None
        shapes = {node_id: shape for node_id, (_, shape) in reshaped.items()} if known else kept.shapes
        onward = {node_id: shape.onward for node_id, shape in shapes.items()}
        asking = {node_id for node_id, shape in shapes.items() if shape.kind is ClassifyNode}
        if known:
            known.change(tree.start_node_id, onward, asking)
        kept.ways = known or Ways(tree.start_node_id, onward, asking, most)
        return kept.ways


_Nodes: TypeAlias = Mapping[NodeId, AnyNode]


class _Shape(NamedTuple):
    """What the rules about the whole tree know of one node."""

    kind: type[AnyNode] | None
    verdict: str | None
    onward: frozenset[str]


_NO_SHAPE: Final = _Shape(None, None, frozenset())

_Reshaped: TypeAlias = Mapping[NodeId, tuple[_Shape, _Shape]]
"""Nodes whose shape is another one, with the one before and the one now."""


@dataclass(slots=True)
class _Kept:
    """What a checker knows of the tree it saw last."""

    tree: Tree = field(default_factory=Tree)
    position: dict[NodeId, int] = field(default_factory=dict)
    ways: Ways | None = None
    within: Within = field(default_factory=Within)
    shapes: dict[NodeId, _Shape] = field(default_factory=dict)
    of_node: dict[NodeId, tuple[Problem, ...]] = field(default_factory=dict)
    of_graph: tuple[Problem, ...] = ()
    of_verdicts: tuple[Problem, ...] = ()


class _Drawn(NamedTuple):
    """What the transitions of a node come to, taken together."""

    labels: set[str]
    targets: frozenset[str]
    sound: bool
    """Whether no transition, looked at alone, is at fault."""
    complete: bool
    """Whether every branch of the node is there."""


def _drawn(node: AnyNode, nodes: _Nodes) -> _Drawn:
    drawn = node.transitions
    labels = {transition.condition for transition in drawn}
    targets = frozenset([transition.next_node_id for transition in drawn])
    sound = (
        len(labels) == len(drawn)
        and nodes.keys() >= targets
        and all(map(str.strip, labels))
        and all(map(str.strip, targets))
        and not [transition for transition in drawn if transition.model_extra]
    )
    return _Drawn(labels, targets, sound, labels.issuperset(node.branches()))


def _shape(node: AnyNode, drawn: _Drawn, nodes: _Nodes) -> _Shape:
    kind, onward = type(node), drawn.targets
    if (kind is OpaqueNode and not onward) or not (drawn.sound or nodes.keys() >= onward):
        onward |= {LOST}
    if isinstance(node, TerminalNode):
        return _Shape(kind, node.verdict, onward | {END})
    if kind is OpaqueNode or not drawn.complete:
        onward |= {END}
    return _Shape(kind, None, onward)


# ------------------------------------------------------------------------------------------ the document


def _document_problems(tree: Tree) -> Iterator[Problem]:
    wrong = (
        (_blank(tree.tree_id), "tree-id-missing", "must have a non-empty treeId", "treeId"),
        (tree.version <= 0, "version-invalid", "version must be greater than zero", "version"),
        (_blank(tree.start_node_id), "start-missing", "must have a non-empty startNodeId", "startNodeId"),
        (_blank(tree.name), "name-blank", "name must not be whitespace-only", "name"),
        (
            _blank(tree.description),
            "description-blank",
            "description must not be whitespace-only",
            "description",
        ),
    )
    for is_wrong, code, rule, name in wrong:
        if is_wrong:
            yield problem_at(code, "error", f"Decision tree {rule}.", name)
    yield from _budget_problems(tree)
    if not tree.nodes:
        yield problem_at("nodes-empty", "error", "Decision tree must contain at least one node.", "nodes")
    for node_id in filterfalse(str.strip, tree.nodes):
        yield problem_at(
            "node-id-blank", "error", "Decision tree node IDs must be non-empty.", "nodes", node_id
        )
    if tree.nodes and not _blank(tree.start_node_id) and tree.start_node_id not in tree.nodes:
        message = f"Start node '{tree.start_node_id}' does not exist."
        yield problem_at("start-unknown", "error", message, "startNodeId")
    yield from _unknown_members(tree, "The tree")


def _blank(text: str | None) -> bool:
    """Whether a text is there and says nothing."""
    return text is not None and not text.strip()


_LEAST: Final = {
    "max_node_visits": 1,
    "max_llm_calls": 0,
    "max_elapsed_time": TimeSpan(1),
    "max_context_tokens": 1,
}


def impossible_limits(budget: Budget) -> Iterator[str]:
    """The members of a budget, by their JSON names, that are too small to be a limit."""
    for name, json_name in members_of(Budget).items():
        value = getattr(budget, name)
        if value is not None and name in _LEAST and value < _LEAST[name]:
            yield json_name


def _budget_problems(tree: Tree) -> Iterator[Problem]:
    if tree.budget is None:
        return
    for name in impossible_limits(tree.budget):
        yield problem_at("budget-invalid", "error", IMPOSSIBLE, "budget", name)
    yield from _unknown_members(tree.budget, "The budget", "budget")


def _unknown_members(part: Member, owner: str, *path: str | int) -> Iterator[Problem]:
    for name in part.unknown_members:
        message = f"{owner} has a field '{name}' that is not known; it is kept and ignored."
        yield problem_at("member-unknown", "warning", message, *path, name)


# ------------------------------------------------------------------------------------------ one node

_EVERY_MEMBER: Final = {name for kind in NODE_TYPES.values() for name in members_of(kind).values()}
_REQUIRED: Final = {
    kind: (name, json_name)
    for kind in NODE_TYPES.values()
    for name, json_name in members_of(kind).items()
    if json_name == kind.required_key
}


def _node_problems(
    node_id: NodeId, node: AnyNode, drawn: _Drawn, nodes: _Nodes, catalog: Catalog
) -> Iterator[Problem]:
    if not drawn.sound:
        yield from _transition_problems(node_id, node, nodes)
    if isinstance(node, OpaqueNode):
        message = f"Node '{node_id}' has an unsupported node type."
        yield problem_at("type-unsupported", "error", message, "nodes", node_id, "type")
        return
    if node.unknown_members:
        yield from _foreign_members(node_id, node)
    yield from _text_problems(node_id, node)
    match node:
        case ClassifyNode():
            yield from _answer_problems(node_id, node, drawn)
        case ConditionNode():
            yield from _branch_problems(node_id, node, drawn)
            yield from _predicate_problems(node_id, node, catalog)
        case ActionNode():
            yield from _branch_problems(node_id, node, drawn)
            yield from _action_problems(node_id, node, catalog)
        case TerminalNode() if node.transitions:
            message = f"Terminal node '{node_id}' cannot have transitions."
            yield problem_at("terminal-transitions", "error", message, "nodes", node_id, "transitions")


def _text_problems(node_id: NodeId, node: Node) -> Iterator[Problem]:
    name, json_name = _REQUIRED[type(node)]
    if _blank(getattr(node, name) or ""):
        message = f"{node.type.capitalize()} node '{node_id}' must specify {json_name}."
        yield problem_at(f"{name.replace('_', '-')}-missing", "error", message, "nodes", node_id, json_name)
    for name, text in (("name", node.name), ("description", node.description)):
        if _blank(text):
            message = f"Node '{node_id}' {name} must not be whitespace-only."
            yield problem_at(f"node-{name}-blank", "error", message, "nodes", node_id, name)


def _is_whole(transition: Transition) -> bool:
    return bool(transition.condition.strip() and transition.next_node_id.strip())


def _transition_problems(node_id: NodeId, node: AnyNode, nodes: _Nodes) -> Iterator[Problem]:
    at = ("nodes", node_id, "transitions")
    drawn = list(enumerate(node.transitions))
    for index, transition in drawn:
        if not _is_whole(transition):
            # One blank member is named itself; both mean the whole transition.
            members = (("condition", transition.condition), ("nextNodeId", transition.next_node_id))
            blank = [name for name, text in members if _blank(text)]
            place = blank if len(blank) == 1 else []
            message = f"Node '{node_id}' contains an invalid transition."
            yield problem_at("transition-invalid", "error", message, *at, index, *place)
    seen = set()
    for index, transition in drawn:
        if transition.condition in seen and not _blank(transition.condition):
            message = f"Node '{node_id}' contains duplicate transition conditions."
            yield problem_at("transition-duplicate", "error", message, *at, index, "condition")
        seen.add(transition.condition)
    for index, transition in drawn:
        if transition.next_node_id not in nodes and not _blank(transition.next_node_id):
            message = f"Node '{node_id}' targets missing node '{transition.next_node_id}'."
            yield problem_at("target-missing", "error", message, *at, index, "nextNodeId")
    for index, transition in drawn:
        yield from _unknown_members(transition, f"A transition of node '{node_id}'", *at, index)


def _foreign_members(node_id: NodeId, node: Node) -> Iterator[Problem]:
    for name, value in node.unknown_members.items():
        if name not in _EVERY_MEMBER:
            message = f"Node '{node_id}' has a field '{name}' that is not known; it is kept and ignored."
            yield problem_at("member-unknown", "warning", message, "nodes", node_id, name)
        elif value is not None:
            message = f"Node '{node_id}' contains fields not valid for a {node.type} node."
            yield problem_at("field-forbidden", "error", message, "nodes", node_id, name)


def _answer_problems(node_id: NodeId, node: ClassifyNode, drawn: _Drawn) -> Iterator[Problem]:
    at = ("nodes", node_id, "answers")
    answers = node.answers or ()
    blank = [index for index, answer in enumerate(answers) if _blank(answer)]
    if not answers or blank:
        message = f"Classify node '{node_id}' must specify non-empty answers."
        for place in [[index] for index in blank] or [[]]:
            yield problem_at("answers-missing", "error", message, *at, *place)
        return
    first: dict[str, int] = {}
    for index, answer in enumerate(answers):
        if first.setdefault(answer, index) != index:
            yield problem_at(
                "answers-duplicate",
                "error",
                f"Classify node '{node_id}' contains duplicate answers.",
                *at,
                index,
            )
    if UNKNOWN in first:
        message = f"Classify node '{node_id}' cannot declare reserved answer '{UNKNOWN}'."
        yield problem_at("answer-reserved", "error", message, *at, first[UNKNOWN])
    yield from _branch_problems(node_id, node, drawn)
    alike: dict[str, str] = {}
    for answer, index in first.items():
        folded = unicodedata.normalize("NFKC", answer).strip().casefold()
        if answer != answer.strip():
            message = (
                f"Answer '{answer}' of node '{node_id}' starts or ends with a space: no reply can match it."
            )
            yield problem_at("answer-spaces", "warning", message, *at, index)
        if folded == UNKNOWN and answer != UNKNOWN:
            message = f"Answer '{answer}' of node '{node_id}' reads like the reserved answer '{UNKNOWN}'."
            yield problem_at("answer-like-unknown", "warning", message, *at, index)
        if folded in alike:
            message = f"Answers '{alike[folded]}' and '{answer}' of node '{node_id}' cannot be told apart."
            yield problem_at("answers-alike", "warning", message, *at, index)
        alike.setdefault(folded, answer)


def _branch_problems(node_id: NodeId, node: Node, drawn: _Drawn) -> Iterator[Problem]:
    branches = node.branches()
    exact = drawn.complete and drawn.labels.issubset(branches)
    if not exact and all(map(_is_whole, node.transitions)):
        message = (
            f"Node '{node_id}' must define exactly these transitions: {', '.join(dict.fromkeys(branches))}."
        )
        yield problem_at("transitions-incomplete", "error", message, "nodes", node_id, "transitions")


def _predicate_problems(node_id: NodeId, node: ConditionNode, catalog: Catalog) -> Iterator[Problem]:
    at = ("nodes", node_id, "predicateParameters")
    key, given = node.predicate_key or "", node.predicate_parameters or {}
    if _blank(key) or key in catalog.external_predicates:
        return
    if key not in catalog.predicates:
        message = f"Predicate '{key}' is not registered."
        yield problem_at("predicate-unknown", "error", message, "nodes", node_id, "predicateKey")
        return
    model = catalog.predicates[key].parameter_model
    if model is None:
        return
    told: Mapping[Path, str] = {}
    try:
        fitted(model, given)
    except ValidationError as error:
        told = faults(error, given)
    for path, reason in told.items():
        if reason == MISSING and len(path) == 1:
            message = f"Predicate '{key}' of node '{node_id}' needs the parameter '{path[0]}'."
            yield problem_at("predicate-parameter-missing", "error", message, *at, *path)
        else:
            what = (
                f"Parameter {named(path)} of predicate '{key}'"
                if path
                else f"What predicate '{key}' is given"
            )
            message = f"{what} of node '{node_id}' {reason}."
            yield problem_at("predicate-parameter-type", "error", message, *at, *path)
    names = {name for field, info in model.model_fields.items() for name in (field, info.alias)}
    for name in given:
        if name not in names and (name,) not in told:
            message = f"Predicate '{key}' of node '{node_id}' has no parameter '{name}'."
            yield problem_at("predicate-parameter-unknown", "warning", message, *at, name)


def _action_problems(node_id: NodeId, node: ActionNode, catalog: Catalog) -> Iterator[Problem]:
    key = node.action_key or ""
    if not _blank(key) and key not in catalog.actions and key not in catalog.external_actions:
        message = f"Action '{key}' for node '{node_id}' is not registered."
        yield problem_at("action-unknown", "warning", message, "nodes", node_id, "actionKey")
    for index, transition in enumerate(node.transitions):
        if transition.condition == "transientFailure" and transition.next_node_id == node_id:
            message = f"Node '{node_id}' retries at once after a transient failure, with no pause in between."
            yield problem_at("retry-hot-loop", "warning", message, "nodes", node_id, "transitions", index)


# ------------------------------------------------------------------------------------------ the whole tree


def _in_order(places: Iterable[str], position: Mapping[NodeId, int]) -> list[NodeId]:
    """Those of the places that are nodes, in the order of the file."""
    return sorted(filter(position.__contains__, places), key=position.__getitem__)


def _graph_problems(tree: Tree, ways: Ways, position: Mapping[NodeId, int]) -> Iterator[Problem]:
    if tree.start_node_id not in position:
        return
    # A branch that leads nobody knows where might lead to anything.
    for node_id in _in_order(ways.unreached if LOST in ways.unreached else (), position):
        message = f"Decision tree contains unreachable node '{node_id}'."
        yield problem_at("unreachable", "error", message, "nodes", node_id)
    for node_id in _in_order(ways.stuck - ways.unreached, position):
        message = f"Node '{node_id}' cannot reach a terminal node."
        yield problem_at("no-terminal-path", "error", message, "nodes", node_id)
    yield from _cycle_problems(ways, position)
    yield from _limit_problems(tree, ways)


def _cycle_problems(ways: Ways, position: Mapping[NodeId, int]) -> Iterator[Problem]:
    # All of a circle is reached, or nothing of it; the same for being stuck.
    cycles = [
        _in_order(circle, position)
        for place, circle in ways.circles.items()
        if place not in ways.unreached and place not in ways.stuck
    ]
    for cycle in sorted(cycles, key=lambda cycle: position[cycle[0]]):
        message = f"Only the budget bounds the cycle of {_listed(cycle)}."
        yield problem_at("cycle-bounded", "info", message, "nodes", cycle[0], "transitions")


def _limit_problems(tree: Tree, ways: Ways) -> Iterator[Problem]:
    limits = DEFAULT_LIMITS.within(tree.budget)
    visits, calls = limits.node_visits, limits.llm_calls
    shortest = ways.shortest()
    if 0 < visits < shortest:
        message = f"maxNodeVisits is {visits}, but the shortest way to a terminal takes {shortest} visits."
        yield problem_at("budget-visits-short", "warning", message, "budget", "maxNodeVisits")
    if calls == 0 and ways.asks:
        message = "maxLlmCalls is 0, so the run ends at the first classify node."
        yield problem_at("budget-calls-zero", "warning", message, "budget", "maxLlmCalls")
    if calls > 0 and ways.asks == ways.most:
        questions = "one question" if ways.most == 1 else f"{ways.most} questions"
        message = f"maxLlmCalls is {calls}, but one way asks {questions} or more, each up to twice."
        yield problem_at("budget-calls-tight", "info", message, "budget", "maxLlmCalls")


def _too_many_questions(tree: Tree) -> int:
    """How many questions on one way may use up the calls, each of them asked twice."""
    return max(0, DEFAULT_LIMITS.within(tree.budget).llm_calls) // 2 + 1


def _verdict_problems(nodes: _Nodes) -> Iterator[Problem]:
    verdicts: dict[str, list[NodeId]] = {}
    for node_id, node in nodes.items():
        if isinstance(node, TerminalNode) and node.verdict:
            verdicts.setdefault(node.verdict, []).append(node_id)
    for verdict, node_ids in verdicts.items():
        if len(node_ids) > 1:
            message = f"Several terminals give the verdict '{verdict}': {_listed(node_ids)}."
            yield problem_at("verdict-repeated", "info", message, "nodes", node_ids[1], "verdict")


def _listed(node_ids: Sequence[NodeId]) -> str:
    shown = ", ".join(f"'{node_id}'" for node_id in node_ids[:_MOST_LISTED])
    more = len(node_ids) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


_MOST_LISTED: Final = 8


def _within(pointer: str, places: set[str]) -> bool:
    """Whether a pointer is one of these places or lies inside one."""
    while pointer not in places:
        if not pointer:
            return False
        pointer = pointer.rpartition("/")[0]
    return True
