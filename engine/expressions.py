"""Expressions: one line over what is known, written like Python and worked out here, never by Python itself.

Only what the tables below list can be in an expression: no call, no attribute, no name that was not handed
over. Length, depth and the size of numbers are bounded, so working one out always takes a moment only.

What a run knows is mostly text, so a text meets a number, or a truth value, as what it says: ``"120" > 100``
and ``"true" == true`` hold.
"""

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from engine.counting import counted
from engine.errors import TreewrightError

Value: TypeAlias = bool | int | float | str | Sequence[object] | Mapping[str, object] | None
"""What an expression can come to."""

MAX_LENGTH: Final = 1000
MAX_DEPTH: Final = 50
LARGEST: Final = 10**100
"""The largest number, above and below zero."""


class ExpressionError(TreewrightError):
    """A text is no expression: the reason in plain words, and the column (from 1) it is about."""

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(f"Column {column}: {reason}")
        self.reason, self.column = reason, column


@dataclass(frozen=True, slots=True)
class Undefined:
    """Why an expression comes to nothing: the reason in plain words, and the column (from 1) it is about.

    It counts as false.
    """

    reason: str = field(repr=False)
    column: int

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Expression:
    """Comparisons, ``in``, ``and``, ``or``, ``not`` and arithmetic over names and literals.

    ``properties["order-id"]`` looks up what has no plain name. ``true``, ``false`` and ``null`` may be
    written as in JSON.
    """

    text: str
    _root: ast.expr = field(repr=False, compare=False)
    _indent: int = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> "Expression":
        """Read an expression; ``ExpressionError`` says where it is none, and why."""
        if len(text) > MAX_LENGTH:
            raise ExpressionError(f"An expression has at most {MAX_LENGTH} characters.", MAX_LENGTH + 1)
        if control := _CONTROL.search(text):
            raise ExpressionError("An expression is a single line.", control.start() + 1)
        if not text.strip():
            raise ExpressionError("There is no expression here.", 1)
        indent = len(text) - len(text.lstrip())
        try:
            with warnings.catch_warnings():
                # What Python merely frowns upon, an escape it does not know for instance, is refused.
                warnings.simplefilter("error")
                root = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            column = indent + error.offset if error.offset else len(text) + 1
            raise ExpressionError(_why_unreadable(text, error.msg, column), column) from None
        except (ValueError, RecursionError, MemoryError):
            raise ExpressionError("This cannot be read.", 1) from None
        made = cls(text, root, indent)
        try:
            _check(root)
        except _Fault as fault:
            raise ExpressionError(fault.reason, made._column(fault.node)) from None
        return made

    def evaluate(self, names: Mapping[str, object]) -> Value | Undefined:
        """What it comes to with these names; a name that is missing, for instance, makes it undefined."""
        try:
            return _value(self._root, names)
        except _Fault as fault:
            return Undefined(fault.reason, self._column(fault.node))

    def holds(self, names: Mapping[str, object]) -> bool | Undefined:
        """Whether what it comes to counts as true: all but null, zero, "false", and what is empty."""
        value = self.evaluate(names)
        return value if isinstance(value, Undefined) else _is_true(value)

    def _column(self, node: ast.expr) -> int:
        before = self.text.strip().encode()[: node.col_offset]
        return self._indent + len(before.decode()) + 1


class _Fault(Exception):
    """Something is wrong with this part of an expression."""

    def __init__(self, reason: str, node: ast.expr) -> None:
        super().__init__(reason)
        self.reason, self.node = reason, node


# ------------------------------------------------------------------------------------------ reading

_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_MISSPELLED: Final = {
    "=": "Two values are compared with ==.",
    "&": "Write 'and' between two conditions.",
    "|": "Write 'or' between two conditions.",
    "!": "Write 'not' before a condition.",
}
_UNREADABLE: Final = {
    "unterminated string": "This text has no closing quotation mark.",
    "invalid escape": "A backslash in a text is written twice.",
}


def _why_unreadable(text: str, message: str, column: int) -> str:
    if column > len(text):
        return "Something is missing at the end."
    if "was never closed" in message:
        return "This bracket has no closing one."
    known = [reason for start, reason in _UNREADABLE.items() if message.startswith(start)]
    return known[0] if known else _MISSPELLED.get(text[column - 1], "This cannot be read.")


