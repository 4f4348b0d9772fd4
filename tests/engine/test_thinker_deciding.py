"""Who decides for a decision agent, and what becomes of a decision: read, counted, recorded, asked again."""

import asyncio
import json
from typing import Any

import pytest

from engine.agent import (
    DeclaredClient,
    HeuristicClient,
    JobEnded,
    JobRetrying,
    JobStarted,
    ScriptedClient,
    ScriptedMoves,
)
from engine.agent.thinking import Answers
from engine.conversation import estimate_tokens
from engine.deciders.asked import AskedQuestion, ChoiceAnswer, NoulAnswer, ScoreAnswer, TokenUsage
from engine.deciders.systemone.client import DecisionError, DecisionRequest, DecisionResult, RetryPolicy
from engine.deciders.systemone.endpoint import SystemOneClient, SystemOneSettings
from engine.deciders.systemone.questions import Choice, Noul, Score
from engine.errors import LlmError
from engine.llm import Completion, Message
from engine.records import DecisionRecorder, MemorySink, recording
from tests.engine.agents import of
from tests.engine.deciding import FakeClient, unavailable
from tests.engine.runs import VirtualClock
from tests.engine.systemone import FakeDecisionClient, endpoint, hang_up
from tests.engine.thinkers import Hears, careful, heard, started, thinker, thought, tools

pytestmark = pytest.mark.anyio

ASKED: dict[str, AskedQuestion] = {
    "next": Choice("Which?", {"split": "Splits.", "judge": "Judges."}),
    "keep": Noul("Does it belong?"),
    "size": Score("How large?", ["small", "large"]),
}
STATE: dict[str, Any] = {"objective": "Find it.", "artifacts": [], "done": ["nothing yet"]}
REQUEST = DecisionRequest(STATE, ASKED)


def failing(kind: Any, **more: Any) -> DecisionResult:
    return DecisionResult(error=DecisionError(kind, "it said: canary", **more))


# ------------------------------------------------------------------------------------------ reading answers


def test_an_answer_is_read_in_the_shape_it_was_asked_for():
    given = (ChoiceAnswer("next", 1, 0.6, (0.2, 0.8)), NoulAnswer("keep", 0.3, 0.4))
    answers = Answers(ASKED, DecisionResult(answers=given))
    assert (answers.choice("next").value, answers.noul("keep").probability) == ("judge", 0.3)
    for read, words in (
        (lambda: answers.choice("keep"), "'keep' was asked as a noul"),
        (lambda: answers.noul("next"), "'next' was asked as a choice"),
        (lambda: answers.noul("other"), "'other' was not asked; asked were next, keep, size"),
        (lambda: answers.choice("size"), "There is no answer to 'size'"),
    ):
        with pytest.raises(LookupError, match=words):
            read()
    with pytest.raises(LookupError, match="the decision failed with Refused"):
        Answers(ASKED, failing("Refused")).choice("next")
    bad = Answers(ASKED, DecisionResult(answers=(ChoiceAnswer("next", 2, 1.0, (0.0, 1.0)),)))
    with pytest.raises(LookupError, match="does not fit its options"):
        bad.choice("next")


async def test_an_answer_that_is_missing_ends_the_run():
    result = await thought(thinker(FakeDecisionClient(DecisionResult(answers=()))))
    assert (result.failure_kind, result.error) == ("Unknown", "There is no answer to 'next'.")


# ------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize(
    ("kind", "failure", "transient"),
    [
        ("RateLimited", "LlmError", True),
        ("Network", "LlmError", True),
        ("Timeout", "LlmTimeout", True),
        ("Unauthorized", "LlmError", False),
        ("InvalidResponse", "LlmError", False),
    ],
)
async def test_a_failed_decision_ends_the_run_and_quotes_nobody(kind, failure, transient):
    client = FakeDecisionClient(failing(kind, transient=transient))
    run, told = started(thinker(client, retries=0))
    result = await run.finish()
    assert (result.failure_kind, result.transient) == (failure, transient)
    assert "canary" not in str(result.error)
    (decision, own) = of(JobEnded, told)
    assert decision.message == own.message == result.error
    assert decision.kind == own.kind == ("timed_out" if kind == "Timeout" else "failed")
    assert (result.measured.calls, result.usage.llm_calls, result.turns) == (1, 1, ())


