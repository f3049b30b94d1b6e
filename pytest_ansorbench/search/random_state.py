"""Keeps NumPy's global random state, which MetaSchedule draws from, private to a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


class PrivateRandomState:
    """A state of NumPy's global generator that belongs to one run.

    MetaSchedule's cost model predicts from `numpy.random` while it warms up. With two searches
    taking turns in one process, each would otherwise shift the other's numbers.
    """

    def __init__(self, seed: int) -> None:
        self._state = np.random.RandomState(seed).get_state()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Make this the global state inside, and put the former one back afterwards."""
        outside = np.random.get_state()
        np.random.set_state(self._state)
        try:
            yield
        finally:
            self._state = np.random.get_state()
            np.random.set_state(outside)
