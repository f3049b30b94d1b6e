"""What papers report of searches, and what `draft` is made of, replayed on the shipped landscapes.

    python benchmarks/findings.py [--landscapes FOLDER] [--case ID,ID] [--repeats N] [--trials N]
                                  [--arms NAME,NAME]

Each arm searches each landscape with every seed. The first table shows the best throughput after 8
to 128 trials over that of the fastest program that any arm has found, as geometric means over the
runs, and the 20th percentile of the last one. The second compares pairs of arms over all landscapes
as `ansor-bench tournament` does. Models that are told of programs get the features of all points
beforehand, which takes TVM. Nothing is timed, and equal landscapes give equal tables.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
from draft_ablations import pytest_ansorbench_strategies
from landscapes import INTO, add_choice, chosen
from numpy.typing import NDArray
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.programs import design_anew, point_of
from pytest_ansorbench.landscapes.recorded import RecordedDesign
from pytest_ansorbench.landscapes.records import Landscape, configurations
from pytest_ansorbench.landscapes.replaying import Plan, replay
from pytest_ansorbench.records import Result
from pytest_ansorbench.report.wording import estimate_text
from pytest_ansorbench.stats.contests import contests_of
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.duels import Duel
from pytest_ansorbench.strategies import (
    AutoTVM,
    Bagged,
    Chains,
    DecisionInputs,
    Diversity,
    Draft,
    ExpectedImprovement,
    Experience,
    ModelInputs,
    NestInputs,
    RankingTrees,
    Registry,
    Strategy,
    UpperConfidenceBound,
)
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.encoding import Trials
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.training import OTHER_FAMILIES, TRAINING
from pytest_ansorbench.training.experience import experience_of
from pytest_ansorbench.training.programs import load_programs

SAMPLES: Final = INTO.parent / "draft-samples"
"""Of the programs that the shipped experience was made of."""
AFTER: Final = (8, 16, 32, 64, 128)
ROUND: Final = 32
REGRESSION: Final = RankingTrees("regression")
SHORT: Final[Chains] = Registry().get("autotvm-relations").proposer.chains
"""Of the strategies whose models are told of programs."""

ARMS: Final[dict[str, AutoTVM]] = {
    "random-points": AutoTVM(random_share=1.0),
    "autotvm-regression": AutoTVM(model=REGRESSION),
    "autotvm-1": AutoTVM(diversity=Diversity(ratio=1)),
    "autotvm-4": AutoTVM(diversity=Diversity(ratio=4)),
    "autotvm-greedy": AutoTVM(random_share=0.0),
    "autotvm-mean": AutoTVM(model=Bagged(REGRESSION)),
    "autotvm-ei": AutoTVM(model=Bagged(REGRESSION, ExpectedImprovement())),
    "autotvm-ucb": AutoTVM(model=Bagged(REGRESSION, UpperConfidenceBound())),
    "autotvm-short": AutoTVM(chains=SHORT),
    "autotvm-nests": AutoTVM(inputs=NestInputs(), chains=SHORT),
}
"""Beside the strategies that ship."""
PAIRS: Final = (
    ("ranks, not throughput", "autotvm", "autotvm-regression"),
    ("2 candidates a trial, not 1", "autotvm", "autotvm-1"),
    ("4 candidates a trial, not 2", "autotvm-4", "autotvm"),
    ("a twentieth at random, not none", "autotvm", "autotvm-greedy"),
    ("what other tasks have shown", "autotvm+transfer", "autotvm"),
    ("expected improvement, not mean", "autotvm-ei", "autotvm-mean"),
    ("confidence bound, not mean", "autotvm-ucb", "autotvm-mean"),
    ("a model, not a genetic search", "autotvm", "genetic"),
    ("a model, not annealing alone", "autotvm", "annealing"),
    ("a model, not chance", "autotvm", "random-points"),
    ("TreeGRU on loops, not trees", "autotvm-treegru", "autotvm-nests"),
    ("relations, not decisions", "autotvm-relations", "autotvm-short"),
    ("loops, not decisions", "autotvm-nests", "autotvm-short"),
    ("draft, not autotvm", "draft", "autotvm"),
    ("draft, not chance", "draft", "random-points"),
    ("draft with what other tasks have shown", "draft+transfer", "draft"),
    ("draft with what other families have shown", "draft+others", "draft"),
    ("draft with the opposite", "draft+inverted", "draft"),
    ("the same, believed", "credulous+inverted", "draft"),
    ("draft whose experience favours a sketch", "draft+partial", "draft"),
    ("draft without a model", "draft-guessed", "draft"),
    ("draft without a guess", "draft-random-first", "draft"),
    ("draft with tall trees", "draft-tall", "draft"),
    ("draft whose shares stay equal", "draft-equal", "draft"),
    ("draft whose batches do not grow", "draft-whole", "draft"),
    ("draft that does not explore", "draft-greedy", "draft"),
    ("draft without neighbours", "draft-far", "draft"),
)
"""A question, the arm that is asked about, and what it is compared with."""
NAMES: Final = tuple(dict.fromkeys(name for _, *pair in PAIRS for name in pair))


@dataclass(frozen=True, eq=False)
class Told:
    """Features of the program of each point, made beforehand; shape (points, columns)."""

    rows: NDArray[np.float32]

    def start(self, space: DesignSpace) -> Callable[[Sequence[Point]], NDArray[np.float32]]:
        """What looks them up."""
        assert isinstance(space, RecordedDesign)
        place = space.place
        return lambda points: self.rows[[place(point) for point in points]]


@dataclass(frozen=True)
class OfOthers(Experience):
    """Knows nothing of the family of a case."""

    case: str = ""

    def known(self) -> Mapping[str, Trials]:
        """Trials by kind of sketch."""
        family = type(workloads.get(self.case))
        relatives = {one.id for one in (*TRAINING, *OTHER_FAMILIES) if type(one) is family}
        return without(frozenset(relatives))


@cache
def without(cases: frozenset[str]) -> Mapping[str, Trials]:
    """Experience from the samples of all other cases."""
    data = map(load_programs, sorted(SAMPLES.glob("*.npz")))
    return experience_of([one for one in data if one.case not in cases])


def told(landscape: Landscape, inputs: ModelInputs) -> Told:
    """What a model is told of a landscape's programs."""
    design, _ = design_anew(landscape)
    points = [point_of(design, one) for one in configurations(landscape.subject)]
    return Told(inputs.start(design)(points))


