"""A case: what one run starts from, results fixed beforehand, and what is expected to come of it.

Cases are kept one JSON line each. Reading is strict: a case that does not fit its tree would test nothing,
so it is reported with file line, node and the allowed answers, and is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from errno import EFBIG
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    ValidationError,
)
from pydantic import StrictStr as Str

from engine import jsontext
from engine.catalog import ActionStatus
from engine.checks import impossible_limits
from engine.errors import DocumentRefused, Problem, cause_of
from engine.events import Outcome
from engine.problems import faults, in_text, named
from engine.tree import UNKNOWN, ActionNode, AnyNode, Budget, ClassifyNode, ConditionNode, NodeId, Tree
from engine.treefile import tree_hash

_Pinned = TypeVar("_Pinned")
_ByVisit: TypeAlias = _Pinned | tuple[_Pinned, ...]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class CaseTree(_Part):
    """The tree a case was written for."""

    id: Str
    version: StrictInt | None = None
    hash: Str | None = None


class CaseData(_Part):
    """One data item a case brings along."""

    id: Str
    source: Str
    type: Str
    content: Str = Field(repr=False)
    metadata: dict[str, Str] = Field(default={}, repr=False)


class CaseResult(_Part):
    """The result an action is pinned to."""

    status: ActionStatus
    properties: dict[str, Str] = Field(default={}, repr=False)
    data: tuple[CaseData, ...] = Field(default=(), repr=False)
    summary: Str | None = Field(default=None, repr=False)
    error: Str | None = Field(default=None, repr=False)


class Expectation(_Part):
    """What should come of a run; only what is named is compared.

    ``answers`` are those of each node's last visit.
    """

    verdict: Str | None = None
    outcome: Outcome | None = None
    path: tuple[NodeId, ...] | None = None
    answers: dict[NodeId, Str] | None = None


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is blank")
    return text


class Case(_Part):
    """One case. A pin is one result for every visit, or a list with one result a visit."""

    id: Annotated[Str, AfterValidator(_not_blank)]
    tree: CaseTree | None = None
    params: dict[str, Str] = Field(default={}, repr=False)
    state: dict[str, JsonValue] = Field(default={}, repr=False)
    data: tuple[CaseData, ...] = Field(default=(), repr=False)
    answers: dict[NodeId, _ByVisit[Str]] = Field(default={}, repr=False)
    replies: dict[NodeId, tuple[Str, ...]] = Field(default={}, repr=False)
    conditions: dict[NodeId, _ByVisit[StrictBool]] = {}
    actions: dict[NodeId, _ByVisit[CaseResult]] = Field(default={}, repr=False)
    budget: Budget | None = None
    expect: Expectation = Expectation()


def write_case(case: Case) -> str:
    """The line a case is kept as, without its line end."""
    return case.model_dump_json(by_alias=True, exclude_unset=True)


def find_cases(tree_file: Path) -> Path:
    """Where the cases of a tree file are: ``NAME.cases.jsonl``, else ``cases.jsonl`` beside it."""
    own = tree_file.with_suffix(".cases.jsonl")
    return own if own.exists() else tree_file.with_name("cases.jsonl")


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A line of a cases file: its case, or None and what is wrong with it.

    ``id`` and ``expected`` are told also of a case that is wrong, where they can be read, and so is the case
    itself as ``written`` where it merely does not fit its tree. Problems carry line and column; their
    pointers are into the case. One whose code begins with ``json-`` says that the line is no JSON.
    """

    number: int
    id: str | None = None
    case: Case | None = None
    expected: Expectation = field(default=Expectation(), repr=False)
    problems: tuple[Problem, ...] = ()
    written: Case | None = None


def read_lines(file: Path, tree: Tree) -> tuple[CaseLine, ...]:
    """The lines of a cases file; ``OSError`` when it cannot be read or is too large. See :func:`lines_of`."""
    try:
        return lines_of(jsontext.document_bytes(file), tree)
    except DocumentRefused as refused:
        raise OSError(EFBIG, refused.message.removesuffix(".")) from refused