async def test_a_decision_is_asked_for_again_and_told_of():
    answers = (ChoiceAnswer("next", 1, 1.0, (0.0, 1.0)), *_first("split_input"), *_first("judge_input"))
    good = DecisionResult(answers=answers, attempts=1)
    client = FakeDecisionClient(failing("RateLimited", transient=True), good)
    clock = VirtualClock()
    run, told = started(thinker(client, clock=clock), max_turns=1, stops_inside=("afterDecision",))
    await anext(run)
    (retry,) = of(JobRetrying, told)
    assert (retry.retry, retry.message, retry.job.turn) == ("rate_limit", "Attempt 1: RateLimited.", 1)
    assert [event.attempt for event in of(JobStarted, told) if event.job.decision] == [1, 2]
    assert of(JobEnded, told)[0].decision.call.attempts == 2
    assert [request.retry_attempt for request in client.requests] == [0, 1]
    assert len(clock.slept) == 1
    assert run.usage.llm_calls == 1


def _first(key: str) -> tuple[ChoiceAnswer, ...]:
    return (ChoiceAnswer(key, 0, 1.0, (1.0,)),)


async def test_a_decision_that_takes_too_long_ends_the_run():
    async def never(_: DecisionRequest) -> DecisionResult:
        await asyncio.Event().wait()
        raise AssertionError

    made = thinker(FakeDecisionClient(never), decision_seconds=0.02)
    assert thinker().decision_seconds == 60
    result = await thought(made)
    assert (result.failure_kind, result.transient) == ("LlmTimeout", True)
    assert result.error == "There was no decision within 0.02 s."
    assert (result.measured.calls, result.usage.llm_calls) == (1, 1)


async def test_a_fault_of_a_client_ends_the_run():
    result = await thought(thinker(FakeDecisionClient(RuntimeError("a bug"))))
    assert (result.failure_kind, result.error, result.transient) == ("Unknown", "a bug", False)


async def test_a_time_out_of_the_clients_own_is_a_fault_of_the_client():
    result = await thought(thinker(FakeDecisionClient(TimeoutError("of its own"))))
    assert (result.failure_kind, result.error) == ("Unknown", "of its own")


async def test_a_run_inside_a_scope_of_the_caller_says_so():
    with recording("mine"):
        result = await thought(thinker())
    assert (result.failure_kind, "scopes do not nest" in str(result.error)) == ("Unknown", True)


async def test_what_is_larger_than_may_be_sent_is_not_sent():
    made = thinker(max_context_tokens=10)
    result = await thought(made)
    assert heard(made) == []
    assert (result.failure_kind, result.transient, result.measured.calls) == ("LlmError", False, 0)
    asked = thinker(max_turns=1)
    await thought(asked)
    state, questions = heard(asked)[0].state, heard(asked)[0].questions
    body = json.dumps(
        {"state": state, "questions": {key: one.as_json() for key, one in questions.items()}},
        ensure_ascii=False,
    )
    size = estimate_tokens([Message("user", body)])
    assert result.error == f"The decision takes about {size} tokens, and 10 may be sent."
    assert (await thought(thinker(), max_context_tokens=size - 1)).error is not None
    fewer = await thought(thinker(max_context_tokens=size), max_context_tokens=size - 1)
    assert str(size - 1) in str(fewer.error)


# ------------------------------------------------------------------------------------------ records, totals


async def test_each_decision_is_recorded_under_the_id_it_is_told_with():
    sink = MemorySink()
    async with DecisionRecorder(sink) as recorder:
        run, told = started(thinker(recorder=recorder), erasure_key="customer-7")
        await run.finish()
    records = [one.record for one in sink.decisions]
    exchanges = [event.decision for event in of(JobEnded, told) if event.job.decision]
    assert [record.decision_id for record in records] == [each.decision_id for each in exchanges]
    assert {record.erasure_key for record in records} == {"customer-7"}
    assert [record.state for record in records] == [each.state for each in exchanges]
    assert [list(record.questions) for record in records] == [list(each.answers) for each in exchanges]
    assert (records[0].provider, records[0].answers[0].chosen_index) == ("scripted", 0)  # type: ignore[index,union-attr]
    assert run.is_recorded
    assert not started(thinker())[0].is_recorded


async def test_a_decision_that_failed_is_recorded_once_with_its_reason():
    sink = MemorySink()
    client = FakeDecisionClient(failing("Overloaded", transient=True))
    async with DecisionRecorder(sink) as recorder:
        await thought(thinker(client, recorder=recorder, retries=2))
    (record,) = [one.record for one in sink.decisions]
    assert (record.error_kind, record.answers, len(client.requests)) == ("Overloaded", None, 3)


