"""Questions to the person, as awaitables: the only place that opens dialogs.

A dialog is opened, not executed: a nested event loop inside a coroutine loses other tasks. Every text is
shown as it is, never as markup. A dialog that goes away unanswered, with its window for instance, counts
as cancelled; a coroutine that is cancelled takes its dialog with it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from designer.forms import Text, plain

TREES: Final = "Trees (*.json)"


@dataclass(frozen=True, slots=True)
class Button:
    """One way to answer. ``primary`` is what Enter means; ``danger`` is coloured as a warning."""

    id: str
    text: str
    primary: bool = False
    danger: bool = False


OK: Final = (Button("ok", "OK", primary=True),)


async def ask(
    parent: QWidget | None, title: str, text: str, buttons: Sequence[Button] = OK, *, detail: str = ""
) -> str | None:
    """The id of the button that was pressed; None when the dialog was closed without one.

    ``detail`` is shown in a field of its own, to be read and copied.
    """
    dialog = _Question(parent, title, text, buttons, detail)
    return dialog.pressed if await _answered(dialog) else None


async def message(parent: QWidget | None, title: str, text: str, *, detail: str = "") -> None:
    """Say something, and wait until it was seen."""
    await ask(parent, title, text, detail=detail)


async def save_changes(parent: QWidget | None, name: str) -> Literal["save", "discard", "cancel"]:
    """What shall become of the changes to a document that is about to be closed."""
    pressed = await ask(
        parent,
        f"Save the changes to {name}?",
        "Without saving, they are lost.",
        (
            Button("discard", "Don't save", danger=True),
            Button("cancel", "Cancel"),
            Button("save", "Save", primary=True),
        ),
    )
    return cast("Literal['save', 'discard', 'cancel']", pressed or "cancel")


async def trust(parent: QWidget | None, folder: Path, files: Sequence[str]) -> bool:
    """Whether the Python files of a project may be run, now and whenever this folder is opened."""
    pressed = await ask(
        parent,
        "This project has Python code",
        f"Its actions and predicates come from {_listed(files)} in this folder. Running them gives them "
        "everything you may do on this computer. Trust the folder only when you know who wrote it.",
        (Button("no", "Open without the code"), Button("yes", "Trust this folder", primary=True)),
        detail=str(folder),
    )
    return pressed == "yes"


async def choose_file(
    parent: QWidget | None, title: str, folder: Path | None = None, kinds: str = TREES
) -> Path | None:
    """An existing file."""
    dialog = QFileDialog(parent, title, str(folder or ""), f"{kinds};;All files (*)")
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return await _chosen(dialog)


async def choose_new_file(
    parent: QWidget | None, title: str, suggested: Path, kinds: str = TREES
) -> Path | None:
    """Where to write a file; the person has agreed to replace one that is there."""
    dialog = QFileDialog(parent, title, str(suggested.parent), kinds)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(suggested.suffix.removeprefix("."))
    dialog.selectFile(suggested.name)
    return await _chosen(dialog)


async def _chosen(dialog: QFileDialog) -> Path | None:
    if not await _answered(dialog):
        return None
    return Path(dialog.selectedFiles()[0])


async def _answered(dialog: QDialog) -> bool:
    """Whether the dialog was accepted."""
    answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def finish(code: int | QObject) -> None:
        if not answer.done():
            answer.set_result(code == QDialog.DialogCode.Accepted.value)

    dialog.finished.connect(finish)
    dialog.destroyed.connect(finish)
    try:
        dialog.open()
        return await answer
    finally:
        dialog.finished.disconnect(finish)
        dialog.destroyed.disconnect(finish)
        dialog.hide()
        dialog.deleteLater()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else "Python files"


class _Question(QDialog):
    def __init__(
        self, parent: QWidget | None, title: str, text: str, buttons: Sequence[Button], detail: str
    ) -> None:
        super().__init__(parent)
        self.pressed: str | None = None
        self.setObjectName("dialog")
        self.setWindowTitle("Treewright")
        self.setFixedWidth(460)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(22, 20, 22, 18)
        layout.setSpacing(10)
        layout.addWidget(plain(title, role="title", wrap=True))
        layout.addWidget(plain(text, wrap=True))
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

    def _made(self, button: Button) -> QPushButton:
        made = QPushButton(button.text.replace("&", "&&"))
        made.setObjectName(f"button.{button.id}")
        made.setProperty("primary", button.primary)
        made.setProperty("danger", button.danger)
        made.setDefault(button.primary)
        made.setAutoDefault(button.primary)
        if button.primary:
            made.setFocus()
        made.clicked.connect(lambda: self._press(button.id))
        return made

    def _press(self, pressed: str) -> None:
        self.pressed = pressed
        self.accept()
