"""What nodes, their kinds and their members are called wherever they are shown."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from engine import AnyNode, ClassifyNode, NodeId, TerminalNode, Tree, placeholders

KINDS: Final = {"action": "Action", "classify": "Question", "condition": "Condition", "terminal": "Terminal"}
LABELS: Final = {
    "treeId": "Tree id",
    "startNodeId": "Start node",
    "systemPrompt": "System prompt",
    "actionKey": "Action",
    "predicateKey": "Predicate",
    "predicateParameters": "Parameters",
    "maxNodeVisits": "Node visits",
    "maxLlmCalls": "LLM calls",
    "maxElapsedTime": "Elapsed time",
    "maxContextTokens": "Context tokens",
    "onExceeded": "When the time is up",
}
_LETTERS: Final = frozenset({"http", "json", "llm", "url"})
"""Words that are written in capitals."""
_LENGTH: Final = 300
_STEM: Final = re.compile(r".*[^\w]|.*_", re.DOTALL)


class Name(NamedTuple):
    """What a node is called: its title, and where others have the same title the end of its id."""

    title: str
    tail: str = ""

    def __str__(self) -> str:
        return f"{self.title} · {self.tail}" if self.tail else self.title


def kind_name(kind: str | None) -> str:
    """What a kind of node is called; one that is none of ours by its own word."""
    return KINDS.get(kind or "", kind or "Unknown type")


def label_of(member: str) -> str:
    """The words of a member: ``systemPrompt`` is "System prompt"."""
    if member in LABELS:
        return LABELS[member]
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in member).replace("_", " ").strip()
    words = " ".join(word.upper() if word in _LETTERS else word for word in words.split(" "))
    return words[:1].upper() + words[1:]


def node_title(node_id: NodeId, node: AnyNode | None) -> str:
    """What a node is called, on one line: a terminal by its verdict, else by its name, else by its id."""
    verdict = node.verdict if isinstance(node, TerminalNode) else None
    name = node.name if node else None
    return next((title for title in (one_line(verdict), one_line(name)) if title), one_line(node_id))


def names_of(tree: Tree) -> Mapping[NodeId, Name]:
    """What each node of a tree is called; nodes of the same title are told apart by the ends of their ids."""
    # Everybody who shows a tree asks for the same one.
    known, names = _latest[0]
    if known is not tree:
        names = _named(tree)
        _latest[0] = (tree, names)
    return names


def _named(tree: Tree) -> Mapping[NodeId, Name]:
    names = {node_id: Name(node_title(node_id, node)) for node_id, node in tree.nodes.items()}
    same: defaultdict[str, list[NodeId]] = defaultdict(list)
    for node_id, name in names.items():
        same[name.title].append(node_id)
    for title, ids in same.items():
        if len(ids) > 1:
            names |= {i: Name(title, one_line(tail)) for i, tail in zip(ids, _tails(ids), strict=True)}
    return names


_latest: Final[list[tuple[Tree, Mapping[NodeId, Name]]]] = [(Tree(), {})]


def titles_of(tree: Tree) -> Mapping[NodeId, str]:
    """The names of :func:`names_of`, each as one text."""
    return {node_id: str(name) for node_id, name in names_of(tree).items()}


def asked_for(tree: Tree) -> tuple[str, ...]:
    """The parameters the texts of a tree ask for with ``{{name}}``, each once."""
    tasks = [tree.task, *(node.task for node in tree.nodes.values() if isinstance(node, ClassifyNode))]
    return tuple(dict.fromkeys(name for task in tasks for name in placeholders(task)))


def one_line(text: str | None, length: int = _LENGTH) -> str:
    """The beginning of a text, every run of blanks and line ends as one space."""
    return " ".join((text or "")[:length].split())


def _tails(ids: Sequence[NodeId]) -> list[str]:
    """The ids without the words all of them begin with; whole where nothing would be left of one."""
    first, last = min(ids), max(ids)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    stem = _STEM.match(first[:same])
    tails = [node_id[stem.end() if stem else 0 :] for node_id in ids]
    return tails if all(tails) else list(ids)
