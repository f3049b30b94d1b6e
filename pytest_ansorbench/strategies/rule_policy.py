"""Rule policies: which mutation rule a program of the population is mutated by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.s_tir.meta_schedule import TuneContext

    Features = Sequence[NDArray[np.float32]]
    """Per program its per-store features, shape (stores, 164)."""

BY_WEIGHT: Final = -1
"""In place of a rule's index: draw one by the stock weights, anew for every mutation."""


class RuleChooser(Protocol):
    """The live policy of one run."""

    def choose(self, programs: int, features: Callable[[], Features]) -> NDArray[np.intp]:
        """Choose a rule for each of some programs that were just scored.

        Args:
            programs: How many there are.
            features: Gives their features, at no cost if the cost model has extracted them.

        Returns:
            Index of a rule or `BY_WEIGHT` for each program, shape (programs,).
        """
        ...


class RulePolicy(Protocol):
    """Parameters of a rule policy."""

    def start(self, rules: Mapping[str, float]) -> RuleChooser:
        """The chooser for one run.

        Args:
            rules: The target's rules with their stock weights, in the order of their indices.
        """
        ...


@dataclass(frozen=True)
class StockRules:
    """Every mutation draws its rule by the stock weights, as in stock MetaSchedule."""

    def start(self, rules: Mapping[str, float]) -> RuleChooser:
        """A chooser that leaves it to the draw."""
        return _StockRules()


class _StockRules:
    def choose(self, programs: int, features: Callable[[], Features]) -> NDArray[np.intp]:
        return np.full(programs, BY_WEIGHT)


def stock_weights(context: TuneContext) -> dict[str, float]:
    """The mutation rules of a task's design space with their weights, in the engine's order.

    A rule is called, in files too, what TVM calls its class.
    """
    return {
        type(mutator).__name__: float(weight)
        for mutator, weight in context.space_generator.mutator_probs.items()
    }
