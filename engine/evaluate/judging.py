"""What becomes of a case when its tree is edited: it still passes, can be brought along, or is broken.

A case is judged by running it, for only a run can tell; it is brought along only when it does not pass.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from engine.analysis import Cover, Taken, cover
from engine.checks import Runnable
from engine.evaluate.cases import Case, CaseLine, write_case
from engine.evaluate.runner import CaseReport, Starter, run_case
from engine.evaluate.walks import case_for, migrate
from engine.tree import Tree


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a case goes on.

    ``case`` passes, as it was written or brought along where ``changes`` tell how; unless ``broken`` tells
    why it cannot. Then ``step`` is where on its path (from 1) it breaks, if it does there. There is no case
    where its line holds none. ``report`` is of the case as it was written, if it could be run, and ``moved``
    of the one brought along.
    """

    case: Case | None
    report: CaseReport | None = None
    moved: CaseReport | None = None
    changes: tuple[str, ...] = ()
    broken: str | None = None
    step: int | None = None

    @property
    def taken(self) -> frozenset[Taken]:
        """The branches that a case which goes on takes."""
        report = self.moved or self.report
        if report is None or self.broken is not None:
            return frozenset()
        return frozenset((visit.node, visit.branch) for visit in report.result.path if visit.branch)


async def judge(
    session: Starter, tree: Runnable, line: CaseLine, parameters: Mapping[str, str] | None = None
) -> Judgement:
    """What becomes of the case of a line; ``parameters`` count where the case names none."""
    case = line.written
    if case is None:
        return Judgement(None, broken=line.problems[0].message)
    report = None if line.case is None else await run_case(session, tree, case, parameters)
    if report is not None and report.passed:
        return Judgement(case, report)
    migration = migrate(case, tree.tree)
    if migration.broken is not None:
        return Judgement(case, report, broken=migration.broken, step=migration.step)
    moved = await run_case(session, tree, migration.case, parameters) if migration.changes else None
    if moved is not None and moved.passed:
        return Judgement(migration.case, report, moved, migration.changes)
    failed = moved or report
    broken = failed.first_difference if failed else line.problems[0].message
    return Judgement(case, report, moved, broken=broken, step=_left(failed) if failed else None)


def _left(report: CaseReport) -> int | None:
    """The step at which a run leaves the path that is expected of it."""
    expected, got = report.expected.get("path"), report.got.get("path")
    if not isinstance(expected, Sequence) or not isinstance(got, Sequence):
        return None
    return next((step for step, node in enumerate(expected, 1) if list(got[step - 1 : step]) != [node]), None)


def missing(
    tree: Tree, taken: Collection[Taken] = (), ids: Collection[str] = ()
) -> tuple[Cover, tuple[Case, ...]]:
    """The walks over what is not taken yet, and a case for each of them, with an id not among these."""
    covered = cover(tree, taken)
    fresh = (name for name in map("path-{}".format, count(1)) if name not in ids)
    return covered, tuple(case_for(walk, next(fresh), tree) for walk in covered.walks)


def rewritten_cases(data: bytes, moved: Mapping[int, Case], new: Iterable[Case] = ()) -> bytes:
    """A cases file with other cases on the lines of these numbers (from 1) and new ones after its last.

    The other lines stay byte for byte.
    """
    lines = data.rstrip().split(b"\n") if data.strip() else []
    for number, case in moved.items():
        lines[number - 1] = write_case(case).encode()
    lines += (write_case(case).encode() for case in new)
    return b"".join(line + b"\n" for line in lines)
