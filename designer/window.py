"""The main window: docks, menus, toolbar and the commands behind them; the work is done elsewhere."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QPoint,
    QSettings,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QActionGroup, QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLineEdit,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QTabWidget,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from designer import dialogs, resource, theme
from designer.actions import Commands, command
from designer.arranging import Arranging
from designer.canvas.geometry import card_size
from designer.canvas.overlay import Overlay, Standing, moment
from designer.canvas.picture import FORMS
from designer.canvas.view import CanvasView
from designer.document import alignment, files, rules
from designer.document.design import Viewpoint, viewpoint
from designer.document.document import Document
from designer.document.draft import Draft
from designer.document.names import names_of, one_line
from designer.document.recovery import Found
from designer.document.wording import ending, in_plain_words
from designer.editing import Editing
from designer.forms import Combo, plain
from designer.pages import Banner, StartPage, TextPage
from designer.panels import PANELS, Panel
from designer.panels.inspector import Inspector
from designer.panels.palette import PalettePanel
from designer.running import RunState
from designer.settings import Settings, settings_path
from designer.tasks import launch
from designer.workbench import Workbench
from engine import NODE_TYPES, NodeId, Trail, Tree, TreeInvalid, runnable, write_tree

_Widget = TypeVar("_Widget", bound=QWidget)

SAMPLE: Final = "samples/ssvc-deployer/tree.json"
STATE_VERSION: Final = 1
_MODES: Final = ("light", "dark", "system")
_FRAME: Final = 40
"""Height of a title bar, for the first size of the window."""

_DOCKS: Final = (
    QMainWindow.DockOption.AllowNestedDocks
    | QMainWindow.DockOption.AllowTabbedDocks
    | QMainWindow.DockOption.GroupedDragging
    | QMainWindow.DockOption.AnimatedDocks
)

_Entry: TypeAlias = str | tuple[str, Sequence[str]]
_KINDS: Final = [f"node.{kind}" for kind in NODE_TYPES]
_ALIGN: Final = [
    "align.left", "align.centre", "align.top", "align.middle", "", "align.across", "align.down", "align.snap"
]  # fmt: skip
_MENUS: Final[Mapping[str, Sequence[_Entry]]] = {
    "node": [
        "node.rename", "node.child", "node.sibling", "node.connect", ("Change &type", _KINDS), "node.start",
        "",
        "edit.cut", "edit.copy", "edit.duplicate", "edit.delete", "",
        "node.detach", "node.heal", "",
        "select.downstream", "select.upstream", ("&Align", _ALIGN), "edit.layout-selection", "edit.pin",
        "note.frame",
    ],
    "branch": ["branch.insert", "branch.lead", "branch.end", "", "branch.disconnect"],
    "note": ["note.edit", "note.colour", "", "note.delete"],
    "ground": [
        "node.add", "note.add", "", "edit.paste", "edit.paste-linked", "", "edit.select-all", "edit.layout",
        "view.fit",
    ],
}  # fmt: skip
"""What can be done with what was clicked; a pair is a menu of its own."""

_STANDING: Final[Mapping[RunState, Standing]] = {RunState.PAUSED: "paused", RunState.ASKING: "asks you"}
_SIDES: Final[Mapping[str, Qt.DockWidgetArea]] = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}


def _no_document(window: "MainWindow") -> str | None:
    return None if window.workbench.current else "Open a tree first."


def _nothing_selected(window: "MainWindow") -> str | None:
    document = window.workbench.current
    return None if document and document.selection else "Select a node first."


def _no_single_node(window: "MainWindow") -> str | None:
    document = window.workbench.current
    return None if document and len(document.selection) == 1 else "Select one node first."


def _at_least(count: int) -> Callable[["MainWindow"], str | None]:
    def reason(window: "MainWindow") -> str | None:
        document = window.workbench.current
        return None if document and len(document.selection) >= count else f"Select {count} nodes or more."

    return reason


def _no_branch(window: "MainWindow") -> str | None:
    return None if window.workbench.current and window.canvas.picked else "Click a branch first."


def _no_note(window: "MainWindow") -> str | None:
    return (
        None if window.workbench.current and window.canvas.picked_note else "Click a note or a frame first."
    )


def _not_leading(window: "MainWindow") -> str | None:
    return window.editing.may_lead_on()


def _not_detachable(window: "MainWindow") -> str | None:
    return window.editing.may_detach()


def _changing(kind: str, text: str) -> Callable[["MainWindow"], None]:
    def change(window: "MainWindow") -> None:
        window.editing.change_kind(kind)

    return command(f"node.{kind}", text, when=lambda window: window.editing.may_change_kind(kind))(change)


def _aligning(id: str, text: str, way: alignment.Way, least: int) -> Callable[["MainWindow"], None]:
    def align(window: "MainWindow") -> None:
        window.editing.align(way, text.replace("&", "").lower())

    return command(f"align.{id}", text, when=_at_least(least))(align)


def _not_undoable(window: "MainWindow") -> str | None:
    document = window.workbench.current
    return None if document and document.undo_stack.canUndo() else "There is nothing to undo."


def _not_redoable(window: "MainWindow") -> str | None:
    document = window.workbench.current
    return None if document and document.undo_stack.canRedo() else "There is nothing to redo."


def _not_reloadable(window: "MainWindow") -> str | None:
    document = window.workbench.current
    return None if document and document.path else "There is no file to read again."


def _no_previous(window: "MainWindow") -> str | None:
    document = window.workbench.current
    there = document is not None and document.path is not None and files.previous_path(document.path).exists()
    return None if there else "No earlier version of this file was kept."


def _not_taken(window: "MainWindow") -> str | None:
    document = window.workbench.current
    return None if document and document.read_only else "This tree can be edited here already."


def _not_startable(window: "MainWindow") -> str | None:
    match window.workbench.running.state:
        case RunState.PAUSED:
            return None
        case RunState.RUNNING | RunState.ASKING:
            return "The run is going on."
        case _:
            return _no_document(window)


def _not_pausable(window: "MainWindow") -> str | None:
    running = window.workbench.running.state in (RunState.RUNNING, RunState.ASKING)
    return None if running else "Nothing is running."


def _not_stoppable(window: "MainWindow") -> str | None:
    return None if window.workbench.running.active else "Nothing is running."


def _not_exportable(window: "MainWindow") -> str | None:
    return _no_document(window)


class MainWindow(QMainWindow):
    """One window over a workbench. Every command has a stable id; :meth:`run_command` runs it."""

    closed = Signal()
    """The window was closed and everything in it put away."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.setObjectName("window")
        self.setAcceptDrops(True)
        self.setDockOptions(_DOCKS)
        self.workbench = Workbench(settings or Settings.load(), self)
        self.canvas = CanvasView(may_connect=self._may_connect, parent=self)
        self.editing = Editing(self.workbench, self.canvas, self.tell)
        self.arranging = Arranging(self.workbench, self.canvas, self.tell)
        self.text_page = TextPage()
        self.start_page = StartPage()
        self._tabs = _named("documents", QTabBar(documentMode=True, drawBase=False, tabsClosable=True))
        self._pages = _named("pages", QStackedWidget())
        self._title = _named("document.title", plain())
        self._edited = _named("document.edited", plain(role="label"))
        # Room for its longest text, so that nothing beside it moves.
        self._edited.setFixedWidth(62)
        self._answers = _named("answers", Combo("Answers: ", least=12))
        self._answers.setToolTip("Where the answers of the next run come from")
        self._banner = Banner("Take over")
        self._message = _named("message", plain())
        self.panels: dict[str, QWidget] = {}
        self.docks: dict[str, QDockWidget] = {}
        self._closing = self._asking = False
        self._leaving: asyncio.Task[None] | None = None
        self._settle_soon = QTimer(self, interval=0, singleShot=True)
        self._settle_soon.timeout.connect(self._settle_titles)
        self._place_pages()
        self._place_docks()
        self.commands = Commands(
            self, scopes={"canvas": self.canvas, "inspector": self.docks["inspector"]}, refused=self.tell
        )
        self._place_toolbar()
        self._place_menus()
        self._connect()
        self._factory_state = self.saveState(STATE_VERSION)
        self._restore_layout()
        self._show_document(None)

    # -- fronts ---------------------------------------------------------------------------------------

    def run_command(self, id: str) -> bool:
        """Run a command by its id; False, with the reason in the status bar, when it may not be run now."""
        return self.commands.run(id)

    @property
    def message(self) -> str:
        """The sentence in the status bar."""
        return self._message.text()

    def tell(self, words: str) -> None:
        """Say one sentence in the status bar."""
        self._message.setText(words)

    def open_path(self, path: Path) -> None:
        """Open a file, or show its text and what is wrong with it."""
        already = self.workbench.find(path)
        if already is not None:
            self.workbench.show_document(already)
            return
        opened = Document.open(path, card_size)
        if isinstance(opened, files.Unreadable):
            self.text_page.show_text(opened.path, opened.text, opened.problems)
            self._pages.setCurrentWidget(self.text_page)
            self.tell(f"{path.name} cannot be edited as a tree.")
            return
        self.workbench.change_settings(recent_files=self.workbench.settings.with_recent(path).recent_files)
        self.workbench.add(opened)
        folder = self.workbench.untrusted_code(opened)
        if folder is not None:
            launch(self._ask_trust(folder))

    # -- commands -------------------------------------------------------------------------------------

    @command("file.new", "&New tree", ["Ctrl+N"], icon="new")
    def new(self) -> None:
        """An empty tree."""
        self.workbench.add(Document.new())

    @command("file.open", "&Open…", ["Ctrl+O"], icon="open")
    def open(self) -> None:
        """Choose a tree file."""
        launch(self._open())

    @command("file.open-sample", "Open the &sample")
    def open_sample(self) -> None:
        """The deployer table of the CERT Coordination Center."""
        self.open_path(resource(SAMPLE))

    @command("file.save", "&Save", ["Ctrl+S"], when=_no_document, icon="save")
    def save(self) -> None:
        """Store the tree where it came from, or ask where."""
        launch(self._save())

    @command("file.save-as", "Save &as…", ["Ctrl+Shift+S"], when=_no_document)
    def save_as(self) -> None:
        """Store the tree in another file."""
        launch(self._save(ask=True))

    @command("file.reload", "&Reload from disk", when=_not_reloadable)
    def reload(self) -> None:
        """Show what stands on the disk; Undo brings your version back."""
        self._reload(self._document())

    @command("file.previous", "Go back to the &version before", when=_no_previous)
    def previous(self) -> None:
        """Show the version the last save replaced, as a change that can be undone."""
        document = self._document()
        draft = files.previous(document.path, document.draft, card_size) if document.path else None
        if draft is None:
            self.tell("The earlier version cannot be read.")
        else:
            document.edit("Go back", lambda _: draft)

    @command("file.recover", "Recover &unsaved work…")
    def recover(self) -> None:
        """Look for what a program that died had not saved."""
        launch(self.offer_recovery(asked=True))

    @command("file.take-over", "&Take over editing", when=_not_taken)
    def take_over(self) -> None:
        """Edit the tree here that is open elsewhere; it becomes read-only there."""
        self.workbench.take_over(self._document())

    @command("file.export", "&Export tree…", ["Ctrl+E"], when=_not_exportable, icon="export")
    def export(self) -> None:
        """Write the checked tree for other runtimes."""
        document = self._document()
        try:
            tree = runnable(document.draft.tree, document.catalog).tree
        except TreeInvalid as refused:
            found = [p for p in refused.problems if p.severity == "error"]
            first, *_ = in_plain_words(found, document.draft.tree) or found
            self._show_place(first.node, first.field)
            self.tell(f"Not exported. {first.message}")
            return
        launch(
            self._export(write_tree(tree), "Export tree", _stem(document) + ".export.json", "JSON (*.json)")
        )

    @command("file.export-picture", "Export &picture…", when=_no_document)
    def export_picture(self) -> None:
        """Write the whole tree as PNG, SVG or PDF, by the name of the file."""
        launch(self._export_picture(self._document()))

    @command("file.close", "&Close", ["Ctrl+W"], when=_no_document)
    def close_document(self) -> None:
        """Close the tree; asks first when it has changes."""
        launch(self._close_document(self._document()))

    @command("file.quit", "&Quit", ["Ctrl+Q"])
    def quit(self) -> None:
        """Close the window."""
        self.close()

    @command("edit.undo", "&Undo", ["Ctrl+Z"], when=_not_undoable, icon="undo")
    def undo(self) -> None:
        """Take the last change back."""
        self._document().undo()

    @command("edit.redo", "&Redo", ["Ctrl+Shift+Z", "Ctrl+Y"], when=_not_redoable, icon="redo")
    def redo(self) -> None:
        """Make the change again."""
        self._document().redo()

    @command(
        "edit.delete",
        "&Delete",
        ["Delete", "Backspace"],
        when=_nothing_selected,
        scope="canvas",
        icon="delete",
    )
    def delete(self) -> None:
        """Remove the selected nodes and the transitions that led to them."""
        self.editing.delete()

    @command("edit.select-all", "Select &all", ["Ctrl+A"], when=_no_document, scope="canvas")
    def select_all(self) -> None:
        """Select every node."""
        self._document().select(self._document().draft.tree.nodes)

    @command("edit.cut", "Cu&t", ["Ctrl+X"], when=_nothing_selected, scope="canvas")
    def cut(self) -> None:
        """Copy the selected nodes and remove them."""
        self.editing.cut()

    @command("edit.copy", "&Copy", ["Ctrl+C"], when=_nothing_selected, scope="canvas")
    def copy(self) -> None:
        """Put the selected nodes on the clipboard, as text that other programs can read too."""
        self.editing.copy()

    @command("edit.paste", "&Paste", ["Ctrl+V"], when=_no_document, scope="canvas")
    def paste(self) -> None:
        """Add the copied nodes at the pointer, with the branches among them."""
        self.editing.paste()

    @command("edit.paste-linked", "Paste with &links", ["Ctrl+Shift+V"], when=_no_document, scope="canvas")
    def paste_linked(self) -> None:
        """Paste, and keep branches that led to nodes this tree has too."""
        self.editing.paste(outgoing=True)

    @command("edit.duplicate", "D&uplicate", ["Ctrl+D"], when=_nothing_selected, scope="canvas")
    def duplicate(self) -> None:
        """Add a copy of the selected nodes beside them."""
        self.editing.duplicate()

    @command(
        "select.downstream", "Select do&wnstream", ["Ctrl+Shift+Down"], _nothing_selected, scope="canvas"
    )
    def select_downstream(self) -> None:
        """Select what a run may visit after the selected nodes too."""
        self.editing.select_downstream()

    @command("select.upstream", "Select u&pstream", ["Ctrl+Shift+Up"], _nothing_selected, scope="canvas")
    def select_upstream(self) -> None:
        """Select what a run may visit before the selected nodes too."""
        self.editing.select_upstream()

    @command("node.add", "&Add node…", when=_no_document, tip="Tap Space or double-click the ground")
    def add_node(self) -> None:
        """Choose a kind of node and add it at the pointer."""
        self.editing.quick_add()

    @command("node.child", "Add &child…", ["Insert"], when=_not_leading, scope="canvas")
    def add_child(self) -> None:
        """Choose what the first free branch of the selected node leads to; a new node appears beside it."""
        self.editing.lead_on()

    @command("node.sibling", "Add &sibling…", ["Shift+Insert"], when=_no_single_node, scope="canvas")
    def add_sibling(self) -> None:
        """Do the same for the node that leads to the selected one."""
        self.editing.lead_from_parent()

    @command("node.connect", "C&onnect…", ["C"], when=_not_leading, scope="canvas")
    def connect_branch(self) -> None:
        """Choose the node that the chosen branch, or the first free one, leads to."""
        self.editing.lead_on(new=False)

    @command("node.rename", "&Rename", ["F2"], when=_no_single_node, scope="canvas")
    def rename(self) -> None:
        """Write another id for the selected node; every branch that leads to it follows."""
        (node,) = self._document().selection
        self._show_place(node, "id")
        line = self._panel(Inspector).focusWidget()
        if isinstance(line, QLineEdit):
            line.selectAll()

    @command("node.start", "S&tart the run here", when=_no_single_node)
    def start_here(self) -> None:
        """Have runs begin at the selected node."""
        self.editing.start_here()

    @command("node.detach", "&Detach and close the gap", when=_not_detachable)
    def detach(self) -> None:
        """Take the selected nodes out of the flow, which goes on to what follows them."""
        self.editing.detach()

    @command("node.heal", "De&lete and close the gap", ["Ctrl+Delete"], _not_detachable, scope="canvas")
    def delete_healed(self) -> None:
        """Delete the selected nodes; what led to them leads to what follows."""
        self.editing.delete_healed()

    to_action = _changing("action", "To &action")
    to_classify = _changing("classify", "To &question")
    to_condition = _changing("condition", "To &condition")
    to_terminal = _changing("terminal", "To &terminal")

    align_left = _aligning("left", "&Left sides", alignment.left, 2)
    align_centre = _aligning("centre", "&Centres", alignment.centre, 2)
    align_top = _aligning("top", "&Tops", alignment.top, 2)
    align_middle = _aligning("middle", "&Middles", alignment.middle, 2)
    align_across = _aligning("across", "Spread &across", alignment.across, 3)
    align_down = _aligning("down", "Spread &down", alignment.down, 3)
    align_snap = _aligning("snap", "&Snap to grid", alignment.snapped, 1)

    @command("branch.insert", "&Insert node…", when=_no_branch)
    def insert_into_branch(self) -> None:
        """Choose a kind of node and put it within the chosen branch."""
        self.editing.insert_into_branch()

    @command("branch.lead", "&Lead elsewhere…", when=_no_branch)
    def lead_branch(self) -> None:
        """Choose another node for the chosen branch, or a new one."""
        self.editing.lead_on()

    @command("branch.end", "&Go to its end", when=_no_branch)
    def go_to_end(self) -> None:
        """Select the node the chosen branch leads to."""
        self.editing.go_to_end()

    @command("branch.disconnect", "&Disconnect", when=_no_branch)
    def disconnect_branch(self) -> None:
        """Have the chosen branch lead nowhere."""
        self.editing.disconnect_branch()

    @command("note.add", "Add &note", when=_no_document, tip="Write something beside the tree")
    def add_note(self) -> None:
        """Put a note at the pointer and let the person write it."""
        self.editing.add_note()

    @command("note.frame", "&Frame the selection", ["Ctrl+G"], when=_nothing_selected, scope="canvas")
    def add_frame(self) -> None:
        """Put a titled frame around the selected nodes; what lies in it moves with it."""
        self.editing.add_frame()

    @command("note.edit", "&Edit text", when=_no_note)
    def write_note(self) -> None:
        """Write the text of the chosen note, in Markdown."""
        self.editing.write_note()

    @command("note.colour", "Next &colour", when=_no_note)
    def colour_note(self) -> None:
        """Give the chosen note the next colour."""
        self.editing.colour_note()

    @command("note.delete", "&Delete", when=_no_note)
    def delete_note(self) -> None:
        """Take the chosen note away."""
        self.editing.delete_note()

    @command("edit.layout", "&Lay out", ["Ctrl+Shift+L"], when=_no_document, icon="layout")
    def lay_out(self) -> None:
        """Place every node anew that is not pinned."""
        self.arranging.lay_out()

    @command(
        "edit.layout-selection", "Lay out s&election", ["Ctrl+L"], when=_nothing_selected, scope="canvas"
    )
    def lay_out_selection(self) -> None:
        """Place the selected nodes anew and leave all others where they are."""
        self.arranging.lay_out_selection()

    @command("edit.pin", "&Pin or unpin", when=_nothing_selected, tip="Layout leaves pinned nodes alone")
    def pin(self) -> None:
        """Have layout leave the selected nodes where they are, or let them go."""
        self.arranging.pin()

    @command("edit.grow-right", "Grow to the &right", when=_no_document)
    def grow_right(self) -> None:
        """Lay the tree out from left to right."""
        self.arranging.turn("right")

    @command("edit.grow-down", "Grow &downwards", when=_no_document)
    def grow_down(self) -> None:
        """Lay the tree out from top to bottom."""
        self.arranging.turn("down")

    @command("run.start", "&Run", ["F5"], when=_not_startable, icon="run", tip="Run to the end, or go on")
    def run_start(self) -> None:
        """Run, or go on after a pause."""
        if self.workbench.running.state is RunState.PAUSED:
            self.workbench.running.resume()
        elif self._ready_to_run():
            self.workbench.running.start(self._document())

    @command(
        "run.step", "&Step", ["F10"], when=_not_startable, icon="step", tip="Execute one node, then pause"
    )
    def run_step(self) -> None:
        """Execute one node."""
        if self.workbench.running.active or self._ready_to_run():
            self.workbench.running.step(self._document())

    @command(
        "run.pause", "&Pause", ["F6"], when=_not_pausable, icon="pause", tip="Pause before the next node"
    )
    def run_pause(self) -> None:
        """Pause before the next node."""
        self.workbench.running.pause()

    @command("run.stop", "S&top", ["Shift+F5"], when=_not_stoppable, icon="stop", tip="End the run now")
    def run_stop(self) -> None:
        """End the run now."""
        self.workbench.running.cancel()

    @command("view.fit", "&Fit", ["Home", "Shift+1"], when=_no_document, scope="canvas", icon="fit")
    def fit(self) -> None:
        """Show the whole tree."""
        self.canvas.fit()

    @command("view.fit-selection", "Fit &selection", ["F"], when=_nothing_selected, scope="canvas")
    def fit_selection(self) -> None:
        """Show the selected nodes."""
        self.canvas.fit(self._document().selection)

    @command("view.actual-size", "&100 %", ["Ctrl+0"], when=_no_document)
    def actual_size(self) -> None:
        """Show cards at their own size."""
        self.canvas.zoom_reset()

    @command("view.zoom-in", "Zoom &in", ["Ctrl++", "Ctrl+="], when=_no_document, icon="zoom-in")
    def zoom_in(self) -> None:
        """Show cards larger."""
        self.canvas.zoom_in()

    @command("view.zoom-out", "Zoom &out", ["Ctrl+-"], when=_no_document, icon="zoom-out")
    def zoom_out(self) -> None:
        """Show more of the tree."""
        self.canvas.zoom_out()

    @command("view.canvas", "Go to the &canvas", ["Escape"], when=_no_document, scope="inspector")
    def go_to_canvas(self) -> None:
        """Have keys go to the canvas again."""
        self.canvas.setFocus()

    @command("view.back", "&Back", ["Ctrl+["], when=_no_document, tip="Look at the place before")
    def back(self) -> None:
        """Look at what was looked at before the last jump."""
        self.canvas.back()

    @command("view.forward", "For&ward", ["Ctrl+]"], when=_no_document)
    def forward(self) -> None:
        """Look again at what was gone back from."""
        self.canvas.forward()

    @command("view.minimap", "&Map", checkable=True, tip="A map in the corner of trees larger than the view")
    def minimap(self, on: bool) -> None:
        """Show a map of trees that are larger than the view, or none."""
        self.canvas.minimap.wanted = on

    @command("view.light", "&Light", checkable=True)
    def light(self, _on: bool) -> None:
        """Bright colours."""
        self._set_theme("light")

    @command("view.dark", "&Dark", checkable=True)
    def dark(self, _on: bool) -> None:
        """Dark colours."""
        self._set_theme("dark")

    @command("view.system", "Like the &system", checkable=True)
    def system(self, _on: bool) -> None:
        """The colours the desktop asks for."""
        self._set_theme("system")

    @command("view.reset", "&Reset layout")
    def reset_layout(self) -> None:
        """Put every panel back where it was at first."""
        self.restoreState(self._factory_state, STATE_VERSION)
        self._size_docks()

    # -- building -------------------------------------------------------------------------------------

    def _place_pages(self) -> None:
        for page in (self.start_page, self.text_page, self.canvas):
            self._pages.addWidget(page)
        centre = _named("centre", QWidget())
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._tabs)
        column.addWidget(self._banner)
        column.addWidget(self._pages, 1)
        self.setCentralWidget(centre)
        self._message.setContentsMargins(10, 0, 10, 0)
        self.statusBar().addWidget(self._message, 1)
        self.statusBar().setSizeGripEnabled(False)

    def _place_docks(self) -> None:
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setCorner(Qt.Corner.BottomLeftCorner, _SIDES["left"])
        self.setCorner(Qt.Corner.BottomRightCorner, _SIDES["right"])
        first: dict[str, QDockWidget] = {}
        for panel in PANELS:
            dock = self._dock(panel)
            side = _SIDES[panel.area.partition("-")[0]]
            if panel.area in first:
                self.tabifyDockWidget(first[panel.area], dock)
            else:
                self.addDockWidget(side, dock)
                first[panel.area] = dock
        for dock in first.values():
            dock.raise_()
        self._first = first

    def _size_docks(self) -> None:
        """The proportions of a fresh window; only a window of its final size can be given them."""
        first = self._first
        self.resizeDocks([first["left"], first["right"]], [260, 320], Qt.Orientation.Horizontal)
        self.resizeDocks([first["bottom"]], [240], Qt.Orientation.Vertical)
        heights = {"right": 420, "right-mid": 240, "right-low": 250}
        self.resizeDocks([first[area] for area in heights], list(heights.values()), Qt.Orientation.Vertical)

    def _dock(self, panel: Panel) -> QDockWidget:
        dock = _named(f"dock.{panel.id}", QDockWidget(panel.title, self))
        widget = panel.make(self.workbench)
        dock.setWidget(widget)
        self.panels[panel.id], self.docks[panel.id] = widget, dock
        widget.windowTitleChanged.connect(dock.setWindowTitle)
        for moved in (dock.dockLocationChanged, dock.topLevelChanged, dock.visibilityChanged):
            moved.connect(self._settle_soon.start)
        return dock

    def _settle_titles(self) -> None:
        """A dock among tabs is named by its tab; only one that stands alone needs a title to hold it by."""
        for dock in self.docks.values():
            tabbed = not dock.isFloating() and any(not d.isHidden() for d in self.tabifiedDockWidgets(dock))
            bare = dock.titleBarWidget() is not None
            if tabbed and not bare:
                dock.setTitleBarWidget(QWidget())
            elif bare and not tabbed:
                dock.setTitleBarWidget(None)  # type: ignore[arg-type]  # None gives Qt's own back

    def _place_toolbar(self) -> None:
        bar = _named("toolbar", QToolBar("Toolbar", self, movable=False, floatable=False))
        bar.toggleViewAction().setVisible(False)
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.addToolBar(bar)
        bar.addWidget(_named("brand", plain("Treewright", role="title")))
        self._of_document = [bar.addSeparator(), bar.addWidget(self._title), bar.addWidget(self._edited)]
        bar.addSeparator()
        self.commands.fill(
            bar, ["edit.undo", "edit.redo", "", "run.start", "run.step", "run.pause", "run.stop"]
        )
        for id_ in ("edit.undo", "edit.redo"):
            button = bar.widgetForAction(self.commands[id_])
            if isinstance(button, QToolButton):
                button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        bar.widgetForAction(self.commands["run.start"]).setProperty("primary", True)
        self._of_document.append(bar.addWidget(self._answers))
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(spacer)
        self.commands.fill(bar, ["file.export"])
        self._paint_icons()

    def _place_menus(self) -> None:
        file = self.menuBar().addMenu("&File")
        self.commands.fill(file, ["file.new", "file.open"])
        self._recent = file.addMenu("Open &recent")
        self.commands.fill(
            file,
            ["file.open-sample", "file.recover", "", "file.save", "file.save-as"],
        )
        self.commands.fill(file, ["file.reload", "file.previous", "file.take-over", ""])
        self.commands.fill(file, ["file.export", "file.export-picture"])
        self.commands.fill(file, ["", "file.close", "file.quit"])
        edit = self.menuBar().addMenu("&Edit")
        self._fill(
            edit,
            [
                "edit.undo", "edit.redo", "", "edit.cut", "edit.copy", "edit.paste", "edit.paste-linked",
                "edit.duplicate", "edit.delete", "",
                "edit.select-all", "select.downstream", "select.upstream",
            ],
        )  # fmt: skip
        node = self.menuBar().addMenu("&Node")
        self._fill(
            node,
            [
                "node.add", "node.child", "node.sibling", "node.connect", "", "node.rename",
                ("Change &type", _KINDS), "node.start", "", "node.detach", "node.heal", "",
                "branch.insert", "branch.lead", "branch.disconnect", "", "note.add", "note.frame",
            ],
        )  # fmt: skip
        arrange = self.menuBar().addMenu("&Arrange")
        self._fill(arrange, ["edit.layout", "edit.layout-selection", "edit.pin", ""])
        self._fill(arrange, ["edit.grow-right", "edit.grow-down", "", *_ALIGN])
        view = self.menuBar().addMenu("&View")
        self.commands.fill(view, ["view.fit", "view.fit-selection", "view.actual-size", "view.zoom-in"])
        self.commands.fill(view, ["view.zoom-out", "", "view.back", "view.forward", "view.minimap", ""])
        self.commands["view.minimap"].setChecked(True)
        appearance = view.addMenu("&Appearance")
        self.commands.fill(appearance, [f"view.{mode}" for mode in _MODES])
        choices = QActionGroup(self)
        for mode in _MODES:
            choices.addAction(self.commands[f"view.{mode}"])
            self.commands[f"view.{mode}"].setChecked(self.workbench.settings.theme == mode)
        self._fill_panels_menu(view.addMenu("&Panels"))
        self.commands.fill(view, ["view.reset"])
        run = self.menuBar().addMenu("&Run")
        self.commands.fill(run, ["run.start", "run.step", "run.pause", "run.stop"])

    def _fill(self, menu: QMenu, entries: Sequence[_Entry]) -> None:
        menu.setToolTipsVisible(True)
        for entry in entries:
            if isinstance(entry, str):
                self.commands.fill(menu, [entry])
            else:
                self._fill(menu.addMenu(entry[0]), entry[1])

    def _show_menu(self, what: str, at: QPoint) -> None:
        if self.workbench.current is None:
            return
        self.commands.refresh()
        menu = _named(f"menu.{what}", QMenu(self))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill(menu, _MENUS[what])
        menu.popup(at)

    def _panel(self, kind: type[_Widget]) -> _Widget:
        return next(panel for panel in self.panels.values() if isinstance(panel, kind))

    def _fill_panels_menu(self, menu: QMenu) -> None:
        for dock in self.docks.values():
            menu.addAction(dock.toggleViewAction())

    def _connect(self) -> None:
        bench, canvas = self.workbench, self.canvas
        bench.current_changed.connect(self._show_document)
        bench.documents_changed.connect(self._list_documents)
        bench.cases_changed.connect(self._list_cases)
        bench.place_requested.connect(self._show_place)
        bench.reveal_requested.connect(self.canvas.reveal)
        bench.trouble.connect(self.tell)
        bench.changed_outside.connect(lambda document: launch(self._ask_outside(document)))
        self._banner.pressed.connect(lambda: self.run_command("file.take-over"))
        bench.running.trail_changed.connect(self._show_trail)
        bench.running.state_changed.connect(self._show_state)
        canvas.selection_requested.connect(self._select)
        canvas.delete_requested.connect(lambda: self.run_command("edit.delete"))
        canvas.open_requested.connect(lambda node: self._show_place(node, None))
        canvas.menu_requested.connect(self._show_menu)
        canvas.picked_changed.connect(self.commands.refresh)
        self.start_page.recent_requested.connect(self.open_path)
        self.text_page.closed.connect(self._leave_text)
        self.start_page.new_requested.connect(lambda: self.run_command("file.new"))
        self.start_page.open_requested.connect(lambda: self.run_command("file.open"))
        self.start_page.sample_requested.connect(lambda: self.run_command("file.open-sample"))
        self._panel(PalettePanel).add_requested.connect(self._add_in_view)
        self._tabs.currentChanged.connect(self._tab_chosen)
        self._tabs.tabCloseRequested.connect(self._tab_closed)
        self._answers.activated.connect(self._answers_chosen)
        self._recent.aboutToShow.connect(self._list_recent)
        theme.signals.changed.connect(self._paint_icons)
        self._shown: Document | None = None
        self._viewpoints = WeakKeyDictionary[Document, Viewpoint]()

    # -- showing --------------------------------------------------------------------------------------

    def _document(self) -> Document:
        document = self.workbench.current
        if document is None:
            raise RuntimeError("There is no current document.")
        return document

    def _ready_to_run(self) -> bool:
        """Whether the tree may be run; if not, say why and show where."""
        reason = self.workbench.running.reason_not_ready(self._document())
        if reason is not None:
            self.tell(reason)
            self.docks["problems"].show()
            self.docks["problems"].raise_()
        return reason is None

    def _show_document(self, document: Document | None) -> None:
        if self._shown is not None:
            self._viewpoints[self._shown] = self.canvas.viewpoint
            self._shown.undo_stack.indexChanged.disconnect(self._history_moved)
            self._shown.changed.disconnect(self._draft_changed)
            self._shown.selection_changed.disconnect(self._refresh)
            self._shown.problems_changed.disconnect(self._refresh)
            self._shown.saved_changed.disconnect(self._refresh)
            self._shown.refused.disconnect(self.tell)
        self._shown = document
        if document is None:
            self.start_page.show_recent(self.workbench.settings.recent_files)
            self._pages.setCurrentWidget(self.start_page)
        else:
            document.changed.connect(self._draft_changed)
            document.undo_stack.indexChanged.connect(self._history_moved)
            document.selection_changed.connect(self._refresh)
            document.problems_changed.connect(self._refresh)
            document.saved_changed.connect(self._refresh)
            document.refused.connect(self.tell)
            self._pages.setCurrentWidget(self.canvas)
            document.check_now()
        self._list_documents()
        self._refresh()
        if document is not None:
            QTimer.singleShot(0, self._look_again)
            QTimer.singleShot(0, self.workbench.look_outside)

    def _look_again(self) -> None:
        """Look at what was looked at last, in this window or before it was stored; else at the beginning."""
        document = self.workbench.current
        if document is None:
            return
        view = self._viewpoints.get(document) or viewpoint(document.draft)
        self.canvas.open_at(document.draft.tree.start_node_id)
        if view is not None:
            self.canvas.look_from(view)

    def _leave_text(self) -> None:
        """Go back to what was open before a file that is no tree."""
        self._pages.setCurrentWidget(self.canvas if self.workbench.current else self.start_page)

    def _history_moved(self, _index: int) -> None:
        # A draft is shown before its step is done: only now can it be said what may be undone and redone.
        self.commands.refresh()

    def _draft_changed(self, _before: Draft, _after: Draft) -> None:
        self._refresh()

    def _refresh(self, *_: object) -> None:
        document = self.workbench.current
        if document is None:
            self.canvas.show_draft(Draft(Tree()), Overlay(), frozenset())
        else:
            self.canvas.show_draft(document.draft, self._overlay(document), document.selection)
        name = _stem(document) if document else ""
        self._title.setText(name)
        self._edited.setText("" if document is None or document.clean else "• edited")
        self.setWindowTitle(f"{name}[*] — Treewright" if name else "Treewright")
        self.setWindowModified(bool(document and not document.clean))
        self._banner.say(document.read_only if document else None)
        for panel in ("inspector", "palette"):
            self.panels[panel].setEnabled(document is None or document.read_only is None)
        self._name_tabs()
        for action in self._of_document:
            action.setVisible(document is not None)
        self.commands.refresh()

    def _overlay(self, document: Document) -> Overlay:
        running = self.workbench.running
        trail = running.trail if running.document is document else Trail()
        at = running.stop.node if running.stop and running.document is document else trail.current
        return moment(trail, at, _STANDING.get(running.state, "running")).with_problems(document.problems)

    def _show_trail(self, trail: Trail) -> None:
        document = self.workbench.current
        if document is None or self.workbench.running.document is not document:
            return
        overlay = self._overlay(document)
        self.canvas.show_draft(document.draft, overlay, document.selection)
        self.canvas.set_breadcrumb(_breadcrumb(trail, overlay.current))

    def _show_state(self, state: RunState) -> None:
        running = self.workbench.running
        self.commands["run.start"].setText("Continue" if state is RunState.PAUSED else "Run")
        self._show_trail(running.trail)
        self.commands.refresh()
        self._answers.setEnabled(not running.active)
        self._show_answers()
        result = running.trail.result
        if state is RunState.ENDED and result is not None:
            self.tell(ending(result))
        elif state is RunState.ASKING and running.question is not None:
            self.docks["run"].show()
            self.docks["run"].raise_()

    def _show_place(self, node: NodeId | None, field: str | None) -> None:
        document = self.workbench.current
        if document is None:
            return
        if node is not None:
            document.select([node])
            self.canvas.reveal(node)
        self.docks["inspector"].show()
        self.docks["inspector"].raise_()
        self._panel(Inspector).focus_field(node, field)

    def _list_documents(self) -> None:
        self._tabs.blockSignals(True)
        while self._tabs.count():
            self._tabs.removeTab(0)
        for document in self.workbench.documents:
            self._tabs.addTab(_stem(document))
        if self.workbench.current in self.workbench.documents:
            self._tabs.setCurrentIndex(self.workbench.documents.index(self.workbench.current))
        self._tabs.blockSignals(False)
        self._tabs.setVisible(len(self.workbench.documents) > 1)
        self._name_tabs()

    def _name_tabs(self) -> None:
        for index, document in enumerate(self.workbench.documents[: self._tabs.count()]):
            self._tabs.setTabText(index, _stem(document) + ("" if document.clean else " •"))

    def _list_cases(self, _cases: object = None) -> None:
        self._answers.clear()
        self._answers.addItem("ask me", None)
        for case in self.workbench.cases:
            self._answers.addItem(one_line(case.id), case)
        self._show_answers()

    def _show_answers(self) -> None:
        """Keep in step with the Answers panel, which chooses the same."""
        case, cases = self.workbench.running.case, self.workbench.cases
        self._answers.setCurrentIndex(cases.index(case) + 1 if case in cases else 0)

    def _list_recent(self) -> None:
        self._recent.clear()
        for path in self.workbench.settings.recent_files:
            self._recent.addAction(str(path).replace("&", "&&"), partial(self.open_path, path))
        if self._recent.isEmpty():
            self._recent.addAction("No files yet").setEnabled(False)

    def _paint_icons(self, *_: object) -> None:
        tokens = theme.tokens()
        for made, action in self.commands:
            if made.icon:
                colour = tokens.on_accent if made.id == "run.start" else tokens.text
                action.setIcon(theme.icon(made.icon, colour))

    # -- intents --------------------------------------------------------------------------------------

    def _may_connect(self, source: NodeId, branch: str, target: NodeId) -> str | None:
        return rules.may_connect(self._document().draft, source, branch, target)

    def _select(self, ids: Iterable[NodeId]) -> None:
        self._document().select(ids)

    def _add_in_view(self, kind: str) -> None:
        if self.workbench.current is None:
            self.new()
        self.editing.add(kind, self.canvas.free_place())

    def _tab_chosen(self, index: int) -> None:
        if 0 <= index < len(self.workbench.documents):
            self.workbench.show_document(self.workbench.documents[index])

    def _tab_closed(self, index: int) -> None:
        launch(self._close_document(self.workbench.documents[index]))

    def _answers_chosen(self, index: int) -> None:
        self.workbench.running.choose_case(self._answers.itemData(index))

    def _set_theme(self, mode: theme.Mode) -> None:
        self.workbench.change_settings(theme=mode)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            theme.apply(app, mode)

    # -- asking ---------------------------------------------------------------------------------------

    async def _ask_trust(self, folder: Path) -> None:
        if await dialogs.ask_trust(self, folder):
            self.workbench.trust(folder)

    async def _open(self) -> None:
        path = await dialogs.ask_open(self)
        if path is not None:
            self.open_path(path)

    async def _save(self, *, ask: bool = False, document: Document | None = None) -> bool:
        document = document or self._document()
        path = document.path
        if ask or path is None:
            path = await dialogs.ask_save(self, "Save tree", _stem(document) + ".json", "Tree (*.json)")
            if path is None:
                return False
        try:
            if document is self._shown and not document.clean:
                document.keep_view(self.canvas.viewpoint)
            self.workbench.save(document, path)
        except files.ChangedOutside:
            return await self._ask_outside(document) and await self._save(document=document)
        except files.SaveFailed as failed:
            await dialogs.ask(self, "Not saved", str(failed), ("OK",))
            return False
        self.workbench.change_settings(recent_files=self.workbench.settings.with_recent(path).recent_files)
        self.workbench.reload_cases()
        self.tell(f"Saved {path.name}.")
        return True

    async def _export(self, data: bytes, title: str, name: str, kind: str) -> None:
        path = await dialogs.ask_save(self, title, name, kind)
        if path is not None:
            await self._write(path, data)

    async def _export_picture(self, document: Document) -> None:
        kinds = ";;".join(f"{form.upper()} (*.{form})" for form in FORMS)
        path = await dialogs.ask_save(self, "Export picture", _stem(document) + ".png", kinds)
        if path is None:
            return
        render = FORMS.get(path.suffix.lower().removeprefix("."))
        if render is None:
            self.tell(f"A picture is written to a file ending in .{', .'.join(FORMS)}.")
            return
        overlay = self.canvas.scene().overlay
        await self._write(path, render(document.draft, overlay, tokens=theme.tokens()))

    async def _write(self, path: Path, data: bytes) -> None:
        try:
            files.save_bytes(path, data)
        except files.SaveFailed as failed:
            await dialogs.ask(self, "Not exported", str(failed), ("OK",))
            return
        self.tell(f"Exported {path.name}.")

    async def _ask_outside(self, document: Document) -> bool:
        """Let the person decide about what another program wrote; whether they keep what is here."""
        if self._asking or document.path is None:
            return False
        self._asking = True
        try:
            while True:
                path = document.path
                choice = await dialogs.ask_changed_outside(self, path.name, gone=not path.exists())
                if choice != "difference":
                    break
                text = await asyncio.to_thread(files.difference, document.draft, path)
                await dialogs.show_difference(self, path.name, text)
            if choice == "keep":
                document.keep_mine()
            elif choice == "reload":
                self._reload(document)
            else:
                document.put_off()
        except files.SaveFailed as failed:
            self.tell(str(failed))
            return False
        finally:
            self._asking = False
        return choice == "keep"

    def _reload(self, document: Document) -> None:
        refused = document.reload(card_size)
        if refused is None:
            self.workbench.reload_cases()
            self.tell("Reloaded. Undo brings back the version before.")
        else:
            document.put_off()
            self.tell(f"Not reloaded. {refused.problems[0].message}")

    async def offer_recovery(self, *, asked: bool = False) -> None:
        """Offer what a program that died had not saved; without any, say so only when it was asked for."""
        with self.workbench.recovery.left() as left:
            if not left.found and not left.damaged:
                if asked:
                    self.tell("There is no unsaved work to recover.")
                return
            lines = [_found_line(found) for found in left.found]
            choice, chosen = await dialogs.ask_recover(self, lines, left.damaged)
            for found in (left.found[i] for i in chosen):
                if choice == "recover":
                    await self.workbench.recover(found, card_size)
                elif choice == "discard":
                    found.discard()

    async def _close_document(self, document: Document) -> None:
        if await self._may_close(document):
            self.workbench.remove(document)

    async def _may_close(self, document: Document) -> bool:
        if document.clean:
            return True
        self.workbench.show_document(document)
        choice = await dialogs.ask_save_changes(self, _stem(document))
        return choice == "discard" or (choice == "save" and await self._save(document=document))

    async def _close_all(self) -> None:
        # Nothing is closed before everything may be: who cancels has all documents as they were.
        for document in self.workbench.documents:
            if not await self._may_close(document):
                return
        self.workbench.close()
        await self.workbench.running.ended()
        self._closing = True
        self.close()

    # -- Qt -------------------------------------------------------------------------------------------

    def _restore_layout(self) -> None:
        stored = _layout_settings()
        geometry, state = stored.value("geometry"), stored.value("state")
        if not (isinstance(geometry, QByteArray) and self.restoreGeometry(geometry)):
            room = self.screen().availableGeometry()
            self.resize(min(1600, room.width()), min(1000, room.height() - _FRAME))
        if not (isinstance(state, QByteArray) and self.restoreState(state, STATE_VERSION)):
            QTimer.singleShot(0, self._size_docks)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._closing:
            stored = _layout_settings()
            stored.setValue("geometry", self.saveGeometry())
            stored.setValue("state", self.saveState(STATE_VERSION))
            event.accept()
            self.closed.emit()
        else:
            event.ignore()
            if self._leaving is None or self._leaving.done():
                self._leaving = launch(self._close_all())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.workbench.current:
            self.workbench.reload_cases()
            self.workbench.look_outside()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            if url.isLocalFile():
                self.open_path(Path(url.toLocalFile()))
        event.acceptProposedAction()


