"""Long work in a thread, a spell at a time: what each spell found comes to the window, and it can be left."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Final, TypeVar

_Found = TypeVar("_Found")

SPELL: Final = 0.03
"""Seconds after which what was found is handed over."""


async def in_spells(work: Iterator[_Found | None]) -> AsyncIterator[list[_Found]]:
    """What the work yields, without the Nones, a list a spell; who leaves this leaves the work."""
    going = True
    while going:
        found, going = await asyncio.to_thread(_spell, work)
        yield found


def _spell(work: Iterator[_Found | None]) -> tuple[list[_Found], bool]:
    found, until = [], time.monotonic() + SPELL
    for each in work:
        if each is not None:
            found.append(each)
        if time.monotonic() >= until:
            return found, True
    return found, False
