"""Libraries' kernels compute what the operators are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ansorbench.workloads import (
    ArgMax,
    AvgPool2d,
    BatchMatmul,
    BertLayer,
    CapsuleConv2d,
    Conv2d,
    Conv2dBnRelu,
    DepthwiseConv2d,
    GroupedConv2d,
    LlamaBlock,
    MobileNetV3,
    Operator,
    PackedConv2d,
    PackedDense,
    ResNet,
    TopK,
    TransposedConv2d,
)
from pytest_ansorbench.yardsticks import (
    numpy_kernels,
    onnx_kernels,
    torch_kernels,
    torch_operators,
)
from pytest_ansorbench.yardsticks.kernel import LibraryKernel, NoKernel
from pytest_ansorbench.yardsticks.sources import Source, data_check, laid_out, source_of
from tests.workloads.conftest import LAYERS, SMALL
from tests.workloads.networks import torch_networks

MATMUL = BatchMatmul(batch=1, m=3, n=5, k=4)
CONV = replace(Conv2d.square(9, 4, 6, 3, 2, 1), width=7)
NOT_IN_NUMPY = (GroupedConv2d, Conv2dBnRelu, DepthwiseConv2d, TransposedConv2d, CapsuleConv2d)
IN_TORCH = [one for one in SMALL if isinstance(one, NOT_IN_NUMPY)]
EVERYWHERE = [MATMUL, CONV, *(one for one in SMALL if not isinstance(one, NOT_IN_NUMPY))]
OF_MODELS = [
    *(one for one in LAYERS if not isinstance(one, PackedDense | PackedConv2d)),
    # PyTorch's own padding is at most half the kernel.
    AvgPool2d(batch=1, height=9, width=7, channels=4, kernel=3, stride=2, padding=2),
]
NETWORKS = [
    (ResNet(depth=18, size=32, batch=2), torch_networks.resnet18),
    (MobileNetV3(size=32), torch_networks.mobilenet_v3),
    (
        BertLayer(length=4, hidden=12, heads=3),
        lambda weights, x: torch_networks.bert_layer(weights, x, heads=3),
    ),
    (
        LlamaBlock(batch=2, tokens=3, past=4, hidden=48, heads=6, key_heads=2, inner=20),
        torch_networks.llama_block,
    ),
]
Reader = Callable[[Source, Sequence[Any], int], LibraryKernel]


@pytest.mark.parametrize("operator", [*EVERYWHERE, *IN_TORCH, *OF_MODELS], ids=str)
def test_torch(operator: Operator) -> None:
    agrees(operator, torch_kernels.eager_kernel)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "operator",
    [
        MATMUL,
        *(one for one in IN_TORCH if not isinstance(one, CapsuleConv2d)),
        ArgMax(m=3, n=9),
    ],
    ids=str,
)
def test_torch_in_other_types(operator: Operator, dtype: str) -> None:
    agrees(replace(operator, dtype=dtype), torch_kernels.eager_kernel)


@pytest.mark.parametrize("operator", [CONV, *IN_TORCH], ids=str)
def test_images_and_kernels_have_their_channels_last_in_torch(operator: Operator) -> None:
    torch = pytest.importorskip("torch")
    source, inputs = source_of(operator), data_check(operator, operator.check()).inputs
    images = map(torch_operators.tensor_of, laid_out(source, inputs))
    kernels = torch_operators.operator_module(operator).buffers()
    for tensor in (*images, *kernels):
        assert tensor.ndim < 4 or tensor.is_contiguous(memory_format=torch.channels_last)


def test_torch_says_not_which_of_equal_elements_comes_first() -> None:
    with pytest.raises(NoKernel, match="no order of equal elements, of which bfloat16 has many"):
        agrees(TopK(m=3, n=9, k=2, dtype="bfloat16"), torch_kernels.eager_kernel)


@pytest.mark.parametrize("operator", EVERYWHERE, ids=str)
def test_numpy(operator: Operator) -> None:
    agrees(operator, numpy_kernels.kernel)


def test_numpy_in_64_bits() -> None:
    for operator in (MATMUL, CONV):
        agrees(replace(operator, dtype="float64"), numpy_kernels.kernel)


def agrees(operator: Operator, reader: Reader) -> None:
    check = operator.check()
    kernel = reader(source_of(operator), data_check(operator, check).inputs, 1)
    [output] = kernel.outputs(kernel.call())
    np.testing.assert_allclose(output, check.expected, check.rtol, check.atol)


@pytest.mark.parametrize("operator", [*EVERYWHERE, *IN_TORCH, *OF_MODELS], ids=str)
def test_one_onnx_file_for_all(operator: Operator, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    agrees(operator, exporting(tmp_path, onnx_kernels.onnxruntime_kernel))


def test_openvino_in_32_bits(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    agrees(CONV, exporting(tmp_path, onnx_kernels.openvino_kernel))


def exporting(
    folder: Path, reader: Callable[[Path, Source, Sequence[Any], int], LibraryKernel]
) -> Reader:
    """A reader of ONNX files, given the file of the case."""

    def read(source: Source, inputs: Sequence[Any], threads: int) -> LibraryKernel:
        path = folder / "model.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of PyTorch to itself
            torch_kernels.export(source, inputs, path)
        return reader(path, source, inputs, threads)

    return read


@pytest.mark.parametrize(("network", "twin"), NETWORKS, ids=[str(one) for one, _ in NETWORKS])
def test_networks_in_torch_and_in_onnx(network: Any, twin: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    arguments = network.arguments()
    count = len(arguments) - len(network.weights())
    expected = torch_networks.run(twin, arguments[:count], arguments[count:])
    for reader in (
        torch_kernels.eager_kernel,
        exporting(tmp_path, onnx_kernels.onnxruntime_kernel),
    ):
        kernel = reader(source_of(network), arguments[:count], 1)
        [output] = kernel.outputs(kernel.call())
        np.testing.assert_allclose(output, expected, rtol=1e-3, atol=1e-5)


@pytest.fixture
def named(tmp_path: Path) -> tuple[Source, Sequence[Any], Sequence[Any]]:
    """A user's model of an array and a number, whose outputs have names; inputs and outputs."""
    torch = pytest.importorskip("torch")

    class Named(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, factor: Any) -> Any:
            return {"product": x * factor, "both": (x + factor, x)}

    x, factor = np.arange(6, dtype=np.float32).reshape(2, 3), np.array(3.0, np.float32)
    exported = torch.export.export(Named(), (torch.from_numpy(x), torch.from_numpy(factor)))
    torch.export.save(exported, tmp_path / "named.pt2")
    source = {"file": str(tmp_path / "named.pt2"), "shapes": {}}
    return source, (x, factor), (x * factor, x + factor, x)


