"""All that one line of an agent's story tells: its beginning at once, and the whole where it is wanted."""

from collections.abc import Callable, Iterator
from typing import Final

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from designer.forms import Listing, plain
from designer.panels.agent_run.story import Line

PREVIEW: Final = 20_000
"""Characters that are shown of a line at first."""
EACH: Final = 2_000
"""Characters that are shown at first of each text of a turn."""
WHOLE: Final = 2_000_000
"""Characters that are shown at most: nobody reads more, and the window must go on."""
COPIED: Final = 20_000_000
"""Characters that are copied at most: a turn may hold a thousand large texts."""
_LONGEST: Final = 1_000
"""Characters of one line of the view: an endless one would take it seconds to lay out."""

_BETWEEN: Final = "\n\n"


class Detail(QWidget):
    """The text of a line. What is shown of a long one is cut, and that is said; copies are whole."""

    def __init__(self) -> None:
        super().__init__()
        self.text = Listing()
        self.text.setObjectName("agent.text")
        self.text.setAccessibleName("All of it")
        self.text.setLineWrapMode(Listing.LineWrapMode.WidgetWidth)
        self.cut = plain(role="label")
        self.cut.setObjectName("agent.cut")
        self.more = _button("showAll", "Show all", "Show the whole text", self._show_all)
        self.copies = _button("copyAgent", "Copy", "Copy the whole text (Ctrl+C in the list)", self.copy)
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 2, 8, 4)
        foot.addWidget(self.cut, 1)
        foot.addWidget(self.more)
        foot.addWidget(self.copies)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.text, 1)
        column.addLayout(foot)
        self._line: Line | None = None
        self._seen: tuple[int, str] | None = None
        self._most = PREVIEW
        self.show_line(None)

    def show_line(self, line: Line | None) -> None:
        """Show this line; of the one that is shown already, what has become of it."""
        if line is not self._line:
            self._line, self._seen, self._most = line, None, PREVIEW
        seen = None if line is None else (line.last, line.words)
        if seen == self._seen and line is not None:
            return
        self._seen = seen
        self._fill()

    def copy(self) -> None:
        """Copy all of it as text."""
        if self._line is not None:
            text, length = told(self._line, COPIED)
            rest = f"{_BETWEEN}The rest of {length:,} characters is left out." if length > len(text) else ""
            QGuiApplication.clipboard().setText(f"{text}{rest}")

    def _show_all(self) -> None:
        self._most = WHOLE
        self._fill()

    def _fill(self) -> None:
        text, length = ("", 0) if self._line is None else told(self._line, self._most)
        cut = length > len(text)
        bar = self.text.verticalScrollBar()
        at = bar.value()
        self.text.setPlainText(_broken(text))
        bar.setValue(at)
        self.cut.setText(f"Shown in part; {length:,} characters in all" if cut else "")
        self.more.setVisible(cut and self._most < WHOLE)
        self.copies.setEnabled(self._line is not None)


def told(line: Line, most: int) -> tuple[str, int]:
    """So many characters of what a line tells, and how many all of it has."""
    each = EACH if line.below and most < WHOLE else most
    shown: list[str] = []
    length, left = -len(_BETWEEN), most
    for heading, text in line.parts():
        length += len(heading) + 1 + len(text) + len(_BETWEEN)
        if left > 0:
            shown.append(f"{heading}\n{text[: min(each, left)]}")
            left -= len(shown[-1]) + len(_BETWEEN)
    return _BETWEEN.join(shown), length


def _broken(text: str) -> str:
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line))


def _pieces(line: str) -> Iterator[str]:
    yield line[:_LONGEST]
    for start in range(_LONGEST, len(line), _LONGEST):
        yield line[start : start + _LONGEST]


def _button(id: str, words: str, tip: str, press: Callable[[], None]) -> QPushButton:
    button = QPushButton(words)
    button.setObjectName(f"button.{id}")
    button.setProperty("quiet", True)
    button.setAutoDefault(False)
    button.setToolTip(tip)
    button.clicked.connect(press)
    return button
