"""Where a transcript goes: a file of its own that only its owner can read, or wherever a sink puts it."""

import os
import re
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Final, Protocol

_LONGEST_SLUG: Final = 80
_LONGEST_SLUG_BYTES: Final = 96  # so that the whole name, suffix included, stays within 120 bytes
_ATTEMPTS: Final = 100


class TranscriptSink(Protocol):
    """Takes the text of one transcript."""

    @property
    def path(self) -> Path:
        """Its identity: the file, or the one it would be."""
        ...

    def append(self, text: str) -> None:
        """Take the next piece."""
        ...

    def complete(self) -> None:
        """The transcript is whole."""
        ...

    def close(self) -> None:
        """Give back what the sink holds, whole or not."""
        ...


class FileSink:
    """A new UTF-8 file of mode 0600, in a folder that is made if need be; never one that is there already.

    Where the name is taken, ``-2`` and so on is put behind it. Others may read the file at any time.
    """

    def __init__(self, path: Path) -> None:
        _make_folder(path.parent)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            self.path = path.with_name(_created(path, folder))
        finally:
            os.close(folder)

    def append(self, text: str) -> None:
        # Opened for each piece: a run that is given up half-way leaves no open file behind.
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        with os.fdopen(file, "wb") as stream:
            stream.write(text.encode(errors="replace"))

    def complete(self) -> None:
        """Nothing is left to do: every piece is in the file."""

    def close(self) -> None:
        """Nothing is held."""


def file_name(at: datetime, goal: str) -> str:
    """The name of a transcript: the local time, then the goal's letters and digits."""
    slug = re.sub(r"[\W_]+", "-", goal).strip("-")[:_LONGEST_SLUG]
    slug = slug.encode()[:_LONGEST_SLUG_BYTES].decode(errors="ignore").strip("-")
    return f"{at:%Y%m%d-%H%M%S}-{slug or 'task'}.md"


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _created(path: Path, folder: int) -> str:
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    for _, suffix in zip(range(_ATTEMPTS), suffixes, strict=False):
        name = f"{path.stem}{suffix}{path.suffix}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            os.close(os.open(name, flags, 0o600, dir_fd=folder))
        except FileExistsError:
            continue
        return name
    raise FileExistsError("There are too many transcripts of this name.")
