"""Which cores a kernel's threads run on.

TVM binds each thread of its pool to a core, and leaves the calling thread, which does an equal
share of the work, to the operating system. That sometimes puts it on the core of a pool's thread,
and leaves it there for as long as the process lives: a kernel on two cores then takes twice its
latency. So a kernel's calling thread is kept off the pool's cores.
"""

from __future__ import annotations

import os
from collections.abc import Sequence


def place_threads(cores: Sequence[int]) -> None:
    """Place the threads of this process, once TVM's pool exists. Linux only; else nothing is done.

    Args:
        cores: A core for each thread, the calling thread first, from the start again if there
            are more threads; empty to keep TVM's placement and give the calling thread, which is
            this one, what the pool leaves.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    caller, *pool = sorted(map(int, os.listdir("/proc/self/task")))
    if cores:
        for place, thread in enumerate([caller, *pool]):
            os.sched_setaffinity(thread, {cores[place % len(cores)]})
        return
    bound = [os.sched_getaffinity(thread) for thread in pool]
    taken = {core for cores_of_one in bound if len(cores_of_one) == 1 for core in cores_of_one}
    left = os.sched_getaffinity(caller) - taken
    if taken and left:
        os.sched_setaffinity(caller, left)
