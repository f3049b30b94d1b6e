"""`benchmarks/findings.py` on a landscape of a tiny matmul."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.landscapes.recorded import RecordedDesign
from pytest_ansorbench.landscapes.replaying import Plan
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.strategies import NestInputs

ARMS = ["random-points", "autotvm", "autotvm-nests"]


@pytest.fixture
def script(import_script):
    return import_script("findings")


def test_every_arm_of_a_question_is_known_and_no_two_are_alike(script, landscape):
    found = script.strategies(landscape, script.NAMES)
    assert [one.name for one in found] == [*script.NAMES]
    policies = [repr(one.proposer) for one in found]
    assert len({*policies}) == len(policies)


def test_what_a_model_is_told_is_of_the_points_own_program(script, landscape):
    rows = script.told(landscape, NestInputs()).rows
    design, _ = script.design_anew(landscape)
    assert len(rows) == len(landscape.results)
    recorded = RecordedDesign(landscape)
    for at in (3, 41):
        one = landscape.results[at].configuration
        point = recorded.point({"sketch": one.sketch, "decisions": one.decisions})
        told = script.Told(rows).start(recorded)([point, point])
        alone = NestInputs().start(design)([script.point_of(design, one)])
        np.testing.assert_array_equal(told, np.repeat(alone, 2, axis=0))


def test_runs_become_two_tables(script, landscape_file):
    result = script.searched(landscape_file, ARMS, Plan(16, 8, 2))
    [case] = result.cases
    assert case.strategies == tuple(ARMS) and len(case.runs) == 6
    head, _, *lines = script.curves([result], ARMS, 16).splitlines()
    assert head.split("  ")[0] == "searched by" and "16 trials" in head and "32" not in head
    shares = {line.split()[0]: [*map(float, line.split()[1:])] for line in lines}
    assert {*shares} == {*ARMS}
    for eight, sixteen, worst in shares.values():
        assert 0.0 < eight <= sixteen <= 1.0 and 0.0 < worst <= 1.0
    ends = [row[-2] for row in shares.values()]
    assert ends == sorted(ends, reverse=True)
    _, _, only = script.comparisons([result], ARMS).splitlines()
    assert only.startswith("a model, not chance") and "autotvm" in only


def test_no_valid_program_is_no_throughput(script, landscape_file):
    [case] = script.searched(landscape_file, ARMS[:1], Plan(8, 8, 1)).cases
    run = Trajectory.of(case.runs[0])
    assert run.best_s / run.best_after(0) == 0.0
    assert run.best_s / run.best_after(8) == 1.0


def test_others_know_no_sample_of_the_operators_family(script, landscape, monkeypatch):
    [others] = script.strategies(landscape, ["draft+others"])
    assert others.proposer.experience == script.OfOthers(case=landscape.subject.case)
    experience = script.OfOthers(case="matmul-b1-m512-n512-k512")
    asked = []
    monkeypatch.setattr(script, "without", lambda cases: asked.append(cases) or {})
    assert experience.known() == {} and len(asked[0]) > 2
    assert {one.split("-")[0] for one in asked[0]} == {"matmul"}


def test_experience_of_some_cases_lacks_their_kinds(script, monkeypatch, tmp_path):
    every = {path.name.split("-n1")[0] for path in script.SAMPLES.glob("*.npz")}
    assert "conv1d" in every
    for path in (*script.SAMPLES.glob("conv1d-*.npz"), *script.SAMPLES.glob("matmul-b1-m16-*.npz")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(script, "SAMPLES", tmp_path)
    convolutions = frozenset(path.stem for path in tmp_path.glob("conv1d-*.npz"))
    assert len(script.without.__wrapped__(convolutions)) < len(
        script.without.__wrapped__(frozenset())
    )
