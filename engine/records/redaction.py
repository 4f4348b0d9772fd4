"""What may be kept of a decision's state: all of it, something else in its place, or no record at all."""

import hashlib
import re
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

from engine.jsontext import Json


class Drop(Enum):
    """What a redactor says of a decision that must not be recorded."""

    DROP = "drop"


DROP: Final = Drop.DROP

Redact: TypeAlias = Callable[[Json], Json | Drop]
"""What may be kept of a decision's state: the state to keep, or :data:`DROP` for no record."""


def masked(*patterns: str | re.Pattern[str], put: str = "[masked]") -> Redact:
    """A redactor that puts a text in the place of whatever matches in the texts of a state."""
    expressions = [re.compile(pattern) for pattern in patterns]

    def mask(text: str) -> str:
        for expression in expressions:
            text = expression.sub(lambda _: put, text)
        return text

    return lambda state: _mapped(state, mask)


def digested(state: Json) -> Json:
    """A redactor that keeps of each text in a state its length and the beginning of its SHA-256."""
    return _mapped(state, lambda text: f"{len(text)} characters, SHA-256 {_hash(text)[:12]}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _mapped(state: Json, change: Callable[[str], str]) -> Json:
    match state:
        case str():
            return change(state)
        case dict():
            return {name: _mapped(member, change) for name, member in state.items()}
        case list():
            return [_mapped(item, change) for item in state]
        case _:
            return state