def lines_of(data: bytes, tree: Tree) -> tuple[CaseLine, ...]:
    """The lines of the bytes of a cases file, without the blank ones.

    Where several lines have one id, none of them holds a case: nobody could say which is meant.
    """
    lines = [
        _Line.of(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip(b" \t\r")
    ]
    places: dict[str, list[int]] = {}
    for line in lines:
        if line.id is not None:
            places.setdefault(line.id, []).append(line.number)
    hash_of_tree = cache(partial(tree_hash, tree))
    return tuple(line.read(tree, hash_of_tree, places.get(line.id or "", [])) for line in lines)


def read_cases(file: Path, tree: Tree) -> tuple[tuple[Case, ...], tuple[Problem, ...]]:
    """The cases of a file that fit the tree, and what is wrong with the others.

    A file that cannot be read gives one problem whose code begins with ``file-``; see :func:`read_lines`.
    """
    try:
        lines = read_lines(file, tree)
    except OSError as error:
        message = f"The cases cannot be read: {cause_of(error)}."
        return (), (Problem("file-unreadable", "error", message),)
    cases = tuple(line.case for line in lines if line.case is not None)
    return cases, tuple(problem for line in lines for problem in line.problems)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as it stands, before it is held against its tree."""

    number: int
    data: bytes
    value: JsonValue = None
    refused: DocumentRefused | None = None

    @classmethod
    def of(cls, number: int, data: bytes) -> "_Line":
        try:
            return cls(number, data, jsontext.parse(data))
        except DocumentRefused as refused:
            return cls(number, data, refused=refused)

    @property
    def id(self) -> str | None:
        name = self.value.get("id") if isinstance(self.value, dict) else None
        return name if isinstance(name, str) and name.strip() else None

    @property
    def expected(self) -> Expectation:
        with suppress(ValidationError):
            return Expectation.model_validate(isinstance(self.value, dict) and self.value.get("expect"))
        return Expectation()

    def read(self, tree: Tree, hash_of_tree: Callable[[], str], numbers: Sequence[int]) -> CaseLine:
        if (refused := self.refused) is not None:
            return CaseLine(self.number, problems=(replace(refused.problem, line=self.number),))
        case = None
        try:
            case = Case.model_validate(self.value, by_alias=True, by_name=False)
        except ValidationError as error:
            found = list(_unfit(error, self.value))
        else:
            found = list(misfits(case, tree, hash_of_tree))
        if len(numbers) > 1:
            message = f"Lines {_and(numbers)} have the same id '{self.id}'; each case needs its own."
            found.append(_problem("case-id-duplicate", message, "id"))
        placed = in_text(found, jsontext.text_of(self.data))
        problems = tuple(replace(problem, line=self.number) for problem in placed)
        written = None if len(numbers) > 1 else case
        return CaseLine(self.number, self.id, None if problems else case, self.expected, problems, written)


def _and(numbers: Sequence[int]) -> str:
    shown = (
        list(map(str, numbers)) if len(numbers) <= 5 else [*map(str, numbers[:4]), f"{len(numbers) - 4} more"]
    )
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


# -- a line that is no case ----------------------------------------------------------------------------

_HOLDS: Final = {
    "id": "a name",
    "tree": "the tree's id, and perhaps its version and hash",
    "params": "a text for each parameter",
    "state": "an object",
    "data": "a list of items, each with id, source, type and content",
    "answers": "for each node an answer, or a list of answers by visit",
    "replies": "for each node a list of texts",
    "conditions": "for each node true or false, or a list of these by visit",
    "actions": "for each node a result with a status, or a list of these by visit",
    "budget": "limits as a tree has them",
    "expect": "what should come of it: verdict, outcome, path, answers",
}
_PINS: Final = ("answers", "replies", "conditions", "actions")


def _problem(code: str, message: str, *path: str | int, node: NodeId | None = None) -> Problem:
    member = str(path[0]) if path else None
    return Problem(code, "error", message, node=node, field=member, pointer=jsontext.pointer(*path))


def _unfit(error: ValidationError, value: JsonValue) -> Iterator[Problem]:
    for path, reason in faults(error, value).items():
        message = f"{named(path) if path else 'A case'} {reason}"
        if path and reason.startswith("must"):
            message += f"; '{path[0]}' holds {_HOLDS[str(path[0])]}"
        pinned = len(path) > 1 and path[0] in _PINS
        yield _problem("case-invalid", f"{message}.", *path, node=str(path[1]) if pinned else None)


# -- a case that does not fit its tree -----------------------------------------------------------------


def misfits(case: Case, tree: Tree, hash_of_tree: Callable[[], str]) -> Iterator[Problem]:
    """What keeps a case from being run on a tree; line and column are not known here."""
    yield from _other_tree(case, tree, hash_of_tree)
    if case.budget is not None:
        for name in case.budget.unknown_members:
            yield _problem("case-invalid", f"'budget.{name}' is not known.", "budget", name)
        for name in impossible_limits(case.budget):
            message = f"The budget of case '{case.id}' must be positive; only maxLlmCalls may be 0."
            yield _problem("case-invalid", message, "budget", name)
    questions: Mapping[NodeId, Iterable[str]] = case.answers
    yield from _named(case, tree, ClassifyNode, questions, "answers")
    yield from _named(case, tree, ClassifyNode, case.replies, "replies")
    yield from _named(case, tree, ConditionNode, case.conditions, "conditions")
    yield from _named(case, tree, ActionNode, case.actions, "actions")
    for node_id, pin in case.answers.items():
        yield from _allowed(case, tree, node_id, pin, "answers")
    for node_id in case.answers.keys() & case.replies.keys():
        message = (
            f"Case '{case.id}' has both an answer and replies for node '{node_id}'; one of them must go."
        )
        yield _problem("case-pins-both", message, "replies", node_id, node=node_id)
    for position, node_id in enumerate(case.expect.path or ()):
        if node_id not in tree.nodes:
            yield _unknown_node(case, node_id, "expect", "path", position)
    expected = case.expect.answers or {}
    yield from _named(case, tree, ClassifyNode, expected, "expect", "answers")
    for node_id, answer in expected.items():
        yield from _allowed(case, tree, node_id, answer, "expect", "answers")


def _other_tree(case: Case, tree: Tree, hash_of_tree: Callable[[], str]) -> Iterator[Problem]:
    if case.tree is None:
        return
    here = {"id": lambda: tree.tree_id, "version": lambda: tree.version, "hash": hash_of_tree}
    for member, value in case.tree.model_dump(exclude_none=True).items():
        if value != (this := here[member]()):
            message = (
                f"Case '{case.id}' is for another tree: there the {member} is '{value}', here it is '{this}'."
            )
            yield _problem("case-tree-other", message, "tree", member)
            return


def _named(
    case: Case, tree: Tree, kind: type[AnyNode], nodes: Iterable[NodeId], *path: str
) -> Iterator[Problem]:
    for node_id in nodes:
        node = tree.nodes.get(node_id)
        if node is None:
            yield _unknown_node(case, node_id, *path, node_id)
        elif not isinstance(node, kind):
            word = kind.model_fields["type"].default
            message = (
                f"Case '{case.id}' names node '{node_id}' under '{'.'.join(path)}', but it is no {word} node."
            )
            yield _problem("case-node-type", message, *path, node_id, node=node_id)


def _unknown_node(case: Case, node_id: NodeId, *path: str | int) -> Problem:
    message = f"Case '{case.id}' names node '{node_id}', which the tree does not have."
    return _problem("case-node-unknown", message, *path, node=node_id)


def _allowed(
    case: Case, tree: Tree, node_id: NodeId, answers: _ByVisit[str], *path: str
) -> Iterator[Problem]:
    node = tree.nodes.get(node_id)
    if not isinstance(node, ClassifyNode):
        return
    allowed = (*(node.answers or ()), UNKNOWN)
    given = {(): answers} if isinstance(answers, str) else {(n,): answer for n, answer in enumerate(answers)}
    for place, answer in given.items():
        if answer not in allowed:
            message = (
                f"Case '{case.id}' gives node '{node_id}' the answer '{answer}'; "
                f"allowed are: {', '.join(allowed)}."
            )
            yield _problem("case-answer-unknown", message, *path, node_id, *place, node=node_id)
