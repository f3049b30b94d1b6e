"""How models are judged, by what was left out of the fit, and what else their cards tell."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from pytest_ansorbench.measure.local.machine import describe_machine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Part = TypeVar("_Part")
_Number = TypeVar("_Number", bound="np.generic")


def cross_predict(
    data: Sequence[_Part],
    folds: int,
    fit: Callable[[Sequence[_Part]], Callable[[_Part], NDArray[_Number]]],
    subject: Callable[[_Part], Hashable],
) -> list[NDArray[_Number]]:
    """Predict each part of some data by a model of the parts with other subjects.

    Subjects are left out in groups, with 4 folds every fourth together; `fit` returns what predicts
    one part.
    """
    subjects = [*dict.fromkeys(map(subject, data))]
    predicted: dict[int, NDArray[_Number]] = {}
    for fold in range(min(folds, len(subjects))):
        left_out = {*subjects[fold::folds]}
        predict = fit([one for one in data if subject(one) not in left_out])
        predicted |= {at: predict(one) for at, one in enumerate(data) if subject(one) in left_out}
    return [predicted[index] for index in sorted(predicted)]


def library_versions() -> dict[str, str | None]:
    packages = describe_machine()["packages"]
    return {name: packages[name] for name in ("apache-tvm", "xgboost", "numpy")}


def rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in scores.items()}
