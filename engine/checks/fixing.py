"""Fixes: ways to put a problem right, each a whole new tree, to be offered with a title or made by a command.

A fix leaves a tree without the problem it is for. It may leave, or bring, others that were hidden by it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, cast

from engine import jsontext
from engine.analysis.budgets import bounds
from engine.budget import DEFAULT_LIMITS
from engine.catalog import Catalog
from engine.checks.limits import Within
from engine.counting import counted
from engine.errors import Problem
from engine.predicates import standard_catalog
from engine.tree import (
    UNKNOWN,
    AnyNode,
    Budget,
    ClassifyNode,
    ConditionNode,
    Member,
    NodeId,
    TerminalNode,
    Transition,
    Tree,
)
from engine.treefile import members_of


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to put a problem right.

    A ``safe`` one takes away nothing that says anything, and decides nothing that is the author's to decide.
    """

    title: str
    tree: Tree
    safe: bool = False


def fixes(tree: Tree, problem: Problem, catalog: Catalog | None = None) -> tuple[Fix, ...]:
    """The ways there are to put a problem of this tree right, the likeliest first.

    A problem of another version of the tree has none where its place is not there any more.
    """
    made = _FIXES.get(problem.code)
    if made is None:
        return ()
    try:
        return tuple(made(tree, _Place(problem), catalog or standard_catalog()))
    except (LookupError, ValueError, AttributeError):
        return ()


def fix(tree: Tree, problem: Problem, catalog: Catalog | None = None) -> Tree | None:
    """The tree with one of its problems put right, where there is a safe way to do that; None otherwise."""
    return next((one.tree for one in fixes(tree, problem, catalog) if one.safe), None)


class _Place:
    """Where a problem is: the path to it, and the node it is in."""

    def __init__(self, problem: Problem) -> None:
        self.path = jsontext.path_of(problem.pointer)
        self.node = problem.node or ""

    @property
    def name(self) -> str:
        """The last member name."""
        return self.path[-1]

    @property
    def index(self) -> int:
        """The place in the list the problem is in, or in which the member it is in is."""
        return next(int(part) for part in reversed(self.path) if part.isdecimal())


_Fixes: TypeAlias = Iterator[Fix]
_Maker: TypeAlias = Callable[[Tree, _Place, Catalog], _Fixes]
_Part = TypeVar("_Part", bound=Member)


# ------------------------------------------------------------------------------------------ texts and members


