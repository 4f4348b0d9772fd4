"""The breakpoints panel: where a run pauses or writes a line, when it does, and a form for the chosen one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from designer import theme
from designer.document.breakpoints import Breakpoint, Spot, breakpoints, put, remove
from designer.document.names import titles_of
from designer.forms import Column, Current, Empty, Field, Line, Pages, Refuse, Table, as_whole, plain
from designer.running import Hit, RunState, fault_of_condition, fault_of_message
from designer.workbench import Workbench

if TYPE_CHECKING:
    from designer.document.document import Document

_NAMES: Final = "Known by name: node, visit, answer, branch, and every property and data item."
_MORE: Final = (
    "node is where the run stands, visit which visit of it this is; answer is the answer given last, branch "
    'the branch taken last. What has no plain name is looked up: properties["order-id"], data["e-mail"]. '
    "In a line to write, names stand in braces: {amount}."
)


@dataclass(frozen=True)
class Row:
    """One breakpoint as the list shows it; ``hit`` where the run is paused at it."""

    breakpoint: Breakpoint
    where: str
    hit: Hit | None = None

    @property
    def when(self) -> str:
        """When it counts, and what it does other than to pause."""
        if self.hit is not None:
            return f"hit {self.hit.number}" if self.hit.number else "paused"
        words = when(self.breakpoint)
        return words if self.breakpoint.enabled else f"off, {words}"

    @property
    def sign(self) -> str:
        """The icon: a disc, an empty ring while it is off, a square where it only writes a line."""
        one = self.breakpoint
        return "breakpoint-off" if not one.enabled else "breakpoint-log" if one.message else "breakpoint"

    @property
    def tone(self) -> str | None:
        """The token of its colour."""
        return "accent" if self.hit else None if self.breakpoint.enabled else "secondary"


def when(one: Breakpoint) -> str:
    """When a breakpoint counts, in a few words, and that it only writes a line."""
    condition = one.condition.strip()
    words = (
        "writes a line" if one.message else "",
        f"{_ordinal(one.hits)} time" if one.hits else "",
        f"when {condition}" if condition else "",
    )
    return ", ".join(filter(None, words)) or "always"


def _ordinal(number: int) -> str:
    teens = number % 100 in {11, 12, 13}
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


class BreakpointsPanel(Pages):
    """A click or Enter goes to the node, Space or a click on the sign switches one off, Delete removes it."""

    def __init__(self, workbench: Workbench) -> None:
        columns = (
            Column[Row](
                "",
                lambda _: "",
                width=30,
                icon=lambda row: (row.sign, "accent" if row.hit else "bad"),
                tip=lambda row: f"Switch {'off' if row.breakpoint.enabled else 'on'}",
                press=self._switch,
            ),
            Column[Row]("Where", lambda row: row.where, tone=lambda row: row.tone),
            Column[Row]("When", lambda row: row.when, width=92, tone=lambda row: row.tone or "secondary"),
        )
        self.table = Table(columns, "Breakpoints", key=lambda row: row.breakpoint.spot)
        self.table.setItemDelegateForColumn(1, _Middle(self.table))
        self.form = _Form(self._change, partial(self._act, self._switch))
        page = QWidget()
        super().__init__(page, Empty("breakpoint", "", ""))
        self.setObjectName("panel.breakpoints")
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.form)
        self._workbench, self._running = workbench, workbench.running
        self._document: Document | None = None
        self._add_keys()
        self.table.opened.connect(self._go)
        self.table.chosen.connect(lambda _: self._show_chosen())
        self._current = Current(workbench, self)
        self._current.drafted.connect(lambda _: self._refresh())
        self._running.state_changed.connect(lambda _: self._note_hit())
        self._running.trail_changed.connect(lambda _: self._note_hit())
        self._current.announce()

    def _add_keys(self) -> None:
        """The keys belong to the list alone, whose menu shows them."""
        for text, key, act in (
            ("Go to node", "", self._go),
            ("On or off", "Space", self._switch),
            ("Remove", "Delete", self._remove),
        ):
            action = QAction(text, self.table)
            action.setShortcut(key)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(partial(self._act, act))
            self.table.addAction(action)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    # -- showing

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        document, hit = self._current.document, self._hit
        found = breakpoints(document.draft) if document else ()
        titles = titles_of(document.draft.tree) if document and found else {}
        rows = [
            Row(
                one,
                f"{titles[one.node]} → {one.branch}" if one.branch else titles[one.node],
                hit if hit and hit.breakpoint.spot == one.spot else None,
            )
            for one in found
        ]
        if document is not self._document:
            self._document = document
            self.table.show_rows(())
        before, at = list(self.table.rows), self.table.currentIndex().row()
        if rows != before:
            self.table.show_rows(rows)
            self._choose_again(before, at)
        self.show_content(rows)
        if document is None:
            self.empty.say("No tree is open", "The breakpoints of an open tree are listed here.")
        else:
            self.empty.say("No breakpoints", "Select a node and press F9. A run pauses before it.")

    def _choose_again(self, before: Iterable[object], at: int) -> None:
        """Choose one that is new, unless another is being changed; or what took the chosen one's place."""
        rows = [row for row in self.table.rows if isinstance(row, Row)]
        old = {row.breakpoint.spot for row in before if isinstance(row, Row)}
        new = [number for number, row in enumerate(rows) if row.breakpoint.spot not in old]
        # One that is called otherwise now is not new.
        if len(rows) > len(old) > 0 and new and not self.form.is_in_use():
            self.table.choose(new[-1])
        elif self.table.row is None and rows:
            self.table.choose(min(max(at, 0), len(rows) - 1))

    def _show_chosen(self) -> None:
        row = self.table.row
        self.form.show_row(row if isinstance(row, Row) else None)

    @property
    def _hit(self) -> Hit | None:
        """The breakpoint at which the run of this document is paused, or stands in its past."""
        running = self._running
        stands = running.past or running.state is RunState.PAUSED
        return running.hit if stands and running.document is self._workbench.current else None

    def _note_hit(self) -> None:
        shown = next((row.hit for row in self.table.rows if isinstance(row, Row) and row.hit), None)
        if shown != self._hit:
            self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    # -- changing

    def _act(self, act: Callable[[Row], None], *_: object) -> None:
        """Do it with the chosen breakpoint, if there is one."""
        if isinstance(self.table.row, Row):
            act(self.table.row)

    def _go(self, row: Row) -> None:
        document, node = self._current.document, row.breakpoint.node
        if document is not None:
            document.select([node])
            self._workbench.reveal_requested.emit(node)

    def _switch(self, row: Row) -> None:
        one = row.breakpoint
        self._put(
            f"Switch breakpoint {'off' if one.enabled else 'on'}", replace(one, enabled=not one.enabled)
        )

    def _remove(self, row: Row) -> None:
        document, spot = self._current.document, row.breakpoint.spot
        if document is not None:
            document.edit("Remove breakpoint", lambda draft: remove(draft, [spot]))

    def _change(self, member: str, value: object, merge: str) -> str | None:
        row, document = self.table.row, self._current.document
        if not isinstance(row, Row) or document is None:
            return None
        if document.read_only is None:
            changed: dict[str, Any] = {member: 0 if value is None else value}
            self._put("Edit breakpoint", replace(row.breakpoint, **changed), merge)
        return document.read_only

    def _put(self, label: str, wanted: Breakpoint, merge: str | None = None) -> None:
        if self._current.document is not None:
            self._current.document.edit(label, lambda draft: put(draft, wanted), merge)


