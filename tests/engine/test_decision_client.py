"""The decision-model client against a server that speaks the wire, faults included (facts W, Q20 to Q34)."""

import asyncio
import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from engine import (
    Choice,
    DecisionFailed,
    DecisionRequest,
    DecisionResult,
    Image,
    ModelInfo,
    Noul,
    RetryPolicy,
    Score,
    SystemOneClient,
    SystemOneSettings,
    cached,
    retried,
)
from engine.deciders.systemone.client import DecisionError
from engine.http import parse_retry_after
from engine.records import ChoiceAnswer, NoulAnswer, ScoreAnswer, TokenUsage
from tests.engine.runs import VirtualClock
from tests.engine.servers import Act, replies, sends, silence
from tests.engine.systemone import Endpoint, FakeDecisionClient, answered, cut, endpoint, hang_up

pytestmark = pytest.mark.anyio

KEY = "canary-key-7431"
NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
ROUTE = Choice("Which desk?", {"refund": "Money back", "delivery": "Where a parcel is"})
HEAT = Score("How upset?", ["calm", "annoyed", "furious"])
PHOTO = Noul("Is a photo mentioned?")
QUESTIONS = {"route": ROUTE, "heat": HEAT, "photo": PHOTO}
REQUEST = DecisionRequest({"text": "The blender arrived broken."}, QUESTIONS)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("TYPESAFE_API_KEY", "TYPESAFE_BASE_URL", "TYPESAFE_DEFAULT_MODEL", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def client_of(server: Endpoint, clock: VirtualClock | None = None, **settings: Any) -> SystemOneClient:
    given = {"base_url": server.url, "key": KEY, **settings}
    return SystemOneClient(SystemOneSettings(**given), clock=clock or VirtualClock(), jitter=lambda: 0.5)


async def asked(*acts: Act, request: DecisionRequest = REQUEST, **settings: Any) -> DecisionResult:
    """What comes of one question to a server that does these acts first."""
    async with endpoint(*acts) as server:
        client = client_of(server, **settings)
        result = await client.evaluate(request)
        await client.close()
    return result


def kind_of(result: DecisionResult) -> str | None:
    return None if result.error is None else result.error.kind


# -- the wire ------------------------------------------------------------------------------------------


async def test_three_kinds_of_answers_are_read_with_model_usage_and_request_id():
    async with endpoint() as server:
        client = client_of(server)
        result = await client.evaluate(REQUEST)
        await client.close()
    assert result.answers == (
        ChoiceAnswer("route", 0, 0.7, (0.8, 0.2)),
        ScoreAnswer("heat", 0, pytest.approx(0.3), 0.7, (0.8, 0.1, 0.1)),  # type: ignore[arg-type]
        NoulAnswer("photo", 0.92, pytest.approx(0.84)),  # type: ignore[arg-type]
    )
    assert (result.served_model, result.response_id) == ("jev-1.13.0", "req_" + "0" * 32)
    assert (result.usage, result.attempts, result.probability_source) == (TokenUsage(311, 34), 1, "model")
    (heard,) = server.heard
    assert list(heard.body) == ["state", "model", "questions"]
    assert heard.body == {
        "state": {"text": "The blender arrived broken."},
        "model": "jev-latest",
        "questions": {
            "route": {
                "type": "choice",
                "instructions": "Which desk?",
                "criteria": {"refund": "Money back", "delivery": "Where a parcel is"},
            },
            "heat": {
                "type": "score",
                "instructions": "How upset?",
                "criteria": ["calm", "annoyed", "furious"],
            },
            "photo": {"type": "noul", "instructions": "Is a photo mentioned?"},
        },
    }
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert heard.headers["content-type"] == heard.headers["accept"] == "application/json"
    assert heard.headers["user-agent"].startswith("treewright")
    assert "x-typesafe-retry-count" not in heard.headers


async def test_a_request_may_name_its_model():
    async with endpoint() as server:
        client = client_of(server)
        await client.evaluate(DecisionRequest("text", {"q": PHOTO}, model="jev-1.13"))
        await client.close()
    assert server.heard[0].body["model"] == "jev-1.13"


async def test_a_server_without_keys_is_sent_none():
    async with endpoint() as server:
        client = client_of(server, key="", profile="systemone", model="local")
        assert kind_of(await client.evaluate(REQUEST)) is None
        await client.close()
    assert "authorization" not in server.heard[0].headers


async def test_models_are_listed_and_listing_is_tried_again():
    async with endpoint(replies({}, 503)) as server:
        client = client_of(server)
        assert await client.list_models() == (ModelInfo("jev-latest", "The newest.", "2026-10-01"),)
        await client.close()
    assert [(one.method, one.path) for one in server.heard] == [("GET", "/v1/models")] * 2
    assert server.retries == [None, "1"]


@pytest.mark.parametrize(
    ("act", "settings", "kind"),
    [
        (replies({"detail": {"message": KEY}}, 403), {}, "Unauthorized"),
        (replies({"data": []}), {}, "InvalidResponse"),
        (hang_up, {}, "Network"),
        (hang_up, {"profile": "openrouter"}, "Unsupported"),
    ],
)
async def test_a_list_that_does_not_come_says_why(act, settings, kind):
    async with endpoint(act, act, act) as server:
        client = client_of(server, **settings)
        with pytest.raises(DecisionFailed) as raised:
            await client.list_models()
        await client.close()
    assert raised.value.error.kind == kind
    assert KEY not in str(raised.value)


async def test_an_image_goes_along_under_its_placeholder():
    image = Image(b"\xff\xd8\xffrest")
    request = DecisionRequest(f"Look at {image.placeholder}", {"q": PHOTO}, images=(image,))
    async with endpoint() as server:
        client = client_of(server)
        await client.evaluate(request)
        await client.close()
    assert server.heard[0].body["assets"] == {
        image.placeholder: {"type": "image", "format": "jpeg", "data_base64": "/9j/cmVzdA=="}
    }


async def test_an_endpoint_without_images_is_not_asked_about_one():
    request = DecisionRequest("text", {"q": PHOTO}, images=(Image(b"\xff\xd8\xff"),))
    result = await asked(request=request, profile="openrouter")
    assert (kind_of(result), result.attempts) == ("Unsupported", 0)


# -- reading answers -----------------------------------------------------------------------------------


def answer(**changes: Any) -> dict[str, Any]:
    return {
        "type": "choice",
        "choice": "refund",
        "confidence": 0.8,
        "probabilities": {"refund": 0.9, "delivery": 0.1},
        **changes,
    }


def without(name: str, members: Mapping[str, Any]) -> dict[str, Any]:
    return {member: value for member, value in members.items() if member != name}


SCORE = {
    "type": "score",
    "score": 1.1,
    "confidence": 0.7,
    "legend": {"0": "calm", "1": "annoyed", "2": "furious"},
    "probabilities": {"0": 0.05, "1": 0.8, "2": 0.15},
}


async def read(answers: Any, questions: Mapping[str, Any] | None = None, **settings: Any) -> DecisionResult:
    """What is read of these answers."""
    body = {"model": "jev-1.13.0", "answers": answers, "usage": {"input_tokens": 3, "output_tokens": 1}}
    request = DecisionRequest("text", questions or {"route": ROUTE})
    return await asked(replies(body), request=request, **settings)


async def test_the_order_of_members_and_unknown_members_do_not_matter():
    told = answer(extra={"more": [1]})
    result = await read({"route": {**without("type", told), "type": "choice"}})
    assert result.answers == (ChoiceAnswer("route", 0, 0.8, (0.9, 0.1)),)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        *((ROUTE, without(name, answer())) for name in ("type", "choice", "probabilities", "confidence")),
        *(
            (HEAT, without(name, SCORE))
            for name in ("type", "score", "probabilities", "confidence", "legend")
        ),
        (PHOTO, {"type": "noul"}),
        (PHOTO, {"noul": 0.5}),
        (PHOTO, {"type": "noul", "noul": True}),
        (PHOTO, {"type": "noul", "noul": 1.5}),
        (PHOTO, {"type": "noul", "noul": "0.5"}),
        (HEAT, {**SCORE, "legend": ["calm", "annoyed", "furious"]}),
        (HEAT, {**SCORE, "score": 2.5}),
        (ROUTE, answer(choice="another")),
        (ROUTE, answer(probabilities={"refund": 0.9, "another": 0.1})),
        (ROUTE, answer(probabilities={"refund": 0.9, "delivery": -0.5})),
        (ROUTE, answer(probabilities={"refund": 0.5, "delivery": 0.1})),
        (ROUTE, answer(choice="delivery")),
        (ROUTE, answer(confidence=None)),
        (ROUTE, {"type": "noul", "noul": 0.5}),
        (ROUTE, {"type": "box", "box": {}}),
        (ROUTE, "refund"),
    ],
)
async def test_what_is_missing_or_does_not_fit_is_no_answer(question, told):
    result = await read({"q": told}, {"q": question})
    assert result.error is not None
    assert (result.error.kind, result.error.status, result.error.transient) == ("InvalidResponse", 200, False)
    assert "'q'" in result.error.message
    assert (result.served_model, result.usage) == ("jev-1.13.0", TokenUsage(3, 1))


