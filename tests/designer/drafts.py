"""Drafts to edit in tests."""

from designer.document.draft import Draft, Place
from engine import ActionNode, AnyNode, ClassifyNode, ConditionNode, TerminalNode, Transition, Tree


def leads(**targets: str) -> tuple[Transition, ...]:
    return tuple(Transition(condition=branch, next_node_id=target) for branch, target in targets.items())


def triage() -> Draft:
    """load → ask → (yes: good, no: bad, unknown: again by a condition)."""
    nodes: dict[str, AnyNode] = {
        "load": ActionNode(
            action_key="load",
            transitions=leads(success="ask", transientFailure="load", permanentFailure="bad"),
        ),
        "ask": ClassifyNode(
            task="Is it fine?",
            answers=("yes", "no"),
            transitions=leads(yes="good", no="bad", unknown="known"),
        ),
        "known": ConditionNode(
            predicate_key="propertyExists",
            predicate_parameters={"key": "order"},
            transitions=leads(true="good", false="ask"),
        ),
        "good": TerminalNode(verdict="supported"),
        "bad": TerminalNode(verdict="refused"),
    }
    places = {node_id: Place(330 * i, 0) for i, node_id in enumerate(nodes)}
    return Draft(Tree(tree_id="triage", version=1, start_node_id="load", nodes=nodes), places)


def empty() -> Draft:
    return Draft(Tree(tree_id="new-tree", version=1))


def targets(draft: Draft, node: str) -> dict[str, str]:
    return {t.condition: t.next_node_id for t in draft.tree.nodes[node].transitions}
