"""The requests of a run: what was sent to the model at each attempt, what came back, and what did not fit."""

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter

from designer.document.names import titles_of
from designer.document.wording import unused
from designer.forms import Column, Empty, Listing, Pages, Table
from designer.workbench import Workbench
from engine import AttemptCompleted, Tree

_SHOWN: Final = 200_000
"""Characters of a request that are shown; the transcript has all of them."""
_WHO: Final = {"system": "Instructions", "user": "Question", "assistant": "Answer before"}


@dataclass(frozen=True)
class Row:
    """One attempt as the list shows it."""

    number: int
    title: str
    event: AttemptCompleted

    @property
    def reply(self) -> str:
        """What came back, after why it could not be used."""
        attempt = self.event.attempt
        why = f"Not used, {unused(attempt.rejected)}: " if attempt.rejected else ""
        return f"{why}{attempt.content or '(nothing)'}"

    @property
    def left_out(self) -> str:
        """How many messages of the conversation did not fit."""
        dropped = self.event.attempt.dropped_messages
        return f"{dropped} left out" if dropped else ""


class RequestsPanel(Pages):
    """A list of attempts, the chosen one in full beside it; it follows the newest of the shown moment."""

    def __init__(self, workbench: Workbench) -> None:
        columns = (
            Column[Row]("Question", lambda row: row.title, width=170),
            Column[Row]("Try", lambda row: str(row.event.attempt.number), width=40, mono=True),
            Column[Row]("Tokens", lambda row: str(row.event.attempt.prepared_tokens), width=62, mono=True),
            Column[Row]("Context", lambda row: row.left_out, width=84, tone=lambda _: "warn"),
            Column[Row](
                "Reply",
                lambda row: row.reply,
                tone=lambda row: "warn" if row.event.attempt.rejected else None,
            ),
        )
        self.table = Table(columns, "Requests", key=lambda row: row.number)
        self.text = Listing()
        self.text.setObjectName("requests.text")
        self.text.setAccessibleName("The request and its reply")
        self.text.setLineWrapMode(Listing.LineWrapMode.WidgetWidth)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        split.addWidget(self.table)
        split.addWidget(self.text)
        split.setSizes([520, 480])
        super().__init__(
            split,
            Empty(
                "transcript",
                "Nothing was asked yet",
                "Each request to a model is shown here with its reply. People and cases get none.",
            ),
        )
        self.setObjectName("panel.requests")
        self._running = workbench.running
        self._seen: tuple[object, int] | None = None
        self.table.chosen.connect(self._show)
        workbench.running.trail_changed.connect(lambda _: self._refresh())
        self._refresh()

    def _refresh(self) -> None:
        running = self._running
        seen = (running.shown, len(running.events))
        if seen == self._seen:
            return
        self._seen = seen
        titles = titles_of(running.trail.tree or Tree())
        rows = [
            Row(number, titles.get(event.node, event.node), event)
            for number, event in enumerate(running.events)
            if isinstance(event, AttemptCompleted) and event.attempt.messages
        ]
        if [row.number for row in rows] != [row.number for row in self.table.rows]:  # type: ignore[attr-defined]
            self.table.show_rows(rows)
            if rows:
                self.table.choose(len(rows) - 1)
        self.show_content(rows)

    def _show(self, row: Row | None) -> None:
        self.text.setPlainText("" if row is None else _told(row.event))


def _told(event: AttemptCompleted) -> str:
    attempt = event.attempt
    parts = [(_WHO.get(message.role, message.role), message.content) for message in attempt.messages]
    parts.append(("Reply", attempt.content or "(nothing)"))
    if attempt.rejected:
        parts.append(("Not used", f"The reply could not be used: {unused(attempt.rejected)}."))
    return "\n\n".join(f"{who}\n{text}" for who, text in parts)[:_SHOWN]
