#!/usr/bin/env python3
"""Fails unless the one wheel in dist/ holds both packages, their type markers and every shared file."""

import sys
import zipfile
from pathlib import Path

root = Path(__file__).parent.parent
shipped = {
    f"engine/_data/{path.relative_to(root).as_posix()}"
    for folder in ("resources", "samples")
    for path in (root / folder).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
}
modules = {
    path.relative_to(root).as_posix()
    for package in ("engine", "designer")
    for path in (*(root / package).rglob("*.py"), root / package / "py.typed")
}
(wheel,) = (root / "dist").glob("*.whl")
held = set(zipfile.ZipFile(wheel).namelist())
missing = sorted((shipped | modules) - held)
if missing or not shipped:
    sys.exit(f"{wheel.name} lacks: {', '.join(missing) or 'resources and samples'}")
print(f"{wheel.name} holds {len(modules)} modules and {len(shipped)} files of resources and samples.")
