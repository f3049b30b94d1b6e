"""From measured programs to what `draft+transfer` begins with: read, judge, fit, write."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from pytest_ansorbench.storage import is_journal, read_journal
from pytest_ansorbench.strategies import Experience, load_program_model
from pytest_ansorbench.strategies.draft import is_experience, save_experience
from pytest_ansorbench.training.arrays import BadSamples, digest
from pytest_ansorbench.training.experience import (
    cross_predict_decisions,
    experience_of,
    joined,
)
from pytest_ansorbench.training.fit_programs import (
    ProgramFitSettings,
    ProgramScores,
    cross_predict_programs,
    fit_programs,
    score_programs,
)
from pytest_ansorbench.training.programs import Programs, Tasks, load_programs, programs_of

SAMPLES: Final = ".npz"
JOURNAL: Final = ".jsonl"


@dataclass(frozen=True)
class DraftTrainingPlan:
    """The work of one `ansor-bench train-draft`.

    Attributes:
        sources: Journals, files of samples, and folders of either.
        output: Model file to write; the experience gets the same name with `.npz`, the card with
            `.card.json`.
        command: What to say on the card of how it was made.
        tasks: Finds the tasks of the journals' cases.
        settings: Of the fit.
        base: A model to go on from, with its experience; None to start from nothing.
    """

    sources: Sequence[Path]
    output: Path
    command: str
    tasks: Tasks
    settings: ProgramFitSettings = field(default_factory=ProgramFitSettings)
    base: Path | None = None


def train_draft(plan: DraftTrainingPlan, say: Callable[[str], None]) -> dict[str, Any]:
    """Read, judge by cross-validation, fit, and write model, experience and card.

    Args:
        plan: What to do.
        say: Is told of every step, one line at a time.

    Returns:
        The card.

    Raises:
        BadSamples: A source holds no measured programs.
        StorageError: A journal is damaged.
        BadModel: The model to go on from cannot be read.
        ValueError: There is nothing to learn from.
    """
    base = None if plan.base is None else load_program_model(plan.base)
    known = {} if plan.base is None else Experience(path=experience_beside(plan.base)).known()
    data = []
    for programs in read_programs(plan.sources, plan.tasks):
        data.append(programs)
        say(f"{programs.case}, {programs.task}: {len(programs.latencies_s)} programs")
    scores = {}
    if len(data) > 1:
        predicted = cross_predict_programs(data, plan.settings)
        scores["cross_validated"] = score_programs(data, predicted)
        scores["decisions_cross_validated"] = score_programs(data, cross_predict_decisions(data))
    started_s = time.perf_counter()
    model = fit_programs(data, plan.settings, base)
    fit_s = time.perf_counter() - started_s
    plan.output.parent.mkdir(parents=True, exist_ok=True)
    model.save(plan.output)
    save_experience(joined(known, experience_of(data)), experience_beside(plan.output))
    scores["training"] = score_programs(data, [model.predict(one.features) for one in data])
    card = _card(plan, data, scores)
    card_path = plan.output.with_suffix(".card.json")
    card_path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    for name, of_data in scores.items():
        say(f"{name.replace('_', ' ')}: {_described(of_data)}")
    measured_s = card["data"]["measuring_s"]
    say(
        f"{plan.output} and {card_path.name} written, {card['model']['bytes'] / 1e6:.2f} MB; "
        f"fitted in {fit_s:.1f} s to what took {measured_s:.0f} s to measure"
    )
    return card


def experience_beside(model: Path) -> Path:
    """Where the experience lies that belongs to a model."""
    return model.with_suffix(".npz")


def read_programs(sources: Sequence[Path], tasks: Tasks) -> Iterator[Programs]:
    """The measured programs of journals, files of samples, and folders.

    Args:
        sources: A folder stands for the files of samples in it, those in folders below it
            included, and for the journals of a storage folder.
        tasks: Finds the tasks of the journals' cases.

    Raises:
        BadSamples: A source holds no measured programs.
        StorageError: A journal is damaged.
    """
    for source in sources:
        files = sorted(_files(source))
        if not files:
            raise BadSamples(
                f"bad source {str(source)!r}: expected journals ({JOURNAL}) or samples "
                f"({SAMPLES}), e.g. .ansor_bench/journals/0001.jsonl"
            )
        for path in files:
            if path.suffix == SAMPLES:
                yield load_programs(path)
            else:
                yield from programs_of(read_journal(path), tasks)


def _files(source: Path) -> Iterator[Path]:
    if source.is_dir():
        # A folder of --ansor-learn holds experience as well, with the suffix of samples.
        yield from (path for path in source.rglob(f"*{SAMPLES}") if not is_experience(path))
        yield from filter(is_journal, source.rglob(f"*{JOURNAL}*"))
    elif source.suffix == ".json":
        raise BadSamples(
            f"bad source {str(source)!r}: a result does not keep programs; expected the journal "
            "of its session, e.g. .ansor_bench/journals/0001.jsonl"
        )
    elif source.suffix == SAMPLES and is_experience(source):
        raise BadSamples(
            f"bad source {str(source)!r}: the decisions that lie beside a model, not its samples; "
            f"expected journals ({JOURNAL}) or samples ({SAMPLES}), and the model as base"
        )
    elif source.suffix == SAMPLES or is_journal(source):
        yield source


def _card(
    plan: DraftTrainingPlan, data: Sequence[Programs], scores: dict[str, ProgramScores]
) -> dict[str, Any]:
    """What the model was made of, how, and how good it is.

    Nothing in it depends on when or where the fit was made: equal data give an equal card.
    """
    experience = experience_beside(plan.output)
    known = Experience(path=experience).known()
    return {
        "command": plan.command,
        "versions": {name: version(name) for name in ("apache-tvm", "xgboost", "numpy")},
        "model": _file(plan.output),
        "experience": {
            **_file(experience),
            "kinds": len(known),
            "trials": sum(len(trials.throughput) for trials in known.values()),
        },
        "base": None if plan.base is None else plan.base.name,
        "data": {
            "sha256": digest(data),
            "machines": sorted({one.machine for one in data}),
            "measuring_s": round(sum(one.search_s for one in data)),
            "programs": sum(len(one.latencies_s) for one in data),
            "failed": sum(int(np.isinf(one.latencies_s).sum()) for one in data),
            "tasks": {
                f"{one.case}: {one.task}" if one.task != one.case else one.case: len(
                    one.latencies_s
                )
                for one in data
            },
        },
        "fit": asdict(plan.settings),
        "scores": {
            name: {key: round(value, 4) for key, value in asdict(of_data).items()}
            for name, of_data in scores.items()
        },
    }


def _file(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _described(scores: ProgramScores) -> str:
    return (
        f"rank correlation {scores.rank_correlation:.2f}; best of 8 of 64 programs picked by the "
        f"model {100 * scores.picked:.0f}% of the task's best throughput, drawn at random "
        f"{100 * scores.drawn:.0f}%; {scores.tasks} tasks"
    )
