"""Decisions that ask for more than a GPU has are told before they are replayed."""

from __future__ import annotations

import types

import numpy as np
import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.strategies.decisions.encoding import kinds_of
from pytest_ansorbench.strategies.decisions.gpu_blocks import GpuBlock
from pytest_ansorbench.strategies.decisions.space import allowed
from pytest_ansorbench.workloads.operators.batch_matmul import BatchMatmul
from pytest_ansorbench.workloads.operators.softmax import Softmax
from tests.strategies.setups import spaces_of

CASES = [BatchMatmul(batch=1, m=96, n=64, k=96), Softmax(m=32, n=64)]


@pytest.fixture(scope="module")
def gpu():
    # Before Turing there are no tensor cores, whose intrinsics take TVM ten seconds to parse.
    return resolve_target('{"kind": "cuda", "arch": "sm_70"}')


@pytest.fixture(scope="module", autouse=True)
def _no_intrinsics():
    """`TuneContext` imports all tensor intrinsics; these rules name none."""
    with pytest.MonkeyPatch.context() as patch:
        name = "tvm.s_tir.tensor_intrin"
        patch.setitem(__import__("sys").modules, name, types.ModuleType(name))
        yield


def uniform(space, count):
    sizes = [knob.size for knob in space.knobs]
    rng = np.random.default_rng(0)
    return rng.integers(sizes, size=(count, len(sizes)), dtype=np.int32)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_told_by_decisions_is_no_program(gpu, case):
    spaces, maker, _ = spaces_of(gpu, case)
    for space in spaces:
        vectors = uniform(space, 40)
        fits = space.allowed(vectors)
        made = [maker.replay(space.trace(tuple(vector)), 1) for vector in vectors.tolist()]
        assert not any(program for program, fit in zip(made, fits, strict=True) if not fit)


def test_what_is_drawn_fits_and_has_what_it_asks_for_as_features(gpu):
    [space, *_], maker, _ = spaces_of(gpu, CASES[0])
    assert not space.allowed(uniform(space, 64)).all()
    drawn = space.draw(32, np.random.default_rng(1))
    assert drawn.shape == (32, len(space.knobs)) and space.allowed(drawn).all()
    at = [place for place, name in enumerate(space.columns) if name.startswith("gpu0.")]
    assert [space.columns[place][5:] for place in at] == [*GpuBlock.columns]
    blocks, threads, accumulators, shared = np.exp2(space.features(drawn)[:, at]).T
    assert ((threads > 31.5) & (threads < 1024.5)).all()
    assert (shared < 49152.5).all()
    np.testing.assert_allclose(blocks * threads * accumulators, 96 * 64, rtol=1e-3)
    points = [(0, tuple(vector)) for vector in uniform(space, 64).tolist()]
    kept = allowed([space], points)
    assert 0 < len(kept) < 64
    refused = next(vector for _, vector in points if (0, vector) not in kept)
    assert space.program(refused, maker) is None


def test_on_a_cpu_everything_is_allowed_and_kinds_are_others(gpu, target):
    on_cpu, *_ = spaces_of(target, CASES[1])
    on_gpu, *_ = spaces_of(gpu, CASES[1])
    assert all(space.allowed(uniform(space, 8)).all() for space in on_cpu)
    assert not {*kinds_of(on_cpu)} & {*kinds_of(on_gpu)}
