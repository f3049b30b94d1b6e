"""VNNI's dot product for an LLVM that TVM's own definition of it does not fit.

Since LLVM 22 `vpdpbusd` reads bytes. TVM 0.27, whose wheel has LLVM 22, gives it words: no program
that uses the intrinsic compiles, and on a CPU with VNNI no other is made of a product of bytes.
"""

from __future__ import annotations

import functools
from typing import Final

VNNI_BYTES_SINCE: Final = 22
"""The first LLVM whose instruction reads bytes."""

# As in `tvm.s_tir.tensor_intrin.x86`, but for the types of the last two arguments.
_DOT_PRODUCT: Final = """
@T.prim_func(s_tir=True)
def dot_product_16x4_u8i8i32_vnni(
    A: T.Buffer((4,), "uint8", offset_factor=1),
    B: T.Buffer((16, 4), "int8", offset_factor=1),
    C: T.Buffer((16,), "int32", offset_factor=1),
) -> None:
    with T.sblock("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        four = T.reinterpret(A.vload([0], "uint8x4"), dtype="int32")
        C[T.ramp(T.int32(0), 1, 16)] = T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.x86.avx512.vpdpbusd.512"),
            C.vload([0], dtype="int32x16"),
            T.reinterpret(T.broadcast(four, 16), dtype="uint8x64"),
            B.vload([0, 0], dtype="int8x64"),
            dtype="int32x16",
        )
"""


@functools.cache
def mend_vnni() -> None:
    """Define `dot_16x4_vnni` as this LLVM has it, where TVM has defined it."""
    from tvm.s_tir import TensorIntrin
    from tvm.s_tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc
    from tvm.script import from_source, tirx
    from tvm.target.codegen import llvm_version_major

    if llvm_version_major() >= VNNI_BYTES_SINCE:
        mended = from_source(_DOT_PRODUCT, extra_vars={"T": tirx})
        TensorIntrin.register(
            VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc, mended, override=True
        )
