"""Frozen values that are quick to make: a run makes about ten for each node it visits."""

from dataclasses import MISSING, fields
from typing import TypeVar

_Kind = TypeVar("_Kind")


def quick_to_make(kind: type[_Kind]) -> type[_Kind]:
    """Give a frozen dataclass with slots an ``__init__`` that takes a quarter of the time.

    The one it has sets each field through ``object.__setattr__``, past its own guard. With this one a value
    is of an open kind while its fields are set, when nobody has it yet. There must be no ``__post_init__``.
    """
    unguarded = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    names: dict[str, object] = {
        "_kind": kind,
        "_open": type(kind.__name__, (kind,), {"__slots__": (), **unguarded}),
        "_slow": kind.__init__,
        "_set": object.__setattr__,
    }
    taken, passed, made, kept = [], [], [], []
    # As dataclasses order them: what goes by name only comes last.
    for field in sorted(fields(kind), key=lambda field: field.kw_only is True):  # type: ignore[arg-type]
        name, default = field.name, f"_default_{field.name}"
        if field.kw_only and "*" not in taken:
            taken.append("*")
        if field.default is not MISSING:
            names[default] = field.default
        elif field.default_factory is not MISSING:
            names[default] = field.default_factory
            made.append(f"    if {name} is {default}: {name} = {default}()")
        taken.append(f"{name}={default}" if default in names else name)
        passed.append(f"{name}={name}")
        kept.append(f"    self.{name} = {name}")
    text = [
        f"def __init__(self, {', '.join(taken)}):",
        *made,
        # One of a kind derived from this one is not of a shape with the open kind.
        f"    if self.__class__ is not _kind: return _slow(self, {', '.join(passed)})",
        "    _set(self, '__class__', _open)",
        *kept,
        "    self.__class__ = _kind",
    ]
    exec("\n".join(text), names)  # noqa: S102 - as dataclasses make theirs: of the names of fields alone
    setattr(kind, "__init__", names["__init__"])  # noqa: B010 - the type of a class has a fixed one
    return kind
