"""The workbench: the open documents, the current one, and everything the panels share."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal

from designer.document.document import Document
from designer.running import RunController, RunState
from designer.settings import Settings, data_folder
from engine import (
    Catalog,
    CatalogError,
    Inputs,
    NodeId,
    PersonDecider,
    Project,
    ProjectError,
    Session,
    TranscriptOptions,
    catalog_of,
    load_project,
    standard_catalog,
)
from engine.evaluate import Case, find_cases, inputs_of, read_cases
from engine.records import JsonlSink

RECORDS: Final = "decisions.jsonl"


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
    trouble = Signal(object)
    """One sentence about something that went wrong and does not stop the work."""

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.settings = settings
        self.documents: tuple[Document, ...] = ()
        self.current: Document | None = None
        self.cases: tuple[Case, ...] = ()
        self.case_trouble: str | None = None
        self.transcripts_folder: Path = settings.transcripts_folder or data_folder() / "transcripts"
        self.records_path: Path = settings.records_path or data_folder() / RECORDS
        self.running = RunController(self._prepare, self)
        self._sink: JsonlSink | None = None
        self.running.state_changed.connect(self._note_state)

    def add(self, document: Document) -> None:
        """Open a document and make it the current one."""
        self.documents = (*self.documents, document)
        document.setParent(self)
        document.catalog = self._catalog(document)
        self.documents_changed.emit()
        self.show_document(document)

    def remove(self, document: Document) -> None:
        """Close a document; the last one opened before it becomes current."""
        if self.running.document is document:
            self.running.cancel()
        self.documents = tuple(d for d in self.documents if d is not document)
        self.documents_changed.emit()
        if self.current is document:
            self.show_document(self.documents[-1] if self.documents else None)
        document.deleteLater()

    def show_document(self, document: Document | None) -> None:
        """Make a document the current one."""
        self.current = document
        self.running.choose_case(None)
        self.current_changed.emit(document)
        self.reload_cases()

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

    def untrusted_code(self, document: Document) -> Path | None:
        """The folder of a document whose project has Python code the person has not agreed to run."""
        project, folder = self._project(document)
        if folder is None or not project.catalog or folder in self.settings.trusted_folders:
            return None
        return folder

    def trust(self, folder: Path) -> None:
        """Agree, from now on, to run the Python code of this folder's project."""
        self.change_settings(trusted_folders=(*self.settings.trusted_folders, folder))
        for document in self.documents:
            document.catalog = self._catalog(document)

    def change_settings(self, **changes: object) -> None:
        """Change preferences and store them."""
        self.settings = self.settings.changed(**changes)
        self.settings.save()

    def _project(self, document: Document) -> tuple[Project, Path | None]:
        folder = document.path.resolve().parent if document.path else None
        try:
            return (load_project(folder) if folder else Project()), folder
        except ProjectError as error:
            self.trouble.emit(str(error))
            return Project(), folder

    def _catalog(self, document: Document) -> Catalog:
        project, folder = self._project(document)
        if folder is None:
            return standard_catalog()
        try:
            return catalog_of(project, folder, trusted=folder in self.settings.trusted_folders)
        except CatalogError as error:
            self.trouble.emit(str(error))
            return catalog_of(project, folder, trusted=False)

    def _prepare(
        self, document: Document, case: Case | None, decider: PersonDecider
    ) -> tuple[Session, Inputs]:
        session = Session(
            decider=decider,
            catalog=document.catalog,
            transcript=TranscriptOptions(directory=self.transcripts_folder),
            records=self._open_records(),
        )
        inputs = inputs_of(case) if case else Inputs()
        defaults = self._project(document)[0].parameters
        return session, replace(inputs, parameters={**defaults, **inputs.parameters})

    def _open_records(self) -> JsonlSink | None:
        self._close_records()
        try:
            self.records_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._sink = JsonlSink(self.records_path)
        except OSError as error:
            # A run must not depend on a place to record it; the person is told, and the run goes on.
            self.trouble.emit(f"Decisions are not recorded: {error.strerror}.")
        return self._sink

    def _close_records(self) -> None:
        if self._sink is not None:
            self._sink.close()
            self._sink = None

    def _note_state(self, state: object) -> None:
        if state is RunState.ENDED:
            self._close_records()
            self.stored.emit()
