"""What can go wrong, as values and as exceptions.

::

    TreewrightError
    ├── TreeInvalid        a tree has problems of severity "error"
    ├── DocumentRefused    bytes are no JSON document of ours (with line and column)
    ├── CatalogError       a catalog holds a blank or repeated key, or cannot be loaded
    ├── ProjectError       treewright.json, or a catalog it names, is wrong
    ├── DeciderRefused     nobody can be asked by these settings (in ``engine.asking``)
    ├── CaseError          a case does not fit its tree, or its pins are used up
    ├── FetchFailed        what is at an address could not be had, or may not be asked for
    ├── ServerFailed       a server with tools cannot be used (in ``engine.agent.mcp``)
    ├── RecordingFailed    a record store did not do what it was asked to
    │   └── RecorderClosed the recorder takes nothing more
    └── LlmError           a model could not be asked (class in contracts of the provider)
        └── DecisionFailed a decision model (in ``engine.deciders.systemone.client``)

No message of these carries prompts, state, keys or ids of people.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Severity = Literal["error", "warning", "info"]
"""How bad a problem is; a tree with an error can be neither run nor exported."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a check found, and where.

    ``pointer`` is the JSON pointer of the place in the tree document; ``field`` is the JSON member the
    author should look at. ``line`` and ``column`` (1-based) are known when the tree came from a text.
    """

    code: str
    severity: Severity
    message: str
    node: str | None = None
    field: str | None = None
    pointer: str = ""
    line: int | None = None
    column: int | None = None


def cause_of(error: OSError) -> str:
    """What the system says of a failure, in its own words."""
    return error.strerror or type(error).__name__


class TreewrightError(Exception):
    """Any failure this library reports on purpose."""


class TreeInvalid(TreewrightError):
    """A tree that must not be run or exported; ``problems`` says why."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            next((p.message for p in self.problems if p.severity == "error"), "The tree is not valid.")
        )


class DocumentRefused(TreewrightError):
    """These bytes are no JSON document we accept; ``line`` and ``column`` are 1-based."""

    def __init__(self, code: str, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.code, self.message, self.line, self.column = code, message, line, column

    @property
    def problem(self) -> Problem:
        """The refusal as the one problem of its file."""
        return Problem(self.code, "error", self.message, line=self.line, column=self.column)


class CatalogError(TreewrightError):
    """A catalog of actions or predicates is not usable."""


class ProjectError(TreewrightError):
    """A project is not usable; ``problems`` say why, each with its place in the project's ``file``."""

    def __init__(self, file: Path, problems: Iterable[Problem]) -> None:
        self.file, self.problems = file, tuple(problems)
        first = self.problems[0]
        place = "".join(f":{number}" for number in (first.line, first.column) if number is not None)
        super().__init__(f"{file}{place}: {first.message}")


class CaseError(TreewrightError):
    """A case does not fit its tree, or a pinned list is used up."""


class FetchFailed(TreewrightError):
    """What is at an address could not be had, or may not be asked for.

    ``transient`` says whether it may be otherwise a little later.
    """

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class RecordingFailed(TreewrightError):
    """The record store did not confirm what it was asked to do; keep the request and ask again later."""

    def __init__(self, message: str = "The record store did not confirm this.") -> None:
        super().__init__(message)


class RecorderClosed(RecordingFailed):
    """The recorder is closed and takes nothing more."""

    def __init__(self) -> None:
        super().__init__("The recorder is closed.")


LlmErrorKind = Literal["timeout", "status", "connection", "protocol", "request"]


class LlmError(TreewrightError):
    """A model could not be asked, or its reply could not be read.

    ``transient`` says whether the next model of a chain may be tried (contracts.md section 7);
    ``status`` is the HTTP status where there was one. The original exception is the cause.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: LlmErrorKind,
        transient: bool,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.transient, self.status, self.retry_after = kind, transient, status, retry_after
