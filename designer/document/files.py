"""The two files of a document, ``NAME.json`` and ``NAME.design.json``: opened, and saved whole or not at all.

A file is written beside its target first, pushed to the disk, and then put in its place in one move. So
whatever happens meanwhile, the target is the old file or the new one.
"""

import difflib
import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from designer.document import layout
from designer.document.draft import Draft, Note, Place, described_since, new_names
from designer.document.folders import private_folder, state_path
from designer.document.project import others_wrote, project_path, with_actions
from engine import (
    DocumentRefused,
    Json,
    NodeId,
    Problem,
    Tree,
    TreewrightError,
    difference_lines,
    document_bytes,
    problems_of,
    read_tree,
    summary_of,
    write_tree,
)
from engine.analysis import compare

FORMAT: Final = 1
"""The newest form of design files this program understands."""

_TEMPORARY: Final = ".treewright-tmp"
_LONGEST_NAME: Final = 200
_LARGEST_BACKUP: Final = 16_000_000


@dataclass(frozen=True)
class Stored:
    """A document as it stands on the disk: what was read or written last.

    ``problems`` are oddities of the files themselves, which saving settles. A draft that equals ``draft``
    has nothing to save. Nodes without a stored place have been laid out.
    """

    path: Path
    draft: Draft
    problems: tuple[Problem, ...] = ()
    marks: Mapping[Path, str | None] = field(default_factory=dict, repr=False)
    """For each of the files the hash of its bytes, None where there is no such file."""
    overruled: Mapping[Path, str | None] = field(default_factory=dict, repr=False)
    """Hashes of what another program wrote and the person decided to overwrite."""
    broken_design: bool = False
    renamed_in: tuple[Path, ...] = ()
    """The other files into which the last save wrote the new ids of renamed nodes."""


@dataclass(frozen=True)
class Unreadable:
    """Why a file cannot be edited as a tree; ``text`` is what it holds, as far as it is text.

    Nothing that was not read whole can be saved, so nothing can be lost.
    """

    path: Path
    text: str = field(repr=False)
    problems: tuple[Problem, ...]


class SaveFailed(TreewrightError):
    """A document could not be stored: the file and the cause. What was on the disk is still there."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(f"{path.name} could not be saved: {cause}. The file on the disk is unchanged.")
        self.path, self.cause = path, cause


class ChangedOutside(TreewrightError):
    """Another program wrote the file since it was read; saving would lose that."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path.name} was changed by another program since it was opened.")
        self.path = path


def design_path(path: Path) -> Path:
    """The design file that belongs to a tree file: ``tree.design.json`` beside ``tree.json``."""
    return path.with_name(f"{path.stem}.design.json")


def open_tree(path: Path, card_size: layout.CardSize = layout.usual_size) -> Stored | Unreadable:
    """Read a tree and its design; never raises for what a file holds or for a file that is not there.

    An unreadable design costs only the places. With one that is of a newer form, or too large to be read,
    the tree is not opened: saving would spoil it.
    """
    path = path.absolute()
    data = b""
    try:
        data = document_bytes(path)
        reading = read_tree(data)
    except OSError as error:
        return _unreadable(path, "", "file-unreadable", f"{path.name} cannot be read: {_cause(error)}.")
    except DocumentRefused as refused:
        text = data.decode("utf-8", "replace")
        return _unreadable(path, text, refused.code, refused.message, refused.line, refused.column)
    if not reading.whole:
        return Unreadable(path, reading.text, problems_of(reading))

    try:
        design = _read_design(design_path(path))
    except DocumentRefused as refused:
        message = f"{design_path(path).name} cannot be read: {refused.message}"
        return _unreadable(path, reading.text, refused.code, message)
    if design.newer is not None:
        message = (
            f"{design_path(path).name} is of form {design.newer}; this version knows form {FORMAT} at most."
        )
        return _unreadable(path, reading.text, "design-newer", message)
    for target in (path, design_path(path)):
        _sweep(target)
    problems = (*(p for p in reading.problems if p.severity != "error"), *design.problems)
    return Stored(
        path,
        _laid_out(reading.tree, design, card_size),
        problems,
        {path: _mark(data), design_path(path): design.mark},
        broken_design=bool(design.problems),
    )


