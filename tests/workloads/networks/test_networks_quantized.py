"""Quantized models: what TVM's importers make of them, and what they make nothing of.

They compute a quantized layer in float32, between inputs and outputs of 8 bits.
"""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads import ImportFailed
from pytest_ansorbench.workloads.dataflow import Rounding
from pytest_ansorbench.workloads.signature import arguments_of
from tests import onnx_models
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


def onnx_file(tmp_path, nodes, given, returned, *constants, **more):
    path, values = tmp_path / "quantized.onnx", ({"x": given}, {"y": returned})
    return onnx_models.write(path, nodes, *values, *constants, **more)


@pytest.mark.parametrize(("dtype", "zero"), [("int8", 3), ("uint8", 131)])
def test_a_convolution_between_quantizations_is_tuned(tmp_path, dtype, zero):
    """As exporters write it: activations, kernel and bias are quantized, the layer is not."""
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
    shapes = [("FLOAT", [2, channels, 8, 8]) for channels in (3, 4)]
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
    # What rounds to 8 bits may round some the other way.
    assert Rounding.of_network(case.tasks()).few > 0.0


def test_a_product_of_whole_numbers_is_tuned(tmp_path):
    nodes = [("MatMulInteger", ["x", "matrix", "point"], ["y"], {})]
    constants = {"matrix": np.ascontiguousarray(MATRIX.T), "point": np.uint8(128)}
    shapes = (("UINT8", [3, 8]), ("INT32", [3, 4]))
    case = workloads.from_onnx(onnx_file(tmp_path, nodes, *shapes, constants))
    data, *weights = case.arguments()
    expected = (data.astype(np.int32) - 128) @ MATRIX.T.astype(np.int32)
    np.testing.assert_array_equal(infer(case.program(), (data, *weights)), expected)
    assert any("matmul" in task.name for task in case.tasks())
    assert Rounding.of_network(case.tasks()) == Rounding(0.0)  # whole numbers throughout


@pytest.mark.parametrize("operator", ["QLinearConv", "QLinearMatMul", "ConvInteger"])
def test_operators_of_whole_numbers_that_are_not_imported_are_named(tmp_path, operator):
    kind = ("UINT8", [1, 3, 8, 8])
    path = onnx_file(tmp_path, [(operator, ["x"], ["y"], {})], kind, kind)
    with pytest.raises(ImportFailed, match=rf"not supported for frontend ONNX: {operator}$"):
        workloads.from_onnx(path).tasks()


def test_quantization_by_blocks_is_refused(tmp_path):
    nodes = [("DequantizeLinear", ["x", "scales"], ["y"], {"axis": 0, "block_size": 2})]
    shapes = (("INT8", [4, 8]), ("FLOAT", [4, 8]))
    path = onnx_file(tmp_path, nodes, *shapes, {"scales": np.ones((2, 8), np.float32)}, opset=21)
    # TVM 0.25 does not know the attribute, and finds scales of another number.
    refusal = "blocked quantization is not supported|Size mismatch"
    with pytest.raises(ImportFailed, match=refusal) as caught:
        workloads.from_onnx(path).tasks()
    assert "\n" not in str(caught.value)


INT8, INT32, FLOAT = 9, 2, 0
"""Types of tensors in https://github.com/tensorflow/tensorflow, lite/schema/schema.fbs."""


