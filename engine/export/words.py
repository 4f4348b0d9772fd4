"""What charts and reports say of a node, as plain text that any form can hold."""

import json
import re
from collections.abc import Mapping
from typing import Final

from engine.tree import (
    ActionNode,
    AnyNode,
    ClassifyNode,
    ConditionNode,
    Json,
    NodeId,
    OpaqueNode,
    TerminalNode,
    Tree,
)

KINDS: Final[Mapping[type[AnyNode], str]] = {
    ActionNode: "Action",
    ClassifyNode: "Question",
    ConditionNode: "Condition",
    TerminalNode: "Terminal",
    OpaqueNode: "Unknown type",
}
"""What the kinds of node are called."""

# Controls, halves of surrogate pairs and the two characters that are none.
_NOT_TEXT: Final = re.compile("[^\t\n -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """The text with every line end as a newline, and a sign of its own for what XML cannot hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str | None) -> str:
    """The clean text with every run of blanks and line ends as one space."""
    return " ".join(clean(text or "").split())


def cut(text: str, length: int) -> str:
    """The text, or the beginning of it with an ellipsis, cut between words where there are any."""
    if len(text) <= length:
        return text
    words, _, last = text[:length].rpartition(" ")
    return f"{words if words and len(last) < length // 3 else text[: length - 1]}…"


def title_of(node_id: NodeId, node: AnyNode | None) -> str:
    """What a node is called, on one line: a terminal by its verdict, else by its name, else by its id."""
    verdict = node.verdict if isinstance(node, TerminalNode) else None
    name = node.name if node else None
    return one_line(verdict) or one_line(name) or one_line(node_id) or "(no name)"


def plain(value: Json) -> str:
    """A value of a parameter: a text as it is, all else as JSON."""
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def detail_of(node: AnyNode) -> str:
    """What a node does, on one line: its question, its action, or its predicate with the parameters."""
    match node:
        case ClassifyNode():
            return one_line(node.task)
        case ActionNode():
            return one_line(node.action_key)
        case ConditionNode():
            values = (node.predicate_parameters or {}).items()
            parts = [node.predicate_key or "", *(f"{name} = {plain(value)}" for name, value in values)]
            return one_line(", ".join(filter(None, parts)))
        case _:
            return ""


def branches_of(node: AnyNode) -> Mapping[str, NodeId]:
    """Where each branch leads, in the order a card shows them; empty for nowhere yet."""
    targets = node.targets
    named = dict.fromkeys((*node.branches(), *(step.condition for step in node.transitions)))
    return {branch: targets.get(branch, "") for branch in named}


def arrows_of(node: AnyNode) -> Mapping[NodeId, list[str]]:
    """By the node they lead to, the branches that lead somewhere."""
    arrows: dict[NodeId, list[str]] = {}
    for branch, target in branches_of(node).items():
        if target:
            arrows.setdefault(target, []).append(branch)
    return arrows


def lost_in(tree: Tree) -> list[NodeId]:
    """The nodes that branches lead to and that are not there, each once."""
    targets = (target for node in tree.nodes.values() for target in arrows_of(node))
    return [target for target in dict.fromkeys(targets) if target not in tree.nodes]
