"""A tree as one HTML page to read, print and pass on: its picture, its texts, what is wrong, what runs cost.

The page loads nothing and runs nothing. Markup is made by :func:`_tag` alone, which escapes every text that
is not markup already.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Final, TypeAlias

from engine.analysis import ASSUMED, Bound, Bounds, Range
from engine.budget import DEFAULT_LIMITS
from engine.counting import counted
from engine.errors import Problem, Severity
from engine.export.style import STYLE
from engine.export.words import KINDS, branches_of, clean, cut, one_line, plain, title_of
from engine.tree import (
    ActionNode,
    AnyNode,
    ClassifyNode,
    ConditionNode,
    NodeId,
    OnExceeded,
    TerminalNode,
    Tree,
    placeholders,
)
from engine.treefile import tree_hash

_LONGEST_NAME: Final = 80  # in links; where they lead it stands whole
_SEVERITIES: Final[Mapping[Severity, str]] = {"error": "Error", "warning": "Warning", "info": "Info"}
_WHEN_EXCEEDED: Final[Mapping[OnExceeded, str]] = {
    "halt": "Stop the run",
    "warn": "Warn and go on",
    "throttle": "Wait and go on",
}
_SIGNS: Final[Mapping[type[AnyNode], str]] = {
    ActionNode: "▶\ufe0e",
    ClassifyNode: "?",
    ConditionNode: "◆",
    TerminalNode: "○",
}


def anchors_of(tree: Tree) -> Mapping[NodeId, str]:
    """Where in the report each node is told, for links of a picture: ids of elements, without ``#``."""
    return {node_id: f"node-{number}" for number, node_id in enumerate(tree.nodes, 1)}


def report_of(
    tree: Tree,
    problems: Iterable[Problem] = (),
    *,
    bounds: Bounds | None = None,
    notes: Iterable[str] = (),
    picture: str = "",
) -> str:
    """The page. ``picture`` is SVG that is put in as it is; the bounds are left out where none are given."""
    return _Report(tree, tuple(problems), bounds, tuple(notes), _Markup(picture)).page()


# -- markup


class _Markup(str):
    """HTML that is ready to stand in the page."""

    __slots__ = ()


_Content: TypeAlias = str | Iterable[str]
_EMPTY: Final = _Markup()
_LONELY: Final = frozenset({"meta", "input"})


