"""The text of a page: drawn line by line while the window goes on, read-only, and without any resource.

Each line is a block of its own, so a place in the text and a place in the file lead to each other.
"""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from PySide6.QtCore import QMimeData, QUrl, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QImage,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit

from designer import theme
from designer.forms import OwnUndo
from designer.panels.transcripts.markdown import Line, Look, Run, lines_of
from designer.panels.transcripts.search import pattern_of
from designer.panels.transcripts.sections import Page

SLICE: Final = 0.003
"""Seconds for which lines are read before they are drawn, which takes some times as long, and shown."""
_STEP: Final = 18
"""Pixels that a step of a list moves it in."""
_SIZES: Final = {1: 18, 2: 15, 3: 13}
"""Pixels of headings; deeper ones are as large as other text."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where to look: a byte of the file, and the words to be marked there, if any."""

    at: int
    words: str = ""


class TranscriptView(QTextBrowser):
    """Shows a page; what is copied with Ctrl+C is plain text as it is seen."""

    placed = Signal(object)
    """The byte of the file that is looked at: a spot, or after scrolling the line at the top."""
    address_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("transcript")
        self.setAccessibleName("Transcript")
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setStyleSheet("QTextBrowser { border: none; border-radius: 0; padding: 0; }")
        OwnUndo(self)
        self.document().setDocumentMargin(14)
        self._page, self._data = _NO_PAGE, b""
        self._lines: list[Line] = []
        self._spot: Spot | None = None
        self.anchorClicked.connect(lambda url: self.address_chosen.emit(url.toString()))
        self.verticalScrollBar().valueChanged.connect(lambda _: self.placed.emit(self.place))

    @property
    def lines(self) -> Sequence[Line]:
        """The lines drawn so far; not to be changed."""
        return self._lines

    @property
    def place(self) -> int:
        """The byte of the file whose line is at the top; 0 without lines."""
        number = self.cursorForPosition(self.viewport().rect().topLeft()).blockNumber()
        return self._lines[number].at if number < len(self._lines) else 0

    @property
    def selected_markdown(self) -> str:
        """The selected lines as they stand in the file, each whole; code among other lines in its fence."""
        cursor = self.textCursor()
        if not cursor.hasSelection():
            return ""
        first, last = map(self.document().findBlock, (cursor.selectionStart(), cursor.selectionEnd()))
        lines = self._lines[first.blockNumber() : last.blockNumber() + 1]
        start, end = lines[0].at, lines[-1].at + lines[-1].size
        text = self._source(start, end)
        opening, closing = lines[0].fence.decode(), lines[-1].fence.decode()
        if any(line.fence != lines[0].fence or (line.gap and line.fence) for line in lines[1:]):
            text = (f"{opening}\n" if opening else "") + text + (f"\n{closing}" if closing else "")
        return text

    def clear_page(self) -> None:
        """Show nothing."""
        self._page, self._data, self._lines, self._spot = _NO_PAGE, b"", [], None
        self.setExtraSelections([])
        self.clear()

    async def draw(self, page: Page, data: bytes, spot: Spot) -> None:
        """Show a page with these bytes and look at a spot; the window goes on meanwhile."""
        self.clear_page()
        self.verticalScrollBar().setValue(0)
        self._page, self._data, self._spot = page, data, spot
        lines, looks = lines_of(data, page.start, page.fence), _Looks()
        while batch := _some(lines):
            self._add(batch, looks)
            self._look()
            await asyncio.sleep(0)
        self._look(ended=True)

    async def draw_again(self) -> None:
        """Show the same in the colours of now."""
        await self.draw(self._page, self._data, Spot(self.place))

    def look_at(self, spot: Spot) -> None:
        """Bring a spot of the shown page into view, as soon as it is drawn."""
        self.setExtraSelections([])
        self._spot = spot
        self._look()

    def _add(self, lines: Sequence[Line], looks: "_Looks") -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        # One insertion for a stretch of code takes a quarter of the time of one for each of its lines.
        for (look, alone), group in groupby(lines, key=lambda line: (looks.block(line), _alone(line))):
            same = list(group)
            for part in [same] if alone else [[line] for line in same]:
                if self._lines:
                    cursor.insertBlock(look)
                else:
                    cursor.setBlockFormat(look)
                self._lines += part
                if alone:
                    text = "\n".join(line.runs[0].text if line.runs else "" for line in part)
                    cursor.insertText(text, looks.run(part[0], _PLAIN))
                else:
                    for run in part[0].runs:
                        cursor.insertText(run.text, looks.run(part[0], run))
        cursor.endEditBlock()

    def _look(self, *, ended: bool = False) -> None:
        """Look at the spot, if it is drawn with what is below it, or if nothing else will be."""
        spot = self._spot
        number = bisect_right(self._lines, spot.at, key=lambda line: line.at) - 1 if spot else -1
        if spot is None or (not ended and number + 1 >= len(self._lines)):
            return
        block = self.document().findBlockByNumber(max(0, number))
        top = self.document().documentLayout().blockBoundingRect(block).top()
        bar = self.verticalScrollBar()
        wanted = int(top - (self.viewport().height() / 3 if spot.words else 6))
        if not ended and bar.maximum() < wanted:
            return
        bar.setValue(wanted)
        if spot.words and number >= 0:
            self._mark(block.position(), block.text(), self._lines[number], spot)
        self._spot = None
        self.placed.emit(spot.at)

    def _mark(self, position: int, text: str, line: Line, spot: Spot) -> None:
        """Mark the words of a spot in its line, and the whole line where the text does not have them."""
        pattern = pattern_of(spot.words)
        before = len(pattern.findall(self._source(line.at, spot.at)))
        found = next(islice(pattern.finditer(text), before, None), None)
        start, end = found.span() if found else (0, len(text))
        cursor = QTextCursor(self.document())
        cursor.setPosition(position + _units(text[:start]))
        cursor.setPosition(position + _units(text[:end]), QTextCursor.MoveMode.KeepAnchor)
        mark = QTextEdit.ExtraSelection()
        mark.cursor = cursor
        mark.format.setBackground(QColor(theme.tokens().accent))
        mark.format.setForeground(QColor(theme.tokens().on_accent))
        self.setExtraSelections([mark])

    def _source(self, start: int, end: int) -> str:
        return self._data[start - self._page.start : end - self._page.start].decode("utf-8", "replace")

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.textCursor().selection().toPlainText())
        return data

    def loadResource(self, type: int, name: QUrl | str) -> QImage:
        # Nothing asks for one. A real image all the same: for an empty answer Qt opens the file itself, and
        # a pipe or /dev/zero never ends.
        image = QImage(1, 1, QImage.Format.Format_ARGB32)
        image.fill(0)
        return image