async def test_what_decisions_use_is_added_up():
    class Costs(Hears):
        async def evaluate(self, request: DecisionRequest) -> Any:
            clock.seconds += 0.5
            result = await super().evaluate(request)
            return DecisionResult(
                answers=result.answers, served_model="jev-1.13.0", usage=TokenUsage(100, 5, 0.25)
            )

    clock = VirtualClock()
    client = Costs(careful)
    client.model = "jev-latest"
    result = await thought(thinker(client, clock=clock))
    assert result.measured.as_json() == {
        "calls": 4,
        "inputTokens": 400,
        "latencyMs": 2000.0,
        "cost": 1.0,
        "currency": "USD",
        "model": "jev-latest",
        "servedModel": "jev-1.13.0",
        "wallMs": 2000.0,
    }
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (400, 20, 1.0)


async def test_a_cost_nobody_told_is_not_known_and_what_runs_here_is_free():
    async def silent(request: DecisionRequest) -> DecisionResult:
        given = await ScriptedClient(careful).evaluate(request)
        return DecisionResult(answers=given.answers)

    assert (await thought(thinker(FakeDecisionClient(silent)))).measured.cost is None
    assert (await thought(thinker())).measured.cost == 0.0


# ------------------------------------------------------------------------------------------ a decision model


@pytest.mark.socket
async def test_a_decision_model_decides_over_its_wire():
    async with endpoint() as server:
        settings = SystemOneSettings(profile="systemone", base_url=server.url, model="local")
        client = SystemOneClient(settings)
        result = await thought(thinker(client, max_turns=2))
        await client.close()
    assert tools(result) == ["split", "split", "finish"]
    assert result.measured.as_json()["servedModel"] == "jev-1.13.0"
    body = server.heard[0].body
    assert body["questions"]["next"]["type"] == "choice"
    assert list(body["state"]) == ["objective", "artifacts", "done"]


@pytest.mark.socket
async def test_a_server_that_dies_fails_the_run_by_name():
    async with endpoint(hang_up) as server:
        settings = SystemOneSettings(
            profile="systemone", base_url=server.url, model="local", retry=RetryPolicy(retries=0)
        )
        client = SystemOneClient(settings)
        result = await thought(thinker(client, retries=0, clock=VirtualClock()), deadline=10.0)
        await client.close()
    assert (result.failure_kind, result.transient) == ("LlmError", True)
    assert server.url.rstrip("/") in str(result.error)


async def test_two_hundred_runs_at_once_wait_for_a_client_that_answers_one_at_a_time():
    at_once, most, lock = 0, 0, asyncio.Lock()

    async def one_at_a_time(request: DecisionRequest) -> DecisionResult:
        nonlocal at_once, most
        async with lock:
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= 1
            return await ScriptedClient(careful).evaluate(request)

    made = thinker(FakeDecisionClient(one_at_a_time))
    results = await asyncio.gather(*(thought(made) for _ in range(200)))
    assert all(tools(result) == ["split", "judge", "judge", "finish"] for result in results)
    assert most == 1


# ------------------------------------------------------------------------------------------ a script


async def test_a_script_that_names_what_was_not_offered_fails_the_decision():
    result = await thought(thinker(lambda _: {"next": "burn"}))
    assert (result.failure_kind, result.transient) == ("LlmError", False)
    assert "the answer cannot be read" in str(result.error)
    given = await ScriptedClient(lambda _: {"next": "burn"}).evaluate(REQUEST)
    assert given.error == DecisionError(
        "InvalidResponse", "The script answers 'next' with what was not offered."
    )


def nothing(_: DecisionRequest) -> dict[str, str | float]:
    return {}


async def test_what_a_script_leaves_out_is_the_first_option_or_no():
    given = await ScriptedClient(lambda _: {"size": "1"}).evaluate(REQUEST)
    assert given.answers == (
        ChoiceAnswer("next", 0, 1.0, (1.0, 0.0)),
        NoulAnswer("keep", 0.1, 0.8),
        ScoreAnswer("size", 1, 1.0, 1.0, (0.0, 1.0)),
    )
    assert (await ScriptedClient(nothing).list_models())[0].name == "script"
    wrong = DecisionRequest(STATE, {"next": AskedQuestion("choice", "Which?", {})})
    refused = await ScriptedClient(nothing).evaluate(wrong)
    assert refused.error is not None
    assert refused.error.kind == "InvalidQuestions"
    await ScriptedClient(nothing).close()


