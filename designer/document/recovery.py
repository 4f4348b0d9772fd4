"""Recovery: what is not saved yet is kept as a snapshot, at most two seconds behind the last edit.

A snapshot is one small archive with the two files of a document and where they belong. Each program keeps
its own in a folder of its own, which it holds locked; what lies in a folder nobody holds was left by a
program that died.
"""

import io
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

from PySide6.QtCore import QObject, QTimer, Signal

from designer.document import files, layout, locks
from designer.document.document import Document
from designer.document.draft import Described, Draft, described_since, renamed_since
from designer.document.folders import private_folder
from engine import DocumentRefused, write_tree

FORMAT: Final = 1
QUIET_MS: Final = 1000
"""A snapshot is taken when nothing was edited for so long."""
LATEST_MS: Final = 1800
"""And so long after the first edit it lacks at the latest; the rest of the two seconds is for writing it."""

LOOK_MS: Final = 20

_ABOUT, _TREE, _DESIGN = "about.json", "tree.json", "tree.design.json"
_SUFFIX: Final = ".zip"
_DAMAGED: Final = "damaged"


def is_snapshot(path: Path) -> bool:
    """Whether a file is a snapshot of unsaved work."""
    with suppress(BadZipFile, OSError), ZipFile(path) as archive:
        return {_ABOUT, _TREE} <= set(archive.namelist())
    return False


class SnapshotRefused(Exception):
    """A snapshot cannot be used; the text says why."""


@dataclass(frozen=True)
class Snapshot:
    """A document that was not saved: its draft, where it belongs, and what stood there when it was read.

    ``path`` is None for one that never had a file; ``marks`` are the hashes of tree and design, None where
    there was no file. The draft's renamings and described actions are those since then.
    """

    draft: Draft = field(repr=False)
    path: Path | None
    marks: tuple[str | None, str | None]
    at: datetime

    @classmethod
    def of(cls, document: Document) -> "Snapshot":
        """The document as it is now."""
        path, stored = document.path, document.stored
        marks: tuple[str | None, str | None] = (None, None)
        if path is not None and stored is not None:
            marks = (stored.marks[path], stored.marks[files.design_path(path)])
        saved, draft = stored.draft if stored is not None else document.draft, document.draft
        described = tuple(described_since(saved, draft).values())
        draft = replace(draft, renamings=renamed_since(saved, draft), described=described)
        return cls(draft, path, marks, datetime.now(UTC))

    @property
    def name(self) -> str:
        """What to call it to a person."""
        return self.path.name if self.path else self.draft.tree.tree_id or "new-tree"

    def packed(self) -> bytes:
        """The archive."""
        about = {
            "format": FORMAT,
            "path": str(self.path) if self.path else None,
            "marks": self.marks,
            "at": self.at.isoformat(),
            "renamings": self.draft.renamings,
            "described": [(one.key, one.before, one.after) for one in self.draft.described],
        }
        buffer = io.BytesIO()
        with ZipFile(buffer, "w") as archive:
            archive.writestr(_ABOUT, json.dumps(about))
            archive.writestr(_TREE, write_tree(self.draft.tree))
            archive.writestr(_DESIGN, files.design_bytes(self.draft))
        return buffer.getvalue()

    @classmethod
    def unpacked(cls, data: bytes) -> "Snapshot":
        """The snapshot in an archive; raises ``SnapshotRefused``."""
        try:
            with ZipFile(io.BytesIO(data)) as archive:
                about = json.loads(archive.read(_ABOUT))
                tree, design = archive.read(_TREE), archive.read(_DESIGN)
            if about["format"] > FORMAT:
                raise SnapshotRefused("it was written by a newer version of Treewright")
            path = Path(about["path"]) if about["path"] is not None else None
            tree_mark, design_mark = about["marks"]
            at = datetime.fromisoformat(about["at"])
            renamings = tuple((str(old), str(new)) for old, new in about.get("renamings", ()))
            described = tuple(Described(str(key), *entries) for key, *entries in about.get("described", ()))
            draft = replace(files.draft_of(tree, design), renamings=renamings, described=described)
            return cls(draft, path, (tree_mark, design_mark), at)
        except BadZipFile:
            raise SnapshotRefused("it is not whole") from None
        except DocumentRefused as refused:
            raise SnapshotRefused(f"its tree cannot be read: {refused.message}") from None
        except (KeyError, TypeError, ValueError, NotImplementedError, EOFError, OSError):
            raise SnapshotRefused("it is no snapshot of this program") from None

    def opened(self, card_size: layout.CardSize = layout.usual_size) -> Document:
        """A changed document of the same path: what the file holds now is one undo away."""
        if self.path is None:
            return _unsaved(Document(self.draft))
        marks = dict(zip((self.path, files.design_path(self.path)), self.marks, strict=True))
        there = files.open_tree(self.path, card_size)
        if isinstance(there, files.Unreadable):
            # Undoing must not lead to a document that counts as saved while its file cannot be read.
            stored = replace(self.draft, described=())
            return _unsaved(Document(self.draft, files.Stored(self.path, stored, marks=marks)))
        # With the marks of then, a file that was changed since is noticed and not overwritten unasked.
        document = Document(there.draft, files.Stored(self.path, there.draft, there.problems, marks))
        document.edit("Recover", lambda _: self.draft)
        return document

    def is_saved(self) -> bool:
        """Whether the files hold just this."""
        there = files.open_tree(self.path) if self.path else None
        if not isinstance(there, files.Stored) or _written(there.draft) != _written(self.draft):
            return False
        return not self.draft.described or files.are_described(there.path, self.draft)

    def is_overtaken(self) -> bool:
        """Whether the files were changed after they were read for this document."""
        if self.path is None:
            return False
        marks = dict(zip((self.path, files.design_path(self.path)), self.marks, strict=True))
        return bool(files.changed_outside(files.Stored(self.path, self.draft, marks=marks)))


