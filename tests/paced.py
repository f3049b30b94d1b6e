"""Searches on a clock that a test turns: a trial takes as long as it is told to."""

from __future__ import annotations

from functools import partial

from pytest_ansorbench.search import loop
from pytest_ansorbench.search.run_state import Clock
from tests.fast_engine import FastEngine


class PacedEngine(FastEngine):
    """A `FastEngine` that compiles nothing, on which the time passes that its trials take.

    Attributes:
        trial_s: Seconds of a trial.
        now_s: The time of day.
    """

    def __init__(self, target, trial_s, monkeypatch):
        super().__init__(target, compiles=False)
        self.trial_s, self.now_s = trial_s, 0.0
        monkeypatch.setattr(loop, "Clock", partial(Clock, lambda: self.now_s))
        self.start()

    def run(self, *arguments, **options):
        self.now_s += self.trial_s
        return super().run(*arguments, **options)
