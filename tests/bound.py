"""Processes that may not run on all CPUs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

takes_two_cpus = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="takes two CPUs that a process can be bound to",
)


@contextmanager
def bound_to_one_cpu() -> Iterator[int]:
    """Keep this thread, and the processes that it starts, to one CPU, as `taskset` does."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield max(before)
    finally:
        os.sched_setaffinity(0, before)
