"""Exactly the draft, as items: :meth:`Scene.show` is the only code that adds, moves or removes any."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from PySide6.QtCore import QPointF, QRectF, Signal
from PySide6.QtWidgets import QGraphicsScene

from designer.canvas.geometry import (
    Rect,
    Route,
    curve,
    input_port,
    is_far,
    is_forward,
    lane,
    output_port,
    rows,
    stub,
)
from designer.canvas.items import EdgeItem, Marks, NodeItem
from designer.canvas.overlay import EdgeKey, Overlay, changed_edges, changed_nodes
from designer.canvas.style import Style
from designer.document.draft import Draft, Place
from designer.document.names import one_line
from designer.theme import Tokens
from engine import NodeId, TerminalNode, Tree

_NOWHERE: Final = Place(0, 0)


class Spot(NamedTuple):
    """What is at a place of the scene: a node (and the branch whose port it is), or a branch, or nothing."""

    node: NodeItem | None = None
    branch: str | None = None
    edge: EdgeItem | None = None


class Scene(QGraphicsScene):
    """A draft with its marks, drawn."""

    shown = Signal()
    """The scene shows something else now."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__()
        self.look = Style(tokens)
        self.draft = Draft(Tree())
        self.overlay = Overlay()
        self.selection: frozenset[NodeId] = frozenset()
        self._cards: dict[NodeId, NodeItem] = {}
        self._branches: dict[EdgeKey, EdgeItem] = {}
        self._links: dict[NodeId, Mapping[str, NodeId]] = {}
        self._incoming: dict[NodeId, set[EdgeKey]] = {}
        self._lanes: set[EdgeKey] = set()
        self._verdicts: dict[str, int] = {}
        self._lit: frozenset[EdgeKey] = frozenset()

    @property
    def node_items(self) -> Mapping[NodeId, NodeItem]:
        """The card of every node."""
        return MappingProxyType(self._cards)

    @property
    def edge_items(self) -> Mapping[EdgeKey, EdgeItem]:
        """The line of every branch that leads somewhere."""
        return MappingProxyType(self._branches)

    def show(
        self, draft: Draft, overlay: Overlay | None = None, selection: frozenset[NodeId] = frozenset()
    ) -> None:
        """Be a picture of exactly this. What is the same object as before is not touched."""
        before, self.draft = self.draft, draft
        old_overlay, self.overlay = self.overlay, overlay or Overlay()
        old_selection, self.selection = self.selection, selection
        changed = self._show_cards(draft)
        edges, ends = self._show_branches(draft, changed)
        touched = changed | ends | changed_nodes(old_overlay, self.overlay) | (old_selection ^ selection)
        if before.tree.start_node_id != draft.tree.start_node_id:
            touched |= {before.tree.start_node_id, draft.tree.start_node_id}
        if changed:
            touched |= self._rank_verdicts(draft.tree)
        for node_id in touched & self._cards.keys():
            self._cards[node_id].mark(self._marks(node_id))
        for key in (edges | changed_edges(old_overlay, self.overlay)) & self._branches.keys():
            self._branches[key].mark(taken=key in self.overlay.taken, last=key == self.overlay.last_taken)
        self.shown.emit()

    def restyle(self, tokens: Tokens) -> None:
        """Paint everything in the colours of another theme."""
        self.look = Style(tokens)
        for card in self._cards.values():
            card.restyle(self.look)
        for branch in self._branches.values():
            branch.restyle(self.look)
        self.update()

    def light(self, edges: Iterable[EdgeKey]) -> None:
        """Light exactly these branches."""
        lit = frozenset(edges)
        for key in (lit ^ self._lit) & self._branches.keys():
            self._branches[key].light(lit=key in lit)
        self._lit = lit

    def leading_to(self, node_id: NodeId) -> frozenset[EdgeKey]:
        """The branches that lead to this node."""
        return frozenset(self._incoming.get(node_id, ()))

    def spot(self, pos: QPointF, slack: float = 0.0) -> Spot:
        """What is at this place; ``slack`` widens ports and lines for a view that shows them small."""
        reach = 10 + slack
        found = self.items(QRectF(pos.x() - reach, pos.y() - reach, 2 * reach, 2 * reach))
        edges = [item for item in found if isinstance(item, EdgeItem)]
        cards = [item for item in found if isinstance(item, NodeItem)]
        for edge in edges:
            if edge.has_name_at(pos):
                return Spot(edge=edge)
        for card in cards:
            if (branch := card.branch_at(pos - card.pos(), slack)) is not None:
                return Spot(card, branch)
        for card in cards:
            if card.shape().contains(pos - card.pos()):
                return Spot(card)
        near = QRectF(pos.x() - slack, pos.y() - slack, 2 * slack + 0.1, 2 * slack + 0.1)
        return Spot(edge=next((edge for edge in edges if edge.shape().intersects(near)), None))

    def contents(self, node_ids: Iterable[NodeId] | None = None) -> QRectF:
        """The box around these cards and what reaches out of them; around everything when none are named."""
        if node_ids is None:
            items = [*self._cards.values(), *self._branches.values()]
        else:
            items = [self._cards[node_id] for node_id in node_ids if node_id in self._cards]
        box = QRectF()
        for item in items:
            box = box.united(item.sceneBoundingRect())
        return box

    def _show_cards(self, draft: Draft) -> set[NodeId]:
        """Make the cards fit the draft; the nodes that came, left, changed or moved."""
        nodes, cards = draft.tree.nodes, self._cards
        changed = set(cards.keys() - nodes.keys())
        for node_id in changed:
            self.removeItem(cards.pop(node_id))
        for node_id, node in nodes.items():
            place = draft.places.get(node_id, _NOWHERE)
            card = cards.get(node_id)
            if card is None:
                card = cards[node_id] = NodeItem(node_id, self.look)
                card.put(node, place)
                self.addItem(card)
            elif card.node is not node or card.place != place:
                card.put(node, place)
            else:
                continue
            changed.add(node_id)
        return changed

    def _show_branches(self, draft: Draft, changed: set[NodeId]) -> tuple[set[EdgeKey], set[NodeId]]:
        """Make the lines fit the cards; the branches that may look different, and the nodes at their ends."""
        if not changed:
            return set(), set()
        ends: set[NodeId] = set()
        for node_id in changed:
            ends |= self._link(node_id, draft)
        # A branch follows both its ends, and how it is drawn depends on how many others lead to its target.
        edges = {(source, branch) for source in changed for branch in self._links.get(source, ())}
        edges.update(*(self._incoming.get(target, ()) for target in changed | ends))
        crossing = {key for key in edges if self._goes_back(key)}
        self._lanes = ((self._lanes - edges) | crossing) & self._branches.keys()
        # Lanes keep clear of all cards, so they follow any change.
        edges |= self._lanes
        slots = {
            target: slot for slot, target in enumerate(sorted({self._target(key) for key in self._lanes}))
        }
        others = [card.card for card in self._cards.values()]
        for key in edges:
            target = self._target(key)
            self._branches[key].put(
                target, self._name(target), self._route(key, slots, others), lost=target not in self._cards
            )
            ends |= {key[0], target}
        self._lit &= self._branches.keys()
        return edges, ends

    def _link(self, node_id: NodeId, draft: Draft) -> set[NodeId]:
        """Have exactly the branches that leave this node now; the targets that won or lost one."""
        node = draft.tree.nodes.get(node_id)
        old = self._links.pop(node_id, {})
        new = {branch: target for branch, target in node.targets.items() if target} if node else {}
        if new:
            self._links[node_id] = new
        moved = {branch for branch in old.keys() | new.keys() if old.get(branch) != new.get(branch)}
        for branch in moved & old.keys():
            self._incoming[old[branch]].discard((node_id, branch))
        for branch in moved & new.keys():
            self._incoming.setdefault(new[branch], set()).add((node_id, branch))
        for branch in old.keys() - new.keys():
            self.removeItem(self._branches.pop((node_id, branch)))
        for branch in new.keys() - old.keys():
            item = self._branches[node_id, branch] = EdgeItem((node_id, branch), self.look)
            self.addItem(item)
        return {target for branch in moved for target in (old.get(branch), new.get(branch)) if target}

    def _target(self, key: EdgeKey) -> NodeId:
        return self._links[key[0]][key[1]]

    def _name(self, node_id: NodeId) -> str:
        card = self._cards.get(node_id)
        return card.headline if card else one_line(node_id)

    def _is_stub(self, key: EdgeKey) -> bool:
        source, target = self._cards[key[0]], self._cards.get(self._target(key))
        if target is None:
            return True
        shared = len(self._incoming[target.node_id])
        return isinstance(target.node, TerminalNode) and is_far(source.card, target.card, shared)

    def _goes_back(self, key: EdgeKey) -> bool:
        if self._is_stub(key):
            return False
        source, target = self._cards[key[0]], self._cards[self._target(key)]
        return not is_forward(output_port(source.card, source.node, key[1]), input_port(target.card))

    def _route(self, key: EdgeKey, slots: Mapping[NodeId, int], others: Sequence[Rect]) -> Route:
        source, target = self._cards[key[0]], self._cards.get(self._target(key))
        start = output_port(source.card, source.node, key[1])
        if target is None or self._is_stub(key):
            return stub(start, self._name(self._target(key)))
        end = input_port(target.card)
        if key not in self._lanes:
            return curve(start, end)
        return lane(start, end, source.card, target.card, others, slots[target.node_id])

    def _marks(self, node_id: NodeId) -> Marks:
        overlay, node = self.overlay, self._cards[node_id].node
        stubs = [self._branches[key].route.kind == "stub" for key in self._incoming.get(node_id, ())]
        current = overlay.current == node_id
        return Marks(
            selected=node_id in self.selection,
            start=node_id == self.draft.tree.start_node_id,
            state="" if not current else "paused" if overlay.paused else "running",
            visits=overlay.visits.get(node_id, 0),
            taken=frozenset(branch for branch in rows(node) if (node_id, branch) in overlay.taken),
            targets={branch: self._name(target) for branch, target in self._links.get(node_id, {}).items()},
            near=stubs.count(False),
            far=stubs.count(True),
            problems=overlay.problems.get(node_id, ()),
            probabilities=overlay.probabilities.get(node_id, {}),
            rank=self._verdicts.get(node.verdict)
            if isinstance(node, TerminalNode) and node.verdict
            else None,
        )

    def _rank_verdicts(self, tree: Tree) -> set[NodeId]:
        """Count the verdicts in order of appearance; the terminals to look at again when that changed."""
        terminals = {i: node for i, node in tree.nodes.items() if isinstance(node, TerminalNode)}
        verdicts = dict.fromkeys(node.verdict for node in terminals.values() if node.verdict)
        ranks = {verdict: rank for rank, verdict in enumerate(verdicts)}
        if ranks == self._verdicts:
            return set()
        self._verdicts = ranks
        return set(terminals)
