"""Cases in libraries that read ONNX files, with the settings that suit a CPU best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.yardsticks.kernel import LibraryKernel, NoKernel
from pytest_ansorbench.yardsticks.sources import Source, brought_back, laid_out

if TYPE_CHECKING:
    from numpy.typing import NDArray


def onnxruntime_kernel(
    path: Path, source: Source, inputs: Sequence[NDArray[Any]], threads: int
) -> LibraryKernel:
    """A model in ONNX Runtime, all of its graph optimizations on; it computes in 32 bits as is."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    arrays = _arrays(source, inputs)
    given = session.get_inputs()
    _require_as_many([one.name for one in given], arrays)
    binding = session.io_binding()
    for one, array in zip(given, arrays, strict=True):
        binding.bind_cpu_input(one.name, array)
    for one in session.get_outputs():
        binding.bind_output(one.name)

    def outputs(returned: Any) -> Sequence[NDArray[Any]]:
        return brought_back(source, binding.copy_outputs_to_cpu())

    return LibraryKernel(lambda: session.run_with_iobinding(binding), outputs)


def openvino_settings(threads: int) -> dict[str, Any]:
    """OpenVINO's properties for latency, in 32-bit floats where it would take 16."""
    return {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }


def openvino_kernel(
    path: Path, source: Source, inputs: Sequence[NDArray[Any]], threads: int
) -> LibraryKernel:
    """A model in OpenVINO, as `openvino_settings` has it."""
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    arrays = _arrays(source, inputs)
    names = [one.get_any_name() for one in model.inputs]
    _require_as_many(names, arrays)
    model.reshape({name: array.shape for name, array in zip(names, arrays, strict=True)})
    compiled = core.compile_model(model, "CPU", openvino_settings(threads))
    request = compiled.create_infer_request()
    for place, array in enumerate(arrays):
        request.set_input_tensor(place, openvino.Tensor(array, shared_memory=True))

    def call() -> Any:
        assert arrays  # their memory is what the request reads
        return request.infer(share_outputs=True)

    def outputs(returned: Any) -> Sequence[NDArray[Any]]:
        found = [request.get_output_tensor(place).data for place in range(len(model.outputs))]
        return brought_back(source, found)

    return LibraryKernel(call, outputs)


def _arrays(source: Source, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    return [np.asarray(array, order="C") for array in laid_out(source, inputs)]


def _require_as_many(names: Sequence[str], arrays: Sequence[NDArray[Any]]) -> None:
    if len(names) != len(arrays):
        raise NoKernel(f"its ONNX file has the inputs {', '.join(names)}, and not {len(arrays)}")
