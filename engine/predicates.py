"""The predicates every tree may use, and the catalog a project has with them."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from engine.catalog import Catalog, FunctionPredicate, PredicateContext
from engine.errors import CatalogError, ProjectError
from engine.project import FILE_NAME, Project


def property_exists(context: PredicateContext, key: str) -> bool:
    """The state has a property of this name that is not null."""
    return context.properties.get(key) is not None


def property_equals(context: PredicateContext, key: str, value: str) -> bool:
    """The text of a state property is exactly this text."""
    found = context.properties.get(key)
    return found is not None and _text(found) == value


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


def catalog_of(project: Project, folder: Path, *, trusted: bool) -> Catalog:
    """The standard catalog with what a project adds to it.

    Keys declared as external always count. The project's own Python files are run only when the folder is
    ``trusted``; ``ProjectError`` when one of them lies outside the folder, or fails.
    """
    external = {key: action.llm_calls for key, action in project.external.actions.items()}
    catalog = standard_catalog().with_external(external, project.external.predicates)
    for index, name in enumerate(project.catalog if trusted else ()):
        try:
            catalog = catalog.with_module(_inside(folder, name))
        except CatalogError as error:
            problem = project.error("catalog-invalid", str(error), "catalog", index)
            raise ProjectError(folder / FILE_NAME, [problem]) from error
    return catalog


def _inside(folder: Path, name: str) -> Path:
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise CatalogError(f"The catalog file '{name}' cannot be found.") from error
    if not path.is_relative_to(folder.resolve()):
        raise CatalogError(f"The catalog file '{name}' lies outside the project's folder.")
    return path


def _text(value: object) -> str:
    """How a value reads as text in any culture: ``True``, ``5``, ``2.5``; a whole float has no fraction."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
