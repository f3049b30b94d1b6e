"""Random inputs that mean something to a program, or those that a user gives.

A program is called with inputs from one range after the other until its output is finite and
depends on them (`measure.untuned`). Here is what the ranges are, and in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pytest_ansorbench.arrays import BadArchive, is_float, largest, opened_archive

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOAT_RANGES: Final = ((-1.0, 1.0), (0.1, 1.0), (1.0, 2.0))
"""Roots and logarithms want positive numbers, the inverse of a hyperbolic cosine those above 1."""
_WIDE: Final = (-128, 128)
"""Of whole numbers of more than 8 bits that are no index."""

Range = tuple[float, float]
GivenInputs = str | Path | Mapping[str, Range] | Callable[[int], Mapping[str, Any]]
"""What `inputs=` may be: an `.npz` file, ranges by name, or a function of a seed."""


class BadInputs(ValueError):
    """Inputs that do not fit a program; the message names them and shows good ones."""


@dataclass(frozen=True)
class Input:
    """What is known of one input of a program.

    Attributes:
        dtype: Data type, e.g. `float32`, `bfloat16`, `bool`.
        shape: Elements along each axis.
        name: As the model calls it; empty if it has no name.
        bound: One more than the largest index that it may be; None if it is no index.
    """

    dtype: str
    shape: tuple[int, ...]
    name: str = ""
    bound: int | None = None


@dataclass(frozen=True)
class Draw:
    """A way to draw the inputs of a program.

    Attributes:
        inputs: What is drawn.
        floats: Range of floating-point numbers.
        ones: Whether what may be a mask is all ones.
        given: Ranges by name, before all else.
    """

    inputs: Sequence[Input]
    floats: Range
    ones: bool = False
    given: Mapping[str, Range] = field(default_factory=dict)
    fixed: ClassVar[bool] = False

    def __call__(self, seed: int) -> tuple[NDArray[Any], ...]:
        """Arrays for a seed, the same in every process."""
        rng = np.random.default_rng(seed)
        return tuple(self._array(rng, one) for one in self.inputs)

    def __str__(self) -> str:
        """The ranges, e.g. `[-1, 1), masks of ones`."""
        low, high = self.floats
        named = "".join(f", {name} from [{a:g}, {b:g})" for name, (a, b) in self.given.items())
        return f"[{low:g}, {high:g})" + (", masks of ones" if self.ones else "") + named

    def _array(self, rng: np.random.Generator, one: Input) -> NDArray[Any]:
        kind = np.dtype(one.dtype)
        if one.name in self.given:
            low, high = self.given[one.name]
        elif is_float(kind):
            low, high = self.floats
        elif one.bound is not None:
            low, high = 0, min(one.bound, _limits(kind)[1])
        elif self.ones and (kind.kind == "b" or kind.itemsize > 1):
            return np.ones(one.shape, kind)
        else:
            low, high = _limits(kind)
            if kind.itemsize > 1:
                low, high = max(_WIDE[0], low), _WIDE[1]
        if is_float(kind):
            return rng.uniform(low, high, one.shape).astype(kind)
        return rng.integers(int(low), int(high), one.shape).astype(kind)


@dataclass(frozen=True)
class Given:
    """Inputs of a user's.

    Attributes:
        inputs: What is asked for.
        arrays: Makes an array for each name, of a seed.
        source: Where they come from.
        fixed: Whether they are the same for each seed.
    """

    inputs: Sequence[Input]
    arrays: Callable[[int], Mapping[str, Any]]
    source: str
    fixed: bool

    def __call__(self, seed: int) -> tuple[NDArray[Any], ...]:
        """Arrays for a seed.

        Raises:
            BadInputs: They are not what the program takes.
        """
        arrays = self.arrays(seed)
        _require_names(arrays, self.inputs, self.source)
        return tuple(self._fitting(one, np.asarray(arrays[one.name])) for one in self.inputs)

    def __str__(self) -> str:
        return self.source

    def _fitting(self, one: Input, array: NDArray[Any]) -> NDArray[Any]:
        if array.shape == one.shape and array.dtype == np.dtype(one.dtype):
            return array
        raise BadInputs(
            f"bad input {one.name!r} of {self.source}: it is {array.dtype}{[*array.shape]}; "
            f"expected {one.dtype}{[*one.shape]}"
        )


Ways = Iterable[Draw | Given]
"""Ways to come by inputs, in the order in which they are tried."""


def draws(inputs: Sequence[Input], given: GivenInputs | None = None) -> Iterator[Draw | Given]:
    """Ways to come by inputs, in the order in which they are tried.

    Args:
        inputs: What a program takes.
        given: What a user gives; all is drawn without.

    Raises:
        BadInputs: What is given does not fit.
    """
    if isinstance(given, str | Path):
        yield Given(inputs, _Archive(Path(given)), str(given), fixed=True)
        return
    if callable(given):
        name = getattr(given, "__qualname__", repr(given))
        yield Given(inputs, given, name, fixed=False)
        return
    ranges = given or {}
    _require_names({one.name: None for one in inputs} | dict(ranges), inputs, "inputs")
    for one in inputs:
        if one.name in ranges:
            _require_range(one, ranges[one.name])
    for ones in (False, True):
        for floats in FLOAT_RANGES:
            yield Draw(inputs, floats, ones, ranges)


@dataclass(frozen=True)
class _Archive:
    """The arrays of an `.npz` file, by name. Never unpickles."""

    path: Path

    def __call__(self, seed: int) -> Mapping[str, Any]:
        try:
            with opened_archive(self.path) as arrays:
                return dict(arrays)
        except BadArchive as error:
            raise BadInputs(
                f"bad inputs file {str(self.path)!r}: {error}; expected an archive of arrays, as "
                "numpy.savez writes it"
            ) from None


def _limits(kind: np.dtype[Any]) -> Range:
    """The least number of a type, and the largest, or one more than that of whole numbers."""
    if is_float(kind):
        most = largest(kind)
        return -most, most
    if kind.kind == "b":
        return 0, 2
    info = np.iinfo(kind)
    return int(info.min), int(info.max) + 1


def _require_range(one: Input, given: Any) -> None:
    """Check that a range is one of the input's type, with something in it."""
    kind = np.dtype(one.dtype)
    least, most = _limits(kind)
    try:
        low, high = given
        fits = least <= low <= high <= most and (is_float(kind) or int(low) < int(high))
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise BadInputs(
            f"bad range {given!r} of input {one.name!r}: expected two numbers, from {least:g} to "
            f"{most:g} as {one.dtype} has them, the lower one first, e.g. (0, 1)"
        )


def _require_names(names: Iterable[str], inputs: Sequence[Input], source: str) -> None:
    """Check that there is an array for each input, and no other."""
    known, have = [one.name for one in inputs], set(names)
    wrong = sorted(have - set(known)) or [name for name in known if name not in have]
    if wrong:
        kind = "unknown" if wrong[0] in have else "missing"
        raise BadInputs(
            f"{kind} input {wrong[0]!r} in {source}: expected {', '.join(map(repr, known))}"
        )
