"""The workbench: the open documents, the current one, and everything the panels share."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from designer.document import layout
from designer.document.design import direction
from designer.document.document import Document
from designer.document.draft import ActionEntry, Draft, described_since, new_names
from designer.document.files import SaveFailed, add_line
from designer.document.folders import state_folder, state_path
from designer.document.locks import Lock, acquire, seize
from designer.document.names import asked_for, one_line
from designer.document.project import as_described, describe, project_path
from designer.document.recovery import Found, Keeper, Recovery
from designer.proof import Proof
from designer.running import (
    LiveModel,
    ModelChoice,
    RunController,
    RunState,
    choose_model,
    name_of,
    place_of,
)
from designer.settings import Settings, cache_folder, data_folder
from designer.store import FORMER, RECORDS, RecordStore
from designer.tasks import aside, is_running, launch
from engine import (
    Call,
    Catalog,
    Inputs,
    NodeId,
    Project,
    ProjectError,
    RecordingFailed,
    Session,
    TranscriptOptions,
    Tree,
    catalog_of,
    coded_catalog_of,
    load_project,
    standard_catalog,
    tree_hash,
    troubles_of,
)
from engine.evaluate import (
    Case,
    Expectation,
    find_cases,
    inputs_of,
    read_cases,
    read_lines,
    read_run_log,
    write_case,
)

_DECLINED: Final = 200
"""Folders that are known not to be trusted, at most."""
WRITING_MS: Final = 200
"""How long another program may take to replace a file by several steps."""
SOON_MS: Final = 150
"""How long the actions of projects are left alone before it is looked whether they can be done."""


@dataclass
class _Care:
    """What is done for an open document so that nothing of it is lost."""

    keeper: Keeper
    lock: Lock | None = None
    project: Project = field(default_factory=Project)
    """The project of its folder as it is on the disk, and why it cannot be read, if so."""
    trouble: str | None = None
    coded: Catalog = field(default_factory=standard_catalog)
    """What the project's Python code offers, run once and not at each edit of an action."""
    outside: tuple[str, ...] = ()
    """What actions cannot do until the folder is trusted, one sentence each."""


class Untrusted(NamedTuple):
    """A folder nobody agreed to trust, and what of its project waits for that.

    That is Python ``code``, a ``model``, and actions that lead ``outside`` of the folder: why each of them
    fails until then.
    """

    folder: Path
    code: bool
    model: str
    outside: tuple[str, ...] = ()


