"""What the innermost loops of a program ask of vector units and registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.footprints import Nest
from pytest_ansorbench.strategies.decisions.registers import Registers
from pytest_ansorbench.strategies.errors import require_positive


@dataclass(frozen=True)
class VectorUnits:
    """A guess at throughput before anything is measured, from what every CPU has in common.

    A step of a nest, one multiplication and addition, takes

        1 / (2 l) + other_cycles, and spill_cycles / l if its block is larger than the registers

    cycles, l being the lanes that are used: two vector units, as an x86 or Arm core has, work on l
    elements at a time. Innermost tiles narrower than a vector leave lanes idle; blocks larger than
    the registers are stored and loaded again in each step of the reduction. It is a roofline
    (Williams et al., https://doi.org/10.1145/1498765.1498785) of the core alone: which cache a
    tile comes from is left to measurements.

    Attributes:
        other_cycles: What a step takes that has nothing to do with lanes. It bounds what a wide
            vector gains: 16 lanes are 7 times as fast as one, not 16 times.
        spill_cycles: Of storing a vector, and loading it again.
    """

    other_cycles: float = 0.05
    spill_cycles: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "other_cycles", "spill_cycles")

    def model(
        self,
        nests: Sequence[Sequence[Nest]],
        columns: Sequence[str],
        registers: Registers | None,
    ) -> Guess | None:
        """The guess for a task; the last column of its rows is the sketch.

        None where no sketch has a tiled block, and for other targets than CPUs.
        """
        if not any(nests) or registers is None:
            return None
        place = {name: index for index, name in enumerate(columns)}
        return Guess(
            self,
            registers.vector_bytes,
            registers.count * registers.vector_bytes,
            [[(place[one.width], place[one.block], one) for one in of] for of in nests],
        )


@dataclass(frozen=True, eq=False)
class Guess:
    """The guess for the points of a task."""

    policy: VectorUnits
    vector_bytes: int
    register_bytes: int
    nests: Sequence[Sequence[tuple[int, int, Nest]]]

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Throughput over that of nests that use all lanes and spill nothing, shape (points,).

        A sketch without a tiled block is somewhere between those and one lane.
        """
        throughput = np.empty(len(rows))
        for sketch, nests in enumerate(self.nests):
            mine = rows[:, -1] == sketch
            if nests:
                took = [
                    nest.steps * self._cycles(nest, rows[mine, width], rows[mine, block])
                    for width, block, nest in nests
                ]
                least = sum(
                    nest.steps * self._cycles_a_step(self._lanes(nest)) for *_, nest in nests
                )
                throughput[mine] = least / np.sum(took, axis=0)
            else:
                lanes = self.vector_bytes / 4
                throughput[mine] = np.sqrt(self._cycles_a_step(lanes) / self._cycles_a_step(1.0))
        return throughput

    def blocks(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """What tells points' blocks of registers apart, shape (points, columns)."""
        places = sorted({place for of in self.nests for one in of for place in one[:2]})
        return np.nan_to_num(rows[:, places])

    def _lanes(self, nest: Nest) -> float:
        return max(1.0, self.vector_bytes / nest.item_bytes)

    def _cycles_a_step(self, lanes: Any) -> Any:
        """Cycles of a step that uses so many lanes and spills nothing; an array or a number."""
        return 0.5 / lanes + self.policy.other_cycles

    def _cycles(
        self, nest: Nest, width: NDArray[np.float32], block: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        lanes = np.minimum(nest.unit * np.exp2(width.astype(np.float64)), self._lanes(nest))
        spills = np.exp2(block.astype(np.float64)) > self.register_bytes * (1.0 + 1e-6)
        cycles: NDArray[np.float64] = self._cycles_a_step(lanes)
        return cycles + np.where(spills, self.policy.spill_cycles / lanes, 0.0)
