"""Commands forked off a process that has imported what they need, which would take each seconds."""

from __future__ import annotations

import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
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
    nursery = _nursery(preloaded)
    order = json.dumps([function, arguments, str(cwd), variables]).encode()
    socket.send_fds(nursery, [order], descriptors)
    return psutil.Process(int(nursery.recv(64)))


def kill(process: psutil.Process) -> None:
    """Kill a process and all that it has started, and wait for its end."""
    with suppress(psutil.NoSuchProcess):
        for one in (*process.children(recursive=True), process):
            with suppress(psutil.NoSuchProcess):
                one.kill()
    process.wait()


@functools.cache
def _nursery(preloaded: tuple[str, ...]) -> socket.socket:
    """A connection to a process that ends with the one that started it."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno()), *preloaded],
            pass_fds=[theirs.fileno()],
            env={**WITHOUT_TORCH, "TVM_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
    _nurseries.append(process)
    return ours


_nurseries: list[subprocess.Popen[bytes]] = []


def _serve() -> None:
    """Fork off a process for each order, and say its number."""
    for name in sys.argv[2:]:
        if ":" in name:
            _named(name)()
        else:
            _named(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what has ended leaves no zombie
    orders = socket.socket(fileno=int(sys.argv[1]))
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
    finally:
        os._exit(0)


def _named(name: str) -> Any:
    """A module, or for `module:function` a function."""
    module, _, function = name.partition(":")
    found = importlib.import_module(module)
    return getattr(found, function) if function else found


if __name__ == "__main__":
    _serve()
