"""Trees whose texts try to be something else: markup, escapes, words of a chart's language, no text at all.

They are often unfinished: branches that lead nowhere, nodes that are not there.
"""

from typing import Final

from hypothesis import strategies as st

from engine import (
    ActionNode,
    AnyNode,
    ClassifyNode,
    ConditionNode,
    OpaqueNode,
    TerminalNode,
    Transition,
    Tree,
)

LONG: Final = "a very long text without an end " * 400
RIGHT_TO_LEFT: Final = "האם זה נכון? (yes/no)"
TEXTS: Final = (
    '"]',
    '"] --> evil["',
    "\\",
    'a\\"b',
    "\\N\\l\\G",
    "\\start",
    "start",
    "end",
    "one\ntwo\r\nthree\rfour",
    "\ttab  and   blanks ",
    "<script>alert(1)</script>",
    "</style><svg onload=alert(1)>",
    "</svg><image href='http://example.com/a.png'/>",
    "a && b < c > d &amp; &#34; &quot;",
    "]]> <!-- --> <![CDATA[",
    "#quot; #35; ﬂ°°34¶ß",
    "style:#1; classDef:x#2;",
    "%%{init: {}}%%",
    "%% a comment",
    "---\ntitle: x\n---",
    "1. a list",
    "- a list",
    "*bold* _slanted_ `code` ~~gone~~ [link](http://example.com)",
    "www.example.com a@example.com",
    "fa:fa-car",
    "$$x^2$$",
    "{{name}} {}[]()",
    "a -> b; c -- d",
    "it's |piped|",
    RIGHT_TO_LEFT,
    "\u202eturned\u202c \u2066kept\u2069",
    "👩‍👩‍👧‍👦 🏳️‍🌈 é é",
    "漢字かな交じり文",
    "\x00\x01\x07\x08\x0b\x1b[31m\x7f\x85\ufffe\uffff",
    "\u2028\u2029\ufeff\xa0",
    "",
    "   ",
    LONG,
)

texts: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(TEXTS),
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.lists(st.sampled_from(TEXTS[:-1]), min_size=2, max_size=3).map("".join),
)

_maybe = st.none() | texts


@st.composite
def hostile_trees(draw: st.DrawFn) -> Tree:
    """Any tree, finished or not, with any texts at any place."""
    ids = draw(st.lists(texts, max_size=5, unique=True))
    targets = st.sampled_from(ids) | texts if ids else texts
    nodes: dict[str, AnyNode] = {}
    for node_id in ids:
        answers = tuple(draw(st.lists(texts, max_size=3)))
        kinds: list[AnyNode] = [
            ActionNode(action_key=draw(_maybe)),
            ClassifyNode(task=draw(_maybe), answers=answers),
            ConditionNode(
                predicate_key=draw(_maybe),
                predicate_parameters={draw(texts): draw(texts), "list": [1, draw(texts)]},
            ),
            TerminalNode(verdict=draw(_maybe)),
            OpaqueNode(type=draw(_maybe)),
        ]
        node = draw(st.sampled_from(kinds))
        labels = draw(st.lists(st.sampled_from([*node.branches(), *TEXTS]), max_size=4))
        steps = tuple(Transition(condition=label, next_node_id=draw(targets)) for label in labels)
        nodes[node_id] = node.replace(name=draw(_maybe), description=draw(_maybe), transitions=steps)
    return Tree(
        tree_id=draw(texts),
        name=draw(_maybe),
        description=draw(_maybe),
        start_node_id=draw(targets),
        system_prompt=draw(_maybe),
        task=draw(_maybe),
        nodes=nodes,
    )


def all_texts() -> Tree:
    """Every hostile text as id, as name and task, as answer and as verdict of one tree."""
    nodes: dict[str, AnyNode] = {}
    ids = [text for text in TEXTS if text]
    for node_id, following in zip(ids, [*ids[1:], "the end"], strict=True):
        nodes[node_id] = ClassifyNode(
            name=f"name {node_id}",
            task=node_id,
            answers=(node_id, "other"),
            transitions=(
                Transition(condition=node_id, next_node_id=following),
                Transition(condition="other", next_node_id="the end"),
                Transition(condition="unknown", next_node_id="not there " + node_id[:50]),
            ),
        )
    nodes["the end"] = TerminalNode(verdict=TEXTS[0])
    return Tree(tree_id=TEXTS[0], version=1, name='A "name" <b>&', start_node_id=ids[0], nodes=nodes)
