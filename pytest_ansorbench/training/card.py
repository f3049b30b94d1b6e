"""A model's card: what it was made of, how, and how good it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pytest_ansorbench.training.arrays import digest
from pytest_ansorbench.training.dataset import Samples
from pytest_ansorbench.training.evaluate import Scores
from pytest_ansorbench.training.fit import FitSettings
from pytest_ansorbench.training.labels import LabelSettings


def make_card(
    training: Sequence[Samples],
    held_out: Sequence[Samples],
    scores: Mapping[str, Scores],
    label_counts: Mapping[str, int],
    labels: LabelSettings,
    fit: FitSettings,
    model: Path,
) -> dict[str, Any]:
    """Put a card together.

    Args:
        training: What the model has learnt from.
        held_out: What it was judged by.
        scores: Its scores, on `held_out` workloads among others.
        label_counts: How often each rule is the label, in the training data.
        labels: How labels were taken.
        fit: How the model was fitted.
        model: The model file.

    Returns:
        JSON values. Nothing in it depends on when or where the fit was made, so that equal data
        give an equal card.
    """
    data = [*training, *held_out]
    content = model.read_bytes()
    return {
        "model": {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()},
        "data": {
            "sha256": digest(data),
            "collected": data[0].settings,
            "programs": sum(len(samples.scores) for samples in data),
            "mutants": sum(int(np.isfinite(samples.mutant_scores).sum()) for samples in data),
            "training": _contents(training),
            "held_out": _contents(held_out),
        },
        "labels": {**asdict(labels), "counts": dict(label_counts)},
        "fit": asdict(fit),
        "scores": {name: _rounded(asdict(of_data)) for name, of_data in scores.items()},
    }


def write_card(card: Mapping[str, Any], path: Path) -> None:
    """Write a card as indented JSON."""
    path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def _contents(data: Sequence[Samples]) -> dict[str, Any]:
    return {
        samples.case: {"programs": len(samples.scores), "mutable": int(samples.mutable.sum())}
        for samples in data
    }


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}
