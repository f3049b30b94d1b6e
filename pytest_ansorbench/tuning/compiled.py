"""A case with the schedules that were found: compiled, as a library, and what loads that."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.environment import ToolchainError, device_name
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.lowering import lowered, network_executable
from pytest_ansorbench.storage.files import written_whole
from pytest_ansorbench.workloads.case import Case, DrawnNetwork, NetworkCase
from pytest_ansorbench.workloads.inputs import Input
from pytest_ansorbench.workloads.networks.apply import with_schedules
from pytest_ansorbench.workloads.networks.main_inputs import main_inputs
from pytest_ansorbench.workloads.signature import arguments_of, outputs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.runtime import Executable, Module
    from tvm.target import Target

    from pytest_ansorbench.measure.remote.settings import RemoteSettings


_INSTALL: Final = (
    "install a C++ compiler, e.g. g++, or have CXX name one, and give the same command again"
)
_MEND: Final = "once that is mended, give the same command again"
_AROUND: Final = ("Compilation error:", "Command line:")
"""What TVM puts before and after a linker's words."""
_NETWORK: Final = '''\
"""Runs {case} as it was tuned, on zeros: python {script}. Needs apache-tvm and NumPy."""
import os, pathlib
os.environ.setdefault("TVM_NUM_THREADS", "{threads}")  # as it was measured
import numpy as np, tvm
from tvm import relax
here, device = pathlib.Path(__file__).resolve().parent, tvm.device("{device}")
machine = relax.VirtualMachine(tvm.runtime.load_module(str(here / "{library}")), device)
def sent(array): return tvm.runtime.tensor(array, device)
{kept}with np.load(here / "{weights}") as stored:
    weights = [kept(stored[name].view(name.split()[1])) for name in stored.files]
def run(*inputs):  # {inputs}; gives tensors of TVM's
    return machine["main"](*map(sent, inputs), *weights)
if __name__ == "__main__":
    print(run({zeros}))
'''
_ON_CPU: Final = """\
def kept(array):  # NumPy asks Linux for huge pages, where a large array is read faster
    memory = np.empty(array.nbytes + 64, np.uint8)
    there = memory[-memory.ctypes.data % 64:][:array.nbytes].view(array.dtype).reshape(array.shape)
    there[...] = array
    return tvm.runtime.from_dlpack(there) if array.dtype.kind != "V" else sent(array)
"""
_ON_DEVICE: Final = "kept = sent\n"
_OPERATOR: Final = '''\
"""Runs {case} as it was tuned, on zeros: python {script}. Needs apache-tvm and NumPy."""
import os, pathlib
os.environ.setdefault("TVM_NUM_THREADS", "{threads}")  # as it was measured
import numpy as np, tvm
here, device = pathlib.Path(__file__).resolve().parent, tvm.device("{device}")
kernel = tvm.runtime.load_module(str(here / "{library}"))["main"]
def sent(array): return tvm.runtime.tensor(array, device)
def run(*inputs):  # {inputs}; gives arrays
    outputs = [*map(sent, [{outputs}])]
    kernel(*map(sent, inputs), *outputs)
    return [one.numpy() for one in outputs]
if __name__ == "__main__":
    print(*run({zeros}))
'''


