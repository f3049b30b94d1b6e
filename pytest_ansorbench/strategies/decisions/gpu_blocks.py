"""What a sketch for a GPU asks of a block of threads, and whether a GPU has that.

MetaSchedule binds a tiled block's loops to blocks and threads, and copies what it reads to shared
memory (`MultiLevelTiling` with `tile_binds`, schedule_rule/multi_level_tiling.cc). A postprocessor,
`VerifyGPUCode`, refuses what asks for too much: of random decisions most. Decisions alone tell that
within microseconds; to replay them takes a thousand times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.footprints import Depth, Footprints

if TYPE_CHECKING:
    from tvm.target import Target

# From the outside in: blocks, virtual threads, threads, then what a thread does.
_STRUCTURE: Final = "SSSRRSRS"
# What a block finds in shared memory: all its spatial tiles, and all but the outermost of each
# reduction, in whose steps it is copied.
_SHARED: Final = Depth(spatial=4, reduction=2)


class GpuBlock:
    """The block of threads of one tiled block of a sketch."""

    columns = ("blocks", "threads", "accumulators", "shared")

    def __init__(self, footprints: Footprints, target: Target) -> None:
        self._footprints = footprints
        self._low, self._high = footprints.threads
        # A warp works on what an intrinsic takes at once, and there are no virtual threads.
        self._is_tensorized = bool(footprints.intrinsic)
        self._warp = int(target.attrs["thread_warp_size"]) if self._is_tensorized else 1
        self._most_shared = int(target.attrs["max_shared_memory_per_block"])

    @classmethod
    def of(cls, footprints: Sequence[Footprints], target: Target) -> list[GpuBlock]:
        """Those of a sketch; none unless it is for a GPU."""
        return [
            cls(one, target) for one in footprints if one.threads and one.structure == _STRUCTURE
        ]

    def features(self, tiles: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Logarithms to base 2, shape (vectors, columns).

        Of blocks, the threads of one, what a thread sums up at once, which has to stay in its
        registers, and bytes of shared memory. `tiles` are as for `Footprints.features`.
        """
        outer, virtual, threads, *inner = self._footprints.spatial_tiles(tiles)
        blocks = outer + virtual if self._is_tensorized else outer
        held = sum(inner) if self._is_tensorized else virtual + sum(inner)
        shared = np.log2(np.maximum(1.0, self._shared_bytes(tiles)))
        found = np.stack([blocks, threads + np.log2(self._warp), held, shared], axis=1)
        return found.astype(np.float32)

    def allowed(self, tiles: Sequence[NDArray[np.float32]]) -> NDArray[np.bool_]:
        """Whether a GPU has what decisions ask for, shape (vectors,).

        Virtual threads are not limited: they are unrolled before `VerifyGPUCode` looks. Where an
        intrinsic is used, shared memory is padded; that, and what is known by bounds only, is left
        to it.
        """
        _, _, threads, *_ = self._footprints.spatial_tiles(tiles)
        product = self._warp * np.rint(np.exp2(threads))
        fits: NDArray[np.bool_] = (self._low <= product) & (product <= self._high)
        if self._is_tensorized or not self._footprints.is_exact:
            return fits
        return fits & (self._shared_bytes(tiles) <= self._most_shared)

    def _shared_bytes(self, tiles: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
        """Bytes of all that is read, as one block of threads has it."""
        _, *read = self._footprints.touched(tiles, [_SHARED])
        total: NDArray[np.float64] = np.sum(read, axis=0)[0]
        return total
