"""What innermost loops ask of vector units, before anything is measured."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.strategies import Draft, VectorUnits
from pytest_ansorbench.strategies.decisions.encoding import Encoding
from pytest_ansorbench.strategies.decisions.footprints import Nest
from pytest_ansorbench.strategies.decisions.registers import registers_of
from tests.strategies.setups import make_setup, spaces_of

AVX512 = {"kind": "llvm", "mtriple": "x86_64-unknown-linux-gnu", "mcpu": "skylake-avx512"}
SSE = {"kind": "llvm", "mtriple": "x86_64-unknown-linux-gnu", "mcpu": "x86-64"}
NEON = {"kind": "llvm", "mtriple": "aarch64-linux-gnu"}
AVX2 = {"kind": "llvm", "mtriple": "x86_64-unknown-linux-gnu", "mcpu": "haswell"}
OWN = {"kind": "llvm", "mcpu": "haswell"}
"""An x86 by its processor alone, as one may name it on such a machine."""
FLOATS = Nest("width", "block", item_bytes=4, steps=1e6)
COLUMNS = ("width", "block", "sketch")


def guess(description, nests=((FLOATS,),), columns=COLUMNS, policy=None):
    from tvm.target import Target

    return (policy or VectorUnits()).model(nests, columns, registers_of(Target(description)))


def rows(*points):
    """Each a width in elements, bytes of a block, and a sketch."""
    return np.array([[np.log2(w), np.log2(b), s] for w, b, s in points], dtype=np.float32)


def test_a_step_takes_what_its_lanes_leave():
    policy = VectorUnits(other_cycles=0.05, spill_cycles=1.0)
    found = guess(AVX512, policy=policy).predict(
        rows((16, 1024, 0), (64, 2048, 0), (4, 64, 0), (1, 4, 0), (16, 2560, 0))
    )
    least = 0.5 / 16 + 0.05
    took = [least, least, 0.5 / 4 + 0.05, 0.5 + 0.05, least + 1.0 / 16]
    np.testing.assert_allclose(found, [least / one for one in took], rtol=1e-5)


@pytest.mark.parametrize(
    ("description", "lanes", "registers"),
    [(AVX512, 16, 32), (AVX2, 8, 16), (OWN, 8, 16), (SSE, 4, 16), (NEON, 4, 32)],
)
def test_vectors_and_registers_of_a_target(description, lanes, registers):
    whole = 4 * lanes * registers
    found = guess(description).predict(
        rows((lanes, whole, 0), (lanes / 2, whole, 0), (lanes, whole + 4, 0))
    )
    assert found[0] == pytest.approx(1.0)
    assert max(found[1:]) < 1.0


def test_elements_of_a_byte_fill_more_lanes():
    of_bytes = Nest("width", "block", item_bytes=1, steps=1.0)
    found = guess(AVX512, ((of_bytes,),)).predict(rows((16, 16, 0), (64, 64, 0)))
    assert found[0] < found[1] == pytest.approx(1.0)


def test_the_nest_with_the_most_steps_counts_most():
    columns = ("width", "block", "narrow", "sketch")
    one_lane = np.array([[4.0, 6.0, 0.0, 0.0]], dtype=np.float32)
    found = [
        guess(AVX512, ((FLOATS, Nest("narrow", "block", 4, steps)),), columns).predict(one_lane)[0]
        for steps in (1e3, 1e6, 1e9)
    ]
    assert 1.0 > found[0] > found[1] > found[2]


def test_a_sketch_without_a_tiled_block_is_between_the_others():
    found = guess(AVX512, ((FLOATS,), ())).predict(rows((1, 4, 0), (1, 4, 1), (16, 64, 0)))
    assert found[0] < found[1] < found[2]


def test_there_is_no_guess_without_tiles_or_for_other_targets():
    assert guess(AVX512, ((), ())) is None
    assert guess("c") is None


def test_nests_are_those_of_the_sketches(target):
    case = workloads.BatchMatmul(batch=2, m=16, n=32, k=8)
    spaces, *_ = spaces_of(target, case)
    encoding = Encoding(spaces)
    for space in spaces:
        for nest in space.nests:
            assert (nest.item_bytes, nest.steps) == (4, 2 * 16 * 32 * 8)
            vectors = space.draw(20, np.random.default_rng(0))
            known = dict(zip(space.columns, space.features(vectors).T, strict=True))
            decided = [space.decisions_of(tuple(vector)) for vector in vectors.tolist()]
            n_tiles = [tiles[2] for tiles in decided]
            np.testing.assert_allclose(known[nest.width], [np.log2(one[-1]) for one in n_tiles])
            inner = [4 * np.prod([tiles[loop][-1] for loop in range(3)]) for tiles in decided]
            np.testing.assert_allclose(known[nest.block], np.log2(inner), rtol=1e-6)
    assert any(space.nests for space in spaces)
    assert VectorUnits().model(
        [space.nests for space in spaces], encoding.columns, registers_of(target)
    ) is not None  # fmt: skip


def test_a_first_batch_fills_the_lanes(target):
    case = workloads.BatchMatmul(batch=1, m=128, n=128, k=128)

    def widths(vector_units):
        setup = make_setup(target, case=case)
        proposer = Draft(vector_units=vector_units, survey=None).start(setup)
        batch = proposer.propose(8)
        return [one.payload["decisions"][2][-1] for one in batch]

    with_guess, without = widths(VectorUnits()), widths(None)
    assert np.median(with_guess) >= 8
    assert np.median(with_guess) > np.median(without)
