"""How the cases beside a tree stand with it: read, judged, and told in words.

How a case stands is found out with what it pins and nothing else. What a project's own code does is only
known once a person runs the case.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, Literal, NoReturn, TypeAlias

from designer.document.names import titles_of
from engine import (
    Catalog,
    DocumentRefused,
    FunctionAction,
    FunctionPredicate,
    NodeId,
    Runnable,
    Session,
    Tree,
    TreeInvalid,
    document_bytes,
    runnable,
    standard_catalog,
)
from engine.analysis import Cover, Taken
from engine.evaluate import Case, CaseLine, Judgement, judge, lines_of, migrate, renamed_cases, write_case

Standing: TypeAlias = Literal["valid", "movable", "broken", "open"]
"""Whether a case passes, can be brought along, is broken, or cannot be told about yet."""


@dataclass(frozen=True)
class Tried:
    """What came of running a case, as it was written, on a tree.

    ``difference`` is the first one between what came of it and what is expected.
    """

    passed: bool
    difference: str
    tree: Tree = field(repr=False)


@dataclass(frozen=True)
class Entry:
    """One line of the cases file. ``reason`` says how it can be brought along, or why it is not valid."""

    line: CaseLine
    standing: Standing
    reason: str = ""
    node: NodeId | None = None
    """Where it breaks, and ``where`` the step of its path with what the node is called."""
    where: str = ""
    case: Case | None = None
    """As it can be brought along."""
    taken: frozenset[Taken] = frozenset()
    """The branches it takes if it passes, or once it is brought along."""
    tried: Tried | None = None
    lately: bool = False
    """Whether it was tried on the tree as it is now."""

    @property
    def name(self) -> str:
        """What the case is called."""
        return self.line.id or f"Line {self.line.number}"


@dataclass(frozen=True)
class Listed:
    """All cases, and what is counted of them."""

    entries: tuple[Entry, ...] = ()

    @cached_property
    def counts(self) -> Mapping[Standing, int]:
        """How many stand how; those that are none are left out."""
        return Counter(entry.standing for entry in self.entries)

    @cached_property
    def taken(self) -> frozenset[Taken]:
        """The branches that are taken by cases which pass or can be made to."""
        return frozenset(chain.from_iterable(entry.taken for entry in self.entries))

    def counted(self) -> "Listed":
        """This list with everything counted, so that nobody has to wait for it later."""
        _ = self.counts, self.taken
        return self


@dataclass(frozen=True)
class Wanted:
    """What cases are judged for, and where they are; ``names`` are new ones that only saving writes there."""

    tree: Tree
    catalog: Catalog
    path: Path | None
    names: Mapping[NodeId, NodeId]

    def is_as(self, other: "Wanted") -> bool:
        """Whether it is the very same; to compare trees by what they hold takes long."""
        same = self.tree is other.tree and self.catalog is other.catalog
        return same and (self.path, self.names) == (other.path, other.names)


@dataclass(frozen=True)
class Seen:
    """The cases as they were read. Without a plan the tree has errors and nothing can be run."""

    wanted: Wanted
    data: bytes
    lines: tuple[CaseLine, ...]
    plan: Runnable | None
    total: int
    trouble: str


def see(wanted: Wanted, before: Seen | None) -> Seen:
    """The cases as they are now; the same object as before where tree and file are the same."""
    data, trouble = b"", ""
    try:
        if wanted.path is not None and wanted.path.exists():
            data = document_bytes(wanted.path)
    except OSError as error:
        trouble = f"The cases cannot be read: {error.strerror or error}."
    except DocumentRefused as refused:
        trouble = f"The cases cannot be read: {refused.message}"
    if before and before.wanted.is_as(wanted) and (before.data, before.trouble) == (data, trouble):
        return before
    tree, plan = wanted.tree, None
    with suppress(TreeInvalid):
        plan = runnable(tree, wanted.catalog)
    total = sum(
        node.targets.get(branch) in tree.nodes
        for node in tree.nodes.values()
        for branch in set(node.branches())
    )
    lines = lines_of(renamed_cases(data, tree.tree_id, wanted.names) if wanted.names else data, tree)
    return Seen(wanted, data, lines, plan, total, trouble)


def stand(
    seen: Seen, lines: Sequence[CaseLine], parameters: Mapping[str, str], tried: Mapping[str, Entry]
) -> list[Entry]:
    """How these cases stand. What is known of them from when they were tried is kept."""
    asked: list[str] = []
    session, tree = Session(catalog=_hushed(seen.wanted.catalog, asked)), seen.wanted.tree

    async def judged(line: CaseLine) -> Judgement | None:
        if seen.plan is None:
            return _still(line, tree)
        asked.clear()
        judgement = await judge(session, seen.plan, line, parameters)
        return None if asked else judgement

    async def entry(line: CaseLine) -> Entry:
        known = tried.get(key_of(line))
        last = known.tried if known else None
        if known is not None and last is not None and last.tree is tree:
            return replace(known, line=line)
        return entry_of(line, await judged(line), last, tree)

    async def entries() -> list[Entry]:
        return [await entry(line) for line in lines]

    return asyncio.run(entries())


def _hushed(catalog: Catalog, asked: list[str]) -> Catalog:
    """A catalog in which nothing of the project's own is done; what a run asks for goes to the list."""

    def refuse(key: str) -> NoReturn:
        asked.append(key)
        raise LookupError(key)

    def action(key: str) -> FunctionAction:
        async def refused(_: object) -> NoReturn:
            refuse(key)

        return FunctionAction(key, refused)

    def predicate(key: str) -> FunctionPredicate:
        return FunctionPredicate(key, lambda _: refuse(key))

    standard = standard_catalog().predicates
    own = {key: predicate(key) for key in catalog.predicates if key not in standard}
    return Catalog({key: action(key) for key in catalog.actions}, {**standard, **own})


