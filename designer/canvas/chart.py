"""Where everything of a draft lies: cards, the routes of branches, and what is at a place; no items, no Qt.

The chart covers the whole tree, whatever part of it is on the screen. It is brought up to date by what
changed, and everything in it belongs to one square of a coarse grid: a card to the square its corner is in,
a branch to the square of its source. What is drawn together is found and drawn anew by these squares.
"""

from collections.abc import Iterable, Mapping
from itertools import compress
from operator import is_not
from types import MappingProxyType
from typing import Final, NamedTuple
from zlib import crc32

from designer.canvas.geometry import (
    CARD,
    ROW,
    TITLE,
    Point,
    Rect,
    Route,
    bounds,
    card_size,
    curve,
    distance,
    input_port,
    is_crowded,
    is_far,
    is_forward,
    lane,
    row_middle,
    rows,
    stub,
    upright,
)
from designer.canvas.overlay import EdgeKey
from designer.document.cells import Cell, Cells, meet
from designer.document.design import Direction, direction
from designer.document.draft import Draft, Place
from designer.document.names import node_title, one_line
from engine import AnyNode, NodeId, TerminalNode

SIDE: Final = 1536.0
"""Length of the squares, in scene units."""

_NOWHERE: Final = Place(0, 0)
_NOTHING: Final = Rect(0, 0, 0, 0)
_PORT_HIT: Final = 10.0
_LINE_HIT: Final = 5.0
_OUT: Final = 14.0  # as far as ports, badges and rings reach out of a card
_LEAD: Final = 76.0  # and what stands in front of its input


class Card(NamedTuple):
    """The card of a node: what it shows and the room it takes."""

    node_id: NodeId
    node: AnyNode
    place: Place
    card: Rect
    rows: tuple[str, ...]

    @property
    def headline(self) -> str:
        """What the node is called."""
        return node_title(self.node_id, self.node)

    def branch_at(self, x: float, y: float, slack: float = 0.0) -> str | None:
        """The branch whose port is at this place of the scene, if any."""
        x, y = x - self.card.x, y - self.card.y
        if isinstance(self.node, TerminalNode) or abs(x - CARD) > _PORT_HIT + slack:
            return None
        for index, branch in enumerate(self.rows):
            if abs(y - row_middle(index)) <= min(_PORT_HIT + slack, ROW / 2):
                return branch
        return None


class Branch(NamedTuple):
    """The line of a branch that leads somewhere; ``lost`` when there is no such node."""

    key: EdgeKey
    target: NodeId
    name: str
    """What a stub says of its target; nothing for other lines."""
    route: Route
    lost: bool
    box: Rect

    def has_name_at(self, x: float, y: float) -> bool:
        """Whether the chip with the name of the far end is at this place of the scene."""
        chip = self.route.chip
        return chip is not None and chip.x <= x <= chip.right and chip.y <= y <= chip.bottom


class Spot(NamedTuple):
    """What is at a place of the scene: a node (and the branch whose port it is), or a branch, or nothing."""

    node: Card | None = None
    branch: str | None = None
    edge: Branch | None = None


class Change(NamedTuple):
    """What differs after an update."""

    nodes: set[NodeId]
    """Nodes that came, left, moved or are other nodes now."""
    ends: set[NodeId]
    """Nodes that won or lost a branch, or to which one is drawn in another way now."""
    edges: set[EdgeKey]
    """Branches that came, left or are drawn in another way now."""
    cells: set[Cell]
    """Squares in which something looks different."""


