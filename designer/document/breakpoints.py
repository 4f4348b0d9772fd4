"""Breakpoints: where a run shall pause, or only write a line, kept in the design file beside the tree.

They are the member ``breakpoints`` of ``Draft.design``. An entry that is not as it should be, or whose node
or branch is not there, counts as absent; the next change of the list leaves it out.
"""

from collections.abc import Collection, Iterable
from dataclasses import MISSING, dataclass, fields, replace
from typing import Final, TypeAlias

from designer.document.design import BREAKPOINTS, with_member
from designer.document.draft import Draft
from engine import Json, NodeId

Spot: TypeAlias = tuple[NodeId, str | None]
"""What a breakpoint is set on: a node, or with a label one of its branches."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Pauses a run before it visits the node, or with ``branch`` once that branch was taken.

    It is hit each time that happens and the ``condition``, an expression, holds. With ``hits`` only that hit
    of a run counts, the first being 1; 0 means every one. One with a ``message`` is a log point: it writes
    the message, in which ``{names}`` stand for what they are, and the run goes on.
    """

    node: NodeId
    branch: str | None = None
    enabled: bool = True
    hits: int = 0
    condition: str = ""
    message: str = ""

    @property
    def spot(self) -> Spot:
        """What it is set on; there is one breakpoint a spot."""
        return self.node, self.branch


def breakpoints(draft: Draft) -> tuple[Breakpoint, ...]:
    """The breakpoints of a draft, in the order of its nodes and their branches."""
    entries = draft.design.get(BREAKPOINTS)
    found: dict[Spot, Breakpoint] = {}
    for entry in entries if isinstance(entries, list) else ():
        made = _read(entry)
        if made is not None and _is_there(draft, made.spot):
            found.setdefault(made.spot, made)
    return _in_order(draft, found.values())


def breakpoint_at(draft: Draft, node: NodeId, branch: str | None = None) -> Breakpoint | None:
    """The breakpoint on this node, or on this branch of it, if there is one."""
    return next((b for b in breakpoints(draft) if b.spot == (node, branch)), None)


def toggle(draft: Draft, node: NodeId, branch: str | None = None) -> Draft:
    """With a plain breakpoint there, or without the one that is there."""
    if breakpoint_at(draft, node, branch) is not None:
        return remove(draft, [(node, branch)])
    return put(draft, Breakpoint(node, branch))


def put(draft: Draft, wanted: Breakpoint) -> Draft:
    """With this breakpoint, in place of the one on its spot; ``KeyError`` where there is no such spot."""
    if not _is_there(draft, wanted.spot):
        raise KeyError(wanted.spot)
    return _with(draft, [*(b for b in breakpoints(draft) if b.spot != wanted.spot), wanted])


def remove(draft: Draft, spots: Collection[Spot]) -> Draft:
    """Without the breakpoints on these spots."""
    return _with(draft, [b for b in breakpoints(draft) if b.spot not in spots])


def enable_all(draft: Draft, *, on: bool) -> Draft:
    """With every breakpoint honoured, or every one passed over."""
    return _with(draft, [replace(b, enabled=on) for b in breakpoints(draft)])


def _with(draft: Draft, wanted: Iterable[Breakpoint]) -> Draft:
    ordered = _in_order(draft, wanted)
    if ordered == breakpoints(draft):
        return draft
    return with_member(draft, BREAKPOINTS, [_written(b) for b in ordered] or None)


def _is_there(draft: Draft, spot: Spot) -> bool:
    node = draft.tree.nodes.get(spot[0])
    return node is not None and (spot[1] is None or spot[1] in node.branches())


def _in_order(draft: Draft, found: Iterable[Breakpoint]) -> tuple[Breakpoint, ...]:
    found = list(found)
    if len(found) < 2:  # nothing to sort; this is looked at with every edit
        return tuple(found)
    rank = {node_id: i for i, node_id in enumerate(draft.tree.nodes)}

    def order(one: Breakpoint) -> tuple[int, int]:
        branches = draft.tree.nodes[one.node].branches()
        return rank[one.node], -1 if one.branch is None else branches.index(one.branch)

    return tuple(sorted(found, key=order))


_USUAL: Final[dict[str, Json]] = {f.name: f.default for f in fields(Breakpoint) if f.default is not MISSING}


def _read(entry: Json) -> Breakpoint | None:
    match {**_USUAL, **entry} if isinstance(entry, dict) else None:
        case {
            "node": str() as node,
            "branch": str() | None as branch,
            "enabled": bool() as enabled,
            "hits": int() as hits,
            "condition": str() as condition,
            "message": str() as message,
        } if hits >= 0 and not isinstance(hits, bool):
            return Breakpoint(node, branch, enabled, hits, condition, message)
        case _:
            return None


def _written(one: Breakpoint) -> dict[str, Json]:
    values = {f.name: getattr(one, f.name) for f in fields(Breakpoint)}
    return {name: value for name, value in values.items() if name not in _USUAL or value != _USUAL[name]}
