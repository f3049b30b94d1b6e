"""What Relax calls differently from one version of TVM to the next.

Up to 0.25 a value has `struct_info`, since 0.26 a type, `ty`. Constants are `relax.Constant` with
`data` up to 0.26, generic constants with a `value` since 0.27. Variables have a `name_hint` up to
0.26, a `name` since 0.27.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.relax import Expr, Function

NUM_INPUT: Final = "num_input"
"""TVM's attribute of a function: how many of its arguments, the first ones, are no weights."""


def tensor_type(shape: Sequence[int], dtype: str) -> Any:
    """The type of a tensor."""
    from tvm import relax

    kind = getattr(relax, "TensorStructInfo", None) or relax.TensorType
    return kind(list(shape), dtype)


def type_of(value: Expr) -> Any:
    """The type of a value, with `shape` and `dtype` if it is a tensor."""
    return value.ty if hasattr(value, "ty") else value.struct_info


def shape_of(type_: Any) -> tuple[int, ...] | None:
    """The shape of a tensor's type; None if it is open, or the type is no tensor's."""
    try:
        return tuple(int(extent) for extent in type_.shape)
    except (TypeError, AttributeError):
        return None


def name_of(variable: Expr) -> str:
    """The name of a variable."""
    return str(variable.name_hint if hasattr(variable, "name_hint") else variable.name)


def array_of(value: Expr) -> NDArray[Any] | None:
    """The array of a constant; None for any other value."""
    tensor: Any = getattr(value, "value", getattr(value, "data", None))
    return tensor.numpy() if hasattr(tensor, "numpy") else None


def with_parameters(function: Function, parameters: Sequence[Expr], body: Expr) -> Function:
    """A function with another body and other parameters, and the same result."""
    from tvm import relax

    returned = function.ret_ty if hasattr(function, "ret_ty") else function.ret_struct_info
    return relax.Function(list(parameters), body, returned, function.is_pure, function.attrs)


def replace_constants(function: Function, replaced: Callable[[Expr, Any], Expr]) -> Function:
    """A function with other values in place of its constants."""
    from tvm.relax.expr_functor import PyExprMutator, mutator

    @mutator
    class Replacing(PyExprMutator):  # type: ignore[misc]
        def visit_generic_const_(self, op: Any) -> Any:
            return replaced(op, op.value)

        def visit_constant_(self, op: Any) -> Any:
            return replaced(op, op.data)

    return Replacing().visit_expr(function)
