"""Decision ids: UUIDs of version 7, which sort by the time they were made."""

import secrets
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final
from uuid import UUID

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class _Ids:
    """Ids asked for in one millisecond rise one by one; an older clock reading gives older ids."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked = self._given = 0

    def __call__(self, now: datetime) -> str:
        """A new id for this moment."""
        milliseconds = (now - _EPOCH) // _MILLISECOND
        # Milliseconds and a 12-bit counter are one number: a counter that runs over moves the clock on.
        first = milliseconds << 12
        with self._lock:
            number = first if milliseconds < self._asked else max(first, self._given + 1)
            self._asked, self._given = milliseconds, number
        stamp, counter = divmod(number, 1 << 12)
        bits = stamp << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(UUID(int=bits))


uuid7 = _Ids()
