"""What is told of a program's loops, on programs that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.strategies import ProgramMaker, undecided
from pytest_ansorbench.strategies.autotvm.nests import (
    CONTEXT,
    LOOPS,
    Loop,
    Touch,
    contexts,
    nest_of,
    relations,
)
from pytest_ansorbench.workloads import BatchMatmul
from tests.strategies.setups import FAMILIES, make_setup, unchecked_tasks

BYTES = 4


def module():
    """A product of matrices whose columns are tiled."""
    from tvm.s_tir import Schedule

    [task] = unchecked_tasks(BatchMatmul(batch=1, m=8, n=16, k=32))
    schedule = Schedule(task.mod)
    _, i, j, k = schedule.get_loops(schedule.get_sblock("matmul"))
    outer, inner = schedule.split(j, [4, 4])
    schedule.reorder(outer, i, k, inner)
    schedule.parallel(outer)
    schedule.vectorize(inner)
    schedule.annotate(i, "pragma_auto_unroll_max_step", 64)
    return schedule.mod


def test_loops_are_told_with_what_they_touch():
    """C is of 8 x 16, A of 8 x 32 and B of 32 x 16 items."""

    def touch(stride, items, reuse):
        return Touch(float(stride), float(BYTES * items), float(reuse))

    assert nest_of(module()) == [
        Loop(-1, 4, 1, 0, 4.0, 4096.0, (touch(4, 128, 32), touch(0, 256, 16), touch(4, 512, 8))),
        Loop(0, 8, 0, 64, 32.0, 1024.0, (touch(16, 32, 32), touch(32, 256, 4), touch(0, 128, 8))),
        Loop(1, 32, 0, 64, 1024.0, 128.0, (touch(0, 4, 32), touch(1, 32, 4), touch(16, 128, 1))),
        Loop(2, 4, 2, 64, 4096.0, 4.0, (touch(1, 4, 1), touch(0, 1, 4), touch(1, 4, 1))),
    ]


def test_a_row_has_the_loops_in_order_and_nothing_after():
    [row] = contexts([nest_of(module())]).reshape(1, LOOPS, 1 + CONTEXT)
    assert row[:4, 0].tolist() == [-1, 0, 1, 2]
    assert row[:4, 1].tolist() == [2, 3, 5, 2]
    assert row[:4, 5:10].argmax(axis=1).tolist() == [1, 0, 0, 2]
    assert np.isnan(row[4:]).all() and np.isnan(row[:4, 19:]).all()


def test_relations_are_steps_of_curves():
    [row] = relations([nest_of(module())])
    reuse_by_count = row[:40].reshape(20, 2)
    # C: 16 bytes (innermost, and with k), then 128, then 512 (logarithms 4, 4, 7, 9); reuse 1, 32.
    assert reuse_by_count[:, 0].tolist() == [0.0] * 4 + [5.0] * 16
    assert reuse_by_count[:, 1].tolist() == [*range(4), *range(3), 0, 1, *range(11)]
    assert not np.isnan(row[: 3 * 160]).any() and np.isnan(row[3 * 160 :]).all()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_all_programs_have_loops_whose_steps_add_up(target, family):
    setup = make_setup(target, case=FAMILIES[family])
    maker = ProgramMaker(setup.context)
    for program in maker.sample(undecided(setup.sketches)[:2], [1, 2]):
        nest = nest_of(program.schedule.mod)
        assert 0 < len(nest) <= LOOPS
        for at, loop in enumerate(nest):
            assert loop.parent < at
            around = nest[loop.parent].outer if loop.parent >= 0 else 1.0
            assert loop.outer == around * loop.extent
            within = [one.inner for one in nest if one.parent == at]
            assert loop.inner == loop.extent * max(within, default=1.0)
            assert loop.touches or within
        assert np.isfinite(relations([nest])[0][:160]).all()


def test_a_program_of_one_step_has_no_loop():
    assert np.isnan(contexts([[]])).all() and np.isnan(relations([[]])).all()