async def test_an_option_without_a_probability_has_none():
    result = await read({"route": answer(probabilities={"refund": 1})})
    assert result.answers == (ChoiceAnswer("route", 0, 0.8, (1.0, 0.0)),)


async def test_probabilities_are_in_the_order_of_the_options():
    result = await read({"route": answer(probabilities={"delivery": 0.1, "refund": 0.9})})
    assert result.answers == (ChoiceAnswer("route", 0, 0.8, (0.9, 0.1)),)


async def test_answers_nobody_asked_for_are_passed_over():
    result = await read({"other": {"type": "box"}, "route": answer()})
    assert kind_of(result) is None


async def test_a_question_without_an_answer_is_named():
    result = await read({}, {"route": ROUTE})
    assert result.error is not None
    assert (result.error.kind, result.error.message) == ("InvalidResponse", "There is no answer to 'route'.")


async def test_a_key_is_the_same_however_it_is_escaped():
    body = b'{"model": "m", "answers": {"a\\u0062": {"type": "noul", "noul": 0.5}}}'
    result = await asked(replies(body), request=DecisionRequest("text", {"ab": PHOTO}))
    assert result.answers == (NoulAnswer("ab", 0.5, 0.0),)


async def test_of_two_equally_likely_levels_the_lower_counts():
    result = await read({"heat": {**SCORE, "probabilities": {"1": 0.5, "2": 0.5}}}, {"heat": HEAT})
    assert result.answers is not None
    assert isinstance(result.answers[0], ScoreAnswer)
    assert result.answers[0].chosen_index == 1


