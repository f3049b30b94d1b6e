"""Candidates as text: what a journal keeps of a round, and a result of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.causes import first_line
from pytest_ansorbench.packed import (
    PackedError,
    compact,
    deflated,
    is_packed_schedule,
    packed_schedule,
    parsed,
    replayed,
)
from pytest_ansorbench.strategies.candidate import Candidate

if TYPE_CHECKING:
    from tvm import IRModule


def pack(candidates: Sequence[Candidate]) -> str:
    """A round's candidates as text: schedules as in `packed`, a payload beside each.

    Traces of one sketch are much alike, so a candidate takes a few hundred bytes.
    """
    return deflated(compact([_packed(candidate) for candidate in candidates]))


def unpack(text: str, mod: IRModule) -> list[Candidate]:
    """Candidates of text by `pack`; that of earlier versions has no payloads."""
    return [_unpacked(packed, mod) for packed in parsed(text)]


def select(text: str, index: int) -> str:
    """One candidate of several, by itself and without its payload; needs no TVM."""
    packed = parsed(text)
    if not 0 <= index < len(packed) or not isinstance(packed[index], dict):
        raise PackedError(f"expected a packed candidate at {index} of {len(packed)}")
    return deflated(compact([_without_payload(packed[index])]))


def _packed(candidate: Candidate) -> dict[str, Any]:
    packed = packed_schedule(candidate.trace, candidate.mod)
    return packed if candidate.payload is None else {**packed, "payload": candidate.payload}


def _without_payload(packed: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in packed.items() if name != "payload"}


def _unpacked(packed: Any, mod: IRModule) -> Candidate:
    if not isinstance(packed, dict) or not is_packed_schedule(_without_payload(packed)):
        raise PackedError("expected a candidate's trace or program")
    schedule = replayed(packed, mod)
    try:
        return Candidate.from_schedule(schedule, packed.get("payload"))
    except Exception as error:  # TVM raises many types
        raise PackedError(f"expected a program with arguments, got {first_line(error)}") from None
