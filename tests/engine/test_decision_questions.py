"""Questions for decision models: what can be asked, what is wrong with it, and classes of them (facts Q)."""

from enum import Enum, IntEnum
from typing import Any

import pytest

from engine import (
    Choice,
    ConfidenceTiers,
    DecisionError,
    DecisionFailed,
    DecisionRequest,
    DecisionResult,
    Image,
    Noul,
    QuestionLimits,
    QuestionSet,
    Score,
    check_questions,
)
from engine.deciders.asked import choice_confidence, score_confidence
from engine.records import AskedQuestion, ChoiceAnswer, NoulAnswer, ScoreAnswer
from tests.engine.systemone import FakeDecisionClient


class SupportLane(Enum):
    Billing = "Payments, invoices and refunds"
    Technical = "Bugs, outages and integrations"


class SupportTriage(QuestionSet):
    IsUrgent = Noul("Does this convey urgency?")
    queue = Choice("Which queue should handle this?", SupportLane)


class Mood(IntEnum):
    VERY_UPSET = 2
    CALM = 0
    ANNOYED = 1


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def codes(question: AskedQuestion, **how: Any) -> list[tuple[str, str]]:
    return [(problem.code, problem.severity) for problem in check_questions({"q": question}, **how)]


def of_options(count: int) -> Choice[str]:
    return Choice("Which?", {f"option-{number}": "described" for number in range(count)})


def of_levels(count: int) -> Score[int]:
    return Score("How much?", [f"level {number}" for number in range(count)])


# -- rules ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "found"), [(1, True), (2, False), (255, False), (256, True)])
def test_more_options_than_advised_are_a_warning(count, found):
    assert codes(of_options(count)) == [("MIN005", "warning")] * found


@pytest.mark.parametrize(("count", "found"), [(1, True), (2, False), (10, False), (11, True)])
def test_more_or_fewer_levels_than_advised_are_a_warning(count, found):
    assert codes(of_levels(count)) == [("MIN005", "warning")] * found


def test_a_choice_needs_options_and_a_score_levels():
    assert codes(Choice("Which?", [])) == [("MIN001", "error")]
    assert codes(Score("How much?", [])) == [("MIN002", "error")]


def test_an_option_named_twice_is_refused_once():
    with pytest.raises(ValueError, match="MIN106: An option is named more than once"):
        Choice("Which?", ["same"] * 5)


def test_two_questions_of_one_key_are_refused():
    with pytest.raises(ValueError, match="MIN106: Two questions have the same key"):
        type("Twice", (QuestionSet,), {"IsUrgent": Noul("Is it?"), "is_urgent": Noul("Is it?")})


def test_an_empty_key_is_an_error():
    assert [p.code for p in check_questions({"": Noul("Is it?")})] == ["MIN106"]
    assert ("MIN106", "error") in codes(Choice("Which?", {"": "nothing", "a": "something"}))


def test_a_key_that_is_no_text_is_a_fault_of_the_program():
    with pytest.raises(TypeError):
        DecisionRequest("text", {None: Noul("Is it?")})  # type: ignore[dict-item]


@pytest.mark.parametrize("wrong", [3, True, 1.5])
def test_a_question_that_cannot_be_made_is_in_no_set(wrong):
    questions: dict[str, AskedQuestion] = {"first": Noul("Is it?")}
    with pytest.raises(ValueError, match="text, an object or a list"):
        questions["second"] = Noul(wrong)
    assert list(questions) == ["first"]


def test_a_request_keeps_the_questions_as_they_were():
    inner: dict[str, Any] = {"task": "Is it?"}
    questions: dict[str, AskedQuestion] = {"q": Noul(inner)}
    request = DecisionRequest("text", questions)
    questions["more"] = Noul("And this?")
    inner["task"] = "something else"
    assert dict(request.questions) == {"q": AskedQuestion("noul", {"task": "Is it?"})}


def test_a_set_that_was_made_takes_no_more_questions():
    with pytest.raises(TypeError):
        SupportTriage.questions["more"] = Noul("And this?")  # type: ignore[index]


@pytest.mark.parametrize("blank", ["   ", {}, []])
def test_blank_instructions_are_a_warning(blank):
    assert codes(Noul(blank)) == [("MIN003", "warning")]


