"""ONNX models of a few operators."""

from __future__ import annotations

import numpy as np


def graph(name, nodes, inputs, outputs, constants=()):
    """A graph of nodes.

    Args:
        name: Its name.
        nodes: Operator, inputs, outputs and attributes of each.
        inputs: Data type and shape of each by its name, e.g. `{"x": ("FLOAT", [2, 3])}`.
        outputs: The same of each output.
        constants: Arrays by their names.
    """
    from onnx import TensorProto, helper, numpy_helper

    given, returned = (
        [
            helper.make_tensor_value_info(one, getattr(TensorProto, kind), shape)
            for one, (kind, shape) in described.items()
        ]
        for described in (inputs, outputs)
    )
    return helper.make_graph(
        [helper.make_node(*node, **attributes) for *node, attributes in nodes],
        name,
        given,
        returned,
        [numpy_helper.from_array(np.array(array), one) for one, array in dict(constants).items()],
    )


def write(path, *parts, opset=17):
    """Write a model of a graph of such parts, and return its path."""
    import onnx

    opsets = [onnx.helper.make_opsetid("", opset)]
    made = onnx.helper.make_model(graph(path.stem, *parts), opset_imports=opsets, ir_version=10)
    onnx.save(made, str(path))
    return path
