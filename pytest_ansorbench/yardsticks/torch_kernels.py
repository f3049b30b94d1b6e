"""Cases in PyTorch on a CPU, eager or compiled, with the settings that suit them best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.networks.graph import draw_weights
from pytest_ansorbench.workloads.networks.imported import from_exported_program
from pytest_ansorbench.workloads.networks.sources import ExportedFile
from pytest_ansorbench.workloads.networks.to_torch import to_torch
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.yardsticks.kernel import LibraryKernel, NoKernel
from pytest_ansorbench.yardsticks.sources import (
    PT2,
    Source,
    brought_back,
    file_of,
    laid_out,
    shipped_case,
)
from pytest_ansorbench.yardsticks.torch_operators import operator_module, tensor_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OPSET: Final = 18
"""Of the ONNX files: layer normalization is one operator from 17 on."""


def eager_kernel(source: Source, inputs: Sequence[NDArray[Any]], threads: int) -> LibraryKernel:
    """A case in eager mode; images have their channels last in memory."""
    return _kernel(_module(source), source, inputs, threads)


def compiled_kernel(source: Source, inputs: Sequence[NDArray[Any]], threads: int) -> LibraryKernel:
    """A case compiled by Inductor, which packs weights ahead of time and tries kernels."""
    import torch
    from torch._inductor import config

    config.freezing = True
    compiled = torch.compile(_module(source), mode="max-autotune")
    return _kernel(compiled, source, inputs, threads)


def export(source: Source, inputs: Sequence[NDArray[Any]], path: Path) -> None:
    """Write a case as an ONNX file, for all who read one: NoKernel if it has no such form."""
    import torch

    tensors = tuple(map(tensor_of, map(np.ascontiguousarray, laid_out(source, inputs))))
    try:
        with torch.inference_mode():
            torch.onnx.export(
                _module(source),
                tensors,
                path,
                opset_version=_OPSET,
                # An exported program is for inference, and refuses to be told so.
                training=torch.onnx.TrainingMode.PRESERVE,
                # The newer exporter needs further packages, and seconds for each network.
                dynamo=False,
            )
    except Exception as error:  # whatever a model that has no such form provokes
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise NoKernel(f"it cannot be exported: {said}") from error


def _module(source: Source) -> Any:
    """A case as a module of PyTorch's."""
    case = shipped_case(source)
    if isinstance(case, Operator):
        return operator_module(case)
    if case is not None:
        graph = case.graph()
        return to_torch(graph, draw_weights(graph, seed=case.id))
    path = file_of(source, PT2)
    if path is None:
        raise NoKernel(f"torch does not read {Path(source['file']).name}: give it a .pt2 file")
    read = from_exported_program(path, shapes=source["shapes"]).read
    assert isinstance(read, ExportedFile)
    return read.program().module()


def _kernel(
    module: Any, source: Source, inputs: Sequence[NDArray[Any]], threads: int
) -> LibraryKernel:
    import torch

    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")
    tensors = [tensor_of(array) for array in laid_out(source, inputs)]

    def call() -> Any:
        with torch.inference_mode():
            return module(*tensors)

    def outputs(returned: Any) -> Sequence[NDArray[Any]]:
        return brought_back(source, [*_arrays(returned)])

    return LibraryKernel(call, outputs)


def _arrays(returned: Any) -> Iterator[NDArray[Any]]:
    """The arrays of what a module returns, a tensor or some."""
    import torch

    if isinstance(returned, torch.Tensor):
        # NumPy lacks bfloat16.
        wide = torch.promote_types(returned.dtype, torch.float32)
        is_float = returned.dtype.is_floating_point
        yield np.asarray((returned.to(wide) if is_float else returned).numpy())
    else:
        for one in returned:
            yield from _arrays(one)
