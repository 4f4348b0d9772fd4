"""Fields: one value each, under its label, with what is wrong with it.

A field gives on what a person changes while it is typed, under one merge key for each visit, so that a
visit is one undo step. A text that cannot be read or is refused is said to be so where it stands, and the
document has the value again it had before the visit: never half a word. A value that arrives from outside
(undo, another view) replaces the text only when it is a different value, so typing is never disturbed.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QFocusEvent, QKeyEvent, QTextCursor
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from designer.forms.combos import Combo
from designer.forms.texts import Note, plain
from designer.forms.undoing import OwnUndo
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


class Entry(QObject):
    """What a person writes into an editor, on its way to the document.

    With ``eager`` false the value is given on when the visit ends or Enter is pressed, not while typing;
    what would be refused is said while typing all the same when ``may`` tells. Escape takes back what the
    document has not got.
    """

    said = Signal()
    """What is wrong with it may be something else now."""

    def __init__(
        self,
        member: str,
        editor: QWidget,
        note: Note,
        on_change: Refuse,
        *,
        eager: bool = True,
        may: Callable[[object], str | None] | None = None,
    ) -> None:
        super().__init__(editor)
        self._member, self._widget, self._note = member, editor, note
        self._on_change, self._may, self._eager = on_change, may, eager
        self._shown: object = None
        self._before: object = None
        self._fresh, self._giving, self._problems = True, False, ""
        self.refused = ""
        self._severity = "error"
        self._visit = f"{member}#{next(_visits)}"
        editor.installEventFilter(self)
        if eager:
            self._editor.changed.connect(self.commit)
        else:
            self._editor.changed.connect(self._preview)
            cast("QLineEdit", editor).editingFinished.connect(self.commit)

    @property
    def _editor(self) -> Editor:
        return cast("Editor", self._widget)

    def set_value(self, value: object, *, anew: bool = False) -> None:
        """Show the value the document now has; ``anew`` also gives up what was refused."""
        if anew or self._fresh or repr(value) != repr(self._shown):
            self._fresh, self._shown, self.refused = False, value, ""
            if anew or not self._giving:
                self._before = value
            with QSignalBlocker(self._widget):
                self._editor.show_value(value)
            self._say()

    def set_problems(self, problems: Iterable[Problem]) -> None:
        """Show what the checks say of this value."""
        found = list(problems)
        self._problems = "\n".join(dict.fromkeys(p.message for p in found))
        self._severity = next(
            (s for s in ("error", "warning") if any(p.severity == s for p in found)), "info"
        )
        self._say()

    def commit(self) -> None:
        """Give on what stands in the editor; where it is refused, what the visit began with."""
        try:
            self.refused = self._give(self._editor.value())
        except ValueError as unreadable:
            self.refused = str(unreadable)
        if self.refused:
            self._give(self._before)
        self._say()

    def _give(self, value: object) -> str:
        if self._before is None and value in ("", (), {}):
            value = None
        if repr(value) == repr(self._shown):
            return ""
        before, self._shown, self._giving = self._shown, value, True
        try:
            refused = self._on_change(self._member, value, self._visit) or ""
        finally:
            self._giving = False
        if refused:
            self._shown = before
        return refused

    def _preview(self) -> None:
        value = self._editor.value()
        self.refused = (self._may(value) if self._may else None) or ""
        self._say()

    def _say(self) -> None:
        self.said.emit()
        self._note.say(self.refused or self._problems, "error" if self.refused else self._severity)
        invalid = bool(self.refused) or (bool(self._problems) and self._severity == "error")
        if bool(self._widget.property("invalid")) != invalid:
            self._widget.setProperty("invalid", invalid)
            self._widget.style().unpolish(self._widget)
            self._widget.style().polish(self._widget)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent) and event.gotFocus() and is_visit(event):
            self._visit, self._before = f"{self._member}#{next(_visits)}", self._shown
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self._is_pending():
            if event.type() == QEvent.Type.KeyPress:
                self.set_value(self._shown, anew=True)
            event.accept()
            return True
        return super().eventFilter(watched, event)

    def _is_pending(self) -> bool:
        return bool(self.refused) or (not self._eager and repr(self._editor.value()) != repr(self._shown))


def is_visit(event: QFocusEvent) -> bool:
    """Whether focus comes or goes by the person's will: not with a menu that opens, or another window."""
    return event.reason() not in {
        Qt.FocusReason.PopupFocusReason,
        Qt.FocusReason.MenuBarFocusReason,
        Qt.FocusReason.ActiveWindowFocusReason,
    }


