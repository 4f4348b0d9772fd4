"""The problems panel: everything the checks say of the current tree; a click leads to the field.

What can be put right in one step says "Fix…": a click there, the menu of the line, or Ctrl+. offers the ways.
"""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu

from designer.document.names import label_of, titles_of
from designer.forms import Column, Current, Empty, Pages, Table
from designer.mending import may_be_mended, mend, mend_all, ways_of
from designer.tasks import launch
from designer.workbench import Workbench
from engine import Fix, Problem, Tree
from engine.counting import counted

_RANK: Final = {"error": 0, "warning": 1, "info": 2}
_ICONS: Final = {
    "error": ("problem-error", "bad"),
    "warning": ("problem-warning", "warn"),
    "info": ("problem-info", "secondary"),
}
_FIELDS: Final = {"transitions": "Where it leads", "answers": "Answers"}


class ProblemsPanel(Pages):
    """Errors first. The title says how many there are."""

    def __init__(self, workbench: Workbench) -> None:
        self._tree: Tree | None = None
        self._titles = titles_of(Tree())
        columns = (
            Column[Problem]("Problem", lambda p: p.message, icon=lambda p: _ICONS[p.severity]),
            Column[Problem]("Node", self._node, width=170, tone=lambda _: "secondary"),
            Column[Problem]("Field", self._field, width=130, tone=lambda _: "secondary"),
            Column[Problem](
                "",
                lambda p: "Fix…" if may_be_mended(p) else "",
                width=60,
                tone=lambda _: "accent",
                press=lambda problem: self._offer(problem) if may_be_mended(problem) else self._go(problem),
            ),
        )
        self.table = Table(columns, "Problems")
        super().__init__(self.table, Empty("check", "", ""))
        self.setObjectName("panel.problems")
        self._workbench = workbench
        self.table.opened.connect(self._go)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._offer_at)
        for text, keys, act in (("Fix…", "Ctrl+.", self._offer_chosen), ("Copy", "Ctrl+C", self._copy)):
            action = QAction(text, self.table)
            action.setShortcut(QKeySequence(keys))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(act)
            self.table.addAction(action)
        self._current = Current(workbench, self)
        self._current.checked.connect(lambda _: self._refresh())
        self._current.drafted.connect(lambda _: self._follow())
        self._current.announce()

    def _follow(self) -> None:
        """Names follow edits that make no difference to the problems."""
        draft = self._current.draft
        tree = draft.tree if draft else Tree()
        if tree is not self._tree:
            self._tree, self._titles = tree, titles_of(tree if self._current.problems else Tree())
            self.table.viewport().update()

    def _refresh(self) -> None:
        self._tree = None
        self._follow()
        problems = sorted(self._current.problems, key=lambda p: _RANK[p.severity])
        self.table.show_rows(problems)
        self.show_content(problems)
        document = self._current.document
        if document is None:
            self.empty.say("No tree is open", "The problems of an open tree are listed here while you edit.")
        elif not document.draft.tree.nodes:
            self.empty.say("No nodes yet", "Add the first one from the palette; a run starts there.")
        else:
            self.empty.say("Nothing wrong", "Ready to run or export.")
        self.setWindowTitle(f"Problems {len(problems):,}" if problems else "Problems")

    # -- what can be done about one

    def _go(self, problem: Problem) -> None:
        self._workbench.show_place(problem.node, problem.field)

    def _offer_at(self, at: QPoint) -> None:
        index = self.table.indexAt(at)
        if index.isValid():
            self.table.choose(index.row())
        self._offer_chosen()

    def _offer_chosen(self) -> None:
        problem = self.table.row
        if isinstance(problem, Problem):
            self._offer(problem)

    def _offer(self, problem: Problem) -> None:
        """Show the ways to put this right, at its line."""
        launch(self._show_ways(problem))

    async def _show_ways(self, problem: Problem) -> None:
        document = self._current.document
        if document is None:
            return
        tree = document.draft.tree
        ways = await ways_of(document, problem)
        if document is not self._current.document or document.draft.tree is not tree:
            return
        menu = QMenu(self)
        menu.setObjectName("menu.problem")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def take(way: Fix) -> Callable[[], object]:
            return lambda: mend(document, way, tree)

        for way in ways:
            menu.addAction(way.title.replace("&", "&&")).triggered.connect(take(way))
        if not ways:
            menu.addAction("There is no quick fix").setEnabled(False)
        alike = sum(other.code == problem.code for other in self._current.problems)
        if ways and alike > 1:
            all_of_them = menu.addAction(f"Fix all {counted(alike, 'problem')} of this kind")
            all_of_them.triggered.connect(lambda: launch(mend_all(document, problem.code)))
        menu.addSeparator()
        menu.addAction("Go there").triggered.connect(lambda: self._go(problem))
        menu.addAction("Copy").triggered.connect(self._copy)
        menu.popup(self._place_of(problem))

    def _place_of(self, problem: Problem) -> QPoint:
        row = next((n for n, other in enumerate(self.table.rows) if other is problem), 0)
        line = self.table.visualRect(self.table.model().index(row, 0))
        return self.table.viewport().mapToGlobal(line.bottomLeft() + QPoint(24, 0))

    def _copy(self) -> None:
        """Put the chosen problem on the clipboard: what is wrong, and where."""
        problem = self.table.row
        if isinstance(problem, Problem):
            where = " · ".join(filter(None, [self._node(problem), self._field(problem)]))
            QGuiApplication.clipboard().setText(f"{problem.message} ({where})")

    # -- its texts

    def _node(self, problem: Problem) -> str:
        if problem.node is None:
            return "The tree"
        return self._titles.get(problem.node, problem.node)

    def _field(self, problem: Problem) -> str:
        return _FIELDS.get(problem.field or "") or label_of(problem.field or "")
