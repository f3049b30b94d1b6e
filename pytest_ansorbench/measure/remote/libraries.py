"""Object files become shared libraries, which a device can load without a compiler."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from pytest_ansorbench.environment import MisfitError
from pytest_ansorbench.measure.local.asking import ProgramError
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.remote.relay import Relays, RemoteProgram

_LINK_S: Final = 30.0


class LinkedLibrary:
    """Links what a worker has compiled, and begins to upload it."""

    def __init__(self, linker: str, relays: Relays, flush_mb: int) -> None:
        """Check that there is a linker, the command of a C compiler with its options."""
        self._command = shlex.split(linker)
        if not self._command or shutil.which(self._command[0]) is None:
            problem = (
                "there is no such command; expected a C compiler that links for the device, e.g. "
                "cc or aarch64-linux-gnu-gcc"
            )
            raise MisfitError("linker", linker, problem)
        self._relays = relays
        self._flush_mb = flush_mb

    def taken(self, worker: Worker) -> RemoteProgram:
        """The program, on its way to the device while others compile; the worker has ended."""
        _, compiled = worker.receive()
        worker.end()
        library = self._linked(compiled)
        program = RemoteProgram(worker.program, worker.check, library, self._relays, self._flush_mb)
        program.upload()
        return program

    def _linked(self, compiled: bytes) -> bytes:
        with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
            object_, library = Path(folder) / "kernel.o", Path(folder) / "kernel.so"
            object_.write_bytes(compiled)
            command = [*self._command, "-shared", "-fPIC", "-o", str(library), str(object_)]
            try:
                linked = subprocess.run(
                    command, capture_output=True, text=True, timeout=_LINK_S, check=False
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ProgramError(f"{self._command[0]}: {error}") from None
            if linked.returncode:
                words = linked.stderr.strip().splitlines() or [f"exit code {linked.returncode}"]
                raise ProgramError(f"{self._command[0]}: {words[0][:200]}")
            return library.read_bytes()
