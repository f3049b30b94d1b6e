"""Sketches for a tensor intrinsic: decisions are of what is around it, and leave it whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.strategies import VectorUnits
from pytest_ansorbench.strategies.decisions.encoding import Encoding, kinds_of
from pytest_ansorbench.strategies.decisions.knobs import TileKnob
from pytest_ansorbench.strategies.decisions.registers import registers_of
from pytest_ansorbench.workloads import from_te
from tests.strategies.setups import spaces_of

PLAIN = {
    "kind": "llvm",
    "mtriple": "x86_64-unknown-linux-gnu",
    "mcpu": "x86-64",
    "num-cores": 2,
}


def dense():
    """32 rows of bytes times 32 x 64 bytes, packed in blocks of 16 x 4."""
    from tvm import te

    rows = te.placeholder((32, 8, 4), dtype="uint8", name="rows")
    packed = te.placeholder((4, 8, 16, 4), dtype="int8", name="packed")
    outer, inner = te.reduce_axis((0, 8), name="outer"), te.reduce_axis((0, 4), name="inner")

    def product(row, block, column):
        byte = rows[row, outer, inner].astype("int32")
        return te.sum(
            byte * packed[block, outer, column, inner].astype("int32"), axis=[outer, inner]
        )

    return rows, packed, te.compute((32, 4, 16), product, name="product")


DENSE = from_te("dense-u8s8", dense)


def x86(mcpu):
    from tvm.target import Target

    from pytest_ansorbench.measure.intrinsics import register_intrinsics

    found = Target({**PLAIN, "mcpu": mcpu})
    register_intrinsics(found)
    return found


@pytest.fixture(scope="module", params=["cascadelake", "skylake-avx512"])
def tensorizing(request):
    """A target with an intrinsic for sixteen sums of four products, and the intrinsic's name."""
    names = {"cascadelake": "dot_16x4_vnni", "skylake-avx512": "dot_16x4_avx512"}
    return x86(request.param), names[request.param]


def vectors_of(space, number=8):
    return [*map(tuple, space.draw(number, np.random.default_rng(0)).tolist())]


def kinds_in(trace):
    return [str(one.kind.name) for one in trace.insts]


def test_decisions_leave_the_intrinsic_whole(tensorizing):
    spaces, maker, setup = spaces_of(tensorizing[0], DENSE)
    index = SketchIndex(setup.sketches)
    assert len(spaces) == 3
    for space, sketch in zip(spaces, setup.sketches, strict=True):
        assert kinds_in(sketch.trace).count("Blockize") == 1
        tiled = [math.prod(one.decision(0)) for one in space.knobs if isinstance(one, TileKnob)]
        assert tiled == [32, 4, 1, 8, 1]  # of loops of 32, 4, 16, 8 and 4 steps
        for vector in vectors_of(space):
            program = space.program(vector, maker)
            assert program is not None
            assert kinds_in(program.trace).count("Tensorize") == 1
            assert space.vector_in(program.trace) == vector
            assert index.of(program.trace) == space.index


def test_footprints_are_of_all_steps_of_the_intrinsic(tensorizing):
    target, intrinsic = tensorizing
    spaces, *_ = spaces_of(target, DENSE)
    for space in spaces:
        vectors = vectors_of(space)
        found = space.features(np.array(vectors, dtype=np.int32))
        known = dict(zip(space.columns, found.T, strict=True))
        for at, vector in enumerate(vectors):
            row, block, _, outer, _ = (tiles[-1] for tiles in space.decisions_of(vector)[:5])
            sizes = (4 * 16 * row * block, row * outer * 4, block * outer * 16 * 4)
            # Inside one tile of the spatial loops and one of the reduction's.
            expected = [math.log2(size) for size in sizes]
            names = [f"0.{intrinsic}.depth1.buffer{buffer}" for buffer in range(3)]
            assert [known[name][at] for name in names] == pytest.approx(expected)


def test_an_intrinsic_fills_the_lanes(tensorizing):
    target, _ = tensorizing
    spaces, *_ = spaces_of(target, DENSE)
    columns = Encoding(spaces).columns
    model = VectorUnits().model([space.nests for space in spaces], columns, registers_of(target))
    assert model is not None
    assert {(nest.item_bytes, nest.unit) for space in spaces for nest in space.nests} == {(4, 16)}
    points = [(space.index, vector) for space in spaces for vector in vectors_of(space, 2_000)]
    rows = Encoding(spaces).rows(points)
    block = columns.index(spaces[0].nests[0].block)
    fit = rows[:, block] <= math.log2(32 * 64)
    assert fit.any() and not fit.all()
    np.testing.assert_allclose(model.predict(rows)[fit], 1.0)
    assert model.predict(rows)[~fit].max() < 1.0


def test_what_is_known_of_other_programs_is_not_taken_for_knowledge_of_these(tensorizing):
    spaces, *_ = spaces_of(tensorizing[0], DENSE)
    others, *_ = spaces_of(x86("x86-64"), DENSE)
    assert len(others) == len(spaces)
    assert not {*kinds_of(spaces)} & {*kinds_of(others)}
    assert [nest.unit for space in others for nest in space.nests] == [1.0] * len(others)
