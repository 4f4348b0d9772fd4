"""Where the answers of a run come from: node by node a model, a pin, a person, or a recorded run.

For actions and conditions it is the same: they are executed, pinned to a result, or give what was recorded.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Final, Literal, TypeAlias, TypeVar

from designer.document.names import titles_of
from designer.running.recording import Recording
from engine import (
    ActionNode,
    AnyNode,
    Catalog,
    ClassifyNode,
    ConditionNode,
    Decider,
    Decision,
    Inputs,
    NodeId,
    Pins,
    Question,
    ScriptedDecider,
    Session,
    Tree,
)
from engine.evaluate import Case, CaseResult, Fork, Recorded, Stale, fork

_Pinned = TypeVar("_Pinned")

SourceKind: TypeAlias = Literal["live", "pinned", "ask", "replay"]

Pin: TypeAlias = str | bool | CaseResult | tuple[str, ...] | tuple[bool, ...] | tuple[CaseResult, ...]
"""An answer, a truth or a result of an action: one for every visit, or a tuple with one a visit."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where what a node gives comes from. ``pin`` belongs to ``pinned``, ``recording`` to ``replay``."""

    kind: SourceKind
    pin: Pin | None = field(default=None, repr=False)
    recording: Recording | None = field(default=None, repr=False)


LIVE: Final = Source("live")
"""The configured decider is asked; an action or a condition is executed."""
ASK: Final = Source("ask")
"""The person is asked."""


def pinned(pin: Pin) -> Source:
    """Always this, or this by visit."""
    return Source("pinned", pin)


def replayed(recording: Recording) -> Source:
    """What was recorded, as long as it fits; what does not, and what comes after it, is live."""
    return Source("replay", recording=recording)


def source_words(source: Source, *, question: bool = True) -> str:
    """Where it comes from in a word or two, as a badge says it; ``question`` is false for other nodes."""
    return "executed" if source.kind == "live" and not question else _WORDS[source.kind]


_WORDS: Final[Mapping[SourceKind, str]] = {
    "live": "model",
    "pinned": "pinned",
    "ask": "asks you",
    "replay": "recorded",
}


