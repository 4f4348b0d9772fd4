"""The catalog of a project: what its file describes, and what its own Python offers where that is trusted.

An action of ``treewright.json`` is data: a kind with parameters (:mod:`engine.kinds`). It runs no code of the
project, so it needs no trust; what it may reach is bounded by the project's folder and its own lists.
"""

from collections.abc import Iterator
from pathlib import Path

from engine.catalog import Catalog
from engine.errors import CatalogError, Problem, ProjectError
from engine.predicates import standard_catalog
from engine.project import FILE_NAME, Project


def catalog_of(project: Project, folder: Path, *, trusted: bool, coded: Catalog | None = None) -> Catalog:
    """The standard catalog with what a project adds to it.

    Keys declared as external and the actions of the project file always count. The project's own Python files
    are run only when the folder is ``trusted``; ``ProjectError`` when one of them lies outside the folder,
    fails, or offers a key that the project file has, too. They are not run where ``coded`` is what
    :func:`coded_catalog_of` made of them: then the actions of the project file are added to that.
    """
    catalog = coded_catalog_of(project, folder, trusted=trusted) if coded is None else coded
    return _with_actions(catalog, project, folder, trusted=trusted) if project.actions else catalog


def coded_catalog_of(project: Project, folder: Path, *, trusted: bool) -> Catalog:
    """As :func:`catalog_of`, without the actions of the project file."""
    external = {key: action.llm_calls for key, action in project.external.actions.items()}
    catalog = standard_catalog().with_external(external, project.external.predicates)
    for index, name in enumerate(project.catalog if trusted else ()):
        try:
            catalog = catalog.with_module(_inside(folder, name))
        except CatalogError as error:
            problem = project.error("catalog-invalid", str(error), "catalog", index)
            raise ProjectError(folder / FILE_NAME, [problem]) from error
    return catalog


def troubles_of(project: Project, catalog: Catalog) -> Iterator[Problem]:
    """A warning for each action of a project file that would fail at once, as the files it needs are now."""
    for key in project.actions:
        trouble: str | None = getattr(catalog.actions.get(key), "trouble", None)
        if trouble is not None:
            yield project.warning("action-unusable", trouble, "actions", key)


def _with_actions(catalog: Catalog, project: Project, folder: Path, *, trusted: bool) -> Catalog:
    from engine.actions.table import made
    from engine.actions.work import Place

    wrong = list(project.wrong_actions())
    for key in project.actions:
        if key in catalog.actions:
            message = f"The action '{key}' is in the project's Python code, too."
            wrong.append(project.error("action-invalid", message, "actions", key))
    if wrong:
        raise ProjectError(folder / FILE_NAME, wrong)
    # Those that run other trees know the whole catalog, of which they are a part.
    place = Place(folder, trusted=trusted, catalog=lambda: whole)
    whole = catalog.with_actions(made(key, entry, place) for key, entry in project.actions.items())
    return whole


def _inside(folder: Path, name: str) -> Path:
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise CatalogError(f"The catalog file '{name}' cannot be found.") from error
    if not path.is_relative_to(folder.resolve()):
        raise CatalogError(f"The catalog file '{name}' lies outside the project's folder.")
    return path
