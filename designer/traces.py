"""Where else a decision is kept: transcripts, run logs, cases, other files that name it; and wiping them.

Looking reads files and takes its time: not for the window's thread.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final, Literal, TypeAlias
from zipfile import BadZipFile, ZipFile

from designer.document.files import SaveFailed, save_bytes
from designer.document.folders import state_folder
from designer.document.recovery import is_snapshot
from engine import DocumentRefused, is_transcript
from engine.evaluate import blanked, read_run_log, write_run_log

Kind: TypeAlias = Literal["transcript", "run log", "lines", "recovery", "other"]

WHAT_HAPPENS: Final[dict[Kind, str]] = {
    "transcript": "removed, it quotes what was asked",
    "run log": "blanked, or removed where nothing else is in it",
    "lines": "the lines that name it are removed",
    "recovery": "removed",
    "other": "left as it is, look at it yourself",
}
"""What wiping does to a file of each kind."""

_CHUNK: Final = 1 << 20
_UUID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class Trace:
    """A file that names one of the decisions."""

    path: Path
    kind: Kind


class Ids:
    """Ids of decisions, to be found in bytes."""

    def __init__(self, ids: Collection[str]) -> None:
        self.ids = frozenset(ids)
        self._bytes = frozenset(i.encode(errors="surrogatepass") for i in ids)
        self._are_uuids = all(map(_UUID.fullmatch, self._bytes))

    def are_in(self, data: bytes) -> bool:
        """Whether any of them is."""
        if self._are_uuids:
            return any(found in self._bytes for found in _UUID.findall(data))
        return any(one in data for one in self._bytes)

    def are_in_file(self, path: Path) -> bool:
        """Whether any of them is in a file; an archive is looked into. Raises ``OSError``."""
        if path.suffix == ".zip":
            with suppress(BadZipFile), ZipFile(path) as archive:
                return any(self.are_in(archive.read(name)) for name in archive.namelist())
        with path.open("rb") as file:
            before = b""
            while chunk := file.read(_CHUNK):
                if self.are_in(before + chunk):
                    return True
                before = chunk[-_LONGEST:]
        return False


def traces_of(ids: Ids, folders: Iterable[Path], beside: Iterable[Path], store: Path) -> tuple[Trace, ...]:
    """The files that name one of these decisions, apart from their store.

    ``folders`` are looked through with all that is in them, of those ``beside`` only the line files.
    """
    found: dict[Path, Trace] = {}
    own = {store.with_name(f"{store.name}{more}") for more in ("", "-wal", "-shm", ".lock", ".erasures")}
    files = [*_files(folders), *(file for folder in beside for file in _lines_in(folder))]
    for path in dict.fromkeys(map(Path.absolute, files)):
        with suppress(OSError):
            if path not in own and ids.are_in_file(path):
                found[path] = Trace(path, _kind(path))
    return tuple(found.values())


def wipe(trace: Trace, ids: Ids) -> str | None:
    """Do to a file what its kind asks for; why that failed, else None."""
    try:
        match trace.kind:
            case "transcript" | "recovery":
                trace.path.unlink(missing_ok=True)
            case "run log":
                log = blanked(read_run_log(trace.path), ids.ids)
                if log is None:
                    trace.path.unlink(missing_ok=True)
                else:
                    write_run_log(trace.path, log)
            case "lines":
                # As they are in a file: a line ends at a line feed only.
                lines = BytesIO(trace.path.read_bytes()).readlines()
                save_bytes(trace.path, b"".join(line for line in lines if not ids.are_in(line)))
            case _:
                return "it is of no kind this program knows"
    except OSError as error:
        return error.strerror or type(error).__name__
    except (SaveFailed, DocumentRefused) as failed:
        return str(failed)
    return None


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = Path(place, name)
                # The index of a record file follows it by itself, and forgets with it.
                if path.is_file() and not path.is_symlink() and not re.search(r"\.sqlite(-\w+)?$", name):
                    yield path


def _lines_in(folder: Path) -> list[Path]:
    with suppress(OSError):
        return [path for path in folder.glob("*.jsonl") if path.is_file()]
    return []


def _kind(path: Path) -> Kind:
    match path.suffix:
        case ".md" if is_transcript(path):
            # What else a person keeps in the folder is no business of ours.
            return "transcript"
        case ".zip" if is_snapshot(path) or state_folder() in path.parents:
            return "recovery"
        case ".jsonl" | ".unread":
            with path.open("rb") as file, suppress(ValueError, RecursionError):
                head = json.loads(file.readline())
                if isinstance(head, dict) and head.get("kind") == "treewright-run":
                    return "run log"
            return "lines"
        case _:
            return "other"
