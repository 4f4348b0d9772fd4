"""A tree as a chart in the languages of Mermaid and Graphviz.

Both draw from left to right: a node with what it does in short, and the branches from one node to another
as one arrow. A node that a branch leads to and that is not there is drawn in red. Long texts are cut.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from engine.export.words import arrows_of, cut, detail_of, lost_in, one_line, title_of
from engine.tree import (
    ActionNode,
    AnyNode,
    ClassifyNode,
    ConditionNode,
    NodeId,
    OpaqueNode,
    TerminalNode,
    Tree,
)

_LONGEST_TITLE: Final = 60
_LONGEST_DETAIL: Final = 130
_LINE: Final = 34  # letters; Mermaid breaks lines itself


class _Look(NamedTuple):
    """How a kind of node is drawn: brackets in Mermaid, a shape in Graphviz, and colours of both."""

    word: str
    brackets: tuple[str, str]
    shape: str
    fill: str
    rim: str


_LOOKS: Final[Mapping[type[AnyNode], _Look]] = {
    ActionNode: _Look("action", ("[", "]"), 'box, style="filled,rounded"', "#E4EFF8", "#1F6FB2"),
    ClassifyNode: _Look("question", ("{{", "}}"), "hexagon, style=filled", "#EFE9F9", "#7A4FC9"),
    ConditionNode: _Look("condition", ("{", "}"), "diamond, style=filled", "#FBEEDD", "#A35C00"),
    TerminalNode: _Look("terminal", ("([", "])"), 'box, style="filled,rounded"', "#FFFFFF", "#596275"),
    OpaqueNode: _Look("broken", ("[", "]"), 'box, style="filled,dashed"', "#FBE9E7", "#B3261E"),
}
_INK: Final = "#1B2130"
_BRANCH: Final = "#778195"


# -- Mermaid


def mermaid_of(tree: Tree) -> str:
    """The tree as a Mermaid flowchart. Nodes are called by their number: ids of a tree can be any text."""
    ids = {node_id: f"n{number}" for number, node_id in enumerate(tree.nodes)}
    ids |= {node_id: f"lost{number}" for number, node_id in enumerate(lost_in(tree))}
    heading = _heading(tree)
    lines = ["---", f"title: {_yaml(heading)}", "---"] if heading else []
    lines.append("flowchart LR")
    lines += (f"    {line}" for line in (*_nodes(tree, ids), *_arrows(tree, ids), *_classes()))
    return "\n".join([*lines, ""])


def _nodes(tree: Tree, ids: Mapping[NodeId, str]) -> Iterator[str]:
    for node_id, name in ids.items():
        node = tree.nodes.get(node_id) or OpaqueNode()
        look = _LOOKS[type(node)]
        opening, closing = look.brackets
        lines = filter(None, (_title(node_id, node), _detail(node)))
        yield f"{name}{opening}{_label(*lines)}{closing}:::{look.word}"


def _arrows(tree: Tree, ids: Mapping[NodeId, str]) -> Iterator[str]:
    if tree.start_node_id in tree.nodes:
        yield f'start(("start")):::terminal --> {ids[tree.start_node_id]}'
    for node_id, node in tree.nodes.items():
        for target, branches in arrows_of(node).items():
            yield f"{ids[node_id]} -->|{_label(*map(_branch, branches))}| {ids[target]}"


def _classes() -> Iterator[str]:
    for look in _LOOKS.values():
        yield f"classDef {look.word} fill:{look.fill},stroke:{look.rim},color:{_INK}"


# Labels are Markdown, and a colon after the word "style" or "classDef" spoils the numbers behind it.
_NOT_LITERAL: Final = re.compile(r"(?<!\w)-|-(?!\w)|[^\w ,?!-]|_")


def _label(*lines: str) -> str:
    """Lines in quotes. Whatever could mean something is written as the number of its character."""
    literal = (_NOT_LITERAL.sub(lambda mark: f"#{ord(mark[0])};", line) for line in lines)
    return f'"{"<br/>".join(literal)}"'


def _yaml(text: str) -> str:
    # A JSON text is a YAML text; Mermaid rewrites what looks like a tag before it reads that.
    return json.dumps(text, ensure_ascii=False).replace("<", r"\u003c")


# -- Graphviz


def dot_of(tree: Tree) -> str:
    """The tree as a directed graph for Graphviz, its nodes called by their ids."""
    body = (*_settings(tree), *_vertices(tree), *_edges(tree))
    return "\n".join([f"digraph {_named(tree.tree_id)} {{", *(f"  {line};" for line in body), "}", ""])


def _settings(tree: Tree) -> Iterator[str]:
    font = 'fontname="Inter,Helvetica,Arial,sans-serif"'
    yield "rankdir=LR; ranksep=0.8"
    yield f'graph [{font}, fontsize=16, fontcolor="{_INK}", label={_escaped(_heading(tree))}, labelloc=t]'
    yield f'node [{font}, fontsize=11, fontcolor="{_INK}", margin="0.16,0.09"]'
    yield f'edge [{font}, fontsize=10, fontcolor="{_INK}", color="{_BRANCH}", arrowsize=0.7]'


def _vertices(tree: Tree) -> Iterator[str]:
    for node_id in (*tree.nodes, *lost_in(tree)):
        node = tree.nodes.get(node_id) or OpaqueNode()
        look = _LOOKS[type(node)]
        detail = textwrap.wrap(_detail(node), _LINE)
        label = _escaped("\n".join([_title(node_id, node), *detail]))
        colours = f'fillcolor="{look.fill}", color="{look.rim}"'
        yield f"{_named(node_id)} [label={label}, shape={look.shape}, {colours}]"


def _edges(tree: Tree) -> Iterator[str]:
    if tree.start_node_id in tree.nodes:
        # Backslashes of ids are doubled, so that no node can be called like this.
        yield r'"\start" [label=start, shape=plain]'
        yield rf'"\start" -> {_named(tree.start_node_id)}'
    for node_id, node in tree.nodes.items():
        for target, branches in arrows_of(node).items():
            label = _escaped("\n".join(map(_branch, branches)))
            yield f"{_named(node_id)} -> {_named(target)} [label={label}]"


def _named(node_id: str) -> str:
    """An id in quotes, no two ids alike. The quote is all that can be escaped in one."""
    spelled = node_id.replace("\\", r"\\").replace('"', r"\"")
    return '"' + _UNREADABLE.sub(lambda mark: rf"\u{ord(mark[0]):04x}", spelled) + '"'


_UNREADABLE: Final = re.compile("[^ -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _escaped(text: str) -> str:
    """A label in quotes: Graphviz knows escapes and the entities of HTML in it."""
    spelled = text.replace("&", "&amp;").replace("\\", r"\\").replace('"', r"\"")
    return '"' + spelled.replace("\n", r"\n") + '"'


# -- both


def _heading(tree: Tree) -> str:
    return cut(one_line(tree.name) or one_line(tree.tree_id), _LONGEST_DETAIL)


def _title(node_id: NodeId, node: AnyNode) -> str:
    return cut(title_of(node_id, node), _LONGEST_TITLE)


def _detail(node: AnyNode) -> str:
    return cut(detail_of(node), _LONGEST_DETAIL)


def _branch(branch: str) -> str:
    return cut(one_line(branch), _LONGEST_TITLE) or "(blank)"
