"""What can go wrong with a provider, and what becomes of a run whose first model has that fault.

Each fault is met in a whole run with two models: the first has the fault, the second answers. What becomes of
the run is one of five things (contracts, section 7):

- ``moment``: a failure of the moment; the next model answers the same call;
- ``final``: the request or the endpoint is wrong; the run ends and names the model;
- ``everywhere``: a failure of the moment that the second model has as well; the run ends and names that one;
- ``unread``: a reply that cannot be used; the same model is asked again, and then the answer is unknown;
- ``no harm``: the first model's answer counts.

At the end the same faults meet a limit or a cancellation, and clients of one's own have theirs.
"""

import asyncio
import gzip
import json
import shutil
import socket
import ssl
import struct
import subprocess
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import pytest

from engine import Call, Failover, LlmError, RunResult, Session, TextDecider, Tree
from engine.llm import Completion, LlmClient, Request
from engine.llm.anthropic import AnthropicClient
from engine.llm.openai import OpenAiClient
from tests.builders import budget, classify, terminal, tree
from tests.engine.deciding import OK
from tests.engine.servers import (
    DONE,
    Act,
    chunk,
    completion,
    event,
    head,
    message,
    replies,
    said,
    sends,
    serving,
    silence,
    streams,
)

pytestmark = [pytest.mark.anyio, pytest.mark.socket]

Becomes: TypeAlias = Literal["moment", "final", "everywhere", "unread", "no harm"]

FIRST, SECOND = "model-one", "model-two"
GOOD = replies(completion(OK))
JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}
HALVES = [chunk(OK[:9]), chunk(OK[9:])]
STOP = [chunk(finish="stop"), DONE]
WHOLE_STREAM = b"".join([*HALVES, *STOP])
FOREVER = 99


@dataclass(frozen=True)
class Fault:
    """What the first model's server does, and what becomes of it.

    ``kind`` is that of the failure, or of an unread reply its reason. Deadlines are in seconds; they are
    long where the fault has nothing to do with time.
    """

    act: Act
    becomes: Becomes
    kind: str = ""
    says: str = ""
    total: float = 5.0
    idle: float = 5.0


def moment(act: Act, kind: str = "protocol", says: str = "", **deadlines: float) -> Fault:
    return Fault(act, "moment", kind, says, **deadlines)


def final(act: Act, kind: str = "status", says: str = "") -> Fault:
    return Fault(act, "final", kind, says)


def unread(act: Act, reason: str = "invalid-answer", says: str = "") -> Fault:
    return Fault(act, "unread", reason, says)


def harmless(act: Act) -> Fault:
    return Fault(act, "no harm")


def late(act: Act, says: str = "", *, total: float = 0.2, idle: float = 5.0) -> Fault:
    return moment(act, "timeout", says, total=total, idle=idle)


