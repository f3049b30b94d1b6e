"""Softmax: reductions and elementwise stages with little arithmetic between memory accesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.shape import Shaped

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class Softmax(Shaped, Operator):
    """Softmax over the rows of an m by n matrix.

    FLOP: five for every element (maximum, subtraction, exponential, sum, division), each
    counted as one, though an exponential costs far more.

    Attributes:
        m: Rows.
        n: Columns, the axis that is normalized.
    """

    m: int
    n: int

    @property
    def id(self) -> str:
        return f"softmax-m{self.m}-n{self.n}"

    @property
    def flops(self) -> int:
        """Five for every element."""
        return 5 * self.m * self.n

    @property
    def reduction_length(self) -> int:
        return self.n

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.m, self.n),)

    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        """TVM's own four stages, as imported networks have them."""
        from tvm import topi

        (scores,) = inputs
        return topi.nn.softmax(scores, axis=1)

    def reference(self, *inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        scores = inputs[0].astype(np.float64)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)


SOFTMAX: Final = tuple(
    Softmax(m=m, n=n)
    for m, n in (
        # BERT base (https://arxiv.org/abs/1810.04805): the scores of 12 heads, 128 tokens,
        (1536, 128),
        # and 384 tokens.
        (4608, 384),
        # Two square ones, from the operator set of TVM's MetaSchedule.
        (512, 512),
        (1024, 1024),
    )
)
