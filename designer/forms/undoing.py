"""Undo and redo in a text: its own typing first, and the document's steps when that is used up."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QTextEdit, QWidget


class OwnUndo(QObject):
    """Watches a text, or the widget that has the focus for it; Qt keeps these keys even with nothing to undo.

    Redo goes back the same way: what was undone in the document is made again before what was in the text.
    """

    def __init__(self, text: QLineEdit | QPlainTextEdit | QTextEdit, focused: QWidget | None = None) -> None:
        super().__init__(text)
        self._text, self._beyond = text, 0
        (focused or text).installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self._beyond = 0
        if isinstance(event, QKeyEvent):
            if event.matches(QKeySequence.StandardKey.Undo):
                return self._undo(event)
            # Where only one of the two is a key for redo, the window knows the other one too.
            other = event.key() == Qt.Key.Key_Y and event.modifiers() == Qt.KeyboardModifier.ControlModifier
            if other or event.matches(QKeySequence.StandardKey.Redo):
                return self._redo(event)
        return super().eventFilter(watched, event)

    def _undo(self, event: QKeyEvent) -> bool:
        undoes, _ = self._available()
        if event.type() == QEvent.Type.ShortcutOverride and not undoes:
            self._beyond += 1
            event.ignore()
            return True
        return False

    def _redo(self, event: QKeyEvent) -> bool:
        _, redoes = self._available()
        if event.type() == QEvent.Type.ShortcutOverride:
            mine = redoes and not self._beyond
            self._beyond = max(0, self._beyond - 1)
            event.setAccepted(mine)
            return True
        if event.type() == QEvent.Type.KeyPress and redoes:
            self._text.redo()
            return True
        return False

    def _available(self) -> tuple[bool, bool]:
        text = self._text
        if text.isReadOnly():
            return False, False
        steps = text if isinstance(text, QLineEdit) else text.document()
        return steps.isUndoAvailable(), steps.isRedoAvailable()
