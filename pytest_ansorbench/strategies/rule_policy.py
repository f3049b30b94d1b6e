"""Rule policies: which mutation rule a program of the population is mutated by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule import TuneContext

Features = Sequence[NDArray[np.float32]]
"""Per program its per-store features, shape (stores, 164)."""

BY_WEIGHT: Final = -1
"""In place of a rule's index: draw one by the stock weights, anew for every mutation."""

RULE_CHOOSER: Final = ("choose",)
"""Methods of a `RuleChooser`."""


class RuleChooser(Protocol):
    """Chooses mutation rules; lives for one task of one run."""

    def choose(self, programs: int, features: Callable[[], Features]) -> NDArray[np.intp]:
        """Choose a rule for each program of a generation, right after it was scored.

        `Evolution` mutates the programs by these rules, or by drawn ones, as its `rule_share`
        says. If a chosen rule has nothing to change in a program, a rule is drawn.

        Args:
            programs: How many there are, at least 1.
            features: Returns their features, in order. This costs nothing if the cost model has
                extracted them; `pool` brings them to a fixed length.

        Returns:
            Index of a rule or `BY_WEIGHT` for each program, integers of shape (programs,).
        """
        ...


class RulePolicy(Protocol):
    """Parameters of a rule policy; `Evolution(rules=...)` takes one."""

    def start(self, rules: Mapping[str, float]) -> RuleChooser:
        """A new chooser for one task of one run.

        Args:
            rules: Name and stock weight of each mutation rule of the TVM target, e.g.
                `MutateTileSize`; a rule's index is its place in this order.
        """
        ...


@dataclass(frozen=True)
class StockRules:
    """Every mutation draws its rule by the stock weights, as in stock MetaSchedule."""

    def start(self, rules: Mapping[str, float]) -> RuleChooser:
        """A chooser that leaves it to the draw: there is nothing to keep."""
        return self

    def choose(self, programs: int, features: Callable[[], Features]) -> NDArray[np.intp]:
        """No rule for any program."""
        return np.full(programs, BY_WEIGHT)


def stock_weights(context: TuneContext) -> dict[str, float]:
    """The mutation rules of a task's design space with their weights, in the engine's order.

    A rule is called, in files too, what TVM calls its class, the second of a class (that of rules
    in Python is one) `CLASS-2`.
    """
    weights: dict[str, float] = {}
    classes: Counter[str] = Counter()
    for mutator, weight in context.space_generator.mutator_probs.items():
        name = type(mutator).__name__
        classes[name] += 1
        weights[name if classes[name] == 1 else f"{name}-{classes[name]}"] = float(weight)
    return weights
