"""A model's reply, held strictly to one JSON object with one allowed answer; nothing is repaired."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from engine.errors import DocumentRefused
from engine.jsontext import parse as parse_json
from engine.values import quick_to_make

RejectCode: TypeAlias = Literal[
    "empty",
    "not_json",
    "leading_text",
    "trailing_text",
    "two_values",
    "too_deep",
    "duplicate_key",
    "root_not_object",
    "answer_missing",
    "answer_not_string",
    "not_allowed",
]
"""Why a reply could not be used."""


@quick_to_make
@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says. ``answer`` is the declared answer; the other two are None unless given as text."""

    answer: str
    observation: str | None = field(repr=False)
    confidence: str | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A reply without a usable answer."""

    code: RejectCode


def parse(raw: str | None, answers: Iterable[str]) -> Parsed | Rejected:
    """Read a reply: one JSON object, alone or in one code fence, whose ``answer`` is an allowed one."""
    text = unfenced(raw or "").strip()
    if not text:
        return Rejected("empty")
    try:
        # The mark in front is what a document may begin with; one of the reply's own is text before JSON.
        value = parse_json(BOM_UTF8 + text.encode(errors="surrogatepass"))
    except DocumentRefused as refused:
        return Rejected(_REFUSALS.get(refused.code) or _around(text))
    if not isinstance(value, dict):
        return Rejected("root_not_object")
    answer = value.get("answer")
    if not isinstance(answer, str):
        return Rejected("answer_not_string" if "answer" in value else "answer_missing")
    declared = matching(answer, answers)
    if declared is None:
        return Rejected("not_allowed")
    return Parsed(declared, _text(value.get("observation")), _text(value.get("confidence")))


def unfenced(reply: str) -> str:
    """A reply without the one code fence around all of it; any other reply as it is."""
    fenced = _FENCED.fullmatch(reply.strip())
    return fenced[2] if fenced else reply


def matching(answer: str, answers: Iterable[str]) -> str | None:
    """The first allowed answer equal to this one, ignoring case and outer space, as it was declared."""
    key = _key(answer)
    return next((declared for declared in answers if key and _key(declared) == key), None)


_REFUSALS: Final[dict[str, RejectCode]] = {"json-too-deep": "too_deep", "json-duplicate-key": "duplicate_key"}

# The closing fence stands on a line of its own and is at least as long as the opening one.
_FENCED: Final = re.compile(r"(`{3,}+)[^\n]*\n(.*)\n\1`*", re.DOTALL)
_OPENING: Final = re.compile(r"`{3,}\w*[ \t]*\r?\n?")


def _around(text: str) -> RejectCode:
    """What surrounds the first JSON object of a text that is not JSON as a whole."""
    start = max(text.find("{"), 0)
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return "not_json"
    before, after = text[:start], text[end:].strip()
    if before and not (after and _OPENING.fullmatch(before)):
        return "leading_text"
    if not after:
        return "not_json"  # the standard parser is more lenient than ours
    return "two_values" if after.startswith("{") else "trailing_text"


def _key(answer: str) -> str:
    answer = answer.strip()
    return answer.upper() if answer.isascii() else "".join(map(_upper, answer))


def _upper(character: str) -> str:
    # One for one, and none beyond ASCII becomes an ASCII letter: "ß" is not "SS", long s is not "S".
    upper = character.upper()
    return upper if len(upper) == 1 and character.isascii() == upper.isascii() else character


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