@dataclass(frozen=True)
class Found:
    """A snapshot that a program left when it died."""

    snapshot: Snapshot
    file: Path

    def discard(self) -> None:
        """Remove it."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)


@dataclass(frozen=True)
class Left:
    """What there is to recover, the latest first, and a sentence for each snapshot that cannot be used."""

    found: tuple[Found, ...] = ()
    damaged: tuple[str, ...] = ()


class Recovery:
    """The folder of snapshots, as one program uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._lock: locks.Lock | None = None
        # One thread, so that what is asked first is done first.
        self._thread = ThreadPoolExecutor(1, "recovery")

    def keep(self, name: str, snapshot: Snapshot) -> Future[None]:
        """Write a snapshot over the former one of this name; the future fails with what went wrong."""
        return self._thread.submit(self._keep, name, snapshot)

    def drop(self, name: str) -> Future[None]:
        """Remove the snapshot of this name."""
        return self._thread.submit((self._own / name).with_suffix(_SUFFIX).unlink, missing_ok=True)

    def close(self) -> None:
        """Finish what was asked and remove the folder of this program, which must be empty to go."""
        self._thread.shutdown()
        with suppress(OSError):
            self._own.rmdir()
        if self._lock is not None:
            self._lock.release()

    @contextmanager
    def left(self) -> Iterator[Left]:
        """What other programs left when they died; meanwhile nobody else is offered the same."""
        held: list[tuple[Path, locks.Lock]] = []
        found: list[Found] = []
        damaged: list[str] = []
        try:
            for folder in self._orphans():
                # A program locks its folder before it makes it, and gives the lock back after it is gone.
                lock = locks.acquire(folder.with_suffix(".lock"))
                if lock is not None:
                    held.append((folder, lock))
                    for file in sorted(folder.glob(f"*{_SUFFIX}")):
                        self._read(file, found, damaged)
            found.sort(key=lambda one: one.snapshot.at, reverse=True)
            yield Left(tuple(found), tuple(damaged))
        finally:
            for folder, lock in held:
                if not any(folder.glob(f"*{_SUFFIX}")):
                    shutil.rmtree(folder, ignore_errors=True)
                lock.release()

    def _orphans(self) -> list[Path]:
        try:
            return sorted(
                entry
                for entry in self._folder.iterdir()
                if entry.is_dir() and entry not in (self._own, self._folder / _DAMAGED)
            )
        except OSError:
            return []

    def _read(self, file: Path, found: list[Found], damaged: list[str]) -> None:
        try:
            one = Found(Snapshot.unpacked(file.read_bytes()), file)
        except OSError as error:
            damaged.append(f"{file.name} cannot be read: {error.strerror}.")
        except SnapshotRefused as refused:
            aside = self._folder / _DAMAGED / f"{file.parent.name}-{file.name}"
            with suppress(OSError):
                private_folder(aside.parent)
                file.replace(aside)
            damaged.append(f"A snapshot cannot be used: {refused}. It is kept as {aside}.")
        else:
            if one.snapshot.is_saved():
                one.discard()
            else:
                found.append(one)

    def _keep(self, name: str, snapshot: Snapshot) -> None:
        if self._lock is None:
            self._lock = locks.acquire(self._own.with_suffix(".lock"))
        private_folder(self._own)
        files.save_bytes((self._own / name).with_suffix(_SUFFIX), snapshot.packed(), 0o600)


