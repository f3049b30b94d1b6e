"""Mutation rules predicted by a pretrained classifier.

After Han Lin, Wang Yifan, Li Jianan and Gao Wei, Automatic Scheduling Search Optimization
Method Based on TVM, Computer Science 52(3):268-276, 2025, section 3 and algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.strategies.features import POOLED, pool
from pytest_ansorbench.strategies.model_file import BadModel, ModelKind
from pytest_ansorbench.strategies.rule_policy import RuleChooser

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xgboost import Booster

    from pytest_ansorbench.strategies.rule_policy import Features

# The model that comes with the package; its card lies beside it.
SHIPPED: Final = Path(__file__).parent.parent / "models" / "rules.ubj"

_KIND: Final = ModelKind("rule model", "ansor-bench train-rules", format=1, features=POOLED)


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


class RuleModel:
    """A trained classifier and the names of its classes.

    Attributes:
        rules: Names of the mutation rules, in order of the classes.
    """

    def __init__(self, booster: Booster, rules: tuple[str, ...]) -> None:
        self.rules = rules
        self._booster = booster

    def predict(self, features: NDArray[np.float32]) -> NDArray[np.intp]:
        """The rule with the highest probability for each program.

        Args:
            features: What `features.pool` returns, shape (programs, 493).

        Returns:
            Indices into `rules`, shape (programs,).
        """
        probabilities = self._booster.inplace_predict(features)
        rules: NDArray[np.intp] = np.argmax(probabilities, axis=1)
        return rules

    def save(self, path: Path) -> None:
        """Write the model in XGBoost's own format, as the suffix says: `.ubj` or `.json`."""
        _KIND.save(self._booster, path, rules=list(self.rules))


def load_rule_model(path: Path = SHIPPED) -> RuleModel:
    """Read a model.

    Args:
        path: What `RuleModel.save` wrote.

    Raises:
        BadModel: There is no such file, it is no rule model, or it expects other features than
            this version extracts.
    """
    booster, header = _KIND.load(path)
    rules = header.get("rules")
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise BadModel(f"bad rule model {path}: expected names of rules, got {rules!r}")
    return RuleModel(booster, tuple(rules))


class _PredictedRules:
    def __init__(self, model: RuleModel, indices: NDArray[np.intp]) -> None:
        self._model = model
        self._indices = indices  # of the model's rules among the target's

    def choose(self, programs: int, features: Callable[[], Features]) -> NDArray[np.intp]:
        return self._indices[self._model.predict(pool(features()))]
