"""The classifier that predicts which mutation rule gains a program most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.strategies.features import POOLED
from pytest_ansorbench.strategies.model_file import BadModel, ModelKind

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xgboost import Booster

# The model that comes with the package; its card lies beside it.
SHIPPED: Final = Path(__file__).parent.parent / "models" / "rules.ubj"

# Version of the features a model takes and of the rules it answers with.
FORMAT: Final = 1

_KIND: Final = ModelKind("rule model", "ansor-bench train-rules", FORMAT, POOLED)


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
