"""Commands forked off a process that has imported what they need, which would take each seconds."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.interpreters import ROOT, WITHOUT_TORCH


def forked(
    function: str,
    *arguments: object,
    preloaded: tuple[str, ...],
    descriptors: Sequence[int] = (),
    cwd: Path = ROOT,
    **variables: str,
) -> psutil.Process:
    """Start a process that calls a function and ends with it.

    Args:
        function: As `module:name`.
        arguments: For the function.
        preloaded: Modules that are imported, and functions that are called, once for all that name
            the same ones.
        descriptors: Of files that it has, too: their numbers there are its last arguments.
        cwd: Folder that it begins in.
        variables: What it finds in its environment besides.
    """
    if preloaded not in _nurseries:
        _nurseries[preloaded] = new_nursery(preloaded)
    nursery = _nurseries[preloaded]
    order = json.dumps([function, arguments, str(cwd), variables]).encode()
    socket.send_fds(nursery, [order], descriptors)
    return psutil.Process(int(nursery.recv(64)))


def printed_by(code: str, *words: str, cwd: Path = ROOT, **variables: str) -> str:
    """What code prints in a process that has imported TVM and pytest; fails if the code does."""
    read, write = os.pipe()
    with os.fdopen(read, encoding="utf-8") as out:
        forked(
            f"{__name__}:execute",
            *(code, *words),
            preloaded=_FIRST,
            descriptors=[write],
            cwd=cwd,
            **variables,
        )
        os.close(write)
        text, ended, whole = out.read().rpartition(_ENDED)
    assert ended, whole
    return text


def execute(code: str, *given: Any) -> None:
    """Run code as `python -c` does, with its output in a file."""
    *sys.argv[1:], out = given
    print_to(out)
    sys.path.insert(0, os.getcwd())
    exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
    print(_ENDED, flush=True)


def print_to(out: int) -> None:
    """Have all that this process says go to a file."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(out, number)
        setattr(sys, name, os.fdopen(number, "w", 1, encoding="utf-8", closefd=False))
    os.close(out)


def kill(process: psutil.Process) -> None:
    """Kill a process and all that it has started, and wait for its end."""
    with suppress(psutil.NoSuchProcess):
        for one in (*process.children(recursive=True), process):
            with suppress(psutil.NoSuchProcess):
                one.kill()
    process.wait()


def wait_until(holds, timeout_s: float = 60.0) -> None:
    """Wait for something that another process does."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.05)


_ENDED = "<ended in order>"
_FIRST = ("tvm", "pytest", "scipy.special")
_first: list[subprocess.Popen[bytes]] = []
_nurseries: dict[tuple[str, ...], socket.socket] = {}


def new_nursery(preloaded: tuple[str, ...], parent: tuple[str, ...] = _FIRST) -> socket.socket:
    """A connection to a process that forks, and ends with the one that has this end.

    All but the first are forks themselves, of one that has preloaded some of the same.
    """
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        if preloaded == _FIRST:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, *_FIRST, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**WITHOUT_TORCH, "TVM_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            _first.append(process)
        else:
            names = [name for name in preloaded if name not in parent]
            forked(f"{__name__}:serve", *names, preloaded=parent, descriptors=[theirs.fileno()])
    return ours


def adopt(preloaded: tuple[str, ...], nursery: int) -> None:
    """Have another process's forks be made for this one, too, by the number of a connection."""
    _nurseries[preloaded] = socket.socket(fileno=nursery)


def serve(*given: Any) -> None:
    """Preload, and fork off a process for each order, whose number is the reply."""
    *names, orders_from = given
    for name in names:
        if ":" in name:
            _named(name)()
        else:
            _named(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what has ended leaves no zombie
    orders = socket.socket(fileno=int(orders_from))
    while True:
        order, descriptors, _, _ = socket.recv_fds(orders, 1 << 16, 8)
        if not order:
            return
        child = os.fork()
        if not child:
            orders.close()
            function, arguments, cwd, variables = json.loads(order)
            _run(function, [*arguments, *descriptors], cwd, variables)
        for number in descriptors:
            os.close(number)
        orders.send(str(child).encode())


def _run(function: str, arguments: list[object], cwd: str, variables: dict[str, str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.chdir(cwd)
    os.environ.update(variables)
    try:
        _named(function)(*arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _named(name: str) -> Any:
    """A module, or for `module:function` a function."""
    module, _, function = name.partition(":")
    found = importlib.import_module(module)
    return getattr(found, function) if function else found


if __name__ == "__main__":
    serve(*sys.argv[1:])
