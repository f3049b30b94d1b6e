"""Which cost model puts programs in the right order? On the landscapes that ship.

    python benchmarks/rank_accuracy.py [--landscapes FOLDER] [--case ID,ID]

Of each landscape 768 programs are drawn at random. Each model is trained on the first 64, 128 and
256 of them, and scores the last 512. The table shows, as means over the landscapes, Spearman's
correlation of scores and throughput; and how many of the fastest tenth are in the tenth that is
scored best. Failed programs have a throughput of 0. Nothing is timed, and equal landscapes give
equal tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from landscapes import add_choice, chosen
from numpy.typing import NDArray
from scipy.stats import spearmanr
from tabulate import tabulate

from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.programs import design_anew, point_of
from pytest_ansorbench.landscapes.recorded import RecordedDesign
from pytest_ansorbench.landscapes.records import Landscape
from pytest_ansorbench.strategies import (
    Bagged,
    BoostedTrees,
    CostModelPolicy,
    DecisionInputs,
    DecisionModelPolicy,
    ExpectedImprovement,
    LoopInputs,
    ModelInputs,
    NestInputs,
    RankingTrees,
    RelationInputs,
    ScheduledProgram,
    SegmentMLP,
    TreeGRU,
    UpperConfidenceBound,
    XGBoostModel,
)
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.decisions.traced import TracedDesign

TRAINED_ON: Final = (64, 128, 256)
JUDGED_BY: Final = 512
TOP: Final = 0.1

INPUTS: Final[dict[str, ModelInputs]] = {
    "decisions": DecisionInputs(),
    "stores": LoopInputs(),
    "loops": NestInputs(),
    "relations": RelationInputs(),
}
REGRESSION: Final = RankingTrees("regression")
ROWS: Final[list[tuple[str, str, DecisionModelPolicy | CostModelPolicy]]] = [
    *(("trees, rank", name, RankingTrees()) for name in INPUTS),
    *(("trees, regression", name, REGRESSION) for name in INPUTS),
    ("bagged trees, mean", "decisions", Bagged(REGRESSION)),
    ("bagged trees, expected improvement", "decisions", Bagged(REGRESSION, ExpectedImprovement())),
    ("bagged trees, confidence bound", "decisions", Bagged(REGRESSION, UpperConfidenceBound())),
    ("draft's trees", "decisions", BoostedTrees()),
    ("TreeGRU, rank", "loops", TreeGRU()),
    ("TreeGRU, regression", "loops", TreeGRU("regression")),
    ("MetaSchedule's trees", "all stores", XGBoostModel(warmup_samples=1)),
    ("MetaSchedule's network", "all stores", SegmentMLP()),
]
"""Models, and what they are told; of MetaSchedule's, nothing is pooled."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """Programs of a landscape, drawn at random, and how fast they were."""

    design: TracedDesign
    points: list[Point]
    programs: list[ScheduledProgram]
    gflops: NDArray[np.float64]
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def rows(self, told: str) -> NDArray[np.float32]:
        """What a model is told of the programs, made once."""
        if told not in self.known:
            self.known[told] = INPUTS[told].start(self.design)(self.points)
        return self.known[told]

    @classmethod
    def of(cls, landscape: Landscape, count: int) -> Recorded:
        """So many different programs, or all if there are fewer."""
        design, _ = design_anew(landscape)
        every = RecordedDesign(landscape)
        order = np.random.default_rng(0).permutation(len(every.different))[:count]
        records = [every.record(every.different[at]) for at in order]
        points = [point_of(design, one.configuration) for one in records]
        programs = [design.program(point) for point in points]
        assert None not in programs, "programs of another version's sketches"
        flops = landscape.subject.task.flops
        gflops = [flops / one.latency_s / 1e9 for one in records]
        return cls(design, points, [one for one in programs if one], np.array(gflops))


def scored(recorded: Recorded, told: str, policy: Any, first: int) -> NDArray[np.float64]:
    """Scores of the programs to judge by, by a model that is trained on the first ones."""
    if told not in INPUTS:
        return answered(recorded, policy.start(), first)
    rows = recorded.rows(told)
    share = recorded.gflops[:first] / recorded.gflops[:first].max()
    model = policy.fit(rows[:first], share, np.ones(first), seed=0)
    return np.asarray(model.predict(rows[max(TRAINED_ON) :]))


def answered(recorded: Recorded, model: Any, first: int) -> NDArray[np.float64]:
    """The same by one of MetaSchedule's cost models."""
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    candidates = [one.candidate().measure_candidate for one in recorded.programs]
    results = [
        RunnerResult([1.0 / one], None) if one > 0.0 else RunnerResult(None, "failed")
        for one in recorded.gflops[:first].tolist()
    ]
    context = recorded.design.maker.context
    model.update(context, candidates[:first], results)
    return np.asarray(model.predict(context, candidates[max(TRAINED_ON) :]))


def accuracy(scores: NDArray[np.float64], gflops: NDArray[np.float64]) -> tuple[float, float]:
    """The rank correlation, and the share of the fastest tenth in the tenth scored best."""
    count = max(1, round(TOP * len(gflops)))
    found = {*np.argsort(-scores)[:count]} & {*np.argsort(-gflops)[:count]}
    return float(spearmanr(scores, gflops).statistic), len(found) / count


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add_choice(parser)
    paths = chosen(parser.parse_args())
    print(f"{len(paths)} landscapes")
    count = max(TRAINED_ON) + JUDGED_BY
    print(table([figures(Recorded.of(read_landscape(path), count)) for path in paths]))


def table(found: Sequence[Sequence[Sequence[tuple[float, float]]]]) -> str:
    """A line for each model: means over the landscapes."""
    means = np.mean(found, axis=0).transpose(0, 2, 1).reshape(len(ROWS), -1)
    columns = [f"{kind} {first}" for kind in ("rank", "top") for first in TRAINED_ON]
    rows = [[model, told, *row] for (model, told, _), row in zip(ROWS, means, strict=True)]
    return tabulate(rows, ["model", "inputs", *columns], floatfmt=".3f")


def figures(recorded: Recorded) -> list[list[tuple[float, float]]]:
    """The accuracy of each model after each number of programs."""
    return [
        [
            accuracy(scored(recorded, told, policy, first), recorded.gflops[max(TRAINED_ON) :])
            for first in TRAINED_ON
        ]
        for _, told, policy in ROWS
    ]


if __name__ == "__main__":
    main()
