"""Charts and reports: whatever a tree says stands in them as text, and can be read back from them."""

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from engine import Problem, Tree, anchors_of, check, dot_of, mermaid_of, report_of
from engine.analysis import bounds
from tests.builders import action, classify, condition, demo_tree, evidence_tree, terminal, to, tree
from tests.engine.pages import ROOT, examples, run_example
from tests.hostile import LONG, RIGHT_TO_LEFT, TEXTS, all_texts, hostile_trees


class Chart(NamedTuple):
    """What a chart says: the lines of each node, and the branches from node to node."""

    nodes: dict[str, list[str]]
    arrows: Counter[tuple[str, str, tuple[str, ...]]]


def shape(tree: Tree) -> tuple[int, Counter[tuple[int, int]]]:
    """How many nodes a chart must have, and how often one must lead to another, told by their positions."""
    position = {node_id: number for number, node_id in enumerate(tree.nodes)}
    pairs: Counter[tuple[int, int]] = Counter()
    for node_id, node in tree.nodes.items():
        for target in node.targets.values():
            if target:
                pairs[position[node_id], position.setdefault(target, len(position))] = 1
    return len(position), pairs


def assert_has_the_shape_of(chart: Chart, tree: Tree) -> None:
    count, pairs = shape(tree)
    assert len(chart.nodes) == count
    assert len(pairs) == sum(chart.arrows.values())
    # Nodes that are not there are numbered as they are met, so only those that are there can be compared.
    names = list(chart.nodes)
    place = {name: names.index(name) for name in names}
    there = len(tree.nodes)
    drawn = Counter((place[a], place[b]) for a, b, _ in chart.arrows if place[b] < there)
    assert drawn == Counter({pair: 1 for pair in pairs if pair[1] < there})


# -- Mermaid: the documented form is text in quotes, with other marks as #NUMBER; in it

_BRACKETS = r"\[|\{\{|\{|\(\["
_NODE = re.compile(rf'    (\w+)(?:{_BRACKETS})"([^"]*)"(?:\]|\}}\}}|\}}|\]\)):::(\w+)')
_ARROW = re.compile(r'    (\w+) -->\|"([^"]*)"\| (\w+)')
_START = re.compile(r'    start\(\("start"\)\):::terminal --> (\w+)')
_CLASS = re.compile(r"    classDef \w+ fill:#\w{6},stroke:#\w{6},color:#\w{6}")
_LITERAL = re.compile(r"[\w ,?!-]|#\d+;")


def read_label(label: str) -> list[str]:
    lines = label.split("<br/>")
    for line in lines:
        assert not _LITERAL.sub("", line), "Nothing but letters and numbers of marks."
        assert "_" not in line
    return [re.sub(r"#(\d+);", lambda number: chr(int(number[1])), line) for line in lines]


def read_mermaid(text: str) -> Chart:
    lines = text.split("\n")
    assert lines.pop() == ""
    if lines[0] == "---":
        assert re.fullmatch(r'title: "(?:[^"\\]|\\.)*"', lines[1])
        assert lines[2] == "---"
        lines = lines[3:]
    assert lines[0] == "flowchart LR"
    chart = Chart({}, Counter())
    for line in lines[1:]:
        # Mermaid takes the last semicolon from lines in which this is found.
        assert not re.search(r"(style|classDef).*:\S*#.*;", line)
        if found := _NODE.fullmatch(line):
            chart.nodes[found[1]] = read_label(found[2])
        elif found := _ARROW.fullmatch(line):
            chart.arrows[found[1], found[3], tuple(read_label(found[2]))] += 1
        elif found := _START.fullmatch(line):
            assert found[1] in chart.nodes
        else:
            assert _CLASS.fullmatch(line), line
    assert {end for a, b, _ in chart.arrows for end in (a, b)} <= chart.nodes.keys()
    return chart


def test_a_mermaid_chart_shows_every_kind_of_node_and_every_branch():
    text = mermaid_of(demo_tree())
    chart = read_mermaid(text)
    assert list(chart.nodes.values()) == [
        ["collect", "collectEvidence"],
        ["classify", "Is this evidence relevant to {{subject}}?"],
        ["verify", "dataExists, type = evidence"],
        ["supported"],
        ["unsupported"],
        ["unknown"],
        ["failed"],
    ]
    assert chart.arrows["n0", "n6", ("transientFailure", "permanentFailure")] == 1
    assert chart.arrows["n2", "n3", ("true",)] == 1
    assert 'title: "demo-evidence-tree"' in text
    assert '    start(("start")):::terminal --> n0\n' in text


@given(hostile_trees())
def test_any_tree_is_a_mermaid_chart_of_its_shape(tree):
    assert_has_the_shape_of(read_mermaid(mermaid_of(tree)), tree)


def test_texts_can_be_read_back_from_a_mermaid_chart():
    texts = [
        " ".join(text.split()) for text in TEXTS if text.strip() and len(text) < 60 and "\x00" not in text
    ]
    chart = read_mermaid(mermaid_of(all_texts()))
    said = [lines[-1] for lines in chart.nodes.values()]
    assert set(texts) <= set(said)


