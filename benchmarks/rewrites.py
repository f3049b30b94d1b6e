"""How much faster is ResNet-18 by each rewrite?

    python benchmarks/rewrites.py [--trials N/task] [--into FOLDER]

Tunes the network of `rewritten_cases.py` as PyTorch has it, and rewritten, by `draft+transfer`; the
result is kept in the folder, and not measured again. Then both, each with its schedules, PyTorch
and ONNX Runtime run in turn on the same image.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import torch
from exported import bench_build, measured
from rewritten_cases import CASES, INPUTS, MODULE
from sessions import RESULTS, bench
from tabulate import tabulate

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.records import Result
from pytest_ansorbench.storage import read_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from tvm.target import Target

    from pytest_ansorbench.workloads import ImportedNetwork


def main() -> None:
    """Tune unless that was done, then take turns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", default="24/task")
    parser.add_argument("--into", type=Path, default=RESULTS)
    given = parser.parse_args()
    path = given.into / "rewrites.json.gz"
    if not path.exists():
        bench(
            path,
            tests="benchmarks/rewritten_cases.py",
            strategy="draft+transfer",
            trials=given.trials,
            round=8,
            repeats=1,
            storage=path.parent / "rewrites",
        )
    print(compared(read_result(path)))


def compared(result: Result) -> str:
    """What the search found, and latencies in turn."""
    target = resolve_target(None)
    register_intrinsics(target)
    # TVM's own default is half of the cores.
    os.environ["TVM_NUM_THREADS"] = str(target.attrs["num-cores"])
    torch.set_num_threads(target.attrs["num-cores"])
    image = CASES[0].arguments()[0]
    calls = {case.id: inference(case, result, target, image) for case in CASES}
    calls["torch"] = lambda: MODULE(torch.from_numpy(image)).numpy()
    with torch.inference_mode():
        calls["onnxruntime"] = of_onnxruntime(image, target.attrs["num-cores"])
        outputs = {name: call() for name, call in calls.items()}
        seconds = measured(calls)
    rows = []
    for name, samples in seconds.items():
        error = np.abs(outputs[name] - outputs["torch"]).max() / np.abs(outputs["torch"]).max()
        over = median(a / b for a, b in zip(samples, seconds["torch"], strict=True))
        runs = [run for case in result.cases if case.case == name for run in case.runs]
        searched = [(len(run.trials), f"{run.search_s:.0f}") for run in runs] or [("", "")]
        rows.append(
            (name, *searched[0], f"{1e3 * median(samples):.1f}", f"{over:.2f}", f"{error:.0e}")
        )
    heads = ("network", "trials", "search (s)", "ms", "over torch", "largest error")
    return tabulate(rows, heads, disable_numparse=True)


def inference(
    case: ImportedNetwork, result: Result, target: Target, image: np.ndarray
) -> Callable[[], np.ndarray]:
    """The network with its schedules, on an image."""
    import tvm

    machine = bench_build(case, result, target)
    arguments = [tvm.runtime.tensor(array) for array in (image, *case.weights())]
    return lambda: machine["main"](*arguments).numpy()


def of_onnxruntime(image: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    """The network in ONNX Runtime, on an image."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
        path = Path(folder) / "network.onnx"
        # The newer exporter needs further packages.
        torch.onnx.export(MODULE, INPUTS, path, dynamo=False)
        session = onnxruntime.InferenceSession(path, options)
    [given] = session.get_inputs()
    return lambda: session.run(None, {given.name: image})[0]


if __name__ == "__main__":
    main()
