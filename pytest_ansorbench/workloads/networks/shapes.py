"""Dimensions that a model leaves open: what they are called, and which numbers they stand for."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pytest_ansorbench.workloads.networks.failures import ImportFailed

Shapes = Mapping[str, int | Sequence[int]]
"""What users give: the shape of an input by its name, or the value of a symbol by its own."""

_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "Add": operator.add,
    "Mul": operator.mul,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Max": max,
    "Min": min,
}
_SIGNS: Final = {"Add": " + ", "Mul": "*", "FloorDiv": "//", "Mod": "%"}
_LONGEST: Final = 20_000
"""Characters of an expression; deeper ones than fit are none that a shape has."""


class OpenShape(ImportFailed):
    """A shape that neither the model nor the user tells.

    Attributes:
        problem: Whose it is.
        ways: Examples of what would tell it.
    """

    def __init__(self, problem: str, ways: Sequence[Shapes]) -> None:
        self.problem, self.ways = problem, tuple(ways)
        super().__init__(f"{problem}; give it, e.g. {' or '.join(f'shapes={way}' for way in ways)}")


class BadExpression(ValueError):
    """A text that is no arithmetic of whole numbers and names."""


@dataclass(frozen=True)
class Dimension:
    """A dimension that is not a number yet.

    Attributes:
        text: How it is shown, e.g. `2*s0 + 1`.
        symbols: The names in it, in order.
        compute: What it is once these are numbers; `value` refuses what cannot be computed.
    """

    text: str
    symbols: tuple[str, ...]
    compute: Callable[[Mapping[str, int]], int]

    @classmethod
    def named(cls, name: str) -> Dimension:
        """One that is nothing but a name, whatever is in it."""
        return cls(name, (name,), operator.itemgetter(name))

    @classmethod
    def parse(cls, text: str) -> Dimension:
        """Read arithmetic as people write it, `2*s0 + 1`, or as SymPy does, `Add(Integer(1), ...)`.

        The text becomes a syntax tree, of which integers, names, their arithmetic and the names of
        SymPy's functions for it are taken. None of it is looked up or called.

        Raises:
            BadExpression: There is anything else in it.
        """
        if len(text) > _LONGEST:
            raise BadExpression(f"an expression of {len(text)} characters")
        try:
            return _read(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BadExpression(text) from error

    def value(self, symbols: Mapping[str, int]) -> int:
        """The number that it is, given what its symbols are.

        Raises:
            BadExpression: There is none.
        """
        try:
            return self.compute(symbols)
        except (ZeroDivisionError, RecursionError, KeyError) as error:
            raise BadExpression(self.text) from error

    def __str__(self) -> str:
        return self.text


Extent = int | Dimension | None
"""A number, one that depends on symbols, or one that nothing is known of."""


@dataclass(frozen=True)
class Fixed:
    """What symbols and inputs of a model are, all in numbers.

    Attributes:
        symbols: The symbols.
        shapes: The inputs' shapes.
        changed: Where they are other numbers than the model's, a phrase each.
    """

    symbols: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    changed: tuple[str, ...]


def fix(
    subject: str,
    inputs: Mapping[str, Sequence[Extent] | None],
    given: Shapes,
    *,
    may_change: bool = False,
) -> Fixed:
    """Give every dimension of the inputs its number.

    Args:
        subject: How refusals begin, e.g. `bad model file 'model.onnx'`.
        inputs: Shape of each input as the model has it; None if it may have any rank.
        given: What the user gave.
        may_change: Whether a given extent may be another than the number that the model has.

    Raises:
        ImportFailed: A name is neither an input nor a symbol, a shape contradicts the model's, or
            something is still open.
    """
    binding = _Binding(subject, inputs, may_change)
    for name, value in given.items():
        binding.take(name, value)
    try:
        return binding.result()
    except BadExpression as error:
        raise ImportFailed(f"{subject}: bad shapes: {error} is no number then") from None


class _Binding:
    def __init__(
        self, subject: str, inputs: Mapping[str, Sequence[Extent] | None], may_change: bool
    ) -> None:
        self._subject, self._inputs, self._may_change = subject, inputs, may_change
        self._dimensions = [
            extent
            for shape in inputs.values()
            for extent in shape or ()
            if isinstance(extent, Dimension)
        ]
        self._names = dict.fromkeys(name for one in self._dimensions for name in one.symbols)
        self._symbols: dict[str, int] = {}
        self._given: dict[str, tuple[int, ...]] = {}
        self._changed: list[str] = []

    def take(self, name: str, value: int | Sequence[int]) -> None:
        """Note what was given under a name."""
        if name not in self._inputs and name not in self._names:
            symbols = f" or a symbol, {', '.join(self._names)}" if self._names else ""
            raise self._refusal(
                f"bad name {name!r} in shapes: expected an input, "
                f"{', '.join(self._inputs) or 'of which it has none'}{symbols}"
            )
        if not isinstance(value, Sequence) and name in self._names:
            self._bind(name, _whole(self._subject, name, value))
            return
        if name not in self._inputs:
            raise self._refusal(f"bad {name} {value!r}: expected a positive int, e.g. {name}=1")
        numbers = tuple(value) if isinstance(value, Sequence) else (value,)
        self._given[name] = tuple(_whole(self._subject, name, number) for number in numbers)

    def result(self) -> Fixed:
        """All in numbers."""
        for name, shape in self._given.items():
            self._match(name, shape)
        shapes = {name: self._shape(name) for name in self._inputs}
        return Fixed(self._symbols, shapes, tuple(self._changed))

    def _match(self, name: str, shape: tuple[int, ...]) -> None:
        """Learn symbols from the shape of an input."""
        wanted = self._inputs[name]
        if wanted is None:
            return
        if len(wanted) != len(shape):
            raise self._refusal(self._contradiction(name, shape))
        for extent, number in zip(wanted, shape, strict=True):
            if isinstance(extent, Dimension):
                free = [symbol for symbol in extent.symbols if symbol not in self._symbols]
                if len(free) == 1:
                    self._bind(free[0], _solved(extent, free[0], self._symbols, number))
        if any(isinstance(e, int) and e != n for e, n in zip(wanted, shape, strict=True)):
            if not self._may_change:
                raise self._refusal(self._contradiction(name, shape))
            self._changed.append(self._contradiction(name, shape))

    def _shape(self, name: str) -> tuple[int, ...]:
        """The shape of an input, in numbers."""
        wanted, given = self._inputs[name], self._given.get(name)
        if wanted is None:
            if given is None:
                raise self._missing(name)
            return given
        shape = []
        for place, extent in enumerate(wanted):
            if isinstance(extent, Dimension) and self._symbols.keys() >= {*extent.symbols}:
                number = extent.value(self._symbols)
                shape.append(number)
                if number < 0 or (given is not None and given[place] != number):
                    raise self._refusal(self._contradiction(name, given or tuple(shape)))
            elif given is not None:
                shape.append(given[place])
            elif isinstance(extent, int):
                shape.append(extent)
            else:
                raise self._missing(name)
        return tuple(shape)

    def _bind(self, symbol: str, number: int) -> None:
        if self._symbols.setdefault(symbol, number) != number:
            raise self._refusal(
                f"bad shapes: {symbol} would be both {self._symbols[symbol]} and {number}"
            )

    def _contradiction(self, name: str, shape: tuple[int, ...]) -> str:
        wanted = self._inputs[name]
        symbols = {s for one in wanted or () if isinstance(one, Dimension) for s in one.symbols}
        known = "".join(f", {s} = {self._symbols[s]}" for s in symbols & self._symbols.keys())
        return (
            f"bad shape {shown(shape)} of its input {name!r}: the model has {shown(wanted)}{known}"
        )

    def _missing(self, name: str) -> OpenShape:
        wanted = self._inputs[name]
        extents = (None,) if wanted is None else wanted
        ways: list[Shapes] = [{name: tuple(e if isinstance(e, int) else 1 for e in extents)}]
        if None not in extents:
            symbols = [s for e in extents if isinstance(e, Dimension) for s in e.symbols]
            ways.append({s: 1 for s in symbols if s not in self._symbols})
        problem = f"the shape of its input {name!r}, {shown(wanted)}, is open"
        return OpenShape(f"{self._subject}: {problem}", ways)

    def _refusal(self, reason: str) -> ImportFailed:
        return ImportFailed(f"{self._subject}: {reason}")


def shown(shape: Sequence[Extent] | None) -> str:
    """A shape as a tuple is written; `?` for what nothing is known of."""
    if shape is None:
        return "of any rank"
    words = ["?" if extent is None else str(extent) for extent in shape]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def _whole(subject: str, name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise ImportFailed(
        f"{subject}: bad {name} {value!r} in shapes: expected a positive int, e.g. 1"
    )


def _solved(extent: Dimension, symbol: str, known: Mapping[str, int], number: int) -> int:
    """The value of a symbol with which an extent that grows with it is a number, if there is one.

    What does not fit is found when the extent is worked out.
    """
    at_0, at_1 = (extent.value({**known, symbol: value}) for value in (0, 1))
    return (number - at_0) // (at_1 - at_0) if at_1 != at_0 else 0


def _read(node: ast.expr) -> Dimension:
    """The part of a syntax tree that is arithmetic."""
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return Dimension(str(number), (), lambda symbols: number)
        case ast.Name(id=name):
            return Dimension.named(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _read(operand)
            return Dimension(f"-{inner}", inner.symbols, lambda symbols: -inner.compute(symbols))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _combined(ast.unparse(node), _OPERATIONS[type(op)], [_read(left), _read(right)])
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))], keywords=k):
            if name.isidentifier() and all(isinstance(one.value, ast.Constant) for one in k):
                return Dimension.named(name)
        case ast.Call(func=ast.Name(id="Integer"), args=[argument], keywords=[]):
            inner = _read(argument)
            if not inner.symbols:
                return inner
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]):
            if name in _FUNCTIONS:
                parts = [_read(one) for one in args]
                return _combined(_written(name, parts), _FUNCTIONS[name], parts)
            if name == "Pow" and len(args) == 2:
                base, exponent = map(_read, args)
                if not exponent.symbols and 1 <= exponent.value({}) <= 8:
                    power = exponent.value({})
                    return _combined(f"{base}**{power}", operator.mul, [base] * power)
    raise BadExpression(ast.unparse(node))


def _combined(
    text: str, function: Callable[[int, int], int], parts: Sequence[Dimension]
) -> Dimension:
    symbols = tuple(dict.fromkeys(symbol for part in parts for symbol in part.symbols))
    return Dimension(
        text,
        symbols,
        lambda known: reduce(function, [part.compute(known) for part in parts]),
    )


def _written(name: str, parts: Sequence[Dimension]) -> str:
    """A function of SymPy's as people write it."""
    if name not in _SIGNS:
        return f"{name}({', '.join(map(str, parts))})"
    tight = name != "Add"
    return _SIGNS[name].join(f"({one})" if tight and " " in one.text else str(one) for one in parts)
