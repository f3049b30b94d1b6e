"""Mutation policies: which rules an evolutionary search mutates programs by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tvm.target import Target


@dataclass(frozen=True)
class StockMutations:
    """MetaSchedule's rules for the target, drawn at random by their stock weights.

    For a CPU: tile size 0.9, compute location 0.05, unrolling 0.03, parallelism 0.02.
    """

    def mutators(self, target: Target) -> Literal["from-target"]:
        """The word by which a space generator is told to take its stock rules."""
        return "from-target"
