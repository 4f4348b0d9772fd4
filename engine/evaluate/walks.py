"""Cases and ways through a tree: the case that takes a walk, and what an edit of its tree makes of a case.

A case tells by its expected path where it goes, and by its pins which branches it takes. So a tree that was
edited is walked along the old path, and the case is brought along wherever it is plain what the author did.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, NoReturn, TypeAlias, cast

from engine.analysis import Walk
from engine.evaluate.cases import Case, CaseResult, CaseTree, Expectation, misfits
from engine.predicates import BUILT_IN
from engine.tree import UNKNOWN, ActionNode, AnyNode, ClassifyNode, ConditionNode, NodeId, TerminalNode, Tree
from engine.treefile import tree_hash

_Pin: TypeAlias = str | bool | CaseResult
"""What is fixed for one visit: an answer, whether a condition holds, or the result of an action."""

_Visit: TypeAlias = tuple[NodeId, _Pin | None]

_KINDS: Final[Mapping[str, tuple[type[AnyNode], type[_Pin]]]] = {
    "answers": (ClassifyNode, str),
    "conditions": (ConditionNode, bool),
    "actions": (ActionNode, CaseResult),
}
"""The members of a case that hold pins, with the nodes they are for."""


def case_for(walk: Walk, id: str, tree: Tree) -> Case:
    """The case that takes a walk: each of its branches is pinned, and its path and its end are expected.

    Pinned is also what it does not come to and a run would not begin without, so that none of the tree's own
    actions and predicates need be there.
    """
    visits: list[_Visit] = [(step.node, _pin_for(tree.nodes[step.node], step.branch)) for step in walk.steps]
    visits += _unvisited(tree, walk.path)
    pins = {member: pinned for member in _KINDS if (pinned := _pinned(visits, member))}
    end = tree.nodes.get(walk.terminal or "")
    if isinstance(end, TerminalNode):
        unknown = any(step.branch == UNKNOWN for step in walk.steps)
        expect = Expectation(
            verdict=end.verdict, outcome="Unknown" if unknown else "Terminal", path=walk.path
        )
    else:
        expect = Expectation(outcome="BudgetExhausted", path=walk.path)
    return Case(id=id, expect=expect).model_copy(update=pins)


@dataclass(frozen=True, slots=True)
class Migration:
    """What an edited tree makes of a case.

    The case is as it was, unless ``changes`` tell how it was brought along. ``broken`` tells why it could not
    be, and ``step`` at which step of its path (1-based); that is None where it lies at no step.
    """

    case: Case
    changes: tuple[str, ...] = ()
    broken: str | None = None
    step: int | None = None


def migrate(case: Case, tree: Tree) -> Migration:
    """Bring a case along to the tree as it is now.

    A node with another name, a node that is gone, one that was put between two others and an answer with
    another name are followed, where only one thing can be meant. Another verdict breaks the case, for that is
    what it was made to notice. Whether the case passes only a run can tell.
    """
    following = _Following(case, tree)
    try:
        following.follow()
    except _Broken as broken:
        return Migration(case, broken=str(broken), step=broken.step)
    moved = following.moved()
    misfit = next(misfits(moved, tree, partial(tree_hash, tree)), None)
    if misfit is not None:
        return Migration(case, broken=misfit.message)
    return Migration(moved, tuple(dict.fromkeys(following.changes)))


class _Broken(Exception):
    def __init__(self, reason: str, step: int) -> None:
        super().__init__(reason)
        self.step = step


class _Following:
    """A walk through the tree as it is now, along the path of a case.

    ``_at`` is the node it has come to, ``_index`` the step of the path it should be at.
    """

    def __init__(self, case: Case, tree: Tree) -> None:
        self._case, self._tree, self._nodes = case, tree, tree.nodes
        self._path = case.expect.path or ()
        self._at, self._index = tree.start_node_id, 0
        self._visits: list[_Visit] = []
        self._times: Counter[NodeId] = Counter()
        self._names: dict[NodeId, NodeId] = {}
        self.changes: list[str] = []

    # -- walking

    def follow(self) -> None:
        """Walk along the whole path; raises :class:`_Broken` where that cannot be done."""
        while self._index < len(self._path):
            if self._at == self._step(self._index):
                self._visit()
            elif self._step(self._index) in self._nodes:
                self._pass_inserted()
            else:
                self._pass_gone()
        last = self._visits[-1][0] if self._visits else self._at
        to_end = self._path and self._case.expect.outcome in ("Terminal", "Unknown")
        if to_end and not isinstance(self._nodes[last], TerminalNode):
            self._break(f"'{last}' is no terminal now.")

    def _step(self, index: int) -> NodeId | None:
        """The node a step of the path is at, by the name it has now; None after the last."""
        name = self._path[index] if index < len(self._path) else None
        return None if name is None else self._names.get(name, name)

    def _visit(self) -> None:
        """Leave the node the path is at by the branch the case takes."""
        node, name = self._nodes[self._at], self._path[self._index]
        following = self._step(self._index + 1)
        if isinstance(node, TerminalNode):
            expected = self._case.expect.verdict
            if following is not None:
                self._break(f"'{self._at}' is a terminal now.")
            if expected not in (None, node.verdict):
                self._break(f"The verdict is '{node.verdict}' now, not '{expected}'.")
        self._times[name] += 1
        pin, target = self._pin(name, self._times[name]), following
        if pin is not None:
            if not _fits(node, pin):
                pin = self._instead(node, pin, following)
            target = node.targets.get(_branch(pin))
        elif following is not None and following not in node.targets.values():
            self._break(f"No branch of '{self._at}' leads to '{following}'.")
        self._visits.append((self._at, pin))
        self._at, self._index = target or "", self._index + 1

    def _instead(self, node: AnyNode, pin: _Pin, following: NodeId | None) -> _Pin:
        """The pin of the one branch that leads on, where the one of the case is there no more."""
        branches = [branch for branch, target in node.targets.items() if target == following]
        if len(branches) != 1:
            self._break(f"'{_branch(pin)}' is no branch of '{self._at}' now.")
        self.changes.append(f"'{self._at}' takes '{branches[0]}' instead of '{_branch(pin)}'")
        return _pin_for(node, branches[0])

    def _pass_inserted(self) -> None:
        """Go through a node that was put before the one the path is at: nothing else leads to it."""
        node, following = self._nodes.get(self._at), self._step(self._index)
        leading = {name for name, other in self._nodes.items() if self._at in other.targets.values()}
        before = {name for name, _ in self._visits[-1:]}
        branches = [] if node is None else [b for b in node.branches() if node.targets.get(b) == following]
        if node is None or not branches or self._at in self._path or leading - {self._at} != before:
            self._stray()
        self.changes.append(f"'{self._at}' comes before '{following}' and takes '{branches[0]}'")
        self._visits.append((self._at, _pin_for(node, branches[0])))
        self._at = cast("NodeId", following)

    def _pass_gone(self) -> None:
        """Go on where the path is at a node that is gone: it has another name, or was taken out."""
        left = range(self._index, len(self._path))
        still = next((index for index in left if self._step(index) in self._nodes), None)
        if still is not None and self._at == self._step(still):
            gone = ", ".join(f"'{name}'" for name in dict.fromkeys(self._path[self._index : still]))
            self.changes.append(f"{gone} left out")
            self._index = still
        elif self._at not in self._path and self._at in self._nodes and self._is_renamed():
            self.changes.append(f"'{self._path[self._index]}' is called '{self._at}'")
            self._names[self._path[self._index]] = self._at
        else:
            self._stray()

    def _is_renamed(self) -> bool:
        """Whether the node come to does what the one of the path did."""
        node, name = self._nodes[self._at], self._path[self._index]
        following = self._step(self._index + 1)
        if isinstance(node, TerminalNode):
            return following is None and node.verdict == self._case.expect.verdict
        pin = self._pin(name, self._times[name] + 1)
        if pin is None:
            return following in node.targets.values()
        leads_on = following not in self._nodes or node.targets.get(_branch(pin)) == following
        return _fits(node, pin) and leads_on

    def _stray(self) -> NoReturn:
        after = f"After '{self._visits[-1][0]}'" if self._visits else "At the start"
        self._break(f"{after} comes '{self._at}', not '{self._path[self._index]}'.")

    def _break(self, reason: str) -> NoReturn:
        raise _Broken(reason, min(self._index + 1, len(self._path)))

    def _pin(self, name: NodeId, visit: int) -> _Pin | None:
        for member in _KINDS:
            pin = getattr(self._case, member).get(name)
            if isinstance(pin, tuple):
                return pin[visit - 1] if visit <= len(pin) else None
            if pin is not None:
                return cast("_Pin", pin)
        return None

    # -- what comes of it

    def moved(self) -> Case:
        """The case brought along."""
        case = self._case
        update: dict[str, object] = {}
        unpinned = [
            (name, pin)
            for name, pin in _unvisited(self._tree, [name for name, _ in self._visits])
            if self._path and name not in case.actions and name not in case.conditions
        ]
        self.changes += (f"'{name}' is pinned, although the run does not come to it" for name, _ in unpinned)
        if self.changes:
            visits = [*self._visits, *unpinned]
            pins = {member: self._moved_pins(member, visits) for member in (*_KINDS, "replies")}
            update |= {member: moved for member, moved in pins.items() if moved != getattr(case, member)}
            update["expect"] = self._expected()
        if (tree := self._moved_tree()) != case.tree:
            self.changes.append("it is for the tree as it is now")
            update["tree"] = tree
        return case.model_copy(update=update)

    def _moved_pins(self, member: str, visits: Iterable[_Visit]) -> dict[NodeId, object]:
        names = {name: self._names.get(name, name) for name in getattr(self._case, member)}
        kept = {
            names[name]: pin
            for name, pin in getattr(self._case, member).items()
            if names[name] in self._nodes and (member == "replies" or name not in self._path)
        }
        return kept | (_pinned(visits, member) if member in _KINDS else {})

    def _expected(self) -> Expectation:
        expect = self._case.expect
        update: dict[str, object] = {"path": tuple(name for name, _ in self._visits)}
        if expect.answers is not None:
            last = {name: pin for name, pin in self._visits if isinstance(pin, str)}
            names = {name: self._names.get(name, name) for name in expect.answers}
            update["answers"] = {
                names[name]: last.get(names[name], answer)
                for name, answer in expect.answers.items()
                if isinstance(self._nodes.get(names[name]), ClassifyNode)
            }
        return expect.model_copy(update=update)

    def _moved_tree(self) -> CaseTree | None:
        named = self._case.tree
        if named is None or named.id != self._tree.tree_id:
            return named
        update = {
            member: value
            for member, value in (("version", self._tree.version), ("hash", tree_hash(self._tree)))
            if getattr(named, member) is not None
        }
        return named.model_copy(update=update)


def _branch(pin: _Pin) -> str:
    if isinstance(pin, CaseResult):
        return pin.status
    return str(pin).lower() if isinstance(pin, bool) else pin


def _pin_for(node: AnyNode, branch: str) -> _Pin:
    match node:
        case ActionNode():
            return CaseResult.model_validate({"status": branch})
        case ConditionNode():
            return branch == "true"
    return branch


def _fits(node: AnyNode, pin: _Pin) -> bool:
    right = any(isinstance(node, kind) and isinstance(pin, of) for kind, of in _KINDS.values())
    return right and _branch(pin) in node.branches()


def _unvisited(tree: Tree, visited: Collection[NodeId]) -> Iterator[_Visit]:
    """A pin for each node besides those visited that does what the tree's own project offers."""
    built_in = {predicate.key for predicate in BUILT_IN}
    for name, node in tree.nodes.items():
        match node:
            case ActionNode() if name not in visited:
                yield name, CaseResult(status="success")
            case ConditionNode() if name not in visited and node.predicate_key not in built_in:
                yield name, True


def _pinned(visits: Iterable[_Visit], member: str) -> dict[NodeId, object]:
    """The pins of one kind: one for all visits of a node, where these are alike, else one a visit."""
    by_node: dict[NodeId, list[_Pin]] = {}
    for node, pin in visits:
        if isinstance(pin, _KINDS[member][1]):
            by_node.setdefault(node, []).append(pin)
    return {
        node: pins[0] if all(pin == pins[0] for pin in pins) else tuple(pins)
        for node, pins in by_node.items()
    }