async def test_rounded_probabilities_need_not_sum_to_one():
    thirds = {"0": 0.33, "1": 0.33, "2": 0.33}
    assert kind_of(await read({"heat": {**SCORE, "probabilities": thirds}}, {"heat": HEAT})) is None


@pytest.mark.parametrize(
    "body", [b"no JSON", b'{"model": "m", "answ', b"[]", b"null", b"", b'{"answers": {}}']
)
async def test_a_body_that_is_no_reply_is_invalid_and_asked_for_once(body):
    result = await asked(replies(body))
    assert result.error is not None
    assert (result.error.kind, result.error.status, result.attempts) == ("InvalidResponse", 200, 1)
    assert result.served_model is None


async def test_a_reply_that_breaks_off_is_invalid_with_its_status():
    result = await asked(cut(b'{"model": '))
    assert result.error is not None
    assert (result.error.kind, result.error.status, result.attempts) == ("InvalidResponse", 200, 1)


async def test_a_refused_question_refuses_the_decision():
    result = await read(
        {"route": {"type": "refusal"}, "photo": {"type": "noul", "noul": 0.5}},
        {"route": ROUTE, "photo": PHOTO},
    )
    assert result.error is not None
    assert (result.error.kind, result.error.refused_keys) == ("Refused", ("route",))


@pytest.mark.parametrize(
    ("told", "expected", "source"),
    [
        (without("confidence", answer()), ChoiceAnswer("route", 0, pytest.approx(0.8), (0.9, 0.1)), "model"),  # type: ignore[arg-type]
        (without("probabilities", answer()), ChoiceAnswer("route", 0, 0.8, (1.0, 0.0)), "onehot"),
        ({"type": "choice", "choice": "delivery"}, ChoiceAnswer("route", 1, 1.0, (0.0, 1.0)), "onehot"),
    ],
)
async def test_what_a_broker_leaves_out_is_filled_in(told, expected, source):
    result = await read({"route": told}, profile="openrouter")
    assert (result.answers, result.probability_source) == ((expected,), source)


async def test_a_brokers_score_without_probabilities_is_the_nearest_level():
    result = await read({"heat": {"type": "score", "score": 1.1}}, {"heat": HEAT}, profile="openrouter")
    assert result.answers == (ScoreAnswer("heat", 1, 1.1, 1.0, (0.0, 1.0, 0.0)),)


async def test_a_broker_says_what_it_cost_and_who_served():
    body = {
        "id": "gen-1",
        "provider": "Fireworks",
        "model": "typesafe/jev-1.13-20261001",
        "answers": {"photo": {"type": "noul", "noul": 0.5}},
        "usage": {"input_tokens": 3, "output_tokens": 1, "cost": 0.00012},
    }
    async with endpoint(replies(body)) as server:
        client = client_of(server, profile="openrouter-decisions")
        result = await client.evaluate(DecisionRequest("text", {"photo": PHOTO}))
        await client.close()
    assert server.heard[0].path == "/alpha/decisions"
    assert (result.response_id, result.upstream_provider) == ("gen-1", "Fireworks")
    assert result.usage == TokenUsage(3, 1, 0.00012)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": "many"}])
