"""Which failures of a model are worth a try with the next one."""

import asyncio
import re
from typing import Final

from engine.errors import LlmError

_STATUS_IN_TEXT: Final = re.compile(r"HTTP (\d{3})(?=$|[:\s])", re.IGNORECASE)
_TRANSIENT_WORDS: Final = (
    "rate limit exceeded",
    "rate_limit reached",
    "too many requests",
    "free-models-per-min",
)


def is_transient_status(status: int) -> bool:
    """Whether an HTTP status speaks of the moment rather than of the request."""
    return status in (408, 425, 429) or (500 <= status <= 599 and status not in (501, 505))


def is_transient(error: BaseException, *, cancelled: bool = False) -> bool:
    """Whether the next model may be tried after this error; never when the caller itself was cancelled.

    The errors of an application's own client are judged by what they say: a ``status`` or
    ``status_code``, else the words of their text.
    """
    if cancelled:
        return False
    if isinstance(error, TimeoutError | asyncio.CancelledError):
        return True
    status = _status_of(error)
    if isinstance(error, LlmError):
        refused = status is not None and status >= 400 and not is_transient_status(status)
        return error.transient and not refused
    if status is not None:
        return is_transient_status(status)
    text = str(error)
    if found := _STATUS_IN_TEXT.search(text):
        return is_transient_status(int(found[1]))
    return any(words in text.lower() for words in _TRANSIENT_WORDS)


def caller_is_cancelled() -> bool:
    """Whether the running task was asked to stop, as opposed to a cancellation that leaked from below."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _status_of(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status", "status_code"):
            if isinstance(status := getattr(holder, name, None), int):
                return status
    return None
