"""What every kind of action works with: where it may look, and the texts of its parameters filled in."""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path, PureWindowsPath
from typing import Final
from urllib.parse import quote

from engine.catalog import ActionContext, ActionResult, Catalog
from engine.data import DataItem
from engine.errors import cause_of
from engine.kinds import Parameters
from engine.predicates import text_of
from engine.run import Caller
from engine.tree import fill, placeholders

MAX_TEXT: Final = 1_000_000
"""Characters a text may have once it is filled in: one that takes itself in would double each time."""


class Refused(Exception):
    """An action does not do this, for this reason. It counts as a permanent failure of the action."""


@dataclass(frozen=True, slots=True)
class Place:
    """The project an action belongs to: its folder, whether the person trusts it, and its whole catalog."""

    folder: Path
    trusted: bool
    catalog: Callable[[], Catalog] = field(repr=False)

    def find(self, folder: str, path: str, shown: str) -> Path:
        """The file or folder at a path of a folder, every link followed; :class:`Refused` when it is outside.

        Messages have ``shown`` for the path, as that may hold what a person typed or a page said. Nothing
        says here whether it exists.
        """
        root = self.root(folder)
        try:
            if Path(path).is_absolute() or PureWindowsPath(path).anchor:
                raise Refused(f"'{shown}' must lead on from the folder '{folder}', not from the root.")
            found = (root / path).resolve()
        except (OSError, RuntimeError, ValueError):
            raise Refused(f"'{shown}' cannot be found.") from None
        if not found.is_relative_to(root):
            raise Refused(f"'{shown}' leads out of the folder '{folder}'.")
        return found

    def root(self, folder: str) -> Path:
        """The folder an action names, every link followed; :class:`Refused` where trust is missing for it."""
        try:
            home = self.folder.resolve()
            root = (home / folder).resolve()
        except (OSError, RuntimeError, ValueError):
            raise Refused(f"The folder '{folder}' cannot be found.") from None
        if not self.trusted and not root.is_relative_to(home):
            raise Refused(
                f"The folder '{folder}' is outside the project's own, and the project is not trusted."
            )
        return root


def read(path: Path, most: int, shown: str) -> bytes:
    """The bytes of a file with a path that was found; :class:`Refused` unless it is a small enough file."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise Refused(f"'{shown}' is no file.")
        with open(handle, "rb") as file:  # noqa: PTH123 - it is open already
            data = file.read(most + 1)
    except OSError as error:
        raise Refused(f"'{shown}' cannot be read: {cause_of(error)}.") from None
    if len(data) > most:
        raise Refused(f"'{shown}' is larger than {most:,} bytes.")
    return data


def decoded(data: bytes, shown: str) -> str:
    """The text of a file, without its byte order mark; :class:`Refused` when it is not UTF-8."""
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8").removeprefix("\ufeff")
    raise Refused(f"'{shown}' is not UTF-8 text.")


@dataclass(frozen=True, slots=True)
class Work:
    """One execution of an action: where it belongs, what its run knows and, in a run, who waits for it."""

    place: Place
    context: ActionContext
    caller: Caller | None = None

    @property
    def waiting(self) -> Caller:
        """Who waits for it; :class:`Refused` when it is done outside of a run."""
        if self.caller is None:
            raise Refused("This is done only as a part of a run.")
        return self.caller

    def text(self, template: str) -> str:
        """A text with what is known filled in; what is not known stays, as in the texts of a tree."""
        return self._filled(template, self._values(template))

    def location(self, template: str, escaped: Callable[[str], str] = str) -> str:
        """As :meth:`text`, for what must be meant as it stands: :class:`Refused` where a value is missing."""
        values = self._values(template)
        for name in placeholders(template):
            if name not in values:
                raise Refused(f"There is no value for '{name}'.")
        return self._filled(template, {name: escaped(value) for name, value in values.items()})

    def address(self, template: str) -> str:
        """As :meth:`location`, for a web address: a value is encoded, unless the address begins with it."""
        template = template.strip()
        begin = template.find("}}") + 2 if template.startswith("{{") else 0
        return f"{self.location(template[:begin])}{self.location(template[begin:], _encoded)}".strip()

    def _values(self, template: str) -> Mapping[str, str]:
        known: dict[str, str] = {}
        for name in placeholders(template):
            # What the person gave goes before what a file, a page or a model may have said.
            if name in self.context.parameters:
                known[name] = self.context.parameters[name]
            elif self.context.properties.get(name) is not None:
                known[name] = text_of(self.context.properties[name])
        return known

    @staticmethod
    def _filled(template: str, values: Mapping[str, str]) -> str:
        text = fill(template, values)
        if len(text) > MAX_TEXT:
            raise Refused(f"A text would be longer than {MAX_TEXT:,} characters.")
        return text


@singledispatch
async def act(parameters: Parameters, work: Work) -> ActionResult:  # noqa: ARG001 - those who register use it
    """Do what these parameters say; each kind has registered how. What goes wrong is raised."""
    raise TypeError(f"nobody knows how to do {type(parameters).__name__}")


def found(
    work: Work, pieces: Sequence[tuple[str, str]], source: str, into: tuple[str | None, str | None]
) -> ActionResult:
    """A result with what was found, by id: as data, as a property with all of it, or as both."""
    name, kind = into
    data = [DataItem(id, source, kind, text, action_id=work.context.node) for id, text in pieces if kind]
    properties = {name: "\n".join(text for _, text in pieces)} if name else {}
    return ActionResult(data=tuple(data), properties=properties)


def _encoded(value: str) -> str:
    return quote(value, safe="", errors="replace")
