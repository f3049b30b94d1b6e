"""The look at the machine sees a stray process, and leaves the bench itself out."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from pytest_ansorbench.measure.local.machine_state import observe_machine


def test_a_stray_process_is_seen():
    code = "print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as stray:
        stray.stdout.readline()
        state = observe_machine(0.5)
        stray.kill()
    assert state.busy_cores > 0.2  # of a machine that other tests may keep busy
    assert any(text.startswith("python") for text in state.busiest)


def test_the_benchs_own_process_is_left_out():
    # Other tests come and go beside this one, so one try out of five has to do.
    assert any(busier_with_a_spinning_thread() < 0.3 for _ in range(5))


def busier_with_a_spinning_thread() -> float:
    """Cores that a thread of this process adds to what is seen of others."""
    done = threading.Event()

    def spin():
        while not done.is_set():
            pass

    before = observe_machine(0.3)
    spinner = threading.Thread(target=spin)
    spinner.start()
    try:
        with_spinner = observe_machine(0.3)
    finally:
        done.set()
        spinner.join()
    after = observe_machine(0.3)
    return with_spinner.busy_cores - max(before.busy_cores, after.busy_cores)


@pytest.mark.skipif(sys.platform == "win32", reason="no load average")
def test_figures_are_in_range():
    state = observe_machine(0.05)
    assert state.load_1min >= 0
    assert state.stolen_cores >= 0
    assert state.frequency_mhz is None or 100 < state.frequency_mhz < 20_000
    assert len(state.busiest) <= 3