class _Middle(QStyledItemDelegate):
    """Leaves out the middle of a text that is too long: of a branch, both node and branch stay readable."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideMiddle


class _Form(QWidget):
    """What can be said of the chosen breakpoint."""

    def __init__(self, change: Refuse, switch: Callable[[], None]) -> None:
        super().__init__()
        self._spot: Spot | None = None
        self._title = plain(wrap=True)
        self._title.setFont(theme.font(13, bold=True))
        self.on = QCheckBox("On")
        self.on.setObjectName("field.enabled")
        self.on.clicked.connect(lambda _: switch())
        self.fields: dict[str, Field] = {}
        for member, label, editor, example in (
            ("condition", "Only when", Line(_as_condition, mono=True), "always"),
            ("hits", "Only at hit number", Line(_as_hit, mono=True), "each one"),
            ("message", "Write a line instead of pausing", Line(_as_message), "{node} got {answer}"),
        ):
            editor.setPlaceholderText(example)
            self.fields[member] = Field(member, label, editor, change)
        names = plain(_NAMES, role="label", wrap=True)
        for widget in (names, self.fields["condition"].editor, self.fields["message"].editor):
            widget.setToolTip(_MORE)
        line = QFrame()
        line.setFrameShape(QFrame.Shape.HLine)
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self.on, 0, Qt.AlignmentFlag.AlignTop)
        below = QVBoxLayout()
        below.setContentsMargins(12, 8, 12, 12)
        below.setSpacing(9)
        below.addLayout(head)
        for field in self.fields.values():
            below.addWidget(field)
        below.addWidget(names)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(line)
        layout.addLayout(below)
        self.hide()

    def show_row(self, row: Row | None) -> None:
        """Show this breakpoint, or nothing; what is being typed stays while it is the same one."""
        self.setVisible(row is not None)
        if row is None:
            self._spot = None
            return
        one = row.breakpoint
        anew, self._spot = one.spot != self._spot, one.spot
        self._title.setText(row.where)
        self.on.setChecked(one.enabled)
        self.fields["condition"].set_value(one.condition, anew=anew)
        self.fields["hits"].set_value(one.hits or None, anew=anew)
        self.fields["message"].set_value(one.message, anew=anew)

    def is_in_use(self) -> bool:
        """Whether somebody is writing in it."""
        return any(field.editor.hasFocus() for field in self.fields.values())


def _as_condition(text: str) -> object:
    return _without(fault_of_condition(text), text if text.strip() else "")


def _as_message(text: str) -> object:
    return _without(fault_of_message(text), text if text.strip() else "")


def _as_hit(text: str) -> object:
    number = as_whole(text)
    return _without("Count from 1." if isinstance(number, int) and number < 1 else None, number)


def _without(fault: str | None, value: object) -> object:
    """The value, unless something is wrong with it."""
    if fault is not None:
        raise ValueError(fault)
    return value