_REFUSED: Final[Mapping[type[ast.AST], str]] = {
    ast.Call: "Functions cannot be called.",
    ast.Attribute: 'A dot leads nowhere; write properties["name"] to look something up.',
    ast.BitAnd: _MISSPELLED["&"],
    ast.BitOr: _MISSPELLED["|"],
    ast.Invert: _MISSPELLED["!"],
    ast.JoinedStr: "A text cannot be put together.",
    ast.Slice: "One item is looked up at a time.",
}


def _check(node: ast.expr, depth: int = 1) -> None:
    """Hold a part of an expression, and all inside it, against the tables."""
    if depth > MAX_DEPTH:
        raise _Fault("The expression is nested too deeply.", node)
    for part in (node, *getattr(node, "ops", ()), *filter(None, [getattr(node, "op", None)])):
        if type(part) not in _ALLOWED:
            raise _Fault(_REFUSED.get(type(part), "An expression cannot hold this."), node)
    if isinstance(node, ast.Constant):
        _check_literal(node)
    for inside in ast.iter_child_nodes(node):
        if isinstance(inside, ast.expr):
            _check(inside, depth + 1)


def _check_literal(node: ast.Constant) -> None:
    if type(node.value) not in _SCALARS:
        raise _Fault("This is no text, number or truth value.", node)
    if _is_number(node.value):
        _number(node.value, node)


# ------------------------------------------------------------------------------------------ working out

_Names: TypeAlias = Mapping[str, object]

_SCALARS: Final = frozenset({type(None), bool, int, float, str})
_WORDS: Final[Mapping[str, Value]] = {"true": True, "false": False, "null": None}
_SHOWN: Final = 40


def _value(node: ast.expr, names: _Names) -> Value:
    return _VALUES[type(node)](node, names)


def _name(node: ast.Name, names: _Names) -> Value:
    if node.id in _WORDS:
        return _WORDS[node.id]
    if node.id not in names:
        raise _Fault(f"There is no '{node.id:.{_SHOWN}}' here.", node)
    return _usable(names[node.id], node)


def _looked_up(node: ast.Subscript, names: _Names) -> Value:
    holder, key = _value(node.value, names), _value(node.slice, names)
    if isinstance(holder, Mapping) and isinstance(key, str):
        if key not in holder:
            raise _Fault(f"There is no '{key:.{_SHOWN}}' in it.", node.slice)
        return _usable(holder[key], node)
    if isinstance(holder, list | tuple) and type(key) is int:
        if not -len(holder) <= key < len(holder):
            raise _Fault(f"It has {counted(len(holder), 'item')}, and none at {key}.", node.slice)
        return _usable(holder[key], node)
    raise _Fault(f"{_kind(key)} cannot be looked up in {_kind(holder).lower()}.", node.slice)


def _usable(value: object, node: ast.expr) -> Value:
    # By its type: asking the object itself for its class would run code of its own.
    if type(value) in _SCALARS or issubclass(type(value), list | tuple | Mapping):
        return cast("Value", value)
    raise _Fault(f"A value of kind '{type(value).__name__:.{_SHOWN}}' cannot be used.", node)


def _logic(node: ast.BoolOp, names: _Names) -> Value:
    ends_at = isinstance(node.op, ast.Or)
    return ends_at if any(_is_true(_value(v, names)) is ends_at for v in node.values) else not ends_at


def _prefixed(node: ast.UnaryOp, names: _Names) -> Value:
    value = _value(node.operand, names)
    if isinstance(node.op, ast.Not):
        return not _is_true(value)
    number = _number(value, node.operand)
    return -number if isinstance(node.op, ast.USub) else number


def _computed(node: ast.BinOp, names: _Names) -> Value:
    left = _number(_value(node.left, names), node.left)
    right = _number(_value(node.right, names), node.right)
    try:
        result = _ARITHMETIC[type(node.op)](left, right)
    except ZeroDivisionError:
        raise _Fault("Nothing can be divided by zero.", node.right) from None
    except OverflowError:
        raise _Fault(_TOO_LARGE, node) from None
    return _number(result, node)


