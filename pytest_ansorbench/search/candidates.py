"""Candidates as text: what a journal keeps of a round, so that a search can be rebuilt."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.strategies.programs import as_candidate

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir import Schedule
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

_MOST_BYTES: Final = 1 << 30
"""More than any round unpacks to; a file that claims so much is hostile."""


class CandidateError(ValueError):
    """Text that does not unpack to candidates of the task."""


def pack(candidates: Sequence[MeasureCandidate]) -> str:
    """Turn a round's candidates into text.

    A schedule is kept as its trace, postprocessing included, so that replaying it needs no
    sampling and gives the same program. A schedule without a trace, as a strategy with programs
    of its own may propose, is kept as its program. Traces of one sketch are much alike, so
    that a candidate takes a few hundred bytes.

    Args:
        candidates: The candidates.

    Returns:
        Base64 of compressed JSON.
    """
    packed = [_packed(candidate.sch) for candidate in candidates]
    text = json.dumps(packed, separators=(",", ":"), default=_plain)
    return base64.b64encode(zlib.compress(text.encode("utf-8"))).decode("ascii")


def unpack(text: str, mod: IRModule) -> list[MeasureCandidate]:
    """Rebuild what `pack` made text of.

    Args:
        text: The text.
        mod: The task's program.

    Returns:
        Candidates with equal programs and traces.

    Raises:
        CandidateError: The text is no such text, or its traces do not fit the program.
    """
    return [as_candidate(_unpacked(each, mod)) for each in _parsed(text)]


def _packed(schedule: Schedule) -> dict[str, Any]:
    from tvm import ir

    if len(schedule.trace.insts) == 0:
        return {"program": ir.save_json(schedule.mod)}
    return {"trace": schedule.trace.as_json()}


def _plain(value: Any) -> Any:
    """A number or text that TVM's trace still holds as an object of its own."""
    plain = getattr(value, "value", value)
    return plain if isinstance(plain, int | float) else str(plain)


def _parsed(text: str) -> list[Any]:
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
        parsed = json.loads(content)
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise CandidateError(f"expected packed candidates, got {error}") from None
    if not isinstance(parsed, list):
        raise CandidateError("expected a list of packed candidates")
    return parsed


def _unpacked(packed: Any, mod: IRModule) -> Schedule:
    from tvm import ir
    from tvm.s_tir import Schedule, Trace

    if not isinstance(packed, dict) or set(packed) not in ({"trace"}, {"program"}):
        raise CandidateError("expected a candidate's trace or program")
    try:
        if "program" in packed:
            return Schedule(ir.load_json(packed["program"]), debug_mask="none")
        schedule = Schedule(mod, debug_mask="none", error_render_level="none")
        Trace.apply_json_to_schedule(packed["trace"], schedule)
    except Exception as error:  # whatever TVM makes of a trace that does not fit
        raise CandidateError(f"its trace does not fit the program: {_first_line(error)}") from None
    return schedule


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
