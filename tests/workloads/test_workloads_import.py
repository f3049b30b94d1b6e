"""Collecting a suite must cost nothing: no TVM until a case is asked for its tasks."""

import os
import subprocess
import sys
from pathlib import Path

# TVM imports PyTorch if it is there, which takes longer than all else.
WITHOUT_TORCH = str(Path(__file__).parents[1] / "plugin" / "without_torch")
#: Prints what of TVM there is after each statement.
LOADED = """
import sys
for statement in sys.argv[1:]:
    exec(statement)
    print(sorted(name for name in sys.modules if name.partition(".")[0] in ("tvm", "tvm_ffi")))
"""


STATEMENTS = (
    "from pytest_ansorbench import workloads",
    "[(case.id, case.flops) for case in workloads.CASES]",
    "workloads.BatchMatmul(batch=1, m=8, n=8, k=8).check()",
    "workloads.from_benchdnn('matmul', '2x3:3x4'); workloads.from_kernelbench('a.py', N=4)",
    "workloads.from_te('x', lambda: []); workloads.from_tir('x', lambda: None)",
    "workloads.BatchMatmul(batch=1, m=8, n=8, k=8).tasks()",
)


def test_tvm_stays_out_until_tasks_are_made():
    child = subprocess.run(
        [sys.executable, "-c", LOADED, *STATEMENTS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([WITHOUT_TORCH, *sys.path])},
    )
    *loaded, by_tasks = child.stdout.splitlines()
    assert dict(zip(STATEMENTS, loaded, strict=False)) == dict.fromkeys(STATEMENTS[:-1], "[]")
    assert "'tvm'" in by_tasks
