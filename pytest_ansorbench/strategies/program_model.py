"""Boosted trees that predict a program's throughput, whatever its operator."""

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
SHIPPED: Final = Path(__file__).parent.parent / "models" / "draft.ubj"

# Version of the features a model takes and of what it answers with.
FORMAT: Final = 1

# Answers end here: programs 64 times slower than the best are all alike, as failed ones are.
WORST: Final = -6.0

_KIND: Final = ModelKind("program model", "ansor-bench train-draft", FORMAT, POOLED)
_SCALE: Final = "log2 of throughput over the task's best"


class ProgramModel:
    """Trained trees.

    Their features are MetaSchedule's of stores: arithmetic by kind, loops that are vectorized,
    unrolled or parallel, and for each buffer the bytes, cache lines and reuse of its accesses.
    They mean the same for all operators and shapes, so what was learnt on some holds on others.
    """

    def __init__(self, booster: Booster) -> None:
        self._booster = booster

    @property
    def booster(self) -> Booster:
        """The trees themselves, e.g. to train more of them."""
        return self._booster

    def predict(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Logarithm (base 2) of each program's throughput over the best of its task.

        Args:
            features: What `features.pool` returns, shape (programs, 493).

        Returns:
            Shape (programs,); mostly from `WORST` to 0.
        """
        predicted: NDArray[np.float64] = self._booster.inplace_predict(features).astype(np.float64)
        return predicted

    def save(self, path: Path) -> None:
        """Write the model in XGBoost's own format, as the suffix says: `.ubj` or `.json`."""
        _KIND.save(self._booster, path, scale=_SCALE)


def load_program_model(path: Path = SHIPPED) -> ProgramModel:
    """Read a model.

    Args:
        path: What `ProgramModel.save` wrote.

    Raises:
        BadModel: There is no such file, it is no program model, or it expects other features
            than this version extracts.
    """
    booster, header = _KIND.load(path)
    if header.get("scale") != _SCALE:
        raise BadModel(f"bad program model {path}: expected one that predicts the {_SCALE}")
    return ProgramModel(booster)


def log2_throughput(latencies_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scale that the model predicts on.

    Args:
        latencies_s: Of programs of one task, shape (programs,); infinity for a failed one.

    Returns:
        log2 of the best latency over each, not below `WORST`; all `WORST` if none is finite.
    """
    latencies_s = np.asarray(latencies_s, dtype=np.float64)
    best_s = latencies_s.min(initial=np.inf)
    if not np.isfinite(best_s):
        return np.full(len(latencies_s), WORST)
    relative: NDArray[np.float64] = np.maximum(np.log2(best_s) - np.log2(latencies_s), WORST)
    return relative
