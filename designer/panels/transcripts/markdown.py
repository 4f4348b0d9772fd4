"""The Markdown of a transcript, line by line: what each line is and how its words look.

Only a few forms are read, each within its line, and everything else stays the text it is: markup of other
kinds, pictures, addresses that are none of the web. Characters that hide or turn text are spelled out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

LONGEST: Final = 2000
"""Bytes of a line that stay together; Qt's layout takes time with the square of a word's length."""
DEEPEST: Final = 8
"""Steps that lists and quotes are moved in at most."""

Kind: TypeAlias = Literal["text", "heading", "item", "quote", "rule", "row", "code"]
Look: TypeAlias = Literal["plain", "strong", "slanted", "code", "faint", "hidden"]


@dataclass(frozen=True, slots=True)
class Run:
    """Some words of one look; ``hidden`` spells out characters that cannot be seen."""

    text: str
    look: Look = "plain"
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is shown, and where it is written: ``size`` bytes of the file from ``at``.

    ``gap`` is set where something ends before it. ``fence`` is what encloses a line of code.
    """

    at: int
    size: int
    kind: Kind
    level: int
    runs: tuple[Run, ...]
    gap: bool = False
    fence: bytes = b""


def lines_of(data: bytes, at: int = 0, fence: bytes = b"") -> Iterator[Line]:
    """The lines of a piece of a file that begins at this byte and within this fence."""
    gap = False
    for whole in data.removesuffix(b"\n").split(b"\n") if data else ():
        raw, here = whole.removesuffix(b"\r"), at
        at += len(whole) + 1
        mark = _FENCE.fullmatch(raw)
        if mark and (after := fence_after(fence, mark[1], mark[2])) != fence:
            fence, gap = after, True
        elif not fence and not raw.strip():
            gap = True
        else:
            for number, piece in enumerate(_pieces(raw)):
                text = piece.decode("utf-8", "replace")
                kind, level, runs = _code(text) if fence else _read(text) if number == 0 else _words(text)
                yield Line(here, len(piece), kind, level, runs, gap, fence)
                here += len(piece)
                gap = False


def fence_after(fence: bytes, mark: bytes, rest: bytes) -> bytes:
    """The fence that is open after a line that begins with this mark, with the one that was open before."""
    if fence:
        closes = mark[:1] == fence[:1] and len(mark) >= len(fence) and not rest.strip()
        return b"" if closes else fence
    return b"" if mark[:1] == b"`" and b"`" in rest else mark


def spelled(text: str) -> str:
    """A text on which every character can be seen."""
    return "".join(run.text for run in _visible(text, "plain"))


def heading(words: str) -> str:
    """The words of a heading without their marks."""
    return "".join(run.text for run in _inline(words.strip().rstrip("#").rstrip()))


_Read: TypeAlias = tuple[Kind, int, tuple[Run, ...]]

_FENCE: Final = re.compile(rb" {0,3}(`{3,}|~{3,})([^\n]*)")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t](.*)", re.DOTALL)
_RULE: Final = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_ITEM: Final = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(\S.*)", re.DOTALL)
_QUOTE: Final = re.compile(r" {0,3}(>[ \t>]*)(.*)", re.DOTALL)
_ROW: Final = re.compile(r" {0,3}\|.*", re.DOTALL)
_HIDDEN: Final = re.compile(
    "[\0-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\U000e0000-\U000e0fff]+"
)
_SPELLED: Final = 4
"""Hidden characters in a row that are spelled out one by one."""
_TOKEN: Final = re.compile(
    r"""(?P<escape>\\[!-/:-@\[-`{-~])
    | (?P<ticks>`+)
    | (?P<picture>!?)\[(?P<label>[^\[\]]{0,300})\]\((?P<address>[^()\s]{1,1500})\)
    | (?P<bare>\b(?:https?://|mailto:)[^\s<>`"|]{1,1500})
    | \*\*(?=\S)(?P<strong>[^*]{1,300})(?<=\S)\*\*
    | (?<![\w*])\*(?=\S)(?P<star>[^*]{1,300})(?<=\S)\*(?![\w*])
    | (?<!\w)_(?=\S)(?P<low>[^_]{1,300})(?<=\S)_(?!\w)""",
    re.VERBOSE,
)
_TICKS: Final = re.compile("`+")
_WEB: Final = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)