def tflite_file(tmp_path, tensors, operators):
    """A model from its first tensor to its last.

    Each tensor has a name, a shape, a type, scales and a zero point, and its numbers if it has any;
    scales of weights are those of the axis with as many. Each operator has a code, its inputs and
    outputs, and the kind and the fields of its options. Numbers of slots are those of the schema's
    fields.
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
            scales, zero = np.atleast_1d(quantization[0]), quantization[1]
            axis = shape.index(scales.size) if scales.size > 1 else 0
            scales = numbers(*scales, dtype=np.float32)
            zeros = numbers(*[zero] * np.size(quantization[0]), dtype=np.int64)
            parts = table(there(2, scales), there(3, zeros), (6, "Int32", axis))
            fields.append(there(4, parts))
        described.append(table(*fields))
    codes, written = [], []
    for place, (code, taken, given, kind, options) in enumerate(operators):
        codes.append(table((0, "Int8", code), (2, "Int32", 1), (3, "Int32", code)))
        fields = [there(1, numbers(*taken)), there(2, numbers(*given))]
        fields += [(0, "Uint32", place), (3, "Uint8", kind), there(4, table(*options))]
        written.append(table(*fields))
    described, written = references(*described), references(*written)
    taken, given = numbers(0), numbers(len(tensors) - 1)
    graph = table(there(0, described), there(1, taken), there(2, given), there(3, written))
    kinds, graphs, buffers = references(*codes), references(graph), references(*buffers)
    model = table((0, "Uint32", 3), there(1, kinds), there(2, graphs), there(4, buffers))
    builder.Finish(model, file_identifier=b"TFL3")
    path = tmp_path / "quantized.tflite"
    path.write_bytes(bytes(builder.Output()))
    return path


DENSE = (
    ("x", (1, 8), INT8, (0.1, 3), None),
    ("matrix", (4, 8), INT8, (0.02, 0), MATRIX),
    ("bias", (4,), INT32, (0.002, 0), BIAS),
    ("y", (1, 4), INT8, (1.0, -1), None),
)
PRODUCT = ((9, (0, 1, 2), (3,), 8, ()),)


def test_a_dense_layer_of_tflite_is_tuned(tmp_path):
    pytest.importorskip("tflite")
    case = workloads.from_tflite(tflite_file(tmp_path, DENSE, PRODUCT))
    assert case.id == "quantized"
    data, *weights = case.arguments()
    assert data.dtype == np.int8
    sums = (data.astype(float) - 3) * 0.1 @ (MATRIX.T * 0.02) + BIAS * 0.002
    expected = rounded(sums, 1.0, -1, np.int8)
    found = infer(case.program(), (data, *weights)).astype(float)
    assert found.shape == (1, 4) and np.abs(found - expected).max() <= 1
    assert np.ptp(expected) > 10
    assert any("matmul" in task.name for task in case.tasks())


def test_a_network_as_mlperf_tiny_has_them_is_tuned(tmp_path):
    """Convolutions scaled by channel, a branch, pooling, a dense layer, softmax: all in int8."""
    pytest.importorskip("tflite")
    size, channels = 8, 6
    rng = np.random.default_rng(1)

    def weights(*shape):
        return rng.integers(-127, 128, shape).astype(np.int8)

    def biases(count):
        return rng.integers(-300, 300, count).astype(np.int32)

    scales = {name: rng.uniform(0.005, 0.02, channels).astype(np.float32) for name in "abc"}
    image = {"x": (0.05, -3), "p": (0.2, -128), "q": (0.4, -128), "r": (0.9, 5), "s": (1.0, -9)}
    image |= {name: image["s"] for name in "tu"}  # pooling and reshaping keep them
    image |= {"v": (0.02, 2), "y": (1 / 256, -128)}
    arrays = {
        **{"a": weights(channels, 3, 3, 4), "b": weights(1, 3, 3, channels)},
        **{"c": weights(channels, 1, 1, channels), "d": weights(5, channels)},
    }
    shifts = {name: biases(5 if name == "d" else channels) for name in arrays}
    of_scales = {**scales, "d": np.float32(0.01)}
    read = {"a": "x", "b": "p", "c": "q", "d": "u"}
    shapes = {name: (1, size, size, channels) for name in "pqrs"}
    shapes |= {"x": (1, size, size, 4), "t": (1, 1, 1, channels), "u": (1, channels)}
    shapes |= {"v": (1, 5), "y": (1, 5)}
    tensors, places = [], {}

    def add(name, *rest):
        places[name] = len(tensors)
        tensors.append((name, *rest))

    add("x", shapes["x"], INT8, image["x"], None)
    for name, array in arrays.items():
        add(name, array.shape, INT8, (of_scales[name], 0), array)
        sums = (image[read[name]][0] * of_scales[name], 0)
        add(f"{name} bias", shifts[name].shape, INT32, sums, shifts[name])
    add("flat", (2,), INT32, None, np.array(shapes["u"], np.int32))
    for name in "pqrstuvy":
        add(name, shapes[name], INT8, image[name], None)

    same, relu = ((1, "Int32", 1), (2, "Int32", 1)), 1

    def operator(code, taken, given, kind, *options):
        return (code, [places[one] for one in taken], [places[given]], kind, options)

    def of_layer(name):
        return [read[name], name, f"{name} bias"]

    ones = ((4, "Int32", 1), (5, "Int32", 1))
    operators = [
        operator(3, of_layer("a"), "p", 1, *same, (3, "Int8", relu), *ones),
        operator(
            4,
            of_layer("b"),
            "q",
            2,
            *same,
            (3, "Int32", 1),
            (4, "Int8", relu),
            (5, "Int32", 1),
            (6, "Int32", 1),
        ),
        operator(3, of_layer("c"), "r", 1, *same, *ones),
        operator(0, ["p", "r"], "s", 11),
        operator(
            1,
            ["s"],
            "t",
            5,
            (0, "Int8", 1),
            *((slot, "Int32", extent) for slot, extent in enumerate((1, 1, size, size), 1)),
        ),
        operator(22, ["t", "flat"], "u", 17),
        operator(9, of_layer("d"), "v", 8),
        operator(25, ["v"], "y", 9, (0, "Float32", 1.0)),
    ]
    case = workloads.from_tflite(tflite_file(tmp_path, tensors, operators))

    data, *given = case.arguments()

    def real(name, values):
        scale, zero = image[name]
        return (values - zero) * np.float64(scale)

    def stored(name, values):
        return rounded(values, image[name][0], image[name][1], np.int8)

    def layer(name):
        scaled = arrays[name] * np.reshape(
            of_scales[name], (1, 1, 1, -1) if name == "b" else (-1, *[1] * (arrays[name].ndim - 1))
        )
        return scaled, shifts[name] * image[read[name]][0] * of_scales[name]

    def windows(values):
        padded = np.pad(values, ((0, 0), (1, 1), (1, 1), (0, 0)))
        return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))

    kernel, bias = layer("a")
    p = np.maximum(np.einsum("nhwcij,oijc->nhwo", windows(real("x", data)), kernel) + bias, 0)
    p = stored("p", p)
    kernel, bias = layer("b")
    q = np.einsum("nhwcij,ijc->nhwc", windows(real("p", p)), kernel[0]) + bias
    q = stored("q", np.maximum(q, 0))
    kernel, bias = layer("c")
    r = stored("r", real("q", q) @ kernel[:, 0, 0].T + bias)
    s = stored("s", real("p", p) + real("r", r))
    u = stored("u", real("s", s).mean(axis=(1, 2)))
    matrix, bias = layer("d")
    v = real("v", stored("v", real("u", u) @ matrix.T + bias))
    y = np.exp(v) / np.exp(v).sum()
    found = infer(case.program(), (data, *given)).astype(float)
    # A number that is rounded the other way moves those behind it.
    assert found.shape == (1, 5) and np.abs(found - stored("y", y)).max() <= 4
    assert np.ptp(y) > 0.1
    names = " ".join(task.name for task in case.tasks())
    assert names.count("fused_conv2d") == 3 and "avg_pool2d" in names and "matmul" in names


def test_weights_alone_that_are_quantized_are_refused(tmp_path):
    pytest.importorskip("tflite")
    data, matrix, bias, output = DENSE
    tensors = (
        (*data[:2], FLOAT, None, None),
        matrix,
        (*bias[:2], FLOAT, None, BIAS.astype(np.float32)),
        (*output[:2], FLOAT, None, None),
    )
    path = tflite_file(tmp_path, tensors, PRODUCT)
    with pytest.raises(ImportFailed, match=r"dynamic range quantization: .*FULLY_CON") as caught:
        workloads.from_tflite(path).tasks()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"not a model at all", "no TFLite model: b'TFL3' is not where"),
        (lambda content: content[:40], "bad model file .*quantized"),
    ],
    ids=["other", "cut"],
)
def test_what_is_no_tflite_is_refused(tmp_path, change, message):
    pytest.importorskip("tflite")
    path = tflite_file(tmp_path, DENSE, PRODUCT)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ImportFailed, match=message):
        workloads.from_tflite(path).tasks()