def _tag(name: str, /, *content: _Content, **attributes: str | None) -> _Markup:
    """An element. An attribute that is None is left out; ``for_`` stands for ``for``, as ``_`` for ``-``."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(clean(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _LONELY:
        return _Markup(f"<{name}{given}/>")
    return _Markup(f"<{name}{given}>{_joined(content)}</{name}>")


def _joined(content: Iterable[_Content]) -> _Markup:
    parts = (part for one in content for part in ((one,) if isinstance(one, str) else one))
    return _Markup("".join(part if isinstance(part, _Markup) else escape(clean(part)) for part in parts))


def _said(text: str | None) -> _Markup:
    """A text of the author on a line of ours, read in its own direction."""
    return _tag("bdi", one_line(text))


def _text(text: str) -> _Markup:
    """A text of the author in its own lines."""
    return _tag("p", text.strip("\n"), class_="text", dir="auto")


def _code(text: str) -> _Markup:
    return _tag("code", one_line(text), dir="auto")


def _facts(pairs: Iterable[tuple[str, _Content]]) -> _Markup:
    """Terms and what they are; those without are left out."""
    rows = ((term, _joined([value])) for term, value in pairs)
    inside = [_tag("div", _tag("dt", term), _tag("dd", value)) for term, value in rows if value]
    return _tag("dl", inside) if inside else _EMPTY


def _table(head: Sequence[str], rows: Iterable[Sequence[_Content]], name: str) -> _Markup:
    """A table whose first column heads the rows."""
    body = [
        _tag("tr", _tag("th", first, scope="row"), (_tag("td", cell) for cell in rest))
        for first, *rest in rows
    ]
    top = _tag("tr", (_tag("th", word, scope="col") for word in head))
    return _tag("div", _tag("table", _tag("thead", top), _tag("tbody", body), aria_label=name), class_="wide")


# -- the page


@dataclass(frozen=True)
class _Report:
    tree: Tree
    problems: tuple[Problem, ...]
    bounds: Bounds | None
    notes: tuple[str, ...]
    picture: _Markup
    leading: defaultdict[NodeId, list[tuple[NodeId, str]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for node_id, node in self.tree.nodes.items():
            for branch, target in branches_of(node).items():
                self.leading[target].append((node_id, branch))

    @cached_property
    def anchors(self) -> Mapping[NodeId, str]:
        """The element of each node."""
        return anchors_of(self.tree)

    @cached_property
    def titles(self) -> Mapping[str, int]:
        """How many nodes are called the same."""
        return Counter(title_of(node_id, node) for node_id, node in self.tree.nodes.items())

    @cached_property
    def order(self) -> Sequence[NodeId]:
        """The nodes as a reader meets them: from the start on, then what no way leads to; terminals last."""
        nodes = self.tree.nodes
        waiting = [self.tree.start_node_id] if self.tree.start_node_id in nodes else []
        met = dict.fromkeys(waiting)
        for node_id in waiting:
            ahead = [t for t in branches_of(nodes[node_id]).values() if t in nodes and t not in met]
            met.update(dict.fromkeys(ahead))
            waiting += dict.fromkeys(ahead)
        return sorted(
            (*met, *(i for i in nodes if i not in met)), key=lambda i: isinstance(nodes[i], TerminalNode)
        )

    def page(self) -> str:
        """The whole document."""
        sections = [
            (anchor, title, content)
            for anchor, title, content in (
                ("picture", "Picture", self._picture()),
                ("problems", "Problems", self._problems()),
                ("texts", "Texts", self._texts()),
                ("limits", "Limits", self._limits()),
                ("ends", "Ends", self._ends()),
                ("nodes", "Nodes", _joined(self._node(node_id) for node_id in self.order)),
                ("notes", "Notes", _joined(_tag("article", _text(note)) for note in self.notes)),
            )
            if content
        ]
        main = [
            _tag(
                "section",
                _tag("h2", title, id=f"{anchor}-title"),
                content,
                id=anchor,
                aria_labelledby=f"{anchor}-title",
            )
            for anchor, title, content in sections
        ]
        head = _tag(
            "head",
            _tag("meta", charset="utf-8"),
            _tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            _tag("meta", name="color-scheme", content="light dark"),
            _tag(
                "meta",
                http_equiv="Content-Security-Policy",
                content="default-src 'none'; style-src 'unsafe-inline'",
            ),
            _tag("title", self.title),
            _tag("style", _Markup(STYLE)),
        )
        body = _tag(
            "body",
            _tag("a", "Skip to the report", href="#report", class_="skip"),
            self._header(),
            self._contents(sections),
            _tag("main", main, id="report"),
        )
        return f"<!DOCTYPE html>\n{_tag('html', head, body, lang='en')}\n"

    @property
    def title(self) -> str:
        """What the tree is called."""
        return one_line(self.tree.name) or one_line(self.tree.tree_id) or "Decision tree"

    # -- parts of it

    def _contents(self, sections: Iterable[tuple[str, str, _Markup]]) -> _Markup:
        entries = []
        for anchor, title, _ in sections:
            inner = (
                _tag("ol", (_tag("li", self._link(node_id)) for node_id in self.order), class_="within")
                if anchor == "nodes"
                else _EMPTY
            )
            entries.append(_tag("li", _tag("a", title, href=f"#{anchor}"), inner))
        return _tag(
            "nav",
            _tag("p", "Contents", class_="label", id="contents"),
            _tag("ol", entries),
            aria_labelledby="contents",
        )

    def _header(self) -> _Markup:
        tree = self.tree
        kinds = Counter(KINDS[type(node)] for node in tree.nodes.values())
        counts = ", ".join(counted(kinds[kind], kind.lower()) for kind in KINDS.values() if kinds[kind])
        errors = sum(problem.severity == "error" for problem in self.problems)
        state = counted(errors, "error") if errors else "No errors"
        asked = dict.fromkeys(
            name
            for text in (tree.task, *(n.task for n in tree.nodes.values() if isinstance(n, ClassifyNode)))
            for name in placeholders(text)
        )
        facts = _facts(
            (
                ("Tree", _code(tree.tree_id) if tree.tree_id else ""),
                ("Version", str(tree.version)),
                ("Nodes", counts),
                ("Starts at", self._link(tree.start_node_id) if tree.start_node_id else ""),
                ("Parameters", _listed(map(_code, asked))),
                ("Fingerprint", _tag("code", tree_hash(tree), class_="hash")),
                *_others(tree.unknown_members),
            )
        )
        return _tag(
            "header",
            _tag("p", "Decision tree", class_="label"),
            _tag("h1", self.title, dir="auto"),
            _tag("p", state, class_=f"state {'bad' if errors else 'good'}"),
            _text(tree.description) if tree.description else _EMPTY,
            facts,
        )

    def _picture(self) -> _Markup:
        if not self.picture:
            return _EMPTY
        return _joined(
            (
                _tag("input", type="checkbox", id="fit", class_="fit"),
                _tag("label", "Fit to the width", for_="fit"),
                _tag(
                    "div",
                    self.picture,
                    class_="canvas",
                    tabindex="0",
                    role="region",
                    aria_label="The tree as a picture; every node is told under Nodes",
                ),
            )
        )

    def _problems(self) -> _Markup:
        if not self.problems:
            return _tag("p", "Nothing wrong.")
        rows = [
            (
                _tag("span", _SEVERITIES[problem.severity], class_=f"severity {problem.severity}"),
                _said(problem.message),
                self._link(problem.node) if problem.node is not None else "",
                _tag("code", problem.code),
            )
            for problem in self.problems
        ]
        return _table(("Kind", "What", "Where", "Code"), rows, "Problems")

    def _texts(self) -> _Markup:
        texts = (("Task", self.tree.task), ("System prompt", self.tree.system_prompt))
        return _joined(_joined((_tag("h3", title), _text(text))) for title, text in texts if text)

    def _limits(self) -> _Markup:
        budget, limits = self.tree.budget, DEFAULT_LIMITS.within(self.tree.budget)
        start = self.bounds.start if self.bounds else None
        needs = (_range(start.visits), _range(start.llm_calls)) if start else ()
        shown = (
            ("Node visits", str(limits.node_visits), "max_node_visits"),
            ("LLM calls", str(limits.llm_calls), "max_llm_calls"),
            ("Elapsed time", f"{limits.elapsed:g} s", "max_elapsed_time"),
            ("Context tokens", str(limits.context_tokens), "max_context_tokens"),
            ("When the time is up", _WHEN_EXCEEDED[limits.on_exceeded], "on_exceeded"),
        )
        rows = [
            (
                name,
                value,
                "this tree" if budget and getattr(budget, member) is not None else "usual",
                *((needs[number] if number < len(needs) else "",) if needs else ()),
            )
            for number, (name, value, member) in enumerate(shown)
        ]
        head = ("Limit", "Value", "Set by", *(("A run needs",) if needs else ()))
        assumed = _tag("p", ASSUMED, class_="aside") if self.bounds else _EMPTY
        return _joined((_table(head, rows, "Limits"), self._smallest(), assumed))

    def _smallest(self) -> _Markup:
        smallest = self.bounds.smallest_budget if self.bounds else None
        if smallest is None:
            return _EMPTY
        visits, calls = smallest.max_node_visits or 0, smallest.max_llm_calls or 0
        needed = f"{counted(visits, 'node visit')} and {counted(calls, 'LLM call')}"
        return _tag("p", f"The smallest budget in which every end can be reached: {needed}.", class_="aside")

    def _ends(self) -> _Markup:
        found = self.bounds.terminals if self.bounds else {}
        rows: list[Sequence[_Content]] = []
        for node_id in self.order:
            if isinstance(self.tree.nodes[node_id], TerminalNode):
                bound = found.get(node_id)
                rows.append(
                    (
                        self._link(node_id),
                        str(len(self.leading[node_id])),
                        *(_costs(bound) if self.bounds else ()),
                    )
                )
        head = (
            "Verdict",
            "Branches to it",
            *(("Node visits", "LLM calls", "Within the limits") if self.bounds else ()),
        )
        return _table(head, rows, "Ends") if rows else _EMPTY

    def _node(self, node_id: NodeId) -> _Markup:
        node, anchor = self.tree.nodes[node_id], self.anchors[node_id]
        here = [problem for problem in self.problems if problem.node == node_id]
        bound = (
            None if self.bounds is None or isinstance(node, TerminalNode) else self.bounds.nodes.get(node_id)
        )
        further = (
            f"{_some(bound.visits, 'node visit')}, {_some(bound.llm_calls, 'LLM call')}" if bound else ""
        )
        return _tag(
            "article",
            _tag(
                "h3",
                _sign(node),
                _said(title_of(node_id, node)),
                _tag("span", "Start", class_="chip") if node_id == self.tree.start_node_id else _EMPTY,
                id=f"{anchor}-title",
            ),
            _tag("p", f"{KINDS[type(node)]} ", _code(node_id), class_="label"),
            [
                _tag(
                    "p",
                    _tag("b", f"{_SEVERITIES[one.severity]}: "),
                    _said(one.message),
                    class_=f"note {one.severity}",
                )
                for one in here
            ],
            _text(node.description) if node.description else _EMPTY,
            self._work(node),
            self._branches(node),
            _facts(
                (
                    ("Reached from", _listed(self._arrival(*way) for way in self.leading[node_id])),
                    ("To an end from here", further),
                    *_others(node.unknown_members),
                )
            ),
            id=anchor,
            class_=f"node {_class(node)}",
            aria_labelledby=f"{anchor}-title",
        )

    def _work(self, node: AnyNode) -> _Markup:
        match node:
            case ClassifyNode(task=str(task)):
                return _tag("blockquote", _text(task), aria_label="Task")
            case ActionNode(action_key=str(key)):
                return _facts([("Action", _code(key))])
            case ConditionNode():
                given = (node.predicate_parameters or {}).items()
                values = (_joined((_code(name), " = ", _code(plain(value)))) for name, value in given)
                key = _code(node.predicate_key) if node.predicate_key else ""
                return _facts([("Predicate", key), ("Parameters", _listed(values))])
            case TerminalNode(verdict=str(verdict)):
                name = _said(node.name) if node.name else ""
                return _facts([("Verdict", _said(verdict)), ("Name", name)])
            case _:
                return _EMPTY

    def _branches(self, node: AnyNode) -> _Markup:
        word = "Answer" if isinstance(node, ClassifyNode) else "Branch"
        rows = [
            (_said(branch) if branch.strip() else "(blank)", self._link(target) if target else _NOWHERE)
            for branch, target in branches_of(node).items()
        ]
        return _table((word, "Leads to"), rows, f"{word}s") if rows else _EMPTY

    def _link(self, node_id: NodeId) -> _Markup:
        node = self.tree.nodes.get(node_id)
        if node is None:
            return _tag("span", _said(node_id), " (there is no such node)", class_="missing")
        return _tag("a", _sign(node), self._name(node_id), href=f"#{self.anchors[node_id]}")

    def _name(self, node_id: NodeId) -> _Markup:
        """What a node is called, with its id where others are called the same."""
        title = title_of(node_id, self.tree.nodes[node_id])
        name = _said(cut(title, _LONGEST_NAME))
        return _tag("span", name, " ", _code(node_id)) if self.titles[title] > 1 else name

    def _arrival(self, node_id: NodeId, branch: str) -> _Markup:
        return _joined((self._link(node_id), " · ", _said(branch)))


_NOWHERE: Final = _tag("span", "nowhere yet", class_="missing")


def _sign(node: AnyNode) -> _Markup:
    return _tag("span", _SIGNS.get(type(node), "!"), class_=f"sign {_class(node)}", aria_hidden="true")


def _class(node: AnyNode) -> str:
    return KINDS[type(node)].lower().split()[0]


def _others(members: Mapping[str, object]) -> Iterator[tuple[str, _Markup]]:
    """Members that belong to other tools."""
    for name, value in members.items():
        yield one_line(name), _code(json.dumps(value, ensure_ascii=False))


def _listed(items: Iterable[_Markup]) -> _Markup:
    rows = [_tag("li", item) for item in items]
    return _tag("ul", rows) if rows else _EMPTY


def _costs(bound: Bound | None) -> tuple[str, str, str]:
    if bound is None:
        return ("no way leads here", "", "")
    return (_range(bound.visits), _range(bound.llm_calls), "yes" if bound.reachable_in_budget else "no")


def _range(there: Range) -> str:
    if there.max is None:
        return f"{there.min} or more"
    return str(there.min) if there.min == there.max else f"{there.min} to {there.max}"


def _some(there: Range, what: str) -> str:
    return f"{_range(there)} {what}{'' if there.max == 1 else 's'}"
