"""What every owner of commands stands on: the workbench, a small front of the window, common reasons why not.

A family of commands is one class over :class:`Owner`. The window lists these classes once, and makes actions,
shortcuts and the list of commands from their decorated methods.
"""

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from designer.canvas.view import CanvasView
from designer.document.document import Document
from designer.pages import Pages
from designer.workbench import Workbench
from engine import NodeId


class Front(Protocol):
    """What commands may ask of the window."""

    canvas: CanvasView
    pages: Pages

    def tell(self, words: str) -> None:
        """Say one sentence in the status bar."""

    def show_panel(self, id: str) -> None:
        """Bring a panel to the front."""

    def show_place(self, node: NodeId | None, field: str | None) -> QWidget | None:
        """Select a node, or show the tree for None, and focus a field by its JSON member; its widget."""

    def window(self) -> QWidget:
        """The parent of dialogs."""

    def close(self) -> bool:
        """Ask to close the window."""


class Owner(QObject):
    """A family of commands: decorated methods that act on the current document."""

    def __init__(self, workbench: Workbench, front: Front) -> None:
        super().__init__(workbench)
        self.workbench, self.front, self.canvas = workbench, front, front.canvas

    @property
    def document(self) -> Document:
        """The current document; ``RuntimeError`` without one, which ``when`` has to prevent."""
        document = self.workbench.current
        if document is None:
            raise RuntimeError("There is no current document.")
        return document


# -- why a command may not be run, for ``when``: None, or the reason in plain words


def no_document(owner: Owner) -> str | None:
    """No tree is open."""
    return None if owner.workbench.current else "Open a tree first."


def nothing_selected(owner: Owner) -> str | None:
    """No node is selected."""
    document = owner.workbench.current
    return None if document and document.selection else "Select a node first."


def no_single_node(owner: Owner) -> str | None:
    """None or several nodes are selected."""
    document = owner.workbench.current
    return None if document and len(document.selection) == 1 else "Select one node first."


def fewer_than(count: int) -> Callable[[Owner], str | None]:
    """Fewer nodes than this are selected."""

    def reason(owner: Owner) -> str | None:
        document = owner.workbench.current
        return None if document and len(document.selection) >= count else f"Select {count} nodes or more."

    return reason
