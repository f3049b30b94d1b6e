"""Collecting a suite must cost nothing: no TVM until a case is asked for its tasks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# TVM imports PyTorch if it is there, which takes longer than all else.
WITHOUT_TORCH = str(Path(__file__).parents[1] / "plugin" / "without_torch")
NO_TVM = """
import sys
from pytest_ansorbench import workloads
{statement}
print(sorted(name for name in sys.modules if name.partition(".")[0] in ("tvm", "tvm_ffi")))
"""


def loaded(statement):
    """TVM modules in a fresh process after the statement."""
    child = subprocess.run(
        [sys.executable, "-c", NO_TVM.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([WITHOUT_TORCH, *sys.path])},
    )
    return child.stdout.strip()


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "[(case.id, case.flops) for case in workloads.CASES]",
        "workloads.BatchMatmul(batch=1, m=8, n=8, k=8).check()",
        "workloads.from_benchdnn('matmul', '2x3:3x4'); workloads.from_kernelbench('a.py', N=4)",
    ],
    ids=["import", "describe", "check", "read"],
)
def test_tvm_stays_out(statement):
    assert loaded(statement) == "[]"


def test_tasks_import_tvm():
    """Otherwise the test above could not fail."""
    statement = "workloads.BatchMatmul(batch=1, m=8, n=8, k=8).tasks()"
    assert "'tvm'" in loaded(statement)
