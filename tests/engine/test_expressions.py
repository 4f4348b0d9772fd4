"""Expressions: what they say, where they are refused and why, and that nothing in them can do harm."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import DataItem, Expression, ExpressionError, Trail, Undefined
from engine.evaluate import names_of
from engine.expressions import LARGEST, MAX_DEPTH, MAX_LENGTH
from tests.builders import json_values

NAMES: dict[str, object] = {
    "node": "route",
    "visit": 2,
    "answer": "refund",
    "branch": None,
    "amount": "120",
    "urgent": "false",
    "paid": True,
    "weights": [1, 2.5, None, [3]],
    "order": {"total": 12, "lines": ["a", "b"]},
    "properties": {"order-id": "A7", "amount": "120", "visit": "hidden"},
    "data": {"evidence-1": "The invoice is attached."},
    "odd": object(),
    "endless": float("inf"),
}


def value_of(text: str) -> object:
    return Expression.parse(text).evaluate(NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "visit == 2",
        "visit != 3 and not visit > 2",
        "1 < visit <= 2 < 3",
        "answer == 'refund'",
        "answer in ['refund', \"exchange\"]",
        "answer not in ('delivery',)",
        '"invoice" in data["evidence-1"]',
        'properties["order-id"] == "A7"',
        '"order-id" in properties and "mood" not in properties',
        'order["total"] % 5 == 2 and order["lines"][1] == "b" and order["lines"][-2] == "a"',
        "branch is None and branch == null and answer is not None",
        "paid and paid == true and paid is True",
        "-visit + 2 * 3 == 4 and 7 // visit == 3 and 7 / visit == 3.5 and +visit ** 3 == 8",
        "2 ** -1 == 0.5",
        "2.5 in weights and null in weights and 9 not in weights",
        "  visit==2",
    ],
)
def test_what_holds(text):
    assert value_of(text) is True
    assert Expression.parse(text).holds(NAMES) is True


@pytest.mark.parametrize(
    "text",
    [
        "amount > 100",
        "100 < amount < '1e3'",
        "amount == 120.0 and 120 == amount",
        "amount * 2 == 240",
        "urgent == false and not urgent",
        "answer > 'm'",
    ],
)
def test_a_text_meets_a_number_or_a_truth_value_as_what_it_says(text):
    assert value_of(text) is True


@pytest.mark.parametrize("text", ["answer == 5", "paid == 1", "null == 0", "'' == null", "'01' == '1'"])
def test_different_things_are_not_equal(text):
    assert value_of(text) is False


@pytest.mark.parametrize(
    ("text", "value"),
    [("visit * 1.5", 3.0), ("answer", "refund"), ("[visit, 'x']", [2, "x"]), ("null", None)],
)
def test_an_expression_may_come_to_any_value(text, value):
    assert value_of(text) == value


@pytest.mark.parametrize("text", ["0", "''", "'False'", "null", "false", "[]", "urgent", "0.0"])
def test_what_counts_as_false(text):
    assert Expression.parse(text).holds(NAMES) is False


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("  mood == 'good'", "There is no 'mood' here.", 3),
        ("visit == 2 and mood", "There is no 'mood' here.", 16),
        ("'ö' == answer or mood", "There is no 'mood' here.", 18),
        ('properties["mood"]', "There is no 'mood' in it.", 12),
        ("weights[9]", "It has 4 items, and none at 9.", 9),
        ("weights['a']", "A text cannot be looked up in a list.", 9),
        ("answer[0]", "A number cannot be looked up in a text.", 8),
        ("weights[true]", "A truth value cannot be looked up in a list.", 9),
        ("answer < 5", "A text and a number have no order.", 1),
        ("paid < true", "A truth value and a truth value have no order.", 1),
        ("weights == 1", "A list cannot be compared; look something up in it.", 1),
        ("1 < 2 < order", "A number and an object have no order.", 5),
        ("5 in answer", "A number cannot be in a text.", 1),
        ("answer in visit", "A text cannot be in a number.", 1),
        ("answer + 1", "A text is no number.", 1),
        ("1 + paid", "A truth value is no number.", 5),
        ("1 / (visit - 2)", "Nothing can be divided by zero.", 6),
        ("0 ** -1", "Nothing can be divided by zero.", 6),
        ("(-8) ** 0.5", "This is no number.", 1),
        ("2 ** 400", "The number is too large.", 1),
        ("10.0 ** 90 ** 2", "The number is too large.", 1),
        ("1e90 * 1e90 * 0", "The number is too large.", 1),
        ("endless > 1 and endless + 1", "The number is too large.", 17),
        ("odd == 1", "A value of kind 'object' cannot be used.", 1),
    ],
)
def test_what_comes_to_nothing_says_why_and_where(text, reason, column):
    expression = Expression.parse(text)
    found = expression.evaluate(NAMES)
    assert isinstance(found, Undefined)
    assert (found.reason, found.column) == (reason, column)
    assert not found
    assert expression.holds(NAMES) == found


def test_what_is_not_needed_may_be_missing():
    assert value_of("visit == 2 or mood") is True
    assert value_of("visit == 3 and mood") is False
    assert value_of("1 > 2 > mood") is False


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("", "There is no expression here.", 1),
        (" \t", "There is no expression here.", 1),
        ("visit ==", "Something is missing at the end.", 9),
        ("(visit", "This bracket has no closing one.", 1),
        ("'abc", "This text has no closing quotation mark.", 1),
        (r"'\d'", "A backslash in a text is written twice.", 1),
        ("visit = 2", "Two values are compared with ==.", 7),
        ("  visit = 2", "Two values are compared with ==.", 9),
        ("a && b", "Write 'and' between two conditions.", 4),
        ("a || b", "Write 'or' between two conditions.", 4),
        ("!a", "Write 'not' before a condition.", 1),
        ("a & b", "Write 'and' between two conditions.", 1),
        ("a | b", "Write 'or' between two conditions.", 1),
        ("a < ~b", "Write 'not' before a condition.", 5),
        ("a b", "This cannot be read.", 3),
        ("1if a else b", "This cannot be read.", 1),
        ("a\nb", "An expression is a single line.", 2),
        ("a\0", "An expression is a single line.", 2),
        ("\ud800", "This cannot be read.", 1),
        ("x = 1 if", "Two values are compared with ==.", 3),
        ("'ö' == len(a)", "Functions cannot be called.", 8),
        ("node.title", 'A dot leads nowhere; write properties["name"] to look something up.', 1),
        ("().__class__", 'A dot leads nowhere; write properties["name"] to look something up.', 1),
        ("f'{a}'", "A text cannot be put together.", 1),
        ("a[1:2]", "One item is looked up at a time.", 3),
        ("b'a'", "This is no text, number or truth value.", 1),
        ("1j", "This is no text, number or truth value.", 1),
        ("...", "This is no text, number or truth value.", 1),
        ("1e999", "The number is too large.", 1),
        ("9" * 200, "The number is too large.", 1),
        ("a" * 2000, "An expression has at most 1000 characters.", 1001),
        ("+".join("a" * 60), "The expression is nested too deeply.", 1),
    ],
)
def test_what_is_no_expression_is_refused_with_the_place_and_a_reason(text, reason, column):
    with pytest.raises(ExpressionError) as refused:
        Expression.parse(text)
    assert (refused.value.reason, refused.value.column) == (reason, column)
    assert str(refused.value) == f"Column {column}: {reason}"


@pytest.mark.parametrize(
    "text",
    [
        "lambda: 1",
        "(a := 1)",
        "[x for x in a]",
        "{x for x in a}",
        "{'a': 1}",
        "{1, 2}",
        "a if b else c",
        "(yield)",
        "await a",
        "[*a]",
        "a @ b",
        "a << 9",
        "__import__('os')",
        "getattr(a, 'b')",
        "'{0.__class__}'.format(a)",
        "a['b'].c",
        "import os",
        "a; b",
    ],
)
def test_nothing_else_of_python_is_let_in(text):
    with pytest.raises(ExpressionError):
        Expression.parse(text)


class Trap:
    """An object that notices whatever is asked of it."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(name)

    __eq__ = __hash__ = __bool__ = __len__ = __contains__ = __getitem__ = __iter__ = __str__ = None  # type: ignore[assignment]
    __lt__ = __add__ = __radd__ = __neg__ = None


