"""The desktop application: author, check, run and debug decision trees."""

from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parent.parent
_PACKED: Final = _ROOT / "engine" / "_data"


def resource(relative: str) -> Path:
    """Where a shared file lies (``"resources/icons/run.svg"``), in a checkout and in a wheel alike."""
    return (_PACKED if _PACKED.is_dir() else _ROOT) / relative
