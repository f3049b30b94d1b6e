"""Another library from the inside: computes a case, and answers as a worker of the engine does.

Started as `python -m pytest_ansorbench.yardsticks.peer_main FD REQUEST`, see `peers`.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.measure.arguments import dump_check, load_check, mismatch
from pytest_ansorbench.measure.local.channel import Channel, answer, told
from pytest_ansorbench.measure.local.interpreter import end_with_parent
from pytest_ansorbench.workloads.case import Check
from pytest_ansorbench.yardsticks import numpy_kernels, onnx_kernels, torch_kernels
from pytest_ansorbench.yardsticks.kernel import LibraryKernel, NoKernel, require_installed
from pytest_ansorbench.yardsticks.sources import ONNX, file_of

_OPERATIONS: Final = ("build", "arguments", "call", "time", "check")
_FIRST_CALLS: Final = 3
"""In which PyTorch compiles, and on a GPU records what later calls replay."""


class PeerMain:
    """Answers the requests about one case in one library, in order: build, time, check."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self._kernel: LibraryKernel | None = None
        self._check: Check | None = None

    def build(self, payload: bytes, **of_tvm: Any) -> dict[str, Any]:
        """Have the library compile or load the case; the payload is its check."""
        asked = self._request
        if asked["refused"]:
            raise NoKernel(asked["refused"])
        if asked["cores"] and hasattr(os, "sched_setaffinity"):
            # NumPy's BLAS has made its threads by now.
            for thread in map(int, os.listdir("/proc/self/task")):
                os.sched_setaffinity(thread, asked["cores"])
        require_installed(asked["implementation"])
        self._check = load_check(payload)
        self._kernel = self._made(self._check)
        return {}

    def arguments(self, **of_tvm: Any) -> dict[str, Any]:
        """They are in place."""
        return {}

    def call(self) -> dict[str, Any]:
        """Time a call after the first ones, which may compile: nothing else runs meanwhile."""
        kernel = self._ready()
        kernel.host.seconds(kernel.call, _FIRST_CALLS)
        return {"seconds": kernel.host.seconds(kernel.call, 1)}

    def time(self, calls: int, samples: int, flush_mb: int) -> dict[str, Any]:
        kernel = self._ready()
        kernel.call()
        seconds = []
        for _ in range(samples):
            if flush_mb:
                kernel.host.flush(flush_mb * 1_000_000)
            seconds.append(kernel.host.seconds(kernel.call, calls) / calls)
        return {"seconds": seconds}

    def check(self) -> dict[str, Any]:
        """What is wrong with what it computes; `wrong` is empty if nothing is."""
        assert self._check is not None
        kernel = self._ready()
        return {"wrong": mismatch(kernel.outputs(kernel.call()), self._check)}

    def _ready(self) -> LibraryKernel:
        assert self._kernel is not None
        return self._kernel

    def _made(self, check: Check) -> LibraryKernel:
        source, threads = self._request["source"], int(self._request["threads"])
        given, device = (source, check.inputs, threads), self._request["device"]
        match self._request["implementation"]:
            case "numpy":
                return numpy_kernels.kernel(*given)
            case "torch":
                return torch_kernels.eager_kernel(*given, device)
            case "torch-compile":
                return torch_kernels.compiled_kernel(*given, device)
            case "onnxruntime":
                return onnx_kernels.onnxruntime_kernel(self._onnx_file(check), *given)
            case _:
                return onnx_kernels.openvino_kernel(self._onnx_file(check), *given)

    def _onnx_file(self, check: Check) -> Path:
        """The one file of the case that all read: its user's, or as PyTorch exports it.

        That is done in a process of its own, so that this one runs one library.
        """
        source, folder = self._request["source"], Path(self._request["folder"])
        if (own := file_of(source, ONNX)) is not None:
            return own
        path = folder / "model.onnx"
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _export(source, check, path)
        return path


def _export(source: Any, check: Check, path: Path) -> None:
    command = [sys.executable, "-m", "pytest_ansorbench.yardsticks.export_main"]
    done = subprocess.run(
        [*command, json.dumps(source), str(path)],
        input=dump_check(check),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = (done.stdout or done.stderr).decode(errors="replace").strip().splitlines()
        raise NoKernel(said[-1] if said else f"its export ended with code {done.returncode}")


def _refused(error: Exception) -> dict[str, Any]:
    return {"error": str(error)} if isinstance(error, NoKernel) else told(error)


def main(arguments: Sequence[str]) -> None:
    """Answer requests, for as long as somebody waits for an answer."""
    end_with_parent()
    channel = Channel(socket.socket(fileno=int(arguments[0])))
    peer = PeerMain(json.loads(arguments[1]))
    answer(channel, {name: getattr(peer, name) for name in _OPERATIONS}, _refused)
    os._exit(0)  # no exit handlers: some libraries hang in theirs


if __name__ == "__main__":
    main(sys.argv[1:])
