"""How users choose the target of S: the throughput that both arms have to reach."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Goal:
    """How the fixed target is chosen; the default is the reference's median final throughput.

    Attributes:
        kind: `median`: of the reference's final throughput, less the tolerance. `gain`: a
            share of the way there from the reference's first kernel. `gflops`: a throughput.
        value: The share for `gain`, in (0, 1]; GFLOP/s for `gflops`.
    """

    kind: Literal["median", "gain", "gflops"] = "median"
    value: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Parse `median`, a share of the gain such as `90%`, or GFLOP/s such as `200`.

        Raises:
            ValueError: It is none of these.
        """
        word = text.strip()
        if word == "median":
            return cls()
        try:
            value = float(word.removesuffix("%"))
        except ValueError:
            value = math.nan
        if word.endswith("%") and 0.0 < value <= 100.0:
            return cls("gain", value / 100.0)
        if not word.endswith("%") and 0.0 < value < math.inf:
            return cls("gflops", value)
        raise ValueError(
            "expected median, a share of the reference's gain such as 90%, or GFLOP/s such as 200"
        )

    def __str__(self) -> str:
        """As `parse` reads it."""
        if self.kind == "median":
            return "median"
        return f"{100.0 * self.value:.12g}%" if self.kind == "gain" else repr(self.value)
