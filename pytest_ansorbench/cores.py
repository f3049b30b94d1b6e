"""The cores that this process may use, which may be fewer than the machine has.

A kernel of more threads than cores waits for itself, since TVM's threads busy-wait for each other.
TVM counts the machine's cores, and binds its threads to as many CPUs, the first ones, whether this
process may use these or not, and whether or not two are of one core: even the calling thread may
run on any of them after that.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from tvm.target import Target

_CPUS: Final = Path("/sys/devices/system/cpu")
_GROUPS_OF_US: Final = Path("/proc/self/cgroup")
_GROUPS: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores that this process may use.

    Attributes:
        cpus: Number of a CPU of each, as the operating system counts them; at least one.
        are_bound: Whether there are CPUs that this process may not run on.
        machine: How many cores the machine has.
        reason: Why they are fewer than the machine's; empty if they are not.
    """

    cpus: tuple[int, ...]
    are_bound: bool
    machine: int
    reason: str

    @property
    def count(self) -> int:
        """How many threads of a kernel run on them at once."""
        return len(self.cpus)

    @property
    def to_pin_to(self) -> tuple[int, ...] | None:
        """The CPUs to pin a kernel's threads to; None where TVM binds them well by itself."""
        are_first = self.cpus == tuple(range(self.count))
        return None if are_first and not self.are_bound else self.cpus

    def note(self, threads: int) -> str:
        """What is to be known of the threads of a kernel; empty if they are the machine's cores."""
        if not self.reason:
            return ""
        if threads > self.count:
            return (
                f"warning: num-cores is {threads}, as the target says, but {self.reason}: threads "
                f"of a kernel wait for each other, and its times are off; expected {self.count}"
            )
        return f"num-cores is {threads}, the machine has {self.machine} cores: {self.reason}"


def usable_cores() -> Cores:
    """The cores that this process may use: by its affinity, and by the time its group has."""
    machine = psutil.cpu_count(logical=False) or 1  # as TVM counts
    if not hasattr(os, "sched_getaffinity"):
        return Cores(tuple(range(machine)), False, machine, "")
    cpus, allowed = os.cpu_count() or 1, sorted(os.sched_getaffinity(0))
    first = tuple({_siblings(cpu): cpu for cpu in reversed(allowed)}.values())[::-1]
    quota = time_of_group()
    count = max(1, int(min(machine, len(first), quota)))
    reasons = []
    if len(first) < machine:
        reasons.append(f"this process may run on {len(allowed)} of {cpus} CPUs")
    if quota < machine:
        reasons.append(f"its control group has the time of {quota:g} CPUs")
    return Cores(first[:count], len(allowed) < cpus, machine, " and ".join(reasons))


def pinned_to(asked: Sequence[int] | None, threads: int) -> Sequence[int] | None:
    """The CPUs that kernels' threads are pinned to: those that were asked for, else usable ones.

    None where TVM binds them well by itself, as it does more threads than cores to all CPUs.
    """
    usable = usable_cores()
    if not asked and not usable.are_bound and threads > usable.count:
        return None
    return asked or usable.to_pin_to


def threads_of(target: Target) -> int:
    """`num-cores` of a CPU: the threads of a kernel on it, or of a GPU's host, what builds."""
    cpu = target if target.host is None else target.host
    return int(cpu.attrs["num-cores"])


def time_of_group(ours: Path = _GROUPS_OF_US, groups: Path = _GROUPS) -> float:
    """Of how many CPUs the control groups of this process have the time; infinite for all.

    https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files, and the older
    https://docs.kernel.org/scheduler/sched-bwc.html
    """
    found = [math.inf]
    try:
        lines = ours.read_text(encoding="utf-8").splitlines()
    except OSError:  # another operating system
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = groups / "cpu" if controllers else groups
        # A container may see its own group as the root, under the path that it has outside.
        own = PurePosixPath(path.lstrip("/"))
        found += [_time(root / group) for group in (own, *own.parents)]
    return min(found)


def _time(group: Path) -> float:
    """What one group has: in a file of cgroup v2, or in two of v1."""
    try:
        quota, period = (group / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        try:
            quota, period = (
                (group / f"cpu.cfs_{name}_us").read_text(encoding="ascii").strip()
                for name in ("quota", "period")
            )
        except OSError:
            return math.inf
    return math.inf if quota in ("max", "-1") else int(quota) / int(period)


def _siblings(cpu: int) -> str:
    """The CPUs of one core, as Linux writes them; where it does not, a CPU is a core."""
    try:
        return (_CPUS / f"cpu{cpu}/topology/thread_siblings_list").read_text(encoding="ascii")
    except OSError:
        return str(cpu)
