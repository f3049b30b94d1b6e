"""Programs and schedules as text, small enough for a file to keep thousands of them.

A schedule is kept as its trace, postprocessing included, so that replaying it needs no sampling
and gives the same program. A schedule without a trace, as a strategy with programs of its own may
propose, is kept as its program.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.causes import first_line
from pytest_ansorbench.measure.intrinsics import register_named

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir import Schedule, Trace

_MOST_BYTES: Final = 1 << 28
"""Nothing unpacks to more; a file that claims to is hostile."""


class PackedError(ValueError):
    """Text that does not unpack, or a schedule that does not fit its program."""


def pack_program(mod: IRModule) -> str:
    """Turn a program into some thousand bytes of text: compressed JSON, as TVM writes it."""
    from tvm import ir

    return deflated(ir.save_json(mod))


def unpack_program(text: str) -> IRModule:
    """Rebuild a program from text: PackedError if that is of a TVM whose JSON this one's is not."""
    from tvm import ir

    content = inflated(text)
    try:
        mod: IRModule = ir.load_json(content)
    except Exception as error:  # TVM raises many types
        raise PackedError(
            f"the program cannot be read by this version of TVM: {first_line(error)}"
        ) from None
    if not isinstance(mod, ir.IRModule):
        raise PackedError(f"expected a packed program, got a {type(mod).__name__}")
    return mod


def pack_schedule(trace: Trace, mod: IRModule) -> str:
    """Turn one schedule into text, as results keep it."""
    return deflated(compact([packed_schedule(trace, mod)]))


def pack_trace(trace: Trace) -> str:
    """Turn one trace into the text of a schedule."""
    return deflated(compact([{"trace": trace.as_json()}]))


def compact(values: list[dict[str, Any]]) -> str:
    """JSON without spaces, of values that may come from TVM."""
    return json.dumps(values, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """A number or text that TVM's trace still holds as an object of its own."""
    bare = getattr(value, "value", value)
    return bare if isinstance(bare, int | float) else str(bare)


def packed_schedule(trace: Trace, mod: IRModule) -> dict[str, Any]:
    """A schedule as JSON values: its trace, or its program if that is empty."""
    from tvm import ir

    if len(trace.insts) == 0:
        return {"program": ir.save_json(mod)}
    return {"trace": trace.as_json()}


def is_packed_schedule(value: object) -> bool:
    """Whether a value looks like one that `packed_schedule` made."""
    return isinstance(value, dict) and {*value} in ({"trace"}, {"program"})


def replayed(packed: Mapping[str, Any], mod: IRModule) -> Schedule:
    """Apply what `packed_schedule` gave to a program: PackedError if it does not fit."""
    from tvm import ir
    from tvm.s_tir import Schedule, Trace

    try:
        if "program" in packed:
            return Schedule(ir.load_json(packed["program"]), debug_mask="none")
        schedule = Schedule(mod, debug_mask="none", error_render_level="none")
        for kind, _, attributes, _ in packed["trace"][0]:
            if kind == "Tensorize":
                register_named(attributes[0])
        Trace.apply_json_to_schedule(packed["trace"], schedule)
    except Exception as error:  # TVM raises many types
        raise PackedError(f"its trace does not fit the program: {first_line(error)}") from None
    return schedule


def unpack_schedule(text: str, mod: IRModule) -> Schedule:
    """Apply the schedule that a result keeps to its task's program: PackedError if it cannot."""
    packed = parsed(text)
    if len(packed) != 1 or not is_packed_schedule(packed[0]):
        raise PackedError("expected one packed schedule")
    return replayed(packed[0], mod)


def deflated(text: str) -> str:
    """Base64 of compressed text."""
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")


def inflated(text: str) -> str:
    """Undo `deflated`: PackedError if the text is no such text."""
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
        if inflater.unconsumed_tail:
            raise ValueError(f"more than {_MOST_BYTES} bytes")
        return content.decode("utf-8")
    except (binascii.Error, zlib.error, ValueError) as error:
        raise PackedError(f"expected packed text, got {error}") from None


def parsed(text: str) -> list[Any]:
    """The list that packed text holds: PackedError if it holds none."""
    content = inflated(text)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise PackedError(f"expected packed values, got {error}") from None
    if not isinstance(values, list):
        raise PackedError("expected a packed list")
    return values
