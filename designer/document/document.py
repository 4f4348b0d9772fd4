"""The open document: a draft with its undo steps, its selection, its problems and its file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self
from weakref import WeakMethod

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from designer.document import files, layout
from designer.document.design import VIEW, Viewpoint, with_member, with_viewpoint
from designer.document.draft import Draft, described_since
from designer.document.wording import in_plain_words
from engine import ActionNode, Catalog, Checker, NodeId, Problem, Tree, standard_catalog


class Document(QObject):
    """One tree being edited.

    The draft changes only through :meth:`edit`, :meth:`undo` and :meth:`redo`. Every change is announced
    with the draft before and after it, so that whoever shows a draft can compare the two by identity.
    """

    changed = Signal(object, object)
    """(before, after), two drafts; the document already holds the second and a selection that fits it."""
    selection_changed = Signal(object)
    """The selected node ids, a frozenset."""
    problems_changed = Signal(object)
    """The problems, a tuple."""
    saved_changed = Signal()
    """The path changed, or whether there is something to save, or whether it may be edited."""
    refused = Signal(object)
    """Why something was not done, in plain words."""

    def __init__(self, draft: Draft, stored: files.Stored | None = None) -> None:
        super().__init__()
        self._draft = draft
        self._stored = stored
        self._saved: Draft | None = draft
        self._clean = True
        self._selection: frozenset[NodeId] = frozenset()
        self._gesture = 0
        self._read_only: str | None = None
        self._put_off: Mapping[Path, str | None] = {}
        self._catalog = standard_catalog()
        self._checker: Checker | None = None
        self._checked: Tree | None = None
        self._found: tuple[Problem, ...] = ()
        self._unusable: Mapping[str, str] = {}
        self._problems: tuple[Problem, ...] = ()
        self._check_soon = QTimer(self, interval=0, singleShot=True)
        self._check_soon.timeout.connect(self.check_now)
        self.undo_stack = QUndoStack(self)
        self._check_soon.start()

    @classmethod
    def new(cls) -> Self:
        """An empty tree that has no file yet."""
        return cls(Draft(Tree(tree_id="new-tree", version=1)))

    @classmethod
    def open(cls, path: Path, card_size: layout.CardSize = layout.usual_size) -> "Self | files.Unreadable":
        """The document in this file, or why there is none (then with the text, to be shown as it is).

        Nodes that have no place yet are laid out with cards of this size.
        """
        opened = files.open_tree(path, card_size)
        return opened if isinstance(opened, files.Unreadable) else cls(opened.draft, opened)

    @property
    def title(self) -> str:
        """What the tree is called in titles and names of files: after its file, or by its id."""
        if self.path is None:
            return self.draft.tree.tree_id or "new-tree"
        # Samples and projects call their tree "tree.json": then the folder is the better name.
        return self.path.parent.name if self.path.stem == "tree" else self.path.stem

    @property
    def draft(self) -> Draft:
        """What is on the screen."""
        return self._draft

    @property
    def stored(self) -> files.Stored | None:
        """What was read from or written to its files last; None for a document that has none."""
        return self._stored

    @property
    def path(self) -> Path | None:
        """Where the document is stored; None for one that was never saved."""
        return self._stored.path if self._stored else None

    @property
    def clean(self) -> bool:
        """Whether there is nothing to save: the screen shows what was stored, however it came back."""
        return self._clean

    @property
    def read_only(self) -> str | None:
        """Why the document cannot be edited now, in plain words; None when it can."""
        return self._read_only

    @read_only.setter
    def read_only(self, reason: str | None) -> None:
        if reason != self._read_only:
            self._read_only = reason
            self.saved_changed.emit()

    @property
    def selection(self) -> frozenset[NodeId]:
        """The selected nodes; each is in the draft."""
        return self._selection

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What the last check found, in plain words, and what was odd about the files."""
        return self._problems

    @property
    def catalog(self) -> Catalog:
        """The actions and predicates the tree is checked against."""
        return self._catalog

    @catalog.setter
    def catalog(self, catalog: Catalog) -> None:
        self._catalog, self._checker, self._checked = catalog, None, None
        self._check_soon.start()

    @property
    def unusable(self) -> Mapping[str, str]:
        """Why an action would fail at once, as the files it needs are now, by its key."""
        return self._unusable

    @unusable.setter
    def unusable(self, reasons: Mapping[str, str]) -> None:
        if reasons != self._unusable:
            self._unusable = reasons
            self._check_soon.start()

    def edit(self, label: str, change: Callable[[Draft], Draft], merge: str | None = None) -> bool:
        """Make one undo step of a change and say whether it changed anything.

        Steps with the same ``merge`` key that follow each other become one, until the selection changes,
        something is undone or the document is saved; merged steps that end where they began vanish.
        Nodes the change adds are selected. A document that is read only says why, and nothing changes.
        """
        if self._is_refused():
            return False
        # Before the push: a command that raises while it is pushed stays on Qt's stack.
        after = change(self._draft)
        if after is self._draft:
            return False
        gesture = None if merge is None else (merge, self._gesture)
        self.undo_stack.push(_Edit(label, self._draft, after, self._show, gesture))
        return True

    def undo(self) -> None:
        """Take the last step back; nothing happens when there is none."""
        if self._is_refused():
            return
        self.end_gesture()
        self.undo_stack.undo()

    def redo(self) -> None:
        """Make the step again that was last taken back; nothing happens when there is none."""
        if self._is_refused():
            return
        self.end_gesture()
        self.undo_stack.redo()

    def go_to(self, step: int) -> None:
        """Undo or redo until this many steps are done; 0 is the document as it was opened."""
        if self._is_refused():
            return
        self.end_gesture()
        self.undo_stack.setIndex(step)

    def end_gesture(self) -> None:
        """Let the next step be one of its own, whatever its merge key."""
        self._gesture += 1

    def select(self, ids: Iterable[NodeId]) -> None:
        """Select exactly these nodes; ids that are not in the draft are passed over."""
        selection = frozenset(ids) & self._draft.tree.nodes.keys()
        if selection != self._selection:
            self.end_gesture()
            self._selection = selection
            self.selection_changed.emit(selection)

    def save(self, path: Path | None = None, *, force: bool = False) -> None:
        """Store the draft at the path, or where it came from.

        Raises ``SaveFailed`` with the file and the cause, or ``ChangedOutside`` when another program wrote
        the file since it was read (``force`` overwrites it). Then both files and the document are as before.
        """
        self._settle(files.save_tree(self._draft, self._stored, path, force=force))

    def keep_view(self, view: Viewpoint) -> None:
        """Have the next save say that this was looked at; looking around is no edit and no change."""
        self._draft = with_viewpoint(self._draft, view)

    def changed_outside(self) -> bool:
        """Whether another program changed the files since, and nothing was decided about that."""
        changed = files.changed_outside(self._stored) if self._stored else {}
        return bool(changed) and changed != self._put_off

    def put_off(self) -> None:
        """Decide later about what another program has written; saving asks again."""
        self._put_off = files.changed_outside(self._stored) if self._stored else {}

    def reload(self, card_size: layout.CardSize = layout.usual_size) -> files.Unreadable | None:
        """Show what stands on the disk, as a step that can be undone; where it cannot be read, why."""
        if self.path is None:
            raise ValueError("a document that has no file yet cannot be read again")
        opened = files.open_tree(self.path, card_size)
        if isinstance(opened, files.Unreadable):
            return opened
        if self._stored is not None:
            # Nodes and actions there are as they were last saved, whatever was renamed or described since.
            saved = self._stored.draft
            as_saved = replace(opened.draft, renamings=saved.renamings, described=saved.described)
            opened = replace(opened, draft=as_saved)
        if not _equal(self._draft, opened.draft):
            self.undo_stack.push(_Edit("Reload", self._draft, opened.draft, self._show, None))
        self._settle(opened)
        return None

    def keep_mine(self) -> None:
        """Let the next save overwrite what another program has written; raises ``SaveFailed``."""
        if self._stored is not None:
            self._stored = files.overruling(self._stored)
        self.mark_unsaved()

    def mark_unsaved(self) -> None:
        """Say that this draft stands in no file, whatever is undone, until it is saved."""
        self.end_gesture()
        self._saved = None
        self.undo_stack.resetClean()
        self._note_clean()

    def _settle(self, stored: files.Stored) -> None:
        """The draft and the files are the same now."""
        self._stored, self._saved, self._clean = stored, self._draft, True
        self.end_gesture()
        self.undo_stack.setClean()
        self.saved_changed.emit()
        self._check_soon.start()

    def _note_clean(self) -> None:
        clean = self._saved is not None and _equal(self._saved, self._draft)
        if clean != self._clean:
            self._clean = clean
            self.saved_changed.emit()

    def _is_refused(self) -> bool:
        if self._read_only is not None:
            self.refused.emit(self._read_only)
        return self._read_only is not None

    def check_now(self) -> tuple[Problem, ...]:
        """Check at once what would be checked when the event loop is next idle; the problems."""
        self._check_soon.stop()
        tree = self._draft.tree
        if self._checker is None:
            self._checker = Checker(self._catalog)
        if tree is not self._checked:
            self._found = self._checker.update(self._checked, tree)
            self._checked = tree
        stored = self._stored.problems if self._stored else ()
        problems = in_plain_words((*stored, *self._found, *_failing(tree, self._unusable)), tree)
        if problems != self._problems:
            self._problems = problems
            self.problems_changed.emit(problems)
        return problems

    def _show(self, draft: Draft) -> None:
        draft = _seen_as(self._draft, draft)
        before, self._draft = self._draft, draft
        selection = _carried(self._selection, before, draft)
        reselected = selection != self._selection
        self._selection = selection
        self._note_clean()
        self.changed.emit(before, draft)
        if reselected:
            self.selection_changed.emit(selection)
        if before.tree is not draft.tree:
            self._check_soon.start()


