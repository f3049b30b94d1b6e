"""What results say of the machines that their kernels were measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_ansorbench.records import NoiseTrace, Result
from pytest_ansorbench.storage import machine_difference
from pytest_ansorbench.winners import Winner


def another_machine(
    results: Sequence[Result], winners: Iterable[Winner], machine: Mapping[str, Any]
) -> str:
    """In what the machines that winners were measured on differ from one.

    Args:
        results: Have the winners.
        winners: The winners.
        machine: The machine now, its target included.

    Returns:
        E.g. `cpu: A is now B`; empty if all are the same.
    """
    machines = {name: one for result in results for name, one in result.machines.items()}
    for fingerprint in dict.fromkeys(winner.machine for winner in winners):
        difference = machine_difference(machines[fingerprint], machine)
        if difference:
            return difference
    return ""


def steady_then(results: Sequence[Result], winners: Iterable[Winner]) -> tuple[NoiseTrace, ...]:
    """How fast a fixed kernel was on the machines that winners were measured on."""
    machines = {winner.machine for winner in winners}
    return tuple(
        seen.trace for result in results for seen in result.noise if seen.machine in machines
    )
