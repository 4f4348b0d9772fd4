"""One transcript: its sections, the page that is looked at, and what can be done with it."""

import asyncio
import errno
from bisect import bisect_right
from collections.abc import Coroutine, Sequence
from typing import Final

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from designer import dialogs, theme
from designer.forms import Empty, Pages, plain
from designer.panels.transcripts.finding import Finding, button
from designer.panels.transcripts.markdown import Line, lines_of
from designer.panels.transcripts.search import Hit, pattern_of
from designer.panels.transcripts.section_list import SectionList
from designer.panels.transcripts.sections import Page, Section, read, scan
from designer.panels.transcripts.spells import in_spells
from designer.panels.transcripts.view import Spot, TranscriptView
from designer.running import ListedRun
from designer.tasks import launch
from designer.workbench import Workbench
from engine import TranscriptInfo

COPIED: Final = 1 << 24
"""Bytes that are copied at most."""


class Reader(Pages):
    """Shows a transcript at any of its places. Only the page that is looked at is read and drawn."""

    def __init__(self, workbench: Workbench) -> None:
        split = QSplitter(Qt.Orientation.Horizontal)
        super().__init__(split, Empty("transcript", *_NOTHING))
        self._workbench = workbench
        self.info: TranscriptInfo | None = None
        self._pages: list[Page] = []
        self._page: Page | None = None
        self._data = b""
        self._spot: Spot | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.sections = SectionList()
        self.view = TranscriptView()
        self.finding = Finding(lambda: self.view.place)

        self._name = plain(role="label", mono=True)
        self._name.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._name.setMinimumWidth(1)
        self._count = plain(role="label")
        self._earlier = button("Earlier", "button.earlier", lambda: self._turn(-1))
        self._later = button("Later", "button.later", lambda: self._turn(1))
        copy = button("Copy as Markdown", "button.copyMarkdown", self.copy_markdown)
        copy.setToolTip("The selected lines, or else the section")
        self._run = button("Show run", "button.showRun", self._show_run)
        self._records = button("Show records", "button.showRecords", self._show_records)
        folder = button("Open folder", "button.openFolder", self._open_folder)
        head = QHBoxLayout()
        head.setContentsMargins(14, 5, 8, 3)
        head.setSpacing(4)
        head.addWidget(self._name, 1)
        for widget in (self._earlier, self._count, self._later, copy, self._run, self._records, folder):
            head.addWidget(widget)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.finding)
        column.addWidget(self.view, 1)
        split.addWidget(self.sections)
        split.addWidget(page)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        split.setSizes([210, 700])
        split.setStretchFactor(1, 1)

        self.sections.chosen.connect(lambda section: self._go(Spot(section.at)))
        self.view.placed.connect(self.sections.follow)
        self.view.address_chosen.connect(lambda address: self._do("address", self._open_address(address)))
        self.finding.reached.connect(self._go_to_hit)
        self.finding.closed.connect(self.view.setFocus)
        theme.signals.changed.connect(lambda _: self._draw_again())
        workbench.running.runs_changed.connect(self._refresh_verbs)

    def show_file(self, info: TranscriptInfo | None, at: int = 0, words: str = "") -> None:
        """Show a transcript at a byte of it; with ``words``, those that are found there."""
        for task in self._tasks.values():
            task.cancel()
        self.info, self._pages, self._page, self._data = info, [], None, b""
        self.sections.clear_sections()
        self.view.clear_lines()
        self.show_content(info)
        self.empty.say(*_NOTHING)
        self._name.setText(info.path.name if info else "")
        self._name.setToolTip("" if info is None else info.path.name)
        self._refresh_verbs()
        self._refresh_turns()
        self.finding.show_file(info.path if info else None, at, words)
        if info is not None:
            self._do("scan", self._scan(info))
            if not words:
                self._go(Spot(at))

    def show_growth(self, info: TranscriptInfo) -> None:
        """The shown file has been written to: show it as it is now, at the same place."""
        self.show_file(info, self.view.place, self.finding.words)

    def say_gone(self) -> None:
        """The shown file is no more."""
        self._say(FileNotFoundError(errno.ENOENT, ""))

    def copy_markdown(self) -> None:
        """Copy the selected lines, or else the section that is looked at, as they stand in the file."""
        if self.info is not None:
            self._do("copy", self._copy(self.info))

    async def _scan(self, info: TranscriptInfo) -> None:
        try:
            async for found in in_spells(scan(info.path)):
                self.sections.add([part for part in found if isinstance(part, Section)])
                self._pages += [part for part in found if isinstance(part, Page)]
                self._serve()
                self._refresh_turns()
        except OSError as error:
            self._say(error)
            return
        self._serve(ended=True)

    def _go(self, spot: Spot) -> None:
        """Look at a spot, as soon as it is known which page it is on."""
        self._spot = spot
        self._serve()

    def _serve(self, *, ended: bool = False) -> None:
        spot = self._spot
        if spot is None or not self._pages or self.info is None:
            return
        page = self._pages[max(0, bisect_right(self._pages, spot.at, key=lambda page: page.start) - 1)]
        if spot.at >= page.end and not ended and page is self._pages[-1]:
            scanning = self._tasks.get("scan")
            if scanning is not None and not scanning.done():
                return
        self._spot = None
        if page is self._page:
            self.view.look_at(self._counted(spot))
        else:
            self._do("page", self._show_page(self.info, page, spot))

    async def _show_page(self, info: TranscriptInfo, page: Page, spot: Spot) -> None:
        try:
            self._data = await asyncio.to_thread(read, info.path, page.start, page.end)
        except OSError as error:
            self._say(error)
            return
        self._page = page
        self._refresh_turns()
        await self.view.draw(self._lines(page), self._counted(spot))

    def _lines(self, page: Page) -> Iterator[Line]:
        return lines_of(self._data, page.start, page.fence)

    def _counted(self, spot: Spot) -> Spot:
        """The spot with the number of the same words before it in its line."""
        if not spot.words or self._page is None:
            return spot
        before = self._data[: spot.at - self._page.start]
        line = before[max(before.rfind(b"\n") + 1, len(before) - LONGEST) :].decode("utf-8", "replace")
        return replace(spot, number=len(pattern_of(spot.words).findall(line)))
