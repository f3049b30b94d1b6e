"""Footprints are the bytes that a nest's inner tiles touch, counted one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.strategies.decisions.footprints import Depth, depths_of, is_reduction
from tests.strategies.setups import MATMUL, spaces_of

CASES = {
    "matmul": MATMUL,
    "strided": workloads.Conv2d(
        batch=1, height=8, width=8, in_channels=4, out_channels=8, kernel=3, stride=2, padding=1
    ),
    "dilated": workloads.DilatedConv2d(
        batch=1,
        height=8,
        width=8,
        in_channels=4,
        out_channels=8,
        kernel=3,
        stride=1,
        padding=1,
        dilation=2,
    ),
    "transposed": workloads.TransposedConv2d(
        batch=1, height=4, width=4, in_channels=4, out_channels=8, kernel=4, stride=2, padding=1
    ),
    "norm": workloads.MatrixNorm(batch=1, m=16, n=16),
}


def test_depths_go_from_the_inside_out_and_leave_out_the_whole_nest():
    assert depths_of("SSRSRS") == [
        Depth(1, 0), Depth(1, 1), Depth(2, 1), Depth(2, 2), Depth(3, 2)
    ]  # fmt: skip
    assert depths_of("S") == []


def test_a_matmul_touches_its_tiles(target):
    [space, *_], *_ = spaces_of(target, MATMUL)
    tiled = [[1, 1, 1, 1], [2, 2, 2, 2], [1, 1, 4, 4], [2, 8]]
    vector = space.vector_of([*tiled, *[0] * (len(space.knobs) - len(tiled))])
    assert vector is not None
    row = space.features(np.array([vector], dtype=np.int32))[0]
    known = dict(zip(space.columns, row.tolist(), strict=True))
    m, n, k = 4, 16, 8  # inside two tiles of the spatial loops and one of the reduction's
    assert [known[f"0.depth2.buffer{n}"] for n in range(3)] == [
        math.log2(4 * size) for size in (m * n, m * k, k * n)
    ]
    assert known["0.depth2.bytes"] == pytest.approx(math.log2(4 * (m * n + m * k + k * n)))
    total = 4 * (m * n + m * k + k * n)
    assert known["0.depth2.intensity"] == pytest.approx(math.log2(m * n * k / total))


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_is_touched_is_left_out(target, name):
    """Elements are counted one by one; of a strided index the gaps are counted, too."""
    spaces, maker, _ = spaces_of(target, CASES[name])
    rng = np.random.default_rng(0)
    checked = 0
    for space in spaces:
        for vector in space.draw(3, rng):
            row = dict(zip(space.columns, space.features(vector[np.newaxis])[0], strict=True))
            for column, elements in counted(space, maker.mod, vector.tolist()).items():
                checked += 1
                assert 2.0 ** row[column] >= 4 * elements * (1 - 1e-5), column
                if name == "matmul":
                    assert 2.0 ** row[column] == pytest.approx(4 * elements)
    assert checked or name == "norm"


def counted(space, mod, vector):
    """Elements of each buffer that the innermost depths touch, by column."""
    from tvm.s_tir import Schedule

    if "0.depth0.buffer0" not in space.columns:
        return {}
    schedule = Schedule(mod)
    tilings = [one for one in space.decisions_of(vector) if isinstance(one, list)]
    [block] = [
        block
        for block in map(schedule.get, schedule.get_child_blocks(schedule.get_sblock("root")))
        if len(block.iter_vars) == len(tilings) and any(map(is_reduction, block.iter_vars))
    ]
    names = [one.var.name for one in block.iter_vars]
    found = {}
    for depth, (spatial, reduction) in enumerate([(1, 0), (1, 1), (2, 1)]):
        inner = [reduction if is_reduction(one) else spatial for one in block.iter_vars]
        steps = [
            math.prod(tiling[len(tiling) - tiles :])
            for tiling, tiles in zip(tilings, inner, strict=True)
        ]
        for n, region in enumerate((*block.writes, *block.reads)):
            touched = set()
            for at in itertools.product(*map(range, steps)):
                values = dict(zip(names, at, strict=True))
                touched.add(tuple(value(one.min, values) for one in region.region))
            found[f"0.depth{depth}.buffer{n}"] = len(touched)
    return found


def value(index, at):
    """An index for values of its variables."""
    kind = type(index).__name__
    if kind == "IntImm":
        return int(index)
    if kind == "Var":
        return at[index.name]
    a, b = value(index.a, at), value(index.b, at)
    return {
        "Add": lambda: a + b,
        "Sub": lambda: a - b,
        "Mul": lambda: a * b,
        "FloorDiv": lambda: a // b,
        "FloorMod": lambda: a % b,
    }[kind]()
