"""Which parts of `draft` does it need? Searches of recorded landscapes, dozens of seeds each.

    python benchmarks/draft_surrogate.py [--record JOURNAL ...] [--seeds N] [--trials N]
                                         [--variants NAME,NAME] [--landscapes FOLDER]
                                         [--strangers] [--case ID,ID] [--luck SHARE]

On a machine a search takes a minute, and one seed differs from the next by more than a part of it
does. So a surrogate plays the machine (Eggensperger et al., "Efficient Benchmarking of
Hyperparameter Optimizers via Surrogates", AAAI 2015): boosted trees that learnt the logarithm of
throughput from all programs that searches of an operator have measured, of all arms and seeds. All
else is real: sketches, drafts, replays. `--record` adds the programs of journals to
docs/results/draft-landscapes/; without it, every landscape there is searched by `draft` and by the
variants of `draft_ablations.py`. The tables show the best throughput after 8 to 256 trials relative
to the best of the landscape, as geometric means over the seeds, their standard error (of the
logarithm), and the 20th percentile of the final throughput (`worst fifth`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import xgboost
from draft_ablations import pytest_ansorbench_strategies
from numpy.typing import NDArray
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.search.candidates import unpack
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.storage import read_journal
from pytest_ansorbench.storage.entries import CaseEntry, RoundEntry
from pytest_ansorbench.strategies import (
    Draft,
    Observation,
    ProgramMaker,
    Registry,
    Setup,
    TargetSpace,
)
from pytest_ansorbench.strategies.decisions.experience import save_experience
from pytest_ansorbench.strategies.decisions.traced import TracedDesign, TracedSpace
from pytest_ansorbench.training import OTHER_FAMILIES, TRAINING
from pytest_ansorbench.training.experience import experience_of
from pytest_ansorbench.training.programs import Programs, load_programs

RESULTS: Final = Path(__file__).parent.parent / "docs" / "results"
LANDSCAPES: Final = RESULTS / "draft-landscapes"
SAMPLES: Final = RESULTS / "draft-samples"
"""Of the programs that the shipped experience was made of."""
AFTER: Final = (8, 16, 32, 64, 128, 256)
SEARCHED: Final = (
    "draft",
    "draft+transfer",
    "draft-guessed",
    "draft-crowded",
    "draft-tall",
    "draft-equal",
    "draft-whole",
    "draft-random-first",
    "draft-greedy",
    "draft-far",
)
"""`draft` and its variants that differ where there is neither compiler nor cost model."""
NOISE: Final = 0.01
"""Standard deviation of a measured latency, relative."""
LUCKY: Final = 1.76
"""Times that the luckiest leader of docs/results/draft-moe.json.gz looked as fast, beside the one
before, as when both were confirmed."""


@dataclass(frozen=True, eq=False)
class Landscape:
    """Programs of an operator, and how fast they were.

    Attributes:
        case: The operator's id.
        target: What it was compiled for.
        points: Of each program its sketch, its decisions and its GFLOP/s, 0 if it failed.
    """

    case: str
    target: dict[str, Any]
    points: list[tuple[int, list[Any], float]]

    @property
    def stage(self) -> Stage:
        """Its design space: vector units, and so guesses, are those of its machine."""
        cpu = {name: self.target[name] for name in ("kind", "mtriple", "mcpu")}
        cores = int(self.target["num-cores"])
        return Stage(self.case, resolve_target(json.dumps({**cpu, "num-cores": cores})))

    def write(self, folder: Path) -> Path:
        """Keep it, with what is there of the same operator and target."""
        path = folder / f"{self.case}.json.gz"
        before = read(path) if path.exists() else Landscape(self.case, self.target, [])
        if before.target != self.target:
            raise SystemExit(f"bad journal of {self.case}: expected {before.target}, as {path} has")
        known = {json.dumps(one): one for one in [*before.points, *self.points]}
        text = json.dumps(
            {"case": self.case, "target": self.target, "points": list(known.values())}
        )
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
        return path


def read(path: Path) -> Landscape:
    """A landscape that was kept."""
    return Landscape(**json.loads(gzip.decompress(path.read_bytes())))


class Stage:
    """The design space of a landscape's operator: what every search of it begins with."""

    def __init__(self, case: str, target: Any) -> None:
        from tvm.s_tir.meta_schedule import TuneContext

        register_intrinsics(target)
        [self.task] = workloads.get(case).tasks()
        self.target = target
        self.context = TuneContext(
            self.task.mod,
            target=target,
            space_generator=TargetSpace().start(target),
            task_name=self.task.name,
            rand_state=1,
        )
        self.sketches = self.context.generate_design_space()
        maker = ProgramMaker(self.context)
        self.spaces = [TracedSpace(i, one, maker) for i, one in enumerate(self.sketches)]
        self.design = TracedDesign(self.spaces, maker)

    def rows(self, notes: Sequence[tuple[int, list[Any]]]) -> NDArray[np.float32]:
        """Features of decisions; shape (points, columns)."""
        points = []
        for sketch, decisions in notes:
            vector = self.spaces[sketch].vector_of(decisions)
            assert vector is not None, "decisions of another version's sketches"
            points.append((sketch, vector))
        return self.design.rows(points)


