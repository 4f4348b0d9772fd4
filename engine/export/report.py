"""A tree as one HTML page to read, print and pass on: its picture, its texts, what is wrong, what runs cost.

The page loads nothing and runs nothing.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from engine.analysis import ASSUMED, Bound, Bounds, Range
from engine.budget import DEFAULT_LIMITS
from engine.counting import counted
from engine.errors import Problem, Severity
from engine.export.markup import (
    EMPTY,
    Content,
    Markup,
    code,
    contents,
    joined,
    page,
    prose,
    said,
    section,
    table,
    tag,
    terms,
)
from engine.export.words import KINDS, branches_of, cut, one_line, plain, title_of
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
    return _Report(tree, tuple(problems), bounds, tuple(notes), Markup(picture)).page()


# -- the page


@dataclass(frozen=True)
class _Report:
    tree: Tree
    problems: tuple[Problem, ...]
    bounds: Bounds | None
    notes: tuple[str, ...]
    picture: Markup
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
                ("nodes", "Nodes", joined(self._node(node_id) for node_id in self.order)),
                ("notes", "Notes", joined(tag("article", prose(note)) for note in self.notes)),
            )
            if content
        ]
        main = (section(anchor, title, content) for anchor, title, content in sections)
        return page(
            self.title,
            tag("a", "Skip to the report", href="#report", class_="skip"),
            self._header(),
            self._contents(sections),
            tag("main", main, id="report"),
        )

    @property
    def title(self) -> str:
        """What the tree is called."""
        return one_line(self.tree.name) or one_line(self.tree.tree_id) or "Decision tree"

    # -- parts of it

    def _contents(self, sections: Iterable[tuple[str, str, Markup]]) -> Markup:
        nodes = tag("ol", (tag("li", self._link(node_id)) for node_id in self.order), class_="within")
        return contents(
            (tag("a", title, href=f"#{anchor}"), nodes if anchor == "nodes" else EMPTY)
            for anchor, title, _ in sections
        )

    def _header(self) -> Markup:
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
        facts = terms(
            (
                ("Tree", code(tree.tree_id) if tree.tree_id else ""),
                ("Version", str(tree.version)),
                ("Nodes", counts),
                ("Starts at", self._link(tree.start_node_id) if tree.start_node_id else ""),
                ("Parameters", _listed(map(code, asked))),
                ("Fingerprint", tag("code", tree_hash(tree), class_="hash")),
                *_others(tree.unknown_members),
            )
        )
        return tag(
            "header",
            tag("p", "Decision tree", class_="label"),
            tag("h1", self.title, dir="auto"),
            tag("p", state, class_=f"state {'bad' if errors else 'good'}"),
            prose(tree.description) if tree.description else EMPTY,
            facts,
        )

    def _picture(self) -> Markup:
        if not self.picture:
            return EMPTY
        return joined(
            (
                tag("input", type="checkbox", id="fit", class_="fit"),
                tag("label", "Fit to the width", for_="fit"),
                tag(
                    "div",
                    self.picture,
                    class_="canvas",
                    tabindex="0",
                    role="region",
                    aria_label="The tree as a picture; every node is told under Nodes",
                ),
            )
        )

    def _problems(self) -> Markup:
        if not self.problems:
            return tag("p", "Nothing wrong.")
        rows = [
            (
                tag("span", _SEVERITIES[problem.severity], class_=f"severity {problem.severity}"),
                said(problem.message),
                self._link(problem.node) if problem.node is not None else "",
                tag("code", problem.code),
            )
            for problem in self.problems
        ]
        return table(("Kind", "What", "Where", "Code"), rows, "Problems")

    def _texts(self) -> Markup:
        texts = (("Task", self.tree.task), ("System prompt", self.tree.system_prompt))
        return joined(joined((tag("h3", title), prose(text))) for title, text in texts if text)

    def _limits(self) -> Markup:
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
        assumed = tag("p", ASSUMED, class_="aside") if self.bounds else EMPTY
        return joined((table(head, rows, "Limits"), self._smallest(), assumed))

    def _smallest(self) -> Markup:
        smallest = self.bounds.smallest_budget if self.bounds else None
        if smallest is None:
            return EMPTY
        visits, calls = smallest.max_node_visits or 0, smallest.max_llm_calls or 0
        needed = f"{counted(visits, 'node visit')} and {counted(calls, 'LLM call')}"
        return tag("p", f"The smallest budget in which every end can be reached: {needed}.", class_="aside")

    def _ends(self) -> Markup:
        found = self.bounds.terminals if self.bounds else {}
        rows: list[Sequence[Content]] = []
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
        return table(head, rows, "Ends") if rows else EMPTY

    def _node(self, node_id: NodeId) -> Markup:
        node, anchor = self.tree.nodes[node_id], self.anchors[node_id]
        here = [problem for problem in self.problems if problem.node == node_id]
        bound = (
            None if self.bounds is None or isinstance(node, TerminalNode) else self.bounds.nodes.get(node_id)
        )
        further = (
            f"{_some(bound.visits, 'node visit')}, {_some(bound.llm_calls, 'LLM call')}" if bound else ""
        )
        return tag(
            "article",
            tag(
                "h3",
                _sign(node),
                said(title_of(node_id, node)),
                tag("span", "Start", class_="chip") if node_id == self.tree.start_node_id else EMPTY,
                id=f"{anchor}-title",
            ),
            tag("p", f"{KINDS[type(node)]} ", code(node_id), class_="label"),
            [
                tag(
                    "p",
                    tag("b", f"{_SEVERITIES[one.severity]}: "),
                    said(one.message),
                    class_=f"note {one.severity}",
                )
                for one in here
            ],
            prose(node.description) if node.description else EMPTY,
            self._work(node),
            self._branches(node),
            terms(
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

    def _work(self, node: AnyNode) -> Markup:
        match node:
            case ClassifyNode(task=str(task)):
                return tag("blockquote", prose(task), aria_label="Task")
            case ActionNode(action_key=str(key)):
                return terms([("Action", code(key))])
            case ConditionNode():
                given = (node.predicate_parameters or {}).items()
                values = (joined((code(name), " = ", code(plain(value)))) for name, value in given)
                key = code(node.predicate_key) if node.predicate_key else ""
                return terms([("Predicate", key), ("Parameters", _listed(values))])
            case TerminalNode(verdict=str(verdict)):
                name = said(node.name) if node.name else ""
                return terms([("Verdict", said(verdict)), ("Name", name)])
            case _:
                return EMPTY

    def _branches(self, node: AnyNode) -> Markup:
        word = "Answer" if isinstance(node, ClassifyNode) else "Branch"
        rows = [
            (said(branch) if branch.strip() else "(blank)", self._link(target) if target else _NOWHERE)
            for branch, target in branches_of(node).items()
        ]
        return table((word, "Leads to"), rows, f"{word}s") if rows else EMPTY

    def _link(self, node_id: NodeId) -> Markup:
        node = self.tree.nodes.get(node_id)
        if node is None:
            return tag("span", said(node_id), " (there is no such node)", class_="missing")
        return tag("a", _sign(node), self._name(node_id), href=f"#{self.anchors[node_id]}")

    def _name(self, node_id: NodeId) -> Markup:
        """What a node is called, with its id where others are called the same."""
        title = title_of(node_id, self.tree.nodes[node_id])
        name = said(cut(title, _LONGEST_NAME))
        return tag("span", name, " ", code(node_id)) if self.titles[title] > 1 else name

    def _arrival(self, node_id: NodeId, branch: str) -> Markup:
        return joined((self._link(node_id), " · ", said(branch)))


_NOWHERE: Final = tag("span", "nowhere yet", class_="missing")


def _sign(node: AnyNode) -> Markup:
    return tag("span", _SIGNS.get(type(node), "!"), class_=f"sign {_class(node)}", aria_hidden="true")


def _class(node: AnyNode) -> str:
    return KINDS[type(node)].lower().split()[0]


def _others(members: Mapping[str, object]) -> Iterator[tuple[str, Markup]]:
    """Members that belong to other tools."""
    for name, value in members.items():
        yield one_line(name), code(json.dumps(value, ensure_ascii=False))


def _listed(items: Iterable[Markup]) -> Markup:
    rows = [tag("li", item) for item in items]
    return tag("ul", rows) if rows else EMPTY


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
