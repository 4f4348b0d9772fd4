"""The transcripts in a folder, told from a glance at each file."""

import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final


@dataclass(frozen=True, slots=True)
class TranscriptInfo:
    """One transcript. ``when`` is local time. What an own builder wrote otherwise is None."""

    path: Path
    when: datetime
    tree_id: str | None
    outcome: str | None


def list_transcripts(directory: Path) -> tuple[TranscriptInfo, ...]:
    """The transcripts of a folder, newest first; none where the folder is missing or cannot be read."""
    try:
        names = [entry.name for entry in os.scandir(directory) if entry.is_file(follow_symlinks=False)]
    except OSError:
        return ()
    found = [info for name in names if (info := _glance(directory / name))]
    return tuple(sorted(found, key=_age, reverse=True))


_NAME: Final = re.compile(r"(\d{8}-\d{6})-.+\.md", re.DOTALL)
_GOAL: Final = re.compile(rb"^Decision tree: (.+)$", re.MULTILINE)
_OUTCOME: Final = re.compile(rb"\n## Decision result\n\n\*\*Outcome:\*\* `(\w+)`")
_HEAD: Final = 4_096
_TAIL: Final = 65_536


def _age(info: TranscriptInfo) -> tuple[datetime, int, str]:
    # Of one second and one goal, the longer name has the higher number.
    return info.when, len(info.path.name), info.path.name


def _glance(path: Path) -> TranscriptInfo | None:
    named = _NAME.fullmatch(path.name)
    if named is None:
        return None
    try:
        when = datetime.strptime(named[1], "%Y%m%d-%H%M%S").astimezone()
        with path.open("rb") as file:
            goal = _GOAL.search(file.read(_HEAD))
            outcomes = _OUTCOME.findall(_tail(file))
    except (OSError, ValueError):
        return None
    return TranscriptInfo(
        path,
        when,
        goal[1].decode(errors="replace") if goal else None,
        outcomes[-1].decode() if outcomes else None,
    )


def _tail(file: BinaryIO) -> bytes:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
    return file.read()
