"""The provider's own client against the server of these tests: it speaks the wire (facts W30 to W37)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typesafe_sdk import (
    AsyncTypeSafeClient,
    Choice,
    Image,
    Noul,
    RetryPolicy,
    Score,
    TypeSafeAPIError,
    TypeSafeError,
)

from engine import Choice as OurChoice
from engine import DecisionRequest, SystemOneClient, SystemOneSettings
from engine import Noul as OurNoul
from engine import RetryPolicy as OurPolicy
from engine import Score as OurScore
from tests.engine.servers import Act, replies
from tests.engine.systemone import Endpoint, endpoint

pytestmark = pytest.mark.anyio

QUESTIONS: dict[str, Noul | Choice | Score] = {
    "route": Choice(instructions="Which desk?", criteria={"refund": "Money back", "delivery": None}),
    "heat": Score(instructions="How upset?", criteria=["calm", "annoyed", "furious"]),
    "photo": Noul(instructions="Is a photo mentioned?"),
}
OURS = {
    "route": OurChoice("Which desk?", {"refund": "Money back", "delivery": None}),
    "heat": OurScore("How upset?", ["calm", "annoyed", "furious"]),
    "photo": OurNoul("Is a photo mentioned?"),
}


@asynccontextmanager
async def official(*acts: Act) -> AsyncIterator[tuple[AsyncTypeSafeClient, Endpoint]]:
    quick = RetryPolicy(max_retries=2, backoff_initial=0)
    async with (
        endpoint(*acts) as server,
        AsyncTypeSafeClient(api_key="key", base_url=server.url, retry=quick) as client,
    ):
        yield client, server


async def test_three_kinds_of_answers_are_read():
    async with official() as (client, _):
        response = await client.system_one(state={"text": "It is broken."}, questions=QUESTIONS)
    assert (response.model, response.usage.input_tokens) == ("jev-1.13.0", 311)
    assert response.choices["route"].probabilities == {"refund": 0.8, "delivery": 0.2}
    assert response.scores["heat"].legend == {0: "calm", 1: "annoyed", 2: "furious"}
    assert response.nouls["photo"].noul == 0.92


async def test_both_clients_send_the_same_body():
    state: dict[str, Any] = {"text": "It is broken.", "parts": ["café", 1]}
    async with official() as (client, server):
        await client.system_one(state=state, questions=QUESTIONS)
        ours = SystemOneClient(SystemOneSettings(base_url=server.url, key="key"))
        await ours.evaluate(DecisionRequest(state, OURS))
        await ours.close()
    theirs, own = server.heard
    assert own.body == theirs.body
    assert list(own.body) == list(theirs.body)
    assert own.headers["authorization"] == theirs.headers["authorization"]


async def test_a_placeholder_of_an_image_has_the_same_form():
    image = Image(b"\xff\xd8\xff")
    assert str(image)[:7] == "<image:"
    assert len(str(image)) == 40


async def test_models_are_listed():
    async with official() as (client, _):
        listed = await client.models.list()
    assert [model.name for model in listed.models] == ["jev-latest"]


@pytest.mark.parametrize(
    ("acts", "status", "retries"),
    [
        ([replies({"detail": {"message": "no"}}, 401)], 401, [None]),
        ([replies({"detail": [{"loc": ["body", "questions"], "msg": "empty"}]}, 422)], 422, [None]),
        ([replies({"detail": "Not Found"}, 404)], 404, [None]),
        ([replies({}, 429, {"retry-after-ms": "1"})], None, [None, "1"]),
        ([replies({}, 529)] * 3, 529, [None, "1", "2"]),
        ([replies({}, 408)], None, [None, "1"]),
    ],
)
async def test_both_clients_try_again_after_the_same_errors(acts, status, retries):
    async with official(*acts) as (client, server):
        if status is None:
            await client.system_one(state="text", questions=QUESTIONS)
        else:
            with pytest.raises(TypeSafeAPIError) as raised:
                await client.system_one(state="text", questions=QUESTIONS)
            assert raised.value.status == status
        assert server.retries == retries
    async with endpoint(*acts) as server:
        settings = SystemOneSettings(
            base_url=server.url, key="key", retry=OurPolicy(first_wait=0.001, longest_wait=0.002)
        )
        ours = SystemOneClient(settings)
        result = await ours.evaluate(DecisionRequest("text", OURS))
        await ours.close()
    assert server.retries == retries
    assert (None if result.error is None else result.error.status) == status


async def test_no_questions_are_refused_before_anything_is_sent():
    async with official() as (client, server):
        with pytest.raises(TypeSafeError):
            await client.system_one(state="text", questions={})
    assert server.heard == []