async def test_no_usage_is_none(usage):
    body = {"model": "m", "answers": {"photo": {"type": "noul", "noul": 0.5}}, "usage": usage}
    assert (await asked(replies(body), request=DecisionRequest("text", {"photo": PHOTO}))).usage is None


# -- relatives of the wire -----------------------------------------------------------------------------


async def test_openai_is_asked_in_lists_and_answers_in_lists():
    body = {
        "id": "dec_1",
        "model": "decider-1",
        "answers": [
            {
                "choice": "refund",
                "confidence": 0.8,
                "probabilities": [
                    {"value": "delivery", "probability": 0.1},
                    {"value": "refund", "probability": 0.9},
                ],
            },
            {
                "score": 1.1,
                "confidence": 0.7,
                "probabilities": [
                    {"value": level, "label": label, "probability": p}
                    for level, (label, p) in enumerate([("calm", 0.05), ("annoyed", 0.8), ("furious", 0.15)])
                ],
            },
            {"probability": 0.04},
        ],
        "usage": {"input_tokens": 9, "output_tokens": 3},
    }
    photo = Noul("Is a photo mentioned?", yes={"seen": True})
    request = DecisionRequest(["one", "two"], {"route": ROUTE, "heat": HEAT, "photo": photo})
    async with endpoint(replies(body)) as server:
        client = client_of(server, profile="openai-decisions", model="decider-1")
        result = await client.evaluate(request)
        await client.close()
    (heard,) = server.heard
    assert heard.path == "/v1/decisions"
    assert heard.body == {
        "model": "decider-1",
        "input": [{"role": "user", "content": '["one", "two"]'}],
        "questions": [
            {
                "name": "route",
                "type": "choice",
                "choices": [
                    {"value": "refund", "description": "Money back"},
                    {"value": "delivery", "description": "Where a parcel is"},
                ],
                "instructions": "Which desk?",
            },
            {
                "name": "heat",
                "type": "score",
                "levels": [{"label": "calm"}, {"label": "annoyed"}, {"label": "furious"}],
                "instructions": "How upset?",
            },
            {
                "name": "photo",
                "type": "predicate",
                "instructions": 'Is a photo mentioned?\ntrue: {"seen": true}',
            },
        ],
    }
    assert result.answers == (
        ChoiceAnswer("route", 0, 0.8, (0.9, 0.1)),
        ScoreAnswer("heat", 1, 1.1, 0.7, (0.05, 0.8, 0.15)),
        NoulAnswer("photo", 0.04, pytest.approx(0.92)),  # type: ignore[arg-type]
    )
    assert result.response_id == "dec_1"


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([{"type": "refusal", "name": "photo"}], "Refused"),
        ([], "InvalidResponse"),
        ([{"probability": 0.5}] * 2, "InvalidResponse"),
        ([7], "InvalidResponse"),
    ],
)
async def test_openai_may_refuse_and_must_answer_each_question(answers, kind):
    result = await asked(
        replies({"model": "m", "answers": answers}),
        request=DecisionRequest("text", {"photo": PHOTO}),
        profile="openai-decisions",
        model="m",
    )
    assert kind_of(result) == kind
    if result.error is not None and kind == "Refused":
        assert result.error.refused_keys == ("photo",)


async def test_cloudflare_answers_in_an_envelope():
    inner = {"model": "clef", "answers": {"photo": {"type": "noul", "noul": 0.5}}}
    image = Image(b"\x89PNG\r\n\x1a\n")
    request = DecisionRequest("text", {"photo": PHOTO}, images=(image,))
    async with endpoint(replies({"result": inner, "success": True, "errors": [], "messages": []})) as server:
        client = client_of(server, profile="cloudflare", base_url=f"{server.url}accounts/7")
        result = await client.evaluate(request)
        await client.close()
    assert (result.answers, result.served_model) == ((NoulAnswer("photo", 0.5, 0.0),), "clef")
    assert server.heard[0].path == "/accounts/7/ai/run/@cf/cloudflare/clef"
    assert server.heard[0].body["images"] == ["data:image/png;base64,iVBORw0KGgo="]


@pytest.mark.parametrize(
    ("status", "code", "kind", "attempts"),
    [
        (429, 3036, "RateLimited", 1),
        (429, 3040, "Overloaded", 3),
        (400, 5006, "Validation", 1),
        (200, 1, "Http", 1),
        (500, 7, "Server", 3),
    ],
)
async def test_cloudflare_has_codes_of_its_own(status, code, kind, attempts):
    body = {"result": None, "success": False, "errors": [{"code": code, "message": "so it is"}]}
    act = replies(body, status)
    result = await asked(act, act, act, profile="cloudflare")
    assert result.error is not None
    assert (result.error.kind, result.error.message, result.attempts) == (kind, "so it is", attempts)


