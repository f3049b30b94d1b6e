"""Commands forked off a process that has imported what they need, which would take each seconds."""

from __future__ import annotations

import functools
import importlib
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from tests.interpreters import ROOT, WITHOUT_TORCH


def forked(
    function: str,
    *arguments: object,
    preloaded: tuple[str, ...],
    cwd: Path = ROOT,
    **variables: str,
) -> psutil.Process:
    """Start a process that calls a function and ends with it.

    Args:
        function: As `module:name`.
        arguments: For the function.
        preloaded: Modules that are imported once for all that name the same ones.
        cwd: Folder that it begins in.
        variables: What it finds in its environment besides.
    """
    nursery = _nursery(preloaded)
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps([function, arguments, str(cwd), variables]) + "\n")
    nursery.stdin.flush()
    return psutil.Process(int(nursery.stdout.readline()))


def kill(process: psutil.Process) -> None:
    """Kill a process and all that it has started, and wait for its end."""
    with suppress(psutil.NoSuchProcess):
        for one in (*process.children(recursive=True), process):
            with suppress(psutil.NoSuchProcess):
                one.kill()
    process.wait()


@functools.cache
def _nursery(preloaded: tuple[str, ...]) -> subprocess.Popen[str]:
    """It ends with the process that started it."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__, *preloaded],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**WITHOUT_TORCH, "TVM_NUM_THREADS": "1"},
    )


def _serve() -> None:
    """Fork off a process for each line of standard input, and say its number."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what has ended leaves no zombie
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(*json.loads(line))
        print(child, flush=True)


def _run(function: str, arguments: list[object], cwd: str, variables: dict[str, str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.chdir(cwd)
    os.environ.update(variables)
    module, _, name = function.partition(":")
    try:
        getattr(importlib.import_module(module), name)(*arguments)
    finally:
        os._exit(0)


if __name__ == "__main__":
    _serve()