def _layout_settings() -> QSettings:
    """Where the window's own layout is kept: beside the settings."""
    return QSettings(str(settings_path().with_name("window.ini")), QSettings.Format.IniFormat)


def _named(name: str, widget: _Widget) -> _Widget:
    widget.setObjectName(name)
    return widget


def _breadcrumb(trail: Trail, current: NodeId | None) -> list[tuple[str, bool]]:
    names = names_of(trail.tree) if trail.tree else {}
    steps = [
        (text, i == 1)
        for visit in trail.path
        for i, text in enumerate((str(names.get(visit.node, visit.node)), visit.branch))
        if text
    ]
    at = current is not None and trail.result is None
    return [*steps, (str(names.get(current or "", current)), False)] if at else steps


def _stem(document: Document) -> str:
    path = document.path
    if path is None:
        return document.draft.tree.tree_id or "new-tree"
    # Samples and projects call their tree "tree.json": then the folder is the better name.
    return path.parent.name if path.stem == "tree" else path.stem


def _found_line(found: Found) -> str:
    snapshot = found.snapshot
    where = str(snapshot.path.parent) if snapshot.path else "never saved"
    since = "\nThe file was changed after that." if snapshot.is_overtaken() else ""
    at = snapshot.at.astimezone()
    return f"{snapshot.name}, {at.day} {at:%B %Y, %H:%M:%S}\n{where}{since}"