async def test_ollama_takes_images_as_a_list():
    request = DecisionRequest("text", {"photo": PHOTO}, images=(Image(b"\xff\xd8\xff"),))
    async with endpoint() as server:
        client = client_of(server, profile="ollama", model="jev", key="")
        await client.evaluate(request)
        await client.close()
    assert server.heard[0].body["images"] == ["/9j/"]


# -- errors and retries --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "attempts"),
    [
        (400, "Validation", 1),
        (401, "Unauthorized", 1),
        (402, "Http", 1),
        (403, "Unauthorized", 1),
        (404, "Http", 1),
        (408, "Http", 3),
        (413, "Http", 1),
        (422, "Validation", 1),
        (429, "RateLimited", 3),
        (500, "Server", 3),
        (502, "Server", 3),
        (503, "Overloaded", 3),
        (529, "Overloaded", 3),
        (302, "Http", 1),
    ],
)
async def test_a_status_has_its_kind_and_is_tried_again_or_not(status, kind, attempts):
    act = replies({"detail": "canary"}, status)
    result = await asked(act, act, act)
    assert result.error is not None
    assert (result.error.kind, result.error.status, result.attempts) == (kind, status, attempts)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'"just text"', "just text"),
        ({"error": "first", "message": "later"}, "first"),
        ({"error": {"message": "inner"}, "message": "later"}, "inner"),
        ({"message": "plain", "detail": "later"}, "plain"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": {"error_type": "x", "message": "nested"}}, "nested"),
        (
            {"detail": [{"loc": ["body", "questions"], "msg": "empty"}, {"msg": "bare"}, {"loc": []}]},
            "questions: empty; bare",
        ),
        (b"<html>" + b"x" * 500, "<html>" + "x" * 194),
        ({"other": 1}, '{"other": 1}'),
    ],
)
async def test_whoever_asked_is_told_what_the_provider_says(body, message):
    result = await asked(replies(body, 422))
    assert result.error is not None
    assert result.error.message == message


async def test_the_wait_an_endpoint_asks_for_is_kept_and_the_same_body_sent_again():
    clock = VirtualClock()
    async with endpoint(replies({}, 429, {"retry-after-ms": "50"})) as server:
        client = client_of(server, clock)
        result = await client.evaluate(REQUEST)
        await client.close()
    assert (kind_of(result), result.attempts) == (None, 2)
    assert server.retries == [None, "1"]
    assert clock.slept == [0.05]
    assert server.heard[0].raw == server.heard[1].raw


async def test_waits_double_are_drawn_out_at_random_and_end_with_the_last_error():
    clock, act = VirtualClock(), replies({}, 529)
    async with endpoint(act, act, act) as server:
        client = client_of(server, clock)
        result = await client.evaluate(REQUEST)
        await client.close()
    assert (kind_of(result), server.retries) == ("Overloaded", [None, "1", "2"])
    assert clock.slept == [0.625, 1.25]


async def test_a_time_out_of_the_server_is_tried_again():
    result = await asked(replies({}, 408))
    assert (kind_of(result), result.attempts) == (None, 2)


async def test_a_connection_closed_without_a_word_is_the_network():
    result = await asked(hang_up, hang_up, hang_up)
    assert (kind_of(result), result.attempts) == ("Network", 3)


async def test_nobody_listening_is_the_network():
    async with endpoint() as server:
        url = server.url
    client = client_of(Endpoint(url))
    result = await client.evaluate(REQUEST)
    assert (kind_of(result), result.attempts) == ("Network", 3)


@pytest.mark.socket
async def test_a_server_that_is_too_slow_times_out_in_bounded_time():
    async with asyncio.timeout(5):
        result = await asked(silence, silence, silence, attempt_timeout=0.05)
    assert (kind_of(result), result.attempts) == ("Timeout", 3)


async def test_a_cancelled_wait_ends_at_once_and_sends_nothing_more():
    class Waiting(VirtualClock):
        async def sleep(self, seconds: float) -> None:
            waits.set()
            await asyncio.Event().wait()

    waits = asyncio.Event()
    async with endpoint(replies({}, 503)) as server:
        client = client_of(server, Waiting())
        task = asyncio.create_task(client.evaluate(REQUEST))
        await waits.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.close()
    assert len(server.heard) == 1


async def test_no_wait_is_begun_that_would_pass_the_total():
    policy = RetryPolicy(retries=5, total=2.0)
    acts = [replies({}, 503)] * 6
    result = await asked(*acts, retry=policy)
    assert result.attempts == 3  # after 0.625 s and 1.25 s the next wait of 2.5 s is too long


