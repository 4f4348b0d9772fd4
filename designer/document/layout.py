"""Automatic layout: layers one after the other, as few crossings as a quick search finds, no overlaps.

The way of Sugiyama: break the cycles by walking from the start, give each node the layer of its longest
way there, order each layer by where its neighbours are, then move every card as near to its neighbours as
the cards beside it allow. The same tree and sizes always give the same places.

Layers go from left to right. A tree that grows downwards is laid out on its side and then turned.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise, repeat
from math import ceil
from typing import Final, NamedTuple, TypeAlias

from designer.document.cells import Cells
from designer.document.design import Direction
from designer.document.draft import Place
from engine import AnyNode, NodeId, TerminalNode, Tree

Size: TypeAlias = tuple[float, float]
"""Width and height of a card, in scene units."""

CardSize: TypeAlias = Callable[[AnyNode, NodeId], Size]

Progress: TypeAlias = Callable[[float], None]
"""Hears how much is done, from 0 to 1; what it raises ends the work."""


class _Gaps(NamedTuple):
    """The least distances, in scene units."""

    layer: float
    """Between two layers."""
    card: float
    """After a card that has branches, within its layer."""
    end: float
    """After a terminal."""
    before: float
    """Between a card and a branch that passes through its layer after it."""
    line: float
    """After such a branch."""


_GAPS: Final[Mapping[Direction, _Gaps]] = {
    "right": _Gaps(149.0, 44.0, 44.0, 22.0, 22.0),  # with a card of 236 it keeps every column on the grid
    "down": _Gaps(99.0, 149.0, 44.0, 149.0, 22.0),  # the names of stubs stand beside a card
}
_GRID: Final = 11
_ROOM: Final = 44.0  # between a block and the card it makes way for
_CROWD: Final = 4  # a terminal with more branches than this is reached by stubs from all but the layer before
_SWEEPS: Final = 24
_PATIENCE: Final = 4  # sweeps, or rounds of swaps, that may pass without a gain
_LARGE: Final = 2000  # nodes; from here on a third of the sweeps has to do

_Links: TypeAlias = list[list[tuple[int, float]]]
"""For each item its neighbours in a layer, each with the height of the port there, from 0 (top) to 1."""


def arrange(
    tree: Tree,
    sizes: Mapping[NodeId, Size],
    pinned: Mapping[NodeId, Place] | None = None,
    *,
    direction: Direction = "right",
    origin: Place | None = None,
    progress: Progress = lambda _: None,
) -> dict[NodeId, Place]:
    """A place for every node of the tree, in the order of its nodes.

    Nodes in ``pinned`` stay where they are. The others are laid out among themselves, clear of all pinned
    cards: as one block with its upper left corner at ``origin``, or without one what can be reached from the
    start first, beside the pinned node that leads to it where there is one, and everything else below.
    """
    stay = {i: place for i, place in (pinned or {}).items() if i in tree.nodes}
    free = [i for i in tree.nodes if i not in stay]
    if direction == "down":
        sizes = {i: (sizes[i][1], sizes[i][0]) for i in tree.nodes}
        stay, origin = _turned(stay), Place(origin.y, origin.x) if origin else None
    places = stay
    for block in [free] if origin else _reachable_first(tree, free):
        if block:
            boxes = _block(tree, sizes, block, _GAPS[direction], progress)
            places = places | _settled(tree, sizes, boxes, places, _GAPS[direction], origin)
    if direction == "down":
        places = _turned(places)
    return {i: places[i] for i in tree.nodes}


def usual_size(node: AnyNode, _id: NodeId) -> Size:
    """About the size of a node's card; who draws the cards knows better."""
    return (160.0, 34.0) if isinstance(node, TerminalNode) else (236.0, 86.0 + 27 * len(_ports(node)))


def _ports(node: AnyNode) -> list[str]:
    return list(dict.fromkeys([*node.branches(), *(t.condition for t in node.transitions)]))


def _turned(places: Mapping[NodeId, Place]) -> dict[NodeId, Place]:
    return {i: Place(place.y, place.x) for i, place in places.items()}


