"""CUDA as it is found, on machines that have none: with a driver that does nothing, and without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pytest_ansorbench import cuda, environment
from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.cuda import CudaError, check_device, complaint
from pytest_ansorbench.environment import MisfitError, ToolchainError, laid_over, resolve_target
from pytest_ansorbench.measure.local.gpu import check_gpu_caches
from pytest_ansorbench.measure.settings import EngineSettings

H100 = {
    "arch": "sm_90",
    "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 49152,
    "thread_warp_size": 32,
}
DRIVER = "".join(
    f"int {name}(void) {{ return 100; }}\n"
    for name in (
        "cuDeviceGetName",
        "cuFuncSetAttribute",
        "cuGetErrorName",
        "cuGetErrorString",
        "cuLaunchKernelEx",
        "cuModuleGetFunction",
        "cuModuleLoadData",
        "cuModuleUnload",
        "cuTensorMapEncodeTiled",
    )
)
"""All that TVM's runtime wants of it. CUDA's own runtime finds it too old, and so no device."""


class Device:
    """As TVM knows one."""

    def __init__(self, version="9.0"):
        self.compute_version = version


@pytest.fixture
def without_device(monkeypatch):
    def absent():
        raise CudaError("there is none")

    monkeypatch.setattr(environment, "device_limits", absent)


@pytest.fixture
def with_device(monkeypatch):
    monkeypatch.setattr(environment, "device_limits", lambda: H100)


def test_a_target_is_completed_by_the_device(with_device):
    target = resolve_target("cuda")
    assert {name: target.attrs[name] for name in H100} == H100
    assert threads_of(target) == threads_of(resolve_target(None)) >= 1
    assert resolve_target('{"kind": "cuda", "arch": "sm_80"}').attrs["arch"] == "sm_80"


def test_without_a_device_a_target_has_to_name_its_architecture(without_device):
    with pytest.raises(ToolchainError, match="there is none"):
        resolve_target("cuda")
    target = resolve_target('{"kind": "cuda", "arch": "sm_80", "max_threads_per_block": 512}')
    limits = [int(target.attrs[name]) for name in [*H100][1:]]
    assert (target.attrs["arch"], limits) == ("sm_80", [512, 49152, 32])


@pytest.mark.parametrize(
    "text",
    [
        "nvidia/nvidia-a100",
        '{"kind": "cuda", "arch": "sm_90", "host": {"kind": "llvm", "num-cores": 3}}',
    ],
)
def test_a_complete_target_stays_as_it_is_recorded(without_device, text):
    target = resolve_target(text)
    assert str(resolve_target(str(target))) == str(target)
    assert str(laid_over(target, {"arch": "sm_80"}).attrs["arch"]) == "sm_80"
    assert threads_of(target) == (3 if "host" in text else threads_of(resolve_target(None)))


def test_a_host_that_does_not_fit_is_refused(without_device):
    with pytest.raises(MisfitError, match="LLVM knows no CPU"):
        resolve_target('{"kind": "cuda", "arch": "sm_90", "host": {"kind": "llvm", "mcpu": "x"}}')


@pytest.mark.parametrize(
    ("arch", "version", "runs"),
    [
        ("sm_90", "9.0", True),
        ("sm_90a", "9.0", True),
        ("sm_86", "8.9", True),
        ("sm_89", "8.6", False),
        ("sm_80", "9.0", False),
        ("sm_100", "10.0", True),
        ("sm_100a", "10.3", False),
    ],
)
def test_what_a_device_does_not_run_is_told_before_anything_is_compiled(
    without_device, monkeypatch, arch, version, runs
):
    monkeypatch.setattr(cuda, "device", lambda: Device(version))
    target = resolve_target(f'{{"kind": "cuda", "arch": "{arch}"}}')
    if runs:
        check_device(target)
    else:
        with pytest.raises(ToolchainError, match=f"compiled for {arch} does not run"):
            check_device(target)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "NVRTC compilation failed:\ntvm_kernels.cu(7): error: identifier x is undefined\n",
            "tvm_kernels.cu(7): error: identifier x is undefined",
        ),
        ("int x;\nCompilation error:\na.cu(1): error: no\n1 error detected", "a.cu(1): error: no"),
        ("CUDALaunch Error: CUDA_ERROR_INVALID_VALUE\n grid=(1,1,1)\n}", None),
        ("CUDA Runtime Error: cudaErrorIllegalAddress (700): an illegal access", None),
        ("Check failed: (a) is false", ""),
    ],
)
def test_the_line_that_tells_is_found(said, told):
    assert complaint(said) == (said.splitlines()[0] if told is None else told)


def test_caches_of_a_gpu_are_warm_or_emptied_whole():
    check_gpu_caches(EngineSettings(), 50_000_000)
    check_gpu_caches(EngineSettings(caches="cold"), 50_000_000)
    with pytest.raises(MisfitError, match="expected warm or cold"):
        check_gpu_caches(EngineSettings(caches="network"), 50_000_000)
    with pytest.raises(MisfitError, match="126 MB, expected at least 126"):
        check_gpu_caches(EngineSettings(caches="cold"), 126_000_000)


SCRIPT = """
    import sys
    sys.modules["torch"] = None
    from pytest_ansorbench.cuda import CudaError, check_compiler, device, load_runtime
    from pytest_ansorbench.environment import resolve_target
    from pytest_ansorbench.measure.local.engine import LocalEngine
    from pytest_ansorbench.measure.policy import FixedMeasurement
    from pytest_ansorbench.measure.program import Program
    from pytest_ansorbench.measure.local.lowering import lowered, network_executable, object_files
    from pytest_ansorbench.measure.remote.libraries import linked
    from pytest_ansorbench.strategies import ProgramMaker, TargetSpace, undecided
    from pytest_ansorbench.workloads import BatchMatmul, Check, Conv2d, Mlp, Softmax
    from pytest_ansorbench.workloads.networks.apply import with_schedules
    from pytest_ansorbench.yardsticks import gpu_peak
    import tempfile, types
    from pathlib import Path
    import numpy as np, tvm
    from tvm.s_tir.meta_schedule import TuneContext

    load_runtime()
    try:
        device()
    except CudaError as error:
        print(error)
    target = resolve_target('{"kind": "cuda", "arch": "sm_90"}')
    # Rules of before tensor cores, so that their intrinsics need not be parsed.
    sys.modules["tvm.s_tir.tensor_intrin"] = types.ModuleType("tvm.s_tir.tensor_intrin")
    plain = resolve_target('{"kind": "cuda", "arch": "sm_70"}')
    try:
        check_compiler(target)
    except CudaError as error:
        print("no compiler:", error)
        raise SystemExit
    with LocalEngine(target) as engine:
        for case in (
            BatchMatmul(batch=1, m=64, n=64, k=64),
            Conv2d.square(8, 16, 16, 3, 1, 1),
            Softmax(m=32, n=64),
        ):
            [task] = case.tasks()
            context = TuneContext(
                task.mod, target=plain, space_generator=TargetSpace().start(plain), rand_state=1
            )
            sketches = undecided(context.generate_design_space()) * 24
            made = ProgramMaker(context).sample(sketches, range(1, len(sketches) + 1))
            candidate = made[0].candidate()
            programs = [Program.kernel(candidate.mod, candidate.args_info)]
            built = engine.build([*programs, Program.operator(task.mod)], task.check)
            print("built", *(one.status for one in built), *(one.error for one in built))
            for one in built:
                outcome = engine.run(one, FixedMeasurement())
                print("ran", outcome.status, outcome.error)
        # Of its layers one has a schedule, and keeps it; the others get threads.
        network = Mlp(features=64, hidden=(64,), classes=10)
        layer, *others = network.tasks()
        context = TuneContext(
            layer.mod, target=plain, space_generator=TargetSpace().start(plain), rand_state=1
        )
        sketches = undecided(context.generate_design_space()) * 24
        [made, *_] = ProgramMaker(context).sample(sketches, range(1, len(sketches) + 1))
        best = [made.candidate().mod, *(None for _ in others)]
        program = with_schedules(network.program(), [layer, *others], best)
        check = Check(network.arguments(), np.zeros((1, 10), np.float32), 1.0, 1.0)
        peak = [gpu_peak.multiply_adds(4, 100), gpu_peak.reads(4, 8, 2)]
        print("peak built", *(one.status + one.error for one in engine.build(peak, None)))
        [one] = engine.build([Program.network(program)], check)
        print("network built", one.status, one.error)
        outcome = engine.run(one, FixedMeasurement())
        print("network ran", outcome.status, outcome.error)
    def kinds(module):
        return [module.kind, *(kind for one in module.imports for kind in kinds(one))]

    for module in (lowered(task.mod, target), network_executable(program, target)):
        library = linked(["cc"], object_files(module))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "library.so"
            path.write_bytes(library)
            loaded = tvm.runtime.load_module(str(path))
            print("linked", kinds(loaded))
    """


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """Folder of a driver that does nothing."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not any(cuda._libraries("libcudart.so.13")):
        pytest.skip("there is no C compiler, or no CUDA runtime of version 13")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    command = [compiler, "-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.mark.slow
def test_first_candidates_compile_without_a_gpu_and_fail_to_run_in_a_sentence(driver):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        env={**os.environ, "LD_LIBRARY_PATH": str(driver)},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    first, *lines = done.stdout.splitlines() or [done.stderr]
    assert first.startswith("there is no CUDA device (CUDA Runtime Error: cudaError"), done.stderr
    if lines and lines[0].startswith("no compiler"):
        pytest.skip(lines[0])
    assert [line.strip() for line in lines if line.startswith("built")] == ["built ok ok"] * 3
    ran = [line for line in lines if line.startswith("ran")]
    assert len(ran) == 6, done.stderr
    failed = "ran run-error RuntimeError: CUDA Runtime Error: "
    assert all(line.startswith(failed) for line in ran)
    assert "peak built ok ok" in lines
    network = [line for line in lines if line.startswith("network")]
    assert network[0].strip() == "network built ok"
    assert network[1].startswith(f"network {failed}"), network[1]
    linked = [line for line in lines if line.startswith("linked")]
    assert len(linked) == 2 and all("cuda" in line for line in linked), done.stderr
