"""The classifier that predicts which mutation rule gains a program most."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.strategies.features import POOLED

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xgboost import Booster

SHIPPED: Final = Path(__file__).parent.parent / "models" / "rules.ubj"
"""The model that comes with the package; its card lies beside it."""

FORMAT: Final = 1
"""Version of the features a model takes and of the rules it answers with."""

_ATTRIBUTE: Final = "ansor_bench"


class BadModel(ValueError):
    """A file that is no rule model, or one that does not fit."""


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
        self._booster.set_attr(
            **{
                _ATTRIBUTE: json.dumps(
                    {"format": FORMAT, "features": POOLED, "rules": list(self.rules)}
                )
            }
        )
        self._booster.save_model(path)


def load_rule_model(path: Path = SHIPPED) -> RuleModel:
    """Read a model.

    Args:
        path: What `RuleModel.save` wrote.

    Raises:
        BadModel: There is no such file, it is no rule model, or it expects other features than
            this version extracts.
    """
    import xgboost

    booster = xgboost.Booster()
    try:
        booster.load_model(path)
    except (xgboost.core.XGBoostError, OSError, ValueError) as error:
        raise BadModel(
            f"bad rule model {path}: {_last_line(error)}; expected a file that "
            "ansor-bench train-rules wrote"
        ) from None
    header = _header(booster.attr(_ATTRIBUTE))
    if header.get("format") != FORMAT:
        raise BadModel(
            f"bad rule model {path}: expected format {FORMAT}, got {header.get('format')}; "
            "train it anew with ansor-bench train-rules"
        )
    rules = header.get("rules")
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise BadModel(f"bad rule model {path}: expected names of rules, got {rules!r}")
    for length in (header.get("features"), booster.num_features()):
        if length != POOLED:
            raise BadModel(
                f"bad rule model {path}: expected {POOLED} features a program, got {length}; "
                "train it anew with ansor-bench train-rules"
            )
    return RuleModel(booster, tuple(rules))


def _header(text: str | None) -> dict[str, Any]:
    try:
        header = json.loads(text or "")
    except ValueError:
        return {}
    return header if isinstance(header, dict) else {}


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