def _reachable_first(tree: Tree, free: Sequence[NodeId]) -> tuple[list[NodeId], list[NodeId]]:
    """Those of the nodes that can be reached from the start, and the others."""
    seen = {tree.start_node_id} & tree.nodes.keys()
    ahead = list(seen)
    while ahead:
        for transition in tree.nodes[ahead.pop()].transitions:
            target = transition.next_node_id
            if target in tree.nodes and target not in seen:
                seen.add(target)
                ahead.append(target)
    return [i for i in free if i in seen], [i for i in free if i not in seen]


def _settled(
    tree: Tree,
    sizes: Mapping[NodeId, Size],
    block: Mapping[NodeId, Place],
    placed: Mapping[NodeId, Place],
    gaps: _Gaps,
    origin: Place | None,
) -> dict[NodeId, Place]:
    """The block moved as a whole: to its origin, beside what leads to it, else below; down until clear."""
    dx, dy = 0.0, 0.0
    lead = None if origin else _lead(tree, block, placed)
    if origin:
        dx, dy = origin.x, origin.y
    elif lead:
        source, target = lead
        dx = placed[source].x + sizes[source][0] + gaps.layer - block[target].x
        dy = placed[source].y - block[target].y
    elif placed:
        dx = min(place.x for place in placed.values())
        dy = max(place.y + sizes[i][1] for i, place in placed.items()) + 2 * gaps.end
    dx, dy = _snapped(dx), _snapped(dy)
    left = min(place.x for place in block.values()) + dx
    right = max(place.x + sizes[i][0] for i, place in block.items()) + dx
    beside: Cells[NodeId] = Cells()
    for i, place in placed.items():
        if place.x <= right and place.x + sizes[i][0] >= left:
            beside.put(i, (place.x, place.y, *sizes[i]))
    while down := _overlap(sizes, block, placed, beside, dx, dy):
        dy += down
    return {i: Place(place.x + dx, place.y + dy) for i, place in block.items()}


def _lead(
    tree: Tree, block: Mapping[NodeId, Place], placed: Mapping[NodeId, Place]
) -> tuple[NodeId, NodeId] | None:
    """The first placed node that leads to one of the block, and that one."""
    return next(
        (
            (source, target)
            for source in placed
            for target in tree.nodes[source].targets.values()
            if target in block
        ),
        None,
    )


def _overlap(
    sizes: Mapping[NodeId, Size],
    block: Mapping[NodeId, Place],
    placed: Mapping[NodeId, Place],
    beside: Cells[NodeId],
    dx: float,
    dy: float,
) -> float:
    """How far the block must go down to be clear of the cards that it would cover here."""
    most = 0.0
    for i, place in block.items():
        y, (w, h) = place.y + dy, sizes[i]
        for other in beside.near((place.x + dx, y - _GRID, w, h + 2 * _GRID)):
            most = max(most, placed[other].y + sizes[other][1] + _ROOM - y)
    return float(ceil(most / _GRID) * _GRID)


def _snapped(value: float) -> float:
    return float(round(value / _GRID) * _GRID)