async def test_an_endpoint_cannot_ask_for_more_than_the_longest_wait():
    clock = VirtualClock()
    async with endpoint(replies({}, 429, {"retry-after": "3600"})) as server:
        client = client_of(server, clock)
        await client.evaluate(REQUEST)
        await client.close()
    assert clock.slept == [30.0]


async def test_nothing_is_asked_twice_without_retries():
    result = await asked(replies({}, 503), retry=RetryPolicy(retries=0))
    assert (kind_of(result), result.attempts) == ("Overloaded", 1)


async def test_a_client_closed_during_a_call_says_so():
    async with endpoint(silence) as server:
        client = client_of(server)
        task = asyncio.create_task(client.evaluate(REQUEST))
        await server.asked.wait()
        await client.close()
        result = await task
        later = await client.evaluate(REQUEST)
    assert (kind_of(result), kind_of(later)) == ("Disposed", "Disposed")
    assert len(server.heard) == 1


@pytest.mark.parametrize(
    ("request_", "settings", "says"),
    [
        (DecisionRequest("text", {}), {}, "MIN005: 0 questions"),
        (DecisionRequest("text", {"q": Choice("Which?", [])}), {}, "MIN001: 'q'"),
        (DecisionRequest(7, {"q": PHOTO}), {}, "text, an object or a list"),
        (DecisionRequest(json.loads("[" * 61 + "]" * 61), {"q": PHOTO}), {}, "MIN108"),
        (DecisionRequest("text", {"q": Noul("Is it?", yes="yes")}), {"profile": "openrouter"}, "both yes"),
    ],
)
async def test_what_cannot_be_asked_is_not_sent(request_, settings, says):
    async with endpoint() as server:
        client = client_of(server, **settings)
        result = await client.evaluate(request_)
        await client.close()
    assert result.error is not None
    assert (result.error.kind, result.attempts) == ("InvalidQuestions", 0)
    assert says in result.error.message
    assert server.heard == []


# -- how long to wait ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5),
        (" 7 ", 7),
        ("0", 0),
        ("Thu, 01 Oct 2026 12:00:10 GMT", 10),
        ("Thursday, 01-Oct-26 12:00:10 GMT", 10),
        ("Thu Oct  1 12:00:10 2026", 10),
        ("thu, 01 oct 2026 12:00:10 gmt", 10),
        ("Thu, 01 Oct 2026 11:59:50 GMT", 0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("2147483", 2147483),
        ("2147484", 2147483),
        ("9" * 30, 2147483),
        ("Thursday, 01-Oct-75 12:00:10 GMT", 2147483),
        ("Saturday, 01-Oct-77 12:00:10 GMT", 0),
    ],
)
async def test_a_wait_is_seconds_or_a_date_of_any_form(value, seconds):
    assert parse_retry_after(value, NOON) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250.5"}, 0.2505),
        ({"retry-after-ms": "0"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        *(({"retry-after-ms": bad, "retry-after": "9"}, 9) for bad in ("soon", "-5", "NaN", "Infinity")),
        ({"RETRY-AFTER": "9"}, 9),
        ({"Retry-After-Ms": "1500"}, 1.5),
        ({}, None),
    ],
)
async def test_milliseconds_go_before_seconds(headers, seconds):
    result = await asked(replies({}, 429, headers), retry=RetryPolicy(retries=0))
    assert result.error is not None
    assert result.error.retry_after == seconds


# -- settings ------------------------------------------------------------------------------------------


def test_a_key_is_the_one_given_else_that_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TYPESAFE_API_KEY", " from-environment \n")
    assert SystemOneSettings(key=" given ").key == "given"
    assert SystemOneSettings().key == "from-environment"
    assert SystemOneSettings(key="  ").key == "from-environment"
    monkeypatch.setenv("TYPESAFE_API_KEY", "   ")
    assert SystemOneSettings().key == ""


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY}\x00", f"{KEY}é"])
def test_a_key_no_header_can_carry_is_refused_and_not_shown(key):
    with pytest.raises(ValueError, match="no header can carry") as raised:
        SystemOneSettings(key=key)
    assert KEY not in str(raised.value)


def test_the_address_of_one_provider_is_not_that_of_another(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TYPESAFE_BASE_URL", "https://gateway.example/decisions")
    monkeypatch.setenv("TYPESAFE_DEFAULT_MODEL", "jev-1.13")
    settings = SystemOneSettings()
    assert (settings.base_url, settings.model) == ("https://gateway.example/decisions/", "jev-1.13")
    assert SystemOneSettings(profile="openrouter").base_url == "https://openrouter.ai/api/"


@pytest.mark.parametrize(
    "address",
    [
        "h/x",
        "ftp://h/x",
        "https://h/x?key=1",
        "https://h/x#part",
        "https://user:secret@h/",
        "https://",
        "http://h:99999/",
        "https://h h/",
    ],
)
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ValueError, match="starts with http") as raised:
        SystemOneSettings(base_url=address)
    assert "secret" not in str(raised.value)