def status(code: int, body: Mapping[str, object] | bytes = b"{}", **headers: str) -> Act:
    return replies(
        body, status=code, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def error(code: object, **more: object) -> dict[str, object]:
    return {"error": {"code": code, "message": "It went wrong.", **more}}


def choice(message: object = None, finish: str | None = "stop", **more: object) -> Act:
    return replies({"choices": [{"message": message, "finish_reason": finish}], **more})


def hangs(*pieces: bytes, pause: float = 0.02) -> Act:
    """Send these pieces and keep the connection open in silence."""

    async def act(writer: asyncio.StreamWriter) -> None:
        await sends(*pieces, pause=pause)(writer)
        await silence(writer)

    return act


async def resets(writer: asyncio.StreamWriter) -> None:
    """Break the connection off as a crash does."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def steps(*acts: Act) -> Act:
    """One act after the other."""

    async def act(writer: asyncio.StreamWriter) -> None:
        for one in acts:
            await one(writer)
            await asyncio.sleep(0.02)

    return act


def packed(body: bytes, encoding: str = "gzip") -> Act:
    return replies(body, headers={"content-encoding": encoding})


def floods(megabytes: int) -> Act:
    return sends(head(200, JSON), *[b" " * 1024 * 1024] * megabytes)


def split_letters() -> Act:
    """An answer with letters of several bytes, split inside them."""
    text = chunk('{"answer": "supported", "observation": "ü€😀"}')
    return streams(*[text[n : n + 1] for n in range(len(text))], *STOP)


def raw(*lines: str, body: bytes = b"") -> Act:
    return sends("\r\n".join([*lines, "", ""]).encode() + body)


# ---- the whole run


def one_question(calls: int = 2, seconds: float = 10) -> Tree:
    return tree(
        ask=classify("Is it supported?", {"supported": "approved"}, unknown="open"),
        approved=terminal("approved"),
        open=terminal("open"),
    ).replace(budget=budget(calls=calls, seconds=seconds, tokens=1000))


async def run(client: LlmClient, *, within: float, asked: Tree | None = None) -> tuple[RunResult, list[Call]]:
    """The result and every call of a model. No run outlives the deadlines of its calls by over a second."""
    calls: list[Call] = []
    decider = TextDecider(client, FIRST, [SECOND], pipeline=Failover(client, calls.append))
    try:
        async with asyncio.timeout(within + 1):
            return await Session(decider=decider).start(asked or one_question()).finish(), calls
    finally:
        await client.close()


# The models asked, whether the next one was worth a try, how the run ended, and the calls it was charged.
RUNS: dict[Becomes, tuple[list[str], list[bool], tuple[str, str | None, str | None], int]] = {
    "moment": ([FIRST, SECOND], [True, False], ("Terminal", "approved", None), 1),
    "final": ([FIRST], [False], ("ValidationFailed", None, "llm"), 0),
    "everywhere": ([FIRST, SECOND], [True, True], ("ValidationFailed", None, "llm"), 0),
    "unread": ([FIRST, FIRST], [False, False], ("Unknown", "open", None), 2),
    "no harm": ([FIRST], [False], ("Terminal", "approved", None), 1),
}


def check(becomes: Becomes, kind: str, says: str, result: RunResult, calls: list[Call]) -> None:
    """``kind`` is that of each failure, or the reason of a reply that was not read."""
    failures = [call.error for call in calls if call.error]
    assert (
        [call.model for call in calls],
        [call.transient for call in calls],
        (result.outcome, result.verdict, result.failure_kind),
        result.usage.llm_calls,
    ) == RUNS[becomes]
    if becomes == "unread":
        assert result.classifications[0].reason == kind
    else:
        assert {getattr(failure, "kind", "") for failure in failures} <= {kind}
    if result.failure_kind:
        assert str(result.error).endswith(f"(model: {calls[-1].model})")
    assert says in (str(failures[0]) if failures else str(result.error))


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What is loaded for the first request of all is not to count against a short deadline."""

    async def ask() -> None:
        async with serving(GOOD) as server:
            client = OpenAiClient(server.url, FIRST)
            await client.complete(Request(()))
            await client.close()

    asyncio.run(ask())


# ---- a whole reply in OpenAI's dialect

STATUSES = {
    **{f"status {code}": moment(status(code), "status", f"HTTP {code}") for code in (408, 425, 429)},
    **{
        f"status {code}": moment(status(code), "status", f"HTTP {code}") for code in (500, 502, 503, 504, 507)
    },
    **{
        f"status {code}": moment(status(code), "status", f"HTTP {code}")
        for code in (520, 521, 522, 523, 524, 529)
    },
    **{f"status {code}": final(status(code), says=f"HTTP {code}") for code in (400, 401, 402, 403, 404, 405)},
    **{f"status {code}": final(status(code), says=f"HTTP {code}") for code in (407, 409, 413, 415, 422, 451)},
    **{f"status {code}": final(status(code), says=f"HTTP {code}") for code in (501, 505)},
    "400 the prompt is too long": final(
        status(400, error("context_length_exceeded")), says="context_length_exceeded"
    ),
    "400 content filter": final(status(400, error("content_filter")), says="content_filter"),
    "404 no such model": final(status(404, error("model_not_found")), says="no such address or model"),
    "429 quota": moment(status(429, error("insufficient_quota")), "status", "insufficient_quota"),
    "429 wait some seconds": moment(status(429, retry_after="2"), "status"),
    "429 wait until a date": moment(status(429, retry_after="Thu, 01 Oct 2026 12:00:30 GMT"), "status"),
    "429 wait a negative time": moment(status(429, retry_after="-5"), "status"),
    "429 wait for ages": moment(status(429, retry_after="999999999"), "status"),
    "429 wait some milliseconds": moment(status(429, retry_after_ms="50"), "status"),
    "429 with a body of no JSON": moment(status(429, b"slow down"), "status", "HTTP 429"),
    "520 with the page of a proxy": moment(status(520, b"<html>Cloudflare</html>"), "status", "HTTP 520"),
    "520 with the JSON of a proxy": moment(status(520, {"cloudflare_error": True}), "status", "HTTP 520"),
    "503 cut off": moment(sends(head(503, {**JSON, "content-length": 9}) + b"{"), "protocol"),
}

REDIRECTS = {
    f"redirect {name}": final(status(code, location=target), says="redirects are not followed")
    for name, code, target in [
        ("to another host", 302, "http://elsewhere.invalid/v1"),
        ("to itself", 301, "/v1/chat/completions"),
        ("to a link-local address", 307, "http://169.254.169.254/latest/meta-data"),
        ("to plain HTTP", 308, "http://127.0.0.1/v1"),
    ]
}

TIMING = {
    "no head": late(silence, "LLM buffered completion timeout: no response received within 0.2s"),
    "half a head": late(hangs(b"HTTP/1.1 200 OK\r\ncontent-")),
    "a head and then silence": late(
        hangs(head(200, {**JSON, "content-length": 9})), "silent for 0.1 s", idle=0.1, total=5
    ),
    "drips for ever": late(sends(head(200, {**JSON, "content-length": 999}), *[b" "] * 99, pause=0.02)),
    "drips and stops": late(
        hangs(head(200, {**JSON, "content-length": 9}), b" ", b" "), "silent for 0.1 s", idle=0.1, total=5
    ),
    "all but the last byte": late(
        hangs(head(200, {**JSON, "content-length": 3}) + b"{ "), "silent for", idle=0.1, total=5
    ),
    "go on, and then silence": late(hangs(b"HTTP/1.1 100 Continue\r\n\r\n")),
    "an answer after the deadline": late(
        sends(b"", head(200, {**JSON, "content-length": 2}) + b"{}", pause=0.4)
    ),
    "an error that never ends": late(
        hangs(head(500, {**JSON, "content-length": 9}) + b"{"), "silent for", idle=0.1, total=5
    ),
}

HEADERS = {
    "no content type": harmless(sends(b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(completion(OK)).encode())),
    "the wrong content type": harmless(replies(completion(OK), content_type="text/html")),
    "the wrong charset": harmless(replies(completion(OK), content_type="application/json; charset=utf-16")),
    "many headers": harmless(replies(completion(OK), headers={f"x-{n}": "y" for n in range(1000)})),
    "go on, and then the answer": harmless(
        sends(b"HTTP/1.1 100 Continue\r\n\r\n" + head(200, JSON) + json.dumps(completion(OK)).encode())
    ),
    "a huge header": moment(raw("HTTP/1.1 200 OK", f"x: {'y' * 200_000}")),
    "a length that is no number": moment(raw("HTTP/1.1 200 OK", "content-length: many", body=b"{}")),
    "two lengths": moment(raw("HTTP/1.1 200 OK", "content-length: 2", "content-length: 3", body=b"{}")),
    "a negative length": moment(raw("HTTP/1.1 200 OK", "content-length: -2", body=b"{}")),
    "a status line that is none": moment(raw("HELLO")),
    "a status that is no number": moment(raw("HTTP/1.1 fine OK")),
    "another protocol": moment(sends(b"SSH-2.0-OpenSSH_9.9\r\n")),
    "a header with a line break": moment(raw("HTTP/1.1 200 OK", "x", " y: z")),
}

CONNECTION = {
    "closed without a word": moment(sends(b"")),
    "broken off": moment(resets, "connection"),
    "broken off in the body": moment(
        steps(sends(head(200, {**JSON, "content-length": 9}) + b"{"), resets), "connection"
    ),
}

BODIES = {
    "empty": moment(replies(b""), says="something else where JSON was expected"),
    "cut": moment(sends(head(200, {**JSON, "content-length": 99}) + b'{"choices":'), says="cut off"),
    "cut in a chunk": moment(
        sends(head(200, {**JSON, "transfer-encoding": "chunked"}) + b"9\r\n{"), says="cut off"
    ),
    "chunks that are none": moment(sends(head(200, {**JSON, "transfer-encoding": "chunked"}) + b"zz\r\n{}")),
    "no gzip": moment(packed(b"{}"), says="cannot be unpacked"),
    "cut gzip": moment(packed(gzip.compress(b"x" * 500)[:-9]), says="cut off"),
    "a gzip bomb": moment(packed(gzip.compress(b" " * 50_000_000)), says="larger than"),
    "an encoding nobody asked for": moment(packed(b"{}", "br"), says="encoding nobody asked for"),
    "64 MB": moment(floods(64), says="larger than"),
    "no UTF-8": moment(replies(b'{"choices": "\xff"}')),
    "UTF-16": moment(replies(json.dumps(completion(OK)).encode("utf-16"))),
    "cut JSON": moment(replies(b'{"choices": [{"message": {"content": "supp')),
    "deep JSON": moment(replies(b"[" * 200_000)),
    "HTML": moment(replies(b"<html>Log in</html>", content_type="text/html"), says="text/html"),
    "plain text": moment(replies(b"Service starting", content_type="text/plain"), says="text/plain"),
    "a list": moment(replies(b"[]")),
    "null": moment(replies(b"null")),
    "a number": moment(replies(b"42")),
    "two documents": moment(replies(b"{}{}")),
    "lines of JSON": moment(
        replies(b'{"response": "a"}\n{"response": "b"}\n', content_type="application/x-ndjson"),
        says="application/x-ndjson",
    ),
    "lines of JSON and an error": moment(replies(b'{"response": "a"}\n{"error": "it broke"}\n')),
    "a stream nobody asked for": moment(streams(chunk(OK, "stop"), DONE), says="text/event-stream"),
    "an error with 429 inside": moment(replies(error(429)), "status", "HTTP 429"),
    "an error with 502 inside": moment(replies(error("502")), "status", "HTTP 502"),
    "an error with 401 inside": final(replies(error(401)), says="HTTP 401"),
    "an error with a word inside": final(replies(error("context_length_exceeded")), says="HTTP 400"),
    "an error with a type inside": moment(replies(error(None, type="server_error")), "status", "HTTP 500"),
    "an error with nothing inside": moment(replies({"error": {"message": "?"}}), "status", "an error"),
    "an error in a word": moment(replies({"error": "overloaded"}), "status", "an error"),
    "no choices": moment(replies({"id": "x"}), says="without an answer"),
    "empty choices": moment(replies({"choices": []}), says="without an answer"),
    "null choices": moment(replies({"choices": None}), says="without an answer"),
    "choices of nothing": moment(replies({"choices": [None]}), says="without an answer"),
    "a mark before the JSON": harmless(replies(b"\xef\xbb\xbf" + json.dumps(completion(OK)).encode())),
    "content in parts": harmless(choice({"content": [{"type": "text", "text": OK}]})),
    "two choices": harmless(replies({"choices": [{"message": {"content": text}} for text in (OK, "no")]})),
    "members nobody knows": harmless(replies(completion(OK, extra={"a": [1]}, error=None))),
    "another model than was asked": harmless(replies({**completion(OK), "model": "something-else"})),
    "usage null": harmless(replies(completion(OK, usage=None))),
    "usage without numbers": harmless(replies(completion(OK, usage={"prompt_tokens": "many"}))),
    "negative usage": harmless(replies(completion(OK, usage={"prompt_tokens": -5, "completion_tokens": -1}))),
    "huge usage": harmless(replies(completion(OK, usage={"prompt_tokens": 10**30}))),
}

REPLIES = {
    "no message": unread(replies({"choices": [{}]}), says="The reply was empty."),
    "message null": unread(choice(None), says="The reply was empty."),
    "content null": unread(choice({"content": None}), says="The reply was empty."),
    "content empty": unread(choice({"content": " "}), says="The reply was empty."),
    "content a number": unread(choice({"content": 7}), says="The reply was empty."),
    "content with NUL": unread(choice({"content": '{"answer": "supp\0orted"}'})),
    "content with half a surrogate": unread(choice({"content": '{"answer": "\ud800"}'})),
    "content after a mark": unread(choice({"content": "\ufeff" + OK})),
    "content not as agreed": unread(choice({"content": "supported"}), says='Model returned: "supported"'),
    "an answer nobody allowed": unread(choice({"content": '{"answer": "perhaps"}'})),
    "finish length": unread(choice({"content": OK[:12]}, "length"), says="cut off at its token limit"),
    "finish length, and all is said": harmless(choice({"content": OK}, "length")),
    "finish content_filter": unread(choice({"content": OK}, "content_filter"), "refused", "content filter"),
    "finish content_filter without content": unread(choice(None, "content_filter"), "refused"),
    "finish tool_calls": unread(choice({"content": None, "tool_calls": [{"id": "x"}]}, "tool_calls")),
    "finish null": harmless(choice({"content": OK}, None)),
    "finish in a word nobody knows": harmless(choice({"content": OK}, "tired")),
    "a refusal": unread(choice({"content": None, "refusal": "I will not."}), "refused", "refused to answer"),
    "a refusal in parts": unread(choice({"content": [{"type": "refusal", "refusal": "No."}]}), "refused"),
    "reasoning without an answer": unread(choice({"content": "", "reasoning_content": "Let me see"})),
}

# ---- a stream in OpenAI's dialect

STREAMS = {
    "signs of life": harmless(streams(b": OPENROUTER PROCESSING\n\n", *HALVES, b": x\n", *STOP)),
    "a role first": harmless(streams(event({"choices": [{"delta": {"role": "assistant"}}]}), *HALVES, *STOP)),
    "split everywhere": harmless(streams(*[WHOLE_STREAM[n : n + 1] for n in range(len(WHOLE_STREAM))])),
    "split letters": harmless(split_letters()),
    "CR and LF": harmless(streams(WHOLE_STREAM.replace(b"\n", b"\r\n"))),
    "CR alone": harmless(streams(WHOLE_STREAM.replace(b"\n", b"\r"))),
    "data of several lines": harmless(
        streams(
            b'data: {"choices":\ndata: [{"delta": ' + json.dumps({"content": OK}).encode() + b"}]}\n\n", *STOP
        )
    ),
    "no DONE": harmless(streams(*HALVES, STOP[0])),
    "no finish": harmless(streams(*HALVES, DONE)),
    "no empty line at the end": harmless(streams(*HALVES, b"data: [DONE]")),
    "data after DONE": harmless(streams(*HALVES, *STOP, b"data: nonsense\n\n")),
    "an end that does not come": harmless(streams(*HALVES, *STOP, close=False)),
    "usage null": harmless(streams(chunk(OK, usage=None), *STOP)),
    "a whole reply after all": harmless(GOOD),
    "two choices": harmless(
        streams(event({"choices": [{"index": 1, "delta": {"content": "x"}}]}), *HALVES, *STOP)
    ),
    "the same chunk twice": unread(streams(HALVES[0], *HALVES, *STOP)),
    "finish length": unread(streams(HALVES[0], chunk(finish="length"), DONE), says="token limit"),
    "finish content_filter": unread(streams(chunk(finish="content_filter"), DONE), "refused"),
    "a refusal": unread(streams(event({"choices": [{"delta": {"refusal": "No."}}]}), *STOP), "refused"),
    "nothing said": unread(streams(*STOP), says="The reply was empty."),
    "nothing at all": moment(streams(b""), says="before it was complete"),
    "only DONE": moment(streams(DONE), says="without an answer"),
    "an end half-way": moment(streams(HALVES[0]), says="before it was complete"),
    "an end in an event": moment(streams(HALVES[0], b'data: {"choices": [{"del'), says="no JSON object"),
    "broken off half-way": moment(steps(streams(HALVES[0]), resets), "connection"),
    "cut in a chunk": moment(
        sends(head(200, {**EVENTS, "transfer-encoding": "chunked"}) + b"99\r\n" + HALVES[0]), says="cut off"
    ),
    "an error event": moment(streams(HALVES[0], event("overloaded", "error")), "status"),
    "an error in the data": moment(streams(HALVES[0], event(error(429)), *STOP), "status", "HTTP 429"),
    "an error of the request in the data": final(streams(event(error("invalid_api_key"))), says="HTTP 401"),
    "an error after the answer": moment(streams(*HALVES, event({"error": "late"}), *STOP), "status"),
    "an error before the stream": final(status(401), says="HTTP 401"),
    "a failure before the stream": moment(status(503), "status", "HTTP 503"),
    "no JSON": moment(streams(b"data: hello\n\n", *STOP), says="no JSON object"),
    "no UTF-8": moment(streams(b'data: "\xff"\n\n', *STOP), says="no UTF-8"),
    "lines of JSON": moment(
        streams(b'{"response": "a"}\n', b'{"done": true}\n'), says="before it was complete"
    ),
    "lines of JSON that say so": moment(
        replies(b'{"response": "a"}\n{"done": true}\n', content_type="application/x-ndjson"),
        says="application/x-ndjson",
    ),
    "lines of JSON and an error": moment(
        replies(b'{"response": "a"}\n{"error": "it broke"}\n', content_type="application/x-ndjson")
    ),
    "100,000 empty deltas": moment(streams(*[chunk("") * 10_000] * 10), says="larger than"),
    "a line of 10 MB": moment(streams(b"data: " + b"x" * 10_000_000), says="larger than"),
    "packed": harmless(
        sends(head(200, {**EVENTS, "content-encoding": "gzip"}) + gzip.compress(WHOLE_STREAM))
    ),
    "a bomb": moment(
        sends(head(200, {**EVENTS, "content-encoding": "gzip"}) + gzip.compress(b": \n" * 9_000_000)),
        says="larger than",
    ),
    "no word": late(silence, "LLM streaming: no response received within 0.1s", idle=0.1, total=5),
    "signs of life only": late(
        streams(*[b": alive\n\n"] * FOREVER, pause=0.02), "LLM streaming: no response", idle=0.1, total=5
    ),
    "empty deltas only": late(
        streams(*[chunk("")] * FOREVER, pause=0.02), "LLM streaming: no response", idle=0.1, total=5
    ),
    "silence half-way": late(streams(HALVES[0], close=False), "idle timeout", idle=0.15, total=5),
    "drips for ever": late(streams(*[chunk("x")] * FOREVER, pause=0.02), "total duration exceeded 0.2s"),
}


# ---- the same in Anthropic's dialect


def told(kind: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": "It went wrong."}}


MESSAGES = {
    "overloaded": moment(status(529, told("overloaded_error")), "status", "overloaded_error"),
    "too many requests": moment(status(429, told("rate_limit_error"), retry_after="2"), "status"),
    "no credit": final(status(400, told("invalid_request_error")), says="invalid_request_error"),
    "a wrong key": final(status(401, told("authentication_error")), says="the key was not accepted"),
    "no such model": final(status(404, told("not_found_error"))),
    "too large": final(status(413, told("request_too_large"))),
    "an error at 200": moment(replies(told("api_error")), "status", "HTTP 500"),
    "an error of the request at 200": final(replies(told("invalid_request_error")), says="HTTP 400"),
    "no content": moment(replies({"id": "x"}), says="without an answer"),
    "content null": moment(replies({"content": None}), says="without an answer"),
    "content empty": unread(replies({"content": [], "stop_reason": "end_turn"}), says="empty"),
    "a refusal": unread(replies(message("", "refusal")), "refused", "refused to answer"),
    "the token limit": unread(replies(message(OK[:12], "max_tokens")), says="token limit"),
    "thinking only": unread(replies({"content": [{"type": "thinking", "thinking": "hm"}]}), says="empty"),
    "usage null": harmless(replies(message(OK, usage=None))),
}

MESSAGE_STREAMS = {
    "signs of life": harmless(streams(*said(OK[:9], OK[9:]))),
    "an error half-way": moment(
        streams(*said(OK)[:4], event(told("overloaded_error"), "error")), "status", "HTTP 529"
    ),
    "an error of the request": final(streams(event(told("invalid_request_error"), "error")), says="HTTP 400"),
    "an end half-way": moment(streams(*said(OK)[:4]), says="before it was complete"),
    "an end before the end": harmless(streams(*said(OK)[:-1])),
    "a refusal": unread(streams(*said("", stop_reason="refusal")), "refused"),
    "the token limit": unread(streams(*said(OK[:12], stop_reason="max_tokens")), says="token limit"),
    "an event nobody knows": harmless(streams(event({"type": "news"}), *said(OK))),
    "signs of life only": late(
        streams(*[event({"type": "ping"}, "ping")] * FOREVER, pause=0.02), "no response", idle=0.1, total=5
    ),
    "silence half-way": late(streams(*said(OK)[:4], close=False), "idle timeout", idle=0.15, total=5),
}


WAYS: dict[str, tuple[type[OpenAiClient | AnthropicClient], bool, Act, Mapping[str, Fault]]] = {
    "whole": (
        OpenAiClient,
        False,
        GOOD,
        {**STATUSES, **REDIRECTS, **TIMING, **HEADERS, **CONNECTION, **BODIES, **REPLIES},
    ),
    "stream": (OpenAiClient, True, streams(*HALVES, *STOP), STREAMS),
    "message": (AnthropicClient, False, replies(message(OK)), MESSAGES),
    "message stream": (AnthropicClient, True, streams(*said(OK)), MESSAGE_STREAMS),
}


@pytest.mark.parametrize(
    ("way", "name"), [pytest.param(way, name, id=f"{way}: {name}") for way in WAYS for name in WAYS[way][3]]
)
async def test_a_fault_of_an_endpoint(way, name):
    kind, stream, good, faults = WAYS[way]
    fault = faults[name]
    async with serving(by_model={FIRST: fault.act, SECOND: good}) as server:
        client = kind(server.url, FIRST, stream=stream, total_deadline=fault.total, idle_deadline=fault.idle)
        result, calls = await run(client, within=2 * fault.total)
    check(fault.becomes, fault.kind, fault.says, result, calls)
    assert server.models == [call.model for call in calls]


# ---- no way to the endpoint


@asynccontextmanager
async def listening(act: Act, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a server that knows nothing of requests: it does its act as soon as something is said."""
    writers: list[asyncio.StreamWriter] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(ConnectionError):
            await reader.read(4096)
            await act(writer)
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


@asynccontextmanager
async def a_closed_port() -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def a_full_queue() -> AsyncIterator[str]:
    """A host that takes no more connections: the next one is neither made nor refused."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        for one in waiting:
            one.close()


@asynccontextmanager
async def at(address: str) -> AsyncIterator[str]:
    yield address


@asynccontextmanager
async def through_a_proxy(act: Act, address: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    async with listening(act) as port:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        yield address


LOGIN = head(407, {"proxy-authenticate": "Basic", "content-length": 0})

UNREACHABLE: dict[str, tuple[Callable[[pytest.MonkeyPatch], Any], Becomes, str]] = {
    "nobody listens": (lambda _: a_closed_port(), "everywhere", "connection"),
    "a name nobody knows": (lambda _: at("http://model.invalid"), "everywhere", "connection"),
    "a network that is not there": (lambda _: at("http://255.255.255.255:9"), "everywhere", "connection"),
    "a connection that is not made": (lambda _: a_full_queue(), "everywhere", "timeout"),
    "a proxy that wants a login": (
        lambda patch: through_a_proxy(sends(LOGIN), "http://model.invalid", patch),
        "final",
        "status",
    ),
    "a proxy that wants a login for a tunnel": (
        lambda patch: through_a_proxy(sends(LOGIN), "https://model.invalid", patch),
        "everywhere",
        "connection",
    ),
    "a proxy that breaks off": (
        lambda patch: through_a_proxy(resets, "http://model.invalid", patch),
        "everywhere",
        "connection",
    ),
}


@pytest.mark.parametrize(("place", "becomes", "kind"), UNREACHABLE.values(), ids=UNREACHABLE.keys())
async def test_no_way_to_an_endpoint(place, becomes, kind, monkeypatch):
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *a, **k: (unknown if host == "model.invalid" else real)(host, *a, **k),
    )
    async with place(monkeypatch) as address:
        client = OpenAiClient(address, FIRST, total_deadline=0.2 if kind == "timeout" else 5)
        result, calls = await run(client, within=0.4 if kind == "timeout" else 5)
    check(becomes, kind, "", result, calls)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "model.example",
        "ftp://model.example",
        "http://",
        "http://model:99999",
        "http://[::1",
        "http://a b",
    ],
)
async def test_an_address_that_is_none_is_refused_before_there_is_a_run(address):
    with pytest.raises(LlmError) as caught:
        OpenAiClient(address, FIRST)
    assert (caught.value.kind, caught.value.transient) == ("request", False)


@pytest.mark.parametrize("key", ["ключ", "two\nlines"])
async def test_a_key_that_no_header_can_carry_ends_the_run(key):
    async with serving(GOOD) as server:
        result, calls = await run(OpenAiClient(server.url, FIRST, key), within=5)
    check("final", "request", "", result, calls)


# ---- TLS: nothing goes on over a connection that is not secure, and no other model is tried


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority of our own, and what it signed: good, expired and for another host."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(command: str) -> None:
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)

    def make(name: str, host: str, days: int, by: str | None = "authority") -> None:
        key = (
            f"req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {name}.key -subj /CN={name}"
        )
        if by is None:
            openssl(f"{key} -x509 -out {name}.pem -days {days} -addext {host}")
        else:
            openssl(f"{key} -out {name}.csr -addext {host}")
            signed = f"-CA {by}.pem -CAkey {by}.key -CAcreateserial -copy_extensions copy"
            openssl(f"x509 -req -in {name}.csr -out {name}.pem -days {days} {signed}")

    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    here = "subjectAltName=IP:127.0.0.1"
    make("authority", "basicConstraints=critical,CA:true", 2, by=None)
    make("stranger", "basicConstraints=critical,CA:true", 2, by=None)
    make("good", here, 2)
    make("expired", here, -1)
    make("other-host", "subjectAltName=DNS:elsewhere.invalid", 2)
    make("unknown-authority", here, 2, by="stranger")
    make("self-signed", here, 2, by=None)
    return folder


