"""The table of figures: what every entry has to satisfy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

from pytest_ansorbench.records import IMPLEMENTATIONS
from pytest_ansorbench.stats.evidence import observed
from pytest_ansorbench.stats.figures import FIGURES, PEERS, gates_per_case
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.stats.test_evidence import JITTER
from tests.stats.test_evidence import paired as without_libraries
from tests.synthetic import make_peer

LIMITED = [key for key, figure in FIGURES.items() if figure.limit_word]


def paired(factor: float = 1.0) -> PairedRuns:
    """Five pairs of runs, libraries beside them; the challenger's kernels slower by a factor."""
    bare = without_libraries(final=factor)
    return dataclasses.replace(
        bare, reference=beside(bare.reference), challenger=beside(bare.challenger)
    )


def beside(arm: Sequence[Trajectory]) -> list[Trajectory]:
    return [
        dataclasses.replace(
            one,
            run=dataclasses.replace(one.run, peers=tuple(make_peer(name, final) for name in PEERS)),
        )
        for one, final in zip(arm, JITTER, strict=True)
    ]


@pytest.mark.parametrize("key", FIGURES)
def test_an_improved_run_has_the_figure_better_by_the_factor(key: str) -> None:
    figure, before = FIGURES[key], paired()
    measure = figure.measure()
    better = dataclasses.replace(
        before, challenger=[measure.improved(run, 2.0) for run in before.challenger]
    )
    ratio = observed(figure, better) / observed(figure, before)
    assert ratio == pytest.approx(0.5 if figure.sense == "smaller" else 2.0)


@pytest.mark.parametrize("key", FIGURES)
def test_values_are_the_figure_in_each_draw(key: str) -> None:
    drawn = np.array([[0, 1, 2, 3, 4], [0, 0, 0, 0, 0], [4, 3, 2, 1, 0]])
    values = FIGURES[key].measure().values(paired(), drawn)
    assert values.shape == (3,)
    assert values[2] == pytest.approx(values[0])


@pytest.mark.parametrize("key", LIMITED)
def test_a_limit_holds_the_figure_that_a_change_compares(key: str) -> None:
    figure, runs = FIGURES[key], paired(1.1)
    estimate = figure.limited().estimate(runs, 0.95)
    assert estimate.value == pytest.approx(observed(figure, runs))
    assert estimate.low < estimate.value < estimate.high
    spread = figure.limited().spread(runs)
    assert spread is not None
    assert 0.0 < spread < math.inf


@pytest.mark.parametrize("key", LIMITED)
def test_the_chance_falls_as_the_limit_gets_stricter(key: str) -> None:
    figure, runs = FIGURES[key], paired(1.1)
    strict, loose = (0.1, 10.0) if figure.sense == "smaller" else (10.0, 0.1)
    assert figure.limited().chance(runs, strict, 0.01) < 0.05
    assert figure.limited().chance(runs, loose, 0.01) > 0.5


def test_all_libraries_have_a_figure_and_tvm_s_own_programs_none() -> None:
    assert {f"over_{library.replace('-', '_')}" for library in PEERS} <= {*FIGURES}
    assert {*IMPLEMENTATIONS} - {*PEERS} == {"untuned", "first"}


def test_a_library_that_a_repeat_lacks_has_no_figure() -> None:
    runs = paired()
    bare = dataclasses.replace(runs.reference[0].run, peers=())
    lacking = dataclasses.replace(runs, reference=[Trajectory.of(bare), *runs.reference[1:]])
    measure = FIGURES["over_torch"].limited()
    assert measure.estimate(lacking, 0.95).bound == "undefined"
    assert (measure.chance(lacking, 1.0, 0.01), measure.spread(lacking)) == (1.0, None)
    assert not measure.one_sided(lacking, 1.0) and measure.strata(lacking) == ()


def test_words_of_limits_are_unique() -> None:
    words = [figure.limit_word for figure in FIGURES.values() if figure.limit_word]
    assert len(set(words)) == len(words)


def test_gates_are_one_for_each_arm_that_has_the_figure() -> None:
    assert gates_per_case(["search_ratio", "throughput"], 3) == 2 + 3
    assert gates_per_case(["search_ratio", "throughput"], 1) == 0 + 1
    assert gates_per_case(["search_ratio", "search_ratio"], 2) == 2