def _blank_of_tree(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    yield Fix(f"Remove the empty {place.name}", tree.replace(**{place.name: None}), safe=True)


def _blank_of_node(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = tree.nodes[place.node]
    yield Fix(
        f"Remove the empty {place.name}",
        _with(tree, place.node, node.replace(**{place.name: None})),
        safe=True,
    )


def _forbidden_member(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = _without_member(tree.nodes[place.node], place.name)
    yield Fix(f"Remove '{_shown(place.name)}'", _with(tree, place.node, node), safe=True)


def _unknown_member(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    match place.path:
        case [name]:
            mended = _without_member(tree, name)
        case ["budget", name]:
            mended = tree.replace(budget=_without_member(cast("Budget", tree.budget), name))
        case ["nodes", node_id, name]:
            mended = _with(tree, node_id, _without_member(tree.nodes[node_id], name))
        case ["nodes", node_id, "transitions", index, name]:
            node, at = tree.nodes[node_id], int(index)
            step = _without_member(node.transitions[at], name)
            mended = _with(tree, node_id, node.replace(transitions=_put(node.transitions, at, step)))
        case _:
            return
    yield Fix(f"Remove '{_shown(place.name)}'", mended)


def _version(tree: Tree, _place: _Place, _: Catalog) -> _Fixes:
    yield Fix("Set the version to 1", tree.replace(version=1), safe=True)


def _blank_id(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    new = _free(tree, "node")
    nodes = {
        new if node_id == place.path[1] else node_id: _led(node, {place.path[1]: new})
        for node_id, node in tree.nodes.items()
    }
    start = new if tree.start_node_id == place.path[1] else tree.start_node_id
    yield Fix(f"Call it '{new}'", tree.replace(nodes=nodes, start_node_id=start))


def _verdict(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    if place.node.strip():
        node = tree.nodes[place.node].replace(verdict=place.node)
        yield Fix(f"Take '{_shown(place.node)}' as its verdict", _with(tree, place.node, node))


def _unknown_parameter(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = cast("ConditionNode", tree.nodes[place.node])
    given = {name: value for name, value in (node.predicate_parameters or {}).items() if name != place.name}
    yield Fix(
        f"Remove the parameter '{_shown(place.name)}'",
        _with(tree, place.node, node.replace(predicate_parameters=given or None)),
    )


# ------------------------------------------------------------------------------------------ answers


def _answer(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = cast("ClassifyNode", tree.nodes[place.node])
    if len(node.answers or ()) > 1:
        answer = (node.answers or ())[place.index]
        mended = _without_answer(node, place.index)
        yield Fix(f"Remove the answer '{_shown(answer)}'", _with(tree, place.node, mended), safe=True)


def _reserved_answer(tree: Tree, place: _Place, catalog: Catalog) -> _Fixes:
    yield from _answer(tree, place, catalog)
    node = cast("ClassifyNode", tree.nodes[place.node])
    answers = node.answers or ()
    answer, new = answers[place.index], "not sure"
    if new in answers or new in node.targets:
        return
    # Its branch may be the one of the reserved answer, too, which has to stay.
    target = node.targets.get(answer)
    steps = (
        node.transitions if answer == UNKNOWN else tuple(t for t in node.transitions if t.condition != answer)
    )
    added = (Transition(condition=new, next_node_id=target),) if target is not None else ()
    mended = node.replace(answers=_put(answers, place.index, new), transitions=(*added, *steps))
    yield Fix(f"Rename the answer to '{new}'", _with(tree, place.node, mended))


def _spaced_answer(tree: Tree, place: _Place, catalog: Catalog) -> _Fixes:
    node = cast("ClassifyNode", tree.nodes[place.node])
    answers = node.answers or ()
    answer, trimmed = answers[place.index], answers[place.index].strip()
    if trimmed in node.branches():  # also the reserved one
        yield from _answer(tree, place, catalog)
        return
    steps = tuple(t.replace(condition=trimmed) if t.condition == answer else t for t in node.transitions)
    mended = node.replace(answers=_put(answers, place.index, trimmed), transitions=steps)
    yield Fix(f"Remove the spaces around '{_shown(trimmed)}'", _with(tree, place.node, mended), safe=True)


def _no_answers(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = cast("ClassifyNode", tree.nodes[place.node])
    kept = tuple(answer for answer in node.answers or () if answer.strip())
    drawn = tuple(dict.fromkeys(t.condition for t in node.transitions if t.condition.strip()))
    drawn = tuple(label for label in drawn if label != UNKNOWN)
    if kept:
        yield Fix("Remove the empty answers", _with(tree, place.node, node.replace(answers=kept)), safe=True)
    elif drawn:
        title = f"Take {_listed(drawn)} as its answers"
        yield Fix(title, _with(tree, place.node, node.replace(answers=drawn)))
    else:
        yield Fix(
            "Take 'yes' and 'no' as its answers", _with(tree, place.node, node.replace(answers=("yes", "no")))
        )


# ------------------------------------------------------------------------------------------ branches


def _terminals_branches(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = tree.nodes[place.node].replace(transitions=())
    yield Fix("Remove its branches", _with(tree, place.node, node), safe=True)


def _branches(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = tree.nodes[place.node]
    wanted = dict.fromkeys(node.branches())
    labels = dict.fromkeys(t.condition for t in node.transitions)
    missing = [branch for branch in wanted if branch not in labels]
    foreign = [label for label in labels if label not in wanted]
    kept = tuple(t for t in node.transitions if t.condition in wanted)
    if len(missing) == len(foreign) == 1:
        steps = tuple(
            t.replace(condition=missing[0]) if t.condition == foreign[0] else t for t in node.transitions
        )
        title = f"Rename the branch '{_shown(foreign[0])}' to '{_shown(missing[0])}'"
        yield Fix(title, _with(tree, place.node, node.replace(transitions=steps)))
    removed = f"{'Remove' if not missing else ' and remove'} {_listed(foreign)}" if foreign else ""
    if not missing:
        yield Fix(removed, _with(tree, place.node, node.replace(transitions=kept)))
        return
    end = _free(tree, "undecided")
    steps = (*kept, *(Transition(condition=branch, next_node_id=end) for branch in missing))
    mended = _with(tree, place.node, node.replace(transitions=steps))
    yield Fix(f"Lead {_listed(missing)} to a new terminal{removed}", _ended(mended, end))


def _duplicate_branch(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = tree.nodes[place.node]
    again = node.transitions[place.index]
    same = node.targets[again.condition] == again.next_node_id and not again.unknown_members
    yield Fix(
        f"Remove the second branch '{_shown(again.condition)}'",
        _with(tree, place.node, _without_step(node, place.index)),
        safe=same,
    )


def _half_a_branch(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    node = tree.nodes[place.node]
    label = node.transitions[place.index].condition.strip()
    title = (
        f"Remove the branch '{_shown(label)}', which leads nowhere"
        if label
        else "Remove the branch without a label"
    )
    yield Fix(title, _with(tree, place.node, _without_step(node, place.index)))


def _missing_target(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    target = tree.nodes[place.node].transitions[place.index].next_node_id
    yield Fix(f"Create the terminal '{_shown(target)}'", _ended(tree, target))


# ------------------------------------------------------------------------------------------ the whole tree


def _start(tree: Tree, _place: _Place, _: Catalog) -> _Fixes:
    led = {target for node in tree.nodes.values() for target in node.targets.values()}
    there = [node_id for node_id in tree.nodes if node_id.strip()]
    first = next((node_id for node_id in there if node_id not in led), there[0] if there else None)
    if first is not None:
        yield Fix(f"Start at '{_shown(first)}'", tree.replace(start_node_id=first))


def _unreachable(tree: Tree, _place: _Place, _: Catalog) -> _Fixes:
    if tree.start_node_id not in tree.nodes:
        return
    waiting = [tree.start_node_id]
    met = set(waiting)
    for node_id in waiting:
        ahead = {t.next_node_id for t in tree.nodes[node_id].transitions} & tree.nodes.keys() - met
        met |= ahead
        waiting += ahead
    kept = {node_id: node for node_id, node in tree.nodes.items() if node_id in met}
    gone = len(tree.nodes) - len(kept)
    what = "the node" if gone == 1 else f"the {counted(gone, 'node')}"
    if gone:
        yield Fix(f"Remove {what} no run comes to", tree.replace(nodes=kept))


def _usual_limit(tree: Tree, place: _Place, _: Catalog) -> _Fixes:
    field = next(name for name, json_name in members_of(Budget).items() if json_name == place.name)
    budget = cast("Budget", tree.budget).replace(**{field: None})
    yield Fix("Take the usual limit", tree.replace(budget=budget))


def _raised_budget(tree: Tree, _place: _Place, catalog: Catalog) -> _Fixes:
    """As many visits and calls as let every terminal be reached, and one call at least."""
    smallest = bounds(tree, catalog).smallest_budget
    if smallest is not None:
        yield from _raised(
            tree,
            max_node_visits=smallest.max_node_visits or 0,
            max_llm_calls=max(1, smallest.max_llm_calls or 0),
        )


def _roomy_budget(tree: Tree, _place: _Place, catalog: Catalog) -> _Fixes:
    """As many calls as the dearest way takes, where there is one."""
    start = bounds(tree, catalog).start
    if start is not None and start.llm_calls.max is not None:
        yield from _raised(tree, max_llm_calls=start.llm_calls.max)


def _roomy_context(tree: Tree, _place: _Place, _: Catalog) -> _Fixes:
    within = Within()
    within.change((), tree.nodes, tree.nodes)
    yield from _raised(tree, max_context_tokens=max(within.questions_out(tree).values()))


def _raised(tree: Tree, **least: int) -> _Fixes:
    """The limits that are lower raised to these."""
    limits, names = DEFAULT_LIMITS.within(tree.budget), members_of(Budget)
    now = {
        "max_node_visits": limits.node_visits,
        "max_llm_calls": limits.llm_calls,
        "max_context_tokens": limits.context_tokens,
    }
    raised = {name: number for name, number in least.items() if number > now[name]}
    if raised:
        told = " and ".join(f"{names[name]} to {number}" for name, number in raised.items())
        yield Fix(f"Raise {told}", tree.replace(budget=(tree.budget or Budget()).replace(**raised)))


# ------------------------------------------------------------------------------------------ parts


def _with(tree: Tree, node_id: NodeId, node: AnyNode) -> Tree:
    return tree.replace(nodes={**tree.nodes, node_id: node})


def _ended(tree: Tree, node_id: NodeId) -> Tree:
    """The tree with a terminal of this id, whose verdict it is, too."""
    return _with(tree, node_id, TerminalNode(verdict=node_id))


def _led(node: AnyNode, names: Mapping[NodeId, NodeId]) -> AnyNode:
    return node.replace(
        transitions=tuple(
            t.replace(next_node_id=names.get(t.next_node_id, t.next_node_id)) for t in node.transitions
        )
    )


def _without_step(node: AnyNode, index: int) -> AnyNode:
    return node.replace(transitions=node.transitions[:index] + node.transitions[index + 1 :])


def _without_member(part: _Part, name: str) -> _Part:
    members = {key: value for key, value in part.model_dump(by_alias=True).items() if key != name}
    return type(part).model_validate(members, by_alias=True, by_name=False)


def _without_answer(node: ClassifyNode, index: int) -> ClassifyNode:
    answers = list(node.answers or ())
    answer = answers.pop(index)
    still_needed = {*answers, UNKNOWN}
    kept = (t for t in node.transitions if t.condition != answer or answer in still_needed)
    return node.replace(answers=tuple(answers), transitions=tuple(kept))


_LONGEST: Final = 40
_Item = TypeVar("_Item")


def _put(items: tuple[_Item, ...], index: int, item: _Item) -> tuple[_Item, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _free(tree: Tree, name: str) -> NodeId:
    """An id that is not taken: the name, or the name with a number."""
    names = (name, *(f"{name}-{number}" for number in range(2, len(tree.nodes) + 3)))
    targets = {t.next_node_id for node in tree.nodes.values() for t in node.transitions}
    return next(n for n in names if n not in tree.nodes and n not in targets)


def _shown(text: str) -> str:
    """A text of the author as a title has it: on one line, and short."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _listed(labels: Iterable[str]) -> str:
    *most, last = (f"'{_shown(label)}'" for label in labels)
    return f"{', '.join(most)} and {last}" if most else last


_FIXES: Final[Mapping[str, _Maker]] = {
    "answer-like-unknown": _reserved_answer,
    "answer-reserved": _reserved_answer,
    "answer-spaces": _spaced_answer,
    "answers-alike": _answer,
    "answers-duplicate": _answer,
    "answers-missing": _no_answers,
    "budget-calls-tight": _roomy_budget,
    "budget-calls-zero": _raised_budget,
    "budget-context-short": _roomy_context,
    "budget-invalid": _usual_limit,
    "budget-terminals-out": _raised_budget,
    "budget-visits-short": _raised_budget,
    "description-blank": _blank_of_tree,
    "field-forbidden": _forbidden_member,
    "member-unknown": _unknown_member,
    "name-blank": _blank_of_tree,
    "node-description-blank": _blank_of_node,
    "node-id-blank": _blank_id,
    "node-name-blank": _blank_of_node,
    "predicate-parameter-unknown": _unknown_parameter,
    "start-missing": _start,
    "start-unknown": _start,
    "target-missing": _missing_target,
    "terminal-transitions": _terminals_branches,
    "transition-duplicate": _duplicate_branch,
    "transition-invalid": _half_a_branch,
    "transitions-incomplete": _branches,
    "unreachable": _unreachable,
    "verdict-missing": _verdict,
    "version-invalid": _version,
}

FIXABLE: Final = frozenset(_FIXES)
"""The codes of problems for which there may be a fix."""
