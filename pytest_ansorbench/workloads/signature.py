"""What a task's program is given and gives back: its arguments, and which of them it writes.

A program is read statement by statement, in order. TVM's own visitors come and go with its
versions; the fields of its statements are called the same in all of them, but for these: a function
has a `buffer_map` up to 0.25, later its parameters are the buffers; a view has the `data` of what
it is a view of up to 0.25, later its declaration says that; what is loaded is the `buffer` up to
0.26, later the `source`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_ansorbench.causes import first_line

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.tirx import PrimFunc

SPATIAL: Final = 0  # `IterVar.DataPar`
REDUCTION: Final = 2  # `IterVar.CommReduce`


class BadProgram(ValueError):
    """A program that cannot be tuned; the message says which of its arguments is why."""


def outputs_of(mod: IRModule) -> int:
    """How many of the last arguments of a program's `main` it writes: its outputs, at least 1.

    Raises:
        BadProgram: It writes none, or one that arguments behind it only are read.
    """
    return _outputs(_main(mod, "the program"), "the program")


def arguments_of(mod: IRModule) -> list[tuple[str, tuple[int, ...]]]:
    """Data type and shape of each argument of a program that `check_program` accepts."""
    return [
        (str(buffer.dtype), tuple(int(extent) for extent in buffer.shape))
        for _, buffer in buffers_of(mod["main"])
    ]


def check_program(mod: IRModule, name: str) -> None:
    """Check that a program is one of tensors in and tensors out that can be tuned.

    Args:
        mod: The program, unscheduled.
        name: What errors call it, e.g. `'conv1d'`.

    Raises:
        BadProgram: An argument is a scalar, or has vectors as elements or a shape that is not
            known; there is nothing to tune; a loop is as long as values say; it reads what is not
            there; an output is read before it is written, or is not among the last.
    """
    main = _main(mod, name)
    for place, (argument, buffer) in enumerate(buffers_of(main)):
        if buffer is None:
            raise BadProgram(
                f"argument {place} of {name}, {argument!r}, is a scalar, and kernels are called "
                "with tensors; make it a tensor of one element, or a constant"
            )
        if "x" in (dtype := str(buffer.dtype)):
            raise BadProgram(
                f"argument {place} of {name}, {argument!r}, has vectors as elements, {dtype}, "
                "which NumPy has not; give it one more axis"
            )
        if unknown := [str(extent) for extent in buffer.shape if not hasattr(extent, "value")]:
            raise BadProgram(
                f"the shape of argument {place} of {name}, {argument!r}, depends on "
                f"{', '.join(unknown)}; give it a number, e.g. by `prim_func.specialize`"
            )
        if 0 in [int(extent) for extent in buffer.shape]:
            shape = [int(extent) for extent in buffer.shape]
            raise BadProgram(
                f"argument {place} of {name}, {argument!r}, has no elements, its shape is {shape}; "
                "give it extents of at least 1"
            )
    if not any(event.kind == "block" for event in _events(main)):
        raise BadProgram(
            f"there is nothing to tune in {name}: it has no block; put what it computes into "
            "`T.sblock`, or write it as `te.compute`"
        )
    for extent in (extent for node in nodes(main.body) for extent in _extents(node)):
        if not hasattr(extent, "value"):
            *_, steps = str(extent).splitlines()  # behind what it reads
            raise BadProgram(
                f"a loop of {name} takes {steps} steps, which is no number; give it the most that "
                "there may be, e.g. 64, and leave out the rest by `T.if_then_else`"
            )
    _check_form(mod, name)
    _outputs(main, name)
    _check_order(main, name)


class _Event(NamedTuple):
    """What a statement does; `buffer` is none of a block."""

    kind: str  # block, load or store
    buffer: Any
    certain: bool  # whether the first pass through the program does it


def _main(mod: IRModule, name: str) -> PrimFunc:
    names = [variable.name_hint for variable in mod.get_global_vars()]
    if names != ["main"]:
        known = ", ".join(sorted(names)) or "none"
        raise BadProgram(f"bad functions of {name}: {known}; expected one, main")
    return mod["main"]


def reductions_of(block: Any) -> list[Any]:
    """The extents of the axes that a block reduces over."""
    return [axis.dom.extent for axis in block.iter_vars if int(axis.iter_type) == REDUCTION]


def _extents(node: Any) -> Sequence[Any]:
    """How often a statement repeats what is in it."""
    kind = type(node).__name__
    return [node.extent] if kind == "For" else reductions_of(node) if kind == "SBlock" else ()


def buffers_of(main: PrimFunc) -> list[tuple[str, Any]]:
    """Name and buffer of each argument; None for a scalar."""
    buffers = getattr(main, "buffer_map", None)
    if buffers is None:
        return [(one.name, one if hasattr(one, "shape") else None) for one in main.params]
    found = [(one.name, buffers.get(one)) for one in main.params]
    return [(name if buffer is None else buffer.name, buffer) for name, buffer in found]


def _written(main: PrimFunc) -> list[bool]:
    """Of each argument, whether it is written."""
    stored = [event.buffer for event in _events(main) if event.kind == "store"]
    return [
        buffer is not None and any(same_buffer(one, buffer) for one in stored)
        for _, buffer in buffers_of(main)
    ]


def _outputs(main: PrimFunc, name: str) -> int:
    written = _written(main)
    arguments = [argument for argument, _ in buffers_of(main)]
    if True not in written:
        raise BadProgram(
            f"nothing says that {name} writes any of its arguments, of which the last are its "
            "outputs; put a call of foreign code into a block with `T.writes`"
        )
    first = written.index(True)
    if False in written[first:]:
        behind = first + written[first:].index(False)
        raise BadProgram(
            f"argument {first} of {name}, {arguments[first]!r}, is written, but argument {behind}, "
            f"{arguments[behind]!r}, is not; put the outputs last"
        )
    return len(written) - first


def _check_form(mod: IRModule, name: str) -> None:
    """Check what TVM checks before it schedules a program."""
    from tvm import tirx
    from tvm.s_tir import analysis

    # Up to 0.26 there is one for all programs.
    verify = getattr(analysis, "verify_well_formed", None) or tirx.analysis.verify_well_formed
    try:
        verify(mod)
    except Exception as error:  # TVM raises many types
        cause = first_line(error).partition(" at <root>")[0].removeprefix("ValueError: ")
        raise BadProgram(
            f"{name} is no whole program: {cause}; make all that it reads its arguments"
        ) from None


def _check_order(main: PrimFunc, name: str) -> None:
    """Check that no output is read before it is written.

    What lies under a condition may well be right, as in a running sum whose first element is read
    from elsewhere.
    """
    arguments = buffers_of(main)
    outputs = range(len(arguments) - _outputs(main, name), len(arguments))
    pending = dict.fromkeys(outputs)
    for event in _events(main):
        for place in [*pending]:
            argument, buffer = arguments[place]
            if event.buffer is None or not same_buffer(event.buffer, buffer):
                continue
            if event.kind == "load" and event.certain:
                raise BadProgram(
                    f"argument {place} of {name}, {argument!r}, is an output that is read before "
                    "it is written; set it first, e.g. in `T.init()`, or add to an input of its own"
                )
            if event.kind == "store":
                del pending[place]


def same_buffer(one: Any, other: Any) -> bool:
    """Whether two buffers are the same memory."""
    return bool(one.same_as(other) or one.data.same_as(other.data))


_CHILDREN: Final = (
    *("iter_values", "predicate", "condition", "init", "block", "min", "extent", "indices"),
    *("args", "a", "b", "base", "stride", "vectors", "value", "true_value", "false_value"),
    *("then_case", "else_case", "seq", "body"),
)
"""Fields with parts of a statement or an expression, in order of execution."""
_EITHER: Final = {
    "IfThenElse": {"then_case", "else_case"},
    "Select": {"true_value", "false_value"},
    "While": {"body"},
}
"""Fields of which it depends on a condition whether they are executed."""


def nodes(node: Any) -> Iterator[Any]:
    """A statement or an expression with all of its parts, at any depth."""
    yield node
    for part, _ in _parts(node):
        yield from nodes(part)


def _parts(node: Any) -> Iterator[tuple[Any, bool]]:
    """The parts of a statement or an expression, and whether each is executed in any case."""
    for name in _CHILDREN:
        child = getattr(node, name, None)
        if child is None or isinstance(child, int | float | str):
            continue
        surely = name not in _EITHER.get(type(node).__name__, ())
        parts = child if name in ("iter_values", "indices", "args", "vectors", "seq") else (child,)
        for place, part in enumerate(parts):
            yield part, surely and not (name == "args" and place > 0 and is_choice(node))


def _events(main: PrimFunc) -> Iterator[_Event]:
    """Blocks, loads and stores of a function, in order of execution."""
    return _walk(main.body, True, [])


def _walk(node: Any, certain: bool, views: list[tuple[Any, Any]]) -> Iterator[_Event]:
    """What a statement or an expression does; `views` are buffers and what they are views of."""
    kind = type(node).__name__
    if kind == "SBlock":
        yield _Event("block", None, certain)
    elif kind == "SBlockRealize":
        certain = certain and getattr(node.predicate, "value", 0) == 1
    elif kind == "DeclBuffer" and hasattr(node, "data"):
        views.append((node.buffer, node.data.args[0]))
    for part, surely in _parts(node):
        yield from _walk(part, certain and surely, views)
    if is_load(node):
        yield _Event("load", _buffer(node, views), certain)
    elif is_store(node):
        yield _Event("store", _buffer(node, views), certain)
    elif kind == "SBlock":
        # Of what calls foreign code only the block says what it writes.
        yield from (_Event("store", _buffer(one, views), certain) for one in node.writes)


def is_load(node: Any) -> bool:
    return type(node).__name__ in ("BufferLoad", "TensorLoad")


def is_store(node: Any) -> bool:
    return type(node).__name__ == "BufferStore"


def buffer_of(access: Any) -> Any:
    """The buffer of a load, a store or a region."""
    return access.source if hasattr(access, "source") else access.buffer


def _buffer(access: Any, views: Sequence[tuple[Any, Any]]) -> Any:
    """The buffer of a load, a store or a region, or what it is a view of."""
    found = buffer_of(access)
    for view, buffer in views:
        if found.same_as(view):
            found = buffer
    return found


def is_choice(call: Any) -> bool:
    """Whether a call computes one of its arguments only, as its first one says."""
    return str(getattr(call.op, "name", "")).endswith("if_then_else")