def test_an_address_ends_in_a_slash():
    assert SystemOneSettings(base_url="https://h/x").base_url == "https://h/x/"


def test_a_model_has_a_name():
    assert SystemOneSettings(model=" jev ").model == "jev"
    with pytest.raises(ValueError, match="not blank"):
        SystemOneSettings(model="  ")
    with pytest.raises(ValueError, match="what the model is called"):
        SystemOneSettings(profile="ollama")
    with pytest.raises(ValueError, match="no address of its own"):
        SystemOneSettings(profile="systemone", model="m")
    with pytest.raises(ValueError, match="no profile 'other'"):
        SystemOneSettings(profile="other")


@pytest.mark.parametrize("seconds", [0, -1, 2147483.648, float("nan")])
def test_a_time_out_that_makes_no_sense_is_refused(seconds):
    with pytest.raises(ValueError, match="time-out"):
        SystemOneSettings(attempt_timeout=seconds)


def test_a_time_out_may_be_endless_or_very_long():
    for seconds in (float("inf"), 2147483.647, 0.001):
        assert SystemOneSettings(attempt_timeout=seconds).attempt_timeout == seconds


@pytest.mark.parametrize(
    "policy",
    [{"retries": -1}, {"retries": 11}, {"first_wait": 0}, {"first_wait": 2, "longest_wait": 1}],
)
def test_retries_that_make_no_sense_are_refused(policy):
    with pytest.raises(ValueError, match=r"retries|wait"):
        RetryPolicy(**policy)


def test_no_text_of_settings_or_client_has_the_key():
    settings = SystemOneSettings(key=KEY)
    for shown in (repr(settings), str(settings), repr(SystemOneClient(settings))):
        assert KEY not in shown


# -- what is told --------------------------------------------------------------------------------------


async def test_nothing_of_a_call_is_in_a_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    canary = "canary-7431"
    request = DecisionRequest(canary, {"q": Noul(canary)})
    for act in (
        replies({"detail": {"message": canary}}, 401),
        replies({"detail": [{"msg": canary}]}, 422),
        replies({"error": canary}, 404),
        replies(canary.encode(), 500),
        replies({"message": canary}, 429, {"retry-after": canary}),
        replies({"model": "m", "answers": {"q": {"type": "noul", "noul": canary}}}),
        replies(canary.encode()),
        hang_up,
        cut(canary.encode()),
        sends(b"canary-7431 is no HTTP\r\n\r\n"),
    ):
        result = await asked(act, act, act, request=request)
        assert result.error is not None
        failed = DecisionFailed(result.error, "somewhere")
        assert canary not in f"{failed} {failed!r} {result!r} {result.error!r}"
    await asked(request=request)
    assert canary not in caplog.text
    assert KEY not in caplog.text
    events = {vars(entry).get("event") for entry in caplog.records}
    assert {1001, 1002, 1003} <= events


async def test_what_happened_is_told_by_numbers_and_kinds(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, logger="engine.deciders.systemone")
    async with endpoint(replies({}, 503), replies({"detail": "no"}, 401)) as server:
        client = client_of(server)
        await client.evaluate(REQUEST)
        await client.evaluate(REQUEST)
        await client.list_models()
        await client.close()
    assert [(vars(entry)["event"], entry.levelname, entry.getMessage()) for entry in caplog.records] == [
        (1003, "WARNING", "Attempt 1 failed (Overloaded, status 503); the next follows in 0.625 s."),
        (
            1002,
            "WARNING",
            "Model 'jev-latest' of typesafe gave no answers (Unauthorized, status 401) after 0.625 s.",
        ),
        (1001, "DEBUG", "Model 'jev-latest' of typesafe answered 3 questions in 0.000 s."),
        (1004, "DEBUG", "Listed 1 models of typesafe."),
    ]


async def test_a_fault_of_the_program_is_told_by_its_type_and_comes_out_as_it_was(
    caplog: pytest.LogCaptureFixture,
):
    async with endpoint() as server:
        client = client_of(server)
        with pytest.raises(TypeError):
            await client.evaluate(DecisionRequest({"no": object()}, {"q": PHOTO}))  # type: ignore[dict-item]
        await client.close()
    assert [(vars(entry)["event"], entry.levelname) for entry in caplog.records] == [(1006, "ERROR")]
    assert "TypeError" in caplog.text