def save_tree(
    draft: Draft, stored: Stored | None = None, path: Path | None = None, *, force: bool = False
) -> Stored:
    """Write what differs from the disk, and say what stands there now.

    Where nodes were renamed, cases and project file name them anew in the same stroke, all or none, and where
    actions were described, the project file has them. ``path`` saves under another name, and then the tree
    alone, and what was described. Raises ``SaveFailed``; without ``force`` also ``ChangedOutside``. After
    either, all files are as before.
    """
    path = path.absolute() if path else stored.path if stored else None
    if path is None:
        raise ValueError("a document that has no file yet is saved under a path")
    design, aside = design_path(path), _broken_path(path)
    here = stored if stored and stored.path == path else None
    renamed = _renamed_beside(here, draft) if here else {}
    beside = {**renamed, **_described_beside(stored, draft, path, renamed, force=force)}
    current = {target: _read(target) for target in (design, path)}
    current |= {target: before for target, (before, _) in beside.items()}
    # The tree comes last: a crash in between leaves the old one, whose changes are recovered and saved again.
    wanted = {target: after for target, (_, after) in beside.items()}
    wanted |= {design: design_bytes(draft), path: write_tree(draft.tree)}
    if here:
        touched = [target for target in (design, path) if _mark(current[target]) != here.marks[target]]
        unchanged = wanted == {design: design_bytes(here.draft), path: write_tree(here.draft.tree)}
        if unchanged and not touched:
            return here
        for target in () if force else touched:
            if current[target] != wanted[target] and _mark(current[target]) != here.overruled.get(target, ""):
                raise ChangedOutside(target)
        if path not in touched and wanted[path] == write_tree(here.draft.tree):
            del wanted[path]  # a tree nobody changed keeps its own spelling, whatever tool wrote it
        if here.broken_design and (broken := current[design]) is not None:
            wanted, current[aside] = {aside: broken, **wanted}, _read(aside)
    if path in wanted and wanted[path] != current[path]:
        _back_up(path, current[path], theirs=here is None or path in touched)
    _replace({target: data for target, data in wanted.items() if data != current[target]}, current)
    now = current | wanted
    marks = {target: _mark(now[target]) for target in (path, design)}
    return Stored(path, draft, marks=marks, renamed_in=tuple(renamed))


