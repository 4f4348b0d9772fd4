"""Cases, run logs and replays: what was run is kept, done again, and held against what was expected."""

from engine.evaluate.cases import (
    Case,
    CaseData,
    CaseLine,
    CaseResult,
    CaseTree,
    Expectation,
    find_cases,
    lines_of,
    read_cases,
    read_lines,
    write_case,
)
from engine.evaluate.erasing import blanked
from engine.evaluate.forks import Difference, DifferenceCode, Fork, fork
from engine.evaluate.judging import Judgement, judge, missing, rewritten_cases
from engine.evaluate.logs import RunLog, read_run_log, write_run_log
from engine.evaluate.names import names_of
from engine.evaluate.recalling import Recorded, Stale
from engine.evaluate.renaming import files_naming_nodes, renamed_cases, renamed_project
from engine.evaluate.replays import Comparison, Replayed, compare, replay
from engine.evaluate.runner import CaseReport, Starter, inputs_of, run_case
from engine.evaluate.steps import case_of
from engine.evaluate.walks import Migration, case_for, migrate

__all__ = [
    "Case",
    "CaseData",
    "CaseLine",
    "CaseReport",
    "CaseResult",
    "CaseTree",
    "Comparison",
    "Difference",
    "DifferenceCode",
    "Expectation",
    "Fork",
    "Judgement",
    "Migration",
    "Recorded",
    "Replayed",
    "RunLog",
    "Stale",
    "Starter",
    "blanked",
    "case_for",
    "case_of",
    "compare",
    "files_naming_nodes",
    "find_cases",
    "fork",
    "inputs_of",
    "judge",
    "lines_of",
    "migrate",
    "missing",
    "names_of",
    "read_cases",
    "read_lines",
    "read_run_log",
    "renamed_cases",
    "renamed_project",
    "replay",
    "rewritten_cases",
    "run_case",
    "write_case",
    "write_run_log",
]
