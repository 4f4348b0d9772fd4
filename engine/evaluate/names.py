"""The names an expression may use, at one moment of a run."""

from collections.abc import Mapping

from engine.trail import Trail


def names_of(trail: Trail) -> Mapping[str, object]:
    """What is known at this moment, for :meth:`engine.expressions.Expression.evaluate`.

    ``node`` is where the run stands and ``visit`` which visit of it this is, or the next one will be;
    ``answer`` is the answer given last and ``branch`` the branch taken last, both None before there is one.
    ``properties`` and ``data`` hold the state, each data item by its id with its content; of items with one
    id the newest. Each of these also goes by its own name, a property before a data item.
    """
    last = trail.path[-1] if trail.path else None
    if trail.usage.node_visits > len(trail.path):
        node = trail.current
    elif last is not None:
        node = last.next or last.node
    else:
        node = trail.tree.start_node_id if trail.tree else None
    over = last is not None and last.next is None and node == last.node
    properties, data = dict(trail.properties), {item.id: item.content for item in trail.data}
    return {
        **data,
        **properties,
        "node": node,
        "visit": sum(visit.node == node for visit in trail.path) + (not over),
        "answer": trail.classifications[-1].answer if trail.classifications else None,
        "branch": next((visit.branch for visit in reversed(trail.path) if visit.branch), None),
        "properties": properties,
        "data": data,
    }
