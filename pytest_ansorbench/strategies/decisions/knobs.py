"""The decisions that a sketch leaves open, each with a list of choices."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.errors import StrategyError

if TYPE_CHECKING:
    from tvm.s_tir import Trace
    from tvm.s_tir.schedule import Instruction

# The kind of instruction that decides where a block is computed.
SAMPLES_LOCATION: Final = "SampleComputeLocation"
# The location of a block that is computed at no loop.
ROOT: Final = -1
# The location of a block that is computed where it is read.
INLINED: Final = -2
# Choices whose neighbours a knob remembers.
_REMEMBERED: Final = 256
# Sizes of a loop's tiles, outermost first; their product is its extent.
Tiles = tuple[int, ...]


class Knob(ABC):
    """One open decision. Choices go by their index.

    Attributes:
        columns: Names of its features.
    """

    columns: Sequence[str]

    def __init__(self, choices: Sequence[Any]) -> None:
        self._choices = tuple(choices)

    @property
    def size(self) -> int:
        """Number of choices, at least 1."""
        return len(self._choices)

    @abstractmethod
    def table(self) -> NDArray[np.float32]:
        """Features of every choice, shape (size, columns)."""

    def decision(self, choice: int) -> Any:
        """A choice as TVM takes it: an integer, or a list of them."""
        return self._choices[choice]

    def choice_of(self, decision: Any) -> int | None:
        """The index of a decision of TVM's; None if it is not among the choices."""
        return self._index.get(int(decision))

    @abstractmethod
    def near(self, choice: int) -> Sequence[int]:
        """Choices that differ the least from one; none if there is only that."""

    def some(self, choices: Sequence[int]) -> Knob:
        """The same decision with these choices alone, in their order."""
        return type(self)([self._choices[choice] for choice in choices])

    @cached_property
    def _index(self) -> dict[Any, int]:
        return {choice: index for index, choice in enumerate(self._choices)}


class TileKnob(Knob):
    """Sizes of a loop's tiles: `factorizations` of its extent (`SamplePerfectTile`).

    Features are logarithms of the sizes to base 2, and of their products from the inside out.
    """

    def __init__(self, choices: Sequence[Tiles]) -> None:
        super().__init__(choices)
        self.parts = len(choices[0])
        # A size and a product for each tile; the product of all is the extent.
        sizes = [f"size{level}" for level in range(self.parts)]
        self.columns = [*sizes, *(f"inner{level}" for level in range(1, self.parts - 1))]
        self._near: dict[int, tuple[int, ...]] = {}

    def table(self) -> NDArray[np.float32]:
        sizes = np.log2(np.array(self._choices, dtype=np.float64).reshape(self.size, self.parts))
        inner = np.cumsum(sizes[:, ::-1], axis=1)[:, ::-1][:, 1:-1]
        return np.concatenate([sizes, inner], axis=1).astype(np.float32)

    def decision(self, choice: int) -> list[int]:
        return list(self._choices[choice])

    def choice_of(self, decision: Any) -> int | None:
        return self._index.get(tuple(int(size) for size in decision))

    def near(self, choice: int) -> Sequence[int]:
        """Tilings that differ by one prime factor, which moved from one tile to another."""
        if choice not in self._near:
            if len(self._near) >= _REMEMBERED:
                self._near.clear()
            tilings = moves(self._choices[choice])
            self._near[choice] = tuple(
                self._index[tiles] for tiles in tilings if tiles in self._index
            )
        return self._near[choice]


