"""Exponentials, and what is made of them, by polynomials, which vectors compute.

TVM's own are calls of the C library, one for each element. Those of `topi` are within 5e-7 of the
result, 5e-6 of exponentials beyond 8, which overflow from 88.4 on instead of 88.7; the error
function of NaN is 1 (include/tvm/topi/elemwise.h, https://github.com/apache/tvm).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tvm.te import Tensor


def fast_forms() -> Mapping[str, Callable[..., Tensor]]:
    """What computes an operator of Relax's, by its name, of its first argument and attributes."""
    from tvm import topi

    return {
        "relax.exp": topi.fast_exp,
        "relax.erf": topi.fast_erf,
        "relax.tanh": topi.fast_tanh,
        "relax.sigmoid": _sigmoid,
        "relax.nn.silu": lambda x: topi.multiply(x, _sigmoid(x)),
        "relax.nn.gelu": _gelu,
        "relax.nn.gelu_tanh": _gelu_tanh,
        "relax.nn.softmax": topi.nn.fast_softmax,
    }


def _sigmoid(x: Tensor) -> Tensor:
    from tvm import topi

    one = _constant(1.0)
    return topi.divide(one, topi.add(one, topi.fast_exp(topi.negative(x))))


def _gelu(x: Tensor) -> Tensor:
    from tvm import topi

    half = _constant(0.5)
    erf = topi.fast_erf(topi.multiply(x, _constant(math.sqrt(0.5))))
    return topi.multiply(x, topi.add(half, topi.multiply(half, erf)))


def _gelu_tanh(x: Tensor) -> Tensor:
    from tvm import topi

    half = _constant(0.5)
    cubic = topi.add(_constant(1.0), topi.multiply(_constant(0.044715), topi.multiply(x, x)))
    inner = topi.multiply(_constant(math.sqrt(2.0 / math.pi)), topi.multiply(x, cubic))
    return topi.multiply(x, topi.add(half, topi.multiply(half, topi.fast_tanh(inner))))


def _constant(value: float) -> Any:
    from tvm import tirx

    return tirx.const(value, "float32")