class Surrogate:
    """Plays the machine: throughput from decisions, as deep trees learnt it from a landscape."""

    def __init__(self, landscape: Landscape, stage: Stage) -> None:
        self._stage = stage
        valid = [one for one in landscape.points if one[2] > 0.0]
        rows = stage.rows([(sketch, decisions) for sketch, decisions, _ in valid])
        data = xgboost.DMatrix(rows, label=np.log([gflops for *_, gflops in valid]))
        shape = {"max_depth": 7, "eta": 0.08, "subsample": 0.8, "colsample_bytree": 0.5}
        self._trees = [
            xgboost.train({**shape, "seed": seed}, data, num_boost_round=300) for seed in range(2)
        ]
        self.best_gflops = float(self.gflops([(one[0], one[1]) for one in valid]).max())

    def gflops(self, notes: Sequence[tuple[int, list[Any]]]) -> NDArray[np.float64]:
        """Throughput of decisions, without noise; shape (points,)."""
        rows = self._stage.rows(notes)
        logs = np.mean([trees.inplace_predict(rows) for trees in self._trees], axis=0)
        return np.asarray(np.exp(logs), dtype=np.float64)


def search(
    policy: Draft, stage: Stage, machine: Surrogate, *, seed: int, trials: int, luck: float = 0.0
) -> NDArray[np.float64]:
    """The best true throughput after each trial, over the best there is; shape (trials,).

    A share of the trials, `luck`, is measured `LUCKY` times as fast as it is.
    """
    from tvm.s_tir.meta_schedule.database import MemoryDatabase
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    setup = Setup(
        context=stage.context,
        sketches=stage.sketches,
        database=MemoryDatabase(),
        cost_model=None,
        budget_trials=trials,
        round_trials=32,
        rng=np.random.default_rng(seed),
    )
    noise = np.random.default_rng([seed, 1])
    proposer = policy.start(setup)
    found: list[float] = []
    while len(found) < trials:
        batch = proposer.propose(min(32, trials - len(found)))
        assert isinstance(batch, Sequence) and batch
        notes = [(one.payload["sketch"], one.payload["decisions"]) for one in batch]
        truth = machine.gflops(notes)
        lucky = noise.random(len(truth)) < luck
        seen = truth * np.exp(noise.normal(0.0, NOISE, len(truth))) * np.where(lucky, LUCKY, 1.0)
        results = [RunnerResult([stage.task.flops / one / 1e9], None) for one in seen.tolist()]
        proposer.learn(
            [
                Observation(one, result, note[0], gflops)
                for one, result, note, gflops in zip(
                    batch, results, notes, seen.tolist(), strict=True
                )
            ]
        )
        found += truth.tolist()
    return np.maximum.accumulate(found) / machine.best_gflops


def recorded(path: Path) -> Landscape:
    """The programs of all arms, as the journal of one operator has them."""
    past = read_journal(path)
    [case] = [one.case for one in past.entries if isinstance(one, CaseEntry)]
    stage = Stage(case, resolve_target(str(past.session.machine["target"])))
    index, points = SketchIndex(stage.sketches), []
    for entry in past.entries:
        if not isinstance(entry, RoundEntry):
            continue
        candidates = unpack(entry.state.candidates, stage.task.mod)
        for candidate, trial in zip(candidates, entry.trials, strict=True):
            sketch = index.of(candidate.trace)
            vector = stage.spaces[sketch].vector_in(candidate.trace)
            if vector is None:  # mutation may put a tile or a block where sampling does not
                continue
            gflops = stage.task.flops / trial.latency_s / 1e9 if trial.latency_s else 0.0
            points.append((sketch, stage.spaces[sketch].decisions_of(vector), round(gflops, 3)))
    target = {key: str(value) for key, value in stage.target.export().items()}
    return Landscape(stage.task.name, target, points)


