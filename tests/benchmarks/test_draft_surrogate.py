"""Recorded landscapes, and the searches of `benchmarks/draft_surrogate.py` on them."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.strategies import Draft
from pytest_ansorbench.workloads import OPERATORS


@pytest.fixture
def script(import_script):
    """The command."""
    return import_script("draft_surrogate")


def test_kept_landscapes_are_of_shipped_operators(script):
    paths = sorted(script.LANDSCAPES.glob("*.json.gz"))
    assert paths
    for path in paths:
        landscape = script.read(path)
        assert landscape.case in {case.id for case in OPERATORS}
        assert path.name == f"{landscape.case}.json.gz"
        assert len(landscape.points) >= 256
        assert all(gflops >= 0.0 for *_, gflops in landscape.points)


def test_a_landscape_keeps_each_program_once(script, tmp_path):
    folder = tmp_path / "kept"
    one, other = (0, [[4, 4], 1], 2.5), (1, [[2, 8], 0], 0.0)
    case, target = OPERATORS[0].id, {"kind": "llvm"}
    script.Landscape(case, target, [one]).write(folder)
    path = script.Landscape(case, target, [one, other]).write(folder)
    assert [tuple(point) for point in script.read(path).points] == [one, other]


def test_a_search_climbs_a_landscape_and_a_seed_repeats_itself(script, target):
    [path] = script.LANDSCAPES.glob("matmul*.json.gz")
    landscape = script.read(path)
    stage = script.Stage(landscape.case, target)
    machine = script.Surrogate(landscape, stage)
    policy = Draft()
    best = script.search(policy, stage, machine, seed=3, trials=24)
    assert best.shape == (24,)
    assert 0.0 < best[0] <= best[-1] < 1.5
    np.testing.assert_array_equal(best, script.search(policy, stage, machine, seed=3, trials=24))


def test_every_variant_that_is_searched_exists(script):
    found = script.policies(script.SEARCHED)
    assert [*found] == [*script.SEARCHED]
    others = [policy for name, policy in found.items() if name != "draft"]
    assert found["draft"] not in others
