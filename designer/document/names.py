"""What nodes and their kinds are called wherever they are shown."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from engine import AnyNode, NodeId, TerminalNode, Tree

KINDS: Final = {"action": "Action", "classify": "Question", "condition": "Condition", "terminal": "Terminal"}
_LENGTH: Final = 300


def kind_name(kind: str | None) -> str:
    """What a kind of node is called; one that is none of ours by its own word."""
    return KINDS.get(kind or "", kind or "Unknown type")


def node_title(node_id: NodeId, node: AnyNode | None) -> str:
    """What a node is called, on one line: a terminal by its verdict, else by its name, else by its id."""
    verdict = node.verdict if isinstance(node, TerminalNode) else None
    name = node.name if node else None
    return next((title for title in (one_line(verdict), one_line(name)) if title), one_line(node_id))


def titles_of(tree: Tree) -> Mapping[NodeId, str]:
    """What each node of a tree is called; nodes that would be called the same go by their ids."""
    titles = {node_id: node_title(node_id, node) for node_id, node in tree.nodes.items()}
    times = Counter(titles.values())
    return {i: title if times[title] == 1 else one_line(i) for i, title in titles.items()}


def one_line(text: str | None, length: int = _LENGTH) -> str:
    """The beginning of a text, every run of blanks and line ends as one space."""
    return " ".join((text or "")[:length].split())
