"""Recorded landscapes, and the searches of `benchmarks/draft_surrogate.py` on them."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.strategies import Draft, Registry
from pytest_ansorbench.workloads import OPERATORS


@pytest.fixture
def script(import_script):
    """The command."""
    return import_script("draft_surrogate")


def test_kept_landscapes_are_of_shipped_cases(script):
    paths = sorted(script.RESULTS.glob("draft-landscapes*/*.json.gz"))
    assert len({path.parent for path in paths}) == 3
    for path in paths:
        landscape = script.read(path)
        assert workloads.get(landscape.case).tasks()
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


def test_a_search_climbs_a_landscape_and_a_seed_repeats_itself(script):
    [path] = script.LANDSCAPES.glob("matmul*.json.gz")
    landscape = script.read(path)
    stage = landscape.stage
    assert stage.target.attrs["mcpu"] == "emeraldrapids"
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


def test_strangers_know_no_sample_of_the_operators_family(script, tmp_path):
    case = "grouped-conv2d-n1-h56-w56-ci64-co128-k3-s2-p1-g4"
    left = {one.case for one in script.others_than(case)}
    every = {path.stem for path in script.SAMPLES.glob("*.npz")}
    assert {one.split("-n1")[0] for one in every - left} == {"grouped-conv2d"}
    told = script.told_by(tmp_path / "others.npz", Registry().get("draft+transfer").proposer)
    assert told.experience.path == tmp_path / "others.npz"
    assert script.told_by(tmp_path / "others.npz", Draft()) == Draft()
