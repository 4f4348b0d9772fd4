"""Putting problems right: what ways there are, and taking one as a step that can be undone.

Some ways have to be worked out from all that runs can cost, so they are looked for aside.
"""

from designer.document import edits
from designer.document.document import Document
from designer.tasks import aside
from engine import FIXABLE, Catalog, Checker, Fix, Problem, Tree, fixes


def may_be_mended(problem: Problem) -> bool:
    """Whether there can be a way to put this right."""
    return problem.code in FIXABLE


async def ways_of(document: Document, problem: Problem) -> tuple[Fix, ...]:
    """The ways to put a problem of this document right as it is now."""
    tree, catalog = document.draft.tree, document.catalog
    return await aside(lambda: fixes(tree, problem, catalog))


def mend(document: Document, way: Fix, of: Tree) -> bool:
    """Put a problem right in one step; false where the tree is another one meanwhile."""
    return document.draft.tree is of and document.edit(way.title, lambda draft: edits.mend(draft, way.tree))


async def mend_all(document: Document, code: str) -> bool:
    """Put all problems with this code right, each in the likeliest way, as one step; whether any was."""
    tree, catalog = document.draft.tree, document.catalog
    mended = await aside(lambda: _without(tree, code, catalog))
    return document.draft.tree is tree and document.edit(
        "Fix all of one kind", lambda draft: draft if mended is tree else edits.mend(draft, mended)
    )


def _without(tree: Tree, code: str, catalog: Catalog) -> Tree:
    checker, before = Checker(catalog), None
    for _ in range(_ROUNDS + len(tree.nodes)):
        found = (problem for problem in checker.update(before, tree) if problem.code == code)
        ways = (way for problem in found for way in fixes(tree, problem, catalog)[:1])
        way = next(ways, None)
        if way is None:
            break
        before, tree = tree, way.tree
    return tree


_ROUNDS = 1_000
