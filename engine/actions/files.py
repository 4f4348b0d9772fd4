"""The kinds that read files and folders. All of it is done aside: a disk may be slow."""

import asyncio
import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from engine import jsontext
from engine.actions.work import Refused, Work, act, decoded, found, read
from engine.catalog import ActionResult
from engine.errors import DocumentRefused, cause_of
from engine.kinds import ListFolder, LoadRows, ReadFile
from engine.tree import Json

Row: TypeAlias = Mapping[str, Json]


@act.register
async def read_file(parameters: ReadFile, work: Work) -> ActionResult:
    """Read one file."""
    path = work.location(parameters.path)

    def text() -> str:
        file = work.place.find(parameters.folder, path, parameters.path)
        return decoded(read(file, parameters.max_bytes, parameters.path), parameters.path)

    pieces = [(path, await asyncio.to_thread(text))]
    return found(work, pieces, path, (parameters.property, parameters.data_type))


@act.register
async def list_folder(parameters: ListFolder, work: Work) -> ActionResult:
    """List the names in a folder, in order."""
    path = work.location(parameters.path)

    def names() -> Sequence[str]:
        folder = work.place.find(parameters.folder, path, parameters.path)
        try:
            listed = _names(folder, parameters.pattern, recursive=parameters.recursive)
            return list(islice(listed, parameters.max_entries + 1))
        except OSError as error:
            raise Refused(f"'{parameters.path}' cannot be listed: {cause_of(error)}.") from None

    listed = await asyncio.to_thread(names)
    if len(listed) > parameters.max_entries:
        raise Refused(f"'{parameters.path}' holds more than {parameters.max_entries:,} names that are meant.")
    pieces = [(name, name) for name in listed]
    return found(work, pieces, path, (parameters.property, parameters.data_type))


def _names(folder: Path, pattern: str, *, recursive: bool, above: str = "") -> Iterator[str]:
    """The names that fit, as paths from the first folder on. Links are neither told nor followed."""
    with os.scandir(folder) as entries:
        there = sorted((entry for entry in entries if not entry.is_symlink()), key=lambda entry: entry.name)
    for entry in there:
        name = above + entry.name.encode(errors="surrogateescape").decode(errors="replace")
        if fnmatchcase(entry.name, pattern):
            yield name
        if recursive and entry.is_dir(follow_symlinks=False):
            yield from _names(Path(entry.path), pattern, recursive=True, above=f"{name}/")


@act.register
async def load_rows(parameters: LoadRows, work: Work) -> ActionResult:
    """Load a table."""
    path = work.location(parameters.path)
    pieces = await asyncio.to_thread(_pieces, parameters, work, path)
    return found(work, pieces, path, (None, parameters.data_type))


def _pieces(parameters: LoadRows, work: Work, path: str) -> Sequence[tuple[str, str]]:
    file, shown = work.place.find(parameters.folder, path, parameters.path), parameters.path
    form = parameters.format or file.suffix.lower().removeprefix(".")
    if form not in _READERS:
        raise Refused(f"What '{shown}' ends in tells no format; name csv, json or jsonl as 'format'.")
    data = read(file, parameters.max_bytes, shown)
    try:
        rows = list(islice(_READERS[form](data), parameters.max_rows + 1))
    except _Unfit as unfit:
        raise Refused(f"'{shown}' {unfit}.") from None
    if len(rows) > parameters.max_rows:
        raise Refused(f"'{shown}' has more than {parameters.max_rows:,} rows.")
    id, content = parameters.id_column, parameters.content_column
    return [
        (
            (id and _cell(row, id, number, shown)) or f"{parameters.data_type}-{number}",
            # An empty cell is an empty content: the other columns are not meant to be shown.
            _text(row) if content is None else _cell(row, content, number, shown),
        )
        for number, row in enumerate(rows, 1)
    ]


def _cell(row: Row, column: str, number: int, shown: str) -> str:
    if column not in row:
        raise Refused(f"Row {number} of '{shown}' has no '{column}'.")
    return _text(row[column])


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _Unfit(Exception):
    """Why a file is no table, to be read after its name."""


def _of_json(data: bytes) -> Iterator[Row]:
    rows = _parsed(data)
    if not isinstance(rows, list):
        raise _Unfit("must hold a list of objects")
    for number, row in enumerate(rows, 1):
        yield _object(row, f"row {number}")


def _of_lines(data: bytes) -> Iterator[Row]:
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield _object(_parsed(line, number), f"line {number}")


def _parsed(data: bytes, line: int | None = None) -> Json:
    try:
        return jsontext.parse(data)
    except DocumentRefused as refused:
        where = refused.line if line is None else line
        raise _Unfit(f"is no JSON at line {where}, column {refused.column}") from None


def _object(value: Json, where: str) -> Row:
    if not isinstance(value, dict):
        raise _Unfit(f"has no object at {where}")
    return value


def _of_csv(data: bytes) -> Iterator[Row]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _Unfit("is not UTF-8 text") from None
    lines = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        yield from _records(lines)
    except csv.Error:
        raise _Unfit(f"is no CSV at line {lines.line_num}") from None


def _records(lines: Iterable[list[str]]) -> Iterator[Row]:
    rows = (cells for cells in lines if cells)
    names = next(rows, [])
    if not names or not all(map(str.strip, names)) or len({*names}) < len(names):
        raise _Unfit("must begin with a line of names, none of them empty and each there once")
    for number, cells in enumerate(rows, 1):
        if len(cells) != len(names):
            raise _Unfit(f"has {len(cells)} values in row {number}, for {len(names)} names")
        yield dict(zip(names, cells, strict=True))


_READERS = {"csv": _of_csv, "json": _of_json, "jsonl": _of_lines}
