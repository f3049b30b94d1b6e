"""Users' own models: from ONNX, from PyTorch, from Relax; and files that are none."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads import ImportFailed
from pytest_ansorbench.workloads.networks.relax_names import tensor_type
from tests.inference import infer

KERNEL = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
MATRIX = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)


def onnx_model(operator="Relu", batch=1):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node(operator, ["a"], ["b"]),
        helper.make_node("GlobalAveragePool", ["b"], ["c"]),
        helper.make_node("Flatten", ["c"], ["d"]),
        helper.make_node("MatMul", ["d", "matrix"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 5])],
        [numpy_helper.from_array(KERNEL, "kernel"), numpy_helper.from_array(MATRIX, "matrix")],
    )
    opsets = [helper.make_opsetid("", 17)]
    return onnx, helper.make_model(graph, opset_imports=opsets, ir_version=8)


def expected(x):
    """The same in NumPy."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    convolved = np.einsum("nchwij,ocij->nohw", windows, KERNEL)
    return np.maximum(convolved, 0).mean(axis=(2, 3)) @ MATRIX


def agrees(case):
    data, *weights = case.arguments()
    assert sum(array.size for array in weights) >= KERNEL.size + MATRIX.size
    np.testing.assert_allclose(
        infer(case.program(), (data, *weights)), expected(data), rtol=1e-3, atol=1e-4
    )
    assert {task.weight for task in case.tasks()} == {1}
    assert case.flops == sum(task.weight * task.flops for task in case.tasks())
    assert isinstance(case, workloads.NetworkCase)


def test_an_onnx_file_becomes_a_case(tmp_path):
    onnx, model = onnx_model()
    path = tmp_path / "small.onnx"
    onnx.save(model, str(path))
    case = workloads.from_onnx(path)
    assert case.id == str(case) == "small"
    agrees(case)


def test_open_shapes_are_given(tmp_path):
    onnx, model = onnx_model(batch="n")
    path = tmp_path / "small.onnx"
    onnx.save(model, str(path))
    agrees(workloads.from_onnx(path, name="mine", shapes={"x": (2, 3, 8, 8)}))
    with pytest.raises(ImportFailed, match=r"its shape .* is not known; give it, e.g. shapes="):
        workloads.from_onnx(path).tasks()


def test_an_unsupported_operator_is_named(tmp_path):
    onnx, model = onnx_model("StringNormalizer")
    path = tmp_path / "odd.onnx"
    onnx.save(model, str(path))
    with pytest.raises(ImportFailed) as caught:
        workloads.from_onnx(path).tasks()
    assert "StringNormalizer" in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("read", [workloads.from_onnx, workloads.from_exported_program])
@pytest.mark.parametrize("content", [None, b"", b"not a model at all"])
def test_a_broken_file_is_refused_in_a_sentence(tmp_path, read, content):
    if read is workloads.from_exported_program:
        pytest.importorskip("torch")
    path = tmp_path / "broken.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ImportFailed, match=r"bad model file .*broken\.model"):
        read(path).tasks()


@pytest.mark.parametrize(
    ("read", "module", "extra"),
    [
        (workloads.from_onnx, "onnx", "onnx"),
        (workloads.from_exported_program, "torch", "torch"),
    ],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, read, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportFailed, match=rf"pip install 'pytest-ansorbench\[{extra}\]'"):
        read(tmp_path / "any").tasks()


def test_an_exported_program_becomes_a_case(tmp_path):
    torch = pytest.importorskip("torch")

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel = torch.nn.Parameter(torch.from_numpy(KERNEL))
            self.matrix = torch.nn.Parameter(torch.from_numpy(MATRIX))

        def forward(self, x):
            y = torch.relu(torch.nn.functional.conv2d(x, self.kernel, padding=1))
            return y.mean(dim=(2, 3)) @ self.matrix

    path = tmp_path / "small.pt2"
    exported = torch.export.export(Small(), (torch.zeros(1, 3, 8, 8),))
    torch.export.save(exported, str(path))
    agrees(workloads.from_exported_program(path))


def test_a_function_becomes_a_case():
    def small():
        from tvm import relax

        x = relax.Var("x", tensor_type([1, 3, 8, 8], "float32"))
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            with builder.dataflow():
                y = relax.op.nn.conv2d(x, relax.const(KERNEL), padding=(1, 1))
                y = relax.op.mean(relax.op.nn.relu(y), axis=[2, 3])
                output = builder.emit_output(relax.op.matmul(y, relax.const(MATRIX)))
            builder.emit_func_output(output)
        return builder.get()

    case = workloads.from_relax("mine", small)
    assert case.id == "mine"
    agrees(case)


def test_nothing_is_read_before_it_is_needed(tmp_path):
    case = workloads.from_onnx(tmp_path / "absent.onnx")
    assert case.id == "absent"