@pytest.mark.parametrize(
    "text",
    ["trap", "trap == 1", "1 == trap", "trap[0]", "1 in trap", "trap in names", "-trap", "not trap",
     "trap and 1", "trap < 1", "1 + trap", "names[trap]", "names[0]", "names[0] == 1"],
)  # fmt: skip
def test_a_foreign_object_is_never_touched(text):
    found = Expression.parse(text).evaluate({"trap": Trap(), "names": [Trap()]})
    assert isinstance(found, Undefined)
    assert "Trap" in found.reason


def test_a_foreign_object_among_others_is_passed_over():
    assert Expression.parse("2 in names").evaluate({"names": [Trap(), 2]}) is True


def test_a_list_that_holds_itself_does_no_harm():
    endless: list[object] = []
    endless.append(endless)
    assert Expression.parse("1 in a").evaluate({"a": endless}) is False
    assert isinstance(Expression.parse("a[0][0] == a").evaluate({"a": endless}), Undefined)


def test_an_expression_is_what_it_says():
    assert Expression.parse("a == 1") == Expression.parse("a == 1") != Expression.parse("a == 2")
    assert Expression.parse("a == 1").text == "a == 1"


# ------------------------------------------------------------------------------------------ any text

WORDS = "a b visit answer weights order properties data odd endless missing true null __class__ __import__"
SIGNS = (
    "and or not in is if else for lambda == != < <= > >= = := + - * / // % ** & | ~ ^ @ . , : ; ( ) [ ] { }"
)
REST = "' \" 0 1 2 9 99999999999 1.5 1e99 1e-99 'x' '12' 'true' ö \\ \0 \n f' b'"
tokens = st.sampled_from([*WORDS.split(), *SIGNS.split(), *REST.split(" "), "9" * 300])
hostile = st.lists(tokens, max_size=40).map(" ".join) | st.text(max_size=60)


