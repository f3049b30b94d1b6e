"""Passes over Relax modules, call by call, and what they ask of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.workloads.networks.relax_checks import operator_of
from pytest_ansorbench.workloads.networks.relax_names import type_of

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.te import Tensor

MATMUL: Final = "relax.matmul"
_FUSES_AS_CONVOLUTIONS_DO: Final = 4  # kOutEWiseFusable of TVM's relax/op_attr_types.h


def visited(module: IRModule, visit: Callable[[Any, Any], Any]) -> IRModule:
    """The module with something else for each call of it, from the first to the last."""
    from tvm import relax
    from tvm.relax.expr_functor import PyExprMutator, mutator

    @mutator
    class Visitor(PyExprMutator):  # type: ignore[misc]
        def visit_call_(self, op: Any) -> Any:
            return visit(self, self.visit_expr_post_order(op))

    visitor = Visitor(module)
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            visitor.builder_.update_func(variable, visitor.visit_expr(function))
    return visitor.builder_.get()


def tidied(module: IRModule) -> IRModule:
    """The module without what nothing reads any more."""
    import tvm
    from tvm.relax import transform

    tidy = [transform.CanonicalizeBindings(), transform.DeadCodeElimination()]
    return tvm.transform.Sequential(tidy)(module)


def bound(visitor: Any, value: Any) -> Any:
    """What a variable stands for; anything else is itself."""
    from tvm import relax

    return visitor.lookup_binding(value) if isinstance(value, relax.Var) else value


def made_by(visitor: Any, name: str, value: Any) -> Any | None:
    """The call of an operator that a value is of, within its block; None if it is of no such."""
    from tvm import relax

    made = bound(visitor, value) if isinstance(value, relax.DataflowVar) else None
    return made if operator_of(made) == name else None


def swapped(visitor: Any, before: Any, call: Any) -> Any:
    """A call, of what an earlier one gives, in the opposite order."""
    from tvm import relax

    same = relax.Call(call.op, [before.args[0], *call.args[1:]], call.attrs)
    return relax.Call(before.op, [visitor.builder_.emit(same), *before.args[1:]], before.attrs)


def fusing(visitor: Any, name: str, compute: Callable[..., Tensor], *given: Any) -> Any:
    """A call of a function that TVM fuses as it does convolutions."""
    return visitor.builder_.call_te(
        compute,
        *given,
        primfunc_name_hint=name,
        primfunc_attrs={"op_pattern": _FUSES_AS_CONVOLUTIONS_DO},
    )


def types_of(*values: Any) -> set[str]:
    """Of mixed precision, sums have another type than what is summed."""
    return {str(type_of(one).dtype) for one in values}
