"""What is chosen is connected, what is measured is kept, and nothing is measured twice."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.landscapes.choosing import chosen
from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.programs import UnrecordableError
from pytest_ansorbench.landscapes.records import SketchRecord, configurations
from pytest_ansorbench.measure.outcomes import Measured
from pytest_ansorbench.storage import StorageError
from pytest_ansorbench.strategies.decisions.traced import TracedDesign
from pytest_ansorbench.workloads import Softmax, get
from tests.landscapes.recorded import CASE, EFFORT, recorded
from tests.strategies.setups import FAMILIES, spaces_of


def reached(knob):
    """Choices that steps from the first one lead to."""
    found, edge = set(), {0}
    while edge:
        found |= edge
        edge = {near for choice in edge for near in knob.near(choice)} - found
    return found


@pytest.mark.parametrize("name", ["BatchMatmul", "Conv2d", "Softmax"])
@settings(max_examples=6, deadline=None)
@given(points=st.integers(1, 2_000), seed=st.integers(0, 5))
def test_a_sub_space_is_connected_and_as_large_as_it_may_be(target, name, points, seed):
    spaces, maker, _ = spaces_of(target, FAMILIES[name])
    design = TracedDesign(spaces, maker)

    def sub_spaces():
        rng = np.random.default_rng(seed)
        return chosen(design, points, lambda space: tuple(space.draw(1, rng)[0].tolist()), rng)

    found, again = sub_spaces(), sub_spaces()
    assert [SketchRecord.of(one) for one in found] == [SketchRecord.of(one) for one in again]
    assert sum(one.size for one in found) <= max(points, len(spaces))
    for whole, part in zip(spaces, found, strict=True):
        assert part.index == whole.index and part.columns == whole.columns
        for all_choices, some in zip(whole.knobs, part.knobs, strict=True):
            assert reached(some) == {*range(some.size)}
            assert all(
                all_choices.choice_of(some.decision(at)) is not None for at in range(some.size)
            )
        if part.size < whole.size:  # another choice of any decision would be too much
            most = min(
                part.size // some.size * (some.size + 1)
                for all_choices, some in zip(whole.knobs, part.knobs, strict=True)
                if some.size < all_choices.size
            )
            assert most > points // len(spaces)


@pytest.mark.parametrize("name", ["BatchMatmul", "Conv2d", "TransposedConv2d", "Softmax"])
def test_a_recorded_space_tells_models_the_same(target, name):
    """From a file, without TVM's expressions."""
    spaces, *_ = spaces_of(target, FAMILIES[name])
    rng = np.random.default_rng(0)
    for space in spaces:
        record = from_json(SketchRecord, to_json(SketchRecord.of(space)))
        again = record.space(space.index)
        vectors = space.draw(20, rng)
        assert again.columns == space.columns and again.nests == space.nests
        np.testing.assert_array_equal(again.features(vectors), space.features(vectors))


def test_every_point_is_measured_or_has_failed_by_a_named_cause(landscape):
    subject, results = landscape.subject, landscape.results
    assert [one.configuration for one in results] == configurations(subject)
    assert 60 <= len(results) <= 90
    assert len(landscape.subject.sketches) == len(subject.task.sketches) == 3
    valid = [one for one in results if one.invalidity == "correct"]
    assert valid and all(len(one.times.runtimes) == EFFORT.slices for one in valid)
    assert all(one.error for one in results if one.invalidity != "correct")


class Failing:
    """An engine that notes what it builds, and fails when it is told to."""

    def __init__(self, engine, *, stops_at=None, outcomes=()):
        self._engine, self._stops_at, self._outcomes = engine, stops_at, list(outcomes)
        self.built = 0
        self.discarded = 0

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def build(self, programs, check, limit_s=None):
        assert limit_s == EFFORT.build_limit_s
        return self._engine.build(programs, check, limit_s)

    def run(self, built, measurement, **others):
        self.built += 1
        if self.built == self._stops_at:
            raise KeyboardInterrupt
        if self._outcomes:
            return self._outcomes.pop()
        return self._engine.run(built, measurement, **others)

    def discard(self, built):
        self.discarded += 1


def test_an_interruption_costs_nothing(made_up_engine, landscape, tmp_path):
    first = Failing(made_up_engine, stops_at=30)
    with pytest.raises(KeyboardInterrupt):
        recorded(first, tmp_path)
    assert first.discarded > 0
    [journal] = tmp_path.iterdir()
    _, *lines = map(json.loads, journal.read_text().splitlines())
    known = {line["result"]["program"] for line in lines}
    with journal.open("a") as stream:
        stream.write('{"place": 1, "cut sho')
    told = []
    rest = Failing(made_up_engine)
    path = recorded(rest, tmp_path, tell=told.append)
    assert [*tmp_path.iterdir()] == [path]
    programs = {one.program for one in landscape.results}
    assert 5 < len(known) < 29 and len(known) + rest.built == len(programs)
    whole = read_landscape(path)
    assert whole.programs_hash == landscape.programs_hash
    assert whole.space_hash == landscape.space_hash
    assert told[0].done == len(landscape.results) - len(told) + 1 == len(lines) + 1
    assert told[-1].done == told[-1].points and told[-1].left_s == 0.0
    assert recorded(Failing(made_up_engine), tmp_path) == path


