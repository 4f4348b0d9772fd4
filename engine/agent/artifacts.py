"""Artifacts: the typed things a decision agent holds, how each is referred to, and what a model sees of it.

An artifact is frozen and has no identity of its own: a :class:`World` gives it its ref, and knows it by the
object it is. Order is the order of arrival everywhere, for what a model is shown depends on it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from engine.events import plain
from engine.jsontext import Json


@dataclass(frozen=True)
class Artifact:
    """A typed piece of data. ``alias`` is what its type is called in refs; levels are parted by colons."""

    alias: ClassVar[str] = ""


E_co = TypeVar("E_co", bound=Artifact, covariant=True)


@dataclass(frozen=True)
class ListArtifact(Artifact, Generic[E_co]):
    """Artifacts of one type, in order; ``instruction`` says what they were brought together for."""

    alias: ClassVar[str] = "list"

    iterand_type: type[E_co]
    iterands: tuple[E_co, ...]
    instruction: str | None = None

    @property
    def iterand_type_alias(self) -> str:
        """What the type of its elements is called."""
        return self.iterand_type.alias


@dataclass(frozen=True)
class LinkArtifact(Artifact):
    """An address, perhaps with a title, which is then all a model sees of it."""

    alias: ClassVar[str] = "link"

    url: str
    title: str | None = None


# A formatter is given what it is registered for, which no type of a mapping can say.
Formatters: TypeAlias = Mapping[type[Artifact], Callable[[Any], str]]
"""The words a model sees of each type of artifacts; the one of the nearest ancestor counts."""


# -- words ---------------------------------------------------------------------------------------------


def one_line(text: str) -> str:
    """A text on one line: what is blank in a row becomes one space."""
    return " ".join(text.split())


def cut(text: str, most: int) -> str:
    """A text on one line, with ``...`` in place of what is longer."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[:most]}..."


def formatter_of(kind: type[Artifact], formatters: Formatters) -> Callable[[Any], str] | None:
    """The formatter of a type or of its nearest ancestor that has one; None where there is none."""
    return next((formatters[each] for each in kind.__mro__ if each in formatters), None)


def members_of(artifact: Artifact) -> dict[str, Json]:
    """An artifact as a JSON object, in snake_case; what is None is left out."""
    values = {field.name: getattr(artifact, field.name) for field in fields(artifact)}
    return {name: plain(value) for name, value in values.items() if value is not None}


# -- refs ----------------------------------------------------------------------------------------------

_REF: Final = re.compile(r"«?(?:artifact:)?([^«»~\s]+)~([a-z0-9]+)»?")
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def canonical(ref: str | None) -> str | None:
    """A ref in its one form, ``«artifact:file~00000c»``, however much of that was left out."""
    found = ref and _REF.fullmatch(ref.strip())
    return f"«artifact:{found[1]}~{found[2]}»" if found else ref


def alias_of(ref: str) -> str | None:
    """The alias a ref tells; None where it is no ref."""
    found = _REF.fullmatch(ref.strip())
    return found[1] if found else None


def _ref(alias: str, number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return f"«artifact:{alias}~{digits:0>6}»"


# -- the world -----------------------------------------------------------------------------------------

_LONGEST: Final = 160


class World:
    """Every artifact a run has adopted, in the order of arrival, each under a ref that is counted, not drawn.

    Two runs that adopt the same have the same refs; so what a model is shown is the same, too.
    """

    def __init__(self, formatters: Formatters = MappingProxyType({})) -> None:
        self._formatters = formatters
        self._refs: dict[int, str] = {}
        self._known: dict[str, Artifact] = {}

    def __iter__(self) -> Iterator[Artifact]:
        return iter(tuple(self._known.values()))

    def adopt(self, artifact: Artifact) -> str:
        """Its ref. What is new is added, a list before what is in it; what is known changes nothing.

        ``TypeError`` names the class of one without an alias.
        """
        known = self._refs.get(id(artifact))
        if known is not None:
            return known
        if not artifact.alias:
            raise TypeError(f"'{type(artifact).__name__}' has no alias.")
        ref = _ref(artifact.alias, len(self._known) + 1)
        self._refs[id(artifact)] = ref
        self._known[ref] = artifact
        if isinstance(artifact, ListArtifact):
            for iterand in artifact.iterands:
                self.adopt(iterand)
        return ref

    def ref(self, artifact: Artifact) -> str:
        """The ref of an artifact that was adopted; ``KeyError`` for another one."""
        return self._refs[id(artifact)]

    def artifact(self, ref: str) -> Artifact:
        """The artifact a ref names, in whatever form; ``KeyError`` where there is none."""
        return self._known[canonical(ref) or ""]

    def words(self, artifact: Artifact) -> str:
        """What is said of an artifact, on one line."""
        formatter = formatter_of(type(artifact), self._formatters)
        if isinstance(artifact, ListArtifact):
            return f"a list of {len(artifact.iterands)} {artifact.iterand_type_alias}"
        if formatter is not None:
            return one_line(formatter(artifact))
        if isinstance(artifact, LinkArtifact) and artifact.title:
            return one_line(artifact.title)
        known = {"artifact_ref": self._refs.get(id(artifact)), **members_of(artifact)}
        return one_line(json.dumps(known, ensure_ascii=False, separators=(",", ":")))

    def digest(self, artifact: Artifact) -> str:
        """The line a model sees of an artifact that was adopted: ref, alias and words, cut where long."""
        return f"{self.ref(artifact)} ({artifact.alias}): {cut(self.words(artifact), _LONGEST)}"
