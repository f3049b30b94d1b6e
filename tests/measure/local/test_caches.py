"""What runs before a call that is timed as in a network."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from pytest_ansorbench.measure.arguments import aligned
from pytest_ansorbench.measure.local import caches
from pytest_ansorbench.measure.local.caches import Predecessors
from pytest_ansorbench.workloads.case import Surroundings


@pytest.fixture(autouse=True)
def _affinity():
    """TVM's pool of threads, where it starts, keeps the calling thread to some cores."""
    if not hasattr(os, "sched_getaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


def arrays(*lengths):
    rng = np.random.default_rng(0)
    return [aligned(rng.standard_normal(length, np.float32)) for length in lengths]


def test_inputs_keep_their_values_and_weights_are_not_written_to():
    inputs = arrays(5000, 3000, 1, 48)
    before = [array.copy() for array in inputs]
    # TVM takes no array that cannot be written to: it would be refused if it were handed over.
    inputs[1].flags.writeable = False
    predecessors = Predecessors(inputs, Surroundings((1,), 1_000_000))
    predecessors()
    predecessors()
    assert all(map(np.array_equal, inputs, before))


def test_what_is_no_weight_is_written_to():
    with pytest.raises(Exception, match="readonly"):
        inputs = arrays(5000)
        inputs[0].flags.writeable = False
        Predecessors(inputs, Surroundings((), 1_000_000))


def test_every_line_is_read_and_written_to():
    read, write = caches.compiled()
    memory = aligned(np.zeros((3, 50, 64), np.uint8))
    memory[:, :, 0] = [[1], [2], [3]]
    sums = aligned(np.full((3, 64), 7, np.uint8))
    read(memory.reshape(3, 5, 10, 64), sums)
    # Each twice.
    assert (sums[:, 0] - 7).tolist() == [2 * 50, 2 * 100, 2 * 150 - 256]
    write(memory, aligned(np.array([4], np.uint8)))
    assert memory[:, :, 0].tolist() == [[5] * 50, [6] * 50, [7] * 50]
    assert not memory[:, :, 1:].any()


@pytest.mark.parametrize(
    ("touched", "read"),
    [(0, 0), (6_400, 12_800), (10**7, 2 * 10**7), (10**12, caches.MOST_BYTES)],
)
def test_twice_as_much_is_read_as_a_network_touches_but_not_without_bounds(
    monkeypatch, touched, read
):
    lines = []
    monkeypatch.setattr(
        caches,
        "compiled",
        lambda: (lambda memory, sums: lines.append(np.from_dlpack(memory).shape), None),
    )
    Predecessors([], Surroundings((), touched))()
    # All threads read as many lines.
    rest = read - sum(map(math.prod, lines))
    assert 0 <= rest < 64 * os.cpu_count()
