"""Mutation rules predicted by a pretrained classifier.

After Han Lin, Wang Yifan, Li Jianan and Gao Wei, Automatic Scheduling Search Optimization
Method Based on TVM, Computer Science 52(3):268-276, 2025, section 3 and algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pytest_ansorbench.strategies.features import pool
from pytest_ansorbench.strategies.model_file import BadModel
from pytest_ansorbench.strategies.rule_model import SHIPPED, RuleModel, load_rule_model
from pytest_ansorbench.strategies.rule_policy import RuleChooser

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.strategies.rule_policy import Features


@dataclass(frozen=True)
class PredictedRules:
    """Each program is mutated by the rule that a model predicts to improve it most.

    The rules of a whole generation are predicted at once, from the features that the cost model
    has just extracted.

    Attributes:
        model: File of the model, as `ansor-bench train-rules` writes it; the shipped one by
            default.
    """

    model: Path = SHIPPED

    def start(self, rules: Mapping[str, float]) -> RuleChooser:
        """Load the model.

        Raises:
            BadModel: It cannot be read, or was trained for another set of rules.
        """
        model = load_rule_model(self.model)
        if set(model.rules) != set(rules):
            raise BadModel(
                f"bad rule model {self.model}: expected the target's rules {', '.join(rules)}, "
                f"got {', '.join(model.rules)}; train it anew with ansor-bench train-rules"
            )
        names = list(rules)
        return _PredictedRules(model, np.array([names.index(rule) for rule in model.rules]))


class _PredictedRules:
    def __init__(self, model: RuleModel, indices: NDArray[np.intp]) -> None:
        self._model = model
        self._indices = indices  # of the model's rules among the target's

    def choose(self, programs: int, features: Callable[[], Features]) -> NDArray[np.intp]:
        chosen: NDArray[np.intp] = self._indices[self._model.predict(pool(features()))]
        return chosen
