"""Measured programs as `draft+transfer` remembers them, and how much they say of other tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies import BoostedTrees
from pytest_ansorbench.strategies.decisions.encoding import Trials
from pytest_ansorbench.training.programs import Programs

# Trials of a kind of sketch that are remembered: more make each batch of a search slower.
MOST: Final = 1_000


def experience_of(data: Sequence[Programs]) -> dict[str, Trials]:
    """By kind of sketch, trials with throughput over the best of their session; at most `MOST`."""
    return _thinned(_by_kind(data))


def joined(*known: Mapping[str, Trials]) -> dict[str, Trials]:
    """What several have measured, as one; at most `MOST` trials of a kind."""
    return _thinned((kind, trials) for one in known for kind, trials in one.items())


def cross_predict_decisions(data: Sequence[Programs]) -> list[NDArray[np.float64]]:
    """Predict each task's programs from what was measured of the others.

    Each kind by a model of its own; 0 for a program of one that no other task has.
    """
    predicted = []
    for task in data:
        others = experience_of([one for one in data if one.subject != task.subject])
        found = np.zeros(len(task.kinds))
        for kind in set(task.kinds.tolist()) & set(others):
            known = others[kind]
            model = BoostedTrees().fit(
                known.features, known.throughput, np.ones(len(known.throughput)), seed=0
            )
            if model is not None:
                of_kind = task.kinds == kind
                width = known.features.shape[1]
                found[of_kind] = model.predict(task.decisions[of_kind, :width])
        predicted.append(found)
    return predicted


def _by_kind(data: Sequence[Programs]) -> Iterable[tuple[str, Trials]]:
    """Trials of each kind of each task that has a valid one."""
    for task in data:
        best_s = task.latencies_s.min(initial=np.inf)
        if not np.isfinite(best_s):
            continue
        for kind in sorted({*task.kinds.tolist()} - {""}):
            of_kind = task.kinds == kind
            rows = task.decisions[of_kind]
            if width := int(np.isfinite(rows[0]).sum()):
                yield kind, Trials(rows[:, :width], best_s / task.latencies_s[of_kind])


def _thinned(parts: Iterable[tuple[str, Trials]]) -> dict[str, Trials]:
    rng = np.random.default_rng(0)
    by_kind: dict[str, list[Trials]] = {}
    for kind, trials in parts:
        by_kind.setdefault(kind, []).append(trials)
    found = {}
    for kind, several in by_kind.items():
        features = np.concatenate([one.features for one in several])
        throughput = np.concatenate([one.throughput for one in several])
        kept = np.sort(rng.permutation(len(throughput))[:MOST])
        found[kind] = Trials(features[kept], throughput[kept])
    return found