def _block(
    tree: Tree, sizes: Mapping[NodeId, Size], ids: Sequence[NodeId], gaps: _Gaps, progress: Progress
) -> dict[NodeId, Place]:
    """These nodes laid out from the origin, as if there were no others."""
    index = {node_id: i for i, node_id in enumerate(ids)}
    out = [_targets(tree.nodes[node_id], index) for node_id in ids]
    order, forward = _walk(out, index.get(tree.start_node_id, 0))
    layer = _layers(order, forward)
    ends = [isinstance(tree.nodes[node_id], TerminalNode) for node_id in ids]
    rows, back, ahead = _rows(order, forward, layer, ends)
    rows = _untangled(rows, back, ahead, _SWEEPS if len(ids) < _LARGE else _SWEEPS // 3, progress)

    through = len(back) - len(ids)
    heights = [sizes[node_id][1] for node_id in ids] + [0.0] * through
    room = [gaps.end if end else gaps.card for end in ends] + [gaps.line] * through
    passed = [min(space, gaps.before) for space in room]
    middles = _middles(rows, back, ahead, heights, room, passed)
    progress(1.0)
    lefts: list[float] = []
    x = 0.0
    for row in rows:
        lefts.append(x)
        x += max((sizes[ids[i]][0] for i in row if i < len(ids)), default=0.0) + gaps.layer
    top = min(middles[i] - heights[i] / 2 for i in range(len(ids)))
    return {
        node_id: Place(_snapped(lefts[layer[i]]), _snapped(middles[i] - heights[i] / 2 - top))
        for i, node_id in enumerate(ids)
    }


def _targets(node: AnyNode, index: Mapping[NodeId, int]) -> list[tuple[int, float]]:
    """The other nodes this one leads to, in the order of its ports."""
    ports, targets = _ports(node), node.targets
    found: dict[int, float] = {}
    for rank, branch in enumerate(ports):
        target = index.get(targets.get(branch, ""))
        if target is not None:
            found.setdefault(target, (rank + 0.5) / len(ports))
    return list(found.items())


def _walk(out: _Links, start: int) -> tuple[list[int], _Links]:
    """Every node after all that lead to it, and the links without those that close a cycle."""
    entered, finished = [False] * len(out), [False] * len(out)
    order: list[int] = []
    forward: _Links = [[] for _ in out]
    arrived = {v for links in out for v, _ in links}
    for root in (start, *(i for i in range(len(out)) if i not in arrived), *range(len(out))):
        if entered[root]:
            continue
        entered[root] = True
        # From the last port to the first, so that the order backwards runs from the first to the last.
        path = [(root, iter(reversed(out[root])))]
        while path:
            node, links = path[-1]
            for target, port in links:
                if entered[target] and not finished[target]:
                    continue  # closes a cycle
                forward[node].append((target, port))
                if not entered[target]:
                    entered[target] = True
                    path.append((target, iter(reversed(out[target]))))
                    break
            else:
                finished[node] = True
                order.append(node)
                path.pop()
    order.reverse()
    return order, forward


def _layers(order: Sequence[int], forward: _Links) -> list[int]:
    layer = [0] * len(forward)
    for node in order:
        for target, _ in forward[node]:
            layer[target] = max(layer[target], layer[node] + 1)
    return layer


def _rows(
    order: Sequence[int], forward: _Links, layer: Sequence[int], ends: Sequence[bool]
) -> tuple[list[list[int]], _Links, _Links]:
    """The items of each layer with their links back and ahead; long links pass through items of their own."""
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for node in order:
        rows[layer[node]].append(node)
    arriving = [0] * len(forward)
    for target, _ in chain.from_iterable(forward):
        arriving[target] += 1
    back: _Links = [[] for _ in forward]
    ahead: _Links = [[] for _ in forward]
    for node in order:
        for target, port in forward[node]:
            if ends[target] and _is_stub(layer[target] - layer[node], arriving[target]):
                continue
            steps = [node]
            for level in range(layer[node] + 1, layer[target]):
                steps.append(len(back))
                rows[level].append(len(back))
                back.append([])
                ahead.append([])
            steps.append(target)
            for source, step in pairwise(steps):
                back[step].append((source, port if source is node else 0.5))
                ahead[source].append((step, 0.5))
    return rows, back, ahead


def _is_stub(span: int, arriving: int) -> bool:
    """Whether a branch is a far one into a shared terminal: drawn as a stub, it must not bend the picture."""
    return arriving > 1 and span > (1 if arriving > _CROWD else 2)


def _untangled(
    rows: list[list[int]], back: _Links, ahead: _Links, sweeps: int, progress: Progress
) -> list[list[int]]:
    """The rows reordered so that links cross less: sweeps sort by the neighbours, the best one counts."""
    rank = [0.0] * len(back)

    def pull(links: Sequence[tuple[int, float]], otherwise: float) -> float:
        return sum(rank[i] + port for i, port in links) / len(links) if links else otherwise

    _number(rows, rank)
    best, fewest, idle = [list(row) for row in rows], _crossings(rows, back, rank), 0
    for sweep in range(sweeps):
        if not fewest or idle > _PATIENCE:
            break
        progress(0.1 + 0.6 * sweep / sweeps)
        onward = sweep % 2 == 0
        links = back if onward else ahead
        for row in rows[1:] if onward else rows[-2::-1]:
            row.sort(key=lambda i: pull(links[i], rank[i]))
            _number([row], rank)
        found = _crossings(rows, back, rank)
        idle += 1
        if found < fewest:
            best, fewest, idle = [list(row) for row in rows], found, 0
    _number(best, rank)
    for swaps in range(_PATIENCE):
        progress(0.7 + 0.2 * swaps / _PATIENCE)
        if not sum(_swapped(row, back, ahead, rank) for row in best):
            break
    return best


def _number(rows: Iterable[Sequence[int]], rank: list[float]) -> None:
    for row in rows:
        for i, item in enumerate(row):
            rank[item] = float(i)


def _crossings(rows: Iterable[Sequence[int]], back: _Links, rank: Sequence[float]) -> int:
    crossings = 0
    for row in rows:
        above: list[float] = []
        for item in row:
            heights = sorted(rank[j] + port for j, port in back[item])
            crossings += sum(len(above) - bisect_right(above, height) for height in heights)
            for height in heights:
                insort(above, height)
    return crossings


def _swapped(row: list[int], back: _Links, ahead: _Links, rank: list[float]) -> bool:
    """Swap neighbours in the row wherever that saves crossings; whether it did."""
    swapped = False
    for i in range(len(row) - 1):
        a, b = row[i], row[i + 1]
        if sum(_gain(links[a], links[b], rank) for links in (back, ahead)) > 0:
            row[i], row[i + 1] = b, a
            rank[a], rank[b] = rank[b], rank[a]
            swapped = True
    return swapped


def _gain(of_a: Sequence[tuple[int, float]], of_b: Sequence[tuple[int, float]], rank: Sequence[float]) -> int:
    """How many crossings it saves to have b above a."""
    if len(of_a) * len(of_b) > 400:
        return 0  # two crowds: not worth the time
    gain = 0
    for i, port in of_a:
        height = rank[i] + port
        for j, other in of_b:
            gain += (height > rank[j] + other) - (height < rank[j] + other)
    return gain


def _middles(
    rows: Sequence[Sequence[int]],
    back: _Links,
    ahead: _Links,
    heights: Sequence[float],
    room: Sequence[float],
    passed: Sequence[float],
) -> list[float]:
    """The middle of every item: as near to its neighbours as order and gaps allow."""
    middles = [0.0] * len(heights)
    distances = [
        [(heights[a] + heights[b]) / 2 + (room[a] if heights[b] else passed[a]) for a, b in pairwise(row)]
        for row in rows
    ]
    for row, gaps in zip(rows, distances, strict=True):
        for item, middle in zip(row, accumulate(gaps, initial=0.0), strict=True):
            middles[item] = middle

    levels = range(len(rows))
    both: _Links = [[*a, *b] for a, b in zip(back, ahead, strict=True)]
    sides = ((levels, back), (levels[::-1], ahead)) * 2 + ((levels, both), (levels[::-1], both)) * 2
    for order, links in sides:
        for level in order:
            row = rows[level]
            wanted = [
                sum(middles[j] + (port - 0.5) * heights[j] for j, port in links[i]) / len(links[i])
                if links[i]
                else middles[i]
                for i in row
            ]
            # An item that nothing pulls gives way.
            weights = [len(links[i]) or 0.05 for i in row]
            for item, middle in zip(row, _apart(wanted, weights, distances[level]), strict=True):
                middles[item] = middle
    return middles


def _apart(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The values nearest to the wanted ones (least squares) that keep their order and their gaps."""
    offsets = list(accumulate(gaps, initial=0.0))
    groups: list[tuple[float, float, int]] = []  # mean, weight, count
    for want, offset, weight in zip(wanted, offsets, weights, strict=True):
        mean, count = want - offset, 1
        while groups and groups[-1][0] > mean:
            other, heavy, many = groups.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many  # noqa: PLW2901  (the group grows)
        groups.append((mean, weight, count))
    means = chain.from_iterable(repeat(mean, count) for mean, _, count in groups)
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