def strategies(landscape: Landscape, names: Sequence[str]) -> list[Strategy]:
    """Arms by their names, as they search a landscape."""
    registry = Registry()
    known = {one.name: one for one in (*pytest_ansorbench_strategies(None), *registry)}
    known |= {name: Strategy(name, proposer=policy) for name, policy in ARMS.items()}
    draft = known["draft+transfer"]
    assert isinstance(draft.proposer, Draft)
    others = replace(draft.proposer, experience=OfOthers(case=landscape.subject.case))
    known["draft+others"] = replace(draft, name="draft+others", proposer=others)
    tell = cache(partial(told, landscape))
    return [informed(known[name], tell) for name in names]


def informed(strategy: Strategy, tell: Callable[[ModelInputs], Told]) -> Strategy:
    """The strategy, told beforehand what its model would have to make programs for."""
    policy = strategy.proposer
    if not isinstance(policy, AutoTVM) or isinstance(policy.inputs, DecisionInputs):
        return strategy
    return replace(strategy, proposer=replace(policy, inputs=tell(policy.inputs)))


def searched(path: Path, names: Sequence[str], plan: Plan) -> Result:
    """All runs on one landscape."""
    landscape = read_landscape(path)
    return replay([landscape], strategies(landscape, names), plan)


def curves(results: Sequence[Result], names: Sequence[str], trials: int) -> str:
    """The first table."""
    after = [one for one in AFTER if one <= trials]
    shares: dict[str, list[list[float]]] = {name: [] for name in names}
    for contest in contests_of(results, Criteria()):
        best_s = min(run.best_s for name in names for run in contest.runs_of(name))
        for name in names:
            shares[name] += [
                [best_s / run.best_after(one) for one in after] for run in contest.runs_of(name)
            ]
    rows = [
        [
            name,
            *np.exp(np.log(found).mean(axis=0)).tolist(),
            np.quantile(np.array(found)[:, -1], 0.2),
        ]
        for name, found in shares.items()
    ]
    rows.sort(key=lambda row: -row[-2])
    columns = ["searched by", *(f"{one} trials" for one in after), "worst fifth"]
    return tabulate(rows, columns, floatfmt=".3f")


def comparisons(results: Sequence[Result], names: Sequence[str]) -> str:
    """The second table."""
    criteria = Criteria()
    contests, rows = contests_of(results, criteria), []
    for question, challenger, reference in PAIRS:
        if not {challenger, reference} <= {*names}:
            continue
        duel = Duel.of(contests, reference, challenger, criteria)
        figures = [
            estimate_text(duel.estimate(key, criteria.confidence))
            for key in ("search_ratio_trials", "search_ratio", "throughput_ratio")
        ]
        rows.append([question, challenger, reference, *figures])
    columns = ["question", "arm", "beside", "S_trials", "S", "throughput ratio"]
    return tabulate(rows, columns, disable_numparse=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add_choice(parser)
    parser.add_argument("--repeats", type=int, default=8, help="(default: %(default)s)")
    parser.add_argument("--trials", type=int, default=128, help="(default: %(default)s)")
    parser.add_argument("--arms", default=",".join(NAMES), metavar="NAME,NAME")
    given = parser.parse_args()
    names: list[str] = given.arms.split(",")
    paths = chosen(given)
    plan = Plan(given.trials, ROUND, given.repeats)
    job: Callable[[Path], Any] = partial(searched, names=names, plan=plan)
    # A process a core: threads of several waiting for each other take ten times as long.
    os.environ["OMP_THREAD_LIMIT"] = "1"
    results = []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as processes:
        for path, result in zip(paths, processes.map(job, paths), strict=True):
            print(f"searched {path.name}", file=sys.stderr, flush=True)
            results.append(result)
    print(f"{len(paths)} landscapes, {given.trials} trials, {given.repeats} repeats\n")
    print(curves(results, names, given.trials), end="\n\n")
    print(comparisons(results, names))


if __name__ == "__main__":
    main()
