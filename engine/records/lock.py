"""One writer per record store: a lock the system drops when its holder dies."""

import fcntl
import os
from pathlib import Path
from typing import Final

from engine.errors import TreewrightError

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class StoreInUse(TreewrightError):
    """Another writer has the record store."""

    def __init__(self) -> None:
        super().__init__("Another program is writing to this record store.")


class StoreLock:
    """The right to write to a store, held until it is released. Taking it raises :class:`StoreInUse`.

    The lock is a file beside the store, because closing any handle of a SQLite file would drop SQLite's own
    locks. It stays where it is: removing it would let two writers hold two files of one name.
    """

    def __init__(self, store: Path) -> None:
        self._handle: int | None = os.open(store.with_name(f"{store.name}.lock"), _FLAGS, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise StoreInUse from None

    def release(self) -> None:
        """Let others write; a second time does nothing."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
