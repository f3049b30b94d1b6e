"""Samples for the model of mutation rules: programs of a tuned workload, mutated by every rule."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import (
    POOLED,
    Evolution,
    ProgramMaker,
    ScheduledProgram,
    Setup,
    Strategy,
    XGBoostModel,
    draw_seed,
    extract,
    extractor_of,
    is_blind,
    mutate,
    pool,
    stock_weights,
    undecided,
)
from pytest_ansorbench.training.arrays import BadSamples, Like, load_arrays, save_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.workloads.case import Case

# Candidates whose features are held in memory at a time.
_BATCH: Final = 512


_LIKE: Final[Like] = {
    **{"case": (np.str_, ()), "settings": (np.str_, ()), "rules": (np.str_, ("rules",))},
    "weights": (np.floating, ("rules",)),
    "features": (np.floating, ("programs", POOLED)),
    "scores": (np.floating, ("programs",)),
    "mutant_scores": (np.floating, ("programs", "rules", "draws")),
    "inapplicable": (np.integer, ("programs", "rules")),
}


class MixedSamples(BadSamples):
    """Samples in one folder that were collected in different ways."""


@dataclass(frozen=True, eq=False)
class Samples:
    """What one workload contributes to the data set.

    A score is throughput over the workload's best, as its own cost model predicts it after a
    search.
    """

    case: str
    # How it was collected, so that what was collected otherwise is not mixed in.
    settings: str
    rules: tuple[str, ...]
    # Stock weights of the rules, shape (rules,).
    weights: NDArray[np.float64]
    # Pooled, shape (programs, 493).
    features: NDArray[np.float32]
    # Of the programs, shape (programs,).
    scores: NDArray[np.float32]
    # Shape (programs, rules, draws); NaN where a rule found nothing to change or made no valid
    # program.
    mutant_scores: NDArray[np.float32]
    # Draws in which a rule found nothing to change, shape (programs, rules).
    inapplicable: NDArray[np.int64]

    @property
    def mutable(self) -> NDArray[np.bool_]:
        """Whether any rule found anything to change in a program, shape (programs,)."""
        draws = self.mutant_scores.shape[2]
        changeable: NDArray[np.bool_] = (self.inapplicable < draws).any(axis=1)
        return changeable


def load_samples(path: Path) -> Samples:
    arrays = load_arrays(path, _LIKE)
    return Samples(**{**arrays, "rules": tuple(arrays["rules"].tolist())})


@dataclass(frozen=True)
class Effort:
    """How much is collected from each workload."""

    # Measured to train the workload's cost model, whose scores make the labels.
    trials: int = 96
    round_trials: int = 32
    # Half of them drawn at random and the best measured ones, half bred from these as in a search.
    programs: int = 160
    # Mutations of each program by each rule.
    draws: int = 4

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise ValueError(f"bad {name} {value}: expected at least 1, e.g. 4")


def collect(
    folder: Path,
    cases: Sequence[Case],
    effort: Effort,
    *,
    seed: int,
    target: str | None,
    say: Callable[[str], None],
) -> list[Samples]:
    """The samples of workloads of one task, read from a folder where they are there.

    Interrupted, it leaves those of every finished workload. `target` is TVM's, or None for this
    machine's CPU.

    Raises:
        BadSamples: Too few trials of a workload are valid, or none of its programs.
        MixedSamples: What is in the folder was collected otherwise.
    """
    from pytest_ansorbench.environment import resolve_target
    from pytest_ansorbench.measure.local.engine import local_engine
    from pytest_ansorbench.measure.settings import EngineSettings

    asked = ", ".join(f"{name}={value}" for name, value in asdict(effort).items())
    ending = "" if target is None else f", target={resolve_target(target)}"
    folder.mkdir(parents=True, exist_ok=True)
    paths = {case.id: folder / f"{case.id}.npz" for case in cases}
    data = {name: load_samples(path) for name, path in paths.items() if path.exists()}
    ours, seeded = f"{asked}, seed={seed}", f", seed={seed}, "
    for known in {one.settings for one in data.values()}:
        if not (known.startswith(f"{asked}, ") and seeded in known and known.endswith(ending)):
            _require_equal(folder, {known, ours + ending})
    if missing := [case for case in cases if case.id not in data]:
        with local_engine(target, EngineSettings()) as engine:
            settings = f"{ours}, target={engine.target}"
            _require_equal(folder, {*(one.settings for one in data.values()), settings})
            for index, case in enumerate(missing, start=1):
                started_s = time.monotonic()
                say(f"{index}/{len(missing)} {case.id}: {effort.trials} trials ...")
                setup = _tuned(case, engine, effort, seed)
                mutations = _Mutations(setup, random.Random(seed))
                samples = mutations.samples(case.id, settings, effort)
                if is_blind(setup.cost_model) and samples.mutable.any():
                    raise BadSamples(
                        f"bad samples of {case.id}: too few of {effort.trials} trials are valid to "
                        "train its cost model; give more trials"
                    )
                data[case.id] = samples
                save_arrays(samples, paths[case.id])
                say(
                    f"{index}/{len(missing)} {case.id}: {len(samples.scores)} programs, "
                    f"{valid_mutants(samples)} mutants, {time.monotonic() - started_s:.0f} s"
                )
    _require_equal(folder, {one.settings for one in data.values()})
    return [data[case.id] for case in cases]


def valid_mutants(samples: Samples) -> int:
    return int(np.isfinite(samples.mutant_scores).sum())


def _require_equal(folder: Path, settings: set[str]) -> None:
    if len(settings) > 1:
        raise MixedSamples(
            f"bad samples in {folder}: they were collected in different ways "
            f"({'; '.join(sorted(settings))})"
        )


def _tuned(case: Case, engine: Engine, effort: Effort, seed: int) -> Setup:
    """Search, and keep the setup with its database and trained cost model."""
    proposer = Evolution(population=128, generations=2, blind_generations=0)
    warmup = max(1, min(effort.round_trials, effort.trials // 2))
    search = Search(
        case,
        case.tasks(),
        Strategy("collect", proposer, cost_model=XGBoostModel(warmup)),
        engine,
        seed=seed,
        budget_trials=effort.trials,
        round_trials=effort.round_trials,
    )
    while not search.finished:
        search.step()
    return search.tasks[0].setup


class _Mutations:
    """Programs of one task, and the mutants that every rule makes of them."""

    def __init__(self, setup: Setup, source: random.Random) -> None:
        self._setup = setup
        self._source = source
        self._maker = ProgramMaker(setup.context)
        self._mutators = list(setup.context.space_generator.mutator_probs)
        self._weights = stock_weights(setup.context)

    def samples(self, case: str, settings: str, effort: Effort) -> Samples:
        programs = self._bred(effort.programs)
        features, scores = self._seen(programs)
        shape = (len(programs), len(self._weights), effort.draws)
        jobs = [
            (programs[program], rule, (draw_seed(self._source), draw_seed(self._source)))
            for program, rule, _ in np.ndindex(shape)
        ]
        outcomes = self._maker.map(self._mutant, jobs)
        applied = np.array([found for _, found in outcomes]).reshape(shape)
        mutant_scores = np.full(len(jobs), np.nan, np.float32)
        valid = [program for program, _ in outcomes if program is not None]
        mutant_scores[[program is not None for program, _ in outcomes]] = self._seen(valid)[1]
        return Samples(
            case=case,
            settings=settings,
            rules=tuple(self._weights),
            weights=np.array([*self._weights.values()]),
            features=features,
            scores=scores,
            mutant_scores=mutant_scores.reshape(shape),
            inapplicable=(~applied).sum(axis=2).astype(np.int64),
        )

    def _bred(self, count: int) -> list[ScheduledProgram]:
        """Half drawn and measured programs, half mutants of these, parents drawn by score."""
        setup, source = self._setup, self._source
        workload = setup.database.commit_workload(setup.context.mod)
        best = setup.database.get_top_k(workload, count // 6)
        first = self._maker.recall([record.trace for record in best])
        sketches = undecided(setup.sketches)
        drawn = [sketches[i % len(sketches)] for i in range(count // 2 - len(first))]
        first += self._maker.sample(drawn, [draw_seed(source) for _ in drawn])
        if not first:
            raise BadSamples("no program of the workload is valid: ask for more programs")
        _, scores = self._seen(first)
        parents = source.choices(first, [float(score) + 1e-6 for score in scores], k=count // 2)
        rules = source.choices(range(len(self._weights)), [*self._weights.values()], k=len(parents))
        seeds = [(draw_seed(source), draw_seed(source)) for _ in parents]
        bred = self._maker.map(self._mutant, list(zip(parents, rules, seeds, strict=True)))
        return first + [child for child, _ in bred if child is not None]

    def _mutant(
        self, job: tuple[ScheduledProgram, int, tuple[int, int]]
    ) -> tuple[ScheduledProgram | None, bool]:
        """A mutant, if it is valid; and whether the rule found anything to change."""
        parent, rule, (rule_seed, replay_seed) = job
        trace = mutate(self._mutators[rule], parent.schedule.trace, rule_seed)
        if trace is None:
            return None, False
        return self._maker.replay(trace, replay_seed), True

    def _seen(
        self, programs: Sequence[ScheduledProgram]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Pooled features, and the cost model's scores."""
        context, model = self._setup.context, self._setup.cost_model
        assert model is not None
        features, scores = [np.zeros((0, POOLED), np.float32)], [np.zeros(0, np.float32)]
        for start in range(0, len(programs), _BATCH):
            batch = [
                program.candidate().measure_candidate
                for program in programs[start : start + _BATCH]
            ]
            scores.append(np.maximum(model.predict(context, batch), 0.0).astype(np.float32))
            features.append(pool(extract(extractor_of(model), context, batch)))
        return np.concatenate(features), np.concatenate(scores)
