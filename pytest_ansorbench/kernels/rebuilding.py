"""The one way in which saved kernels are made again, for the command and for `--ansor-kernels`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from pytest_ansorbench.kernels.compare import compare_kernels
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.toolchains import local_toolchains
from pytest_ansorbench.measure.noise_probe import observe_noise
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.records import NoiseTrace, Result
from pytest_ansorbench.records.rebuilt_kernels import RebuiltKernel, RebuiltKernels
from pytest_ansorbench.storage import machine_difference
from pytest_ansorbench.winners import Winner
from pytest_ansorbench.workloads.case import Case


class AnotherMachineError(ValueError):
    """Recorded latencies are no reference for kernels of this machine; the message says why."""


class Rebuilding:
    """Makes kernels of results again, some at a time, with toolchains that stay open.

    A single toolchain is compared with recorded latencies. Then the machine's noise is looked at
    before the first kernel and after the last, as it was when the result was measured.
    """

    def __init__(
        self,
        results: Sequence[Result],
        winners: Sequence[Winner],
        toolchains: Sequence[Toolchain],
        *,
        target: str | None = None,
        settings: EngineSettings | None = None,
        noise_check_s: float = 2.0,
    ) -> None:
        """Check what there is; nothing is started.

        Raises:
            AnotherMachineError: The winners' latencies were recorded on another machine.
            ToolchainError: Something is missing or does not fit.
        """
        machines = {name: one for result in results for name, one in result.machines.items()}
        target = target or str(machines[winners[0].machine].get("target"))
        self._toolchains = local_toolchains(target, settings or EngineSettings(), toolchains)
        self._recorded = len(toolchains) == 1
        self._noise_check_s = noise_check_s if self._recorded else 0.0
        if self._recorded:
            machine = self._toolchains.own.machine
            if difference := another_machine(results, winners, machine):
                raise AnotherMachineError(difference)
        self.rebuilt = RebuiltKernels(
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            toolchains={},
            kernels=(),
            noise_then=noise_then(results, winners) if self._recorded else (),
        )

    def start(self) -> None:
        """Start all toolchains.

        Raises:
            EngineError: One of them does not start.
        """
        self._toolchains.start()
        self.rebuilt = replace(self.rebuilt, toolchains=dict(self._toolchains.machines))
        self._look()

    def make(
        self,
        rows: Sequence[Sequence[Winner]],
        effort: SideBySide,
        case_of: Callable[[str], Case | None],
        note: Callable[[str], None] = lambda text: None,
    ) -> tuple[RebuiltKernel, ...]:
        """Make some kernels, each row by all toolchains; what an interrupt leaves is kept too.

        Raises:
            EngineError: An engine cannot go on.
        """
        made: dict[int, RebuiltKernel] = {}
        try:
            for place, kernel in compare_kernels(
                rows, self._toolchains, effort, recorded=self._recorded, case_of=case_of, note=note
            ):
                made[place] = kernel
        finally:
            kernels = tuple(made[place] for place in sorted(made))
            self.rebuilt = replace(self.rebuilt, kernels=(*self.rebuilt.kernels, *kernels))
        return kernels

    def finish(self) -> None:
        """Look at the machine's noise a last time; kernels are not lost if that fails."""
        with suppress(EngineError):
            self._look()
        self._noise_check_s = 0.0

    def close(self) -> None:
        """End all processes."""
        self._toolchains.close()

    def _look(self) -> None:
        if self._noise_check_s:
            seen = observe_noise(self._toolchains.own, self._noise_check_s)
            if seen is not None:
                self.rebuilt = replace(self.rebuilt, noise_now=(*self.rebuilt.noise_now, seen))


def another_machine(
    results: Sequence[Result], winners: Iterable[Winner], machine: Mapping[str, Any]
) -> str:
    """In what the winners' machines differ from this one, e.g. `cpu: A is now B`; empty if none."""
    machines = {name: one for result in results for name, one in result.machines.items()}
    for fingerprint in dict.fromkeys(winner.machine for winner in winners):
        difference = machine_difference(machines[fingerprint], machine)
        if difference:
            return difference
    return ""


def noise_then(results: Sequence[Result], winners: Iterable[Winner]) -> tuple[NoiseTrace, ...]:
    """How fast a fixed kernel was on the machines that winners were measured on."""
    machines = {winner.machine for winner in winners}
    return tuple(
        seen.trace for result in results for seen in result.noise if seen.machine in machines
    )
