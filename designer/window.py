"""The main window: docks, menus, toolbar and the commands behind them; the work is done elsewhere."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from PySide6.QtCore import QByteArray, QEvent, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDockWidget,
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
from designer.canvas.geometry import card_size
from designer.canvas.overlay import Overlay, moment
from designer.canvas.picture import render_png
from designer.canvas.view import CanvasView
from designer.document import edits, files, layout, rules
from designer.document.document import Document
from designer.document.draft import Draft, Place
from designer.forms import plain
from designer.pages import StartPage, TextPage
from designer.panels import PANELS, Panel
from designer.panels.inspector import Inspector
from designer.panels.palette import PalettePanel
from designer.panels.run import ending
from designer.running import RunState
from designer.settings import Settings
from designer.tasks import launch
from designer.workbench import Workbench
from engine import NodeId, Trail, Tree, TreeInvalid, runnable, write_tree

_Widget = TypeVar("_Widget", bound=QWidget)

SAMPLE: Final = "samples/ssvc-deployer/tree.json"
STATE_VERSION: Final = 1

_DOCKS: Final = (
    QMainWindow.DockOption.AllowNestedDocks
    | QMainWindow.DockOption.AllowTabbedDocks
    | QMainWindow.DockOption.GroupedDragging
    | QMainWindow.DockOption.AnimatedDocks
)

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


def _not_undoable(window: "MainWindow") -> str | None:
    document = window.workbench.current
    return None if document and document.undo_stack.canUndo() else "There is nothing to undo."


def _not_redoable(window: "MainWindow") -> str | None:
    document = window.workbench.current
    return None if document and document.undo_stack.canRedo() else "There is nothing to redo."


def _not_startable(window: "MainWindow") -> str | None:
    match window.workbench.running.state:
        case RunState.PAUSED:
            return None
        case RunState.RUNNING | RunState.ASKING:
            return "The run is going on."
        case _:
            return window.workbench.running.reason_not_ready(window.workbench.current)


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
        self.text_page = TextPage()
        self.start_page = StartPage()
        self._tabs = _named("documents", QTabBar(documentMode=True, drawBase=False, tabsClosable=True))
        self._pages = _named("pages", QStackedWidget())
        self._title = _named("document.title", plain())
        self._answers = _named("answers", QComboBox())
        self._answers.setToolTip("Where the answers of the next run come from")
        self._message = _named("message", plain())
        self.panels: dict[str, QWidget] = {}
        self.docks: dict[str, QDockWidget] = {}
        self._closing = False
        self._settle_soon = QTimer(self, interval=0, singleShot=True)
        self._settle_soon.timeout.connect(self._settle_titles)
        self._place_pages()
        self._place_docks()
        self.commands = Commands(self, scopes={"canvas": self.canvas}, refused=self.tell)
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
        already = next(
            (d for d in self.workbench.documents if d.path and d.path.resolve() == path.resolve()), None
        )
        if already is not None:
            self.workbench.show_document(already)
            return
        opened = Document.open(path, card_size)
        if isinstance(opened, files.Unreadable):
            self.workbench.show_document(None)
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

    @command("file.export", "&Export tree…", ["Ctrl+E"], when=_not_exportable, icon="export")
    def export(self) -> None:
        """Write the checked tree for other runtimes."""
        document = self._document()
        try:
            tree = runnable(document.draft.tree, document.catalog).tree
        except TreeInvalid as refused:
            first = next(p for p in refused.problems if p.severity == "error")
            self._show_place(first.node, first.field)
            self.tell(f"Not exported. {first.message}")
            return
        launch(
            self._export(write_tree(tree), "Export tree", _stem(document) + ".export.json", "JSON (*.json)")
        )

    @command("file.export-picture", "Export &picture…", when=_no_document)
    def export_picture(self) -> None:
        """Write the whole canvas as a PNG."""
        document = self._document()
        picture = render_png(document.draft, self.canvas.scene().overlay, tokens=theme.tokens())
        launch(self._export(picture, "Export picture", _stem(document) + ".png", "PNG (*.png)"))

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
        document = self._document()
        reason = rules.may_remove(document.draft, document.selection)
        if reason is not None:
            self.tell(reason)
            return
        ids = document.selection
        label = "Delete node" if len(ids) == 1 else f"Delete {len(ids)} nodes"
        document.edit(label, lambda draft: edits.remove_nodes(draft, ids))

    @command("edit.select-all", "Select &all", ["Ctrl+A"], when=_no_document, scope="canvas")
    def select_all(self) -> None:
        """Select every node."""
        self._document().select(self._document().draft.tree.nodes)

    @command("edit.layout", "&Lay out", ["Ctrl+Shift+L"], when=_no_document, icon="layout")
    def lay_out(self) -> None:
        """Place every node anew, from left to right."""
        self._document().edit("Lay out", _arranged)
        self.canvas.fit()

    @command("run.start", "&Run", ["F5"], when=_not_startable, icon="run", tip="Run to the end, or go on")
    def run_start(self) -> None:
        """Run, or go on after a pause."""
        if self.workbench.running.state is RunState.PAUSED:
            self.workbench.running.resume()
        else:
            self.workbench.running.start(self._document())

    @command(
        "run.step", "&Step", ["F10"], when=_not_startable, icon="step", tip="Execute one node, then pause"
    )
    def run_step(self) -> None:
        """Execute one node."""
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

    @command("view.light", "&Light")
    def light(self) -> None:
        """Bright colours."""
        self._set_theme("light")

    @command("view.dark", "&Dark")
    def dark(self) -> None:
        """Dark colours."""
        self._set_theme("dark")

    @command("view.system", "Like the &system")
    def system(self) -> None:
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
        self.resizeDocks([first["left"], first["right"]], [230, 320], Qt.Orientation.Horizontal)
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
        self._of_document = [bar.addSeparator(), bar.addWidget(self._title)]
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
            ["file.open-sample", "", "file.save", "file.save-as", "", "file.export", "file.export-picture"],
        )
        self.commands.fill(file, ["", "file.close", "file.quit"])
        edit = self.menuBar().addMenu("&Edit")
        self.commands.fill(
            edit, ["edit.undo", "edit.redo", "", "edit.delete", "edit.select-all", "", "edit.layout"]
        )
        view = self.menuBar().addMenu("&View")
        self.commands.fill(view, ["view.fit", "view.fit-selection", "view.actual-size", "view.zoom-in"])
        self.commands.fill(view, ["view.zoom-out", ""])
        self.commands.fill(view.addMenu("&Appearance"), ["view.light", "view.dark", "view.system"])
        self._fill_panels_menu(view.addMenu("&Panels"))
        self.commands.fill(view, ["view.reset"])
        run = self.menuBar().addMenu("&Run")
        self.commands.fill(run, ["run.start", "run.step", "run.pause", "run.stop"])

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
        bench.trouble.connect(self.tell)
        bench.running.trail_changed.connect(self._show_trail)
        bench.running.state_changed.connect(self._show_state)
        canvas.move_requested.connect(self._move)
        canvas.connect_requested.connect(self._connect_nodes)
        canvas.selection_requested.connect(self._select)
        canvas.disconnect_requested.connect(self._disconnect_nodes)
        canvas.delete_requested.connect(lambda: self.run_command("edit.delete"))
        canvas.open_requested.connect(lambda node: self._show_place(node, None))
        canvas.add_requested.connect(self._add_node)
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

    # -- showing --------------------------------------------------------------------------------------

    def _document(self) -> Document:
        document = self.workbench.current
        if document is None:
            raise RuntimeError("There is no current document.")
        return document

    def _show_document(self, document: Document | None) -> None:
        if self._shown is not None:
            self._shown.changed.disconnect(self._draft_changed)
            self._shown.selection_changed.disconnect(self._refresh)
            self._shown.problems_changed.disconnect(self._refresh)
            self._shown.saved_changed.disconnect(self._refresh)
        self._shown = document
        if document is None:
            self._pages.setCurrentWidget(self.start_page)
        else:
            document.changed.connect(self._draft_changed)
            document.selection_changed.connect(self._refresh)
            document.problems_changed.connect(self._refresh)
            document.saved_changed.connect(self._refresh)
            self._pages.setCurrentWidget(self.canvas)
            document.check_now()
        self._list_documents()
        self._refresh()
        if document is not None:
            QTimer.singleShot(0, partial(self.canvas.open_at, document.draft.tree.start_node_id))

    def _draft_changed(self, _before: Draft, _after: Draft) -> None:
        self._refresh()

    def _refresh(self, *_: object) -> None:
        document = self.workbench.current
        if document is None:
            self.canvas.show_draft(Draft(Tree()), Overlay(), frozenset())
        else:
            self.canvas.show_draft(document.draft, self._overlay(document), document.selection)
        name = _stem(document) if document else ""
        self._title.setText(name if document is None or document.clean else f"{name}  •  edited")
        self.setWindowTitle(f"{name}[*] — Treewright" if name else "Treewright")
        self.setWindowModified(bool(document and not document.clean))
        self._name_tabs()
        for action in self._of_document:
            action.setVisible(document is not None)
        self.commands.refresh()

    def _overlay(self, document: Document) -> Overlay:
        running = self.workbench.running
        trail = running.trail if running.document is document else Trail()
        at = running.stop.node if running.stop and running.document is document else trail.current
        paused = running.state in (RunState.PAUSED, RunState.ASKING)
        return moment(trail, at, paused=paused).with_problems(document.problems)

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
        self._answers.addItem("Answers: ask me", None)
        for case in self.workbench.cases:
            self._answers.addItem(f"Answers: {case.id}", case)
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

    def _move(self, places: Mapping[NodeId, Place], merge: str) -> None:
        label = "Move node" if len(places) == 1 else f"Move {len(places)} nodes"
        self._document().edit(label, lambda draft: edits.move_nodes(draft, places), merge)

    def _connect_nodes(self, source: NodeId, branch: str, target: NodeId) -> None:
        self._document().edit(f"Connect {branch}", lambda draft: edits.connect(draft, source, branch, target))

    def _disconnect_nodes(self, source: NodeId, branch: str) -> None:
        self._document().edit(f"Disconnect {branch}", lambda draft: edits.disconnect(draft, source, branch))

    def _select(self, ids: Iterable[NodeId]) -> None:
        self._document().select(ids)

    def _add_node(self, kind: str, place: Place) -> None:
        self._document().edit(f"Add {kind}", lambda draft: edits.add_node(draft, kind, place))

    def _add_in_view(self, kind: str) -> None:
        if self.workbench.current is None:
            self.new()
        self._add_node(kind, self.canvas.free_place())

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
            document.save(path)
        except files.ChangedOutside as changed:
            if not await dialogs.ask(
                self, "Changed outside", f"{changed} Overwrite it?", ("Overwrite", "Cancel")
            ):
                return False
            document.save(path, force=True)
        except files.SaveFailed as failed:
            await dialogs.ask(self, "Not saved", str(failed), ("OK",))
            return False
        self.workbench.change_settings(recent_files=self.workbench.settings.with_recent(path).recent_files)
        self.workbench.reload_cases()
        self.tell(f"Saved {path.name}.")
        return True

    async def _export(self, data: bytes, title: str, name: str, kind: str) -> None:
        path = await dialogs.ask_save(self, title, name, kind)
        if path is None:
            return
        try:
            files.save_bytes(path, data)
        except files.SaveFailed as failed:
            await dialogs.ask(self, "Not exported", str(failed), ("OK",))
            return
        self.tell(f"Exported {path.name}.")

    async def _close_document(self, document: Document) -> bool:
        if not document.clean:
            self.workbench.show_document(document)
            choice = await dialogs.ask_save_changes(self, _stem(document))
            if choice == "cancel" or (choice == "save" and not await self._save(document=document)):
                return False
        self.workbench.remove(document)
        return True

    async def _close_all(self) -> None:
        for document in self.workbench.documents:
            if not await self._close_document(document):
                return
        self.workbench.running.cancel()
        await self.workbench.running.ended()
        self._closing = True
        self.close()

    # -- Qt -------------------------------------------------------------------------------------------

    def _restore_layout(self) -> None:
        stored = QSettings("Treewright", "Treewright")
        geometry, state = stored.value("geometry"), stored.value("state")
        if not (isinstance(geometry, QByteArray) and self.restoreGeometry(geometry)):
            self.resize(1600, 1000)
        if not (isinstance(state, QByteArray) and self.restoreState(state, STATE_VERSION)):
            QTimer.singleShot(0, self._size_docks)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._closing:
            stored = QSettings("Treewright", "Treewright")
            stored.setValue("geometry", self.saveGeometry())
            stored.setValue("state", self.saveState(STATE_VERSION))
            event.accept()
            self.closed.emit()
        else:
            event.ignore()
            launch(self._close_all())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.workbench.current:
            self.workbench.reload_cases()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            if url.isLocalFile():
                self.open_path(Path(url.toLocalFile()))
        event.acceptProposedAction()


def _named(name: str, widget: _Widget) -> _Widget:
    widget.setObjectName(name)
    return widget


def _breadcrumb(trail: Trail, current: NodeId | None) -> list[tuple[str, bool]]:
    steps = [
        (text, i == 1) for visit in trail.path for i, text in enumerate((visit.node, visit.branch)) if text
    ]
    return [*steps, (current, False)] if current is not None and trail.result is None else steps


def _stem(document: Document) -> str:
    path = document.path
    if path is None:
        return document.draft.tree.tree_id or "new-tree"
    # Samples and projects call their tree "tree.json": then the folder is the better name.
    return path.parent.name if path.stem == "tree" else path.stem


def _arranged(draft: Draft) -> Draft:
    sizes = {node_id: card_size(node, node_id) for node_id, node in draft.tree.nodes.items()}
    return edits.move_nodes(draft, layout.arrange(draft.tree, sizes))
