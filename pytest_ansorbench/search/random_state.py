"""Keeps NumPy's global random state, which MetaSchedule draws from, private to a run."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

# Words of the Mersenne Twister's state.
_KEY_WORDS: Final = 624


class PrivateRandomState:
    """A state of NumPy's global generator that belongs to one run.

    MetaSchedule's cost model predicts from `numpy.random` while it warms up. With two searches
    taking turns in one process, each would otherwise shift the other's numbers.
    """

    def __init__(self, seed: int) -> None:
        self._state: Any = np.random.RandomState(seed).get_state()
        self._dumped = b"", ""  # the words that were dumped last, and their text

    def dump(self) -> tuple[str, int]:
        _, key, position, _, _ = self._state
        words = np.asarray(key, dtype="<u4").tobytes()
        if words != self._dumped[0]:
            self._dumped = words, base64.b64encode(words).decode("ascii")
        # The same text as long as it stays: a history keeps one a round.
        return self._dumped[1], position

    def load(self, text: str, position: int) -> None:
        try:
            key = np.frombuffer(base64.b64decode(text, validate=True), dtype="<u4")
        except ValueError:
            key = np.empty(0, dtype="<u4")
        if len(key) != _KEY_WORDS or not 0 <= position <= _KEY_WORDS:
            raise ValueError(f"expected a state of {_KEY_WORDS} words and a position in it")
        self._state = ("MT19937", key.astype(np.uint32), position, 0, 0.0)

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
