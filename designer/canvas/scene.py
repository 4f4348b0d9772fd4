"""Exactly the draft, as items: :meth:`Scene.show` is the only code that adds, moves or removes any.

Items exist only for what can be read on the screen (see :meth:`Scene.look_at`); the rest of a large tree is
painted by its overview. Where things are, and what is at a place, the chart tells for the whole tree.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from PySide6.QtCore import QPointF, QRectF, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QGraphicsItem, QGraphicsScene

from designer.canvas import chart
from designer.canvas.chart import Branch, Card, Chart
from designer.canvas.geometry import Rect
from designer.canvas.items import EdgeItem, Halt, Hint, Marks, NodeItem
from designer.canvas.notes import NoteItem
from designer.canvas.overlay import EdgeKey, Overlay, changed_edges, changed_nodes
from designer.canvas.overview import READABLE, STEPPED_BACK, Overview
from designer.canvas.style import Style
from designer.document import design
from designer.document.breakpoints import breakpoints
from designer.document.cells import Cell
from designer.document.draft import Draft
from designer.theme import Tokens
from engine import NodeId, TerminalNode, Tree

_FEW: Final = 150  # nodes; so small a tree has all its items wherever one looks
_STEP: Final = 24  # cards made at a time: a frame's worth
_AHEAD: Final = 0.25  # of the view, on each side, has its items before it is seen
_BEHIND: Final = 1.0  # and so much keeps them


class Spot(NamedTuple):
    """What is at a place of the scene: a node (and the branch of a port), a branch, a note, or nothing."""

    node: Card | None = None
    branch: str | None = None
    edge: Branch | None = None
    note: NoteItem | None = None


def _halts(draft: Draft) -> dict[NodeId, dict[str | None, Halt]]:
    """The breakpoints of a draft, by node and branch; None is the node itself."""
    found: dict[NodeId, dict[str | None, Halt]] = {}
    for one in breakpoints(draft):
        found.setdefault(one.node, {})[one.branch] = (
            "off" if not one.enabled else "log" if one.message else "on"
        )
    return found


def _no_hint(_: NodeId) -> Hint:
    return ""


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
        self.overview = Overview(Chart(), self.look)
        self._chart = self.overview.chart
        self._cards: dict[NodeId, NodeItem] = {}
        self._branches: dict[EdgeKey, EdgeItem] = {}
        self._notes: dict[str, NoteItem] = {}
        self._verdicts: dict[str, int] = {}
        self._pinned: frozenset[NodeId] = frozenset()
        self._halts: Mapping[NodeId, Mapping[str | None, Halt]] = {}
        self._lit: frozenset[EdgeKey] = frozenset()
        self._hint_of: Callable[[NodeId], Hint] = _no_hint
        self._found: frozenset[NodeId] | None = None
        self._area: QRectF | None = None
        self._zoom = 1.0
        self._live: set[Cell] = set()
        self._growing: list[Cell] = []
        self._grow_soon = QTimer(self, interval=0, singleShot=True)
        self._grow_soon.timeout.connect(self._grow)

    # -- what there is

    @property
    def cards(self) -> Mapping[NodeId, Card]:
        """The card of every node of the tree, on the screen or not."""
        return self._chart.cards

    @property
    def branches(self) -> Mapping[EdgeKey, Branch]:
        """Every branch that leads somewhere, on the screen or not."""
        return self._chart.branches

    @property
    def node_items(self) -> Mapping[NodeId, NodeItem]:
        """The items of the nodes in view; :attr:`cards` knows all nodes."""
        return MappingProxyType(self._cards)

    @property
    def edge_items(self) -> Mapping[EdgeKey, EdgeItem]:
        """The items of the branches in view; :attr:`branches` knows all that lead somewhere."""
        return MappingProxyType(self._branches)

    @property
    def note_items(self) -> Mapping[str, NoteItem]:
        """The paper of every note, and the box of every frame."""
        return MappingProxyType(self._notes)

    def card(self, node_id: NodeId) -> Card:
        """Where a node is and what it shows, on the screen or not."""
        return self._chart.cards[node_id]

    def leading_to(self, node_id: NodeId) -> frozenset[EdgeKey]:
        """The branches that lead to this node."""
        return frozenset(self._chart.incoming(node_id))

    def touching(self, box: QRectF) -> frozenset[NodeId]:
        """The nodes whose cards this box touches."""
        return frozenset(self._chart.within(Rect(box.x(), box.y(), box.width(), box.height())))

    def within(self, name: str) -> tuple[set[NodeId], set[str]]:
        """The nodes and the notes that lie in a frame; a note holds nothing."""
        frame = self._notes[name]
        if frame.note.kind != "frame":
            return set(), set()
        nodes = {i for i in self.touching(frame.box) if frame.box.contains(QRectF(*self.card(i).card))}
        notes = {i for i, note in self._notes.items() if note is not frame and frame.box.contains(note.box)}
        return nodes, notes

    def notes_touching(self, box: QRectF) -> frozenset[str]:
        """The notes this box touches, and the frames that lie in it whole: within a frame is open ground."""
        return frozenset(
            name
            for name, item in self._notes.items()
            if (box.contains(item.box) if item.note.kind == "frame" else box.intersects(item.box))
        )

    def spot(self, pos: QPointF, slack: float = 0.0) -> Spot:
        """What is at this place; ``slack`` widens ports and lines for a view that shows them small."""
        found = self._chart.spot(pos.x(), pos.y(), slack)
        if found != chart.Spot():
            return Spot(*found)
        notes = sorted(self._notes.values(), key=lambda note: -note.zValue())
        return Spot(note=next((note for note in notes if note.part_at(pos, slack)), None))

    def tip(self, pos: QPointF, slack: float = 0.0) -> str:
        """What cannot be seen in full at this place, as plain text."""
        spot = self.spot(pos, slack)
        if spot.node:
            item = self._cards.get(spot.node.node_id) or self._item(spot.node.node_id)
            return item.tip(pos - item.pos())
        if spot.edge:
            name = self._chart.name(spot.edge.target)
            return f"{spot.edge.key[1]} → {name}{' (there is no such node)' if spot.edge.lost else ''}"
        return ""

    def contents(self, node_ids: Iterable[NodeId] | None = None) -> QRectF:
        """The box around these cards and what reaches out of them; around everything when none are named."""
        box = QRectF(*self._chart.contents(node_ids))
        for note in self._notes.values() if node_ids is None else ():
            box = box.united(note.box)
        return box

    def marks(self, node_id: NodeId) -> Marks:
        """What is to be seen on a card, on the screen or not."""
        overlay, card, drawn = self.overlay, self.card(node_id), self._chart.branches
        node = card.node
        stubs = [drawn[key].route.kind == "stub" for key in self._chart.incoming(node_id)]
        current = overlay.current == node_id
        targets = self._chart.targets(node_id)
        halts = self._halts.get(node_id, {})
        return Marks(
            selected=node_id in self.selection,
            pinned=node_id in self._pinned,
            start=node_id == self.draft.tree.start_node_id,
            state=overlay.standing if current else "",
            visits=overlay.visits.get(node_id, 0),
            taken=frozenset(branch for branch in card.rows if (node_id, branch) in overlay.taken),
            targets={branch: self._chart.name(target) for branch, target in targets.items()},
            near=stubs.count(False),
            far=stubs.count(True),
            problems=overlay.problems.get(node_id, ()),
            probabilities=overlay.probabilities.get(node_id, {}),
            rank=self._verdicts.get(node.verdict)
            if isinstance(node, TerminalNode) and node.verdict
            else None,
            halt=halts.get(None, ""),
            halts={branch: halt for branch, halt in halts.items() if branch is not None},
            source=overlay.sources.get(node_id, ""),
            cost=overlay.costs.get(node_id),
        )

    # -- showing

    def show(
        self, draft: Draft, overlay: Overlay | None = None, selection: frozenset[NodeId] = frozenset()
    ) -> None:
        """Be a picture of exactly this. What is the same object as before is not touched."""
        before, self.draft = self.draft, draft
        old_overlay, self.overlay = self.overlay, overlay or Overlay()
        old_selection, self.selection = self.selection, selection
        self.overview.overlay, self.overview.selection = self.overlay, selection
        if before.notes is not draft.notes:
            self._show_notes(draft)
        change = self._chart.update(draft)
        marked = changed_nodes(old_overlay, self.overlay) | (old_selection ^ selection)
        if before.design is not draft.design or before.tree.nodes is not draft.tree.nodes:
            pinned = design.pinned(draft)
            marked |= pinned ^ self._pinned
            self._pinned = pinned
            halts = _halts(draft)
            marked |= {i for i in halts.keys() | self._halts.keys() if halts.get(i) != self._halts.get(i)}
            self._halts = halts
        if before.tree.start_node_id != draft.tree.start_node_id:
            marked |= {before.tree.start_node_id, draft.tree.start_node_id}
        if before.tree.nodes is not draft.tree.nodes and change.nodes:
            marked |= self._rank_verdicts(draft.tree)
        marked &= self.cards.keys()
        retaken = changed_edges(old_overlay, self.overlay)
        costs, old_costs = self.overlay.costs, old_overlay.costs
        priced = self._cards.keys() if costs is not old_costs and (costs or old_costs) else set()
        self._show_cards(change.nodes, change.nodes | change.ends | marked | priced)
        self._show_branches(change.edges, retaken)
        sources = {source for source, _ in retaken} & self.cards.keys()
        self._repaint(change.cells | {self._chart.home(node_id) for node_id in marked | sources})
        if change.nodes:
            self._choose()
        self.shown.emit()

    def look_at(self, area: QRectF | None, zoom: float = 1.0) -> None:
        """Have items for what can be read when this part of the scene is seen at this zoom.

        None stands for everything, as at the beginning. Many items are made in steps; what has none yet is
        painted as it looks from afar.
        """
        self._area, self._zoom = area, zoom
        self._choose()

    def settle(self) -> None:
        """Make at once all items that are still to be made."""
        while self._growing:
            self._grow()

    def paint_far(self, painter: QPainter, areas: Iterable[QRectF]) -> None:
        """Paint what has no items and meets any of these areas."""
        self.overview.paint(painter, areas, self._zoom, without=self._live)

    def restyle(self, tokens: Tokens) -> None:
        """Paint everything in the colours of another theme."""
        self.look = Style(tokens)
        self.overview.restyle(self.look)
        items: list[NodeItem | EdgeItem | NoteItem] = [*self._cards.values(), *self._branches.values()]
        for item in [*items, *self._notes.values()]:
            item.restyle(self.look)
        self.update()

    def light(self, edges: Iterable[EdgeKey]) -> None:
        """Light exactly these branches."""
        lit = frozenset(edges)
        changed, self._lit, self.overview.lit = lit ^ self._lit, lit, lit
        for key in changed & self.branches.keys():
            if key in self._branches:
                self._branches[key].light(lit=key in lit)
            else:
                self._update(QRectF(*self.branches[key].box))

    def hold(self, hint_of: Callable[[NodeId], Hint] | None = None) -> None:
        """Light cards as targets, or dim them as refused; none at all without a function that says which."""
        self._hint_of = hint_of or _no_hint
        for node_id, item in self._cards.items():
            item.hold(self._hint_of(node_id))

    def find(self, found: frozenset[NodeId] | None) -> None:
        """Have these cards stand out and everything else step back; None has all cards look as usual."""
        if found != self._found:
            self._found = self.overview.found = found
            for node_id, item in self._cards.items():
                item.setOpacity(self._opacity(node_id))
            for line in self._branches.values():
                line.setOpacity(self._opacity(None))
            self.update()

    def _opacity(self, node_id: NodeId | None) -> float:
        return 1.0 if self._found is None or node_id in self._found else STEPPED_BACK

    # -- items

    def _item(self, node_id: NodeId) -> NodeItem:
        item = NodeItem(self.card(node_id), self._chart.direction, self.marks(node_id), self.look)
        item.hold(self._hint_of(node_id))
        item.setOpacity(self._opacity(node_id))
        if self._area is not None:
            # On the screen a card is painted once a zoom; a picture of everything needs no copies.
            item.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        return item

    def _show_cards(self, moved: Iterable[NodeId], marked: Iterable[NodeId]) -> None:
        for node_id in moved:
            item = self._cards.get(node_id)
            home = self._chart.home(node_id) if node_id in self.cards else None
            lives = home in self._live or (item is not None and home in self._growing)
            if item is not None and lives:
                item.put(self.card(node_id), self._chart.direction)
            elif item is not None:
                self.removeItem(self._cards.pop(node_id))
            elif lives:
                self._add_card(node_id)
        for node_id in marked:
            if node_id in self._cards:
                self._cards[node_id].mark(self.marks(node_id))

    def _show_branches(self, drawn: set[EdgeKey], marked: set[EdgeKey]) -> None:
        for key in drawn:
            branch, item = self.branches.get(key), self._branches.get(key)
            if branch is not None and key[0] in self._cards:
                if item is None:
                    self._add_branch(key)
                else:
                    item.put(branch)
            elif item is not None:
                self.removeItem(self._branches.pop(key))
        for key in marked & self._branches.keys():
            self._mark_branch(key)

    def _show_notes(self, draft: Draft) -> None:
        for name in self._notes.keys() - draft.notes.keys():
            self.removeItem(self._notes.pop(name))
        for name, note in draft.notes.items():
            item = self._notes.get(name)
            if item is None:
                item = self._notes[name] = NoteItem(name, self.look)
                item.put(note)
                self.addItem(item)
            elif item.note is not note:
                item.put(note)

    def _add_card(self, node_id: NodeId) -> None:
        if node_id not in self._cards:
            self._cards[node_id] = self._item(node_id)
            self.addItem(self._cards[node_id])

    def _add_branch(self, key: EdgeKey) -> None:
        if key not in self._branches:
            item = self._branches[key] = EdgeItem(self.branches[key], self.look)
            self._mark_branch(key)
            item.setOpacity(self._opacity(None))
            item.light(lit=key in self._lit)
            self.addItem(item)

    def _mark_branch(self, key: EdgeKey) -> None:
        self._branches[key].mark(taken=key in self.overlay.taken, last=key == self.overlay.last_taken)

    # -- which items there are

    def _choose(self) -> None:
        """Say which squares shall have items, take them from others, and begin to make them."""
        ahead, kept = self._squares(_AHEAD), self._squares(_BEHIND)
        for cell in self._live - kept:
            self._shed(cell)
        self._live &= kept
        for cell in [cell for cell in self._growing if cell not in kept]:
            self._shed(cell)
        middle = self._area.center() if self._area else QPointF()
        self._growing = sorted(
            ahead - self._live,
            key=lambda cell: (QPointF(*cell) * chart.SIDE - middle).manhattanLength(),
        )
        if not self._grow_soon.isActive():
            self._grow()

    def _squares(self, margin: float) -> set[Cell]:
        """The squares with cards in the part that is looked at and a margin of so much of it."""
        area = self._area
        if area is None or (len(self.cards) <= _FEW and self._zoom >= READABLE):
            return set(self._chart.cells)
        if self._zoom < READABLE:
            return set()
        across, down = area.width() * margin, area.height() * margin
        wide = area.adjusted(-across, -down, across, down)
        return set(self._chart.standing(Rect(wide.x(), wide.y(), wide.width(), wide.height())))

    def _grow(self) -> None:
        """Make some of the items that are still to be made."""
        room = _STEP
        while self._growing and room > 0:
            cell = self._growing[0]
            missing = [node_id for node_id in self._chart.held(cell) if node_id not in self._cards]
            for node_id in missing[:room]:
                self._add_card(node_id)
                for branch in self._chart.targets(node_id):
                    self._add_branch((node_id, branch))
            room -= len(missing)
            if room >= 0:
                self._live.add(self._growing.pop(0))
        if self._growing:
            self._grow_soon.start()

    def _shed(self, cell: Cell) -> None:
        for node_id in self._chart.held(cell):
            if node_id in self._cards:
                self.removeItem(self._cards.pop(node_id))
            for branch in self._chart.targets(node_id):
                if (node_id, branch) in self._branches:
                    self.removeItem(self._branches.pop((node_id, branch)))

    def _repaint(self, cells: set[Cell]) -> None:
        """Have these squares painted anew; those whose items show everything see to it themselves."""
        self.overview.touch(cells & self._live)
        self._update(self.overview.touch(cells - self._live))

    def _update(self, box: QRectF) -> None:
        if not box.isEmpty():
            # Marks keep their size on the screen, so from afar they reach far.
            reach = 24 / self._zoom
            self.update(box.adjusted(-reach, -reach, reach, reach))

    def _rank_verdicts(self, tree: Tree) -> set[NodeId]:
        """Count the verdicts in order of appearance; the terminals to look at again when that changed."""
        terminals = {i: node for i, node in tree.nodes.items() if isinstance(node, TerminalNode)}
        verdicts = dict.fromkeys(node.verdict for node in terminals.values() if node.verdict)
        ranks = {verdict: rank for rank, verdict in enumerate(verdicts)}
        if ranks == self._verdicts:
            return set()
        self._verdicts = self.overview.ranks = ranks
        return set(terminals)
