"""The predicates every tree may use, and the catalog of them."""

from typing import Annotated, Final

from pydantic import Field

from engine.catalog import Catalog, FunctionPredicate, PredicateContext


def property_exists(context: PredicateContext, key: str) -> bool:
    """The state has a property of this name that is not null."""
    return context.properties.get(key) is not None


def property_equals(context: PredicateContext, key: str, value: str) -> bool:
    """The text of a state property is exactly this text."""
    found = context.properties.get(key)
    return found is not None and text_of(found) == value


def data_exists(context: PredicateContext, type: str) -> bool:
    """At least one data item is of exactly this type."""
    return bool(context.data.of_type(type))


def data_count_at_least(
    context: PredicateContext,
    type: str,
    min: Annotated[int, Field(ge=0, le=2**31 - 1)],  # noqa: A002 - the name trees use
) -> bool:
    """At least this many data items are of exactly this type."""
    return len(context.data.of_type(type)) >= min


BUILT_IN: Final = (
    FunctionPredicate("propertyExists", property_exists),
    FunctionPredicate("propertyEquals", property_equals),
    FunctionPredicate("dataExists", data_exists),
    FunctionPredicate("dataCountAtLeast", data_count_at_least),
)


def standard_catalog() -> Catalog:
    """The built-in predicates, and no actions."""
    return Catalog().with_predicates(BUILT_IN)


def text_of(value: object) -> str:
    """How a value reads as text in any culture: ``True``, ``5``, ``2.5``; a whole float has no fraction."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
