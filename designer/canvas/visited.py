"""Where a person has looked: back and forward, as in a browser."""

from typing import Final

from designer.document.design import Viewpoint

_MOST: Final = 100


class Visited:
    """The places left behind by jumps, and those gone back from."""

    def __init__(self) -> None:
        self._behind: list[Viewpoint] = []
        self._ahead: list[Viewpoint] = []

    def leave(self, here: Viewpoint) -> None:
        """Note that a jump leads away from here; what was ahead is forgotten."""
        self._ahead.clear()
        if here not in self._behind[-1:]:
            self._behind = [*self._behind[1 - _MOST :], here]

    def back(self, here: Viewpoint) -> Viewpoint | None:
        """The place before this one; None at the first."""
        return _turn(self._behind, self._ahead, here)

    def forward(self, here: Viewpoint) -> Viewpoint | None:
        """The place that was gone back from; None at the last."""
        return _turn(self._ahead, self._behind, here)


def _turn(source: list[Viewpoint], other: list[Viewpoint], here: Viewpoint) -> Viewpoint | None:
    while source:
        there = source.pop()
        if there != here:
            other.append(here)
            return there
    return None
