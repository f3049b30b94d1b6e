"""Relax modules of a few operators."""

from __future__ import annotations

import numpy as np

from pytest_ansorbench.workloads.networks.relax_names import tensor_type


def relax_module(body, *inputs):
    """A module whose `main` is a block of dataflow.

    Args:
        body: Gives the output, from Relax, the builder of the block and the inputs.
        inputs: Name, shape and data type of each; texts in shapes are symbols.
    """
    from tvm import relax, tirx

    symbols = {}

    def extent(one):
        return symbols.setdefault(one, tirx.Var(one, "int64")) if isinstance(one, str) else one

    variables = [
        relax.Var(name, tensor_type([*map(extent, shape)], dtype)) for name, shape, dtype in inputs
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            output = builder.emit_output(body(relax, builder, *variables))
        builder.emit_func_output(output)
    return builder.get()


def product(weight):
    """A module with one product, of weights that are the same everywhere."""
    weights = np.full((8, 8), weight, np.float32)
    return relax_module(
        lambda relax, builder, x: relax.op.matmul(x, relax.const(weights)),
        ("x", (4, 8), "float32"),
    )
