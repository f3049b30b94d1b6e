"""What a case is to other libraries: a file of its user's, or what makes it; and its layout there.

Nothing of any library is imported here: inputs are laid out by NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.workloads.case import Case, Check, DrawnNetwork
from pytest_ansorbench.workloads.definition import definition_of, made
from pytest_ansorbench.workloads.networks.imported import ImportedNetwork
from pytest_ansorbench.workloads.networks.kernelbench import KernelBenchFile
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.networks.sources import TorchModule
from pytest_ansorbench.workloads.networks.to_torch import (
    channels_last,
    channels_second,
    image_inputs,
)
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.attention import Attention, Rope
from pytest_ansorbench.workloads.operators.batch_matmul import BatchMatmul
from pytest_ansorbench.workloads.operators.capsule_conv2d import CapsuleConv2d
from pytest_ansorbench.workloads.operators.convolution import Windowed
from pytest_ansorbench.workloads.operators.gathered import Embedding, Moe
from pytest_ansorbench.workloads.operators.normalization import GroupNorm
from pytest_ansorbench.workloads.operators.pooling import GlobalAvgPool2d
from pytest_ansorbench.workloads.operators.transpose_batch_matmul import TransposeBatchMatmul
from pytest_ansorbench.workloads.operators.transposed_conv2d import TransposedConv2d
from pytest_ansorbench.yardsticks.kernel import NoKernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

Source = Mapping[str, Any]
"""JSON: a `definition` of a shipped case, or the `file` of a model with `shapes` of its inputs."""

ONNX: Final = ".onnx"
PT2: Final = ".pt2"
_DATA: Final[Mapping[type[Operator], tuple[int, ...]]] = {
    BatchMatmul: (0, 1),
    TransposeBatchMatmul: (0, 1),
    Attention: (0, 1, 2),
    Rope: (0, 1, 2),
    Embedding: (1,),
    Moe: (0, 2),
}
"""Inputs of operators that change from call to call; of any other the first, the rest is weights,
which libraries bring into a form of their own ahead of time."""
_IMAGES: Final = (Windowed, TransposedConv2d, GroupNorm, GlobalAvgPool2d)


def source_of(case: Case) -> Source:
    """What a case is made of in another process: NoKernel if it cannot be told.

    A module of PyTorch's is none: see `module_of`.
    """
    definition = definition_of(case)
    if definition is not None:
        return {"definition": definition}
    file = case.file if isinstance(case, ImportedNetwork) else None
    if isinstance(case, ImportedNetwork) and file is not None and file.suffix in (ONNX, PT2):
        return {"file": str(file.resolve()), "shapes": dict(case.shapes)}
    raise NoKernel(
        "it cannot be exported: it is neither a case that ships with the package nor an .onnx or "
        ".pt2 file nor a module of PyTorch's"
    )


def module_of(case: Case) -> TorchModule | KernelBenchFile | None:
    """The module of PyTorch's that a case is; None if it is something else."""
    read = case.read if isinstance(case, ImportedNetwork) else None
    return read if isinstance(read, TorchModule | KernelBenchFile) else None


def data_check(case: Case, check: Check) -> Check:
    """A check with those inputs alone that change from call to call."""
    if isinstance(case, Operator):
        places: Sequence[int] = data_places(case)
    else:
        weights = len(case.weights()) if isinstance(case, DrawnNetwork) else 0
        places = range(len(check.inputs) - weights)
    return replace(check, inputs=tuple(check.inputs[place] for place in places), fresh=None)


def data_places(operator: Operator) -> tuple[int, ...]:
    """Places of the inputs that change from call to call."""
    return _DATA.get(type(operator), (0,))


def shipped_case(source: Source) -> Operator | Network | None:
    """The shipped case that a source defines; None for a file."""
    if "definition" not in source:
        return None
    case = made(source["definition"])
    assert isinstance(case, Operator | Network)
    return case


def file_of(source: Source, suffix: str) -> Path | None:
    """The file that a source is, if its name ends so."""
    path = Path(source.get("file", ""))
    return path if path.suffix == suffix else None


def torch_file(source: Source) -> Path:
    """The file that a source is, where PyTorch reads it: NoKernel if it does not."""
    path = file_of(source, PT2)
    if path is None:
        raise NoKernel(f"torch does not read {Path(source['file']).name}: give it a .pt2 file")
    return path


def require_operator(case: Case | None) -> Operator:
    """The operator that a case is, as NumPy computes them: NoKernel if it is none."""
    if not isinstance(case, Operator):
        raise NoKernel("numpy has kernels of single operators only")
    return case


def laid_out(source: Source, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Inputs of a case as its model elsewhere takes them: images have their channels second.

    In memory they are last.
    """
    case = shipped_case(source)
    if isinstance(case, CapsuleConv2d):
        [data] = inputs  # n h w i k c
        poses = data.transpose(0, 3, 1, 2, 5, 4)
        inputs = [poses.reshape(-1, case.height, case.width, case.in_channels * case.capsule)]
    if isinstance(case, Network):
        images = image_inputs(case.graph())
    else:
        images = (isinstance(case, _IMAGES),) * len(inputs)
    return [
        array.transpose(channels_second(array.ndim)) if is_image else array
        for array, is_image in zip(inputs, images, strict=True)
    ]


def brought_back(source: Source, outputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Outputs of such a model as the case has them."""
    case = shipped_case(source)
    if isinstance(case, CapsuleConv2d):
        [output] = outputs  # (n i) (o j) h w
        size = case.capsule
        apart = output.reshape(case.batch, size, case.out_channels, size, *output.shape[2:])
        return [apart.transpose(0, 4, 5, 1, 3, 2)]
    if isinstance(case, _IMAGES):
        return [
            output.transpose(channels_last(output.ndim)) if output.ndim > 2 else output
            for output in outputs
        ]
    return [*outputs]
