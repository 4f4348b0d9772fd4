"""The engine's tests run on asyncio alone; there is no Qt in them."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
