"""Object files become shared libraries, which a device can load without a compiler."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.arrays import unpack_arrays
from pytest_ansorbench.environment import MisfitError, triple_of
from pytest_ansorbench.measure.local.asking import ProgramError
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.remote.relay import Relays, RemoteProgram

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tvm.target import Target

_LINK_S: Final = 30.0


def linker_of(target: Target) -> str:
    """The C compiler that links for a target's triple, by GNU's and Debian's names.

    This is `cc` for this machine's architecture, `aarch64-linux-gnu-gcc` for
    `aarch64-unknown-linux-gnu`, `arm-linux-gnueabihf-gcc` for `armv7l-linux-gnueabihf`.
    """
    from tvm.target.codegen import llvm_get_system_triple

    architecture, *system = triple_of(target).split("-")
    if architecture == llvm_get_system_triple().split("-")[0]:
        return "cc"
    return "-".join(
        ["arm" if architecture.startswith("armv") else architecture, *system[-2:], "gcc"]
    )


class LinkedLibrary:
    """Links what a worker has compiled, and begins to upload it."""

    def __init__(self, linker: str | None, target: Target, relays: Relays, flush_mb: int) -> None:
        """Check that there is a linker, the command of a C compiler with its options.

        None is that of the target's triple.

        Raises:
            MisfitError: There is no such command.
        """
        usual = linker_of(target)
        wanted = usual if linker is None else linker
        self._command = shlex.split(wanted)
        if not self._command or shutil.which(self._command[0]) is None:
            problem = (
                "there is no such command; expected a C compiler that links for "
                f"{triple_of(target)}, e.g. {usual} (Debian's package {_package(usual)})"
            )
            raise MisfitError("linker", wanted, problem)
        self._relays = relays
        self._flush_mb = flush_mb

    def taken(self, worker: Worker) -> RemoteProgram:
        """The program, on its way to the device while others compile; the worker has ended."""
        _, compiled = worker.receive()
        worker.end()
        library = linked(self._command, unpack_arrays(compiled))
        program = RemoteProgram(worker.program, worker.check, library, self._relays, self._flush_mb)
        program.upload()
        return program


def linked(command: Sequence[str], compiled: Sequence[NDArray[np.uint8]]) -> bytes:
    """A shared library of object files, by a C compiler.

    Raises:
        ProgramError: It refuses, in its words.
    """
    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
        library = Path(folder) / "program.so"
        objects = [Path(folder) / f"{number}.o" for number in range(len(compiled))]
        for path, object_ in zip(objects, compiled, strict=True):
            object_.tofile(path)
        try:
            done = subprocess.run(
                [*command, "-shared", "-fPIC", "-o", str(library), *map(str, objects), "-lm"],
                capture_output=True,
                text=True,
                timeout=_LINK_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ProgramError(f"{command[0]}: {error}") from None
        if done.returncode:
            words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise ProgramError(f"{command[0]}: {words[0][:200]}")
        return library.read_bytes()


def _package(compiler: str) -> str:
    """Debian's package of a C compiler: `gcc-x86-64-linux-gnu` has `x86_64-linux-gnu-gcc`."""
    return "-".join(["gcc", *compiler.replace("_", "-").split("-")[:-1]])
