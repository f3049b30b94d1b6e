"""Which inputs are indices, and of how many elements."""

from __future__ import annotations

import pytest

from pytest_ansorbench.workloads.dataflow import index_bounds


def shifted(at, by):
    """Each number and something more."""
    from tvm import te

    return te.compute(at.shape, lambda i, j: at[i, j] + by(i, j))


def from_the_end(at):
    """Negative numbers count from the end, as those of ONNX do, by tensors of their own."""
    from tvm import te, tirx

    negative = te.compute(at.shape, lambda i, j: at[i, j] < 0)
    more = shifted(at, lambda i, j: at[0, j])
    return te.compute(at.shape, lambda i, j: tirx.Select(negative[i, j], more[i, j], at[i, j]))


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (lambda topi, data, at: topi.take(data, at, axis=0), 32),
        (lambda topi, data, at: topi.take(data, topi.cast(at, "int64"), axis=1), 64),
        (lambda topi, data, at: topi.gather_nd(data, topi.transpose(at)), 32),
        (lambda topi, data, at: topi.take(data, topi.argmax(at, axis=1), axis=0), None),
        (lambda topi, data, at: topi.take(data, shifted(at, lambda i, j: 2), axis=0), 30),
        (lambda topi, data, at: topi.take(data, shifted(at, lambda i, j: at[0, j]), axis=0), 1),
        (lambda topi, data, at: topi.take(data, topi.cumsum(at, axis=0), axis=0), 1),
        (lambda topi, data, at: topi.take(data, from_the_end(at), axis=0), 32),
    ],
    ids=["plain", "cast", "copied", "reduced", "shifted", "added", "summed", "from the end"],
)
def test_what_an_index_is_made_of_keeps_it_within_what_it_indexes(make, bound):
    from tvm import IRModule, te, topi

    data, at = te.placeholder((32, 64), "float32"), te.placeholder((8, 2), "int32")
    program = te.create_prim_func([data, at, make(topi, data, at)])
    found = index_bounds(IRModule({"main": program}))
    assert found[0] is None and found[2] is None
    assert found[1] == bound
