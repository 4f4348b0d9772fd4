"""Rows P of the runtime's conformance cases, and replies as they are seen in the wild."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.deciders.parser import Parsed, Rejected, matching, parse, unfenced

SHAPES = json.loads((Path(__file__).parents[1] / "data/llm-answer-shapes/shapes.json").read_text("utf-8"))
ALLOWED = ("yes", "no", "unknown")
YES = '{"answer": "yes", "observation": "found", "confidence": "high"}'
FULL = Parsed("yes", "found", "high")


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["id"] for shape in SHAPES])
def test_a_shape_seen_in_the_wild_is_read_strictly(shape):
    read = parse(shape["raw"], shape["allowed"])
    found = {"accept": read.answer} if isinstance(read, Parsed) else {"reject": read.code}
    assert found == shape["strict"]


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        pytest.param(YES, FULL, id="P1"),
        pytest.param(f"\n  ```json\n{YES}\n```  \n", FULL, id="P2"),
        pytest.param('```\n{"answer": "no"}\n```', Parsed("no", None, None), id="P3"),
        pytest.param(f" \t\n{YES}\n ", FULL, id="P4"),
        pytest.param(f"```json\n{YES}\n", Rejected("leading_text"), id="P5"),
        pytest.param(f"```json\n{YES}\n```\nDone.", Rejected("trailing_text"), id="P6"),
        pytest.param(f"```json {YES}\n```", Rejected("trailing_text"), id="P7"),
        pytest.param('```\n{"answer": "maybe"}\n```', Rejected("not_allowed"), id="P8 fenced"),
        pytest.param('{"answer": "maybe"}', Rejected("not_allowed"), id="P8 plain"),
        pytest.param("[]", Rejected("root_not_object"), id="P9 array"),
        pytest.param('{"answer": 123}', Rejected("answer_not_string"), id="P9 number"),
        pytest.param(None, Rejected("empty"), id="P10 null"),
        pytest.param("not-json", Rejected("not_json"), id="P10 text"),
        pytest.param('{"answer": "YES"}', Parsed("yes", None, None), id="P11"),
        pytest.param(f"```json\n{YES}```", Rejected("trailing_text"), id="P12"),
        pytest.param(f"````json\n{YES}\n````", FULL, id="P13 four"),
        pytest.param(f"````json\n{YES}\n```", Rejected("trailing_text"), id="P13 three"),
        pytest.param(f"```json\r\n{YES}\r\n```\r\n", FULL, id="P14"),
        pytest.param(f"Here it is: {YES}", Rejected("leading_text"), id="P15"),
        pytest.param('{"Answer": "yes"}', Rejected("answer_missing"), id="P16"),
        pytest.param('{"answer": "yes", "confidence": 0.9}', Parsed("yes", None, None), id="P17"),
        pytest.param('{"answer": " yes "}', Parsed("yes", None, None), id="P18"),
        pytest.param("```\n\n```", Rejected("empty"), id="empty fence"),
        pytest.param(f"~~~\n{YES}\n~~~", Rejected("leading_text"), id="tilde fence"),
        pytest.param(f"```json\n{YES}\n`````", FULL, id="longer closing fence"),
        pytest.param("```json\nnothing\n```", Rejected("not_json"), id="fenced prose"),
        pytest.param(f"\ufeff{YES}", Rejected("leading_text"), id="byte order mark"),
        pytest.param('"{\\"answer\\": \\"yes\\"}"', Rejected("root_not_object"), id="JSON in a text"),
        pytest.param('{"answer": "yes", "n": ' + "9" * 5000 + "}", Rejected("not_json"), id="digit bomb"),
        pytest.param('{"answer": True}', Rejected("not_json"), id="Python word"),
        pytest.param('{"answer": "  "}', Rejected("not_allowed"), id="blank answer"),
        pytest.param("half \ud800 pair", Rejected("not_json"), id="half a pair"),
        pytest.param(f"{YES}{YES}", Rejected("two_values"), id="two objects"),
        pytest.param("   ", Rejected("empty"), id="blank"),
    ],
)
def test_a_reply_is_one_object_alone_or_in_one_fence(raw, read):
    assert parse(raw, ALLOWED) == read


def test_p19_unknown_is_no_answer_unless_declared():
    assert parse('{"answer": "unknown"}', ("yes", "no")) == Rejected("not_allowed")


def test_no_allowed_answers_means_no_answer():
    assert parse(YES, ()) == Rejected("not_allowed")


@pytest.mark.parametrize(
    ("said", "declared", "matches"),
    [
        ("ÉTÉ", "été", True),
        ("strasse", "straße", False),
        ("STRASSE", "straße", False),
        ("\N{LATIN SMALL LETTER LONG S}o", "so", False),
        ("\N{LATIN SMALL LETTER DOTLESS I}f", "if", False),
        ("\N{LATIN SMALL LIGATURE FI}t", "fit", False),
        ("ΟΔΟΣ", "οδος", True),
        ("yes\N{NO-BREAK SPACE}", "yes", True),
    ],
)
def test_case_is_compared_one_character_for_one(said, declared, matches):
    assert (matching(said, [declared]) == declared) is matches


def test_the_answer_is_given_as_it_was_declared_and_the_first_of_equals_counts():
    assert matching("YES", ["Yes", "yes"]) == "Yes"
    assert matching("yes", [" Yes "]) == " Yes "


@given(st.text(alphabet='{}[]":,`\n answeryo01\\u', max_size=40))
def test_whatever_is_said_the_result_is_a_declared_answer_or_a_named_reject(raw):
    for text in (raw, f'{{"answer": "{raw}"}}', f"```{raw}\n{YES}\n```", f"{YES[:-1]}{raw}"):
        read = parse(text, ("yes", "no"))
        assert isinstance(read, Rejected) or read.answer in ("yes", "no")


@pytest.mark.parametrize(
    ("reply", "inside"),
    [
        ("```json\n{}\n```", "{}"),
        (" ````\n```\n{}\n```\n````\n", "```\n{}\n```"),
        ("```\n{}\n``", "```\n{}\n``"),
        ("```\n{}\n``` and more", "```\n{}\n``` and more"),
        (" {} ", " {} "),
    ],
)
def test_only_a_fence_around_all_of_a_reply_is_taken_away(reply, inside):
    assert unfenced(reply) == inside
