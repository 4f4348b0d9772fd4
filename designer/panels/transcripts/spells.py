"""Long work in a thread, a spell at a time: what each spell found comes to the window, and it can be left."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Final, TypeVar

from designer.tasks import launch

_Found = TypeVar("_Found")

FIRST: Final = 0.005
SPELL: Final = 0.04
"""Seconds after which what was found is handed over; the first time sooner, and shown before work goes on."""


class Latest:
    """One task at a time: the next one takes its place."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    @property
    def going(self) -> bool:
        """Whether it has not ended."""
        return self._task is not None and not self._task.done()

    def start(self, work: Coroutine[object, object, None]) -> None:
        """Leave what goes on, and do this."""
        self.stop()
        self._task = launch(work)

    def stop(self) -> None:
        """Leave what goes on."""
        if self._task is not None:
            self._task.cancel()


async def in_spells(work: Iterator[_Found | None]) -> AsyncIterator[list[_Found]]:
    """What the work yields, without the Nones, a list a spell; who leaves this leaves the work."""
    going, spell = True, FIRST
    while going:
        found: list[_Found] = []
        going = await asyncio.to_thread(_spell, work, found, spell)
        yield found
        if going and spell == FIRST:
            await asyncio.sleep(SPELL)
            spell = SPELL


def _spell(work: Iterator[_Found | None], found: list[_Found], spell: float) -> bool:
    """Work for so many seconds; whether there is more to do."""
    until = time.monotonic() + spell
    for each in work:
        if each is not None:
            found.append(each)
        if time.monotonic() >= until:
            return True
        # The window's thread goes first: else it waits 5 ms each time Qt calls Python.
        time.sleep(0)
    return False
