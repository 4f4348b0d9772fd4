"""Cases: reading them, running them, and comparing what came of it with what was expected."""

from engine.evaluate.cases import (
    Case,
    CaseData,
    CaseLine,
    CaseResult,
    CaseTree,
    Expectation,
    find_cases,
    read_cases,
    read_lines,
    write_case,
)
from engine.evaluate.runner import CaseReport, Starter, inputs_of, run_case

__all__ = [
    "Case",
    "CaseData",
    "CaseLine",
    "CaseReport",
    "CaseResult",
    "CaseTree",
    "Expectation",
    "Starter",
    "find_cases",
    "inputs_of",
    "read_cases",
    "read_lines",
    "run_case",
    "write_case",
]
