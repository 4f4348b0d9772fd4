import asyncio

import pytest

from engine.budget import BudgetStop
from engine.conversation import NO_USER_MESSAGE, RETRY, Prepared, SlidingConversation
from engine.deciders import Question
from engine.deciders.person import PersonDecider
from engine.deciders.scripted import ScriptedDecider
from engine.deciders.text import TextDecider
from engine.errors import CaseError, LlmError
from engine.llm import Completion, Message
from tests.engine.deciding import BAD, OK, FakeClient, FakeDesk, question

pytestmark = pytest.mark.anyio

UNREADABLE = "Classification response could not be classified."


# -- a text model


async def test_a_good_reply_decides_in_one_call():
    client, desk = FakeClient([Completion(OK, "stop", None, 12, 3, "served", "r1")]), FakeDesk()
    decision = await TextDecider(client).for_run().decide(question(desk))
    assert (decision.answer, decision.observation, decision.confidence) == ("supported", "evidence", "high")
    assert (decision.attempts, decision.llm_calls) == (1, 1)
    assert (decision.input_tokens, decision.output_tokens) == (12, 3)
    assert (decision.provider, decision.endpoint, decision.default_model) == (
        "fake",
        "http://fake/v1",
        "own-model",
    )
    assert (decision.requested_model, decision.served_model, decision.response_id) == (None, "served", "r1")
    (attempt,) = desk.attempts
    assert (attempt.number, attempt.content, attempt.rejected, attempt.model) == (1, OK, None, "served")
    assert [m.role for m in attempt.messages] == ["system", "user"]
    assert attempt.prepared_tokens > 0


async def test_a_request_names_temperature_and_allowed_answers_and_no_model():
    client = FakeClient([OK])
    await TextDecider(client).for_run().decide(question(answers=("supported", "other")))
    (request,) = client.requests
    assert (request.model, request.temperature, request.max_tokens) == (None, 0.1, None)
    assert request.answers == ("supported", "other")


async def test_a_bad_reply_is_asked_again_and_the_second_may_decide():
    client, desk = FakeClient([BAD, OK]), FakeDesk()
    decision = await TextDecider(client).for_run().decide(question(desk))
    assert (decision.answer, decision.attempts, decision.llm_calls) == ("supported", 2, 2)
    assert desk.asked_leave == [1, 2]
    assert [a.rejected for a in desk.attempts] == ["not_json", None]


async def test_the_second_attempt_puts_everything_again_after_the_instruction():
    client, desk = FakeClient([BAD, OK]), FakeDesk()
    await TextDecider(client).for_run().decide(question(desk))
    said = [(m.role, m.content) for m in desk.conversation.messages()]
    assert [role for role, _ in said] == [
        "system",
        "user",
        "assistant",
        "user",
        "system",
        "user",
        "assistant",
    ]
    assert [content for _, content in said[2:4]] == [BAD, RETRY]
    assert said[4:6] == said[:2]
    assert client.requests[1].messages == desk.conversation.messages()[:6]


async def test_in_a_hundred_tokens_the_second_attempt_is_sent_without_the_first():
    client, desk = FakeClient([BAD, OK]), FakeDesk(max_context_tokens=100)
    decision = await TextDecider(client).for_run().decide(question(desk))
    assert decision.answer == "supported"
    assert [m.role for m in client.requests[1].messages] == ["system", "system", "user"]
    assert desk.attempts[1].dropped_messages == 3


async def test_second_bad_answer_follows_unknown():
    client, desk = FakeClient([BAD, '{"answer": "maybe"}']), FakeDesk()
    decision = await TextDecider(client).for_run().decide(question(desk))
    assert (decision.answer, decision.reason) == (None, "invalid-answer")
    assert decision.error == f'{UNREADABLE} Model returned: "{{"answer": "maybe"}}"'
    assert (decision.attempts, decision.llm_calls, len(desk.attempts)) == (2, 2, 2)
    assert [a.rejected for a in desk.attempts] == ["not_json", "not_allowed"]


async def test_a_long_reply_is_quoted_in_a_hundred_and_twenty_characters():
    decision = await TextDecider(FakeClient([BAD, f" {'x' * 121} "])).for_run().decide(question())
    assert decision.error == f'{UNREADABLE} Model returned: "{"x" * 120}..."'
    decision = await TextDecider(FakeClient([BAD, f" {'x' * 120} "])).for_run().decide(question())
    assert decision.error == f'{UNREADABLE} Model returned: "{"x" * 120}"'


