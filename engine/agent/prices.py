"""A decision agent at work: it finds what the documents of a folder say that decides a change of a price.

Its tools call no model: one lists the folder, one reads a file, one takes a document apart.
"""

import asyncio
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, ClassVar, Final

from engine.agent.artifacts import Artifact, Formatters, ListArtifact, cut
from engine.agent.palette import DecisionTool, InvalidInput, ToolRefused
from engine.agent.texts import (
    HEAD,
    MAX_BYTES,
    FileKind,
    Unreadable,
    decoded,
    kind_of,
    office_text,
    statements_of,
)
from engine.agent.thinker import DecisionThinker
from engine.errors import cause_of


@dataclass(frozen=True)
class Folder(Artifact):
    """A folder of this machine, by its absolute path: where a run starts."""

    alias: ClassVar[str] = "folder"

    path: str


@dataclass(frozen=True)
class FileEntry(Artifact):
    """A file as the listing of its folder saw it; ``head`` are the first words of a text."""

    alias: ClassVar[str] = "file"

    name: str
    kind: FileKind
    bytes: int
    path: str
    head: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Document(Artifact):
    """A file that was read as text."""

    alias: ClassVar[str] = "document"

    name: str
    text: str = field(repr=False)
    path: str


@dataclass(frozen=True)
class Statement(Artifact):
    """One statement of a document, with its place there, from 1."""

    alias: ClassVar[str] = "statement"

    text: str = field(repr=False)
    source: str
    ordinal: int


# -- what a model sees ---------------------------------------------------------------------------------

_HEAD_WORDS: Final = 100
_STATEMENT_WORDS: Final = 150


def size_of(count: int) -> str:
    """A number of bytes for people."""
    if count < 1024:
        return f"{count} bytes"
    if count < 1 << 20:
        return f"{(count + 512) // 1024} KB"
    return f"{count / (1 << 20):.1f} MB"


def _folder(folder: Folder) -> str:
    return f"the folder {Path(folder.path).name or folder.path}"


def _file(file: FileEntry) -> str:
    known = f"{file.name} ({file.kind}, {size_of(file.bytes)})"
    return f"{known}: {cut(file.head, _HEAD_WORDS)}" if file.head and file.head.strip() else known


def _document(document: Document) -> str:
    return f"{document.name} ({len(document.text)} characters): {cut(document.text, _HEAD_WORDS)}"


def _statement(statement: Statement) -> str:
    return f"{statement.source} #{statement.ordinal}: {cut(statement.text, _STATEMENT_WORDS)}"


DIGESTS: Final[Formatters] = MappingProxyType(
    {Folder: _folder, FileEntry: _file, Document: _document, Statement: _statement}
)
"""The words for each type: a model decides on these, and on nothing else of what they stand for."""


# -- tools ---------------------------------------------------------------------------------------------


class ListFolderTool(DecisionTool[Folder, ListArtifact[FileEntry]]):
    """Lists the regular files of a folder by name, without folders inside and what links lead to."""

    name = "list_folder"
    description = "Lists the files of a folder, each with its kind, its size and its first words."

    async def run(self, artifact: Folder, /) -> ListArtifact[FileEntry]:
        files = await asyncio.to_thread(_listed, Path(artifact.path))
        return ListArtifact(FileEntry, files)


def _listed(folder: Path) -> tuple[FileEntry, ...]:
    if not folder.is_dir():
        raise InvalidInput("path", str(folder), "a folder of this machine is expected")
    try:
        with os.scandir(folder) as found:
            names = sorted(each.name for each in found if each.is_file(follow_symlinks=False))
        return tuple(_entry(folder / name) for name in names)
    except OSError as error:
        raise _io("The folder", folder.name, error) from error


def _entry(path: Path) -> FileEntry:
    with _opened(path) as file:
        head, size = file.read(HEAD), os.fstat(file.fileno()).st_size
    kind, text = kind_of(path.name, head)
    return FileEntry(path.name, kind, size, str(path), cut(text, _HEAD_WORDS) if text is not None else None)


class ReadDocumentTool(DecisionTool[FileEntry, Document]):
    """Reads a text, or the text of an Office document; everything else is refused with the reason."""

    name = "read_document"
    description = "Reads the text of a file: a text file, or an Office document."

    async def run(self, artifact: FileEntry, /) -> Document:
        text = await asyncio.to_thread(_read, artifact)
        return Document(artifact.name, text, artifact.path)


_NO_TEXT: Final = {
    "pdf": "a PDF is read by a model that can see, and there is none among these tools",
    "image": "an image is read by a model that can see, and there is none among these tools",
    "binary": "it is binary, and there is no text in it",
    "empty": "the file is empty",
}


def _read(file: FileEntry) -> str:
    if file.kind not in ("text", "office"):
        rule = _NO_TEXT.get(file.kind, f"a file of the kind '{file.kind}' cannot be read")
        raise InvalidInput("file", file.name, rule)
    try:
        with _opened(Path(file.path)) as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise _io("The file", file.name, error) from error
    if len(data) > MAX_BYTES:
        raise InvalidInput("file", file.name, f"it is larger than {MAX_BYTES:,} bytes")
    try:
        return office_text(data) if file.kind == "office" else decoded(data)
    except Unreadable as why:
        raise InvalidInput("file", file.name, str(why)) from None


def _opened(path: Path) -> BinaryIO:
    """A regular file, opened to be read; a pipe that was put in its place keeps nobody waiting."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("it is no file")
    return os.fdopen(handle, "rb")


def _io(what: str, name: str, error: OSError) -> ToolRefused:
    return ToolRefused(f"{what} '{name}' cannot be read: {cause_of(error)}.", technical=cause_of(error))


class SplitStatementsTool(DecisionTool[Document, ListArtifact[Statement]]):
    """Takes a document apart: the sentences of its paragraphs, and each item of its lists."""

    name = "split_statements"
    description = "Takes a document apart into its statements, those that decide a price among them."

    async def run(self, artifact: Document, /) -> ListArtifact[Statement]:
        texts = await asyncio.to_thread(statements_of, artifact.text)
        statements = (Statement(text, artifact.name, ordinal) for ordinal, text in enumerate(texts, start=1))
        return ListArtifact(Statement, tuple(statements))


@dataclass(frozen=True, kw_only=True)
class PriceChangeFinder(DecisionThinker[Folder, Statement]):
    """Finds the statements in a folder's documents that decide a change of a price."""

    takes: type[Folder] = Folder
    answers: type[Statement] = Statement
    objective: str = (
        "Find the statements in the documents of a folder that decide, resolve or agree on a change of a "
        "price: what costs more, rises or is cut, to how much or by how many percent, and from which date."
    )
    key_tool: type[DecisionTool[Any, Any]] = SplitStatementsTool
    palette: tuple[type[DecisionTool[Any, Any]], ...] = (ListFolderTool, ReadDocumentTool)
    formatters: Formatters = field(default_factory=lambda: DIGESTS, repr=False)
    name: str = "price-changes"
