"""Which inputs are indices, and of how many elements."""

from __future__ import annotations

import pytest

from pytest_ansorbench.workloads.dataflow import index_bounds


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (lambda topi, data, at: topi.take(data, at, axis=0), 32),
        (lambda topi, data, at: topi.take(data, topi.cast(at, "int64"), axis=1), 64),
        (lambda topi, data, at: topi.gather_nd(data, topi.transpose(at)), 32),
        (lambda topi, data, at: topi.take(data, topi.argmax(at, axis=1), axis=0), None),
    ],
    ids=["plain", "cast", "copied", "reduced"],
)
def test_what_is_made_of_an_index_is_bounded_as_it_is(make, bound):
    from tvm import IRModule, te, topi

    data, at = te.placeholder((32, 64), "float32"), te.placeholder((8, 2), "int32")
    program = te.create_prim_func([data, at, make(topi, data, at)])
    found = index_bounds(IRModule({"main": program}))
    assert found[0] is None and found[2] is None
    assert found[1] == bound
