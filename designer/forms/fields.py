"""Fields: one value each, under its label, with what is wrong with it.

A field gives on what a person changes while it is typed, under one merge key for each visit, so that a
visit is one undo step; what cannot be read is said at the field and not given on. A value that arrives
from outside (undo, another view) replaces the text only when it is a different value, so typing is
never disturbed.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Final, Protocol, TypeAlias, cast

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal, SignalInstance
from PySide6.QtGui import QTextCursor, QWheelEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from designer.forms.texts import Note, plain
from engine import Problem, TimeSpan

Refuse: TypeAlias = Callable[[str, object, str], str | None]
"""Takes (member, value, merge key) and makes the change, or says in plain words why not."""

_visits: Final = count(1)


class Editor(Protocol):
    """What a field needs of the widget a value is changed in."""

    @property
    def changed(self) -> SignalInstance:
        """The person changed something."""
        ...

    def value(self) -> object:
        """What stands there; ``ValueError`` in plain words when it cannot be read."""
        ...

    def show_value(self, value: object) -> None:
        """Show a value; where the text is the same already, the cursor stays."""
        ...


class Field(QWidget):
    """A label, an editor named ``field.MEMBER``, and a line for what is wrong.

    With ``eager`` false the value is given on when the visit ends or Enter is pressed, not while typing;
    what would be refused is said while typing all the same when ``may`` tells.
    """

    def __init__(
        self,
        member: str,
        label: str,
        editor: QWidget,
        on_change: Refuse,
        *,
        eager: bool = True,
        may: Callable[[object], str | None] | None = None,
    ) -> None:
        super().__init__()
        self.member, self.editor = member, editor
        self._on_change, self._may = on_change, may
        self._shown: object = None
        self._fresh, self._refused, self._problems = True, "", ""
        self._severity = "error"
        self._visit = f"{member}#{next(_visits)}"
        self.hint = plain(role="label")
        self.note = Note()
        editor.setObjectName(f"field.{member}")
        editor.installEventFilter(self)
        name = plain(label, role="label")
        name.setBuddy(editor)
        editor.setAccessibleName(label or member)
        head = QHBoxLayout()
        head.addWidget(name)
        head.addStretch(1)
        head.addWidget(self.hint)
        name.setVisible(bool(label))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(editor)
        layout.addWidget(self.note)
        if eager:
            self._editor.changed.connect(self.commit)
        else:
            self._editor.changed.connect(self._preview)
            cast("QLineEdit", editor).editingFinished.connect(self.commit)

    @property
    def _editor(self) -> Editor:
        return cast("Editor", self.editor)

    def set_value(self, value: object, *, anew: bool = False) -> None:
        """Show the value the document now has; ``anew`` also gives up what could not be read."""
        if anew or self._fresh or repr(value) != repr(self._shown):
            self._fresh, self._shown, self._refused = False, value, ""
            with QSignalBlocker(self.editor):
                self._editor.show_value(value)
            self._say()

    def set_problems(self, problems: Iterable[Problem]) -> None:
        """Show what the checks say of this field."""
        found = list(problems)
        self._problems = "\n".join(dict.fromkeys(p.message for p in found))
        self._severity = next(
            (s for s in ("error", "warning") if any(p.severity == s for p in found)), "info"
        )
        self._say()

    def commit(self) -> None:
        """Give on what stands in the editor, unless it is what was shown."""
        try:
            value = self._editor.value()
            if repr(value) == repr(self._shown):
                self._refused = ""
            else:
                before, self._shown = self._shown, value
                self._refused = self._on_change(self.member, value, self._visit) or ""
                if self._refused:
                    self._shown = before
        except ValueError as unreadable:
            self._refused = str(unreadable)
        self._say()

    def focus(self) -> None:
        """Put the cursor here."""
        self.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _preview(self) -> None:
        value = self._editor.value()
        self._refused = (self._may(value) if self._may else None) or ""
        self._say()

    def _say(self) -> None:
        self.note.say(self._refused or self._problems, "error" if self._refused else self._severity)
        invalid = bool(self._refused) or (bool(self._problems) and self._severity == "error")
        if bool(self.editor.property("invalid")) != invalid:
            self.editor.setProperty("invalid", invalid)
            self.editor.style().unpolish(self.editor)
            self.editor.style().polish(self.editor)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self._visit = f"{self.member}#{next(_visits)}"
        return super().eventFilter(watched, event)


Parse: TypeAlias = Callable[[str], object]


def as_text(text: str) -> object:
    """The text itself."""
    return text


def as_whole(text: str) -> object:
    """A whole number; nothing written means not set."""
    if not text.strip():
        return None
    if not re.fullmatch(r"\s*[+-]?\d{1,15}\s*", text, re.ASCII):
        raise ValueError("Write a whole number, for example 20.")
    return int(text)


def as_number(text: str) -> object:
    """A number; nothing written means not set."""
    if not text.strip():
        return None
    if not re.fullmatch(r"\s*[+-]?\d{1,15}(\.\d{1,15})?\s*", text, re.ASCII):
        raise ValueError("Write a number, for example 0.5.")
    return float(text)


def as_span(text: str) -> object:
    """A length of time; nothing written means not set."""
    if not text.strip():
        return None
    try:
        return TimeSpan.parse(text.strip())
    except ValueError:
        raise ValueError("Write hours, minutes and seconds, for example 00:00:30.") from None


def as_json(text: str) -> object:
    """Any JSON value; nothing written means not set."""
    if not text.strip():
        return None
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError('Write a JSON value, for example "text", 3 or true.') from None


def as_object(text: str) -> object:
    """A JSON object; nothing written means not set."""
    value = as_json(text)
    if value is not None and not isinstance(value, dict):
        raise ValueError('Write a JSON object, for example {"key": "kev"}.')
    return value


def as_lines(text: str) -> object:
    """One entry a line."""
    return tuple(line for line in text.split("\n") if line)


def spelled(value: object) -> str:
    """A value as it is typed."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return value if isinstance(value, str) else str(value)


