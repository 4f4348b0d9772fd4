"""The JSON tab: the selected node, or the tree, exactly as the file has it; to be read and copied."""

import json
import re
from typing import Final

from PySide6.QtGui import QColor, QShowEvent, QSyntaxHighlighter, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QVBoxLayout, QWidget

from designer import theme
from designer.document.names import node_title
from designer.forms import Current, Empty, Listing, Pages, plain
from engine import Tree, write_tree

_TOKENS: Final = re.compile(
    r'(?P<accent>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<good>"(?:[^"\\]|\\.)*")'
    r"|(?P<condition>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<classify>\b(?:true|false|null)\b)"
)
"""Each group is named after the token of its colour: names, texts, numbers, constants."""


class JsonTab(Pages):
    """Canonical JSON; it is made only while somebody looks."""

    def __init__(self, current: Current) -> None:
        page = QWidget()
        super().__init__(
            page, Empty("export", "No tree is open", "Here stands what the file of an open tree holds.")
        )
        self._current = current
        self._what = plain(role="label")
        self.text = Listing()
        self.text.setObjectName("field.json")
        self.text.setAccessibleName("JSON")
        self._colours = _Colours(self.text.document())
        layout = QVBoxLayout(page)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.setSpacing(6)
        layout.addWidget(self._what)
        layout.addWidget(self.text)
        current.drafted.connect(lambda _: self._refresh())
        current.selected.connect(lambda _: self._refresh())
        theme.signals.changed.connect(self._recolour)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _refresh(self) -> None:
        document = self._current.document
        self.show_content(document)
        if document is None or not self.isVisible():
            return
        tree, node_id = document.draft.tree, next(iter(document.selection), None)
        if node_id is None or len(document.selection) > 1:
            what, text = "The whole tree", write_tree(tree).decode()
        else:
            node = tree.nodes[node_id]
            written = json.loads(write_tree(Tree(nodes={node_id: node})))["nodes"][node_id]
            what, text = node_title(node_id, node), json.dumps(written, ensure_ascii=False, indent=2)
        self._what.setText(what)
        if text != self.text.toPlainText():
            across, down = self.text.horizontalScrollBar().value(), self.text.verticalScrollBar().value()
            self.text.setPlainText(text)
            self.text.horizontalScrollBar().setValue(across)
            self.text.verticalScrollBar().setValue(down)

    def _recolour(self, _tokens: object) -> None:
        self._colours.rehighlight()


class _Colours(QSyntaxHighlighter):
    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)

    def highlightBlock(self, text: str) -> None:
        tokens = theme.tokens()
        for match in _TOKENS.finditer(text):
            look = QTextCharFormat()
            look.setForeground(QColor(getattr(tokens, match.lastgroup or "text")))
            # Qt counts in UTF-16 units, Python in code points.
            start = len(text[: match.start()].encode("utf-16-le")) // 2
            self.setFormat(start, len(match.group().encode("utf-16-le")) // 2, look)
