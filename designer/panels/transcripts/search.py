"""Words sought in transcripts, in any case, from the first file on and without reading any of them whole."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from designer.panels.transcripts.markdown import spelled
from designer.panels.transcripts.sections import CHUNK, opened

_BEFORE: Final = 18
_AFTER: Final = 160
"""Characters of a line that are given around a hit."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Words found at a byte of a file, with the line they are in or the part of it around them."""

    path: Path
    at: int
    line: str


@dataclass(frozen=True, slots=True)
class Searched:
    """How many files were searched to their end."""

    files: int


def pattern_of(words: str) -> re.Pattern[str]:
    """What the words match: themselves, in any case."""
    return re.compile(re.escape(words), re.IGNORECASE)


def search(paths: Iterable[Path], words: str) -> Iterator[Hit | Searched | None]:
    """The hits in these files, file by file; None while there is nothing to tell.

    A file that cannot be read has none.
    """
    for files, path in enumerate(paths, 1):
        with suppress(OSError):
            yield from hits_in(path, words)
        yield Searched(files)


def hits_in(path: Path, words: str) -> Iterator[Hit | None]:
    """The hits in a file, in order; None while there is nothing to tell. Raises ``OSError``."""
    pattern, overlap = pattern_of(words), 4 * (len(words) + _AFTER)
    keep = overlap + 4 * _BEFORE
    data, base, done = b"", 0, 0
    with opened(path) as file:
        while True:
            more = file.read(CHUNK)
            data += more
            limit = base + len(data) - (overlap if more else 0)
            # What is no UTF-8 keeps its length this way, so that places in the text lead back to the file.
            text = data.decode("utf-8", "surrogateescape")
            last, at = 0, base
            for found in pattern.finditer(text):
                at += len(text[last : found.start()].encode("utf-8", "surrogateescape"))
                last = found.start()
                if at >= limit:
                    break
                if at >= done:
                    yield Hit(path, at, _line(text, found))
            done = max(done, limit)
            if not more:
                return
            yield None
            base += max(0, len(data) - keep)
            data = data[-keep:]


def _line(text: str, found: re.Match[str]) -> str:
    start, end = found.span()
    before = text[max(0, start - _BEFORE) : start]
    after = text[end : end + _AFTER]
    cut = len(before) == _BEFORE and "\n" not in before
    line = before[before.rfind("\n") + 1 :] + found[0] + after.partition("\n")[0].removesuffix("\r")
    seen = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return spelled(f"… {seen.lstrip()}" if cut else seen.lstrip())