def test_the_centre_is_the_fastest_of_some_random_points(made_up_engine, tmp_path):
    latencies_s = []

    class Seen(Failing):
        def run(self, built, measurement, **others):
            found = super().run(built, measurement, **others)
            latencies_s.append(found.latencies_s[0])
            return found

    # Of one point a sketch, which is its centre.
    path = recorded(Seen(made_up_engine), tmp_path, effort=replace(EFFORT, points=3))
    scouted = [latencies_s[start : start + 4] for start in (0, 4, 8)]
    assert len(latencies_s) == 15 and all(len(set(some)) > 1 for some in scouted)
    assert [one.latency_s for one in read_landscape(path).results] == [*map(min, scouted)]


def test_failures_have_their_causes(made_up_engine, tmp_path):
    outcomes = [
        Measured("build-error", error="no", build_s=0.1),
        Measured("build-timeout", error="late", build_s=5.0),
        Measured("run-error", error="crash", build_s=0.1, run_s=0.1),
        Measured("run-timeout", error="late", build_s=0.1, run_s=30.0),
        Measured("wrong-result", error="off", build_s=0.1, run_s=0.1),
    ]
    scouts = [Measured("ok", (1.0,), build_s=0.1, run_s=0.1)] * 3 * EFFORT.scouts
    path = recorded(Failing(made_up_engine, outcomes=[*outcomes, *scouts]), tmp_path)
    failed = {one.status: one for one in read_landscape(path).results if one.error}
    assert {*failed} == {one.status for one in outcomes}
    assert failed["run-timeout"].invalidity == failed["build-timeout"].invalidity == "timeout"


@pytest.mark.parametrize(
    "effort",
    [replace(EFFORT, points=80), replace(EFFORT, seed=1), replace(EFFORT, license="MIT")],
)
def test_what_was_begun_as_something_else_is_not_gone_on_with(made_up_engine, tmp_path, effort):
    with pytest.raises(KeyboardInterrupt):
        recorded(Failing(made_up_engine, stops_at=20), tmp_path)
    with pytest.raises(StorageError, match=r"bad landscape .* it has the (effort|license) "):
        recorded(made_up_engine, tmp_path, effort=effort)
    recorded(made_up_engine, tmp_path)
    with pytest.raises(StorageError, match=r"it has the (effort|license) .*; choose another"):
        recorded(made_up_engine, tmp_path, effort=effort)


class Renamed(Softmax):
    """Another program, with other sketches, of the same name."""

    @property
    def id(self):
        return CASE.id


def test_a_case_that_has_become_another_is_not_gone_on_with(made_up_engine, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        recorded(Failing(made_up_engine, stops_at=20), tmp_path)
    with pytest.raises(StorageError, match=r"bad landscape .* it has the program"):
        recorded(made_up_engine, tmp_path, case=Renamed(m=8, n=8))


def test_points_of_two_versions_of_a_package_are_not_mixed(made_up_engine, tmp_path):
    machine = made_up_engine.machine
    made_up_engine.machine = {**machine, "packages": {"apache-tvm": "1.0"}}
    with pytest.raises(KeyboardInterrupt):
        recorded(Failing(made_up_engine, stops_at=20), tmp_path)
    made_up_engine.machine = {**machine, "packages": {"apache-tvm": "2.0"}}
    with pytest.raises(StorageError, match=r"other packages \(apache-tvm 1\.0 is now 2\.0\); ch"):
        recorded(made_up_engine, tmp_path)


def test_a_damaged_journal_is_told_by_its_line(made_up_engine, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        recorded(Failing(made_up_engine, stops_at=20), tmp_path)
    [journal] = tmp_path.iterdir()
    first, second, *rest = journal.read_text().splitlines()
    journal.write_text("\n".join([first, second.replace("program", "pogrom"), *rest, ""]))
    with pytest.raises(StorageError, match=r"bad journal .*, line 2: .* remove it"):
        recorded(made_up_engine, tmp_path)


def test_a_network_has_no_landscape(made_up_engine, tmp_path):
    with pytest.raises(UnrecordableError, match=r"has \d+ tasks; expected an operator"):
        recorded(made_up_engine, tmp_path, case=get("resnet18-n1-s224"))


def test_builds_at_once_count_each_program_once(made_up_engine, tmp_path):
    journals = []
    path = recorded(
        made_up_engine,
        tmp_path,
        case=Softmax(m=8, n=8),
        tell=lambda advance: journals.append(next(tmp_path.glob("*.jsonl")).read_text()),
    )
    again = read_landscape(path)
    programs = {one.program: one.times.compilation_time for one in again.results}
    assert len(programs) < len(again.results)
    lines = map(json.loads, journals[-1].splitlines()[1:])
    wall_s = math.fsum(line["build_wall_s"] for line in lines)
    assert again.builds_at_once == pytest.approx(math.fsum(programs.values()) / wall_s)


def test_a_gpu_has_no_landscape(made_up_engine, tmp_path):
    made_up_engine.target = resolve_target('{"kind": "cuda", "arch": "sm_70"}')
    with pytest.raises(UnrecordableError, match=r"bad target of kind 'cuda': .* expected llvm"):
        recorded(made_up_engine, tmp_path)


def test_programs_are_compiled_run_and_checked(engine, tmp_path):
    path = recorded(engine, tmp_path, effort=replace(EFFORT, points=6, slices=2, slice_ms=1.0))
    landscape = read_landscape(path)
    for one in landscape.results:
        assert one.invalidity == "correct" and len(one.times.runtimes) == 2
        assert 0.0 < math.fsum(one.times.runtimes) <= one.times.benchmark_time
        assert one.times.compilation_time > 0.0
    assert landscape.subject.case == CASE.id