def spelled_json(value: object) -> str:
    """A value as JSON text."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=2)


class Line(QLineEdit):
    """One line of text, read as the kind of value it stands for."""

    changed = Signal()

    def __init__(self, parse: Parse = as_text, *, mono: bool = False) -> None:
        super().__init__()
        self._parse = parse
        self.setProperty("mono", mono)
        self.textEdited.connect(lambda _: self.changed.emit())

    def value(self) -> object:
        return self._parse(self.text())

    def show_value(self, value: object) -> None:
        text = spelled(value)
        if text != self.text():
            at = self.cursorPosition()
            self.setText(text)
            self.setCursorPosition(min(at, len(text)) if self.hasFocus() else 0)


class Text(QPlainTextEdit):
    """A text of several lines that grows with what is written, up to a point."""

    changed = Signal()

    def __init__(
        self,
        parse: Parse = as_text,
        spell: Callable[[object], str] = spelled,
        *,
        lines: int = 2,
        most: int = 14,
        mono: bool = False,
        frame: int = 8,
    ) -> None:
        super().__init__()
        self._frame = frame
        self._parse, self._spell, self._lines, self._most = parse, spell, lines, most
        self.setTabChangesFocus(True)
        self.setProperty("mono", mono)
        self.textChanged.connect(self.changed)
        self.document().documentLayout().documentSizeChanged.connect(lambda _: self._grow())
        self._grow()

    def value(self) -> object:
        # Not toPlainText: that turns no-break spaces into plain ones.
        return self._parse(self.document().toRawText().replace("\u2029", "\n"))

    def show_value(self, value: object) -> None:
        text = self._spell(value)
        if text != self.document().toRawText().replace("\u2029", "\n"):
            at, scrolled = self.textCursor().position(), self.verticalScrollBar().value()
            self.setPlainText(text)
            cursor = self.textCursor()
            cursor.setPosition(min(at, self.document().characterCount() - 1), QTextCursor.MoveMode.MoveAnchor)
            self.setTextCursor(cursor)
            self.verticalScrollBar().setValue(scrolled)
            self._grow()

    def _grow(self) -> None:
        lines = max(self._lines, min(self._most, int(self.document().size().height())))
        height = self.fontMetrics().lineSpacing() * lines + 2 * self.document().documentMargin() + self._frame
        overfull = self.document().size().height() > self._most
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if overfull else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        if self.height() != round(height) or self.minimumHeight() != round(height):
            self.setFixedHeight(round(height))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self._grow()


class Quote(Text):
    """A text to be read and copied: without a frame, as high as it is long, up to a few lines."""

    def __init__(self, most: int = 4) -> None:
        super().__init__(lines=1, most=most, frame=0)
        self.setReadOnly(True)
        self.setStyleSheet("QPlainTextEdit { border: none; padding: 0; background: transparent; }")
        self.document().setDocumentMargin(0)


def without_wheel(event: QWheelEvent) -> None:
    """What a combo box in a scrolled form does with the wheel: leave it to the form."""
    event.ignore()


class Choice(QComboBox):
    """One of a few values, each with its words; the first may stand for "not set"."""

    changed = Signal()

    def __init__(self, options: Sequence[tuple[object, str]]) -> None:
        super().__init__()
        self._values = [value for value, _ in options]
        self.addItems([words for _, words in options])
        self.activated.connect(lambda _: self.changed.emit())
        _let_shrink(self)

    def value(self) -> object:
        return self._values[self.currentIndex()]

    def show_value(self, value: object) -> None:
        self.setCurrentIndex(self._values.index(value) if value in self._values else -1)

    def wheelEvent(self, event: QWheelEvent) -> None:
        without_wheel(event)


class Key(QComboBox):
    """A word that is usually one of a list, but may be another."""

    changed = Signal()

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__()
        line = QLineEdit()
        line.setProperty("mono", True)
        self.setEditable(True)
        self.setLineEdit(line)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setProperty("mono", True)
        self.offer(keys)
        line.textEdited.connect(lambda _: self.changed.emit())
        self.activated.connect(lambda _: self.changed.emit())
        _let_shrink(self)

    def offer(self, keys: Sequence[str]) -> None:
        """Offer these."""
        if [self.itemText(i) for i in range(self.count())] != list(keys):
            text = self.currentText()
            with QSignalBlocker(self):
                self.clear()
                self.addItems(list(keys))
                self.setEditText(text)

    def value(self) -> object:
        return self.currentText()

    def show_value(self, value: object) -> None:
        if spelled(value) != self.currentText():
            self.setEditText(spelled(value))

    def wheelEvent(self, event: QWheelEvent) -> None:
        without_wheel(event)


def _let_shrink(combo: QComboBox) -> None:
    # Else the longest entry decides how narrow a panel can be.
    combo.setMinimumContentsLength(6)
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)


def _no_constant(_name: str) -> object:
    raise ValueError
