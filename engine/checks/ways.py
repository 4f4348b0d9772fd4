"""Ways: what in a tree leads where, and what follows from that for the places on the way.

The places that lead to each other in a circle count as one, a component. Components are kept in an order in
which each comes after all it leads to, so that whatever holds of one follows from its neighbours alone. A
change moves only the components between the two ends of a new connection, and what holds is looked at again
only as far as it becomes different.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import filterfalse
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from networkx import DiGraph

# Two places that are no nodes; a file cannot name a node so, for control characters are refused.
END: Final = "\x00after a terminal, and after a node with branches still to be drawn"
LOST: Final = "\x00where branches lead whose target cannot be known"

Component: TypeAlias = list[str]

_NOWHERE: Final[frozenset[str]] = frozenset()
_FINISHED: Final = 1 << 62


class Ways:
    """The ways through a tree from its start.

    ``onward`` says where each place leads and ``asking`` which places ask a question; questions are counted
    up to ``most``. ``unreached`` are the places no way comes to, ``stuck`` those from which none comes to an
    end, and ``circles`` the components of several places or of one that leads to itself.
    """

    def __init__(
        self, start: str, onward: Mapping[str, frozenset[str]], asking: AbstractSet[str], most: int
    ) -> None:
        self.most = most
        self.unreached: set[str] = set()
        self.stuck: set[str] = set()
        self.circles: dict[str, Component] = {}
        self._start, self._asking = start, set(asking)
        self._onward = {**onward, LOST: frozenset([END])}
        self._asks: dict[str, int] = {}
        self._rank: dict[str, int] = {}
        self._order: dict[int, str] = {}
        self._bottom = 0
        self._component: dict[str, Component] = {}
        for component in _components(self._onward):
            self._place(component, len(self._order))
            self._look_ahead(component)
        self.unreached.update(self._rank.keys() - _reached(start, self._onward))

    @property
    def asks(self) -> int:
        """How many different questions a way from the start can ask; in a circle it can ask all there are."""
        return self._asks.get(self._start, 0)

    def shortest(self) -> int:
        """How many nodes the shortest way from the start to an end visits; 0 when there is no such way."""
        seen, layer, visits = {self._start}, {self._start}, 0
        while layer and END not in layer:
            layer = {place for one in layer for place in self._onward.get(one, _NOWHERE)} - seen
            seen |= layer
            visits += 1
        return visits if layer else 0

    def leading_to(self, place: str) -> Iterable[str]:
        """The places that lead directly to this one."""
        return self._graph.pred.get(place, ())

    def change(self, start: str, onward: Mapping[str, frozenset[str]], asking: AbstractSet[str]) -> None:
        """Places that lead elsewhere from now on, those of them that ask, and the start."""
        graph = self._graph
        looked_at = {place for place in (self._start, start) if place in self._rank}
        self._start = start
        self._asking.difference_update(onward)
        self._asking |= asking
        for place in filterfalse(self._rank.__contains__, onward):
            self._place([place], self._bottom + len(self._order))
        span: list[int] = []
        for place, after in onward.items():
            for unknown in filterfalse(self._rank.__contains__, after):
                self._onward[unknown] = _NOWHERE
                self._bottom -= 1
                self._place([unknown], self._bottom)
            before = self._onward.get(place, _NOWHERE)
            self._onward[place] = after
            graph.add_node(place)
            graph.remove_edges_from([(place, target) for target in before - after])
            graph.add_edges_from((place, target) for target in after - before)
            looked_at |= {place, *(before ^ after)}
            for target in before ^ after:
                together = self._component[target] is self._component[place]
                if together or self._rank[target] > self._rank[place]:
                    span += (self._rank[place], self._rank[target])
        if span:
            looked_at |= self._rearrange(min(span), max(span))
        self._settle(looked_at, self._look_ahead, graph.pred, 1)
        self._settle(looked_at, self._look_back, graph.succ, -1)

    @cached_property
    def _graph(self) -> "DiGraph[str]":
        """The graph an editor keeps. To look at a tree once takes less time than to build it."""
        from networkx import DiGraph

        graph: DiGraph[str] = DiGraph()
        graph.add_nodes_from(self._rank)
        graph.add_edges_from((place, target) for place, targets in self._onward.items() for target in targets)
        return graph

    def _place(self, component: Component, rank: int) -> None:
        for number, place in enumerate(component, rank):
            self._rank[place], self._order[number], self._component[place] = number, place, component
        first = component[0]
        if len(component) > 1 or first in self._onward.get(first, _NOWHERE):
            self.circles[first] = component

    def _rearrange(self, lowest: int, highest: int) -> set[str]:
        """Find the components between two ranks anew; the places concerned."""
        lowest = min(self._rank[place] for place in self._component[self._order[lowest]])
        highest = max(self._rank[place] for place in self._component[self._order[highest]])
        places = {self._order[rank] for rank in range(lowest, highest + 1)}
        for place in self.circles.keys() & places:
            del self.circles[place]
        for component in _components({place: self._onward.get(place, _NOWHERE) & places for place in places}):
            self._place(component, lowest)
            lowest += len(component)
        return places

    def _settle(
        self,
        places: Iterable[str],
        look: Callable[[Component], bool],
        neighbours: Mapping[str, Iterable[str]],
        direction: int,
    ) -> None:
        """Look at the components of these places, and onward from each of which something else holds now."""
        queue = [direction * self._rank[self._component[place][0]] for place in places]
        heapify(queue)
        last = None
        while queue:
            rank = heappop(queue)
            if rank == last:
                continue
            last = rank
            component = self._component[self._order[direction * rank]]
            if look(component):
                for place in component:
                    for neighbour in neighbours[place]:
                        other = self._component[neighbour]
                        if other is not component:
                            heappush(queue, direction * self._rank[other[0]])

    def _look_ahead(self, component: Component) -> bool:
        """Whether something else holds now of the ways onward from a component."""
        first = component[0]
        if first in self.circles:
            ahead = _NOWHERE.union(*[self._onward[place] for place in component]).difference(component)
        else:
            ahead = self._onward.get(first, _NOWHERE)
        asks = max(map(self._asks.__getitem__, ahead), default=0) + len(self._asking.intersection(component))
        asks = min(asks, self.most)
        different = _note(self.stuck, component, holds=END not in component and ahead <= self.stuck)
        for place in component:
            if self._asks.get(place) != asks:
                self._asks[place] = asks
                different = True
        return different

    def _look_back(self, component: Component) -> bool:
        """Whether a component is reached now and was not, or the other way round."""
        reached = self._start in component or any(
            before not in self.unreached
            for place in component
            for before in self._graph.pred[place]
            if self._component[before] is not component
        )
        return _note(self.unreached, component, holds=not reached)


def _note(holders: set[str], places: Component, *, holds: bool) -> bool:
    """Note whether something holds of these places; whether that is new for some of them."""
    different = [place for place in places if (place in holders) is not holds]
    (holders.update if holds else holders.difference_update)(different)
    return bool(different)


def _reached(start: str, onward: Mapping[str, frozenset[str]]) -> set[str]:
    reached, queue = {start}, [start]
    for place in queue:
        ahead = onward.get(place, _NOWHERE) - reached
        reached |= ahead
        queue += ahead
    return reached


def _components(onward: Mapping[str, frozenset[str]]) -> Iterator[Component]:
    """The strongly connected components, each after all it leads to: Tarjan's algorithm without recursion."""
    lowest: dict[str, int] = {}
    unfinished: list[str] = []
    path: list[tuple[str, int, Iterator[str]]] = []

    def enter(place: str) -> None:
        path.append((place, len(unfinished), iter(onward.get(place, _NOWHERE))))
        lowest[place] = len(lowest)
        unfinished.append(place)

    for root in filterfalse(lowest.__contains__, onward):
        enter(root)
        while path:
            place, depth, ahead = path[-1]
            following = next(filterfalse(lowest.__contains__, ahead), None)
            if following is not None:
                enter(following)
                continue
            path.pop()
            entered = lowest[place]
            least = min(map(lowest.__getitem__, onward.get(place, _NOWHERE)), default=entered)
            if least < entered:
                lowest[place] = least
            else:
                component = unfinished[depth:]
                del unfinished[depth:]
                lowest.update(dict.fromkeys(component, _FINISHED))
                yield component