class Keeper(QObject):
    """Keeps the snapshot of one document while it has changes."""

    failed = Signal(object)
    """Why no snapshot can be written, one sentence; once, until one was written again."""

    def __init__(self, document: Document, recovery: Recovery, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document, self._recovery = document, recovery
        self._name = secrets.token_hex(8)
        self._kept = self._told = False
        self._quiet = QTimer(self, interval=QUIET_MS, singleShot=True)
        self._latest = QTimer(self, interval=LATEST_MS, singleShot=True)
        for timer in (self._quiet, self._latest):
            timer.timeout.connect(self.keep)
        self._writing: Future[None] | None = None
        self._look_soon = QTimer(self, interval=LOOK_MS, singleShot=True)
        self._look_soon.timeout.connect(self._look)
        document.changed.connect(self._note)
        document.saved_changed.connect(self._note)
        self._note()

    def keep(self) -> Future[None]:
        """Take a snapshot now; it is written in the background."""
        self._rest()
        self._kept = True
        self._writing = self._recovery.keep(self._name, Snapshot.of(self._document))
        self._look_soon.start()
        return self._writing

    def close(self) -> None:
        """Stop, and remove the snapshot: the document is saved, or its changes are not wanted."""
        self._document.changed.disconnect(self._note)
        self._document.saved_changed.disconnect(self._note)
        self._drop()
        self.deleteLater()

    def _note(self, *_: object) -> None:
        if self._document.clean:
            self._drop()
            return
        self._quiet.start()
        if not self._latest.isActive():
            self._latest.start()

    def _look(self) -> None:
        """See what became of the last snapshot."""
        if self._writing is None or not self._writing.done():
            self._look_soon.start()
            return
        error = self._writing.exception()
        if isinstance(error, OSError | files.SaveFailed):
            self._latest.start()  # the disk may take it later
            if not self._told:
                cause = error.cause if isinstance(error, files.SaveFailed) else error.strerror
                self.failed.emit(f"Changes are not kept for recovery: {cause}. Save them to be safe.")
        elif error is not None:
            raise error
        self._told = error is not None

    def _drop(self) -> None:
        self._rest()
        self._look_soon.stop()
        if self._kept:
            self._kept = False
            self._recovery.drop(self._name)

    def _rest(self) -> None:
        self._quiet.stop()
        self._latest.stop()


def _written(draft: Draft) -> tuple[bytes, bytes]:
    return write_tree(draft.tree), files.design_bytes(draft)


def _unsaved(document: Document) -> Document:
    document.mark_unsaved()
    return document
