"""A transcript file as sections to go to and pages to show, found in one pass over a file of any size."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from designer.panels.transcripts.markdown import LONGEST, fence_after, heading, whole

PAGE: Final = 1 << 17
"""Bytes after which a page ends at the next heading, soon else at a line, else where it must."""
CHUNK: Final = 1 << 15
LISTED: Final = 20_000
"""Sections of a file that are listed."""
_TITLE: Final = 200


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, at this byte of the file."""

    at: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Page:
    """The bytes from ``start`` to ``end``; ``fence`` is the one they begin in, empty for none."""

    start: int
    end: int
    fence: bytes


def opened(path: Path) -> BinaryIO:
    """A plain file, to be read; ``OSError`` for links, and for pipes and devices, which might never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "It is no plain file")
    return file


def scan(path: Path) -> Iterator[Section | Page | None]:
    """The sections and pages of a file, each when it is known; None while there is nothing to tell.

    A file has at least one page. Raises ``OSError``.
    """
    fence = begun = b""
    start = at = listed = 0
    with opened(path) as file:
        for chunk, fresh in _chunks(file):
            for mark in _MARK.finditer(b"\n" + chunk if fresh else chunk):
                here = at + mark.start() + (not fresh)
                if mark[1][:1] != b"#":
                    fence = fence_after(fence, mark[1], mark[2])
                    continue
                if fence:
                    continue
                if here - start >= PAGE:
                    yield Page(start, here, begun)
                    start, begun = here, fence
                if listed < LISTED:
                    title = heading(mark[2][: 4 * _TITLE].decode("utf-8", "replace"))[:_TITLE]
                    yield Section(here, len(mark[1]), title)
                    listed += 1
            at += len(chunk)
            if at - start >= 2 * PAGE:
                yield Page(start, at, begun)
                start, begun = at, fence
            else:
                yield None
    if at > start or at == 0:
        yield Page(start, at, begun)


def read(path: Path, start: int, end: int) -> bytes:
    """These bytes of a file, fewer when it has become shorter. Raises ``OSError``."""
    with opened(path) as file:
        file.seek(start)
        return file.read(end - start)


_MARK: Final = re.compile(rb"\n {0,3}(#{1,6}(?=[ \t])|`{3,}|~{3,})([^\n]*)")


def _chunks(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """The file in pieces that end with lines, and whether each begins with one; endless lines are cut."""
    rest, fresh = b"", True
    while data := file.read(CHUNK):
        data = rest + data
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > LONGEST:
            cut = whole(data, len(data) - 1)
        rest = data[cut:]
        if cut:
            yield data[:cut], fresh
            fresh = data[cut - 1 : cut] == b"\n"
    if rest:
        yield rest, fresh