@pytest.mark.parametrize(
    ("reply", "code", "reason", "why"),
    [
        (Completion(None), "empty", "invalid-answer", "The reply was empty."),
        (Completion("  "), "empty", "invalid-answer", "The reply was empty."),
        (Completion(None, refusal="No."), "refused", "refused", "The model refused to answer."),
        (Completion(OK, "content_filter"), "filtered", "refused", "A content filter held the reply back."),
        (
            Completion(OK[:-5], "length"),
            "truncated",
            "invalid-answer",
            "The reply was cut off at its token limit.",
        ),
    ],
)
async def test_what_is_no_reply_is_asked_again_and_then_unknown_with_the_reason(reply, code, reason, why):
    desk = FakeDesk()
    decision = await TextDecider(FakeClient([reply, reply])).for_run().decide(question(desk))
    assert (decision.answer, decision.reason) == (None, reason)
    assert decision.error is not None
    assert decision.error.startswith(f"{UNREADABLE} {why}")
    assert [a.rejected for a in desk.attempts] == [code, code]


async def test_a_good_reply_cut_at_its_limit_is_good():
    decision = await TextDecider(FakeClient([Completion(OK, "length")])).for_run().decide(question())
    assert decision.answer == "supported"


async def test_an_explicit_unknown_is_asked_again():
    client = FakeClient(['{"answer": "unknown"}'] * 2)
    decision = await TextDecider(client).for_run().decide(question())
    assert (decision.answer, decision.llm_calls) == (None, 2)


async def test_no_leave_for_a_second_attempt_ends_the_run():
    client = FakeClient([BAD, OK])
    with pytest.raises(BudgetStop):
        await TextDecider(client).for_run().decide(question(FakeDesk(max_calls=1)))
    assert len(client.requests) == 1


@pytest.mark.parametrize("large_first", [True, False])
async def test_a_prompt_that_does_not_fit_is_not_sent(large_first):
    large, small = Message("user", "x" * 1000), Message("user", "short")
    users = (large, small) if large_first else (small, large)
    client, desk = FakeClient([OK]), FakeDesk(max_context_tokens=100)
    asked = question(desk, messages=(Message("system", "s"), *users))
    decision = await TextDecider(client).for_run().decide(asked)
    assert (decision.answer, decision.reason) == (None, "context-budget")
    assert "(100)" in (decision.error or "")
    assert "required user input was omitted" in (decision.error or "")
    assert (decision.llm_calls, decision.attempts, client.requests, desk.attempts) == (0, 0, [], [])


async def test_a_message_of_the_same_words_does_not_stand_for_the_one_left_out():
    class Stale(SlidingConversation):
        def prepare(self, max_tokens: int) -> Prepared:
            return Prepared(self.messages()[:1], 1, 1)

    client, desk = FakeClient([OK]), FakeDesk()
    desk.conversation = Stale()
    desk.conversation.add(Message("user", "same"))
    decision = await TextDecider(client).for_run().decide(question(desk, messages=(Message("user", "same"),)))
    assert decision.reason == "context-budget"
    assert client.requests == []


async def test_without_a_user_message_nothing_is_asked():
    client = FakeClient([OK])
    decision = await TextDecider(client).for_run().decide(question(messages=(Message("system", "s"),)))
    assert (decision.answer, decision.reason, decision.error) == (None, "no-message", NO_USER_MESSAGE)
    assert (decision.llm_calls, client.requests) == (0, [])


async def test_a_second_attempt_that_no_longer_fits_has_cost_one_call():
    prompts = iter([(Message("user", "short"),), (Message("user", "x" * 1000),)])
    desk = FakeDesk(max_context_tokens=100)
    asked = question(desk)
    asked = Question(
        **{name: getattr(asked, name) for name in asked.__slots__} | {"prompt": lambda: next(prompts)}
    )
    decision = await TextDecider(FakeClient([BAD, OK])).for_run().decide(asked)
    assert (decision.reason, decision.llm_calls, decision.attempts) == ("context-budget", 1, 1)


async def test_tokens_of_both_attempts_are_summed_as_far_as_they_were_reported():
    client = FakeClient([Completion(BAD, input_tokens=10), Completion(OK, input_tokens=20)])
    decision = await TextDecider(client).for_run().decide(question())
    assert (decision.input_tokens, decision.output_tokens) == (30, None)


async def test_a_failure_of_the_client_ends_the_run_as_one_of_a_model():
    with pytest.raises(LlmError, match="it broke") as caught:
        await TextDecider(FakeClient([RuntimeError("it broke")])).for_run().decide(question())
    assert (caught.value.kind, caught.value.transient) == ("request", False)
    assert isinstance(caught.value.__cause__, RuntimeError)


async def test_a_failed_call_is_not_counted():
    desk = FakeDesk()
    with pytest.raises(LlmError):
        await TextDecider(FakeClient([TimeoutError()])).for_run().decide(question(desk))
    assert desk.attempts == []


async def test_a_client_that_returns_nothing_is_at_fault():
    client = FakeClient([None])  # type: ignore[list-item]
    with pytest.raises(LlmError, match="returned no completion"):
        await TextDecider(client).for_run().decide(question())


