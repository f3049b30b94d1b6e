"""Which lines of weights a schedule fetches, and which schedules fetch none."""

from __future__ import annotations

import operator
import re
from collections import defaultdict

import numpy as np
import pytest
import tvm
import tvm_ffi

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.lowering import compile_module
from pytest_ansorbench.measure.local.prefetching import prefetches
from pytest_ansorbench.workloads.case import PREFETCH
from pytest_ansorbench.workloads.signature import buffer_of

LINE = 16
"""Elements of float32 in a cache line."""
OPERATIONS = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod,
}


def product(rows=8, terms=12, blocks=3, block=32, annotated=True):
    """A product with weights (blocks, terms, block)."""
    from tvm import te

    data = te.placeholder((rows, terms), name="data")
    weights = te.placeholder((blocks, terms, block), name="weights")
    k = te.reduce_axis((0, terms), "k")
    sums = te.compute(
        (rows, blocks * block),
        lambda i, j: te.sum(data[i, k] * weights[j // block, k, j % block], axis=[k]),
        name="product",
        attrs={PREFETCH: True} if annotated else {},
    )
    return module(data, weights, sums)


def convolution(rows=4, features=2, taps=3, channels=8):
    """A convolution of rows with weights (blocks, taps, channels, 32)."""
    from tvm import te

    data = te.placeholder((rows + taps - 1, channels), name="data")
    weights = te.placeholder((features, taps, channels, 32), name="weights")
    r, k = te.reduce_axis((0, taps), "r"), te.reduce_axis((0, channels), "k")
    sums = te.compute(
        (rows, features * 32),
        lambda i, j: te.sum(data[i + r, k] * weights[j // 32, r, k, j % 32], axis=[r, k]),
        name="product",
        attrs={PREFETCH: True},
    )
    return module(data, weights, sums)


def module(*tensors):
    from tvm import IRModule, te

    return IRModule({"main": te.create_prim_func([*tensors]).with_attr("global_symbol", "main")})


def scheduled(mod, rows, columns, *sums, by_columns=False, name="product"):
    """Loops over parts of sums, rows and columns, or of columns, rows and sums; then in these."""
    from tvm.s_tir import Schedule

    schedule = Schedule(mod)
    block = schedule.get_sblock(name)
    i, j, *terms = schedule.get_loops(block)
    i_0, i_1 = schedule.split(i, [None, rows])
    j_0, j_1 = schedule.split(j, [None, columns])
    outer, inner = zip(
        *(schedule.split(k, [None, part]) for k, part in zip(terms, sums, strict=True)), strict=True
    )
    parts = (j_0, i_0, *outer) if by_columns else (*outer, i_0, j_0)
    schedule.reorder(*parts, *inner, i_1, j_1)
    schedule.vectorize(j_1)
    schedule.decompose_reduction(block, outer[0])
    return schedule.mod


def value(node, there):
    """What an index is, where loops and axes are."""
    kind = type(node).__name__
    if kind == "Var":
        return there[node.name]
    if kind == "IntImm":
        return node.value
    if kind == "Cast":
        return value(node.value, there)
    return OPERATIONS[kind](value(node.a, there), value(node.b, there))


def line_of(buffer, indices, there):
    place = 0
    for extent, index in zip(buffer.shape, indices, strict=True):
        place = place * int(extent) + value(index, there)
    return place // LINE


def walked(node, there, step, found):
    """Has `found[kind, n]` hold the lines that are read or fetched in the n-th turn of a loop."""
    kind = type(node).__name__
    if kind == "For":
        for turn in range(int(node.extent)):
            found["turns"] += node.loop_var.name == step
            walked(node.body, {**there, node.loop_var.name: turn}, step, found)
    elif kind == "SeqStmt":
        for part in node.seq:
            walked(part, there, step, found)
    elif kind == "Evaluate":
        [load] = node.value.args[0].args
        found["fetched", found["turns"]].append(line_of(buffer_of(load), load.indices, there))
    elif kind == "SBlockRealize" and node.block.name_hint != "product_update":
        walked(node.block.body, there, step, found)
    elif kind == "SBlockRealize":
        names = [axis.var.name for axis in node.block.iter_vars]
        axes = dict(zip(names, (value(one, there) for one in node.iter_values), strict=True))
        region = node.block.reads[-1]
        indices = [one.min for one in region.region]
        found["read", found["turns"]].append(line_of(buffer_of(region), indices, axes))


@pytest.mark.parametrize(
    ("mod", "step"),
    [
        (scheduled(product(), 2, 32, 3), "k_0"),
        (scheduled(product(), 4, 32, 4), "k_0"),
        (scheduled(product(rows=6), 2, 16, 4), "k_0"),
        (scheduled(product(block=16), 1, 16, 6), "k_0"),
        (scheduled(convolution(), 1, 32, 3, 2), "k_0"),
        (scheduled(convolution(), 2, 32, 1, 4), "k_0"),
        (scheduled(convolution(channels=4), 2, 32, 1, 4), "r_0"),
        (scheduled(product(terms=24), 4, 32, 12, by_columns=True), "j_0"),
        (scheduled(product(terms=48), 4, 32, 16, by_columns=True), "j_0"),
        (scheduled(convolution(channels=32), 2, 32, 1, 16, by_columns=True), "j_0"),
    ],
)
def test_a_tile_s_lines_are_fetched_once_while_the_tile_before_is_computed(mod, step):
    found = defaultdict(list, turns=0)
    walked(prefetches()(mod)["main"].body, {}, step, found)
    turns = found["turns"]
    assert turns > 1
    for turn in range(1, turns):
        tile = set(found["read", turn + 1])
        assert tile <= set(found["fetched", turn])
    # What the last turn fetches, and what shares are rounded up by, is of no use.
    assert 1 <= len(found["fetched", 1]) / len(set(found["read", 2])) < 2


def test_a_kernel_with_prefetches_computes_the_same():
    target = resolve_target(None)
    plain = scheduled(product(), 2, 32, 3)
    rng = np.random.default_rng(0)
    data, weights = (rng.standard_normal(shape, np.float32) for shape in ((8, 12), (3, 12, 32)))
    kernel = compile_module(plain, target)
    assert "llvm.prefetch" in kernel.inspect_source("ll")
    out = tvm.runtime.tensor(np.empty((8, 96), np.float32))
    kernel["main"](tvm.runtime.tensor(data), tvm.runtime.tensor(weights), out)
    expected = np.einsum("ik,bkj->ibj", data, weights).reshape(8, 96)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_each_block_of_a_function_fetches_its_own_weights():
    from tvm import te

    data = te.placeholder((8, 12), name="data")
    k = te.reduce_axis((0, 12), "k")

    def sums(weights):
        return te.compute(
            (8, 32),
            lambda i, j: te.sum(data[i, k] * weights[k, j], axis=[k]),
            name=f"{weights.op.name}_product",
            attrs={PREFETCH: True},
        )

    several = [te.placeholder((12, 32), name=name) for name in ("first", "second")]
    mod = module(data, *several, *map(sums, several))
    for name in ("first_product", "second_product"):
        mod = scheduled(mod, 2, 32, 3, name=name)
    fetched = re.findall(r"prefetch\(T.address_of\((\w+)", prefetches()(mod).script())
    assert fetched == ["first", "second"]


def copied():
    """Weights that a kernel copies first, to memory of its own."""
    from tvm.s_tir import Schedule

    schedule = Schedule(product())
    schedule.cache_read(schedule.get_sblock("product"), 1, "global")
    return schedule.mod


@pytest.mark.parametrize(
    "mod",
    [
        product(),
        scheduled(product(annotated=False), 2, 32, 3),
        scheduled(product(), 2, 32, 12),
        scheduled(product(), 2, 32, 1),
        scheduled(product(), 8, 32, 3),
        scheduled(product(terms=48), 4, 32, 12, by_columns=True),
        scheduled(copied(), 2, 32, 3),
    ],
    ids=["as it is", "no annotation", "one tile", "no tile", "used once", "burst", "copied"],
)
def test_other_programs_stay_as_they_are(mod):
    assert tvm_ffi.structural_equal(prefetches()(mod), mod)
