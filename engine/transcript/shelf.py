"""The transcripts in a folder, told from a glance at each file."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final


@dataclass(frozen=True, slots=True)
class TranscriptInfo:
    """One transcript. ``when`` is local time. What an own builder wrote otherwise is None.

    ``size`` is in bytes; ``changed`` is when the file was written last, in nanoseconds.
    """

    path: Path
    when: datetime
    tree_id: str | None
    outcome: str | None
    execution_id: str | None
    size: int
    changed: int


def list_transcripts(directory: Path, known: Iterable[TranscriptInfo] = ()) -> tuple[TranscriptInfo, ...]:
    """The transcripts of a folder, newest first; none where the folder is missing or cannot be read.

    A file that is ``known`` and has not changed since is not read again.
    """
    before = {(info.path, info.size, info.changed): info for info in known}
    try:
        names = [entry.name for entry in os.scandir(directory) if entry.is_file(follow_symlinks=False)]
    except OSError:
        return ()
    found = [info for name in names if (info := _glance(directory / name, before))]
    return tuple(sorted(found, key=_age, reverse=True))


_NAME: Final = re.compile(r"(\d{8}-\d{6})-.+\.md", re.DOTALL)
_RUN: Final = re.compile(rb"^\*\*Execution ID:\*\* `([^`\n]+)`", re.MULTILINE)
_GOAL: Final = re.compile(rb"^Decision tree: (.+)$", re.MULTILINE)
_OUTCOME: Final = re.compile(
    rb"\n## (?:Decision result\n\n\*\*Outcome|Final response\n\n\*\*Status):\*\* `(\w+)`"
)
_HEAD: Final = 4_096
_TAIL: Final = 65_536


def _age(info: TranscriptInfo) -> tuple[datetime, int, str]:
    # Of one second and one goal, the longer name has the higher number.
    return info.when, len(info.path.name), info.path.name


def is_transcript(path: Path) -> bool:
    """Whether a file is named as transcripts are: by its time and what the run was about."""
    return _NAME.fullmatch(path.name) is not None


def _glance(path: Path, before: Mapping[tuple[Path, int, int], TranscriptInfo]) -> TranscriptInfo | None:
    named = _NAME.fullmatch(path.name)
    if named is None:
        return None
    try:
        when = datetime.strptime(named[1], "%Y%m%d-%H%M%S").astimezone()
        stat = path.lstat()
        if (info := before.get((path, stat.st_size, stat.st_mtime_ns))) is not None:
            return info
        with path.open("rb") as file:
            head = file.read(_HEAD)
            outcomes = _OUTCOME.findall(_tail(file))
    except (OSError, ValueError):
        return None
    run, goal = _RUN.search(head), _GOAL.search(head)
    return TranscriptInfo(
        path,
        when,
        goal[1].decode(errors="replace") if goal else None,
        outcomes[-1].decode() if outcomes else None,
        run[1].decode(errors="replace") if run else None,
        stat.st_size,
        stat.st_mtime_ns,
    )


def _tail(file: BinaryIO) -> bytes:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
    return file.read()