@dataclass(frozen=True, eq=False)
class Compiled:
    """A case that is compiled for a target, to be called or written to files."""

    case: str  # its id
    executable: Executable | Module  # of a network what a virtual machine is made of
    device: str  # that it runs on, by TVM's name
    threads: int  # that it was measured on
    inputs: Sequence[Input]
    weights: tuple[NDArray[Any], ...] = ()  # of a network, the last arguments of its `main`
    outputs: Sequence[Input] = ()  # of an operator, which is given them; a network makes its own

    @classmethod
    def of(cls, case: Case, scheduled: Mapping[int, IRModule], target: Target) -> Compiled:
        """Compile a case with scheduled programs, by the places of their tasks.

        Tasks without one stay as they are.
        """
        register_intrinsics(target)
        tasks = case.tasks()
        threads = threads_of(target)
        device = device_name(target)
        if isinstance(case, NetworkCase):
            program = case.program()
            best = [scheduled.get(place) for place in range(len(tasks))]
            executable = network_executable(with_schedules(program, tasks, best), target)
            weights = case.weights() if isinstance(case, DrawnNetwork) else ()
            inputs = main_inputs(program, len(weights))
            return cls(case.id, executable, device, threads, inputs, weights)
        [task] = tasks
        arguments = [Input(*one) for one in arguments_of(task.mod)]
        first = len(arguments) - (task.outputs or outputs_of(task.mod))
        kernel = lowered(scheduled.get(0, task.mod), target)
        inputs, outputs = arguments[:first], tuple(arguments[first:])
        return cls(case.id, kernel, device, threads, inputs, outputs=outputs)

    @property
    def is_network(self) -> bool:
        return not self.outputs

    def write(self, folder: Path, suffix: str = "", linker: str | None = None) -> tuple[str, ...]:
        """Write library, weights and a script that runs them; the names of the files.

        Args:
            folder: Where to.
            suffix: Of their names, e.g. `-resnet18`.
            linker: Command of a C compiler that links for the device; None for this machine's.

        Raises:
            ToolchainError: The library cannot be linked.
            OSError: A file cannot be written.
        """
        names = {
            "library": f"library{suffix}.so",
            "weights": f"weights{suffix}.npz",
            "script": f"load{suffix}.py",
        }
        # Where there is a script, all files are of one case.
        for name in ("script", "weights"):
            (folder / names[name]).unlink(missing_ok=True)
        self._export(folder / names["library"], shlex.split(linker or ""))
        if self.is_network:
            with written_whole(folder / names["weights"]) as stream:
                # NumPy's files do not know ml_dtypes' types: names have them.
                named: Any = {f"{at} {one.dtype}": one for at, one in enumerate(self.weights)}
                np.savez(stream, **named)
        else:
            del names["weights"]
        with written_whole(folder / names["script"]) as stream:
            stream.write(self._script(names).encode())
        return tuple(names.values())

    def _export(self, path: Path, linker: Sequence[str]) -> None:
        how = {"cc": linker[0], "options": [*linker[1:]]} if linker else {}
        with tempfile.TemporaryDirectory(prefix="ansor-bench-") as unfinished:
            library = Path(unfinished) / "library.so"
            try:
                self.executable.export_library(str(library), **how)
            except Exception as error:  # TVM raises many types
                cure = _INSTALL if isinstance(error, FileNotFoundError) else _MEND
                raise ToolchainError(
                    f"the library of {self.case} cannot be linked: {_words(error)}; {cure}"
                ) from error
            with library.open("rb") as made, written_whole(path) as stream:
                shutil.copyfileobj(made, stream)

    def _script(self, names: Mapping[str, str]) -> str:
        shown = ", ".join(f"{one.name} {one.dtype} {one.shape}".strip() for one in self.inputs)
        return (_NETWORK if self.is_network else _OPERATOR).format(
            **names,
            case=" ".join(repr(self.case)[1:-1].replace('"', "'").split()),
            device=self.device,
            kept=_ON_CPU if self.device == "cpu" else _ON_DEVICE,
            threads=self.threads,
            inputs=" ".join(repr(shown)[1:-1].split()),
            zeros=_zeros(self.inputs),
            outputs=_zeros(self.outputs),
        )


def check_linker(remote: RemoteSettings) -> None:
    """Check that this machine can link a library for itself: ToolchainError if not.

    What links for a device is checked where it is reached.
    """
    from tvm.support.cc import get_cc

    compiler = get_cc() or ""
    if remote.address is None and shutil.which(compiler) is None:
        absent = f"C++ compiler {compiler!r}" if compiler else "C++ compiler"
        raise ToolchainError(f"no library can be linked: there is no {absent}; {_INSTALL}")


def _words(error: Exception) -> str:
    """The first line of what a linker says; the error's kind if it says nothing."""
    lines = (line.strip() for line in str(error).splitlines())
    said = (line[:300] for line in lines if line and not line.startswith(_AROUND))
    return next(said, type(error).__name__)


def _zeros(arrays: Sequence[Input]) -> str:
    return ", ".join(f'np.zeros({tuple(one.shape)}, "{one.dtype}")' for one in arrays)
