"""The panel of transcripts: those of the folder, or what was found in them, and one of them beside the list.

A transcript holds texts of models and documents. So no resource it names is ever loaded, no link is followed
unasked, and neither its size nor an endless word can stop the window.
"""

import asyncio
from datetime import datetime
from typing import Final

from PySide6.QtCore import QEvent, QFileSystemWatcher, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from designer.forms import Column, Empty, OwnUndo, Pages, Table
from designer.panels.transcripts.found import Found
from designer.panels.transcripts.reader import Reader
from designer.panels.transcripts.search import Hit
from designer.panels.transcripts.spells import Latest
from designer.workbench import Workbench
from engine import TranscriptInfo, list_transcripts

_TYPING_MS: Final = 250
_WRITING_MS: Final = 200
_ROOMY: Final = 350
"""Pixels a list needs for all of its columns."""


class TranscriptsPanel(Pages):
    """The list is read again whenever a run has written a transcript, and when the folder changes."""

    def __init__(self, workbench: Workbench) -> None:
        split = QSplitter(Qt.Orientation.Horizontal)
        super().__init__(
            split,
            Empty(
                "transcript",
                "No transcripts yet",
                "Run a tree: what was asked and answered is written down here.",
            ),
        )
        self.setObjectName("panel.transcripts")
        self._workbench = workbench
        self._all: tuple[TranscriptInfo, ...] = ()
        self._listing = Latest()
        self._stale, self._refreshing = True, False
        self.reader = Reader(workbench)
        self.table = _Shelf(
            (
                Column[TranscriptInfo]("Started", _short, width=108, mono=True, tip=lambda t: f"{t.when:%c}"),
                Column[TranscriptInfo]("Tree", lambda t: t.tree_id or t.path.stem, tip=lambda t: t.path.name),
                Column[TranscriptInfo](
                    "Ended", lambda t: t.outcome or "", width=84, tone=lambda _: "secondary"
                ),
                Column[TranscriptInfo]("Size", lambda t: size_in_words(t.size), width=66, mono=True),
            ),
            "Transcripts",
            key=lambda t: t.path,
        )
        self.found = Found()
        self.named = _field("Filter by name", "transcripts.filter")
        self.sought = _field("Search in all", "transcripts.search")
        fields = QHBoxLayout()
        fields.setContentsMargins(8, 6, 8, 4)
        fields.setSpacing(6)
        fields.addWidget(self.named, 2)
        fields.addWidget(self.sought, 3)
        self._lists = QStackedWidget()
        self._lists.addWidget(self.table)
        self._lists.addWidget(self.found)
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(fields)
        column.addWidget(self._lists, 1)
        split.addWidget(left)
        split.addWidget(self.reader)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        split.setSizes([410, 620])
        split.setStretchFactor(0, 2)
        split.setStretchFactor(1, 3)

        self._typed = QTimer(self, interval=_TYPING_MS, singleShot=True)
        self._typed.timeout.connect(self._search)
        self._written = QTimer(self, interval=_WRITING_MS, singleShot=True)
        self._written.timeout.connect(self.reload)
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(lambda _: self._written.start())
        workbench.stored.connect(self.reload)
        self.named.textChanged.connect(lambda _: self._filter())
        self.sought.textChanged.connect(lambda _: self._typed.start())
        self.sought.returnPressed.connect(self._go_to_found)
        self.table.chosen.connect(self._choose)
        self.table.activated.connect(lambda _: self.reader.view.setFocus())
        self.found.opened.connect(self._open)

    def reload(self) -> None:
        """Read the list again, now or when the panel is next seen."""
        self._stale = True
        if self.isVisible():
            self._stale = False
            self._listing.start(self._list())

    def event(self, event: QEvent) -> bool:
        # In here the key finds words of the transcript, whatever it finds elsewhere in the window.
        finds = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Find)
        if finds and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Find):
            self.reader.finding.open_bar()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.reload()

    async def _list(self) -> None:
        folder, before = self._workbench.transcripts_folder, self._all
        if not self._watcher.directories() and folder.is_dir():
            self._watcher.addPath(str(folder))
        self._all = await asyncio.to_thread(list_transcripts, folder, before)
        shown = self.reader.info
        now = next((info for info in self._all if shown and info.path == shown.path), None)
        self.show_content(self._all or shown)
        self._filter()
        if shown is None:
            if self._all and not before:
                self.table.choose(0)
        elif now is None:
            self.reader.say_gone()
        elif now != shown:
            self.reader.show_growth(now)

    def _filter(self) -> None:
        words = self.named.text().casefold().split()
        rows = [t for t in self._all if all(word in t.path.name.casefold() for word in words)]
        self._refreshing = True
        self.table.show_rows(rows)
        self._refreshing = False

    def _choose(self, info: TranscriptInfo | None) -> None:
        if info is not None and not self._refreshing:
            self.reader.show_file(info)

    def _search(self) -> None:
        words = self.sought.text()
        self._lists.setCurrentWidget(self.found if words else self.table)
        self.found.seek([t.path for t in self.table.rows if isinstance(t, TranscriptInfo)], words)

    def _open(self, hit: Hit) -> None:
        info = next((info for info in self._all if info.path == hit.path), None)
        if info is not None:
            self.reader.show_file(info, hit.at, self.sought.text())
            self.reader.view.setFocus()

    def _go_to_found(self) -> None:
        """Enter in the field: search at once, and go on in the list."""
        if self._typed.isActive():
            self._typed.stop()
            self._search()
        self.found.go_in()


class _Shelf(Table):
    """Says no sizes where there is no room for the name of the tree beside them."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.setColumnHidden(self.model().columnCount() - 1, self.viewport().width() < _ROOMY)
        super().resizeEvent(event)


def _short(info: TranscriptInfo) -> str:
    """When a run began, with the time of day where it is of this year."""
    return (
        f"{info.when:%d %b %H:%M}"
        if info.when.year == datetime.now().astimezone().year
        else f"{info.when:%d %b %Y}"
    )


def size_in_words(size: int) -> str:
    """A number of bytes in few digits."""
    for unit, bytes_ in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= bytes_:
            return f"{size / bytes_:.{0 if size >= 10 * bytes_ else 1}f} {unit}"
    return f"{size} B"


def _field(words: str, name: str) -> QLineEdit:
    made = QLineEdit()
    made.setObjectName(name)
    made.setPlaceholderText(words)
    made.setAccessibleName(words)
    made.setClearButtonEnabled(True)
    OwnUndo(made)
    return made
