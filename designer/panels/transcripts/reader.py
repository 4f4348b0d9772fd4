"""One transcript: its sections, the page that is looked at, and what can be done with it."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable
from html import escape
from typing import Final

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QSizePolicy, QSplitter, QVBoxLayout, QWidget

from designer import dialogs, theme
from designer.forms import Empty, Pages, plain
from designer.panels.transcripts.finding import Finding, button
from designer.panels.transcripts.markdown import spelled
from designer.panels.transcripts.search import Hit
from designer.panels.transcripts.section_list import SectionList
from designer.panels.transcripts.sections import Page, Section, read, scan
from designer.panels.transcripts.spells import Latest, in_spells
from designer.panels.transcripts.view import Spot, TranscriptView
from designer.running import ListedRun
from designer.tasks import is_running
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
        self.scanned = False
        self._spot: Spot | None = None
        self._scanning, self._showing, self._asked = Latest(), Latest(), Latest()
        self.sections = SectionList()
        self.view = TranscriptView()
        self.finding = Finding(lambda: self.view.place)

        self._name = _Name()
        self._count = plain(role="label")
        self._earlier = button("Earlier", "button.earlier", lambda: self._turn(-1))
        self._later = button("Later", "button.later", lambda: self._turn(1))
        copy = button("Copy", "button.copyMarkdown", self.copy_markdown)
        copy.setToolTip("The selected lines, or else the section, as Markdown")
        self._more = button("More", "button.more", self._open_menu)
        self._menu = QMenu(self)
        self._run = self._verb("Show the &run", "transcript.run", self._show_run)
        self._records = self._verb("Show its re&cords", "transcript.records", self._show_records)
        self._verb("Open the &folder", "transcript.folder", self._open_folder)
        head = QHBoxLayout()
        head.setContentsMargins(14, 5, 8, 3)
        head.setSpacing(4)
        head.addWidget(self._name, 1)
        for widget in (self._earlier, self._count, self._later, copy, self._more):
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
        split.setSizes([160, 460])
        split.setStretchFactor(1, 1)

        self.sections.chosen.connect(lambda section: self._go(Spot(section.at)))
        self.view.placed.connect(self.sections.follow)
        self.view.address_chosen.connect(lambda address: self._asked.start(self._open_address(address)))
        self.finding.reached.connect(self._go_to_hit)
        self.finding.closed.connect(self.view.setFocus)
        theme.signals.changed.connect(self._draw_again)
        workbench.running.runs_changed.connect(self._refresh_verbs)

    def show_file(self, info: TranscriptInfo | None, at: int = 0, words: str = "") -> None:
        """Show a transcript at a byte of it, and these words there."""
        self._show(info)
        self.finding.show_file(info.path if info else None, at, words)
        if info is not None:
            self._scanning.start(self._scan(info))
            self._go(Spot(at, words))

    def show_growth(self, info: TranscriptInfo) -> None:
        """The shown file has been written to: show it as it is now, at the same place."""
        self.show_file(info, self.view.place)

    def say_gone(self) -> None:
        """The shown file is no more."""
        self._say(FileNotFoundError())

    def copy_markdown(self) -> None:
        """Copy the selected lines, or else the section that is looked at, as they stand in the file."""
        if selected := self.view.selected_markdown:
            QGuiApplication.clipboard().setText(selected)
        elif self.info is not None:
            self._asked.start(self._copy_section(self.info))

    def _show(self, info: TranscriptInfo | None) -> None:
        """Make room for a transcript."""
        for work in (self._scanning, self._showing, self._asked):
            work.stop()
        self.info, self._pages, self._page, self.scanned = info, [], None, False
        self.sections.clear_sections()
        self.view.clear_page()
        self.empty.say(*_NOTHING)
        self.show_content(info)
        self._name.show_name(info.path.name if info else "")
        self._refresh_verbs()
        self._refresh_turns()

    def _say(self, error: OSError) -> None:
        self._show(None)
        self.finding.show_file(None, 0)
        if isinstance(error, FileNotFoundError):
            self.empty.say("This transcript is gone", "It was moved or erased.")
        else:
            self.empty.say("This transcript cannot be read", f"{error.strerror or type(error).__name__}.")

    async def _scan(self, info: TranscriptInfo) -> None:
        try:
            async for found in in_spells(scan(info.path)):
                self.sections.add([part for part in found if isinstance(part, Section)])
                self._pages += [part for part in found if isinstance(part, Page)]
                self._serve()
        except OSError as error:
            self._say(error)
            return
        self.scanned = True
        self._serve()

    def _go(self, spot: Spot) -> None:
        """Look at a spot as soon as it is known which page it is on."""
        self._spot = spot
        self._serve()

    def _serve(self) -> None:
        self._refresh_turns()
        spot, info = self._spot, self.info
        if spot is None or info is None or not self._pages:
            return
        if spot.at >= self._pages[-1].end and not self.scanned:
            return
        self._spot = None
        page = self._pages[self._number(spot.at)]
        if page == self._page:
            self.view.look_at(spot)
        else:
            self._showing.start(self._show_page(info, page, spot))

    async def _show_page(self, info: TranscriptInfo, page: Page, spot: Spot) -> None:
        try:
            data = await asyncio.to_thread(read, info.path, page.start, page.end)
        except OSError as error:
            self._say(error)
            return
        self._page = page
        self._refresh_turns()
        await self.view.draw(page, data, spot)

    async def _copy_section(self, info: TranscriptInfo) -> None:
        start, end = self._section()
        try:
            data = await asyncio.to_thread(read, info.path, start, min(end, start + COPIED))
        except OSError as error:
            self._say(error)
            return
        QGuiApplication.clipboard().setText(data.decode("utf-8", "replace"))
        if end - start > COPIED:
            self._workbench.trouble.emit(f"Only the first {COPIED >> 20} MB of this section were copied.")

    def _section(self) -> tuple[int, int]:
        """Where the section that is looked at begins and ends, with those in it; without any, the page."""
        sections, number = self.sections.sections, self.sections.current
        if number is None:
            return (self._page.start, self._page.end) if self._page else (0, 0)
        this = sections[number]
        end = self._pages[-1].end if self.scanned else this.at + COPIED
        return this.at, next((x.at for x in sections[number + 1 :] if x.level <= this.level), end)

    def _number(self, at: int) -> int:
        """The number of the page this byte is on."""
        return max(0, bisect_right(self._pages, at, key=lambda page: page.start) - 1)

    def _turn(self, by: int) -> None:
        if self._page is not None:
            self._go(Spot(self._pages[self._number(self._page.start) + by].start))

    def _go_to_hit(self, hit: Hit) -> None:
        self._go(Spot(hit.at, self.finding.words))

    def _refresh_turns(self) -> None:
        number = self._number(self._page.start) if self._page else 0
        for widget in (self._earlier, self._count, self._later):
            widget.setVisible(len(self._pages) > 1)
        more = "" if self.scanned else "…"
        self._count.setText(f"{number + 1:,} of {len(self._pages):,}{more}")
        self._earlier.setEnabled(number > 0)
        self._later.setEnabled(number + 1 < len(self._pages))

    def _refresh_verbs(self) -> None:
        known = self.info is not None and self.info.execution_id is not None
        self._records.setEnabled(known)
        self._run.setEnabled(self._run_of() is not None)

    def _run_of(self) -> ListedRun | None:
        """The run of this session that wrote the transcript."""
        wanted = self.info.execution_id if self.info else None
        runs = reversed(self._workbench.running.runs) if wanted else ()
        return next((run for run in runs if run.trail.execution_id == wanted), None)

    def _verb(self, text: str, name: str, act: Callable[[], object]) -> QAction:
        verb = self._menu.addAction(text)
        verb.setObjectName(name)
        verb.triggered.connect(lambda _checked: act())
        return verb

    def _open_menu(self) -> None:
        self._refresh_verbs()
        self._menu.popup(self._more.mapToGlobal(self._more.rect().bottomLeft()))

    def _show_run(self) -> None:
        run, running = self._run_of(), self._workbench.running
        if run is None or run is running.shown:
            return
        if running.active:
            self._workbench.trouble.emit("Stop the run first; then another one can be shown.")
            return
        self._workbench.show_document(run.document)
        running.show_run(run)

    def _show_records(self) -> None:
        if self.info is not None:
            self._workbench.records_requested.emit(self.info.execution_id)

    def _open_folder(self) -> None:
        if self.info is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.info.path.parent)))

    async def _open_address(self, address: str) -> None:
        # In the letters of the network: a name that only looks like another one shows what it is.
        seen = QUrl(address).toString(QUrl.ComponentFormattingOption.FullyEncoded)
        if await dialogs.ask(
            self,
            "Open this address?",
            "It stands in the transcript, so a model or a document may have written it.",
            ("Open", "Cancel"),
            detail=seen,
        ):
            QDesktopServices.openUrl(QUrl(address))

    def _draw_again(self, _mode: object) -> None:
        if self._page is not None and is_running():
            self._showing.start(self.view.draw_again())


_NOTHING: Final = ("No transcript is chosen", "Choose one from the list.")


class _Name(QLabel):
    """The name of a file, as much of it as there is room for."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", "label")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._whole = ""

    def show_name(self, name: str) -> None:
        self._whole = spelled(name)
        self.setToolTip(f"<p>{escape(self._whole)}</p>" if name else "")
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setText(self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideMiddle, self.width()))
