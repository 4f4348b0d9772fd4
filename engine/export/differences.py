"""What two versions of a tree differ in, as text for a terminal and as an HTML page for a reader."""

import json
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final

from engine.analysis import BranchChange, Difference, FieldChange, NodeChange
from engine.counting import counted
from engine.export.markup import EMPTY, Markup, code, contents, joined, page, said, section, table, tag, terms
from engine.export.words import KINDS, clean, one_line, title_of
from engine.jsontext import Json
from engine.tree import AnyNode, NodeId, Tree

NOWHERE: Final = "nowhere"
_SHORT: Final = 60
_WORDS: Final = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_WORDS: Final = 4_000  # of longer texts only the whole is shown


def summary_of(difference: Difference) -> str:
    """How many nodes are different and how, in one sentence."""
    if difference.is_empty:
        return "Both say the same."
    branches = sum(len(one.branches) for one in difference.changed)
    parts = [
        text
        for number, text in (
            (len(difference.added), f"{counted(len(difference.added), 'node')} added"),
            (len(difference.removed), f"{counted(len(difference.removed), 'node')} removed"),
            (len(difference.renamed), f"{counted(len(difference.renamed), 'node')} renamed"),
            (len(difference.changed), f"{counted(len(difference.changed), 'node')} changed"),
            (branches, f"{counted(branches, 'branch', 'branches')} leading elsewhere"),
            (len(difference.fields), f"{counted(len(difference.fields), 'change')} of the tree itself"),
        )
        if number
    ]
    return f"{', '.join(parts)}."


def difference_lines(difference: Difference) -> Iterator[str]:
    """The difference line by line: ``+`` came, ``-`` left, ``~`` is changed, ``>`` has another id."""
    before, after = difference.before.nodes, difference.after.nodes
    if difference.fields:
        yield "~ the tree"
        yield from _field_lines(difference.fields)
    for node_id in difference.removed:
        yield f"- {_called(node_id, before[node_id])}"
    for node_id in difference.added:
        yield f"+ {_called(node_id, after[node_id])}"
    for old, new in difference.renamed:
        yield f"> {one_line(old)} is {_called(new, after[new])}"
    for one in difference.changed:
        yield f"~ {_called(one.after, after[one.after])}"
        yield from _field_lines(one.fields)
        for branch in one.branches:
            yield f"    {one_line(branch.branch)}: {_end(branch.before)} → {_end(branch.after)}"


def difference_page(difference: Difference, before: str, after: str) -> str:
    """The difference as a page; ``before`` and ``after`` say which versions they are."""
    old, new = difference.before.nodes, difference.after.nodes
    title = one_line(difference.after.name) or one_line(difference.after.tree_id) or "Decision tree"
    parts = (
        ("tree", "The tree itself", [_fields(difference.fields)] if difference.fields else []),
        ("removed", "Removed", [_card(i, old[i], "removed") for i in difference.removed]),
        ("added", "Added", [_card(i, new[i], "added") for i in difference.added]),
        ("renamed", "Renamed", [_renamed(difference)] if difference.renamed else []),
        ("changed", "Changed", [_changed(one, difference.after) for one in difference.changed]),
    )
    header = tag(
        "header",
        tag("p", "What is different", class_="label"),
        tag("h1", title),
        tag("p", summary_of(difference)),
        terms([("Before", code(before)), ("After", code(after))]),
    )
    there = [(anchor, name, joined(content)) for anchor, name, content in parts if content]
    entries = ((tag("a", name, href=f"#{anchor}"), EMPTY) for anchor, name, _ in there)
    main = tag("main", (section(*part) for part in there))
    return page(f"{title}: what is different", header, contents(entries), main)


# -- text


def _called(node_id: NodeId, node: AnyNode) -> str:
    title = title_of(node_id, node)
    name = "" if title == one_line(node_id) else f" “{title}”"
    return f"{one_line(node_id)}{name} ({KINDS[type(node)].lower()})"


def _end(node_id: NodeId | None) -> str:
    return one_line(node_id) or NOWHERE


def _field_lines(fields: Iterable[FieldChange]) -> Iterator[str]:
    for one in fields:
        before, after = _value(one.before), _value(one.after)
        if isinstance(one.before, list) and isinstance(one.after, list):
            yield f"    {one_line(one.field)}: {', '.join(_moved(one.before, one.after))}"
        elif len(before) + len(after) <= _SHORT:
            yield f"    {one_line(one.field)}: {before} → {after}"
        else:
            yield f"    {one_line(one.field)}:"
            yield f"      - {before}"
            yield f"      + {after}"


def _moved(before: list[Json], after: list[Json]) -> Iterator[str]:
    """What came into a list and what left it; only the order, where nothing did."""
    gone, came = [v for v in before if v not in after], [v for v in after if v not in before]
    yield from (f"- {_value(value)}" for value in gone)
    yield from (f"+ {_value(value)}" for value in came)
    if not (gone or came):
        yield f"now in the order {_value(after)}"


def _value(value: Json) -> str:
    return "not set" if value is None else one_line(json.dumps(value, ensure_ascii=False))


# -- page


def _card(node_id: NodeId, node: AnyNode, state: str) -> Markup:
    return tag("article", _heading(node_id, node), class_=state)


def _heading(node_id: NodeId, node: AnyNode) -> Markup:
    title, kind = title_of(node_id, node), KINDS[type(node)]
    return joined((tag("h3", said(title)), tag("p", f"{kind} ", code(node_id), class_="label")))


def _renamed(difference: Difference) -> Markup:
    rows = ((code(old), code(new)) for old, new in difference.renamed)
    return table(("Before", "After"), rows, "Renamed nodes")


def _changed(one: NodeChange, tree: Tree) -> Markup:
    content = [_heading(one.after, tree.nodes[one.after])]
    if one.fields:
        content.append(_fields(one.fields))
    if one.branches:
        rows = (_branch(branch) for branch in one.branches)
        content.append(table(("Branch", "Led to", "Leads to"), rows, "Branches that lead elsewhere"))
    return tag("article", content)


def _branch(branch: BranchChange) -> tuple[Markup, ...]:
    ends = (
        code(end) if end else tag("span", NOWHERE, class_="label") for end in (branch.before, branch.after)
    )
    return (said(branch.branch), *ends)


def _fields(fields: Iterable[FieldChange]) -> Markup:
    rows = ((said(one.field), *_both(one.before, one.after)) for one in fields)
    return table(("Field", "Before", "After"), rows, "Fields that are changed")


def _both(before: Json, after: Json) -> tuple[Markup, Markup]:
    """Two values, with what they do not share marked where both are texts."""
    if not (isinstance(before, str) and isinstance(after, str)):
        return tag("del", _value(before)), tag("ins", _value(after))
    old, new = _WORDS.findall(clean(before)), _WORDS.findall(clean(after))
    if len(old) + len(new) > _MOST_WORDS:
        return tag("del", before, class_="text"), tag("ins", after, class_="text")
    left, right = list[str](), list[str]()
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, came = "".join(old[a:b]), "".join(new[c:d])
        left.append(gone if kind == "equal" else tag("del", gone) if gone else "")
        right.append(came if kind == "equal" else tag("ins", came) if came else "")
    return tag("span", left, class_="text"), tag("span", right, class_="text")
