"""Pairs of arms, each compared over the contests in which both have runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.contests import Contest
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import UNDEFINED
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.suite_test import SuiteTest


@dataclass(frozen=True, slots=True)
class Duel:
    """Two arms; ratios are the challenger's over the reference's, those of a suite."""

    reference: str
    challenger: str
    pairings: Sequence[PairedRuns]  # one a contest
    together: int  # in how many of these a session has both

    @classmethod
    def of(
        cls,
        contests: Sequence[Contest],
        reference: str,
        challenger: str,
        criteria: Criteria,
        ladder_of: str | None = None,
    ) -> Duel:
        """Pair the runs of two arms.

        Targets are shares of the contest's gain, whoever is compared, so that the pair turned round
        has the inverse ratio. Only the ladder of the reference itself, where targets are named
        after it (`ladder_of`), follows the labels, as S's does.
        """
        pairings, together = [], 0
        for contest in contests:
            gain = contest.gain(ladder_of, criteria.tolerance)
            own = None if reference == ladder_of else gain
            paired = contest.paired(reference, challenger, criteria, own)
            if paired is not None and gain is not None:
                pairings.append(paired)
                together += bool(contest.together(reference, challenger))
        return cls(reference, challenger, pairings, together)

    def ratio(self, key: str, goal: Goal | None = None) -> Estimate:
        """One of `FIGURES` by its key, without its interval; the goal is the criteria's if None."""
        test = self._test(key, goal)
        return UNDEFINED if test is None else test.ratio()

    def estimate(self, key: str, confidence: float) -> Estimate:
        """The same with its interval."""
        test = self._test(key)
        return UNDEFINED if test is None else test.estimate(confidence)

    def _test(self, key: str, goal: Goal | None = None) -> SuiteTest | None:
        asked = [replace(one, goal=goal or one.goal) for one in self.pairings]
        return SuiteTest.of(FIGURES[key], asked) if asked else None
