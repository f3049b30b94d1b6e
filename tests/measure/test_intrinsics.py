"""The package that stands in for TVM's intrinsics imports what is asked for, and only that."""

from __future__ import annotations

import textwrap

import pytest

from pytest_ansorbench.packed import pack_program, pack_schedule
from tests.forked import printed_by
from tests.strategies.decisions.test_tensorized import DENSE, vectors_of, x86
from tests.strategies.setups import spaces_of

pytestmark = pytest.mark.skipif(
    __import__("platform").machine() != "x86_64", reason="expects an x86 host"
)


def run(code: str, *words: str) -> str:
    return printed_by(textwrap.dedent(code), *words).strip()


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


def test_a_recorded_schedule_brings_its_own_and_other_submodules_come_when_asked_for():
    [space, *_], maker, setup = spaces_of(x86("cascadelake"), DENSE)
    program = space.program(vectors_of(space)[0], maker)
    assert (
        run(
            """
            import sys
            from pytest_ansorbench.packed import unpack_program, unpack_schedule
            from pytest_ansorbench.measure.vnni import VNNI_BYTES_SINCE
            from tvm.s_tir import TensorIntrin
            from tvm.target.codegen import llvm_version_major
            unpack_schedule(sys.argv[1], unpack_program(sys.argv[2]))
            reads_bytes = "uint8x64" in str(TensorIntrin.get("dot_16x4_vnni").impl)
            assert reads_bytes == (llvm_version_major() >= VNNI_BYTES_SINCE)
            assert "tvm.s_tir.tensor_intrin.riscv_cpu" not in sys.modules
            from tvm.s_tir import tensor_intrin
            from tvm.s_tir.tensor_intrin import riscv_cpu
            assert tensor_intrin.riscv_cpu is riscv_cpu
            assert not hasattr(tensor_intrin, "no_such_submodule")
            print(riscv_cpu.__name__)
            """,
            pack_schedule(program.schedule.trace, program.schedule.mod),
            pack_program(setup.context.mod),
        )
        == "tvm.s_tir.tensor_intrin.riscv_cpu"
    )
