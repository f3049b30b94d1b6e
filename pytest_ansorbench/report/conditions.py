"""Warnings about the machine: what else it did while it was to do nothing but the bench."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.records import CaseResult, MachineState
from pytest_ansorbench.report.text import printable

#: Cores' worth of foreign work that moves a latency by more than it varies anyway.
BUSY_CORES: Final = 0.1


def machine_warnings(results: Sequence[CaseResult]) -> tuple[str, ...]:
    """Say of each case whether the machine was at rest.

    Args:
        results: The cases.

    Returns:
        One sentence per case that was disturbed, none for the others.
    """
    return tuple(printable(warning) for result in results for warning in _warnings(result))


def _warnings(result: CaseResult) -> Iterator[str]:
    # All arms of a repeat, which is a seed, share what was seen before and after it.
    states = {
        (run.seed, moment): state
        for run in result.runs
        for moment, state in (("before", run.before), ("after", run.after))
        if state is not None
    }
    disturbed = [s for s in states.values() if s.busy_cores + s.stolen_cores > BUSY_CORES]
    if not disturbed:
        return
    worst = max(disturbed, key=lambda state: state.busy_cores + state.stolen_cores)
    yield (
        f"warning: {result.case}: the machine was busy at {len(disturbed)} of {len(states)} "
        f"looks, with up to {_what(worst)}; its times may be off"
    )


def _what(state: MachineState) -> str:
    parts = [f"{state.busy_cores:.1f} cores of other work"]
    if state.busiest:
        parts[0] += f" ({', '.join(state.busiest)})"
    if state.stolen_cores > BUSY_CORES:
        parts.append(f"{state.stolen_cores:.1f} cores taken by the host")
    return " and ".join(parts)
