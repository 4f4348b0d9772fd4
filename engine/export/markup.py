"""Markup of the pages: elements and the few shapes all pages are made of.

Markup is made by :func:`tag` alone, which escapes every text that is not markup already.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, TypeAlias

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
