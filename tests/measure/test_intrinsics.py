"""The package that stands in for TVM's intrinsics imports what is asked for, and only that."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tests.interpreters import WITHOUT_TORCH

pytestmark = pytest.mark.skipif(
    __import__("platform").machine() != "x86_64", reason="expects an x86 host"
)


def run(code: str) -> str:
    completed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env=WITHOUT_TORCH,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.strip()


def test_a_cpu_target_imports_its_own_intrinsics_only():
    assert (
        run(
            """
            import sys
            from tvm.s_tir import TensorIntrin
            from tvm.target import Target
            from pytest_ansorbench.measure.intrinsics import register_intrinsics
            register_intrinsics(Target({"kind": "llvm", "mcpu": "cascadelake", "num-cores": 2}))
            import tvm.s_tir.tensor_intrin  # as TuneContext does
            assert TensorIntrin.get("dot_16x4_vnni") is not None
            print([name for name in sys.modules if name.startswith("tvm.s_tir.tensor_intrin.")
                   and not name.endswith(("x86", "dot_product_common"))])
            """
        )
        == "[]"
    )


def test_other_submodules_still_come_when_asked_for():
    assert (
        run(
            """
            from tvm.target import Target
            from pytest_ansorbench.measure.intrinsics import register_intrinsics
            register_intrinsics(Target({"kind": "llvm", "num-cores": 2}))
            from tvm.s_tir import tensor_intrin
            from tvm.s_tir.tensor_intrin import arm_cpu
            assert tensor_intrin.arm_cpu is arm_cpu
            assert not hasattr(tensor_intrin, "no_such_submodule")
            print(arm_cpu.__name__)
            """
        )
        == "tvm.s_tir.tensor_intrin.arm_cpu"
    )