_PLAIN: Final = Run("")
_NO_PAGE: Final = Page(0, 0, b"")


class _Looks:
    """The formats of lines and runs, in the colours of now."""

    def __init__(self) -> None:
        self._colours = theme.tokens()
        self._blocks: dict[tuple[str, int, bool], QTextBlockFormat] = {}
        self._runs: dict[tuple[str, int, Look, bool], QTextCharFormat] = {}

    def block(self, line: Line) -> QTextBlockFormat:
        key = line.kind, line.level, line.gap
        if key not in self._blocks:
            self._blocks[key] = self._block(*key)
        return self._blocks[key]

    def run(self, line: Line, run: Run) -> QTextCharFormat:
        key = line.kind, line.level, run.look, run.link is not None
        if key not in self._runs:
            self._runs[key] = self._run(*key)
        if run.link is None:
            return self._runs[key]
        linked = QTextCharFormat(self._runs[key])
        linked.setAnchorHref(run.link)
        return linked

    def _block(self, kind: str, level: int, gap: bool) -> QTextBlockFormat:
        look = QTextBlockFormat()
        look.setTopMargin(16 if kind == "heading" else 8 if gap else 0)
        match kind:
            case "heading":
                look.setHeadingLevel(level)
                look.setBottomMargin(2)
            case "code":
                look.setBackground(QColor(self._colours.raised))
                look.setLeftMargin(10)
            case "item":
                look.setLeftMargin(_STEP * (level + 1))
                look.setTextIndent(-_STEP)
                look.setTabPositions([QTextOption.Tab(_STEP, QTextOption.TabType.LeftTab)])
            case "quote":
                look.setLeftMargin(_STEP * level)
            case "rule":
                width = QTextFormat.Property.BlockTrailingHorizontalRulerWidth
                look.setProperty(width, 1)
                look.setProperty(QTextFormat.Property.BackgroundBrush, QBrush(QColor(self._colours.line)))
        return look

    def _run(self, kind: str, level: int, look: Look, linked: bool) -> QTextCharFormat:
        colours, made = self._colours, QTextCharFormat()
        heading = kind == "heading"
        mono = kind in {"code", "row"} or look == "code"
        size = _SIZES.get(level, 12) if heading else 12
        made.setFont(theme.font(size, bold=heading or look == "strong", mono=mono))
        if look == "slanted":
            made.setFontItalic(True)
        tone = {"faint": colours.secondary, "hidden": colours.warn}.get(look, colours.text)
        if kind == "quote" and look == "plain":
            tone = colours.secondary
        if look == "code" and not heading:
            made.setBackground(QColor(colours.raised))
        if linked:
            made.setAnchor(True)
            made.setFontUnderline(True)
            tone = colours.accent
        made.setForeground(QColor(tone))
        return made


def _some(lines: Iterator[Line]) -> list[Line]:
    """The lines that can be drawn in about a slice."""
    some, until = [], time.monotonic() + SLICE
    for line in lines:
        some.append(line)
        if time.monotonic() >= until or len(some) >= 200:
            break
    return some


def _alone(line: Line) -> bool:
    """Whether the line is code of one look, so that a stretch of such lines can be inserted at once."""
    return line.kind == "code" and all(run.look == "plain" for run in line.runs)


def _units(text: str) -> int:
    """The length of a text as Qt counts it."""
    return len(text.encode("utf-16-le")) // 2