class Chart:
    """The cards and branches of the draft it was last updated to."""

    def __init__(self) -> None:
        self.direction: Direction = "right"
        self._nodes: Mapping[NodeId, AnyNode] = {}
        self._places: Mapping[NodeId, Place] = {}
        self._cards: dict[NodeId, Card] = {}
        self._branches: dict[EdgeKey, Branch] = {}
        self._links: dict[NodeId, Mapping[str, NodeId]] = {}
        self._incoming: dict[NodeId, dict[EdgeKey, None]] = {}
        self._where: Cells[NodeId] = Cells()
        self._lanes: Cells[EdgeKey] = Cells()
        self._homes: dict[Cell, dict[NodeId, None]] = {}
        self._reaches: Cells[Cell] = Cells(2 * SIDE)
        self._stands: Cells[Cell] = Cells(2 * SIDE)
        self._unmeasured: set[Cell] = set()

    @property
    def cards(self) -> Mapping[NodeId, Card]:
        """The card of every node."""
        return MappingProxyType(self._cards)

    @property
    def branches(self) -> Mapping[EdgeKey, Branch]:
        """Every branch that leads somewhere."""
        return MappingProxyType(self._branches)

    @property
    def cells(self) -> Iterable[Cell]:
        """The squares that hold anything."""
        return self._homes.keys()

    def targets(self, node_id: NodeId) -> Mapping[str, NodeId]:
        """Where the branches of a node lead, those that lead somewhere."""
        return self._links.get(node_id, {})

    def incoming(self, node_id: NodeId) -> Iterable[EdgeKey]:
        """The branches that lead to this node."""
        return self._incoming.get(node_id, {}).keys()

    def name(self, node_id: NodeId) -> str:
        """What a node is called, even one that is not there."""
        card = self._cards.get(node_id)
        return card.headline if card else one_line(node_id)

    def home(self, node_id: NodeId) -> Cell:
        """The square a node belongs to."""
        return _cell(self._cards[node_id].card)

    def held(self, cell: Cell) -> Iterable[NodeId]:
        """The nodes that belong to this square."""
        return self._homes.get(cell, {}).keys()

    def reach(self, cell: Cell) -> Rect:
        """The box around all that belongs to this square."""
        self._measure()
        box = self._reaches.box(cell)
        return _NOTHING if box is None else Rect(*box)

    def meeting(self, box: Rect) -> list[Cell]:
        """The squares of which anything may lie in this box, always in the same order."""
        self._measure()
        return sorted(self._reaches.near(box))

    def standing(self, box: Rect) -> list[Cell]:
        """The squares of which a card may lie in this box, always in the same order."""
        self._measure()
        return sorted(self._stands.near(box))

    def _measure(self) -> None:
        """Measure the squares that changed since the last time."""
        for cell in self._unmeasured:
            cards = [self._cards[node_id].card for node_id in self.held(cell)]
            if cards:
                lines = [
                    self._branches[node_id, branch].box
                    for node_id in self.held(cell)
                    for branch in self.targets(node_id)
                ]
                self._reaches.put(cell, _united([_around(card) for card in cards] + lines))
                self._stands.put(cell, _united(cards))
            else:
                self._reaches.drop(cell)
                self._stands.drop(cell)
        self._unmeasured.clear()

    def within(self, box: Rect) -> list[NodeId]:
        """The nodes whose cards have a point in common with this box."""
        return self._where.near(box)

    def contents(self, node_ids: Iterable[NodeId] | None = None) -> Rect:
        """The box around these cards and what reaches out of them; around everything when none are named."""
        if node_ids is None:
            return _united([self.reach(cell) for cell in self._homes])
        return _united([_around(self._cards[i].card) for i in node_ids if i in self._cards])

    def spot(self, x: float, y: float, slack: float = 0.0) -> Spot:
        """What is at this place; ``slack`` widens ports and lines for a view that shows them small."""
        reach = _PORT_HIT + slack
        around = Rect(x - reach, y - reach, 2 * reach, 2 * reach)
        lines = [
            branch
            for cell in self.meeting(around)
            for node_id in self._homes[cell]
            for label in self.targets(node_id)
            if meet((branch := self._branches[node_id, label]).box, around)
        ]
        for line in lines:
            if line.has_name_at(x, y):
                return Spot(edge=line)
        cards = [self._cards[node_id] for node_id in self._where.near(around)]
        for card in cards:
            if (label := card.branch_at(x, y, slack)) is not None:
                return Spot(card, label)
        for card in cards:
            if meet(card.card, (x, y, 0, 0)):
                return Spot(card)
        near = [(distance(line.route, x, y), index) for index, line in enumerate(lines)]
        best, index = min(near, default=(reach, 0))
        return Spot(edge=lines[index]) if best < _LINE_HIT + slack else Spot()

    # -- keeping up

    def update(self, draft: Draft) -> Change:
        """Be the chart of this draft. What is the same object as before is not looked at again."""
        change = Change(self._changed(draft), set(), set(), set())
        if not change.nodes:
            return change
        loose = self._move(draft, change)
        for node_id in change.nodes:
            loose |= self._link(node_id, draft.tree.nodes.get(node_id), change)
        for node_id in change.nodes:
            loose.update((node_id, branch) for branch in self.targets(node_id))
            loose.update(self.incoming(node_id))
        for key in loose:
            if key in self._branches or key[1] in self.targets(key[0]):
                self._draw(key, change)
        self._unmeasured |= change.cells
        return change

    def _changed(self, draft: Draft) -> set[NodeId]:
        """The nodes that came, left, moved or are other nodes now; all when the tree grows another way."""
        nodes, places, old_nodes, old_places = draft.tree.nodes, draft.places, self._nodes, self._places
        self._nodes, self._places = nodes, places
        changed = set(_differing(old_nodes, nodes))
        moved = _differing(old_places, places)
        changed.update(i for i in moved if i in nodes and old_places.get(i) != places.get(i))
        if direction(draft) != self.direction:
            self.direction = direction(draft)
            changed.update(nodes)
        return changed

    def _move(self, draft: Draft, change: Change) -> set[EdgeKey]:
        """Have the changed cards where they are now; the lanes that may have to make way for them."""
        nodes, places, cards = draft.tree.nodes, draft.places, self._cards
        loose: set[EdgeKey] = set()
        for node_id in change.nodes:
            node, old = nodes.get(node_id), cards.pop(node_id, None)
            if old is not None:
                loose.update(self._lanes.near(old.card))
                cell = _cell(old.card)
                del self._homes[cell][node_id]
                if not self._homes[cell]:
                    del self._homes[cell]
                change.cells.add(cell)
                self._where.drop(node_id)
            if node is not None:
                place = places.get(node_id, _NOWHERE)
                branches = rows(node)
                box = Rect(place.x, place.y, *card_size(node, node_id, branches))
                cards[node_id] = Card(node_id, node, place, box, branches)
                cell = _cell(box)
                self._homes.setdefault(cell, {})[node_id] = None
                change.cells.add(cell)
                self._where.put(node_id, box)
        if self._branches:
            for node_id in change.nodes & cards.keys():
                loose.update(self._lanes.near(cards[node_id].card))
        return loose

    def _link(self, node_id: NodeId, node: AnyNode | None, change: Change) -> set[EdgeKey]:
        """Have exactly the branches that leave this node now; the others that are drawn otherwise for it."""
        old = self._links.pop(node_id, {})
        new = {branch: target for branch, target in node.targets.items() if target} if node else {}
        if new:
            self._links[node_id] = new
        loose: set[EdgeKey] = set()
        for branch in {**old, **new}:
            before, after = old.get(branch), new.get(branch)
            if before == after:
                continue
            key = (node_id, branch)
            for target, joins in ((before, False), (after, True)):
                if target is not None:
                    ways = self._incoming.setdefault(target, {})
                    crowd = is_crowded(len(ways))
                    if joins:
                        ways[key] = None
                    else:
                        del ways[key]
                    change.ends.add(target)
                    # How a branch to a shared terminal is drawn depends on how many others there are.
                    if is_crowded(len(ways)) != crowd:
                        loose.update(ways)
            if after is None:
                del self._branches[key]
                self._lanes.drop(key)
                change.edges.add(key)
        return loose

    def _draw(self, key: EdgeKey, change: Change) -> None:
        """Route a branch; nothing is noted where it is drawn as before."""
        source, target_id = self._cards[key[0]], self._links[key[0]][key[1]]
        target = self._cards.get(target_id)
        index = source.rows.index(key[1])
        box = source.card
        middle = TITLE / 2 if isinstance(source.node, TerminalNode) else row_middle(index)
        start = Point(box.x + box.w, box.y + middle)
        if key in self._lanes:
            self._lanes.drop(key)
        name = ""
        if target is None or self._is_stub(source, target):
            name = self.name(target_id)
            route = stub(start, name)
        else:
            end = input_port(target.card, self.direction)
            if self.direction == "right" and is_forward(start, end):
                route = curve(start, end)
            else:
                route = self._around(key, start, end, source, target)
        branch = Branch(key, target_id, name, route, target is None, bounds(route))
        old = self._branches.get(key)
        if branch != old:
            self._branches[key] = branch
            change.edges.add(key)
            change.ends.update((key[0], target_id))
            change.cells.add(_cell(box))

    def _around(self, key: EdgeKey, start: Point, end: Point, source: Card, target: Card) -> Route:
        """A way outside the cards; any card that comes into the searched part makes it look again."""
        seen: list[Rect] = []

        def near(box: Rect) -> list[Rect]:
            seen.append(box)
            return [self._cards[node_id].card for node_id in self._where.near(box)]

        # The same on every machine; the highest row takes the outermost, so that lanes do not cross.
        slot = crc32(target.node_id.encode("utf-8", "surrogatepass")) - source.rows.index(key[1])
        if self.direction == "down":
            route = upright(start, end, source.card, near, slot)
        else:
            route = lane(start, end, source.card, target.card, near, slot)
        self._lanes.put(key, _united(seen))
        return route

    def _is_stub(self, source: Card, target: Card) -> bool:
        return isinstance(target.node, TerminalNode) and is_far(
            source.card, target.card, len(self._incoming[target.node_id]), self.direction
        )


def _differing(old: Mapping[NodeId, object], new: Mapping[NodeId, object]) -> Iterable[NodeId]:
    """The keys that are in one of the two only, or lead to another object."""
    if old is new:
        return ()
    if len(old) == len(new) and list(old) == list(new):
        return compress(new, map(is_not, old.values(), new.values()))
    return [i for i in old.keys() | new.keys() if old.get(i) is not new.get(i)]


def _cell(box: Rect) -> Cell:
    return int(box.x // SIDE), int(box.y // SIDE)


def _around(card: Rect) -> Rect:
    return Rect(card.x - _LEAD, card.y - _OUT, card.w + _LEAD + 3 * _OUT, card.h + 2 * _OUT)


def _united(boxes: list[Rect]) -> Rect:
    if not boxes:
        return _NOTHING
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    right, bottom = max(box.x + box.w for box in boxes), max(box.y + box.h for box in boxes)
    return Rect(left, top, right - left, bottom - top)