class Workbench(QObject):
    """What the panels see. It holds several documents; one is current, or none."""

    current_changed = Signal(object)
    """The current :class:`Document`, or None."""
    documents_changed = Signal()
    place_requested = Signal(object, object)
    """A node id or None, and a JSON member or None: select the one and focus the field of the other."""
    cases_changed = Signal(object)
    """The cases of the current document, a tuple."""
    stored = Signal()
    """A transcript or a record was written."""
    records_requested = Signal(object)
    """The execution id of a run whose records somebody wants to see."""
    trouble = Signal(object)
    """One sentence about something that went wrong and does not stop the work."""
    reveal_requested = Signal(object)
    """A node id: bring the node into view, with the focus where it is."""
    model_requested = Signal()
    """Somebody wants to set up a model."""
    catalog_changed = Signal(object)
    """The :class:`Document` that has other actions and predicates now."""
    trust_changed = Signal()
    """Other folders are trusted now, or what waits for trust is something else."""
    changed_outside = Signal(object)
    """The current :class:`Document`, whose files another program has changed: the person must decide."""

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.settings = settings
        self.documents: tuple[Document, ...] = ()
        self.current: Document | None = None
        self.cases: tuple[Case, ...] = ()
        self._parameters: dict[Document, dict[str, str]] = {}
        self._models: dict[Document, ModelChoice] = {}
        self._withheld: set[Document] = set()
        self._looking: asyncio.Task[None] | None = None
        self.case_trouble: str | None = None
        self.transcripts_folder: Path = settings.transcripts_folder or data_folder() / "transcripts"
        former = None if settings.records_path else data_folder() / FORMER
        path = settings.records_path or data_folder() / RECORDS
        self.records = RecordStore(path, cache_folder() / "records", former, self)
        self.records.trouble.connect(self.trouble)
        self.recovery = Recovery(state_folder() / "recovery")
        self._care: dict[Document, _Care] = {}
        # Only a hint: it forgets a file that is replaced, and says nothing on some network folders.
        self._watcher = QFileSystemWatcher(self)
        self._written = QTimer(self, interval=WRITING_MS, singleShot=True)
        self._watcher.fileChanged.connect(lambda _: self._written.start())
        self._written.timeout.connect(self.look_outside)
        self._soon = QTimer(self, interval=SOON_MS, singleShot=True)
        self._soon.timeout.connect(self._look_at_actions)
        self.running = RunController(
            self._prepare,
            self._has_model,
            self,
            withheld=lambda document: document in self._withheld,
            erasure_key=self._erasure_key,
        )
        self.proof = Proof(self)
        self.running.state_changed.connect(self._note_state)

    def add(self, document: Document) -> None:
        """Open a document and make it the current one."""
        self.documents = (*self.documents, document)
        document.setParent(self)
        keeper = Keeper(document, self.recovery, self)
        keeper.failed.connect(self.trouble)
        self._care[document] = _Care(keeper)
        self._read_project(document)
        document.changed.connect(self._note_described)
        if document.path is not None:
            self._claim(document, document.path)
        self.documents_changed.emit()
        self.show_document(document)
        self._watch()

    def remove(self, document: Document) -> None:
        """Close a document; its changes are gone. The last one opened before it becomes current."""
        self.running.close(document)
        care = self._care.pop(document)
        care.keeper.close()
        self._parameters.pop(document, None)
        self._models.pop(document, None)
        self._withheld.discard(document)
        if care.lock is not None:
            care.lock.release()
        self.documents = tuple(d for d in self.documents if d is not document)
        self.documents_changed.emit()
        if self.current is document:
            self.show_document(self.documents[-1] if self.documents else None)
        document.deleteLater()

    def show_document(self, document: Document | None) -> None:
        """Make a document the current one."""
        self.current = document
        if self.running.document is not document:
            self.running.forget()
        self.running.choose_case(None)
        self.proof.follow(document)
        self.current_changed.emit(document)
        self.reload_cases()

    def find(self, path: Path) -> Document | None:
        """The open document of this file, whatever links lead there."""
        real = os.path.realpath(path)
        return next((d for d in self.documents if d.path and os.path.realpath(d.path) == real), None)

    def save(self, document: Document, path: Path | None = None) -> None:
        """Store a document where it came from, or under another name.

        Raises ``SaveFailed`` and ``ChangedOutside`` as :meth:`Document.save` does; the first one also while
        the file is open elsewhere in Treewright.
        """
        care, path = self._care[document], path or document.path
        if path is None:
            raise ValueError("a document that has no file yet is saved under a path")
        if document.path is not None and self.find(path) is document:
            self._look_at_lock(document)
            if document.read_only is not None:
                raise SaveFailed(path, "it is being edited in another Treewright")
            document.save(path)
        else:
            lock, cause = _lock(path)
            if lock is None and cause is None:
                raise SaveFailed(path, "it is open elsewhere in Treewright")
            try:
                document.save(path)
            except BaseException:
                if lock is not None:
                    lock.release()
                raise
            if care.lock is not None:
                care.lock.release()
            care.lock, document.read_only = lock, None
            self._look_at_models()
        self._look_at_projects()
        self._watch()

    def take_over(self, document: Document) -> None:
        """Edit a document here that another Treewright has open; it becomes read-only there."""
        if document.path is not None:
            try:
                self._care[document].lock = seize(state_path("locks", document.path))
            except OSError as error:
                self.trouble.emit(f"{document.path.name} cannot be taken over: {error.strerror}.")
                return
            document.read_only = None
            self.look_outside()

    async def recover(self, found: Found, card_size: layout.CardSize = layout.usual_size) -> None:
        """Open what was not saved, as changes to its file; the snapshot goes once there is a new one."""
        path = found.snapshot.path
        document = self.find(path) if path else None
        if document is not None and document.read_only is None:
            draft = found.snapshot.draft
            document.edit("Recover", lambda _: draft)
            self.show_document(document)
        else:
            document = found.snapshot.opened(card_size)
            self.add(document)
        # What cannot be kept anew stays where it is, and the keeper says why.
        with suppress(OSError, SaveFailed):
            if not document.clean:
                await asyncio.wrap_future(self._care[document].keeper.keep())
            found.discard()

    async def open_run_log(self, path: Path, card_size: layout.CardSize = layout.usual_size) -> None:
        """Show a recorded run over its tree: an open document's, else one that is opened for it, read-only.

        Raises ``DocumentRefused`` or ``OSError`` when there is no log to be read. Nothing happens while a run
        goes on.
        """
        log = await asyncio.to_thread(read_run_log, path)
        if self.running.active:
            return
        start, open_ones = log.start, [d for d in (self.current, *self.documents) if d is not None]
        document = next((d for d in open_ones if tree_hash(d.draft.tree) == start.tree_hash), None)
        older = document is None
        if document is None:
            twin = next((d for d in open_ones if d.draft.tree.tree_id == start.tree.tree_id), None)
            document = _document_of(start.tree, twin, card_size)
            catalog = twin.catalog if twin else document.catalog
            self.add(document)
            document.catalog = catalog
            document.read_only = f"This is the tree of the run in {path.name}. It can be run, but not edited."
        else:
            self.show_document(document)
        self.running.show_log(document, log, path.name, older=older)
        for problem in log.problems:
            self.trouble.emit(f"{path.name}: {problem.message}")

    def look_outside(self) -> None:
        """See whether other programs changed the current document's files, or who edits them."""
        self._watch()
        self._look_at_models()
        self._look_at_projects()
        self._soon.start()
        document = self.current
        if document is not None:
            self._look_at_lock(document)
            if document.changed_outside():
                self.changed_outside.emit(document)

    def close(self) -> None:
        """Close every document and put away what was kept for them."""
        for document in self.documents:
            self.remove(document)
        self.recovery.close()

    def show_place(self, node: NodeId | None, field: str | None = None) -> None:
        """Ask the window to select a node and focus a field."""
        self.place_requested.emit(node, field)

    def reload_cases(self) -> None:
        """Read the cases beside the current tree again; ``case_trouble`` tells of those that do not fit."""
        document, self.cases, self.case_trouble = self.current, (), None
        path = find_cases(document.path) if document and document.path else None
        if document is not None and path is not None and path.exists():
            self.cases, problems = read_cases(path, document.draft.tree)
            if problems:
                more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
                line = f", line {problems[0].line}" if problems[0].line else ""
                self.case_trouble = f"{path.name}{line}: {problems[0].message}{more}"
        self.cases_changed.emit(self.cases)

    def may_keep_case(self, document: Document) -> str | None:
        """Why what is pinned cannot be kept as a case now, in plain words; None when it can."""
        stored = document.stored
        # Saving gives renamed nodes their new names in the cases too, and must not find them there already.
        saved = stored is not None and not new_names(stored.draft, document.draft)
        return None if saved else "Save the tree first. Its cases are kept beside it."

    def case_ids(self, document: Document) -> frozenset[str]:
        """What the cases of a document's file are called, also those that do not fit its tree."""
        try:
            lines = read_lines(find_cases(document.path), document.draft.tree) if document.path else ()
        except OSError:
            return frozenset()
        return frozenset(line.id for line in lines if line.id is not None)

    def keep_case(self, document: Document, id: str, verdict: str | None = None) -> Path:
        """Add what is pinned, with the inputs that were given, to the cases of a document's file.

        The case expects this verdict, or none in particular. Raises ``SaveFailed``.
        """
        tree = document.draft.tree
        case = self.running.answering(document).as_case(tree, id)
        given = {n: text for n, text in self._parameters.get(document, {}).items() if n in asked_for(tree)}
        changes: dict[str, object] = {"params": {**given, **case.params}} if given else {}
        if verdict is not None or "expect" in case.model_fields_set:
            changes["expect"] = Expectation() if verdict is None else Expectation(verdict=verdict)
        if document.path is None:
            raise ValueError("the cases of a document that has no file yet have no place")
        path = find_cases(document.path)
        add_line(path, write_case(case.model_copy(update=changes)).encode())
        self.reload_cases()
        return path

    @property
    def parameters(self) -> dict[str, str]:
        """What a person gave for the placeholders of the current document's texts, by name."""
        return self._parameters.get(self.current, {}) if self.current else {}

    def set_parameter(self, name: str, text: str) -> None:
        """Give a text for a placeholder of the current document; an empty one leaves it to the project."""
        if self.current is not None:
            given = {**self.parameters, name: text}
            self._parameters[self.current] = {n: value for n, value in given.items() if value}

    def default_parameters(self, document: Document) -> Mapping[str, str]:
        """What the project of a document gives for the placeholders of its texts."""
        return self.project(document).parameters

    def project(self, document: Document) -> Project:
        """The project of a document's folder, with the actions as they are described in this window."""
        care = self._care.get(document)
        if care is None:
            return Project()
        saved = document.stored.draft if document.stored else document.draft
        return as_described(care.project, saved, document.draft)

    def may_describe(self, document: Document) -> str | None:
        """Why actions of a document's project cannot be described now, in plain words; None when they can."""
        if document.path is None:
            return "Save the tree first. Its actions are kept beside it."
        return document.read_only or self._care[document].trouble

    def describe_action(
        self,
        document: Document,
        key: str,
        entry: ActionEntry,
        *,
        merge: str | None = None,
        also: Callable[[Draft], Draft] = lambda draft: draft,
    ) -> None:
        """Describe an action of a document's project anew, as a step; the entry has to fit its kind.

        Checks, bounds, cases and runs of the document have it at once, and the project file once the tree is
        saved. ``also`` is what else belongs to the step.
        """
        before = self.project(document).actions.get(key)
        label = f"{'Edit' if before else 'New'} action {one_line(key, 40)}"
        document.edit(label, lambda draft: also(describe(draft, key, before, entry)), merge)

    def untrusted(self, document: Document) -> Untrusted | None:
        """What waits for the person to trust the folder of a document; None when nothing does."""
        folder, care = _folder_of(document), self._care.get(document)
        if folder is None or care is None or folder in self.settings.trusted_folders:
            return None
        withheld = self.model(document).withheld
        model = f"{name_of(withheld)} at {place_of(withheld)}" if withheld else ""
        found = Untrusted(folder, bool(care.project.catalog), model, care.outside)
        return found if found.code or found.model or found.outside else None

    def model(self, document: Document) -> ModelChoice:
        """The model that is asked live in runs of a document: its project's, else the person's own."""
        if document not in self._models:
            self._models[document] = self._chosen_model(document)
        return self._models[document]

    def trust(self, folder: Path) -> None:
        """Agree, from now on, to run this folder's Python code, ask its model, and let it look elsewhere."""
        self.change_settings(trusted_folders=(*self.settings.trusted_folders, folder))
        self._note_trust(folder)

    def distrust(self, folder: Path) -> None:
        """Take that back, at once: a run that goes on in this folder is ended."""
        left = tuple(other for other in self.settings.trusted_folders if other != folder)
        running = self.running.document
        if running is not None and _folder_of(running) == folder:
            self.running.cancel()
        try:
            self.change_settings(trusted_folders=left)
            self.decline(folder)
        finally:
            self._note_trust(folder)

    def decline(self, folder: Path) -> None:
        """Note that the person was asked about this folder and does not trust it: nobody asks again."""
        if folder not in self.settings.declined_folders:
            self.change_settings(declined_folders=(*self.settings.declined_folders, folder)[-_DECLINED:])

    def _note_trust(self, folder: Path) -> None:
        for document in self.documents:
            if _folder_of(document) == folder:
                self._read_project(document)
        self.trust_changed.emit()

    def change_settings(self, **changes: object) -> None:
        """Change preferences and store them."""
        self.settings = self.settings.changed(**changes)
        self._look_at_models()
        self.settings.save()

    def _claim(self, document: Document, path: Path) -> None:
        lock, cause = _lock(path)
        self._care[document].lock = lock
        if cause is not None:
            # Better to edit without a lock than not to edit.
            self.trouble.emit(f"Whether {path.name} is open elsewhere cannot be told: {cause}.")
        document.read_only = (
            None if lock or cause else f"{path.name} is open elsewhere in Treewright. It is read-only here."
        )

    def _look_at_lock(self, document: Document) -> None:
        care, path = self._care[document], document.path
        if path is None:
            return
        if document.read_only is not None:
            self._claim(document, path)
        elif care.lock is not None and not care.lock.held:
            care.lock = None
            document.read_only = f"{path.name} was taken over by another Treewright. It is read-only here."

    def _watch(self) -> None:
        trees = {d.path for d in self.documents if d.path}
        wanted = {str(path) for path in (*trees, *map(project_path, trees)) if path.exists()}
        watched = set(self._watcher.files())
        if watched - wanted:
            self._watcher.removePaths(list(watched - wanted))
        if wanted - watched:
            self._watcher.addPaths(list(wanted - watched))

    def _look_at_projects(self) -> None:
        """See whether a project file has changed, and take what it says now."""
        for document, care in self._care.items():
            project, trouble = _loaded(document)
            if (project, trouble) == (care.project, care.trouble):
                continue
            same = project.catalog == care.project.catalog and project.external == care.project.external
            if trouble is not None or not same:
                self._read_project(document)
            else:
                care.project, care.trouble = project, None
                self._make_catalog(document)

    def _read_project(self, document: Document) -> None:
        """Take what the project file of a document says, and run its Python code where that is trusted."""
        care, folder = self._care[document], _folder_of(document)
        care.project, care.trouble = _loaded(document)
        trusted = folder in self.settings.trusted_folders
        withheld = bool(care.project.catalog) and not trusted
        (self._withheld.add if withheld else self._withheld.discard)(document)
        care.coded = standard_catalog()
        try:
            if care.trouble is not None:
                self.trouble.emit(care.trouble)
            elif folder is not None:
                care.coded = coded_catalog_of(care.project, folder, trusted=trusted)
        except ProjectError as error:
            self.trouble.emit(str(error))
            care.coded = coded_catalog_of(care.project, folder or Path(), trusted=False)
        self._make_catalog(document)

    def _make_catalog(self, document: Document) -> None:
        """Have a document checked and run with the actions as its project describes them now."""
        care, folder, project = self._care[document], _folder_of(document), self.project(document)
        if folder is None:
            document.catalog = care.coded
            self.catalog_changed.emit(document)
            return
        trusted = folder in self.settings.trusted_folders
        try:
            document.catalog = catalog_of(project, folder, trusted=trusted, coded=care.coded)
        except ProjectError as error:
            self.trouble.emit(str(error))
            document.catalog = catalog_of(project, folder, trusted=False)
        self.catalog_changed.emit(document)
        if document is self.current:
            self.proof.look()
        self._soon.start()

    def _note_described(self, before: Draft, after: Draft) -> None:
        # The signal does not say whose it is, and a connection must not hold the document.
        for document in self.documents if before.described is not after.described else ():
            if document.draft is after and described_since(before, after):
                self._make_catalog(document)

    def _look_at_actions(self) -> None:
        """See which actions would fail at once, as the files they need are now; that takes reading them."""
        if is_running() and (self._looking is None or self._looking.done()):
            self._looking = launch(self._look_at_each())

    async def _look_at_each(self) -> None:
        for document in self.documents:
            folder, catalog = _folder_of(document), document.catalog
            if folder is None:
                continue
            trusted = folder in self.settings.trusted_folders
            found = await aside(partial(_unusable, self.project(document), folder, catalog, trusted=trusted))
            if document not in self._care:
                continue
            if document.catalog is not catalog:
                self._soon.start()
                continue
            document.unusable, outside = found
            if outside != self._care[document].outside:
                self._care[document].outside = outside
                self.trust_changed.emit()

    def _chosen_model(self, document: Document) -> ModelChoice:
        own, folder = self.settings.decider, _folder_of(document)
        try:
            project = load_project(folder) if folder else Project()
        except ProjectError as error:
            return choose_model(Project(), own, trusted=False, trouble=str(error))
        return choose_model(project, own, trusted=folder in self.settings.trusted_folders)

    def _has_model(self, document: Document) -> bool:
        return self.model(document).settings is not None

    def _look_at_models(self) -> None:
        """See whether other models are set up now."""
        for document, before in list(self._models.items()):
            now = self._models[document] = self._chosen_model(document)
            if now != before:
                self.running.sources_changed.emit(document)

    def _note_call(self, call: Call) -> None:
        if isinstance(call.error, Exception):
            words = f"The model '{call.model}' failed after {call.seconds:.1f} s: {call.error}"
            self.trouble.emit(words)

    def _prepare(self, document: Document, case: Case) -> tuple[Session, Inputs]:
        self._look_at_projects()
        model = self.model(document)
        session = Session(
            decider=LiveModel(model, self._note_call) if model.settings else None,
            catalog=document.catalog,
            transcript=TranscriptOptions(directory=self.transcripts_folder),
            recorder=self.records.recorder,
        )
        entered = self._parameters.get(document, {})
        return session, inputs_of(case, {**self.default_parameters(document), **entered})

    def _erasure_key(self, document: Document, parameters: Mapping[str, str]) -> str | None:
        """Whom the decisions of a run are about, where the project names the parameter that says so."""
        settings = self.project(document).trees.get(document.draft.tree.tree_id)
        return (settings and parameters.get(settings.erasure_key_parameter or "")) or None

    def _note_state(self, state: object) -> None:
        if state is RunState.ENDED and is_running():
            launch(self._put_down())

    async def _put_down(self) -> None:
        with suppress(RecordingFailed):
            await self.records.recorder.flush()
        self.stored.emit()