def read(text: str) -> Expression | ExpressionError:
    try:
        return Expression.parse(text)
    except ExpressionError as refused:
        return refused


@settings(max_examples=400, deadline=None)
@given(hostile)
def test_any_text_is_refused_with_a_reason_or_comes_to_a_value_with_bounds(text):
    expression = read(text)
    if isinstance(expression, ExpressionError):
        assert 1 <= expression.column <= max(len(text), MAX_LENGTH) + 1
        assert expression.reason.endswith(".")
        return
    found = expression.evaluate(NAMES)
    if isinstance(found, Undefined):
        assert 1 <= found.column <= len(text)
    elif isinstance(found, int | float) and found is not NAMES["endless"]:
        assert abs(found) <= LARGEST


OPERANDS = "1 0 2.5 1e99 visit amount answer 'x' weights null"
OPERATORS = "+ - * / // % ** == != < <= > >= in and or"
sums = st.recursive(
    st.sampled_from(OPERANDS.split()),
    lambda inner: st.tuples(inner, st.sampled_from(OPERATORS.split()), inner).map(
        lambda parts: f"({' '.join(parts)})"
    ),
    max_leaves=30,
).filter(lambda text: len(text) < MAX_LENGTH - 100)


@settings(max_examples=400, deadline=None)
@given(sums)
def test_anything_well_formed_comes_to_a_bounded_value_or_says_why_not(text):
    found = Expression.parse(text).evaluate(NAMES)
    bounded = isinstance(found, int | float) and abs(found) <= LARGEST
    assert bounded or isinstance(found, Undefined | str | list | None)


@settings(max_examples=200, deadline=None)
@given(json_values, sums)
def test_any_state_is_borne(value, text):
    found = Expression.parse(f"a == 1 or a in [2] or a[0] or {text}").holds({**NAMES, "a": value})
    assert isinstance(found, bool | Undefined)


@pytest.mark.parametrize("opening", ["(", "[", "{", "-", "not ", "a[", "f(", "lambda:", "[a for ", "(a:="])
@pytest.mark.parametrize("many", [MAX_DEPTH + 1, 90, 150, 1000])
def test_deep_nesting_is_refused(opening, many):
    for text in (opening * many, opening * many + "1"):
        with pytest.raises(ExpressionError):
            Expression.parse(text)


# ------------------------------------------------------------------------------------------ names


def test_before_a_run_there_are_no_names_but_the_fixed_ones():
    names = names_of(Trail())
    assert names == {
        "node": None, "visit": 1, "answer": None, "branch": None, "properties": {}, "data": {}
    }  # fmt: skip


def test_properties_go_before_data_and_the_fixed_names_before_both():
    data = (DataItem("a", "s", "t", "old"), DataItem("a", "s", "t", "new"), DataItem("b", "s", "t", "b"))
    names = names_of(Trail(properties={"a": "mine", "node": "hidden"}, data=data))
    assert (names["a"], names["b"], names["node"]) == ("mine", "b", None)
    assert names["data"] == {"a": "new", "b": "b"}
    assert Expression.parse('properties["node"] == "hidden"').holds(names) is True