class ValueKnob(Knob):
    """One of several values, such as how far to unroll (`SampleCategorical`).

    Its feature is the value's logarithm.
    """

    columns = ("value",)

    def __init__(self, values: Sequence[float], decisions: Sequence[int] | None = None) -> None:
        """The values, and what TVM calls each; its index without `decisions`."""
        super().__init__(range(len(values)) if decisions is None else decisions)
        self.values = tuple(values)

    def table(self) -> NDArray[np.float32]:
        """Signed logarithms of the values plus 1, shape (size, 1)."""
        logs = [math.copysign(math.log2(1.0 + abs(value)), value) for value in self.values]
        return np.array(logs, dtype=np.float32)[:, np.newaxis]

    def near(self, choice: int) -> Sequence[int]:
        """All others: their order need not mean anything."""
        return [other for other in range(self.size) if other != choice]

    def some(self, choices: Sequence[int]) -> ValueKnob:
        values = [self.values[choice] for choice in choices]
        return ValueKnob(values, [self._choices[choice] for choice in choices])


class LocationKnob(Knob):
    """The loop at which a block is computed (`SAMPLES_LOCATION`), `ROOT` or `INLINED`.

    Which loops can be chosen depends on the other decisions. TVM takes the nearest one further
    out for a loop that cannot be, so any choice works; the program's trace has the loop it took.
    """

    columns = ("loop",)

    def table(self) -> NDArray[np.float32]:
        return np.array(self._choices, dtype=np.float32)[:, np.newaxis]

    def near(self, choice: int) -> Sequence[int]:
        """One loop further out, and one further in; root and inlining are near to all."""
        here = self._choices[choice]
        return [
            other
            for other, loop in enumerate(self._choices)
            if other != choice and (abs(other - choice) == 1 or min(loop, here) < 0)
        ]


def knob_of(instruction: Instruction, decision: Any, seen: Sequence[int]) -> Knob:
    """The knob of an instruction that samples.

    `decision` is the sketch's, which tells a loop's extent; `seen` are those of random programs.
    """
    kind, attributes = str(instruction.kind.name), instruction.attrs
    if kind == "SamplePerfectTile":
        extent = math.prod(int(size) for size in decision)
        return TileKnob(factorizations(extent, int(attributes[0]), int(attributes[1])))
    if kind == "SampleCategorical":
        return ValueKnob([float(value) for value in attributes[0]])
    if kind == SAMPLES_LOCATION:
        return LocationKnob(locations(seen))
    raise StrategyError(
        f"bad instruction {kind!r} in a sketch: expected SamplePerfectTile, SampleCategorical "
        "or SampleComputeLocation; no other has known choices, use e.g. optimized"
    )


def locations(seen: Sequence[int]) -> list[int]:
    """The root, those that were seen, and all loops up to one further in."""
    return sorted({ROOT, *seen, *range(max([ROOT, *seen]) + 2)})


def is_sampling(instruction: Instruction) -> bool:
    return str(instruction.kind.name).startswith("Sample")


def decisions_in(trace: Trace) -> list[Any]:
    """What a trace decides, in the order of its instructions."""
    return [trace.get_decision(one) for one in trace.insts if is_sampling(one)]


@cache
def divisors(number: int) -> tuple[int, ...]:
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(sorted({*small, *(number // d for d in small)}))


@cache
def primes(number: int) -> tuple[int, ...]:
    """Prime factors in ascending order, each once."""
    return tuple(d for d in divisors(number) if d > 1 and len(divisors(d)) == 2)


@cache
def factorizations(extent: int, parts: int, most_inner: int) -> tuple[Tiles, ...]:
    """All ways to split a loop, in ascending order; none only if a single tile is too large.

    `most_inner` is -1 for no limit, as in a trace.
    """
    if parts == 1:
        return ((extent,),) if most_inner == -1 or extent <= most_inner else ()
    return tuple(
        (outer, *rest)
        for outer in divisors(extent)
        for rest in factorizations(extent // outer, parts - 1, most_inner)
    )


def moves(tiles: Tiles) -> list[Tiles]:
    """All tilings that differ by one prime factor, moved from one tile to another."""
    found = []
    for source, size in enumerate(tiles):
        for prime in primes(size):
            for target in range(len(tiles)):
                if target != source:
                    moved = list(tiles)
                    moved[source] //= prime
                    moved[target] *= prime
                    found.append(tuple(moved))
    return found
