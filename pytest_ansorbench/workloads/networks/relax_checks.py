"""What is in a Relax module, and what of it keeps it from being tuned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.workloads.networks.failures import ImportFailed
from pytest_ansorbench.workloads.networks.relax_names import name_of, type_of
from pytest_ansorbench.workloads.networks.shapes import BadExpression, Dimension, Extent

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.relax import Expr, Function

_WIDTH: Final = re.compile(r"T\.int(?:32|64)\((-?\d+)\)")
"""A number as TVM prints it within an expression."""


def bindings(module: IRModule) -> Iterator[tuple[Expr, Expr]]:
    """The variables of Relax functions with their values, `main` first; both sides of a branch."""
    from tvm.relax import Function

    named = {variable.name_hint: function for variable, function in module.functions_items()}
    for function in (named.pop("main"), *named.values()):
        if isinstance(function, Function):
            yield from _of_sequence(function.body)


def _of_sequence(sequence: Any) -> Iterator[tuple[Expr, Expr]]:
    from tvm.relax import If

    for block in sequence.blocks:
        for binding in block.bindings:
            if isinstance(binding.value, If):
                yield from _of_sequence(binding.value.true_branch)
                yield from _of_sequence(binding.value.false_branch)
            yield binding.var, binding.value


def operator_of(value: Any) -> str:
    """The name of the operator that is called, e.g. `relax.nn.conv2d`; nothing if none is."""
    from tvm.ir import Op
    from tvm.relax import Call

    return str(value.op.name) if isinstance(value, Call) and isinstance(value.op, Op) else ""


def tir_calls(module: IRModule) -> Iterator[tuple[Expr, Any]]:
    """The calls of TensorIR functions with what they give, in order; both sides of each branch."""
    for variable, value in bindings(module):
        if operator_of(value) == "relax.call_tir":
            yield variable, value


def operators(module: IRModule) -> list[str]:
    """The different operators that a module calls, e.g. `nn.conv2d`, in order."""
    called = filter(None, (operator_of(value) for _, value in bindings(module)))
    return [*dict.fromkeys(name.removeprefix("relax.") for name in called)]


def inputs_of(function: Function, subject: str) -> dict[str, Sequence[Extent] | None]:
    """The shapes of a function's inputs.

    Raises:
        ImportFailed: One is no tensor.
    """
    shapes: dict[str, Sequence[Extent] | None] = {}
    for parameter in function.params:
        name, type_ = name_of(parameter), type_of(parameter)
        if not hasattr(type_, "dtype") or not hasattr(type_, "shape"):
            raise ImportFailed(
                f"{subject}: its input {name!r} is {type_}; expected tensors only, "
                "with numbers as constants and tuples one by one"
            )
        if type_.shape is not None:
            shapes[name] = [_extent(extent) for extent in type_.shape]
        else:
            shapes[name] = [None] * type_.ndim if type_.ndim >= 0 else None
    return shapes


def require_known_shapes(module: IRModule, subject: str) -> None:
    """Refuse a module in which a shape depends on what is computed.

    Raises:
        ImportFailed: An operator's output has such a shape.
    """
    for variable, value in bindings(module):
        if not _is_known(type_of(variable)):
            name = operator_of(value).removeprefix("relax.") or type(value).__name__
            raise ImportFailed(
                f"{subject}: the shape of what {name} gives depends on values; expected shapes "
                "that are known before it runs, so leave that operator out of the model"
            )


def require_lowered(program: IRModule, subject: str) -> None:
    """Refuse a fused module in which an operator is left that TVM has no kernel of.

    Raises:
        ImportFailed: There is one.
    """
    import tvm
    from tvm.relax.backend.cpu_generic.pipeline import dataflow_lower_passes, finalize_passes

    left = [name for name in operators(program) if not name.startswith("call_")]
    if not left:
        return
    target = tvm.target.Target("llvm")
    with target, tvm.transform.PassContext(opt_level=3):
        passes = [*dataflow_lower_passes(target), *finalize_passes(target)]
        lowered = operators(tvm.transform.Sequential(passes)(program))
    # An operator may be a function of TVM's runtime.
    packed = {name for name in lowered if tvm.ir.Op.get(f"relax.{name}").get_attr("FCallPacked")}
    if without := [name for name in left if name in {*lowered} - packed]:
        raise ImportFailed(
            f"{subject}: TVM has no kernel of {', '.join(without)} with these arguments; leave "
            f"{'it' if len(without) == 1 else 'them'} out of the model, or write it in other "
            "operators"
        )


def _extent(extent: Any) -> Extent:
    """A dimension as Relax has it."""
    try:
        return int(extent)
    except TypeError:
        pass
    text = str(extent)
    try:
        return Dimension.parse(_WIDTH.sub(r"\1", text))
    except BadExpression:
        return Dimension.named(text)


def _is_known(type_: Any) -> bool:
    """Whether all dimensions of a type are numbers."""
    if hasattr(type_, "fields"):
        return all(map(_is_known, type_.fields))
    if not hasattr(type_, "dtype") or not hasattr(type_, "ndim"):
        return True  # no tensor
    return type_.shape is not None and all(isinstance(_extent(one), int) for one in type_.shape)
