"""Exports a case to ONNX, in a process of its own.

Started as `python -m pytest_ansorbench.yardsticks.export_main SOURCE PATH` with the case's check on
standard input; why a case cannot be exported is the last line of standard output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_ansorbench.measure.arguments import load_check
from pytest_ansorbench.measure.local.interpreter import end_with_parent
from pytest_ansorbench.yardsticks.kernel import NoKernel, require_installed


def main(arguments: Sequence[str]) -> int:
    """Write the file, whole or not at all; the exit code."""
    end_with_parent()
    source, path = json.loads(arguments[0]), Path(arguments[1])
    check = load_check(sys.stdin.buffer.read())
    try:
        require_installed("torch")
        from pytest_ansorbench.yardsticks.torch_kernels import export

        unfinished = path.with_suffix(".part")
        export(source, check.inputs, unfinished)
        unfinished.replace(path)
    except NoKernel as reason:
        print(reason)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
