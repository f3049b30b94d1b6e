"""Where the time of tuned networks goes, and that of OpenVINO's.

    python benchmarks/profiles.py [FILE ...] [--rows N] > docs/results/profiles.txt

FILE: a result that `benchmarks/tuned.py` has kept; all of docs/results/tuned/ with seed 0 by
default. Of each network the tasks that take most, as an instrument of TVM's virtual machine times
their calls within inferences, then the kinds of nodes that take most in OpenVINO, by its own
counters: a kind is a type with shapes. Medians over inferences of all calls of a kind.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from end_to_end import Calls, an_inference
from tabulate import tabulate
from tuned import as_tuned, kept_results, with_winners

from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.lowering import network_executable
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.yardsticks.onnx_kernels import openvino_settings
from pytest_ansorbench.yardsticks.sources import laid_out, source_of
from pytest_ansorbench.yardsticks.torch_kernels import export

if TYPE_CHECKING:
    from pytest_ansorbench.records import CaseResult
    from pytest_ansorbench.workloads.case import NetworkCase

INFERENCES: Final = 100
HEADERS: Final = ("network", "in", "kind", "calls", "ms", "GFLOP/s")


class Kind(NamedTuple):
    """Calls of one kind in an inference."""

    name: str
    calls: int
    seconds: float
    gflops: float | None = None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--rows", type=int, default=5, metavar="N", help="of each (default: 5)")
    given = parser.parse_args()
    cases = [case for file in given.files or kept_results() for case in read_result(file).cases]
    target = resolve_target(None)
    threads = threads_of(target)
    os.environ["TVM_NUM_THREADS"] = str(threads)  # TVM's own default is half of the cores
    register_intrinsics(target)
    profiles: dict[str, dict[str, list[Kind]]] = {case.case: {} for case in cases}
    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
        networks = {name: as_tuned(name, Path(folder)) for name in profiles}
        # TVM's threads look for work for some time after a call: OpenVINO comes first.
        for name, network in networks.items():
            profiles[name]["OpenVINO"] = [*of_openvino(network, Path(folder), threads)]
    for case in cases:
        profiles[case.case]["TVM"] = [*of_tvm(case, networks[case.case], target)]
    rows = [row for name in profiles for row in table(name, profiles[name], given.rows)]
    print(tabulate(rows, HEADERS, floatfmt=("", "", "", "", ".3f", ".0f")))


def of_tvm(case: CaseResult, network: NetworkCase, target: Any) -> Iterator[Kind]:
    """A kind for each task with its winner, and one for what the virtual machine itself calls."""
    import tvm
    from tvm import relax

    executable = network_executable(with_winners(case, network), target)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    tensors = [tvm.runtime.tensor(array) for array in network.arguments()]
    calls = Calls()
    machine["main"](*tensors)
    machine.set_instrument(calls)
    for _ in range(INFERENCES):
        machine["main"](*tensors)
    for task in network.tasks():
        if task.name not in calls.seconds:
            continue  # what reshapes alone is no call
        seconds = an_inference(calls.seconds.pop(task.name), INFERENCES)
        yield Kind(task.name, task.weight, seconds, task.weight * task.flops / seconds / 1e9)
    rest = calls.seconds.values()
    often = sum(map(len, rest)) // INFERENCES
    yield Kind("the virtual machine", often, sum(an_inference(one, INFERENCES) for one in rest))


def of_openvino(network: NetworkCase, folder: Path, threads: int) -> Iterator[Kind]:
    """The kinds of nodes in OpenVINO."""
    import openvino

    source, path = source_of(network), folder / f"{network.id}.onnx"
    arrays = network.arguments()[: len(network.arguments()) - len(network.weights())]
    export(source, arrays, path)
    settings = {**openvino_settings(threads), "PERF_COUNT": True}
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()
    inputs = [openvino.Tensor(array) for array in laid_out(source, arrays)]
    shown = {
        node.get_friendly_name(): shapes(node) for node in compiled.get_runtime_model().get_ops()
    }
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(INFERENCES):
        request.infer(inputs)
        for one in request.profiling_info:
            seconds[one.node_name, one.node_type].append(one.real_time.total_seconds())
    kinds: dict[str, list[float]] = defaultdict(list)
    for (node, kind), taken in seconds.items():
        kinds[f"{kind} {shown.get(node, '')}"].append(median(taken))
    for name, each in kinds.items():
        yield Kind(name, len(each), sum(each))


def shapes(node: Any) -> str:
    """Shapes of what a node of OpenVINO's reads first and of what it writes."""
    read = [tuple(one.get_shape()) for one in node.inputs()[:1]]
    return " -> ".join(map(str, [*read, *(tuple(one.get_shape()) for one in node.outputs()[:1])]))


def table(
    network: str, profiles: Mapping[str, Sequence[Kind]], rows: int
) -> Iterator[tuple[Any, ...]]:
    """The rows of a network: the kinds that take most of either, then what is left."""
    for where, kinds in sorted(profiles.items(), reverse=True):
        ranked = sorted(kinds, key=lambda kind: -kind.seconds)
        left = ranked[rows:]
        more = Kind(f"{len(left)} more", sum(k.calls for k in left), sum(k.seconds for k in left))
        for kind in [*ranked[:rows], more]:
            yield network, where, kind.name, kind.calls, 1e3 * kind.seconds, kind.gflops


if __name__ == "__main__":
    main()
