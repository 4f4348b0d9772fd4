"""The program's own folders for what must not be lost: snapshots, backups, locks; for their owner alone."""

import hashlib
import os
from pathlib import Path
from typing import Final

from platformdirs import user_state_path

_SHOWN: Final = 20


def state_folder() -> Path:
    """Where all of it lies."""
    return user_state_path("treewright")


def state_path(kind: str, path: Path) -> Path:
    """Where something of this kind is kept about a file, whatever links lead to that file."""
    key = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:24]
    return state_folder() / kind / f"{path.stem[:_SHOWN]}-{key}"


def private_folder(folder: Path) -> Path:
    """Make the folder, and what is missing above it, for its owner alone; ``OSError`` when that fails."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder
