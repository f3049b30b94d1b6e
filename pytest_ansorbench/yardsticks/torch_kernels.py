"""Cases in PyTorch, eager or compiled, with the settings that suit them best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.networks.graph import draw_weights
from pytest_ansorbench.workloads.networks.imported import from_exported_program
from pytest_ansorbench.workloads.networks.sources import ExportedFile
from pytest_ansorbench.workloads.networks.to_torch import to_torch
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.yardsticks.kernel import Host, LibraryKernel, NoKernel
from pytest_ansorbench.yardsticks.sources import (
    Source,
    brought_back,
    laid_out,
    shipped_case,
    torch_file,
)
from pytest_ansorbench.yardsticks.torch_operators import operator_module, tensor_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

_OPSET: Final = 18
"""Of the ONNX files: layer normalization is one operator from 17 on."""


class Gpu(Host):
    """PyTorch's first CUDA device, which works while a call has returned."""

    def seconds(self, call: Callable[[], Any], calls: int) -> float:
        """Between events on the device before and after them, as TVM counts."""
        import torch

        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(calls):
            call()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) / 1e3

    def flush(self, size: int) -> None:
        import torch

        torch.ones(size, dtype=torch.uint8, device="cuda").clone()


def eager_kernel(
    source: Source, inputs: Sequence[NDArray[Any]], threads: int, device: str = "cpu"
) -> LibraryKernel:
    """A case in eager mode; images have their channels last in memory."""
    return _kernel(_module(source, device), source, inputs, threads, device)


def compiled_kernel(
    source: Source, inputs: Sequence[NDArray[Any]], threads: int, device: str = "cpu"
) -> LibraryKernel:
    """A case compiled by Inductor, which packs weights ahead of time and tries kernels."""
    import torch
    from torch._inductor import config

    config.freezing = True
    compiled = torch.compile(_module(source, device), mode="max-autotune")
    return _kernel(compiled, source, inputs, threads, device)


def export(source: Source, inputs: Sequence[NDArray[Any]], path: Path) -> None:
    """Write a case as an ONNX file, for all who read one: NoKernel if it has no such form."""
    import torch

    tensors = tuple(tensor_of(np.asarray(one, order="C")) for one in laid_out(source, inputs))
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


def _module(source: Source, device: str = "cpu") -> Any:
    """A case as a module of PyTorch's, its weights on a device: NoKernel if that is not there."""
    import torch
    from torch.export.passes import move_to_device_pass

    if device == "cuda" and not torch.cuda.is_available():
        raise NoKernel(f"torch {torch.__version__} sees no CUDA device: install one built for CUDA")
    case = shipped_case(source)
    if isinstance(case, Operator):
        return operator_module(case).to(device)
    if case is not None:
        graph = case.graph()
        return to_torch(graph, draw_weights(graph, seed=case.id)).to(device)
    read = from_exported_program(torch_file(source), shapes=source["shapes"]).read
    assert isinstance(read, ExportedFile)
    program = read.program()
    return (program if device == "cpu" else move_to_device_pass(program, device)).module()


def _kernel(
    module: Any,
    source: Source,
    inputs: Sequence[NDArray[Any]],
    threads: int,
    device: str,
) -> LibraryKernel:
    import torch
    from torch.utils._pytree import tree_leaves

    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    tensors = [tensor_of(array).to(device) for array in laid_out(source, inputs)]

    def call() -> Any:
        with torch.inference_mode():
            return module(*tensors)

    def outputs(returned: Any) -> Sequence[NDArray[Any]]:
        return brought_back(source, [*map(_array, tree_leaves(returned))])

    return LibraryKernel(call, outputs, Gpu() if device == "cuda" else Host())


def _array(tensor: Tensor) -> NDArray[Any]:
    """A tensor's numbers; NumPy lacks bfloat16."""
    import torch

    wide = torch.promote_types(tensor.dtype, torch.float32)
    return np.asarray((tensor.to(wide) if tensor.dtype.is_floating_point else tensor).cpu().numpy())
