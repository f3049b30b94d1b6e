"""From workloads to a model with its card: collect, fit, judge, write."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.training.arrays import save_arrays
from pytest_ansorbench.training.card import make_card, write_card
from pytest_ansorbench.training.collect import Collector, Effort
from pytest_ansorbench.training.dataset import MixedSamples, Samples, load
from pytest_ansorbench.training.evaluate import Scores, evaluate
from pytest_ansorbench.training.fit import FitSettings, cross_predict, fit
from pytest_ansorbench.training.labels import LabelSettings, expected_gains, label
from pytest_ansorbench.training.workloads import HELD_OUT, TRAINING

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Case


@dataclass(frozen=True)
class TrainingPlan:
    """The work of one `ansor-bench train-rules`.

    Attributes:
        output: Model file to write; its card gets the same name with `.card.json`.
        samples: Folder of collected samples, one file a workload; what is there is not
            collected again.
        command: The command, for the card.
        seed: Of everything random.
        target: TVM's target, or None for this machine's CPU.
        effort: How much to collect.
        labels: How labels are taken.
        training: What to learn from.
        held_out: What to judge by.
    """

    output: Path
    samples: Path
    command: str
    seed: int
    target: str | None = None
    effort: Effort = field(default_factory=Effort)
    labels: LabelSettings = field(default_factory=LabelSettings)
    training: Sequence[Case] = TRAINING
    held_out: Sequence[Case] = HELD_OUT


def train_rules(plan: TrainingPlan, say: Callable[[str], None]) -> dict[str, Any]:
    """Collect what is missing, fit, judge, and write model and card.

    Interrupted, it leaves the samples of every finished workload, and the same plan goes on from
    them.

    Args:
        plan: What to do.
        say: Is told of every step, one line at a time.

    Returns:
        The card.

    Raises:
        BadSamples: A file of samples is damaged, or was collected otherwise (`MixedSamples`).
        ValueError: The samples are of no use: no rule can change any program.
    """
    training, held_out = collected(plan, say)
    fit_settings = FitSettings(seed=plan.seed)
    model = fit(training, plan.labels, fit_settings)
    plan.output.parent.mkdir(parents=True, exist_ok=True)
    model.save(plan.output)
    counts = _label_counts(training, plan.labels)
    most_frequent = int(np.argmax(counts))
    predictions = {
        "training": (training, [model.predict(samples.features) for samples in training]),
        "held_out": (held_out, [model.predict(samples.features) for samples in held_out]),
    }
    if len(training) > 1:
        left_out = cross_predict(training, plan.labels, fit_settings)
        predictions["cross_validated"] = (training, left_out)
    scores = {
        name: evaluate(data, predicted, plan.labels, most_frequent)
        for name, (data, predicted) in predictions.items()
    }
    card = {
        "command": plan.command,
        "seed": plan.seed,
        "versions": {name: version(name) for name in ("apache-tvm", "xgboost", "numpy")},
        **make_card(
            training,
            held_out,
            scores,
            dict(zip(training[0].rules, map(int, counts), strict=True)),
            plan.labels,
            fit_settings,
            plan.output,
        ),
    }
    card_path = plan.output.with_suffix(".card.json")
    write_card(card, card_path)
    for name, of_data in scores.items():
        say(f"{name.replace('_', ' ')}: {_described(of_data)}")
    say(f"{plan.output} and {card_path.name} written, {card['model']['bytes'] / 1e6:.2f} MB")
    return card


def collected(
    plan: TrainingPlan, say: Callable[[str], None]
) -> tuple[list[Samples], list[Samples]]:
    """The samples of all workloads: training and held out, read where they are there.

    Raises:
        BadSamples: A file is damaged.
        MixedSamples: A file was collected otherwise than the rest.
    """
    plan.samples.mkdir(parents=True, exist_ok=True)
    cases = [*plan.training, *plan.held_out]
    data = {case.id: load(path) for case in cases if (path := _path(plan, case)).exists()}
    missing = [case for case in cases if case.id not in data]
    if missing:
        _collect(plan, missing, data, say)
    settings = {samples.settings for samples in data.values()}
    if len(settings) > 1:
        raise MixedSamples(
            f"bad samples in {plan.samples}: they were collected in different ways "
            f"({'; '.join(sorted(settings))})"
        )
    return [data[case.id] for case in plan.training], [data[case.id] for case in plan.held_out]


def _collect(
    plan: TrainingPlan,
    missing: Sequence[Case],
    data: dict[str, Samples],
    say: Callable[[str], None],
) -> None:
    from pytest_ansorbench.measure.local.engine import local_engine
    from pytest_ansorbench.measure.settings import EngineSettings

    with local_engine(plan.target, EngineSettings()) as engine:
        collector = Collector(engine, plan.effort, seed=plan.seed)
        for found in data.values():
            if found.settings != collector.settings:
                raise MixedSamples(
                    f"bad samples in {plan.samples}: {found.case} was collected with "
                    f"{found.settings}, expected {collector.settings}"
                )
        for index, case in enumerate(missing, start=1):
            started_s = time.monotonic()
            say(f"{index}/{len(missing)} {case.id}: {plan.effort.trials} trials ...")
            data[case.id] = collector.collect(case)
            save_arrays(data[case.id], _path(plan, case))
            mutants = int(np.isfinite(data[case.id].mutant_scores).sum())
            say(
                f"{index}/{len(missing)} {case.id}: {len(data[case.id].scores)} programs, "
                f"{mutants} mutants, {time.monotonic() - started_s:.0f} s"
            )


def _path(plan: TrainingPlan, case: Case) -> Path:
    return plan.samples / f"{case.id}.npz"


def _label_counts(data: Sequence[Samples], labels: LabelSettings) -> np.ndarray[Any, Any]:
    return sum(
        (
            np.bincount(
                label(expected_gains(samples)[samples.mutable], samples.weights, labels),
                minlength=len(samples.rules),
            )
            for samples in data
        ),
        start=np.zeros(len(data[0].rules), int),
    )


def _described(scores: Scores) -> str:
    return (
        f"accuracy {100 * scores.accuracy:.0f}% (most frequent rule "
        f"{100 * scores.accuracy_most_frequent:.0f}%), mean gain {scores.gain:.4f} "
        f"(most frequent {scores.gain_most_frequent:.4f}, stock weights {scores.gain_stock:.4f}, "
        f"best in hindsight {scores.gain_best:.4f}); measured and predicted change agree "
        f"in sign for {100 * scores.measured_agreement:.0f}% of {scores.measured} mutants"
    )
