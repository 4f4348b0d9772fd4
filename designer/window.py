"""The main window: docks, menus, toolbar, tabs and what connects them; commands are with their owners."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

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
    QDockWidget,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QTabBar,
    QTabWidget,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from designer import theme
from designer.actions import Commands, command
from designer.answers import IN_SHORT, Answers
from designer.arranging import Arranging
from designer.canvas.view import CanvasView
from designer.debugging import Debugging
from designer.document.document import Document
from designer.document.draft import Draft
from designer.editing import Editing
from designer.filing import Filing
from designer.finding import Finding
from designer.forms import plain
from designer.pages import Banner, Pages
from designer.panels import PANELS, Panel
from designer.panels.inspector import Inspector
from designer.panels.palette import PalettePanel
from designer.running import RunState
from designer.settings import Settings, settings_path
from designer.tasks import launch
from designer.timeline import Timeline
from designer.viewing import Viewing
from designer.workbench import Workbench
from engine import NODE_TYPES, NodeId

if TYPE_CHECKING:
    import asyncio

_Widget = TypeVar("_Widget", bound=QWidget)

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
        "note.frame", "",
        "run.to", "run.breakpoint", "run.previous-visit", "run.next-visit",
    ],
    "branch": [
        "branch.insert", "branch.lead", "branch.end", "", "branch.disconnect", "", "branch.breakpoint",
    ],
    "note": ["note.edit", "note.colour", "", "note.delete"],
    "ground": [
        "node.add", "note.add", "", "edit.paste", "edit.paste-linked", "", "edit.select-all", "edit.layout",
        "view.fit",
    ],
}  # fmt: skip
"""What can be done with what was clicked; a pair is a menu of its own."""

_SIDES: Final[Mapping[str, Qt.DockWidgetArea]] = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}


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
        self.pages = Pages(self.canvas)
        self._tabs = _named("documents", QTabBar(documentMode=True, drawBase=False, tabsClosable=True))
        self._title = _named("document.title", plain())
        self._edited = _named("document.edited", plain(role="label"))
        # Room for its longest text, so that nothing beside it moves.
        self._edited.setFixedWidth(62)
        self._answers = _named("answers", Answers(self.workbench, IN_SHORT, "Answers: ", least=12))
        self._banner = Banner("Take over")
        self._timeline = Timeline(self.workbench)
        self._message = _named("message", plain())
        self.panels: dict[str, QWidget] = {}
        self.docks: dict[str, QDockWidget] = {}
        self._closing = False
        self._leaving: asyncio.Task[None] | None = None
        self._settle_soon = QTimer(self, interval=0, singleShot=True)
        self._settle_soon.timeout.connect(self._settle_titles)
        self._shown: Document | None = None
        self.filing = Filing(self.workbench, self)
        self.editing = Editing(self.workbench, self)
        self.arranging = Arranging(self.workbench, self)
        self.debugging = Debugging(self.workbench, self)
        self.viewing = Viewing(self.workbench, self)
        self.finding = Finding(self.workbench, self)
        owners = (self.filing, self.editing, self.arranging, self.debugging, self.viewing, self.finding)
        self._place_pages()
        self._place_docks()
        self.commands = Commands(
            self,
            [*owners, self],
            scopes={"canvas": self.canvas, "inspector": self.docks["inspector"]},
            refused=self.tell,
        )
        self._place_toolbar()
        self._place_menus()
        looking = (self.commands[id_] for id_ in ("run.back", "run.forward", "run.newest"))
        self._timeline.place_buttons(*looking)
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
        self.filing.open_path(path)

    def show_panel(self, id: str) -> None:
        """Bring a panel to the front."""
        self.docks[id].show()
        self.docks[id].raise_()

    def show_place(self, node: NodeId | None, field: str | None) -> QWidget | None:
        """Select a node, or show the tree for None, and focus a field by its JSON member; its widget."""
        document = self.workbench.current
        if document is None:
            return None
        if node is not None:
            document.select([node])
            self.canvas.reveal(node)
        self.show_panel("inspector")
        inspector = self._panel(Inspector)
        inspector.focus_field(node, field)
        return inspector.focusWidget()

    @command("view.reset", "&Reset layout")
    def reset_layout(self) -> None:
        """Put every panel back where it was at first."""
        self.restoreState(self._factory_state, STATE_VERSION)
        self._size_docks()

    # -- building -------------------------------------------------------------------------------------

    def _place_pages(self) -> None:
        centre = _named("centre", QWidget())
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._tabs)
        column.addWidget(self._banner)
        column.addWidget(self.finding.bar)
        column.addWidget(self.pages, 1)
        column.addWidget(self._timeline)
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
        heights = {"right": 380, "right-mid": 290, "right-low": 240}
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
        self.commands.fill(file, ["file.export", "file.export-as", "file.cancel-export", "file.print"])
        self.commands.fill(file, ["", "file.trusted", "", "file.close", "file.quit"])
        edit = self.menuBar().addMenu("&Edit")
        self._fill(
            edit,
            [
                "edit.undo", "edit.redo", "", "edit.cut", "edit.copy", "edit.paste", "edit.paste-linked",
                "edit.duplicate", "edit.delete", "",
                "edit.select-all", "select.downstream", "select.upstream", "",
                "find.text", "find.next", "find.previous", "find.node", "find.command",
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
        self.commands.fill(view, ["view.zoom-out", "", "view.back", "view.forward", ""])
        self.commands.fill(view, ["view.bounds", "view.minimap", ""])
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
        self._fill(
            run,
            [
                "run.start", "run.step", "run.step-into", "run.step-out", "run.step-question", "run.to",
                "run.pause", "run.stop",
                "run.restart", "",
                "run.back", "run.forward", "run.newest", "run.previous-visit", "run.next-visit",
                "run.follow", "",
                "run.breakpoint", "branch.breakpoint", "run.breakpoints-off", "",
                "run.model", "run.open-log", "run.save-log",
            ],
        )  # fmt: skip

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
        bench.place_requested.connect(self.show_place)
        bench.reveal_requested.connect(self.canvas.reveal)
        bench.records_requested.connect(lambda _: self.show_panel("records"))
        bench.trouble.connect(self.tell)
        self._banner.pressed.connect(lambda: self.run_command("file.take-over"))
        bench.running.state_changed.connect(self._show_state)
        bench.running.trail_changed.connect(lambda _: self._show_state(bench.running.state))
        canvas.delete_requested.connect(lambda: self.run_command("edit.delete"))
        canvas.open_requested.connect(lambda node: self.show_place(node, None))
        canvas.menu_requested.connect(self._show_menu)
        canvas.picked_changed.connect(self.commands.refresh)
        self.pages.start.recent_requested.connect(self.open_path)
        self.pages.start.new_requested.connect(lambda: self.run_command("file.new"))
        self.pages.start.open_requested.connect(lambda: self.run_command("file.open"))
        self.pages.start.sample_requested.connect(lambda: self.run_command("file.open-sample"))
        self._panel(PalettePanel).add_requested.connect(self._add_in_view)
        self._tabs.currentChanged.connect(self._tab_chosen)
        self._tabs.tabCloseRequested.connect(self._tab_closed)
        self._recent.aboutToShow.connect(self._list_recent)
        theme.signals.changed.connect(self._paint_icons)

    # -- showing --------------------------------------------------------------------------------------

    def _show_document(self, document: Document | None) -> None:
        if self._shown is not None:
            self.viewing.leave(self._shown)
            self._shown.undo_stack.indexChanged.disconnect(self._history_moved)
            self._shown.changed.disconnect(self._draft_changed)
            self._shown.selection_changed.disconnect(self._refresh)
            self._shown.problems_changed.disconnect(self._refresh)
            self._shown.saved_changed.disconnect(self._refresh)
            self._shown.refused.disconnect(self.tell)
        self._shown = document
        if document is None:
            self.pages.show_start(self.workbench.settings.recent_files)
        else:
            document.changed.connect(self._draft_changed)
            document.undo_stack.indexChanged.connect(self._history_moved)
            document.selection_changed.connect(self._refresh)
            document.problems_changed.connect(self._refresh)
            document.saved_changed.connect(self._refresh)
            document.refused.connect(self.tell)
            self.pages.show_canvas()
            document.check_now()
        self._list_documents()
        self._refresh()
        if document is not None:
            QTimer.singleShot(0, self.viewing.look_again)
            QTimer.singleShot(0, self.workbench.look_outside)

    def _history_moved(self, _index: int) -> None:
        # A draft is shown before its step is done: only now can it be said what may be undone and redone.
        self.commands.refresh()

    def _draft_changed(self, _before: Draft, _after: Draft) -> None:
        self._refresh()

    def _refresh(self, *_: object) -> None:
        document = self.workbench.current
        self.viewing.show()
        name = document.title if document else ""
        self._title.setText(name)
        self._edited.setText("" if document is None or document.clean else "• edited")
        self.setWindowTitle(f"{name}[*] — Treewright" if name else "Treewright")
        self.setWindowModified(bool(document and not document.clean))
        self._banner.say(document.read_only if document else None)
        locked = document is not None and document.read_only is not None
        self._panel(Inspector).lock(on=locked)
        self._panel(PalettePanel).setEnabled(not locked)
        self._name_tabs()
        for action in self._of_document:
            action.setVisible(document is not None)
        self.commands.refresh()

    def _show_state(self, state: RunState) -> None:
        going_on = state is RunState.PAUSED or self.workbench.running.past
        self.commands["run.start"].setText("Continue" if going_on else "Run")
        self.commands.refresh()

    def _list_documents(self) -> None:
        self._tabs.blockSignals(True)
        while self._tabs.count():
            self._tabs.removeTab(0)
        for document in self.workbench.documents:
            self._tabs.addTab(document.title)
        if self.workbench.current in self.workbench.documents:
            self._tabs.setCurrentIndex(self.workbench.documents.index(self.workbench.current))
        self._tabs.blockSignals(False)
        self._tabs.setVisible(len(self.workbench.documents) > 1)
        self._name_tabs()

    def _name_tabs(self) -> None:
        for index, document in enumerate(self.workbench.documents[: self._tabs.count()]):
            self._tabs.setTabText(index, document.title + ("" if document.clean else " •"))

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
        return self.editing.may_connect(source, branch, target)

    def _add_in_view(self, kind: str) -> None:
        if self.workbench.current is None:
            self.filing.new()
        self.editing.add(kind, self.canvas.free_place())

    def _tab_chosen(self, index: int) -> None:
        if 0 <= index < len(self.workbench.documents):
            self.workbench.show_document(self.workbench.documents[index])

    def _tab_closed(self, index: int) -> None:
        self.filing.close(self.workbench.documents[index])

    async def _leave(self) -> None:
        if await self.filing.close_all():
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
                self._leaving = launch(self._leave())

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


OWNERS: Final = (Filing, Editing, Arranging, Debugging, Viewing, Finding, MainWindow)
"""Who owns commands, in the order of the list of commands."""


def _layout_settings() -> QSettings:
    """Where the window's own layout is kept: beside the settings."""
    return QSettings(str(settings_path().with_name("window.ini")), QSettings.Format.IniFormat)


def _named(name: str, widget: _Widget) -> _Widget:
    widget.setObjectName(name)
    return widget
