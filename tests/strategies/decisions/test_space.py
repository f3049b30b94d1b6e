"""Every sketch of every shipped operator is a space whose vectors make programs."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.strategies import StrategyError, undecided
from pytest_ansorbench.strategies.decisions.encoding import Encoding
from pytest_ansorbench.strategies.decisions.knobs import knob_of
from tests.strategies.setups import FAMILIES, MATMUL, every_family, spaces_of


@every_family
def test_random_vectors_make_programs_that_have_their_decisions(target, name):
    spaces, maker, _ = spaces_of(target, FAMILIES[name])
    rng = np.random.default_rng(0)
    made = drawn = 0
    for space in spaces:
        vectors = [tuple(vector) for vector in space.draw(3, rng).tolist()]
        assert space.features(np.array(vectors, dtype=np.int32)).shape == (3, len(space.columns))
        for vector in vectors:
            drawn += 1
            assert space.vector_of(space.decisions_of(vector)) == vector
            program = space.program(vector, maker)
            if program is None:
                continue
            made += 1
            settled = space.settled(vector, program)
            again = maker.replay(space.trace(settled), 1)
            assert again is not None and again.fingerprint == program.fingerprint
    assert made >= 0.75 * drawn


@every_family
def test_every_random_program_of_a_sketch_is_a_point_of_its_space(target, name):
    """Locations, too, which are found with a few schedules."""
    spaces, maker, setup = spaces_of(target, FAMILIES[name])
    for space, sketch in zip(spaces, setup.sketches, strict=True):
        for program in maker.sample(undecided([sketch]) * 2, range(101, 103)):
            vector = space.vector_in(program.trace)
            assert vector is not None
            again = maker.replay(space.trace(vector), 1)
            assert again is not None and again.fingerprint == program.fingerprint


def test_equal_vectors_make_equal_programs_whatever_the_seed(target):
    [space, *_], maker, _ = spaces_of(target, MATMUL)
    vector = tuple(space.draw(1, np.random.default_rng(1))[0].tolist())
    one, other = (maker.replay(space.trace(vector), seed) for seed in (1, 2))
    assert one is not None and other is not None and one.fingerprint == other.fingerprint


def test_all_vectors_of_a_small_space_are_listed_once(target):
    [space, *_], *_ = spaces_of(target, workloads.BatchMatmul(batch=1, m=2, n=2, k=2))
    every = space.every()
    assert every.shape == (space.size, len(space.knobs))
    assert len(np.unique(every, axis=0)) == space.size


def test_features_of_levels_are_sums_over_loops(target):
    [space, *_], *_ = spaces_of(target, MATMUL)
    features = space.features(space.draw(50, np.random.default_rng(2)))
    column = {name: features[:, at] for at, name in enumerate(space.columns)}
    loops = [name for name in column if name.startswith("tile4.") and name.endswith(".size3")]
    assert len(loops) >= 2
    np.testing.assert_allclose(column["tile4.sum3"], sum(column[name] for name in loops), atol=1e-5)


def test_decisions_of_another_sketch_are_no_vector(target):
    [space, *_], *_ = spaces_of(target, MATMUL)
    assert space.vector_of([]) is None
    decisions = space.decisions_of((0,) * len(space.knobs))
    assert space.vector_of([[3, 5], *decisions[1:]]) is None


def test_sketches_share_the_columns_that_they_have_in_common(target):
    spaces, *_ = spaces_of(target, MATMUL)
    encoding, rng = Encoding(spaces), np.random.default_rng(0)
    points = [(space.index, tuple(space.draw(1, rng)[0].tolist())) for space in spaces]
    rows = encoding.rows(points)
    assert rows.shape == (len(spaces), len(encoding.columns))
    assert rows[:, -1].tolist() == [space.index for space in spaces]
    for row, space in zip(rows, spaces, strict=True):
        known = {name for name, value in zip(encoding.columns, row, strict=True) if value == value}
        assert known == {*space.columns, "sketch"}


def test_an_unknown_kind_of_sampling_is_refused():
    class Kind:
        name = "SamplePartitionedTile"

    class Instruction:
        kind, attrs = Kind(), []

    with pytest.raises(StrategyError, match="bad instruction 'SamplePartitionedTile'"):
        knob_of(Instruction(), [2, 2], [])