async def test_moves_are_made_in_order_and_what_is_named_is_selected():
    moves = ScriptedMoves([("split", "alpha"), ("judge", '"beta can wait"')], selected=["beta"])
    result = await thought(thinker(moves))
    assert tools(result) == ["split", "judge", "finish"]
    assert [verdict.about for verdict in result.answer.iterands] == ["beta can wait"]
    missing = await thought(thinker(ScriptedMoves([("split", "gamma")])))
    assert missing.failure_kind == "LlmError"


# ------------------------------------------------------------------------------------------ counting words


async def test_the_option_with_most_words_of_the_state_is_likeliest():
    state = "The invoice of the customer is attached and was paid."
    asked = {"kind": Choice("What is it?", {"invoice": "An invoice.", "recipe": "How to cook.", "x": None})}
    (answer,) = (await HeuristicClient().evaluate(DecisionRequest(state, dict(asked)))).answers or ()
    assert isinstance(answer, ChoiceAnswer)
    assert answer.chosen_index == 0
    assert sum(answer.probabilities) == pytest.approx(1)
    assert min(answer.probabilities) > 0


async def test_of_options_without_a_word_in_common_each_is_as_likely_and_the_first_wins():
    result = await HeuristicClient().evaluate(DecisionRequest("Nothing.", dict(ASKED)))
    choice, noul, score = result.answers or ()
    assert choice == ChoiceAnswer("next", 0, 0.0, (0.5, 0.5))
    assert isinstance(noul, NoulAnswer)
    assert (noul.probability, score.key) == (0, "size")
    assert (result.usage, result.probability_source) == (TokenUsage(0, 0, 0.0), "model")


async def test_words_all_options_have_tell_nothing_and_what_was_done_counts_less():
    async def likelihood(*done: str) -> float:
        asked = Choice("Which?", {"sell": "The price is named.", "buy": "The price is paid at once."})
        state: dict[str, Any] = {"objective": "The price that is paid or named.", "done": [*done, "none"]}
        (answer,) = (await HeuristicClient().evaluate(DecisionRequest(state, {"next": asked}))).answers or ()
        assert isinstance(answer, ChoiceAnswer)
        return answer.probabilities[0]

    fresh, once, twice = (
        await likelihood(),
        await likelihood("sell on x"),
        await likelihood(*["sell on x"] * 2),
    )
    assert fresh > 0.5
    assert once / (1 - once) == pytest.approx(fresh / (1 - fresh) / 2)
    assert twice / (1 - twice) == pytest.approx(fresh / (1 - fresh) / 4)


async def test_a_yes_or_no_about_something_named_is_about_its_line():
    state: dict[str, Any] = {
        "objective": "What raises the rent?",
        "artifacts": [
            "«artifact:note~1» (note): The owner raises the rent.",
            "«artifact:note~2» (note): It rains.",
        ],
    }
    asked: dict[str, AskedQuestion] = {
        f"select_{number}": Noul(f"Does «artifact:note~{number}» belong?") for number in (1, 2)
    }
    one, two = (await HeuristicClient().evaluate(DecisionRequest(state, asked))).answers or ()
    assert isinstance(one, NoulAnswer)
    assert isinstance(two, NoulAnswer)
    assert one.value
    assert not two.value


async def test_a_run_by_counted_words_ends_by_itself():
    result = await thought(thinker(HeuristicClient(), objective="Judges of notes produced what answers."))
    assert result.success
    assert result.measured.cost == 0


# ------------------------------------------------------------------------------------------ a language model

GOOD = json.dumps({"next": "judge", "keep": True, "size": 1})
MEASURED = json.dumps({"next": {"split": 0.3, "judge": 0.7}, "keep": 0.25, "size": {"0": 1}})


async def test_what_a_language_model_declares_is_certain():
    client = FakeClient([Completion(f"```json\n{GOOD}\n```", input_tokens=90, output_tokens=9, model="m-1")])
    result = await DeclaredClient(client).evaluate(REQUEST)
    assert result.answers == (
        ChoiceAnswer("next", 1, 1.0, (0.0, 1.0)),
        NoulAnswer("keep", 1.0, 1.0),
        ScoreAnswer("size", 1, 1.0, 1.0, (0.0, 1.0)),
    )
    assert (result.probability_source, result.served_model, result.calls) == ("onehot", "m-1", 1)
    assert result.usage == TokenUsage(90, 9)
    sent = json.loads(client.requests[0].messages[1].content)
    assert (sent["state"], list(sent["questions"])) == (STATE, ["next", "keep", "size"])


