"""Questions to the person, as awaitables: the only place that opens dialogs.

A dialog is opened, not executed: a nested event loop inside a coroutine loses other tasks. Every text is
shown as it is, never as markup. A dialog that goes away unanswered, with its window for instance, counts
as cancelled; a coroutine that is cancelled takes its dialog with it.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPageLayout
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from designer import theme
from designer.document.names import one_line
from designer.forms import Combo, Listing, ModelForm, NewAction, Note, Text, plain
from engine import DataItem

if TYPE_CHECKING:
    from PySide6.QtPrintSupport import QPrinter

    from designer.document.draft import ActionEntry

TREES: Final = "Trees (*.json)"


@dataclass(frozen=True, slots=True)
class Button:
    """One way to answer. ``primary`` is what Enter means; ``danger`` is coloured as a warning."""

    id: str
    text: str
    primary: bool = False
    danger: bool = False


async def ask(
    parent: QWidget | None, title: str, text: str, buttons: Sequence[str] = ("OK",), *, detail: str = ""
) -> bool:
    """Whether the first of the buttons was pressed. ``detail`` is shown in a field, to be read and copied."""
    first, *others = buttons
    made = (*(Button(other, other) for other in others), Button(first, first, primary=True))
    return await choose(parent, title, text, made, detail=detail) == first


async def choose(
    parent: QWidget | None, title: str, text: str, buttons: Sequence[Button], *, detail: str = ""
) -> str | None:
    """The id of the button that was pressed; None when the dialog was closed without one."""
    dialog = _Question(parent, title, text, buttons, detail)
    return dialog.pressed if await _answered(dialog) else None


async def ask_save_changes(parent: QWidget | None, name: str) -> Literal["save", "discard", "cancel"]:
    """What shall become of the changes to a document that is about to be closed."""
    buttons = (
        Button("discard", "Don't save", danger=True),
        Button("cancel", "Cancel"),
        Button("save", "Save", primary=True),
    )
    pressed = await choose(
        parent, f"Save the changes to {name}?", "Without saving, they are lost when it is closed.", buttons
    )
    return cast("Literal['save', 'discard', 'cancel']", pressed or "cancel")


async def ask_changed_outside(
    parent: QWidget | None, name: str, *, gone: bool
) -> Literal["reload", "keep", "difference"] | None:
    """What shall become of a document whose file another program changed or, when ``gone``, removed."""
    keep = Button("keep", "Keep mine", primary=True)
    if gone:
        title = f"{name} was removed"
        text = "Another program removed or renamed the file. Your version is still here and can be saved."
        buttons = [keep]
    else:
        title = f"{name} was changed outside"
        text = (
            "Another program wrote the file. Reloading shows its version here, and Undo brings back yours. "
            "Keeping yours replaces the file when you save; the version it replaces is kept."
        )
        buttons = [Button("difference", "Show the difference"), Button("reload", "Reload"), keep]
    pressed = await choose(parent, title, text, buttons)
    return cast("Literal['reload', 'keep', 'difference'] | None", pressed)


async def ask_recover(
    parent: QWidget | None, lines: Sequence[str], damaged: Sequence[str]
) -> tuple[Literal["recover", "discard", "later"], tuple[int, ...]]:
    """What shall become of unsaved work a program left, and of which lines of it; the rest stays."""
    shown = QListWidget()
    shown.setObjectName("recovery.list")
    shown.setAccessibleName("Unsaved work")
    shown.setSpacing(3)
    shown.setWordWrap(True)
    for line in lines:
        item = QListWidgetItem(line, shown)
        item.setCheckState(Qt.CheckState.Checked)
    rows = sum(shown.sizeHintForRow(row) + 6 for row in range(shown.count()))
    shown.setFixedHeight(min(320, rows + 12))
    buttons = (
        Button("discard", "Discard", danger=True),
        Button("later", "Later"),
        Button("recover", "Recover", primary=True),
    )
    dialog = _Question(
        parent,
        "Unsaved work was found" if lines else "Unsaved work cannot be recovered",
        "Treewright ended before this was saved. Recovering opens it as changes and overwrites no file."
        if lines
        else "What was kept of it is damaged.",
        buttons if lines else (Button("later", "OK", primary=True),),
        "\n".join(damaged),
        shown if lines else None,
    )
    pressed = dialog.pressed if await _answered(dialog) else None
    ticked = [i for i in range(shown.count()) if shown.item(i).checkState() == Qt.CheckState.Checked]
    return cast("Literal['recover', 'discard', 'later']", pressed or "later"), tuple(ticked)


async def show_difference(parent: QWidget | None, name: str, text: str) -> None:
    """Two versions of a file, as one text to be read and copied."""
    shown = Listing(text or "There is no difference in content, only in how the file is written.")
    shown.setObjectName("difference")
    shown.setAccessibleName("Difference")
    shown.setMinimumHeight(360)
    dialog = _Question(
        parent,
        f"What differs in {name}",
        "Lines that begin with a minus are on disk, those with a plus are here.",
        (Button("ok", "Back", primary=True),),
        "",
        shown,
        820,
    )
    await _answered(dialog)


async def ask_trust(
    parent: QWidget | None,
    folder: Path,
    *,
    code: bool = True,
    model: str = "",
    outside: Sequence[str] = (),
) -> bool | None:
    """Whether what a project brings may be used, now and whenever this folder is opened; None for later.

    That is its Python code, the model it names, and what its actions want outside of the folder, one sentence
    each; each where there is any.
    """
    code_words = (
        "Its own actions and predicates are Python files in this folder. Once run, they may do everything "
        "you may do on this computer, so trust the folder only when you know who wrote them. Without them "
        "the tree can be edited, checked, and run with cases that pin what they would do."
    )
    model_words = (
        f"It names a model, {model}. Once the folder is trusted, runs send it the questions of the tree with "
        "all you enter, and the key the project names. Python files the project names are run as well. "
        "Without it you answer yourself, or a model of your own does."
    )
    outside_words = (
        "Its actions reach beyond this folder, as is told below. Once it is trusted, runs do that with "
        "all you may do on this computer. Without it these actions fail, and everything else works."
    )
    told = [*outside[:_TOLD], *([f"And {len(outside) - _TOLD} more."] if len(outside) > _TOLD else [])]
    parts = ((code_words, code), (model_words, model), (outside_words, outside))
    brings = "has Python code" if code else "names a model" if model else "reaches beyond its folder"
    pressed = await choose(
        parent,
        f"This project {brings}",
        "\n\n".join((*(words for words, there in parts if there), *told, _TAKEN_BACK)),
        (
            Button("trust", "Trust this folder"),
            Button("no", "Open without the code" if code else "Not now", primary=True),
        ),
        detail=str(folder),
    )
    return None if pressed is None else pressed == "trust"


_TOLD: Final = 4
"""Sentences about what actions want outside of a folder, at most."""
_TAKEN_BACK: Final = "You can take trust back under File, Trusted folders."


async def show_trusted(
    parent: QWidget | None, folders: Sequence[Path], revoke: Callable[[Path], None]
) -> None:
    """The folders that are trusted; ``revoke`` is told of each that shall not be any more, at once."""
    left = [*folders]
    shown = QListWidget()
    shown.setObjectName("trusted.list")
    shown.setAccessibleName("Trusted folders")
    shown.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    for folder in left:
        item = QListWidgetItem(str(folder), shown)
        item.setToolTip(f"<p>{escape(str(folder))}</p>")
        item.setSizeHint(QSize(0, theme.ROW))
    stop, none = QPushButton("Stop trusting"), plain("No folder is trusted.", role="label")
    stop.setObjectName("button.distrust")
    stop.setAutoDefault(False)
    shown.setMinimumHeight(160)

    def look() -> None:
        none.setVisible(not left)
        shown.setVisible(bool(left))
        stop.setVisible(bool(left))
        stop.setEnabled(shown.currentRow() >= 0)

    def take_back() -> None:
        row = shown.currentRow()
        revoke(left.pop(row))
        shown.takeItem(row)
        look()

    stop.clicked.connect(take_back)
    shown.currentRowChanged.connect(lambda _: look())
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    for widget in (none, shown):
        column.addWidget(widget)
    column.addWidget(stop, 0, Qt.AlignmentFlag.AlignLeft)
    look()
    dialog = _Question(
        parent,
        "Trusted folders",
        "Python code in these folders is run, the models they name are asked, and their actions may reach "
        "beyond them. When you stop trusting one, that ends at once, and so does a run that goes on there.",
        (Button("ok", "Close", primary=True),),
        "",
        page,
        560,
    )
    if left:
        shown.setCurrentRow(0)
        shown.setFocus()
    await _answered(dialog)


async def ask_property(parent: QWidget | None, known: Mapping[str, str]) -> tuple[str, str] | None:
    """A state property and the value it shall have from here on; the known ones are offered with theirs."""
    name, value = _offering(list(known), "property.name", "State property"), QLineEdit()
    value.setObjectName("property.value")
    value.setAccessibleName("Value")

    def show(text: str) -> None:
        if text in known:
            value.setText(known[text])

    name.currentTextChanged.connect(show)
    show(name.currentText())
    chosen = await _ask_again(
        parent,
        "Change a state property and run again",
        "The run begins again with what was recorded. From this moment on it has the new value, and "
        "questions that are no longer the same are asked again.",
        {"State property": name, "Value": value},
    )
    return (name.currentText().strip(), value.text()) if chosen and name.currentText().strip() else None


async def ask_item(parent: QWidget | None, known: Sequence[DataItem]) -> DataItem | None:
    """A data item as it shall be from here on; the known ones are offered as they are."""
    newest = {item.id: item for item in known}
    name = _offering(list(newest), "item.id", "Data item")
    source, kind, content = QLineEdit(), QLineEdit(), Text(lines=4)
    for field, words in ((source, "Source"), (kind, "Type"), (content, "Content")):
        field.setObjectName(f"item.{words.lower()}")
        field.setAccessibleName(words)

    def show(text: str) -> None:
        if text in newest:
            item = newest[text]
            source.setText(item.source)
            kind.setText(item.type)
            content.setPlainText(item.content)

    name.currentTextChanged.connect(show)
    show(name.currentText())
    chosen = await _ask_again(
        parent,
        "Change a data item and run again",
        "The run begins again with what was recorded, but with this item in place of the one of its id, or "
        "added to the others. Questions that are no longer the same are asked again.",
        {"Data item": name, "Source": source, "Type": kind, "Content": content},
    )
    id = name.currentText().strip()
    if not (chosen and id):
        return None
    item = newest.get(id) or DataItem(id, "", "", "")
    return replace(item, source=source.text(), type=kind.text(), content=content.toPlainText())


def _offering(known: Sequence[str], id: str, words: str) -> QComboBox:
    """A field for a name, which offers those that are known."""
    name = QComboBox()
    name.setObjectName(id)
    name.setEditable(True)
    name.addItems(list(known))
    name.setAccessibleName(words)
    return name


async def _ask_again(parent: QWidget | None, title: str, text: str, fields: Mapping[str, QWidget]) -> bool:
    """Whether to run again with what these fields say."""
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(5)
    for label, field in fields.items():
        column.addWidget(plain(label, role="label"))
        column.addWidget(field)
    buttons = (Button("cancel", "Cancel"), Button("run", "Run again", primary=True))
    dialog = _Question(parent, title, text, buttons, "", page)
    return await _answered(dialog) and dialog.pressed == "run"


async def ask_case(
    parent: QWidget | None, name: str, taken: Collection[str], verdicts: Sequence[str], expected: str | None
) -> tuple[str, str | None] | None:
    """A name for a new case, none of the ``taken`` ones, and the verdict it shall expect, None for any."""
    line, verdict, note = QLineEdit(name), Combo(least=12), Note()
    line.setObjectName("case.name")
    line.setAccessibleName("Name")
    verdict.setObjectName("case.verdict")
    verdict.setAccessibleName("Expected verdict")
    verdict.addItem("Any")
    verdict.addItems([one_line(each, 80) for each in verdicts])
    verdict.setCurrentIndex(verdicts.index(expected) + 1 if expected in verdicts else 0)
    fields = QWidget()
    column = QVBoxLayout(fields)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(5)
    for widget in (plain("Name", role="label"), line, note, plain("Expected verdict", role="label"), verdict):
        column.addWidget(widget)
    column.addStretch(1)
    dialog = _Question(
        parent,
        "Keep as a case",
        "The case gives again what is pinned now. A test with it passes when the run ends with this verdict; "
        "it fails at a question that is not pinned.",
        (Button("cancel", "Cancel"), Button("keep", "Keep", primary=True)),
        "",
        fields,
    )

    def check() -> None:
        text = line.text().strip()
        note.say("There is a case of this name." if text in taken else "" if text else "A case needs a name.")
        dialog.enable("keep", on=not note.text)

    line.textEdited.connect(lambda _: check())
    line.setFocus()
    line.selectAll()
    if not (await _answered(dialog) and dialog.pressed == "keep"):
        return None
    index = verdict.currentIndex()
    return line.text().strip(), verdicts[index - 1] if index > 0 else None


async def ask_model(parent: QWidget | None, form: ModelForm) -> bool:
    """Whether what the form says of a model shall hold from now on."""
    dialog = _Question(
        parent,
        "The model that answers",
        "It is asked where a run has no other source of answers, and the project of the tree names no model.",
        (Button("cancel", "Cancel"), Button("save", "Save", primary=True)),
        "",
        form,
        520,
    )
    form.checked.connect(lambda on: dialog.enable("save", on=bool(on)))
    form.check()
    return await _answered(dialog) and dialog.pressed == "save"


async def ask_action(
    parent: QWidget | None, key: str, taken: Collection[str]
) -> "tuple[str, ActionEntry] | None":
    """A new action of the project: its key, none of the ``taken`` ones, and its kind with the parameters."""
    form = NewAction(key, taken)
    dialog = _Question(
        parent,
        "New action",
        "It is described, not programmed. It is kept in treewright.json, beside the tree.",
        (Button("cancel", "Cancel"), Button("add", "Add", primary=True)),
        "",
        form,
        720,
    )
    form.checked.connect(lambda on: dialog.enable("add", on=bool(on)))
    form.check()
    form.kinds.setFocus()
    return (form.key, form.entry) if await _answered(dialog) and dialog.pressed == "add" else None


async def ask_signal(parent: QWidget | None) -> tuple[str, str | None] | None:
    """What happened after a decision: a name for it, and a note if there is one."""
    name, note = QComboBox(), QLineEdit()
    name.setObjectName("signal.name")
    name.setEditable(True)
    name.addItems(["complaint", "escalated", "wrong-state"])
    name.setAccessibleName("Signal")
    note.setObjectName("signal.note")
    note.setAccessibleName("Note")
    note.setPlaceholderText("optional")
    buttons = (Button("cancel", "Cancel"), Button("add", "Add", primary=True))
    title = "What happened after this decision?"
    text = "A signal is kept with the decision. It says nothing about which answer is right."
    fields = _labelled(("Signal", name), ("Note", note))
    dialog = _Question(parent, title, text, buttons, "", fields)
    name.setFocus()
    added = await _answered(dialog) and dialog.pressed == "add" and name.currentText().strip()
    return (name.currentText().strip(), note.text().strip() or None) if added else None


def _labelled(*rows: tuple[str, QWidget]) -> QWidget:
    fields = QWidget()
    column = QVBoxLayout(fields)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(5)
    for label, field in rows:
        column.addWidget(plain(label, role="label"))
        column.addWidget(field)
    return fields


async def ask_open(parent: QWidget | None, title: str = "Open tree", kind: str = TREES) -> Path | None:
    """An existing file."""
    dialog = QFileDialog(parent, title, "", f"{kind};;All files (*)")
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return await _chosen(dialog)


async def ask_save(parent: QWidget | None, title: str, suggested: str, kind: str = TREES) -> Path | None:
    """Where to write a file; the person has agreed to replace one that is there."""
    dialog = QFileDialog(parent, title, "", kind)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(Path(suggested).suffix.removeprefix("."))
    dialog.selectFile(suggested)
    return await _chosen(dialog)


async def ask_printer(parent: QWidget | None, name: str, *, landscape: bool) -> "QPrinter | None":
    """The printer, or the file, that something of this name shall be printed to."""
    from PySide6.QtPrintSupport import QPrintDialog, QPrinter

    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    printer.setDocName(name)
    if landscape:
        printer.setPageOrientation(QPageLayout.Orientation.Landscape)
    dialog = QPrintDialog(printer, parent)
    dialog.setWindowTitle(f"Print {name}")
    return printer if await _answered(dialog) else None


async def _chosen(dialog: QFileDialog) -> Path | None:
    for part in dialog.findChildren(QWidget):
        if part.focusPolicy() is Qt.FocusPolicy.WheelFocus:
            part.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    if not await _answered(dialog):
        return None
    return Path(dialog.selectedFiles()[0])


async def _answered(dialog: QDialog) -> bool:
    """Whether the dialog was accepted. Dialogs take turns, but for one that another dialog itself asks."""
    try:
        async with nullcontext() if isinstance(dialog.parent(), QDialog) else _turns:
            return isValid(dialog) and await _opened(dialog)
    finally:
        if isValid(dialog):
            dialog.hide()
            dialog.deleteLater()


_turns: Final = asyncio.Lock()


async def _opened(dialog: QDialog) -> bool:
    answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def finish(code: object) -> None:
        if not answer.done():
            answer.set_result(code == QDialog.DialogCode.Accepted.value)

    dialog.finished.connect(finish)
    dialog.destroyed.connect(finish)
    try:
        dialog.open()
        return await answer
    finally:
        if isValid(dialog):
            dialog.finished.disconnect(finish)
            dialog.destroyed.disconnect(finish)


class _Question(QDialog):
    def __init__(
        self,
        parent: QWidget | None,
        title: str,
        text: str,
        buttons: Sequence[Button],
        detail: str,
        content: QWidget | None = None,
        width: int = 460,
    ) -> None:
        super().__init__(parent)
        self.pressed: str | None = None
        self._buttons: dict[str, QPushButton] = {}
        self.setObjectName("dialog")
        self.setWindowTitle("Treewright")
        self.setFixedWidth(width)
        self._column = layout = QVBoxLayout(self)
        layout.setContentsMargins(22, 20, 22, 18)
        layout.setSpacing(10)
        layout.addWidget(plain(title, role="title", wrap=True))
        layout.addWidget(plain(text, wrap=True))
        if content is not None:
            layout.addWidget(content, 1)
        if detail:
            shown = Text(lines=1, most=10, mono=True)
            shown.setReadOnly(True)
            shown.show_value(detail)
            layout.addWidget(shown)
        layout.addSpacing(8)
        row = QHBoxLayout()
        row.addStretch(1)
        for button in buttons:
            row.addWidget(self._made(button))
        layout.addLayout(row)
        for made in self.findChildren(QPushButton):
            if made.isDefault():
                made.setFocus()

    def _made(self, button: Button) -> QPushButton:
        made = QPushButton(button.text.replace("&", "&&"))
        made.setObjectName(f"button.{button.id}")
        made.setProperty("primary", button.primary)
        made.setProperty("danger", button.danger)
        made.setDefault(button.primary)
        made.setAutoDefault(button.primary)
        made.clicked.connect(lambda: self._press(button.id))
        self._buttons[button.id] = made
        return made

    def sizeHint(self) -> QSize:
        # Left to itself a layout takes the height that texts would have on the least width.
        return QSize(self.width(), self._column.totalHeightForWidth(self.width()))

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.height() < self.sizeHint().height():
            self.resize(self.sizeHint())
        return handled

    def enable(self, id: str, *, on: bool) -> None:
        """Whether this button can be pressed."""
        self._buttons[id].setEnabled(on)

    def _press(self, pressed: str) -> None:
        self.pressed = pressed
        self.accept()
