"""Strict JSON text: bytes become a value, or are refused with a reason and the exact place.

The fast path is the standard parser with its leniencies switched off. What that refuses or leaves in
doubt is read once more by a slow, strict reader, which has the last word and knows the place. The same
reader finds where in a text a JSON pointer points.
"""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from pydantic import JsonValue

from engine.errors import DocumentRefused

Json: TypeAlias = JsonValue

MAX_BYTES: Final = 16_000_000
MAX_DEPTH: Final = 64


def document_bytes(file: Path) -> bytes:
    """The bytes of a file, unless it is larger than a document may be: that is ``DocumentRefused``.

    No more is read than shows it, for some files have no end. Raises ``OSError``.
    """
    with file.open("rb") as stream:
        return _small(stream.read(MAX_BYTES + 1))


def parse(data: bytes) -> Json:
    """The value a JSON document holds; ``DocumentRefused`` with a code and a place when it is none.

    Accepted is UTF-8 (one byte order mark is tolerated) of at most 16 MB, nested at most 64 deep, with
    finite numbers, paired surrogates, and member names that are unique and free of control characters.
    """
    text = text_of(data)
    escapes = b"\\" in data
    # With escaped backslashes out of the way, each backslash left starts an escape. Something stays in their
    # place: two halves of a pair with one between them are no pair.
    plain = data.replace(b"\\\\", b"..") if escapes else data
    if _is_shallow(plain) and not (escapes and _LONE_SURROGATE.search(plain)):
        with suppress(ValueError):
            value: Json = (_ESCAPED if escapes else _PLAIN).decode(text)
            return value
    return _Reader(text).document()


def text_of(data: bytes) -> str:
    """The text of a document, without its byte order mark; ``DocumentRefused`` when it is no text of ours."""
    try:
        return _small(data).removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        place = _line_and_column(before, len(before))
        raise DocumentRefused("json-encoding", "The file is not UTF-8 text.", *place) from None


def pointer(*path: str | int) -> str:
    """The JSON pointer of a path of member names and list positions."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def path_of(pointer: str) -> tuple[str, ...]:
    """The member names and list positions of a JSON pointer, as text."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def locate(text: str, pointer: str) -> tuple[int, int]:
    """Line and column (from 1) of what a JSON pointer names in a document that ``parse`` accepts.

    A member is found at its name, an item at its value. What is missing is found at the nearest parent
    that is there.
    """
    return places(text, (pointer,))[pointer]


def places(text: str, pointers: Iterable[str]) -> dict[str, tuple[int, int]]:
    """What ``locate`` says of each pointer, in one reading of the text."""
    paths = {pointer: path_of(pointer) for pointer in pointers}
    if not paths:
        return {}
    root = _Spot()
    for path in paths.values():
        spot = root
        for part in path:
            spot = spot.inside.setdefault(part, _Spot())
    _Reader(text, root).document()
    offsets = {pointer: root.nearest(path) for pointer, path in paths.items()}
    lines, line, last = {}, 1, 0
    for at in sorted({*offsets.values()}):
        line, last = line + text.count("\n", last, at), at
        lines[at] = (line, at - text.rfind("\n", 0, at))
    return {pointer: lines[at] for pointer, at in offsets.items()}


def write(value: object, plain: Callable[[object], object] | None = None) -> bytes:
    """A value as UTF-8 text in the layout of ``json.dumps`` with an indent of 2, and a final line end.

    ``plain`` turns what JSON does not know into what it knows. It takes half the time of ``json.dumps``.
    """
    return f"{_written(value, chr(10), plain)}\n".encode()


def _small(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise DocumentRefused("json-too-large", "The file is larger than 16 MB.")
    return data


_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_LONE_SURROGATE: Final = re.compile(
    rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]", re.DOTALL
)
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}

_AS_BRACES: Final = bytes.maketrans(b"[]", b"{}")
_NO_MARKS: Final = bytes(set(range(256)) - set(b'[]{}"'))


def _is_shallow(plain: bytes) -> bool:
    """Whether brackets outside texts nest at most ``MAX_DEPTH`` deep; meant for well-formed JSON only."""
    if plain.count(b"{") + plain.count(b"[") <= MAX_DEPTH:
        return True
    unescaped = plain.replace(b'\\"', b"") if b"\\" in plain else plain
    marks = unescaped.translate(_AS_BRACES, _NO_MARKS)
    # Most texts hold no bracket, and dropping two neighbouring quotes changes nothing of what is inside them.
    nested = b"".join(marks.replace(b'""', b"").split(b'"')[::2])
    for _ in range(MAX_DEPTH):
        if not nested:
            break
        nested = nested.replace(b"{}", b"")
    return not nested


def _finite(token: str) -> float:
    number = float(token)
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate")
    return found


def _unescaped_members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = _members(pairs)
    if any(map(_CONTROL.search, found)):
        raise ValueError("control")
    return found


# Only an escape can bring a control character into a name past the standard parser.
_PLAIN: Final = json.JSONDecoder(object_pairs_hook=_members, parse_float=_finite, parse_constant=_finite)
_ESCAPED: Final = json.JSONDecoder(
    object_pairs_hook=_unescaped_members, parse_float=_finite, parse_constant=_finite
)


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


_quoted: Final = json.encoder.encode_basestring
_leaf: Final = json.JSONEncoder(allow_nan=False).encode


_LEAVES: Final = {bool, float, int, type(None)}


