"""A server that speaks the System One wire on a loopback socket, and clients that are told what to answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from engine.deciders.systemone.client import DecisionRequest, DecisionResult, ModelInfo
from tests.engine.servers import Act, head, replies

MODELS = {"models": [{"name": "jev-latest", "description": "The newest.", "release_date": "2026-10-01"}]}


@dataclass
class Heard:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes


@dataclass
class Endpoint:
    """What the server was sent, and what it does before it answers of its own accord."""

    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def retries(self) -> list[str | None]:
        """The retry counts of the requests."""
        return [one.headers.get("x-typesafe-retry-count") for one in self.heard]


@asynccontextmanager
async def endpoint(*acts: Act) -> AsyncIterator[Endpoint]:
    """A server that does these acts, one a request, and then answers every question."""
    told, waiting, talks = Endpoint(), list(acts), set[asyncio.StreamWriter]()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().splitlines()
            members = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in members}
            raw = await reader.readexactly(int(headers.get("content-length", 0)))
            method, path, _ = first.split()
            told.heard.append(Heard(method, path, headers, json.loads(raw) if raw else None, raw))
            told.asked.set()
            await (waiting.pop(0) if waiting else _answer(told.heard[-1]))(writer)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    told.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        yield told
    finally:
        server.close()
        for writer in talks:
            writer.transport.abort()
        await server.wait_closed()


def _answer(heard: Heard) -> Act:
    if (heard.method, heard.path) == ("GET", "/v1/models"):
        return replies(MODELS)
    if (heard.method, heard.path) != ("POST", "/v1/systemone"):
        return replies({"detail": "Not Found"}, 404)
    return replies(answered(heard.body), headers={"x-typesafe-request-id": "req_" + "0" * 32})


def answered(body: Mapping[str, Any], model: str = "jev-1.13.0") -> dict[str, Any]:
    """The reply to a request: yes at 0.92, the first option or level at 0.8 and the rest shared."""
    answers = {key: _answer_to(question) for key, question in body["questions"].items()}
    return {"model": model, "answers": answers, "usage": {"input_tokens": 311, "output_tokens": 34}}


def _answer_to(question: Mapping[str, Any]) -> dict[str, Any]:
    if question["type"] == "noul":
        return {"type": "noul", "noul": 0.92}
    criteria = question["criteria"]
    names = list(criteria) if question["type"] == "choice" else [str(i) for i in range(len(criteria))]
    rest = round(0.2 / max(1, len(names) - 1), 2)
    probabilities = {name: rest if place else 0.8 for place, name in enumerate(names)}
    if len(names) == 1:
        probabilities = {names[0]: 1.0}
    if question["type"] == "choice":
        return {"type": "choice", "choice": names[0], "confidence": 0.7, "probabilities": probabilities}
    score = sum(level * p for level, p in enumerate(probabilities.values()))
    legend = dict(zip(names, criteria, strict=True))
    return {
        "type": "score",
        "score": score,
        "confidence": 0.7,
        "legend": legend,
        "probabilities": probabilities,
    }


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close without a word."""


def cut(body: bytes) -> Act:
    """A good head, and a body that is shorter than it says."""

    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(head(200, {"content-type": "application/json", "content-length": 500}) + body)
        await writer.drain()

    return act


Say = DecisionResult | BaseException | Callable[[DecisionRequest], Awaitable[DecisionResult]]


class FakeDecisionClient:
    """Gives these results in turn, the last one for ever; it keeps what it was asked."""

    provider, endpoint, model = "typesafe", "https://decisions.example/", "jev-latest"

    def __init__(self, *results: Say) -> None:
        self.results, self.requests, self.closed = list(results), list[DecisionRequest](), False

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        self.requests.append(request)
        say = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(say, BaseException):
            raise say
        return say if isinstance(say, DecisionResult) else await say(request)

    async def list_models(self) -> Sequence[ModelInfo]:
        return (ModelInfo("jev-latest"),)

    async def close(self) -> None:
        self.closed = True
