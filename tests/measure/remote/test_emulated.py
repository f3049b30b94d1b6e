"""Programs for processors of other architectures, in QEMU's user mode.

Kernels are called by `caller.c`, which needs no TVM there. TVM's RPC server needs a device: it is
tried where a command that starts one in the emulator is given, to which a port is appended, e.g.
`ANSOR_BENCH_SERVE_AARCH64`; docs/machines.md has such commands.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.arguments import Arguments, mismatch
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.lowering import lowered, object_files
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.remote.engine import RemoteEngine
from pytest_ansorbench.measure.remote.libraries import linked, linker_of
from pytest_ansorbench.measure.remote.settings import DeviceAddress, RemoteSettings
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.untuned import network_check
from tests.faults import Doubling, kernel
from tests.forked import kill, wait_until
from tests.measure.engine_contract import MLP, QUICK, TWO_SETS
from tests.measure.remote import devices
from tests.strategies.setups import make_setup
from tests.workloads.conftest import LAYERS, SMALL

CALLER = Path(__file__).with_name("caller.c")
CPUS = {"aarch64": "cortex-a72", "riscv64": "sifive-u74"}
KINDS = ("so", "arguments")
TARGETS = {
    name: f'{{"kind": "llvm", "mtriple": "{name}-linux-gnu", "mcpu": "{cpu}", "num-cores": 2}}'
    for name, cpu in CPUS.items()
}


@dataclass(frozen=True)
class Emulator:
    """One that calls kernels of a target, from a folder of its own."""

    target: object
    command: tuple[str, ...]
    folder: Path

    def call(self, programs):
        """Outputs of each program, a pair of a `Program` and its check."""
        called = []
        for number, (program, check) in enumerate(programs):
            objects = object_files(lowered(program.mod, self.target))
            library = linked([linker_of(self.target)], objects)
            (self.folder / f"{number}.so").write_bytes(library)
            arguments = Arguments(program.shapes, check).arrays
            path = self.folder / f"{number}.arguments"
            path.write_bytes(header(arguments) + b"".join(map(bytes_of, arguments)))
            called.append((path, arguments, len(check.inputs)))
        words = (f"./{number}.{kind}" for number in range(len(called)) for kind in KINDS)
        done = subprocess.run(
            [*self.command, *words], cwd=self.folder, stderr=subprocess.PIPE, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return [read_back(path, arguments)[given:] for path, arguments, given in called]


def header(arrays) -> bytes:
    from tvm.runtime import DataType

    numbers = [len(arrays)]
    for array in arrays:
        dtype = DataType(array.dtype.name)
        numbers += [dtype.type_code, dtype.bits, array.ndim, *array.shape]
    return np.array(numbers, np.int64).tobytes()


def bytes_of(array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def read_back(path, arrays):
    read, start = path.read_bytes(), len(header(arrays))
    found = []
    for array in arrays:
        found.append(np.frombuffer(read, array.dtype, array.size, start).reshape(array.shape))
        start += array.nbytes
    return found


@pytest.fixture(params=[pytest.param("aarch64", marks=pytest.mark.slow), "riscv64"])
def emulator(request, tmp_path):
    qemu = shutil.which(f"qemu-{request.param}-static") or shutil.which(f"qemu-{request.param}")
    target = resolve_target(TARGETS[request.param])
    compiler = linker_of(target)
    if qemu is None or shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler} and QEMU's user mode")
    import tvm.libinfo
    import tvm_ffi.libinfo

    register_intrinsics(target)
    caller = tmp_path / "caller"
    folders = (tvm_ffi.libinfo.find_include_path(), tvm.libinfo.find_include_path())
    subprocess.run(
        [compiler, "-rdynamic", "-o", caller, CALLER, *(f"-I{one}" for one in folders), "-ldl"],
        check=True,
    )
    sysroot = f"/usr/{request.param}-linux-gnu"
    return Emulator(target, (qemu, "-L", sysroot, str(caller)), tmp_path)


def candidate(case, target) -> Program:
    """The case by the first program that a search might try."""
    from tvm.s_tir.meta_schedule.search_strategy import ReplayTrace

    setup = make_setup(target, case=case)
    sampler = ReplayTrace()
    sampler._initialize_with_tune_context(setup.context)
    sampler.pre_tuning(1, 1, setup.sketches[-1:])
    [found] = sampler.generate_measure_candidates()
    return Program.kernel(found.sch.mod, found.args_info)


def wrong(emulator, cases) -> dict[str, str]:
    """What is wrong with each case, as it is or scheduled."""
    programs = {}
    for case in cases:
        [task] = case.tasks()
        programs[case.id] = Program.operator(task.mod), task.check
        programs[f"{case.id}, scheduled"] = candidate(case, emulator.target), task.check
    outputs = emulator.call(programs.values())
    return {
        name: found
        for (name, (_, check)), arrays in zip(programs.items(), outputs, strict=True)
        if (found := mismatch(arrays, check))
    }


def test_a_kernel_comes_out_right(emulator):
    assert wrong(emulator, [SMALL[1]]) == {}


def test_a_wrong_kernel_is_found(emulator):
    [outputs] = emulator.call([(kernel("wrong"), Doubling().check())])
    assert "64 of 64 elements differ" in mismatch(outputs, Doubling().check())


@pytest.mark.slow
def test_kernels_of_every_family_come_out_right(emulator):
    assert wrong(emulator, [*SMALL, *LAYERS]) == {}


@pytest.fixture(params=TARGETS)
def engine(request):
    """The engine with TVM's RPC server in the emulator."""
    variable = f"ANSOR_BENCH_SERVE_{request.param.upper()}"
    if variable not in os.environ:
        pytest.skip(f"needs {variable}, a command that starts TVM's RPC server in an emulator")
    port = devices.free_port()
    server = subprocess.Popen([*shlex.split(os.environ[variable]), str(port)])
    try:
        wait_until(lambda: devices.listens(port))
        remote = RemoteSettings(server=DeviceAddress("127.0.0.1", port))
        settings = EngineSettings(build_timeout_s=30, run_timeout_s=30)
        with RemoteEngine(resolve_target(TARGETS[request.param]), settings, remote) as started:
            yield started
    finally:
        kill(psutil.Process(server.pid))
        server.wait()


@pytest.mark.slow
def test_an_emulated_device_runs_kernels_and_networks_and_is_known_as_one(engine):
    assert engine.machine["emulated"] is True
    built = engine.build([kernel("fine"), kernel("wrong")], Doubling().check())
    assert [engine.run(one, QUICK).status for one in built] == ["ok", "wrong-result"]
    network = Program.network(MLP.program())
    check, _ = network_check(engine, MLP, MLP.program(), MLP.tasks())
    outcomes = engine.measure_side_by_side([network] * 2, check, TWO_SETS)
    assert [one.status for one in outcomes] == ["ok", "ok"]
