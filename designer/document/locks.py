"""Locks between programs: one holder at a time, and none once the holder has died.

A lock is a file the system has locked for us, so nothing is left to break after a crash. Whoever takes it
over puts a new file in its place, and the former holder sees that its own is no longer there.
"""

import errno
import fcntl
import os
import secrets
import weakref
from pathlib import Path
from typing import Final

from designer.document.folders import private_folder

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_TAKEN: Final = frozenset({errno.EAGAIN, errno.EACCES})


class Lock:
    """A lock this program has. One that is forgotten is given back."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle
        self._close = weakref.finalize(self, os.close, handle)

    @property
    def held(self) -> bool:
        """Whether it is still ours: not given back, and taken over by nobody."""
        if not self._close.alive:
            return False
        try:
            there = self.path.stat(follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._handle))

    def release(self) -> None:
        """Give it back; a second time does nothing."""
        if self.held:
            self.path.unlink(missing_ok=True)
        self._close()


def acquire(path: Path) -> Lock | None:
    """The lock of this name, or None while somebody has it; ``OSError`` where no file can be locked."""
    private_folder(path.parent)
    while True:
        handle = os.open(path, _FLAGS, 0o600)
        lock = Lock(path, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _TAKEN:
                return None
            raise
        if lock.held:
            return lock
        # Between our opening and our locking it, its holder let go of the file.


def seize(path: Path) -> Lock:
    """The lock of this name, whoever has it; ``OSError`` where no file can be locked."""
    private_folder(path.parent)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(fresh, _FLAGS | os.O_EXCL, 0o600)
    lock = Lock(path, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return lock