def _written(value: object, margin: str, plain: Callable[[object], object] | None) -> str:
    if isinstance(value, str):
        return _quoted(value)
    inner = margin + "  "
    if isinstance(value, dict):
        inside = [
            f"{_quoted(name)}: {_quoted(member) if type(member) is str else _written(member, inner, plain)}"
            for name, member in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(inside)}{margin}}}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        inside = [_written(item, inner, plain) for item in value]
        return f"[{inner}{f',{inner}'.join(inside)}{margin}]" if inside else "[]"
    if plain is None or type(value) in _LEAVES:
        return _leaf(value)
    return _written(plain(value), margin, plain)


@dataclass(slots=True)
class _Spot:
    """A place somebody asked for: where it was found, and the places wanted inside it."""

    at: int | None = None
    inside: "dict[str, _Spot]" = field(default_factory=dict)

    def nearest(self, path: tuple[str, ...]) -> int:
        """The offset of the deepest part of the path that is there."""
        at, spot = self.at or 0, self
        for part in path:
            spot = spot.inside[part]
            at = at if spot.at is None else spot.at
        return at


class _Reader:
    """Reads a text by the letter of RFC 8259 and our limits. Slow, and exact about places.

    With spots wanted, the text counts as accepted already, and parts that hold none are skipped.
    """

    def __init__(self, text: str, wanted: _Spot | None = None) -> None:
        self._text, self._wanted = text, wanted
        self._standard = json.JSONDecoder().raw_decode

    def document(self) -> Json:
        start = self._blank(0)
        if start == len(self._text):
            self._refuse("json-syntax", "There is no JSON here: the file is empty.", 0)
        if self._wanted:
            self._wanted.at = start
        value, end = self._value(start, 0, self._wanted)
        end = self._blank(end)
        if end < len(self._text):
            self._refuse("json-syntax", "Nothing may follow the end of the document.", end)
        return value

    def _value(self, at: int, depth: int, wanted: _Spot | None) -> tuple[Json, int]:
        if self._wanted and not (wanted and wanted.inside):
            return self._standard(self._text, at)
        match self._text[at : at + 1]:
            case "{":
                return self._object(at, depth + 1, wanted)
            case "[":
                return self._array(at, depth + 1, wanted)
            case '"':
                return self._string(at)
        for word, value in _WORDS.items():
            if self._text.startswith(word, at):
                return value, at + len(word)
        return self._number(at)

    def _object(self, at: int, depth: int, wanted: _Spot | None) -> tuple[Json, int]:
        self._limit(depth, at)
        members: dict[str, Json] = {}
        if self._text.startswith("}", end := self._blank(at + 1)):
            return members, end + 1
        while True:
            if not self._text.startswith('"', end):
                self._refuse("json-syntax", "A member name in double quotes is expected here.", end)
            name, start = self._string(end)
            if _CONTROL.search(name):
                self._refuse("json-control", "A member name must not hold control characters.", end)
            if name in members:
                self._refuse(
                    "json-duplicate-key", f"The name '{name:.80}' appears twice in this object.", end
                )
            spot = wanted.inside.get(name) if wanted else None
            if spot:
                spot.at = end
            start = self._after(":", start, "A colon is expected after the member name.")
            members[name], end = self._value(start, depth, spot)
            if self._text.startswith("}", end := self._blank(end)):
                return members, end + 1
            end = self._after(",", end, "A comma or a closing brace is expected here.")

    def _array(self, at: int, depth: int, wanted: _Spot | None) -> tuple[Json, int]:
        self._limit(depth, at)
        items: list[Json] = []
        if self._text.startswith("]", end := self._blank(at + 1)):
            return items, end + 1
        while True:
            spot = wanted.inside.get(str(len(items))) if wanted else None
            if spot:
                spot.at = end
            item, end = self._value(end, depth, spot)
            items.append(item)
            if self._text.startswith("]", end := self._blank(end)):
                return items, end + 1
            end = self._after(",", end, "A comma or a closing bracket is expected here.")

    def _string(self, at: int) -> tuple[str, int]:
        try:
            value, end = self._standard(self._text, at)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated"):
                self._refuse("json-syntax", "This text has no closing quotation mark.", at)
            if error.msg.startswith("Invalid control"):
                self._refuse(
                    "json-syntax", "A control character in a text is written as an escape.", error.pos
                )
            self._refuse("json-syntax", "There is no such escape in JSON.", error.pos)
        if _SURROGATE.search(value):
            self._refuse("json-surrogate", "This text holds half of a surrogate pair.", at)
        return value, end

    def _number(self, at: int) -> tuple[Json, int]:
        match = _NUMBER.match(self._text, at)
        if match is None:
            if self._text.startswith(("NaN", "Infinity", "-Infinity"), at):
                self._refuse("json-number", "A number must be finite.", at)
            self._refuse("json-syntax", "A value is expected here.", at)
        try:
            return (_finite if match[1] or match[2] else int)(match[0]), match.end()
        except ValueError:
            self._refuse("json-number", "This number is too large.", at)

    def _blank(self, at: int) -> int:
        match = _BLANK.match(self._text, at)
        return match.end() if match else at

    def _after(self, mark: str, at: int, otherwise: str) -> int:
        at = self._blank(at)
        if not self._text.startswith(mark, at):
            self._refuse("json-syntax", otherwise, at)
        return self._blank(at + 1)

    def _limit(self, depth: int, at: int) -> None:
        if depth > MAX_DEPTH:
            self._refuse("json-too-deep", f"Values may be nested at most {MAX_DEPTH} deep.", at)

    def _refuse(self, code: str, message: str, at: int) -> NoReturn:
        raise DocumentRefused(code, message, *_line_and_column(self._text, at))
