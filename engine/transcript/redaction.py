"""What must not be persisted: the values of members named for secrets, and texts that look like one.

Every pattern here runs in linear time, whatever it is given.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from engine.budget import Clock
from engine.errors import DocumentRefused
from engine.jsontext import Json, parse

Redactor: TypeAlias = Callable[[str], str | None]
"""Makes a text fit to be persisted. Must be quick; raising or giving None ends the transcript."""

REDACTED: Final = "[REDACTED]"
"""What stands where a secret stood."""

# What the name of a secret ends in, whatever stands before and however its words are set apart. `key` alone
# says too little, unless it is in capitals, as the environment has it.
_KEYS: Final = ("api key", "password", "secret", "token")
_HEADERS: Final = ("authorization", "cookie")
_CAPITALS: Final = r"[A-Z0-9]_KEY"

_SEPARATORS: Final = re.compile(r"[-_. ]")
_ENDINGS: Final = tuple(name.replace(" ", "") for name in (*_KEYS, *_HEADERS))
_CAPITAL_KEY: Final = re.compile(rf"{_CAPITALS}$")


def _is_sensitive(name: str) -> bool:
    bare = _SEPARATORS.sub("", name).lower()
    return bare.endswith(_ENDINGS) or _CAPITAL_KEY.search(name) is not None


def _running(names: Iterable[str]) -> str:
    """A pattern for names in running text."""
    return "|".join(names).replace(" ", "[-_. ]?")


# The same names in running text: `api_key=…`, `"password": "…"`, also with the quotes escaped.
_NAMED: Final = re.compile(
    rf"""((?:{_running(_KEYS)}|(?-i:{_CAPITALS}))\\*["']?[ \t]{{0,8}}[:=][ \t]{{0,8}})
        (?:\\+"[^"]*"? | "(?:[^"\\]+|\\.)*"? | '(?:[^'\\]+|\\.)*'? | [^\s"',;&}}\])]+)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_HEADER: Final = re.compile(
    rf"""((?:{_running(_HEADERS)})\\*["']?[ \t]{{0,8}}[:=])[^\r\n"']*(?:["'][^\r\n"']*["']?)?""",
    re.IGNORECASE | re.VERBOSE,
)

_SECRETS: Final = re.compile(
    r"""
      \bbearer[ \t]{1,8}[\w.~+/=-]{8,}                                        # bearer tokens
    | (?<![A-Za-z0-9])(?:sk|rk|pk)[-_][\w-]{8,}                               # model and payment keys
    | (?<![A-Za-z0-9])(?:gh[pousr]|github_pat|glpat|hf|xox[abeoprs])[-_][\w-]{10,}  # code hosts, chat, hubs
    | (?<![A-Za-z0-9])A(?:KIA|SIA)[0-9A-Z]{16}                                # cloud access keys
    | (?<![A-Za-z0-9])AIza[\w-]{30,}
    | (?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?                          # signed tokens (JWT)
    | -----BEGIN[ A-Z]{0,40}PRIVATE[ ]KEY-----[^-]*(?:-----END[ A-Z]{0,40}-----)?
    | (?<=://)[^\s/@:]{1,256}:[^\s/@]{1,256}(?=@)                             # name:password in an address
    """,
    re.IGNORECASE | re.VERBOSE,
)


def shipped_redactor(text: str) -> str:
    """Masks what looks like a key, a token or a password in an address."""
    return _SECRETS.sub(REDACTED, text)


def without_named_secrets(text: str) -> str:
    """The text with the values of sensitive names redacted; one JSON document is rewritten compactly."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = parse(text.encode(errors="replace"))
        except DocumentRefused:
            pass
        else:
            return compact(_redacted(value))
    return _HEADER.sub(rf"\1 {REDACTED}", _NAMED.sub(rf"\1{REDACTED}", text))


_LONGEST_INPUT: Final = 256_000
_SLOWEST: Final = 1.0


class RedactionFailed(Exception):
    """The redactor gave nothing, or took so long that it must not be asked again."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What may be persisted of a text. Without a redactor, in debug mode, that is all of it."""

    redactor: Redactor | None
    clock: Clock

    def __call__(self, text: str, name: str = "") -> str:
        """The text as it may be persisted, being the value of ``name``. Raises what the redactor raises."""
        if self.redactor is None:
            return text
        if _is_sensitive(name):
            return REDACTED
        if len(text) > _LONGEST_INPUT:
            # The word the cut went through may be half of a secret, which nobody would know for one.
            text = f"{text[:_LONGEST_INPUT].rsplit(maxsplit=1)[0]} [text too long]"
        return self.plain(without_named_secrets(text))

    def plain(self, text: str) -> str:
        """The text as the redactor alone has it."""
        if self.redactor is None:
            return text
        began = self.clock.monotonic()
        redacted = self.redactor(text)
        if not isinstance(redacted, str) or self.clock.monotonic() - began > _SLOWEST:
            raise RedactionFailed
        return redacted


def compact(value: Json) -> str:
    """JSON text without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _redacted(value: Json) -> Json:
    match value:
        case dict():
            return {
                name: REDACTED if _is_sensitive(name) else _redacted(member) for name, member in value.items()
            }
        case list():
            return [_redacted(item) for item in value]
        case str():
            return without_named_secrets(value)
        case _:
            return value
