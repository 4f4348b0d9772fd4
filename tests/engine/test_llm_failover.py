"""Rows F of the runtime's conformance cases, asked through the decider that uses them."""

import asyncio

import pytest

from engine.deciders.text import TextDecider
from engine.errors import LlmError
from engine.llm import Completion, Request
from engine.llm.failover import Call, Failover, ModelChain
from engine.llm.failures import is_transient
from tests.engine.deciding import OK, FakeClient, FakeDesk, question, unavailable

pytestmark = pytest.mark.anyio

ASK = Request(())


class ContextPipeline:
    """An own pipeline that takes the chain, and remembers it."""

    def __init__(self) -> None:
        self.chains: list[ModelChain | None] = []
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.chains.append(None)
        self.requests.append(request)
        return Completion(OK)

    async def complete_along(self, request: Request, chain: ModelChain) -> Completion:
        self.chains.append(chain)
        self.requests.append(request)
        return Completion(OK)


class PlainPipeline:
    """An own pipeline that knows nothing of chains."""

    def __init__(self, error: Exception) -> None:
        self.error, self.calls = error, 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        raise self.error


async def test_f1_without_options_no_model_is_named():
    pipeline = ContextPipeline()
    await TextDecider(FakeClient([]), pipeline=pipeline).for_run().decide(question())
    assert pipeline.chains == [None]
    assert pipeline.requests[0].model is None


async def test_f2_a_model_and_fallbacks_go_with_the_request():
    pipeline = ContextPipeline()
    await TextDecider(FakeClient([]), "primary", ["fallback"], pipeline=pipeline).for_run().decide(question())
    assert pipeline.chains == [ModelChain("primary", ("fallback",))]
    assert pipeline.requests[0].model == "primary"


@pytest.mark.parametrize(
    ("model", "fallbacks"), [("primary", []), ("primary", [" "]), (None, ["fallback"]), (" ", ["fallback"])]
)
async def test_f3_an_incomplete_configuration_names_no_model(model, fallbacks):
    pipeline, desk = ContextPipeline(), FakeDesk()
    await TextDecider(FakeClient([]), model, fallbacks, pipeline=pipeline).for_run().decide(question(desk))
    assert pipeline.chains == [None]
    assert pipeline.requests[0].model is None
    assert desk.model is None


async def test_f4_all_questions_of_a_run_share_one_chain():
    pipeline = ContextPipeline()
    decider = TextDecider(FakeClient([]), "primary", ["fallback"], pipeline=pipeline).for_run()
    for visit in (1, 2, 3):
        await decider.decide(question(visit=visit))
    assert len({id(chain) for chain in pipeline.chains}) == 1


async def test_f5_after_a_transient_failure_the_next_model_answers():
    client, desk = FakeClient([unavailable(), OK]), FakeDesk()
    decision = await TextDecider(client, "primary", ["fallback"]).for_run().decide(question(desk))
    assert decision.answer == "supported"
    assert client.models == ["primary", "fallback"]
    assert (decision.llm_calls, decision.attempts, len(desk.attempts)) == (1, 1, 1)
    assert (decision.requested_model, decision.served_model) == ("primary", "fallback")
    assert decision.failover == ("primary",)
    assert desk.model == "fallback"


async def test_f6_and_f11_a_failed_model_is_never_asked_again_and_the_last_one_is_named():
    client = FakeClient([unavailable(), OK, unavailable(), OK, unavailable(500)])
    decider, desk = TextDecider(client, "primary", ["fb1", "fb2"]).for_run(), FakeDesk()
    first = await decider.decide(question(desk))
    second = await decider.decide(question(desk, visit=2))
    with pytest.raises(LlmError, match="HTTP 500"):
        await decider.decide(question(desk, visit=3))
    assert client.models == ["primary", "fb1", "fb1", "fb2", "fb2"]
    assert (first.failover, second.failover) == (("primary",), ("fb1",))
    assert desk.model == "fb2"


async def test_another_run_begins_with_the_first_model_again():
    client = FakeClient([unavailable(), OK, OK])
    decider = TextDecider(client, "primary", ["fallback"])
    for _ in range(2):
        await decider.for_run().decide(question())
    assert client.models == ["primary", "fallback", "primary"]


async def test_f7_a_permanent_failure_ends_it():
    client = FakeClient([LlmError("model not found", kind="status", transient=False, status=404)])
    with pytest.raises(LlmError, match="model not found"):
        await TextDecider(client, "primary", ["fallback"]).for_run().decide(question())
    assert client.models == ["primary"]


@pytest.mark.parametrize("error", [TimeoutError("it took too long"), unavailable()], ids=["f8", "f9"])
async def test_f8_and_f9_an_own_pipeline_without_a_chain_fails_at_once_and_names_the_model(error):
    pipeline, desk = PlainPipeline(error), FakeDesk()
    decider = TextDecider(FakeClient([]), "fake-x", ["fallback"], pipeline=pipeline).for_run()
    with pytest.raises(LlmError) as caught:
        await decider.decide(question(desk))
    assert str(caught.value) == str(error)
    assert pipeline.calls == 1
    assert desk.model == "fake-x"


async def test_f10_success_says_no_error():
    decision = await TextDecider(FakeClient([OK])).for_run().decide(question())
    assert (decision.answer, decision.error, decision.reason) == ("supported", None, None)