def save_bytes(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file of its own, an export for instance, whole or not at all; raises ``SaveFailed``.

    ``mode`` is what a new file gets, less the mask of the process; one that is there keeps its own.
    """
    _replace({path: data}, {path: _read(path)}, mode)


def add_line(path: Path, line: bytes) -> None:
    """Add a line at the end of a file of lines, which need not be there yet; raises ``SaveFailed``.

    What stands in it stays as it is, and it gets the line whole or not at all.
    """
    before = _read(path)
    gap = b"\n" if before and not before.endswith(b"\n") else b""
    _replace({path: (before or b"") + gap + line + b"\n"}, {path: before})


def changed_outside(stored: Stored) -> Mapping[Path, str | None]:
    """The files another program wrote or removed since they were read, with the hashes of what is there now.

    Without those whose present content the person has decided to overwrite.
    """
    changed = {}
    for target, mark in stored.marks.items():
        # What cannot be read now has not been shown to differ; saving will tell.
        with suppress(SaveFailed):
            now = _mark(_read(target))
            if now != mark and now != stored.overruled.get(target, ""):
                changed[target] = now
    return changed


def overruling(stored: Stored) -> Stored:
    """The same, with whatever now stands on the disk to be overwritten by the next save."""
    targets = (*stored.marks, project_path(stored.path))
    return replace(stored, overruled={target: _mark(_read(target)) for target in targets})


def difference(draft: Draft, path: Path, stored: Stored | None = None) -> str:
    """What saving the draft would change in its files: what it means, then a unified diff of canonical texts.

    A tree that cannot be read stands there as it is. With what was stored last, the project file is compared
    as well, as far as actions were described.
    """
    theirs = open_tree(path)
    found = compare(theirs.draft.tree, draft.tree) if isinstance(theirs, Stored) else None
    texts = (
        (write_tree(theirs.draft.tree).decode(), design_bytes(theirs.draft).decode())
        if isinstance(theirs, Stored)
        else (theirs.text, "")
    )
    mine = write_tree(draft.tree).decode(), design_bytes(draft).decode()
    lines: list[str] = []
    if found is not None and not found.is_empty:
        lines += [*difference_lines(found), summary_of(found), ""]
    pairs = [*zip((path, design_path(path)), texts, mine, strict=True)]
    with suppress(SaveFailed):
        pairs += [
            (target, (before or b"").decode(), after.decode())
            for target, (before, after) in _described_beside(stored, draft, path, {}, force=True).items()
        ]
    for target, before, after in pairs:
        names = f"{target.name} on disk", f"{target.name} here"
        lines += difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    return "\n".join(lines)


def are_described(path: Path, draft: Draft) -> bool:
    """Whether the project file beside a tree file has the actions the draft has described."""
    changes = {one.key: one for one in draft.described}
    try:
        data = _read(project_path(path))
        return data is not None and with_actions(data, changes) == data
    except (SaveFailed, ValueError):
        return False


def previous_path(path: Path) -> Path:
    """Where the version of a tree file lies that the last save replaced."""
    return state_path("backups", path).with_suffix(".json")


def previous(path: Path, draft: Draft, card_size: layout.CardSize = layout.usual_size) -> Draft | None:
    """The draft with the tree that the last save replaced, if there is one; nodes keep their places."""
    try:
        before = draft_of(document_bytes(previous_path(path)), design_bytes(draft), card_size)
        return replace(before, described=draft.described)
    except (OSError, DocumentRefused):
        return None


def draft_of(tree: bytes, design: bytes, card_size: layout.CardSize = layout.usual_size) -> Draft:
    """The draft in the bytes of two files; raises ``DocumentRefused`` with the reason when there is none."""
    reading = read_tree(tree)
    if not reading.whole:
        raise DocumentRefused("type-invalid", "A part of the tree could not be understood.")
    read = _design_of("The design", design)
    if read.problems or read.newer:
        raise DocumentRefused("design-unreadable", "The design could not be understood.")
    return _laid_out(reading.tree, read, card_size)


def design_bytes(draft: Draft) -> bytes:
    """The canonical design file: one line a place, in the order of the nodes; the rest as it came."""
    places = [
        f"{json.dumps(node_id, ensure_ascii=False)}: [{round(place.x)}, {round(place.y)}]"
        for node_id in draft.tree.nodes
        if (place := draft.places.get(node_id))
    ]
    members = [f'"format": {FORMAT}', f'"places": {{{_block(places, 4)}}}']
    notes = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(note.spelled(), ensure_ascii=False)}"
        for name, note in draft.notes.items()
    ]
    if notes:
        members.append(f'"notes": {{{_block(notes, 4)}}}')
    for name, value in draft.design.items():
        text = json.dumps(value, ensure_ascii=False, indent=2).replace("\n", "\n  ")
        members.append(f"{json.dumps(name, ensure_ascii=False)}: {text}")
    return f"{{{_block(members, 2)}}}\n".encode()


def _block(lines: Iterable[str], indent: int) -> str:
    inside = ",".join(f"\n{' ' * indent}{line}" for line in lines)
    return f"{inside}\n{' ' * (indent - 2)}" if inside else ""


@dataclass(frozen=True)
class _Design:
    """What a design file holds; ``newer`` is its form where that is one we do not know."""

    members: Mapping[str, Json] = field(default_factory=dict)
    places: Mapping[NodeId, Place] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)
    mark: str | None = None
    problems: tuple[Problem, ...] = ()
    newer: int | None = None


def _read_design(path: Path) -> _Design:
    try:
        return _design_of(path.name, document_bytes(path))
    except FileNotFoundError:
        return _Design()
    except OSError as error:
        return _Design(problems=(_unusable(path.name, _cause(error)),))


def _design_of(name: str, data: bytes) -> _Design:
    mark = _mark(data)
    try:
        members = json.loads(data)
        # What could be read but not written again, such as NaN or half a surrogate pair, is refused here.
        json.dumps(members, ensure_ascii=False, allow_nan=False).encode()
        form = _whole(members.pop("format", FORMAT))
        if form > FORMAT:
            return _Design(mark=mark, newer=form)
        places = {i: Place(float(x), float(y)) for i, (x, y) in members.pop("places", {}).items()}
        notes = {name: Note.of(note) for name, note in members.pop("notes", {}).items()}
    except json.JSONDecodeError as error:
        cause = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        cause = "it is no design file of this program"
    else:
        return _Design(members, places, notes, mark)
    return _Design(mark=mark, problems=(_unusable(name, cause),))


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _unusable(name: str, cause: str) -> Problem:
    message = f"{name} cannot be used ({cause}). The nodes were laid out anew; saving keeps that file aside."
    return Problem("design-unreadable", "warning", message)


def _laid_out(tree: Tree, design: _Design, card_size: layout.CardSize) -> Draft:
    known = {i: place for i, place in design.places.items() if i in tree.nodes}
    if len(known) < len(tree.nodes):
        sizes = {i: card_size(node, i) for i, node in tree.nodes.items()}
        known = layout.arrange(tree, sizes, pinned=known)
    return Draft(tree, known, design.members, design.notes)


def _unreadable(path: Path, text: str, code: str, message: str, *place: int) -> Unreadable:
    line, column = place or (None, None)
    return Unreadable(path, text, (Problem(code, "error", message, line=line, column=column),))


def _mark(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes | None:
    """The bytes on the disk, None where there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SaveFailed(path, _cause(error)) from error


def _renamed_beside(here: Stored, draft: Draft) -> dict[Path, tuple[bytes, bytes]]:
    """What stands in the files that name renamed nodes, and what shall stand there.

    They are read now, so whatever another program wrote into them stays.
    """
    names = new_names(here.draft, draft)
    if not names:
        return {}
    from engine.evaluate import files_naming_nodes  # most programs that read trees rename nothing

    tree_id, renamed = here.draft.tree.tree_id, dict[Path, tuple[bytes, bytes]]()
    for target, rename in files_naming_nodes(here.path).items():
        before = _read(target)
        if before is not None and (after := rename(before, tree_id, names)) != before:
            renamed[target] = before, after
    return renamed


def _described_beside(
    stored: Stored | None,
    draft: Draft,
    path: Path,
    renamed: Mapping[Path, tuple[bytes | None, bytes]],
    *,
    force: bool,
) -> dict[Path, tuple[bytes | None, bytes]]:
    """What stands in the project file of a path where actions were described, and what shall stand there."""
    changes = described_since(stored.draft, draft) if stored else {}
    if stored is None or not changes:
        return {}
    target = project_path(path)
    aside = next((one for one in renamed if one.resolve() == target.resolve()), target)
    before, now = renamed.get(aside) or (held := _read(target), held)
    try:
        overruled = force or _mark(before) == stored.overruled.get(target, "")
        if others_wrote(now, changes) and not overruled:
            raise ChangedOutside(target)
        return {aside: (before, with_actions(now, changes))}
    except ValueError as error:
        raise SaveFailed(target, f"it is no project file any more ({error})") from error


def _broken_path(path: Path) -> Path:
    return design_path(path).with_suffix(".json.broken")


def _back_up(path: Path, data: bytes | None, *, theirs: bool) -> None:
    """Keep what a save is about to replace; only another's work is worth giving up the save for."""
    if data is None or len(data) > _LARGEST_BACKUP:
        return
    target = previous_path(path)
    try:
        private_folder(target.parent)
        save_bytes(target, data, 0o600)
    except (OSError, SaveFailed) as error:
        if theirs:
            cause = error.cause if isinstance(error, SaveFailed) else _cause(error)
            raise SaveFailed(path, f"what it would replace cannot be kept ({cause})") from error


def _replace(wanted: Mapping[Path, bytes], current: Mapping[Path, bytes | None], mode: int = 0o666) -> None:
    """Put all the files in place, or none."""
    staged: dict[Path, Path] = {}
    former: dict[Path, Path] = {}
    moved: list[Path] = []
    target = Path()
    try:
        for target, data in wanted.items():
            _sweep(target)
            staged[target] = _stage(target, data, mode)
        # What is moved before the last file can be moved back then, even on a disk that is full by now.
        for target in [*wanted][:-1]:
            if (old := current[target]) is not None:
                former[target] = _stage(target, old)
        for target, temporary in staged.items():
            temporary.replace(target.resolve())
            moved.append(target)
    except OSError as error:
        for done in moved:
            with suppress(OSError):
                _restore(done, former.get(done))
        raise SaveFailed(target, _cause(error)) from error
    finally:
        for temporary in (*staged.values(), *former.values()):
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    for folder in {target.resolve().parent for target in wanted}:
        _settle(folder)


def _restore(path: Path, former: Path | None) -> None:
    if former is None:
        path.unlink(missing_ok=True)
    else:
        former.replace(path.resolve())


def _stage(path: Path, data: bytes, mode: int = 0o666) -> Path:
    """Write the bytes beside the file the path leads to, with that file's mode, and onto the disk."""
    target = path.resolve()
    kept = target.stat().st_mode if target.exists() else None
    # A move in the folder would pass over the protection of the file itself, and root over every mode.
    if kept is not None and not (kept & 0o222 and os.access(target, os.W_OK)):
        raise PermissionError(errno.EACCES, "It is write-protected")
    temporary = target.with_name(f"{_temporary_stem(target)}{os.getpid()}-{secrets.token_hex(4)}{_TEMPORARY}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if kept is not None:
            temporary.chmod(stat.S_IMODE(kept))
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    return temporary


def _temporary_stem(target: Path) -> str:
    """The beginning of a temporary name; a long name is told by its hash, to stay a name the system takes."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return f".{name}."


def _sweep(path: Path) -> None:
    """Remove what a process that died while it saved this file has left beside it."""
    target = path.resolve()
    ours = re.compile(rf"{re.escape(_temporary_stem(target))}(\d+)-[0-9a-f]+{re.escape(_TEMPORARY)}")
    with suppress(OSError):
        for entry in target.parent.iterdir():
            match = ours.fullmatch(entry.name)
            if match and not _alive(match[1]):
                entry.unlink(missing_ok=True)


def _alive(process: str) -> bool:
    return process == str(os.getpid()) or Path("/proc", process).exists()


def _settle(folder: Path) -> None:
    """Have the folder's new entries on the disk too, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cause(error: OSError) -> str:
    return error.strerror or type(error).__name__
