"""Waiting in tests: for something to hold, in the one event loop, without a fixed time."""

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], object], tries: int = 400) -> None:
    for _ in range(tries):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("It never came to hold.")
