"""Quantized models: what TVM's importers make of them, and what they make nothing of.

They compute a quantized layer in float32, between inputs and outputs of 8 bits.
"""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads import ImportFailed
from pytest_ansorbench.workloads.signature import arguments_of
from tests.inference import infer

RNG = np.random.default_rng(0)
KERNEL = RNG.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
BIAS = RNG.integers(-500, 500, 4).astype(np.int32)
MATRIX = RNG.integers(-127, 128, (4, 8)).astype(np.int8)


def rounded(values, scale, zero, dtype):
    """Numbers as they are quantized."""
    info = np.iinfo(dtype)
    return np.clip(np.round(values / scale) + zero, info.min, info.max)


def agrees(found, expected, quantum):
    """Whether all but some numbers, which are rounded the other way, are as they should be."""
    off = np.abs(found.astype(float) - expected)
    assert found.shape == expected.shape
    assert off.max() < 1.01 * quantum
    assert np.mean(off < 0.01 * quantum) > 0.95
    assert np.ptp(expected) > 10 * quantum  # it says something


def onnx_file(tmp_path, nodes, given, returned, constants=(), opset=17):
    import onnx
    from onnx import helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node(*node[:3], **node[3]) for node in nodes],
        "quantized",
        [helper.make_tensor_value_info("x", *given)],
        [helper.make_tensor_value_info("y", *returned)],
        [numpy_helper.from_array(np.array(array), name) for name, array in dict(constants).items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    path = tmp_path / "quantized.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), str(path))
    return path


@pytest.mark.parametrize(("dtype", "zero"), [("int8", 3), ("uint8", 131)])
def test_a_convolution_between_quantizations_is_tuned(tmp_path, dtype, zero):
    """As exporters write it: activations, kernel and bias are quantized, the layer is not."""
    import onnx

    image = np.float32(0.02)
    kernel = np.array([0.01, 0.02, 0.015, 0.005], np.float32)
    output = np.float32(0.1)
    point = np.dtype(dtype).type(zero)
    nodes = [
        ("QuantizeLinear", ["x", "image", "point"], ["a"], {}),
        ("DequantizeLinear", ["a", "image", "point"], ["b"], {}),
        ("DequantizeLinear", ["kernel", "scales", "zeros"], ["k"], {"axis": 0}),
        ("DequantizeLinear", ["bias", "shifts"], ["s"], {"axis": 0}),
        ("Conv", ["b", "k", "s"], ["c"], {"pads": [1, 1, 1, 1]}),
        ("QuantizeLinear", ["c", "output", "point"], ["d"], {}),
        ("DequantizeLinear", ["d", "output", "point"], ["y"], {}),
    ]
    constants = {
        "image": image,
        "point": point,
        "kernel": KERNEL,
        "scales": kernel,
        "zeros": np.zeros(4, np.int8),
        "bias": BIAS,
        "shifts": image * kernel,
        "output": output,
    }
    shapes = [(onnx.TensorProto.FLOAT, [2, channels, 8, 8]) for channels in (3, 4)]
    case = workloads.from_onnx(onnx_file(tmp_path, nodes, *shapes, constants))

    data, *weights = case.arguments()
    seen = (rounded(data, image, zero, dtype) - zero) * image
    padded = np.pad(seen, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    scaled = KERNEL * kernel[:, None, None, None]
    sums = np.einsum("nchwij,ocij->nohw", windows, scaled)
    sums += (BIAS * image * kernel)[:, None, None]
    expected = (rounded(sums, output, zero, dtype) - zero) * output
    agrees(infer(case.program(), (data, *weights)), expected, output)

    [convolution] = [task for task in case.tasks() if "conv2d" in task.name]
    kinds = {kind for kind, shape in arguments_of(convolution.mod) if shape == KERNEL.shape}
    assert kinds == {"float32"}


def test_a_product_of_whole_numbers_is_tuned(tmp_path):
    import onnx

    nodes = [("MatMulInteger", ["x", "matrix", "point"], ["y"], {})]
    constants = {"matrix": np.ascontiguousarray(MATRIX.T), "point": np.uint8(128)}
    shapes = ((onnx.TensorProto.UINT8, [3, 8]), (onnx.TensorProto.INT32, [3, 4]))
    case = workloads.from_onnx(onnx_file(tmp_path, nodes, *shapes, constants))
    data, *weights = case.arguments()
    expected = (data.astype(np.int32) - 128) @ MATRIX.T.astype(np.int32)
    np.testing.assert_array_equal(infer(case.program(), (data, *weights)), expected)
    assert any("matmul" in task.name for task in case.tasks())


@pytest.mark.parametrize("operator", ["QLinearConv", "QLinearMatMul", "ConvInteger"])
def test_operators_of_whole_numbers_that_are_not_imported_are_named(tmp_path, operator):
    import onnx

    kind = (onnx.TensorProto.UINT8, [1, 3, 8, 8])
    path = onnx_file(tmp_path, [(operator, ["x"], ["y"], {})], kind, kind)
    with pytest.raises(ImportFailed, match=rf"not supported for frontend ONNX: {operator}$"):
        workloads.from_onnx(path).tasks()


def test_quantization_by_blocks_is_refused(tmp_path):
    import onnx

    nodes = [("DequantizeLinear", ["x", "scales"], ["y"], {"axis": 0, "block_size": 2})]
    shapes = ((onnx.TensorProto.INT8, [4, 8]), (onnx.TensorProto.FLOAT, [4, 8]))
    path = onnx_file(tmp_path, nodes, *shapes, {"scales": np.ones((2, 8), np.float32)}, opset=21)
    # TVM 0.25 does not know the attribute, and finds scales of another number.
    refusal = "blocked quantization is not supported|Size mismatch"
    with pytest.raises(ImportFailed, match=refusal) as caught:
        workloads.from_onnx(path).tasks()
    assert "\n" not in str(caught.value)


INT8, INT32, FLOAT = 9, 2, 0
"""Types of tensors in https://github.com/tensorflow/tensorflow, lite/schema/schema.fbs."""


def tflite_file(tmp_path, *tensors):
    """A dense layer: tensors are data, matrix, bias and output.

    Each has a name, a shape, a type, scale and zero point, and its numbers if it has any. Numbers
    of slots are those of the schema's fields.
    """
    flatbuffers = pytest.importorskip("flatbuffers")
    builder = flatbuffers.Builder(0)

    def table(*fields):
        builder.StartObject(1 + max((slot for slot, _, _ in fields), default=0))
        for slot, kind, value in fields:
            getattr(builder, f"Prepend{kind}Slot")(slot, value, 0)
        return builder.EndObject()

    def numbers(*values, dtype=np.int32):
        return builder.CreateNumpyVector(np.array(values, dtype))

    def references(*tables):
        builder.StartVector(4, len(tables), 4)
        for one in reversed(tables):
            builder.PrependUOffsetTRelative(one)
        return builder.EndVector()

    def there(slot, offset):
        return (slot, "UOffsetTRelative", offset)

    buffers, described = [table()], []
    for name, shape, kind, quantization, array in tensors:
        fields = [there(0, numbers(*shape)), (1, "Int8", kind)]
        if array is not None:
            content = np.frombuffer(array.tobytes(), np.uint8)
            fields.append((2, "Uint32", len(buffers)))
            buffers.append(table(there(0, builder.CreateNumpyVector(content))))
        fields.append(there(3, builder.CreateString(name)))
        if quantization is not None:
            scale, zero = quantization
            scales = numbers(scale, dtype=np.float32)
            zeros = numbers(zero, dtype=np.int64)
            fields.append(there(4, table(there(2, scales), there(3, zeros))))
        described.append(table(*fields))
    dense = table((0, "Int8", 9), (2, "Int32", 1), (3, "Int32", 9))
    taken, given = numbers(0, 1, 2), numbers(3)
    operator = table(there(1, taken), there(2, given), (3, "Uint8", 8), there(4, table()))
    described = references(*described)
    operators = references(operator)
    taken, given = numbers(0), numbers(3)
    graph = table(there(0, described), there(1, taken), there(2, given), there(3, operators))
    kinds, graphs, buffers = references(dense), references(graph), references(*buffers)
    model = table((0, "Uint32", 3), there(1, kinds), there(2, graphs), there(4, buffers))
    builder.Finish(model, file_identifier=b"TFL3")
    path = tmp_path / "dense.tflite"
    path.write_bytes(bytes(builder.Output()))
    return path


DENSE = (
    ("x", (1, 8), INT8, (0.1, 3), None),
    ("matrix", (4, 8), INT8, (0.02, 0), MATRIX),
    ("bias", (4,), INT32, (0.002, 0), BIAS),
    ("y", (1, 4), INT8, (1.0, -1), None),
)


def test_a_dense_layer_of_tflite_is_tuned(tmp_path):
    pytest.importorskip("tflite")
    case = workloads.from_tflite(tflite_file(tmp_path, *DENSE))
    assert case.id == "dense"
    data, *weights = case.arguments()
    assert data.dtype == np.int8
    sums = (data.astype(float) - 3) * 0.1 @ (MATRIX.T * 0.02) + BIAS * 0.002
    expected = rounded(sums, 1.0, -1, np.int8)
    found = infer(case.program(), (data, *weights)).astype(float)
    assert found.shape == (1, 4) and np.abs(found - expected).max() <= 1
    assert np.ptp(expected) > 10
    assert any("matmul" in task.name for task in case.tasks())


def test_weights_alone_that_are_quantized_are_refused(tmp_path):
    pytest.importorskip("tflite")
    data, matrix, bias, output = DENSE
    path = tflite_file(
        tmp_path,
        (*data[:2], FLOAT, None, None),
        matrix,
        (*bias[:2], FLOAT, None, BIAS.astype(np.float32)),
        (*output[:2], FLOAT, None, None),
    )
    with pytest.raises(ImportFailed, match=r"dynamic range quantization: .*FULLY_CON") as caught:
        workloads.from_tflite(path).tasks()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"not a model at all", "no TFLite model: b'TFL3' is not where"),
        (lambda content: content[:40], "bad model file .*dense"),
    ],
    ids=["other", "cut"],
)
def test_what_is_no_tflite_is_refused(tmp_path, change, message):
    pytest.importorskip("tflite")
    path = tflite_file(tmp_path, *DENSE)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ImportFailed, match=message):
        workloads.from_tflite(path).tasks()