def serving_context(folder: Path, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context


@pytest.fixture
def trusting(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, with its authority as the only one that is trusted."""
    context = ssl.create_default_context(cafile=str(certificates / "authority.pem"))
    monkeypatch.setattr("engine.http._certificates", lambda: context)
    return certificates


@pytest.mark.parametrize("name", ["expired", "other-host", "unknown-authority", "self-signed"])
async def test_a_certificate_that_does_not_fit_ends_the_run(name, trusting):
    async with serving(GOOD, tls=serving_context(trusting, name)) as server:
        result, calls = await run(OpenAiClient(server.url, FIRST), within=5)
    check("final", "connection", "Check the certificate", result, calls)
    assert server.heads == []


async def test_a_certificate_that_fits_does_no_harm(trusting):
    async with serving(GOOD, tls=serving_context(trusting, "good")) as server:
        result, calls = await run(OpenAiClient(server.url, FIRST), within=5)
    check("no harm", "", "", result, calls)


async def test_an_old_protocol_ends_the_run(trusting):
    context = serving_context(trusting, "good")
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    async with serving(GOOD, tls=context) as server:
        result, calls = await run(OpenAiClient(server.url, FIRST), within=5)
    check("final", "connection", "Check the certificate", result, calls)


HANDSHAKES: dict[str, tuple[Act, Becomes, str, float]] = {
    "plain HTTP where TLS is expected": (sends(head(400, {})), "final", "connection", 5),
    "another protocol": (sends(b"SSH-2.0-OpenSSH_9.9\r\n"), "final", "connection", 5),
    "an alert": (sends(b"\x15\x03\x03\x00\x02\x02\x28"), "final", "connection", 5),
    "cut off": (sends(b""), "final", "connection", 5),
    "broken off": (resets, "everywhere", "connection", 5),
    "silence": (silence, "everywhere", "timeout", 0.2),
}


@pytest.mark.parametrize(("act", "becomes", "kind", "total"), HANDSHAKES.values(), ids=HANDSHAKES.keys())
async def test_a_handshake_that_fails(act, becomes, kind, total):
    async with listening(act) as port:
        client = OpenAiClient(f"https://127.0.0.1:{port}", FIRST, total_deadline=total)
        result, calls = await run(client, within=2 * total)
    check(becomes, kind, "", result, calls)


async def test_tls_where_plain_http_is_expected_is_a_failure_of_the_moment(trusting):
    async with serving(GOOD, tls=serving_context(trusting, "good")) as server:
        client = OpenAiClient(server.url.replace("https", "http"), FIRST)
        result, calls = await run(client, within=5)
    check("everywhere", "protocol", "", result, calls)


# ---- limits and cancellation meet the same faults


@pytest.mark.parametrize("act", [choice({"content": "no JSON"}), choice({"content": None}, "content_filter")])
async def test_a_reply_of_no_use_does_not_buy_a_call_over_the_budget(act):
    async with serving(act) as server:
        result, calls = await run(OpenAiClient(server.url, FIRST), within=5, asked=one_question(calls=1))
    assert (result.outcome, result.exceeded, result.usage.llm_calls) == ("BudgetExhausted", "llmCalls", 1)
    assert [call.model for call in calls] == [FIRST]


async def test_an_answer_that_comes_after_the_time_of_the_run_is_left_out():
    slow = sends(b"", head(200, JSON) + json.dumps(completion(OK)).encode(), pause=0.1)
    async with serving(slow) as server:
        client = OpenAiClient(server.url, FIRST)
        result, _ = await run(client, within=5, asked=one_question(seconds=0.05))
    assert (result.outcome, result.exceeded) == ("BudgetExhausted", "elapsedTime")
    assert (result.classifications, result.usage.llm_calls) == ((), 1)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "act", [silence, hangs(head(200, {**JSON, "content-length": 9})), streams(HALVES[0], close=False)]
)
async def test_a_cancelled_run_asks_nobody_else(act, stream):
    calls: list[Call] = []
    async with serving(by_model={FIRST: act, SECOND: GOOD}) as server:
        client = OpenAiClient(server.url, FIRST, stream=stream)
        decider = TextDecider(client, FIRST, [SECOND], pipeline=Failover(client, calls.append))
        started = Session(decider=decider).start(one_question())
        async with asyncio.timeout(2):
            running = asyncio.create_task(started.finish())
            await server.asked.wait()
            started.cancel()
            result = await running
        await client.close()
    assert (result.outcome, result.usage.llm_calls) == ("Cancelled", 0)
    assert [(call.model, call.transient) for call in calls] == [(FIRST, False)]
    assert server.models == [FIRST]


# ---- a client of one's own


class Own:
    """A client whose first model does this; the second answers."""

    provider, endpoint, model = "own", "http://own", FIRST

    def __init__(self, first: Callable[[Request], Any]) -> None:
        self._first = first

    async def complete(self, request: Request) -> Completion:
        if request.model == SECOND:
            return Completion(OK)
        done = self._first(request)
        completion: Completion = await done if isinstance(done, Awaitable) else done
        return completion

    async def close(self) -> None:
        pass


class Unawaitable(Own):
    """A client that is no coroutine function."""

    def complete(self, request: Request) -> Completion:  # type: ignore[override]
        return Completion(OK)


class Odd(BaseException):
    """No ordinary exception."""


def raises(error: BaseException) -> Callable[[Request], None]:
    def act(_: Request) -> None:
        raise error

    return act


def changes_messages(request: Request) -> Completion:
    request.messages.append("more")  # type: ignore[attr-defined]
    return Completion(OK)


async def asks_again(request: Request) -> Completion:
    inner, _ = await run(Own(lambda _: Completion(OK)), within=5)
    return Completion(OK if inner.succeeded else None)


async def hides_a_cancellation(_: Request) -> Completion:
    raise asyncio.CancelledError


def blocks(_: Request) -> Completion:
    time.sleep(0.05)
    return Completion(OK)


OWN: dict[str, tuple[Callable[[Request], Any], Becomes, str]] = {
    "raises": (raises(RuntimeError("It broke.")), "final", "It broke."),
    "raises without a word": (raises(RuntimeError()), "final", ""),
    "raises no ordinary exception": (raises(Odd("odd")), "final", "odd"),
    "raises a time-out": (raises(TimeoutError()), "moment", ""),
    "raises with a status in its text": (raises(RuntimeError("HTTP 503: later")), "moment", "HTTP 503"),
    "raises with a permanent status": (raises(RuntimeError("HTTP 404: no")), "final", "HTTP 404"),
    "says too many requests": (raises(RuntimeError("Too many requests")), "moment", "Too many"),
    "lets a cancellation out": (hides_a_cancellation, "moment", ""),
    "returns nothing": (lambda _: None, "final", "The client returned no completion."),
    "returns a text": (lambda _: OK, "final", "The client returned no completion."),
    "changes the messages": (changes_messages, "final", "'tuple' object has no attribute 'append'"),
    "reports negative tokens": (lambda _: Completion(OK, input_tokens=-5, output_tokens=-1), "no harm", ""),
    "asks another run": (asks_again, "no harm", ""),
    "blocks": (blocks, "no harm", ""),
}


@pytest.mark.parametrize(("first", "becomes", "says"), OWN.values(), ids=OWN.keys())
async def test_a_client_of_ones_own(first, becomes, says):
    result, calls = await run(Own(first), within=5)
    check(becomes, "", says, result, calls)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (0, 0)


async def test_a_client_that_cannot_be_awaited_ends_the_run():
    result, calls = await run(cast("LlmClient", Unawaitable(lambda _: None)), within=5)
    assert (result.outcome, result.failure_kind) == ("ValidationFailed", "llm")
    assert [call.model for call in calls] == [FIRST]


async def test_a_client_that_never_answers_is_given_up_in_time():
    async def never(_: Request) -> Completion:
        return await asyncio.Future()

    session = Session(client=Own(never), model=FIRST, fallbacks=(SECOND,), call_timeout=0.1)
    async with asyncio.timeout(1.1):
        result = await session.start(one_question()).finish()
    assert (result.outcome, result.usage.llm_calls) == ("Terminal", 1)


async def test_a_client_that_holds_on_to_a_cancelled_call_does_not_change_how_the_run_ended():
    begun = asyncio.Event()

    async def clings(_: Request) -> Completion:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Future()
        return Completion(OK)

    started = Session(decider=TextDecider(Own(clings), FIRST, [SECOND])).start(one_question())
    running = asyncio.create_task(started.finish())
    await begun.wait()
    started.cancel()
    async with asyncio.timeout(1):
        result = await running
    assert result.outcome == "Cancelled"
