"""May I? Each rule answers None where an edit may be made, else the reason in plain words."""

from collections.abc import Collection, Sequence

from designer.document import flow
from designer.document.draft import Draft
from engine import UNKNOWN, NodeId


def may_connect(draft: Draft, source: NodeId, branch: str, target: NodeId) -> str | None:
    """Whether this branch may lead to the target. A node may lead back to itself."""
    nodes = draft.tree.nodes
    if source not in nodes or target not in nodes:
        return "That node is no longer there."
    if not nodes[source].branches():
        return "A terminal ends the run and leads nowhere."
    if branch not in nodes[source].branches():
        return f"{source} has no branch {branch}."
    return None


def may_rename(draft: Draft, old: NodeId, new: NodeId) -> str | None:
    """Whether the node may take the new id."""
    if old not in draft.tree.nodes:
        return "That node is no longer there."
    if not new.strip():
        return "A node needs an id."
    if new != old and new in draft.tree.nodes:
        return f"Another node is called {new}."
    return None


def may_remove(draft: Draft, ids: Collection[NodeId]) -> str | None:
    """Whether there is anything to remove."""
    return None if draft.tree.nodes.keys() & set(ids) else "Select a node first."


def may_detach(draft: Draft, ids: Collection[NodeId]) -> str | None:
    """Whether the flow can go on without these nodes: only where it is clear to where."""
    if (reason := may_remove(draft, ids)) is not None:
        return reason
    match len(flow.exits(draft.tree, ids)):
        case 1:
            return None
        case 0:
            return "Nothing follows, so there is nowhere to go on."
        case several:
            return f"{several} nodes follow; which of them shall go on is not clear."


def may_lead_on(draft: Draft, node_id: NodeId | None) -> str | None:
    """Whether the node has a branch that can take another node."""
    node = draft.tree.nodes.get(node_id or "")
    if node is None:
        return "Select one node first."
    if not node.branches():
        return "A terminal ends the run and leads nowhere."
    return None if flow.loose_branch(node) is not None else f"Every branch of {node_id} leads somewhere."


def may_change_kind(draft: Draft, ids: Collection[NodeId], kind: str) -> str | None:
    """Whether any of these nodes can become one of this kind."""
    if (reason := may_remove(draft, ids)) is not None:
        return reason
    others = any(draft.tree.nodes[i].type != kind for i in ids if i in draft.tree.nodes)
    return None if others else "It is one already."


def may_answer(answers: Sequence[str], answer: str) -> str | None:
    """Whether an answer may be added to these."""
    if not answer.strip():
        return "An answer needs a word."
    if answer == UNKNOWN:
        return f"The branch {UNKNOWN} is always there and is no answer of its own."
    if answer in answers:
        return f"{answer} is already an answer."
    return None