async def test_eight_runs_at_once_keep_apart():
    desks = [FakeDesk() for _ in range(8)]
    decider = TextDecider(FakeClient([OK] * 8))
    decisions = await asyncio.gather(*(decider.for_run().decide(question(desk)) for desk in desks))
    assert {d.answer for d in decisions} == {"supported"}
    assert [len(desk.conversation.messages()) for desk in desks] == [3] * 8


# -- a script


async def test_a_pinned_answer_counts_one_call_and_builds_no_prompt():
    desk = FakeDesk()
    decision = await ScriptedDecider({"classify": "supported"}).for_run().decide(question(desk))
    assert (decision.answer, decision.llm_calls, decision.provider) == ("supported", 1, "scripted")
    assert desk.asked_leave == [1]
    assert [(a.calls, list(a.messages), a.rejected) for a in desk.attempts] == [(1, [], None)]
    assert list(desk.conversation.messages()) == []


async def test_a_pinned_unknown_counts_two_calls_and_needs_leave_for_both():
    desk = FakeDesk()
    decision = await ScriptedDecider({"classify": "unknown"}).for_run().decide(question(desk))
    assert (decision.answer, decision.reason, decision.llm_calls) == (None, "chosen", 2)
    assert decision.error
    assert desk.asked_leave == [1, 2]
    with pytest.raises(BudgetStop):
        await ScriptedDecider({"classify": "unknown"}).decide(question(FakeDesk(max_calls=1)))


async def test_one_pinned_answer_serves_all_visits_and_a_list_one_each():
    decider = ScriptedDecider({"a": "yes", "b": ["yes", "no"]}).for_run()
    answers = ("yes", "no")
    decided = [
        (await decider.decide(question(node=node, visit=visit, answers=answers))).answer
        for node, visit in [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    ]
    assert decided == ["yes", "yes", "yes", "no"]
    with pytest.raises(CaseError, match=r"'b'.* visit 3"):
        await decider.decide(question(node="b", visit=3, answers=answers))


async def test_a_pinned_answer_must_be_one_the_node_declares():
    with pytest.raises(CaseError, match=r"'classify'.*'maybe'.*yes, no, unknown"):
        await ScriptedDecider({"classify": "maybe"}).decide(question(answers=("yes", "no")))


async def test_pinned_replies_go_through_prompt_parser_and_re_ask():
    desk = FakeDesk()
    decider = ScriptedDecider(replies={"classify": [BAD, OK, BAD, BAD]}).for_run()
    first = await decider.decide(question(desk))
    second = await decider.decide(question(desk, visit=2))
    assert (first.answer, first.llm_calls, first.provider) == ("supported", 2, "scripted")
    assert (second.answer, second.reason) == (None, "invalid-answer")
    assert [m.role for m in desk.attempts[0].messages] == ["system", "user"]
    with pytest.raises(CaseError, match=r"'classify'.* visit 3"):
        await decider.decide(question(desk, visit=3))


async def test_each_run_reads_the_script_from_its_beginning():
    decider = ScriptedDecider(replies={"classify": [OK]})
    for _ in range(2):
        assert (await decider.for_run().decide(question())).answer == "supported"


async def test_answers_and_replies_for_one_node_are_refused():
    with pytest.raises(CaseError, match="'classify'"):
        ScriptedDecider({"classify": "supported"}, {"classify": [OK]})


async def test_what_is_not_pinned_goes_to_somebody_else():
    client = FakeClient([OK])
    decider = ScriptedDecider({"other": "yes"}, otherwise=TextDecider(client)).for_run()
    assert (await decider.decide(question())).provider == "fake"


async def test_what_is_not_pinned_is_an_error_when_nobody_else_decides():
    with pytest.raises(CaseError, match="'classify'"):
        await ScriptedDecider({"other": "yes"}).for_run().decide(question())


async def test_a_fresh_script_takes_a_fresh_other_decider():
    client = FakeClient([LlmError("HTTP 503", kind="status", transient=True, status=503), OK, OK])
    decider = ScriptedDecider(otherwise=TextDecider(client, "primary", ["fallback"]))
    for _ in range(2):
        await decider.for_run().decide(question())
    assert client.models == ["primary", "fallback", "primary"]


# -- a person


@pytest.mark.parametrize(
    ("said", "answer", "reason"),
    [("Supported ", "supported", None), (None, None, "chosen"), ("hm", None, "chosen")],
)
async def test_a_person_decides_for_one_call(said, answer, reason):
    async def ask(asked: Question) -> str | None:
        assert asked.text == "Is it supported?"
        return said  # type: ignore[no-any-return]

    desk = FakeDesk()
    decision = await PersonDecider(ask).for_run().decide(question(desk))
    assert (decision.answer, decision.reason, decision.llm_calls) == (answer, reason, 1)
    assert decision.provider == "person"
    assert bool(decision.error) is (answer is None)
    assert [a.calls for a in desk.attempts] == [1]
