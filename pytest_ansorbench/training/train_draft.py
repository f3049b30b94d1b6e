"""From measured programs to what `draft+transfer` begins with: read, judge, fit, write."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from pytest_ansorbench.arrays import array_names
from pytest_ansorbench.storage import is_journal, read_journal
from pytest_ansorbench.strategies import Experience, load_program_model
from pytest_ansorbench.strategies.decisions.experience import is_experience, save_experience
from pytest_ansorbench.strategies.model_file import file_facts, write_card
from pytest_ansorbench.training.arrays import BadSamples, digest
from pytest_ansorbench.training.cards import library_versions, rounded
from pytest_ansorbench.training.experience import cross_predict_decisions, experience_of, joined
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


def train_draft(
    sources: Sequence[Path],
    output: Path,
    tasks: Tasks,
    *,
    command: str,
    settings: ProgramFitSettings,
    base: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Read, judge by cross-validation, fit, write model, experience and card; it is returned.

    The experience gets the model's name with `.npz`. `base` is a model to go on from, with its
    experience; `command` is for the card.
    """
    base_model = None if base is None else load_program_model(base)
    known = {} if base is None else Experience(path=experience_beside(base)).known()
    read: dict[str, Programs] = {}
    for programs in _read_programs(sources, tasks):
        # Journals and the samples made of them may lie in one folder.
        if read.setdefault(digest([programs]), programs) is programs:
            say(f"{programs.case}, {programs.task}: {len(programs.latencies_s)} programs")
    data = [*read.values()]
    scores = {}
    valid = [one for one in data if np.isfinite(one.latencies_s).any()]
    if len({one.subject for one in valid}) > 1:
        predicted = cross_predict_programs(valid, settings)
        scores["cross_validated"] = score_programs(valid, predicted)
        scores["decisions_cross_validated"] = score_programs(valid, cross_predict_decisions(valid))
    started_s = time.perf_counter()
    model = fit_programs(data, settings, base_model)
    fit_s = time.perf_counter() - started_s
    output.parent.mkdir(parents=True, exist_ok=True)
    # The model last: a folder with it is taken to have both.
    save_experience(joined(known, experience_of(data)), experience_beside(output))
    model.save(output)
    scores["training"] = score_programs(data, [model.predict(one.features) for one in data])
    # Of single programs there is nothing to tell; and JSON has no NaN.
    scores = {name: of_data for name, of_data in scores.items() if of_data.tasks}
    card: dict[str, Any] = {
        "command": command,
        "versions": library_versions(),
        "model": file_facts(output),
        "experience": _experience_facts(experience_beside(output)),
        "base": None if base is None else base.name,
        "data": _data_facts(data),
        "fit": asdict(settings),
        "scores": {name: rounded(asdict(of_data)) for name, of_data in scores.items()},
    }
    card_path = write_card(card, output)
    for name, of_data in scores.items():
        say(f"{name.replace('_', ' ')}: {_described(of_data)}")
    measured_s = card["data"]["measuring_s"]
    say(
        f"{output} and {card_path.name} written, {card['model']['bytes'] / 1e6:.2f} MB; "
        f"fitted in {fit_s:.1f} s to what took {measured_s:.0f} s to measure"
    )
    return card


def experience_beside(model: Path) -> Path:
    return model.with_suffix(".npz")


def _read_programs(sources: Sequence[Path], tasks: Tasks) -> Iterator[Programs]:
    """The measured programs of journals, files of samples, and folders.

    A folder stands for the files of samples in it, those in folders below it included, and for the
    journals of a storage folder.
    """
    for source in sources:
        files = sorted(files_of(source))
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


def files_of(source: Path) -> Iterator[Path]:
    """The files that are read of a source.

    Raises:
        BadSamples: It is something else.
    """
    if source.is_dir():
        for path in source.rglob(f"*{SAMPLES}"):
            # Experience, samples of rules and a network's weights have the same suffix. What cannot
            # be read is left for `load_programs` to refuse.
            if not (names := array_names(path)) or "latencies_s" in names:
                yield path
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


def _experience_facts(path: Path) -> dict[str, Any]:
    known = Experience(path=path).known()
    trials = sum(len(trials.throughput) for trials in known.values())
    return {**file_facts(path), "kinds": len(known), "trials": trials}


def _data_facts(data: Sequence[Programs]) -> dict[str, Any]:
    tasks: Counter[str] = Counter()
    for one in data:
        tasks[one.subject] += len(one.latencies_s)
    return {
        "sha256": digest(data),
        "machines": sorted({one.machine for one in data}),
        "measuring_s": round(sum(one.search_s for one in data)),
        "programs": tasks.total(),
        "failed": sum(int(np.isinf(one.latencies_s).sum()) for one in data),
        "tasks": dict(tasks),
    }


def _described(scores: ProgramScores) -> str:
    return (
        f"rank correlation {scores.rank_correlation:.2f}; best of 8 of 64 programs picked by the "
        f"model {100 * scores.picked:.0f}% of the task's best throughput, drawn at random "
        f"{100 * scores.drawn:.0f}%; {scores.tasks} tasks"
    )