def test_a_noul_without_any_words_asks_nothing():
    assert codes(Noul()) == [("MIN003", "error")]
    assert codes(Noul(yes="A photo is mentioned")) == []


@pytest.mark.parametrize(("depth", "found"), [(60, []), (61, [("MIN108", "error")])])
def test_instructions_nest_at_most_so_deep(depth, found):
    assert codes(Noul(nested(depth))) == found


def test_an_option_without_a_description_is_worth_a_word():
    assert codes(Choice("Which?", {"a": "described", "b": None})) == [("MIN006", "info")]


def test_a_name_in_back_ticks_is_a_member_of_the_state():
    asked = Noul("Does `text` mention `photo.size` or `other[0]`?")
    assert codes(asked, state={"text": "", "other": []}) == [("MIN004", "warning")]
    assert codes(asked, state="plain text") == []


def test_what_a_provider_does_not_take_is_an_error():
    limits = QuestionLimits(options=(2, 3), levels=(2, 3), needs_instructions=True, needs_both_sides=True)
    assert ("MIN005", "error") in codes(of_options(4), limits=limits)
    assert ("MIN005", "error") in codes(of_levels(4), limits=limits)
    assert ("MIN003", "error") in codes(Noul(yes="Yes means yes"), limits=limits)
    assert codes(Noul("Is it?", yes="yes", no="no"), limits=limits) == []
    many = {str(number): Noul("Is it?") for number in range(3)}
    (problem,) = check_questions(many, limits=QuestionLimits(questions=(1, 2)))
    assert (problem.code, problem.message) == ("MIN005", "3 questions are asked; 1 to 2 are right.")


# -- confidence ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "tier"),
    [
        (0.49, "low"),
        (0.5, "medium"),
        (0.89, "medium"),
        (0.9, "high"),
        (float("nan"), "low"),
        (float("-inf"), "low"),
        (float("inf"), "high"),
    ],
)
def test_a_border_belongs_to_the_tier_above_it(confidence, tier):
    assert ConfidenceTiers().of(confidence) == tier


def test_equal_borders_leave_no_middle():
    tiers = ConfidenceTiers(0.7, 0.7)
    assert [tiers.of(confidence) for confidence in (0.69, 0.7)] == ["low", "high"]


@pytest.mark.parametrize(
    ("medium", "high", "named"),
    [(float("nan"), 0.9, "medium"), (-0.1, 2, "medium"), (0.5, 1.1, "high"), (0.9, 0.5, "medium")],
)
def test_borders_that_make_no_sense_are_refused(medium, high, named):
    with pytest.raises(ValueError, match=f"'{named}'"):
        ConfidenceTiers(medium, high)


@pytest.mark.parametrize(
    ("probabilities", "served"),
    [((0.10, 0.14, 0.75, 0.01), 0.66), ((0.66, 0.34, 0.0, 0.0), 0.66), ((1.0,), 1), ((0.0, 0.0), 0)],
)
def test_the_confidence_of_a_score_is_how_closely_the_levels_gather(probabilities, served):
    assert score_confidence(probabilities) == pytest.approx(served, abs=0.011)


@pytest.mark.parametrize(
    ("probabilities", "served"),
    [((0.99, 0.0, 0.01, 0.0), 0.987), ((0.9, 0.1), 0.8), ((0.5, 0.5), 0), ((1.0,), 1), ((0.45, 0.05), 0.8)],
)
def test_the_confidence_of_a_choice_is_how_far_it_stands_above_chance(probabilities, served):
    assert choice_confidence(probabilities) == pytest.approx(served, abs=0.001)


# -- classes of questions ------------------------------------------------------------------------------


def test_the_class_of_the_example_asks_the_questions_of_the_sample_line():
    assert {key: question.as_json() for key, question in SupportTriage.questions.items()} == {
        "is_urgent": {"type": "noul", "instructions": "Does this convey urgency?"},
        "queue": {
            "type": "choice",
            "instructions": "Which queue should handle this?",
            "criteria": {
                "billing": "Payments, invoices and refunds",
                "technical": "Bugs, outages and integrations",
            },
        },
    }


