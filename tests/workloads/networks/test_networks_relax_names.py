"""The same calls with each version of TVM; `tox -e tests-tvm25` runs them with an old one."""

import numpy as np

from pytest_ansorbench.workloads.networks.relax_names import (
    replace_constants,
    tensor_type,
    type_of,
    with_parameters,
)


def plus_constant(value):
    from tvm import relax

    data = relax.Var("data", tensor_type((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        builder.emit_func_output(builder.emit(relax.op.add(data, relax.const(value))))
    return builder.get()["main"]


def test_a_tensor_has_shape_and_data_type():
    from tvm import relax

    described = type_of(relax.Var("data", tensor_type((2, 3), "int8")))
    assert [int(extent) for extent in described.shape] == [2, 3]
    assert str(described.dtype) == "int8"


def test_constants_are_replaced_and_become_parameters():
    from tvm import relax

    value = np.full((2, 3), 7.0, "float32")
    function, seen = plus_constant(value), []

    def variable(constant, tensor):
        seen.append((relax.Var("weight", type_of(constant)), tensor.numpy()))
        return seen[-1][0]

    bare = replace_constants(function, variable)
    [(weight, array)] = seen
    np.testing.assert_array_equal(array, value)
    lifted = with_parameters(bare, [*bare.params, weight], bare.body)
    assert lifted.params[-1].same_as(weight) and len(lifted.params) == 2
    assert not relax.analysis.free_vars(lifted)