async def test_numbers_a_language_model_gives_are_taken():
    result = await DeclaredClient(FakeClient([MEASURED])).evaluate(REQUEST)
    choice, noul, _ = result.answers or ()
    assert isinstance(choice, ChoiceAnswer)
    assert isinstance(noul, NoulAnswer)
    assert (choice.probabilities, noul.probability) == ((0.3, 0.7), 0.25)
    assert (result.probability_source, result.usage) == ("verbalized", None)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("I would judge.", "It is not one JSON object (json-syntax)."),
        ("", "It is not one JSON object (json-syntax)."),
        ("[]", "It is not one JSON object."),
        ('{"next": "judge", "size": 1}', "There is no answer to 'keep'."),
        ('{"next": "burn", "keep": true, "size": 1}', "The answer to 'next' does not fit the question."),
        ('{"next": {"split": 0.9}, "keep": true, "size": 1}', "The answer to 'next' does not fit"),
        ('{"next": {"burn": 1}, "keep": true, "size": 1}', "The answer to 'next' does not fit"),
        ('{"next": {"split": "x"}, "keep": true, "size": 1}', "The answer to 'next' does not fit"),
        ('{"next": 1, "keep": true, "size": 1}', "The answer to 'next' does not fit"),
        ('{"next": "judge", "keep": "yes", "size": 1}', "The answer to 'keep' does not fit"),
        ('{"next": "judge", "keep": 1.5, "size": 1}', "The answer to 'keep' does not fit"),
        ('{"next": "judge", "keep": true, "size": 2}', "The answer to 'size' does not fit"),
        ('{"next": "judge", "keep": true, "size": true}', "The answer to 'size' does not fit"),
    ],
)
async def test_a_reply_that_cannot_be_used_is_asked_for_once_more(reply, why):
    client = FakeClient([reply, GOOD])
    result = await DeclaredClient(client).evaluate(REQUEST)
    assert result.answers is not None
    assert (result.calls, result.attempts) == (2, 2)
    again = client.requests[1].messages[-1].content
    assert why in again
    failed = await DeclaredClient(FakeClient([reply, reply])).evaluate(REQUEST)
    assert failed.error is not None
    assert (failed.error.kind, failed.error.transient, failed.calls) == ("InvalidResponse", False, 2)
    assert failed.error.message.startswith(why)


async def test_a_language_model_that_refuses_or_fails_is_no_answer():
    refusing = FakeClient([Completion(None, refusal="No.")])
    assert (await DeclaredClient(refusing).evaluate(REQUEST)).error == DecisionError(
        "Refused", "The model refused to answer."
    )
    failed = (await DeclaredClient(FakeClient([unavailable(429)])).evaluate(REQUEST)).error
    assert failed is not None
    assert (failed.kind, failed.status, failed.transient) == ("RateLimited", 429, True)
    cut = LlmError("cut", kind="connection", transient=True)
    assert (await DeclaredClient(FakeClient([cut])).evaluate(REQUEST)).error.kind == "Network"  # type: ignore[union-attr]
    pictured = DecisionRequest(STATE, ASKED, images=(_image(),))
    assert (await DeclaredClient(FakeClient([])).evaluate(pictured)).error.kind == "Unsupported"  # type: ignore[union-attr]


def _image() -> Any:
    from engine.deciders.systemone.client import Image

    return Image(b"\x89PNG\r\n\x1a\n")


async def test_both_replies_of_a_language_model_are_charged_and_the_run_keeps_within_its_calls():
    def reply(**says: Any) -> str:
        return json.dumps(says)

    whole = "«artifact:note~000001»"
    client = FakeClient(["nothing", reply(next="judge", split_input=whole, judge_input=whole), GOOD, GOOD])
    run, told = started(thinker(DeclaredClient(client)), max_llm_calls=3)
    result = await run.finish()
    assert of(JobEnded, told)[0].decision.call.probability_source == "onehot"
    assert result.usage.llm_calls == 2 + 2
    assert (
        await DeclaredClient(client, "other").list_models()
        == await DeclaredClient(FakeClient([], model="other")).list_models()
    )
    await DeclaredClient(client).close()