def _pieces(raw: bytes) -> Iterator[bytes]:
    """A line in pieces that are not too long, cut at a blank where there is one."""
    start = 0
    while len(raw) - start > LONGEST:
        cut = raw.rfind(b" ", start + LONGEST // 2, start + LONGEST) + 1 or whole(raw, start + LONGEST)
        yield raw[start:cut]
        start = cut
    yield raw[start:]


def whole(data: bytes, cut: int) -> int:
    """This byte or the nearest one before it that begins a character; it is not the end of the data."""
    back = next((n for n in range(4) if data[cut - n] & 0xC0 != 0x80), 0)
    return cut - back


def _read(text: str) -> _Read:
    if found := _HEADING.fullmatch(text):
        return "heading", len(found[1]), _inline(found[2].strip().rstrip("#").rstrip())
    if _RULE.fullmatch(text):
        return "rule", 0, ()
    if found := _ITEM.fullmatch(text):
        mark = "•" if found[2] in "-*+" else found[2]
        depth = min(DEEPEST, len(found[1].expandtabs(4)) // 2)
        return "item", depth, (Run(f"{mark}\t"), *_inline(found[3].rstrip()))
    if found := _QUOTE.fullmatch(text):
        return "quote", min(DEEPEST, found[1].count(">")), _inline(found[2].rstrip())
    if _ROW.fullmatch(text):
        return "row", 0, _visible(text, "plain")
    return _words(text)


def _code(text: str) -> _Read:
    return "code", 0, _visible(text, "plain")


def _words(text: str) -> _Read:
    return "text", 0, _inline(text.rstrip().removesuffix("\\"))


def _visible(text: str, look: Look, link: str | None = None) -> tuple[Run, ...]:
    if not _HIDDEN.search(text):
        return (Run(text, look, link),) if text else ()
    runs, at = [], 0
    for found in _HIDDEN.finditer(text):
        runs += [Run(text[at : found.start()], look, link), Run(_names(found[0]), "hidden", link)]
        at = found.end()
    runs.append(Run(text[at:], look, link))
    return tuple(run for run in runs if run.text)


def _names(hidden: str) -> str:
    names = " ".join(f"U+{ord(character):04X}" for character in hidden[:_SPELLED])
    more = len(hidden) - _SPELLED
    return f"⟨{names}⟩" if more <= 0 else f"⟨{names} and {more:,} more⟩"


def _inline(text: str) -> tuple[Run, ...]:
    runs: list[Run] = []
    last = {len(ticks[0]): ticks.start() for ticks in _TICKS.finditer(text)}
    plain = at = 0
    while found := _TOKEN.search(text, at):
        end, made = _made(text, found, last)
        if made is not None:
            runs += (*_visible(text[plain : found.start()], "plain"), *made)
            plain = end
        at = end
    return (*runs, *_visible(text[plain:], "plain"))


def _made(text: str, found: re.Match[str], last: dict[int, int]) -> tuple[int, tuple[Run, ...] | None]:
    """Where a form ends, and the words it stands for; None where it is no form but text."""
    start, end = found.span()
    match found.lastgroup:
        case "ticks":
            return _code_span(text, start, end, last)
        case "address":
            made = _reference(found["picture"], found["label"], found["address"])
        case "bare":
            address = found["bare"].rstrip(".,;:!?'*_)")
            end = start + len(address)
            made = _visible(address, "plain", None if _HIDDEN.search(address) else address)
        case "escape":
            made = _visible(text[start + 1 : end], "plain")
        case "strong":
            made = _visible(found["strong"], "strong")
        case _:
            made = _visible(found["star"] or found["low"], "slanted")
    return end, made


def _code_span(text: str, start: int, end: int, last: dict[int, int]) -> tuple[int, tuple[Run, ...] | None]:
    size = end - start
    if last[size] <= start:
        return end, None
    close = next(ticks for ticks in _TICKS.finditer(text, end) if len(ticks[0]) == size)
    inner = text[end : close.start()]
    padded = inner.startswith(" ") and inner.endswith(" ") and inner.strip()
    return close.end(), _visible(inner[1:-1] if padded else inner, "code")


def _reference(picture: str, label: str, address: str) -> tuple[Run, ...] | None:
    """A link with its address, or what a picture is called and where it would be."""
    if picture:
        return (*_visible(label, "plain"), *_visible(f" (picture: {address})", "faint"))
    if not _WEB.fullmatch(address) or _HIDDEN.search(address):
        return None
    if label.strip() in {"", address}:
        return (Run(address, "plain", address),)
    return (*_visible(label, "plain", address), Run(f" ({address})", "faint", address))