def policies(names: Sequence[str]) -> dict[str, Draft]:
    """Proposers by the names of their strategies."""
    shipped = [Registry().get(name) for name in ("draft", "draft+transfer")]
    known = [*shipped, *pytest_ansorbench_strategies(None)]
    found = {one.name: one.proposer for one in known if isinstance(one.proposer, Draft)}
    return {name: found[name] for name in names}


def main() -> None:
    """Keep landscapes, or search those that are kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path, nargs="+", metavar="JOURNAL", help="keep these")
    parser.add_argument("--landscapes", type=Path, default=LANDSCAPES, metavar="FOLDER")
    parser.add_argument("--case", metavar="ID,ID", help="search these landscapes only")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument(
        "--luck",
        type=float,
        default=0.0,
        metavar="SHARE",
        help=f"trials that look {LUCKY} times as fast",
    )
    parser.add_argument(
        "--strangers",
        action="store_true",
        help="experience knows nothing of the family of a landscape's operator",
    )
    parser.add_argument("--variants", default=",".join(SEARCHED))
    given = parser.parse_args()
    if given.record:
        for path in given.record:
            print(recorded(path).write(given.landscapes), flush=True)
        return
    names = given.variants.split(",")
    after = [trials for trials in AFTER if trials <= given.trials]
    paths = sorted(given.landscapes.glob("*.json.gz"))
    if given.case:
        paths = [given.landscapes / f"{case}.json.gz" for case in given.case.split(",")]
    job = partial(
        searched,
        names=names,
        seeds=given.seeds,
        trials=given.trials,
        luck=given.luck,
        strangers=given.strangers,
    )
    of_all: dict[str, list[NDArray[np.float64]]] = {name: [] for name in names}
    # A process a core: threads of several waiting for each other take ten times as long.
    os.environ["OMP_THREAD_LIMIT"] = "1"
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as processes:
        for path, runs in zip(paths, processes.map(job, paths), strict=True):
            landscape = read(path)
            print(f"\n{landscape.case}, {len(landscape.points)} programs")
            print(table([row(name, runs[name], after) for name in names], after), flush=True)
            for name in names:
                of_all[name].append(runs[name])
    rows = [row(name, np.concatenate(runs), after) for name, runs in of_all.items() if runs]
    print(f"\nall\n{table(rows, after)}")


def searched(
    path: Path, *, names: Sequence[str], seeds: int, trials: int, luck: float, strangers: bool
) -> dict[str, NDArray[np.float64]]:
    """The runs of each variant on one landscape, each of shape (seeds, trials)."""
    landscape = read(path)
    stage = landscape.stage
    machine = Surrogate(landscape, stage)
    with TemporaryDirectory() as folder:
        chosen = policies(names)
        if strangers:
            file = Path(folder) / "others.npz"
            save_experience(experience_of(others_than(landscape.case)), file)
            chosen = {name: told_by(file, policy) for name, policy in chosen.items()}
        return {
            name: np.array(
                [
                    search(policy, stage, machine, seed=seed, trials=trials, luck=luck)
                    for seed in range(seeds)
                ]
            )
            for name, policy in chosen.items()
        }


def others_than(case: str) -> list[Programs]:
    """Samples of the families that a case does not belong to."""
    family = type(workloads.get(case))
    relatives = {one.id for one in (*TRAINING, *OTHER_FAMILIES) if type(one) is family}
    data = map(load_programs, sorted(SAMPLES.glob("*.npz")))
    return [one for one in data if one.case not in relatives]


def told_by(file: Path, policy: Draft) -> Draft:
    """A policy with this experience in the place of what it has, if it has any."""
    experience = policy.experience
    return (
        policy if experience is None else replace(policy, experience=replace(experience, path=file))
    )


def row(name: str, runs: NDArray[np.float64], after: Sequence[int]) -> list[Any]:
    """Geometric means over runs, and how good all but the worst fifth are in the end."""
    logs = np.log(runs[:, [trials - 1 for trials in after]])
    error = logs[:, -1].std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
    worst = np.quantile(runs[:, -1], 0.2)
    return [name, *np.exp(logs.mean(axis=0)).tolist(), float(error), float(worst)]


def table(rows: Sequence[Sequence[Any]], after: Sequence[int]) -> str:
    """A line for each variant."""
    columns = ["searched by", *(f"{trials} trials" for trials in after), "+-", "worst fifth"]
    return tabulate(rows, columns, floatfmt=".3f")


if __name__ == "__main__":
    main()
