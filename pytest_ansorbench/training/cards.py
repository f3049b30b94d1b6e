"""How models are judged, by what was left out of the fit, and what else their cards tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Part = TypeVar("_Part")
_Number = TypeVar("_Number", bound="np.generic")


def cross_predict(
    data: Sequence[_Part],
    folds: int,
    fit: Callable[[Sequence[_Part]], Callable[[_Part], NDArray[_Number]]],
) -> list[NDArray[_Number]]:
    """Predict each part of some data by a model of the others.

    Parts are left out in groups, with 4 folds every fourth together; `fit` returns what predicts
    one part.
    """
    predicted: dict[int, NDArray[_Number]] = {}
    for fold in range(min(folds, len(data))):
        left_out = range(fold, len(data), folds)
        predict = fit([one for index, one in enumerate(data) if index not in left_out])
        predicted |= {index: predict(data[index]) for index in left_out}
    return [predicted[index] for index in sorted(predicted)]


def library_versions() -> dict[str, str]:
    return {name: version(name) for name in ("apache-tvm", "xgboost", "numpy")}


def rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in scores.items()}
