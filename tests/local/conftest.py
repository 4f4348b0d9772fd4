"""A real llama.cpp server with a small real model, as a process of its own, for the tests of this folder."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def model_server() -> Iterator[str]:
    """Its address. It is started once, and stopped when the tests are over."""
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    server = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("serve.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        lines = (line for line in server.stdout if line.startswith("READY "))
        address = next(lines, "").removeprefix("READY ").strip()
        assert address, f"the model server ended with code {server.wait()}"
        yield address
    finally:
        server.stdin.close()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        server.stdout.close()