# -- Graphviz: statements end in a semicolon; in quotes only the quote is escaped

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_VERTEX = re.compile(rf"  ({_QUOTED}) \[label=({_QUOTED}|\w+), shape=\w+.*\];")
_EDGE = re.compile(rf"  ({_QUOTED}) -> ({_QUOTED})(?: \[label=({_QUOTED})\])?;")
_SETTING = re.compile(rf"  (?:graph|node|edge) \[\w+=(?:{_QUOTED}|[\w.]+)(?:, \w+=(?:{_QUOTED}|[\w.]+))*\];")
_START_ID = r'"\start"'


def read_escaped(label: str) -> list[str]:
    """The lines of a label as Graphviz understands it."""
    text = re.sub(r"\\(.)", lambda mark: "\n" if mark[1] == "n" else mark[1], label[1:-1])
    assert not re.search(r"&(?!amp;)", text), "An ampersand could begin an entity."
    return text.replace("&amp;", "&").split("\n")


def read_dot(text: str) -> Chart:
    first, settings, *lines, last, end = text.split("\n")
    assert re.fullmatch(rf"digraph {_QUOTED} \{{", first)
    assert (settings, last, end) == ("  rankdir=LR; ranksep=0.8;", "}", "")
    assert not re.search(r"[^\t\n -~\xa0-\U0010ffff]", text)
    chart = Chart({}, Counter())
    for line in lines:
        if (found := _VERTEX.fullmatch(line)) and found[1] != _START_ID:
            assert found[1] not in chart.nodes
            chart.nodes[found[1]] = read_escaped(found[2])
        elif (found := _EDGE.fullmatch(line)) and found[1] != _START_ID:
            chart.arrows[found[1], found[2], tuple(read_escaped(found[3]))] += 1
        else:
            assert line.startswith(f"  {_START_ID} ") or _SETTING.fullmatch(line), line
    assert {end for a, b, _ in chart.arrows for end in (a, b)} <= chart.nodes.keys()
    return chart


def test_a_graphviz_graph_calls_its_nodes_by_their_ids():
    chart = read_dot(dot_of(demo_tree()))
    assert list(chart.nodes) == [f'"{node_id}"' for node_id in demo_tree().nodes]
    assert chart.nodes['"collect"'] == ["collect", "collectEvidence"]
    assert chart.arrows['"collect"', '"failed"', ("transientFailure", "permanentFailure")] == 1


@given(hostile_trees())
def test_any_tree_is_a_graphviz_graph_of_its_shape(tree):
    assert_has_the_shape_of(read_dot(dot_of(tree)), tree)


def test_texts_can_be_read_back_from_a_graphviz_graph():
    texts = [
        " ".join(text.split()) for text in TEXTS if text.strip() and len(text) < 34 and "\x00" not in text
    ]
    chart = read_dot(dot_of(all_texts()))
    said = [lines[-1] for lines in chart.nodes.values()]
    assert set(texts) <= set(said)


# -- both


@pytest.mark.parametrize("write", [mermaid_of, dot_of])
def test_a_node_that_is_not_there_is_drawn_as_missing(write):
    chart = write(tree(ask=classify("Well?", {"yes": "gone"}, unknown="ask")))
    assert "gone" in chart
    assert "#FBE9E7" in chart


@pytest.mark.parametrize("write", [mermaid_of, dot_of])
def test_long_texts_are_cut_between_words(write):
    text = write(tree(ask=classify(LONG, {"yes": "done"}, unknown="done"), done=terminal("done")))
    assert len(text) < 2000
    assert re.search(r"\b(very|long|text|without|an|end|a)…", text.replace("#8230;", "…"))


@pytest.mark.parametrize("write", [mermaid_of, dot_of, report_of])
def test_an_empty_tree_can_be_shown(write):
    assert write(Tree())


# -- the report


