"""Files put in place whole: what stood there stays as it was until the new content is on the disk."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def in_place_of(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of the one at ``path`` once the block ends without an error.

    A link stays one and a file that is there keeps its mode, but what is ``private`` is for its owner only.
    ``OSError``, or whatever the block raises, leaves everything as it was.
    """
    target = path.resolve()
    mode = 0o600 if private else stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    part = target.with_name(f".treewright-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(part, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            part.chmod(mode)
        part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
