"""Problems: made at a place of a document, told in words of our own, and found again in its text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from engine import jsontext
from engine.errors import Problem, Severity

Path: TypeAlias = tuple[str | int, ...]
"""The member names and list positions that lead to a place of a document."""


def problem_at(code: str, severity: Severity, message: str, *path: str | int) -> Problem:
    """A problem at a path of the document. Its node, field and pointer follow from the path."""
    node = str(path[1]) if len(path) > 1 and path[0] == "nodes" else None
    names = [part for part in path if isinstance(part, str)]
    field = (names[2] if len(names) > 2 else None) if node is not None else (names[-1] if names else None)
    return Problem(code, severity, message, node, field, jsontext.pointer(*path))


def in_text(problems: Iterable[Problem], text: str) -> tuple[Problem, ...]:
    """The problems of a document, each with the line and column its pointer is found at in the text."""
    problems = tuple(problems)
    places = jsontext.places(text, {problem.pointer for problem in problems})
    return tuple(
        replace(problem, line=line, column=column)
        for problem in problems
        for line, column in (places[problem.pointer],)
    )


def named(path: Sequence[str | int]) -> str:
    """How a message names a place: ``'external.actions'``."""
    return f"'{'.'.join(map(str, path))}'"


MISSING: Final = "is missing"
"""What is wrong with a member that has to be there."""


def faults(error: ValidationError, document: object) -> Mapping[Path, str]:
    """Where a document does not fit its model, and for each place what is wrong, to be read after its name.

    A place can be a member that is missing. Of several forms that were tried the nearest one counts.
    """
    found: dict[Path, list[str]] = {}
    for fault in error.errors(include_url=False, include_input=False):
        reasons = found.setdefault(_place(fault, document), [])
        if (told := reason(fault)) not in reasons:
            reasons.append(told)
    holders = {path[:length] for path in found for length in range(len(path))}
    return {path: _either(reasons) for path, reasons in found.items() if path not in holders}


def reason(fault: ErrorDetails) -> str:
    """What is wrong with a value that does not fit its model, to be read after its name."""
    limits = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in fault.get("ctx", {}).items()
    }
    return _REASONS.get(fault["type"], "does not fit").format(**limits)


def _place(fault: ErrorDetails, document: object) -> Path:
    """The parts of a location that are in the document; others tell which of several forms was tried."""
    path: list[str | int] = []
    for index, part in enumerate(fault["loc"], 1):
        if _holds(document, part):
            document = cast("Any", document)[part]
        elif fault["type"] != "missing" or index < len(fault["loc"]):
            continue
        path.append(part)
    return tuple(path)


def _holds(document: object, part: str | int) -> bool:
    if isinstance(document, list):
        return isinstance(part, int) and part < len(document)
    return isinstance(document, dict) and part in document


def _either(reasons: Sequence[str]) -> str:
    """One reason made of those of all the forms a value may have."""
    if not all(reason.startswith("must be ") for reason in reasons):
        return reasons[0]
    return f"must be {' or '.join(reason.removeprefix('must be ') for reason in reasons)}"


_REASONS: Final = {
    "missing": MISSING,
    "extra_forbidden": "is not known",
    "value_error": "is wrong: {error}",
    "none_required": "must be null",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "set_type": "must be a list",
    "frozen_set_type": "must be a list",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "model_type": "must be an object",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must be of the form {pattern}",
    "too_short": "must hold at least {min_length}",
    "too_long": "must hold at most {max_length}",
}
