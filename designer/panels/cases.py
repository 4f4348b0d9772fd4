"""The cases panel: the cases beside the tree, how each stands with it, and what came of running it."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from designer import dialogs
from designer.casework import Casework
from designer.document.cases import Entry, Standing
from designer.forms import Column, Empty, Pages, Table, plain
from designer.tasks import launch
from designer.workbench import Workbench
from engine.counting import counted

_STANDING: Final[dict[Standing, tuple[str, str, str]]] = {
    "valid": ("Still valid", "check", "good"),
    "movable": ("Can be migrated", "problem-warning", "warn"),
    "broken": ("Broken", "problem-error", "bad"),
    "open": ("Not known yet", "problem-info", "secondary"),
}
"""Words, icon and token of each standing."""
_TIPS: Final = {
    "runAll": "Run every case to its end, and compare",
    "runCase": "Run this case to its end, and compare",
    "addCases": "Write cases that take every branch which none takes yet",
    "migrate": "Write those cases anew that can follow what was edited",
}
_OUTCOMES: Final = {"BudgetExhausted": "budget used up", "Cancelled": "cancelled", "Failed": "failure"}
_TEACHING: Final = (
    "A case fixes answers and says what should come of a run. Add the missing cases to have every branch "
    "taken once, or keep what is pinned as a case under Answers."
)


class CasesPanel(QWidget):
    """A list of the cases; a click, or Enter, goes to the node at which a case breaks."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("panel.cases")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._workbench = workbench
        self.work = Casework(workbench, self)
        columns = (
            Column[Entry]("Case", lambda e: e.name, width=170),
            Column[Entry]("Expected", _expected, width=130, tone=lambda _: "secondary"),
            Column[Entry](
                "Now",
                self._state,
                icon=lambda e: _STANDING[e.standing][1:],
                tone=lambda e: None if e.standing == "valid" else _STANDING[e.standing][2],
            ),
            Column[Entry]("Last run", _tried, tone=_tried_tone),
        )
        self.table = Table(columns, "Cases", key=lambda e: (e.line.number, e.name))
        self.table.opened.connect(self._go)
        self.table.chosen.connect(lambda _: self._enable())
        self.words = plain(role="label", wrap=True)
        self.words.setObjectName("cases.words")
        self._pages = Pages(self.table, Empty("check", "", ""))
        self._buttons = {
            "runAll": self._button("runAll", "Run all", self.work.run),
            "runCase": self._button("runCase", "Run chosen", self._run_chosen),
            "addCases": self._button("addCases", "Add missing", self.work.add_missing),
            "migrate": self._button("migrate", "Migrate…", lambda: launch(self._ask_move())),
        }
        self._to_node = QAction("Go to node", self.table)
        self._to_node.triggered.connect(lambda _: self._go(self.table.row))
        self.table.addAction(self._to_node)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.stop = self._button("cancelCases", "Cancel", self.work.cancel)
        bar = QHBoxLayout()
        bar.setContentsMargins(10, 6, 10, 6)
        bar.setSpacing(6)
        for button in self._buttons.values():
            bar.addWidget(button)
        bar.addSpacing(8)
        bar.addWidget(self.words, 1)
        bar.addWidget(self.stop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self._pages, 1)
        self.work.changed.connect(self._refresh)
        self._refresh()

    @property
    def empty(self) -> Empty:
        """What is said while there are no cases."""
        return self._pages.empty

    def _button(self, name: str, text: str, press: Callable[[], object]) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(f"button.{name}")
        button.setAutoDefault(False)
        button.clicked.connect(lambda _: press())
        return button

    # -- showing

    def _refresh(self) -> None:
        work = self.work
        entries, counts = work.listed.entries, work.listed.counts
        if self.table.rows is not entries:
            self.table.show_rows(entries)
        self._pages.show_content(entries)
        if self._workbench.current is None:
            self.empty.say("No tree is open", "The cases beside an open tree are listed here.")
        elif work.trouble:
            self.empty.say("No cases can be shown", work.trouble)
        else:
            self.empty.say("No cases yet", _TEACHING)
        self.words.setText(work.progress or " ".join(filter(None, (work.said, self._summary()))))
        self.stop.setVisible(bool(work.progress))
        broken = counts.get("broken", 0)
        self.setWindowTitle(f"Cases · {broken} broken" if broken else "Cases")
        self._enable()

    def _enable(self) -> None:
        """Let be pressed what may be, and have everything else say why not."""
        work, row = self.work, self.table.row
        chosen = row if isinstance(row, Entry) else None
        no_case = None if chosen else "Choose a case first."
        reasons = {
            "runAll": work.may_run(),
            "runCase": work.may_run() or no_case,
            "addCases": work.may_add(),
            "migrate": work.may_move(),
        }
        for name, reason in reasons.items():
            self._buttons[name].setEnabled(reason is None)
            self._buttons[name].setToolTip(reason or _TIPS[name])
        self._to_node.setEnabled(chosen is not None and chosen.node is not None)

    def _summary(self) -> str:
        listed, total = self.work.listed, len(self.work.listed.entries)
        if not total:
            return ""
        parts = [f"{listed.counts[s]} {_STANDING[s][0].lower()}" for s in _STANDING if s in listed.counts]
        branches = counted(self.work.total, "branch", "branches")
        taken = f" They take {len(listed.taken)} of {branches}." if self.work.sound else ""
        return f"{counted(total, 'case')}: {', '.join(parts)}.{taken}"

    def _state(self, entry: Entry) -> str:
        words, reason = _STANDING[entry.standing][0], entry.reason
        if entry.standing == "open":
            reason = reason or ("It runs code of the project." if self.work.sound else "The tree has errors.")
        where = f" at {entry.where}" if entry.where else ""
        return f"{words}{where}: {reason}" if reason else words

    # -- doing

    def _run_chosen(self) -> None:
        row = self.table.row
        if isinstance(row, Entry):
            self.work.run(row)

    def _go(self, row: object) -> None:
        document = self._workbench.current
        if isinstance(row, Entry) and row.node is not None and document is not None:
            document.select([row.node])
            self._workbench.reveal_requested.emit(row.node)

    async def _ask_move(self) -> None:
        movable, path = [entry for entry in self.work.listed.entries if entry.case], self.work.path
        if path is None:
            return
        many = counted(len(movable), "case")
        if await dialogs.ask(
            self.window(),
            f"Migrate {many}?",
            f"They are written anew in {path.name}. All other lines stay as they are.",
            ("Migrate", "Cancel"),
            detail="\n".join(f"{entry.name}: {entry.reason}" for entry in movable),
        ):
            self.work.move()

    # -- Qt

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.work.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.work.watch(False)


def _expected(entry: Entry) -> str:
    """What should come of the case, in a few words."""
    expected = entry.line.expected
    outcome = expected.outcome and _OUTCOMES.get(expected.outcome, expected.outcome)
    if expected.verdict is not None:
        return f"{expected.verdict}, after unknown" if expected.outcome == "Unknown" else expected.verdict
    return outcome or ("a path" if expected.path else "answers" if expected.answers else "")


def _tried(entry: Entry) -> str:
    """What came of the last run."""
    if entry.tried is None:
        return ""
    before = "" if entry.lately else ", before the last edit"
    return f"Passed{before}" if entry.tried.passed else f"Failed{before}. {entry.tried.difference}"


def _tried_tone(entry: Entry) -> str | None:
    return "secondary" if not entry.lately else None if entry.tried and entry.tried.passed else "bad"