def _folder_of(document: Document) -> Path | None:
    """The folder whose project a document belongs to."""
    return document.path.resolve().parent if document.path else None


def _loaded(document: Document) -> tuple[Project, str | None]:
    """The project of a document's folder, and why its file cannot be read, if so."""
    folder = _folder_of(document)
    try:
        return (load_project(folder) if folder else Project()), None
    except ProjectError as error:
        return Project(), str(error)


def _unusable(
    project: Project, folder: Path, catalog: Catalog, *, trusted: bool
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Why actions would fail at once, by their keys, and what of that comes from the want of trust."""
    reasons = _troubles(project, catalog)
    if trusted or not reasons:
        return reasons, ()
    # Without its Python code, which must not be run to find that out.
    coded = coded_catalog_of(project, folder, trusted=False)
    once = _troubles(project, catalog_of(project, folder, trusted=True, coded=coded))
    return reasons, tuple(f"'{key}': {reason}" for key, reason in reasons.items() if key not in once)


def _troubles(project: Project, catalog: Catalog) -> Mapping[str, str]:
    return {problem.field or "": problem.message for problem in troubles_of(project, catalog)}


def _document_of(tree: Tree, twin: Document | None, card_size: layout.CardSize) -> Document:
    """A document of this tree that has no file; what its twin has too looks as it does there."""
    draft = twin.draft if twin else Draft(tree)
    sizes = {i: card_size(node, i) for i, node in tree.nodes.items()}
    places = layout.arrange(tree, sizes, pinned=draft.places, direction=direction(draft))
    return Document(replace(draft, tree=tree, places=places))


def _lock(path: Path) -> tuple[Lock | None, str | None]:
    """The lock of a file, or the cause why there can be none; neither where somebody has it."""
    try:
        return acquire(state_path("locks", path)), None
    except OSError as error:
        return None, error.strerror
