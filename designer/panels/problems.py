"""The problems panel: everything the checks say of the current tree; a click leads to the field."""

from typing import Final

from designer.document.names import label_of, titles_of
from designer.forms import Column, Current, Empty, Pages, Table
from designer.workbench import Workbench
from engine import Problem, Tree

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
        )
        self.table = Table(columns, "Problems")
        super().__init__(self.table, Empty("check", "", ""))
        self.setObjectName("panel.problems")
        self.table.opened.connect(lambda problem: workbench.show_place(problem.node, problem.field))
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

    def _node(self, problem: Problem) -> str:
        if problem.node is None:
            return "The tree"
        return self._titles.get(problem.node, problem.node)

    def _field(self, problem: Problem) -> str:
        return _FIELDS.get(problem.field or "") or label_of(problem.field or "")
