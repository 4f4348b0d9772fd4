"""Goal A-G5: many calls in flight to one endpoint, beside one plain httpx client."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from engine import Message, OpenAiClient, Request
from tests.benchmarks.measuring import Goals, in_words, timed

pytestmark = pytest.mark.bench

WAIT = 0.05
SERVER = """
import asyncio, json
body = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}).encode()
head = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n"
reply = head % len(body) + body
async def talk(reader, writer):
    try:
        while True:
            lines = (await reader.readuntil(b"\\r\\n\\r\\n")).lower().splitlines()
            length = next(line.split(b":")[1] for line in lines if line.startswith(b"content-length"))
            await reader.readexactly(int(length))
            await asyncio.sleep(0.05)
            writer.write(reply)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
REQUEST = Request(messages=(Message("user", "Is it?"),), answers=("yes", "no"))


@asynccontextmanager
async def endpoint() -> AsyncIterator[str]:
    """An endpoint in a process of its own that takes 50 ms for each answer."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    port = int(await process.stdout.readline())
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        await process.wait()


async def in_flight(count: int, calls: int, call: Callable[[], Awaitable[object]]) -> float:
    """Seconds for this many calls with so many of them under way."""
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await call()

    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.gather(*(worker() for _ in range(count)))
    return loop.time() - began


async def compared(count: int, calls: int) -> tuple[float, float]:
    """Our client and one plain client, each with warm connections."""
    async with endpoint() as url:
        client = OpenAiClient(url, "model")
        limits = httpx.Limits(max_connections=count, max_keepalive_connections=count)
        async with httpx.AsyncClient(trust_env=False, timeout=None, limits=limits) as plain:  # noqa: S113
            payload = {"model": "model", "messages": [{"role": "user", "content": "Is it?"}]}

            async def ours() -> None:
                assert (await client.complete(REQUEST)).content == "yes"

            async def theirs() -> None:
                reply = await plain.post(f"{url}/chat/completions", json=payload)
                assert reply.json()["choices"]

            await in_flight(count, count, ours)
            fast = await in_flight(count, calls, ours)
            slow = await in_flight(count, calls, theirs)
            await client.close()
    return fast, slow


def test_a_thousand_calls_in_flight(goals: Goals):
    fast, slow = asyncio.run(compared(1_000, 1_000))
    goals.least(
        "A-G5", "1,000 in flight, one plain client / ours", slow / fast, 8, note=f"plain {in_words(slow)}"
    )
    goals.most("A-G5", "1,000 in flight / ideal", fast / WAIT, 25, note=in_words(fast))


def test_fifty_calls_in_flight(goals: Goals):
    fast, slow = asyncio.run(compared(50, 1_000))
    goals.least(
        "A-G5", "50 in flight, one plain client / ours", slow / fast, 4, note=f"plain {in_words(slow)}"
    )
    goals.most("A-G5", "50 in flight / ideal", fast / (WAIT * 1_000 / 50), 1.7, note=in_words(fast))


def test_a_client_costs_nothing_before_it_is_used(goals: Goals):
    goals.figure(
        "A-G5",
        "1,000 clients, made",
        timed(lambda: [OpenAiClient("http://x/v1", "m") for _ in range(1_000)]) * 1e3,
        "ms",
    )
