"""The colours and type of the canvas, made once from the theme's tokens."""

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QTextLayout
from PySide6.QtSvg import QSvgRenderer

from designer.theme import Tokens, drawing, font, mixed
from engine import ActionNode, AnyNode, ClassifyNode, ConditionNode, TerminalNode


class Type:
    """A font of the canvas with its measures; sizes are pixels of the scene."""

    def __init__(self, pixels: int, *, bold: bool = False, mono: bool = False) -> None:
        self.font = font(pixels, bold=bold, mono=mono)
        # The painter scales with the zoom: hinted letters would jump about.
        self.font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
        self._metrics = QFontMetricsF(self.font)
        self._drop = (self._metrics.ascent() - self._metrics.descent()) / 2

    def width(self, text: str) -> float:
        """How far the text advances."""
        return self._metrics.horizontalAdvance(text)

    def elided(self, text: str, width: float) -> str:
        """The text, cut with an ellipsis where it is wider than this."""
        # Lines of novels are cut before they are measured: nobody sees their ends.
        return self._metrics.elidedText(text[:500], Qt.TextElideMode.ElideRight, width)

    def lines(self, text: str, width: float, count: int) -> tuple[str, ...]:
        """The text broken into at most this many lines, the last one elided."""
        layout = QTextLayout(text[:500], self.font)
        layout.beginLayout()
        lines: list[str] = []
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            # Qt counts in UTF-16 units, Python in code points.
            units = text[:500].encode("utf-16-le", "surrogatepass")[2 * line.textStart() :]
            if len(lines) == count - 1:
                lines.append(self.elided(units.decode("utf-16-le", "ignore"), width))
                break
            lines.append(units[: 2 * line.textLength()].decode("utf-16-le", "ignore").rstrip())
        layout.endLayout()
        return tuple(lines)

    def draw(self, painter: QPainter, x: float, middle: float, text: str, colour: QColor) -> None:
        """Draw the text from ``x`` on, its letters centred on the line ``middle``."""
        painter.setFont(self.font)
        painter.setPen(colour)
        painter.drawText(QPointF(x, middle + self._drop), text)


class Style:
    """Everything painting needs to know about the looks; one for each theme."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.canvas, self.dot = QColor(tokens.canvas), QColor(tokens.grid)
        self.card, self.line = QColor(tokens.card), QColor(tokens.line)
        self.raised = QColor(tokens.raised)
        self.text, self.secondary = QColor(tokens.text), QColor(tokens.secondary)
        self.accent, self.halo = QColor(tokens.accent), QColor(tokens.accent)
        self.halo.setAlphaF(0.27)  # the wash, but the heads of arrows stay visible under it
        self.branch, self.bad, self.warn = QColor(tokens.branch), QColor(tokens.bad), QColor(tokens.warn)
        self.haze = QColor(tokens.accent)
        self.haze.setAlphaF(0.10)
        self.passed = QColor(mixed(tokens.accent, tokens.canvas, 0.72))
        """Branches the run took before the last one."""
        self.thread = QColor(mixed(tokens.branch, tokens.canvas, 0.55))
        """Branches from so far away that their number is all there is to see."""
        self.hint = QColor(mixed(tokens.secondary, tokens.card, 0.4))
        """Where there is a text that cannot be read."""
        self._kinds = {
            ActionNode: QColor(tokens.action),
            ClassifyNode: QColor(tokens.classify),
            ConditionNode: QColor(tokens.condition),
        }
        # In the order verdicts appear in a tree. No red: nobody said that any of them is bad.
        self._verdicts = [
            QColor(c) for c in (tokens.good, tokens.action, tokens.warn, tokens.classify, tokens.secondary)
        ]
        ground = tokens.canvas
        self._blocks = {kind: QColor(mixed(c.name(), ground, 0.75)) for kind, c in self._kinds.items()}
        self._ends = [QColor(mixed(c.name(), ground, 0.75)) for c in self._verdicts]
        self._block = QColor(mixed(tokens.bad, ground, 0.75))
        self.headline = Type(16, bold=True)
        self.title = Type(13, bold=True)
        self.label = Type(13)
        self.body = Type(12)
        self.strong = Type(12, bold=True)
        self.small = Type(11)
        self.small_strong = Type(11, bold=True)
        self.number = Type(11, mono=True)

    def kind(self, node: AnyNode) -> QColor:
        """The colour of the kind of node."""
        return self._kinds.get(type(node), self.bad)

    def verdict(self, rank: int | None) -> QColor:
        """The colour of the verdict that appears in the tree at this rank; grey for none."""
        return self.secondary if rank is None else self._verdicts[rank % len(self._verdicts)]

    def block(self, node: AnyNode, rank: int | None) -> QColor:
        """The colour of a whole card seen from afar; the rank is that of a terminal's verdict."""
        if isinstance(node, TerminalNode):
            return self.hint if rank is None else self._ends[rank % len(self._ends)]
        return self._blocks.get(type(node), self._block)

    def severity(self, severity: str) -> QColor:
        """The colour of a problem of this severity."""
        return {"error": self.bad, "warning": self.warn}.get(severity, self.secondary)

    def icon(self, name: str, colour: QColor) -> QSvgRenderer:
        """An icon of the designer in this colour."""
        return drawing(name, colour.name())
