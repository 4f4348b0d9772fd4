"""What is pinned at a node: one value for each visit, or one a visit; for an action all of its result."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

from pydantic import ValidationError
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from designer.forms import Combo, Field, Line, Text, as_json, plain, spelled_json
from designer.running import Pin
from engine import ActionNode, AnyNode, ClassifyNode, ConditionNode
from engine.evaluate import CaseData, CaseResult

_Read = TypeVar("_Read", dict[str, Any], list[Any])

One: TypeAlias = str | bool | CaseResult
"""What is pinned for one visit."""

_BLANK: Final[dict[type[AnyNode], One]] = {
    ClassifyNode: "",
    ConditionNode: False,
    ActionNode: CaseResult(status="success"),
}


def first_pin(node: AnyNode) -> One:
    """What to begin with at a node: its first branch."""
    return _leading_to(_BLANK[type(node)], node.branches()[0])


def _leading_to(one: One, branch: str) -> One:
    """The value that takes this branch, with as much of the old one as still fits."""
    match one:
        case bool():
            return branch == "true"
        case CaseResult():
            # Only what failed has an error.
            return _with(one, status=branch, **({"error": None} if branch == "success" else {}))
        case _:
            return branch


def _branch_of(one: One) -> str:
    match one:
        case bool():
            return "true" if one else "false"
        case CaseResult():
            return one.status
        case _:
            return one


def _with(result: CaseResult, **changes: object) -> CaseResult:
    """The result with these members, and without those that hold nothing."""
    members = {**result.model_dump(exclude_unset=True), **changes}
    return CaseResult.model_validate({name: value for name, value in members.items() if value})


class Pins(QWidget):
    """The values, below each other; ``give`` takes what shall be pinned from now on."""

    def __init__(self, give: Callable[[Pin], None]) -> None:
        super().__init__()
        self._give = give
        self._pins: Sequence[One] = ()
        self._by_visit = False
        self._visits: list[_Visit] = []
        self._further = plain("A visit after these ends the run with an error.", role="label", wrap=True)
        self.add_button = QPushButton("+ Next visit")
        self.add_button.setObjectName("button.addVisit")
        self.add_button.setProperty("quiet", True)
        self.add_button.setAutoDefault(False)
        self.add_button.setToolTip("Pin one value a visit instead of one for all of them")
        self.add_button.clicked.connect(self._add)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(6)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(self._rows)
        layout.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self._further)

    def show_pin(self, branches: Sequence[str], pin: Pin, *, anew: bool) -> None:
        """Show what is pinned at a node with these branches; ``anew`` when it is another one than before."""
        self._by_visit = isinstance(pin, tuple)
        self._pins = pin if isinstance(pin, tuple) else (pin,)
        while len(self._visits) > len(self._pins):
            gone = self._visits.pop()
            self._rows.removeWidget(gone)
            gone.hide()
            gone.deleteLater()
        while len(self._visits) < len(self._pins):
            number = len(self._visits)
            visit = _Visit(number, partial(self._change, number), partial(self._remove, number))
            self._visits.append(visit)
            self._rows.addWidget(visit)
            visit.show()
        for number, (visit, one) in enumerate(zip(self._visits, self._pins, strict=True), 1):
            visit.show_value(f"Visit {number}" if self._by_visit else "Each visit", branches, one, anew=anew)
            visit.remove_button.setVisible(len(self._pins) > 1)
        self._further.setVisible(self._by_visit)

    def _change(self, number: int, one: One) -> None:
        pins = [one if i == number else old for i, old in enumerate(self._pins)]
        self._set(pins, by_visit=self._by_visit)

    def _add(self) -> None:
        self._set([*self._pins, self._pins[-1]], by_visit=True)

    def _remove(self, number: int) -> None:
        """Of two values the other one is then for each visit again."""
        pins = [old for i, old in enumerate(self._pins) if i != number]
        self._set(pins, by_visit=len(pins) > 1)

    def _set(self, pins: Sequence[One], *, by_visit: bool) -> None:
        self._give(cast("Pin", tuple(pins)) if by_visit else pins[0])


class _Visit(QWidget):
    """The value of one visit."""

    def __init__(self, number: int, change: Callable[[One], None], remove: Callable[[], None]) -> None:
        super().__init__()
        self._number, self._change = number, change
        self._one: One = ""
        self._branches: Sequence[str] = ()
        self._result: _Result | None = None
        self._name = plain(role="label")
        self._name.setMinimumWidth(64)
        self.branch = Combo(least=4)
        self.branch.setObjectName(f"field.pin.{number}")
        self.branch.activated.connect(self._choose)
        self.remove_button = QToolButton()
        self.remove_button.setText("✕")
        self.remove_button.setObjectName(f"button.removeVisit.{number}")
        self.remove_button.setProperty("quiet", True)
        self.remove_button.setFixedWidth(24)
        self.remove_button.setToolTip("Pin nothing for this visit")
        self.remove_button.clicked.connect(lambda _: remove())
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self._name)
        head.addWidget(self.branch, 1)
        head.addWidget(self.remove_button)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)
        self._column.addLayout(head)

    def show_value(self, name: str, branches: Sequence[str], one: One, *, anew: bool) -> None:
        """Show this value under this name, also one that none of the branches stands for any more."""
        self._one, branch = one, _branch_of(one)
        self._name.setText(name)
        self.branch.setAccessibleName(name)
        self.remove_button.setAccessibleName(f"Remove {name.lower()}")
        with QSignalBlocker(self.branch):
            if branches != self._branches:
                self._branches = branches
                self.branch.clear()
                self.branch.addItems([*branches])
            known = branch in branches
            self.branch.setPlaceholderText("" if known else f"{branch} is missing")
            self.branch.setCurrentIndex(branches.index(branch) if known else -1)
        if isinstance(one, CaseResult):
            if self._result is None:
                self._result = _Result(self._number, self._change)
                self._column.addWidget(self._result)
                self._result.show()
            self._result.show_result(one, anew=anew)

    def _choose(self, index: int) -> None:
        self._change(_leading_to(self._one, self._branches[index]))


class _Result(QWidget):
    """What the pinned result of an action says, sets and adds."""

    def __init__(self, number: int, change: Callable[[One], None]) -> None:
        super().__init__()
        self._change = change
        self._result = CaseResult(status="success")
        self._fields: dict[str, Field] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 6)
        layout.setSpacing(8)
        for member, label, editor, example in (
            ("summary", "Summary", Line(), "What the action did, for people"),
            ("error", "Error", Line(), "Why it failed, for people"),
            ("properties", "State properties it sets", _json(_as_texts), _TEXTS),
            ("data", "Data items it adds", _json(_as_items), '[{"id": "mail", "source": …}]'),
        ):
            editor.setPlaceholderText(example)
            field = Field(f"pin.{number}.{member}", label, editor, self._edit)
            self._fields[member] = field
            layout.addWidget(field)

    def show_result(self, result: CaseResult, *, anew: bool) -> None:
        """Show this result."""
        self._result = result
        # Whatever came from JSON is compared as JSON has it, so that typing is not disturbed.
        values = {**result.model_dump(exclude_unset=True), "data": [_members(item) for item in result.data]}
        for member, field in self._fields.items():
            field.set_value(values.get(member) or None, anew=anew)
        self._fields["summary"].setVisible(result.status == "success")
        self._fields["error"].setVisible(result.status != "success")

    def _edit(self, name: str, value: object, _merge: str) -> None:
        self._change(_with(self._result, **{name.rpartition(".")[2]: value}))


_SHORT: Final = 36
_TEXTS: Final = '{"order": "A-17"}'
_ITEM: Final = '[{"id": "mail", "source": "crm", "type": "text", "content": "…"}]'


def _json(parse: Callable[[str], object]) -> Text:
    return Text(parse, _spelled, lines=1, mono=True)


def _spelled(value: object) -> str:
    """A value as JSON, on one line where that is short."""
    line = "" if value is None else json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _SHORT else spelled_json(value)


def _as_texts(text: str) -> object:
    """Texts by their names; an object of none means not set."""
    found = _read(text, dict, "an object of texts", _TEXTS)
    for name, value in found.items():
        if not isinstance(value, str):
            raise ValueError(f"'{name}' is no text; write its value in quotation marks.")  # noqa: TRY004
    return found or None


def _as_items(text: str) -> object:
    """Data items as their members; a list of none means not set."""
    found = _read(text, list, "a list of data items", _ITEM)
    return [_item(number, each) for number, each in enumerate(found, 1)] or None


def _read(text: str, kind: type[_Read], what: str, example: str) -> _Read:
    """The JSON, which is of this kind; nothing written is an empty one."""
    with suppress(ValueError):
        found = as_json(text)
        if found is None or isinstance(found, kind):
            return found or kind()
    raise ValueError(f"Write {what}, for example {example}.")


def _item(number: int, value: object) -> dict[str, object]:
    try:
        return _members(CaseData.model_validate(value))
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise ValueError(f"Item {number} {_FAULTS.get(fault['type'], _NO_ITEM).format(where)}") from None


def _members(item: CaseData) -> dict[str, object]:
    return item.model_dump(exclude_unset=True)


_NO_ITEM: Final = "is no object with id, source, type and content."
_FAULTS: Final = {
    "missing": "needs '{}'.",
    "extra_forbidden": "has '{}', which no data item has.",
    "string_type": "has a '{}' that is no text; write it in quotation marks.",
}