class _Edit(QUndoCommand):
    """One step: the draft before and after it."""

    def __init__(
        self,
        label: str,
        before: Draft,
        after: Draft,
        show: Callable[[Draft], None],
        gesture: tuple[str, int] | None,
    ) -> None:
        super().__init__(label)
        self.before, self.after, self.gesture = before, after, gesture
        # Held strongly, the document and its steps would be one cycle. Python may take such a cycle apart at
        # a step, and the stack would then delete that step a second time.
        self._document_show = WeakMethod(show)

    def redo(self) -> None:
        self._show(self.after)

    def undo(self) -> None:
        self._show(self.before)

    def _show(self, draft: Draft) -> None:
        if (show := self._document_show()) is not None:
            show(draft)

    def id(self) -> int:
        return -1 if self.gesture is None else 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _Edit) or other.gesture != self.gesture:
            return False
        self.after = other.after
        self.setObsolete(_equal(self.before, self.after))
        return True


def _equal(one: Draft, other: Draft) -> bool:
    # The spelling decides, because to Python the parameters 1, 1.0 and True are equal.
    return (
        one == other
        and (one.tree is other.tree or repr(one.tree) == repr(other.tree))
        and not described_since(one, other)
    )


def _failing(tree: Tree, unusable: Mapping[str, str]) -> Iterator[Problem]:
    """A warning at each node whose action would fail at once."""
    for node_id, node in tree.nodes.items() if unusable else ():
        reason = unusable.get(node.action_key or "") if isinstance(node, ActionNode) else None
        if reason is not None:
            yield Problem("action-unusable", "warning", reason, node_id, "actionKey")


def _seen_as(before: Draft, draft: Draft) -> Draft:
    """The draft with what is looked at now: no step goes back to where one looked, that would be a change."""
    view = before.design.get(VIEW)
    return draft if draft.design.get(VIEW) == view else with_member(draft, VIEW, view)


def _carried(selection: frozenset[NodeId], before: Draft, after: Draft) -> frozenset[NodeId]:
    """The selection after a change: new nodes if there are any, else what is left, renamed ids followed."""
    old, new = before.tree.nodes, after.tree.nodes
    if old.keys() == new.keys():
        return selection
    if len(old) == len(new):  # a rename keeps every node's rank
        follows = dict(zip(old, new, strict=True))
        return frozenset(follows[i] for i in selection)
    return frozenset(new.keys() - old.keys()) or selection & new.keys()
