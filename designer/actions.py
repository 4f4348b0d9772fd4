"""Commands: a decorated method becomes an action with an id, a text, keys, and a reason when disabled.

A command is written in one place, its method; whoever owns the method only has to be listed as an owner.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QToolBar, QWidget

_Method = TypeVar("_Method", bound=Callable[..., object])

_MARK: Final = "__command__"


@dataclass(frozen=True, slots=True)
class Command:
    """What is known of a command before there is a window.

    ``when`` is given the owner and answers None while the command may be run, else the reason in plain words.
    ``scope`` names the widget the keys belong to; without one they work in the whole window.
    """

    id: str
    text: str
    keys: tuple[str, ...] = ()
    when: Callable[[Any], str | None] | None = None
    tip: str = ""
    icon: str | None = None
    scope: str | None = None
    checkable: bool = False


def command(
    id: str,
    text: str,
    keys: Iterable[str] = (),
    when: Callable[[Any], str | None] | None = None,
    tip: str = "",
    *,
    icon: str | None = None,
    scope: str | None = None,
    checkable: bool = False,
) -> Callable[[_Method], _Method]:
    """Make a method a command. A checkable one gets the new state as its argument.

    Keys for editing (Delete, Ctrl+C, single letters) need a ``scope``: with the whole window as theirs they
    would fire while a list or a read-only text has the focus.
    """

    def mark(method: _Method) -> _Method:
        setattr(method, _MARK, Command(id, text, tuple(keys), when, tip, icon, scope, checkable))
        return method

    return mark


def commands_of(owner: type) -> Mapping[str, tuple[Command, str]]:
    """The commands of a class with their methods' names, by id, in the order they are written."""
    found: dict[str, tuple[Command, str]] = {}
    for kind in reversed(owner.__mro__):
        for name, member in vars(kind).items():
            made = getattr(member, _MARK, None)
            if isinstance(made, Command):
                found[made.id] = (made, name)
    return found


def table(*owners: type) -> list[tuple[str, str, str]]:
    """Id, title and keys of every command; needs no application."""
    return [
        (made.id, made.text.replace("&", "").removesuffix("…"), ", ".join(made.keys))
        for owner in owners
        for made, _ in commands_of(owner).values()
    ]


@dataclass(frozen=True, slots=True)
class _Bound:
    """A command of one owner, with the action it became."""

    made: Command
    owner: object
    action: QAction

    def reason(self) -> str | None:
        return self.made.when(self.owner) if self.made.when else None


class Commands:
    """The actions of some owners, in one widget.

    Each owner's decorated methods become actions, in the owners' order. ``scopes`` are the widgets that
    commands name as their scope. ``refused`` hears the reason when a command is asked for that may not be
    run. Two commands of one id are a ``ValueError``.
    """

    def __init__(
        self,
        parent: QWidget,
        owners: Iterable[object],
        scopes: Mapping[str, QWidget] | None = None,
        refused: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._parent, self._scopes, self._refused = parent, scopes or {}, refused
        self._bound: dict[str, _Bound] = {}
        for owner in owners:
            for id, (made, name) in commands_of(type(owner)).items():
                if id in self._bound:
                    raise ValueError(f"two commands are called {id}")
                self._bound[id] = self._bind(made, owner, getattr(owner, name))
        self.refresh()

    def __getitem__(self, id: str) -> QAction:
        """The action of a command; ``KeyError`` for an unknown id."""
        return self._bound[id].action

    def __iter__(self) -> Iterator[tuple[Command, QAction]]:
        """Every command with its action, in order."""
        return ((bound.made, bound.action) for bound in self._bound.values())

    def reason(self, id: str) -> str | None:
        """Why a command may not be run now; None when it may be. ``KeyError`` for an unknown id."""
        return self._bound[id].reason()

    def run(self, id: str) -> bool:
        """Run a command; False, and the reason told, when it may not be. ``KeyError`` for an unknown id."""
        bound = self._bound[id]
        reason = _refresh(bound)
        if reason is None:
            bound.action.trigger()
        else:
            self._refused(reason)
        return reason is None

    def refresh(self) -> None:
        """Enable what may be run now, and say of everything else why not."""
        for bound in self._bound.values():
            _refresh(bound)

    def fill(self, menu: QMenu | QToolBar, ids: Iterable[str]) -> None:
        """Add commands to a menu or toolbar in this order; an empty id is a separator."""
        for id in ids:
            if id:
                menu.addAction(self[id])
            else:
                menu.addSeparator()

    def _bind(self, made: Command, owner: object, method: Callable[..., object]) -> _Bound:
        action = QAction(made.text, self._parent)
        action.setObjectName(made.id)
        action.setCheckable(made.checkable)
        action.setShortcuts([QKeySequence(key) for key in made.keys])
        home = self._parent if made.scope is None else self._scopes[made.scope]
        if made.scope is not None:
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        home.addAction(action)
        bound = _Bound(made, owner, action)

        def triggered(checked: bool) -> None:
            # What was true when the action was enabled need not be true any more.
            reason = bound.reason()
            if reason is not None:
                self._refused(reason)
            elif made.checkable:
                method(checked)
            else:
                method()

        action.triggered.connect(triggered)
        return bound


def _refresh(bound: _Bound) -> str | None:
    """Enable the action, or disable it and say why not; the reason."""
    made, action, reason = bound.made, bound.action, bound.reason()
    action.setEnabled(reason is None)
    keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    words = reason or made.tip or made.text.replace("&", "").removesuffix("…")
    action.setToolTip(f"{words} ({keys})" if keys and reason is None else words)
    return reason
