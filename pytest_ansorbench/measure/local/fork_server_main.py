"""The fork server itself: imports and warms up once, then forks a child a request.

Started as `python -m pytest_ansorbench.measure.local.fork_server_main FD MEMORY_MB CACHES DEVICE
CORES` with one end of a socket as file descriptor FD; the last two may be empty. It must stay a
process of one thread, since only the thread that forks lives on in the child: it compiles kernels
to warm up, and runs one without parallel loops, but never starts TVM's thread pool. Nor does it use
CUDA's driver, since no child could after that: it loads TVM's CUDA runtime, no more.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO, Any, Final

from pytest_ansorbench.cuda import load_runtime
from pytest_ansorbench.measure.arguments import aligned, load_check
from pytest_ansorbench.measure.local import caches
from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed, told
from pytest_ansorbench.measure.local.compiled import evaluate, first_run
from pytest_ansorbench.measure.local.fork_server import PROTOCOL, Role
from pytest_ansorbench.measure.local.interpreter import anonymous_file, end_with_parent, last_words
from pytest_ansorbench.measure.local.lowering import KERNEL_ENTRY, compile_module
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.local.places import tensors_on
from pytest_ansorbench.measure.local.worker_main import WorkerMain
from pytest_ansorbench.measure.noise_probe import steady_kernel
from pytest_ansorbench.measure.remote.relay_main import RelayMain
from pytest_ansorbench.workloads.case import Check

_FILE_LIMIT: Final = 1 << 20
"""What a child may write to a file, in bytes, unless it lifts that: its log is in memory."""
_COMPILER_FILE_LIMIT: Final = 1 << 28
"""The same where a compiler of C++, `nvcc`, works with files."""


def main(arguments: Sequence[str]) -> None:
    """Serve until the parent closes its end, which is also what its death does."""
    control = Channel(socket.socket(fileno=int(arguments[0])))
    # TVM imports PyTorch wherever it is installed. That takes seconds, and memory that every child
    # has to map, for nothing that a kernel needs.
    sys.modules["torch"] = None  # type: ignore[assignment]
    memory_limit_mb, caching, device, listed = arguments[1:]
    cores = [int(core) for core in listed.split(",") if core]
    try:
        if cores:
            os.sched_setaffinity(0, cores)
        warm_up()
        if caching == "network":
            caches.prepare()
        if device == "cuda":
            load_runtime()
    except Exception as error:
        control.send({"protocol": PROTOCOL, **told(error)})
        return
    # What exists by now is never freed, and the collector need not touch, and so copy, it.
    gc.collect()
    gc.freeze()
    server = _Server(control, int(memory_limit_mb), cores, device)
    control.send({"protocol": PROTOCOL, "machine": describe_machine()})
    server.run()


def warm_up() -> None:
    """Import TVM and take kernels through all of the compiler, and one to its end."""
    import numpy as np
    import tvm
    from tvm import te

    compile_module(steady_kernel(), tvm.target.Target("llvm"))
    x = te.placeholder((1,), "float32", name="x")
    increment = te.create_prim_func([x, te.compute((1,), lambda i: x[i] + 1.0, name="y")])
    module = tvm.IRModule({"main": increment.with_attr("global_symbol", "main")})
    kernel = compile_module(module, tvm.target.Target("llvm"))
    tensors = tensors_on(aligned(np.zeros(1, np.float32)) for _ in range(2))
    first_run(kernel, KERNEL_ENTRY, tensors)
    evaluate(kernel, KERNEL_ENTRY, tensors, 1, 1)


class _Server:
    """Forks children and reports their ends."""

    def __init__(
        self, control: Channel, memory_limit_mb: int, cores: Sequence[int], device: str
    ) -> None:
        self._control = control
        self._memory_limit_mb = memory_limit_mb
        self._device = device
        self._cores = cores
        self._check: Check | None = None
        self._logs: dict[int, IO[bytes]] = {}

    def run(self) -> None:
        """Serve until the control channel ends."""
        wake, waker = os.pipe()
        for descriptor in (wake, waker):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        try:
            while True:
                ready = wait([self._control.fileno(), wake])
                if wake in ready:
                    os.read(wake, 4096)
                    self._report_ends()
                if self._control.fileno() in ready:
                    message, payload = self._control.receive()
                    if message["op"] == "load":
                        self._check = load_check(payload) if payload else None
                        self._control.send({})
                    else:
                        self._fork((wake, waker), message["role"])
        except ChannelClosed:
            for pid in self._logs:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)

    def _fork(self, wake_pipe: Sequence[int], role: Role) -> None:
        [descriptor] = self._control.take_descriptors()
        log, server = anonymous_file(), os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self._control.close()
                for inherited in (*wake_pipe, *(other.fileno() for other in self._logs.values())):
                    os.close(inherited)
                _enter_child(log, self._memory_limit_mb, server, self._device)
                channel = Channel(socket.socket(fileno=descriptor))
                if role == "relay":
                    RelayMain(channel, self._check).serve()
                else:
                    WorkerMain(channel, self._check, self._cores, self._device).serve()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            # No exit handlers: they are the server's, and a candidate may have broken them.
            os._exit(0)
        os.close(descriptor)
        self._logs[pid] = log
        # Done on both sides: whichever comes first, the group is there when it is to be killed.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._control.send({"pid": pid})

    def _report_ends(self) -> None:
        while self._logs:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._logs.pop(pid) as log:
                words = last_words(log)
            # Linux counts in units of 1,024 bytes, macOS in bytes.
            unit = 1 if sys.platform == "darwin" else 1024
            code = os.waitstatus_to_exitcode(status)
            report: dict[str, Any] = {
                "ended": pid,
                "code": code,
                "peak_memory_mb": usage.ru_maxrss * unit / 1e6,
                "last_words": words if code else "",
            }
            self._control.send(report)


def _enter_child(log: IO[bytes], memory_limit_mb: int, server: int, device: str) -> None:
    """Bound what the child can do to the machine, and tie its life to the server's.

    One that uses a device may lift its limit of memory when it begins with that.
    """
    os.setpgid(0, 0)
    if sys.platform == "linux":
        end_with_parent()
        if os.getppid() != server:
            os._exit(0)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + memory_limit_mb * 1_000_000
        _limit(resource.RLIMIT_AS, limit)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _COMPILER_FILE_LIMIT if device else _FILE_LIMIT)
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)


def _limit(kind: int, value: int) -> None:
    """Limit a resource, unless it is limited further already."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, hard))


if __name__ == "__main__":
    main(sys.argv[1:])
