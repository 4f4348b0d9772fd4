"""What kind of file some bytes are, the text in them, and its statements; all without a model."""

import io
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final, Literal, TypeAlias
from zipfile import ZipFile, ZipInfo

from engine.agent.artifacts import one_line

FileKind: TypeAlias = Literal["text", "office", "pdf", "image", "binary", "empty"]
"""What a file is by its first bytes."""

HEAD: Final = 512
"""Bytes of a file that are looked at to tell its kind."""
MAX_BYTES: Final = 20_000_000
"""The largest file that is read, and the most an Office document may unpack to."""
MAX_BAD: Final = 0.05
"""The share of a text that may be characters no text has."""


class Unreadable(Exception):
    """There is no text to be had, for this reason."""


_SIGNATURES: Final[tuple[tuple[bytes, FileKind], ...]] = (
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"%PDF", "pdf"),
    (b"PK\x03\x04", "office"),
    (b"\xd0\xcf\x11\xe0", "office"),
)
_TEXTS: Final = frozenset(
    re.findall(
        r"\w+",
        "txt md markdown json csv tsv xml html htm yaml yml properties ini toml log java py js ts sql sh rst "
        "adoc",
    )
)


def kind_of(name: str, head: bytes) -> tuple[FileKind, str | None]:
    """What a file with this name and these first bytes is, and the text of these where it is a text."""
    if not head:
        return "empty", None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image", None
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind, None
    text = head[:HEAD].decode(errors="replace")
    words = text if bad_share(text) <= MAX_BAD else None
    is_text = words is not None or PurePath(name).suffix.lower().removeprefix(".") in _TEXTS
    return ("text", words) if is_text else ("binary", None)


_BAD: Final = re.compile("[\ufffd\x00-\x08\x0b\x0c\x0e-\x1f]")


def bad_share(text: str) -> float:
    """The share of characters that no text has: what did not decode, and control characters."""
    return len(_BAD.findall(text)) / len(text) if text else 0.0


def decoded(data: bytes) -> str:
    """A whole file as text. :class:`Unreadable` past 5 percent of characters that no text has."""
    text = data.decode(errors="replace")
    if bad_share(text) > MAX_BAD:
        bad = len(_BAD.findall(text))
        raise Unreadable(f"{bad} of its {len(text)} characters do not decode, so it is no text")
    return text


# -- Office --------------------------------------------------------------------------------------------

# Without an opening bracket inside, so that a text of nothing else takes no longer than another.
_TAG: Final = re.compile(r"<[^<>]*>")
# The ampersand last, so that what was escaped twice is decoded once.
_ENTITIES: Final = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}


def office_text(data: bytes) -> str:
    """The text of an Office document: one line for each of its parts that has any.

    The parts are read as text and never as XML, so nothing in them is resolved. :class:`Unreadable` for what
    has no such parts, cannot be unpacked, or unpacks to too much.
    """
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            parts = list(_parts(archive))
    except Unreadable:
        raise
    except Exception:  # noqa: BLE001 - a broken archive raises whatever it likes
        raise Unreadable("it is no Office document that can be unpacked") from None
    if not parts:
        raise Unreadable("it has no readable part with text")
    return "\n".join(parts).strip()


def _parts(archive: ZipFile) -> Iterator[str]:
    left = MAX_BYTES
    for entry in archive.infolist():
        if not _has_text(entry):
            continue
        # What an entry says of its size is not trusted: no more is unpacked than may be.
        with archive.open(entry) as part:
            data = part.read(left + 1)
        left -= len(data)
        if left < 0:
            raise Unreadable(f"it unpacks to more than {MAX_BYTES:,} bytes")
        text = _TAG.sub(" ", data.decode(errors="replace"))
        for entity, character in _ENTITIES.items():
            text = text.replace(entity, character)
        if line := one_line(text):
            yield line


def _has_text(entry: ZipInfo) -> bool:
    name = entry.filename
    return (
        name.endswith(".xml")
        and name.startswith(("word/", "xl/", "ppt/"))
        and not name.endswith(("styles.xml", "settings.xml"))
        and "/_rels/" not in name
        and "theme" not in name
    )


# -- statements ----------------------------------------------------------------------------------------

_ITEM: Final = re.compile(r"(?:[-*+•]|\d+[.)])\s+")
_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(\[])")
_FEWEST: Final = 3


def statements_of(text: str) -> list[str]:
    """The statements of a text: the sentences of its paragraphs, and each of its items.

    Headings are dropped, and what has fewer than three words.
    """
    pieces = (piece.strip() for block in _blocks(text) for piece in _END.split(block))
    return [piece for piece in pieces if len(piece.split()) >= _FEWEST]


def _blocks(text: str) -> Iterator[str]:
    """The paragraphs, each on one line, and the items, each without its mark."""
    paragraph: list[str] = []
    for line in (*map(str.strip, re.split(r"\r?\n", text)), ""):
        item = _ITEM.match(line)
        if line and not line.startswith("#") and item is None:
            paragraph.append(line)
            continue
        if paragraph:
            yield " ".join(paragraph)
            paragraph = []
        if item is not None:
            yield line[item.end() :]
