"""Samples of one workload: features of programs, and the scores of their mutants by rule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.training.arrays import BadSamples, load_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray


class MixedSamples(BadSamples):
    """Samples in one folder that were collected in different ways."""


@dataclass(frozen=True, eq=False)
class Samples:
    """The contribution of one workload to the data set.

    Scores are throughput over the workload's best throughput, as its own cost model predicts it
    after a search; latencies were measured.

    Attributes:
        case: Id of the workload.
        settings: How it was collected, so that other settings are collected anew.
        rules: Names of the mutation rules, in order of the axes below.
        weights: Their stock weights, shape (rules,).
        features: Pooled features, shape (programs, length).
        scores: Score of each program, shape (programs,).
        mutant_scores: Score of each mutant, shape (programs, rules, draws); NaN where the rule
            found nothing to change or made an invalid program.
        inapplicable: Draws in which the rule found nothing to change, shape (programs, rules).
        checked: Indices of the programs that were measured, shape (checked,).
        parent_s: Their latencies, shape (checked,); NaN if measuring failed.
        mutant_s: Latencies of their first valid mutant by each rule, shape (checked, rules);
            NaN if there was none or measuring failed.
        best_s: The best latency of the search, in seconds.
    """

    case: str
    settings: str
    rules: tuple[str, ...]
    weights: NDArray[np.float64]
    features: NDArray[np.float32]
    scores: NDArray[np.float32]
    mutant_scores: NDArray[np.float32]
    inapplicable: NDArray[np.int64]
    checked: NDArray[np.int64]
    parent_s: NDArray[np.float64]
    mutant_s: NDArray[np.float64]
    best_s: float

    @property
    def mutable(self) -> NDArray[np.bool_]:
        """Whether any rule found anything to change in a program, shape (programs,)."""
        changeable: NDArray[np.bool_] = (self.inapplicable < self.mutant_scores.shape[2]).any(
            axis=1
        )
        return changeable


def load(path: Path) -> Samples:
    """Read samples that `save_arrays` wrote.

    Raises:
        BadSamples: The file holds none.
    """
    arrays: dict[str, Any] = load_arrays(Samples, path)
    return Samples(
        **{
            **arrays,
            "case": str(arrays["case"]),
            "settings": str(arrays["settings"]),
            "rules": tuple(map(str, arrays["rules"])),
            "best_s": float(arrays["best_s"]),
        }
    )
