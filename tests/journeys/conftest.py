"""Journeys go through the main window on the real event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from designer.app import create
from designer.tasks import cancel_all
from tests.journeys.driving import Driver

Travel: TypeAlias = Callable[..., None]


@pytest.fixture
def travel(aloop: asyncio.AbstractEventLoop) -> Travel:
    """Go on a journey in a window of its own, on a file or on the start page, and put everything away."""

    def go(journey: Callable[[Driver], Awaitable[None]], path: Path | None = None) -> None:
        async def whole() -> None:
            window = create(path)
            window.resize(1600, 1000)
            window.show()
            await asyncio.sleep(0.02)
            try:
                await journey(Driver(window))
            finally:
                window.workbench.running.cancel()
                await window.workbench.running.ended()
                await cancel_all()
                await window.workbench.records.close()
                window.deleteLater()
                await asyncio.sleep(0)

        aloop.run_until_complete(whole())

    return go
