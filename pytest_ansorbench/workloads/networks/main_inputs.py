"""The inputs of a network: their names, types and shapes, and what they index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ansorbench.workloads.dataflow import index_bounds
from pytest_ansorbench.workloads.inputs import Input
from pytest_ansorbench.workloads.networks.relax_checks import tir_calls
from pytest_ansorbench.workloads.networks.relax_names import name_of, type_of

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.relax import Expr


def main_inputs(program: IRModule, weights: int) -> list[Input]:
    """Describe the arguments of a fused Relax module's `main`, less its weights, the last ones."""
    params = list(program["main"].params)
    bounds = _bounds(program)
    return [
        Input(
            str(type_of(param).dtype),
            tuple(int(extent) for extent in type_of(param).shape),
            name_of(param),
            bounds.get(param),
        )
        for param in params[: len(params) - weights]
    ]


def _bounds(program: IRModule) -> dict[Expr, int]:
    """Of each value that is used as an index, how many elements there are to be indexed.

    What becomes an index later is one as well.
    """
    from tvm import IRModule
    from tvm.relax import Var

    found: dict[Expr, int] = {}
    for variable, call in reversed([*tir_calls(program)]):
        mod = IRModule({"main": program[call.args[0]]})
        bounds = index_bounds(mod, found.get(variable))
        for argument, bound in zip(call.args[1], bounds, strict=False):  # outputs
            if bound is None or not isinstance(argument, Var):
                continue
            if "int" in str(type_of(argument).dtype):
                found[argument] = min(bound, found.get(argument, bound))
    return found