def test_outputs_of_a_file_are_compared_one_by_one(named: Any) -> None:
    source, inputs, expected = named
    kernel = torch_kernels.eager_kernel(source, inputs, 1)
    for output, right in zip(kernel.outputs(kernel.call()), expected, strict=True):
        np.testing.assert_array_equal(output, right)


def test_a_number_among_the_inputs_has_no_axis(named: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    source, inputs, expected = named
    kernel = exporting(tmp_path, onnx_kernels.onnxruntime_kernel)(source, inputs, 1)
    for output, right in zip(kernel.outputs(kernel.call()), expected, strict=True):
        np.testing.assert_array_equal(output, right)


@pytest.mark.parametrize(
    ("reader", "dtype", "told"),
    [
        (torch_kernels.eager_kernel, "int8", "torch has no kernel of BatchMatmul in int8"),
        (
            torch_kernels.eager_kernel,
            "uint8",
            r"torch has no kernel of BatchMatmul in uint8 \* int8",
        ),
        (numpy_kernels.kernel, "int8", "numpy has no kernel of BatchMatmul in int8"),
        (numpy_kernels.kernel, "bfloat16", "numpy has no kernel of BatchMatmul in bfloat16"),
    ],
)
def test_types_that_a_library_lacks_are_named(reader: Reader, dtype: str, told: str) -> None:
    with pytest.raises(NoKernel, match=f"^{told}$"):
        agrees(replace(MATMUL, dtype=dtype), reader)


@pytest.mark.parametrize("reader", [torch_kernels.eager_kernel, numpy_kernels.kernel])
def test_a_library_sums_in_a_type_of_its_own(reader: Reader) -> None:
    told = "has no kernel of BatchMatmul in float32, summed in float64$"
    with pytest.raises(NoKernel, match=told):
        agrees(replace(MATMUL, accumulator="float64"), reader)


@pytest.mark.parametrize("operator", IN_TORCH, ids=str)
def test_nobody_would_do_these_in_numpy(operator: Operator) -> None:
    with pytest.raises(NoKernel, match=f"numpy has no kernel of {type(operator).__name__}"):
        agrees(operator, numpy_kernels.kernel)