@dataclass(frozen=True)
class Answering:
    """Who answers in the runs of one document.

    What was chosen for a node goes before the case, and the case before ``otherwise``. That is for questions;
    actions and conditions are executed then, unless a whole run is replayed.
    """

    chosen: Mapping[NodeId, Source] = field(default_factory=dict)
    otherwise: Source = ASK
    case: Case | None = None

    def source_of(self, tree: Tree, node_id: NodeId) -> Source | None:
        """Where what this node gives comes from; None for a node that gives nothing."""
        node = tree.nodes.get(node_id)
        if not isinstance(node, ActionNode | ClassifyNode | ConditionNode):
            return None
        if node_id in self.chosen:
            return self.chosen[node_id]
        for pins in _pins(self.case or _NO_CASE).values():
            if node_id in pins:
                return pinned(pins[node_id])
        return self.otherwise if isinstance(node, ClassifyNode) or self.otherwise.recording else LIVE

    def choose(self, node_id: NodeId, source: Source | None) -> "Answering":
        """With this source for a node; None leaves it to the case and to ``otherwise``."""
        chosen = {name: old for name, old in self.chosen.items() if name != node_id}
        return replace(self, chosen=chosen if source is None else {**chosen, node_id: source})

    def renamed(self, names: Mapping[NodeId, NodeId]) -> "Answering":
        """The same for nodes that are called otherwise now."""
        return replace(self, chosen={names.get(i, i): source for i, source in self.chosen.items()})

    def as_case(self, tree: Tree, id: str | None = None) -> Case:
        """The case, with the pins that were chosen in place of its own; under this id, if one is given."""
        base = self.case or _NO_CASE
        pins: dict[str, dict[NodeId, Pin]] = {
            member: {node: pin for node, pin in given.items() if node not in self.chosen}
            for member, given in _pins(base).items()
        }
        for node_id, source in self.chosen.items():
            member = _MEMBERS.get(type(tree.nodes.get(node_id)))
            if source.pin is not None and member is not None:
                pins[member][node_id] = source.pin
        given = {member: each for member, each in pins.items() if each or getattr(base, member)}
        return base.model_copy(update={"id": id or base.id, **given})

    def trouble(self, tree: Tree, catalog: Catalog, *, live: bool, withheld: bool) -> str | None:
        """Why no run can be answered this way, in plain words.

        ``live`` tells whether a decider is set up, ``withheld`` whether the catalog is without Python code
        of the project, because nobody trusts that.
        """
        return next(self._troubles(tree, catalog, live=live, withheld=withheld), None)

    def _troubles(self, tree: Tree, catalog: Catalog, *, live: bool, withheld: bool) -> Iterator[str]:
        for node_id, node in tree.nodes.items():
            source = self.source_of(tree, node_id)
            if source is None:
                continue
            if (
                node_id in self.chosen
                and (reason := may_answer(tree, node_id, source, live=live)) is not None
            ):
                yield reason
            recorded = source.recording is not None and source.recording.visits(node_id)
            if source.kind == "pinned" or recorded:
                continue
            match node:
                case ActionNode(action_key=key) if key not in catalog.actions:
                    missing, does = f"action '{key}'", "do"
                case ConditionNode(predicate_key=key) if key not in catalog.predicates:
                    missing, does = f"predicate '{key}'", "say"
                case _:
                    continue
            where, trust = titles_of(tree)[node_id], f"{WITHHELD} Or p" if withheld else "P"
            yield f"There is no {missing} here, which '{where}' asks for. {trust}in what it would {does}."

    def prepared(
        self,
        session: Session,
        inputs: Inputs,
        tree: Tree,
        person: Decider,
        *,
        plan: Fork | None = None,
        told: Callable[[Stale], None] | None = None,
    ) -> tuple[Session, Inputs]:
        """The session and the inputs of a run that is answered this way.

        The session's decider is the one that is asked live; where it has none, the person is. ``inputs`` are
        those of :meth:`as_case`. With a ``plan`` what was recorded goes before everything else. ``told``
        hears of recorded answers that are asked again.
        """
        live, catalog = session.decider or person, session.catalog

        def hear(found: Recorded | Stale) -> None:
            if told is not None and isinstance(found, Stale):
                told(found)

        @cache
        def again(recording: Recording) -> Fork:
            return fork(recording.events, tree=tree)

        @cache
        def given(recording: Recording) -> Inputs:
            return again(recording).inputs(catalog)

        def decider(source: Source) -> Decider:
            if source.recording is not None:
                return again(source.recording).decider(live, hear)
            return person if source.kind == "ask" else live

        asked: Decider = _ByNode({i: decider(s) for i, s in self.chosen.items()}, decider(self.otherwise))
        pins, start = inputs.pins, given(self.otherwise.recording) if self.otherwise.recording else inputs
        actions, conditions = [pins.actions], [pins.conditions]
        if plan is not None:
            start = plan.inputs(catalog)
            asked = plan.decider(ScriptedDecider(pins.answers, pins.replies, asked), hear)
            actions, conditions = [start.pins.actions, *actions], [start.pins.conditions, *conditions]
            pins = Pins()
        for recording, nodes in self._replayed(tree).items():
            actions.append(_Of(given(recording).pins.actions, nodes))
            conditions.append(_Of(given(recording).pins.conditions, nodes))
        pins = replace(pins, actions=_Layers(actions), conditions=_Layers(conditions))
        # What was chosen, pinned or recorded is for the nodes of this tree; one that it runs has its own.
        others = person if self.otherwise == ASK else live
        return replace(session, decider=_OfTree(tree.tree_id, asked, others)), replace(start, pins=pins)

    def _replayed(self, tree: Tree) -> Mapping[Recording, Collection[NodeId]]:
        """The recordings that are replayed, each with the nodes it is replayed at."""
        nodes: dict[Recording, set[NodeId]] = {}
        for node_id in tree.nodes:
            source = self.source_of(tree, node_id)
            if source is not None and source.recording is not None:
                nodes.setdefault(source.recording, set()).add(node_id)
        return nodes


WITHHELD: Final = (
    "Python code of its folder is used only once you trust it: press 'Trust this folder…' under Answers."
)
"""What may be the cause where something of the catalog is missing, and what can be done."""