@pytest.mark.anyio
async def test_the_answers_of_a_class_are_of_the_types_it_asks_for():
    answers = (NoulAnswer("is_urgent", 0.9, 0.8), ChoiceAnswer("queue", 1, 0.8, (0.2, 0.8)))
    client = FakeDecisionClient(DecisionResult(answers=answers))
    triage = await SupportTriage.evaluate(client, "The app crashes when I pay.", model="jev-1.14")
    assert (triage.IsUrgent.value, triage.IsUrgent.probability) == (True, 0.9)
    assert triage.queue.value is SupportLane.Technical
    assert triage.queue.confidence == 0.8
    assert triage.queue.probabilities == {SupportLane.Billing: 0.2, SupportLane.Technical: 0.8}
    (request,) = client.requests
    assert (request.state, request.model) == ("The app crashes when I pay.", "jev-1.14")


@pytest.mark.anyio
async def test_a_class_without_answers_says_why():
    error = DecisionError("RateLimited", "canary of the provider", 429, transient=True, retry_after=2)
    client = FakeDecisionClient(DecisionResult(error=error))
    with pytest.raises(DecisionFailed) as raised:
        await SupportTriage.evaluate(client, "canary in the state")
    assert str(raised.value) == "https://decisions.example/: too many requests (HTTP 429)."
    assert raised.value.error is error
    assert (raised.value.kind, raised.value.status, raised.value.retry_after) == ("status", 429, 2)


def test_a_subclass_asks_more_and_may_ask_otherwise():
    class More(SupportTriage):
        IsUrgent = Noul("Must this be done today?")
        mood = Score("How upset is the writer?", Mood)

    assert list(More.questions) == ["is_urgent", "queue", "mood"]
    assert More.questions["is_urgent"].instructions == "Must this be done today?"
    more = More([ScoreAnswer("mood", 2, 1.7, 0.9, (0.1, 0.1, 0.8))])
    assert (more.mood.value, more.mood.answer.expected) == (Mood.VERY_UPSET, 1.7)
    assert More.mood is More.questions["mood"]


def test_the_levels_of_an_enumeration_are_in_the_order_of_their_numbers():
    mood = Score("How upset is the writer?", Mood)
    assert mood.criteria == ["calm", "annoyed", "very upset"]
    assert mood.choices == (Mood.CALM, Mood.ANNOYED, Mood.VERY_UPSET)


def test_texts_as_values_describe_the_levels_in_the_order_they_are_written():
    class Heat(Enum):
        COLD = "no heat at all"
        HOT = "do not touch"

    assert Score("How hot?", Heat).criteria == ["no heat at all", "do not touch"]


def test_an_enumeration_that_leaves_a_level_out_is_refused():
    class Gap(IntEnum):
        LOW = 0
        HIGH = 2

    with pytest.raises(ValueError, match="MIN104"):
        Score("How much?", Gap)


def test_options_of_an_enumeration_without_texts_have_no_descriptions():
    class Door(Enum):
        MainEntrance = 1
        HTTPGate = 2

    assert Choice("Which door?", Door).criteria == {"main_entrance": None, "http_gate": None}


def test_a_score_is_also_a_share_of_its_highest_level():
    assert ScoreAnswer("q", 1, 1.5, 0.5, (0.2, 0.5, 0.2, 0.1)).normalised == 0.5
    assert ScoreAnswer("q", 0, 0, 1, (1.0,)).normalised == 0


@pytest.mark.parametrize(("probability", "value"), [(0.49, False), (0.5, True)])
def test_one_half_is_a_yes(probability, value):
    assert NoulAnswer("q", probability, 0).value is value


def test_nothing_that_is_asked_or_answered_shows_in_a_text_of_it():
    asked = DecisionRequest("canary", {"q": Noul("canary")}, images=(Image(b"\xff\xd8\xffcanary"),))
    result = DecisionResult(error=DecisionError("Http", "canary"), answers=None)
    for shown in (asked, result, SupportTriage([NoulAnswer("is_urgent", 0.9, 0.8)])):
        assert "canary" not in repr(shown)
        assert "0.9" not in repr(shown)


def test_an_image_is_known_by_its_first_bytes():
    image = Image(b"\x89PNG\r\n\x1a\nrest")
    assert (image.format, len(image.sha256)) == ("png", 64)
    assert image.placeholder == f"<image:{image.sha256[:32]}>"
    with pytest.raises(ValueError, match="PNG or JPEG"):
        Image(b"GIF89a")
