"""Samples of workloads that never were, whose best rule can be read off the features."""

from __future__ import annotations

import numpy as np

from pytest_ansorbench.strategies.features import POOLED
from pytest_ansorbench.training.rule_samples import Samples

RULES = ("MutateTileSize", "MutateComputeLocation", "MutateUnroll", "MutateParallel")
WEIGHTS = np.array([0.9, 0.05, 0.03, 0.02])


def make_samples(case="made-up", *, programs=60, draws=3, seed=0, mutable=True):
    """Programs whose first feature is the index of the rule that gains most."""
    rng = np.random.default_rng(seed)
    best = rng.integers(0, len(RULES), programs)
    features = rng.normal(size=(programs, POOLED)).astype(np.float32)
    features[:, 0] = best
    scores = rng.uniform(0.2, 0.6, programs).astype(np.float32)
    gains = rng.uniform(-0.2, 0.05, (programs, len(RULES), draws))
    gains[np.arange(programs), best] += 0.3
    mutants = (scores[:, None, None] + gains).astype(np.float32)
    inapplicable = np.zeros((programs, len(RULES)), np.int64)
    if not mutable:
        mutants[:] = np.nan
        inapplicable[:] = draws
    return Samples(
        case=case,
        settings="made up",
        rules=RULES,
        weights=WEIGHTS,
        features=features,
        scores=scores,
        mutant_scores=mutants,
        inapplicable=inapplicable,
    )