def _power(base: float, exponent: float) -> float | complex:
    # Powers of whole numbers are the only ones that could become long before anybody sees how long.
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if base.bit_length() * exponent > 2 * LARGEST.bit_length() and abs(base) > 1:
            raise OverflowError
        return int(base**exponent)
    power: float | complex = base**exponent
    return power


def _compared(node: ast.Compare, names: _Names) -> Value:
    left, at = _value(node.left, names), node.left
    for op, following in zip(node.ops, node.comparators, strict=True):
        right = _value(following, names)
        try:
            holds = _COMPARISONS[type(op)](left, right)
        except TypeError as error:
            raise _Fault(str(error), at) from None
        if not holds:
            return False
        left, at = right, following
    return True


def _listed(node: ast.List | ast.Tuple, names: _Names) -> Value:
    return [_value(item, names) for item in node.elts]


_VALUES: Final[Mapping[type[ast.AST], Callable[[Any, _Names], Value]]] = {
    ast.Constant: lambda node, _: node.value,
    ast.Name: _name,
    ast.Subscript: _looked_up,
    ast.BoolOp: _logic,
    ast.UnaryOp: _prefixed,
    ast.BinOp: _computed,
    ast.Compare: _compared,
    ast.List: _listed,
    ast.Tuple: _listed,
}


# ------------------------------------------------------------------------------------------ values


def _is_true(value: Value) -> bool:
    return value.strip().lower() not in ("", "false") if isinstance(value, str) else bool(value)


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)
_LONGEST_NUMBER: Final = 120
_TOO_LARGE: Final = "The number is too large."


def _said_number(value: object) -> int | float | None:
    """The number a value is, or as a text says; None for anything else."""
    if _is_number(value):
        return cast("float", value)
    text = value.strip() if isinstance(value, str) else ""
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    return None if match is None else float(text) if match[1] or match[2] else int(text)


def _number(value: object, node: ast.expr) -> int | float:
    number = _said_number(value)
    if number is None:
        raise _Fault(f"{_kind(value)} is no number.", node)
    if not abs(number) <= LARGEST:
        raise _Fault(_TOO_LARGE, node)
    return number


_KINDS: Final[Mapping[type, str]] = {
    type(None): "Null",
    bool: "A truth value",
    int: "A number",
    float: "A number",
    str: "A text",
    list: "A list",
    tuple: "A list",
}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "An object" if isinstance(value, Mapping) else "This")


def _equal(left: Value, right: Value) -> bool:
    for text, other in ((left, right), (right, left)):
        if isinstance(text, str) and isinstance(other, bool):
            return text.strip().lower() == str(other).lower()
        if isinstance(text, str) and _is_number(other):
            return _said_number(text) == other
    for value in (left, right):
        if type(value) not in _SCALARS:
            raise TypeError(f"{_kind(value)} cannot be compared; look something up in it.")
    return isinstance(left, bool) is isinstance(right, bool) and left == right


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    def ordered(left: Value, right: Value) -> bool:
        numbers = _said_number(left), _said_number(right)
        if None not in numbers:
            return compare(*numbers)
        if isinstance(left, str) and isinstance(right, str):
            return compare(left, right)
        raise TypeError(f"{_kind(left)} and {_kind(right).lower()} have no order.")

    return ordered


def _inside(item: Value, holder: Value) -> bool:
    if type(item) in _SCALARS and isinstance(holder, list | tuple):
        return any(type(other) in _SCALARS and _equal(item, cast("Value", other)) for other in holder)
    if isinstance(item, str) and isinstance(holder, str | Mapping):
        return item in holder
    raise TypeError(f"{_kind(item)} cannot be in {_kind(holder).lower()}.")


_ARITHMETIC: Final[Mapping[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARISONS: Final[Mapping[type[ast.AST], Callable[[Value, Value], bool]]] = {
    ast.Eq: _equal,
    ast.NotEq: lambda left, right: not _equal(left, right),
    ast.Is: _equal,
    ast.IsNot: lambda left, right: not _equal(left, right),
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
    ast.In: _inside,
    ast.NotIn: lambda left, right: not _inside(left, right),
}
_ALLOWED: Final = frozenset(
    {*_VALUES, *_ARITHMETIC, *_COMPARISONS, ast.And, ast.Or, ast.Not, ast.UAdd, ast.USub}
)
