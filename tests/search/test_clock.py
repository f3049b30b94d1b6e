"""The stopwatch counts what happens inside phases and nothing else."""

from __future__ import annotations

import pytest

from pytest_ansorbench.search.run_state import PHASES, Clock


class Time:
    """A time of day that passes on demand."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def test_time_outside_of_phases_does_not_count():
    time = Time()
    clock = Clock(time)
    with clock.phase("propose"):
        time.s += 2
    time.s += 1000
    with clock.phase("run"):
        time.s += 3
    assert clock.elapsed_s == 5


def test_a_round_holds_what_passed_since_the_last_one():
    time = Time()
    clock = Clock(time)
    for phase, seconds in zip(PHASES, (1, 2, 3, 4, 6), strict=True):
        with clock.phase(phase):
            time.s += seconds
    assert clock.take_round() == {"propose": 1, "build": 2, "run": 3, "learn": 4, "check": 6}
    with clock.phase("run"):
        time.s += 5
    assert clock.take_round() == {"propose": 0, "build": 0, "run": 5, "learn": 0, "check": 0}
    assert clock.elapsed_s == 21


def test_a_phase_that_fails_counts_all_the_same():
    time = Time()
    clock = Clock(time)
    with pytest.raises(RuntimeError), clock.phase("build"):
        time.s += 7
        raise RuntimeError
    assert clock.elapsed_s == 7