class Page(HTMLParser):
    """A page as a browser reads it: every element is closed where it should be, and none does anything."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.labels: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.hidden = False
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags[tag] += 1
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))
        self.hidden = ("aria-hidden", "true") in attrs
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "action", "background", "data")
            if name == "id":
                self.ids.append(value)
            if name == "href":
                self.links.append(value)
            if name in ("aria-labelledby", "for"):
                self.labels.append((tag, value))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.hidden = False

    def handle_data(self, data):
        if self.open[-1:] != ["style"] and not self.hidden:
            self.words.append(data)

    def handle_decl(self, decl):
        assert decl == "DOCTYPE html"

    def handle_comment(self, data):
        raise AssertionError(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read_page(source: str) -> Page:
    page = Page(source)
    ET.fromstring(source.partition("\n")[2])  # noqa: S314 - written by us
    assert page.tags.keys().isdisjoint(
        {"script", "iframe", "object", "embed", "img", "image", "link", "base"}
    )
    assert "url(" not in source
    assert "@import" not in source
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert all(name in page.ids for _, name in page.labels)
    return page


def texts_of(tree: Tree) -> Iterator[str]:
    """Everything the author wrote, as it must be found in a report."""
    found = [tree.name, tree.description, tree.task, tree.system_prompt, tree.tree_id, *tree.nodes]
    for node in tree.nodes.values():
        found += [node.name, node.description, *node.targets]
        for member in ("task", "action_key", "predicate_key", "verdict"):
            found.append(getattr(node, member, None))
    for text in found:
        clean = re.sub("[^\t\n\r -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text or "")
        yield " ".join(clean.split())


@given(hostile_trees())
def test_a_report_of_any_tree_is_a_sound_page_with_all_its_texts(tree):
    page = read_page(report_of(tree, check(tree), notes=[*TEXTS[:3]]))
    assert all(text in page.text for text in texts_of(tree))


def test_a_report_tells_texts_limits_ends_and_what_runs_cost():
    demo = demo_tree().replace(name="Evidence", system_prompt="Be brief.", task="Judge {{subject}}.")
    page = read_page(report_of(demo, check(demo), bounds=bounds(demo), notes=["Ask Mina first."]))
    for words in (
        "Evidence",
        "Be brief.",
        "Judge {{subject}}.",
        "1 action, 1 question, 1 condition, 4 terminals",
        "Node visits 10 this tree 2 to 4",
        "LLM calls 1 this tree 0 to 2",
        "When the time is up Stop the run this tree",
        "supported 1 4 1 to 2 yes",
        "unknown 1 3 2 no",
        "The smallest budget in which every end can be reached: 4 node visits and 2 LLM calls.",
        "Is this evidence relevant to {{subject}}?",
        "dataExists",
        "type = evidence",
        "Ask Mina first.",
        "Assumed: a text model decides",
        "No errors",
    ):
        assert words in page.text


def test_a_report_without_bounds_says_nothing_of_costs():
    page = read_page(report_of(evidence_tree()))
    assert "Within the limits" not in page.text
    assert "A run needs" not in page.text


def test_a_report_lists_problems_with_links_to_their_nodes():
    broken = tree(ask=classify("Well?", {"yes": "gone"}, unknown="ask"))
    page = read_page(report_of(broken, check(broken)))
    assert "gone (there is no such node)" in page.text
    assert "target-missing" in page.text
    assert "1 error " in page.text
    assert page.links.count(f"#{anchors_of(broken)['ask']}") >= 3


def test_problems_of_unknown_nodes_and_without_a_node_are_told():
    problems = [
        Problem("some-code", "error", "All of it is wrong."),
        Problem("other-code", "info", "This is not there.", node="ghost"),
    ]
    page = read_page(report_of(evidence_tree(), problems))
    assert "All of it is wrong." in page.text
    assert "ghost (there is no such node)" in page.text
    assert "1 error" in page.text


def test_a_report_has_one_title_headings_in_order_and_a_table_of_contents():
    page = read_page(report_of(demo_tree(), notes=["One."]))
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert page.tags["nav"] == page.tags["main"] == 1
    sections = {"#problems", "#limits", "#ends", "#nodes", "#notes"}
    assert sections <= set(page.links)
    assert {f"#{anchor}" for anchor in anchors_of(demo_tree()).values()} <= set(page.links)


def test_a_report_reads_texts_in_their_own_direction():
    source = report_of(tree(a=terminal(RIGHT_TO_LEFT)))
    assert f"<bdi>{RIGHT_TO_LEFT}</bdi>" in source


def test_nodes_called_the_same_are_told_apart_by_their_ids():
    twins = tree(
        a=condition("p", then="b", otherwise="c"), b=terminal("done"), c=terminal("done"), d=terminal("more")
    )
    page = read_page(report_of(twins))
    assert "done b" in page.text
    assert "done c" in page.text
    assert "more d" not in page.text.partition("Nodes")[0]


def test_members_of_other_tools_are_in_the_report():
    node = action("load", success="end").replace(transitions=to(success="end"))
    odd = type(node).model_validate({**node.model_dump(by_alias=True), "colour": {"red": '<"&'}})
    page = read_page(report_of(tree(a=odd, end=terminal("end"))))
    assert 'colour {"red": "<\\"&"}' in page.text


def test_the_picture_stands_in_the_report_with_its_links():
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg"><a href="#{anchors_of(demo_tree())["collect"]}"/></svg>'
    page = read_page(report_of(demo_tree(), picture=drawn))
    assert page.tags["svg"] == 1
    assert "#picture" in page.links


@pytest.mark.anyio
async def test_the_example_of_the_help_page_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for code in examples(ROOT / "resources" / "help" / "exporting.md")["In the library"]:
        await run_example(code, names)
    assert "Ask before you change it." in str(names["report"])


@given(hostile_trees())
def test_the_same_tree_gives_the_same_texts(tree):
    again = Tree.model_validate(tree.model_dump(by_alias=True))
    for write in (mermaid_of, dot_of, report_of):
        assert write(tree) == write(again)
