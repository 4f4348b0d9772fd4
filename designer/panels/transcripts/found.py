"""What was found in all transcripts: line by line while it is sought, newest transcript first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from designer.forms import Column, Table, plain
from designer.panels.transcripts.finding import button
from designer.panels.transcripts.search import Hit, Searched, search
from designer.panels.transcripts.spells import Latest, in_spells

MOST: Final = 5_000
"""Hits that are listed."""


class Found(QWidget):
    """A list of hits with the progress of the search above it, and a button that ends it."""

    opened = Signal(object)
    """The :class:`Hit` a person clicked or pressed Enter on."""

    def __init__(self) -> None:
        super().__init__()
        self._hits: list[Hit] = []
        self._work = Latest()
        self.progress = plain(role="label")
        self.cancel = button("Cancel", "button.cancelSearch", self.stop)
        self.table = Table(
            (
                Column[Hit](
                    "Started",
                    lambda hit: _started(hit.path),
                    width=138,
                    mono=True,
                    tip=lambda hit: hit.path.name,
                ),
                Column[Hit]("Line", lambda hit: hit.line),
            ),
            "Found lines",
            key=lambda hit: (hit.path, hit.at),
        )
        head = QHBoxLayout()
        head.setContentsMargins(10, 0, 8, 2)
        head.addWidget(self.progress, 1)
        head.addWidget(self.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.table, 1)
        self.table.opened.connect(self.opened)

    def seek(self, paths: Sequence[Path], words: str) -> None:
        """List where these words are in these files; without words nothing."""
        self.stop()
        self._hits = []
        self.table.show_rows(())
        if words:
            self.progress.setText("Searching…")
            self.cancel.show()
            self._work.start(self._seek(paths, words))

    def stop(self) -> None:
        """Leave it at what was found."""
        if self._work.going:
            self._work.stop()
            self.cancel.hide()
            self.progress.setText(f"Stopped, {len(self._hits):,} found")

    def go_in(self) -> None:
        """Have keys go to the list."""
        self.table.setFocus()
        if self.table.row is None and self._hits:
            self.table.choose(0)

    async def _seek(self, paths: Sequence[Path], words: str) -> None:
        files = 0
        async for found in in_spells(search(paths, words)):
            hits = [each for each in found if isinstance(each, Hit)]
            files = max((each.files for each in found if isinstance(each, Searched)), default=files)
            full = len(self._hits) + len(hits) > MOST
            self._hits += hits[: MOST - len(self._hits)]
            if hits:
                self.table.show_rows(tuple(self._hits))
            number = f"The first {MOST:,} found" if full else f"{len(self._hits):,} found"
            done = files == len(paths)
            where = f"{files:,}" if done or full else f"{files:,} of {len(paths):,}"
            self.progress.setText(f"{number} in {where} {'transcript' if where == '1' else 'transcripts'}")
            if full:
                break
        self.cancel.hide()


def _started(path: Path) -> str:
    """When the run of a transcript began, as its name tells it."""
    day, time, *_ = path.name.split("-")
    return f"{day[:4]}-{day[4:6]}-{day[6:]} {time[:2]}:{time[2:4]}"
