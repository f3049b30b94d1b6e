"""Samples of one workload: features of programs, and the scores of their mutants by rule."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BadSamples(ValueError):
    """A file that holds no samples, or others than were asked for."""


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


def save(samples: Samples, path: Path) -> None:
    """Write samples, whole or not at all."""
    arrays = {field.name: np.asarray(getattr(samples, field.name)) for field in fields(Samples)}
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def load(path: Path) -> Samples:
    """Read samples.

    Raises:
        BadSamples: The file holds none.
    """
    try:
        # Opened here, since NumPy leaves open what it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {field.name: archive[field.name] for field in fields(Samples)}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise BadSamples(
            f"bad samples {path}: {error}; delete the file to collect them anew"
        ) from None
    return Samples(
        **{
            **arrays,
            "case": str(arrays["case"]),
            "settings": str(arrays["settings"]),
            "rules": tuple(map(str, arrays["rules"])),
            "best_s": float(arrays["best_s"]),
        }
    )


def digest(data: Sequence[Samples]) -> str:
    """SHA-256 over everything in a data set, in order; the hash on a model's card."""
    total = hashlib.sha256()
    for samples in data:
        for field in fields(Samples):
            value = np.ascontiguousarray(getattr(samples, field.name))
            total.update(f"{field.name} {value.dtype.str} {value.shape}\n".encode())
            total.update(value.tobytes())
    return total.hexdigest()
