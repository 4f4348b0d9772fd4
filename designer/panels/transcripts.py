"""The transcripts: what runs wrote, newest first, and one of them shown so that nothing in it can do harm.

A transcript holds texts of models and documents. So no resource it names is ever loaded, no markup but
Markdown is read, no link is followed, and neither its size nor an endless word can stop the window.
"""

import asyncio
import os
import re
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QGuiApplication, QImage, QShowEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSplitter, QTextBrowser, QVBoxLayout, QWidget

from designer import theme
from designer.forms import Column, Empty, OwnUndo, Pages, Table, plain
from designer.tasks import launch
from designer.workbench import Workbench
from engine import TranscriptInfo, list_transcripts

PAGE: Final = 1 << 18
"""Bytes of one page; laying out one takes a moment, laying out a megabyte more than that."""
LONGEST: Final = 2000
"""Characters of a word; Qt's layout takes time with the square of its length."""

_ENDLESS: Final = re.compile(rf"\S{{{LONGEST}}}(?=\S)")


def read_page(path: Path, number: int) -> tuple[str, int]:
    """One page of a file (counted from 0), cut at line ends, and how many pages there are."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start, end = (
            _line_start(file.fileno(), number * PAGE),
            _line_start(file.fileno(), (number + 1) * PAGE),
        )
        text = os.pread(file.fileno(), end - start, start).decode("utf-8", "replace")
    return text, max(1, -(-size // PAGE))


def harmless(text: str) -> str:
    """The text with endless words broken."""
    return _ENDLESS.sub(lambda match: f"{match.group()} ", text.replace("\0", "\ufffd"))


def _line_start(file: int, at: int) -> int:
    """Where the first line begins that starts at or after this byte."""
    if at == 0:
        return 0
    chunk = os.pread(file, PAGE, at - 1)
    cut = chunk.find(b"\n")
    return at if cut < 0 else at + cut


class MarkdownView(QTextBrowser):
    """Shows Markdown and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        OwnUndo(self)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Transcript")
        self.document().setDocumentMargin(14)
        self.setStyleSheet("QTextBrowser { border: none; border-radius: 0; padding: 0; }")

    def show_text(self, text: str) -> None:
        """Show this text from its beginning."""
        features = (
            QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
        )
        self.document().setDefaultFont(theme.font(12))
        self.document().setMarkdown(harmless(text), features)
        _space_out(self.document())
        self.verticalScrollBar().setValue(0)

    def loadResource(self, type: int, name: QUrl | str) -> QImage:
        # A real image for everything: for an empty answer Qt opens the file itself, and a pipe or
        # /dev/zero never ends.
        image = QImage(1, 1, QImage.Format.Format_ARGB32)
        image.fill(0)
        return image


class TranscriptsPanel(Pages):
    """The list on the left, the transcript on the right; it is read again whenever a run has written one."""

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
        self._reading: asyncio.Task[None] | None = None
        self._listing: asyncio.Task[None] | None = None
        self._stale, self._page, self._pages = True, 0, 1
        self.table = Table(
            (
                Column[TranscriptInfo](
                    "Started", lambda t: f"{t.when:%Y-%m-%d %H:%M:%S}", width=166, mono=True
                ),
                Column[TranscriptInfo]("Tree", lambda t: t.tree_id or t.path.stem),
                Column[TranscriptInfo](
                    "Ended", lambda t: t.outcome or "", width=130, tone=lambda _: "secondary"
                ),
            ),
            "Transcripts",
            key=lambda t: t.path,
        )
        self.view = MarkdownView()
        self._where = plain(role="label", mono=True)
        self._where.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._copy = _button("Copy path", "button.copyPath")
        self._copy.clicked.connect(self._copy_path)
        self._back, self._on = _button("Earlier", "button.earlier"), _button("Later", "button.later")
        self._back.clicked.connect(lambda: self._turn(-1))
        self._on.clicked.connect(lambda: self._turn(1))
        self._count = plain(role="label")
        right = QWidget()
        head = QHBoxLayout()
        head.setContentsMargins(14, 6, 10, 4)
        head.addWidget(self._where)
        head.addStretch(1)
        for widget in (self._back, self._count, self._on, self._copy):
            head.addWidget(widget)
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.view)
        split.addWidget(self.table)
        split.addWidget(right)
        split.setHandleWidth(1)
        split.setChildrenCollapsible(False)
        split.setStretchFactor(0, 2)
        split.setStretchFactor(1, 3)
        self.table.chosen.connect(self._show)
        workbench.stored.connect(self.reload)

    def reload(self) -> None:
        """Read the list again, now or when the panel is next seen."""
        self._stale = True
        if self.isVisible():
            self._stale = False
            _cancel(self._listing)
            self._listing = launch(self._list())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.reload()

    async def _list(self) -> None:
        found = await asyncio.to_thread(list_transcripts, self._workbench.transcripts_folder)
        self.table.show_rows(found)
        self.show_content(found)
        if found and self.table.row is None:
            self.table.choose(0)

    def _show(self, transcript: TranscriptInfo | None) -> None:
        self._page = 0
        self._where.setText(transcript.path.name if transcript else "")
        self._copy.setEnabled(transcript is not None)
        self._turn(0)

    def _turn(self, by: int) -> None:
        self._page += by
        _cancel(self._reading)
        transcript = self.table.row
        if isinstance(transcript, TranscriptInfo):
            self._reading = launch(self._read(transcript.path, self._page))
        else:
            self.view.show_text("")

    async def _read(self, path: Path, number: int) -> None:
        try:
            text, self._pages = await asyncio.to_thread(read_page, path, number)
        except OSError as error:
            text, self._pages = f"This file cannot be read: {error.strerror or type(error).__name__}.", 1
        self.view.show_text(text)
        several = self._pages > 1
        for widget in (self._back, self._count, self._on):
            widget.setVisible(several)
        self._count.setText(f"Page {number + 1} of {self._pages}")
        self._back.setEnabled(number > 0)
        self._on.setEnabled(number + 1 < self._pages)

    def _copy_path(self) -> None:
        transcript = self.table.row
        if isinstance(transcript, TranscriptInfo):
            QGuiApplication.clipboard().setText(str(transcript.path))


def _space_out(document: QTextDocument) -> None:
    """Air around headings, and between a text and the list after it; Qt's Markdown leaves none."""
    block, cursor = document.begin(), QTextCursor(document)
    # As one edit: the text is laid out after it, not after each line.
    cursor.beginEditBlock()
    while block.isValid():
        look, after = block.blockFormat(), block.next()
        heading, listed = look.headingLevel() > 0, block.textList() is not None
        begins = block.previous().isValid() and (heading or block.previous().textList() is None)
        ends = heading or not after.isValid() or after.textList() is None
        # Not each item: Qt looks through a whole list for it.
        if heading or (listed and (begins or ends)):
            look.setTopMargin((16 if heading else 6) if begins else 0)
            look.setBottomMargin(6 if ends else 0)
            cursor.setPosition(block.position())
            cursor.setBlockFormat(look)
        block = after
    cursor.endEditBlock()


def _button(text: str, name: str) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName(name)
    button.setProperty("quiet", True)
    button.setAutoDefault(False)
    return button


def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
