"""A scope: the id and the erasure key of one decision, for a call somewhere inside it."""

from contextlib import suppress
from contextvars import ContextVar, Token
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from engine.records.ids import uuid7


class RecordingScope:
    """Carries the id and the key of one decision.

    ::

        with recording(erasure_key=customer) as scope:
            result = await client.evaluate(request)
        keep(scope.decision_id)
    """

    def __init__(self, decision_id: str | None, erasure_key: str | None) -> None:
        self._given = self._made = decision_id
        self.erasure_key = erasure_key
        self.ended = self._taken = False
        self._token: Token[RecordingScope | None] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def decision_id(self) -> str | None:
        """The id of the decision; one that is made for it is None until the decision is."""
        return self._made

    def __enter__(self) -> Self:
        if active_scope() is not None:
            raise RuntimeError("A recording scope is active already: scopes do not nest.")
        self._token = _active.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended = True
        if self._token is not None:
            with suppress(ValueError):  # another context was entered than is left
                _active.reset(self._token)

    def take(self, now: datetime) -> str:
        """The id for the one decision of this scope. ``RuntimeError`` where that was made already."""
        if self._taken:
            raise RuntimeError("A recording scope is for one decision; begin another for the next.")
        self._taken = True
        self._made = self._given or uuid7(now)
        return self._made

    def release(self) -> None:
        """Let the scope be used again: no decision was made."""
        self._taken, self._made = False, self._given


_active: Final[ContextVar[RecordingScope | None]] = ContextVar("recording", default=None)


def recording(decision_id: str | None = None, *, erasure_key: str | None = None) -> RecordingScope:
    """A scope, to be begun in the function that awaits the call; see :class:`RecordingScope`.

    The one decision made inside is recorded with this id, or with one that is made for it, and with this key.
    Scopes do not nest (``RuntimeError``). ``ValueError`` for an empty id or key.
    """
    if decision_id == "" or erasure_key == "":
        raise ValueError("A decision id and an erasure key are not empty.")
    return RecordingScope(decision_id, erasure_key)


def active_scope() -> RecordingScope | None:
    """The scope this call is made in, if any."""
    scope = _active.get()
    # A task that was started inside may still run when the block was left.
    return None if scope is None or scope.ended else scope
