"""From samples to the model of mutation rules with its card: fit, judge, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.model_file import file_facts, write_card
from pytest_ansorbench.training.arrays import digest
from pytest_ansorbench.training.cards import cross_predict, library_versions, rounded
from pytest_ansorbench.training.rule_fit import (
    TIE,
    FitSettings,
    Scores,
    changeable,
    evaluate,
    fit,
    label_counts,
)
from pytest_ansorbench.training.rule_samples import Samples, valid_mutants

_FOLDS: Final = 4


def train_rules(
    training: Sequence[Samples],
    held_out: Sequence[Samples],
    output: Path,
    *,
    command: str,
    seed: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Fit, judge, write model and card; `command` is for the card, which is returned.

    Raises:
        ValueError: There is nothing to fit to, or to judge by; nothing is written then.
    """
    changeable(held_out)
    settings = FitSettings(seed=seed)
    model = fit(training, settings)
    output.parent.mkdir(parents=True, exist_ok=True)
    model.save(output)

    def fitted(rest: Sequence[Samples]) -> Callable[[Samples], NDArray[np.intp]]:
        of_rest = fit(rest, settings)
        return lambda samples: of_rest.predict(samples.features)

    judged: dict[str, tuple[Sequence[Samples], Sequence[NDArray[np.intp]]]] = {
        name: (data, [model.predict(samples.features) for samples in data])
        for name, data in (("training", training), ("held_out", held_out))
    }
    if len(mutable := changeable(training)) > 1:
        predicted = cross_predict(mutable, _FOLDS, fitted, attrgetter("case"))
        judged["cross_validated"] = mutable, predicted
    counts = label_counts(training)
    scores = {
        name: evaluate(data, predicted, most_frequent=int(np.argmax(counts)))
        for name, (data, predicted) in judged.items()
    }
    data = [*training, *held_out]
    card: dict[str, Any] = {
        "command": command,
        "seed": seed,
        "versions": library_versions(),
        "model": file_facts(output),
        "data": {
            "sha256": digest(data),
            "collected": data[0].settings,
            "programs": sum(len(samples.scores) for samples in data),
            "mutants": sum(map(valid_mutants, data)),
            "training": _contents(training),
            "held_out": _contents(held_out),
        },
        "labels": {"tie": TIE, "counts": dict(zip(data[0].rules, counts.tolist(), strict=True))},
        "fit": asdict(settings),
        "scores": {name: rounded(asdict(of_data)) for name, of_data in scores.items()},
    }
    path = write_card(card, output)
    for name, of_data in scores.items():
        say(f"{name.replace('_', ' ')}: {_described(of_data)}")
    say(f"{output} and {path.name} written, {card['model']['bytes'] / 1e6:.2f} MB")
    return card


def _contents(data: Sequence[Samples]) -> dict[str, Any]:
    return {
        samples.case: {"programs": len(samples.scores), "mutable": int(samples.mutable.sum())}
        for samples in data
    }


def _described(scores: Scores) -> str:
    return (
        f"accuracy {100 * scores.accuracy:.0f}% (most frequent rule "
        f"{100 * scores.accuracy_most_frequent:.0f}%), mean gain {scores.gain:.4f} "
        f"(most frequent {scores.gain_most_frequent:.4f}, stock weights {scores.gain_stock:.4f}, "
        f"best in hindsight {scores.gain_best:.4f})"
    )