class Field(QWidget):
    """A label, an editor named ``field.MEMBER`` as an :class:`Entry`, and a line for what is wrong.

    ``about`` stands under the editor and says what it is for.
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
        about: str = "",
    ) -> None:
        super().__init__()
        self.member, self.editor = member, editor
        self.hint = plain(role="label")
        self.note = Note()
        editor.setObjectName(f"field.{member}")
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
        if about:
            editor.setAccessibleDescription(about)
            layout.addWidget(plain(about, role="label", wrap=True))
        self._entry = Entry(member, editor, self.note, on_change, eager=eager, may=may)
        self.said = self._entry.said
        self.set_value, self.set_problems = self._entry.set_value, self._entry.set_problems

    @property
    def refused(self) -> str:
        """Why what stands in the editor was not given on."""
        return self._entry.refused

    def focus(self) -> None:
        """Put the cursor here."""
        self.editor.setFocus(Qt.FocusReason.OtherFocusReason)


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


def as_entries(text: str) -> object:
    """One entry a line, or a JSON list of them."""
    found = _written(text, "[", list)
    return as_lines(text) if found is None else tuple(found)


def spelled_entries(value: object) -> str:
    """Entries one a line, where they can be read again that way."""
    text = spelled(value)
    plain = value is None or as_entries(text) == tuple(cast("Sequence[object]", value))
    return text if plain else spelled_json(value)


def as_pairs(text: str) -> object:
    """A name and what belongs to it on each line, with an equals sign between; or a JSON object of them."""
    found = _written(text, "{", dict)
    if found is not None:
        return found
    pairs: dict[str, object] = {}
    for line in filter(None, text.split("\n")):
        name, sign, value = line.partition("=")
        if not sign or not name.strip():
            raise ValueError("Write a name, an equals sign and what belongs to it on each line.")
        if name.strip() in pairs:
            raise ValueError(f"'{name.strip()}' is there twice.")
        pairs[name.strip()] = value.strip()
    return pairs


def spelled_pairs(value: object) -> str:
    """Names with what belongs to them, one a line, where they can be read again that way."""
    pairs = cast("dict[str, object]", value or {})
    text = "\n".join(f"{name} = {each}" for name, each in pairs.items())
    try:
        return text if as_pairs(text) == pairs else spelled_json(value)
    except ValueError:
        return spelled_json(value)


class Null:
    """JSON's null where it is a value; None is a member that is not there."""

    def __repr__(self) -> str:
        return "null"


NULL: Final = Null()


def as_scalar(text: str) -> object:
    """A number, true, false or null where one is written, else the text; text in quotation marks is text."""
    if not text.strip():
        return None
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, list | dict) else NULL if value is None else value


def spelled_scalar(value: object) -> str:
    """A text as it is, where it would be read as one; every other value as JSON has it."""
    if value is None or value is NULL:
        return "" if value is None else "null"
    bare = isinstance(value, str) and as_scalar(value) == value
    return str(value) if bare else json.dumps(value, ensure_ascii=False)


_Kind = TypeVar("_Kind", list[Any], dict[str, Any])


def _written(text: str, sign: str, kind: type[_Kind]) -> _Kind | None:
    """What a text that begins with this sign holds as JSON of this kind; None for every other text."""
    if text.lstrip().startswith(sign):
        with suppress(ValueError, RecursionError):
            found = json.loads(text, parse_constant=_no_constant)
            return found if isinstance(found, kind) else None
    return None


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

    def __init__(
        self, parse: Parse = as_text, spell: Callable[[object], str] = spelled, *, mono: bool = False
    ) -> None:
        super().__init__()
        self._parse, self._spell = parse, spell
        self.setProperty("mono", mono)
        OwnUndo(self)
        self.textEdited.connect(lambda _: self.changed.emit())

    def value(self) -> object:
        return self._parse(self.text())

    def show_value(self, value: object) -> None:
        text = self._spell(value)
        if text != self.text():
            at = self.cursorPosition()
            self.setText(text)
            self.setCursorPosition(min(at, len(text)) if self.hasFocus() else 0)


class Text(QPlainTextEdit):
    """A text of several lines that grows with what is written, up to ``most`` lines.

    With ``most`` None it takes the height its place leaves it, up to that of its text.
    """

    changed = Signal()

    def __init__(
        self,
        parse: Parse = as_text,
        spell: Callable[[object], str] = spelled,
        *,
        lines: int = 2,
        most: int | None = 14,
        mono: bool = False,
        frame: int = 8,
    ) -> None:
        super().__init__()
        self._frame = frame
        self._parse, self._spell, self._lines, self._most = parse, spell, lines, most
        self.setTabChangesFocus(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if most is None:
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setProperty("mono", mono)
        OwnUndo(self)
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

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height(self._written))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), self._height(self._lines))

    @property
    def _written(self) -> int:
        return max(self._lines, int(self.document().size().height()))

    def _height(self, lines: int) -> int:
        return round(
            self.fontMetrics().lineSpacing() * lines + 2 * self.document().documentMargin() + self._frame
        )

    def _grow(self) -> None:
        if self._most is None:
            self.updateGeometry()
            return
        overfull = self._written > self._most
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if overfull else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        height = self._height(min(self._most, self._written))
        if self.height() != height or self.minimumHeight() != height:
            self.setFixedHeight(height)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self._grow()


class Quote(Text):
    """A text to be read and copied: without a frame, as high as it is long, up to a few lines."""

    def __init__(self, most: int | None = 4) -> None:
        super().__init__(lines=1 if most else 2, most=most, frame=0)
        self.setReadOnly(True)
        self.setStyleSheet("QPlainTextEdit { border: none; padding: 0; background: transparent; }")
        self.document().setDocumentMargin(0)


class Listing(QPlainTextEdit):
    """A text to be read and copied, line by line as it is written."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setProperty("mono", True)
        self.setTabChangesFocus(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        OwnUndo(self)


class Choice(Combo):
    """One of a few values, each with its words; the first may stand for "not set"."""

    changed = Signal()

    def __init__(self, options: Sequence[tuple[object, str]]) -> None:
        super().__init__()
        self._values = [value for value, _ in options]
        self.addItems([words for _, words in options])
        self.activated.connect(lambda _: self.changed.emit())

    def value(self) -> object:
        return self._values[self.currentIndex()]

    def show_value(self, value: object) -> None:
        self.setCurrentIndex(self._values.index(value) if value in self._values else -1)


class Key(Combo):
    """A word that is usually one of a list, but may be another."""

    changed = Signal()

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__()
        line = QLineEdit()
        line.setProperty("mono", True)
        self.setEditable(True)
        self.setLineEdit(line)
        OwnUndo(line, self)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setProperty("mono", True)
        self.offer(keys)
        line.textEdited.connect(lambda _: self.changed.emit())
        self.activated.connect(lambda _: self.changed.emit())

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


def _no_constant(_name: str) -> object:
    raise ValueError