def _still(line: CaseLine, tree: Tree) -> Judgement | None:
    """What can be told of a case without running it, of a tree that cannot be run."""
    if line.written is None:
        return Judgement(None, broken=line.problems[0].message)
    migration = migrate(line.written, tree)
    if migration.broken is not None:
        return Judgement(line.written, broken=migration.broken, step=migration.step)
    return Judgement(migration.case, changes=migration.changes) if line.case is None else None


def key_of(line: CaseLine) -> str:
    """What a case is recognised by, wherever it stands in its file."""
    return f"{line.number}" if line.written is None else write_case(line.written)


# -- in words ------------------------------------------------------------------------------------------


def tried_of(line: CaseLine, judgement: Judgement, tree: Tree) -> Tried:
    """What came of the run that a case was judged by."""
    if (report := judgement.report) is None:
        return Tried(passed=False, difference=line.problems[0].message, tree=tree)
    return Tried(report.passed, in_words(report.first_difference or ""), tree)


def entry_of(line: CaseLine, judgement: Judgement | None, tried: Tried | None, tree: Tree) -> Entry:
    """A line with what is known of it; without a judgement nothing can be told yet."""
    entry = Entry(line, "open", tried=tried, lately=tried is not None and tried.tree is tree)
    if judgement is None:
        return replace(entry, reason=line.problems[0].message if line.problems else "")
    if judgement.broken is None:
        moved, taken = judgement.case if judgement.changes else None, judgement.taken
        standing: Standing = "movable" if moved else "valid"
        return replace(entry, standing=standing, reason="; ".join(judgement.changes), case=moved, taken=taken)
    node, where, reason = _spot(judgement, line, tree), "", judgement.broken
    if judgement.step is not None:
        where = f"step {judgement.step}" + (f", {titles_of(tree)[node]}" if node else "")
        reason = _AT_STEP.sub("", reason)
    return replace(entry, standing="broken", reason=in_words(reason), node=node, where=where)


def _spot(judgement: Judgement, line: CaseLine, tree: Tree) -> NodeId | None:
    """The node at which a case breaks, or the last one before it that is still there."""
    report = judgement.moved or judgement.report
    if judgement.step is not None and judgement.case is not None:
        way: Sequence[NodeId] = (judgement.case.expect.path or ())[: judgement.step]
    elif report is not None:
        way = [visit.node for visit in report.result.path]
    else:
        way = [problem.node for problem in line.problems if problem.node]
    return next((node for node in reversed(way) if node in tree.nodes), None)


_WHERE: Final = re.compile(r"(verdict|outcome|path|answers)(?:\[(\d+)\]|\.(.+?))?: (?=expected )")
_AT_STEP: Final = re.compile(r"path\[\d+\]: (?=expected )")
_LIMITS: Final = {"maxNodeVisits": "the limit of node visits", "maxLlmCalls": "the limit of LLM calls"}


def in_words(difference: str) -> str:
    """A difference as people call it: of the verdict, a step of the path, or the answer at a node."""

    def named(found: re.Match[str]) -> str:
        member, step, node = found.groups()
        if member == "path":
            return f"Step {int(step or 0) + 1}: "
        return f"Answer at {node}: " if node else f"{member.capitalize()}: "

    return _WHERE.sub(named, difference, count=1)


def left_out(covered: Cover, titles: Mapping[NodeId, str]) -> str:
    """The first branch that no case can take, with the reason, and how many more there are; else nothing."""
    if not covered.left:
        return ""
    left, more = covered.left[0], len(covered.left) - 1
    reason = re.sub("|".join(_LIMITS), lambda found: _LIMITS[found[0]], left.reason)
    others = f" So it is with {more} more." if more else ""
    where = f"{titles.get(left.step.node, left.step.node)} → {left.step.branch}"
    return f"{where} cannot be taken: {reason}{others}"
