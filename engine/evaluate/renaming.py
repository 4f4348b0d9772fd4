"""Renamed nodes in the files beside a tree: their names are written anew, and every other byte stays.

A text that cannot be read, or in which two names would become one, is left as it is. Names may be swapped.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from engine import jsontext
from engine.errors import DocumentRefused
from engine.evaluate.cases import find_cases
from engine.jsontext import Json
from engine.project import FILE_NAME
from engine.tree import NodeId

Names: TypeAlias = Mapping[NodeId, NodeId]
"""For each renamed node its old id with its new one."""

Renamer: TypeAlias = Callable[[bytes, str, Names], bytes]
"""Makes of the bytes of a file, for the tree of this id, those with the new names."""

_PINS: Final = (("answers",), ("replies",), ("conditions",), ("actions",), ("expect", "answers"))
_PATH: Final = ("expect", "path")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_MARK: Final = b"\xef\xbb\xbf"


def files_naming_nodes(tree_file: Path) -> Mapping[Path, Renamer]:
    """The files that name nodes of a tree, there or not: its cases and the project of its folder."""
    return {find_cases(tree_file): renamed_cases, tree_file.with_name(FILE_NAME): renamed_project}


def renamed_cases(data: bytes, tree_id: str, names: Names) -> bytes:
    """A cases file with the new names; cases of another tree keep theirs."""

    def mentions(case: Json) -> Iterator[tuple[str, ...]]:
        tree = _at(case, ("tree", "id"))
        if tree is None or tree == tree_id:
            yield from _PINS
            yield _PATH

    return b"\n".join(_renamed(line, mentions, names) for line in data.split(b"\n"))


def renamed_project(data: bytes, tree_id: str, names: Names) -> bytes:
    """A project file with the new names in the settings of the tree."""
    return _renamed(data, lambda _: [("trees", tree_id, "classify")], names)


def _renamed(data: bytes, mentions: Callable[[Json], Iterable[tuple[str, ...]]], names: Names) -> bytes:
    """The document with the new names in the objects and lists at the paths that ``mentions`` tells."""
    try:
        document = jsontext.parse(data)
    except DocumentRefused:
        return data
    found: dict[str, NodeId] = {}
    for path in mentions(document):
        inside = _at(document, path)
        if isinstance(inside, dict):
            if len({names.get(name, name) for name in inside}) < len(inside):
                return data
            found |= {jsontext.pointer(*path, name): names[name] for name in inside if name in names}
        elif isinstance(inside, list):
            steps = [(n, step) for n, step in enumerate(inside) if isinstance(step, str) and step in names]
            found |= {jsontext.pointer(*path, n): names[step] for n, step in steps}
    return _rewritten(data, found) if found else data


def _at(document: Json, path: tuple[str, ...]) -> Json:
    """What is at a path of member names; None where nothing is."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _rewritten(data: bytes, found: Mapping[str, NodeId]) -> bytes:
    """The document with another text for each member name, or each item, that a pointer names."""
    text = jsontext.text_of(data)
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    places = jsontext.places(text, found)
    parts, last = list[str](), 0
    for at, new in sorted((starts[line - 1] + column - 1, found[p]) for p, (line, column) in places.items()):
        written = _STRING.match(text, at)
        parts += [text[last:at], json.dumps(new, ensure_ascii=False)]
        last = written.end() if written else at
    return (_MARK if data.startswith(_MARK) else b"") + "".join([*parts, text[last:]]).encode()