async def test_f12_a_time_out_is_transient_unless_the_caller_was_cancelled():
    assert is_transient(TimeoutError())
    assert is_transient(asyncio.CancelledError())
    assert not is_transient(TimeoutError(), cancelled=True)


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408, 599])
async def test_f13_and_f15_a_status_in_a_text_is_found(status):
    assert is_transient(RuntimeError(f"call failed with http {status}: later"))


@pytest.mark.parametrize(
    "text",
    ["HTTP 404", "HTTP 400\nbad", "something broke", "", "HTTP 501", "HTTP 505", "HTTP 5033", "HTTP 50x"],
)
async def test_f14_and_f15_other_texts_are_permanent(text):
    assert not is_transient(RuntimeError(text))


async def test_a_malformed_status_in_a_text_does_not_hide_the_next():
    assert is_transient(RuntimeError("HTTP 5033, HTTP abc, then HTTP 503"))


class ForeignError(Exception):
    """What the client of some other library raises."""

    def __init__(self, status_code: int) -> None:
        super().__init__("rate limit exceeded")
        self.status_code = status_code


class ResponseError(Exception):
    """An error that holds the response it came with."""

    def __init__(self, status_code: int) -> None:
        super().__init__("bad")
        self.response = ForeignError(status_code)


@pytest.mark.parametrize("kind", [ForeignError, ResponseError])
@pytest.mark.parametrize(
    ("status", "transient"),
    [
        *((status, True) for status in (408, 429, 500, 502, 503, 504)),
        *((status, False) for status in (400, 401, 404, 501, 505)),
    ],
)
async def test_f16_a_structured_status_decides(kind, status, transient):
    assert is_transient(kind(status)) is transient


@pytest.mark.parametrize("status", [400, 401, 404, 501, 505])
async def test_f17_a_permanent_status_goes_before_what_the_error_claims(status):
    assert not is_transient(LlmError("odd", kind="status", transient=True, status=status))


@pytest.mark.parametrize("transient", [True, False])
async def test_f18_without_a_status_the_error_says_itself(transient):
    assert is_transient(LlmError("odd", kind="connection", transient=transient)) is transient


async def test_an_error_that_claims_to_be_permanent_is():
    assert not is_transient(LlmError("odd", kind="status", transient=False, status=503))


async def test_f19_a_wrapped_cancellation_is_permanent():
    error = unavailable()
    error.__cause__ = asyncio.CancelledError()
    assert not is_transient(error, cancelled=True)


@pytest.mark.parametrize(
    "text", ["Rate limit exceeded", "openai: rate_limit reached", "TOO MANY REQUESTS", "free-models-per-min"]
)
async def test_f20_words_of_rate_limits_are_transient(text):
    assert is_transient(RuntimeError(text))


async def test_a_chain_skips_the_model_in_use_and_what_came_before_whatever_the_case():
    assert ModelChain.of("A", ["a", "B", "", "b", "C", "B"]) == ModelChain("A", ("B", "C"))


async def test_a_chain_of_itself_only_names_the_model_and_has_nowhere_to_go():
    client = FakeClient([unavailable()])
    with pytest.raises(LlmError, match="HTTP 503"):
        await TextDecider(client, "primary", ["PRIMARY"]).for_run().decide(question())
    assert client.models == ["primary"]


async def test_a_chain_keeps_the_first_spelling_of_a_name():
    assert ModelChain.of("a", ["Mixed", "mixed"]) == ModelChain("a", ("Mixed",))


async def test_a_cancellation_that_leaks_from_a_client_is_a_time_out():
    client = FakeClient([asyncio.CancelledError(), OK])
    decision = await TextDecider(client, "primary", ["fallback"]).for_run().decide(question())
    assert decision.answer == "supported"
    with pytest.raises(LlmError) as caught:
        await TextDecider(FakeClient([asyncio.CancelledError()])).for_run().decide(question())
    assert caught.value.kind == "timeout"
    assert str(caught.value) == "The model did not answer in time."


@pytest.mark.parametrize("wraps", [False, True])
async def test_a_cancelled_caller_is_not_sent_to_the_next_model(wraps):
    class Hanging(FakeClient):
        async def complete(self, request: Request) -> Completion:
            self.requests.append(request)
            try:
                return await asyncio.Future()
            except asyncio.CancelledError as error:
                if wraps:
                    raise unavailable() from error
                raise

    client = Hanging([])
    task = asyncio.create_task(TextDecider(client, "primary", ["fallback"]).for_run().decide(question()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.models == ["primary"]


async def test_every_call_is_told_once_and_a_broken_observer_does_no_harm(caplog):
    calls: list[Call] = []

    def observe(call: Call) -> None:
        calls.append(call)
        raise RuntimeError("secret")

    client = FakeClient([unavailable(), OK])
    reply = await Failover(client, observe).complete_along(ASK, ModelChain("primary", ("fallback",)))
    assert reply.content == OK
    assert [(c.model, c.number, c.is_fallback, c.transient) for c in calls] == [
        ("primary", 1, False, True),
        ("fallback", 2, True, False),
    ]
    assert calls[0].error is not None
    assert calls[1].completion == reply
    assert "secret" not in caplog.text


async def test_a_call_without_a_chain_is_told_with_the_clients_model():
    calls: list[Call] = []
    await Failover(FakeClient([OK]), calls.append).complete(ASK)
    assert [(c.model, c.number, c.error) for c in calls] == [("own-model", 1, None)]
