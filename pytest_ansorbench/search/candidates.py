"""Candidates and programs as text: what a journal keeps of a round, and a result of a run."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.strategies.candidate import Candidate

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir import Schedule

_MOST_BYTES: Final = 1 << 30
"""No round unpacks to more; a file that claims to is hostile."""


class CandidateError(ValueError):
    """Text that does not unpack to candidates of the task."""


def pack(candidates: Sequence[Candidate]) -> str:
    """Turn a round's candidates into text.

    A schedule is kept as its trace, postprocessing included, so that replaying it needs no
    sampling and gives the same program. A schedule without a trace, as a strategy with programs
    of its own may propose, is kept as its program. A payload is kept beside it. Traces of one
    sketch are much alike, so a candidate takes a few hundred bytes.

    Args:
        candidates: The candidates, their payloads JSON values.

    Returns:
        Base64 of compressed JSON.
    """
    packed = [_packed(candidate) for candidate in candidates]
    return _deflated(json.dumps(packed, separators=(",", ":"), default=_plain))


def unpack(text: str, mod: IRModule) -> list[Candidate]:
    """Rebuild candidates from text.

    Args:
        text: Written by `pack`; text of earlier versions has no payloads.
        mod: The task's program.

    Returns:
        Candidates with equal programs, traces and payloads.

    Raises:
        CandidateError: The text is no such text, or its traces do not fit the program.
    """
    return [_unpacked(packed, mod) for packed in _parsed(text)]


def select(text: str, index: int) -> str:
    """One candidate of several, by itself and without its payload; needs no TVM.

    Args:
        text: Written by `pack`.
        index: Its place among them, from 0.

    Returns:
        Text for `unpack`, some hundred bytes.

    Raises:
        CandidateError: The text is no such text, or has no candidate there.
    """
    packed = _parsed(text)
    if not 0 <= index < len(packed) or not isinstance(packed[index], dict):
        raise CandidateError(f"expected a packed candidate at {index} of {len(packed)}")
    kept = {name: value for name, value in packed[index].items() if name != "payload"}
    return _deflated(json.dumps([kept], separators=(",", ":")))


def pack_program(mod: IRModule) -> str:
    """Turn a program into text, some thousand bytes.

    Args:
        mod: The program of a task, before it is scheduled.

    Returns:
        Base64 of compressed JSON, as TVM writes it.
    """
    from tvm import ir

    return _deflated(ir.save_json(mod))


def unpack_program(text: str) -> IRModule:
    """Rebuild a program from text.

    Args:
        text: Written by `pack_program`, if by another version of TVM then perhaps in vain.

    Returns:
        An equal program.

    Raises:
        CandidateError: The text is no such text, or not of this version of TVM.
    """
    from tvm import ir

    content = _inflated(text)
    try:
        mod: IRModule = ir.load_json(content)
    except Exception as error:  # TVM raises many types
        raise CandidateError(
            f"the program cannot be read by this version of TVM: {_first_line(error)}"
        ) from None
    return mod


def _deflated(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")


def _inflated(text: str) -> str:
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
        return content.decode("utf-8")
    except (binascii.Error, zlib.error, ValueError) as error:
        raise CandidateError(f"expected packed text, got {error}") from None


def _packed(candidate: Candidate) -> dict[str, Any]:
    from tvm import ir

    if len(candidate.schedule.trace.insts) == 0:
        packed = {"program": ir.save_json(candidate.mod)}
    else:
        packed = {"trace": candidate.schedule.trace.as_json()}
    return packed if candidate.payload is None else {**packed, "payload": candidate.payload}


def _plain(value: Any) -> Any:
    """A number or text that TVM's trace still holds as an object of its own."""
    plain = getattr(value, "value", value)
    return plain if isinstance(plain, int | float) else str(plain)


def _parsed(text: str) -> list[Any]:
    content = _inflated(text)
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CandidateError(f"expected packed candidates, got {error}") from None
    if not isinstance(parsed, list):
        raise CandidateError("expected a list of packed candidates")
    return parsed


def _unpacked(packed: Any, mod: IRModule) -> Candidate:
    if not isinstance(packed, dict) or {*packed} - {"payload"} not in ({"trace"}, {"program"}):
        raise CandidateError("expected a candidate's trace or program")
    return Candidate.from_schedule(_schedule(packed, mod), packed.get("payload"))


def _schedule(packed: dict[str, Any], mod: IRModule) -> Schedule:
    from tvm import ir
    from tvm.s_tir import Schedule, Trace

    try:
        if "program" in packed:
            return Schedule(ir.load_json(packed["program"]), debug_mask="none")
        schedule = Schedule(mod, debug_mask="none", error_render_level="none")
        Trace.apply_json_to_schedule(packed["trace"], schedule)
    except Exception as error:  # TVM raises many types
        raise CandidateError(f"its trace does not fit the program: {_first_line(error)}") from None
    return schedule


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