async def test_a_client_counts_what_it_did():
    async with endpoint(replies({}, 503), replies({}, 401)) as server:
        client = client_of(server)
        for _ in range(3):
            await client.evaluate(REQUEST)
        await client.close()
    counters = client.counters
    assert (counters.succeeded, counters.failed, counters.attempts) == (2, {"Unauthorized": 1}, 4)
    assert (counters.input_tokens, counters.output_tokens, counters.cost) == (622, 68, 0.0)


# -- stages --------------------------------------------------------------------------------------------

FINE = DecisionResult(answers=(NoulAnswer("q", 0.9, 0.8),), served_model="m")
BUSY = DecisionResult(error=DecisionError("RateLimited", status=429, transient=True))


async def test_the_retry_stage_asks_again_and_says_so():
    client, clock = FakeDecisionClient(BUSY, FINE), VirtualClock()
    stage = retried(client, clock=clock, jitter=lambda: 0.0)
    result = await stage.evaluate(DecisionRequest("text", {"q": PHOTO}))
    assert (result.answers, result.attempts) == (FINE.answers, 2)
    assert [request.retry_attempt for request in client.requests] == [0, 1]
    assert clock.slept == [0.5]
    await stage.close()
    assert client.closed
    assert await stage.list_models() == (ModelInfo("jev-latest"),)


async def test_the_same_question_is_answered_from_memory_for_a_while():
    client, clock = FakeDecisionClient(FINE), VirtualClock()
    stage = cached(client, seconds=60, clock=clock)
    first = await stage.evaluate(DecisionRequest({"a": 1, "b": 2}, {"q": PHOTO}))
    second = await stage.evaluate(DecisionRequest({"b": 2, "a": 1}, {"q": Noul("Is a photo mentioned?")}))
    assert (first.cached, second.cached, second.answers, second.attempts) == (False, True, FINE.answers, 0)
    clock.seconds = 60
    third = await stage.evaluate(DecisionRequest({"a": 1, "b": 2}, {"q": PHOTO}))
    assert (third.cached, len(client.requests)) == (False, 2)


@pytest.mark.parametrize(
    "other",
    [
        DecisionRequest("other", {"q": ROUTE}),
        DecisionRequest("text", {"p": ROUTE}),
        DecisionRequest("text", {"q": ROUTE}, model="m"),
        DecisionRequest("text", {"q": ROUTE}, images=(Image(b"\xff\xd8\xff"),)),
        DecisionRequest("text", {"q": Choice("Which desk?", dict(reversed(ROUTE.criteria.items())))}),  # type: ignore[union-attr]
    ],
)
async def test_another_question_is_asked_anew(other):
    client = FakeDecisionClient(FINE)
    stage = cached(client)
    await stage.evaluate(DecisionRequest("text", {"q": ROUTE}))
    await stage.evaluate(other)
    assert len(client.requests) == 2


async def test_the_oldest_answer_is_forgotten_first():
    client = FakeDecisionClient(FINE)
    stage = cached(client, entries=2)
    for state in ("a", "b", "c", "b", "a"):
        await stage.evaluate(DecisionRequest(state, {"q": PHOTO}))
    assert [request.state for request in client.requests] == ["a", "b", "c", "a"]


async def test_who_asks_what_is_being_asked_waits_for_that_answer():
    door = asyncio.Event()

    async def slowly(request: DecisionRequest) -> DecisionResult:
        await door.wait()
        return FINE

    client = FakeDecisionClient(slowly)
    stage = cached(client)
    tasks = [asyncio.create_task(stage.evaluate(DecisionRequest("text", {"q": PHOTO}))) for _ in range(3)]
    await asyncio.sleep(0)
    door.set()
    assert sorted(result.cached for result in await asyncio.gather(*tasks)) == [False, True, True]
    assert len(client.requests) == 1


async def test_errors_are_neither_kept_nor_shared():
    client = FakeDecisionClient(BUSY, FINE)
    stage = cached(client)
    ask = DecisionRequest("text", {"q": PHOTO})
    results = await asyncio.gather(*(stage.evaluate(ask) for _ in range(3)))
    assert [(kind_of(result), result.cached) for result in results] == [
        ("RateLimited", False),
        (None, False),
        (None, True),
    ]


async def test_who_gives_up_waiting_takes_nobody_along():
    door = asyncio.Event()

    async def slowly(request: DecisionRequest) -> DecisionResult:
        await door.wait()
        return FINE

    stage = cached(FakeDecisionClient(slowly))
    first, second = (
        asyncio.create_task(stage.evaluate(DecisionRequest("text", {"q": PHOTO}))) for _ in range(2)
    )
    await asyncio.sleep(0)
    first.cancel()
    door.set()
    assert (await second).answers == FINE.answers


def test_an_answer_of_the_server_is_one_of_ours():
    assert set(answered({"questions": {"q": PHOTO.as_json()}})) == {"model", "answers", "usage"}
