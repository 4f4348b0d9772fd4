"""Catalogs: keys are unique, and a project's own file adds to them."""

import re
from pathlib import Path

import pytest

from engine.catalog import (
    ActionContext,
    ActionResult,
    Catalog,
    FunctionAction,
    FunctionPredicate,
    PredicateContext,
)
from engine.checks import check
from engine.data import DataStore
from engine.errors import CatalogError
from engine.predicates import standard_catalog
from tests.builders import condition, terminal, tree


async def nothing(context: ActionContext) -> ActionResult:
    return ActionResult()


def always(context: PredicateContext) -> bool:
    return True


# L24
def test_a_second_predicate_with_a_key_is_refused():
    with pytest.raises(CatalogError, match="duplicate or empty key 'dataExists'"):
        standard_catalog().with_predicates([FunctionPredicate("dataExists", always)])


@pytest.mark.parametrize("key", ["", "  "])
def test_a_blank_key_is_refused(key: str):
    with pytest.raises(CatalogError, match="duplicate or empty key"):
        Catalog().with_actions([FunctionAction(key, nothing)])
    with pytest.raises(CatalogError, match="duplicate or empty key"):
        Catalog().with_predicates([FunctionPredicate(key, always)])


def test_two_actions_with_one_key_are_refused():
    with pytest.raises(CatalogError, match="'load'"):
        Catalog().with_actions([FunctionAction("load", nothing), FunctionAction("load", nothing)])


def test_a_catalog_is_not_changed_by_adding_to_it():
    before = standard_catalog()
    after = before.with_actions([FunctionAction("load", nothing)]).with_external(["ship"], ["isOpen"])
    assert not before.actions
    assert set(after.actions) == {"load"}
    assert after.external_actions == {"ship": (0, 0)}
    assert after.predicates == before.predicates


def test_keys_differ_by_case():
    catalog = Catalog().with_predicates([FunctionPredicate("A", always), FunctionPredicate("a", always)])
    assert set(catalog.predicates) == {"A", "a"}


def test_a_predicate_without_parameters_ignores_what_it_is_given():
    context = PredicateContext("node", {}, DataStore(), {"colour": "red"})
    assert FunctionPredicate("always", always).evaluate(context)


def test_a_predicate_does_not_hold_when_its_parameters_do_not_fit():
    def warm(context: PredicateContext, degrees: int, limit: int = 20) -> bool:
        return degrees > limit

    warmth = FunctionPredicate("warm", warm)
    at = [PredicateContext("node", {}, DataStore(), {"degrees": degrees}) for degrees in (25, 5, "25")]
    assert [warmth.evaluate(context) for context in at] == [True, False, False]


def test_a_parameter_without_a_type_takes_anything():
    function = eval("lambda context, day: day == 1")  # noqa: S307 - a function without annotations
    context = PredicateContext("node", {}, DataStore(), {"day": 1})
    assert FunctionPredicate("isFirst", function).evaluate(context)


def test_a_module_adds_its_actions_and_predicates(tmp_path: Path):
    file = tmp_path / "catalog.py"
    file.write_text(
        "from engine.catalog import ActionResult, action, predicate\n"
        "@action('load')\nasync def load(context): return ActionResult()\n"
        "@predicate('isOpen')\ndef is_open(context): return True\n"
        "def helper(): ...\n"
    )
    catalog = Catalog().with_module(file)
    assert set(catalog.actions) == {"load"}
    assert set(catalog.predicates) == {"isOpen"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["catalog.py"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def broken(:", "SyntaxError"),
        ("raise ValueError('secret')", "ValueError"),
        (None, "FileNotFoundError"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_named(tmp_path: Path, text: str | None, reason: str):
    file = tmp_path / "catalog.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(CatalogError) as caught:
        Catalog().with_module(file)
    assert str(file) in str(caught.value)
    assert reason in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_predicate_whose_parameters_cannot_be_understood_is_refused_when_its_file_is_loaded(tmp_path):
    file = tmp_path / "catalog.py"
    file.write_text(
        "from engine import predicate\n\n@predicate('odd')\ndef odd(context, day: 'Weekday') -> bool: ...\n"
    )
    with pytest.raises(CatalogError, match=r"catalog\.py: .* predicate 'odd' .*NameError"):
        Catalog().with_module(file)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@predicate('odd')\nasync def odd(context) -> bool: ...", "must be a plain 'def'"),
        ("@predicate('odd')\ndef odd(context):\n    yield True", "must be a plain 'def'"),
        ("@predicate('odd')\ndef odd() -> bool: ...", "cannot be understood"),
        ("@predicate('odd')\ndef odd(context, day, /) -> bool: ...", "cannot be understood"),
        ("@predicate('odd')\ndef odd(context, _day: str) -> bool: ...", "cannot be understood"),
        ("@predicate('odd')\ndef odd(context, model_config: str) -> bool: ...", "cannot be understood"),
        ("@predicate(' ')\ndef odd(context) -> bool: ...", "duplicate or empty key ' '"),
        ("@action(5)\nasync def odd(context): ...", "duplicate or empty key '5'"),
        ("@action('odd')\ndef odd(context): ...", "must be an 'async def'"),
        ("@action('odd', llm_calls=5)\nasync def odd(context): ...", "as in llm_calls=(0, 2)"),
        ("@action('odd', llm_calls=(2, 1))\nasync def odd(context): ...", "as in llm_calls=(0, 2)"),
        ("@action('odd', llm_calls=('0', '1'))\nasync def odd(context): ...", "as in llm_calls=(0, 2)"),
    ],
)
def test_an_entry_that_could_never_do_its_work_is_refused_when_its_file_is_loaded(tmp_path, text, reason):
    file = tmp_path / "catalog.py"
    file.write_text(f"from engine import action, predicate\n\n{text}\n")
    with pytest.raises(CatalogError, match=re.escape(reason)):
        Catalog().with_module(file)


def test_a_parameter_may_be_called_as_anything_else_is(tmp_path):
    file = tmp_path / "catalog.py"
    file.write_text(
        "from engine import predicate\n\n@predicate('odd')\n"
        "def odd(context, json: str, copy: str, schema: str) -> bool: return json + copy == schema\n"
    )
    odd = Catalog().with_module(file).predicates["odd"]
    parameters = {"json": "a", "copy": "b", "schema": "ab"}
    assert odd.evaluate(PredicateContext("n", {}, DataStore(), parameters))


def test_an_entry_with_two_names_in_its_file_is_one(tmp_path):
    file = tmp_path / "catalog.py"
    file.write_text(
        "from engine import predicate\n\n@predicate('odd')\n"
        "def odd(context) -> bool: return True\n\nother = odd\n"
    )
    assert set(Catalog().with_module(file).predicates) == {"odd"}


def test_what_else_stands_in_a_file_is_not_asked_anything(tmp_path):
    file = tmp_path / "catalog.py"
    file.write_text(
        "class Proxy:\n    def __getattr__(self, name): raise RuntimeError('not here')\n\nproxy = Proxy()\n"
    )
    assert Catalog().with_module(file) == Catalog()


def test_such_a_predicate_handed_over_by_hand_is_refused_when_a_tree_is_checked():
    def odd(_context, day: "Weekday") -> bool:  # type: ignore[name-defined]  # noqa: F821
        raise AssertionError

    catalog = standard_catalog().with_predicates([FunctionPredicate("odd", odd)])
    with pytest.raises(CatalogError, match="predicate 'odd'"):
        check(tree(a=condition("odd", then="b", otherwise="b"), b=terminal("b")), catalog)