def may_answer(tree: Tree, node_id: NodeId, source: Source, *, live: bool = True) -> str | None:
    """Whether what this node gives may come from there; ``live`` tells whether a decider is set up."""
    node = tree.nodes.get(node_id)
    if not isinstance(node, ActionNode | ClassifyNode | ConditionNode):
        return "There is nothing to answer at this node."
    title, question = titles_of(tree)[node_id], isinstance(node, ClassifyNode)
    match source.kind:
        case "ask" if not question:
            return f"'{title}' is no question, so you cannot be asked."
        case "live" if question and not live:
            return f"No model is set up that '{title}' could ask. Answer yourself, or pin the answer."
        case "pinned":
            return _misfit(node, title, source.pin)
        case _:
            return None


def _misfit(node: AnyNode, title: str, pin: Pin | None) -> str | None:
    each = pin if isinstance(pin, tuple) else () if pin is None else (pin,)
    for one in each:
        if not isinstance(one, _PINS[type(node)]):
            return f"What is pinned at '{title}' does not fit this kind of node."
        if isinstance(node, ClassifyNode) and one not in node.branches():
            return f"'{one}', pinned at '{title}', is none of its answers: {', '.join(node.branches())}."
    return None if each else f"Nothing is pinned at '{title}' yet."


_PINS: Final[Mapping[type, type]] = {ClassifyNode: str, ConditionNode: bool, ActionNode: CaseResult}
_MEMBERS: Final[Mapping[type, str]] = {
    ClassifyNode: "answers",
    ConditionNode: "conditions",
    ActionNode: "actions",
}


_NO_CASE: Final = Case(id="pins")


def _pins(case: Case) -> Mapping[str, Mapping[NodeId, Pin]]:
    """The pins of a case, by its members."""
    return {
        "answers": case.answers,
        "replies": case.replies,
        "conditions": case.conditions,
        "actions": case.actions,
    }


class _Of(Mapping[NodeId, _Pinned]):
    """Some nodes of a mapping. One of a recorded run hands out what is next, so nothing may be read ahead."""

    def __init__(self, whole: Mapping[NodeId, _Pinned], nodes: Collection[NodeId]) -> None:
        self._whole, self._nodes = whole, nodes

    def __getitem__(self, node: NodeId) -> _Pinned:
        if node not in self._nodes:
            raise KeyError(node)
        return self._whole[node]

    def __contains__(self, node: object) -> bool:
        return node in self._nodes and node in self._whole

    def __iter__(self) -> Iterator[NodeId]:
        return (node for node in self._whole if node in self._nodes)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Layers(Mapping[NodeId, _Pinned]):
    """Of several mappings the first that has something left for a node counts."""

    def __init__(self, layers: Sequence[Mapping[NodeId, _Pinned]]) -> None:
        self._layers = layers

    def __getitem__(self, node: NodeId) -> _Pinned:
        nothing: _Pinned | None = None
        for layer in self._layers:
            found = layer.get(node)
            # An empty list says that what was recorded there is used up.
            if found is not None and found != ():
                return found
            nothing = nothing if found is None else found
        if nothing is None:
            raise KeyError(node)
        return nothing

    def __contains__(self, node: object) -> bool:
        return any(node in layer for layer in self._layers)

    def __iter__(self) -> Iterator[NodeId]:
        return iter(dict.fromkeys(chain.from_iterable(self._layers)))

    def __len__(self) -> int:
        return len(dict.fromkeys(chain.from_iterable(self._layers)))


class _ByNode:
    """Hands each question to whoever is to answer it."""

    def __init__(self, deciders: Mapping[NodeId, Decider], otherwise: Decider) -> None:
        self._deciders, self._otherwise = deciders, otherwise

    def for_run(self) -> "_ByNode":
        deciders = {node_id: decider.for_run() for node_id, decider in self._deciders.items()}
        return _ByNode(deciders, self._otherwise.for_run())

    async def decide(self, question: Question) -> Decision:
        return await self._deciders.get(question.node, self._otherwise).decide(question)


class _OfTree:
    """Hands the questions of one tree to one decider, and those of all others to another."""

    def __init__(self, tree_id: str, own: Decider, others: Decider) -> None:
        self._tree_id, self._own, self._others = tree_id, own, others

    def for_run(self) -> "_OfTree":
        return _OfTree(self._tree_id, self._own.for_run(), self._others.for_run())

    async def decide(self, question: Question) -> Decision:
        own = question.tree_id == self._tree_id
        return await (self._own if own else self._others).decide(question)
