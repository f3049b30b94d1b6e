"""A fast start is not a fast finish: a search that is ahead along the ladder and never arrives.

Over most of a ladder a search that stalls is as fast as one that does not. What tells it is its
end: its runs get less far than the reference's, and find nothing more in the later part of their
trials. Either alone scatters from seed to seed as much as a stall takes away, so both are asked at
once, by ranks: all runs are ranked by the throughput that they got to, and by the share of their
trials after which they improved no more, which counts half. Labels are put on anew to see how
often chance puts an arm as far behind. `docs/research/verdicts.md` has the rates for a planted
stall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.ranks import mid_ranks
from pytest_ansorbench.stats.relabellings import share, some_relabellings
from pytest_ansorbench.stats.trajectory import Floats, Spending

# How rare chance has to be: no more than the first, nor than the second over the repeats. A stall
# shows the better the more runs there are, so that more and more can be asked of it; the figures
# are from simulations of stalls and of searches that are as fast to their end.
_RARE: Final = (0.3, 1.4)
_SHARE: Final = 0.5  # weight of when runs last improved, over that of how far they got
_TIE: Final = 1e-9


def too_rare(repeats: int) -> float:
    """The chance up to which a challenger is too far behind to be ahead for its way alone."""
    most, shared = _RARE
    return min(most, shared / repeats)


def chance_of_stall(paired: PairedRuns) -> float:
    """Chance to end at least as far behind, and as early, if both arms were the same."""
    rank, n = rank_sums(paired), len(paired.reference)
    relabellings, complete = some_relabellings(n, n, too_rare(n))
    behind = rank[relabellings[:, n:]].sum(axis=1) <= rank[n:].sum() + _TIE
    return share(int(behind.sum()), len(relabellings), complete)


def rank_sums(paired: PairedRuns) -> Floats:
    """How far each run got, and how late it still improved: ranks among the runs of both arms.

    The reference's runs first, shape (2 * seeds,); larger is better.
    """
    runs = [*paired.reference, *paired.challenger]
    far = _standardized(np.array([1.0 / run.best_s for run in runs]))
    late = _standardized(np.array([run.last_improvement for run in runs]))
    ranks: Floats = far + _SHARE * late
    return ranks


@dataclass(frozen=True, slots=True)
class EarlyOnly:
    """A challenger that is ahead on the strength of early targets alone."""

    chance: float  # how often chance puts an arm as far behind at the end
    # Share of the reference's gain from which on it is not ahead; None if it is ahead as far as
    # the ladder goes
    turn: float | None


def early_only(paired: PairedRuns, spending: Spending, limit: float) -> EarlyOnly | None:
    """What shows that a challenger stalls that is ahead of a limit; None if nothing does."""
    if paired.goal.kind != "way":
        return None
    chance = chance_of_stall(paired)
    if chance > too_rare(len(paired.reference)):
        return None
    return EarlyOnly(chance, turning_point(paired, spending, limit))


def turning_point(paired: PairedRuns, spending: Spending, limit: float) -> float | None:
    """From which share of the reference's gain on the challenger is not ahead of a limit any more.

    From there on no rung has more votes that the challenger is earlier than the limit says than
    votes that it is later. None if the last rung has.
    """
    shares, votes = Climb.of(paired, spending).rungs(math.log(limit))
    ahead = np.flatnonzero(votes < 0.0)
    turn = int(ahead[-1]) + 1 if len(ahead) else 0
    return float(shares[turn]) if turn < len(shares) else None


def _standardized(values: Floats) -> Floats:
    """Ranks, ties in their middle, less their mean and over their standard deviation."""
    ranks = mid_ranks(values)
    spread = float(ranks.std())
    return (ranks - ranks.mean()) / spread if spread else np.zeros(len(values))
