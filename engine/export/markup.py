"""Markup of the pages: elements and the few shapes all pages are made of.

Markup is made by :func:`tag` alone, which escapes every text that is not markup already.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, TypeAlias

from engine.export.style import STYLE
from engine.export.words import clean, one_line


class Markup(str):
    """HTML that is ready to stand in the page."""

    __slots__ = ()


Content: TypeAlias = str | Iterable[str]
EMPTY: Final = Markup()
_LONELY: Final = frozenset({"meta", "input"})


def tag(name: str, /, *content: Content, **attributes: str | None) -> Markup:
    """An element. An attribute that is None is left out; ``for_`` stands for ``for``, as ``_`` for ``-``."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(clean(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _LONELY:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{joined(content)}</{name}>")


def joined(content: Iterable[Content]) -> Markup:
    """All of these, one after the other; what is no markup yet is escaped."""
    parts = (part for one in content for part in ((one,) if isinstance(one, str) else one))
    return Markup("".join(part if isinstance(part, Markup) else escape(clean(part)) for part in parts))


def said(text: str | None) -> Markup:
    """A text of the author on a line of ours, read in its own direction."""
    return tag("bdi", one_line(text))


def prose(text: str) -> Markup:
    """A text of the author in its own lines."""
    return tag("p", text.strip("\n"), class_="text", dir="auto")


def code(text: str) -> Markup:
    """A key, an id or a value, in letters of one width."""
    return tag("code", one_line(text), dir="auto")


def terms(pairs: Iterable[tuple[str, Content]]) -> Markup:
    """Terms and what they are; those without are left out."""
    rows = ((term, joined([value])) for term, value in pairs)
    inside = [tag("div", tag("dt", term), tag("dd", value)) for term, value in rows if value]
    return tag("dl", inside) if inside else EMPTY


def table(head: Sequence[str], rows: Iterable[Sequence[Content]], name: str) -> Markup:
    """A table whose first column heads the rows."""
    body = [
        tag("tr", tag("th", first, scope="row"), (tag("td", cell) for cell in rest)) for first, *rest in rows
    ]
    top = tag("tr", (tag("th", word, scope="col") for word in head))
    return tag("div", tag("table", tag("thead", top), tag("tbody", body), aria_label=name), class_="wide")


def section(anchor: str, title: str, content: Content) -> Markup:
    """A part of a page under a title."""
    head = tag("h2", title, id=f"{anchor}-title")
    return tag("section", head, content, id=anchor, aria_labelledby=f"{anchor}-title")


def contents(entries: Iterable[tuple[Markup, Markup]]) -> Markup:
    """The parts of a page as links, each with what is within it."""
    head = tag("p", "Contents", class_="label", id="contents")
    listed = tag("ol", (tag("li", link, within) for link, within in entries))
    return tag("nav", head, listed, aria_labelledby="contents")


def page(title: str, *body: Content) -> str:
    """A whole document, which loads nothing and runs nothing."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *body), lang='en')}\n"
